//! The memory under every store: 64-bit words, aligned to cache lines, owned or mapped from a file.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::simd::memory::{Memory, SharedMemory};
pub(crate) use crate::simd::memory::{Opening, WritableMap};

/// A fixed number of 64-bit words.
///
/// Words that come from a file mapped for reading are read in place; the first write copies them to memory of their
/// own, so a mapped filter behaves as any other and the file never changes. Words of a file mapped for writing change in
/// the file. A copy never shares what can change: it has memory of its own.
///
/// ```
/// use bouquet::store::Words;
/// let mut words = Words::zeroed(3)?;
/// words.as_mut_slice()[2] = 7;
/// assert_eq!(words.as_slice(), [0, 0, 7]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct Words {
    memory: Memory,
}

impl Words {
    /// `len` words of zeros, or an error when the memory cannot be had.
    ///
    /// ```
    /// use bouquet::store::Words;
    /// assert_eq!(Words::zeroed(3)?.as_slice(), [0, 0, 0]);
    /// assert!(Words::zeroed(u64::MAX).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn zeroed(len: u64) -> Result<Self> {
        let too_large = || Error::TooLarge { what: "the store".into(), bytes: u128::from(len) * 8 };
        let memory = usize::try_from(len).ok().and_then(Memory::zeroed).ok_or_else(too_large)?;
        Ok(Words { memory })
    }

    /// `len` words of zeros for a copy of as many that are there already; it fails as a copy does.
    pub(crate) fn for_copy(len: usize) -> Self {
        Words { memory: Memory::for_copy(len) }
    }

    /// The memory, to be shared between threads; mapped words are copied.
    pub(crate) fn into_shared(self) -> SharedMemory {
        let memory = if self.is_mapped() { Memory::copy_of(self.as_slice()) } else { self.memory };
        SharedMemory::new(memory)
    }

    /// The words in memory that is shared no more.
    pub(crate) fn from_shared(memory: SharedMemory) -> Self {
        Words { memory: memory.into_memory() }
    }

    /// A copy of these words.
    pub(crate) fn copied(source: &[u64]) -> Result<Self> {
        let mut words = Self::zeroed(source.len() as u64)?;
        words.as_mut_slice().copy_from_slice(source);
        Ok(words)
    }

    /// The words at these little-endian bytes.
    pub(crate) fn from_le_bytes(bytes: &[u8]) -> Result<Self> {
        let mut words = Self::zeroed(bytes.len().div_ceil(8) as u64)?;
        let (whole, rest) = bytes.as_chunks::<8>();
        let target = words.as_mut_slice();
        for (word, bytes) in target.iter_mut().zip(whole) {
            *word = u64::from_le_bytes(*bytes);
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            target[whole.len()] = u64::from_le_bytes(last);
        }
        Ok(words)
    }

    /// `len` words of a mapped file from byte `offset` on, read in place. `None` where that is not possible: on a
    /// big-endian machine, at an odd offset or beyond the end of the file.
    pub(crate) fn mapped(map: &Arc<Mmap>, offset: usize, len: usize) -> Option<Self> {
        let memory = Memory::mapped(map, offset, len)?;
        cfg!(target_endian = "little").then_some(Words { memory })
    }

    /// `len` words from byte `offset` of a file on, a multiple of 8, that change in the file. `None` on a big-endian
    /// machine, where words are not what the file holds.
    pub(crate) fn writable(file: &File, opening: &Opening, offset: usize, len: usize) -> std::io::Result<Option<Self>> {
        if cfg!(target_endian = "big") || !offset.is_multiple_of(8) {
            return Ok(None);
        }
        let bytes = len.checked_mul(8).ok_or(std::io::ErrorKind::InvalidInput)?;
        let map = WritableMap::new(file, opening, offset as u64, bytes)?;
        Ok(Some(Words { memory: Memory::writable(map) }))
    }

    /// Where the words change in a file, if they do.
    pub(crate) fn writable_map(&self) -> Option<&WritableMap> {
        self.memory.writable_map()
    }

    /// The words.
    ///
    /// ```
    /// use bouquet::store::Words;
    /// let words = Words::zeroed(10)?;
    /// assert_eq!(words.as_slice().len(), 10);
    /// assert_eq!(words.as_slice().as_ptr() as usize % 64, 0, "they begin at a cache line");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        self.memory.words()
    }

    /// The words, to be changed.
    ///
    /// ```
    /// use bouquet::store::Words;
    /// let mut words = Words::zeroed(2)?;
    /// let before = words.clone();
    /// words.as_mut_slice()[1] = 7;
    /// assert_eq!((words.as_slice(), before.as_slice()), ([0, 7].as_slice(), [0, 0].as_slice()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        if !self.memory.is_settled() {
            // By value, and dropped elsewhere: no call knows where this lies, so that loops may keep the rest of a filter in
            // registers.
            let settled = std::mem::take(&mut self.memory).settled();
            drop(std::mem::replace(&mut self.memory, settled));
        }
        self.memory.words_in_place()
    }

    /// The words, to be changed where they are; none of them when they are, or were, mapped for reading.
    #[inline(always)]
    pub(crate) fn in_place(&mut self) -> &mut [u64] {
        self.memory.words_in_place()
    }

    /// The words, to be changed where [`in_place`](Self::in_place) gives none, which it goes on to do.
    #[inline(always)]
    pub(crate) fn or_copy(&mut self) -> &mut [u64] {
        self.memory.words_or_copy()
    }

    /// Whether the words are in a mapped file.
    ///
    /// ```
    /// use bouquet::store::Words;
    /// assert!(!Words::zeroed(3)?.is_mapped(), "it is memory of its own");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.memory.is_mapped()
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        Words { memory: self.memory.shared().unwrap_or_else(|| Memory::copy_of(self.as_slice())) }
    }
}

