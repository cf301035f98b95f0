#![doc = include_str!("dlb.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::{Digest, Hashing, Probes, Scheme};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::membership::Layout;
use crate::membership::partitioned::{PartitionedSettings, Slices};
use crate::parts::groups;
use crate::shell::{
    Code, Fields, Filter, FromNote, Group, Hashed, Mechanism, Put, Settings, Sort, Test, Unite, fields,
};
use crate::store::BitStore;
use crate::theory::{self, bank};

/// Groups that share k arrays: which hold a key, and which prefixes of an address are known.
///
/// ```
/// use bouquet::{Dlb, shell::Group};
/// let mut routes = Dlb::with_rate(33, 1_000, 0.001)?;
/// routes.insert_with(&[10, 0, 0, 0], Group(8))?;
/// routes.insert_with(&[10, 7, 0, 0], Group(16))?;
/// assert_eq!(routes.lpm(&[10, 7, 3, 1]), [16, 8], "the longest prefix first");
/// assert_eq!(routes.lpm(&[10, 8, 3, 1]), [8]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Dlb = Filter<GroupedArrays>;

/// The registry's row.
pub const KIND: Kind = kind!(Dlb);

const SETS: Parameter = Parameter::count(
    "sets",
    "number of groups; their numbers begin with 0. 33 are the prefix lengths of an IPv4 address, 129 of an IPv6 one",
    1,
    1 << 12,
)
.or(33);
const ITEMS: Parameter = Parameter { help: "memberships in all groups together", ..common::ITEMS };
const FPR: Parameter =
    Parameter { help: "probability that a group reports a key that it does not hold", ..common::FPR };

/// The settings of groups that share arrays.
///
/// ```
/// use bouquet::{Dlb, DlbSettings};
/// let settings = DlbSettings { items: Some(1_000), ..Default::default() };
/// assert_eq!(Dlb::with(settings)?.settings().sets, Some(33), "prefix lengths");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DlbSettings {
    /// The number of groups.
    pub sets: Option<u64>,
    /// Memberships in all groups together.
    pub items: Option<u64>,
    /// The probability that a group reports a key that it does not hold.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Arrays, each with a bit per key.
    pub hashes: Option<u32>,
}

impl Settings for DlbSettings {
    const FIELDS: Fields<Self> = fields![
        sets: SETS,
        items: ITEMS,
        fpr: FPR,
        bits: common::BITS,
        hashes: common::HASHES,
    ];
}

/// Arrays that hold all groups.
///
/// The digest of a key in group i is the derivative `derive(i)` of the key's; its places are those that `partitioned` has
/// with triple hashing and fastrange.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedArrays {
    arrays: Slices,
    groups: u64,
    bits: BitStore,
}

impl GroupedArrays {
    fn arrays(&DlbSettings { items, fpr, bits, hashes, .. }: &DlbSettings) -> Result<Slices> {
        let size = Slices::plan(&PartitionedSettings { items, fpr, bits, hashes, ..Default::default() })?;
        Slices::new(size.bits(), size.hashes(), Scheme::SLICES)
    }

    /// The places of a key in a group, as they lie in their arrays.
    #[inline]
    fn places(&self, digest: Digest, group: u64) -> Probes {
        let (span, arrays) = (self.arrays.slice_bits(), self.arrays.hashes());
        Probes::of_family::<false>(Scheme::SLICES.family, digest.derive(group), span, arrays)
    }

    /// Which of these keys their groups seem to hold, in the same order. All are looked up in the first array, what is left in
    /// the second, and so on.
    fn holders(&self, keys: impl Iterator<Item = (u64, Digest)>) -> Vec<u64> {
        let mut left: Vec<(u64, Probes)> = keys.map(|(group, digest)| (group, self.places(digest, group))).collect();
        for start in (0..self.bits.len()).step_by(self.arrays.slice_bits() as usize) {
            left.retain_mut(|(_, places)| places.next().is_some_and(|place| self.bits.get(start + place)));
        }
        // Collected in place, the few that are left would keep the memory of all.
        let mut holders = Vec::with_capacity(left.len());
        holders.extend(left.iter().map(|(group, _)| *group));
        holders
    }

    /// The probability that any group seems to hold a key, when one does with this.
    fn any(&self, rate: f64) -> f64 {
        -(self.groups as f64 * (-rate).ln_1p()).exp_m1()
    }
}

