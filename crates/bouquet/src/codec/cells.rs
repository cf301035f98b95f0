//! What a filter's stores hold, cell by cell: for those who look at it.

use super::{Coding, Encoder, SectionBytes, Vouching};
use crate::store::Grain;

/// A store of a filter, cell by cell.
///
/// ```
/// use bouquet::{AnyFilter, Bloom, Cuckoo};
/// let mut flowers = Bloom::with_size(100, 3)?;
/// flowers.insert("rose");
/// let flowers = AnyFilter::from_structure(flowers)?;
/// let stores = flowers.cells();
/// assert_eq!((stores.len(), stores[0].len(), stores[0].grain().name), (1, 100, "bits"));
/// assert_eq!((0..100).filter(|&cell| !stores[0].is_zero(cell)).count(), 3);
///
/// let slots = AnyFilter::from_structure(Cuckoo::with_size(16, 12)?)?;
/// assert_eq!((slots.cells()[0].grain().width, slots.cells()[0].grain().group), (12, 4), "buckets of fingerprints");
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct CellStore<'a> {
    grain: Grain,
    bits: u64,
    bytes: SectionBytes<'a>,
}

impl std::fmt::Debug for CellStore<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CellStore({} {})", self.len(), self.grain.name)
    }
}

impl CellStore<'_> {
    /// What its cells are.
    #[must_use]
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// The number of its cells.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bits / u64::from(self.grain.width)
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a cell, or the lowest 64 bits of a wider one; 0 beyond the last.
    #[must_use]
    pub fn value(&self, cell: u64) -> u64 {
        match self.grain.width {
            width @ ..=64 => self.field(cell * u64::from(width), width),
            width => self.field(cell * u64::from(width), 64),
        }
    }

    /// Whether all bits of a cell are zero.
    #[must_use]
    pub fn is_zero(&self, cell: u64) -> bool {
        let (start, width) = (cell * u64::from(self.grain.width), self.grain.width);
        (0..width).step_by(64).all(|at| self.field(start + u64::from(at), 64.min(width - at)) == 0)
    }

    /// Whether a cell has other bits than the same one of another store.
    #[must_use]
    pub fn differs(&self, other: &CellStore<'_>, cell: u64) -> bool {
        let (start, width) = (cell * u64::from(self.grain.width), self.grain.width);
        let field = |of: &CellStore<'_>, at: u32| of.field(start + u64::from(at), 64.min(width - at));
        (0..width).step_by(64).any(|at| field(self, at) != field(other, at))
    }

    /// Bits from one place on, at most 64; zeros behind the end.
    fn field(&self, start: u64, width: u32) -> u64 {
        let (word, shift) = (start / 64, (start % 64) as u32);
        let low = self.word(word) >> shift;
        let high = if shift > 0 { self.word(word + 1) << (64 - shift) } else { 0 };
        (low | high) & (u64::MAX >> (64 - width.clamp(1, 64)))
    }

    fn word(&self, at: u64) -> u64 {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        match &self.bytes {
            SectionBytes::Words(words) => words.get(at).copied().unwrap_or(0),
            SectionBytes::Owned(bytes) => {
                let mut word = [0; 8];
                let rest = bytes.get(at.saturating_mul(8)..).unwrap_or_default();
                let len = rest.len().min(8);
                word[..len].copy_from_slice(&rest[..len]);
                u64::from_le_bytes(word)
            }
        }
    }
}

/// The stores that a structure writes, with what it says of their cells.
pub(crate) fn stores<'a>(grains: Vec<Option<Grain>>, fill: impl FnOnce(&mut Encoder<'a>)) -> Vec<CellStore<'a>> {
    let mut encoder = Encoder::new(Coding::Raw, Vouching::None, None);
    fill(&mut encoder);
    let mut grains = grains.into_iter();
    let cells = encoder.sections.into_iter().map(|section| {
        let name = match section.width {
            1 => "bits",
            8 => "bytes",
            64 => "words",
            _ => "counters",
        };
        let own = Grain { name, width: section.width.max(1), group: 1 };
        let grain = grains.next().flatten().filter(|grain| grain.width > 0).unwrap_or(own);
        CellStore { grain, bits: section.bits, bytes: section.bytes }
    });
    cells.collect()
}
