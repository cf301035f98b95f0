//! The shifting Bloom filter (Yang, Liu, Shahzad, Zhong, Fu, Li, Xie, Li, 2016).
//!
//! # The idea
//!
//! A key's bits may lie a little behind the places where the hash functions put them, and how far behind can mean
//! something. All candidates for the offset of one base are in one word that is read at once.
//!
//! ```text
//! membership      base: 1 . . . . 1          bit and bit + o, o from the key: one read answers for two bits
//! association     base: 1 . . . . .          in the first set only: offset 0
//!                       . . o1. . .          in both:               offset o1 of the key
//!                       . . . . o2.          in the second only:    offset o2 of the key
//! multiplicity    base: . . 1 . . .          three occurrences:     offset 3 - 1
//! ```
//!
//! The words at all bases of a key are ANDed; a bit that remains is a candidate. In the forms for association and
//! multiplicity a key has only k bits, whatever it says.
//!
//! # The formula
//!
//! With p = e^(-nk/m) and a span of w bits: membership (1 - 2p + p^(2-c))^(k/2), c = 1/(2(w-1)); association tells the
//! class of a member without doubt with probability (1-2^-k)²; multiplicity j of at most C is exact with probability
//! (1-f0)^(C-j), f0 = (1-p)^k. See [`theory::shifting`].
//!
//! # Changing what is in
//!
//! Bits can only be added: a second occurrence, or a second set, adds bits and leaves the old ones, which costs
//! accuracy and no truth (counts are never too low, the true class is always a candidate). With `cells=counters` each
//! bit has a counter, and a key moves from one offset to another; keys can be removed. What a key said before is then
//! kept in an exact table, or, for multiplicities with `no-table`, taken from the filter's own answer, which may be too
//! high and lose other keys.
//!
//! # Guarantee and cost
//!
//! No false negatives, no count too low, no class missing (`no-table` apart), as long as only keys are removed that
//! were inserted: with `membership` a key that merely seems present can be removed without anyone noticing, and takes
//! others along. m + w bits. A query reads k/2 words for membership, k for the other forms.
//!
//! # Choose another
//!
//! for many sets: [`filter-bank`](crate::sets::filter_bank); for counts without a limit: [`counting`](super::counting).

use std::collections::HashMap;

use crate::capability::{Contains, Count, Insert, Item, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::counting::bit_array::{BitArray, Design, flat_places, insert_each};
use crate::counting::counting::nonzero;
use crate::counting::engine::Places;
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, Positions, fastrange};
use crate::key::Key;
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, common,
};
use crate::store::{BitStore, Counters};
use crate::theory::{self, Size, shifting, spread, standard};

/// The registry's row.
pub const KIND: Kind = Kind::of::<Shifting>().contains().insert().count().done();

/// The bits behind a base that one unaligned read of a word brings along: 64 less the 7 that may lie before it in its
/// byte.
pub const MAX_SPAN: u32 = 57;

/// The stream of the digest that offsets are taken from.
const OFFSETS: u64 = 11;

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
    pub fn name(self) -> &'static str {
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

/// Which classes of the association form a key may be in: one of them for certain when it is in either set.
///
/// ```
/// use bouquet::counting::shifting::{Classes, Shifting};
/// let mut filter = Shifting::association(1_000, 0.001)?;
/// filter.insert_into("rose", 1)?;
/// assert_eq!(filter.classes("rose")?, Classes { first: false, both: false, second: true });
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// In the first set only.
    pub first: bool,
    /// In both sets.
    pub both: bool,
    /// In the second set only.
    pub second: bool,
}

impl Classes {
    /// Whether there is exactly one candidate, so that the answer is certain for a key of the union.
    ///
    /// ```
    /// use bouquet::counting::shifting::Classes;
    /// assert!(Classes { first: true, both: false, second: false }.is_clear());
    /// assert!(!Classes { first: true, both: true, second: false }.is_clear());
    /// ```
    #[must_use]
    pub fn is_clear(self) -> bool {
        [self.first, self.both, self.second].into_iter().filter(|&candidate| candidate).count() == 1
    }

