//! The filters of Valkey's own module, as it writes them for `BF.LOAD` when the append-only file is rewritten.
//!
//! ```text
//! u8 1                          version
//! u32 expansion                 0 for a filter that does not grow
//! f64 rate, f64 tightening      of the whole, and from one link to the next
//! u8                            whether the seed was drawn at random
//! u64 links, for each:
//!   u64 bytes of what follows up to the bits
//!   u8 1, u64 bytes of the bits, u32 hashes, 32 bytes of seed, the bits, the least significant of a byte first
//!   i64 items, i64 capacity
//! ```
//!
//! Numbers are little-endian. A key's two hashes are SipHash-1-3 of its length (8 bytes) and its bytes, under the two halves of the seed.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::super::reader::{Reader, expect, within};
use super::chain::Link;
use crate::error::Result;

const VERSION: u8 = 1;

/// Version, length, hashes and seed before the bits.
const BITS_HEADER: u64 = 1 + 8 + 4 + 32;

/// The two hashes of a key.
pub(super) fn hashes(seeds: &[u64; 4], key: &[u8]) -> (u64, u64) {
    let hash = |first: u64, second: u64| {
        let mut sip = SipHasher13::new_with_keys(first, second);
        sip.write(&(key.len() as u64).to_le_bytes());
        sip.write(key);
        sip.finish()
    };
    let &[a, b, c, d] = seeds;
    (hash(a, b), hash(c, d))
}

/// What is written.
pub(super) struct Object {
    pub(super) expansion: u32,
    pub(super) tightening: f64,
    pub(super) seeds: [u64; 4],
    pub(super) links: Vec<(Link, Vec<u8>)>,
}

impl Object {
    pub(super) fn read(bytes: &[u8], most_bytes: u64) -> Result<Self> {
        within(Some(bytes.len() as u64), most_bytes.saturating_add(1 << 16))?;
        let mut reader = Reader(bytes);
        let version = reader.u8()?;
        expect(version == VERSION, "the version", "1", version)?;
        let (expansion, rate, tightening) = (reader.u32()?, reader.f64()?, reader.f64()?);
        let random = reader.u8()?;
        expect(random <= 1, "whether the seed is random", "0 or 1", random)?;
        let count = reader.u64()?;
        let (mut links, mut seeds) = (Vec::new(), None);
        for at in 0..count {
            let len = reader.u64()?;
            let (version, bits_len, hashes) = (reader.u8()?, reader.u64()?, reader.u32()?);
            let whole = bits_len.checked_add(BITS_HEADER) == Some(len);
            expect(version == VERSION && whole, "a link", "of version 1 and its own length", len)?;
            let own = [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
            expect(*seeds.get_or_insert(own) == own, "the seed of a link", "that of the first", "another")?;
            let array = reader.take(usize::try_from(bits_len).unwrap_or(usize::MAX))?.to_vec();
            let [items, capacity] = [reader.u64()?, reader.u64()?];
            expect(items <= capacity, "the items of a link", "at most its capacity", items)?;
            let planned = Link::planned_by_valkey(capacity, rate * tightening.powi(at.min(1 << 20) as i32))?;
            let bits = bits_len.saturating_mul(8);
            links.push((Link { items, bits, hashes, ..planned }, array));
        }
        expect(reader.0.is_empty(), "the end of the filter", "nothing", format!("{} bytes", reader.0.len()))?;
        expect(count > 0, "the number of links", "at least 1", count)?;
        Ok(Object { expansion, tightening, seeds: seeds.unwrap_or_default(), links })
    }
}
