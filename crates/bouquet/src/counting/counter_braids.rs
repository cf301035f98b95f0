#![doc = include_str!("counter_braids.md")]

use std::collections::HashMap;

use crate::capability::{Decode, Decoding, Insert, Item, Merge, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::parts::peel::Hypergraph;
use crate::parts::slices::HashWords;
use crate::store::Counters;
use crate::theory::braids;

mod solver;
pub use solver::Bounds;

/// The registry's row.
pub const KIND: Kind = kind!(CounterBraids);

const MAX_HASHES: u64 = 8;

const HASHES: Parameter = Parameter {
    name: "hashes",
    help: "counters per flow, and per counter that runs over",
    of: ParameterType::Count { min: 2, max: MAX_HASHES, default: Some(3) },
};

const COUNTERS: Parameter = Parameter {
    name: "counters",
    help: "counters of the first layer, rounded up to a multiple of the hashes, instead of the items",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: None },
};

const UPPER: Parameter = Parameter {
    name: "upper",
    help: "counters of the second layer; further layers shrink alike",
    of: ParameterType::Count { min: 1, max: 1 << 48, default: None },
};

const LAYERS: Parameter = Parameter {
    name: "layers",
    help: "layers of counters",
    of: ParameterType::Count { min: 2, max: 4, default: Some(2) },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits of a counter that can run over, without its status",
    of: ParameterType::Count { min: 1, max: 24, default: Some(8) },
};

const TOP_WIDTH: Parameter = Parameter {
    name: "top-width",
    help: "bits of a counter of the last layer",
    of: ParameterType::Count { min: 8, max: 56, default: Some(32) },
};

const LARGER: Parameter = Parameter {
    name: "larger",
    help: "share of the flows that are larger than 1; all when not given",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: None },
};

const ACTIVE: Parameter = Parameter {
    name: "active",
    help: "share of the counters of a layer that run over",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.1) },
};

/// The sizes of layers and counters.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    hashes: u32,
    /// Counters in a slice, for each layer.
    slices: Vec<u64>,
    width: u32,
    top_width: u32,
}

impl Shape {
    fn of(config: &Config) -> Result<Self> {
        let hashes = config.need("hashes")? as u32;
        let first = match (config.count("counters"), config.count("items")) {
            (Some(counters), _) => counters,
            (None, Some(items)) => braids::counters(items, hashes, config.real("larger").unwrap_or(1.0))?,
            (None, None) => {
                return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `counters`)"));
            }
        };
        let second = match config.count("upper") {
            Some(upper) => upper,
            None => braids::upper_counters(first, config.real("active").unwrap_or(0.1))?,
        };
        let mut slices = vec![first.div_ceil(hashes.into()), second.div_ceil(hashes.into())];
        for _ in 2..config.need("layers")? {
            let (below, last) = (slices[slices.len() - 2].max(1), slices[slices.len() - 1]);
            let next = u128::from(last) * u128::from(last) / u128::from(below);
            // A layer that does not shrink is no use, but does no harm.
            slices.push(u64::try_from(next).unwrap_or(u64::MAX).clamp(8, last.max(8)));
        }
        let shape =
            Shape { hashes, slices, width: config.need("width")? as u32, top_width: config.need("top-width")? as u32 };
        shape.bits()?;
        Ok(shape)
    }

    fn last(&self) -> usize {
        self.slices.len() - 1
    }

    fn counters(&self, layer: usize) -> u64 {
        self.slices[layer] * u64::from(self.hashes)
    }

    /// Bits of a counter, with its status below the last layer.
    fn cell_bits(&self, layer: usize) -> u32 {
        if layer == self.last() { self.top_width } else { self.width + 1 }
    }

    fn bits(&self) -> Result<u64> {
        let of_layer =
            |layer: usize| u128::from(self.slices[layer]) * u128::from(self.hashes) * u128::from(self.cell_bits(layer));
        let bits: u128 = (0..self.slices.len()).map(of_layer).sum();
        match u64::try_from(bits) {
            Ok(bits) if bits <= 1 << 62 => Ok(bits),
            _ => Err(Error::TooLarge { what: "the counters".into(), bytes: bits / 8 }),
        }
    }
}

