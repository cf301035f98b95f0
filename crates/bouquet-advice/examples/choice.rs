//! How good the choice for speed is: every kind that does what a workload needs is timed, and the recommended one compared with the
//! fastest. `cargo run --release -p bouquet-advice --example choice`, on a quiet machine.

use bouquet::kind::Verb;
use bouquet_advice::trial::time;
use bouquet_advice::{Goal, Workload, advise};

/// Kinds that are timed for each workload: the first ones by what was predicted, far beyond those that could be the fastest.
const TIMED: usize = 12;
const ROUNDS: usize = 3;

fn main() -> bouquet::Result<()> {
    println!("items,fpr,needs,reads,recommended,ns,fastest,ns,ratio");
    let needs: [&[Verb]; 4] = [&[], &[Verb::Remove], &[Verb::Count], &[Verb::Merge]];
    for (items, fpr) in [(10_000, 0.01), (1_000_000, 0.01), (1_000_000, 0.0001)] {
        for need in needs {
            for (reads, is_static) in [(0.99, false), (0.5, false), (0.99, true)] {
                let plain = Workload::new(items, fpr)?;
                let workload = Workload { need: need.to_vec(), goal: Goal::Speed, reads, is_static, ..plain };
                let advice: Vec<_> = advise(&workload)?.into_iter().take(TIMED).collect();
                let mut best = vec![f64::INFINITY; advice.len()];
                // In turn, so that whatever disturbs the machine disturbs all.
                for _ in 0..ROUNDS {
                    for (of, best) in advice.iter().zip(&mut best) {
                        let (insert, query, remove) = time(&of.config, items)?;
                        let write =
                            remove.filter(|_| need.contains(&Verb::Remove)).map_or(insert, |ns| (insert + ns) / 2.0);
                        *best = best.min(reads * query + (1.0 - reads) * write);
                    }
                }
                let Some(fastest) = (0..best.len()).min_by(|&a, &b| best[a].total_cmp(&best[b])) else { continue };
                let (id, words) = (|at: usize| advice[at].kind.facts().id, need.iter().map(|verb| verb.name()));
                let words: String = words.chain(is_static.then_some("static")).collect::<Vec<_>>().join("+");
                let ratio = best[0] / best[fastest];
                println!(
                    "{items},{fpr},{words},{reads},{},{:.2},{},{:.2},{ratio:.2}",
                    id(0),
                    best[0],
                    id(fastest),
                    best[fastest]
                );
            }
        }
    }
    Ok(())
}
