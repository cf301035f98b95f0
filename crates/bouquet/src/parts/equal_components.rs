//! Equal components: every one has the same m cells, so a key has the same positions in all of them.
//!
//! ```text
//! rows                          slices
//! component 0  0 1 1 0 1 ...    position 0  0 0 1   one word answers for 64 components
//! component 1  0 0 1 0 0 ...    position 1  1 0 1
//! component 2  1 1 0 0 1 ...    position 2  1 1 0
//! ```
//!
//! A key is in those components whose bit is in the AND of its k slices. Counters lie in rows; in slices they have a
//! shadow, a bit for each counter that is not zero, which answers in their place.

use crate::codec::{Decoder, Encoder};
use crate::coder::counters_entropy;
use crate::error::{Error, Result};
use crate::hash::{Digest, Positions, probes};
use crate::parts::chain::{Components, Join, Shrink, Vacate};
use crate::simd::prefetch;
use crate::store::{BitMatrix, BitStore, Counters, Orientation};
use crate::theory::dynamic::Shape;
use crate::theory::special::entropy;
use crate::theory::spread;

/// The width of a counter (Fan, Cao, Almeida, Broder, 2000): 15 keys at one position are as good as never.
pub(crate) const COUNTER_BITS: u32 = 4;

/// What the components are and how they lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrangement {
    pub(crate) counters: bool,
    pub(crate) sliced: bool,
}

impl Arrangement {
    fn orientation(self) -> Orientation {
        if self.sliced { Orientation::ByPosition } else { Orientation::BySet }
    }
}

/// Components of one shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cells {
    shape: Shape,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Bits(BitMatrix),
    Counters {
        rows: Vec<Counters>,
        /// Which counters are not zero.
        shadow: Option<BitMatrix>,
    },
}

/// The positions of a key in every component of this shape.
#[inline]
pub(crate) fn positions(shape: &Shape, digest: Digest) -> Positions {
    probes(digest, shape.bits, shape.hashes).collect()
}

/// The bit of every counter that is not zero.
fn nonzero(counters: &Counters) -> Result<BitStore> {
    let mut bits = BitStore::zeroed(counters.len())?;
    for (index, _) in (0..).zip(counters.iter()).filter(|(_, counter)| *counter != 0) {
        bits.set(index);
    }
    Ok(bits)
}

impl Cells {
    /// `count` empty components.
    pub(crate) fn zeroed(count: u64, shape: Shape, arrangement: Arrangement) -> Result<Self> {
        let form = if arrangement.counters {
            let rows = (0..count).map(|_| Counters::zeroed(shape.bits, COUNTER_BITS)).collect::<Result<Vec<_>>>()?;
            Form::Counters { rows, shadow: Self::shadow(count, &shape, arrangement)? }
        } else {
            Form::Bits(BitMatrix::zeroed(count, shape.bits, arrangement.orientation())?)
        };
        Ok(Cells { shape, form })
    }

    fn shadow(count: u64, shape: &Shape, arrangement: Arrangement) -> Result<Option<BitMatrix>> {
        arrangement.sliced.then(|| BitMatrix::zeroed(count, shape.bits, Orientation::ByPosition)).transpose()
    }

    /// Components of this content, each of the shape's length.
    pub(crate) fn from_counters(rows: Vec<Counters>, shape: Shape, sliced: bool) -> Result<Self> {
        let arrangement = Arrangement { counters: true, sliced };
        let mut shadow = Self::shadow(rows.len() as u64, &shape, arrangement)?;
        if let Some(shadow) = &mut shadow {
            for (component, row) in (0..).zip(&rows) {
                nonzero(row)?.ones().for_each(|position| {
                    shadow.set(component, position);
                });
            }
        }
        Ok(Cells { shape, form: Form::Counters { rows, shadow } })
    }

    /// Components of this content, each of the shape's length.
    pub(crate) fn from_rows(rows: Vec<BitStore>, shape: Shape) -> Self {
        Cells { shape, form: Form::Bits(BitMatrix::from_rows(rows)) }
    }

    /// Bits of the stores.
    pub(crate) fn bits(&self) -> u64 {
        match &self.form {
            Form::Bits(matrix) => matrix.bits(),
            Form::Counters { rows, shadow } => {
                rows.iter().map(Counters::bits).sum::<u64>() + shadow.as_ref().map_or(0, BitMatrix::bits)
            }
        }
    }

