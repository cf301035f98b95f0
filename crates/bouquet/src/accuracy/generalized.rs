#![doc = include_str!("generalized.md")]

use crate::capability::{Compress, Contains, Insert, Item, NoteType};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, Hashing, SplitMix};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{
    Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Plan, Rates, Setting, Stats, Structure, Text, common,
    kind,
};
use crate::simd::prefetch;
use crate::store::BitStore;
use crate::theory::generalized::{self, Shape};
use crate::theory::{MAX_BITS, special};

/// A generalized Bloom filter.
///
/// ```
/// use bouquet::accuracy::generalized::GeneralizedBloom;
/// let mut filter = GeneralizedBloom::with_bounds(100, 0.02, 0.05)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
///
/// let forged = GeneralizedBloom::ones(filter.shape())?;
/// assert!(!forged.contains("rose") && !forged.contains("thistle"), "all ones contain nothing");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralizedBloom {
    shape: Shape,
    hashing: Hashing,
    bits: BitStore,
    /// Insertions, duplicates included.
    items: u64,
    start: Start,
    /// Zeros before the first insertion.
    start_zeros: u64,
    asked: Asked,
}

/// The registry's row.
pub const KIND: Kind = kind!(GeneralizedBloom);

/// What an empty filter holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Zeros,
    Ones,
    /// Each bit is zero with this chance.
    Random {
        zeros: f64,
        seed: u64,
    },
}

/// What the filter was asked for, besides its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Asked {
    items: Option<u64>,
    fpr: Option<f64>,
    fnr: Option<f64>,
    ratio: Option<f64>,
}

impl Start {
    fn new(config: &Config) -> Self {
        match config.choice("start") {
            "ones" => Start::Ones,
            "random" => Start::Random {
                zeros: config.real("start-zeros").unwrap_or(0.5),
                seed: config.count("start-seed").unwrap_or(0),
            },
            _ => Start::Zeros,
        }
    }

    fn settings(self, config: Config) -> Config {
        match self {
            Start::Zeros => config,
            Start::Ones => config.put("start", Setting::Choice("ones")),
            Start::Random { zeros, seed } => config
                .put("start", Setting::Choice("random"))
                .put("start-zeros", Setting::Real(zeros))
                .put("start-seed", Setting::Count(seed)),
        }
    }

    /// An array of so many bits as it is before the first insertion.
    fn bits(self, len: u64) -> Result<BitStore> {
        let mut bits = BitStore::zeroed(len)?;
        match self {
            Start::Zeros => {}
            Start::Ones => (0..len).for_each(|index| {
                bits.set(index);
            }),
            Start::Random { zeros, seed } => {
                let mut random = SplitMix::new(seed);
                for index in (0..len).filter(|_| random.unit() >= zeros) {
                    bits.set(index);
                }
            }
        }
        Ok(bits)
    }
}

/// The shape that the settings describe: by both bounds, by size and balance, or by size alone.
fn shape(config: &Config) -> Result<Shape> {
    let functions = |name| config.count(name).map(|count| count as u32);
    let items = || config.need("items");
    let fnr = config.real("fnr").unwrap_or(DEFAULT_FNR);
    let shape = match (config.count("bits"), functions("reset-hashes"), functions("set-hashes")) {
        (_, Some(0), Some(0)) => return Err(Error::parameter("set-hashes", "at least 1 if `reset-hashes` is 0", 0)),
        (Some(bits), Some(resets), Some(sets)) => Shape { bits, resets, sets },
        (None, Some(resets), Some(sets)) if resets > 0 && sets > 0 => {
            generalized::with_functions(items()?, resets, sets, fnr)?
        }
        (None, Some(_), Some(_)) => {
            let expected = "given where there are functions of one sort only, which no bound sizes";
            return Err(Error::parameter("bits", expected, "missing"));
        }
        (_, Some(_), None) => return Err(Error::parameter("set-hashes", "given with `reset-hashes`", "missing")),
        (_, None, Some(_)) => return Err(Error::parameter("reset-hashes", "given with `set-hashes`", "missing")),
        (Some(bits), None, None) => {
            let best = generalized::balance(bits as f64 / items()? as f64, config.real("ratio").unwrap_or(1.0))?.best;
            Shape { bits, resets: best.resets, sets: best.sets }
        }
        (None, None, None) => generalized::for_bounds(items()?, config.real("fpr").unwrap_or(0.01), fnr)?,
    };
    if shape.bits > MAX_BITS {
        return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(shape.bits) / 8 });
    }
    Ok(shape)
}

