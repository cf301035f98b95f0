//! Patches: what turns the frame of one filter into that of another. Their bytes are described in FORMAT.md, and only there.
//!
//! A patch holds the new frame part by part, its header and then its stores, each as the bits in which it differs from the same
//! part of the old one, arithmetic-coded. So every kind has patches, and those of a small change are short. Both frames are
//! taken raw, whatever the coding of the files that they come from.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{Coding, Header, StateReader, StateWriter, align, check, need};
use crate::coder;
use crate::error::{Error, Result};

/// The first bytes of every patch.
pub const PATCH_MAGIC: [u8; 8] = *b"\x89bqpatch";

/// The version that this library writes, and the newest that it reads.
pub const PATCH_VERSION: u16 = 0;

const PRELUDE: usize = 64;

/// The place of the checksum in the prelude.
const CHECKSUM: std::ops::Range<usize> = 56..64;

/// In the place of the number of ones: the part is there as it is.
const VERBATIM: u64 = u64::MAX;

/// What turns the raw frame `old` into the raw frame `new`.
pub(crate) fn between(old: &[u8], new: &[u8]) -> Result<Vec<u8>> {
    let (from, to) = (Header::read(old)?, Header::read(new)?);
    let mut writer = StateWriter::default();
    writer.u32(u32::from(PATCH_VERSION) | u32::from(to.kind) << 16);
    writer.u32(to.len() as u32);
    for field in [xxh3_64(old), xxh3_64(new), old.len() as u64, new.len() as u64] {
        writer.u64(field);
    }
    let mut out = [PATCH_MAGIC.as_slice(), writer.as_slice()].concat();
    out.resize(PRELUDE, 0);

    let mut coded_left = super::MAX_CODED_BITS;
    write_part(&mut out, Some(&old[..from.len()]), &new[..to.len()], &mut coded_left)?;
    for (index, row) in to.sections.iter().enumerate() {
        let base = from.sections.get(index).map(|row| &old[row.bytes.clone()]);
        write_part(&mut out, base, &new[row.bytes.clone()], &mut coded_left)?;
    }
    let total = out.len() as u64;
    out[48..56].copy_from_slice(&total.to_le_bytes());
    let checksum = checksum(&out);
    out[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    Ok(out)
}

/// The raw frame that a patch makes of the raw frame `base`. What has no counterpart there may unfold to `max_coded_bits` in
/// all.
pub(crate) fn apply(base: &[u8], patch: &[u8], max_coded_bits: u64) -> Result<Vec<u8>> {
    let begin = &patch[..patch.len().min(PATCH_MAGIC.len())];
    if begin != PATCH_MAGIC {
        let found = if patch.is_empty() { "nothing".into() } else { format!("`{}`", begin.escape_ascii()) };
        return Err(Error::NotAPatch { expected: format!("`{}`", PATCH_MAGIC.escape_ascii()), found });
    }
    need("the prelude of the patch", PRELUDE as u64, patch.len() as u64)?;
    let mut prelude = StateReader::new(&patch[PATCH_MAGIC.len()..PRELUDE], "prelude of the patch");
    let (version, kind, header_len) = (prelude.u16()?, prelude.u16()?, prelude.u32()?);
    if version > PATCH_VERSION {
        return Err(Error::Version { found: version, supported: PATCH_VERSION });
    }
    let (old_sum, new_sum) = (prelude.u64()?, prelude.u64()?);
    let (old_len, new_len, total, sum) = (prelude.u64()?, prelude.u64()?, prelude.u64()?, prelude.u64()?);
    need("the patch", total, patch.len() as u64)?;
    check("length of the patch", total, patch.len() as u64)?;
    check("checksum of the patch", format_args!("{sum:#018x}"), format_args!("{:#018x}", checksum(patch)))?;

    let from = Header::read(base)?;
    let found = xxh3_64(base);
    if (kind, old_len, old_sum) != (from.kind, base.len() as u64, found) {
        return Err(Error::OtherBase { expected: old_sum, found });
    }
    let mut coded_left = max_coded_bits.min(super::MAX_CODED_BITS);
    let mut parts = Parts { bytes: &patch[PRELUDE..], coded_left: &mut coded_left };
    let mut out = parts.next(Some(&base[..from.len()]), u64::from(header_len))?;
    // Lengths of stores are added up to the length of the frame, which must not overflow.
    if new_len > i64::MAX as u64 || usize::try_from(new_len).is_err() {
        return Err(Error::corrupt("length of the new frame", "less than 2^63", new_len));
    }
    let to = Header::read_prefix(&out, new_len)?;
    check("length of the new header", to.len(), out.len())?;
    check("kind of the new filter", kind, to.kind)?;
    for (index, row) in to.sections.iter().enumerate() {
        check("coding of a store", true, row.coding == Coding::Raw)?;
        let old = from.sections.get(index).map(|row| &base[row.bytes.clone()]);
        out.extend_from_slice(&parts.next(old, row.bytes.len() as u64)?);
        out.resize(align(out.len()), 0);
    }
    check("bytes behind the parts of the patch", 0, parts.bytes.len())?;
    check("checksum of the new frame", format_args!("{new_sum:#018x}"), format_args!("{:#018x}", xxh3_64(&out)))?;
    Ok(out)
}

/// XXH3-64 of a patch, its checksum taken as zeros. The patch has a prelude.
fn checksum(patch: &[u8]) -> u64 {
    let mut checksum = Xxh3::new();
    checksum.update(&patch[..CHECKSUM.start]);
    checksum.update(&[0; 8]);
    checksum.update(&patch[CHECKSUM.end..]);
    checksum.digest()
}

/// The part of the old frame that a new one of this length is compared with, if there is one.
fn counterpart(base: Option<&[u8]>, len: u64) -> Option<&[u8]> {
    base.filter(|base| base.len() as u64 == len)
}

/// Bytes as words, zeros behind the end.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// Writes a part as its difference from the old one, or as it is where that is shorter.
fn write_part(out: &mut Vec<u8>, base: Option<&[u8]>, new: &[u8], coded_left: &mut u64) -> Result<()> {
    let (len, bits) = (new.len() as u64, new.len() as u64 * 8);
    let mut changed = words(new);
    match counterpart(base, len) {
        Some(old) => changed = coder::xor_words(&words(old), &changed)?,
        // What could not be decoded is written as it is.
        None if bits > *coded_left => changed.clear(),
        None => *coded_left -= bits,
    }
    let coded = if changed.is_empty() { None } else { Some(coder::encode_bits(&changed, bits)?) };
    let (ones, payload) = match &coded {
        Some(coded) if coded.bytes.len() < new.len() => (coded.ones, coded.bytes.as_slice()),
        _ => (VERBATIM, new),
    };
    for field in [ones, payload.len() as u64] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(payload);
    Ok(())
}

/// Reads the parts of a patch one behind the other.
struct Parts<'a, 'b> {
    bytes: &'a [u8],
    /// Bits to which parts without a counterpart may still unfold.
    coded_left: &'b mut u64,
}

impl Parts<'_, '_> {
    /// The next part, of `len` bytes. Allocates no more than the old part, the payload or the limit justifies.
    fn next(&mut self, base: Option<&[u8]>, len: u64) -> Result<Vec<u8>> {
        let mut reader = StateReader::new(self.bytes, "patch");
        let (ones, payload_len) = (reader.u64()?, reader.u64()?);
        need("a part of the patch", payload_len, reader.len() as u64)?;
        let rest = &self.bytes[self.bytes.len() - reader.len()..];
        let (payload, rest) = rest.split_at(payload_len as usize);
        self.bytes = rest;
        if ones == VERBATIM {
            check("length of a part of the patch", len, payload_len)?;
            return Ok(payload.to_vec());
        }
        let old = counterpart(base, len);
        let bits = len.checked_mul(8).ok_or_else(|| Error::corrupt("length of a part", "less than 2^61", len))?;
        if old.is_none() {
            let left = self.coded_left.checked_sub(bits);
            *self.coded_left =
                left.ok_or_else(|| Error::TooLarge { what: "the coded part of the patch".into(), bytes: len.into() })?;
        }
        let changed = coder::decode_bits(payload, bits, ones, bits)?;
        let mut part: Vec<u8> = changed.iter().flat_map(|word| word.to_le_bytes()).collect();
        part.truncate(len as usize);
        if let Some(old) = old {
            part.iter_mut().zip(old).for_each(|(new, old)| *new ^= old);
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Item;
    use crate::hash::SplitMix;
    use crate::{AnyFilter, Bloom, Scalable};

    fn filled(keys: std::ops::Range<u64>) -> AnyFilter {
        let mut filter = AnyFilter::from_structure(Bloom::with_rate(100_000, 0.01).unwrap()).unwrap();
        let keys: Vec<_> = keys.map(u64::to_le_bytes).collect();
        let items: Vec<_> = keys.iter().map(|key| Item::from(key.as_slice())).collect();
        filter.insert().unwrap().insert_batch(&items).unwrap();
        filter
    }

    #[test]
    fn one_percent_of_churn_makes_a_patch_of_a_tenth_of_the_frame() {
        let (old, new) = (filled(0..100_000), filled(1_000..101_000));
        let (patch, whole) = (old.delta(&new).unwrap().len(), new.to_bytes().len());
        // 1,000 keys go and 1,000 come, 7 bits each, of which half are shared with other keys: the share of the bits that
        // differ is 0.0073, and its entropy 0.062 bits per bit.
        assert!((0.05..0.075).contains(&(patch as f64 / whole as f64)), "{patch} of {whole} bytes");
        let nothing = old.delta(&old).unwrap().len();
        assert!(nothing < 200, "{nothing}");
    }

    /// Makes the checksum of an edited patch right, so that it passes the first door.
    fn sealed(mut patch: Vec<u8>) -> Vec<u8> {
        if patch.len() >= PRELUDE {
            let total = patch.len() as u64;
            patch[48..56].copy_from_slice(&total.to_le_bytes());
            let checksum = checksum(&patch);
            patch[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        }
        patch
    }

    #[test]
    fn edited_patches_with_right_checksums_are_refused_without_much_memory() {
        let mut old = AnyFilter::from_structure(Scalable::with_rate(100, 0.01).unwrap()).unwrap();
        old.insert().unwrap().insert(Item::from(b"rose".as_slice())).unwrap();
        let mut new = old.clone();
        new.grow().unwrap().grow().unwrap();
        let patch = old.delta(&new).unwrap();
        assert_eq!(sealed(patch.clone()), patch);
        let mut random = SplitMix::new(1);
        let hostile = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, i64::MAX as u64, 1 << 40, u64::from(u32::MAX)];
        for round in 0..4_000 {
            let mut edited = patch.clone();
            for _ in 0..1 + random.below(2) {
                // The fields of the prelude and those before the first part, or anywhere.
                let anywhere = random.below(edited.len() as u64 - 8) as usize;
                let field = (8 * (1 + random.below(9)) as usize).min(edited.len() - 8);
                let at = if random.below(2) == 0 { anywhere } else { field };
                match random.below(3) {
                    0 => edited[at] ^= 1 << random.below(8),
                    1 => edited[at..at + 8].copy_from_slice(&hostile[random.below(8) as usize].to_le_bytes()),
                    _ => edited.truncate(at + 9),
                }
            }
            let options = crate::OpenOptions { max_coded_bits: Some(1 << 20), ..Default::default() };
            if let Ok(patched) = old.patched_with(&sealed(edited), &options) {
                assert_eq!(patched.to_bytes(), new.to_bytes(), "round {round}");
            }
        }
    }

    #[test]
    fn zeros_without_end_are_refused_before_they_are_allocated() {
        let old = AnyFilter::from_structure(Bloom::with_size(64, 1).unwrap()).unwrap();
        let new = AnyFilter::from_structure(Bloom::with_size(1 << 30, 1).unwrap()).unwrap();
        let patch = old.delta(&new).unwrap();
        assert!(patch.len() < 400, "{}", patch.len());
        let options = crate::OpenOptions { max_coded_bits: Some(1 << 29), ..Default::default() };
        assert!(matches!(old.patched_with(&patch, &options), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn newer_patches_are_refused_by_their_version() {
        let filter = AnyFilter::from_structure(Bloom::with_size(64, 1).unwrap()).unwrap();
        let mut patch = filter.delta(&filter).unwrap();
        patch[8] = 1;
        assert!(matches!(filter.patched(&patch), Err(Error::Version { found: 1, supported: 0 })));
    }

    #[test]
    fn locked_filters_are_patched_without_their_secret() {
        use crate::hash::{Hashing, Secret};
        use crate::kind::{Config, Structure};
        let config = Config::new(&Bloom::FACTS).set("items", "100").unwrap();
        let secret = Secret::new(&[7; 32]).unwrap();
        let old = AnyFilter::new(&config.hashed(Hashing::keyed(secret))).unwrap();
        let mut new = old.clone();
        new.insert().unwrap().insert(Item::from(b"rose".as_slice())).unwrap();
        let patch = old.delta(&new).unwrap();
        assert!(old.patched(&patch).unwrap().contains().unwrap().contains(b"rose"));
        let options = crate::OpenOptions { allow_locked: true, ..Default::default() };
        let locked = AnyFilter::from_bytes_with(&old.to_bytes(), &options).unwrap();
        let patched = locked.patched(&patch).unwrap();
        assert_eq!(patched.to_bytes(), new.to_bytes());
        assert!(matches!(patched.contains().err(), Some(Error::Secret { .. })));
    }
}
