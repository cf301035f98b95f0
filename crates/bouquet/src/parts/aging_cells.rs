//! Cells that expire by themselves: each holds when its life is over, on a clock that only counts up.
//!
//! ```text
//! code 0               empty
//! code 1 + e mod R     expires when the clock says e
//! ```
//!
//! A cell is alive while (e - clock) mod R is between 1 and the longest life. R has room for `slack` more units in which a dead cell
//! is still told from one that is alive; within them a sweep comes by and empties it. So no operation touches all
//! cells, whatever time passes between two of them, and a code is never used again before it is gone. Cells may have clocks of
//! their own, as the blocks of `decaying` do.
//!
//! The sweep is part of the clock: visit v looks at the v-th of P equal parts, round after round. What is left after many visits at
//! once is what is left after one by one, bit for bit: only the last visit to a cell matters, since a dead cell stays dead.

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::store::Counters;

/// How long cells live and how they are swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lives {
    /// The longest life.
    pub(crate) longest: u64,
    /// Units of the clock within which all cells are visited.
    pub(crate) slack: u64,
    /// Visits in which all cells are seen.
    pub(crate) pass: u64,
}

impl Lives {
    /// R, the codes of cells in use.
    fn range(self) -> u64 {
        self.longest.saturating_add(self.slack).saturating_add(1)
    }

    /// The bits of a cell.
    pub(crate) fn width(self) -> u32 {
        (u64::BITS - self.range().leading_zeros()).max(1)
    }
}

/// Packed cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AgingCells {
    cells: Counters,
    lives: Lives,
    /// Cells that a visit sees.
    step: u64,
}

impl AgingCells {
    /// Empty cells.
    pub(crate) fn zeroed(len: u64, lives: Lives) -> Result<Self> {
        Ok(Self::of(Counters::zeroed(len, lives.width())?, lives))
    }

    fn of(cells: Counters, lives: Lives) -> Self {
        let step = cells.len().div_ceil(lives.pass.max(1)).max(1);
        AgingCells { cells, lives, step }
    }

    pub(crate) fn cells(&self) -> &Counters {
        &self.cells
    }

    pub(crate) fn lives(&self) -> Lives {
        self.lives
    }

    /// A clock as the cells have it.
    #[inline]
    pub(crate) fn wrapped(&self, clock: u128) -> u64 {
        (clock % u128::from(self.lives.range())) as u64
    }

    /// What is left of a cell's life when its wrapped clock says `now`; 0 for one that is dead or empty.
    #[inline]
    pub(crate) fn left(&self, index: u64, now: u64) -> u64 {
        self.left_of(self.cells.get(index), now)
    }

    #[inline]
    fn left_of(&self, code: u64, now: u64) -> u64 {
        if code == 0 {
            return 0;
        }
        let end = code - 1;
        let left = if end >= now { end - now } else { end + self.lives.range() - now };
        if left <= self.lives.longest { left } else { 0 }
    }

    /// Gives a cell this life, at most the longest.
    #[inline]
    pub(crate) fn give(&mut self, index: u64, now: u64, life: u64) {
        let life = life.min(self.lives.longest);
        let end = now + life;
        let range = self.lives.range();
        let end = if end >= range { end - range } else { end };
        self.cells.set(index, if life == 0 { 0 } else { end + 1 });
    }

    /// Makes the visits `from..to` of the sweep. `clock(v)` is what the clock of a cell says after `v` visits.
    ///
    /// A pass may have more visits than there are cells, most of which see none: those are left out.
    #[inline]
    pub(crate) fn sweep(&mut self, from: u128, to: u128, clock: impl Fn(u64, u128) -> u128) {
        let pass = u128::from(self.lives.pass.max(1));
        // The last pass alone: its visits are the places `begin..begin + count` of a pass, wrapped around.
        let first = from.max(to.saturating_sub(pass));
        let (begin, count) = (first % pass, to.saturating_sub(first));
        let seeing = u128::from(self.cells.len().div_ceil(self.step));
        let straight = begin..(begin + count).min(pass);
        let wrapped = 0..(begin + count).saturating_sub(pass);
        for (places, visit) in [(straight, first), (wrapped, first + (pass - begin))] {
            for place in places.start..places.end.min(seeing) {
                self.visit(place as u64, from, visit + (place - places.start), &clock);
            }
        }
    }

    /// Visit number `visit`, which sees the cells of this place of a pass: those that are dead then are emptied.
    #[inline]
    fn visit(&mut self, place: u64, from: u128, visit: u128, clock: impl Fn(u64, u128) -> u128) {
        let first = place.saturating_mul(self.step);
        for index in first..first.saturating_add(self.step).min(self.cells.len()) {
            let code = self.cells.get(index);
            if code == 0 {
                continue;
            }
            let then = clock(index, from);
            let passed = clock(index, visit + 1).saturating_sub(then);
            if u128::from(self.left_of(code, self.wrapped(then))) <= passed {
                self.cells.set(index, 0);
            }
        }
    }

    /// The cells that are alive; `now` tells the wrapped clock of each.
    pub(crate) fn alive(&self, now: impl Fn(u64) -> u64) -> u64 {
        (0..).zip(self.cells.iter()).filter(|&(index, code)| self.left_of(code, now(index)) > 0).count() as u64
    }

    /// Store: the cells, as counters.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.counters(&self.cells);
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>, len: u64, lives: Lives) -> Result<Self> {
        let cells = decoder.counters(len, lives.width())?;
        // Where all codes of the width are used no cell can be above them.
        if lives.range() < cells.max()
            && decoder.reads_stores()
            && let Some(found) = cells.iter().find(|&cell| cell > lives.range())
        {
            return Err(Error::corrupt("a cell", format!("at most {}", lives.range()), found));
        }
        Ok(Self::of(cells, lives))
    }
}
