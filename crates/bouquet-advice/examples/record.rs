//! Writes the record of how long operations of every kind take: `cargo run --release -p bouquet-advice --example record > \
//! crates/bouquet-advice/src/record.csv`, on a quiet machine.

use std::time::Instant;

use bouquet::kind::Config;
use bouquet::registry;
use bouquet_advice::speed::{FLOOR, floor};
use bouquet_advice::trial::time;

/// A kind whose filter of one size took longer than this is not measured at the next.
const LONG: f64 = 0.3;

fn main() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("\t: unknown");
    println!("# cpu: {}", cpu.trim_start_matches(['\t', ' ', ':']));
    println!("# shortest of the rounds, in nanoseconds per key; a query is half of present and half of absent keys");
    println!("kind,items,fpr,insert_ns,query_ns,remove_ns");
    for items in [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000] {
        println!("{FLOOR},{items},0.01,,{:.3},", floor(items, 400));
    }
    for kind in registry::kinds() {
        for fpr in ["0.01", "0.0001"] {
            for items in [1_000u64, 10_000, 100_000, 1_000_000] {
                let config = Config::new(kind.facts()).set("items", &items.to_string());
                let Ok(config) = config.map(|config| config.clone().set("fpr", fpr).unwrap_or(config)) else { break };
                if kind.plan(&config).is_err() {
                    break;
                }
                let start = Instant::now();
                let rounds = (1_000_000 / items).clamp(3, 50);
                let mut best: Option<[f64; 3]> = None;
                for _ in 0..rounds {
                    let Ok((insert, query, remove)) = time(&config, items) else { break };
                    let times = [insert, query, remove.unwrap_or(f64::NAN)];
                    best = Some(best.map_or(times, |best| [0, 1, 2].map(|at| best[at].min(times[at]))));
                    if start.elapsed().as_secs_f64() > LONG {
                        break;
                    }
                }
                let Some([insert, query, remove]) = best else { break };
                let remove = if remove.is_nan() { String::new() } else { format!("{remove:.2}") };
                println!("{},{items},{fpr},{insert:.2},{query:.2},{remove}", kind.facts().id);
                if start.elapsed().as_secs_f64() > LONG * 1.5 {
                    break;
                }
            }
        }
    }
}
