//! The positions of one key: as an iterator for the hot path, as a small buffer for everything else.
//!
//! All three digest families are one recurrence with constant third differences,
//!
//! ```text
//! emit x;  x += y;  y += z;  z += w
//! ```
//!
//! | family | x | y | z | w | emits |
//! |---|---|---|---|---|---|
//! | double | h1 | h2, guarded | 0 | 0 | h1 + i h2 |
//! | enhanced double | h1 | h2 | u | u | h1 + i h2 + u (i³-i)/6 |
//! | triple | h1 | h2 | h3 | 0 | h1 + i h2 + h3 i(i-1)/2 |
//!
//! and it runs in one of two rings.
//!
//! * [`ModularProbes`]: modulo m, with u = 1. The words are reduced once per key, and a sum by at most one subtraction.
//! * [`Probes`]: modulo 2⁶⁴, and every emitted x is mapped to ⌊x m / 2⁶⁴⌋. Fastrange reads the *high* bits, where
//!   u = 1 would be lost and leave plain double hashing (a rate of 0.00076 in the first column of the module's table of
//!   rates); so u is 2⁶⁴ divided by the golden ratio (to the nearest odd number), whose small multiples are spread
//!   evenly around the ring. Words of 32 bits are the upper halves of words whose lower halves are zero, u included, and stay
//!   so: the ring modulo 2³² is part of this one, and ⌊x m / 2⁶⁴⌋ is ⌊w m / 2³²⌋.

use std::ops::Deref;

use super::MAX_HASHES;
use super::family::{Family, UPPER, remainder};
use super::{Digest, fastrange};

/// u of the ring modulo 2⁶⁴.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The stream of [`Digest::derive`] whose first half is h3.
const THIRD_WORD: u64 = 3;

/// The positions of the default scheme, enhanced double hashing with fastrange. No division, no allocation.
///
/// x₀ = h1, y₀ = h2; position i is ⌊xᵢ m / 2⁶⁴⌋; xᵢ₊₁ = xᵢ + yᵢ and yᵢ₊₁ = yᵢ + (i+1) · 0x9E3779B97F4A7C15, all
/// modulo 2⁶⁴.
///
/// ```
/// use bouquet::hash::{Digest, fastrange, probes};
/// let digest = Digest { h1: 1 << 62, h2: 1 << 61 };
/// let third = digest.h1.wrapping_add(2 * digest.h2).wrapping_add(0x9E37_79B9_7F4A_7C15);
/// assert_eq!(probes(digest, 1000, 3).collect::<Vec<_>>(), [250, 375, fastrange(third, 1000)]);
/// ```
#[derive(Clone, Debug)]
pub struct Probes {
    x: u64,
    y: u64,
    z: u64,
    w: u64,
    m: u64,
    left: u32,
}

/// The k positions of a digest among m under the default scheme (k at most [`MAX_HASHES`]; none when m is 0).
///
/// ```
/// use bouquet::hash::{Hashing, Scheme, probes};
/// let digest = Hashing::seeded(1).digest(b"rose");
/// assert!(probes(digest, 1000, 7).eq(Scheme::default().positions_of_digest(digest, 1000, 7).iter().copied()));
/// ```
#[must_use]
#[inline]
pub fn probes(digest: Digest, m: u64, k: u32) -> Probes {
    Probes { x: digest.h1, y: digest.h2, z: GOLDEN, w: GOLDEN, m, left: count(m, k) }
}

/// The words of a recurrence in the ring modulo 2⁶⁴: h1, h2, u, and a third that only triple hashing computes.
pub(crate) struct Ring<const NARROW: bool>;

impl<const NARROW: bool> Ring<NARROW> {
    /// u, the constant of enhanced double hashing.
    pub(crate) const UNIT: u64 = if NARROW { GOLDEN & UPPER } else { GOLDEN };

    /// h1 and h2. Words of 32 bits are made from h1 alone.
    #[inline(always)]
    pub(crate) fn words(digest: Digest) -> (u64, u64) {
        if NARROW { (digest.h1 & UPPER, digest.h1 << 32) } else { (digest.h1, digest.h2) }
    }

    /// h3.
    #[inline(always)]
    pub(crate) fn third(digest: Digest) -> u64 {
        if NARROW { Digest::from_word(digest.h1).h2 & UPPER } else { digest.derive(THIRD_WORD).h1 }
    }
}

