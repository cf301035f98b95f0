//! Hash families, one of which is chosen by what it would do: for each key, for each group of keys, or for the whole filter.
//!
//! | grain | what is least | kind |
//! |---|---|---|
//! | a key | new bits | `two-choice` |
//! | a group | new bits of all its keys | `partitioned-hashing` |
//! | the filter | ones, the rate, or false positives among known strangers | `best-of-n`, `optihash` |
//!
//! Families cost no hashing: they are derived from one digest. The search itself is [`choose`].

use crate::error::Result;
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::Stats;
use crate::parts::bit_array::BitArray;
pub(crate) use crate::theory::selection::choose;

/// The digest of a key in one of the families.
#[inline]
pub(crate) fn in_family(digest: Digest, family: u64) -> Digest {
    digest.derive(family.wrapping_add(1))
}

/// The bits, each once, that the key would set.
#[inline]
pub(crate) fn fresh_bits(array: &BitArray, digest: Digest) -> u64 {
    array.places.distinct(digest).iter().filter(|&&place| !array.bits.get(place)).count() as u64
}

/// The digests of keys, each once and ascending.
pub(crate) fn digests<K: Key>(hashing: &Hashing, keys: &[K]) -> Vec<Digest> {
    let mut digests: Vec<Digest> = keys.iter().map(|key| key.digest(hashing)).collect();
    digests.sort_unstable();
    digests.dedup();
    digests
}

/// The digests of the keys, and of those strangers that are none of them.
pub(crate) fn members_and_strangers<K: Key>(hashing: &Hashing, keys: &[K], absent: &[K]) -> [Vec<Digest>; 2] {
    let (members, mut strangers) = (digests(hashing, keys), digests(hashing, absent));
    strangers.retain(|stranger| members.binary_search(stranger).is_err());
    [members, strangers]
}

/// The filter of these digests in one family.
pub(crate) fn filled(empty: &BitArray, digests: &[Digest], family: u64) -> Result<BitArray> {
    let mut array = BitArray::zeroed(empty.places)?;
    digests.iter().for_each(|&digest| _ = array.set_all(in_family(digest, family)));
    Ok(array)
}

/// The state of bits of which a stranger must hit k ones in one of `chances` families. `more` bits are kept beside them.
pub(crate) fn stats(array: &BitArray, more: u64, items: u64, chances: u32) -> Stats {
    let (fill, hashes) = (array.bits.fill(), array.places.hashes());
    let pass = fill.powi(hashes as i32);
    Stats {
        items,
        bits: array.bits.len() + more,
        hashes,
        fill: Some(fill),
        fpr: Some(-f64::exp_m1(f64::from(chances) * (-pass).ln_1p())),
        honest_fill: Some(array.places.honest_fill(items)),
    }
}
