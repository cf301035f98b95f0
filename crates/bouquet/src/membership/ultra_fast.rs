#![doc = include_str!("ultra_fast.md")]

use crate::capability::{Estimate, NoteType};
use crate::error::{Error, Result};
use crate::hash::{Digest, HashId, Hashing, fastrange};
use crate::key::{BATCH, Key, one_batch_ahead};
use crate::kind::{Config, ErrorClass, Facts, Kind, Parameter, ParameterType, Setting, Text, common, kind};
use crate::membership::layout::{set_one_by_one, set_positions, set_positions_shared, test_one_by_one, test_positions};
use crate::membership::{Access, BitFilter, Layout};
use crate::simd::{Place, SharedWord, Word, prefetch, split_block};
use crate::store::{BitStore, Words};
use crate::theory::blocks::{self, Inner};

/// An ultra-fast Bloom filter.
///
/// ```
/// use bouquet::membership::ultra_fast::UltraFastBloom;
/// let mut filter = UltraFastBloom::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// assert!(!filter.contains("thistle"));
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type UltraFastBloom = BitFilter<Split>;

/// The registry's row.
pub const KIND: Kind = kind!(UltraFastBloom);

/// One bit in each of k words of a block.
///
/// ```
/// use bouquet::UltraFastBloom;
/// let mut filter = UltraFastBloom::with_rate(1_000, 0.01)?;
/// filter.insert("rose");
/// let lanes = filter.bits().ones().map(|position| position % 256 / 32);
/// assert!(lanes.eq(0..8), "one bit in each word of 32 bits");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    blocks: u64,
    lanes: u32,
    lane_bits: u32,
    parquet: bool,
    /// The bits of the hash that choose the block: Parquet takes the upper half, others all.
    chooser: u64,
    /// For eight words of 32 bits.
    kernel: Option<split_block::Kernel>,
}

/// Odd multipliers for up to 16 lanes: Parquet's eight, then eight more from SplitMix64, all part of the format.
const SALT: [u32; 16] = {
    let more = [0xef95_3637, 0x477d_7801, 0x15e6_7e01, 0x0ddd_bdb5, 0x6387_44cb, 0x568a_c011, 0xedb5_d62b, 0xc867_209b];
    let mut all = [0; 16];
    let mut i = 0;
    while i < 8 {
        all[i] = split_block::SALT[i];
        all[i + 8] = more[i];
        i += 1;
    }
    all
};

const LANES: Parameter = Parameter {
    name: "hashes",
    help: "words of a block, one bit in each: 4, 8 or 16",
    of: ParameterType::Count { min: 4, max: 16, default: Some(8) },
};

const LANE_BITS: Parameter =
    Parameter { name: "word", help: "bits of a word", of: ParameterType::Choice { options: &["32", "64"] } };

const MODE: Parameter = Parameter {
    name: "mode",
    help: "parquet: bit for bit the split-block filter of Apache Parquet",
    of: ParameterType::Choice { options: &["free", "parquet"] },
};

/// Parquet's filters have at most this many blocks, whose number is multiplied with 32 bits of hash.
const PARQUET_MAX_BLOCKS: u64 = 1 << 31;

impl Split {
    #[inline(always)]
    fn block_bits(&self) -> u64 {
        u64::from(self.lanes * self.lane_bits)
    }

    fn theory(&self) -> blocks::Layout {
        blocks::Layout { block_bits: self.block_bits(), inner: Inner::Slices, blocks_per_key: 1 }
    }

    #[inline(always)]
    fn block(&self, digest: Digest) -> u64 {
        fastrange(digest.h1 & self.chooser, self.blocks)
    }

    /// Hands the halves of the keys' digests that a kernel needs to `each`, a batch at a time with its first key's number. Of words that
    /// are `far`, the blocks of a batch are prefetched before the one before it is dealt with.
    #[inline(always)]
    fn batches<W, K: Key>(
        &self,
        far: Option<Place<W>>,
        hashing: &Hashing,
        keys: &[K],
        mut each: impl FnMut(usize, &[u64]),
    ) {
        let Some(words) = far else {
            let mut halves = [0; BATCH];
            for (batch, start) in keys.chunks(BATCH).zip((0..).step_by(BATCH)) {
                halves.iter_mut().zip(batch).for_each(|(half, key)| *half = key.digest(hashing).h1);
                each(start, &halves[..batch.len()]);
            }
            return;
        };
        let make = |keys: &[K], halves: &mut [u64; BATCH]| {
            for (half, key) in halves.iter_mut().zip(keys) {
                let digest = key.digest(hashing);
                *half = digest.h1;
                words.prefetch((self.block(digest) * 4) as usize);
            }
        };
        one_batch_ahead(keys, 0, make, each);
    }
}

