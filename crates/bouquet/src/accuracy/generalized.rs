#![doc = include_str!("generalized.md")]

use crate::capability::NoteType;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix};
use crate::kind::{ErrorClass, Facts, Kind, Plan, Rates, Stats, Text, kind};
use crate::shell::{Code, Filter, Hashed, Mechanism, Put, Test};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::generalized::{self, Shape};
use crate::theory::{special, standard};

mod settings;

pub use settings::{GeneralizedSettings, Start};
use settings::{START_SEED, START_ZEROS};

/// The registry's row.
pub const KIND: Kind = kind!(Generalized);

/// A generalized Bloom filter. By rate its false negatives are at most 5 %.
///
/// ```
/// use bouquet::Generalized;
/// let mut filter = Generalized::with_bounds(100, 0.02, 0.05)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
///
/// let forged = Generalized::ones(filter.shape())?;
/// assert!(!forged.contains("rose") && !forged.contains("thistle"), "all ones contain nothing");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Generalized = Filter<Resetting>;

/// Bits that keys set and reset.
#[derive(Clone, Debug, PartialEq)]
pub struct Resetting {
    shape: Shape,
    bits: BitStore,
    /// Zeros before the first insertion.
    start_zeros: u64,
}

impl Mechanism for Resetting {
    const FACTS: Facts = Facts {
        id: "generalized",
        number: 160,
        aliases: &["GBF", "generalised"],
        family: "accuracy",
        text: Text::new(include_str!("generalized.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[],
    };

    const IN_PLACE: bool = true;

    type Settings = GeneralizedSettings;

    fn resolve(asked: &GeneralizedSettings) -> Result<GeneralizedSettings> {
        let GeneralizedSettings { items, fpr, fnr, ratio, start, .. } = *asked;
        let settings = GeneralizedSettings { items, fpr, fnr, ratio, ..GeneralizedSettings::of(asked.shape()?) };
        Ok(match start {
            None | Some(Start::Zeros) => settings,
            Some(Start::Ones) => GeneralizedSettings { start, ..settings },
            Some(Start::Random) => GeneralizedSettings {
                start,
                start_zeros: Some(START_ZEROS.need(asked.start_zeros)?),
                start_seed: Some(START_SEED.need(asked.start_seed)?),
                ..settings
            },
        })
    }

    fn plan(settings: &GeneralizedSettings) -> Result<Plan> {
        let (shape, zeros, items) = (settings.shape()?, settings.zeros()?, settings.items);
        let fpr = items.and_then(|items| rates(shape, zeros, items).false_positive);
        Ok(Plan { bits: shape.bits, hashes: shape.resets + shape.sets, items, fpr })
    }

    /// What the bound costs, beside a plain filter of the same rate.
    fn advice(settings: &GeneralizedSettings) -> Option<String> {
        let (shape, items) = (settings.shape().ok()?, settings.items?);
        let own = shape.bits as f64 / items as f64;
        let plain = standard::optimal_bits_per_key(generalized::bound(shape.resets.into(), shape.sets.into()));
        (plain > 0.0 && own > 10.0 * plain).then(|| {
            format!(
                "generalized takes {own:.0} bits per key, so that its rate is bounded whatever its bits are; where the \
                 filter is not received from others, `standard` has the same rate with {plain:.1}"
            )
        })
    }

    fn empty(settings: &GeneralizedSettings, _: &Hashing) -> Result<Self> {
        let shape = settings.shape()?;
        let mut bits = BitStore::zeroed(shape.bits)?;
        let (zeros, mut random) = (settings.zeros()?, SplitMix::new(START_SEED.need(settings.start_seed)?));
        if zeros == 1.0 {
            return Ok(Resetting { shape, bits, start_zeros: shape.bits });
        }
        for index in (0..shape.bits).filter(|_| random.unit() >= zeros) {
            bits.set(index);
        }
        Ok(Resetting::new(shape, bits))
    }

    fn domain(settings: &GeneralizedSettings) -> String {
        let functions = |hashes: Option<u32>| hashes.unwrap_or(0);
        let (resets, sets) = (functions(settings.reset_hashes), functions(settings.set_hashes));
        format!("generalized {} {resets} {sets}", settings.bits.unwrap_or(0))
    }

    fn stats(&self, items: u64) -> Stats {
        Stats {
            items,
            bits: self.bits.len(),
            hashes: self.shape.resets + self.shape.sets,
            fill: Some(self.bits.fill()),
            fpr: Some(self.rate_now()),
            // Any fill is honest: the first content is the maker's choice, and none makes the filter accept more.
            honest_fill: None,
        }
    }

    fn expected(&self, items: u64) -> Rates {
        rates(self.shape, self.start_zeros as f64 / self.shape.bits as f64, items)
    }

    /// State: items, zeros at the start, 8 bytes each. Store: the bits.
    fn encode<'a>(&'a self, items: u64, encoder: &mut Encoder<'a>) {
        encoder.state().u64(items);
        encoder.state().u64(self.start_zeros);
        encoder.bits(&self.bits);
    }

    fn decode(settings: &GeneralizedSettings, decoder: &mut Decoder<'_>) -> Result<(Self, u64)> {
        let shape = settings.shape()?;
        let (items, start_zeros) = (decoder.state().u64()?, decoder.state().u64()?);
        if start_zeros > shape.bits {
            return Err(Error::corrupt("zeros at the start", format!("at most {}", shape.bits), start_zeros));
        }
        Ok((Resetting { shape, bits: decoder.bits(shape.bits)?, start_zeros }, items))
    }

    #[inline]
    fn reach(&self) -> u64 {
        self.bits.len()
    }

    #[inline]
    fn prefetch(&self, digest: Digest) {
        let (resets, sets) = self.functions(digest);
        resets.chain(sets).for_each(|position| prefetch(self.bits.words(), (position / 64) as usize));
    }
}

impl Test for Resetting {
    #[inline]
    fn test(&self, key: Hashed<'_>) -> bool {
        let (resets, sets) = self.functions(key.digest);
        self.has(resets, sets)
    }
}

impl Put for Resetting {
    type Note<'a> = ();
    type Outcome = bool;

