//! Tables of fingerprints: cuckoo filters, quotient filters, d-left hashing.
//!
//! They store, for each key, a few bits of its hash at a place that other bits of the hash choose. An absent key seems
//! present when all the bits agree with those of a stored key, so that the rate is that of a hashed list: with n keys whose
//! hash has N values in all, 1 - (1 - 1/N)^n. What differs is how N comes about and how full the table can get.
//!
//! | table | N | slots in use at most |
//! |---|---|---|
//! | cuckoo, B buckets, f bits | B (2^f - 1) / 2: two buckets per key, fingerprint 0 is empty | [`cuckoo_load`] |
//! | quotient, p = q + r bits | 2^p | 95 % |
//! | d-left, B buckets per subtable, r bits | B 2^r | [`super::choices::d_left`] |
//!
//! Sources: B. Fan et al., *Cuckoo filter: practically better than Bloom*, 2014; P. Pandey et al., *A general-purpose
//! counting filter: making every bit count*, 2017; F. Bonomi et al., *An improved construction for counting Bloom
//! filters*, 2006.

use super::special::{amount, positive};

/// The probability that one of n fingerprints, each one of this many equally likely values, equals a given one.
///
/// ```
/// use bouquet_theory::fingerprints::collision_rate;
/// assert!((collision_rate(365.0, 23) - 0.0611).abs() < 1e-4); // somebody has my birthday
/// assert_eq!((collision_rate(0.0, 1), collision_rate(0.0, 0)), (1.0, 0.0));
/// ```
pub fn collision_rate(values: f64, keys: u64) -> f64 {
    let one = if values >= 1.0 { 1.0 / values } else { 1.0 };
    match keys {
        0 => 0.0,
        keys => -(keys as f64 * (-one).ln_1p()).exp_m1(),
    }
}

/// The rate of a cuckoo filter: a stored fingerprint of f bits is met by those queries that have it (one of 2^f - 1) and
/// one of its two buckets, which coincide for one bucket in B.
///
/// ```
/// use bouquet_theory::fingerprints::cuckoo_rate;
/// let keys = 124_518; // 95 % of the slots of 2^15 buckets of 4
/// assert!((cuckoo_rate(1 << 15, 12, keys) - 0.00185).abs() < 5e-6);
/// ```
pub fn cuckoo_rate(buckets: u64, fingerprint_bits: u32, keys: u64) -> f64 {
    let buckets = buckets.max(1) as f64;
    let fingerprints = (2f64.powi(fingerprint_bits.min(64) as i32) - 1.0).max(1.0);
    collision_rate(buckets * fingerprints / (2.0 - 1.0 / buckets), keys)
}

/// The share of the slots of a cuckoo filter that can be filled: 84, 95 and 98 % for buckets of 2, 4 and 8 slots.
///
/// ```
/// use bouquet_theory::fingerprints::cuckoo_load;
/// assert_eq!([2, 4, 8].map(cuckoo_load), [0.84, 0.95, 0.98]);
/// ```
pub fn cuckoo_load(slots: u32) -> f64 {
    match slots {
        0 => 0.0,
        1 => 0.5,
        2..=3 => 0.84,
        4..=7 => 0.95,
        _ => 0.98,
    }
}

/// The fingerprint bits of a cuckoo filter for a rate: log2(1/rate) + log2(2b), rounded up, at most 64.
///
/// ```
/// use bouquet_theory::fingerprints::cuckoo_fingerprint_bits;
/// assert_eq!(cuckoo_fingerprint_bits(0.01, 4), 10);
/// assert_eq!(cuckoo_fingerprint_bits(0.001, 4), 13);
/// ```
pub fn cuckoo_fingerprint_bits(fpr: f64, slots: u32) -> u32 {
    ceil_bits(2.0 * f64::from(slots) / positive(fpr))
}

/// ceil(log2 x), from 1 to 64.
fn ceil_bits(x: f64) -> u32 {
    // Conversions saturate, so that an infinite number of bits becomes the largest.
    (amount(x).log2().ceil().clamp(1.0, 64.0)) as u32
}

/// The bits per key of a cuckoo filter: (log2(1/rate) + 3) / 0.95 with buckets of 4, and with semi-sorted buckets one less
/// before the division.
///
/// ```
/// use bouquet_theory::fingerprints::cuckoo_bits_per_key;
/// assert!((cuckoo_bits_per_key(0.001, 4, false) - 13.65).abs() < 0.01);
/// assert!((cuckoo_bits_per_key(0.001, 4, true) - 12.60).abs() < 0.01);
/// ```
pub fn cuckoo_bits_per_key(fpr: f64, slots: u32, semisort: bool) -> f64 {
    let bits = amount(2.0 * f64::from(slots) / positive(fpr)).max(1.0).log2();
    positive(bits - f64::from(u8::from(semisort))) / cuckoo_load(slots).max(f64::MIN_POSITIVE)
}

