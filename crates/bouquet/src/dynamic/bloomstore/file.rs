//! A [`Bloomstore`](super::Bloomstore) in a folder of files, which outlives the program and the power supply.
//!
//! | file | what it is |
//! |---|---|
//! | `MANIFEST` | which of the others are in force, the settings, how far the pages were synced, and the write buffers as they were then |
//! | `pages.G` | the pages, appended |
//! | `log.N` | every operation since the manifest |
//! | `LOCK` | locked by the one writer |
//!
//! An operation is written to the log, as far as the [durability](Durability) wants, and then to the write buffer; full buffers become
//! pages without being synced. When the log is long, the pages are synced and a new manifest, with the buffers, begins an empty log.
//! So recovery reads the manifest, takes the pages behind its mark up to the first that is damaged or that holds what the log does
//! not know, and plays the log over them.

use std::path::Path;

use super::engine::Engine;
use super::instance::Shape;
use super::log::{self, Log};
pub use super::snapshot::Snapshot;
use super::snapshot::{Mark, Recovered, pages_name};
use super::{BloomstoreSettings, FACTS_NUMBER, shape_of};
use crate::error::{Error, Result};
use crate::files::FileLock;
use crate::hash::Hashing;
use crate::key::Key;
use crate::parts::pages::manifest;
use crate::parts::pages::{Directory, Disk, FilePages, Pages, lock_folder};

/// The log's length at which it is begun anew.
const LOG: u64 = 1 << 20;

/// What a crash may cost.
///
/// ```
/// use bouquet::paged::Durability;
/// assert_eq!(Durability::default(), Durability::Synced);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// What is in the write buffers, and pages that the system has not written yet: since the last
    /// [`sync`](BloomstoreFile::sync). No log is written.
    Buffered,
    /// If the program is killed, nothing; if the machine stops, at most the operations since the log was synced last.
    Logged,
    /// Nothing: an operation, or a batch of them, returns when the log is on the disk.
    #[default]
    Synced,
}

/// How a store is opened.
///
/// ```
/// use bouquet::paged::{Durability, StoreOptions};
/// let options = StoreOptions { durability: Durability::Logged, ..Default::default() };
/// assert_eq!(options.interval, 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// What a crash may cost.
    pub durability: Durability,
    /// With [`Durability::Logged`]: operations after which the log is synced.
    pub interval: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { durability: Durability::default(), interval: 256 }
    }
}

/// What there is to tell of a store.
///
/// ```
/// use bouquet::{BloomstoreFile, BloomstoreSettings, paged::{MemoryDisk, StoreOptions}};
/// let store = BloomstoreFile::create_on(MemoryDisk::default(), &BloomstoreSettings::default(), 0, StoreOptions::default())?;
/// assert_eq!((store.stats().instances, store.stats().data_pages), (1, 0));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Parts of the key space.
    pub instances: u64,
    /// Pages of pairs.
    pub data_pages: u64,
    /// Pages of filters.
    pub chain_pages: u64,
    /// All pages, those of large pairs and those that nothing needs any more included.
    pub pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes that the store takes in memory.
    pub memory: u64,
    /// Operations since it was created.
    pub operations: u64,
    /// Data pages read since it was opened.
    pub data_reads: u64,
    /// Chain pages read since it was opened.
    pub chain_reads: u64,
    /// Pages written since it was opened.
    pub writes: u64,
}

/// A key with its new value, or `None` to remove it.
pub type Change<'a> = (&'a [u8], Option<&'a [u8]>);

