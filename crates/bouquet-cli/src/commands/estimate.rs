//! `bouquet estimate`: how many distinct keys, and how two sets overlap.

use std::path::PathBuf;

use bouquet::capability;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::{Found, Outcome, about, about_both};
use crate::filters::Opening;
use crate::output::{number, print_json, print_rows};

/// Print the estimated number of distinct keys in a filter; with a second filter also union, intersection and Jaccard
///
/// Each estimate comes with its standard error. The Jaccard index is the intersection's share of the union.
#[derive(Args)]
pub struct Estimate {
    /// A filter; `-` is standard input
    #[arg(value_name = "A")]
    first: PathBuf,

    /// Another filter, of equal kind, shape and hashing
    #[arg(value_name = "B")]
    second: Option<PathBuf>,

    /// Print JSON; a filter too full to say is `saturated`, and its number a lower bound
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    opening: Opening,
}

impl Estimate {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let first = self.opening.open(&self.first)?;
        let mut estimates = vec![("cardinality", first.cardinality().map_err(about(&self.first))?)];
        let mut jaccard = None;
        if let Some(path) = &self.second {
            let second = self.opening.open(path)?;
            let overlap = first.overlap(&second).map_err(about_both(&self.first, path))?;
            estimates.push(("cardinality_other", second.cardinality().map_err(about(path))?));
            estimates.extend([("union", overlap.union), ("intersection", overlap.intersection)]);
            jaccard = Some(overlap.jaccard);
        }
        if self.json {
            let mut fields: serde_json::Map<_, _> =
                estimates.iter().map(|(name, estimate)| (name.to_string(), in_json(estimate))).collect();
            fields.extend(jaccard.map(|jaccard| ("jaccard".into(), json!(jaccard))));
            print_json(&Value::Object(fields))?;
        } else {
            let mut rows: Vec<_> = estimates.iter().map(|(name, estimate)| (*name, in_words(estimate))).collect();
            rows.extend(jaccard.map(|jaccard| ("jaccard", number(jaccard))));
            print_rows(&rows)?;
        }
        Ok(Found::Something)
    }
}

fn in_json(estimate: &capability::Estimate) -> Value {
    json!({
        "keys": estimate.keys,
        "standard_error": estimate.standard_error,
        "saturated": estimate.saturated,
    })
}

/// An estimate with its standard error, for people.
pub fn in_words(estimate: &capability::Estimate) -> String {
    if estimate.saturated {
        return format!("more than {} (the filter is too full to say)", number(estimate.keys));
    }
    format!("{} ± {}", number(estimate.keys), number(estimate.standard_error))
}
