//! The 32-bit hashes of a key, one for each row of a sketch.

use super::murmur::murmur2;
use crate::hash::{Hashing, mix};
use crate::shell::Hashed;

/// What the hashes of a key are taken from.
#[derive(Clone, Copy)]
pub(super) enum RowHash<'a> {
    /// MurmurHash2 of its bytes with the row as seed, as RedisBloom does.
    Native(&'a [u8]),
    /// The first word of its digest under a seed or a secret of the filter, which RedisBloom cannot ask for.
    Digest(u64),
}

impl<'a> RowHash<'a> {
    pub(super) fn of(is_native: bool, key: Hashed<'a>) -> Self {
        if is_native { RowHash::Native(key.bytes) } else { RowHash::Digest(key.digest.h1) }
    }

    #[inline]
    pub(super) fn at(self, row: u32) -> u32 {
        match self {
            RowHash::Native(bytes) => murmur2(bytes, row),
            RowHash::Digest(word) => mix(word ^ mix(u64::from(row) + 1)) as u32,
        }
    }
}

/// Whether keys are hashed as the program does whose layout it is: without a seed and without a secret.
pub(super) fn is_native(hashing: &Hashing) -> bool {
    *hashing == Hashing::default()
}

/// Refuses to write for another program what it could not ask.
pub(super) fn need_native(is_native: bool) -> crate::error::Result<()> {
    let other =
        || crate::Error::parameter("hashing", "without a seed and without a secret, as RedisBloom's is", "another");
    if is_native { Ok(()) } else { Err(other()) }
}
