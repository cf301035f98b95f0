//! What a kind says about itself, and its parameters.
//!
//! A structure implements [`Structure`] and the traits of its verbs; the macro `kind!` registers whatever it implements. A kind
//! outside of the registry may be given fewer verbs:
//!
//! ```
//! use bouquet::kind::Kind;
//! const KIND: Kind = Kind::of::<bouquet::Bloom>().contains().insert().done();
//! assert_eq!(KIND.facts().id, "standard");
//! ```
//!
//! Registering a verb that the type does not implement does not compile; a verb that is not registered answers with
//! [`Error::Unsupported`](crate::Error::Unsupported). So does a verb that needs other settings than a filter has
//! ([`Need`]).

use std::any::Any;

use crate::capability::{
    Advance, BuildFrom, Cardinality, Classify, Compress, Contains, Count, Dataset, Decode, Difference, Estimate, Get,
    Grow, Insert, Intersect, Judge, List, Listing, Merge, NoteType, Overlap, Remove, Set, Subtract, Top, Weigh,
};
use crate::codec::{Decoder, Encoder, Grain};
use crate::error::Result;
use crate::hash::Hashing;

mod config;
mod held;
mod special;
mod text;
mod value;
pub use config::{Config, Parameter, ParameterType, Setting, common};
pub(crate) use held::{Boxed, Held};
use held::{Hold, MultisetVerbs, SetVerbs};
pub use special::{Argument, Made, Other, Reply, Run, Special, SpecialFacts, Takes};
pub use text::Text;
pub use value::Value;

/// How answers of a kind can be wrong. What is not declared does not happen.
///
/// ```
/// use bouquet::{kind::ErrorClass, registry};
/// let forgets = |id| registry::find(id).map(|kind| kind.errs(ErrorClass::FalseNegative)).ok();
/// assert_eq!((forgets("stable"), forgets("scalable")), (Some(true), Some(false)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// An absent key may seem present.
    FalsePositive,
    /// A present key may seem absent.
    FalseNegative,
    /// A count may be too large.
    OverCount,
    /// A count may be too small.
    UnderCount,
    /// An absent key may be given a value.
    SpuriousValue,
    /// A key may be reported in a set that does not hold it.
    SpuriousSet,
    /// A key may not be reported in a set that holds it.
    MissingSet,
    /// A present key's value may be unknown, or a listing incomplete.
    Unknown,
    /// The removal of a present key may be refused with [`Error::Ambiguous`](crate::Error::Ambiguous), or leave traces
    /// that make absent keys seem present.
    Undeletable,
    /// A removed key seems present until the filter is maintained.
    Lingering,
}

impl ErrorClass {
    /// The name that people read.
    ///
    /// ```
    /// use bouquet::{kind::ErrorClass, registry};
    /// let errors = registry::find("counting")?.facts().errors;
    /// assert_eq!(errors.iter().map(|class| class.name()).collect::<Vec<_>>(), ["false positives", "over-counts"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::FalsePositive => "false positives",
            ErrorClass::FalseNegative => "false negatives",
            ErrorClass::OverCount => "over-counts",
            ErrorClass::UnderCount => "under-counts",
            ErrorClass::SpuriousValue => "values for absent keys",
            ErrorClass::SpuriousSet => "extra sets",
            ErrorClass::MissingSet => "missing sets",
            ErrorClass::Unknown => "unknown answers",
            ErrorClass::Undeletable => "refused removals",
            ErrorClass::Lingering => "removed keys that linger",
        }
    }
}

/// The static facts of a kind: everything that a person wants to read before taking it.
///
/// ```
/// use bouquet::{capability::NoteType, kind::Facts, registry};
/// let facts: &Facts = registry::find("IBLT")?.facts();
/// assert_eq!((facts.id, facts.family, facts.note), ("iblt", "values", NoteType::Bytes));
/// assert!(facts.parameters.iter().any(|parameter| parameter.name == "cells"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// File name, command-line word and Python name.
    pub id: &'static str,
    /// The number in frames; never reused.
    pub number: u16,
    /// Other names and acronyms under which it is found.
    pub aliases: &'static [&'static str],
    /// The family that it belongs to.
    pub family: &'static str,
    /// What people read about it: the page beside its source.
    pub text: Text,
    /// How its answers can be wrong.
    pub errors: &'static [ErrorClass],
    /// What a key carries, with the usual settings; [`Kind::note`] knows of others.
    pub note: NoteType,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

impl Facts {
    /// The name in the literature.
    ///
    /// ```
    /// assert_eq!(bouquet::registry::find("cuckoo")?.facts().name(), "Cuckoo filter");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.text.title()
    }
}

