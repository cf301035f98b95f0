#![doc = include_str!("foreign_bits.md")]

use super::program::{Parsed, Shape};
use super::rows::is_native;
use crate::capability::{Estimate, NoteType, Overlap};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Stats, Text, common, kind};
use crate::shell::{
    ByRate, Choice, Fields, Filter, Gauge, Hashed, Mechanism, Meet, Put, Settings, Test, Unite, fields,
};
use crate::store::{BitStore, Words};
use crate::theory::{algebra, check_bits, spread, standard};

pub use super::program::Program;

/// The registry's row.
pub const KIND: Kind = kind!(ForeignBits);

/// A plain Bloom filter as another program has it.
///
/// ```
/// use bouquet::foreign::{ForeignBits, ForeignBitsSettings, Program};
/// let settings = ForeignBitsSettings { program: Some(Program::Guava), items: Some(1_000), ..Default::default() };
/// let mut flowers = ForeignBits::with(settings)?;
/// flowers.insert("rose");
/// let file = flowers.to_foreign()?; // what `BloomFilter.readFrom` takes
/// assert_eq!(ForeignBits::from_guava(&file)?.contains("rose"), true);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type ForeignBits = Filter<ForeignArray>;

const PROGRAM: Parameter =
    Parameter::choice("program", "whose filter it is: hash, positions and files are that program's", Program::WORDS);
const SALT: Parameter = Parameter::count("salt", SALT_HELP, 0, u64::MAX).or(0);
const SALT_HELP: &str = "the seed of spark and datasketches, the tweak of bip37, what the seeds of pybloomfiltermmap follow from; 0 for others";
const FLAGS: Parameter =
    Parameter::count("flags", "what bip37 says of updates, the bits per entry of squid; 0 for others", 0, 255).or(0);

/// The settings of a filter of another program.
///
/// ```
/// use bouquet::foreign::{ForeignBits, ForeignBitsSettings, Program};
/// let asked = ForeignBitsSettings { program: Some(Program::Go), bits: Some(9_077), hashes: Some(5), ..Default::default() };
/// assert_eq!(ForeignBits::with(asked)?.settings().bits, Some(9_077));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignBitsSettings {
    /// Distinct keys that the filter is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many.
    pub fpr: Option<f64>,
    /// Bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Whose filter it is.
    pub program: Option<Program>,
    /// The seed or tweak of those that have one.
    pub salt: Option<u64>,
    /// What BIP 37 says of updates, the bits per entry of Squid.
    pub flags: Option<u8>,
}

impl Settings for ForeignBitsSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        program: PROGRAM,
        salt: SALT,
        flags: FLAGS,
    ];
}

impl ByRate for ForeignBitsSettings {}

impl ForeignBitsSettings {
    /// The shape, with the sizes that the program itself would take where none are given.
    fn shape(&self) -> Result<Shape> {
        let (program, salt) = (self.program.unwrap_or_default(), SALT.need(self.salt)?);
        let fpr = common::FPR.need(self.fpr)?;
        let limited = |name: &str, value: u64, most: u64| {
            let of = program.word();
            if value <= most {
                Ok(())
            } else {
                Err(Error::parameter(name, format!("at most {most} for `{of}`"), value))
            }
        };
        limited("salt", salt, program.most_salt())?;
        let flags = FLAGS.need(self.flags)?;
        limited("flags", flags.into(), program.most_flags().into())?;
        let bits = match (self.bits, self.items) {
            (Some(bits), _) => bits,
            (None, Some(items)) => {
                check_bits(items as f64 * standard::optimal_bits_per_key(fpr))?;
                program.bits_for(items, fpr)
            }
            (None, None) => return Err(Error::parameter("items", "given, or `bits` and `hashes`", "not given")),
        };
        limited("bits", bits, program.most_bits())?;
        let bits = bits.max(1).next_multiple_of(program.unit());
        let hashes = match (self.hashes, self.items) {
            (Some(hashes), _) => hashes,
            (None, Some(items)) => program.hashes_for(bits, items, fpr),
            (None, None) => return Err(Error::parameter("hashes", "given with `bits`, or `items`", "not given")),
        };
        limited("hashes", hashes.into(), program.most_hashes().into())?;
        let least = program.least_hashes();
        if hashes < least {
            return Err(Error::parameter("hashes", format!("{least} for `{}`", program.word()), hashes));
        }
        let bits = if program.is_sliced() { bits.next_multiple_of(hashes.max(1).into()) } else { bits };
        Ok(Shape { program, bits, hashes, salt, flags })
    }
}

/// Bits as another program sets them.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignArray {
    shape: Shape,
    bits: BitStore,
    /// The seeds of the positions, for a program whose files have them.
    seeds: Vec<u32>,
    /// Insertions that set a bit, which is what pybloom-live counts.
    new_keys: u64,
    /// Whether keys are hashed as the program does; a seed or a secret gives other digests, which it cannot ask for.
    is_native: bool,
}

