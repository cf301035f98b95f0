//! Questions and actions that one kind alone has.
//!
//! What several kinds can do is a verb with a trait and laws ([`capability`](crate::capability)). What only one can, such as
//! telling a quantile or balancing buckets, it lists here by name, with what it takes and what it replies. Front ends reach all of
//! them through two calls, [`AnyFilter::ask`](crate::AnyFilter::ask) and [`AnyFilter::act`](crate::AnyFilter::act), so that
//! nothing is left to those who write Rust.

use super::{Boxed, Kind, Structure};
use crate::capability::{Estimate, Item, Multiplicity, Note, NoteType};
use crate::error::{Error, Result};

/// What a question or action takes.
///
/// ```
/// use bouquet::kind::{Argument, Takes};
/// assert!(matches!(Takes::Span.parse("10..20")?, Argument::Span(10, 20)));
/// assert!(matches!(Takes::Share.parse("0.5")?, Argument::Share(share) if share == 0.5));
/// assert!(Takes::Span.parse("20..10").is_err() && Takes::Number.parse("many").is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A key; front ends ask for many, one after the other.
    Key,
    /// A key with its note; front ends take many.
    Item,
    /// A key with bytes of its own, whatever note the kind's items carry; front ends take many.
    Pair,
    /// A whole number.
    Number,
    /// A number between 0 and 1.
    Share,
    /// Two whole numbers, the first and the last of a range: `10..20`.
    Span,
    /// Another filter, of the same kind unless its text names one.
    Filter,
}

impl Takes {
    /// What people read.
    ///
    /// ```
    /// assert_eq!(bouquet::kind::Takes::Span.name(), "FIRST..LAST");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Takes::Nothing => "",
            Takes::Key => "KEYS",
            Takes::Item => "ITEMS",
            Takes::Pair => "PAIRS",
            Takes::Number => "NUMBER",
            Takes::Share => "SHARE",
            Takes::Span => "FIRST..LAST",
            Takes::Filter => "FILTER",
        }
    }

    /// Reads a number, a share or a span; keys, items and filters do not come as one word.
    pub fn parse(self, text: &str) -> Result<Argument<'static>> {
        let argument = match self {
            Takes::Number => text.parse().ok().map(Argument::Number),
            Takes::Share => text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(Argument::Share),
            Takes::Span => text.split_once("..").and_then(|(first, last)| {
                let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                (first <= last).then_some(Argument::Span(first, last))
            }),
            Takes::Nothing | Takes::Key | Takes::Item | Takes::Pair | Takes::Filter => None,
        };
        argument.ok_or_else(|| Error::parameter("argument", self.expected(), text))
    }

    /// What it takes, in words.
    ///
    /// ```
    /// assert_eq!(bouquet::kind::Takes::Share.expected(), "a number from 0 to 1");
    /// ```
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Takes::Nothing => "nothing",
            Takes::Key => "a key",
            Takes::Item => "a key with its note",
            Takes::Pair => "a key with bytes of its own",
            Takes::Number => "a whole number",
            Takes::Share => "a number from 0 to 1",
            Takes::Span => "two whole numbers FIRST..LAST with FIRST at most LAST",
            Takes::Filter => "a filter of the same kind",
        }
    }
}

