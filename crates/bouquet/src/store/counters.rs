//! A vector of small counters, packed.

use crate::error::{Error, Result, same};
use crate::store::{Words, WritableMap, field_max, read_field, write_field};

/// `len` counters of `width` bits each (1 to 64), packed without gaps: counter `i` holds bits `i * width ..` of the
/// words, its low bit first, and may cross a word boundary. What is beyond the last counter is zero.
///
/// Counters beyond the end read as zero and cannot be changed.
///
/// ```
/// use bouquet::store::Counters;
/// let mut counters = Counters::zeroed(1000, 5)?;
/// counters.set(12, 31);
/// assert_eq!((counters.get(11), counters.get(12), counters.get(13)), (0, 31, 0));
/// assert_eq!(counters.bits(), 5000);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    words: Words,
    len: u64,
    width: u32,
}

impl Counters {
    /// The widest counter.
    pub const MAX_WIDTH: u32 = 64;

    /// `len` zeros of `width` bits, or an error when the width is not 1 to 64 or the memory cannot be had.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// assert!(Counters::zeroed(3, 5)?.iter().eq([0, 0, 0]));
    /// assert!(Counters::zeroed(3, 0).is_err() && Counters::zeroed(3, 65).is_err());
    /// assert!(Counters::zeroed(u64::MAX, 2).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn zeroed(len: u64, width: u32) -> Result<Self> {
        let bits = Self::bits_needed(len, width)?;
        Ok(Counters { words: Words::zeroed(bits.div_ceil(64))?, len, width })
    }

    /// The counters in these words; `None` when their number is not that of the counters or a bit beyond the last
    /// counter is set.
    ///
    /// ```
    /// use bouquet::store::{Counters, Words};
    /// let mut words = Words::zeroed(1)?;
    /// words.as_mut_slice()[0] = 0x321;
    /// assert!(Counters::from_words(words.clone(), 3, 4).is_some_and(|counters| counters.iter().eq([1, 2, 3])));
    /// assert!(Counters::from_words(words, 2, 4).is_none(), "the third is not zero");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn from_words(words: Words, len: u64, width: u32) -> Option<Self> {
        let bits = Self::bits_needed(len, width).ok()?;
        let slice = words.as_slice();
        let tail_is_zero = match (slice.last(), bits % 64) {
            (Some(last), used @ 1..) => last >> used == 0,
            _ => true,
        };
        (slice.len() as u64 == bits.div_ceil(64) && tail_is_zero).then_some(Counters { words, len, width })
    }

    /// The bits of this many counters, if there can be this many.
    pub(crate) fn bits_needed(len: u64, width: u32) -> Result<u64> {
        if !(1..=Self::MAX_WIDTH).contains(&width) {
            return Err(Error::parameter("width", "1 to 64 bits", width));
        }
        len.checked_mul(u64::from(width)).ok_or_else(|| Error::TooLarge {
            what: "the counters".into(),
            bytes: u128::from(len) * u128::from(width) / 8,
        })
    }

    /// The number of counters.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// assert_eq!(Counters::zeroed(10, 4)?.len(), 10, "counters, not bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no counters at all.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// assert!(Counters::zeroed(0, 4)?.is_empty());
    /// assert!(!Counters::zeroed(1, 4)?.is_empty(), "a zero is a counter");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits per counter.
    ///
    /// ```
    /// use bouquet::Counting;
    /// assert_eq!(Counting::with_rate(100, 0.01)?.counters().width(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The largest value that a counter can hold.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// assert_eq!(Counters::zeroed(10, 4)?.max(), 15);
    /// assert_eq!(Counters::zeroed(10, 64)?.max(), u64::MAX);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn max(&self) -> u64 {
        field_max(self.width)
    }

    /// The size of the store.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// assert_eq!(Counters::zeroed(30, 3)?.bits(), 90, "no gaps, and without the rest of the last word");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.len * u64::from(self.width)
    }

    /// The words that hold the counters.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(17, 4)?;
    /// counters.set(1, 7);
    /// counters.set(16, 3);
    /// assert_eq!(counters.words(), [0x70, 3]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn words(&self) -> &[u64] {
        self.words.as_slice()
    }

    /// The words, to be changed; what is beyond the last counter must stay zero.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut_slice()
    }

    /// Whether the counters are in a mapped file.
    ///
    /// ```
    /// use bouquet::{Counting, AnyFilter, OpenOptions};
    /// let path = std::env::temp_dir().join(format!("bouquet-mapped-counters-{}.bq", std::process::id()));
    /// AnyFilter::from_structure(Counting::with_rate(100, 0.01)?)?.save(&path)?;
    /// let filter = AnyFilter::open_mapped(&path, &OpenOptions::default())?;
    /// assert!(filter.downcast_ref::<Counting>().is_some_and(|filter| filter.counters().is_mapped()));
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.words.is_mapped()
    }

    /// Where the store changes in a file, if it does.
    pub(crate) fn writable_map(&self) -> Option<&WritableMap> {
        self.words.writable_map()
    }

    /// The words alone.
    pub(crate) fn into_words(self) -> Words {
        self.words
    }

    /// The counter at `index`; zero beyond the end.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(30, 5)?;
    /// counters.set(12, 29);
    /// assert_eq!(counters.get(12), 29, "it lies across two words");
    /// assert_eq!(counters.get(30), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn get(&self, index: u64) -> u64 {
        if index >= self.len {
            return 0;
        }
        read_field(self.words(), index * u64::from(self.width), self.width)
    }

    /// Changes the counter at `index` to `value`, at most [`max`](Self::max). Beyond the end nothing happens.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(3, 2)?;
    /// counters.set(1, 100);
    /// counters.set(3, 1);
    /// assert!(counters.iter().eq([0, 3, 0]), "at most 3, and nothing beyond the end");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn set(&mut self, index: u64, value: u64) {
        self.update(index, |_| value);
    }

    /// Changes the counter at `index` to what `change` makes of it, at most [`max`](Self::max), and gives back what it
    /// was. Beyond the end nothing happens and the answer is zero.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(10, 4)?;
    /// counters.set(3, 14);
    /// assert_eq!(counters.update(3, |counter| counter + 5), 14);
    /// assert_eq!(counters.get(3), 15);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn update(&mut self, index: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        if index >= self.len {
            return 0;
        }
        let (max, width) = (self.max(), self.width);
        let bit = index * u64::from(width);
        let words = self.words.as_mut_slice();
        let before = read_field(words, bit, width);
        write_field(words, bit, width, change(before).min(max));
        before
    }

    /// Whether no counter crosses a word boundary: the width divides 64.
    #[inline]
    fn is_aligned(&self) -> bool {
        self.width.is_power_of_two()
    }

    /// Whether none of these counters is zero.
    #[inline]
    pub(crate) fn all_nonzero(&self, places: impl Iterator<Item = u64>) -> bool {
        let words = self.words();
        let Counters { len, width, .. } = *self;
        if self.is_aligned() {
            all_in_groups(places, |place| place < len && read_aligned(words, place, width) != 0)
        } else {
            all_in_groups(places, |place| place < len && read_field(words, place * u64::from(width), width) != 0)
        }
    }

    /// Shows these counters to `visit`, zero beyond the end.
    #[inline]
    pub(crate) fn read_each(&self, places: impl Iterator<Item = u64>, mut visit: impl FnMut(u64)) {
        let words = self.words();
        let Counters { len, width, .. } = *self;
        if self.is_aligned() {
            places.for_each(|place| visit(if place < len { read_aligned(words, place, width) } else { 0 }));
        } else {
            let read = |place| read_field(words, place * u64::from(width), width);
            places.for_each(|place| visit(if place < len { read(place) } else { 0 }));
        }
    }

    /// Changes each of these counters to what `change` makes of it, at most [`max`](Self::max). Beyond the end nothing
    /// happens.
    #[inline]
    pub(crate) fn update_each(&mut self, places: impl Iterator<Item = u64>, mut change: impl FnMut(u64) -> u64) {
        let (aligned, max) = (self.is_aligned(), self.max());
        let Counters { len, width, .. } = *self;
        let words = self.words.as_mut_slice();
        let places = places.filter(|&place| place < len);
        if aligned {
            for place in places {
                let bit = place * u64::from(width);
                let word = &mut words[(bit / 64) as usize];
                let before = *word >> (bit % 64) & max;
                *word ^= (before ^ change(before).min(max)) << (bit % 64);
            }
        } else {
            for place in places {
                let bit = place * u64::from(width);
                let before = read_field(words, bit, width);
                write_field(words, bit, width, change(before).min(max));
            }
        }
    }

    /// Makes every counter zero.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(3, 2)?;
    /// counters.set(1, 2);
    /// counters.clear();
    /// assert_eq!(counters, Counters::zeroed(3, 2)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.words.as_mut_slice().fill(0);
    }

    /// Changes all counters of a range to `value`, at most [`max`](Self::max): whole words at a time. Beyond the end nothing
    /// happens.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(200, 3)?;
    /// counters.fill(2..199, 5);
    /// assert_eq!((counters.get(1), counters.get(2), counters.get(198), counters.get(199)), (0, 5, 5, 0));
    /// assert_eq!(counters.iter().sum::<u64>(), 197 * 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn fill(&mut self, range: std::ops::Range<u64>, value: u64) {
        let (width, value, end) = (self.width, value.min(self.max()), range.end.min(self.len));
        // 64 counters are as many words as a counter has bits, and begin with a word.
        let (first, last) = (range.start.next_multiple_of(64), end / 64 * 64);
        if first >= last {
            return (range.start..end).for_each(|index| self.set(index, value));
        }
        (range.start..first).chain(last..end).for_each(|index| self.set(index, value));
        let mut pattern = [0; Self::MAX_WIDTH as usize];
        let pattern = &mut pattern[..width as usize];
        (0..64).for_each(|index| write_field(pattern, index * u64::from(width), width, value));
        let words = |index: u64| (index / 64 * u64::from(width)) as usize;
        let filled = &mut self.words.as_mut_slice()[words(first)..words(last)];
        filled.chunks_exact_mut(width as usize).for_each(|chunk| chunk.copy_from_slice(pattern));
    }

    /// Takes one from each of `len` consecutive counters from `start` on that is not zero. Behind the last counter the
    /// run goes on at the first; it is no longer than once around.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(5, 3)?;
    /// (0..5).for_each(|index| counters.set(index, index));
    /// counters.decrement_run(3, 4);
    /// assert_eq!(counters.iter().collect::<Vec<_>>(), [0, 0, 2, 2, 3]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn decrement_run(&mut self, start: u64, len: u64) {
        if start < self.len {
            let len = len.min(self.len);
            let first = len.min(self.len - start);
            self.decrement_straight(start, first);
            self.decrement_straight(0, len - first);
        }
    }

    /// Up to 64 bits at a time: as many whole counters as fit, wherever they begin. A counter that is not zero has a bit
    /// that, shifted, falls on its lowest one; there 1 is subtracted, which borrows from no neighbour.
    #[inline]
    fn decrement_straight(&mut self, start: u64, len: u64) {
        let width = u64::from(self.width);
        let lowest = LOWEST_BITS[self.width as usize];
        let (mut bit, end) = (start * width, (start + len) * width);
        let words = self.words.as_mut_slice();
        while bit < end {
            let span = (end - bit).min(64 / width * width);
            let (word, offset) = ((bit / 64) as usize, bit % 64);
            let crosses = offset + span > 64;
            let mask = u64::MAX >> (64 - span);
            let high = if crosses { words[word + 1] << (64 - offset) } else { 0 };
            let values = (words[word] >> offset | high) & mask;
            let nonzero = (0..width).fold(0, |any, shift| any | values >> shift) & lowest;
            let values = values - nonzero;
            words[word] = words[word] & !(mask << offset) | values << offset;
            if crosses {
                let shift = 64 - offset;
                words[word + 1] = words[word + 1] & !(mask >> shift) | values >> shift;
            }
            bit += span;
        }
    }

    /// All counters in order.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(4, 17)?;
    /// (0..4).for_each(|index| counters.set(index, 1_000 * index));
    /// assert!(counters.iter().eq([0, 1_000, 2_000, 3_000]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        (0..self.len).map(|index| self.get(index))
    }

    /// How many counters are not zero.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(100, 3)?;
    /// counters.set(5, 7);
    /// counters.set(21, 1);
    /// assert_eq!(counters.count_nonzero(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count_nonzero(&self) -> u64 {
        self.iter().filter(|&value| value != 0).count() as u64
    }

    /// The same values in counters of another width; values that do not fit become the largest that does.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let mut counters = Counters::zeroed(3, 8)?;
    /// counters.set(0, 9);
    /// counters.set(2, 200);
    /// assert!(counters.rewidth(4)?.iter().eq([9, 0, 15]));
    /// assert!(counters.rewidth(30)?.iter().eq([9, 0, 200]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn rewidth(&self, width: u32) -> Result<Self> {
        let mut out = Self::zeroed(self.len, width)?;
        for (index, value) in (0..self.len).zip(self.iter()) {
            out.set(index, value);
        }
        Ok(out)
    }

    /// Replaces every counter by `op(own, other's)`; an error when length or width differ.
    ///
    /// ```
    /// use bouquet::store::Counters;
    /// let (mut a, mut b) = (Counters::zeroed(2, 4)?, Counters::zeroed(2, 4)?);
    /// a.set(0, 9);
    /// b.set(0, 8);
    /// b.set(1, 1);
    /// a.combine(&b, |own, other| own + other)?;
    /// assert!(a.iter().eq([15, 1]), "17 does not fit");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn combine(&mut self, other: &Self, op: impl Fn(u64, u64) -> u64) -> Result<()> {
        same("counters", self.len, other.len)?;
        same("counter width", self.width, other.width)?;
        for index in 0..self.len {
            self.set(index, op(self.get(index), other.get(index)));
        }
        Ok(())
    }
}