impl Layout for Split {
    const FACTS: Facts = Facts {
        id: "ultra-fast",
        number: 6,
        aliases: &["UFBF", "SBBF", "split-block", "parquet"],
        family: "membership",
        text: Text::new(include_str!("ultra_fast.md")),
        errors: &[ErrorClass::FalsePositive],
        note: NoteType::None,
        parameters: &[common::ITEMS, common::FPR, common::BITS, LANES, LANE_BITS, MODE],
    };

    fn plan(config: &Config) -> Result<Self> {
        let lanes = config.count("hashes").unwrap_or(8) as u32;
        if !lanes.is_power_of_two() {
            return Err(Error::parameter("hashes", "4, 8 or 16", lanes));
        }
        let lane_bits = if config.choice("word") == "64" { 64 } else { 32 };
        let parquet = config.choice("mode") == "parquet";
        let chooser = if parquet { u64::MAX << 32 } else { u64::MAX };
        let kernel = (lanes == 8 && lane_bits == 32).then(|| split_block::Kernel::new(parquet));
        let mut layout = Split { blocks: 1, lanes, lane_bits, parquet, chooser, kernel };
        if parquet {
            if layout.kernel.is_none() {
                return Err(Error::parameter("mode", "free unless blocks are 8 words of 32 bits", "parquet"));
            }
            let hashing = config.hashing();
            if hashing.seed() != 0 || !matches!(hashing.id(), HashId::Folded | HashId::Xxh3 | HashId::Xxh64) {
                return Err(Error::parameter("mode", "free unless the hash is public with seed 0", "parquet"));
            }
        }
        let bits = match (config.count("bits"), config.count("items")) {
            (Some(bits), _) => bits,
            (None, Some(items)) => {
                blocks::for_rate(layout.theory(), items, config.real("fpr").unwrap_or(0.01), Some(lanes))?.bits
            }
            (None, None) => {
                return Err(Error::parameter("items", common::ITEMS.range(), "missing (or give `bits`)"));
            }
        };
        layout.blocks = bits.div_ceil(layout.block_bits());
        if parquet && layout.blocks > PARQUET_MAX_BLOCKS {
            return Err(Error::parameter("bits", "at most 2^39 in mode parquet", bits));
        }
        Ok(layout)
    }

    fn settings(&self, config: Config) -> Config {
        config
            .put("bits", Setting::Count(self.bits()))
            .put("hashes", Setting::Count(self.lanes.into()))
            .put("word", Setting::Choice(if self.lane_bits == 64 { "64" } else { "32" }))
            .put("mode", Setting::Choice(if self.parquet { "parquet" } else { "free" }))
    }

    fn hashing(&self, asked: &Hashing) -> Hashing {
        if self.parquet { Hashing::xxh64() } else { asked.clone() }
    }

    fn bits(&self) -> u64 {
        self.blocks * self.block_bits()
    }

    fn hashes(&self) -> u32 {
        self.lanes
    }

    #[inline]
    fn all(&self, digest: Digest, mut visit: impl FnMut(u64) -> bool) -> bool {
        let base = self.block(digest) * self.block_bits();
        let shift = 32 - self.lane_bits.trailing_zeros();
        SALT[..self.lanes as usize].iter().enumerate().all(|(lane, salt)| {
            let place = (digest.h1 as u32).wrapping_mul(*salt) >> shift;
            visit(base + lane as u64 * u64::from(self.lane_bits) + u64::from(place))
        })
    }

    fn expected_rate(&self, items: u64) -> f64 {
        blocks::rate(self.theory(), self.bits(), items, self.lanes)
    }

