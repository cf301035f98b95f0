//! Positions that other programs take from cryptographic digests.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use xxhash_rust::xxh3::Xxh3;

/// The method byte that Squid puts before the URL.
const GET: u8 = 1;

/// The four words of Squid's key of a URL that is fetched with GET.
pub(super) fn squid_words(url: &[u8]) -> [u32; 4] {
    let key = Md5::new().chain_update([GET]).chain_update(url).finalize();
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    words
}

/// The hash that rbloom's documentation proposes for keys that are told to others: the first half of a SHA-256.
pub(super) fn rbloom_hash(key: &[u8]) -> u128 {
    let whole = Sha256::digest(key);
    whole.first_chunk().map_or(0, |half| u128::from_be_bytes(*half))
}

/// rbloom's next word of a hash.
pub(super) fn rbloom_step(hash: &mut u128) -> u64 {
    *hash = hash.wrapping_mul(47_026_247_687_942_121_848_144_207_491_837_418_733).wrapping_add(1);
    (*hash >> 32) as u64
}

/// How pybloom-live takes a position in every slice from digests whose length follows from the size of the filter.
pub(super) struct SliceHash {
    slices: u32,
    slice: u64,
    /// Bytes of a digest for each position.
    width: usize,
    digest: fn(&[&[u8]], &mut [u8; 64]) -> usize,
}

impl SliceHash {
    pub(super) fn of(bits: u64, slices: u32) -> Self {
        let slice = bits / u64::from(slices);
        let width = match slice {
            ..0x8000 => 2,
            0x8000..0x8000_0000 => 4,
            _ => 8,
        };
        let digest = match 8 * slices as usize * width {
            ..=128 => xxh3,
            129..=160 => sha::<Sha1>,
            161..=256 => sha::<Sha256>,
            257..=384 => sha::<Sha384>,
            _ => sha::<Sha512>,
        };
        SliceHash { slices, slice, width, digest }
    }

    /// Visits the positions of a key as long as `visit` says so; whether it did for all.
    pub(super) fn all(&self, key: &[u8], mut visit: impl FnMut(u64) -> bool) -> bool {
        let (mut salt, mut words) = ([0; 64], [0; 64]);
        let mut slice = 0;
        for round in 0u32.. {
            let length = (self.digest)(&[&round.to_le_bytes()], &mut salt);
            (self.digest)(&[&salt[..length], key], &mut words);
            for word in words[..length].chunks_exact(self.width) {
                if slice == self.slices {
                    return true;
                }
                let mut bytes = [0; 8];
                bytes[..self.width].copy_from_slice(word);
                if !visit(u64::from(slice) * self.slice + u64::from_le_bytes(bytes) % self.slice) {
                    return false;
                }
                slice += 1;
            }
        }
        true
    }
}

fn sha<D: Digest>(parts: &[&[u8]], into: &mut [u8; 64]) -> usize {
    let mut state = D::new();
    parts.iter().for_each(|part| state.update(part));
    let digest = state.finalize();
    into[..digest.len()].copy_from_slice(&digest);
    digest.len()
}

fn xxh3(parts: &[&[u8]], into: &mut [u8; 64]) -> usize {
    let mut state = Xxh3::new();
    parts.iter().for_each(|part| state.update(part));
    let digest = state.digest128().to_be_bytes();
    into[..digest.len()].copy_from_slice(&digest);
    digest.len()
}
