//! The simulation of the paper on dynamic filters: chains are filled, asked, emptied and filled again. Beside it, what the
//! figures on sets of bounded size have in common.

use bouquet::dynamic::dynamic::{Builder, Dynamic, Insertion, Removal};
use bouquet::hash::replication::sdbm_mersenne;
use bouquet::hash::{Hashing, Positions, SplitMix};
use bouquet::theory::dynamic::Shape;
use bouquet::theory::dynamic::sizing::{Distribution, Ranks, Sizing, capacity, for_bound, for_components};

use super::dbf_as_printed::AsPrinted;
use crate::simulate::keys;
use crate::{Axis, Lab, Mean, Result};

/// The components of nearly all figures.
pub(super) const BASE: Shape = Shape { bits: 1280, hashes: 7, capacity: 133 };

/// The rate for which filters are made.
pub(super) const ALPHA: f64 = 0.0098;

/// Components of m bits that keep this rate, with the paper's seven functions.
pub(super) fn component(m: u64) -> Result<Shape> {
    Ok(Shape { bits: m, hashes: 7, capacity: capacity(m, ALPHA)? })
}

/// The four sizes of Figures 2 and 4, which the paper does not state.
pub(super) fn four_components() -> Result<Vec<Shape>> {
    [640, 1280, 2560, 5120].into_iter().map(component).collect()
}

/// How a curve of one size is called.
pub(super) fn label(shape: &Shape) -> String {
    format!("m = {}, c = {}", shape.bits, shape.capacity)
}

/// The axis of the sets of up to ten components.
pub(super) fn items(label: &str) -> Axis {
    Axis::linear(label).ticks((0..=7).map(|i| f64::from(200 * i)))
}

/// An empty chain of bits with functions of its own, into which every key goes.
pub(super) fn chain(random: &mut SplitMix, shape: Shape) -> Result<Dynamic> {
    let builder = Builder::sized(shape)?.bits().insertion(Insertion::Plain);
    Ok(builder.hashed(Hashing::seeded(random.next_u64())).build()?)
}

/// How many of this many keys that are no members the chain takes for members, and how many there were.
pub(super) fn false_positives(filter: &Dynamic, random: &mut SplitMix, queries: u64) -> (u64, u64) {
    (keys(random, queries).iter().filter(|key| filter.contains(*key)).count() as u64, queries)
}

/// What was measured at each of several points, over rounds that each pass through all of them.
pub(super) fn by_point<T: Copy>(rounds: &[Vec<T>], mean: impl Fn(&[T]) -> Mean) -> Vec<Mean> {
    let points = rounds.first().map_or(0, Vec::len);
    (0..points).map(|at| mean(&rounds.iter().map(|round| round[at]).collect::<Vec<_>>())).collect()
}

/// The measured rates of a chain that grows to each of these numbers of keys, in ascending order.
pub(super) fn rates(lab: &Lab, shape: Shape, sizes: &[u64]) -> Result<Vec<Mean>> {
    let rounds = lab.try_play(&format!("rates {shape:?}"), lab.rounds(300, 30), |random| {
        let mut filter = chain(random, shape)?;
        let mut shares = Vec::new();
        for size in sizes {
            while filter.items() < *size {
                filter.add(&random.next_u64())?;
            }
            shares.push(false_positives(&filter, random, 4_000));
        }
        Ok(shares)
    })?;
    Ok(by_point(&rounds, Mean::of_shares))
}

/// Where the positions of a key come from.
#[derive(Clone, Copy)]
pub(super) enum Functions {
    /// Drawn one by one, as theory assumes.
    Independent,
    /// The double hashing of the paper, of a made-up name of a file.
    Published,
}

impl Functions {
    pub(super) fn positions(self, random: &mut SplitMix) -> Positions {
        match self {
            Functions::Independent => (0..BASE.hashes).map(|_| random.below(BASE.bits)).collect(),
            Functions::Published => {
                sdbm_mersenne(format!("{:016x}.mp3", random.next_u64()).as_bytes(), BASE.bits, BASE.hashes).collect()
            }
        }
    }
}

/// Puts them into a random order.
pub(super) fn shuffle<T>(random: &mut SplitMix, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// The order in which all keys are removed.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Insertion,
    Random,
}

/// A counting chain and the keys that were inserted, by their positions, the first one first.
pub(super) struct Trial {
    pub(super) filter: Dynamic,
    functions: Functions,
    members: Vec<Positions>,
}

impl Trial {
    /// A chain with n keys.
    pub(super) fn new(random: &mut SplitMix, functions: Functions, n: u64) -> Result<Self> {
        let filter = Dynamic::with_size(BASE.bits, BASE.hashes, BASE.capacity)?;
        let mut trial = Trial { filter, functions, members: Vec::new() };
        trial.grow(random, n)?;
        Ok(trial)
    }

