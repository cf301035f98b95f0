//! The four ways to size a filter: by what is known about the set.

use super::settings::{Design, FPR, MOST_WAITING, unbounded};
use super::{Cell, Dynamic, DynamicSettings, Insertion, KIND, Layout, MOST_COMPONENTS};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::Config;
use crate::shell::Settings;
use crate::theory::dynamic::Shape;
use crate::theory::dynamic::sizing::{Distribution, Sizing, capacity, for_bound, for_rate};

/// Makes a [`Dynamic`] from what is known about the set.
///
/// | known | constructor |
/// |---|---|
/// | the number of keys | [`fixed`](Self::fixed); or the size of a component, [`component`](Self::component) |
/// | a bound of the number and its distribution | [`bounded`](Self::bounded) |
/// | an estimate, a rate to keep and a rate never to pass | [`unbounded`](Self::unbounded) |
/// | the sizes of the sets of many nodes | [`nodes`](Self::nodes); if they are not bounded, `unbounded` for all of them |
///
/// Nodes that are to exchange filters must all be made from the same [`settings`](Self::settings). Front ends size a filter
/// for the quartiles of the nodes' sets by the setting `distribution=nodes`.
///
/// ```
/// use bouquet::{dynamic::dynamic::Builder, theory::dynamic::sizing::Distribution};
/// let mut filter = Builder::bounded(1330, 0.0098, &Distribution::Uniform)?.bits().slices().build()?;
/// filter.insert("rose")?;
/// assert_eq!((filter.shape().bits, filter.shape().hashes, filter.shape().capacity), (2959, 10, 222));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    shape: Shape,
    sizing: Option<Sizing>,
    advice: Option<&'static str>,
    settings: DynamicSettings,
    hashing: Hashing,
}

