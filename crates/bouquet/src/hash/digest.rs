//! From a key's bytes to 128 bits.
//!
//! A digest is computed once per key and operation; every position, fingerprint and mask is derived from it. The
//! function and its seed are part of a filter's identity: they are written in its frame, and filters that differ in
//! them refuse to merge.
//!
//! | digest | definition | for |
//! |---|---|---|
//! | [`HashId::Folded`] | XXH3, 64 bits, with a 64-bit seed, but keys of eight bytes by two folded multiplications; the second half follows from the first | the default: everything that an adversary cannot reach |
//! | [`HashId::Xxh3Wide`] | XXH3, 128 bits, with a 64-bit seed | the same, for more than about 2^32 keys or rates below 10^-9 |
//! | [`HashId::SipHash`] | SipHash-2-4, 128 bits (keyed BLAKE3 for keys over 64 bytes) | keys or queries chosen by others |
//! | [`HashId::Blake3`] | keyed BLAKE3 for every key | the same, with a margin that no attack has touched |
//! | [`HashId::Xxh3`] | XXH3, 64 bits, with a 64-bit seed, for every key | frames that were written with it |
//!
//! # Why the default is what it is
//!
//! XXH3 is published, with a stable definition and implementations in every language; it is seeded; it passes the usual test
//! suites; and it is fast on short strings. Numbers, the other sort of keys that matters, it hashes by a dozen instructions, and
//! with those alone a filter in the cache spends half of its time. To multiply by a constant and to exclusive-or the halves of
//! the product, twice, takes five. Once would not do: of 16 sorts of numbers that the tests of this folder look at (counted, in
//! steps, addresses, times, floats, ...), nine then change the fill or the rate of `standard`, and twelve those of
//! `ultra-fast`; twice leaves no trace of where the numbers come from. So a key of eight bytes, and a number is one, is hashed in
//! that way (its definition is in FORMAT.md), and all others by XXH3.
//!
//! Half of the 128-bit variant's price for strings is its second half, which a filter does not need: with n keys, 64 bits add a
//! false-positive rate of n / 2^64 (5 * 10^-11 for a thousand million keys), far below any rate that a filter is made for.

use std::fmt;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher24};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{GOLDEN, SplitMix, mix};
use crate::error::{Error, Result};

/// The 128 hash bits of one key, as two halves.
///
/// ```
/// use bouquet::hash::Hashing;
/// let hashing = Hashing::seeded(7);
/// assert_eq!(hashing.digest(b"rose"), hashing.digest(b"rose"));
/// assert_ne!(hashing.digest(b"rose"), hashing.digest(b"lily"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(C)]
pub struct Digest {
    /// The low 64 bits.
    pub h1: u64,
    /// The high 64 bits.
    pub h2: u64,
}

/// The two halves of a product, exclusive or.
#[inline(always)]
pub(super) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The odd constant from which the second half of a digest follows.
const FOLD: u64 = 0xD6E8_FEB8_6659_FD93;

impl Digest {
    /// The digest of a 64-bit hash: h2 is the two halves of h1 times an odd constant, folded.
    ///
    /// ```
    /// use bouquet::hash::Digest;
    /// assert_eq!(Digest::from_word(1).h1, 1);
    /// assert_ne!(Digest::from_word(1).h2, Digest::from_word(2).h2);
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn from_word(h1: u64) -> Self {
        Digest { h1, h2: fold(h1, FOLD) }
    }

    /// The same key under another, independent-looking hash function: what "same digest, different seed mixed in"
    /// means throughout the library (components, generations, masks, fingerprints).
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// let digest = Hashing::seeded(0).digest(b"rose");
    /// assert_ne!(digest.derive(1), digest.derive(2));
    /// ```
    #[must_use]
    #[inline]
    pub fn derive(self, stream: u64) -> Self {
        // Two rounds of the 64-bit finaliser of MurmurHash3 (Stafford's variant 13), each a bijection of its half for
        // a fixed other half, so that no entropy is lost.
        let h1 = mix(self.h1 ^ stream.wrapping_mul(STREAM));
        let h2 = mix(self.h2.wrapping_add(h1));
        Digest { h1: mix(h1 ^ h2), h2 }
    }
}

