//! Bits with a table of who gets how many probes: the mechanism of `multi-class`, `weighted` and `popularity-conscious`.
//!
//! A key sets and tests the first k of one endless sequence of positions; k is frozen when the filter is built, by the optimiser in
//! [`theory::assignment`](crate::theory::assignment). Listed keys whose k differs from the usual one are in a static table, everyone
//! else has the usual k. The kinds differ in what is known of a key, [`Weighing`].

use std::collections::HashMap;
use std::marker::PhantomData;

use crate::capability::{Dataset, Item};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, probes};
use crate::key::Key;
use crate::kind::{Facts, Figure, Made, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, common};
use crate::parts::bit_array;
use crate::shell::{Assemble, Believe, Filter, FromNote, Hashed, Implied, Mechanism, Put, Settings, Test, Unite};
use crate::simd::{flat, prefetch};
use crate::store::BitStore;
use crate::theory::assignment::{self, Class, Solver};
use crate::theory::{Size, paradox, spread, standard};

mod table;
#[cfg(test)]
pub(super) mod testing;

use table::{STEPS, Share, Table};

pub(super) const HASHES: Parameter =
    Parameter { help: "positions of a key that is not listed; the best number when not given", ..common::HASHES };
pub(super) const OTHERS: Parameter =
    Parameter::count("others", "keys that are not listed and may be members or be asked for", 0, 1 << 56);
pub(super) const OTHERS_QUERIES: Parameter = Parameter::real(
    "others-queries",
    "share of the queries that ask for keys that are not listed; as many per key as for listed ones when not given",
    0.0,
    1.0,
);

/// What the settings of the three kinds say to the mechanism.
///
/// ```
/// use bouquet::{MultiClassSettings, accuracy::TableSettings};
/// assert_eq!(MultiClassSettings::default().design()?.most, 32);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Distinct members.
    pub items: Option<u64>,
    /// The weighted false-positive rate with that many members.
    pub fpr: Option<f64>,
    /// Bits of the vector.
    pub bits: Option<u64>,
    /// Positions of a key that is not listed.
    pub hashes: Option<u32>,
    /// The most positions of a key.
    pub most: u32,
    /// Keys that are not listed.
    pub others: u64,
    /// The share of the queries that ask for them.
    pub others_queries: Option<f64>,
    /// How whole numbers are found; with `None` keys round real ones by a hash of their own.
    pub solver: Option<Solver>,
}

/// Settings of a kind with a table.
///
/// ```
/// use bouquet::{WeightedSettings, accuracy::TableSettings};
/// let sized = WeightedSettings::default().sized(1_000, 7);
/// assert_eq!((sized.bits, sized.hashes), (Some(1_000), Some(7)));
/// ```
pub trait TableSettings: Settings {
    /// What they say.
    fn design(&self) -> Result<Design>;

    /// The same settings with this size.
    #[must_use]
    fn sized(self, bits: u64, hashes: u32) -> Self;
}

/// What is known of a key, once it is understood.
///
/// ```
/// use bouquet::accuracy::{Knowledge, Weighing, multi_class::Presence};
/// let known = Presence::understand([0.25].into())?;
/// assert_eq!(known, Some(Knowledge { queries: 1.0, vain: 0.75, members: 0.25 }));
/// assert!(Presence::understand([1.5].into()).is_err(), "no probability");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knowledge {
    /// How often it is asked for, in any unit.
    pub queries: f64,
    /// How often it is asked for while it is absent, in the same unit.
    pub vain: f64,
    /// The probability that it is a member, or something in proportion to it.
    pub members: f64,
}

/// What distinguishes the kinds: their facts, their settings, and what the weights of a key mean.
pub trait Weighing: Clone + Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// The settings of the kind.
    type Settings: TableSettings;

    /// What comes with a key.
    type Known: for<'a> FromNote<'a> + Implied + Copy;

    /// What is known of a key with these weights; `None` if there are none.
    fn understand(known: Self::Known) -> Result<Option<Knowledge>>;
}

/// Bits, and who gets how many of them.
#[derive(Clone, Debug, PartialEq)]
pub struct TabledBits<W> {
    bits: BitStore,
    /// Positions of a key that is not listed.
    usual: u32,
    /// Positions of all insertions together.
    thrown: u64,
    table: Table,
    weighing: PhantomData<W>,
}

