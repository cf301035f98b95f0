#![doc = include_str!("omass.md")]

use crate::capability::{Estimate, NoteType, Overlap};
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::hash::{Digest, Hashing, fastrange};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, kind};
use crate::parts::groups;
use crate::parts::slices::HashWords;
use crate::shell::{Code, Filter, FromNote, Gauge, Group, Hashed, Mechanism, Put, Sort, Test, Unite};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::{self, blocks, separation};

mod settings;

use settings::Shape;
pub use settings::{OmassSettings, OmassWord};

/// Sets that share words: one memory access tells which hold a key.
///
/// ```
/// use bouquet::{Omass, shell::Group};
/// let mut sets = Omass::with_rate(3, 1_000, 0.001)?;
/// sets.insert_with("rose", Group(0))?;
/// sets.insert_with("rose", Group(2))?;
/// assert_eq!(sets.classify("rose"), [0, 2]);
/// assert!(sets.classify("thistle").is_empty());
/// assert!(sets.insert_with("rose", Group(3)).is_err(), "there is no set 3");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Omass = Filter<SharedWords>;

/// The registry's row.
pub const KIND: Kind = kind!(Omass);

/// Words of sub-blocks in which every set has its own offset.
///
/// A key's word is ⌊h1 l / 2^64⌋. Its places in the sub-blocks are ⌊u b / 2^32⌋ for the halves u, the upper first, of the words
/// that the digest's first derivative gives: its own two, those of its second derivative, its fourth, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedWords {
    shape: Shape,
    bits: BitStore,
}

/// One bit for each set, as many as there can be.
type Mask = [u64; 8];

impl SharedWords {
    /// Where a key's word begins.
    #[inline]
    fn word(&self, digest: Digest) -> u64 {
        fastrange(digest.h1, self.shape.words) * u64::from(self.shape.width)
    }

    /// The places of a key in the sub-blocks.
    #[inline]
    fn bases(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let (mut words, mut word) = (HashWords::new(digest.derive(1)), 0);
        let sub_block = self.shape.sub_block;
        (0..self.shape.hashes).map(move |j| {
            if j % 2 == 0 {
                word = words.draw();
                return ((word >> 32) * sub_block) >> 32;
            }
            ((word & u64::from(u32::MAX)) * sub_block) >> 32
        })
    }

    /// Up to 64 bits from this position on.
    #[inline]
    fn bits_at(&self, at: u64, count: u64) -> u64 {
        let (words, index, shift) = (self.bits.words(), (at / 64) as usize, at % 64);
        let low = words.get(index).map_or(0, |word| word >> shift);
        let high = if shift == 0 { 0 } else { words.get(index + 1).map_or(0, |word| word << (64 - shift)) };
        (low | high) & (u64::MAX >> (64 - count))
    }

    /// The sets that seem to hold a key: each sub-block is turned until set 0 comes first, and what all agree in is left. One word
    /// is read, and no set is looked at by itself.
    #[inline]
    fn holders(&self, digest: Digest) -> Mask {
        let (word, Shape { sub_block, sets, .. }) = (self.word(digest), self.shape);
        let mut holders = [u64::MAX; 8];
        for (base, start) in self.bases(digest).zip((word..).step_by(sub_block as usize)) {
            for (mask, first) in holders.iter_mut().zip((0..sets).step_by(64)) {
                *mask &= self.turned(start, base + first, (sets - first).min(64));
            }
        }
        let used = sets.div_ceil(64) as usize;
        holders[used..].fill(0);
        holders
    }

    /// Up to 64 bits of the sub-block at `start`, from this place on and around its end.
    #[inline]
    fn turned(&self, start: u64, from: u64, count: u64) -> u64 {
        let from = from % self.shape.sub_block;
        let first = count.min(self.shape.sub_block - from);
        let bits = self.bits_at(start + from, first);
        if first == count { bits } else { bits | self.bits_at(start, count - first) << first }
    }

    /// The probability that a key that is in no set has this one, and that it has any, over the words of this very content.
    fn rates_now(&self) -> (f64, f64) {
        let Shape { words, width, sub_block, hashes, sets, .. } = self.shape;
        let (mut one, mut any) = (0.0, 0.0);
        for word in (0..words).map(|word| word * u64::from(width)) {
            let starts = || (0..u64::from(hashes)).map(|j| word + j * sub_block);
            let of_one: f64 = starts().map(|at| self.share_of_pairs(at, 0)).product();
            one += of_one;
            if of_one > 0.0 {
                let pair =
                    |apart| (sets - apart) as f64 * starts().map(|at| self.share_of_pairs(at, apart)).product::<f64>();
                let pairs = (sets * (sets - 1)).max(1) as f64 / 2.0;
                any += separation::any_of(of_one, (1..sets).map(pair).sum::<f64>() / pairs, sets);
            }
        }
        (one / words as f64, any / words as f64)
    }

