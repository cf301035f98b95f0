//! Packet classification in tuple space.
//!
//! A rule demands prefixes of several fields and has a priority. The lengths of its prefixes are its *tuple*; there are few
//! tuples, however many rules. A packet's fields are cut to the lengths of every tuple and looked up, and the match of the
//! highest priority wins. Most tuples do not hold the packet, and there the counters alone answer.
//!
//! The rules of all tuples share one table, with the lengths as part of the key. One more item lists the tuples.
//!
//! ```text
//! "\0rule", lengths (1 byte each), bits (4 bytes each)  ->  the priorities of the rules with these prefixes, 8 bytes each
//! "\0tuples"  ->  for each tuple: number of fields (1 byte), lengths (1 byte each), number of rules (8 bytes)
//! ```

use std::net::Ipv4Addr;

use super::PrunedCounting;
use crate::capability::Item;
use crate::error::{Error, Result};
use crate::kind::{Reply, Special, Takes};

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
    length: u8,
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
        let length = length as u8;
        Ok(Prefix { bits: masked(bits, length), length })
    }

    /// Reads `10.0.0.0/8`, or `80` for all 32 bits of a field.
    fn parse(text: &str) -> Option<Self> {
        let (bits, length) = text.split_once('/').unwrap_or((text, "32"));
        Self::new(field(bits)?, length.parse().ok()?).ok()
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

/// A field as a number or as four numbers with dots between them.
fn field(text: &str) -> Option<u32> {
    text.parse().ok().or_else(|| text.parse::<Ipv4Addr>().ok().map(u32::from))
}

fn masked(bits: u32, length: u8) -> u32 {
    if length == 0 { 0 } else { bits & u32::MAX << (32 - length) }
}

/// The most fields of a rule.
const MOST_FIELDS: usize = 255;

/// The item that lists the tuples.
const TUPLES: &[u8] = b"\0tuples";

/// A combination of prefix lengths, and how many rules have it.
struct Tuple<'a> {
    lengths: &'a [u8],
    rules: u64,
}

/// The list of tuples as it lies in the table; it ends where it is not a list.
fn tuples(mut list: &[u8]) -> impl Iterator<Item = Tuple<'_>> {
    std::iter::from_fn(move || {
        let (&fields, rest) = list.split_first()?;
        let (lengths, rest) = rest.split_at_checked(fields.into())?;
        let (rules, rest) = rest.split_first_chunk::<8>()?;
        list = rest;
        Some(Tuple { lengths, rules: u64::from_le_bytes(*rules) })
    })
}

/// The key of the rules with these prefixes.
fn key<'a>(lengths: &'a [u8], bits: impl Iterator<Item = u32> + 'a) -> Vec<u8> {
    let mut key = [b"\0rule", lengths].concat();
    key.extend(bits.flat_map(u32::to_le_bytes));
    key
}

fn priorities(value: &[u8]) -> impl Iterator<Item = u64> + '_ {
    value.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Rules for packets, with priorities.
