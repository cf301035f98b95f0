//! Blocks of eight 32-bit lanes, one bit per lane and key: test and set of a whole block.
//!
//! Lane j of a key with hash word x has bit (x * SALT[j] mod 2^32) / 2^27. [`scalar`] is the specification; the others
//! compute the same with vector instructions. Single calls are inlined: with intrinsics where the build's own target features
//! allow AVX2, as assembly where the machine turns out to have it. Batches choose at run time, once.

/// The multipliers of Apache Parquet's split-block filter: odd, and published with it.
pub(crate) const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Avx2, Avx512, INLINED, chosen, chosen_mut};

/// Eight lanes, two to a word, the even lane in the low half.
pub(crate) type Block = [u64; 4];

/// What single calls are made with: chosen once, when a filter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instructions {
    code: Code,
    /// The same if calls are usual and the machine has vector code, or is of a sort that has none here: one byte to look at.
    usual: Option<Code>,
}

/// The code for a machine. That for AVX-512 is what a build without AVX2 inlines in its stead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Plain,
    Avx2(Avx2),
    Avx512(Avx512),
}

impl Instructions {
    /// Those of the machine; `usual` says whether calls are usual, so that [`test_usually`] and [`set_usually`] will answer.
    pub(crate) fn detected(usual: bool) -> Self {
        let better = Avx512::detected().filter(|_| !INLINED).map(Code::Avx512);
        Self::of(Avx2::detected().map_or(Code::Plain, |avx2| better.unwrap_or(Code::Avx2(avx2))), usual)
    }

    fn of(code: Code, usual: bool) -> Self {
        let inlined = code != Code::Plain || cfg!(not(target_arch = "x86_64"));
        Instructions { code, usual: Some(code).filter(|_| usual && inlined) }
    }

    /// Whether calls are usual and the machine has the code for them, which is AVX2 on x86-64.
    #[inline(always)]
    pub(crate) fn usual(self) -> bool {
        self.usual.is_some()
    }
}

/// Plain Rust: what the others must equal. Machines with vector code use it in tests only.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
pub(crate) mod scalar {
    use super::{Block, SALT};

    /// The bits of a key.
    #[inline]
    pub(crate) fn mask(x: u32) -> Block {
        let lane = |j: usize| 1u64 << (x.wrapping_mul(SALT[j]) >> 27);
        std::array::from_fn(|i| lane(2 * i) | lane(2 * i + 1) << 32)
    }

    /// Whether the block has all bits of the key.
    #[inline]
    pub(crate) fn test(block: &Block, x: u32) -> bool {
        let mask = mask(x);
        (0..4).fold(0, |missing, i| missing | mask[i] & !block[i]) == 0
    }

