//! Tests of the filter bank.

use super::*;
use crate::capability::{Insert, Item, Multiplicity};
use crate::kind::{Config, Structure};
use crate::sets::{Policy, Resolution};
use crate::store::matrix::ROW_READS;

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn bank(settings: &[(&str, &str)]) -> FilterBank {
    FilterBank::from_config(&config(settings)).unwrap()
}

/// `keys` split evenly: key i goes to set i modulo the number of sets.
fn filled(settings: &[(&str, &str)], keys: std::ops::Range<u64>) -> FilterBank {
    let mut bank = bank(settings);
    keys.for_each(|key| {
        bank.insert(&key, key % bank.sets()).unwrap();
    });
    bank
}

fn sigma(rate: f64, trials: u64) -> f64 {
    (rate * (1.0 - rate) / trials as f64).sqrt()
}

const LAYOUTS: [&[(&str, &str)]; 4] =
    [&[("layout", "sliced")], &[("layout", "rows")], &[("layout", "coded")], &[("cells", "counters")]];

fn every_layout(common: &[(&'static str, &'static str)]) -> Vec<Vec<(&'static str, &'static str)>> {
    LAYOUTS.iter().map(|layout| [common, layout].concat()).collect()
}

#[test]
fn sixty_four_sets_at_one_percent_resolve_as_predicted() {
    let items = 64 * 2_000;
    let bank = filled(&[("sets", "64"), ("items", "128000"), ("fpr", "0.01")], 0..items);
    let rate = partitioned::rate(bank.bits_of(0), 2_000, bank.hashes());
    assert!((rate / 0.01 - 1.0).abs() < 0.002, "{rate}");

    // Members: the share that is reported in its own set alone, against the formula of the catalogue.
    let members = 0..items;
    let unique = members.filter(|key| bank.resolve(key, Policy::ExactlyOneElseMiss) == Resolution::Set(key % 64));
    let found = unique.count() as f64 / items as f64;
    let expected = bank::unique_among(64, rate);
    assert!((expected - 0.531).abs() < 0.001);
    // One instance's fills move the mean rate of 63 filters: its deviation comes to that of the queries.
    let spread = 63f64.sqrt() * rate * 7.0 * fill_deviation(&bank);
    let tolerance = 5.0 * sigma(expected, items).hypot(spread * expected);
    assert!((found - expected).abs() < tolerance, "{found} {expected} {tolerance}");

    // Against the rates of this very instance only the queries scatter.
    let now = bank.set_rates();
    let conditional = (0..64).map(|set| bank::unique(&now, set)).sum::<f64>() / 64.0;
    assert!((found - conditional).abs() < 5.0 * sigma(conditional, items), "{found} {conditional}");

    let queries = 300_000;
    let answers: Vec<_> = (items..items + queries).map(|key| bank.classify(&key).len()).collect();
    let any = answers.iter().filter(|&&sets| sets > 0).count() as f64 / queries as f64;
    let sets = answers.iter().sum::<usize>() as f64 / queries as f64;
    let Rates { false_positive, spurious_sets, .. } = bank.expected(items);
    let (any_expected, sets_expected) = (false_positive.unwrap(), spurious_sets.unwrap());
    assert!((any - any_expected).abs() < 5.0 * sigma(any_expected, queries).hypot(spread * (1.0 - any_expected)));
    assert!((sets - sets_expected).abs() < 5.0 * (sets_expected / queries as f64).sqrt().hypot(spread));
    assert!((bank.stats().fpr.unwrap() - any).abs() < 5.0 * sigma(any, queries));
}

/// The relative standard deviation of a filter's fill.
fn fill_deviation(bank: &FilterBank) -> f64 {
    let (mean, variance) = bank.mechanism.expected_ones()[0];
    variance.sqrt() / mean
}

#[test]
fn sliced_and_rows_answer_alike() {
    let settings = [("sets", "64"), ("items", "128000"), ("fpr", "0.01")];
    let sliced = filled(&settings, 0..128_000);
    let rows = filled(&[settings.as_slice(), &[("layout", "rows")]].concat(), 0..128_000);
    let mut spurious = 0u64;
    for key in 0..1_000_000u64 {
        let answer = sliced.classify(&key);
        assert_eq!(answer, rows.classify(&key));
        spurious += answer.len() as u64;
    }
    assert!(spurious > 128_000, "the queries include false positives");
    assert_eq!(sliced.set_rates(), rows.set_rates());
}

