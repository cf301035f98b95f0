//! Counters that count with a shift register instead of an adder.
//!
//! A linear feedback shift register of w bits runs through 2^w - 1 states and back. Here its feedback is inverted (XNOR), so
//! that the cycle has the state 0 in it, and memory of zeros is a counter of zero; the state of all ones is the one left out.
//! Going up is a shift and the parity of a few taps; going down is the exact inverse.

use std::sync::OnceLock;

use crate::store::Counters;

/// The widths of registers, each with its taps: bit i - 1 for tap i.
const TAPS: [(u32, &[u32]); 9] = [
    (4, &[4, 3]),
    (5, &[5, 3]),
    (6, &[6, 5]),
    (7, &[7, 6]),
    (8, &[8, 6, 5, 4]),
    (10, &[10, 7]),
    (12, &[12, 6, 4, 1]),
    (15, &[15, 14]),
    (16, &[16, 15, 13, 4]),
];

/// A register of one of the widths 4 to 8, 10, 12, 15 and 16.
///
/// ```
/// use bouquet::{counting::l_cbf::Register, shell::Choice};
/// assert_eq!(Register::new(10).map(Register::word), Some("10"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    width: u32,
    /// The tapped bits.
    taps: u32,
    /// Its place in [`TAPS`].
    number: usize,
}

impl Register {
    /// Every width, ascending.
    pub(crate) const ALL: [Register; TAPS.len()] = {
        let mut all = [Register { width: 0, taps: 0, number: 0 }; TAPS.len()];
        let mut number = 0;
        while number < TAPS.len() {
            let (width, numbers) = TAPS[number];
            let (mut taps, mut at) = (0, 0);
            while at < numbers.len() {
                taps |= 1 << (numbers[at] - 1);
                at += 1;
            }
            all[number] = Register { width, taps, number };
            number += 1;
        }
        all
    };

    /// The register of this width, if there is one.
    ///
    /// ```
    /// use bouquet::counting::l_cbf::Register;
    /// assert!(Register::new(8).is_some() && Register::new(9).is_none());
    /// ```
    #[must_use]
    pub fn new(width: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|register| register.width == width)
    }

    pub(crate) fn width(self) -> u32 {
        self.width
    }

    /// The states but one: the length of the cycle.
    pub(crate) fn period(self) -> u32 {
        (1 << self.width) - 1
    }

    /// The state behind this one.
    #[inline]
    pub(crate) fn up(self, state: u32) -> u32 {
        (state << 1 | !(state & self.taps).count_ones() & 1) & self.period()
    }

    /// The state before this one. The highest tap is the bit that was shifted out: its parity with the others, which are
    /// still there, is the lowest bit.
    #[inline]
    pub(crate) fn down(self, state: u32) -> u32 {
        let kept = state >> 1;
        let others = self.taps & !(1 << (self.width - 1));
        let top = !(state ^ (kept & others).count_ones()) & 1;
        kept | top << (self.width - 1)
    }

    /// The place of every state in the cycle from 0, and the state at every place; made when first asked for.
    fn tables(self) -> &'static Tables {
        static ALL: [OnceLock<Tables>; TAPS.len()] = [const { OnceLock::new() }; TAPS.len()];
        ALL[self.number].get_or_init(|| {
            let mut places = vec![0; 1 << self.width];
            let states: Vec<u16> = std::iter::successors(Some(0), |&state| Some(self.up(state)))
                .take(self.period() as usize)
                .map(|state| state as u16)
                .collect();
            (0..).zip(&states).for_each(|(place, &state): (u16, _)| places[usize::from(state)] = place);
            Tables { places, states }
        })
    }

    /// The number that a state stands for. The state that is left out, which no counter has, counts as zero.
    #[inline]
    pub(crate) fn place(self, state: u64) -> u64 {
        self.tables().places.get(state as usize).copied().unwrap_or(0).into()
    }

    /// The state of a number below the period.
    pub(crate) fn state(self, place: u64) -> u64 {
        self.tables().states.get(place as usize).copied().unwrap_or(0).into()
    }
}

struct Tables {
    places: Vec<u16>,
    states: Vec<u16>,
}

/// States of registers, packed. The last state before 0 is the largest value.
#[derive(Clone, Debug, PartialEq)]
pub struct LfsrCounters {
    /// The register of every counter.
    pub register: Register,
    /// Its states, of the width of the register.
    pub states: Counters,
}

impl LfsrCounters {
    pub(crate) fn max(&self) -> u64 {
        u64::from(self.register.period()) - 1
    }

    /// The counter at `index`; zero beyond the end.
    #[inline]
    pub fn get(&self, index: u64) -> u64 {
        self.register.place(self.states.get(index))
    }

    /// Adds, up to the largest value, and gives back the state that was. One is a step of the register.
    #[inline]
    pub fn add(&mut self, index: u64, amount: u64) -> u64 {
        let (register, max) = (self.register, self.max());
        let last = u64::from(register.down(0));
        self.states.update(index, |state| match amount {
            1 if state == last => last,
            1 => register.up(state as u32).into(),
            _ => register.state(register.place(state).saturating_add(amount).min(max)),
        })
    }

    /// Subtracts, down to zero, and gives back the state that was.
    #[inline]
    pub(crate) fn sub(&mut self, index: u64, amount: u64) -> u64 {
        let register = self.register;
        self.states.update(index, |state| match (amount, state) {
            (_, 0) => 0,
            (1, _) => register.down(state as u32).into(),
            _ => register.state(register.place(state).saturating_sub(amount)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn every_register_runs_through_all_states_but_one_and_back() {
        assert!(Register::ALL.into_iter().map(Register::width).eq([4, 5, 6, 7, 8, 10, 12, 15, 16]));
        for register in Register::ALL.into_iter() {
            let (mut state, mut steps) = (0, 0);
            loop {
                assert_ne!(state, register.period(), "all ones is the state that is left out");
                assert_eq!(register.place(state.into()), steps);
                assert_eq!(register.state(steps), u64::from(state));
                state = register.up(state);
                steps += 1;
                if state == 0 {
                    break;
                }
            }
            assert_eq!(steps, u64::from(register.period()));
            for state in 0..=register.period() {
                assert_eq!(register.down(register.up(state)), state);
                assert_eq!(register.up(register.down(state)), state);
            }
        }
        assert!(Register::new(9).is_none());
    }

    #[test]
    fn counters_agree_with_an_array_of_integers() {
        for register in Register::ALL.into_iter() {
            let mut counters = LfsrCounters { register, states: Counters::zeroed(137, register.width()).unwrap() };
            let (mut model, max) = ([0u64; 137], counters.max());
            assert_eq!(max, (1 << register.width()) - 2);
            let mut random = SplitMix::new(register.width().into());
            for _ in 0..30_000 {
                let index = random.below(137) as usize;
                let amount = [1, 1, 1, 3, max / 2][random.below(5) as usize];
                let value = &mut model[index];
                if random.below(2) == 0 {
                    let before = counters.add(index as u64, amount);
                    assert_eq!(register.place(before), *value);
                    *value = (*value + amount).min(max);
                } else {
                    let before = counters.sub(index as u64, amount);
                    assert_eq!(register.place(before), *value);
                    *value = value.saturating_sub(amount);
                }
                assert_eq!(counters.get(index as u64), model[index]);
            }
            assert!((0..137).all(|index| counters.get(index as u64) == model[index]));
        }
    }
}