    /// Sets the bits of the key and says whether one was new.
    #[inline]
    pub(crate) fn set(block: &mut Block, x: u32) -> bool {
        let mask = mask(x);
        let mut missing = 0;
        for (word, mask) in block.iter_mut().zip(mask) {
            missing |= mask & !*word;
            *word |= mask;
        }
        missing != 0
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod sse2 {
    //! SSE2, which every x86-64 has. It multiplies two lanes at a time and cannot shift lanes by different amounts:
    //! 2^b is made as the float of exponent b and converted. 2^31 does not fit a signed integer, and the conversion
    //! answers with 0x80000000, which is 2^31.

    use std::arch::x86_64::*;

    use super::{Block, SALT};

    #[inline(always)]
    fn half(x: __m128i, salt: [u32; 4]) -> __m128i {
        // SAFETY: SSE2 is part of every x86-64; the intrinsics work on registers only.
        unsafe {
            let salt = _mm_set_epi32(salt[3] as i32, salt[2] as i32, salt[1] as i32, salt[0] as i32);
            let even = _mm_mul_epu32(x, salt);
            let odd = _mm_mul_epu32(x, _mm_srli_epi64::<32>(salt));
            let even = _mm_shuffle_epi32::<0b00_00_10_00>(even);
            let odd = _mm_shuffle_epi32::<0b00_00_10_00>(odd);
            let bit = _mm_srli_epi32::<27>(_mm_unpacklo_epi32(even, odd));
            let float = _mm_slli_epi32::<23>(_mm_add_epi32(bit, _mm_set1_epi32(127)));
            _mm_cvttps_epi32(_mm_castsi128_ps(float))
        }
    }

    #[inline(always)]
    fn mask(x: u32) -> (__m128i, __m128i) {
        // SAFETY: SSE2 is part of every x86-64; the intrinsic works on registers only.
        let x = unsafe { _mm_set1_epi32(x as i32) };
        let [a, b, c, d, e, f, g, h] = SALT;
        (half(x, [a, b, c, d]), half(x, [e, f, g, h]))
    }

    /// As [`scalar::mask`](super::scalar::mask).
    #[inline(always)]
    #[cfg_attr(target_feature = "avx2", allow(dead_code))]
    pub(crate) fn words(x: u32) -> Block {
        let (low, high) = mask(x);
        let mut words = [0; 4];
        let at = words.as_mut_ptr().cast::<__m128i>();
        // SAFETY: the words are 32 writable bytes; unaligned stores take any address.
        unsafe {
            _mm_storeu_si128(at, low);
            _mm_storeu_si128(at.add(1), high);
        }
        words
    }

    /// As [`scalar::test`](super::scalar::test).
    #[inline(always)]
    pub(crate) fn test(block: &Block, x: u32) -> bool {
        let (low, high) = mask(x);
        let at = block.as_ptr().cast::<__m128i>();
        // SAFETY: the block is 32 readable bytes; unaligned loads take any address.
        unsafe {
            let missing_low = _mm_andnot_si128(_mm_loadu_si128(at), low);
            let missing_high = _mm_andnot_si128(_mm_loadu_si128(at.add(1)), high);
            let missing = _mm_or_si128(missing_low, missing_high);
            _mm_movemask_epi8(_mm_cmpeq_epi8(missing, _mm_setzero_si128())) == 0xFFFF
        }
    }

    /// As [`scalar::set`](super::scalar::set).
    #[inline(always)]
    pub(crate) fn set(block: &mut Block, x: u32) -> bool {
        set_mask(block, mask(x))
    }

    /// Sets bits and says whether one was new.
    #[inline(always)]
    pub(super) fn set_mask(block: &mut Block, (low, high): (__m128i, __m128i)) -> bool {
        let at = block.as_mut_ptr().cast::<__m128i>();
        // SAFETY: the block is 32 readable and writable bytes; unaligned loads and stores take any address.
        unsafe {
            let (old_low, old_high) = (_mm_loadu_si128(at), _mm_loadu_si128(at.add(1)));
            _mm_storeu_si128(at, _mm_or_si128(old_low, low));
            _mm_storeu_si128(at.add(1), _mm_or_si128(old_high, high));
            let missing = _mm_or_si128(_mm_andnot_si128(old_low, low), _mm_andnot_si128(old_high, high));
            _mm_movemask_epi8(_mm_cmpeq_epi8(missing, _mm_setzero_si128())) != 0xFFFF
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2 {
    //! AVX2: eight multiplications and eight shifts at a time, and a test that sets a flag.

    use std::arch::x86_64::*;

    use super::{Block, SALT};

    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask(x: u32) -> __m256i {
        let [a, b, c, d, e, f, g, h] = SALT.map(|salt| salt as i32);
        let salt = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        let bit = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(_mm256_set1_epi32(x as i32), salt));
        _mm256_sllv_epi32(_mm256_set1_epi32(1), bit)
    }

    /// As [`scalar::mask`](super::scalar::mask).
    #[inline]
    #[target_feature(enable = "avx2")]
    #[cfg_attr(not(target_feature = "avx2"), allow(dead_code))]
    pub(crate) fn words(x: u32) -> Block {
        let mut words = [0; 4];
        // SAFETY: the words are 32 writable bytes; unaligned stores take any address.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), mask(x)) };
        words
    }

    /// As [`scalar::test`](super::scalar::test).
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn test(block: &Block, x: u32) -> bool {
        // SAFETY: the block is 32 readable bytes; unaligned loads take any address.
        has(unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }, x)
    }

    /// The same for a block that is loaded.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn has(block: __m256i, x: u32) -> bool {
        _mm256_testc_si256(block, mask(x)) != 0
    }

    /// As [`scalar::set`](super::scalar::set).
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn set(block: &mut Block, x: u32) -> bool {
        let mask = mask(x);
        // SAFETY: the block is 32 readable and writable bytes; unaligned loads and stores take any address.
        unsafe {
            let at = block.as_mut_ptr().cast();
            let old = _mm256_loadu_si256(at);
            _mm256_storeu_si256(at, _mm256_or_si256(old, mask));
            _mm256_testc_si256(old, mask) == 0
        }
    }
}

/// The bits of a key, by what the build allows.
#[inline(always)]
pub(crate) fn mask(x: u32) -> Block {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    // SAFETY: the build demands AVX2.
    return unsafe { avx2::words(x) };
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
    return sse2::words(x);
    #[cfg(not(target_arch = "x86_64"))]
    return scalar::mask(x);
}

/// The code of single calls on machines with AVX2: intrinsics where the build's own target features allow them.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod inlined {
    use super::{Block, Code, avx2};
    use crate::simd::embedded::loaded;

    /// As [`avx2::test`].
    #[inline(always)]
    pub(super) unsafe fn test(_: Code, block: &Block, x: u32) -> bool {
        // SAFETY: the build demands AVX2.
        unsafe { avx2::test(block, x) }
    }

    /// The same for a block that can be read and whose words threads share.
    #[inline(always)]
    pub(super) unsafe fn test_shared(_: Code, block: *const Block, x: u32) -> bool {
        // SAFETY: the build demands AVX2; the caller says that the block can be read.
        unsafe { avx2::has(loaded(block), x) }
    }

    /// As [`avx2::set`].
    #[inline(always)]
    pub(super) unsafe fn set(_: Code, block: &mut Block, x: u32) -> bool {
        // SAFETY: the build demands AVX2.
        unsafe { avx2::set(block, x) }
    }
}

/// The same as assembly, which the build inlines all the same; for AVX-512 where the machine has it.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
mod inlined {
    use super::{Block, Code, sse2};
    use crate::simd::embedded::{self, anew};
    use crate::simd::embedded_512;