/// What a filter of given parameters takes, before it is made.
///
/// ```
/// use bouquet::{kind::{Config, Plan}, registry};
/// let kind = registry::find("standard")?;
/// let Plan { bits, hashes, .. } = kind.plan(&Config::new(kind.facts()).set("items", "1000000")?)?;
/// assert_eq!((bits.div_ceil(1_000_000), hashes), (10, 7), "for 1 % false positives");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Bits of its stores when it holds the planned items. Keys that a filter keeps by name come on top: how long they
    /// are is not known before.
    pub bits: u64,
    /// Positions per key.
    pub hashes: u32,
    /// The items that it is planned for, where known.
    pub items: Option<u64>,
    /// The expected false-positive rate with those items.
    pub fpr: Option<f64>,
}

/// What a filter is at this moment.
///
/// ```
/// use bouquet::{Bloom, AnyFilter, kind::Stats};
/// let mut flowers = Bloom::with_size(100, 2)?;
/// flowers.insert_batch(&["rose", "rose"]);
/// let Stats { items, fill, fpr, .. } = AnyFilter::from_structure(flowers)?.stats();
/// assert_eq!((items, fill), (2, Some(0.02)));
/// assert!(fpr.is_some_and(|rate| (rate - 0.02 * 0.02).abs() < 1e-12));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// Items inserted less items removed. Duplicates count unless the structure notices them.
    pub items: u64,
    /// The real size of its stores.
    pub bits: u64,
    /// Positions per key (of the newest component where they differ).
    pub hashes: u32,
    /// The share of bits or cells in use.
    pub fill: Option<f64>,
    /// The false-positive rate at this fill: of this very instance, not of its design. [`AnyFilter`](crate::AnyFilter) counts
    /// collisions of digests in.
    pub fpr: Option<f64>,
    /// The largest fill that honest filling with `items` items reaches, where it is known: the mean plus 8 standard
    /// deviations.
    pub honest_fill: Option<f64>,
}

impl Stats {
    /// The fill and its honest limit, if the fill is above it: more is in use than the items account for, as in a forged filter
    /// that accepts everything.
    ///
    /// ```
    /// use bouquet::{AnyFilter, Bloom};
    /// let mut filter = Bloom::with_rate(1_000, 0.01)?;
    /// (0..5_000u64).for_each(|key| _ = filter.insert(&key));
    /// let mut stats = AnyFilter::from_structure(filter)?.stats();
    /// assert_eq!(stats.pollution(), None, "far too full, but honestly so");
    /// stats.honest_fill = Some(0.5);
    /// assert!(stats.pollution().is_some_and(|(fill, limit)| fill > 0.9 && limit < 0.51));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn pollution(&self) -> Option<(f64, f64)> {
        // With one key the fill can be certain, and then a rounding error in the limit must not refuse it: half of a bit
        // is less than any forgery adds.
        let limit = self.honest_fill? + 0.5 / self.bits.max(1) as f64;
        self.fill.filter(|fill| *fill > limit).map(|fill| (fill, limit))
    }
}

/// A figure that a kind tells beside its [`Stats`], such as the removals that it had to refuse.
///
/// ```
/// use bouquet::{AnyFilter, Scalable, kind::{Figure, Setting}};
/// let filter = AnyFilter::from_structure(Scalable::with_rate(100, 0.01)?)?;
/// assert_eq!(filter.figures(), [Figure { name: "components", value: Setting::Count(1) }]);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Its value.
    pub value: Setting,
}

/// Expected rates of a design. Those that [`AnyFilter`](crate::AnyFilter) gives include collisions of digests.
///
/// ```
/// use bouquet::{Counting, AnyFilter, kind::Rates};
/// let filter = AnyFilter::from_structure(Counting::with_rate(1_000, 0.01)?)?;
/// let Rates { false_positive, false_negative, over_count, .. } = filter.expected(1_000);
/// assert!(over_count < false_positive && over_count > Some(0.009));
/// assert_eq!(false_negative, None);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Absent keys that seem present.
    pub false_positive: Option<f64>,
    /// Present keys, each inserted once, that seem absent.
    pub false_negative: Option<f64>,
    /// Present keys, each inserted once, whose count is too large.
    pub over_count: Option<f64>,
    /// Absent keys that are given a value.
    pub spurious_value: Option<f64>,
    /// Extra sets per query of an absent key.
    pub spurious_sets: Option<f64>,
    /// Present keys, each in one set, that are reported in others alone.
    pub missing_sets: Option<f64>,
    /// Present keys whose value is unknown.
    pub unknown: Option<f64>,
}

/// A setting without which a filter does not have a verb of its kind. A verb may have several needs, which all must be met.
///
/// ```
/// use bouquet::{AnyFilter, kind::{Config, Need, Verb}, registry};
/// let kind = registry::find("shifting")?;
/// assert!(kind.needs(Verb::Remove).eq([&Need::new(Verb::Remove, "cells", "counters")]));
/// let config = Config::new(kind.facts()).set("items", "100")?;
/// assert!(AnyFilter::new(&config)?.remove().is_err(), "plain bits cannot give keys back");
/// assert!(AnyFilter::new(&config.set("cells", "counters")?)?.remove().is_ok());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The verb.
    pub verb: Verb,
    /// The parameter that must be set, a [choice](ParameterType::Choice).
    pub parameter: &'static str,
    /// The word that it must have.
    pub word: &'static str,
    /// Another choice and its word with which nothing is needed.
    pub unless: Option<(&'static str, &'static str)>,
}

