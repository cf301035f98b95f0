#![doc = include_str!("partitioned_hashing.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, fastrange};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::parts::bit_array::{self, BitArray, flat_places};
use crate::parts::chosen::{self, digests, in_family};
use crate::shell::{Choice, Far, Fields, Filter, Gather, Hashed, Mechanism, Settings, Test, choices, fields};
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::selection::{Grouped, select, subsets};

/// The registry's row.
pub const KIND: Kind = kind!(PartitionedHashing);

/// A Bloom filter whose groups of keys have hash functions that suit them.
///
/// ```
/// use bouquet::PartitionedHashing;
/// let filter = PartitionedHashing::with_rate(0.01, (0..2_000u64).collect::<Vec<_>>())?;
/// assert!((0..2_000u64).all(|key| filter.contains(&key)));
/// assert!(filter.stats().bits < 19_173, "what a standard filter takes");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type PartitionedHashing = Filter<GroupedBits>;

/// What a group chooses among.
///
/// ```
/// use bouquet::{PartitionedHashing, PartitionedHashingSettings, hash::Hashing};
/// use bouquet::membership::partitioned_hashing::FamilyChoice;
/// let choice = Some(FamilyChoice::Subsets);
/// let settings = PartitionedHashingSettings { bits: Some(8_000), hashes: Some(6), choice, ..Default::default() };
/// let filter = PartitionedHashing::from_keys(&settings, &Hashing::default(), (0..1_000u64).collect::<Vec<_>>())?;
/// assert!((0..1_000u64).all(|key| filter.contains(&key)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyChoice {
    /// Seeds, each with k functions of its own.
    Seeds,
    /// k of a few functions that all groups share.
    Subsets,
}

choices!(FamilyChoice { Seeds = "seeds", Subsets = "subsets" });

const BITS: Parameter =
    Parameter { help: "size in bits, with the table of families, instead of a rate", ..common::BITS };
const GROUP: Parameter = Parameter::count("group", "keys per group, on average", 1, 1 << 20).or(8);
const FAMILIES: Parameter = Parameter::count("families", "hash families that are tried for a group", 1, 1 << 10).or(64);
const CHOICE: Parameter = Parameter::choice(
    "choice",
    "what a group chooses among: seeds, each with functions of its own; or subsets, k of a few functions that all groups share",
    FamilyChoice::WORDS,
);
const PASSES: Parameter = Parameter::count("passes", "times that all groups choose again", 0, 8).or(3);

/// The settings of a filter of groups.
///
/// ```
/// use bouquet::{PartitionedHashing, PartitionedHashingSettings, hash::Hashing};
/// let settings = PartitionedHashingSettings { bits: Some(8_000), hashes: Some(6), ..Default::default() };
/// let filter = PartitionedHashing::from_keys(&settings, &Hashing::default(), (0..1_000u64).collect::<Vec<_>>())?;
/// assert_eq!(filter.stats().bits, 8_000, "125 families of 6 bits, and the vector");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionedHashingSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Size in bits, with the table.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Keys per group.
    pub group: Option<u64>,
    /// Families that are tried for a group.
    pub families: Option<u32>,
    /// What families are.
    pub choice: Option<FamilyChoice>,
    /// Times that all groups choose again.
    pub passes: Option<u32>,
}

impl Settings for PartitionedHashingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: BITS,
        hashes: common::HASHES,
        group: GROUP,
        families: FAMILIES,
        choice: CHOICE,
        passes: PASSES,
    ];
}

