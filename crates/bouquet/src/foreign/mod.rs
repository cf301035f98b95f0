//! Foreign filters: structures as other programs lay them out, bit for bit.
//!
//! A foreign scheme is a header, a bit order, a hash and limits that somebody else has chosen. Filters of such a scheme answer
//! exactly as the program that wrote them, false positives included, and are written back byte for byte.
//!
//! | structure | whose | bytes |
//! |---|---|---|
//! | [`RedisBloomChain`] | `BF.*` of RedisBloom: a chain of Bloom filters | header and bit arrays, as `BF.SCANDUMP` gives them |
//! | [`RedisCuckoo`] | `CF.*`: a chain of cuckoo filters with fingerprints of 8 bits | header and buckets, as `CF.SCANDUMP` gives them |
//! | [`RedisCountMin`] | `CMS.*`: a count-min sketch of 32-bit counters | the fields of a snapshot in their order |
//! | [`RedisTopK`] | `TOPK.*`: HeavyKeeper with a heap of names | the fields of a snapshot in their order |
//! | [`ForeignBits`] | plain filters of Guava, Spark, Hadoop, Go, pyprobables, DataSketches, BIP 37 | what these programs write |
//!
//! Bytes come from outside: every length in a header is compared with the bytes that are there, or with a limit that the caller
//! gives, before anything is allocated.

pub mod foreign_bits;
mod hashes;
mod murmur;
mod program;
mod reader;
pub mod redis_bloom;
mod redis_count_min;
mod redis_cuckoo;
mod redis_top_k;

pub use foreign_bits::{ForeignBits, ForeignBitsSettings, Program};
pub use hashes::{FNV_BASIS, fnv1a, lookup3, murmur3_32, murmur3_128, spark_murmur3};
pub use murmur::{hadoop_murmur2, murmur2, murmur64a};
pub use redis_bloom::{BloomShape, Link, RedisBloom, RedisBloomChain, RedisBloomSettings};
pub use redis_count_min::RedisCountMin;
pub use redis_cuckoo::{CuckooShape, RedisCuckoo};
pub use redis_top_k::{Heavy, RedisTopK};

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "foreign",
    summary: "filters as other programs lay them out",
    kinds: &[redis_bloom::KIND, foreign_bits::KIND],
};
