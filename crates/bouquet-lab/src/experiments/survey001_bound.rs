use bouquet::theory::bounds::{hash_list_rate, least_bits, least_bits_in_universe, least_rate, perfect_hash_bits};
use bouquet::theory::standard::{for_bits, for_rate, optimal_bits_per_key, optimal_rate};

use super::papers::BRODER;
use super::shared::standard_rate;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey001-bound",
    paper: &BRODER,
    place: "Sections 2.2 and 2.3",
    title: "Bloom filters, hashing and the least number of bits",
    run,
};

const N: u64 = 10_000;

/// The rate of a sorted list of hash values of this many bits: an element outside matches any of n.
fn hash_list(lab: &Lab, n: u64, bits: u32) -> Mean {
    lab.share(&format!("hashes of {bits} bits"), lab.rounds(200, 20), |random| {
        let mut list: Vec<u64> = (0..n).map(|_| random.next_u64() >> (64 - bits)).collect();
        list.sort_unstable();
        let queries = 20_000;
        let hits = (0..queries).filter(|_| list.binary_search(&(random.next_u64() >> (64 - bits))).is_ok()).count();
        (hits as u64, queries)
    })
}

fn run(lab: &Lab) -> Result<Report> {
    let bits = || (1..=24).map(f64::from);
    let measured = [2, 4, 6, 8, 10, 12, 14, 16]
        .into_iter()
        .map(|c| {
            Ok((c as f64, standard_rate(lab, (c * N, N, for_bits(c * N, N)?.hashes), lab.rounds(100, 10), 4 * N)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let plot = Plot::new(Axis::linear("bits per element, j"), Axis::log("false-positive rate").range(1e-7, 1.0))
        .line("Bloom filter, 0.6185^j", bits().map(|j| (j, optimal_rate(j))))
        .points("Bloom filter, 0.6185^j", measured)
        .line("least possible, 0.5^j", bits().map(|j| (j, least_rate(j))))
        .dashed(
            "perfect hashing with its function",
            (1..=21).map(|j| (f64::from(j) + std::f64::consts::LOG2_E, 0.5f64.powi(j))),
        );
    let sized = for_rate(1_000_000, 0.01)?.bits as f64 / least_bits(1_000_000, 0.01);
    let (n, small) = (256, 16);
    let universe = least_bits_in_universe(1 << 40, N, 0.01) / N as f64;
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::printed(
            "Bloom filter's bits over the least: log₂ e",
            "1.44",
            optimal_bits_per_key(0.01) / 100f64.log2(),
        ))
        .claim(Claim::printed("the same for a sized filter: 10⁶ elements, 1 %, whole k", "1.44", sized))
        .claim(Claim::printed("rate per bit of a Bloom filter", "0.6185", optimal_rate(1.0)))
        .claim(Claim::printed("rate per bit of the lower bound", "0.5", least_rate(1.0)))
        .claim(Claim::roughly(
            "the exact bound in a universe of 2⁴⁰ against log₂(1/ε), ε = 1 %",
            100f64.log2(),
            0.001,
            universe,
        ))
        .claim(
            Claim::holds(
                "perfect hashing with j-bit values matches the bound",
                "n j bits",
                format!("{:.2} n at least, for j = 8", perfect_hash_bits(N, 8) / N as f64),
                perfect_hash_bits(N, 8) / N as f64 <= 8.001,
            )
            .corrected(Claim::printed(
                "bits per element of any minimal perfect hash function besides",
                "1.44",
                perfect_hash_bits(N, 8) / N as f64 - 8.0,
            )),
        )
        .claim(Claim::holds(
            "hashing to 2 log₂ n bits (section 2.3)",
            "at most 1/n",
            format!("{} at n = {n}", hash_list(lab, n, small)),
            hash_list(lab, n, small).deviations(1.0 / n as f64) < 5.0,
        ))
        .claim(Claim::simulated(
            "its rate 1-(1-2^-b)^n at n = 256, b = 16",
            hash_list_rate(n, f64::from(small)),
            hash_list(lab, n, small),
        ))
        .note("Points: standard filters of 10,000 elements with the best whole k."))
}