/// The size without a table: that of a standard filter.
fn plain_size(design: &Design) -> Result<Size> {
    let Design { items, fpr, bits, hashes, most, .. } = *design;
    let size = common::size_of(items, fpr, bits, hashes, common::BITS.name)?;
    bit_array::flat_places(size.bits, size.hashes)?;
    if hashes.is_none() && size.hashes > most {
        return common::size_of(items, fpr, bits, Some(most), common::BITS.name);
    }
    Ok(size)
}

impl<W> TabledBits<W> {
    /// The bits.
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.bits
    }

    /// How many positions a key has.
    #[inline]
    fn probes(&self, digest: Digest) -> u32 {
        self.table.probes(digest, self.usual)
    }

    /// The probability that a stranger with this many positions is accepted now.
    fn acceptance(&self, sixteenths: u16) -> f64 {
        assignment::acceptance(self.bits.fill(), f64::from(sixteenths) / f64::from(STEPS))
    }

    /// The rate of keys that are not listed: a few of them seem to be, and have the probes of others.
    fn unlisted(&self, rate: impl Fn(f64) -> f64) -> f64 {
        let of = |sixteenths: u16| rate(f64::from(sixteenths) / f64::from(STEPS));
        let usual = of(self.table.usual(self.usual));
        let (share, mistaken) = self.table.mistaken();
        let numbers = mistaken.len() as f64;
        let wrong: f64 = mistaken.map(|sixteenths| sixteenths.map_or(usual, of)).sum();
        (1.0 - share) * usual + share * wrong / numbers
    }
}

impl<W: Weighing> Mechanism for TabledBits<W> {
    const FACTS: Facts = W::FACTS;

    const BUILT_WHOLE: bool = true;
    const KNOWS_ABSENT: bool = true;

    /// The table follows what is known of the keys.
    const SIZE_FOLLOWS_DATA: bool = true;

