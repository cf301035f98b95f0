use std::collections::HashMap;

use super::items::ACCESSES;
use super::*;
use crate::hash::SplitMix;
use crate::theory::fingerprints;

const N: u64 = 10_000;

/// A table of n keys with m/n buckets per key.
fn filled(per_item: f64, hashes: u32, seed: u64) -> PrunedCounting {
    let (counters, hashes) = (Some((per_item * N as f64) as u64), Some(hashes));
    let settings = PrunedCountingSettings { counters, hashes, ..Default::default() };
    let mut table = PrunedCounting::hashed(settings, Hashing::seeded(seed)).unwrap();
    (0..N).for_each(|key| assert!(table.insert(&key, &key.to_le_bytes()).unwrap()));
    table
}

impl Pruned {
    fn is_at_home(&self, number: usize) -> bool {
        self.held(number).is_some_and(|held| {
            held.home == self.home(&held.places) && self.at_home(held.home).any(|own| own == number)
        })
    }

    /// Every item is at home, and in the list of each of its places.
    fn check(&self) {
        for number in (0..self.held.len()).filter(|&number| self.held[number].is_some()) {
            assert!(self.is_at_home(number));
            let places = &self.held(number).unwrap().places;
            assert!(places.iter().all(|&place| self.hashed(place).filter(|&own| own == number).count() == 1));
        }
        let at_home: usize = (0..self.buckets()).map(|bucket| self.at_home(bucket).count()).sum();
        assert_eq!(at_home, self.len());
    }
}

fn accesses(table: &PrunedCounting, keys: std::ops::Range<u64>, present: bool) -> u64 {
    ACCESSES.set(0);
    keys.for_each(|key| assert_eq!(table.contains(&key), present));
    ACCESSES.get()
}

#[test]
fn items_are_at_home_after_every_operation() {
    // Only items that are hashed to a place of the key can move: they are checked after each step, all now and then. A
    // small table is checked as a whole after each.
    for (n, steps, all_every) in [(N, 100_000u64, 10_000), (100, 5_000, 1)] {
        let mut table = PrunedCounting::with_capacity(n).unwrap();
        let mut model: HashMap<u64, (u64, u64)> = HashMap::new();
        let mut random = SplitMix::new(n);
        for step in 0..steps {
            let key = random.below(2 * n);
            let own = model.get(&key).copied();
            assert_eq!(table.value(&key).map(<[u8]>::to_vec), own.map(|(value, _)| value.to_le_bytes().to_vec()));
            if random.below(2) == 0 {
                assert_eq!(table.insert(&key, &step.to_le_bytes()).unwrap(), own.is_none());
                model.insert(key, (step, own.map_or(0, |(_, copies)| copies) + 1));
            } else {
                assert_eq!(table.remove(&key).is_ok(), own.is_some());
                match own {
                    Some((value, copies)) if copies > 1 => model.insert(key, (value, copies - 1)),
                    _ => model.remove(&key),
                };
            }
            let places = table.mechanism.places.distinct(key.digest(&table.hashing));
            assert!(
                places
                    .iter()
                    .all(|&place| table.mechanism.hashed(place).all(|number| table.mechanism.is_at_home(number)))
            );
            if step % all_every == 0 {
                table.mechanism.check();
            }
        }
        table.mechanism.check();
        assert_eq!(table.len(), model.len());
    }
}

#[test]
fn buckets_are_as_empty_as_published_and_balancing_finishes_the_rest() {
    assert_eq!(filled(12.8, 9, 0).crowded(), 0);
    // Beside it a table with one hash function: n - m (1 - e^(-n/m)) = 381 items meet another.
    let (m, n) = (128_000.0, N as f64);
    let one_hash = filled(12.8, 1, 0).crowded() as f64;
    let expected = n - m * (1.0 - (-n / m).exp());
    assert!((one_hash - expected).abs() < 5.0 * expected.sqrt(), "{one_hash}, expected {expected}");

    let mut table = filled(8.0, 5, 0);
    assert!(table.crowded() <= 10, "{}", table.crowded());
    table.balance(10_000).unwrap();
    assert_eq!(table.crowded(), 0);
    table.mechanism.check();

    let mut table = filled(4.0, 3, 0);
    // About 120 on average: each seed scatters like a number of rare events.
    let mean = (0..5).map(|seed| filled(4.0, 3, seed).crowded()).sum::<u64>() as f64 / 5.0;
    assert!((mean - 120.0).abs() < 5.0 * (120.0f64 / 5.0).sqrt(), "{mean}");
    let few = table.clone().balance(5).unwrap();
    assert_eq!(few, 5, "the limit is kept");
    table.balance(100_000).unwrap();
    assert_eq!(table.crowded(), 0);
    table.mechanism.check();
    assert_eq!(accesses(&table, 0..N, true), N);
    let again = PrunedCounting::from_bytes(&table.to_bytes()).unwrap();
    assert_eq!((again.crowded(), &again), (0, &table), "boosts are kept in the frame");
}