impl Probes {
    /// The recurrence of a digest family, `NARROW` with words of 32 bits; no positions for a family that needs the key.
    #[inline]
    pub(crate) fn of_family<const NARROW: bool>(family: Family, digest: Digest, m: u64, k: u32) -> Self {
        let ((x, y), left) = (Ring::<NARROW>::words(digest), count(m, k));
        match family {
            Family::EnhancedDouble => Probes { x, y, z: Ring::<NARROW>::UNIT, w: Ring::<NARROW>::UNIT, m, left },
            Family::Double => Probes { x, y: guarded_ring_step(y, m), z: 0, w: 0, m, left },
            Family::Triple => Probes { x, y, z: Ring::<NARROW>::third(digest), w: 0, m, left },
            _ => Probes { x: 0, y: 0, z: 0, w: 0, m, left: 0 },
        }
    }
}

impl Iterator for Probes {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let position = fastrange(self.x, self.m);
        self.x = self.x.wrapping_add(self.y);
        self.y = self.y.wrapping_add(self.z);
        self.z = self.z.wrapping_add(self.w);
        Some(position)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Probes {}

/// The positions of enhanced double hashing modulo m, under either modular reduction: x₀ = h1 mod m, y₀ = h2 mod m;
/// position i is xᵢ; xᵢ₊₁ = xᵢ + yᵢ and yᵢ₊₁ = yᵢ + i + 1, all modulo m.
///
/// ```
/// use bouquet::hash::{Digest, modular_probes};
/// let positions = modular_probes(Digest { h1: 123, h2: 456 }, 1000, 8);
/// assert_eq!(positions.collect::<Vec<_>>(), [123, 579, 36, 495, 957, 423, 894, 371]);
/// ```
#[derive(Clone, Debug)]
pub struct ModularProbes {
    x: u64,
    y: u64,
    z: u64,
    w: u64,
    m: u64,
    left: u32,
}

/// The k positions of a digest modulo m by enhanced double hashing (k at most [`MAX_HASHES`]; none when m is 0).
///
/// ```
/// use bouquet::hash::{Digest, modular_probes};
/// assert_eq!(modular_probes(Digest { h1: 5, h2: 6 }, 0, 8).count(), 0);
/// ```
#[must_use]
#[inline]
pub fn modular_probes(digest: Digest, m: u64, k: u32) -> ModularProbes {
    // 1 mod m: a filter of one bit has no other residue than 0.
    let unit = u64::from(m > 1);
    ModularProbes::new([remainder(digest.h1, m), remainder(digest.h2, m), unit, unit], m, k)
}

impl ModularProbes {
    /// The recurrence from these words, all below m (or anything when m is 0, where nothing is emitted).
    #[inline]
    pub(crate) fn new([x, y, z, w]: [u64; 4], m: u64, k: u32) -> Self {
        debug_assert!(m == 0 || [x, y, z, w].iter().all(|&word| word < m));
        ModularProbes { x, y, z, w, m, left: count(m, k) }
    }

    /// The recurrence of a digest family; no positions for a family that needs the key.
    #[inline]
    pub(crate) fn of_family(family: Family, digest: Digest, m: u64, k: u32) -> Self {
        let start = remainder(digest.h1, m);
        match family {
            Family::EnhancedDouble => modular_probes(digest, m, k),
            Family::Double => Self::new([start, guarded_step(digest.h2, m), 0, 0], m, k),
            Family::Triple => {
                let third = remainder(digest.derive(THIRD_WORD).h1, m);
                Self::new([start, remainder(digest.h2, m), third, 0], m, k)
            }
            _ => Self::new([0; 4], m, 0),
        }
    }
}

impl Iterator for ModularProbes {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let position = self.x;
        self.x = add_modulo(self.x, self.y, self.m);
        self.y = add_modulo(self.y, self.z, self.m);
        self.z = add_modulo(self.z, self.w, self.m);
        Some(position)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for ModularProbes {}

#[inline]
fn count(m: u64, k: u32) -> u32 {
    if m == 0 { 0 } else { k.min(MAX_HASHES) }
}

/// a + b mod m for a, b < m, also where the sum does not fit 64 bits.
#[inline]
fn add_modulo(a: u64, b: u64, m: u64) -> u64 {
    let room = m - b;
    if a >= room { a - room } else { a + b }
}

/// A step of double hashing modulo m that is nonzero, and odd (of full period) when m is a power of two.
#[inline]
fn guarded_step(step: u64, m: u64) -> u64 {
    if m.is_power_of_two() {
        return remainder(step | 1, m);
    }
    match remainder(step, m) {
        0 => 1,
        step => step,
    }
}

/// The same guard in the ring modulo 2⁶⁴: the step is raised or lowered to at least one cell, ⌈2⁶⁴/m⌉, in its
/// direction, so that a position never equals the one before it (for m over 1).
#[inline]
fn guarded_ring_step(step: u64, m: u64) -> u64 {
    let cell = fastrange(step, m);
    // The division is reached for a share 2/m of the keys.
    if m < 2 || (cell != 0 && cell != m - 1) {
        step
    } else if cell == 0 {
        u64::MAX / m + 1
    } else {
        (u64::MAX / m + 1).wrapping_neg()
    }
}

/// Up to [`MAX_HASHES`] positions of one key, in the order of their hash functions. It reads as a slice.
///
/// ```
/// use bouquet::hash::{Hashing, Scheme};
/// let mut positions = Scheme::default().positions(&Hashing::seeded(1), b"rose", 1000, 7);
/// assert_eq!(positions.len(), 7);
/// assert!(positions.distinct().is_sorted());
/// ```
#[derive(Clone, Copy)]
pub struct Positions {
    buffer: [u64; MAX_HASHES as usize],
    len: u8,
}

impl Positions {
    /// No positions.
    ///
    /// ```
    /// assert!(bouquet::hash::Positions::new().is_empty());
    /// ```
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Positions { buffer: [0; MAX_HASHES as usize], len: 0 }
    }

