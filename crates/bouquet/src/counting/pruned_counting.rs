#![doc = include_str!("pruned_counting.md")]

use crate::capability::{Answer, Contains, Get, Insert, Item, NoteType, Remove, Value};
use crate::codec::{Decoder, Encoder, StateReader};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    Config, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common, kind,
};
use crate::parts::counter_array::{Arrangement, CounterStore, HashedArray, Places};
use crate::store::{Counters, Words};
use crate::theory::fingerprints;

mod tuple_space;
pub use tuple_space::{Prefix, TupleSpace};

/// The registry's row.
pub const KIND: Kind = kind!(PrunedTable);

const COUNTERS: Parameter = Parameter {
    name: "counters",
    help: "number of buckets, each with a counter; 12.8 per item when not given",
    of: ParameterType::Count { min: 1, max: 1 << 56, default: None },
};

const WIDTH: Parameter = Parameter {
    name: "width",
    help: "bits per counter; one that reaches its largest value stays there",
    of: ParameterType::Count { min: 2, max: 16, default: Some(4) },
};

const MODE: Parameter = Parameter {
    name: "mode",
    help: "items in their home alone (pruned), or in all of their buckets (basic), to compare with",
    of: ParameterType::Choice { options: &["pruned", "basic"] },
};

/// Buckets per key when not given.
const DEFAULT_HASHES: u32 = 9;

/// Bits of a boost.
const BOOST_BITS: u32 = 8;

/// Bytes of an item in the frame besides its key and value: their lengths and the number of copies.
const ITEM_HEAD: u64 = 16;

/// What a plan takes a key, or a value, to be.
const PLANNED_BYTES: u64 = 8;

#[cfg(test)]
thread_local! {
    /// Buckets that queries have read.
    static ACCESSES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// A key with its value, in the table.
#[derive(Clone, Debug)]
struct Held {
    key: Box<[u8]>,
    value: Box<[u8]>,
    /// How often it was inserted and not removed.
    copies: u64,
    places: Box<[u64]>,
    home: u64,
    /// The next item in the same home, and for each place the next item that is hashed there: numbers plus 1, 0 at the end.
    next_at_home: u64,
    next_hashed: Box<[u64]>,
}

/// A hash table with a counting filter and pruned buckets.
///
/// ```
/// use bouquet::counting::pruned_counting::PrunedTable;
/// let mut petals = PrunedTable::with_capacity(1_000)?;
/// petals.insert("rose", b"five")?;
/// assert_eq!(petals.get("rose"), Some(b"five".as_slice()));
/// assert_eq!(petals.get("lily"), None);
/// petals.remove("rose")?;
/// assert!(!petals.contains("rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PrunedTable {
    cells: HashedArray<Counters>,
    /// What is added to the counters when homes are chosen.
    boosts: Option<Counters>,
    basic: bool,
    /// The items by number, with the numbers that are free.
    held: Vec<Option<Held>>,
    free: Vec<usize>,
    /// For each bucket the first item at home there, and the first that is hashed there: numbers plus 1.
    at_home: Words,
    hashed: Words,
    /// Bytes of keys and values.
    bytes: u64,
    /// Insertions less removals.
    items: u64,
    planned: Option<u64>,
}

/// Two tables are equal when they hold the same in the same way; the order of the items means nothing.
impl PartialEq for PrunedTable {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells
            && self.boosts == other.boosts
            && self.basic == other.basic
            && self.planned == other.planned
            && self.sorted().into_iter().map(parts).eq(other.sorted().into_iter().map(parts))
    }
}

fn parts(held: &Held) -> (&[u8], &[u8], u64) {
    (&held.key, &held.value, held.copies)
}

