#![doc = include_str!("selective.md")]

use crate::capability::{Dataset, Item, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, probes};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, kind};
use crate::parts::bit_array;
use crate::parts::class_map::ClassMap;
use crate::shell::{Assemble, Believe, Filter, FromNote, Hashed, Known, Mechanism, Put, Test, hashed};
use crate::store::{BitStore, Counters};
use crate::theory::{Size, paradox, special, standard};

mod settings;

use settings::{ALPHA, CELLS, PRIOR};
pub use settings::{Cells, SelectiveSettings};

/// The registry's row.
pub const KIND: Kind = kind!(Selective);

/// A Bloom filter that is asked only where its answer would be believed.
///
/// ```
/// use bouquet::{Selective, SelectiveSettings};
/// let rare = SelectiveSettings { items: Some(10_000), fpr: Some(0.001), prior: Some(1e-6), ..Default::default() };
/// let mut filter = Selective::with(rare)?;
/// filter.insert("rose")?;
/// assert!(!filter.contains("rose"), "a positive answer would be false 999 times in a thousand");
/// let likely = [0.5].into();
/// filter.insert_with("lily", likely)?;
/// assert!(filter.decide("lily", 0.5) && filter.probability("lily", Some(0.5)) > Some(0.999));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Selective = Filter<Doubting>;

/// Bits of a counter: 15 is reached by none of 10^9 at half fill.
const WIDTH: u32 = 4;

/// Different priors of listed keys, at most.
const MOST_PRIORS: usize = 1 << 12;

#[derive(Clone, Debug, PartialEq)]
enum Store {
    Bits(BitStore),
    Counters(Counters),
}

impl Store {
    fn cells(&self) -> u64 {
        match self {
            Store::Bits(bits) => bits.len(),
            Store::Counters(counters) => counters.len(),
        }
    }
}

/// Cells, and the prior probabilities of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubting {
    store: Store,
    hashes: u32,
    alpha: f64,
    /// The prior probability below which nothing is inserted or looked up.
    threshold: f64,
    /// The prior of keys that are not listed, and those of listed ones.
    prior: f64,
    priors: Vec<f64>,
    map: ClassMap,
    inserted: u64,
    /// Members that were not inserted.
    skipped: u64,
}

/// The threshold that is frozen with a filter for members of these priors.
fn frozen(settings: &SelectiveSettings, size: Size, members: &[(f64, f64)]) -> Result<f64> {
    Ok(paradox::frozen_trust(size.bits, size.hashes, ALPHA.need(settings.alpha)?, members).threshold)
}

impl Doubting {
    fn positions(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        probes(digest, self.store.cells(), self.hashes)
    }

    /// The prior probability of a key.
    fn prior_of(&self, digest: Digest) -> f64 {
        self.map.get(digest).and_then(|number| self.priors.get(number)).copied().unwrap_or(self.prior)
    }

    /// The values of a key's cells.
    fn values(&self, digest: Digest) -> Vec<u64> {
        let value = |at| match &self.store {
            Store::Bits(bits) => u64::from(bits.get(at)),
            Store::Counters(counters) => counters.get(at),
        };
        self.positions(digest).map(value).collect()
    }

    /// The share of cells with each value.
    fn law(&self) -> Vec<f64> {
        let m = self.store.cells().max(1) as f64;
        match &self.store {
            Store::Bits(bits) => vec![1.0 - bits.fill(), bits.fill()],
            Store::Counters(counters) => {
                let mut law = vec![0u64; 1 << WIDTH];
                (0..counters.len()).for_each(|at| law[counters.get(at) as usize] += 1);
                law.into_iter().map(|count| count as f64 / m).collect()
            }
        }
    }

    /// The least product of cells that is believed of a key with this prior.
    fn least(&self, prior: f64, items: u64) -> f64 {
        match self.store {
            Store::Bits(_) => 1.0,
            Store::Counters(_) => paradox::least_product(prior, self.alpha, self.store.cells(), items, self.hashes),
        }
    }

    /// Whether the cells of a key speak for it.
    fn holds(&self, digest: Digest, prior: f64) -> bool {
        if prior < self.threshold {
            return false;
        }
        match &self.store {
            Store::Bits(bits) => self.positions(digest).all(|at| bits.get(at)),
            Store::Counters(_) => self.odds(digest, prior) * self.alpha >= 1.0 - 1e-9,
        }
    }

