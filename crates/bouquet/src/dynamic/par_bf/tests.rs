use super::*;
use crate::hash::SplitMix;

fn filled(c: u64, fpr: f64, keys: u64) -> ParBf {
    let mut filter = ParBf::with_rate(c, fpr).unwrap();
    (0..keys).for_each(|key| assert!(filter.insert(&key).is_ok()));
    filter
}

#[test]
fn with_64_sub_filters_the_rate_is_that_of_the_product_and_below_the_bound() {
    let filter = filled(200, 0.05, 64 * 200);
    assert_eq!(filter.counts().concat(), [200; 64]);
    assert_eq!(filter.mechanism.generations.len(), 2);
    let trials = 200_000u64;
    let found = (1 << 40..(1 << 40) + trials).filter(|key: &u64| filter.contains(key)).count() as f64;
    let (rate, now) = (found / trials as f64, filter.stats().fpr.unwrap());
    let sigma = (now / trials as f64).sqrt();
    assert!((rate - now).abs() < 5.0 * sigma && rate <= 0.05, "{rate}, told {now}");
    // F (1-q) (1 + q) of two generations of 32, give or take the rounding of k.
    let product =
        1.0 - filter.mechanism.generations.iter().map(|g| (1.0 - g.shape.full_rate()).powi(32)).product::<f64>();
    assert!((now / product - 1.0).abs() < 0.1 && (product / 0.0368 - 1.0).abs() < 0.05, "{now} {product}");
}

#[test]
fn lists_grow_in_turn_and_generations_follow() {
    for keys in [1, 99, 100, 101, 3_150, 3_201, 6_500] {
        let filter = filled(100, 0.01, keys);
        let first = &filter.mechanism.generations[0].lists;
        let lengths: Vec<_> = first.iter().map(|list| list.counts().len()).collect();
        assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1, "{lengths:?}");
        assert_eq!(filter.mechanism.subs() as u64, keys.div_ceil(100));
        assert_eq!(filter.mechanism.generations.len() as u64, keys.div_ceil(3_200));
        assert!((0..keys).all(|key| filter.contains(&key)));
    }
}

#[test]
fn the_garbage_collection_leaves_no_two_sub_filters_of_a_list_that_fit_together() {
    let n = 40 * 200;
    let mut filter = filled(200, 0.01, n);
    let mut random = SplitMix::new(5);
    let (mut gone, mut stay) = (0, Vec::new());
    for key in 0..n {
        if random.below(4) == 0 {
            stay.push(key);
            continue;
        }
        match filter.remove(&key) {
            Ok(()) => gone += 1,
            Err(Error::Ambiguous { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(gone > n * 7 / 10);
    filter.gc().unwrap();
    for generation in &filter.mechanism.generations {
        let held: u64 = generation.lists.iter().map(Chain::items).sum();
        let subs: u64 = generation.lists.iter().map(|list| list.counts().len() as u64).sum();
        assert!(subs as f64 <= 2.0 * held as f64 / 200.0 + 2.0, "{subs} sub-filters of {held} keys");
        for list in &generation.lists {
            let mut counts = list.counts().to_vec();
            counts.sort_unstable();
            assert!(counts.len() < 2 || counts[0] + counts[1] > 200, "{counts:?}");
        }
    }
    assert!(stay.iter().all(|key| filter.contains(key)));
    assert_eq!(filter.items(), n - gone);
    let again = ParBf::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!(again, filter);
}

#[test]
fn removals_unite_a_list_when_more_than_the_threshold_is_free() {
    let settings = ParBfSettings { items: Some(100), workers: Some(1), free: Some(0.25), ..ParBfSettings::default() };
    let mut filter = ParBf::with(settings).unwrap();
    (0..400u64).for_each(|key| _ = filter.insert(&key).unwrap());
    (0..400u64).filter(|key| key % 2 == 0).for_each(|key| _ = filter.remove(&key));
    assert!(filter.counts()[0].len() <= 3, "{:?}", filter.counts());
}

#[test]
fn large_batches_have_the_answers_of_single_calls() {
    for workers in [1, 2, 5] {
        let settings = ParBfSettings { items: Some(100), workers: Some(workers), ..ParBfSettings::default() };
        let mut filter = ParBf::with(settings).unwrap();
        (0..3_000u64).for_each(|key| _ = filter.insert(&(3 * key)).unwrap());
        let keys: Vec<u64> = (0..12_000).collect();
        for count in [0, 1_023, 1_024, keys.len()] {
            let mut answers = vec![true; count];
            filter.contains_batch(&keys, &mut answers);
            assert!(keys.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer));
        }
    }
}

/// A removal that does not take the one matching sub-filter would break others: an exact model beside it.
#[test]
fn no_present_key_is_ever_lost() {
    let mut filter = ParBf::with_size(320, 4, 20, 2).unwrap();
    let mut random = SplitMix::new(1);
    let (mut held, mut ambiguous) = (Vec::new(), 0);
    for step in 0..8_000u64 {
        if random.below(100) < 52 || held.is_empty() {
            filter.insert(&step).unwrap();
            held.push(step);
        } else {
            let at = random.below(held.len() as u64) as usize;
            match filter.remove(&held[at]) {
                Ok(()) => _ = held.swap_remove(at),
                Err(Error::Ambiguous { .. }) => ambiguous += 1,
                Err(error) => panic!("{error}"),
            }
        }
        if step % 100 == 0 {
            assert!(held.iter().all(|key| filter.contains(key)));
            assert_eq!(filter.items(), held.len() as u64);
        }
    }
    assert!(ambiguous > 20, "{ambiguous} removals were refused: too few to have tried it");
}
