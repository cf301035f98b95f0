use std::collections::{BTreeMap, HashMap};

use super::file::{BloomstoreFile, Durability, Snapshot, StoreOptions};
use super::*;
use crate::AnyFilter;
use crate::capability::{Item, Note};
use crate::hash::SplitMix;
use crate::parts::pages::faulty::{Event, FaultyDisk, every_cut, lossy};
use crate::parts::pages::{Disk, MemoryDisk};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const LOGGED: StoreOptions = StoreOptions { durability: Durability::Logged, interval: 7 };
const SYNCED: StoreOptions = StoreOptions { durability: Durability::Synced, interval: 1 };
const BUFFERED: StoreOptions = StoreOptions { durability: Durability::Buffered, interval: 1 };

/// Small pages, so that all sorts are written soon: 4 pairs in a page, 128 pairs in a chain page.
fn small() -> BloomstoreSettings {
    BloomstoreSettings { page: Some(512), instances: Some(2), ..Default::default() }
}

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Compact,
    Sync,
    /// Closes the store and opens it again.
    Reopen,
}

/// A script of 200 operations on a few keys: new pairs, replaced ones, some that are too large for a page, removals.
fn script(seed: u64, sync_often: bool) -> Vec<Op> {
    let mut random = SplitMix::new(seed);
    let mut ops: Vec<Op> = (0..200)
        .map(|step| {
            let key = format!("key {}", random.below(60)).into_bytes();
            match random.below(20) {
                0..=4 => Op::Remove(key),
                5 => Op::Put(key, vec![step as u8; 300 + random.below(600) as usize]),
                _ => Op::Put(key, format!("value {step}").into_bytes()),
            }
        })
        .collect();
    ops[70] = Op::Compact;
    ops[120] = Op::Reopen;
    if sync_often {
        (10..200).step_by(45).for_each(|at| ops[at] = Op::Sync);
    }
    ops
}

fn apply_to_model(model: &mut Model, op: &Op) {
    match op {
        Op::Put(key, value) => drop(model.insert(key.clone(), value.clone())),
        Op::Remove(key) => drop(model.remove(key)),
        Op::Compact | Op::Sync | Op::Reopen => {}
    }
}

/// The model after every number of operations.
fn models(ops: &[Op]) -> Vec<Model> {
    let mut all = vec![Model::new()];
    for op in ops {
        let mut next = all[all.len() - 1].clone();
        apply_to_model(&mut next, op);
        all.push(next);
    }
    all
}

/// Runs a script; marks on the disk how many operations must survive a crash.
fn run(disk: &FaultyDisk, ops: &[Op], options: StoreOptions) {
    let mut store = BloomstoreFile::create_on(disk.clone(), &small(), 5, options).unwrap();
    let (mut written, mut durable) = (0, 0);
    for (done, op) in (1..).zip(ops) {
        match op {
            Op::Put(key, value) => store.put(key.as_slice(), value).unwrap(),
            Op::Remove(key) => store.write(&[(key, None)]).unwrap(),
            Op::Compact => store.compact().unwrap(),
            Op::Sync => store.sync().unwrap(),
            Op::Reopen => {
                drop(store);
                store = BloomstoreFile::open_on(disk.clone(), options).unwrap();
            }
        }
        written += u64::from(matches!(op, Op::Put(..) | Op::Remove(_)));
        // Every interval is synced, and so is whatever syncs.
        let synced = match op {
            Op::Put(..) | Op::Remove(_) => {
                options.durability == Durability::Synced
                    || options.durability == Durability::Logged && written % options.interval == 0
            }
            _ => {
                written = 0;
                true
            }
        };
        if synced {
            durable = done;
        }
        disk.mark(durable);
    }
    // What the store does when it is dropped is not part of the script.
    std::mem::forget(store);
}

fn content(disk: &MemoryDisk) -> Model {
    let store = Snapshot::open_on(disk).unwrap();
    let mut content = Model::new();
    store
        .for_each(|key, value| {
            assert!(content.insert(key.to_vec(), value.to_vec()).is_none(), "listed twice");
            Ok(())
        })
        .unwrap();
    content
}

