//! Which of many sets have which bits: one matrix in two directions.

use crate::error::{Error, Result, same};
use crate::hash::Positions;
use crate::simd::prefetch;
use crate::store::BitStore;

/// What lies together in memory.
///
/// ```
/// use bouquet::store::{BitMatrix, Orientation};
/// for orientation in [Orientation::BySet, Orientation::ByPosition] {
///     let mut matrix = BitMatrix::zeroed(3, 100, orientation)?;
///     matrix.set(2, 42);
///     assert_eq!(matrix.ones_in(0, 100), [0, 0, 1], "the same in both");
///     assert_eq!(matrix.slices().is_some(), orientation == Orientation::ByPosition);
/// }
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// The bits of one set: sets may differ in size; adding, emptying and comparing sets is cheap.
    BySet,
    /// The bits of all sets at one position: k reads answer for every set at once.
    ByPosition,
}

/// The bit vectors of several sets. Both orientations give the same answers.
///
/// ```text
/// BySet         set 0  0 1 0 0 1 0 1 ...       ByPosition     position 0  0 0 1 0
///               set 1  0 0 0 1 1 0 0 ...                      position 1  1 0 1 0
///               set 2  1 1 0 1 0 0 1 ...                      position 2  0 0 0 0
/// ```
///
/// By position, a row has the bits of all sets: a power of two of them up to 64, so that no row crosses a word, and whole
/// words beyond. Columns beyond the last set are spare and zero; a set that is added takes one, if there is one.
///
/// Sets and positions beyond the end read as zero and cannot be set.
///
/// ```
/// use bouquet::store::{BitMatrix, Orientation};
/// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
/// assert!(matrix.set(2, 42));
/// assert!(matrix.get(2, 42) && !matrix.get(1, 42));
/// assert_eq!(matrix.bits(), 400, "one spare column");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    BySet(Vec<BitStore>),
    ByPosition { bits: BitStore, positions: u64, sets: u64 },
}

/// The columns that a row of this many sets has.
fn width(sets: u64) -> u64 {
    if sets <= 64 { sets.max(1).next_power_of_two() } else { sets.next_multiple_of(64) }
}

