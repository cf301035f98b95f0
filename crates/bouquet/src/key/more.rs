//! Keys that are made of others: behind pointers, in tuples, and any value that the standard library can hash.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;

use super::Key;
use crate::hash::{Digest, Hashing};

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        /// The key behind it.
        impl<K: Key + ?Sized> Key for $pointer<K> {
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                (**self).with_bytes(f)
            }

            #[inline(always)]
            fn digest(&self, hashing: &Hashing) -> Digest {
                (**self).digest(hashing)
            }
        }
    )*};
}

pointers!(Box, Rc, Arc);

/// The key that is borrowed or owned.
impl<K: Key + ToOwned + ?Sized> Key for Cow<'_, K> {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(f)
    }

    #[inline(always)]
    fn digest(&self, hashing: &Hashing) -> Digest {
        (**self).digest(hashing)
    }
}

/// The four octets, in network order.
impl Key for Ipv4Addr {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.octets())
    }
}

/// The sixteen octets, in network order.
impl Key for Ipv6Addr {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.octets())
    }
}

/// The octets, in network order: 4 or 16.
impl Key for IpAddr {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            IpAddr::V4(address) => address.with_bytes(f),
            IpAddr::V6(address) => address.with_bytes(f),
        }
    }
}

/// Bytes on the stack as long as they fit, so that short tuples need no allocation.
struct Joined {
    short: [u8; 128],
    len: usize,
    long: Vec<u8>,
}

impl Joined {
    fn new() -> Self {
        Joined { short: [0; 128], len: 0, long: Vec::new() }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            if let Some(room) = self.short.get_mut(self.len..self.len + bytes.len()) {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
                return;
            }
            self.long.extend_from_slice(&self.short[..self.len]);
        }
        self.long.extend_from_slice(bytes);
    }

    /// An element: the length of its bytes, seven bits at a time, the least first, and the bytes.
    fn element(&mut self, bytes: &[u8]) {
        let mut len = bytes.len();
        while len >= 0x80 {
            self.extend(&[len as u8 | 0x80]);
            len >>= 7;
        }
        self.extend(&[len as u8]);
        self.extend(bytes);
    }

    fn as_slice(&self) -> &[u8] {
        if self.long.is_empty() { &self.short[..self.len] } else { &self.long }
    }
}

macro_rules! tuples {
    ($($($key:ident $at:tt),+;)*) => {$(
        /// For each element the length of its bytes (LEB128) and its bytes, so that no two tuples have the same.
        impl<$($key: Key),+> Key for ($($key,)+) {
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                let mut joined = Joined::new();
                $(self.$at.with_bytes(|bytes| joined.element(bytes));)+
                f(joined.as_slice())
            }
        }
    )*};
}

tuples! {
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// Any value with [`std::hash::Hash`] as a key: its bytes are what the value hands to a hasher, numbers in little-endian order
/// and `usize` in 8 bytes.
///
/// The bytes are the same on every platform, but how a type hashes itself is no format: another version of the type, of a
/// derive or of the standard library may change it. Take it for filters that live as long as the program; for filters that
/// are stored or sent, write a [`Key`] of your own.
///
/// ```
/// use bouquet::{Bloom, ByHash};
/// #[derive(Hash)]
/// enum Flower { Rose { thorns: u32 }, Lily }
/// let mut seen = Bloom::with_rate(100, 0.01)?;
/// seen.insert(&ByHash(Flower::Rose { thorns: 7 }));
/// assert!(seen.contains(&ByHash(Flower::Rose { thorns: 7 })));
/// assert!(!seen.contains(&ByHash(Flower::Lily)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByHash<T>(pub T);

impl<T: Hash> Key for ByHash<T> {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut collected = Collector(Joined::new());
        self.0.hash(&mut collected);
        f(collected.0.as_slice())
    }
}

/// A hasher that hashes nothing and keeps what it is given.
struct Collector(Joined);

macro_rules! write_integers {
    ($($method:ident $integer:ty),*) => {$(
        fn $method(&mut self, value: $integer) {
            self.0.extend(&value.to_le_bytes());
        }
    )*};
}

impl Hasher for Collector {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_i64(value as i64);
    }

    write_integers!(write_u16 u16, write_u32 u32, write_u64 u64, write_u128 u128);
    write_integers!(write_i16 i16, write_i32 i32, write_i64 i64, write_i128 i128);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<K: Key + ?Sized>(key: &K) -> Vec<u8> {
        key.with_bytes(<[u8]>::to_vec)
    }

    #[test]
    fn a_key_behind_a_pointer_is_the_key() {
        let hashing = Hashing::default();
        let expected = "rose".digest(&hashing);
        let pointers: [Digest; 4] = [
            Box::<str>::from("rose").digest(&hashing),
            Rc::<str>::from("rose").digest(&hashing),
            Arc::new(String::from("rose")).digest(&hashing),
            Cow::Borrowed("rose").digest(&hashing),
        ];
        assert_eq!(pointers, [expected; 4]);
        assert_eq!(Box::new(7u64).digest(&hashing), 7u64.digest(&hashing));
    }

    #[test]
    fn addresses_are_their_octets() {
        assert_eq!(bytes(&IpAddr::from([192, 0, 2, 1])), [192, 0, 2, 1]);
        assert_eq!(bytes(&Ipv6Addr::LOCALHOST).len(), 16);
        assert_eq!(bytes(&IpAddr::V6(Ipv6Addr::LOCALHOST)), bytes(&Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn tuples_that_join_alike_have_different_bytes() {
        assert_eq!(bytes(&("ab", "c")), b"\x02ab\x01c");
        assert_ne!(bytes(&("ab", "c")), bytes(&("a", "bc")));
        assert_ne!(bytes(&(("a", "b"), "c")), bytes(&("a", "b", "c")));
        assert_eq!(bytes(&("rose", 7u8)), b"\x04rose\x08\x07\0\0\0\0\0\0\0");
    }

    #[test]
    fn long_tuples_are_whole() {
        for len in [0, 1, 100, 125, 126, 127, 128, 129, 130, 300, 20_000] {
            let text = "x".repeat(len);
            let found = bytes(&(text.as_str(), "end"));
            let prefix: &[u8] = match len {
                0..128 => &[len as u8],
                128..16_384 => &[len as u8 & 0x7F | 0x80, (len >> 7) as u8],
                _ => &[len as u8 & 0x7F | 0x80, (len >> 7) as u8 & 0x7F | 0x80, (len >> 14) as u8],
            };
            assert_eq!(found, [prefix, text.as_bytes(), b"\x03end"].concat(), "{len}");
        }
    }

    #[test]
    fn what_a_value_hashes_is_little_endian_and_of_one_width() {
        assert_eq!(bytes(&ByHash(0x0102u16)), [2, 1]);
        assert_eq!(bytes(&ByHash(7usize)), bytes(&ByHash(7u64)));
        assert_ne!(bytes(&ByHash(("ab", "c"))), bytes(&ByHash(("a", "bc"))));
    }
}