impl Mechanism for GroupedArrays {
    const FACTS: Facts = Facts {
        id: "dlb",
        number: 26,
        aliases: &["DLB-BF", "distributed and load-balanced"],
        family: "membership",
        text: Text::new(include_str!("dlb.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet],
        note: NoteType::Group,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<Dlb>] = &[
        Special::act(
            "insert-prefix",
            Takes::Item,
            "puts the first bits of the key, as many as the number that comes with it, into the group of that number",
            |filter, item| {
                let item = item.item()?;
                let Group(length) = Group::from_note(item.note)?;
                Ok(Reply::Truth(filter.insert_prefix(item.key, length)?))
            },
        ),
        Special::ask(
            "lpm",
            Takes::Key,
            "the lengths in bits of the key's prefixes that are in the groups of their lengths, the longest first",
            |filter, key| {
                let lengths = filter.lpm(key.key()?).into_iter().map(|length| vec![length.into()]);
                Ok(Reply::Table(&["length"], lengths.collect()))
            },
        ),
        Special::ask("fills", Takes::Nothing, "the share of ones in each array", |filter, _| {
            let GroupedArrays { arrays, bits, .. } = &filter.mechanism;
            let fill =
                |start| bits.count_ones_in(start, start + arrays.slice_bits()) as f64 / arrays.slice_bits() as f64;
            let starts = (0..bits.len()).step_by(arrays.slice_bits() as usize);
            let rows = (0..).zip(starts).map(|(array, start)| vec![Reply::Integer(array), Reply::Real(fill(start))]);
            Ok(Reply::Table(&["array", "fill"], rows.collect()))
        }),
        Special::ask(
            "holds",
            Takes::Item,
            "whether the group that comes with the key seems to hold it",
            |filter, item| {
                let item = item.item()?;
                let Group(group) = Group::from_note(item.note)?;
                Ok(Reply::Truth(filter.contains_in(item.key, group)))
            },
        ),
    ];

    type Settings = DlbSettings;

    fn resolve(asked: &DlbSettings) -> Result<DlbSettings> {
        let arrays = Self::arrays(asked)?;
        let (bits, hashes) = (Some(arrays.bits()), Some(arrays.hashes()));
        Ok(DlbSettings { sets: Some(SETS.need(asked.sets)?), bits, hashes, ..asked.clone() })
    }

    fn plan(settings: &DlbSettings) -> Result<Plan> {
        let empty = GroupedArrays {
            arrays: Self::arrays(settings)?,
            groups: SETS.need(settings.sets)?,
            bits: BitStore::zeroed(0)?,
        };
        let (bits, hashes) = (empty.arrays.bits(), empty.arrays.hashes());
        let fpr = settings.items.and_then(|items| empty.expected(items).false_positive);
        Ok(Plan { bits, hashes, items: settings.items, fpr })
    }

    fn empty(settings: &DlbSettings, _: &Hashing) -> Result<Self> {
        let arrays = Self::arrays(settings)?;
        Ok(GroupedArrays { arrays, groups: SETS.need(settings.sets)?, bits: BitStore::zeroed(arrays.bits())? })
    }

    fn domain(DlbSettings { bits, hashes, .. }: &DlbSettings) -> String {
        crate::parts::bit_array::domain(Self::FACTS.id, *bits, *hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let (mean, deviation) = self.arrays.expected_fill(items);
        Stats {
            items,
            bits: self.bits.len(),
            hashes: self.arrays.hashes(),
            fill: Some(self.bits.fill()),
            fpr: Some(self.any(self.arrays.rate_now(&self.bits))),
            honest_fill: Some(mean + 8.0 * deviation),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = bank::shared_rate(self.arrays.bits(), items, self.arrays.hashes());
        Rates {
            false_positive: Some(self.any(rate)),
            spurious_sets: Some(self.groups as f64 * rate),
            ..Rates::default()
        }
    }

    /// State: the items. Store: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.bits(&self.bits);
    }

    fn decode(settings: &DlbSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let arrays = Self::arrays(settings)?;
        let items = decoder.state().u64()?;
        let (groups, bits) = (SETS.need(settings.sets)?, decoder.bits(arrays.bits())?);
        Ok((GroupedArrays { arrays, groups, bits }, items))
    }
}

impl Test for GroupedArrays {
    /// Whether any group seems to hold the key.
    fn test(&self, key: Hashed<'_>) -> bool {
        !self.sort(key).is_empty()
    }
}

impl Put for GroupedArrays {
    type Note<'a> = Group;
    type Outcome = Result<bool>;

    /// Whether the key was certainly new in its group.
    fn put(&mut self, key: Hashed<'_>, Group(group): Group) -> Result<bool> {
        groups::check(group, self.groups)?;
        let starts = (0..).step_by(self.arrays.slice_bits() as usize);
        let mut fresh = false;
        for (place, start) in self.places(key.digest, group).zip(starts) {
            fresh |= self.bits.set(start + place);
        }
        Ok(fresh)
    }
}

impl Sort for GroupedArrays {
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        self.holders((0..self.groups).map(|group| (group, key.digest)))
    }
}

/// Bit for bit the filter of the union.
impl Unite for GroupedArrays {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.bits.or(&other.bits)
    }
}

impl Code for GroupedArrays {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * theory::special::entropy(self.bits.fill())
    }
}

