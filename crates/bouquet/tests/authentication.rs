//! Keyed frames carry an authentication code: who lacks the secret can neither make nor change one.
//!
//! `golden/keyed/*.bq` were sealed by a program of its own, with the published BLAKE3 and XXH3 packages of Python, from the
//! frames `*.without-code.bq` that a version before the code wrote.

use std::path::{Path, PathBuf};

use bouquet::capability::{Dataset, Item, Note, NoteType};
use bouquet::codec::Header;
use bouquet::hash::{Hashing, Secret, SplitMix};
use bouquet::kind::{Config, Kind};
use bouquet::{AnyFilter, Error, OpenOptions, registry};

#[path = "../../../fuzz/harness/mod.rs"]
mod harness;
use harness::layout::{fix_checksums, strip_code};

const CODE: std::ops::Range<usize> = 40..56;

fn secret() -> Secret {
    Secret::new(&[7; 32]).unwrap()
}

fn strict() -> OpenOptions {
    OpenOptions { secret: Some(secret()), ..OpenOptions::default() }
}

fn lenient() -> OpenOptions {
    OpenOptions { allow_unauthenticated: true, ..strict() }
}

fn locked() -> OpenOptions {
    OpenOptions { allow_locked: true, ..OpenOptions::default() }
}

fn open(frame: &[u8], options: &OpenOptions) -> Result<AnyFilter, Error> {
    AnyFilter::from_bytes_with(frame, options)
}

fn is_not_authentic<T>(opened: Result<T, Error>) -> bool {
    matches!(opened, Err(Error::NotAuthentic { .. }))
}

/// A keyed filter of a few keys, of any kind.
fn keyed(kind: &'static Kind, high: bool) -> AnyFilter {
    let config = Config::new(kind.facts());
    let sized = kind.facts().parameters.iter().any(|parameter| parameter.name == "items");
    let config = if sized { config.set("items", "30").unwrap() } else { config };
    let hashing = if high { Hashing::keyed_high(secret()) } else { Hashing::keyed(secret()) };
    let keys: Vec<_> = (0..30u64).map(u64::to_le_bytes).collect();
    let note = |index: u64| match kind.facts().note {
        NoteType::Integer => Note::Integer(index % 7),
        NoteType::Bytes => Note::Bytes(b"value"),
        NoteType::Group => Note::Group(index % 4),
        NoteType::Weight => Note::Weight(0.5),
        NoteType::Weights => Note::Weights(1.0, 0.5),
        _ => Note::None,
    };
    let items: Vec<_> = (0..).zip(&keys).map(|(index, key)| Item::new(key, note(index))).collect();
    AnyFilter::build(&config.hashed(hashing), &Dataset { items: &items, absent: &[] }).unwrap()
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/keyed").join(name)).unwrap()
}

#[test]
fn codes_are_those_that_another_program_computes() {
    let codes: [(&str, u128); 2] = [
        ("standard", 0x2f10_8baf_c011_3e60_12d5_c301_4f43_7618),
        ("counting", 0xd302_f75d_b482_81c1_1be4_9a5d_195e_f57b),
    ];
    for (kind, code) in codes {
        let (sealed, before) = (golden(&format!("{kind}.bq")), golden(&format!("{kind}.without-code.bq")));
        assert_eq!(sealed[CODE], code.to_be_bytes());
        let filter = open(&sealed, &strict()).unwrap();
        assert!((1..=20).all(|key| filter.contains().unwrap().contains(key.to_string().as_bytes())));
        assert_eq!(filter.to_bytes(), sealed, "{kind}");
        // The same filter, of a version that had no code: told apart by the flag, allowed on request, sealed when saved.
        assert!(!Header::read(&before).unwrap().has_code());
        assert!(is_not_authentic(open(&before, &strict())));
        assert_eq!(open(&before, &lenient()).unwrap().to_bytes(), sealed, "{kind}");
        assert_eq!(open(&before, &locked()).unwrap().to_bytes(), before, "nobody with the secret vouches for it");
    }
}

#[test]
fn nobody_without_the_secret_changes_a_frame_of_any_kind() {
    let mut random = SplitMix::new(1);
    for kind in registry::kinds() {
        let id = kind.facts().id;
        let filter = keyed(kind, false);
        for frame in [filter.to_bytes(), filter.to_compressed_bytes()] {
            assert!(open(&frame, &strict()).is_ok(), "{id}");
            let mut found = 0;
            for _ in 0..300 {
                let mut forged = frame.clone();
                let at = random.below(frame.len() as u64) as usize;
                forged[at] ^= 1 << random.below(8);
                fix_checksums(&mut forged);
                // A bit of a checksum is repaired and nothing is changed.
                if forged == frame {
                    continue;
                }
                let opened = open(&forged, &strict());
                assert!(opened.is_err(), "{id}: byte {at} was changed unnoticed");
                found += usize::from(is_not_authentic(opened));
            }
            assert!(found > 0, "{id}: every forgery is refused for another reason");
        }
    }
}

