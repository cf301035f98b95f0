//! The only place with `unsafe`: what the machine offers beyond safe Rust. Every block says why it is sound.
//!
//! The bits of a filter are tested and set by a *kernel*, one per shape: [`flat`] (k bits anywhere or in slices), [`line`] (k bits in a
//! cache line) and [`split_block`] (one bit in each of eight lanes). A kernel is a small value with `test`, `set`, `test_batch` and
//! `set_batch`; it alone decides which code runs on this machine. The file `scalar.rs` beside it is the specification, one more file per
//! instruction set has the same functions, and `tests.rs` compares them all. What an instruction set needs is proved by a token
//! ([`Avx2`], [`Avx512`]), which only detection makes.
#![allow(unsafe_code)]

/// Calls a function with the constant that equals k, up to 16, or else with a loop's worth of them; further constants may
/// follow the function's name.
macro_rules! unrolled {
    ($k:expr, $($each:ident)::+ $([$($constant:ident),*])? $(, $arg:expr)*) => {
        match $k {
            0 => $($each)::+::<0 $($(, $constant)*)?>($($arg),*),
            1 => $($each)::+::<1 $($(, $constant)*)?>($($arg),*),
            2 => $($each)::+::<2 $($(, $constant)*)?>($($arg),*),
            3 => $($each)::+::<3 $($(, $constant)*)?>($($arg),*),
            4 => $($each)::+::<4 $($(, $constant)*)?>($($arg),*),
            5 => $($each)::+::<5 $($(, $constant)*)?>($($arg),*),
            6 => $($each)::+::<6 $($(, $constant)*)?>($($arg),*),
            7 => $($each)::+::<7 $($(, $constant)*)?>($($arg),*),
            8 => $($each)::+::<8 $($(, $constant)*)?>($($arg),*),
            9 => $($each)::+::<9 $($(, $constant)*)?>($($arg),*),
            10 => $($each)::+::<10 $($(, $constant)*)?>($($arg),*),
            11 => $($each)::+::<11 $($(, $constant)*)?>($($arg),*),
            12 => $($each)::+::<12 $($(, $constant)*)?>($($arg),*),
            13 => $($each)::+::<13 $($(, $constant)*)?>($($arg),*),
            14 => $($each)::+::<14 $($(, $constant)*)?>($($arg),*),
            15 => $($each)::+::<15 $($(, $constant)*)?>($($arg),*),
            _ => $($each)::+::<16 $($(, $constant)*)?>($($arg),*),
        }
    };
}
pub(crate) use unrolled;

/// Calls code for which the token vouches: AVX2, or what is named.
macro_rules! vouched {
    ($avx2:ident, $call:expr) => {
        vouched!($avx2: Avx2, $call)
    };
    ($token:ident: $instructions:ident, $call:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            let _: $crate::simd::$instructions = $token;
            // SAFETY: the machine has the instructions, or there would be no token.
            unsafe { $call }
        }
        #[cfg(not(target_arch = "x86_64"))]
        match $token {}
    }};
}

/// Proof that the machine has AVX2, for those who call code that needs it. Elsewhere there is none.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Avx2 {}

impl Avx2 {
    pub(crate) fn detected() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("avx2").then_some(Avx2(()));
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }
}

/// Whether the instruction that gathers eight numbers is faster than eight that load one each. On Intel's processors it is, unless it was
/// slowed down to keep it from leaking: those that have AVX-VNNI (Alder Lake, Sapphire Rapids and later) need not be. On AMD's, up to
/// Zen 3 at least, it is slower.
#[cfg(target_arch = "x86_64")]
fn gathers_quickly() -> bool {
    // Asked once: a virtual machine has to leave the question to its host.
    static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ANSWER.get_or_init(|| {
        #[allow(unused_unsafe)] // Newer compilers call it safe.
        // SAFETY: every x86-64 has the instruction that tells the vendor.
        let vendor = unsafe { std::arch::x86_64::__cpuid(0) };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        name.as_flattened() == b"GenuineIntel" && is_x86_feature_detected!("avxvnni")
    })
}

/// Proof that the machine has AVX-512 (F, DQ, VL) as processors since Ice Lake and Zen 4 have it. The earlier ones are told by
/// their lack of VBMI, which no code needs: they lower their clock for registers of 512 bits, and whoever calls a filter in between
/// other work would pay for that.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Avx512 {}

impl Avx512 {
    pub(crate) fn detected() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi"))
        .then_some(Avx512(()));
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }
}

/// The vector instructions of a machine that there is code for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instructions {
    avx2: Option<Avx2>,
    /// With AVX2 only.
    avx512: Option<Avx512>,
    /// Whether one instruction of AVX2 that gathers eight numbers is faster than eight that load one each.
    gathers: bool,
}

impl Instructions {
    const SCALAR: Self = Instructions { avx2: None, avx512: None, gathers: false };

    /// Those of this machine.
    pub(crate) fn detected() -> Self {
        let avx2 = Avx2::detected();
        Instructions {
            avx2,
            avx512: avx2.and_then(|_| Avx512::detected()),
            #[cfg(target_arch = "x86_64")]
            gathers: avx2.is_some() && gathers_quickly(),
            #[cfg(not(target_arch = "x86_64"))]
            gathers: false,
        }
    }