impl PrunedTable {
    /// A table for `items` keys: 12.8 buckets for each, k = 9, counters of 4 bits.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// assert_eq!(PrunedTable::with_capacity(10_000)?.buckets(), 128_000);
    /// assert!(PrunedTable::with_capacity(0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_capacity(items: u64) -> Result<Self> {
        Self::from_config(&Config::new(KIND.facts()).with("items", Setting::Count(items))?)
    }

    /// A table of `buckets` buckets, `hashes` of them for each key, with counters of 4 bits.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// assert_eq!(PrunedTable::with_size(1_000, 5)?.buckets(), 1_000);
    /// assert!(PrunedTable::with_size(1_000, 0).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(buckets: u64, hashes: u32) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("counters", Setting::Count(buckets))?;
        Self::from_config(&config.with("hashes", Setting::Count(hashes.into()))?)
    }

    /// An empty table of the settings in `config`, which must be for this kind: the way to other counters, to the mode
    /// `basic` and to keyed hashing.
    ///
    /// ```
    /// use bouquet::{counting::pruned_counting::{KIND, PrunedTable}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "100")?.set("mode", "basic")?;
    /// let mut table = PrunedTable::from_config(&config)?;
    /// table.insert("rose", b"")?;
    /// assert!(table.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let (places, width) = shape(config)?;
        Self::with_counters(config, places, Counters::zeroed(places.counters(), width)?)
    }

    fn with_counters(config: &Config, places: Places, counters: Counters) -> Result<Self> {
        Ok(PrunedTable {
            at_home: Words::zeroed(places.counters())?,
            hashed: Words::zeroed(places.counters())?,
            cells: HashedArray::new(places, config.hashing(), counters),
            boosts: None,
            basic: config.choice("mode") == "basic",
            held: Vec::new(),
            free: Vec::new(),
            bytes: 0,
            items: 0,
            planned: config.count("items"),
        })
    }

    /// The number of buckets.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// assert_eq!(PrunedTable::with_capacity(100)?.buckets(), 1_280);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.cells.places.counters()
    }

    /// The number of keys.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// table.insert("rose", b"white")?;
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len() - self.free.len()
    }

    /// Whether there is no key.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// assert!(PrunedTable::with_capacity(100)?.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items beyond the first of their bucket, which queries may have to pass.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_size(1, 1)?;
    /// (0..3u64).try_for_each(|key| table.insert(&key, b"").map(drop))?;
    /// assert_eq!(table.crowded(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn crowded(&self) -> u64 {
        (0..self.buckets()).map(|bucket| (self.at_home(bucket).count() as u64).saturating_sub(1)).sum()
    }

    fn held(&self, number: usize) -> Option<&Held> {
        self.held.get(number)?.as_ref()
    }

    /// The numbers of the items at home in a bucket.
    fn at_home(&self, bucket: u64) -> impl Iterator<Item = usize> + '_ {
        let follow = move |number: &usize| self.held(*number).and_then(|held| index(held.next_at_home));
        std::iter::successors(index(self.at_home.as_slice()[bucket as usize]), follow)
    }

    /// The numbers of the items that are hashed to a bucket.
    fn hashed(&self, bucket: u64) -> impl Iterator<Item = usize> + '_ {
        let follow = move |number: &usize| {
            let held = self.held(*number)?;
            let which = held.places.iter().position(|&place| place == bucket)?;
            index(held.next_hashed[which])
        };
        std::iter::successors(index(self.hashed.as_slice()[bucket as usize]), follow)
    }

    /// The home of an item with these places: the one with the least counter, boost included, the first of equal ones.
    #[inline]
    fn home(&self, places: &[u64]) -> u64 {
        let boost = |place| self.boosts.as_ref().map_or(0, |boosts| boosts.get(place));
        let load = |place: u64| (self.cells.store.get(place) + boost(place), place);
        // A key has at least one place.
        places.iter().copied().min_by_key(|&place| load(place)).unwrap_or(0)
    }

    /// The number of the item with this key.
    #[inline]
    fn find(&self, key: &[u8], digest: Digest) -> Option<usize> {
        if !self.cells.all_nonzero(digest) {
            return None;
        }
        #[cfg(test)]
        ACCESSES.set(ACCESSES.get() + 1);
        let bucket = self.home(&self.cells.places.distinct(digest));
        let is_own = |number: &usize| self.held(*number).is_some_and(|held| *held.key == *key);
        if self.basic { self.hashed(bucket).find(is_own) } else { self.at_home(bucket).find(is_own) }
    }

    /// Puts a value under a key, in the place of the one that it may have, and says whether the key is new.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut colours = PrunedTable::with_capacity(100)?;
    /// assert!(colours.insert("rose", b"red")?);
    /// assert!(!colours.insert("rose", b"white")?);
    /// assert_eq!(colours.get("rose"), Some(b"white".as_slice()));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<bool> {
        key.with_bytes(|key| self.insert_bytes(key, value, 1))
    }

    fn insert_bytes(&mut self, key: &[u8], value: &[u8], copies: u64) -> Result<bool> {
        if key.len().max(value.len()) > u32::MAX as usize {
            return Err(Error::Item { expected: "a key and a value below 4 GiB".into(), found: "longer ones".into() });
        }
        let digest = key.digest(&self.cells.hashing);
        self.items = self.items.saturating_add(copies);
        if let Some(number) = self.find(key, digest) {
            if let Some(held) = &mut self.held[number] {
                self.bytes = self.bytes - held.value.len() as u64 + value.len() as u64;
                held.value = value.into();
                held.copies = held.copies.saturating_add(copies);
            }
            return Ok(false);
        }
        let places = self.cells.places.distinct(digest);
        self.cells.add_to_all(digest, 1);
        self.hold(Held {
            key: key.into(),
            value: value.into(),
            copies,
            home: self.home(&places),
            next_at_home: 0,
            next_hashed: vec![0; places.len()].into(),
            places: (*places).into(),
        });
        // Only counters of these places have risen, so only what is at home there can have a better home now.
        for &place in places.iter() {
            let here: Vec<usize> = self.at_home(place).collect();
            here.into_iter().for_each(|number| self.rehome(number));
        }
        Ok(true)
    }

    /// Takes an item in and enters it in the lists of its buckets.
    fn hold(&mut self, held: Held) {
        let number = self.free.pop().unwrap_or(self.held.len());
        if number == self.held.len() {
            self.held.push(None);
        }
        self.bytes += (held.key.len() + held.value.len()) as u64;
        let (places, home) = (held.places.clone(), held.home);
        self.held[number] = Some(held);
        for (which, &place) in places.iter().enumerate() {
            let first = std::mem::replace(&mut self.hashed.as_mut_slice()[place as usize], number as u64 + 1);
            if let Some(held) = &mut self.held[number] {
                held.next_hashed[which] = first;
            }
        }
        self.move_in(number, home);
    }

    fn move_in(&mut self, number: usize, home: u64) {
        if let Some(held) = &mut self.held[number] {
            held.home = home;
            held.next_at_home = std::mem::replace(&mut self.at_home.as_mut_slice()[home as usize], number as u64 + 1);
        }
    }

    fn move_out(&mut self, number: usize) {
        let Some((home, next)) = self.held(number).map(|held| (held.home, held.next_at_home)) else { return };
        let before = self.at_home(home).take_while(|&other| other != number).last();
        match before.and_then(|before| self.held[before].as_mut()) {
            Some(before) => before.next_at_home = next,
            None => self.at_home.as_mut_slice()[home as usize] = next,
        }
    }

    /// Moves an item to where its home is now.
    fn rehome(&mut self, number: usize) {
        let Some((old, new)) = self.held(number).map(|held| (held.home, self.home(&held.places))) else { return };
        if old != new {
            self.move_out(number);
            self.move_in(number, new);
        }
    }

    /// Takes one copy of a key out, with the last its value too, or says [`Error::NotPresent`].
    ///
    /// ```
    /// use bouquet::{Error, counting::pruned_counting::PrunedTable};
    /// let mut table = PrunedTable::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// table.remove("rose")?;
    /// assert!(matches!(table.remove("rose"), Err(Error::NotPresent)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        key.with_bytes(|key| {
            let number = self.find(key, key.digest(&self.cells.hashing)).ok_or(Error::NotPresent)?;
            self.items = self.items.saturating_sub(1);
            match &mut self.held[number] {
                Some(held) if held.copies > 1 => held.copies -= 1,
                _ => self.drop_item(number),
            }
            Ok(())
        })
    }

    fn drop_item(&mut self, number: usize) {
        self.move_out(number);
        let Some(places) = self.held(number).map(|held| held.places.clone()) else { return };
        for (which, &place) in places.iter().enumerate() {
            let next = self.held(number).map_or(0, |held| held.next_hashed[which]);
            let before = self.hashed(place).take_while(|&other| other != number).last();
            let before = before.and_then(|before| self.held[before].as_mut());
            match before.and_then(|held| Some((held.places.iter().position(|&own| own == place)?, held))) {
                Some((which, held)) => held.next_hashed[which] = next,
                None => self.hashed.as_mut_slice()[place as usize] = next,
            }
        }
        if let Some(held) = self.held[number].take() {
            self.bytes -= (held.key.len() + held.value.len()) as u64;
        }
        self.free.push(number);
        let frozen = self.cells.store.max();
        for &place in places.iter() {
            if self.cells.store.get(place) < frozen {
                self.cells.store.sub(place, 1);
            }
        }
        // A lower counter can become the home of any item that is hashed there.
        for &place in places.iter() {
            let here: Vec<usize> = self.hashed(place).collect();
            here.into_iter().for_each(|number| self.rehome(number));
        }
    }

    /// The value of a key.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut colours = PrunedTable::with_capacity(100)?;
    /// colours.insert("rose", b"red")?;
    /// assert_eq!((colours.get("rose"), colours.get("lily")), (Some(b"red".as_slice()), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<&[u8]> {
        let number = key.with_bytes(|key| self.find(key, key.digest(&self.cells.hashing)))?;
        self.held(number).map(|held| &*held.value)
    }

    /// Whether the key is in the table.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_capacity(100)?;
    /// table.insert("rose", b"")?;
    /// assert!(table.contains("rose") && !table.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// The keys with their values, in no particular order.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// assert!(table.iter().eq([(b"rose".as_slice(), b"red".as_slice())]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + '_ {
        self.held.iter().flatten().map(|held| (&*held.key, &*held.value))
    }

    /// Drives items out of buckets that hold more than one, by at most `limit` boosts of one each, and says how many it
    /// made. Answers stay the same; fewer items are passed on the way to them.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_size(350, 3)?;
    /// (0..100u64).try_for_each(|key| table.insert(&key, b"").map(drop))?;
    /// assert!(table.crowded() > 0);
    /// table.balance(10_000)?;
    /// assert_eq!(table.crowded(), 0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn balance(&mut self, limit: u64) -> Result<u64> {
        let mut made = 0;
        loop {
            let before = made;
            for bucket in 0..self.buckets() {
                let here: Vec<usize> = self.at_home(bucket).collect();
                if made == limit || here.len() < 2 {
                    continue;
                }
                if self.boosts.is_none() {
                    self.boosts = Some(Counters::zeroed(self.buckets(), BOOST_BITS)?);
                }
                if let Some(boosts) = self.boosts.as_mut().filter(|boosts| boosts.get(bucket) < boosts.max()) {
                    boosts.add(bucket, 1);
                    made += 1;
                    here.into_iter().for_each(|number| self.rehome(number));
                }
            }
            if made == before {
                return Ok(made);
            }
        }
    }

    /// The items by key.
    fn sorted(&self) -> Vec<&Held> {
        let mut items: Vec<&Held> = self.held.iter().flatten().collect();
        items.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        items
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// assert!(PrunedTable::from_bytes(&table.to_bytes())?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::PrunedTable;
    /// let mut table = PrunedTable::with_capacity(100)?;
    /// table.insert("rose", b"red")?;
    /// assert_eq!(PrunedTable::from_bytes(&table.to_bytes())?, table);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// The item of a link.
#[inline]
fn index(link: u64) -> Option<usize> {
    link.checked_sub(1).map(|number| number as usize)
}

/// The places and the width of the counters that the settings describe.
fn shape(config: &Config) -> Result<(Places, u32)> {
    let hashes = config.count("hashes").map_or(DEFAULT_HASHES, |hashes| hashes as u32);
    let counters = match (config.count("counters"), config.count("items")) {
        (Some(counters), _) => counters,
        (None, Some(items)) => fingerprints::pruned_buckets(items),
        (None, None) => return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `counters`)")),
    };
    Ok((Places::new(counters, hashes, Arrangement::Flat)?, config.need("width")? as u32))
}

