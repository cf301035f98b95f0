//! The bits behind the bases: how they are read, set and cleared, and how often they say something about an absent key.

use super::settings::Shape;
use super::{Form, ShiftedBits};
use crate::hash::{Digest, Positions};

impl ShiftedBits {
    /// Words that a query of a present key reads.
    pub(super) fn reads(&self) -> u32 {
        self.shape.places.hashes()
    }

    /// At least 57 bits from a position on, the lowest that of the position: one read of a word that begins at any
    /// byte.
    #[inline]
    pub(super) fn window(&self, base: u64) -> u64 {
        let words = self.array.bits.words();
        if cfg!(target_endian = "little")
            && let Some(bytes) = bytemuck::cast_slice::<u64, u8>(words).get((base / 8) as usize..)
            && let Some(word) = bytes.first_chunk()
        {
            return u64::from_le_bytes(*word) >> (base % 8);
        }
        let word = |at: u64| words.get(at as usize).copied().unwrap_or(0);
        let (at, shift) = (base / 64, base % 64);
        word(at) >> shift | word(at + 1).checked_shl(64 - shift as u32).unwrap_or(0)
    }

    /// The offsets, as bits, at which every base of a digest has a one, among those in `mask`; where `all` of the mask
    /// is wanted, zero as soon as one is missing.
    #[inline]
    pub(super) fn candidates(&self, digest: Digest, mask: u64, all: bool) -> u64 {
        let mut left = mask;
        self.shape.places.all(digest, |base| {
            left &= self.window(base);
            if all { left == mask } else { left != 0 }
        });
        if all && left != mask { 0 } else { left }
    }

    #[inline]
    pub(super) fn holds(&self, digest: Digest) -> bool {
        match self.shape.form {
            Form::Membership => self.candidates(digest, 1 | 1 << self.shape.offsets(digest)[1], true) != 0,
            Form::Association => {
                let mask = self.shape.offsets(digest).iter().fold(0, |mask, offset| mask | 1u64 << offset);
                self.candidates(digest, mask, false) != 0
            }
            Form::Multiplicity => self.largest(digest) != 0,
        }
    }

    /// The cells of a key at an offset (with membership, both bits of its pairs), each once.
    #[inline]
    pub(super) fn cells(&self, digest: Digest, offset: u32) -> Positions {
        let bases = self.shape.places.distinct(digest);
        let pair = [0, self.shape.offsets(digest)[1]];
        let alone = [offset];
        let offsets = if self.shape.form == Form::Membership { &pair[..] } else { &alone };
        let cells = offsets.iter().flat_map(|&offset| bases.iter().map(move |base| base + u64::from(offset)));
        let mut cells: Positions = cells.collect();
        cells.distinct();
        cells
    }

    /// Puts a key at an offset and says whether a bit was new.
    pub(super) fn mark(&mut self, digest: Digest, offset: u32) -> bool {
        let cells = self.cells(digest, offset);
        let mut fresh = false;
        for &cell in cells.iter() {
            fresh |= self.array.bits.set(cell);
            if let Some(counters) = &mut self.counters {
                counters.update(cell, |counter| counter.saturating_add(1));
            }
        }
        fresh
    }

    /// Takes a key from an offset. A counter that is full stays so forever.
    pub(super) fn unmark(&mut self, digest: Digest, offset: u32) {
        let cells = self.cells(digest, offset);
        let Some(counters) = &mut self.counters else { return };
        let full = counters.max();
        for &cell in cells.iter() {
            let before =
                counters.update(cell, |counter| if counter == full { full } else { counter.saturating_sub(1) });
            if before == 1 {
                self.array.bits.clear(cell);
            }
        }
    }

    /// The share of bases at which both this bit and the one `offset` behind it are one.
    pub(super) fn pairs(&self, offset: u32) -> f64 {
        let (m, words) = (self.shape.places.counters(), self.array.bits.words());
        let mut pairs = 0;
        for (i, &word) in words.iter().enumerate() {
            let left = m.saturating_sub(i as u64 * 64);
            let bases = if left >= 64 { word } else { word & !(u64::MAX << left) };
            if bases == 0 {
                continue;
            }
            let next = words.get(i + 1).copied().unwrap_or(0);
            let behind = if offset == 0 { word } else { word >> offset | next << (64 - offset) };
            pairs += u64::from((bases & behind).count_ones());
        }
        pairs as f64 / m as f64
    }

    /// The share of ones among the bits `offset` behind the bases.
    pub(super) fn fill_at(&self, offset: u32) -> f64 {
        let m = self.shape.places.counters();
        self.array.bits.count_ones_in(offset.into(), m.saturating_add(offset.into())) as f64 / m as f64
    }

    /// The share of absent keys that seem present with this content.
    pub(super) fn rate_now(&self) -> f64 {
        let (Shape { form, span, .. }, bases) = (self.shape, self.reads() as i32);
        let mean = |offsets: std::ops::RangeInclusive<u32>, rate: &dyn Fn(u32) -> f64| {
            let count = offsets.clone().count().max(1) as f64;
            offsets.map(rate).sum::<f64>() / count
        };
        match form {
            Form::Membership => mean(1..=span - 1, &|offset| self.pairs(offset).powi(bases)),
            Form::Association => {
                let rate = |offset| self.fill_at(offset).powi(bases);
                let half = (span - 1) / 2;
                1.0 - (1.0 - rate(0)) * (1.0 - mean(1..=half, &rate)) * (1.0 - mean(2..=2 * half, &rate))
            }
            Form::Multiplicity => 1.0 - (0..span).map(|offset| 1.0 - self.fill_at(offset).powi(bases)).product::<f64>(),
        }
    }
}
