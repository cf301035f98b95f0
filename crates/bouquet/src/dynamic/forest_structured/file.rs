//! A [`ForestStructured`](super::ForestStructured) in a folder: a filter larger than memory, of which memory has the pages that
//! are being changed and four bytes for each of the others.
//!
//! Every page has two places in the file and is written to them in turn, so that a write that is torn leaves the page before it. The
//! manifest, which [`flush`](ForestFile::flush) replaces, says which of the two is the one that was acknowledged: if that one is damaged and there
//! is no later one, the page is lost and answers maybe for every key.

use std::path::Path;

use super::trees::{Known, Shape, Slots, Trees};
use super::{FACTS_NUMBER, ForestStructuredSettings, shape_of};
use crate::error::{Error, Result};
use crate::files::FileLock;
use crate::hash::Hashing;
use crate::key::Key;
use crate::parts::pages::manifest::{self, FieldReader, Fields};
use crate::parts::pages::{Directory, Disk, DiskFile, Header, MOST_OPERATIONS, lock_folder};

const PAGES: &str = "pages.0";

/// In the manifest, for a page that is lost.
const LOST: u8 = 3;

/// The file's pages, two places for each.
#[derive(Clone, Debug)]
struct FileSlots<F> {
    file: F,
    name: std::path::PathBuf,
    size: usize,
    /// Which of the two places of each page is the later: 0 for none, 1 or 2.
    current: Vec<u8>,
}

impl<F: DiskFile> FileSlots<F> {
    fn wrap(&self) -> impl Fn(std::io::Error) -> Error + '_ {
        |source| Error::Io { path: self.name.clone(), source }
    }

    /// The header of what lies in one of the two places, if it is whole.
    fn header(&self, place: u64, which: u8, page: &mut [u8]) -> Result<Option<Header>> {
        let number = 2 * place + u64::from(which) - 1;
        match self.file.read_at(number * self.size as u64, page) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map_err(self.wrap()).map(|()| Header::read(number, page).ok()),
        }
    }
}

impl<F: DiskFile> Slots for FileSlots<F> {
    fn read(&self, place: u64, page: &mut [u8]) -> Result<bool> {
        match self.current.get(place as usize) {
            Some(&which @ (1 | 2)) => Ok(self.header(place, which, page)?.is_some()),
            _ => Ok(false),
        }
    }

    fn write(&mut self, pages: &mut [(u64, Header, Vec<u8>)]) -> Result<()> {
        for (place, header, page) in &mut *pages {
            let next = if self.current.get(*place as usize) == Some(&1) { 2 } else { 1 };
            let number = 2 * *place + next - 1;
            header.seal(number, page);
            self.file.write_at(number * self.size as u64, page).map_err(self.wrap())?;
        }
        // Before any of them is written again.
        self.file.sync().map_err(self.wrap())?;
        for (place, ..) in pages {
            let at = *place as usize;
            self.current.resize(self.current.len().max(at + 1), 0);
            self.current[at] = if self.current[at] == 1 { 2 } else { 1 };
        }
        Ok(())
    }
}

/// A forest in a folder.
///
/// ```
/// use bouquet::{ForestFile, ForestStructuredSettings};
/// # let path = std::env::temp_dir().join(format!("bouquet-forest-{}", std::process::id()));
/// let settings = ForestStructuredSettings { items: Some(100_000), fpr: Some(0.01), ..Default::default() };
/// let mut forest = ForestFile::create(&path, &settings)?;
/// forest.insert("rose")?;
/// forest.flush()?;
/// drop(forest);
/// let forest = ForestFile::open(&path)?;
/// assert!(forest.contains("rose") && !forest.contains("thistle"));
/// # drop(forest);
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Debug)]
pub struct ForestFile<D: Disk = Directory> {
    disk: D,
    trees: Trees<FileSlots<D::File>>,
    hashing: Hashing,
    items: u64,
    _lock: Option<FileLock>,
}

