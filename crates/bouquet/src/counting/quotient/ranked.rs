//! Slots with two bits of rank and select each, and an offset per 64: the layout of the rank-select quotient filter.
//!
//! ```text
//! block   | 64 occupieds | 64 runends | 64 remainders of r bits |      and 8 bits of offset
//! ```
//!
//! Bit i of the *occupieds* tells that home i has a run, bit j of the *runends* that a run ends in slot j. Runs are in the
//! order of their homes, each as near to its home as those before it allow, so that the n-th home with a run has the run
//! that ends at the n-th runend. The *offset* of a block is the number of slots from its begin on that belong to runs of
//! earlier homes; from there on, runends are counted within the block. It has 8 bits: 255 means that or more, and the
//! true value follows from the blocks before.
//!
//! Occupieds, runends and remainders of a block lie together, because an operation needs all three; the offsets, a word for
//! 512 slots, apart.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::simd::{ones::Ones, prefetch};
use crate::store::{BitStore, Words, field_max, read_field, write_field};

use super::Table;

const SLOTS: u64 = 64;

/// An offset of this or more.
const MANY: u8 = u8::MAX;

/// The words of a block before its remainders.
const HEAD: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    words: Words,
    offsets: Vec<u8>,
    /// Bits of a remainder.
    width: u32,
    ones: Ones,
}

/// The bits below bit `at` (at most 64).
#[inline]
fn below(at: u64) -> u64 {
    if at >= 64 { u64::MAX } else { (1 << at) - 1 }
}

impl Ranked {
    pub(super) fn zeroed(slots: u64, width: u32) -> Result<Self> {
        let blocks = slots.div_ceil(SLOTS);
        let words = Words::zeroed(blocks.saturating_mul(u64::from(width) + HEAD as u64))?;
        Ok(Ranked { words, offsets: vec![0; blocks as usize], width, ones: Ones::detect() })
    }

    /// The bits of so many slots: 2.125 each beside the remainder.
    pub(super) fn bits(slots: u64, width: u32) -> Option<u64> {
        let blocks = slots.div_ceil(SLOTS);
        blocks.checked_mul(SLOTS)?.checked_mul(u64::from(width) + HEAD as u64)?.checked_add(blocks.checked_mul(8)?)
    }

    #[inline]
    fn stride(&self) -> usize {
        self.width as usize + HEAD
    }

    #[inline]
    fn blocks(&self) -> u64 {
        self.offsets.len() as u64
    }

    #[inline]
    fn occupieds(&self, block: u64) -> u64 {
        self.words.as_slice()[block as usize * self.stride()]
    }

    #[inline]
    fn runends(&self, block: u64) -> u64 {
        self.words.as_slice()[block as usize * self.stride() + 1]
    }

    /// A word of a block, to be changed.
    #[inline]
    fn head_mut(&mut self, block: u64, word: usize) -> &mut u64 {
        let at = block as usize * self.stride() + word;
        &mut self.words.as_mut_slice()[at]
    }

    #[inline]
    fn remainders(&self, block: u64) -> &[u64] {
        let begin = block as usize * self.stride();
        &self.words.as_slice()[begin + HEAD..begin + self.stride()]
    }

    #[inline]
    fn remainders_mut(&mut self, block: u64) -> &mut [u64] {
        let (begin, stride) = (block as usize * self.stride(), self.stride());
        &mut self.words.as_mut_slice()[begin + HEAD..begin + stride]
    }

    /// The slot behind the last of the first `runs` runs of a block's homes; without runs, behind those of earlier homes.
    #[inline]
    fn end_of(&self, block: u64, runs: u32) -> u64 {
        let offset = self.offsets[block as usize];
        let begin = if offset == MANY { self.true_begin(block) } else { block * SLOTS + u64::from(offset) };
        self.nth_end(begin, runs)
    }

    /// The slot behind the n-th runend from slot `begin` on; `begin` itself for none.
    #[inline]
    fn nth_end(&self, begin: u64, mut n: u32) -> u64 {
        if n == 0 {
            return begin;
        }
        let mut block = begin / SLOTS;
        let mut ends = if block < self.blocks() { self.runends(block) & !below(begin % SLOTS) } else { 0 };
        loop {
            if let Some(end) = self.ones.select(ends, n - 1) {
                return block * SLOTS + u64::from(end) + 1;
            }
            n -= self.ones.count(ends);
            block += 1;
            // As many runs end as homes have one, so this is not reached.
            if block >= self.blocks() {
                return self.slots();
            }
            ends = self.runends(block);
        }
    }