/// A key-value store in a folder: two pages of memory per 16,000 keys, one page read for a key that is there and its filters, and
/// nothing lost that was acknowledged.
///
/// ```
/// use bouquet::{BloomstoreFile, BloomstoreSettings, Error, paged::StoreOptions};
/// # let path = std::env::temp_dir().join(format!("bouquet-store-{}", std::process::id()));
/// let mut store = BloomstoreFile::create(&path, &BloomstoreSettings::default(), StoreOptions::default())?;
/// store.put("rose", b"red")?;
/// store.put("lily", b"white")?;
/// store.remove("rose")?;
/// assert!(matches!(BloomstoreFile::open(&path, StoreOptions::default()), Err(Error::Busy { .. })), "one writer");
/// drop(store);
/// let store = BloomstoreFile::open(&path, StoreOptions::default())?;
/// assert_eq!((store.get("lily")?, store.get("rose")?), (Some(b"white".to_vec()), None));
/// # drop(store);
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct BloomstoreFile<D: Disk = Directory> {
    disk: D,
    view: Snapshot<D>,
    options: StoreOptions,
    log: Log<D::File>,
    /// The number of the page file.
    generation: u64,
    /// The log's length at which it is begun anew.
    longest_log: u64,
    unsynced: u64,
    /// Data pages at which there should be more instances.
    grow_at: u64,
    /// Why nothing more may be written.
    broken: bool,
    _lock: Option<FileLock>,
}

impl BloomstoreFile {
    /// Creates a store in a folder, which is made if it is not there; refuses one in which there is a store.
    pub fn create(path: &Path, settings: &BloomstoreSettings, options: StoreOptions) -> Result<Self> {
        Self::create_seeded(path, settings, 0, options)
    }

    /// The same with another seed of the hash function.
    ///
    /// ```
    /// use bouquet::{BloomstoreFile, BloomstoreSettings, paged::StoreOptions};
    /// # let path = std::env::temp_dir().join(format!("bouquet-seeded-{}", std::process::id()));
    /// let sized = BloomstoreSettings { items: Some(1_000_000), ..Default::default() };
    /// let store = BloomstoreFile::create_seeded(&path, &sized, 7, StoreOptions::default())?;
    /// assert_eq!(store.stats().instances, 63);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn create_seeded(path: &Path, settings: &BloomstoreSettings, seed: u64, options: StoreOptions) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(|source| Error::Io { path: path.into(), source })?;
        let lock = lock_folder(path)?;
        let mut store = Self::create_on(Directory::new(path), settings, seed, options)?;
        store._lock = Some(lock);
        Ok(store)
    }

    /// Opens the store in a folder to change it. Another writer is refused ([`Error::Busy`]); readers are not, see
    /// [`Snapshot::open`].
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self> {
        // Where there is no store, no lock is left behind.
        manifest::read(&Directory::new(path))?;
        let lock = lock_folder(path)?;
        let mut store = Self::open_on(Directory::new(path), options)?;
        store._lock = Some(lock);
        Ok(store)
    }
}

impl<D: Disk> BloomstoreFile<D> {
    /// Creates a store on a disk.
    pub fn create_on(disk: D, settings: &BloomstoreSettings, seed: u64, options: StoreOptions) -> Result<Self> {
        let shape = shape_of(settings)?;
        manifest::refuse_another(&disk)?;
        let name = pages_name(0);
        let file = disk.create(&name).map_err(|source| Error::Io { path: disk.path(&name), source })?;
        let engine = Engine::new(shape, FilePages::new(shape.page, file, disk.path(&name), 0))?;
        let log = Log::create(&disk, 0)?;
        let view = Snapshot { engine, hashing: Hashing::seeded(seed) };
        let mut store = Self::of_parts(disk, view, options, log, 0);
        store.begin(0, 1)?;
        Ok(store)
    }

    fn of_parts(disk: D, view: Snapshot<D>, options: StoreOptions, log: Log<D::File>, generation: u64) -> Self {
        let grow_at = crowded_at(&view.engine.shape);
        let (longest_log, unsynced, broken) = (LOG, 0, false);
        BloomstoreFile { disk, view, options, log, generation, longest_log, unsynced, grow_at, broken, _lock: None }
    }

    /// Opens the store on a disk to change it, which must have no other writer.
    pub fn open_on(disk: D, options: StoreOptions) -> Result<Self> {
        let mut recovered = Recovered::read(&disk)?;
        recovered.view.engine.pages.cut()?;
        recovered.log.cut_end()?;
        recovered.replay()?;
        let Recovered { view, mark, log, .. } = recovered;
        let mut store = Self::of_parts(disk, view, options, log, mark.generation);
        store.remove_strangers();
        if mark.is_logged != store.is_logged() {
            store.begin(store.generation, store.log.number + 1)?;
        }
        Ok(store)
    }