impl Structure for PrunedTable {
    const FACTS: Facts = Facts {
        id: "pruned-counting",
        number: 69,
        aliases: &["FHT", "fast-hash-table", "pruned-fht"],
        family: "counting",
        text: Text::new(include_str!("pruned_counting.md")),
        errors: &[],
        note: NoteType::Bytes,
        parameters: &[common::ITEMS, COUNTERS, common::HASHES, WIDTH, MODE],
    };

    /// The plan takes keys and values to have 8 bytes each.
    fn plan(config: &Config) -> Result<Plan> {
        let (places, width) = shape(config)?;
        let items = config.count("items");
        let bytes = items.unwrap_or(0).checked_mul(ITEM_HEAD + 2 * PLANNED_BYTES);
        let bits =
            bytes.and_then(|bytes| bytes.checked_mul(8)?.checked_add(places.counters().checked_mul(width.into())?));
        let bits = bits.ok_or_else(|| Error::TooLarge { what: "the table".into(), bytes: u128::from(u64::MAX) })?;
        Ok(Plan { bits, hashes: places.hashes(), items, fpr: None })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = Config::new(const { &Self::FACTS }).hashed(self.cells.hashing.clone());
        if let Some(items) = self.planned {
            config = config.put("items", Setting::Count(items));
        }
        config
            .put("counters", Setting::Count(self.buckets()))
            .put("hashes", Setting::Count(self.cells.places.hashes().into()))
            .put("width", Setting::Count(self.cells.store.width().into()))
            .put("mode", Setting::Choice(if self.basic { "basic" } else { "pruned" }))
    }

