//! A family with its reduction: the complete rule from a key to its positions.

use super::family::{Family, Halving, Reduction};
use super::probes::{ModularProbes, Positions, Probes};
use super::universal::{UNIVERSAL_PRIME, UniversalHash};
use super::{Digest, HashId, Hashing, SplitMix};
use crate::error::{Error, Result};

/// How a filter turns keys into positions. The default is enhanced double hashing with fastrange.
///
/// Positions are a function of the scheme, the hashing, the key, m and k alone, and those of a smaller k begin those
/// of a larger one. A k over [`Family::max_hashes`] counts as that maximum; [`check`](Scheme::check) refuses it.
///
/// ```
/// use bouquet::hash::{Family, Hashing, Reduction, Scheme};
/// let scheme = Scheme { family: Family::Triple, reduction: Reduction::Modulo };
/// let positions = scheme.positions(&Hashing::seeded(1), b"rose", 1000, 7);
/// assert!(positions.len() == 7 && positions.iter().all(|&p| p < 1000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// What gives the hash words.
    pub family: Family,
    /// What maps them to `0..m`.
    pub reduction: Reduction,
}

impl Scheme {
    /// The scheme for one position in each of k slices. Between two keys what enhanced double hashing adds to double
    /// hashing is the same in every slice and cancels, so that keys which agree in two slices agree in all; the third
    /// word of triple hashing prevents that.
    ///
    /// ```
    /// use bouquet::hash::{Family, Scheme};
    /// assert_eq!(Scheme::SLICES.family, Family::Triple);
    /// ```
    pub const SLICES: Scheme = Scheme { family: Family::Triple, reduction: Reduction::Fastrange };

    /// A `standard` filter of at most this many bits has positions from words of 32 bits unless it is told otherwise: 2²⁷, where the uneven
    /// shares of the positions raise a rate of 1 % by a thousandth of itself. Such a filter is as large as 14 million keys need.
    pub(crate) const NARROW_BITS: u64 = 1 << 27;

    /// So do slices of that length, and at least this. In slices of some ten bits triple hashing has rates too high by 1 %, whichever
    /// words it has; there they are as they have always been.
    pub(crate) const NARROW_SLICES: u64 = 1 << 10;

    /// Refuses what the scheme cannot do: no positions, more than the family gives, a reduction that it is not
    /// defined for, a mask for an m that is no power of two, a family that this build lacks.
    ///
    /// ```
    /// use bouquet::hash::{Family, Reduction, Scheme};
    /// assert!(Scheme::default().check(1000, 7).is_ok());
    /// assert!(Scheme { family: Family::Double, reduction: Reduction::Mask }.check(1000, 7).is_err());
    /// ```
    pub fn check(self, m: u64, k: u32) -> Result<()> {
        let Scheme { family, reduction } = self;
        if !family.is_available() {
            return Err(Error::parameter(
                "family",
                "one of this build (enable the feature `replication`)",
                family.name(),
            ));
        }
        if !family.reductions().contains(&reduction) {
            return Err(Error::parameter(
                "reduction",
                format!("modulo or mask with {}", family.name()),
                reduction.name(),
            ));
        }
        if m == 0 {
            return Err(Error::parameter("bits", "at least 1", m));
        }
        if reduction == Reduction::Mask && !m.is_power_of_two() {
            return Err(Error::parameter("bits", "a power of two for the mask reduction", m));
        }
        if reduction == Reduction::Fastrange32 && m > u64::from(u32::MAX) {
            return Err(Error::parameter("bits", "below 2^32 with fastrange32", m));
        }
        if family == Family::Universal && m > UNIVERSAL_PRIME {
            return Err(Error::parameter("bits", "at most 2^61-1 with universal", m));
        }
        if k == 0 || k > family.max_hashes() {
            return Err(Error::parameter(
                "hashes",
                format!("from 1 to {} with {}", family.max_hashes(), family.name()),
                k,
            ));
        }
        Ok(())
    }

    /// How a filter of this scheme is halved: see [`Family::halving`].
    ///
    /// ```
    /// use bouquet::hash::{Halving, Scheme};
    /// assert_eq!(Scheme::default().halving(), Some(Halving::Neighbours));
    /// ```
    #[must_use]
    pub fn halving(self) -> Option<Halving> {
        self.family.halving(self.reduction)
    }

