#![doc = include_str!("banked.md")]

use crate::capability::{Estimate, NoteType};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, MAX_HASHES, Probes, Scheme, fastrange};
use crate::key::{BATCH, Key};
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Setting, Text, common, kind};
use crate::membership::layout::{digests, test_one_by_one};
use crate::membership::{Access, BitFilter, BitSettings, Layout, Sizes};
use crate::shell::{ByRate, Fields, Settings, fields};
use crate::simd::{NEAR_BITS, Word};
use crate::store::BitStore;
use crate::theory::{self, Size};

/// A banked Bloom filter.
///
/// ```
/// use bouquet::Banked;
/// let mut filter = Banked::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert_eq!(filter.layout().banks(), 8, "for seven positions");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Banked = BitFilter<Banks>;

/// The registry's row.
pub const KIND: Kind = kind!(Banked);

/// k positions in k different ones of B banks.
///
/// Bank b is the bits from b R on. The first bank of a key, b0, is ⌊w B / 2^64⌋, w the second half of the digest's first
/// derivative; probe i goes to bank b0 XOR i, to the row that triple hashing with fastrange gives as the i-th of R.
///
/// ```
/// use bouquet::{Banked, hash::Hashing, membership::Layout};
/// let filter = Banked::with_size(8_000, 7)?;
/// let mut banks = Vec::new();
/// filter.layout().all(Hashing::default().digest(b"rose"), |position| {
///     banks.push(position / filter.layout().rows());
///     true
/// });
/// banks.sort();
/// banks.dedup();
/// assert_eq!(banks.len(), 7, "no two in one bank");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Banks {
    banks: u64,
    rows: u64,
    hashes: u32,
}

impl Banks {
    /// The number of banks, a power of two.
    ///
    /// ```
    /// assert_eq!(bouquet::Banked::with_size(1_000, 9)?.layout().banks(), 16);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn banks(&self) -> u64 {
        self.banks
    }

    /// The bits of a bank.
    ///
    /// ```
    /// assert_eq!(bouquet::Banked::with_size(1_000, 7)?.layout().rows(), 125);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The share of ones in each bank: one far from the others is a sign of bad hashing or of an attack.
    ///
    /// ```
    /// use bouquet::Banked;
    /// let mut filter = Banked::with_size(80, 8)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.layout().fills(filter.bits()), [0.1; 8]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fills(&self, bits: &BitStore) -> Vec<f64> {
        let ones = |bank| bits.count_ones_in(bank * self.rows, (bank + 1) * self.rows);
        (0..self.banks).map(|bank| ones(bank) as f64 / self.rows as f64).collect()
    }

    /// The first bank of a key.
    #[inline]
    pub(super) fn first(&self, digest: Digest) -> u64 {
        fastrange(digest.derive(1).h2, self.banks)
    }

    /// The rows of a key, one for each of its banks.
    #[inline]
    fn rows_of(&self, digest: Digest) -> Probes {
        Probes::of_family::<false>(Scheme::SLICES.family, digest, self.rows, self.hashes)
    }
}

const BANKS: Parameter = Parameter::count(
    "banks",
    "memory banks, a power of two and at least the positions per key; the least such number when not given",
    1,
    1 << 16,
);

/// The settings of a banked Bloom filter.
///
/// ```
/// use bouquet::{Banked, BankedSettings};
/// let settings = |banks| BankedSettings { items: Some(1_000), banks: Some(banks), ..Default::default() };
/// assert_eq!(Banked::with(settings(32))?.layout().banks(), 32);
/// assert!(Banked::with(settings(4)).is_err(), "seven positions need as many banks");
/// assert!(Banked::with(settings(12)).is_err(), "no power of two");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BankedSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Memory banks.
    pub banks: Option<u64>,
}

impl Settings for BankedSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        banks: BANKS,
    ];
}

impl ByRate for BankedSettings {}