/// The settings of a shape.
fn settings(shape: Shape) -> Config {
    Config::new(KIND.facts())
        .put("bits", Setting::Count(shape.bits))
        .put("reset-hashes", Setting::Count(shape.resets.into()))
        .put("set-hashes", Setting::Count(shape.sets.into()))
}

/// Settings of a shape that a caller gives, within the ranges of the schema.
fn checked(shape: Shape) -> Result<Config> {
    Config::new(KIND.facts())
        .with("bits", Setting::Count(shape.bits))?
        .with("reset-hashes", Setting::Count(shape.resets.into()))?
        .with("set-hashes", Setting::Count(shape.sets.into()))
}

impl GeneralizedBloom {
    /// A filter for `items` keys whose false-positive rate is never above `fpr`, whatever it holds, and that misses no key with
    /// a greater chance than `fnr`. About 2 k0 k1 / fnr bits per key: hundreds.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let filter = GeneralizedBloom::with_bounds(1_000, 0.016, 0.01)?;
    /// assert_eq!((filter.shape().resets, filter.shape().sets), (3, 3));
    /// assert_eq!(filter.shape().bits / 1_000, 1_789);
    /// assert!(filter.bound() <= 0.016 && filter.miss_bound(1_000) <= 0.01);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_bounds(items: u64, fpr: f64, fnr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("fpr", Setting::Real(fpr))?.with("fnr", Setting::Real(fnr))?)
    }

    /// [`with_bounds`](Self::with_bounds) with false negatives of at most 5 %.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let filter = GeneralizedBloom::with_rate(1_000, 0.01)?;
    /// assert!(filter.bound() <= 0.01 && filter.miss_bound(1_000) <= 0.05);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: u64, fpr: f64) -> Result<Self> {
        Self::with_bounds(items, fpr, DEFAULT_FNR)
    }

    /// A filter of `bits` bits for `items` keys with the functions that make the bound of its false-positive rate about `ratio`
    /// times that of its false negatives.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let even = GeneralizedBloom::with_balance(1_000, 128_000, 1.0)?;
    /// assert!(even.bound() == 0.0625 && (even.miss_bound(1_000) - 0.0601).abs() < 5e-5);
    /// let fewer_misses = GeneralizedBloom::with_balance(1_000, 128_000, 3.0)?;
    /// assert!(fewer_misses.miss_bound(1_000) < even.miss_bound(1_000));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_balance(items: u64, bits: u64, ratio: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("items", Setting::Count(items))?;
        Self::from_config(&config.with("bits", Setting::Count(bits))?.with("ratio", Setting::Real(ratio))?)
    }

    /// A filter of this shape that begins with zeros: k0 = 0 makes it the standard filter.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let mut filter = GeneralizedBloom::zeros(Shape { bits: 1_000, resets: 0, sets: 5 })?;
    /// filter.insert_batch(&(0..100u64).collect::<Vec<_>>());
    /// assert!((0..100u64).all(|key| filter.contains(&key)), "no bit is ever reset");
    /// assert!(GeneralizedBloom::zeros(Shape { bits: 1_000, resets: 0, sets: 0 }).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn zeros(shape: Shape) -> Result<Self> {
        Self::from_config(&checked(shape)?)
    }

    /// A filter of this shape that begins with ones.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let mut filter = GeneralizedBloom::ones(Shape { bits: 1_000, resets: 2, sets: 2 })?;
    /// filter.insert("rose");
    /// assert_eq!(filter.bits().count_ones(), 998);
    /// assert!(filter.contains("rose") && !filter.contains("lily"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn ones(shape: Shape) -> Result<Self> {
        Self::from_config(&checked(shape)?.with("start", Setting::Choice("ones"))?)
    }

    /// A filter of this shape whose bits begin as zero with the chance `zeros` each, the same ones for the same seed.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let shape = Shape { bits: 100_000, resets: 2, sets: 2 };
    /// let filter = GeneralizedBloom::bernoulli(shape, 0.25, 7)?;
    /// assert!((filter.bits().fill() - 0.75).abs() < 0.007); // 5 standard deviations
    /// assert_eq!(filter, GeneralizedBloom::bernoulli(shape, 0.25, 7)?);
    /// assert_eq!(GeneralizedBloom::bernoulli(shape, 1.0, 7)?, GeneralizedBloom::zeros(shape)?);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn bernoulli(shape: Shape, zeros: f64, seed: u64) -> Result<Self> {
        if zeros == 1.0 {
            return Self::zeros(shape);
        }
        if zeros == 0.0 {
            return Self::ones(shape);
        }
        let config = checked(shape)?.with("start", Setting::Choice("random"))?;
        Self::from_config(&config.with("start-zeros", Setting::Real(zeros))?.with("start-seed", Setting::Count(seed))?)
    }

    /// A filter of this shape that begins with these bits, whatever they are. Its [settings](Structure::config) tell of the
    /// shape alone: an empty filter that is made from them begins with zeros.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, store::BitStore, theory::generalized::Shape};
    /// let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// let mut bits = BitStore::zeroed(1_000)?;
    /// (0..500).for_each(|index| assert!(bits.set(index)));
    /// let filter = GeneralizedBloom::from_bits(shape, bits)?;
    /// assert!((filter.rate_now() - 0.0630).abs() < 1e-4, "the worst there is");
    /// assert!(GeneralizedBloom::from_bits(shape, BitStore::zeroed(999)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bits(shape: Shape, bits: BitStore) -> Result<Self> {
        let config = checked(shape)?;
        let shape = self::shape(&config)?;
        same("bits", shape.bits, bits.len())?;
        let start_zeros = bits.len() - bits.count_ones();
        Ok(Self::with_parts(&config, shape, bits, 0, start_zeros))
    }

    /// An empty filter of the settings in `config`, which must be for this kind.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::{GeneralizedBloom, KIND}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "1000")?.set("reset-hashes", "2")?.set("set-hashes", "3")?;
    /// let filter = GeneralizedBloom::from_config(&config.set("fnr", "0.0456")?)?;
    /// assert_eq!(filter.shape().bits / 1000, 255);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_config(config: &Config) -> Result<Self> {
        let shape = shape(config)?;
        let bits = Start::new(config).bits(shape.bits)?;
        let start_zeros = bits.len() - bits.count_ones();
        Ok(Self::with_parts(config, shape, bits, 0, start_zeros))
    }

    fn with_parts(config: &Config, shape: Shape, bits: BitStore, items: u64, start_zeros: u64) -> Self {
        let real = |name| config.is_set(name).then(|| config.real(name)).flatten();
        let asked = Asked { items: config.count("items"), fpr: real("fpr"), fnr: real("fnr"), ratio: real("ratio") };
        let hashing = config.hashing().clone().bind(&domain(shape));
        GeneralizedBloom { shape, hashing, bits, items, start: Start::new(config), start_zeros, asked }
    }

    /// The same content under other functions: for a filter that holds no keys yet, or one of those functions.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, hash::Hashing, theory::generalized::Shape};
    /// let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// let mut filter = GeneralizedBloom::zeros(shape)?.hashed(Hashing::seeded(7));
    /// filter.insert("rose");
    /// assert!(filter.contains("rose") && !filter.hashed(Hashing::seeded(8)).contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn hashed(mut self, hashing: Hashing) -> Self {
        self.hashing = hashing.bind(&domain(self.shape));
        self
    }

    /// m, k0 and k1, which tell its errors: see [`Shape`].
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let shape = GeneralizedBloom::with_rate(1_000, 0.01)?.shape();
    /// assert_eq!((shape.resets, shape.sets), (4, 3));
    /// assert!(shape.mean_miss_rate(1_000) < shape.miss_rate(1_000), "the average key is younger than the first");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The array.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let filter = GeneralizedBloom::ones(Shape { bits: 1_000, resets: 2, sets: 2 })?;
    /// assert_eq!(filter.bits().count_ones(), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> &BitStore {
        &self.bits
    }

    /// Insertions so far, duplicates included.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let mut filter = GeneralizedBloom::with_rate(100, 0.01)?;
    /// filter.insert_batch(&["rose", "lily", "rose"]);
    /// assert_eq!(filter.items(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// F_p, which the false-positive rate never exceeds in large arrays; in small ones
    /// [`Shape::largest_rate`], a little more.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let filter = GeneralizedBloom::ones(Shape { bits: 1_000, resets: 3, sets: 3 })?;
    /// assert_eq!(filter.bound(), 1.0 / 64.0);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bound(&self) -> f64 {
        generalized::bound(self.shape.resets.into(), self.shape.sets.into())
    }

    /// F_n, which the chance that one of the last `items` keys is missed never exceeds.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let filter = GeneralizedBloom::zeros(Shape { bits: 12_800, resets: 2, sets: 2 })?;
    /// assert!((filter.miss_bound(100) - 0.0601).abs() < 5e-5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn miss_bound(&self, items: u64) -> f64 {
        let Shape { bits, resets, sets } = self.shape;
        if items == 0 { 0.0 } else { generalized::miss_bound(resets.into(), sets.into(), bits as f64 / items as f64) }
    }

    /// The false-positive rate of this very content.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let shape = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// assert_eq!(GeneralizedBloom::ones(shape)?.rate_now(), 0.0);
    /// assert!(GeneralizedBloom::bernoulli(shape, 0.5, 1)?.rate_now() > 0.06);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rate_now(&self) -> f64 {
        self.shape.rate_of_array(self.bits.len() - self.bits.count_ones())
    }

    /// Refuses a filter that a peer has sent if it has another shape than was agreed: with fewer functions its bound would be
    /// another. How full it is need not be looked at.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let agreed = Shape { bits: 1_000, resets: 2, sets: 2 };
    /// assert!(GeneralizedBloom::ones(agreed)?.validate(agreed).is_ok(), "it accepts nothing");
    /// let forged = GeneralizedBloom::ones(Shape { resets: 0, ..agreed })?;
    /// assert!(forged.contains("everything") && forged.validate(agreed).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn validate(&self, agreed: Shape) -> Result<()> {
        same("bits", agreed.bits, self.shape.bits)?;
        same("resetting functions", agreed.resets, self.shape.resets)?;
        same("setting functions", agreed.sets, self.shape.sets)
    }

    /// Inserts a key and says whether it seemed to be new. A duplicate becomes the newest key again.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let mut filter = GeneralizedBloom::with_rate(100, 0.01)?;
    /// assert!(filter.insert("rose"));
    /// assert!(!filter.insert("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> bool {
        let (resets, sets) = self.functions(digest);
        self.put(resets, sets)
    }

    /// Whether the key seems to be in the set.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let mut filter = GeneralizedBloom::with_rate(100, 0.01)?;
    /// filter.insert_batch(&(0..100u64).collect::<Vec<_>>());
    /// assert!(filter.contains(&99u64), "the last is always found");
    /// let found = (0..100u64).filter(|key| filter.contains(key)).count();
    /// assert!(found >= 90, "the others nearly always: {found}");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(key.digest(&self.hashing))
    }

    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let (resets, sets) = self.functions(digest);
        self.has(resets, sets)
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

    /// Inserts a key that has these positions, from functions of the caller's. Positions beyond the end do nothing.
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, hash::UniversalHash, theory::generalized::Shape};
    /// let mut filter = GeneralizedBloom::ones(Shape { bits: 1_280, resets: 2, sets: 2 })?;
    /// let functions: Vec<_> = UniversalHash::from_seed(1).take(4).collect();
    /// let positions = |key: u64| functions.iter().map(|hash| hash.position(key, 1_280)).collect::<Vec<_>>();
    /// let [rose, lily] = [1, 2].map(positions);
    /// filter.insert_at(&rose[..2], &rose[2..]);
    /// assert!(filter.contains_at(&rose[..2], &rose[2..]) && !filter.contains_at(&lily[..2], &lily[2..]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_at(&mut self, resets: &[u64], sets: &[u64]) -> bool {
        self.put(resets.iter().copied(), sets.iter().copied())
    }

    /// Whether a key that has these positions seems to be in the set; see [`insert_at`](Self::insert_at).
    ///
    /// ```
    /// use bouquet::{accuracy::generalized::GeneralizedBloom, theory::generalized::Shape};
    /// let mut filter = GeneralizedBloom::zeros(Shape { bits: 10, resets: 2, sets: 2 })?;
    /// filter.insert_at(&[3, 5], &[5, 7]);
    /// assert!(filter.bits().ones().eq([7]), "resetting goes before setting");
    /// assert!(filter.contains_at(&[3, 5], &[5, 7]), "what a key resets itself it does not miss");
    /// assert!(!filter.contains_at(&[3, 4], &[5, 7]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn contains_at(&self, resets: &[u64], sets: &[u64]) -> bool {
        self.has(resets.iter().copied(), sets.iter().copied())
    }

    #[inline]
    fn put(&mut self, resets: impl Iterator<Item = u64> + Clone, sets: impl Iterator<Item = u64> + Clone) -> bool {
        let fresh = !self.has(resets.clone(), sets.clone());
        sets.for_each(|position| {
            self.bits.set(position);
        });
        resets.for_each(|position| self.bits.clear(position));
        self.items = self.items.saturating_add(1);
        fresh
    }

    #[inline]
    fn has(&self, resets: impl Iterator<Item = u64> + Clone, mut sets: impl Iterator<Item = u64>) -> bool {
        resets.clone().all(|position| !self.bits.get(position))
            && sets.all(|position| self.bits.get(position) || resets.clone().any(|own| own == position))
    }

    /// Inserts many keys, one after the other, and says how many seemed to be new.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let mut filter = GeneralizedBloom::with_rate(100, 0.01)?;
    /// assert_eq!(filter.insert_batch(&["rose", "lily", "rose"]), 2);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> u64 {
        let mut fresh = 0;
        for keys in keys.chunks(BATCH) {
            for digest in &self.digests(keys)[..keys.len()] {
                fresh += u64::from(self.insert_digest(*digest));
            }
        }
        fresh
    }

    /// The answers for many keys, `answers[i]` for `keys[i]`; the longer slice's rest is left alone.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let mut filter = GeneralizedBloom::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// let mut answers = [false; 2];
    /// filter.contains_batch(&["lily", "rose"], &mut answers);
    /// assert_eq!(answers, [false, true]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn contains_batch<K: Key>(&self, keys: &[K], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            for (answer, digest) in answers.iter_mut().zip(&self.digests(keys)[..keys.len()]) {
                *answer = self.contains_digest(*digest);
            }
        }
    }

    /// Hashes a batch and asks the memory for the words of every key before the first is looked at.
    #[inline]
    fn digests<K: Key>(&self, keys: &[K]) -> [Digest; BATCH] {
        let words = self.bits.words();
        digest_batch(&self.hashing, keys, |digest| {
            let (resets, sets) = self.functions(digest);
            resets.chain(sets).for_each(|position| prefetch(words, (position / 64) as usize));
        })
    }

    /// The frame.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let mut filter = GeneralizedBloom::with_rate(100, 0.01)?;
    /// filter.insert("rose");
    /// assert_eq!(GeneralizedBloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::codec::to_bytes(self)
    }

    /// Reads a frame of this kind.
    ///
    /// ```
    /// use bouquet::accuracy::generalized::GeneralizedBloom;
    /// let frame = GeneralizedBloom::with_rate(100, 0.01)?.to_bytes();
    /// assert!(GeneralizedBloom::from_bytes(&frame[..frame.len() - 1]).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        crate::codec::from_bytes(bytes)
    }
}