    /// The odds that a key is a member, of its cells.
    fn odds(&self, digest: Digest, prior: f64) -> f64 {
        let values = self.values(digest);
        paradox::counting_odds(prior, self.store.cells(), self.inserted, self.hashes, &values)
    }

    /// The probability that a key is a member. Below the threshold nothing is looked up, and nothing is learned.
    fn posterior(&self, in_use: f64, digest: Digest, prior: f64) -> f64 {
        if prior < self.threshold {
            return prior;
        }
        match &self.store {
            Store::Bits(_) => paradox::updated(prior, in_use.powi(self.hashes as i32), 0.0, self.holds(digest, prior)),
            Store::Counters(_) => match self.odds(digest, prior) {
                f64::INFINITY => 1.0,
                odds => odds / (1.0 + odds),
            },
        }
    }
}

impl Mechanism for Doubting {
    const FACTS: Facts = Facts {
        id: "selective",
        number: 167,
        aliases: &["Bloom paradox"],
        family: "accuracy",
        text: Text::new(include_str!("selective.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::Weight,
        parameters: &[],
    };

    const OWN_ITEMS: bool = true;
    const BUILT_WHOLE: bool = true;
    const KNOWS_ABSENT: bool = true;
    const SIZE_FOLLOWS_DATA: bool = true;

    const SPECIALS: &'static [Special<Selective>] = &[
        Special::ask("prior", Takes::Key, "the prior probability of the key", |filter, argument| {
            Ok(Reply::Real(filter.prior(argument.key()?)))
        }),
        Special::ask(
            "decide",
            Takes::Pair,
            "whether the key is to be taken for a member if its prior probability is that behind it",
            |filter, argument| {
                let item = argument.item()?;
                let text = std::str::from_utf8(item.bytes()?).ok().and_then(|text| text.trim().parse::<f64>().ok());
                let prior = text.filter(|prior| (0.0..=1.0).contains(prior)).ok_or_else(|| Error::Item {
                    expected: "a key with a probability from 0 to 1".into(),
                    found: item.note.to_string(),
                })?;
                Ok(Reply::Truth(filter.decide(item.key, prior)))
            },
        ),
        Special::ask(
            "cost",
            Takes::Share,
            "the expected cost of a query at this prior, a false positive being 1: so, if every answer were believed, without a filter",
            |filter, argument| {
                let costs = filter.costs(argument.share()?);
                Ok(Reply::Table(&["selective", "plain", "no filter"], vec![costs.map(Reply::Real).into()]))
            },
        ),
    ];

    type Settings = SelectiveSettings;

    fn resolve(asked: &SelectiveSettings) -> Result<SelectiveSettings> {
        let Size { bits, hashes } = asked.size()?;
        Ok(SelectiveSettings {
            bits: Some(bits),
            hashes: Some(hashes),
            cells: Some(CELLS.need(asked.cells)?),
            prior: Some(PRIOR.need(asked.prior)?),
            alpha: Some(ALPHA.need(asked.alpha)?),
            ..asked.clone()
        })
    }

    fn plan(settings: &SelectiveSettings) -> Result<Plan> {
        let (Size { bits, hashes }, items) = (settings.size()?, settings.items);
        let width = if settings.cells == Some(Cells::Counters) { u64::from(WIDTH) } else { 1 };
        let empty =
            Self::empty(&SelectiveSettings { bits: Some(1), hashes: Some(1), ..settings.clone() }, &Hashing::default());
        let threshold =
            frozen(settings, settings.size()?, &[(PRIOR.need(settings.prior)?, items.unwrap_or(0) as f64)])?;
        let fpr = items.zip(empty.ok()).map(|(items, mut doubting)| {
            (doubting.threshold, doubting.hashes) = (threshold, hashes);
            doubting.expected_rate(bits, items)
        });
        Ok(Plan { bits: bits.saturating_mul(width), hashes, items, fpr })
    }

    fn empty(settings: &SelectiveSettings, _: &Hashing) -> Result<Self> {
        let size = settings.size()?;
        let prior = PRIOR.need(settings.prior)?;
        // Without a number of keys the filter is made for half fill.
        let items = settings
            .items
            .map_or(size.bits as f64 * std::f64::consts::LN_2 / f64::from(size.hashes), |items| items as f64);
        let store = match CELLS.need(settings.cells)? {
            Cells::Bits => Store::Bits(BitStore::zeroed(size.bits)?),
            Cells::Counters => Store::Counters(Counters::zeroed(size.bits, WIDTH)?),
        };
        Ok(Doubting {
            store,
            hashes: size.hashes,
            alpha: ALPHA.need(settings.alpha)?,
            threshold: frozen(settings, size, &[(prior, items)])?,
            prior,
            priors: Vec::new(),
            map: ClassMap::default(),
            inserted: 0,
            skipped: 0,
        })
    }

    /// What is known of the keys stays.
    fn emptied(&self, settings: &SelectiveSettings, hashing: &Hashing) -> Result<Self> {
        let store = Self::empty(settings, hashing)?.store;
        Ok(Doubting { store, inserted: 0, skipped: 0, ..self.clone() })
    }

    fn domain(settings: &SelectiveSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn items(&self, _: u64) -> u64 {
        self.inserted
    }

    fn stats(&self, items: u64) -> Stats {
        let (law, bits) =
            (self.law(), self.store.cells() * if matches!(self.store, Store::Bits(_)) { 1 } else { u64::from(WIDTH) });
        let fpr = if self.prior < self.threshold {
            0.0
        } else {
            paradox::product_tail(&law, self.hashes, self.least(self.prior, self.inserted))
        };
        let honest =
            bit_array::flat_places(self.store.cells(), self.hashes).ok().map(|places| places.honest_fill(items));
        let fill = Some(1.0 - law[0]);
        Stats { items, bits: bits + self.map.bits(), hashes: self.hashes, fill, fpr: Some(fpr), honest_fill: honest }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure { name: "threshold", value: Setting::Real(self.threshold) },
            Figure { name: "members below the threshold", value: Setting::Count(self.skipped) },
            Figure { name: "listed keys", value: Setting::Count(self.map.listed()) },
            Figure { name: "bits of the table", value: Setting::Count(self.map.bits()) },
        ]
    }

    fn expected(&self, items: u64) -> Rates {
        let all = (self.inserted + self.skipped).max(1) as f64;
        let below = if self.inserted + self.skipped > 0 {
            self.skipped as f64 / all
        } else {
            f64::from(u8::from(self.prior < self.threshold))
        };
        let doubted = match self.store {
            _ if self.prior < self.threshold => 0.0,
            Store::Bits(_) => 0.0,
            // A member's counters are one more than those of strangers.
            Store::Counters(_) => {
                let law = [vec![0.0], self.expected_law(self.store.cells(), items)].concat();
                1.0 - paradox::product_tail(&law, self.hashes, self.least(self.prior, items))
            }
        };
        Rates {
            false_positive: Some(self.expected_rate(self.store.cells(), items)),
            false_negative: Some(below + (1.0 - below) * doubted),
            ..Rates::default()
        }
    }

    /// State: items, members below the threshold, the threshold, the number of priors and each of them, then the map of listed keys.
    /// Store: the bits or counters, then the map's cells.
    fn encode<'a>(&'a self, _: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u64(self.inserted);
        state.u64(self.skipped);
        state.f64(self.threshold);
        state.u32(self.priors.len() as u32);
        self.priors.iter().for_each(|prior| state.f64(*prior));
        match &self.store {
            Store::Bits(bits) => encoder.bits(bits),
            Store::Counters(counters) => encoder.counters(counters),
        }
        self.map.encode(encoder);
    }