    /// The positions in ascending order, each once: what a counting filter adds to, so that a key whose hash functions
    /// coincide is counted once in a cell.
    ///
    /// ```
    /// use bouquet::hash::Positions;
    /// let mut positions: Positions = [7, 3, 7].into_iter().collect();
    /// assert_eq!(positions.distinct(), [3, 7]);
    /// assert_eq!(positions.len(), 2);
    /// ```
    #[inline]
    pub fn distinct(&mut self) -> &[u64] {
        let len = usize::from(self.len);
        self.buffer[..len].sort_unstable();
        let mut kept = 0;
        for i in 0..len {
            if kept == 0 || self.buffer[i] != self.buffer[kept - 1] {
                self.buffer[kept] = self.buffer[i];
                kept += 1;
            }
        }
        self.len = kept as u8;
        self
    }

    /// Position i moved into slice i of `slice_len` cells: i * slice_len + position. No positions at all when the last
    /// slice would end beyond 2⁶⁴, where no store can reach.
    ///
    /// ```
    /// use bouquet::hash::Positions;
    /// let positions: Positions = [7, 3, 7].into_iter().collect();
    /// assert_eq!(*positions.in_slices(10), [7, 13, 27]);
    /// ```
    #[must_use]
    #[inline]
    pub fn in_slices(mut self, slice_len: u64) -> Self {
        if slice_len.checked_mul(u64::from(self.len)).is_none() {
            return Positions::new();
        }
        let mut offset = 0_u64;
        for position in &mut self.buffer[..usize::from(self.len)] {
            *position = position.saturating_add(offset);
            offset = offset.wrapping_add(slice_len);
        }
        self
    }
}

impl Default for Positions {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Positions {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        &self.buffer[..usize::from(self.len)]
    }
}

impl PartialEq for Positions {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Positions {}

impl std::fmt::Debug for Positions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The first [`MAX_HASHES`] items.
impl FromIterator<u64> for Positions {
    #[inline]
    fn from_iter<I: IntoIterator<Item = u64>>(items: I) -> Self {
        let mut positions = Positions::new();
        for (slot, item) in positions.buffer.iter_mut().zip(items) {
            *slot = item;
            positions.len += 1;
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{SplitMix, mix};

    const VECTOR: [u64; 2] = [123, 456];

    #[test]
    fn the_three_recurrences_give_the_published_vectors() {
        let [h1, h2] = VECTOR;
        let double: Vec<_> = ModularProbes::new([h1, h2, 0, 0], 1000, 8).collect();
        assert_eq!(double, [123, 579, 35, 491, 947, 403, 859, 315]);
        let enhanced: Vec<_> = ModularProbes::new([h1, h2, 1, 1], 1000, 8).collect();
        assert_eq!(enhanced, [123, 579, 36, 495, 957, 423, 894, 371]);
        let triple: Vec<_> = ModularProbes::new([h1, h2, 789, 0], 1000, 8).collect();
        assert_eq!(triple, [123, 579, 824, 858, 681, 293, 694, 884]);
    }

    #[test]
    fn recurrences_equal_their_closed_forms_in_both_rings() {
        let mut random = SplitMix::new(1);
        for m in [1, 2, 5, 60, 1000, 1024, (1 << 40) + 15, u64::MAX - 58, u64::MAX] {
            for _ in 0..20 {
                let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                let h3 = digest.derive(THIRD_WORD).h1;
                let modulo = |x: u128| (x % u128::from(m)) as u64;
                let [h1, h2, third] = [digest.h1, digest.h2, h3].map(|h| u128::from(h % m));
                let enhanced: Vec<_> = modular_probes(digest, m, 64).collect();
                let triple: Vec<_> = ModularProbes::of_family(Family::Triple, digest, m, 64).collect();
                let fast: Vec<_> = probes(digest, m, 64).collect();
                let fast_triple: Vec<_> = Probes::of_family::<false>(Family::Triple, digest, m, 64).collect();
                for i in 0..64_u64 {
                    let (cubic, square, wide) = ((i * i * i - i) / 6, i * i.saturating_sub(1) / 2, u128::from(i));
                    let at = i as usize;
                    assert_eq!(enhanced[at], modulo(h1 + wide * h2 + u128::from(cubic)));
                    assert_eq!(triple[at], modulo(h1 + wide * h2 + u128::from(square) * third));
                    let line = digest.h1.wrapping_add(i.wrapping_mul(digest.h2));
                    assert_eq!(fast[at], fastrange(line.wrapping_add(GOLDEN.wrapping_mul(cubic)), m));
                    assert_eq!(fast_triple[at], fastrange(line.wrapping_add(h3.wrapping_mul(square)), m));
                }
            }
        }
    }

    #[test]
    fn words_of_32_bits_equal_their_closed_forms() {
        let mut random = SplitMix::new(4);
        for m in [1, 2, 5, 60, 1000, 1024, u64::from(u32::MAX)] {
            for _ in 0..20 {
                let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                let [first, second] = [(digest.h1 >> 32) as u32, digest.h1 as u32];
                let third = (Digest::from_word(digest.h1).h2 >> 32) as u32;
                let enhanced: Vec<_> = Probes::of_family::<true>(Family::EnhancedDouble, digest, m, 64).collect();
                let triple: Vec<_> = Probes::of_family::<true>(Family::Triple, digest, m, 64).collect();
                for i in 0..64_u32 {
                    let (cubic, square) = ((i * i * i - i) / 6, i * i.saturating_sub(1) / 2);
                    let line = first.wrapping_add(i.wrapping_mul(second));
                    let position = |word: u32| (u64::from(word) * m) >> 32;
                    assert_eq!(enhanced[i as usize], position(line.wrapping_add(cubic.wrapping_mul(0x9E37_79B9))));
                    assert_eq!(triple[i as usize], position(line.wrapping_add(square.wrapping_mul(third))));
                }
            }
        }
    }

    #[test]
    fn the_guard_of_double_hashing_keeps_neighbouring_positions_apart() {
        let mut random = SplitMix::new(2);
        for m in [2, 3, 4, 7, 1000, 1024, u64::MAX] {
            let edges = [0, 1, m - 1, m, m / 2, u64::MAX, u64::MAX / m, (u64::MAX / m).wrapping_neg()];
            for h2 in edges.into_iter().chain((0..100).map(|_| random.next_u64())) {
                for h1 in [0, 1, u64::MAX, mix(h2)] {
                    let digest = Digest { h1, h2 };
                    let fast: Vec<_> = Probes::of_family::<false>(Family::Double, digest, m, 9).collect();
                    let modular: Vec<_> = ModularProbes::of_family(Family::Double, digest, m, 9).collect();
                    for positions in [fast, modular] {
                        assert!(positions.windows(2).all(|pair| pair[0] != pair[1]), "m={m} h2={h2}: {positions:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn double_hashing_over_a_power_of_two_visits_every_position() {
        let digest = Digest { h1: 17, h2: 48 };
        let mut positions: Positions = ModularProbes::of_family(Family::Double, digest, 64, 64).collect();
        assert_eq!(positions.distinct().len(), 64);
    }

    #[test]
    fn extreme_arguments_give_no_panic_and_nothing_outside() {
        let digest = Digest { h1: u64::MAX, h2: u64::MAX };
        for m in [0, 1, 2, 3, u64::MAX] {
            for k in [0, 1, 64, 65, u32::MAX] {
                let expected = if m == 0 { 0 } else { k.min(MAX_HASHES) as usize };
                for family in [Family::Double, Family::EnhancedDouble, Family::Triple] {
                    for positions in [
                        Probes::of_family::<false>(family, digest, m, k).collect::<Positions>(),
                        Probes::of_family::<true>(family, digest, m, k).collect(),
                        ModularProbes::of_family(family, digest, m, k).collect(),
                    ] {
                        assert_eq!(positions.len(), expected);
                        assert!(positions.iter().all(|&p| p < m));
                    }
                }
            }
        }
        let full: Positions = [u64::MAX - 1; 100].into_iter().collect();
        assert_eq!(full.len(), MAX_HASHES as usize);
        assert!(full.in_slices(u64::MAX).is_empty());
    }
}
