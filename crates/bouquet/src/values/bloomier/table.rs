//! The XOR table: every key's cells and its mask add up to what is stored for it. Modes `table` and `mutable`.

use super::{Pair, Shape, TRIES, no_seed_helps};
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parts::peel::Hypergraph;
use crate::parts::slices::HashWords;
use crate::simd::prefetch;
use crate::store::Counters;
use crate::theory::peeling::bloomier_cells;

/// Cells per key.
pub(super) const K: usize = 3;

/// Keys beyond which the cells of all keys no longer have 32-bit numbers.
const MAX_KEYS: u64 = (u32::MAX as u64) / K as u64;

/// Cells that a table may have whatever the keys, and cells per key beyond: more are a mistake, and would take memory, and
/// time to clear it, that have nothing to do with the data.
const USUAL_CELLS: u64 = 1 << 20;
const MAX_CELLS_PER_KEY: u64 = 64;

/// The cells for this many keys, in whole slices; none for no keys.
pub(super) fn cells_for(keys: u64) -> Result<u64> {
    if keys == 0 {
        return Ok(0);
    }
    let too_large = |_| Error::TooLarge { what: "the table".into(), bytes: u128::from(keys) };
    Ok(bloomier_cells(keys).map_err(too_large)?.next_multiple_of(K as u64))
}

/// A key's cells under a seed, and its mask (64 bits, to be cut to the width of the cells).
#[inline]
pub(super) fn place<const CELLS: usize>(digest: Digest, seed: u64, slice_len: u64) -> ([u64; CELLS], u64) {
    let mut words = HashWords::new(digest.derive(seed));
    let mut cells = [0; CELLS];
    for (slice, cell) in (0..).zip(&mut cells) {
        *cell = words.cell(slice, slice_len);
    }
    (cells, words.draw())
}

/// Content `c(x)` of each key x, as `mask(x) ^ cell_1(x) ^ cell_2(x) ^ cell_3(x)`.
#[derive(Clone, Debug, PartialEq)]
struct XorTable {
    cells: Counters,
    seed: u64,
}

impl XorTable {
    /// Finds a seed under which each key gets a cell of its own, and sets the cells so that `content(key, i)` is read
    /// for each key, where `i` says which of the key's cells is its own. Gives the own cells, by key.
    fn build(
        pairs: &[Pair],
        cell_count: u64,
        width: u32,
        content: impl Fn(&Pair, usize) -> u64,
    ) -> Result<(Self, Vec<u32>)> {
        if pairs.len() as u64 > MAX_KEYS.min(cell_count) || cell_count > u64::from(u32::MAX) {
            return Err(Error::Build {
                what: format!("{} keys do not fit into {cell_count} cells (below 2^32)", pairs.len()),
                remedy: "give more cells, or leave their number open; mode `compact` takes any number of keys".into(),
            });
        }
        let most = USUAL_CELLS.max(MAX_CELLS_PER_KEY * pairs.len() as u64);
        if cell_count > most {
            let expected = format!("at most {most} ({MAX_CELLS_PER_KEY} per key, or {USUAL_CELLS})");
            return Err(Error::parameter("cells", expected, cell_count));
        }
        let mut table = XorTable { cells: Counters::zeroed(cell_count, width)?, seed: 0 };
        let mut places = vec![0u32; pairs.len() * K];
        for seed in 0..TRIES {
            table.seed = seed;
            for (edge, pair) in places.as_chunks_mut::<K>().0.iter_mut().zip(pairs) {
                *edge = table.place(pair.digest).0.map(|cell| cell as u32);
            }
            let graph = Hypergraph::new(&places, K, cell_count as usize)?;
            let peeling = graph.peel()?;
            if !peeling.is_complete() {
                continue;
            }
            let mut own_cells = vec![0; pairs.len()];
            for &(edge, own) in peeling.order.iter().rev() {
                let pair = &pairs[edge as usize];
                let cells = graph.edge(edge as usize);
                // The own cell is still zero, so all three may be summed. It is one of the three by the law of the order.
                let index = cells.iter().position(|&cell| cell == own).unwrap_or(0);
                let rest = table.read(pair.digest);
                table.cells.set(own.into(), content(pair, index) ^ rest);
                own_cells[edge as usize] = own;
            }
            return Ok((table, own_cells));
        }
        Err(no_seed_helps(pairs.len(), cell_count))
    }

