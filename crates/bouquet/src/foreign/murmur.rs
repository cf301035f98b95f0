//! Austin Appleby's MurmurHash2, which many programs hash with.

/// Multiplier of the 64-bit variant.
const M64: u64 = 0xc6a4_a793_5bd1_e995;

/// Multiplier of the 32-bit variant.
const M32: u32 = 0x5bd1_e995;

/// MurmurHash64A: MurmurHash2 with 64 bits of output.
///
/// ```
/// use bouquet::foreign::murmur64a;
/// assert_eq!(murmur64a(b"", 0), 0);
/// assert_ne!(murmur64a(b"rose", 0), murmur64a(b"rose", 1));
/// ```
#[must_use]
#[inline]
pub fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    let mut h = seed ^ (bytes.len() as u64).wrapping_mul(M64);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M64);
        k = (k ^ (k >> 47)).wrapping_mul(M64);
        h = (h ^ k).wrapping_mul(M64);
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0u64, |rest, &byte| rest << 8 | u64::from(byte));
        h = (h ^ rest).wrapping_mul(M64);
    }
    h = (h ^ (h >> 47)).wrapping_mul(M64);
    h ^ (h >> 47)
}

/// MurmurHash2 with 32 bits of output.
///
/// ```
/// use bouquet::foreign::murmur2;
/// assert_eq!(murmur2(b"", 0), 0);
/// assert_ne!(murmur2(b"rose", 0), murmur2(b"rose", 1));
/// ```
#[must_use]
#[inline]
pub fn murmur2(bytes: &[u8], seed: u32) -> u32 {
    let rest = |tail: &[u8]| tail.iter().rev().fold(0u32, |rest, &byte| rest << 8 | u32::from(byte));
    murmur2_with(bytes, seed, rest)
}

/// MurmurHash2 with 32 bits of output as Hadoop computes it: of the bytes behind the last whole word the last one is the lowest, and all
/// have a sign.
///
/// ```
/// use bouquet::foreign::{hadoop_murmur2, murmur2};
/// assert_eq!(hadoop_murmur2(b"four", 7), murmur2(b"four", 7));
/// assert_ne!(hadoop_murmur2(b"sixsix", 7), murmur2(b"sixsix", 7));
/// ```
#[must_use]
#[inline]
pub fn hadoop_murmur2(bytes: &[u8], seed: u32) -> u32 {
    let signed = |(place, &byte): (usize, &u8)| (i32::from(byte as i8) as u32) << (8 * place);
    murmur2_with(bytes, seed, |tail| tail.iter().rev().enumerate().map(signed).fold(0, |rest, byte| rest ^ byte))
}

/// The 32-bit variant, with what is made of the bytes behind the last whole word.
#[inline(always)]
fn murmur2_with(bytes: &[u8], seed: u32, rest: impl Fn(&[u8]) -> u32) -> u32 {
    let mut h = seed ^ bytes.len() as u32;
    let (words, tail) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M32);
        k = (k ^ (k >> 24)).wrapping_mul(M32);
        h = h.wrapping_mul(M32) ^ k;
    }
    if !tail.is_empty() {
        h = (h ^ rest(tail)).wrapping_mul(M32);
    }
    h = (h ^ (h >> 13)).wrapping_mul(M32);
    h ^ (h >> 15)
}