    fn decode(settings: &SelectiveSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let size = settings.size()?;
        let state = decoder.state();
        let (inserted, skipped, threshold, count) = (state.u64()?, state.u64()?, state.f64()?, state.u32()? as usize);
        if !(0.0..=1.0).contains(&threshold) || count > MOST_PRIORS || inserted.max(skipped) > u64::MAX / 4 {
            return Err(Error::corrupt("threshold", "a probability, and at most 4096 priors", threshold));
        }
        let mut priors = Vec::new();
        for _ in 0..count {
            let prior = state.f64()?;
            if !(0.0..=1.0).contains(&prior) {
                return Err(Error::corrupt("a prior", "a probability", prior));
            }
            priors.push(prior);
        }
        let store = match CELLS.need(settings.cells)? {
            Cells::Bits => Store::Bits(decoder.bits(size.bits)?),
            Cells::Counters => Store::Counters(decoder.counters(size.bits, WIDTH)?),
        };
        let map = ClassMap::decode(decoder)?;
        let (alpha, prior) = (ALPHA.need(settings.alpha)?, PRIOR.need(settings.prior)?);
        let doubting = Doubting { store, hashes: size.hashes, alpha, threshold, prior, priors, map, inserted, skipped };
        Ok((doubting, 0))
    }
}

