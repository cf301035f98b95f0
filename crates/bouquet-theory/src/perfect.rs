//! Static sets in tables that are solved once: binary fuse filters, and minimal perfect hashes with fingerprints.
//!
//! Each key has three cells of a table. If the cells can be peeled, they can be given contents whose sum over a key's cells is
//! whatever is wanted of it: its fingerprint (a fuse filter), or which of the three is its own (a perfect hash, whose keys then
//! have fingerprints in a table of exactly n). Any other key finds a wrong sum, but with probability 2^-j.
//!
//! Source: F. Botelho, R. Pagh, N. Ziviani, *Simple and space-efficient minimal perfect hash functions*, 2007; T. M. Graf, D. Lemire,
//! *Binary fuse filters*, 2022.

use super::peeling::bloomier_cells;
use crate::{Error, Result};

/// The cells of a binary fuse filter: overlapping windows of three segments.
///
/// ```
/// let shape = bouquet_theory::perfect::fuse(1_000_000)?;
/// assert_eq!((shape.segment, shape.windows), (1 << 13, 136));
/// assert!((shape.cells() as f64 / 1e6 - 1.13).abs() < 0.005);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fuse {
    /// Cells of a segment, a power of two.
    pub segment: u64,
    /// Segments that a window can begin with; a key has a cell in the first, second and third of its window.
    pub windows: u64,
}

impl Fuse {
    /// All cells.
    ///
    /// ```
    /// assert_eq!(bouquet_theory::perfect::Fuse { segment: 4, windows: 3 }.cells(), 20);
    /// ```
    pub fn cells(&self) -> u64 {
        self.segment.saturating_mul(self.windows.saturating_add(2))
    }

    /// The same cells in segments of half the length, with which some sets of keys can be peeled that cannot otherwise; `None` for
    /// segments of a single cell.
    ///
    /// ```
    /// use bouquet_theory::perfect::Fuse;
    /// let half = Fuse { segment: 8, windows: 3 }.halved().expect("it can be halved");
    /// assert_eq!((half, half.cells()), (Fuse { segment: 4, windows: 8 }, 40));
    /// ```
    pub fn halved(&self) -> Option<Self> {
        let segment = Some(self.segment / 2).filter(|&segment| segment > 0)?;
        Some(Fuse { segment, windows: self.windows.saturating_mul(2).saturating_add(2) })
    }
}

/// The shape for n keys: segments of 2^floor(ln n / ln 3.33 + 2.25) cells, at most 2^18, and at least
/// max(1.125, 0.875 + 0.25 ln 10^6 / ln n) cells per key. For no keys there are none.
///
/// ```
/// use bouquet_theory::perfect::fuse;
/// assert_eq!(fuse(0)?.windows, 0);
/// assert!(fuse(1 << 40).is_err(), "beyond numbers of 32 bits");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::TooLarge` for 2^30 keys and more, whose cells no longer have numbers of 32 bits for all keys.
pub fn fuse(n: u64) -> Result<Fuse> {
    if n >= 1 << 30 {
        return Err(Error::TooLarge { what: "the table".into(), bytes: u128::from(n) });
    }
    if n == 0 {
        return Ok(Fuse { segment: 1, windows: 0 });
    }
    let size = (n.max(2) as f64).ln();
    let segment = 1u64 << ((size / 3.33f64.ln() + 2.25) as u32).min(18);
    let capacity = (n as f64 * (0.875 + 0.25 * 1e6f64.ln() / size).max(1.125)).round() as u64;
    Ok(Fuse { segment, windows: capacity.div_ceil(segment).saturating_sub(2).max(1) })
}

/// Bits per key of a fuse filter with cells of j bits: 1.125 j and what rounding to segments adds. Infinite for no keys and those
/// that are too many.
///
/// ```
/// let bits = bouquet_theory::perfect::fuse_bits_per_key(10_000_000, 8);
/// assert!((9.0..9.1).contains(&bits));
/// ```
pub fn fuse_bits_per_key(n: u64, width: u32) -> f64 {
    fuse(n).map_or(f64::INFINITY, |shape| per_key(shape.cells() as f64 * f64::from(width), n))
}

/// Vertices that share an entry of the rank index.
///
/// ```
/// assert_eq!(bouquet_theory::perfect::RANKED, 512);
/// ```
pub const RANKED: u64 = 512;

/// Bits of a minimal perfect hash of n keys: three ranges of ceil((1.23 n + 32)/3) vertices of two bits, and a rank every
/// [`RANKED`] of them. 0 for no keys, infinite for those that are too many.
///
/// ```
/// let bits = bouquet_theory::perfect::minimal_bits(100_000) / 1e5;
/// assert!((2.46..2.6).contains(&bits), "{bits}");
/// ```
pub fn minimal_bits(n: u64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    bloomier_cells(n).map_or(f64::INFINITY, |cells| {
        let vertices = cells.next_multiple_of(3);
        let rank = u64::BITS - n.leading_zeros();
        2.0 * vertices as f64 + vertices.div_ceil(RANKED) as f64 * f64::from(rank)
    })
}

/// Bits per key of a minimal perfect hash with fingerprints of j bits. Infinite for no keys.
///
/// ```
/// let bits = bouquet_theory::perfect::minimal_bits_per_key(100_000, 10);
/// assert!(bits < 13.0, "{bits}; a Bloom filter of the same rate has 14.43");
/// ```
pub fn minimal_bits_per_key(n: u64, width: u32) -> f64 {
    per_key(minimal_bits(n) + n as f64 * f64::from(width), n)
}

fn per_key(bits: f64, n: u64) -> f64 {
    if n == 0 { f64::INFINITY } else { bits / n as f64 }
}

/// The rate below which a table of n keys with `overhead` bits per key beside its fingerprints is smaller than a Bloom filter:
/// 2^(-overhead / (log2 e - 1)).
///
/// ```
/// let rate = bouquet_theory::perfect::break_even(2.6);
/// assert!((rate - 0.017).abs() < 5e-4);
/// ```
pub fn break_even(overhead: f64) -> f64 {
    (-super::special::amount(overhead) / (std::f64::consts::LOG2_E - 1.0)).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_those_of_the_published_filter() {
        // Cells of the crate `xorf`, version 0.13.
        for (n, segment, cells) in
            [(10, 16, 48), (1_000, 128, 1_408), (100_000, 1 << 11, 58 << 11), (10_000_000, 1 << 15, 344 << 15)]
        {
            let shape = fuse(n).unwrap();
            assert_eq!((shape.segment, shape.cells()), (segment, cells), "{n}");
        }
    }

    #[test]
    fn cells_hold_their_keys() {
        for n in (1..5_000).chain([99_999, 1 << 20, (1 << 30) - 1]) {
            let cells = fuse(n).unwrap().cells();
            assert!(cells >= n && cells < u64::from(u32::MAX), "{n} keys, {cells} cells");
        }
    }
}
