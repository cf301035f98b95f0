//! Little-endian fields and zeroed memory, for bytes that nobody vouches for.

use crate::error::{Error, Result};

/// Reads fields from the front of some bytes.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Error::Truncated {
            what: "the dump".into(),
            needed: len as u64,
            available: self.0.len() as u64,
        })?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }
}

/// This many zeroed cells, if the memory can be had.
pub(super) fn zeroed<T: bytemuck::Zeroable>(cells: u64) -> Result<Vec<T>> {
    let too_large = || Error::TooLarge { what: "the filter".into(), bytes: u128::from(cells) * size_of::<T>() as u128 };
    let cells = usize::try_from(cells).map_err(|_| too_large())?;
    bytemuck::allocation::try_zeroed_vec(cells).map_err(|()| too_large())
}

/// Refuses a size above the caller's limit, and `None`, one that no number can tell.
pub(super) fn within(bytes: Option<u64>, most: u64) -> Result<u64> {
    let too_large = || Error::TooLarge { what: "the filter".into(), bytes: bytes.unwrap_or(u64::MAX).into() };
    bytes.filter(|bytes| *bytes <= most).ok_or_else(too_large)
}

/// Refuses a field that no program writes.
pub(super) fn expect(holds: bool, what: &str, expected: &str, found: impl ToString) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::corrupt(what, expected, found)) }
}
