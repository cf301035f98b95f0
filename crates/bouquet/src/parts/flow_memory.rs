//! Flows that are watched one by one.

use std::collections::HashMap;

use crate::codec::StateReader;
use crate::error::{Error, Result};

/// What is known of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// At least what it had when it entered.
    pub(crate) base: u64,
    /// What it has had since.
    pub(crate) since: u64,
    /// Whether it entered in this interval.
    pub(crate) is_new: bool,
}

impl Flow {
    pub(crate) fn total(&self) -> u64 {
        self.base.saturating_add(self.since)
    }
}

/// An exact map of at most this many flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FlowMemory {
    capacity: usize,
    pub(crate) flows: HashMap<Vec<u8>, Flow>,
    /// Flows that found no room in this interval.
    pub(crate) dropped: u64,
}

impl FlowMemory {
    pub(crate) fn new(capacity: u64) -> Self {
        FlowMemory { capacity: usize::try_from(capacity).unwrap_or(usize::MAX), ..Default::default() }
    }

    /// Takes a flow in, or counts it as dropped and says false.
    pub(crate) fn enter(&mut self, key: &[u8], flow: Flow) -> bool {
        if self.flows.len() >= self.capacity && !self.flows.contains_key(key) {
            self.dropped = self.dropped.saturating_add(1);
            return false;
        }
        self.flows.insert(key.to_vec(), flow);
        true
    }

    /// Begins an interval. What was large or new stays, to be measured exactly from now on, if `preserve`.
    pub(crate) fn next_interval(&mut self, preserve: bool, threshold: u64) {
        self.flows.retain(|_, flow| {
            let stays = preserve && (flow.is_new || flow.total() >= threshold);
            *flow = Flow { base: 0, since: 0, is_new: false };
            stays
        });
        self.dropped = 0;
    }

    /// The flows, the largest first.
    pub(crate) fn ranked(&self) -> Vec<(&[u8], Flow)> {
        let mut flows: Vec<_> = self.flows.iter().map(|(key, flow)| (key.as_slice(), *flow)).collect();
        flows.sort_unstable_by(|(key, flow), (other, its)| (its.total(), *key).cmp(&(flow.total(), *other)));
        flows
    }

    /// Bytes of [`to_bytes`](Self::to_bytes).
    pub(crate) fn encoded_len(&self) -> usize {
        self.flows.keys().map(|key| key.len() + 4 + 8 + 8 + 1).sum()
    }

    /// For each flow, by key: length (u32) and bytes of the key, base and occurrences since (u64 each), 1 if it is new.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_unstable_by_key(|(key, _)| *key);
        let mut out = Vec::with_capacity(self.encoded_len());
        for (key, flow) in flows {
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(key);
            out.extend_from_slice(&flow.base.to_le_bytes());
            out.extend_from_slice(&flow.since.to_le_bytes());
            out.push(flow.is_new.into());
        }
        out
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub(crate) fn from_bytes(capacity: u64, dropped: u64, bytes: &[u8]) -> Result<Self> {
        let mut out = FlowMemory { dropped, ..FlowMemory::new(capacity) };
        let mut reader = StateReader::new(bytes, "flow memory");
        let mut last: Option<&[u8]> = None;
        while !reader.is_empty() {
            let len = reader.u32()? as usize;
            let key = reader.take(len)?;
            let (base, since, is_new) = (reader.u64()?, reader.u64()?, reader.u8()?);
            if last.is_some_and(|last| key <= last) || out.flows.len() >= out.capacity || is_new > 1 {
                return Err(Error::corrupt("flow memory", format!("at most {capacity} flows, by key"), "others"));
            }
            out.flows.insert(key.to_vec(), Flow { base, since, is_new: is_new == 1 });
            last = Some(key);
        }
        Ok(out)
    }
}
