//! Cells of three or four values, two bits each or five to a byte.

use crate::error::{Error, Result};
use crate::store::Counters;

/// Values that a packed cell can have, and cells in a byte: 3^5 = 243 fits in 8 bits.
const BASE: u64 = 3;
const PER_BYTE: u64 = 5;

/// 3^i for each place in a byte.
const POWERS: [u64; PER_BYTE as usize] = [1, 3, 9, 27, 81];

/// The digits of every byte in base 3. Bytes above 242 have a sixth, which is not in the table.
const DIGITS: [[u8; PER_BYTE as usize]; 256] = {
    let mut table = [[0; PER_BYTE as usize]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut place = 0;
        while place < POWERS.len() {
            table[byte][place] = (byte as u64 / POWERS[place] % BASE) as u8;
            place += 1;
        }
        byte += 1;
    }
    table
};

/// How cells are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Values of a cell: 3 or 4.
    pub levels: u64,
    /// Five cells in a byte, which is for three values.
    pub packed: bool,
}

impl Form {
    /// The number and the width of the counters that hold this many cells.
    fn counters(self, cells: u64) -> (u64, u32) {
        if self.packed { (cells.div_ceil(PER_BYTE), 8) } else { (cells, 2) }
    }

    /// The bits of this many cells.
    pub(crate) fn bits(self, cells: u64) -> Result<u64> {
        let (counters, width) = self.counters(cells);
        counters.checked_mul(width.into()).ok_or_else(|| Error::TooLarge {
            what: "the cells".into(),
            bytes: u128::from(counters) * u128::from(width) / 8,
        })
    }
}

/// A vector of cells. Cells beyond the end are zero and cannot be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct TernaryCells {
    form: Form,
    len: u64,
    counters: Counters,
}

impl TernaryCells {
    /// Cells of zero.
    pub fn zeroed(form: Form, len: u64) -> Result<Self> {
        let (counters, width) = form.counters(len);
        Ok(TernaryCells { form, len, counters: Counters::zeroed(counters, width)? })
    }

    /// The cells in what `read` gives for a number and a width of counters; an error when one is no value of a cell.
    pub(crate) fn read(form: Form, len: u64, read: impl FnOnce(u64, u32) -> Result<Counters>) -> Result<Self> {
        let (counters, width) = form.counters(len);
        let cells = TernaryCells { form, len, counters: read(counters, width)? };
        // The last byte may have places without cells.
        let last_places = if len.is_multiple_of(PER_BYTE) { PER_BYTE } else { len % PER_BYTE };
        let most = |index: u64| match (form.packed, index + 1 == counters) {
            (false, _) => form.levels,
            (true, false) => BASE.pow(PER_BYTE as u32),
            (true, true) => BASE.pow(last_places as u32),
        };
        let wrong = (0..).zip(cells.counters.iter()).find(|&(index, value)| value >= most(index));
        match wrong {
            Some((index, value)) => Err(Error::corrupt("a cell", format!("below {}", most(index)), value)),
            None => Ok(cells),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The counters that hold the cells.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The top value.
    #[inline]
    pub(crate) fn top(&self) -> u64 {
        self.form.levels - 1
    }

    /// The cell at `index`; zero beyond the end.
    #[inline]
    pub fn get(&self, index: u64) -> u64 {
        if !self.form.packed {
            return self.counters.get(index);
        }
        let byte = self.counters.get(index / PER_BYTE);
        DIGITS[byte as usize][(index % PER_BYTE) as usize].into()
    }

    /// Changes a cell to what `change` makes of it, at most the top value, and gives back what it was.
    #[inline]
    pub fn update(&mut self, index: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        let top = self.top();
        if index >= self.len {
            return 0;
        }
        if !self.form.packed {
            return self.counters.update(index, |value| change(value).min(top));
        }
        let place = (index % PER_BYTE) as usize;
        let digit = |byte: u64| u64::from(DIGITS[byte as usize][place]);
        // The digit is replaced: its old share goes, its new one comes.
        let with = |byte: u64| byte - digit(byte) * POWERS[place] + change(digit(byte)).min(top) * POWERS[place];
        digit(self.counters.update(index / PER_BYTE, with))
    }

    /// The word of the memory that a cell is in.
    #[inline]
    pub(crate) fn word(&self, index: u64) -> usize {
        (if self.form.packed { index / PER_BYTE / 8 } else { index / 32 }) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    const FORMS: [Form; 3] =
        [Form { levels: 3, packed: false }, Form { levels: 3, packed: true }, Form { levels: 4, packed: false }];

    #[test]
    fn cells_agree_with_an_array_of_integers() {
        for form in FORMS {
            for len in [1, 4, 5, 6, 137] {
                let mut cells = TernaryCells::zeroed(form, len).unwrap();
                let mut model = vec![0u64; len as usize];
                let mut random = SplitMix::new(len);
                for _ in 0..5_000 {
                    let (index, up) = (random.below(len), random.below(2) == 0);
                    let value = &mut model[index as usize];
                    let change = |value: u64| if up { value + 1 } else { value.saturating_sub(1) };
                    assert_eq!(cells.update(index, change), *value);
                    *value = change(*value).min(form.levels - 1);
                }
                assert!((0..).zip(&model).all(|(index, &value)| cells.get(index) == value));
                assert_eq!(cells.update(len, |_| 1), 0);
                assert_eq!(cells.get(len), 0, "nothing is beyond the end");
                let again = TernaryCells::read(form, len, |_, _| Ok(cells.counters().clone())).unwrap();
                assert_eq!(again, cells);
            }
        }
    }

    #[test]
    fn five_cells_take_a_byte() {
        assert_eq!(FORMS.map(|form| form.bits(1_000_000).unwrap()), [2_000_000, 1_600_000, 2_000_000]);
        assert_eq!(TernaryCells::zeroed(FORMS[1], 11).unwrap().counters().bits(), 24);
        assert!(FORMS.iter().all(|form| form.bits(u64::MAX).is_err()));
    }

    #[test]
    fn values_that_no_cell_has_are_refused() {
        for (form, len, index, value) in [(FORMS[0], 9, 8, 3), (FORMS[1], 9, 0, 243), (FORMS[1], 9, 1, 81)] {
            let (counters, width) = form.counters(len);
            let mut raw = Counters::zeroed(counters, width).unwrap();
            raw.set(index, value - 1);
            assert!(TernaryCells::read(form, len, |_, _| Ok(raw.clone())).is_ok());
            raw.set(index, value);
            assert!(TernaryCells::read(form, len, |_, _| Ok(raw)).is_err());
        }
    }
}
