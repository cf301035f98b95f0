#![doc = include_str!("quotient.md")]

use crate::capability::{
    Compress, Contains, Count, Grow, Insert, Intersect, Item, Merge, Multiplicity, NoteType, Remove,
};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing};
use crate::key::{Batched, Key, answer_each, insert_each, insert_items};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::store::{BitStore, field_max};
use crate::theory::{fingerprints, special};

mod code;
mod ranked;
mod table;
mod three_bit;

use code::{Code, entry};
use ranked::Ranked;
use table::{Removed, Table};
use three_bit::ThreeBit;

/// The registry's row.
pub const KIND: Kind = kind!(QuotientFilter);

const QUOTIENT: Parameter = Parameter {
    name: "quotient",
    help: "bits of the quotient: there are two to this power slots, of which 95 % can be used",
    of: ParameterType::Count { min: 1, max: 56, default: None },
};

const REMAINDER: Parameter = Parameter {
    name: "remainder",
    help: "bits of the remainder, which a slot holds; growing takes one of them, down to 2",
    of: ParameterType::Count { min: 2, max: 62, default: None },
};

const LAYOUT: Parameter = Parameter {
    name: "layout",
    help: "how runs are found: by rank and select in 2.125 bits per slot, or by walking, in 3 bits",
    of: ParameterType::Choice { options: &["rank-select", "three-bit"] },
};

#[derive(Clone, Debug, PartialEq)]
enum Slots {
    Ranked(Ranked),
    ThreeBit(ThreeBit),
}

/// Does the same with the table, whichever it is.
macro_rules! with_table {
    ($slots:expr, $table:ident => $body:expr) => {
        match $slots {
            Slots::Ranked($table) => $body,
            Slots::ThreeBit($table) => $body,
        }
    };
}

/// What the settings say about the slots.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    quotient: u32,
    remainder: u32,
    three_bit: bool,
    /// The slots that may be in use. It follows from the others.
    capacity: u64,
}

impl Shape {
    fn of(config: &Config) -> Result<Self> {
        let quotient = match (config.count("quotient"), config.count("items")) {
            (Some(bits), _) => bits as u32,
            (None, Some(items)) => fingerprints::quotient_bits(items),
            (None, None) => {
                return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `quotient`)"));
            }
        };
        let fpr = config.real("fpr").unwrap_or(0.01);
        let planned = match config.count("items") {
            Some(items) => fingerprints::planned_remainder_bits(fpr, quotient, items),
            None => fingerprints::remainder_bits(fpr),
        };
        let remainder = config.count("remainder").map_or(planned, |bits| bits as u32);
        if quotient + remainder > 64 {
            let found = format!("{remainder} with {quotient} bits of the quotient");
            return Err(Error::parameter("remainder", "such that a hash has at most 64 bits", found));
        }
        let shape = Shape::new(quotient, remainder, config.choice("layout") == "three-bit");
        shape.bits().map(|_| shape)
    }

    fn new(quotient: u32, remainder: u32, three_bit: bool) -> Self {
        let capacity = ((1u64 << quotient) as f64 * fingerprints::QUOTIENT_LOAD) as u64;
        Shape { quotient, remainder, three_bit, capacity: capacity.max(1) }
    }

    /// The slots that are homes.
    fn homes(&self) -> u64 {
        1 << self.quotient
    }

    /// All slots, a whole number of blocks: behind the last home there are 10 sqrt(2^q) more.
    fn slots(&self) -> u64 {
        let slack = (10.0 * (self.homes() as f64).sqrt()).ceil() as u64;
        (self.homes() + slack).next_multiple_of(64)
    }

    fn bits(&self) -> Result<u64> {
        let bits = if self.three_bit { ThreeBit::bits } else { Ranked::bits }(self.slots(), self.remainder);
        bits.ok_or_else(|| Error::TooLarge {
            what: "the slots".into(),
            bytes: u128::from(self.slots()) * u128::from(self.remainder + 3) / 8,
        })
    }

    /// About as many bits as [`bits`](Self::bits) says. A hash has at most 64, so that this fits.
    #[inline]
    fn size(&self) -> u64 {
        self.homes() * u64::from(self.remainder + 3)
    }

    fn zeroed(&self) -> Result<Slots> {
        Ok(if self.three_bit {
            Slots::ThreeBit(ThreeBit::zeroed(self.slots(), self.remainder)?)
        } else {
            Slots::Ranked(Ranked::zeroed(self.slots(), self.remainder)?)
        })
    }

    /// Home and remainder of a hash.
    #[inline]
    fn split(&self, hash: u64) -> (u64, u64) {
        (hash >> self.remainder, hash & field_max(self.remainder))
    }

    #[inline]
    fn home(&self, digest: Digest) -> u64 {
        digest.h1 >> (64 - self.quotient)
    }

    #[inline]
    fn remainder(&self, digest: Digest) -> u64 {
        digest.h1 >> (64 - self.hash_bits()) & field_max(self.remainder)
    }

    /// Home and remainder of a digest.
    #[inline]
    fn place(&self, digest: Digest) -> (u64, u64) {
        (self.home(digest), self.remainder(digest))
    }

    fn hash_bits(&self) -> u32 {
        self.quotient + self.remainder
    }
}

