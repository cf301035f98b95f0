//! Pages: blocks of one size, each with a header that says what it is, where it belongs and when it was written, and a
//! checksum over all of it.
//!
//! A page is never changed once it is written: whoever wants another content appends a page. So a page that was read and whose
//! checksum is right is what was written, and what a crash leaves behind is a file of good pages with at most a torn end.
//!
//! The pages lie in memory or in a file of a [`Disk`].

mod crc;
mod disk;
#[cfg(test)]
pub(crate) mod faulty;
pub mod manifest;

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use crc::crc32c;
pub(crate) use disk::lock_folder;
pub use disk::{Directory, Disk, DiskFile, MemoryDisk};

use crate::error::{Error, Result};

/// The bytes of a page's header.
pub(crate) const HEADER: usize = 64;

const MAGIC: [u8; 4] = *b"BqPg";

/// The version of pages, logs and manifests.
pub(crate) const VERSION: u16 = 1;

/// The largest number of an operation: more can only be forged.
pub(crate) const MOST_OPERATIONS: u64 = u64::MAX / 2;

/// Where the checksum stands: the last four bytes of the header.
const CRC_AT: usize = 60;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Sort {
    /// Keys with their values.
    Data = 1,
    /// The filters of data pages.
    Chain = 2,
    /// A part of a pair that is too large for a data page.
    Overflow = 3,
    /// The bits of one filter.
    Bits = 4,
}

impl Sort {
    fn of(byte: u8) -> Option<Self> {
        [Sort::Data, Sort::Chain, Sort::Overflow, Sort::Bits].into_iter().find(|sort| *sort as u8 == byte)
    }
}

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub sort: Sort,
    /// Whose page it is: an instance, a block.
    pub owner: u32,
    /// How many things it holds.
    pub count: u32,
    /// The number of the last operation that it holds.
    pub sequence: u64,
    /// What else its sort needs.
    pub extra: u64,
}

