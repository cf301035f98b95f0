//! `CF.*`: a chain of cuckoo filters with fingerprints of one byte.

use super::super::murmur::murmur64a;
use super::super::reader::{Reader, expect, within, zeroed};
use super::super::redis_bloom::chain::{chunk, dumped, load_chunk, rehouse};
use crate::error::{Error, Result};

/// What a bucket index is exclusive-ored with, times the fingerprint.
const MIX: u64 = 0x5bd1_e995;

/// Bytes of a header.
const HEADER_BYTES: u64 = 38;

/// What RedisBloom's own structures take beside the buckets, which its `Size` counts.
const OVERHEAD: u64 = 40;
const TABLE_OVERHEAD: u64 = 16;

/// Fingerprints are bytes other than 0, which is a free slot.
pub(super) const FINGERPRINTS: u64 = 255;

/// RedisBloom computes places in 32 bits.
const MOST_TABLE_BYTES: u64 = u32::MAX as u64;

/// When more than one key in ten has been removed, the chain is compacted.
const REMOVED_SHARE: f64 = 0.10;

/// What a chain is made for.
///
/// ```
/// use bouquet::foreign::{CuckooShape, RedisCuckooChain};
/// let shape = CuckooShape { capacity: 1_000, ..CuckooShape::default() };
/// assert_eq!(RedisCuckooChain::new(&shape, u64::MAX)?.shape().buckets, 512);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooShape {
    /// Keys of the first table.
    pub capacity: u64,
    /// Buckets of the first table, a power of two; what the capacity makes of it if 0.
    pub buckets: u64,
    /// Slots per bucket, from 1 to 255.
    pub bucket_size: u16,
    /// Moves that an insertion may cause before the chain grows.
    pub max_iterations: u16,
    /// A table's buckets divided by those of the one before it, rounded up to a power of two; 0 for a chain of one.
    pub expansion: u16,
}

impl Default for CuckooShape {
    fn default() -> Self {
        CuckooShape { capacity: 1_024, buckets: 0, bucket_size: 2, max_iterations: 20, expansion: 1 }
    }
}

/// A chain of cuckoo filters as RedisBloom has it.
///
/// A key is one hash h = MurmurHash64A(key, 0); its fingerprint is h mod 255 + 1, its buckets are h and
/// h xor (fingerprint * 0x5bd1e995), modulo the number of buckets. Every copy of a key takes a slot.
///
/// ```
/// use bouquet::foreign::{CuckooShape, RedisCuckooChain};
/// let mut flowers = RedisCuckooChain::new(&CuckooShape::default(), u64::MAX)?;
/// flowers.insert(b"rose", u64::MAX)?;
/// flowers.insert(b"rose", u64::MAX)?;
/// assert_eq!((flowers.count(b"rose"), flowers.contains(b"thistle")), (2, false));
/// assert!(flowers.remove(b"rose"));
/// assert_eq!(RedisCuckooChain::from_dump(&flowers.dump(), u64::MAX)?, flowers);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RedisCuckooChain {
    buckets: u64,
    items: u64,
    removed: u64,
    bucket_size: u16,
    max_iterations: u16,
    expansion: u16,
    tables: Vec<Vec<u8>>,
}

/// A fingerprint and the two numbers that its buckets are taken from.
#[derive(Clone, Copy)]
struct Place {
    fingerprint: u8,
    sources: [u64; 2],
}

/// The other number of a fingerprint.
fn other(fingerprint: u8, source: u64) -> u64 {
    source ^ u64::from(fingerprint).wrapping_mul(MIX)
}

impl Place {
    fn of(hash: u64) -> Self {
        Self::at((hash % FINGERPRINTS + 1) as u8, hash)
    }

    fn at(fingerprint: u8, source: u64) -> Self {
        Place { fingerprint, sources: [source, other(fingerprint, source)] }
    }
}

impl RedisCuckooChain {
    /// An empty chain of at most `most_bytes` bytes.
    pub fn new(shape: &CuckooShape, most_bytes: u64) -> Result<Self> {
        let &CuckooShape { capacity, buckets, bucket_size, max_iterations, expansion } = shape;
        let asked = if buckets == 0 { capacity / u64::from(bucket_size.max(1)) } else { buckets };
        let mut chain = RedisCuckooChain {
            buckets: asked.max(1).checked_next_power_of_two().unwrap_or(u64::MAX),
            items: 0,
            removed: 0,
            bucket_size,
            max_iterations,
            expansion: if expansion == 0 { 0 } else { expansion.checked_next_power_of_two().unwrap_or(1 << 15) },
            tables: Vec::new(),
        };
        chain.check(1)?;
        chain.grow(most_bytes)?;
        Ok(chain)
    }

