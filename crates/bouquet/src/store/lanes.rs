//! Fields of a word side by side, compared all at once.
//!
//! A word has room for several fields of `width` bits, its *lanes*. Adding or subtracting two words works on all lanes at
//! once as long as nothing is carried from one into the next, which the highest bit of each lane can prevent; there, too, is
//! the answer.

use crate::store::field_max;

/// This many lanes of this many bits, at most 64 bits in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    width: u32,
    count: u32,
    /// A one in the lowest bit of every lane, in the highest, and in all but the highest.
    lowest: u64,
    highest: u64,
    others: u64,
}

impl Lanes {
    pub(crate) fn new(count: u32, width: u32) -> Self {
        let spread = |bits: u64| (0..count).fold(0, |all, lane| all | bits << (lane * width));
        let (lowest, highest) = (spread(1), spread(1 << (width - 1)));
        Lanes { width, count, lowest, highest, others: highest - lowest }
    }

    /// The number of lanes.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The bits of a lane.
    #[inline]
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// The bits of all lanes.
    #[inline]
    pub(crate) fn bits(&self) -> u32 {
        self.count * self.width
    }

    /// The highest bit of every lane.
    #[inline]
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// A value, which must fit a lane, in every lane.
    #[inline]
    pub(crate) fn spread(&self, value: u64) -> u64 {
        value.wrapping_mul(self.lowest)
    }

    /// The lanes of a word, without what lies behind the last.
    #[inline]
    pub(crate) fn of(&self, word: u64) -> u64 {
        word & field_max(self.bits())
    }

    /// The highest bit of every lane that is zero. Within a lane the sum carries into the highest bit unless the others are
    /// all zero, and never out of it.
    #[inline]
    pub(crate) fn zero(&self, lanes: u64) -> u64 {
        !(((lanes & self.others) + self.others) | lanes) & self.highest
    }

    /// The highest bit of every lane of `left` that is less than that of `right`.
    ///
    /// The difference of the bits below the highest borrows from the one that is put there, and from nowhere else. A lane is
    /// not less if its highest bit alone tells so, or if the highest bits are equal and nothing was borrowed.
    #[inline]
    pub(crate) fn less(&self, left: u64, right: u64) -> u64 {
        let difference = (left & self.others | self.highest) - (right & self.others);
        !((left & !right) | (!(left ^ right) & difference)) & self.highest
    }

    /// Where the lane begins whose highest bit is the lowest of these.
    #[inline]
    pub(crate) fn begin(&self, highest: u64) -> u32 {
        highest.trailing_zeros() + 1 - self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn lanes_are_compared_as_numbers_are() {
        let mut random = SplitMix::new(5);
        for width in 1..=64 {
            for count in [1, 64 / width] {
                let lanes = Lanes::new(count, width);
                let nth = |word: u64, lane: u32| word >> (lane * width) & field_max(width);
                for _ in 0..200 {
                    // What lies behind the last lane does not matter.
                    let word = random.next_u64() & random.next_u64();
                    // Values that are near to each other, and others.
                    let value = if random.below(2) == 0 { nth(word, 0) } else { random.next_u64() & field_max(width) };
                    let expect = |test: &dyn Fn(u64) -> bool| {
                        let all = (0..count).filter(|&lane| test(nth(word, lane)));
                        all.fold(0, |all, lane| all | 1 << (lane * width + width - 1))
                    };
                    assert_eq!(lanes.zero(word), expect(&|lane| lane == 0), "{lanes:?} {word:#x}");
                    let less = lanes.less(word, lanes.spread(value));
                    assert_eq!(less, expect(&|lane| lane < value), "{lanes:?} {word:#x} {value}");
                    if less != 0 {
                        assert!(nth(word >> lanes.begin(less), 0) < value);
                    }
                }
            }
        }
    }
}
