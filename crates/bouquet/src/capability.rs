//! The verbs: what a structure can do, one small trait each, with its laws.
//!
//! Structures implement the traits they can keep the laws of and register them (see [`crate::kind`]); front ends look
//! a verb up in the registry and never name a structure. Every verb that works key by key is object-safe, takes keys as
//! bytes and has a batch form, because one dynamic call per batch costs nothing and one per key does.
//!
//! "Certainly" means: no hash coincidence can make it wrong. Errors that a structure declares
//! ([`ErrorClass`](crate::kind::ErrorClass)) weaken the laws only as declared.

use crate::error::{Error, Result};
use crate::kind::{Config, Structure};
use crate::theory::{algebra, blocks};

/// What a key carries besides itself. A kind takes one sort of note, [`NoteType`], or none.
///
/// ```
/// use bouquet::{AnyFilter, FilterBank, capability::{Item, Note}};
/// let mut bank = AnyFilter::from_structure(FilterBank::with_rate(3, 100, 0.01)?)?;
/// bank.insert()?.insert(Item::new(b"rose", Note::Group(2)))?;
/// assert_eq!(bank.classify()?.classify(b"rose"), [2]);
/// assert!(bank.insert()?.insert(Item::new(b"rose", Note::Weight(0.5))).is_err(), "a bank takes groups");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum Note<'a> {
    /// Nothing.
    #[default]
    None,
    /// A number, as the value of the key.
    Integer(u64),
    /// Bytes, as the value of the key.
    Bytes(&'a [u8]),
    /// The number of the set that the key belongs to.
    Group(u64),
    /// What is known of the key, such as the probability that it is a member.
    Weight(f64),
    /// Two things that are known of the key, such as how often it is asked for and how often it is a member.
    Weights(f64, f64),
    /// How often the key comes at once.
    Amount(u64),
}

/// ```
/// use bouquet::capability::Note;
/// assert_eq!([Note::Group(2), Note::Bytes(b"red"), Note::None].map(|note| note.to_string()), ["set 2", "the value `red`", "none"]);
/// ```
impl std::fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::None => f.write_str("none"),
            Note::Integer(value) => write!(f, "the value {value}"),
            Note::Bytes(value) => write!(f, "the value `{}`", value.escape_ascii()),
            Note::Group(set) => write!(f, "set {set}"),
            Note::Weight(weight) => write!(f, "the weight {weight}"),
            Note::Weights(first, second) => write!(f, "the weights {first},{second}"),
            Note::Amount(amount) => write!(f, "the amount {amount}"),
        }
    }
}

/// Which sort of [`Note`] a kind takes.
///
/// ```
/// use bouquet::{capability::NoteType, registry};
/// assert_eq!(registry::find("filter-bank")?.facts().note, NoteType::Group);
/// assert_eq!(registry::find("standard")?.facts().note, NoteType::None);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteType {
    /// Keys alone.
    None,
    /// A number as value.
    Integer,
    /// Bytes as value; a key without note has the empty value.
    Bytes,
    /// A set's number.
    Group,
    /// A weight; of a key without note nothing is known.
    Weight,
    /// Two weights, with a comma between them; of a key without note nothing is known.
    Weights,
    /// How often the key comes at once, at least 1; a key without note comes once.
    Amount,
}

impl NoteType {
    /// The name that people read.
    ///
    /// ```
    /// assert_eq!(bouquet::registry::find("bloomier")?.facts().note.name(), "integer");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NoteType::None => "none",
            NoteType::Integer => "integer",
            NoteType::Bytes => "bytes",
            NoteType::Group => "group",
            NoteType::Weight => "weight",
            NoteType::Weights => "weights",
            NoteType::Amount => "amount",
        }
    }

    /// Reads a note of this type from the text behind the key's TAB; `None` when there is no TAB.
    ///
    /// ```
    /// use bouquet::capability::{Note, NoteType};
    /// assert_eq!(NoteType::Integer.parse(Some(b"42"))?, Note::Integer(42));
    /// assert!(NoteType::Group.parse(Some(b"left")).is_err());
    /// assert_eq!(NoteType::Amount.parse(Some(b"1500"))?, Note::Amount(1_500));
    /// assert_eq!(NoteType::Amount.parse(None)?, Note::Amount(1), "once, when nothing is said");
    /// assert_eq!(NoteType::Weights.parse(Some(b"20,0.5"))?, Note::Weights(20.0, 0.5));
    /// assert_eq!(NoteType::Weight.parse(None)?, Note::None, "nothing is known of the key");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn parse(self, text: Option<&[u8]>) -> Result<Note<'_>> {
        let expected = |what: &str| Error::Item {
            expected: format!("KEY TAB {what}"),
            found: text.map_or("no TAB".into(), |t| format!("`{}` behind the TAB", t.escape_ascii())),
        };
        let number = |what: &str| {
            let parsed = text.and_then(|t| std::str::from_utf8(t).ok()?.trim().parse::<u64>().ok());
            parsed.ok_or_else(|| expected(what))
        };
        let weight = |t: &[u8]| std::str::from_utf8(t).ok()?.trim().parse().ok().filter(|w: &f64| w.is_finite());
        Ok(match self {
            NoteType::None => Note::None,
            NoteType::Bytes => Note::Bytes(text.unwrap_or_default()),
            NoteType::Integer => Note::Integer(number("a whole number")?),
            NoteType::Group => Note::Group(number("the number of a set")?),
            NoteType::Amount if text.is_none() => Note::Amount(1),
            NoteType::Amount => match number("how often it comes, at least 1")? {
                0 => return Err(expected("how often it comes, at least 1")),
                amount => Note::Amount(amount),
            },
            NoteType::Weight | NoteType::Weights if text.is_none() => Note::None,
            NoteType::Weight => Note::Weight(text.and_then(weight).ok_or_else(|| expected("a weight"))?),
            NoteType::Weights => {
                let comma = text.and_then(|t| t.iter().position(|byte| *byte == b','));
                let both = text.zip(comma).and_then(|(t, at)| Some((weight(&t[..at])?, weight(&t[at + 1..])?)));
                let (first, second) = both.ok_or_else(|| expected("two weights with a comma between them"))?;
                Note::Weights(first, second)
            }
        })
    }
}

