//! A table of cells in which every key has three, in neighbouring segments, whose sum is what is stored for it: a binary fuse
//! filter, when that is a fingerprint.
//!
//! Windows of three segments slide over the table. The word of a key chooses a cell of its first segment, and with it the window,
//! and one cell in each of the next two. Keys in the order of their words touch the table from one end to the other, which is why
//! building is fast, and the ends, where windows overlap less, are where peeling begins.

use std::ops::ControlFlow;

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, fastrange};
use crate::parts::peel::{Cells, peel_cells};
use crate::simd::prefetch;
use crate::store::{Counters, read_window};
use crate::theory::perfect;

/// The width of cells that are read fastest.
pub(crate) const BYTE: u32 = 8;

/// Cells per key.
pub(crate) const CELLS: usize = 3;

/// Seeds that are tried before a build is given up: one in a few fails at the worst numbers of keys.
const TRIES: u64 = 256;

/// Sets above this size are peeled at the first try nearly always; smaller ones also in segments of half the length.
const HALVED_BELOW: u64 = 1_000_000;

/// A key to be stored: its word, and what its cells shall add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    word: u64,
    content: u64,
}

impl Entry {
    #[inline]
    fn plus(self, other: Self) -> Self {
        Entry { word: self.word ^ other.word, content: self.content ^ other.content }
    }
}

/// Where keys lie under one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Layout {
    /// Cells that a window can begin with.
    starts: u64,
    segment: u64,
    seed: u64,
}

impl Layout {
    fn new(shape: perfect::Fuse, keys: u64, seed: u64) -> Self {
        let half = shape.halved().filter(|_| seed % 2 == 1 && (5..HALVED_BELOW).contains(&keys));
        let perfect::Fuse { segment, windows } = half.unwrap_or(shape);
        Layout { starts: segment * windows, segment, seed }
    }

    /// The word of a digest: its first half, to which further seeds add the second. What is stored of a key is to follow from the
    /// second alone, so that it has nothing to do with its cells.
    #[inline(always)]
    fn word(&self, digest: Digest) -> u64 {
        digest.h1.wrapping_add(self.seed.wrapping_mul(digest.h2))
    }

    /// The three cells of a word.
    #[inline(always)]
    fn cells(&self, word: u64) -> [u64; CELLS] {
        let mask = self.segment - 1;
        let first = ((u128::from(word) * u128::from(self.starts)) >> 64) as u64;
        [first, (first + self.segment) ^ (word >> 18 & mask), (first + 2 * self.segment) ^ (word & mask)]
    }
}

/// A cell while the table is built: the sums of what its keys are, and their number.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    sum: Entry,
    keys: u32,
}

/// The cells of all keys, to be peeled.
struct Slots {
    layout: Layout,
    slots: Vec<Slot>,
}

impl Slots {
    fn new(layout: Layout, cells: u64, entries: &[Entry]) -> Self {
        let mut table = Slots { layout, slots: vec![Slot::default(); cells as usize] };
        for entry in entries {
            for cell in layout.cells(entry.word) {
                let slot = &mut table.slots[cell as usize];
                slot.sum = slot.sum.plus(*entry);
                slot.keys += 1;
            }
        }
        table
    }
}

impl Cells for Slots {
    type Item = Entry;

    fn cell_count(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn sole_item(&self, cell: usize) -> Option<Entry> {
        let slot = &self.slots[cell];
        (slot.keys == 1).then_some(slot.sum)
    }

    #[inline]
    fn take(&mut self, entry: &Entry, touched: &mut Vec<usize>) {
        let cells = self.layout.cells(entry.word).map(|cell| cell as usize);
        for cell in cells {
            let slot = &mut self.slots[cell];
            slot.sum = slot.sum.plus(*entry);
            slot.keys -= 1;
        }
        touched.extend(cells);
    }
}

/// The table of a set of keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FuseTable {
    layout: Layout,
    cells: Counters,
}

impl FuseTable {
    /// The table of `keys` keys: `record` gives the digest and the content of each, in `width` bits. `None` if two keys seem to have
    /// one digest, unless they are known to be `distinct`, or if no seed helps.
    pub(crate) fn build(
        keys: usize,
        width: u32,
        distinct: bool,
        record: impl Fn(usize) -> (Digest, u64),
    ) -> Result<Option<Self>> {
        let shape = perfect::fuse(keys as u64)?;
        let mut cells = Counters::zeroed(shape.cells(), width)?;
        let mut entries = vec![Entry::default(); keys];
        let mut order: Vec<(Entry, u32)> = Vec::with_capacity(keys);
        for seed in 0..if keys == 0 { 1 } else { TRIES } {
            let layout = Layout::new(shape, keys as u64, seed);
            scatter(&mut entries, |key| {
                let (digest, content) = record(key);
                Entry { word: layout.word(digest), content }
            });
            let mut slots = Slots::new(layout, shape.cells(), &entries);
            order.clear();
            // A key comes out once, so that neither the limit nor a break is reached.
            let _ = peel_cells(&mut slots, keys, |entry, own| {
                order.push((entry, own as u32));
                ControlFlow::Continue(())
            });
            if order.len() < keys {
                // Equal digests have equal words under every seed.
                if !distinct && has_equal_words(&entries) {
                    return Ok(None);
                }
                continue;
            }
            for &(entry, own) in order.iter().rev() {
                // The own cell is still zero, so all three may be summed.
                let sum = layout.cells(entry.word).iter().fold(0, |sum, &cell| sum ^ cells.get(cell));
                cells.set(own.into(), entry.content ^ sum);
            }
            return Ok(Some(FuseTable { layout, cells }));
        }
        Ok(None)
    }

