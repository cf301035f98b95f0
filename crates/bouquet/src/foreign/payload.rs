//! What the command `DUMP` gives for a value of a module, and `RESTORE` takes.
//!
//! ```text
//! 7                             a value of a module
//! length-coded: module id       nine characters of six bits, the version of the encoding in the low ten
//! opcode, value ...             2 unsigned: a length; 4 double: 8 bytes; 5 bytes: a length, or how they are packed, and the bytes
//! 0                             the end
//! u16 version, u64 CRC-64       of the format, and of all bytes before it
//! ```

use super::reader::{Reader, expect};
use crate::error::{Error, Result};

const MODULE: u8 = 7;
const END: u64 = 0;
const UNSIGNED: u64 = 2;
const DOUBLE: u64 = 4;
const BYTES: u64 = 5;

/// The version that is written, which every server since Redis 5 reads; those that are read say which they are.
const VERSION: u16 = 9;

/// Bytes behind the value: version and checksum.
const FOOTER: usize = 10;

/// The characters of a type's name, six bits each.
const CHARACTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The number of a type of this name and version.
fn module_id((name, version): (&str, u16)) -> u64 {
    let code = |byte: u8| CHARACTERS.iter().position(|known| *known == byte).unwrap_or(0) as u64;
    name.bytes().fold(0, |id, byte| id << 6 | code(byte)) << 10 | u64::from(version)
}

/// CRC-64 of Jones, bits reflected, without complements.
fn crc64(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let (mut rest, mut bit) = (at as u64, 0);
            while bit < 8 {
                rest = (rest >> 1) ^ if rest & 1 == 1 { POLYNOMIAL } else { 0 };
                bit += 1;
            }
            table[at] = rest;
            at += 1;
        }
        table
    };
    bytes.iter().fold(0, |crc, byte| TABLE[(crc as u8 ^ byte) as usize] ^ (crc >> 8))
}

/// A length, or the way in which bytes are packed.
enum Length {
    Plain(u64),
    Packed(u8),
}

/// The values of a dump, one after the other.
pub(super) struct Payload<'a> {
    reader: Reader<'a>,
    whole: usize,
}

impl<'a> Payload<'a> {
    /// Opens a dump of this type and version.
    pub(super) fn read(dump: &'a [u8], of: (&str, u16)) -> Result<Self> {
        let at = dump.len().saturating_sub(FOOTER);
        let mut footer = Reader(&dump[at..]);
        footer.u16()?;
        expect(footer.u64()? == crc64(&dump[..at + 2]), "the checksum of the dump", "that of its bytes", "another")?;
        let mut payload = Payload { reader: Reader(&dump[..at]), whole: dump.len() };
        let found = payload.reader.u8()?;
        expect(found == MODULE, "the type of the dump", "7, a value of a module", found)?;
        let id = payload.length()?;
        expect(id == module_id(of), "the module's type", &format!("{} version {}", of.0, of.1), "another")?;
        Ok(payload)
    }

    fn coded(&mut self) -> Result<Length> {
        let first = self.reader.u8()?;
        let big_endian = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Ok(Length::Plain(match first >> 6 {
            0 => u64::from(first & 63),
            1 => u64::from(first & 63) << 8 | u64::from(self.reader.u8()?),
            2 if first == 0x80 => big_endian(self.reader.take(4)?),
            2 if first == 0x81 => big_endian(self.reader.take(8)?),
            2 => return Err(Error::corrupt("a length", "of 4 or 8 bytes", first)),
            _ => return Ok(Length::Packed(first & 63)),
        }))
    }

    fn length(&mut self) -> Result<u64> {
        match self.coded()? {
            Length::Plain(length) => Ok(length),
            Length::Packed(way) => Err(Error::corrupt("a length", "plain", format!("way {way} of packing"))),
        }
    }

    fn opcode(&mut self, wanted: u64) -> Result<()> {
        let found = self.length()?;
        expect(found == wanted, "a value of the dump", &format!("of sort {wanted}"), found)
    }

    pub(super) fn unsigned(&mut self) -> Result<u64> {
        self.opcode(UNSIGNED)?;
        self.length()
    }

