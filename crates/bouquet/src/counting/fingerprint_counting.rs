#![doc = include_str!("fingerprint_counting.md")]

use crate::capability::{Count, Multiplicity, NoteType};
use crate::error::Result;
use crate::key::Key;
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::parts::cell_filter::{CellCode, CellFilter};
use crate::theory::refutation::{self, Refutation};

/// The registry's row.
pub const KIND: Kind = kind!(FingerprintCounting);

/// A fingerprint counting Bloom filter.
///
/// ```
/// use bouquet::counting::fingerprint_counting::FingerprintCounting;
/// let mut filter = FingerprintCounting::with_rate(1_000, 0.001)?;
/// filter.insert("rose");
/// filter.insert("rose");
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// assert!(filter.contains("rose"), "still once");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type FingerprintCounting = CellFilter<Fingerprints>;

const FINGERPRINT_BITS: Parameter = Parameter {
    name: "fingerprint-bits",
    help: "bits of a fingerprint; the best number, nearly always 2, when not given",
    of: ParameterType::Count { min: 1, max: 8, default: None },
};

const COUNTER_BITS: Parameter = Parameter {
    name: "counter-bits",
    help: "bits of a counter; the largest value is final",
    of: ParameterType::Count { min: 2, max: 16, default: Some(4) },
};

/// Fingerprints that the sizing tries: more bits are never the best.
const TRIED: [u32; 4] = [2, 1, 3, 4];

/// A count in the low bits and the xor of fingerprints above it.
///
/// ```
/// use bouquet::counting::{CellCode, fingerprint_counting::FingerprintCounting};
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
    /// Bits of a fingerprint.
    ///
    /// ```
    /// use bouquet::counting::fingerprint_counting::FingerprintCounting;
    /// assert_eq!(FingerprintCounting::with_budget(1_000, 24_000)?.code().fingerprint_bits(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }

    /// Bits of a counter.
    ///
    /// ```
    /// use bouquet::counting::fingerprint_counting::FingerprintCounting;
    /// assert_eq!(FingerprintCounting::with_size(6_000, 5)?.code().counter_bits(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn counter_bits(&self) -> u32 {
        self.counter_bits
    }

    #[inline]
    fn most(&self) -> u64 {
        (1 << self.counter_bits) - 1
    }

    /// How many keys the cell holds, or as many as it can tell.
    ///
    /// ```
    /// use bouquet::counting::{CellCode, fingerprint_counting::FingerprintCounting};
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
    /// use bouquet::counting::{CellCode, fingerprint_counting::FingerprintCounting};
    /// let filter = FingerprintCounting::with_size(6_000, 5)?;
    /// assert_eq!(filter.code().fingerprint(filter.code().add(0, 3)), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn fingerprint(&self, cell: u64) -> u64 {
        cell >> self.counter_bits
    }

    /// The cell of so many keys; at the end of the counter it is frozen and its fingerprint, never asked again,
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
        parameters: &[common::ITEMS, common::FPR, common::BITS, common::HASHES, FINGERPRINT_BITS, COUNTER_BITS],
    };

    const ONE_MARK: bool = true;

    fn candidates(config: &Config) -> Result<Vec<Self>> {
        let counter_bits = config.need("counter-bits")? as u32;
        let code = |fingerprint_bits| Fingerprints { fingerprint_bits, counter_bits };
        Ok(match config.count("fingerprint-bits") {
            Some(bits) => vec![code(bits as u32)],
            None => TRIED.map(code).to_vec(),
        })
    }

    fn settings(&self, config: Config) -> Config {
        config
            .put("fingerprint-bits", Setting::Count(self.fingerprint_bits.into()))
            .put("counter-bits", Setting::Count(self.counter_bits.into()))
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

impl CellFilter<Fingerprints> {
    /// How often the key is in: the least of its counters, 0 if a fingerprint contradicts. That is the truth or, as
    /// rarely as all its cells hold other keys too, more; `at_least` tells when a frozen counter hides how much more
    /// it may be.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::fingerprint_counting::FingerprintCounting};
    /// let mut filter = FingerprintCounting::with_rate(1_000, 0.001)?;
    /// (0..20).for_each(|_| _ = filter.insert("rose"));
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 15, at_least: true });
    /// assert_eq!(filter.count("thistle").count, 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let code = self.code();
        let mut least = code.most();
        let admitted = self.all(self.digest(key), |cell| {
            least = least.min(code.count(cell));
            true
        });
        let count = if admitted { least } else { 0 };
        Multiplicity { count, at_least: count == code.most() }
    }

    /// The cells that are expected to be frozen with so many distinct keys.
    ///
    /// ```
    /// use bouquet::{counting::fingerprint_counting::{FingerprintCounting, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "100000")?.set("bits", "4000000")?;
    /// assert!(FingerprintCounting::from_config(&config)?.expected_frozen(100_000) < 1e-6);
    /// let narrow = FingerprintCounting::from_config(&config.set("counter-bits", "3")?)?;
    /// assert!((10.0..100.0).contains(&narrow.expected_frozen(100_000)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_frozen(&self, items: u64) -> f64 {
        let cells = self.cells().len();
        cells as f64 * crate::theory::counters::reaches(cells, items, self.hashes(), self.code().most())
    }
}

impl Count for CellFilter<Fingerprints> {
    fn count(&self, key: &[u8]) -> Multiplicity {
        CellFilter::count(self, key)
    }
}

#[cfg(test)]
mod tests;