#[test]
fn sliced_answers_for_all_sets_with_k_row_reads() {
    let bank = filled(&[("sets", "64"), ("items", "12800"), ("fpr", "0.01")], 0..12_800);
    let reads = |key: u64| {
        ROW_READS.set(0);
        let sets = bank.classify(&key);
        (ROW_READS.get(), sets.len())
    };
    for key in 0..12_800 {
        let (reads, sets) = reads(key);
        assert!(sets >= 1);
        assert_eq!(reads, u64::from(bank.hashes()));
    }
    for key in 12_800..20_000 {
        let (reads, sets) = reads(key);
        assert!(reads <= bank.hashes().into());
        assert!(sets == 0 || reads == u64::from(bank.hashes()), "only an empty AND may end early");
    }
}

#[test]
fn coded_banks_read_wrong_sets_as_often_as_predicted() {
    // Seven sets, three filters, each with four sevenths of the keys.
    let (instances, per_set) = (120, 5_000);
    let mut wrong = [0u64; 7];
    let mut expected = [0.0; 7];
    let mut naive = 0.0;
    for instance in 0..instances {
        let settings = config(&[("sets", "7"), ("items", "35000"), ("fpr", "0.01"), ("layout", "coded")]);
        let mut bank = FilterBank::from_config(&settings.hashed(Hashing::seeded(instance))).unwrap();
        (0..7 * per_set).for_each(|key| {
            bank.insert(&key, key % 7).unwrap();
        });
        for key in 0..7 * per_set {
            let read = bank.coded_set(&key).unwrap();
            // A false bit adds to the code, it never takes away; and the candidates include the truth.
            assert_eq!(codes::code(read) & codes::code(key % 7), codes::code(key % 7));
            assert!(bank.candidates(&key).contains(&(key % 7)) && bank.contains_in(&key, key % 7));
            assert_eq!(bank.classify(&key), [read]);
            wrong[(key % 7) as usize] += u64::from(read != key % 7);
        }
        expected = std::array::from_fn(|set| bank.wrong_code_rate(set as u64).unwrap());
        naive = bank::wrong_code(partitioned::rate(bank.bits_of(0), 4 * per_set, bank.hashes()), 2);
    }
    let trials = instances * per_set;
    for set in 0..7 {
        let found = wrong[set] as f64 / trials as f64;
        assert!((found - expected[set]).abs() <= 5.0 * sigma(expected[set], trials), "{set}: {found} {expected:?}");
    }
    assert_eq!(wrong[6], 0, "the last code has no zero");
    // Three sets have a single one in their codes. Their two other filters share keys and therefore err together more
    // often than independent ones, so that at least one errs less often than 1 - (1-f)^2.
    let found = (wrong[0] + wrong[1] + wrong[3]) as f64 / (3 * trials) as f64;
    assert!(naive - found > 5.0 * sigma(naive, 3 * trials), "{found} {naive}");
    assert!((found / naive - 1.0).abs() < 0.06, "{found} {naive}");
}

#[test]
fn expected_rates_hold_in_every_layout() {
    for settings in every_layout(&[("sets", "5"), ("items", "2000"), ("fpr", "0.05")]) {
        for items in [1_000, 2_000, 3_000] {
            let (mut any, mut sets, mut expected) = (0u64, 0u64, Rates::default());
            let (instances, queries) = (30, 8_000);
            let (mut now, mut deviation) = (0.0, 0.0);
            for seed in 0..instances {
                let hashed = config(&settings).hashed(Hashing::seeded(seed));
                let mut bank = FilterBank::from_config(&hashed).unwrap();
                (0..items).for_each(|key| {
                    bank.insert(&key, key % 4).unwrap();
                });
                for key in items..items + queries {
                    let found = bank.classify(&key);
                    assert!(found.is_sorted() && bank.contains(&key) != found.is_empty());
                    any += u64::from(!found.is_empty());
                    sets += found.len() as u64;
                }
                now += bank.stats().fpr.unwrap() / instances as f64;
                expected = bank.expected(items);
                deviation = f64::from(bank.hashes()) * fill_deviation(&bank);
            }
            let trials = instances * queries;
            let (any, sets) = (any as f64 / trials as f64, sets as f64 / trials as f64);
            let (rate, ids) = (expected.false_positive.unwrap(), expected.spurious_sets.unwrap());
            // The fills of the instances scatter as well, at worst in all filters alike.
            let scatter = rate * deviation / (instances as f64).sqrt();
            assert!((any - rate).abs() < 5.0 * sigma(rate, trials).hypot(scatter), "{settings:?} {any} {rate}");
            assert!((any - now).abs() < 5.0 * sigma(now, trials), "{settings:?} {any} {now}");
            let ids_sigma = (ids * 4.0 / trials as f64).sqrt().hypot(scatter);
            assert!((sets - ids).abs() < 5.0 * ids_sigma, "{settings:?} {sets} {ids}");
        }
    }
}