    fn is_logged(&self) -> bool {
        self.options.durability != Durability::Buffered
    }

    /// Files that an interrupted change has left behind.
    fn remove_strangers(&self) {
        let ours = [pages_name(self.generation), log::name_of(self.log.number)];
        for name in self.disk.names().unwrap_or_default() {
            let is_of_a_store = name.starts_with("pages.") || name.starts_with("log.") || name == "MANIFEST.new";
            if is_of_a_store && !ours.contains(&name) {
                // They do no harm; the next who opens the store tries again.
                let _ = self.disk.remove(&name);
            }
        }
    }

    /// Syncs the pages and puts a manifest in force that begins an empty log of this number.
    fn begin(&mut self, generation: u64, number: u64) -> Result<()> {
        let engine = &self.view.engine;
        engine.pages.sync().inspect_err(|_| self.broken = true)?;
        let log = Log::create(&self.disk, number)?;
        let mark = Mark {
            shape: engine.shape,
            seed: self.view.hashing.seed(),
            generation,
            log: number,
            covered: engine.pages.len(),
            sequence: engine.sequence,
            is_logged: self.is_logged(),
        };
        let body = mark.write(engine.instances().iter());
        manifest::write_beside(&self.disk, FACTS_NUMBER, &body)?;
        manifest::enforce(&self.disk).inspect_err(|_| self.broken = true)?;
        (self.log, self.generation) = (log, generation);
        (self.longest_log, self.unsynced) = (LOG.max(4 * body.len() as u64), 0);
        self.remove_strangers();
        Ok(())
    }

    fn check_writable(&self) -> Result<()> {
        if self.broken {
            let source = std::io::Error::other("the disk failed to sync; open the store again to see what it has kept");
            return Err(Error::Io { path: self.disk.path(manifest::MANIFEST), source });
        }
        Ok(())
    }

