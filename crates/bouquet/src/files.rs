//! Files that are replaced whole or not at all (written beside the old one, synced, renamed), and the locks that keep
//! two writers of one file apart.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

pub(crate) fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.into(), source }
}

/// An exclusive, advisory lock on a file that is read, changed and replaced: of two programs that do so at once, the
/// second would undo the work of the first.
///
/// The lock is on the file, not on its name. Who has waited while the file was replaced gets the lock on the new one.
/// It ends when it is dropped, and with the process. [`AnyFilter::open_writable`](crate::AnyFilter::open_writable)
/// takes the same lock.
///
/// ```
/// use bouquet::{AnyFilter, Bloom, Error, FileLock, OpenOptions};
/// # let path = std::env::temp_dir().join(format!("bouquet-lock-{}.bq", std::process::id()));
/// AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?.save(&path)?;
/// let lock = FileLock::acquire(&path)?;
/// assert!(matches!(FileLock::try_acquire(&path), Err(Error::Busy { .. })));
/// let mut filter = AnyFilter::open(&path, &OpenOptions::default())?;
/// filter.insert()?.insert(b"rose".as_slice().into())?;
/// filter.save(&path)?;
/// drop(lock);
/// assert!(FileLock::try_acquire(&path).is_ok());
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Locks a file; waits as long as another program has it locked.
    ///
    /// ```
    /// use bouquet::{Error, FileLock};
    /// assert!(matches!(FileLock::acquire("no such file".as_ref()), Err(Error::Io { .. })));
    /// ```
    pub fn acquire(path: &Path) -> Result<Self> {
        Self::lock(path, |file| file.lock().map_err(TryLockError::Error))
    }

    /// Locks a file, unless another program has it locked ([`Error::Busy`]).
    ///
    /// ```
    /// use bouquet::{Error, FileLock};
    /// assert!(matches!(FileLock::try_acquire("no such file".as_ref()), Err(Error::Io { .. })));
    /// ```
    pub fn try_acquire(path: &Path) -> Result<Self> {
        Self::lock(path, File::try_lock)
    }

    fn lock(path: &Path, lock: impl Fn(&File) -> std::result::Result<(), TryLockError>) -> Result<Self> {
        loop {
            // Some network file systems lock only what is open for writing; a file that may only be read can be replaced
            // all the same.
            let opened = File::options().read(true).write(true).open(path);
            let opened = opened.or_else(|error| match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => File::open(path),
                _ => Err(error),
            });
            let file = opened.map_err(|source| io_error(path, source))?;
            lock(&file).map_err(|error| match error {
                TryLockError::WouldBlock => Error::Busy { path: path.into() },
                TryLockError::Error(source) => io_error(path, source),
            })?;
            // Whoever had the lock before may have replaced the file: then this is the lock of one without a name.
            if is_at(&file, path) {
                return Ok(FileLock { file });
            }
        }
    }

    /// The file, open for reading and, unless its permissions are against it, writing.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

/// Whether the path leads to this very file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(file), Ok(named)) if is_same(&file, &named))
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Elsewhere a file that is open cannot be replaced.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// The temporary files of this process.
struct Temporaries {
    paths: Vec<PathBuf>,
    abandoned: bool,
}

static TEMPORARIES: Mutex<Temporaries> = Mutex::new(Temporaries { paths: Vec::new(), abandoned: false });

impl Temporaries {
    /// All of them, unless the program is ending.
    fn of_this_process() -> std::io::Result<MutexGuard<'static, Self>> {
        let all = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
        if all.abandoned { Err(std::io::Error::new(ErrorKind::Interrupted, "the program is ending")) } else { Ok(all) }
    }
}