/// What a question or action is given: one of what it [takes](Takes).
///
/// ```
/// use bouquet::kind::Argument;
/// assert_eq!(Argument::Span(10, 20).span()?, (10, 20));
/// let error = Argument::Number(10).key().unwrap_err();
/// assert_eq!(error.to_string(), "parameter `argument` must be a key, but is a whole number");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Argument<'a> {
    /// Nothing.
    Nothing,
    /// A key.
    Key(&'a [u8]),
    /// A key with its note, or with [bytes](Takes::Pair).
    Item(Item<'a>),
    /// A whole number.
    Number(u64),
    /// A number between 0 and 1.
    Share(f64),
    /// The first and the last number of a range.
    Span(u64, u64),
    /// Another filter.
    Filter(Other<'a>),
}

impl<'a> Argument<'a> {
    fn takes(&self) -> Takes {
        match self {
            Argument::Nothing => Takes::Nothing,
            Argument::Key(_) => Takes::Key,
            Argument::Item(_) => Takes::Item,
            Argument::Number(_) => Takes::Number,
            Argument::Share(_) => Takes::Share,
            Argument::Span(..) => Takes::Span,
            Argument::Filter(_) => Takes::Filter,
        }
    }

    fn refuse<T>(self, takes: Takes) -> Result<T> {
        Err(Error::parameter("argument", takes.expected(), self.takes().expected()))
    }

    /// The key.
    pub fn key(self) -> Result<&'a [u8]> {
        if let Argument::Key(key) = self { Ok(key) } else { self.refuse(Takes::Key) }
    }

    /// The item.
    pub fn item(self) -> Result<Item<'a>> {
        if let Argument::Item(item) = self { Ok(item) } else { self.refuse(Takes::Item) }
    }

    /// The item, and the whole number that its bytes are in decimal digits.
    ///
    /// ```
    /// use bouquet::{capability::{Item, Note}, kind::Argument};
    /// let (item, number) = Argument::Item(Item::new(b"rose", Note::Bytes(b"12"))).numbered()?;
    /// assert_eq!((item.key, number), (b"rose".as_slice(), 12));
    /// assert!(Argument::Item(Item::new(b"rose", Note::Bytes(b"many"))).numbered().is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn numbered(self) -> Result<(Item<'a>, u64)> {
        let item = self.item()?;
        let text = item.bytes()?;
        let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
        let refused = || Error::Item {
            expected: "KEY TAB a whole number".into(),
            found: format!("`{}` behind the TAB", text.escape_ascii()),
        };
        Ok((item, number.ok_or_else(refused)?))
    }

    /// The number.
    pub fn number(self) -> Result<u64> {
        if let Argument::Number(number) = self { Ok(number) } else { self.refuse(Takes::Number) }
    }

    /// The share.
    pub fn share(self) -> Result<f64> {
        if let Argument::Share(share) = self { Ok(share) } else { self.refuse(Takes::Share) }
    }

    /// The first and the last number.
    pub fn span(self) -> Result<(u64, u64)> {
        if let Argument::Span(first, last) = self { Ok((first, last)) } else { self.refuse(Takes::Span) }
    }

    /// The other filter, of the same type.
    pub fn filter<T: Structure>(self) -> Result<&'a T> {
        let Argument::Filter(Other { filter }) = self else { return self.refuse(Takes::Filter) };
        filter
            .downcast_ref()
            .ok_or_else(|| Error::parameter("argument", Takes::Filter.expected(), "one of another kind"))
    }
}

/// A filter as argument: see [`AnyFilter::as_argument`](crate::AnyFilter::as_argument).
#[derive(Clone, Copy)]
pub struct Other<'a> {
    pub(crate) filter: &'a crate::AnyFilter,
}

impl std::fmt::Debug for Other<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Other")
    }
}

/// What a question or action replies.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// It was done.
    Done,
    /// Yes or no.
    Truth(bool),
    /// The filter cannot tell.
    Unknown,
    /// A whole number.
    Integer(i128),
    /// A number.
    Real(f64),
    /// A number of occurrences.
    Count(Multiplicity),
    /// An estimate with its standard error.
    Estimate(Estimate),
    /// A key or a value.
    Bytes(Vec<u8>),
    /// Several answers, such as the numbers of sets.
    List(Vec<Reply>),
    /// Rows under these column heads.
    Table(&'static [&'static str], Vec<Vec<Reply>>),
    /// A new filter: see [`AnyFilter::from_made`](crate::AnyFilter::from_made).
    Filter(Made),
}

impl From<u64> for Reply {
    fn from(number: u64) -> Self {
        Reply::Integer(number.into())
    }
}

impl From<Vec<u64>> for Reply {
    fn from(numbers: Vec<u64>) -> Self {
        Reply::List(numbers.into_iter().map(Reply::from).collect())
    }
}

/// A filter that a question made of another.
pub struct Made {
    pub(crate) facts: &'static super::Facts,
    pub(crate) value: Boxed,
}

impl Made {
    /// The reply of a question that makes a filter.
    pub fn reply<T: Structure>(filter: T) -> Reply {
        Reply::Filter(Made { facts: const { &T::FACTS }, value: Box::new(filter) })
    }
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Made({})", self.facts.id)
    }
}

