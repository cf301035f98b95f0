//! The forest itself, wherever its pages lie.
//!
//! ```text
//! path(x): block = h_b(x) mod lambda, page = h_p(x) mod delta; then, level by level, child h_c(x, level) mod sigma, same page
//! insert:   down the path to the first page that is not full; a block is made where the path ends
//! contains: down the path to the first page that has the key's bits; no further than the first page that is not full
//! ```

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::hash::{Digest, fastrange, mix, probes};
use crate::parts::pages::{Header, MOST_OPERATIONS, Meter, Sort};

/// The bytes before the bits of a page.
pub const BITS_AT: usize = 96;

/// The sizes of a forest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Bytes of a page.
    pub page: usize,
    /// lambda, blocks of the first level.
    pub blocks: u64,
    /// delta, pages of a block.
    pub pages: u64,
    /// sigma, children of a block.
    pub children: u64,
    pub hashes: u32,
    /// c, keys of a page before it is full.
    pub capacity: u64,
    /// Pages that are held in memory before they are written.
    pub buffer: usize,
}

impl Shape {
    /// Bits of a page's filter.
    pub fn bits(page: usize) -> u64 {
        (page - BITS_AT) as u64 * 8
    }
}

/// Pages at fixed places, which can be written again.
pub trait Slots {
    /// Reads the page of this place; `false` when it is damaged and nothing of it can be trusted.
    fn read(&self, place: u64, page: &mut [u8]) -> Result<bool>;

    /// Writes some pages of one block, in order.
    fn write(&mut self, pages: &mut [(u64, Header, Vec<u8>)]) -> Result<()>;
}

/// What is known of a page without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Known {
    /// Keys that set bits in it.
    pub count: u32,
    /// Whether it is damaged: then it answers maybe for every key.
    pub is_lost: bool,
}

/// The forest.
#[derive(Clone, Debug)]
pub struct Trees<S> {
    pub shape: Shape,
    pub slots: S,
    /// The places of blocks by their numbers; those of the first level are 1 to lambda.
    places: BTreeMap<u64, u64>,
    /// The numbers, in the order in which the blocks were made.
    pub numbers: Vec<u64>,
    pub known: Vec<Known>,
    /// Pages that are not written yet, by place.
    pub buffer: BTreeMap<u64, (u64, Vec<u8>)>,
    /// Insertions so far.
    pub sequence: u64,
    pub reads: Meter,
    pub writes: Meter,
}

/// Where a key goes: a page of each level.
pub struct Path {
    digest: Digest,
    level: u32,
    /// The number of the first block of the level, and how many there are.
    first: u64,
    width: u64,
    block: u64,
    pub page: u64,
}

impl Path {
    /// Independent digits of the key's hash.
    fn digit(digest: Digest, level: u32, radix: u64) -> u64 {
        fastrange(
            mix(digest.h2 ^ mix(digest.h1.wrapping_add(u64::from(level).wrapping_mul(0x9E37_79B9_7F4A_7C15)))),
            radix,
        )
    }

    pub fn new(shape: &Shape, digest: Digest) -> Self {
        let block = Self::digit(digest, 0, shape.blocks);
        let page = Self::digit(digest, u32::MAX, shape.pages);
        Path { digest, level: 1, first: 1, width: shape.blocks, block, page }
    }

    /// The number of its block: those of a level follow those of the level before, and the children of a block each other.
    pub fn number(&self) -> u64 {
        self.first.saturating_add(self.block)
    }

    fn descend(&mut self, children: u64) {
        let child = Self::digit(self.digest, self.level, children);
        self.first = self.first.saturating_add(self.width);
        self.width = self.width.saturating_mul(children);
        self.block = self.block.saturating_mul(children).saturating_add(child);
        self.level += 1;
    }
}

fn has(page: &[u8], digest: Digest, hashes: u32) -> bool {
    probes(digest, Shape::bits(page.len()), hashes).all(|bit| page[BITS_AT + (bit / 8) as usize] >> (bit % 8) & 1 == 1)
}

impl<S: Slots> Trees<S> {
    /// The first level, empty.
    pub fn new(shape: Shape, slots: S) -> Result<Self> {
        let mut trees = Trees {
            shape,
            slots,
            places: BTreeMap::new(),
            numbers: Vec::new(),
            known: Vec::new(),
            buffer: BTreeMap::new(),
            sequence: 0,
            reads: Meter::default(),
            writes: Meter::default(),
        };
        (1..=shape.blocks).try_for_each(|number| trees.add_block(number))?;
        Ok(trees)
    }