/// What there is to tell of a forest.
///
/// ```
/// use bouquet::{ForestFile, ForestStructuredSettings, paged::MemoryDisk};
/// let forest = ForestFile::create_on(MemoryDisk::default(), &ForestStructuredSettings::default(), 0)?;
/// assert_eq!((forest.stats().blocks, forest.stats().pages, forest.stats().levels), (4, 256, 1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ForestStats {
    /// Insertions.
    pub items: u64,
    /// Blocks of pages.
    pub blocks: u64,
    /// Pages.
    pub pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Levels of blocks, the pages that a lookup reads at most.
    pub levels: u32,
    /// Pages that are damaged and answer maybe for every key.
    pub lost: u64,
    /// Pages that wait to be written.
    pub buffered: u64,
    /// Pages read since it was opened.
    pub reads: u64,
    /// Pages written since it was opened.
    pub writes: u64,
}

impl ForestFile {
    /// Creates a forest in a folder, which is made if it is not there.
    pub fn create(path: &Path, settings: &ForestStructuredSettings) -> Result<Self> {
        Self::create_seeded(path, settings, 0)
    }

    /// The same with another seed of the hash function.
    pub fn create_seeded(path: &Path, settings: &ForestStructuredSettings, seed: u64) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(|source| Error::Io { path: path.into(), source })?;
        let lock = lock_folder(path)?;
        let mut forest = Self::create_on(Directory::new(path), settings, seed)?;
        forest._lock = Some(lock);
        Ok(forest)
    }

    /// Opens the forest in a folder, unless another program has ([`Error::Busy`]).
    pub fn open(path: &Path) -> Result<Self> {
        manifest::read(&Directory::new(path))?;
        let lock = lock_folder(path)?;
        let mut forest = Self::open_on(Directory::new(path))?;
        forest._lock = Some(lock);
        Ok(forest)
    }
}

impl<D: Disk> ForestFile<D> {
    /// Creates a forest on a disk.
    pub fn create_on(disk: D, settings: &ForestStructuredSettings, seed: u64) -> Result<Self> {
        let shape = shape_of(settings)?;
        manifest::refuse_another(&disk)?;
        let file = disk.create(PAGES).map_err(|source| Error::Io { path: disk.path(PAGES), source })?;
        let slots = FileSlots { file, name: disk.path(PAGES), size: shape.page, current: Vec::new() };
        let trees = Trees::new(shape, slots)?;
        let mut forest = ForestFile { disk, trees, hashing: Hashing::seeded(seed), items: 0, _lock: None };
        forest.flush()?;
        Ok(forest)
    }

    /// Opens the forest on a disk, which nobody else may have open.
    pub fn open_on(disk: D) -> Result<Self> {
        let body = manifest::read_kind(&disk, FACTS_NUMBER)?;
        let mut fields = FieldReader(&body);
        let mut next = || fields.number();
        let [page, blocks, pages, children, hashes, capacity, buffer] =
            [next()?, next()?, next()?, next()?, next()?, next()?, next()?];
        let [seed, items, sequence] = [next()?, next()?, next()?];
        let asked = ForestStructuredSettings {
            page: Some(page),
            blocks: Some(blocks),
            pages: Some(pages),
            children: Some(children),
            hashes: Some(u32::try_from(hashes).unwrap_or(u32::MAX)),
            capacity: Some(capacity),
            buffer: Some(buffer),
            ..Default::default()
        };
        let shape = shape_of(&asked)?;
        let numbers = fields.numbers()?;
        let acknowledged = fields.bytes()?;
        let file = disk.open(PAGES).map_err(|source| Error::Io { path: disk.path(PAGES), source })?;
        let slots = FileSlots { file, name: disk.path(PAGES), size: shape.page, current: Vec::new() };
        let mut trees = Trees::new(shape, slots)?;
        trees.add_all(&numbers)?;
        trees.sequence = sequence;
        Self::look_at_pages(&mut trees, acknowledged, sequence)?;
        Ok(ForestFile { disk, trees, hashing: Hashing::seeded(seed), items, _lock: None })
    }

