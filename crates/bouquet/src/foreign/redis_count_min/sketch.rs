//! `CMS.*`: a count-min sketch.

use super::super::reader::{Reader, expect, within, zeroed};
use super::super::redis_bloom::chain::rehouse;
use super::super::rows::RowHash;
use crate::error::{Error, Result};

/// A count-min sketch as RedisBloom has it: `depth` rows of `width` counters of 32 bits; row i hashes with
/// MurmurHash2(key, i) modulo the width.
///
/// ```
/// use bouquet::foreign::RedisCountMinSketch;
/// let mut visits = RedisCountMinSketch::new(2_000, 5, u64::MAX)?;
/// assert_eq!(visits.add(b"rose", 3), 3);
/// assert_eq!((visits.count(b"rose"), visits.count(b"thistle"), visits.total()), (3, 0, 3));
/// assert_eq!(RedisCountMinSketch::from_dump(&visits.dump(), u64::MAX)?, visits);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RedisCountMinSketch {
    width: u64,
    depth: u64,
    total: u64,
    cells: Vec<u32>,
}

impl RedisCountMinSketch {
    /// An empty sketch of at most `most_bytes` bytes.
    pub fn new(width: u64, depth: u64, most_bytes: u64) -> Result<Self> {
        let cells = Self::cells(width, depth, most_bytes)?;
        Ok(RedisCountMinSketch { width, depth, total: 0, cells: zeroed(cells)? })
    }

    fn cells(width: u64, depth: u64, most_bytes: u64) -> Result<u64> {
        expect(
            width > 0 && depth > 0,
            "the sketch",
            "a width and a depth of at least 1",
            format!("{width} x {depth}"),
        )?;
        // A hash of 32 bits reaches no further, and rows are seeded by 32-bit numbers.
        expect(depth <= u32::MAX.into(), "the depth", "below 2^32", depth)?;
        let cells = width.checked_mul(depth);
        within(cells.and_then(|cells| cells.checked_mul(4)), most_bytes)?;
        Ok(cells.unwrap_or(0))
    }

    /// Width and depth for an over-count of at most `error` times the total, exceeded with this probability: 2 / `error`, and
    /// log2(1 / `probability`) in single precision, as RedisBloom computes it.
    ///
    /// ```
    /// use bouquet::foreign::RedisCountMinSketch;
    /// assert_eq!(RedisCountMinSketch::size_for(0.001, 0.01), (2_000, 7));
    /// ```
    #[must_use]
    pub fn size_for(error: f64, probability: f64) -> (u64, u64) {
        let depth = ((probability as f32).log10() / 0.5f32.log10()).ceil();
        ((2.0 / error).ceil() as u64, depth as u64)
    }

