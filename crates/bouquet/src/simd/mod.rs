//! The only place with `unsafe`: what the machine offers beyond safe Rust. Every block says why it is sound.
#![allow(unsafe_code)]

/// Calls a function with the constant that equals k, up to 16, or else with a loop's worth of them; further constants may
/// follow the function's name.
macro_rules! unrolled {
    ($k:expr, $each:ident $([$($constant:ident),*])? $(, $arg:expr)*) => {
        match $k {
            0 => $each::<0 $($(, $constant)*)?>($($arg),*),
            1 => $each::<1 $($(, $constant)*)?>($($arg),*),
            2 => $each::<2 $($(, $constant)*)?>($($arg),*),
            3 => $each::<3 $($(, $constant)*)?>($($arg),*),
            4 => $each::<4 $($(, $constant)*)?>($($arg),*),
            5 => $each::<5 $($(, $constant)*)?>($($arg),*),
            6 => $each::<6 $($(, $constant)*)?>($($arg),*),
            7 => $each::<7 $($(, $constant)*)?>($($arg),*),
            8 => $each::<8 $($(, $constant)*)?>($($arg),*),
            9 => $each::<9 $($(, $constant)*)?>($($arg),*),
            10 => $each::<10 $($(, $constant)*)?>($($arg),*),
            11 => $each::<11 $($(, $constant)*)?>($($arg),*),
            12 => $each::<12 $($(, $constant)*)?>($($arg),*),
            13 => $each::<13 $($(, $constant)*)?>($($arg),*),
            14 => $each::<14 $($(, $constant)*)?>($($arg),*),
            15 => $each::<15 $($(, $constant)*)?>($($arg),*),
            _ => $each::<16 $($(, $constant)*)?>($($arg),*),
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

/// Whether the instruction that gathers eight words is faster than eight that load one each. On Intel's processors it is, unless it was
/// slowed down to keep it from leaking: those that have AVX-VNNI (Alder Lake, Sapphire Rapids and later) need not be. On AMD's, up to
/// Zen 3 at least, it is slower.
#[cfg(target_arch = "x86_64")]
pub(crate) fn gathers_quickly() -> bool {
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

/// Whether the build's own target features allow AVX2, so that its code is inlined. Then a batch in the cache is hashed on the way:
/// elsewhere the hash would be called for every key, since code for all machines is not inlined into that for some.
pub(crate) const INLINED: bool = cfg!(all(target_arch = "x86_64", target_feature = "avx2"));

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
mod embedded;
#[cfg(target_arch = "x86_64")]
mod embedded_512;
pub(crate) mod flat;
pub(crate) mod four;
pub(crate) mod lanes;
pub(crate) mod line;
pub(crate) mod memory;
pub(crate) mod ones;
pub(crate) mod split_block;

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
pub(crate) fn map_file_for_writing(file: &File, offset: u64, len: usize) -> std::io::Result<MmapMut> {
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

/// Asks the memory for the line of a word, so that a later read finds it in the cache. An index beyond the end does
/// nothing.
#[inline]
pub(crate) fn prefetch<W>(words: &[W], index: usize) {
    if index < words.len() {
        Place::of(words).prefetch(index);
    }
}

/// Where words are, for one who asks the memory for them while another changes them.
pub(crate) struct Place<W>(*const W);

impl<W> Place<W> {
    pub(crate) fn of(words: &[W]) -> Self {
        Place(words.as_ptr())
    }

    /// As [`prefetch`]. An index beyond the end asks for other memory, or none.
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

#[cfg(test)]
mod tests {
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