impl Need {
    /// The verb needs this word of this parameter, whatever else is set.
    ///
    /// ```
    /// use bouquet::kind::{Need, Verb};
    /// assert_eq!(Need::new(Verb::Remove, "cells", "counters").unless, None);
    /// ```
    #[must_use]
    pub const fn new(verb: Verb, parameter: &'static str, word: &'static str) -> Self {
        Need { verb, parameter, word, unless: None }
    }

    /// Whether these settings are enough.
    ///
    /// ```
    /// use bouquet::{kind::{Config, Need, Verb}, registry};
    /// let need = Need { unless: Some(("form", "membership")), ..Need::new(Verb::Insert, "cells", "counters") };
    /// let config = Config::new(registry::find("shifting")?.facts());
    /// assert!(need.is_met(&config), "its form is membership unless said otherwise");
    /// let counts = config.set("form", "multiplicity")?;
    /// assert!(!need.is_met(&counts) && need.is_met(&counts.set("cells", "counters")?));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_met(&self, config: &Config) -> bool {
        let has = |(parameter, word): (&str, &str)| config.choice(parameter) == word;
        has((self.parameter, self.word)) || self.unless.is_some_and(has)
    }

    /// The parameters that decide, the one that excuses first.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.unless.map(|(parameter, _)| parameter).into_iter().chain([self.parameter])
    }
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((parameter, word)) = self.unless {
            write!(f, "{parameter}={word} or ")?;
        }
        write!(f, "{}={}", self.parameter, self.word)
    }
}

/// What every structure has, whatever its verbs.
///
/// ```
/// use bouquet::{Bloom, Counting, kind::Structure};
/// fn memory<T: Structure>(structure: &T) -> (&'static str, u64) {
///     (T::FACTS.id, structure.stats().bits)
/// }
/// assert_eq!(memory(&Bloom::with_size(1_000, 7)?), ("standard", 1_000));
/// assert_eq!(memory(&Counting::with_size(1_000, 7)?), ("counting", 4_000));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait Structure: Any + Clone + Send + Sync + Sized {
    /// Its static facts.
    const FACTS: Facts;

    /// Whether its frames are arithmetic-coded unless asked otherwise.
    const CODED: bool = false;

    /// Whether filters of this kind can be changed in their file: decoding leaves the stores where they are, and no verb
    /// of [`AnyFilter`](crate::AnyFilter) replaces a store or changes the number or the size of stores, parameters or state.
    const IN_PLACE: bool = false;

    /// Whether its size follows its data: the bits of a [`Plan`] are then what is expected of random keys.
    const SIZE_FOLLOWS_DATA: bool = false;

    /// Whether a filter is to be built of all its keys at once even where more can be inserted later.
    const BUILT_WHOLE: bool = false;

    /// Whether a filter is built better when keys are known that are no members and will be asked for.
    const KNOWS_ABSENT: bool = false;

    /// Whether keys are hashed. Where they are not, a secret vouches for a filter and hides nothing.
    const HASHES_KEYS: bool = true;

    /// Whether filters have a form that many threads change at once, in [`shared`](crate::shared).
    const SHARED: bool = false;

    /// Which of its verbs need settings other than the usual ones. A verb that is not named is there whatever the settings.
    const NEEDS: &'static [Need] = &[];

    /// The questions and actions that only this kind has.
    const SPECIALS: &'static [Special<Self>] = &[];

    /// What a key carries in a filter of these parameters: as its kind says, unless settings change it.
    fn note(config: &Config) -> NoteType {
        config.facts().note
    }

    /// What a filter of these parameters takes; refuses parameters that cannot be had.
    fn plan(config: &Config) -> Result<Plan>;

    /// What someone who makes a filter of these parameters should know beforehand, as a sentence without its end.
    fn advice(_config: &Config) -> Option<String> {
        None
    }

    /// An empty filter of these parameters. A kind that is built once gives the filter of no keys.
    fn create(config: &Config) -> Result<Self>;

    /// Parameters that create an equal empty filter.
    fn config(&self) -> Config;

    /// How its answers can be wrong: as its kind declares, unless its settings allow more.
    fn errors(&self) -> &'static [ErrorClass] {
        Self::FACTS.errors
    }

    /// How it hashes.
    fn hashing(&self) -> &Hashing;

    /// Its present state.
    fn stats(&self) -> Stats;

    /// What else there is to tell of its present state.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// What the cells of its stores are, store by store, where their types do not say it: see [`Grain`].
    fn grains(&self) -> Vec<Option<Grain>> {
        Vec::new()
    }

    /// The rates that theory expects of this shape after `items` distinct items were inserted.
    fn expected(&self, items: u64) -> Rates;

    /// Whether [`IN_PLACE`](Self::IN_PLACE) holds with the settings of this filter.
    fn is_in_place(&self) -> bool {
        Self::IN_PLACE
    }

    /// Writes its state; the frame already carries [`config`](Self::config) and hashing.
    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>);

    /// Reads what [`encode`](Self::encode) wrote, trusting nothing.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self>;
}