/// What a stream's number is multiplied by.
pub(crate) const STREAM: u64 = 0x9E37_79B9_7F4A_7C15;

/// Which digest function a filter uses; its number is written in the frame.
///
/// ```
/// use bouquet::{Bloom, codec::Header, hash::{HashId, Hashing, Secret}};
/// assert_eq!(Header::read(&Bloom::with_rate(100, 0.01)?.to_bytes())?.hash, HashId::Folded);
/// assert_eq!(Hashing::keyed(Secret::new(&[7; 16])?).id(), HashId::SipHash);
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashId {
    /// XXH3 with 64 bits of output and a 64-bit seed; h2 is h1 times an odd constant, folded.
    Xxh3,
    /// SipHash-2-4 with 128 bits of output for keys up to 64 bytes, keyed BLAKE3 for longer ones.
    SipHash,
    /// Keyed BLAKE3 for every key.
    Blake3,
    /// XXH3 with 128 bits of output and a 64-bit seed.
    Xxh3Wide,
    /// XXH64, for formats that are defined by it; h2 follows from h1 as with XXH3.
    Xxh64,
    /// As [`Xxh3`](HashId::Xxh3), but keys of eight bytes, and so numbers, go through two folded multiplications.
    Folded,
}

impl HashId {
    /// Every digest function.
    pub const ALL: [HashId; 6] =
        [HashId::Xxh3, HashId::SipHash, HashId::Blake3, HashId::Xxh3Wide, HashId::Xxh64, HashId::Folded];

    /// The number in the frame.
    ///
    /// ```
    /// use bouquet::{Bloom, hash::HashId};
    /// assert_eq!(Bloom::with_rate(100, 0.01)?.to_bytes()[12], HashId::Folded.number());
    /// assert_eq!(HashId::ALL.map(HashId::number), [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            HashId::Xxh3 => 1,
            HashId::SipHash => 2,
            HashId::Blake3 => 3,
            HashId::Xxh3Wide => 4,
            HashId::Xxh64 => 5,
            HashId::Folded => 6,
        }
    }

    /// The digest function of this number.
    ///
    /// ```
    /// use bouquet::hash::HashId;
    /// assert_eq!(HashId::from_number(2), Some(HashId::SipHash));
    /// assert_eq!(HashId::from_number(0), None);
    /// ```
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.number() == number)
    }

    /// The name that people read.
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// assert_eq!(Hashing::seeded(0).id().name(), "fold-xxh3-64");
    /// assert_eq!(Hashing::seeded_wide(0).id().name(), "xxh3-128");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HashId::Xxh3 => "xxh3-64",
            HashId::Xxh3Wide => "xxh3-128",
            HashId::Xxh64 => "xxh64",
            HashId::Folded => "fold-xxh3-64",
            HashId::SipHash => "siphash-2-4-128",
            HashId::Blake3 => "blake3-keyed",
        }
    }

    /// How many bits of a digest are independent: of how many bits two keys must agree by chance to have one digest. What
    /// that does to a rate is in [`theory::collisions`](crate::theory::collisions); a filter may use fewer of them
    /// ([`Scheme::digest_bits`](super::Scheme::digest_bits)).
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// assert_eq!((Hashing::seeded(0).id().bits(), Hashing::seeded_wide(0).id().bits()), (64, 128));
    /// ```
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            HashId::Xxh3 | HashId::Xxh64 | HashId::Folded => 64,
            HashId::Xxh3Wide | HashId::SipHash | HashId::Blake3 => 128,
        }
    }

    /// Whether it needs a secret.
    ///
    /// ```
    /// use bouquet::hash::HashId;
    /// let keyed: Vec<_> = HashId::ALL.into_iter().filter(|id| id.is_keyed()).collect();
    /// assert_eq!(keyed, [HashId::SipHash, HashId::Blake3]);
    /// ```
    #[must_use]
    pub fn is_keyed(self) -> bool {
        matches!(self, HashId::SipHash | HashId::Blake3)
    }
}

