//! The standard Bloom filter (Bloom, 1970).
//!
//! # The idea
//!
//! A vector of m bits, all zero at first. Each key owns k positions; inserting sets them, and a key whose positions are
//! all one may be in the set. A zero among them proves that it is not.
//!
//! ```text
//! insert "rose":    h1 = 2       h2 = 7   h3 = 11
//!                      |            |        |
//!             0  0  1  0  0  0  0  1  0  0  0  1  0  0  0  0
//! ```
//!
//! # The formula
//!
//! With n keys a bit is still zero with probability p' = (1 - 1/m)^(kn), and an absent key seems present with
//! probability about (1 - p')^k, least when half of the bits are one: k = (m/n) ln 2, rate 0.6185^(m/n). The integer k
//! and the exact rate are in [`theory::standard`].
//!
//! # Guarantee and cost
//!
//! No false negatives. 1.44 log2(1/rate) bits per key (9.6 at 1 %, 14.4 at 0.1 %), k memory reads per operation, fewer
//! for absent keys.
//!
//! # Choose another
//!
//! when keys are removed: [`counting`](crate::counting); when their number is unknown:
//! [`scalable`](crate::dynamic::scalable); when the filter is sent: [`compressed`](super::compressed).

use crate::capability::{Estimate, NoteType};
use crate::core::bit_filter::{digests, set_each, test_each};
use crate::core::{BitFilter, Layout};
use crate::error::{Error, Result};
use crate::hash::{Digest, Family, Hashing, Reduction, Scheme, fastrange, probes};
use crate::key::{BATCH, Key, NEAR_BITS, digest_batch};
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, common};
use crate::simd::{flat, prefetch};
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
pub const KIND: Kind = Kind::of::<Bloom>().contains().insert().merge().intersect().cardinality().compress().done();

/// k positions anywhere in m bits.
///
/// ```
/// use bouquet::{core::{Layout, standard::Flat}, hash::{Hashing, Scheme}};
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
    /// Whether the scheme is the default, whose positions have code of their own.
    default: bool,
    /// The same with the number of positions that most filters have: what a single call looks at.
    usual: bool,
}

impl Flat {
    /// A layout of `bits` and `hashes`, with the positions that `scheme` gives.
    ///
    /// ```
    /// use bouquet::{core::{Layout, standard::Flat}, hash::{Family, Reduction, Scheme}};
    /// let masked = Scheme { family: Family::Double, reduction: Reduction::Mask };
    /// assert_eq!(Flat::new(1_024, 5, masked)?.bits(), 1_024);
    /// assert!(Flat::new(1_000, 5, masked).is_err(), "a mask needs a power of two");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn new(bits: u64, hashes: u32, scheme: Scheme) -> Result<Self> {
        scheme.check(bits, hashes)?;
        let default = scheme == Scheme::default();
        Ok(Flat { bits, hashes, scheme, default, usual: default && hashes == flat::USUAL })
    }

    /// How keys become positions.
    ///
    /// ```
    /// use bouquet::{Bloom, core::standard::KIND, hash::{Family, Reduction}, kind::Config};
    /// let config = Config::new(KIND.facts()).set("items", "100")?.set("family", "triple")?;
    /// let scheme = Bloom::from_config(&config)?.layout().scheme();
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
    help: "how a hash word becomes a position",
    of: ParameterType::Choice { options: &["fastrange", "modulo", "mask"] },
};

/// The scheme that the settings `family` and `reduction` name.
pub(crate) fn scheme(config: &Config) -> Result<Scheme> {
    let unknown = |name| Error::parameter(name, "a known word", config.choice(name));
    Ok(Scheme {
        family: Family::from_name(config.choice("family")).ok_or_else(|| unknown("family"))?,
        reduction: Reduction::from_name(config.choice("reduction")).ok_or_else(|| unknown("reduction"))?,
    })
}