    /// The cells in use, of each component.
    pub(crate) fn used(&self) -> Vec<u64> {
        match &self.form {
            Form::Bits(matrix) | Form::Counters { shadow: Some(matrix), .. } => matrix.ones_in(0, self.shape.bits),
            Form::Counters { rows, .. } => rows.iter().map(Counters::count_nonzero).collect(),
        }
    }

    /// The share of all cells that are in use, and the largest that honest filling with `items[i]` keys in component i
    /// reaches: the mean and 8 standard deviations. A frozen counter may belong to keys that are long gone.
    pub(crate) fn fill(&self, used: &[u64], items: &[u64]) -> (f64, f64) {
        let Shape { bits, hashes, .. } = self.shape;
        let mean: f64 = items.iter().map(|&items| spread::ones(bits, items, hashes)).sum();
        let variance: f64 = items.iter().map(|&items| spread::ones_variance(bits, items, hashes)).sum();
        let all = bits as f64 * used.len() as f64;
        let honest = mean + 8.0 * variance.sqrt() + self.frozen() as f64;
        (used.iter().sum::<u64>() as f64 / all, honest / all)
    }

    /// Counters that have reached their end and stay in use whatever is removed.
    fn frozen(&self) -> u64 {
        let Form::Counters { rows, .. } = &self.form else { return 0 };
        rows.iter().map(|row| row.iter().filter(|&counter| counter == row.max()).count() as u64).sum()
    }

    /// The bits of a component: which of its cells are in use.
    pub(crate) fn bit_image(&self, index: usize) -> Result<BitStore> {
        match &self.form {
            Form::Counters { rows, .. } => rows.get(index).map_or_else(|| BitStore::zeroed(0), nonzero),
            Form::Bits(matrix) => match matrix.rows() {
                Some(rows) => rows.get(index).map_or_else(|| BitStore::zeroed(0), |row| Ok(row.clone())),
                None => {
                    let mut bits = BitStore::zeroed(self.shape.bits)?;
                    let ones = (0..self.shape.bits).filter(|&position| matrix.get(index as u64, position));
                    ones.for_each(|position| {
                        bits.set(position);
                    });
                    Ok(bits)
                }
            },
        }
    }

    /// The counters of a component; `None` where it has bits.
    pub(crate) fn counters(&self, index: usize) -> Option<&Counters> {
        match &self.form {
            Form::Counters { rows, .. } => rows.get(index),
            Form::Bits(_) => None,
        }
    }

    /// The bits that the coded stores need in theory.
    pub(crate) fn entropy_bits(&self) -> f64 {
        let of_bits = |bits: &BitStore| bits.len() as f64 * entropy(bits.fill());
        match &self.form {
            Form::Bits(matrix) => matrix.rows().unwrap_or_default().iter().chain(matrix.slices()).map(of_bits).sum(),
            // Four bits fit in 32.
            Form::Counters { rows, .. } => rows.iter().map(|row| counters_entropy(row.iter().map(|c| c as u32))).sum(),
        }
    }

    /// The words that a query of the key reads where components lie in slices: of each 64 until none of them is left.
    pub(crate) fn words_read(&self, probe: &Positions) -> u64 {
        match &self.form {
            Form::Bits(matrix) | Form::Counters { shadow: Some(matrix), .. } => matrix.words_read(probe),
            Form::Counters { .. } => 0,
        }
    }

    /// The counters of all components, where they have counters.
    pub(crate) fn into_counters(self) -> Vec<Counters> {
        match self.form {
            Form::Counters { rows, .. } => rows,
            Form::Bits(_) => Vec::new(),
        }
    }

    /// Whether one component has every cell of the key in use.
    #[inline]
    pub(crate) fn holds(&self, index: usize, probe: &Positions) -> bool {
        match &self.form {
            Form::Bits(matrix) => probe.iter().all(|&position| matrix.get(index as u64, position)),
            Form::Counters { rows, .. } => {
                rows.get(index).is_some_and(|row| probe.iter().all(|&position| row.get(position) != 0))
            }
        }
    }