    /// Refuses fields that no program writes, of a chain of this many tables.
    fn check(&self, tables: u64) -> Result<()> {
        let slots = (1..=255).contains(&self.bucket_size);
        expect(slots, "the slots of a bucket", "1 to 255", self.bucket_size)?;
        let power = self.buckets.is_power_of_two() && self.buckets < 1 << 56;
        expect(power, "the number of buckets", "a power of two below 2^56", self.buckets)?;
        expect(self.max_iterations > 0, "the number of moves", "at least 1", self.max_iterations)?;
        expect((1..=65_535).contains(&tables), "the number of tables", "1 to 65535", tables)?;
        expect(self.expansion > 0 || tables == 1, "the number of tables", "1, for a chain that does not grow", tables)
    }

    /// The bytes of the table at this place of the chain.
    pub(super) fn table_bytes(&self, at: u32) -> Option<u64> {
        let growth = u64::from(self.expansion).checked_pow(at)?;
        let bytes = self.buckets.checked_mul(growth)?.checked_mul(self.bucket_size.into())?;
        Some(bytes).filter(|bytes| *bytes <= MOST_TABLE_BYTES)
    }

    fn grow(&mut self, most_bytes: u64) -> Result<()> {
        let bytes = self.table_bytes(self.tables.len() as u32).filter(|_| self.tables.len() < 65_535);
        within(bytes.and_then(|bytes| bytes.checked_add(self.bytes() + TABLE_OVERHEAD)), most_bytes)?;
        self.tables.push(zeroed(bytes.unwrap_or(0))?);
        Ok(())
    }

    /// The shape: its capacity is that of the first table, slot by slot.
    #[must_use]
    pub fn shape(&self) -> CuckooShape {
        let &RedisCuckooChain { buckets, bucket_size, max_iterations, expansion, .. } = self;
        CuckooShape {
            capacity: buckets.saturating_mul(bucket_size.into()),
            buckets,
            bucket_size,
            max_iterations,
            expansion,
        }
    }

