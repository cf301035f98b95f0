//! The small state in a frame: little-endian numbers one behind the other.

use crate::error::{Error, Result};

/// Writes numbers, little-endian.
///
/// ```
/// use bouquet::codec::{StateReader, StateWriter};
/// let mut writer = StateWriter::default();
/// writer.u64(7);
/// writer.f64(0.5);
/// let mut reader = StateReader::new(writer.as_slice(), "example");
/// assert_eq!((reader.u64()?, reader.f64()?), (7, 0.5));
/// assert!(reader.u8().is_err(), "nothing is left");
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateWriter(Vec<u8>);

impl StateWriter {
    /// One byte.
    ///
    /// ```
    /// let mut writer = bouquet::codec::StateWriter::default();
    /// writer.u8(7);
    /// writer.u8(9);
    /// assert_eq!(writer.as_slice(), [7, 9]);
    /// ```
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Four bytes.
    ///
    /// ```
    /// let mut writer = bouquet::codec::StateWriter::default();
    /// writer.u32(0x0102);
    /// assert_eq!(writer.as_slice(), [2, 1, 0, 0]);
    /// ```
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Eight bytes.
    ///
    /// ```
    /// let mut writer = bouquet::codec::StateWriter::default();
    /// writer.u64(u64::MAX - 1);
    /// assert_eq!(writer.as_slice(), [254, 255, 255, 255, 255, 255, 255, 255]);
    /// ```
    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Eight bytes, IEEE 754.
    ///
    /// ```
    /// let mut writer = bouquet::codec::StateWriter::default();
    /// writer.f64(1.0);
    /// assert_eq!(writer.as_slice(), [0, 0, 0, 0, 0, 0, 0xF0, 0x3F]);
    /// ```
    pub fn f64(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// What was written.
    ///
    /// ```
    /// let mut writer = bouquet::codec::StateWriter::default();
    /// assert!(writer.as_slice().is_empty());
    /// writer.u32(1);
    /// writer.u8(2);
    /// assert_eq!(writer.as_slice(), [1, 0, 0, 0, 2]);
    /// ```
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// Reads what a [`StateWriter`] wrote; running out of bytes is an error.
///
/// ```
/// use bouquet::{Error, codec::StateReader};
/// let mut reader = StateReader::new(&[7, 1, 0, 5], "example");
/// assert_eq!((reader.u8()?, reader.u16()?), (7, 1));
/// assert!(matches!(reader.u32(), Err(Error::Truncated { needed: 4, available: 1, .. })));
/// assert_eq!(reader.u8()?, 5, "an error takes nothing");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StateReader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> StateReader<'a> {
    /// A reader of these bytes; `what` names them in errors.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// let error = StateReader::new(&[], "example").u8().unwrap_err();
    /// assert!(error.to_string().contains("example"));
    /// ```
    #[must_use]
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        StateReader { bytes, what }
    }

    /// The bytes that are left.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// let mut reader = StateReader::new(&[1, 0, 9], "example");
    /// reader.u16()?;
    /// assert_eq!(reader.len(), 1);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is left.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// let mut reader = StateReader::new(&[9], "example");
    /// assert!(!reader.is_empty());
    /// reader.u8()?;
    /// assert!(reader.is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((head, rest)) = self.bytes.split_at_checked(len) else {
            let available = self.bytes.len() as u64;
            return Err(Error::Truncated { what: format!("the {}", self.what), needed: len as u64, available });
        };
        self.bytes = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// One byte.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// let mut reader = StateReader::new(&[7, 9], "example");
    /// assert_eq!((reader.u8()?, reader.u8()?), (7, 9));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// assert_eq!(StateReader::new(&[2, 1], "example").u16()?, 0x0102);
    /// assert!(StateReader::new(&[2], "example").u16().is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// assert_eq!(StateReader::new(&[2, 1, 0, 0], "example").u32()?, 0x0102);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// assert_eq!(StateReader::new(&[0, 0, 0, 0, 1, 0, 0, 0], "example").u64()?, 1 << 32);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Eight bytes, IEEE 754.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// assert_eq!(StateReader::new(&(-0.5f64).to_le_bytes(), "example").f64()?, -0.5);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// UTF-8 text of this length.
    ///
    /// ```
    /// use bouquet::codec::StateReader;
    /// let mut reader = StateReader::new(b"rose\xFF", "example");
    /// assert_eq!(reader.text(4)?, "rose");
    /// assert!(reader.text(1).is_err(), "not UTF-8");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn text(&mut self, len: usize) -> Result<&'a str> {
        let bytes = self.take(len)?;
        std::str::from_utf8(bytes).map_err(|_| Error::corrupt(self.what, "text", format!("`{}`", bytes.escape_ascii())))
    }
}
