#![doc = include_str!("best_of_n.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing};
use crate::key::Key;
use crate::kind::{ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Setting, Stats, Text, common, kind};
use crate::parts::bit_array::{self, BitArray, flat_places};
use crate::parts::chosen::{self, choose, filled, in_family, members_and_strangers};
use crate::parts::counter_array::Places;
use crate::shell::{
    ByRate, Choice, Far, Fields, Filter, Gather, Hashed, Mechanism, Put, Settings, Test, choices, fields,
};
use crate::theory::spread;

/// The registry's row.
pub const KIND: Kind = kind!(BestOfN);

/// The emptiest of many Bloom filters.
///
/// ```
/// use bouquet::BestOfN;
/// let filter = BestOfN::with_size(1_024, 7, (0..100u64).collect::<Vec<_>>())?;
/// assert!((0..100u64).all(|key| filter.contains(&key)));
/// assert!(filter.stats().fill < Some(0.49), "one filter has 0.496 on average");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type BestOfN = Filter<BestBits>;

/// What is least in the filter that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The ones.
    Ones,
    /// The rate that follows from them, with as many positions or one more.
    Rate,
    /// The false positives among the known strangers, and then the ones.
    Known,
}

choices!(Objective { Ones = "ones", Rate = "rate", Known = "known" });

const TRIES: Parameter = Parameter::count(
    "tries",
    "families that are tried; when not given 64 up to 100,000 bits, beyond which it hardly helps, and then 1",
    1,
    1 << 16,
);
const OBJECTIVE: Parameter = Parameter::choice(
    "objective",
    "what is least: ones; rate: also tries one position more; known: false positives among keys that are known to be absent",
    Objective::WORDS,
);

/// Filters up to this many bits are tried 64 times unless said otherwise.
const WORTH_TRYING: u64 = 100_000;

/// The settings of a best-of-N filter.
///
/// ```
/// use bouquet::{BestOfN, BestOfNSettings};
/// let tries = |bits| BestOfNSettings { bits: Some(bits), hashes: Some(7), ..Default::default() };
/// assert_eq!(BestOfN::with(tries(1_024))?.settings().tries, Some(64));
/// assert_eq!(BestOfN::with(tries(1_000_000))?.settings().tries, Some(1), "it would gain one percent");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BestOfNSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys.
    pub fpr: Option<f64>,
    /// Size in bits.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Families that are tried.
    pub tries: Option<u64>,
    /// What is least.
    pub objective: Option<Objective>,
}

impl Settings for BestOfNSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: common::BITS,
        hashes: common::HASHES,
        tries: TRIES,
        objective: OBJECTIVE,
    ];
}

impl ByRate for BestOfNSettings {}

/// The bits of the best family.
#[derive(Clone, Debug, PartialEq)]
pub struct BestBits {
    array: BitArray,
    family: u64,
    /// How many families the keys were tried with: 1 for a filter that was not built of all keys.
    tried: u64,
    /// Known strangers, and how many of them seem to be members.
    known: u64,
    wrong: u64,
    objective: Objective,
    /// Positions per key before one more was tried.
    planned_hashes: u32,
}

fn places(settings: &BestOfNSettings) -> Result<Places> {
    let BestOfNSettings { items, fpr, bits, hashes, .. } = *settings;
    let size = common::size_of(items, fpr, bits, hashes, "bits")?;
    flat_places(size.bits, size.hashes)
}

impl BestBits {
    fn rate(&self, items: u64) -> f64 {
        let (bits, hashes) = (self.array.bits.len(), self.array.places.hashes());
        match self.tried {
            0 | 1 => self.array.places.expected_rate(items),
            tried => spread::best_of_rate(bits, items, hashes, tried),
        }
    }

    /// How many of these strangers seem to be members of a filter in this family; fewer than `most` if that many do.
    fn count_wrong(array: &BitArray, strangers: &[Digest], family: u64, most: u64) -> u64 {
        let wrong = strangers.iter().filter(|&&stranger| array.all_set(in_family(stranger, family)));
        wrong.take(most.try_into().unwrap_or(usize::MAX)).count() as u64
    }
}

