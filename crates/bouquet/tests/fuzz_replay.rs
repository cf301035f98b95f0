//! The fuzz targets on a stable compiler: the committed inputs, and some thousand random ones with fixed seeds.
//!
//! `BOUQUET_WRITE_CORPUS=1 cargo test -p bouquet --test fuzz_replay` writes the first inputs of each kind anew; what
//! fuzzing found stays beside them.

#[path = "../../../fuzz/harness/mod.rs"]
mod harness;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use bouquet::hash::SplitMix;
use bouquet::registry;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Random bytes behind the number of a kind. Small bytes are more frequent: they are the operations on few keys.
fn random_input(number: u16, seed: u64, len: u64) -> Vec<u8> {
    let mut random = SplitMix::new(seed << 16 | u64::from(number));
    let mask = if random.below(2) == 0 { 0xff } else { 0x9f };
    let len = random.below(len);
    number.to_le_bytes().into_iter().chain((0..len).map(|_| random.next_u64() as u8 & mask)).collect()
}

/// Replays the inputs and tells which one fails.
fn replay(run: fn(&[u8]), inputs: impl IntoIterator<Item = (String, Vec<u8>)>) -> usize {
    let mut count = 0;
    for (name, input) in inputs {
        count += 1;
        if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| run(&input))) {
            eprintln!("input {name}: {}", input.escape_ascii());
            std::panic::resume_unwind(panic);
        }
    }
    count
}

fn committed(target: &str) -> Vec<(String, Vec<u8>)> {
    if std::env::var_os("BOUQUET_WRITE_CORPUS").is_some() {
        write_first_inputs(target);
    }
    let entries = std::fs::read_dir(corpus(target)).expect("the corpus is committed");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the corpus can be read").path()).collect();
    files.sort();
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(path).expect("the corpus can be read"));
    files.into_iter().map(read).collect()
}

fn write_first_inputs(target: &str) {
    let write = |name: String, input: &[u8]| {
        std::fs::create_dir_all(corpus(target)).expect("the corpus can be written");
        std::fs::write(corpus(target).join(name), input).expect("the corpus can be written");
    };
    for kind in registry::kinds() {
        let facts = kind.facts();
        write(format!("{}-random", facts.id), &random_input(facts.number, 0, 160));
        if target == "decode" {
            let frame = (3..16).find_map(|variant| harness::frame::small_frame(kind, variant, false));
            let frame = frame.expect("every kind has a small frame");
            write(format!("{}-frame", facts.id), &frame);
            write(format!("{}-full", facts.id), &harness::layout::full(frame));
        }
    }
}

fn random_inputs(total: u64, len: u64) -> impl Iterator<Item = (String, Vec<u8>)> {
    let each = total.div_ceil(registry::kinds().count() as u64);
    registry::kinds().flat_map(move |kind| {
        let number = kind.facts().number;
        (0..each).map(move |seed| (format!("{number} {seed}"), random_input(number, seed, len)))
    })
}

#[test]
fn committed_frames_are_refused_or_work() {
    assert!(replay(harness::decode::run, committed("decode")) > 0);
}

#[test]
fn a_short_frame_of_a_gigabyte_of_equal_counters_is_read_in_no_time() {
    // 320 bytes for 2^33 counters of one bit, of which one differs. One by one they take minutes.
    let frame = std::fs::read(corpus("decode").join("counting-equal-counters")).expect("the corpus is committed");
    let begun = std::time::Instant::now();
    let opened = bouquet::AnyFilter::from_bytes(&frame);
    assert!(opened.is_err(), "the counters are not those that its table counts");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    let limited = bouquet::OpenOptions { max_coded_bits: Some((1 << 33) - 1), ..Default::default() };
    let refused = bouquet::AnyFilter::from_bytes_with(&frame, &limited);
    assert!(matches!(refused, Err(bouquet::Error::TooLarge { .. })));
}

#[test]
fn a_mapped_file_is_read_before_it_is_changed_whatever_its_stores_hold() {
    let mut random = SplitMix::new(19);
    for kind in registry::kinds() {
        for variant in 3..16 {
            let Some(frame) = harness::frame::small_frame(kind, variant, false) else { continue };
            harness::decode::open_mapped(&frame);
            for _ in 0..4 {
                let share = random.below(8) as u8;
                let mut forged = frame.clone();
                harness::layout::forge_stores(&mut forged, || {
                    if random.below(8) as u8 <= share { random.next_u64() as u8 } else { 0 }
                });
                harness::decode::open_mapped(&forged);
            }
        }
    }
}

#[test]
fn committed_operations_agree_with_the_model() {
    assert!(replay(harness::operations::run, committed("operations")) > 0);
}

#[test]
fn edited_frames_are_refused_or_work() {
    // Few edits each: every further one is likelier to be refused before the others are seen.
    replay(harness::decode::run, random_inputs(6000, 16));
}

#[test]
fn random_operations_agree_with_the_model() {
    replay(harness::operations::run, random_inputs(1500, 300));
}

#[test]
fn every_kind_has_small_frames_that_open_after_their_checksums_are_made_anew() {
    for kind in registry::kinds() {
        let frames = (0..16).filter_map(|variant| harness::frame::small_frame(kind, variant, variant % 2 == 0));
        let mut opened = 0;
        for frame in frames {
            // The last byte of the header's checksum is wrong, then right again.
            let mut damaged = frame.clone();
            damaged[63] ^= 1;
            assert!(bouquet::codec::Header::read(&damaged).is_err());
            harness::layout::fix_layout(&mut damaged);
            harness::layout::fix_checksums(&mut damaged);
            assert!(damaged == frame, "the layout of a frame of {kind:?} is not what FORMAT.md says");
            bouquet::AnyFilter::from_bytes_with(&frame, &harness::with_secret()).expect("a valid frame opens");
            opened += 1;
        }
        assert!(opened >= 8, "{kind:?} has only {opened} small frames");
    }
}