    /// The slot behind the runs of homes before a block whose offset does not tell.
    #[cold]
    fn true_begin(&self, block: u64) -> u64 {
        let mut known = block;
        // The first block has no runs before it.
        while known > 0 && self.offsets[known as usize] == MANY {
            known -= 1;
        }
        let mut end = known * SLOTS + u64::from(self.offsets[known as usize] % MANY);
        for earlier in known..block {
            end = self.nth_end(end.max(earlier * SLOTS), self.ones.count(self.occupieds(earlier)));
        }
        end.max(block * SLOTS)
    }

    /// The first slot from `slot` on that no run has.
    #[inline]
    fn first_unused(&self, mut slot: u64) -> Option<u64> {
        while slot < self.slots() {
            let homes = self.occupieds(slot / SLOTS) & below(slot % SLOTS + 1);
            let end = self.end_of(slot / SLOTS, self.ones.count(homes));
            if end <= slot {
                return Some(slot);
            }
            slot = end;
        }
        None
    }

    /// The first one in word `word` of the blocks from position `from` on.
    #[inline]
    fn next_one(&self, word: usize, from: u64) -> Option<u64> {
        let mut block = from / SLOTS;
        let mut keep = !below(from % SLOTS);
        while block < self.blocks() {
            let ones = self.words.as_slice()[block as usize * self.stride() + word] & keep;
            if ones != 0 {
                return Some(block * SLOTS + u64::from(ones.trailing_zeros()));
            }
            keep = u64::MAX;
            block += 1;
        }
        None
    }

    /// Moves the slots `from..to` and their runends up by one; slot `from` gets the value and no runend.
    fn shift_up(&mut self, from: u64, to: u64, value: u64) {
        let (width, first, last) = (self.width, from / SLOTS, to / SLOTS);
        for block in (first..=last).rev() {
            let begin = if block == first { from % SLOTS } else { 0 };
            // The last slot of a block leaves it; that of the last block is unused.
            let end = if block == last { to % SLOTS } else { SLOTS - 1 };
            let (carried, end_bit) = if block == first {
                (value, 0)
            } else {
                (
                    read_field(self.remainders(block - 1), (SLOTS - 1) * u64::from(width), width),
                    self.runends(block - 1) >> 63,
                )
            };
            shift_fields_up(self.remainders_mut(block), begin, end, width);
            write_field(self.remainders_mut(block), begin * u64::from(width), width, carried);
            let ends = self.head_mut(block, 1);
            let moved = (*ends & (below(end) & !below(begin))) << 1;
            *ends = *ends & !(below(end + 1) & !below(begin)) | moved | end_bit << begin;
        }
    }

    /// Moves the slots `from + 1..to` and their runends down by one; slot `to - 1` becomes empty.
    fn shift_down(&mut self, from: u64, to: u64) {
        let (width, first, last) = (self.width, from / SLOTS, (to - 1) / SLOTS);
        for block in first..=last {
            let begin = if block == first { from % SLOTS } else { 0 };
            let end = if block == last { (to - 1) % SLOTS } else { SLOTS - 1 };
            let (carried, end_bit) = if block == last {
                (0, 0)
            } else {
                (read_field(self.remainders(block + 1), 0, width), self.runends(block + 1) & 1)
            };
            shift_fields_down(self.remainders_mut(block), begin, end, width);
            write_field(self.remainders_mut(block), end * u64::from(width), width, carried);
            let ends = self.head_mut(block, 1);
            let moved = (*ends >> 1) & (below(end) & !below(begin));
            *ends = *ends & !(below(end + 1) & !below(begin)) | moved | end_bit << end;
        }
    }

    /// The bits of the occupieds, the runends, the remainders and the offsets, each together.
    pub(super) fn to_stores(&self) -> Result<[BitStore; 4]> {
        let (slots, width) = (self.slots(), u64::from(self.width));
        let sizes = [slots, slots, slots * width, self.blocks() * 8];
        let [mut occupieds, mut runends, mut remainders, mut offsets] = {
            let [a, b, c, d] = sizes.map(BitStore::zeroed);
            [a?, b?, c?, d?]
        };
        for block in 0..self.blocks() {
            let at = block as usize;
            occupieds.words_mut()[at] = self.occupieds(block);
            runends.words_mut()[at] = self.runends(block);
            let own = at * self.width as usize..(at + 1) * self.width as usize;
            remainders.words_mut()[own].copy_from_slice(self.remainders(block));
            write_field(offsets.words_mut(), block * 8, 8, self.offsets[at].into());
        }
        Ok([occupieds, runends, remainders, offsets])
    }

