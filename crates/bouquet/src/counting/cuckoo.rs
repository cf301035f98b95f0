#![doc = include_str!("cuckoo.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, SplitMix, fastrange, mix};
use crate::kind::{ErrorClass, Facts, Kind, Parameter, Plan, Rates, Reply, Special, Stats, Takes, Text, common, kind};
use crate::shell::{ByRate, Fields, Filter, Hashed, Mechanism, Put, Settings, Take, Tally, Test, fields};
use crate::store::buckets::{Buckets, Shape};
use crate::store::{Grain, field_max};
use crate::theory::fingerprints;

/// The registry's row.
pub const KIND: Kind = kind!(Cuckoo);

/// A cuckoo filter.
///
/// ```
/// use bouquet::Cuckoo;
/// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// assert!(filter.remove("rose").is_err(), "nothing is left to remove");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Cuckoo = Filter<CuckooTable>;

/// Moves that an insertion may cause before the last fingerprint is set aside.
const MOST_MOVES: u32 = 500;

/// With fewer bits there are too few different pairs of buckets to fill the table; a size may still ask for them.
const LEAST_PLANNED_FINGERPRINT: u32 = 6;

/// Buckets of two slots are overfull sooner, and need more.
const LEAST_PLANNED_FOR_PAIRS: u32 = 8;

const BUCKETS: Parameter = Parameter::count("buckets", "number of buckets, instead of a number of items", 1, 1 << 56);
const SLOTS: Parameter =
    Parameter::count("slots", "slots per bucket: 2, 4 or 8, of which 84, 95 or 98 % can be filled", 2, 8).or(4);
const FINGERPRINT: Parameter = Parameter::count(
    "fingerprint",
    "bits of a fingerprint, instead of a rate; with fewer than 6 the table is full early",
    2,
    32,
);
const COUNTER: Parameter = Parameter::count(
    "counter",
    "bits per slot that count copies of a key, each of which takes a slot otherwise",
    0,
    32,
)
.or(0);
const SEMISORT: Parameter =
    Parameter::flag("semisort", "one bit less per slot and more time per operation; for buckets of 4 slots");

/// The settings of a cuckoo filter.
///
/// ```
/// use bouquet::{Cuckoo, CuckooSettings};
/// let mut filter = Cuckoo::with(CuckooSettings { items: Some(1_000), counter: Some(8), ..Default::default() })?;
/// for _ in 0..200 {
///     filter.insert("rose")?;
/// }
/// assert_eq!((filter.count("rose").count, filter.used()), (200, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuckooSettings {
    /// Distinct keys that it is made for.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// The number of buckets.
    pub buckets: Option<u64>,
    /// Slots per bucket.
    pub slots: Option<u32>,
    /// Bits of a fingerprint.
    pub fingerprint: Option<u32>,
    /// Bits per slot that count copies of a key.
    pub counter: Option<u32>,
    /// Whether the fingerprints of a bucket are stored sorted.
    pub semisort: Option<bool>,
}

impl Settings for CuckooSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        buckets: BUCKETS,
        slots: SLOTS,
        fingerprint: FINGERPRINT,
        counter: COUNTER,
        semisort: SEMISORT,
    ];
}

impl ByRate for CuckooSettings {}

/// Fingerprints in buckets.
#[derive(Clone, Debug, PartialEq)]
pub struct CuckooTable {
    table: Buckets,
    fingerprint: u32,
    counter: u32,
    /// The entry that found no place, with one of its buckets.
    victim: Option<(u64, u64)>,
    /// Chooses what is moved.
    random: SplitMix,
}

/// What resolved settings say about the table.
struct Design {
    buckets: u64,
    fingerprint: u32,
    counter: u32,
    shape: Shape,
}

impl Design {
    fn of(settings: &CuckooSettings) -> Result<Self> {
        let buckets = BUCKETS.need(settings.buckets)?;
        let (fingerprint, counter) = (FINGERPRINT.need(settings.fingerprint)?, COUNTER.need(settings.counter)?);
        let (slots, semisort) = (SLOTS.need(settings.slots)?, SEMISORT.need(settings.semisort)?);
        let shape = Shape::new(slots, fingerprint + counter, fingerprint, semisort)?;
        Ok(Design { buckets, fingerprint, counter, shape })
    }