impl Header {
    /// Writes the header of page `number`, and the checksum of the whole.
    pub fn seal(&self, number: u64, page: &mut [u8]) {
        page[..4].copy_from_slice(&MAGIC);
        page[4..6].copy_from_slice(&VERSION.to_le_bytes());
        page[6] = self.sort as u8;
        page[7] = 0;
        page[8..16].copy_from_slice(&number.to_le_bytes());
        page[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        page[24..28].copy_from_slice(&self.owner.to_le_bytes());
        page[28..32].copy_from_slice(&self.count.to_le_bytes());
        page[32..40].copy_from_slice(&self.extra.to_le_bytes());
        page[40..CRC_AT].fill(0);
        let sum = checksum(page);
        page[CRC_AT..HEADER].copy_from_slice(&sum.to_le_bytes());
    }

    /// The header of a page that must be page `number`; refuses one that is damaged or in another's place.
    pub fn read(number: u64, page: &[u8]) -> Result<Self> {
        let wrong = |what: &str, expected: String, found: String| {
            Err(Error::corrupt(format!("page {number}: {what}"), expected, found))
        };
        if page.len() < HEADER || page[..4] != MAGIC {
            return wrong("its beginning", format!("{MAGIC:02x?}"), format!("{:02x?}", &page[..page.len().min(4)]));
        }
        let (sum, found) = (u32_at(page, CRC_AT), checksum(page));
        if sum != found {
            return wrong("its checksum", format!("{sum:#010x}"), format!("{found:#010x}"));
        }
        let version = u16::from_le_bytes([page[4], page[5]]);
        if version != VERSION {
            return Err(Error::Version { found: version, supported: VERSION });
        }
        if u64_at(page, 8) != number {
            return wrong("its number", number.to_string(), u64_at(page, 8).to_string());
        }
        let Some(sort) = Sort::of(page[6]).filter(|_| page[7] == 0 && page[40..CRC_AT].iter().all(|&byte| byte == 0))
        else {
            return wrong("its sort", "one of 1 to 4".into(), page[6].to_string());
        };
        Ok(Header {
            sort,
            owner: u32_at(page, 24),
            count: u32_at(page, 28),
            sequence: u64_at(page, 16),
            extra: u64_at(page, 32),
        })
    }
}

/// Of everything but the checksum itself.
fn checksum(page: &[u8]) -> u32 {
    crc32c(crc32c(0, &page[..CRC_AT]), &page[HEADER..])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// How many pages were read and written. It is no part of what is held: two that differ in it alone are equal.
#[derive(Debug, Default)]
pub(crate) struct Meter(AtomicU64);

impl Meter {
    pub fn add(&self, pages: u64) {
        self.0.fetch_add(pages, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Meter {
    fn clone(&self) -> Self {
        Meter(AtomicU64::new(self.get()))
    }
}

impl PartialEq for Meter {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Pages by number, which are read and appended.
pub(crate) trait Pages {
    /// The number of pages.
    fn len(&self) -> u64;

    /// Hands a page to `f`; refuses one that is damaged.
    fn with<R>(&self, number: u64, f: impl FnOnce(Header, &[u8]) -> Result<R>) -> Result<R>;

    /// Seals a page and appends it, which gives its number. An error leaves the pages as they were.
    fn append(&mut self, header: Header, page: &mut [u8]) -> Result<u64>;
}

fn beyond(number: u64, len: u64) -> Error {
    Error::corrupt("the number of a page", format!("below {len}"), number)
}

/// Pages in memory. They were checked when they came there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemoryPages {
    size: usize,
    bytes: Vec<u8>,
}

impl MemoryPages {
    pub fn new(size: usize) -> Self {
        MemoryPages { size, bytes: Vec::new() }
    }

    /// Reads pages that others have written: each must be whole.
    pub fn from_bytes(size: usize, bytes: &[u8]) -> Result<Self> {
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::corrupt("pages", format!("a multiple of {size} bytes"), bytes.len()));
        }
        for (number, page) in (0..).zip(bytes.chunks_exact(size)) {
            Header::read(number, page)?;
        }
        Ok(MemoryPages { size, bytes: bytes.to_vec() })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Pages for MemoryPages {
    fn len(&self) -> u64 {
        (self.bytes.len() / self.size) as u64
    }

    fn with<R>(&self, number: u64, f: impl FnOnce(Header, &[u8]) -> Result<R>) -> Result<R> {
        let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(self.size));
        let page = start.and_then(|start| self.bytes.get(start..)?.get(..self.size));
        let page = page.ok_or_else(|| beyond(number, self.len()))?;
        let sort = Sort::of(page[6]).ok_or_else(|| Error::corrupt("the sort of a page", "1 to 4", page[6]))?;
        let header = Header {
            sort,
            owner: u32_at(page, 24),
            count: u32_at(page, 28),
            sequence: u64_at(page, 16),
            extra: u64_at(page, 32),
        };
        f(header, page)
    }

    fn append(&mut self, header: Header, page: &mut [u8]) -> Result<u64> {
        let number = self.len();
        let bytes = (self.bytes.len() + self.size) as u128;
        let reserved = self.bytes.try_reserve(self.size);
        reserved.map_err(|_| Error::TooLarge { what: "a page more".into(), bytes })?;
        header.seal(number, page);
        self.bytes.extend_from_slice(page);
        Ok(number)
    }
}

/// Pages in a file. Those of a reader who must not write are kept in memory from where the file ends.
#[derive(Clone, Debug)]
pub(crate) struct FilePages<F> {
    size: usize,
    file: F,
    name: std::path::PathBuf,
    /// Pages in the file.
    len: u64,
    beside: Option<Vec<u8>>,
}

impl<F: DiskFile> FilePages<F> {
    /// The first `len` pages of a file; the next one that is appended comes behind them.
    pub fn new(size: usize, file: F, name: std::path::PathBuf, len: u64) -> Self {
        FilePages { size, file, name, len, beside: None }
    }

    /// The same for one who must not write.
    pub fn only_read(self) -> Self {
        FilePages { beside: Some(Vec::new()), ..self }
    }

    fn wrap(&self) -> impl Fn(std::io::Error) -> Error + '_ {
        |source| Error::Io { path: self.name.clone(), source }
    }

    /// Whole pages that the file has.
    pub fn in_file(&self) -> Result<u64> {
        Ok(self.file.len().map_err(self.wrap())? / self.size as u64)
    }

    /// The page behind the last one, which becomes the last if `f` takes it; `None` when it is not there or damaged.
    pub fn take_next<R>(&mut self, f: impl FnOnce(Header, &[u8]) -> Option<R>) -> Result<Option<R>> {
        if self.len >= self.in_file()? {
            return Ok(None);
        }
        let mut page = vec![0; self.size];
        self.file.read_at(self.len * self.size as u64, &mut page).map_err(self.wrap())?;
        let taken = Header::read(self.len, &page).ok().and_then(|header| f(header, &page));
        self.len += u64::from(taken.is_some());
        Ok(taken)
    }

    /// The last page that was taken is none of them after all.
    pub fn give_back(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Cuts off what lies behind the last page, for good: what a later crash would bring back could seem to belong to what is
    /// written meanwhile.
    pub fn cut(&self) -> Result<()> {
        let len = self.len * self.size as u64;
        if self.file.len().map_err(self.wrap())? > len {
            self.file.truncate(len).and_then(|()| self.file.sync()).map_err(self.wrap())?;
        }
        Ok(())
    }

    /// Returns when the pages are on the disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync().map_err(self.wrap())
    }
}

impl<F: DiskFile> Pages for FilePages<F> {
    fn len(&self) -> u64 {
        self.len + self.beside.as_ref().map_or(0, |beside| (beside.len() / self.size) as u64)
    }

    fn with<R>(&self, number: u64, f: impl FnOnce(Header, &[u8]) -> Result<R>) -> Result<R> {
        if number >= self.len() {
            return Err(beyond(number, self.len()));
        }
        if let (Some(beside), Some(place)) = (&self.beside, number.checked_sub(self.len)) {
            let page = &beside[place as usize * self.size..][..self.size];
            return f(Header::read(number, page)?, page);
        }
        let mut page = vec![0; self.size];
        self.file.read_at(number * self.size as u64, &mut page).map_err(self.wrap())?;
        f(Header::read(number, &page)?, &page)
    }

    fn append(&mut self, header: Header, page: &mut [u8]) -> Result<u64> {
        let number = self.len();
        header.seal(number, page);
        if let Some(beside) = &mut self.beside {
            beside.extend_from_slice(page);
        } else {
            self.file.write_at(number * self.size as u64, page).map_err(self.wrap())?;
            self.len += 1;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(count: u32) -> Header {
        Header { sort: Sort::Data, owner: 3, count, sequence: 99, extra: 7 }
    }

    #[test]
    fn a_page_is_what_was_written_or_it_is_refused() {
        let mut page = vec![5; 512];
        header(4).seal(11, &mut page);
        assert_eq!(Header::read(11, &page).unwrap(), header(4));
        assert!(Header::read(12, &page).is_err(), "in another page's place");
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::read(11, &page).is_err(), "bit {bit} is flipped");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn who_must_not_write_appends_beside_the_file() {
        let disk = MemoryDisk::default();
        let mut pages = FilePages::new(512, disk.create("pages").unwrap(), "pages".into(), 0);
        assert_eq!(pages.append(header(1), &mut vec![1; 512]).unwrap(), 0);
        let mut beside = pages.clone().only_read();
        assert_eq!(beside.append(header(2), &mut vec![2; 512]).unwrap(), 1);
        assert_eq!(pages.in_file().unwrap(), 1);
        let counts = |number| beside.with(number, |header, page| Ok((header.count, page[100])));
        assert_eq!((counts(0).unwrap(), counts(1).unwrap()), ((1, 1), (2, 2)));
        assert!(counts(2).is_err() && pages.with(1, |_, _| Ok(())).is_err());
    }
}
