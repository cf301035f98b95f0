//! What the fuzz targets do with their bytes. The replay test of the library includes the same code, so that every
//! finding stays found on a stable compiler.
//!
//! No kind is named: what is asked of a filter follows from the verbs and the errors that its kind declares.

// Each target and the replay test use their part.
#![allow(dead_code)]

pub mod decode;
pub mod frame;
pub mod input;
pub mod layout;
pub mod model;
pub mod operations;

use bouquet::capability::{Answer, Estimate, Verdict};
use bouquet::hash::Secret;
use bouquet::kind::{Rates, Stats, Verb};
use bouquet::{AnyFilter, OpenOptions};

/// Filters over this many bits are neither made nor made to grow.
pub const MAX_BITS: u64 = 1 << 17;

/// Frames whose coded stores have more bits are refused; what grew fits.
pub const MAX_CODED_BITS: u64 = 1 << 22;

/// The secret of every keyed filter of the harness.
pub fn secret() -> Secret {
    Secret::new(&[7; 32]).expect("32 bytes are a secret")
}

/// Options that open what the harness itself writes, and what it forges.
pub fn with_secret() -> OpenOptions {
    OpenOptions { allow_unauthenticated: true, ..strict() }
}

/// Options that open what the harness itself writes and nothing else that is keyed.
pub fn strict() -> OpenOptions {
    OpenOptions { secret: Some(secret()), max_coded_bits: Some(MAX_CODED_BITS), ..OpenOptions::default() }
}

/// Everything that a filter says about one key, and what can be had without a key.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub contains: Option<bool>,
    pub count: Option<u64>,
    pub at_least: bool,
    pub answer: Option<Answer>,
    pub sets: Option<Vec<u64>>,
    pub verdict: Option<Verdict>,
}

/// Asks a usable filter about a key with every verb that its kind has.
pub fn ask(filter: &AnyFilter, key: &[u8]) -> Seen {
    const USABLE: &str = "a verb that is registered is there";
    let count = filter.can(Verb::Count).then(|| filter.count().expect(USABLE).count(key));
    let seen = Seen {
        contains: filter.can(Verb::Contains).then(|| filter.contains().expect(USABLE).contains(key)),
        count: count.map(|count| count.count),
        at_least: count.is_some_and(|count| count.at_least),
        answer: filter.can(Verb::Get).then(|| filter.get().expect(USABLE).get(key)),
        sets: filter.can(Verb::Classify).then(|| filter.classify().expect(USABLE).classify(key)),
        verdict: filter.can(Verb::Judge).then(|| filter.judge().expect(USABLE).judge(key)),
    };
    if let Some(sets) = &seen.sets {
        assert!(sets.windows(2).all(|pair| pair[0] < pair[1]), "sets are not ascending: {sets:?}");
    }
    seen
}

/// Numbers that a filter tells about itself are numbers, whatever it holds.
pub fn sane_numbers(filter: &AnyFilter) {
    let Stats { items, bits, fill, fpr, honest_fill, .. } = filter.stats();
    for (what, share) in [("fill", fill), ("rate", fpr)] {
        assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{what} is {share:?}");
    }
    assert!(honest_fill.is_none_or(|fill| fill >= 0.0), "honest fill is {honest_fill:?}");
    let _ = format!("{filter:?}");
    // Exact rates of larger filters take milliseconds, in which a hundred inputs are tried.
    if bits > 128 {
        return;
    }
    for items in [items, u64::MAX] {
        let rates = filter.expected(items);
        let Rates { false_positive, false_negative, over_count, spurious_value, spurious_sets, missing_sets, unknown } =
            rates;
        for share in [false_positive, false_negative, over_count, spurious_value, missing_sets, unknown] {
            assert!(
                share.is_none_or(|share| (0.0..=1.0).contains(&share)),
                "{:?} after {items} items: {rates:?}",
                filter.config()
            );
        }
        assert!(spurious_sets.is_none_or(|sets| sets >= 0.0), "{:?} after {items} items: {rates:?}", filter.config());
    }
}

/// An estimate is a number that can be printed and compared.
pub fn sane_estimate(estimate: Estimate) {
    let Estimate { keys, standard_error, .. } = estimate;
    assert!(keys >= 0.0 && !standard_error.is_nan() && standard_error >= 0.0, "{estimate:?}");
}