    /// Adds n new keys.
    pub(super) fn grow(&mut self, random: &mut SplitMix, n: u64) -> Result<()> {
        for _ in 0..n {
            let positions = self.functions.positions(random);
            self.filter.add_at(&positions)?;
            self.members.push(positions);
        }
        Ok(())
    }

    /// How many keys match several components.
    pub(super) fn several_addresses(&self) -> u64 {
        self.members.iter().filter(|positions| self.filter.addresses_at(positions) > 1).count() as u64
    }

    /// Removes all keys that can be removed and tells how many stay.
    pub(super) fn empty(&mut self, random: &mut SplitMix, order: Order) -> Result<u64> {
        let mut members = std::mem::take(&mut self.members);
        if let Order::Random = order {
            shuffle(random, &mut members);
        }
        let mut left = 0;
        for positions in &members {
            left += u64::from(self.filter.remove_at(positions)? == Removal::Ambiguous);
        }
        Ok(left)
    }

    /// How many of this many keys that are no members it takes for members, and how many there were.
    pub(super) fn false_positives(&self, random: &mut SplitMix, queries: u64) -> (u64, u64) {
        let hits = (0..queries).filter(|_| self.filter.contains_at(&self.functions.positions(random)));
        (hits.count() as u64, queries)
    }
}

/// Numbers of keys in chains of s full components, of those with several addresses and of those that stay after all have
/// been removed in either order.
pub(super) struct Leftovers {
    pub(super) several: Mean,
    pub(super) in_order: Mean,
    pub(super) at_random: Mean,
    /// At random too, with `Merge()` as printed.
    pub(super) as_printed: Mean,
}

/// Measures them.
pub(super) fn leftovers(lab: &Lab, functions: Functions, s: u64, rounds: u64) -> Result<Leftovers> {
    let name = format!("leftovers {} {s}", functions as u8);
    let rounds = lab.try_play(&name, rounds, |random| {
        let n = s * BASE.capacity;
        let mut trial = Trial::new(random, functions, n)?;
        let (several, full) = (trial.several_addresses(), trial.filter.clone());
        let mut members = trial.members.clone();
        let in_order = trial.empty(random, Order::Insertion)?;
        let at_random = Trial { filter: full, functions, members: members.clone() }.empty(random, Order::Random)?;
        let mut printed = AsPrinted::filled(&members);
        shuffle(random, &mut members);
        let as_printed = members.iter().filter(|item| !printed.delete(item)).count();
        Ok(vec![several as f64, in_order as f64, at_random as f64, as_printed as f64])
    })?;
    match by_point(&rounds, Mean::of)[..] {
        [several, in_order, at_random, as_printed] => Ok(Leftovers { several, in_order, at_random, as_printed }),
        _ => unreachable!("every round has four numbers"),
    }
}

/// The distributions of the size of a set that the paper compares, with their names.
pub(super) fn distributions(bound: u64) -> [(&'static str, Distribution); 5] {
    let zipf = |ranks| Distribution::Zipf { exponent: 0.4, ranks };
    [
        ("maximum Zipf", zipf(Ranks::Maximum)),
        ("uniform", Distribution::Uniform),
        ("random Zipf", zipf(Ranks::Random(1))),
        ("normal", normal(bound, 20.0)),
        ("minimum Zipf", zipf(Ranks::Minimum)),
    ]
}

/// The bits of the best chain of two or more components, for sets of up to `bound` keys at the rate [`ALPHA`]. With one
/// component it would be the standard filter.
pub(super) fn chained(bound: u64, distribution: &Distribution) -> Result<f64> {
    let tails = distribution.tails(bound)?;
    let mut least = f64::MAX;
    for s in 2..=64 {
        least = least.min(for_components(bound, ALPHA, &tails, s)?.expected_bits);
    }
    Ok(least)
}

/// The same for a Zipf law, over many orders of its ranks: one order alone says little when few sizes are likely.
pub(super) fn randomly_ranked(lab: &Lab, bound: u64, exponent: f64) -> Result<Mean> {
    let bits = lab.try_play(&format!("ranks {bound} {exponent:.3}"), lab.rounds(1_000, 40), |random| {
        chained(bound, &Distribution::Zipf { exponent, ranks: Ranks::Random(random.next_u64()) })
    })?;
    Ok(Mean::of(&bits))
}

/// Sizes around half of the bound.
pub(super) fn normal(bound: u64, deviation: f64) -> Distribution {
    Distribution::Normal { mean: bound.div_ceil(2) as f64, deviation }
}

/// The chain with the fewest expected bits.
pub(super) fn best(bound: u64, alpha: f64, distribution: &Distribution) -> Result<Sizing> {
    Ok(for_bound(bound, alpha, distribution, 64)?)
}
