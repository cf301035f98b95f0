//! A store as it was at one moment, and how it is found on a disk.

use std::path::Path;

use super::engine::Engine;
use super::file::StoreStats;
use super::instance::{Instance, Shape};
use super::log::{Log, Record};
use super::{BloomstoreSettings, FACTS_NUMBER, shape_of};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::parts::pages::manifest::{self, FieldReader, Fields};
use crate::parts::pages::{Directory, Disk, FilePages, Pages, Sort};
use crate::shell::Hashed;

/// A store as it was at one moment: whatever its writer does, answers stay the same.
///
/// ```
/// use bouquet::{BloomstoreFile, BloomstoreSettings, paged::{MemoryDisk, StoreOptions}};
/// let disk = MemoryDisk::default();
/// let mut store = BloomstoreFile::create_on(disk, &BloomstoreSettings::default(), 0, StoreOptions::default())?;
/// store.put("rose", b"red")?;
/// let before = store.snapshot();
/// store.put("rose", b"white")?;
/// store.compact()?;
/// assert_eq!((before.get("rose")?, store.get("rose")?), (Some(b"red".to_vec()), Some(b"white".to_vec())));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot<D: Disk = Directory> {
    pub(super) engine: Engine<FilePages<D::File>>,
    pub(super) hashing: Hashing,
}

/// What a manifest says, beside the instances.
pub(super) struct Mark {
    pub shape: Shape,
    pub seed: u64,
    pub generation: u64,
    pub log: u64,
    pub covered: u64,
    pub sequence: u64,
    pub is_logged: bool,
}

impl Mark {
    pub fn write<'a>(&self, instances: impl Iterator<Item = &'a Instance>) -> Vec<u8> {
        let mut fields = Fields::default();
        let Shape { page, pair, pairs, hashes, instances: count } = self.shape;
        for number in [page as u64, pair as u64, pairs.into(), hashes.into(), count, self.seed] {
            fields.number(number);
        }
        for number in [self.generation, self.log, self.covered, self.sequence, self.is_logged.into()] {
            fields.number(number);
        }
        for instance in instances {
            let ((chain, pages), (buffered, count)) = (instance.numbers(), instance.buffered());
            fields.numbers(chain);
            fields.numbers(&pages);
            fields.number(instance.last());
            fields.number(count.into());
            fields.bytes(buffered);
        }
        fields.0
    }

    fn read(fields: &mut FieldReader<'_>) -> Result<Self> {
        let mut next = || fields.number();
        let [page, pair, pairs, hashes, instances, seed] = [next()?, next()?, next()?, next()?, next()?, next()?];
        let small =
            |number: u64| u32::try_from(number).map_err(|_| Error::corrupt("the manifest", "a small number", number));
        let asked = BloomstoreSettings {
            page: Some(page),
            pair: Some(pair),
            hashes: Some(small(hashes)?),
            instances: Some(instances),
            ..Default::default()
        };
        // Whatever the file says, only what could be asked for is a store.
        let shape = Shape { pairs: small(pairs)?, ..shape_of(&asked)? };
        if shape.pairs == 0 {
            return Err(Error::corrupt("pairs of a page", "at least 1", 0));
        }
        let [generation, log, covered, sequence, is_logged] = [next()?, next()?, next()?, next()?, next()?];
        Ok(Mark { shape, seed, generation, log, covered, sequence, is_logged: is_logged != 0 })
    }
}

/// The name of a page file.
pub(super) fn pages_name(generation: u64) -> String {
    format!("pages.{generation}")
}

/// What was found on a disk.
pub(super) struct Recovered<D: Disk> {
    pub view: Snapshot<D>,
    pub mark: Mark,
    pub log: Log<D::File>,
    pub records: Vec<Record>,
    /// The last operation of each instance that is in a page behind the mark.
    pub flushed: Vec<u64>,
}

