//! Bits at the positions of the default scheme, anywhere in a vector of words: enhanced double hashing with fastrange
//! (see [`probes`](crate::hash::probes), whose positions these are), without a bounds check per position.
//!
//! Loops over the positions of a key are unrolled for every usual k: one jump per key instead of a branch per position.

use super::prefetch;
use crate::hash::{Digest, GOLDEN, fastrange};

/// Positions that are tested before the answer is looked at. Looking after each costs a mispredicted branch per absent key,
/// looking only at the end costs memory accesses that the first zero makes needless.
const HEAD: u32 = 4;

/// The k of a rate of 1 %, for which all of the test is inlined.
const USUAL: u32 = 7;

/// The recurrence of the default scheme.
#[derive(Clone, Copy)]
struct Walk {
    x: u64,
    y: u64,
    z: u64,
}

impl Walk {
    #[inline(always)]
    fn new(digest: Digest) -> Self {
        Walk { x: digest.h1, y: digest.h2, z: GOLDEN }
    }

    #[inline(always)]
    fn next(&mut self, m: u64) -> u64 {
        let position = fastrange(self.x, m);
        self.x = self.x.wrapping_add(self.y);
        self.y = self.y.wrapping_add(self.z);
        self.z = self.z.wrapping_add(GOLDEN);
        position
    }

    /// The walk after FROM positions, in closed form: x has h1 + i h2 + u (i³-i)/6.
    #[inline(always)]
    fn after<const FROM: u64>(digest: Digest) -> Self {
        let (pairs, triples) = const { (FROM * (FROM + 1) / 2, FROM * FROM.saturating_sub(1) * (FROM + 1) / 6) };
        Walk {
            x: digest.h1.wrapping_add(digest.h2.wrapping_mul(FROM)).wrapping_add(GOLDEN.wrapping_mul(triples)),
            y: digest.h2.wrapping_add(GOLDEN.wrapping_mul(pairs)),
            z: GOLDEN.wrapping_mul(FROM + 1),
        }
    }

    /// Whether the next K bits are all one.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one.
    #[inline(always)]
    unsafe fn all<const K: u32>(&mut self, words: &[u64], m: u64) -> bool {
        // SAFETY: fastrange gives a position below m, and the words have m bits.
        self.all_of::<K>(m, |index| unsafe { *words.get_unchecked(index) })
    }

    /// Whether the next K bits of the words that `load` reads are all one.
    #[inline(always)]
    fn all_of<const K: u32>(&mut self, m: u64, load: impl Fn(usize) -> u64) -> bool {
        let mut ones = 0;
        for _ in 0..K {
            let position = self.next(m);
            ones += load((position / 64) as usize) >> (position % 64) & 1;
        }
        ones == u64::from(K)
    }
}

/// Whether there are m bits, at least one, in the words: what makes the unchecked accesses below sound, since a position is
/// below m.
#[inline(always)]
fn holds(words: &[u64], m: u64) -> bool {
    m != 0 && m.div_ceil(64) <= words.len() as u64
}

/// Whether the k bits of a digest are all one; false when the words do not have m bits.
#[inline(always)]
pub(crate) fn test(words: &[u64], m: u64, k: u32, digest: Digest) -> bool {
    if !holds(words, m) {
        return false;
    }
    // SAFETY: `holds` has shown that the words have m bits.
    unsafe {
        if k == USUAL {
            let mut walk = Walk::new(digest);
            return walk.all::<HEAD>(words, m) && walk.all::<{ USUAL - HEAD }>(words, m);
        }
        if k <= HEAD {
            return rest::<0>(words, m, k, digest);
        }
        Walk::new(digest).all::<HEAD>(words, m) && rest::<{ HEAD as u64 }>(words, m, k - HEAD, digest)
    }
}

/// The same for words that are read in another way, in groups of at most [`HEAD`] bits.
#[inline(always)]
pub(crate) fn test_loaded(m: u64, k: u32, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
    let mut walk = Walk::new(digest);
    for _ in 0..k / HEAD {
        if !walk.all_of::<HEAD>(m, &load) {
            return false;
        }
    }
    match k % HEAD {
        0 => true,
        1 => walk.all_of::<1>(m, &load),
        2 => walk.all_of::<2>(m, &load),
        _ => walk.all_of::<3>(m, &load),
    }
}

/// Whether the k bits of a digest after the first FROM are all one. Not inlined: absent keys hardly come here.
///
/// # Safety
///
/// The words have m bits, at least one.
#[inline(never)]
unsafe fn rest<const FROM: u64>(words: &[u64], m: u64, k: u32, digest: Digest) -> bool {
    #[inline(always)]
    fn of<const K: u32>(words: &[u64], m: u64, walk: &mut Walk) -> bool {
        // SAFETY: the caller of `rest` has seen to it.
        unsafe { walk.all::<K>(words, m) }
    }
    let (mut walk, mut left) = (Walk::after::<FROM>(digest), k);
    while left > 16 {
        if !of::<16>(words, m, &mut walk) {
            return false;
        }
        left -= 16;
    }
    unrolled!(left, of, words, m, &mut walk)
}

