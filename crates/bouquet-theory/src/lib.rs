//! The mathematics of Bloom filters: every formula of the papers as a public pure function.
//!
//! What a filter will do is known before it is built: its rate of false positives, how that rate scatters from one
//! instance to the next, how much it shrinks when it is sent, how it ages, what an attacker can make of it. Each module
//! here holds the mathematics of one mechanism, and nothing else: no function keeps state or allocates more than a few
//! kilobytes, so the sizing of a constructor, a laboratory's prediction and a test's expectation are the same code.
//!
//! | question | module |
//! |---|---|
//! | one array of bits: rate, exact rate, optimum, sizing | [`standard`] |
//! | k slices, equal or of given sizes | [`partitioned`] |
//! | blocks of a cache line or a word | [`blocks`] |
//! | banks that serve one access at a time | [`banks`] |
//! | scatter of the ones, confidence, tests, best of N | [`spread`] |
//! | what no filter can beat; hashed lists; perfect hashing | [`bounds`] |
//! | small universes without a false positive | [`egh`] |
//! | digests that collide, below which no rate gets | [`collisions`] |
//! | union, intersection, cardinality, similarity, joins | [`algebra`] |
//! | counters and their overflow | [`counters`] |
//! | cells that contradict: fingerprints, variable increments | [`refutation`] |
//! | tables of fingerprints: cuckoo, quotient, d-left | [`fingerprints`] |
//! | counters as columns of ones | [`unary`] |
//! | such columns inside words | [`hierarchy`] |
//! | counters of two or three values and "many" | [`ternary`] |
//! | removal without counters | [`deletable`] |
//! | offsets that mean something | [`shifting`] |
//! | runs of ones as counts | [`adaptive`] |
//! | random groups as counts | [`space_code`] |
//! | signatures that lose and regain bits | [`variable_length`] |
//! | sketches of frequencies, multistage filters | [`sketch`] |
//! | counting by maxima | [`loglog`] |
//! | filters made to be sent | [`compressed`], packed with losses [`compacted`]; sorted hash values [`golomb`] |
//! | growing chains | [`scalable`], of equal components [`dynamic`], in tighter and tighter groups [`tightened`]; a fixed matrix of them [`split`] |
//! | filters that forget | [`stable`] |
//! | growing chains | [`scalable`], of equal components [`dynamic`]; a fixed matrix of them [`split`] |
//! | filters that forget | at random [`stable`], by generations [`generations`], cell by cell [`aging`], on their way [`routing`] |
//! | filters that also reset bits: both errors bounded | [`generalized`] |
//! | peeling: invertible tables, Bloomier filters | [`peeling`]; static sets [`perfect`] |
//! | counter braids: how many counters flows need | [`braids`] |
//! | many filters side by side | [`bank`] |
//! | sets that share words | [`separation`] |
//! | filters and pairs in pages, in memory or in files | [`paged`] |
//! | items kept once behind a filter | [`buckets`] |
//! | probes in stages | [`pipeline`] |
//! | pollution and forgery | [`adversary`] |
//! | flipped bits and failing probes | [`protection`] |
//! | when a positive answer means nothing | [`paradox`] |
//! | headers without a wrong link | [`multistage`] |
//! | probes by weight, presence and popularity of the keys | [`assignment`] |
//! | hash families that are chosen for groups of keys or for known questions | [`selection`] |
//! | bits that are cleared afterwards | [`retouched`] |
//! | a second filter as witness: cross-checking, complements, no-filters, ancestors | [`witnesses`] |
//! | balanced placement: d random choices, d-left, two-choice filters | [`choices`] |
//! | gamma function, binomial and Poisson laws, entropy | [`special`] |
//! | a seeded generator that draws the same on every machine | [`random`] |
//!
//! # Conventions
//!
//! n keys, m bits (or cells), k probes per key, c = m/n bits per key, f a rate of false positives. Counts are `u64`,
//! numbers of probes `u32`, rates and probabilities `f64`.
//!
//! A *rate* is a property of a design over the whole universe of keys. A share that was measured on a set of queries is a
//! *proportion* (the false-positive proportion): no function here returns one, tests compare one with the other.
//!
//! Functions that return a bare `f64` are total: no argument makes them panic or return NaN. Counts of zero give the natural
//! limit (no keys: rate 0; no bits, or no probes: rate 1, for such a filter accepts everything). A probability outside
//! `[0, 1]` is moved to the nearer end, a negative amount to 0, and NaN is read as 0. Functions that choose a size return
//! a [`Result`], for they can be asked the impossible.

