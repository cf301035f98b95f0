//! Bit vectors: one probability, and blocks that are skipped in one step.
//!
//! The rarer of the two bit values is called a *mark*. With the bits independent and marked with probability `p`, a
//! block of `2^j` bits has a mark with probability `z_j = 1 - (1-p)^(2^j)`. So the coder says of a block whether it has
//! one; if so, whether its left half has one (probability `z_(j-1) / z_j`) and then, of the right half, the same, which
//! is sure when the left half had none and has probability `z_(j-1)` otherwise. The product of these probabilities is
//! exactly that of the bits one by one: nothing is lost, and a sparse vector takes a few steps per *mark* instead of
//! one per bit. Blocks are as large as they can be with `z_j <= 1/2`; for `p > 0.3` that is the single bit.

use super::range::{RangeDecoder, RangeEncoder};
use crate::error::{Error, Result, same};

/// A coded bit vector: its header (the number of ones) and its payload.
///
/// The payload is empty if all bits are equal, for then the header says it all.
///
/// ```
/// use bouquet::coder::encode_bits;
/// let coded = encode_bits(&[u64::MAX, u64::MAX], 128)?;
/// assert_eq!((coded.ones, coded.bytes.len()), (128, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedBits {
    /// The number of bits that are set.
    pub ones: u64,
    /// The payload: about `len * H(ones / len) / 8` bytes.
    pub bytes: Vec<u8>,
}

/// Codes the first `len_bits` bits of `words`, bit `i` being bit `i % 64` (counted from the low end) of word `i / 64`.
/// Bits behind them are ignored.
///
/// Refuses a length that the words do not have.
///
/// ```
/// use bouquet::coder::{decode_bits, encode_bits};
/// let coded = encode_bits(&[0b1001], 4)?;
/// assert_eq!(coded.ones, 2);
/// assert_eq!(decode_bits(&coded.bytes, 4, 2, 64)?, [0b1001]);
/// assert!(encode_bits(&[0b1001], 65).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn encode_bits(words: &[u64], len_bits: u64) -> Result<CodedBits> {
    let available = (words.len() as u64).saturating_mul(64);
    if len_bits > available {
        return Err(Error::parameter("len_bits", format!("at most {available}, the bits of the words"), len_bits));
    }
    let full = (len_bits / 64) as usize;
    let mut ones: u64 = words[..full].iter().map(|w| u64::from(w.count_ones())).sum();
    if !len_bits.is_multiple_of(64) {
        ones += u64::from((words[full] & low_bits(len_bits % 64)).count_ones());
    }
    let Some(model) = Model::new(len_bits, ones) else { return Ok(CodedBits { ones, bytes: Vec::new() }) };
    let mut writing = Writing { words, unmarked: model.unmarked, encoder: RangeEncoder::after(Vec::new()) };
    model.walk(len_bits, &mut writing)?;
    Ok(CodedBits { ones, bytes: writing.encoder.finish() })
}