    /// The share of the places of a sub-block that are one and have a one this far on.
    fn share_of_pairs(&self, start: u64, apart: u64) -> f64 {
        let sub_block = self.shape.sub_block;
        let pairs = (0..sub_block).step_by(64).map(|from| {
            let count = (sub_block - from).min(64);
            (self.bits_at(start + from, count) & self.turned(start, from + apart, count)).count_ones()
        });
        f64::from(pairs.sum::<u32>()) / sub_block as f64
    }

    /// The keys in this content.
    fn keys_in(&self, bits: &BitStore) -> Estimate {
        let used = self.shape.used_bits();
        Estimate::from_blocks(self.shape.theory(), used - bits.count_ones(), used, self.shape.hashes)
    }
}

impl Mechanism for SharedWords {
    const FACTS: Facts = Facts {
        id: "omass",
        number: 22,
        aliases: &["one memory access set separation", "set separation"],
        family: "membership",
        text: Text::new(include_str!("omass.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::SpuriousSet],
        note: NoteType::Group,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<Omass>] = &[Special::ask(
        "holds",
        Takes::Item,
        "whether the set that comes with the key seems to hold it",
        |filter, item| {
            let item = item.item()?;
            let Group(set) = Group::from_note(item.note)?;
            Ok(Reply::Truth(filter.contains_in(item.key, set)))
        },
    )];

    type Settings = OmassSettings;

    fn resolve(asked: &OmassSettings) -> Result<OmassSettings> {
        Ok(Shape::plan(asked)?.settings(asked))
    }

    fn plan(settings: &OmassSettings) -> Result<Plan> {
        let (shape, items) = (Shape::plan(settings)?, settings.items);
        let fpr = items.map(|items| shape.any_rate(items));
        Ok(Plan { bits: shape.bits(), hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &OmassSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::plan(settings)?;
        Ok(SharedWords { shape, bits: BitStore::zeroed(shape.bits())? })
    }

    fn domain(OmassSettings { bits, hashes, .. }: &OmassSettings) -> String {
        crate::parts::bit_array::domain(Self::FACTS.id, *bits, *hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let used = self.shape.used_bits();
        let (mean, deviation) = blocks::fill(self.shape.theory(), used, items, self.shape.hashes);
        Stats {
            items,
            bits: self.bits.len(),
            hashes: self.shape.hashes,
            fill: Some(self.bits.count_ones() as f64 / used as f64),
            fpr: Some(self.rates_now().1),
            honest_fill: Some(mean + 8.0 * deviation),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure { name: "bits of a sub-block", value: Setting::Count(self.shape.sub_block) },
            Figure { name: "false-positive rate of one set", value: Setting::Real(self.rates_now().0) },
        ]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates {
            false_positive: Some(self.shape.any_rate(items)),
            spurious_sets: Some(self.shape.sets as f64 * self.shape.rate(items)),
            ..Rates::default()
        }
    }

    /// State: the items. Store: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.bits(&self.bits);
    }

    fn decode(settings: &OmassSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::plan(settings)?;
        let items = decoder.state().u64()?;
        let bits = decoder.bits(shape.bits())?;
        Ok((SharedWords { shape, bits }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        prefetch(self.bits.words(), (self.word(digest) / 64) as usize);
    }
}

impl Test for SharedWords {
    /// Whether any set seems to hold the key.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.holders(key.digest) != [0; 8]
    }
}

impl Put for SharedWords {
    type Note<'a> = Group;
    type Outcome = Result<bool>;

    /// Whether the key was certainly new in its set.
    fn put(&mut self, key: Hashed<'_>, Group(set): Group) -> Result<bool> {
        groups::check(set, self.shape.sets)?;
        let (mut start, sub_block) = (self.word(key.digest), self.shape.sub_block);
        let mut fresh = false;
        for base in self.bases(key.digest) {
            fresh |= self.bits.set(start + (base + set) % sub_block);
            start += sub_block;
        }
        Ok(fresh)
    }
}

impl Sort for SharedWords {
    fn sort(&self, key: Hashed<'_>) -> Vec<u64> {
        groups::numbers(&self.holders(key.digest))
    }
}

/// Bit for bit the filter of the union.
impl Unite for SharedWords {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.bits.or(&other.bits)
    }
}

/// Memberships are counted: a key in two sets is two.
impl Gauge for SharedWords {
    fn gauge(&self) -> Estimate {
        self.keys_in(&self.bits)
    }

    fn compare(&self, other: &Self) -> Result<Overlap> {
        let mut both = self.bits.clone();
        both.or(&other.bits)?;
        let (shape, used) = (self.shape, self.shape.used_bits());
        let error = |keys| blocks::cardinality_error(shape.theory(), used, shape.hashes, keys);
        Ok(Overlap::of(self.gauge(), other.gauge(), self.keys_in(&both), error))
    }
}

impl Code for SharedWords {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * theory::special::entropy(self.bits.fill())
    }
}

impl Omass {
    /// A filter for `items` memberships in `sets` sets together, in which each set reports a key that it does not hold with
    /// probability `fpr`.
    ///
    /// ```
    /// use bouquet::Omass;
    /// let sets = Omass::with_rate(4, 32_000, 0.003)?;
    /// assert!(sets.expected_rate(32_000) <= 0.003);
    /// assert!(Omass::with_rate(0, 1_000, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(sets: u64, items: u64, fpr: f64) -> Result<Self> {
        let (sets, items, fpr) = (Some(sets), Some(items), Some(fpr));
        Self::with(OmassSettings { sets, items, fpr, ..Default::default() })
    }

    /// A filter of `sets` sets in `bits` bits, whole words of 64, with `hashes` sub-blocks in each.
    ///
    /// ```
    /// use bouquet::Omass;
    /// assert_eq!(Omass::with_size(4, 6_400, 4)?.sub_block_bits(), 16);
    /// assert!(Omass::with_size(17, 6_400, 4).is_err(), "two sets would share a bit");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(sets: u64, bits: u64, hashes: u32) -> Result<Self> {
        let (sets, bits, hashes) = (Some(sets), Some(bits), Some(hashes));
        Self::with(OmassSettings { sets, bits, hashes, ..Default::default() })
    }

    /// Whether this set seems to hold the key.
    ///
    /// ```
    /// use bouquet::{Omass, shell::Group};
    /// let mut sets = Omass::with_rate(3, 1_000, 0.001)?;
    /// sets.insert_with("rose", Group(1))?;
    /// assert!(sets.contains_in("rose", 1) && !sets.contains_in("rose", 2) && !sets.contains_in("rose", 9));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_in<K: Key + ?Sized>(&self, key: &K, set: u64) -> bool {
        let words = &self.mechanism;
        let digest = key.digest(&self.hashing);
        let starts = (words.word(digest)..).step_by(words.shape.sub_block as usize);
        let is_set = |(base, start)| words.turned(start, base + set, 1) == 1;
        set < words.shape.sets && words.bases(digest).zip(starts).all(is_set)
    }

