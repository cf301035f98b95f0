//! Foreign filters: structures as other programs lay them out, bit for bit.
//!
//! A foreign scheme is a header, a bit order, a hash and limits that somebody else has chosen. Filters of such a scheme answer
//! exactly as the program that wrote them, false positives included, and are written back byte for byte.
//!
//! | structure | whose | bytes |
//! |---|---|---|
//! | [`RedisBloomChain`] | `BF.*` of RedisBloom: a chain of Bloom filters | header and bit arrays, as `BF.SCANDUMP` gives them |
//! | [`RedisCuckooChain`] | `CF.*`: a chain of cuckoo filters with fingerprints of 8 bits | header and buckets, as `CF.SCANDUMP` gives them |
//! | [`RedisCountMinSketch`] | `CMS.*`: a count-min sketch of 32-bit counters | the fields of a snapshot in their order |
//! | [`RedisTopKSketch`] | `TOPK.*`: HeavyKeeper with a heap of names | the fields of a snapshot in their order |
//! | [`SparkCountMin`] | Spark's `CountMinSketch`: a count-min sketch of 64-bit counters | what `writeTo` writes |
//! | [`ForeignBits`] | plain filters of Guava, Spark, Hadoop, Go, pyprobables, DataSketches, BIP 37, Squid, rbloom, pybloom-live, pybloomfiltermmap3 | what these programs write |
//!
//! Those of RedisBloom are kinds too, with settings, frames and verbs: [`RedisBloom`], [`RedisCuckoo`], [`RedisCountMin`], [`RedisTopK`].
//!
//! Bytes come from outside: every length in a header is compared with the bytes that are there, or with a limit that the caller
//! gives, before anything is allocated.

mod digests;
pub mod foreign_bits;
mod hashes;
mod murmur;
mod payload;
mod program;
mod reader;
pub mod redis_bloom;
pub mod redis_count_min;
pub mod redis_cuckoo;
pub mod redis_top_k;
mod rows;
pub mod spark_count_min;

pub use foreign_bits::{ForeignBits, ForeignBitsSettings, Program};
pub use hashes::{FNV_BASIS, fnv1a, lookup3, murmur3_32, murmur3_128, murmur3_128_seeded, spark_murmur3};
pub use murmur::{hadoop_murmur2, murmur2, murmur64a};
pub use redis_bloom::{BloomShape, Link, RedisBloom, RedisBloomChain, RedisBloomSettings};
pub use redis_count_min::{RedisCountMin, RedisCountMinSettings, RedisCountMinSketch};
pub use redis_cuckoo::{CuckooShape, RedisCuckoo, RedisCuckooChain, RedisCuckooSettings};
pub use redis_top_k::{Heavy, RedisTopK, RedisTopKSettings, RedisTopKSketch};
pub use spark_count_min::{SparkCountMin, SparkCountMinSettings, SparkKeys};

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "foreign",
    summary: "filters as other programs lay them out",
    kinds: &[
        redis_bloom::KIND,
        redis_cuckoo::KIND,
        redis_count_min::KIND,
        redis_top_k::KIND,
        spark_count_min::KIND,
        foreign_bits::KIND,
    ],
};
