//! The settings of a filter whose sets share words, and the shape that follows from them.

use crate::error::{Error, Result};
use crate::hash::MAX_HASHES;
use crate::kind::{Parameter, ParameterType, common};
use crate::shell::{Choice, Fields, Settings, fields};
use crate::theory::blocks::{Inner, Layout};
use crate::theory::separation;

/// Bits of a word, all that one query reads.
///
/// ```
/// use bouquet::{Omass, OmassSettings, membership::omass::OmassWord};
/// let asked = OmassSettings { sets: Some(100), items: Some(1_000), ..Default::default() };
/// assert!(Omass::with(asked.clone()).is_err(), "100 sets do not fit 64 bits");
/// assert!(Omass::with(OmassSettings { word: Some(OmassWord(512)), ..asked }).is_ok());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OmassWord(pub u32);

impl Choice for OmassWord {
    const WORDS: &'static [&'static str] = &["64", "128", "256", "512"];
    const MEMBERS: &'static [Self] = &[OmassWord(64), OmassWord(128), OmassWord(256), OmassWord(512)];
}

const SETS: Parameter = Parameter::count("sets", "number of sets; their numbers begin with 0", 1, 512).or(4);
const ITEMS: Parameter = Parameter { help: "memberships in all sets together", ..common::ITEMS };
const FPR: Parameter = Parameter { help: "probability that a set reports a key that it does not hold", ..common::FPR };
const HASHES: Parameter = Parameter {
    help: "sub-blocks of a word, each with a bit per key and set; the best number when not given",
    ..common::HASHES
};
const WORD: Parameter = Parameter {
    name: "word",
    help: "bits of a word, all that one query reads",
    of: ParameterType::Choice { options: OmassWord::WORDS },
};

/// The settings of a filter whose sets share words.
///
/// ```
/// use bouquet::{Omass, OmassSettings};
/// let settings = OmassSettings { sets: Some(16), items: Some(1_000), ..Default::default() };
/// assert_eq!(Omass::with(settings)?.settings().hashes, Some(4), "sub-blocks of 16 bits");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OmassSettings {
    /// The number of sets.
    pub sets: Option<u64>,
    /// Memberships in all sets together.
    pub items: Option<u64>,
    /// The probability that a set reports a key that it does not hold.
    pub fpr: Option<f64>,
    /// The size in bits.
    pub bits: Option<u64>,
    /// Sub-blocks of a word.
    pub hashes: Option<u32>,
    /// Bits of a word.
    pub word: Option<OmassWord>,
}

impl Settings for OmassSettings {
    const FIELDS: Fields<Self> = fields![
        sets: SETS,
        items: ITEMS,
        fpr: FPR,
        bits: common::BITS,
        hashes: HASHES,
        word: WORD,
    ];
}

/// What the settings describe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) words: u64,
    pub(super) width: u32,
    pub(super) hashes: u32,
    /// Bits of a sub-block; what is left of a word stays empty.
    pub(super) sub_block: u64,
    pub(super) sets: u64,
}

impl Shape {
    pub(super) fn plan(asked: &OmassSettings) -> Result<Self> {
        let OmassWord(width) = WORD.need(asked.word)?;
        let sets: u64 = SETS.need(asked.sets)?;
        // Below one bit per set and sub-block two sets would share a bit.
        let most = (u64::from(width) / sets).min(MAX_HASHES.into()) as u32;
        if most == 0 {
            return Err(Error::parameter("sets", format!("at most the {width} bits of a word"), sets));
        }
        if asked.hashes.is_some_and(|hashes| hashes > most) {
            let expected = format!("at most {most}, so that a sub-block has a bit for each of {sets} sets");
            return Err(Error::parameter("hashes", expected, asked.hashes.unwrap_or_default()));
        }
        let with = |words: u64, hashes: u32| Shape { words, width, hashes, sub_block: u64::from(width / hashes), sets };
        let possible = || asked.hashes.map_or(1..=most, |hashes| hashes..=hashes);
        if let Some(bits) = asked.bits {
            let words = bits.div_ceil(width.into());
            let Some(items) = asked.items else {
                return asked.hashes.map(|hashes| with(words, hashes)).ok_or_else(|| ITEMS.missing("hashes"));
            };
            let all = possible().map(|hashes| with(words, hashes));
            let best = all.min_by(|a, b| a.rate(items).total_cmp(&b.rate(items)));
            return best.ok_or_else(|| ITEMS.missing("hashes"));
        }
        let (Some(items), fpr) = (asked.items, FPR.need(asked.fpr)?) else { return Err(ITEMS.missing("bits")) };
        let mut best: Result<Shape> = Err(Error::parameter("fpr", "a rate that words of this size can reach", fpr));
        for hashes in possible() {
            let words = separation::words_for_rate(items, fpr, u64::from(width / hashes), hashes);
            best = match (words, best) {
                (Ok(words), Ok(before)) if words >= before.words => Ok(before),
                (Ok(words), _) => Ok(with(words, hashes)),
                (Err(_), Ok(before)) => Ok(before),
                (Err(error), Err(_)) => Err(error.into()),
            };
        }
        best
    }

    pub(super) fn settings(&self, asked: &OmassSettings) -> OmassSettings {
        OmassSettings {
            sets: Some(self.sets),
            bits: Some(self.bits()),
            hashes: Some(self.hashes),
            word: Some(OmassWord(self.width)),
            ..asked.clone()
        }
    }

    pub(super) fn bits(&self) -> u64 {
        self.words * u64::from(self.width)
    }

    /// The bits that belong to sub-blocks.
    pub(super) fn used_bits(&self) -> u64 {
        self.words * self.theory().block_bits
    }

    /// Words as blocks of slices.
    pub(super) fn theory(&self) -> Layout {
        Layout { block_bits: u64::from(self.hashes) * self.sub_block, inner: Inner::Slices, blocks_per_key: 1 }
    }

    pub(super) fn rate(&self, items: u64) -> f64 {
        separation::rate(self.words, items, self.sub_block, self.hashes)
    }

    pub(super) fn any_rate(&self, items: u64) -> f64 {
        separation::any_rate(self.words, items, self.sub_block, self.hashes, self.sets)
    }
}
