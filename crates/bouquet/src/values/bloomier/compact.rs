//! Mode `compact`: buckets of about 1,000 keys, each an XOR system that is solved rather than peeled.
//!
//! Four cells per key can be solved up to 0.977 keys per cell but peeled only up to 0.772. Elimination costs the cube
//! of its size, so keys are split into buckets, and a bucket that is singular is tried again alone.

use super::table::place;
use super::{Pair, Shape, TRIES, bits_for, decode_seed, no_seed_helps};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, fastrange};
use crate::parts::peel::Hypergraph;
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::peeling::compact_cells;

/// Cells per key.
pub(super) const K: usize = 4;

/// Keys in a bucket, on average.
const BUCKET_KEYS: u64 = 1_000;

/// Bits of a bucket's seed.
const SEED_BITS: u32 = 7;

fn buckets_for(keys: u64) -> u64 {
    keys.div_ceil(BUCKET_KEYS)
}

/// The cells of a bucket of this many keys, in whole slices.
fn bucket_cells(keys: usize) -> Result<u64> {
    Ok(compact_cells(keys as u64)?.next_multiple_of(K as u64))
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compact {
    /// The first cell of each bucket, and the number of all cells.
    starts: Counters,
    seeds: Counters,
    cells: Counters,
}

impl Compact {
    /// The expected size with this many keys.
    pub(super) fn planned_bits(keys: u64, width: u32) -> u64 {
        if keys == 0 {
            return 1;
        }
        let buckets = buckets_for(keys);
        // The mean bucket has no whole number of keys; rounding up to a slice adds 1.5 cells on average, and rounding
        // to a cell a half.
        let cells = (keys as f64 * 1.05 + buckets as f64 * 6.0).ceil() as u64;
        let headers = (buckets + 1) * u64::from(bits_for(cells)) + buckets * u64::from(SEED_BITS);
        cells.saturating_mul(width.into()).saturating_add(headers)
    }

    pub(super) fn build(shape: &Shape, pairs: &[Pair]) -> Result<Self> {
        let buckets = buckets_for(pairs.len() as u64);
        // The pairs are sorted by digest, and the bucket is a monotone function of it.
        let mut rest = pairs;
        let groups: Vec<&[Pair]> = (0..buckets)
            .map(|bucket| {
                let (group, behind) =
                    rest.split_at(rest.partition_point(|pair| bucket_of(pair.digest, buckets) <= bucket));
                rest = behind;
                group
            })
            .collect();
        let sizes = groups.iter().map(|group| bucket_cells(group.len())).collect::<Result<Vec<_>>>()?;
        let total = sizes.iter().sum();
        let mut built = Compact {
            starts: Counters::zeroed(buckets + 1, bits_for(total))?,
            seeds: Counters::zeroed(buckets, SEED_BITS)?,
            cells: Counters::zeroed(total, shape.width)?,
        };
        let mut start = 0;
        for ((bucket, group), cells) in (0..).zip(groups).zip(sizes) {
            let (seed, values) = solve(group, cells, built.cells.max())?;
            built.starts.set(bucket, start);
            built.seeds.set(bucket, seed);
            for (cell, value) in (start..).zip(values) {
                built.cells.set(cell, value);
            }
            start += cells;
        }
        built.starts.set(buckets, total);
        Ok(built)
    }

    /// The key's cells and mask.
    #[inline]
    fn place(&self, digest: Digest) -> ([u64; K], u64) {
        let bucket = bucket_of(digest, self.seeds.len());
        let start = self.starts.get(bucket);
        let slice_len = (self.starts.get(bucket + 1) - start) / K as u64;
        let (cells, mask) = place::<K>(digest, self.seeds.get(bucket), slice_len);
        (cells.map(|cell| start + cell), mask & self.cells.max())
    }

    #[inline]
    pub(super) fn get(&self, digest: Digest) -> u64 {
        let (cells, mask) = self.place(digest);
        cells.iter().fold(mask, |sum, &cell| sum ^ self.cells.get(cell))
    }

    pub(super) fn prefetch(&self, digest: Digest) {
        for cell in self.place(digest).0 {
            prefetch(self.cells.words(), (cell * u64::from(self.cells.width()) / 64) as usize);
        }
    }

    pub(super) fn bits(&self) -> u64 {
        self.starts.bits() + self.seeds.bits() + self.cells.bits()
    }

    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.cells.len());
        for store in [&self.starts, &self.seeds, &self.cells] {
            encoder.words(store.words());
        }
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>, shape: &Shape, items: u64) -> Result<Self> {
        let buckets = buckets_for(items);
        let total = decoder.state().u64()?;
        let starts = decoder.cells(buckets + 1, bits_for(total))?;
        let seeds = decoder.cells(buckets, SEED_BITS)?;
        let cells = decoder.cells(total, shape.width)?;
        // A lookup relies on buckets that follow each other, each with a cell per slice.
        let least = bucket_cells(0)?;
        let follows = |b| starts.get(b + 1).checked_sub(starts.get(b)).is_some_and(|len| len >= least && len % 4 == 0);
        if starts.get(0) != 0 || starts.get(buckets) != total || !(0..buckets).all(follows) {
            return Err(Error::corrupt("starts of the buckets", "ascending to the end", "something else"));
        }
        seeds.iter().try_for_each(|seed| decode_seed(seed).map(|_| ()))?;
        Ok(Compact { starts, seeds, cells })
    }
}

#[inline]
fn bucket_of(digest: Digest, buckets: u64) -> u64 {
    fastrange(digest.h1, buckets)
}

/// The seed of a bucket and the values of its cells.
fn solve(group: &[Pair], cells: u64, mask: u64) -> Result<(u64, Vec<u64>)> {
    for seed in 0..TRIES {
        let mut places = Vec::with_capacity(group.len() * K);
        let mut sums = Vec::with_capacity(group.len());
        for pair in group {
            let (own, word) = place::<K>(pair.digest, seed, cells / K as u64);
            places.extend(own.map(|cell| cell as u32));
            sums.push(pair.value ^ word & mask);
        }
        if let Some(values) = Hypergraph::new(&places, K, cells as usize)?.solve_xor(&sums)? {
            return Ok((seed, values));
        }
    }
    Err(no_seed_helps(group.len(), cells))
}