/// Counters of flows, decoded once the list of flows is known.
///
/// ```
/// use bouquet::counting::counter_braids::CounterBraids;
/// let mut braids = CounterBraids::with_flows(1_000)?;
/// // Most flows are small, some are very large.
/// for flow in 0..1_000u64 {
///     braids.insert_times(&flow, if flow % 100 == 7 { 1_000_000 + flow } else { 1 + flow % 5 })?;
/// }
/// let decoded = braids.decode((0..1_000u64).map(u64::to_le_bytes))?;
/// assert!(decoded.is_exact());
/// assert_eq!([506u64, 507].map(|flow| decoded.count(&flow).map(|size| size.upper)), [Some(2), Some(1_000_507)]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CounterBraids {
    shape: Shape,
    hashing: Hashing,
    /// Low bits and, above them, the status of each counter; in the last layer the counter alone.
    layers: Vec<Counters>,
    /// Insertions.
    items: u64,
    planned: Planned,
}

/// What it was made for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Planned {
    items: Option<u64>,
    larger: Option<f64>,
    active: Option<f64>,
}

/// The sizes of flows, as far as they could be decoded.
///
/// ```
/// use bouquet::counting::counter_braids::CounterBraids;
/// let mut braids = CounterBraids::with_flows(100)?;
/// braids.insert_times("rose", 1_000)?;
/// let decoded = braids.decode(["rose"])?;
/// assert!(decoded.is_exact() && decoded.is_consistent());
/// assert!(!braids.decode(["lily"])?.is_consistent(), "somebody else sent those packets");
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
    /// use bouquet::counting::counter_braids::{Bounds, CounterBraids};
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// let decoded = braids.decode(["rose"])?;
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
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// (1..=5u64).try_for_each(|flow| braids.insert_times(&flow, flow).map(drop))?;
    /// let decoded = braids.decode((1..=5u64).map(u64::to_le_bytes))?;
    /// assert_eq!(decoded.list().map(|(_, size)| size.lower).sum::<u64>(), 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn list(&self) -> impl Iterator<Item = (&[u8], Bounds)> {
        self.places.iter().filter_map(|(key, &place)| Some((key.as_slice(), *self.sizes.get(place)?)))
    }

    /// Whether the bounds of every flow meet.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_size(6, 64, 3)?; // two counters per slice
    /// (0..9u64).try_for_each(|flow| braids.insert_times(&flow, 5).map(drop))?;
    /// let decoded = braids.decode((0..9u64).map(u64::to_le_bytes))?;
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
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// (0..20u64).try_for_each(|flow| braids.insert(&flow).map(drop))?;
    /// assert!(braids.decode((0..20u64).map(u64::to_le_bytes))?.is_consistent());
    /// assert!(!braids.decode((0..19u64).map(u64::to_le_bytes))?.is_consistent());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.consistent
    }

    /// Rounds that the flows took.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// assert_eq!(braids.decode(["rose"])?.rounds(), 2, "one upper bound and one lower");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}

