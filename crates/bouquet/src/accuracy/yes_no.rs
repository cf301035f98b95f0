#![doc = include_str!("yes_no.md")]

mod search;

use crate::capability::{NoteType, Verdict};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, probes};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::parts::bit_array::{BitArray, flat_places};
use crate::parts::chosen::{in_family, members_and_strangers};
use crate::shell::{ByRate, Code, Decide, Fields, Filter, Gather, Hashed, Mechanism, Settings, Test, fields};
use crate::store::BitStore;
use crate::theory::{special, standard, witnesses};
use search::Assignment;

/// The registry's row.
pub const KIND: Kind = kind!(YesNo);

/// A small filter with others that take known false positives back.
///
/// ```
/// use bouquet::{YesNo, YesNoSettings, hash::Hashing};
/// let header = YesNoSettings { bits: Some(256), ..Default::default() };
/// let (route, links): (Vec<u64>, Vec<u64>) = ((0..20).collect(), (100..600).collect());
/// let filter = YesNo::from_keys_and_absent(&header, &Hashing::default(), route.clone(), links.clone())?;
/// assert!(route.iter().all(|link| filter.contains(link)), "no member is ever refused");
/// assert!(links.iter().filter(|link| filter.contains(*link)).count() <= filter.plain_false_positives() as usize);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type YesNo = Filter<YesAndNo>;

const BITS: Parameter =
    Parameter { help: "size in bits of all filters and of the seed, instead of a rate", ..common::BITS };
const HASHES: Parameter =
    Parameter { help: "positions per key in the yes-filter; the best number when not given", ..common::HASHES };
const NO_FILTERS: Parameter =
    Parameter::count("no-filters", "no-filters; searched for with their sizes when not given, 0 for none", 0, 16);
const NO_BITS: Parameter =
    Parameter::count("no-bits", "bits of a no-filter; 8, 16 or 32 are tried when not given", 2, 64);
const NO_HASHES: Parameter =
    Parameter::count("no-hashes", "positions per key in a no-filter; 3 to 8 are tried when not given", 1, 16);
const SEED_BITS: Parameter =
    Parameter::count("seed-bits", "bits of a seed that is stored; the best of as many hashings is taken", 0, 8).or(0);
const MOVES: Parameter =
    Parameter::count("moves", "how many exchanges the search may try after the greedy choice", 0, 1 << 20).or(100);

/// The sizes of no-filters that are tried.
const TRIED_BITS: [u32; 3] = [8, 16, 32];
const TRIED_HASHES: [u32; 6] = [3, 4, 5, 6, 7, 8];
const TRIED_FILTERS: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// The no-filters that are made when nothing is known that they could take back.
const USUAL_BITS: u32 = 16;
const USUAL_HASHES: u32 = 4;

/// No search goes through more pairs of a member and a false positive: with more than that the no-filters stay empty.
const MOST_PAIRS: usize = 4_000_000;

/// Mixed into digests for the pattern in no-filters.
const NO: u64 = 1;

/// The settings of a yes-no filter.
///
/// ```
/// use bouquet::{YesNo, YesNoSettings};
/// let settings = YesNoSettings { items: Some(20), bits: Some(256), no_filters: Some(3), ..Default::default() };
/// let filter = YesNo::with(settings)?;
/// assert_eq!((filter.settings().no_bits, filter.stats().bits), (Some(16), 256));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct YesNoSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys, of those that are not known.
    pub fpr: Option<f64>,
    /// Size in bits of everything.
    pub bits: Option<u64>,
    /// Positions per key in the yes-filter.
    pub hashes: Option<u32>,
    /// The number of no-filters.
    pub no_filters: Option<u32>,
    /// Bits of a no-filter.
    pub no_bits: Option<u32>,
    /// Positions per key in a no-filter.
    pub no_hashes: Option<u32>,
    /// Bits of the seed.
    pub seed_bits: Option<u32>,
    /// Exchanges that the search may try.
    pub moves: Option<u64>,
}

impl Settings for YesNoSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: BITS,
        hashes: HASHES,
        no_filters: NO_FILTERS,
        no_bits: NO_BITS,
        no_hashes: NO_HASHES,
        seed_bits: SEED_BITS,
        moves: MOVES,
    ];

    const DESIGN: &'static [&'static str] = &["items", "fpr", "moves"];
}

impl ByRate for YesNoSettings {}

/// The sizes of all filters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    yes: u64,
    hashes: u32,
    filters: u32,
    no_bits: u32,
    no_hashes: u32,
    seed_bits: u32,
}

