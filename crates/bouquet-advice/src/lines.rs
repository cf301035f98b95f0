//! How a filter is made: ready lines for the shell, Rust, Python and Redis.

use bouquet::capability::NoteType;
use bouquet::kind::{Config, Kind, Setting};

use crate::workload::Workload;

/// Lines that make a filter, ready to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// For a shell: one that makes it from `keys.txt`, and before it what that needs.
    pub shell: String,
    /// In Rust, in a function that returns `bouquet::Result`.
    pub rust: String,
    /// In Python.
    pub python: String,
    /// For a server with the module.
    pub redis: String,
}

impl Lines {
    /// Those of a kind with settings.
    pub(crate) fn new(kind: &Kind, config: &Config, workload: &Workload) -> Self {
        let id = kind.facts().id;
        let settings: Vec<_> = config.settings().map(|(of, setting)| (of.name, setting)).collect();
        let built_once = kind.is_built_once(config);
        Lines {
            shell: shell(id, &settings, workload),
            rust: rust(id, &settings, built_once, workload),
            python: python(id, &settings, built_once, workload),
            redis: redis(id, &settings, built_once.then(|| kind.note(config)), workload),
        }
    }
}

type Settings = [(&'static str, Setting)];

fn shell(id: &str, settings: &Settings, workload: &Workload) -> String {
    let mut line = String::new();
    if workload.hostile {
        line.push_str("bouquet secret -o secret.key\n");
    }
    line.push_str(&format!("bouquet build keys.txt -o keys.bq --kind {id}"));
    for (name, setting) in settings {
        match *name {
            "items" | "fpr" => line.push_str(&format!(" --{name} {setting}")),
            name => line.push_str(&format!(" --set {name}={setting}")),
        }
    }
    if workload.hostile {
        line.push_str(" --secret secret.key");
    }
    line
}

fn rust(id: &str, settings: &Settings, built_once: bool, workload: &Workload) -> String {
    let sets: String = settings.iter().map(|(name, setting)| format!(".set(\"{name}\", \"{setting}\")?")).collect();
    let hashed =
        if workload.hostile { ".hashed(bouquet::hash::Hashing::keyed(bouquet::hash::Secret::random()?))" } else { "" };
    let config =
        format!("let config = bouquet::kind::Config::new(bouquet::registry::find(\"{id}\")?.facts()){sets}{hashed};\n");
    let filter = if built_once {
        "let filter = bouquet::AnyFilter::build(&config, &bouquet::capability::Dataset { items: &items, absent: &[] })?;"
    } else {
        "let mut filter = bouquet::AnyFilter::new(&config)?;"
    };
    config + filter
}

fn python(id: &str, settings: &Settings, built_once: bool, workload: &Workload) -> String {
    let value = |setting: &Setting| match setting {
        Setting::Choice(word) => format!("\"{word}\""),
        Setting::Flag(flag) => if *flag { "True" } else { "False" }.into(),
        other => other.to_string(),
    };
    let mut keywords: String =
        settings.iter().map(|(name, setting)| format!(", {}={}", name.replace('-', "_"), value(setting))).collect();
    if workload.hostile {
        keywords.push_str(", secret=bouquet.random_secret()");
    }
    match built_once {
        true => format!("filter = bouquet.build(\"{id}\", keys{keywords})"),
        false => format!("filter = bouquet.Filter(\"{id}\"{keywords})"),
    }
}

fn redis(id: &str, settings: &Settings, built_of: Option<NoteType>, workload: &Workload) -> String {
    let settings: String = settings.iter().map(|(name, setting)| format!(" {name} {setting}")).collect();
    let keyed = if workload.hostile { " keyed yes" } else { "" };
    let with = match built_of {
        None => "",
        Some(NoteType::None) => " WITH rose lily",
        // Items and what they carry, by turns.
        Some(NoteType::Bytes) => " WITH rose red lily white",
        Some(NoteType::Weights) => " WITH rose 1,0.5 lily 2,0.5",
        Some(_) => " WITH rose 1 lily 1",
    };
    format!("BQ.CREATE keys {id}{settings}{keyed}{with}")
}
