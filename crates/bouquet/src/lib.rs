//! Bloom filters for distributed systems: every kind, its theory, one format.
//!
//! A Bloom filter answers "is x in the set?" in a few bits per key: *no* is certain, *yes* may be wrong at a rate that you
//! choose. This library has the standard filter and its many descendants, which are faster, count, forget, grow, carry
//! values, tell which of many sets hold a key, or keep a secret.
//!
//! ```
//! use bouquet::Bloom;
//!
//! let mut seen = Bloom::with_rate(1_000_000, 0.01)?; // a million keys, 1 % false positives, 1.2 MB
//! seen.insert("rose");
//! assert!(seen.contains("rose"));
//! assert!(!seen.contains("thistle"));
//!
//! let frame = seen.to_bytes(); // the same bytes on every machine
//! assert_eq!(Bloom::from_bytes(&frame)?, seen);
//! # Ok::<(), bouquet::Error>(())
//! ```
//!
//! # Which one?
//!
//! | you want | take |
//! |---|---|
//! | membership, the usual choice | [`Bloom`] |
//! | the fastest test | [`UltraFast`] (rates about 1 %), [`Blocked`] (lower rates) |
//! | to remove keys, or to count them | [`Counting`] |
//! | a set of unknown size | [`Scalable`] |
//! | duplicates in an endless stream | [`Stable`] |
//! | a value for each key of a fixed set | [`Bloomier`] |
//! | to list what was put in | [`Iblt`] |
//! | in which keys two sets differ | [`Invertible`] |
//! | which of many sets hold a key | [`FilterBank`]; of very many subsets that come and go [`Dba`] |
//! | a filter to be sent | [`Compressed`] |
//! | keys or queries that an adversary chooses | any of them, with [`Hashing::keyed`](hash::Hashing::keyed) |
//!
//! Every kind is a type of this crate: its id in camel case (`count-min` is [`CountMin`]), with its settings beside it
//! ([`CountMinSettings`]); the standard filter is just [`Bloom`]. Those that threads share have `Shared` before the name.
//!
//! # Two ways in
//!
//! Name the type, as above: its methods take keys as text, bytes or integers ([`Key`]) and cost nothing but their work. Or hold
//! a [`AnyFilter`], which is of any kind: the [`registry`] lists the kinds with their parameters, and a filter's verbs are looked up
//! at run time ([`capability`]). Front ends are written that way.
//!
//! Every formula of the papers is a function in [`theory`]; every filter tells its present rate and what theory expects of it.

pub mod accuracy;
mod any_filter;
pub mod capability;
pub mod codec;
#[doc(hidden)] // Machinery without a promise of stability; public so that its examples run.
pub mod coder;
pub mod counting;
pub mod decay;
pub mod dynamic;
mod error;
mod files;
pub mod foreign;
pub mod hash;
mod key;
pub mod kind;
pub mod membership;
#[doc(hidden)] // As `coder`.
pub mod parts;
pub mod registry;
pub mod secrecy;
pub mod sets;
pub mod shared;
pub mod shell;
mod simd;
pub mod store;
pub mod values;

