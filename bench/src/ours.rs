//! bouquet's own kinds.

use std::marker::PhantomData;

use bouquet::capability::{Contains, Insert, Item};
use bouquet::counting::counting::Counting;
use bouquet::counting::cuckoo::Cuckoo;
use bouquet::counting::quotient::Quotient;
use bouquet::kind::{Config, Structure};
use bouquet::membership::blocked::{self, Blocked};
use bouquet::membership::bloom_g::BloomG;
use bouquet::membership::compressed::Compressed;
use bouquet::membership::one_hash::OneHash;
use bouquet::membership::partitioned::Partitioned;
use bouquet::membership::ultra_fast::UltraFast;
use bouquet::membership::{Access, BitFilter};
use bouquet::shared::SharedBitFilter;
use bouquet::{AnyFilter, Bloom, SharedBlocked, SharedBloom, SharedCounting, SharedUltraFast};

use crate::built_once;
use crate::contender::Contender;
use crate::keys::BenchKey;
use crate::measure::Entry;

/// All of them.
pub fn all<K: BenchKey>() -> Vec<Entry<K>> {
    vec![
        Entry::of::<UltraFast>(),
        Entry::of::<Blocked>(),
        Entry::of::<BloomG>(),
        Entry::of::<Bloom>(),
        Entry::of::<Partitioned>(),
        Entry::of::<OneHash>(),
        Entry::of::<Compressed>(),
        Entry::of::<Counting>(),
        Entry::of::<SharedUltraFast>(),
        Entry::of::<SharedBloom>(),
        Entry::of::<SharedWords>(),
        Entry::of::<SharedCounting>(),
        Entry::of::<Cuckoo>(),
        Entry::of::<Quotient>(),
        Entry::of::<built_once::Fuse<8>>(),
        Entry::of::<built_once::Fuse<16>>(),
        Entry::of::<built_once::Minimal>(),
        Entry::of::<built_once::Coded>(),
        Entry::of::<Handle<UltraFast>>(),
        Entry::of::<Handle<Bloom>>(),
    ]
}

impl<K: BenchKey, L: Access> Contender<K> for BitFilter<L> {
    fn name() -> String {
        format!("bouquet {}", L::FACTS.id)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        BitFilter::with_rate(n, fpr).ok()
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        BitFilter::insert(self, key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        BitFilter::contains(self, key)
    }

    fn bits(&self) -> u64 {
        BitFilter::bits(self).len()
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        BitFilter::insert_batch(self, keys);
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        BitFilter::contains_batch(self, keys, answers);
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(BitFilter::to_bytes(self))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        BitFilter::from_bytes(bytes).ok()
    }
}

/// Keys that are passed to a verb's batch form at once.
const REFERENCES: usize = 256;

/// The batch form of a verb that takes references; making them is part of what is measured.
fn contains_references<K: BenchKey>(filter: &(impl Contains + ?Sized), keys: &[K], answers: &mut [bool]) {
    let mut references: [&[u8]; REFERENCES] = [&[]; REFERENCES];
    for (keys, answers) in keys.chunks(REFERENCES).zip(answers.chunks_mut(REFERENCES)) {
        references.iter_mut().zip(keys).for_each(|(reference, key)| *reference = key.as_bytes());
        filter.contains_batch(&references[..keys.len()], answers);
    }
}

/// The same for insertion.
fn insert_references<K: BenchKey>(filter: &mut (impl Insert + ?Sized), keys: &[K]) {
    let mut items = [Item::from([].as_slice()); REFERENCES];
    for keys in keys.chunks(REFERENCES) {
        items.iter_mut().zip(keys).for_each(|(item, key)| *item = Item::from(key.as_bytes()));
        filter.insert_batch(&items[..keys.len()]).expect("bare keys that the filter has room for");
    }
}

impl<K: BenchKey> Contender<K> for Counting {
    fn name() -> String {
        format!("bouquet {}", Counting::FACTS.id)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        Counting::with_rate(n, fpr).ok()
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        Counting::insert(self, key).expect("full counters are sticky, no error");
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        Counting::contains(self, key)
    }

    fn bits(&self) -> u64 {
        self.counters().bits()
    }

    const REMOVE: bool = true;

