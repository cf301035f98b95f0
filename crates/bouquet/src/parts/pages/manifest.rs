//! The manifest: the one file that says which others are in force. It is replaced whole, by writing another beside it, syncing,
//! renaming and syncing the names.

use super::{Disk, DiskFile, VERSION, crc32c, u32_at, u64_at};
use crate::error::{Error, Result};

/// Its name.
pub(crate) const MANIFEST: &str = "MANIFEST";

const BESIDE: &str = "MANIFEST.new";

const MAGIC: [u8; 8] = *b"BqStore\0";

/// Magic, version, kind, checksum, length of the rest.
const HEADER: usize = 24;

/// Writes a manifest beside the one in force.
pub(crate) fn write_beside<D: Disk>(disk: &D, kind: u16, body: &[u8]) -> Result<()> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(&crc32c(0, body).to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(body);
    let written = (|| {
        let file = disk.create(BESIDE)?;
        file.write_at(0, &bytes)?;
        file.sync()
    })();
    written.map_err(|source| Error::Io { path: disk.path(BESIDE), source })
}

/// Puts the manifest that was written beside in force. After an error nobody knows which one a crash would leave.
pub(crate) fn enforce<D: Disk>(disk: &D) -> Result<()> {
    let renamed = disk.rename(BESIDE, MANIFEST).and_then(|()| disk.sync_names());
    renamed.map_err(|source| Error::Io { path: disk.path(MANIFEST), source })
}

/// The kind and the body of the manifest in force.
pub(crate) fn read<D: Disk>(disk: &D) -> Result<(u16, Vec<u8>)> {
    let wrap = |source| Error::Io { path: disk.path(MANIFEST), source };
    let file = disk.open(MANIFEST).map_err(wrap)?;
    let mut bytes = vec![0; usize::try_from(file.len().map_err(wrap)?).unwrap_or(0)];
    file.read_at(0, &mut bytes).map_err(wrap)?;
    if bytes.len() < HEADER || bytes[..8] != MAGIC {
        let found = bytes[..bytes.len().min(8)].escape_ascii().to_string();
        return Err(Error::corrupt("the manifest's beginning", MAGIC.escape_ascii(), found));
    }
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        return Err(Error::Version { found: version, supported: VERSION });
    }
    let (sum, body) = (u32_at(&bytes, 12), &bytes[HEADER..]);
    if u64_at(&bytes, 16) != body.len() as u64 || crc32c(0, body) != sum {
        return Err(Error::corrupt(
            "the manifest's checksum",
            format!("{sum:#010x}"),
            format!("{:#010x}", crc32c(0, body)),
        ));
    }
    Ok((u16::from_le_bytes([bytes[10], bytes[11]]), body.to_vec()))
}

/// The number of the kind of the store in a folder.
///
/// ```
/// use bouquet::{ForestFile, ForestStructuredSettings, paged, registry};
/// # let path = std::env::temp_dir().join(format!("bouquet-kind-{}", std::process::id()));
/// drop(ForestFile::create(&path, &ForestStructuredSettings::default())?);
/// let kind = registry::find("forest-structured")?;
/// assert_eq!(paged::kind_number(&path)?, kind.facts().number);
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn kind_number(path: &std::path::Path) -> Result<u16> {
    Ok(read(&super::Directory::new(path))?.0)
}

/// The body of the manifest in force, which must be of this kind.
pub(crate) fn read_kind<D: Disk>(disk: &D, expected: u16) -> Result<Vec<u8>> {
    let (kind, body) = read(disk)?;
    if kind != expected {
        return Err(Error::corrupt("the kind of the store", expected, kind));
    }
    Ok(body)
}

/// Refuses to create a store where there is one.
pub(crate) fn refuse_another<D: Disk>(disk: &D) -> Result<()> {
    match disk.open(MANIFEST) {
        Ok(_) => Err(Error::Io { path: disk.path(MANIFEST), source: std::io::ErrorKind::AlreadyExists.into() }),
        Err(_) => Ok(()),
    }
}

/// Numbers and strings of bytes, one behind the other.
#[derive(Default)]
pub(crate) struct Fields(pub Vec<u8>);

impl Fields {
    pub fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub fn numbers(&mut self, numbers: &[u64]) {
        self.number(numbers.len() as u64);
        numbers.iter().for_each(|&number| self.number(number));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

/// Reads what [`Fields`] wrote.
pub(crate) struct FieldReader<'a>(pub &'a [u8]);

impl<'a> FieldReader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let left = self.0.len();
        let (taken, rest) = self
            .0
            .split_at_checked(len)
            .ok_or_else(|| Error::corrupt("the manifest", format!("{len} bytes more"), left))?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn number(&mut self) -> Result<u64> {
        self.take(8).map(|bytes| u64_at(bytes, 0))
    }

    pub fn numbers(&mut self) -> Result<Vec<u64>> {
        let len = self.number()?;
        let bytes = self.take(usize::try_from(len.saturating_mul(8)).unwrap_or(usize::MAX))?;
        Ok(bytes.chunks_exact(8).map(|bytes| u64_at(bytes, 0)).collect())
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.number()?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }
}
