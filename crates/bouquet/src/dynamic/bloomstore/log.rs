//! The log: every operation since the manifest was written, so that what is in the write buffers is on the disk too.
//!
//! A record is its length and its checksum (4 bytes each) and then the number of the operation (8), 1 for a pair or 0 for a key
//! that is removed (1), the length of the key (4), the key and the value. The log ends where a record is torn, or is not the next one.

use crate::error::{Error, Result};
use crate::parts::pages::{Disk, DiskFile, VERSION, crc32c, u32_at, u64_at};

const MAGIC: [u8; 8] = *b"BqLog\0\0\0";

/// Magic, version, 2 zeros, the log's number, checksum.
const HEADER: usize = 24;

/// Number, sort and length of the key.
const FIXED: usize = 13;

/// The log in force.
#[derive(Debug)]
pub struct Log<F> {
    file: F,
    name: std::path::PathBuf,
    pub number: u64,
    /// Where the next record goes.
    pub len: u64,
    /// Whether there is something to sync.
    is_dirty: bool,
}

/// An operation.
pub struct Record {
    pub sequence: u64,
    pub key: Vec<u8>,
    /// `None` if the key is removed.
    pub value: Option<Vec<u8>>,
}

/// The name of a log.
pub fn name_of(number: u64) -> String {
    format!("log.{number}")
}

/// Writes a record behind others.
pub fn append(to: &mut Vec<u8>, sequence: u64, key: &[u8], value: Option<&[u8]>) {
    let start = to.len();
    let bytes = value.unwrap_or_default();
    to.extend_from_slice(&((FIXED + key.len() + bytes.len()) as u32).to_le_bytes());
    to.extend_from_slice(&[0; 4]);
    to.extend_from_slice(&sequence.to_le_bytes());
    to.push(u8::from(value.is_some()));
    to.extend_from_slice(&(key.len() as u32).to_le_bytes());
    to.extend_from_slice(key);
    to.extend_from_slice(bytes);
    let sum = crc32c(0, &to[start + 8..]);
    to[start + 4..start + 8].copy_from_slice(&sum.to_le_bytes());
}

/// The record at the beginning of the bytes, if it is whole, and its length.
fn read(bytes: &[u8]) -> Option<(Record, usize)> {
    let len = u32_at(bytes.get(..8)?, 0) as usize;
    let body = bytes[8..].get(..len)?;
    if len < FIXED || crc32c(0, body) != u32_at(bytes, 4) {
        return None;
    }
    let key = u32_at(body, 9) as usize;
    let (key, value) = body[FIXED..].split_at_checked(key)?;
    let value = match body[8] {
        1 => Some(value.to_vec()),
        0 if value.is_empty() => None,
        _ => return None,
    };
    Some((Record { sequence: u64_at(body, 0), key: key.to_vec(), value }, 8 + len))
}

impl<F: DiskFile> Log<F> {
    /// An empty log, on the disk but for its name.
    pub fn create<D: Disk<File = F>>(disk: &D, number: u64) -> Result<Self> {
        let name = name_of(number);
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&u32::from(VERSION).to_le_bytes());
        header.extend_from_slice(&number.to_le_bytes());
        header.extend_from_slice(&crc32c(0, &header).to_le_bytes());
        let created = disk.create(&name).and_then(|file| {
            file.write_at(0, &header)?;
            file.sync()?;
            Ok(file)
        });
        let file = created.map_err(|source| Error::Io { path: disk.path(&name), source })?;
        Ok(Log { file, name: disk.path(&name), number, len: HEADER as u64, is_dirty: false })
    }

    /// Opens a log and reads what it has behind operation number `after`.
    pub fn open<D: Disk<File = F>>(disk: &D, number: u64, after: u64) -> Result<(Self, Vec<Record>)> {
        let name = name_of(number);
        let wrap = |source| Error::Io { path: disk.path(&name), source };
        let file = disk.open(&name).map_err(wrap)?;
        let mut bytes = vec![0; usize::try_from(file.len().map_err(wrap)?).unwrap_or(0)];
        file.read_at(0, &mut bytes).map_err(wrap)?;
        // It was synced before the manifest named it.
        let is_ours = bytes.len() >= HEADER
            && bytes[..8] == MAGIC
            && u64_at(&bytes, 12) == number
            && crc32c(0, &bytes[..HEADER - 4]) == u32_at(&bytes, HEADER - 4);
        if !is_ours {
            return Err(Error::corrupt(format!("the header of {name}"), "that of this log", "another"));
        }
        let (mut at, mut records) = (HEADER, Vec::new());
        while let Some((record, len)) = read(&bytes[at..]) {
            if record.sequence != after + 1 + records.len() as u64 {
                break;
            }
            records.push(record);
            at += len;
        }
        Ok((Log { file, name: disk.path(&name), number, len: at as u64, is_dirty: true }, records))
    }

    fn wrap(&self) -> impl Fn(std::io::Error) -> Error + '_ {
        |source| Error::Io { path: self.name.clone(), source }
    }

    /// Writes records at the end. After an error the log is as it was: the next record is written over what may be there.
    pub fn write(&mut self, records: &[u8]) -> Result<()> {
        self.is_dirty = true;
        self.file.write_at(self.len, records).map_err(self.wrap())?;
        self.len += records.len() as u64;
        Ok(())
    }

    /// Forgets what lies behind the last record, for good.
    pub fn cut_end(&mut self) -> Result<()> {
        if self.file.len().map_err(self.wrap())? > self.len {
            self.cut(self.len)?;
            self.sync()?;
        }
        Ok(())
    }

    /// Forgets what lies behind this place.
    pub fn cut(&mut self, len: u64) -> Result<()> {
        (self.len, self.is_dirty) = (len, true);
        self.file.truncate(len).map_err(self.wrap())
    }

    /// Returns when what was written is on the disk.
    pub fn sync(&mut self) -> Result<()> {
        if self.is_dirty {
            self.file.sync().map_err(self.wrap())?;
            self.is_dirty = false;
        }
        Ok(())
    }
}