/// Decodes `len_bits` bits of which `ones` are set; bits of the last word behind them are zero.
///
/// `len_bits` sizes the result and comes from a header, so it has to be at most `max_bits`, the caller's limit.
/// [`Error::Truncated`] and [`Error::Corrupt`] tell what is wrong with the bytes; see the [module](super).
///
/// ```
/// use bouquet::{Error, coder::{decode_bits, encode_bits}};
/// let words = [0x0123_4567_89AB_CDEF, 42];
/// let coded = encode_bits(&words, 100)?;
/// assert_eq!(decode_bits(&coded.bytes, 100, coded.ones, 1_000)?, words);
/// assert!(matches!(decode_bits(&[], 100, coded.ones, 1_000), Err(Error::Truncated { .. })));
/// assert!(matches!(decode_bits(&coded.bytes, 100, coded.ones, 99), Err(Error::TooLarge { .. })));
/// # Ok::<(), Error>(())
/// ```
pub fn decode_bits(bytes: &[u8], len_bits: u64, ones: u64, max_bits: u64) -> Result<Vec<u64>> {
    if ones > len_bits {
        return Err(Error::corrupt("number of ones", format!("at most the length {len_bits}"), ones));
    }
    let model = Model::new(len_bits, ones);
    let uniform = if ones == len_bits { u64::MAX } else { 0 };
    let unmarked = model.as_ref().map_or(uniform, |model| model.unmarked);
    // Cheap refusals come before the allocation.
    let decoder = match &model {
        Some(_) => Some(RangeDecoder::new(bytes)?),
        None if bytes.is_empty() => None,
        None => return Err(Error::corrupt("coded data of equal bits", "0 bytes", bytes.len())),
    };
    let mut words = filled_words(len_bits, unmarked, max_bits)?;
    if let (Some(model), Some(decoder)) = (model, decoder) {
        let mut reading = Reading { words: &mut words, marks: 0, expected: model.marks, decoder };
        model.walk(len_bits, &mut reading)?;
        let Reading { marks, expected, decoder, .. } = reading;
        decoder.finish()?;
        if marks != expected {
            return Err(marks_differ(expected, marks));
        }
    }
    Ok(words)
}

/// The bits in which two versions of a vector differ. Sparse if they differ little, so that [`encode_bits`] makes an
/// update of it; the receiver applies it by the same function.
///
/// Refuses vectors of different length.
///
/// ```
/// use bouquet::coder::xor_words;
/// let (old, new) = ([0b0110, 7], [0b0111, 7]);
/// let delta = xor_words(&old, &new)?;
/// assert_eq!(delta, [1, 0]);
/// assert_eq!(xor_words(&old, &delta)?, new);
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn xor_words(old: &[u64], new: &[u64]) -> Result<Vec<u64>> {
    same("number of words", old.len(), new.len())?;
    Ok(old.iter().zip(new).map(|(a, b)| a ^ b).collect())
}

fn low_bits(count: u64) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Words for `len_bits` bits, all equal to those of `fill`, zero behind the end.
fn filled_words(len_bits: u64, fill: u64, max_bits: u64) -> Result<Vec<u64>> {
    let count = len_bits.div_ceil(64);
    let too_large = || Error::TooLarge { what: "the decoded bit vector".into(), bytes: u128::from(count) * 8 };
    if len_bits > max_bits {
        return Err(too_large());
    }
    let count = usize::try_from(count).map_err(|_| too_large())?;
    // Zeros come from the system as they are, so that a few bytes that stand for many zeros cost no time either.
    let mut words = bytemuck::allocation::try_zeroed_vec(count).map_err(|()| too_large())?;
    if fill != 0 {
        words.fill(fill);
    }
    if let Some(last) = words.last_mut() {
        *last &= low_bits(len_bits - (count as u64 - 1) * 64);
    }
    Ok(words)
}

fn marks_differ(expected: u64, found: u64) -> Error {
    Error::corrupt("coded data", format!("{expected} bits of the rarer value"), found)
}

/// Blocks have at most `2^16` bits: one step for 8 KiB of zeros is cheap enough, and recursion stays shallow.
const MAX_LEVEL: usize = 16;

/// Fraction bits of the fixed-point numbers from which the probabilities are derived.
const FRACTION: u32 = 62;

/// The probabilities of all decisions, in units of `2^-32`. Derived from the header in integers: part of the format.
struct Model {
    /// A word without a mark: all ones if zero is the rarer bit.
    unmarked: u64,
    /// How many marks there are.
    marks: u64,
    /// The level of the largest blocks, of `2^level` bits.
    top: u32,
    /// By level: that a block has a mark.
    occupied: [u32; MAX_LEVEL + 1],
    /// By level: that the left half of a block has a mark if the block has one.
    left: [u32; MAX_LEVEL + 1],
}