#[test]
fn the_wanted_share_of_spurious_sets_is_kept() {
    let items = 32 * 500;
    let bank = filled(&[("sets", "32"), ("items", "16000"), ("spurious", "0.05")], 0..items);
    let ambiguous = (0..items).filter(|key| bank.classify(key).len() > 1).count() as f64 / items as f64;
    assert!((ambiguous - 0.05).abs() < 5.0 * sigma(0.05, items) + 0.002, "{ambiguous}");
    let both = config(&[("items", "100"), ("spurious", "0.05"), ("fpr", "0.01")]);
    assert!(matches!(FilterBank::from_config(&both), Err(Error::Parameter { name, .. }) if name == "spurious"));
}

#[test]
fn sizes_per_set_give_every_set_its_rate() {
    let sizes = [100, 1_000, 10_000, 0];
    let mut bank = FilterBank::with_sizes(&sizes, 0.02).unwrap();
    for (set, &n) in (0..).zip(&sizes) {
        for key in 0..n {
            bank.insert(&(set << 32 | key), set).unwrap();
        }
        let expected = bank::set_bits(n.max(1), 0.02);
        assert!((bank.bits_of(set) as f64 - expected).abs() < 0.03 * expected + 12.0, "{set}");
    }
    for (set, &n) in (0..).zip(&sizes) {
        assert!((0..n).all(|key| bank.contains_in(&(set << 32 | key), set)));
    }
    let queries = 200_000;
    let mut found = [0u64; 4];
    for key in 0..queries {
        bank.classify(&(9u64 << 32 | key)).iter().for_each(|&set| found[set as usize] += 1);
    }
    for (set, now) in bank.set_rates().into_iter().enumerate() {
        let rate = found[set] as f64 / queries as f64;
        assert!((rate - now).abs() <= 5.0 * sigma(now, queries), "{set} {rate} {now}");
        assert!(now <= 0.02 * 1.5 && (now > 0.01 || set == 3));
    }
    assert_eq!(FilterBank::from_bytes(&bank.to_bytes()).unwrap(), bank);
    bank.clear().unwrap();
    assert_eq!(bank, FilterBank::with_sizes(&sizes, 0.02).unwrap(), "an emptied bank keeps its sizes");
    assert!(FilterBank::with_sizes(&[], 0.01).is_err());
    assert!(FilterBank::with_sizes(&[5, 5], f64::NAN).is_err());
    assert!(FilterBank::with_sizes(&[u64::MAX, 5], 0.01).is_err());
}

#[test]
fn counting_rows_follow_an_exact_multiset() {
    let mut bank = bank(&[("cells", "counters"), ("sets", "3"), ("items", "3000"), ("fpr", "0.001")]);
    let mut model = std::collections::HashMap::<(u64, u64), u64>::new();
    let mut random = crate::hash::SplitMix::new(11);
    for _ in 0..20_000 {
        let (key, set) = (random.below(700), random.below(3));
        let held = model.entry((key, set)).or_default();
        // At most 3 of each, so that no counter comes to its end.
        if *held < 3 && random.below(2) == 0 {
            bank.insert(&key, set).unwrap();
            *held += 1;
        } else if *held > 0 {
            bank.remove(&key, set).unwrap();
            *held -= 1;
        }
    }
    for (&(key, set), &held) in &model {
        let found = bank.count(&key, set).unwrap();
        assert!(found.count >= held && !found.at_least);
        assert!(held == 0 || bank.classify(&key).contains(&set));
    }
    let over = model.iter().filter(|&(&(key, set), &held)| bank.count(&key, set).unwrap().count > held).count();
    assert!(over < model.len() / 50, "{over}");
    for ((key, set), held) in model {
        (0..held).for_each(|_| bank.remove(&key, set).unwrap());
    }
    let empty = bank.stats();
    assert_eq!((empty.items, empty.fill), (0, Some(0.0)));
    assert!(matches!(bank.remove(&1u64, 0), Err(Error::NotPresent)));
}