    /// All that this machine could have, from none to its own, gathering or not.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        let mut all = vec![Self::SCALAR];
        if let Some(avx2) = Avx2::detected() {
            for gathers in [false, true] {
                all.push(Instructions { avx2: Some(avx2), gathers, ..Self::SCALAR });
            }
        }
        all.extend(Some(Self::detected()).filter(|own| own.avx512.is_some()));
        all
    }
}

/// Filters up to this size (256 KiB) are taken to be in the second-level cache, where prefetching only costs.
pub(crate) const CACHED_BITS: u64 = 1 << 21;
pub(crate) const CACHED_WORDS: usize = (CACHED_BITS / 64) as usize;

/// Tables up to this size (4 MiB) are in some cache, from which the processor fetches what it needs early enough by itself.
pub(crate) const NEAR_BITS: u64 = 1 << 25;

/// For each set of four lanes the numbers that they have, side by side in the low bytes.
#[cfg(target_arch = "x86_64")]
const fn side_by_side(numbers: [u32; 4]) -> [u32; 16] {
    let (mut table, mut set) = ([0; 16], 0);
    while set < 16 {
        let (mut lane, mut shift) = (0, 0);
        while lane < 4 {
            if set >> lane & 1 == 1 {
                table[set] |= numbers[lane] << shift;
                shift += 8;
            }
            lane += 1;
        }
        set += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
mod asm;
pub(crate) mod counters;
pub(crate) mod flat;
pub(crate) mod line;
pub(crate) mod memory;
pub(crate) mod ones;
pub(crate) mod split_block;
mod word;

pub(crate) use word::{SharedWord, View, Word, set_bits};

use std::fs::File;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::hash::fastrange;

/// Maps a file read-only.
///
/// The map assumes, as every memory map does, that no other process truncates or rewrites the file in place while it
/// is open. Files written by this library are replaced by renaming, so a map keeps the old content; only a file that is
/// opened for writing in place changes under the maps of those who opened it before.
pub(crate) fn map_file(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. Bytes that change underneath can only change answers:
    // the map is viewed as plain integers, for which every bit pattern is valid.
    unsafe { Mmap::map(file) }
}

/// Maps `len` bytes of a file from `offset` on, to be changed there.
///
/// The caller holds the file's lock and gives the same bytes to one map at a time.
fn map_file_for_writing(file: &File, offset: u64, len: usize) -> std::io::Result<MmapMut> {
    // SAFETY: the map has one owner, so no reference to its memory lives beside a mutable one. Maps of the same bytes
    // elsewhere (readers that opened the file before, in this process or another) lie at other addresses and view them as
    // plain integers, for which every bit pattern is valid: a change can only change their answers. As with every map,
    // nobody may truncate the file while it is open.
    unsafe { MmapOptions::new().offset(offset).len(len).map_mut(file) }
}

/// The N bytes from `at` on, if they are there. One comparison tells, where slicing takes two.
#[inline(always)]
pub(crate) fn window<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    let last = bytes.len().checked_sub(N)?;
    // SAFETY: at + N <= last + N = the length; an array of bytes needs no alignment, and lives as long as the slice.
    (at <= last).then(|| unsafe { &*bytes.as_ptr().add(at).cast() })
}

/// The one that a hash chooses; `None` if there is none.
#[inline(always)]
pub(crate) fn chosen<T>(all: &[T], hash: u64) -> Option<&T> {
    // SAFETY: hash * n / 2^64 is less than n, unless that is zero.
    (!all.is_empty()).then(|| unsafe { all.get_unchecked(fastrange(hash, all.len() as u64) as usize) })
}

/// As [`chosen`].
#[inline(always)]
pub(crate) fn chosen_mut<T>(all: &mut [T], hash: u64) -> Option<&mut T> {
    let at = fastrange(hash, all.len() as u64) as usize;
    // SAFETY: as in `chosen`.
    (!all.is_empty()).then(|| unsafe { all.get_unchecked_mut(at) })
}

/// Prefetches the line of a word, so that a later read finds it in the cache. An index beyond the end does nothing.
#[inline]
pub(crate) fn prefetch<W>(words: &[W], index: usize) {
    if index < words.len() {
        Place::of(words).prefetch(index);
    }
}

/// Where words are, for one who prefetches them while another changes them.
pub(crate) struct Place<W>(*const W);

impl<W> Place<W> {
    pub(crate) fn of(words: &[W]) -> Self {
        Place(words.as_ptr())
    }

    /// As [`prefetch`]. An index beyond the end fetches other memory, or none.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint that reads nothing and never fails, whatever the address; SSE is part of every x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.0.wrapping_add(index).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (self, index);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

#[cfg(test)]
mod window_tests {
    use super::window;

    #[test]
    fn a_window_is_there_if_all_of_its_bytes_are() {
        let bytes = [1, 2, 3, 4];
        assert_eq!(
            [0, 1, 2, 3, usize::MAX].map(|at| window(&bytes, at)),
            [Some(&[1, 2, 3]), Some(&[2, 3, 4]), None, None, None]
        );
        assert_eq!(window::<5>(&bytes, 0), None);
    }
}