/// A key with its note.
///
/// ```
/// use bouquet::capability::{Item, Note};
/// assert_eq!(Item::from(b"rose".as_slice()).note, Note::None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item<'a> {
    /// The key's bytes.
    pub key: &'a [u8],
    /// What it carries.
    pub note: Note<'a>,
}

impl<'a> From<&'a [u8]> for Item<'a> {
    fn from(key: &'a [u8]) -> Self {
        Item { key, note: Note::None }
    }
}

impl<'a> Item<'a> {
    /// A key with a note.
    ///
    /// ```
    /// use bouquet::capability::{Item, Note};
    /// let item = Item::new(b"rose", Note::Weight(0.5));
    /// assert_eq!((item.key, item.note), (b"rose".as_slice(), Note::Weight(0.5)));
    /// ```
    #[must_use]
    pub fn new(key: &'a [u8], note: Note<'a>) -> Self {
        Item { key, note }
    }

    /// The key of an item that must carry no note.
    ///
    /// ```
    /// use bouquet::capability::{Item, Note};
    /// assert_eq!(Item::from(b"rose".as_slice()).bare()?, b"rose");
    /// assert!(Item::new(b"rose", Note::Integer(5)).bare().is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn bare(self) -> Result<&'a [u8]> {
        #[cold]
        fn refused(note: Note<'_>) -> Error {
            Error::Item { expected: "a key without a note".into(), found: note.to_string() }
        }
        match self.note {
            Note::None => Ok(self.key),
            note => Err(refused(note)),
        }
    }

    /// The number of the set that the item must name.
    ///
    /// ```
    /// use bouquet::capability::{Item, Note};
    /// assert_eq!(Item::new(b"rose", Note::Group(2)).group()?, 2);
    /// assert!(Item::new(b"rose", Note::Integer(2)).group().is_err(), "a value is not a set");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn group(self) -> Result<u64> {
        match self.note {
            Note::Group(group) => Ok(group),
            note => Err(Error::Item { expected: "a key with the number of its set".into(), found: note.to_string() }),
        }
    }

    /// The number that the item must carry.
    ///
    /// ```
    /// use bouquet::capability::{Item, Note};
    /// assert_eq!(Item::new(b"rose", Note::Integer(5)).integer()?, 5);
    /// assert!(Item::from(b"rose".as_slice()).integer().is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn integer(self) -> Result<u64> {
        match self.note {
            Note::Integer(value) => Ok(value),
            note => Err(Error::Item { expected: "a key with a whole number".into(), found: note.to_string() }),
        }
    }

    /// How often the item comes at once: 1 without a note.
    ///
    /// ```
    /// use bouquet::capability::{Item, Note};
    /// assert_eq!(Item::new(b"rose", Note::Amount(1_500)).amount()?, 1_500);
    /// assert_eq!(Item::from(b"rose".as_slice()).amount()?, 1);
    /// assert!(Item::new(b"rose", Note::Amount(0)).amount().is_err(), "that would be no insertion");
    /// assert!(Item::new(b"rose", Note::Integer(5)).amount().is_err(), "a value is not an amount");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn amount(self) -> Result<u64> {
        match self.note {
            Note::None => Ok(1),
            Note::Amount(amount @ 1..) => Ok(amount),
            note => Err(Error::Item {
                expected: "a key with an amount of at least 1, or none for 1".into(),
                found: note.to_string(),
            }),
        }
    }

    /// The bytes that the item carries, empty without a note.
    ///
    /// ```
    /// use bouquet::capability::{Item, Note};
    /// assert_eq!(Item::new(b"rose", Note::Bytes(b"red")).bytes()?, b"red");
    /// assert_eq!(Item::from(b"rose".as_slice()).bytes()?, b"");
    /// assert!(Item::new(b"rose", Note::Integer(5)).bytes().is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn bytes(self) -> Result<&'a [u8]> {
        match self.note {
            Note::Bytes(value) => Ok(value),
            Note::None => Ok(b""),
            note => Err(Error::Item { expected: "a key with bytes as value, or none".into(), found: note.to_string() }),
        }
    }
}