    /// Writes the stores: one for each component, or one in all when bits lie in slices.
    pub(crate) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        match &self.form {
            Form::Bits(matrix) => match (matrix.rows(), matrix.slices()) {
                (Some(rows), _) => rows.iter().for_each(|row| encoder.bits(row)),
                (None, slices) => slices.into_iter().for_each(|slices| encoder.bits(slices)),
            },
            Form::Counters { rows, .. } => rows.iter().for_each(|row| encoder.counters(row)),
        }
    }

    /// Reads the stores of `count` components, all that are left in the frame.
    pub(crate) fn decode(
        decoder: &mut Decoder<'_>,
        count: usize,
        shape: Shape,
        arrangement: Arrangement,
    ) -> Result<Self> {
        let stores = decoder.stores_left();
        let expected = if arrangement.sliced && !arrangement.counters { 1 } else { count };
        if stores != expected || count == 0 {
            let found = format!("{stores} stores for {count} components");
            return Err(Error::corrupt("number of components", "at least 1, each with its store", found));
        }
        Self::decode_next(decoder, count, shape, arrangement)
    }

    /// Reads the stores of `count` components, the next ones in the frame.
    pub(crate) fn decode_next(
        decoder: &mut Decoder<'_>,
        count: usize,
        shape: Shape,
        arrangement: Arrangement,
    ) -> Result<Self> {
        if arrangement.counters {
            let rows = (0..count).map(|_| decoder.counters(shape.bits, COUNTER_BITS)).collect::<Result<Vec<_>>>()?;
            return Self::from_counters(rows, shape, arrangement.sliced);
        }
        let matrix = if arrangement.sliced {
            decoder.slices(count as u64, shape.bits)?
        } else {
            BitMatrix::from_rows((0..count).map(|_| decoder.bits(shape.bits)).collect::<Result<Vec<_>>>()?)
        };
        Ok(Cells { shape, form: Form::Bits(matrix) })
    }
}

impl Components for Cells {
    type Probe = Positions;
    type Design = ();

    fn len(&self) -> usize {
        match &self.form {
            Form::Bits(matrix) => matrix.sets() as usize,
            Form::Counters { rows, .. } => rows.len(),
        }
    }

    /// Oldest first.
    #[inline]
    fn matching(&self, probe: &Positions, mut visit: impl FnMut(usize) -> bool) {
        match &self.form {
            Form::Bits(matrix) | Form::Counters { shadow: Some(matrix), .. } => {
                matrix.for_each_holder(|_| *probe, |set| visit(set as usize));
            }
            Form::Counters { rows, .. } => {
                for (index, row) in rows.iter().enumerate() {
                    if probe.iter().all(|&position| row.get(position) != 0) && !visit(index) {
                        return;
                    }
                }
            }
        }
    }

    #[inline]
    fn add(&mut self, index: usize, probe: &Positions) {
        match &mut self.form {
            Form::Bits(matrix) => probe.iter().for_each(|&position| {
                matrix.set(index as u64, position);
            }),
            Form::Counters { rows, shadow } => {
                let Some(row) = rows.get_mut(index) else { return };
                let mut distinct = *probe;
                for &position in distinct.distinct() {
                    row.update(position, |counter| counter.saturating_add(1));
                    if let Some(shadow) = shadow {
                        shadow.set(index as u64, position);
                    }
                }
            }
        }
    }

    #[inline]
    fn has_room(&self, _: usize, items: u64) -> bool {
        items < self.shape.capacity
    }

    fn capacity(&self, _: usize, items: u64) -> u64 {
        self.shape.capacity.max(items)
    }

    #[inline]
    fn prefetch(&self, probe: &Positions) {
        let words = match &self.form {
            Form::Bits(matrix) | Form::Counters { shadow: Some(matrix), .. } => match matrix.rows() {
                Some(rows) => rows.first().map(|row| (row.words(), 1)),
                None => return probe.iter().for_each(|&position| matrix.prefetch(position)),
            },
            Form::Counters { rows, .. } => rows.first().map(|row| (row.words(), u64::from(COUNTER_BITS))),
        };
        if let Some((words, width)) = words {
            probe.iter().for_each(|&position| prefetch(words, (position * width / 64) as usize));
        }
    }

