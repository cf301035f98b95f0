//! Mode `cascade`: one Bloom filter per value and level; keys that another value's filter also claims go one level on.

use super::{Pair, Shape};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::{Digest, MAX_HASHES, probes};
use crate::store::{BitStore, Words};
use crate::theory::standard;

/// The most values: a lookup asks one filter for each.
pub(super) const MAX_VALUES: u64 = 256;

/// Fewer keys than this are kept exactly.
const EXACT_BELOW: usize = 64;

/// The most levels.
const MAX_LEVELS: usize = 24;

/// Words of an entry of the exact rest: a digest and a value.
const ENTRY_WORDS: usize = 3;

/// A set of values below [`MAX_VALUES`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidates([u64; 4]);

impl Candidates {
    fn all(values: u64) -> Self {
        Candidates(std::array::from_fn(|word| {
            let below = values.saturating_sub(word as u64 * 64).min(64) as u32;
            if below == 0 { 0 } else { u64::MAX >> (64 - below) }
        }))
    }

    fn iter(self) -> impl Iterator<Item = u64> {
        (0..4).flat_map(move |word| {
            let mut bits = self.0[word as usize];
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + u64::from(bit))
            })
        })
    }

    fn contains(self, value: u64) -> bool {
        self.0.get((value / 64) as usize).is_some_and(|word| word >> (value % 64) & 1 == 1)
    }

    /// The values that satisfy `keep`.
    fn filter(self, mut keep: impl FnMut(u64) -> bool) -> Self {
        let mut kept = [0; 4];
        self.iter().filter(|&value| keep(value)).for_each(|value| kept[(value / 64) as usize] |= 1 << (value % 64));
        Candidates(kept)
    }

    fn len(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// One filter of a level, a range of the level's bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    items: u64,
    first: u64,
    bits: u64,
    hashes: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct Level {
    /// By value.
    parts: Vec<Part>,
    bits: BitStore,
}

impl Level {
    /// Whether the filter of `value` says yes. Every level and value has its own hash functions: a cascade whose levels
    /// share them passes all keys on.
    #[inline]
    fn claims(&self, level: usize, value: u64, digest: Digest) -> bool {
        let part = &self.parts[value as usize];
        let digest = digest.derive(stream(level, value));
        part.items > 0 && probes(digest, part.bits, part.hashes).all(|position| self.bits.get(part.first + position))
    }
}

fn stream(level: usize, value: u64) -> u64 {
    1 + level as u64 * MAX_VALUES + value
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cascade {
    levels: Vec<Level>,
    /// The keys of no level, as digest and value, ascending.
    rest: Words,
}

impl Cascade {
    pub(super) fn build(shape: &Shape, pairs: &[Pair]) -> Result<Self> {
        let mut keys: Vec<(Pair, Candidates)> = pairs.iter().map(|&p| (p, Candidates::all(shape.values))).collect();
        let mut levels = Vec::new();
        while keys.len() >= EXACT_BELOW && levels.len() < MAX_LEVELS {
            let number = levels.len();
            let level = build_level(shape, number, &keys)?;
            keys.retain_mut(|(pair, candidates)| {
                *candidates = candidates.filter(|value| level.claims(number, value, pair.digest));
                candidates.len() > 1
            });
            levels.push(level);
        }
        let mut rest = Words::zeroed((keys.len() * ENTRY_WORDS) as u64)?;
        for (entry, (pair, _)) in rest.as_mut_slice().chunks_exact_mut(ENTRY_WORDS).zip(&keys) {
            entry.copy_from_slice(&[pair.digest.h1, pair.digest.h2, pair.value]);
        }
        Ok(Cascade { levels, rest })
    }

    pub(super) fn get(&self, shape: &Shape, digest: Digest) -> Option<u64> {
        let mut candidates = Candidates::all(shape.values);
        for (number, level) in self.levels.iter().enumerate() {
            candidates = candidates.filter(|value| level.claims(number, value, digest));
            if candidates.len() < 2 {
                return candidates.iter().next();
            }
        }
        let entries = self.rest.as_slice().as_chunks::<ENTRY_WORDS>().0;
        let found = entries.binary_search_by_key(&digest, |&[h1, h2, _]| Digest { h1, h2 }).ok()?;
        Some(entries[found][2]).filter(|&value| candidates.contains(value))
    }

    /// The keys on each level, and those that are kept exactly.
    pub(super) fn keys_stored(&self) -> impl Iterator<Item = u64> + '_ {
        let levels = self.levels.iter().map(|level| level.parts.iter().map(|part| part.items).sum());
        levels.chain([(self.rest.as_slice().len() / ENTRY_WORDS) as u64])
    }

    /// The rate at which absent keys get a value, from the expected rate of each filter.
    pub(super) fn rate(&self) -> f64 {
        let rate = |part: &Part| match part.items {
            0 => 0.0,
            items => standard::expected_rate(part.bits, items, part.hashes),
        };
        let levels: Vec<Vec<f64>> = self.levels.iter().map(|level| level.parts.iter().map(rate).collect()).collect();
        chance_of_a_value(&levels)
    }

    /// Positions per key and value on the first level.
    pub(super) fn hashes(&self) -> u32 {
        self.levels.first().and_then(|level| level.parts.iter().map(|part| part.hashes).max()).unwrap_or(0)
    }

    pub(super) fn bits(&self) -> u64 {
        self.levels.iter().map(|level| level.bits.len()).sum::<u64>() + self.rest.as_slice().len() as u64 * 64
    }

    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u8(self.levels.len() as u8);
        state.u64((self.rest.as_slice().len() / ENTRY_WORDS) as u64);
        for part in self.levels.iter().flat_map(|level| &level.parts) {
            state.u64(part.items);
            state.u64(part.bits);
            state.u8(part.hashes as u8);
        }
        self.levels.iter().for_each(|level| encoder.bits(&level.bits));
        encoder.words(self.rest.as_slice());
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>, shape: &Shape, items: u64) -> Result<Self> {
        let state = decoder.state();
        let count = usize::from(state.u8()?);
        if count > MAX_LEVELS {
            return Err(Error::corrupt("levels", format!("at most {MAX_LEVELS}"), count));
        }
        let rest = state.u64()?;
        let mut plans = Vec::new();
        for _ in 0..count {
            let mut first = 0u64;
            let mut parts = Vec::with_capacity(shape.values as usize);
            for _ in 0..shape.values {
                let part = Part { items: state.u64()?, first, bits: state.u64()?, hashes: state.u8()?.into() };
                // A filter with keys has bits and positions, one without has neither.
                let fits = match part.items {
                    0 => part.bits == 0 && part.hashes == 0,
                    n => n <= items && part.bits > 0 && (1..=MAX_HASHES).contains(&part.hashes),
                };
                first = first.checked_add(part.bits).filter(|_| fits).ok_or_else(|| {
                    Error::corrupt("filter of a level", "possible keys, bits and hashes", format!("{part:?}"))
                })?;
                parts.push(part);
            }
            plans.push((parts, first));
        }
        let levels = plans
            .into_iter()
            .map(|(parts, bits)| Ok(Level { parts, bits: decoder.bits(bits)? }))
            .collect::<Result<_>>()?;
        let rest = decoder.words(
            rest.checked_mul(ENTRY_WORDS as u64)
                .ok_or_else(|| Error::corrupt("keys that are kept exactly", format!("at most {items}"), rest))?,
        )?;
        let entries = rest.as_slice().as_chunks::<ENTRY_WORDS>().0;
        let ascending = entries.is_sorted_by(|a, b| (a[0], a[1]) < (b[0], b[1]));
        if !ascending || entries.iter().any(|entry| entry[2] >= shape.values) {
            return Err(Error::corrupt("keys that are kept exactly", "ascending, with values in range", "others"));
        }
        Ok(Cascade { levels, rest })
    }
}