#[test]
fn counters_at_their_end_stay_and_say_so() {
    let mut bank = bank(&[("cells", "counters"), ("items", "100")]);
    (0..40).for_each(|_| {
        bank.insert("rose", 1).unwrap();
    });
    assert_eq!(bank.count("rose", 1).unwrap(), Multiplicity { count: 15, at_least: true });
    (0..40).for_each(|_| bank.remove("rose", 1).unwrap());
    assert!(bank.contains("rose"));
}

#[test]
fn banks_of_bits_neither_remove_nor_count_and_name_what_does() {
    for settings in &every_layout(&[("items", "100")])[..3] {
        let mut bank = bank(settings);
        bank.insert("rose", 1).unwrap();
        for error in [bank.remove("rose", 1).unwrap_err(), bank.count("rose", 1).unwrap_err()] {
            assert!(matches!(&error, Error::Unsupported { able, .. } if able.contains("cells=counters")), "{error}");
        }
    }
}

#[test]
fn sets_that_are_not_there_are_refused_by_their_number() {
    for settings in every_layout(&[("sets", "5"), ("items", "100")]) {
        let mut bank = bank(&settings);
        for set in [5, 6, 63, 64, u64::MAX] {
            let error = bank.insert("rose", set).unwrap_err();
            assert!(matches!(&error, Error::Item { found, .. } if found.contains(&set.to_string())), "{error}");
            assert!(!bank.contains_in("rose", set));
            assert_eq!((bank.bits_of(set), bank.items_of(set)), (0, 0));
            assert!(bank.remove("rose", set).is_err() && bank.count("rose", set).is_err());
            assert!(bank.remove_set(set).is_err() && bank.clear_set(set).is_err());
        }
        let item = Item::new(b"rose", crate::capability::Note::Integer(1));
        assert!(matches!(Insert::insert(&mut bank, item), Err(Error::Item { .. })));
        assert_eq!(bank.stats().items, 0);
    }
}

#[test]
fn unions_are_the_banks_of_the_unions_and_intersections_keep_what_is_common() {
    for settings in every_layout(&[("sets", "5"), ("items", "1000")]) {
        let (a, b) = (filled(&settings, 0..600), filled(&settings, 400..1_000));
        let mut union = a.clone();
        union.merge(&b).unwrap();
        let whole = filled(&settings, 0..1_000);
        if settings.contains(&("cells", "counters")) {
            assert!((0..1_000).all(|key| union.classify(&key) == whole.classify(&key)));
            let twice = (400..600u64).filter(|key| union.count(key, key % 5).unwrap().count >= 2).count();
            assert_eq!(twice, 200);
        } else {
            assert_eq!(union.mechanism.cells, whole.mechanism.cells);
        }
        let mut common = a.clone();
        common.intersect(&b).unwrap();
        assert!((400..600u64).all(|key| common.contains_in(&key, key % 5)));
        assert!(common.stats().fill <= a.stats().fill);
        for (other, field) in [
            (bank(&[&settings[..], &[("sets", "6")]].concat()), "sets"),
            (bank(&[&settings[..], &[("hashes", "3")]].concat()), "hashes"),
            (bank(&[&settings[..], &[("bits", "5000"), ("hashes", &a.hashes().to_string())]].concat()), "bits"),
            (FilterBank::from_config(&config(&settings).hashed(Hashing::seeded(9))).unwrap(), "hashing"),
        ] {
            for answer in [common.clone().merge(&other), common.clone().intersect(&other)] {
                assert!(matches!(&answer, Err(Error::Incompatible { field: f, .. }) if f == field), "{answer:?}");
            }
        }
    }
}

#[test]
fn added_sets_work_and_removed_ones_leave_the_others_alone() {
    for settings in every_layout(&[("sets", "3"), ("items", "3000"), ("fpr", "0.0001")]) {
        let mut bank = filled(&settings, 0..900);
        for added in 3..70 {
            assert_eq!(bank.add_set().unwrap(), added);
            bank.insert(&(10_000 + added), added).unwrap();
        }
        assert!((0..900u64).all(|key| bank.contains_in(&key, key % 3)));
        assert!((3..70).all(|set| bank.contains_in(&(10_000 + set), set)));
        assert_eq!(bank.stats().bits, bank.mechanism.shape.store_bits().unwrap());
        assert_eq!(FilterBank::from_bytes(&bank.to_bytes()).unwrap(), bank);
        if bank.mechanism.shape.is_coded() {
            assert!(matches!(bank.remove_set(1), Err(Error::Unsupported { .. })));
            assert!(matches!(bank.clear_set(1), Err(Error::Unsupported { .. })));
            continue;
        }
        bank.remove_set(1).unwrap();
        assert_eq!((bank.sets(), bank.settings().sets), (69, Some(69)));
        assert!((0..900u64).filter(|key| key % 3 == 2).all(|key| bank.contains_in(&key, 1)));
        assert!((3..70).all(|set| bank.contains_in(&(10_000 + set), set - 1)));
        bank.clear_set(0).unwrap();
        assert_eq!((bank.items_of(0), bank.set_rates()[0]), (0, 0.0));
        (1..69).for_each(|_| bank.remove_set(0).unwrap());
        assert!(bank.remove_set(0).is_err(), "the last set stays");
    }
}