/// A row of the registry: the facts of a kind, and how to reach its verbs.
///
/// The functions take the boxed value of [`AnyFilter`](crate::AnyFilter), which is always of the kind's own type.
///
/// ```
/// use bouquet::{kind::{Kind, Verb}, registry};
/// let kind: &'static Kind = registry::find("scalable")?;
/// assert!(kind.can(Verb::Grow) && !kind.can(Verb::Remove));
/// assert_eq!(format!("{kind:?}"), "Kind(scalable)");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Kind {
    pub(crate) facts: &'static Facts,
    pub(crate) verbs: Verbs,
    pub(crate) coded: bool,
    pub(crate) in_place: bool,
    pub(crate) size_follows_data: bool,
    pub(crate) built_whole: bool,
    pub(crate) knows_absent: bool,
    pub(crate) hashes_keys: bool,
    pub(crate) shared: bool,
    pub(crate) needs: &'static [Need],
    pub(crate) note: fn(&Config) -> NoteType,
    pub(crate) advice: fn(&Config) -> Option<String>,
    pub(crate) plan: fn(&Config) -> Result<Plan>,
    pub(crate) create: fn(&Config) -> Result<Boxed>,
    pub(crate) config: fn(&dyn Any) -> Config,
    pub(crate) errors: fn(&dyn Any) -> &'static [ErrorClass],
    pub(crate) hashing: fn(&dyn Any) -> &Hashing,
    pub(crate) stats: fn(&dyn Any) -> Stats,
    pub(crate) figures: fn(&dyn Any) -> Vec<Figure>,
    pub(crate) grains: fn(&dyn Any) -> Vec<Option<Grain>>,
    pub(crate) is_in_place: fn(&dyn Any) -> bool,
    pub(crate) expected: fn(&dyn Any, u64) -> Rates,
    pub(crate) encode: for<'a> fn(&'a dyn Any, &mut Encoder<'a>),
    pub(crate) decode: fn(&mut Decoder<'_>) -> Result<Boxed>,
    pub(crate) clone: fn(&dyn Any) -> Boxed,
    pub(crate) special: fn(usize) -> Option<&'static SpecialFacts>,
    pub(crate) ask: fn(&dyn Any, usize, Argument<'_>) -> Result<Reply>,
    pub(crate) act: fn(&mut dyn Any, usize, Argument<'_>) -> Result<Reply>,
    pub(crate) hold: Hold,
}

/// A family of kinds: its name, what it is for, and its members.
///
/// ```
/// use bouquet::registry::{FAMILIES, Family};
/// let holds = |family: &&Family| family.kinds.iter().any(|kind| kind.facts().id == "scalable");
/// assert_eq!(FAMILIES.iter().find(holds).map(|family| family.name), Some("dynamic"));
/// ```
pub struct Family {
    /// The name of its folder.
    pub name: &'static str,
    /// What its members share.
    pub summary: &'static str,
    /// Its members.
    pub kinds: &'static [Kind],
}

macro_rules! verbs {
    ($($field:ident, $variant:ident, $word:literal, $signature:ty;)*) => {
        /// One optional function per verb.
        #[derive(Clone, Copy)]
        pub(crate) struct Verbs { $(pub(crate) $field: Option<$signature>,)* }

        impl Verbs {
            const NONE: Verbs = Verbs { $($field: None,)* };
        }

        /// The verbs, as words.
        ///
        /// ```
        /// use bouquet::{kind::Verb, registry};
        /// let kind = registry::find("bloomier")?;
        /// assert!([Verb::BuildFrom, Verb::Get].into_iter().all(|verb| kind.can(verb)));
        /// assert!(!kind.can(Verb::Insert), "it is built once");
        /// # Ok::<(), bouquet::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Verb { $(#[doc = concat!("The verb `", $word, "`.")] $variant,)* }

        impl Verb {
            /// Every verb.
            pub const ALL: &[Verb] = &[$(Verb::$variant,)*];

            /// The word for it on the command line.
            ///
            /// ```
            /// use bouquet::kind::Verb;
            /// assert_eq!(Verb::BuildFrom.name(), "build_from");
            /// assert!(Verb::ALL.iter().all(|verb| Verb::from_name(verb.name()) == Some(*verb)));
            /// ```
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Verb::$variant => $word,)* }
            }

            /// The verb of this word.
            ///
            /// ```
            /// use bouquet::kind::Verb;
            /// assert_eq!(Verb::from_name("merge"), Some(Verb::Merge));
            /// assert_eq!(Verb::from_name("juggle"), None);
            /// ```
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|verb| verb.name() == name)
            }
        }

        impl Kind {
            /// Whether the kind has the verb, with some settings at least: [`can_with`](Self::can_with) says with which.
            ///
            /// ```
            /// use bouquet::{kind::Verb, registry};
            /// assert!(registry::find("counting")?.can(Verb::Remove));
            /// assert!(!registry::find("standard")?.can(Verb::Remove));
            /// # Ok::<(), bouquet::Error>(())
            /// ```
            #[must_use]
            pub fn can(&self, verb: Verb) -> bool {
                match verb { $(Verb::$variant => self.verbs.$field.is_some(),)* }
            }
        }
    };
}