/// A secret for keyed hashing, 128 or 256 bits. It is wiped from memory when dropped and never printed or written to
/// a frame; a frame carries only its [check value](Secret::check_value).
///
/// ```
/// let secret = bouquet::hash::Secret::new(&[7; 16])?;
/// assert_eq!(format!("{secret:?}"), "Secret(128 bits)");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bits)", self.0.len() * 8)
    }
}

impl Secret {
    /// A secret of 16 or 32 bytes.
    ///
    /// ```
    /// use bouquet::hash::Secret;
    /// assert!(Secret::new(&[7; 16]).is_ok());
    /// assert!(Secret::new(b"too short").is_err());
    /// ```
    pub fn new(bytes: &[u8]) -> Result<Self> {
        if matches!(bytes.len(), 16 | 32) {
            return Ok(Secret(bytes.to_vec()));
        }
        Err(Error::Secret { what: format!("a secret has 16 or 32 bytes, found {}", bytes.len()) })
    }

    /// A fresh 256-bit secret from the operating system.
    ///
    /// ```
    /// use bouquet::hash::Secret;
    /// let secret = Secret::random()?;
    /// assert_eq!(secret.expose().len(), 32);
    /// assert_ne!(secret.expose(), Secret::random()?.expose());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn random() -> Result<Self> {
        let mut bytes = vec![0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|e| Error::Secret { what: format!("the operating system gives no random bytes: {e}") })?;
        Ok(Secret(bytes))
    }

    /// The bytes, for storing the secret in a place of its own.
    ///
    /// ```
    /// use bouquet::hash::Secret;
    /// assert_eq!(Secret::new(&[7; 16])?.expose(), &[7; 16]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Eight bytes that tell whether two filters share a secret, and nothing else about it.
    ///
    /// ```
    /// use bouquet::hash::Secret;
    /// assert_ne!(Secret::new(&[7; 16])?.check_value(), Secret::new(&[8; 16])?.check_value());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn check_value(&self) -> u64 {
        let mut out = [0; 8];
        self.expand("bouquet-kcv", &mut out);
        u64::from_le_bytes(out)
    }

    /// A key of 256 bits for one purpose, independent of that for any other.
    pub(crate) fn derived_key(&self, context: &str) -> zeroize::Zeroizing<[u8; 32]> {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        self.expand(context, &mut *key);
        key
    }

    /// Key material for one purpose, independent of that for any other.
    fn expand(&self, context: &str, out: &mut [u8]) {
        blake3::Hasher::new_derive_key(context).update(&self.0).finalize_xof().fill(out);
    }
}

/// Keys up to this length go through SipHash in the [`HashId::SipHash`] mode, longer ones through BLAKE3, which is
/// faster there.
const SIPHASH_LONGEST_KEY: usize = 64;

/// The working keys of a keyed filter, derived from the secret and the filter's domain.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
struct Subkeys {
    sip: [u8; 16],
    blake: [u8; 32],
}

/// A digest function with its seed or secret: how one filter hashes.
///
/// ```
/// use bouquet::hash::{Hashing, Secret};
/// let open = Hashing::seeded(1);
/// let keyed = Hashing::keyed(Secret::new(&[9; 32])?);
/// assert_ne!(open.digest(b"rose"), keyed.digest(b"rose"));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone)]
pub struct Hashing {
    id: HashId,
    /// The seed, or for a keyed function the check value of the secret.
    seed: u64,
    /// What the default digest makes of the seed for keys of eight bytes.
    flip: u64,
    keyed: Option<Box<(Secret, Subkeys)>>,
}

/// The hash of a number under the default digest.
///
/// A product of 128 bits has its best bits in the middle: the lowest depend on few bits of the number, and so do the highest.
/// Folded, every bit has one of the good ones in it, but neighbours are still neighbours; the second time they are not.
pub(super) mod folded {
    use super::{GOLDEN, SplitMix, fold};