/// An item is hashed as its key.
impl crate::Key for Item<'_> {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.key)
    }
}

/// What a static structure is built from.
///
/// ```
/// use bouquet::{AnyFilter, capability::{Dataset, Item}, kind::Config, registry};
/// let items = [b"rose".as_slice(), b"lily"].map(Item::from);
/// let config = Config::new(registry::find("standard")?.facts()).set("items", "2")?;
/// let filter = AnyFilter::build(&config, &Dataset { items: &items, ..Default::default() })?;
/// assert!(filter.contains()?.contains(b"lily"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Dataset<'a> {
    /// The members, with their notes.
    pub items: &'a [Item<'a>],
    /// Keys that are known not to be members and that will be asked for, with the same notes.
    pub absent: &'a [Item<'a>],
}

/// Is the key in the set?
///
/// Law: every key that was inserted and not removed, replaced or forgotten since is contained, unless the kind
/// declares false negatives.
///
/// ```
/// use bouquet::{Bloom, capability::Contains};
/// let mut filter = Bloom::with_rate(100, 0.01)?;
/// filter.insert("rose");
/// let mut answers = [false; 2];
/// Contains::contains_batch(&filter, &[b"rose", b"lily"], &mut answers);
/// assert_eq!(answers, [true, false]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Contains {
    /// Whether the key may be in the set; `false` is certain unless the kind declares false negatives.
    fn contains(&self, key: &[u8]) -> bool;

    /// The answers for many keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.contains(key);
        }
    }

    /// The answers for keys that are 64-bit numbers, as those for their eight little-endian bytes: columns of numbers
    /// need no slice for each key.
    fn contains_words(&self, keys: &[u64], answers: &mut [bool]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.contains(&key.to_le_bytes());
        }
    }
}

/// Put an item in.
///
/// Law: after `insert(x)` the key is contained. An error leaves the structure as it was.
///
/// ```
/// use bouquet::{Bloom, capability::{Insert, Item}};
/// let mut filter = Bloom::with_rate(100, 0.01)?;
/// let items = [b"rose".as_slice(), b"lily", b"rose"].map(Item::from);
/// assert_eq!(Insert::insert_batch(&mut filter, &items)?, 2);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Insert {
    /// Inserts the item and says whether it was certainly new: `false` means that it was there already, or seemed so.
    fn insert(&mut self, item: Item<'_>) -> Result<bool>;

    /// Inserts many items and says how many were certainly new. An error stops at the item that caused it; those before
    /// it are in.
    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let mut fresh = 0;
        for item in items {
            fresh += u64::from(self.insert(*item)?);
        }
        Ok(fresh)
    }
}

/// Take an item out.
///
/// Law: removing a present item undoes one insertion of it and loses no other key; where a key is in a set or not, all of
/// its insertions into that set are one. A key that is certainly absent is
/// [`Error::NotPresent`], and nothing changes. Removing an absent key that seems present cannot be noticed and may
/// make other keys vanish.
///
/// ```
/// use bouquet::{Counting, Error, capability::{Item, Remove}};
/// let mut filter = Counting::with_rate(100, 0.01)?;
/// filter.insert("rose")?;
/// let rose = Item::from(b"rose".as_slice());
/// Remove::remove(&mut filter, rose)?;
/// assert!(matches!(Remove::remove(&mut filter, rose), Err(Error::NotPresent)));
/// # Ok::<(), Error>(())
/// ```
pub trait Remove {
    /// Removes one occurrence of the item.
    fn remove(&mut self, item: Item<'_>) -> Result<()>;
}

/// How often a key is in.
///
/// ```
/// use bouquet::{Counting, capability::Multiplicity};
/// let mut filter = Counting::with_rate(100, 0.01)?;
/// filter.insert("rose")?;
/// filter.insert("rose")?;
/// assert_eq!(filter.count("rose"), Multiplicity { count: 2, at_least: false });
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplicity {
    /// The answer.
    pub count: u64,
    /// Whether a counter has reached its end, so that the true number may be larger without bound.
    pub at_least: bool,
}

/// How often was the key inserted?
///
/// Law: the answer is at least the number of insertions less removals, unless the kind declares under-counts.
///
/// ```
/// use bouquet::{Iblt, capability::Count};
/// let mut table = Iblt::with_capacity(10)?;
/// table.insert("rose", b"red")?;
/// let counts: &dyn Count = &table;
/// assert_eq!((counts.count(b"rose").count, counts.count(b"lily").count), (1, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Count {
    /// The number of occurrences, zero only when the key is certainly absent.
    fn count(&self, key: &[u8]) -> Multiplicity;
}