/// The store on this disk equals the model after `least` to `most` operations; gets agree with the listing, and it can be written.
fn check_recovered(disk: &MemoryDisk, models: &[Model], least: u64, options: StoreOptions, thorough: bool) {
    let seen = content(disk);
    let prefix = (least as usize..models.len()).find(|&count| models[count] == seen);
    assert!(prefix.is_some(), "of {least} operations that were synced some are lost: {seen:?}");
    if thorough {
        let mut store = BloomstoreFile::open_on(disk.clone(), options).unwrap();
        for number in 0..60 {
            let key = format!("key {number}");
            assert_eq!(store.get(key.as_str()).unwrap().as_ref(), seen.get(key.as_bytes()), "{key}");
        }
        store.put("after", b"the crash").unwrap();
        drop(store);
        let mut expected = seen;
        expected.insert(b"after".to_vec(), b"the crash".to_vec());
        assert_eq!(content(disk), expected);
    }
}

/// Before the first manifest there is no store: nothing was promised.
fn is_there(disk: &MemoryDisk) -> bool {
    disk.open("MANIFEST").is_ok()
}

#[test]
fn a_crash_at_any_byte_leaves_the_state_after_some_prefix_with_all_that_was_synced() {
    for (options, seed) in [(SYNCED, 1), (LOGGED, 2)] {
        let (disk, ops) = (FaultyDisk::default(), script(seed, true));
        run(&disk, &ops, options);
        let (models, mut cuts) = (models(&ops), 0u64);
        every_cut(&disk.events(), 1, |disk, durable| {
            cuts += 1;
            if is_there(&disk) {
                check_recovered(&disk, &models, durable, options, cuts.is_multiple_of(37));
            } else {
                assert_eq!(durable, 0, "the store has vanished");
            }
        });
        assert!(cuts > 20_000, "{cuts} cuts");
    }
}

#[test]
fn a_crash_that_loses_or_tears_what_was_not_synced_keeps_what_was() {
    let mut random = SplitMix::new(3);
    for (options, seed) in [(SYNCED, 4), (LOGGED, 5)] {
        let (disk, ops) = (FaultyDisk::default(), script(seed, true));
        run(&disk, &ops, options);
        let (models, events) = (models(&ops), disk.events());
        for _ in 0..3_000 {
            let count = random.below(events.len() as u64 + 1) as usize;
            let (disk, durable) = lossy(&events, count, &mut random);
            if is_there(&disk) {
                check_recovered(&disk, &models, durable, options, random.below(20) == 0);
            } else {
                assert_eq!(durable, 0, "the store has vanished");
            }
        }
    }
}

#[test]
fn a_second_crash_brings_nothing_back_that_the_first_one_took() {
    let mut random = SplitMix::new(12);
    for (options, seed) in [(SYNCED, 13), (LOGGED, 14)] {
        let (disk, ops) = (FaultyDisk::default(), script(seed, true));
        run(&disk, &ops, options);
        let events = disk.events();
        for round in 0..150 {
            let (crashed, _) = lossy(&events, random.below(events.len() as u64 + 1) as usize, &mut random);
            if !is_there(&crashed) {
                continue;
            }
            let again = FaultyDisk::with_files_of(&crashed);
            let before = again.events().len();
            let mut store = BloomstoreFile::open_on(again.clone(), options).unwrap();
            let mut models = vec![content(&crashed)];
            // Values as long as those of the first life, so that records fall where others lay.
            for op in &ops[random.below(100) as usize..][..60] {
                let mut model = models[models.len() - 1].clone();
                match op {
                    Op::Put(key, value) => {
                        let value: Vec<u8> = value.iter().rev().copied().collect();
                        store.put(key.as_slice(), &value).unwrap();
                        model.insert(key.clone(), value);
                    }
                    Op::Remove(key) => {
                        store.write(&[(key, None)]).unwrap();
                        model.remove(key);
                    }
                    Op::Compact | Op::Sync | Op::Reopen => continue,
                }
                models.push(model);
                if options == SYNCED {
                    again.mark(models.len() as u64 - 1);
                }
            }
            std::mem::forget(store);
            let events = again.events();
            for _ in 0..10 {
                let count = before + random.below((events.len() - before) as u64 + 1) as usize;
                let (disk, durable) = lossy(&events, count, &mut random);
                let seen = content(&disk);
                let is_prefix = models[durable as usize..].contains(&seen);
                assert!(is_prefix, "round {round}: after {durable} operations that were synced: {seen:?}");
            }
        }
    }
}

