use super::*;
use crate::capability::{Dataset, Item};
use crate::hash::{Secret, SplitMix};
use crate::kind::{Argument, Config};
use crate::membership::testing::{built, figure, refused};
use crate::theory::spread::test_sigma_conditional;
use crate::{AnyFilter, OpenOptions};

const KEYS: u64 = 100_000;

#[test]
fn code_and_index_have_the_predicted_size_and_the_rate_is_that_of_the_range() {
    let filter = built(&KIND, &[("fpr", "0.00390625")], KEYS, 1);
    let per_key = |name: &str| figure(&filter, name) as f64 / KEYS as f64;
    assert!((per_key("code bits") / 9.469 - 1.0).abs() < 0.005, "{}", per_key("code bits"));
    assert!(per_key("index bits") < 0.4, "{}", per_key("index bits"));
    // The catalogue of kinds promises 3 % above log2(1/rate) + 1.5, all included.
    assert!(filter.stats().bits as f64 / (KEYS as f64 * 9.5) < 1.03);

    let contains = filter.contains().unwrap();
    assert!((0..KEYS).all(|key| contains.contains(&key.to_le_bytes())));
    let queries = 1_000_000;
    let keys: Vec<_> = (KEYS..KEYS + queries).map(u64::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
    let mut answers = vec![false; keys.len()];
    contains.contains_batch(&keys, &mut answers);
    let found = answers.iter().filter(|found| **found).count() as f64 / queries as f64;
    let own = filter.stats().fpr.unwrap();
    assert!((found - own).abs() < 5.0 * test_sigma_conditional(own, queries), "{found}, expected {own}");
    assert!((found - 1.0 / 256.0).abs() < 5.0 * test_sigma_conditional(own, queries) + 0.002 / 256.0, "{found}");
}

#[test]
fn the_best_power_of_two_costs_what_theory_says() {
    let rice =
        figure(&built(&KIND, &[("fpr", "0.00390625"), ("code", "rice")], KEYS, 2), "code bits") as f64 / KEYS as f64;
    assert!((rice / 9.538 - 1.0).abs() < 0.005, "{rice}");
    for (divisor, bits) in [("64", 10.51), ("256", 9.58), ("512", 10.16)] {
        let settings = [("fpr", "0.00390625"), ("code", "rice"), ("divisor", divisor)];
        let measured = figure(&built(&KIND, &settings, KEYS, 2), "code bits") as f64 / KEYS as f64;
        assert!((measured / bits - 1.0).abs() < 0.005, "{divisor}: {measured}, expected {bits}");
    }
}

#[test]
fn a_lookup_decodes_no_more_values_than_the_index_allows() {
    for index in [1, 7, 256] {
        let filter = built(&KIND, &[("fpr", "0.01"), ("index", &index.to_string())], 5_000, 3);
        let mut most = 0;
        for key in (0..20_000u64).map(u64::to_le_bytes) {
            let Reply::Integer(decoded) = filter.ask("decoded", Argument::Key(&key)).unwrap() else { panic!() };
            most = most.max(decoded);
        }
        assert!(most < index, "{most} decoded with an entry every {index}");
        assert!(index == 1 || most > index / 2);
    }
}

#[test]
fn what_is_decoded_is_what_was_coded() {
    let shape = |range, divisor| Shape { range, divisor, interval: 3, repeats: false };
    let far = (1 << 56) - 1;
    for (shape, numbers) in [
        (shape(1, 1), vec![]),
        (shape(1, 1), vec![0]),
        (shape(1 << 56, 1 << 48), vec![far]),
        (shape(1 << 56, 1 << 48), vec![0, 1, far - 1, far]),
        (shape(1_000, 1), vec![0, 500, 999]),
        (shape(1_000, 7), (0..1_000).collect()),
        (Shape { repeats: true, ..shape(10, 3) }, vec![4; 100]),
    ] {
        let coded = Coded::new(shape, &numbers).unwrap();
        assert_eq!(coded.numbers().collect::<Vec<_>>(), numbers);
        assert!(numbers.iter().all(|&number| coded.find(number).0));
        assert!(numbers.contains(&(shape.range / 3)) || !coded.find(shape.range / 3).0);
    }
    let mut random = SplitMix::new(4);
    for divisor in [1, 2, 3, 100, 128, 5_000] {
        let mut numbers: Vec<u64> = (0..2_000).map(|_| random.below(200_000)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let coded = Coded::new(shape(200_000, divisor), &numbers).unwrap();
        assert_eq!(coded.numbers().collect::<Vec<_>>(), numbers);
        assert!((0..200_000).step_by(7).all(|number| coded.find(number).0 == numbers.binary_search(&number).is_ok()));
    }
}

#[test]
fn sorted_batches_answer_as_single_calls_do() {
    let filter = built(&KIND, &[("fpr", "0.1")], 3_000, 5);
    let contains = filter.contains().unwrap();
    for count in [0u64, 1, 2, 100, 5_000] {
        let keys: Vec<_> = (2_900..2_900 + count).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
        let mut answers = vec![false; keys.len() + 1];
        contains.contains_batch(&keys, &mut answers);
        let single: Vec<bool> = keys.iter().map(|key| contains.contains(key)).chain([false]).collect();
        assert_eq!(answers, single);
    }
}

#[test]
fn a_union_is_the_set_of_the_union() {
    let set = |keys: std::ops::Range<u64>| Golomb::with_range(1 << 20, keys).unwrap();
    let mut union = set(0..500);
    union.merge(&set(300..900)).unwrap();
    assert_eq!(union, set(0..900));
    assert!(union.merge(&Golomb::with_range(1 << 21, 0..10u64).unwrap()).is_err());
}

/// What the crate `bitcoin` wrote: see `tests/peers/bip158/README.md`.
#[test]
fn block_filters_are_equal_byte_for_byte_to_bitcoin_s() {
    let secret: Vec<u8> =
        [0xcc62_3af8_7833_54e7u64, 0xa252_835f_49d9_e39a].iter().flat_map(|half| half.to_le_bytes()).collect();
    let secret = Secret::new(&secret).unwrap();
    let bitcoin = |settings: &[(&str, &str)]| {
        let config = Config::new(KIND.facts()).set("code", "bip158").unwrap().hashed(Hashing::keyed(secret.clone()));
        let config = settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap());
        let keys: Vec<_> = (0..5_000).map(|number| format!("m-11-{number}")).collect();
        // A key that comes twice is one.
        let items: Vec<_> = keys.iter().chain(&keys[..10]).map(|key| Item::from(key.as_bytes())).collect();
        AnyFilter::build(&config, &Dataset { items: &items, absent: &[] }).unwrap()
    };
    let message = |filter: &AnyFilter| match filter.ask("message", Argument::Nothing).unwrap() {
        Reply::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    let basic = bitcoin(&[]);
    assert_eq!(message(&basic), include_bytes!("../../../tests/peers/bip158/basic.bin"));
    let loose = bitcoin(&[("spread", "50"), ("divisor", "32")]);
    assert_eq!(message(&loose), include_bytes!("../../../tests/peers/bip158/loose.bin"));

    // Read again it is the same, and whatever is damaged is refused.
    for (file, settings) in [("basic", vec![]), ("loose", vec![("spread", "50"), ("divisor", "32")])] {
        let built: &Golomb = if file == "basic" { &basic } else { &loose }.downcast_ref().unwrap();
        let GolombSettings { code, spread, divisor, .. } = built.settings();
        let asked = GolombSettings { code, spread, divisor, ..Default::default() };
        let hashing = Hashing::keyed(secret.clone());
        let bytes = built.to_message().unwrap();
        let read = |bytes: &[u8]| Golomb::from_message(bytes, &asked, &hashing);
        let again = read(&bytes).unwrap();
        assert_eq!(again.to_message().unwrap(), bytes, "{settings:?}");
        assert!((0..5_000).all(|number| again.contains(&*format!("m-11-{number}"))));
        assert_eq!(again.values().collect::<Vec<_>>(), built.values().collect::<Vec<_>>());
        let mut random = SplitMix::new(9);
        assert!((0..500).all(|_| read(&bytes[..random.below(bytes.len() as u64) as usize]).is_err()));
        assert!(read(&[bytes.as_slice(), &[0]].concat()).is_err(), "something behind it");
        let noise: Vec<u8> = (0..300).map(|_| random.next_u64() as u8).collect();
        assert!((0..300).all(|from| read(&noise[from..]).is_err() || noise[from] < 3));
        assert!(read(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).is_err(), "more than there can be");
        assert!(read(&[0xFD, 1, 0, 9]).is_err(), "one is written in one byte");
    }
    assert_eq!(Golomb::from_message(&[0], &GolombSettings::default(), &Hashing::default()).unwrap().items(), 0);

    // Its answers, after a frame.
    let options = OpenOptions { secret: Some(secret), ..Default::default() };
    let loose = AnyFilter::from_bytes_with(&loose.to_bytes(), &options).unwrap();
    let found: Vec<_> = (0..20_000)
        .map(|number| format!("x-11-{number}"))
        .filter(|key| loose.contains().unwrap().contains(key.as_bytes()))
        .collect();
    let expected = include_str!("../../../tests/peers/bip158/loose-false-positives.txt");
    assert_eq!(found, expected.lines().collect::<Vec<_>>());

    // What was merged is no set of its range's size any more.
    let mut merged = loose.clone();
    merged.merge(&loose).unwrap();
    assert!(merged.ask("message", Argument::Nothing).is_err());
}

#[test]
fn settings_that_cannot_be_had_are_refused_by_name() {
    assert_eq!(refused(&KIND, &[]), "items");
    assert_eq!(refused(&KIND, &[("items", "1e16"), ("fpr", "0.001")]), "items");
    assert_eq!(refused(&KIND, &[("items", "1e10"), ("spread", "1e10")]), "spread");
    assert_eq!(refused(&KIND, &[("items", "1000"), ("code", "rice"), ("divisor", "100")]), "divisor");
}
