#![doc = include_str!("counter_braids.md")]

use crate::capability::{Decoding, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::slices::HashWords;
use crate::shell::{Amount, Fields, Filter, Hashed, Mechanism, Put, Settings, Solve, Unite, fields};
use crate::store::Counters;
use crate::theory::braids;

mod decoded;
mod solver;
pub use decoded::Decoded;
pub use solver::Bounds;

/// The registry's row.
pub const KIND: Kind = kind!(CounterBraids);

/// Counters of flows, decoded once the list of flows is known.
///
/// ```
/// use bouquet::CounterBraids;
/// let mut braids = CounterBraids::with_flows(1_000)?;
/// // Most flows are small, some are very large.
/// for flow in 0..1_000u64 {
///     braids.add(&flow, if flow % 100 == 7 { 1_000_000 + flow } else { 1 + flow % 5 })?;
/// }
/// let decoded = braids.sizes((0..1_000u64).map(u64::to_le_bytes))?;
/// assert!(decoded.is_exact());
/// assert_eq!([506u64, 507].map(|flow| decoded.count(&flow).map(|size| size.upper)), [Some(2), Some(1_000_507)]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type CounterBraids = Filter<Braids>;

const MAX_HASHES: u64 = 8;

const COUNTERS: Parameter = Parameter::count(
    "counters",
    "counters of the first layer, rounded up to a multiple of the hashes, instead of the items",
    1,
    1 << 48,
);
const UPPER: Parameter =
    Parameter::count("upper", "counters of the second layer; further layers shrink alike", 1, 1 << 48);
const HASHES: Parameter =
    Parameter::count("hashes", "counters per flow, and per counter that runs over", 2, MAX_HASHES).or(3);
const LAYERS: Parameter = Parameter::count("layers", "layers of counters", 2, 4).or(2);
const WIDTH: Parameter =
    Parameter::count("width", "bits of a counter that can run over, without its status", 1, 24).or(8);
const TOP_WIDTH: Parameter = Parameter::count("top-width", "bits of a counter of the last layer", 8, 56).or(32);
const LARGER: Parameter =
    Parameter::real("larger", "share of the flows that are larger than 1; all when not given", 0.0, 1.0);
const ACTIVE: Parameter =
    Parameter::real("active", "share of the counters of a layer that run over", 0.0, 1.0).or_real(0.1);

/// The settings of counter braids.
///
/// ```
/// use bouquet::{CounterBraids, CounterBraidsSettings};
/// let all = CounterBraidsSettings { items: Some(10_000), ..Default::default() };
/// let half = CounterBraidsSettings { larger: Some(0.5), ..all.clone() };
/// let bits = |settings| CounterBraids::with(settings).map(|braids| braids.stats().bits);
/// assert!(bits(half)? < bits(all)? * 3 / 4, "flows of one packet are cheap");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterBraidsSettings {
    /// Flows that it is made for.
    pub items: Option<u64>,
    /// Counters of the first layer.
    pub counters: Option<u64>,
    /// Counters of the second layer.
    pub upper: Option<u64>,
    /// Counters per flow, and per counter that runs over.
    pub hashes: Option<u32>,
    /// Layers of counters.
    pub layers: Option<u32>,
    /// Bits of a counter that can run over.
    pub width: Option<u32>,
    /// Bits of a counter of the last layer.
    pub top_width: Option<u32>,
    /// The share of the flows that are larger than 1.
    pub larger: Option<f64>,
    /// The share of the counters of a layer that run over.
    pub active: Option<f64>,
}