/// The first `bits` bits of a key, the others zero.
fn prefix(key: &[u8], bits: u64) -> Vec<u8> {
    let mut prefix = key.to_vec();
    for (byte, at) in prefix.iter_mut().zip((0..).step_by(8)) {
        let kept = bits.saturating_sub(at).min(8) as u32;
        *byte &= !(0xFF_u8.checked_shr(kept).unwrap_or(0));
    }
    prefix
}

impl Dlb {
    /// A filter for `items` memberships in `groups` groups together, of whatever sizes, in which each group reports a key that it
    /// does not hold with probability `fpr`.
    ///
    /// ```
    /// use bouquet::Dlb;
    /// assert_eq!(Dlb::with_rate(33, 1_000, 0.01)?.settings().hashes, Some(7));
    /// assert!(Dlb::with_rate(0, 1_000, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(groups: u64, items: u64, fpr: f64) -> Result<Self> {
        let (sets, items, fpr) = (Some(groups), Some(items), Some(fpr));
        Self::with(DlbSettings { sets, items, fpr, ..Default::default() })
    }

    /// A filter of `groups` groups in `hashes` arrays, `bits` bits in all.
    ///
    /// ```
    /// assert_eq!(bouquet::Dlb::with_size(33, 1_000, 7)?.bits().len(), 1_001);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(groups: u64, bits: u64, hashes: u32) -> Result<Self> {
        let (sets, bits, hashes) = (Some(groups), Some(bits), Some(hashes));
        Self::with(DlbSettings { sets, bits, hashes, ..Default::default() })
    }

    /// Whether this group seems to hold the key.
    ///
    /// ```
    /// use bouquet::{Dlb, shell::Group};
    /// let mut groups = Dlb::with_rate(3, 1_000, 0.001)?;
    /// groups.insert_with("rose", Group(1))?;
    /// assert!(groups.contains_in("rose", 1) && !groups.contains_in("rose", 2) && !groups.contains_in("rose", 9));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_in<K: Key + ?Sized>(&self, key: &K, group: u64) -> bool {
        let arrays = &self.mechanism;
        let key = std::iter::once((group, key.digest(&self.hashing)));
        group < arrays.groups && !arrays.holders(key).is_empty()
    }

    /// Puts the first `length` bits of an address into the group of that length.
    ///
    /// ```
    /// use bouquet::Dlb;
    /// let mut routes = Dlb::with_rate(33, 1_000, 0.001)?;
    /// routes.insert_prefix(&[10, 7, 3, 1], 12)?;
    /// assert_eq!(routes.lpm(&[10, 15, 0, 0]), [12], "10.0.0.0/12");
    /// assert!(routes.insert_prefix(&[10, 7, 3, 1], 33).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_prefix(&mut self, address: &[u8], length: u64) -> Result<bool> {
        groups::check(length, self.mechanism.groups.min(8 * address.len() as u64 + 1))?;
        self.insert_with(&prefix(address, length), Group(length))
    }

    /// The lengths of the address's prefixes that seem to be known, the longest first. The first of them that an exact table
    /// confirms is the longest match.
    ///
    /// ```
    /// use bouquet::Dlb;
    /// let mut routes = Dlb::with_rate(33, 1_000, 0.001)?;
    /// routes.insert_prefix(&[0, 0, 0, 0], 0)?;
    /// assert_eq!(routes.lpm(&[192, 168, 1, 1]), [0], "the default route");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn lpm(&self, address: &[u8]) -> Vec<u64> {
        let longest = (8 * address.len() as u64).min(self.mechanism.groups - 1);
        let digest = |length: u64| (length, self.hashing.digest(&prefix(address, length)));
        self.mechanism.holders((0..=longest).rev().map(digest))
    }

    /// The longest prefix of the address that seems to be known and that `verify` confirms, by its length; `verify` gets the prefix and its
    /// length.
    ///
    /// ```
    /// use bouquet::Dlb;
    /// let mut routes = Dlb::with_rate(33, 1_000, 0.001)?;
    /// routes.insert_prefix(&[10, 7, 0, 0], 16)?;
    /// routes.insert_prefix(&[10, 0, 0, 0], 8)?;
    /// assert_eq!(routes.longest_match(&[10, 7, 3, 1], |_, _| true), Some(16));
    /// assert_eq!(routes.longest_match(&[10, 7, 3, 1], |prefix, _| prefix == [10, 0, 0, 0]), Some(8));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn longest_match(&self, address: &[u8], mut verify: impl FnMut(&[u8], u64) -> bool) -> Option<u64> {
        self.lpm(address).into_iter().find(|&length| verify(&prefix(address, length), length))
    }

    /// The store.
    ///
    /// ```
    /// use bouquet::{Dlb, shell::Group};
    /// let mut groups = Dlb::with_size(33, 1_000, 7)?;
    /// groups.insert_with("rose", Group(1))?;
    /// assert_eq!(groups.bits().count_ones(), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.bits
    }
}

#[cfg(test)]
mod tests;
