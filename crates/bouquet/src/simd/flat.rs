//! Bits at the positions of the default scheme, anywhere in a vector of words: enhanced double hashing with fastrange
//! (see [`probes`](crate::hash::probes), whose positions these are), without a bounds check per position.

use super::prefetch;
use crate::hash::{Digest, GOLDEN, fastrange};

/// Positions that are tested before the answer is looked at. Looking after each costs a mispredicted branch per absent key,
/// looking only at the end costs memory accesses that the first zero makes needless.
const GROUP: u32 = 3;

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
    let mut walk = Walk::new(digest);
    let mut bit = || {
        let position = walk.next(m);
        // SAFETY: fastrange gives a position below m, and `holds` has shown that there are words for m bits.
        let word = unsafe { *words.get_unchecked((position / 64) as usize) };
        word >> (position % 64)
    };
    for _ in 0..k / GROUP {
        if (0..GROUP).fold(1, |all, _| all & bit()) & 1 == 0 {
            return false;
        }
    }
    (0..k % GROUP).fold(1, |all, _| all & bit()) & 1 == 1
}

/// Sets the k bits of a digest and says whether one was new; nothing when the words do not have m bits.
#[inline(always)]
pub(crate) fn set(words: &mut [u64], m: u64, k: u32, digest: Digest) -> bool {
    if !holds(words, m) {
        return false;
    }
    let mut walk = Walk::new(digest);
    let mut fresh = 0;
    for _ in 0..k {
        let position = walk.next(m);
        let bit = 1 << (position % 64);
        // SAFETY: fastrange gives a position below m, and `holds` has shown that there are words for m bits.
        let word = unsafe { words.get_unchecked_mut((position / 64) as usize) };
        fresh |= bit & !*word;
        *word |= bit;
    }
    fresh != 0
}

/// The answers of up to `N` digests, position after position for all that are still in question, each position asked of
/// the memory one round ahead. An absent key drops out at its first zero without a branch.
pub(crate) fn test_batch<const N: usize>(words: &[u64], m: u64, k: u32, digests: &[Digest], answers: &mut [bool]) {
    let mut walks = [(Walk { x: 0, y: 0, z: 0 }, 0); N];
    let mut left = digests.len().min(answers.len()).min(N);
    for (i, (digest, answer)) in digests.iter().zip(answers.iter_mut()).take(N).enumerate() {
        walks[i] = (Walk::new(*digest), i);
        prefetch(words, (fastrange(digest.h1, m) / 64) as usize);
        *answer = false;
    }
    for _ in 0..k {
        let mut kept = 0;
        for i in 0..left {
            let (mut walk, key) = walks[i];
            let position = walk.next(m);
            prefetch(words, (fastrange(walk.x, m) / 64) as usize);
            let bit = words.get((position / 64) as usize).map_or(0, |word| word >> (position % 64) & 1);
            // What fails is overwritten by the next that does not.
            walks[kept] = (walk, key);
            kept += bit as usize;
        }
        left = kept;
    }
    for (_, key) in &walks[..left] {
        answers[*key] = true;
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
            for k in [1, 2, 3, 4, 7, 10, 64] {
                let mut words = vec![0u64; (m as usize).div_ceil(64)];
                let mut model = vec![0u64; words.len()];
                for _ in 0..200 {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let positions: Vec<u64> = probes(digest, m, k).collect();
                    let has = |words: &[u64]| positions.iter().all(|p| words[(p / 64) as usize] >> (p % 64) & 1 == 1);
                    let expected = has(&model);
                    assert_eq!(test(&words, m, k, digest), expected);
                    let mut answer = [!expected];
                    test_batch::<4>(&words, m, k, &[digest], &mut answer);
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