/// A value that a structure gives back.
///
/// ```
/// use bouquet::{Iblt, capability::{Answer, Value}};
/// let mut table = Iblt::with_capacity(10)?;
/// table.insert("rose", b"red")?;
/// assert_eq!(table.get("rose"), Answer::Value(Value::Bytes(b"red".to_vec())));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A number.
    Integer(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// The answer to "which value belongs to this key?".
///
/// ```
/// use bouquet::{Iblt, capability::Answer};
/// let mut table = Iblt::with_size(3, 3)?; // every key is in all three cells
/// table.insert("rose", b"red")?;
/// assert_eq!(table.get("lily"), Answer::Absent);
/// table.insert("lily", b"white")?;
/// assert_eq!(table.get("rose"), Answer::Unknown);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This value, if the key is a member.
    Value(Value),
    /// The key is certainly not a member.
    Absent,
    /// The structure cannot tell at present.
    Unknown,
}

impl From<Option<u64>> for Answer {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Answer::Absent, |value| Answer::Value(Value::Integer(value)))
    }
}

/// Which value belongs to the key?
///
/// Law: a member's answer is its value or [`Answer::Unknown`], never [`Answer::Absent`] and never another value.
///
/// ```
/// use bouquet::{Bloomier, capability::{Answer, Get, Value}};
/// let petals = Bloomier::with_rate(2, 0.01, [("rose", 5), ("lily", 6)])?;
/// assert_eq!(Get::get(&petals, b"lily"), Answer::Value(Value::Integer(6)));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Get {
    /// The key's value.
    fn get(&self, key: &[u8]) -> Answer;
}

/// Give a member another value.
///
/// Law: afterwards `get` answers with the new value for this key, and with what it answered before for every other member. A key
/// that is certainly no member is [`Error::NotPresent`], and nothing changes; one that only seems to be a member cannot be told
/// from one that is, and setting it takes another key's value.
///
/// ```
/// use bouquet::{AnyFilter, capability::{Answer, Dataset, Item, Note, Value}, kind::Config, registry};
/// let config = Config::new(registry::find("bloomier")?.facts()).set("mode", "mutable")?;
/// let items = [Item::new(b"rose", Note::Integer(5)), Item::new(b"lily", Note::Integer(6))];
/// let mut petals = AnyFilter::build(&config, &Dataset { items: &items, absent: &[] })?;
/// petals.set()?.set(Item::new(b"rose", Note::Integer(7)))?;
/// assert_eq!(petals.get()?.get(b"rose"), Answer::Value(Value::Integer(7)));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Set {
    /// Replaces the value of the key by the item's.
    fn set(&mut self, item: Item<'_>) -> Result<()>;
}

/// Which of the sets hold the key?
///
/// Law: every set that holds the key is in the answer, unless the kind declares false negatives.
///
/// ```
/// use bouquet::{FilterBank, capability::Classify};
/// let mut bank = FilterBank::with_rate(3, 100, 0.01)?;
/// bank.insert("rose", 2)?;
/// bank.insert("rose", 0)?;
/// assert_eq!(Classify::classify(&bank, b"rose"), [0, 2]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Classify {
    /// The numbers of the sets that may hold the key, ascending.
    fn classify(&self, key: &[u8]) -> Vec<u64>;
}

/// What a filter that knows both sides says of a key.
///
/// ```
/// use bouquet::capability::Verdict;
/// let exact = |verdict: Verdict| verdict.resolve(|| true);
/// assert_eq!([Verdict::In, Verdict::Undetermined, Verdict::Out].map(exact), [Some(true), Some(true), Some(false)]);
/// assert_eq!(exact(Verdict::Unknown), None, "no table of members knows more about it");
/// assert_eq!(Verdict::Undetermined.name(), "undetermined");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A member.
    In,
    /// A key of the universe that is no member.
    Out,
    /// A key of the universe that must be looked up elsewhere.
    Undetermined,
    /// No key of the universe.
    Unknown,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 4] = [Verdict::In, Verdict::Out, Verdict::Undetermined, Verdict::Unknown];

    /// The word that people read.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::In => "in",
            Verdict::Out => "out",
            Verdict::Undetermined => "undetermined",
            Verdict::Unknown => "unknown",
        }
    }

    /// Whether the key is a member, as `look_up` says where the filter cannot tell; `None` for a key of another universe.
    pub fn resolve(self, look_up: impl FnOnce() -> bool) -> Option<bool> {
        match self {
            Verdict::In => Some(true),
            Verdict::Out => Some(false),
            Verdict::Undetermined => Some(look_up()),
            Verdict::Unknown => None,
        }
    }
}

