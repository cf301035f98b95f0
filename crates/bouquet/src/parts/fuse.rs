//! A table of cells in which every key has three, in neighbouring segments, whose sum is what is stored for it: a binary fuse
//! filter, when that is a fingerprint.
//!
//! Windows of three segments slide over the table. The word of a key chooses a cell of its first segment, and with it the window,
//! and one cell in each of the next two. Keys in the order of their words touch the table from one end to the other, which is why
//! building is fast, and the ends, where windows overlap less, are where peeling begins.

use std::ops::{BitXor, ControlFlow};

use bytemuck::Zeroable;
use bytemuck::allocation::zeroed_vec;

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, fastrange, mix};
use crate::parts::peel::{Cells, peel_cells};
use crate::simd::prefetch;
use crate::store::{Counters, read_window};
use crate::theory::perfect;

/// Cells per key.
pub(crate) const CELLS: usize = 3;

/// Where the cells of a key are.
pub(crate) type Places = [u64; CELLS];

/// Seeds that are tried before a build is given up: one in a few fails at the worst numbers of keys.
const TRIES: u64 = 256;

/// Sets above this size are peeled at the first try nearly always; smaller ones also in segments of half the length.
const HALVED_BELOW: u64 = 1_000_000;

/// A key to be stored. The sum of several says nothing of them, but when all others are taken away again the last is left.
trait Entry: Copy + Zeroable {
    /// What the key's cells follow from.
    fn word(self, layout: &Layout) -> u64;

    /// What its cells shall add up to, and any bits above those of a cell.
    fn content(self) -> u64;

    fn plus(self, other: Self) -> Self;
}

/// A key with any content: its word, and that.
#[derive(Clone, Copy, Zeroable)]
struct Pair {
    word: u64,
    content: u64,
}

impl Entry for Pair {
    #[inline(always)]
    fn word(self, _: &Layout) -> u64 {
        self.word
    }

    #[inline(always)]
    fn content(self) -> u64 {
        self.content
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Pair { word: self.word ^ other.word, content: self.content ^ other.content }
    }
}

/// The first half of a digest from which the second follows, and that is the content: half the memory.
#[derive(Clone, Copy, Zeroable)]
struct Half(u64);

impl Entry for Half {
    #[inline(always)]
    fn word(self, layout: &Layout) -> u64 {
        layout.word(Digest::from_word(self.0))
    }

    #[inline(always)]
    fn content(self) -> u64 {
        Digest::from_word(self.0).h2
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Half(self.0 ^ other.0)
    }
}

/// Where keys lie under one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Layout {
    /// Cells that a window can begin with.
    starts: u64,
    /// Cells of a segment, a power of two, less one.
    mask: u64,
    seed: u64,
}

impl Layout {
    fn new(shape: perfect::Fuse, keys: u64, seed: u64) -> Self {
        let half = shape.halved().filter(|_| seed % 2 == 1 && (5..HALVED_BELOW).contains(&keys));
        let perfect::Fuse { segment, windows } = half.unwrap_or(shape);
        Layout { starts: segment * windows, mask: segment - 1, seed }
    }

    /// The word of a digest: its first half, to which further seeds add the second. What is stored of a key is to follow from the
    /// second alone, so that it has nothing to do with its cells.
    #[inline(always)]
    fn word(&self, digest: Digest) -> u64 {
        if self.seed == 0 { digest.h1 } else { self.seeded(digest) }
    }

    /// A call, so that under the seed 0, which most tables have, cells do not wait for the second half.
    #[cold]
    #[inline(never)]
    fn seeded(&self, digest: Digest) -> u64 {
        digest.h1.wrapping_add(self.seed.wrapping_mul(digest.h2))
    }

    /// The three cells of a word.
    #[inline(always)]
    fn cells(&self, word: u64) -> Places {
        let (first, mask) = (fastrange(word, self.starts), self.mask);
        [first, (first + mask + 1) ^ (word >> 18 & mask), (first + 2 * mask + 2) ^ (word & mask)]
    }
}

/// The cells of all keys, to be peeled.
struct Slots<E> {
    layout: Layout,
    /// For each cell the sum of its keys.
    sums: Vec<E>,
    /// Their number in the upper six bits, and the sum of which of their three it is in the lower two.
    marks: Vec<u8>,
}

/// One key in a mark.
const ONE: u8 = 4;

impl<E: Entry> Slots<E> {
    /// `None` if a cell has more keys than its mark can count: equal ones, for others do not come near to it.
    fn new(layout: Layout, cells: u64, entries: &[E]) -> Option<Self> {
        let mut table = Slots { layout, sums: zeroed_vec::<E>(cells as usize), marks: vec![0; cells as usize] };
        let mut least = u8::MAX;
        for &entry in entries {
            for (which, cell) in (0..).zip(layout.cells(entry.word(&layout))) {
                let (sum, mark) = (&mut table.sums[cell as usize], &mut table.marks[cell as usize]);
                *sum = sum.plus(entry);
                *mark = mark.wrapping_add(ONE) ^ which;
                least = least.min(*mark);
            }
        }
        (least >= ONE).then_some(table)
    }
}

