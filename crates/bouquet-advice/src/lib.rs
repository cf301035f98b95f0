//! Which filter to take: every kind of the registry is asked for its plan at a workload, tried on a few thousand keys and ranked by a cost
//! that is told. No kind is named here, so that one that the registry gains is advised too.
//!
//! ```
//! use bouquet::kind::Verb;
//! use bouquet_advice::{Workload, advise};
//! let sessions = Workload { need: vec![Verb::Remove], ..Workload::new(10_000_000, 0.001)? };
//! let best = &advise(&sessions)?[0];
//! assert!(best.kind.can(Verb::Remove));
//! assert!(best.cost.bits_per_key() < 20.0, "far fewer than counters of 4 bits take");
//! assert!(best.lines.shell.contains(&format!("--kind {}", best.kind.facts().id)));
//! # Ok::<(), bouquet::Error>(())
//! ```
//!
//! # How
//!
//! 1. What a kind's facts exclude is rejected with the reason: a verb that it lacks, an error that it declares.
//! 2. Bits come from the kind's plan at the full size; rates from its theory.
//! 3. A [trial](Trial) makes a small filter with the same settings, and does with it what the workload will: what fails there is
//!    rejected too. It also tells how far frames are compressed.
//! 4. Times come from a [record](speed), scaled to this machine.
//! 5. The goal's cost decides. Kinds within 2 % of the least are equally good; among them the others' costs decide.

mod candidate;
mod change;
mod json;
mod lines;
pub mod sample;
pub mod speed;
#[doc(hidden)]
pub mod trial;
mod workload;

use bouquet::Result;
use bouquet::kind::{Config, Kind, Rates, Verb};
use bouquet::registry;
use bouquet::theory::collisions;

pub use candidate::Candidate;
pub use change::Change;
pub use lines::Lines;
pub use sample::{Estimates, Sample};
pub use speed::{Speed, Times};
pub use trial::{Trial, ask};
pub use workload::{Goal, Workload};

/// Costs this close are equal.
const EQUAL: f64 = 1.02;

/// What a filter costs. Everything is predicted; nothing of the full size was made.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Distinct keys.
    pub items: u64,
    /// Bits in memory with that many keys.
    pub bits: u64,
    /// Bytes of the filter when it is sent, compressed where that makes it smaller.
    pub bytes_sent: u64,
    /// Bytes sent in a day.
    pub bytes_per_day: f64,
    /// Nanoseconds of an insertion, a query and a removal.
    pub times: Times,
    /// Nanoseconds of an operation in the workload's mix.
    pub nanoseconds: f64,
    /// Expected rates.
    pub rates: Rates,
    /// The share of keys whose count is wrong, as a trial has shown, where counts are wanted.
    pub wrong_counts: Option<f64>,
}

impl Cost {
    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// Bits in memory for each key.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.items.max(1) as f64
    }

    /// What the goal wants little of.
    #[must_use]
    pub fn of(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Memory => self.bits as f64,
            Goal::Speed => self.nanoseconds,
            Goal::BytesSent => self.bytes_sent as f64,
        }
    }
}

/// A kind that does what the workload needs.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The kind.
    pub kind: &'static Kind,
    /// Its settings.
    pub config: Config,
    /// What it costs.
    pub cost: Cost,
    /// Why it has its place, in one sentence.
    pub why: String,
    /// What to know beforehand, a sentence each.
    pub notes: Vec<String>,
    /// How it is made, ready to be copied.
    pub lines: Lines,
}

/// A kind that will not do.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The kind.
    pub kind: &'static Kind,
    /// What stands against it, as the end of a sentence that begins with its name.
    pub reason: String,
}

/// Everything that there is to say to a workload.
#[derive(Clone, Debug)]
pub struct Consultation {
    /// The workload.
    pub workload: Workload,
    /// The kinds that do, the best first.
    pub advice: Vec<Advice>,
    /// Those that do not, in the order of the registry.
    pub rejected: Vec<Rejection>,
    /// What would make another kind the best.
    pub changes: Vec<Change>,
}

