//! The hash functions of the papers' own experiments, to replicate their numbers and to read their data.
//!
//! None is fit for use: each has a public definition without a seed, and most have too few bits or too plain a
//! combination. All are modular by definition, and all answer with no positions when m is 0.

use md5::{Digest as _, Md5};
use rand_mt::Mt;
use sha1::Sha1;

use super::family::remainder;
use super::probes::ModularProbes;

/// Bytes as one big-endian integer, modulo m.
fn big_endian_modulo(bytes: &[u8], m: u64) -> u64 {
    // Below m, which has 64 bits.
    bytes.iter().fold(0_u128, |r, &byte| ((r << 8) | u128::from(byte)) % u128::from(m)) as u64
}

/// MD5, SHA-1 and CRC-32 (IEEE) of a key, each a big-endian integer modulo m: the worked example with m = 16 that
/// introduces Bloom filters in the survey of Tarkoma, Rothenberg and Lagerspetz (2012), figure 2.
///
/// ```
/// assert_eq!(bouquet::hash::replication::fig2(b"a", 16), Some([1, 8, 3]));
/// ```
#[must_use]
pub fn fig2(key: &[u8], m: u64) -> Option<[u64; 3]> {
    (m > 0).then(|| {
        let crc = crc32fast::hash(key).to_be_bytes();
        [big_endian_modulo(&Md5::digest(key), m), big_endian_modulo(&Sha1::digest(key), m), big_endian_modulo(&crc, m)]
    })
}

/// The SDBM string hash: `s = byte + (s << 6) + (s << 16) - s` from 0, in 32 bits.
///
/// ```
/// assert_eq!(bouquet::hash::replication::sdbm(b"bouquet"), 0x6839_36bb);
/// ```
#[must_use]
pub fn sdbm(key: &[u8]) -> u32 {
    key.iter().fold(0_u32, |s, &byte| u32::from(byte).wrapping_add(s << 6).wrapping_add(s << 16).wrapping_sub(s))
}

/// SDBM seeds an MT19937; its first two outputs give g1 = 1 + first mod m and g2 = 1 + second mod m; position i is
/// (g1 + i g2) mod m. It has only 2³² different keys, plain double hashing, and for g2 = m a single position.
///
/// ```
/// let positions: Vec<_> = bouquet::hash::replication::sdbm_mersenne(b"a", 1280, 7).collect();
/// assert_eq!(positions, [603, 511, 419, 327, 235, 143, 51]);
/// ```
pub fn sdbm_mersenne(key: &[u8], m: u64, k: u32) -> impl Iterator<Item = u64> {
    let mut twister = Mt::new(sdbm(key));
    let [g1, g2] = [(); 2].map(|()| 1 + u64::from(twister.next_u32()).checked_rem(m).unwrap_or(0));
    ModularProbes::new([remainder(g1, m), remainder(g2, m), 0, 0], m, k)
}

/// The method byte of GET in Squid's cache keys.
const METHOD_GET: u8 = 1;

/// MD5 of the method byte of GET and a URL, as four big-endian 32-bit words modulo m: the cache digests of Squid.
///
/// ```
/// let positions = bouquet::hash::replication::squid_md5(b"http://www.squid-cache.org/", 80_000);
/// assert_eq!(positions, Some([69683, 36727, 16161, 29216]));
/// ```
#[must_use]
pub fn squid_md5(url: &[u8], m: u64) -> Option<[u64; 4]> {
    (m > 0).then(|| {
        let hash = squid_key(url);
        std::array::from_fn(|i| big_endian_modulo(&hash[4 * i..4 * i + 4], m))
    })
}

fn squid_key(url: &[u8]) -> [u8; 16] {
    Md5::new().chain_update([METHOD_GET]).chain_update(url).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(key: &[u8]) -> u16 {
        fig2(key, 16).unwrap().iter().fold(0, |mask, &position| mask | 1 << position)
    }

    #[test]
    fn the_worked_example_of_figure_2_comes_out() {
        let rows: [(&[u8], [u64; 3], u16); 6] = [
            (b"a", [1, 8, 3], 0x010A),
            (b"b", [15, 8, 9], 0x8300),
            (b"y", [13, 10, 5], 0x2420),
            (b"l", [3, 7, 14], 0x4088),
            (b"q", [13, 0, 7], 0x2081),
            (b"z", [7, 10, 15], 0x8480),
        ];
        for (key, positions, bits) in rows {
            assert_eq!(fig2(key, 16), Some(positions));
            assert_eq!(mask(key), bits);
        }
        assert_eq!(mask(b"a") | mask(b"b"), 0x830A);
        let filter = [b"a", b"b", b"y", b"l"].into_iter().fold(0, |filter, key| filter | mask(key));
        assert_eq!(filter, 0b1110_0111_1010_1010);
        assert_ne!(filter & mask(b"q"), mask(b"q"), "q is absent");
        assert_eq!(filter & 1, 0, "by its bit 0");
        assert_eq!(filter & mask(b"z"), mask(b"z"), "z is a false positive");
    }

    #[test]
    fn the_twister_passes_its_self_test() {
        assert_eq!(Mt::new(5489).next_u32(), 3_499_211_612);
    }

    #[test]
    fn sdbm_and_twister_match_both_vectors() {
        assert_eq!(sdbm(b"a"), 0x61);
        let mut twister = Mt::new(sdbm(b"a"));
        assert_eq!([twister.next_u32(), twister.next_u32()], [3_594_647_642, 3_529_320_867]);
        let positions = |key: &[u8]| sdbm_mersenne(key, 1280, 7).collect::<Vec<_>>();
        assert_eq!(positions(b"a"), [603, 511, 419, 327, 235, 143, 51]);
        assert_eq!(sdbm(b"bouquet"), 0x6839_36bb);
        assert_eq!(positions(b"bouquet"), [1014, 31, 328, 625, 922, 1219, 236]);
    }

    #[test]
    fn squid_digests_match_their_vector() {
        let url = b"http://www.squid-cache.org/";
        assert_eq!(u128::from_be_bytes(squid_key(url)), 0x6967_7c33_244c_8d77_6d1e_d121_0e07_c120);
        assert_eq!(squid_md5(url, 80_000), Some([69683, 36727, 16161, 29216]));
    }

    #[test]
    fn no_modulus_is_too_small_or_too_large() {
        assert_eq!((fig2(b"a", 0), squid_md5(b"a", 0), sdbm_mersenne(b"a", 0, 9).count()), (None, None, 0));
        assert_eq!(fig2(b"a", 1), Some([0; 3]));
        assert!(sdbm_mersenne(b"a", 1, 9).eq([0; 9]));
        // MD5("a") = 0cc175b9c0f1b6a831c399e269772661.
        let md5 = 0x0cc1_75b9_c0f1_b6a8_31c3_99e2_6977_2661_u128 % u128::from(u64::MAX);
        assert_eq!(fig2(b"a", u64::MAX).map(|p| u128::from(p[0])), Some(md5));
    }
}