#[test]
fn without_a_log_a_crash_costs_what_came_after_the_last_sync_at_most() {
    let (disk, ops) = (FaultyDisk::default(), script(6, true));
    run(&disk, &ops, BUFFERED);
    let (models, events) = (models(&ops), disk.events());
    let mut random = SplitMix::new(7);
    for step in 0..2_000 {
        let count = random.below(events.len() as u64 + 1) as usize;
        let (disk, durable) = lossy(&events, count, &mut random);
        if !is_there(&disk) {
            assert_eq!(durable, 0, "the store has vanished");
            continue;
        }
        // Instances have different prefixes; each key has a value that it had since the sync, or was removed since.
        let seen = content(&disk);
        let since = &models[durable as usize..];
        for number in 0..60 {
            let key = format!("key {number}").into_bytes();
            let value = seen.get(&key);
            assert!(since.iter().any(|model| model.get(&key) == value), "step {step}, key {number} has {value:?}");
        }
    }
}

#[test]
fn a_full_disk_and_a_failed_sync_are_errors_and_the_store_goes_on() {
    let ops = script(8, false);
    for room in (0..40_000).step_by(97) {
        let disk = FaultyDisk::default();
        let mut store = BloomstoreFile::create_on(disk.clone(), &small(), 5, SYNCED).unwrap();
        let mut model = Model::new();
        disk.set_room(Some(room));
        let mut refused = 0;
        for (step, op) in ops.iter().enumerate() {
            // Room is made after a while.
            if step == 150 {
                disk.set_room(None);
            }
            let done = match op {
                Op::Put(key, value) => store.put(key.as_slice(), value),
                Op::Remove(key) => store.write(&[(key, None)]),
                Op::Compact => store.compact(),
                Op::Sync | Op::Reopen => Ok(()),
            };
            match done {
                Ok(()) => apply_to_model(&mut model, op),
                Err(Error::Io { source, .. }) => {
                    assert!(step < 150 && source.kind() == std::io::ErrorKind::StorageFull, "step {step}: {source}");
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(refused > 0 || room > 5_000, "nothing was refused with room for {room} bytes");
        for number in 0..60 {
            let key = format!("key {number}").into_bytes();
            assert_eq!(store.get(key.as_slice()).unwrap().as_ref(), model.get(&key), "room {room}, key {number}");
        }
        drop(store);
        let store = BloomstoreFile::open_on(disk.clone(), SYNCED).unwrap();
        let mut listed = 0;
        store
            .for_each(|key, value| {
                listed += 1;
                assert_eq!(model.get(key).map(Vec::as_slice), Some(value));
                Ok(())
            })
            .unwrap();
        assert_eq!(listed, model.len());
    }

    let disk = FaultyDisk::default();
    let mut store = BloomstoreFile::create_on(disk.clone(), &small(), 5, SYNCED).unwrap();
    store.put("rose", b"red").unwrap();
    disk.set_syncs_fail(true);
    assert!(store.put("lily", b"white").is_err() && store.get("lily").unwrap().is_none());
    disk.set_syncs_fail(false);
    store.put("iris", b"blue").unwrap();
    disk.set_syncs_fail(true);
    assert!(store.compact().is_err() && store.get("rose").unwrap().is_some());
    disk.set_syncs_fail(false);
    assert!(store.put("lily", b"white").is_err(), "what the disk has of the pages is not known");
    drop(store);
    let mut store = BloomstoreFile::open_on(disk, SYNCED).unwrap();
    assert_eq!(store.get("iris").unwrap(), Some(b"blue".to_vec()));
    store.put("lily", b"white").unwrap();
}

#[test]
fn damage_is_told_and_not_answered() {
    let disk = FaultyDisk::default();
    let mut store = BloomstoreFile::create_on(disk.clone(), &small(), 5, BUFFERED).unwrap();
    (0..400u64).for_each(|key| store.put(&key, b"value").unwrap());
    store.sync().unwrap();
    let name = disk.names().unwrap().into_iter().find(|name| name.starts_with("pages.")).unwrap();
    let page = 512 * 3 + 100;
    disk.flip(&name, page);
    let refused = (0..400u64).filter(|key| store.get(key).is_err()).count();
    assert!((1..20).contains(&refused), "{refused} keys");
    assert!((0..400u64).all(|key| store.get(&key).is_err() || store.get(&key).unwrap() == Some(b"value".to_vec())));
    assert!(store.compact().is_err(), "what cannot be read is not dropped");
    disk.flip(&name, page);
    store.compact().unwrap();
    drop(store);
    disk.flip("MANIFEST", 40);
    assert!(matches!(BloomstoreFile::open_on(disk, BUFFERED), Err(Error::Corrupt { .. })));
}

#[test]
fn readers_see_a_snapshot_while_a_writer_writes() {
    let path = std::env::temp_dir().join(format!("bouquet-bloomstore-readers-{}", std::process::id()));
    let mut store = BloomstoreFile::create(&path, &small(), LOGGED).unwrap();
    (0..500u64).for_each(|key| store.put(&key, b"       0").unwrap());
    let before = store.snapshot();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for round in 0..20u64 {
                        assert!((0..500u64).all(|key| before.get(&key).unwrap() == Some(b"       0".to_vec())));
                        // Whoever opens the folder meanwhile sees one state after the other.
                        let now = Snapshot::open(&path).unwrap();
                        let of = |key: u64| now.get(&key).unwrap().unwrap();
                        let (first, last) = (of(0), of(499));
                        assert!(first >= last, "round {round}: {first:?} {last:?}");
                    }
                })
            })
            .collect();
        for round in 0..200u64 {
            let value = format!("{:>8}", round + 1);
            (0..500u64).for_each(|key| store.put(&key, value.as_bytes()).unwrap());
            if round % 10 == 0 {
                store.compact().unwrap();
            }
            if readers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                break;
            }
        }
    });
    drop(store);
    std::fs::remove_dir_all(&path).unwrap();
}

