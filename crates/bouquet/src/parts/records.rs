//! Keys with numbers, as static structures are built from them.

use crate::error::{Error, Result};
use crate::hash::Digest;

/// A key with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) digest: Digest,
    pub(crate) value: u64,
    /// Its place in the data set.
    pub(crate) item: usize,
}

/// Sorts the records by their digests and leaves one of each; refuses a key with two values. `name` is how an item is called in
/// that error.
pub(crate) fn distinct(records: &mut Vec<Record>, name: impl Fn(usize) -> String) -> Result<()> {
    records.sort_unstable_by_key(|record| (record.digest, record.item));
    for two in records.windows(2) {
        if two[0].digest == two[1].digest && two[0].value != two[1].value {
            return Err(Error::Build {
                what: format!("key {} has the values {} and {}", name(two[1].item), two[0].value, two[1].value),
                remedy: "give each key one value".into(),
            });
        }
    }
    records.dedup_by_key(|record| record.digest);
    Ok(())
}

/// The bits of a number, at least 1.
pub(crate) fn bits_for(number: u64) -> u32 {
    (u64::BITS - number.leading_zeros()).max(1)
}

/// An item of a data set as an error names it.
pub(crate) fn name_of(items: &[crate::capability::Item<'_>], item: usize) -> String {
    items.get(item).map_or(String::new(), |item| format!("`{}`", item.key.escape_ascii()))
}
