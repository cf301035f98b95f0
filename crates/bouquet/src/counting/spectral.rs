#![doc = include_str!("spectral.md")]

mod cells;

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, NEAR_BITS};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::parts::counter_array::{Arrangement, COUNTERS, CounterArray, CounterStore, Placement, Places, Sizes};
use crate::shell::{
    Amount, ByRate, Choice, Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Tally, Test, Unite, choices, fields,
};
use crate::store::BitStore;
use crate::theory::sketch;
use cells::Cells;

/// The registry's row.
pub const KIND: Kind = kind!(Spectral);

/// A spectral Bloom filter.
///
/// ```
/// use bouquet::{Spectral, shell::Amount};
/// let mut filter = Spectral::with_rate(1_000, 0.01)?;
/// filter.add("rose", 30);
/// filter.add("lily", 2);
/// filter.remove_with("rose", Amount(10))?;
/// assert_eq!((filter.count("rose").count, filter.count("lily").count), (20, 2));
/// assert!(!filter.contains("iris"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Spectral = Filter<SpectralCounters>;

/// How counters are changed and read; see [the table](self).
///
/// ```
/// use bouquet::{Spectral, SpectralSettings, counting::spectral::Method, shell::Amount};
/// let method = Some(Method::MinimalIncrease);
/// let mut filter = Spectral::with(SpectralSettings { items: Some(1_000), method, ..Default::default() })?;
/// filter.add("rose", 5);
/// assert!(filter.remove_with("rose", Amount(1)).is_err(), "not with this method");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Add to all, take the least.
    MinimumSelection,
    /// Raise only what must be raised.
    MinimalIncrease,
    /// A second filter for the keys whose least counter occurs once, and a filter that marks them.
    RecurringMinimum,
    /// The same without marks.
    RecurringMinimumSimple,
}

choices!(Method {
    MinimumSelection = "ms",
    MinimalIncrease = "mi",
    RecurringMinimum = "rm",
    RecurringMinimumSimple = "rm-simple",
});

impl Method {
    fn has_second(self) -> bool {
        matches!(self, Method::RecurringMinimum | Method::RecurringMinimumSimple)
    }
}

/// How counters are kept.
///
/// ```
/// use bouquet::{Spectral, SpectralSettings, counting::spectral::Store};
/// let store = Some(Store::Compact);
/// let mut filter = Spectral::with(SpectralSettings { items: Some(1_000), store, ..Default::default() })?;
/// filter.add("rose", 1_000_000);
/// assert_eq!(filter.count("rose").count, 1_000_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// With a fixed width.
    Fixed,
    /// As codes of different lengths.
    Compact,
}

choices!(Store { Fixed = "fixed", Compact = "compact" });

const METHOD: Parameter = Parameter::choice(
    "method",
    "ms adds and takes the least; mi raises only what must be raised, without removal; rm (with marks, or rm-simple \
     without) has a second filter for suspect keys, and at least 3 hashes",
    Method::WORDS,
);
const STORE: Parameter = Parameter::choice(
    "store",
    "counters of a fixed width, or compact: as codes of different lengths, smaller and slower",
    Store::WORDS,
);
const WIDTH: Parameter =
    Parameter::count("width", "bits per counter of the fixed store", 1, crate::coder::MAX_WIDTH as u64).or(16);

/// The settings of a spectral Bloom filter. Without any of them it has minimum selection and 16 bits per counter.
///
/// ```
/// use bouquet::{Spectral, SpectralSettings};
/// let mut filter = Spectral::with(SpectralSettings { items: Some(1_000), width: Some(4), ..Default::default() })?;
/// filter.add("rose", 100);
/// assert!(filter.count("rose").at_least && filter.count("rose").count == 15);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpectralSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The share of that many keys that counts too much.
    pub fpr: Option<f64>,
    /// The number of counters.
    pub counters: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// How counters are changed and read.
    pub method: Option<Method>,
    /// How counters are kept.
    pub store: Option<Store>,
    /// Bits per counter of the fixed store.
    pub width: Option<u32>,
}

impl Settings for SpectralSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        counters: COUNTERS,
        hashes: common::HASHES,
        method: METHOD,
        store: STORE,
        width: WIDTH,
    ];
}