/// Is the key in the set, out of it, to be looked up, or foreign?
///
/// Law: [`In`](Verdict::In) and [`Out`](Verdict::Out) are never wrong about a key of the universe that the filter was told of, and
/// no such key is [`Unknown`](Verdict::Unknown). About other keys nothing is promised.
///
/// ```
/// use bouquet::{Complement, ComplementSettings, capability::{Judge, Verdict}, hash::Hashing};
/// let settings = ComplementSettings { fpr: Some(0.001), ..Default::default() };
/// let flowers = Complement::from_keys_and_absent(&settings, &Hashing::default(), ["rose", "lily"], ["oak", "elm"])?;
/// let mut verdicts = [Verdict::Unknown; 3];
/// Judge::judge_batch(&flowers, &[b"rose", b"elm", b"granite"], &mut verdicts);
/// assert_eq!(verdicts, [Verdict::In, Verdict::Out, Verdict::Unknown]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Judge {
    /// What the filter says of the key.
    fn judge(&self, key: &[u8]) -> Verdict;

    /// The verdicts on many keys, `verdicts[i]` for `keys[i]`; the longer slice's rest is left alone.
    fn judge_batch(&self, keys: &[&[u8]], verdicts: &mut [Verdict]) {
        for (key, verdict) in keys.iter().zip(verdicts) {
            *verdict = self.judge(key);
        }
    }
}

/// One entry of a [`Listing`].
///
/// ```
/// use bouquet::{Iblt, capability::{Entry, Value}};
/// let mut table = Iblt::with_capacity(10)?;
/// table.remove_ahead("rose", b"red")?;
/// let owed = Entry { key: b"rose".to_vec(), value: Some(Value::Bytes(b"red".to_vec())), count: -1 };
/// assert_eq!(table.list().entries, [owed]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// Its value, where the kind stores one.
    pub value: Option<Value>,
    /// Insertions less removals; negative for what was removed without having been inserted.
    pub count: i64,
}

/// What a structure could decode of itself.
///
/// ```
/// use bouquet::{Iblt, capability::Listing};
/// let mut table = Iblt::with_size(3, 3)?; // every key is in all three cells
/// table.insert("rose", b"red")?;
/// table.insert("lily", b"white")?;
/// assert_eq!(table.list(), Listing { entries: vec![], undecoded: 3 });
/// table.remove("lily", b"white")?;
/// assert_eq!((table.list().entries.len(), table.list().undecoded), (1, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// What was decoded.
    pub entries: Vec<Entry>,
    /// The number of cells that still hold something undecoded; zero means that the listing is complete.
    pub undecoded: u64,
}

/// What is in it?
///
/// Law: every entry was inserted (or, with a negative count, removed); a listing without undecoded cells holds all.
///
/// ```
/// use bouquet::{AnyFilter, Iblt};
/// let mut table = Iblt::with_capacity(10)?;
/// table.insert("rose", b"red")?;
/// let listing = AnyFilter::from_structure(table)?.list()?.list();
/// assert_eq!((listing.entries[0].key.as_slice(), listing.undecoded), (b"rose".as_slice(), 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait List {
    /// Everything that can be decoded.
    fn list(&self) -> Listing;
}

/// How likely is the key a member, after the structure was asked, given how likely it was before?
///
/// For structures that know more of a key than yes or no, or whose rates differ from key to key. Every filter that tells its rate can be
/// weighed: [`AnyFilter::weigh`](crate::AnyFilter::weigh).
///
/// Law: the answer is a probability, 0 for a prior of 0, and calibrated: over keys of which a share are members, with that share as the
/// prior, the answers are that share on average. Without a prior it is that of the structure's own model, or `None` if it has none.
///
/// ```
/// use bouquet::{Weighted, capability::Weigh};
/// let mut filter = Weighted::with_rate(100, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.probability("rose", Some(0.5)).is_some_and(|probability| probability > 0.99));
/// assert_eq!(Weigh::probability(&filter, b"lily", Some(0.5)), Some(0.0));
/// assert_eq!(Weigh::probability(&filter, b"lily", None), None, "who knows?");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Weigh {
    /// The probability that the key is a member.
    fn probability(&self, key: &[u8], prior: Option<f64>) -> Option<f64>;

    /// The probabilities of many keys, each with the same prior: `answers[i]` for `keys[i]`; the longer slice's rest is left alone. What
    /// follows from the whole structure, such as its fill, is found once.
    fn probability_batch(&self, keys: &[&[u8]], prior: Option<f64>, answers: &mut [Option<f64>]) {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = self.probability(key, prior);
        }
    }
}

/// A key that a structure keeps by name, and how often it came.
///
/// ```
/// use bouquet::{capability::{Frequent, Multiplicity, Top}, counting::count_min::{CountMin, KIND}, kind::Config};
/// let mut sketch = CountMin::from_config(&Config::new(KIND.facts()).set("top", "1")?)?;
/// sketch.add("lily", 3)?;
/// sketch.add("rose", 8)?;
/// let most = Frequent { key: b"rose".to_vec(), count: Multiplicity { count: 8, at_least: false } };
/// assert_eq!(Top::top(&sketch), [most]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequent {
    /// The key.
    pub key: Vec<u8>,
    /// How often it came.
    pub count: Multiplicity,
}

