//! The keys with the largest counts of a stream.

use std::collections::{BTreeSet, HashMap};

use crate::codec::StateReader;
use crate::error::{Error, Result};

/// At most this many keys, each with the count that it had when it last came; a key with a larger count takes the place of
/// the one with the least.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TopKeys {
    capacity: usize,
    counts: HashMap<Vec<u8>, u64>,
    ranked: BTreeSet<(u64, Vec<u8>)>,
}

impl TopKeys {
    pub(crate) fn new(capacity: u64) -> Self {
        TopKeys { capacity: usize::try_from(capacity).unwrap_or(usize::MAX), ..Default::default() }
    }

    /// None, but room for as many.
    pub(crate) fn emptied(&self) -> Self {
        TopKeys { capacity: self.capacity, ..Default::default() }
    }

    /// The key has come, and has now this count.
    pub(crate) fn offer(&mut self, key: &[u8], count: u64) {
        if let Some(before) = self.counts.get_mut(key) {
            self.ranked.remove(&(*before, key.to_vec()));
            *before = count;
            self.ranked.insert((count, key.to_vec()));
            return;
        }
        if self.counts.len() >= self.capacity {
            match self.ranked.first() {
                Some((least, _)) if *least < count => {
                    if let Some((_, lost)) = self.ranked.pop_first() {
                        self.counts.remove(&lost);
                    }
                }
                _ => return,
            }
        }
        self.counts.insert(key.to_vec(), count);
        self.ranked.insert((count, key.to_vec()));
    }

    /// The keys, those with the largest count first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.ranked.iter().rev().map(|(count, key)| (key.as_slice(), *count))
    }

    /// For each key its length (u32), its bytes and its count (u64), those with the largest count first.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (key, count) in self.iter() {
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(key);
            out.extend_from_slice(&count.to_le_bytes());
        }
        out
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub(crate) fn from_bytes(capacity: u64, bytes: &[u8]) -> Result<Self> {
        let mut out = TopKeys::new(capacity);
        let mut reader = StateReader::new(bytes, "top keys");
        let mut last: Option<(u64, Vec<u8>)> = None;
        while !reader.is_empty() {
            let len = reader.u32()? as usize;
            let key = reader.take(len)?.to_vec();
            let entry = (reader.u64()?, key);
            // Strictly falling, so none twice; a key in two ranks would be.
            let falls = last.as_ref().is_none_or(|last| entry < *last);
            if !falls || out.counts.len() >= out.capacity || out.counts.insert(entry.1.clone(), entry.0).is_some() {
                return Err(Error::corrupt("top keys", format!("at most {capacity}, falling, each once"), "others"));
            }
            out.ranked.insert(entry.clone());
            last = Some(entry);
        }
        Ok(out)
    }
}