/// The domain of a secret's digests: filters of another kind or shape get unrelated ones.
fn domain(shape: Shape) -> String {
    format!("generalized {} {} {}", shape.bits, shape.resets, shape.sets)
}

/// The rates of a shape after so many insertions into an array of which this share was zero.
fn rates(shape: Shape, start_zeros: f64, items: u64) -> Rates {
    Rates {
        false_positive: Some(shape.exact_rate_at(shape.zeros(start_zeros, items))),
        false_negative: Some(shape.mean_miss_rate(items)),
        ..Rates::default()
    }
}

impl Structure for GeneralizedBloom {
    const FACTS: Facts = Facts {
        id: "generalized",
        number: 160,
        aliases: &["GBF", "generalised"],
        family: "accuracy",
        text: Text::new(include_str!("generalized.md")),
        errors: &[ErrorClass::FalsePositive, ErrorClass::FalseNegative],
        note: NoteType::None,
        parameters: &[ITEMS, FPR, FNR, RATIO, BITS, RESET_HASHES, SET_HASHES, START, START_ZEROS, START_SEED],
    };

    const IN_PLACE: bool = true;

    fn plan(config: &Config) -> Result<Plan> {
        let shape = shape(config)?;
        let items = config.count("items");
        let zeros = match Start::new(config) {
            Start::Zeros => 1.0,
            Start::Ones => 0.0,
            Start::Random { zeros, .. } => zeros,
        };
        let fpr = items.and_then(|items| rates(shape, zeros, items).false_positive);
        Ok(Plan { bits: shape.bits, hashes: shape.resets + shape.sets, items, fpr })
    }