impl Shape {
    fn of(settings: &YesNoSettings) -> Result<Self> {
        let (filters, no_bits) = (settings.no_filters.unwrap_or(0), settings.no_bits.unwrap_or(USUAL_BITS));
        let (no_hashes, seed_bits) = (settings.no_hashes.unwrap_or(USUAL_HASHES), SEED_BITS.need(settings.seed_bits)?);
        let beside = u64::from(filters) * u64::from(no_bits) + u64::from(seed_bits);
        let yes = match settings.bits {
            Some(bits) => Some(bits.checked_sub(beside).filter(|&yes| yes > 0).ok_or_else(|| {
                Error::parameter("bits", format!("more than the {beside} of no-filters and seed"), bits)
            })?),
            None => None,
        };
        let size = common::size_of(settings.items, settings.fpr, yes, settings.hashes, "bits")?;
        flat_places(size.bits, size.hashes)?;
        Ok(Shape { yes: size.bits, hashes: size.hashes, filters, no_bits, no_hashes, seed_bits })
    }

    fn bits(&self) -> u64 {
        self.yes + u64::from(self.filters) * u64::from(self.no_bits) + u64::from(self.seed_bits)
    }

    fn settings(&self, asked: &YesNoSettings) -> YesNoSettings {
        YesNoSettings {
            bits: Some(self.bits()),
            hashes: Some(self.hashes),
            no_filters: Some(self.filters),
            no_bits: Some(self.no_bits),
            no_hashes: Some(self.no_hashes),
            seed_bits: Some(self.seed_bits),
            moves: asked.moves.or_else(|| MOVES.need(None).ok()),
            ..asked.clone()
        }
    }

    /// The bits that a key has in every no-filter.
    #[inline]
    fn no_pattern(&self, digest: Digest) -> u64 {
        let positions = probes(digest.derive(NO), self.no_bits.into(), self.no_hashes);
        positions.fold(0, |pattern, position| pattern | 1 << position)
    }
}

/// The yes-filter, behind it the no-filters and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct YesAndNo {
    shape: Shape,
    array: BitArray,
    /// The no-filters, as they are in the store too.
    no: Vec<u64>,
    seed: u64,
    /// Known strangers; how many of them seem to be members, and would in a plain filter of the same size.
    known: u64,
    wrong: u64,
    plain: u64,
}

impl YesAndNo {
    fn new(shape: Shape, bits: BitStore) -> Result<Self> {
        let array = BitArray { places: flat_places(shape.yes, shape.hashes)?, bits };
        let mut filter = YesAndNo { shape, array, no: Vec::new(), seed: 0, known: 0, wrong: 0, plain: 0 };
        let width = u64::from(shape.no_bits);
        filter.no = (0..u64::from(shape.filters)).map(|i| filter.field(shape.yes + i * width, width)).collect();
        filter.seed = filter.field(shape.bits() - u64::from(shape.seed_bits), shape.seed_bits.into());
        Ok(filter)
    }

    /// The bits from here on, the first the lowest.
    fn field(&self, start: u64, width: u64) -> u64 {
        (0..width).fold(0, |field, bit| field | u64::from(self.array.bits.get(start + bit)) << bit)
    }

    fn set_field(&mut self, start: u64, field: u64) {
        (0..64).filter(|bit| field >> bit & 1 == 1).for_each(|bit| _ = self.array.bits.set(start + bit));
    }

    /// The filter of these members, with no-filters that take back what they can of the strangers.
    fn built(shape: Shape, seed: u64, members: &[Digest], strangers: &[Digest], moves: u64) -> Result<Self> {
        let mut filter = Self::new(shape, BitStore::zeroed(shape.bits())?)?;
        members.iter().for_each(|&member| _ = filter.array.set_all(in_family(member, seed)));
        let own = |digests: &[Digest]| digests.iter().map(|&digest| in_family(digest, seed)).collect::<Vec<_>>();
        let mut positives = own(strangers);
        positives.retain(|&stranger| filter.array.all_set(stranger));
        let pattern = |digest: &Digest| shape.no_pattern(*digest);
        let pairs = positives.len().saturating_mul(members.len());
        let mut suppressed = 0;
        if shape.filters > 0 && pairs <= MOST_PAIRS {
            let patterns = |digests: &[Digest]| digests.iter().map(pattern).collect();
            let mut assignment = Assignment::new(patterns(&own(members)), patterns(&positives), shape.filters as usize);
            assignment.fill();
            assignment.exchange(moves);
            suppressed = assignment.suppressed() as u64;
            filter.no = assignment.filters().to_vec();
        }
        let no = filter.no.clone();
        for (at, field) in (shape.yes..).step_by(shape.no_bits.max(1) as usize).zip(no) {
            filter.set_field(at, field);
        }
        filter.seed = seed;
        filter.set_field(shape.bits() - u64::from(shape.seed_bits), seed);
        (filter.known, filter.wrong) = (strangers.len() as u64, positives.len() as u64 - suppressed);
        Ok(filter)
    }

