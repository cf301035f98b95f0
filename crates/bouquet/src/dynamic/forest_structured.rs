#![doc = include_str!("forest_structured.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::pages::{Header, MOST_OPERATIONS, u64_at};
use crate::shell::{ByRate, Expand, Fields, Filter, Hashed, Mechanism, Put, Settings, Test, fields};
use crate::theory::paged::{self, Forest};

pub mod file;
mod trees;

use trees::{Known, Shape, Slots, Trees};

/// The registry's row.
pub const KIND: Kind = kind!(ForestStructured);

/// A forest of page-sized filters whose pages lie in memory; [`ForestFile`](file::ForestFile) has the same in a file.
///
/// ```
/// use bouquet::ForestStructured;
/// let mut filter = ForestStructured::with_rate(100_000, 0.01)?;
/// filter.insert("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert!(filter.page_reads("thistle") <= filter.levels().into());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type ForestStructured = Filter<Forested>;

/// The number of the kind, in frames and in manifests.
const FACTS_NUMBER: u16 = 105;

const PAGE: Parameter = Parameter::count("page", "bytes of a page, a multiple of 64", 256, 1 << 16).or(4096);
const LEVELS: Parameter = Parameter::count(
    "levels",
    "levels that the items are to fill: the rate is that of a lookup in one full page of each",
    1,
    16,
)
.or(3);
const BLOCKS: Parameter =
    Parameter::count("blocks", "blocks of the first level; as many as the items need, or 4", 1, 1 << 32);
const PAGES: Parameter =
    Parameter::count("pages", "pages of a block; as many as the items need, at most 64", 1, 1 << 20);
const CHILDREN: Parameter = Parameter::count("children", "children of a block", 2, 1 << 10).or(4);
const CAPACITY: Parameter = Parameter::count(
    "keys-per-page",
    "keys of a page before it is full; as many as fill half of its bits if not given",
    1,
    1 << 30,
);
const BUFFER: Parameter =
    Parameter::count("buffer", "pages that are held in memory before those of a block are written", 1, 1 << 32).or(256);

/// The settings of a forest.
///
/// ```
/// use bouquet::{ForestStructured, ForestStructuredSettings};
/// let asked = ForestStructuredSettings { items: Some(10_000_000), fpr: Some(0.01), ..Default::default() };
/// let settings = ForestStructured::with(asked)?.settings();
/// assert_eq!((settings.blocks, settings.pages, settings.hashes, settings.capacity), (Some(4), Some(64), Some(9), Some(2_464)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForestStructuredSettings {
    /// Keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many.
    pub fpr: Option<f64>,
    /// Bytes of a page.
    pub page: Option<u64>,
    /// Levels that the items fill.
    pub levels: Option<u32>,
    /// Blocks of the first level.
    pub blocks: Option<u64>,
    /// Pages of a block.
    pub pages: Option<u64>,
    /// Children of a block.
    pub children: Option<u64>,
    /// k.
    pub hashes: Option<u32>,
    /// Keys of a page.
    pub capacity: Option<u64>,
    /// Pages in memory.
    pub buffer: Option<u64>,
}

impl Settings for ForestStructuredSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        page: PAGE,
        levels: LEVELS,
        blocks: BLOCKS,
        pages: PAGES,
        children: CHILDREN,
        hashes: common::HASHES,
        capacity: CAPACITY,
        buffer: BUFFER,
    ];
}

impl ByRate for ForestStructuredSettings {}

/// The shape of settings, resolved or not.
fn shape_of(settings: &ForestStructuredSettings) -> Result<Shape> {
    settings.check()?;
    let settings = Forested::resolve(settings)?;
    settings.check()?;
    shape(&settings)
}

/// The shape of resolved settings.
fn shape(settings: &ForestStructuredSettings) -> Result<Shape> {
    Ok(Shape {
        page: PAGE.need(settings.page)? as usize,
        blocks: BLOCKS.need(settings.blocks)?,
        pages: PAGES.need(settings.pages)?,
        children: CHILDREN.need(settings.children)?,
        hashes: common::HASHES.need(settings.hashes)?,
        capacity: CAPACITY.need(settings.capacity)?,
        buffer: usize::try_from(BUFFER.need(settings.buffer)?).unwrap_or(usize::MAX),
    })
}

/// What theory knows of a shape.
fn theory(shape: &Shape) -> Forest {
    Forest {
        roots: shape.blocks.saturating_mul(shape.pages),
        children: shape.children,
        bits: Shape::bits(shape.page),
        hashes: shape.hashes,
        capacity: shape.capacity,
    }
}

/// Pages in memory, each at its place.
#[derive(Clone, Debug)]
struct MemorySlots {
    size: usize,
    bytes: Vec<u8>,
}

impl Slots for MemorySlots {
    /// They were looked at when they came here: those that are lost are known.
    fn read(&self, place: u64, page: &mut [u8]) -> Result<bool> {
        let start = place as usize * self.size;
        let there = self.bytes.get(start..start + self.size);
        page.copy_from_slice(there.ok_or_else(|| Error::corrupt("the place of a page", self.bytes.len(), start))?);
        Ok(true)
    }

