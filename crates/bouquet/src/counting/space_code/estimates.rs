//! Estimates: how many arrivals are most likely, by tables that are made for the present fill when they are first needed.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Resolution, SpaceCode, SpaceCodeBits};
use crate::capability::Multiplicity;
use crate::hash::Digest;
use crate::key::Key;
use crate::kind::Reply;
use crate::theory::space_code;
use crate::theory::special::binomial;

/// How often a key came, by estimate.
///
/// ```
/// use bouquet::SpaceCode;
/// let mut filter = SpaceCode::with_size(10_000, 4)?;
/// filter.insert_batch(&["rose"; 10_000]);
/// assert!(filter.estimate("rose").saturated, "one filter tells some hundred");
/// assert_eq!(filter.estimate("lily").arrivals, 0.0);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency {
    /// The estimate; for a saturated code the most that it can tell.
    pub arrivals: f64,
    /// Whether every group of the coarsest filter is set, so that the truth may be larger without bound.
    pub saturated: bool,
}

impl Frequency {
    /// As the answer to a question.
    pub(super) fn reply(self) -> Reply {
        match self {
            Frequency { arrivals, saturated: false } => Reply::Real(arrivals),
            Frequency { arrivals, saturated: true } => {
                Reply::Count(Multiplicity { count: arrivals.round() as u64, at_least: true })
            }
        }
    }
}

/// Steps of the fill for which tables are made: 200 from empty to full.
const FILL_STEPS: f64 = 200.0;

/// Likelihoods of one filter at one fill.
#[derive(Debug)]
pub(super) struct Table {
    step: u32,
    /// ln P(theta | f), for every f of the grid `groups + 1` numbers.
    ln_laws: Vec<Vec<f64>>,
    /// The most likely f for each theta of this filter alone.
    pub(super) alone: Vec<u64>,
}

/// Tables in use. They follow from the rest, so they have no part in comparisons, and copies share them.
#[derive(Default)]
pub(super) struct Tables(Mutex<Known>);

#[derive(Clone, Default)]
struct Known {
    drawn: Option<Arc<Drawn>>,
    tables: Vec<Option<Arc<Table>>>,
}

/// The grid of numbers of arrivals and the laws of the groups that they draw in each filter.
#[derive(Debug)]
struct Drawn {
    grid: Vec<u64>,
    laws: Vec<Vec<Vec<f64>>>,
}

impl Tables {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
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
fn most_likely(n: usize, ln_likelihood: impl Fn(usize) -> f64) -> usize {
    let (mut best, mut best_at) = (f64::NEG_INFINITY, 0);
    for at in 0..n {
        let ln = ln_likelihood(at);
        if ln > best + 1e-9 {
            (best, best_at) = (ln, at);
        }
    }
    best_at
}

impl SpaceCode {
    /// How many groups of a key are set, in each filter.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert_batch(&["rose"; 20]);
    /// assert!((10..=20).contains(&filter.groups_set("rose")[0]), "20 draws of 32");
    /// assert_eq!(filter.groups_set("lily"), [0]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn groups_set<K: Key + ?Sized>(&self, key: &K) -> Vec<u32> {
        let (code, digest) = (&self.mechanism, key.digest(&self.hashing));
        (0..code.filters.len()).map(|i| code.theta(i, digest)).collect()
    }

    /// The number of arrivals under which what is seen is most likely; zero when the first filter, which sees every
    /// arrival, thinks so.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert_batch(&["rose"; 40]);
    /// let arrivals = filter.estimate("rose").arrivals;
    /// assert!((20.0..80.0).contains(&arrivals), "{arrivals}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> Frequency {
        self.mechanism.estimate(key.digest(&self.hashing))
    }

    /// The number of arrivals whose mean number of set groups is the seen one, in closed form. Of several filters the
    /// finest is asked of which less than nine tenths of the groups are set.
    ///
    /// ```
    /// use bouquet::SpaceCode;
    /// let mut filter = SpaceCode::with_size(100_000, 4)?;
    /// filter.insert_batch(&["rose"; 40]);
    /// let arrivals = filter.mean_value("rose").arrivals;
    /// assert!((20.0..80.0).contains(&arrivals), "{arrivals}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn mean_value<K: Key + ?Sized>(&self, key: &K) -> Frequency {
        self.mechanism.mean_value(key.digest(&self.hashing))
    }
}

