//! `TOPK.*`: HeavyKeeper, and the names of the most frequent keys in a heap.

use super::super::reader::{Reader, expect, within, zeroed};
use super::super::rows::RowHash;
use crate::error::Result;
use crate::hash::SplitMix;

/// The seed of a key's fingerprint.
const FINGERPRINT_SEED: u32 = 1919;

/// Bytes of a cell, and of a heap entry as RedisBloom saves it: fingerprint, length, a pointer, count, four unused.
const CELL_BYTES: u64 = 8;
const ENTRY_BYTES: u64 = 24;

/// A counter of the sketch and whose it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Zeroable)]
#[repr(C)]
struct Cell {
    fingerprint: u32,
    count: u32,
}

/// A key of the heap with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heavy {
    /// Its fingerprint.
    fingerprint: u32,
    /// How often it came, as far as known.
    pub count: u32,
    /// Its name; `None` in a place that was never taken.
    pub key: Option<Box<[u8]>>,
}

/// The most frequent keys of a stream as RedisBloom keeps them: `depth` rows of `width` counters, each with the fingerprint of its
/// owner. A key that meets another's counter takes one away with probability `decay`^count, and the counter itself when it is 0.
///
/// What RedisBloom draws from the C library's generator is drawn here from one of the sketch's own, whose state is saved with
/// it: where the same commands are applied to the same sketch, the results are the same.
///
/// ```
/// use bouquet::foreign::RedisTopKSketch;
/// let mut flowers = RedisTopKSketch::new(2, 100, 7, 0.9, u64::MAX)?;
/// for (name, times) in [("rose", 5), ("lily", 3), ("iris", 1)] {
///     flowers.add(name.as_bytes(), times);
/// }
/// let names: Vec<_> = flowers.list().iter().map(|heavy| heavy.key.as_deref().unwrap_or(b"").to_vec()).collect();
/// assert_eq!(names, [b"rose".to_vec(), b"lily".to_vec()]);
/// assert_eq!(RedisTopKSketch::from_dump(&flowers.dump(), u64::MAX)?, flowers);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RedisTopKSketch {
    k: u32,
    width: u32,
    depth: u32,
    decay: f64,
    cells: Vec<Cell>,
    /// A heap by count, the least first; as in RedisBloom, a count that fell by decay does not rise to the top.
    heap: Vec<Heavy>,
    random: SplitMix,
}

impl RedisTopKSketch {
    /// An empty sketch of at most `most_bytes` bytes.
    pub fn new(k: u32, width: u32, depth: u32, decay: f64, most_bytes: u64) -> Result<Self> {
        let cells = Self::cells(k, width, depth, decay, most_bytes)?;
        let heap = vec![Heavy::default(); k as usize];
        Ok(RedisTopKSketch { k, width, depth, decay, cells: zeroed(cells)?, heap, random: SplitMix::new(0) })
    }

    /// The number of cells of such a sketch.
    fn cells(k: u32, width: u32, depth: u32, decay: f64, most_bytes: u64) -> Result<u64> {
        let sized = k > 0 && width > 0 && depth > 0;
        expect(sized, "the sketch", "k, width and depth of at least 1", format!("{k}, {width}, {depth}"))?;
        expect(decay > 0.0 && decay <= 1.0, "the decay", "above 0 and at most 1", decay)?;
        let cells = u64::from(width) * u64::from(depth);
        let bytes = cells.checked_mul(CELL_BYTES);
        within(bytes.and_then(|bytes| bytes.checked_add(u64::from(k) * ENTRY_BYTES)), most_bytes)?;
        Ok(cells)
    }

    /// Keys that it keeps.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Counters per row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The base of the probability that a counter loses one.
    #[must_use]
    pub fn decay(&self) -> f64 {
        self.decay
    }

