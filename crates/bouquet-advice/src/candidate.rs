//! A kind made for a workload: its settings and its plan, or why it will not do.

use bouquet::Result;
use bouquet::capability::NoteType;
use bouquet::hash::{Hashing, Secret};
use bouquet::kind::{Config, ErrorClass, Kind, Plan, Verb};

use crate::workload::Workload;

/// How far a predicted rate may lie above the one that was asked for: numbers of hash functions and fingerprint bits are whole.
pub const RATE_ROOM: f64 = 1.05;

/// A kind with settings for a workload.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The kind.
    pub kind: &'static Kind,
    /// Its settings.
    pub config: Config,
    /// What it takes.
    pub plan: Plan,
}

impl Candidate {
    /// The kind with what the workload needs, or why it cannot have that.
    pub fn new(kind: &'static Kind, workload: &Workload) -> std::result::Result<Self, String> {
        refuse_by_facts(kind, workload)?;
        let config = config(kind, workload, workload.items).map_err(|error| error.to_string())?;
        let verbs = workload.verbs();
        let lacking = |verb: &Verb| !kind.can_with(*verb, &config) && !built_instead(kind, workload, *verb);
        if let Some(verb) = verbs.iter().copied().find(lacking) {
            return Err(format!("cannot {} with the settings that this needs", words(verb)));
        }
        if !workload.is_static && kind.is_built_once(&config) {
            return Err("is built once from all of its keys".into());
        }
        let note = kind.note(&config);
        let carried = match note {
            NoteType::Integer => [Verb::Get, Verb::Set].iter().any(|verb| verbs.contains(verb)),
            NoteType::Group => verbs.contains(&Verb::Classify),
            _ => true,
        };
        if !carried {
            return Err(format!("wants {} with every key", note.name()));
        }
        let plan = kind.plan(&config).map_err(|error| error.to_string())?;
        let Some(fpr) = plan.fpr else { return Err("does not tell its rate of false positives beforehand".into()) };
        if fpr > workload.fpr * RATE_ROOM {
            return Err(format!("has a rate of {}, whatever is asked for", crate::short(fpr)));
        }
        let bytes = plan.bits.div_ceil(8);
        if let Some(memory) = workload.memory.filter(|memory| bytes > *memory) {
            return Err(format!("takes {} of the {} that it may", crate::bytes(bytes), crate::bytes(memory)));
        }
        Ok(Candidate { kind, config, plan })
    }
}

/// What a kind's facts alone exclude.
fn refuse_by_facts(kind: &Kind, workload: &Workload) -> std::result::Result<(), String> {
    let verbs = workload.verbs();
    if let Some(verb) = verbs.iter().find(|verb| !kind.can(**verb) && !built_instead(kind, workload, **verb)) {
        return Err(format!("cannot {}", words(*verb)));
    }
    if !kind.can(Verb::Insert) && !kind.can(Verb::BuildFrom) {
        return Err("cannot be filled".into());
    }
    let declared = |class: ErrorClass| Err(format!("declares {}", class.name()));
    if workload.window.is_none() && workload.may_miss == 0.0 && kind.errs(ErrorClass::FalseNegative) {
        return declared(ErrorClass::FalseNegative);
    }
    let spoils = [
        (Verb::Remove, ErrorClass::Undeletable),
        (Verb::Remove, ErrorClass::Lingering),
        (Verb::Count, ErrorClass::UnderCount),
        (Verb::Classify, ErrorClass::MissingSet),
    ];
    if let Some((_, class)) = spoils.iter().find(|(verb, class)| verbs.contains(verb) && kind.errs(*class)) {
        return declared(*class);
    }
    if workload.shared && !workload.is_static && !kind.is_shared() {
        return Err("has no form that threads change at once without a lock".into());
    }
    if workload.hostile && !kind.hashes_keys() {
        return Err("does not hash its keys, so that no secret hides them".into());
    }
    if !kind.facts().parameters.iter().any(|parameter| parameter.name == "items") {
        return Err("is not made for a number of keys".into());
    }
    Ok(())
}

/// Whether a static set is built instead.
fn built_instead(kind: &Kind, workload: &Workload, verb: Verb) -> bool {
    verb == Verb::Insert && workload.is_static && kind.can(Verb::BuildFrom)
}

/// The settings of the kind for this many keys of the workload.
pub fn config(kind: &'static Kind, workload: &Workload, items: u64) -> Result<Config> {
    let mut config = Config::new(kind.facts()).set("items", &items.to_string())?;
    let has = |name: &str| kind.facts().parameters.iter().any(|parameter| parameter.name == name);
    if has("fpr") {
        config = config.set("fpr", &workload.fpr.to_string())?;
    }
    if has("fnr") && workload.may_miss > 0.0 {
        config = config.set("fnr", &workload.may_miss.to_string())?;
    }
    for need in workload.verbs().into_iter().flat_map(|verb| kind.needs(verb)) {
        if !need.is_met(&config) {
            config = config.set(need.parameter, need.word)?;
        }
    }
    if workload.hostile {
        // Which secret it is makes no difference to what a filter takes.
        config = config.hashed(Hashing::keyed(Secret::new(&[1; 32])?));
    }
    Ok(config)
}

/// A verb as something that one can do.
fn words(verb: Verb) -> &'static str {
    match verb {
        Verb::Contains => "tell whether a key is in",
        Verb::Insert => "take keys later",
        Verb::Remove => "remove",
        Verb::Count => "count",
        Verb::Get => "give values back",
        Verb::Set => "change values",
        Verb::Classify => "tell which sets hold a key",
        Verb::Judge => "give verdicts",
        Verb::Weigh => "tell how likely a key is in",
        Verb::List => "list its keys",
        Verb::Top => "name the most frequent keys",
        Verb::Decode => "decode exact counts",
        Verb::Advance => "forget",
        Verb::Grow => "grow",
        Verb::Merge => "be merged",
        Verb::Intersect => "be intersected",
        Verb::Subtract => "be subtracted",
        Verb::Difference => "list differences",
        Verb::Cardinality => "estimate the number of its keys",
        Verb::Compress => "be compressed",
        _ => verb.name(),
    }
}
