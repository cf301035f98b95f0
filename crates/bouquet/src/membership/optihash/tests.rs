use super::*;
use crate::kind::{Argument, Config};
use crate::membership::testing::{built_without, config, figure, found};
use crate::{AnyFilter, Bloom};

/// The false positives among the strangers, counted anew; all keys must be found.
fn recount(filter: &AnyFilter, keys: u64, strangers: u64) -> u64 {
    assert_eq!(found(filter, 0..keys), keys);
    found(filter, keys..keys + strangers)
}

const ONE: [(&str, &str); 2] = [("bits", "256"), ("hashes", "1")];

/// The trial whose parameters a filter has, among all of them in their order.
fn trial(filter: &AnyFilter) -> u64 {
    figure(filter, "alpha") << 8 | figure(filter, "beta")
}

#[test]
fn twenty_keys_and_a_hundred_strangers_have_no_false_positive_where_a_standard_filter_often_has() {
    let (keys, strangers, instances) = (20, 100, 200);
    let (mut clean, mut trials, mut plain) = (0, 0, 0);
    for instance in 0..instances {
        let filter = built_without(&KIND, &ONE, keys, keys..keys + strangers, instance);
        assert_eq!(filter.stats().bits, 256, "the parameters are counted");
        let wrong = recount(&filter, keys, strangers);
        assert_eq!(wrong, figure(&filter, "false positives among them"));
        clean += u64::from(wrong == 0);
        trials += trial(&filter) + 1;

        let config = Config::new(crate::membership::standard::KIND.facts());
        let config = config.set("bits", "256").unwrap().set("hashes", "9").unwrap().hashed(Hashing::seeded(instance));
        let mut bloom = Bloom::from_config(&config).unwrap();
        (0..keys).for_each(|key| _ = bloom.insert(&key));
        plain += u64::from((keys..keys + strangers).all(|key| !bloom.contains(&key)));
    }
    assert!(clean >= instances * 99 / 100, "{clean} of {instances}");
    // Geometric with a mean of 4,200: the mean of 200 has a standard error of 300.
    let mean = trials as f64 / instances as f64;
    assert!((mean - 4_200.0).abs() < 5.0 * 300.0, "{mean} trials");
    // Three in four or a few more, with a standard error of 0.03.
    let plain = plain as f64 / instances as f64;
    assert!((0.62..0.93).contains(&plain), "{plain}");
}

#[test]
fn a_forecast_tells_when_one_position_is_not_enough() {
    let (keys, strangers) = (35, 150);
    let sized = [ONE.as_slice(), &[("items", "35")]].concat();
    let forecast = |settings: &[(&str, &str)]| match AnyFilter::new(&config(&KIND, settings))
        .unwrap()
        .ask("forecast", Argument::Number(strangers))
        .unwrap()
    {
        Reply::Table(_, rows) => match rows[0].as_slice() {
            [_, Reply::Integer(fewest), Reply::Real(plain)] => (*fewest as f64, *plain),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let (fewest, plain) = forecast(&sized);
    assert!(fewest > plain && (4.0..7.0).contains(&fewest), "{fewest}, standard {plain}");
    let instances = 20;
    let wrong = |settings: &[(&str, &str)]| {
        let sum: u64 = (0..instances)
            .map(|instance| {
                recount(&built_without(&KIND, settings, keys, keys..keys + strangers, instance), keys, strangers)
            })
            .sum();
        sum as f64 / instances as f64
    };
    let one = wrong(&ONE);
    assert!((one - fewest).abs() < 1.5 && one > plain, "{one} false positives, forecast {fewest}, standard {plain}");

    let five = [("bits", "256"), ("hashes", "5")];
    assert_eq!(forecast(&[five.as_slice(), &[("items", "35")]].concat()).0, 0.0);
    assert_eq!(wrong(&five), 0.0, "five positions per key reach none");
}

#[test]
fn members_among_the_strangers_are_no_strangers_and_none_are_needed() {
    let settings = OptihashSettings { bits: Some(256), hashes: Some(2), ..Default::default() };
    let filter = Optihash::from_keys_and_absent(&settings, &Hashing::default(), 0..20u64, 10..30u64).unwrap();
    assert_eq!((filter.mechanism.known, filter.items()), (10, 20));
    let alone = Optihash::from_keys(&settings, &Hashing::default(), 0..20u64).unwrap();
    assert_eq!((alone.mechanism.known, alone.mechanism.parameters), (0, (0, 0)));
}

#[test]
fn a_walk_through_the_trials_is_the_hash_of_each() {
    let shape = Shape { vector: 240, hashes: 3, alpha_bits: 3, beta_bits: 5 };
    let digests: Vec<Digest> = (0..10u64).map(|key| Hashing::default().digest_word(key)).collect();
    let mut walk = Walk::new(shape, &digests);
    for trial in 0..shape.trials() {
        walk.step(trial);
        let expected = walk.residues.iter().map(|&residues| shape.hash(residues, shape.parameters(trial)));
        assert!(walk.hashes.iter().copied().eq(expected), "trial {trial}");
    }
}
