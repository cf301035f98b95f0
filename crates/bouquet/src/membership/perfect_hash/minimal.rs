//! A minimal perfect hash: every key has a slot of its own, and there are no others.
//!
//! Each key has three vertices, one in each third of them; peeling gives each a vertex of its own. The numbers of its three
//! vertices, two bits each, add up modulo 3 to which of them that is. A vertex that is no key's own has the number 3, so that the
//! rank of a vertex among the others is the slot.

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parts::peel::Hypergraph;
use crate::parts::records::{Record, bits_for};
use crate::parts::slices::HashWords;
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::peeling::bloomier_cells;
use crate::theory::perfect::RANKED;

const VERTICES: usize = 3;

/// Seeds that are tried before a build is given up. At the worst number of keys, near 3,000, one in seven fails.
const TRIES: u64 = 100;

/// The number of a vertex that is no key's own; among sums modulo 3 it is 0.
const FREE: u64 = 3;

/// Vertices in a word.
const PER_WORD: u64 = 32;

/// The lower bit of each vertex of a word.
const LOW_BITS: u64 = u64::MAX / 3;

/// The perfect hash of a set of keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Minimal {
    seed: u64,
    keys: u64,
    numbers: Counters,
    /// Own vertices before each group of [`RANKED`].
    ranks: Counters,
}

/// The vertices for this many keys.
fn vertices(keys: u64) -> Result<u64> {
    if keys == 0 {
        return Ok(0);
    }
    let too_large = |_| Error::TooLarge { what: "the table".into(), bytes: u128::from(keys) };
    Ok(bloomier_cells(keys).map_err(too_large)?.next_multiple_of(VERTICES as u64))
}

/// The size for this many keys.
pub(super) fn planned_bits(keys: u64) -> Result<u64> {
    let vertices = vertices(keys)?;
    Ok(2 * vertices + vertices.div_ceil(RANKED) * u64::from(bits_for(keys)))
}

fn place(digest: Digest, seed: u64, third: u64) -> [u64; VERTICES] {
    let mut words = HashWords::new(digest.derive(seed));
    let mut vertices = [0; VERTICES];
    for (slice, vertex) in (0..).zip(&mut vertices) {
        *vertex = words.cell(slice, third);
    }
    vertices
}

impl Minimal {
    /// The perfect hash of these keys, no two of which have one digest.
    pub(super) fn build(records: &[Record]) -> Result<Self> {
        let keys = records.len() as u64;
        let count = vertices(keys)?;
        let mut places = vec![0u32; records.len() * VERTICES];
        for seed in 0..TRIES {
            for (edge, record) in places.as_chunks_mut::<VERTICES>().0.iter_mut().zip(records) {
                *edge = place(record.digest, seed, count / VERTICES as u64).map(|vertex| vertex as u32);
            }
            let graph = Hypergraph::new(&places, VERTICES, count as usize)?;
            let peeling = graph.peel()?;
            if !peeling.is_complete() {
                continue;
            }
            let mut numbers = Counters::zeroed(count, 2)?;
            numbers.fill(0..count, FREE);
            for &(edge, own) in peeling.order.iter().rev() {
                let vertices = graph.edge(edge as usize);
                let index = vertices.iter().position(|&vertex| vertex == own).unwrap_or(0) as u64;
                let others = vertices.iter().filter(|&&vertex| vertex != own);
                let sum: u64 = others.map(|&vertex| numbers.get(vertex.into())).sum();
                // Two numbers up to 3: 6 more is nothing modulo 3.
                numbers.set(own.into(), (index + 6 - sum) % 3);
            }
            return Self::ranked(seed, keys, numbers);
        }
        Err(Error::Build {
            what: format!("none of {TRIES} seeds gives each of {keys} keys a vertex of its own among {count}"),
            remedy: "build it with another seed, or with mode=fuse".into(),
        })
    }

    /// With the ranks that follow from the numbers.
    fn ranked(seed: u64, keys: u64, numbers: Counters) -> Result<Self> {
        let mut ranks = Counters::zeroed(numbers.len().div_ceil(RANKED), bits_for(keys))?;
        let mut rank = 0u64;
        for (group, words) in (0..).zip(numbers.words().chunks((RANKED / PER_WORD) as usize)) {
            ranks.set(group, rank.min(ranks.max()));
            rank += words.iter().map(|&word| own_vertices(word, PER_WORD)).sum::<u64>();
        }
        // Behind the last vertex the words have zeros, which count as own.
        let spare = numbers.len().next_multiple_of(PER_WORD) - numbers.len();
        if rank - spare != keys {
            return Err(Error::corrupt("own vertices", keys, rank - spare));
        }
        Ok(Minimal { seed, keys, numbers, ranks })
    }

    /// The vertices of a key.
    #[inline]
    fn vertices(&self, digest: Digest) -> [u64; VERTICES] {
        place(digest, self.seed, self.numbers.len() / VERTICES as u64)
    }

    /// The slot of a key: its own, below the number of keys, if it is a member.
    #[inline]
    pub(super) fn slot(&self, digest: Digest) -> Option<u64> {
        if self.keys == 0 {
            return None;
        }
        let vertices = self.vertices(digest);
        let sum: u64 = vertices.iter().map(|&vertex| self.numbers.get(vertex)).sum();
        let own = vertices[(sum % 3) as usize];
        let first = own / RANKED * RANKED;
        let words = &self.numbers.words()[(first / PER_WORD) as usize..=(own / PER_WORD) as usize];
        let (last, before) = words.split_last()?;
        let within = before.iter().map(|&word| own_vertices(word, PER_WORD)).sum::<u64>();
        let slot = self.ranks.get(own / RANKED) + within + own_vertices(*last, own % PER_WORD);
        // A stranger's vertex may be nobody's own, and its rank that of the end.
        (slot < self.keys).then_some(slot)
    }

    pub(super) fn prefetch(&self, digest: Digest) {
        for vertex in self.vertices(digest) {
            prefetch(self.numbers.words(), (vertex / PER_WORD) as usize);
        }
    }

    pub(super) fn bits(&self) -> u64 {
        self.numbers.bits() + self.ranks.bits()
    }

    /// State: the seed. Stores: the numbers and the ranks, as words.
    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u8(self.seed as u8);
        encoder.words(self.numbers.words());
        encoder.words(self.ranks.words());
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>, keys: u64) -> Result<Self> {
        let seed = u64::from(decoder.state().u8()?);
        if seed >= TRIES {
            return Err(Error::corrupt("seed of a table", format!("below {TRIES}"), seed));
        }
        let count = vertices(keys)?;
        let numbers = decoder.cells(count, 2)?;
        let ranks = decoder.cells(count.div_ceil(RANKED), bits_for(keys))?;
        let minimal = Minimal { seed, keys, numbers, ranks };
        if decoder.reads_stores() && Self::ranked(seed, keys, minimal.numbers.clone())? != minimal {
            return Err(Error::corrupt("ranks", "those of the vertices", "others"));
        }
        Ok(minimal)
    }
}

/// How many of the first vertices of a word are some key's own: their number is not 3.
#[inline]
fn own_vertices(word: u64, first: u64) -> u64 {
    let free = word & word >> 1 & LOW_BITS;
    let among = if first == PER_WORD { LOW_BITS } else { LOW_BITS & ((1 << (2 * first)) - 1) };
    u64::from((among & !free).count_ones())
}
