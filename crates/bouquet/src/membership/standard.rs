#![doc = include_str!("standard.md")]

use std::sync::atomic::AtomicU64;

use crate::capability::{Estimate, NoteType};
use crate::error::{Error, Result};
use crate::hash::{Digest, Family, Hashing, Probes, Reduction, Scheme, fastrange};
use crate::key::{BATCH, Key, NEAR_BITS, digest_batch};
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::membership::layout::{digests, set_each, set_each_shared, test_each};
use crate::membership::{BitFilter, Layout};
use crate::simd::lanes::{self, Usual};
use crate::simd::{INLINED, flat, prefetch};
use crate::store::BitStore;
use crate::theory;

/// A standard Bloom filter.
///
/// ```
/// use bouquet::Bloom;
/// let mut filter = Bloom::with_rate(1_000, 0.01)?;
/// assert!(filter.insert("rose"), "certainly new");
/// assert!(!filter.insert("rose"));
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Bloom = BitFilter<Flat>;

/// The registry's row.
pub const KIND: Kind = kind!(Bloom);

/// k positions anywhere in m bits.
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
pub struct Flat {
    bits: u64,
    hashes: u32,
    scheme: Scheme,
    code: Code,
    usual: Usual,
}

/// The code of its own that a scheme has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Code {
    /// For eight positions at a time, from words of 32 bits.
    Lanes(lanes::Instructions),
    /// For one position after the other, from words of 32 bits.
    Narrow,
    /// The same from words of 64.
    Wide,
    /// None: the positions are computed by the scheme.
    Any,
}

impl Code {
    /// The code for a filter of `bits` bits with positions in slices (`SLICED`) or anywhere.
    pub(crate) fn of<const SLICED: bool>(scheme: Scheme, bits: u64, hashes: u32) -> Self {
        let own = if SLICED { Scheme::SLICES } else { Scheme::default() };
        match scheme.reduction {
            Reduction::Fastrange if scheme.family == own.family => Code::Wide,
            Reduction::Fastrange32 if scheme.family == own.family => match lanes::Instructions::detected() {
                Some(with) if bits <= u64::from(u32::MAX) && hashes <= lanes::MOST => Code::Lanes(with),
                _ => Code::Narrow,
            },
            _ => Code::Any,
        }
    }

    /// [`Layout::asks_ahead`]. While a filter is in some cache, the processor itself looks far enough ahead, and k requests per key cost
    /// more than they save. With vector code a key takes so few instructions that it always does.
    #[inline(always)]
    pub(crate) fn asks_ahead(self, far: bool) -> bool {
        far && !matches!(self, Code::Lanes(_))
    }

    /// The code that single calls have inlined.
    pub(crate) fn usual(self, bits: u64, hashes: u32) -> Usual {
        match self {
            Code::Lanes(with) => Usual::of(with, bits, hashes),
            _ => Usual::Not,
        }
    }
}

impl Flat {
    /// A layout of `bits` and `hashes`, with the positions that `scheme` gives.
    ///
    /// ```
    /// use bouquet::{membership::{Layout, standard::Flat}, hash::{Family, Reduction, Scheme}};
    /// let masked = Scheme { family: Family::Double, reduction: Reduction::Mask };
    /// assert_eq!(Flat::new(1_024, 5, masked)?.bits(), 1_024);
    /// assert!(Flat::new(1_000, 5, masked).is_err(), "a mask needs a power of two");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(bits: u64, hashes: u32, scheme: Scheme) -> Result<Self> {
        scheme.check(bits, hashes)?;
        let code = Code::of::<false>(scheme, bits, hashes);
        Ok(Flat { bits, hashes, scheme, code, usual: code.usual(bits, hashes) })
    }

    /// How keys become positions.
    ///
    /// ```
    /// use bouquet::{Bloom, membership::standard::KIND, hash::{Family, Reduction}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "100")?;
    /// let scheme = Bloom::from_config(&config)?.layout().scheme();
    /// assert_eq!((scheme.family, scheme.reduction), (Family::EnhancedDouble, Reduction::Fastrange32));
    /// let scheme = Bloom::from_config(&config.set("family", "triple")?)?.layout().scheme();
    /// assert_eq!((scheme.family, scheme.reduction), (Family::Triple, Reduction::Fastrange));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }
}

