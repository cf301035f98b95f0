//! What the cells of a store are.

/// What the cells of a store are, where its type does not say it: counters have the width of the store, bits have 1, words 64, bytes 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// What a cell is, in the plural.
    pub name: &'static str,
    /// Bits of a cell, at least 1.
    pub width: u32,
    /// Cells that belong together, such as the slots of a bucket; 1 where none do.
    pub group: u32,
}
