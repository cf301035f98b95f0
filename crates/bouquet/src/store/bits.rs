//! A vector of bits.

use crate::error::{Result, same};
use crate::store::{Words, WritableMap};

/// `len` bits in 64-bit words, bit `i` at bit `i % 64` of word `i / 64`. The bits of the last word beyond `len` are
/// zero at all times, so that counting, comparing and writing words needs no care.
///
/// Positions beyond `len` are never set and read as zero.
///
/// ```
/// use bouquet::store::BitStore;
/// let mut bits = BitStore::zeroed(100)?;
/// assert!(bits.set(42));
/// assert!(!bits.set(42), "it was set already");
/// assert!(bits.get(42) && !bits.get(41));
/// assert_eq!(bits.count_ones(), 1);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitStore {
    words: Words,
    len: u64,
}

impl BitStore {
    /// `len` zeros, or an error when the memory cannot be had.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// assert_eq!(BitStore::zeroed(100)?.count_ones(), 0);
    /// assert!(BitStore::zeroed(u64::MAX).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn zeroed(len: u64) -> Result<Self> {
        Ok(BitStore { words: Words::zeroed(len.div_ceil(64))?, len })
    }

    /// `len` zeros for a copy of as many bits that are there already; it fails as a copy does.
    pub(crate) fn for_copy(len: u64) -> Self {
        BitStore { words: Words::for_copy(len.div_ceil(64) as usize), len }
    }

    /// The bits in these words; `None` when their number is not that of `len` bits or a bit beyond `len` is set.
    ///
    /// ```
    /// use bouquet::store::{BitStore, Words};
    /// let mut words = Words::zeroed(1)?;
    /// words.as_mut_slice()[0] = 0b101;
    /// assert!(BitStore::from_words(words.clone(), 3).is_some_and(|bits| bits.get(2)));
    /// assert!(BitStore::from_words(words.clone(), 2).is_none(), "bit 2 is beyond");
    /// assert!(BitStore::from_words(words, 65).is_none(), "that takes two words");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn from_words(words: Words, len: u64) -> Option<Self> {
        let slice = words.as_slice();
        let tail_is_zero = match (slice.last(), len % 64) {
            (Some(last), used @ 1..) => last >> used == 0,
            _ => true,
        };
        (slice.len() as u64 == len.div_ceil(64) && tail_is_zero).then_some(BitStore { words, len })
    }

    /// The number of bits.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// assert_eq!(BitStore::zeroed(100)?.len(), 100, "not those of the words, 128");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bits at all.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// assert!(BitStore::zeroed(0)?.is_empty());
    /// assert!(!BitStore::zeroed(1)?.is_empty(), "a zero is a bit");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words that hold the bits.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(100)?;
    /// bits.set(1);
    /// bits.set(64);
    /// assert_eq!(bits.words(), [2, 1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        self.words.as_slice()
    }

    /// The words, for operations that keep the bits beyond `len` zero.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut_slice()
    }

    /// The words where they are, for the same; none of them when they are, or were, mapped for reading.
    #[inline(always)]
    pub(crate) fn words_in_place(&mut self) -> &mut [u64] {
        self.words.in_place()
    }

    /// The words for the same where [`words_in_place`](Self::words_in_place) gives none, which it goes on to do.
    #[inline(always)]
    pub(crate) fn words_or_copy(&mut self) -> &mut [u64] {
        self.words.or_copy()
    }

    /// The words alone.
    pub(crate) fn into_words(self) -> Words {
        self.words
    }

    /// Whether the bits are read in place from a mapped file.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter, OpenOptions};
    /// let path = std::env::temp_dir().join(format!("bouquet-mapped-bits-{}.bq", std::process::id()));
    /// AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?.save(&path)?;
    /// for (filter, mapped) in [
    ///     (AnyFilter::open(&path, &OpenOptions::default())?, false),
    ///     (AnyFilter::open_mapped(&path, &OpenOptions::default())?, true),
    /// ] {
    ///     assert_eq!(filter.downcast_ref::<Bloom>().map(|bloom| bloom.bits().is_mapped()), Some(mapped));
    /// }
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

    /// The bit at `index`; zero beyond the end.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(70)?;
    /// bits.set(69);
    /// assert!(bits.get(69) && !bits.get(68) && !bits.get(u64::MAX));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn get(&self, index: u64) -> bool {
        self.words().get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Sets the bit at `index` and says whether that changed it. Beyond the end nothing happens.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(70)?;
    /// assert!(bits.set(69) && !bits.set(69), "changed once");
    /// assert!(!bits.set(70), "beyond the end");
    /// assert_eq!(bits.count_ones(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn set(&mut self, index: u64) -> bool {
        if index >= self.len {
            return false;
        }
        let word = &mut self.words_mut()[(index / 64) as usize];
        let before = *word;
        *word |= 1 << (index % 64);
        *word != before
    }

    /// Clears the bit at `index`. Beyond the end nothing happens.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(70)?;
    /// [3, 69].map(|index| bits.set(index));
    /// bits.clear(69);
    /// bits.clear(70);
    /// assert!(bits.ones().eq([3]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn clear(&mut self, index: u64) {
        if let Some(word) = self.words_mut().get_mut((index / 64) as usize) {
            *word &= !(1 << (index % 64));
        }
    }

    /// Clears `len` bits from `start` on; those beyond the end are none.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(200)?;
    /// (0..200).for_each(|index| assert!(bits.set(index)));
    /// bits.clear_run(3, 190);
    /// assert!(bits.ones().eq([0, 1, 2, 193, 194, 195, 196, 197, 198, 199]));
    /// bits.clear_run(100, u64::MAX);
    /// assert!(bits.ones().eq([0, 1, 2]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear_run(&mut self, start: u64, len: u64) {
        let end = start.saturating_add(len).min(self.len);
        let mut index = start;
        while index < end {
            let (offset, span) = (index % 64, (64 - index % 64).min(end - index));
            self.words_mut()[(index / 64) as usize] &= !((u64::MAX >> (64 - span)) << offset);
            index += span;
        }
    }

    /// How many bits are one.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(1_000)?;
    /// (0..1_000).step_by(10).for_each(|index| assert!(bits.set(index)));
    /// assert_eq!(bits.count_ones(), 100);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count_ones(&self) -> u64 {
        self.words().iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// How many of the bits `start..end` are one.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(100)?;
    /// [9, 10, 70, 80].map(|index| bits.set(index));
    /// assert_eq!(bits.count_ones_in(10, 80), 2, "the end is not in it");
    /// assert_eq!(bits.count_ones_in(80, u64::MAX), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count_ones_in(&self, start: u64, end: u64) -> u64 {
        let end = end.min(self.len);
        let (mut index, mut ones) = (start, 0);
        while index < end {
            let (offset, span) = (index % 64, (64 - index % 64).min(end - index));
            let mask = (u64::MAX >> (64 - span)) << offset;
            ones += u64::from((self.words()[(index / 64) as usize] & mask).count_ones());
            index += span;
        }
        ones
    }

    /// The share of ones, zero for an empty vector.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(100)?;
    /// (0..25).for_each(|index| assert!(bits.set(index)));
    /// assert_eq!(bits.fill(), 0.25);
    /// assert_eq!(BitStore::zeroed(0)?.fill(), 0.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn fill(&self) -> f64 {
        if self.len == 0 { 0.0 } else { self.count_ones() as f64 / self.len as f64 }
    }

    /// The positions of the ones, ascending.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(200)?;
    /// [130, 0, 63].map(|index| bits.set(index));
    /// assert!(bits.ones().eq([0, 63, 130]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        self.words().iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| Some(w & (w - 1)).filter(|&w| w != 0))
                .map(move |w| i as u64 * 64 + u64::from(w.trailing_zeros()))
        })
    }

    /// Keeps what is set in either; an error when the lengths differ.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let (mut a, mut b) = (BitStore::zeroed(100)?, BitStore::zeroed(100)?);
    /// [1, 2].map(|index| a.set(index));
    /// [2, 99].map(|index| b.set(index));
    /// a.or(&b)?;
    /// assert!(a.ones().eq([1, 2, 99]));
    /// assert!(a.or(&BitStore::zeroed(101)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn or(&mut self, other: &Self) -> Result<()> {
        self.combine(other, |a, b| a | b)
    }

    /// Keeps what is set in both; an error when the lengths differ.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let (mut a, mut b) = (BitStore::zeroed(100)?, BitStore::zeroed(100)?);
    /// [1, 2].map(|index| a.set(index));
    /// [2, 99].map(|index| b.set(index));
    /// a.and(&b)?;
    /// assert!(a.ones().eq([2]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn and(&mut self, other: &Self) -> Result<()> {
        self.combine(other, |a, b| a & b)
    }

    /// Keeps what is set in exactly one, the difference that turns one vector into the other; an error when the
    /// lengths differ.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let (mut old, mut new) = (BitStore::zeroed(100)?, BitStore::zeroed(100)?);
    /// [1, 2].map(|index| old.set(index));
    /// [2, 99].map(|index| new.set(index));
    /// let mut difference = old.clone();
    /// difference.xor(&new)?;
    /// assert!(difference.ones().eq([1, 99]));
    /// old.xor(&difference)?;
    /// assert_eq!(old, new);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn xor(&mut self, other: &Self) -> Result<()> {
        self.combine(other, |a, b| a ^ b)
    }

    fn combine(&mut self, other: &Self, op: impl Fn(u64, u64) -> u64) -> Result<()> {
        same("bits", self.len, other.len)?;
        for (a, b) in self.words_mut().iter_mut().zip(other.words()) {
            *a = op(*a, *b);
        }
        Ok(())
    }

    /// The vector of `len` bits in which a bit is one if one of the bits that `fold` sends to it is.
    ///
    /// ```
    /// use bouquet::store::BitStore;
    /// let mut bits = BitStore::zeroed(12)?;
    /// bits.set(5);
    /// bits.set(7);
    /// assert_eq!(bits.folded(6, |position| position % 6)?.ones().collect::<Vec<_>>(), [1, 5]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn folded(&self, len: u64, fold: impl Fn(u64) -> u64) -> Result<Self> {
        let mut out = Self::zeroed(len)?;
        for position in self.ones() {
            out.set(fold(position));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(len: u64, ones: &[u64]) -> BitStore {
        let mut bits = BitStore::zeroed(len).unwrap();
        for &one in ones {
            bits.set(one);
        }
        bits
    }

    #[test]
    fn positions_beyond_the_end_are_never_set() {
        let mut bits = BitStore::zeroed(70).unwrap();
        for index in [70, 71, 127, 128, u64::MAX] {
            assert!(!bits.set(index) && !bits.get(index));
            bits.clear(index);
        }
        assert_eq!(bits.count_ones(), 0);
        assert!(!BitStore::zeroed(0).unwrap().set(0));
    }

    #[test]
    fn ones_lists_what_was_set() {
        let positions = [0, 1, 63, 64, 65, 127, 128, 199];
        assert_eq!(with(200, &positions).ones().collect::<Vec<_>>(), positions);
    }

    #[test]
    fn counting_a_range_equals_counting_one_by_one() {
        let bits = with(300, &[0, 5, 63, 64, 100, 191, 192, 255, 299]);
        for start in 0..300 {
            for end in [start, start + 1, start + 63, start + 64, start + 65, 300, 400] {
                let expected = (start..end).filter(|&i| bits.get(i)).count() as u64;
                assert_eq!(bits.count_ones_in(start, end), expected, "{start}..{end}");
            }
        }
    }

    #[test]
    fn set_operations_work_bit_by_bit_and_refuse_other_lengths() {
        let (a, b) = (with(100, &[1, 2, 70]), with(100, &[2, 70, 99]));
        let apply = |op: fn(&mut BitStore, &BitStore) -> Result<()>| {
            let mut out = a.clone();
            op(&mut out, &b).unwrap();
            out.ones().collect::<Vec<_>>()
        };
        assert_eq!(apply(BitStore::or), [1, 2, 70, 99]);
        assert_eq!(apply(BitStore::and), [2, 70]);
        assert_eq!(apply(BitStore::xor), [1, 99]);
        assert!(a.clone().or(&with(101, &[])).is_err());
    }

    #[test]
    fn words_with_a_dirty_tail_or_a_wrong_number_are_refused() {
        let words = |last: u64| {
            let mut words = Words::zeroed(2).unwrap();
            words.as_mut_slice()[1] = last;
            words
        };
        assert!(BitStore::from_words(words(1 << 5), 70).is_some());
        assert!(BitStore::from_words(words(1 << 6), 70).is_none());
        assert!(BitStore::from_words(words(0), 64).is_none());
        assert!(BitStore::from_words(words(0), 129).is_none());
    }
}
