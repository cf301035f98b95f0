#![doc = include_str!("count_min.md")]

use crate::capability::{Frequent, Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::{Key, NEAR_BITS};
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Special, Stats, Text, kind};
use crate::parts::counter_array::{CounterArray, Placement};
use crate::parts::integers;
use crate::parts::rows::{RowSizes, Rows};
use crate::parts::top_keys::TopKeys;
use crate::shell::{Amount, Deduct, Filter, Hashed, Mechanism, Put, Rank, Take, Tally, Unite};
use crate::store::Counters;
use crate::theory::sketch;

mod queries;
mod settings;
use settings::{COUNTER, DECIMAL, LEVELS, TOP};
pub use settings::{CountMinSettings, Counter};

/// The registry's row.
pub const KIND: Kind = kind!(CountMin);

/// A count-min sketch.
///
/// ```
/// use bouquet::{CountMin, shell::Amount};
/// let mut sketch = CountMin::with_error(0.001, 0.01)?;
/// sketch.add("rose", 5)?;
/// sketch.insert("lily")?;
/// sketch.remove_with("rose", Amount(1))?;
/// assert_eq!((sketch.count("rose").count, sketch.total()), (4, 5));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type CountMin = Filter<Sketch>;

/// Rows of counters, and with levels those of shorter and shorter prefixes of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// Sketch j is that of the keys without their last j bits; the first that of the keys themselves.
    sketches: Vec<CounterArray<Counters, Rows>>,
    /// For prefixes of keys and keys that are kept by name.
    hashing: Hashing,
    /// Bits of integer keys, each with a sketch; zero for keys of any sort, with one sketch.
    levels: u32,
    signed: bool,
    decimal: bool,
    top: Option<TopKeys>,
    /// The sum of all amounts.
    total: i64,
    /// Whether a counter or the total has reached its end.
    saturated: bool,
}

/// What happens to a counter.
#[derive(Clone, Copy)]
enum Change {
    Add(u64),
    Sub(u64),
}

impl Change {
    /// The number after it; `None` beyond its end.
    fn of(self, number: i64) -> Option<i64> {
        match self {
            Change::Add(amount) => number.checked_add_unsigned(amount),
            Change::Sub(amount) => number.checked_sub_unsigned(amount),
        }
    }

    /// The end that it goes towards.
    fn end(self) -> i64 {
        if matches!(self, Change::Add(_)) { i64::MAX } else { i64::MIN }
    }
}

/// What resolved settings describe.
struct Design {
    width: u64,
    rows: u32,
    counter: Counter,
    /// That of the keys, and with levels those of the keys without one bit or more, up to the last but one.
    sketches: u32,
}

impl Design {
    fn of(settings: &CountMinSettings) -> Result<Self> {
        let CountMinSettings { items, fpr, eps, delta, width, rows, .. } = *settings;
        let counter = COUNTER.need(settings.counter)?;
        let (width, rows) = RowSizes { items, fpr, eps, delta, width, rows }.resolve(counter.bits())?;
        let design = Design { width, rows, counter, sketches: LEVELS.need(settings.levels)?.max(1) };
        design.bits().map(|_| design)
    }

    /// Bits of all sketches.
    fn bits(&self) -> Result<u64> {
        let counters = u128::from(self.width) * u128::from(self.rows) * u128::from(self.sketches);
        let bits = counters * u128::from(self.counter.bits());
        u64::try_from(bits).map_err(|_| Error::TooLarge { what: "the sketch".into(), bytes: bits / 8 })
    }
}

impl Sketch {
    fn assemble(
        settings: &CountMinSettings,
        hashing: &Hashing,
        mut store: impl FnMut(u64, u32) -> Result<Counters>,
    ) -> Result<Self> {
        let Design { width, rows, counter, sketches } = Design::of(settings)?;
        let places = Rows::new(width, rows, hashing.seed())?;
        let sketch = |_| Ok(CounterArray { store: store(places.counters(), counter.bits())?, places: places.clone() });
        let top = TOP.need(settings.top)?;
        Ok(Sketch {
            sketches: (0..sketches).map(sketch).collect::<Result<Vec<_>>>()?,
            hashing: Self::hashing(settings, hashing),
            levels: LEVELS.need(settings.levels)?,
            signed: counter == Counter::Signed,
            decimal: DECIMAL.need(settings.decimal)?,
            top: (top > 0).then(|| TopKeys::new(top)),
            total: 0,
            saturated: false,
        })
    }
}

