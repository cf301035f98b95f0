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
    let mut h = seed ^ bytes.len() as u32;
    let (words, tail) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M32);
        k = (k ^ (k >> 24)).wrapping_mul(M32);
        h = h.wrapping_mul(M32) ^ k;
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0u32, |rest, &byte| rest << 8 | u32::from(byte));
        h = (h ^ rest).wrapping_mul(M32);
    }
    h = (h ^ (h >> 13)).wrapping_mul(M32);
    h ^ (h >> 15)
}
