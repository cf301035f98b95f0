//! Signatures: which bits are a key's, how many of them are ones, and how they are lost.

use super::{Ageing, Signatures, VariableLength};
use crate::hash::{Digest, MAX_HASHES, Positions, probes};
use crate::key::Key;

impl VariableLength {
    /// The length of a key's signature: how many of its positions are ones.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// assert_eq!(filter.signature("rose"), 0);
    /// filter.insert("rose");
    /// assert_eq!(filter.signature("rose"), 10);
    /// filter.remove("rose")?;
    /// assert_eq!(filter.signature("rose"), 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn signature<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.mechanism.length_of(&self.mechanism.positions(key.digest(&self.hashing)))
    }

    /// Gives a key that is still present its first t bits back, as after an insertion, and says whether it was. To be
    /// called when a live key is looked up: it heals what removals and ageing have done.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// filter.insert("rose");
    /// filter.age(5_000);
    /// let worn = filter.signature("rose");
    /// assert!(filter.recover("rose") == (worn >= 9));
    /// assert!(!filter.recover("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn recover<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.mechanism.lengthen(key.digest(&self.hashing), self.mechanism.shape.set)
    }

    /// The same for all k bits: the longest signature, which bears the most.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// filter.insert("rose");
    /// assert!(filter.recover_fully("rose"));
    /// assert_eq!(filter.signature("rose"), 12);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn recover_fully<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.mechanism.lengthen(key.digest(&self.hashing), self.mechanism.shape.hashes)
    }

    /// A packet of a key that is present: one more of its positions is set, if one is left. The length of the signature
    /// thereafter, or `None` for a key that is absent.
    ///
    /// ```
    /// use bouquet::VariableLength;
    /// let mut filter = VariableLength::with_size(10_000)?;
    /// assert_eq!(filter.touch("rose"), None);
    /// filter.insert("rose");
    /// assert_eq!([1, 2, 3].map(|_| filter.touch("rose")), [Some(11), Some(12), Some(12)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn touch<K: Key + ?Sized>(&mut self, key: &K) -> Option<u32> {
        let own = &mut self.mechanism;
        let positions = own.positions(key.digest(&self.hashing));
        let length = own.length_of(&positions);
        if length < own.shape.quorum {
            return None;
        }
        let missing = positions.iter().find(|&&position| !own.array.bits.get(position));
        let more = missing.is_some_and(|&position| own.array.bits.set(position));
        Some(length + u32::from(more))
    }
}

impl Signatures {
    /// The positions of a key in the order of its hash functions, all different: one that is taken already moves to the
    /// next.
    #[inline]
    pub(super) fn positions(&self, digest: Digest) -> Positions {
        let mut taken = [0; MAX_HASHES as usize];
        let mut count = 0;
        for mut position in probes(digest, self.shape.bits, self.shape.hashes) {
            // It ends, because there are at least as many bits as positions.
            while taken[..count].contains(&position) {
                position = if position + 1 == self.shape.bits { 0 } else { position + 1 };
            }
            taken[count] = position;
            count += 1;
        }
        taken[..count].iter().copied().collect()
    }

    #[inline]
    pub(super) fn length_of(&self, positions: &[u64]) -> u32 {
        positions.iter().map(|&position| u32::from(self.array.bits.get(position))).sum()
    }

    #[inline]
    pub(super) fn is_present(&self, positions: &[u64]) -> bool {
        self.length_of(positions) >= self.shape.quorum
    }

    #[inline]
    pub(super) fn set_first(&mut self, positions: &[u64], count: u32) {
        for &position in positions.iter().take(count as usize) {
            self.array.bits.set(position);
        }
    }

    pub(super) fn lengthen(&mut self, digest: Digest, first: u32) -> bool {
        let positions = self.positions(digest);
        let present = self.is_present(&positions);
        if present {
            self.set_first(&positions, first);
        }
        present
    }

    /// Clears this many bits: those that are next in turn, or at random.
    pub(super) fn clear_bits(&mut self, bits: u128) {
        let m = self.shape.bits;
        match self.ageing {
            Ageing::RoundRobin => {
                let (start, run) = (self.next, bits.min(m.into()) as u64);
                let before_end = run.min(m - start);
                self.array.bits.clear_run(start, before_end);
                self.array.bits.clear_run(0, run - before_end);
                self.next = ((u128::from(start) + bits % u128::from(m)) % u128::from(m)) as u64;
            }
            Ageing::Random => {
                let mut left = bits;
                while left > 0 {
                    // When every bit is zero only the generator goes on; looking costs less than the steps in between.
                    if self.array.bits.words().iter().all(|&word| word == 0) {
                        return self.random.skip(left as u64);
                    }
                    let steps = left.min(m.into());
                    for _ in 0..steps {
                        let position = self.random.below(m);
                        self.array.bits.clear(position);
                    }
                    left -= steps;
                }
            }
        }
    }
}
