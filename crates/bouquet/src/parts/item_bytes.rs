//! Keys with their values in a frame, in the order of the keys.

use crate::codec::StateReader;
use crate::error::{Error, Result};

/// Bytes of an item besides its key and value: their lengths and the number of copies.
pub(crate) const HEAD: u64 = 16;

/// Refuses a key or a value whose length does not fit its head.
pub(crate) fn check(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len().max(value.len()) > u32::MAX as usize {
        return Err(Error::Item { expected: "a key and a value below 4 GiB".into(), found: "longer ones".into() });
    }
    Ok(())
}

/// Items, which must come in the order of their keys: lengths of key and value (4 bytes each), number of copies (8 bytes), key,
/// value.
pub(crate) fn write<'a>(items: impl Iterator<Item = (&'a [u8], &'a [u8], u64)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value, copies) in items {
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&copies.to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    bytes
}

/// Hands over what [`write`] wrote, item by item; also the sum of the copies.
pub(crate) fn read<'a>(mut rest: &'a [u8], mut take: impl FnMut(&'a [u8], &'a [u8], u64) -> Result<()>) -> Result<u64> {
    let mut items = 0u64;
    let mut last: Option<&[u8]> = None;
    while !rest.is_empty() {
        let mut head = StateReader::new(rest, "items");
        let (key, value, copies) = (head.u32()? as usize, head.u32()? as usize, head.u64()?);
        rest = &rest[HEAD as usize..];
        let needed = key as u64 + value as u64;
        let available = rest.len() as u64;
        let truncated = || Error::Truncated { what: "an item".into(), needed, available };
        let (key, more) = rest.split_at_checked(key).ok_or_else(truncated)?;
        let (value, more) = more.split_at_checked(value).ok_or_else(truncated)?;
        if copies == 0 || last.is_some_and(|last| last >= key) {
            return Err(Error::corrupt("items", "ascending keys, each at least once", "another order"));
        }
        items = items.saturating_add(copies);
        take(key, value, copies)?;
        (last, rest) = (Some(key), more);
    }
    Ok(items)
}