verbs! {
    contains, Contains, "contains", fn(&dyn Any) -> &dyn Contains;
    insert, Insert, "insert", fn(&mut dyn Any) -> &mut dyn Insert;
    remove, Remove, "remove", fn(&mut dyn Any) -> &mut dyn Remove;
    count, Count, "count", fn(&dyn Any) -> &dyn Count;
    get, Get, "get", fn(&dyn Any) -> &dyn Get;
    set, Set, "set", fn(&mut dyn Any) -> &mut dyn Set;
    classify, Classify, "classify", fn(&dyn Any) -> &dyn Classify;
    judge, Judge, "judge", fn(&dyn Any) -> &dyn Judge;
    weigh, Weigh, "weigh", fn(&dyn Any) -> &dyn Weigh;
    list, List, "list", fn(&dyn Any) -> &dyn List;
    top, Top, "top", fn(&dyn Any) -> &dyn Top;
    decode, Decode, "decode", fn(&dyn Any) -> &dyn Decode;
    advance, Advance, "advance", fn(&mut dyn Any) -> &mut dyn Advance;
    grow, Grow, "grow", fn(&mut dyn Any) -> &mut dyn Grow;
    merge, Merge, "merge", fn(&mut dyn Any, &dyn Any) -> Result<()>;
    intersect, Intersect, "intersect", fn(&mut dyn Any, &dyn Any) -> Result<()>;
    subtract, Subtract, "subtract", fn(&mut dyn Any, &dyn Any) -> Result<()>;
    difference, Difference, "difference", fn(&dyn Any, &dyn Any) -> Result<Listing>;
    cardinality, Cardinality, "cardinality", CardinalityVerbs;
    compress, Compress, "compress", fn(&dyn Any) -> &dyn Compress;
    build_from, BuildFrom, "build_from", fn(&Config, &Dataset<'_>) -> Result<Boxed>;
}

/// The two questions of [`Cardinality`].
#[derive(Clone, Copy)]
pub(crate) struct CardinalityVerbs {
    pub(crate) one: fn(&dyn Any) -> Estimate,
    pub(crate) two: fn(&dyn Any, &dyn Any) -> Result<Overlap>,
}

impl Kind {
    /// Begins the registration of a structure; [`KindBuilder::done`] ends it.
    ///
    /// ```
    /// use bouquet::{Bloom, kind::{Kind, Verb}};
    /// const READ_ONLY: Kind = Kind::of::<Bloom>().contains().done();
    /// assert!(READ_ONLY.can(Verb::Contains) && !READ_ONLY.can(Verb::Insert));
    /// ```
    #[must_use]
    pub const fn of<T: Structure>() -> KindBuilder<T> {
        let kind = Kind {
            facts: &T::FACTS,
            verbs: Verbs::NONE,
            coded: T::CODED,
            in_place: T::IN_PLACE,
            size_follows_data: T::SIZE_FOLLOWS_DATA,
            built_whole: T::BUILT_WHOLE,
            knows_absent: T::KNOWS_ABSENT,
            hashes_keys: T::HASHES_KEYS,
            shared: T::SHARED,
            needs: T::NEEDS,
            note: T::note,
            advice: T::advice,
            plan: T::plan,
            create: |config| Ok(Box::new(T::create(config)?)),
            config: |value| own::<T>(value).config(),
            errors: |value| own::<T>(value).errors(),
            hashing: |value| own::<T>(value).hashing(),
            stats: |value| own::<T>(value).stats(),
            figures: |value| own::<T>(value).figures(),
            grains: |value| own::<T>(value).grains(),
            is_in_place: |value| own::<T>(value).is_in_place(),
            expected: |value, items| own::<T>(value).expected(items),
            encode: |value, encoder| own::<T>(value).encode(encoder),
            decode: |decoder| Ok(Box::new(T::decode(decoder)?)),
            clone: |value| Box::new(own::<T>(value).clone()),
            special: |at| T::SPECIALS.get(at).map(|special| &special.facts),
            ask: |value, at, argument| match T::SPECIALS[at].run {
                Run::Ask(ask) => ask(own::<T>(value), argument),
                Run::Act(_) => unreachable!("{OWN_TYPE}"),
            },
            act: |value, at, argument| match T::SPECIALS[at].run {
                Run::Act(act) => act(own_mut::<T>(value), argument),
                Run::Ask(_) => unreachable!("{OWN_TYPE}"),
            },
            hold: Held::Any,
        };
        KindBuilder { kind, structure: std::marker::PhantomData }
    }

    /// The static facts.
    ///
    /// ```
    /// use bouquet::registry;
    /// let facts = registry::find("classic")?.facts();
    /// assert_eq!((facts.id, facts.number), ("standard", 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn facts(&self) -> &'static Facts {
        self.facts
    }

    /// Whether its filters can be changed in their file, with [`Filter::open_writable`](crate::AnyFilter::open_writable).
    ///
    /// ```
    /// use bouquet::registry;
    /// assert!(registry::find("standard")?.is_in_place());
    /// assert!(!registry::find("scalable")?.is_in_place(), "it grows");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// Whether a plan's bits are what is expected of random keys, because the size of a filter follows its data.
    ///
    /// ```
    /// use bouquet::registry;
    /// assert!(registry::find("golomb")?.size_follows_data() && !registry::find("standard")?.size_follows_data());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn size_follows_data(&self) -> bool {
        self.size_follows_data
    }

    /// Whether its filters are built better when keys are known that are no members and will be asked for: those of
    /// [`Dataset::absent`].
    ///
    /// ```
    /// use bouquet::registry;
    /// assert!(registry::find("optihash")?.knows_absent() && !registry::find("golomb")?.knows_absent());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn knows_absent(&self) -> bool {
        self.knows_absent
    }

    /// Whether its keys are hashed. Where they are not, a secret vouches for a filter and hides nothing.
    ///
    /// ```
    /// use bouquet::registry;
    /// assert!(registry::find("standard")?.hashes_keys() && !registry::find("egh")?.hashes_keys());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn hashes_keys(&self) -> bool {
        self.hashes_keys
    }

    /// Whether its filters have a form that many threads change at once, without a lock, in [`shared`](crate::shared).
    ///
    /// ```
    /// use bouquet::registry;
    /// assert!(registry::find("standard")?.is_shared() && !registry::find("scalable")?.is_shared());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.shared
    }

    /// The verbs that the kind has.
    ///
    /// ```
    /// use bouquet::registry;
    /// let words: Vec<_> = registry::find("stable")?.verbs().map(|verb| verb.name()).collect();
    /// assert_eq!(words, ["contains", "insert", "advance"]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn verbs(&self) -> impl Iterator<Item = Verb> + '_ {
        Verb::ALL.iter().copied().filter(|&verb| self.can(verb))
    }

    /// The settings without which a filter of this kind does not have the verb.
    ///
    /// ```
    /// use bouquet::{kind::Verb, registry};
    /// let needs: Vec<_> = registry::find("shifting")?.needs(Verb::Classify).collect();
    /// assert_eq!((needs[0].parameter, needs[0].word), ("form", "association"));
    /// assert_eq!(registry::find("filter-bank")?.needs(Verb::Classify).count(), 0, "it always can");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn needs(&self, verb: Verb) -> impl Iterator<Item = &'static Need> + use<> {
        self.needs.iter().filter(move |need| need.verb == verb)
    }

    /// The same as text, such as `cells=counters`; empty when the verb needs nothing.
    ///
    /// ```
    /// use bouquet::{kind::Verb, registry};
    /// let kind = registry::find("shifting")?;
    /// assert_eq!((kind.needs_text(Verb::Remove).as_str(), kind.needs_text(Verb::Insert).as_str()), ("cells=counters", "form=membership or cells=counters"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn needs_text(&self, verb: Verb) -> String {
        self.needs(verb).map(Need::to_string).collect::<Vec<_>>().join(" and ")
    }

    /// The verb as people read it, with the settings that it needs.
    ///
    /// ```
    /// use bouquet::{kind::Verb, registry};
    /// assert_eq!(registry::find("counting")?.verb_text(Verb::Remove), "remove");
    /// assert_eq!(registry::find("shifting")?.verb_text(Verb::Remove), "remove (with cells=counters)");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn verb_text(&self, verb: Verb) -> String {
        match self.needs_text(verb) {
            needs if needs.is_empty() => verb.name().into(),
            needs => format!("{} (with {needs})", verb.name()),
        }
    }

    /// Whether a filter of these settings has the verb.
    ///
    /// ```
    /// use bouquet::{kind::{Config, Verb}, registry};
    /// let kind = registry::find("shifting")?;
    /// let usual = Config::new(kind.facts());
    /// assert!(kind.can(Verb::Remove) && !kind.can_with(Verb::Remove, &usual));
    /// assert!(kind.can_with(Verb::Remove, &usual.set("cells", "counters")?));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn can_with(&self, verb: Verb, config: &Config) -> bool {
        self.can(verb) && self.needs(verb).all(|need| need.is_met(config))
    }

    /// Whether a filter of these settings is built from all of its keys at once, because none can be inserted later or because that
    /// makes it better.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let built_once = |id| registry::find(id).map(|kind| kind.is_built_once(&Config::new(kind.facts())));
    /// assert!(built_once("bloomier")? && !built_once("shifting")?);
    /// let kind = registry::find("shifting")?;
    /// assert!(kind.is_built_once(&Config::new(kind.facts()).set("form", "multiplicity")?));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_built_once(&self, config: &Config) -> bool {
        self.can(Verb::BuildFrom) && (self.built_whole || !self.can_with(Verb::Insert, config))
    }

    /// What a key carries in a filter of these settings.
    ///
    /// ```
    /// use bouquet::{capability::NoteType, kind::Config, registry};
    /// let kind = registry::find("shifting")?;
    /// let usual = Config::new(kind.facts());
    /// assert_eq!(kind.note(&usual), NoteType::None);
    /// assert_eq!(kind.note(&usual.set("form", "association")?), NoteType::Group);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn note(&self, config: &Config) -> NoteType {
        (self.note)(config)
    }

    /// What someone who makes a filter of these parameters should know beforehand, if there is something.
    ///
    /// ```
    /// use bouquet::{kind::Config, registry};
    /// let advice = |kind: &str| {
    ///     let kind = registry::find(kind)?;
    ///     Ok::<_, bouquet::Error>(kind.advice(&Config::new(kind.facts()).set("items", "1000")?))
    /// };
    /// assert!(advice("generalized")?.is_some_and(|advice| advice.contains("bits per key")));
    /// assert_eq!(advice("standard")?, None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn advice(&self, config: &Config) -> Option<String> {
        (self.advice)(config)
    }

    /// What a filter of these parameters takes, without making it.
    ///
    /// ```
    /// use bouquet::{AnyFilter, kind::Config, registry};
    /// let kind = registry::find("counting")?;
    /// let config = Config::new(kind.facts()).set("items", "1000")?;
    /// assert_eq!(kind.plan(&config)?.bits, AnyFilter::new(&config)?.stats().bits);
    /// assert!(kind.plan(&Config::new(kind.facts())).is_err(), "how large?");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn plan(&self, config: &Config) -> Result<Plan> {
        let plan = (self.plan)(config)?;
        Ok(Plan { fpr: config.with_collisions(plan.fpr, plan.items.unwrap_or(0)), ..plan })
    }

    /// Whether the kind declares this sort of error.
    ///
    /// ```
    /// use bouquet::{kind::ErrorClass, registry};
    /// let kind = registry::find("filter-bank")?;
    /// assert!(kind.errs(ErrorClass::SpuriousSet) && !kind.errs(ErrorClass::FalseNegative));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn errs(&self, class: ErrorClass) -> bool {
        self.facts.errors.contains(&class)
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kind({})", self.facts.id)
    }
}

