//! Where faults come from.

use crate::hash::SplitMix;

/// What reads give when memory or probes fail: the way in for tests and simulations of faults.
///
/// ```
/// use bouquet::{ErrorProtected, membership::error_protected::Memory};
/// /// Every read of a word has its lowest bit flipped.
/// struct Stuck;
/// impl Memory for Stuck {
///     fn word(&mut self, _word: u64, stored: u64) -> u64 {
///         stored ^ 1
///     }
/// }
/// let mut filter = ErrorProtected::with_size(6_400, 5)?;
/// filter.insert("rose");
/// assert!(filter.contains_through("rose", &mut Stuck), "the parity bits tell");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Memory {
    /// What a read of this word gives, before its parity is checked.
    #[inline(always)]
    fn word(&mut self, _word: u64, stored: u64) -> u64 {
        stored
    }

    /// What a probe sees of the bit at this position, after the parity was checked.
    #[inline(always)]
    fn probe(&mut self, _position: u64, bit: bool) -> bool {
        bit
    }
}

/// Memory without faults.
///
/// ```
/// use bouquet::membership::error_protected::{Memory, Sound};
/// assert_eq!((Sound.word(3, 77), Sound.probe(5, true)), (77, true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sound;

impl Memory for Sound {}

/// Probes that read a one as zero with this probability.
pub(super) struct Glitches {
    pub(super) random: SplitMix,
    pub(super) probability: f64,
}

impl Memory for Glitches {
    fn probe(&mut self, _position: u64, bit: bool) -> bool {
        bit && self.random.unit() >= self.probability
    }
}
