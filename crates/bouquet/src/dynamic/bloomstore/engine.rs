//! The store itself, wherever its pages lie: instances, each with a buffer of pairs, a page of filters that fills up, and the chain
//! of those that are full.
//!
//! ```text
//! lookup(x), newest first:
//!   the write buffer            if its filter, the next free lane of the filter page, has x
//!   the pages of the filter page in memory: AND of k words = one bit per data page
//!   the chain pages, newest first:          the same for one page read each
//!   a data page for every bit that is set; the first pair with key x tells
//! ```

use std::collections::HashSet;

use super::instance::{CHAIN, Instance, LANES, MOST_BYTES, Shape, WORDS, address, below, lanes_with, set_lane};
use super::pairs::{INLINE, Pair, Spilled, pairs};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, fastrange, mix};
use crate::parts::pages::{HEADER, Header, MOST_OPERATIONS, Meter, Pages, Sort, u32_at};
use crate::shell::Hashed;

/// What a page says of a key.
enum Found {
    Removed,
    Value(Vec<u8>),
}

/// A pair for which there is room.
pub struct Prepared<'a> {
    instance: usize,
    pair: Pair<'a>,
    /// The pair of the same key in the buffer: its place and its bytes.
    replaced: Option<(usize, usize)>,
}

/// How many pages were read and written, by their sort.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meters {
    pub data_reads: Meter,
    pub chain_reads: Meter,
    pub overflow_reads: Meter,
    pub writes: Meter,
}

/// The store.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine<P> {
    pub shape: Shape,
    pub pages: P,
    instances: Vec<Instance>,
    /// Operations so far.
    pub sequence: u64,
    data_pages: u64,
    pub meters: Meters,
}

impl<P: Pages> Engine<P> {
    /// An empty store.
    pub fn new(shape: Shape, pages: P) -> Result<Self> {
        let too_large = || Error::TooLarge {
            what: "the buffers".into(),
            bytes: u128::from(shape.instances) * 2 * shape.page as u128,
        };
        let count = usize::try_from(shape.instances).map_err(|_| too_large())?;
        let mut instances = Vec::new();
        instances.try_reserve_exact(count).map_err(|_| too_large())?;
        for _ in 0..count {
            instances.push(Instance::new(shape.page)?);
        }
        Ok(Engine { shape, pages, instances, sequence: 0, data_pages: 0, meters: Meters::default() })
    }

    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    pub fn data_pages(&self) -> u64 {
        self.data_pages
    }

    pub fn chain_pages(&self) -> u64 {
        self.instances.iter().map(|instance| instance.chain.len() as u64).sum()
    }

    /// Bytes in memory: two pages for each instance, and the numbers of chain pages.
    pub fn memory(&self) -> u64 {
        let instances = self.instances.iter();
        let each = |instance: &Instance| {
            instance.buffer.capacity() + instance.filters.capacity() + 8 * instance.chain.capacity()
        };
        let instances: usize = instances.map(|instance| each(instance) + size_of::<Instance>()).sum();
        (size_of::<Self>() + instances) as u64
    }

    /// Whether the chains have the length at which there should be more instances.
    pub fn is_crowded(&self) -> bool {
        self.data_pages >= self.shape.instances.saturating_mul(CHAIN * u64::from(LANES))
    }

    /// The instance of a key: a prefix of its hash, so that each of twice as many holds keys of one.
    pub fn instance_of(&self, digest: Digest) -> usize {
        fastrange(mix(digest.h1 ^ digest.h2.rotate_left(32)), self.shape.instances) as usize
    }

    /// The value of a key; empty bytes if only its presence is asked for.
    pub fn get(&self, key: Hashed<'_>, wants_value: bool) -> Result<Option<Vec<u8>>> {
        let instance = &self.instances[self.instance_of(key.digest)];
        let mask = lanes_with(&instance.filters, &self.shape, key.digest);
        let found = if mask & !below(instance.lanes) != 0 {
            self.find(&instance.buffer, instance.count, key, wants_value)?
        } else {
            None
        };
        let mut found = match found {
            Some(found) => Some(found),
            None => self.find_in_lanes(&instance.filters, mask & below(instance.lanes), key, wants_value)?,
        };
        for &number in instance.chain.iter().rev() {
            if found.is_some() {
                break;
            }
            self.meters.chain_reads.add(1);
            found = self.pages.with(number, |header, filters| match header.sort {
                Sort::Chain => {
                    let mask = lanes_with(filters, &self.shape, key.digest);
                    self.find_in_lanes(filters, mask, key, wants_value)
                }
                other => Err(not_a("chain", number, other)),
            })?;
        }
        Ok(match found {
            Some(Found::Value(value)) => Some(value),
            Some(Found::Removed) | None => None,
        })
    }

