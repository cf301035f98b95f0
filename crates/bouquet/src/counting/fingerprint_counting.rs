#![doc = include_str!("fingerprint_counting.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::error::Result;
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Text, common, kind};
use crate::parts::marked_cells::{CellCode, CellSettings, CellSizes, MarkedCells};
use crate::shell::{ByRate, Fields, Filter, Hashed, Settings, Tally, fields};
use crate::theory::counters;
use crate::theory::refutation::{self, Refutation};

/// The registry's row.
pub const KIND: Kind = kind!(FingerprintCounting);

/// A fingerprint counting Bloom filter.
///
/// ```
/// let mut filter = bouquet::FingerprintCounting::with_rate(1_000, 0.001)?;
/// filter.insert("rose");
/// filter.insert("rose");
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose"), "still once");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type FingerprintCounting = Filter<MarkedCells<Fingerprints>>;

const FINGERPRINT_BITS: Parameter = Parameter::count(
    "fingerprint-bits",
    "bits of a fingerprint; the best number, nearly always 2, when not given",
    1,
    8,
);
const COUNTER_BITS: Parameter =
    Parameter::count("counter-bits", "bits of a counter; the largest value is final", 2, 16).or(4);

/// The settings of a fingerprint counting filter.
///
/// ```
/// use bouquet::{FingerprintCounting, FingerprintCountingSettings};
/// let budget = FingerprintCountingSettings { items: Some(1_000), bits: Some(40_000), ..Default::default() };
/// let best = FingerprintCounting::with(budget)?.settings();
/// assert_eq!((best.hashes, best.fingerprint_bits), (Some(7), Some(2)), "the lowest rate in this memory");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FingerprintCountingSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Cells per key.
    pub hashes: Option<u32>,
    /// Bits of a fingerprint.
    pub fingerprint_bits: Option<u32>,
    /// Bits of a counter.
    pub counter_bits: Option<u32>,
}

impl Settings for FingerprintCountingSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        fingerprint_bits: FINGERPRINT_BITS,
        counter_bits: COUNTER_BITS,
    ];
}

impl ByRate for FingerprintCountingSettings {}

impl CellSettings for FingerprintCountingSettings {
    fn sizes(&self) -> CellSizes {
        let Self { items, fpr, bits, hashes, .. } = *self;
        CellSizes { items, fpr, bits, hashes }
    }

    fn sized(self, bits: u64, hashes: u32) -> Self {
        Self { bits: Some(bits), hashes: Some(hashes), ..self }
    }
}

/// Fingerprints that the sizing tries: more bits are never the best.
const TRIED: [u32; 4] = [2, 1, 3, 4];

/// A count in the low bits and the xor of fingerprints above it.
///
/// ```
/// use bouquet::{FingerprintCounting, counting::CellCode};
/// let filter = FingerprintCounting::with_size(6_000, 5)?;
/// let code = filter.code();
/// let cell = code.add(code.add(0, 1), 3);
/// assert_eq!((code.count(cell), code.fingerprint(cell)), (2, 1 ^ 3));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fingerprints {
    fingerprint_bits: u32,
    counter_bits: u32,
}

impl Fingerprints {
    #[inline]
    fn most(&self) -> u64 {
        (1 << self.counter_bits) - 1
    }

    /// How many keys the cell holds, or as many as it can tell.
    ///
    /// ```
    /// use bouquet::{FingerprintCounting, counting::CellCode};
    /// let filter = FingerprintCounting::with_size(6_000, 5)?;
    /// let full = (0..20).fold(0, |cell, mark| filter.code().add(cell, mark % 4));
    /// assert_eq!(filter.code().count(full), 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn count(&self, cell: u64) -> u64 {
        cell & self.most()
    }

    /// The xor of the fingerprints of its keys; 0 in a frozen cell.
    ///
    /// ```
    /// use bouquet::{FingerprintCounting, counting::CellCode};
    /// let filter = FingerprintCounting::with_size(6_000, 5)?;
    /// assert_eq!(filter.code().fingerprint(filter.code().add(0, 3)), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn fingerprint(&self, cell: u64) -> u64 {
        cell >> self.counter_bits
    }

    /// The cell of this many keys; at the end of the counter it is frozen and its fingerprint, never asked again,
    /// cleared.
    #[inline]
    fn cell(&self, count: u64, fingerprint: u64) -> u64 {
        if count >= self.most() { self.most() } else { fingerprint << self.counter_bits | count }
    }
}