#[cfg(test)]
thread_local! {
    /// Words of rows that were read to answer queries.
    pub(crate) static ROW_READS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl BitMatrix {
    /// The most sets; even without positions, more would be a mistake.
    pub const MAX_SETS: u64 = 1 << 24;

    /// Sets of `positions` zeros each, or an error when the memory cannot be had.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// assert_eq!(BitMatrix::zeroed(3, 100, Orientation::BySet)?.ones_in(0, 100), [0, 0, 0]);
    /// assert!(BitMatrix::zeroed(BitMatrix::MAX_SETS + 1, 0, Orientation::BySet).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn zeroed(sets: u64, positions: u64, orientation: Orientation) -> Result<Self> {
        let form = match orientation {
            Orientation::BySet => {
                Self::needed_bits(sets, positions, orientation)?;
                Form::BySet((0..sets).map(|_| BitStore::zeroed(positions)).collect::<Result<Vec<_>>>()?)
            }
            Orientation::ByPosition => {
                let bits = BitStore::zeroed(Self::needed_bits(sets, positions, orientation)?)?;
                Form::ByPosition { bits, positions, sets }
            }
        };
        Ok(BitMatrix { form })
    }

    /// The bits that a matrix of this shape takes, spare columns included.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// assert_eq!(BitMatrix::needed_bits(5, 100, Orientation::BySet)?, 500);
    /// assert_eq!(BitMatrix::needed_bits(5, 100, Orientation::ByPosition)?, 800, "eight columns");
    /// assert!(BitMatrix::needed_bits(5, u64::MAX, Orientation::BySet).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn needed_bits(sets: u64, positions: u64, orientation: Orientation) -> Result<u64> {
        let columns = match orientation {
            _ if sets > Self::MAX_SETS => None,
            Orientation::BySet => Some(sets),
            Orientation::ByPosition => Some(width(sets)),
        };
        columns.and_then(|columns| columns.checked_mul(positions)).ok_or_else(|| Error::TooLarge {
            what: "the bit matrix".into(),
            bytes: u128::from(sets) * u128::from(positions) / 8,
        })
    }

    /// The matrix whose sets are these vectors, of whatever sizes.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, BitStore};
    /// let mut small = BitStore::zeroed(10)?;
    /// small.set(7);
    /// let matrix = BitMatrix::from_rows(vec![small, BitStore::zeroed(1_000)?]);
    /// assert!(matrix.get(0, 7) && !matrix.get(1, 7));
    /// assert_eq!(matrix.positions(1), 1_000);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn from_rows(rows: Vec<BitStore>) -> Self {
        BitMatrix { form: Form::BySet(rows) }
    }

    /// The matrix by position in these bits; `None` when their number is not that of the shape or a spare column is not
    /// empty. Bits in a mapped file are not looked at: what is in spare columns is never reported.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, BitStore};
    /// let mut bits = BitStore::zeroed(400)?;
    /// bits.set(42 * 4 + 2);
    /// assert!(BitMatrix::from_slices(bits.clone(), 3, 100).is_some_and(|matrix| matrix.get(2, 42)));
    /// assert!(BitMatrix::from_slices(bits.clone(), 5, 100).is_none(), "five sets take 800 bits");
    /// bits.set(3);
    /// assert!(BitMatrix::from_slices(bits, 3, 100).is_none(), "there is no set 3");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn from_slices(bits: BitStore, sets: u64, positions: u64) -> Option<Self> {
        let fits = Self::needed_bits(sets, positions, Orientation::ByPosition).is_ok_and(|needed| needed == bits.len());
        let matrix = BitMatrix { form: Form::ByPosition { bits, positions, sets } };
        (fits && (matrix.is_mapped() || matrix.spares_are_empty())).then_some(matrix)
    }

    pub(crate) fn spares_are_empty(&self) -> bool {
        let Form::ByPosition { bits, sets, .. } = &self.form else { return true };
        let columns = width(*sets);
        if columns <= 64 {
            // Every word holds 64 / columns rows with the same columns in use.
            let row = u64::MAX.checked_shr((64 - sets) as u32).unwrap_or(0);
            let used = (0..64 / columns).fold(0, |used, i| used | row << (i * columns));
            return bits.words().iter().all(|word| word & !used == 0);
        }
        let spare = if sets % 64 == 0 { 0 } else { u64::MAX << (sets % 64) };
        bits.words().chunks((columns / 64) as usize).all(|row| row.last().is_none_or(|word| word & spare == 0))
    }

    /// The vectors of the sets, when it is the sets that lie together.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::BySet)?;
    /// matrix.set(2, 42);
    /// let ones = |matrix: &BitMatrix| matrix.rows().map(|rows| rows[2].ones().collect::<Vec<_>>());
    /// assert_eq!(ones(&matrix), Some(vec![42]));
    /// assert_eq!(ones(&matrix.oriented(Orientation::ByPosition)?), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> Option<&[BitStore]> {
        match &self.form {
            Form::BySet(rows) => Some(rows),
            Form::ByPosition { .. } => None,
        }
    }

    /// The rows of all positions one behind the other, when it is the positions that lie together.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
    /// matrix.set(2, 42);
    /// let ones = |matrix: &BitMatrix| matrix.slices().map(|bits| bits.ones().collect::<Vec<_>>());
    /// assert_eq!(ones(&matrix), Some(vec![42 * 4 + 2]), "rows of three sets have four columns");
    /// assert_eq!(ones(&matrix.oriented(Orientation::BySet)?), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn slices(&self) -> Option<&BitStore> {
        match &self.form {
            Form::BySet(_) => None,
            Form::ByPosition { bits, .. } => Some(bits),
        }
    }

    /// What lies together.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
    /// assert_eq!(matrix.orientation(), Orientation::ByPosition);
    /// assert_eq!(BitMatrix::from_rows(Vec::new()).orientation(), Orientation::BySet);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn orientation(&self) -> Orientation {
        match self.form {
            Form::BySet(_) => Orientation::BySet,
            Form::ByPosition { .. } => Orientation::ByPosition,
        }
    }

    /// The number of sets.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
    /// assert_eq!(matrix.sets(), 3, "the spare column is none");
    /// matrix.add_set(100)?;
    /// assert_eq!(matrix.sets(), 4);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn sets(&self) -> u64 {
        match &self.form {
            Form::BySet(rows) => rows.len() as u64,
            Form::ByPosition { sets, .. } => *sets,
        }
    }

    /// The positions of a set; none for a set that is not there.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, BitStore};
    /// let matrix = BitMatrix::from_rows(vec![BitStore::zeroed(10)?, BitStore::zeroed(1_000)?]);
    /// assert_eq!([0, 1, 2].map(|set| matrix.positions(set)), [10, 1_000, 0]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn positions(&self, set: u64) -> u64 {
        match &self.form {
            Form::BySet(rows) => rows.get(set as usize).map_or(0, BitStore::len),
            Form::ByPosition { positions, sets, .. } => {
                if set < *sets {
                    *positions
                } else {
                    0
                }
            }
        }
    }

    /// The size in bits, spare columns included.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// assert_eq!(BitMatrix::zeroed(65, 100, Orientation::BySet)?.bits(), 6_500);
    /// assert_eq!(BitMatrix::zeroed(65, 100, Orientation::ByPosition)?.bits(), 12_800, "two words per row");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bits(&self) -> u64 {
        match &self.form {
            Form::BySet(rows) => rows.iter().map(BitStore::len).sum(),
            Form::ByPosition { bits, .. } => bits.len(),
        }
    }

    /// Whether any bits are read in place from a mapped file.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
    /// assert!(!matrix.is_mapped(), "it has memory of its own");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        match &self.form {
            Form::BySet(rows) => rows.iter().any(BitStore::is_mapped),
            Form::ByPosition { bits, .. } => bits.is_mapped(),
        }
    }

    /// The bit of a set at a position.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::BySet)?;
    /// matrix.set(1, 99);
    /// assert!(matrix.get(1, 99) && !matrix.get(1, 98) && !matrix.get(2, 99));
    /// assert!(!matrix.get(1, 100) && !matrix.get(3, 99), "beyond the end");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn get(&self, set: u64, position: u64) -> bool {
        position < self.positions(set)
            && match &self.form {
                Form::BySet(rows) => rows[set as usize].get(position),
                Form::ByPosition { bits, sets, .. } => bits.get(position * width(*sets) + set),
            }
    }

    /// Sets a bit and says whether that changed it.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
    /// assert!(matrix.set(2, 42));
    /// assert!(!matrix.set(2, 42), "it was one already");
    /// assert!(!matrix.set(3, 42), "a spare column is not a set");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn set(&mut self, set: u64, position: u64) -> bool {
        position < self.positions(set)
            && match &mut self.form {
                Form::BySet(rows) => rows[set as usize].set(position),
                Form::ByPosition { bits, sets, .. } => bits.set(position * width(*sets) + set),
            }
    }

    /// Clears a bit; beyond the end nothing is there to be cleared.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(2, 100, Orientation::ByPosition)?;
    /// matrix.set(0, 42);
    /// matrix.set(1, 42);
    /// matrix.clear(0, 42);
    /// assert!(!matrix.get(0, 42) && matrix.get(1, 42));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn clear(&mut self, set: u64, position: u64) {
        if position < self.positions(set) {
            match &mut self.form {
                Form::BySet(rows) => rows[set as usize].clear(position),
                Form::ByPosition { bits, sets, .. } => bits.clear(position * width(*sets) + set),
            }
        }
    }

    /// Visits, in ascending order, the sets that have a one at all of their positions, until `visit` answers false.
    /// `positions` gives the positions of the key in a set of a given size; it is asked once if all sets have one size.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::BySet)?;
    /// for (set, position) in [(0, 7), (1, 7), (1, 9), (2, 9)] {
    ///     matrix.set(set, position);
    /// }
    /// let mut found = Vec::new();
    /// matrix.for_each_holder(|_| [7, 9].into_iter().collect(), |set| { found.push(set); true });
    /// assert_eq!(found, [1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[inline]
    pub fn for_each_holder(&self, positions: impl Fn(u64) -> Positions, mut visit: impl FnMut(u64) -> bool) {
        match &self.form {
            Form::BySet(rows) => {
                let mut size = rows.first().map_or(0, BitStore::len);
                let mut at = positions(size);
                for (set, row) in (0..).zip(rows) {
                    if row.len() != size {
                        size = row.len();
                        at = positions(size);
                    }
                    if at.iter().all(|&position| row.get(position)) && !visit(set) {
                        return;
                    }
                }
            }
            Form::ByPosition { positions: size, sets, .. } => {
                let at = positions(*size);
                for block in 0..sets.div_ceil(64) {
                    let columns = (sets - block * 64).min(64);
                    let mut holders = u64::MAX >> (64 - columns);
                    for &position in at.iter() {
                        holders &= self.row_word(position, block);
                        if holders == 0 {
                            break;
                        }
                    }
                    while holders != 0 {
                        if !visit(block * 64 + u64::from(holders.trailing_zeros())) {
                            return;
                        }
                        holders &= holders - 1;
                    }
                }
            }
        }
    }

    /// The words of rows that [`for_each_holder`](Self::for_each_holder) reads for these positions when it visits all holders: of every 64
    /// sets until none is left that holds them all. Where the sets lie together it is none.
    pub(crate) fn words_read(&self, positions: &Positions) -> u64 {
        let Form::ByPosition { sets, .. } = &self.form else { return 0 };
        let of_block = |block: u64| {
            let mut holders = u64::MAX;
            let left = |position: &&u64| {
                let before = holders;
                holders &= self.row_word(**position, block);
                before != 0
            };
            positions.iter().take_while(left).count() as u64
        };
        (0..sets.div_ceil(64)).map(of_block).sum()
    }

    /// The bits of sets `64 * block ..` at a position; zero beyond the end, and when the sets lie together.
    #[inline]
    pub(crate) fn row_word(&self, position: u64, block: u64) -> u64 {
        let Form::ByPosition { bits, sets, positions } = &self.form else { return 0 };
        let columns = width(*sets);
        if position >= *positions || block * 64 >= columns {
            return 0;
        }
        #[cfg(test)]
        ROW_READS.with(|reads| reads.set(reads.get() + 1));
        let bit = position * columns + block * 64;
        let word = bits.words().get((bit / 64) as usize).copied().unwrap_or(0) >> (bit % 64);
        if columns < 64 { word & ((1 << columns) - 1) } else { word }
    }

    /// Prefetches the row of a position, where a row answers for all sets.
    #[inline]
    pub(crate) fn prefetch(&self, position: u64) {
        if let Form::ByPosition { bits, sets, .. } = &self.form {
            prefetch(bits.words(), (position.saturating_mul(width(*sets)) / 64) as usize);
        }
    }

    /// The ones of every set at the positions `start..end`.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(2, 100, Orientation::ByPosition)?;
    /// for (set, position) in [(0, 9), (0, 10), (1, 19), (1, 20)] {
    ///     matrix.set(set, position);
    /// }
    /// assert_eq!(matrix.ones_in(10, 20), [1, 1]);
    /// assert_eq!(matrix.ones_in(0, 20), [2, 1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn ones_in(&self, start: u64, end: u64) -> Vec<u64> {
        match &self.form {
            Form::BySet(rows) => rows.iter().map(|row| row.count_ones_in(start, end)).collect(),
            Form::ByPosition { positions, sets, .. } => {
                let mut ones = vec![0; *sets as usize];
                for position in start..end.min(*positions) {
                    for (block, ones) in (0..).zip(ones.chunks_mut(64)) {
                        let mut word = self.row_word(position, block);
                        while word != 0 {
                            // Spare columns of a mapped file may hold anything.
                            if let Some(ones) = ones.get_mut(word.trailing_zeros() as usize) {
                                *ones += 1;
                            }
                            word &= word - 1;
                        }
                    }
                }
                ones
            }
        }
    }

    /// Empties a set; a set that is not there is left alone. Costs one pass over its bits.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(2, 100, Orientation::ByPosition)?;
    /// matrix.set(0, 42);
    /// matrix.set(1, 42);
    /// matrix.clear_set(0);
    /// assert_eq!(matrix.ones_in(0, 100), [0, 1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn clear_set(&mut self, set: u64) {
        let positions = self.positions(set);
        match &mut self.form {
            Form::BySet(rows) => {
                if let Some(row) = rows.get_mut(set as usize) {
                    row.words_mut().fill(0);
                }
            }
            Form::ByPosition { bits, sets, .. } => {
                let columns = width(*sets);
                (0..positions).for_each(|position| bits.clear(position * columns + set));
            }
        }
    }

    /// Adds an empty set behind the others. By set it has `positions` positions and costs that much; by position it has as
    /// many as the others and costs one pass over a spare column, or a new matrix when none is left.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(2, 100, Orientation::ByPosition)?;
    /// matrix.set(1, 42);
    /// matrix.add_set(100)?;
    /// assert!(matrix.set(2, 7));
    /// assert_eq!((matrix.ones_in(0, 100), matrix.bits()), (vec![0, 1, 1], 400));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn add_set(&mut self, positions: u64) -> Result<()> {
        Self::needed_bits(self.sets() + 1, positions, self.orientation())?;
        match &mut self.form {
            Form::BySet(rows) => rows.push(BitStore::zeroed(positions)?),
            Form::ByPosition { sets, .. } if width(*sets) == width(*sets + 1) => {
                *sets += 1;
                let new = *sets - 1;
                self.clear_set(new);
            }
            Form::ByPosition { .. } => self.with_columns(self.sets() + 1, Some)?,
        }
        Ok(())
    }

    /// Gives a set this many positions, all empty. By position all sets have as many, and nothing happens.
    pub(crate) fn resize_set(&mut self, set: u64, positions: u64) -> Result<()> {
        if let Form::BySet(rows) = &mut self.form
            && let Some(row) = usize::try_from(set).ok().and_then(|set| rows.get_mut(set))
        {
            *row = BitStore::zeroed(positions)?;
        }
        Ok(())
    }

    /// Takes a set out; those behind it move up by one. A set that is not there is left alone.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(3, 100, Orientation::ByPosition)?;
    /// matrix.set(0, 7);
    /// matrix.set(2, 42);
    /// matrix.remove_set(0)?;
    /// assert!(matrix.get(1, 42));
    /// assert_eq!(matrix.ones_in(0, 100), [0, 1]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn remove_set(&mut self, set: u64) -> Result<()> {
        if set >= self.sets() {
            return Ok(());
        }
        match &mut self.form {
            Form::BySet(rows) => {
                rows.remove(set as usize);
            }
            Form::ByPosition { .. } => {
                let moved = |column: u64| match column.cmp(&set) {
                    std::cmp::Ordering::Less => Some(column),
                    std::cmp::Ordering::Equal => None,
                    std::cmp::Ordering::Greater => Some(column - 1),
                };
                self.with_columns(self.sets() - 1, moved)?;
            }
        }
        Ok(())
    }

    /// Rewrites the rows with another number of sets; `moved` gives a column's new number, or none to drop it.
    fn with_columns(&mut self, sets: u64, moved: impl Fn(u64) -> Option<u64>) -> Result<()> {
        let Form::ByPosition { bits, positions, sets: old } = &self.form else { return Ok(()) };
        let (from, to) = (width(*old), width(sets));
        let mut out = BitStore::zeroed(Self::needed_bits(sets, *positions, Orientation::ByPosition)?)?;
        for one in bits.ones() {
            let column = if one % from < *old { moved(one % from) } else { None };
            if let Some(column) = column {
                out.set(one / from * to + column);
            }
        }
        self.form = Form::ByPosition { bits: out, positions: *positions, sets };
        Ok(())
    }

    /// The same matrix in this orientation. Sets of different sizes cannot be had by position.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut matrix = BitMatrix::zeroed(5, 100, Orientation::BySet)?;
    /// matrix.set(4, 17);
    /// let turned = matrix.oriented(Orientation::ByPosition)?;
    /// assert!(turned.get(4, 17));
    /// assert_eq!(turned.oriented(Orientation::BySet)?, matrix);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn oriented(&self, orientation: Orientation) -> Result<Self> {
        if orientation == self.orientation() {
            return Ok(self.clone());
        }
        let positions = self.positions(0);
        let mut out = Self::zeroed(self.sets(), positions, orientation)?;
        match &self.form {
            Form::BySet(rows) => {
                for (set, row) in (0..).zip(rows) {
                    same("positions", positions, row.len())?;
                    for position in row.ones() {
                        out.set(set, position);
                    }
                }
            }
            Form::ByPosition { bits, sets, .. } => {
                for one in bits.ones() {
                    out.set(one % width(*sets), one / width(*sets));
                }
            }
        }
        Ok(out)
    }

    /// Keeps what is set in either; an error when the shapes differ.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut here = BitMatrix::zeroed(2, 100, Orientation::BySet)?;
    /// let mut there = here.clone();
    /// here.set(0, 7);
    /// there.set(1, 42);
    /// here.or(&there)?;
    /// assert!(here.get(0, 7) && here.get(1, 42));
    /// assert!(here.or(&BitMatrix::zeroed(2, 99, Orientation::BySet)?).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn or(&mut self, other: &Self) -> Result<()> {
        self.combine(other, BitStore::or)
    }

    /// Keeps what is set in both; an error when the shapes differ.
    ///
    /// ```
    /// use bouquet::store::{BitMatrix, Orientation};
    /// let mut here = BitMatrix::zeroed(2, 100, Orientation::BySet)?;
    /// let mut there = here.clone();
    /// [(0, 7), (1, 7)].map(|(set, position)| here.set(set, position));
    /// [(1, 7), (1, 42)].map(|(set, position)| there.set(set, position));
    /// here.and(&there)?;
    /// assert_eq!((here.get(1, 7), here.ones_in(0, 100)), (true, vec![0, 1]));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn and(&mut self, other: &Self) -> Result<()> {
        self.combine(other, BitStore::and)
    }

    fn combine(&mut self, other: &Self, op: fn(&mut BitStore, &BitStore) -> Result<()>) -> Result<()> {
        same("sets", self.sets(), other.sets())?;
        same("orientation", self.orientation(), other.orientation())?;
        match (&mut self.form, &other.form) {
            (Form::BySet(mine), Form::BySet(theirs)) => {
                // Compared before anything changes.
                mine.iter().zip(theirs).try_for_each(|(a, b)| same("positions", a.len(), b.len()))?;
                mine.iter_mut().zip(theirs).try_for_each(|(a, b)| op(a, b))
            }
            (
                Form::ByPosition { bits, positions, .. },
                Form::ByPosition { bits: other_bits, positions: other_positions, .. },
            ) => {
                same("positions", *positions, *other_positions)?;
                op(bits, other_bits)
            }
            _ => unreachable!("the orientations are equal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    const BOTH: [Orientation; 2] = [Orientation::BySet, Orientation::ByPosition];

    fn random(sets: u64, positions: u64, orientation: Orientation) -> BitMatrix {
        let mut matrix = BitMatrix::zeroed(sets, positions, orientation).unwrap();
        let mut random = SplitMix::new(sets);
        for _ in 0..sets * positions / 3 {
            matrix.set(random.below(sets), random.below(positions));
        }
        matrix
    }

    fn holders(matrix: &BitMatrix, positions: &[u64]) -> Vec<u64> {
        let mut found = Vec::new();
        matrix.for_each_holder(
            |_| positions.iter().copied().collect(),
            |set| {
                found.push(set);
                true
            },
        );
        found
    }

    #[test]
    fn both_orientations_hold_the_same_bits_and_find_the_same_holders() {
        for sets in [1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 130] {
            let [by_set, by_position] = BOTH.map(|orientation| random(sets, 50, orientation));
            assert_eq!(by_set.oriented(Orientation::ByPosition).unwrap(), by_position);
            assert_eq!(by_position.oriented(Orientation::BySet).unwrap(), by_set);
            let mut random = SplitMix::new(7);
            for _ in 0..200 {
                let at = [random.below(50), random.below(50)];
                let expected: Vec<_> = (0..sets).filter(|&set| at.iter().all(|&p| by_set.get(set, p))).collect();
                assert_eq!(holders(&by_set, &at), expected, "{sets}");
                assert_eq!(holders(&by_position, &at), expected, "{sets}");
            }
            assert_eq!(by_set.ones_in(10, 40), by_position.ones_in(10, 40));
        }
    }

    #[test]
    fn sets_come_and_go_without_touching_the_others() {
        for orientation in BOTH {
            for sets in [1, 3, 4, 63, 64, 65] {
                let before = random(sets, 40, orientation);
                let mut matrix = before.clone();
                matrix.add_set(40).unwrap();
                assert_eq!(matrix.sets(), sets + 1);
                assert_eq!(matrix.ones_in(0, 40)[sets as usize], 0);
                matrix.set(sets, 5);
                matrix.clear_set(sets);
                matrix.remove_set(sets).unwrap();
                assert_eq!(matrix, before, "{orientation:?} {sets}");
                matrix.remove_set(0).unwrap();
                let bits = |m: &BitMatrix, set| (0..40).map(|p| m.get(set, p)).collect::<Vec<_>>();
                assert!((1..sets).all(|set| bits(&matrix, set - 1) == bits(&before, set)));
            }
        }
    }

    #[test]
    fn set_operations_work_bit_by_bit_and_refuse_other_shapes() {
        for orientation in BOTH {
            let (a, mut b) = (random(5, 60, orientation), BitMatrix::zeroed(5, 60, orientation).unwrap());
            (0..60).for_each(|position| assert!(b.set(3, position)));
            let (mut both, mut either) = (a.clone(), a.clone());
            both.and(&b).unwrap();
            either.or(&b).unwrap();
            for set in 0..5 {
                for position in 0..60 {
                    assert_eq!(both.get(set, position), a.get(set, position) && set == 3);
                    assert_eq!(either.get(set, position), a.get(set, position) || set == 3);
                }
            }
            for other in [(6, 60), (5, 61)] {
                let other = BitMatrix::zeroed(other.0, other.1, orientation).unwrap();
                assert!(both.or(&other).is_err());
            }
        }
        let mut by_set = random(5, 60, Orientation::BySet);
        assert!(by_set.or(&random(5, 60, Orientation::ByPosition)).is_err());
    }

    #[test]
    fn slices_with_a_wrong_size_or_used_spare_columns_are_refused() {
        for (sets, spare) in [(3, 3), (33, 40), (65, 127)] {
            let bits = BitStore::zeroed(width(sets) * 10).unwrap();
            assert!(BitMatrix::from_slices(bits.clone(), sets, 10).is_some());
            assert!(BitMatrix::from_slices(bits.clone(), sets, 11).is_none());
            let mut dirty = bits;
            dirty.set(9 * width(sets) + spare);
            assert!(BitMatrix::from_slices(dirty, sets, 10).is_none(), "{sets}");
        }
        assert!(BitMatrix::zeroed(u64::MAX, 2, Orientation::ByPosition).is_err());
        assert!(BitMatrix::needed_bits(1 << 32, 1 << 32, Orientation::BySet).is_err());
    }

    #[test]
    fn places_beyond_the_end_read_as_zero_and_stay_so() {
        for orientation in BOTH {
            let mut matrix = BitMatrix::zeroed(3, 10, orientation).unwrap();
            for (set, position) in [(3, 0), (0, 10), (u64::MAX, 0), (0, u64::MAX)] {
                assert!(!matrix.set(set, position) && !matrix.get(set, position));
                matrix.clear(set, position);
                matrix.clear_set(set);
                matrix.remove_set(set + u64::from(set == 0) * 9).unwrap();
            }
            assert_eq!((matrix.sets(), matrix.ones_in(0, 99)), (3, vec![0; 3]));
        }
    }
}