    /// The numbers of the sets that may hold the key, ascending.
    ///
    /// ```
    /// use bouquet::counting::shifting::Classes;
    /// assert_eq!(Classes { first: false, both: true, second: false }.sets(), [0, 1]);
    /// assert_eq!(Classes { first: false, both: false, second: true }.sets(), [1]);
    /// ```
    #[must_use]
    pub fn sets(self) -> Vec<u64> {
        let may_hold = [self.first || self.both, self.second || self.both];
        (0..).zip(may_hold).filter_map(|(set, holds)| holds.then_some(set)).collect()
    }
}

/// What keys say, exactly: for association the sets as bits 0 and 1, for multiplicity the number of occurrences.
type Table = HashMap<Box<[u8]>, u64>;

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

#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    form: Form,
    places: Places,
    /// Bits per key.
    hashes: u32,
    span: u32,
    /// Bits per counter.
    width: Option<u32>,
    has_table: bool,
}

const FORM: Parameter = Parameter {
    name: "form",
    help: "what offsets tell: nothing (membership), which of two sets (association), how often (multiplicity)",
    of: ParameterType::Choice { options: &Form::NAMES },
};

const BITS: Parameter =
    Parameter { help: "positions of bases, instead of a rate; as many bits, and the span behind them", ..common::BITS };

const SPAN: Parameter = Parameter {
    name: "span",
    help: "bits from a base on that offsets may reach; with multiplicity the largest that can be told",
    of: ParameterType::Count { min: 3, max: MAX_SPAN as u64, default: None },
};

const CELLS: Parameter = Parameter {
    name: "cells",
    help: "bits, or bits with counters, with which keys can be removed and moved",
    of: ParameterType::Choice { options: &["bits", "counters"] },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits per counter; the span is then at most 57 divided by it",
    of: ParameterType::Count { min: 2, max: 16, default: Some(4) },
};

const NO_TABLE: Parameter = Parameter {
    name: "no-table",
    help: "with multiplicity and counters: no exact table, trust the filter's own counts (can lose keys)",
    of: ParameterType::Flag,
};

impl Shape {
    fn plan(config: &Config) -> Result<Self> {
        let form = Form::of(config);
        let counted = config.choice("cells") == "counters";
        let width = if counted { config.count("width").map(|width| width as u32) } else { None };
        let most = MAX_SPAN / width.unwrap_or(1).max(1);
        let span = config.count("span").map_or(most, |span| span as u32);
        if span > most {
            return Err(Error::parameter("span", format!("at most {most} with counters of this width"), span));
        }
        let no_table = config.flag("no-table");
        if no_table && !(counted && form == Form::Multiplicity) {
            return Err(Error::parameter("no-table", "no, unless form=multiplicity and cells=counters", "yes"));
        }
        let Size { bits, hashes } = Self::size(config, form, span)?;
        let places = flat_places(bits, form.bases(hashes))?;
        let has_table = counted && form != Form::Membership && !no_table;
        let shape = Shape { form, places, hashes, span, width, has_table };
        shape.store_bits().map(|_| shape)
    }

    fn size(config: &Config, form: Form, span: u32) -> Result<Size> {
        let (items, fpr) = (config.count("items"), config.real("fpr").unwrap_or(0.01));
        let hashes = config.count("hashes").map(|hashes| hashes as u32);
        let missing =
            |what: &str| Error::parameter("items", common::ITEMS.range(), format!("missing (or give `{what}`)"));
        if form == Form::Membership
            && let Some(odd) = hashes.filter(|hashes| hashes % 2 == 1)
        {
            return Err(Error::parameter("hashes", "even: bits come in pairs", odd));
        }
        match (config.count("bits"), items, form) {
            (Some(bits), items, form) => {
                let hashes = match (hashes, items, form) {
                    (Some(hashes), ..) => hashes,
                    (None, None, _) => return Err(missing("hashes")),
                    (None, Some(items), Form::Membership) => shifting::best_hashes(bits, items, span),
                    (None, Some(items), _) => standard::for_bits(bits, items)?.hashes,
                };
                Ok(Size { bits, hashes })
            }
            (None, None, _) => Err(missing("bits")),
            (None, Some(items), Form::Membership) => shifting::for_membership(items, fpr, span, hashes),
            (None, Some(items), form) => {
                let offsets = if form == Form::Association { 3 } else { span };
                let rate = shifting::rate_per_offset(fpr, offsets);
                match hashes {
                    None => standard::for_rate(items, rate),
                    Some(hashes) => {
                        let bits = theory::check_bits(standard::needed_bits(items, rate, hashes))?;
                        Ok(Size { bits, hashes })
                    }
                }
            }
        }
    }

