//! Keys that are integers.

/// The number that these decimal digits name.
pub(crate) fn digits(key: &[u8]) -> Option<u64> {
    std::str::from_utf8(key).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The integer that a key is: eight little-endian bytes or, if it is to be read so, digits.
pub(crate) fn integer(key: &[u8], decimal: bool) -> Option<u64> {
    let bytes = || <[u8; 8]>::try_from(key).map(u64::from_le_bytes).ok();
    if decimal { digits(key).or_else(bytes) } else { bytes() }
}