    /// As [`avx2::test`](super::avx2::test).
    #[inline(always)]
    pub(super) unsafe fn test(code: Code, block: *const Block, x: u32) -> bool {
        // SAFETY: the machine has AVX2, as the caller says, and AVX-512 if there is a token; the block can be read.
        unsafe {
            match code {
                Code::Avx512(_) => embedded_512::split_test(block, x),
                _ => embedded::split_test(block, x),
            }
        }
    }

    /// The same for a block that can be read and whose words threads share.
    #[inline(always)]
    pub(super) unsafe fn test_shared(code: Code, block: *const Block, x: u32) -> bool {
        // SAFETY: the caller promises the same.
        unsafe { test(code, anew(block), x) }
    }

    /// As [`avx2::set`](super::avx2::set).
    #[inline(always)]
    pub(super) unsafe fn set(code: Code, block: &mut Block, x: u32) -> bool {
        // SAFETY: as in `test`. That is left out if nobody asks whether a bit was new.
        unsafe {
            if let Code::Avx512(_) = code {
                let new = !test(code, block, x);
                embedded_512::split_set(block, x);
                return new;
            }
            sse2::set_mask(block, embedded::split_mask(x))
        }
    }
}

/// Whether a key has all its bits in its block, false if there is none; nothing if this is not usual.
#[inline(always)]
pub(crate) fn test_usually(instructions: Instructions, blocks: &[Block], h1: u64) -> Option<bool> {
    // A loop over keys that changes nothing asks this once.
    let code = instructions.usual?;
    let Some(block) = chosen(blocks, h1) else { return Some(false) };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only with AVX2 are calls usual.
    return Some(unsafe { inlined::test(code, block, h1 as u32) });
    #[cfg(not(target_arch = "x86_64"))]
    return Some(scalar::test(block, h1 as u32));
}

/// As [`test_usually`] for words that threads share, by assembly: compilers may read what is not atomic as often as they like.
#[inline(always)]
pub(crate) fn test_shared(instructions: Instructions, blocks: &[[AtomicU64; 4]], h1: u64) -> Option<bool> {
    let code = instructions.usual?;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only with AVX2 are calls usual; the block is there, its words aligned, and an atomic one has the bytes of a plain one.
    return Some(
        chosen(blocks, h1)
            .is_some_and(|block| unsafe { inlined::test_shared(code, std::ptr::from_ref(block).cast(), h1 as u32) }),
    );
    #[cfg(not(target_arch = "x86_64"))]
    return Some(chosen(blocks, h1).is_some_and(|block| scalar::test(&copied(block), h1 as u32)));
}

/// A copy of a block that threads share; each word is read at its own moment.
#[inline]
fn copied(block: &[AtomicU64; 4]) -> Block {
    std::array::from_fn(|i| block[i].load(Relaxed))
}

/// Sets the bits of a key in its block and says whether one was new; nothing is done if there is none, or if this is not usual.
#[inline(always)]
pub(crate) fn set_usually(instructions: Instructions, blocks: &mut [Block], h1: u64) -> Option<bool> {
    let code = instructions.usual?;
    let block = chosen_mut(blocks, h1)?;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only with AVX2 are calls usual.
    return Some(unsafe { inlined::set(code, block, h1 as u32) });
    #[cfg(not(target_arch = "x86_64"))]
    return Some(scalar::set(block, h1 as u32));
}

/// Whether a key has all its bits in its block, usual or not; false if there is none. The bits of the hash that are in `chooser` choose
/// the block.
#[inline(always)]
pub(crate) fn test(instructions: Instructions, blocks: &[Block], chooser: u64, h1: u64) -> bool {
    let Some(block) = chosen(blocks, h1 & chooser) else { return false };
    #[cfg(target_arch = "x86_64")]
    if instructions.code != Code::Plain {
        // SAFETY: the machine has AVX2, or there would be no token.
        return unsafe { inlined::test(instructions.code, block, h1 as u32) };
    }
    slow_test(block, h1 as u32)
}

/// Sets the bits of a key in its block, usual or not, and says whether one was new; nothing if there is none.
#[inline(always)]
pub(crate) fn set(instructions: Instructions, blocks: &mut [Block], chooser: u64, h1: u64) -> bool {
    let Some(block) = chosen_mut(blocks, h1 & chooser) else { return false };
    #[cfg(target_arch = "x86_64")]
    if instructions.code != Code::Plain {
        // SAFETY: the machine has AVX2, or there would be no token.
        return unsafe { inlined::set(instructions.code, block, h1 as u32) };
    }
    slow_set(block, h1 as u32)
}

/// Out of line: what is left for machines without AVX2.
#[inline(never)]
fn slow_test(block: &Block, x: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    return sse2::test(block, x);
    #[cfg(not(target_arch = "x86_64"))]
    return scalar::test(block, x);
}

/// As [`slow_test`].
#[inline(never)]
fn slow_set(block: &mut Block, x: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    return sse2::set(block, x);
    #[cfg(not(target_arch = "x86_64"))]
    return scalar::set(block, x);
}

/// Blocks, plain or shared between threads, in which many keys are looked up.
pub(crate) trait Tested: Sized {
    /// As [`test`] for many keys, with the best instructions of the machine: `hash(i)` is that of the key that `answers[i]` is for.
    fn test_batch(blocks: &[Self], chooser: u64, hash: impl Fn(usize) -> u64, answers: &mut [bool]);
}

impl Tested for Block {
    #[inline(always)]
    fn test_batch(blocks: &[Self], chooser: u64, hash: impl Fn(usize) -> u64, answers: &mut [bool]) {
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
        {
            #[target_feature(enable = "avx2")]
            fn with_avx2(blocks: &[Block], chooser: u64, hash: impl Fn(usize) -> u64, answers: &mut [bool]) {
                for (i, answer) in answers.iter_mut().enumerate() {
                    let h1 = hash(i);
                    *answer = chosen(blocks, h1 & chooser).is_some_and(|block| avx2::test(block, h1 as u32));
                }
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2.
                return unsafe { with_avx2(blocks, chooser, hash, answers) };
            }
        }
        let instructions = Instructions::detected(true);
        answers.iter_mut().enumerate().for_each(|(i, answer)| *answer = test(instructions, blocks, chooser, hash(i)));
    }
}

impl Tested for [AtomicU64; 4] {
    #[inline(always)]
    fn test_batch(blocks: &[Self], chooser: u64, hash: impl Fn(usize) -> u64, answers: &mut [bool]) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn with_avx2(blocks: &[[AtomicU64; 4]], chooser: u64, hash: impl Fn(usize) -> u64, answers: &mut [bool]) {
                for (i, answer) in answers.iter_mut().enumerate() {
                    let h1 = hash(i);
                    *answer = chosen(blocks, h1 & chooser).is_some_and(|block| {
                        // SAFETY: the block is there, and an atomic word has the bytes of a plain one.
                        avx2::has(unsafe { super::embedded::loaded(std::ptr::from_ref(block).cast()) }, h1 as u32)
                    });
                }
            }
            if INLINED || is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2.
                return unsafe { with_avx2(blocks, chooser, hash, answers) };
            }
        }
        for (i, answer) in answers.iter_mut().enumerate() {
            let h1 = hash(i);
            *answer = chosen(blocks, h1 & chooser).is_some_and(|block| slow_test(&copied(block), h1 as u32));
        }
    }
}