pub mod adaptive;
pub mod adversary;
pub mod aging;
pub mod algebra;
pub mod assignment;
pub mod bank;
pub mod banks;
pub mod blocks;
pub mod bounds;
pub mod braids;
pub mod buckets;
pub mod choices;
pub mod collisions;
pub mod compacted;
pub mod compressed;
pub mod counters;
pub mod deletable;
pub mod dynamic;
pub mod egh;
mod error;
pub mod fingerprints;
pub mod generalized;
pub mod generations;
pub mod golomb;
pub mod hierarchy;
pub mod loglog;
pub mod multistage;
mod occupancy;
pub mod paged;
pub mod paradox;
pub mod partitioned;
pub mod peeling;
pub mod perfect;
pub mod pipeline;
pub mod protection;
pub mod random;
pub mod refutation;
pub mod retouched;
pub mod routing;
pub mod scalable;
mod search;
pub mod selection;
pub mod separation;
pub mod shifting;
pub mod sketch;
pub mod space_code;
pub mod special;
pub mod split;
pub mod spread;
pub mod stable;
pub mod standard;
pub mod ternary;
pub mod tightened;
#[cfg(test)]
mod total;
pub mod unary;
pub mod variable_length;
pub mod witnesses;

pub use error::{Error, Result};

/// The most probes per key that any filter makes; at the optimum they stand for a rate of 2^-64.
///
/// ```
/// use bouquet_theory::{MAX_HASHES, standard};
/// assert_eq!(standard::for_rate(1_000, 1e-30)?.hashes, MAX_HASHES);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub const MAX_HASHES: u32 = 64;

/// The shape of a filter: how many bits it has and how many of them each key probes.
///
/// ```
/// use bouquet_theory::{standard, Size};
///
/// assert_eq!(standard::for_rate(1000, 0.01)?, Size { bits: 9593, hashes: 7 });
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// m, the number of bits.
    pub bits: u64,
    /// k, the number of probes per key.
    pub hashes: u32,
}

/// The largest number of bits that sizing returns: beyond it, `f64` arithmetic no longer resolves single bits and no
/// machine has the memory.
pub const MAX_BITS: u64 = 1 << 53;

/// Refuses a count of zero.
fn check_positive(name: &str, found: u64) -> Result<()> {
    if found == 0 { Err(Error::parameter(name, "at least 1", found)) } else { Ok(()) }
}

/// Refuses a rate that no filter of finite size has, or that needs no filter.
fn check_rate(name: &str, found: f64) -> Result<()> {
    if found > 0.0 && found < 1.0 { Ok(()) } else { Err(Error::parameter(name, "above 0 and below 1", found)) }
}

/// Rounds a computed number of bits up, or refuses it.
///
/// ```
/// use bouquet_theory::{MAX_BITS, check_bits};
/// assert_eq!((check_bits(9592.2)?, check_bits(0.0)?), (9593, 1));
/// assert!(check_bits(2.0 * MAX_BITS as f64).is_err() && check_bits(f64::NAN).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::TooLarge` above [`MAX_BITS`].
pub fn check_bits(bits: f64) -> Result<u64> {
    if bits <= MAX_BITS as f64 {
        Ok((bits.ceil() as u64).max(1))
    } else {
        Err(Error::TooLarge { what: "the filter".into(), bytes: (bits / 8.0) as u128 })
    }
}

#[cfg(test)]
mod testing {
    /// Asserts that `found` agrees with a printed number to within the given relative error.
    #[track_caller]
    pub(crate) fn assert_close(found: f64, expected: f64, relative: f64) {
        let error = (found - expected).abs();
        assert!(error <= relative * expected.abs(), "found {found:e}, expected {expected:e}, off by {error:e}");
    }

    /// Asserts that `found` rounds to the printed number: it is off by at most half a unit of the last printed digit.
    #[track_caller]
    pub(crate) fn assert_prints(found: f64, printed: &str) {
        let expected: f64 = printed.parse().expect("the printed number is a number");
        let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len()) as i32;
        let unit = 10f64.powi(exponent.parse::<i32>().expect("the exponent is a number") - decimals);
        assert!((found - expected).abs() <= 0.5001 * unit, "found {found:e}, which does not round to {printed}");
    }
}

/// The examples of the README are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
