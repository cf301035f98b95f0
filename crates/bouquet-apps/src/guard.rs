//! A filter in front of an exact store that is slow to ask: what the filter denies need not be looked up.

use bouquet::capability::Contains;

/// What became of the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Questions that the filter answered alone: the store was spared.
    pub saved: u64,
    /// Accesses to the store that found the key.
    pub useful: u64,
    /// Accesses to the store that found nothing: the filter's false positives.
    pub wasted: u64,
}

impl Tally {
    /// All questions.
    pub fn asked(&self) -> u64 {
        self.saved + self.useful + self.wasted
    }

    /// The share of false positives among the keys that the store does not hold; `None` before the first of them.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let absent = self.saved + self.wasted;
        (absent > 0).then(|| self.wasted as f64 / absent as f64)
    }
}

/// A filter in front of a store, with a tally of what it saves.
///
/// ```
/// use std::collections::HashMap;
///
/// use bouquet::Bloom;
/// use bouquet_apps::guard::Guard;
///
/// let store = HashMap::from([("rose", 5), ("lily", 3)]);
/// let mut filter = Bloom::with_rate(100, 0.01)?;
/// store.keys().for_each(|key| drop(filter.insert(key)));
///
/// let mut guard = Guard::new(filter);
/// assert_eq!(guard.look_up(b"rose", || store.get("rose")), Some(&5));
/// assert_eq!(guard.look_up(b"thistle", || store.get("thistle")), None);
/// assert_eq!((guard.tally().useful, guard.tally().saved), (1, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Guard<F> {
    filter: F,
    tally: Tally,
}

impl<F: Contains> Guard<F> {
    /// A guard of a store whose keys are all in the filter.
    pub fn new(filter: F) -> Self {
        Guard { filter, tally: Tally::default() }
    }

    /// What the store says of the key. The store is not asked if the filter denies the key.
    pub fn look_up<T>(&mut self, key: &[u8], access: impl FnOnce() -> Option<T>) -> Option<T> {
        let asked = self.try_look_up(key, || Ok::<_, std::convert::Infallible>(access()));
        match asked {
            Ok(found) => found,
            Err(never) => match never {},
        }
    }

    /// As [`look_up`](Self::look_up), for a store whose access can fail. A failed access is not counted.
    pub fn try_look_up<T, E>(
        &mut self,
        key: &[u8],
        access: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if !self.filter.contains(key) {
            self.tally.saved += 1;
            return Ok(None);
        }
        let found = access()?;
        let outcome = if found.is_some() { &mut self.tally.useful } else { &mut self.tally.wasted };
        *outcome += 1;
        Ok(found)
    }

    /// The filter.
    pub fn filter(&self) -> &F {
        &self.filter
    }

    /// The filter, for keys that come to the store. A key that leaves the store may stay.
    pub fn filter_mut(&mut self) -> &mut F {
        &mut self.filter
    }

    /// What became of the questions so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use bouquet::Bloom;

    use super::*;

    #[test]
    fn a_guard_changes_no_answer_and_wastes_the_share_that_its_filter_promises() {
        const N: u64 = 2000;
        const ASKED: u64 = 200_000;
        let store: HashSet<u64> = (0..N).collect();
        let mut filter = Bloom::with_rate(N, 0.02).unwrap();
        store.iter().for_each(|key| {
            filter.insert(key);
        });
        let expected = filter.expected(N).false_positive.unwrap();
        let mut guard = Guard::new(filter);
        for key in 0..N + ASKED {
            assert_eq!(guard.look_up(&key.to_le_bytes(), || store.get(&key)), store.get(&key));
        }
        let tally = guard.tally();
        assert_eq!((tally.useful, tally.asked()), (N, N + ASKED));
        let sigma = (expected * (1.0 - expected) / ASKED as f64).sqrt();
        let rate = tally.false_positive_rate().unwrap();
        // The filter's fill varies, too: as much again is far more than that.
        assert!((rate - expected).abs() < 10.0 * sigma, "{rate} for {expected}");
        assert!(tally.wasted > 0);
    }

    #[test]
    fn a_failed_access_is_told_and_not_counted() {
        let mut filter = Bloom::with_rate(10, 0.01).unwrap();
        filter.insert("a");
        let mut guard = Guard::new(filter);
        assert_eq!(guard.try_look_up(b"a", || Err::<Option<()>, _>("down")), Err("down"));
        assert_eq!(guard.tally(), Tally::default());
        assert_eq!(guard.tally().false_positive_rate(), None);
    }
}