    /// A duplicate becomes the newest key again.
    #[inline]
    fn put(&mut self, key: Hashed<'_>, (): ()) -> bool {
        let (resets, sets) = self.functions(key.digest);
        self.change(resets, sets)
    }
}

impl Code for Resetting {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * special::entropy(self.bits.fill())
    }
}

impl Resetting {
    fn new(shape: Shape, bits: BitStore) -> Self {
        Resetting { shape, start_zeros: bits.len() - bits.count_ones(), bits }
    }

    fn rate_now(&self) -> f64 {
        self.shape.rate_of_array(self.bits.len() - self.bits.count_ones())
    }

    /// The positions of g and of h.
    ///
    /// Each is mixed by itself, the ones from one half of the digest and the others from the other half. A recurrence, from
    /// which the third position follows from the first two, would do for arrays that honest keys have filled, but not for the
    /// bound: in an array of patterns that fit it, more keys would find all their bits as they want them.
    #[inline]
    fn functions(
        &self,
        digest: Digest,
    ) -> (impl Iterator<Item = u64> + Clone + use<>, impl Iterator<Item = u64> + Clone + use<>) {
        let positions = |half: u64, functions: u32| {
            let (mut random, bits) = (SplitMix::new(half), self.shape.bits);
            (0..functions).map(move |_| random.below(bits))
        };
        (positions(digest.h2, self.shape.resets), positions(digest.h1, self.shape.sets))
    }

    #[inline]
    fn change(&mut self, resets: impl Iterator<Item = u64> + Clone, sets: impl Iterator<Item = u64> + Clone) -> bool {
        let fresh = !self.has(resets.clone(), sets.clone());
        sets.for_each(|position| {
            self.bits.set(position);
        });
        resets.for_each(|position| self.bits.clear(position));
        fresh
    }

    #[inline]
    fn has(&self, resets: impl Iterator<Item = u64> + Clone, mut sets: impl Iterator<Item = u64>) -> bool {
        resets.clone().all(|position| !self.bits.get(position))
            && sets.all(|position| self.bits.get(position) || resets.clone().any(|own| own == position))
    }
}

