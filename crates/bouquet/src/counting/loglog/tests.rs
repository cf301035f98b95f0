use super::*;
use crate::AnyFilter;
use crate::hash::Secret;
use crate::kind::Config;

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn empty(settings: &[(&str, &str)]) -> Loglog {
    Loglog::from_config(&config(settings)).unwrap()
}

/// Mean and root mean square of the relative errors of keys with this many occurrences, lightly loaded.
fn measured(occurrences: u64, keys: u64, settings: &[(&str, &str)]) -> (f64, f64) {
    let mut filter = empty(&[&[("cells", "4000000"), ("copies", "64"), ("hashes", "1")], settings].concat());
    for key in 0..keys {
        (0..occurrences).for_each(|_| {
            filter.insert(&key);
        });
    }
    let errors: Vec<f64> = (0..keys).map(|key| filter.estimate(&key) / occurrences as f64 - 1.0).collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / keys as f64;
    (mean(&mut errors.iter().copied()), mean(&mut errors.iter().map(|error| error * error)).sqrt())
}

#[test]
fn counts_of_all_magnitudes_are_told_to_a_fifth() {
    for (occurrences, keys) in [(10, 1_000), (1_000, 100), (100_000, 20)] {
        let (bias, rms) = measured(occurrences, keys, &[]);
        assert!(bias.abs() <= 0.05 && rms <= 0.20, "{occurrences}: {bias} {rms}");
    }
}

#[test]
fn one_occurrence_is_told_by_the_inverse_and_not_by_the_published_form() {
    let (bias, _) = measured(1, 2_000, &[]);
    assert!(bias.abs() <= 0.08, "{bias}");
    let (bias, _) = measured(1, 2_000, &[("estimator", "alpha")]);
    assert!(bias > 0.4, "{bias}");
    let (bias, rms) = measured(1_000, 50, &[("estimator", "alpha")]);
    assert!(bias.abs() < 0.1 && rms < 0.25, "for many it is right: {bias} {rms}");
}

#[test]
fn joined_filters_equal_cell_for_cell_the_one_that_saw_everything() {
    let shape = [("cells", "50000"), ("copies", "32")];
    let fed = |ids: std::ops::Range<u64>| {
        let mut filter = empty(&shape);
        for id in ids {
            filter.insert_occurrence(&(id % 7), &id);
        }
        filter
    };
    let (mut join, whole) = (fed(0..700), fed(0..1_000));
    join.merge(&fed(300..1_000)).unwrap();
    assert_eq!(join.mechanism.cells.store, whole.mechanism.cells.store, "overlapping occurrences do not count twice");
    assert!((0..7u64).all(|key| join.count(&key) == whole.count(&key)));
    let mut again = whole.clone();
    again.merge(&whole).unwrap();
    assert_eq!(again.mechanism.cells.store, whole.mechanism.cells.store);
}

#[test]
fn minima_of_several_cells_keep_other_keys_out() {
    let (keys, copies) = (1_500u64, 32u64);
    let counts = [5u64, 10, 50, 100];
    let median_excess = |hashes: u64| {
        let cells = (keys * copies * hashes) as f64 / std::f64::consts::LN_2;
        let mut filter = Loglog::with_size(cells as u64, hashes as u32, copies as u32).unwrap();
        let count = |key: u64| counts[(key % 4) as usize];
        for key in 0..keys {
            (0..count(key)).for_each(|_| {
                filter.insert(&key);
            });
        }
        let few = (0..keys).filter(|&key| count(key) <= 10);
        let mut excess: Vec<f64> = few.map(|key| filter.estimate(&key) / count(key) as f64 - 1.0).collect();
        excess.sort_by(f64::total_cmp);
        excess[excess.len() / 2]
    };
    let (three, one) = (median_excess(3), median_excess(1));
    assert!(three <= 0.2 && one > 0.8, "{three} {one}");
}

#[test]
fn a_folded_filter_is_the_one_of_half_the_size() {
    let fed = |cells: &str| {
        let mut filter = empty(&[("cells", cells), ("copies", "8")]);
        (0..3_000u64).for_each(|id| {
            filter.insert_occurrence(&(id % 50), &id);
        });
        filter
    };
    let half = fed("20000").folded().unwrap().unwrap();
    assert_eq!(half, fed("10000"));
    assert!(fed("9999").folded().unwrap().is_none());
    let keyed = config(&[("cells", "100")]).hashed(Hashing::keyed(Secret::new(&[3; 32]).unwrap()));
    assert!(Loglog::from_config(&keyed).unwrap().folded().unwrap().is_none());
}

#[test]
fn meters_with_other_numbers_draw_differently_and_join() {
    let meter = |number| {
        let mut filter = empty(&[("cells", "200000"), ("copies", "256"), ("meter", number)]);
        (0..1_000).for_each(|_| {
            filter.insert("rose");
        });
        filter
    };
    let (mut one, two) = (meter("1"), meter("2"));
    assert_ne!(one.mechanism.cells.store, two.mechanism.cells.store);
    one.merge(&two).unwrap();
    let joined = one.estimate("rose") / 2_000.0 - 1.0;
    assert!(joined.abs() < 5.0 * loglog::STANDARD_ERROR / 16.0, "{joined}");
    assert_eq!(meter("1"), meter("1"), "draws replay");
}

#[test]
fn cells_at_their_end_say_at_least_and_frames_give_back_equal_filters() {
    let mut filter = empty(&[("cells", "5000"), ("copies", "4"), ("width", "2")]);
    (0..1_000).for_each(|_| {
        filter.insert("rose");
    });
    assert!(filter.count("rose").at_least && !filter.count("lily").at_least);
    assert_eq!(Loglog::from_bytes(&filter.to_bytes()).unwrap(), filter);
    let coded = AnyFilter::from_structure(filter.clone()).unwrap().to_compressed_bytes();
    assert_eq!(Loglog::from_bytes(&coded).unwrap(), filter);
    let mut next = Loglog::from_bytes(&coded).unwrap();
    next.insert("iris");
    filter.insert("iris");
    assert_eq!(next, filter, "the draws go on as if nothing had happened");
    assert!(KIND.plan(&config(&[])).unwrap_err().to_string().contains("items"));
    let mut other = empty(&[("cells", "5000"), ("copies", "5"), ("width", "2")]);
    assert!(matches!(other.merge(&filter), Err(Error::Incompatible { .. })));
}
