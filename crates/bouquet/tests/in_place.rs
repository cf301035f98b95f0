//! Filters that change in their file: equal to filters in memory, and never falsely valid.

use std::path::{Path, PathBuf};
use std::process::Command;

use bouquet::capability::{Item, Note, NoteType};
use bouquet::codec::Header;
use bouquet::hash::{Hashing, Secret};
use bouquet::kind::{Config, Kind, Structure, Verb};
use bouquet::{AnyFilter, Bloom, Error, OpenOptions, registry};

/// A file that goes away with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Scratch(std::env::temp_dir().join(format!("bouquet-in-place-{}-{name}.bq", std::process::id())))
    }

    fn of(name: &str, filter: &AnyFilter) -> Self {
        let scratch = Self::new(name);
        filter.save(&scratch.0).unwrap();
        scratch
    }

    fn read(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }

    fn write(&self, bytes: &[u8]) {
        std::fs::write(&self.0, bytes).unwrap();
    }

    fn open_writable(&self) -> Result<bouquet::MappedFilter, Error> {
        AnyFilter::open_writable(&self.0, &OpenOptions::default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn empty(kind: &'static Kind) -> AnyFilter {
    AnyFilter::new(&Config::new(kind.facts()).set("items", "5000").unwrap()).unwrap()
}

/// Keys that belong to sets go to the first three in turn.
fn insert(filter: &mut AnyFilter, keys: std::ops::Range<u64>) {
    let grouped = filter.kind().facts().note == NoteType::Group;
    let keys: Vec<_> = keys.map(u64::to_le_bytes).collect();
    let note = |set: u64| if grouped { Note::Group(set % 3) } else { Note::None };
    let items: Vec<_> = keys.iter().zip(0..).map(|(key, set)| Item::new(key, note(set))).collect();
    filter.insert().unwrap().insert_batch(&items).unwrap();
}

fn bloom(keys: std::ops::Range<u64>) -> AnyFilter {
    let mut filter = AnyFilter::from_structure(Bloom::with_rate(5_000, 0.01).unwrap()).unwrap();
    insert(&mut filter, keys);
    filter
}

/// Every way to read this file refuses it as interrupted.
#[track_caller]
fn refused_by_every_reader(path: &Path) {
    let options = OpenOptions::default();
    let bytes = std::fs::read(path).unwrap();
    let answers = [
        AnyFilter::open(path, &options).err(),
        AnyFilter::open_mapped(path, &options).err(),
        AnyFilter::from_bytes(&bytes).err(),
        Bloom::from_bytes(&bytes).err(),
        Header::read(&bytes).err(),
    ];
    for (way, answer) in answers.iter().enumerate() {
        assert!(matches!(answer, Some(Error::Interrupted)), "way {way}: {answer:?}");
    }
}

fn kinds_in_place() -> impl Iterator<Item = &'static Kind> {
    registry::kinds().filter(|kind| kind.is_in_place())
}

#[test]
fn changing_in_place_gives_the_bytes_of_changing_in_memory() {
    assert!(kinds_in_place().count() >= 3);
    for kind in kinds_in_place() {
        let known = matches!(kind.facts().note, NoteType::None | NoteType::Amount | NoteType::Group);
        assert!(known, "the keys of this test are bare or belong to sets");
        let mut in_memory = empty(kind);
        insert(&mut in_memory, 0..1_000);
        let file = Scratch::of(kind.facts().id, &in_memory);
        let mut other = empty(kind);
        insert(&mut other, 3_000..3_500);
        // Filters that forget are merged at the same tick.
        if kind.can(Verb::Advance) {
            other.advance().unwrap().advance(10);
        }

        let mut in_place = file.open_writable().unwrap();
        for filter in [&mut in_memory, &mut *in_place] {
            insert(filter, 1_000..3_000);
            if filter.can(Verb::Remove) {
                filter.remove().unwrap().remove(7u64.to_le_bytes().as_slice().into()).unwrap();
            }
            if kind.can(Verb::Advance) {
                filter.advance().unwrap().advance(10);
            }
            if kind.can(Verb::Merge) {
                filter.merge(&other).unwrap();
            }
            if kind.can(Verb::Intersect) {
                filter.intersect(&other).unwrap();
            }
        }
        assert!(in_memory.to_bytes() == in_place.to_bytes(), "{kind:?} before closing");
        in_place.close().unwrap();
        assert!(in_memory.to_bytes() == file.read(), "{kind:?} in the file");

        // And once more, from the file that was changed in place.
        let mut in_place = file.open_writable().unwrap();
        insert(&mut in_memory, 4_000..4_100);
        insert(&mut in_place, 4_000..4_100);
        in_place.close().unwrap();
        assert!(in_memory.to_bytes() == file.read(), "{kind:?} a second time");
        AnyFilter::open(&file.0, &OpenOptions::default()).unwrap();
    }
}

#[test]
fn the_store_stays_in_the_file_and_a_copy_does_not() {
    let file = Scratch::of("copy", &bloom(0..100));
    let mut in_place = file.open_writable().unwrap();
    let mut copy = AnyFilter::clone(&in_place);
    let before = file.read();
    insert(&mut copy, 100..200);
    let is_mapped = |filter: &AnyFilter| filter.downcast_ref::<Bloom>().unwrap().bits().is_mapped();
    assert!(is_mapped(&in_place) && !is_mapped(&copy));
    assert!(file.read() == before, "a copy has memory of its own");
    insert(&mut in_place, 200..300);
    assert!(file.read() != before, "what is inserted is in the file at once");
    assert!(is_mapped(&in_place) && copy.to_bytes() != in_place.to_bytes());
    in_place.close().unwrap();
    assert!(file.read() == bloom(0..100).tap(|filter| insert(filter, 200..300)).to_bytes());
}

trait Tap: Sized {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Tap for AnyFilter {}

#[test]
fn a_copy_of_the_file_at_any_moment_is_refused_until_it_is_closed() {
    let file = Scratch::of("moments", &bloom(0..100));
    let copy = Scratch::new("moments-copy");
    let mut in_place = file.open_writable().unwrap();
    for moment in 0..5 {
        copy.write(&file.read());
        refused_by_every_reader(&copy.0);
        assert!(matches!(copy.open_writable(), Err(Error::Interrupted)), "a writer refuses it as well");
        insert(&mut in_place, 100 + moment * 100..200 + moment * 100);
    }
    refused_by_every_reader(&file.0);
    in_place.close().unwrap();
    assert!(file.read() == bloom(0..600).to_bytes());
}

#[test]
fn dropping_without_closing_leaves_the_file_refused() {
    let file = Scratch::of("dropped", &bloom(0..100));
    let mut in_place = file.open_writable().unwrap();
    insert(&mut in_place, 100..101);
    drop(in_place);
    refused_by_every_reader(&file.0);
    assert!(matches!(file.open_writable(), Err(Error::Interrupted)));
}

#[test]
fn a_filter_that_was_only_read_leaves_the_file_as_it_was() {
    let file = Scratch::of("unchanged", &bloom(0..100));
    let before = file.read();
    for close in [false, true] {
        let in_place = file.open_writable().unwrap();
        assert!(in_place.contains().unwrap().contains(&7u64.to_le_bytes()));
        refused_by_every_reader(&file.0);
        if close {
            in_place.close().unwrap();
        }
        assert!(file.read() == before || !close);
    }
    assert!(file.read() == before);
}

/// A machine may stop while the header is written; the disk then has some of its bytes, and the pages of the stores in
/// any state while the flag is set.
#[test]
fn a_torn_header_is_refused_unless_it_is_whole() {
    let old = bloom(0..100).to_bytes();
    let file = Scratch::new("torn");
    file.write(&old);
    let mut in_place = file.open_writable().unwrap();
    let opened = file.read();
    insert(&mut in_place, 100..200);
    let changed = file.read();
    in_place.close().unwrap();
    let new = file.read();
    let header = (0..new.len()).rev().find(|&at| new[at] != changed[at]).unwrap() + 1;

    let mut refused = 0;
    for [from, to] in [[&old, &opened], [&changed, &new]] {
        for cut in 0..=header {
            for torn in [[&from[..cut], &to[cut..]].concat(), [&to[..cut], &from[cut..]].concat()] {
                match AnyFilter::from_bytes(&torn) {
                    Ok(_) => assert!(torn == old || torn == new, "cut at {cut}"),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 2 * header, "{refused}");

    // Pages of the store that reach the disk early or never, under the flag.
    for page in 0..changed.len() / 512 {
        let mut mixed = changed.clone();
        let page = header.max(page * 512)..(page * 512 + 512).max(header);
        mixed[page.clone()].copy_from_slice(&opened[page]);
        assert!(matches!(AnyFilter::from_bytes(&mixed), Err(Error::Interrupted)));
    }
}

#[test]
fn a_second_writer_is_refused_while_the_first_is_at_work() {
    let file = Scratch::of("second", &bloom(0..100));
    let mut first = file.open_writable().unwrap();
    insert(&mut first, 100..200);
    assert!(matches!(file.open_writable(), Err(Error::Busy { .. })));
    first.close().unwrap();
    let mut second = file.open_writable().unwrap();
    insert(&mut second, 200..300);
    second.close().unwrap();
    assert!(file.read() == bloom(0..300).to_bytes());
}

#[test]
fn who_has_mapped_the_file_before_goes_on_reading() {
    let file = Scratch::of("reader", &bloom(0..1_000));
    let reader = AnyFilter::open_mapped(&file.0, &OpenOptions::default()).unwrap();
    let holds = |keys: std::ops::Range<u64>| {
        let contains = reader.contains().unwrap();
        keys.filter(|key| contains.contains(&key.to_le_bytes())).count()
    };
    assert!(holds(2_000..3_000) < 100);
    let mut in_place = file.open_writable().unwrap();
    assert_eq!(holds(0..1_000), 1_000);
    insert(&mut in_place, 2_000..3_000);
    assert_eq!((holds(0..1_000), holds(2_000..3_000)), (1_000, 1_000), "it sees what is inserted");
    in_place.close().unwrap();
    assert_eq!((holds(0..1_000), holds(2_000..3_000)), (1_000, 1_000));
}

#[test]
fn truncated_and_damaged_files_are_refused_and_left_alone() {
    let whole = bloom(0..100).to_bytes();
    let file = Scratch::new("damaged");
    let mut cases: Vec<Vec<u8>> = (0..whole.len()).step_by(61).map(|len| whole[..len].to_vec()).collect();
    cases.push([whole.as_slice(), &[0]].concat());
    for at in (0..whole.len()).step_by(7).chain(0..320) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        cases.push(flipped);
    }
    for case in cases {
        file.write(&case);
        let error = file.open_writable().expect_err("damaged");
        assert!(!matches!(error, Error::Interrupted | Error::Io { .. }), "{error}");
        assert!(file.read() == case);
    }
}

#[test]
fn kinds_that_grow_say_that_they_cannot_and_which_can() {
    for kind in registry::kinds().filter(|kind| !kind.is_in_place()) {
        let Ok(config) = Config::new(kind.facts()).set("items", "100") else { continue };
        let Ok(filter) = AnyFilter::new(&config) else { continue };
        let file = Scratch::of(kind.facts().id, &filter);
        let before = file.read();
        let error = file.open_writable().unwrap_err();
        assert!(matches!(&error, Error::Unsupported { able, .. } if able.contains("standard")), "{error}");
        assert!(error.to_string().contains("cannot be changed in its file"), "{error}");
        assert!(file.read() == before);
    }
}

#[test]
fn filters_whose_settings_or_frames_are_in_the_way_say_so() {
    let file = Scratch::new("coded");
    bloom(0..100).save_compressed(&file.0).unwrap();
    let error = file.open_writable().unwrap_err();
    assert!(matches!(&error, Error::NotInPlace { .. }) && error.to_string().contains("coded"), "{error}");

    let counting = registry::find("counting").unwrap();
    let config = Config::new(counting.facts()).set("items", "100").unwrap().set("policy", "widen").unwrap();
    AnyFilter::new(&config).unwrap().save(&file.0).unwrap();
    let error = file.open_writable().unwrap_err();
    assert!(matches!(&error, Error::NotInPlace { .. }) && error.to_string().contains("grow"), "{error}");
    assert!(AnyFilter::open(&file.0, &OpenOptions::default()).is_ok());
}

#[test]
fn a_filter_put_in_the_place_of_the_mapped_one_is_never_closed_into_the_file() {
    let [a, b] = ["swap-a", "swap-b"].map(|name| Scratch::of(name, &bloom(0..100)));
    let mut first = a.open_writable().unwrap();
    *first = bloom(0..200);
    assert!(matches!(first.close(), Err(Error::NotInPlace { .. })));
    refused_by_every_reader(&a.0);

    bloom(0..100).save(&a.0).unwrap();
    let (mut first, mut second) = (a.open_writable().unwrap(), b.open_writable().unwrap());
    std::mem::swap(&mut *first, &mut *second);
    assert!(matches!(first.close(), Err(Error::NotInPlace { .. })));
    assert!(matches!(second.close(), Err(Error::NotInPlace { .. })));
    refused_by_every_reader(&a.0);
    refused_by_every_reader(&b.0);
}

#[cfg(unix)]
#[test]
fn a_file_that_was_replaced_meanwhile_is_told_of_and_stays() {
    let file = Scratch::of("replaced", &bloom(0..100));
    let mut in_place = file.open_writable().unwrap();
    insert(&mut in_place, 100..200);
    bloom(500..600).save(&file.0).unwrap();
    let error = in_place.close().unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
    assert!(file.read() == bloom(500..600).to_bytes());
}

#[test]
fn keyed_filters_change_in_place_with_their_secret_only() {
    let secret = Secret::new(&[7; 32]).unwrap();
    let config = Config::new(&Bloom::FACTS).set("items", "1000").unwrap().hashed(Hashing::keyed(secret.clone()));
    let mut in_memory = AnyFilter::new(&config).unwrap();
    let file = Scratch::of("keyed", &in_memory);
    assert!(matches!(file.open_writable(), Err(Error::Secret { .. })));
    let options = OpenOptions { secret: Some(secret), ..Default::default() };
    let mut in_place = AnyFilter::open_writable(&file.0, &options).unwrap();
    insert(&mut in_memory, 0..500);
    insert(&mut in_place, 0..500);
    in_place.close().unwrap();
    assert!(file.read() == in_memory.to_bytes());
}

/// The test binary runs itself: this names the part and the file of the child.
const CHILD: &str = "BOUQUET_IN_PLACE_CHILD";

fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, path);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

#[test]
fn a_process_that_dies_while_writing_leaves_the_file_refused() {
    if let Some(path) = std::env::var_os(CHILD) {
        let mut in_place = AnyFilter::open_writable(Path::new(&path), &OpenOptions::default()).unwrap();
        insert(&mut in_place, 100..200);
        std::process::abort();
    }
    let file = Scratch::of("aborted", &bloom(0..100));
    let before = file.read();
    let mut child = child("a_process_that_dies_while_writing_leaves_the_file_refused", &file.0);
    assert!(!child.status().unwrap().success());
    assert!(file.read() != before, "the child came as far as inserting");
    refused_by_every_reader(&file.0);
    assert!(matches!(file.open_writable(), Err(Error::Interrupted)), "its lock died with it, the flag did not");
}

#[test]
fn two_processes_share_a_file_mapped_for_reading() {
    let options = OpenOptions::default();
    if let Some(path) = std::env::var_os(CHILD) {
        let mapped = AnyFilter::open_mapped(Path::new(&path), &options).unwrap();
        let contains = mapped.contains().unwrap();
        assert!((0..1_000u64).all(|key| contains.contains(&key.to_le_bytes())));
        assert!(mapped.downcast_ref::<Bloom>().unwrap().bits().is_mapped());
        return;
    }
    let file = Scratch::of("shared", &bloom(0..1_000));
    let here = AnyFilter::open_mapped(&file.0, &options).unwrap();
    let mut children: Vec<_> =
        (0..2).map(|_| child("two_processes_share_a_file_mapped_for_reading", &file.0).spawn().unwrap()).collect();
    let contains = here.contains().unwrap();
    assert!((0..1_000u64).all(|key| contains.contains(&key.to_le_bytes())));
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert!(here.downcast_ref::<Bloom>().unwrap().bits().is_mapped());
}
