//! What a key's bytes are: the same on every platform and in every language.
//!
//! `std::hash::Hash` is no format: it adds length prefixes and hashes integers in native byte order. Here a key *is* a
//! string of bytes. Text is its UTF-8; an integer of up to 64 bits is its value in 8 little-endian bytes (negative
//! ones in two's complement), whatever its type, so that `7u8` and `7i64` are one key; a 128-bit integer is 16 bytes. An IP
//! address is its octets; a tuple is each element's length and bytes.

mod more;
pub use more::ByHash;

use crate::hash::{Digest, Hashing};

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
integer_keys!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

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

/// The number that a key of eight bytes is: both have one digest. Trait objects hash such keys by five instructions of their own,
/// and leave the others to a function, so that they need not save the registers that XXH3 takes.
#[inline(always)]
pub(crate) fn as_word(key: &[u8]) -> Option<u64> {
    <[u8; 8]>::try_from(key).ok().map(u64::from_le_bytes)
}

/// Keys that are hashed before the first of them is looked up, so that the memory has time to answer.
pub(crate) const BATCH: usize = 32;

/// The digests of up to [`BATCH`] keys; `touch` may prefetch what belongs to each.
#[inline(always)]
pub(crate) fn digest_batch<K: Key>(hashing: &Hashing, keys: &[K], touch: impl Fn(Digest)) -> [Digest; BATCH] {
    let mut digests = [Digest { h1: 0, h2: 0 }; BATCH];
    #[expect(
        clippy::if_same_then_else,
        reason = "in the first loop the hash function is known and not asked for each key"
    )]
    if hashing.is_folded() {
        fill(&mut digests, hashing, keys, touch);
    } else {
        fill(&mut digests, hashing, keys, touch);
    }
    digests
}

#[inline(always)]
fn fill<K: Key>(digests: &mut [Digest; BATCH], hashing: &Hashing, keys: &[K], touch: impl Fn(Digest)) {
    for (digest, key) in digests.iter_mut().zip(keys) {
        *digest = key.digest(hashing);
        touch(*digest);
    }
}

pub(crate) use crate::simd::{CACHED_BITS, NEAR_BITS};

/// Aligned to cache lines: vector code writes a line at a time here, and what is written across two of them takes twice as long to be
/// read again.
#[repr(align(64))]
struct InLines<T>(T);

