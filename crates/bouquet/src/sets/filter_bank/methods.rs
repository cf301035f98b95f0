//! What filter banks have beside the verbs of the shell.

use super::settings::{COUNTER_BITS, Shape, size_for};
use super::{Bank, Cells, FilterBank, FilterBankSettings, KIND, Layout, MAX_ROWS, MAX_SETS, Tally};
use crate::capability::Multiplicity;
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::sets::{Policy, Resolution, codes};
use crate::shell::{Group, Mechanism, Settings};
use crate::store::Counters;
use crate::theory::{Size, partitioned};

impl FilterBank {
    /// A sliced bank for `items` memberships, spread evenly over `sets` sets, in which each set reports an absent key
    /// with probability `fpr`.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// assert_eq!(FilterBank::with_rate(64, 128_000, 0.01)?.hashes(), 7);
    /// assert!(FilterBank::with_rate(0, 1_000, 0.01).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(sets: u64, items: u64, fpr: f64) -> Result<Self> {
        let (sets, items, fpr) = (Some(sets), Some(items), Some(fpr));
        Self::with(FilterBankSettings { sets, items, fpr, ..FilterBankSettings::default() })
    }

    /// A sliced bank of `sets` filters of `bits` bits (rounded up to a multiple of `hashes`) and `hashes` positions.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// assert_eq!(FilterBank::with_size(64, 1_000, 7)?.bits_of(0), 1_001);
    /// assert!(FilterBank::with_size(64, 0, 7).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(sets: u64, bits: u64, hashes: u32) -> Result<Self> {
        let (sets, bits, hashes) = (Some(sets), Some(bits), Some(hashes));
        Self::with(FilterBankSettings { sets, bits, hashes, ..FilterBankSettings::default() })
    }

    /// A bank by rows whose set i is made for `items[i]` keys, all at the rate `fpr`. Its sizes are in its frames, but
    /// no settings describe them: [`settings`](Self::settings) gives those of an even bank of the largest size.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let bank = FilterBank::with_sizes(&[10, 1_000], 0.01)?;
    /// assert!(bank.bits_of(0) < 110 && bank.bits_of(1) > 9_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_sizes(items: &[u64], fpr: f64) -> Result<Self> {
        let total = items.iter().fold(0u64, |sum, &n| sum.saturating_add(n)).max(1);
        let largest = items.iter().copied().max().unwrap_or(0).max(1);
        let Size { hashes, .. } = partitioned::for_rate(largest, fpr)?;
        let sizes = items.iter().map(|&n| Ok(size_for(n.max(1), fpr, hashes)?.bits)).collect::<Result<Vec<_>>>()?;
        let asked = FilterBankSettings {
            sets: Some(items.len() as u64),
            items: Some(total),
            fpr: Some(fpr),
            bits: sizes.iter().copied().max(),
            hashes: Some(hashes),
            layout: Some(Layout::Rows),
            ..FilterBankSettings::default()
        };
        asked.check()?;
        let settings = Bank::resolve(&asked)?;
        let bank = Bank::by_sizes(Shape::new(&settings)?, sizes.into_iter())?;
        Ok(Self::of_parts(bank, settings, &Hashing::default(), 0))
    }

    /// The number of sets.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.01)?;
    /// bank.remove_set(1)?;
    /// assert_eq!(bank.sets(), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn sets(&self) -> u64 {
        self.mechanism.shape.sets
    }

    /// Positions per key.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// assert_eq!(FilterBank::with_size(3, 1_000, 5)?.hashes(), 5);
    /// assert_eq!(FilterBank::with_rate(3, 1_000, 0.001)?.hashes(), 10);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.mechanism.shape.hashes
    }

    /// The bits or counters of a set's filter (of one filter of a coded bank); 0 for a set that is not there.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let bank = FilterBank::with_sizes(&[100, 200], 0.01)?;
    /// assert!(bank.bits_of(0) < bank.bits_of(1));
    /// assert_eq!(bank.bits_of(2), 0, "there is no set 2");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits_of(&self, set: u64) -> u64 {
        self.mechanism.bits_of(set)
    }

    /// Insertions into a set less removals, duplicates included; 0 for a set that is not there.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.01)?;
    /// for (key, set) in [("rose", 1), ("lily", 1), ("rose", 2)] {
    ///     bank.insert(key, set)?;
    /// }
    /// assert_eq!([0, 1, 2, 3].map(|set| bank.items_of(set)), [0, 2, 1, 0]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items_of(&self, set: u64) -> u64 {
        usize::try_from(set).ok().and_then(|set| self.mechanism.tallies.get(set)).map_or(0, |tally| tally.items)
    }

    /// Inserts a key into a set and says whether it was certainly new there.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// assert!(bank.insert("rose", 0)?);
    /// assert!(!bank.insert("rose", 0)?, "it was there");
    /// assert!(bank.insert("rose", 1)?, "but not in set 1");
    /// assert!(bank.insert("rose", 3).is_err(), "and there is no set 3");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<bool> {
        self.insert_with(key, Group(set))
    }

    /// Takes one occurrence of a key out of a set. Needs counters. A counter at its end stays there.
    ///
    /// ```
    /// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::Cell};
    /// let settings = FilterBankSettings { cells: Some(Cell::Counters), items: Some(1_000), ..Default::default() };
    /// let mut bank = FilterBank::with(settings)?;
    /// bank.insert("rose", 1)?;
    /// bank.remove("rose", 1)?;
    /// assert!(!bank.contains("rose"));
    /// assert!(bank.remove("rose", 1).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, set: u64) -> Result<()> {
        self.remove_with(key, Group(set))
    }

    /// Whether the key may be in this set; `false` is certain.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 2)?;
    /// assert_eq!([0, 1, 2, 3].map(|set| bank.contains_in("rose", set)), [false, false, true, false]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_in<K: Key + ?Sized>(&self, key: &K, set: u64) -> bool {
        self.mechanism.contains_in(key.digest(&self.hashing), set)
    }

    /// The sets that may hold the key, reduced to an answer by a policy.
    ///
    /// ```
    /// use bouquet::{FilterBank, sets::{Policy, Resolution}};
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 0)?;
    /// bank.insert("rose", 2)?;
    /// assert_eq!(bank.resolve("rose", Policy::HighestId), Resolution::Set(2));
    /// assert_eq!(bank.resolve("rose", Policy::ExactlyOneElseMiss), Resolution::Ambiguous(vec![0, 2]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn resolve<K: Key + ?Sized>(&self, key: &K, policy: Policy<'_>) -> Resolution {
        policy.resolve(self.classify(key))
    }

    /// The sets that no filter rules out, ascending: every set that holds the key is among them. Of a coded bank, where
    /// `classify` gives the set whose code was read, these are all sets whose codes lie within the code that was read;
    /// otherwise they are those of `classify`.
    ///
    /// ```
    /// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::Layout};
    /// let settings = FilterBankSettings { layout: Some(Layout::Coded), items: Some(1_000), ..Default::default() };
    /// let mut bank = FilterBank::with(settings)?;
    /// bank.insert("rose", 2)?;
    /// assert_eq!((bank.classify("rose"), bank.candidates("rose")), (vec![2], vec![0, 1, 2]), "01 and 10 are in 11");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn candidates<K: Key + ?Sized>(&self, key: &K) -> Vec<u64> {
        let digest = key.digest(&self.hashing);
        if !self.mechanism.shape.is_coded() {
            return self.mechanism.accepting(digest);
        }
        codes::candidates(self.mechanism.read_code(digest), self.sets()).collect()
    }

    /// Of a coded bank, the set whose code was read: the right one if no filter errs, another one, without notice, if one
    /// does. `None` for a key that is in no set, for a code that no set has, and for a bank that is not coded.
    ///
    /// ```
    /// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::Layout};
    /// let sized = FilterBankSettings { sets: Some(100), items: Some(1_000), ..Default::default() };
    /// let mut bank = FilterBank::with(FilterBankSettings { layout: Some(Layout::Coded), ..sized })?;
    /// bank.insert("rose", 77)?;
    /// assert_eq!(bank.coded_set("rose"), Some(77));
    /// assert_eq!(bank.coded_set("thistle"), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn coded_set<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        if !self.mechanism.shape.is_coded() {
            return None;
        }
        codes::set(self.mechanism.read_code(key.digest(&self.hashing)), self.sets())
    }

    /// How often a key is in a set. Needs counters. Never too small.
    ///
    /// ```
    /// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::Cell};
    /// let settings = FilterBankSettings { cells: Some(Cell::Counters), items: Some(1_000), ..Default::default() };
    /// let mut bank = FilterBank::with(settings)?;
    /// bank.insert("rose", 1)?;
    /// bank.insert("rose", 1)?;
    /// assert_eq!((bank.count("rose", 1)?.count, bank.count("rose", 0)?.count), (2, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn count<K: Key + ?Sized>(&self, key: &K, set: u64) -> Result<Multiplicity> {
        let bank = &self.mechanism;
        let index = bank.check_set(set)?;
        let Cells::Counters(rows) = &bank.cells else { return Err(Bank::needs_counters("count")) };
        let at = bank.positions(key.digest(&self.hashing), bank.bits_of(set));
        let count = at.iter().map(|&position| rows[index].get(position)).min().unwrap_or(0);
        Ok(Multiplicity { count, at_least: count == rows[index].max() })
    }

    /// Adds an empty set behind the others and gives its number. By rows this costs the bits of one set (the largest, where
    /// they differ); sliced it is one pass over the rows, and a new store when no column is spare.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// assert_eq!(bank.add_set()?, 3);
    /// assert!(bank.insert("rose", 3)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add_set(&mut self) -> Result<u64> {
        let bank = &mut self.mechanism;
        let most = if bank.shape.layout == Layout::Rows { MAX_ROWS } else { MAX_SETS };
        if bank.shape.sets >= most {
            return Err(Error::parameter("sets", format!("at most {most}"), bank.shape.sets + 1));
        }
        let wider = Shape { sets: bank.shape.sets + 1, ..bank.shape };
        wider.store_bits()?;
        match &mut bank.cells {
            Cells::Bits(matrix) if matrix.sets() < wider.filters() => matrix.add_set(wider.bits)?,
            Cells::Bits(_) => {}
            Cells::Counters(rows) => rows.push(Counters::zeroed(wider.bits, COUNTER_BITS)?),
        }
        bank.tallies.push(Tally::default());
        bank.shape = wider;
        self.settings.sets = Some(wider.sets);
        Ok(wider.sets - 1)
    }

    /// Takes a set out; the sets behind it move up by one. The last set stays, and so do all of a coded bank, whose keys
    /// cannot be told apart.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 2)?;
    /// bank.remove_set(0)?;
    /// assert_eq!(bank.classify("rose"), [1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_set(&mut self, set: u64) -> Result<()> {
        let index = self.check_separate(set, "remove a set")?;
        let bank = &mut self.mechanism;
        if bank.shape.sets == 1 {
            return Err(Error::parameter("sets", "at least 1, for the last set cannot be taken out", 0));
        }
        match &mut bank.cells {
            Cells::Bits(matrix) => matrix.remove_set(set)?,
            Cells::Counters(rows) => {
                rows.remove(index);
            }
        }
        bank.tallies.remove(index);
        bank.shape.sets -= 1;
        self.settings.sets = Some(bank.shape.sets);
        Ok(())
    }

    /// Empties a set, which keeps its number. Not for a coded bank, whose keys cannot be told apart.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
    /// bank.insert("rose", 1)?;
    /// bank.clear_set(1)?;
    /// assert!(!bank.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear_set(&mut self, set: u64) -> Result<()> {
        let index = self.check_separate(set, "clear a set")?;
        match &mut self.mechanism.cells {
            Cells::Bits(matrix) => matrix.clear_set(set),
            Cells::Counters(rows) => {
                let row = &mut rows[index];
                (0..row.len()).for_each(|position| row.set(position, 0));
            }
        }
        self.mechanism.tallies[index] = Tally::default();
        Ok(())
    }

    /// Gives an empty set of a bank by rows the size for `items` keys at the bank's rate, at most that which the bank was made
    /// with, and says how many bits that is.
    ///
    /// ```
    /// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::Layout};
    /// let settings = FilterBankSettings { items: Some(4_000), layout: Some(Layout::Rows), ..Default::default() };
    /// let mut bank = FilterBank::with(settings)?;
    /// bank.size_set(2, 10)?;
    /// assert!(bank.bits_of(2) < 110 && bank.bits_of(1) > 9_000);
    /// assert!(bank.size_set(1, 5_000).is_err(), "it was made for 1,000 keys in each set");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn size_set(&mut self, set: u64, items: u64) -> Result<u64> {
        let bank = &mut self.mechanism;
        let index = bank.check_set(set)?;
        let Cells::Bits(matrix) = &mut bank.cells else { return Err(Self::needs_rows()) };
        if matrix.rows().is_none() {
            return Err(Self::needs_rows());
        }
        if bank.tallies[index].inserted > 0 {
            let found = format!("one with {} insertions; clear it first", bank.tallies[index].inserted);
            return Err(Error::parameter("set", "an empty set", found));
        }
        let (rate, most) = (self.settings.rate(bank.shape.sets)?, bank.shape.bits);
        let bits = size_for(items.max(1), rate, bank.shape.hashes)?.bits;
        if bits > most {
            let expected = format!("a number of keys that fits {most} bits, the size that the bank was made with");
            return Err(Error::parameter("items", expected, format!("{items}, which take {bits} bits")));
        }
        matrix.resize_set(set, bits)?;
        Ok(bits)
    }

    fn needs_rows() -> Error {
        let able = "filter-bank with layout=rows and cells=bits".into();
        Error::Unsupported { kind: KIND.facts().id.into(), verb: "give a set a size of its own".into(), able }
    }

    fn check_separate(&self, set: u64, verb: &str) -> Result<usize> {
        if self.mechanism.shape.is_coded() {
            let able = "filter-bank with layout=sliced or layout=rows".into();
            return Err(Error::Unsupported { kind: KIND.facts().id.into(), verb: verb.into(), able });
        }
        self.mechanism.check_set(set)
    }

    /// The chance, per set, that the set as it is now accepts an absent key.
    ///
    /// ```
    /// use bouquet::FilterBank;
    /// let mut bank = FilterBank::with_size(3, 100, 1)?;
    /// bank.insert("rose", 1)?;
    /// assert_eq!(bank.set_rates(), [0.0, 0.01, 0.0], "one bit of a hundred is set");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn set_rates(&self) -> Vec<f64> {
        if self.mechanism.shape.is_coded() {
            let acceptance = self.mechanism.acceptance_now();
            return (0..self.sets()).map(|set| acceptance.all_of(codes::code(set))).collect();
        }
        self.mechanism.census().into_iter().map(|(_, rate)| rate).collect()
    }

    /// Of a coded bank, the expected share of a set's members whose code is read wrongly, with the items it has now.
    /// `None` for a set that is not there and for a bank that is not coded.
    ///
    /// ```
    /// use bouquet::{FilterBank, FilterBankSettings, sets::filter_bank::Layout};
    /// let sized = FilterBankSettings { sets: Some(3), items: Some(1_000), ..Default::default() };
    /// let mut bank = FilterBank::with(FilterBankSettings { layout: Some(Layout::Coded), ..sized })?;
    /// (0..300u64).try_for_each(|key| bank.insert(&key, 1).map(|_| ()))?;
    /// assert!(bank.wrong_code_rate(0) > Some(0.0), "01 may be read as 11");
    /// assert_eq!(bank.wrong_code_rate(2), Some(0.0), "11 cannot gain a bit");
    /// assert_eq!(bank.wrong_code_rate(3), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn wrong_code_rate(&self, set: u64) -> Option<f64> {
        (self.mechanism.shape.is_coded() && set < self.sets()).then(|| {
            let counts: Vec<_> = self.mechanism.tallies.iter().map(|tally| tally.items).collect();
            self.mechanism.acceptance(&counts).any_of(!codes::code(set))
        })
    }
}
