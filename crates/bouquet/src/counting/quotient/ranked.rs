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
//!
//! Most operations concern one block and a run whose remainders fit in a word. Those are done on its words in registers,
//! without a branch that depends on what the block holds but where it must be, because it could not be predicted.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::simd::{ones::Ones, prefetch};
use crate::store::lanes::Lanes;
use crate::store::{BitStore, Words, field_max, invert_window, read_field, read_window, write_field};

use super::table::Table;

const SLOTS: u64 = 64;

/// An offset of this or more.
const MANY: u8 = u8::MAX;

/// The words of a block before its remainders.
const HEAD: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    words: Words,
    offsets: Vec<u8>,
    /// The remainders that fit in a word.
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
        let own = u64::MAX << (offset % 64);
        let ends = runends & own;
        Head { occupieds, ends, behind: ends << 1 | (own & own.wrapping_neg()) }
    }

    /// Of the block of these words; nothing if more than its slots belong to earlier homes.
    #[inline(always)]
    fn of(block: &[u64], offset: u8) -> Option<Self> {
        (offset < SLOTS as u8).then(|| Head::new(block[0], block[1], offset.into()))
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

/// A run beside a remainder.
///
/// Whether a symbol is a remainder or a digit of a counter is not known here. But if the symbols that are less than the
/// remainder come first in the run, then the first of the others is the remainder if it is in: a code that begins with a lesser
/// remainder ends with it, too, so that its digits are all less; and the symbols of a code that begins with a larger one come
/// behind.
struct Order {
    /// The highest bits of the lanes of the run that are less.
    less: u64,
    /// The highest bit of the first lane that is not.
    first: u64,
    /// Whether those that are less come first.
    is_plain: bool,
}

impl Run {
    /// The run of home number `at` in a block of these remainders, behind which there is one word more.
    #[inline(always)]
    fn new(head: Head, remainders: &[u64], at: u32, lanes: Lanes, ones: Ones) -> Option<Self> {
        let begin = head.behind(at, at, ones);
        let occupied = (head.occupieds >> at & 1) as u32;
        // More than a word has lanes where a run does not end in the block.
        let len = ((head.ends >> (begin % 64) | 1 << 63).trailing_zeros() + 1) & occupied.wrapping_neg();
        if begin > 63 || len > lanes.count() {
            return None;
        }
        let window = lanes.of(read_window(remainders, u64::from(begin * lanes.width())));
        let lanes = lanes.highest() & below(u64::from(len * lanes.width()));
        Some(Run { begin, len, window, lanes })
    }

    /// The highest bits of the lanes that equal the remainder.
    #[inline(always)]
    fn equal(&self, remainder: u64, lanes: Lanes) -> u64 {
        lanes.zero(self.window ^ lanes.spread(remainder)) & self.lanes
    }

    #[inline(always)]
    fn order(&self, remainder: u64, lanes: Lanes) -> Order {
        let less = lanes.less(self.window, lanes.spread(remainder)) & self.lanes;
        let others = self.lanes & !less;
        let from_first = others.wrapping_neg();
        Order { less, first: others & from_first, is_plain: less & from_first == 0 }
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
        // One word more than the blocks have, so that a window on the last one's remainders is read as any other.
        let words = Words::zeroed(blocks.saturating_mul(u64::from(width) + HEAD as u64).saturating_add(1))?;
        let lanes = Lanes::new(64 / width, width);
        Ok(Ranked { words, offsets: vec![0; blocks as usize], lanes, ones: Ones::detect() })
    }

    /// The bits of so many slots: 2.125 each beside the remainder.
    pub(super) fn bits(slots: u64, width: u32) -> Option<u64> {
        let blocks = slots.div_ceil(SLOTS);
        blocks.checked_mul(SLOTS)?.checked_mul(u64::from(width) + HEAD as u64)?.checked_add(blocks.checked_mul(8)?)
    }

    #[inline]
    fn stride(&self) -> usize {
        self.lanes.width() as usize + HEAD
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

    /// The slot behind the runs of homes before a block, or its first.
    #[inline]
    fn begin_of(&self, block: u64) -> u64 {
        let offset = self.offsets[block as usize];
        if offset == MANY { self.true_begin(block) } else { block * SLOTS + u64::from(offset) }
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
        let (width, first, last) = (self.lanes.width(), from / SLOTS, to / SLOTS);
        let (mut carried, mut end_bit) = (value, 0);
        for block in first..=last {
            let begin = if block == first { from % SLOTS } else { 0 };
            let end = if block == last { to % SLOTS + 1 } else { SLOTS };
            carried = shift_fields_up(self.remainders_mut(block), begin, end, width, carried);
            end_bit = shift_bits_up(self.head_mut(block, 1), begin, end, end_bit);
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
            end_bit = shift_bits_down(self.head_mut(block, 1), begin, end, end_bit);
        }
    }

    /// The bits of the occupieds, the runends, the remainders and the offsets, each together.
    pub(super) fn to_stores(&self) -> Result<[BitStore; 4]> {
        let (slots, width) = (self.slots(), self.lanes.width() as usize);
        let sizes = [slots, slots, slots * width as u64, self.blocks() * 8];
        let [mut occupieds, mut runends, mut remainders, mut offsets] = {
            let [a, b, c, d] = sizes.map(BitStore::zeroed);
            [a?, b?, c?, d?]
        };
        for block in 0..self.blocks() {
            let at = block as usize;
            occupieds.words_mut()[at] = self.occupieds(block);
            runends.words_mut()[at] = self.runends(block);
            let own = at * width..(at + 1) * width;
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
    fn remainder_bits(&self) -> u32 {
        self.lanes.width()
    }

    #[inline]
    fn prefetch(&self, home: u64) {
        let begin = (home / SLOTS) as usize * self.stride();
        prefetch(self.words.as_slice(), begin);
        prefetch(self.words.as_slice(), begin + HEAD + ((home % SLOTS) * u64::from(self.lanes.width()) / 64) as usize);
    }

    #[inline]
    fn is_occupied(&self, home: u64) -> bool {
        self.occupieds(home / SLOTS) >> (home % SLOTS) & 1 == 1
    }

    #[inline]
    fn run_begin(&self, home: u64) -> u64 {
        let (block, at) = (home / SLOTS, home % SLOTS);
        let earlier = self.occupieds(block) & below(at);
        self.nth_end(self.begin_of(block), self.ones.count(earlier)).max(home)
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
        let width = self.lanes.width();
        read_field(self.remainders(slot / SLOTS), slot % SLOTS * u64::from(width), width)
    }

    #[inline]
    fn set(&mut self, slot: u64, value: u64) {
        let width = self.lanes.width();
        let value = value & field_max(width);
        write_field(self.remainders_mut(slot / SLOTS), slot % SLOTS * u64::from(width), width, value);
    }

    fn open(&mut self, home: u64, run: &mut Range<u64>, slot: u64, value: u64) -> bool {
        let unused = self.settle(run.end, 1);
        if unused >= self.slots() {
            return false;
        }
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
        let end = self.settle(run.end, 0);
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

    #[inline]
    fn glance(&self, home: u64, remainder: u64) -> Option<bool> {
        let (block, at) = ((home / SLOTS) as usize, (home % SLOTS) as u32);
        let begin = block * self.stride();
        let words = &self.words.as_slice()[begin..=begin + self.stride()];
        if words[0] >> at & 1 == 0 {
            return Some(false);
        }
        let head = Head::of(words, self.offsets[block])?;
        let run = Run::new(head, &words[HEAD..], at, self.lanes, self.ones)?;
        let equal = run.equal(remainder, self.lanes);
        if equal == 0 {
            return Some(false);
        }
        let order = run.order(remainder, self.lanes);
        order.is_plain.then_some(equal & order.first != 0)
    }

    #[inline]
    fn add_simply(&mut self, home: u64, remainder: u64) -> bool {
        let (lanes, ones) = (self.lanes, self.ones);
        let (block, at) = ((home / SLOTS) as usize, (home % SLOTS) as u32);
        let (begin, stride) = (block * self.stride(), self.stride());
        let words = &mut self.words.as_mut_slice()[begin..=begin + stride];
        let Some(head) = Head::of(words, self.offsets[block]) else { return false };
        if head.behind(at + 1, at, ones) == at {
            // The home is unused, so that its bits are zero.
            words[0] |= 1 << at;
            words[1] |= 1 << at;
            invert_window(&mut words[HEAD..], u64::from(at * lanes.width()), remainder);
            return true;
        }
        let Some(run) = Run::new(head, &words[HEAD..], at, lanes, ones) else { return false };
        let order = run.order(remainder, lanes);
        if !order.is_plain || run.equal(remainder, lanes) != 0 {
            return false;
        }
        let (slot, end) = (run.begin + ones.count(order.less), run.begin + run.len);
        let unused = head.settle(end, 1, ones);
        if unused > 63 {
            return false;
        }
        let (slot, unused) = (u64::from(slot), u64::from(unused));
        shift_fields_up(&mut words[HEAD..], slot, unused + 1, lanes.width(), remainder);
        words[0] |= 1 << at;
        // The run's end is here if this is the last of its slots, and then no longer in the one before.
        let ends_here = slot == u64::from(end);
        shift_bits_up(&mut words[1], slot, unused + 1, ends_here.into());
        words[1] &= !(u64::from(ends_here & (run.len > 0)) << slot >> 1);
        true
    }

    #[inline]
    fn take_simply(&mut self, home: u64, remainder: u64) -> bool {
        let (lanes, ones) = (self.lanes, self.ones);
        let (block, at) = ((home / SLOTS) as usize, (home % SLOTS) as u32);
        let (begin, stride) = (block * self.stride(), self.stride());
        let words = &mut self.words.as_mut_slice()[begin..=begin + stride];
        let Some(head) = Head::of(words, self.offsets[block]) else { return false };
        let Some(run) = Run::new(head, &words[HEAD..], at, lanes, ones) else { return false };
        let (order, equal) = (run.order(remainder, lanes), run.equal(remainder, lanes));
        // More than one symbol that equals it may be a counter.
        if !order.is_plain || equal == 0 || equal != order.first {
            return false;
        }
        let (slot, end) = (run.begin + ones.count(order.less), run.begin + run.len);
        if end > 63 {
            return false;
        }
        let is_alone = run.len == 1;
        if is_alone & (head.behind(end, end, ones) == end) {
            // Nothing moves.
            words[0] &= !(1 << at);
            words[1] &= !(1 << slot);
            invert_window(&mut words[HEAD..], u64::from(slot * lanes.width()), remainder);
            return true;
        }
        let settled = head.settle(end, 0, ones);
        if settled > 63 {
            return false;
        }
        let (slot, settled) = (u64::from(slot), u64::from(settled));
        shift_fields_down(&mut words[HEAD..], slot, settled, lanes.width(), 0);
        words[0] &= !(u64::from(is_alone) << at);
        shift_bits_down(&mut words[1], slot, settled, 0);
        // If it was the last of several, the run now ends before it.
        words[1] |= u64::from((slot + 1 == u64::from(end)) & !is_alone) << slot >> 1;
        true
    }
}

/// The two words in which the bits `from..to` are, and where in them, if they are in two: whether it is one or two then does not
/// matter, and could not be predicted.
#[inline(always)]
fn pair(words: &mut [u64], from: u64, to: u64) -> Option<(&mut [u64; 2], u128, u64)> {
    let (low, len) = (from % 64, to - from);
    if low + len > 128 {
        return None;
    }
    let pair = words.get_mut((from / 64) as usize..)?.first_chunk_mut()?;
    Some((pair, u128::MAX >> (128 - len) << low, low))
}

/// Moves the fields `begin..end - 1` of `width` bits up by one field; the value comes in at `begin`. Gives back what was in
/// the last field.
#[inline]
fn shift_fields_up(words: &mut [u64], begin: u64, end: u64, width: u32, value: u64) -> u64 {
    let (from, to) = (begin * u64::from(width), end * u64::from(width));
    if let Some((pair, moved, low)) = pair(words, from, to) {
        let old = u128::from(pair[0]) | u128::from(pair[1]) << 64;
        let new = old & !moved | ((old & moved) << width | u128::from(value) << low) & moved;
        *pair = [new as u64, (new >> 64) as u64];
        return (old >> (to - from - u64::from(width) + low)) as u64 & field_max(width);
    }
    let words = &mut words[(from / 64) as usize..=((to - 1) / 64) as usize];
    let (last, top) = (words.len() - 1, (to - 1) % 64 + 1);
    let (mut carried, mut low) = (value, from % 64);
    for (at, word) in words.iter_mut().enumerate() {
        let high = if at == last { top } else { 64 };
        let moved = below(high) & !below(low);
        let longer = u128::from((*word & moved) >> low) << width | u128::from(carried);
        *word = *word & !moved | (longer as u64) << low & moved;
        carried = (longer >> (high - low)) as u64;
        low = 0;
    }
    carried
}

/// Moves the fields `begin + 1..end` of `width` bits down by one field; the value comes in at `end - 1`. Gives back what was in
/// the first field.
#[inline]
fn shift_fields_down(words: &mut [u64], begin: u64, end: u64, width: u32, value: u64) -> u64 {
    let (from, to) = (begin * u64::from(width), end * u64::from(width));
    if let Some((pair, moved, low)) = pair(words, from, to) {
        let old = u128::from(pair[0]) | u128::from(pair[1]) << 64;
        let last = u128::from(value) << (to - from - u64::from(width)) << low;
        let new = old & !moved | (old & moved) >> width & moved | last;
        *pair = [new as u64, (new >> 64) as u64];
        return (old >> low) as u64 & field_max(width);
    }
    let words = &mut words[(from / 64) as usize..=((to - 1) / 64) as usize];
    let (mut carried, mut high) = (value, (to - 1) % 64 + 1);
    for (at, word) in words.iter_mut().enumerate().rev() {
        let low = if at == 0 { from % 64 } else { 0 };
        let moved = below(high) & !below(low);
        let longer = u128::from((*word & moved) >> low) | u128::from(carried) << (high - low);
        *word = *word & !moved | ((longer >> width) as u64) << low;
        carried = longer as u64 & field_max(width);
        high = 64;
    }
    carried
}

/// [`shift_fields_up`] for fields of one bit in a word.
#[inline]
fn shift_bits_up(word: &mut u64, begin: u64, end: u64, bit: u64) -> u64 {
    let moved = below(end) & !below(begin);
    let out = *word >> (end - 1) & 1;
    *word = *word & !moved | (*word & moved) << 1 & moved | bit << begin;
    out
}

/// [`shift_fields_down`] for fields of one bit in a word.
#[inline]
fn shift_bits_down(word: &mut u64, begin: u64, end: u64, bit: u64) -> u64 {
    let moved = below(end) & !below(begin);
    let out = *word >> begin & 1;
    *word = *word & !moved | (*word & moved) >> 1 & moved | bit << (end - 1);
    out
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
                let end = begin + 1 + random.below(64 - begin);
                let value = random.next_u64() & field_max(width);
                let read = |words: &[u64]| (0..64).map(|i| read_field(words, i * u64::from(width), width)).collect();
                let (mut up, mut down) = (words.clone(), words);
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