    fn with(self, table: Buckets, random: SplitMix) -> CuckooTable {
        CuckooTable { table, fingerprint: self.fingerprint, counter: self.counter, victim: None, random }
    }
}

impl Mechanism for CuckooTable {
    const FACTS: Facts = Facts {
        id: "cuckoo",
        number: 70,
        aliases: &["CF", "cuckoo-filter"],
        family: "counting",
        text: Text::new(include_str!("cuckoo.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const SPECIALS: &'static [Special<Cuckoo>] = &[Special::ask(
        "fingerprints",
        Takes::Nothing,
        "the fingerprints with one of their buckets and their number: all that is left of the keys",
        |filter, _| {
            let row =
                |(bucket, fingerprint, copies): (u64, u64, u64)| vec![bucket.into(), fingerprint.into(), copies.into()];
            Ok(Reply::Table(&["bucket", "fingerprint", "copies"], filter.fingerprints().map(row).collect()))
        },
    )];

    type Settings = CuckooSettings;

    fn resolve(asked: &CuckooSettings) -> Result<CuckooSettings> {
        let slots = SLOTS.need(asked.slots)?;
        if !slots.is_power_of_two() {
            return Err(Error::parameter("slots", "2, 4 or 8", slots));
        }
        let fpr = common::FPR.need(asked.fpr)?;
        let least = if slots == 2 { LEAST_PLANNED_FOR_PAIRS } else { LEAST_PLANNED_FINGERPRINT };
        let planned = fingerprints::cuckoo_fingerprint_bits(fpr, slots).max(least);
        let fingerprint = asked.fingerprint.unwrap_or(planned);
        if fingerprint > 32 {
            return Err(Error::parameter("fpr", "at least 4e-9, which 32 bits reach", fpr));
        }
        let buckets = match (asked.buckets, asked.items) {
            (Some(buckets), _) => buckets,
            (None, Some(items)) => fingerprints::cuckoo_buckets(items, slots),
            (None, None) => return Err(common::ITEMS.missing("buckets")),
        };
        Ok(CuckooSettings {
            buckets: Some(buckets),
            slots: Some(slots),
            fingerprint: Some(fingerprint),
            counter: Some(COUNTER.need(asked.counter)?),
            semisort: Some(SEMISORT.need(asked.semisort)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &CuckooSettings) -> Result<Plan> {
        let Design { buckets, fingerprint, shape, .. } = Design::of(settings)?;
        let fpr = settings.items.map(|items| fingerprints::cuckoo_rate(buckets, fingerprint, items));
        Ok(Plan { bits: shape.bits(buckets)?, hashes: 2, items: settings.items, fpr })
    }

    fn empty(settings: &CuckooSettings, hashing: &Hashing) -> Result<Self> {
        let design = Design::of(settings)?;
        let table = Buckets::zeroed(design.buckets, design.shape)?;
        Ok(design.with(table, SplitMix::new(hashing.seed())))
    }

    fn domain(CuckooSettings { buckets, slots, fingerprint, .. }: &CuckooSettings) -> String {
        format!("cuckoo {} {} {}", buckets.unwrap_or(0), slots.unwrap_or(0), fingerprint.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        let slots = self.slots() as f64;
        Stats {
            items,
            bits: self.table.bits().len(),
            hashes: 2,
            fill: Some((self.used(items) as f64 / slots).min(1.0)),
            fpr: Some(self.present_rate()),
            // A key takes one slot at most, whatever the hash.
            honest_fill: Some(items as f64 / slots),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = |items| Some(fingerprints::cuckoo_rate(self.table.len(), self.fingerprint, items));
        // Another key is counted with this one just when it would make it seem present.
        Rates { false_positive: rate(items), over_count: rate(items.saturating_sub(1)), ..Rates::default() }
    }

    /// State: items, state of the generator, the entry that waits (0 for none) and its bucket, 8 bytes each. Store: the
    /// buckets.
    fn grains(&self) -> Vec<Option<Grain>> {
        vec![Some(self.table.grain())]
    }

    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let (entry, bucket) = self.victim.unwrap_or((0, 0));
        for number in [items, self.random.state(), entry, bucket] {
            encoder.state().u64(number);
        }
        encoder.bits(self.table.bits());
    }

    fn decode(settings: &CuckooSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = Design::of(settings)?;
        let state = decoder.state();
        let [items, random, entry, bucket] = [state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        let bits = decoder.bits(design.shape.bits(design.buckets)?)?;
        let table = Buckets::from_bits(bits, design.buckets, design.shape)
            .ok_or_else(|| Error::corrupt("buckets", design.buckets, "another size"))?;
        let mut cuckoo = design.with(table, SplitMix::new(random));
        let fits = entry <= field_max(cuckoo.fingerprint + cuckoo.counter) && cuckoo.key_of(entry) != 0;
        if !(fits && bucket < cuckoo.table.len() || (entry, bucket) == (0, 0)) {
            return Err(Error::corrupt("the waiting entry", "an entry and its bucket, or none", format!("{entry:#x}")));
        }
        cuckoo.victim = fits.then_some((entry, bucket));
        if decoder.reads_stores() {
            if let Some((bucket, entry)) = cuckoo.entries().find(|&(_, entry)| cuckoo.key_of(entry) == 0) {
                return Err(Error::corrupt(
                    format!("bucket {bucket}"),
                    "fingerprints",
                    format!("the entry {entry:#x}"),
                ));
            }
            let held = cuckoo.entries().fold(0u64, |sum, (_, entry)| sum.saturating_add(cuckoo.copies(entry)));
            if held != items {
                return Err(Error::corrupt("items", format!("{held}, as many as copies"), items));
            }
        }
        Ok((cuckoo, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.table.bits().len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let (fingerprint, first) = self.place(digest);
        self.table.prefetch(first);
        self.table.prefetch(self.other(fingerprint, first));
    }
}

impl Test for CuckooTable {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let (fingerprint, first) = self.place(key.digest);
        self.holds(fingerprint, [first, self.other(fingerprint, first)])
    }
}

impl Put for CuckooTable {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// [`Error::Full`] when there is no place for the fingerprint; nothing has changed then.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        let (fingerprint, first) = self.place(key.digest);
        let buckets = [first, self.other(fingerprint, first)];
        let [(here, room), (there, other_room)] = buckets.map(|bucket| self.table.survey(bucket, fingerprint));
        let fresh = !(here | there | self.is_victim(fingerprint, buckets));
        if fresh || self.counter == 0 || !self.count_up(fingerprint, buckets) {
            self.put_into(fingerprint, buckets, [room, other_room])?;
        }
        Ok(fresh)
    }
}

impl Take for CuckooTable {
    type Note<'a> = ();

    #[inline]
    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        let (fingerprint, first) = self.place(key.digest);
        self.take_from(fingerprint, [first, self.other(fingerprint, first)])
    }
}

impl Tally for CuckooTable {
    /// The truth or, as rarely as a false positive, more.
    #[inline]
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        let (fingerprint, first) = self.place(key.digest);
        let second = self.other(fingerprint, first);
        let of_bucket = |bucket: u64| {
            let own = self.table.entries(bucket).filter(|&entry| self.key_of(entry) == fingerprint);
            own.map(|entry| self.copies(entry)).sum::<u64>()
        };
        let mut count = of_bucket(first) + if second == first { 0 } else { of_bucket(second) };
        if let (true, Some((entry, _))) = (self.is_victim(fingerprint, [first, second]), self.victim) {
            count += self.copies(entry);
        }
        Multiplicity { count, at_least: false }
    }
}

impl Cuckoo {
    /// A filter of `buckets` buckets of 4 slots for fingerprints of `fingerprint` bits.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// assert_eq!(Cuckoo::with_size(1 << 15, 12)?.slots(), 1 << 17);
    /// assert!(Cuckoo::with_size(1 << 15, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(buckets: u64, fingerprint: u32) -> Result<Self> {
        Self::with(CuckooSettings { buckets: Some(buckets), fingerprint: Some(fingerprint), ..Default::default() })
    }

    /// The number of slots.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// assert_eq!(Cuckoo::with_size(100, 8)?.slots(), 400);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.mechanism.slots()
    }

    /// The number of fingerprints, the one that waits for a place included.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.insert("rose")?;
    /// assert_eq!(filter.used(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn used(&self) -> u64 {
        self.mechanism.used(self.items())
    }

    /// The fingerprints in the filter with one of their buckets and their number: all that is left of the keys.
    ///
    /// ```
    /// use bouquet::Cuckoo;
    /// let mut filter = Cuckoo::with_size(100, 8)?;
    /// filter.insert("rose")?;
    /// let listed: Vec<_> = filter.fingerprints().collect();
    /// assert!(matches!(listed[..], [(bucket, 1..=255, 1)] if bucket < 100));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn fingerprints(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let cuckoo = &self.mechanism;
        cuckoo.entries().map(|(bucket, entry)| (bucket, cuckoo.key_of(entry), cuckoo.copies(entry)))
    }
}