    /// Bits and, where there are counters, theirs.
    fn store_bits(&self) -> Result<u64> {
        let all = self.cells() as u128 * (1 + u128::from(self.width.unwrap_or(0)));
        u64::try_from(all).map_err(|_| Error::TooLarge { what: "the filter".into(), bytes: all / 8 })
    }

    /// Positions of bases and the span behind them, without wrapping round.
    fn cells(&self) -> u64 {
        self.places.counters().saturating_add(self.span.into())
    }

    /// The expected share of absent keys that seem present.
    fn expected_rate(&self, items: u64) -> f64 {
        let (m, k) = (self.places.counters(), self.hashes);
        match self.form {
            Form::Membership => shifting::membership_rate(m, items, k, self.span),
            Form::Association => shifting::any_offset(m, items, k, 3),
            Form::Multiplicity => shifting::any_offset(m, items, k, self.span),
        }
    }

    /// The offsets of a key that mean: first set only, both, second only. With membership the second is that of the
    /// pair.
    #[inline]
    fn offsets(&self, digest: Digest) -> [u32; 3] {
        let words = digest.derive(OFFSETS);
        let below = |word, n: u32| fastrange(word, n.into()) as u32;
        if self.form == Form::Membership {
            return [0, 1 + below(words.h1, self.span - 1), 0];
        }
        let half = (self.span - 1) / 2;
        let both = 1 + below(words.h1, half);
        [0, both, both + 1 + below(words.h2, half)]
    }
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

    /// At least 57 bits from a position on, the lowest that of the position: one read of a word that begins at any
    /// byte.
    #[inline]
    fn window(&self, base: u64) -> u64 {
        let words = self.array.bits.words();
        if cfg!(target_endian = "little")
            && let Some(bytes) = bytemuck::cast_slice::<u64, u8>(words).get((base / 8) as usize..)
            && let Some(word) = bytes.first_chunk()
        {
            return u64::from_le_bytes(*word) >> (base % 8);
        }
        let word = |at: u64| words.get(at as usize).copied().unwrap_or(0);
        let (at, shift) = (base / 64, base % 64);
        word(at) >> shift | word(at + 1).checked_shl(64 - shift as u32).unwrap_or(0)
    }

    /// The offsets, as bits, at which every base of a digest has a one, among those in `mask`; where `all` of the mask
    /// is wanted, zero as soon as one is missing.
    #[inline]
    fn candidates(&self, digest: Digest, mask: u64, all: bool) -> u64 {
        let mut left = mask;
        self.shape.places.all(digest, |base| {
            left &= self.window(base);
            if all { left == mask } else { left != 0 }
        });
        if all && left != mask { 0 } else { left }
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        match self.shape.form {
            Form::Membership => self.candidates(digest, 1 | 1 << self.shape.offsets(digest)[1], true) != 0,
            Form::Association => {
                let mask = self.shape.offsets(digest).iter().fold(0, |mask, offset| mask | 1u64 << offset);
                self.candidates(digest, mask, false) != 0
            }
            Form::Multiplicity => self.largest(digest) != 0,
        }
    }

    /// The largest multiplicity that is a candidate; 0 when there is none.
    #[inline]
    fn largest(&self, digest: Digest) -> u64 {
        u64::from(64 - self.candidates(digest, u64::MAX >> (64 - self.shape.span), false).leading_zeros())
    }

    fn classes_of(&self, digest: Digest) -> Classes {
        let offsets = self.shape.offsets(digest);
        let mask = offsets.iter().fold(0, |mask, offset| mask | 1u64 << offset);
        let found = self.candidates(digest, mask, false);
        let [first, both, second] = offsets.map(|offset| found >> offset & 1 == 1);
        Classes { first, both, second }
    }

