#![doc = include_str!("shifting.md")]

use crate::error::Result;
use crate::kind::{Config, Kind, Setting, kind};
use crate::parts::bit_array::{BitArray, Design};
use crate::store::{BitStore, Counters};

mod association;
mod bits;
mod multiplicity;
mod shape;
mod structure;
mod table;
mod verbs;

pub use association::Classes;
use shape::Shape;
use table::Table;

/// The registry's row.
pub const KIND: Kind = kind!(Shifting);

/// The bits behind a base that one unaligned read of a word brings along: 64 less the 7 that may lie before it in its
/// byte.
pub const MAX_SPAN: u32 = 57;

/// What the offset of a key's bits means.
///
/// ```
/// use bouquet::counting::shifting::{Form, Shifting};
/// assert_eq!(Shifting::with_rate(100, 0.01)?.form(), Form::Membership);
/// assert_eq!(Form::Association.name(), "association");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing: it makes two bits of one.
    Membership,
    /// In which of two sets the key is.
    Association,
    /// How often the key is in.
    Multiplicity,
}

impl Form {
    const ALL: [Form; 3] = [Form::Membership, Form::Association, Form::Multiplicity];
    const NAMES: [&str; 3] = ["membership", "association", "multiplicity"];

    /// The word for it.
    ///
    /// ```
    /// assert_eq!(bouquet::counting::shifting::Form::Multiplicity.name(), "multiplicity");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(config: &Config) -> Self {
        let word = config.choice("form");
        Self::ALL.into_iter().find(|form| form.name() == word).unwrap_or(Form::Membership)
    }

    /// Hashed bases of a key with k bits.
    fn bases(self, hashes: u32) -> u32 {
        if self == Form::Membership { hashes / 2 } else { hashes }
    }
}

/// A shifting Bloom filter.
///
/// ```
/// use bouquet::counting::shifting::Shifting;
/// let mut filter = Shifting::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
///
/// let mut counts = Shifting::multiplicity(1_000, 0.001)?;
/// counts.insert_times("rose", 12)?;
/// assert_eq!(counts.count("rose").count, 12);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shifting {
    shape: Shape,
    /// The bits; the places are those of the bases.
    array: BitArray,
    /// How many keys have each bit, with which keys can move.
    counters: Option<Counters>,
    table: Option<Table>,
    /// Insertions less removals.
    items: u64,
    /// Insertions, and moves from one offset to another that left the old bits.
    inserted: u64,
    design: Design,
}

impl Shifting {
    /// A membership filter for `items` distinct keys whose false-positive rate is then `fpr`.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let filter = Shifting::with_rate(10_000, 0.01)?;
    /// assert!(filter.bits().len() < 98_000 && filter.hashes() % 2 == 0);
    /// assert!(Shifting::with_rate(10_000, 2.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        Self::of_form(Form::Membership, items, fpr)
    }

    /// A filter of two sets with `items` distinct keys in their union; an absent key seems to be in one of them with
    /// probability `fpr`.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::association(1_000, 0.001)?;
    /// filter.insert_into("rose", 0)?;
    /// filter.insert_into("lily", 1)?;
    /// assert_eq!((filter.classify("rose")?, filter.classify("lily")?), (vec![0], vec![1]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn association(items: u64, fpr: f64) -> Result<Self> {
        Self::of_form(Form::Association, items, fpr)
    }

    /// A filter of multiplicities up to 57 for `items` distinct keys; an absent key is counted with probability `fpr`.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// filter.insert_times("rose", 3)?;
    /// assert_eq!((filter.count("rose").count, filter.count("lily").count), (3, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn multiplicity(items: u64, fpr: f64) -> Result<Self> {
        Self::of_form(Form::Multiplicity, items, fpr)
    }

    fn of_form(form: Form, items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?.with("form", Setting::Choice(form.name()))?)
    }

    /// A filter of one form with `bits` positions of bases and `hashes` bits per key (even with membership).
    ///
    /// ```
    /// use bouquet::counting::shifting::{Form, Shifting};
    /// let filter = Shifting::with_size(Form::Membership, 1_000, 8)?;
    /// assert_eq!(filter.bits().len(), 1_057);
    /// assert!(Shifting::with_size(Form::Membership, 1_000, 7).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(form: Form, bits: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("bits", Setting::Count(bits))?;
        let config = config.with("hashes", Setting::Count(hashes.into()))?;
        Self::from_config(&config.with("form", Setting::Choice(form.name()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to another span and to
    /// counters.
    ///
    /// ```
    /// use bouquet::{counting::shifting::{KIND, Shifting}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("cells", "counters")?;
    /// let mut filter = Shifting::from_config(&config)?;
    /// filter.insert("rose")?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::plan(config)?;
        let bits = BitStore::zeroed(shape.cells())?;
        let counters = shape.width.map(|width| Counters::zeroed(shape.cells(), width)).transpose()?;
        let table = shape.has_table.then(Table::new);
        Ok(Self::with_parts(config, shape, bits, counters, table, [0; 2]))
    }

    fn with_parts(
        config: &Config,
        shape: Shape,
        bits: BitStore,
        counters: Option<Counters>,
        table: Option<Table>,
        [items, inserted]: [u64; 2],
    ) -> Self {
        let kind = format!("{} {} {}", KIND.facts().id, shape.form.name(), shape.span);
        let array = BitArray::new(&kind, shape.places, config.hashing(), bits);
        Shifting { shape, array, counters, table, items, inserted, design: Design::of(config) }
    }

    /// What offsets mean.
    ///
    /// ```
    /// use bouquet::counting::shifting::{Form, Shifting};
    /// assert_eq!(Shifting::multiplicity(100, 0.01)?.form(), Form::Multiplicity);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn form(&self) -> Form {
        self.shape.form
    }

    /// The bits: those of the bases' positions, and the span behind them.
    ///
    /// ```
    /// use bouquet::counting::shifting::{Form, Shifting};
    /// let mut filter = Shifting::with_size(Form::Multiplicity, 1_000, 8)?;
    /// filter.insert_times("rose", 5)?;
    /// assert_eq!(filter.bits().count_ones(), 8, "k bits, however often");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.array.bits
    }

    /// Bits per key.
    ///
    /// ```
    /// use bouquet::counting::shifting::{Form, Shifting};
    /// assert_eq!(Shifting::with_size(Form::Membership, 1_000, 8)?.hashes(), 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.shape.hashes
    }

    /// Words that a query of a present key reads: half of the bits with membership.
    ///
    /// ```
    /// use bouquet::counting::shifting::{Form, Shifting};
    /// assert_eq!(Shifting::with_size(Form::Membership, 1_000, 8)?.reads(), 4);
    /// assert_eq!(Shifting::with_size(Form::Multiplicity, 1_000, 8)?.reads(), 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn reads(&self) -> u32 {
        self.shape.form.bases(self.shape.hashes)
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::with_rate(100, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// filter.insert_times("rose", 4)?;
    /// assert_eq!(Shifting::from_bytes(&filter.to_bytes())?.count("rose").count, 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::association(1_000, 0.01)?;
    /// filter.insert_into("rose", 1)?;
    /// assert_eq!(Shifting::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

#[cfg(test)]
mod tests;
