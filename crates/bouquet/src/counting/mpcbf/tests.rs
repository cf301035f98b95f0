use std::collections::HashMap;

use super::*;
use crate::Key;
use crate::kind::Config;

fn empty(settings: &[(&str, &str)]) -> Mpcbf {
    let config = Config::new(KIND.facts());
    let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
    Mpcbf::from_config(&config).unwrap()
}

const SMALL: [(&str, &str); 5] =
    [("items", "100000"), ("bits", "4e6"), ("word", "64"), ("words-per-key", "2"), ("hashes", "4")];
const LARGE: [(&str, &str); 4] = [("items", "100000"), ("bits", "3e6"), ("word", "256"), ("hashes", "4")];

#[test]
fn both_designs_of_100_000_keys_have_their_rates() {
    const N: u64 = 100_000;
    const QUERIES: u64 = 1_000_000;
    for (settings, arrivals, first, rate) in [(&SMALL[..], 13, 38, 7.44e-4), (&LARGE[..], 21, 172, 1.52e-3)] {
        let mut filter = empty(settings);
        assert_eq!((filter.shape().most_arrivals(), filter.shape().first), (arrivals, first));
        (0..N).for_each(|key| assert!(filter.insert(&key).is_ok()));
        assert!(filter.given_up() <= 5, "{}", filter.given_up());
        assert!((0..N).all(|key| filter.contains(&key)));
        let Shape { words, words_per_key, places, first, .. } = filter.shape();
        let g = f64::from(words_per_key);
        let ideal = filter.shape().ideal_rate(N);
        assert!((ideal / rate - 1.0).abs() < 0.005, "{ideal}");
        // Words that were given up accept everything; that is not in the printed rates.
        let lost = filter.given_up() as f64 / words as f64;
        let expected = (rate.powf(1.0 / g) + lost).powf(g);
        // The queries scatter given the content, and the content as a mean over the words of each part.
        let within = |ones: usize| -> f64 {
            (0..places).map(|t| (ones as f64 - f64::from(t)).max(0.0) / f64::from(first - t)).product()
        };
        let of_words = (0..words).map(|word| within(ones_between(filter.mechanism.word(word), 0, first as usize)));
        let (sum, squares) = of_words.fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
        let (mean, count) = (sum / words as f64, words as f64);
        let of_part = (squares / count - mean * mean) / (count / g);
        let of_content = g * mean.powf(2.0 * (g - 1.0)) * of_part;
        let found = (N..N + QUERIES).filter(|key| filter.contains(key)).count() as f64 / QUERIES as f64;
        let sigma = (rate * (1.0 - rate) / QUERIES as f64 + of_content).sqrt();
        assert!((found - expected).abs() < 5.0 * sigma, "{found} instead of {expected}, sigma {sigma}");
        assert!((filter.stats().fpr.unwrap() - mean.powf(g)).abs() < 0.02 * rate);
        // Half of them leave, and leave the filter of the others.
        let mut half = empty(settings);
        (0..N / 2).for_each(|key| filter.remove(&key).unwrap());
        (N / 2..N).for_each(|key| assert!(half.insert(&key).is_ok()));
        assert!((N / 2..N).all(|key| filter.contains(&key)));
        if filter.given_up() == 0 {
            assert_eq!(filter, half);
        }
    }
}