    fn create(config: &Config) -> Result<Self> {
        Self::from_config(config)
    }

    fn config(&self) -> Config {
        let mut config = self.start.settings(settings(self.shape)).hashed(self.hashing.clone());
        if let Some(items) = self.asked.items {
            config = config.put("items", Setting::Count(items));
        }
        for (name, real) in [("fpr", self.asked.fpr), ("fnr", self.asked.fnr), ("ratio", self.asked.ratio)] {
            if let Some(real) = real {
                config = config.put(name, Setting::Real(real));
            }
        }
        config
    }

    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn stats(&self) -> Stats {
        Stats {
            items: self.items,
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

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u64(self.items);
        encoder.state().u64(self.start_zeros);
        encoder.bits(&self.bits);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let shape = shape(decoder.config())?;
        let (items, start_zeros) = (decoder.state().u64()?, decoder.state().u64()?);
        if start_zeros > shape.bits {
            return Err(Error::corrupt("zeros at the start", format!("at most {}", shape.bits), start_zeros));
        }
        let bits = decoder.bits(shape.bits)?;
        Ok(Self::with_parts(decoder.config(), shape, bits, items, start_zeros))
    }
}

/// False negatives unless asked otherwise: a fifth of the memory that 1 % takes.
const DEFAULT_FNR: f64 = 0.05;

const ITEMS: Parameter = Parameter { help: "keys that the filter is to remember", ..common::ITEMS };

const FPR: Parameter = Parameter { help: "bound of the false-positive rate, whatever the bits are", ..common::FPR };

const FNR: Parameter = Parameter {
    name: "fnr",
    help: "bound of the share of keys that are missed with that many keys; halving it doubles the memory",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(DEFAULT_FNR) },
};

