//! Hash functions that other programs take positions from, each as that program computes it.

/// MurmurHash3 with 128 bits of output for 64-bit machines, seed 0.
///
/// ```
/// use bouquet::foreign::murmur3_128;
/// assert_eq!(murmur3_128(b""), (0, 0));
/// assert_eq!(murmur3_128(b"hello"), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
/// ```
#[must_use]
#[inline]
pub fn murmur3_128(bytes: &[u8]) -> (u64, u64) {
    murmur3_128_seeded(bytes, 0)
}

/// The same with a seed.
///
/// ```
/// use bouquet::foreign::murmur3_128_seeded;
/// assert_eq!(murmur3_128_seeded(b"", 0), (0, 0));
/// assert_eq!(murmur3_128_seeded(b"", 1), (0x4610_abe5_6eff_5cb5, 0x5162_2daa_78f8_3583));
/// ```
#[must_use]
#[inline]
pub fn murmur3_128_seeded(bytes: &[u8], seed: u32) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let last = |mut h: u64| {
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^ (h >> 33)
    };
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    let (blocks, tail) = bytes.as_chunks::<16>();
    let halves = |block: &[u8; 16]| {
        let whole = u128::from_le_bytes(*block);
        (whole as u64, (whole >> 64) as u64)
    };
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 = (h1 ^ mix1(k1)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ mix2(k2)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // Zeros behind the tail change nothing: their product is zero.
    let mut block = [0; 16];
    block[..tail.len()].copy_from_slice(tail);
    let (k1, k2) = halves(&block);
    let length = bytes.len() as u64;
    h1 = h1 ^ mix1(k1) ^ length;
    h2 = h2 ^ mix2(k2) ^ length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (last(h1), last(h2));
    h1 = h1.wrapping_add(h2);
    (h1, h2.wrapping_add(h1))
}

fn murmur3_word(k: u32) -> u32 {
    k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

fn murmur3_step(h: u32, word: u32) -> u32 {
    (h ^ murmur3_word(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

fn murmur3_last(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

fn murmur3_words(bytes: &[u8], seed: u32) -> (u32, &[u8]) {
    let (words, tail) = bytes.as_chunks::<4>();
    (words.iter().fold(seed, |h, word| murmur3_step(h, u32::from_le_bytes(*word))), tail)
}

/// MurmurHash3 with 32 bits of output.
///
/// ```
/// use bouquet::foreign::murmur3_32;
/// assert_eq!(murmur3_32(b"hello", 0), 0x248b_fa47);
/// assert_eq!(murmur3_32(b"", 1), 0x514e_28b7);
/// ```
#[must_use]
#[inline]
pub fn murmur3_32(bytes: &[u8], seed: u32) -> u32 {
    let (h, tail) = murmur3_words(bytes, seed);
    let rest = tail.iter().rev().fold(0u32, |rest, &byte| rest << 8 | u32::from(byte));
    murmur3_last(h ^ murmur3_word(rest) ^ bytes.len() as u32)
}

/// The same as Spark computes it: each byte behind the last whole word is mixed in as a word of its own, with its sign.
///
/// ```
/// use bouquet::foreign::{murmur3_32, spark_murmur3};
/// assert_eq!(spark_murmur3(b"four", 7), murmur3_32(b"four", 7));
/// assert_ne!(spark_murmur3(b"fives", 7), murmur3_32(b"fives", 7));
/// ```
#[must_use]
#[inline]
pub fn spark_murmur3(bytes: &[u8], seed: u32) -> u32 {
    let (h, tail) = murmur3_words(bytes, seed);
    let h = tail.iter().fold(h, |h, &byte| murmur3_step(h, i32::from(byte as i8) as u32));
    murmur3_last(h ^ bytes.len() as u32)
}

/// Bob Jenkins' lookup3 (`hashlittle`) with 32 bits of output.
///
/// ```
/// use bouquet::foreign::lookup3;
/// assert_eq!(lookup3(b"", 0), 0xdead_beef);
/// assert_eq!(lookup3(b"Four score and seven years ago", 0), 0x1777_0551);
/// assert_eq!(lookup3(b"Four score and seven years ago", 1), 0xcd62_8161);
/// ```
#[must_use]
#[inline]
pub fn lookup3(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let (mut a, mut b, mut c) = (start, start, start);
    let words = |block: &[u8; 12]| {
        let word = |at: usize| block[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        (word(0), word(4), word(8))
    };
    // The last block is never mixed as the others are, even if it is whole.
    let whole = bytes.len().saturating_sub(1) / 12;
    let (body, tail) = bytes.split_at(whole * 12);
    for block in body.as_chunks::<12>().0 {
        let (x, y, z) = words(block);
        a = a.wrapping_add(x);
        b = b.wrapping_add(y);
        c = c.wrapping_add(z);
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
    }
    if tail.is_empty() {
        return c;
    }
    let mut block = [0; 12];
    block[..tail.len()].copy_from_slice(tail);
    let (x, y, z) = words(&block);
    a = a.wrapping_add(x);
    b = b.wrapping_add(y);
    c = c.wrapping_add(z);
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// FNV-1a with 64 bits of output, from this basis.
///
/// ```
/// use bouquet::foreign::{FNV_BASIS, fnv1a};
/// assert_eq!(fnv1a(b"foobar", FNV_BASIS), 0x8594_4171_f739_67e8);
/// ```
#[must_use]
#[inline]
pub fn fnv1a(bytes: &[u8], basis: u64) -> u64 {
    bytes.iter().fold(basis, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The basis that FNV-1a begins with.
pub const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
