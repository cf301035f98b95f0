use super::*;
use crate::theory::space_code;

/// Mean and root mean square of the relative errors.
fn errors(truth: f64, estimates: impl Iterator<Item = f64>) -> (f64, f64) {
    let errors: Vec<f64> = estimates.map(|estimate| estimate / truth - 1.0).collect();
    let n = errors.len() as f64;
    (errors.iter().sum::<f64>() / n, (errors.iter().map(|error| error * error).sum::<f64>() / n).sqrt())
}

#[test]
fn one_filter_tells_up_to_fifty_arrivals_by_both_estimators() {
    const SIZES: [u64; 10] = [1, 2, 3, 5, 8, 12, 16, 24, 32, 48];
    let mut filter = SpaceCode::with_size(200_000, 4).unwrap();
    let size = |key: u64| SIZES[(key % 10) as usize];
    for round in 0..48 {
        (0..3_000).filter(|&key| round < size(key)).for_each(|key| {
            filter.insert(&key);
        });
    }
    for (i, truth) in (0..).zip(SIZES).filter(|(_, size)| *size >= 8) {
        let keys = || (0..3_000u64).filter(|key| key % 10 == i);
        let likely = errors(truth as f64, keys().map(|key| filter.estimate(&key).arrivals));
        let mean = errors(truth as f64, keys().map(|key| filter.mean_value(&key).arrivals));
        for (bias, rms) in [likely, mean] {
            assert!(bias.abs() <= 0.06 && rms <= 0.3, "{truth}: {likely:?} {mean:?}");
        }
    }
}

#[test]
fn nine_filters_tell_five_orders_of_magnitude() {
    let (flows, largest) = (1_000_000, 100_000);
    let mut filter = SpaceCode::multi_resolution(flows, largest).unwrap();
    // Traffic as planned for: a share of 1/s of the flows has s arrivals or more.
    let mut random = SplitMix::new(1);
    let sizes: Vec<u64> = (0..flows).map(|_| ((1.0 / (1.0 - random.unit())) as u64).min(largest)).collect();
    for (flow, &size) in (0u64..).zip(&sizes) {
        for _ in 0..size {
            filter.insert(&flow);
        }
    }
    for filter in &filter.mechanism.filters {
        // Coarse ones see few arrivals: a fill of 1 - e^-x scatters by x e^-x = 0.35 of their relative scatter.
        let groups = filter.bits.len() as f64 * std::f64::consts::LN_2 / f64::from(filter.places.hashes());
        let bound = 0.02 + 5.0 * 0.35 / groups.sqrt();
        assert!((filter.fill() - 0.5).abs() < bound, "{} within {bound}", filter.fill());
    }
    for least in [30, 100, 1_000, 10_000, 50_000] {
        let measured = (0u64..).zip(&sizes).filter(|(_, size)| (least..=2 * least).contains(*size)).take(1_000);
        let relative: Vec<_> = measured.map(|(flow, &size)| filter.estimate(&flow).arrivals / size as f64).collect();
        let n = relative.len();
        let (bias, rms) = errors(1.0, relative.into_iter());
        // 5 sigma for the mean of so few flows as are this large.
        let scatter = 5.0 * 0.25 / (n as f64).sqrt();
        assert!(n >= 8 && bias.abs() <= 0.02 + scatter && rms <= 0.25, "{least}: {n} {bias} {rms}");
    }
}

#[test]
fn the_groups_that_are_set_follow_the_chain() {
    // A filter that is some 40 % full, and flows of ten arrivals.
    let mut filter = SpaceCode::with_size(400_000, 4).unwrap();
    let flows = 5_000u64;
    (0..flows * 10).for_each(|arrival| {
        filter.insert(&(arrival % flows));
    });
    let chance = filter.mechanism.first().chance_at(filter.mechanism.first().fill());
    let law = &space_code::seeming(&[space_code::groups_drawn(32, 1.0, 10)], chance)[0];
    let mut seen = [0u64; 33];
    (0..flows).for_each(|key| seen[filter.groups_set(&key)[0] as usize] += 1);
    // Cells of fewer than ten expected are taken together with their neighbours.
    let (mut chi_square, mut cells, mut expected, mut found) = (0.0, 0.0, 0.0, 0.0);
    for (theta, &times) in seen.iter().enumerate() {
        expected += law[theta] * flows as f64;
        found += times as f64;
        if expected >= 10.0 {
            chi_square += (found - expected) * (found - expected) / expected;
            (cells, expected, found) = (cells + 1.0, 0.0, 0.0);
        }
    }
    let freedom: f64 = cells - 1.0;
    assert!(cells > 6.0 && chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "{chi_square} over {freedom}");
}

#[test]
fn merging_estimates_the_sum() {
    let seeded = |seed| {
        let mut filter = SpaceCode::with_size(200_000, 4).unwrap();
        // Two places of measurement draw groups of their own.
        filter.mechanism.random = SplitMix::new(seed);
        (0..20_000u64).for_each(|arrival| {
            filter.insert(&(arrival % 1_000));
        });
        filter
    };
    let (mut here, there) = (seeded(1), seeded(2));
    here.merge(&there).unwrap();
    assert_eq!(here.items(), 40_000);
    let (bias, rms) = errors(40.0, (0..1_000u64).map(|key| here.estimate(&key).arrivals));
    assert!(bias.abs() < 0.06 && rms < 0.3, "{bias} {rms}");
}

#[test]
fn copies_and_frames_give_the_same_estimates() {
    let mut filter = SpaceCode::multi_resolution(200, 1_000).unwrap();
    (0..4_000u64).for_each(|arrival| {
        filter.insert(&(arrival % 150));
    });
    let (clone, copy) = (filter.clone(), SpaceCode::from_bytes(&filter.to_bytes()).unwrap());
    for key in 0..200u64 {
        assert_eq!(filter.estimate(&key), clone.estimate(&key));
        assert_eq!(filter.estimate(&key), copy.estimate(&key));
        assert_eq!(filter.contains(&key), filter.count(&key).count > 0);
    }
    // The generator goes on where it was.
    let (mut filter, mut copy) = (filter, copy);
    (0..500u64).for_each(|key| {
        filter.insert(&key);
        copy.insert(&key);
    });
    assert_eq!(filter, copy);
}