impl Mechanism for Sketch {
    const FACTS: Facts = Facts {
        id: "count-min",
        number: 66,
        aliases: &["CMS", "CM-sketch", "countmin"],
        family: "counting",
        text: Text::new(include_str!("count_min.md")),
        errors: &[ErrorClass::OverCount],
        note: NoteType::Amount,
        parameters: &[],
    };

    const NEEDS_BYTES: bool = true;
    const OWN_ITEMS: bool = true;
    const NEAR: u64 = NEAR_BITS;
    const SPECIALS: &'static [Special<CountMin>] = queries::SPECIALS;

    type Settings = CountMinSettings;

    fn resolve(asked: &CountMinSettings) -> Result<CountMinSettings> {
        let Design { width, rows, counter, .. } = Design::of(asked)?;
        Ok(CountMinSettings {
            width: Some(width),
            rows: Some(rows),
            counter: Some(counter),
            levels: Some(LEVELS.need(asked.levels)?),
            top: Some(TOP.need(asked.top)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &CountMinSettings) -> Result<Plan> {
        let design = Design::of(settings)?;
        Ok(Plan { bits: design.bits()?, hashes: design.rows, items: settings.items, fpr: None })
    }

    fn empty(settings: &CountMinSettings, hashing: &Hashing) -> Result<Self> {
        Self::assemble(settings, hashing, Counters::zeroed)
    }

    fn domain(CountMinSettings { width, rows, .. }: &CountMinSettings) -> String {
        format!("count-min {} {}", width.unwrap_or(0), rows.unwrap_or(0))
    }

    fn errors(&self) -> &'static [ErrorClass] {
        const BOTH: &[ErrorClass] = &[ErrorClass::OverCount, ErrorClass::UnderCount];
        if self.signed { BOTH } else { Self::FACTS.errors }
    }

    fn items(&self, _: u64) -> u64 {
        self.total.max(0) as u64
    }

    fn stats(&self, items: u64) -> Stats {
        let CounterArray { places, store } = self.keys();
        Stats {
            items,
            bits: self.sketches.iter().map(|sketch| sketch.store.bits()).sum(),
            hashes: places.rows(),
            fill: Some(store.count_nonzero() as f64 / store.len() as f64),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let over_count = if self.signed { sketch::median_over_count } else { sketch::over_count };
        let places = &self.keys().places;
        Rates { over_count: Some(over_count(places.width(), places.rows(), items)), ..Rates::default() }
    }

    /// State: total (8 bytes, two's complement), 1 if a counter has reached its end. Stores: the sketches, that of the
    /// keys first; with `top` its keys.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.total as u64);
        encoder.state().u8(self.saturated.into());
        for sketch in &self.sketches {
            encoder.counters(&sketch.store);
        }
        if let Some(top) = &self.top {
            encoder.bytes(top.to_bytes());
        }
    }

    fn decode(settings: &CountMinSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (total, saturated) = (decoder.state().u64()? as i64, decoder.state().u8()?);
        let hashing = decoder.config().hashing().clone();
        let mut sketch = Self::assemble(settings, &hashing, |counters, bits| decoder.counters(counters, bits))?;
        if saturated > 1 || total < 0 && !sketch.signed {
            return Err(Error::corrupt("state", "a total that the counters can have, and 0 or 1", saturated));
        }
        (sketch.total, sketch.saturated) = (total, saturated == 1);
        if sketch.top.is_some() {
            sketch.top = Some(TopKeys::from_bytes(TOP.need(settings.top)?, decoder.bytes()?)?);
        }
        Ok((sketch, 0))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.keys().reach()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.keys().prefetch(digest);
    }
}

impl Put for Sketch {
    type Note<'a> = Amount;
    type Outcome = Result<bool>;

    /// With levels a key must be an integer of their bits: [`Error::Item`].
    #[inline]
    fn put(&mut self, key: Hashed<'_>, Amount(amount): Amount) -> Result<bool> {
        let (digest, number) = self.identify(key)?;
        Ok(self.change(key.bytes, digest, number, Change::Add(amount)))
    }
}

impl Take for Sketch {
    type Note<'a> = Amount;

    /// Without signed counters no more can be taken than seems to be there.
    fn take(&mut self, key: Hashed<'_>, Amount(amount): Amount) -> Result<()> {
        let (digest, number) = self.identify(key)?;
        // Full counters may stand for any number.
        let least = amount.min(self.frozen());
        let enough = |level: usize, digest| self.sketches[level].least(digest) >= least;
        let above = |key| (1..self.sketches.len()).all(|level| enough(level, self.prefix_digest(key, level)));
        if !(self.signed || enough(0, digest) && number.is_none_or(above)) {
            return Err(Error::NotPresent);
        }
        self.change(key.bytes, digest, number, Change::Sub(amount));
        Ok(())
    }
}

impl Tally for Sketch {
    /// The least counter of the key, never less than the truth. With signed counters the median, zero for a negative one.
    #[inline]
    fn tally(&self, key: Hashed<'_>) -> Multiplicity {
        // A key that is no decimal number never came.
        let digest = if self.decimal { self.identify(key).map(|(digest, _)| digest) } else { Ok(key.digest) };
        Multiplicity { count: digest.map_or(0, |digest| self.count_in(0, digest)), at_least: self.saturated }
    }
}

impl Rank for Sketch {
    /// Of the keys that came while they had them, and these counts; none without the setting `top`.
    fn rank(&self) -> Vec<Frequent> {
        // A key whose occurrences were all taken out keeps its place until another wants it.
        let held = self.top.iter().flat_map(TopKeys::iter).filter(|(_, count)| *count > 0);
        let count = |count| Multiplicity { count, at_least: self.saturated };
        held.map(|(key, of_key)| Frequent { key: key.to_vec(), count: count(of_key) }).collect()
    }
}

impl Unite for Sketch {
    /// Adds the other's counters: the sketch of both streams, bit for bit.
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.combine(other, true);
        Ok(())
    }
}

impl Deduct for Sketch {
    /// The sketch of what this stream has more. Without signed counters the other must be part of this one:
    /// [`Error::NotPresent`] otherwise.
    fn deduct(&mut self, other: &Self) -> Result<()> {
        let mut pairs = self.sketches.iter().zip(&other.sketches);
        if !self.signed && pairs.any(|(mine, theirs)| mine.store.iter().zip(theirs.store.iter()).any(|(a, b)| a < b)) {
            return Err(Error::NotPresent);
        }
        self.combine(other, false);
        Ok(())
    }
}

impl Sketch {
    /// The sketch of the keys themselves.
    #[inline]
    fn keys(&self) -> &CounterArray<Counters, Rows> {
        // There is always one: `Design::sketches` is at least 1.
        &self.sketches[0]
    }