#[test]
fn a_code_taken_out_makes_no_frame_of_an_earlier_version() {
    for kind in registry::kinds() {
        let mut stripped = keyed(kind, true).to_bytes();
        strip_code(&mut stripped);
        fix_checksums(&mut stripped);
        assert!(is_not_authentic(open(&stripped, &strict())), "{kind:?}");
        assert!(open(&stripped, &lenient()).is_ok(), "{kind:?}");
    }
}

#[test]
fn a_wrong_code_is_refused_even_where_none_is_needed() {
    let mut forged = keyed(registry::find("standard").unwrap(), false).to_bytes();
    forged[CODE.start] ^= 1;
    fix_checksums(&mut forged);
    assert!(is_not_authentic(open(&forged, &lenient())));
    assert!(open(&forged, &locked()).is_ok(), "without the secret nobody can tell");
}

#[test]
fn a_public_frame_has_no_code() {
    let mut frame = bouquet::Bloom::with_rate(10, 0.01).unwrap().to_bytes();
    frame[13] = 2;
    fix_checksums(&mut frame);
    assert!(matches!(Header::read(&frame), Err(Error::Corrupt { .. })));
    frame[13] = 0;
    frame[CODE.start] = 1;
    fix_checksums(&mut frame);
    assert!(matches!(Header::read(&frame), Err(Error::Corrupt { .. })));
}

#[test]
fn a_locked_filter_keeps_its_code_raw_coded_and_patched() {
    for kind in registry::kinds() {
        let filter = keyed(kind, false);
        let (raw, coded) = (filter.to_bytes(), filter.to_compressed_bytes());
        let closed = open(&coded, &locked()).unwrap();
        assert_eq!((closed.to_bytes(), closed.clone().to_compressed_bytes()), (raw.clone(), coded), "{kind:?}");
        let empty = AnyFilter::new(&filter.config()).ok().map(|empty| open(&empty.to_bytes(), &locked()).unwrap());
        let Some(empty) = empty else { continue };
        let patched = empty.patched(&empty.delta(&closed).unwrap()).unwrap();
        assert_eq!(patched.to_bytes(), raw, "{kind:?}");
        assert!(open(&patched.to_bytes(), &strict()).is_ok(), "{kind:?}");
    }
}

/// A file that goes away with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("bouquet-authentication-{}-{name}.bq", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_mapped_file_is_authenticated_unless_that_is_waived() {
    let mut frame = keyed(registry::find("standard").unwrap(), false).to_bytes();
    let honest = Scratch::new("mapped", &frame);
    assert!(AnyFilter::open_mapped(&honest.0, &strict()).is_ok());
    // The first byte of the store.
    let begin = u64::from_le_bytes(frame[64..72].try_into().unwrap()) as usize;
    frame[begin] ^= 1;
    fix_checksums(&mut frame);
    let forged = Scratch::new("mapped-forged", &frame);
    assert!(is_not_authentic(AnyFilter::open_mapped(&forged.0, &strict())));
    assert!(AnyFilter::open_mapped(&forged.0, &lenient()).is_ok(), "nothing is read");
}

#[test]
fn a_file_that_is_changed_in_place_gets_the_code_of_what_it_becomes() {
    for kind in registry::kinds().filter(|kind| kind.is_in_place() && kind.facts().note == NoteType::None) {
        let mut filter = keyed(kind, false);
        let file = Scratch::new(kind.facts().id, &filter.to_bytes());
        let Ok(unchanged) = AnyFilter::open_writable(&file.0, &strict()) else { continue };
        unchanged.close().unwrap();
        assert_eq!(std::fs::read(&file.0).unwrap(), filter.to_bytes(), "{kind:?}");
        let mut writable = AnyFilter::open_writable(&file.0, &strict()).unwrap();
        if !writable.can(bouquet::kind::Verb::Insert) {
            continue;
        }
        for filter in [&mut writable, &mut filter] {
            filter.insert().unwrap().insert(b"rose".as_slice().into()).unwrap();
        }
        assert!(matches!(AnyFilter::open(&file.0, &strict()), Err(Error::Interrupted)), "{kind:?}");
        writable.close().unwrap();
        assert_eq!(std::fs::read(&file.0).unwrap(), filter.to_bytes(), "{kind:?}");
        assert!(AnyFilter::open(&file.0, &strict()).is_ok(), "{kind:?}");
        // A forged one is not opened to be changed, which would make it authentic.
        let mut forged = filter.to_bytes();
        let begin = u64::from_le_bytes(forged[64..72].try_into().unwrap()) as usize;
        forged[begin] ^= 1;
        fix_checksums(&mut forged);
        std::fs::write(&file.0, &forged).unwrap();
        assert!(AnyFilter::open_writable(&file.0, &strict()).is_err(), "{kind:?}");
    }
}