    fn append(&mut self, (): ()) -> Result<()> {
        match &mut self.form {
            Form::Bits(matrix) => matrix.add_set(self.shape.bits),
            Form::Counters { rows, shadow } => {
                let row = Counters::zeroed(self.shape.bits, COUNTER_BITS)?;
                if let Some(shadow) = shadow {
                    shadow.add_set(self.shape.bits)?;
                }
                rows.push(row);
                Ok(())
            }
        }
    }

    fn append_copy(&mut self, other: &Self, index: usize) -> Result<()> {
        let image = other.bit_image(index)?;
        let new = self.len() as u64;
        match (&mut self.form, other.counters(index)) {
            (Form::Bits(matrix) | Form::Counters { shadow: Some(matrix), .. }, _) => {
                matrix.add_set(self.shape.bits)?;
                image.ones().for_each(|position| {
                    matrix.set(new, position);
                });
            }
            (Form::Counters { .. }, _) => {}
        }
        if let (Form::Counters { rows, .. }, Some(row)) = (&mut self.form, other.counters(index)) {
            rows.push(row.clone());
        }
        Ok(())
    }

    fn equal(&self, index: usize, other: &Self, theirs: usize) -> bool {
        match (self.counters(index), other.counters(theirs)) {
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => {
                matches!((self.bit_image(index), other.bit_image(theirs)), (Ok(mine), Ok(theirs)) if mine == theirs)
            }
            _ => false,
        }
    }

    fn remove(&mut self, index: usize) -> Result<()> {
        match &mut self.form {
            Form::Bits(matrix) => matrix.remove_set(index as u64),
            Form::Counters { rows, shadow } => {
                if let Some(shadow) = shadow {
                    shadow.remove_set(index as u64)?;
                }
                if index < rows.len() {
                    rows.remove(index);
                }
                Ok(())
            }
        }
    }
}

impl Vacate for Cells {
    fn vacate(&mut self, index: usize) {
        match &mut self.form {
            Form::Bits(matrix) => matrix.clear_set(index as u64),
            Form::Counters { rows, shadow } => {
                if let Some(row) = rows.get_mut(index) {
                    (0..row.len()).for_each(|position| row.set(position, 0));
                }
                if let Some(shadow) = shadow {
                    shadow.clear_set(index as u64);
                }
            }
        }
    }
}

impl Join for Cells {
    fn join(&mut self, other: &Self) -> Result<()> {
        match (&mut self.form, &other.form) {
            (Form::Bits(mine), Form::Bits(theirs)) => mine.or(&theirs.oriented(mine.orientation())?),
            (mine, theirs) => {
                let name = |form: &Form| if matches!(form, Form::Bits(_)) { "bits" } else { "counters" };
                Err(Error::Incompatible {
                    field: "components that OR can join".into(),
                    left: name(mine).into(),
                    right: name(theirs).into(),
                })
            }
        }
    }
}

impl Shrink for Cells {
    /// A counter at its end no longer knows its number and stays there. Bits cannot be given back: their keys are never
    /// taken out.
    fn subtract(&mut self, index: usize, probe: &Positions) {
        let Form::Counters { rows, shadow } = &mut self.form else { return };
        let Some(row) = rows.get_mut(index) else { return };
        let frozen = row.max();
        let mut distinct = *probe;
        for &position in distinct.distinct() {
            let before =
                row.update(position, |counter| if counter == frozen { counter } else { counter.saturating_sub(1) });
            if let (1, Some(shadow)) = (before, &mut *shadow) {
                shadow.clear(index as u64, position);
            }
        }
    }

    fn absorb(&mut self, into: usize, from: usize) -> Result<()> {
        let image = self.bit_image(from)?;
        match &mut self.form {
            Form::Bits(matrix) | Form::Counters { shadow: Some(matrix), .. } => {
                image.ones().for_each(|position| {
                    matrix.set(into as u64, position);
                });
                matrix.remove_set(from as u64)?;
            }
            Form::Counters { .. } => {}
        }
        if let Form::Counters { rows, .. } = &mut self.form
            && from < rows.len()
        {
            let other = rows.remove(from);
            // The one that is left in front keeps its place only if the other was behind it.
            if let Some(row) = rows.get_mut(into - usize::from(from < into)) {
                row.combine(&other, u64::saturating_add)?;
            }
        }
        Ok(())
    }
}