impl Mechanism for ForeignArray {
    const FACTS: Facts = Facts {
        id: "foreign-bits",
        number: 320,
        aliases: &["guava"],
        family: "foreign",
        text: Text::new(include_str!("foreign_bits.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;

    const IN_PLACE: bool = true;

    type Settings = ForeignBitsSettings;

    fn resolve(asked: &ForeignBitsSettings) -> Result<ForeignBitsSettings> {
        let Shape { program, bits, hashes, salt, flags } = asked.shape()?;
        Ok(ForeignBitsSettings {
            bits: Some(bits),
            hashes: Some(hashes),
            program: Some(program),
            salt: Some(salt),
            flags: Some(flags),
            ..asked.clone()
        })
    }

    fn plan(settings: &ForeignBitsSettings) -> Result<Plan> {
        let Shape { bits, hashes, .. } = settings.shape()?;
        let fpr = settings.items.map(|items| standard::expected_rate(bits, items, hashes));
        Ok(Plan { bits, hashes, items: settings.items, fpr })
    }

    fn empty(settings: &ForeignBitsSettings, hashing: &Hashing) -> Result<Self> {
        let shape = settings.shape()?;
        let (seeds, is_native) = (shape.seeds(), is_native(hashing));
        Ok(ForeignArray { shape, bits: BitStore::zeroed(shape.bits)?, seeds, new_keys: 0, is_native })
    }

    fn emptied(&self, _: &ForeignBitsSettings, _: &Hashing) -> Result<Self> {
        // The seeds of a file stay.
        let bits = BitStore::zeroed(self.shape.bits)?;
        Ok(ForeignArray { bits, seeds: self.seeds.clone(), new_keys: 0, ..*self })
    }

    fn domain(settings: &ForeignBitsSettings) -> String {
        let &ForeignBitsSettings { bits, hashes, program, salt, .. } = settings;
        let program = program.unwrap_or_default().word();
        format!("foreign-bits {program} {} {} {}", bits.unwrap_or(0), hashes.unwrap_or(0), salt.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let Shape { bits, hashes, .. } = self.shape;
        let fill = self.bits.fill();
        let (mean, variance) = (spread::ones(bits, items, hashes), spread::ones_variance(bits, items, hashes));
        Stats {
            items,
            bits,
            hashes,
            fill: Some(fill),
            fpr: Some(fill.powi(hashes as i32)),
            honest_fill: Some((mean + 8.0 * variance.sqrt()) / bits as f64),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = standard::expected_rate(self.shape.bits, items, self.shape.hashes);
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: the items; the new keys for pybloom-live; the seeds for pybloomfiltermmap. Stores: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u64(items);
        if self.shape.program == Program::PybloomLive {
            state.u64(self.new_keys);
        }
        self.seeds.iter().for_each(|seed| state.u32(*seed));
        encoder.bits(&self.bits);
    }

    fn decode(settings: &ForeignBitsSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (is_native, shape) = (is_native(decoder.config().hashing()), settings.shape()?);
        let mut seeds = shape.seeds();
        let state = decoder.state();
        let items = state.u64()?;
        let new_keys = if shape.program == Program::PybloomLive { state.u64()? } else { 0 };
        for seed in &mut seeds {
            *seed = state.u32()?;
        }
        Ok((ForeignArray { shape, bits: decoder.bits(shape.bits)?, seeds, new_keys, is_native }, items))
    }
}

/// Visits the positions of a key as long as `visit` says so; whether it did for all.
#[inline]
fn all(shape: &Shape, seeds: &[u32], is_native: bool, key: Hashed<'_>, visit: impl FnMut(u64) -> bool) -> bool {
    if is_native {
        shape.all(key.bytes, seeds, visit)
    } else {
        shape.all_of_digest((key.digest.h1, key.digest.h2), visit)
    }
}

impl Test for ForeignArray {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        all(&self.shape, &self.seeds, self.is_native, key, |position| self.bits.get(position))
    }
}

impl Put for ForeignArray {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let (bits, mut fresh) = (&mut self.bits, false);
        all(&self.shape, &self.seeds, self.is_native, key, |position| {
            fresh |= bits.set(position);
            true
        });
        self.new_keys += u64::from(fresh && self.shape.program == Program::PybloomLive);
        fresh
    }
}

impl Unite for ForeignArray {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.same_seeds(other)?;
        self.new_keys = self.new_keys.saturating_add(other.new_keys);
        self.bits.or(&other.bits)
    }
}

impl Meet for ForeignArray {
    fn meet(&mut self, other: &Self) -> Result<()> {
        self.same_seeds(other)?;
        self.new_keys = self.new_keys.min(other.new_keys);
        self.bits.and(&other.bits)
    }
}

impl Gauge for ForeignArray {
    fn gauge(&self) -> Estimate {
        estimate(&self.bits, &self.shape)
    }

    fn compare(&self, other: &Self) -> Result<Overlap> {
        self.same_seeds(other)?;
        let mut both = self.bits.clone();
        both.or(&other.bits)?;
        let Shape { bits, hashes, .. } = self.shape;
        let error = |keys: f64| algebra::cardinality_error(bits, hashes, keys);
        Ok(Overlap::of(self.gauge(), other.gauge(), estimate(&both, &self.shape), error))
    }
}

impl ForeignArray {
    /// Refuses a filter whose file had other seeds.
    fn same_seeds(&self, other: &Self) -> Result<()> {
        if self.seeds == other.seeds {
            return Ok(());
        }
        Err(Error::parameter("seeds", format!("{:?}", self.seeds), format!("{:?}", other.seeds)))
    }
}

fn estimate(bits: &BitStore, shape: &Shape) -> Estimate {
    Estimate::from_zeros(bits.len() - bits.count_ones(), shape.bits, shape.hashes)
}

/// A file without its bits, as DataSketches writes an empty filter, may ask for no more bytes than this.
const MOST_UNWRITTEN: u64 = 1 << 28;

impl ForeignBits {
    fn parsed(parsed: Result<Parsed>) -> Result<Self> {
        let mut parsed = parsed?.checked()?;
        let words = parsed.words(MOST_UNWRITTEN)?;
        let shape = parsed.shape;
        let stray = || Error::corrupt("the bits behind the last", "zeros", "ones");
        let bits = BitStore::from_words(Words::copied(&words)?, shape.bits).ok_or_else(stray)?;
        let settings = ForeignBitsSettings {
            items: parsed.made_for.map(|(items, _)| items),
            fpr: parsed.made_for.map(|(_, rate)| rate),
            bits: Some(shape.bits),
            hashes: Some(shape.hashes),
            program: Some(shape.program),
            salt: Some(shape.salt),
            flags: Some(shape.flags),
        };
        settings.check()?;
        // Most programs do not say how many keys they have put in.
        let items = parsed.items.unwrap_or_else(|| estimate(&bits, &shape).keys.round() as u64);
        // Those of a file are its own, or follow from the salt, which is 0 for a file.
        let seeds = parsed.seeds;
        let new_keys = if shape.program == Program::PybloomLive { items } else { 0 };
        let array = ForeignArray { shape, bits, seeds, new_keys, is_native: true };
        Ok(Self::of_parts(array, settings, &Hashing::default(), items))
    }

    /// Reads what Guava's `BloomFilter.writeTo` wrote, of either strategy.
    pub fn from_guava(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::guava(bytes))
    }

    /// Reads what Spark's `BloomFilter.writeTo` wrote, of version 1 or 2.
    pub fn from_spark(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::spark(bytes))
    }