    fn rate_now(&self, bits: &BitStore) -> f64 {
        let (block, lane) = (self.block_bits(), u64::from(self.lane_bits));
        let fill = |start| bits.count_ones_in(start, start + lane) as f64 / lane as f64;
        let sum: f64 = (0..self.blocks)
            .map(|index| (0..u64::from(self.lanes)).map(|j| fill(index * block + j * lane)).product::<f64>())
            .sum();
        sum / self.blocks as f64
    }

    fn expected_fill(&self, items: u64) -> (f64, f64) {
        blocks::fill(self.theory(), self.bits(), items, self.lanes)
    }

    fn cardinality(&self, bits: &BitStore) -> Estimate {
        Estimate::from_blocks(self.theory(), bits.len() - bits.count_ones(), self.bits(), self.lanes)
    }

    fn cardinality_error(&self, keys: f64) -> f64 {
        blocks::cardinality_error(self.theory(), self.bits(), self.lanes, keys)
    }

    fn halved(&self) -> Option<Self> {
        self.blocks.is_multiple_of(2).then_some(Split { blocks: self.blocks / 2, ..*self })
    }

    fn fold(&self, position: u64) -> u64 {
        let block = self.block_bits();
        position / block / 2 * block + position % block
    }
}

impl Access for Split {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        self.kernel.is_some_and(split_block::Kernel::is_inline)
    }

    #[inline(always)]
    fn is_set_inline(&self, words: &[u64]) -> bool {
        self.kernel.is_some_and(|kernel| kernel.is_set_inline(words))
    }

    #[inline(always)]
    fn test<W: Word>(&self, words: &[W], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.test(words, digest.h1),
            None => test_other(*self, words, digest.h1),
        }
    }

    #[inline(always)]
    fn set(&self, words: &mut [u64], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.set(words, digest.h1),
            None => set_positions(self, words, digest),
        }
    }

    #[inline(always)]
    fn set_shared<W: SharedWord>(&self, words: &[W], digest: Digest) -> bool {
        match self.kernel {
            Some(kernel) => kernel.set_shared(words, digest.h1),
            None => set_other_shared(*self, words, digest.h1),
        }
    }

    #[inline(always)]
    fn prefetch<W>(&self, words: &[W], digest: Digest) {
        prefetch(words, (self.block(digest) * self.block_bits() / 64) as usize);
    }

    fn test_batch<W: Word, K: Key>(&self, words: &[W], hashing: &Hashing, keys: &[K], answers: &mut [bool]) {
        let Some(kernel) = self.kernel else { return test_one_by_one(self, words, hashing, keys, answers) };
        let (count, far) = (keys.len().min(answers.len()), self.prefetches(words.len()).then(|| Place::of(words)));
        self.batches(far, hashing, &keys[..count], |start, halves| {
            kernel.test_batch(words, halves, &mut answers[start..start + halves.len()]);
        });
    }

    fn set_batch<K: Key>(&self, words: &mut [u64], hashing: &Hashing, keys: &[K]) -> u64 {
        let Some(kernel) = self.kernel else { return set_one_by_one(self, words, hashing, keys) };
        let (mut fresh, far) = (0, self.prefetches(words.len()).then(|| Place::of(words)));
        self.batches(far, hashing, keys, |_, halves| fresh += kernel.set_batch(words, halves));
        fresh
    }
}

/// Tests blocks that have no kernel. Out of line and by value, so that a loop over keys with one keeps the filter in registers; of the
/// digest the half that is used.
#[inline(never)]
fn test_other<W: Word>(layout: Split, words: &[W], h1: u64) -> bool {
    test_positions(&layout, words, Digest { h1, h2: 0 })
}

/// Sets bits of such blocks in words that threads share.
#[inline(never)]
fn set_other_shared<W: SharedWord>(layout: Split, words: &[W], h1: u64) -> bool {
    set_positions_shared(&layout, words, Digest { h1, h2: 0 })
}

