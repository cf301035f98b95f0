#![doc = include_str!("optihash.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hashing, UNIVERSAL_PRIME};
use crate::key::Key;
use crate::kind::{
    ErrorClass, Facts, Figure, Kind, Parameter, Plan, Rates, Reply, Setting, Special, Stats, Takes, Text, common, kind,
};
use crate::parts::bit_array::{self, flat_places};
use crate::parts::chosen::{choose, members_and_strangers};
use crate::shell::{ByRate, Fields, Filter, Gather, Hashed, Mechanism, Settings, Test, fields};
use crate::store::BitStore;
use crate::theory::{selection, standard};

/// The registry's row.
pub const KIND: Kind = kind!(Optihash);

/// A Bloom filter whose hash is the one that answers known questions best.
///
/// ```
/// use bouquet::{Optihash, OptihashSettings, hash::Hashing};
/// let settings = OptihashSettings { bits: Some(256), hashes: Some(1), ..Default::default() };
/// let (route, others): (Vec<u64>, Vec<u64>) = ((0..20).collect(), (100..200).collect());
/// let filter = Optihash::from_keys_and_absent(&settings, &Hashing::default(), route.clone(), others.clone())?;
/// assert!(route.iter().all(|link| filter.contains(link)));
/// assert!(others.iter().all(|link| !filter.contains(link)), "not one of those that will be asked for");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Optihash = Filter<SearchedBits>;

/// P = 2^61 - 1.
const P: u64 = UNIVERSAL_PRIME;

/// The most bits of a parameter.
const MAX_PARAMETER: u64 = 12;

const BITS: Parameter =
    Parameter { help: "size in bits, with the parameters of the hash, instead of a rate", ..common::BITS };
const ALPHA: Parameter =
    Parameter::count("alpha-bits", "bits of the first parameter of the hash", 0, MAX_PARAMETER).or(8);
const BETA: Parameter =
    Parameter::count("beta-bits", "bits of the second parameter of the hash", 0, MAX_PARAMETER).or(8);

/// The settings of an optihash filter.
///
/// ```
/// use bouquet::{Optihash, OptihashSettings};
/// let filter = Optihash::with(OptihashSettings { bits: Some(256), hashes: Some(1), ..Default::default() })?;
/// assert_eq!((filter.settings().alpha, filter.stats().bits), (Some(8), 256));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptihashSettings {
    /// Distinct keys.
    pub items: Option<u64>,
    /// The false-positive rate with that many keys, of those that are not known.
    pub fpr: Option<f64>,
    /// Size in bits, with the parameters of the hash.
    pub bits: Option<u64>,
    /// Positions per key.
    pub hashes: Option<u32>,
    /// Bits of the first parameter.
    pub alpha: Option<u32>,
    /// Bits of the second parameter.
    pub beta: Option<u32>,
}

impl Settings for OptihashSettings {
    const FIELDS: Fields<Self> = fields![
        items: common::ITEMS,
        fpr: common::FPR,
        bits: BITS,
        hashes: common::HASHES,
        alpha: ALPHA,
        beta: BETA,
    ];
}

impl ByRate for OptihashSettings {}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    /// Bits of the vector.
    vector: u64,
    hashes: u32,
    alpha_bits: u32,
    beta_bits: u32,
}

impl Shape {
    fn of(settings: &OptihashSettings) -> Result<Self> {
        let (alpha_bits, beta_bits): (u32, u32) = (ALPHA.need(settings.alpha)?, BETA.need(settings.beta)?);
        let parameters = u64::from(alpha_bits + beta_bits);
        let vector = match settings.bits {
            Some(bits) => Some(bits.checked_sub(parameters).filter(|&vector| vector > 0).ok_or_else(|| {
                Error::parameter("bits", format!("more than the {parameters} of the parameters"), bits)
            })?),
            None => None,
        };
        let size = common::size_of(settings.items, settings.fpr, vector, settings.hashes, "bits")?;
        flat_places(size.bits, size.hashes)?;
        Ok(Shape { vector: size.bits, hashes: size.hashes, alpha_bits, beta_bits })
    }

    fn bits(&self) -> u64 {
        self.vector + u64::from(self.alpha_bits + self.beta_bits)
    }

    /// Pairs of parameters.
    fn trials(&self) -> u64 {
        1 << (self.alpha_bits + self.beta_bits)
    }

    /// The parameters of a trial: those that differ in the second follow each other.
    fn parameters(&self, trial: u64) -> (u64, u64) {
        (trial >> self.beta_bits, trial & ((1 << self.beta_bits) - 1))
    }

    /// The residues A, B and C of each position of a key.
    fn residues(&self, digest: Digest) -> impl Iterator<Item = [u64; 3]> {
        (0..u64::from(self.hashes)).map(move |lane| {
            let (first, second) = (digest.derive(2 * lane + 1), digest.derive(2 * lane + 2));
            [first.h1 % P, first.h2 % P, second.h1 % P]
        })
    }