    /// Finds the later of the two places of every page, and the pages that are lost.
    fn look_at_pages(trees: &mut Trees<FileSlots<D::File>>, acknowledged: &[u8], sequence: u64) -> Result<()> {
        let mut page = vec![0; trees.shape.page];
        let mut current = vec![0; trees.known.len()];
        // Blocks that no manifest names are made again, in the same places: nothing of them may be found there then.
        let end = 2 * trees.known.len() as u64 * trees.shape.page as u64;
        let file = &trees.slots.file;
        if file.len().map_err(trees.slots.wrap())? > end {
            file.truncate(end).and_then(|()| file.sync()).map_err(trees.slots.wrap())?;
        }
        for (place, chosen) in current.iter_mut().enumerate() {
            let both = [1, 2].map(|which| trees.slots.header(place as u64, which, &mut page));
            let [first, second] = both;
            let both = [first?, second?].map(|header| header.filter(|header| header.extra == trees.number_at(place)));
            let sequences = both.map(|header| header.map(|header| header.sequence));
            // What is written from now on is later than all that lies there.
            trees.sequence = trees.sequence.max(sequences[0].max(sequences[1]).unwrap_or(0)).min(MOST_OPERATIONS);
            // Of two that are alike the one that was acknowledged.
            let told = acknowledged.get(place).copied();
            let named = told.filter(|which| (1..=2).contains(which));
            let later = match named {
                Some(2) if sequences[0] > sequences[1] => 1,
                Some(2) => 2,
                _ if sequences[1] > sequences[0] => 2,
                _ => 1,
            };
            let found = both[later as usize - 1];
            let is_trusted = match (named, found) {
                // It was written behind the acknowledged one, from what that held.
                (Some(named), Some(header)) => {
                    later == named || header.sequence > sequence || both[named as usize - 1].is_some()
                }
                (Some(_), None) => false,
                (None, _) => true,
            };
            if is_trusted && told != Some(LOST) {
                let count = found.map_or(0, |header| header.count);
                trees.known[place] = Known { count, is_lost: false };
                *chosen = if found.is_some() { later } else { 0 };
            } else {
                trees.known[place] = Known { count: 0, is_lost: true };
            }
        }
        trees.slots.current = current;
        Ok(())
    }

    /// Inserts a key. It is safe from crashes after the next [`flush`](Self::flush).
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.trees.insert(key.digest(&self.hashing))?;
        self.items += 1;
        Ok(())
    }

    /// Whether the key may be there: reads at most one page of each level.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.trees.contains(key.digest(&self.hashing))
    }

    /// Returns when every key so far is on the disk.
    pub fn flush(&mut self) -> Result<()> {
        self.trees.flush()?;
        self.trees.slots.file.sync().map_err(self.trees.slots.wrap())?;
        let Shape { page, blocks, pages, children, hashes, capacity, buffer } = self.trees.shape;
        let mut fields = Fields::default();
        for number in [page as u64, blocks, pages, children, hashes.into(), capacity, buffer as u64] {
            fields.number(number);
        }
        for number in [self.hashing.seed(), self.items, self.trees.sequence] {
            fields.number(number);
        }
        fields.numbers(&self.trees.numbers);
        // What is lost stays lost: keys that came since answer maybe by that alone.
        let known = self.trees.known.iter().enumerate();
        let places: Vec<u8> = known
            .map(
                |(at, known)| if known.is_lost { LOST } else { self.trees.slots.current.get(at).copied().unwrap_or(0) },
            )
            .collect();
        fields.bytes(&places);
        manifest::write_beside(&self.disk, FACTS_NUMBER, &fields.0)?;
        manifest::enforce(&self.disk)
    }

    /// What there is to tell of it.
    #[must_use]
    pub fn stats(&self) -> ForestStats {
        let trees = &self.trees;
        ForestStats {
            items: self.items,
            blocks: trees.numbers.len() as u64,
            pages: trees.known.len() as u64,
            page_bytes: trees.shape.page as u64,
            levels: trees.levels(),
            lost: trees.known.iter().filter(|known| known.is_lost).count() as u64,
            buffered: trees.buffer.len() as u64,
            reads: trees.reads.get(),
            writes: trees.writes.get(),
        }
    }
}
