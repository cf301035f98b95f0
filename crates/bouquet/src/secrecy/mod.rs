//! Secrecy and adversaries.
//!
//! A plain filter hides nothing and trusts everybody. Its hash functions are public: anybody can test a dictionary against
//! it, compare two filters, read off how many keys they hold, or make keys that fill it or that pass it.
//!
//! [`keyed`] takes the hash functions away from those who have no secret. It is not a kind but a *mode*: every kind of the
//! library has it. Modes are listed in [`registry::MODES`](crate::registry::MODES).
//!
//! Secrets ([`Secret`](crate::hash::Secret)) are wiped from memory when dropped, never printed and never written to a
//! frame. Where nobody can keep a secret, [`theory::adversary`](crate::theory::adversary) sizes a filter for the worst
//! that chosen keys can do.

pub mod keyed;

/// The static facts of a mode: a way of hashing that every kind can be given.
///
/// ```
/// use bouquet::{registry, secrecy::Mode};
/// let mode: Option<&Mode> = registry::find_mode("SipHash");
/// assert_eq!(mode.map(|mode| mode.name), Some("Keyed Bloom filter"));
/// assert!(registry::find_mode("standard").is_none(), "that is a kind");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Command-line word.
    pub id: &'static str,
    /// The name in the literature.
    pub name: &'static str,
    /// Other names under which it is found.
    pub aliases: &'static [&'static str],
    /// Who described it, or the attacks that it answers, when.
    pub papers: &'static [&'static str],
    /// One line: what it is for and for whom.
    pub summary: &'static str,
    /// How it works, in a few sentences.
    pub idea: &'static str,
    /// Its formulas, one per line.
    pub formulas: &'static [&'static str],
    /// What an observer learns, and what not.
    pub secrecy: &'static str,
    /// What it costs.
    pub cost: &'static str,
    /// How to use it.
    pub usage: &'static str,
}
