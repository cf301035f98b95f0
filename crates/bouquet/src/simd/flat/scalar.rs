//! The specification: one position after the other, without a bounds check per position. The positions are those of
//! [`Scheme`](crate::hash::Scheme).
//!
//! Loops over the positions of a key are unrolled for every k up to 16: one jump per key instead of a branch per position.

use super::SEVEN;
use crate::hash::{Digest, Ring, fastrange};
use crate::simd::{SharedWord, Word, prefetch};

/// Positions that are tested before the answer is looked at. Looking after each costs a mispredicted branch per absent key,
/// looking only at the end costs memory accesses that the first zero makes needless.
const HEAD: u32 = 4;

/// The recurrence of a scheme.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Walk<const SLICED: bool, const NARROW: bool> {
    x: u64,
    y: u64,
    z: u64,
    /// Where the slice begins.
    start: u64,
}

impl<const SLICED: bool, const NARROW: bool> Walk<SLICED, NARROW> {
    #[inline(always)]
    pub(in crate::simd) fn new(digest: Digest) -> Self {
        let (x, y) = Ring::<NARROW>::words(digest);
        let z = if SLICED { Ring::<NARROW>::third(digest) } else { Ring::<NARROW>::UNIT };
        Walk { x, y, z, start: 0 }
    }

    #[inline(always)]
    pub(in crate::simd) fn next(&mut self, m: u64) -> u64 {
        let position = self.start + fastrange(self.x, m);
        self.x = self.x.wrapping_add(self.y);
        self.y = self.y.wrapping_add(self.z);
        if SLICED {
            self.start += m;
        } else {
            self.z = self.z.wrapping_add(Ring::<NARROW>::UNIT);
        }
        position
    }

    /// The walk after FROM positions, in closed form: x has h1 + i h2 + h3 i(i-1)/2 in slices and h1 + i h2 + u (i³-i)/6
    /// elsewhere.
    #[inline(always)]
    pub(in crate::simd) fn after<const FROM: u64>(digest: Digest, m: u64) -> Self {
        let Walk { x: h1, y: h2, z, .. } = Self::new(digest);
        let line = h1.wrapping_add(h2.wrapping_mul(FROM));
        let (pairs, triples) = const { (FROM * (FROM + 1) / 2, FROM * FROM.saturating_sub(1) * (FROM + 1) / 6) };
        if SLICED {
            let (x, y) = (line.wrapping_add(z.wrapping_mul(pairs - FROM)), h2.wrapping_add(z.wrapping_mul(FROM)));
            return Walk { x, y, z, start: FROM * m };
        }
        Walk {
            x: line.wrapping_add(z.wrapping_mul(triples)),
            y: h2.wrapping_add(z.wrapping_mul(pairs)),
            z: z.wrapping_mul(FROM + 1),
            start: 0,
        }
    }

    /// Whether the next K bits are all one; each is looked at.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or enough slices of them.
    #[inline(always)]
    unsafe fn all<const K: u32>(&mut self, words: &[impl Word], m: u64) -> bool {
        let mut all = u64::MAX;
        for _ in 0..K {
            let position = self.next(m);
            // SAFETY: a position is below m, or in its slice, and the words have these bits.
            all &= unsafe { words.get_unchecked((position / 64) as usize) }.load() >> (position % 64);
        }
        all & 1 == 1
    }

    /// Sets the next K bits.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or enough slices of them.
    #[inline(always)]
    unsafe fn put<const K: u32>(&mut self, words: &mut [u64], m: u64) {
        for _ in 0..K {
            let position = self.next(m);
            // SAFETY: a position is below m, or in its slice, and the words have these bits.
            *unsafe { words.get_unchecked_mut((position / 64) as usize) } |= 1 << (position % 64);
        }
    }

    /// Whether the next K positions all answer yes; each of them is asked.
    #[inline(always)]
    pub(in crate::simd) fn all_that<const K: u32>(&mut self, m: u64, answer: impl Fn(u64) -> bool) -> bool {
        let mut yes = 0;
        for _ in 0..K {
            yes += u64::from(answer(self.next(m)));
        }
        yes == u64::from(K)
    }
}

/// Whether there are m bits, at least one, in the words, or k slices of m: what makes the unchecked accesses below sound, since
/// a position is below m, or m further in each slice.
#[inline(always)]
pub(crate) fn holds<const SLICED: bool>(words: &[impl Sized], m: u64, k: u32) -> bool {
    let bits = if SLICED { m.saturating_mul(k.into()) } else { m };
    // Less one, no bits are more than there can be.
    bits.wrapping_sub(1) / 64 < words.len() as u64
}

