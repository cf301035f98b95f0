//! What a table of runs must offer, and the operations of a quotient filter on it.

use std::ops::Range;

use super::code::{Code, Entry, entry};

/// Slots that hold the remainders of homes, in runs.
///
/// Laws: a home below 2^q has a run or none; runs lie in the order of their homes, each beginning at its home or directly
/// behind the run before; what no run has is zero. [`open`](Self::open) and [`close`](Self::close) keep that.
pub(super) trait Table: Clone + PartialEq + std::fmt::Debug {
    /// The number of slots.
    fn slots(&self) -> u64;

    /// The bits of a remainder.
    fn remainder_bits(&self) -> u32;

    /// Prefetches what a query of this home reads.
    fn prefetch(&self, home: u64);

    /// Whether the home has a run.
    fn is_occupied(&self, home: u64) -> bool;

    /// Where the run of the home begins, or would begin if it had one.
    fn run_begin(&self, home: u64) -> u64;

    /// The slot behind the run that begins, or whose inner slot is, here.
    fn run_end(&self, begin: u64) -> u64;

    /// The first home from this one on that has a run.
    fn next_home(&self, from: u64) -> Option<u64>;

    /// What a slot holds.
    fn get(&self, slot: u64) -> u64;

    /// Changes what a slot of a run holds.
    fn set(&mut self, slot: u64, value: u64);

    /// Makes room for a value at a slot within the run of a home or directly behind it, moving what is there; a home
    /// without run has an empty one at [`run_begin`](Self::run_begin). Says whether there was an unused slot; nothing has
    /// changed otherwise.
    fn open(&mut self, home: u64, run: &mut Range<u64>, slot: u64, value: u64) -> bool;

    /// Takes a slot out of the run of a home, moving what follows back.
    fn close(&mut self, home: u64, run: &mut Range<u64>, slot: u64);

    /// Whether the home's run has the remainder, where the table can tell at a glance.
    #[inline]
    fn glance(&self, _home: u64, _remainder: u64) -> Option<bool> {
        None
    }

    /// Adds a remainder that is not in yet, where that is simple. Says whether it is done; nothing has changed otherwise.
    #[inline]
    fn add_simply(&mut self, _home: u64, _remainder: u64) -> bool {
        false
    }

    /// Takes out a remainder that is in once, where that is simple. Says whether it is done; nothing has changed otherwise.
    #[inline]
    fn take_simply(&mut self, _home: u64, _remainder: u64) -> bool {
        false
    }

    /// The homes that have a run, each with it, in order.
    #[inline]
    fn runs(&self) -> impl Iterator<Item = (u64, Range<u64>)> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let home = self.next_home(from)?;
            from = home + 1;
            Some((home, self.run(home)))
        })
    }

    /// The run of a home, empty if it has none.
    #[inline]
    fn run(&self, home: u64) -> Range<u64> {
        let begin = self.run_begin(home);
        if self.is_occupied(home) { begin..self.run_end(begin) } else { begin..begin }
    }
}

/// Where a remainder is in a run, or where it would be.
pub(super) enum Found {
    At(u64, Entry),
    Before(u64),
}

#[inline]
pub(super) fn find<T: Table>(table: &T, run: &Range<u64>, remainder: u64) -> Found {
    let mut at = run.start;
    while at < run.end {
        let found = entry(|slot| table.get(slot), at, run.end, at == run.start, table.remainder_bits());
        if found.remainder >= remainder {
            return if found.remainder == remainder { Found::At(at, found) } else { Found::Before(at) };
        }
        at = found.end;
    }
    Found::Before(at)
}

/// How often a home's run has the remainder.
#[inline(never)]
pub(super) fn count<T: Table>(table: &T, home: u64, remainder: u64) -> u64 {
    if !table.is_occupied(home) {
        return 0;
    }
    match find(table, &table.run(home), remainder) {
        Found::At(_, entry) => entry.count,
        Found::Before(_) => 0,
    }
}