/// The buckets of a cuckoo filter for this many keys: n / (b a), rounded up, and 64 / b^2 more. The published loads are those
/// of large tables; of small ones, up to a few thousand keys, one in a hundred would refuse its last key without the few
/// more buckets, and with them fewer than one in ten thousand does (simulated).
///
/// ```
/// use bouquet_theory::fingerprints::cuckoo_buckets;
/// assert_eq!(cuckoo_buckets(1_000_000, 4), 263_158 + 4);
/// ```
pub fn cuckoo_buckets(keys: u64, slots: u32) -> u64 {
    let slots = slots.clamp(1, 64);
    // Conversions saturate.
    let large = (keys as f64 / (f64::from(slots) * cuckoo_load(slots))).ceil() as u64;
    large.saturating_add(u64::from((64 / (slots * slots)).max(1)))
}

/// The share of the slots of a cuckoo filter that are in use when an insertion that may move `moves` fingerprints finds no free slot with
/// this probability. Fingerprints are moved until a bucket has room, which each bucket has as often as another: their occupancy is Poisson's,
/// cut at b, and the insertion fails if its two buckets and one for each move are full.
///
/// ```
/// use bouquet_theory::fingerprints::kicked_load;
/// let load = |slots, moves| kicked_load(slots, moves, 1e-3);
/// assert!((load(2, 20) - 0.8277).abs() < 1e-4);
/// assert!(load(4, 20) > load(2, 20) && load(2, 1) < load(2, 20));
/// ```
pub fn kicked_load(slots: u32, moves: u32, failure: f64) -> f64 {
    let slots = slots.clamp(1, 255);
    let full = positive(failure).min(1.0).powf(1.0 / (f64::from(moves) + 2.0));
    // The share of full buckets and the mean of the slots in use, when `mean` keys come to a bucket.
    let occupancy = |mean: f64| {
        let (mut exactly, mut below, mut used) = ((-mean).exp(), 0.0, 0.0);
        for keys in 0..slots {
            below += exactly;
            used += f64::from(keys) * exactly;
            exactly *= mean / f64::from(keys + 1);
        }
        (1.0 - below, used + f64::from(slots) * (1.0 - below))
    };
    let (mut low, mut high) = (0.0, 4.0 * f64::from(slots) + 40.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if occupancy(middle).0 < full { low = middle } else { high = middle }
    }
    occupancy(low).1 / f64::from(slots)
}

/// The share of the slots of a quotient filter that may be used: beyond it, runs become too long.
pub const QUOTIENT_LOAD: f64 = 0.95;

/// The rate of a quotient filter whose hashes have this many bits, quotient and remainder together.
///
/// ```
/// use bouquet_theory::fingerprints::quotient_rate;
/// let keys = (1u64 << 17) * 9 / 10;
/// assert!((quotient_rate(17 + 9, keys) - 0.00176).abs() < 5e-6);
/// ```
pub fn quotient_rate(hash_bits: u32, keys: u64) -> f64 {
    collision_rate(2f64.powi(hash_bits.min(1_000) as i32), keys)
}

/// The bits of the quotient for this many keys: log2(n / 0.95), rounded up.
///
/// ```
/// use bouquet_theory::fingerprints::quotient_bits;
/// assert_eq!([1, 972, 973, 1_000_000].map(quotient_bits), [1, 10, 11, 21]);
/// ```
pub fn quotient_bits(keys: u64) -> u32 {
    let mut bits = 1;
    while bits < 64 && 2f64.powi(bits as i32) * QUOTIENT_LOAD < keys as f64 {
        bits += 1;
    }
    bits
}

/// The bits of the remainder for a rate in full slots: log2(1/rate), rounded up, from 2 to 64.
///
/// ```
/// use bouquet_theory::fingerprints::remainder_bits;
/// assert_eq!([0.9, 0.01, 0.001].map(remainder_bits), [2, 7, 10]);
/// ```
pub fn remainder_bits(fpr: f64) -> u32 {
    ceil_bits(1.0 / positive(fpr)).max(2)
}

/// The bits of the remainder for a rate with this many keys in 2^q slots. The rate is the share of the slots in use by 2^r, so that
/// slots half in use need one bit less than [`remainder_bits`] says of full ones.
///
/// ```
/// use bouquet_theory::fingerprints::{planned_remainder_bits, quotient_bits, quotient_rate};
/// assert_eq!([900_000, 1_000_000].map(|keys| planned_remainder_bits(0.01, quotient_bits(keys), keys)), [7, 6]);
/// assert!(quotient_rate(21 + 6, 1_000_000) < 0.0075);
/// ```
pub fn planned_remainder_bits(fpr: f64, quotient: u32, keys: u64) -> u32 {
    let most = remainder_bits(fpr);
    let fewer = (2..most).find(|bits| quotient_rate(quotient.saturating_add(*bits), keys) <= fpr);
    fewer.unwrap_or(most)
}