/// Removes the temporary files of every [`save`](crate::AnyFilter::save) that is under way, for a program that is about to end, as
/// on a signal. These saves, and later ones, fail: their destinations stay as they were.
///
/// A program that is killed leaves a temporary file behind; the next save to the same destination removes it.
///
/// ```
/// use bouquet::{AnyFilter, Bloom};
/// let filter = AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?;
/// bouquet::abandon_saves();
/// assert!(filter.save("never-written.bq".as_ref()).is_err());
/// assert!(!std::fs::exists("never-written.bq").unwrap());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub fn abandon_saves() {
    // Held by others only while they create or rename a file. A caller whose own thread holds it (a program that runs
    // out of memory there) must not wait for itself.
    for _ in 0..100 {
        if let Ok(mut all) = TEMPORARIES.try_lock() {
            all.abandoned = true;
            all.paths.iter().for_each(|path| _ = std::fs::remove_file(path));
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A file that is to be renamed into place. Its lock tells others that its owner lives: a process number cannot, for in
/// containers every process may have number 1.
struct Temporary {
    path: PathBuf,
    file: File,
    /// Whether it has its final name; the old one may be another save's by now.
    renamed: bool,
}

impl Temporary {
    /// Names that are tried for one destination, as many as there may be savers at once. All are looked at by every save
    /// for what dead processes have left.
    const SLOTS: u32 = 16;

    fn create_beside(directory: &Path, name: &OsStr, private: bool) -> std::io::Result<Self> {
        let stem = stem(name);
        let path = |slot: u32| {
            let mut name = stem.clone();
            name.push(format!(".{slot}.tmp"));
            directory.join(name)
        };
        (0..Self::SLOTS).for_each(|slot| remove_if_stale(&path(slot)));
        for slot in 0..u32::MAX {
            if let Some(created) = Self::create(path(slot), private)? {
                return Ok(created);
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Creates the file; `None` if there is one.
    fn create(path: PathBuf, private: bool) -> std::io::Result<Option<Self>> {
        let mut options = File::options();
        options.write(true).create_new(true);
        // Nobody may open the file before it has the permissions of the one it replaces, and read it later.
        #[cfg(unix)]
        if private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut all = Temporaries::of_this_process()?;
        let file = match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            opened => opened?,
        };
        // Where the file system has no locks, nobody removes what seems stale either.
        let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // Before it was locked, another save may have taken it for stale.
        if !locked || !is_at(&file, &path) {
            return Ok(None);
        }
        all.paths.push(path.clone());
        Ok(Some(Temporary { path, file, renamed: false }))
    }

    /// Gives the file the owner, group and mode of the one that it will replace.
    fn take_after(&self, old: &Metadata) -> std::io::Result<()> {
        #[cfg_attr(not(unix), expect(unused_mut))]
        let mut permissions = old.permissions();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
            let own = self.file.metadata()?;
            // Only root gives files away; others keep what they write.
            if old.uid() != own.uid() {
                let _ = fchown(&self.file, Some(old.uid()), None);
            }
            if old.gid() != own.gid() && fchown(&self.file, None, Some(old.gid())).is_err() {
                // What the old group was allowed, another group is not.
                let mode = permissions.mode();
                permissions.set_mode(mode & !0o070 | (mode & 0o007) << 3 & mode);
            }
        }
        self.file.set_permissions(permissions)
    }

    fn rename_to(mut self, path: &Path) -> std::io::Result<()> {
        let mut all = Temporaries::of_this_process()?;
        std::fs::rename(&self.path, path)?;
        all.paths.retain(|other| *other != self.path);
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    /// Removes the file, unless it has its final name.
    fn drop(&mut self) {
        if self.renamed {
            return;
        }
        if let Ok(mut all) = Temporaries::of_this_process() {
            all.paths.retain(|other| *other != self.path);
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The beginning of the names of all temporary files of a destination: hidden, and short enough whatever its name is.
fn stem(name: &OsStr) -> OsString {
    // File systems take names of 255 bytes, some of 143; a checksum tells apart what is cut off.
    const LONGEST: usize = 100;
    let mut stem = OsString::from(".");
    let bytes = name.as_encoded_bytes();
    if bytes.len() <= LONGEST {
        stem.push(name);
    } else {
        let text = name.to_string_lossy();
        stem.push(text.chars().take(LONGEST / 4).collect::<String>());
        stem.push(format!(".{:016x}", xxhash_rust::xxh3::xxh3_64(bytes)));
    }
    stem
}

/// Removes a temporary file whose owner is gone.
fn remove_if_stale(path: &Path) {
    if !std::fs::symlink_metadata(path).is_ok_and(|file| file.is_file()) {
        return;
    }
    let Ok(file) = File::open(path) else { return };
    // While it is locked here, nobody else removes or renames it; if its name leads elsewhere now, it is not this one.
    if file.try_lock().is_ok() && is_at(&file, path) {
        let _ = std::fs::remove_file(path);
    }
}

/// Writes a file beside its destination, syncs it and renames it into place; on any error the destination is as it
/// was and nothing is left behind. A file that is replaced hands on its owner, group and mode.
pub(crate) fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
) -> Result<()> {
    let wrap = |source| io_error(path, source);
    let name = path.file_name().ok_or_else(|| wrap(ErrorKind::InvalidFilename.into()))?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let old = std::fs::metadata(path).ok();
    let temporary = Temporary::create_beside(directory, name, old.is_some()).map_err(wrap)?;
    let written = (|| {
        if let Some(old) = &old {
            temporary.take_after(old)?;
        }
        let mut out = BufWriter::with_capacity(1 << 20, &temporary.file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        temporary.file.sync_all()?;
        temporary.rename_to(path)?;
        // The rename itself is durable once the directory is synced; not every system can open one.
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
        Ok(())
    })();
    written.map_err(wrap)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bouquet-files-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Directory(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_a_dead_process_left_is_removed_and_what_a_living_one_writes_is_not() {
        let directory = Directory::new("stale");
        let path = directory.0.join("f");
        // Nobody has these locked; the first stands for one of a process that lives.
        for slot in [0, 1, 7] {
            std::fs::write(directory.0.join(format!(".f.{slot}.tmp")), "half").unwrap();
        }
        std::fs::write(directory.0.join(".f.other.tmp"), "not ours").unwrap();
        let living = File::open(directory.0.join(".f.0.tmp")).unwrap();
        living.lock().unwrap();
        write_atomically(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(directory.names(), [".f.0.tmp", ".f.other.tmp", "f"]);
        drop(living);
        write_atomically(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(directory.names(), [".f.other.tmp", "f"]);
    }

    #[test]
    fn saves_at_once_do_not_take_each_other_for_stale() {
        let directory = Directory::new("at-once");
        let path = directory.0.join("f");
        std::thread::scope(|scope| {
            for thread in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        write_atomically(path, |out| out.write_all(&[thread; 1000])).unwrap();
                    }
                });
            }
        });
        let content = std::fs::read(&path).unwrap();
        assert!(content.len() == 1000 && content.iter().all(|byte| *byte == content[0]));
        assert_eq!(directory.names(), ["f"]);
    }

    #[test]
    fn names_of_every_length_can_be_saved_to() {
        let directory = Directory::new("long");
        for name in ["x".repeat(255), "é".repeat(127), "x".repeat(254) + "y"] {
            write_atomically(&directory.0.join(&name), |out| out.write_all(b"whole")).unwrap();
        }
        assert_eq!(directory.names().len(), 3);
        assert_ne!(stem("x".repeat(255).as_ref()), stem(("x".repeat(254) + "y").as_ref()));
    }
}
