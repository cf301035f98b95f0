//! What a key's bytes are: the same on every platform and in every language.
//!
//! `std::hash::Hash` is no format: it adds length prefixes and hashes integers in native byte order. Here a key *is* a
//! string of bytes. Text is its UTF-8; an integer of up to 64 bits is its value in 8 little-endian bytes (negative
//! ones in two's complement), whatever its type, so that `7u8` and `7i64` are one key; a 128-bit integer is 16 bytes.

use crate::hash::{Digest, Hashing};
use crate::simd::four;

/// Something that can be a key.
///
/// Law: equal keys yield equal bytes, on every platform and in every version.
///
/// ```
/// use bouquet::Key;
/// assert_eq!(7u8.with_bytes(<[u8]>::to_vec), 7i64.with_bytes(<[u8]>::to_vec));
/// assert_eq!("é".with_bytes(<[u8]>::len), 2);
/// ```
pub trait Key {
    /// Calls `f` with the key's bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;

    /// The key's digest under `hashing`.
    #[inline(always)]
    fn digest(&self, hashing: &Hashing) -> Digest {
        self.with_bytes(|bytes| hashing.digest(bytes))
    }

    /// The keys as numbers, if that is what they are in memory: batches hash several numbers at once.
    ///
    /// ```
    /// use bouquet::Key;
    /// assert_eq!(Key::as_words(&[7u64, 8]), Some([7, 8].as_slice()));
    /// assert_eq!(Key::as_words(&["seven", "eight"]), None);
    /// ```
    #[inline(always)]
    fn as_words(keys: &[Self]) -> Option<&[u64]>
    where
        Self: Sized,
    {
        let _ = keys;
        None
    }
}

impl Key for [u8] {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for Vec<u8> {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for str {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl Key for String {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(f)
    }

    #[inline(always)]
    fn digest(&self, hashing: &Hashing) -> Digest {
        (**self).digest(hashing)
    }
}

macro_rules! integer_keys {
    ($($integer:ty),*) => {$(
        impl Key for $integer {
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                f(&(*self as u64).to_le_bytes())
            }

            #[inline(always)]
            fn digest(&self, hashing: &Hashing) -> Digest {
                hashing.digest_word(*self as u64)
            }
        }
    )*};
}

// A cast from a signed type extends the sign.
integer_keys!(u8, u16, u32, usize, i8, i16, i32, i64, isize);

impl Key for u64 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.to_le_bytes())
    }

    #[inline(always)]
    fn digest(&self, hashing: &Hashing) -> Digest {
        hashing.digest_word(*self)
    }

    #[inline(always)]
    fn as_words(keys: &[Self]) -> Option<&[u64]> {
        Some(keys)
    }
}

impl Key for u128 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.to_le_bytes())
    }
}

impl Key for i128 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.to_le_bytes())
    }
}

/// Keys that are hashed before the first of them is looked up, so that the memory has time to answer.
pub(crate) const BATCH: usize = 32;

/// The digests of up to [`BATCH`] keys; `touch` is to ask the memory for what belongs to each.
#[inline(always)]
pub(crate) fn digest_batch<K: Key>(hashing: &Hashing, keys: &[K], touch: impl Fn(Digest)) -> [Digest; BATCH] {
    let mut digests = [Digest { h1: 0, h2: 0 }; BATCH];
    let numbers = K::as_words(keys).zip(hashing.word_flip());
    let done = numbers.map_or(0, |(words, flip)| four::digests(words, flip, &mut digests));
    digests.iter().take(done).for_each(|digest| touch(*digest));
    for (digest, key) in digests.iter_mut().zip(keys).skip(done) {
        *digest = key.digest(hashing);
        touch(*digest);
    }
    digests
}

/// The first halves of the digests of up to [`BATCH`] keys, for those who do not need the others.
#[inline(always)]
pub(crate) fn first_halves<K: Key>(hashing: &Hashing, keys: &[K]) -> [u64; BATCH] {
    let mut halves = [0; BATCH];
    let numbers = K::as_words(keys).zip(hashing.word_flip());
    let done = numbers.map_or(0, |(words, flip)| four::first_halves(words, flip, &mut halves));
    for (half, key) in halves.iter_mut().zip(keys).skip(done) {
        *half = key.digest(hashing).h1;
    }
    halves
}

/// Goes through the keys by batches, one batch ahead: `make` hashes a batch and asks the memory for what belongs to it, and only
/// when that is done for the next one is `each` given the batch, its first key's number and what `make` left.
#[inline(always)]
pub(crate) fn one_batch_ahead<K: Key, T: Copy>(
    keys: &[K],
    nothing: T,
    make: impl Fn(&[K], &mut [T; BATCH]),
    mut each: impl FnMut(usize, &[T]),
) {
    let (mut one, mut other) = ([nothing; BATCH], [nothing; BATCH]);
    let (mut now, mut ahead) = (&mut one, &mut other);
    let (mut chunks, mut start) = (keys.chunks(BATCH), 0);
    let mut batch = chunks.next().unwrap_or_default();
    make(batch, now);
    while !batch.is_empty() {
        let next = chunks.next().unwrap_or_default();
        make(next, ahead);
        each(start, &now[..batch.len().min(BATCH)]);
        start += batch.len();
        batch = next;
        std::mem::swap(&mut now, &mut ahead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_eight_little_endian_bytes_whatever_their_type() {
        assert_eq!(0x0102u16.with_bytes(<[u8]>::to_vec), [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!((-1i32).with_bytes(<[u8]>::to_vec), [255; 8]);
        assert_eq!(1u128.with_bytes(<[u8]>::len), 16);
    }

    #[test]
    fn batches_come_in_order_and_each_after_the_next_is_made() {
        for count in [0, 1, 31, 32, 33, 64, 100] {
            let keys: Vec<u64> = (0..count).collect();
            let made = std::cell::Cell::new(0);
            let mut seen = Vec::new();
            let make = |keys: &[u64], made_here: &mut [u64; BATCH]| {
                made_here[..keys.len()].copy_from_slice(keys);
                made.set(made.get() + keys.len() as u64);
            };
            one_batch_ahead(&keys, 0, make, |start, batch| {
                assert_eq!(start, seen.len());
                seen.extend_from_slice(batch);
                assert!(made.get() == count || made.get() == (seen.len() + BATCH) as u64);
            });
            assert_eq!(seen, keys);
        }
    }

    #[test]
    fn text_and_its_bytes_are_one_key() {
        let hashing = Hashing::default();
        assert_eq!("rose".digest(&hashing), b"rose".digest(&hashing));
        assert_eq!(String::from("rose").digest(&hashing), vec![b'r', b'o', b's', b'e'].digest(&hashing));
    }
}