impl Generalized {
    /// A filter for `items` keys whose false-positive rate is never above `fpr`, whatever it holds, and that misses no key with
    /// a greater chance than `fnr`. About 2 k0 k1 / fnr bits per key: hundreds.
    ///
    /// ```
    /// use bouquet::Generalized;
    /// let filter = Generalized::with_bounds(1_000, 0.016, 0.01)?;
    /// assert_eq!((filter.shape().resets, filter.shape().sets), (3, 3));
    /// assert_eq!(filter.shape().bits / 1_000, 1_789);
    /// assert!(filter.bound() <= 0.016 && filter.miss_bound(1_000) <= 0.01);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_bounds(items: u64, fpr: f64, fnr: f64) -> Result<Self> {
        Self::with(GeneralizedSettings { items: Some(items), fpr: Some(fpr), fnr: Some(fnr), ..Default::default() })
    }

    /// A filter of `bits` bits for `items` keys with the functions that make the bound of its false-positive rate about `ratio`
    /// times that of its false negatives.
    ///
    /// ```
    /// use bouquet::Generalized;
    /// let even = Generalized::with_balance(1_000, 128_000, 1.0)?;
    /// assert!(even.bound() == 0.0625 && (even.miss_bound(1_000) - 0.0601).abs() < 5e-5);
    /// let fewer_misses = Generalized::with_balance(1_000, 128_000, 3.0)?;
    /// assert!(fewer_misses.miss_bound(1_000) < even.miss_bound(1_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_balance(items: u64, bits: u64, ratio: f64) -> Result<Self> {
        Self::with(GeneralizedSettings {
            items: Some(items),
            bits: Some(bits),
            ratio: Some(ratio),
            ..Default::default()
        })
    }

    /// A filter of this shape that begins with zeros: k0 = 0 makes it the standard filter.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let mut filter = Generalized::zeros(Shape { bits: 1_000, resets: 0, sets: 5 })?;
    /// filter.insert_batch(&(0..100u64).collect::<Vec<_>>());
    /// assert!((0..100u64).all(|key| filter.contains(&key)), "no bit is ever reset");
    /// assert!(Generalized::zeros(Shape { bits: 1_000, resets: 0, sets: 0 }).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn zeros(shape: Shape) -> Result<Self> {
        Self::with(GeneralizedSettings::of(shape))
    }

    /// A filter of this shape that begins with ones.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let mut filter = Generalized::ones(Shape { bits: 1_000, resets: 2, sets: 2 })?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 998);
    /// assert!(filter.contains("rose") && !filter.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn ones(shape: Shape) -> Result<Self> {
        Self::with(GeneralizedSettings { start: Some(Start::Ones), ..GeneralizedSettings::of(shape) })
    }

    /// A filter of this shape whose bits begin as zero with the chance `zeros` each, the same ones for the same seed.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let shape = Shape { bits: 100_000, resets: 2, sets: 2 };
    /// let filter = Generalized::bernoulli(shape, 0.25, 7)?;
    /// assert!((filter.bits().fill() - 0.75).abs() < 0.007); // 5 standard deviations
    /// assert_eq!(filter, Generalized::bernoulli(shape, 0.25, 7)?);
    /// assert_eq!(Generalized::bernoulli(shape, 1.0, 7)?, Generalized::zeros(shape)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn bernoulli(shape: Shape, zeros: f64, seed: u64) -> Result<Self> {
        if zeros == 1.0 {
            return Self::zeros(shape);
        }
        if zeros == 0.0 {
            return Self::ones(shape);
        }
        Self::with(GeneralizedSettings {
            start: Some(Start::Random),
            start_zeros: Some(zeros),
            start_seed: Some(seed),
            ..GeneralizedSettings::of(shape)
        })
    }

    /// A filter of this shape that begins with these bits, whatever they are. Its [settings](Filter::settings) tell of the
    /// shape alone: an empty filter that is made from them begins with zeros.
    ///
    /// ```
    /// use bouquet::{Generalized, store::BitStore, theory::generalized::Shape};
    /// let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// let mut bits = BitStore::zeroed(1_000)?;
    /// (0..500).for_each(|index| assert!(bits.set(index)));
    /// let filter = Generalized::from_bits(shape, bits)?;
    /// assert!((filter.rate_now() - 0.0630).abs() < 1e-4, "the worst there is");
    /// assert!(Generalized::from_bits(shape, BitStore::zeroed(999)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bits(shape: Shape, bits: BitStore) -> Result<Self> {
        let mut filter = Self::zeros(shape)?;
        same("bits", shape.bits, bits.len())?;
        filter.mechanism = Resetting::new(shape, bits);
        Ok(filter)
    }

    /// The same content under other functions: for a filter that holds no keys yet, or one of those functions.
    ///
    /// ```
    /// use bouquet::{Generalized, hash::Hashing, theory::generalized::Shape};
    /// let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// let mut filter = Generalized::zeros(shape)?.under(Hashing::seeded(7));
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.under(Hashing::seeded(8)).contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn under(mut self, hashing: Hashing) -> Self {
        self.hashing = Resetting::hashing(&self.settings, &hashing);
        self
    }

    /// m, k0 and k1, which tell its errors: see [`Shape`].
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let shape = Generalized::with_rate(1_000, 0.01)?.shape();
    /// assert_eq!((shape.resets, shape.sets), (4, 3));
    /// assert!(shape.mean_miss_rate(1_000) < shape.miss_rate(1_000), "the average key is younger than the first");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.mechanism.shape
    }

    /// The array.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let filter = Generalized::ones(Shape { bits: 1_000, resets: 2, sets: 2 })?;
    /// assert_eq!(filter.bits().count_ones(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.mechanism.bits
    }

    /// F_p, which the false-positive rate never exceeds in large arrays; in small ones
    /// [`Shape::largest_rate`], a little more.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let filter = Generalized::ones(Shape { bits: 1_000, resets: 3, sets: 3 })?;
    /// assert_eq!(filter.bound(), 1.0 / 64.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bound(&self) -> f64 {
        generalized::bound(self.mechanism.shape.resets.into(), self.mechanism.shape.sets.into())
    }

    /// F_n, which the chance that one of the last `items` keys is missed never exceeds.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let filter = Generalized::zeros(Shape { bits: 12_800, resets: 2, sets: 2 })?;
    /// assert!((filter.miss_bound(100) - 0.0601).abs() < 5e-5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn miss_bound(&self, items: u64) -> f64 {
        let Shape { bits, resets, sets } = self.mechanism.shape;
        if items == 0 { 0.0 } else { generalized::miss_bound(resets.into(), sets.into(), bits as f64 / items as f64) }
    }

    /// The false-positive rate of this very content.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// assert_eq!(Generalized::ones(shape)?.rate_now(), 0.0);
    /// assert!(Generalized::bernoulli(shape, 0.5, 1)?.rate_now() > 0.06);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.mechanism.rate_now()
    }

    /// Refuses a filter that a peer has sent if it has another shape than was agreed: with fewer functions its bound would be
    /// another. How full it is need not be looked at.
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let agreed = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// assert!(Generalized::ones(agreed)?.validate(agreed).is_ok(), "it accepts nothing");
    /// let forged = Generalized::ones(Shape { resets: 0, ..agreed })?;
    /// assert!(forged.contains("everything") && forged.validate(agreed).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn validate(&self, agreed: Shape) -> Result<()> {
        same("bits", agreed.bits, self.mechanism.shape.bits)?;
        same("resetting functions", agreed.resets, self.mechanism.shape.resets)?;
        same("setting functions", agreed.sets, self.mechanism.shape.sets)
    }

    /// Inserts a key that has these positions, from functions of the caller's. Positions beyond the end do nothing.
    ///
    /// ```
    /// use bouquet::{Generalized, hash::UniversalHash, theory::generalized::Shape};
    /// let mut filter = Generalized::ones(Shape { bits: 1_280, resets: 2, sets: 2 })?;
    /// let functions: Vec<_> = UniversalHash::from_seed(1).take(4).collect();
    /// let positions = |key: u64| functions.iter().map(|hash| hash.position(key, 1_280)).collect::<Vec<_>>();
    /// let [rose, lily] = [1, 2].map(positions);
    /// filter.insert_at(&rose[..2], &rose[2..]);
    /// assert!(filter.contains_at(&rose[..2], &rose[2..]) && !filter.contains_at(&lily[..2], &lily[2..]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_at(&mut self, resets: &[u64], sets: &[u64]) -> bool {
        self.items += 1;
        self.mechanism.change(resets.iter().copied(), sets.iter().copied())
    }

    /// Whether a key that has these positions seems to be in the set; see [`insert_at`](Self::insert_at).
    ///
    /// ```
    /// use bouquet::{Generalized, theory::generalized::Shape};
    /// let mut filter = Generalized::zeros(Shape { bits: 10, resets: 2, sets: 2 })?;
    /// filter.insert_at(&[3, 5], &[5, 7]);
    /// assert!(filter.bits().ones().eq([7]), "resetting goes before setting");
    /// assert!(filter.contains_at(&[3, 5], &[5, 7]), "what a key resets itself it does not miss");
    /// assert!(!filter.contains_at(&[3, 4], &[5, 7]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_at(&self, resets: &[u64], sets: &[u64]) -> bool {
        self.mechanism.has(resets.iter().copied(), sets.iter().copied())
    }
}

/// The rates of a shape after this many insertions into an array of which this share was zero.
fn rates(shape: Shape, start_zeros: f64, items: u64) -> Rates {
    Rates {
        false_positive: Some(shape.exact_rate_at(shape.zeros(start_zeros, items))),
        false_negative: Some(shape.mean_miss_rate(items)),
        ..Rates::default()
    }
}

#[cfg(test)]
mod tests;