    /// Keys that are in, each copy for itself.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Keys that were removed since the chain was last compacted.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.removed
    }

    /// The tables, one byte per slot.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        self.tables.iter().map(Vec::as_slice)
    }

    /// The bytes that RedisBloom says such a chain takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        OVERHEAD + self.tables.iter().map(|table| TABLE_OVERHEAD + table.len() as u64).sum::<u64>()
    }

    fn size(&self) -> usize {
        self.bucket_size.into()
    }

    /// The slots of one of the two buckets of a place.
    fn bucket<'a>(&self, table: &'a [u8], source: u64) -> &'a [u8] {
        let buckets = (table.len() / self.size()) as u64;
        let first = (source % buckets) as usize * self.size();
        &table[first..first + self.size()]
    }

    /// The first slot with this byte in either bucket of a place.
    fn find(&self, table: &[u8], place: Place, byte: u8) -> Option<usize> {
        let buckets = (table.len() / self.size()) as u64;
        place.sources.into_iter().find_map(|source| {
            let first = (source % buckets) as usize * self.size();
            let slot = table[first..first + self.size()].iter().position(|slot| *slot == byte)?;
            Some(first + slot)
        })
    }

    /// Whether the key may be in the set.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.holds(Self::hash(key))
    }

    /// The hash that a key's fingerprint and buckets are made of.
    pub(super) fn hash(key: &[u8]) -> u64 {
        murmur64a(key, 0)
    }

    pub(super) fn holds(&self, hash: u64) -> bool {
        let place = Place::of(hash);
        self.tables.iter().any(|table| self.find(table, place, place.fingerprint).is_some())
    }

    /// How many slots have the key's fingerprint in its buckets; if its two buckets are one, RedisBloom counts them twice.
    #[must_use]
    pub fn count(&self, key: &[u8]) -> u64 {
        self.copies(Self::hash(key))
    }

    pub(super) fn copies(&self, hash: u64) -> u64 {
        let place = Place::of(hash);
        let count = |table: &[u8]| {
            let own = |source| self.bucket(table, source).iter().filter(|slot| **slot == place.fingerprint).count();
            place.sources.into_iter().map(own).sum::<usize>() as u64
        };
        self.tables().map(count).sum()
    }

    /// Puts a copy of a key in, in at most `most_bytes` bytes. [`Error::Full`] for a chain that does not grow, [`Error::TooLarge`] for
    /// one that may not; nothing has changed then.
    pub fn insert(&mut self, key: &[u8], most_bytes: u64) -> Result<()> {
        self.put(Self::hash(key), most_bytes)
    }

    pub(super) fn put(&mut self, hash: u64, most_bytes: u64) -> Result<()> {
        let place = Place::of(hash);
        loop {
            let free = (0..self.tables.len()).rev().find_map(|at| Some((at, self.find(&self.tables[at], place, 0)?)));
            if let Some((at, slot)) = free {
                self.tables[at][slot] = place.fingerprint;
                self.items = self.items.saturating_add(1);
                return Ok(());
            }
            if self.kick(place) {
                self.items = self.items.saturating_add(1);
                return Ok(());
            }
            if self.expansion == 0 {
                return Err(Error::Full {
                    what: format!("no slot was free after {} moves", self.max_iterations),
                    remedy: "make it for more keys, or let it grow".into(),
                });
            }
            self.grow(most_bytes)?;
        }
    }

    /// Moves fingerprints of the last table until one finds a free slot; if none does, puts all of them back.
    fn kick(&mut self, place: Place) -> bool {
        let (size, rounds) = (self.size(), self.max_iterations);
        let Some(table) = self.tables.last_mut() else { return false };
        let buckets = (table.len() / size) as u64;
        let mut moving = place.fingerprint;
        let mut bucket = place.sources[0] % buckets;
        let mut victim = 0;
        for _ in 0..rounds {
            std::mem::swap(&mut table[bucket as usize * size + victim], &mut moving);
            bucket = other(moving, bucket) % buckets;
            let slots = &mut table[bucket as usize * size..][..size];
            if let Some(free) = slots.iter_mut().find(|slot| **slot == 0) {
                *free = moving;
                return true;
            }
            victim = (victim + 1) % size;
        }
        for _ in 0..rounds {
            victim = (victim + size - 1) % size;
            bucket = other(moving, bucket) % buckets;
            std::mem::swap(&mut table[bucket as usize * size + victim], &mut moving);
        }
        false
    }

    /// Takes one copy of a key out, from the newest table that has its fingerprint; `false` if none has.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.take(Self::hash(key))
    }

    pub(super) fn take(&mut self, hash: u64) -> bool {
        let place = Place::of(hash);
        let found = (0..self.tables.len()).rev().find_map(|at| {
            let slot = self.find(&self.tables[at], place, place.fingerprint)?;
            Some((at, slot))
        });
        let Some((at, slot)) = found else { return false };
        self.tables[at][slot] = 0;
        self.items = self.items.saturating_sub(1);
        self.removed = self.removed.saturating_add(1);
        if self.tables.len() > 1 && self.removed as f64 > self.items as f64 * REMOVED_SHARE {
            self.compact(false);
        }
        true
    }

    /// The slots that are in use.
    pub(super) fn used(&self) -> u64 {
        self.tables().flatten().filter(|slot| **slot != 0).count() as u64
    }

    /// The share of all hashes that seem to be in: of the bucket and fingerprint pairs of each table, those with the fingerprint in the
    /// bucket or in its other one. What tables of several sizes share of them is taken as by chance.
    pub(super) fn present_rate(&self) -> f64 {
        let free = self.tables().map(|table| 1.0 - self.table_rate(table)).product::<f64>();
        1.0 - free
    }

    fn table_rate(&self, table: &[u8]) -> f64 {
        let size = self.size();
        let buckets = (table.len() / size) as u64;
        let mut covered = 0;
        for (bucket, slots) in (0u64..).zip(table.chunks(size)) {
            for (at, &fingerprint) in slots.iter().enumerate().filter(|(_, slot)| **slot != 0) {
                if slots[..at].contains(&fingerprint) {
                    continue;
                }
                // The pair with the other bucket is covered too; one that is covered from both sides is counted on each.
                let there = other(fingerprint, bucket) % buckets;
                let alone = there != bucket && !self.bucket(table, there).contains(&fingerprint);
                covered += 1 + u64::from(alone);
            }
        }
        covered as f64 / (buckets * FINGERPRINTS) as f64
    }

    /// Moves fingerprints from newer tables to free slots of older ones and gives back the last table if it is empty then;
    /// `on` goes on with the older tables when one could not be emptied.
    pub fn compact(&mut self, on: bool) {
        for at in (1..self.tables.len()).rev() {
            if !self.empty_table(at) && !on {
                break;
            }
        }
        self.removed = 0;
    }

    fn empty_table(&mut self, at: usize) -> bool {
        let size = self.size();
        let mut table = std::mem::take(&mut self.tables[at]);
        let mut emptied = true;
        for (number, slot) in table.iter_mut().enumerate().filter(|(_, slot)| **slot != 0) {
            let place = Place::at(*slot, (number / size) as u64);
            let free = (0..at).find_map(|at| Some((at, self.find(&self.tables[at], place, 0)?)));
            match free {
                Some((at, free)) => self.tables[at][free] = std::mem::take(slot),
                None => emptied = false,
            }
        }
        if emptied && at + 1 == self.tables.len() {
            self.tables.pop();
        } else {
            self.tables[at] = table;
        }
        emptied
    }

    /// The header of a dump.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES as usize);
        for number in [self.items, self.buckets, self.removed, self.tables.len() as u64] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.bucket_size, self.max_iterations, self.expansion] {
            out.extend(number.to_le_bytes());
        }
        out
    }

    /// The chain of a header, with its slots empty; it may take `most_bytes` bytes.
    pub fn from_header(header: &[u8], most_bytes: u64) -> Result<Self> {
        expect(header.len() as u64 == HEADER_BYTES, "the length of the header", "38", header.len())?;
        let mut reader = Reader(header);
        let [items, buckets, removed, tables] = [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
        let [bucket_size, max_iterations, expansion] = [reader.u16()?, reader.u16()?, reader.u16()?];
        let chain =
            RedisCuckooChain { buckets, items, removed, bucket_size, max_iterations, expansion, tables: Vec::new() };
        chain.check(tables)?;
        let mut total = OVERHEAD;
        let mut sizes = Vec::new();
        for at in 0..tables as u32 {
            let bytes = chain.table_bytes(at);
            total = within(bytes.and_then(|bytes| bytes.checked_add(total + TABLE_OVERHEAD)), most_bytes)?;
            sizes.push(bytes.unwrap_or(0));
        }
        let tables = sizes.into_iter().map(zeroed).collect::<Result<_>>()?;
        Ok(RedisCuckooChain { tables, ..chain })
    }

    /// The chain of what a snapshot holds: shape, items and removed keys, then the tables.
    pub fn from_parts(shape: &CuckooShape, items: u64, removed: u64, tables: Vec<Vec<u8>>) -> Result<Self> {
        let &CuckooShape { buckets, bucket_size, max_iterations, expansion, .. } = shape;
        let chain =
            RedisCuckooChain { buckets, items, removed, bucket_size, max_iterations, expansion, tables: Vec::new() };
        chain.check(tables.len() as u64)?;
        for table in &tables {
            let buckets = (table.len() / chain.size()) as u64;
            let whole = buckets.is_power_of_two() && table.len() % chain.size() == 0;
            expect(whole, "the bytes of a table", "a power of two of buckets", table.len())?;
        }
        Ok(RedisCuckooChain { tables, ..chain })
    }

    /// The bytes of the tables from position `at` on, at most `most` and of one table; `None` at the end.
    #[must_use]
    pub fn chunk(&self, at: u64, most: u64) -> Option<&[u8]> {
        chunk(self.tables(), at, most)
    }

    /// Writes bytes to the tables from position `at` on; they must lie in one table.
    pub fn load_chunk(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        load_chunk(self.tables.iter_mut(), at, bytes)
    }

    /// Gives each table away and takes it back, with the same bytes at another place: for programs that move memory.
    pub fn rehouse(&mut self, mut house: impl FnMut(Vec<u8>) -> Vec<u8>) {
        for table in &mut self.tables {
            rehouse(table, &mut house);
        }
    }

    /// Header and tables in one.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let mut out = self.header();
        self.tables().for_each(|table| out.extend_from_slice(table));
        out
    }

    /// Reads a [dump](Self::dump), which must be whole, of at most `most_bytes` bytes.
    pub fn from_dump(bytes: &[u8], most_bytes: u64) -> Result<Self> {
        let mut reader = Reader(bytes);
        let header = reader.take(HEADER_BYTES as usize)?;
        // A table has a byte at least, so that no header can ask for more of them than there are bytes.
        let overheads = (OVERHEAD, TABLE_OVERHEAD * reader.0.len() as u64, HEADER_BYTES);
        let mut chain = Self::from_header(header, most_bytes.min(dumped(bytes, header, overheads)))?;
        for table in &mut chain.tables {
            let bytes = reader.take(table.len())?;
            table.copy_from_slice(bytes);
        }
        expect(reader.0.is_empty(), "the end of the dump", "nothing", format!("{} bytes", reader.0.len()))?;
        Ok(chain)
    }
}
