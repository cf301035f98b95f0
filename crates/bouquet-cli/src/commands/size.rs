//! `bouquet size`: what a filter would take.

use bouquet::theory::bounds::least_bits;
use clap::Args;
use serde_json::json;

use crate::failure::{Found, Outcome};
use crate::filters::{Settings, kind_named};
use crate::output::{number, optional, print_json, print_rows};

/// Print what a filter of these parameters takes, without making it, against what no filter can beat
///
/// The lower bound is log2(1/rate) bits per key, at the rate that is expected of the filter.
#[derive(Args)]
pub struct Size {
    /// The kind, one of `bouquet kinds`
    kind: String,

    #[command(flatten)]
    settings: Settings,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Size {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let kind = kind_named(&self.kind)?;
        let plan = kind.plan(&self.settings.config(kind)?)?;
        let bits_per_item = plan.items.map(|items| plan.bits as f64 / items as f64);
        let least = plan.items.zip(plan.fpr).map(|(items, rate)| least_bits(items, rate));
        let over_least = least.filter(|least| *least > 0.0).map(|least| plan.bits as f64 / least);

        if self.json {
            print_json(&json!({
                "kind": kind.facts().id,
                "items": plan.items,
                "bits": plan.bits,
                "bits_per_item": bits_per_item,
                "hashes": plan.hashes,
                "fpr_expected": plan.fpr,
                "least_bits": least,
                "over_least": over_least,
            }))?;
            return Ok(Found::Something);
        }
        let times =
            over_least.map_or(String::new(), |times| format!(" (the filter takes {} times that)", number(times)));
        print_rows(&[
            ("kind", kind.facts().id.into()),
            ("items", plan.items.map_or("-".into(), |items| items.to_string())),
            ("bits", format!("{} ({})", plan.bits, in_bytes(plan.bits))),
            ("bits per key", optional(bits_per_item)),
            ("hashes", plan.hashes.to_string()),
            ("expected rate", optional(plan.fpr)),
            ("lower bound", least.map_or("-".into(), |least| format!("{} bits{times}", number(least)))),
        ])?;
        Ok(Found::Something)
    }
}

fn in_bytes(bits: u64) -> String {
    let bytes = bits.div_ceil(8) as f64;
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = ((bytes.max(1.0).log2() / 10.0) as usize).min(units.len() - 1);
    format!("{} {}", number(bytes / 1024f64.powi(power as i32)), units[power])
}
