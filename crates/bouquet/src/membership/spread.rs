//! The layout of `standard`, `partitioned` and `compressed`: k positions anywhere in m bits, or one in each of k slices.

use std::marker::PhantomData;

use crate::capability::Estimate;
use crate::error::{Error, Result};
use crate::hash::{Digest, Family, HashId, Hashing, Reduction, Scheme, fastrange, prime_from};
use crate::key::{BATCH, Key, digest_batch};
use crate::kind::{Facts, Parameter, ParameterType, common};
use crate::membership::layout::{
    Access, BitSettings, Layout, set_one_by_one, set_positions, test_one_by_one, test_positions,
};
use crate::shell::Choice;
use crate::simd::flat::{self, Kernel};
use crate::simd::{NEAR_BITS, SharedWord, View, Word, prefetch};
use crate::store::BitStore;
use crate::theory::{self, Size};

/// What distinguishes the kinds of this layout: their facts, their settings and how these size a filter.
///
/// ```
/// use bouquet::{BloomSettings, membership::{BitSettings, SpreadKind, standard::Anywhere}};
/// assert_eq!(Anywhere::size(&BloomSettings::default().sized(1_000, 5))?.bits, 1_000);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub trait SpreadKind<const SLICED: bool>: Clone + Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The facts of the kind.
    const FACTS: Facts;

    /// Whether frames are arithmetic-coded unless asked otherwise.
    const CODED: bool = false;

    /// The families that the kind has, its own first.
    const FAMILY: Parameter;

    /// The settings of the kind.
    type Settings: SpreadSettings;

    /// The size that the settings describe.
    fn size(settings: &Self::Settings) -> Result<Size>;
}

/// Settings that say how keys become positions.
///
/// ```
/// use bouquet::{BloomSettings, hash::Scheme, membership::{Reducing, SpreadSettings}};
/// let settings = BloomSettings::default().with_scheme(Scheme::default());
/// assert_eq!(settings.reduction, Some(Reducing::By(Scheme::default().reduction)));
/// ```
pub trait SpreadSettings: BitSettings {
    /// What was given of the scheme.
    fn scheme(&self) -> (Option<Family>, Option<Reducing>);

    /// The same settings with this scheme.
    #[must_use]
    fn with_scheme(self, scheme: Scheme) -> Self;
}

/// How a hash word becomes a position.
///
/// ```
/// use bouquet::{Bloom, BloomSettings, hash::Reduction, membership::Reducing};
/// let settings = BloomSettings { items: Some(100), reduction: Some(Reducing::Automatic), ..Default::default() };
/// assert_eq!(Bloom::with(settings)?.settings().reduction, Some(Reducing::By(Reduction::Fastrange32)));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reducing {
    /// As suits the family and the size.
    Automatic,
    /// So.
    By(Reduction),
}

impl Choice for Reducing {
    const WORDS: &'static [&'static str] = &["automatic", "fastrange", "modulo", "mask", "fastrange32"];
    const MEMBERS: &'static [Self] = &[
        Reducing::Automatic,
        Reducing::By(Reduction::Fastrange),
        Reducing::By(Reduction::Modulo),
        Reducing::By(Reduction::Mask),
        Reducing::By(Reduction::Fastrange32),
    ];
}

/// k positions anywhere in m bits, or (`SLICED`) one in each of k slices of m bits.
///
/// ```
/// use bouquet::{membership::{Layout, standard::Flat}, hash::{Hashing, Scheme}};
/// let flat = Flat::new(1_000, 5, Scheme::default())?;
/// let mut positions = Vec::new();
/// flat.all(Hashing::default().digest(b"rose"), |position| {
///     positions.push(position);
///     position < 1_000
/// });
/// assert_eq!(positions.len(), 5);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread<K, const SLICED: bool> {
    /// The bits of a slice; without slices all of them.
    span: u64,
    hashes: u32,
    scheme: Scheme,
    /// For the schemes that filters have by default.
    kernel: Option<Kernel<SLICED>>,
    kind: PhantomData<K>,
}