impl Layout for Flat {
    const FACTS: Facts = Facts {
        id: "standard",
        number: 1,
        name: "Standard Bloom filter",
        aliases: &["BF", "SBF", "bloom", "classic"],
        family: "core",
        papers: &["B. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970"],
        summary: "Is x in S? For anyone who wants to skip a costly lookup.",
        idea: "m bits, all zero at first. A key owns k positions; inserting sets them. A key with a zero among its \
               positions is certainly absent, any other may be present.",
        formulas: &[
            "rate = (1 - (1 - 1/m)^(k n))^k",
            "best k = (m/n) ln 2, then rate = 0.6185^(m/n)",
            "bits per key = 1.44 log2(1/rate)",
            "distinct keys = ln(zeros/m) / (k ln(1 - 1/m))",
        ],
        choose_another: "keys are removed: counting; their number is unknown: scalable; the filter is sent over a \
                         network: compressed; values or sets belong to the keys: bloomier, filter-bank.",
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, common::BITS, common::HASHES, FAMILY, REDUCTION],
    };

    const NEAR_WORDS: usize = (NEAR_BITS / 64) as usize;

    fn plan(config: &Config) -> Result<Self> {
        let size = common::size(config, "bits")?;
        Flat::new(size.bits, size.hashes, scheme(config)?)
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
    fn needs_key(&self) -> bool {
        !self.usual && self.scheme.family.needs_key()
    }

    #[inline(always)]
    fn all(&self, digest: Digest, visit: impl FnMut(u64) -> bool) -> bool {
        if self.default {
            return probes(digest, self.bits, self.hashes).all(visit);
        }
        self.scheme.all(digest, self.bits, self.hashes, visit)
    }

    #[inline(always)]
    fn test(&self, words: &[u64], digest: Digest) -> bool {
        if self.usual {
            return flat::test_usual::<false>(words, self.bits, digest);
        }
        test_unusual::<false, _>(*self, self.bits, self.default, words, digest)
    }

    #[inline(always)]
    fn test_loaded(&self, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
        if self.default {
            return flat::test_loaded(self.bits, self.hashes, digest, load);
        }
        self.all(digest, |position| load((position / 64) as usize) >> (position % 64) & 1 == 1)
    }

    #[inline(always)]
    fn set_usually(&self, words: &mut [u64], digest: Digest) -> Option<bool> {
        if self.usual { flat::set_usual::<false>(words, self.bits, digest) } else { None }
    }

    #[inline(always)]
    fn set_anyhow(&self, words: &mut [u64], digest: Digest) -> bool {
        self.set(words, digest)
    }

    #[inline(always)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        set_unusual::<false, _>(*self, self.bits, self.default, words, digest)
    }

    fn test_batch<K: Key>(&self, words: &[u64], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        test_batch::<false, _, _>(*self, self.bits, self.default, words, hashing, keys, answers);
    }

    fn set_batch<K: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
        set_batch::<false, _, _>(*self, self.bits, self.default, words, hashing, keys)
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
        let half = Flat { bits: self.bits / 2, ..*self };
        let possible = self.bits.is_multiple_of(2) && self.scheme.halving().is_some();
        (possible && half.scheme.check(half.bits, half.hashes).is_ok()).then_some(half)
    }

    fn fold(&self, position: u64) -> u64 {
        self.scheme.halving().map_or(position, |halving| halving.target(position, self.bits))
    }
}

/// Tests a key by itself where the number of positions or the scheme is not the usual one; `default` says that the scheme is that of
/// [`flat`] for `span` bits, or slices of them. By value, so that a loop over keys may keep the filter in registers: no call
/// knows where it lies.
#[inline(never)]
pub(crate) fn test_unusual<const SLICED: bool, L: Layout + Copy>(
    layout: L,
    span: u64,
    default: bool,
    words: &[u64],
    digest: Digest,
) -> bool {
    if default {
        return flat::test::<SLICED>(words, span, layout.hashes(), digest);
    }
    test_each(&layout, words, digest)
}

/// As [`test_unusual`].
#[inline(never)]
pub(crate) fn set_unusual<const SLICED: bool, L: Layout + Copy>(
    layout: L,
    span: u64,
    default: bool,
    words: &mut [u64],
    digest: Digest,
) -> bool {
    if default {
        return flat::set::<SLICED>(words, span, layout.hashes(), digest);
    }
    set_each(&layout, words, digest)
}

/// [`Layout::test_batch`] with the arguments of [`test_unusual`].
pub(crate) fn test_batch<const SLICED: bool, L: Layout + Copy, K: Key>(
    layout: L,
    span: u64,
    default: bool,
    words: &[u64],
    hashing: &Hashing,
    keys: &[K],
    answers: &mut [bool],
) {
    // While a filter is in some cache, the processor itself looks far enough ahead, and k requests per key cost more than they save.
    let ahead = words.len() > L::NEAR_WORDS;
    let mut present = 0;
    for (keys, answers) in keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        // Four keys side by side look at their first positions for nothing if all are present. Then, and as long as they are, nothing
        // is faster than one key after the other.
        if !SLICED && !ahead && present == BATCH {
            present = 0;
            for (key, answer) in keys.iter().zip(answers) {
                *answer = layout.test(words, key.digest(hashing));
                present += usize::from(*answer);
            }
            continue;
        }
        if !default {
            let digests = digests(&layout, words, hashing, keys);
            let each = digests.iter().zip(answers).take(keys.len());
            each.for_each(|(digest, answer)| *answer = test_each(&layout, words, *digest));
            continue;
        }
        let digests = digest_batch(hashing, keys, |digest| {
            if ahead {
                prefetch(words, (fastrange(digest.h1, span) / 64) as usize);
            }
        });
        flat::test_batch::<BATCH, SLICED>(words, span, layout.hashes(), &digests[..keys.len()], answers, ahead);
        present = answers.iter().map(|answer| usize::from(*answer)).sum();
    }
}

/// [`Layout::set_batch`] with the arguments of [`test_unusual`].
pub(crate) fn set_batch<const SLICED: bool, L: Layout + Copy, K: Key>(
    layout: L,
    span: u64,
    default: bool,
    words: &mut [u64],
    hashing: &Hashing,
    keys: &[K],
) -> u64 {
    let (ahead, usual) = (words.len() > L::NEAR_WORDS, default && layout.hashes() == flat::USUAL);
    let mut fresh = 0;
    for keys in keys.chunks(BATCH) {
        let digests = digest_batch(hashing, keys, |digest| {
            if ahead {
                layout.prefetch(words, digest);
            }
        });
        for digest in digests.iter().take(keys.len()) {
            fresh += u64::from(match usual {
                true => flat::set_usual_if_new::<SLICED>(words, span, *digest),
                false => set_unusual::<SLICED, _>(layout, span, default, words, *digest),
            });
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
        let again = crate::Filter::from_bytes_with(&frame, &options).unwrap();
        assert_eq!(again.downcast_ref::<Bloom>(), Some(&keyed));
        assert!(again.contains().unwrap().contains(b"rose"));
        assert!(!frame.windows(8).any(|window| window == [5; 8]), "the secret is not in the frame");
    }
}
