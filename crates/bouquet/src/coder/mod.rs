//! Entropy coding of bit vectors and counters: what a filter costs on the wire.
//!
//! A vector of `m` bits of which a share `rho` is set carries `m * H(rho)` bits of information, `H` being the binary
//! entropy. A sparse filter is therefore cheap to send although it is long to hold, and the difference between two
//! versions of one filter is cheaper still. The coder here is an arithmetic coder with a *static* model: the sender
//! counts first, the counts go ahead of the message, and both sides derive the same probabilities from them in integer
//! arithmetic, so that a message means the same on every machine.
//!
//! | what | functions | the model |
//! |---|---|---|
//! | bits | [`encode_bits`], [`decode_bits`] | one probability, `ones / len`, to 32 bits |
//! | counters | [`encode_counters`], [`decode_counters`] | the frequency of each value, in front of the message |
//! | changes | [`xor_words`], then the coder for bits | one probability, `changed / len` |
//!
//! Decoding takes bytes from anywhere. It ends after as many steps as the caller has allowed bits or counters, holds no
//! more memory than they need, and reads the payload of each vector in *one* form only: bytes that are missing, left
//! over or not what the encoder would have written are refused, as is a vector whose ones do not add up to the header.
//! A flipped byte may still yield another vector with equal counts; telling that apart is the work of a checksum around
//! the message.
//!
//! ```
//! use bouquet::coder::{decode_bits, encode_bits};
//! let mut sparse = vec![0u64; 1_000];
//! sparse[17] = 1 << 40;
//! sparse[900] = 0b11;
//! let coded = encode_bits(&sparse, 64_000)?;
//! assert!(coded.bytes.len() <= 7); // 64,000 * H(3 / 64,000) is 47.5 bits; the vector has 8,000 bytes
//! assert_eq!(decode_bits(&coded.bytes, 64_000, coded.ones, 64_000)?, sparse);
//! # Ok::<(), bouquet::Error>(())
//! ```

mod bits;
mod counters;
mod range;

pub use bits::{CodedBits, decode_bits, encode_bits, xor_words};
pub use counters::{MAX_WIDTH, counters_entropy, decode_counter_runs, decode_counters, encode_counters};

/// Shannon's bound in bits for symbols that occur this often.
fn entropy_bits(counts: impl IntoIterator<Item = u64> + Clone) -> f64 {
    let total: u64 = counts.clone().into_iter().sum();
    counts.into_iter().filter(|&c| c > 0).map(|c| c as f64 * (total as f64 / c as f64).log2()).sum()
}