/// Which keys came most often?
///
/// A structure that tells keeps the names of a few keys: of as many as it was made for, or of those above a threshold.
///
/// Law: every key was inserted and is named once, the most frequent first; a count is at least the number of insertions less
/// removals, unless the kind declares under-counts.
///
/// ```
/// use bouquet::{capability::Top, counting::conservative_update::{ConservativeUpdate, KIND}, kind::Config};
/// let mut filter = ConservativeUpdate::from_config(&Config::new(KIND.facts()).set("threshold", "5")?)?;
/// for (key, bytes) in [("rose", 8), ("lily", 3), ("iris", 9)] {
///     filter.add(key, bytes);
/// }
/// let names: Vec<_> = Top::top(&filter).into_iter().map(|flow| flow.key).collect();
/// assert_eq!(names, [b"iris", b"rose"]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Top {
    /// The keys that are kept by name, the most frequent first.
    fn top(&self) -> Vec<Frequent>;
}

/// What could be decoded of the keys that were asked for.
///
/// ```
/// use bouquet::{capability::{Decode, Decoding}, counting::counter_braids::CounterBraids, shell::Amount};
/// let mut braids = CounterBraids::with_flows(100)?;
/// braids.insert_with("rose", Amount(1_000))?;
/// let decoding = Decode::decode(&braids, &[b"rose"])?;
/// assert_eq!(decoding, Decoding { counts: vec![1_000..=1_000], consistent: true });
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoding {
    /// For each key the least and the largest number of insertions that fit what is stored.
    pub counts: Vec<std::ops::RangeInclusive<u64>>,
    /// Whether the keys can be all that were inserted; if not, the counts mean nothing.
    pub consistent: bool,
}

/// How often was each key inserted, once all of them are known?
///
/// Law: with all keys that were inserted the decoding is consistent, and the number of insertions of each is within its
/// bounds.
///
/// ```
/// use bouquet::{capability::Decode, counting::counter_braids::CounterBraids};
/// let mut braids = CounterBraids::with_flows(100)?;
/// braids.insert("rose")?;
/// assert!(!Decode::decode(&braids, &[b"lily"])?.consistent, "somebody else came");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Decode {
    /// The counts of these keys, which must be all that were inserted; others among them do no harm.
    fn decode(&self, keys: &[&[u8]]) -> Result<Decoding>;
}

/// Let time pass.
///
/// Law: `advance(a)` and then `advance(b)` is `advance(a + b)`.
///
/// ```
/// use bouquet::{Stable, capability::Advance};
/// let mut filter = Stable::with_size(1_000, 0.01)?;
/// filter.insert("rose");
/// let mut twice = filter.clone();
/// Advance::advance(&mut filter, 5);
/// [2, 3].map(|ticks| Advance::advance(&mut twice, ticks));
/// assert_eq!(filter.to_bytes(), twice.to_bytes());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Advance {
    /// Moves the structure's clock forward.
    fn advance(&mut self, ticks: u64);
}

/// Make room.
///
/// Law: growing raises the capacity and changes no answer.
///
/// ```
/// use bouquet::{Scalable, capability::Grow};
/// let mut filter = Scalable::with_rate(1_000, 0.01)?;
/// let room: &mut dyn Grow = &mut filter;
/// assert_eq!(room.capacity(), 1_000);
/// room.grow()?;
/// assert_eq!(room.capacity(), 3_000); // the next component is twice as large
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Grow {
    /// The number of keys that fit before the structure grows by itself.
    fn capacity(&self) -> u64;

    /// Makes room for more keys now.
    fn grow(&mut self) -> Result<()>;
}

/// The union with another structure of the same shape and hashing.
///
/// Law: the merged structure contains what either contained. Structures that differ are refused with
/// [`Error::Incompatible`], and nothing changes.
///
/// ```
/// use bouquet::{Bloom, Error, capability::Merge};
/// let (mut here, mut there) = (Bloom::with_rate(100, 0.01)?, Bloom::with_rate(100, 0.01)?);
/// there.insert("lily");
/// Merge::merge(&mut here, &there)?;
/// assert!(here.contains("lily"));
/// assert!(matches!(Merge::merge(&mut here, &Bloom::with_rate(200, 0.01)?), Err(Error::Incompatible { .. })));
/// # Ok::<(), Error>(())
/// ```
pub trait Merge: Sized {
    /// Takes in everything that `other` holds.
    fn merge(&mut self, other: &Self) -> Result<()>;
}

/// The intersection with another structure of the same shape and hashing.
///
/// Law: what was inserted into both stays contained. Structures that differ are refused, and nothing changes.
///
/// ```
/// use bouquet::{Bloom, capability::Intersect};
/// let (mut here, mut there) = (Bloom::with_rate(100, 0.01)?, Bloom::with_rate(100, 0.01)?);
/// ["rose", "lily"].map(|key| here.insert(key));
/// ["rose", "iris"].map(|key| there.insert(key));
/// Intersect::intersect(&mut here, &there)?;
/// assert!(here.contains("rose") && !here.contains("lily"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Intersect: Sized {
    /// Keeps what `other` also holds.
    fn intersect(&mut self, other: &Self) -> Result<()>;
}