/// Whether the k bits of a digest are all one; false when the words do not have the bits.
#[inline(always)]
pub(crate) fn test<const SLICED: bool, const NARROW: bool>(
    words: &[impl Word],
    m: u64,
    k: u32,
    digest: Digest,
) -> bool {
    if !holds::<SLICED>(words, m, k) {
        return false;
    }
    // SAFETY: `holds` has shown that the words have the bits.
    unsafe {
        if k <= HEAD {
            return rest::<0, SLICED, NARROW>(words, m, k, digest);
        }
        let mut walk = Walk::<SLICED, NARROW>::new(digest);
        walk.all::<HEAD>(words, m) && rest::<{ HEAD as u64 }, SLICED, NARROW>(words, m, k - HEAD, digest)
    }
}

/// Whether the k bits of a digest after the first FROM are all one. Not inlined: absent keys hardly come here.
///
/// # Safety
///
/// The words have m bits, at least one, or enough slices of them.
#[inline(never)]
unsafe fn rest<const FROM: u64, const SLICED: bool, const NARROW: bool>(
    words: &[impl Word],
    m: u64,
    k: u32,
    digest: Digest,
) -> bool {
    #[inline(always)]
    fn of<const K: u32, const SLICED: bool, const NARROW: bool>(
        words: &[impl Word],
        m: u64,
        walk: &mut Walk<SLICED, NARROW>,
    ) -> bool {
        // SAFETY: the caller of `rest` has seen to it.
        unsafe { walk.all::<K>(words, m) }
    }
    let (mut walk, mut left) = (Walk::<SLICED, NARROW>::after::<FROM>(digest, m), k);
    while left > 16 {
        if !of::<16, SLICED, NARROW>(words, m, &mut walk) {
            return false;
        }
        left -= 16;
    }
    unrolled!(left, of[SLICED, NARROW], words, m, &mut walk)
}

/// Sets the k bits of a digest and says whether one was new; nothing is done when the words do not have the bits. It looks before it
/// writes: to look at each word in the course of setting its bit costs more than a second pass, whose words are in the cache by
/// then and whose bits are set by single instructions; and a key that is there already writes nothing.
#[inline]
pub(crate) fn set<const SLICED: bool, const NARROW: bool>(words: &mut [u64], m: u64, k: u32, digest: Digest) -> bool {
    #[inline(always)]
    fn of<const K: u32, const SLICED: bool, const NARROW: bool>(
        words: &mut [u64],
        m: u64,
        walk: &mut Walk<SLICED, NARROW>,
    ) {
        // SAFETY: `holds` has shown that the words have the bits.
        unsafe { walk.put::<K>(words, m) };
    }
    if !holds::<SLICED>(words, m, k) || test::<SLICED, NARROW>(words, m, k, digest) {
        return false;
    }
    let (mut walk, mut left) = (Walk::<SLICED, NARROW>::new(digest), k);
    while left > 16 {
        of::<16, SLICED, NARROW>(words, m, &mut walk);
        left -= 16;
    }
    unrolled!(left, of[SLICED, NARROW], words, m, &mut walk);
    true
}

/// The same in a loop over the positions, inlined: the compiler leaves out the look at the bits if nobody asks whether one was new.
#[inline(always)]
pub(super) fn set_inline<const SLICED: bool, const NARROW: bool>(
    words: &mut [u64],
    m: u64,
    k: u32,
    digest: Digest,
) -> bool {
    if !holds::<SLICED>(words, m, k) {
        return false;
    }
    let (mut walk, mut known) = (Walk::<SLICED, NARROW>::new(digest), true);
    for _ in 0..k {
        // SAFETY: `holds` has shown that the words have the bits.
        known &= unsafe { walk.all::<1>(words, m) };
    }
    let mut walk = Walk::<SLICED, NARROW>::new(digest);
    for _ in 0..k {
        // SAFETY: as above.
        unsafe { walk.put::<1>(words, m) };
    }
    !known
}

/// Sets the first K bits of a digest, if the words have them.
#[inline(always)]
pub(super) fn put<const K: u32, const SLICED: bool>(words: &mut [u64], m: u64, digest: Digest) {
    if holds::<SLICED>(words, m, K) {
        // SAFETY: `holds` has shown that the words have the bits.
        unsafe { Walk::<SLICED, true>::new(digest).put::<K>(words, m) };
    }
}

/// Sets the k bits of a digest in words that threads share, unless all are one, and says whether one was zero; nothing is done when
/// the words do not have the bits.
pub(super) fn set_shared<const SLICED: bool, const NARROW: bool>(
    words: &[impl SharedWord],
    m: u64,
    k: u32,
    digest: Digest,
) -> bool {
    if !holds::<SLICED>(words, m, k) || test::<SLICED, NARROW>(words, m, k, digest) {
        return false;
    }
    let mut walk = Walk::<SLICED, NARROW>::new(digest);
    for _ in 0..k {
        let position = walk.next(m);
        // SAFETY: a position is below m, or in its slice, and `holds` has shown that the words have these bits.
        unsafe { words.get_unchecked((position / 64) as usize) }.fetch_or(1 << (position % 64));
    }
    true
}