impl Model {
    /// None if there is nothing to code.
    fn new(len: u64, ones: u64) -> Option<Self> {
        let zeros = len - ones;
        let (marks, unmarked) = if ones <= zeros { (ones, 0) } else { (zeros, u64::MAX) };
        if marks == 0 {
            return None;
        }
        // Rounded to the nearest; at most 1/2, at least 2^-32 so that a mark can be coded at all.
        let p = ((u128::from(marks) << 32) + u128::from(len / 2)) / u128::from(len);
        let mut z = (p.max(1) << (FRACTION - 32)) as u64;
        let mut model = Model { unmarked, marks, top: 0, occupied: [0; MAX_LEVEL + 1], left: [0; MAX_LEVEL + 1] };
        model.occupied[0] = (z >> (FRACTION - 32)) as u32;
        for level in 1..=MAX_LEVEL {
            // 1 - (1-z)^2
            let double = 2 * z - ((u128::from(z) * u128::from(z)) >> FRACTION) as u64;
            if double > 1 << (FRACTION - 1) {
                break;
            }
            // z < double <= 1/2: both quotients are below 2^32.
            model.left[level] = ((u128::from(z) << 32) / u128::from(double)) as u32;
            model.occupied[level] = (double >> (FRACTION - 32)) as u32;
            model.top = level as u32;
            z = double;
        }
        Some(model)
    }

    /// Takes all decisions about a vector in order. Writing and reading share this, so they cannot disagree. Blocks
    /// get smaller towards the end and so tile the vector exactly.
    fn walk(&self, len: u64, side: &mut impl Side) -> Result<()> {
        let mut start = 0;
        while start < len {
            let level = self.top.min((len - start).ilog2());
            if side.occupied(start, level, self.occupied[level as usize]) {
                self.refine(start, level, side);
            }
            side.check()?;
            start += 1 << level;
        }
        Ok(())
    }

    /// Finds the marks of a block that has at least one.
    fn refine(&self, start: u64, level: u32, side: &mut impl Side) {
        if level == 0 {
            return side.mark(start);
        }
        let half = level - 1;
        let middle = start + (1 << half);
        let mut right = true;
        if side.occupied(start, half, self.left[level as usize]) {
            self.refine(start, half, side);
            right = side.occupied(middle, half, self.occupied[half as usize]);
        }
        if right {
            self.refine(middle, half, side);
        }
    }
}

/// Writing or reading: who answers the model's questions.
trait Side {
    /// Whether the block of `2^level` bits at `start` has a mark, a decision of probability `p / 2^32`.
    fn occupied(&mut self, start: u64, level: u32, p: u32) -> bool;
    /// The bit at this position is a mark.
    fn mark(&mut self, position: u64);
    /// Stops a walk that cannot end well.
    fn check(&self) -> Result<()>;
}

struct Writing<'a> {
    words: &'a [u64],
    unmarked: u64,
    encoder: RangeEncoder,
}

impl Side for Writing<'_> {
    #[inline]
    fn occupied(&mut self, start: u64, level: u32, p: u32) -> bool {
        let first = (start / 64) as usize;
        let occupied = if level < 6 {
            ((self.words[first] ^ self.unmarked) >> (start % 64)) & low_bits(1 << level) != 0
        } else {
            self.words[first..first + (1 << (level - 6))].iter().any(|&word| word != self.unmarked)
        };
        self.encoder.bit(occupied, p);
        occupied
    }

    #[inline]
    fn mark(&mut self, _: u64) {}

    #[inline]
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

struct Reading<'a> {
    words: &'a mut [u64],
    marks: u64,
    expected: u64,
    decoder: RangeDecoder<'a>,
}

