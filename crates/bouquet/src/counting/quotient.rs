#![doc = include_str!("quotient.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder, Grain};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Reply, Special, Stats, Takes, Text, kind};
use crate::shell::{self, Amount, Expand, Filter, Hashed, Mechanism, Meet, Put, Take, Tally, Test, Unite};
use crate::store::BitStore;
use crate::theory::{fingerprints, special};

mod code;
mod hashes;
mod ranked;
mod settings;
mod slots;
mod table;
mod three_bit;

use hashes::joined;
use ranked::Ranked;
use settings::Shape;
pub use settings::{Layout, QuotientSettings};
use slots::{Slots, with_table};
use table::{Removed, Table};
use three_bit::ThreeBit;

/// The registry's row.
pub const KIND: Kind = kind!(Quotient);

/// A quotient filter with counts.
///
/// ```
/// use bouquet::Quotient;
/// let mut filter = Quotient::with_rate(1_000, 0.01)?;
/// for _ in 0..1_000 {
///     filter.insert("rose")?;
/// }
/// assert_eq!(filter.count("rose").count, 1_000);
/// assert!(filter.used() < 10);
/// filter.remove("rose")?;
/// assert_eq!(filter.count("rose").count, 999);
/// filter.add("lily", 1_000_000)?; // costs one insertion or so
/// assert_eq!(filter.count("lily").count, 1_000_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// Two filters merge into the same filter, bit for bit, as from inserting everything into one:
///
/// ```
/// # use bouquet::Quotient;
/// let mut here = Quotient::with_rate(1_000, 0.01)?;
/// let mut there = here.clone();
/// here.insert("rose")?;
/// there.insert_batch(&["rose", "lily"])?;
/// here.merge(&there)?;
/// assert_eq!((here.count("rose").count, here.count("lily").count), (2, 1));
/// here.intersect(&there)?; // each hash as often as both have it
/// assert_eq!((here.count("rose").count, here.items()), (1, 2));
/// # Ok::<(), bouquet::Error>(())
/// ```
///
/// Growing doubles the slots without the keys. No answer changes, and neither does the rate, because hashes stay as long
/// as they are; [`Error::Full`] when remainders have only 2 bits left:
///
/// ```
/// # use bouquet::Quotient;
/// let mut filter = Quotient::with_size(10, 8)?;
/// filter.insert("rose")?;
/// assert_eq!(filter.capacity(), 972);
/// filter.grow()?;
/// assert!(filter.contains("rose"));
/// assert_eq!((filter.settings().quotient, filter.settings().remainder), (Some(11), Some(7)));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Quotient = Filter<QuotientTable>;

/// Remainders in runs, with counts.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotientTable {
    slots: Slots,
    shape: Shape,
    /// Slots in use.
    used: u64,
    /// Different hashes.
    distinct: u64,
}