impl BitSettings for BankedSettings {
    fn sizes(&self) -> Sizes {
        let BankedSettings { items, fpr, bits, hashes, .. } = *self;
        Sizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        BankedSettings { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

impl Layout for Banks {
    const FACTS: Facts = Facts {
        id: "banked",
        number: 21,
        aliases: &["BBF", "segmented"],
        family: "membership",
        text: Text::new(include_str!("banked.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    type Settings = BankedSettings;

    fn plan(&BankedSettings { items, fpr, bits, hashes, banks }: &BankedSettings) -> Result<Self> {
        let Size { bits: about, hashes } = common::size_of(items, fpr, bits, hashes, common::BITS.name)?;
        let banks = banks.unwrap_or(u64::from(hashes).next_power_of_two());
        if !banks.is_power_of_two() || banks < hashes.into() {
            let expected = format!("a power of two and at least the {hashes} positions of a key");
            return Err(Error::parameter("banks", expected, banks));
        }
        let mut layout = Banks { banks, rows: about.div_ceil(banks), hashes };
        if let (None, Some(items)) = (bits, items) {
            let fpr = common::FPR.need(fpr)?;
            // The size is that of one array; banks need a little more.
            while layout.expected_rate(items) > fpr {
                layout.rows += layout.rows / 1_024 + 1;
            }
        }
        Ok(layout)
    }

    fn settings(&self, asked: BankedSettings) -> BankedSettings {
        BankedSettings { banks: Some(self.banks), ..asked.sized(self.bits(), self.hashes) }
    }

    fn bits(&self) -> u64 {
        self.banks * self.rows
    }

    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline]
    fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let first = self.first(digest);
        self.rows_of(digest).zip(0..).all(|(row, i)| visit((first ^ i) * self.rows + row))
    }

    fn expected_rate(&self, items: u64) -> f64 {
        theory::banks::rate(self.bits(), items, self.hashes, self.banks)
    }

    /// The mean over the first banks that a key can have.
    fn rate_now(&self, bits: &BitStore) -> f64 {
        let fills = self.fills(bits);
        let of_key = |first: u64| (0..u64::from(self.hashes)).map(|i| fills[(first ^ i) as usize]).product::<f64>();
        (0..self.banks).map(of_key).sum::<f64>() / self.banks as f64
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        let estimate = Estimate::from_zeros(bits.len() - bits.count_ones(), bits.len(), self.hashes);
        // A key misses a bit with probability 1 - k/m and not (1 - 1/m)^k.
        let (m, k) = (self.bits() as f64, f64::from(self.hashes));
        let ratio = if m > k { k * (-1.0 / m).ln_1p() / (-k / m).ln_1p() } else { 1.0 };
        Estimate { keys: estimate.keys * ratio, ..estimate }
    }

    fn figures(&self, bits: &BitStore) -> Vec<Figure> {
        let fills = self.fills(bits);
        let figure = |name, value| Figure { name, value: Setting::Real(value) };
        vec![
            figure("least full bank", fills.iter().copied().fold(1.0, f64::min)),
            figure("fullest bank", fills.iter().copied().fold(0.0, f64::max)),
        ]
    }
}

impl Access for Banks {
    const NEAR_WORDS: usize = (NEAR_BITS / 64) as usize;

    /// Bank after bank, so that each is read by one pass and no two passes touch the same.
    fn test_batch<W: Word, K: Key>(&self, words: &[W], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        if !self.prefetches(words.len()) {
            return test_one_by_one(self, words, hashing, keys, answers);
        }
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digests(self, words, hashing, keys);
            let digests = &digests[..keys.len()];
            let firsts = digests.iter().map(|digest| self.first(*digest)).collect::<Vec<_>>();
            // What is beyond the shorter of the two is left alone.
            let count = keys.len().min(answers.len());
            let answers = &mut answers[..count];
            let mut rows = [[0; BATCH]; MAX_HASHES as usize];
            for (key, digest) in digests.iter().enumerate() {
                self.rows_of(*digest).zip(&mut rows).for_each(|(row, of_probe)| of_probe[key] = row);
            }
            answers.fill(true);
            for bank in 0..self.banks {
                let start = bank * self.rows;
                for (key, answer) in answers.iter_mut().enumerate() {
                    let probe = bank ^ firsts[key];
                    if probe < self.hashes.into() {
                        let position = start + rows[probe as usize][key];
                        let word = words.get((position / 64) as usize).map_or(0, W::load);
                        *answer &= word >> (position % 64) & 1 == 1;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
