use std::collections::HashSet;

use super::*;
use crate::hash::Digest;
use crate::hash::{Secret, SplitMix};
use crate::kind::Facts;
use crate::membership::blocked;
use crate::membership::bloom_g::{self, BloomG};
use crate::membership::compressed::Compressed;
use crate::membership::one_hash::OneHash;
use crate::membership::partitioned::Partitioned;
use crate::membership::ultra_fast;
use crate::shared::model::{values, zeros};
use crate::shell::Settings;
use crate::{Bloom, membership::standard};

fn config(facts: &'static Facts, settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(facts), |config, (name, value)| config.set(name, value).unwrap())
}

fn layout<L: Access>(settings: &[(&str, &str)]) -> L {
    let config = config(const { &BitFilter::<L>::FACTS }, settings);
    L::plan(&L::Settings::from_config(&config).unwrap()).unwrap()
}

/// Two threads insert these digests into an empty filter in every possible order; `check` gets what they were told.
fn model<L: Access>(layout: &L, digests: [Digest; 2], check: impl Fn([bool; 2]) + Send + Sync + 'static) {
    let mut expected = BitStore::zeroed(layout.bits()).unwrap();
    digests.iter().for_each(|digest| {
        layout.set(expected.words_mut(), *digest);
    });
    let layout = layout.clone();
    loom::model(move || {
        let words = zeros(expected.words().len());
        let thread = {
            let (words, layout) = (words.clone(), layout.clone());
            loom::thread::spawn(move || {
                let told = layout.set_shared(&words, digests[1]);
                assert!(layout.test(&words[..], digests[1]), "a thread sees its own insertion");
                told
            })
        };
        let told = layout.set_shared(&words, digests[0]);
        let told = [told, thread.join().unwrap()];
        assert!(digests.iter().all(|digest| layout.test(&words[..], *digest)), "inserted before, so contained");
        assert_eq!(values(&words), expected.words(), "no bit is lost");
        check(told);
    });
}

/// A digest of the key whose bits lie in this many words.
fn digest_in_words(layout: &impl Access, words: usize) -> Digest {
    let mut random = SplitMix::new(7);
    let in_words = |digest: Digest| {
        let mut found = HashSet::new();
        layout.all(digest, |position| {
            found.insert(position / 64);
            true
        });
        found.len() == words
    };
    let mut digests = std::iter::repeat_with(|| Digest { h1: random.next_u64(), h2: random.next_u64() });
    digests.find(|digest| in_words(*digest)).unwrap()
}

#[test]
fn in_every_interleaving_a_thread_that_inserts_a_new_key_is_told() {
    let flat: Flat = layout(&[("bits", "192"), ("hashes", "2")]);
    let key = digest_in_words(&flat, 2);
    let both = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = both.clone();
    model(&flat, [key, key], move |told| {
        assert!(told[0] || told[1]);
        seen.fetch_or(told[0] && told[1], std::sync::atomic::Ordering::Relaxed);
    });
    assert!(both.load(std::sync::atomic::Ordering::Relaxed), "with two words both may be told, and the model finds it");

    let split: Split = layout(&[("bits", "256")]);
    model(&split, [digest_in_words(&split, 4); 2], |told| assert!(told[0] || told[1]));
}

#[test]
fn in_every_interleaving_exactly_one_is_told_where_a_key_lies_in_one_word() {
    for block in ["32", "64"] {
        let blocks: Blocks<BlockedKind> = layout(&[("bits", "128"), ("hashes", "5"), ("block", block)]);
        model(&blocks, [digest_in_words(&blocks, 1); 2], |told| assert!(told[0] != told[1]));
    }
    let words: Blocks<bloom_g::Words> = layout(&[("bits", "128"), ("hashes", "5")]);
    model(&words, [digest_in_words(&words, 1); 2], |told| assert!(told[0] != told[1]));
}

#[test]
fn in_every_interleaving_different_keys_keep_their_bits() {
    let flat: Flat = layout(&[("bits", "64"), ("hashes", "2")]);
    let mut random = SplitMix::new(3);
    let mut digest = || Digest { h1: random.next_u64(), h2: random.next_u64() };
    model(&flat, [digest(), digest()], |_| ());
}