    /// The multiplier of the first product, from XXH3; the other is the golden ratio's.
    const FIRST: u64 = 0x9FB2_1C65_1E98_DF25;

    /// What the seed contributes.
    pub(in super::super) fn flip(seed: u64) -> u64 {
        SplitMix::new(seed).next_u64()
    }

    #[inline(always)]
    pub(in super::super) fn hash(word: u64, flip: u64) -> u64 {
        fold(fold(word ^ flip, FIRST), GOLDEN)
    }
}

impl fmt::Debug for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} with {} {:#018x}",
            self.id.name(),
            if self.id.is_keyed() { "check value" } else { "seed" },
            self.seed
        )
    }
}

impl Default for Hashing {
    fn default() -> Self {
        Self::seeded(0)
    }
}

impl PartialEq for Hashing {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.seed == other.seed
    }
}

impl Hashing {
    fn with(id: HashId, seed: u64, keyed: Option<Box<(Secret, Subkeys)>>) -> Self {
        Hashing { id, seed, flip: folded::flip(seed), keyed }
    }

    /// The default digest with a public seed: for keys that no adversary chooses.
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// assert_eq!(Hashing::seeded(0), Hashing::default());
    /// assert_ne!(Hashing::seeded(1).digest(b"rose"), Hashing::seeded(2).digest(b"rose"));
    /// ```
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self::with(HashId::Folded, seed, None)
    }

    /// XXH3 with 64 bits for every key: for filters that are to be merged with others that were made so.
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// assert_eq!(Hashing::xxh3(7).digest(b"rose"), Hashing::seeded(7).digest(b"rose"));
    /// assert_ne!(Hashing::xxh3(7).digest_word(5), Hashing::seeded(7).digest_word(5));
    /// ```
    #[must_use]
    pub fn xxh3(seed: u64) -> Self {
        Self::with(HashId::Xxh3, seed, None)
    }

    /// The 128-bit digest with a public seed: for very many keys or very low rates.
    ///
    /// ```
    /// use bouquet::hash::{Digest, Hashing};
    /// // XXH3 of nothing, as its authors publish it.
    /// let expected = Digest { h1: 0x6001_C324_468D_497F, h2: 0x99AA_06D3_0147_98D8 };
    /// assert_eq!(Hashing::seeded_wide(0).digest(b""), expected);
    /// ```
    #[must_use]
    pub fn seeded_wide(seed: u64) -> Self {
        Self::with(HashId::Xxh3Wide, seed, None)
    }

    /// XXH64 with seed 0, the hash of Parquet's filters.
    #[must_use]
    pub(crate) fn xxh64() -> Self {
        Self::with(HashId::Xxh64, 0, None)
    }

    /// SipHash-2-4 (BLAKE3 for long keys) under a secret.
    ///
    /// ```
    /// use bouquet::{AnyFilter, OpenOptions, hash::{Hashing, Secret}, kind::Config, registry};
    /// let secret = Secret::new(&[7; 16])?;
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "10")?;
    /// let frame = AnyFilter::new(&config.hashed(Hashing::keyed(secret.clone())))?.to_bytes();
    /// assert!(AnyFilter::from_bytes(&frame).is_err(), "it needs the secret");
    /// AnyFilter::from_bytes_with(&frame, &OpenOptions { secret: Some(secret), ..Default::default() })?;
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn keyed(secret: Secret) -> Self {
        Self::with_secret(HashId::SipHash, secret)
    }

    /// Keyed BLAKE3 for every key.
    ///
    /// ```
    /// use bouquet::hash::{HashId, Hashing, Secret};
    /// let secret = Secret::new(&[7; 32])?;
    /// let high = Hashing::keyed_high(secret.clone());
    /// assert_eq!(high.id(), HashId::Blake3);
    /// assert_ne!(high.digest(b"rose"), Hashing::keyed(secret).digest(b"rose"));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn keyed_high(secret: Secret) -> Self {
        Self::with_secret(HashId::Blake3, secret)
    }

    fn with_secret(id: HashId, secret: Secret) -> Self {
        let seed = secret.check_value();
        let subkeys = Subkeys { sip: [0; 16], blake: [0; 32] };
        Self::with(id, seed, Some(Box::new((secret, subkeys)))).bind("")
    }

    /// The hashing that a frame names. A keyed frame needs the secret whose check value it carries.
    pub(crate) fn from_frame(id: HashId, seed: u64, secret: Option<&Secret>) -> Result<Self> {
        if !id.is_keyed() {
            return Ok(Self::with(id, seed, None));
        }
        let secret = secret
            .ok_or_else(|| Error::Secret { what: format!("give the secret whose check value is {seed:#018x}") })?;
        let found = secret.check_value();
        if !bool::from(subtle::ConstantTimeEq::ct_eq(&found, &seed)) {
            let what = format!("it needs the secret with check value {seed:#018x}, the one given has {found:#018x}");
            return Err(Error::Secret { what });
        }
        Ok(Self::with_secret(id, secret.clone()))
    }

    /// The hashing of a keyed frame whose secret is not at hand. It may be looked at, but must not be asked for a
    /// digest; the dynamic handle sees to that.
    pub(crate) fn locked(id: HashId, seed: u64) -> Self {
        Self::with(id, seed, None)
    }

    /// Separates domains: the same secret in a filter of another kind or shape gives unrelated digests. A public seed
    /// is left as it is, so that filters of one seed can share digests.
    #[must_use]
    pub(crate) fn bind(mut self, domain: &str) -> Self {
        if let Some((secret, subkeys)) = self.keyed.as_deref_mut() {
            let mut material = [0; 48];
            secret.expand(&format!("bouquet filter keys v1: {domain}"), &mut material);
            subkeys.sip.copy_from_slice(&material[..16]);
            subkeys.blake.copy_from_slice(&material[16..]);
            material.zeroize();
        }
        self
    }

    /// Which function.
    ///
    /// ```
    /// use bouquet::hash::{HashId, Hashing};
    /// assert_eq!(Hashing::seeded_wide(7).id(), HashId::Xxh3Wide);
    /// ```
    #[must_use]
    pub fn id(&self) -> HashId {
        self.id
    }

    /// The public seed; for a keyed function the check value of its secret.
    ///
    /// ```
    /// use bouquet::hash::{Hashing, Secret};
    /// let secret = Secret::new(&[7; 16])?;
    /// assert_eq!(Hashing::seeded(7).seed(), 7);
    /// assert_eq!(Hashing::keyed(secret.clone()).seed(), secret.check_value());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The secret of a keyed function, if it is at hand.
    pub(crate) fn secret(&self) -> Option<&Secret> {
        self.keyed.as_deref().map(|(secret, _)| secret)
    }

    /// Whether digests can be computed: not so for a keyed frame that was opened without its secret.
    ///
    /// ```
    /// use bouquet::{AnyFilter, OpenOptions, hash::{Hashing, Secret}, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "10")?;
    /// let filter = AnyFilter::new(&config.hashed(Hashing::keyed(Secret::random()?)))?;
    /// let locked = OpenOptions { allow_locked: true, ..Default::default() };
    /// assert!(filter.hashing().is_usable());
    /// assert!(!AnyFilter::from_bytes_with(&filter.to_bytes(), &locked)?.hashing().is_usable());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_usable(&self) -> bool {
        !self.id.is_keyed() || self.keyed.is_some()
    }

    /// Whether it is the default, of some seed.
    #[inline(always)]
    pub(crate) fn is_folded(&self) -> bool {
        self.id == HashId::Folded
    }

    /// The digest of a key.
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// assert_eq!(Hashing::seeded(0).digest(b"").h1, 0x2D06_8005_38D3_94C2); // XXH3 of nothing
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn digest(&self, key: &[u8]) -> Digest {
        // Inlined, so that a key of constant length is hashed without a look at its length.
        if self.id == HashId::Folded {
            return Digest::from_word(match <[u8; 8]>::try_from(key) {
                Ok(word) => folded::hash(u64::from_le_bytes(word), self.flip),
                Err(_) => xxhash_rust::xxh3::xxh3_64_with_seed(key, self.seed),
            });
        }
        slower_digest(self.id, self.seed, self.keyed.as_deref(), key)
    }

    /// The digest of a number, which is that of its eight little-endian bytes.
    ///
    /// ```
    /// use bouquet::hash::Hashing;
    /// let hashing = Hashing::seeded(7);
    /// assert_eq!(hashing.digest_word(5), hashing.digest(&5u64.to_le_bytes()));
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn digest_word(&self, word: u64) -> Digest {
        if self.id == HashId::Folded {
            return Digest::from_word(folded::hash(word, self.flip));
        }
        slower_digest(self.id, self.seed, self.keyed.as_deref(), &word.to_le_bytes())
    }
}

