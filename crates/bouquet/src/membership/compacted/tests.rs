use super::*;
use crate::AnyFilter;
use crate::kind::{Argument, Config, Reply};
use crate::membership::testing::{built, filled, share_found};
use crate::theory::spread::test_sigma_conditional;

/// 20,000 columns of 6 rows, 2,000 keys of 3 positions: the rates of both errors are those of theory at the filter's own fill.
#[test]
fn both_errors_are_as_frequent_as_predicted() {
    let (rows, hashes, keys) = (6, 3, 2_000);
    let filters = 40;
    let (mut lost, mut expected, mut invented, mut told) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..filters {
        let filter = built(&KIND, &[("bits", "120000"), ("hashes", "3")], keys, seed);
        let own: &Compacted = filter.downcast_ref().unwrap();
        let fill = own.mechanism.fill();
        lost += 1.0 - share_found(&filter, 0..keys);
        expected += theory::false_negatives(rows, fill, hashes);
        invented += share_found(&filter, 1 << 40..(1 << 40) + 200_000);
        told += filter.stats().fpr.unwrap();
        assert!((filter.stats().fpr.unwrap() / theory::false_positives(rows, fill, hashes) - 1.0).abs() < 0.1);
    }
    let mean = |sum: f64| sum / filters as f64;
    let (lost, expected, invented, told) = (mean(lost), mean(expected), mean(invented), mean(told));
    assert!((expected - 0.27).abs() < 0.02, "{expected}");
    // Keys that share a column are lost together or one for the other, which at most doubles the variance.
    let sigma = 2f64.sqrt() * test_sigma_conditional(expected, keys * filters);
    assert!((lost - expected).abs() < 5.0 * sigma, "{lost} lost, expected {expected}");
    assert!((invented - told).abs() < 5.0 * test_sigma_conditional(told, 200_000 * filters), "{invented}, told {told}");
}

#[test]
fn two_rows_are_lossless() {
    let filter = built(&KIND, &[("bits", "20000"), ("hashes", "5"), ("blocks", "2")], 2_000, 1);
    assert_eq!(share_found(&filter, 0..2_000), 1.0);
    let own: &Compacted = filter.downcast_ref().unwrap();
    assert_eq!(own.mechanism.ones, own.mechanism.read);
}

#[test]
fn a_lossless_code_is_shorter_at_every_fill_below_eleven_percent() {
    for (keys, fill) in [(400, 0.01), (2_000, 0.05), (4_500, 0.107)] {
        let filter = built(&KIND, &[("bits", "120000"), ("hashes", "3")], keys, 2);
        let own: &Compacted = filter.downcast_ref().unwrap();
        assert!((own.mechanism.fill() - fill).abs() < 0.003);
        let figures = filter.figures();
        let Setting::Count(lossless) = figures[1].value else { panic!("{figures:?}") };
        assert!(lossless < filter.stats().bits, "{lossless} of {}", filter.stats().bits);
    }
    let config = Config::new(KIND.facts()).set("items", "1000").unwrap();
    assert!(
        KIND.advice(&config).is_some_and(|advice| advice.contains("take `compressed`")),
        "whoever makes one is told"
    );
    let fuller = built(&KIND, &[("bits", "120000"), ("hashes", "3")], 5_500, 2);
    let Setting::Count(lossless) = fuller.figures()[1].value else { panic!() };
    assert!(lossless > fuller.stats().bits, "beyond it packing is shorter, and loses half of the keys");
    assert!(matches!(fuller.figures()[0].value, Setting::Real(lost) if lost > 0.4));
}

#[test]
fn unpacking_gives_a_standard_filter_with_the_same_answers() {
    let filter = built(&KIND, &[("items", "500")], 500, 3);
    let Reply::Filter(made) = filter.ask("unpacked", Argument::Nothing).unwrap() else { panic!() };
    let bloom = AnyFilter::from_made(made).unwrap();
    assert_eq!(bloom.kind().facts().id, "standard");
    let (here, there) = (filter.contains().unwrap(), bloom.contains().unwrap());
    assert!((0..20_000u64).map(u64::to_le_bytes).all(|key| here.contains(&key) == there.contains(&key)));
    assert_eq!(bloom.stats().fill, filter.stats().fill);
}

#[test]
fn a_standard_filter_is_packed_as_if_its_keys_had_been() {
    let sizes = [("bits", "6000"), ("hashes", "3")];
    let standard = crate::registry::find("standard").unwrap();
    let sparse = filled(standard, &[&sizes[..], &[("reduction", "fastrange")]].concat(), 300, 4);
    let mut packed = built(&KIND, &sizes, 0, 4);
    packed.act("pack", sparse.as_argument()).unwrap();
    assert_eq!(packed.to_bytes(), built(&KIND, &sizes, 300, 4).to_bytes());
    // Others are refused, and change nothing.
    let others = [
        filled(standard, &sizes, 300, 4),
        filled(standard, &[("bits", "6006"), ("hashes", "3"), ("reduction", "fastrange")], 300, 4),
        filled(standard, &[&sizes[..], &[("reduction", "fastrange")]].concat(), 300, 5),
        packed.clone(),
    ];
    let before = packed.to_bytes();
    assert!(others.iter().all(|other| packed.act("pack", other.as_argument()).is_err()));
    assert_eq!(packed.to_bytes(), before);
}

#[test]
fn packing_depends_on_nothing_but_keys_and_seed() {
    let settings = [("bits", "6000"), ("hashes", "3")];
    assert_eq!(built(&KIND, &settings, 300, 4).to_bytes(), built(&KIND, &settings, 300, 4).to_bytes());
    assert_ne!(built(&KIND, &settings, 300, 4).to_bytes(), built(&KIND, &settings, 300, 5).to_bytes());
}

#[test]
fn a_design_keeps_both_rates() {
    for (fpr, loss) in [(0.01, 0.1), (0.001, 0.02), (0.1, 0.3)] {
        let settings = [("items", "20000"), ("fpr", &fpr.to_string()), ("loss", &loss.to_string())];
        let filter = built(&KIND, &settings.each_ref().map(|(name, text)| (*name, &**text)), 20_000, 5);
        let lost = 1.0 - share_found(&filter, 0..20_000);
        assert!(lost <= loss + 5.0 * 2f64.sqrt() * test_sigma_conditional(loss, 20_000), "{lost} lost, planned {loss}");
        let invented = share_found(&filter, 1 << 40..(1 << 40) + 100_000);
        assert!(invented <= fpr + 5.0 * test_sigma_conditional(fpr, 100_000), "{invented}, planned {fpr}");
    }
}
