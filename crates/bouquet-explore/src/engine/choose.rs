//! The adviser, and curves.

use bouquet::kind::{Config, Kind, Verb};
use bouquet::{AnyFilter, registry};
use bouquet_advice::{Goal, Workload, consult};
use serde_json::{Value, json};

use super::{Answer, Problem, number, word};

/// What to take for a workload.
pub fn advise(wanted: &Value) -> Answer {
    Ok(consult(&workload(wanted)?)?.to_json())
}

/// The workload that a form describes; what it leaves out is as usual.
fn workload(wanted: &Value) -> Result<Workload, Problem> {
    let flag = |name: &str| wanted[name].as_bool().unwrap_or(false);
    let items = number(wanted, "items", 1e6);
    if !(1.0..=1e16).contains(&items) {
        return Err(Problem(format!("the number of keys is {items}, but must be from 1 to 10^16")));
    }
    let verb = |word: &Value| {
        let known = word.as_str().and_then(Verb::from_name);
        known.ok_or_else(|| Problem(format!("there is no verb {word}")))
    };
    let goal = match wanted["optimise"].as_str() {
        None => Goal::Memory,
        Some(word) => Goal::from_name(word).ok_or_else(|| Problem(format!("there is no goal `{word}`")))?,
    };
    let workload = Workload {
        need: wanted["need"].as_array().into_iter().flatten().map(verb).collect::<Result<_, _>>()?,
        grows: flag("grows"),
        window: wanted["window"].as_f64(),
        is_static: flag("static"),
        hostile: flag("hostile"),
        shared: flag("shared"),
        sent_per_day: number(wanted, "sent", 0.0),
        skew: wanted["skew"].as_f64(),
        memory: wanted["memory"].as_u64(),
        reads: number(wanted, "reads", 0.9),
        may_miss: number(wanted, "may_miss", 0.0),
        goal,
        ..Workload::new(items as u64, number(wanted, "fpr", 0.01))?
    };
    workload.check()?;
    Ok(workload)
}

/// The most bits of a filter that is made for a curve.
const MOST: u64 = 1 << 24;

/// Points of a curve.
const POINTS: u32 = 41;

/// Curves of kinds at a workload: `of` is `bits`, `rate` or `memory`.
pub fn curves(wanted: &Value) -> Answer {
    let workload = workload(wanted)?;
    let (items, fpr) = (workload.items, workload.fpr);
    let kinds = wanted["kinds"].as_array().ok_or_else(|| Problem("`kinds` is missing".into()))?;
    let kinds = kinds.iter().filter_map(Value::as_str).map(registry::find).collect::<Result<Vec<_>, _>>()?;
    let points: fn(&'static Kind, u64, f64) -> Vec<[f64; 2]> = match word(wanted, "of")? {
        "bits" => bits_over_rate,
        "rate" => rate_over_keys,
        "memory" => memory_over_keys,
        other => return Err(Problem(format!("there are no curves of `{other}`"))),
    };
    let curves = kinds.into_iter().map(|kind| json!({ "kind": kind.facts().id, "points": points(kind, items, fpr) }));
    Ok(json!({ "items": items, "fpr": fpr, "curves": curves.collect::<Vec<_>>() }))
}

/// The settings of a kind for so many keys at a rate.
fn config(kind: &'static Kind, items: u64, fpr: f64) -> Option<Config> {
    let config = Config::new(kind.facts()).set("items", &items.to_string()).ok()?;
    let has_rate = kind.facts().parameters.iter().any(|parameter| parameter.name == "fpr");
    if has_rate { config.set("fpr", &fpr.to_string()).ok() } else { Some(config) }
}

/// Numbers at equal ratios.
fn ratios(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..POINTS).map(move |at| low * (high / low).powf(f64::from(at) / f64::from(POINTS - 1)))
}

fn bits_over_rate(kind: &'static Kind, items: u64, _: f64) -> Vec<[f64; 2]> {
    let point = |rate: f64| {
        let plan = kind.plan(&config(kind, items, rate)?).ok()?;
        Some([rate, plan.bits as f64 / items as f64])
    };
    // Those of full decades are in the list as they are.
    ratios(1e-5, 1e-1).filter_map(point).collect()
}

fn memory_over_keys(kind: &'static Kind, _: u64, fpr: f64) -> Vec<[f64; 2]> {
    let point = |items: f64| {
        let items = items.round();
        Some([items, kind.plan(&config(kind, items as u64, fpr)?).ok()?.bits as f64 / 8.0])
    };
    ratios(1e2, 1e10).filter_map(point).collect()
}

/// Of a filter for fewer keys where one for all would be large: rates depend on the load.
fn rate_over_keys(kind: &'static Kind, items: u64, fpr: f64) -> Vec<[f64; 2]> {
    let made = || {
        let plan = kind.plan(&config(kind, items, fpr)?).ok()?;
        let small =
            if plan.bits > MOST { (items as f64 * MOST as f64 / plan.bits as f64) as u64 } else { items }.max(1);
        Some((small, AnyFilter::new(&config(kind, small, fpr)?).ok()?))
    };
    let Some((small, filter)) = made() else { return Vec::new() };
    let point = |at: u32| {
        let load = 3.0 * f64::from(at) / f64::from(POINTS - 1);
        let rate = filter.expected((load * small as f64).round() as u64).false_positive?;
        Some([load * items as f64, rate])
    };
    (0..POINTS).filter_map(point).filter(|point| point[1].is_finite()).collect()
}