    /// How many bits of a key's digest decide its positions: keys that agree in them have the same positions, however many
    /// bits the filter has. What that does to a rate is in [`theory::collisions`](crate::theory::collisions).
    ///
    /// ```
    /// use bouquet::hash::{HashId, Reduction, Scheme};
    /// let narrow = Scheme { reduction: Reduction::Fastrange32, ..Scheme::default() };
    /// assert_eq!(Scheme::default().digest_bits(HashId::Xxh3Wide), 128);
    /// assert_eq!(narrow.digest_bits(HashId::Xxh3Wide), 64, "words of 32 bits are halves of h1");
    /// assert_eq!(Scheme::default().digest_bits(HashId::Folded), 64);
    /// ```
    #[must_use]
    pub fn digest_bits(self, digest: HashId) -> u32 {
        match (self.family, self.reduction) {
            // A number below 2^61 - 1 is made of h1.
            (Family::Universal, _) => 61,
            // Each position has a hash of its own, of 64 bits, unless it is keyed.
            (Family::Independent, _) => 128,
            // Its hash of the key, from which all follows, has 32.
            (Family::SdbmMersenne, _) => 32,
            // Functions of the key itself, of 96 bits and more.
            (Family::Fig2, _) => 96,
            (Family::SquidMd5, _) => 128,
            (_, Reduction::Fastrange32) => 64,
            _ => digest.bits(),
        }
    }

    /// The k positions of a key among m, under any family; none when m or k is 0 or the build lacks the family.
    ///
    /// ```
    /// use bouquet::hash::{Family, Hashing, Reduction, Scheme};
    /// let scheme = Scheme { family: Family::Independent, reduction: Reduction::Fastrange };
    /// let hashing = Hashing::seeded(1);
    /// assert_eq!(scheme.positions(&hashing, b"rose", 1000, 7)[..3], *scheme.positions(&hashing, b"rose", 1000, 3));
    /// ```
    #[must_use]
    #[inline]
    pub fn positions(self, hashing: &Hashing, key: &[u8], m: u64, k: u32) -> Positions {
        if self.family.needs_key() {
            self.positions_of_key(hashing, key, m, k)
        } else {
            self.positions_of_digest(hashing.digest(key), m, k)
        }
    }

    /// The k positions of a digest among m. A family that [needs the key](Family::needs_key) gives none.
    ///
    /// ```
    /// use bouquet::hash::{Hashing, Scheme};
    /// let hashing = Hashing::seeded(1);
    /// let scheme = Scheme::default();
    /// let positions = scheme.positions_of_digest(hashing.digest(b"rose"), 1000, 7);
    /// assert_eq!(positions, scheme.positions(&hashing, b"rose", 1000, 7));
    /// ```
    #[must_use]
    #[inline]
    pub fn positions_of_digest(self, digest: Digest, m: u64, k: u32) -> Positions {
        match self.reduction {
            Reduction::Fastrange => Probes::of_family::<false>(self.family, digest, m, k).collect(),
            Reduction::Fastrange32 => Probes::of_family::<true>(self.family, digest, m, k).collect(),
            Reduction::Modulo | Reduction::Mask => ModularProbes::of_family(self.family, digest, m, k).collect(),
        }
    }

    /// Visits the positions of a digest in order until `visit` answers false, and tells whether it never did. The
    /// family and the reduction are looked at once, not per position.
    ///
    /// ```
    /// use bouquet::hash::{Hashing, Scheme};
    /// let digest = Hashing::seeded(1).digest(b"rose");
    /// let mut seen = Vec::new();
    /// assert!(!Scheme::default().all(digest, 1000, 7, |p| { seen.push(p); seen.len() < 3 }));
    /// assert_eq!(seen, Scheme::default().positions_of_digest(digest, 1000, 3)[..]);
    /// ```
    #[inline]
    pub fn all(self, digest: Digest, m: u64, k: u32, visit: impl FnMut(u64) -> bool) -> bool {
        match self.reduction {
            Reduction::Fastrange => Probes::of_family::<false>(self.family, digest, m, k).all(visit),
            Reduction::Fastrange32 => Probes::of_family::<true>(self.family, digest, m, k).all(visit),
            Reduction::Modulo | Reduction::Mask => ModularProbes::of_family(self.family, digest, m, k).all(visit),
        }
    }

    /// Position i in slice i of k slices of equal length: i * slice_len + hᵢ reduced to the slice. For a family that
    /// needs the key, take [`positions`](Scheme::positions) and [`Positions::in_slices`].
    ///
    /// ```
    /// use bouquet::hash::{Hashing, Scheme};
    /// let positions = Scheme::default().sliced(Hashing::seeded(1).digest(b"rose"), 100, 7);
    /// assert!(positions.iter().enumerate().all(|(i, &p)| p / 100 == i as u64));
    /// ```
    #[must_use]
    #[inline]
    pub fn sliced(self, digest: Digest, slice_len: u64, k: u32) -> Positions {
        self.positions_of_digest(digest, slice_len, k).in_slices(slice_len)
    }