impl ByRate for SpectralSettings {}

impl SpectralSettings {
    /// With every default written out, so that they can be compared.
    fn complete(&self) -> Result<Self> {
        Ok(SpectralSettings {
            method: Some(METHOD.need(self.method)?),
            store: Some(STORE.need(self.store)?),
            width: Some(WIDTH.need(self.width)?),
            ..self.clone()
        })
    }
}

/// Streams of a key's digest, so that the second filter and the marks have positions of their own.
const SECOND: u64 = 1;
const MARKS: u64 = 2;

/// What the recurring minimum has besides the counters.
#[derive(Clone, Debug, PartialEq)]
struct Second {
    /// Half as many counters.
    cells: CounterArray<Cells>,
    /// A Bloom filter of the keys that are in the second filter; none in the simple form.
    marks: Option<BitStore>,
}

impl Second {
    /// Whether a key, whose least counter in the first filter recurs there or not, is in this one. The marks have the places
    /// of the first filter.
    fn holds(&self, places: &Places, digest: Digest, recurs: bool) -> bool {
        match &self.marks {
            Some(marks) => places.all_ones(marks, digest.derive(MARKS)),
            None => !recurs && self.cells.least(digest.derive(SECOND)) > 0,
        }
    }
}

/// Counters, with a method to change and to read them.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectralCounters {
    cells: CounterArray<Cells>,
    method: Method,
    second: Option<Second>,
}

/// What the settings describe.
struct Shape {
    places: Places,
    /// The second filter's.
    half: Places,
    method: Method,
    /// Bits of a counter of fixed width.
    width: Option<u32>,
}

impl Shape {
    fn of(settings: &SpectralSettings) -> Result<Self> {
        let SpectralSettings { items, fpr, counters, hashes, .. } = *settings;
        let places = Sizes { items, fpr, counters, hashes }.places(Arrangement::Flat)?;
        let method = METHOD.need(settings.method)?;
        if method.has_second() && places.hashes() < 3 {
            return Err(Error::parameter("hashes", "at least 3 for a minimum that can recur", places.hashes()));
        }
        let half = Places::new((places.counters() / 2).max(1), places.hashes(), Arrangement::Flat)?;
        let width = WIDTH.need(settings.width)?;
        let shape =
            Shape { places, half, method, width: (STORE.need(settings.store)? == Store::Fixed).then_some(width) };
        shape.bits()?;
        Ok(shape)
    }

    /// The bits of the marks, if the method has them.
    fn marks(&self) -> Option<u64> {
        (self.method == Method::RecurringMinimum).then_some(self.places.counters())
    }

    /// Bits of an empty filter's stores.
    fn bits(&self) -> Result<u64> {
        let of = |places: &Places| Cells::zeroed_bits(places.counters(), self.width);
        let second = if self.method.has_second() { of(&self.half) } else { 0 };
        let bits = of(&self.places) + second + u128::from(self.marks().unwrap_or(0));
        u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: bits / 8 })
    }

    /// The mechanism of the stores that `cells` gives for this many counters, in order, without marks.
    fn assemble(&self, mut cells: impl FnMut(u64) -> Result<Cells>) -> Result<SpectralCounters> {
        let mut array = |places: Places| cells(places.counters()).map(|store| CounterArray { places, store });
        let first = array(self.places)?;
        let half = self.method.has_second().then(|| array(self.half)).transpose()?;
        let second = half.map(|cells| Second { cells, marks: None });
        Ok(SpectralCounters { cells: first, method: self.method, second })
    }
}