#[test]
fn frames_give_back_equal_banks_and_settings_recreate_empty_ones() {
    for settings in every_layout(&[("sets", "5"), ("items", "1000"), ("fpr", "0.02")]) {
        let bank = filled(&settings, 0..700);
        let again = FilterBank::from_bytes(&bank.to_bytes()).unwrap();
        assert_eq!(again, bank);
        assert_eq!(again.config(), bank.config());
        let mut empty = FilterBank::from_config(&bank.config()).unwrap();
        assert_eq!(empty.stats().bits, FilterBank::plan(&config(&settings)).unwrap().bits);
        (0..700).for_each(|key: u64| {
            empty.insert(&key, key % 5).unwrap();
        });
        assert_eq!(empty, bank);
        let coded = crate::AnyFilter::from_structure(bank.clone()).unwrap().to_compressed_bytes();
        assert_eq!(FilterBank::from_bytes(&coded).unwrap(), bank);
    }
}

#[test]
fn batches_answer_as_single_queries_do() {
    for settings in every_layout(&[("sets", "5"), ("items", "1000"), ("fpr", "0.1")]) {
        let bank = filled(&settings, 0..1_000);
        let keys: Vec<_> = (900..1_300u64).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
        let mut answers = vec![false; keys.len()];
        bank.contains_batch(&keys, &mut answers);
        assert!(keys.iter().zip(&answers).all(|(key, &answer)| bank.contains(*key) == answer));
        assert!(answers.contains(&false) && answers[..100].iter().all(|&answer| answer));
    }
}

#[test]
fn a_keyed_bank_with_one_full_set_is_refused() {
    let secret = crate::hash::Secret::new(&[7; 32]).unwrap();
    for settings in &every_layout(&[("sets", "40"), ("items", "40000")])[..3] {
        let keyed = config(settings).hashed(Hashing::keyed(secret.clone()));
        let mut bank = FilterBank::from_config(&keyed).unwrap();
        (0..40_000u64).for_each(|key| {
            bank.insert(&key, key % 40).unwrap();
        });
        let options =
            crate::OpenOptions { secret: Some(secret.clone()), allow_unauthenticated: true, ..Default::default() };
        let frame = |bank: &FilterBank| crate::codec::without_code(bank.to_bytes());
        let open = |bank: &FilterBank| crate::AnyFilter::from_bytes_with(&frame(bank), &options);
        assert!(open(&bank).unwrap().contains().unwrap().contains(&7u64.to_le_bytes()));
        let Cells::Bits(matrix) = &mut bank.mechanism.cells else { unreachable!("a bank of bits") };
        (0..matrix.positions(3)).for_each(|position| {
            matrix.set(3, position);
        });
        assert!(matches!(open(&bank), Err(Error::Overfull { .. })));
    }
}

#[test]
fn settings_that_cannot_be_had_are_refused_by_name() {
    for (settings, name) in [
        (vec![("sets", "4")], "items"),
        (vec![("bits", "100")], "items"),
        (vec![("items", "10"), ("cells", "counters"), ("layout", "sliced")], "layout"),
        (vec![("items", "10"), ("cells", "counters"), ("layout", "coded")], "layout"),
        (vec![("items", "10"), ("sets", "5000"), ("layout", "rows")], "sets"),
    ] {
        let answer = FilterBank::from_config(&config(&settings));
        assert!(matches!(&answer, Err(Error::Parameter { name: n, .. }) if n == name), "{answer:?}");
    }
    let huge = config(&[("sets", "65536"), ("bits", "1e18"), ("hashes", "3")]);
    assert!(matches!(FilterBank::plan(&huge), Err(Error::TooLarge { .. })));
}