impl PrunedCounting {
    /// Adds a rule, which demands a prefix of each field of a packet. Rules may agree in their prefixes and differ in priority.
    ///
    /// ```
    /// use bouquet::{PrunedCounting, counting::pruned_counting::Prefix};
    /// let mut rules = PrunedCounting::with_capacity(100)?;
    /// rules.add_rule(&[Prefix::new(0x0A00_0000, 8)?, Prefix::new(0, 0)?], 1)?;
    /// rules.add_rule(&[Prefix::new(0x0A01_0000, 16)?, Prefix::new(80, 32)?], 7)?;
    /// assert_eq!(rules.best_rule(&[0x0A01_0203, 80]), Some(7));
    /// assert_eq!(rules.best_rule(&[0x0A01_0203, 443]), Some(1));
    /// assert_eq!(rules.best_rule(&[0x0B01_0203, 80]), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add_rule(&mut self, rule: &[Prefix], priority: u64) -> Result<()> {
        if rule.is_empty() || rule.len() > MOST_FIELDS {
            let expected = format!("a rule of 1 to {MOST_FIELDS} fields");
            return Err(Error::Item { expected, found: format!("{} fields", rule.len()) });
        }
        let lengths: Vec<u8> = rule.iter().map(|prefix| prefix.length).collect();
        let key = key(&lengths, rule.iter().map(|prefix| prefix.bits));
        let value = [self.value(&key).unwrap_or_default(), &priority.to_le_bytes()].concat();
        self.insert(&key, &value)?;
        self.count_rules(&lengths, |rules| rules.saturating_add(1))
    }

    /// Takes out one rule with these prefixes and this priority, or says [`Error::NotPresent`].
    ///
    /// ```
    /// use bouquet::{PrunedCounting, counting::pruned_counting::Prefix};
    /// let mut rules = PrunedCounting::with_capacity(100)?;
    /// let rule = [Prefix::new(7, 32)?];
    /// rules.add_rule(&rule, 1)?;
    /// rules.add_rule(&rule, 9)?;
    /// rules.remove_rule(&rule, 9)?;
    /// assert_eq!(rules.best_rule(&[7]), Some(1));
    /// assert!(rules.remove_rule(&rule, 9).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_rule(&mut self, rule: &[Prefix], priority: u64) -> Result<()> {
        let lengths: Vec<u8> = rule.iter().map(|prefix| prefix.length).collect();
        let key = key(&lengths, rule.iter().map(|prefix| prefix.bits));
        let mut left: Vec<u64> = priorities(self.value(&key).ok_or(Error::NotPresent)?).collect();
        let at = left.iter().position(|&own| own == priority).ok_or(Error::NotPresent)?;
        left.swap_remove(at);
        // Each rule is one copy of its key.
        self.remove(&key)?;
        if !left.is_empty() {
            self.replace(&key, &left.iter().flat_map(|priority| priority.to_le_bytes()).collect::<Vec<_>>())?;
        }
        self.count_rules(&lengths, |rules| rules.saturating_sub(1))
    }

    /// The highest priority among the rules that match a packet. Only rules of as many fields are looked at.
    ///
    /// ```
    /// use bouquet::{PrunedCounting, counting::pruned_counting::Prefix};
    /// let mut rules = PrunedCounting::with_capacity(100)?;
    /// rules.add_rule(&[Prefix::new(0, 0)?], 5)?;
    /// assert_eq!((rules.best_rule(&[12_345]), rules.best_rule(&[12_345, 80])), (Some(5), None));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn best_rule(&self, packet: &[u32]) -> Option<u64> {
        let in_tuple = |Tuple { lengths, .. }: Tuple<'_>| {
            let bits = packet.iter().zip(lengths).map(|(&field, &length)| masked(field, length));
            priorities(self.value(&key(lengths, bits))?).max()
        };
        let all = tuples(self.value(TUPLES).unwrap_or_default());
        all.filter(|tuple| tuple.lengths.len() == packet.len()).filter_map(in_tuple).max()
    }

    /// The combinations of prefix lengths that rules have, each with the number of its rules: a packet is looked up once for
    /// each.
    ///
    /// ```
    /// use bouquet::{PrunedCounting, counting::pruned_counting::Prefix};
    /// let mut rules = PrunedCounting::with_capacity(100)?;
    /// rules.add_rule(&[Prefix::new(1 << 31, 8)?], 1)?;
    /// rules.add_rule(&[Prefix::new(3 << 30, 8)?], 2)?;
    /// assert_eq!(rules.tuples().collect::<Vec<_>>(), [([8].as_slice(), 2)]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn tuples(&self) -> impl Iterator<Item = (&[u8], u64)> {
        tuples(self.value(TUPLES).unwrap_or_default()).map(|tuple| (tuple.lengths, tuple.rules))
    }

    /// Changes the number of rules of a tuple in the list; a tuple without rules leaves it.
    fn count_rules(&mut self, lengths: &[u8], change: fn(u64) -> u64) -> Result<()> {
        let mut list = Vec::new();
        let mut write = |lengths: &[u8], rules: u64| {
            if rules > 0 {
                list.push(lengths.len() as u8);
                list.extend_from_slice(lengths);
                list.extend_from_slice(&rules.to_le_bytes());
            }
        };
        let mut known = false;
        for (own, rules) in self.tuples() {
            known |= own == lengths;
            write(own, if own == lengths { change(rules) } else { rules });
        }
        if !known {
            write(lengths, change(0));
        }
        if list.is_empty() { self.remove(TUPLES) } else { self.replace(TUPLES, &list) }
    }

    /// Puts a value under a key without another copy of it.
    fn replace(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.insert(key, value)? { Ok(()) } else { self.remove(key) }
    }
}

pub(super) const ADD_RULE: Special<PrunedCounting> = Special::act(
    "add-rule",
    Takes::Item,
    "adds a rule for packets: a prefix of each field, a TAB and its priority, as in `10.0.0.0/8 80 TAB 7`",
    |table, item| {
        let (rule, priority) = rule(item.item()?)?;
        table.add_rule(&rule, priority).map(|()| Reply::Done)
    },
);

pub(super) const REMOVE_RULE: Special<PrunedCounting> =
    Special::act("remove-rule", Takes::Item, "takes one such rule of this priority out", |table, item| {
        let (rule, priority) = rule(item.item()?)?;
        table.remove_rule(&rule, priority).map(|()| Reply::Done)
    });

pub(super) const BEST_RULE: Special<PrunedCounting> = Special::ask(
    "best-rule",
    Takes::Key,
    "the highest priority among the rules that match a packet, given as its fields: `10.1.2.3 80`",
    |table, packet| {
        let packet = packet.key()?;
        let fields = std::str::from_utf8(packet).ok().and_then(|text| text.split_whitespace().map(field).collect());
        let expected = "the fields of a packet, such as `10.1.2.3 80`";
        let fields: Vec<u32> = fields.ok_or_else(|| refuse(expected, packet))?;
        Ok(table.best_rule(&fields).map_or(Reply::Truth(false), Reply::from))
    },
);

pub(super) const TUPLE_TABLE: Special<PrunedCounting> =
    Special::ask("tuples", Takes::Nothing, "the combinations of prefix lengths that rules have", |table, _| {
        let row = |(lengths, rules): (&[u8], u64)| {
            let lengths: Vec<_> = lengths.iter().map(u8::to_string).collect();
            vec![Reply::Bytes(lengths.join(" ").into_bytes()), rules.into()]
        };
        Ok(Reply::Table(&["lengths", "rules"], table.tuples().map(row).collect()))
    });

/// Reads a rule with its priority.
fn rule(item: Item<'_>) -> Result<(Vec<Prefix>, u64)> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let rule = text(item.key).and_then(|text| text.split_whitespace().map(Prefix::parse).collect());
    let expected = "prefixes such as `10.0.0.0/8 80` and, behind a TAB, a priority";
    let rule = rule.ok_or_else(|| refuse(expected, item.key))?;
    let priority = item.bytes()?;
    Ok((rule, text(priority).and_then(|text| text.trim().parse().ok()).ok_or_else(|| refuse(expected, priority))?))
}

fn refuse(expected: &str, found: &[u8]) -> Error {
    Error::Item { expected: expected.into(), found: format!("`{}`", found.escape_ascii()) }
}