impl<K, const SLICED: bool> Spread<K, SLICED> {
    /// A layout of `bits` and `hashes`, with the positions that `scheme` gives; in slices, of at least `bits / hashes` bits, and more only
    /// where the scheme needs it.
    ///
    /// Double hashing modulo s visits every residue, and two keys meet in one slice at most unless they meet in all,
    /// only if s is a prime over k; so s is then raised to the next prime.
    ///
    /// ```
    /// use bouquet::hash::{Family, Reduction, Scheme};
    /// use bouquet::membership::{Layout, partitioned::Slices, standard::Flat};
    /// let masked = Scheme { family: Family::Double, reduction: Reduction::Mask };
    /// assert_eq!(Flat::new(1_024, 5, masked)?.bits(), 1_024);
    /// assert!(Flat::new(1_000, 5, masked).is_err(), "a mask needs a power of two");
    /// assert_eq!(Slices::new(1_000, 7, Scheme::default())?.slice_bits(), 143);
    /// let double = Scheme { family: Family::Double, reduction: Reduction::Modulo };
    /// assert_eq!(Slices::new(1_000, 7, double)?.bits(), 7 * 149);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(bits: u64, hashes: u32, scheme: Scheme) -> Result<Self> {
        if !SLICED {
            scheme.check(bits, hashes)?;
            return Ok(Self::of(bits, hashes, scheme));
        }
        if scheme.family.needs_key() {
            return Err(Error::parameter("family", "one whose positions follow from a digest", scheme.family.name()));
        }
        if bits > 1 << 62 {
            return Err(Error::parameter("bits", common::BITS.range(), bits));
        }
        let mut span = theory::partitioned::slice_bits(bits, hashes);
        if (scheme.family, scheme.reduction) == (Family::Double, Reduction::Modulo) {
            span = prime_from(span);
        }
        scheme.check(span, hashes).map_err(|error| match error {
            // The scheme speaks of what it reduces to, a slice.
            Error::Parameter { name, expected, .. } if name == "bits" => {
                Error::parameter("bits", format!("{hashes} times {expected}"), bits)
            }
            error => error,
        })?;
        Ok(Self::of(span, hashes, scheme))
    }

    /// A layout of slices of `span` bits, or one of that many, which the scheme must allow.
    fn of(span: u64, hashes: u32, scheme: Scheme) -> Self {
        let kernel = match scheme.reduction {
            Reduction::Fastrange | Reduction::Fastrange32 if scheme.family == own_scheme::<SLICED>().family => {
                Some(Kernel::new(span, hashes, scheme.reduction == Reduction::Fastrange32))
            }
            _ => None,
        };
        Spread { span, hashes, scheme, kernel, kind: PhantomData }
    }

    /// How keys become positions.
    ///
    /// ```
    /// use bouquet::{Bloom, Partitioned, membership::standard::KIND, hash::{Family, Reduction, Scheme}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "100")?;
    /// let scheme = Bloom::from_config(&config)?.layout().scheme();
    /// assert_eq!((scheme.family, scheme.reduction), (Family::EnhancedDouble, Reduction::Fastrange32));
    /// let scheme = Bloom::from_config(&config.set("family", "triple")?)?.layout().scheme();
    /// assert_eq!((scheme.family, scheme.reduction), (Family::Triple, Reduction::Fastrange));
    /// assert_eq!(Partitioned::with_rate(100, 0.01)?.layout().scheme(), Scheme::SLICES);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bits of a slice; without slices all of them.
    ///
    /// ```
    /// use bouquet::Partitioned;
    /// let filter = Partitioned::with_size(1_000, 7)?;
    /// assert_eq!(filter.layout().slice_bits(), 143, "1,000 / 7, rounded up");
    /// assert_eq!(filter.bits().len(), 7 * 143);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slice_bits(&self) -> u64 {
        self.span
    }

    /// The ones of each slice.
    pub(super) fn ones(&self, bits: &BitStore) -> Vec<u64> {
        let slices = if SLICED { self.hashes.into() } else { 1 };
        (0..slices).map(|slice| bits.count_ones_in(slice * self.span, (slice + 1) * self.span)).collect()
    }
}

/// The scheme that has a kernel.
fn own_scheme<const SLICED: bool>() -> Scheme {
    if SLICED { Scheme::SLICES } else { Scheme::default() }
}

/// How hash words become positions; see [`Reduction`].
pub(crate) const REDUCTION: Parameter = Parameter {
    name: "reduction",
    help: "how a hash word becomes a position; automatic: with the default family fastrange32 up to 2^27 bits, in slices from 2^10 on; else, and for wide digests, fastrange",
    of: ParameterType::Choice { options: Reducing::WORDS },
};

impl<K: SpreadKind<SLICED>, const SLICED: bool> Layout for Spread<K, SLICED> {
    const FACTS: Facts = K::FACTS;
    const CODED: bool = K::CODED;