/// Goes through the keys by batches, one batch ahead: `make` hashes a batch and prefetches what belongs to it, and only
/// when that is done for the next one is `each` given the batch, its first key's number and what `make` left.
#[inline(always)]
pub(crate) fn one_batch_ahead<K: Key, T: Copy>(
    keys: &[K],
    nothing: T,
    make: impl Fn(&[K], &mut [T; BATCH]),
    mut each: impl FnMut(usize, &[T]),
) {
    let (mut one, mut other) = (InLines([nothing; BATCH]), InLines([nothing; BATCH]));
    let (mut now, mut ahead) = (&mut one.0, &mut other.0);
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
    use crate::Counting;
    use crate::capability::{Contains, Insert, Item};
    use crate::counting::counting;
    use crate::counting::cuckoo::Cuckoo;
    use crate::counting::d_left::DLeft;
    use crate::counting::l_cbf::LCbf;
    use crate::counting::mpcbf::Mpcbf;
    use crate::counting::quotient::Quotient;
    use crate::counting::spectral::Spectral;
    use crate::counting::variable_increment::VariableIncrement;
    use crate::kind::Config;
    use crate::shell::batch;

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

    /// Checks inserting and asking for keys by batches against a model that does it one by one.
    macro_rules! batches_are_single_calls {
        ($single:expr, $items:expr, $keys:expr, $insert:expr) => {{
            let (mut single, items, keys) = ($single, $items, $keys);
            let mut batch = single.clone();
            let fresh = items.iter().filter(|item| $insert(&mut single, item)).count();
            assert_eq!(batch.insert_batch(items).unwrap(), fresh as u64);
            assert!(batch == single);
            for count in [0, 1, 5, BATCH - 1, BATCH, BATCH + 1, keys.len()] {
                let mut answers = vec![true; keys.len() + 1];
                batch.contains_batch(&keys[..count], &mut answers);
                assert!(keys[..count].iter().map(|key| single.contains(key)).eq(answers[..count].iter().copied()));
                assert!(answers[count..].iter().all(|answer| *answer), "the rest is left alone");
            }
        }};
    }

    #[test]
    fn batches_of_typed_keys_are_single_calls_in_tables_near_and_far() {
        let items: Vec<u64> = (0..700).chain(0..70).collect();
        let keys: Vec<u64> = (0..2_000).collect();
        for items_planned in [1_000, 300_000, 5_000_000] {
            macro_rules! check {
                ($($filter:ty),*) => {$(
                    let filter = <$filter>::with_rate(items_planned, 0.01).unwrap();
                    let insert = |filter: &mut $filter, key: &u64| filter.insert(key).unwrap();
                    batches_are_single_calls!(filter, &items, &keys, insert);
                )*};
            }
            check!(Counting, Cuckoo, Quotient, DLeft);
        }
        let is_far = |items| crate::shell::batch::is_far(Cuckoo::with_rate(items, 0.01).unwrap().mechanism());
        assert!(!is_far(1_000) && is_far(300_000));
        let is_far = |items| crate::shell::batch::is_far(DLeft::with_rate(items, 0.01).unwrap().mechanism());
        assert!(!is_far(300_000) && is_far(5_000_000));
    }

    #[test]
    fn batches_of_bytes_are_single_calls_in_tables_near_and_far() {
        let bytes: Vec<[u8; 8]> = (0..2_000_u64).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = bytes.iter().map(<[u8; 8]>::as_slice).collect();
        let items: Vec<Item<'_>> = keys[..700].iter().chain(&keys[..70]).map(|key| Item::from(*key)).collect();
        fn check<F: Contains + Insert + Clone + PartialEq>(filter: F, items: &[Item<'_>], keys: &[&[u8]]) {
            batches_are_single_calls!(filter, items, keys, |filter: &mut F, item: &Item<'_>| filter
                .insert(*item)
                .unwrap());
        }
        for planned in [1_000, 300_000, 5_000_000] {
            check(Counting::with_rate(planned, 0.01).unwrap(), &items, &keys);
            check(Quotient::with_rate(planned, 0.01).unwrap(), &items, &keys);
            check(Mpcbf::with_rate(planned, 0.01).unwrap(), &items, &keys);
            check(LCbf::with_rate(planned, 0.01).unwrap(), &items, &keys);
            check(VariableIncrement::with_rate(planned, 0.01).unwrap(), &items, &keys);
            check(Spectral::with_rate(planned, 0.01).unwrap(), &items, &keys);
        }
        let far = VariableIncrement::with_rate(5_000_000, 0.01).unwrap();
        let words = Mpcbf::with_rate(300_000, 0.01).unwrap();
        assert!(batch::is_far(far.mechanism()) && batch::is_far(words.mechanism()));
    }

    #[test]
    fn an_error_stops_at_the_key_that_caused_it_near_and_far() {
        for counters in [1_000, 1 << 26] {
            let config = Config::new(counting::KIND.facts()).set("counters", &counters.to_string()).unwrap();
            let config = ["width:4", "hashes:7", "policy:reject"].iter().fold(config, |config, setting| {
                let (name, text) = setting.split_once(':').unwrap();
                config.set(name, text).unwrap()
            });
            let mut filter = Counting::from_config(&config).unwrap();
            let keys: Vec<&str> = std::iter::repeat_n("rose", 16).chain(["lily"]).collect();
            assert!(filter.insert_batch(&keys).is_err());
            assert_eq!((filter.items(), filter.contains("lily")), (15, false));
        }
    }

    #[test]
    fn text_and_its_bytes_are_one_key() {
        let hashing = Hashing::default();
        assert_eq!("rose".digest(&hashing), b"rose".digest(&hashing));
        assert_eq!(String::from("rose").digest(&hashing), vec![b'r', b'o', b's', b'e'].digest(&hashing));
    }
}
