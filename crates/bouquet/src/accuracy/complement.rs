#![doc = include_str!("complement.md")]

mod settings;

pub use crate::accuracy::witness::Component;
use crate::accuracy::witness::{self, Witness};
use crate::capability::{NoteType, Verdict};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Need, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, Verb, kind,
};
use crate::parts::bit_array::flat_places;
use crate::parts::chosen::members_and_strangers;
use crate::shell::{Code, Decide, Filter, Gather, Hashed, Mechanism, Put, Take};
use crate::theory::Size;
use crate::theory::witnesses::{self, Complement as Design};
use settings::{BITS, CELLS, FORM, FPR, ITEMS};
pub use settings::{ComplementSettings, Form};

/// The registry's row.
pub const KIND: Kind = kind!(Complement);

/// A filter of a set and one of the rest of a known universe, which decide together.
///
/// ```
/// use bouquet::{Complement, ComplementSettings, capability::Verdict, hash::Hashing};
/// let (members, others) = (0..100u64, 100..1_000u64);
/// let filter =
///     Complement::from_keys_and_absent(&ComplementSettings::default(), &Hashing::default(), members.clone(), others.clone())?;
/// assert!(members.clone().all(|key| matches!(filter.judge(&key), Verdict::In | Verdict::Undetermined)));
/// assert!(others.clone().all(|key| matches!(filter.judge(&key), Verdict::Out | Verdict::Undetermined)));
/// // The few that are left go to the exact table.
/// assert!(others.clone().all(|key| filter.resolve(&key, |key| members.contains(key)) == Some(false)));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Complement = Filter<TwoSides>;

/// Numbers that are mixed into the digests of the two filters.
const MAIN: u64 = 1;
const OTHER: u64 = 2;

/// What settings describe.
struct Shape {
    main: Size,
    other: Size,
    form: Form,
    counters: bool,
    design: Option<Design>,
}

impl Shape {
    fn of(settings: &ComplementSettings) -> Result<Self> {
        let (form, cells) = (FORM.need(settings.form)?, CELLS.need(settings.cells)?);
        if (form, cells) == (Form::Petit, Component::Counters) {
            let expected = "bits, since the second filter is good for one main filter, which may not change";
            return Err(Error::parameter("cells", expected, "counters"));
        }
        let design = settings.items.map(|items| {
            let others = settings.others.unwrap_or(items);
            let members = settings.member_share.unwrap_or_else(|| Design::even_share(items, others));
            Design { items, others, members, petit: form == Form::Petit }
        });
        let (main, other) = match (settings.bits, settings.main_bits, &design) {
            (None, _, None) => return Err(ITEMS.missing("bits")),
            (None, None, Some(design)) => design.for_share(FPR.need(settings.fpr)?)?,
            (None, Some(_), Some(_)) => return Err(BITS.missing("fpr, without `main-bits")),
            (Some(bits), None, Some(design)) => design.of_bits(bits)?,
            (Some(bits), Some(main), Some(design)) => design.split_at(bits, main)?,
            (Some(bits), main, None) => {
                let hashes = settings.hashes.ok_or_else(|| ITEMS.missing("hashes"))?;
                let other_hashes = settings.other_hashes.unwrap_or(hashes);
                let main = main.unwrap_or(bits / 2);
                let rest = bits.checked_sub(main).filter(|&rest| rest > 0 && main > 0);
                let rest =
                    rest.ok_or_else(|| Error::parameter("main-bits", "less than all bits, and at least 1", main))?;
                (Size { bits: main, hashes }, Size { bits: rest, hashes: other_hashes })
            }
        };
        let hashes = |of: Size, given: Option<u32>| Size { hashes: given.unwrap_or(of.hashes), ..of };
        let (main, other) = (hashes(main, settings.hashes), hashes(other, settings.other_hashes));
        Ok(Shape { main, other, form, counters: cells == Component::Counters, design })
    }

    fn filters(self, mut make: impl FnMut(u64, Size, bool) -> Result<Witness>) -> Result<TwoSides> {
        let main = make(MAIN, self.main, self.counters)?;
        Ok(TwoSides { main, other: make(OTHER, self.other, self.counters)?, form: self.form })
    }
}

/// The two filters.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoSides {
    main: Witness,
    other: Witness,
    form: Form,
}