/// How a question or action is done.
pub enum Run<T> {
    /// Changes nothing.
    Ask(fn(&T, Argument<'_>) -> Result<Reply>),
    /// May change the filter; an error leaves it as it was.
    Act(fn(&mut T, Argument<'_>) -> Result<Reply>),
}

/// A question or action of one kind.
pub struct Special<T: 'static> {
    /// Its facts.
    pub facts: SpecialFacts,
    /// How it is done.
    pub run: Run<T>,
}

impl<T> Special<T> {
    /// A question.
    ///
    /// ```
    /// use bouquet::{Bloom, kind::{Reply, Run, Special, Takes}};
    /// const ONES: Special<Bloom> =
    ///     Special::ask("ones", Takes::Nothing, "the bits that are set", |filter, _| Ok(filter.bits().count_ones().into()));
    /// assert!(matches!(ONES.run, Run::Ask(_)) && !ONES.facts.acts);
    /// ```
    #[must_use]
    pub const fn ask(
        name: &'static str,
        takes: Takes,
        help: &'static str,
        ask: fn(&T, Argument<'_>) -> Result<Reply>,
    ) -> Self {
        Special { facts: SpecialFacts { name, help, takes, acts: false }, run: Run::Ask(ask) }
    }

    /// An action.
    #[must_use]
    pub const fn act(
        name: &'static str,
        takes: Takes,
        help: &'static str,
        act: fn(&mut T, Argument<'_>) -> Result<Reply>,
    ) -> Self {
        Special { facts: SpecialFacts { name, help, takes, acts: true }, run: Run::Act(act) }
    }
}

/// What is known of a question or action without a filter.
///
/// ```
/// use bouquet::{kind::Takes, registry};
/// let special = registry::find("iblt")?.specials().find(|special| special.name == "remove-ahead").expect("it has one");
/// assert_eq!((special.takes, special.acts), (Takes::Item, true));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialFacts {
    /// Its name.
    pub name: &'static str,
    /// What it tells or does.
    pub help: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether it may change the filter.
    pub acts: bool,
}

impl Kind {
    /// The questions and actions that only this kind has.
    ///
    /// ```
    /// use bouquet::registry;
    /// let names: Vec<_> = registry::find("cuckoo")?.specials().map(|special| special.name).collect();
    /// assert_eq!(names, ["fingerprints"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn specials(&self) -> impl Iterator<Item = &'static SpecialFacts> + use<> {
        (0..).map_while(self.special)
    }

    /// The question of this name, or the action if `acts`; the error names those that the kind has.
    ///
    /// ```
    /// use bouquet::registry;
    /// assert!(registry::find("cuckoo")?.special("fingerprints", false).is_ok());
    /// let error = registry::find("cuckoo")?.special("petals", false).unwrap_err();
    /// assert_eq!(error.to_string(), "kind `cuckoo` has no question `petals`; it has fingerprints");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn special(&self, name: &str, acts: bool) -> Result<&'static SpecialFacts> {
        self.special_named(name, acts).map(|(_, special)| special)
    }

    /// The place of a special in the kind's list, if it takes such an argument.
    pub(crate) fn special_at(&self, name: &str, argument: &Argument<'_>, acts: bool) -> Result<usize> {
        let (at, special) = self.special_named(name, acts)?;
        let fits = match argument {
            // Which of the two sorts of items it is, the note tells.
            Argument::Item(Item { note: Note::Bytes(_), .. }) => matches!(special.takes, Takes::Item | Takes::Pair),
            argument => special.takes == argument.takes(),
        };
        if fits { Ok(at) } else { argument.refuse(special.takes) }
    }

    fn special_named(&self, name: &str, acts: bool) -> Result<(usize, &'static SpecialFacts)> {
        let found = self.specials().enumerate().find(|(_, special)| special.name == name);
        if let Some(found) = found.filter(|(_, special)| special.acts == acts) {
            return Ok(found);
        }
        let names: Vec<_> =
            self.specials().filter(|special| special.acts == acts).map(|special| special.name).collect();
        let known = match names.as_slice() {
            _ if found.is_some() && acts => "it is a question, for ask".into(),
            _ if found.is_some() => "it is an action, for act".into(),
            [] => "it has none".into(),
            names => format!("it has {}", names.join(", ")),
        };
        let sort = if acts { "action" } else { "question" };
        Err(Error::UnknownSpecial { kind: self.facts.id.into(), sort: sort.into(), name: name.into(), known })
    }
}

/// How an item is read that an action takes: as the kind reads its items.
impl SpecialFacts {
    /// What a key carries for it, in a filter whose items carry `note`.
    #[must_use]
    pub fn note(&self, note: NoteType) -> NoteType {
        match self.takes {
            Takes::Item => note,
            Takes::Pair => NoteType::Bytes,
            _ => NoteType::None,
        }
    }
}