pub use crate::membership::banked::{Banked, BankedSettings};
pub use crate::membership::blocked::{Blocked, BlockedSettings};
pub use crate::membership::bloom_g::{BloomG, BloomGSettings};
pub use crate::membership::compressed::{Compressed, CompressedSettings};
pub use crate::membership::dlb::{Dlb, DlbSettings};
pub use crate::membership::energy_efficient::{EnergyEfficient, EnergyEfficientSettings};
pub use crate::membership::error_protected::{ErrorProtected, ErrorProtectedSettings};
pub use crate::membership::memory_optimized::{MemoryOptimized, MemoryOptimizedSettings};
pub use crate::membership::omass::{Omass, OmassSettings};
pub use crate::membership::one_hash::{OneHash, OneHashSettings};
pub use crate::membership::partitioned::{Partitioned, PartitionedSettings};
pub use crate::membership::pipelined::{Pipelined, PipelinedSettings};
pub use crate::membership::standard::{Bloom, BloomSettings};
pub use crate::membership::ultra_fast::{UltraFast, UltraFastSettings};
pub use accuracy::complement::{Complement, ComplementSettings};
pub use accuracy::cross_checking::{CrossChecking, CrossCheckingSettings};
pub use accuracy::fpf_multistage::{FpfMultistage, FpfMultistageSettings};
pub use accuracy::generalized::{Generalized, GeneralizedSettings};
pub use accuracy::multi_class::{MultiClass, MultiClassSettings};
pub use accuracy::popularity_conscious::{PopularityConscious, PopularityConsciousSettings};
pub use accuracy::retouched::{Retouched, RetouchedSettings};
pub use accuracy::selective::{Selective, SelectiveSettings};
pub use accuracy::trie_checked::{TrieChecked, TrieCheckedSettings};
pub use accuracy::weighted::{Weighted, WeightedSettings};
pub use accuracy::yes_no::{YesNo, YesNoSettings};
pub use any_filter::{AnyFilter, Belief, ForeignFormat, MappedFilter, OpenOptions};
pub use bouquet_theory as theory;
pub use counting::adaptive::{Adaptive, AdaptiveSettings};
pub use counting::conservative_update::{ConservativeUpdate, ConservativeUpdateSettings};
pub use counting::count_min::{CountMin, CountMinSettings};
pub use counting::counter_braids::{CounterBraids, CounterBraidsSettings};
pub use counting::counting::{Counting, CountingSettings};
pub use counting::cuckoo::{Cuckoo, CuckooSettings};
pub use counting::d_left::{DLeft, DLeftSettings};
pub use counting::deletable::{Deletable, DeletableSettings};
pub use counting::fingerprint_counting::{FingerprintCounting, FingerprintCountingSettings};
pub use counting::invertible_counting::{InvertibleCounting, InvertibleCountingSettings};
pub use counting::l_cbf::{LCbf, LCbfSettings};
pub use counting::loglog::{Loglog, LoglogSettings};
pub use counting::ml_ccbf::{MlCcbf, MlCcbfSettings};
pub use counting::mpcbf::{Mpcbf, MpcbfSettings};
pub use counting::pruned_counting::{PrunedCounting, PrunedCountingSettings};
pub use counting::quotient::{Quotient, QuotientSettings};
pub use counting::shifting::{Shifting, ShiftingSettings};
pub use counting::space_code::{SpaceCode, SpaceCodeSettings};
pub use counting::spectral::{Spectral, SpectralSettings};
pub use counting::ternary::{Ternary, TernarySettings};
pub use counting::variable_increment::{VariableIncrement, VariableIncrementSettings};
pub use counting::variable_length::{VariableLength, VariableLengthSettings};
pub use decay::a2_buffer::{A2Buffer, A2BufferSettings};
pub use decay::decaying::{Decaying, DecayingSettings};
pub use decay::double_buffer::{DoubleBuffer, DoubleBufferSettings};
pub use decay::exponential_decay::{ExponentialDecay, ExponentialDecaySettings};
pub use decay::forgetful::{Forgetful, ForgetfulSettings};
pub use decay::stable::{Stable, StableSettings};
pub use decay::temporal_counting::{TemporalCounting, TemporalCountingSettings};
pub use decay::time_decaying::{TimeDecaying, TimeDecayingSettings};
pub use dynamic::bloomstore::file::BloomstoreFile;
pub use dynamic::bloomstore::{Bloomstore, BloomstoreSettings};
pub use dynamic::dba::{Dba, DbaSettings};
pub use dynamic::dynamic::{Dynamic, DynamicSettings};
pub use dynamic::forest_structured::file::ForestFile;
pub use dynamic::forest_structured::{ForestStructured, ForestStructuredSettings};
pub use dynamic::par_bf::{ParBf, ParBfSettings};
pub use dynamic::scalable::{Scalable, ScalableSettings};
pub use dynamic::split::{Split, SplitSettings};
pub use error::{Error, Result};
pub use files::{FileLock, abandon_saves};
pub use foreign::foreign_bits::{ForeignBits, ForeignBitsSettings};
pub use foreign::redis_bloom::{RedisBloom, RedisBloomSettings};
pub use foreign::redis_count_min::{RedisCountMin, RedisCountMinSettings};
pub use foreign::redis_cuckoo::{RedisCuckoo, RedisCuckooSettings};
pub use foreign::redis_top_k::{RedisTopK, RedisTopKSettings};
pub use foreign::spark_count_min::{SparkCountMin, SparkCountMinSettings};
pub use key::{ByHash, Key};
pub use membership::best_of_n::{BestOfN, BestOfNSettings};
pub use membership::compacted::{Compacted, CompactedSettings};
pub use membership::egh::{Egh, EghSettings};
pub use membership::golomb::{Golomb, GolombSettings};
pub use membership::optihash::{Optihash, OptihashSettings};
pub use membership::partitioned_hashing::{PartitionedHashing, PartitionedHashingSettings};
pub use membership::perfect_hash::{PerfectHash, PerfectHashSettings};
pub use membership::two_choice::{TwoChoice, TwoChoiceSettings};
pub use sets::filter_bank::{FilterBank, FilterBankSettings};
pub use shared::{SharedBlocked, SharedBloom, SharedCounting, SharedParBf, SharedUltraFast};
pub use shell::Filter;
pub use values::bloomier::{Bloomier, BloomierSettings};
pub use values::iblt::{Iblt, IbltSettings};
pub use values::invertible::{Invertible, InvertibleSettings};

/// What lies in files, page by page: the stores of [`BloomstoreFile`], the filters of [`ForestFile`], how durable they are, and the disks that they lie on.
pub mod paged {
    pub use crate::dynamic::bloomstore::file::{Change, Durability, Snapshot, StoreOptions, StoreStats};
    pub use crate::dynamic::forest_structured::file::ForestStats;
    pub use crate::parts::pages::manifest::kind_number;
    pub use crate::parts::pages::{Directory, Disk, DiskFile, MemoryDisk};
}

/// The stores of single kinds, for the benchmarks of this repository; no promise of stability.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    pub use crate::parts::unary_counters::UnaryCounters;
    pub use crate::store::buckets::{Buckets, Shape};
    pub use crate::store::lfsr::{LfsrCounters, Register};
    pub use crate::store::ternary::{Form, TernaryCells};
}

/// The examples of the README are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So are those of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/src/rust.md")]
struct Guide;