impl Side for Reading<'_> {
    #[inline]
    fn occupied(&mut self, _: u64, _: u32, p: u32) -> bool {
        self.decoder.bit(p)
    }

    #[inline]
    fn mark(&mut self, position: u64) {
        self.marks += 1;
        self.words[(position / 64) as usize] ^= 1 << (position % 64);
    }

    #[inline]
    fn check(&self) -> Result<()> {
        if self.marks > self.expected {
            return Err(marks_differ(self.expected, self.marks));
        }
        self.decoder.live()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entropy_bits;
    use super::*;
    use crate::hash::SplitMix;

    fn random_bits(len: u64, rho: f64, random: &mut SplitMix) -> Vec<u64> {
        let mut words = vec![0; len.div_ceil(64) as usize];
        for i in 0..len {
            if random.unit() < rho {
                words[(i / 64) as usize] |= 1 << (i % 64);
            }
        }
        words
    }

    fn round_trip(words: &[u64], len: u64) -> CodedBits {
        let coded = encode_bits(words, len).unwrap();
        let decoded = decode_bits(&coded.bytes, len, coded.ones, len).unwrap();
        let mut expected = words[..len.div_ceil(64) as usize].to_vec();
        if let Some(last) = expected.last_mut() {
            *last &= low_bits(len - (len - 1) / 64 * 64);
        }
        assert_eq!(decoded, expected);
        assert_eq!(coded.ones, expected.iter().map(|w| u64::from(w.count_ones())).sum::<u64>());
        coded
    }

    fn bound_bytes(len: u64, ones: u64) -> f64 {
        entropy_bits([ones, len - ones]) / 8.0
    }

    proptest! {
        #[test]
        fn any_vector_comes_back(words in prop::collection::vec(any::<u64>(), 0..40), cut in 0u64..64) {
            let len = (words.len() as u64 * 64).saturating_sub(cut);
            round_trip(&words, len);
        }

        #[test]
        fn any_sparse_or_full_vector_comes_back(
            ones in prop::collection::btree_set(0u64..300_000, 0..60), len in 0u64..300_000, flip in any::<bool>()
        ) {
            let mut words = vec![if flip { u64::MAX } else { 0 }; 300_000 / 64 + 1];
            ones.iter().for_each(|i| words[(i / 64) as usize] ^= 1 << (i % 64));
            round_trip(&words, len);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200), len in 0u64..5_000, ones in 0u64..5_000
        ) {
            if let Ok(words) = decode_bits(&bytes, len, ones, 5_000) {
                // What is accepted is what the encoder writes: no two messages mean the same.
                prop_assert_eq!(encode_bits(&words, len).unwrap(), CodedBits { ones, bytes });
            }
        }
    }

    #[test]
    fn lengths_around_the_words_come_back() {
        let mut random = SplitMix::new(1);
        for len in (0..=130).chain([4095, 4096, 4097, 65_535, 65_536, 65_537, 200_001]) {
            for rho in [0.0, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0] {
                round_trip(&random_bits(len, rho, &mut random), len);
            }
        }
    }

    #[test]
    fn equal_bits_code_to_nothing_and_nothing_else_decodes() {
        for len in [0u64, 1, 63, 64, 65, 100_000] {
            let count = len.div_ceil(64) as usize;
            for fill in [0, u64::MAX] {
                assert!(round_trip(&vec![fill; count], len).bytes.is_empty());
            }
            for ones in [0, len] {
                assert!(matches!(decode_bits(&[0], len, ones, len), Err(Error::Corrupt { .. })));
            }
        }
    }

    #[test]
    fn size_is_the_entropy_from_sparse_to_half_full_and_beyond() {
        let mut random = SplitMix::new(2);
        let rhos = [1e-5, 3e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.2, 0.28, 0.3, 0.4, 0.5, 0.7, 0.99, 0.9999];
        for len in [100u64, 1_000, 10_000, 1_000_000] {
            for rho in rhos {
                let coded = round_trip(&random_bits(len, rho, &mut random), len);
                let (size, bound) = (coded.bytes.len() as f64, bound_bytes(len, coded.ones));
                // The promise is 0.5 % and 64 bytes; what is measured is far closer.
                assert!(size <= bound * 1.0001 + 3.0, "len {len}, rho {rho}: {size} bytes, entropy {bound}");
                assert!(size >= bound * 0.9999 - 1.0, "len {len}, rho {rho}: below the entropy, {size} < {bound}");
            }
        }
    }

    #[test]
    fn an_update_of_one_percent_of_the_bits_has_the_entropy_of_one_percent() {
        let (len, mut random) = (1_000_000, SplitMix::new(3));
        let old = random_bits(len, 0.5, &mut random);
        let new = xor_words(&old, &random_bits(len, 0.01, &mut random)).unwrap();
        let coded = round_trip(&xor_words(&old, &new).unwrap(), len);
        let expected = bound_bytes(len, 10_000);
        // The number of changes is binomial, 10,000 +- 99.5; the entropy follows with slope log2(1/0.01) / 8 bytes.
        let deviation = 5.0 * (len as f64 * 0.01 * 0.99).sqrt() * 100f64.log2() / 8.0;
        assert!((coded.bytes.len() as f64 - expected).abs() < deviation, "{} against {expected}", coded.bytes.len());
        let delta = decode_bits(&coded.bytes, len, coded.ones, len).unwrap();
        assert_eq!(xor_words(&old, &delta).unwrap(), new);
        assert!(xor_words(&old, &new[1..]).is_err());
    }

    #[test]
    fn damage_is_refused_or_shows_as_another_vector() {
        let mut random = SplitMix::new(4);
        for (len, rho) in [(20_000, 0.5), (20_000, 0.05), (200_000, 0.001), (20_000, 0.98)] {
            let words = random_bits(len, rho, &mut random);
            let coded = encode_bits(&words, len).unwrap();
            let (mut trials, mut undetected) = (0, 0);
            let mut judge = |bytes: &[u8], ones: u64| {
                trials += 1;
                if let Ok(decoded) = decode_bits(bytes, len, ones, len) {
                    assert_ne!(decoded, words);
                    undetected += 1;
                }
            };
            for i in 0..coded.bytes.len().min(500) {
                judge(&coded.bytes[..i], coded.ones);
                judge(&coded.bytes[..coded.bytes.len() - 1 - i], coded.ones);
                let mut flipped = coded.bytes.clone();
                let at = random.below(flipped.len() as u64) as usize;
                flipped[at] ^= 1 << random.below(8);
                judge(&flipped, coded.ones);
            }
            for extra in 1..20 {
                let longer = [&coded.bytes[..], &vec![extra; extra as usize]].concat();
                judge(&longer, coded.ones);
                judge(&[&coded.bytes[..], &[0]].concat(), coded.ones);
                judge(&coded.bytes, coded.ones + u64::from(extra));
            }
            // Equal ones, an equal length and a canonical end by chance: a few in a thousand.
            assert!(undetected * 50 < trials, "{undetected} of {trials} unnoticed at rho {rho}");
        }
    }

    #[test]
    fn headers_that_cannot_be_true_are_refused() {
        let coded = encode_bits(&[0b1011], 64).unwrap();
        assert!(matches!(decode_bits(&coded.bytes, 64, 65, 64), Err(Error::Corrupt { .. })));
        assert!(matches!(decode_bits(&coded.bytes, 64, 3, 63), Err(Error::TooLarge { .. })));
        assert!(matches!(decode_bits(&[], 64, 3, 64), Err(Error::Truncated { .. })));
        assert!(matches!(decode_bits(&[0xff; 9], 64, 3, 64), Err(Error::Corrupt { .. })));
        assert!(matches!(decode_bits(&[], u64::MAX, 0, u64::MAX), Err(Error::TooLarge { .. })));
        assert!(matches!(decode_bits(&[1], u64::MAX, 7, 1 << 20), Err(Error::TooLarge { .. })));
        assert!(encode_bits(&[], 1).is_err());
    }
}