impl Mechanism for QuotientTable {
    const FACTS: Facts = Facts {
        id: "quotient",
        number: 71,
        aliases: &["QF", "CQF", "RSQF", "quotient-filter"],
        family: "counting",
        text: Text::new(include_str!("quotient.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const SPECIALS: &'static [Special<Quotient>] = &[Special::ask(
        "fingerprints",
        Takes::Nothing,
        "the hashes in the filter with their counts: all that is left of the keys",
        |filter, _| {
            let rows = filter.fingerprints().map(|(hash, count)| vec![hash.into(), count.into()]);
            Ok(Reply::Table(&["hash", "count"], rows.collect()))
        },
    )];

    type Settings = QuotientSettings;

    fn resolve(asked: &QuotientSettings) -> Result<QuotientSettings> {
        asked.resolved()
    }

    fn plan(settings: &QuotientSettings) -> Result<Plan> {
        let shape = Shape::of(settings)?;
        let rate = |items| fingerprints::quotient_rate(shape.hash_bits(), items);
        Ok(Plan { bits: shape.bits()?, hashes: 1, items: settings.items, fpr: settings.items.map(rate) })
    }

    fn empty(settings: &QuotientSettings, _: &Hashing) -> Result<Self> {
        Self::zeroed(Shape::of(settings)?)
    }

    /// Growing moves a bit from the remainder to the quotient, so that only their sum may be in the domain.
    fn domain(settings: &QuotientSettings) -> String {
        format!("quotient {}", settings.quotient.unwrap_or(0) + settings.remainder.unwrap_or(0))
    }

    fn settings(&self, resolved: &QuotientSettings) -> QuotientSettings {
        let (quotient, remainder) = (Some(self.shape.quotient), Some(self.shape.remainder));
        QuotientSettings { quotient, remainder, ..resolved.clone() }
    }

    fn stats(&self, items: u64) -> Stats {
        let homes = self.shape.homes() as f64;
        Stats {
            items,
            // The shape was checked when the filter was made.
            bits: self.shape.bits().unwrap_or(u64::MAX),
            hashes: 1,
            fill: Some(self.used as f64 / homes),
            fpr: Some(self.distinct as f64 / 2f64.powi(self.shape.hash_bits() as i32)),
            // A key takes a slot, and the third copy of one makes that four at most.
            honest_fill: Some(items as f64 * (4.0 / 3.0) / homes),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = |items| Some(fingerprints::quotient_rate(self.shape.hash_bits(), items));
        // Another key is counted with this one just when it would make it seem present.
        Rates { false_positive: rate(items), over_count: rate(items.saturating_sub(1)), ..Rates::default() }
    }

    /// Stores: rank-select, the occupieds, the runends, the remainders and the offsets; three-bit, the slots. The numbers
    /// follow from them.
    fn grains(&self) -> Vec<Option<Grain>> {
        let grain = |name, width| Some(Grain { name, width, group: 1 });
        match &self.slots {
            Slots::Ranked(_) => {
                let remainders = grain("remainders", self.shape.remainder);
                vec![grain("occupied", 1), grain("run ends", 1), remainders, grain("offsets", 8)]
            }
            Slots::ThreeBit(_) => vec![grain("remainders with three bits", self.shape.remainder + 3)],
        }
    }

    fn encode<'a>(&'a self, _items: u64, encoder: &mut Encoder<'a>) {
        let stores = self.stores();
        encoder.copied(|encoder| stores.iter().for_each(|store| encoder.bits(store)));
    }

    fn decode(settings: &QuotientSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::of(settings)?;
        let (slots, r) = (shape.slots(), shape.remainder);
        let slots = if shape.layout == Layout::ThreeBit {
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
        (QuotientTable { slots, shape, used: 0, distinct: 0 }).counted()
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.shape.size()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let home = self.shape.home(digest);
        with_table!(&self.slots, table => table.prefetch(home));
    }
}

impl Test for QuotientTable {
    #[inline]
    fn test(&self, Hashed { digest, .. }: Hashed<'_>) -> bool {
        // Half of the homes have no run, and then the remainder is not needed.
        let home = self.shape.home(digest);
        with_table!(&self.slots, table => {
            table.is_occupied(home) && table::holds(table, home, self.shape.remainder(digest))
        })
    }
}

impl Put for QuotientTable {
    type Note<'a> = Amount;
    type Outcome = Result<bool>;

    /// Any number of copies costs one insertion or so. [`Error::Full`] when there is no slot for the key; nothing has changed
    /// then.
    // Always inlined: a loop over single insertions is as fast as the batch.
    #[inline(always)]
    fn put(&mut self, key: Hashed<'_>, Amount(times): Amount) -> Result<bool> {
        if times == 0 {
            return Ok(!self.test(key));
        }
        self.add_at(self.shape.place(key.digest), times)
    }

    #[inline(always)]
    fn weight(Amount(times): &Amount) -> u64 {
        *times
    }
}

impl Take for QuotientTable {
    type Note<'a> = Amount;

    /// [`Error::NotPresent`] also when the key is not in as often.
    #[inline]
    fn take(&mut self, key: Hashed<'_>, Amount(times): Amount) -> Result<()> {
        let (home, remainder) = self.shape.place(key.digest);
        let removed = with_table!(&mut self.slots, table => table::subtract(table, home, remainder, times));
        let Some(Removed { is_last, slots }) = removed else { return Err(Error::NotPresent) };
        self.used -= slots;
        self.distinct -= u64::from(is_last);
        Ok(())
    }

    #[inline(always)]
    fn taken(Amount(times): &Amount) -> u64 {
        *times
    }
}

impl Tally for QuotientTable {
    /// The truth or, as rarely as a false positive, more.
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let (home, remainder) = self.shape.place(key.digest);
        let count = with_table!(&self.slots, table => table::count(table, home, remainder));
        Multiplicity { count, at_least: false }
    }
}

impl Expand for QuotientTable {
    fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    fn expand(&mut self) -> Result<()> {
        let shape = Shape::new(self.shape.quotient + 1, self.shape.remainder - 1, self.shape.layout);
        if shape.remainder < 2 {
            return Err(Error::Full {
                what: "remainders have 2 bits and cannot give another to the quotient".into(),
                remedy: "make it with a larger `remainder`".into(),
            });
        }
        *self = Self::rebuilt(shape, self.fingerprints())?;
        Ok(())
    }
}

impl Unite for QuotientTable {
    /// In one pass over both. [`Error::Full`] when the union does not fit; nothing has changed then.
    fn unite(&mut self, other: &Self) -> Result<()> {
        let both = joined(self.fingerprints(), other.fingerprints());
        *self = Self::rebuilt(self.shape, both.map(|(hash, a, b)| (hash, a.saturating_add(b))))?;
        Ok(())
    }
}

impl Meet for QuotientTable {
    /// Keeps each hash as often as both have it.
    fn meet(&mut self, other: &Self) -> Result<()> {
        let both = joined(self.fingerprints(), other.fingerprints()).map(|(hash, a, b)| (hash, a.min(b)));
        *self = Self::rebuilt(self.shape, both.filter(|&(_, count)| count > 0))?;
        Ok(())
    }