    /// The table of these stores, which must have the sizes that [`to_stores`](Self::to_stores) gives them.
    pub(super) fn from_stores(slots: u64, width: u32, stores: &[BitStore; 4]) -> Result<Self> {
        let mut table = Self::zeroed(slots, width)?;
        let [occupieds, runends, remainders, offsets] = stores;
        for block in 0..table.blocks() {
            let at = block as usize;
            *table.head_mut(block, 0) = occupieds.words()[at];
            *table.head_mut(block, 1) = runends.words()[at];
            let own = at * width as usize..(at + 1) * width as usize;
            table.remainders_mut(block).copy_from_slice(&remainders.words()[own]);
            table.offsets[at] = read_field(offsets.words(), block * 8, 8) as u8;
        }
        table.check()?;
        Ok(table)
    }

    /// Refuses what no sequence of operations leads to: as many runends as homes, each behind its run's begin, offsets
    /// that agree with them, and zeros in slots that no run has.
    fn check(&self) -> Result<()> {
        let corrupt =
            |what: &str, slot: u64| Error::corrupt(what, "a sequence of runs", format!("other at slot {slot}"));
        let (mut unused, mut home) = (0, None);
        for block in 0..self.blocks() {
            // Behind the runs of homes before the block.
            let begin = unused.max(block * SLOTS);
            let offset = (begin - block * SLOTS).min(u64::from(MANY));
            if u64::from(self.offsets[block as usize]) != offset {
                return Err(corrupt("offset of a block", block * SLOTS));
            }
            let mut homes = self.occupieds(block);
            while homes != 0 {
                let next = block * SLOTS + u64::from(homes.trailing_zeros());
                homes &= homes - 1;
                let start = unused.max(next);
                if (unused..start).any(|slot| self.get(slot) != 0)
                    || self.next_one(1, unused).is_some_and(|end| end < start)
                {
                    return Err(corrupt("unused slots", unused));
                }
                unused = self.next_one(1, start).ok_or_else(|| corrupt("runends", start))? + 1;
                home = Some(next);
            }
        }
        let rest_is_empty =
            (unused..self.slots()).all(|slot| self.get(slot) == 0) && self.next_one(1, unused).is_none();
        if rest_is_empty { Ok(()) } else { Err(corrupt("slots behind the last run", home.unwrap_or(0))) }
    }
}

impl Table for Ranked {
    #[inline]
    fn slots(&self) -> u64 {
        self.blocks() * SLOTS
    }

    #[inline]
    fn prefetch(&self, home: u64) {
        let begin = (home / SLOTS) as usize * self.stride();
        prefetch(self.words.as_slice(), begin);
        prefetch(self.words.as_slice(), begin + HEAD + ((home % SLOTS) * u64::from(self.width) / 64) as usize);
    }

    #[inline]
    fn is_occupied(&self, home: u64) -> bool {
        self.occupieds(home / SLOTS) >> (home % SLOTS) & 1 == 1
    }

    #[inline]
    fn is_end(&self, slot: u64) -> bool {
        self.runends(slot / SLOTS) >> (slot % SLOTS) & 1 == 1
    }

    #[inline]
    fn run_begin(&self, home: u64) -> u64 {
        let (block, at) = (home / SLOTS, home % SLOTS);
        let earlier = self.occupieds(block) & below(at);
        self.end_of(block, self.ones.count(earlier)).max(home)
    }

    #[inline]
    fn run_end(&self, begin: u64) -> u64 {
        self.next_one(1, begin).map_or(self.slots(), |end| end + 1)
    }

    fn next_home(&self, from: u64) -> Option<u64> {
        self.next_one(0, from)
    }

    #[inline]
    fn get(&self, slot: u64) -> u64 {
        read_field(self.remainders(slot / SLOTS), slot % SLOTS * u64::from(self.width), self.width)
    }

    #[inline]
    fn set(&mut self, slot: u64, value: u64) {
        let width = self.width;
        let value = value & field_max(width);
        write_field(self.remainders_mut(slot / SLOTS), slot % SLOTS * u64::from(width), width, value);
    }