/// The kinds that do what the workload needs, the best first. Fails if the workload's numbers mean nothing.
///
/// ```
/// use bouquet_advice::{Goal, Workload, advise};
/// let fast = Workload { goal: Goal::Speed, ..Workload::new(1_000_000, 0.01)? };
/// let advice = advise(&fast)?;
/// let times: Vec<f64> = advice.iter().map(|of| of.cost.nanoseconds).collect();
/// assert!(times[0] <= 1.02 * times[times.len() - 1]);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn advise(workload: &Workload) -> Result<Vec<Advice>> {
    Ok(Adviser::new(Speed::here().clone()).rank(workload)?.0)
}

/// The same with the kinds that will not do, and with what would change the choice.
///
/// ```
/// use bouquet_advice::{Workload, consult};
/// let told = consult(&Workload { is_static: true, ..Workload::new(100_000, 0.01)? })?;
/// assert!(told.rejected.iter().any(|of| of.reason.contains("false negatives")));
/// assert!(!told.changes.is_empty());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn consult(workload: &Workload) -> Result<Consultation> {
    Adviser::new(Speed::here().clone()).consult(workload)
}

/// Who advises: with times of this machine, or with others.
#[derive(Clone, Debug)]
pub struct Adviser {
    speed: Speed,
}

impl Adviser {
    /// One that computes with these times.
    #[must_use]
    pub fn new(speed: Speed) -> Self {
        Adviser { speed }
    }

    /// Everything that there is to say to a workload.
    pub fn consult(&self, workload: &Workload) -> Result<Consultation> {
        let (fit, rejected) = self.fit(workload)?;
        let changes = change::all(self, workload, &fit);
        let advice = in_words(fit, workload);
        Ok(Consultation { workload: workload.clone(), advice, rejected, changes })
    }

    /// The kinds that do, the best first, and those that do not.
    pub fn rank(&self, workload: &Workload) -> Result<(Vec<Advice>, Vec<Rejection>)> {
        let (fit, rejected) = self.fit(workload)?;
        Ok((in_words(fit, workload), rejected))
    }

    /// The same before anything is said of them.
    fn fit(&self, workload: &Workload) -> Result<(Vec<Fit>, Vec<Rejection>)> {
        workload.check()?;
        let (mut fit, mut rejected) = (Vec::new(), Vec::new());
        for kind in registry::kinds() {
            match Candidate::new(kind, workload).and_then(|candidate| self.tried(candidate, workload)) {
                Ok(priced) => fit.push(priced),
                Err(reason) => rejected.push(Rejection { kind, reason }),
            }
        }
        Ok((in_order(fit, workload.goal), rejected))
    }

    /// A candidate with its price, once it has shown what it can do.
    fn tried(&self, candidate: Candidate, workload: &Workload) -> std::result::Result<Fit, String> {
        let trial = trial::run(&candidate, workload)?;
        let cost = self.price(&candidate, &trial, workload)?;
        Ok(Fit { candidate, cost, trial })
    }