    /// The cells of a key at an offset (with membership, both bits of its pairs), each once.
    #[inline]
    fn cells(&self, digest: Digest, offset: u32) -> Positions {
        let bases = self.shape.places.distinct(digest);
        let pair = [0, self.shape.offsets(digest)[1]];
        let alone = [offset];
        let offsets = if self.shape.form == Form::Membership { &pair[..] } else { &alone };
        let cells = offsets.iter().flat_map(|&offset| bases.iter().map(move |base| base + u64::from(offset)));
        let mut cells: Positions = cells.collect();
        cells.distinct();
        cells
    }

    /// Puts a key at an offset and says whether a bit was new.
    fn put(&mut self, digest: Digest, offset: u32) -> bool {
        let cells = self.cells(digest, offset);
        let mut fresh = false;
        for &cell in cells.iter() {
            fresh |= self.array.bits.set(cell);
            if let Some(counters) = &mut self.counters {
                counters.update(cell, |counter| counter.saturating_add(1));
            }
        }
        fresh
    }

    /// Takes a key from an offset. A counter that is full stays so for ever.
    fn take(&mut self, digest: Digest, offset: u32) {
        let cells = self.cells(digest, offset);
        let Some(counters) = &mut self.counters else { return };
        let full = counters.max();
        for &cell in cells.iter() {
            let before =
                counters.update(cell, |counter| if counter == full { full } else { counter.saturating_sub(1) });
            if before == 1 {
                self.array.bits.clear(cell);
            }
        }
    }

    fn wrong_form(&self, verb: &str, able: &str) -> Error {
        Error::Unsupported { kind: KIND.facts().id.into(), verb: verb.into(), able: format!("shifting with {able}") }
    }

    fn need_form(&self, form: Form, verb: &str) -> Result<()> {
        let able = || format!("form={}", form.name());
        if self.shape.form == form { Ok(()) } else { Err(self.wrong_form(verb, &able())) }
    }

