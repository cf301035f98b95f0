use bouquet::Bloom;
use bouquet::hash::SplitMix;
use bouquet::theory::standard::rate;

use super::papers::LUO;
use super::shared::standard;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-table3",
    paper: &LUO,
    place: "Table III",
    title: "a filter of the set and one of its complement: the four answers",
    run,
};

/// The members, the others of the universe, and the strangers that are in neither.
const MEMBERS: u64 = 1_000;
const OTHERS: u64 = 4_000;
const HASHES: u32 = 4;

/// How many of these keys have each answer: main and complement 1 0, 0 1, 1 1, 0 0.
fn answers(main: &Bloom, complement: &Bloom, of: &[u64]) -> [u64; 4] {
    let mut counts = [0; 4];
    for key in of {
        counts[match (main.contains(key), complement.contains(key)) {
            (true, false) => 0,
            (false, true) => 1,
            (true, true) => 2,
            (false, false) => 3,
        }] += 1;
    }
    counts
}

/// Fills both filters with this many bits per key and asks for members, others and strangers.
fn trial(random: &mut SplitMix, bits_per_key: u64) -> Result<[[u64; 4]; 3]> {
    let [members, others, strangers] = [MEMBERS, OTHERS, OTHERS].map(|count| keys(random, count));
    let mut main = standard(random, (MEMBERS * bits_per_key, 0, HASHES))?;
    let mut complement = standard(random, (OTHERS * bits_per_key, 0, HASHES))?;
    main.insert_batch(&members);
    complement.insert_batch(&others);
    Ok([members, others, strangers].map(|keys| answers(&main, &complement, &keys)))
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(200, 30);
    let mut table = Table::new(["asked for", "1 0", "0 1", "1 1", "0 0"]);
    let mut plot =
        Plot::new(Axis::linear("bits per key in either filter"), Axis::log("share that the hash table must decide"));
    let (mut pairs, mut certain, mut never) = (Vec::new(), true, true);
    let mut points = [Vec::new(), Vec::new()];
    for c in [4, 6, 8, 10, 12] {
        let found = lab.try_play(&format!("{c} bits"), rounds, |random| trial(random, c))?;
        let expected = [rate(OTHERS * c, OTHERS, HASHES), rate(MEMBERS * c, MEMBERS, HASHES)];
        for (i, (expected, points)) in expected.into_iter().zip(&mut points).enumerate() {
            let both = found.iter().map(|trial| (trial[i][2], trial[i].iter().sum())).collect::<Vec<_>>();
            let mean = Mean::of_shares(&both);
            pairs.push((expected, mean));
            points.push((c as f64, mean));
        }
        // A member is never in the complement alone, another never in the main filter alone, and neither ever in none.
        certain &= found.iter().all(|trial| trial[0][1] == 0 && trial[1][0] == 0);
        never &= found.iter().all(|trial| trial[0][3] == 0 && trial[1][3] == 0);
        if c == 8 {
            for (i, name) in ["a member", "another of the universe", "a stranger"].into_iter().enumerate() {
                let share = |answer: usize| {
                    let hits: u64 = found.iter().map(|trial| trial[i][answer]).sum();
                    let all: u64 = found.iter().flat_map(|trial| trial[i]).sum();
                    hits as f64 / all as f64
                };
                table.row([name.into(), share(0).into(), share(1).into(), share(2).into(), share(3).into()]);
            }
        }
    }
    let curve = |n: u64| (4..=12).map(move |c| (c as f64, rate(n * c, n, HASHES)));
    for ((name, n), points) in [("a member", OTHERS), ("another", MEMBERS)].into_iter().zip(points) {
        plot = plot.line(name, curve(n)).points(name, points);
    }
    Ok(Report::new()
        .plot(plot)
        .table(table)
        .claim(Claim::holds("1 0", "x ∈ S", "never for another of the universe", certain))
        .claim(Claim::holds("0 1", "x ∉ S", "never for a member", certain))
        .claim(Claim::holds("0 0", "does not exist", "never for a key of the universe", never))
        .claim(Claim::curve("1 1, where the hash table decides: the other filter's rate", pairs))
        .note(format!(
            "{MEMBERS} members in a universe of {}, k = {HASHES}; the table has 8 bits per key. The truth table holds for keys of the \
             universe alone: a stranger may get any answer, and 1 0 or 0 1 is then wrong.",
            MEMBERS + OTHERS
        )))
}