    /// (A + alpha B + beta C) mod P, for one position.
    fn hash(&self, [a, b, c]: [u64; 3], (alpha, beta): (u64, u64)) -> u64 {
        let sum = u128::from(a) + u128::from(alpha) * u128::from(b) + u128::from(beta) * u128::from(c);
        (sum % u128::from(P)) as u64
    }
}

/// Keys on their way through the trials: the present hash of each position, and what the next trial adds.
struct Walk {
    shape: Shape,
    residues: Vec<[u64; 3]>,
    hashes: Vec<u64>,
}

impl Walk {
    fn new(shape: Shape, digests: &[Digest]) -> Self {
        let residues: Vec<_> = digests.iter().flat_map(|&digest| shape.residues(digest)).collect();
        Walk { shape, hashes: vec![0; residues.len()], residues }
    }

    /// Goes on to a trial, which must follow the last one or begin with a second parameter of 0.
    fn step(&mut self, trial: u64) {
        let parameters = self.shape.parameters(trial);
        for (hash, &residues) in self.hashes.iter_mut().zip(&self.residues) {
            *hash = match parameters {
                (_, 0) => self.shape.hash(residues, parameters),
                _ => {
                    let sum = *hash + residues[2];
                    if sum >= P { sum - P } else { sum }
                }
            };
        }
    }

    /// The positions of each key.
    fn keys(&self) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        self.hashes.chunks(self.shape.hashes as usize).map(|key| key.iter().map(|hash| hash % self.shape.vector))
    }
}

/// The vector, and behind it the parameters of the hash.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedBits {
    shape: Shape,
    bits: BitStore,
    parameters: (u64, u64),
    /// Known strangers, and how many of them seem to be members.
    known: u64,
    wrong: u64,
}

impl SearchedBits {
    fn ones(&self) -> u64 {
        self.bits.count_ones_in(0, self.shape.vector)
    }

    /// Writes the parameters behind the vector, the highest bit first.
    fn set_parameters(&mut self, trial: u64) {
        self.parameters = self.shape.parameters(trial);
        let count = self.shape.bits() - self.shape.vector;
        let set = (0..count).filter(|at| trial >> (count - 1 - at) & 1 == 1);
        set.for_each(|at| _ = self.bits.set(self.shape.vector + at));
    }

    fn read_parameters(&mut self) {
        let bits = self.shape.vector..self.shape.bits();
        let trial = bits.fold(0, |trial, at| trial << 1 | u64::from(self.bits.get(at)));
        self.parameters = self.shape.parameters(trial);
    }
}

impl Mechanism for SearchedBits {
    const FACTS: Facts = Facts {
        id: "optihash",
        number: 15,
        aliases: &["optimised hash"],
        family: "membership",
        text: Text::new(include_str!("optihash.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[],
    };

    const KNOWS_ABSENT: bool = true;

    const SPECIALS: &'static [Special<Optihash>] = &[Special::ask(
        "forecast",
        Takes::Number,
        "for this many known strangers: trials until none of them is a false positive, the fewest that are expected, and those of a standard filter",
        |filter, argument| {
            let forecast = filter.forecast(argument.number()?);
            let row = vec![
                Reply::Real(forecast.trials_needed()),
                forecast.fewest().into(),
                Reply::Real(filter.plain_false_positives(argument.number()?)),
            ];
            Ok(Reply::Table(&["trials to none", "fewest expected", "standard filter"], vec![row]))
        },
    )];

    type Settings = OptihashSettings;

    fn resolve(asked: &OptihashSettings) -> Result<OptihashSettings> {
        let shape = Shape::of(asked)?;
        let (bits, hashes) = (Some(shape.bits()), Some(shape.hashes));
        let (alpha, beta) = (Some(shape.alpha_bits), Some(shape.beta_bits));
        Ok(OptihashSettings { bits, hashes, alpha, beta, ..asked.clone() })
    }

    fn plan(settings: &OptihashSettings) -> Result<Plan> {
        let (shape, items) = (Shape::of(settings)?, settings.items);
        let fpr = items.map(|items| standard::expected_rate(shape.vector, items, shape.hashes));
        Ok(Plan { bits: shape.bits(), hashes: shape.hashes, items, fpr })
    }

    fn empty(settings: &OptihashSettings, _: &Hashing) -> Result<Self> {
        let shape = Shape::of(settings)?;
        Ok(SearchedBits { shape, bits: BitStore::zeroed(shape.bits())?, parameters: (0, 0), known: 0, wrong: 0 })
    }

    fn domain(settings: &OptihashSettings) -> String {
        bit_array::domain(Self::FACTS.id, settings.bits, settings.hashes)
    }

    fn stats(&self, items: u64) -> Stats {
        let Shape { vector, hashes, .. } = self.shape;
        let fill = self.ones() as f64 / vector as f64;
        let fpr = Some(fill.powi(hashes as i32));
        Stats { items, bits: self.shape.bits(), hashes, fill: Some(fill), fpr, honest_fill: None }
    }

