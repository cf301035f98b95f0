//! Packet classification in tuple space.

use super::PrunedCounting;
use crate::error::{Error, Result};

/// The first `length` bits of a field of 32 bits: what a rule demands of it.
///
/// ```
/// use bouquet::counting::pruned_counting::Prefix;
/// let net = Prefix::new(0x0A01_0203, 8)?; // 10.0.0.0/8
/// assert!(net.matches(0x0AFF_0000) && !net.matches(0x0B00_0000));
/// assert!(Prefix::new(0, 33).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    bits: u32,
    length: u32,
}

impl Prefix {
    /// The prefix of this length, at most 32, of these bits; the others are ignored.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::Prefix;
    /// assert_eq!(Prefix::new(0xFFFF_FFFF, 4)?, Prefix::new(0xF000_0000, 4)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(bits: u32, length: u32) -> Result<Self> {
        if length > 32 {
            return Err(Error::parameter("length", "at most 32 bits", length));
        }
        Ok(Prefix { bits: masked(bits, length), length })
    }

    /// Whether a field begins so.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::Prefix;
    /// assert!(Prefix::new(0, 0)?.matches(12_345), "no bits are demanded");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn matches(self, field: u32) -> bool {
        masked(field, self.length) == self.bits
    }
}

fn masked(bits: u32, length: u32) -> u32 {
    if length == 0 { 0 } else { bits & u32::MAX << (32 - length) }
}

/// Rules that demand prefixes of several fields, with priorities: one [`PrunedCounting`] for each tuple of prefix lengths. A
/// packet's fields, cut to these lengths, are looked up in every table, and the match of the highest priority wins. Most
/// tables do not hold the packet, and there the counters alone answer.
///
/// ```
/// use bouquet::counting::pruned_counting::{Prefix, TupleSpace};
/// let mut rules = TupleSpace::new(2, 100)?;
/// rules.insert(&[Prefix::new(0x0A00_0000, 8)?, Prefix::new(0, 0)?], 1)?;
/// rules.insert(&[Prefix::new(0x0A01_0000, 16)?, Prefix::new(80, 32)?], 7)?;
/// assert_eq!(rules.classify(&[0x0A01_0203, 80]), Some(7));
/// assert_eq!(rules.classify(&[0x0A01_0203, 443]), Some(1));
/// assert_eq!(rules.classify(&[0x0B01_0203, 80]), None);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TupleSpace {
    fields: usize,
    /// The rules that each tuple's table is made for.
    rules_per_tuple: u64,
    tuples: Vec<(Vec<u32>, PrunedCounting)>,
}

