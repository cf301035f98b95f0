//! Bits at the positions of the two schemes that filters have by default, without a bounds check per position: anywhere in a vector
//! of words (enhanced double hashing), or one in each of k slices (`SLICED`: triple hashing), both with fastrange, or (`NARROW`)
//! fastrange32. The positions are those of [`Scheme`](crate::hash::Scheme).
//!
//! Below, m is the number of bits, or those of a slice. Loops over the positions of a key are unrolled for every usual k: one jump
//! per key instead of a branch per position.

use super::lanes::USUAL;
use super::{four, prefetch};
use crate::hash::{Digest, Ring, fastrange};

/// Positions that are tested before the answer is looked at. Looking after each costs a mispredicted branch per absent key,
/// looking only at the end costs memory accesses that the first zero makes needless.
const HEAD: u32 = 4;

/// The recurrence of a scheme.
#[derive(Clone, Copy)]
struct Walk<const SLICED: bool, const NARROW: bool> {
    x: u64,
    y: u64,
    z: u64,
    /// Where the slice begins.
    start: u64,
}

impl<const SLICED: bool, const NARROW: bool> Walk<SLICED, NARROW> {
    #[inline(always)]
    fn new(digest: Digest) -> Self {
        let (x, y) = Ring::<NARROW>::words(digest);
        let z = if SLICED { Ring::<NARROW>::third(digest) } else { Ring::<NARROW>::UNIT };
        Walk { x, y, z, start: 0 }
    }