    /// The best kind alone, with as few trials as that takes.
    fn best(&self, workload: &Workload) -> Option<&'static Kind> {
        let mut candidates: Vec<_> = registry::kinds().filter_map(|kind| Candidate::new(kind, workload).ok()).collect();
        let recorded = |of: &Candidate| self.speed.of(of.kind.facts().id, workload.items, workload.fpr);
        let mean = |times: Times| times.mean(workload.reads, workload.need.contains(&Verb::Remove));
        // What a filter costs at least, known before its trial: frames of sparse ones have hardly less than an eighth of their bits.
        let least = |of: &Candidate| match workload.goal {
            Goal::Memory => of.plan.bits as f64,
            Goal::Speed => recorded(of).map_or(0.0, mean),
            Goal::BytesSent => of.plan.bits as f64 / 64.0,
        };
        candidates.sort_by(|a, b| least(a).total_cmp(&least(b)));
        let mut fit: Vec<Fit> = Vec::new();
        for candidate in candidates {
            let cheapest = fit.iter().map(|of| of.cost.of(workload.goal)).fold(f64::INFINITY, f64::min);
            if least(&candidate) > cheapest * EQUAL {
                break;
            }
            fit.extend(self.tried(candidate, workload));
        }
        in_order(fit, workload.goal).first().map(|of| of.candidate.kind)
    }

    /// What a candidate costs, with what its trial has shown.
    fn price(&self, candidate: &Candidate, trial: &Trial, workload: &Workload) -> std::result::Result<Cost, String> {
        let (plan, items) = (candidate.plan, workload.items);
        let bits = plan.bits.saturating_add((trial.extra_bits * items as f64).round() as u64);
        if let Some(memory) = workload.memory.filter(|memory| bits.div_ceil(8) > *memory) {
            return Err(format!("takes {} of the {} that it may", bytes(bits.div_ceil(8)), bytes(memory)));
        }
        let times = self.times(candidate, trial, workload);
        let (fixed, coded) = trial.sent;
        let bytes_sent = (fixed + coded * plan.bits as f64).round() as u64;
        let collisions = collisions::floor(items, candidate.config.digest_bits());
        let rates = Rates { false_positive: plan.fpr.map(|fpr| fpr.max(collisions)), ..trial.expected };
        Ok(Cost {
            items,
            bits,
            bytes_sent,
            bytes_per_day: bytes_sent as f64 * workload.sent_per_day,
            times,
            nanoseconds: times.mean(workload.reads, workload.need.contains(&Verb::Remove)),
            rates,
            wrong_counts: trial.wrong_counts,
        })
    }

    /// Times of the record for the kind's own settings; for others, what the trial took.
    fn times(&self, candidate: &Candidate, trial: &Trial, workload: &Workload) -> Times {
        let plain = candidate.config.settings().all(|(of, _)| ["items", "fpr"].contains(&of.name));
        let recorded = self.speed.of(candidate.kind.facts().id, workload.items, workload.fpr);
        match recorded.filter(|_| plain && !workload.hostile) {
            Some(times) => times,
            None => self.speed.from_trial(trial.insert, trial.query, trial.remove, trial.items, workload.items),
        }
    }
}

/// A candidate that does what the workload needs.
#[derive(Clone, Debug)]
struct Fit {
    candidate: Candidate,
    cost: Cost,
    trial: Trial,
}

/// Sorted by the goal; the best of those that are equally good by all costs together.
fn in_order(mut fit: Vec<Fit>, goal: Goal) -> Vec<Fit> {
    let sum = |cost: &Cost| Goal::ALL.iter().map(|goal| cost.of(*goal).max(f64::MIN_POSITIVE).ln()).sum::<f64>();
    let mut ordered = Vec::with_capacity(fit.len());
    while !fit.is_empty() {
        let best = fit.iter().map(|of| of.cost.of(goal)).fold(f64::INFINITY, f64::min);
        let equal = fit.iter().enumerate().filter(|(_, of)| of.cost.of(goal) <= best * EQUAL);
        let at = equal.min_by(|(_, a), (_, b)| sum(&a.cost).total_cmp(&sum(&b.cost))).map_or(0, |(at, _)| at);
        ordered.push(fit.remove(at));
    }
    ordered
}

/// What there is to say of kinds in their order.
fn in_words(fit: Vec<Fit>, workload: &Workload) -> Vec<Advice> {
    let whys: Vec<_> = (0..fit.len()).map(|at| why(at, &fit, workload.goal)).collect();
    fit.into_iter().zip(whys).map(|(of, why)| advice(of, why, workload)).collect()
}

