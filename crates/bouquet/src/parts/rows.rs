//! Rows of counters: one place of a key in each, by a pairwise independent function of its own.

use crate::error::{Error, Result};
use crate::hash::{Digest, MAX_HASHES, UniversalHash, fastrange};
use crate::kind::{Parameter, common};
use crate::parts::counter_array::Placement;
use crate::theory::{Size, sketch};

/// The layout of count-min sketches and multistage filters: d rows of w counters. Place i of a key is in row i, at
/// floor(((aᵢ x + bᵢ) mod (2⁶¹-1)) w / 2⁶¹) for the first word x of its digest. The pairs (aᵢ, bᵢ) follow from the seed,
/// so that two keys share a counter of a row with probability 1/w, whatever happens in the other rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows {
    width: u64,
    functions: Box<[UniversalHash]>,
}

pub(crate) const EPS: Parameter =
    Parameter::real("eps", "error of a count as a share of all occurrences", 0.0, 1.0).or_real(1e-4);
pub(crate) const DELTA: Parameter =
    Parameter::real("delta", "probability that the error is larger", 0.0, 1.0).or_real(1e-3);

/// The settings from which the size of rows follows, as far as they were given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowSizes {
    pub(crate) items: Option<u64>,
    pub(crate) fpr: Option<f64>,
    pub(crate) eps: Option<f64>,
    pub(crate) delta: Option<f64>,
    pub(crate) width: Option<u64>,
    pub(crate) rows: Option<u32>,
}

impl RowSizes {
    /// The width of a row and the number of rows, for counters of this many bits: as given, by distinct keys and the share of
    /// them that counts too much, or by the error.
    pub(crate) fn resolve(self, counter_bits: u32) -> Result<(u64, u32)> {
        let (width, rows) = match (self.width, self.rows) {
            (Some(width), Some(rows)) => (width, rows),
            (width, rows) => {
                let planned = self.planned()?;
                let of_row = planned.bits / u64::from(planned.hashes);
                (width.unwrap_or(of_row), rows.unwrap_or(planned.hashes).max(1))
            }
        };
        let bits = u128::from(width) * u128::from(rows) * u128::from(counter_bits);
        match u64::try_from(bits) {
            Ok(_) => Ok((width, rows)),
            Err(_) => Err(Error::TooLarge { what: "the counters".into(), bytes: bits / 8 }),
        }
    }

    fn planned(self) -> Result<Size> {
        Ok(match (self.items, self.eps, self.delta) {
            (Some(items), None, None) => sketch::for_keys(items, common::FPR.need(self.fpr)?)?,
            (_, eps, delta) => sketch::for_error(EPS.need(eps)?, DELTA.need(delta)?)?,
        })
    }
}

impl Rows {
    /// `rows` rows of `width` counters each.
    pub(crate) fn new(width: u64, rows: u32, seed: u64) -> Result<Self> {
        if rows == 0 || rows > MAX_HASHES {
            return Err(Error::parameter("rows", format!("1 to {MAX_HASHES}"), rows));
        }
        Ok(Rows { width, functions: UniversalHash::from_seed(seed).take(rows as usize).collect() })
    }

    /// Counters in a row.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> u32 {
        self.functions.len() as u32
    }

    /// Counters in all rows.
    pub(crate) fn counters(&self) -> u64 {
        self.width * u64::from(self.rows())
    }
}

impl Placement for Rows {
    #[inline]
    fn of(&self, digest: Digest) -> impl Iterator<Item = u64> + Clone {
        let mut begin = 0;
        self.functions.iter().map(move |function| {
            // The 61 bits of the value go to the top of the word, where fastrange looks.
            let place = begin + fastrange(function.value(digest.h1) << 3, self.width);
            begin += self.width;
            place
        })
    }

    #[inline]
    fn are_apart(&self, _: Digest) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hashing;

    #[test]
    fn keys_meet_in_a_row_as_often_as_random_ones_and_rows_are_independent() {
        let rows = Rows::new(50, 4, 7).unwrap();
        let keys = 2_000u64;
        let hashing = Hashing::seeded(3);
        let places: Vec<Vec<u64>> =
            (0..keys).map(|key| rows.of(hashing.digest(&key.to_le_bytes())).collect()).collect();
        assert!(places.iter().all(|own| own.iter().enumerate().all(|(i, place)| place / 50 == i as u64)));
        let pairs = (keys * (keys - 1) / 2) as f64;
        for (i, j) in [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (1, 3)] {
            let met = |a: &[u64], b: &[u64]| a[i] == b[i] && a[j] == b[j];
            let both: usize =
                (0..places.len()).map(|a| places[..a].iter().filter(|other| met(&places[a], other)).count()).sum();
            let expected = if i == j { pairs / 50.0 } else { pairs / 2500.0 };
            assert!((both as f64 - expected).abs() < 5.0 * (2.0 * expected).sqrt(), "{i} {j}: {both} {expected}");
        }
    }
}
