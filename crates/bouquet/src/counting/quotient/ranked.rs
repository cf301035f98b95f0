//! Slots with two bits of rank and select each, and an offset per 64: the layout of the rank-select quotient filter.
//!
//! ```text
//! block   | 8 bits of offset | 64 occupieds | 64 runends | 64 remainders of r bits |
//! ```
//!
//! Bit i of the *occupieds* tells that home i has a run, bit j of the *runends* that a run ends in slot j. Runs are in the
//! order of their homes, each as near to its home as those before it allow, so that the n-th home with a run has the run
//! that ends at the n-th runend. The *offset* of a block is the number of slots from its begin on that belong to runs of
//! earlier homes; from there on, runends are counted within the block. It has 8 bits: 255 means that or more, and the
//! true value follows from the blocks before.
//!
//! All parts of a block lie together, because an operation needs them all. Blocks are not aligned to words: eight bytes are
//! read from any byte on, which are remainders of eight bytes less seven bits.
//!
//! Most operations concern one block and a run whose remainders fit in a word. Those are done on its words in registers,
//! without a branch that depends on what the block holds but where it must be, because it could not be predicted.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::simd::{ones::Ones, prefetch, window};
use crate::store::lanes::Lanes;
use crate::store::{BitStore, Words, field_max, read_field, write_field};

use super::table::Table;

const SLOTS: u64 = 64;

/// The places of the parts of a block, in bytes: the offset comes first.
const OCCUPIEDS: usize = 1;
const RUNENDS: usize = 9;
const REMAINDERS: usize = 17;

/// Bytes behind the last block, so that a window on its last remainder is read as any other.
const MARGIN: usize = 16;

/// The bits that eight bytes hold from any bit of the first on.
const WINDOW: u32 = 57;

/// An offset of this or more.
const MANY: u8 = u8::MAX;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    /// The bytes of the blocks.
    words: Words,
    blocks: u64,
    /// The remainders that fit in a window.
    lanes: Lanes,
    ones: Ones,
}

/// Occupieds and runends of a block of which fewer than 64 slots belong to earlier homes.
#[derive(Clone, Copy)]
struct Head {
    occupieds: u64,
    /// The runends of the block's own homes.
    ends: u64,
    /// The slot behind the runs of earlier homes, and those behind each of the runends: with n ones below it, a one tells
    /// where the first n runs end.
    behind: u64,
}

impl Head {
    #[inline(always)]
    fn new(occupieds: u64, runends: u64, offset: u32) -> Self {
        let first: u64 = 1 << (offset % 64);
        let ends = runends & first.wrapping_neg();
        Head { occupieds, ends, behind: ends << 1 | first }
    }

    /// Of the block that these bytes begin with; nothing if more than its slots belong to earlier homes.
    #[inline(always)]
    fn of(block: &[u8]) -> Option<Self> {
        let head: &[u8; REMAINDERS] = block.first_chunk()?;
        let offset = head[0];
        (offset < SLOTS as u8).then(|| Head::new(load(head, OCCUPIEDS), load(head, RUNENDS), offset.into()))
    }

    /// The slot behind the runs of the homes below `homes`, but not before `least` (at most 63); 64 if it is not in the block.
    #[inline(always)]
    fn behind(self, homes: u32, least: u32, ones: Ones) -> u32 {
        let behind = ones.nth(self.behind, ones.count(self.occupieds & below(homes.into())));
        // The larger of two ones, found without a comparison: as it cannot be predicted, that must not become a branch.
        (!(behind.wrapping_sub(1) | ((1 << least) - 1))).trailing_zeros()
    }

    /// The first slot from `slot` on that no run of an earlier home reaches; with `own` = 1, nor one of this home, so that it
    /// is unused. 64 if it is not in the block.
    #[inline(always)]
    fn settle(self, mut slot: u32, own: u32, ones: Ones) -> u32 {
        while slot < 64 {
            let behind = self.behind(slot + own, slot, ones);
            if behind == slot {
                break;
            }
            slot = behind;
        }
        slot
    }
}

/// The run of a home, where it is in the block and fits in a word.
#[derive(Clone, Copy)]
struct Run {
    /// The first slot and the number of slots, none if the home has no run.
    begin: u32,
    len: u32,
    /// The remainders, and the highest bits of their lanes.
    window: u64,
    lanes: u64,
}