/// The shape that settings describe.
fn shape(settings: &PartitionedHashingSettings) -> Result<Grouped> {
    let items = common::ITEMS.need(settings.items)?;
    let (group, families, passes): (u64, u32, u32) =
        (GROUP.need(settings.group)?, FAMILIES.need(settings.families)?, PASSES.need(settings.passes)?);
    let subsets = CHOICE.need(settings.choice)? == FamilyChoice::Subsets;
    let Some(bits) = settings.bits else {
        let found = Grouped::for_rate(items, common::FPR.need(settings.fpr)?, group, families, passes, subsets)?;
        return Ok(Grouped { hashes: settings.hashes.unwrap_or(found.hashes), ..found });
    };
    let mut shape = Grouped { bits, hashes: 1, groups: items.div_ceil(group), families, passes, subsets };
    shape.bits = bits.checked_sub(shape.table_bits()).filter(|&bits| bits > 0).ok_or_else(|| {
        Error::parameter("bits", format!("more than the {} of the table of families", shape.table_bits()), bits)
    })?;
    let best = || (0.8 * shape.bits as f64 / items as f64).round().clamp(1.0, 64.0) as u32;
    shape.hashes = settings.hashes.unwrap_or_else(best);
    Ok(shape)
}

/// One vector of bits for all groups, and the family of each.
///
/// With `choice=subsets` function i of a key gives the position of the word `digest.derive(i + 1).h1` by fastrange.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedBits {
    shape: Grouped,
    array: BitArray,
    /// None where there is but one family.
    table: Option<Counters>,
    /// The functions of each family, where they are shared; else none.
    subsets: Vec<Vec<u32>>,
}

/// The empty table of a shape.
fn table(shape: &Grouped) -> Result<Option<Counters>> {
    let width = (shape.table_bits() / shape.groups) as u32;
    (width > 0).then(|| Counters::zeroed(shape.groups, width)).transpose()
}

impl GroupedBits {
    #[inline]
    fn group(&self, digest: Digest) -> u64 {
        fastrange(digest.derive(0).h1, self.shape.groups)
    }

    /// Nothing in this shape, with that table.
    fn of(shape: Grouped, array: BitArray, table: Option<Counters>) -> Self {
        let subsets = if shape.subsets { subsets(shape.hashes, shape.families) } else { Vec::new() };
        GroupedBits { shape, array, table, subsets }
    }

    /// The family of a key's group.
    #[inline]
    fn family(&self, digest: Digest) -> u64 {
        self.table.as_ref().map_or(0, |table| table.get(self.group(digest)))
    }

    /// Visits the positions of a key in a family until `visit` answers false, and says whether it never did.
    #[inline]
    fn all(&self, digest: Digest, family: u64, mut visit: impl FnMut(u64) -> bool) -> bool {
        // Tables of damaged frames may name families that there are not.
        match self.subsets.get(family as usize).or(self.subsets.first()) {
            Some(functions) => {
                let place = |&i: &u32| fastrange(digest.derive(u64::from(i) + 1).h1, self.shape.bits);
                functions.iter().map(place).all(visit)
            }
            None => self.array.places.all(in_family(digest, family), &mut visit),
        }
    }
}

impl Mechanism for GroupedBits {
    const FACTS: Facts = Facts {
        id: "partitioned-hashing",
        number: 13,
        aliases: &["high-accuracy Bloom filter"],
        family: "membership",
        text: Text::new(include_str!("partitioned_hashing.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    type Settings = PartitionedHashingSettings;

    fn resolve(asked: &PartitionedHashingSettings) -> Result<PartitionedHashingSettings> {
        let shape = shape(asked)?;
        flat_places(shape.bits, shape.hashes)?;
        Ok(PartitionedHashingSettings {
            bits: Some(shape.bits + shape.table_bits()),
            hashes: Some(shape.hashes),
            group: Some(GROUP.need(asked.group)?),
            families: Some(shape.families),
            passes: Some(shape.passes),
            ..asked.clone()
        })
    }

    fn plan(settings: &PartitionedHashingSettings) -> Result<Plan> {
        let (shape, items) = (shape(settings)?, settings.items);
        let fpr = items.map(|items| shape.rate(items));
        Ok(Plan { bits: shape.bits + shape.table_bits(), hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &PartitionedHashingSettings, _: &Hashing) -> Result<Self> {
        let shape = shape(settings)?;
        let array = BitArray::zeroed(flat_places(shape.bits, shape.hashes)?)?;
        Ok(Self::of(shape, array, table(&shape)?))
    }

    fn domain(settings: &PartitionedHashingSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        chosen::stats(&self.array, self.shape.table_bits(), items, 1)
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "bits of the table of families", value: Setting::Count(self.shape.table_bits()) }]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.shape.rate(items)), ..Rates::default() }
    }

    /// State: items. Stores: the bits, and the families as words.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.bits(&self.array.bits);
        if let Some(table) = &self.table {
            encoder.words(table.words());
        }
    }

