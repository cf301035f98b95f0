//! The index families, the reductions to `0..m`, and which of their pairs can be halved.
//!
//! Numbers and names are written in frames and on command lines; they never change their meaning.

use super::MAX_HASHES;

/// How a key's k positions follow from its bytes or its digest.
///
/// The variant's definition, with the reduction of the [`Scheme`](super::Scheme), is a wire format: filters that
/// differ in it refuse to merge.
///
/// ```
/// use bouquet::hash::Family;
/// assert_eq!(Family::default(), Family::EnhancedDouble);
/// assert_eq!(Family::from_number(4), Some(Family::Triple));
/// assert_eq!(Family::from_name("squid-md5"), Some(Family::SquidMd5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// k separate hash functions: XXH3-64 of the key under the seeds that `SplitMix::new(seed)` gives one after the
    /// other; in a keyed filter `digest.derive(i).h1` for i = 0..k-1. The reference for measurements, and the slowest.
    Independent,
    /// `h1 + i*h2`, the step guarded against zero. Small filters pay for its regularity: see the module's table.
    Double,
    /// `h1 + i*h2 + (i³-i)/6` (Dillinger and Manolios): as cheap as double hashing, without its loss.
    #[default]
    EnhancedDouble,
    /// `h1 + i*h2 + i(i-1)/2 * h3`, where h3 is `digest.derive(3).h1`.
    Triple,
    /// `((c_i x + d_i) mod 2^61-1) mod m` for integer keys: see [`UniversalHash`](super::UniversalHash).
    Universal,
    /// MD5, SHA-1 and CRC-32 as big-endian integers modulo m: the worked example of a survey.
    Fig2,
    /// SDBM seeds a Mersenne Twister, whose first two outputs drive plain double hashing.
    SdbmMersenne,
    /// MD5 of a method byte and a URL, cut in four: the cache digests of Squid.
    SquidMd5,
}

impl Family {
    /// Every family, those that this build lacks included.
    pub const ALL: [Family; 8] = [
        Family::Independent,
        Family::Double,
        Family::EnhancedDouble,
        Family::Triple,
        Family::Universal,
        Family::Fig2,
        Family::SdbmMersenne,
        Family::SquidMd5,
    ];