/// The difference to another structure of the same shape and hashing.
///
/// Law: subtracting what was merged gives back what was there before. Structures that differ are refused, and nothing
/// changes. A structure that can also [list](List) tells what two sets do not share: see [`Difference`].
///
/// ```
/// use bouquet::{Iblt, capability::Subtract};
/// let (mut here, mut there) = (Iblt::with_capacity(10)?, Iblt::with_capacity(10)?);
/// here.insert("rose", b"")?;
/// there.insert("lily", b"")?;
/// Subtract::subtract(&mut here, &there)?;
/// let mut counts: Vec<_> = here.list().entries.into_iter().map(|entry| (entry.key, entry.count)).collect();
/// counts.sort();
/// assert_eq!(counts, [(b"lily".to_vec(), -1), (b"rose".to_vec(), 1)]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Subtract: Sized {
    /// Takes away everything that `other` holds; what it did not hold itself is owed from then on.
    fn subtract(&mut self, other: &Self) -> Result<()>;
}

/// What do two structures of the same shape and hashing not share?
///
/// Law: entries of a positive count are in the first more often than in the second, those of a negative count the other way round; without
/// undecoded cells no other key is. Neither structure changes, and structures that differ in shape or hashing are refused. What both hold need
/// not be known: they may hold any number of keys as long as the difference is small enough for their cells.
///
/// ```
/// use bouquet::{Iblt, capability::Difference};
/// let (mut here, mut there) = (Iblt::with_capacity(10)?, Iblt::with_capacity(10)?);
/// for key in 0..1_000u64 {
///     here.insert(&key, b"")?;
///     there.insert(&(key + 1), b"")?;
/// }
/// let listing = here.difference(&there)?;
/// assert_eq!((listing.undecoded, listing.entries.len()), (0, 2), "only the first and the last");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Difference: Sized {
    /// What only one of them holds.
    fn difference(&self, other: &Self) -> Result<Listing>;
}

/// An estimated number of keys.
///
/// ```
/// let mut filter = bouquet::Bloom::with_rate(10_000, 0.01)?;
/// (0..10_000u64).for_each(|key| { filter.insert(&key); });
/// let estimate = filter.cardinality();
/// assert!((estimate.keys - 10_000.0).abs() < 5.0 * estimate.standard_error);
/// assert!(estimate.standard_error < 100.0 && !estimate.saturated);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate; for a saturated structure the largest number that it can tell apart.
    pub keys: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Whether the structure is too full to say.
    pub saturated: bool,
}

impl Estimate {
    /// The estimate from the zeros among m bits with k positions per key.
    ///
    /// ```
    /// use bouquet::capability::Estimate;
    /// let estimate = Estimate::from_zeros(496_585, 1_000_000, 7);
    /// assert_eq!((estimate.keys.round(), estimate.standard_error.round()), (100_000.0, 80.0));
    /// assert!(Estimate::from_zeros(0, 1_000_000, 7).saturated);
    /// ```
    #[must_use]
    pub fn from_zeros(zeros: u64, m: u64, k: u32) -> Self {
        Self::of(algebra::cardinality(m, k, zeros.max(1)), zeros == 0)
    }

    /// The estimate from the zeros of each slice of s bits, with one position of every key.
    ///
    /// ```
    /// use bouquet::capability::Estimate;
    /// let estimate = Estimate::from_slices(&[73, 74, 73, 74], 146);
    /// assert_eq!(estimate.keys.round(), 100.0);
    /// assert!(Estimate::from_slices(&[73, 0], 146).saturated);
    /// ```
    #[must_use]
    pub fn from_slices(zeros: &[u64], slice_bits: u64) -> Self {
        let least: Vec<u64> = zeros.iter().map(|&zeros| zeros.max(1)).collect();
        Self::of(algebra::cardinality_of_slices(&least, slice_bits), zeros.contains(&0))
    }

    /// The estimate from the zeros among the m bits of a filter of blocks with k positions per key.
    ///
    /// ```
    /// use bouquet::{capability::Estimate, theory::blocks::{Inner, Layout}};
    /// let line = Layout { block_bits: 512, inner: Inner::Bits, blocks_per_key: 1 };
    /// assert_eq!(Estimate::from_blocks(line, 51_200, 51_200, 7).keys, 0.0);
    /// assert!(Estimate::from_blocks(line, 0, 51_200, 7).saturated);
    /// ```
    #[must_use]
    pub fn from_blocks(layout: blocks::Layout, zeros: u64, m: u64, k: u32) -> Self {
        Self::of(blocks::cardinality(layout, m, k, zeros.max(1)), zeros == 0)
    }

    /// Zeros were raised to 1, the fullest that still tells a number, so nothing is found only without bits or
    /// positions, where every number of keys looks alike.
    fn of(found: Option<algebra::Estimate>, saturated: bool) -> Self {
        match found {
            Some(found) => Estimate { keys: found.value, standard_error: found.error, saturated },
            None => Estimate { keys: 0.0, standard_error: f64::INFINITY, saturated: true },
        }
    }
}