    /// The digest of a key, and with levels the integer that it is.
    #[inline]
    fn identify(&self, key: Hashed<'_>) -> Result<(Digest, Option<u64>)> {
        if self.levels == 0 {
            // Digits are the number that they name; any other key is its bytes.
            let number = if self.decimal { integers::digits(key.bytes) } else { None };
            return Ok((number.map_or(key.digest, |number| number.digest(&self.hashing)), None));
        }
        let number = queries::integer(key.bytes, self.levels, self.decimal)?;
        Ok((if self.decimal { number.digest(&self.hashing) } else { key.digest }, Some(number)))
    }

    /// Changes the counters of a key on all levels and says whether it was certainly new.
    #[inline]
    fn change(&mut self, key: &[u8], digest: Digest, number: Option<u64>, change: Change) -> bool {
        let fresh = self.change_in(0, digest, change);
        if let Some(number) = number {
            for level in 1..self.sketches.len() {
                self.change_in(level, self.prefix_digest(number, level), change);
            }
        }
        let total = change.of(self.total);
        self.saturated |= total.is_none();
        self.total = total.unwrap_or(change.end()).max(self.least_total());
        if let Some(mut top) = self.top.take() {
            top.offer(key, self.count_in(0, digest));
            self.top = Some(top);
        }
        fresh
    }

    /// Changes the counters of a digest in one sketch and says whether one was zero in a sketch that has no negative ones.
    #[inline]
    fn change_in(&mut self, level: usize, digest: Digest, change: Change) -> bool {
        let (fresh, lost) = match change {
            _ if self.signed => {
                let (CounterArray { places, store }, mut lost) = (&mut self.sketches[level], false);
                // Two's complement in 64 bits.
                store.update_each(places.of(digest), |counter| {
                    let sum = change.of(counter as i64);
                    lost |= sum.is_none();
                    sum.unwrap_or(change.end()) as u64
                });
                (false, lost)
            }
            Change::Add(amount) => {
                let (fresh, full) = self.sketches[level].add_to_all(digest, amount);
                (fresh, full > 0)
            }
            Change::Sub(amount) => {
                let frozen = self.frozen();
                self.sketches[level].sub_from_all(digest, amount, frozen);
                (false, false)
            }
        };
        self.saturated |= lost;
        fresh
    }