    pub(super) fn double(&mut self) -> Result<f64> {
        self.opcode(DOUBLE)?;
        self.reader.f64()
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>> {
        self.opcode(BYTES)?;
        let integer = |bytes: &[u8]| {
            let sign = if bytes.last().is_some_and(|byte| byte >> 7 == 1) { -1 } else { 0 };
            bytes.iter().rev().fold(sign, |number: i64, byte| number << 8 | i64::from(*byte)).to_string().into_bytes()
        };
        match self.coded()? {
            Length::Plain(length) => Ok(self.reader.take(usize::try_from(length).unwrap_or(usize::MAX))?.to_vec()),
            Length::Packed(way @ 0..=2) => Ok(integer(self.reader.take(1 << way)?)),
            Length::Packed(3) => {
                let [packed, length] = [self.length()?, self.length()?];
                let packed = self.reader.take(usize::try_from(packed).unwrap_or(usize::MAX))?;
                unpack(packed, length)
            }
            Length::Packed(way) => Err(Error::corrupt("the packing of bytes", "0 to 3", way)),
        }
    }

    /// Nothing may be left.
    pub(super) fn end(mut self) -> Result<()> {
        self.opcode(END)?;
        let rest = self.reader.0.len();
        expect(rest == 0, "the end of the dump", "nothing", format!("{rest} of {} bytes", self.whole))
    }
}

/// Undoes LZF: a control byte below 32 is followed by that many bytes and one; any other copies from what is there already.
fn unpack(packed: &[u8], length: u64) -> Result<Vec<u8>> {
    // Three bytes make 264 at most.
    let most = (packed.len() as u64).saturating_mul(88);
    expect(length <= most, "the length of packed bytes", "within what they can make", length)?;
    let mut reader = Reader(packed);
    let mut out = Vec::new();
    while !reader.0.is_empty() {
        let control = usize::from(reader.u8()?);
        if control < 32 {
            out.extend_from_slice(reader.take(control + 1)?);
        } else {
            let long = if control >> 5 == 7 { usize::from(reader.u8()?) } else { 0 };
            let back = ((control & 31) << 8 | usize::from(reader.u8()?)) + 1;
            let start = out.len().checked_sub(back);
            let start = start.ok_or_else(|| Error::corrupt("packed bytes", "a copy of what is there", back))?;
            for at in start..start + (control >> 5) + long + 2 {
                out.push(out[at]);
            }
        }
        expect(out.len() as u64 <= length, "the length of packed bytes", &length.to_string(), out.len())?;
    }
    expect(out.len() as u64 == length, "the length of packed bytes", &length.to_string(), out.len())?;
    Ok(out)
}

/// A dump that is being written.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(of: (&str, u16)) -> Self {
        let mut writer = Writer(vec![MODULE]);
        writer.length(module_id(of));
        writer
    }

    fn length(&mut self, length: u64) {
        match length {
            0..64 => self.0.push(length as u8),
            64..16_384 => self.0.extend([0x40 | (length >> 8) as u8, length as u8]),
            _ if length <= u64::from(u32::MAX) => {
                self.0.push(0x80);
                self.0.extend((length as u32).to_be_bytes());
            }
            _ => {
                self.0.push(0x81);
                self.0.extend(length.to_be_bytes());
            }
        }
    }

    pub(super) fn unsigned(&mut self, number: u64) {
        self.length(UNSIGNED);
        self.length(number);
    }

    pub(super) fn double(&mut self, number: f64) {
        self.length(DOUBLE);
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.length(BYTES);
        self.length(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// The whole dump.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.length(END);
        self.0.extend(VERSION.to_le_bytes());
        let crc = crc64(&self.0);
        self.0.extend(crc.to_le_bytes());
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn values_come_back_and_damage_is_refused() {
        let of = ("CMSk-TYPE", 3);
        let mut writer = Writer::new(of);
        for number in [0, 63, 64, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            writer.unsigned(number);
        }
        writer.double(0.9);
        writer.bytes(b"rose");
        let dump = writer.end();
        let mut payload = Payload::read(&dump, of).unwrap();
        for number in [0, 63, 64, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(payload.unsigned().unwrap(), number);
        }
        assert_eq!((payload.double().unwrap(), payload.bytes().unwrap()), (0.9, b"rose".to_vec()));
        payload.end().unwrap();
        assert!(Payload::read(&dump, ("TopK-TYPE", 3)).is_err() && Payload::read(&dump, ("CMSk-TYPE", 4)).is_err());
        for at in 0..dump.len() {
            let mut damaged = dump.clone();
            damaged[at] ^= 1;
            assert!(Payload::read(&damaged, of).is_err(), "byte {at}");
            assert!(Payload::read(&dump[..at], of).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn packed_bytes_are_unpacked_or_refused() {
        // "a", then nine copies of it: a control of seven and a longer length.
        assert_eq!(unpack(&[0, b'a', 7 << 5, 0, 0], 10).unwrap(), b"aaaaaaaaaa");
        assert_eq!(unpack(&[2, b'a', b'b', b'c', 1 << 5, 2], 6).unwrap(), b"abcabc");
        for (packed, length) in
            [(&[0u8, b'a', 1 << 5, 1][..], 4), (&[5, b'a'], 2), (&[0, b'a'], 2), (&[0, b'a'], 1 << 60)]
        {
            assert!(unpack(packed, length).is_err(), "{packed:?}");
        }
    }
}