/// The `width` bits (1 to 64) from bit `bit` on, low bit first; they may cross a word boundary.
///
/// The caller sees to it that `bit + width` bits are there.
#[inline]
pub(crate) fn read_field(words: &[u64], bit: u64, width: u32) -> u64 {
    let (word, offset) = ((bit / 64) as usize, (bit % 64) as u32);
    let low = words[word] >> offset;
    // A field that crosses does not begin at bit 0, so the shift is below 64.
    let value = if offset + width > 64 { low | words[word + 1] << (64 - offset) } else { low };
    value & field_max(width)
}

/// Replaces the bits that [`read_field`] gives; `value` must fit `width` bits.
#[inline]
pub(crate) fn write_field(words: &mut [u64], bit: u64, width: u32, value: u64) {
    let (word, offset) = ((bit / 64) as usize, (bit % 64) as u32);
    let mask = field_max(width);
    words[word] = words[word] & !(mask << offset) | value << offset;
    if offset + width > 64 {
        let shift = 64 - offset;
        words[word + 1] = words[word + 1] & !(mask >> shift) | value >> shift;
    }
}

/// The 64 bits from bit `bit` on, low bit first; zeros where the words end. Unlike [`read_field`] it has no branch that
/// depends on whether a word boundary is crossed, which for scattered fields cannot be predicted.
#[inline]
pub(crate) fn read_window(words: &[u64], bit: u64) -> u64 {
    let (word, offset) = ((bit / 64) as usize, (bit % 64) as u32);
    let low = words.get(word).copied().unwrap_or(0);
    let high = words.get(word + 1).copied().unwrap_or(0);
    // Shifted in two steps, because a shift by 64 is none.
    low >> offset | high << 1 << (63 - offset)
}

/// Inverts, from bit `bit` on, the bits that are set in `pattern`; those beyond the words are left out.
#[inline]
pub(crate) fn invert_window(words: &mut [u64], bit: u64, pattern: u64) {
    let (word, offset) = ((bit / 64) as usize, (bit % 64) as u32);
    if let Some(low) = words.get_mut(word) {
        *low ^= pattern << offset;
    }
    if let Some(high) = words.get_mut(word + 1) {
        *high ^= pattern >> 1 >> (63 - offset);
    }
}

/// The largest value of `width` bits (1 to 64).
#[inline]
pub(crate) fn field_max(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Words {}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({}{})", self.as_slice().len(), if self.is_mapped() { ", mapped" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_words_begin_on_a_cache_line() {
        let words = Words::zeroed(1000).unwrap();
        assert_eq!(words.as_slice().as_ptr() as usize % 64, 0);
        assert_eq!(words.as_slice().len(), 1000);
    }

    #[test]
    fn sizes_beyond_memory_are_refused() {
        for len in [u64::MAX, u64::MAX / 8, u64::MAX / 64, 1 << 59, 1 << 57] {
            assert!(matches!(Words::zeroed(len), Err(Error::TooLarge { .. })), "{len}");
        }
    }

    #[test]
    fn bytes_become_little_endian_words_with_a_zero_tail() {
        let words = Words::from_le_bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 3]).unwrap();
        assert_eq!(words.as_slice(), [1, 0x0302]);
    }
}