    /// The bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let names = self.heap.iter().map(|heavy| heavy.key.as_ref().map_or(0, |key| key.len() as u64)).sum::<u64>();
        let heap = self.heap.len() as u64 * size_of::<Heavy>() as u64;
        size_of::<Self>() as u64 + self.cells.len() as u64 * CELL_BYTES + heap + names
    }

    fn place(&self, key: RowHash<'_>, row: u32) -> usize {
        (u64::from(row) * u64::from(self.width) + u64::from(key.at(row) % self.width)) as usize
    }

    fn in_heap(&self, fingerprint: u32, key: &[u8]) -> Option<usize> {
        let own = |heavy: &Heavy| heavy.fingerprint == fingerprint && heavy.key.as_deref() == Some(key);
        self.heap.iter().rposition(own)
    }

    /// Counts a key and gives the name that had to leave the heap for it, if one had to.
    pub fn add(&mut self, key: &[u8], amount: u32) -> Option<Box<[u8]>> {
        self.put(key, RowHash::Native(key), amount)
    }

    pub(super) fn put(&mut self, key: &[u8], hash: RowHash<'_>, amount: u32) -> Option<Box<[u8]>> {
        let fingerprint = hash.at(FINGERPRINT_SEED);
        let least = self.heap[0].count;
        let mut most = 0;
        for row in 0..self.depth {
            let place = self.place(hash, row);
            most = most.max(self.count_in(place, fingerprint, amount));
        }
        if most < least {
            return None;
        }
        if let Some(at) = self.in_heap(fingerprint, key) {
            self.heap[at].count = most;
            self.sink(at);
            return None;
        }
        let entry = Heavy { fingerprint, count: most, key: Some(key.into()) };
        let left = std::mem::replace(&mut self.heap[0], entry);
        self.sink(0);
        left.key
    }

    /// Counts in one cell and gives the count if the cell is the key's afterwards, 0 otherwise.
    fn count_in(&mut self, place: usize, fingerprint: u32, amount: u32) -> u32 {
        let cell = &mut self.cells[place];
        if cell.count == 0 {
            *cell = Cell { fingerprint, count: amount };
            return amount;
        }
        if cell.fingerprint == fingerprint {
            cell.count = cell.count.wrapping_add(amount);
            return cell.count;
        }
        for left in (1..=amount).rev() {
            if self.random.unit() < self.decay.powf(cell.count.into()) {
                cell.count -= 1;
                if cell.count == 0 {
                    *cell = Cell { fingerprint, count: left };
                    return left;
                }
            }
        }
        0
    }

    /// The child with the lesser count, the left one of equals.
    fn lesser_child(&self, at: usize) -> Option<usize> {
        let left = 2 * at + 1;
        let right = self.heap.get(left + 1).filter(|right| right.count < self.heap[left].count);
        (left < self.heap.len()).then_some(left + usize::from(right.is_some()))
    }

    /// Restores the heap below an entry whose count has grown. The first step goes down to an equal count too, later ones do not:
    /// ties are listed as RedisBloom lists them.
    fn sink(&mut self, mut at: usize) {
        let mut next = self.lesser_child(at).filter(|&child| self.heap[child].count <= self.heap[at].count);
        while let Some(child) = next {
            self.heap.swap(at, child);
            at = child;
            next = self.lesser_child(at).filter(|&child| self.heap[child].count < self.heap[at].count);
        }
    }

    /// Whether the key is among those that are kept.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.keeps(key, RowHash::Native(key))
    }

    pub(super) fn keeps(&self, key: &[u8], hash: RowHash<'_>) -> bool {
        self.in_heap(hash.at(FINGERPRINT_SEED), key).is_some()
    }

    /// Whether a counter of the key is zero: then nobody came there, for one that is taken is zero never again.
    pub(super) fn is_new(&self, hash: RowHash<'_>) -> bool {
        (0..self.depth).any(|row| self.cells[self.place(hash, row)].count == 0)
    }

    /// The key's count in the sketch.
    #[must_use]
    pub fn count(&self, key: &[u8]) -> u32 {
        self.tally(key, RowHash::Native(key))
    }

    pub(super) fn tally(&self, key: &[u8], hash: RowHash<'_>) -> u32 {
        let fingerprint = hash.at(FINGERPRINT_SEED);
        let least = if self.in_heap(fingerprint, key).is_some() { self.heap[0].count } else { 0 };
        let cells = (0..self.depth).map(|row| self.cells[self.place(hash, row)]);
        cells
            .filter(|cell| cell.fingerprint == fingerprint && cell.count >= least)
            .map(|cell| cell.count)
            .max()
            .unwrap_or(0)
    }

    /// The keys that are kept, the most frequent first.
    #[must_use]
    pub fn list(&self) -> Vec<&Heavy> {
        let mut list: Vec<_> = self.heap.iter().collect();
        list.sort_by_key(|heavy| std::cmp::Reverse(heavy.count));
        list.retain(|heavy| heavy.count > 0 && heavy.key.is_some());
        list
    }

    /// The share of the counters that are taken.
    pub(super) fn fill(&self) -> f64 {
        self.cells.iter().filter(|cell| cell.count > 0).count() as f64 / self.cells.len().max(1) as f64
    }

    /// The occurrences in the fullest row; those that a decay has taken away are missing.
    pub(super) fn counted(&self) -> u64 {
        let rows = self.cells.chunks(self.width as usize);
        rows.map(|row| row.iter().map(|cell| u64::from(cell.count)).sum()).max().unwrap_or(0)
    }

    /// Refuses names that are kept twice or under another key's fingerprint.
    pub(super) fn check_names<'a>(&'a self, hash: impl Fn(&'a [u8]) -> RowHash<'a>) -> Result<()> {
        let mut seen = std::collections::HashSet::new();
        for heavy in &self.heap {
            let Some(key) = heavy.key.as_deref() else { continue };
            let own = hash(key).at(FINGERPRINT_SEED) == heavy.fingerprint && seen.insert(key);
            expect(own, "a name of the heap", "with its own fingerprint, once", key.escape_ascii())?;
        }
        Ok(())
    }

    /// The cells as a snapshot has them: fingerprint and count, little-endian.
    #[must_use]
    pub fn cell_bytes(&self) -> Vec<u8> {
        self.cells.iter().flat_map(|cell| [cell.fingerprint, cell.count]).flat_map(u32::to_le_bytes).collect()
    }

    /// The heap as a snapshot has it, without the names. Where RedisBloom saves a pointer, which it does not read again, the first
    /// entry has the state of the random numbers.
    #[must_use]
    pub fn heap_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.heap.len() * ENTRY_BYTES as usize);
        for (at, heavy) in self.heap.iter().enumerate() {
            let len = heavy.key.as_ref().map_or(0, |key| key.len() as u32);
            out.extend(heavy.fingerprint.to_le_bytes());
            out.extend(len.to_le_bytes());
            out.extend(if at == 0 { self.random.state() } else { 0 }.to_le_bytes());
            out.extend(heavy.count.to_le_bytes());
            out.extend([0; 4]);
        }
        out
    }

    /// The names of the heap, in its order; `None` for a place that was never taken.
    pub fn names(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> + '_ {
        self.heap.iter().map(|heavy| heavy.key.as_deref())
    }

    /// The state of the random numbers.
    pub(super) fn random(&self) -> u64 {
        self.random.state()
    }

    /// The places of the heap in its order: fingerprint, count and name.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, u32, Option<&[u8]>)> + '_ {
        self.heap.iter().map(|heavy| (heavy.fingerprint, heavy.count, heavy.key.as_deref()))
    }

    /// The sketch of a frame: the heap's places, one behind the other, are fingerprint, count, length of the name (2^32 - 1 for none)
    /// and the name.
    pub(super) fn from_places(
        (k, width, depth, decay): (u32, u32, u32, f64),
        cells: &[u8],
        places: &[u8],
        random: u64,
    ) -> Result<Self> {
        let cells = Self::read_cells((k, width, depth, decay), cells, places.len())?;
        let mut reader = Reader(places);
        let mut heap = Vec::new();
        for _ in 0..k {
            let [fingerprint, count, len] = [reader.u32()?, reader.u32()?, reader.u32()?];
            let key = if len == u32::MAX { None } else { Some(reader.take(len as usize)?.into()) };
            heap.push(Heavy { fingerprint, count, key });
        }
        expect(reader.0.is_empty(), "the end of the heap", "nothing", format!("{} bytes", reader.0.len()))?;
        Ok(RedisTopKSketch { k, width, depth, decay, cells, heap, random: SplitMix::new(random) })
    }

    /// The counters of these bytes; the heap has this many.
    fn read_cells((k, width, depth, decay): (u32, u32, u32, f64), cells: &[u8], heap: usize) -> Result<Vec<Cell>> {
        // A place of the heap has 12 bytes in a frame and 24 in a snapshot.
        let room = (cells.len() as u64).saturating_add((heap as u64).saturating_mul(2));
        let count = Self::cells(k, width, depth, decay, room)?;
        expect(count * CELL_BYTES == cells.len() as u64, "the bytes of the counters", "8 for each", cells.len())?;
        let mut reader = Reader(cells);
        let mut table = zeroed(count)?;
        for cell in &mut table {
            *cell = Cell { fingerprint: reader.u32()?, count: reader.u32()? };
        }
        Ok(table)
    }

    /// The sketch of what a snapshot holds; `names` are those of the heap, as many as `k`.
    pub fn from_parts(
        (k, width, depth, decay): (u32, u32, u32, f64),
        cells: &[u8],
        heap: &[u8],
        names: impl IntoIterator<Item = Option<Box<[u8]>>>,
    ) -> Result<Self> {
        let table = Self::read_cells((k, width, depth, decay), cells, heap.len())?;
        expect(u64::from(k) * ENTRY_BYTES == heap.len() as u64, "the bytes of the heap", "24 for each", heap.len())?;
        let mut reader = Reader(heap);
        let mut state = 0;
        let mut entries = Vec::with_capacity(k as usize);
        for (at, name) in (0..k).zip(names.into_iter().chain(std::iter::repeat(None))) {
            let [fingerprint, len] = [reader.u32()?, reader.u32()?];
            let pointer = reader.u64()?;
            let [heavy_count, _unused] = [reader.u32()?, reader.u32()?];
            if at == 0 {
                state = pointer;
            }
            // An empty name is saved as no name is.
            let key = name.or_else(|| (heavy_count > 0 && len == 0).then(Box::default));
            entries.push(Heavy { fingerprint, count: heavy_count, key });
        }
        Ok(RedisTopKSketch { k, width, depth, decay, cells: table, heap: entries, random: SplitMix::new(state) })
    }

    /// Everything in one: k, width, depth, decay, cells, heap, then each name with its length (2^32 - 1 for none).
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let mut out: Vec<u8> = [self.k, self.width, self.depth].iter().flat_map(|n| n.to_le_bytes()).collect();
        out.extend(self.decay.to_le_bytes());
        out.extend(self.cell_bytes());
        out.extend(self.heap_bytes());
        for name in self.names() {
            out.extend(name.map_or(u32::MAX, |name| name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.unwrap_or_default());
        }
        out
    }

    /// Reads a [dump](Self::dump) of at most `most_bytes` bytes.
    pub fn from_dump(bytes: &[u8], most_bytes: u64) -> Result<Self> {
        within(Some(bytes.len() as u64), most_bytes)?;
        let mut reader = Reader(bytes);
        let [k, width, depth] = [reader.u32()?, reader.u32()?, reader.u32()?];
        let decay = reader.f64()?;
        let cells = Self::cells(k, width, depth, decay, bytes.len() as u64)?;
        let (cells, heap) =
            (reader.take((cells * CELL_BYTES) as usize)?, reader.take(k as usize * ENTRY_BYTES as usize)?);
        let mut names = Vec::new();
        for _ in 0..k {
            let len = reader.u32()?;
            names.push(if len == u32::MAX { None } else { Some(reader.take(len as usize)?.into()) });
        }
        expect(reader.0.is_empty(), "the end of the dump", "nothing", format!("{} bytes", reader.0.len()))?;
        Self::from_parts((k, width, depth, decay), cells, heap, names)
    }
}