/// The registry pairs a kind's functions with values of its own type only, so the casts cannot fail.
const OWN_TYPE: &str = "a kind's functions are called with values of its own type";

fn own<T: Any>(value: &dyn Any) -> &T {
    value.downcast_ref().expect(OWN_TYPE)
}

fn own_mut<T: Any>(value: &mut dyn Any) -> &mut T {
    value.downcast_mut().expect(OWN_TYPE)
}

/// A registration under way: each verb may be added if the structure has it.
///
/// ```
/// use bouquet::{Counting, kind::{Kind, KindBuilder, Verb}};
/// const READS: KindBuilder<Counting> = Kind::of().contains().count();
/// const CHANGES: Kind = READS.insert().remove().done();
/// assert!(CHANGES.can(Verb::Count) && CHANGES.can(Verb::Remove));
/// assert!(!READS.done().can(Verb::Remove));
/// ```
pub struct KindBuilder<T> {
    kind: Kind,
    structure: std::marker::PhantomData<T>,
}

macro_rules! register {
    ($($field:ident, $constant:ident, $capability:ident, $signature:ty, $cast:expr;)*) => {
        $(impl<T: Structure + $capability> KindBuilder<T> {
            #[doc = concat!("The structure has [`", stringify!($capability), "`].")]
            #[must_use]
            pub const fn $field(mut self) -> Self {
                self.kind.verbs.$field = Some($cast);
                self
            }
        })*

        /// What a type implements of the verbs: its own constants if it does, those of [`Lacks`] otherwise. The former hide the
        /// latter where the type is named, as in `kind!`.
        pub(crate) struct Probe<T>(std::marker::PhantomData<T>);

        /// The verbs that a type does not implement.
        pub(crate) trait Lacks {
            $(const $constant: Option<$signature> = None;)*
            const HELD_AS_SET: Option<Hold> = None;
            const HELD_AS_MULTISET: Option<Hold> = None;
        }

        impl<T> Lacks for Probe<T> {}

        $(impl<T: Structure + $capability> Probe<T> {
            pub(crate) const $constant: Option<$signature> = Some($cast);
        })*

        impl<T: SetVerbs> Probe<T> {
            pub(crate) const HELD_AS_SET: Option<Hold> = Some(Held::set::<T>);
        }

        impl<T: MultisetVerbs> Probe<T> {
            pub(crate) const HELD_AS_MULTISET: Option<Hold> = Some(Held::multiset::<T>);
        }

        /// The registry's row of a type, with every verb that it implements.
        macro_rules! kind {
            ($of:ty) => {{
                #[allow(unused_imports, reason = "a type may implement every verb")]
                use $crate::kind::Lacks as _;
                $crate::kind::Kind::of::<$of>().with(
                    $crate::kind::Verbs { $($field: <$crate::kind::Probe<$of>>::$constant,)* },
                    [<$crate::kind::Probe<$of>>::HELD_AS_MULTISET, <$crate::kind::Probe<$of>>::HELD_AS_SET],
                )
            }};
        }
    };
}