    fn write(&mut self, pages: &mut [(u64, Header, Vec<u8>)]) -> Result<()> {
        for (place, header, page) in pages {
            let start = *place as usize * self.size;
            header.seal(*place, page);
            self.bytes.resize(self.bytes.len().max(start + self.size), 0);
            self.bytes[start..start + self.size].copy_from_slice(page);
        }
        Ok(())
    }
}

/// Page-sized filters in trees of blocks.
#[derive(Clone, Debug)]
pub struct Forested {
    trees: Trees<MemorySlots>,
}

impl Forested {
    fn page_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.trees.known.len() * self.trees.shape.page);
        self.trees.for_each_page(|page| bytes.extend_from_slice(page));
        bytes
    }
}

/// What is in them counts, and not which pages wait to be written.
impl PartialEq for Forested {
    fn eq(&self, other: &Self) -> bool {
        let parts = |this: &Self| (this.trees.shape, this.trees.sequence, this.trees.numbers.clone());
        parts(self) == parts(other) && self.page_bytes() == other.page_bytes()
    }
}

impl Mechanism for Forested {
    const FACTS: Facts = Facts {
        id: "forest-structured",
        number: FACTS_NUMBER,
        aliases: &["forest"],
        family: "dynamic",
        text: Text::new(include_str!("forest_structured.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const SPECIALS: &'static [Special<Filter<Self>>] =
        &[Special::ask("page-reads", Takes::Key, "the pages that a lookup of the key reads", |filter, argument| {
            Ok(filter.page_reads(argument.key()?).into())
        })];

    type Settings = ForestStructuredSettings;

    fn resolve(asked: &ForestStructuredSettings) -> Result<ForestStructuredSettings> {
        let page = PAGE.need(asked.page)?;
        if !page.is_multiple_of(64) {
            return Err(Error::parameter("page", "a multiple of 64 bytes", page));
        }
        let levels = LEVELS.need(asked.levels)?;
        let bits = Shape::bits(page as usize);
        let rate = paged::page_rate(common::FPR.need(asked.fpr)?, levels);
        let hashes = asked.hashes.unwrap_or(paged::page_size(bits, rate).0);
        let capacity =
            asked.capacity.unwrap_or(((bits as f64 * std::f64::consts::LN_2 / f64::from(hashes)) as u64).max(1));
        let children = CHILDREN.need(asked.children)?;
        let one = Forest { roots: 1, children, bits, hashes, capacity };
        // Pages of the first level, in blocks of at most 64.
        let roots = asked.items.map_or(256, |items| items.div_ceil(one.holds(levels).max(1)).max(1));
        let pages = asked.pages.unwrap_or(roots.min(64));
        let blocks = asked.blocks.unwrap_or(roots.div_ceil(pages));
        Ok(ForestStructuredSettings {
            items: asked.items,
            fpr: asked.fpr,
            page: Some(page),
            levels: Some(levels),
            blocks: Some(blocks),
            pages: Some(pages),
            children: Some(children),
            hashes: Some(hashes),
            capacity: Some(capacity),
            buffer: Some(BUFFER.need(asked.buffer)?),
        })
    }

    fn plan(settings: &ForestStructuredSettings) -> Result<Plan> {
        let shape = shape(settings)?;
        let forest = theory(&shape);
        let block = u128::from(shape.pages) * shape.page as u128 + 8;
        let mut blocks = u128::from(shape.blocks);
        if let Some(items) = settings.items {
            // Every level that the items reach, whole.
            let levels = (1..64).find(|&levels| forest.holds(levels) >= items).unwrap_or(64);
            let mut width = blocks;
            for _ in 1..levels {
                width = width.saturating_mul(shape.children.into());
                blocks = blocks.saturating_add(width);
            }
        }
        let bytes = blocks.saturating_mul(block);
        let bits = u64::try_from(bytes.saturating_mul(8)).ok().filter(|&bits| bits <= crate::theory::MAX_BITS);
        let bits = bits.ok_or(Error::TooLarge { what: "the filter".into(), bytes })?;
        let fpr = settings.items.map(|items| forest.rate(items));
        Ok(Plan { bits, hashes: shape.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &ForestStructuredSettings, _: &Hashing) -> Result<Self> {
        let shape = shape(settings)?;
        let bytes = u128::from(shape.blocks) * u128::from(shape.pages) * shape.page as u128;
        if bytes > 1 << 46 {
            return Err(Error::TooLarge { what: "the filter".into(), bytes });
        }
        Ok(Forested { trees: Trees::new(shape, MemorySlots { size: shape.page, bytes: Vec::new() })? })
    }

    fn domain(settings: &ForestStructuredSettings) -> String {
        let [page, blocks, pages] = [settings.page, settings.blocks, settings.pages].map(|number| number.unwrap_or(0));
        format!("forest-structured {page} {blocks} {pages} {}", settings.hashes.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let shape = self.trees.shape;
        // The pages, and the numbers of their blocks.
        let bits = (self.trees.known.len() as u64 * shape.page as u64 + 8 * self.trees.numbers.len() as u64) * 8;
        let (missed, fill) = self.trees.missed();
        Stats { items, bits, hashes: shape.hashes, fill: Some(fill), fpr: Some(1.0 - missed), honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let lost = self.trees.known.iter().filter(|known| known.is_lost).count() as u64;
        let figures = [
            ("levels", self.trees.levels().into()),
            ("blocks", self.trees.numbers.len() as u64),
            ("lost pages", lost),
            ("page reads", self.trees.reads.get()),
            ("page writes", self.trees.writes.get()),
        ];
        figures.map(|(name, value)| Figure { name, value: Setting::Count(value) }).to_vec()
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(theory(&self.trees.shape).rate(items)), ..Rates::default() }
    }

    /// State: items, insertions that were made, 8 bytes each. Stores: the numbers of the blocks, 8 bytes each; their pages.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.trees.sequence);
        encoder.bytes(self.trees.numbers.iter().flat_map(|number| number.to_le_bytes()).collect());
        encoder.bytes(self.page_bytes());
    }

    fn decode(settings: &ForestStructuredSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = shape(settings)?;
        let (items, sequence) = (decoder.state().u64()?, decoder.state().u64()?);
        let listed = decoder.bytes()?;
        if !listed.len().is_multiple_of(8) {
            return Err(Error::corrupt("bytes of the blocks' numbers", "a multiple of 8", listed.len()));
        }
        let numbers: Vec<u64> = listed.chunks_exact(8).map(|bytes| u64_at(bytes, 0)).collect();
        let bytes = decoder.bytes()?;
        let block = u128::from(shape.pages) * shape.page as u128;
        if numbers.len() as u128 * block != bytes.len() as u128 || (numbers.len() as u64) < shape.blocks {
            return Err(Error::corrupt("bytes of the pages", numbers.len() as u128 * block, bytes.len()));
        }
        let mut trees = Trees::new(shape, MemorySlots { size: shape.page, bytes: bytes.to_vec() })?;
        trees.add_all(&numbers)?;
        trees.sequence = sequence.min(MOST_OPERATIONS);
        for (place, page) in bytes.chunks_exact(shape.page).enumerate() {
            let is_empty = page.iter().all(|&byte| byte == 0);
            let header = Header::read(place as u64, page);
            let header = header.ok().filter(|header| header.extra == trees.number_at(place) && header.count > 0);
            trees.known[place] = match header {
                _ if is_empty => Known::default(),
                Some(header) => Known { count: header.count, is_lost: false },
                // What is damaged is not believed: it may hold any key.
                None => Known { count: 0, is_lost: true },
            };
        }
        Ok((Forested { trees }, items))
    }
}

impl Test for Forested {
    fn test(&self, key: Hashed<'_>) -> bool {
        self.trees.contains(key.digest)
    }
}

impl Put for Forested {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let is_new = !self.trees.contains(key.digest);
        self.trees.insert(key.digest)?;
        Ok(is_new)
    }
}

impl Expand for Forested {
    fn capacity(&self) -> u64 {
        let shape = self.trees.shape;
        let one = Forest { roots: 1, ..theory(&shape) };
        (self.trees.known.len() as u64).saturating_mul(one.holds(1))
    }

    fn expand(&mut self) -> Result<()> {
        self.trees.grow()
    }
}

impl ForestStructured {
    /// A filter whose first level has this many blocks of 64 pages of this many bytes, at the default rate.
    ///
    /// ```
    /// use bouquet::ForestStructured;
    /// assert_eq!(ForestStructured::with_size(4, 4096)?.stats().bits, 4 * (64 * 4096 + 8) * 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(blocks: u64, page: u64) -> Result<Self> {
        let settings = ForestStructuredSettings { blocks: Some(blocks), page: Some(page), ..Default::default() };
        Self::with(settings)
    }

    /// The levels of blocks that there are: a lookup reads at most one page of each.
    ///
    /// ```
    /// use bouquet::{ForestStructured, ForestStructuredSettings};
    /// let small = ForestStructuredSettings { blocks: Some(1), pages: Some(1), page: Some(256), ..Default::default() };
    /// let mut filter = ForestStructured::with(small)?;
    /// for key in 0..1_000u64 {
    ///     filter.insert(&key)?;
    /// }
    /// assert!((2..6).contains(&filter.levels()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.mechanism.trees.levels()
    }

    /// The pages that a lookup of this key reads; those that wait in memory to be written are not read.
    ///
    /// ```
    /// use bouquet::ForestStructured;
    /// let mut filter = ForestStructured::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.page_reads("rose"), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn page_reads<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let before = self.mechanism.trees.reads.get();
        let _ = self.contains(key);
        self.mechanism.trees.reads.get() - before
    }
}

#[cfg(test)]
mod tests;