impl Mechanism for TwoSides {
    const FACTS: Facts = Facts {
        id: "complement",
        number: 163,
        aliases: &["complement Bloom filter", "petit complement"],
        family: "accuracy",
        text: Text::new(include_str!("complement.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::Unknown],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    const OWN_ITEMS: bool = true;

    const BUILT_WHOLE: bool = true;

    const KNOWS_ABSENT: bool = true;

    /// A small second filter is good for one main filter; it is never of counters.
    const NEEDS: &'static [Need] = &[
        Need { unless: Some((FORM.name, "full")), ..Need::new(Verb::Insert, CELLS.name, "counters") },
        Need::new(Verb::Remove, CELLS.name, "counters"),
    ];

    const SPECIALS: &'static [Special<Complement>] = &[
        Special::act(
            "exclude",
            Takes::Key,
            "puts a key on the other side: it is of the universe and no member",
            |filter, key| {
                filter.exclude(key.key()?);
                Ok(Reply::Done)
            },
        ),
        Special::act(
            "admit",
            Takes::Key,
            "moves a key from the other side to the members (cells=counters)",
            |filter, key| filter.admit(key.key()?).map(|()| Reply::Done),
        ),
        Special::act("expel", Takes::Key, "moves a member to the other side (cells=counters)", |filter, key| {
            filter.expel(key.key()?).map(|()| Reply::Done)
        }),
        Special::act("forget", Takes::Key, "takes a key out of the other side (cells=counters)", |filter, key| {
            filter.forget(key.key()?).map(|()| Reply::Done)
        }),
    ];

    type Settings = ComplementSettings;

    fn resolve(asked: &ComplementSettings) -> Result<ComplementSettings> {
        let Shape { main, other, form, counters, design } = Shape::of(asked)?;
        flat_places(main.bits, main.hashes)?;
        flat_places(other.bits, other.hashes)?;
        Ok(ComplementSettings {
            others: design.map(|design| design.others),
            bits: Some(main.bits + other.bits),
            main_bits: Some(main.bits),
            form: Some(form),
            cells: Some(if counters { Component::Counters } else { Component::Bits }),
            hashes: Some(main.hashes),
            other_hashes: Some(other.hashes),
            ..asked.clone()
        })
    }

    fn plan(settings: &ComplementSettings) -> Result<Plan> {
        let Shape { main, other, counters, design, .. } = Shape::of(settings)?;
        let bits = |size: Size| Witness::bits_of(&flat_places(size.bits, size.hashes)?, counters);
        let fpr = design.map(|design| design.rates(main, other).0);
        let both = bits(main)?.checked_add(bits(other)?);
        let both = both.ok_or_else(|| Error::TooLarge { what: "the filters".into(), bytes: 1 << 61 })?;
        Ok(Plan { bits: both, hashes: main.hashes, items: settings.items, fpr })
    }

    fn empty(settings: &ComplementSettings, _: &Hashing) -> Result<Self> {
        let make =
            |number, size: Size, counters| Witness::empty(number, flat_places(size.bits, size.hashes)?, counters);
        Shape::of(settings)?.filters(make)
    }

    fn domain(settings: &ComplementSettings) -> String {
        let main = settings.main_bits.unwrap_or(0);
        format!("{} {main}", crate::parts::bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes))
    }

    fn items(&self, _: u64) -> u64 {
        self.main.items
    }

    /// The rate is that of the main filter: of keys that belong to neither side and are judged `In` or `Undetermined`.
    fn stats(&self, items: u64) -> Stats {
        let (fill, honest) = witness::fill([&self.main, &self.other].into_iter());
        Stats {
            items,
            bits: self.main.bits() + self.other.bits(),
            hashes: self.main.hashes(),
            fill: Some(fill),
            fpr: Some(self.main.rate_now()),
            honest_fill: Some(honest),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let share = Design::even_share(self.main.items, self.other.items);
        let undetermined = witnesses::undetermined(share, self.main.rate_now(), self.other.rate_now());
        vec![
            Figure { name: "other keys", value: Setting::Count(self.other.items) },
            Figure { name: "undetermined share", value: Setting::Real(undetermined) },
        ]
    }

    fn expected(&self, items: u64) -> Rates {
        Rates {
            false_positive: Some(self.main.expected_rate(items)),
            unknown: Some(self.other.expected_rate(self.other.items)),
            ..Rates::default()
        }
    }

    /// State: the items of each side. Stores: the filters of each side.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        self.main.encode(encoder);
        self.other.encode(encoder);
    }

    fn decode(settings: &ComplementSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let filters = Shape::of(settings)?.filters(|number, size, counters| {
            Witness::decode(number, flat_places(size.bits, size.hashes)?, counters, decoder)
        })?;
        Ok((filters, 0))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.main.bits() + self.other.bits()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.main.prefetch(digest);
        self.other.prefetch(digest);
    }
}

impl Decide for TwoSides {
    /// The truth table.
    #[inline]
    fn decide(&self, key: Hashed<'_>) -> Verdict {
        match (self.main.accepts(key.digest), self.other.accepts(key.digest)) {
            (true, false) => Verdict::In,
            (true, true) => Verdict::Undetermined,
            (false, _) if self.form == Form::Petit => Verdict::Out,
            (false, true) => Verdict::Out,
            (false, false) => Verdict::Unknown,
        }
    }
}

impl Put for TwoSides {
    type Note<'a> = ();
    type Outcome = Result<bool>;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> Result<bool> {
        if self.form == Form::Petit {
            return Err(Error::Build {
                what: "the second filter is good for this main filter alone, which cannot take another member".into(),
                remedy: "build it again with all keys, or with form=full".into(),
            });
        }
        Ok(self.main.put(key.digest))
    }
}