/// How keys become positions; see [`Family`].
pub(crate) const FAMILY: Parameter = Parameter {
    name: "family",
    help: "how a key's positions follow from its hash; the last three repeat published experiments",
    of: ParameterType::Choice {
        options: &[
            "enhanced-double",
            "double",
            "triple",
            "independent",
            "universal",
            "fig2",
            "sdbm-mersenne",
            "squid-md5",
        ],
    },
};

/// How hash words become positions; see [`Reduction`].
pub(crate) const REDUCTION: Parameter = Parameter {
    name: "reduction",
    help: "how a hash word becomes a position; automatic: with the default family fastrange32 up to 2^27 bits, in slices from 2^10 on, else fastrange",
    of: ParameterType::Choice { options: &["automatic", "fastrange", "modulo", "mask", "fastrange32"] },
};

/// The scheme that the settings `family` and `reduction` name, for a filter of `bits` bits, or slices of so many.
pub(crate) fn scheme<const SLICED: bool>(config: &Config, bits: u64) -> Result<Scheme> {
    let own = if SLICED { Scheme::SLICES } else { Scheme::default() };
    let narrow = if SLICED { Scheme::NARROW_SLICES } else { 1 }..=Scheme::NARROW_BITS;
    let unknown = |name| Error::parameter(name, "a known word", config.choice(name));
    let family = Family::from_name(config.choice("family")).ok_or_else(|| unknown("family"))?;
    let reduction = match config.choice("reduction") {
        "automatic" if family == own.family && narrow.contains(&bits) => Reduction::Fastrange32,
        "automatic" => Reduction::Fastrange,
        name => Reduction::from_name(name).ok_or_else(|| unknown("reduction"))?,
    };
    Ok(Scheme { family, reduction })
}

/// Out of line, so that a loop over keys with as many positions as usual has the registers for itself.
#[inline(never)]
fn set_shared_unusual<W>(
    layout: &Flat,
    words: &[W],
    digest: Digest,
    load: impl Fn(&W) -> u64,
    put: impl Fn(&W, u64),
) -> bool {
    match layout.code {
        Code::Narrow if layout.hashes == lanes::USUAL => {
            flat::set_shared::<true, _>(words, layout.bits, digest, load, put)
        }
        Code::Wide if layout.hashes == lanes::USUAL => {
            flat::set_shared::<false, _>(words, layout.bits, digest, load, put)
        }
        _ => set_each_shared(layout, words, digest, load, put),
    }
}