    fn items_met(&self, _least: u64) -> u64 {
        self.fingerprints().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }
}

impl shell::Code for QuotientTable {
    fn entropy_bits(&self) -> f64 {
        self.stores().iter().map(|store| store.len() as f64 * special::entropy(store.fill())).sum()
    }
}

impl Quotient {
    /// A filter of 2^`quotient` slots for remainders of `remainder` bits.
    ///
    /// ```
    /// use bouquet::Quotient;
    /// assert_eq!(Quotient::with_size(10, 8)?.capacity(), 972);
    /// assert!(Quotient::with_size(10, 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(quotient: u32, remainder: u32) -> Result<Self> {
        Self::with(QuotientSettings { quotient: Some(quotient), remainder: Some(remainder), ..Default::default() })
    }

    /// The slots in use. A key takes one, more copies of it a few.
    ///
    /// ```
    /// use bouquet::Quotient;
    /// let mut filter = Quotient::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.used(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn used(&self) -> u64 {
        self.mechanism.used
    }

    /// Different hashes: the number of different keys, or slightly less.
    ///
    /// ```
    /// use bouquet::Quotient;
    /// let mut filter = Quotient::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&["rose", "rose", "lily"])?;
    /// assert_eq!((filter.items(), filter.distinct()), (3, 2));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.mechanism.distinct
    }
}

impl QuotientTable {
    fn zeroed(shape: Shape) -> Result<Self> {
        Ok(QuotientTable { slots: shape.zeroed()?, shape, used: 0, distinct: 0 })
    }

    #[inline(always)]
    fn add_at(&mut self, (home, remainder): (u64, u64), times: u64) -> Result<bool> {
        let room = self.shape.capacity.saturating_sub(self.used);
        let change = with_table!(&mut self.slots, table => table::add(table, home, remainder, times, room));
        let Some((fresh, slots)) = change else { return Err(self.full()) };
        self.used += slots;
        self.distinct += u64::from(fresh);
        Ok(fresh)
    }

    #[cold]
    fn full(&self) -> Error {
        Error::Full {
            what: format!("{} of {} slots are in use", self.used, self.shape.capacity),
            remedy: "let it grow, or make it for more `items` or with a larger `quotient`".into(),
        }
    }

    /// The stores as they are in a frame.
    fn stores(&self) -> Vec<BitStore> {
        match &self.slots {
            // As much memory again as the filter has.
            Slots::Ranked(table) => table.to_stores().into(),
            Slots::ThreeBit(table) => vec![table.store().clone()],
        }
    }
}

#[cfg(test)]
mod tests;
