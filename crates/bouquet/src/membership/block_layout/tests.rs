use super::*;
use crate::kind::{Config, Structure};
use crate::membership::bloom_g::{BloomG, BloomGSettings, Words};
use crate::membership::{BitFilter, blocked::BlockedKind};
use crate::shared::SharedBitFilter;
use crate::shell::Settings;

/// Blocks of a word and of half of one, near and far, with as many bits as have code of their own and more than a word of hash has.
#[test]
fn bits_in_words_are_at_the_positions() {
    for (word, g) in ["32", "64"].into_iter().flat_map(|word| (1..=MAX_BLOCKS_PER_KEY).map(move |g| (word, g))) {
        for (hashes, bits) in (g..=2 * line::MOST).map(|hashes| (hashes, 1 << 13)).chain([(5, 1 << 22), (9, 1 << 22)]) {
            let settings = [("bits", bits), ("hashes", hashes), ("words-per-key", g)];
            let config = Config::new(&BloomG::FACTS).set("word", word).unwrap();
            let config =
                settings.iter().fold(config, |config, (name, value)| config.set(name, &value.to_string()).unwrap());
            let whole = Blocks::<Words>::plan(&BloomGSettings::from_config(&config).unwrap()).unwrap();
            assert_eq!((whole.code == Code::Words, matches!(whole.code, Code::Word { .. })), (g > 1, g == 1));
            agrees::<Words>(&config);
        }
    }
}

/// Places in a line, near and beyond the second-level cache, at the rates that people ask for and with more than a kernel has.
#[test]
fn bits_in_lines_are_at_the_positions() {
    for (bits, hashes) in [1 << 13, 1 << 22].into_iter().flat_map(|bits| (1..=line::MOST + 2).map(move |k| (bits, k))) {
        let config = Config::new(&crate::Blocked::FACTS).set("bits", &bits.to_string()).unwrap();
        let config = config.set("hashes", &hashes.to_string()).unwrap();
        agrees::<BlockedKind>(&config);
    }
}

/// Single calls, batches and shared filters set and find what the positions say.
fn agrees<K: BlockKind>(config: &Config) {
    let mut single = BitFilter::<Blocks<K>>::from_config(config).unwrap();
    let (mut batch, mut words) = (single.clone(), single.bits().words().to_vec());
    let layout = single.layout().clone();
    let keys: Vec<u64> = (0..300).chain(0..10).collect();
    let digest = |key: &u64| key.digest(single.hashing());
    let new: Vec<_> = keys.iter().map(|key| set_positions(&layout, &mut words, digest(key))).collect();
    let asked: Vec<u64> = (0..3_000).collect();
    let expected: Vec<_> = asked.iter().map(|key| test_positions(&layout, &words, digest(key))).collect();

    assert!(keys.iter().zip(&new).all(|(key, new)| single.insert(key) == *new), "{config:?}");
    assert_eq!(batch.insert_batch(&keys), new.iter().filter(|new| **new).count() as u64);
    assert_eq!((single.bits().words(), batch.bits().words()), (&words[..], &words[..]), "{config:?}");
    assert!(asked.iter().zip(&expected).all(|(key, expected)| single.contains(key) == *expected));
    let mut answers = vec![false; asked.len()];
    single.contains_batch(&asked, &mut answers);
    assert_eq!(answers, expected, "{config:?}");

    let shared = SharedBitFilter::from(BitFilter::<Blocks<K>>::from_config(config).unwrap());
    assert!(keys.iter().zip(&new).all(|(key, new)| shared.insert(key) == *new), "{config:?}");
    assert!(asked.iter().zip(&expected).all(|(key, expected)| shared.contains(key) == *expected));
    assert_eq!(shared.into_filter(), single, "{config:?}");

    // Half of the blocks, as many bits in each.
    let half = single.halved().unwrap().unwrap();
    assert!(keys.iter().all(|key| half.contains(key)), "{config:?}");
}