    /// Adds an empty block.
    pub fn add_block(&mut self, number: u64) -> Result<()> {
        let bytes = u128::from(self.shape.pages) * self.shape.page as u128;
        let too_large = || Error::TooLarge { what: "the forest".into(), bytes };
        let pages = usize::try_from(self.shape.pages).map_err(|_| too_large())?;
        self.known.try_reserve(pages).map_err(|_| too_large())?;
        self.known.resize(self.known.len() + pages, Known::default());
        self.places.insert(number, self.numbers.len() as u64);
        self.numbers.push(number);
        Ok(())
    }

    /// The level of a block, from 1, with the number of its first block and how many it can have.
    fn level(&self, number: u64) -> (u32, u64, u64) {
        let (mut level, mut first, mut width) = (1, 1u64, self.shape.blocks);
        while number >= first.saturating_add(width) && first < u64::MAX / 4 {
            (level, first, width) = (level + 1, first.saturating_add(width), width.saturating_mul(self.shape.children));
        }
        (level, first, width)
    }

    /// The numbers of a block's children.
    fn children(&self, number: u64) -> std::ops::Range<u64> {
        let (_, first, width) = self.level(number);
        let child = first.saturating_add(width).saturating_add((number - first).saturating_mul(self.shape.children));
        child..child.saturating_add(self.shape.children)
    }

    /// Whether the block can be added: it is not there, and its parent is.
    pub fn can_add(&self, number: u64) -> bool {
        let (level, first, width) = self.level(number);
        if self.places.contains_key(&number) || number < first || number - first >= width || first >= u64::MAX / 4 {
            return false;
        }
        let above = first - width / self.shape.children;
        level > 1 && self.places.contains_key(&(above + (number - first) / self.shape.children))
    }

    /// Adds the blocks of a forest that others have written; the first level is there.
    pub fn add_all(&mut self, numbers: &[u64]) -> Result<()> {
        let first = self.numbers.len();
        if numbers.get(..first) != Some(&self.numbers) {
            return Err(Error::corrupt("the blocks of the first level", first, numbers.len()));
        }
        for &number in &numbers[first..] {
            if !self.can_add(number) {
                return Err(Error::corrupt("the number of a block", "a child of one before it", number));
            }
            self.add_block(number)?;
        }
        Ok(())
    }

    /// The number of the block at a place.
    pub fn number_at(&self, place: usize) -> u64 {
        self.numbers[place / self.shape.pages as usize]
    }

    /// The place of the path's page, if the block is there.
    fn place(&self, path: &Path) -> Option<u64> {
        self.places.get(&path.number()).map(|place| place * self.shape.pages + path.page)
    }

    /// Hands the page at a place over, from the buffer or by one read; an error is a page that is lost.
    fn with_page<R>(&self, place: u64, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if let Some((_, page)) = self.buffer.get(&place) {
            return Some(f(page));
        }
        let mut page = vec![0; self.shape.page];
        self.reads.add(1);
        match self.slots.read(place, &mut page) {
            Ok(true) => Some(f(&page)),
            Ok(false) | Err(_) => None,
        }
    }

    /// Whether the key may be there.
    pub fn contains(&self, digest: Digest) -> bool {
        let mut path = Path::new(&self.shape, digest);
        while let Some(place) = self.place(&path) {
            let Known { count, is_lost } = self.known[place as usize];
            if is_lost {
                return true;
            }
            // An empty page need not be read.
            if count > 0 && self.with_page(place, |page| has(page, digest, self.shape.hashes)).unwrap_or(true) {
                return true;
            }
            if u64::from(count) < self.shape.capacity {
                return false;
            }
            path.descend(self.shape.children);
        }
        false
    }

    /// Puts a key in.
    pub fn insert(&mut self, digest: Digest) -> Result<()> {
        let mut path = Path::new(&self.shape, digest);
        let place = loop {
            match self.place(&path) {
                Some(place) if self.known[place as usize].is_lost => return Ok(()),
                Some(place) if u64::from(self.known[place as usize].count) < self.shape.capacity => break place,
                Some(_) => path.descend(self.shape.children),
                None => self.add_block(path.number())?,
            }
        };
        if !self.buffer.contains_key(&place) {
            if self.buffer.len() >= self.shape.buffer {
                self.flush_block()?;
            }
            let page = if self.known[place as usize].count == 0 {
                Some((0, vec![0; self.shape.page]))
            } else {
                self.with_page(place, |page| (crate::parts::pages::u64_at(page, 16), page.to_vec()))
            };
            let Some(page) = page else {
                // From now on it answers maybe for every key, this one too.
                self.known[place as usize].is_lost = true;
                return Ok(());
            };
            self.buffer.insert(place, page);
        }
        self.sequence = (self.sequence + 1).min(MOST_OPERATIONS);
        let Some((changed, page)) = self.buffer.get_mut(&place) else { return Ok(()) };
        if has(page, digest, self.shape.hashes) {
            return Ok(());
        }
        for bit in probes(digest, Shape::bits(page.len()), self.shape.hashes) {
            page[BITS_AT + (bit / 8) as usize] |= 1 << (bit % 8);
        }
        *changed = self.sequence;
        self.known[place as usize].count += 1;
        Ok(())
    }

