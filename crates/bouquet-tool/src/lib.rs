//! What the programs of bouquet share: how keys are read, filters opened, files written, progress shown, and how a program ends and
//! says why.
//!
//! A program is an argument parser, a file for each command, and [`run`](program::run). It has no promise of stability for others.

pub mod ending;
pub mod failure;
pub mod filters;
pub mod keys;
pub mod output;
pub mod pace;
pub mod program;
pub mod progress;
#[cfg(all(feature = "testing", unix))]
pub mod testing;
