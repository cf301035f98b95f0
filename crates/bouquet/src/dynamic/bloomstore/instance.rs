//! A part of the key space: a buffer of pairs, a page of filters that fills up, and the chain of those that are full.

use super::pairs::pairs;
use crate::error::{Error, Result};
use crate::hash::{Digest, probes};
use crate::parts::pages::{HEADER, u32_at, u64_at};

/// Filters of a chain page, each a column of its words.
pub const LANES: u32 = 32;

/// Chain pages of an instance before there should be more instances.
pub const CHAIN: u64 = 8;

/// Bytes of a page's number.
const ADDRESS: usize = 6;

/// Where the words of a chain page begin.
pub const WORDS: usize = HEADER + LANES as usize * ADDRESS;

/// The largest value, and the largest key.
pub const MOST_BYTES: usize = u32::MAX as usize;

/// The sizes of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Bytes of a page.
    pub page: usize,
    /// Bytes of the largest pair in a data page.
    pub pair: usize,
    /// Pairs of a data page.
    pub pairs: u32,
    /// k.
    pub hashes: u32,
    /// Parts of the key space.
    pub instances: u64,
}

impl Shape {
    /// Bits of a data page's filter.
    pub fn positions(page: usize) -> u64 {
        ((page - WORDS) / 4) as u64
    }

    /// Keys that fit before there should be more instances.
    pub fn capacity(&self) -> u64 {
        let pages = self.instances.saturating_mul(CHAIN * u64::from(LANES));
        pages.saturating_mul(self.pairs.into())
    }
}

/// The mask of the lanes below this one.
pub fn below(lane: u32) -> u32 {
    1u32.checked_shl(lane).map_or(u32::MAX, |bit| bit - 1)
}

/// The word of a position.
pub fn word(filters: &[u8], position: u64) -> u32 {
    u32_at(filters, WORDS + 4 * position as usize)
}

/// The lanes whose filters have the key.
pub fn lanes_with(filters: &[u8], shape: &Shape, digest: Digest) -> u32 {
    let mut mask = u32::MAX;
    for position in probes(digest, Shape::positions(shape.page), shape.hashes) {
        mask &= word(filters, position);
        if mask == 0 {
            break;
        }
    }
    mask
}

pub fn set_lane(filters: &mut [u8], shape: &Shape, digest: Digest, lane: u32) {
    for position in probes(digest, Shape::positions(shape.page), shape.hashes) {
        let at = WORDS + 4 * position as usize;
        let word = u32_at(filters, at) | 1 << lane;
        filters[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
}

/// The number of the data page of a lane.
pub fn address(filters: &[u8], lane: u32) -> u64 {
    let at = HEADER + ADDRESS * lane as usize;
    let mut bytes = [0; 8];
    bytes[..ADDRESS].copy_from_slice(&filters[at..at + ADDRESS]);
    u64::from_le_bytes(bytes)
}

/// A part of the key space.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// A data page that is not full yet.
    pub buffer: Vec<u8>,
    pub used: usize,
    pub count: u32,
    /// The number of the last operation in it, or in the page before.
    pub last: u64,
    /// A chain page that is not full yet: the filters of `lanes` pages, and then that of the buffer.
    pub filters: Vec<u8>,
    pub lanes: u32,
    /// The numbers of the full ones.
    pub chain: Vec<u64>,
}

impl Instance {
    pub fn new(page: usize) -> Result<Self> {
        let zeros = || {
            let mut bytes = Vec::new();
            let wanted = |_| Error::TooLarge { what: "the buffers".into(), bytes: page as u128 };
            bytes.try_reserve_exact(page).map_err(wanted)?;
            bytes.resize(page, 0);
            Ok::<_, Error>(bytes)
        };
        Ok(Instance {
            buffer: zeros()?,
            used: HEADER,
            count: 0,
            last: 0,
            filters: zeros()?,
            lanes: 0,
            chain: Vec::new(),
        })
    }

    /// The pairs of the buffer, as they stand one behind the other.
    pub fn buffered(&self) -> (&[u8], u32) {
        (&self.buffer[HEADER..self.used], self.count)
    }

    /// The number of the last operation that it saw.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The numbers of its chain pages, and of the data pages that are in none yet.
    pub fn numbers(&self) -> (&[u64], Vec<u64>) {
        (&self.chain, (0..self.lanes).map(|lane| address(&self.filters, lane)).collect())
    }

    pub fn clear_buffer(&mut self) {
        self.buffer.fill(0);
        (self.used, self.count) = (HEADER, 0);
    }

    pub fn add_page(&mut self, number: u64) {
        let at = HEADER + ADDRESS * self.lanes as usize;
        self.filters[at..at + ADDRESS].copy_from_slice(&number.to_le_bytes()[..ADDRESS]);
        self.lanes += 1;
    }

    pub fn add_chain(&mut self, number: u64) {
        self.chain.push(number);
        self.filters.fill(0);
        self.lanes = 0;
    }

    /// Its two pages as they stand in a frame: in the header the count and the last operation.
    pub fn write(&self, to: &mut Vec<u8>) {
        for (page, count) in [(&self.buffer, self.count), (&self.filters, self.lanes)] {
            let start = to.len();
            to.extend_from_slice(page);
            to[start..start + HEADER].fill(0);
            to[start..start + 4].copy_from_slice(&count.to_le_bytes());
            to[start + 4..start + 12].copy_from_slice(&self.last.to_le_bytes());
        }
    }

    /// Reads what [`write`](Self::write) wrote. The chain is not in it.
    pub fn read(shape: &Shape, bytes: &[u8]) -> Result<Self> {
        let (buffer, filters) = bytes.split_at(shape.page);
        let refuse = |what: &str| Err(Error::corrupt(what, "what a store writes", "something else"));
        let header = |page: &[u8]| (u32_at(page, 0), u64_at(page, 4), page[12..HEADER].iter().all(|&b| b == 0));
        let ((count, last, clean), (lanes, again, also)) = (header(buffer), header(filters));
        if !clean || !also || last != again || count > shape.pairs || lanes > LANES || (lanes == LANES && count > 0) {
            return refuse("the header of a buffer");
        }
        let mut used = HEADER;
        for pair in pairs(buffer, HEADER, count) {
            let (at, pair) = pair?;
            used = at + pair.len();
        }
        if buffer[used..].iter().any(|&byte| byte != 0) {
            return refuse("what lies behind the last pair of a buffer");
        }
        let lane = if count > 0 { lanes + 1 } else { lanes };
        let spare = HEADER + ADDRESS * lanes as usize..WORDS;
        let words = (0..Shape::positions(shape.page)).all(|position| word(filters, position) & !below(lane) == 0);
        if filters[spare].iter().any(|&byte| byte != 0) || !words {
            return refuse("the filters of pages that are not there");
        }
        let rest = WORDS + 4 * Shape::positions(shape.page) as usize;
        if filters[rest..].iter().any(|&byte| byte != 0) {
            return refuse("what lies behind the filters");
        }
        let mut instance = Instance { used, count, last, lanes, ..Instance::new(shape.page)? };
        instance.buffer[HEADER..].copy_from_slice(&buffer[HEADER..]);
        instance.filters[HEADER..].copy_from_slice(&filters[HEADER..]);
        Ok(instance)
    }
}