impl Settings for CounterBraidsSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        counters: COUNTERS,
        upper: UPPER,
        hashes: HASHES,
        layers: LAYERS,
        width: WIDTH,
        top_width: TOP_WIDTH,
        larger: LARGER,
        active: ACTIVE,
    ];

    const DESIGN: &'static [&'static str] = &[common::ITEMS.name, LARGER.name, ACTIVE.name];
}

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
    fn of(settings: &CounterBraidsSettings) -> Result<Self> {
        let hashes = HASHES.need(settings.hashes)?;
        let first = match (settings.counters, settings.items) {
            (Some(counters), _) => counters,
            (None, Some(items)) => braids::counters(items, hashes, settings.larger.unwrap_or(1.0))?,
            (None, None) => return Err(common::ITEMS.missing("counters")),
        };
        let second = match settings.upper {
            Some(upper) => upper,
            None => braids::upper_counters(first, ACTIVE.need(settings.active)?)?,
        };
        let mut slices = vec![first.div_ceil(hashes.into()), second.div_ceil(hashes.into())];
        for _ in 2..LAYERS.need(settings.layers)? {
            let (below, last) = (slices[slices.len() - 2].max(1), slices[slices.len() - 1]);
            let next = u128::from(last) * u128::from(last) / u128::from(below);
            // A layer that does not shrink is no use, but does no harm.
            slices.push(u64::try_from(next).unwrap_or(u64::MAX).clamp(8, last.max(8)));
        }
        let shape = Shape {
            hashes,
            slices,
            width: WIDTH.need(settings.width)?,
            top_width: TOP_WIDTH.need(settings.top_width)?,
        };
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

/// Layers of counters, each of which counts what runs over below.
#[derive(Clone, Debug, PartialEq)]
pub struct Braids {
    shape: Shape,
    /// For counters that run over: they are hashed by their numbers.
    hashing: Hashing,
    /// Low bits and, above them, the status of each counter; in the last layer the counter alone.
    layers: Vec<Counters>,
}

impl Braids {
    fn assemble(
        settings: &CounterBraidsSettings,
        hashing: &Hashing,
        mut layer: impl FnMut(u64, u32) -> Result<Counters>,
    ) -> Result<Self> {
        let shape = Shape::of(settings)?;
        let layers = (0..shape.slices.len()).map(|at| layer(shape.counters(at), shape.cell_bits(at)));
        Ok(Braids { layers: layers.collect::<Result<_>>()?, hashing: Self::hashing(settings, hashing), shape })
    }
}

impl Mechanism for Braids {
    const FACTS: Facts = Facts {
        id: "counter-braids",
        number: 68,
        aliases: &["braids", "CB"],
        family: "counting",
        text: Text::new(include_str!("counter_braids.md")),
        errors: &[ErrorClass::Unknown],
        note: NoteType::Amount,
        parameters: &[],
    };

    type Settings = CounterBraidsSettings;

    fn resolve(asked: &CounterBraidsSettings) -> Result<CounterBraidsSettings> {
        let shape = Shape::of(asked)?;
        Ok(CounterBraidsSettings {
            counters: Some(shape.counters(0)),
            upper: Some(shape.counters(1)),
            hashes: Some(shape.hashes),
            layers: Some(shape.slices.len() as u32),
            width: Some(shape.width),
            top_width: Some(shape.top_width),
            ..asked.clone()
        })
    }

    fn plan(settings: &CounterBraidsSettings) -> Result<Plan> {
        let shape = Shape::of(settings)?;
        Ok(Plan { bits: shape.bits()?, hashes: shape.hashes, items: settings.items, fpr: None })
    }

    fn empty(settings: &CounterBraidsSettings, hashing: &Hashing) -> Result<Self> {
        Self::assemble(settings, hashing, Counters::zeroed)
    }

    fn domain(CounterBraidsSettings { counters, hashes, .. }: &CounterBraidsSettings) -> String {
        format!("counter-braids {} {}", counters.unwrap_or(0), hashes.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
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

    /// State: items, 8 bytes. Stores: the counters of each layer.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        self.layers.iter().for_each(|layer| encoder.counters(layer));
    }

    fn decode(settings: &CounterBraidsSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (items, hashing) = (decoder.state().u64()?, decoder.config().hashing().clone());
        Ok((Self::assemble(settings, &hashing, |counters, bits| decoder.counters(counters, bits))?, items))
    }
}

impl Put for Braids {
    type Note<'a> = Amount;
    type Outcome = Result<bool>;

    /// [`Error::Full`], with nothing changed, if a counter of the last layer has no room.
    fn put(&mut self, Hashed { digest, .. }: Hashed<'_>, Amount(amount): Amount) -> Result<bool> {
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
        Ok(fresh && amount > 0)
    }

    fn weight(Amount(amount): &Amount) -> u64 {
        *amount
    }
}

impl Solve for Braids {
    /// Decodes as if each key had come; if that contradicts the counters, some may not have.
    fn solve(&self, _: &Hashing, keys: &[&[u8]]) -> Result<Decoding> {
        let mut decoded = self.sizes(keys, 1)?;
        if !decoded.is_consistent() {
            decoded = self.sizes(keys, 0)?;
        }
        let count = |key: &&[u8]| decoded.count(*key).map_or(0..=u64::MAX, |size| size.lower..=size.upper);
        Ok(Decoding { counts: keys.iter().map(count).collect(), consistent: decoded.is_consistent() })
    }
}

impl Unite for Braids {
    /// Adds what `other` has counted, layer by layer. [`Error::Full`], with nothing changed, if a counter of the last layer
    /// runs over.
    fn unite(&mut self, other: &Self) -> Result<()> {
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
        *self = merged;
        Ok(())
    }
}

impl Braids {
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
}

impl CounterBraids {
    /// Braids for this many flows of any sizes: two layers, three counters per flow, 8 bits each.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// let bits = CounterBraids::with_flows(100_000)?.stats().bits;
    /// assert!(bits < 19 * 100_000, "{bits}");
    /// assert!(CounterBraids::with_flows(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_flows(items: u64) -> Result<Self> {
        Self::with(CounterBraidsSettings { items: Some(items), ..Default::default() })
    }

    /// Braids of this many counters in the first and in the second layer, rounded up to multiples of `hashes`, with
    /// `hashes` counters per flow.
    ///
    /// ```
    /// use bouquet::CounterBraids;
    /// assert_eq!(CounterBraids::with_size(900, 90, 3)?.stats().bits, 900 * 9 + 90 * 32);
    /// assert!(CounterBraids::with_size(900, 90, 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, upper: u64, hashes: u32) -> Result<Self> {
        let (counters, upper, hashes) = (Some(counters), Some(upper), Some(hashes));
        Self::with(CounterBraidsSettings { counters, upper, hashes, ..Default::default() })
    }
}

fn full() -> Error {
    Error::Full {
        what: "a counter of the last layer would run over".into(),
        remedy: "take a larger `top-width`, or a larger `upper` layer".into(),
    }
}

#[cfg(test)]
mod tests;