impl UltraFastBloom {
    /// A filter in Parquet's own form for `items` keys at a rate of `fpr`.
    ///
    /// ```
    /// use bouquet::UltraFastBloom;
    /// let filter = UltraFastBloom::parquet(1_000, 0.01)?;
    /// assert!(filter.to_parquet().is_some_and(|bitset| bitset.len() as u64 * 8 == filter.bits().len()));
    /// assert!(UltraFastBloom::with_rate(1_000, 0.01)?.to_parquet().is_none(), "not that form");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn parquet(items: u64, fpr: f64) -> Result<Self> {
        let config = Config::new(KIND.facts()).with("mode", Setting::Choice("parquet"))?;
        Self::from_config(&config.with("items", Setting::Count(items))?.with("fpr", Setting::Real(fpr))?)
    }

    /// The bitset of a Parquet split-block filter; `None` unless the filter is in mode `parquet`.
    ///
    /// ```
    /// use bouquet::membership::ultra_fast::UltraFastBloom;
    /// let mut filter = UltraFastBloom::parquet(100, 0.01)?;
    /// filter.insert("rose");
    /// let bitset = filter.to_parquet().unwrap();
    /// assert!(UltraFastBloom::from_parquet(&bitset)?.contains("rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn to_parquet(&self) -> Option<Vec<u8>> {
        let bytes = || self.bits().words().iter().flat_map(|word| word.to_le_bytes()).collect();
        self.layout().parquet.then(bytes)
    }

    /// The filter with this bitset of a Parquet split-block filter, which has a multiple of 32 bytes.
    ///
    /// ```
    /// use bouquet::UltraFastBloom;
    /// assert!(!UltraFastBloom::from_parquet(&[0; 64])?.contains("rose"), "all zeros: empty");
    /// assert!(UltraFastBloom::from_parquet(&[255; 64])?.contains("rose"), "all ones: full");
    /// assert!(UltraFastBloom::from_parquet(&[0; 33]).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn from_parquet(bitset: &[u8]) -> Result<Self> {
        if bitset.is_empty() || !bitset.len().is_multiple_of(32) {
            return Err(Error::corrupt("bitset", "a positive multiple of 32 bytes", bitset.len()));
        }
        let bits = bitset.len() as u64 * 8;
        let config = Config::new(KIND.facts()).with("mode", Setting::Choice("parquet"))?;
        let config = config.with("bits", Setting::Count(bits))?;
        let store = BitStore::from_words(Words::from_le_bytes(bitset)?, bits);
        Self::with_bits(&config, store.ok_or_else(|| Error::corrupt("bitset", bits, bitset.len() * 8))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::spread::test_sigma_conditional;

    fn made(settings: &[(&str, &str)], seed: u64) -> UltraFastBloom {
        let config = Config::new(KIND.facts()).hashed(Hashing::seeded(seed));
        let config = settings.iter().fold(config, |config, (name, text)| config.set(name, text).unwrap());
        UltraFastBloom::from_config(&config).unwrap()
    }

    #[test]
    fn parquet_s_vectors_come_out() {
        let mut filter = made(&[("bits", "256000"), ("mode", "parquet")], 0);
        for (key, hash, block, bits) in [
            ("a", 0xd24e_c4f1_a98c_6e5b, 821, [18, 17, 1, 12, 17, 24, 27, 31]),
            ("abc", 0x44bc_2cf5_ad77_0999, 268, [13, 11, 23, 21, 6, 14, 29, 29]),
        ] {
            assert_eq!(Hashing::xxh64().digest(key.as_bytes()).h1, hash);
            filter.clear();
            filter.insert(key);
            let expected: Vec<u64> = (0..8).map(|j| block * 256 + j as u64 * 32 + bits[j as usize]).collect();
            assert_eq!(filter.bits().ones().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn parquet_mode_needs_its_own_hash_and_blocks() {
        let config = Config::new(KIND.facts()).set("bits", "1024").unwrap().set("mode", "parquet").unwrap();
        assert!(UltraFastBloom::from_config(&config.clone().hashed(Hashing::seeded(1))).is_err());
        assert!(UltraFastBloom::from_config(&config.clone().set("word", "64").unwrap()).is_err());
        let filter = UltraFastBloom::from_config(&config).unwrap();
        assert_eq!(UltraFastBloom::from_bytes(&filter.to_bytes()).unwrap(), filter);
        assert!(UltraFastBloom::from_parquet(&[0; 33]).is_err());
    }

    #[test]
    fn rates_are_the_mixture_of_every_shape() {
        for (settings, expected) in [
            ([("bits", "1000000"), ("hashes", "8"), ("word", "32")], Some(0.012_648)),
            ([("bits", "1000000"), ("hashes", "8"), ("word", "64")], Some(0.010_490)),
            ([("bits", "1600000"), ("hashes", "8"), ("word", "32")], Some(0.001_316)),
            ([("bits", "1000000"), ("hashes", "4"), ("word", "64")], None),
            ([("bits", "1600000"), ("hashes", "16"), ("word", "32")], None),
        ] {
            let (mut found, mut now, mut squares) = (0, 0.0, 0.0);
            for seed in 0..30 {
                let mut filter = made(&settings, seed);
                filter.insert_batch(&(0..100_000u64).collect::<Vec<_>>());
                found += (100_000..200_000u64).filter(|key| filter.contains(key)).count();
                now += filter.rate_now() / 30.0;
                squares += filter.rate_now().powi(2) / 30.0;
            }
            let rate = found as f64 / 3e6;
            let spread = ((squares - now * now).max(0.0) / 29.0).sqrt();
            let theory = made(&settings, 0).layout().expected_rate(100_000);
            assert!((rate - now).abs() < 5.0 * test_sigma_conditional(now, 3_000_000), "{settings:?}: {rate} {now}");
            assert!((now - theory).abs() < 5.0 * spread, "{settings:?}: {now} +- {spread} against {theory}");
            // The published numbers are those of 10 or 16 bits per key, without rounding to whole blocks.
            let per_key = if settings[0].1 == "1000000" { 10.0 } else { 16.0 };
            let limit = blocks::limit_rate(made(&settings, 0).layout().theory(), per_key, 8);
            assert!(expected.is_none_or(|expected: f64| (limit / expected - 1.0).abs() < 1e-3), "{limit}");
        }
    }

    #[test]
    fn sizing_needs_the_bits_per_key_that_parquet_documents() {
        for (fpr, bits_per_key) in
            [("0.1", 5.99), ("0.01", 10.53), ("0.001", 16.89), ("0.0001", 26.34), ("0.00001", 40.99)]
        {
            let filter = made(&[("items", "1000000"), ("fpr", fpr)], 0);
            let found = filter.bits().len() as f64 / 1e6;
            assert!((found - bits_per_key).abs() < 0.01, "{fpr}: {found}");
        }
    }

    #[test]
    fn batches_and_single_calls_agree() {
        // Near and, from 1 MiB on, with the memory asked in advance; as many keys as leave some false positives.
        for (bits, count) in [("32000", 3_000), ("10000128", 900_001)] {
            for mode in ["free", "parquet"] {
                let keys: Vec<u64> = (0..count).collect();
                let [mut one, mut many] = [0; 2].map(|seed| made(&[("bits", bits), ("mode", mode)], seed));
                let fresh: u64 = keys.iter().map(|key| u64::from(one.insert(key))).sum();
                assert_eq!(many.insert_batch(&keys), fresh);
                assert_eq!(one, many, "{bits} bits, {mode}");
                let queries: Vec<u64> = (count - 1_000..count + 9_001).collect();
                let mut answers = vec![false; queries.len()];
                many.contains_batch(&queries, &mut answers);
                assert!(queries.iter().zip(&answers).all(|(key, answer)| one.contains(key) == *answer));
                let positive = answers.iter().filter(|answer| **answer).count();
                assert!(positive > 1_000 && positive < 2_000, "{positive} of the 1,000 and some false ones");
            }
        }
    }

    #[test]
    fn halving_equals_building_at_half_the_size() {
        let build = |bits| {
            let mut filter = made(&[("bits", bits)], 3);
            filter.insert_batch(&(0..300u64).collect::<Vec<_>>());
            filter
        };
        assert_eq!(build("25600").halved().unwrap().unwrap(), build("12800"));
    }

    #[test]
    fn cardinality_is_within_five_standard_errors() {
        for seed in 0..40 {
            let mut filter = made(&[("bits", "200000")], seed);
            filter.insert_batch(&(0..20_000u64).collect::<Vec<_>>());
            let estimate = filter.cardinality();
            assert!((estimate.keys - 20_000.0).abs() < 5.0 * estimate.standard_error, "{estimate:?}");
        }
    }
}