impl Layout for Flat {
    const FACTS: Facts = Facts {
        id: "standard",
        number: 1,
        aliases: &["BF", "SBF", "bloom", "classic"],
        family: "membership",
        text: Text::new(include_str!("standard.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, common::BITS, common::HASHES, FAMILY, REDUCTION],
    };

    const NEAR_WORDS: usize = (NEAR_BITS / 64) as usize;

    fn plan(config: &Config) -> Result<Self> {
        let size = common::size(config, "bits")?;
        Flat::new(size.bits, size.hashes, scheme::<false>(config, size.bits)?)
    }

    fn settings(&self, config: Config) -> Config {
        config
            .put("bits", Setting::Count(self.bits))
            .put("hashes", Setting::Count(self.hashes.into()))
            .put("family", Setting::Choice(self.scheme.family.name()))
            .put("reduction", Setting::Choice(self.scheme.reduction.name()))
    }

    fn bits(&self) -> u64 {
        self.bits
    }

    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline(always)]
    fn asks_ahead(&self, words: usize) -> bool {
        self.code.asks_ahead(words > Self::NEAR_WORDS)
    }

    #[inline(always)]
    fn needs_key(&self) -> bool {
        !self.usual.is_usual() && self.scheme.family.needs_key()
    }

    #[inline(always)]
    fn all(&self, digest: Digest, visit: impl FnMut(u64) -> bool) -> bool {
        if let Code::Lanes(_) = self.code {
            return Probes::of_family::<true>(Scheme::default().family, digest, self.bits, self.hashes).all(visit);
        }
        self.scheme.all(digest, self.bits, self.hashes, visit)
    }

    #[inline(always)]
    fn test(&self, words: &[u64], digest: Digest) -> bool {
        match self.usual.test::<false>(words, self.bits, digest.h1) {
            Some(found) => found,
            None => test_unusual::<false, _>(*self, self.bits, self.code, words, digest),
        }
    }

    #[inline(always)]
    fn test_loaded(&self, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
        match self.code {
            Code::Lanes(_) | Code::Narrow => flat::test_loaded::<true>(self.bits, self.hashes, digest, load),
            Code::Wide => flat::test_loaded::<false>(self.bits, self.hashes, digest, load),
            Code::Any => self.all(digest, |position| load((position / 64) as usize) >> (position % 64) & 1 == 1),
        }
    }

    #[inline(always)]
    fn test_shared(&self, words: &[AtomicU64], digest: Digest) -> Option<bool> {
        self.usual.test_shared::<false>(words, self.bits, digest.h1)
    }

    #[inline(always)]
    fn set_shared<W>(&self, words: &[W], digest: Digest, load: impl Fn(&W) -> u64, put: impl Fn(&W, u64)) -> bool {
        if self.hashes == lanes::USUAL && self.is_usual() {
            return flat::set_shared::<true, _>(words, self.bits, digest, load, put);
        }
        set_shared_unusual(self, words, digest, load, put)
    }

    #[inline(always)]
    fn is_usual(&self) -> bool {
        self.usual.is_usual()
    }

    #[inline(always)]
    fn is_set_inline(&self, words: &[u64]) -> bool {
        matches!(self.code, Code::Lanes(_) | Code::Narrow) & flat::holds::<false>(words, self.bits, self.hashes)
    }

    #[inline(always)]
    fn set_usually(&self, words: &mut [u64], digest: Digest) -> Option<bool> {
        if self.hashes == lanes::USUAL && self.is_usual() {
            return self.usual.set::<false>(words, self.bits, digest.h1);
        }
        match self.code {
            Code::Lanes(_) | Code::Narrow => flat::set_loop::<false>(words, self.bits, self.hashes, digest),
            _ => None,
        }
    }

    #[inline(always)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        set_unusual::<false, _>(*self, self.bits, self.code, words, digest)
    }

    fn test_batch<K: Key>(&self, words: &[u64], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        test_batch::<false, _, _>(*self, self.bits, self.code, words, hashing, keys, answers);
    }

    fn set_batch<K: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
        set_batch::<false, _, _>(*self, self.bits, self.code, words, hashing, keys)
    }

    fn all_of_key(&self, hashing: &Hashing, key: &[u8], visit: impl FnMut(u64) -> bool) -> bool {
        self.scheme.positions(hashing, key, self.bits, self.hashes).iter().copied().all(visit)
    }

    fn expected_rate(&self, items: u64) -> f64 {
        theory::standard::expected_rate(self.bits, items, self.hashes)
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        Estimate::from_zeros(bits.len() - bits.count_ones(), self.bits, self.hashes)
    }

    fn halved(&self) -> Option<Self> {
        let possible = self.bits.is_multiple_of(2) && self.scheme.halving().is_some();
        possible.then(|| Flat::new(self.bits / 2, self.hashes, self.scheme).ok()).flatten()
    }

    fn fold(&self, position: u64) -> u64 {
        self.scheme.halving().map_or(position, |halving| halving.target(position, self.bits))
    }
}