fn build_level(shape: &Shape, number: usize, keys: &[(Pair, Candidates)]) -> Result<Level> {
    let mut counts = vec![0u64; shape.values as usize];
    keys.iter().for_each(|(pair, _)| counts[pair.value as usize] += 1);
    let mut first = 0u64;
    let mut parts = Vec::with_capacity(counts.len());
    for items in counts {
        let (bits, hashes) = match items {
            0 => (0, 0),
            _ => standard::for_rate(items, shape.filter_rate()).map(|size| (size.bits, size.hashes))?,
        };
        parts.push(Part { items, first, bits, hashes });
        first += bits;
    }
    let mut bits = BitStore::zeroed(first)?;
    for (pair, _) in keys {
        let part = &parts[pair.value as usize];
        let digest = pair.digest.derive(stream(number, pair.value));
        for position in probes(digest, part.bits, part.hashes) {
            bits.set(part.first + position);
        }
    }
    Ok(Level { parts, bits })
}

/// The probability that an absent key is given a value, when the filter of value v on level i says yes with probability
/// `rates[i][v]`. With equal rates and no end it is [`cascade_rate`](crate::theory::peeling::cascade_rate).
///
/// If lookups went on to the end, v would survive level i with probability `S_i(v) = rates[0][v] * .. * rates[i][v]`,
/// independently of the others. A lookup ends on level i with a value if one survives it and more survived the level
/// before: `P(one on i) - P(one on i, the same one on i-1) = sum_v S_i(v) (prod_u (1 - S_i(u)) - prod_u (1 - S_(i-1)(u)))`,
/// u running over the other values, and the second product being 0 on the first level.
pub(super) fn chance_of_a_value(rates: &[Vec<f64>]) -> f64 {
    let Some(values) = rates.first().map(Vec::len) else { return 0.0 };
    let alone = |survival: &[f64], value: usize| -> f64 {
        survival.iter().enumerate().filter(|&(other, _)| other != value).map(|(_, s)| 1.0 - s).product()
    };
    let mut before: Option<Vec<f64>> = None;
    let mut chance = 0.0;
    for level in rates {
        let survival: Vec<f64> = (0..values).map(|v| level[v] * before.as_ref().map_or(1.0, |s| s[v])).collect();
        for (value, s) in survival.iter().enumerate() {
            let earlier = before.as_ref().map_or(0.0, |before| alone(before, value));
            chance += s * (alone(&survival, value) - earlier);
        }
        before = Some(survival);
    }
    chance
}