/// Sets the k bits of a digest and says whether one was new; nothing when the words do not have m bits.
#[inline]
pub(crate) fn set(words: &mut [u64], m: u64, k: u32, digest: Digest) -> bool {
    #[inline(always)]
    fn of<const K: u32>(words: &mut [u64], m: u64, walk: &mut Walk) -> u64 {
        let mut fresh = 0;
        for _ in 0..K {
            let position = walk.next(m);
            let bit = 1 << (position % 64);
            // SAFETY: fastrange gives a position below m, and `holds` has shown that there are words for m bits.
            let word = unsafe { words.get_unchecked_mut((position / 64) as usize) };
            fresh |= bit & !*word;
            *word |= bit;
        }
        fresh
    }
    if !holds(words, m) {
        return false;
    }
    let (mut walk, mut left, mut fresh) = (Walk::new(digest), k, 0);
    while left > 16 {
        fresh |= of::<16>(words, m, &mut walk);
        left -= 16;
    }
    (fresh | unrolled!(left, of, words, m, &mut walk)) != 0
}

/// The answers of up to `N` digests (at most 255). An absent key drops out at its first zero without a branch: in each of two
/// rounds one position of every key that is left is looked at, and the numbers of those that pass are written side by
/// side. A key that outlasts them is most likely present, and all of the rest is looked at. When `ahead`, the memory is
/// asked for what a round needs before the first is looked at; for the first positions the caller has done it.
#[inline]
pub(crate) fn test_batch<const N: usize>(
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
    if !holds(words, m) {
        return;
    }
    let (mut first, mut second) = ([0; N], [0; N]);
    // SAFETY: `holds` has shown that the words have m bits.
    unsafe {
        if k <= 2 {
            for (digest, answer) in digests.iter().zip(answers) {
                *answer = rest::<0>(words, m, k, *digest);
            }
            return;
        }
        let left = round::<0>(words, m, digests, 0..count as u8, &mut first);
        if ahead {
            for key in &first[..left] {
                let mut walk = Walk::after::<1>(digests[usize::from(*key)]);
                (1..k).for_each(|_| prefetch(words, (walk.next(m) / 64) as usize));
            }
        }
        let left = round::<1>(words, m, digests, first[..left].iter().copied(), &mut second);
        unrolled!((k - 2).min(16), finish, words, m, k, digests, &second[..left], answers);
    }
}

/// Looks at the position of number R of these keys, writes the numbers of those whose bit is one side by side and says how many
/// they are.
///
/// # Safety
///
/// The words have m bits, at least one.
#[inline(always)]
unsafe fn round<const R: u64>(
    words: &[u64],
    m: u64,
    digests: &[Digest],
    keys: impl Iterator<Item = u8>,
    // Another place than the keys come from: a load that may have to wait for a store costs more than the store.
    passed: &mut [u8],
) -> usize {
    let mut count = 0;
    for key in keys {
        let position = Walk::after::<R>(digests[usize::from(key)]).next(m);
        // SAFETY: fastrange gives a position below m, and the words have m bits.
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
/// The words have m bits, at least one.
#[inline(never)]
unsafe fn finish<const K: u32>(words: &[u64], m: u64, k: u32, digests: &[Digest], keys: &[u8], answers: &mut [bool]) {
    for key in keys {
        let key = usize::from(*key);
        // SAFETY: the caller has seen to it.
        answers[key] = unsafe { Walk::after::<2>(digests[key]).all::<K>(words, m) };
        if K == 16 && k > 18 {
            // SAFETY: the caller has seen to it.
            answers[key] &= unsafe { rest::<18>(words, m, k - 18, digests[key]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{SplitMix, probes};

    #[test]
    fn bits_are_those_of_the_default_scheme() {
        let mut random = SplitMix::new(3);
        for m in [1, 2, 63, 64, 65, 1000, 100_003] {
            for k in [1, 2, 3, 4, 5, 7, 10, 16, 17, 20, 21, 37, 64] {
                let mut words = vec![0u64; (m as usize).div_ceil(64)];
                let mut model = vec![0u64; words.len()];
                for _ in 0..200 {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let positions: Vec<u64> = probes(digest, m, k).collect();
                    let has = |words: &[u64]| positions.iter().all(|p| words[(p / 64) as usize] >> (p % 64) & 1 == 1);
                    let expected = has(&model);
                    assert_eq!(test(&words, m, k, digest), expected);
                    assert_eq!(test_loaded(m, k, digest, |index| words[index]), expected);
                    let mut answer = [!expected];
                    test_batch::<4>(&words, m, k, &[digest], &mut answer, random.below(2) == 0);
                    assert_eq!(answer, [expected]);
                    if random.below(3) == 0 {
                        assert_eq!(set(&mut words, m, k, digest), !expected);
                        positions.iter().for_each(|p| model[(p / 64) as usize] |= 1 << (p % 64));
                        assert_eq!(words, model);
                    }
                }
            }
        }
    }

    #[test]
    fn words_that_are_too_few_hold_nothing() {
        let digest = Digest { h1: u64::MAX, h2: 1 };
        let mut words = [u64::MAX];
        assert!(!test(&words, 65, 3, digest) && !test(&[], 0, 3, digest));
        assert!(!set(&mut words, 65, 3, digest) && !set(&mut [], 0, 3, digest));
    }
}