impl Take for TwoSides {
    type Note<'a> = ();

    fn take(&mut self, key: Hashed<'_>, (): ()) -> Result<()> {
        self.main.take(key.digest)
    }
}

impl Gather for TwoSides {
    fn gather<K: Key>(
        asked: &ComplementSettings,
        hashing: &Hashing,
        keys: &[K],
        absent: &[K],
    ) -> Result<(ComplementSettings, Self, u64)> {
        let mut asked = asked.clone();
        if asked.items.is_none() && asked.bits.is_none() {
            asked.items = Some(keys.len().max(1) as u64);
        }
        if asked.others.is_none() && !absent.is_empty() {
            asked.others = Some(absent.len() as u64);
        }
        let settings = Self::resolve(&asked)?;
        let (mut sides, own) = (Self::empty(&settings, hashing)?, Self::hashing(&settings, hashing));
        let [members, others] = members_and_strangers(&own, keys, absent);
        // Keys that come again are one member.
        members.iter().for_each(|&member| _ = sides.main.put(member));
        others.iter().for_each(|&other| sides.exclude(other));
        Ok((settings, sides, 0))
    }
}

impl Code for TwoSides {
    fn entropy_bits(&self) -> f64 {
        self.main.entropy_bits() + self.other.entropy_bits()
    }
}

impl TwoSides {
    /// Puts a key on the other side. A small second filter holds what the main filter accepts.
    fn exclude(&mut self, digest: Digest) {
        if self.form == Form::Full || self.main.accepts(digest) {
            self.other.put(digest);
        }
    }
}

impl Complement {
    /// Filters of `bits` bits together, half of them for each side, and `hashes` positions per key in both.
    ///
    /// ```
    /// use bouquet::{Complement, capability::Verdict};
    /// let mut filter = Complement::with_size(2_000, 7)?;
    /// filter.insert("rose")?;
    /// filter.exclude("oak");
    /// assert_eq!(["rose", "oak", "granite"].map(|key| filter.judge(key)), [Verdict::In, Verdict::Out, Verdict::Unknown]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size(bits: u64, hashes: u32) -> Result<Self> {
        Self::with(ComplementSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() })
    }

    /// Puts a key on the other side: it is of the universe and no member.
    ///
    /// ```
    /// use bouquet::{Complement, capability::Verdict};
    /// let mut filter = Complement::with_rate(100, 0.001)?;
    /// filter.exclude("oak");
    /// assert_eq!(filter.judge("oak"), Verdict::Out);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn exclude<K: Key + ?Sized>(&mut self, key: &K) {
        let digest = key.digest(&self.hashing);
        self.mechanism.exclude(digest);
    }

    /// Moves a key from the other side to the members, or says why not; nothing has changed then.
    pub fn admit<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        self.mechanism.other.take(digest)?;
        self.mechanism.main.put(digest);
        Ok(())
    }

    /// Moves a member to the other side, or says why not; nothing has changed then.
    ///
    /// ```
    /// use bouquet::{Complement, ComplementSettings, accuracy::complement::Component, capability::Verdict};
    /// let counters = ComplementSettings { items: Some(100), cells: Some(Component::Counters), ..Default::default() };
    /// let mut filter = Complement::with(counters)?;
    /// filter.insert("rose")?;
    /// filter.expel("rose")?;
    /// assert_eq!(filter.judge("rose"), Verdict::Out);
    /// assert!(Complement::with_rate(100, 0.01)?.expel("rose").is_err(), "bits do not give keys back");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn expel<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        self.mechanism.main.take(digest)?;
        self.mechanism.other.put(digest);
        Ok(())
    }

    /// Takes a key out of the other side, or says why not; nothing has changed then.
    pub fn forget<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = key.digest(&self.hashing);
        self.mechanism.other.take(digest)
    }

    /// Whether the key is a member, as `look_up` says where the filter cannot tell; `None` for a key of neither side.
    ///
    /// ```
    /// use bouquet::Complement;
    /// let mut filter = Complement::with_rate(100, 0.001)?;
    /// filter.insert("rose")?;
    /// filter.exclude("rose"); // on both sides: it must be looked up
    /// assert_eq!(filter.resolve("rose", |_| false), Some(false));
    /// assert_eq!(filter.resolve("granite", |_| true), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn resolve<K: Key + ?Sized>(&self, key: &K, look_up: impl FnOnce(&K) -> bool) -> Option<bool> {
        self.judge(key).resolve(|| look_up(key))
    }

    /// The other keys of the universe that it holds.
    ///
    /// ```
    /// use bouquet::Complement;
    /// let mut filter = Complement::with_rate(100, 0.001)?;
    /// filter.exclude("oak");
    /// assert_eq!((filter.items(), filter.others()), (0, 1));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn others(&self) -> u64 {
        self.mechanism.other.items
    }
}

#[cfg(test)]
mod tests;