    const SPECIALS: &'static [Special<Filter<Self>>] = &[
        Special::ask(
            "probes",
            Takes::Key,
            "how many positions the key has, and the rate of false positives with as many",
            |filter, argument| {
                let probes = filter.probes(argument.key()?);
                Ok(Reply::List(vec![u64::from(probes).into(), Reply::Real(filter.rate_with(probes))]))
            },
        ),
        Special::ask(
            "assignment",
            Takes::Nothing,
            "for each number of positions: the share of the queries for absent keys, the members that are expected, and the rate now",
            |filter, _| {
                let row = |share: &Share| {
                    let rate = filter.mechanism.acceptance(share.sixteenths);
                    let probes = f64::from(share.sixteenths) / f64::from(STEPS);
                    Vec::from([probes, share.queries, share.members, rate].map(Reply::Real))
                };
                let rows = filter.mechanism.table.shares().iter().map(row).collect();
                Ok(Reply::Table(&["positions", "queries", "members", "rate"], rows))
            },
        ),
        Special::ask(
            "empty",
            Takes::Nothing,
            "a filter with the same table and no members, which can be filled and merged with this one",
            |filter, _| {
                let mut empty = filter.clone();
                empty.clear()?;
                Ok(Made::reply(empty))
            },
        ),
    ];

    type Settings = W::Settings;

    fn resolve(asked: &W::Settings) -> Result<W::Settings> {
        let size = plain_size(&asked.design()?)?;
        Ok(asked.clone().sized(size.bits, size.hashes))
    }

    fn plan(settings: &W::Settings) -> Result<Plan> {
        let design = settings.design()?;
        let (Size { bits, hashes }, items) = (plain_size(&design)?, design.items);
        Ok(Plan { bits, hashes, items, fpr: items.map(|items| standard::expected_rate(bits, items, hashes)) })
    }

    fn empty(settings: &W::Settings, _: &Hashing) -> Result<Self> {
        let size = plain_size(&settings.design()?)?;
        let (bits, table) = (BitStore::zeroed(size.bits)?, Table::default());
        Ok(TabledBits { bits, usual: size.hashes, thrown: 0, table, weighing: PhantomData })
    }

    /// What was decided of the keys stays.
    fn emptied(&self, _: &W::Settings, _: &Hashing) -> Result<Self> {
        Ok(TabledBits { bits: BitStore::zeroed(self.bits.len())?, thrown: 0, ..self.clone() })
    }

    fn domain(settings: &W::Settings) -> String {
        let design = settings.design().ok();
        bit_array::domain(W::FACTS.id, design.and_then(|design| design.bits), None)
    }

    fn stats(&self, items: u64) -> Stats {
        let (m, fill) = (self.bits.len(), self.bits.fill());
        let honest = spread::ones(m, self.thrown, 1) + 8.0 * spread::ones_variance(m, self.thrown, 1).sqrt();
        Stats {
            items,
            bits: m + self.table.bits(),
            hashes: self.usual,
            fill: Some(fill),
            fpr: Some(self.unlisted(|probes| assignment::acceptance(fill, probes))),
            honest_fill: Some(honest / m as f64),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![
            Figure { name: "listed keys", value: Setting::Count(self.table.listed()) },
            Figure { name: "bits of the table", value: Setting::Count(self.table.bits()) },
        ];
        if let Some(rate) = self.table.rate(|probes| assignment::acceptance(self.bits.fill(), probes)) {
            figures.push(Figure { name: "rate over the declared queries", value: Setting::Real(rate) });
        }
        figures
    }

    fn expected(&self, items: u64) -> Rates {
        let m = self.bits.len();
        let per_member = self.table.mean_probes().unwrap_or(f64::from(self.usual));
        let rate = self.unlisted(|probes| match self.table.is_plain() {
            true => standard::expected_rate(m, items, self.usual),
            false => assignment::expected_acceptance(m, items as f64 * per_member, probes),
        });
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: items, positions of all insertions, the table's numbers. Stores: the bits; the table's cells if keys are listed.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.thrown);
        encoder.bits(&self.bits);
        self.table.encode(encoder);
    }

    fn decode(settings: &W::Settings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let size = plain_size(&settings.design()?)?;
        let (items, thrown) = (decoder.state().u64()?, decoder.state().u64()?);
        let bits = decoder.bits(size.bits)?;
        let table = Table::decode(decoder)?;
        Ok((TabledBits { bits, usual: size.hashes, thrown, table, weighing: PhantomData }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let words = self.bits.words();
        probes(digest, self.bits.len(), self.probes(digest)).for_each(|at| prefetch(words, (at / 64) as usize));
    }
}

impl<W: Weighing> Test for TabledBits<W> {
    /// A key without positions is always accepted.
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let probes = self.probes(key.digest);
        probes == 0 || flat::test::<false, false>(self.bits.words(), self.bits.len(), probes, key.digest)
    }
}

impl<W: Weighing> Put for TabledBits<W> {
    /// What is said of a key with an insertion is not looked at: its positions were decided when the filter was built.
    type Note<'a> = W::Known;
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, _: W::Known) -> bool {
        let (probes, m) = (self.probes(key.digest), self.bits.len());
        self.thrown = self.thrown.saturating_add(probes.into());
        probes > 0 && flat::set::<false, false>(self.bits.words_mut(), m, probes, key.digest)
    }
}

impl<W: Weighing> Believe for TabledBits<W> {
    fn in_use(&self) -> f64 {
        self.bits.fill()
    }

    /// A key with many positions is believed sooner than one with few.
    fn believe(&self, in_use: f64, key: Hashed<'_>, prior: Option<f64>) -> Option<f64> {
        let rate = assignment::acceptance(in_use, self.probes(key.digest).into());
        Some(paradox::updated(prior?, rate, 0.0, self.test(key)))
    }
}

impl<W: Weighing> Unite for TabledBits<W> {
    fn unite(&mut self, other: &Self) -> Result<()> {
        self.table.same(&other.table)?;
        self.bits.or(&other.bits)?;
        self.thrown = self.thrown.saturating_add(other.thrown);
        Ok(())
    }
}

/// The keys that are listed, and how many there are of each knowledge.
type Classes<'a> = (Vec<Listed<'a>>, Vec<(Knowledge, u64)>);