/// The digests that are not inlined. It takes the parts of a [`Hashing`] and no reference to it: a loop that calls it now and
/// then may keep everything else of the filter in registers, because nothing that it calls can change the filter.
#[cold]
#[inline(never)]
fn slower_digest(id: HashId, seed: u64, keyed: Option<&(Secret, Subkeys)>, key: &[u8]) -> Digest {
    match id {
        // The default has been hashed before it comes here.
        HashId::Xxh3 | HashId::Folded => {
            return Digest::from_word(xxhash_rust::xxh3::xxh3_64_with_seed(key, seed));
        }
        HashId::Xxh3Wide => return split(xxhash_rust::xxh3::xxh3_128_with_seed(key, seed)),
        HashId::Xxh64 => return Digest::from_word(xxhash_rust::xxh64::xxh64(key, seed)),
        HashId::SipHash | HashId::Blake3 => {}
    }
    // A locked filter has no subkeys; its digests are never asked for (see `locked`).
    let Some((_, subkeys)) = keyed else { return Digest { h1: 0, h2: 0 } };
    if id == HashId::SipHash && key.len() <= SIPHASH_LONGEST_KEY {
        let mut sip = SipHasher24::new_with_key(&subkeys.sip);
        sip.write(key);
        let out = sip.finish128();
        return Digest { h1: out.h1, h2: out.h2 };
    }
    let hash = blake3::keyed_hash(&subkeys.blake, key);
    let mut low = [0; 16];
    low.copy_from_slice(&hash.as_bytes()[..16]);
    split(u128::from_le_bytes(low))
}