impl CounterBraids {
    /// Braids for so many flows of any sizes: two layers, three counters per flow, 8 bits each.
    ///
    /// ```
    /// use bouquet::{counting::counter_braids::CounterBraids, kind::Structure};
    /// let bits = CounterBraids::with_flows(100_000)?.stats().bits;
    /// assert!(bits < 19 * 100_000, "{bits}");
    /// assert!(CounterBraids::with_flows(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_flows(items: u64) -> Result<Self> {
        Self::from_config(&Config::new(KIND.facts()).with("items", Setting::Count(items))?)
    }

    /// Braids of so many counters in the first and in the second layer, rounded up to multiples of `hashes`, with
    /// `hashes` counters per flow.
    ///
    /// ```
    /// use bouquet::{counting::counter_braids::CounterBraids, kind::Structure};
    /// assert_eq!(CounterBraids::with_size(900, 90, 3)?.stats().bits, 900 * 9 + 90 * 32);
    /// assert!(CounterBraids::with_size(900, 90, 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, upper: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("counters", Setting::Count(counters))?;
        let config = config.with("upper", Setting::Count(upper))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// Empty braids of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{counting::counter_braids::{CounterBraids, KIND}, kind::{Config, Structure}};
    /// let all = Config::new(KIND.facts()).set("items", "10000")?;
    /// let half = all.clone().set("larger", "0.5")?;
    /// let bits = |config: &Config| CounterBraids::from_config(config).map(|braids| braids.stats().bits);
    /// assert!(bits(&half)? < bits(&all)? * 3 / 4, "flows of one packet are cheap");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::of(config)?;
        let layer = |layer| Counters::zeroed(shape.counters(layer), shape.cell_bits(layer));
        let layers = (0..shape.slices.len()).map(layer).collect::<Result<Vec<_>>>()?;
        Ok(Self::with_parts(config, shape, layers, 0))
    }

    fn with_parts(config: &Config, shape: Shape, layers: Vec<Counters>, items: u64) -> Self {
        let domain = format!("{} {} {}", Self::FACTS.id, shape.counters(0), shape.hashes);
        let planned =
            Planned { items: config.count("items"), larger: config.real("larger"), active: set_real(config, "active") };
        CounterBraids { hashing: config.hashing().clone().bind(&domain), shape, layers, items, planned }
    }

    /// Insertions, whatever was added by each.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// braids.insert_times("rose", 1_500)?;
    /// assert_eq!(braids.insertions(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn insertions(&self) -> u64 {
        self.items
    }

    /// The counter of a digest in each slice of a layer.
    #[inline]
    fn counters_of(&self, layer: usize, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let (mut words, slice_len) = (HashWords::new(digest), self.shape.slices[layer]);
        (0..u64::from(self.shape.hashes)).map(move |slice| words.cell(slice, slice_len))
    }

    /// The digest of a counter that runs over: of its number.
    fn digest_of_counter(&self, layer: usize, index: u64) -> Digest {
        self.hashing.digest(&index.to_le_bytes()).derive(layer as u64 + 1)
    }

    /// Adds one to a flow and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// assert!(braids.insert("rose")? && !braids.insert("rose")?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.insert_times(key, 1)
    }

    /// Adds to a flow and says whether it was certainly new. [`Error::Full`], with nothing changed, if a counter of
    /// the last layer has no room.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert_times("rose", 40_000_000_000)?;
    /// assert!(braids.insert_times("rose", u64::MAX).is_err());
    /// assert_eq!(braids.decode(["rose"])?.count("rose").map(|size| size.upper), Some(40_000_000_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, amount: u64) -> Result<bool> {
        let digest = key.digest(&self.hashing);
        let low = self.low_bits();
        let (mut fresh, mut runs_over) = (false, amount > low);
        for index in self.counters_of(0, digest) {
            let counter = self.layers[0].get(index);
            fresh |= counter == 0;
            runs_over |= (counter & low).saturating_add(amount) > low;
        }
        if runs_over {
            // All that can reach one counter above: every counter's carry, by every path.
            let paths = u64::from(self.shape.hashes).pow(self.shape.last() as u32);
            let spill = (amount >> self.shape.width).saturating_add(1).saturating_mul(paths);
            if !self.counters_of(0, digest).all(|index| self.has_room(0, index, spill)) {
                return Err(full());
            }
        }
        for index in self.counters_of(0, digest) {
            self.add(0, index, amount);
        }
        self.items = self.items.saturating_add(1);
        Ok(fresh && amount > 0)
    }

    fn low_bits(&self) -> u64 {
        (1 << self.shape.width) - 1
    }

    /// Whether every counter of the last layer that this one can reach takes so much more.
    fn has_room(&self, layer: usize, index: u64, spill: u64) -> bool {
        if layer == self.shape.last() {
            let top = &self.layers[layer];
            return top.get(index).checked_add(spill).is_some_and(|sum| sum <= top.max());
        }
        let digest = self.digest_of_counter(layer, index);
        self.counters_of(layer + 1, digest).all(|index| self.has_room(layer + 1, index, spill))
    }

    /// Adds to a counter and its carry to those above; false, and left half done, if a counter of the last layer has
    /// no room.
    fn add(&mut self, layer: usize, index: u64, amount: u64) -> bool {
        if layer == self.shape.last() {
            let top = &mut self.layers[layer];
            let sum = top.get(index).checked_add(amount).filter(|&sum| sum <= top.max());
            sum.inspect(|&sum| top.set(index, sum)).is_some()
        } else {
            let (width, low) = (self.shape.width, self.low_bits());
            let before = self.layers[layer].get(index);
            // Amounts that do not fit were refused; carries are smaller than they.
            let sum = (before & low).saturating_add(amount);
            let (carry, status) = (sum >> width, before & (low + 1));
            let status = if carry > 0 { low + 1 } else { status };
            self.layers[layer].set(index, sum & low | status);
            let digest = self.digest_of_counter(layer, index);
            carry == 0 || self.counters_of(layer + 1, digest).all(|index| self.add(layer + 1, index, carry))
        }
    }

    /// Adds what `other` has counted, layer by layer. It must have the same shape and hashing. [`Error::Full`], with
    /// nothing changed, if a counter of the last layer runs over.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let (mut here, mut there) = (CounterBraids::with_flows(100)?, CounterBraids::with_flows(100)?);
    /// here.insert_times("rose", 200)?;
    /// there.insert_times("rose", 300)?;
    /// here.merge(&there)?;
    /// assert_eq!(here.decode(["rose"])?.count("rose").map(|size| size.lower), Some(500));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same("counters", self.shape.counters(0), other.shape.counters(0))?;
        same("shape", &self.shape, &other.shape)?;
        same("hashing", &self.hashing, &other.hashing)?;
        let (mut merged, low) = (self.clone(), self.low_bits());
        for (layer, counters) in other.layers.iter().enumerate() {
            let is_last = layer == self.shape.last();
            for (index, counter) in (0..).zip(counters.iter()).filter(|&(_, counter)| counter > 0) {
                // The carries of a counter are in the layers above already.
                if !merged.add(layer, index, if is_last { counter } else { counter & low }) {
                    return Err(full());
                }
                if !is_last {
                    merged.layers[layer].update(index, |mine| mine | counter & (low + 1));
                }
            }
        }
        merged.items = merged.items.saturating_add(other.items);
        *self = merged;
        Ok(())
    }

    /// The sizes of these flows, each of which was inserted at least once. A flow that is listed twice counts once.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// ["rose", "iris", "rose"].into_iter().try_for_each(|flow| braids.insert(flow).map(drop))?;
    /// let decoded = braids.decode(["iris", "rose"])?;
    /// assert_eq!(["rose", "iris"].map(|flow| decoded.count(flow).map(|size| size.lower)), [Some(2), Some(1)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn decode<K: Key>(&self, flows: impl IntoIterator<Item = K>) -> Result<Decoded> {
        self.decode_from(flows, 1)
    }

    /// The same for a list in which flows may never have been inserted. That takes more counters, as many as if all
    /// flows were larger than 1.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// let decoded = braids.decode_with_absent(["rose", "iris"])?;
    /// assert_eq!(decoded.count("iris").map(|size| size.upper), Some(0));
    /// assert!(!braids.decode(["rose", "iris"])?.is_consistent(), "iris has no packet");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn decode_with_absent<K: Key>(&self, flows: impl IntoIterator<Item = K>) -> Result<Decoded> {
        self.decode_from(flows, 0)
    }

    fn decode_from<K: Key>(&self, flows: impl IntoIterator<Item = K>, least: u64) -> Result<Decoded> {
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
                self.solve(layer + 1, active.iter().map(|&i| self.digest_of_counter(layer, i)), &totals, 1)?;
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
        let solved = self.solve(0, digests.into_iter(), &totals, least)?;
        Ok(Decoded { places, sizes: solved.sizes, consistent: consistent && solved.consistent, rounds: solved.rounds })
    }

    /// Solves for unknowns with these digests in a layer with these totals.
    fn solve(
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

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert("rose")?;
    /// assert_eq!(CounterBraids::from_bytes(&braids.to_bytes())?, braids);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::counter_braids::CounterBraids;
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert_times("rose", 1_000)?;
    /// let again = CounterBraids::from_bytes(&braids.to_bytes())?;
    /// assert_eq!(again.decode(["rose"])?.count("rose").map(|size| size.upper), Some(1_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

fn set_real(config: &Config, name: &str) -> Option<f64> {
    config.is_set(name).then(|| config.real(name)).flatten()
}

fn full() -> Error {
    Error::Full {
        what: "a counter of the last layer would run over".into(),
        remedy: "take a larger `top-width`, or a larger `upper` layer".into(),
    }
}

impl Structure for CounterBraids {
    const FACTS: Facts = Facts {
        id: "counter-braids",
        number: 68,
        aliases: &["braids", "CB"],
        family: "counting",
        text: Text::new(include_str!("counter_braids.md")),
        errors: &[ErrorClass::Unknown],
        note: NoteType::None,
        parameters: &[common::ITEMS, COUNTERS, UPPER, HASHES, LAYERS, WIDTH, TOP_WIDTH, LARGER, ACTIVE],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::of(config)?;
        Ok(Plan { bits: shape.bits()?, hashes: shape.hashes, items: config.count("items"), fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let shape = &self.shape;
        let mut config = Config::new(KIND.facts())
            .put("counters", Setting::Count(shape.counters(0)))
            .put("upper", Setting::Count(shape.counters(1)))
            .put("hashes", Setting::Count(shape.hashes.into()))
            .put("layers", Setting::Count(shape.slices.len() as u64))
            .put("width", Setting::Count(shape.width.into()))
            .put("top-width", Setting::Count(shape.top_width.into()))
            .hashed(self.hashing.clone());
        if let Some(items) = self.planned.items {
            config = config.put("items", Setting::Count(items));
        }
        for (name, share) in [("larger", self.planned.larger), ("active", self.planned.active)] {
            if let Some(share) = share {
                config = config.put(name, Setting::Real(share));
            }
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        Stats {
            items: self.items,
            bits: self.layers.iter().map(Counters::bits).sum(),
            hashes: self.shape.hashes,
            fill: Some(self.layers[0].count_nonzero() as f64 / self.layers[0].len() as f64),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, _items: u64) -> Rates {
        Rates::default()
    }

    /// State: insertions, 8 bytes. Stores: the counters of each layer.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        self.layers.iter().for_each(|layer| encoder.counters(layer));
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::of(decoder.config())?;
        let items = decoder.state().u64()?;
        let mut layers = Vec::new();
        for layer in 0..shape.slices.len() {
            layers.push(decoder.counters(shape.counters(layer), shape.cell_bits(layer))?);
        }
        Ok(Self::with_parts(decoder.config(), shape, layers, items))
    }
}

impl Insert for CounterBraids {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        CounterBraids::insert(self, item.bare()?)
    }
}

impl Decode for CounterBraids {
    /// Decodes as if each key had come; if that contradicts the counters, some may not have.
    fn decode(&self, keys: &[&[u8]]) -> Result<Decoding> {
        let mut decoded = CounterBraids::decode(self, keys)?;
        if !decoded.is_consistent() {
            decoded = self.decode_with_absent(keys)?;
        }
        let count = |key: &&[u8]| decoded.count(*key).map_or(0..=u64::MAX, |size| size.lower..=size.upper);
        Ok(Decoding { counts: keys.iter().map(count).collect(), consistent: decoded.is_consistent() })
    }
}

impl Merge for CounterBraids {
    fn merge(&mut self, other: &Self) -> Result<()> {
        CounterBraids::merge(self, other)
    }
}

#[cfg(test)]
mod tests;