impl SpaceCodeBits {
    /// The grid and the laws on it, made when first needed.
    fn drawn(&self, known: &mut Known) -> Arc<Drawn> {
        let make = || {
            let coarsest = self.filters.last().map_or(1.0, |filter| filter.sampling);
            // Where the coarsest filter has long drawn all of its groups, one number of arrivals is as likely as
            // another.
            let grid = space_code::grid((4.0 * space_code::reach(self.groups, coarsest)) as u64);
            let laws = |filter: &Resolution| space_code::laws_on(self.groups, filter.sampling, &grid);
            let laws = self.filters.iter().map(laws).collect();
            Arc::new(Drawn { grid, laws })
        };
        known.drawn.get_or_insert_with(make).clone()
    }

    /// The table of filter `i` at a fill.
    fn table_at(&self, i: usize, fill: f64) -> Arc<Table> {
        let step = (fill * FILL_STEPS).round() as u32;
        let mut known = self.tables.lock();
        known.tables.resize(self.filters.len(), None);
        if let Some(table) = known.tables[i].as_ref().filter(|table| table.step == step) {
            return table.clone();
        }
        let drawn = self.drawn(&mut known);
        let chance = self.filters[i].chance_at(f64::from(step) / FILL_STEPS);
        let mut laws = space_code::seeming(&drawn.laws[i], chance);
        laws.iter_mut().flatten().for_each(|chance| *chance = chance.max(1e-300).ln());
        let alone =
            (0..=self.groups as usize).map(|theta| drawn.grid[most_likely(laws.len(), |f| laws[f][theta])]).collect();
        let table = Arc::new(Table { step, ln_laws: laws, alone });
        known.tables[i] = Some(table.clone());
        table
    }

    pub(super) fn table(&self, i: usize) -> Arc<Table> {
        self.table_at(i, self.filters[i].fill())
    }

    /// The number of arrivals under which what is seen is most likely; zero when the first filter, which sees every
    /// arrival, thinks so.
    pub(super) fn estimate(&self, digest: Digest) -> Frequency {
        let theta = self.theta(0, digest) as usize;
        let alone = self.table(0).alone[theta];
        if alone == 0 {
            return Frequency { arrivals: 0.0, saturated: false };
        }
        if self.filters.len() == 1 {
            return Frequency { arrivals: alone as f64, saturated: theta == self.groups as usize };
        }
        let tables: Vec<_> = (0..self.filters.len()).map(|i| self.table(i)).collect();
        let thetas: Vec<_> =
            (0..self.filters.len()).map(|i| if i == 0 { theta } else { self.theta(i, digest) as usize }).collect();
        let drawn = self.drawn(&mut self.tables.lock());
        let likelihood = |f: usize| tables.iter().zip(&thetas).map(|(table, theta)| table.ln_laws[f + 1][*theta]).sum();
        let best = 1 + most_likely(drawn.grid.len() - 1, likelihood);
        let saturated = thetas.iter().all(|&theta| theta == self.groups as usize);
        Frequency { arrivals: drawn.grid[best] as f64, saturated }
    }

    /// The number of arrivals whose mean number of set groups is the seen one.
    pub(super) fn mean_value(&self, digest: Digest) -> Frequency {
        let last = self.filters.len() - 1;
        let mut seen = (0, 0);
        for i in 0..=last {
            seen = (i, self.theta(i, digest));
            if seen.1 * 10 < self.groups * 9 {
                break;
            }
        }
        let (i, theta) = seen;
        let filter = &self.filters[i];
        let saturated = theta == self.groups;
        // All but half a group, where every one is set.
        let theta = if saturated { f64::from(theta) - 0.5 } else { theta.into() };
        let arrivals = space_code::mean_value(self.groups, filter.sampling, filter.chance_at(filter.fill()), theta);
        Frequency { arrivals: arrivals.min(u64::MAX as f64), saturated }
    }

    /// The probabilities that an absent key seems present, that one which came once does not, and that it is counted
    /// more than once, at a fill of the first filter.
    pub(super) fn rates_at(&self, fill: f64) -> [f64; 3] {
        let (table, chance) = (self.table_at(0, fill), self.first().chance_at(fill));
        let l = f64::from(self.groups);
        let mut rates = [0.0; 3];
        for (theta, &alone) in (0u32..).zip(&table.alone) {
            let absent = binomial(theta.into(), l, chance);
            // One group was drawn; the others are those of an absent key.
            let once = binomial(f64::from(theta) - 1.0, l - 1.0, chance);
            match alone {
                0 => rates[1] += once,
                1 => rates[0] += absent,
                _ => {
                    rates[0] += absent;
                    rates[2] += once;
                }
            }
        }
        rates.map(|rate| rate.min(1.0))
    }
}