#[test]
fn an_answer_depends_on_exactly_the_words_of_the_key() {
    for settings in [&SMALL[..], &LARGE[..]] {
        let mut filter = empty(settings);
        (0..1_000u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
        for key in 0..1_000u64 {
            let digest = key.digest(&filter.hashing);
            let words: Vec<u64> =
                (0..filter.shape().words_per_key).map(|j| filter.mechanism.word_of(digest, j)).collect();
            // With all other words emptied the answer is the same; with one of its own emptied it is another.
            let mut only = filter.clone();
            only.clear().unwrap();
            for &word in &words {
                let content = filter.mechanism.word(word).to_vec();
                assert!(!only.contains(&key));
                only.mechanism.word_mut(word).copy_from_slice(&content);
            }
            assert!(only.contains(&key));
            assert_eq!(words.len() as u32, filter.shape().words_per_key);
            if key > 10 {
                continue;
            }
            for &word in &words {
                let mut without = filter.clone();
                without.mechanism.word_mut(word).fill(0);
                assert!(!without.contains(&key));
            }
        }
    }
}

#[test]
fn random_operations_agree_with_a_multiset() {
    for &policy in Policy::WORDS {
        for (word, g) in [("64", "1"), ("64", "3"), ("128", "2"), ("512", "1")] {
            let mut filter =
                empty(&[("items", "40"), ("fpr", "0.1"), ("word", word), ("words-per-key", g), ("policy", policy)]);
            let mut model: HashMap<u64, u64> = HashMap::new();
            let mut random = SplitMix::new(7);
            for _ in 0..3_000 {
                let key = random.below(60);
                let before = filter.clone();
                if random.below(2) == 0 {
                    match filter.insert(&key) {
                        Ok(fresh) => {
                            assert_eq!(fresh, !before.contains(&key));
                            *model.entry(key).or_default() += 1;
                        }
                        Err(Error::Full { .. }) if policy == "reject" => assert_eq!(filter, before),
                        Err(error) => panic!("{error}"),
                    }
                } else if let Some(count) = model.get_mut(&key).filter(|count| **count > 0) {
                    filter.remove(&key).unwrap();
                    *count -= 1;
                } else if !before.contains(&key) {
                    assert!(matches!(filter.remove(&key), Err(Error::NotPresent)));
                    assert_eq!(filter, before);
                }
                for (key, &truth) in &model {
                    let Multiplicity { count, at_least } = filter.count(key);
                    assert!(count >= truth || at_least, "{policy} {word} {g}");
                    assert_eq!(filter.contains(key), count > 0);
                    assert!(truth == 0 || filter.contains(key));
                }
            }
            assert!(policy == "sticky" || filter.given_up() == 0);
            assert_eq!(Mpcbf::from_bytes(&filter.to_bytes()).unwrap(), filter);
        }
    }
}

#[test]
fn a_rejected_key_changes_none_of_its_words() {
    let settings = [("bits", "128"), ("word", "64"), ("words-per-key", "2"), ("hashes", "6"), ("first-level", "58")];
    let mut filter = empty(&[&settings[..], &[("policy", "reject")]].concat());
    (0..2u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    // The second word is emptied, so that only the first is full.
    filter.mechanism.word_mut(1).fill(0);
    let before = filter.clone();
    assert!(matches!(filter.insert(&2u64), Err(Error::Full { .. })));
    assert_eq!(filter, before);
}

#[test]
fn every_subset_of_places_is_as_likely() {
    let filter = empty(&[("bits", "64"), ("word", "64"), ("hashes", "2"), ("first-level", "6")]);
    let mut counts: HashMap<[u16; 2], u32> = HashMap::new();
    for key in 0..150_000u64 {
        let places = filter.mechanism.places(key.digest(&filter.hashing), 0);
        let mut pair = [places.as_slice()[0], places.as_slice()[1]];
        pair.sort_unstable();
        *counts.entry(pair).or_default() += 1;
    }
    assert_eq!(counts.len(), 15);
    // 10,000 of each, with a standard deviation of 97.
    assert!(counts.values().all(|&count| count.abs_diff(10_000) < 5 * 97), "{counts:?}");
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let refused = |settings: &[(&str, &str)]| {
        let config = Config::new(KIND.facts());
        let config = settings.iter().try_fold(config, |config, (name, text)| config.set(name, text)).unwrap();
        match Mpcbf::from_config(&config) {
            Err(Error::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&[]), "items");
    assert_eq!(refused(&[("bits", "1000"), ("hashes", "4")]), "items");
    assert_eq!(refused(&[("items", "10"), ("hashes", "17")]), "hashes");
    assert_eq!(refused(&[("items", "10"), ("hashes", "3"), ("words-per-key", "2")]), "hashes");
    assert_eq!(refused(&[("items", "10"), ("first-level", "100")]), "bits");
    assert_eq!(refused(&[("bits", "512"), ("first-level", "100")]), "hashes");
    assert_eq!(refused(&[("bits", "512"), ("first-level", "510"), ("hashes", "3")]), "first-level");
    assert_eq!(refused(&[("bits", "512"), ("items", "1000")]), "bits");
    assert_eq!(refused(&[("items", "10"), ("fpr", "1e-12")]), "fpr");
}

#[test]
fn frames_of_words_that_are_no_code_are_refused() {
    let mut filter = empty(&[("items", "100"), ("word", "128")]);
    (0..100u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    let (mut random, mut refused) = (SplitMix::new(5), 0);
    for _ in 0..1_000 {
        let mut damaged = filter.clone();
        let index = random.below(filter.mechanism.bits.len());
        if !damaged.mechanism.bits.set(index) {
            damaged.mechanism.bits.clear(index);
        }
        match Mpcbf::from_bytes(&damaged.to_bytes()) {
            // A bit may be flipped so that the code is one of other counters.
            Ok(mut other) => (0..200u64).for_each(|key| {
                if other.contains(&key) {
                    other.remove(&key).unwrap();
                }
            }),
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }));
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
