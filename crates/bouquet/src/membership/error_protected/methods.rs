//! What a protected filter has beside the verbs of the shell.

use super::memory::Glitches;
use super::{ErrorProtected, ErrorProtectedSettings, Memory, ProtectedBits, Sound};
use crate::error::{Error, Result};
use crate::hash::SplitMix;
use crate::key::Key;
use crate::membership::standard::{Bloom, BloomSettings};
use crate::parts::bit_array::BitArray;
use crate::store::BitStore;
use crate::theory;

impl ErrorProtected {
    /// A filter of `bits` bits, its parity bits not counted, and `hashes` positions per key.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let filter = ErrorProtected::with_size(6_400, 5)?;
    /// assert_eq!((filter.bits().len(), filter.parities().len()), (6_400, 100));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(ErrorProtectedSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// The bits as memory has them, without the parity bits.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.array.bits
    }

    /// The parity bits, one for each word.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.insert("rose");
    /// assert!(filter.parities().count_ones() % 2 == 1, "five bits are odd in an odd number of words");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn parities(&self) -> &BitStore {
        &self.mechanism.parities
    }

    /// Sweeps over all words, makes the damaged ones all ones and says how many there were.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.flip(17)?;
    /// assert_eq!((filter.damaged(), filter.scrub(), filter.damaged()), (1, 1, 0));
    /// assert_eq!(filter.bits().count_ones(), 64);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn scrub(&mut self) -> u64 {
        self.mechanism.sweep()
    }

    /// The words whose parity is wrong at this moment.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// [17, 18, 64].map(|position| filter.flip(position));
    /// assert_eq!(filter.damaged(), 1, "two flips in one word escape");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.mechanism.damaged()
    }

    /// The words that were found damaged and have been all ones since.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.flip(17)?;
    /// filter.scrub();
    /// assert_eq!(filter.repaired(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.mechanism.repaired
    }

    /// Whether the key may be in, as `contains`, which also takes damaged words for ones; here they are rewritten too, so that a
    /// second flip in the same word is noticed.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(64, 1)?;
    /// filter.insert("rose");
    /// filter.flip(0)?;
    /// assert!(filter.contains("rose") && filter.repaired() == 0);
    /// assert!(filter.check("rose") && filter.repaired() == 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn check<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let (digest, bits) = (key.digest(&self.hashing), &mut self.mechanism);
        let places = bits.array.places;
        places.all(digest, |position| {
            bits.repair(position / u64::from(bits.width));
            true
        });
        bits.all_set(digest, &mut Sound)
    }

    /// Whether the key may be in when memory and probes fail as `memory` says.
    ///
    /// ```
    /// use bouquet::{ErrorProtected, membership::error_protected::Memory};
    /// struct Dark;
    /// impl Memory for Dark {
    ///     fn probe(&mut self, _position: u64, _bit: bool) -> bool {
    ///         false
    ///     }
    /// }
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.contains_through("rose", &mut Dark));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_through<K: Key + ?Sized>(&self, key: &K, memory: &mut impl Memory) -> bool {
        self.mechanism.all_set(key.digest(&self.hashing), memory)
    }

    /// The share of present keys that are lost when every probe reads a one as zero with this probability.
    ///
    /// ```
    /// use bouquet::{ErrorProtected, ErrorProtectedSettings};
    /// let settings = |recheck| ErrorProtectedSettings { items: Some(100), recheck: Some(recheck), ..Default::default() };
    /// assert!(ErrorProtected::with(settings(false))?.expected_lost(0.001) > 0.006);
    /// assert!(ErrorProtected::with(settings(true))?.expected_lost(0.001) < 0.000_03);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected_lost(&self, glitch: f64) -> f64 {
        let hashes = self.mechanism.array.places.hashes();
        if self.mechanism.recheck {
            theory::protection::lost_rechecked(hashes, glitch)
        } else {
            theory::protection::lost(hashes, glitch)
        }
    }

    /// Flips a bit of memory, to try what happens: those of the parities come behind those of the filter.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.flip(6_499)?;
    /// assert_eq!(filter.damaged(), 1, "a flipped parity bit is a damaged word");
    /// assert!(filter.flip(6_500).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn flip(&mut self, position: u64) -> Result<()> {
        let ProtectedBits { array: BitArray { bits, .. }, parities, .. } = &mut self.mechanism;
        let all = bits.len() + parities.len();
        if position >= all {
            return Err(Error::parameter("argument", format!("below {all}, the bits with their parities"), position));
        }
        let (store, at) = match position.checked_sub(bits.len()) {
            Some(at) => (parities, at),
            None => (bits, position),
        };
        if !store.set(at) {
            store.clear(at);
        }
        Ok(())
    }

    /// The share of this many queries that lose the key when every probe reads a one as zero with this probability. The same key
    /// meets the same glitches again.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.insert("rose");
    /// assert_eq!((filter.measured_lost("rose", 0.0, 100), filter.measured_lost("rose", 1.0, 100)), (0.0, 1.0));
    /// let half = filter.measured_lost("rose", 0.13, 10_000); // 1 - 0.87^5
    /// assert!((half - 0.5).abs() < 0.05, "{half}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn measured_lost<K: Key + ?Sized>(&self, key: &K, glitch: f64, queries: u32) -> f64 {
        let digest = key.digest(&self.hashing);
        let mut memory = Glitches { random: SplitMix::new(digest.h1), probability: glitch };
        let lost = (0..queries).filter(|_| !self.mechanism.all_set(digest, &mut memory)).count();
        lost as f64 / f64::from(queries.max(1))
    }

    /// Flips one random bit in each of this many random words.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_size(6_400, 5)?;
    /// filter.strike(30, 1)?;
    /// assert_eq!((filter.damaged(), filter.bits().count_ones()), (30, 30));
    /// assert!(filter.strike(101, 1).is_err(), "it has 100 words");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn strike(&mut self, words: u64, seed: u64) -> Result<()> {
        let (all, width) = (self.mechanism.parities.len(), u64::from(self.mechanism.width));
        if words > all {
            return Err(Error::parameter("argument", format!("at most {all}, the words"), words));
        }
        // Each word with the share of the strikes that are left.
        let (mut random, mut left) = (SplitMix::new(seed), words);
        for word in 0..all {
            if random.below(all - word) < left {
                left -= 1;
                self.flip(word * width + random.below(width))?;
            }
        }
        Ok(())
    }

    /// The plain filter of the same keys, damaged words as ones. Its `reduction` is fastrange, and a keyed filter's secret serves
    /// it too.
    ///
    /// ```
    /// use bouquet::ErrorProtected;
    /// let mut filter = ErrorProtected::with_rate(1_000, 0.01)?;
    /// filter.insert("rose");
    /// let plain = filter.to_bloom()?;
    /// assert!(plain.contains("rose") && !plain.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Bloom> {
        let ErrorProtectedSettings { items, fpr, .. } = self.settings;
        let asked = BloomSettings { items, fpr, ..BloomSettings::default() };
        let layout = self.mechanism.array.places.plain()?;
        Ok(Bloom::of_layout(layout, asked, &self.hashing, self.mechanism.taken(), self.items()))
    }
}
