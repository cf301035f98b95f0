use bouquet::hash::SplitMix;
use bouquet::store::BitStore;

use super::papers::TARKOMA;
use crate::plot::even;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-fig7",
    paper: &TARKOMA,
    place: "Figure 7",
    title: "share of deletable elements of a deletable Bloom filter",
    run,
};

const N: u64 = 2_000;
const K: u32 = 5;
/// The bits of a region, m/r.
const REGIONS: [u64; 4] = [4, 10, 20, 50];

/// The probability that a bit is hit more than once.
fn collided(m: f64) -> f64 {
    let (hits, stay) = (N as f64 * f64::from(K), 1.0 - 1.0 / m);
    1.0 - stay.powf(hits) - hits / m * stay.powf(hits - 1.0)
}

/// The estimate of the filter's authors: each region is free of collisions independently of the element's own bit in
/// it.
fn rough(m: f64, region: f64) -> f64 {
    1.0 - (1.0 - (1.0 - collided(m)).powf(region)).powi(K as i32)
}

/// The same, given that the element has set its bit: no other may hit that one.
fn conditioned(m: f64, region: f64) -> f64 {
    let alone = (1.0 - 1.0 / m).powf(f64::from(K) * (N as f64 - 1.0)) * (1.0 - collided(m)).powf(region - 1.0);
    1.0 - (1.0 - alone).powi(K as i32)
}

/// Fills a filter and counts the elements with at least one bit in a region without collision.
fn deletable(random: &mut SplitMix, m: u64, region: u64) -> Result<(u64, u64)> {
    let (mut bits, mut flags) = (BitStore::zeroed(m)?, BitStore::zeroed(m.div_ceil(region))?);
    let elements: Vec<Vec<u64>> = (0..N)
        .map(|_| {
            let mut positions: Vec<u64> = (0..K).map(|_| random.below(m)).collect();
            positions.sort_unstable();
            positions.dedup();
            positions
        })
        .collect();
    for &position in elements.iter().flatten() {
        if bits.get(position) {
            flags.set(position / region);
        }
        bits.set(position);
    }
    let free = |positions: &&Vec<u64>| positions.iter().any(|position| !flags.get(position / region));
    Ok((elements.iter().filter(free).count() as u64, N))
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(200, 10);
    let mut plot =
        Plot::new(Axis::linear("bits per element, m/n"), Axis::linear("share of deletable elements").range(0.0, 1.0));
    let (mut roughly, mut exactly, mut at_16) = (Vec::new(), Vec::new(), Vec::new());
    for region in REGIONS {
        let label = format!("r = m/{region}");
        let mut points = Vec::new();
        for c in [3, 5, 8, 10, 12, 16, 20, 24] {
            let (m, of) = (c * N, format!("{region} {c}"));
            let mean = Mean::of_shares(&lab.try_play(&of, rounds, |random| deletable(random, m, region))?);
            points.push((c as f64, mean));
            roughly.push((rough(m as f64, region as f64), mean));
            exactly.push((conditioned(m as f64, region as f64), mean));
            if c == 16 {
                at_16.push(mean.value);
            }
        }
        let n = N as f64;
        plot = plot
            .line(&label, even(2.0, 24.0, 89).map(|c| (c, conditioned(c * n, region as f64))))
            .points(&label, points)
            .reference("rough estimate", even(2.0, 24.0, 89).map(|c| (c, rough(c * n, region as f64))));
    }
    let falling = at_16.windows(2).all(|pair| pair[0] > pair[1]);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds(
            "removal depends on the size r of the bitmap",
            "a larger r, more deletable",
            "at m/n = 16, falling with m/r",
            falling,
        ))
        .claim(Claim::near("rough estimate 1-(1-(1-p_c)^(m/r))^k", 0.015, roughly).corrected(Claim::near(
            "conditioned on the element's own bits",
            0.015,
            exactly,
        )))
        .note(format!(
            "n = {N}, k = {K}, {rounds} filters for each point; the paper's own k and r are not \
             given. The rough estimate (grey) lets the element's own bit count as a possible \
             collision with itself."
        )))
}