impl<D: Disk> Recovered<D> {
    /// Reads manifest, pages and log; writes nothing.
    pub fn read(disk: &D) -> Result<Self> {
        let body = manifest::read_kind(disk, FACTS_NUMBER)?;
        let mut fields = FieldReader(&body);
        let mark = Mark::read(&mut fields)?;
        let hashing = Hashing::seeded(mark.seed);
        let name = pages_name(mark.generation);
        let file = disk.open(&name).map_err(|source| Error::Io { path: disk.path(&name), source })?;
        let pages = FilePages::<D::File>::new(mark.shape.page, file, disk.path(&name), mark.covered);
        let there = pages.in_file()?;
        if there < mark.covered {
            return Err(Error::corrupt(format!("the pages of {name}"), mark.covered, there));
        }
        let mut engine = Engine::new(mark.shape, pages)?;
        for owner in 0..mark.shape.instances as usize {
            let numbers = (fields.numbers()?, fields.numbers()?);
            let (last, count) = (fields.number()?, fields.number()?);
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            engine.restore(owner, numbers, (fields.bytes()?, count), last, &hashing)?;
        }
        engine.sequence = mark.sequence;
        let (log, records) = Log::open(disk, mark.log, mark.sequence)?;
        let known = mark.sequence + records.len() as u64;
        let mut flushed = vec![0; mark.shape.instances as usize];
        loop {
            let number = engine.pages.len();
            let page = {
                let Engine { pages, .. } = &mut engine;
                pages.take_next(|header, page| Some((header, page.to_vec())))?
            };
            let Some((header, page)) = page else { break };
            // What a page holds before the log does was never synced.
            let is_known = !mark.is_logged || header.sort == Sort::Overflow || header.sequence <= known;
            if !is_known
                || !engine.fits(&header, &page)
                || engine.recover_page(number, header, &page, &hashing).is_err()
            {
                engine.pages.give_back();
                break;
            }
            if header.sort == Sort::Data {
                flushed[header.owner as usize] = header.sequence;
            }
        }
        let view = Snapshot { engine, hashing };
        Ok(Recovered { view, mark, log, records, flushed })
    }

    /// Plays the log.
    pub fn replay(&mut self) -> Result<()> {
        let Snapshot { engine, hashing } = &mut self.view;
        for record in &self.records {
            let key = Hashed { digest: hashing.digest(&record.key), bytes: &record.key };
            if record.sequence > self.flushed[engine.instance_of(key.digest)] {
                engine.sequence = record.sequence - 1;
                engine.put(key, record.value.as_deref())?;
            }
        }
        if self.mark.is_logged {
            engine.sequence = self.mark.sequence + self.records.len() as u64;
        }
        Ok(())
    }
}

impl Snapshot {
    /// Reads the store in a folder as it is now, without disturbing its writer.
    ///
    /// ```
    /// use bouquet::{BloomstoreFile, BloomstoreSettings, paged::{Snapshot, StoreOptions}};
    /// # let path = std::env::temp_dir().join(format!("bouquet-snapshot-{}", std::process::id()));
    /// let mut store = BloomstoreFile::create(&path, &BloomstoreSettings::default(), StoreOptions::default())?;
    /// store.put("rose", b"red")?;
    /// assert_eq!(Snapshot::open(&path)?.get("rose")?, Some(b"red".to_vec()));
    /// # drop(store);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_on(&Directory::new(path))
    }
}

impl<D: Disk> Snapshot<D> {
    /// Reads the store on a disk as it is now.
    pub fn open_on(disk: &D) -> Result<Self> {
        /// A writer may replace the files between two looks; it does so once in a megabyte of operations.
        const TRIES: u32 = 20;
        let mut tries = 0;
        let mut recovered = loop {
            match Recovered::read(disk) {
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound && tries < TRIES => {
                    // Where there is no manifest, there is no store.
                    manifest::read(disk)?;
                    tries += 1;
                }
                read => break read?,
            }
        };
        recovered.view.engine.pages = recovered.view.engine.pages.only_read();
        recovered.replay()?;
        Ok(recovered.view)
    }

    pub(super) fn hashed<'a>(&self, key: &'a [u8]) -> Hashed<'a> {
        Hashed { digest: self.hashing.digest(key), bytes: key }
    }

    /// The value of a key.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>> {
        key.with_bytes(|key| self.engine.get(self.hashed(key), true))
    }

    /// Whether the key is there.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool> {
        key.with_bytes(|key| Ok(self.engine.get(self.hashed(key), false)?.is_some()))
    }

    /// Hands over every key with its value, in no particular order.
    pub fn for_each(&self, f: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        self.engine.for_each(f)
    }

    /// What there is to tell of it.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let Engine { shape, pages, meters, sequence, .. } = &self.engine;
        StoreStats {
            instances: shape.instances,
            data_pages: self.engine.data_pages(),
            chain_pages: self.engine.chain_pages(),
            pages: pages.len(),
            page_bytes: shape.page as u64,
            log_bytes: 0,
            memory: self.engine.memory(),
            operations: *sequence,
            data_reads: meters.data_reads.get(),
            chain_reads: meters.chain_reads.get(),
            writes: meters.writes.get(),
        }
    }
}
