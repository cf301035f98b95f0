#![doc = include_str!("d_left.md")]

use crate::capability::{Multiplicity, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::NEAR_BITS;
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Stats, Text, kind};
use crate::shell::{Filter, Hashed, Mechanism, Put, Take, Tally, Test};
use crate::store::buckets::Buckets;
use crate::store::{Grain, Words, field_max};
use crate::theory::fingerprints;

mod places;
mod settings;

use places::Places;
pub use settings::DLeftSettings;
use settings::{Design, MAX_SUBTABLES, Permutation};

/// The registry's row.
pub const KIND: Kind = kind!(DLeft);

/// A d-left counting Bloom filter.
///
/// ```
/// use bouquet::DLeft;
/// let mut filter = DLeft::with_rate(1_000, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose").count, 2);
/// filter.remove("rose")?;
/// filter.remove("rose")?;
/// assert!(!filter.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type DLeft = Filter<DLeftTable>;

/// The words of a stashed entry.
const STASH_WORDS: usize = 2;

/// Remainders with counters in the buckets of several subtables.
#[derive(Clone, Debug, PartialEq)]
pub struct DLeftTable {
    table: Buckets,
    design: Design,
    permutations: [Permutation; MAX_SUBTABLES],
    /// Fingerprints without a cell, with their counts.
    stash: Vec<(u64, u64)>,
    /// Cells in use.
    used: u64,
    /// Insertions, removed ones included.
    inserted: u64,
}