    #[inline]
    fn place(&self, digest: Digest) -> ([u64; K], u64) {
        place(digest, self.seed, self.cells.len() / K as u64)
    }

    #[inline]
    fn read(&self, digest: Digest) -> u64 {
        let (cells, mask) = self.place(digest);
        cells.iter().fold(mask & self.cells.max(), |sum, &cell| sum ^ self.cells.get(cell))
    }

    fn prefetch(&self, digest: Digest) {
        for cell in self.place(digest).0 {
            prefetch(self.cells.words(), (cell * u64::from(self.cells.width()) / 64) as usize);
        }
    }

    fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        encoder.state().u8(self.seed as u8);
        encoder.words(self.cells.words());
    }

    fn decode(decoder: &mut Decoder<'_>, cell_count: u64, width: u32) -> Result<Self> {
        let seed = super::decode_seed(decoder.state().u8()?.into())?;
        Ok(XorTable { cells: decoder.cells(cell_count, width)?, seed })
    }
}

/// Mode `table`: the content is the value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table(XorTable);

impl Table {
    pub(super) fn build(shape: &Shape, pairs: &[Pair]) -> Result<Self> {
        let cells = shape.table_cells(pairs.len() as u64)?;
        Ok(Table(XorTable::build(pairs, cells, shape.width, |pair, _| pair.value)?.0))
    }

    #[inline]
    pub(super) fn get(&self, digest: Digest) -> u64 {
        self.0.read(digest)
    }

    pub(super) fn prefetch(&self, digest: Digest) {
        self.0.prefetch(digest);
    }

    pub(super) fn bits(&self) -> u64 {
        self.0.cells.bits()
    }

    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        self.0.encode(encoder);
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>, shape: &Shape, items: u64) -> Result<Self> {
        Ok(Table(XorTable::decode(decoder, shape.table_cells(items)?, shape.width)?))
    }
}

/// Mode `mutable`: the content says which of the key's cells is its own, and the value lies there in a second table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mutable {
    which: XorTable,
    values: Counters,
}

impl Mutable {
    pub(super) fn build(shape: &Shape, pairs: &[Pair]) -> Result<Self> {
        let cells = shape.table_cells(pairs.len() as u64)?;
        let (which, own_cells) = XorTable::build(pairs, cells, shape.width, |_, own| own as u64)?;
        let mut values = Counters::zeroed(cells, shape.value_bits())?;
        for (pair, own) in pairs.iter().zip(own_cells) {
            values.set(own.into(), pair.value);
        }
        Ok(Mutable { which, values })
    }

    /// The cell of the value of the key, if it seems to be a member.
    #[inline]
    fn own_cell(&self, digest: Digest) -> Option<u64> {
        let (cells, _) = self.which.place(digest);
        cells.get(usize::try_from(self.which.read(digest)).ok()?).copied()
    }

    #[inline]
    pub(super) fn get(&self, digest: Digest) -> Option<u64> {
        Some(self.values.get(self.own_cell(digest)?))
    }

    /// Changes the value of a key; false if it is certainly no member.
    pub(super) fn set(&mut self, digest: Digest, value: u64) -> bool {
        let own = self.own_cell(digest);
        own.inspect(|&cell| self.values.set(cell, value)).is_some()
    }

    pub(super) fn prefetch(&self, digest: Digest) {
        self.which.prefetch(digest);
    }

    pub(super) fn bits(&self) -> u64 {
        self.which.cells.bits() + self.values.bits()
    }

    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        self.which.encode(encoder);
        encoder.words(self.values.words());
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>, shape: &Shape, items: u64) -> Result<Self> {
        let cells = shape.table_cells(items)?;
        let which = XorTable::decode(decoder, cells, shape.width)?;
        Ok(Mutable { which, values: decoder.cells(cells, shape.value_bits())? })
    }
}
