use bouquet::AnyFilter;
use bouquet::hash::SplitMix;
use bouquet::theory::standard::rate;

use super::papers::LUO;
use super::shared::{any, any_false_positives, insert};
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-fig7",
    paper: &LUO,
    place: "Figure 7",
    title: "variable increments from D = {1, 4, 8, 13}, k = 2",
    run,
};

const D: [u64; 4] = [1, 4, 8, 13];
const HASHES: u32 = 2;
const KEYS: u64 = 2_000;

/// The sums of this many elements of D, with repetition.
fn sums(of: usize) -> Vec<u64> {
    fn more(of: usize, from: usize, sum: u64, found: &mut Vec<u64>) {
        if of == 0 {
            found.push(sum);
            return;
        }
        (from..D.len()).for_each(|i| more(of - 1, i, sum + D[i], found));
    }
    let mut found = Vec::new();
    more(of, 0, 0, &mut found);
    found
}

/// Whether they are all different.
fn are_distinct(of: usize) -> bool {
    let mut sums = sums(of);
    sums.sort_unstable();
    sums.windows(2).all(|pair| pair[0] != pair[1])
}

/// The settings of the filter in this many bits.
fn filter(random: &mut SplitMix, bits: u64) -> Result<AnyFilter> {
    let sequence = D.iter().fold(0_u64, |set, element| set | 1 << (element - 1));
    let (bits, sequence) = (bits.to_string(), sequence.to_string());
    let scheme = [("scheme", "bh"), ("order", "2"), ("hashes", "2")];
    any(random, "variable-increment", &[&scheme[..], &[("bits", &bits), ("sequence", &sequence)]].concat())
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(200, 30);
    let expected = |bits_per_key: u64| -> Result<f64> {
        Ok(filter(&mut SplitMix::new(1), bits_per_key * KEYS)?.expected(KEYS).false_positive.unwrap_or(f64::NAN))
    };
    // Counters of four bits.
    let plain = |bits_per_key: u64| rate(bits_per_key * KEYS / 4, KEYS, HASHES);
    let (mut points, mut pairs, mut lower) = (Vec::new(), Vec::new(), true);
    for bits_per_key in [16_u64, 24, 32, 48, 64] {
        let found = lab.try_play(&format!("{bits_per_key} bits"), rounds, |random| {
            let mut filter = filter(random, bits_per_key * KEYS)?;
            insert(&mut filter, &keys(random, KEYS))?;
            any_false_positives(&filter, random, 2_000)
        })?;
        let mean = Mean::of_shares(&found);
        points.push((bits_per_key as f64, mean));
        pairs.push((expected(bits_per_key)?, mean));
        lower &= mean.value < plain(bits_per_key);
    }
    let sizes = (16..=64).step_by(2);
    let line = sizes.clone().map(|c| Ok((c as f64, expected(c)?))).collect::<Result<Vec<_>>>()?;
    let largest = (1..=6).take_while(|&of| are_distinct(of)).last().unwrap_or(0);
    Ok(Report::new()
        .plot(
            Plot::new(Axis::linear("bits per key"), Axis::log("false-positive rate"))
                .line("increments from D", line)
                .points("increments from D", points)
                .line("counters of four bits, k = 2", sizes.map(|c| (c as f64, plain(c)))),
        )
        .claim(Claim::holds("sums of two elements of D", "all distinct", format!("{:?}", sums(2)), are_distinct(2)))
        .claim(
            Claim::holds(
                "sums of l elements of D, for every l",
                "all distinct",
                "4 + 4 + 4 + 4 = 1 + 1 + 1 + 13",
                (1..=6).all(are_distinct),
            )
            .corrected(Claim::holds(
                "sums of l elements of D, for the l that the filter reads",
                "l ≤ 2",
                format!("distinct up to l = {largest}"),
                largest >= 2,
            )),
        )
        .claim(Claim::curve("rate with D, read where a cell has at most two keys", pairs))
        .claim(Claim::holds(
            "against counters of four bits in the same memory",
            "an improved rate for a fixed number of bits per element",
            "at 16 to 64 bits per key",
            lower,
        ))
        .note(
            "The keys and cells that the figure draws are not in its text. The survey takes the sums of l elements to be distinct for \
             every l; no finite set of integers is so, and the filter reads a sum only where few keys are in the cell.",
        ))
}
