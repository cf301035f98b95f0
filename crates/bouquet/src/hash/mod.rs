//! Hashing: from a key's bytes to a [`Digest`], and from a digest to positions.
//!
//! ```text
//! key bytes --Hashing--> digest (h1, h2) --Family--> k words --Reduction--> k positions in 0..m
//! ```
//!
//! A [`Hashing`] is a digest function with its seed or secret; a [`Scheme`] is a [`Family`] with its [`Reduction`].
//! Both are written in a filter's frame, and filters that differ in either refuse to merge.
//!
//! # Which family
//!
//! | family | position i | for |
//! |---|---|---|
//! | [`EnhancedDouble`](Family::EnhancedDouble) | h1 + i h2 + u (i³-i)/6 | everything: the default |
//! | [`Triple`](Family::Triple) | h1 + i h2 + h3 i(i-1)/2 | the same without a fixed constant |
//! | [`Double`](Family::Double) | h1 + i h2 | data of others that have it |
//! | [`Independent`](Family::Independent) | k separate hashes | a reference to measure against |
//! | [`Universal`](Family::Universal) | ((cᵢ x + dᵢ) mod 2⁶¹-1) mod m | integer keys with entropy, proofs |
//! | [`Fig2`](Family::Fig2), [`SdbmMersenne`](Family::SdbmMersenne), [`SquidMd5`](Family::SquidMd5) | those of papers | replication only |
//!
//! Beside the families stand [`PrimeSlices`] (k prime slices and one word), [`Positions::in_slices`] (k equal slices) and
//! [`Choices`] (the least loaded of d buckets).
//!
//! # Which reduction
//!
//! [`Fastrange`](Reduction::Fastrange) never divides, and [`Fastrange32`](Reduction::Fastrange32) is the same with words that
//! vector instructions can compute, what `standard` and `partitioned` filters have unless they are too large for it, or have slices
//! of less than 1,024 bits. [`Modulo`](Reduction::Modulo) suits filters that are folded to any divisor of m;
//! [`Mask`](Reduction::Mask) is the same for powers of two. [`Family::halving`] tells which bits fall together when a filter
//! is halved.
//!
//! # What they cost
//!
//! False-positive rates, by 4·10⁷ queries to 4000 small filters and by 10⁸ queries to 40 large ones (standard error
//! 0.03·10⁻⁵); and the time for a key of eight bytes, k = 7, m = 10⁷, its digest by XXH3 included, on one machine.
//!
//! | scheme | n=64, m=1024, k=11 | n=10,000, m=240,000, k=17 | time |
//! |---|---|---|---|
//! | independent | 0.000465 | 0.98·10⁻⁵ (theory) | 64 ns |
//! | enhanced double, fastrange | 0.000469 | 0.96·10⁻⁵ | 9 ns ([`probes`]), 29 ns ([`Positions`]) |
//! | enhanced double, modulo | 0.000532 | 1.04·10⁻⁵ | 28 ns ([`modular_probes`]) |
//! | triple, fastrange | 0.000483 | 0.99·10⁻⁵ | 31 ns ([`Positions`]) |
//! | triple, modulo | 0.000547 | | 46 ns ([`Positions`]) |
//! | double, fastrange | 0.000616 | 1.01·10⁻⁵ | 38 ns ([`Positions`]) |
//! | double, modulo | 0.00117 | 1.49·10⁻⁵ | |
//! | double, modulo, without its guard | 0.00178 | | |
//!
//! The ring modulo 2⁶⁴ beats the one modulo m in small filters because its words are finer than a cell: two keys share
//! a run of positions only if their words agree in more than log₂ m bits.

mod choices;
mod digest;
mod family;
mod one_hash;
mod probes;
#[cfg(test)]
mod quality;
#[cfg(feature = "replication")]
pub mod replication;
mod scheme;
mod universal;

pub use bouquet_theory::MAX_HASHES;
#[cfg(target_arch = "x86_64")]
pub(crate) use bouquet_theory::random::MIX;
pub use bouquet_theory::random::{SplitMix, fastrange, mix};
pub use choices::Choices;
#[cfg(target_arch = "x86_64")]
pub(crate) use digest::STREAM;
pub use digest::{Digest, HashId, Hashing, Secret};
pub use family::{Family, Halving, Reduction};
pub use one_hash::PrimeSlices;
pub(crate) use one_hash::prime_from;
pub(crate) use probes::{GOLDEN, Ring};
pub use probes::{ModularProbes, Positions, Probes, modular_probes, probes};
pub use scheme::Scheme;
pub use universal::{UNIVERSAL_PRIME, UniversalHash};
