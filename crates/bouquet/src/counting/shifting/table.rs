//! The exact table of a filter with counters: what every key said last, without which a key cannot move.

use std::collections::HashMap;

use super::{Form, ShiftedBits};
use crate::error::{Error, Result};

/// What keys say, exactly: for association the sets as bits 0 and 1, for multiplicity the number of occurrences.
pub(super) type Table = HashMap<Box<[u8]>, u64>;

impl ShiftedBits {
    pub(super) fn remember(&mut self, key: &[u8], value: u64) {
        let Some(table) = &mut self.table else { return };
        if value == 0 {
            table.remove(key);
        } else if let Some(known) = table.get_mut(key) {
            *known = value;
        } else {
            table.insert(key.into(), value);
        }
    }
}

/// The entries in the order of their keys: length of the key (4 bytes), key, value (8 bytes).
pub(super) fn write_table(table: &Table) -> Vec<u8> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_unstable();
    let mut bytes = Vec::with_capacity(table_bytes(table));
    for (key, value) in entries {
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

pub(super) fn table_bytes(table: &Table) -> usize {
    table.keys().map(|key| key.len() + 12).sum()
}

pub(super) fn read_table(mut bytes: &[u8], form: Form) -> Result<Table> {
    let cut = || Error::corrupt("exact table", "whole entries", "a part of one");
    let mut table = Table::new();
    let mut last: Option<&[u8]> = None;
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(cut)?;
        let (value, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        let value = u64::from_le_bytes(*value);
        if last.is_some_and(|last| last >= key) {
            return Err(Error::corrupt("exact table", "keys in ascending order", key.escape_ascii()));
        }
        if value == 0 || form == Form::Association && value > 3 {
            return Err(Error::corrupt("value in the exact table", "1 or more, at most 3 for sets", value));
        }
        table.insert(key.into(), value);
        (last, bytes) = (Some(key), rest);
    }
    Ok(table)
}
