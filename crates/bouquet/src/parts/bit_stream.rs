//! A string of bits that is written and read in order, the highest bit of each field first: Golomb codes and packed indices.
//!
//! The string is kept in words whose little-endian bytes are its bytes, so that a frame holds it as other programs write it.

use crate::store::Words;

/// Writes fields one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitWriter {
    words: Vec<u64>,
    /// The last bits that do not fill a word, at the upper end; below it zeros.
    open: u64,
    len: u64,
}

impl BitWriter {
    /// The bits so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The low `width` bits of a value, at most 64.
    pub(crate) fn put(&mut self, value: u64, width: u32) {
        if width == 0 {
            return;
        }
        let (used, field) = ((self.len % 64) as u32, value << (64 - width));
        self.open |= field >> used;
        self.len += u64::from(width);
        if used + width >= 64 {
            self.words.push(self.open.swap_bytes());
            // Shifted in two steps, because a shift by 64 is none.
            self.open = field << 1 << (63 - used);
        }
    }

    /// This many ones and a zero.
    pub(crate) fn put_unary(&mut self, mut ones: u64) {
        while ones >= 64 {
            self.put(u64::MAX, 64);
            ones -= 64;
        }
        self.put(u64::MAX << 1, ones as u32 + 1);
    }

    /// The words, with zeros behind the last bit.
    pub(crate) fn into_words(mut self) -> crate::error::Result<Words> {
        if !self.len.is_multiple_of(64) {
            self.words.push(self.open.swap_bytes());
        }
        Words::copied(&self.words)
    }
}

/// Reads the fields of a string of `end` bits from any bit on. What lies beyond the end is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    words: &'a [u64],
    at: u64,
    end: u64,
}

impl<'a> BitReader<'a> {
    /// A reader from bit `at` on.
    #[inline]
    pub(crate) fn new(words: &'a [u64], at: u64, end: u64) -> Self {
        BitReader { words, at, end: end.min(words.len() as u64 * 64) }
    }

    /// The next 64 bits, the first at the upper end; zeros behind the words.
    #[inline]
    fn window(&self) -> u64 {
        let (word, offset) = ((self.at / 64) as usize, (self.at % 64) as u32);
        let high = self.words.get(word).map_or(0, |word| word.swap_bytes());
        let low = self.words.get(word + 1).map_or(0, |word| word.swap_bytes());
        high << offset | low >> 1 >> (63 - offset)
    }

    /// A field of `width` bits, at most 64; `None` if fewer are left.
    #[inline]
    pub(crate) fn get(&mut self, width: u32) -> Option<u64> {
        let next = self.at.checked_add(u64::from(width)).filter(|next| *next <= self.end)?;
        // Shifted in two steps, because a shift by 64 is none.
        let field = if width == 0 { 0 } else { self.window() >> (64 - width) };
        self.at = next;
        Some(field)
    }

    /// The number of ones before the next zero, which is read too; `None` if there are more than `most`, or no zero is left.
    #[inline]
    pub(crate) fn get_unary(&mut self, most: u64) -> Option<u64> {
        let mut ones = 0;
        loop {
            let run = self.window().leading_ones();
            ones += u64::from(run);
            self.at = self.at.checked_add(u64::from(run)).filter(|next| *next < self.end)?;
            if ones > most {
                return None;
            }
            if run < 64 {
                self.at += 1;
                return Some(ones);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn fields_come_back_and_nothing_is_read_beyond_the_end() {
        let mut random = SplitMix::new(1);
        let fields: Vec<(u64, u32, bool)> = (0..2_000)
            .map(|_| {
                let width = random.below(65) as u32;
                let unary = random.below(4) == 0;
                let value = if width == 0 { 0 } else { random.next_u64() >> (64 - width) };
                (if unary { random.below(200) } else { value }, width, unary)
            })
            .collect();
        let mut writer = BitWriter::default();
        for &(value, width, unary) in &fields {
            if unary { writer.put_unary(value) } else { writer.put(value, width) }
        }
        let (end, words) = (writer.len(), writer.into_words().unwrap());
        assert_eq!(words.as_slice().len() as u64, end.div_ceil(64));
        let mut reader = BitReader::new(words.as_slice(), 0, end);
        for &(value, width, unary) in &fields {
            assert_eq!(if unary { reader.get_unary(200) } else { reader.get(width) }, Some(value));
        }
        assert_eq!((reader.at, reader.get(1), reader.get(0)), (end, None, Some(0)));
        assert_eq!(reader.get_unary(u64::MAX), None);
    }

    #[test]
    fn the_bytes_of_the_words_are_the_string() {
        let mut writer = BitWriter::default();
        writer.put(0xA, 4);
        writer.put_unary(3);
        writer.put(0x1234, 16);
        let words = writer.into_words().unwrap();
        assert_eq!(words.as_slice()[0].to_le_bytes(), [0xAE, 0x12, 0x34, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn endless_ones_end() {
        let words = [u64::MAX; 100];
        assert_eq!(BitReader::new(&words, 0, 6_400).get_unary(u64::MAX), None);
        assert_eq!(BitReader::new(&words, 0, 6_400).get_unary(70), None);
        assert_eq!(BitReader::new(&words, u64::MAX, u64::MAX).get(64), None);
    }
}
