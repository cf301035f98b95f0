//! One stage: the search for a filter that rejects what it must, and its code in the header.

use super::{Digest, Error, HASH_BITS, MOST_HASHES, MOST_STAGES, Result, Words, multistage};
use crate::hash::fastrange;
use crate::parts::bit_stream::{BitReader, BitWriter};

/// The links of one hop.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// A filter: its bits, positions per link and seed.
    Filter { bits: u64, hashes: u32, seed: u64, words: Vec<u64> },
    /// The first halves of the digests, ascending.
    List(Vec<u64>),
}

/// The hash words of a link under a seed, one for each position that it may have. They are independent: in a few dozen bits the positions
/// of any progression would coincide too often.
#[inline]
fn words_of(digest: Digest, seed: u64) -> [u64; MOST_HASHES as usize] {
    std::array::from_fn(|i| digest.derive(seed << HASH_BITS | (i as u64 + 1)).h1)
}

/// Words that a search remembers.
const REMEMBERED: u64 = 1 << 16;

impl Stage {
    /// The shortest filter that takes some links and rejects the others: lengths from 1 on, numbers of positions around the best, seeds.
    /// The links themselves if there is none.
    pub(super) fn search(code: &Code, take: &[Digest], reject: &[Digest]) -> Self {
        let (links, seeds) = (take.len() + reject.len(), 1u64 << code.seed_bits);
        let digest = |link: usize| take.get(link).or_else(|| reject.get(link - take.len())).copied();
        let known: Vec<_> = if links as u64 * seeds <= REMEMBERED {
            let of = |seed| (0..links).filter_map(digest).map(move |digest| words_of(digest, seed));
            (0..seeds).flat_map(of).collect()
        } else {
            Vec::new()
        };
        let words = |link: usize, seed: u64| {
            let known = known.get(seed as usize * links + link).copied();
            known.or_else(|| Some(words_of(digest(link)?, seed))).unwrap_or_default()
        };
        for bits in 1..=code.most {
            for hashes in multistage::candidates(bits, take.len() as u64, MOST_HASHES) {
                for seed in 0..seeds {
                    let mut filter = vec![0u64; bits.div_ceil(64) as usize];
                    let k = hashes as usize;
                    for word in (0..take.len()).flat_map(|link| words(link, seed).into_iter().take(k)) {
                        let position = fastrange(word, bits);
                        filter[(position / 64) as usize] |= 1 << (position % 64);
                    }
                    let accepts =
                        |link| words(link, seed).iter().take(k).all(|word| is_set(&filter, fastrange(*word, bits)));
                    if !(take.len()..links).any(accepts) {
                        return Stage::Filter { bits, hashes, seed, words: filter };
                    }
                }
            }
        }
        let mut list: Vec<u64> = take.iter().map(|link| link.h1).collect();
        list.sort_unstable();
        list.dedup();
        Stage::List(list)
    }

    pub(super) fn takes(&self, digest: Digest) -> bool {
        match self {
            Stage::Filter { bits, hashes, seed, words } => {
                let mut positions = words_of(digest, *seed).into_iter().take(*hashes as usize);
                positions.all(|word| is_set(words, fastrange(word, *bits)))
            }
            Stage::List(list) => list.binary_search(&digest.h1).is_ok(),
        }
    }

    /// Bits of the filter or of the list, positions per link, seed.
    pub(super) fn shape(&self) -> (u64, u32, u64) {
        match self {
            Stage::Filter { bits, hashes, seed, .. } => (*bits, *hashes, *seed),
            Stage::List(list) => (64 * list.len() as u64, 0, 0),
        }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Stage::List(_))
    }

    /// The rate of links that are not declared.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Stage::Filter { bits, hashes, words, .. } => {
                let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
                (f64::from(ones) / *bits as f64).powi(*hashes as i32)
            }
            Stage::List(_) => 0.0,
        }
    }
}

/// Whether a bit of these words is one.
fn is_set(words: &[u64], at: u64) -> bool {
    words.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// How stages are written in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) seed_bits: u32,
    /// Bits of a filter, at most.
    pub(super) most: u64,
}