/// Every layout, as (facts, settings).
const CASES: &[(&Facts, &[(&str, &str)])] = &[
    (standard::KIND.facts(), &[("items", "20000")]),
    #[cfg(feature = "replication")]
    (standard::KIND.facts(), &[("items", "2000"), ("hashes", "4"), ("family", "squid-md5"), ("reduction", "modulo")]),
    (crate::membership::partitioned::KIND.facts(), &[("items", "20000")]),
    (crate::membership::compressed::KIND.facts(), &[("items", "20000")]),
    (crate::membership::one_hash::KIND.facts(), &[("items", "20000")]),
    (ultra_fast::KIND.facts(), &[("items", "20000")]),
    (ultra_fast::KIND.facts(), &[("items", "2000"), ("mode", "parquet")]),
    (ultra_fast::KIND.facts(), &[("bits", "16777216"), ("mode", "parquet")]),
    (ultra_fast::KIND.facts(), &[("items", "2000"), ("hashes", "16")]),
    (ultra_fast::KIND.facts(), &[("items", "2000"), ("hashes", "4"), ("word", "64")]),
    (ultra_fast::KIND.facts(), &[("items", "2000"), ("hashes", "16"), ("word", "64")]),
    (blocked::KIND.facts(), &[("items", "20000")]),
    (blocked::KIND.facts(), &[("items", "2000"), ("block", "64")]),
    (blocked::KIND.facts(), &[("items", "2000"), ("block", "32")]),
    (blocked::KIND.facts(), &[("items", "2000"), ("block", "128")]),
    (blocked::KIND.facts(), &[("items", "2000"), ("patterns", "16384")]),
    (blocked::KIND.facts(), &[("items", "2000"), ("block", "64"), ("patterns", "16384")]),
    (bloom_g::KIND.facts(), &[("items", "2000"), ("words-per-key", "2")]),
    (bloom_g::KIND.facts(), &[("items", "2000"), ("words-per-key", "3"), ("word", "256")]),
];

/// Runs `run` for every case with its own type.
macro_rules! every_layout {
    ($run:ident) => {
        for (facts, settings) in CASES {
            let config = config(facts, settings);
            match facts.id {
                "standard" => $run::<Flat>(&config),
                "partitioned" => $run::<crate::membership::partitioned::Slices>(&config),
                "compressed" => $run::<crate::membership::compressed::Sparse>(&config),
                "one-hash" => $run::<crate::membership::one_hash::Primes>(&config),
                "ultra-fast" => $run::<Split>(&config),
                "blocked" => $run::<Blocks<BlockedKind>>(&config),
                "bloom-g" => $run::<Blocks<bloom_g::Words>>(&config),
                other => panic!("no case for {other}"),
            }
        }
    };
}

fn alone_equals_plain<L: Access>(config: &Config) {
    let (mut plain, shared) =
        (BitFilter::<L>::from_config(config).unwrap(), SharedBitFilter::from_config(config).unwrap());
    for key in (0..1_500u64).chain(1_000..2_000) {
        assert_eq!(shared.insert(&key), plain.insert(&key));
    }
    let batch: Vec<u64> = (1_900..3_000).collect();
    assert_eq!(shared.insert_batch(&batch), plain.insert_batch(&batch));
    let queries: Vec<u64> = (2_500..6_000).collect();
    let (mut expected, mut found) = (vec![false; queries.len()], vec![false; queries.len()]);
    plain.contains_batch(&queries, &mut expected);
    shared.contains_batch(&queries, &mut found);
    assert_eq!(found, expected);
    assert!(queries.iter().zip(&expected).all(|(key, expected)| shared.contains(key) == *expected));
    assert_eq!((shared.items(), shared.rate_now()), (plain.items(), plain.rate_now()));
    assert_eq!(shared.snapshot(), plain);
    assert_eq!(shared.into_filter(), plain);
}

#[test]
fn one_thread_gets_the_bits_and_answers_of_the_plain_filter() {
    every_layout!(alone_equals_plain);
}