    fn find_in_lanes(&self, filters: &[u8], mut mask: u32, key: Hashed<'_>, wants: bool) -> Result<Option<Found>> {
        while mask != 0 {
            let lane = mask.ilog2();
            mask &= below(lane);
            let number = address(filters, lane);
            self.meters.data_reads.add(1);
            let found = self.with_data(number, |count, page| self.find(page, count, key, wants))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn with_data<R>(&self, number: u64, f: impl FnOnce(u32, &[u8]) -> Result<R>) -> Result<R> {
        self.pages.with(number, |header, page| match header.sort {
            Sort::Data => f(header.count, page),
            other => Err(not_a("data", number, other)),
        })
    }

    /// The pair of a key in a page.
    fn find(&self, page: &[u8], count: u32, key: Hashed<'_>, wants: bool) -> Result<Option<Found>> {
        let Some((_, pair)) = self.place(page, count, key)? else { return Ok(None) };
        Ok(Some(match pair {
            Pair::Here { value: None, .. } => Found::Removed,
            Pair::Here { value: Some(value), .. } => Found::Value(if wants { value.to_vec() } else { Vec::new() }),
            Pair::Elsewhere(spilled) if spilled.is_removed => Found::Removed,
            Pair::Elsewhere(spilled) if wants => Found::Value(self.spilled(&spilled)?.1),
            Pair::Elsewhere(_) => Found::Value(Vec::new()),
        }))
    }

    fn place<'a>(&self, page: &'a [u8], count: u32, key: Hashed<'_>) -> Result<Option<(usize, Pair<'a>)>> {
        for pair in pairs(page, HEADER, count) {
            let (at, pair) = pair?;
            let is_it = match &pair {
                Pair::Here { key: other, .. } => *other == key.bytes,
                Pair::Elsewhere(spilled) => {
                    spilled.mark == key.digest.h1
                        && spilled.key as usize == key.bytes.len()
                        && self.spilled(spilled)?.0 == key.bytes
                }
            };
            if is_it {
                return Ok(Some((at, pair)));
            }
        }
        Ok(None)
    }

    /// The key and the value that lie in overflow pages.
    fn spilled(&self, spilled: &Spilled) -> Result<(Vec<u8>, Vec<u8>)> {
        let room = (self.shape.page - HEADER) as u64;
        let needed = spilled.len().div_ceil(room);
        let there = self.pages.len().saturating_sub(spilled.first);
        if needed > there {
            return Err(Error::corrupt("overflow pages", needed, there));
        }
        let mut key = Vec::with_capacity(spilled.len() as usize);
        for number in spilled.first..spilled.first + needed {
            self.meters.overflow_reads.add(1);
            let left = (spilled.len() - key.len() as u64).min(room) as usize;
            self.pages.with(number, |header, page| {
                let is_part = header.extra == number - spilled.first && header.count as usize == left;
                if header.sort != Sort::Overflow || !is_part {
                    return Err(not_a("overflow", number, header.sort));
                }
                key.extend_from_slice(&page[HEADER..HEADER + left]);
                Ok(())
            })?;
        }
        let value = key.split_off(spilled.key as usize);
        Ok((key, value))
    }

    /// Writes a large pair to overflow pages.
    fn spill(&mut self, instance: usize, key: Hashed<'_>, value: Option<&[u8]>) -> Result<Spilled> {
        let bytes = value.unwrap_or_default();
        if key.bytes.len().max(bytes.len()) > MOST_BYTES {
            return Err(Error::Item {
                expected: format!("a key and a value of at most {MOST_BYTES} bytes each"),
                found: format!("{} and {} bytes", key.bytes.len(), bytes.len()),
            });
        }
        let spilled = Spilled {
            key: key.bytes.len() as u32,
            value: bytes.len() as u32,
            is_removed: value.is_none(),
            mark: key.digest.h1,
            first: self.pages.len(),
        };
        let room = self.shape.page - HEADER;
        let both = [key.bytes, bytes].concat();
        let mut page = vec![0; self.shape.page];
        for (index, part) in (0..).zip(both.chunks(room)) {
            page.fill(0);
            page[HEADER..HEADER + part.len()].copy_from_slice(part);
            let (owner, count) = (instance as u32, part.len() as u32);
            let header = Header { sort: Sort::Overflow, owner, count, sequence: self.sequence + 1, extra: index };
            self.pages.append(header, &mut page)?;
            self.meters.writes.add(1);
        }
        Ok(spilled)
    }

    /// Makes room for a pair, or for the news that a key is removed. What can fail is here; nothing that is seen has changed.
    pub fn prepare<'a>(&mut self, key: Hashed<'a>, value: Option<&'a [u8]>) -> Result<Prepared<'a>> {
        let number = self.instance_of(key.digest);
        if self.instances[number].lanes == LANES {
            self.write_chain(number)?;
        }
        let here = Pair::Here { key: key.bytes, value };
        let is_small = INLINE + key.bytes.len() + value.map_or(0, <[u8]>::len) <= self.shape.pair;
        let pair = if is_small { here } else { Pair::Elsewhere(self.spill(number, key, value)?) };
        let mut replaced = None;
        let instance = &self.instances[number];
        let may_be_there = lanes_with(&instance.filters, &self.shape, key.digest) & !below(instance.lanes) != 0;
        if may_be_there && let Some((at, old)) = self.place(&instance.buffer, instance.count, key)? {
            replaced = Some((at, old.len()));
        }
        let freed = replaced.map_or(0, |(_, len)| len);
        let has_place = replaced.is_some() || instance.count < self.shape.pairs;
        if !has_place || instance.used - freed + pair.len() > self.shape.page {
            self.flush(number)?;
            replaced = None;
        }
        Ok(Prepared { instance: number, pair, replaced })
    }

    /// Puts the pair in.
    pub fn commit(&mut self, key: Hashed<'_>, prepared: &Prepared<'_>) {
        self.sequence = (self.sequence + 1).min(MOST_OPERATIONS);
        let instance = &mut self.instances[prepared.instance];
        if let Some((at, len)) = prepared.replaced {
            instance.buffer.copy_within(at + len..instance.used, at);
            instance.buffer[instance.used - len..instance.used].fill(0);
            (instance.used, instance.count) = (instance.used - len, instance.count - 1);
        }
        prepared.pair.write(&mut instance.buffer[instance.used..]);
        instance.used += prepared.pair.len();
        instance.count += 1;
        instance.last = self.sequence;
        let lane = instance.lanes;
        set_lane(&mut instance.filters, &self.shape, key.digest, lane);
    }

    /// Puts a pair in, or removes a key.
    pub fn put(&mut self, key: Hashed<'_>, value: Option<&[u8]>) -> Result<()> {
        let prepared = self.prepare(key, value)?;
        self.commit(key, &prepared);
        Ok(())
    }

    /// Writes the buffer of an instance as a data page and, when that was the last one of its filter page, this too.
    fn flush(&mut self, number: usize) -> Result<()> {
        let instance = &mut self.instances[number];
        let (owner, count, sequence) = (number as u32, instance.count, instance.last);
        let header = Header { sort: Sort::Data, owner, count, sequence, extra: 0 };
        let page = self.pages.append(header, &mut instance.buffer)?;
        self.meters.writes.add(1);
        self.data_pages += 1;
        instance.add_page(page);
        instance.clear_buffer();
        if instance.lanes == LANES { self.write_chain(number) } else { Ok(()) }
    }

    fn write_chain(&mut self, number: usize) -> Result<()> {
        let instance = &mut self.instances[number];
        let (owner, sequence) = (number as u32, instance.last);
        let header = Header { sort: Sort::Chain, owner, count: LANES, sequence, extra: 0 };
        let page = self.pages.append(header, &mut instance.filters)?;
        self.meters.writes.add(1);
        instance.add_chain(page);
        Ok(())
    }

    /// Takes in a page that lies behind those that are known: what has become of the buffer of its instance, or of its filters.
    pub fn recover_page(&mut self, number: u64, header: Header, page: &[u8], hashing: &Hashing) -> Result<()> {
        let owner = header.owner as usize;
        match header.sort {
            Sort::Data => {
                self.add_data(owner, number, page, header, hashing)?;
                let instance = &mut self.instances[owner];
                instance.clear_buffer();
                instance.last = header.sequence;
            }
            Sort::Chain => self.instances[owner].add_chain(number),
            Sort::Overflow | Sort::Bits => {}
        }
        self.sequence = self.sequence.max(header.sequence);
        Ok(())
    }

    /// Whether a page can be the next one.
    pub fn fits(&self, header: &Header, page: &[u8]) -> bool {
        let Some(instance) = self.instances.get(header.owner as usize) else { return false };
        match header.sort {
            Sort::Data => instance.lanes < LANES && header.count <= self.shape.pairs,
            Sort::Chain => instance.lanes == LANES && page[HEADER..] == instance.filters[HEADER..],
            Sort::Overflow => true,
            Sort::Bits => false,
        }
    }

    /// Makes the filter of a data page, in the next free lane.
    fn add_data(&mut self, owner: usize, number: u64, page: &[u8], header: Header, hashing: &Hashing) -> Result<()> {
        let mut digests = Vec::new();
        for pair in pairs(page, HEADER, header.count) {
            digests.push(match pair?.1 {
                Pair::Here { key, .. } => hashing.digest(key),
                Pair::Elsewhere(spilled) => hashing.digest(&self.spilled(&spilled)?.0),
            });
        }
        let instance = &mut self.instances[owner];
        // The buffer's filter was in this lane; whatever it held, the page has now.
        let spare = !below(instance.lanes);
        for at in (WORDS..WORDS + 4 * Shape::positions(self.shape.page) as usize).step_by(4) {
            let word = u32_at(&instance.filters, at) & !spare;
            instance.filters[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let lane = instance.lanes;
        digests.iter().for_each(|&digest| set_lane(&mut instance.filters, &self.shape, digest, lane));
        instance.add_page(number);
        self.data_pages += 1;
        Ok(())
    }

    /// Restores an instance: its chain, the data pages that are in none yet, and its buffer.
    pub fn restore(
        &mut self,
        owner: usize,
        (chain, pages): (Vec<u64>, Vec<u64>),
        (buffered, count): (&[u8], u32),
        last: u64,
        hashing: &Hashing,
    ) -> Result<()> {
        if pages.len() > LANES as usize || count > self.shape.pairs || buffered.len() > self.shape.page - HEADER {
            return Err(Error::corrupt("an instance", "one of these settings", "a larger one"));
        }
        self.data_pages += chain.len() as u64 * u64::from(LANES);
        self.instances[owner].chain = chain;
        for number in pages {
            let (header, page) = self.pages.with(number, |header, page| Ok((header, page.to_vec())))?;
            if header.sort != Sort::Data {
                return Err(not_a("data", number, header.sort));
            }
            self.add_data(owner, number, &page, header, hashing)?;
        }
        let mut digests = Vec::new();
        for pair in pairs(buffered, 0, count) {
            digests.push(match pair?.1 {
                Pair::Here { key, .. } => hashing.digest(key),
                Pair::Elsewhere(spilled) => hashing.digest(&self.spilled(&spilled)?.0),
            });
        }
        let instance = &mut self.instances[owner];
        instance.buffer[HEADER..HEADER + buffered.len()].copy_from_slice(buffered);
        (instance.used, instance.count, instance.last) = (HEADER + buffered.len(), count, last);
        let lane = instance.lanes;
        if lane == LANES && count > 0 {
            return Err(Error::corrupt("a buffer", "an empty one beside a full filter page", count));
        }
        digests.iter().for_each(|&digest| set_lane(&mut instance.filters, &self.shape, digest, lane));
        Ok(())
    }

    /// Hands over every key with its value, an instance after the other; what is remembered meanwhile are the keys of one.
    pub fn for_each(&self, mut f: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        for instance in &self.instances {
            let mut seen = HashSet::new();
            self.visit(&instance.buffer, instance.count, &mut seen, &mut f)?;
            self.visit_lanes(&instance.filters, instance.lanes, &mut seen, &mut f)?;
            for &number in instance.chain.iter().rev() {
                self.meters.chain_reads.add(1);
                self.pages.with(number, |header, filters| match header.sort {
                    Sort::Chain => self.visit_lanes(filters, LANES, &mut seen, &mut f),
                    other => Err(not_a("chain", number, other)),
                })?;
            }
        }
        Ok(())
    }

    fn visit_lanes(
        &self,
        filters: &[u8],
        lanes: u32,
        seen: &mut HashSet<Vec<u8>>,
        f: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for lane in (0..lanes).rev() {
            self.meters.data_reads.add(1);
            self.with_data(address(filters, lane), |count, page| self.visit(page, count, seen, f))?;
        }
        Ok(())
    }

    fn visit(
        &self,
        page: &[u8],
        count: u32,
        seen: &mut HashSet<Vec<u8>>,
        f: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for pair in pairs(page, HEADER, count) {
            let (key, value) = match pair?.1 {
                Pair::Here { key, value } => (key.to_vec(), value.map(<[u8]>::to_vec)),
                Pair::Elsewhere(spilled) => {
                    let (key, value) = self.spilled(&spilled)?;
                    (key, (!spilled.is_removed).then_some(value))
                }
            };
            if seen.insert(key.clone())
                && let Some(value) = value
            {
                f(&key, &value)?;
            }
        }
        Ok(())
    }

    /// The same pairs in new pages, without those that were replaced or removed, split among this many instances; and how many
    /// there are.
    pub fn rewritten<Q: Pages>(&self, pages: Q, instances: u64, hashing: &Hashing) -> Result<(Engine<Q>, u64)> {
        let mut new = Engine::new(Shape { instances, ..self.shape }, pages)?;
        self.for_each(|key, value| new.put(Hashed { digest: hashing.digest(key), bytes: key }, Some(value)))?;
        let keys = new.sequence;
        // Numbers of operations never go back.
        new.sequence = keys.max(self.sequence);
        Ok((new, keys))
    }

    /// The buffers, two pages for each instance.
    pub fn buffers(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.instances.len() * 2 * self.shape.page);
        self.instances.iter().for_each(|instance| instance.write(&mut bytes));
        bytes
    }

    /// A store of pages and [buffers](Self::buffers) that others have written. Every pair is looked at: whatever the bytes are, what
    /// is accepted can be read and changed. Also the number of keys.
    pub fn from_parts(shape: Shape, pages: P, buffers: &[u8], sequence: u64) -> Result<(Self, u64)> {
        let expected = u128::from(shape.instances) * 2 * shape.page as u128;
        if buffers.len() as u128 != expected {
            return Err(Error::corrupt("bytes of the buffers", expected, buffers.len()));
        }
        let instances = buffers
            .chunks_exact(2 * shape.page)
            .map(|bytes| Instance::read(&shape, bytes))
            .collect::<Result<Vec<_>>>()?;
        let mut store = Engine { shape, pages, instances, sequence, data_pages: 0, meters: Meters::default() };
        for number in 0..store.pages.len() {
            let header = store.pages.with(number, |header, _| Ok(header))?;
            let owner = store.instances.get_mut(header.owner as usize);
            let owner = owner.ok_or_else(|| Error::corrupt("the owner of a page", "an instance", header.owner))?;
            match header.sort {
                Sort::Chain => owner.chain.push(number),
                Sort::Data => store.data_pages += 1,
                Sort::Overflow => {}
                Sort::Bits => return Err(not_a("data", number, header.sort)),
            }
        }
        store.check_spilled()?;
        let mut keys = 0;
        store.for_each(|_, _| {
            keys += 1;
            Ok(())
        })?;
        store.meters = Meters::default();
        Ok((store, keys))
    }

    /// No two pairs lie in the same overflow pages: otherwise a short file could make its reader hold the same bytes many times.
    fn check_spilled(&self) -> Result<()> {
        let mut left = self.pages.len() * self.shape.page as u64;
        let mut take = |page: &[u8], count| {
            for pair in pairs(page, HEADER, count) {
                if let Pair::Elsewhere(spilled) = pair?.1 {
                    let rest = left.checked_sub(spilled.len());
                    left = rest.ok_or_else(|| Error::corrupt("overflow pages", "one pair in each", "several"))?;
                }
            }
            Ok(())
        };
        for number in 0..self.pages.len() {
            self.pages.with(number, |header, page| match header.sort {
                Sort::Data => take(page, header.count),
                _ => Ok(()),
            })?;
        }
        self.instances.iter().try_for_each(|instance| take(&instance.buffer, instance.count))
    }
}

fn not_a(expected: &str, number: u64, found: Sort) -> Error {
    Error::corrupt(format!("page {number}"), format!("a {expected} page"), format!("{found:?}"))
}
