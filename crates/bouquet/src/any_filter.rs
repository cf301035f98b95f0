//! The dynamic handle: any filter, whatever its kind.

use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::capability::{
    Advance, Classify, Compress, Contains, Count, Dataset, Decode, Estimate, Get, Grow, Insert, Judge, List, Listing,
    NoteType, Overlap, Remove, Set, Top,
};
use crate::codec::{self, Access, Decoder, Header, Source};
use crate::error::{Error, Result};
use crate::files::{io_error, write_atomically};
use crate::hash::{Hashing, Secret};
use crate::kind::{
    Argument, Boxed, Config, ErrorClass, Figure, Held, Kind, Made, Other, Rates, Reply, Stats, Structure, Verb,
};
use crate::registry;

mod belief;
mod foreign;
mod mapped;
mod rekeyed;
#[cfg(feature = "serde")]
mod serde;
mod unread;
pub use belief::Belief;
pub use foreign::ForeignFormat;
pub use mapped::MappedFilter;
use unread::Unread;

/// A filter of any kind: what command line and other languages hold.
///
/// Each verb is a method that gives the trait object, or [`Error::Unsupported`] with the kinds that have the verb, and
/// the settings that they need for it.
/// Look the verb up once, outside the loop; `contains` and `insert` of most kinds cost next to nothing to look up.
///
/// ```
/// use bouquet::{AnyFilter, kind::Config, registry};
/// let kind = registry::find("standard")?;
/// let mut filter = AnyFilter::new(&Config::new(kind.facts()).set("items", "1000")?)?;
/// filter.insert()?.insert(b"rose".as_slice().into())?;
/// assert!(filter.contains()?.contains(b"rose"));
/// assert!(filter.count().is_err(), "a plain filter does not count");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct AnyFilter {
    kind: &'static Kind,
    /// With verbs at hand only if [`is_free`](Self::is_free).
    value: Held,
    /// Whether nothing stands between a verb of the kind and its use: none needs settings, and digests can be computed.
    is_free: bool,
    /// The authentication code that a filter had when it was opened without its secret, which it then keeps.
    locked_code: Option<codec::Code>,
    /// How its ticks go with time, if it has a clock.
    pace: Option<codec::Pace>,
    /// The mapped file that it was opened in, if nobody has read it.
    unread: Option<Arc<Unread>>,
}

impl Clone for AnyFilter {
    fn clone(&self) -> Self {
        let copy = Self::of(self.kind, (self.kind.clone)(&*self.value));
        AnyFilter { locked_code: self.locked_code, pace: self.pace, unread: self.unread.clone(), ..copy }
    }
}

impl std::fmt::Debug for AnyFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyFilter({}, {:?})", self.kind.facts().id, self.stats())
    }
}

/// How a frame is to be opened.
///
/// ```
/// use bouquet::{Bloom, Error, AnyFilter, OpenOptions};
/// let large = AnyFilter::from_structure(Bloom::with_size(1 << 20, 7)?)?;
/// let sent = large.to_compressed_bytes();
/// assert!(sent.len() < 1_000, "a million zeros take little room");
/// let options = |max| OpenOptions { max_coded_bits: Some(max), ..OpenOptions::default() };
/// assert!(AnyFilter::from_bytes_with(&sent, &options(1 << 20)).is_ok());
/// assert!(matches!(AnyFilter::from_bytes_with(&sent, &options(1 << 19)), Err(Error::TooLarge { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The secret of a keyed filter.
    pub secret: Option<Secret>,
    /// Open a keyed filter without its secret, to look at it; its verbs then answer with an error.
    pub allow_locked: bool,
    /// Open a keyed filter with its secret even if nobody who had the secret vouches for it: a frame without
    /// authentication code, which every version before the code wrote and which anybody can make of one that has it, and a mapped file
    /// without reading it. A wrong code is refused all the same wherever it is read.
    pub allow_unauthenticated: bool,
    /// Refuse a filter that is fuller than this, as a forged one that accepts everything would be.
    pub max_fill: Option<f64>,
    /// Refuse a frame whose coded stores have more bits than this in memory: a few bytes can stand for any number of
    /// zeros. [`MAX_CODED_BITS`](crate::codec::MAX_CODED_BITS) when not given, and never more.
    pub max_coded_bits: Option<u64>,
    /// Read the frame as one of this kind, which need not be in the registry; its number must be the kind's.
    pub kind: Option<&'static Kind>,
}