impl Mechanism for BestBits {
    const FACTS: Facts = Facts {
        id: "best-of-n",
        number: 14,
        aliases: &["best-of-N method"],
        family: "membership",
        text: Text::new(include_str!("best_of_n.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const BUILT_WHOLE: bool = true;

    const KNOWS_ABSENT: bool = true;

    type Settings = BestOfNSettings;

    fn resolve(asked: &BestOfNSettings) -> Result<BestOfNSettings> {
        let (places, objective) = (places(asked)?, OBJECTIVE.need(asked.objective)?);
        let (bits, hashes) = (Some(places.counters()), Some(places.hashes()));
        let tries = Some(asked.tries.unwrap_or(if places.counters() <= WORTH_TRYING { 64 } else { 1 }));
        Ok(BestOfNSettings { bits, hashes, tries, objective: Some(objective), ..asked.clone() })
    }

    fn plan(settings: &BestOfNSettings) -> Result<Plan> {
        let (places, items, tries) = (places(settings)?, settings.items, settings.tries.unwrap_or(1));
        let (bits, hashes) = (places.counters(), places.hashes());
        let fpr = items.map(|items| match tries {
            1 => places.expected_rate(items),
            _ => spread::best_of_rate(bits, items, hashes, tries),
        });
        Ok(Plan { bits, hashes, items, fpr })
    }

    fn advice(settings: &BestOfNSettings) -> Option<String> {
        let (bits, tries) = (places(settings).ok()?.counters(), settings.tries?);
        let advice =
            || format!("in {bits} bits the emptiest of {tries} filters is hardly better than any: take `standard`");
        (bits > WORTH_TRYING).then(advice)
    }

    fn empty(settings: &BestOfNSettings, _: &Hashing) -> Result<Self> {
        let (places, objective) = (places(settings)?, OBJECTIVE.need(settings.objective)?);
        let (array, planned_hashes) = (BitArray::zeroed(places)?, places.hashes());
        Ok(BestBits { array, family: 0, tried: 1, known: 0, wrong: 0, objective, planned_hashes })
    }

    fn domain(settings: &BestOfNSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        chosen::stats(&self.array, 0, items, 1)
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![("family", self.family), ("families tried", self.tried)];
        if self.objective == Objective::Known {
            figures.extend([("known strangers", self.known), ("false positives among them", self.wrong)]);
        }
        figures.into_iter().map(|(name, count)| Figure { name, value: Setting::Count(count) }).collect()
    }

    fn expected(&self, items: u64) -> Rates {
        Rates { false_positive: Some(self.rate(items)), ..Rates::default() }
    }

    /// State: items, the family and how many were tried, positions per key, known strangers and how many of them are wrong. Store:
    /// the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        [items, self.family, self.tried, self.known, self.wrong].iter().for_each(|number| state.u64(*number));
        state.u8((self.array.places.hashes() - self.planned_hashes) as u8);
        encoder.bits(&self.array.bits);
    }

    fn decode(settings: &BestOfNSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let (planned, objective) = (places(settings)?, OBJECTIVE.need(settings.objective)?);
        let state = decoder.state();
        let [items, family, tried, known, wrong] =
            [state.u64()?, state.u64()?, state.u64()?, state.u64()?, state.u64()?];
        let more = state.u8()?;
        let tries = settings.tries.unwrap_or(1);
        if family >= tries || tried == 0 || tried > tries || wrong > known {
            return Err(Error::corrupt("family", format!("one of {tries}"), family));
        }
        if more > u8::from(objective == Objective::Rate) {
            return Err(Error::corrupt("positions that were added", 0, more));
        }
        let array = BitArray {
            places: flat_places(planned.counters(), planned.hashes() + u32::from(more))?,
            bits: decoder.bits(planned.counters())?,
        };
        let planned_hashes = planned.hashes();
        Ok((BestBits { array, family, tried, known, wrong, objective, planned_hashes }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.array.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        self.array.prefetch(in_family(digest, self.family));
    }
}

impl Test for BestBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        self.array.all_set(in_family(key.digest, self.family))
    }
}

/// Into the family that was the best for the keys before: still found, but the choice is no longer the best.
impl Put for BestBits {
    type Note<'a> = ();
    type Outcome = bool;

    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        self.array.set_all(in_family(key.digest, self.family))
    }
}

impl Gather for BestBits {
    fn gather<K: Key>(
        asked: &BestOfNSettings,
        hashing: &Hashing,
        keys: &[K],
        absent: &[K],
    ) -> Result<(BestOfNSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let (mut best, own) = (Self::empty(&settings, hashing)?, Self::hashing(&settings, hashing));
        let [members, strangers] = members_and_strangers(&own, keys, absent);
        let tries = settings.tries.unwrap_or(1);
        let bits = best.array.bits.len();
        let mut kept: Option<(f64, BitArray, u64)> = None;
        let mut failed = None;
        for more in 0..=u32::from(best.objective == Objective::Rate && best.planned_hashes < crate::hash::MAX_HASHES) {
            let empty = BitArray { places: flat_places(bits, best.planned_hashes + more)?, ..best.array.clone() };
            let mut array = None;
            let (family, _) = choose(tries, |family, least| {
                let tried = filled(&empty, &members, family).map_err(|error| failed = Some(error)).ok()?;
                let ones = tried.bits.count_ones();
                let cost = match best.objective {
                    Objective::Known => {
                        // A cost of this many false positives, and less than one for the ones.
                        let most = least.div_ceil(bits + 1);
                        Self::count_wrong(&tried, &strangers, family, most) * (bits + 1) + ones
                    }
                    Objective::Ones | Objective::Rate => ones,
                };
                if cost < least {
                    array = Some(tried);
                }
                Some(cost)
            });
            let array = array.unwrap_or(empty);
            let rate = array.bits.fill().powi(array.places.hashes() as i32);
            if kept.as_ref().is_none_or(|(least, ..)| rate < *least) {
                kept = Some((rate, array, family));
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some((_, array, family)) = kept {
            (best.array, best.family, best.tried) = (array, family, tries);
        }
        best.known = strangers.len() as u64;
        best.wrong = Self::count_wrong(&best.array, &strangers, best.family, u64::MAX);
        Ok((settings, best, members.len() as u64))
    }
}

impl BestOfN {
    /// The filter of these keys in `bits` bits with `hashes` positions per key: the emptiest of 64, up to 100,000 bits.
    ///
    /// ```
    /// use bouquet::BestOfN;
    /// let mut filter = BestOfN::with_size(256, 5, ["rose", "lily"])?;
    /// filter.insert("iris");
    /// assert!(["rose", "lily", "iris"].iter().all(|key| filter.contains(key)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_size<K: Key>(bits: u64, hashes: u32, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        let settings = BestOfNSettings { bits: Some(bits), hashes: Some(hashes), ..Default::default() };
        Self::from_keys(&settings, &Hashing::default(), keys)
    }
}

#[cfg(test)]
mod tests;
