//! The engine of the family: bits at positions that depend on the key alone.

use crate::capability::{Cardinality, Compress, Contains, Estimate, Insert, Intersect, Item, Merge, Overlap};
use crate::codec::{Decoder, Encoder, delta};
use crate::error::{Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, as_word};
use crate::kind::{Config, Facts, Plan, Rates, Setting, Stats, Structure};
use crate::membership::Layout;
use crate::membership::layout::{set_word, test_word};
use crate::store::BitStore;
use crate::theory;

/// A filter of bits whose positions a [`Layout`] gives.
///
/// See the layouts for what it is in each case: [`Bloom`](crate::Bloom) is the standard one.
///
/// ```
/// use bouquet::membership::{BitFilter, blocked::Blocked, Blocks, standard::Flat};
/// let mut anywhere = BitFilter::<Flat>::with_size(4_096, 5)?;
/// let mut in_one_block = BitFilter::<Blocks<Blocked>>::with_size(4_096, 5)?;
/// assert!(anywhere.insert("rose") && in_one_block.insert("rose"));
/// assert!(anywhere.contains("rose") && in_one_block.contains("rose"));
/// assert_ne!(anywhere.bits(), in_one_block.bits());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BitFilter<L> {
    layout: L,
    hashing: Hashing,
    bits: BitStore,
    /// Insertions, duplicates included.
    items: u64,
    design: Design,
}

/// What the filter was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Design {
    items: Option<u64>,
    fpr: Option<f64>,
}