    fn hashing(&self) -> &Hashing {
        &self.cells.hashing
    }

    fn stats(&self) -> Stats {
        let used = self.cells.store.count_nonzero() as f64 / self.buckets() as f64;
        let boosts = self.boosts.as_ref().map_or(0, Counters::bits);
        Stats {
            items: self.items,
            bits: self.cells.store.bits() + boosts + 8 * (self.bytes + self.len() as u64 * ITEM_HEAD),
            hashes: self.cells.places.hashes(),
            fill: Some(used),
            fpr: None,
            honest_fill: None,
        }
    }

    fn expected(&self, _items: u64) -> Rates {
        Rates::default()
    }

    /// State: 1 if there are boosts. Stores: counters; boosts, if there are any; items in the order of their keys, each its
    /// lengths of key and value (4 bytes each), its number of copies (8 bytes), its key and its value.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u8(u8::from(self.boosts.is_some()));
        encoder.counters(&self.cells.store);
        if let Some(boosts) = &self.boosts {
            encoder.counters(boosts);
        }
        let mut bytes = Vec::new();
        for held in self.sorted() {
            bytes.extend_from_slice(&(held.key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&(held.value.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&held.copies.to_le_bytes());
            bytes.extend_from_slice(&held.key);
            bytes.extend_from_slice(&held.value);
        }
        encoder.bytes(bytes);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let (places, width) = shape(decoder.config())?;
        let has_boosts = decoder.state().u8()?;
        if has_boosts > 1 {
            return Err(Error::corrupt("boosts", "0 or 1", has_boosts));
        }
        let counters = decoder.counters(places.counters(), width)?;
        let boosts = if has_boosts == 1 { Some(decoder.counters(places.counters(), BOOST_BITS)?) } else { None };
        let bytes = decoder.bytes()?;
        let mut table = Self::with_counters(decoder.config(), places, Counters::zeroed(places.counters(), width)?)?;
        let is_open = decoder.config().hashing().is_usable();
        let mut rest = bytes;
        let mut last: Option<&[u8]> = None;
        while !rest.is_empty() {
            let mut head = StateReader::new(rest, "items");
            let (key, value, copies) = (head.u32()? as usize, head.u32()? as usize, head.u64()?);
            rest = &rest[ITEM_HEAD as usize..];
            let needed = key as u64 + value as u64;
            let available = rest.len() as u64;
            let truncated = || Error::Truncated { what: "an item".into(), needed, available };
            let (key, more) = rest.split_at_checked(key).ok_or_else(truncated)?;
            let (value, more) = more.split_at_checked(value).ok_or_else(truncated)?;
            if copies == 0 || last.is_some_and(|last| last >= key) {
                return Err(Error::corrupt("items", "ascending keys, each at least once", "another order"));
            }
            if is_open {
                table.insert_bytes(key, value, copies)?;
            } else {
                // Without its secret a table can be looked at, but where its keys belong is not known.
                table.items = table.items.saturating_add(copies);
                let (key, value, nowhere) = (key.into(), value.into(), || Box::new([]));
                table.hold(Held {
                    key,
                    value,
                    copies,
                    places: nowhere(),
                    home: 0,
                    next_at_home: 0,
                    next_hashed: nowhere(),
                });
            }
            (last, rest) = (Some(key), more);
        }
        // A counter that has reached its end may have been left there by keys that are gone.
        let frozen = counters.max();
        let fits = |(given, own)| given == own || given == frozen;
        if is_open && !counters.iter().zip(table.cells.store.iter()).all(fits) {
            return Err(Error::corrupt("counters", "those of the items", "others"));
        }
        (table.cells.store, table.boosts) = (counters, boosts);
        (0..table.held.len()).for_each(|number| table.rehome(number));
        Ok(table)
    }
}

impl Contains for PrunedTable {
    fn contains(&self, key: &[u8]) -> bool {
        PrunedTable::contains(self, key)
    }
}

impl Insert for PrunedTable {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        PrunedTable::insert(self, item.key, item.bytes()?)
    }
}

impl Remove for PrunedTable {
    fn remove(&mut self, item: Item<'_>) -> Result<()> {
        item.bytes()?;
        PrunedTable::remove(self, item.key)
    }
}

impl Get for PrunedTable {
    fn get(&self, key: &[u8]) -> Answer {
        PrunedTable::get(self, key).map_or(Answer::Absent, |value| Answer::Value(Value::Bytes(value.to_vec())))
    }
}

#[cfg(test)]
mod tests;
