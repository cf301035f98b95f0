//! Tables of likelihoods, made for the present fill when they are first needed.

use std::sync::{Arc, Mutex, PoisonError};

/// Steps of the fill for which tables are made: 200 from empty to full.
pub(super) const FILL_STEPS: f64 = 200.0;

/// Likelihoods of one filter at one fill.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) step: u32,
    /// ln P(theta | f), for every f of the grid `groups + 1` numbers.
    pub(super) ln_laws: Vec<Vec<f64>>,
    /// The most likely f for each theta of this filter alone.
    pub(super) alone: Vec<u64>,
}

/// Tables in use. They follow from the rest, so they have no part in comparisons, and copies share them.
#[derive(Default)]
pub(super) struct Tables(Mutex<Known>);

#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) drawn: Option<Arc<Drawn>>,
    pub(super) tables: Vec<Option<Arc<Table>>>,
}

/// The grid of numbers of arrivals and the laws of the groups that they draw in each filter.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) grid: Vec<u64>,
    pub(super) laws: Vec<Vec<Vec<f64>>>,
}

impl Tables {
    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // What is known is replaced as a whole, so that a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Tables {
    fn clone(&self) -> Self {
        Tables(Mutex::new(self.lock().clone()))
    }
}

impl PartialEq for Tables {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tables")
    }
}

/// The first of the most likely numbers below `n`; what is larger by rounding alone is not larger.
pub(super) fn most_likely(n: usize, ln_likelihood: impl Fn(usize) -> f64) -> usize {
    let (mut best, mut best_at) = (f64::NEG_INFINITY, 0);
    for at in 0..n {
        let ln = ln_likelihood(at);
        if ln > best + 1e-9 {
            (best, best_at) = (ln, at);
        }
    }
    best_at
}