    /// The value from which on a counter is no longer taken from: how much it lost when it was full is not known.
    fn frozen(&self) -> u64 {
        if self.saturated { self.keys().store.max() } else { u64::MAX }
    }

    /// Counters without a sign hold no less than nothing, and neither does their total, whatever a frame claims of it.
    fn least_total(&self) -> i64 {
        if self.signed { i64::MIN } else { 0 }
    }

    /// Adds the counters and the total of another sketch, or takes them away.
    fn combine(&mut self, other: &Self, adds: bool) {
        let (signed, max, frozen, mut lost, mut full) =
            (self.signed, self.keys().store.max(), self.frozen(), false, false);
        let mut signed_sum = |a: i64, b: i64| {
            let (exact, capped) =
                if adds { (a.checked_add(b), a.saturating_add(b)) } else { (a.checked_sub(b), a.saturating_sub(b)) };
            lost |= exact.is_none();
            capped
        };
        for (mine, theirs) in self.sketches.iter_mut().zip(&other.sketches) {
            let mut values = theirs.store.iter();
            mine.store.update_each(0..theirs.store.len(), |counter| {
                let value = values.next().unwrap_or(0);
                full |= !signed && adds && counter > max - value;
                match adds {
                    _ if signed => signed_sum(counter as i64, value as i64) as u64,
                    true => counter.saturating_add(value),
                    false if counter >= frozen => counter,
                    false => counter.saturating_sub(value),
                }
            });
        }
        let total = signed_sum(self.total, other.total);
        self.saturated |= other.saturated || lost || full;
        self.total = total.max(self.least_total());
        self.rank_again(other);
    }

    /// The keys that either had at the top, by their counts now.
    fn rank_again(&mut self, other: &Self) {
        let Some(mine) = self.top.take() else { return };
        let mut top = mine.emptied();
        for (key, _) in mine.iter().chain(other.top.iter().flat_map(TopKeys::iter)) {
            if let Ok((digest, _)) = self.identify(Hashed { digest: self.hashing.digest(key), bytes: key }) {
                top.offer(key, self.count_in(0, digest));
            }
        }
        self.top = Some(top);
    }

    #[inline]
    fn prefix_digest(&self, key: u64, level: usize) -> Digest {
        (key >> level).digest(&self.hashing)
    }

    /// The count of a digest in one sketch.
    #[inline]
    fn count_in(&self, level: usize, digest: Digest) -> u64 {
        if self.signed { self.median_in(level, digest).max(0) as u64 } else { self.sketches[level].least(digest) }
    }
}

impl CountMin {
    /// A sketch whose counts are too large by more than `eps` of all occurrences with probability at most `delta`.
    ///
    /// ```
    /// use bouquet::CountMin;
    /// let settings = CountMin::with_error(1e-4, 1e-3)?.settings();
    /// assert_eq!((settings.width, settings.rows), (Some(27_183), Some(7)));
    /// assert!(CountMin::with_error(0.0, 0.1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_error(eps: f64, delta: f64) -> Result<Self> {
        Self::with(CountMinSettings { eps: Some(eps), delta: Some(delta), ..Default::default() })
    }

    /// A sketch of `rows` rows of `width` counters of 32 bits.
    ///
    /// ```
    /// use bouquet::CountMin;
    /// assert_eq!(CountMin::with_size(2_000, 4)?.stats().bits, 2_000 * 4 * 32);
    /// assert!(CountMin::with_size(0, 4).is_err() && CountMin::with_size(10, 65).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(width: u64, rows: u32) -> Result<Self> {
        Self::with(CountMinSettings { width: Some(width), rows: Some(rows), ..Default::default() })
    }

    /// The sum of all amounts.
    ///
    /// ```
    /// let mut sketch = bouquet::CountMin::with_size(2_000, 4)?;
    /// sketch.add("rose", 5)?;
    /// sketch.remove("rose")?;
    /// assert_eq!(sketch.total(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> i64 {
        self.mechanism.total
    }
}

#[cfg(test)]
mod tests;