/// The mean load for which buckets of c cells are planned in a d-left table: three quarters of them, 6 of 8.
///
/// ```
/// use bouquet_theory::{choices::d_left, fingerprints::d_left_load};
/// assert_eq!(d_left_load(8), 6.0);
/// // With four choices fewer than one bucket in 10^9 would have to hold more than 8.
/// assert!(d_left(4, d_left_load(8))?.at_least(9) < 1e-9);
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub fn d_left_load(cells: u32) -> f64 {
    0.75 * f64::from(cells.max(1))
}

/// The remainder bits of a d-left table for a rate: log2(d l / rate), rounded up, at most 64.
///
/// ```
/// use bouquet_theory::fingerprints::d_left_remainder_bits;
/// assert_eq!(d_left_remainder_bits(0.01, 4, 6.0), 12);
/// ```
pub fn d_left_remainder_bits(fpr: f64, subtables: u32, load: f64) -> u32 {
    ceil_bits(f64::from(subtables) * amount(load) / positive(fpr))
}

/// The bits per key of a d-left table: (c/l)(r + w).
///
/// ```
/// use bouquet_theory::fingerprints::d_left_bits_per_key;
/// assert!((d_left_bits_per_key(8, 14, 2) - 21.33).abs() < 0.01);
/// ```
pub fn d_left_bits_per_key(cells: u32, remainder_bits: u32, counter_bits: u32) -> f64 {
    f64::from(cells.max(1)) / d_left_load(cells) * (f64::from(remainder_bits) + f64::from(counter_bits))
}

/// The buckets of a hash table with pruned buckets: 12.8 per item.
///
/// ```
/// assert_eq!(bouquet_theory::fingerprints::pruned_buckets(10_000), 128_000);
/// ```
pub fn pruned_buckets(items: u64) -> u64 {
    // Conversions saturate.
    ((items as f64 * 12.8).ceil() as u64).max(1)
}

/// The buckets that a query for an absent key reads in a table of m buckets with n items of k places each:
/// (1 - e^(-nk/m))^k.
///
/// ```
/// use bouquet_theory::fingerprints::pruned_miss_accesses;
/// assert!((pruned_miss_accesses(128_000, 10_000, 9) - 0.0021).abs() < 5e-5);
/// ```
pub fn pruned_miss_accesses(buckets: u64, items: u64, hashes: u32) -> f64 {
    let load = items as f64 * f64::from(hashes) / buckets.max(1) as f64;
    (-(-load).exp_m1()).powf(f64::from(hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_gives_nan_or_leaves_the_range() {
        let reals = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 0.5, 1.0, 1e300];
        for x in reals {
            for keys in [0, 1, 1 << 40, u64::MAX] {
                assert!((0.0..=1.0).contains(&collision_rate(x, keys)), "{x} {keys}");
            }
            for slots in [0, 1, 4, u32::MAX] {
                assert!((1..=64).contains(&cuckoo_fingerprint_bits(x, slots)), "{x} {slots}");
                assert!(cuckoo_bits_per_key(x, slots, true) >= 0.0, "{x} {slots}");
                assert!(reals.iter().all(|&load| (1..=64).contains(&d_left_remainder_bits(x, slots, load))));
            }
            assert!((2..=64).contains(&remainder_bits(x)));
        }
        for buckets in [0, 1, u64::MAX] {
            for bits in [0, 1, 64, u32::MAX] {
                assert!((0.0..=1.0).contains(&cuckoo_rate(buckets, bits, buckets)));
                assert!((0.0..=1.0).contains(&quotient_rate(bits, buckets)));
                assert!(reals.iter().all(|&x| (2..=64).contains(&planned_remainder_bits(x, bits, buckets))));
                assert!(cuckoo_buckets(buckets, bits) >= 1 && (1..=64).contains(&quotient_bits(buckets)));
                assert!(d_left_bits_per_key(bits, bits, bits).is_finite());
                assert!((0.0..=1.0).contains(&pruned_miss_accesses(buckets, buckets, bits)));
                assert!(pruned_buckets(buckets) >= 1);
            }
        }
    }

    #[test]
    fn published_sizes_are_reached() {
        // 21.3 bits per key and a rate of 0.00146 with remainders of 14 bits; 0.01165 with 11.
        assert!((collision_rate(10_000.0 * 2f64.powi(14), 240_000) - 0.00146).abs() < 5e-6);
        assert!((collision_rate(10_000.0 * 2f64.powi(11), 240_000) - 0.01165).abs() < 5e-6);
        assert!((d_left_bits_per_key(8, 11, 2) - 17.3).abs() < 0.05);
    }
}
