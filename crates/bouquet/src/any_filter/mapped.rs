//! Filters that change in their file. FORMAT.md tells how a file stays valid or is refused, whatever happens.

use std::any::Any;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use super::{AnyFilter, OpenOptions, kind_of};
use crate::codec::{self, Header, InPlace, Source};
use crate::error::{Error, Result};
use crate::files::{FileLock, io_error, is_at};
use crate::kind::Kind;
use crate::registry;
use crate::store::Opening;

/// A filter that changes in its file: every verb writes to the file's pages, nothing is copied.
///
/// From the moment it is opened until [`close`](Self::close) the file says that it is open for writing, and everybody
/// refuses to open it with [`Error::Interrupted`]. A filter that is dropped without being closed, or whose process or
/// machine stops, leaves it so, unless nothing was changed; there is no way back to the old content. Who needs one
/// saves a filter beside and renames it ([`AnyFilter::save`]).
///
/// Who has mapped the file before for reading goes on reading it, and sees changes as they happen. Programs that replace the
/// file by another meanwhile are not kept from it, unless they take its [`FileLock`]; closing then is an error.
///
/// The file has all of its disk space before it is changed. A program that cuts it short meanwhile ends this process with
/// a signal (SIGBUS), as with every memory map.
///
/// ```
/// use bouquet::{Bloom, Error, AnyFilter, OpenOptions};
/// # let path = std::env::temp_dir().join(format!("bouquet-mapped-filter-{}.bq", std::process::id()));
/// # let options = OpenOptions::default();
/// AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?.save(&path)?;
/// assert!(!AnyFilter::open_writable(&path, &options)?.contains()?.contains(b"rose"), "reading does no harm");
/// let mut changed = AnyFilter::open_writable(&path, &options)?;
/// changed.insert()?.insert(b"rose".as_slice().into())?;
/// drop(changed);
/// assert!(matches!(AnyFilter::open(&path, &options), Err(Error::Interrupted)), "it was not closed");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), bouquet::Error>(())
/// ```
pub struct MappedFilter {
    filter: AnyFilter,
    file: File,
    /// Absolute: the working directory may change.
    path: PathBuf,
    opening: Opening,
    header: Header,
    /// The header of the file as it was opened.
    unchanged: Vec<u8>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody has had the filter mutably: the stores are as they were.
    Unchanged,
    /// The stores may have changed.
    Changed,
    /// The header is final.
    Closed,
}

impl AnyFilter {
    /// Opens a filter in its file to change it there. The whole file is read once, to check it.
    ///
    /// One writer at a time: a second one is refused with [`Error::Busy`]. Kinds whose stores grow cannot be changed
    /// in place and say so with [`Error::Unsupported`]; [`Kind::is_in_place`] tells. A filter whose stores are coded or
    /// whose settings let them grow is refused with [`Error::NotInPlace`].
    ///
    /// ```
    /// use bouquet::{Bloom, Error, AnyFilter, OpenOptions};
    /// let path = std::env::temp_dir().join(format!("bouquet-open-writable-{}.bq", std::process::id()));
    /// AnyFilter::from_structure(Bloom::with_rate(1_000, 0.01)?)?.save(&path)?;
    ///
    /// let mut filter = AnyFilter::open_writable(&path, &OpenOptions::default())?;
    /// filter.insert()?.insert(b"rose".as_slice().into())?;
    /// assert!(matches!(AnyFilter::open(&path, &OpenOptions::default()), Err(Error::Interrupted)));
    /// filter.close()?;
    ///
    /// assert!(AnyFilter::open(&path, &OpenOptions::default())?.contains()?.contains(b"rose"));
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    pub fn open_writable(path: &Path, options: &OpenOptions) -> Result<MappedFilter> {
        let wrap = |source| io_error(path, source);
        let path = std::path::absolute(path).map_err(wrap)?;
        let file = FileLock::try_acquire(&path)?.into_file();
        // Under the lock, no writer changes what is checked here.
        let map = crate::simd::map_file(&file).map_err(wrap)?;
        let header = Header::read(&map)?;
        let kind = kind_of(&header, options)?;
        if !kind.is_in_place() {
            return Err(unsupported(kind));
        }
        if header.is_coded() {
            let remedy = "open it and save it, which writes the stores as they are".into();
            return Err(Error::NotInPlace { what: "its stores are coded".into(), remedy });
        }
        // Before the stores are read: some file systems want room even for a hole that is read through a map.
        allocate(&file).map_err(wrap)?;
        let opening = Opening::default();
        let filter = AnyFilter::decode_frame(Source::Writable(&map, &file, &opening), &header, options)?;
        if !(kind.is_in_place)(&*filter.value) {
            let remedy = "save it beside and rename it instead".into();
            return Err(Error::NotInPlace { what: "its settings let its stores grow".into(), remedy });
        }
        let unchanged = map[..header.len()].to_vec();
        drop(map);
        let mapped = MappedFilter { filter, file, path, opening, header, unchanged, phase: Phase::Unchanged };
        // Asked here, before anything is at stake: where this fails, as on a big-endian machine, closing would fail.
        mapped.parts(false)?;
        // Durable before the first store page can change. From here on dropping `mapped` undoes it.
        mapped.write_header(&codec::flagged(&mapped.unchanged))?;
        Ok(mapped)
    }
}