    /// The number in the frame.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert!(Family::ALL.iter().all(|&f| Family::from_number(f.number()) == Some(f)));
    /// ```
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Family::Independent => 1,
            Family::Double => 2,
            Family::EnhancedDouble => 3,
            Family::Triple => 4,
            Family::Universal => 8,
            Family::Fig2 => 9,
            Family::SdbmMersenne => 10,
            Family::SquidMd5 => 11,
        }
    }

    /// The family of this number.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert_eq!(Family::from_number(0), None);
    /// ```
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.number() == number)
    }

    /// The name that people read and write.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert_eq!(Family::EnhancedDouble.name(), "enhanced-double");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::Independent => "independent",
            Family::Double => "double",
            Family::EnhancedDouble => "enhanced-double",
            Family::Triple => "triple",
            Family::Universal => "universal",
            Family::Fig2 => "fig2",
            Family::SdbmMersenne => "sdbm-mersenne",
            Family::SquidMd5 => "squid-md5",
        }
    }

    /// The family of this name.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert_eq!(Family::from_name("double"), Some(Family::Double));
    /// assert_eq!(Family::from_name("Double"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Whether this is a hash of a paper's own experiment, kept to replicate it and not fit for use.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert!(Family::Fig2.is_replication() && !Family::Triple.is_replication());
    /// ```
    #[must_use]
    pub fn is_replication(self) -> bool {
        matches!(self, Family::Fig2 | Family::SdbmMersenne | Family::SquidMd5)
    }

    /// Whether this build has it: the replication families need the cargo feature `replication`.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert!(Family::default().is_available());
    /// ```
    #[must_use]
    pub fn is_available(self) -> bool {
        cfg!(feature = "replication") || !self.is_replication()
    }

    /// The largest k.
    ///
    /// ```
    /// use bouquet::hash::{Family, MAX_HASHES};
    /// assert_eq!(Family::default().max_hashes(), MAX_HASHES);
    /// assert_eq!(Family::SquidMd5.max_hashes(), 4);
    /// ```
    #[must_use]
    pub fn max_hashes(self) -> u32 {
        match self {
            Family::Fig2 => 3,
            Family::SquidMd5 => 4,
            _ => MAX_HASHES,
        }
    }

    /// Whether positions need the key's bytes, and cannot be had from its digest alone.
    ///
    /// ```
    /// use bouquet::hash::Family;
    /// assert!(Family::Independent.needs_key() && !Family::EnhancedDouble.needs_key());
    /// ```
    #[must_use]
    pub fn needs_key(self) -> bool {
        !matches!(self, Family::Double | Family::EnhancedDouble | Family::Triple)
    }

    /// The reductions that the family is defined for: the replication families are modular by definition.
    ///
    /// ```
    /// use bouquet::hash::{Family, Reduction};
    /// assert!(!Family::Fig2.reductions().contains(&Reduction::Fastrange));
    /// ```
    #[must_use]
    pub fn reductions(self) -> &'static [Reduction] {
        if self.is_replication() { &[Reduction::Modulo, Reduction::Mask] } else { &Reduction::ALL }
    }

    /// How the m bits of a filter become the m/2 bits that the same keys would have set there, m even; `None` when
    /// they cannot.
    ///
    /// Positions modulo m are, taken modulo m/2, the positions modulo m/2, because every family's formula is a
    /// polynomial in its words: the halves can be ORed. A position by fastrange is ⌊w m / 2⁶⁴⌋ for a word w that does
    /// not depend on m, and ⌊⌊w m / 2⁶⁴⌋ / 2⌋ = ⌊w (m/2) / 2⁶⁴⌋: neighbours can be ORed.
    ///
    /// Double hashing is the exception. Its guard looks at m, and a step that is fine for m can be zero for m/2, so
    /// only the mask, where the guard (an odd step) holds for every power of two alike, can be halved.
    ///
    /// ```
    /// use bouquet::hash::{Family, Halving, Reduction};
    /// assert_eq!(Family::EnhancedDouble.halving(Reduction::Modulo), Some(Halving::Halves));
    /// assert_eq!(Family::EnhancedDouble.halving(Reduction::Fastrange), Some(Halving::Neighbours));
    /// assert_eq!(Family::Double.halving(Reduction::Modulo), None);
    /// ```
    #[must_use]
    pub fn halving(self, reduction: Reduction) -> Option<Halving> {
        if !self.reductions().contains(&reduction) {
            return None;
        }
        match (self, reduction) {
            (Family::Double, Reduction::Modulo | Reduction::Fastrange | Reduction::Fastrange32) => None,
            (_, Reduction::Modulo | Reduction::Mask) => Some(Halving::Halves),
            (_, Reduction::Fastrange | Reduction::Fastrange32) => Some(Halving::Neighbours),
        }
    }
}

/// How 64 hash bits become a position in `0..m`.
///
/// ```
/// use bouquet::hash::Reduction;
/// assert_eq!(Reduction::from_name("fastrange"), Some(Reduction::default()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The remainder of a division by m: two divisions per key, none per position.
    Modulo,
    /// The low bits, for m a power of two. The positions are those of [`Modulo`](Reduction::Modulo).
    Mask,
    /// The high half of the product with m: no division at all.
    #[default]
    Fastrange,
    /// The same with words of 32 bits, for m below 2³²: vector instructions make eight of them at a time. A position is
    /// ⌊w m / 2³²⌋, and the words of a digest are w1, the upper half of h1, for h1, w2, its lower half, for h2, and w3, the
    /// upper half of the h2 that [`Digest::from_word`](super::Digest::from_word) has for h1, for h3. Where m comes near
    /// 2³², some positions are that much likelier than others: m / 2³² is the share.
    Fastrange32,
}

impl Reduction {
    /// Every reduction.
    pub const ALL: [Reduction; 4] = [Reduction::Modulo, Reduction::Mask, Reduction::Fastrange, Reduction::Fastrange32];

