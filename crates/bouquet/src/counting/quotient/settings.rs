//! The settings of a quotient filter, and the slots that follow from them.

use super::{Ranked, Slots, ThreeBit};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::kind::{Parameter, common};
use crate::shell::{self, ByRate, Fields, Settings, choices, fields};
use crate::store::field_max;
use crate::theory::fingerprints;

const QUOTIENT: Parameter = Parameter::count(
    "quotient",
    "bits of the quotient: there are two to this power slots, of which 95 % can be used",
    1,
    56,
);
const REMAINDER: Parameter = Parameter::count(
    "remainder",
    "bits of the remainder, which a slot holds; growing takes one of them, down to 2",
    2,
    62,
);
const LAYOUT: Parameter = Parameter::choice(
    "layout",
    "how runs are found: by rank and select in 2.125 bits per slot, or by walking, in 3 bits",
    <Layout as shell::Choice>::WORDS,
);

/// How runs are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// By rank and select, in 2.125 bits per slot.
    #[default]
    RankSelect,
    /// By walking from slot to slot, in 3 bits per slot.
    ThreeBit,
}

choices!(Layout { RankSelect = "rank-select", ThreeBit = "three-bit" });

/// The settings of a quotient filter.
///
/// ```
/// use bouquet::{Quotient, QuotientSettings, counting::quotient::Layout};
/// let layout = Some(Layout::ThreeBit);
/// let mut filter = Quotient::with(QuotientSettings { items: Some(1_000), layout, ..Default::default() })?;
/// assert!(filter.insert("rose")? && filter.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuotientSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Bits of the quotient.
    pub quotient: Option<u32>,
    /// Bits of a remainder.
    pub remainder: Option<u32>,
    /// How runs are found.
    pub layout: Option<Layout>,
}

impl Settings for QuotientSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        quotient: QUOTIENT,
        remainder: REMAINDER,
        layout: LAYOUT,
    ];
}

impl ByRate for QuotientSettings {}

impl QuotientSettings {
    /// With every size filled in.
    pub(super) fn resolved(&self) -> Result<Self> {
        let quotient = match (self.quotient, self.items) {
            (Some(bits), _) => bits,
            (None, Some(items)) => fingerprints::quotient_bits(items),
            (None, None) => return Err(common::ITEMS.missing("quotient")),
        };
        let fpr = common::FPR.need(self.fpr)?;
        let planned = match self.items {
            Some(items) => fingerprints::planned_remainder_bits(fpr, quotient, items),
            None => fingerprints::remainder_bits(fpr),
        };
        let remainder = self.remainder.unwrap_or(planned);
        if quotient + remainder > 64 {
            let found = format!("{remainder} with {quotient} bits of the quotient");
            return Err(Error::parameter("remainder", "such that a hash has at most 64 bits", found));
        }
        Ok(QuotientSettings {
            quotient: Some(quotient),
            remainder: Some(remainder),
            layout: Some(LAYOUT.need(self.layout)?),
            ..self.clone()
        })
    }
}

/// What resolved settings say about the slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) quotient: u32,
    pub(super) remainder: u32,
    pub(super) layout: Layout,
    /// The slots that may be in use. It follows from the others.
    pub(super) capacity: u64,
}

impl Shape {
    pub(super) fn of(settings: &QuotientSettings) -> Result<Self> {
        let (quotient, remainder) = (QUOTIENT.need(settings.quotient)?, REMAINDER.need(settings.remainder)?);
        let shape = Shape::new(quotient, remainder, LAYOUT.need(settings.layout)?);
        shape.bits().map(|_| shape)
    }

    pub(super) fn new(quotient: u32, remainder: u32, layout: Layout) -> Self {
        let capacity = ((1u64 << quotient) as f64 * fingerprints::QUOTIENT_LOAD) as u64;
        Shape { quotient, remainder, layout, capacity: capacity.max(1) }
    }

    /// The slots that are homes.
    pub(super) fn homes(&self) -> u64 {
        1 << self.quotient
    }

    /// All slots, a whole number of blocks: behind the last home there are 10 sqrt(2^q) more.
    pub(super) fn slots(&self) -> u64 {
        let slack = (10.0 * (self.homes() as f64).sqrt()).ceil() as u64;
        (self.homes() + slack).next_multiple_of(64)
    }

    pub(super) fn bits(&self) -> Result<u64> {
        let bits = match self.layout {
            Layout::RankSelect => Ranked::bits(self.slots(), self.remainder),
            Layout::ThreeBit => ThreeBit::bits(self.slots(), self.remainder),
        };
        bits.ok_or_else(|| Error::TooLarge {
            what: "the slots".into(),
            bytes: u128::from(self.slots()) * u128::from(self.remainder + 3) / 8,
        })
    }

    /// About as many bits as [`bits`](Self::bits) says. A hash has at most 64, so that this fits.
    #[inline]
    pub(super) fn size(&self) -> u64 {
        self.homes() * u64::from(self.remainder + 3)
    }

    pub(super) fn zeroed(&self) -> Result<Slots> {
        Ok(match self.layout {
            Layout::RankSelect => Slots::Ranked(Ranked::zeroed(self.slots(), self.remainder)?),
            Layout::ThreeBit => Slots::ThreeBit(ThreeBit::zeroed(self.slots(), self.remainder)?),
        })
    }

    /// Home and remainder of a hash.
    #[inline]
    pub(super) fn split(&self, hash: u64) -> (u64, u64) {
        (hash >> self.remainder, hash & field_max(self.remainder))
    }

    #[inline]
    pub(super) fn home(&self, digest: Digest) -> u64 {
        digest.h1 >> (64 - self.quotient)
    }

    #[inline]
    pub(super) fn remainder(&self, digest: Digest) -> u64 {
        digest.h1 >> (64 - self.hash_bits()) & field_max(self.remainder)
    }

    /// Home and remainder of a digest.
    #[inline]
    pub(super) fn place(&self, digest: Digest) -> (u64, u64) {
        (self.home(digest), self.remainder(digest))
    }

    pub(super) fn hash_bits(&self) -> u32 {
        self.quotient + self.remainder
    }
}