    /// Inserts a key and says whether it was certainly new: another occurrence with multiplicity, into the first set
    /// with association.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// assert!(filter.insert("rose")? && !filter.insert("rose")?);
    /// assert_eq!(filter.count("rose").count, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let digest = self.array.digest(key);
        key.with_bytes(|key| self.insert_digest(key, digest))
    }

    #[inline]
    fn insert_digest(&mut self, key: &[u8], digest: Digest) -> Result<bool> {
        match self.shape.form {
            Form::Membership => {
                self.count_insertion();
                Ok(self.put(digest, 0))
            }
            Form::Association => self.join(key, digest, 0),
            Form::Multiplicity => Ok(self.raise(key, digest, 1)),
        }
    }

    fn count_insertion(&mut self) {
        self.items = self.items.saturating_add(1);
        self.inserted = self.inserted.saturating_add(1);
    }

    /// Inserts a key into the set 0 or 1 of the association form and says whether it was certainly not in that set.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::association(1_000, 0.001)?;
    /// assert!(filter.insert_into("rose", 0)? && filter.insert_into("rose", 1)?);
    /// assert_eq!(filter.classify("rose")?, [0, 1]);
    /// assert!(filter.insert_into("rose", 2).is_err(), "there are two sets");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_into<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<bool> {
        self.need_form(Form::Association, "insert into a set")?;
        let digest = self.array.digest(key);
        key.with_bytes(|key| self.join(key, digest, set))
    }

    /// The index of a class in the offsets of a key, by the sets as bits.
    fn class(sets: u64) -> usize {
        match sets {
            1 => 0,
            3 => 1,
            _ => 2,
        }
    }

    fn join(&mut self, key: &[u8], digest: Digest, set: u64) -> Result<bool> {
        if set > 1 {
            return Err(Error::Item { expected: "set 0 or 1".into(), found: format!("set {set}") });
        }
        let offsets = self.shape.offsets(digest);
        if let Some(table) = &self.table {
            let old = table.get(key).copied().unwrap_or(0);
            let new = old | 1 << set;
            if old == new {
                return Ok(false);
            }
            let seemed = self.classes_of(digest).sets().contains(&set);
            self.move_to(key, digest, old, new);
            self.count_insertion();
            return Ok(!seemed);
        }
        let before = self.classes_of(digest);
        let elsewhere = before.both || if set == 0 { before.second } else { before.first };
        self.put(digest, offsets[Self::class(1 << set)]);
        self.count_insertion();
        if elsewhere {
            // It may be in the other set, where its bits cannot be taken away.
            self.put(digest, offsets[1]);
            self.inserted = self.inserted.saturating_add(1);
        }
        Ok(!before.sets().contains(&set))
    }

    /// Changes the sets of a key from `old` to `new` in the bits and in the table.
    fn move_to(&mut self, key: &[u8], digest: Digest, old: u64, new: u64) {
        let offsets = self.shape.offsets(digest);
        if old != 0 {
            self.take(digest, offsets[Self::class(old)]);
        }
        if new != 0 {
            self.put(digest, offsets[Self::class(new)]);
        }
        self.remember(key, new);
    }

    fn remember(&mut self, key: &[u8], value: u64) {
        let Some(table) = &mut self.table else { return };
        if value == 0 {
            table.remove(key);
        } else if let Some(known) = table.get_mut(key) {
            *known = value;
        } else {
            table.insert(key.into(), value);
        }
    }

    /// Takes a key out of a set of the association form. Needs counters.
    ///
    /// ```
    /// use bouquet::{counting::shifting::{KIND, Shifting}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("form", "association")?;
    /// let mut filter = Shifting::from_config(&config.set("cells", "counters")?)?;
    /// filter.insert_into("rose", 0)?;
    /// filter.insert_into("rose", 1)?;
    /// filter.remove_from("rose", 0)?;
    /// assert_eq!(filter.classify("rose")?, [1]);
    /// assert!(filter.remove_from("rose", 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_from<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<()> {
        self.need_form(Form::Association, "remove from a set")?;
        let digest = self.array.digest(key);
        let Some(table) = &self.table else { return Err(self.wrong_form("remove", "cells=counters")) };
        let old = key.with_bytes(|key| table.get(key).copied().unwrap_or(0));
        if set > 1 || old >> set & 1 == 0 {
            return Err(Error::NotPresent);
        }
        key.with_bytes(|key| self.move_to(key, digest, old, old & !(1 << set)));
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Which classes a key of the association form may be in.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::association(1_000, 0.001)?;
    /// filter.insert_into("rose", 0)?;
    /// assert!(filter.classes("rose")?.is_clear());
    /// assert!(Shifting::with_rate(1_000, 0.001)?.classes("rose").is_err(), "of another form");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn classes<K: Key + ?Sized>(&self, key: &K) -> Result<Classes> {
        self.need_form(Form::Association, "classify")?;
        Ok(self.classes_of(self.array.digest(key)))
    }

    /// The numbers of the sets of the association form that may hold the key: its own are always among them.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::association(1_000, 0.001)?;
    /// filter.insert_into("rose", 1)?;
    /// assert_eq!((filter.classify("rose")?, filter.classify("lily")?), (vec![1], vec![]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn classify<K: Key + ?Sized>(&self, key: &K) -> Result<Vec<u64>> {
        Ok(self.classes(key)?.sets())
    }

    /// Inserts so many occurrences of a key of the multiplicity form at once and says whether it was certainly new. A
    /// key that is inserted only so has no more than k bits.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// assert!(filter.insert_times("rose", 7)?);
    /// assert_eq!(filter.count("rose").count, 7);
    /// filter.insert_times("rose", 1_000)?;
    /// assert!(filter.count("rose").at_least, "57 is the most that can be told");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<bool> {
        self.need_form(Form::Multiplicity, "insert several times")?;
        let digest = self.array.digest(key);
        Ok(key.with_bytes(|key| self.raise(key, digest, times)))
    }

    /// The offset of a multiplicity, of which the largest stands for all above it.
    fn offset_of(&self, count: u64) -> u32 {
        count.clamp(1, self.shape.span.into()) as u32 - 1
    }

    fn raise(&mut self, key: &[u8], digest: Digest, times: u64) -> bool {
        let seen = self.largest(digest);
        if times == 0 {
            return seen == 0;
        }
        let old = self.table.as_ref().map_or(seen, |table| table.get(key).copied().unwrap_or(0));
        let new = old.saturating_add(times);
        let (from, to) = (self.offset_of(old), self.offset_of(new));
        if old == 0 || from != to {
            if old > 0 {
                self.take(digest, from);
            }
            self.put(digest, to);
        }
        self.remember(key, new);
        self.items = self.items.saturating_add(times);
        self.inserted = self.inserted.saturating_add(1);
        seen == 0
    }

    /// Takes a key out, with multiplicity one occurrence of it, with association out of the first set. Needs counters.
    /// [`Error::NotPresent`] when it is certainly not in. Only keys that were inserted may be removed: without a table
    /// one that merely seems present is removed as well, and other keys may vanish with it.
    ///
    /// ```
    /// use bouquet::{counting::shifting::{KIND, Shifting}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("form", "multiplicity")?;
    /// let mut filter = Shifting::from_config(&config.set("cells", "counters")?)?;
    /// filter.insert_times("rose", 3)?;
    /// filter.remove("rose")?;
    /// assert_eq!(filter.count("rose").count, 2);
    /// assert!(filter.remove("lily").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if self.counters.is_none() {
            return Err(self.wrong_form("remove", "cells=counters"));
        }
        if self.shape.form == Form::Association {
            return self.remove_from(key, 0);
        }
        let digest = self.array.digest(key);
        if self.shape.form == Form::Membership {
            if !self.contains_digest(digest) {
                return Err(Error::NotPresent);
            }
            self.take(digest, 0);
        } else {
            key.with_bytes(|key| {
                let seen = self.largest(digest);
                let old = self.table.as_ref().map_or(seen, |table| table.get(key).copied().unwrap_or(0));
                let new = old.checked_sub(1).ok_or(Error::NotPresent)?;
                let (from, to) = (self.offset_of(old), self.offset_of(new));
                if new == 0 || from != to {
                    self.take(digest, from);
                    if new > 0 {
                        self.put(digest, to);
                    }
                }
                self.remember(key, new);
                Ok(())
            })?;
        }
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be in (with association, in either set); `false` is certain, except with `no-table`.
    ///
    /// ```
    /// use bouquet::counting::shifting::Shifting;
    /// let mut filter = Shifting::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.array.digest(key))
    }

    /// How often the key is in, or more: the largest candidate. The other forms tell one or more, or none.
    ///
    /// ```
    /// use bouquet::{capability::Multiplicity, counting::shifting::Shifting};
    /// let mut filter = Shifting::multiplicity(1_000, 0.001)?;
    /// filter.insert_times("rose", 9)?;
    /// assert_eq!(filter.count("rose"), Multiplicity { count: 9, at_least: false });
    /// let mut set = Shifting::with_rate(1_000, 0.001)?;
    /// set.insert("rose")?;
    /// assert_eq!(set.count("rose"), Multiplicity { count: 1, at_least: true });
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let digest = self.array.digest(key);
        if self.shape.form == Form::Multiplicity {
            let count = self.largest(digest);
            return Multiplicity { count, at_least: count == u64::from(self.shape.span) };
        }
        let found = self.contains_digest(digest);
        Multiplicity { count: found.into(), at_least: found }
    }

    /// The share of bases at which both this bit and the one `offset` behind it are one.
    fn pairs(&self, offset: u32) -> f64 {
        let (m, words) = (self.shape.places.counters(), self.array.bits.words());
        let mut pairs = 0;
        for (i, &word) in words.iter().enumerate() {
            let left = m.saturating_sub(i as u64 * 64);
            let bases = if left >= 64 { word } else { word & !(u64::MAX << left) };
            if bases == 0 {
                continue;
            }
            let next = words.get(i + 1).copied().unwrap_or(0);
            let behind = if offset == 0 { word } else { word >> offset | next << (64 - offset) };
            pairs += u64::from((bases & behind).count_ones());
        }
        pairs as f64 / m as f64
    }

    /// The share of ones among the bits `offset` behind the bases.
    fn fill_at(&self, offset: u32) -> f64 {
        let m = self.shape.places.counters();
        self.array.bits.count_ones_in(offset.into(), m.saturating_add(offset.into())) as f64 / m as f64
    }

    /// The share of absent keys that seem present with this content.
    fn rate_now(&self) -> f64 {
        let (Shape { form, span, .. }, bases) = (self.shape, self.reads() as i32);
        let mean = |offsets: std::ops::RangeInclusive<u32>, rate: &dyn Fn(u32) -> f64| {
            let count = offsets.clone().count().max(1) as f64;
            offsets.map(rate).sum::<f64>() / count
        };
        match form {
            Form::Membership => mean(1..=span - 1, &|offset| self.pairs(offset).powi(bases)),
            Form::Association => {
                let rate = |offset| self.fill_at(offset).powi(bases);
                let half = (span - 1) / 2;
                1.0 - (1.0 - rate(0)) * (1.0 - mean(1..=half, &rate)) * (1.0 - mean(2..=2 * half, &rate))
            }
            Form::Multiplicity => 1.0 - (0..span).map(|offset| 1.0 - self.fill_at(offset).powi(bases)).product::<f64>(),
        }
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

/// The entries in the order of their keys: length of the key (4 bytes), key, value (8 bytes).
fn write_table(table: &Table) -> Vec<u8> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_unstable();
    let mut bytes = Vec::with_capacity(table_bytes(table));
    for (key, value) in entries {
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

fn table_bytes(table: &Table) -> usize {
    table.keys().map(|key| key.len() + 12).sum()
}

fn read_table(mut bytes: &[u8], form: Form) -> Result<Table> {
    let cut = || Error::corrupt("exact table", "whole entries", "a part of one");
    let mut table = Table::new();
    let mut last: Option<&[u8]> = None;
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(cut)?;
        let (value, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        let value = u64::from_le_bytes(*value);
        if last.is_some_and(|last| last >= key) {
            return Err(Error::corrupt("exact table", "keys in ascending order", key.escape_ascii()));
        }
        if value == 0 || form == Form::Association && value > 3 {
            return Err(Error::corrupt("value in the exact table", "1 or more, at most 3 for sets", value));
        }
        table.insert(key.into(), value);
        (last, bytes) = (Some(key), rest);
    }
    Ok(table)
}

impl Structure for Shifting {
    const FACTS: Facts = Facts {
        id: "shifting",
        number: 62,
        name: "Shifting Bloom filter",
        aliases: &["ShBF", "ShBF-M", "ShBF-A", "ShBF-X"],
        family: "counting",
        papers: &[
            "T. Yang, A. Liu, M. Shahzad, Y. Zhong, Q. Fu, Z. Li, G. Xie, X. Li, A shifting Bloom filter framework \
                   for set queries, 2016",
        ],
        summary: "Is x in S with half the memory reads, or in which of two sets, or how often up to 57?",
        idea: "A key's bits lie at an offset behind its hashed bases, and one word read sees all offsets of a base. With \
               membership each base has a second bit at an offset that the key chooses; with association the offset tells \
               the set or both; with multiplicity c occurrences are offset c - 1. The bits that all bases have in common \
               are the candidates. With counters keys can be removed and moved; only keys that were inserted may be \
               removed: removing any other that seems present can make keys vanish.",
        formulas: &[
            "p = e^(-n k/m), span w",
            "membership: rate = (1 - 2p + p^(2 - 1/(2(w-1))))^(k/2), least about 0.62^(m/n) at k = 0.7 m/n",
            "association: clear answer (1 - 2^-k)^2 at m = n k / ln 2",
            "multiplicity: j of at most C exact with (1 - f0)^(C-j), f0 = (1-p)^k; absent keys j = 0",
        ],
        choose_another: "many sets: filter-bank; counts without a limit: counting, spectral or count-min.",
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, FORM, BITS, common::HASHES, SPAN, CELLS, WIDTH, NO_TABLE],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::plan(config)?;
        let items = config.count("items");
        let fpr = items.map(|items| shape.expected_rate(items));
        Ok(Plan { bits: shape.store_bits()?, hashes: shape.hashes, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let shape = &self.shape;
        let mut config = Config::new(KIND.facts())
            .put("form", Setting::Choice(shape.form.name()))
            .put("bits", Setting::Count(shape.places.counters()))
            .put("hashes", Setting::Count(shape.hashes.into()))
            .put("span", Setting::Count(shape.span.into()))
            .hashed(self.array.hashing.clone());
        if let Some(width) = shape.width {
            config = config.put("cells", Setting::Choice("counters")).put("width", Setting::Count(width.into()));
            if shape.form == Form::Multiplicity && !shape.has_table {
                config = config.put("no-table", Setting::Flag(true));
            }
        }
        self.design.put(config)
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const COUNTS: &[ErrorClass] = &[ErrorClass::FalsePositive, ErrorClass::OverCount];
        const TRUSTING: &[ErrorClass] =
            &[ErrorClass::FalsePositive, ErrorClass::OverCount, ErrorClass::FalseNegative, ErrorClass::UnderCount];
        match (self.shape.form, self.counters.is_some() && self.table.is_none()) {
            (Form::Multiplicity, true) => TRUSTING,
            (Form::Multiplicity, false) => COUNTS,
            _ => Self::FACTS.errors,
        }
    }

    fn hashing(&self) -> &Hashing {
        &self.array.hashing
    }

    fn stats(&self) -> Stats {
        let cells = self.shape.cells();
        let honest = spread::ones(cells, self.inserted, self.shape.hashes)
            + 8.0 * spread::ones_variance(cells, self.inserted, self.shape.hashes).sqrt();
        let table = self.table.as_ref().map_or(0, table_bytes) as u64 * 8;
        Stats {
            items: self.items,
            bits: cells + self.counters.as_ref().map_or(0, Counters::bits) + table,
            hashes: self.shape.hashes,
            fill: Some(self.array.bits.fill()),
            fpr: Some(self.rate_now()),
            honest_fill: Some(honest / cells as f64),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let Shape { form, places, hashes, span, .. } = self.shape;
        let over_count = (form == Form::Multiplicity)
            .then(|| 1.0 - shifting::exact_count(places.counters(), items, hashes, span, 1));
        Rates { false_positive: Some(self.shape.expected_rate(items)), over_count, ..Rates::default() }
    }

    fn is_in_place(&self) -> bool {
        self.counters.is_none()
    }

    /// State: items and insertions. Stores: the bits; or the counters, from which the bits follow, and the table.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.inserted);
        match &self.counters {
            Some(counters) => encoder.counters(counters),
            None => encoder.bits(&self.array.bits),
        }
        if let Some(table) = &self.table {
            encoder.bytes(write_table(table));
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::plan(decoder.config())?;
        let numbers = [decoder.state().u64()?, decoder.state().u64()?];
        let (bits, counters) = match shape.width {
            None => (decoder.bits(shape.cells())?, None),
            Some(width) => {
                let counters = decoder.counters(shape.cells(), width)?;
                (nonzero(&counters)?, Some(counters))
            }
        };
        let table = if shape.has_table { Some(read_table(decoder.bytes()?, shape.form)?) } else { None };
        Ok(Self::with_parts(decoder.config(), shape, bits, counters, table, numbers))
    }
}

impl Contains for Shifting {
    fn contains(&self, key: &[u8]) -> bool {
        Shifting::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        self.array.answer_each(keys, answers, |digest| self.contains_digest(digest));
    }
}

impl Insert for Shifting {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Shifting::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let insert = |filter: &mut Self, item: &Item<'_>, digest| filter.insert_digest(item.key, digest);
        insert_each(self, items, |filter, items| filter.array.digests(items), insert)
    }
}

impl Count for Shifting {
    fn count(&self, key: &[u8]) -> Multiplicity {
        Shifting::count(self, key)
    }
}

#[cfg(test)]
mod tests;
