//! A frozen map from listed keys to small numbers, such as their classes; keys that are not listed have none, but for a share 2^-check
//! of them that are taken for listed ones, always with the same number.

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parts::fuse::FuseTable;
use crate::parts::records::bits_for;

/// The most bits by which listed keys are told from others.
const MOST_CHECK: u32 = 32;

/// Listed keys with their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClassMap {
    /// Bits by which listed keys are told from others.
    check: u32,
    /// Bits of a number.
    width: u32,
    listed: u64,
    cells: Option<FuseTable>,
}

impl ClassMap {
    /// The map of these keys with numbers up to `largest`. At most a sixteenth of `rate` of the others are taken for listed ones.
    pub(crate) fn new(keys: &[(Digest, u64)], largest: u64, rate: f64) -> Result<Self> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let check = ((-rate.max(f64::MIN_POSITIVE).log2()).ceil() as u32).saturating_add(4).clamp(8, MOST_CHECK);
        let mut map = ClassMap { check, width: bits_for(largest), listed: keys.len() as u64, cells: None };
        let content = |at: usize| {
            let (digest, number) = keys[at];
            (digest, map.mark(digest) << map.width | number)
        };
        let cells = FuseTable::build(keys.len(), check + map.width, false, content)?;
        map.cells = Some(cells.ok_or_else(|| Error::Build {
            what: "two listed keys have the same digest".into(),
            remedy: "build it with another seed, or with --wide".into(),
        })?);
        Ok(map)
    }

    /// What tells a listed key from others.
    #[inline]
    fn mark(&self, digest: Digest) -> u64 {
        digest.h2 >> 1 >> (63 - self.check)
    }

    /// The number of a key, if it is listed or taken for one that is.
    #[inline]
    pub(crate) fn get(&self, digest: Digest) -> Option<usize> {
        let cell = self.cells.as_ref()?.read(digest);
        (cell >> self.width == self.mark(digest)).then_some((cell & ((1 << self.width) - 1)) as usize)
    }

    /// The share of other keys that are taken for listed ones; each number below [`numbers`](Self::numbers) equally often.
    pub(crate) fn mistaken(&self) -> f64 {
        if self.cells.is_some() { (-f64::from(self.check)).exp2() } else { 0.0 }
    }

    /// Numbers that can be read.
    pub(crate) fn numbers(&self) -> usize {
        1 << self.width
    }

    pub(crate) fn listed(&self) -> u64 {
        self.listed
    }

    pub(crate) fn bits(&self) -> u64 {
        self.cells.as_ref().map_or(0, FuseTable::bits)
    }

    /// What maps are told apart by; 0 for the empty one.
    pub(crate) fn fingerprint(&self) -> u64 {
        let head = u64::from(self.check) << 8 | u64::from(self.width) | self.listed << 16;
        self.cells.as_ref().map_or(0, |cells| cells.fingerprint() ^ crate::hash::mix(head))
    }

    /// State: listed keys, check bits, bits of a number; with listed keys the seed of the cells, which are a store of words.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.listed);
        encoder.state().u8(self.check as u8);
        encoder.state().u8(self.width as u8);
        if let Some(cells) = &self.cells {
            cells.encode(encoder);
        }
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let listed = decoder.state().u64()?;
        let (check, width) = (u32::from(decoder.state().u8()?), u32::from(decoder.state().u8()?));
        let empty = listed == 0 && check == 0 && width == 0;
        if !empty && (listed == 0 || check > MOST_CHECK || !(1..=16).contains(&width)) {
            return Err(Error::corrupt("listed keys", "some, with up to 32 check bits and 16 for a number", listed));
        }
        let cells = if empty { None } else { Some(FuseTable::decode(decoder, listed, check + width)?) };
        Ok(ClassMap { check, width, listed, cells })
    }
}