fn put_gamma(writer: &mut BitWriter, number: u64) {
    let width = number.ilog2() + 1;
    writer.put(0, width - 1);
    writer.put(number, width);
}

fn get_gamma(reader: &mut BitReader<'_>) -> Option<u64> {
    let mut zeros = 0;
    while reader.get(1)? == 0 {
        zeros += 1;
        if zeros > 40 {
            return None;
        }
    }
    Some(1 << zeros | reader.get(zeros)?)
}

impl Code {
    /// The bits of a stage with all that belongs to them.
    pub(super) fn bits(&self, stage: &Stage) -> u64 {
        let (own, _, _) = stage.shape();
        let head = match stage {
            Stage::Filter { bits, .. } => multistage::gamma_bits(*bits) + HASH_BITS + self.seed_bits,
            Stage::List(list) => multistage::gamma_bits(list.len() as u64 + 1) + HASH_BITS,
        };
        own + u64::from(head)
    }

    /// The header and its bits: each stage its length in Elias' gamma code, k, seed, filter. An escaped one has the number of its links and
    /// one, k = 0, and the first halves of their digests.
    pub(super) fn encode(&self, stages: &[Stage]) -> Result<(Words, u64)> {
        let mut writer = BitWriter::default();
        for stage in stages {
            match stage {
                Stage::Filter { bits, hashes, seed, words } => {
                    put_gamma(&mut writer, *bits);
                    writer.put((*hashes).into(), HASH_BITS);
                    writer.put(*seed, self.seed_bits);
                    for at in 0..*bits {
                        writer.put(words[(at / 64) as usize] >> (at % 64) & 1, 1);
                    }
                }
                Stage::List(list) => {
                    put_gamma(&mut writer, list.len() as u64 + 1);
                    writer.put(0, HASH_BITS);
                    list.iter().for_each(|link| writer.put(*link, 64));
                }
            }
        }
        let bits = writer.len();
        Ok((writer.into_words()?, bits))
    }

    /// Reads the stages of a header of this many bits.
    pub(super) fn decode(&self, words: &[u64], bits: u64) -> Result<Vec<Stage>> {
        let mut reader = BitReader::new(words, 0, bits);
        let mut stages = Vec::new();
        let mut read = 0;
        while read < bits {
            let stage = self.decode_stage(&mut reader, bits - read).ok_or_else(|| Error::Truncated {
                what: format!("stage {} of the header", stages.len()),
                needed: bits.saturating_add(1),
                available: bits,
            })??;
            read += self.bits(&stage);
            stages.push(stage);
            if stages.len() as u64 > MOST_STAGES {
                return Err(Error::corrupt("header", format!("at most {MOST_STAGES} stages"), "more"));
            }
        }
        Ok(stages)
    }

    /// `None` if the header ends before the stage does.
    fn decode_stage(&self, reader: &mut BitReader<'_>, left: u64) -> Option<Result<Stage>> {
        let length = get_gamma(reader)?;
        let hashes = reader.get(HASH_BITS)? as u32;
        // Nothing is allocated that the header does not have.
        let needed = if hashes == 0 { (length - 1).saturating_mul(64) } else { length };
        if needed > left {
            return None;
        }
        if hashes == 0 {
            let list: Vec<u64> = (1..length).map(|_| reader.get(64)).collect::<Option<_>>()?;
            let ascending = list.is_sorted_by(|a, b| a < b);
            return Some(if ascending {
                Ok(Stage::List(list))
            } else {
                Err(Error::corrupt("listed links", "ascending", "others"))
            });
        }
        if length > self.most {
            return Some(Err(Error::corrupt("bits of a stage", format!("at most {}", self.most), length)));
        }
        let seed = reader.get(self.seed_bits)?;
        let mut words = vec![0u64; length.div_ceil(64) as usize];
        for at in 0..length {
            words[(at / 64) as usize] |= reader.get(1)? << (at % 64);
        }
        Some(Ok(Stage::Filter { bits: length, hashes, seed, words }))
    }
}