/// What a run has of a remainder.
///
/// Whether a symbol is a remainder or a digit of a counter is not known here. But if the symbols that are less than the
/// remainder come first in the run, then the first of the others is the remainder if it is in: a code that begins with a lesser
/// remainder ends with it, too, so that its digits are all less; and the symbols of a code that begins with a larger one come
/// behind.
enum Share {
    /// None of its symbols.
    Nothing,
    /// The remainder, behind this many others, and once if nothing else equals it.
    Slot { before: u32, once: bool },
    /// Only the codes can tell.
    Unclear,
}

impl Run {
    /// The run of home number `at` in the block that these bytes begin with.
    #[inline(always)]
    fn new(head: Head, block: &[u8], at: u32, lanes: Lanes, ones: Ones) -> Option<Self> {
        let begin = head.behind(at, at, ones);
        let occupied = (head.occupieds >> at & 1) as u32;
        // More than a window has lanes where a run does not end in the block.
        let len = ((head.ends >> (begin % 64) | 1 << 63).trailing_zeros() + 1) & occupied.wrapping_neg();
        if begin > 63 || len > lanes.count() {
            return None;
        }
        let (byte, shift) = field(begin, lanes.width());
        let window = load(block, byte) >> shift;
        let lanes = lanes.highest() & ((1 << (len * lanes.width())) - 1);
        Some(Run { begin, len, window, lanes })
    }

    /// The highest bits of the lanes that are less than the remainder, and of those that equal it.
    #[inline(always)]
    fn compare(&self, remainder: u64, lanes: Lanes) -> (u64, u64) {
        let own = lanes.spread(remainder);
        (lanes.less(self.window, own) & self.lanes, lanes.zero(self.window ^ own) & self.lanes)
    }

    #[inline(always)]
    fn share(&self, remainder: u64, lanes: Lanes, ones: Ones) -> Share {
        let (less, equal) = self.compare(remainder, lanes);
        if equal == 0 {
            return Share::Nothing;
        }
        let first = equal & equal.wrapping_neg();
        if less != lanes.highest() & (first - 1) {
            return Share::Unclear;
        }
        Share::Slot { before: ones.count(less), once: equal == first }
    }

    /// The slot where a remainder belongs that the run does not have; nothing if only the codes can tell.
    #[inline(always)]
    fn room(&self, remainder: u64, lanes: Lanes, ones: Ones) -> Option<u32> {
        let (less, equal) = self.compare(remainder, lanes);
        let others = self.lanes & !less;
        ((equal | less & others.wrapping_neg()) == 0).then(|| self.begin + ones.count(less))
    }
}

/// Where in a block the remainder of a slot begins: the byte and the bit in it.
#[inline(always)]
fn field(slot: u32, width: u32) -> (usize, u32) {
    let bit = slot * width;
    (REMAINDERS + (bit / 8) as usize, bit % 8)
}

/// The eight bytes from byte `at` on; zero if they are not there.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    window(bytes, at).map_or(0, |&word| u64::from_le_bytes(word))
}

/// Changes the eight bytes from byte `at` on.
#[inline(always)]
fn change(bytes: &mut [u8], at: usize, to: impl FnOnce(u64) -> u64) {
    if let Some(word) = bytes.get_mut(at..at + 8).and_then(<[u8]>::first_chunk_mut) {
        *word = to(u64::from_le_bytes(*word)).to_le_bytes();
    }
}

/// The remainder of a slot of a block, if it fits in a window.
#[inline(always)]
fn get(block: &[u8], slot: u32, width: u32) -> u64 {
    let (byte, shift) = field(slot, width);
    load(block, byte) >> shift & field_max(width)
}

/// Inverts the bits of a remainder of an unused slot, or makes it zero.
#[inline(always)]
fn invert(block: &mut [u8], slot: u32, width: u32, remainder: u64) {
    let (byte, shift) = field(slot, width);
    change(block, byte, |word| word ^ remainder << shift);
    if width > WINDOW {
        change(block, byte + 8, |word| word ^ remainder >> 1 >> (63 - shift));
    }
}