/// How two sets overlap.
///
/// ```
/// let (mut here, mut there) = (bouquet::Bloom::with_rate(2_000, 0.01)?, bouquet::Bloom::with_rate(2_000, 0.01)?);
/// (0..1_000u64).for_each(|key| { here.insert(&key); });
/// (500..1_500u64).for_each(|key| { there.insert(&key); });
/// let overlap = here.overlap(&there)?; // 500 of 1,500 keys
/// assert!((overlap.jaccard - 1.0 / 3.0).abs() < 0.05);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Keys in either.
    pub union: Estimate,
    /// Keys in both.
    pub intersection: Estimate,
    /// The intersection's share of the union, zero when both are empty.
    pub jaccard: f64,
}

impl Overlap {
    /// The overlap of two sets from their own estimates and that of their union; `error` tells the standard error of
    /// the same estimator for any number of keys.
    ///
    /// The three estimates hang together: those of two filters that share j keys have the variance of an estimate of j
    /// keys, v(j), as their covariance. So the size of the intersection, a + b - u, has the variance
    ///
    /// ```text
    /// v(a) + v(b) + v(u) + 2 v(common) - 2 v(a) - 2 v(b)  =  v(u) + 2 v(common) - v(a) - v(b)
    /// ```
    ///
    /// ```
    /// use bouquet::{capability::{Estimate, Overlap}, theory::algebra::cardinality_error};
    /// let error = |keys| cardinality_error(1_000_000, 7, keys);
    /// let set = |keys| Estimate { keys, standard_error: error(keys), saturated: false };
    /// let overlap = Overlap::of(set(50_000.0), set(50_000.0), set(90_000.0), error);
    /// assert_eq!(overlap.intersection.keys, 10_000.0);
    /// assert!((overlap.intersection.standard_error - 48.3).abs() < 0.1);
    /// ```
    #[must_use]
    pub fn of(a: Estimate, b: Estimate, union: Estimate, error: impl Fn(f64) -> f64) -> Self {
        // No union has fewer keys than either set, whatever was estimated of damaged bits.
        let union = Estimate { keys: union.keys.max(a.keys).max(b.keys), ..union };
        let keys = (a.keys + b.keys - union.keys).min(a.keys.min(b.keys)).max(0.0);
        let [a_variance, b_variance, union_variance, common_variance] =
            [a.standard_error, b.standard_error, union.standard_error, error(keys)].map(|error| error * error);
        // Rounding may leave a sum that is zero in truth slightly negative.
        let variance = (union_variance + 2.0 * common_variance - a_variance - b_variance).max(0.0);
        let saturated = a.saturated || b.saturated || union.saturated;
        let jaccard = if union.keys > 0.0 { keys / union.keys } else { 0.0 };
        Overlap { union, intersection: Estimate { keys, standard_error: variance.sqrt(), saturated }, jaccard }
    }
}

/// How many distinct keys are in it?
///
/// Law: the estimate is within 5 standard errors of the truth for all but a millionth of seeds.
///
/// ```
/// use bouquet::{Counting, capability::Cardinality};
/// let mut filter = Counting::with_rate(1_000, 0.01)?;
/// for key in ["rose", "lily", "rose"] {
///     filter.insert(key)?;
/// }
/// assert_eq!(Cardinality::cardinality(&filter).keys.round(), 2.0);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Cardinality: Sized {
    /// The number of distinct keys.
    fn cardinality(&self) -> Estimate;

    /// How this set and another overlap; an error when the structures differ in shape or hashing.
    fn overlap(&self, other: &Self) -> Result<Overlap>;
}

/// Made for transmission: the frame codes its stores close to their entropy.
///
/// Law: decoding gives back an equal structure; the coded size is within half a percent of the entropy.
///
/// ```
/// use bouquet::{Bloom, capability::Compress};
/// let mut filter = Bloom::with_size(10_000, 7)?;
/// assert_eq!(filter.entropy_bits(), 0.0);
/// (0..1_000u64).for_each(|key| { filter.insert(&key); }); // half full, which no code can shorten
/// assert!((9_900.0..=10_000.0).contains(&filter.entropy_bits()));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Compress {
    /// The bits that the coded stores need in theory.
    fn entropy_bits(&self) -> f64;
}

/// Built once from a data set.
///
/// Law: every member of the data set is contained, with its value or its set where the kind has them.
///
/// ```
/// use bouquet::{Bloomier, capability::{BuildFrom, Dataset, Item, Note}, kind::{Config, Structure}};
/// let items = [Item::new(b"rose", Note::Integer(5)), Item::new(b"lily", Note::Integer(6))];
/// let config = Config::new(&Bloomier::FACTS).set("items", "2")?;
/// let petals = Bloomier::build_from(&config, &Dataset { items: &items, absent: &[] })?;
/// assert_eq!((petals.get("rose"), petals.get("lily")), (Some(5), Some(6)));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait BuildFrom: Structure {
    /// Builds the structure of this data set.
    fn build_from(config: &Config, data: &Dataset<'_>) -> Result<Self>;
}
