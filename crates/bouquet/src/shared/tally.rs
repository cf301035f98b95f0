//! A count that many threads add to, without a word that they all write.

use std::cell::Cell;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Threads that can have a line of their own at a time; those beyond share one.
const SEATS: usize = 32;

/// Which seats are taken, a bit each.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A number below [`SEATS`] that no other living thread has.
struct Seat(Option<usize>);

impl Seat {
    fn take() -> Self {
        let mut taken = TAKEN.load(Relaxed);
        loop {
            let seat = taken.trailing_ones() as usize;
            if seat >= SEATS {
                return Seat(None);
            }
            // Acquire: with the release of the thread that had the seat before, its counts are seen here.
            match TAKEN.compare_exchange_weak(taken, taken | 1 << seat, Acquire, Relaxed) {
                Ok(_) => return Seat(Some(seat)),
                Err(now) => taken = now,
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(seat) = self.0 {
            // Before the next thread can have it.
            NUMBER.set(NO_NUMBER);
            TAKEN.fetch_and(!(1 << seat), Release);
        }
    }
}

/// The number of a thread that has no seat, or has not asked for one.
const NO_NUMBER: usize = usize::MAX;

thread_local! {
    static SEAT: Seat = Seat::take();
    /// The seat once more. It has nothing to make or to drop, so that reading it is one load.
    static NUMBER: Cell<usize> = const { Cell::new(NO_NUMBER) };
}

/// Two cache lines: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl Line {
    /// For the thread alone that has the line's seat.
    #[inline(always)]
    fn add(&self, amount: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }
}

/// A sum to which every thread adds in a cache line of its own: an addition is a load and a store, several times cheaper
/// than an atomic read-modify-write, and disturbs nobody. Reading it takes all lines.
///
/// A line is written only by the thread that has its seat, so that no addition is lost. Threads without a seat (there are
/// too many, or the thread is ending) share the last line and add atomically.
#[derive(Debug)]
pub(crate) struct Tally {
    start: u64,
    // Nothing that threads change lies in the tally itself, nor in a filter that has one: so the compiler may read the fields of a filter
    // once for many keys.
    lines: Box<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    seats: [Line; SEATS],
    others: Line,
}

impl Tally {
    pub(crate) fn new(start: u64) -> Self {
        Tally { start, lines: Box::default() }
    }

    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        match self.lines.seats.get(NUMBER.get()) {
            Some(line) => line.add(amount),
            None => self.add_first(amount),
        }
    }

    /// The first time in a thread, and whenever it has no seat.
    #[cold]
    fn add_first(&self, amount: u64) {
        let line = SEAT.try_with(|seat| seat.0).ok().flatten().and_then(|seat| {
            NUMBER.set(seat);
            self.lines.seats.get(seat)
        });
        match line {
            Some(line) => line.add(amount),
            None => _ = self.lines.others.0.fetch_add(amount, Relaxed),
        }
    }

    /// The sum, with every addition that happened before.
    pub(crate) fn sum(&self) -> u64 {
        let lines = self.lines.seats.iter().chain([&self.lines.others]);
        lines.fold(self.start, |sum, line| sum.saturating_add(line.0.load(Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_threads_come_and_go_and_are_more_than_the_seats() {
        let tally = Tally::new(5);
        for _ in 0..4 {
            std::thread::scope(|scope| {
                for _ in 0..SEATS + 8 {
                    scope.spawn(|| (0..1_000).for_each(|_| tally.add(1)));
                }
            });
        }
        assert_eq!(tally.sum(), 5 + 4 * (SEATS as u64 + 8) * 1_000);
    }

    #[test]
    fn a_sum_beyond_the_largest_number_stays_there() {
        let tally = Tally::new(u64::MAX);
        tally.add(1);
        assert_eq!(tally.sum(), u64::MAX);
    }
}