/// The same for [`SEVEN`] bits, whose positions stay in registers from the look to the change.
#[inline(always)]
pub(super) fn set_seven_shared<const SLICED: bool, const NARROW: bool>(
    words: &[impl SharedWord],
    m: u64,
    digest: Digest,
) -> bool {
    if !holds::<SLICED>(words, m, SEVEN) {
        return false;
    }
    let mut walk = Walk::<SLICED, NARROW>::new(digest);
    let positions: [u64; SEVEN as usize] = std::array::from_fn(|_| walk.next(m));
    // SAFETY: a position is below m, or in its slice, and `holds` has shown that the words have these bits.
    let word = |position: u64| unsafe { words.get_unchecked((position / 64) as usize) };
    let all = |positions: &[u64]| {
        positions.iter().fold(1, |all, position| all & word(*position).load() >> (position % 64)) == 1
    };
    // Two tell of most new keys that they are. A word that was read before it is changed is fetched twice if another thread had it.
    let (first, others) = positions.split_at(2);
    let is_new = !(all(first) && all(others));
    if is_new {
        positions.iter().for_each(|position| _ = word(*position).fetch_or(1 << (position % 64)));
    }
    is_new
}

/// The answers of up to `N` digests (at most 255). An absent key drops out at its first zero without a branch: in each of two
/// rounds one position of every key that is left is looked at, and the numbers of those that pass are written side by
/// side. A key that outlasts them is most likely present, and all of the rest is looked at. When `ahead`, what a round needs
/// is prefetched before the first is looked at; for the first positions the caller has done it.
#[inline]
pub(crate) fn test_batch<const N: usize, const SLICED: bool, const NARROW: bool>(
    words: &[u64],
    m: u64,
    k: u32,
    digests: &[Digest],
    answers: &mut [bool],
    ahead: bool,
) {
    let count = digests.len().min(answers.len()).min(N);
    let (Some(digests), Some(answers)) = (digests.get(..count), answers.get_mut(..count)) else { return };
    answers.fill(false);
    if !holds::<SLICED>(words, m, k) {
        return;
    }
    let (mut first, mut second) = ([0; N], [0; N]);
    // SAFETY: `holds` has shown that the words have the bits.
    unsafe {
        if k <= 2 {
            for (digest, answer) in digests.iter().zip(answers) {
                *answer = rest::<0, SLICED, NARROW>(words, m, k, *digest);
            }
            return;
        }
        let left = round::<0, SLICED, NARROW>(words, m, digests, 0..count as u8, &mut first);
        if ahead {
            for key in &first[..left] {
                let mut walk = Walk::<SLICED, NARROW>::after::<1>(digests[usize::from(*key)], m);
                (1..k).for_each(|_| prefetch(words, (walk.next(m) / 64) as usize));
            }
        }
        let left = round::<1, SLICED, NARROW>(words, m, digests, first[..left].iter().copied(), &mut second);
        unrolled!((k - 2).min(16), finish[SLICED, NARROW], words, m, k, digests, &second[..left], answers);
    }
}

/// Looks at the position of number R of these keys, writes the numbers of those whose bit is one side by side and says how many
/// they are.
///
/// # Safety
///
/// The words have m bits, at least one, or enough slices of them.
#[inline(always)]
unsafe fn round<const R: u64, const SLICED: bool, const NARROW: bool>(
    words: &[u64],
    m: u64,
    digests: &[Digest],
    keys: impl Iterator<Item = u8>,
    // Another place than the keys come from: a load that may have to wait for a store costs more than the store.
    passed: &mut [u8],
) -> usize {
    let mut count = 0;
    for key in keys {
        let position = Walk::<SLICED, NARROW>::after::<R>(digests[usize::from(key)], m).next(m);
        // SAFETY: a position is below m, or in its slice, and the words have these bits.
        let word = unsafe { *words.get_unchecked((position / 64) as usize) };
        // What fails is overwritten by the next that does not.
        passed[count] = key;
        count += (word >> (position % 64) & 1) as usize;
    }
    count
}

/// Answers for these keys, whose first two bits are one; K is the number of the others, or 16 of them.
///
/// # Safety
///
/// The words have m bits, at least one, or enough slices of them.
#[inline(never)]
unsafe fn finish<const K: u32, const SLICED: bool, const NARROW: bool>(
    words: &[u64],
    m: u64,
    k: u32,
    digests: &[Digest],
    keys: &[u8],
    answers: &mut [bool],
) {
    for key in keys {
        let key = usize::from(*key);
        // SAFETY: the caller has seen to it.
        answers[key] = unsafe { Walk::<SLICED, NARROW>::after::<2>(digests[key], m).all::<K>(words, m) };
        if K == 16 && k > 18 {
            // SAFETY: the caller has seen to it.
            answers[key] &= unsafe { rest::<18, SLICED, NARROW>(words, m, k - 18, digests[key]) };
        }
    }
}
