//! Core: one set, stored as bits, asked "is x in S?".
//!
//! Most members share one mechanism, [`Bits`]: a store of bits and a [`Layout`], which says where a key's bits lie; such a kind is its
//! layout. [`Staged`] looks at the bits in stages, and some have mechanisms of their own.
//!
//! Take [`standard`] when unsure; [`partitioned`] when the slices are to be read in parallel or one exact rate formula
//! matters; [`compressed`] when the filter is sent more often than it is asked. For speed take [`ultra_fast`] at rates
//! around 1 % and [`blocked`] below; [`bloom_g`] when single word reads count, [`one_hash`] when hash calls do.
//!
//! [`banked`] is for memories in banks, [`pipelined`] and [`energy_efficient`] for hardware in which hash functions cost, and
//! [`error_protected`] for memories that fail. [`omass`] and [`dlb`] tell which of several sets hold a key, [`memory_optimized`] its value.
//!
//! For a set that does not change, [`perfect_hash`] is the smallest with fast lookups and [`golomb`] the smallest message; for a few
//! integers of a small universe [`egh`] makes no error at all. [`two_choice`],
//! [`partitioned_hashing`], [`best_of_n`] and [`optihash`] buy a lower rate in the same bits with the time that it takes to choose a
//! hash family for each key, for each group of keys or for the filter.

pub mod banked;
pub mod best_of_n;
mod bits;
mod block_layout;
pub mod blocked;
pub mod bloom_g;
pub mod compacted;
pub mod compressed;
pub mod dlb;
pub mod egh;
pub mod energy_efficient;
pub mod error_protected;
pub mod golomb;
mod layout;
pub mod memory_optimized;
pub mod omass;
pub mod one_hash;
pub mod optihash;
pub mod partitioned;
pub mod partitioned_hashing;
pub mod perfect_hash;
pub mod pipelined;
mod spread;
mod staged;
pub mod standard;
#[cfg(test)]
mod testing;
pub mod two_choice;
pub mod ultra_fast;

pub use bits::{BitFilter, Bits};
pub use block_layout::{BlockKind, Blocks, Shape};
pub(crate) use layout::digests;
pub use layout::{Access, BitSettings, Layout, Sizes, Width};
pub use spread::{Reducing, Spread, SpreadKind, SpreadSettings};
pub use staged::{BaseLayout, Scheduler, Staged, StagedSettings, Work};

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "membership",
    summary: "one set as bits: is x in S?",
    kinds: &[
        standard::KIND,
        partitioned::KIND,
        compressed::KIND,
        compacted::KIND,
        blocked::KIND,
        bloom_g::KIND,
        ultra_fast::KIND,
        one_hash::KIND,
        error_protected::KIND,
        banked::KIND,
        omass::KIND,
        pipelined::KIND,
        energy_efficient::KIND,
        memory_optimized::KIND,
        dlb::KIND,
        two_choice::KIND,
        partitioned_hashing::KIND,
        best_of_n::KIND,
        optihash::KIND,
        egh::KIND,
        perfect_hash::KIND,
        golomb::KIND,
    ],
};