impl MappedFilter {
    /// Makes the file valid again, with everything that was changed, and waits until it is on the disk.
    ///
    /// After an error the file is refused by every reader, or, if the error came at the very last step, is whole.
    ///
    /// ```
    /// use bouquet::{Counting, AnyFilter, OpenOptions};
    /// # let path = std::env::temp_dir().join(format!("bouquet-close-{}.bq", std::process::id()));
    /// AnyFilter::from_structure(Counting::with_rate(1_000, 0.01)?)?.save(&path)?;
    /// for _ in 0..2 {
    ///     let mut filter = AnyFilter::open_writable(&path, &OpenOptions::default())?;
    ///     filter.insert()?.insert(b"rose".as_slice().into())?;
    ///     filter.close()?;
    /// }
    /// assert_eq!(AnyFilter::open(&path, &OpenOptions::default())?.count()?.count(b"rose").count, 2);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn close(mut self) -> Result<()> {
        if self.phase == Phase::Changed {
            let parts = self.parts(true)?;
            parts.sync_stores().map_err(|source| io_error(&self.path, source))?;
            let header = parts.header(self.filter.kind.facts()).map_err(|source| io_error(&self.path, source))?;
            drop(parts);
            self.write_header(&header)?;
        } else {
            self.write_header(&self.unchanged)?;
        }
        self.phase = Phase::Closed;
        if !is_at(&self.file, &self.path) {
            return Err(Error::NotInPlace {
                what: "another program has replaced the file meanwhile".into(),
                remedy: "open it again and repeat the changes".into(),
            });
        }
        Ok(())
    }

    /// The filter's parts, as long as they are those of the file; `vouched` if its code is to be computed.
    fn parts(&self, vouched: bool) -> Result<InPlace<'_>> {
        let value: &dyn Any = &*self.filter.value;
        let encode = self.filter.kind.encode;
        let (config, header) = (self.filter.config(), &self.header);
        let parts =
            InPlace::new(config, |encoder| encode(value, encoder), header, &self.opening, vouched, self.filter.pace);
        parts.ok_or_else(|| Error::NotInPlace {
            what: "its stores are not those of the file".into(),
            remedy: "save it beside and rename it instead".into(),
        })
    }

    /// Replaces the header in the file and waits until it is on the disk.
    fn write_header(&self, header: &[u8]) -> Result<()> {
        let mut file = &self.file;
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(header)).and_then(|()| file.sync_all());
        written.map_err(|source| io_error(&self.path, source))
    }
}

impl Deref for MappedFilter {
    type Target = AnyFilter;

    fn deref(&self) -> &AnyFilter {
        &self.filter
    }
}

impl DerefMut for MappedFilter {
    fn deref_mut(&mut self) -> &mut AnyFilter {
        self.phase = Phase::Changed;
        &mut self.filter
    }
}

impl Drop for MappedFilter {
    /// A file whose stores may have changed stays refused: dropping has nobody to tell that the disk failed.
    fn drop(&mut self) {
        if self.phase == Phase::Unchanged {
            // Where this fails the file stays refused, which is safe.
            let _ = self.write_header(&self.unchanged);
        }
        // A process that is just being started has the descriptor, too, until it runs its own program, and would keep the lock.
        let _ = self.file.unlock();
    }
}

impl std::fmt::Debug for MappedFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MappedFilter({:?}, {})", self.filter, self.path.display())
    }
}

/// Gives a sparse file the disk space that it lacks: a page that is written through a map and finds no room ends the
/// process with a signal, where a write ends with an error. File systems that cannot say so in advance are taken as they are.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn allocate(file: &File) -> std::io::Result<()> {
    use rustix::io::Errno;
    let len = file.metadata()?.len();
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, len) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        allocated => allocated.map_err(Into::into),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn allocate(_: &File) -> std::io::Result<()> {
    Ok(())
}

fn unsupported(kind: &Kind) -> Error {
    let able: Vec<_> = registry::kinds().filter(|kind| kind.is_in_place()).map(|kind| kind.facts().id).collect();
    let verb = "be changed in its file".into();
    Error::Unsupported { kind: kind.facts().id.into(), verb, able: able.join(", ") }
}