    const HALVES: bool = true;

    type Settings = K::Settings;

    /// Whoever takes wide digests wants all of their bits; words of 32 bits come from half of them.
    fn suited(asked: K::Settings, hashing: &Hashing) -> K::Settings {
        match (hashing.id(), asked.scheme()) {
            (HashId::Xxh3Wide, (family, None | Some(Reducing::Automatic))) => match K::FAMILY.need(family) {
                Ok(family) => asked.with_scheme(Scheme { family, reduction: Reduction::Fastrange }),
                Err(_) => asked,
            },
            _ => asked,
        }
    }

    fn plan(settings: &K::Settings) -> Result<Self> {
        let Size { bits, hashes } = K::size(settings)?;
        let span = if SLICED { theory::partitioned::slice_bits(bits, hashes) } else { bits };
        let (family, reduction) = settings.scheme();
        let (family, own) = (K::FAMILY.need(family)?, own_scheme::<SLICED>().family);
        let narrow = if SLICED { Scheme::NARROW_SLICES } else { 1 }..=Scheme::NARROW_BITS;
        let reduction = match REDUCTION.need(reduction)? {
            Reducing::By(reduction) => reduction,
            Reducing::Automatic if family == own && narrow.contains(&span) => Reduction::Fastrange32,
            Reducing::Automatic => Reduction::Fastrange,
        };
        Self::new(bits, hashes, Scheme { family, reduction })
    }

    fn settings(&self, asked: K::Settings) -> K::Settings {
        asked.sized(self.bits(), self.hashes).with_scheme(self.scheme)
    }

    fn bits(&self) -> u64 {
        if SLICED { self.span * u64::from(self.hashes) } else { self.span }
    }

    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline(always)]
    fn needs_key(&self) -> bool {
        self.kernel.is_none() && self.scheme.family.needs_key()
    }

    #[inline]
    fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let (step, mut start) = (if SLICED { self.span } else { 0 }, 0);
        self.scheme.all(digest, self.span, self.hashes, |position| {
            let position = start + position;
            start += step;
            visit(position)
        })
    }

    fn all_of_key(&self, hashing: &Hashing, key: &[u8], visit: impl FnMut(u64) -> bool) -> bool {
        self.scheme.positions(hashing, key, self.span, self.hashes).iter().copied().all(visit)
    }

    fn expected_rate(&self, items: u64) -> f64 {
        if SLICED {
            theory::partitioned::rate(self.bits(), items, self.hashes)
        } else {
            theory::standard::expected_rate(self.bits(), items, self.hashes)
        }
    }

    fn rate_now(&self, bits: &BitStore) -> f64 {
        if SLICED {
            theory::partitioned::conditional_rate(&self.ones(bits), self.span)
        } else {
            bits.fill().powi(self.hashes as i32)
        }
    }

    fn expected_fill(&self, items: u64) -> (f64, f64) {
        let (slices, hashes) = if SLICED { (self.hashes, 1) } else { (1, self.hashes) };
        let mean = if SLICED {
            1.0 - theory::partitioned::zeros(self.bits(), items, self.hashes)
        } else {
            theory::spread::ones(self.span, items, hashes) / self.span as f64
        };
        let variance = f64::from(slices) * theory::spread::ones_variance(self.span, items, hashes);
        (mean, variance.sqrt() / self.bits() as f64)
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        let zeros: Vec<u64> = self.ones(bits).iter().map(|ones| self.span - ones).collect();
        match zeros[..] {
            [zeros] if !SLICED => Estimate::from_zeros(zeros, self.span, self.hashes),
            _ => Estimate::from_slices(&zeros, self.span),
        }
    }

    fn halved(&self) -> Option<Self> {
        let half = self.span / 2;
        let possible = self.span.is_multiple_of(2) && self.scheme.halving().is_some();
        (possible && self.scheme.check(half, self.hashes).is_ok()).then(|| Self::of(half, self.hashes, self.scheme))
    }

    fn fold(&self, position: u64) -> u64 {
        let (slice, place) = (position / self.span, position % self.span);
        let place = self.scheme.halving().map_or(place, |halving| halving.target(place, self.span));
        slice * (self.span / 2) + place
    }
}

impl<K: SpreadKind<SLICED>, const SLICED: bool> Access for Spread<K, SLICED> {
    const NEAR_WORDS: usize = (NEAR_BITS / 64) as usize;

