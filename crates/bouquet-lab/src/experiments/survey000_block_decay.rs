use bouquet::hash::SplitMix;

use super::papers::TARKOMA;
use crate::plot::even_log;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-block-decay",
    paper: &TARKOMA,
    place: "Section IV-C.3",
    title: "decaying filters in blocks: m/T + k operations per arrival",
    run,
};

const CELLS: usize = 4_096;
const HASHES: usize = 4;
const WINDOW: u64 = 512;

/// A decaying filter of T blocks: arrival t decrements block t mod T, and sets the key's cells to the rounds that it has to live.
struct Decaying {
    cells: Vec<u32>,
    blocks: u64,
    life: u32,
    arrivals: u64,
    operations: u64,
}

impl Decaying {
    fn new(blocks: u64) -> Self {
        // One round more than the window has, because a key's first round may be nearly over.
        let life = (WINDOW.div_ceil(blocks) + 1) as u32;
        Decaying { cells: vec![0; CELLS], blocks, life, arrivals: 0, operations: 0 }
    }

    fn contains(&self, positions: &[usize; HASHES]) -> bool {
        positions.iter().all(|&position| self.cells[position] > 0)
    }

    fn insert(&mut self, positions: &[usize; HASHES]) {
        let block = (self.arrivals % self.blocks) as usize;
        let size = CELLS / self.blocks as usize;
        for cell in &mut self.cells[block * size..(block + 1) * size] {
            *cell = cell.saturating_sub(1);
            self.operations += 1;
        }
        for &position in positions {
            self.cells[position] = self.life;
            self.operations += 1;
        }
        self.arrivals += 1;
    }
}

fn draw(random: &mut SplitMix) -> [usize; HASHES] {
    [(); HASHES].map(|()| random.below(CELLS as u64) as usize)
}

/// The operations per arrival, the keys of the window that are missed, and the false positives of 1000 others.
fn stream(random: &mut SplitMix, blocks: u64) -> (f64, u64, (u64, u64)) {
    let mut filter = Decaying::new(blocks);
    let keys: Vec<[usize; HASHES]> = (0..4 * WINDOW).map(|_| draw(random)).collect();
    let mut missed = 0;
    for (t, key) in keys.iter().enumerate() {
        filter.insert(key);
        // The oldest key that must still be known.
        missed += t.checked_sub(WINDOW as usize - 1).map_or(0, |old| u64::from(!filter.contains(&keys[old])));
    }
    let false_positives = (0..1_000).filter(|_| filter.contains(&draw(random))).count() as u64;
    (filter.operations as f64 / filter.arrivals as f64, missed, (false_positives, 1_000))
}

/// The rate with T blocks. A block that was decremented j - 1 arrivals ago still has the keys of the last W + j arrivals, so about
/// (1 - e^(-k (W + T/2) / m))^k.
fn rate(blocks: u64) -> f64 {
    let kept = |alive: u64| (1.0 - 1.0 / CELLS as f64).powf(HASHES as f64 * alive as f64);
    let zeros = (1..=blocks).map(|j| kept(WINDOW + j)).sum::<f64>() / blocks as f64;
    (1.0 - zeros).powi(HASHES as i32)
}

fn run(lab: &Lab) -> Result<Report> {
    let sizes: [u64; 7] = [1, 4, 16, 32, 64, 128, 256];
    let rounds = lab.rounds(400, 60);
    let (mut operations, mut rates, mut missed) = (Vec::new(), Vec::new(), 0);
    for blocks in sizes {
        let found = lab.play(&format!("{blocks} blocks"), rounds, |random| stream(random, blocks));
        operations.push((blocks as f64, Mean::of(&found.iter().map(|run| run.0).collect::<Vec<_>>())));
        missed += found.iter().map(|run| run.1).sum::<u64>();
        rates.push((blocks as f64, Mean::of_shares(&found.iter().map(|run| run.2).collect::<Vec<_>>())));
    }
    let cost = |blocks: f64| CELLS as f64 / blocks + HASHES as f64;
    let left = Plot::new(Axis::log("blocks T"), Axis::log("operations per arrival"))
        .titled("(a) cost")
        .line("m/T + k", even_log(1.0, 256.0, 60).map(|t| (t, cost(t))))
        .points("m/T + k", operations.clone());
    let right = Plot::new(Axis::log("blocks T"), Axis::linear("false-positive rate"))
        .titled("(b) rate")
        .line("(1 - e^(-k(W+T/2)/m))^k", (0..=8).map(|i| 1 << i).map(|blocks| (blocks as f64, rate(blocks))))
        .points("(1 - e^(-k(W+T/2)/m))^k", rates.clone());
    let exact = operations.iter().all(|(t, mean)| mean.value == cost(*t));
    let bits = |blocks: u64| (Decaying::new(blocks).life + 1).next_power_of_two().ilog2();
    Ok(Report::new()
        .plot(left)
        .plot(right)
        .claim(Claim::holds("operations of an addition", "m/T + k", "counted, T = 1 to 256", exact))
        .claim(Claim::holds(
            "false negatives in a window of W = 512 arrivals",
            "none",
            format!("{missed} of {} keys", rounds * sizes.len() as u64 * (3 * WINDOW + 1)),
            missed == 0,
        ))
        .claim(Claim::curve("false-positive rate with T blocks", rates.iter().map(|(t, mean)| (rate(*t as u64), *mean))))
        .claim(Claim::holds(
            "bits of a cell",
            "fewer with more blocks",
            format!("{} for T = 1, {} for T = 32, {} for T = 256", bits(1), bits(32), bits(256)),
            bits(1) > bits(32) && bits(32) > bits(256),
        ))
        .note(format!(
            "m = {CELLS} cells, k = {HASHES}. Blocks make additions cheaper and cells shorter, and keep keys for up to a round more: \
             at T = 256 the rate is {:.2} times that of T = 1. The text's amortised O(√(G/W)) leaves constants open and is not \
             judged, nor are the rates that it interpolates from two figures of other papers.",
            rate(256) / rate(1)
        )))
}