impl<L: Layout> BitFilter<L> {
    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{Bloom, membership::standard::KIND, hash::Hashing, kind::Config};
    /// let config = Config::new(KIND.facts()).set("bits", "1000")?.set("hashes", "3")?;
    /// let mut filter = Bloom::from_config(&config.hashed(Hashing::seeded(42)))?;
    /// assert!(filter.insert("rose") && filter.bits().len() == 1000);
    /// assert!(filter.merge(&Bloom::with_size(1000, 3)?).is_err(), "another seed");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let layout = L::plan(config)?;
        let bits = BitStore::zeroed(layout.bits())?;
        Ok(Self::with_parts(config, layout, bits, 0))
    }

    /// A filter for `items` distinct keys whose false-positive rate is then `fpr`.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let filter = Bloom::with_rate(1_000_000, 0.01)?;
    /// assert_eq!(filter.hashes(), 7);
    /// assert!(Bloom::with_rate(1_000, 1.5).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(const { &L::FACTS });
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of `bits` bits and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// assert_eq!(Bloom::with_size(1 << 20, 5)?.bits().len(), 1 << 20);
    /// assert!(Bloom::with_size(0, 5).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(const { &L::FACTS }).with("bits", Setting::Count(bits))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// A filter of the settings in `config` with this content, whose size must be theirs.
    pub(crate) fn with_bits(config: &Config, bits: BitStore) -> Result<Self> {
        let layout = L::plan(config)?;
        same("bits", layout.bits(), bits.len())?;
        Ok(Self::with_parts(config, layout, bits, 0))
    }

    /// The store alone.
    pub(crate) fn into_bits(self) -> BitStore {
        self.bits
    }

    /// The domain of a secret's digests: filters of another kind or shape get unrelated ones.
    pub(crate) fn domain(layout: &L) -> String {
        format!("{} {} {}", L::FACTS.id, layout.bits(), layout.hashes())
    }

    /// A filter of this content, which must be of the layout's size.
    pub(crate) fn with_parts(config: &Config, layout: L, bits: BitStore, items: u64) -> Self {
        let design =
            Design { items: config.count("items"), fpr: config.is_set("fpr").then(|| config.real("fpr")).flatten() };
        let hashing = layout.hashing(config.hashing()).bind(&Self::domain(&layout));
        BitFilter { layout, hashing, bits, items: items.min(MOST_ITEMS), design }
    }

    /// The layout.
    ///
    /// ```
    /// use bouquet::{BlockedBloom, membership::Layout};
    /// let filter = BlockedBloom::with_rate(100_000, 0.01)?;
    /// let rate = filter.layout().expected_rate(100_000);
    /// assert!((0.009..=0.01).contains(&rate), "{rate}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// The store.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_size(1_000, 1)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.bits().len(), filter.bits().count_ones()), (1_000, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.bits
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// assert_eq!(Bloom::with_rate(1_000, 0.01)?.hashes(), 7);
    /// assert_eq!(Bloom::with_rate(1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.layout.hashes()
    }

    /// Insertions so far, duplicates included.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "tulip"]);
    /// assert_eq!(filter.items(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items.min(MOST_ITEMS)
    }

    /// The share of ones.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(10_000, 0.01)?;
    /// filter.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
    /// assert!((filter.fill() - 0.5).abs() < 0.03, "full as planned, about half of the bits are one");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.bits.fill()
    }

    /// The false-positive rate of this very content.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(10_000, 0.01)?;
    /// assert_eq!(filter.rate_now(), 0.0);
    /// filter.insert_batch(&(0..10_000u64).collect::<Vec<_>>());
    /// assert!((filter.rate_now() / 0.01 - 1.0).abs() < 0.1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.layout.rate_now(&self.bits)
    }

    /// Whether the rate has passed twice the one that the filter was made for. A filter that was made by size without
    /// a rate is never saturated.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>());
    /// assert!(!filter.saturated());
    /// filter.insert_batch(&(1_000..2_000u64).collect::<Vec<_>>());
    /// assert!(filter.saturated());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn saturated(&self) -> bool {
        self.design.fpr.is_some_and(|fpr| self.rate_now() > 2.0 * fpr)
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// filter.clear();
    /// assert!(!filter.contains("rose"));
    /// assert_eq!(filter, Bloom::with_rate(100, 0.01)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.bits.words_mut().fill(0);
        self.items = 0;
    }

    /// Inserts a key and says whether it was certainly new; `false` means that it was there already, or seemed so.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// assert!(filter.insert(&7u64) && filter.insert(b"rose".as_slice()));
    /// assert!(!filter.insert("rose"), "text is its bytes");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    // Always inlined, as `contains` is: what is unusual lies elsewhere, and a loop over keys keeps the filter in registers.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let words = self.bits.words_in_place();
        // One condition that no key changes: a loop over keys asks it once and then only sets bits.
        if self.layout.is_set_inline(words) & self.hashing.is_usual()
            && let Some(fresh) = self.layout.set_usually(words, key.digest(&self.hashing))
        {
            self.items += 1;
            return fresh;
        }
        // What is unusual gets the parts of the filter and not the filter, and leaves alone what was asked above: a loop over keys need
        // not read again what no call can have changed.
        self.items += 1;
        if self.layout.needs_key() {
            return key.with_bytes(|key| {
                set_by_key(self.layout.clone(), self.hashing.clone(), self.bits.words_seldom_mut(), key)
            });
        }
        let digest = key.digest(&self.hashing);
        match self.layout.in_one_word(digest) {
            Some(word_mask) => set_word(self.bits.words_seldom_mut(), word_mask),
            None => set_elsewhere(self.layout.clone(), self.bits.words_seldom_mut(), digest),
        }
    }

    /// Whether the key may be in the set; `false` is certain.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// filter.insert_batch(&(0..100u64).collect::<Vec<_>>());
    /// assert!((0..100u64).all(|key| filter.contains(&key)));
    /// assert!((100..10_100u64).filter(|key| filter.contains(key)).count() < 200, "some 1 % of 10,000");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        if self.layout.is_usual() && self.hashing.is_usual() {
            return self.layout.test(self.bits.words(), key.digest(&self.hashing));
        }
        self.contains_unusual(key)
    }

    #[inline(never)]
    fn contains_unusual<K: Key + ?Sized>(&self, key: &K) -> bool {
        if self.layout.needs_key() {
            return key
                .with_bytes(|key| self.layout.all_of_key(&self.hashing, key, |position| self.bits.get(position)));
        }
        let digest = key.digest(&self.hashing);
        match self.layout.in_one_word(digest) {
            Some(word_mask) => test_word(self.bits.words(), word_mask),
            None => self.layout.test(self.bits.words(), digest),
        }
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`: faster than one by one where the filter is larger than the
    /// cache.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(1_000, 0.001)?;
    /// filter.insert_batch(&[1u64, 2, 3]);
    /// let mut answers = [false; 3];
    /// filter.contains_batch(&[3u64, 4, 1], &mut answers);
    /// assert_eq!(answers, [true, false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        if self.layout.needs_key() {
            keys.iter().zip(answers).for_each(|(key, answer)| *answer = self.contains(key));
            return;
        }
        self.layout.test_batch(self.bits.words(), &self.hashing, keys, answers);
    }

    /// Inserts many keys and says how many were certainly new.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "tulip", "rose"]), 2);
    /// assert!(filter.contains("tulip"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> u64 {
        if self.layout.needs_key() {
            return keys.iter().map(|key| u64::from(self.insert(key))).sum();
        }
        self.items = self.items.saturating_add(keys.len() as u64).min(MOST_ITEMS);
        self.layout.set_batch(self.bits.words_mut(), &self.hashing, keys)
    }

    /// The filter of half the size; its keys are the same, its rate is that of the smaller size. `None` when the size
    /// (of a slice) is odd, the scheme cannot be folded or the filter is keyed.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_size(1 << 10, 4)?;
    /// filter.insert("rose");
    /// let half = filter.halved()?.expect("1,024 is even");
    /// assert!(half.bits().len() == 512 && half.contains("rose"));
    /// assert!(Bloom::with_size(999, 4)?.halved()?.is_none());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn halved(&self) -> Result<Option<Self>> {
        let Some(layout) = self.layout.halved() else { return Ok(None) };
        // The domain of a keyed filter depends on its size, so folding cannot serve one.
        if self.hashing.id().is_keyed() {
            return Ok(None);
        }
        let bits = self.bits.folded(layout.bits(), |position| self.layout.fold(position))?;
        Ok(Some(BitFilter { layout, bits, hashing: self.hashing.clone(), items: self.items, design: self.design }))
    }

    /// Takes in everything that `other` holds: bit for bit the filter of the union.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// let mut other = filter.clone();
    /// filter.insert("rose");
    /// other.insert("tulip");
    /// filter.merge(&other)?;
    /// assert!(filter.contains("rose") && filter.contains("tulip"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        self.bits.or(&other.bits)?;
        self.items = self.items.saturating_add(other.items).min(MOST_ITEMS);
        Ok(())
    }

    /// Keeps what `other` also holds. The result has no more bits than either and contains every common key, but may
    /// have more than the filter of the common keys alone.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// let mut other = filter.clone();
    /// filter.insert_batch(&["rose", "tulip"]);
    /// other.insert_batch(&["tulip", "aster"]);
    /// filter.intersect(&other)?;
    /// assert!(filter.contains("tulip") && !filter.contains("rose") && !filter.contains("aster"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn intersect(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        self.bits.and(&other.bits)?;
        self.items = self.items.min(other.items);
        Ok(())
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("bits", self.layout.bits(), other.layout.bits())?;
        same("hashes", self.layout.hashes(), other.layout.hashes())?;
        same("layout", &self.layout, &other.layout)?;
        same("hashing", &self.hashing, &other.hashing)
    }

    /// The number of distinct keys.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(10_000, 0.01)?;
    /// filter.insert_batch(&(0..15_000u64).map(|key| key % 5_000).collect::<Vec<_>>());
    /// let found = filter.cardinality();
    /// assert!((found.keys - 5_000.0).abs() < 5.0 * found.standard_error, "not 15,000: {found:?}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cardinality(&self) -> Estimate {
        self.layout.cardinality(&self.bits)
    }

    /// How this set and another overlap.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut filter = Bloom::with_rate(10_000, 0.01)?;
    /// let mut other = filter.clone();
    /// filter.insert_batch(&(0..6_000u64).collect::<Vec<_>>());
    /// other.insert_batch(&(4_000..10_000u64).collect::<Vec<_>>());
    /// let overlap = filter.overlap(&other)?;
    /// assert!((overlap.jaccard - 0.2).abs() < 0.02, "2,000 of 10,000 keys are in both");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn overlap(&self, other: &Self) -> Result<Overlap> {
        self.comparable(other)?;
        let mut both = self.bits.clone();
        both.or(&other.bits)?;
        let [a, b, union] = [&self.bits, &other.bits, &both].map(|bits| self.layout.cardinality(bits));
        Ok(Overlap::of(a, b, union, |keys| self.layout.cardinality_error(keys)))
    }

    /// What turns this filter into `new`, for one who holds this filter: a patch of the bits that differ, arithmetic-coded. A
    /// small change makes a short message. [`Filter::delta`](crate::AnyFilter::delta) does the same for every kind.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut here = Bloom::with_rate(10_000, 0.01)?;
    /// let mut there = here.clone();
    /// here.insert("rose");
    /// let message = there.delta(&here)?;
    /// assert!(message.len() < 250);
    /// there.apply_delta(&message)?;
    /// assert_eq!(there, here);
    /// assert!(there.apply_delta(&message).is_err(), "it is for the filter as it was");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn delta(&self, new: &Self) -> Result<Vec<u8>> {
        self.comparable(new)?;
        delta::between(self, new)
    }

    /// Applies what [`delta`](Self::delta) wrote. A damaged delta, and one that was made for another filter or another
    /// state of this one, is refused, and nothing changes.
    ///
    /// ```
    /// use bouquet::Bloom;
    /// let mut there = Bloom::with_rate(100, 0.01)?;
    /// let mut here = there.clone();
    /// here.insert("rose");
    /// let mut message = there.delta(&here)?;
    /// there.clone().apply_delta(&message)?;
    /// message[0] ^= 1;
    /// assert!(there.apply_delta(&message).is_err() && there.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn apply_delta(&mut self, delta: &[u8]) -> Result<()> {
        *self = delta::apply(self, delta)?;
        Ok(())
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::{Bloom, codec::MAGIC};
    /// let frame = Bloom::with_size(80_000, 5)?.to_bytes();
    /// assert!(frame.starts_with(&MAGIC));
    /// assert!((10_000..11_000).contains(&frame.len()), "the bits and little more");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::{Bloom, BlockedBloom};
    /// let mut filter = Bloom::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// let frame = filter.to_bytes();
    /// assert_eq!(Bloom::from_bytes(&frame)?, filter);
    /// assert!(BlockedBloom::from_bytes(&frame).is_err(), "another kind");
    /// assert!(Bloom::from_bytes(&frame[..frame.len() - 1]).is_err(), "cut short");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

impl<L: Layout> Structure for BitFilter<L> {
    const FACTS: Facts = L::FACTS;
    const CODED: bool = L::CODED;
    // A coded store has no fixed size.
    const IN_PLACE: bool = !L::CODED;

    fn plan(config: &Config) -> Result<Plan> {
        let layout = L::plan(config)?;
        let items = config.count("items");
        let fpr = items.map(|items| layout.expected_rate(items));
        Ok(Plan { bits: layout.bits(), hashes: layout.hashes(), items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = self.layout.settings(Config::new(const { &L::FACTS })).hashed(self.hashing.clone());
        if let Some(items) = self.design.items {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.fpr {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let (mean, deviation) = self.layout.expected_fill(self.items());
        Stats {
            items: self.items(),
            bits: self.bits.len(),
            hashes: self.layout.hashes(),
            fill: Some(self.bits.fill()),
            fpr: Some(self.rate_now()),
            honest_fill: Some(mean + 8.0 * deviation),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.layout.expected_rate(items)), ..Rates::default() }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items());
        encoder.bits(&self.bits);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let layout = L::plan(decoder.config())?;
        let items = decoder.state().u64()?;
        let bits = decoder.bits(layout.bits())?;
        Ok(Self::with_parts(decoder.config(), layout, bits, items))
    }
}

impl<L: Layout> Contains for BitFilter<L> {
    fn contains(&self, key: &[u8]) -> bool {
        #[inline(never)]
        fn of_any_length<L: Layout>(filter: &BitFilter<L>, key: &[u8]) -> bool {
            filter.contains(key)
        }
        match as_word(key) {
            Some(word) => BitFilter::contains(self, &word),
            None => of_any_length(self, key),
        }
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        BitFilter::contains_batch(self, keys, answers);
    }
}

/// Insertions that a filter tells of. More can only be forged or added up; from here on, no number of single ones overflows.
const MOST_ITEMS: u64 = u64::MAX / 2;

/// [`Layout::set`] where that is not the usual way. By value, so that a loop over keys may keep the filter in registers: no call
/// knows where it lies.
#[cold]
#[inline(never)]
fn set_elsewhere<L: Layout>(layout: L, words: &mut [u64], digest: Digest) -> bool {
    layout.set(words, digest)
}

/// The same where the layout [needs the key](Layout::needs_key).
#[cold]
#[inline(never)]
fn set_by_key<L: Layout>(layout: L, hashing: Hashing, words: &mut [u64], key: &[u8]) -> bool {
    let mut fresh = false;
    layout.all_of_key(&hashing, key, |position| {
        if let Some(word) = words.get_mut((position / 64) as usize) {
            fresh |= *word >> (position % 64) & 1 == 0;
            *word |= 1 << (position % 64);
        }
        true
    });
    fresh
}

impl<L: Layout> Insert for BitFilter<L> {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        #[inline(never)]
        fn of_any_length<L: Layout>(filter: &mut BitFilter<L>, key: &[u8]) -> bool {
            filter.insert(key)
        }
        let key = item.bare()?;
        Ok(match as_word(key) {
            Some(word) => BitFilter::insert(self, &word),
            None => of_any_length(self, key),
        })
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let good = items.iter().take_while(|item| item.bare().is_ok()).count();
        let fresh = BitFilter::insert_batch(self, &items[..good]);
        // The first item that is not bare is the error; those before it are in.
        items.get(good).map_or(Ok(fresh), |item| item.bare().map(|_| fresh))
    }
}

impl<L: Layout> Merge for BitFilter<L> {
    fn merge(&mut self, other: &Self) -> Result<()> {
        BitFilter::merge(self, other)
    }
}

impl<L: Layout> Intersect for BitFilter<L> {
    fn intersect(&mut self, other: &Self) -> Result<()> {
        BitFilter::intersect(self, other)
    }
}

impl<L: Layout> Cardinality for BitFilter<L> {
    fn cardinality(&self) -> Estimate {
        BitFilter::cardinality(self)
    }

    fn overlap(&self, other: &Self) -> Result<Overlap> {
        BitFilter::overlap(self, other)
    }
}

impl<L: Layout> Compress for BitFilter<L> {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * theory::special::entropy(self.bits.fill())
    }
}

#[cfg(test)]
mod tests {
    use super::MOST_ITEMS;
    use crate::capability::{Insert, Item};
    use crate::hash::{Hashing, Secret};
    use crate::kind::{Config, Structure};
    use crate::{AnyFilter, Bloom, Error, OpenOptions};

    /// A filter that claims an honest number of items and says yes to everything.
    fn all_ones(hashing: Hashing) -> Bloom {
        let config = Config::new(&Bloom::FACTS).set("bits", "6400").unwrap().set("hashes", "7").unwrap();
        let mut filter = Bloom::from_config(&config.hashed(hashing)).unwrap();
        (0..600u64).for_each(|key| assert!(filter.insert(&key) || filter.items() > 0));
        filter.bits.words_mut().fill(u64::MAX);
        filter
    }

    #[test]
    fn a_forged_filter_that_accepts_everything_is_refused_under_a_limit() {
        let forged = all_ones(Hashing::default()).to_bytes();
        let open = |max_fill| AnyFilter::from_bytes_with(&forged, &OpenOptions { max_fill, ..Default::default() });
        let accepted = open(None).unwrap();
        assert!((0..1_000u64).all(|key| accepted.contains().unwrap().contains(&key.to_be_bytes())));
        assert!(open(Some(1.0)).is_ok());
        for limit in [0.5, 0.75, 0.9999] {
            assert!(matches!(open(Some(limit)), Err(Error::Overfull { fill: 1.0, limit: found }) if found == limit));
        }
    }

    #[test]
    fn a_limit_lets_honest_filters_in() {
        let mut honest = Bloom::with_rate(1_000, 0.01).unwrap();
        (0..1_000u64).for_each(|key| {
            honest.insert(&key);
        });
        let options = OpenOptions { max_fill: Some(0.6), ..Default::default() };
        assert!(AnyFilter::from_bytes_with(&honest.to_bytes(), &options).is_ok());
    }

    #[test]
    fn a_forged_keyed_filter_is_refused_without_being_told() {
        let secret = Secret::new(&[9; 32]).unwrap();
        let forged = crate::codec::without_code(all_ones(Hashing::keyed(secret.clone())).to_bytes());
        let options = OpenOptions { secret: Some(secret), allow_unauthenticated: true, ..Default::default() };
        assert!(matches!(AnyFilter::from_bytes_with(&forged, &options), Err(Error::Overfull { .. })));
    }

    #[test]
    fn a_forged_number_of_items_never_overflows() {
        let mut filter = Bloom::with_size(100, 2).unwrap();
        filter.items = u64::MAX;
        let mut filter = Bloom::from_bytes(&filter.to_bytes()).unwrap();
        let other = filter.clone();
        filter.insert("rose");
        assert_eq!(filter.items(), MOST_ITEMS);
        assert_eq!(Bloom::from_bytes(&filter.to_bytes()).unwrap().to_bytes(), filter.to_bytes());
        filter.insert_batch(&[Item::from(b"thistle".as_slice())]);
        filter.merge(&other).unwrap();
        assert_eq!(filter.items(), MOST_ITEMS);
    }

    #[test]
    fn deltas_are_refused_by_another_base_shape_or_hashing_and_when_damaged() {
        let filter = |seed: u64, keys: u64| {
            let config = Config::new(&Bloom::FACTS).set("bits", "5000").unwrap().set("hashes", "3").unwrap();
            let mut filter = Bloom::from_config(&config.hashed(Hashing::seeded(seed))).unwrap();
            let keys: Vec<_> = (0..keys).map(u64::to_le_bytes).collect();
            let items: Vec<_> = keys.iter().map(|key| Item::from(key.as_slice())).collect();
            Insert::insert_batch(&mut filter, &items).unwrap();
            filter
        };
        let (old, new) = (filter(0, 100), filter(0, 130));
        let delta = old.delta(&new).unwrap();
        let mut target = old.clone();
        target.apply_delta(&delta).unwrap();
        assert_eq!(target, new);

        for mut other in [filter(0, 101), filter(1, 100), filter(0, 0), new.clone(), Bloom::with_size(5000, 4).unwrap()]
        {
            let before = other.clone();
            assert!(matches!(other.apply_delta(&delta), Err(Error::OtherBase { .. })));
            assert_eq!(other, before);
        }
        assert!(matches!(old.delta(&filter(1, 100)), Err(Error::Incompatible { .. })));
        for end in 0..delta.len() {
            assert!(old.clone().apply_delta(&delta[..end]).is_err());
        }
        for at in 0..delta.len() {
            let mut damaged = delta.clone();
            damaged[at] ^= 16;
            let mut target = old.clone();
            assert!(target.apply_delta(&damaged).is_err());
            assert_eq!(target, old);
        }
    }
}