    /// Whether a no-filter takes the key back.
    #[inline]
    fn refused(&self, digest: Digest) -> bool {
        if self.no.is_empty() {
            return false;
        }
        let pattern = self.shape.no_pattern(digest);
        self.no.iter().any(|no| pattern & !no == 0)
    }
}

impl Mechanism for YesAndNo {
    const FACTS: Facts = Facts {
        id: "yes-no",
        number: 164,
        aliases: &["YNBF", "yes-no Bloom filter"],
        family: "accuracy",
        text: Text::new(include_str!("yes_no.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const KNOWS_ABSENT: bool = true;

    type Settings = YesNoSettings;

    fn resolve(asked: &YesNoSettings) -> Result<YesNoSettings> {
        Ok(Shape::of(asked)?.settings(asked))
    }

    fn plan(settings: &YesNoSettings) -> Result<Plan> {
        let (shape, items) = (Shape::of(settings)?, settings.items);
        let fpr = items.map(|items| standard::expected_rate(shape.yes, items, shape.hashes));
        Ok(Plan { bits: shape.bits(), hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &YesNoSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::of(settings)?;
        Self::new(shape, BitStore::zeroed(shape.bits())?)
    }

    /// Of the bits alone: how they are divided is found by the digests.
    fn domain(settings: &YesNoSettings) -> String {
        format!("{} {}", Self::FACTS.id, settings.bits.unwrap_or(0))
    }

    /// The rate among strangers that are not known; those that are known have figures of their own.
    fn stats(&self, items: u64) -> Stats {
        let shape = self.shape;
        let fill = self.array.bits.count_ones_in(0, shape.yes) as f64 / shape.yes as f64;
        let kept =
            |no: &u64| 1.0 - (f64::from(no.count_ones()) / f64::from(shape.no_bits)).powi(shape.no_hashes as i32);
        let rate = fill.powi(shape.hashes as i32) * self.no.iter().map(kept).product::<f64>();
        Stats { items, bits: shape.bits(), hashes: shape.hashes, fill: Some(fill), fpr: Some(rate), honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let figures = [
            ("known strangers", self.known),
            ("false positives among them", self.wrong),
            ("those of a plain filter", self.plain),
        ];
        figures.map(|(name, count)| Figure { name, value: Setting::Count(count) }).to_vec()
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = standard::expected_rate(self.shape.yes, items, self.shape.hashes);
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: items, known strangers, how many of them are false positives, and how many would be in a plain filter. Store: the
    /// yes-filter, the no-filters, the seed, as bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        [items, self.known, self.wrong, self.plain].iter().for_each(|number| encoder.state().u64(*number));
        encoder.bits(&self.array.bits);
    }

    fn decode(settings: &YesNoSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::of(settings)?;
        let state = decoder.state();
        let [items, known, wrong, plain] = [state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        if wrong > known || plain > known {
            return Err(Error::corrupt(
                "false positives",
                format!("at most {known}, the known strangers"),
                wrong.max(plain),
            ));
        }
        let filter = Self::new(shape, decoder.bits(shape.bits())?)?;
        Ok((YesAndNo { known, wrong, plain, ..filter }, items))
    }
}

impl Test for YesAndNo {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let digest = in_family(key.digest, self.seed);
        self.array.all_set(digest) && !self.refused(digest)
    }
}

impl Decide for YesAndNo {
    /// What is refused is no member. What is accepted is one for certain when no known stranger is accepted.
    #[inline]
    fn decide(&self, key: Hashed<'_>) -> Verdict {
        match (self.test(key), self.wrong) {
            (false, _) => Verdict::Out,
            (true, 0) => Verdict::In,
            (true, _) => Verdict::Undetermined,
        }
    }
}

impl Code for YesAndNo {
    fn entropy_bits(&self) -> f64 {
        self.array.bits.len() as f64 * special::entropy(self.array.bits.fill())
    }
}

impl Gather for YesAndNo {
    fn gather<K: Key>(
        asked: &YesNoSettings,
        hashing: &Hashing,
        keys: &[K],
        absent: &[K],
    ) -> Result<(YesNoSettings, Self, u64)> {
        let mut asked = asked.clone();
        if asked.items.is_none() && (asked.bits.is_none() || asked.hashes.is_none()) {
            asked.items = Some(keys.len().max(1) as u64);
        }
        let first = Shape::of(&asked)?;
        let own = Self::hashing(&first.settings(&asked), hashing);
        let [members, strangers] = members_and_strangers(&own, keys, absent);
        let moves = MOVES.need(asked.moves)?;
        // All shapes are of one size.
        asked.bits = Some(first.bits());
        let plain = Shape::of(&YesNoSettings { no_filters: Some(0), seed_bits: Some(0), ..asked.clone() })?;
        let plain = Self::built(plain, 0, &members, &strangers, 0)?;
        let mut best: Option<Self> = None;
        for shape in shapes(&asked, first, members.len() as u64, plain.wrong > 0) {
            for seed in 0..1 << shape.seed_bits {
                // The exchanges take longer than all else, and are kept for the best.
                let built = Self::built(shape, seed, &members, &strangers, 0)?;
                if best.as_ref().is_none_or(|best| built.wrong < best.wrong) {
                    best = Some(built);
                }
                if best.as_ref().is_some_and(|best| best.wrong == 0) {
                    break;
                }
            }
        }
        let mut best = best.unwrap_or_else(|| plain.clone());
        if best.wrong > 0 && best.shape.filters > 0 {
            best = Self::built(best.shape, best.seed, &members, &strangers, moves)?;
        }
        best.plain = plain.wrong;
        Ok((best.shape.settings(&asked), best, members.len() as u64))
    }
}

/// The shapes that are tried, the plain one first: of equals it is the one that is kept.
fn shapes(asked: &YesNoSettings, first: Shape, members: u64, worthwhile: bool) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let given = |one: Option<u32>, tried: &[u32]| one.map_or_else(|| tried.to_vec(), |one| vec![one]);
    if asked.no_filters.is_none_or(|filters| filters == 0) {
        shapes.push(first);
    }
    if !worthwhile && !shapes.is_empty() {
        return shapes;
    }
    for no_bits in given(asked.no_bits, &TRIED_BITS) {
        for filters in given(asked.no_filters, &TRIED_FILTERS) {
            // A quarter of the bits at most, or the yes-filter loses more than the others gain.
            let beside = u64::from(filters) * u64::from(no_bits);
            if asked.no_filters.is_none() && beside > first.bits() / 4 || filters == 0 {
                continue;
            }
            for no_hashes in given(asked.no_hashes, &TRIED_HASHES) {
                if asked.no_hashes.is_none() && witnesses::patterns(no_bits.into(), members, no_hashes) == 0 {
                    continue;
                }
                let (no_filters, no_bits, no_hashes) = (Some(filters), Some(no_bits), Some(no_hashes));
                shapes.extend(Shape::of(&YesNoSettings { no_filters, no_bits, no_hashes, ..asked.clone() }));
            }
        }
    }
    if shapes.is_empty() {
        shapes.push(first);
    }
    shapes
}

impl YesNo {
    /// A filter of `bits` bits with `hashes` positions per key in the yes-filter, without no-filters: those of keys and strangers are
    /// [built](Filter::from_keys_and_absent).
    ///
    /// ```
    /// use bouquet::YesNo;
    /// assert_eq!(YesNo::with_size(256, 9)?.no_filters(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(YesNoSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// The number of no-filters: 0 when a plain filter of the same size has no more false positives among the known strangers.
    #[must_use]
    pub fn no_filters(&self) -> u32 {
        self.mechanism.shape.filters
    }

    /// False positives among the known strangers.
    ///
    /// ```
    /// use bouquet::{YesNo, YesNoSettings, hash::Hashing};
    /// let settings = YesNoSettings { bits: Some(256), ..Default::default() };
    /// let filter = YesNo::from_keys_and_absent(&settings, &Hashing::default(), 0..20u64, 100..600)?;
    /// assert_eq!(filter.false_positives(), (100..600u64).filter(|key| filter.contains(key)).count() as u64);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn false_positives(&self) -> u64 {
        self.mechanism.wrong
    }

    /// The false positives that a plain filter of the same size has among the known strangers.
    #[must_use]
    pub fn plain_false_positives(&self) -> u64 {
        self.mechanism.plain
    }
}

#[cfg(test)]
mod tests;
