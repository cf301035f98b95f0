//! Rows of counters: one place of a key in each, by a pairwise independent function of its own.

use crate::error::{Error, Result, same};
use crate::hash::{Digest, MAX_HASHES, UniversalHash, fastrange};
use crate::kind::{Config, Parameter, ParameterType};
use crate::parts::counter_array::Placement;
use crate::theory::{Size, sketch};

/// The layout of count-min sketches and multistage filters: d rows of w counters. Place i of a key is in row i, at
/// floor(((aᵢ x + bᵢ) mod (2⁶¹-1)) w / 2⁶¹) for the first word x of its digest. The pairs (aᵢ, bᵢ) follow from the seed,
/// so that two keys share a counter of a row with probability 1/w, whatever happens in the other rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows {
    kind: &'static str,
    width: u64,
    functions: Box<[UniversalHash]>,
}

pub(crate) const EPS: Parameter = Parameter {
    name: "eps",
    help: "error of a count as a share of all occurrences",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(1e-4) },
};

pub(crate) const DELTA: Parameter = Parameter {
    name: "delta",
    help: "probability that the error is larger",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(1e-3) },
};

pub(crate) const ROWS: Parameter = Parameter {
    name: "rows",
    help: "rows of counters, of which a key has one each; instead of delta",
    of: ParameterType::Count { min: 1, max: MAX_HASHES as u64, default: None },
};

impl Rows {
    /// `rows` rows of `width` counters each.
    pub(crate) fn new(kind: &'static str, Size { bits, hashes }: Size, seed: u64) -> Result<Self> {
        if hashes == 0 || hashes > MAX_HASHES {
            return Err(Error::parameter("rows", format!("1 to {MAX_HASHES}"), hashes));
        }
        let functions = UniversalHash::from_seed(seed).take(hashes as usize).collect();
        Ok(Rows { kind, width: bits / u64::from(hashes), functions })
    }

    /// Counters in all and rows that the settings describe: by `width` (or another name for the counters of a row) and
    /// `rows`, by distinct keys and the share of them that counts too much, or by the error.
    pub(crate) fn size(config: &Config, width: &str, rows: &str) -> Result<Size> {
        let by_error = |config: &Config| {
            let share = |name, default| config.real(name).unwrap_or(default);
            sketch::for_error(share("eps", 1e-4), share("delta", 1e-3))
        };
        let planned = match config.count("items") {
            Some(items) if !config.is_set("eps") && !config.is_set("delta") => {
                sketch::for_keys(items, config.real("fpr").unwrap_or(0.01))?
            }
            _ => by_error(config)?,
        };
        let hashes = config.count(rows).map_or(planned.hashes, |rows| rows as u32).max(1);
        let width = config.count(width).unwrap_or(planned.bits / u64::from(planned.hashes));
        let bits = width.checked_mul(u64::from(hashes)).ok_or_else(|| Error::TooLarge {
            what: "the counters".into(),
            bytes: u128::from(width) * u128::from(hashes),
        })?;
        Ok(Size { bits, hashes })
    }

    /// Counters in a row.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> u32 {
        self.functions.len() as u32
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

    fn domain(&self) -> String {
        format!("{} {} {}", self.kind, self.width, self.rows())
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("counters of a row", self.width, other.width)?;
        same("rows", self.rows(), other.rows())?;
        // The functions follow from the seed.
        if self.functions == other.functions {
            return Ok(());
        }
        same("hash functions", self.functions.first(), other.functions.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hashing;

    #[test]
    fn keys_meet_in_a_row_as_often_as_random_ones_and_rows_are_independent() {
        let rows = Rows::new("test", Size { bits: 4 * 50, hashes: 4 }, 7).unwrap();
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