/// Whether a home's run has the remainder.
#[inline]
pub(super) fn holds<T: Table>(table: &T, home: u64, remainder: u64) -> bool {
    table.glance(home, remainder).unwrap_or_else(|| count(table, home, remainder) > 0)
}

/// Adds copies of a remainder, taking at most `room` more slots. Says whether it was new and how many slots it took, or
/// nothing when there is no room; then nothing has changed.
#[inline]
pub(super) fn add<T: Table>(table: &mut T, home: u64, remainder: u64, times: u64, room: u64) -> Option<(bool, u64)> {
    if times == 1 && room > 0 && table.add_simply(home, remainder) {
        return Some((true, 1));
    }
    add_any(table, home, remainder, times, room)
}

#[inline(never)]
fn add_any<T: Table>(table: &mut T, home: u64, remainder: u64, times: u64, room: u64) -> Option<(bool, u64)> {
    let r = table.remainder_bits();
    let mut run = table.run(home);
    match find(table, &run, remainder) {
        Found::Before(at) if times == 1 => (room > 0 && table.open(home, &mut run, at, remainder)).then_some((true, 1)),
        Found::Before(at) => {
            let slots = recode(table, home, &mut run, at..at, &Code::new(remainder, times, r), room)?;
            Some((true, slots))
        }
        Found::At(at, found) => {
            let code = Code::new(remainder, found.count.saturating_add(times), r);
            let slots = recode(table, home, &mut run, at..found.end, &code, room)?;
            Some((false, slots))
        }
    }
}

pub(super) struct Removed {
    pub(super) is_last: bool,
    /// Slots that have become free.
    pub(super) slots: u64,
}

/// Takes copies of a remainder out; nothing when there are not as many.
#[inline]
pub(super) fn subtract<T: Table>(table: &mut T, home: u64, remainder: u64, times: u64) -> Option<Removed> {
    if times == 1 && table.take_simply(home, remainder) {
        return Some(Removed { is_last: true, slots: 1 });
    }
    subtract_any(table, home, remainder, times)
}

#[inline(never)]
fn subtract_any<T: Table>(table: &mut T, home: u64, remainder: u64, times: u64) -> Option<Removed> {
    if !table.is_occupied(home) {
        return None;
    }
    let mut run = table.run(home);
    let Found::At(at, found) = find(table, &run, remainder) else { return None };
    let left = found.count.checked_sub(times)?;
    if left == 0 {
        // From behind, so that what is left is a run at any time.
        (at..found.end).rev().for_each(|slot| table.close(home, &mut run, slot));
        return Some(Removed { is_last: true, slots: found.end - at });
    }
    // The code of a smaller count is never longer: a digit less may want a prefix, which is no more than the digit was.
    let code = Code::new(remainder, left, table.remainder_bits());
    let slots = recode(table, home, &mut run, at..found.end, &code, 0)?;
    Some(Removed { is_last: false, slots })
}

/// Writes a code in the place of the slots `old` of a run, and says by how many slots it is longer or shorter; nothing,
/// with nothing changed, when there is no room for it.
fn recode<T: Table>(
    table: &mut T,
    home: u64,
    run: &mut Range<u64>,
    old: Range<u64>,
    code: &Code,
    room: u64,
) -> Option<u64> {
    let symbols = code.symbols();
    let (before, after) = (old.end - old.start, symbols.len() as u64);
    if after.saturating_sub(before) > room {
        return None;
    }
    for opened in before..after {
        if !table.open(home, run, old.start + opened, 0) {
            (before..opened).rev().for_each(|slot| table.close(home, run, old.start + slot));
            return None;
        }
    }
    (after..before).rev().for_each(|slot| table.close(home, run, old.start + slot));
    for (slot, &symbol) in (old.start..).zip(symbols) {
        table.set(slot, symbol);
    }
    Some(after.abs_diff(before))
}
