//! What the tests of this family share.

use crate::shell::{Filter, Test};

/// The first of the keys that never come.
const STRANGERS: u64 = 1 << 40;

/// The share of positive answers to keys that never came.
pub(super) fn positives<M: Test>(filter: &Filter<M>, queries: u64) -> f64 {
    (0..queries).filter(|key| filter.contains(&(key + STRANGERS))).count() as f64 / queries as f64
}

/// The mean over seeded instances must be within 5 of its own standard errors of the expectation.
#[track_caller]
pub(super) fn assert_mean(found: &[f64], expected: f64, what: &str) {
    assert_mean_to(found, expected, 0.05, what);
}

/// The same where the standard error may be this share of the expectation.
#[track_caller]
pub(super) fn assert_mean_to(found: &[f64], expected: f64, weakest: f64, what: &str) {
    let n = found.len() as f64;
    let mean = found.iter().sum::<f64>() / n;
    let sigma = (found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    assert!((mean - expected).abs() < 5.0 * sigma, "{what}: found {mean}, expected {expected}, sigma {sigma}");
    assert!(sigma < weakest * expected, "{what}: the test is too weak to tell, sigma {sigma} of {expected}");
}