/// The counter at `place` where none crosses a word boundary.
#[inline]
fn read_aligned(words: &[u64], place: u64, width: u32) -> u64 {
    let bit = place * u64::from(width);
    words[(bit / 64) as usize] >> (bit % 64) & field_max(width)
}

/// Places that are tested before the answer is looked at. Looking after each costs a mispredicted branch per absent key,
/// looking only at the end costs memory accesses that the first zero makes needless.
const GROUP: u32 = 3;

/// Whether all places pass the test.
#[inline]
fn all_in_groups(mut places: impl Iterator<Item = u64>, test: impl Fn(u64) -> bool) -> bool {
    loop {
        let mut all = true;
        for _ in 0..GROUP {
            let Some(place) = places.next() else { return all };
            all &= test(place);
        }
        if !all {
            return false;
        }
    }
}

/// For each width a word with the lowest bit of every whole counter that fits in it.
const LOWEST_BITS: [u64; Counters::MAX_WIDTH as usize + 1] = {
    let mut out = [0; Counters::MAX_WIDTH as usize + 1];
    let mut width = 1;
    while width < out.len() {
        let mut bit = 0;
        while bit + width <= 64 {
            out[width] |= 1 << bit;
            bit += width;
        }
        width += 1;
    }
    out
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn every_width_agrees_with_a_plain_vector() {
        for width in 1..=64 {
            let mut counters = Counters::zeroed(137, width).unwrap();
            let mut model = vec![0u64; 137];
            let mut random = SplitMix::new(u64::from(width));
            for _ in 0..2000 {
                let (index, value) = (random.below(137), random.next_u64() >> (64 - width));
                counters.set(index, value);
                model[index as usize] = value;
            }
            assert_eq!(counters.iter().collect::<Vec<_>>(), model, "width {width}");
            let again = Counters::from_words(counters.words.clone(), 137, width);
            assert_eq!(again.as_ref(), Some(&counters));
        }
    }

    #[test]
    fn a_run_of_decrements_equals_taking_one_by_one() {
        for width in 1..=32 {
            let mut random = SplitMix::new(u64::from(width));
            let mut counters = Counters::zeroed(137, width).unwrap();
            for index in 0..137 {
                counters.set(index, [0, 1, random.below(1 << width), 1 << (width - 1)][random.below(4) as usize]);
            }
            for _ in 0..500 {
                let (start, len) = (random.below(138), [random.below(140), random.below(30)][random.below(2) as usize]);
                let mut model = counters.clone();
                for index in (start..start + len.min(137)).map(|index| index % 137).filter(|_| start < 137) {
                    model.set(index, model.get(index).saturating_sub(1));
                }
                counters.decrement_run(start, len);
                assert_eq!(counters, model, "width {width}, {len} from {start}");
                let restored = random.below(137);
                counters.set(restored, random.below(1 << width));
            }
        }
        Counters::zeroed(0, 3).unwrap().decrement_run(0, 5);
    }

    #[test]
    fn values_are_clamped_and_positions_beyond_the_end_ignored() {
        let mut counters = Counters::zeroed(10, 4).unwrap();
        counters.set(9, 1000);
        counters.set(10, 3);
        assert_eq!((counters.get(9), counters.get(10), counters.get(u64::MAX)), (15, 0, 0));
        assert_eq!(counters.words(), [15 << 36]);
    }

    #[test]
    fn other_widths_keep_the_values_that_fit() {
        let mut counters = Counters::zeroed(3, 8).unwrap();
        counters.set(0, 200);
        counters.set(1, 3);
        assert_eq!(counters.rewidth(12).unwrap().iter().collect::<Vec<_>>(), [200, 3, 0]);
        assert_eq!(counters.rewidth(2).unwrap().iter().collect::<Vec<_>>(), [3, 3, 0]);
    }

    #[test]
    fn bad_widths_and_sizes_are_refused() {
        assert!(Counters::zeroed(10, 0).is_err() && Counters::zeroed(10, 65).is_err());
        assert!(matches!(Counters::zeroed(u64::MAX, 32), Err(Error::TooLarge { .. })));
    }
}
