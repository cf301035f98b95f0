//! The authentication code of keyed frames: who lacks the secret can neither make nor change one. FORMAT.md has its bytes.
//!
//! It is computed of what a filter *is*, not of how its stores are coded, so that the raw and the coded frame of a filter
//! have one code and a filter that is opened without its secret can be written again with the code that it came with.

use subtle::ConstantTimeEq;

use super::{CODE, FLAGS, PRELUDE};
use crate::error::{Error, Result};
use crate::hash::Secret;

/// The code of one filter: the first 16 bytes of a keyed BLAKE3.
pub(crate) type Code = [u8; 16];

/// What the key of the code is derived from the secret for.
const CONTEXT: &str = "bouquet frame code v1";

/// Takes the parts of a frame in order, stores first, and gives the code.
#[derive(Clone)]
pub(super) struct Authenticator(Box<blake3::Hasher>);

impl Authenticator {
    pub(super) fn new(secret: &Secret) -> Self {
        Authenticator(Box::new(blake3::Hasher::new_keyed(&secret.derived_key(CONTEXT))))
    }

    /// A store of this many bits, by its bytes as they are in memory, little-endian.
    pub(super) fn store(&mut self, bits: u64, bytes: &[u8]) {
        self.0.update(&bits.to_le_bytes()).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    /// A store of this many bits, by its words.
    pub(super) fn store_words(&mut self, bits: u64, words: &[u64]) {
        if cfg!(target_endian = "little") {
            return self.store(bits, bytemuck::cast_slice(words));
        }
        self.0.update(&bits.to_le_bytes()).update(&(words.len() as u64 * 8).to_le_bytes());
        words.iter().for_each(|word| _ = self.0.update(&word.to_le_bytes()));
    }

    /// Parameters, state and what the prelude says of the filter, behind all stores. Flags, total length, code and checksum
    /// are of the frame, not of the filter.
    pub(super) fn finish(mut self, parameters: &[u8], state: &[u8], prelude: &[u8]) -> Code {
        let mut prelude: [u8; PRELUDE] = std::array::from_fn(|i| prelude[i]);
        prelude[FLAGS] = 0;
        self.0.update(parameters).update(state).update(&prelude[..TOTAL]);
        std::array::from_fn(|i| self.0.finalize().as_bytes()[i])
    }
}

/// The place of the total length in the prelude.
const TOTAL: usize = 32;

/// The code in a prelude that has one.
pub(super) fn code_of(prelude: &[u8]) -> Code {
    std::array::from_fn(|i| prelude[CODE.start + i])
}

/// Refuses a code that is not the one of the filter, in constant time.
pub(super) fn check_code(expected: &Code, found: &Code) -> Result<()> {
    if bool::from(expected.ct_eq(found)) {
        return Ok(());
    }
    Err(Error::NotAuthentic {
        what: "its authentication code is not the one that the secret gives it".into(),
        remedy: "it was forged or damaged, or put together without the secret; fetch it from where it was made".into(),
    })
}

/// The refusal of a keyed frame that has no code.
pub(super) fn no_code() -> Error {
    Error::NotAuthentic {
        what: "it has no authentication code, as if an earlier version or somebody without the secret had written it"
            .into(),
        remedy: "if you trust where it comes from, allow unauthenticated frames once and save it again".into(),
    }
}