const RATIO: Parameter = Parameter {
    name: "ratio",
    help: "with items and bits: how many times the bound of misses that of false positives is to be",
    of: ParameterType::Real { above: 0.0, below: 1e6, default: Some(1.0) },
};

const BITS: Parameter = Parameter { help: "size in bits, instead of the two bounds", ..common::BITS };

const RESET_HASHES: Parameter = Parameter {
    name: "reset-hashes",
    help: "functions that reset bits; 0 for the standard filter",
    of: ParameterType::Count { min: 0, max: generalized::MAX_FUNCTIONS as u64, default: None },
};

const SET_HASHES: Parameter = Parameter {
    name: "set-hashes",
    help: "functions that set bits",
    of: ParameterType::Count { min: 0, max: generalized::MAX_FUNCTIONS as u64, default: None },
};

const START: Parameter = Parameter {
    name: "start",
    help: "what the array holds at first",
    of: ParameterType::Choice { options: &["zeros", "ones", "random"] },
};

const START_ZEROS: Parameter = Parameter {
    name: "start-zeros",
    help: "chance that a bit is zero at first, for a random start",
    of: ParameterType::Real { above: 0.0, below: 1.0, default: Some(0.5) },
};

const START_SEED: Parameter = Parameter {
    name: "start-seed",
    help: "seed of a random start",
    of: ParameterType::Count { min: 0, max: u64::MAX, default: Some(0) },
};

impl Contains for GeneralizedBloom {
    fn contains(&self, key: &[u8]) -> bool {
        GeneralizedBloom::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        GeneralizedBloom::contains_batch(self, keys, answers);
    }
}

impl Insert for GeneralizedBloom {
    fn insert(&mut self, item: Item<'_>) -> Result<bool> {
        Ok(GeneralizedBloom::insert(self, item.bare()?))
    }

    fn insert_batch(&mut self, items: &[Item<'_>]) -> Result<u64> {
        let good = items.iter().take_while(|item| item.bare().is_ok()).count();
        let fresh = GeneralizedBloom::insert_batch(self, &items[..good]);
        // The first item that is not bare is the error; those before it are in.
        items.get(good).map_or(Ok(fresh), |item| item.bare().map(|_| fresh))
    }
}

impl Compress for GeneralizedBloom {
    fn entropy_bits(&self) -> f64 {
        self.bits.len() as f64 * special::entropy(self.bits.fill())
    }
}

#[cfg(test)]
mod tests;
