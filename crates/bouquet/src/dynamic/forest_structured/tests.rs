use super::file::ForestFile;
use super::*;
use crate::hash::SplitMix;
use crate::parts::pages::MemoryDisk;
use crate::parts::pages::faulty::{FaultyDisk, every_cut, lossy};

/// A small forest: 2 pages of 1,280 bits in the first level.
fn small() -> ForestStructuredSettings {
    ForestStructuredSettings { page: Some(256), blocks: Some(2), pages: Some(1), buffer: Some(5), ..Default::default() }
}

#[test]
fn blocks_are_numbered_level_by_level_as_in_the_survey() {
    let slots = MemorySlots { size: 4096, bytes: Vec::new() };
    let shape = Shape { page: 4096, blocks: 4, pages: 64, children: 4, hashes: 9, capacity: 2_464, buffer: 9 };
    let mut trees = Trees::new(shape, slots).unwrap();
    assert_eq!(trees.numbers, [1, 2, 3, 4]);
    trees.grow().unwrap();
    assert_eq!((trees.numbers.len(), trees.levels()), (20, 2));
    // The second child of block 2 is block 10; its children are 21 + 4 (10 - 5) and the three that follow.
    assert!(!trees.can_add(10) && trees.can_add(41) && trees.can_add(44) && !trees.can_add(0));
    assert_eq!(Shape::bits(4096), 32_000);
}

#[test]
fn the_rate_of_three_levels_is_that_of_the_formula_and_no_lookup_reads_more_than_a_page_of_each() {
    // 16 trees of 1 + 4 + 16 pages for 177 keys each; those of the third level are two thirds full.
    let settings = ForestStructuredSettings {
        fpr: Some(0.03),
        page: Some(320),
        blocks: Some(4),
        pages: Some(4),
        buffer: Some(20),
        ..Default::default()
    };
    let (filters, queries, keys) = (20, 100_000u64, 44_000u64);
    let (mut found, mut expected_from_fill) = (0.0, 0.0);
    let mut theory = 0.0;
    for seed in 0..filters {
        let mut filter = ForestStructured::hashed(settings.clone(), Hashing::seeded(seed)).unwrap();
        (0..keys).for_each(|key| assert!(filter.insert(&key).is_ok()));
        assert_eq!(filter.levels(), 3);
        let before = filter.mechanism.trees.reads.get();
        found += (0..queries).filter(|key| filter.contains(&(key | 1 << 40))).count() as f64;
        let reads = filter.mechanism.trees.reads.get() - before;
        assert!(reads <= 3 * queries && reads > 2 * queries, "{reads} pages in {queries} lookups");
        assert!((0..2_000u64).all(|key| filter.page_reads(&key) <= 3 && filter.page_reads(&(key | 1 << 41)) <= 3));
        expected_from_fill += filter.stats().fpr.unwrap();
        theory = filter.expected(keys).false_positive.unwrap();
        // A flat filter on flash that writes what it changes writes k pages for a key.
        let writes = filter.mechanism.trees.writes.get() as f64 / keys as f64;
        let flat = f64::from(filter.settings().hashes.unwrap());
        assert!(writes <= flat / 2.0, "{writes} pages per key, {flat} for a flat filter");
    }
    let all = (filters * queries) as f64;
    let (measured, of_fill) = (found / all, expected_from_fill / filters as f64);
    let sigma = (of_fill * (1.0 - of_fill) / all).sqrt();
    assert!((measured - of_fill).abs() < 5.0 * sigma, "{measured} {of_fill} {sigma}");
    assert!((of_fill / theory - 1.0).abs() < 0.02, "{of_fill} against {theory}");
    let full = paged::full_rate(paged::page_rate(0.03, 3), 3);
    assert!(theory < full && theory > full / 2.0, "{theory}");
}

#[test]
fn large_pages_are_written_once_for_many_keys() {
    let settings = ForestStructuredSettings { buffer: Some(32), items: Some(3_000_000), ..Default::default() };
    let mut filter = ForestStructured::with(settings).unwrap();
    assert!((0..300_000u64).all(|key| filter.insert(&key).is_ok()));
    let writes = filter.mechanism.trees.writes.get() as f64 / 300_000.0;
    assert!(writes < 1.0, "{writes} pages per key");
    assert!((0..300_000u64).step_by(97).all(|key| filter.contains(&key)));
}