/// As [`set`] for `count` keys, with the best instructions of the machine; says how many had a new bit.
#[inline(always)]
pub(crate) fn set_batch(blocks: &mut [Block], chooser: u64, hash: impl Fn(usize) -> u64, count: usize) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2(blocks: &mut [Block], chooser: u64, hash: impl Fn(usize) -> u64, count: usize) -> u64 {
            let mut fresh = 0;
            for h1 in (0..count).map(hash) {
                let block = chosen_mut(blocks, h1 & chooser);
                fresh += u64::from(block.is_some_and(|block| avx2::set(block, h1 as u32)));
            }
            fresh
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2.
            return unsafe { with_avx2(blocks, chooser, hash, count) };
        }
    }
    let instructions = Instructions::detected(true);
    (0..count).map(|i| u64::from(set(instructions, blocks, chooser, hash(i)))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    type Implementation = (&'static str, fn(&Block, u32) -> bool, fn(&mut Block, u32) -> bool);

    /// What machines have that do not have more.
    fn avx2_alone() -> Instructions {
        Instructions::of(Avx2::detected().map_or(Code::Plain, Code::Avx2), false)
    }

    fn without_avx2() -> Instructions {
        Instructions::of(Code::Plain, false)
    }

    /// Every implementation that this machine can run.
    fn available() -> Vec<Implementation> {
        let mut all: Vec<Implementation> = vec![
            ("scalar", scalar::test, scalar::set),
            (
                "detected",
                |b, x| test(Instructions::detected(false), &[*b], 0, x.into()),
                |b, x| set(Instructions::detected(false), std::slice::from_mut(b), 0, x.into()),
            ),
            (
                "usual",
                |b, x| {
                    let (usual, blocks) = (Instructions::detected(true), &[*b]);
                    assert_ne!(test_usually(usual, &[], x.into()), Some(true), "no block");
                    assert_eq!(test_usually(Instructions::detected(false), blocks, x.into()), None, "not usual");
                    test_usually(usual, blocks, x.into()).unwrap_or_else(|| test(usual, blocks, 0, x.into()))
                },
                |b, x| {
                    let (usual, blocks) = (Instructions::detected(true), std::slice::from_mut(b));
                    assert_eq!(set_usually(usual, &mut [], x.into()), None, "no block");
                    assert_eq!(set_usually(Instructions::detected(false), blocks, x.into()), None, "not usual");
                    set_usually(usual, blocks, x.into()).unwrap_or_else(|| set(usual, blocks, 0, x.into()))
                },
            ),
            (
                "shared",
                |b, x| {
                    let (usual, blocks) = (Instructions::detected(true), &[b.map(AtomicU64::new)]);
                    assert_ne!(test_shared(usual, &[], x.into()), Some(true), "no block");
                    assert_eq!(test_shared(Instructions::detected(false), blocks, x.into()), None, "not usual");
                    test_shared(usual, blocks, x.into()).unwrap_or_else(|| scalar::test(b, x))
                },
                scalar::set,
            ),
            (
                "shared, in batches",
                |b, x| {
                    let (mut answers, block) = ([true; 2], b.map(AtomicU64::new));
                    let slow = slow_test(&copied(&block), x);
                    Tested::test_batch(&[block], 0, |_| x.into(), &mut answers);
                    assert_eq!(answers, [slow; 2], "copied");
                    <[AtomicU64; 4]>::test_batch(&[], 0, |_| x.into(), &mut answers);
                    assert_eq!(answers, [false; 2], "no block");
                    slow
                },
                scalar::set,
            ),
            (
                "AVX2 alone",
                |b, x| test(avx2_alone(), &[*b], 0, x.into()),
                |b, x| set(avx2_alone(), std::slice::from_mut(b), 0, x.into()),
            ),
            (
                "without AVX2",
                |b, x| test(without_avx2(), &[*b], 0, x.into()),
                |b, x| set(without_avx2(), std::slice::from_mut(b), 0, x.into()),
            ),
        ];
        #[cfg(target_arch = "x86_64")]
        {
            all.push(("sse2", sse2::test, sse2::set));
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2.
                all.push(("avx2", |b, x| unsafe { avx2::test(b, x) }, |b, x| unsafe { avx2::set(b, x) }));
            }
        }
        all
    }

    #[test]
    fn the_published_vectors_come_out() {
        for (x, bits) in
            [(0xa98c_6e5b, [18, 17, 1, 12, 17, 24, 27, 31]), (0xad77_0999, [13, 11, 23, 21, 6, 14, 29, 29])]
        {
            for (name, _, set) in available() {
                let mut block = [0; 4];
                assert!(set(&mut block, x));
                for (j, bit) in bits.into_iter().enumerate() {
                    assert_eq!((block[j / 2] >> (32 * (j % 2))) as u32, 1 << bit, "{name} lane {j}");
                }
            }
        }
    }

    #[test]
    fn masks_are_the_bits_that_are_set() {
        let mut random = SplitMix::new(2);
        for _ in 0..10_000 {
            let (x, mut block) = (random.next_u64() as u32, [0; 4]);
            scalar::set(&mut block, x);
            assert_eq!(mask(x), block);
            #[cfg(target_arch = "x86_64")]
            assert_eq!(sse2::words(x), block);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2.
                assert_eq!(unsafe { avx2::words(x) }, block);
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_bits_and_answers_of_the_scalar_code() {
        let mut random = SplitMix::new(1);
        let mut expected = [[0; 4]; 64];
        let mut others = available().into_iter().map(|all| (all, expected)).collect::<Vec<_>>();
        for round in 0..1_000_000u32 {
            let (x, at) = (random.next_u64() as u32, random.below(64) as usize);
            // A fresh start now and then: full blocks would answer alike whatever the code.
            if round % 256 == 0 {
                expected = [[0; 4]; 64];
                others.iter_mut().for_each(|(_, blocks)| *blocks = expected);
            }
            let (found, new) = (scalar::test(&expected[at], x), scalar::set(&mut expected[at], x));
            assert_ne!(found, new);
            for ((name, test, set), blocks) in &mut others {
                assert_eq!(test(&blocks[at], x), found, "{name}");
                assert_eq!(set(&mut blocks[at], x), new, "{name}");
                assert_eq!(blocks[at], expected[at], "{name}");
            }
        }
    }
}
