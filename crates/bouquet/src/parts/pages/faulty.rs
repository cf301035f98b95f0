//! A disk for tests: it fills up, fails, and remembers everything that was done to it, so that a crash at any byte can be
//! played.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Disk, DiskFile, MemoryDisk};
use crate::hash::SplitMix;

/// What was done. Files are numbered in the order in which they were created.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Create(String),
    Write(usize, u64, Vec<u8>),
    Truncate(usize, u64),
    Sync(usize),
    Rename(String, String),
    Remove(String),
    SyncNames,
    /// What the test wants to remember.
    Mark(u64),
}

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
    events: Vec<Event>,
    /// Bytes that can be written before the disk is full.
    room: Option<u64>,
    syncs_fail: bool,
}

/// The disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyDisk(Arc<Mutex<State>>);

#[derive(Clone, Debug)]
pub(crate) struct FaultyFile {
    disk: FaultyDisk,
    number: usize,
}

impl FaultyDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// A disk on which the files of another lie, synced.
    pub fn with_files_of(disk: &MemoryDisk) -> Self {
        let copy = FaultyDisk::default();
        for name in disk.names().unwrap() {
            let from = disk.open(&name).unwrap();
            let mut bytes = vec![0; from.len().unwrap() as usize];
            from.read_at(0, &mut bytes).unwrap();
            let to = copy.create(&name).unwrap();
            to.write_at(0, &bytes).unwrap();
            to.sync().unwrap();
        }
        copy.sync_names().unwrap();
        copy
    }

    /// From now on the disk has room for this many bytes: a write that needs more is cut short, and an error.
    pub fn set_room(&self, room: Option<u64>) {
        self.state().room = room;
    }

    pub fn set_syncs_fail(&self, fail: bool) {
        self.state().syncs_fail = fail;
    }

    pub fn mark(&self, number: u64) {
        self.state().events.push(Event::Mark(number));
    }

    pub fn events(&self) -> Vec<Event> {
        self.state().events.clone()
    }

    /// Damages a byte of a file.
    pub fn flip(&self, name: &str, at: usize) {
        let mut state = self.state();
        let number = state.names[name];
        state.files[number][at] ^= 1;
    }
}

impl Disk for FaultyDisk {
    type File = FaultyFile;

    fn open(&self, name: &str) -> Result<FaultyFile> {
        let number = *self.state().names.get(name).ok_or(ErrorKind::NotFound)?;
        Ok(FaultyFile { disk: self.clone(), number })
    }

    fn create(&self, name: &str) -> Result<FaultyFile> {
        let mut state = self.state();
        if state.room == Some(0) {
            return Err(ErrorKind::StorageFull.into());
        }
        let number = state.files.len();
        state.files.push(Vec::new());
        state.names.insert(name.into(), number);
        state.events.push(Event::Create(name.into()));
        Ok(FaultyFile { disk: self.clone(), number })
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.state();
        let number = state.names.remove(from).ok_or(ErrorKind::NotFound)?;
        state.names.insert(to.into(), number);
        state.events.push(Event::Rename(from.into(), to.into()));
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = self.state();
        state.names.remove(name).ok_or(ErrorKind::NotFound)?;
        state.events.push(Event::Remove(name.into()));
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn sync_names(&self) -> Result<()> {
        let mut state = self.state();
        if state.syncs_fail {
            return Err(ErrorKind::Other.into());
        }
        state.events.push(Event::SyncNames);
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("faulty").join(name)
    }
}

impl DiskFile for FaultyFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let state = self.disk.state();
        let there = state.files[self.number].get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(there.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut state = self.disk.state();
        let written = state.room.map_or(bytes.len(), |room| bytes.len().min(room as usize));
        state.room = state.room.map(|room| room - written as u64);
        write(&mut state.files[self.number], offset, &bytes[..written]);
        state.events.push(Event::Write(self.number, offset, bytes[..written].to_vec()));
        if written < bytes.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.disk.state();
        if state.syncs_fail {
            return Err(ErrorKind::Other.into());
        }
        state.events.push(Event::Sync(self.number));
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.disk.state().files[self.number].len() as u64)
    }

    fn truncate(&self, len: u64) -> Result<()> {
        let mut state = self.disk.state();
        state.files[self.number].resize(len as usize, 0);
        state.events.push(Event::Truncate(self.number, len));
        Ok(())
    }
}