/// Inserts keys, flushing now and then, and marks how many were acknowledged.
fn run(disk: &FaultyDisk) -> u64 {
    let mut forest = ForestFile::create_on(disk.clone(), &small(), 3).unwrap();
    for key in 1..=1_500u64 {
        forest.insert(&key).unwrap();
        if key % 170 == 0 {
            forest.flush().unwrap();
            disk.mark(key);
        }
        if key == 700 {
            forest = ForestFile::open_on(disk.clone()).unwrap();
            (681..=key).for_each(|key| forest.insert(&key).unwrap());
        }
    }
    assert!(forest.stats().levels >= 3);
    1_500
}

fn check(disk: MemoryDisk, acknowledged: u64) {
    if let Ok(forest) = ForestFile::open_on(disk.clone()) {
        assert!((1..=acknowledged).all(|key| forest.contains(&key)), "of {acknowledged} keys some are lost");
        assert!(forest.stats().lost == 0, "{:?}", forest.stats());
        let wrong = (0..1_000u64).filter(|key| forest.contains(&(key | 1 << 40))).count();
        assert!(wrong < 100, "{wrong} of 1000");
    } else {
        assert_eq!(acknowledged, 0, "the forest has vanished");
    }
}

#[test]
fn a_crash_between_any_two_writes_or_within_one_keeps_every_key_that_was_flushed() {
    let disk = FaultyDisk::default();
    run(&disk);
    let events = disk.events();
    every_cut(&events, 101, check);
    let mut random = SplitMix::new(5);
    for _ in 0..500 {
        let (disk, acknowledged) = lossy(&events, random.below(events.len() as u64 + 1) as usize, &mut random);
        check(disk, acknowledged);
    }
}

#[test]
fn what_is_flushed_after_a_crash_survives_the_next_one() {
    let disk = FaultyDisk::default();
    run(&disk);
    let events = disk.events();
    let mut random = SplitMix::new(6);
    for _ in 0..100 {
        let (crashed, first) = lossy(&events, random.below(events.len() as u64 + 1) as usize, &mut random);
        let again = FaultyDisk::with_files_of(&crashed);
        let before = again.events().len();
        let Ok(mut forest) = ForestFile::open_on(again.clone()) else { continue };
        for key in 10_000..10_600u64 {
            forest.insert(&key).unwrap();
            if key % 150 == 0 {
                forest.flush().unwrap();
                again.mark(key);
            }
        }
        let events = again.events();
        for _ in 0..10 {
            let count = before + random.below((events.len() - before) as u64 + 1) as usize;
            let (disk, second) = lossy(&events, count, &mut random);
            let forest = ForestFile::open_on(disk).unwrap();
            assert!((1..=first).all(|key| forest.contains(&key)), "of {first} keys some are lost");
            assert!((10_000..=second).all(|key| forest.contains(&key)), "of the keys up to {second} some are lost");
        }
    }
}

#[test]
fn a_damaged_page_answers_maybe_and_never_no() {
    let disk = FaultyDisk::default();
    let all = run(&disk);
    let mut forest = ForestFile::open_on(disk.clone()).unwrap();
    (1..=all).for_each(|key| forest.insert(&key).unwrap());
    forest.flush().unwrap();
    let strangers =
        |forest: &ForestFile<FaultyDisk>| (0..4_000u64).filter(|key| forest.contains(&(key | 1 << 40))).count();
    let before = strangers(&forest);
    drop(forest);
    // Both places of the first page: whatever the later one was.
    for place in [0, 1] {
        disk.flip("pages.0", place * 256 + 130);
    }
    let mut forest = ForestFile::open_on(disk.clone()).unwrap();
    assert_eq!(forest.stats().lost, 1);
    assert!((1..=all).all(|key| forest.contains(&key)));
    // One of two paths begins there; 5 sigma of 4,000 are 160.
    let after = strangers(&forest);
    assert!(after.abs_diff(2_000 + before / 2) < 160, "{before} {after}");
    (all + 1..all + 500).for_each(|key| forest.insert(&key).unwrap());
    forest.flush().unwrap();
    drop(forest);
    let forest = ForestFile::open_on(disk).unwrap();
    assert!(forest.stats().lost == 1 && (1..all + 500).all(|key| forest.contains(&key)));
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let disk = FaultyDisk::default();
    let mut forest = ForestFile::create_on(disk.clone(), &small(), 3).unwrap();
    (0..500u64).for_each(|key| forest.insert(&key).unwrap());
    forest.flush().unwrap();
    disk.set_room(Some(700));
    let refused = (500..1_000u64).filter(|key| forest.insert(key).is_err()).count();
    assert!(refused > 0 && forest.flush().is_err());
    disk.set_room(None);
    (500..1_000u64).for_each(|key| forest.insert(&key).unwrap());
    forest.flush().unwrap();
    drop(forest);
    let forest = ForestFile::open_on(disk).unwrap();
    assert!((0..1_000u64).all(|key| forest.contains(&key)));
}