register! {
    contains, CONTAINS, Contains, fn(&dyn Any) -> &dyn Contains, |value| own::<T>(value);
    insert, INSERT, Insert, fn(&mut dyn Any) -> &mut dyn Insert, |value| own_mut::<T>(value);
    remove, REMOVE, Remove, fn(&mut dyn Any) -> &mut dyn Remove, |value| own_mut::<T>(value);
    count, COUNT, Count, fn(&dyn Any) -> &dyn Count, |value| own::<T>(value);
    get, GET, Get, fn(&dyn Any) -> &dyn Get, |value| own::<T>(value);
    set, SET, Set, fn(&mut dyn Any) -> &mut dyn Set, |value| own_mut::<T>(value);
    classify, CLASSIFY, Classify, fn(&dyn Any) -> &dyn Classify, |value| own::<T>(value);
    judge, JUDGE, Judge, fn(&dyn Any) -> &dyn Judge, |value| own::<T>(value);
    weigh, WEIGH, Weigh, fn(&dyn Any) -> &dyn Weigh, |value| own::<T>(value);
    list, LIST, List, fn(&dyn Any) -> &dyn List, |value| own::<T>(value);
    top, TOP, Top, fn(&dyn Any) -> &dyn Top, |value| own::<T>(value);
    decode, DECODE, Decode, fn(&dyn Any) -> &dyn Decode, |value| own::<T>(value);
    advance, ADVANCE, Advance, fn(&mut dyn Any) -> &mut dyn Advance, |value| own_mut::<T>(value);
    grow, GROW, Grow, fn(&mut dyn Any) -> &mut dyn Grow, |value| own_mut::<T>(value);
    merge, MERGE, Merge, fn(&mut dyn Any, &dyn Any) -> Result<()>,
        |value, other| own_mut::<T>(value).merge(own::<T>(other));
    intersect, INTERSECT, Intersect, fn(&mut dyn Any, &dyn Any) -> Result<()>,
        |value, other| own_mut::<T>(value).intersect(own::<T>(other));
    subtract, SUBTRACT, Subtract, fn(&mut dyn Any, &dyn Any) -> Result<()>,
        |value, other| own_mut::<T>(value).subtract(own::<T>(other));
    difference, DIFFERENCE, Difference, fn(&dyn Any, &dyn Any) -> Result<Listing>,
        |value, other| own::<T>(value).difference(own::<T>(other));
    cardinality, CARDINALITY, Cardinality, CardinalityVerbs, CardinalityVerbs {
        one: |value| own::<T>(value).cardinality(),
        two: |value, other| own::<T>(value).overlap(own::<T>(other)),
    };
    compress, COMPRESS, Compress, fn(&dyn Any) -> &dyn Compress, |value| own::<T>(value);
    build_from, BUILD_FROM, BuildFrom, fn(&Config, &Dataset<'_>) -> Result<Boxed>,
        |config, data| Ok(Box::new(T::build_from(config, data)?));
}

/// Registers a type with every verb that it implements.
pub(crate) use kind;

impl<T: Structure> KindBuilder<T> {
    /// The finished row.
    ///
    /// ```
    /// use bouquet::{Bloom, kind::{Kind, Verb}};
    /// const KIND: Kind = Kind::of::<Bloom>().merge().insert().done();
    /// assert!(KIND.verbs().eq([Verb::Insert, Verb::Merge]));
    /// ```
    #[must_use]
    pub const fn done(self) -> Kind {
        self.kind
    }

    /// The row with these verbs, whose values are held in the first of these ways that there is.
    pub(crate) const fn with(mut self, verbs: Verbs, [first, second]: [Option<Hold>; 2]) -> Kind {
        self.kind.verbs = verbs;
        if let (Some(hold), _) | (None, Some(hold)) = (first, second) {
            self.kind.hold = hold;
        }
        self.kind
    }
}