    fn open(&mut self, home: u64, run: &mut Range<u64>, slot: u64, value: u64) -> bool {
        // A home without run that begins at itself is not in use.
        let is_unused = run.is_empty() && slot == home;
        let unused = if is_unused { Some(slot) } else { self.first_unused(slot) };
        let Some(unused) = unused else { return false };
        self.shift_up(slot, unused, value);
        if run.is_empty() {
            *self.head_mut(home / SLOTS, 0) |= 1 << (home % SLOTS);
            *self.head_mut(slot / SLOTS, 1) |= 1 << (slot % SLOTS);
        } else if slot == run.end {
            *self.head_mut((slot - 1) / SLOTS, 1) &= !(1 << ((slot - 1) % SLOTS));
            *self.head_mut(slot / SLOTS, 1) |= 1 << (slot % SLOTS);
        }
        run.end += 1;
        // All slots from the home to the unused one belong to runs of homes before these blocks, one more than before.
        for block in home / SLOTS + 1..=unused / SLOTS {
            let offset = &mut self.offsets[block as usize];
            *offset = offset.saturating_add(1);
        }
        true
    }

    fn close(&mut self, home: u64, run: &mut Range<u64>, slot: u64) {
        // Later runs move down too, up to the first that begins at its home.
        let (mut last, mut end) = (home, run.end);
        while let Some(next) = self.next_home(last + 1).filter(|&next| next < end) {
            (last, end) = (next, self.run_end(end));
        }
        self.shift_down(slot, end);
        if run.end - run.start == 1 {
            *self.head_mut(home / SLOTS, 0) &= !(1 << (home % SLOTS));
        } else if slot + 1 == run.end {
            *self.head_mut((slot - 1) / SLOTS, 1) |= 1 << ((slot - 1) % SLOTS);
        }
        run.end -= 1;
        for block in home / SLOTS + 1..=(end - 1) / SLOTS {
            if self.offsets[block as usize] == MANY {
                let offset = self.true_begin(block) - block * SLOTS;
                self.offsets[block as usize] = offset.min(u64::from(MANY)) as u8;
            } else {
                self.offsets[block as usize] -= 1;
            }
        }
    }
}

/// Moves the fields `begin..end` of `width` bits up by one field.
fn shift_fields_up(words: &mut [u64], begin: u64, end: u64, width: u32) {
    if begin >= end {
        return;
    }
    // Bits from..to go to from + width..to + width; words are done from the top.
    let (from, to) = (begin * u64::from(width) + u64::from(width), (end + 1) * u64::from(width));
    let (first, last) = ((from / 64) as usize, ((to - 1) / 64) as usize);
    for word in (first..=last).rev() {
        let low = if word > 0 { words[word - 1] >> (64 - width) } else { 0 };
        let keep_low = if word == first { below(from % 64) } else { 0 };
        let keep_high = if word == last { !below((to - 1) % 64 + 1) } else { 0 };
        let keep = keep_low | keep_high;
        words[word] = words[word] & keep | (words[word] << width | low) & !keep;
    }
}

/// Moves the fields `begin + 1..end + 1` of `width` bits down by one field.
fn shift_fields_down(words: &mut [u64], begin: u64, end: u64, width: u32) {
    if begin >= end {
        return;
    }
    let (from, to) = (begin * u64::from(width), end * u64::from(width));
    let (first, last) = ((from / 64) as usize, ((to - 1) / 64) as usize);
    for word in first..=last {
        let high = words.get(word + 1).map_or(0, |next| next << (64 - width));
        let keep_low = if word == first { below(from % 64) } else { 0 };
        let keep_high = if word == last { !below((to - 1) % 64 + 1) } else { 0 };
        let keep = keep_low | keep_high;
        words[word] = words[word] & keep | (words[word] >> width | high) & !keep;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn fields_move_by_one_and_others_stay() {
        let mut random = SplitMix::new(2);
        for width in [2, 3, 7, 13, 31, 63] {
            for _ in 0..200 {
                let before: Vec<u64> = (0..64).map(|_| random.next_u64() & field_max(width)).collect();
                let mut words = vec![0; width as usize];
                (0..64).for_each(|i| write_field(&mut words, i * u64::from(width), width, before[i as usize]));
                let begin = random.below(64);
                let end = begin + random.below(64 - begin);
                let read = |words: &[u64]| (0..64).map(|i| read_field(words, i * u64::from(width), width)).collect();
                let (mut up, mut down) = (words.clone(), words);
                shift_fields_up(&mut up, begin, end, width);
                shift_fields_down(&mut down, begin, end, width);
                let (begin, end) = (begin as usize, end as usize);
                let mut expected = before.clone();
                expected.copy_within(begin..end, begin + 1);
                let found: Vec<u64> = read(&up);
                assert_eq!(found, expected, "up, width {width}, {begin}..{end}");
                let mut expected = before;
                expected.copy_within(begin + 1..end + 1, begin);
                let found: Vec<u64> = read(&down);
                assert_eq!(found, expected, "down, width {width}, {begin}..{end}");
            }
        }
    }
}
