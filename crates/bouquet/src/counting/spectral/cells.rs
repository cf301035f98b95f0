//! Counters of a fixed width or of codes, chosen when the filter is made.

use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::parts::coded_counters::CodedCounters;
use crate::parts::counter_array::CounterStore;
use crate::store::Counters;

/// Counters of either store.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cells {
    Fixed(Counters),
    Compact(CodedCounters),
}

impl Cells {
    pub(super) fn zeroed(len: u64, width: Option<u32>) -> Result<Self> {
        match width {
            Some(width) => Counters::zeroed(len, width).map(Cells::Fixed),
            None => CodedCounters::zeroed(len).map(Cells::Compact),
        }
    }

    /// The memory that `len` zeros take.
    pub(super) fn zeroed_bits(len: u64, width: Option<u32>) -> u128 {
        width.map_or_else(|| CodedCounters::zeroed_bits(len), |width| u128::from(len) * u128::from(width))
    }

    /// The memory that they take.
    pub(super) fn bits(&self) -> u64 {
        match self {
            Cells::Fixed(counters) => counters.bits(),
            Cells::Compact(counters) => counters.bits(),
        }
    }

    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        match self {
            Cells::Fixed(counters) => encoder.counters(counters),
            Cells::Compact(counters) => encoder.bytes(counters.to_bytes()),
        }
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>, len: u64, width: Option<u32>) -> Result<Self> {
        match width {
            Some(width) => decoder.counters(len, width).map(Cells::Fixed),
            None => CodedCounters::from_bytes(len, decoder.bytes()?).map(Cells::Compact),
        }
    }
}

/// Chooses the store once for all counters of a key.
macro_rules! either {
    ($cells:expr, $counters:ident => $body:expr) => {
        match $cells {
            Cells::Fixed($counters) => $body,
            Cells::Compact($counters) => $body,
        }
    };
}

impl CounterStore for Cells {
    #[inline]
    fn max(&self) -> u64 {
        either!(self, counters => CounterStore::max(counters))
    }

    #[inline]
    fn get(&self, index: u64) -> u64 {
        either!(self, counters => counters.get(index))
    }

    #[inline]
    fn add(&mut self, index: u64, amount: u64) -> u64 {
        either!(self, counters => counters.add(index, amount))
    }

    #[inline]
    fn sub(&mut self, index: u64, amount: u64) {
        either!(self, counters => counters.sub(index, amount));
    }

    #[inline]
    fn prefetch(&self, index: u64) {
        either!(self, counters => counters.prefetch(index));
    }

    #[inline]
    fn prefetched_bits(&self) -> u64 {
        either!(self, counters => counters.prefetched_bits())
    }

    #[inline]
    fn all_nonzero(&self, places: impl Iterator<Item = u64>) -> bool {
        either!(self, counters => CounterStore::all_nonzero(counters, places))
    }

    #[inline]
    fn read_each(&self, places: impl Iterator<Item = u64>, visit: impl FnMut(u64)) {
        either!(self, counters => CounterStore::read_each(counters, places, visit));
    }

    #[inline]
    fn update_each(&mut self, places: impl Iterator<Item = u64>, change: impl FnMut(u64) -> u64) {
        either!(self, counters => CounterStore::update_each(counters, places, change));
    }
}