/// A quotient filter with counts.
///
/// ```
/// use bouquet::counting::quotient::QuotientFilter;
/// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
/// for _ in 0..1_000 {
///     filter.insert("rose")?;
/// }
/// assert_eq!(filter.count("rose").count, 1_000);
/// assert!(filter.used() < 10);
/// filter.remove("rose")?;
/// assert_eq!(filter.count("rose").count, 999);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QuotientFilter {
    slots: Slots,
    shape: Shape,
    hashing: Hashing,
    /// Slots in use.
    used: u64,
    /// Different hashes.
    distinct: u64,
    /// Insertions less removals.
    items: u64,
    /// The keys and the rate that it was made for.
    design: (Option<u64>, Option<f64>),
}

impl QuotientFilter {
    /// A filter for `items` keys whose false-positive rate is then at most `fpr`.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let filter = QuotientFilter::with_rate(1_000_000, 0.01)?;
    /// assert_eq!((filter.quotient_bits(), filter.remainder_bits()), (21, 6));
    /// assert!(QuotientFilter::with_rate(1_000, 0.0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts());
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// A filter of 2^`quotient_bits` slots for remainders of so many bits.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// assert_eq!(QuotientFilter::with_size(10, 8)?.capacity(), 972);
    /// assert!(QuotientFilter::with_size(10, 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(quotient_bits: u32, remainder_bits: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("quotient", Setting::Count(quotient_bits.into()))?;
        Self::from_config(&config.with("remainder", Setting::Count(remainder_bits.into()))?)
    }

    /// An empty filter of the settings in `config`, which must be for this kind: the way to the other layout and to keyed
    /// hashing.
    ///
    /// ```
    /// use bouquet::{counting::quotient::{KIND, QuotientFilter}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("layout", "three-bit")?;
    /// let mut filter = QuotientFilter::from_config(&config)?;
    /// assert!(filter.insert("rose")? && filter.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = Shape::of(config)?;
        Ok(Self::with_slots(config, shape, shape.zeroed()?))
    }

    /// The filter of these slots, with its numbers still to be counted.
    fn with_slots(config: &Config, shape: Shape, slots: Slots) -> Self {
        // Growing moves a bit from the remainder to the quotient, so that only their sum may be in the domain.
        let hashing = config.hashing().clone().bind(&format!("quotient {}", shape.hash_bits()));
        let design = (config.count("items"), config.is_set("fpr").then(|| config.real("fpr")).flatten());
        QuotientFilter { slots, shape, hashing, used: 0, distinct: 0, items: 0, design }
    }

    /// Bits of the quotient.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// assert_eq!(QuotientFilter::with_rate(900, 0.01)?.quotient_bits(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn quotient_bits(&self) -> u32 {
        self.shape.quotient
    }

    /// Bits of a remainder.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// assert_eq!(QuotientFilter::with_rate(900, 0.001)?.remainder_bits(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn remainder_bits(&self) -> u32 {
        self.shape.remainder
    }

    /// The slots that can be used: 95 %. A key takes one, more copies of it a few.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// assert_eq!(QuotientFilter::with_size(20, 8)?.capacity(), 996_147);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    /// The slots in use.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.used(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Insertions less removals.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// assert_eq!((filter.items(), filter.distinct()), (3, 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Different hashes: the number of different keys, or slightly less.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose"])?;
    /// assert_eq!(filter.distinct(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Forgets every key.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.clear()?;
    /// assert!(!filter.contains("rose") && filter.items() == 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear(&mut self) -> Result<()> {
        self.slots = self.shape.zeroed()?;
        (self.used, self.distinct, self.items) = (0, 0, 0);
        Ok(())
    }

    /// The hashes in the filter, ascending, with the number of times that each is in: all that is left of the keys.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// let mut counts: Vec<_> = filter.fingerprints().map(|(_, count)| count).collect();
    /// counts.sort_unstable();
    /// assert_eq!(counts, [1, 2]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let r = self.shape.remainder;
        let mut home = with_table!(&self.slots, table => table.next_home(0));
        let (mut run, mut at) = (0..0, 0);
        std::iter::from_fn(move || {
            with_table!(&self.slots, table => {
                while at >= run.end {
                    let own = home?;
                    // A run that is not empty takes us forward, so that no home is seen twice.
                    if run.end > run.start {
                        home = table.next_home(own + 1);
                    }
                    run = table.run(home?);
                    at = run.start;
                }
                let found = entry(|slot| table.get(slot), at, run.end, at == run.start, r);
                at = found.end;
                Some((home? << r | found.remainder, found.count))
            })
        })
    }

    /// Inserts a key once more and says whether it was certainly new. [`Error::Full`] when there is no slot for it; nothing
    /// has changed then.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// assert!(filter.insert("rose")?);
    /// assert!(!filter.insert("rose")?, "not new, but counted");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.add_at(self.shape.place(key.digest(&self.hashing)), 1)
    }

    /// Inserts a key `times` times, at the cost of one insertion or so, and says whether it was certainly new.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_many("rose", 1_000_000)?;
    /// assert_eq!(filter.count("rose").count, 1_000_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_many<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<bool> {
        if times == 0 {
            return Ok(!self.contains(key));
        }
        self.add_at(self.shape.place(key.digest(&self.hashing)), times)
    }

    fn add(&mut self, hash: u64, times: u64) -> Result<bool> {
        self.add_at(self.shape.split(hash), times)
    }

    // Always inlined: a loop over single insertions is as fast as the batch.
    #[inline(always)]
    fn add_at(&mut self, (home, remainder): (u64, u64), times: u64) -> Result<bool> {
        let room = self.shape.capacity.saturating_sub(self.used);
        let change = with_table!(&mut self.slots, table => table::add(table, home, remainder, times, room));
        let Some((fresh, slots)) = change else { return Err(self.full()) };
        self.used += slots;
        self.distinct += u64::from(fresh);
        self.items = self.items.saturating_add(times);
        Ok(fresh)
    }

    #[cold]
    fn full(&self) -> Error {
        Error::Full {
            what: format!("{} of {} slots are in use", self.used, self.capacity()),
            remedy: "let it grow, or make it for more `items` or with a larger `quotient`".into(),
        }
    }

    /// Inserts many keys and says how many were certainly new. An error stops at the key that caused it.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "lily", "rose"])?, 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64> {
        insert_each(self, |filter| filter, keys, |filter, _, digest| filter.add_at(filter.shape.place(digest), 1))
    }

    /// Whether the key may be in the set. `false` is certain, unless keys were removed that were never inserted.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.contains("rose") && !filter.contains("thistle"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        // Half of the homes have no run, and then the remainder is not needed.
        let home = self.shape.home(digest);
        with_table!(&self.slots, table => {
            table.is_occupied(home) && table::holds(table, home, self.shape.remainder(digest))
        })
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// let mut answers = [false; 2];
    /// filter.contains_batch(&["rose", "thistle"], &mut answers);
    /// assert_eq!(answers, [true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        answer_each(self, keys, answers, |digest| self.contains_digest(digest));
    }

    /// Removes one copy of a key, or says [`Error::NotPresent`] and changes nothing when it is certainly absent.
    ///
    /// **Remove only what was inserted.** An absent key that seems present cannot be told from a present one: removing
    /// it takes the hash of another key, which may then seem absent.
    ///
    /// ```
    /// use bouquet::{Error, counting::quotient::QuotientFilter};
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "lily"])?;
    /// filter.remove("rose")?;
    /// assert!(!filter.contains("rose") && filter.contains("lily"));
    /// assert!(matches!(filter.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let (home, remainder) = self.shape.place(key.digest(&self.hashing));
        let removed = with_table!(&mut self.slots, table => table::subtract(table, home, remainder));
        let Some(Removed { is_last, slots }) = removed else { return Err(Error::NotPresent) };
        self.used -= slots;
        self.distinct -= u64::from(is_last);
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// How often the key is in. That is the truth or, as rarely as a false positive, more.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// assert_eq!((filter.count("rose").count, filter.count("thistle").count), (2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Multiplicity {
        let (home, remainder) = self.shape.place(key.digest(&self.hashing));
        let count = with_table!(&self.slots, table => table::count(table, home, remainder));
        Multiplicity { count, at_least: false }
    }

    /// Adds what `other` holds, in one pass over both: the same filter, bit for bit, as from inserting everything into one.
    /// [`Error::Full`] when that does not fit; nothing has changed then.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut here = QuotientFilter::with_rate(1_000, 0.01)?;
    /// let mut there = here.clone();
    /// here.insert("rose")?;
    /// there.insert_batch(&["rose", "lily"])?;
    /// here.merge(&there)?;
    /// assert_eq!((here.count("rose").count, here.count("lily").count), (2, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        let (mine, theirs) = (self.fingerprints(), other.fingerprints());
        let merged = self.rebuilt(self.shape, joined(mine, theirs).map(|(hash, a, b)| (hash, a.saturating_add(b))))?;
        *self = merged;
        Ok(())
    }

    /// Keeps what `other` holds too, each hash as often as both have it.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut here = QuotientFilter::with_rate(1_000, 0.01)?;
    /// let mut there = here.clone();
    /// here.insert_batch(&["rose", "rose", "iris"])?;
    /// there.insert_batch(&["rose", "lily"])?;
    /// here.intersect(&there)?;
    /// assert_eq!((here.count("rose").count, here.items()), (1, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn intersect(&mut self, other: &Self) -> Result<()> {
        self.comparable(other)?;
        let both = joined(self.fingerprints(), other.fingerprints()).map(|(hash, a, b)| (hash, a.min(b)));
        *self = self.rebuilt(self.shape, both.filter(|&(_, count)| count > 0))?;
        Ok(())
    }

    fn comparable(&self, other: &Self) -> Result<()> {
        same("quotient bits", self.shape.quotient, other.shape.quotient)?;
        same("remainder bits", self.shape.remainder, other.shape.remainder)?;
        same("layout", self.shape.three_bit, other.shape.three_bit)?;
        same("hashing", &self.hashing, &other.hashing)
    }

    /// Doubles the slots, without the keys: a bit of the remainders goes over to the quotients. No answer changes, and
    /// neither does the rate, because hashes stay as long as they are. [`Error::Full`] when remainders have only 2 bits left.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_size(10, 8)?;
    /// filter.insert("rose")?;
    /// filter.grow()?;
    /// assert!(filter.contains("rose"));
    /// assert_eq!((filter.quotient_bits(), filter.remainder_bits()), (11, 7));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn grow(&mut self) -> Result<()> {
        let shape = Shape::new(self.shape.quotient + 1, self.shape.remainder - 1, self.shape.three_bit);
        if shape.remainder < 2 {
            return Err(Error::Full {
                what: "remainders have 2 bits and cannot give another to the quotient".into(),
                remedy: "make it with a larger `remainder`".into(),
            });
        }
        *self = self.rebuilt(shape, self.fingerprints())?;
        Ok(())
    }

    /// A filter of another shape with these hashes, which must ascend and be as long as before.
    fn rebuilt(&self, shape: Shape, hashes: impl Iterator<Item = (u64, u64)>) -> Result<Self> {
        let mut filter = QuotientFilter {
            slots: shape.zeroed()?,
            shape,
            hashing: self.hashing.clone(),
            used: 0,
            distinct: 0,
            items: 0,
            ..*self
        };
        for (hash, count) in hashes {
            filter.add(hash, count)?;
        }
        Ok(filter)
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(QuotientFilter::from_bytes(&filter.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::quotient::QuotientFilter;
    /// let mut filter = QuotientFilter::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(QuotientFilter::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }

    /// The stores as they are in a frame.
    fn stores(&self) -> Vec<BitStore> {
        match &self.slots {
            // As much memory again as the filter has.
            Slots::Ranked(table) => table.to_stores().into(),
            Slots::ThreeBit(table) => vec![table.store().clone()],
        }
    }

    /// Counts what the slots hold, and refuses runs that no content has.
    fn counted(mut self) -> Result<Self> {
        let (shape, r) = (self.shape, self.shape.remainder);
        let corrupt =
            |home: u64| Error::corrupt("slots", "runs of remainders and counters", format!("other at {home}"));
        with_table!(&self.slots, table => {
            for (home, run) in table.runs() {
                if home >= shape.homes() {
                    return Err(corrupt(home));
                }
                self.used += run.end - run.start;
                // Any remainder alone is one that is in once.
                if run.end - run.start == 1 {
                    self.distinct += 1;
                    self.items = self.items.saturating_add(1);
                    continue;
                }
                let (mut at, mut least) = (run.start, 0);
                while at < run.end {
                    let found = entry(|slot| table.get(slot), at, run.end, at == run.start, r);
                    let code = Code::new(found.remainder, found.count, r);
                    let same = code.symbols().iter().copied().eq((at..found.end).map(|slot| table.get(slot)));
                    if !same || found.remainder < least {
                        return Err(corrupt(home));
                    }
                    (at, least) = (found.end, found.remainder + 1);
                    self.distinct += 1;
                    self.items = self.items.saturating_add(found.count);
                }
            }
        });
        if self.used > shape.capacity {
            return Err(Error::corrupt("slots in use", format!("at most {}", shape.capacity), self.used));
        }
        Ok(self)
    }
}

/// The hashes of two ascending lists, ascending, with the count in each.
fn joined(
    left: impl Iterator<Item = (u64, u64)>,
    right: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = (u64, u64, u64)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || {
        let least = [left.peek(), right.peek()].into_iter().flatten().map(|&(hash, _)| hash).min()?;
        let count = |next: Option<(u64, u64)>| next.map_or(0, |(_, count)| count);
        let mine = count(left.next_if(|&(hash, _)| hash == least));
        Some((least, mine, count(right.next_if(|&(hash, _)| hash == least))))
    })
}

impl Structure for QuotientFilter {
    const FACTS: Facts = Facts {
        id: "quotient",
        number: 71,
        aliases: &["QF", "CQF", "RSQF", "quotient-filter"],
        family: "counting",
        text: Text::new(include_str!("quotient.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, QUOTIENT, REMAINDER, LAYOUT],
    };

    fn plan(config: &Config) -> Result<Plan> {
        let shape = Shape::of(config)?;
        let items = config.count("items");
        let rate = |items| fingerprints::quotient_rate(shape.hash_bits(), items);
        Ok(Plan { bits: shape.bits()?, hashes: 1, items, fpr: items.map(rate) })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = Config::new(const { &Self::FACTS }).hashed(self.hashing.clone());
        if let Some(items) = self.design.0 {
            config = config.put("items", Setting::Count(items));
        }
        if let Some(fpr) = self.design.1 {
            config = config.put("fpr", Setting::Real(fpr));
        }
        config
            .put("quotient", Setting::Count(self.shape.quotient.into()))
            .put("remainder", Setting::Count(self.shape.remainder.into()))
            .put("layout", Setting::Choice(if self.shape.three_bit { "three-bit" } else { "rank-select" }))
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        let homes = self.shape.homes() as f64;
        Stats {
            items: self.items,
            // The shape was checked when the filter was made.
            bits: self.shape.bits().unwrap_or(u64::MAX),
            hashes: 1,
            fill: Some(self.used as f64 / homes),
            fpr: Some(self.distinct as f64 / 2f64.powi(self.shape.hash_bits() as i32)),
            // A key takes a slot, and the third copy of one makes that four at most.
            honest_fill: Some(self.items as f64 * (4.0 / 3.0) / homes),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = |items| Some(fingerprints::quotient_rate(self.shape.hash_bits(), items));
        // Another key is counted with this one just when it would make it seem present.
        Rates { false_positive: rate(items), over_count: rate(items.saturating_sub(1)), ..Rates::default() }
    }

    /// Stores: rank-select, the occupieds, the runends, the remainders and the offsets; three-bit, the slots. The numbers
    /// follow from them.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let stores = self.stores();
        encoder.copied(|encoder| stores.iter().for_each(|store| encoder.bits(store)));
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = Shape::of(decoder.config())?;
        let (slots, r) = (shape.slots(), shape.remainder);
        let slots = if shape.three_bit {
            let bits = decoder.bits(shape.bits()?)?;
            Slots::ThreeBit(ThreeBit::from_store(bits, slots, r)?)
        } else {
            // The shape's bits are in range, so these are too.
            let stores = [
                decoder.bits(slots)?,
                decoder.bits(slots)?,
                decoder.bits(slots * u64::from(r))?,
                decoder.bits(slots / 64 * 8)?,
            ];
            Slots::Ranked(Ranked::from_stores(slots, r, &stores)?)
        };
        Self::with_slots(decoder.config(), shape, slots).counted()
    }
}

impl Batched for QuotientFilter {
    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn bits_ahead(&self) -> u64 {
        self.shape.size()
    }

    #[inline]
    fn ask(&self, digest: Digest) {
        let home = self.shape.home(digest);
        with_table!(&self.slots, table => table.prefetch(home));
    }
}

impl Contains for QuotientFilter {
    fn contains(&self, key: &[u8]) -> bool {
        QuotientFilter::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        QuotientFilter::contains_batch(self, keys, answers);
    }
}

impl Insert for QuotientFilter {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        QuotientFilter::insert(self, item.bare()?)
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        insert_items(self, |filter| filter, items, |filter, _, digest| filter.add_at(filter.shape.place(digest), 1))
    }
}

impl Remove for QuotientFilter {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        QuotientFilter::remove(self, item.bare()?)
    }
}

impl Count for QuotientFilter {
    fn count(&self, key: &[u8]) -> Multiplicity {
        QuotientFilter::count(self, key)
    }
}

impl Grow for QuotientFilter {
    fn capacity(&self) -> u64 {
        QuotientFilter::capacity(self)
    }

    fn grow(&mut self) -> Result<()> {
        QuotientFilter::grow(self)
    }
}

impl Merge for QuotientFilter {
    fn merge(&mut self, other: &Self) -> Result<()> {
        QuotientFilter::merge(self, other)
    }
}

impl Intersect for QuotientFilter {
    fn intersect(&mut self, other: &Self) -> Result<()> {
        QuotientFilter::intersect(self, other)
    }
}

impl Compress for QuotientFilter {
    fn entropy_bits(&self) -> f64 {
        self.stores().iter().map(|store| store.len() as f64 * special::entropy(store.fill())).sum()
    }
}

#[cfg(test)]
mod tests;
