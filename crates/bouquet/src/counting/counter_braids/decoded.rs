//! Decoding: all sizes at once, from the last layer down.

use std::collections::HashMap;

use super::{Bounds, Braids, CounterBraids, solver};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::key::Key;
use crate::parts::peel::Hypergraph;

/// The sizes of flows, as far as they could be decoded.
///
/// ```
/// use bouquet::CounterBraids;
/// let mut braids = CounterBraids::with_flows(100)?;
/// braids.add("rose", 1_000)?;
/// let decoded = braids.sizes(["rose"])?;
/// assert!(decoded.is_exact() && decoded.is_consistent());
/// assert!(!braids.sizes(["lily"])?.is_consistent(), "somebody else sent those packets");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoded {
    places: HashMap<Vec<u8>, usize>,
    sizes: Vec<Bounds>,
    consistent: bool,
    rounds: u32,
}

impl Decoded {
    /// The size of a flow; `None` if it was not in the list.
    ///
    /// ```
    /// use bouquet::{CounterBraids, counting::counter_braids::Bounds};
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// let decoded = braids.sizes(["rose"])?;
    /// assert_eq!(decoded.count("rose"), Some(Bounds { lower: 1, upper: 1 }));
    /// assert_eq!(decoded.count("lily"), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Option<Bounds> {
        key.with_bytes(|key| self.places.get(key).and_then(|&place| self.sizes.get(place).copied()))
    }

    /// Every flow with its size, in no order.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// (1..=5u64).try_for_each(|flow| braids.add(&flow, flow).map(drop))?;
    /// let decoded = braids.sizes((1..=5u64).map(u64::to_le_bytes))?;
    /// assert_eq!(decoded.list().map(|(_, size)| size.lower).sum::<u64>(), 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn list(&self) -> impl Iterator<Item = (&[u8], Bounds)> {
        self.places.iter().filter_map(|(key, &place)| Some((key.as_slice(), *self.sizes.get(place)?)))
    }

    /// Whether the bounds of every flow meet.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let mut braids = CounterBraids::with_size(6, 64, 3)?; // two counters per slice
    /// (0..9u64).try_for_each(|flow| braids.add(&flow, 5).map(drop))?;
    /// let decoded = braids.sizes((0..9u64).map(u64::to_le_bytes))?;
    /// assert!(!decoded.is_exact() && decoded.is_consistent());
    /// assert!((0..9u64).all(|flow| decoded.count(&flow).is_some_and(|size| size.lower <= 5 && size.upper >= 5)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.sizes.iter().all(|size| size.lower == size.upper)
    }

    /// Whether the list of flows can be complete: otherwise no sizes of these flows add up to the counters.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// (0..20u64).try_for_each(|flow| braids.insert(&flow).map(drop))?;
    /// assert!(braids.sizes((0..20u64).map(u64::to_le_bytes))?.is_consistent());
    /// assert!(!braids.sizes((0..19u64).map(u64::to_le_bytes))?.is_consistent());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.consistent
    }

    /// Rounds that the flows took.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// assert_eq!(braids.sizes(["rose"])?.rounds(), 2, "one upper bound and one lower");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}

impl CounterBraids {
    /// The sizes of these flows, each of which was inserted at least once. A flow that is listed twice counts once.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// ["rose", "iris", "rose"].into_iter().try_for_each(|flow| braids.insert(flow).map(drop))?;
    /// let decoded = braids.sizes(["iris", "rose"])?;
    /// assert_eq!(["rose", "iris"].map(|flow| decoded.count(flow).map(|size| size.lower)), [Some(2), Some(1)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn sizes<K: Key>(&self, flows: impl IntoIterator<Item = K>) -> Result<Decoded> {
        self.mechanism.sizes(flows, 1)
    }

    /// The same for a list in which flows may never have been inserted. That takes more counters, as many as if all
    /// flows were larger than 1.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// let decoded = braids.sizes_with_absent(["rose", "iris"])?;
    /// assert_eq!(decoded.count("iris").map(|size| size.upper), Some(0));
    /// assert!(!braids.sizes(["rose", "iris"])?.is_consistent(), "iris has no packet");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn sizes_with_absent<K: Key>(&self, flows: impl IntoIterator<Item = K>) -> Result<Decoded> {
        self.mechanism.sizes(flows, 0)
    }
}

impl Braids {
    /// The sizes of these flows, none of which is below `least`.
    pub(super) fn sizes<K: Key>(&self, flows: impl IntoIterator<Item = K>, least: u64) -> Result<Decoded> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut digests = Vec::new();
        for flow in flows {
            flow.with_bytes(|key| {
                if !places.contains_key(key) {
                    places.insert(key.to_vec(), digests.len());
                    digests.push(self.hashing.digest(key));
                }
            });
        }
        let last = self.shape.last();
        let mut totals: Vec<Bounds> = self.layers[last].iter().map(Bounds::exactly).collect();
        let mut consistent = true;
        let (width, low) = (self.shape.width, self.low_bits());
        for layer in (0..last).rev() {
            let counters = &self.layers[layer];
            let active: Vec<u64> = (0..counters.len()).filter(|&index| counters.get(index) > low).collect();
            let carries =
                self.solve_layer(layer + 1, active.iter().map(|&i| self.digest_of_counter(layer, i)), &totals, 1)?;
            consistent &= carries.consistent;
            totals = counters.iter().map(|counter| Bounds::exactly(counter & low)).collect();
            for (&index, carry) in active.iter().zip(&carries.sizes) {
                // A forged carry may be too large for any total.
                let full = |carry: u64| carry.saturating_mul(1 << width);
                if let Some(total) = totals.get_mut(index as usize) {
                    total.lower = total.lower.saturating_add(full(carry.lower));
                    total.upper = total.upper.saturating_add(full(carry.upper));
                }
            }
        }
        let solved = self.solve_layer(0, digests.into_iter(), &totals, least)?;
        Ok(Decoded { places, sizes: solved.sizes, consistent: consistent && solved.consistent, rounds: solved.rounds })
    }

    /// Solves for unknowns with these digests in a layer with these totals.
    fn solve_layer(
        &self,
        layer: usize,
        digests: impl Iterator<Item = Digest>,
        totals: &[Bounds],
        least: u64,
    ) -> Result<solver::Solved> {
        let counters = self.shape.counters(layer);
        if u32::try_from(counters).is_err() {
            return Err(Error::TooLarge { what: "the graph of a layer".into(), bytes: u128::from(counters) * 8 });
        }
        let edges: Vec<u32> = digests.flat_map(|digest| self.counters_of(layer, digest)).map(|at| at as u32).collect();
        let graph = Hypergraph::new(&edges, self.shape.hashes as usize, counters as usize)?;
        Ok(solver::solve(&graph, totals, least))
    }
}
