//! Where pages lie: a few operations on named files, so that a test can stand between a store and its disk.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::FileLock;

/// A folder of files.
///
/// ```
/// use bouquet::paged::{Disk, DiskFile, MemoryDisk};
/// let disk = MemoryDisk::default();
/// disk.create("a")?.write_at(0, b"rose")?;
/// disk.rename("a", "b")?;
/// let mut read = [0; 4];
/// disk.open("b")?.read_at(0, &mut read)?;
/// assert_eq!((&read, disk.open("a").is_err()), (b"rose", true));
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Disk: Clone + Debug + Send + Sync + 'static {
    /// A file that is open.
    type File: DiskFile;

    /// Opens a file that is there.
    fn open(&self, name: &str) -> Result<Self::File>;

    /// Creates a file; one of that name is emptied.
    fn create(&self, name: &str) -> Result<Self::File>;

    /// Gives a file another name, in the place of one that has it.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;

    /// The names of all files.
    fn names(&self) -> Result<Vec<String>>;

    /// Returns when names that were given and taken away are on the disk.
    fn sync_names(&self) -> Result<()>;

    /// The path that an error names.
    fn path(&self, name: &str) -> PathBuf;
}

/// An open file of a [`Disk`].
///
/// ```
/// use bouquet::paged::{Disk, DiskFile, MemoryDisk};
/// let file = MemoryDisk::default().create("a")?;
/// file.write_at(2, b"rose")?;
/// file.truncate(4)?;
/// let mut read = [9; 4];
/// file.read_at(0, &mut read)?;
/// assert_eq!(&read, b"\0\0ro");
/// assert!(file.read_at(1, &mut read).is_err(), "there are three bytes");
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait DiskFile: Clone + Debug + Send + Sync + 'static {
    /// Fills the buffer with what lies from `offset` on; an error if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Writes all bytes from `offset` on.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Returns when what was written is on the disk.
    fn sync(&self) -> Result<()>;

    /// The bytes of the file.
    fn len(&self) -> Result<u64>;

    /// Whether there are none.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file off, or fills it up with zeros.
    fn truncate(&self, len: u64) -> Result<()>;
}

/// A folder of the file system.
///
/// ```
/// use bouquet::paged::{Directory, Disk, DiskFile};
/// # let path = std::env::temp_dir().join(format!("bouquet-disk-{}", std::process::id()));
/// # std::fs::create_dir_all(&path)?;
/// let disk = Directory::new(&path);
/// disk.create("a")?.write_at(0, b"rose")?;
/// assert_eq!(std::fs::read(path.join("a"))?, b"rose");
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The folder of this path, which must be there when files are wanted.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Directory { path: path.into() }
    }
}

impl Disk for Directory {
    type File = Arc<File>;

    fn open(&self, name: &str) -> Result<Arc<File>> {
        let path = self.path.join(name);
        // Who may not write can read.
        let opened = File::options().read(true).write(true).open(&path).or_else(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => File::open(&path),
            _ => Err(error),
        });
        opened.map(Arc::new)
    }

    fn create(&self, name: &str) -> Result<Arc<File>> {
        File::options().read(true).write(true).create(true).truncate(true).open(self.path.join(name)).map(Arc::new)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn sync_names(&self) -> Result<()> {
        // Elsewhere a folder cannot be opened, and names need no syncing.
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl DiskFile for Arc<File> {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&**self, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> Result<()> {
        while !buffer.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&**self, buffer, offset)?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            (offset, buffer) = (offset + read as u64, &mut buffer[read..]);
        }
        Ok(())
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&**self, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = std::os::windows::fs::FileExt::seek_write(&**self, bytes, offset)?;
            (offset, bytes) = (offset + written as u64, &bytes[written..]);
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.sync_data()
    }

    fn len(&self) -> Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn truncate(&self, len: u64) -> Result<()> {
        self.set_len(len)
    }
}

/// The file whose lock the one writer of a folder has.
const LOCK: &str = "LOCK";

/// Locks a folder for its one writer ([`Error::Busy`](crate::Error::Busy) if another has it).
pub(crate) fn lock_folder(path: &Path) -> crate::Result<FileLock> {
    let file = path.join(LOCK);
    let touched = File::options().create(true).append(true).open(&file);
    touched.map_err(|source| crate::files::io_error(&file, source))?;
    FileLock::try_acquire(&file)
}

/// Files in memory, gone with the program: for tests, and to see what a store would write.
///
/// ```
/// use bouquet::paged::{Disk, MemoryDisk};
/// let disk = MemoryDisk::default();
/// disk.create("b")?;
/// disk.create("a")?;
/// disk.remove("b")?;
/// assert_eq!(disk.names()?, ["a"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, MemoryFile>>>,
}

/// A file of a [`MemoryDisk`]: its handle stays good when its name is taken away.
#[derive(Clone, Debug, Default)]
pub struct MemoryFile {
    bytes: Arc<Mutex<Vec<u8>>>,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryDisk {
    /// A disk with these files.
    #[cfg(test)]
    pub(crate) fn of(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let files = files.into_iter().map(|(name, bytes)| (name, MemoryFile { bytes: Arc::new(Mutex::new(bytes)) }));
        MemoryDisk { files: Arc::new(Mutex::new(files.collect())) }
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn open(&self, name: &str) -> Result<MemoryFile> {
        lock(&self.files).get(name).cloned().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn create(&self, name: &str) -> Result<MemoryFile> {
        let file = MemoryFile::default();
        lock(&self.files).insert(name.into(), file.clone());
        Ok(file)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = lock(&self.files);
        let file = files.remove(from).ok_or(ErrorKind::NotFound)?;
        files.insert(to.into(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        lock(&self.files).remove(name).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn names(&self) -> Result<Vec<String>> {
        Ok(lock(&self.files).keys().cloned().collect())
    }

    fn sync_names(&self) -> Result<()> {
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("memory").join(name)
    }
}

impl DiskFile for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let bytes = lock(&self.bytes);
        let there = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)?.get(..buffer.len()));
        buffer.copy_from_slice(there.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let start = usize::try_from(offset).map_err(Error::other)?;
        let mut all = lock(&self.bytes);
        let end = start.checked_add(bytes.len()).ok_or(ErrorKind::FileTooLarge)?;
        if all.len() < end {
            all.resize(end, 0);
        }
        all[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(lock(&self.bytes).len() as u64)
    }

    fn truncate(&self, len: u64) -> Result<()> {
        lock(&self.bytes).resize(usize::try_from(len).map_err(Error::other)?, 0);
        Ok(())
    }
}