impl<E: Entry> Cells for Slots<E> {
    /// A key, and which of its cells gave it away.
    type Item = (E, u8);

    fn cell_count(&self) -> usize {
        self.sums.len()
    }

    #[inline(always)]
    fn sole_item(&self, cell: usize) -> Option<(E, u8)> {
        let mark = self.marks[cell];
        (mark / ONE == 1).then(|| (self.sums[cell], mark % ONE))
    }

    #[inline(always)]
    fn take(&mut self, &(entry, _): &(E, u8), touched: &mut Vec<usize>) {
        let cells = self.layout.cells(entry.word(&self.layout)).map(|cell| cell as usize);
        for (which, cell) in (0..).zip(cells) {
            self.sums[cell] = self.sums[cell].plus(entry);
            self.marks[cell] = (self.marks[cell] ^ which).wrapping_sub(ONE);
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
        Self::of_entries(keys, width, distinct, |layout, key| {
            let (digest, content) = record(key);
            Pair { word: layout.word(digest), content }
        })
    }

    /// The same table, faster, where the content of a key is the second half of its digest, and that [follows](Digest::from_word) from
    /// the first, which is what `hash` gives.
    pub(crate) fn of_hashes(
        keys: usize,
        width: u32,
        distinct: bool,
        hash: impl Fn(usize) -> u64,
    ) -> Result<Option<Self>> {
        Self::of_entries(keys, width, distinct, |_, key| Half(hash(key)))
    }

    fn of_entries<E: Entry>(
        keys: usize,
        width: u32,
        distinct: bool,
        entry: impl Fn(&Layout, usize) -> E,
    ) -> Result<Option<Self>> {
        let shape = perfect::fuse(keys as u64)?;
        let mut cells = Counters::zeroed(shape.cells(), width)?;
        let (mut order, mut owns) = (Vec::with_capacity(keys), Vec::with_capacity(keys));
        for seed in 0..if keys == 0 { 1 } else { TRIES } {
            let layout = Layout::new(shape, keys as u64, seed);
            order.clear();
            order.extend((0..keys).map(|key| entry(&layout, key)));
            let entries = in_runs(&order, &layout);
            order.clear();
            owns.clear();
            if let Some(mut slots) = Slots::new(layout, shape.cells(), &entries) {
                // A key comes out once, so that neither the limit nor a break is reached.
                let _ = peel_cells(&mut slots, keys, |(entry, own), _| {
                    order.push(entry);
                    owns.push(own);
                    ControlFlow::Continue(())
                });
            }
            if order.len() < keys {
                // Equal digests have equal words under every seed.
                if !distinct && has_equal_words(&entries, &layout) {
                    return Ok(None);
                }
                continue;
            }
            let last_first = order.iter().zip(&owns).rev().map(|(entry, &own)| {
                let cells = layout.cells(entry.word(&layout));
                (cells, cells[usize::from(own)], entry.content())
            });
            // The own cell is still zero, so all three may be summed.
            match width {
                8 => last_first.for_each(|(of_key, own, content)| {
                    let sum = sum::<u8>(cells.words(), of_key);
                    *cell_mut(cells.words_mut(), own) = sum ^ content as u8;
                }),
                16 => last_first.for_each(|(of_key, own, content)| {
                    let sum = sum::<u16>(cells.words(), of_key);
                    *cell_mut(cells.words_mut(), own) = sum ^ content as u16;
                }),
                _ => last_first.for_each(|(of_key, own, content)| {
                    let sum = of_key.iter().fold(0, |sum, &cell| sum ^ cells.get(cell));
                    cells.set(own, (content ^ sum) & cells.max());
                }),
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

    /// A key's cells.
    #[inline(always)]
    pub(crate) fn cells(&self, digest: Digest) -> Places {
        self.layout.cells(self.layout.word(digest))
    }

    /// The sum of these where they are whole numbers of this type.
    #[inline(always)]
    pub(crate) fn sum_at<C: Whole>(&self, cells: Places) -> C {
        sum(self.cells.words(), cells)
    }

    /// The sum of a key's cells.
    #[inline(always)]
    pub(crate) fn read(&self, digest: Digest) -> u64 {
        let cells = self.cells(digest);
        let words = self.cells.words();
        match self.cells.width() {
            8 => sum::<u8>(words, cells).into(),
            16 => sum::<u16>(words, cells).into(),
            width => {
                let window = |cell: u64| read_window(words, cell * u64::from(width));
                cells.iter().fold(0, |sum, &cell| sum ^ window(cell)) & self.cells.max()
            }
        }
    }

    /// Prefetches these cells.
    #[inline(always)]
    pub(crate) fn prefetch_at(&self, cells: Places) {
        for cell in cells {
            prefetch(self.cells.words(), (cell * u64::from(self.cells.width()) / 64) as usize);
        }
    }

    pub(crate) fn bits(&self) -> u64 {
        self.cells.bits()
    }

    /// What tables are told apart by.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.cells.words().iter().fold(mix(self.layout.seed), |sum, word| mix(sum ^ word).wrapping_add(sum))
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

/// A cell that words can be read as.
pub(crate) trait Whole: bytemuck::Pod + Default + PartialEq + BitXor<Output = Self> {}

impl Whole for u8 {}

impl Whole for u16 {}

/// Where a cell lies among those that the words are read as: they are in the words' order, low bits first.
#[inline(always)]
fn place<C: Whole>(cell: u64) -> usize {
    let last = 8 / size_of::<C>() - 1;
    cell as usize ^ if cfg!(target_endian = "big") { last } else { 0 }
}

/// The sum of cells that are whole numbers.
#[inline(always)]
fn sum<C: Whole>(words: &[u64], cells: Places) -> C {
    let all: &[C] = bytemuck::cast_slice(words);
    let [a, b, c] = cells.map(place::<C>);
    all[a] ^ all[b] ^ all[c]
}

#[inline(always)]
fn cell_mut<C: Whole>(words: &mut [u64], cell: u64) -> &mut C {
    &mut bytemuck::cast_slice_mut(words)[place::<C>(cell)]
}

/// The entries in runs by the upper bits of their words, a segment of the table each: then they touch neighbouring cells.
fn in_runs<E: Entry>(entries: &[E], layout: &Layout) -> Vec<E> {
    let runs = (layout.starts / (layout.mask + 1)) as usize;
    let run = |entry: E| fastrange(entry.word(layout), runs as u64) as usize;
    let mut places = vec![0u32; runs + 1];
    entries.iter().for_each(|&entry| places[run(entry) + 1] += 1);
    (0..runs).for_each(|run| places[run + 1] += places[run]);
    let mut sorted: Vec<E> = zeroed_vec(entries.len());
    for &entry in entries {
        let place = &mut places[run(entry)];
        sorted[*place as usize] = entry;
        *place += 1;
    }
    sorted
}

fn has_equal_words<E: Entry>(entries: &[E], layout: &Layout) -> bool {
    let mut words: Vec<u64> = entries.iter().map(|entry| entry.word(layout)).collect();
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
        // More than a cell can count.
        assert_eq!(FuseTable::of_hashes(300, 8, false, |_| 7).unwrap(), None);
    }

    #[test]
    fn hashes_alone_give_the_table_of_their_digests() {
        for keys in [0, 1, 2, 50, 3_000, 20_000] {
            for width in [1, 8, 13, 16] {
                let digest = |key: usize| Hashing::seeded(7).digest_word(key as u64);
                let whole = FuseTable::build(keys, width, false, |key| {
                    (digest(key), digest(key).h2 & (u64::MAX >> (64 - width)))
                });
                let half = FuseTable::of_hashes(keys, width, false, |key| digest(key).h1);
                assert_eq!(whole.unwrap(), half.unwrap(), "{keys} keys of {width} bits");
            }
        }
    }

    #[test]
    fn whole_cells_are_read_as_packed_ones() {
        let digest = |key: usize| Hashing::seeded(8).digest_word(key as u64);
        for more in 0..4 {
            let table = |width| FuseTable::of_hashes(1_000 + more, width, false, |key| digest(key).h1);
            let [bytes, shorts] = [8, 16].map(|width| table(width).unwrap().unwrap());
            for key in 0..5_000 {
                let packed = |table: &FuseTable| {
                    table.cells(digest(key)).iter().fold(0, |sum, &cell| sum ^ table.cells.get(cell))
                };
                assert_eq!(u64::from(bytes.sum_at::<u8>(bytes.cells(digest(key)))), packed(&bytes));
                assert_eq!(u64::from(shorts.sum_at::<u16>(shorts.cells(digest(key)))), packed(&shorts));
            }
        }
    }

    #[test]
    fn cells_of_a_key_lie_in_three_segments_that_follow_each_other() {
        for seed in [0, 1] {
            let layout = Layout::new(perfect::fuse(50_000).unwrap(), 50_000, seed);
            for key in 0..10_000 {
                let cells = layout.cells(layout.word(Hashing::default().digest_word(key)));
                let segments = cells.map(|cell| cell / (layout.mask + 1));
                assert!(segments[1] == segments[0] + 1 && segments[2] == segments[0] + 2, "{cells:?}");
            }
        }
    }
}