/// Tests a key by itself where the number of positions or the scheme is not the usual one; `code` is for `span` bits, or slices of
/// them.
#[inline]
pub(crate) fn test_unusual<const SLICED: bool, L: Layout + Copy>(
    layout: L,
    span: u64,
    code: Code,
    words: &[u64],
    digest: Digest,
) -> bool {
    match code {
        Code::Lanes(with) if layout.hashes() > lanes::FEW => {
            lanes::test::<SLICED>(with, words, span, layout.hashes(), digest.h1)
        }
        Code::Lanes(_) | Code::Narrow => flat::test::<SLICED, true>(words, span, layout.hashes(), digest),
        Code::Wide if layout.hashes() == lanes::USUAL => flat::test_usual::<SLICED>(words, span, digest),
        Code::Wide => flat::test::<SLICED, false>(words, span, layout.hashes(), digest),
        Code::Any => test_each(&layout, words, digest),
    }
}

/// Sets the bits of a key where [`test_unusual`] tests them.
#[inline]
pub(crate) fn set_unusual<const SLICED: bool, L: Layout + Copy>(
    layout: L,
    span: u64,
    code: Code,
    words: &mut [u64],
    digest: Digest,
) -> bool {
    match code {
        Code::Lanes(with) => lanes::set_batch::<SLICED>(with, words, span, layout.hashes(), &[digest.h1]) == 1,
        Code::Narrow => flat::set::<SLICED, true>(words, span, layout.hashes(), digest),
        Code::Wide => flat::set::<SLICED, false>(words, span, layout.hashes(), digest),
        Code::Any => set_each(&layout, words, digest),
    }
}

/// The keys that vector code takes at a time. They need no more than a word each, and what a batch costs by itself counts.
const LANES_BATCH: usize = 4 * BATCH;

/// The same for those who ask for more: absent keys leave in rounds, and between two of them the processor has less under way.
const LARGE_BATCH: usize = 2 * LANES_BATCH;

/// What vector code needs to know of a batch of keys.
#[inline(always)]
fn first_halves<const N: usize, K: Key>(hashing: &Hashing, keys: &[K]) -> [u64; N] {
    let mut halves = [0; N];
    for (half, key) in halves.iter_mut().zip(keys) {
        *half = key.digest(hashing).h1;
    }
    halves
}

/// [`Layout::test_batch`] with the arguments of [`test_unusual`].
pub(crate) fn test_batch<const SLICED: bool, L: Layout + Copy, K: Key>(
    layout: L,
    span: u64,
    code: Code,
    words: &[u64],
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [bool],
) {
    let (ahead, k) = (layout.asks_ahead(words.len()), layout.hashes());
    let (probe, batch) = match code {
        Code::Lanes(_) if keys.len() > LANES_BATCH => (BATCH.min(answers.len()), LARGE_BATCH),
        Code::Lanes(_) => (0, LANES_BATCH),
        _ => (0, BATCH),
    };
    // To sift out absent keys is in vain if all are present. Then, and as long as they are, nothing is faster than one key after the
    // other. Of many keys some tell which it is.
    let mut sift = true;
    let (keys, others) = keys.split_at(probe);
    let (answers, other_answers) = answers.split_at_mut(probe);
    let keys = keys.chunks(batch).chain(others.chunks(batch));
    let answers = answers.chunks_mut(batch).chain(other_answers.chunks_mut(batch));
    for (keys, answers) in keys.zip(answers) {
        match code {
            Code::Lanes(with) if sift || !(INLINED || words.len() > L::NEAR_WORDS) => {
                if batch == LARGE_BATCH {
                    let halves = &first_halves::<LARGE_BATCH, _>(hashing, keys)[..keys.len()];
                    lanes::test_batch::<LARGE_BATCH, SLICED>(with, words, span, k, halves, answers, sift);
                } else {
                    let halves = &first_halves::<LANES_BATCH, _>(hashing, keys)[..keys.len()];
                    lanes::test_batch::<LANES_BATCH, SLICED>(with, words, span, k, halves, answers, sift);
                }
            }
            Code::Lanes(_) | Code::Wide | Code::Narrow if !(ahead || sift) => {
                test_singly(layout, words, hashing, keys, answers);
            }
            Code::Any => {
                let digests = digests(&layout, words, hashing, keys);
                let each = digests.iter().zip(answers.iter_mut()).take(keys.len());
                each.for_each(|(digest, answer)| *answer = test_each(&layout, words, *digest));
            }
            _ => {
                let digests = digest_batch(hashing, keys, |digest| {
                    if ahead {
                        // The first position, or with words of 32 bits one of its neighbours.
                        prefetch(words, (fastrange(digest.h1, span) / 64) as usize);
                    }
                });
                let digests = &digests[..keys.len()];
                if code == Code::Wide {
                    flat::test_batch::<BATCH, SLICED, false>(words, span, k, digests, answers, ahead);
                } else {
                    flat::test_batch::<BATCH, SLICED, true>(words, span, k, digests, answers, ahead);
                }
            }
        }
        let present: usize = answers.iter().map(|answer| usize::from(*answer)).sum();
        sift = present != answers.len();
    }
}