    /// Counters per row.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Rows.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// The sum of everything that was added.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.cells.len() as u64 * 4
    }

    #[inline]
    fn places<'a>(&self, key: RowHash<'a>) -> impl Iterator<Item = usize> + use<'a> {
        let (width, depth) = (self.width, self.depth);
        (0..depth).map(move |row| (u64::from(key.at(row as u32)) % width + row * width) as usize)
    }

    /// Adds to a key's counters and gives its count; `u32::MAX` if a counter has overflowed.
    #[inline]
    pub fn add(&mut self, key: &[u8], amount: u64) -> u32 {
        self.put(RowHash::Native(key), amount)
    }

    #[inline]
    pub(super) fn put(&mut self, key: RowHash<'_>, amount: u64) -> u32 {
        let mut least = u32::MAX;
        for place in self.places(key) {
            let cell = &mut self.cells[place];
            let sum = cell.wrapping_add(amount as u32);
            *cell = if u64::from(sum) < amount { u32::MAX } else { sum };
            least = least.min(*cell);
        }
        self.total = self.total.wrapping_add(amount);
        least
    }

    /// A key's count, never less than the truth unless a counter has overflowed.
    #[must_use]
    #[inline]
    pub fn count(&self, key: &[u8]) -> u32 {
        self.least(RowHash::Native(key))
    }

    #[inline]
    pub(super) fn least(&self, key: RowHash<'_>) -> u32 {
        self.places(key).map(|place| self.cells[place]).min().unwrap_or(0)
    }

    /// Adds the counters of a sketch of the same size; those that overflow stay at their end.
    pub(super) fn add_all(&mut self, other: &Self) {
        for (cell, more) in self.cells.iter_mut().zip(&other.cells) {
            *cell = cell.saturating_add(*more);
        }
        self.total = self.total.saturating_add(other.total);
    }

    /// Takes away the counters of a sketch of the same size, but for those at their end, whose number is not known; `false` and no
    /// change if a counter holds less.
    pub(super) fn take_all(&mut self, other: &Self) -> bool {
        if self.cells.iter().zip(&other.cells).any(|(cell, less)| cell < less) {
            return false;
        }
        for (cell, less) in self.cells.iter_mut().zip(&other.cells).filter(|(cell, _)| **cell != u32::MAX) {
            *cell -= less;
        }
        self.total = self.total.saturating_sub(other.total);
        true
    }

    /// The share of the counters that are not zero.
    pub(super) fn fill(&self) -> f64 {
        self.cells.iter().filter(|cell| **cell > 0).count() as f64 / self.cells.len().max(1) as f64
    }

    /// The weighted sum of sketches of one size; `None` if a counter or the total would be negative or overflow.
    pub fn weighted(sources: &[(&RedisCountMinSketch, i64)]) -> Result<Option<Self>> {
        let Some((first, _)) = sources.first() else {
            return Err(Error::parameter("sources", "at least one sketch", "none"));
        };
        let (width, depth) = (first.width, first.depth);
        for (source, _) in sources {
            crate::error::same("width and depth", (width, depth), (source.width, source.depth))?;
        }
        let sum = |of: &dyn Fn(&RedisCountMinSketch) -> i128| {
            let within_i64 = |sum: i128| i64::try_from(sum).ok();
            sources.iter().try_fold(0i64, |sum, (source, weight)| {
                let product = within_i64(of(source).checked_mul(i128::from(*weight))?)?;
                sum.checked_add(product)
            })
        };
        let mut result = Self::new(width, depth, u64::MAX)?;
        for (at, cell) in result.cells.iter_mut().enumerate() {
            let Some(count) = sum(&|source| source.cells[at].into()).and_then(|sum| u32::try_from(sum).ok()) else {
                return Ok(None);
            };
            *cell = count;
        }
        // RedisBloom's totals are signed.
        let total = sum(&|source| (source.total as i64).into()).and_then(|sum| u64::try_from(sum).ok());
        Ok(total.map(|total| RedisCountMinSketch { total, ..result }))
    }

    /// The counters, row by row, as little-endian bytes.
    #[must_use]
    pub fn cell_bytes(&self) -> Vec<u8> {
        self.cells.iter().flat_map(|cell| cell.to_le_bytes()).collect()
    }

    /// The sketch of what a snapshot holds.
    pub fn from_parts(width: u64, depth: u64, total: u64, cells: &[u8]) -> Result<Self> {
        let count = Self::cells(width, depth, cells.len() as u64)?;
        expect(count * 4 == cells.len() as u64, "the bytes of the counters", "4 for each", cells.len())?;
        let cells = cells.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        Ok(RedisCountMinSketch { width, depth, total, cells })
    }

    /// Gives the counters away and takes them back, the same at another place: for programs that move memory.
    pub fn rehouse(&mut self, mut house: impl FnMut(Vec<u32>) -> Vec<u32>) {
        rehouse(&mut self.cells, &mut house);
    }

    /// Width, depth, total and counters in one.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let mut out: Vec<u8> = [self.width, self.depth, self.total].iter().flat_map(|n| n.to_le_bytes()).collect();
        out.extend(self.cell_bytes());
        out
    }

    /// Reads a [dump](Self::dump) of at most `most_bytes` bytes.
    pub fn from_dump(bytes: &[u8], most_bytes: u64) -> Result<Self> {
        within(Some(bytes.len() as u64), most_bytes)?;
        let mut reader = Reader(bytes);
        let [width, depth, total] = [reader.u64()?, reader.u64()?, reader.u64()?];
        Self::from_parts(width, depth, total, reader.0)
    }
}
