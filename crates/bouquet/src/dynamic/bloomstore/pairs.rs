//! Pairs of a key and a value, or of a key that was removed, as they stand one behind the other in a data page.
//!
//! | bytes | of a pair in the page | of a pair that lies in overflow pages |
//! |---|---|---|
//! | 1 | 0 removed, 1 with its value | 2 removed, 3 with its value |
//! | 2, 2 | bytes of the key, bytes of the value | 4, 4: the same |
//! | | the key, the value | 8: a hash of the key; 6: the first overflow page |

use crate::error::{Error, Result};
use crate::parts::pages::{u32_at, u64_at};

/// The bytes before the key of a pair in the page.
pub const INLINE: usize = 5;

/// The bytes of a pair that lies elsewhere.
pub const SPILLED: usize = 23;

/// A pair in a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pair<'a> {
    /// Here; a key that was removed has no value.
    Here { key: &'a [u8], value: Option<&'a [u8]> },
    /// In overflow pages, the key first.
    Elsewhere(Spilled),
}

/// Where a large pair lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spilled {
    pub key: u32,
    pub value: u32,
    pub is_removed: bool,
    /// A hash of the key, so that hardly another key is compared there.
    pub mark: u64,
    pub first: u64,
}

impl Spilled {
    pub fn len(&self) -> u64 {
        u64::from(self.key) + u64::from(self.value)
    }
}

impl<'a> Pair<'a> {
    /// The bytes that it takes in a page.
    pub fn len(&self) -> usize {
        match self {
            Pair::Here { key, value } => INLINE + key.len() + value.map_or(0, <[u8]>::len),
            Pair::Elsewhere(_) => SPILLED,
        }
    }

    /// Writes the pair at the beginning of `to`, which has room for it.
    pub fn write(&self, to: &mut [u8]) {
        match self {
            Pair::Here { key, value } => {
                let bytes = value.unwrap_or_default();
                to[0] = u8::from(value.is_some());
                to[1..3].copy_from_slice(&(key.len() as u16).to_le_bytes());
                to[3..5].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
                to[INLINE..INLINE + key.len()].copy_from_slice(key);
                to[INLINE + key.len()..self.len()].copy_from_slice(bytes);
            }
            Pair::Elsewhere(spilled) => {
                to[0] = if spilled.is_removed { 2 } else { 3 };
                to[1..5].copy_from_slice(&spilled.key.to_le_bytes());
                to[5..9].copy_from_slice(&spilled.value.to_le_bytes());
                to[9..17].copy_from_slice(&spilled.mark.to_le_bytes());
                to[17..SPILLED].copy_from_slice(&spilled.first.to_le_bytes()[..6]);
            }
        }
    }

    /// The pair at the beginning of `bytes`.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let short = || Error::corrupt("a pair", "one that ends within its page", format!("{} bytes", bytes.len()));
        match bytes.first() {
            Some(tag @ (0 | 1)) if bytes.len() >= INLINE => {
                let key = usize::from(u16::from_le_bytes([bytes[1], bytes[2]]));
                let value = usize::from(u16::from_le_bytes([bytes[3], bytes[4]]));
                let both = bytes[INLINE..].get(..key + value).ok_or_else(short)?;
                if *tag == 0 && value > 0 {
                    return Err(Error::corrupt("a pair that was removed", "no value", format!("{value} bytes")));
                }
                let (key, value) = both.split_at(key);
                Ok(Pair::Here { key, value: (*tag == 1).then_some(value) })
            }
            Some(tag @ (2 | 3)) if bytes.len() >= SPILLED => Ok(Pair::Elsewhere(Spilled {
                key: u32_at(bytes, 1),
                value: u32_at(bytes, 5),
                is_removed: *tag == 2,
                mark: u64_at(bytes, 9),
                first: u64_at(bytes, 15) >> 16,
            })),
            Some(tag) if *tag > 3 => Err(Error::corrupt("the sort of a pair", "0 to 3", tag)),
            _ => Err(short()),
        }
    }
}

/// The pairs of a page that holds `count` of them, with their places in it.
pub fn pairs(page: &[u8], start: usize, count: u32) -> impl Iterator<Item = Result<(usize, Pair<'_>)>> {
    let mut at = Some(start);
    (0..count).map_while(move |_| {
        let here = at?;
        let pair = Pair::read(page.get(here..).unwrap_or_default());
        at = pair.as_ref().ok().map(|pair| here + pair.len());
        Some(pair.map(|pair| (here, pair)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_they_were_written() {
        let spilled = Spilled { key: 5, value: 1 << 30, is_removed: false, mark: u64::MAX - 3, first: (1 << 48) - 2 };
        let all = [
            Pair::Here { key: b"rose", value: Some(b"red") },
            Pair::Elsewhere(spilled),
            Pair::Here { key: b"", value: Some(b"") },
            Pair::Elsewhere(Spilled { value: 0, is_removed: true, ..spilled }),
            Pair::Here { key: b"lily", value: None },
        ];
        let mut page = vec![0; 200];
        let mut at = 7;
        for pair in all {
            pair.write(&mut page[at..]);
            at += pair.len();
        }
        let read: Vec<_> = pairs(&page, 7, 5).map(|pair| pair.unwrap().1).collect();
        assert_eq!(read, all);
        assert!(pairs(&page[..at - 1], 7, 5).last().unwrap().is_err(), "cut short");
        page[7] = 4;
        assert!(pairs(&page, 7, 5).next().unwrap().is_err(), "no such sort");
    }
}
