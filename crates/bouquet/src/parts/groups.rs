//! Sets by their numbers.

use crate::error::{Error, Result};

/// Refuses a set whose number is not below that of the sets.
pub(crate) fn check(set: u64, sets: u64) -> Result<()> {
    if set < sets {
        return Ok(());
    }
    let expected = format!("a set from 0 to {} (give more `sets`)", sets.saturating_sub(1));
    Err(Error::Item { expected, found: format!("set {set}") })
}

/// The numbers of the ones in a mask, ascending.
pub(crate) fn numbers(mask: &[u64]) -> Vec<u64> {
    let mut numbers = Vec::new();
    for (word, first) in mask.iter().zip((0..).step_by(64)) {
        let mut left = *word;
        while left != 0 {
            numbers.push(first + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    numbers
}