/// Tests keys one after the other. A function of its own, so that its loop has the registers for itself.
#[inline(never)]
fn test_singly<L: Layout, K: Key>(layout: L, words: &[u64], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
    let each = keys.iter().zip(answers);
    if layout.is_usual() & hashing.is_usual() {
        each.for_each(|(key, answer)| *answer = layout.test(words, key.digest(hashing)));
    } else {
        each.for_each(|(key, answer)| *answer = test_unusual_key(&layout, words, hashing, key));
    }
}

#[inline(never)]
fn test_unusual_key<L: Layout, K: Key>(layout: &L, words: &[u64], hashing: &Hashing, key: &K) -> bool {
    layout.test(words, key.digest(hashing))
}

/// [`Layout::set_batch`] with the arguments of [`test_unusual`].
pub(crate) fn set_batch<const SLICED: bool, L: Layout + Copy, K: Key>(
    layout: L,
    span: u64,
    code: Code,
    words: &mut [u64],
    hashing: &Hashing,
    keys: &[K],
) -> u64 {
    let mut fresh = 0;
    if let Code::Lanes(with) = code {
        for keys in keys.chunks(LANES_BATCH) {
            let halves = &first_halves::<LANES_BATCH, _>(hashing, keys)[..keys.len()];
            fresh += lanes::set_batch::<SLICED>(with, words, span, layout.hashes(), halves);
        }
        return fresh;
    }
    let ahead = layout.asks_ahead(words.len());
    for keys in keys.chunks(BATCH) {
        let touch = |digest| {
            if ahead {
                layout.prefetch(words, digest);
            }
        };
        for digest in digest_batch(hashing, keys, touch).iter().take(keys.len()) {
            fresh += u64::from(set_unusual::<SLICED, _>(layout, span, code, words, *digest));
        }
    }
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Secret, SplitMix};

    fn filled(bits: u64, hashes: u32, keys: std::ops::Range<u64>) -> Bloom {
        let mut filter = Bloom::with_size(bits, hashes).unwrap();
        keys.for_each(|key| {
            filter.insert(&key);
        });
        filter
    }

    /// How a batch is answered depends on the answers of the one before it; the answers must not.
    #[test]
    fn batches_answer_as_single_calls_do_whatever_came_before() {
        for hashes in [3, 7] {
            let filter = filled(20_000, hashes, 0..1_000);
            // Present and absent keys by turns that begin anywhere in a batch.
            let keys: Vec<u64> = [(0, 100), (1 << 40, 7), (100, 64), (1 << 41, 33), (200, 300), (1 << 42, 65), (5, 1)]
                .into_iter()
                .flat_map(|(start, len)| start..start + len)
                .collect();
            let mut answers = vec![false; keys.len() + 1];
            filter.contains_batch(&keys, &mut answers);
            let expected: Vec<bool> = keys.iter().map(|key| filter.contains(key)).collect();
            assert_eq!((&answers[..keys.len()], answers[keys.len()]), (&expected[..], false), "{hashes} positions");
            assert!(expected.iter().filter(|present| !**present).count() > 80, "absent keys are among them");
        }
    }

    /// What machines without the vector code compute.
    #[test]
    fn the_code_for_all_machines_sets_and_answers_the_same() {
        for hashes in [1, 7, 10, 16, 17] {
            let config =
                Config::new(KIND.facts()).set("bits", "5000").unwrap().set("hashes", &hashes.to_string()).unwrap();
            let quick = Flat::plan(&config).unwrap();
            let plain = Flat { code: Code::Narrow, usual: Usual::Not, ..quick };
            let [mut one, mut two] =
                [quick, plain].map(|layout| Bloom::with_parts(&config, layout, BitStore::zeroed(5_000).unwrap(), 0));
            let keys: Vec<u64> = (0..400).collect();
            assert_eq!(one.insert_batch(&keys[..200]), two.insert_batch(&keys[..200]));
            assert!(keys[200..].iter().all(|key| one.insert(key) == two.insert(key)));
            assert_eq!(one.bits(), two.bits(), "{hashes} positions");
            let asked: Vec<u64> = (300..5_000).collect();
            let [mut answers, mut others] = [vec![false; asked.len()], vec![true; asked.len()]];
            one.contains_batch(&asked, &mut answers);
            two.contains_batch(&asked, &mut others);
            assert!(answers == others && asked.iter().zip(&answers).all(|(key, answer)| two.contains(key) == *answer));
        }
    }

    #[test]
    fn sizing_reaches_the_published_bits_per_key() {
        for (fpr, hashes, bits_per_key) in [(0.01, 7, 9.593), (0.001, 10, 14.378)] {
            let filter = Bloom::with_rate(1_000_000, fpr).unwrap();
            assert_eq!(filter.hashes(), hashes);
            assert!((filter.bits().len() as f64 / 1e6 - bits_per_key).abs() < 0.0005);
        }
    }

    #[test]
    fn the_rate_at_ten_bits_per_key_is_the_predicted_one() {
        let (n, m, k) = (100_000, 1_000_000, 7);
        let filter = filled(m, k, 0..n);
        assert!((0..n).all(|key| filter.contains(&key)));
        let queries = 1_000_000;
        let found = (n..n + queries).filter(|key| filter.contains(key)).count() as f64;
        let sigma = theory::spread::test_sigma(m, n, k, queries);
        assert!((found / queries as f64 - 0.008_193_7).abs() < 5.0 * sigma, "{found}");
        let conditional = theory::spread::test_sigma_conditional(filter.rate_now(), queries);
        assert!((found / queries as f64 - filter.rate_now()).abs() < 5.0 * conditional);
    }

    #[test]
    fn tiny_filters_show_the_exact_rate_and_not_the_classic_one() {
        let filters = 100_000;
        let mut sum = 0.0;
        let mut random = SplitMix::new(1);
        let independent = Config::new(KIND.facts()).set("bits", "64").unwrap().set("hashes", "5").unwrap();
        let mut filter = Bloom::from_config(&independent.set("family", "independent").unwrap()).unwrap();
        for _ in 0..filters {
            filter.clear();
            for _ in 0..8 {
                filter.insert(&random.next_u64());
            }
            sum += filter.rate_now();
        }
        let (mean, exact, classic) = (sum / f64::from(filters), 0.023_416_1, 0.022_300_7);
        assert!((mean / exact - 1.0).abs() < 0.008, "{mean}");
        assert!((mean / classic - 1.0).abs() > 0.008);
    }

    #[cfg(feature = "replication")]
    #[test]
    fn a_survey_s_worked_example_comes_out_as_computed() {
        let config = Config::new(KIND.facts());
        let set = |config: Config, name: &str, text: &str| config.set(name, text).unwrap();
        let settings = [("bits", "16"), ("hashes", "3"), ("family", "fig2"), ("reduction", "modulo")];
        let config = settings.into_iter().fold(config, |config, (name, text)| set(config, name, text));
        let mut filter = Bloom::from_config(&config).unwrap();
        for (key, mask) in [("a", 0x010A), ("b", 0x830A), ("y", 0xA72A), ("l", 0xE7AA)] {
            filter.insert(key);
            assert_eq!(filter.bits().words(), [mask]);
        }
        assert!(!filter.contains("q"));
        assert!(filter.contains("z"), "the example's false positive");
    }

    #[test]
    fn the_union_is_the_filter_of_the_union_bit_for_bit() {
        let mut union = filled(5_000, 5, 0..300);
        union.merge(&filled(5_000, 5, 200..500)).unwrap();
        assert_eq!(union.bits(), filled(5_000, 5, 0..500).bits());
    }

    #[test]
    fn filters_that_differ_refuse_to_merge_and_say_in_what() {
        let seeded = |seed| {
            let config = Config::new(KIND.facts()).set("bits", "512").unwrap().set("hashes", "3").unwrap();
            Bloom::from_config(&config.hashed(Hashing::seeded(seed))).unwrap()
        };
        let mut filter = seeded(1);
        for (other, field) in [
            (Bloom::with_size(513, 3).unwrap(), "bits"),
            (Bloom::with_size(512, 4).unwrap(), "hashes"),
            (seeded(2), "hashing"),
        ] {
            match filter.merge(&other) {
                Err(Error::Incompatible { field: found, .. }) => assert_eq!(found, field),
                answer => panic!("{answer:?}"),
            }
        }
    }

    #[test]
    fn halving_equals_building_at_half_the_size() {
        for (reduction, bits) in [("fastrange", "4000"), ("modulo", "4000"), ("mask", "4096")] {
            let build = |bits: &str| {
                let config = Config::new(KIND.facts()).set("bits", bits).unwrap().set("hashes", "4").unwrap();
                let mut filter = Bloom::from_config(&config.set("reduction", reduction).unwrap()).unwrap();
                (0..200u64).for_each(|key| {
                    filter.insert(&key);
                });
                filter
            };
            let half = (bits.parse::<u64>().unwrap() / 2).to_string();
            assert_eq!(build(bits).halved().unwrap().unwrap(), build(&half), "{reduction}");
        }
        assert!(filled(4_001, 4, 0..10).halved().unwrap().is_none());
    }

    #[test]
    fn a_filter_made_by_rate_tells_when_it_is_saturated() {
        let mut filter = Bloom::with_rate(1_000, 0.01).unwrap();
        (0..1_000u64).for_each(|key| {
            filter.insert(&key);
        });
        assert_eq!(filter.items(), 1_000);
        assert!(!filter.saturated());
        (1_000..1_500u64).for_each(|key| {
            filter.insert(&key);
        });
        assert!(filter.saturated());
    }

    #[test]
    fn frames_give_back_equal_filters_also_when_keyed() {
        let filter = filled(10_000, 7, 0..500);
        assert_eq!(Bloom::from_bytes(&filter.to_bytes()).unwrap(), filter);

        let secret = Secret::new(&[5; 32]).unwrap();
        let config = Config::new(KIND.facts()).set("items", "100").unwrap().hashed(Hashing::keyed(secret.clone()));
        let mut keyed = Bloom::from_config(&config).unwrap();
        keyed.insert("rose");
        let frame = keyed.to_bytes();
        assert!(matches!(Bloom::from_bytes(&frame), Err(Error::Secret { .. })));
        let options = crate::OpenOptions { secret: Some(secret), ..Default::default() };
        let again = crate::AnyFilter::from_bytes_with(&frame, &options).unwrap();
        assert_eq!(again.downcast_ref::<Bloom>(), Some(&keyed));
        assert!(again.contains().unwrap().contains(b"rose"));
        assert!(!frame.windows(8).any(|window| window == [5; 8]), "the secret is not in the frame");
    }
}