    fn figures(&self) -> Vec<Figure> {
        let (alpha, beta) = self.parameters;
        let figures = [
            ("alpha", alpha),
            ("beta", beta),
            ("known strangers", self.known),
            ("false positives among them", self.wrong),
        ];
        figures.map(|(name, count)| Figure { name, value: Setting::Count(count) }).to_vec()
    }

    fn expected(&self, items: u64) -> Rates {
        let rate = standard::expected_rate(self.shape.vector, items, self.shape.hashes);
        Rates { false_positive: Some(rate), ..Rates::default() }
    }

    /// State: items, known strangers, how many of them are false positives. Store: vector and parameters, as bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        [items, self.known, self.wrong].iter().for_each(|number| encoder.state().u64(*number));
        encoder.bits(&self.bits);
    }

    fn decode(settings: &OptihashSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = Shape::of(settings)?;
        let [items, known, wrong] = [decoder.state().u64()?, decoder.state().u64()?, decoder.state().u64()?];
        if wrong > known {
            return Err(Error::corrupt("false positives", format!("at most {known}, the known strangers"), wrong));
        }
        let mut filter = SearchedBits { shape, bits: decoder.bits(shape.bits())?, parameters: (0, 0), known, wrong };
        filter.read_parameters();
        Ok((filter, items))
    }
}

impl Test for SearchedBits {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let mut residues = self.shape.residues(key.digest);
        residues.all(|residues| self.bits.get(self.shape.hash(residues, self.parameters) % self.shape.vector))
    }
}

impl Gather for SearchedBits {
    fn gather<K: Key>(
        asked: &OptihashSettings,
        hashing: &Hashing,
        keys: &[K],
        absent: &[K],
    ) -> Result<(OptihashSettings, Self, u64)> {
        let settings = Self::resolve(asked)?;
        let (mut best, own) = (Self::empty(&settings, hashing)?, Self::hashing(&settings, hashing));
        let [members, strangers] = members_and_strangers(&own, keys, absent);
        let shape = best.shape;
        let (mut inside, mut outside) = (Walk::new(shape, &members), Walk::new(shape, &strangers));
        let mut vector = BitStore::zeroed(shape.bits())?;
        let (trial, cost) = choose(shape.trials(), |trial, least| {
            inside.step(trial);
            outside.step(trial);
            vector.clear_run(0, shape.vector);
            inside.keys().for_each(|positions| positions.for_each(|position| _ = vector.set(position)));
            // As many false positives as the best has are enough to know.
            let most = usize::try_from(least.div_ceil(shape.vector + 1)).unwrap_or(usize::MAX);
            let wrong = outside.keys().filter_map(|mut key| key.all(|position| vector.get(position)).then_some(()));
            match wrong.take(most).count() as u64 {
                0 => Some(0),
                wrong => Some(wrong * (shape.vector + 1) + vector.count_ones()),
            }
        });
        (best.known, best.wrong) = (strangers.len() as u64, cost / (shape.vector + 1));
        let parameters = shape.parameters(trial);
        for residues in members.iter().flat_map(|&member| shape.residues(member)) {
            best.bits.set(shape.hash(residues, parameters) % shape.vector);
        }
        best.set_parameters(trial);
        Ok((settings, best, members.len() as u64))
    }
}

impl Optihash {
    /// How the search for a hash would end with this many known strangers: of the keys that are in, or that it is made for.
    ///
    /// ```
    /// use bouquet::{Optihash, OptihashSettings};
    /// let made_for = |items| OptihashSettings { items: Some(items), bits: Some(256), hashes: Some(1), ..Default::default() };
    /// assert_eq!(Optihash::with(made_for(20))?.forecast(100).fewest(), 0);
    /// assert!(Optihash::with(made_for(35))?.forecast(150).fewest() > 3, "too full for one position per key");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn forecast(&self, known: u64) -> selection::Outlook {
        let shape = self.mechanism.shape;
        selection::Outlook::new(shape.trials(), standard::rate(shape.vector, self.planned(), shape.hashes), known)
    }

    /// The false positives that a standard filter of the same size is expected to have among this many strangers.
    ///
    /// ```
    /// use bouquet::{Optihash, OptihashSettings};
    /// let settings = OptihashSettings { items: Some(35), bits: Some(256), ..Default::default() };
    /// assert!((3.0..5.0).contains(&Optihash::with(settings)?.plain_false_positives(150)));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn plain_false_positives(&self, known: u64) -> f64 {
        selection::plain_false_positives(self.mechanism.shape.bits(), self.planned(), known)
    }

    fn planned(&self) -> u64 {
        if self.items() > 0 { self.items() } else { self.settings().items.unwrap_or(1) }
    }
}

#[cfg(test)]
mod tests;
