//! Slots with three bits each, as in the first quotient filter: simple, and slow where runs are long.
//!
//! ```text
//! slot    | is occupied | is continuation | is shifted | remainder |
//! ```
//!
//! A slot *is occupied* when the home of that number has a run, wherever the run is; it *is a continuation* when it holds a
//! remainder that is not the first of its run, and *is shifted* when what it holds has another home. All three are zero
//! in an empty slot. A run is found by going back to a slot that is not shifted and forward again, counting occupied
//! homes and first remainders.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::simd::prefetch;
use crate::store::{BitStore, field_max, read_field, write_field};

use super::table::Table;

const OCCUPIED: u64 = 1;
const CONTINUATION: u64 = 2;
const SHIFTED: u64 = 4;
const FLAGS: u64 = OCCUPIED | CONTINUATION | SHIFTED;
const FLAG_BITS: u32 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ThreeBit {
    bits: BitStore,
    slots: u64,
    /// Bits of a slot: the flags and above them the remainder.
    width: u32,
}

impl ThreeBit {
    pub(super) fn zeroed(slots: u64, remainder: u32) -> Result<Self> {
        let bits = Self::bits(slots, remainder).ok_or_else(|| Error::TooLarge {
            what: "the slots".into(),
            bytes: u128::from(slots) * u128::from(remainder + FLAG_BITS) / 8,
        })?;
        Ok(ThreeBit { bits: BitStore::zeroed(bits)?, slots, width: remainder + FLAG_BITS })
    }

    pub(super) fn bits(slots: u64, remainder: u32) -> Option<u64> {
        slots.checked_mul(u64::from(remainder + FLAG_BITS))
    }

    pub(super) fn store(&self) -> &BitStore {
        &self.bits
    }

    /// The table in these bits, which must be as many as it takes.
    pub(super) fn from_store(bits: BitStore, slots: u64, remainder: u32) -> Result<Self> {
        let table = ThreeBit { bits, slots, width: remainder + FLAG_BITS };
        table.check()?;
        Ok(table)
    }

    /// Refuses what no sequence of operations leads to: every run must be where its home and the runs before put it.
    fn check(&self) -> Result<()> {
        let corrupt = |slot: u64| Error::corrupt("slots", "a sequence of runs", format!("other at slot {slot}"));
        let mut unused = 0;
        let mut home = self.next_home(0);
        while let Some(own) = home {
            let begin = own.max(unused);
            if (unused..begin).any(|slot| self.slot(slot) != 0) {
                return Err(corrupt(unused));
            }
            let shifted = if begin == own { 0 } else { SHIFTED };
            if begin >= self.slots || self.slot(begin) & (CONTINUATION | SHIFTED) != shifted {
                return Err(corrupt(begin));
            }
            unused = begin + 1;
            while unused < self.slots && self.slot(unused) & CONTINUATION != 0 {
                if self.slot(unused) & SHIFTED == 0 {
                    return Err(corrupt(unused));
                }
                unused += 1;
            }
            home = self.next_home(own + 1);
        }
        if (unused..self.slots).any(|slot| self.slot(slot) != 0) { Err(corrupt(unused)) } else { Ok(()) }
    }

    /// Flags and remainder; zero beyond the end.
    #[inline]
    fn slot(&self, slot: u64) -> u64 {
        if slot >= self.slots {
            return 0;
        }
        read_field(self.bits.words(), slot * u64::from(self.width), self.width)
    }

    #[inline]
    fn write(&mut self, slot: u64, value: u64) {
        let width = self.width;
        write_field(self.bits.words_mut(), slot * u64::from(width), width, value);
    }

    /// Writes a remainder and where it stands in its run; that the slot is a home with a run stays as it is.
    fn place(&mut self, slot: u64, remainder: u64, is_first: bool, home: u64) {
        let flags = if is_first { 0 } else { CONTINUATION } | if slot == home { 0 } else { SHIFTED };
        self.write(slot, remainder << FLAG_BITS | flags | self.slot(slot) & OCCUPIED);
    }
}

impl Table for ThreeBit {
    fn slots(&self) -> u64 {
        self.slots
    }

    fn remainder_bits(&self) -> u32 {
        self.width - FLAG_BITS
    }

    fn prefetch(&self, home: u64) {
        prefetch(self.bits.words(), (home * u64::from(self.width) / 64) as usize);
    }

    fn is_occupied(&self, home: u64) -> bool {
        self.slot(home) & OCCUPIED != 0
    }

    fn run_begin(&self, home: u64) -> u64 {
        let mut earlier = home;
        while earlier > 0 && self.slot(earlier) & SHIFTED != 0 {
            earlier -= 1;
        }
        // The run of `earlier`, if it has one, begins there.
        let mut begin = earlier;
        while earlier < home {
            if self.is_occupied(earlier) {
                begin = self.run_end(begin.max(earlier));
            }
            earlier += 1;
        }
        begin.max(home)
    }

    fn run_end(&self, begin: u64) -> u64 {
        let mut end = begin + 1;
        while self.slot(end) & CONTINUATION != 0 {
            end += 1;
        }
        end.min(self.slots)
    }

    fn next_home(&self, from: u64) -> Option<u64> {
        (from..self.slots).find(|&home| self.is_occupied(home))
    }

    fn get(&self, slot: u64) -> u64 {
        self.slot(slot) >> FLAG_BITS
    }

    fn set(&mut self, slot: u64, value: u64) {
        let value = value & field_max(self.remainder_bits());
        self.write(slot, value << FLAG_BITS | self.slot(slot) & FLAGS);
    }

    fn open(&mut self, home: u64, run: &mut Range<u64>, slot: u64, value: u64) -> bool {
        let Some(unused) = (slot..self.slots).find(|&slot| self.slot(slot) & FLAGS == 0) else { return false };
        for from in (slot..unused).rev() {
            let moved = self.slot(from) & !OCCUPIED | SHIFTED;
            self.write(from + 1, moved | self.slot(from + 1) & OCCUPIED);
        }
        let is_first = slot == run.start;
        if is_first && !run.is_empty() {
            self.write(slot + 1, self.slot(slot + 1) | CONTINUATION);
        }
        self.place(slot, value, is_first, home);
        self.write(home, self.slot(home) | OCCUPIED);
        run.end += 1;
        true
    }

    fn close(&mut self, home: u64, run: &mut Range<u64>, slot: u64) {
        let (mut own, mut at) = (home, slot);
        // What follows moves down as long as it is shifted; a first remainder may reach its home.
        while self.slot(at + 1) & SHIFTED != 0 {
            let next = self.slot(at + 1);
            let is_first = next & CONTINUATION == 0;
            if is_first {
                own = self.next_home(own + 1).unwrap_or(own);
            }
            // What follows the first remainder of a run becomes the first when that is taken out.
            let becomes_first = at == slot && slot == run.start && !is_first;
            self.place(at, next >> FLAG_BITS, is_first || becomes_first, own);
            at += 1;
        }
        self.write(at, self.slot(at) & OCCUPIED);
        if run.end - run.start == 1 {
            self.write(home, self.slot(home) & !OCCUPIED);
        }
        run.end -= 1;
    }
}