    // While a filter is in some cache, the processor itself looks far enough ahead, and k prefetches per key cost more than they save.
    #[inline(always)]
    fn prefetches(&self, words: usize) -> bool {
        words > Self::NEAR_WORDS && !self.kernel.is_some_and(Kernel::has_vectors)
    }

    #[inline(always)]
    fn is_inline(&self) -> bool {
        self.kernel.is_some_and(Kernel::is_inline)
    }

    #[inline(always)]
    fn is_set_inline(&self, words: &[u64]) -> bool {
        self.kernel.is_some_and(|kernel| kernel.is_set_inline(words))
    }

    #[inline(always)]
    fn test<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        match &self.kernel {
            Some(kernel) => kernel.test(words, digest),
            None => test_positions(self, words, digest),
        }
    }

    #[inline(always)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.set(words, digest),
            None => set_positions(self, words, digest),
        }
    }

    #[inline(always)]
    fn set_shared<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        match &self.kernel {
            Some(kernel) => kernel.set_shared(words, digest),
            None => super::layout::set_positions_shared(self, words, digest),
        }
    }

    fn test_batch<W: Word, Q: Key>(&self, words: &[W], hashing: &Hashing, keys: &[Q], answers: &mut [bool]) {
        match (self.kernel, W::view(words)) {
            (Some(kernel), View::Plain(words)) if kernel.has_vectors() => {
                test_by_vectors(kernel, words, hashing, keys, answers);
            }
            (Some(kernel), View::Plain(words)) => self.test_in_rounds(kernel, words, hashing, keys, answers),
            _ => test_one_by_one(self, words, hashing, keys, answers),
        }
    }

    fn set_batch<Q: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[Q]) -> u64 {
        match self.kernel {
            Some(kernel) if kernel.has_vectors() => {
                let batches = keys.chunks(VECTOR_BATCH);
                batches.map(|keys| kernel.set_batch(words, &first_halves(hashing, keys)[..keys.len()])).sum()
            }
            _ => set_one_by_one(self, words, hashing, keys),
        }
    }
}

/// The keys that vector code takes at a time: absent ones leave in rounds, and between two of them the processor has less under way.
const VECTOR_BATCH: usize = flat::BATCH;

/// The halves of the digests that vector code needs.
#[inline(always)]
fn first_halves<Q: Key>(hashing: &Hashing, keys: &[Q]) -> [u64; VECTOR_BATCH] {
    let mut halves = [0; VECTOR_BATCH];
    for (half, key) in halves.iter_mut().zip(keys) {
        *half = key.digest(hashing).h1;
    }
    halves
}

/// [`Access::test_batch`] by vector code. To sift out absent keys is in vain if all are present: whether they are, the batch before tells,
/// and of many keys the first few.
fn test_by_vectors<const SLICED: bool, Q: Key>(
    kernel: Kernel<SLICED>,
    words: &[u64],
    hashing: &Hashing,
    keys: &[Q],
    answers: &mut [bool],
) {
    let first = if keys.len() > VECTOR_BATCH / 2 { BATCH.min(answers.len()) } else { 0 };
    let (few, many) = keys.split_at(first);
    let (few_answers, many_answers) = answers.split_at_mut(first);
    let batches = few.chunks(BATCH).chain(many.chunks(VECTOR_BATCH));
    let mut sift = true;
    for (keys, answers) in batches.zip(few_answers.chunks_mut(BATCH).chain(many_answers.chunks_mut(VECTOR_BATCH))) {
        kernel.test_batch(words, &first_halves(hashing, keys)[..keys.len()], answers, sift);
        sift = answers.iter().map(|answer| usize::from(*answer)).sum::<usize>() != answers.len();
    }
}

impl<K: SpreadKind<SLICED>, const SLICED: bool> Spread<K, SLICED> {
    /// [`Access::test_batch`] where there is no vector code.
    fn test_in_rounds<Q: Key>(
        &self,
        kernel: Kernel<SLICED>,
        words: &[u64],
        hashing: &Hashing,
        keys: &[Q],
        answers: &mut [bool],
    ) {
        let ahead = self.prefetches(words.len());
        for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let digests = digest_batch(hashing, keys, |digest| {
                if ahead {
                    // The first position, or with words of 32 bits one of its neighbours.
                    prefetch(words, (fastrange(digest.h1, self.span) / 64) as usize);
                }
            });
            kernel.test_digests::<BATCH>(words, &digests[..keys.len()], answers, ahead);
        }
    }
}