impl TupleSpace {
    /// No rules yet, for packets of this many fields (at least one) and tables of this many rules each.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::TupleSpace;
    /// assert_eq!(TupleSpace::new(5, 100)?.tuples(), 0);
    /// assert!(TupleSpace::new(0, 100).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(fields: usize, rules_per_tuple: u64) -> Result<Self> {
        if fields == 0 {
            return Err(Error::parameter("fields", "at least 1", fields));
        }
        // Refused here rather than with the first rule.
        PrunedCounting::with_capacity(rules_per_tuple)?;
        Ok(TupleSpace { fields, rules_per_tuple, tuples: Vec::new() })
    }

    /// The number of different tuples of prefix lengths.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::{Prefix, TupleSpace};
    /// let mut rules = TupleSpace::new(1, 100)?;
    /// rules.insert(&[Prefix::new(1 << 31, 8)?], 1)?;
    /// rules.insert(&[Prefix::new(3 << 30, 8)?], 2)?;
    /// assert_eq!(rules.tuples(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn tuples(&self) -> usize {
        self.tuples.len()
    }

    fn check(&self, rule: &[Prefix]) -> Result<()> {
        if rule.len() == self.fields {
            return Ok(());
        }
        Err(Error::Item { expected: format!("{} fields", self.fields), found: rule.len().to_string() })
    }

    /// Adds a rule. Rules may agree in their prefixes and differ in priority.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::{Prefix, TupleSpace};
    /// let mut rules = TupleSpace::new(1, 100)?;
    /// rules.insert(&[Prefix::new(7, 32)?], 1)?;
    /// assert_eq!(rules.classify(&[7]), Some(1));
    /// assert!(rules.insert(&[], 1).is_err(), "a rule has one prefix for each field");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert(&mut self, rule: &[Prefix], priority: u64) -> Result<()> {
        self.check(rule)?;
        let lengths: Vec<u32> = rule.iter().map(|prefix| prefix.length).collect();
        let at = match self.tuples.iter().position(|(tuple, _)| *tuple == lengths) {
            Some(at) => at,
            None => {
                self.tuples.push((lengths, PrunedCounting::with_capacity(self.rules_per_tuple)?));
                self.tuples.len() - 1
            }
        };
        let (key, table) = (key(rule.iter().map(|prefix| prefix.bits)), &mut self.tuples[at].1);
        let mut value = table.value(&key).unwrap_or_default().to_vec();
        value.extend_from_slice(&priority.to_le_bytes());
        table.insert(&key, &value)?;
        Ok(())
    }

    /// Takes out one rule with these prefixes and this priority, or says [`Error::NotPresent`].
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::{Prefix, TupleSpace};
    /// let mut rules = TupleSpace::new(1, 100)?;
    /// let rule = [Prefix::new(7, 32)?];
    /// rules.insert(&rule, 1)?;
    /// rules.insert(&rule, 9)?;
    /// rules.remove(&rule, 9)?;
    /// assert_eq!(rules.classify(&[7]), Some(1));
    /// assert!(rules.remove(&rule, 9).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove(&mut self, rule: &[Prefix], priority: u64) -> Result<()> {
        self.check(rule)?;
        let is_tuple = |lengths: &[u32]| rule.iter().map(|prefix| prefix.length).eq(lengths.iter().copied());
        let (_, table) = self.tuples.iter_mut().find(|(lengths, _)| is_tuple(lengths)).ok_or(Error::NotPresent)?;
        let key = key(rule.iter().map(|prefix| prefix.bits));
        let mut left: Vec<u64> = priorities(table.value(&key).ok_or(Error::NotPresent)?).collect();
        let at = left.iter().position(|&own| own == priority).ok_or(Error::NotPresent)?;
        left.swap_remove(at);
        // Each rule is one copy of its key.
        table.remove(&key)?;
        if !left.is_empty() {
            let value: Vec<u8> = left.iter().flat_map(|priority| priority.to_le_bytes()).collect();
            table.insert(&key, &value)?;
            table.remove(&key)?;
        }
        Ok(())
    }

    /// The highest priority among the rules that match a packet. Fields that it lacks are taken to be 0.
    ///
    /// ```
    /// use bouquet::counting::pruned_counting::{Prefix, TupleSpace};
    /// let mut rules = TupleSpace::new(1, 100)?;
    /// rules.insert(&[Prefix::new(0, 0)?], 5)?;
    /// assert_eq!(rules.classify(&[12_345]), Some(5));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn classify(&self, packet: &[u32]) -> Option<u64> {
        let in_tuple = |(lengths, table): &(Vec<u32>, PrunedCounting)| {
            let fields = packet.iter().copied().chain(std::iter::repeat(0)).zip(lengths);
            let found = table.value(&key(fields.map(|(field, &length)| masked(field, length))))?;
            priorities(found).max()
        };
        self.tuples.iter().filter_map(in_tuple).max()
    }
}

fn key(fields: impl Iterator<Item = u32>) -> Vec<u8> {
    fields.flat_map(u32::to_le_bytes).collect()
}

fn priorities(value: &[u8]) -> impl Iterator<Item = u64> + '_ {
    value.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
}
