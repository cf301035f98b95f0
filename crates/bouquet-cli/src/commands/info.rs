//! `bouquet info`: what a filter is at this moment.

use std::path::PathBuf;

use bouquet::codec::Header;
use bouquet::kind::{Figure, Setting};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::failure::{Found, Outcome, about};
use crate::filters::{Opening, read, warn_when_polluted};
use crate::output::{number, optional, plain, print_json, print_rows};

/// Print what a filter is: kind, size, fill, expected rate, hashing, parameters
///
/// A keyed filter can be looked at without its secret. The expected rate is that of this very filter as full as it is,
/// not the one it was made for. Some kinds tell more, such as the removals that they had to refuse.
#[derive(Args)]
pub struct Info {
    /// The filter; `-` is standard input
    filter: PathBuf,

    /// Print JSON. Unknown values are null; the seed is a string such as "0x00000000000000ff", because JSON numbers of
    /// 64 bits do not survive every reader
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    opening: Opening,
}

impl Info {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let frame = read(&self.filter)?;
        let filter = self.opening.look(&self.filter, &frame)?;
        warn_when_polluted(&self.filter, &filter);
        let header = Header::read(&frame).map_err(about(&self.filter))?;
        let (facts, stats, hashing, config) =
            (filter.kind().facts(), filter.stats(), filter.hashing(), filter.config());
        let bits_per_item = (stats.items > 0).then(|| stats.bits as f64 / stats.items as f64);
        let rate = stats.fpr.or_else(|| filter.expected(stats.items).false_positive);
        let seed = format!("{:#018x}", hashing.seed());
        let mut figures = filter.figures();
        if let Some(pace) = filter.pace() {
            let figure = |name, value| Figure { name, value: Setting::Count(value) };
            figures.extend([figure("seconds of a tick", pace.seconds), figure("last tick", pace.second)]);
        }

        if self.json {
            let parameters: Map<_, _> =
                config.settings().map(|(parameter, setting)| (parameter.name.into(), in_json(setting))).collect();
            let figures: Map<_, _> =
                figures.iter().map(|figure| (figure.name.replace(' ', "_"), in_json(figure.value))).collect();
            print_json(&json!({
                "kind": facts.id,
                "items": stats.items,
                "bits": stats.bits,
                "bits_per_item": bits_per_item,
                "fill": stats.fill,
                "hashes": stats.hashes,
                "fpr_expected": rate,
                "hash": hashing.id().name(),
                "seed": seed,
                "version": header.version,
                "bytes": header.bytes,
                "parameters": parameters,
                "figures": figures,
            }))?;
            return Ok(Found::Something);
        }
        let parameters: Vec<_> =
            config.settings().map(|(parameter, setting)| format!("{}={setting}", parameter.name)).collect();
        let mut rows = vec![
            ("kind", format!("{} ({})", facts.id, facts.name())),
            ("items", stats.items.to_string()),
            ("bits", stats.bits.to_string()),
            ("bits per item", bits_per_item.map_or("-".into(), number)),
            ("fill", optional(stats.fill)),
            ("hashes", stats.hashes.to_string()),
            ("expected rate", optional(rate)),
            ("hash", hashing.id().name().into()),
            (if hashing.id().is_keyed() { "check value" } else { "seed" }, seed),
            ("version", header.version.to_string()),
            ("bytes", header.bytes.to_string()),
            ("parameters", plain(&parameters.join(" "))),
        ];
        // What only this kind tells stands before the parameters.
        let parameters = rows.len() - 1;
        rows.splice(parameters..parameters, figures.iter().map(|figure| (figure.name, figure.value.to_string())));
        print_rows(&rows)?;
        Ok(Found::Something)
    }
}

/// A setting as JSON, in its own type.
pub fn in_json(setting: Setting) -> Value {
    match setting {
        Setting::Count(value) => json!(value),
        Setting::Real(value) => json!(value),
        Setting::Choice(word) => json!(word),
        Setting::Flag(flag) => json!(flag),
    }
}