#[test]
fn batches_far_and_near_are_single_calls() {
    fn check<L: Access>(bits: u64, hashes: u32) {
        let [single, batch] = [(); 2].map(|()| SharedBitFilter::<L>::with_size(bits, hashes).unwrap());
        let keys: Vec<u64> = (0..700).chain(0..70).collect();
        let told = keys.iter().filter(|key| single.insert(*key)).count() as u64;
        assert_eq!((batch.insert_batch(&keys), batch.items()), (told, single.items()));
        assert!(batch.words.as_slice().iter().map(Word::load).eq(single.words.as_slice().iter().map(Word::load)));
        assert!(keys.iter().all(|key| batch.contains(key)));
        let queries: Vec<u64> = (600..2_001).collect();
        let mut answers = vec![false; queries.len()];
        batch.contains_batch(&queries, &mut answers);
        assert!(queries.iter().zip(answers).all(|(key, answer)| single.contains(key) == answer));
    }
    let far_apart = 64 * near_words::<Flat>() as u64;
    for bits in [1 << 14, far_apart, far_apart + 64] {
        check::<Flat>(bits, 7);
    }
    // Another number of positions than most filters have, and more than are kept.
    check::<Flat>(1 << 14, 3);
    check::<Flat>(1 << 14, 20);
    let far = 64 * near_words::<Split>() as u64;
    // The last is so far that the memory is asked in advance in every build.
    for bits in [1 << 14, far, 8 * far] {
        check::<Split>(bits, 8);
        check::<Blocks<BlockedKind>>(bits, 7);
    }
}

fn race<L: Access>(config: &Config) {
    const THREADS: u64 = 4;
    const KEYS: u64 = 1_500;
    let shared = SharedBitFilter::<L>::from_config(config).unwrap();
    let start = std::sync::Barrier::new(THREADS as usize);
    // Each thread inserts half of the circle of keys, so that every key is inserted twice; every other thread in a batch.
    let insert_half = |thread: u64| {
        let mine: Vec<u64> = (0..KEYS / 2).map(|i| (thread * KEYS / THREADS + i) % KEYS).collect();
        start.wait();
        let told = match thread % 2 {
            0 => mine.iter().filter(|key| shared.insert(*key)).count() as u64,
            _ => shared.insert_batch(&mine),
        };
        assert!(mine.iter().all(|key| shared.contains(key)));
        told
    };
    let told: u64 = std::thread::scope(|scope| {
        let insert_half = &insert_half;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || insert_half(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let mut plain = BitFilter::<L>::from_config(config).unwrap();
    plain.insert_batch(&(0..KEYS).chain(0..KEYS).collect::<Vec<_>>());
    assert_eq!(shared.snapshot(), plain, "{config:?}");
    let in_word = ["32", "64"].contains(&config.choice("block")) && config.count("patterns") == Some(0);
    if in_word {
        assert!(told <= KEYS, "a key is new to one thread at most: {told}, {config:?}");
    }
}

#[test]
fn threads_together_make_the_filter_of_one() {
    for _ in 0..3 {
        every_layout!(race);
    }
}

#[test]
fn every_new_key_is_told_at_least_once_when_no_other_key_interferes() {
    // So sparse that no key is a false positive: every key is told, whoever races.
    let shared = SharedBloom::with_size(1 << 24, 4).unwrap();
    let mut plain = Bloom::with_size(1 << 24, 4).unwrap();
    let keys: Vec<u64> = (0..30_000).collect();
    assert_eq!(plain.insert_batch(&keys), 30_000);
    let told: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| keys.iter().map(|key| shared.insert(key)).collect()));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!((0..keys.len()).all(|i| told.iter().any(|told| told[i])));
    assert_eq!(shared.items(), 90_000);
    assert_eq!(shared.snapshot().bits(), plain.bits());
}

#[test]
fn keyed_filters_are_shared_with_their_secret() {
    let hashing = Hashing::keyed(Secret::new(&[7; 32]).unwrap());
    let config = config(standard::KIND.facts(), &[("items", "1000")]).hashed(hashing);
    let mut plain = Bloom::from_config(&config).unwrap();
    let shared = SharedBloom::from_config(&config).unwrap();
    plain.insert("rose");
    shared.insert("rose");
    assert_eq!(shared.into_filter(), plain);
}

#[test]
fn every_member_of_the_family_has_a_shared_form() {
    fn check<L: Access>(filter: BitFilter<L>)
    where
        SharedBitFilter<L>: Send + Sync,
    {
        assert_eq!(SharedBitFilter::from(filter.clone()).into_filter(), filter);
    }
    check(Bloom::with_rate(100, 0.01).unwrap());
    check(Partitioned::with_rate(100, 0.01).unwrap());
    check(Compressed::with_rate(100, 0.01).unwrap());
    check(OneHash::with_rate(100, 0.01).unwrap());
    check(BloomG::with_rate(100, 0.01).unwrap());
}