    #[inline]
    fn remove(&mut self, key: &K) {
        Counting::remove(self, key).expect("the key is in");
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        Counting::insert_batch(self, keys).expect("full counters are sticky, no error");
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        Counting::contains_batch(self, keys, answers);
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(Counting::to_bytes(self))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Counting::from_bytes(bytes).ok()
    }
}

/// The filter that threads share, its atomic insertions also measured with one thread.
impl<K: BenchKey, L: Access> Contender<K> for SharedBitFilter<L> {
    fn name() -> String {
        format!("bouquet {} (shared)", L::FACTS.id)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        SharedBitFilter::with_rate(n, fpr).ok()
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        SharedBitFilter::insert(self, key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        SharedBitFilter::contains(self, key)
    }

    fn bits(&self) -> u64 {
        self.snapshot().bits().len()
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        SharedBitFilter::insert_batch(self, keys);
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        SharedBitFilter::contains_batch(self, keys, answers);
    }

    const SHARED: bool = true;

    #[inline]
    fn insert_shared(&self, key: &K) {
        SharedBitFilter::insert(self, key);
    }
}

/// The blocked filter that threads share with blocks of one word, so that an insertion changes one.
pub struct SharedWords(SharedBlocked);

impl<K: BenchKey> Contender<K> for SharedWords {
    fn name() -> String {
        format!("bouquet {} 64 (shared)", Blocked::FACTS.id)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        let config = Config::new(blocked::KIND.facts()).set("items", &n.to_string()).ok()?;
        let config = config.set("fpr", &fpr.to_string()).ok()?.set("block", "64").ok()?;
        SharedBlocked::from_config(&config).ok().map(SharedWords)
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        self.0.snapshot().bits().len()
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        self.0.insert_batch(keys);
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        self.0.contains_batch(keys, answers);
    }

    const SHARED: bool = true;

    #[inline]
    fn insert_shared(&self, key: &K) {
        self.0.insert(key);
    }
}

impl<K: BenchKey> Contender<K> for SharedCounting {
    fn name() -> String {
        format!("bouquet {} (shared)", Counting::FACTS.id)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        SharedCounting::with_rate(n, fpr).ok()
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        SharedCounting::insert(self, key);
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        SharedCounting::contains(self, key)
    }

    fn bits(&self) -> u64 {
        self.snapshot().map_or(0, |filter| filter.counters().bits())
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        SharedCounting::insert_batch(self, keys);
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        SharedCounting::contains_batch(self, keys, answers);
    }

    const SHARED: bool = true;

    #[inline]
    fn insert_shared(&self, key: &K) {
        SharedCounting::insert(self, key);
    }
}

/// Kinds that keep fingerprints, whose verbs have the same names.
macro_rules! fingerprint_tables {
    ($($table:ty),*) => {$(
        impl<K: BenchKey> Contender<K> for $table {
            fn name() -> String {
                format!("bouquet {}", <$table as Structure>::FACTS.id)
            }

            fn new(n: u64, fpr: f64) -> Option<Self> {
                <$table>::with_rate(n, fpr).ok()
            }

            #[inline]
            fn insert(&mut self, key: &K) {
                <$table>::insert(self, key).expect("room for as many keys as it was made for");
            }

            #[inline]
            fn contains(&self, key: &K) -> bool {
                <$table>::contains(self, key)
            }

            fn bits(&self) -> u64 {
                let config = Structure::config(self);
                <$table as Structure>::plan(&config).expect("its own settings").bits
            }

            const BATCH: bool = true;

            fn insert_batch(&mut self, keys: &[K]) {
                <$table>::insert_batch(self, keys).expect("room for as many keys as it was made for");
            }

            fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
                <$table>::contains_batch(self, keys, answers);
            }

            const REMOVE: bool = true;

            #[inline]
            fn remove(&mut self, key: &K) {
                <$table>::remove(self, key).expect("the key is in");
            }

            fn to_bytes(&self) -> Option<Vec<u8>> {
                Some(<$table>::to_bytes(self))
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                <$table>::from_bytes(bytes).ok()
            }
        }
    )*};
}

fingerprint_tables!(Cuckoo, Quotient);

/// The dynamic handle on a filter of kind `T`. Single calls look their verb up each time.
pub struct Handle<T> {
    filter: AnyFilter,
    kind: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    fn of(filter: AnyFilter) -> Self {
        Handle { filter, kind: PhantomData }
    }
}

impl<K: BenchKey, T: Structure> Contender<K> for Handle<T> {
    fn name() -> String {
        format!("bouquet {} (handle)", T::FACTS.id)
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        let config = Config::new(const { &T::FACTS }).set("items", &n.to_string()).ok()?;
        AnyFilter::new(&config.set("fpr", &fpr.to_string()).ok()?).ok().map(Handle::of)
    }

    #[inline]
    fn insert(&mut self, key: &K) {
        let filter = self.filter.insert().expect("the kind inserts");
        filter.insert(Item::from(key.as_bytes())).expect("a bare key");
    }

    #[inline]
    fn contains(&self, key: &K) -> bool {
        self.filter.contains().expect("the kind answers").contains(key.as_bytes())
    }

    fn bits(&self) -> u64 {
        self.filter.stats().bits
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        insert_references(self.filter.insert().expect("the kind inserts"), keys);
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        contains_references(self.filter.contains().expect("the kind answers"), keys, answers);
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(self.filter.to_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        AnyFilter::from_bytes(bytes).ok().map(Handle::of)
    }
}