/// The bits below bit `at` (at most 64).
#[inline]
fn below(at: u64) -> u64 {
    if at >= 64 { u64::MAX } else { (1 << at) - 1 }
}

impl Ranked {
    pub(super) fn zeroed(slots: u64, width: u32) -> Result<Self> {
        let blocks = slots.div_ceil(SLOTS);
        let bytes = blocks.saturating_mul(stride(width) as u64).saturating_add(MARGIN as u64);
        let lanes = Lanes::new(WINDOW / width, width);
        Ok(Ranked { words: Words::zeroed(bytes.div_ceil(8))?, blocks, lanes, ones: Ones::detect() })
    }

    /// The bits of this many slots: 2.125 each beside the remainder.
    pub(super) fn bits(slots: u64, width: u32) -> Option<u64> {
        let blocks = slots.div_ceil(SLOTS);
        blocks.checked_mul(SLOTS)?.checked_mul(u64::from(width) + 2)?.checked_add(blocks.checked_mul(8)?)
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.words.as_slice())
    }

    /// Where a block begins.
    #[inline(always)]
    fn begin(&self, block: u64) -> usize {
        block as usize * stride(self.lanes.width())
    }

    /// The bytes from a block on.
    #[inline]
    fn block(&self, block: u64) -> &[u8] {
        &self.bytes()[self.begin(block)..]
    }

    #[inline]
    fn block_mut(&mut self, block: u64) -> &mut [u8] {
        let begin = self.begin(block);
        &mut bytemuck::cast_slice_mut::<u64, u8>(self.words.as_mut_slice())[begin..]
    }

    #[inline]
    fn offset(&self, block: u64) -> u8 {
        self.block(block)[0]
    }

    #[inline]
    fn occupieds(&self, block: u64) -> u64 {
        load(self.block(block), OCCUPIEDS)
    }

    #[inline]
    fn runends(&self, block: u64) -> u64 {
        load(self.block(block), RUNENDS)
    }

    /// Changes the bit of a slot in the words at this place of the blocks.
    fn set_bit(&mut self, place: usize, slot: u64, bit: bool) {
        let one = 1 << (slot % SLOTS);
        change(self.block_mut(slot / SLOTS), place, |word| if bit { word | one } else { word & !one });
    }

    /// The remainders of a block, and what lies behind them.
    #[inline]
    fn remainders_mut(&mut self, block: u64) -> &mut [u8] {
        &mut self.block_mut(block)[REMAINDERS..]
    }

    /// The slot behind the runs of homes before a block, or its first.
    #[inline]
    fn begin_of(&self, block: u64) -> u64 {
        let offset = self.offset(block);
        if offset == MANY { self.true_begin(block) } else { block * SLOTS + u64::from(offset) }
    }

    /// The slot behind the n-th runend from slot `begin` on; `begin` itself for none.
    #[inline]
    fn nth_end(&self, begin: u64, mut n: u32) -> u64 {
        if n == 0 {
            return begin;
        }
        let mut block = begin / SLOTS;
        let mut ends = if block < self.blocks { self.runends(block) & !below(begin % SLOTS) } else { 0 };
        loop {
            if let Some(end) = self.ones.select(ends, n - 1) {
                return block * SLOTS + u64::from(end) + 1;
            }
            n -= self.ones.count(ends);
            block += 1;
            // As many runs end as homes have one, so this is not reached.
            if block >= self.blocks {
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
        while known > 0 && self.offset(known) == MANY {
            known -= 1;
        }
        let mut end = known * SLOTS + u64::from(self.offset(known) % MANY);
        for earlier in known..block {
            end = self.nth_end(end.max(earlier * SLOTS), self.ones.count(self.occupieds(earlier)));
        }
        end.max(block * SLOTS)
    }

    /// The first slot from `slot` on that no run of an earlier home reaches; with `own` = 1, nor one of this home, so that it
    /// is unused. The number of slots if there is none.
    fn settle(&self, mut slot: u64, own: u32) -> u64 {
        while slot < self.slots() {
            let (block, begin) = (slot / SLOTS, self.begin_of(slot / SLOTS));
            slot = slot.max(begin);
            if slot / SLOTS == block {
                let head = Head::new(self.occupieds(block), self.runends(block), (begin % SLOTS) as u32);
                let settled = head.settle((slot % SLOTS) as u32, own, self.ones);
                slot = block * SLOTS + u64::from(settled);
                if settled < 64 {
                    break;
                }
            }
        }
        slot.min(self.slots())
    }

    /// The first one in the words at this place of the blocks from position `from` on.
    #[inline]
    fn next_one(&self, place: usize, from: u64) -> Option<u64> {
        let mut block = from / SLOTS;
        let mut keep = !below(from % SLOTS);
        while block < self.blocks {
            let ones = load(self.block(block), place) & keep;
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
        let (width, first, last) = (self.lanes.width(), from / SLOTS, to / SLOTS);
        let (mut carried, mut end_bit) = (value, 0);
        for block in first..=last {
            let begin = if block == first { from % SLOTS } else { 0 };
            let end = if block == last { to % SLOTS + 1 } else { SLOTS };
            carried = shift_fields_up(self.remainders_mut(block), begin, end, width, carried);
            end_bit = shift_bits_up(self.block_mut(block), begin, end, end_bit);
        }
    }

    /// Moves the slots `from + 1..to` and their runends down by one; slot `to - 1` becomes empty.
    fn shift_down(&mut self, from: u64, to: u64) {
        let (width, first, last) = (self.lanes.width(), from / SLOTS, (to - 1) / SLOTS);
        let (mut carried, mut end_bit) = (0, 0);
        for block in (first..=last).rev() {
            let begin = if block == first { from % SLOTS } else { 0 };
            let end = if block == last { (to - 1) % SLOTS + 1 } else { SLOTS };
            carried = shift_fields_down(self.remainders_mut(block), begin, end, width, carried);
            end_bit = shift_bits_down(self.block_mut(block), begin, end, end_bit);
        }
    }

    /// The bits of the occupieds, the runends, the remainders and the offsets, each together.
    pub(super) fn to_stores(&self) -> [BitStore; 4] {
        let (slots, width) = (self.slots(), self.lanes.width() as usize);
        let sizes = [slots, slots, slots * width as u64, self.blocks * 8];
        let [mut occupieds, mut runends, mut remainders, mut offsets] = sizes.map(BitStore::for_copy);
        for block in 0..self.blocks {
            let at = block as usize;
            occupieds.words_mut()[at] = self.occupieds(block);
            runends.words_mut()[at] = self.runends(block);
            let own = at * width..(at + 1) * width;
            let own = &mut remainders.words_mut()[own];
            let words = self.block(block)[REMAINDERS..].as_chunks().0;
            own.iter_mut().zip(words).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
            write_field(offsets.words_mut(), block * 8, 8, self.offset(block).into());
        }
        [occupieds, runends, remainders, offsets]
    }

    /// The table of these stores, which must have the sizes that [`to_stores`](Self::to_stores) gives them.
    pub(super) fn from_stores(slots: u64, width: u32, stores: &[BitStore; 4]) -> Result<Self> {
        let mut table = Self::zeroed(slots, width)?;
        let [occupieds, runends, remainders, offsets] = stores;
        for block in 0..table.blocks {
            let at = block as usize;
            let own = &remainders.words()[at * width as usize..(at + 1) * width as usize];
            let bytes = table.block_mut(block);
            bytes[0] = read_field(offsets.words(), block * 8, 8) as u8;
            change(bytes, OCCUPIEDS, |_| occupieds.words()[at]);
            change(bytes, RUNENDS, |_| runends.words()[at]);
            let target = bytes[REMAINDERS..].as_chunks_mut().0;
            target.iter_mut().zip(own).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        }
        table.check()?;
        Ok(table)
    }

    /// Whether slots hold nothing, as many at a time as a window has.
    #[inline]
    fn are_zero(&self, mut slots: Range<u64>) -> bool {
        let (width, lanes) = (self.lanes.width(), u64::from(self.lanes.count()));
        while slots.start < slots.end {
            let block = slots.start / SLOTS;
            let in_window = slots.end.min((block + 1) * SLOTS).min(slots.start + lanes) - slots.start;
            let (byte, shift) = field((slots.start % SLOTS) as u32, width);
            let held = match in_window {
                0 => self.get(slots.start),
                _ => load(self.block(block), byte) >> shift & below(in_window * u64::from(width)),
            };
            if held != 0 {
                return false;
            }
            slots.start += in_window.max(1);
        }
        true
    }

    /// Refuses what no sequence of operations leads to: as many runends as homes, each behind its run's begin, offsets
    /// that agree with them, and zeros in slots that no run has.
    fn check(&self) -> Result<()> {
        let corrupt =
            |what: &str, slot: u64| Error::corrupt(what, "a sequence of runs", format!("other at slot {slot}"));
        let (mut unused, mut home) = (0, None);
        for block in 0..self.blocks {
            // Behind the runs of homes before the block.
            let begin = unused.max(block * SLOTS);
            let offset = (begin - block * SLOTS).min(u64::from(MANY));
            if u64::from(self.offset(block)) != offset {
                return Err(corrupt("offset of a block", block * SLOTS));
            }
            let mut homes = self.occupieds(block);
            while homes != 0 {
                let next = block * SLOTS + u64::from(homes.trailing_zeros());
                homes &= homes - 1;
                let start = unused.max(next);
                let end = self.next_one(RUNENDS, unused).ok_or_else(|| corrupt("runends", start))?;
                if end < start || !self.are_zero(unused..start) {
                    return Err(corrupt("unused slots", unused));
                }
                unused = end + 1;
                home = Some(next);
            }
        }
        let rest_is_empty = self.are_zero(unused..self.slots()) && self.next_one(RUNENDS, unused).is_none();
        if rest_is_empty { Ok(()) } else { Err(corrupt("slots behind the last run", home.unwrap_or(0))) }
    }
}

impl Table for Ranked {
    #[inline]
    fn slots(&self) -> u64 {
        self.blocks * SLOTS
    }

    #[inline]
    fn remainder_bits(&self) -> u32 {
        self.lanes.width()
    }

    #[inline]
    fn prefetch(&self, home: u64) {
        let begin = self.begin(home / SLOTS);
        prefetch(self.bytes(), begin);
        prefetch(self.bytes(), begin + field((home % SLOTS) as u32, self.lanes.width()).0);
    }

    #[inline]
    fn is_occupied(&self, home: u64) -> bool {
        let head: Option<&[u8; REMAINDERS]> = window(self.bytes(), self.begin(home / SLOTS));
        head.is_some_and(|head| load(head, OCCUPIEDS) >> (home % SLOTS) & 1 == 1)
    }

    #[inline]
    fn run_begin(&self, home: u64) -> u64 {
        let (block, at) = (home / SLOTS, home % SLOTS);
        let earlier = self.occupieds(block) & below(at);
        self.nth_end(self.begin_of(block), self.ones.count(earlier)).max(home)
    }

    #[inline]
    fn run_end(&self, begin: u64) -> u64 {
        self.next_one(RUNENDS, begin).map_or(self.slots(), |end| end + 1)
    }

    /// One pass, because a run begins at its home or where the one before ends.
    #[inline]
    fn runs(&self) -> impl Iterator<Item = (u64, Range<u64>)> {
        let (mut block, mut homes, mut end) = (0, self.occupieds(0), 0);
        std::iter::from_fn(move || {
            while homes == 0 {
                block += 1;
                if block >= self.blocks {
                    return None;
                }
                homes = self.occupieds(block);
            }
            let home = block * SLOTS + u64::from(homes.trailing_zeros());
            homes &= homes - 1;
            let begin = home.max(end);
            end = self.run_end(begin);
            Some((home, begin..end))
        })
    }

    fn next_home(&self, from: u64) -> Option<u64> {
        self.next_one(OCCUPIEDS, from)
    }

    #[inline]
    fn get(&self, slot: u64) -> u64 {
        let (byte, shift) = field((slot % SLOTS) as u32, self.lanes.width());
        let block = self.block(slot / SLOTS);
        let low = load(block, byte) >> shift;
        (low | load(block, byte + 8) << 1 << (63 - shift)) & field_max(self.lanes.width())
    }

    #[inline]
    fn set(&mut self, slot: u64, value: u64) {
        let (width, old) = (self.lanes.width(), self.get(slot));
        invert(self.block_mut(slot / SLOTS), (slot % SLOTS) as u32, width, old ^ value & field_max(width));
    }

    fn open(&mut self, home: u64, run: &mut Range<u64>, slot: u64, value: u64) -> bool {
        let unused = self.settle(run.end, 1);
        if unused >= self.slots() {
            return false;
        }
        self.shift_up(slot, unused, value);
        if run.is_empty() {
            self.set_bit(OCCUPIEDS, home, true);
            self.set_bit(RUNENDS, slot, true);
        } else if slot == run.end {
            self.set_bit(RUNENDS, slot - 1, false);
            self.set_bit(RUNENDS, slot, true);
        }
        run.end += 1;
        // All slots from the home to the unused one belong to runs of homes before these blocks, one more than before.
        for block in home / SLOTS + 1..=unused / SLOTS {
            let offset = &mut self.block_mut(block)[0];
            *offset = offset.saturating_add(1);
        }
        true
    }

    fn close(&mut self, home: u64, run: &mut Range<u64>, slot: u64) {
        // Later runs move down too, up to the first that begins at its home.
        let end = self.settle(run.end, 0);
        self.shift_down(slot, end);
        if run.end - run.start == 1 {
            self.set_bit(OCCUPIEDS, home, false);
        } else if slot + 1 == run.end {
            self.set_bit(RUNENDS, slot - 1, true);
        }
        run.end -= 1;
        for block in home / SLOTS + 1..=(end - 1) / SLOTS {
            let offset = match self.offset(block) {
                MANY => (self.true_begin(block) - block * SLOTS).min(u64::from(MANY)) as u8,
                offset => offset - 1,
            };
            self.block_mut(block)[0] = offset;
        }
    }

    #[inline]
    fn glance(&self, home: u64, remainder: u64) -> Option<bool> {
        let (width, ones, at) = (self.lanes.width(), self.ones, (home % SLOTS) as u32);
        let (bytes, place) = (self.bytes(), self.begin(home / SLOTS));
        let head: &[u8; REMAINDERS] = window(bytes, place)?;
        let offset = head[0];
        let head = Head::new(load(head, OCCUPIEDS), load(head, RUNENDS), offset.into());
        if head.occupieds >> at & 1 == 0 {
            return Some(false);
        }
        let begin = head.behind(at, at, ones);
        if u32::from(offset) | begin > 63 || self.lanes.count() < 2 {
            return self.glance_at_run(home, remainder);
        }
        // Almost all runs have one slot or two, each with a remainder: a counter takes three. What tells a slot from the
        // remainder is zero if nothing does, and then less one negative.
        let (byte, shift) = field(begin, width);
        let (window, ends) = (load(bytes, place + byte) >> shift, head.ends >> begin & 3);
        let first = (window ^ remainder) & field_max(width);
        let second = (window >> width ^ remainder) & field_max(width) | ends ^ 2;
        if (first.wrapping_sub(1) | second.wrapping_sub(1)) >> 63 == 1 {
            return Some(true);
        }
        if ends != 0 {
            return Some(false);
        }
        self.glance_at_run(home, remainder)
    }

    #[inline]
    fn add_simply(&mut self, home: u64, remainder: u64) -> bool {
        self.add_in_block(home, remainder).is_some()
    }

    #[inline]
    fn take_simply(&mut self, home: u64, remainder: u64) -> bool {
        self.take_in_block(home, remainder).is_some()
    }
}

impl Ranked {
    /// Whether a run has the remainder. Not inlined: it would take registers from the others.
    #[inline(never)]
    fn glance_at_run(&self, home: u64, remainder: u64) -> Option<bool> {
        let (lanes, ones, at) = (self.lanes, self.ones, (home % SLOTS) as u32);
        let block = self.block(home / SLOTS);
        let run = Run::new(Head::of(block)?, block, at, lanes, ones)?;
        match run.share(remainder, lanes, ones) {
            Share::Nothing => Some(false),
            Share::Slot { .. } => Some(true),
            Share::Unclear => None,
        }
    }
}

/// Changes of one block; nothing has changed when they give nothing.
impl Ranked {
    #[inline(always)]
    fn add_in_block(&mut self, home: u64, remainder: u64) -> Option<()> {
        let (lanes, ones, at) = (self.lanes, self.ones, (home % SLOTS) as u32);
        let block = self.block_mut(home / SLOTS);
        let head = Head::of(block)?;
        if head.behind(at + 1, at, ones) == at {
            // The home is unused, so that its bits are zero.
            change(block, OCCUPIEDS, |homes| homes | 1 << at);
            change(block, RUNENDS, |ends| ends | 1 << at);
            invert(block, at, lanes.width(), remainder);
            return Some(());
        }
        let run = Run::new(head, block, at, lanes, ones)?;
        let (slot, end) = (run.room(remainder, lanes, ones)?, run.begin + run.len);
        let unused = head.settle(end, 1, ones);
        if unused > 63 {
            return None;
        }
        let (slot, unused) = (u64::from(slot), u64::from(unused));
        change(block, OCCUPIEDS, |homes| homes | 1 << at);
        // The run's end is here if this is the last of its slots, and then no longer in the one before.
        let ends_here = slot == u64::from(end);
        shift_bits_up(block, slot, unused + 1, ends_here.into());
        change(block, RUNENDS, |ends| ends & !(u64::from(ends_here & (run.len > 0)) << slot >> 1));
        shift_fields_up(&mut block[REMAINDERS..], slot, unused + 1, lanes.width(), remainder);
        Some(())
    }

    #[inline(always)]
    fn take_in_block(&mut self, home: u64, remainder: u64) -> Option<()> {
        let (lanes, ones, at) = (self.lanes, self.ones, (home % SLOTS) as u32);
        let block = self.block_mut(home / SLOTS);
        let head = Head::of(block)?;
        if lanes.count() == 0 || head.occupieds >> at & 1 == 0 {
            return None;
        }
        let begin = head.behind(at, at, ones);
        if begin > 62 {
            return None;
        }
        let is_alone = head.ends >> begin & 1 == 1;
        let stays = head.behind(begin + 1, begin + 1, ones) == begin + 1;
        if is_alone & stays {
            // Nothing moves.
            if get(block, begin, lanes.width()) != remainder {
                return None;
            }
            change(block, OCCUPIEDS, |homes| homes & !(1 << at));
            change(block, RUNENDS, |ends| ends & !(1 << begin));
            invert(block, begin, lanes.width(), remainder);
            return Some(());
        }
        let run = Run::new(head, block, at, lanes, ones)?;
        // Another symbol that equals it may belong to a counter.
        let Share::Slot { before, once: true } = run.share(remainder, lanes, ones) else { return None };
        let end = run.begin + run.len;
        if end > 63 {
            return None;
        }
        let settled = head.settle(end, 0, ones);
        if settled > 63 {
            return None;
        }
        let (slot, settled) = (u64::from(run.begin + before), u64::from(settled));
        change(block, OCCUPIEDS, |homes| homes & !(u64::from(is_alone) << at));
        shift_bits_down(block, slot, settled, 0);
        // If it was the last of several, the run now ends before it.
        let ends_before = (slot + 1 == u64::from(end)) & !is_alone;
        change(block, RUNENDS, |ends| ends | u64::from(ends_before) << slot >> 1);
        shift_fields_down(&mut block[REMAINDERS..], slot, settled, lanes.width(), 0);
        Some(())
    }
}

/// The bytes of a block.
#[inline(always)]
fn stride(width: u32) -> usize {
    REMAINDERS + 8 * width as usize
}

/// Moves the fields `begin..end - 1` of `width` bits up by one field; the value comes in at `begin`. Gives back what was in
/// the last field.
#[inline]
fn shift_fields_up(bytes: &mut [u8], begin: u64, end: u64, width: u32, value: u64) -> u64 {
    let (from, to) = (begin * u64::from(width), end * u64::from(width));
    if let Some((at, low, moved)) = within_window(from, to) {
        let old = load(bytes, at);
        change(bytes, at, |_| old & !moved | ((old & moved) << width | value << low) & moved);
        return (old & moved) >> (low + to - from - u64::from(width));
    }
    let (last, top) = ((to - 1) / 64, (to - 1) % 64 + 1);
    let (mut carried, mut low) = (value, from % 64);
    for word in from / 64..=last {
        let high = if word == last { top } else { 64 };
        let moved = below(high) & !below(low);
        change(bytes, 8 * word as usize, |old| {
            let longer = u128::from((old & moved) >> low) << width | u128::from(carried);
            carried = (longer >> (high - low)) as u64;
            old & !moved | (longer as u64) << low & moved
        });
        low = 0;
    }
    carried
}

/// Moves the fields `begin + 1..end` of `width` bits down by one field; the value comes in at `end - 1`. Gives back what was in
/// the first field.
#[inline]
fn shift_fields_down(bytes: &mut [u8], begin: u64, end: u64, width: u32, value: u64) -> u64 {
    let (from, to) = (begin * u64::from(width), end * u64::from(width));
    if let Some((at, low, moved)) = within_window(from, to) {
        let old = load(bytes, at);
        let last = value << (low + to - from - u64::from(width));
        change(bytes, at, |_| old & !moved | (old & moved) >> width & moved | last);
        return old >> low & field_max(width);
    }
    let (mut carried, mut high) = (value, (to - 1) % 64 + 1);
    for word in (from / 64..=(to - 1) / 64).rev() {
        let low = if word == from / 64 { from % 64 } else { 0 };
        let moved = below(high) & !below(low);
        change(bytes, 8 * word as usize, |old| {
            let longer = u128::from((old & moved) >> low) | u128::from(carried) << (high - low);
            carried = longer as u64 & field_max(width);
            old & !moved | ((longer >> width) as u64) << low
        });
        high = 64;
    }
    carried
}

/// The byte from which on eight hold the bits `from..to`, the first of them there, and a one for each; nothing if there are
/// too many.
#[inline(always)]
fn within_window(from: u64, to: u64) -> Option<(usize, u64, u64)> {
    let (low, len) = (from % 8, to - from);
    (len <= WINDOW.into()).then(|| ((from / 8) as usize, low, u64::MAX >> (64 - len) << low))
}

/// [`shift_fields_up`] for the runends of a block.
#[inline]
fn shift_bits_up(block: &mut [u8], begin: u64, end: u64, bit: u64) -> u64 {
    let moved = below(end) & !below(begin);
    let ends = load(block, RUNENDS);
    change(block, RUNENDS, |_| ends & !moved | (ends & moved) << 1 & moved | bit << begin);
    ends >> (end - 1) & 1
}

/// [`shift_fields_down`] for the runends of a block.
#[inline]
fn shift_bits_down(block: &mut [u8], begin: u64, end: u64, bit: u64) -> u64 {
    let moved = below(end) & !below(begin);
    let ends = load(block, RUNENDS);
    change(block, RUNENDS, |_| ends & !moved | (ends & moved) >> 1 & moved | bit << (end - 1));
    ends >> begin & 1
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
                let mut words = vec![0; width as usize + 1];
                (0..64).for_each(|i| write_field(&mut words, i * u64::from(width), width, before[i as usize]));
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let begin = random.below(64);
                let end = begin + 1 + random.below(64 - begin);
                let value = random.next_u64() & field_max(width);
                let read = |bytes: &[u8]| {
                    let words: Vec<u64> = (0..=width as usize).map(|word| load(bytes, 8 * word)).collect();
                    (0..64).map(|i| read_field(&words, i * u64::from(width), width)).collect()
                };
                let (mut up, mut down) = (bytes.clone(), bytes);
                let over = shift_fields_up(&mut up, begin, end, width, value);
                let under = shift_fields_down(&mut down, begin, end, width, value);
                let (begin, end) = (begin as usize, end as usize);
                assert_eq!((over, under), (before[end - 1], before[begin]));
                let mut expected = before.clone();
                expected[begin..end].rotate_right(1);
                expected[begin] = value;
                let found: Vec<u64> = read(&up);
                assert_eq!(found, expected, "up, width {width}, {begin}..{end}");
                let mut expected = before;
                expected[begin..end].rotate_left(1);
                expected[end - 1] = value;
                let found: Vec<u64> = read(&down);
                assert_eq!(found, expected, "down, width {width}, {begin}..{end}");
            }
        }
    }
}