    /// Reads what Hadoop's `BloomFilter.write` wrote, with either hash function.
    pub fn from_hadoop(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::hadoop(bytes))
    }

    /// Reads what `WriteTo` of Go's bits-and-blooms wrote.
    pub fn from_go(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::go(bytes))
    }

    /// Reads what `BloomFilter.export` of pyprobables wrote.
    pub fn from_pyprobables(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::pyprobables(bytes))
    }

    /// Reads what `BloomFilter.toByteArray` of Apache DataSketches gave.
    pub fn from_datasketches(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::datasketches(bytes))
    }

    /// Reads the body of a `filterload` message of BIP 37.
    pub fn from_bip37(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::bip37(bytes))
    }

    /// Reads a cache digest as Squid serves it, with its header. One that Squid would not take, such as one that is too full, is refused.
    pub fn from_squid(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::squid(bytes))
    }

    /// Reads what `Bloom.save` of rbloom wrote, with the hash that its documentation proposes.
    pub fn from_rbloom(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::rbloom(bytes))
    }

    /// Reads what `BloomFilter.tofile` of pybloom-live wrote.
    pub fn from_pybloom_live(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::pybloom_live(bytes))
    }

    /// Reads a file of pybloomfiltermmap3.
    pub fn from_pybloomfiltermmap(bytes: &[u8]) -> Result<Self> {
        Self::parsed(Parsed::pybloomfiltermmap(bytes))
    }

    /// The file that the filter's program reads. Refuses a filter with a seed or a secret of ours, whose keys it would not find.
    pub fn to_foreign(&self) -> Result<Vec<u8>> {
        let ForeignArray { shape, bits, seeds, new_keys, is_native } = &self.mechanism;
        if !is_native {
            let expected = format!("without a seed and without a secret, as that of `{}` is", shape.program.word());
            return Err(Error::parameter("hashing", expected, "another"));
        }
        let made_for = self.settings.items.zip(self.settings.fpr.or(Some(0.01)));
        let items = if shape.program == Program::PybloomLive { *new_keys } else { self.items() };
        shape.write(bits.words(), seeds, made_for, items)
    }

    /// Whose filter it is.
    ///
    /// ```
    /// use bouquet::foreign::{ForeignBits, Program};
    /// assert_eq!(ForeignBits::with_rate(100, 0.01)?.program(), Program::Guava);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn program(&self) -> Program {
        self.mechanism.shape.program
    }
}