impl AnyFilter {
    /// An empty filter of the kind and the parameters of `config`.
    ///
    /// ```
    /// use bouquet::{AnyFilter, kind::Config, registry};
    /// let config = Config::new(registry::find("counting")?.facts());
    /// assert!(AnyFilter::new(&config).is_err(), "how large?");
    /// let filter = AnyFilter::new(&config.set("counters", "1024")?.set("hashes", "4")?)?;
    /// assert_eq!(filter.stats().hashes, 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(config: &Config) -> Result<Self> {
        Self::new_of_kind(registry::find(config.facts().id)?, config)
    }

    fn of(kind: &'static Kind, value: Boxed) -> Self {
        let is_free = kind.needs.is_empty() && (kind.hashing)(&*value).is_usable();
        let value = if is_free { (kind.hold)(value) } else { Held::Any(value) };
        AnyFilter { kind, value, is_free, locked_code: None, pace: None, unread: None }
    }

    /// As [`new`](Self::new), for a kind that need not be in the registry.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter, kind::{Config, Kind}, registry};
    /// static READ_ONLY: Kind = Kind::of::<Bloom>().contains().done();
    /// let config = Config::new(READ_ONLY.facts()).set("items", "10")?;
    /// assert!(AnyFilter::new_of_kind(&READ_ONLY, &config)?.insert().is_err());
    /// assert!(AnyFilter::new_of_kind(registry::find("counting")?, &config).is_err(), "another kind's parameters");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new_of_kind(kind: &'static Kind, config: &Config) -> Result<Self> {
        crate::error::same("kind", kind.facts().id, config.facts().id)?;
        Ok(Self::of(kind, (kind.create)(config)?))
    }

    /// A filter of a data set, whether the kind is built once or filled item by item.
    ///
    /// ```
    /// use bouquet::capability::{Answer, Dataset, Item, Note, Value};
    /// use bouquet::{AnyFilter, kind::Config, registry};
    /// let items = [Item::new(b"rose", Note::Integer(7)), Item::new(b"iris", Note::Integer(9))];
    /// let config = Config::new(registry::find("bloomier")?.facts());
    /// let filter = AnyFilter::build(&config, &Dataset { items: &items, absent: &[] })?;
    /// assert_eq!(filter.get()?.get(b"iris"), Answer::Value(Value::Integer(9)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn build(config: &Config, data: &Dataset<'_>) -> Result<Self> {
        Self::build_of_kind(registry::find(config.facts().id)?, config, data)
    }

    /// As [`build`](Self::build), for a kind that need not be in the registry.
    ///
    /// ```
    /// use bouquet::capability::{Dataset, Item};
    /// use bouquet::{Bloom, AnyFilter, OpenOptions, kind::{Config, Kind}};
    /// static OWN: Kind = Kind::of::<Bloom>().contains().insert().done();
    /// let config = Config::new(OWN.facts()).set("items", "10")?;
    /// let items = [Item::from(b"rose".as_slice())];
    /// let filter = AnyFilter::build_of_kind(&OWN, &config, &Dataset { items: &items, absent: &[] })?;
    /// let options = OpenOptions { kind: Some(&OWN), ..Default::default() };
    /// let again = AnyFilter::from_bytes_with(&filter.to_bytes(), &options)?;
    /// assert!(again.contains()?.contains(b"rose"));
    /// assert!(again.cardinality().is_err(), "not among its verbs");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn build_of_kind(kind: &'static Kind, config: &Config, data: &Dataset<'_>) -> Result<Self> {
        if let Some(build) = kind.verbs.build_from {
            crate::error::same("kind", kind.facts().id, config.facts().id)?;
            return Ok(Self::of(kind, build(config, data)?));
        }
        let mut filter = Self::new_of_kind(kind, config)?;
        filter.insert()?.insert_batch(data.items)?;
        Ok(filter)
    }

    /// A registered structure as a dynamic filter.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut flowers = Bloom::with_rate(100, 0.01)?;
    /// flowers.insert("rose");
    /// assert!(AnyFilter::from_structure(flowers)?.contains()?.contains(b"rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_structure<T: Structure>(structure: T) -> Result<Self> {
        let kind = registry::find(T::FACTS.id)?;
        Ok(Self::of(kind, Box::new(structure)))
    }

    /// The structure itself, when it is of this type.
    ///
    /// ```
    /// use bouquet::{Bloom, Counting, AnyFilter};
    /// let filter = AnyFilter::from_structure(Bloom::with_size(512, 3)?)?;
    /// assert_eq!(filter.downcast_ref::<Bloom>().map(Bloom::hashes), Some(3));
    /// assert!(filter.downcast_ref::<Counting>().is_none());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn downcast_ref<T: Structure>(&self) -> Option<&T> {
        self.value.downcast_ref()
    }

    /// The kind.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Scalable};
    /// let frame = Scalable::with_rate(100, 0.01)?.to_bytes();
    /// assert_eq!(AnyFilter::from_bytes(&frame)?.kind().facts().id, "scalable");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// The parameters.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let filter = AnyFilter::from_structure(Bloom::with_size(512, 3)?)?;
    /// assert_eq!(filter.config().count("bits"), Some(512));
    /// let mut twin = AnyFilter::new(&filter.config())?;
    /// assert!(twin.merge(&filter).is_ok(), "they have one shape");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn config(&self) -> Config {
        (self.kind.config)(&*self.value)
    }

    /// Whether its answers can be wrong in this way: as its kind declares, unless its settings allow more.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter, kind::ErrorClass};
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// assert!(filter.errs(ErrorClass::FalsePositive) && !filter.errs(ErrorClass::FalseNegative));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn errs(&self, class: ErrorClass) -> bool {
        (self.kind.errors)(&*self.value).contains(&class)
    }

    /// How it hashes.
    ///
    /// ```
    /// use bouquet::{AnyFilter, hash::{Hashing, Secret}, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "100")?;
    /// assert!(!AnyFilter::new(&config)?.hashing().id().is_keyed());
    /// let keyed = config.hashed(Hashing::keyed(Secret::random()?));
    /// assert!(AnyFilter::new(&keyed)?.hashing().id().is_keyed());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashing(&self) -> &Hashing {
        (self.kind.hashing)(&*self.value)
    }

    /// Its present state.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut flowers = Bloom::with_size(1_000, 1)?;
    /// flowers.insert("rose");
    /// let stats = AnyFilter::from_structure(flowers)?.stats();
    /// assert_eq!((stats.items, stats.bits, stats.fill), (1, 1_000, Some(0.001)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        let stats = (self.kind.stats)(&*self.value);
        Stats { fpr: self.config().with_collisions(stats.fpr, stats.items), ..stats }
    }

    /// What else its kind tells of its present state, beside [`stats`](Self::stats).
    ///
    /// ```
    /// use bouquet::{AnyFilter, Bloom, Dynamic};
    /// let filter = AnyFilter::from_structure(Dynamic::with_rate(100, 0.01)?)?;
    /// let names: Vec<_> = filter.figures().iter().map(|figure| figure.name).collect();
    /// assert_eq!(names, ["components", "ambiguous removals"]);
    /// assert!(AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?.figures().is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        (self.kind.figures)(&*self.value)
    }

    /// What its stores hold, cell by cell: bits, counters, fingerprints, or what else its kind has.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Counting};
    /// let mut flowers = Counting::with_size(64, 3)?;
    /// flowers.insert("rose")?;
    /// let flowers = AnyFilter::from_structure(flowers)?;
    /// let stores = flowers.cells();
    /// assert_eq!((stores[0].len(), stores[0].grain().width), (64, 4));
    /// assert_eq!((0..64).map(|cell| stores[0].value(cell)).sum::<u64>(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> Vec<codec::CellStore<'_>> {
        let value: &dyn Any = &*self.value;
        codec::stores((self.kind.grains)(value), |encoder| (self.kind.encode)(value, encoder))
    }

    /// The rates that theory expects of this shape after `items` distinct items.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?;
    /// let rate = |items| filter.expected(items).false_positive.unwrap_or(0.0);
    /// assert!((0.0099..0.0101).contains(&rate(1_000)));
    /// assert!((0.15..0.17).contains(&rate(2_000)), "twice the items, sixteen times the rate");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expected(&self, items: u64) -> Rates {
        let (rates, config) = ((self.kind.expected)(&*self.value, items), self.config());
        let [false_positive, over_count, spurious_value] =
            [rates.false_positive, rates.over_count, rates.spurious_value]
                .map(|rate| config.with_collisions(rate, items));
        Rates { false_positive, over_count, spurious_value, ..rates }
    }

    /// Whether the filter has this verb: its kind does, and the settings are those that the verb needs.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Shifting, kind::Verb};
    /// let set = AnyFilter::from_structure(Shifting::with_rate(100, 0.01)?)?;
    /// let sets = AnyFilter::from_structure(Shifting::of_sets([&["rose"], &["lily"]], 0.01)?)?;
    /// assert!(sets.can(Verb::Classify) && !set.can(Verb::Classify));
    /// assert!(sets.classify().is_ok() && set.classify().is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn can(&self, verb: Verb) -> bool {
        self.kind.can(verb) && self.needs_are_met(verb)
    }

    /// Most verbs need nothing, and then the settings are not asked for.
    fn needs_are_met(&self, verb: Verb) -> bool {
        self.kind.needs(verb).next().is_none() || self.kind.can_with(verb, &self.config())
    }

    /// What a key carries.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Shifting, capability::NoteType};
    /// let sets = AnyFilter::from_structure(Shifting::of_sets([&["rose"], &["lily"]], 0.01)?)?;
    /// assert_eq!(sets.note(), NoteType::Group);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn note(&self) -> NoteType {
        self.kind.note(&self.config())
    }

    /// The verb's function, unless the filter lacks it or the secret is missing.
    #[inline]
    fn verb<F>(&self, verb: Verb, function: Option<F>) -> Result<F> {
        match function {
            Some(function) if self.is_free => Ok(function),
            function => self.granted(verb, function),
        }
    }

    /// As [`verb`](Self::verb), for one that changes the filter.
    #[inline]
    fn change<F>(&self, verb: Verb, function: Option<F>) -> Result<F> {
        let function = self.verb(verb, function)?;
        self.check_unread()?;
        Ok(function)
    }

    /// Checks a mapped file as [`open`](Self::open) does, unless that was done.
    #[inline]
    fn check_unread(&self) -> Result<()> {
        self.unread.as_ref().map_or(Ok(()), |unread| unread.check())
    }

    /// Checks this filter, and the one that it works with.
    fn check_with(&self, argument: Argument<'_>) -> Result<()> {
        if let Argument::Filter(Other { filter }) = argument {
            filter.check_unread()?;
        }
        self.check_unread()
    }

    #[inline(never)]
    fn granted<F>(&self, verb: Verb, function: Option<F>) -> Result<F> {
        let function = function.ok_or_else(|| registry::unsupported(self.kind, verb))?;
        if !self.needs_are_met(verb) {
            return Err(registry::unsupported_with(self.kind, verb, &self.config()));
        }
        self.unlocked()?;
        Ok(function)
    }

    /// Digests can be computed, or the secret is missing.
    fn unlocked(&self) -> Result<()> {
        let hashing = self.hashing();
        if hashing.is_usable() {
            return Ok(());
        }
        Err(Error::Secret { what: format!("give the secret whose check value is {:#018x}", hashing.seed()) })
    }

    /// Membership.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut flowers = Bloom::with_rate(100, 0.01)?;
    /// flowers.insert("rose");
    /// let mut answers = [false; 2];
    /// AnyFilter::from_structure(flowers)?.contains()?.contains_batch(&[b"iris", b"rose"], &mut answers);
    /// assert_eq!(answers, [false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn contains(&self) -> Result<&dyn Contains> {
        match &self.value {
            Held::Set(value) => Ok(&**value),
            Held::Multiset(value) => Ok(&**value),
            _ => Ok(self.verb(Verb::Contains, self.kind.verbs.contains)?(&*self.value)),
        }
    }

    /// Insertion.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut filter = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// let flowers = filter.insert()?;
    /// assert!(flowers.insert(b"rose".as_slice().into())?);
    /// assert!(!flowers.insert(b"rose".as_slice().into())?, "it is there already");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert(&mut self) -> Result<&mut dyn Insert> {
        self.check_unread()?;
        // Borrowed where it is found, so that it can still be looked up otherwise.
        match self.value {
            Held::Set(ref mut value) => Ok(&mut **value),
            Held::Multiset(ref mut value) => Ok(&mut **value),
            _ => Ok(self.verb(Verb::Insert, self.kind.verbs.insert)?(&mut *self.value)),
        }
    }

    /// Removal.
    ///
    /// ```
    /// use bouquet::{Counting, Error, AnyFilter};
    /// let mut filter = AnyFilter::from_structure(Counting::with_rate(100, 0.01)?)?;
    /// filter.insert()?.insert(b"rose".as_slice().into())?;
    /// filter.remove()?.remove(b"rose".as_slice().into())?;
    /// assert!(matches!(filter.remove()?.remove(b"rose".as_slice().into()), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove(&mut self) -> Result<&mut dyn Remove> {
        self.check_unread()?;
        // Borrowed where it is found, so that it can still be looked up otherwise.
        match self.value {
            Held::Multiset(ref mut value) => Ok(&mut **value),
            _ => Ok(self.verb(Verb::Remove, self.kind.verbs.remove)?(&mut *self.value)),
        }
    }

    /// Multiplicity.
    ///
    /// ```
    /// use bouquet::{Counting, AnyFilter, capability::Item};
    /// let mut filter = AnyFilter::from_structure(Counting::with_rate(100, 0.01)?)?;
    /// filter.insert()?.insert_batch(&[Item::from(b"rose".as_slice()); 3])?;
    /// assert_eq!(filter.count()?.count(b"rose").count, 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn count(&self) -> Result<&dyn Count> {
        match &self.value {
            Held::Multiset(value) => Ok(&**value),
            _ => Ok(self.verb(Verb::Count, self.kind.verbs.count)?(&*self.value)),
        }
    }

    /// Values.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Iblt, capability::{Answer, Value}};
    /// let mut colours = Iblt::with_capacity(100)?;
    /// colours.insert("rose", b"red")?;
    /// let filter = AnyFilter::from_structure(colours)?;
    /// assert_eq!(filter.get()?.get(b"rose"), Answer::Value(Value::Bytes(b"red".to_vec())));
    /// assert_eq!(filter.get()?.get(b"iris"), Answer::Absent);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn get(&self) -> Result<&dyn Get> {
        Ok(self.verb(Verb::Get, self.kind.verbs.get)?(&*self.value))
    }

    /// Changing values.
    ///
    /// ```
    /// use bouquet::{AnyFilter, capability::{Dataset, Item, Note}, kind::Config, registry};
    /// let config = Config::new(registry::find("bloomier")?.facts()).set("mode", "mutable")?;
    /// let items = [Item::new(b"rose", Note::Integer(5))];
    /// let mut petals = AnyFilter::build(&config, &Dataset { items: &items, absent: &[] })?;
    /// petals.set()?.set(Item::new(b"rose", Note::Integer(7)))?;
    /// assert_eq!(petals.get()?.get(b"rose"), Some(7).into());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn set(&mut self) -> Result<&mut dyn Set> {
        Ok(self.change(Verb::Set, self.kind.verbs.set)?(&mut *self.value))
    }

    /// Sets that hold a key.
    ///
    /// ```
    /// use bouquet::{AnyFilter, FilterBank, capability::{Item, Note}};
    /// let mut filter = AnyFilter::from_structure(FilterBank::with_rate(3, 100, 0.001)?)?;
    /// filter.insert()?.insert(Item::new(b"rose", Note::Group(2)))?;
    /// filter.insert()?.insert(Item::new(b"rose", Note::Group(0)))?;
    /// assert_eq!(filter.classify()?.classify(b"rose"), [0, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn classify(&self) -> Result<&dyn Classify> {
        Ok(self.verb(Verb::Classify, self.kind.verbs.classify)?(&*self.value))
    }

    /// Whether keys are in, out, to be looked up or foreign.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Complement, capability::Verdict};
    /// let mut flowers = Complement::with_rate(100, 0.001)?;
    /// flowers.insert("rose")?;
    /// assert_eq!(AnyFilter::from_structure(flowers)?.judge()?.judge(b"rose"), Verdict::In);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn judge(&self) -> Result<&dyn Judge> {
        Ok(self.verb(Verb::Judge, self.kind.verbs.judge)?(&*self.value))
    }

    /// What can be decoded.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Iblt};
    /// let mut colours = Iblt::with_capacity(100)?;
    /// colours.insert("rose", b"red")?;
    /// let listing = AnyFilter::from_structure(colours)?.list()?.list();
    /// assert_eq!((listing.entries.len(), listing.undecoded), (1, 0));
    /// assert_eq!(listing.entries[0].key, b"rose");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn list(&self) -> Result<&dyn List> {
        Ok(self.verb(Verb::List, self.kind.verbs.list)?(&*self.value))
    }

    /// The names of frequent keys.
    ///
    /// ```
    /// use bouquet::{AnyFilter, capability::Item, kind::Config, registry};
    /// let config = Config::new(registry::find("count-min")?.facts()).set("top", "3")?;
    /// let mut sketch = AnyFilter::new(&config)?;
    /// for key in ["rose", "lily", "rose"] {
    ///     sketch.insert()?.insert(Item::from(key.as_bytes()))?;
    /// }
    /// let top = sketch.top()?.top();
    /// assert_eq!((top.len(), top[0].key.as_slice(), top[0].count.count), (2, b"rose".as_slice(), 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn top(&self) -> Result<&dyn Top> {
        Ok(self.verb(Verb::Top, self.kind.verbs.top)?(&*self.value))
    }

    /// Counts that are decoded once all keys are known.
    ///
    /// ```
    /// use bouquet::{AnyFilter, counting::counter_braids::CounterBraids, shell::Amount};
    /// let mut braids = CounterBraids::with_flows(100)?;
    /// braids.insert_with("rose", Amount(1_000))?;
    /// let decoding = AnyFilter::from_structure(braids)?.decode()?.decode(&[b"rose"])?;
    /// assert_eq!((decoding.consistent, &decoding.counts[..]), (true, &[1_000..=1_000][..]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn decode(&self) -> Result<&dyn Decode> {
        Ok(self.verb(Verb::Decode, self.kind.verbs.decode)?(&*self.value))
    }

    /// The passing of time.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Stable};
    /// let mut filter = AnyFilter::from_structure(Stable::with_size(10_000, 0.01)?)?;
    /// filter.insert()?.insert(b"rose".as_slice().into())?;
    /// assert!(filter.contains()?.contains(b"rose"));
    /// filter.advance()?.advance(100_000);
    /// assert!(!filter.contains()?.contains(b"rose"), "forgotten");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn advance(&mut self) -> Result<&mut dyn Advance> {
        Ok(self.change(Verb::Advance, self.kind.verbs.advance)?(&mut *self.value))
    }

    /// How its ticks go with time, if its frame or [`set_pace`](Self::set_pace) said so.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Decaying, codec::Pace};
    /// let mut filter = AnyFilter::from_structure(Decaying::with_rate(1_000, 0.01)?)?;
    /// filter.set_pace(Some(Pace { second: 1_000, seconds: 60 }))?;
    /// assert_eq!(AnyFilter::from_bytes(&filter.to_bytes())?.pace(), filter.pace());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn pace(&self) -> Option<codec::Pace> {
        self.pace
    }

    /// Gives a filter that forgets a clock: its frames say when the last tick was and how long ticks are, so that who opens one can
    /// [let it catch up](Self::catch_up). `None` takes it away. Frames with a pace are refused by versions that do not know it.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Bloom, codec::Pace};
    /// let mut filter = AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?;
    /// assert!(filter.set_pace(Some(Pace { second: 1_000, seconds: 60 })).is_err(), "it does not forget");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn set_pace(&mut self, pace: Option<codec::Pace>) -> Result<()> {
        self.advance()?;
        if pace.is_some_and(|pace| pace.seconds == 0) {
            return Err(Error::parameter("seconds", "at least 1", 0));
        }
        self.pace = pace;
        Ok(())
    }

    /// Lets the ticks pass that are due when it is `now`, in seconds since 1970, and says how many they were: none without a
    /// [pace](Self::pace).
    ///
    /// ```
    /// use bouquet::{AnyFilter, TemporalCounting, codec::Pace};
    /// let mut filter = AnyFilter::from_structure(TemporalCounting::with_rate(100, 0.01)?)?; // keys live for 15 ticks
    /// filter.set_pace(Some(Pace { second: 0, seconds: 60 }))?;
    /// filter.insert()?.insert(b"rose".as_slice().into())?;
    /// assert_eq!(filter.catch_up(14 * 60)?, 14);
    /// assert!(filter.contains()?.contains(b"rose"));
    /// assert_eq!(filter.catch_up(15 * 60 + 30)?, 1);
    /// assert!(!filter.contains()?.contains(b"rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn catch_up(&mut self, now: u64) -> Result<u64> {
        let Some((ticks, later)) = self.pace.map(|pace| pace.due(now)) else { return Ok(0) };
        if ticks > 0 {
            self.advance()?.advance(ticks);
            self.pace = Some(later);
        }
        Ok(ticks)
    }

    /// Growth.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Scalable};
    /// let mut filter = AnyFilter::from_structure(Scalable::with_rate(1_000, 0.01)?)?;
    /// let room = filter.grow()?;
    /// assert_eq!(room.capacity(), 1_000);
    /// room.grow()?;
    /// assert_eq!(room.capacity(), 3_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn grow(&mut self) -> Result<&mut dyn Grow> {
        Ok(self.change(Verb::Grow, self.kind.verbs.grow)?(&mut *self.value))
    }

    /// Coding for transmission.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut flowers = Bloom::with_size(1_000, 1)?;
    /// flowers.insert("rose");
    /// let entropy = AnyFilter::from_structure(flowers)?.compress()?.entropy_bits();
    /// assert!((11.4..11.5).contains(&entropy), "1,000 H(1/1,000)");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn compress(&self) -> Result<&dyn Compress> {
        Ok(self.verb(Verb::Compress, self.kind.verbs.compress)?(&*self.value))
    }

    /// Takes in everything that `other` holds.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut filter = AnyFilter::from_structure(Bloom::with_size(1_000, 7)?)?;
    /// let mut other = filter.clone();
    /// other.insert()?.insert(b"rose".as_slice().into())?;
    /// filter.merge(&other)?;
    /// assert!(filter.contains()?.contains(b"rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &AnyFilter) -> Result<()> {
        self.same_kind(other)?;
        let merge = self.change(Verb::Merge, self.kind.verbs.merge)?;
        other.check_unread()?;
        merge(&mut *self.value, &*other.value)
    }

    /// Keeps what `other` also holds.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut both = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// both.insert()?.insert(b"rose".as_slice().into())?;
    /// let other = both.clone();
    /// both.insert()?.insert(b"iris".as_slice().into())?;
    /// both.intersect(&other)?;
    /// assert!(both.contains()?.contains(b"rose") && !both.contains()?.contains(b"iris"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn intersect(&mut self, other: &AnyFilter) -> Result<()> {
        self.same_kind(other)?;
        let intersect = self.change(Verb::Intersect, self.kind.verbs.intersect)?;
        other.check_unread()?;
        intersect(&mut *self.value, &*other.value)
    }

    /// Takes away everything that `other` holds.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Iblt, capability::Item};
    /// let mut here = AnyFilter::from_structure(Iblt::with_capacity(10)?)?;
    /// let there = here.clone();
    /// here.insert()?.insert(Item::from(b"rose".as_slice()))?;
    /// here.subtract(&there)?;
    /// assert_eq!(here.list()?.list().entries.len(), 1, "the other was empty");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn subtract(&mut self, other: &AnyFilter) -> Result<()> {
        self.same_kind(other)?;
        let subtract = self.change(Verb::Subtract, self.kind.verbs.subtract)?;
        other.check_unread()?;
        subtract(&mut *self.value, &*other.value)
    }

    /// What this filter and another do not share: entries with a positive count are here, those with a negative count
    /// there.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Iblt, capability::Item};
    /// let mut here = AnyFilter::from_structure(Iblt::with_capacity(10)?)?;
    /// let mut there = here.clone();
    /// here.insert()?.insert(Item::from(b"rose".as_slice()))?;
    /// there.insert()?.insert(Item::from(b"lily".as_slice()))?;
    /// let counts = here.difference(&there)?.entries.iter().map(|entry| entry.count).sum::<i64>();
    /// assert_eq!(counts, 0, "one here, one there");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn difference(&self, other: &AnyFilter) -> Result<Listing> {
        self.same_kind(other)?;
        let difference = self.verb(Verb::Difference, self.kind.verbs.difference)?;
        self.check_unread()?;
        other.check_unread()?;
        difference(&*self.value, &*other.value)
    }

    /// Asks a question that only this kind has: [`Kind::specials`] lists them.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Cuckoo, kind::{Argument, Reply}};
    /// let mut filter = Cuckoo::with_rate(100, 0.01)?;
    /// filter.insert("rose")?;
    /// let filter = AnyFilter::from_structure(filter)?;
    /// let Reply::Table(_, rows) = filter.ask("fingerprints", Argument::Nothing)? else { panic!("a table") };
    /// assert_eq!(rows.len(), 1);
    /// assert!(filter.ask("petals", Argument::Nothing).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn ask(&self, question: &str, argument: Argument<'_>) -> Result<Reply> {
        let at = self.kind.special_at(question, &argument, false)?;
        self.unlocked()?;
        let reply = (self.kind.ask)(&*self.value, at, argument)?;
        if matches!(reply, Reply::Filter(_)) {
            self.check_with(argument)?;
        }
        Ok(reply)
    }

    /// Does what only this kind can: [`Kind::specials`] lists it. An error leaves the filter as it was.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Iblt, capability::{Item, Note}, kind::Argument};
    /// let mut table = AnyFilter::from_structure(Iblt::with_capacity(10)?)?;
    /// table.act("remove-ahead", Argument::Item(Item::new(b"rose", Note::Bytes(b"red"))))?;
    /// assert_eq!(table.list()?.list().entries[0].count, -1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn act(&mut self, action: &str, argument: Argument<'_>) -> Result<Reply> {
        let at = self.kind.special_at(action, &argument, true)?;
        self.unlocked()?;
        self.check_with(argument)?;
        (self.kind.act)(&mut *self.value, at, argument)
    }

    /// This filter as the argument of a question to another.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Bloom, kind::Argument};
    /// assert!(matches!(AnyFilter::from_structure(Bloom::with_size(64, 1)?)?.as_argument(), Argument::Filter(_)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn as_argument(&self) -> Argument<'_> {
        Argument::Filter(Other { filter: self })
    }

    /// The filter that a question made.
    pub fn from_made(made: Made) -> Result<Self> {
        Ok(Self::of(registry::find(made.facts.id)?, made.value))
    }

    /// The number of distinct keys.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut numbers = Bloom::with_rate(1_000, 0.01)?;
    /// (0..2_000u64).for_each(|i| _ = numbers.insert(&(i % 500)));
    /// let estimate = AnyFilter::from_structure(numbers)?.cardinality()?;
    /// assert!((estimate.keys - 500.0).abs() < 5.0 * estimate.standard_error && !estimate.saturated);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn cardinality(&self) -> Result<Estimate> {
        Ok((self.verb(Verb::Cardinality, self.kind.verbs.cardinality)?.one)(&*self.value))
    }

    /// How this set and another overlap.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut filters = [Bloom::with_rate(1_000, 0.001)?, Bloom::with_rate(1_000, 0.001)?];
    /// (0..600u64).for_each(|number| _ = filters[0].insert(&number));
    /// (400..1_000u64).for_each(|number| _ = filters[1].insert(&number));
    /// let [one, two] = filters.map(AnyFilter::from_structure);
    /// assert!((one?.overlap(&two?)?.jaccard - 0.2).abs() < 0.05, "200 of 1,000 are in both");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn overlap(&self, other: &AnyFilter) -> Result<Overlap> {
        self.same_kind(other)?;
        (self.verb(Verb::Cardinality, self.kind.verbs.cardinality)?.two)(&*self.value, &*other.value)
    }

    fn same_kind(&self, other: &AnyFilter) -> Result<()> {
        crate::error::same("kind", self.kind.facts().id, other.kind.facts().id)
    }

    /// What turns this filter into `new`, for one who holds this filter: a patch of the bits that differ, arithmetic-coded.
    /// A small change makes a short patch. Kind and hashing must be equal; a keyed filter may be locked.
    ///
    /// ```
    /// use bouquet::{Counting, AnyFilter};
    /// let old = AnyFilter::from_structure(Counting::with_rate(10_000, 0.01)?)?;
    /// let mut new = old.clone();
    /// new.insert()?.insert(b"rose".as_slice().into())?;
    /// let patch = old.delta(&new)?;
    /// assert!(patch.len() < 250 && new.to_bytes().len() > 40_000);
    /// assert_eq!(old.patched(&patch)?.to_bytes(), new.to_bytes());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn delta(&self, new: &AnyFilter) -> Result<Vec<u8>> {
        self.same_kind(new)?;
        crate::error::same("hashing", self.hashing(), new.hashing())?;
        codec::patch_between(&self.to_raw_bytes()?, &new.to_raw_bytes()?)
    }

    /// The filter that a [`delta`](Self::delta) makes of this one. A damaged patch, and one for another filter or another state
    /// of this one, is refused.
    ///
    /// ```
    /// use bouquet::{Error, AnyFilter, Scalable};
    /// let old = AnyFilter::from_structure(Scalable::with_rate(100, 0.01)?)?;
    /// let mut new = old.clone();
    /// new.grow()?.grow()?;
    /// let patch = old.delta(&new)?;
    /// assert_eq!(old.patched(&patch)?.to_bytes(), new.to_bytes());
    /// assert!(matches!(new.patched(&patch), Err(Error::OtherBase { .. })), "it was applied already");
    /// assert!(matches!(old.patched(&patch[..50]), Err(Error::Truncated { .. })));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn patched(&self, patch: &[u8]) -> Result<AnyFilter> {
        self.patched_with(patch, &OpenOptions::default())
    }

    /// As [`patched`](Self::patched), with the limits of these options. The secret is this filter's own, and if it is locked the
    /// new one will be.
    ///
    /// ```
    /// use bouquet::{Bloom, Error, AnyFilter, OpenOptions};
    /// let old = AnyFilter::from_structure(Bloom::with_size(64, 1)?)?;
    /// let mut new = old.clone();
    /// (0..500u64).try_for_each(|key| new.insert()?.insert(key.to_le_bytes().as_slice().into()).map(drop))?;
    /// let options = OpenOptions { max_fill: Some(0.5), ..OpenOptions::default() };
    /// assert!(matches!(old.patched_with(&old.delta(&new)?, &options), Err(Error::Overfull { .. })));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn patched_with(&self, patch: &[u8], options: &OpenOptions) -> Result<AnyFilter> {
        let max_coded_bits = options.max_coded_bits.unwrap_or(codec::MAX_CODED_BITS);
        let frame = codec::apply_patch(&self.to_raw_bytes()?, patch, max_coded_bits)?;
        let options = OpenOptions {
            kind: Some(self.kind),
            secret: self.hashing().secret().cloned(),
            allow_locked: !self.hashing().is_usable(),
            ..options.clone()
        };
        let filter = Self::from_bytes_with(&frame, &options)?;
        crate::error::same("hashing", self.hashing(), filter.hashing())?;
        Ok(filter)
    }

    /// The frame with its stores as they are in memory, whatever the kind prefers.
    fn to_raw_bytes(&self) -> Result<Vec<u8>> {
        self.check_unread()?;
        Ok(self.to_coded_bytes(false))
    }

    fn to_coded_bytes(&self, coded: bool) -> Vec<u8> {
        // Written anew, what is damaged or forged would get right checksums.
        if let Some(unread) = self.unread.as_ref().filter(|unread| unread.check().is_err()) {
            return unread.map.to_vec();
        }
        let mut out = Vec::new();
        self.write_coded(coded, &mut out).expect("writing to memory does not fail");
        out
    }

    /// Writes the frame.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// let mut stream = b"after this: ".to_vec();
    /// filter.write_to(&mut stream)?;
    /// assert_eq!(stream[12..], filter.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.write_coded(self.kind.coded, out)
    }

    /// Writes the frame with its bit stores arithmetic-coded, for transmission.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(10_000, 0.01)?)?;
    /// let mut stream = Vec::new();
    /// filter.write_compressed_to(&mut stream)?;
    /// assert!(stream.len() < 1_000 && filter.to_bytes().len() > 10_000);
    /// assert!(AnyFilter::from_bytes(&stream).is_ok(), "the frame says how it is coded");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_compressed_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.write_coded(true, out)
    }

    fn write_coded(&self, coded: bool, out: &mut impl Write) -> std::io::Result<()> {
        self.check_unread().map_err(std::io::Error::other)?;
        let value: &dyn Any = &*self.value;
        let (facts, config, encode) = (self.kind.facts(), self.config(), self.kind.encode);
        let kept = codec::Kept { code: self.locked_code, pace: self.pace };
        codec::write_frame_again(facts, &config, coded, kept, |encoder| encode(value, encoder), out)
    }

    /// The frame. That of a mapped file which is damaged is the file as it is.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let flowers = Bloom::with_rate(100, 0.01)?;
    /// let frame = AnyFilter::from_structure(flowers.clone())?.to_bytes();
    /// assert_eq!(Bloom::from_bytes(&frame)?, flowers);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_coded_bytes(self.kind.coded)
    }

    /// The frame with its bit stores arithmetic-coded.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// let mut flowers = Bloom::with_size(100_000, 7)?;
    /// flowers.insert("rose");
    /// let sent = AnyFilter::from_structure(flowers.clone())?.to_compressed_bytes();
    /// assert!(sent.len() < 1_000, "against 12,500 bytes in memory");
    /// assert_eq!(Bloom::from_bytes(&sent)?, flowers);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_compressed_bytes(&self) -> Vec<u8> {
        self.to_coded_bytes(true)
    }

    /// Reads a frame.
    ///
    /// ```
    /// use bouquet::{Counting, Error, AnyFilter};
    /// let frame = Counting::with_rate(100, 0.01)?.to_bytes();
    /// assert_eq!(AnyFilter::from_bytes(&frame)?.kind().facts().id, "counting");
    /// assert!(matches!(AnyFilter::from_bytes(&frame[..frame.len() / 2]), Err(Error::Truncated { .. })));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_with(bytes, &OpenOptions::default())
    }

    /// Reads a frame, with options.
    ///
    /// ```
    /// use bouquet::{Error, AnyFilter, OpenOptions, hash::{Hashing, Secret}, kind::Config, registry};
    /// let secret = Secret::random()?;
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "100")?;
    /// let frame = AnyFilter::new(&config.hashed(Hashing::keyed(secret.clone())))?.to_bytes();
    /// assert!(matches!(AnyFilter::from_bytes(&frame), Err(Error::Secret { .. })));
    /// let options = OpenOptions { secret: Some(secret), ..OpenOptions::default() };
    /// assert!(AnyFilter::from_bytes_with(&frame, &options).is_ok());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes_with(bytes: &[u8], options: &OpenOptions) -> Result<Self> {
        Self::read(Source::Bytes(bytes), options)
    }

    fn read(source: Source<'_>, options: &OpenOptions) -> Result<Self> {
        Self::decode_frame(source, &Header::read(source.bytes())?, options)
    }

    fn decode_frame(source: Source<'_>, header: &Header, options: &OpenOptions) -> Result<Self> {
        header.refuse_large(options.max_coded_bits.unwrap_or(codec::MAX_CODED_BITS))?;
        let kind = kind_of(header, options)?;
        let &OpenOptions { allow_locked, allow_unauthenticated, .. } = options;
        let access = Access { secret: options.secret.as_ref(), allow_locked, allow_unauthenticated };
        let mut decoder = Decoder::new(source, header, kind.facts(), access)?;
        let value = (kind.decode)(&mut decoder)?;
        let authentic = decoder.finish()?;
        let mut filter = Self::of(kind, value);
        filter.locked_code = header.code().filter(|_| !filter.hashing().is_usable());
        filter.pace = header.pace();
        if filter.pace.is_some() && !kind.can(Verb::Advance) {
            return Err(Error::corrupt(
                "the pace of the frame",
                "none of a kind that does not forget",
                kind.facts().id,
            ));
        }
        filter.refuse_overfull(options, authentic, matches!(source, Source::Map(_)))?;
        Ok(filter)
    }

    /// A keyed filter comes from where adversaries are. If nobody who has the secret vouches for it, it must not be fuller
    /// than its own item count allows; one that is authentic may, as a chain that was merged with copies of itself is. The
    /// check reads the whole store, so a mapped file is spared it unless a limit was asked for.
    fn refuse_overfull(&self, options: &OpenOptions, authentic: bool, mapped: bool) -> Result<()> {
        let doubted = self.hashing().id().is_keyed() && !authentic;
        if options.max_fill.is_none() && (!doubted || mapped) {
            return Ok(());
        }
        let stats = self.stats();
        let above = options.max_fill.and_then(|limit| Some((stats.fill?, limit))).filter(|(fill, limit)| fill > limit);
        let polluted = if doubted { stats.pollution() } else { None };
        above.or(polluted).map_or(Ok(()), |(fill, limit)| Err(Error::Overfull { fill, limit }))
    }

    /// Reads a filter from a file.
    ///
    /// ```
    /// use bouquet::{Error, AnyFilter, OpenOptions, Scalable};
    /// # let path = std::env::temp_dir().join(format!("bouquet-open-{}.bq", std::process::id()));
    /// AnyFilter::from_structure(Scalable::with_rate(100, 0.01)?)?.save(&path)?;
    /// assert_eq!(AnyFilter::open(&path, &OpenOptions::default())?.kind().facts().id, "scalable");
    /// # std::fs::remove_file(&path).unwrap();
    /// assert!(matches!(AnyFilter::open("no such file".as_ref(), &OpenOptions::default()), Err(Error::Io { .. })));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| io_error(path, source))?;
        Self::from_bytes_with(&bytes, options)
    }

    /// Opens a filter in a file without reading it: its stores stay in the file and are read as they are asked for,
    /// their checksums unseen. A keyed filter is read once, to check its authentication code, unless
    /// [`allow_unauthenticated`](OpenOptions::allow_unauthenticated) spares it that. Before it is changed or written, it is read once and checked as
    /// [`open`](Self::open) does; changing it then copies the store to memory, and the file never changes.
    ///
    /// It must not be cut short while it is mapped: reading what is gone ends the process with a signal (SIGBUS).
    /// [`save`](Self::save) replaces files and does no harm.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter, OpenOptions};
    /// # let path = std::env::temp_dir().join(format!("bouquet-open-mapped-{}.bq", std::process::id()));
    /// AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?.save(&path)?;
    /// let mut mapped = AnyFilter::open_mapped(&path, &OpenOptions::default())?;
    /// mapped.insert()?.insert(b"rose".as_slice().into())?;
    /// assert!(mapped.contains()?.contains(b"rose"));
    /// assert!(!AnyFilter::open(&path, &OpenOptions::default())?.contains()?.contains(b"rose"), "the file is as it was");
    /// # drop(mapped);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn open_mapped(path: &Path, options: &OpenOptions) -> Result<Self> {
        let file = File::open(path).map_err(|source| io_error(path, source))?;
        let map = crate::simd::map_file(&file).map_err(|source| io_error(path, source))?;
        let map = Arc::new(map);
        let filter = Self::read(Source::Map(&map), options)?;
        Ok(AnyFilter { unread: Some(Arc::new(Unread::new(map, options))), ..filter })
    }

    /// Writes the frame to a file: beside it first, then synced and renamed, so that an interrupted write leaves the
    /// old file whole.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// # let path = std::env::temp_dir().join(format!("bouquet-save-{}.bq", std::process::id()));
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(100, 0.01)?)?;
    /// filter.save(&path)?;
    /// assert_eq!(std::fs::read(&path)?, filter.to_bytes());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, path: &Path) -> Result<()> {
        self.check_unread()?;
        write_atomically(path, |out| self.write_to(out))
    }

    /// As [`save`](Self::save), with the bit stores arithmetic-coded.
    ///
    /// ```
    /// use bouquet::{Bloom, AnyFilter};
    /// # let path = std::env::temp_dir().join(format!("bouquet-save-compressed-{}.bq", std::process::id()));
    /// let filter = AnyFilter::from_structure(Bloom::with_rate(10_000, 0.01)?)?;
    /// filter.save_compressed(&path)?;
    /// assert_eq!(std::fs::read(&path)?, filter.to_compressed_bytes());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save_compressed(&self, path: &Path) -> Result<()> {
        self.check_unread()?;
        write_atomically(path, |out| self.write_compressed_to(out))
    }
}