    #[inline(never)]
    fn positions_of_key(self, hashing: &Hashing, key: &[u8], m: u64, k: u32) -> Positions {
        let k = if m == 0 { 0 } else { k.min(self.family.max_hashes()) };
        let first = k as usize;
        match self.family {
            Family::Independent if !hashing.id().is_keyed() => {
                let mut seeds = SplitMix::new(hashing.seed());
                let hash = || xxhash_rust::xxh3::xxh3_64_with_seed(key, seeds.next_u64());
                std::iter::repeat_with(hash).map(|word| self.reduction.reduce(word, m)).take(first).collect()
            }
            Family::Independent => {
                let digest = hashing.digest(key);
                (0..u64::from(k)).map(|i| self.reduction.reduce(digest.derive(i).h1, m)).collect()
            }
            Family::Universal => {
                let x = UniversalHash::integer(hashing, key);
                UniversalHash::from_seed(hashing.seed())
                    .map(|hash| match self.reduction {
                        // The 61 bits of the value go to the top of the word, where fastrange looks.
                        Reduction::Fastrange | Reduction::Fastrange32 => self.reduction.reduce(hash.value(x) << 3, m),
                        Reduction::Modulo | Reduction::Mask => hash.position(x, m),
                    })
                    .take(first)
                    .collect()
            }
            #[cfg(feature = "replication")]
            Family::Fig2 => super::replication::fig2(key, m).into_iter().flatten().take(first).collect(),
            #[cfg(feature = "replication")]
            Family::SdbmMersenne => super::replication::sdbm_mersenne(key, m, k).collect(),
            #[cfg(feature = "replication")]
            Family::SquidMd5 => super::replication::squid_md5(key, m).into_iter().flatten().take(first).collect(),
            _ => Positions::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Secret;

    fn schemes() -> impl Iterator<Item = Scheme> {
        let families = Family::ALL.into_iter().filter(|family| family.is_available());
        families.flat_map(|family| family.reductions().iter().map(move |&reduction| Scheme { family, reduction }))
    }

    #[test]
    fn positions_follow_from_as_many_bits_of_the_digest_as_are_told() {
        let digest = Hashing::seeded_wide(1).digest(b"rose");
        let other = Digest { h2: !digest.h2, ..digest };
        for scheme in schemes().filter(|scheme| !scheme.family.needs_key()) {
            let m = 1 << 20;
            let same = scheme.positions_of_digest(digest, m, 7) == scheme.positions_of_digest(other, m, 7);
            assert_eq!(same, scheme.digest_bits(HashId::Xxh3Wide) == 64, "{scheme:?}");
            assert!(scheme.digest_bits(HashId::Folded) <= 64, "{scheme:?}");
        }
    }

    fn hashings() -> [Hashing; 3] {
        let secret = Secret::new(&[7; 32]).unwrap();
        [Hashing::seeded(99), Hashing::keyed(secret.clone()), Hashing::keyed_high(secret)]
    }

    #[test]
    fn halving_positions_equals_computing_them_for_half_the_size() {
        for scheme in schemes() {
            let Some(halving) = scheme.halving() else { continue };
            for m in [2_u64, 4, 6, 1000, 1024, 1 << 40, (1 << 60) + 2, 3 << 59] {
                if scheme.check(m, 1).is_err() {
                    continue;
                }
                for hashing in hashings() {
                    for key in 0..40_u64 {
                        let key = key.to_le_bytes();
                        let whole = scheme.positions(&hashing, &key, m, 64);
                        let half = scheme.positions(&hashing, &key, m / 2, 64);
                        assert!(whole.iter().map(|&p| halving.target(p, m)).eq(half.iter().copied()), "{scheme:?} {m}");
                    }
                }
            }
        }
    }

    #[test]
    fn double_hashing_by_remainder_really_cannot_be_halved() {
        // A step of m/2 is fine for m and zero for m/2, where the guard replaces it.
        let scheme = Scheme { family: Family::Double, reduction: Reduction::Modulo };
        let digest = Digest { h1: 0, h2: 500 };
        let folded: Vec<_> = scheme.positions_of_digest(digest, 1000, 3).iter().map(|p| p % 500).collect();
        assert_ne!(folded, *scheme.positions_of_digest(digest, 500, 3));
    }

    #[test]
    fn a_mask_gives_the_positions_of_the_remainder() {
        for family in Family::ALL {
            for key in 0..100_u64 {
                for hashing in hashings() {
                    let at = |reduction| Scheme { family, reduction }.positions(&hashing, &key.to_le_bytes(), 4096, 9);
                    assert_eq!(at(Reduction::Mask), at(Reduction::Modulo));
                }
            }
        }
    }

    #[test]
    fn positions_are_below_m_as_many_as_asked_and_begin_alike() {
        for scheme in schemes() {
            for hashing in hashings() {
                for m in [1, 2, 3, 1000, u64::MAX - 1, u64::MAX] {
                    for key in [&b""[..], b"rose", b"12345678", &[7; 100]] {
                        let most = scheme.positions(&hashing, key, m, u32::MAX);
                        assert_eq!(most.len(), scheme.family.max_hashes() as usize);
                        assert!(most.iter().all(|&p| p < m));
                        for k in 0..5 {
                            let fewer = scheme.positions(&hashing, key, m, k);
                            assert_eq!(*fewer, most[..most.len().min(k as usize)]);
                        }
                    }
                }
                assert!(scheme.positions(&hashing, b"rose", 0, 7).is_empty());
                assert!(scheme.positions(&hashing, b"rose", 1000, 7).in_slices(u64::MAX).is_empty());
            }
        }
    }

    #[test]
    fn slices_hold_one_position_each() {
        for scheme in schemes().filter(|scheme| !scheme.family.needs_key()) {
            let digest = Hashing::seeded(5).digest(b"rose");
            let flat = scheme.positions_of_digest(digest, 97, 9);
            let sliced = scheme.sliced(digest, 97, 9);
            assert!((0..9).all(|i| sliced[i] == 97 * i as u64 + flat[i]));
        }
    }

    #[test]
    fn schemes_refuse_what_they_cannot_do() {
        let refused = |family, reduction, m, k| match (Scheme { family, reduction }).check(m, k) {
            Err(Error::Parameter { name, .. }) => name,
            other => format!("{other:?}"),
        };
        assert_eq!(refused(Family::Triple, Reduction::Modulo, 0, 7), "bits");
        assert_eq!(refused(Family::Triple, Reduction::Modulo, 9, 0), "hashes");
        assert_eq!(refused(Family::Triple, Reduction::Modulo, 9, 65), "hashes");
        assert_eq!(refused(Family::Triple, Reduction::Mask, 9, 7), "bits");
        assert_eq!(refused(Family::Universal, Reduction::Modulo, 1 << 61, 7), "bits");
        assert_eq!(refused(Family::Triple, Reduction::Fastrange32, 1 << 32, 7), "bits");
        if cfg!(feature = "replication") {
            assert_eq!(refused(Family::Fig2, Reduction::Fastrange, 16, 3), "reduction");
            assert_eq!(refused(Family::Fig2, Reduction::Modulo, 16, 4), "hashes");
            assert_eq!(refused(Family::SquidMd5, Reduction::Modulo, 16, 5), "hashes");
        } else {
            assert_eq!(refused(Family::Fig2, Reduction::Modulo, 16, 3), "family");
        }
    }

    #[test]
    fn positions_of_the_format_never_change() {
        let rows = [
            (Family::Independent, Reduction::Modulo, [551_853, 520_051, 918_569, 144_314]),
            (Family::Independent, Reduction::Fastrange, [967_708, 381_680, 413_263, 225_770]),
            (Family::Independent, Reduction::Fastrange32, [967_708, 381_680, 413_263, 225_770]),
            (Family::Double, Reduction::Modulo, [92_943, 720_714, 348_482, 976_253]),
            (Family::Double, Reduction::Fastrange, [532_581, 160_726, 788_874, 417_019]),
            (Family::EnhancedDouble, Reduction::Modulo, [92_943, 720_714, 348_483, 976_257]),
            (Family::EnhancedDouble, Reduction::Fastrange, [532_581, 160_726, 406_907, 889_156]),
            (Family::EnhancedDouble, Reduction::Fastrange32, [532_581, 73_227, 231_909, 626_659]),
            (Family::Triple, Reduction::Modulo, [92_943, 720_714, 283_022, 779_873]),
            (Family::Triple, Reduction::Fastrange, [532_581, 160_726, 391_709, 225_526]),
            (Family::Triple, Reduction::Fastrange32, [532_581, 73_227, 291_281, 186_740]),
            (Family::Universal, Reduction::Modulo, [983_783, 1_235, 308_965, 668_165]),
            (Family::Universal, Reduction::Fastrange, [334_617, 143_360, 603_844, 902_043]),
        ];
        for (family, reduction, expected) in rows {
            let scheme = Scheme { family, reduction };
            assert_eq!(*scheme.positions(&Hashing::seeded_wide(1), b"rose", 1_000_003, 4), expected, "{scheme:?}");
        }
        let narrow = Scheme { reduction: Reduction::Fastrange32, ..Scheme::default() };
        assert_eq!(*narrow.positions(&Hashing::seeded(1), b"rose", 1_000_003, 4), [609_512, 820_867, 650_256, 715_713]);
        let default = Scheme::default().positions(&Hashing::seeded(1), b"rose", 1_000_003, 4);
        assert_eq!(*default, [609_512, 130_322, 269_169, 644_084]);
    }
}