    #[inline(always)]
    fn next(&mut self, m: u64) -> u64 {
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
    fn after<const FROM: u64>(digest: Digest, m: u64) -> Self {
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

    /// Whether the next K bits are all one.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or enough slices of them.
    #[inline(always)]
    unsafe fn all<const K: u32>(&mut self, words: &[u64], m: u64) -> bool {
        // SAFETY: a position is below m, or in its slice, and the words have these bits.
        self.all_of::<K>(m, |index| unsafe { *words.get_unchecked(index) })
    }

    /// Sets the next K bits and says how many were one.
    ///
    /// # Safety
    ///
    /// The words have m bits, at least one, or enough slices of them.
    #[inline(always)]
    unsafe fn set<const K: u32>(&mut self, words: &mut [u64], m: u64) -> u64 {
        let mut ones = 0;
        for _ in 0..K {
            let position = self.next(m);
            // SAFETY: a position is below m, or in its slice, and the words have these bits.
            let word = unsafe { words.get_unchecked_mut((position / 64) as usize) };
            ones += *word >> (position % 64) & 1;
            *word |= 1 << (position % 64);
        }
        ones
    }

    /// Whether the next K bits of the words that `load` reads are all one.
    #[inline(always)]
    fn all_of<const K: u32>(&mut self, m: u64, load: impl Fn(usize) -> u64) -> bool {
        let mut all = u64::MAX;
        for _ in 0..K {
            let position = self.next(m);
            all &= load((position / 64) as usize) >> (position % 64);
        }
        all & 1 == 1
    }

    /// Whether the next K positions all answer yes; each of them is asked.
    #[inline(always)]
    fn all_that<const K: u32>(&mut self, m: u64, answer: impl Fn(u64) -> bool) -> bool {
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

/// Whether the [`USUAL`] bits of a digest, from words of 64 bits, are all one; false when the words do not have the bits.
#[inline(always)]
pub(crate) fn test_usual<const SLICED: bool>(words: &[u64], m: u64, digest: Digest) -> bool {
    let mut walk = Walk::<SLICED, false>::new(digest);
    // SAFETY: `holds` has shown that the words have the bits.
    holds::<SLICED>(words, m, USUAL) && unsafe { walk.all::<HEAD>(words, m) && walk.all::<{ USUAL - HEAD }>(words, m) }
}

/// Whether the k bits of a digest are all one; false when the words do not have the bits.
#[inline(always)]
pub(crate) fn test<const SLICED: bool, const NARROW: bool>(words: &[u64], m: u64, k: u32, digest: Digest) -> bool {
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

/// The same for words that are read in another way, in groups of at most [`HEAD`] bits.
#[inline(always)]
pub(crate) fn test_loaded<const NARROW: bool>(m: u64, k: u32, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
    let mut walk = Walk::<false, NARROW>::new(digest);
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

/// Sets the [`USUAL`] bits of a digest in words that are read and changed in another way, unless all are one, and says whether one
/// was zero; nothing is done when the words do not have the bits. The positions stay in registers from the look to the change.
#[inline(always)]
pub(crate) fn set_shared<const NARROW: bool, W>(
    words: &[W],
    m: u64,
    digest: Digest,
    load: impl Fn(&W) -> u64,
    put: impl Fn(&W, u64),
) -> bool {
    if !holds::<false>(words, m, USUAL) {
        return false;
    }
    let mut walk = Walk::<false, NARROW>::new(digest);
    let positions: [u64; USUAL as usize] = std::array::from_fn(|_| walk.next(m));
    // SAFETY: a position is below m, and `holds` has shown that the words have these bits.
    let word = |position: u64| unsafe { words.get_unchecked((position / 64) as usize) };
    let all = |positions: &[u64]| {
        positions.iter().fold(1, |all, position| all & load(word(*position)) >> (position % 64)) == 1
    };
    // Two tell of most new keys that they are. A word that was read before it is changed is asked for twice if another thread had it.
    let (first, others) = positions.split_at(2);
    let is_new = !(all(first) && all(others));
    if is_new {
        positions.iter().for_each(|position| put(word(*position), 1 << (position % 64)));
    }
    is_new
}

/// Whether the k bits of a digest after the first FROM are all one. Not inlined: absent keys hardly come here.
///
/// # Safety
///
/// The words have m bits, at least one, or enough slices of them.
#[inline(never)]
unsafe fn rest<const FROM: u64, const SLICED: bool, const NARROW: bool>(
    words: &[u64],
    m: u64,
    k: u32,
    digest: Digest,
) -> bool {
    #[inline(always)]
    fn of<const K: u32, const SLICED: bool, const NARROW: bool>(
        words: &[u64],
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
        unsafe { walk.set::<K>(words, m) };
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

/// Sets the k bits of a digest, from words of 32 bits, one after the other, and says whether one was new; nothing is done when the words
/// do not have the bits. Inlined: the compiler leaves out the look at the bits if nobody asks whether one was new.
#[inline(always)]
pub(crate) fn set_loop<const SLICED: bool>(words: &mut [u64], m: u64, k: u32, digest: Digest) -> Option<bool> {
    if !holds::<SLICED>(words, m, k) {
        return None;
    }
    let (mut walk, mut known) = (Walk::<SLICED, true>::new(digest), true);
    for _ in 0..k {
        // SAFETY: `holds` has shown that the words have the bits.
        known &= unsafe { walk.all::<1>(words, m) };
    }
    let mut walk = Walk::<SLICED, true>::new(digest);
    for _ in 0..k {
        // SAFETY: as above.
        unsafe { walk.set::<1>(words, m) };
    }
    Some(!known)
}

/// Sets the first K bits of a digest; false when the words do not have them.
#[inline(always)]
pub(crate) fn put<const K: u32, const SLICED: bool, const NARROW: bool>(
    words: &mut [u64],
    m: u64,
    digest: Digest,
) -> bool {
    let holds = holds::<SLICED>(words, m, K);
    if holds {
        // SAFETY: the words have the bits.
        unsafe { Walk::<SLICED, NARROW>::new(digest).set::<K>(words, m) };
    }
    holds
}

/// The answers of up to `N` digests (at most 255). An absent key drops out at its first zero without a branch: in each of two
/// rounds one position of every key that is left is looked at, and the numbers of those that pass are written side by
/// side. A key that outlasts them is most likely present, and all of the rest is looked at. When `ahead`, the memory is
/// asked for what a round needs before the first is looked at; for the first positions the caller has done it. Else four
/// keys may go side by side where the machine can do that.
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
        if !(ahead || SLICED || NARROW) && four::test_batch::<N, 0>(words, m, k, digests, answers) {
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

/// Whether there are m counters, at least one, of `width` bits in the words, none of them across two: what makes the
/// unchecked accesses below sound.
#[inline(always)]
fn holds_counters(words: &[impl Sized], m: u64, width: u32) -> bool {
    let bits = m.checked_mul(width.into());
    width.is_power_of_two() && m != 0 && bits.is_some_and(|bits| bits.div_ceil(64) <= words.len() as u64)
}

/// Whether none of the k counters of a digest, in words that `load` reads, is zero; false when the words do not hold m counters of a
/// width that divides 64.
#[inline(always)]
pub(crate) fn counters_nonzero<W>(
    words: &[W],
    m: u64,
    k: u32,
    width: u32,
    digest: Digest,
    load: impl Fn(&W) -> u64,
) -> bool {
    if !holds_counters(words, m, width) {
        return false;
    }
    let shift = width.trailing_zeros();
    let max = u64::MAX >> (64 - width);
    let nonzero = |position: u64| {
        let bit = position << shift;
        // SAFETY: a position is below m, and `holds_counters` has shown that there are words for m counters.
        let word = load(unsafe { words.get_unchecked((bit / 64) as usize) });
        word >> (bit % 64) & max != 0
    };
    let mut walk = Walk::<false, false>::new(digest);
    for _ in 0..k / HEAD {
        if !walk.all_that::<HEAD>(m, nonzero) {
            return false;
        }
    }
    match k % HEAD {
        0 => true,
        1 => walk.all_that::<1>(m, nonzero),
        2 => walk.all_that::<2>(m, nonzero),
        _ => walk.all_that::<3>(m, nonzero),
    }
}

/// The bits of a usual counter, for which there are batches.
pub(crate) const COUNTER: u32 = 4;

/// What [`counters_nonzero`] says about up to `N` digests (from 4 to 252) and counters of [`COUNTER`] bits. When `ahead`, the
/// memory is asked for the other counters of all keys whose first is nonzero, before they are looked at; for the first
/// the caller has done it. Else four keys go side by side where the machine can do that.
#[inline]
pub(crate) fn counters_nonzero_batch<const N: usize>(
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
    // SAFETY: `holds_counters` has shown that there are words for m counters; there are as many answers as digests, at most N.
    let is_done = !ahead
        && holds_counters(words, m, COUNTER)
        && unsafe { four::test_batch::<N, { COUNTER.ilog2() as i32 }>(words, m, k, digests, answers) };
    if is_done {
        return;
    }
    if ahead {
        // The answers tell meanwhile whose first counter is nonzero.
        for (digest, answer) in digests.iter().zip(answers.iter_mut()) {
            *answer = counters_nonzero(words, m, 1, COUNTER, *digest, |word| *word);
            if *answer {
                let mut walk = Walk::<false, false>::after::<1>(*digest, m);
                (1..k).for_each(|_| prefetch(words, (walk.next(m) / u64::from(64 / COUNTER)) as usize));
            }
        }
    }
    for (digest, answer) in digests.iter().zip(answers).filter(|(_, answer)| !ahead || **answer) {
        *answer = counters_nonzero(words, m, k, COUNTER, *digest, |word| *word);
    }
}

/// Adds one to the k counters of a digest, which must be at different positions; a counter at its largest value stays. Says
/// whether one was zero, and how many stayed. Nothing when the words do not hold m counters of a width that divides 64.
#[inline(always)]
pub(crate) fn increment(words: &mut [u64], m: u64, k: u32, width: u32, digest: Digest) -> (bool, u64) {
    if !holds_counters(words, m, width) {
        return (false, 0);
    }
    let (shift, max) = (width.trailing_zeros(), u64::MAX >> (64 - width));
    let mut walk = Walk::<false, false>::new(digest);
    let (mut least, mut full) = (max, 0);
    for _ in 0..k {
        let bit = walk.next(m) << shift;
        // SAFETY: fastrange gives a position below m, and `holds_counters` has shown that there are words for m counters.
        let word = unsafe { words.get_unchecked_mut((bit / 64) as usize) };
        let counter = *word >> (bit % 64) & max;
        least = least.min(counter);
        full += u64::from(counter == max);
        *word += u64::from(counter != max) << (bit % 64);
    }
    (least == 0, full)
}

/// Whether no two positions of a digest coincide; `false` is not certain. There are two rows of 64 marks, for the low
/// bits of a position and for the next: one that occurred before finds both of its marks set, and so does one in fifty
/// of seven different ones.
#[inline(always)]
pub(crate) fn are_apart(m: u64, k: u32, digest: Digest) -> bool {
    let mut walk = Walk::<false, false>::new(digest);
    let (mut low, mut high, mut again) = (0_u64, 0_u64, 0);
    for _ in 0..k {
        let position = walk.next(m);
        let (a, b) = (position % 64, position / 64 % 64);
        again |= (low >> a) & (high >> b);
        low |= 1 << a;
        high |= 1 << b;
    }
    again & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Reduction, Scheme, SplitMix, probes};

    #[test]
    fn bits_are_those_of_the_default_schemes() {
        check::<false, false>(Scheme::default());
        check::<true, false>(Scheme::SLICES);
        check::<false, true>(Scheme { reduction: Reduction::Fastrange32, ..Scheme::default() });
        check::<true, true>(Scheme { reduction: Reduction::Fastrange32, ..Scheme::SLICES });
    }

    fn check<const SLICED: bool, const NARROW: bool>(scheme: Scheme) {
        let mut random = SplitMix::new(3);
        for m in [1_u64, 2, 63, 64, 65, 1000, 100_003] {
            for k in [1, 2, 3, 4, 5, 7, 10, 16, 17, 20, 21, 37, 64] {
                let bits = if SLICED { m * u64::from(k) } else { m };
                let mut words = vec![0u64; bits.div_ceil(64) as usize];
                let mut model = vec![0u64; words.len()];
                for _ in 0..200 {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let mut positions = scheme.positions_of_digest(digest, m, k).to_vec();
                    if SLICED {
                        positions.iter_mut().zip(0..).for_each(|(position, i)| *position += m * i);
                    }
                    let has = |words: &[u64]| positions.iter().all(|p| words[(p / 64) as usize] >> (p % 64) & 1 == 1);
                    let expected = has(&model);
                    assert_eq!(test::<SLICED, NARROW>(&words, m, k, digest), expected);
                    assert!(SLICED || test_loaded::<NARROW>(m, k, digest, |index| words[index]) == expected);
                    let usual = k == USUAL && !NARROW;
                    assert!(!usual || test_usual::<SLICED>(&words, m, digest) == expected);
                    let mut answer = [!expected];
                    test_batch::<4, SLICED, NARROW>(&words, m, k, &[digest], &mut answer, random.below(2) == 0);
                    assert_eq!(answer, [expected]);
                    if random.below(3) == 0 {
                        let fresh = match random.below(2) {
                            0 if NARROW => set_loop::<SLICED>(&mut words, m, k, digest),
                            _ => Some(set::<SLICED, NARROW>(&mut words, m, k, digest)),
                        };
                        assert_eq!(fresh, Some(!expected));
                        positions.iter().for_each(|p| model[(p / 64) as usize] |= 1 << (p % 64));
                        assert_eq!(words, model);
                    }
                }
            }
        }
    }

    #[test]
    fn counters_are_those_of_the_default_scheme() {
        let mut random = SplitMix::new(4);
        for (m, width) in
            [(1u64, 4u32), (2, 64), (15, 4), (16, 4), (17, 8), (1000, 1), (1000, 2), (5003, 16), (700, 32)]
        {
            for k in [1, 2, 3, 5, 7, 64] {
                let mut words = vec![0u64; (m * u64::from(width)).div_ceil(64) as usize];
                let mut model = vec![0u64; m as usize];
                let max = u64::MAX >> (64 - width);
                for _ in 0..300 {
                    let digest = Digest { h1: random.next_u64(), h2: random.next_u64() };
                    let mut positions: Vec<u64> = probes(digest, m, k).collect();
                    let nonzero = positions.iter().all(|&p| model[p as usize] > 0);
                    assert_eq!(counters_nonzero(&words, m, k, width, digest, |word| *word), nonzero);
                    for ahead in [false, true] {
                        let mut answers = [!nonzero; 5];
                        counters_nonzero_batch::<8>(&words, m, k, &[digest; 5], &mut answers, ahead);
                        assert!(width != COUNTER || answers == [nonzero; 5], "m {m}, k {k}");
                    }
                    let apart = are_apart(m, k, digest);
                    positions.sort_unstable();
                    positions.dedup();
                    assert!(!apart || positions.len() == k as usize);
                    if positions.len() == k as usize {
                        let full = positions.iter().filter(|&&p| model[p as usize] == max).count() as u64;
                        assert_eq!(increment(&mut words, m, k, width, digest), (!nonzero, full));
                        positions.iter().for_each(|&p| model[p as usize] += u64::from(model[p as usize] < max));
                    }
                    let value =
                        |p: u64| words[(p * u64::from(width) / 64) as usize] >> (p * u64::from(width) % 64) & max;
                    assert!((0..m).all(|p| value(p) == model[p as usize]));
                }
            }
        }
    }

    #[test]
    fn counters_that_the_words_do_not_hold_are_left_alone() {
        let digest = Digest { h1: u64::MAX, h2: 1 };
        let mut words = [u64::MAX];
        for (m, width) in [(17, 4), (0, 4), (3, 5), (u64::MAX, 32), (2, 64)] {
            assert!(!counters_nonzero(&words, m, 3, width, digest, |word| *word));
            assert_eq!(increment(&mut words, m, 3, width, digest), (false, 0));
        }
        assert_eq!(words, [u64::MAX]);
    }

    #[test]
    fn words_that_are_too_few_hold_nothing() {
        let digest = Digest { h1: u64::MAX, h2: 1 };
        let mut words = [u64::MAX];
        assert!(!test::<false, false>(&words, 65, 3, digest) && !test::<false, false>(&[], 0, 3, digest));
        assert!(!set::<false, false>(&mut words, 65, 3, digest) && !set::<false, false>(&mut [], 0, 3, digest));
    }
}
