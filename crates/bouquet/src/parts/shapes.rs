//! The shapes of filters that come in groups: alike within a group, and each group tighter than the one before, so that the rates of
//! all of them, however many there are, add up to one bound.

use crate::error::{Error, Result};
use crate::kind::{Parameter, common};
use crate::theory::dynamic::{Shape, sizing};
use crate::theory::standard;
use crate::theory::tightened::Tightened;

/// The shapes of all groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shapes {
    /// c, the keys of a filter.
    pub(crate) capacity: u64,
    rates: Tightened,
    /// The shape of every group, where they are alike.
    fixed: Option<Shape>,
}

/// What is asked of them: the keys of a filter, the bound of all rates together, and the size of a filter instead of that.
pub(crate) struct Asked {
    pub(crate) items: Option<u64>,
    pub(crate) fpr: f64,
    pub(crate) bits: Option<u64>,
    pub(crate) hashes: Option<u32>,
}

impl Shapes {
    /// Groups of `width` filters. `items` and `bits` are the parameters that errors name.
    pub(crate) fn new(asked: &Asked, width: u64, items: &Parameter, bits: &Parameter) -> Result<Self> {
        let &Asked { items: keys, fpr, bits: size, hashes } = asked;
        let capacity = match (keys, size) {
            (Some(keys), _) => keys,
            (None, Some(size)) => sizing::capacity(size, fpr)?,
            (None, None) => return Err(items.missing(bits.name)),
        };
        let fixed = match (size, hashes) {
            (Some(bits), Some(hashes)) => Some(Shape { bits, hashes, capacity }),
            (Some(bits), None) => Some(Shape { bits, hashes: standard::for_bits(bits, capacity)?.hashes, capacity }),
            (None, Some(hashes)) => {
                let name = common::HASHES.name;
                return Err(Error::parameter(name, format!("given with `{}`, or not at all", bits.name), hashes));
            }
            (None, None) => None,
        };
        Ok(Shapes { capacity, rates: Tightened::new(fpr, width)?, fixed })
    }

    /// The positions of a key, where all groups have the same.
    pub(crate) fn fixed_hashes(&self) -> Option<u32> {
        self.fixed.map(|shape| shape.hashes)
    }

    /// The shape of the filters of a group.
    pub(crate) fn of(&self, group: usize) -> Result<Shape> {
        match self.fixed {
            Some(shape) => Ok(shape),
            None if group == 0 => Ok(self.rates.shape(0, self.capacity)?),
            None => self.rates.shape(group as u32, self.capacity).map_err(|_| Error::Full {
                what: format!("filters of group {group} would be too tight for the positions that a key can have"),
                remedy: "build a new filter with larger `items`".into(),
            }),
        }
    }

    /// The shapes of the groups as far as there can be some; groups are so tight that those behind the first hundred count for
    /// nothing.
    pub(crate) fn all(&self) -> impl Iterator<Item = Shape> {
        (0..100).map_while(|group| self.of(group).ok())
    }
}