/// A listed key.
struct Listed<'a> {
    key: &'a [u8],
    class: usize,
}

/// The classes of the listed keys, those with equal weights in one, and each key once.
fn classes<'a, W: Weighing>(data: &Dataset<'a>) -> Result<Classes<'a>> {
    let (mut listed, mut classes, mut known) = (Vec::new(), Vec::<(Knowledge, u64)>::new(), HashMap::new());
    for item in data.items.iter().chain(data.absent) {
        let Some(knowledge) = W::understand(FromNote::from_note(item.note)?)? else { continue };
        let Knowledge { queries, vain, members } = knowledge;
        let next = known.len();
        let class = *known.entry([queries, vain, members].map(f64::to_bits)).or_insert(next);
        if class == next {
            classes.push((knowledge, 0));
        }
        listed.push(Listed { key: item.key, class });
    }
    listed.sort_by(|a, b| (a.key, a.class).cmp(&(b.key, b.class)));
    listed.dedup_by(|a, b| (a.key, a.class) == (b.key, b.class));
    if let Some(two) = listed.windows(2).find(|two| two[0].key == two[1].key) {
        return Err(Error::Build {
            what: format!("key `{}` is listed with two weights", two[0].key.escape_ascii()),
            remedy: "give each key one".into(),
        });
    }
    listed.iter().for_each(|key| classes[key.class].1 += 1);
    Ok((listed, classes))
}

/// The classes as the optimiser takes them: of n members in all, with the class of those that are not listed last, if there is one.
fn weighed(known: &[(Knowledge, u64)], design: &Design, items: u64) -> Vec<Class> {
    let sum = |of: fn(&Knowledge) -> f64| -> f64 { known.iter().map(|(known, keys)| of(known) * *keys as f64).sum() };
    let (keys, queries, members) = (
        known.iter().map(|(_, keys)| *keys as f64).sum::<f64>(),
        sum(|known| known.queries),
        sum(|known| known.members),
    );
    let class = |(known, keys): &(Knowledge, u64), scale: f64| Class {
        queries: known.vain * *keys as f64,
        members: known.members * *keys as f64 * scale,
    };
    if design.others == 0 {
        // Those that are listed are all.
        let scale = if members > 0.0 { items as f64 / members } else { 1.0 };
        return known.iter().map(|known| class(known, scale)).collect();
    }
    let others = design.others as f64;
    let left = (items as f64 - members).clamp(0.0, others);
    let share = design.others_queries.unwrap_or(others / (others + keys)).clamp(0.0, 1.0 - f64::EPSILON);
    let asked = if queries > 0.0 { share / (1.0 - share) * queries } else { 1.0 };
    let rest = Class { queries: asked * (1.0 - left / others), members: left };
    known.iter().map(|known| class(known, 1.0)).chain([rest]).collect()
}

/// What was decided: bits, usual positions in sixteenths, and those of each class.
struct Decision {
    bits: u64,
    usual: u16,
    probes: Vec<u16>,
}

/// Real positions in sixteenths.
fn sixteenths(probes: f64) -> u16 {
    (probes * f64::from(STEPS)).round() as u16
}

fn decide(design: &Design, classes: &[Class]) -> Result<Decision> {
    let solver = design.solver;
    let bits = match design.bits {
        Some(bits) => bits,
        None => assignment::needed_bits(classes, common::FPR.need(design.fpr)?, design.most, solver, STEPS)?,
    };
    let probes = match solver {
        Some(solver) => assignment::assign(classes, bits, design.most, solver)?,
        None => assignment::assign_in_steps(classes, bits, design.most, STEPS),
    };
    let usual = match (design.hashes, design.others) {
        (Some(hashes), _) => f64::from(hashes),
        // Of the others nothing is known: they have what the members have on average.
        (None, 0) => {
            let mean = assignment::load(classes, &probes) / assignment::members(classes).max(f64::MIN_POSITIVE);
            if solver.is_some() { mean.round() } else { mean }
        }
        (None, _) => probes.last().copied().unwrap_or(1.0),
    };
    let usual = sixteenths(usual.clamp(1.0, f64::from(crate::hash::MAX_HASHES)));
    Ok(Decision { bits, usual, probes: probes.into_iter().map(sixteenths).collect() })
}