impl CuckooTable {
    fn slots(&self) -> u64 {
        self.table.len() * u64::from(self.table.shape().slots())
    }

    /// The number of fingerprints when the filter holds `items` copies of keys.
    fn used(&self, items: u64) -> u64 {
        if self.counter == 0 { items } else { self.entries().count() as u64 }
    }

    /// Every entry with its bucket, the victim last.
    fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let table = &self.table;
        let stored = (0..table.len()).flat_map(|bucket| table.entries(bucket).map(move |entry| (bucket, entry)));
        stored.chain(self.victim.map(|(entry, bucket)| (bucket, entry)))
    }

    #[inline]
    fn key_of(&self, entry: u64) -> u64 {
        entry & field_max(self.fingerprint)
    }

    /// The copies that an entry stands for.
    #[inline]
    fn copies(&self, entry: u64) -> u64 {
        (entry >> self.fingerprint) + 1
    }

    /// The fingerprint of a key, never 0, and its first bucket. They come from different words of the digest.
    #[inline]
    fn place(&self, digest: Digest) -> (u64, u64) {
        (1 + fastrange(digest.h2, field_max(self.fingerprint)), fastrange(digest.h1, self.table.len()))
    }

    /// The other bucket of a fingerprint; asked twice it leads back.
    #[inline]
    fn other(&self, fingerprint: u64, bucket: u64) -> u64 {
        let buckets = self.table.len();
        let sum = fastrange(mix(fingerprint), buckets);
        if sum >= bucket { sum - bucket } else { sum + buckets - bucket }
    }

    /// Whether the victim has this fingerprint and one of these buckets.
    #[inline]
    fn is_victim(&self, fingerprint: u64, buckets: [u64; 2]) -> bool {
        self.victim.is_some_and(|(entry, bucket)| self.key_of(entry) == fingerprint && buckets.contains(&bucket))
    }

    #[inline]
    fn holds(&self, fingerprint: u64, [first, second]: [u64; 2]) -> bool {
        // Both are looked at in any case: which of them has the fingerprint cannot be predicted.
        self.table.contains(first, fingerprint)
            | self.table.contains(second, fingerprint)
            | self.is_victim(fingerprint, [first, second])
    }

    /// Adds one to an entry of this fingerprint whose counter has room, if there is one.
    fn count_up(&mut self, fingerprint: u64, buckets: [u64; 2]) -> bool {
        let (one, most) = (1 << self.fingerprint, 1 << self.counter);
        for bucket in buckets {
            let mut entries = self.table.entries(bucket);
            let room = entries.find(|&entry| self.key_of(entry) == fingerprint && self.copies(entry) < most);
            drop(entries);
            if let Some(entry) = room {
                return self.table.replace(bucket, entry, entry + one);
            }
        }
        let room =
            self.is_victim(fingerprint, buckets) && self.victim.is_some_and(|(entry, _)| self.copies(entry) < most);
        if let (true, Some((entry, _))) = (room, &mut self.victim) {
            *entry += one;
        }
        room
    }

    /// Finds a place for an entry.
    #[inline]
    fn put(&mut self, entry: u64, buckets: [u64; 2]) -> Result<()> {
        self.put_into(entry, buckets, buckets.map(|bucket| self.table.free(bucket)))
    }

    /// Finds a place for an entry whose buckets have this many empty slots.
    #[inline]
    fn put_into(&mut self, entry: u64, buckets: [u64; 2], free: [u32; 2]) -> Result<()> {
        // Of two buckets the emptier, which saves a third of all moves. Which it is cannot be predicted, and is no branch.
        if self.table.replace(buckets[usize::from(free[1] > free[0])], 0, entry) {
            return Ok(());
        }
        self.put_into_full(entry, buckets)
    }

    #[inline(never)]
    fn put_into_full(&mut self, entry: u64, buckets: [u64; 2]) -> Result<()> {
        if self.victim.is_some() {
            return Err(Error::Full {
                // How many are in use would have to be counted, and a refusal must not cost more than an insertion.
                what: format!(
                    "none of the {} slots can be freed for the key, and the spare one is in use",
                    self.slots()
                ),
                remedy: "make it for more `items` or with more `buckets`; a `counter` holds copies of a key".into(),
            });
        }
        self.make_room(entry, buckets);
        Ok(())
    }

    /// Puts an entry in the place of another that has room in its other bucket. If no entry of the bucket has, one of them is
    /// moved all the same, and the one whose place it takes goes on in the same way. After too many moves the last becomes the
    /// victim.
    fn make_room(&mut self, mut entry: u64, buckets: [u64; 2]) {
        let slots = self.table.shape().slots();
        let mut bucket = buckets[self.random.below(2) as usize];
        for _ in 0..MOST_MOVES {
            // None of these waits for what another finds in its bucket, as one move after another would.
            let movable = (0..slots).find_map(|slot| {
                let held = self.table.get(bucket, slot);
                let other = self.other(self.key_of(held), bucket);
                self.table.has_room(other).then_some((slot, held, other))
            });
            if let Some((slot, held, other)) = movable {
                self.table.replace(other, 0, held);
                self.table.swap(bucket, slot, entry);
                return;
            }
            entry = self.table.swap(bucket, self.random.below(slots.into()) as u32, entry);
            bucket = self.other(self.key_of(entry), bucket);
        }
        self.victim = Some((entry, bucket));
    }

    #[inline]
    fn take_from(&mut self, fingerprint: u64, buckets: [u64; 2]) -> Result<()> {
        // Of an entry that stands for several copies one is taken, of one that stands for one nothing is left.
        let less = |entry: u64| entry.saturating_sub(1 << self.fingerprint);
        if self.counter == 0 {
            // Without counters the entry is the fingerprint, and need not be looked up before it is taken.
            if !self.table.replace(buckets[0], fingerprint, 0) && !self.table.replace(buckets[1], fingerprint, 0) {
                return self.take_victim(fingerprint, buckets);
            }
            self.settle();
            return Ok(());
        }
        for bucket in buckets {
            if let Some(entry) = self.table.find(bucket, fingerprint) {
                self.table.replace(bucket, entry, less(entry));
                if less(entry) == 0 {
                    self.settle();
                }
                return Ok(());
            }
        }
        self.take_victim(fingerprint, buckets)
    }

    fn take_victim(&mut self, fingerprint: u64, buckets: [u64; 2]) -> Result<()> {
        if !self.is_victim(fingerprint, buckets) {
            return Err(Error::NotPresent);
        }
        let one = 1 << self.fingerprint;
        self.victim = self.victim.filter(|(entry, _)| *entry >= one).map(|(entry, bucket)| (entry - one, bucket));
        Ok(())
    }

    /// Gives the victim a place, now that a slot has become free. If it finds none, another becomes the victim.
    #[inline]
    fn settle(&mut self) {
        if let Some((entry, bucket)) = self.victim.take() {
            let other = self.other(self.key_of(entry), bucket);
            // Without a victim nothing is refused.
            let _ = self.put(entry, [bucket, other]);
        }
    }

    /// The share of all pairs of a fingerprint and a bucket that are found at present: those of the entries, and for each
    /// of them the other bucket, unless that has the fingerprint itself.
    fn present_rate(&self) -> f64 {
        let table = &self.table;
        let pairs = |bucket: u64, fingerprint: u64| {
            let other = self.other(fingerprint, bucket);
            1 + u64::from(other != bucket && !table.contains(other, fingerprint))
        };
        let mut found = 0u64;
        let mut seen = Vec::with_capacity(table.shape().slots() as usize);
        for bucket in 0..table.len() {
            seen.clear();
            for fingerprint in table.entries(bucket).map(|entry| self.key_of(entry)) {
                if !seen.contains(&fingerprint) {
                    seen.push(fingerprint);
                    found += pairs(bucket, fingerprint);
                }
            }
        }
        if let Some((entry, bucket)) = self.victim {
            let fingerprint = self.key_of(entry);
            let elsewhere =
                table.contains(bucket, fingerprint) || table.contains(self.other(fingerprint, bucket), fingerprint);
            found += if elsewhere { 0 } else { pairs(bucket, fingerprint) };
        }
        found as f64 / (table.len() as f64 * field_max(self.fingerprint) as f64)
    }
}

#[cfg(test)]
mod tests;