#[inline]
fn split(x: u128) -> Digest {
    Digest { h1: x as u64, h2: (x >> 64) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    #[test]
    fn the_floor_of_a_rate_is_that_of_the_bits_of_the_digest() {
        use crate::theory::collisions::check_reachable;
        for id in HashId::ALL {
            let wide = matches!(id, HashId::Xxh3Wide | HashId::SipHash | HashId::Blake3);
            assert_eq!(id.bits(), if wide { 128 } else { 64 }, "{id:?}");
            assert_eq!(check_reachable(1e-18, 1_000, id.bits()).is_ok(), wide, "{id:?}");
        }
    }

    #[test]
    fn a_number_and_its_bytes_have_one_digest_under_every_function() {
        let mut random = SplitMix::new(8);
        let secret = Secret::new(&[7; 16]).unwrap();
        for _ in 0..10_000 {
            let (word, seed) = (random.next_u64(), random.next_u64());
            let (bytes, direct) = (word.to_le_bytes(), Hashing::seeded(seed).digest_word(word));
            assert_eq!(direct, Hashing::seeded(seed).digest(&bytes));
            assert_eq!(direct, word.digest(&Hashing::seeded(seed)));
            assert_eq!(direct, bytes.as_slice().digest(&Hashing::seeded(seed)));
        }
        for hashing in [
            Hashing::xxh3(3),
            Hashing::seeded_wide(3),
            Hashing::xxh64(),
            Hashing::keyed(secret.clone()),
            Hashing::keyed_high(secret),
        ] {
            let word = random.next_u64();
            assert_eq!(hashing.digest_word(word), hashing.digest(&word.to_le_bytes()), "{hashing:?}");
        }
    }

    /// The examples of FORMAT.md.
    #[test]
    fn numbers_have_the_digests_of_the_format() {
        let h1 = |seed, word| Hashing::seeded(seed).digest_word(word).h1;
        assert_eq!(
            [h1(0, 0), h1(0, 1), h1(0, u64::MAX), h1(7, 1)],
            [0xD9EE_6067_2352_DE24, 0x2B39_B07E_7CC8_8415, 0x1AA2_30F1_F28D_5A17, 0x1C06_5CAA_3491_B866]
        );
    }

    #[test]
    fn the_default_digest_of_other_keys_is_xxh3() {
        let key: Vec<u8> = (0..=255).collect();
        for length in (0..256).filter(|length| *length != 8) {
            let xxh3 = xxhash_rust::xxh3::xxh3_64_with_seed(&key[..length], 9);
            assert_eq!(Hashing::seeded(9).digest(&key[..length]).h1, xxh3);
            assert_eq!(Hashing::xxh3(9).digest(&key[..length]).h1, xxh3);
        }
        assert_eq!(Hashing::xxh3(9).digest_word(5).h1, xxhash_rust::xxh3::xxh3_64_with_seed(&5u64.to_le_bytes(), 9));
    }

    #[test]
    fn siphash_matches_its_published_vector() {
        // SipHash-2-4-128 of 00 01 02 under the key 00..0f, from the reference implementation's vectors_sip128.
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let mut sip = SipHasher24::new_with_key(&key);
        sip.write(&[0, 1, 2]);
        let out = sip.finish128();
        let expected = 0x9c70_b60c_5267_a94e_5f33_b6b0_2985_ed51_u128.to_be_bytes();
        assert_eq!([out.h1.to_le_bytes(), out.h2.to_le_bytes()].concat(), expected);
    }

    #[test]
    fn xxh3_matches_its_published_vector_of_the_empty_key() {
        let digest = Hashing::seeded_wide(0).digest(b"");
        assert_eq!((digest.h2, digest.h1), (0x99aa_06d3_0147_98d8, 0x6001_c324_468d_497f));
        assert_eq!(Hashing::seeded(0).digest(b"").h1, 0x2d06_8005_38d3_94c2);
    }

    #[test]
    fn domains_of_one_secret_are_unrelated_but_its_check_value_is_one() {
        let secret = Secret::new(&[3; 32]).unwrap();
        for make in [Hashing::keyed, Hashing::keyed_high] {
            let a = make(secret.clone()).bind("standard 1024 7");
            let b = make(secret.clone()).bind("standard 1024 8");
            assert_ne!(a.digest(b"rose"), b.digest(b"rose"));
            assert_eq!(a, b);
        }
    }

    #[test]
    fn long_keys_go_through_blake3_in_siphash_mode() {
        let secret = Secret::new(&[3; 32]).unwrap();
        let (sip, blake) = (Hashing::keyed(secret.clone()), Hashing::keyed_high(secret));
        assert_eq!(sip.digest(&[1; 65]), blake.digest(&[1; 65]));
        assert_ne!(sip.digest(&[1; 64]), blake.digest(&[1; 64]));
    }

    #[test]
    fn a_frame_asks_for_its_own_secret() {
        let (right, wrong) = (Secret::new(&[3; 32]).unwrap(), Secret::new(&[4; 32]).unwrap());
        let seed = right.check_value();
        assert!(Hashing::from_frame(HashId::SipHash, seed, Some(&right)).is_ok());
        for given in [None, Some(&wrong)] {
            assert!(matches!(Hashing::from_frame(HashId::SipHash, seed, given), Err(Error::Secret { .. })));
        }
    }
}