/// A million puts, a tenth of them of keys that are there, and a tenth removals, beside a map; then all of it after reopening.
#[test]
fn a_million_operations_agree_with_a_map_in_two_bytes_of_memory_per_key() {
    const PUTS: u64 = 1_000_000;
    let path = std::env::temp_dir().join(format!("bouquet-bloomstore-million-{}", std::process::id()));
    let settings = BloomstoreSettings { items: Some(PUTS), ..Default::default() };
    let mut store = BloomstoreFile::create(&path, &settings, BUFFERED).unwrap();
    let mut random = SplitMix::new(11);
    // Key i has value 0 when it was removed, and otherwise the number of the operation that put it in.
    let mut model: Vec<u64> = Vec::with_capacity(PUTS as usize);
    let key_of = |key: u64| (key * 0x9E37_79B9).to_le_bytes();
    // 38 bytes and a number: with the key and the header a pair has 59 bytes.
    let value_of = |number: u64| {
        let mut value = [7; 46];
        value[..8].copy_from_slice(&number.to_le_bytes());
        value
    };
    let mut changes: Vec<([u8; 8], Option<[u8; 46]>)> = Vec::new();
    for number in 1..=PUTS {
        let there = model.len() as u64;
        let (key, value) = match random.below(10) {
            0 if there > 0 => (random.below(there), number),
            1 if there > 0 => (random.below(there), 0),
            _ => {
                model.push(0);
                (there, number)
            }
        };
        model[key as usize] = value;
        changes.push((key_of(key), (value > 0).then(|| value_of(value))));
        if changes.len() == 1_000 {
            let batch: Vec<_> = changes.iter().map(|(key, value)| (&key[..], value.as_ref().map(|v| &v[..]))).collect();
            store.write(&batch).unwrap();
            changes.clear();
        }
    }
    // All of it by listing, and every seventh key, present or not, by its lookup.
    let check = |view: &Snapshot| {
        let numbers: HashMap<_, _> = (0..).zip(&model).map(|(key, number)| (key_of(key), *number)).collect();
        let mut listed = 0;
        view.for_each(|key, value| {
            let number = numbers[key];
            listed += 1;
            assert!(number > 0 && value == value_of(number), "key {key:?}");
            Ok(())
        })
        .unwrap();
        assert_eq!(listed, model.iter().filter(|&&number| number > 0).count());
        for (key, &number) in (0..).zip(&model).step_by(7) {
            let expected = (number > 0).then(|| value_of(number).to_vec());
            assert_eq!(view.get(&key_of(key)).unwrap(), expected, "key {key}");
        }
    };
    let live = model.iter().filter(|&&number| number > 0).count() as f64;
    let per_key = store.stats().memory as f64 / live;
    assert!(per_key < 2.0, "{per_key} bytes of memory per key");
    check(&store.snapshot());
    drop(store);

    let store = BloomstoreFile::open(&path, BUFFERED).unwrap();
    let view = store.snapshot();
    check(&view);

    // Misses: the data pages that are read are those whose filters say so in vain.
    let before = view.stats();
    let misses = 200_000u64;
    assert!((0..misses).all(|key| !view.contains(&(key | 1 << 63)).unwrap()));
    let after = view.stats();
    let (data, chain) = (after.data_reads - before.data_reads, after.chain_reads - before.chain_reads);
    let pages = after.data_pages as f64 / after.instances as f64;
    let rate = paged::filter_rate(960, 10, 63);
    let expected = misses as f64 * rate * pages;
    // A lookup makes B trials of probability f; and the rates of filters differ from each other by about a half.
    let sigma = (expected + (0.5 * expected).powi(2) / after.data_pages as f64).sqrt();
    assert!(
        (data as f64 - expected).abs() < 5.0 * sigma,
        "{data} data pages, expected {expected:.0} with sigma {sigma:.0}"
    );
    assert!(chain <= misses * CHAIN && chain > misses * (pages as u64 / 32 - 1), "{chain} chain pages");
    drop(store);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn growing_and_compacting_keep_the_pairs_and_shorten_the_chains() {
    let mut store = Bloomstore::with(BloomstoreSettings { page: Some(512), ..Default::default() }).unwrap();
    for key in 0..5_000u64 {
        assert!(store.insert(&key, &key.to_le_bytes()).unwrap());
    }
    // 4 pairs in a page, 1,024 in an instance.
    assert_eq!(store.settings().instances, Some(8));
    let longest = (0..5_000u64).map(|key| store.page_reads(&(key + 1_000_000))).max().unwrap();
    assert!(longest <= 2 * Bloomstore::LONGEST_CHAIN, "{longest} pages");
    assert!((0..5_000u64).all(|key| store.get(&key) == Answer::Value(Value::Bytes(key.to_le_bytes().to_vec()))));
    for key in 0..4_000u64 {
        store.remove_key(&key).unwrap();
    }
    store.compact().unwrap();
    assert_eq!((store.items(), store.list().entries.len()), (1_000, 1_000));
}

#[test]
fn the_verbs_reach_the_store_and_its_frame_holds_large_pairs() {
    let mut filter = AnyFilter::from_structure(Bloomstore::with_items(100).unwrap()).unwrap();
    let large = vec![9; 20_000];
    let long_key = vec![b'k'; 5_000];
    for (key, value) in [(b"rose".as_slice(), large.as_slice()), (&long_key, b"long"), (b"", b"")] {
        assert!(filter.insert().unwrap().insert(Item::new(key, Note::Bytes(value))).unwrap());
    }
    let again = AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
    for (key, value) in [(b"rose".as_slice(), large.as_slice()), (&long_key, b"long"), (b"", b"")] {
        assert_eq!(again.get().unwrap().get(key), Answer::Value(Value::Bytes(value.to_vec())));
    }
    filter.remove().unwrap().remove(Item::from(long_key.as_slice())).unwrap();
    assert_eq!(filter.get().unwrap().get(&long_key), Answer::Absent);
    assert_eq!(filter.stats().items, 2);
}

/// The events of a script say what is written where: nothing is ever written over a page that was synced.
#[test]
fn pages_are_only_appended() {
    let (disk, ops) = (FaultyDisk::default(), script(9, true));
    run(&disk, &ops, SYNCED);
    let mut ends = BTreeMap::new();
    let mut created = Vec::new();
    for event in disk.events() {
        match event {
            Event::Create(name) => created.push(name),
            Event::Write(file, offset, bytes) if created[file].starts_with("pages.") => {
                let end = ends.entry(file).or_insert(0);
                assert_eq!(offset, *end, "{} is not appended to", created[file]);
                *end = offset + bytes.len() as u64;
            }
            Event::Truncate(file, len) => drop(ends.insert(file, len)),
            _ => {}
        }
    }
    assert!(ends.len() > 1, "the store was compacted");
}