    /// Gives keys values and removes others, in this order, with one entry in the log: with [`Durability::Synced`] all are on the disk
    /// when it returns. After an error those before the one that failed are in.
    ///
    /// ```
    /// use bouquet::{BloomstoreFile, BloomstoreSettings, paged::{MemoryDisk, StoreOptions}};
    /// let disk = MemoryDisk::default();
    /// let mut store = BloomstoreFile::create_on(disk, &BloomstoreSettings::default(), 0, StoreOptions::default())?;
    /// store.write(&[(b"rose", Some(b"red")), (b"lily", Some(b"white")), (b"rose", None)])?;
    /// assert_eq!((store.contains("rose")?, store.contains("lily")?), (false, true));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn write(&mut self, changes: &[Change<'_>]) -> Result<()> {
        self.check_writable()?;
        if self.view.engine.data_pages() >= self.grow_at {
            self.make_room();
        }
        let start = self.log.len;
        let mut ends = Vec::new();
        if self.is_logged() {
            let mut records = Vec::new();
            for (sequence, (key, value)) in (self.view.engine.sequence + 1..).zip(changes) {
                check_lengths(key, *value)?;
                log::append(&mut records, sequence, key, *value);
                ends.push(start + records.len() as u64);
            }
            let written = self.log.write(&records).and_then(|()| match self.options.durability {
                Durability::Synced => self.log.sync(),
                _ => Ok(()),
            });
            if let Err(error) = written {
                // What of it is on the disk nobody knows; it was not acknowledged, and the next record is written over it.
                self.broken |= self.log.cut(start).is_err();
                return Err(error);
            }
        }
        for (index, (key, value)) in changes.iter().enumerate() {
            let hashed = self.view.hashed(key);
            if let Err(error) = self.view.engine.put(hashed, *value) {
                let kept = index.checked_sub(1).and_then(|before| ends.get(before).copied()).unwrap_or(start);
                if self.is_logged() {
                    self.broken |= self.log.cut(kept).is_err();
                }
                return Err(error);
            }
        }
        self.unsynced += changes.len() as u64;
        if self.options.durability == Durability::Logged && self.unsynced >= self.options.interval {
            self.log.sync().inspect_err(|_| self.broken = true)?;
            self.unsynced = 0;
        }
        if self.log.len >= self.longest_log {
            // The log in force has everything; that it goes on growing is no reason to refuse what is in it already.
            let begun = self.begin(self.generation, self.log.number + 1);
            if begun.is_err() {
                self.longest_log = self.log.len + LOG;
            }
        }
        Ok(())
    }

    /// Gives a key a value.
    pub fn put<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        key.with_bytes(|key| self.write(&[(key, Some(value))]))
    }

    /// Removes a key; tells whether it was there. If not, nothing is written.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        key.with_bytes(|key| {
            let is_there = self.view.contains(key)?;
            if is_there {
                self.write(&[(key, None)])?;
            }
            Ok(is_there)
        })
    }

    /// The value of a key.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>> {
        self.view.get(key)
    }

    /// Whether the key is there.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool> {
        self.view.contains(key)
    }

    /// Hands over every key with its value, in no particular order.
    pub fn for_each(&self, f: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        self.view.for_each(f)
    }

    /// The store as it is now, for readers that are to see nothing of what comes later; threads can have it.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<D> {
        let mut view = self.view.clone();
        view.engine.pages = view.engine.pages.only_read();
        view
    }

    /// What there is to tell of it.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        StoreStats { log_bytes: self.log.len, ..self.view.stats() }
    }

    /// Returns when everything so far is on the disk.
    pub fn sync(&mut self) -> Result<()> {
        self.check_writable()?;
        match self.options.durability {
            Durability::Buffered if self.unsynced == 0 => Ok(()),
            Durability::Buffered => self.begin(self.generation, self.log.number + 1),
            Durability::Logged | Durability::Synced => {
                self.log.sync().inspect_err(|_| self.broken = true)?;
                self.unsynced = 0;
                Ok(())
            }
        }
    }

    /// Writes what is left of the store anew: pairs that were replaced or removed are gone, and there are as many instances as
    /// the keys need.
    pub fn compact(&mut self) -> Result<()> {
        self.check_writable()?;
        let mut live = 0u64;
        self.for_each(|_, _| {
            live += 1;
            Ok(())
        })?;
        let shape = self.view.engine.shape;
        let each = Shape { instances: 1, ..shape }.capacity();
        // Room for as many again.
        let instances = (2 * live).div_ceil(each).max(shape.instances);
        self.rewrite(instances)
    }

    /// More instances, once the chains are long. Where that fails the store is as it was, and slower.
    fn make_room(&mut self) {
        if self.compact().is_err() {
            self.grow_at = self.view.engine.data_pages() + self.view.engine.data_pages() / 4;
        }
    }

    fn rewrite(&mut self, instances: u64) -> Result<()> {
        let (generation, page) = (self.generation + 1, self.view.engine.shape.page);
        let name = pages_name(generation);
        let file = self.disk.create(&name).map_err(|source| Error::Io { path: self.disk.path(&name), source })?;
        let pages = FilePages::new(page, file, self.disk.path(&name), 0);
        let rewritten = self.view.engine.rewritten(pages, instances, &self.view.hashing);
        let (engine, _) = rewritten.inspect_err(|_| self.remove_strangers())?;
        let old = std::mem::replace(&mut self.view.engine, engine);
        if let Err(error) = self.begin(generation, self.log.number + 1) {
            self.view.engine = old;
            if !self.broken {
                self.remove_strangers();
            }
            return Err(error);
        }
        self.grow_at = crowded_at(&self.view.engine.shape).max(2 * self.view.engine.data_pages());
        Ok(())
    }
}

/// Data pages at which the chains are long.
fn crowded_at(shape: &Shape) -> u64 {
    shape.capacity() / u64::from(shape.pairs)
}

/// Records of the log have lengths of 32 bits.
fn check_lengths(key: &[u8], value: Option<&[u8]>) -> Result<()> {
    const MOST: usize = (1 << 31) - 64;
    let len = key.len().saturating_add(value.map_or(0, <[u8]>::len));
    if len > MOST {
        return Err(Error::Item { expected: format!("a pair of at most {MOST} bytes"), found: format!("{len} bytes") });
    }
    Ok(())
}

/// What was not synced is, as far as that is possible.
impl<D: Disk> Drop for BloomstoreFile<D> {
    fn drop(&mut self) {
        let _ = self.sync();
    }
}