#[test]
fn a_hit_reads_one_bucket_and_a_miss_almost_none() {
    let table = filled(12.8, 9, 0);
    assert_eq!(accesses(&table, 0..N, true), N);
    let queries = 1_000_000;
    let measured = accesses(&table, 1 << 40..(1 << 40) + queries, false) as f64 / queries as f64;
    let expected = fingerprints::pruned_miss_accesses(128_000, N, 9);
    assert!((expected - 0.0021).abs() < 5e-5);
    // The fill of the counters scatters too: sigma^2 = f/Q + (f k/rho)^2 Var(rho).
    let lambda = 9.0 * N as f64 / 128_000.0;
    let rho = 1.0 - (-lambda).exp();
    let fill_variance = (-lambda).exp() * (1.0 - (1.0 + lambda) * (-lambda).exp()) / 128_000.0;
    let sigma = (expected / queries as f64 + (expected * 9.0 / rho).powi(2) * fill_variance).sqrt();
    assert!((measured - expected).abs() < 5.0 * sigma, "{measured}, expected {expected}");
}

#[test]
fn the_basic_mode_gives_the_same_answers_and_passes_more_items() {
    let with = |mode| {
        let settings = PrunedCountingSettings { items: Some(500), mode: Some(mode), ..Default::default() };
        PrunedCounting::with(settings).unwrap()
    };
    let (mut pruned, mut basic) = (with(Mode::Pruned), with(Mode::Basic));
    for key in 0..500u64 {
        pruned.insert(&key, b"x").unwrap();
        basic.insert(&key, b"x").unwrap();
    }
    (0..250u64).for_each(|key| assert!(pruned.remove(&key).is_ok() && basic.remove(&key).is_ok()));
    assert!((0..2_000u64).all(|key| pruned.value(&key) == basic.value(&key)));
    let listed: usize = (0..basic.mechanism.buckets()).map(|bucket| basic.mechanism.hashed(bucket).count()).sum();
    assert!(listed > 8 * basic.len(), "every item is in its nine buckets");
}

#[test]
fn tuple_search_equals_linear_search() {
    let mut random = SplitMix::new(3);
    let mut rules: Vec<([Prefix; 2], u64)> = Vec::new();
    let mut space = PrunedCounting::with_capacity(1_000).unwrap();
    // Few different bits, so that packets match.
    let bits = |random: &mut SplitMix| (random.next_u64() & 0xC300_00FF) as u32;
    for priority in 0..1_000 {
        let mut prefix = || Prefix::new(bits(&mut random), [0, 2, 8, 24, 32][random.below(5) as usize]).unwrap();
        let rule = [prefix(), prefix()];
        space.add_rule(&rule, priority).unwrap();
        rules.push((rule, priority));
    }
    let mut matched = 0;
    for step in 0..100_000 {
        if step % 200 == 0 {
            // Rules leave, and the rest still wins.
            let (rule, priority) = rules.swap_remove(random.below(rules.len() as u64) as usize);
            space.remove_rule(&rule, priority).unwrap();
        }
        let packet = [bits(&mut random), bits(&mut random)];
        let matches = |rule: &[Prefix; 2]| rule.iter().zip(packet).all(|(prefix, field)| prefix.matches(field));
        let linear = rules.iter().filter(|(rule, _)| matches(rule)).map(|&(_, priority)| priority).max();
        assert_eq!(space.best_rule(&packet), linear);
        matched += u64::from(linear.is_some());
    }
    let tuples = space.tuples().count();
    assert!(matched > 10_000 && tuples == 25, "{matched} {tuples}");
    assert_eq!(space.tuples().map(|(_, rules)| rules).sum::<u64>(), 500);
    space.mechanism.check();
    rules.drain(..).for_each(|(rule, priority)| space.remove_rule(&rule, priority).unwrap());
    assert!(space.is_empty() && space.items() == 0, "the list of tuples goes with the last rule");
}

#[test]
fn forged_frames_are_refused() {
    let mut table = PrunedCounting::with_size(50, 3).unwrap();
    (0..10u64).for_each(|key| assert!(table.insert(&key, b"value").unwrap()));
    assert_eq!(PrunedCounting::from_bytes(&table.to_bytes()).unwrap(), table);
    let mut forged = table.clone();
    forged.mechanism.counters.update(7, |counter| counter + 1);
    assert!(matches!(PrunedCounting::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })));
    let mut forged = table.clone();
    let number = forged.mechanism.held.iter().position(Option::is_some).unwrap();
    forged.mechanism.held[number].as_mut().unwrap().copies = 0;
    assert!(matches!(PrunedCounting::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })));
    let mut forged = table.clone();
    forged.mechanism.held[number].as_mut().unwrap().key = 77u64.to_le_bytes().into();
    assert!(matches!(PrunedCounting::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })));
    // Frozen counters may stand where no item is.
    let mut frozen = table.clone();
    frozen.mechanism.counters.set(7, 15);
    (0..frozen.mechanism.held.len()).for_each(|number| frozen.mechanism.rehome(number));
    let again = PrunedCounting::from_bytes(&frozen.to_bytes()).unwrap();
    again.mechanism.check();
    assert!((0..10u64).all(|key| again.contains(&key)));
}