    /// The bits of a sub-block: there are as many places for sets.
    ///
    /// ```
    /// assert_eq!(bouquet::Omass::with_size(4, 6_400, 5)?.sub_block_bits(), 12);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn sub_block_bits(&self) -> u64 {
        self.mechanism.shape.sub_block
    }

    /// The probability that a set seems to hold a key that it does not, with this many memberships in all sets.
    ///
    /// ```
    /// let rate = bouquet::Omass::with_size(4, 640_000, 4)?.expected_rate(32_000);
    /// assert!((rate - 0.003_07).abs() < 5e-6);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_rate(&self, items: u64) -> f64 {
        self.mechanism.shape.rate(items)
    }

    /// The same for this very content.
    ///
    /// ```
    /// use bouquet::{Omass, shell::Group};
    /// let mut sets = Omass::with_size(4, 64, 1)?;
    /// sets.insert_with("rose", Group(1))?;
    /// assert_eq!(sets.rate_now(), 1.0 / 64.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.mechanism.rates_now().0
    }

    /// The store.
    ///
    /// ```
    /// use bouquet::{Omass, shell::Group};
    /// let mut sets = Omass::with_size(4, 640, 4)?;
    /// sets.insert_with("rose", Group(1))?;
    /// assert_eq!(sets.bits().count_ones(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.bits
    }
}

#[cfg(test)]
mod tests;