impl Builder {
    /// Components of this shape.
    ///
    /// ```
    /// use bouquet::{dynamic::dynamic::Builder, theory::dynamic::Shape};
    /// let builder = Builder::sized(Shape { bits: 1280, hashes: 7, capacity: 133 })?;
    /// assert_eq!(builder.build()?.capacity(), 133);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn sized(shape: Shape) -> Result<Self> {
        let settings = DynamicSettings {
            bits: Some(shape.bits),
            hashes: Some(shape.hashes),
            capacity: Some(shape.capacity),
            ..DynamicSettings::default()
        };
        settings.check()?;
        Ok(Builder { shape, sizing: None, advice: None, settings, hashing: Hashing::default() })
    }

    fn made_for(mut self, items: u64, fpr: f64) -> Result<Self> {
        (self.settings.items, self.settings.fpr) = (Some(items), Some(fpr));
        self.settings.check()?;
        Ok(self)
    }

    /// The number of keys is known: one component for all of them.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// let builder = Builder::fixed(1330, 0.0098)?;
    /// assert_eq!(builder.shape().bits, 12_804);
    /// assert!(builder.advice().is_some_and(|advice| advice.contains("never better")));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn fixed(items: u64, fpr: f64) -> Result<Self> {
        let mut builder = Self::sized(for_rate(items, fpr)?)?.made_for(items, fpr)?;
        builder.advice = Some(
            "For a set of known size a chain is never better than one filter: take `standard`, or `counting` if keys \
             are removed.",
        );
        Ok(builder)
    }

    /// The bits (or counters) of a component are given: as many keys in each as its rate allows.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// let shape = Builder::component(1280, 0.0098)?.shape();
    /// assert_eq!((shape.capacity, shape.hashes), (133, 7));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn component(bits: u64, fpr: f64) -> Result<Self> {
        let capacity = Some(capacity(bits, fpr)?);
        let settings = DynamicSettings { bits: Some(bits), fpr: Some(fpr), capacity, ..DynamicSettings::default() };
        settings.check()?;
        let mut builder = Self::sized(Design::new(&settings)?.shape)?;
        builder.settings.fpr = Some(fpr);
        Ok(builder)
    }

    /// The set never has more than `bound` keys, and how many it has is known by its distribution: the components whose
    /// expected memory is least, with the rate `fpr` for a set of the largest size. It never has to be rebuilt.
    ///
    /// ```
    /// use bouquet::{dynamic::dynamic::Builder, theory::dynamic::sizing::{Distribution, Ranks}};
    /// let small_sets = Distribution::Zipf { exponent: 0.4, ranks: Ranks::Minimum };
    /// let builder = Builder::bounded(1330, 0.0098, &small_sets)?;
    /// assert_eq!(builder.sizing().map(|sizing| sizing.components), Some(8));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn bounded(bound: u64, fpr: f64, distribution: &Distribution) -> Result<Self> {
        let sizing = for_bound(bound, fpr, distribution, MOST_COMPONENTS)?;
        let mut builder = Self::sized(sizing.shape)?.made_for(bound, fpr)?;
        builder.sizing = Some(sizing);
        if sizing.components == 1 {
            builder.advice =
                Some("One component is best, so that a chain is never better than one filter: `standard`.");
        }
        Ok(builder)
    }

    /// Nothing but an estimate of the number of keys is known: the rate should stay below `beta`, may drift up to `gamma`
    /// and never pass it. An insertion that would is refused; see [`Dynamic::needs_rebuild`].
    ///
    /// If the rates are so close that not even two components fit between them, the filter is sized as for a set of up to
    /// `estimate` keys at the rate `gamma`.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// assert_eq!(Builder::unbounded(1330, 0.0098, 0.1)?.shape().capacity, 1330);
    /// assert_eq!(Builder::unbounded(1330, 0.0098, 0.0099)?.sizing().map(|sizing| sizing.components), Some(6));
    /// assert!(Builder::unbounded(1330, 0.0098, 0.005).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn unbounded(estimate: u64, beta: f64, gamma: f64) -> Result<Self> {
        if gamma.partial_cmp(&beta) != Some(std::cmp::Ordering::Greater) {
            return Err(Error::parameter("gamma", format!("above `fpr`, {beta}"), gamma));
        }
        let sizing = unbounded(estimate, beta, gamma)?;
        let shape = match sizing {
            Some(sizing) => sizing.shape,
            None => for_rate(estimate, beta)?,
        };
        let mut builder = Self::sized(shape)?.made_for(estimate, beta)?;
        builder.sizing = sizing;
        builder.settings.gamma = Some(gamma);
        builder.settings.check()?;
        Ok(builder)
    }

    /// Many nodes with sets of these sizes take filters of one shape, to exchange them: the one with the fewest bits in
    /// all, whose largest set has the rate `fpr`. If the sets may outgrow their bound, take
    /// [`unbounded`](Self::unbounded) on all nodes: a node that passes the limit of a plain filter only extends itself,
    /// and only one that passes `gamma` makes all of them rebuild.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// let sizes: Vec<u64> = (1..=1330).collect();
    /// let builder = Builder::nodes(&sizes, 0.0098)?;
    /// assert_eq!(builder.shape().bits, 2959);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn nodes(sizes: &[u64], fpr: f64) -> Result<Self> {
        /// The largest set that a histogram is made of; larger ones are put in as many equal classes.
        const CLASSES: u64 = 1 << 20;
        let largest = sizes.iter().copied().max().unwrap_or(0);
        if largest == 0 {
            return Err(Error::parameter("items", "the sizes of the sets, not all 0", "none"));
        }
        let class = largest.div_ceil(CLASSES);
        let mut weights = vec![0.0; largest.div_ceil(class) as usize];
        for &size in sizes.iter().filter(|size| **size > 0) {
            weights[((size - 1) / class) as usize] += 1.0;
        }
        // A class counts as its largest size: the components follow from sets of whole classes.
        let histogram = if class == 1 {
            Distribution::Histogram(weights)
        } else {
            return Self::nodes_in_classes(weights, class, largest, fpr);
        };
        Self::bounded(largest, fpr, &histogram)
    }

    /// Sizes the components in units of a class and gives them the real number of keys.
    fn nodes_in_classes(weights: Vec<f64>, class: u64, largest: u64, fpr: f64) -> Result<Self> {
        let bound = weights.len() as u64;
        let in_classes = for_bound(bound, fpr, &Distribution::Histogram(weights), MOST_COMPONENTS)?;
        let keys = in_classes.shape.capacity.saturating_mul(class).min(largest);
        let shape = for_rate(keys, in_classes.component_rate)?;
        let mut builder = Self::sized(shape)?.made_for(largest, fpr)?;
        let components = in_classes.expected_bits / in_classes.shape.bits as f64;
        builder.sizing = Some(Sizing { shape, expected_bits: components * shape.bits as f64, ..in_classes });
        Ok(builder)
    }

    /// The components that were chosen.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// assert_eq!(Builder::fixed(1_000, 0.01)?.shape().hashes, 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How they were chosen for a bounded set, with the expected bits.
    ///
    /// ```
    /// use bouquet::{dynamic::dynamic::Builder, theory::dynamic::sizing::Distribution};
    /// let sizing = Builder::bounded(1330, 0.0098, &Distribution::Uniform)?.sizing();
    /// assert_eq!(sizing.map(|sizing| sizing.expected_bits.round()), Some(10_345.0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn sizing(&self) -> Option<Sizing> {
        self.sizing
    }

    /// When another kind of filter is the better choice.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// assert!(Builder::fixed(1330, 0.0098)?.advice().is_some());
    /// assert!(Builder::unbounded(1330, 0.0098, 0.1)?.advice().is_none());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        self.advice
    }

    /// Bits instead of counters: a quarter of the memory, and no removal.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// assert_eq!(Builder::fixed(1_000, 0.01)?.bits().build()?.stats().bits, 9585);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(mut self) -> Self {
        self.settings.components = Some(Cell::Bits);
        self
    }

    /// The same position of 64 components in one word: long chains are asked faster.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// let mut filter = Builder::fixed(10, 0.01)?.slices().build()?;
    /// (0..1_000u32).for_each(|key| filter.add(&key).unwrap());
    /// assert!((0..1_000u32).all(|key| filter.contains(&key)) && filter.components() > 64);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slices(mut self) -> Self {
        self.settings.layout = Some(Layout::Slices);
        self
    }

    /// Which keys an insertion puts in. For a multiset with many duplicates take [`Insertion::Improved`].
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Builder, Insertion};
    /// assert!(Builder::fixed(1_000, 0.01)?.insertion(Insertion::Improved).build().is_err(), "not with counters");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn insertion(mut self, insertion: Insertion) -> Self {
        self.settings.insertion = Some(insertion);
        self
    }

    /// How many removals may wait until it can be told which component holds their key, up to 1,024.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Builder, Removal};
    /// let mut filter = Builder::fixed(1, 0.01)?.retry(1).build()?;
    /// ["rose", "rose"].map(|key| filter.add(key).is_ok());
    /// assert_eq!([filter.take_out("rose")?, filter.take_out("rose")?], [Removal::Waiting, Removal::Ambiguous]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn retry(mut self, most: u64) -> Self {
        self.settings.retry = Some(most.min(MOST_WAITING));
        self
    }

    /// Components that are made to be sent: more bits in memory, at most `memory_bits` per key, and fewer positions per key, so
    /// that the [compressed](crate::AnyFilter::to_compressed_bytes) frame is shorter. Implies bits.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// let shape = Builder::fixed(1_000, 0.01)?.compressed(48.0)?.shape();
    /// assert_eq!((shape.bits, shape.hashes), (18_983, 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn compressed(mut self, memory_bits: f64) -> Result<Self> {
        let rate = match self.sizing {
            Some(sizing) => sizing.component_rate,
            None => FPR.need(self.settings.fpr)?,
        };
        let settings = DynamicSettings {
            capacity: Some(self.shape.capacity),
            fpr: Some(rate),
            components: Some(Cell::Bits),
            memory_bits: Some(memory_bits),
            ..DynamicSettings::default()
        };
        settings.check()?;
        self.shape = Design::new(&settings)?.shape;
        let Shape { bits, hashes, .. } = self.shape;
        (self.settings.bits, self.settings.hashes) = (Some(bits), Some(hashes));
        self.settings.memory_bits = Some(memory_bits);
        Ok(self.bits())
    }

    /// Another hashing than the default.
    ///
    /// ```
    /// use bouquet::{dynamic::dynamic::Builder, hash::Hashing};
    /// let filter = Builder::fixed(1_000, 0.01)?.hashed(Hashing::seeded(7)).build()?;
    /// assert_eq!(filter.hashing().seed(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashed(mut self, hashing: Hashing) -> Self {
        self.hashing = hashing;
        self
    }

    /// The settings, for other nodes.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::{Builder, Dynamic};
    /// let builder = Builder::fixed(1_000, 0.01)?;
    /// assert_eq!(Dynamic::with(builder.settings())?, builder.build()?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn settings(&self) -> DynamicSettings {
        self.settings.clone()
    }

    /// The settings, for front ends.
    ///
    /// ```
    /// use bouquet::{AnyFilter, dynamic::dynamic::Builder};
    /// let config = Builder::fixed(1_000, 0.01)?.config();
    /// assert_eq!(AnyFilter::new(&config)?.kind().facts().id, "dynamic");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn config(&self) -> Config {
        self.settings.to_config(Config::new(KIND.facts()).hashed(self.hashing.clone()))
    }

    /// An empty filter.
    ///
    /// ```
    /// use bouquet::dynamic::dynamic::Builder;
    /// assert_eq!(Builder::fixed(1_000, 0.01)?.build()?.items(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn build(&self) -> Result<Dynamic> {
        Dynamic::hashed(self.settings.clone(), self.hashing.clone())
    }
}