fn write(file: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let end = offset as usize + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset as usize..end].copy_from_slice(bytes);
}

/// A disk as it is while events are played.
#[derive(Clone, Default)]
struct Played {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
}

impl Played {
    fn apply(&mut self, event: &Event, created: usize) {
        match event {
            Event::Create(name) => {
                self.files.resize(self.files.len().max(created + 1), Vec::new());
                self.names.insert(name.clone(), created);
            }
            Event::Write(file, offset, bytes) => write(&mut self.files[*file], *offset, bytes),
            Event::Truncate(file, len) => self.files[*file].resize(*len as usize, 0),
            Event::Rename(from, to) => {
                if let Some(number) = self.names.remove(from) {
                    self.names.insert(to.clone(), number);
                }
            }
            Event::Remove(name) => drop(self.names.remove(name)),
            Event::Sync(_) | Event::SyncNames | Event::Mark(_) => {}
        }
    }

    fn disk(&self) -> MemoryDisk {
        MemoryDisk::of(self.names.iter().map(|(name, &number)| (name.clone(), self.files[number].clone())))
    }
}

/// Hands over the disk as it is when the stream of writes is cut, at every byte (or every `stride` of them) and between any two other
/// operations, with the last mark before the cut.
pub(crate) fn every_cut(events: &[Event], stride: usize, mut f: impl FnMut(MemoryDisk, u64)) {
    let mut played = Played::default();
    let mut created = 0;
    let mut marked = 0;
    for event in events {
        match event {
            Event::Mark(mark) => {
                marked = *mark;
                continue;
            }
            Event::Write(file, offset, bytes) => {
                let before = played.files[*file].clone();
                for cut in (0..bytes.len()).step_by(stride) {
                    write(&mut played.files[*file], *offset, &bytes[..cut]);
                    f(played.disk(), marked);
                    played.files[*file].clone_from(&before);
                }
            }
            _ => f(played.disk(), marked),
        }
        played.apply(event, created);
        created += usize::from(matches!(event, Event::Create(_)));
    }
    f(played.disk(), marked);
}

/// The disk after a crash behind the first `count` events when the system has kept of everything that was not synced what it
/// liked: some writes, some of them torn, in any order; of names, those that came first.
pub(crate) fn lossy(events: &[Event], count: usize, random: &mut SplitMix) -> (MemoryDisk, u64) {
    let mut durable = Played::default();
    let mut created = 0;
    let mut marked = 0;
    let mut unsynced: Vec<&Event> = Vec::new();
    let mut names: Vec<(&Event, usize)> = Vec::new();
    for event in &events[..count] {
        match event {
            Event::Create(_) => {
                durable.files.push(Vec::new());
                names.push((event, created));
                created += 1;
            }
            Event::Rename(..) | Event::Remove(_) => names.push((event, 0)),
            Event::Write(..) | Event::Truncate(..) => unsynced.push(event),
            Event::Sync(file) => {
                let of = |event: &&Event| matches!(event, Event::Write(of, ..) | Event::Truncate(of, _) if of == file);
                unsynced.iter().copied().filter(|event| of(event)).for_each(|event| durable.apply(event, 0));
                unsynced.retain(|event| !of(event));
            }
            Event::SyncNames => names.drain(..).for_each(|(event, created)| durable.apply(event, created)),
            Event::Mark(mark) => marked = *mark,
        }
    }
    let kept = random.below(names.len() as u64 + 1) as usize;
    names[..kept].iter().for_each(|(event, created)| durable.apply(event, *created));
    for event in unsynced {
        match (random.below(3), event) {
            (0, _) => {}
            (1, Event::Write(file, offset, bytes)) => {
                let torn = random.below(bytes.len() as u64 + 1) as usize;
                durable.apply(&Event::Write(*file, *offset, bytes[..torn].to_vec()), 0);
            }
            _ => durable.apply(event, 0),
        }
    }
    (durable.disk(), marked)
}