    fn decode(settings: &PartitionedHashingSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = shape(settings)?;
        let places = flat_places(shape.bits, shape.hashes)?;
        let items = decoder.state().u64()?;
        let array = BitArray { places, bits: decoder.bits(shape.bits)? };
        let width = (shape.table_bits() / shape.groups) as u32;
        let table = if width > 0 { Some(decoder.cells(shape.groups, width)?) } else { None };
        Ok((Self::of(shape, array, table), items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.array.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        if self.subsets.is_empty() {
            return self.array.prefetch(in_family(digest, self.family(digest)));
        }
        self.all(digest, self.family(digest), |place| {
            prefetch(self.array.bits.words(), (place / 64) as usize);
            true
        });
    }
}

impl Test for GroupedBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let family = self.family(key.digest);
        if self.subsets.is_empty() {
            return self.array.all_set(in_family(key.digest, family));
        }
        self.all(key.digest, family, |place| self.array.bits.get(place))
    }
}

impl Gather for GroupedBits {
    /// The number of groups follows from that of the keys.
    const SIZES: &'static [&'static str] = &[];

    fn gather<K: Key>(
        asked: &PartitionedHashingSettings,
        hashing: &Hashing,
        keys: &[K],
        _: &[K],
    ) -> Result<(PartitionedHashingSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let mut filter = Self::empty(&settings, hashing)?;
        let mut digests = digests(&Self::hashing(&settings, hashing), keys);
        digests.sort_by_key(|&digest| filter.group(digest));
        let shape = filter.shape;
        let mut starts = vec![0usize; shape.groups as usize + 1];
        digests.iter().for_each(|&digest| starts[filter.group(digest) as usize + 1] += 1);
        (0..shape.groups as usize).for_each(|group| starts[group + 1] += starts[group]);
        let positions = |key: usize, family: u32, out: &mut Vec<u64>| {
            filter.all(digests[key], family.into(), |place| {
                out.push(place);
                true
            });
        };
        let selection = select(shape.bits, &starts, shape.families, shape.passes, positions);
        if let Some(table) = &mut filter.table {
            (0..).zip(&selection.families).for_each(|(group, &family)| table.set(group, family.into()));
        }
        let mut places = Vec::new();
        for &digest in &digests {
            places.clear();
            filter.all(digest, filter.family(digest), |place| {
                places.push(place);
                true
            });
            places.iter().for_each(|&place| _ = filter.array.bits.set(place));
        }
        Ok((settings, filter, digests.len() as u64))
    }
}

impl PartitionedHashing {
    /// The filter of these keys at this rate.
    ///
    /// ```
    /// use bouquet::PartitionedHashing;
    /// let filter = PartitionedHashing::with_rate(0.001, ["rose", "lily"])?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate<K: Key>(fpr: f64, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let settings = PartitionedHashingSettings { fpr: Some(fpr), ..Default::default() };
        Self::from_keys(&settings, &Hashing::default(), keys)
    }

    /// The filter of these keys in `bits` bits, the table of families included, with `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::PartitionedHashing;
    /// let filter = PartitionedHashing::with_size(1_000, 6, (0..100u64).collect::<Vec<_>>())?;
    /// assert_eq!(filter.stats().bits, 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size<K: Key>(bits: u64, hashes: u32, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let settings = PartitionedHashingSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() };
        Self::from_keys(&settings, &Hashing::default(), keys)
    }
}

#[cfg(test)]
mod tests;