fn kind_of(header: &Header, options: &OpenOptions) -> Result<&'static Kind> {
    let Some(kind) = options.kind else { return registry::by_number(header.kind) };
    crate::error::same("kind number", kind.facts().number, header.kind)?;
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(kind: &'static Kind) -> AnyFilter {
        let config = Config::new(kind.facts());
        let sized = kind.facts().parameters.iter().any(|parameter| parameter.name == "items");
        AnyFilter::new(&if sized { config.set("items", "100").unwrap() } else { config }).unwrap()
    }

    #[test]
    fn verbs_are_at_hand_just_where_the_kind_has_them_and_nothing_stands_between() {
        for kind in registry::kinds() {
            let filter = small(kind);
            let has = |verbs: &[Verb]| kind.needs.is_empty() && verbs.iter().all(|&verb| kind.can(verb));
            let set = has(&[Verb::Contains, Verb::Insert]);
            let multiset = set && has(&[Verb::Remove, Verb::Count]);
            for filter in [filter.clone(), filter] {
                let at_hand = match filter.value {
                    Held::Any(_) => (false, false),
                    Held::Set(_) => (true, false),
                    Held::Multiset(_) => (true, true),
                };
                assert_eq!(at_hand, (set, multiset), "{}", kind.facts().id);
            }
        }
    }

    #[test]
    fn a_locked_filter_has_no_verb_at_hand() {
        for kind in ["standard", "counting"].map(|id| registry::find(id).unwrap()) {
            let hashing = Hashing::keyed(Secret::new(&[7; 16]).unwrap());
            let config = Config::new(kind.facts()).set("items", "100").unwrap().hashed(hashing);
            let frame = AnyFilter::new(&config).unwrap().to_bytes();
            let options = OpenOptions { allow_locked: true, ..Default::default() };
            let mut locked = AnyFilter::from_bytes_with(&frame, &options).unwrap().clone();
            assert!(matches!(locked.value, Held::Any(_)));
            assert!(matches!(locked.contains().err(), Some(Error::Secret { .. })));
            assert!(matches!(locked.insert().err(), Some(Error::Secret { .. })));
            assert!(matches!(locked.remove().err(), Some(Error::Secret { .. } | Error::Unsupported { .. })));
            assert!(matches!(locked.count().err(), Some(Error::Secret { .. } | Error::Unsupported { .. })));
        }
    }

    #[test]
    fn a_kind_with_fewer_verbs_than_its_type_has_no_more_at_hand() {
        static FULL: Kind = Kind::of::<crate::Counting>().contains().insert().done();
        let config = Config::new(FULL.facts()).set("items", "100").unwrap();
        let mut filter = AnyFilter::new_of_kind(&FULL, &config).unwrap();
        assert!(filter.insert().unwrap().insert(b"rose".as_slice().into()).unwrap());
        assert!(filter.contains().unwrap().contains(b"rose"));
        assert!(filter.remove().is_err() && filter.count().is_err());
    }
}