impl CellCode for Fingerprints {
    const FACTS: Facts = Facts {
        id: "fingerprint-counting",
        number: 55,
        aliases: &["FP-CBF", "FPCBF", "fingerprint counting filter"],
        family: "counting",
        text: Text::new(include_str!("fingerprint_counting.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const ONE_MARK: bool = true;

    type Settings = FingerprintCountingSettings;

    fn candidates(settings: &FingerprintCountingSettings) -> Result<Vec<Self>> {
        let counter_bits = COUNTER_BITS.need(settings.counter_bits)?;
        let code = |fingerprint_bits| Fingerprints { fingerprint_bits, counter_bits };
        Ok(settings.fingerprint_bits.map_or_else(|| TRIED.map(code).to_vec(), |bits| vec![code(bits)]))
    }

    fn settings(&self, settings: FingerprintCountingSettings) -> FingerprintCountingSettings {
        FingerprintCountingSettings {
            fingerprint_bits: Some(self.fingerprint_bits),
            counter_bits: Some(self.counter_bits),
            ..settings
        }
    }

    #[inline]
    fn width(&self) -> u32 {
        self.fingerprint_bits + self.counter_bits
    }

    #[inline]
    fn marks(&self) -> u64 {
        1 << self.fingerprint_bits
    }

    #[inline]
    fn admits(&self, cell: u64, mark: u64) -> bool {
        match self.count(cell) {
            0 => false,
            1 => self.fingerprint(cell) == mark,
            _ => true,
        }
    }

    #[inline]
    fn add(&self, cell: u64, mark: u64) -> u64 {
        match self.count(cell) {
            // Not xored: an empty cell of a forged file may have a fingerprint.
            0 => self.cell(1, mark),
            count => self.cell(count + 1, self.fingerprint(cell) ^ mark),
        }
    }

    #[inline]
    fn sub(&self, cell: u64, mark: u64) -> u64 {
        match self.count(cell) {
            0 | 1 => 0,
            count => self.cell(count - 1, self.fingerprint(cell) ^ mark),
        }
    }

    fn join(&self, cell: u64, other: u64) -> u64 {
        self.cell(self.count(cell) + self.count(other), self.fingerprint(cell) ^ self.fingerprint(other))
    }

    #[inline]
    fn is_frozen(&self, cell: u64) -> bool {
        self.count(cell) == self.most()
    }

    fn is_cell(&self, cell: u64) -> bool {
        // A fingerprint without keys is what removing an absent key would leave if removal did not check.
        (1..self.most()).contains(&self.count(cell)) || self.fingerprint(cell) == 0
    }

    fn refutation(&self) -> Refutation {
        Refutation::fingerprint(self.fingerprint_bits)
    }

    fn expected_rate(&self, slice: u64, items: u64, hashes: u32) -> f64 {
        refutation::fingerprint_rate(self.fingerprint_bits, slice, items, hashes)
    }
}

impl Tally for MarkedCells<Fingerprints> {
    /// The least of the key's counters, 0 if a fingerprint contradicts: the truth or, as rarely as all its cells hold other
    /// keys too, more; `at_least` tells when a frozen counter hides how much more it may be.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let (code, mut least) = (self.code(), self.code().most());
        let admitted = self.all(key.digest, |cell| least = least.min(code.count(cell)));
        let count = if admitted { least } else { 0 };
        Multiplicity { count, at_least: count == code.most() }
    }
}

impl FingerprintCounting {
    /// The cells that are expected to be frozen with this many distinct keys.
    ///
    /// ```
    /// use bouquet::{FingerprintCounting, FingerprintCountingSettings};
    /// let wide = FingerprintCountingSettings { items: Some(100_000), bits: Some(4_000_000), ..Default::default() };
    /// let narrow = FingerprintCountingSettings { counter_bits: Some(3), ..wide.clone() };
    /// assert!(FingerprintCounting::with(wide)?.expected_frozen(100_000) < 1e-6);
    /// assert!((10.0..100.0).contains(&FingerprintCounting::with(narrow)?.expected_frozen(100_000)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_frozen(&self, items: u64) -> f64 {
        let cells = self.cells().len();
        cells as f64 * counters::reaches(cells, items, self.mechanism.hashes(), self.code().most())
    }
}

#[cfg(test)]
mod tests;