    /// The number in the frame.
    ///
    /// ```
    /// use bouquet::hash::Reduction;
    /// assert_eq!(Reduction::Fastrange.number(), 2);
    /// ```
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Reduction::Modulo => 0,
            Reduction::Mask => 1,
            Reduction::Fastrange => 2,
            Reduction::Fastrange32 => 3,
        }
    }

    /// The reduction of this number.
    ///
    /// ```
    /// use bouquet::hash::Reduction;
    /// assert_eq!(Reduction::from_number(1), Some(Reduction::Mask));
    /// assert_eq!(Reduction::from_number(4), None);
    /// ```
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reduction| reduction.number() == number)
    }

    /// The name that people read and write.
    ///
    /// ```
    /// use bouquet::hash::Reduction;
    /// assert_eq!(Reduction::Modulo.name(), "modulo");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Modulo => "modulo",
            Reduction::Mask => "mask",
            Reduction::Fastrange => "fastrange",
            Reduction::Fastrange32 => "fastrange32",
        }
    }

    /// The reduction of this name.
    ///
    /// ```
    /// use bouquet::hash::Reduction;
    /// assert_eq!(Reduction::from_name("mod"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reduction| reduction.name() == name)
    }

    /// The position of one hash word in `0..m`; 0 when m is 0. A mask for an m that is no power of two falls back to
    /// the remainder.
    ///
    /// ```
    /// use bouquet::hash::Reduction;
    /// assert_eq!(Reduction::Modulo.reduce(1003, 1000), 3);
    /// assert_eq!(Reduction::Mask.reduce(1027, 1024), 3);
    /// assert_eq!(Reduction::Fastrange.reduce(1 << 63, 1000), 500);
    /// ```
    #[must_use]
    #[inline]
    pub fn reduce(self, hash: u64, m: u64) -> u64 {
        match self {
            Reduction::Fastrange => super::fastrange(hash, m),
            Reduction::Fastrange32 => super::fastrange(hash & UPPER, m),
            Reduction::Modulo | Reduction::Mask => remainder(hash, m),
        }
    }
}

/// The bits of a hash word that [`Reduction::Fastrange32`] looks at.
pub(crate) const UPPER: u64 = !0 << 32;

/// `hash mod m`, without a division when m is a power of two; 0 when m is 0.
#[inline]
pub(crate) fn remainder(hash: u64, m: u64) -> u64 {
    if m.is_power_of_two() { hash & (m - 1) } else { hash.checked_rem(m).unwrap_or(0) }
}

/// Which bits of a filter fall together when it is halved.
///
/// ```
/// use bouquet::hash::{Halving, Scheme};
/// assert_eq!(Scheme::default().halving(), Some(Halving::Neighbours));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Halving {
    /// Bit j and bit j + m/2 become bit j.
    Halves,
    /// Bits 2j and 2j + 1 become bit j.
    Neighbours,
}

impl Halving {
    /// Where a position among m goes in the filter of m/2 bits.
    ///
    /// ```
    /// use bouquet::hash::Halving;
    /// assert_eq!(Halving::Halves.target(700, 1000), 200);
    /// assert_eq!(Halving::Neighbours.target(700, 1000), 350);
    /// ```
    #[must_use]
    #[inline]
    pub fn target(self, position: u64, m: u64) -> u64 {
        match self {
            Halving::Halves if position >= m / 2 => position - m / 2,
            Halving::Halves => position,
            Halving::Neighbours => position / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_those_of_the_format() {
        let families: Vec<_> = Family::ALL.iter().map(|f| (f.number(), f.name())).collect();
        let expected = [
            (1, "independent"),
            (2, "double"),
            (3, "enhanced-double"),
            (4, "triple"),
            (8, "universal"),
            (9, "fig2"),
            (10, "sdbm-mersenne"),
            (11, "squid-md5"),
        ];
        assert_eq!(families, expected);
        assert!(Family::ALL.iter().all(|&f| Family::from_name(f.name()) == Some(f)));
        assert_eq!((0..=u8::MAX).filter_map(Family::from_number).collect::<Vec<_>>(), Family::ALL);
        let reductions: Vec<_> = Reduction::ALL.iter().map(|r| (r.number(), r.name())).collect();
        assert_eq!(reductions, [(0, "modulo"), (1, "mask"), (2, "fastrange"), (3, "fastrange32")]);
        assert_eq!((0..=u8::MAX).filter_map(Reduction::from_number).collect::<Vec<_>>(), Reduction::ALL);
    }

    #[test]
    fn every_reduction_stays_below_m_and_takes_zero() {
        for reduction in Reduction::ALL {
            for m in [1, 2, 3, 1000, 1024, 1 << 63, u64::MAX] {
                for hash in [0, 1, m - 1, m, u64::MAX / 2, u64::MAX] {
                    assert!(reduction.reduce(hash, m) < m);
                }
            }
            assert_eq!(reduction.reduce(u64::MAX, 0), 0);
        }
    }
}