impl Doubting {
    /// The law of a cell after this many insertions.
    fn expected_law(&self, cells: u64, items: u64) -> Vec<f64> {
        let mean = items as f64 * f64::from(self.hashes) / cells.max(1) as f64;
        let last = (1u64 << WIDTH) - 1;
        let mut law: Vec<f64> = (0..last).map(|value| special::poisson(value as f64, mean)).collect();
        law.push(special::poisson_tail(last, mean));
        law
    }

    /// The rate of strangers of which nothing is said, after this many insertions.
    fn expected_rate(&self, cells: u64, items: u64) -> f64 {
        if self.prior < self.threshold {
            return 0.0;
        }
        let least = paradox::least_product(self.prior, self.alpha, cells, items, self.hashes);
        if matches!(self.store, Store::Bits(_)) || least <= 1.0 {
            return standard::expected_rate(cells, items, self.hashes);
        }
        paradox::product_tail(&self.expected_law(cells, items), self.hashes, least)
    }
}

impl Test for Doubting {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.holds(key.digest, self.prior_of(key.digest))
    }
}

impl Put for Doubting {
    /// The prior probability of the key; that of the model if there is none.
    type Note<'a> = Known<1>;
    type Outcome = Result<bool>;

    fn put(&mut self, key: Hashed<'_>, known: Known<1>) -> Result<bool> {
        let prior = match known.0 {
            Some([prior]) => checked(prior)?,
            None => self.prior_of(key.digest),
        };
        if prior < self.threshold {
            self.skipped = (self.skipped + 1).min(u64::MAX / 4);
            return Ok(false);
        }
        let positions = self.positions(key.digest);
        self.inserted = (self.inserted + 1).min(u64::MAX / 4);
        match &mut self.store {
            Store::Bits(bits) => Ok(positions.fold(false, |new, at| bits.set(at) | new)),
            Store::Counters(counters) => Ok(positions.fold(false, |new, at| {
                let mut before = 0;
                counters.update(at, |counter| {
                    before = counter;
                    counter.saturating_add(1)
                });
                (before == 0) | new
            })),
        }
    }
}

impl Believe for Doubting {
    fn in_use(&self) -> f64 {
        match &self.store {
            Store::Bits(bits) => bits.fill(),
            // Each key's own counters tell more.
            Store::Counters(_) => 1.0,
        }
    }

    fn believe(&self, in_use: f64, key: Hashed<'_>, prior: Option<f64>) -> Option<f64> {
        Some(self.posterior(in_use, key.digest, prior.unwrap_or_else(|| self.prior_of(key.digest))))
    }
}

/// A probability.
fn checked(prior: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&prior) {
        return Ok(prior);
    }
    Err(Error::Item { expected: "a prior probability from 0 to 1".into(), found: prior.to_string() })
}

