use std::collections::HashMap;
use std::time::Instant;

use bouquet::capability::Item;
use bouquet::hash::{Hashing, SplitMix};
use bouquet::kind::Config;
use bouquet::{AnyFilter, Stable, registry};

use super::papers::LUO;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-forgetting",
    paper: &LUO,
    place: "Section VII-B",
    title: "duplicates in a stream: kinds that forget, in the same memory and for the same window",
    run,
};

/// W, the arrivals among which a duplicate is to be noticed.
const WINDOW: u64 = 2_000;
/// The memory of every filter.
const BITS: u64 = 60_000;
/// One arrival in this many is a duplicate, of a key that came 1 to W arrivals ago.
const DUPLICATES: u64 = 20;
/// Arrivals before the first that counts: several windows.
const BEFORE: u64 = 6 * WINDOW;
/// Ticks of a window, for kinds that age by ticks.
const TICKS: u64 = 16;

/// A kind and how it is made for the window and the memory.
struct Contender {
    kind: &'static str,
    settings: Vec<(&'static str, u64)>,
    words: &'static [(&'static str, &'static str)],
    /// The arrivals after which a tick passes.
    tick: Option<u64>,
}

fn contenders() -> Vec<Contender> {
    let made = |kind, settings: &[(&'static str, u64)]| Contender {
        kind,
        settings: settings.to_vec(),
        words: &[],
        tick: None,
    };
    vec![
        made("stable", &[("bits", BITS), ("gap", WINDOW)]),
        // Cells of 5 bits.
        made("decaying", &[("items", WINDOW), ("cells", BITS / 5)]),
        // Keys live for a window and a tick, in counters of 6 bits.
        Contender {
            tick: Some(WINDOW / TICKS),
            ..made("temporal-counting", &[("items", WINDOW), ("counters", BITS / 6), ("strength", TICKS + 1)])
        },
        // After a window an occurrence counts half, which is just enough.
        Contender {
            words: &[("store", "skewed")],
            tick: Some(1),
            ..made("time-decaying", &[("items", WINDOW), ("counters", BITS * 10 / 156), ("half-life", WINDOW)])
        },
        made("double-buffer", &[("items", WINDOW), ("bits", BITS)]),
        made("a2-buffer", &[("items", WINDOW), ("bits", BITS)]),
        // A key is found for two periods at least.
        made("forgetful", &[("items", WINDOW / 2), ("bits", BITS)]),
    ]
}

impl Contender {
    fn filter(&self, seed: u64) -> Result<AnyFilter> {
        let mut config = Config::new(registry::find(self.kind)?.facts()).hashed(Hashing::seeded(seed));
        for (name, number) in &self.settings {
            config = config.set(name, &number.to_string())?;
        }
        for (name, word) in self.words {
            config = config.set(name, word)?;
        }
        Ok(AnyFilter::new(&config)?)
    }

    /// What theory expects: the share of duplicates that are missed, where it has one, and of new keys that seem known.
    fn expected(&self) -> Result<(Option<f64>, Option<f64>)> {
        let filter = self.filter(0)?;
        let rate = |keys: u64| filter.expected(keys).false_positive.unwrap_or(0.0);
        // Over whole cycles of filters that are swapped, rotated or refreshed.
        let steady = || (0..200).map(|i| rate(BEFORE + i * WINDOW / 50)).sum::<f64>() / 200.0;
        Ok(match self.kind {
            "stable" => {
                let shape = Stable::with_gap(BITS, 0.01, WINDOW)?.shape();
                let gaps = (0..WINDOW).step_by(20);
                let missed = gaps.clone().map(|gap| shape.miss_rate(gap)).sum::<f64>() / gaps.count() as f64;
                (Some(missed), Some(shape.limit_rate()))
            }
            // Live keys: those of a window and half of the tick that has begun, without the duplicates whose first arrival is among them.
            "temporal-counting" => {
                let arrivals = WINDOW + WINDOW / (2 * TICKS);
                (Some(0.0), Some(rate(arrivals - arrivals / (2 * DUPLICATES))))
            }
            "forgetful" => (Some(came_first_too_long_ago()), Some(steady())),
            // What fades by halves has no end, and so no number of keys.
            "time-decaying" => (Some(0.0), None),
            _ => (Some(0.0), Some(steady())),
        })
    }

    /// Duplicates that are missed, new keys that seem known, each of how many.
    fn stream(&self, random: &mut SplitMix, arrivals: u64) -> Result<[(u64, u64); 2]> {
        let mut filter = self.filter(random.next_u64())?;
        let mut keys: Vec<u64> = Vec::new();
        let mut last = HashMap::new();
        let [mut missed, mut alarms] = [(0, 0); 2];
        for arrival in 0..BEFORE + arrivals {
            if self.tick.is_some_and(|every| arrival % every == 0) {
                filter.advance()?.advance(1);
            }
            let again = random.below(DUPLICATES) == 0 && arrival >= WINDOW;
            let key = if again { keys[(arrival - 1 - random.below(WINDOW)) as usize] } else { random.next_u64() };
            keys.push(key);
            let before = last.insert(key, arrival);
            let is_new = filter.insert()?.insert(Item::from(key.to_le_bytes().as_slice()))?;
            if arrival >= BEFORE {
                match before {
                    Some(before) if arrival - before <= WINDOW => {
                        missed = (missed.0 + u64::from(is_new), missed.1 + 1);
                    }
                    Some(_) => {}
                    None => alarms = (alarms.0 + u64::from(!is_new), alarms.1 + 1),
                }
            }
        }
        Ok([missed, alarms])
    }

    /// Nanoseconds per arrival of new keys.
    fn time(&self) -> Result<f64> {
        let mut filter = self.filter(1)?;
        let arrivals = 20 * WINDOW;
        let begin = Instant::now();
        for arrival in 0..arrivals {
            if self.tick.is_some_and(|every| arrival % every == 0) {
                filter.advance()?.advance(1);
            }
            filter.insert()?.insert(Item::from(arrival.to_le_bytes().as_slice()))?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / arrivals as f64)
    }
}

/// The share of duplicates that `forgetful` misses, which keeps a key from its first arrival on: those of a duplicate, where the two gaps,
/// each up to a window, exceed the two to three periods that the key is kept. A period is half a window of new keys.
fn came_first_too_long_ago() -> f64 {
    let duplicates = 1.0 / DUPLICATES as f64;
    let [least, most] = [1.0, 1.5].map(|windows| windows / (1.0 - duplicates));
    duplicates * ((2.0 - least).powi(3) - (2.0 - most).powi(3)) / (6.0 * (most - least))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut report = Report::new();
    let mut plot = Plot::new(Axis::linear("missed duplicates").range(0.0, 1.0), Axis::log("false alarms"));
    let mut times = Vec::new();
    for contender in contenders() {
        let kind = contender.kind;
        let rounds = lab.rounds(40, 4);
        let seen = lab.try_play(kind, rounds, |random| contender.stream(random, 20 * WINDOW))?;
        let [missed, alarms] = [0, 1].map(|i| Mean::of_shares(&seen.iter().map(|round| round[i]).collect::<Vec<_>>()));
        let (misses, rate) = contender.expected()?;
        if let Some(misses) = misses {
            report = report.claim(Claim::near(format!("{kind}: missed duplicates"), 0.005, [(misses, missed)]));
        }
        if let Some(rate) = rate {
            report = report.claim(Claim::roughly(format!("{kind}: false alarms"), rate, 0.15, alarms.value));
        }
        plot = plot.points(kind, [(missed.value, alarms)]);
        times.push(format!("{kind} {:.0}", contender.time()?));
    }
    Ok(report.plot(plot).note(format!(
        "Every filter has {BITS} bits and is made for a window of {WINDOW} arrivals, of which one in {DUPLICATES} is a duplicate. \
         Nanoseconds per arrival on the machine of this run: {}.",
        times.join(", ")
    )))
}