    /// The header of the page at a place.
    pub fn header(&self, place: u64, sequence: u64) -> Header {
        let (block, page) = (place / self.shape.pages, place % self.shape.pages);
        Header {
            sort: Sort::Bits,
            owner: page as u32,
            count: self.known[place as usize].count,
            sequence,
            extra: self.numbers[block as usize],
        }
    }

    /// Writes the pages of the block that has the most that are not written.
    fn flush_block(&mut self) -> Result<()> {
        let mut dirty: BTreeMap<u64, u64> = BTreeMap::new();
        for place in self.buffer.keys() {
            *dirty.entry(place / self.shape.pages).or_default() += 1;
        }
        let Some((&block, _)) = dirty.iter().max_by_key(|(_, count)| **count) else { return Ok(()) };
        self.write_block(block)
    }

    fn write_block(&mut self, block: u64) -> Result<()> {
        let range = block * self.shape.pages..(block + 1) * self.shape.pages;
        let pages = self.buffer.range(range.clone());
        let mut pages: Vec<_> =
            pages.map(|(&place, (changed, page))| (place, self.header(place, *changed), page.clone())).collect();
        self.slots.write(&mut pages)?;
        self.writes.add(pages.len() as u64);
        pages.iter().for_each(|(place, ..)| drop(self.buffer.remove(place)));
        Ok(())
    }

    /// Writes all that is not written.
    pub fn flush(&mut self) -> Result<()> {
        while let Some(place) = self.buffer.keys().next().copied() {
            self.write_block(place / self.shape.pages)?;
        }
        Ok(())
    }

    /// Levels that there are.
    pub fn levels(&self) -> u32 {
        self.places.keys().next_back().map_or(1, |&last| self.level(last).0)
    }

    /// Adds the children of every block of the last level, so that there is room for more keys.
    pub fn grow(&mut self) -> Result<()> {
        let last = self.levels();
        let parents: Vec<u64> = self.places.keys().copied().filter(|&number| self.level(number).0 == last).collect();
        for parent in parents {
            self.children(parent).try_for_each(|number| self.add_block(number))?;
        }
        Ok(())
    }

    /// The bytes of every page, in order, sealed as they would be written.
    pub fn for_each_page(&self, mut f: impl FnMut(&mut Vec<u8>)) {
        let mut page = vec![0; self.shape.page];
        for place in 0..self.known.len() as u64 {
            page.fill(0);
            if let Some((changed, buffered)) = self.buffer.get(&place) {
                page.copy_from_slice(buffered);
                self.header(place, *changed).seal(place, &mut page);
            } else if self.known[place as usize].count > 0 || self.known[place as usize].is_lost {
                let _ = self.slots.read(place, &mut page);
            }
            f(&mut page);
        }
    }

    /// The mean over all keys that no page on their path says yes, and the share of bits that are set.
    pub fn missed(&self) -> (f64, f64) {
        let mut fills = Vec::with_capacity(self.known.len());
        let bits = Shape::bits(self.shape.page) as f64;
        let mut place = 0;
        self.for_each_page(|page| {
            let ones: u32 = page[BITS_AT..].iter().map(|byte| byte.count_ones()).sum();
            fills.push(if self.known[place].is_lost { 1.0 } else { f64::from(ones) / bits });
            place += 1;
        });
        let fill = fills.iter().sum::<f64>() / fills.len().max(1) as f64;
        // Children have larger numbers than their parents: from the last block to the first.
        let (delta, sigma) = (self.shape.pages as usize, self.shape.children);
        let mut missed: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (&number, &place) in self.places.iter().rev() {
            let of = (0..delta).map(|page| {
                let at = place as usize * delta + page;
                let here = 1.0 - fills[at].powi(self.shape.hashes as i32);
                let ends = self.known[at].is_lost || u64::from(self.known[at].count) < self.shape.capacity;
                if ends || here == 0.0 {
                    return here;
                }
                let below = missed.range(self.children(number));
                let (there, sum) = below.fold((0, 0.0), |(there, sum), (_, pages)| (there + 1, sum + pages[page]));
                here * (sum + (sigma - there) as f64) / sigma as f64
            });
            let of = of.collect();
            missed.insert(number, of);
        }
        let roots = missed.range(1..=self.shape.blocks).flat_map(|(_, pages)| pages);
        (roots.sum::<f64>() / (self.shape.blocks * self.shape.pages) as f64, fill)
    }
}