    /// Whether the sum of a key's cells is this content, of which as many bits count as a cell has.
    #[inline(always)]
    pub(crate) fn holds(&self, digest: Digest, content: u64) -> bool {
        (self.read(digest) ^ content) & self.cells.max() == 0
    }

    /// The same where cells are [bytes](BYTE).
    #[inline(always)]
    pub(crate) fn holds_byte(&self, digest: Digest, content: u64) -> bool {
        let cells = self.layout.cells(self.layout.word(digest));
        (sum::<8>(self.cells.words(), cells) ^ content) as u8 == 0
    }

    /// The sum of a key's cells.
    #[inline(always)]
    pub(crate) fn read(&self, digest: Digest) -> u64 {
        let cells = self.layout.cells(self.layout.word(digest));
        let words = self.cells.words();
        match self.cells.width() {
            8 => sum::<8>(words, cells),
            16 => sum::<16>(words, cells),
            width => {
                let window = |cell: u64| read_window(words, cell * u64::from(width));
                cells.iter().fold(0, |sum, &cell| sum ^ window(cell)) & self.cells.max()
            }
        }
    }

    /// Prefetches a key's cells.
    #[inline]
    pub(crate) fn prefetch(&self, digest: Digest) {
        for cell in self.layout.cells(self.layout.word(digest)) {
            prefetch(self.cells.words(), (cell * u64::from(self.cells.width()) / 64) as usize);
        }
    }

    pub(crate) fn bits(&self) -> u64 {
        self.cells.bits()
    }

    /// State: the seed. Store: the cells, as words.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u8(self.layout.seed as u8);
        encoder.words(self.cells.words());
    }

    /// Reads the table of this many keys.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, keys: u64, width: u32) -> Result<Self> {
        let seed = u64::from(decoder.state().u8()?);
        let shape = perfect::fuse(keys).map_err(|_| Error::corrupt("keys", "below 2^30", keys))?;
        let cells = decoder.cells(shape.cells(), width)?;
        Ok(FuseTable { layout: Layout::new(shape, keys, seed), cells })
    }
}

/// The sum of cells of a width that divides a word.
#[inline(always)]
fn sum<const WIDTH: u64>(words: &[u64], cells: [u64; CELLS]) -> u64 {
    let read = |cell: u64| {
        let word = words.get((cell * WIDTH / 64) as usize).copied().unwrap_or(0);
        word >> (cell * WIDTH % 64)
    };
    cells.iter().fold(0, |sum, &cell| sum ^ read(cell)) & ((1 << WIDTH) - 1)
}

/// Fills `entries` with those of the keys, in runs by the upper bits of their words: then they touch neighbouring cells.
fn scatter(entries: &mut [Entry], entry: impl Fn(usize) -> Entry) {
    /// Keys of a run, on average: their cells stay in the cache.
    const RUN: usize = 256;
    let runs = entries.len() / RUN + 1;
    let run = |word: u64| fastrange(word, runs as u64) as usize;
    let mut places = vec![0u32; runs + 1];
    (0..entries.len()).for_each(|key| places[run(entry(key).word) + 1] += 1);
    (0..runs).for_each(|run| places[run + 1] += places[run]);
    for key in 0..entries.len() {
        let entry = entry(key);
        let place = &mut places[run(entry.word)];
        entries[*place as usize] = entry;
        *place += 1;
    }
}

fn has_equal_words(entries: &[Entry]) -> bool {
    let mut words: Vec<u64> = entries.iter().map(|entry| entry.word).collect();
    words.sort_unstable();
    words.windows(2).any(|two| two[0] == two[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hashing;

    #[test]
    fn every_number_of_keys_is_built_and_read_back() {
        for keys in (0..300).chain([1_000, 4_000, 30_000]) {
            for (width, seed) in [(1, 1), (8, 2), (13, 3), (16, 4), (64, 5)] {
                let hashing = Hashing::seeded(seed);
                let content = |key: usize| (key as u64).wrapping_mul(0x9E37_79B9) & (u64::MAX >> (64 - width));
                let digest = |key: usize| hashing.digest_word(key as u64);
                let table = FuseTable::build(keys, width, false, |key| (digest(key), content(key))).unwrap().unwrap();
                assert!((0..keys).all(|key| table.read(digest(key)) == content(key)), "{keys} keys of {width} bits");
            }
        }
    }

    #[test]
    fn the_table_does_not_depend_on_the_order_of_keys() {
        let hashing = Hashing::seeded(6);
        let digest = |key: usize| (hashing.digest_word(key as u64), key as u64 & 255);
        let forward = FuseTable::build(5_000, 8, false, digest).unwrap();
        assert_eq!(forward, FuseTable::build(5_000, 8, false, |key| digest(4_999 - key)).unwrap());
    }

    #[test]
    fn equal_digests_are_refused() {
        let digest = |key: usize| (Hashing::default().digest_word(key as u64 / 2), 0);
        assert_eq!(FuseTable::build(100, 8, false, digest).unwrap(), None);
    }

    #[test]
    fn cells_of_a_key_lie_in_three_segments_that_follow_each_other() {
        for seed in [0, 1] {
            let layout = Layout::new(perfect::fuse(50_000).unwrap(), 50_000, seed);
            for key in 0..10_000 {
                let cells = layout.cells(layout.word(Hashing::default().digest_word(key)));
                let segments = cells.map(|cell| cell / layout.segment);
                assert!(segments[1] == segments[0] + 1 && segments[2] == segments[0] + 2, "{cells:?}");
            }
        }
    }
}
