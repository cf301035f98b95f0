//! The layout of a frame as FORMAT.md has it: its parts, and the checksums that let an edited frame pass the first door.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

pub const PRELUDE: usize = 64;
pub const ROW: usize = 40;
pub const ALIGNMENT: usize = 64;
const TOTAL: usize = 32;
const CHECKSUM: Range<usize> = 56..64;
const FLAGS: usize = 13;
const HAS_CODE: u8 = 2;
const CODE: Range<usize> = 40..56;

/// Where the parts of a frame are, as far as its numbers can be believed.
pub struct Parts {
    pub table: Range<usize>,
    pub parameters: Range<usize>,
    pub state: Range<usize>,
    /// And all that follows.
    pub stores: Range<usize>,
}

pub fn parts(frame: &[u8]) -> Parts {
    let number = |at, bytes| word(frame, at, bytes).unwrap_or(0);
    let parameters = PRELUDE + number(14, 2) * ROW;
    let state = parameters + number(24, 4);
    let end = state + number(28, 4);
    let body = end.next_multiple_of(ALIGNMENT);
    Parts { table: PRELUDE..parameters, parameters: parameters..state, state: state..end, stores: body..frame.len() }
}

/// The frame with every number of its state and every bit of its stores at its end, where sums overflow.
pub fn full(mut frame: Vec<u8>) -> Vec<u8> {
    let Parts { table, state, .. } = parts(&frame);
    frame[state].fill(0xff);
    for row in table.step_by(ROW) {
        if let (Some(offset), Some(bits)) = (word(&frame, row, 8), word(&frame, row + 16, 8)) {
            // Behind the last bit there are zeros.
            let end = offset + bits / 8;
            frame[offset..end].fill(0xff);
        }
    }
    fix_checksums(&mut frame);
    frame
}

/// Other bytes in all stores of a whole frame, with right checksums and without an authentication code.
pub fn forge_stores(frame: &mut [u8], mut byte: impl FnMut() -> u8) {
    for row in parts(frame).table.step_by(ROW) {
        let [offset, bytes, bits] = [0, 8, 16].map(|at| word(frame, row + at, 8).unwrap_or(0));
        // Behind the last bit there are zeros; coded stores are shorter than their bits.
        frame[offset..offset + bytes.min(bits / 8)].fill_with(&mut byte);
    }
    strip_code(frame);
    fix_checksums(frame);
}

pub fn word(frame: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(frame.get(at..at.checked_add(bytes)?)?);
    usize::try_from(u64::from_le_bytes(word)).ok()
}

pub fn put(frame: &mut [u8], at: usize, value: u64) {
    if let Some(target) = frame.get_mut(at..at + 8) {
        target.copy_from_slice(&value.to_le_bytes());
    }
}

/// Where the stores begin, and how many there are.
pub fn body(frame: &[u8]) -> Option<(usize, usize)> {
    let stores = word(frame, 14, 2)?;
    let end = PRELUDE + stores * ROW + word(frame, 24, 4)? + word(frame, 28, 4)?;
    Some((end.next_multiple_of(ALIGNMENT), stores))
}

/// Makes the offsets of the stores and the length of the frame right, as far as the frame is there.
pub fn fix_layout(frame: &mut Vec<u8>) {
    let Some((mut offset, stores)) = body(frame) else { return };
    for row in (0..stores).map(|store| PRELUDE + store * ROW) {
        put(frame, row, offset as u64);
        let Some(len) = word(frame, row + 8, 8).filter(|&len| len <= 1 << 20) else { return };
        offset += len.next_multiple_of(ALIGNMENT);
    }
    if offset <= 1 << 20 {
        frame.resize(offset, 0);
        put(frame, TOTAL, offset as u64);
    }
}

/// Makes the checksums of the stores and of the header right, as far as the frame is there.
pub fn fix_checksums(frame: &mut [u8]) {
    let Some((begin, stores)) = body(frame) else { return };
    for row in (0..stores).map(|store| PRELUDE + store * ROW) {
        let range = word(frame, row, 8).zip(word(frame, row + 8, 8));
        let range = range.and_then(|(offset, len)| Some(offset..offset.checked_add(len)?));
        if let Some(checksum) = range.and_then(|range| Some(xxh3_64(frame.get(range)?))) {
            put(frame, row + 32, checksum);
        }
    }
    if let Some(header) = frame.get_mut(..begin) {
        header[CHECKSUM].fill(0);
        let checksum = xxh3_64(header);
        put(frame, CHECKSUM.start, checksum);
    }
}

/// Takes the authentication code of a keyed frame away, so that what was edited can be opened by one who allows that.
pub fn strip_code(frame: &mut [u8]) {
    if let Some(prelude) = frame.get_mut(..PRELUDE) {
        prelude[FLAGS] &= !HAS_CODE;
        prelude[CODE].fill(0);
    }
}

/// Makes the length and the checksum of a patch right.
pub fn fix_patch(patch: &mut [u8]) {
    if patch.len() >= PRELUDE {
        put(patch, 48, patch.len() as u64);
        patch[CHECKSUM].fill(0);
        let checksum = xxh3_64(patch);
        put(patch, CHECKSUM.start, checksum);
    }
}