impl Assemble for Doubting {
    fn assemble(
        asked: &SelectiveSettings,
        hashing: &Hashing,
        data: &Dataset<'_>,
    ) -> Result<(SelectiveSettings, Self, u64)> {
        let asked = SelectiveSettings { items: asked.items.or(Some(data.items.len().max(1) as u64)), ..asked.clone() };
        let usual: f64 = PRIOR.need(asked.prior)?;
        let prior_of = |item: &Item<'_>| match Known::<1>::from_note(item.note)? {
            Known(Some([prior])) => checked(prior),
            Known(None) => Ok(usual),
        };
        let mut listed = Vec::new();
        for item in data.items.iter().chain(data.absent) {
            listed.push((item.key, prior_of(item)?));
        }
        listed.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
        listed.dedup();
        if let Some(two) = listed.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(Error::Build {
                what: format!("key `{}` has two prior probabilities", two[0].0.escape_ascii()),
                remedy: "give each key one".into(),
            });
        }
        let mut priors: Vec<f64> = listed.iter().map(|(_, prior)| *prior).filter(|prior| *prior != usual).collect();
        priors.sort_by(f64::total_cmp);
        priors.dedup();
        if priors.len() > MOST_PRIORS {
            return Err(Error::Build {
                what: format!("there are {} different prior probabilities, more than {MOST_PRIORS}", priors.len()),
                remedy: "round them".into(),
            });
        }
        let mut filter = Filter::<Self>::hashed(asked, hashing.clone())?;
        let mut members: Vec<(f64, f64)> = priors.iter().chain([&usual]).map(|prior| (*prior, 0.0)).collect();
        for item in data.items {
            let prior = prior_of(item)?;
            let class = priors.binary_search_by(|known| known.total_cmp(&prior)).unwrap_or(priors.len());
            members[class].1 += 1.0;
        }
        let size = filter.settings.size()?;
        let threshold = frozen(&filter.settings, size, &members)?;
        let others = listed.iter().filter(|(_, prior)| *prior != usual);
        let keys: Vec<_> = others
            .map(|(key, prior)| {
                let number = priors.binary_search_by(|known| known.total_cmp(prior)).unwrap_or(0) as u64;
                (Item::from(*key).digest(&filter.hashing), number)
            })
            .collect();
        filter.mechanism.threshold = threshold;
        filter.mechanism.map = ClassMap::new(&keys, priors.len().saturating_sub(1) as u64, threshold)?;
        filter.mechanism.priors = priors;
        for item in data.items {
            filter.insert_with(item, FromNote::from_note(item.note)?)?;
        }
        Ok((filter.settings, filter.mechanism, 0))
    }
}

impl Selective {
    /// The prior probability below which nothing is inserted or looked up: frozen when the filter was made.
    ///
    /// ```
    /// let filter = bouquet::Selective::with_rate(10_000, 0.001)?;
    /// assert!((filter.threshold() - 9.99e-4).abs() < 1e-5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.mechanism.threshold
    }

    /// The prior probability of a key.
    ///
    /// ```
    /// assert_eq!(bouquet::Selective::with_rate(1_000, 0.01)?.prior("rose"), 0.5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn prior<K: Key + ?Sized>(&self, key: &K) -> f64 {
        self.mechanism.prior_of(key.digest(&self.hashing))
    }

    /// Whether a key of this prior probability is to be taken for a member: the answer with the lower expected cost.
    ///
    /// ```
    /// let mut filter = bouquet::Selective::with_rate(1_000, 0.01)?;
    /// filter.insert("rose")?;
    /// assert!(filter.decide("rose", 0.1) && !filter.decide("rose", 1e-6));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn decide<K: Key + ?Sized>(&self, key: &K, prior: f64) -> bool {
        hashed::<Doubting, K, _>(&self.hashing, key, |key| self.mechanism.holds(key.digest, prior))
    }

    /// The expected cost of a query for a key of this prior probability, a false positive being 1: by this filter, if every answer were
    /// believed, and without a filter.
    ///
    /// ```
    /// let mut filter = bouquet::Selective::with_rate(1_000, 0.01)?;
    /// filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>())?;
    /// let [selective, plain, none] = filter.costs(1e-5);
    /// assert!(selective == 1e-5 && none == 1e-5 && plain > 0.005);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn costs(&self, prior: f64) -> [f64; 3] {
        let (doubting, law) = (&self.mechanism, self.mechanism.law());
        let rate = (1.0 - law[0]).powi(doubting.hashes as i32);
        let (plain, none) = ((1.0 - prior) * rate, prior * doubting.alpha);
        let selective = match doubting.store {
            _ if prior < doubting.threshold => none,
            Store::Bits(_) => plain,
            Store::Counters(_) => {
                let least = doubting.least(prior, doubting.inserted);
                let one_more: Vec<f64> = std::iter::once(0.0).chain(law.iter().copied()).collect();
                let missed = 1.0 - paradox::product_tail(&one_more, doubting.hashes, least);
                (1.0 - prior) * paradox::product_tail(&law, doubting.hashes, least) + none * missed
            }
        };
        [selective, plain, none]
    }
}

#[cfg(test)]
mod tests;
