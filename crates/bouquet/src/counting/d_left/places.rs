//! Where a fingerprint belongs: a bucket and a remainder in each subtable, by one bijection each.

use super::DLeftTable;
use super::settings::{Design, MAX_SUBTABLES};
use crate::hash::{Digest, fastrange};
use crate::store::field_max;

/// A bucket and the remainder there, for each subtable.
pub(super) type Places = [(u64, u64); MAX_SUBTABLES];

impl DLeftTable {
    #[inline]
    pub(super) fn fingerprint(&self, digest: Digest) -> u64 {
        fastrange(digest.h1, self.design.fingerprints)
    }

    /// The places of a digest. The quotient of a_i f by N is the high half of a_i h, or that less one: h / 2^64 is f / N and
    /// less than 1/N more, and a_i is below N. So no division is needed.
    #[inline]
    pub(super) fn places(&self, digest: Digest) -> Places {
        let (n, f) = (self.design.fingerprints, self.fingerprint(digest));
        self.places_by(|factor| {
            let product = factor.wrapping_mul(f).wrapping_sub(fastrange(digest.h1, factor).wrapping_mul(n));
            // Below zero it has wrapped around, and N is far from there.
            if product >= n { product.wrapping_add(n) } else { product }
        })
    }

    /// The places of a fingerprint whose digest is not at hand.
    pub(super) fn places_of(&self, fingerprint: u64) -> Places {
        let n = u128::from(self.design.fingerprints);
        self.places_by(|factor| (u128::from(factor) * u128::from(fingerprint) % n) as u64)
    }

    #[inline]
    pub(super) fn places_by(&self, multiply: impl Fn(u64) -> u64) -> Places {
        let Design { buckets, subtables, remainder, fingerprints, .. } = self.design;
        let mut places = [(0, 0); MAX_SUBTABLES];
        let mut begin = 0;
        for (place, permutation) in places.iter_mut().zip(&self.permutations).take(subtables) {
            let sum = multiply(permutation.factor) + permutation.summand;
            let value = if sum >= fingerprints { sum - fingerprints } else { sum };
            *place = (begin + (value >> remainder), value & field_max(remainder));
            begin += buckets;
        }
        places
    }

    #[inline]
    pub(super) fn used_places<'a>(&self, places: &'a Places) -> &'a [(u64, u64)] {
        &places[..self.design.subtables.min(MAX_SUBTABLES)]
    }
}
