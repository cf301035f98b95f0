//! Advice as JSON, for programs.

use bouquet::kind::Rates;
use serde_json::{Map, Value, json};

use crate::{Advice, Consultation, Workload};

impl Workload {
    /// As JSON, with the names of the command line.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "items": self.items,
            "fpr": self.fpr,
            "need": self.need.iter().map(|verb| verb.name()).collect::<Vec<_>>(),
            "grows": self.grows,
            "window": self.window,
            "static": self.is_static,
            "hostile": self.hostile,
            "shared": self.shared,
            "sent": self.sent_per_day,
            "skew": self.skew,
            "memory": self.memory,
            "reads": self.reads,
            "may_miss": self.may_miss,
            "optimise": self.goal.name(),
        })
    }
}

impl Advice {
    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let cost = &self.cost;
        let settings: Map<_, _> =
            self.config.settings().map(|(of, setting)| (of.name.to_string(), setting.to_string().into())).collect();
        json!({
            "kind": self.kind.facts().id,
            "name": self.kind.facts().name(),
            "why": self.why,
            "notes": self.notes,
            "settings": settings,
            "bytes": cost.bytes(),
            "bits_per_key": cost.bits_per_key(),
            "bytes_sent": cost.bytes_sent,
            "bytes_per_day": cost.bytes_per_day,
            "ns_per_operation": cost.nanoseconds,
            "insert_ns": cost.times.insert,
            "query_ns": cost.times.query,
            "remove_ns": cost.times.remove,
            "times_are": cost.times.source.name(),
            "rates": rates_json(&cost.rates),
            "wrong_counts": cost.wrong_counts,
            "lines": {
                "shell": self.lines.shell,
                "rust": self.lines.rust,
                "python": self.lines.python,
                "redis": self.lines.redis,
            },
        })
    }
}

/// The rates that are known, by name.
fn rates_json(rates: &Rates) -> Value {
    let named = [
        ("false_positive", rates.false_positive),
        ("false_negative", rates.false_negative),
        ("over_count", rates.over_count),
        ("spurious_value", rates.spurious_value),
        ("spurious_sets", rates.spurious_sets),
        ("missing_sets", rates.missing_sets),
        ("unknown", rates.unknown),
    ];
    named.into_iter().filter_map(|(name, rate)| Some((name.to_string(), json!(rate?)))).collect::<Map<_, _>>().into()
}

impl Consultation {
    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "workload": self.workload.to_json(),
            "advice": self.advice.iter().map(Advice::to_json).collect::<Vec<_>>(),
            "changes": self.changes.iter().map(|of| json!({ "when": of.when, "then": of.then.facts().id })).collect::<Vec<_>>(),
            "rejected": self.rejected.iter().map(|of| json!({ "kind": of.kind.facts().id, "reason": of.reason })).collect::<Vec<_>>(),
        })
    }
}
