//! The lab: the figures, tables and numbers of the papers on Bloom filters, done again.
//!
//! An [`Experiment`] belongs to one figure or table. It computes what theory says, simulates with real filters, and
//! gives a [`Report`]: [`Plot`]s that a reader of the paper recognises, their data, and [`Claim`]s with a
//! [`Verdict`]: what the paper says, what came out, how far they are apart. Where a paper errs, the claim stands
//! beside its correction.
//!
//! ```
//! use bouquet_lab::{Lab, Verdict, find};
//!
//! let report = find("survey001-table1")?.run(&Lab { quick: true, seed: 1 })?;
//! assert_eq!(report.count(Verdict::Differs), 0);
//! println!("{}", report.console());
//! # Ok::<(), bouquet_lab::Error>(())
//! ```
//!
//! Results follow from the seed alone, not from the number of threads. The README of this crate tells how to add an
//! experiment.

pub mod claim;
pub mod contents;
mod error;
mod experiment;
mod experiments;
pub mod gallery;
pub mod number;
pub mod plot;
pub mod simulate;
mod table;

pub use claim::{Claim, Verdict};
pub use error::{Error, Result};
pub use experiment::{Experiment, Paper, Report};
pub use plot::{Axis, Plot};
pub use simulate::{Lab, Mean};
pub use table::{Cell, Table};

/// All experiments, in the order of the gallery.
///
/// ```
/// assert!(bouquet_lab::experiments().iter().any(|experiment| experiment.id == "survey001-table1"));
/// ```
#[must_use]
pub fn experiments() -> &'static [Experiment] {
    experiments::ALL
}

/// The experiment of this name.
///
/// ```
/// assert_eq!(bouquet_lab::find("survey001-table1")?.place, "Table 1");
/// assert!(bouquet_lab::find("table1").is_err());
/// # Ok::<(), bouquet_lab::Error>(())
/// ```
pub fn find(id: &str) -> Result<&'static Experiment> {
    experiments().iter().find(|experiment| experiment.id == id).ok_or_else(|| Error::Unknown(id.into()))
}