impl<W: Weighing> Assemble for TabledBits<W> {
    fn assemble(asked: &W::Settings, hashing: &Hashing, data: &Dataset<'_>) -> Result<(W::Settings, Self, u64)> {
        let (listed, known) = classes::<W>(data)?;
        let mut design = asked.design()?;
        let items = design.items.unwrap_or(data.items.len().max(1) as u64);
        design.items = Some(items);
        let insert = |mut filter: Filter<Self>| {
            for item in data.items {
                filter.insert_with(item, FromNote::from_note(item.note)?);
            }
            Ok((filter.settings, filter.mechanism, filter.items))
        };
        // One class is a standard filter.
        if known.len() <= 1 && design.others == 0 {
            let size = plain_size(&design)?;
            return insert(Filter::hashed(asked.clone().sized(size.bits, size.hashes), hashing.clone())?);
        }
        let classes = weighed(&known, &design, items);
        let decision = decide(&design, &classes)?;
        let settings = asked.clone().sized(decision.bits, u32::from(decision.usual / STEPS as u16));
        let mut filter = Filter::<Self>::hashed(settings, hashing.clone())?;
        let of_keys =
            listed.iter().map(|key| (Item::from(key.key).digest(&filter.hashing), decision.probes[key.class]));
        let shares: Vec<_> = classes.iter().copied().zip(decision.probes.iter().copied()).collect();
        let probes: Vec<_> = decision.probes.iter().map(|own| f64::from(*own) / f64::from(STEPS)).collect();
        let rate = assignment::rate(&classes, &probes, decision.bits);
        filter.mechanism.table = Table::new(decision.usual, of_keys, &shares, rate)?;
        insert(filter)
    }
}

impl<W: Weighing> Filter<TabledBits<W>> {
    /// The filter of these keys, where others are known to be absent; both with what is known of them. Who gets how many positions
    /// is decided here, and frozen.
    pub fn from_known<'a>(
        settings: &W::Settings,
        hashing: &Hashing,
        members: impl IntoIterator<Item = (&'a [u8], W::Known)>,
        absent: impl IntoIterator<Item = (&'a [u8], W::Known)>,
    ) -> Result<Self>
    where
        W::Known: Into<crate::capability::Note<'a>>,
    {
        let items = |keys: &mut dyn Iterator<Item = (&'a [u8], W::Known)>| -> Vec<Item<'a>> {
            keys.map(|(key, known)| Item::new(key, known.into())).collect()
        };
        let (items, absent) = (items(&mut members.into_iter()), items(&mut absent.into_iter()));
        Self::build(settings, hashing, &Dataset { items: &items, absent: &absent })
    }

    /// How many positions a key has.
    ///
    /// ```
    /// assert_eq!(bouquet::Weighted::with_rate(1_000, 0.01)?.probes("rose"), 7);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn probes<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.mechanism.probes(key.digest(&self.hashing))
    }

    /// The rate of false positives among keys with this many positions, now.
    ///
    /// ```
    /// let mut filter = bouquet::Weighted::with_rate(1_000, 0.01)?;
    /// assert_eq!((filter.rate_with(0), filter.rate_with(7)), (1.0, 0.0));
    /// filter.extend(0..1_000u64);
    /// assert!((0.008..0.012).contains(&filter.rate_with(7)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_with(&self, probes: u32) -> f64 {
        assignment::acceptance(self.mechanism.bits.fill(), probes.into())
    }

    /// The bits of the table, which [`stats`](Filter::stats) counts in.
    ///
    /// ```
    /// assert_eq!(bouquet::Weighted::with_rate(1_000, 0.01)?.table_bits(), 0, "nothing is known yet");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn table_bits(&self) -> u64 {
        self.mechanism.table.bits()
    }

    /// The false-positive rate over the queries that were declared, now; `None` if none were.
    ///
    /// ```
    /// assert_eq!(bouquet::Weighted::with_rate(1_000, 0.01)?.weighted_rate(), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn weighted_rate(&self) -> Option<f64> {
        self.mechanism.table.rate(|probes| assignment::acceptance(self.mechanism.bits.fill(), probes))
    }
}