fn advice(Fit { candidate, cost, .. }: Fit, why: String, workload: &Workload) -> Advice {
    let Candidate { kind, config, .. } = candidate;
    let mut notes: Vec<String> = kind.advice(&config).into_iter().collect();
    if kind.size_follows_data() {
        notes.push("its size follows its keys; what is told is the mean for random ones".into());
    }
    if workload.window.is_some() {
        notes.push(format!(
            "what makes it forget, and what a tick of its clock is: `bouquet explain {}`",
            kind.facts().id
        ));
    }
    if let Some(rate) = cost.wrong_counts.filter(|rate| *rate > 0.0) {
        notes.push(format!("{} of the counts were wrong in a trial", short(rate)));
    }
    let lines = Lines::new(kind, &config, workload);
    Advice { kind, config, cost, why, notes, lines }
}

/// Why the kind at a place has it, in one sentence.
fn why(at: usize, fit: &[Fit], goal: Goal) -> String {
    let (Fit { candidate, cost, .. }, Fit { candidate: best, cost: least, .. }) = (&fit[at], &fit[0]);
    let told = match goal {
        Goal::Memory => format!("{:.2} bits per key", cost.bits_per_key()),
        Goal::Speed => format!("{:.1} ns per operation", cost.nanoseconds),
        Goal::BytesSent => format!("{} when it is sent", bytes(cost.bytes_sent)),
    };
    if at == 0 {
        let id = candidate.kind.facts().id;
        let Some(next) = fit.get(1) else { return format!("`{id}` is the only kind that does all of this: {told}.") };
        let (ratio, next) = (next.cost.of(goal) / cost.of(goal).max(f64::MIN_POSITIVE), next.candidate.kind.facts().id);
        return match ratio {
            ratio if ratio > EQUAL => format!(
                "The least of the {} kinds that do all of this: {told}, where `{next}` takes {} more.",
                fit.len(),
                short(ratio - 1.0)
            ),
            _ => format!("{told}, within 2 % of the least, and the best of those in other costs (next: `{next}`)."),
        };
    }
    let more = (cost.of(goal) / least.of(goal).max(f64::MIN_POSITIVE) - 1.0).max(0.0);
    let mut text = match more {
        more if more < EQUAL - 1.0 => format!("{told}, about as little as `{}`", best.kind.facts().id),
        more => format!("{told}, {} more than `{}`", short(more), best.kind.facts().id),
    };
    let gains =
        [(Goal::Speed, "its operations take"), (Goal::Memory, "its memory is"), (Goal::BytesSent, "what is sent is")];
    let gain = gains.into_iter().filter(|(other, _)| *other != goal);
    let gain = gain.map(|(other, what)| (cost.of(other) / least.of(other).max(f64::MIN_POSITIVE), what));
    if let Some((ratio, what)) = gain.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(ratio, _)| *ratio < 0.9) {
        text.push_str(&format!(", but {what} {} of that one's", short(ratio)));
    }
    text + "."
}

/// A share or a ratio for people: in per cent, or as a multiple from 10 on.
pub(crate) fn short(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".into(),
        percent if percent >= 1_000.0 => format!("{share:.0} times"),
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent if percent >= 0.01 => {
            let digits = (1 - percent.log10().floor() as i32).max(0) as usize;
            let text = format!("{percent:.digits$}");
            let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            format!("{text} %")
        }
        percent => format!("{percent:.1e} %"),
    }
}

/// Bytes for people.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = ((bytes.max(1).ilog2() / 10) as usize).min(UNITS.len() - 1);
    let value = bytes as f64 / 1024f64.powi(power as i32);
    match power {
        0 => format!("{bytes} bytes"),
        _ if value < 10.0 => format!("{value:.2} {}", UNITS[power]),
        _ if value < 100.0 => format!("{value:.1} {}", UNITS[power]),
        _ => format!("{value:.0} {}", UNITS[power]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_bytes_are_written_for_people() {
        let texts = [0.0, 0.5, 0.0123, 0.01, 0.000_21, 1e-9, 12.3].map(short);
        assert_eq!(texts, ["0 %", "50 %", "1.2 %", "1 %", "0.021 %", "1.0e-7 %", "12 times"]);
        assert_eq!([7, 2_048, 1_500_000, 17 << 30].map(bytes), ["7 bytes", "2.00 KiB", "1.43 MiB", "17.0 GiB"]);
    }
}
