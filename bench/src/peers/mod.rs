//! The peers: other crates' filters, each made the way its documentation tells.
//!
//! Where a crate leaves the hash function to its user, it gets a fast one; where it stores keys as `serde` values alone,
//! it is serialised with `postcard`.

mod bloomfilter;
#[cfg(feature = "boost")]
mod boost_bloom;
mod cuckoofilter;
mod datasketches;
mod fastbloom;
mod growable_bloom_filter;
mod parquet;
mod probabilistic_collections;
mod ptr_hash;
mod qfilter;
mod sbbf_rs_safe;
mod xorf;

use crate::keys::BenchKey;
use crate::measure::Entry;

/// All of them.
pub fn all<K: BenchKey>() -> Vec<Entry<K>> {
    vec![
        Entry::of::<sbbf_rs_safe::SplitBlock<false>>(),
        Entry::of::<sbbf_rs_safe::SplitBlock<true>>(),
        #[cfg(feature = "boost")]
        Entry::of::<boost_bloom::Boost<false>>(),
        #[cfg(feature = "boost")]
        Entry::of::<boost_bloom::Boost<true>>(),
        Entry::of::<parquet::SplitBlock>(),
        Entry::of::<fastbloom::Folded>(),
        Entry::of::<fastbloom::Default>(),
        Entry::of::<fastbloom::Atomic>(),
        Entry::of::<xorf::Fuse8>(),
        Entry::of::<xorf::Fuse16>(),
        Entry::of::<ptr_hash::Fingerprints<8>>(),
        Entry::of::<ptr_hash::Fingerprints<16>>(),
        Entry::of::<qfilter::Quotient>(),
        Entry::of::<datasketches::Bloom>(),
        Entry::of::<cuckoofilter::Cuckoo>(),
        Entry::of::<growable_bloom_filter::Growable>(),
        Entry::of::<bloomfilter::Bloom<K>>(),
        Entry::of::<probabilistic_collections::Bloom<K>>(),
    ]
}