impl Mechanism for SpectralCounters {
    const FACTS: Facts = Facts {
        id: "spectral",
        number: 59,
        aliases: &["spectral-bloom"],
        family: "counting",
        text: Text::new(include_str!("spectral.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const NEAR: u64 = NEAR_BITS;

    type Settings = SpectralSettings;

    /// Frames have method, store and width only where they were given.
    fn resolve(asked: &SpectralSettings) -> Result<SpectralSettings> {
        let Shape { places, .. } = Shape::of(asked)?;
        let (counters, hashes) = (Some(places.counters()), Some(places.hashes()));
        Ok(SpectralSettings { counters, hashes, ..asked.clone() })
    }

    fn plan(settings: &SpectralSettings) -> Result<Plan> {
        let (shape, items) = (Shape::of(settings)?, settings.items);
        let fpr = items.map(|items| shape.places.expected_rate(items));
        Ok(Plan { bits: shape.bits()?, hashes: shape.places.hashes(), items, fpr })
    }

    fn empty(settings: &SpectralSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::of(settings)?;
        let mut empty = shape.assemble(|len| Cells::zeroed(len, shape.width))?;
        if let (Some(second), Some(len)) = (&mut empty.second, shape.marks()) {
            second.marks = Some(BitStore::zeroed(len)?);
        }
        Ok(empty)
    }

    fn domain(SpectralSettings { counters, hashes, .. }: &SpectralSettings) -> String {
        format!("spectral {} {}", counters.unwrap_or(0), hashes.unwrap_or(0))
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const LOW: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::UnderCount];
        if self.second.is_some() { LOW } else { Self::FACTS.errors }
    }

    fn stats(&self, items: u64) -> Stats {
        let CounterArray { places, store } = &self.cells;
        let nonzero = places.count_where(|place| store.is_nonzero(place));
        let marks = |second: &Second| second.marks.as_ref().map_or(0, BitStore::len);
        let second = self.second.as_ref().map_or(0, |second| second.cells.store.bits() + marks(second));
        Stats {
            items,
            bits: store.bits() + second,
            hashes: places.hashes(),
            fill: Some(nonzero.iter().sum::<u64>() as f64 / places.counters() as f64),
            fpr: Some(places.rate_of(&nonzero)),
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let places = &self.cells.places;
        let over_count = match self.method {
            // A counter of one bit shows no more than one.
            _ if self.cells.store.max() <= 1 => Some(0.0),
            Method::MinimumSelection => Some(places.expected_rate(items.saturating_sub(1))),
            // Rows of m/k counters fill as one array of m does.
            Method::MinimalIncrease => {
                let width = places.counters() / u64::from(places.hashes()).max(1);
                Some(sketch::conservative_over_count(width, places.hashes(), items))
            }
            _ => None,
        };
        Rates { false_positive: Some(places.expected_rate(items)), over_count, ..Rates::default() }
    }

    /// State: items. Stores: the counters; under `rm` those of the second filter and the marks. Fixed: as counters; compact: the
    /// codes one behind the other, as bytes.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        self.cells.store.encode(encoder);
        if let Some(second) = &self.second {
            second.cells.store.encode(encoder);
            if let Some(marks) = &second.marks {
                encoder.bits(marks);
            }
        }
    }

    fn decode(settings: &SpectralSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::of(settings)?;
        let items = decoder.state().u64()?;
        let mut filter = shape.assemble(|len| Cells::decode(decoder, len, shape.width))?;
        if let (Some(second), Some(len)) = (&mut filter.second, shape.marks()) {
            second.marks = Some(decoder.bits(len)?);
        }
        Ok((filter, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.cells.reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.cells.prefetch(digest);
    }

    #[inline]
    fn prefetch_to_test(&self, digest: Digest) {
        self.cells.prefetch_to_test(digest);
    }
}

impl Test for SpectralCounters {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.cells.all_nonzero(key.digest)
    }
}

impl Put for SpectralCounters {
    type Note<'a> = Amount;
    type Outcome = bool;

    fn put(&mut self, Hashed { digest, .. }: Hashed<'_>, Amount(times): Amount) -> bool {
        if self.method == Method::MinimalIncrease {
            let least = self.cells.least(digest);
            self.cells.raise_all_to(digest, least.saturating_add(times));
            return least == 0;
        }
        let (fresh, _) = self.cells.add_to_all(digest, times);
        if let Some(second) = &mut self.second {
            let (least, recurs) = minimum(&self.cells, digest);
            if second.holds(&self.cells.places, digest, recurs) {
                second.cells.add_to_all(digest.derive(SECOND), times);
            } else if !recurs {
                second.cells.add_to_all(digest.derive(SECOND), least);
                if let Some(marks) = &mut second.marks {
                    self.cells.places.set_ones(marks, digest.derive(MARKS));
                }
            }
        }
        fresh
    }

    fn weight(Amount(times): &Amount) -> u64 {
        *times
    }
}

impl Take for SpectralCounters {
    type Note<'a> = Amount;

    /// [`Error::NotPresent`] also when the key is certainly not in so often. With minimal increase it is refused: a counter
    /// does not know how much of it belongs to whom.
    fn take(&mut self, Hashed { digest, .. }: Hashed<'_>, Amount(times): Amount) -> Result<()> {
        if self.method == Method::MinimalIncrease {
            return Err(Error::parameter("method", "ms or rm where keys are removed", self.method.word()));
        }
        let frozen = self.cells.store.max();
        let (least, recurs) = minimum(&self.cells, digest);
        // A counter at its end may stand for any number.
        if least == 0 || least < times.min(frozen) {
            return Err(Error::NotPresent);
        }
        self.cells.sub_from_all(digest, times, frozen);
        if let Some(second) = &mut self.second
            && second.holds(&self.cells.places, digest, recurs)
        {
            second.cells.sub_from_all(digest.derive(SECOND), times, frozen);
        }
        Ok(())
    }

    fn taken(Amount(times): &Amount) -> u64 {
        *times
    }
}

impl Tally for SpectralCounters {
    /// `at_least` tells when a counter that has reached its end hides how much more it may be.
    fn tally(&self, Hashed { digest, .. }: Hashed<'_>) -> Multiplicity {
        let (least, recurs) = minimum(&self.cells, digest);
        let second = self.second.as_ref().filter(|second| second.holds(&self.cells.places, digest, recurs));
        let count = match second.map(|second| second.cells.least(digest.derive(SECOND))) {
            Some(own) if own > 0 => own.min(least),
            _ => least,
        };
        Multiplicity { count, at_least: count == self.cells.store.max() }
    }
}

impl Unite for SpectralCounters {
    /// Adds the counters, for minimum selection alone.
    fn unite(&mut self, other: &Self) -> Result<()> {
        if self.method != Method::MinimumSelection {
            return Err(Error::parameter("method", "ms where filters are merged", self.method.word()));
        }
        for place in 0..other.cells.places.counters() {
            let more = other.cells.store.get(place);
            if more > 0 {
                self.cells.store.add(place, more);
            }
        }
        Ok(())
    }

    fn alike(settings: &SpectralSettings, other: &SpectralSettings) -> Result<()> {
        settings.complete()?.alike(&other.complete()?)
    }
}

impl Spectral {
    /// A filter of `counters` counters, of which a key has `hashes`: minimum selection, 16 bits per counter.
    ///
    /// ```
    /// use bouquet::Spectral;
    /// assert_eq!(Spectral::with_size(10_000, 5)?.settings().hashes, Some(5));
    /// assert!(Spectral::with_size(10_000, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(counters: u64, hashes: u32) -> Result<Self> {
        Self::with(SpectralSettings { counters: Some(counters), hashes: Some(hashes), ..Default::default() })
    }

    /// Those of some keys that are in at least `threshold` times: all of them under `ms` and `mi`, and few others.
    ///
    /// ```
    /// use bouquet::Spectral;
    /// let mut filter = Spectral::with_rate(1_000, 0.01)?;
    /// filter.add("rose", 30);
    /// filter.add("lily", 3);
    /// assert_eq!(filter.heavy(["rose", "lily", "iris"], 10), ["rose"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn heavy<K: Key>(&self, candidates: impl IntoIterator<Item = K>, threshold: u64) -> Vec<K> {
        candidates.into_iter().filter(|key| self.count(key).count >= threshold).collect()
    }
}

/// The least counter of a digest, and whether it recurs: in another place.
#[inline]
fn minimum(cells: &CounterArray<Cells>, digest: Digest) -> (u64, bool) {
    let (mut least, mut at, mut recurs) = (u64::MAX, u64::MAX, false);
    let mut places = cells.places.of(digest);
    cells.store.read_each(cells.places.of(digest), |counter| {
        let place = places.next();
        if counter < least {
            (least, at, recurs) = (counter, place.unwrap_or(0), false);
        } else if counter == least {
            recurs |= place != Some(at);
        }
    });
    (least, recurs)
}

#[cfg(test)]
mod tests;