impl Mechanism for DLeftTable {
    const FACTS: Facts = Facts {
        id: "d-left",
        number: 52,
        aliases: &["dlCBF", "d-left-counting"],
        family: "counting",
        text: Text::new(include_str!("d_left.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::OverCount],
        note: NoteType::None,
        parameters: &[],
    };

    const NEAR: u64 = NEAR_BITS;

    type Settings = DLeftSettings;

    fn resolve(asked: &DLeftSettings) -> Result<DLeftSettings> {
        asked.resolved()
    }

    fn plan(settings: &DLeftSettings) -> Result<Plan> {
        let design = Design::of(settings)?;
        let rate = |items| fingerprints::collision_rate(design.fingerprints as f64, items);
        let fpr = settings.items.map(rate);
        Ok(Plan { bits: design.bits()?, hashes: design.subtables as u32, items: settings.items, fpr })
    }

    fn empty(settings: &DLeftSettings, _: &Hashing) -> Result<Self> {
        let design = Design::of(settings)?;
        Ok(Self::with_table(design, Buckets::zeroed(design.all_buckets()?, design.shape)?))
    }

    fn domain(DLeftSettings { buckets, subtables, slots, remainder, .. }: &DLeftSettings) -> String {
        let numbers = [subtables.unwrap_or(0), slots.unwrap_or(0), remainder.unwrap_or(0)];
        format!("d-left {} {} {} {}", numbers[0], buckets.unwrap_or(0), numbers[1], numbers[2])
    }

    fn stats(&self, items: u64) -> Stats {
        let cells = self.cells() as f64;
        Stats {
            items,
            bits: self.table.bits().len() + (self.stash.len() * STASH_WORDS * 64) as u64,
            hashes: self.design.subtables as u32,
            // The number of cells in use is believed where a mapped table was not read.
            fill: Some((self.used as f64 / cells).min(1.0)),
            fpr: Some(((self.used as f64 + self.stash.len() as f64) / self.design.fingerprints as f64).min(1.0)),
            // A key takes one cell at most, and a frozen one stays when its keys are gone.
            honest_fill: Some(self.inserted as f64 / cells),
        }
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = |items| Some(fingerprints::collision_rate(self.design.fingerprints as f64, items));
        // Another key is counted with this one just when it would make it seem present.
        Rates { false_positive: rate(items), over_count: rate(items.saturating_sub(1)), ..Rates::default() }
    }

    /// State: items, insertions, cells in use, 8 bytes each; entries of the stash, 4 bytes. Stores: the buckets, subtable
    /// after subtable; the stash, two words per entry: fingerprint and count.
    fn grains(&self) -> Vec<Option<Grain>> {
        vec![Some(self.table.grain())]
    }

    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        for number in [items, self.inserted, self.used] {
            encoder.state().u64(number);
        }
        encoder.state().u32(self.stash.len() as u32);
        encoder.bits(self.table.bits());
        let words: Vec<u64> = self.stash.iter().flat_map(|&(fingerprint, count)| [fingerprint, count]).collect();
        encoder.copied(|encoder| encoder.words(&words));
    }

    fn decode(settings: &DLeftSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let design = Design::of(settings)?;
        let state = decoder.state();
        let ([items, inserted, used], stashed) = ([state.u64()?, state.u64()?, state.u64()?], state.u32()? as usize);
        if items > inserted {
            return Err(Error::corrupt("items", format!("at most {inserted}, the insertions"), items));
        }
        if stashed > design.stash {
            return Err(Error::corrupt("the stash", format!("at most {} entries", design.stash), stashed));
        }
        let table = Buckets::from_bits(decoder.bits(design.bits()?)?, design.all_buckets()?, design.shape)
            .ok_or_else(|| Error::corrupt("buckets", design.buckets, "another size"))?;
        let words: Words = decoder.words((stashed * STASH_WORDS) as u64)?;
        let mut filter = Self::with_table(design, table);
        (filter.inserted, filter.used) = (inserted, used);
        filter.stash = words.as_slice().as_chunks::<STASH_WORDS>().0.iter().map(|&[f, count]| (f, count)).collect();
        let fits = |&(f, count): &(u64, u64)| f < design.fingerprints && (1..=filter.frozen()).contains(&count);
        if !filter.stash.iter().all(fits) {
            return Err(Error::corrupt("the stash", "fingerprints and counts", "other numbers"));
        }
        if decoder.reads_stores() {
            let entries = || (0..filter.table.len()).flat_map(|bucket| filter.table.entries(bucket));
            let counted = entries().count() as u64;
            if counted != used || entries().any(|entry| entry >> design.remainder == 0) {
                return Err(Error::corrupt("cells in use", counted, used));
            }
        }
        Ok((filter, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.table.bits().len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let places = self.places(digest);
        self.used_places(&places).iter().for_each(|&(bucket, _)| self.table.prefetch(bucket));
    }
}

impl Test for DLeftTable {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let places = self.places(key.digest);
        self.used_places(&places).iter().any(|&(bucket, remainder)| self.table.contains(bucket, remainder))
            || self.stash_index(key.digest).is_some()
    }
}

impl Put for DLeftTable {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    /// [`Error::Full`] when there is no cell for the fingerprint and the stash is full; nothing has changed then.
    #[inline]
    fn put(&mut self, Hashed { digest, .. }: Hashed<'_>, (): ()) -> Result<bool> {
        let places = self.places(digest);
        // A fingerprint that has a cell must be counted there and nowhere else.
        let fresh = if let Some((bucket, entry)) = self.cell(&places) {
            if entry >> self.design.remainder < self.frozen() {
                self.table.replace(bucket, entry, entry + (1 << self.design.remainder));
            }
            false
        } else if let Some(index) = self.stash_index(digest) {
            self.stash[index].1 = (self.stash[index].1 + 1).min(self.frozen());
            false
        } else {
            if !self.place(&places, 1) {
                self.put_aside(self.fingerprint(digest))?;
            }
            true
        };
        self.inserted = self.inserted.saturating_add(1);
        Ok(fresh)
    }
}

impl Take for DLeftTable {
    type Note<'a> = ();

    /// A counter at its largest value stays.
    #[inline]
    fn take(&mut self, Hashed { digest, .. }: Hashed<'_>, (): ()) -> Result<()> {
        let places = self.places(digest);
        if let Some((bucket, entry)) = self.cell(&places) {
            let count = entry >> self.design.remainder;
            // In a mapped file that was tampered with, a cell may count nothing and `used` be anything.
            if count <= 1 {
                self.table.replace(bucket, entry, 0);
                self.used = self.used.saturating_sub(1);
                self.empty_stash();
            } else if count < self.frozen() {
                self.table.replace(bucket, entry, entry - (1 << self.design.remainder));
            }
        } else {
            let index = self.stash_index(digest).ok_or(Error::NotPresent)?;
            match self.stash[index].1 {
                1 => {
                    self.stash.remove(index);
                }
                count if count < self.frozen() => self.stash[index].1 -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Tally for DLeftTable {
    /// The truth or, as rarely as a false positive, more; `at_least` when its counter has reached its largest value.
    fn tally(&self, Hashed { digest, .. }: Hashed<'_>) -> Multiplicity {
        let in_table = self.cell(&self.places(digest)).map(|(_, entry)| entry >> self.design.remainder);
        let count = in_table.or_else(|| Some(self.stash[self.stash_index(digest)?].1)).unwrap_or(0);
        Multiplicity { count, at_least: count == self.frozen() }
    }
}

impl DLeft {
    /// A filter of 4 subtables of `buckets` buckets of 8 cells, for remainders of `remainder` bits.
    ///
    /// ```
    /// use bouquet::DLeft;
    /// assert_eq!(DLeft::with_size(100, 14)?.cells(), 3_200);
    /// assert!(DLeft::with_size(100, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(buckets: u64, remainder: u32) -> Result<Self> {
        Self::with(DLeftSettings { buckets: Some(buckets), remainder: Some(remainder), ..Default::default() })
    }

    /// The number of cells.
    ///
    /// ```
    /// use bouquet::DLeft;
    /// assert_eq!(DLeft::with_rate(240_000, 0.01)?.cells(), 320_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.mechanism.cells()
    }

    /// Fingerprints that found no cell.
    ///
    /// ```
    /// use bouquet::DLeft;
    /// let mut filter = DLeft::with_size(1, 14)?; // four buckets of eight cells
    /// for key in 0..40u64 {
    ///     filter.insert(&key)?;
    /// }
    /// assert_eq!(filter.stashed(), 8);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn stashed(&self) -> usize {
        self.mechanism.stash.len()
    }
}

impl DLeftTable {
    fn with_table(design: Design, table: Buckets) -> Self {
        let permutations = design.permutations();
        DLeftTable { table, design, permutations, stash: Vec::new(), used: 0, inserted: 0 }
    }

    fn cells(&self) -> u64 {
        self.table.len() * u64::from(self.design.shape.slots())
    }

    /// The cell of the places, with its bucket.
    #[inline]
    fn cell(&self, places: &Places) -> Option<(u64, u64)> {
        let cells = self.used_places(places).iter();
        cells.map(|&(bucket, remainder)| Some((bucket, self.table.find(bucket, remainder)?))).find_map(|cell| cell)
    }

    #[inline]
    fn stash_index(&self, digest: Digest) -> Option<usize> {
        if self.stash.is_empty() {
            return None;
        }
        let fingerprint = self.fingerprint(digest);
        self.stash.iter().position(|&(stashed, _)| stashed == fingerprint)
    }

    /// The largest count, which is final.
    #[inline]
    fn frozen(&self) -> u64 {
        field_max(self.design.width)
    }

    /// Gives a fingerprint a cell in the bucket with most empty ones, the leftmost of equal ones, unless all are full.
    #[inline]
    fn place(&mut self, places: &Places, count: u64) -> bool {
        let (mut most, mut best) = (0, (0, 0));
        for &(bucket, remainder) in self.used_places(places) {
            let free = self.table.free(bucket);
            if free > most {
                (most, best) = (free, (bucket, remainder));
            }
        }
        let (bucket, remainder) = best;
        let placed = most > 0 && self.table.replace(bucket, 0, remainder | count << self.design.remainder);
        self.used = self.used.saturating_add(u64::from(placed));
        placed
    }

    #[cold]
    fn put_aside(&mut self, fingerprint: u64) -> Result<()> {
        if self.stash.len() >= self.design.stash {
            return Err(Error::Full {
                what: format!("{} of {} cells are in use, and so is the stash", self.used, self.cells()),
                remedy: "make it for more `items`, with more `buckets` or a larger `stash`".into(),
            });
        }
        self.stash.push((fingerprint, 1));
        Ok(())
    }

    /// Gives cells to stashed fingerprints, now that one has become free.
    #[inline]
    fn empty_stash(&mut self) {
        if self.stash.is_empty() {
            return;
        }
        for index in (0..self.stash.len()).rev() {
            let (fingerprint, count) = self.stash[index];
            if self.place(&self.places_of(fingerprint), count) {
                self.stash.remove(index);
            }
        }
    }
}

#[cfg(test)]
mod tests;
