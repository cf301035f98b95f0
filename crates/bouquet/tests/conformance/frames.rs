//! Frames give back the filter, and no damage goes unnoticed.

use std::path::{Path, PathBuf};

use bouquet::capability::Item;
use bouquet::codec::{self, Header};
use bouquet::hash::SplitMix;
use bouquet::kind::{ErrorClass, Verb};
use bouquet::{AnyFilter, Error};

use crate::subject::{Because, Keys, Subject, Verdict, alike, probe, refused, unchanged};

laws! {
    frames_give_back_the_filter needs [];
    settings_recreate_the_empty_filter needs [];
    compressed_frames_give_back_the_filter needs [Compress];
    coded_stores_have_the_size_of_their_entropy needs [Compress];
    every_truncation_is_refused needs [];
    every_flipped_bit_is_refused needs [];
    foreign_newer_and_longer_frames_are_refused needs [];
    mapped_filters_answer_alike_and_leave_the_file_alone needs [];
    filters_stay_usable_after_a_frame needs [Insert];
    patches_give_the_new_filter needs [];
    patches_for_another_filter_are_refused needs [];
    damaged_patches_are_refused needs [];
}

const ITEMS: u64 = 2_000;

/// Every bit of a frame up to this length is flipped, a sample of those of a longer one.
const SMALL_FRAME: usize = 4_096;

/// Filters of several loads, the empty one among them.
fn loads(subject: &Subject) -> Result<Vec<(String, AnyFilter)>, String> {
    let mut filters = vec![("empty".into(), subject.empty(&subject.config(ITEMS, 0.01)?)?)];
    for load in [1, ITEMS / 2, ITEMS] {
        filters.push((format!("{load} of {ITEMS} items"), subject.filled(ITEMS, 0.01, 0..load)?));
    }
    Ok(filters)
}

/// A filter whose frame is small enough to be damaged in every bit.
fn small(subject: &Subject) -> Result<Vec<u8>, String> {
    Ok(subject.filled(20, 0.05, 0..20)?.to_bytes())
}

fn frames_give_back_the_filter(subject: &Subject) -> Verdict {
    for (what, filter) in loads(subject)? {
        let frame = filter.to_bytes();
        let again = subject.reopen(&frame).because(&format!("{what}: reading the frame"))?;
        unchanged(&format!("{what}, read and written again"), &frame, &again)?;
        alike(&format!("{what}, before and after a frame"), &filter, &again, &probe(ITEMS))?;
        ensure!(filter.stats() == again.stats(), "{what}: {:?} became {:?}", filter.stats(), again.stats());
        ensure!(filter.config() == again.config(), "{what}: {:?} became {:?}", filter.config(), again.config());
        let mut written = Vec::new();
        filter.write_to(&mut written).map_err(|error| format!("writing: {error}"))?;
        ensure!(written == frame, "{what}: written to a stream it is another frame");
    }
    Ok(())
}

fn settings_recreate_the_empty_filter(subject: &Subject) -> Verdict {
    let empty = subject.empty(&subject.config(ITEMS, 0.01)?)?;
    for (what, filter) in loads(subject)? {
        let again = subject.empty(&filter.config())?;
        unchanged(&format!("{what}: an empty filter from its settings"), &empty.to_bytes(), &again)?;
    }
    Ok(())
}

fn compressed_frames_give_back_the_filter(subject: &Subject) -> Verdict {
    for (what, filter) in loads(subject)? {
        let compressed = filter.to_compressed_bytes();
        let again = subject.reopen(&compressed).because(&format!("{what}: reading the compressed frame"))?;
        unchanged(&format!("{what}, before and after a compressed frame"), &filter.to_bytes(), &again)?;
        ensure!(again.to_compressed_bytes() == compressed, "{what}: compressed again it is another frame");
    }
    Ok(())
}

fn coded_stores_have_the_size_of_their_entropy(subject: &Subject) -> Verdict {
    // Large enough that half a percent says something.
    for (items, load) in [(20_000, 200), (20_000, 5_000), (20_000, 20_000)] {
        let filter = subject.filled(items, 0.01, 0..load)?;
        let header = Header::read(&filter.to_compressed_bytes()).because("reading the compressed frame")?;
        let (bits, entropy) =
            (header.store_bytes() as f64 * 8.0, filter.compress().because("compress")?.entropy_bits());
        // A coded store tells its number of ones and ends on a byte.
        let allowed = 0.005 * entropy + header.stores() as f64 * 16.0 * 8.0;
        ensure!(
            (bits - entropy).abs() <= allowed,
            "{load} of {items} items: {bits} bits for an entropy of {entropy:.0}, allowed {allowed:.0} more or less"
        );
    }
    Ok(())
}

fn every_truncation_is_refused(subject: &Subject) -> Verdict {
    let mut random = SplitMix::new(1);
    for frame in [small(subject)?, subject.filled(ITEMS, 0.01, 0..ITEMS)?.to_bytes()] {
        let length = frame.len();
        let sampled = (0..200).map(|_| random.below(length as u64) as usize);
        for cut in (0..length.min(400)).chain(sampled.collect::<Vec<_>>()).chain([length - 1]) {
            let cut_off = subject.reopen(&frame[..cut]);
            ensure!(cut_off.is_err(), "{cut} of {length} bytes are accepted");
        }
    }
    Ok(())
}

fn every_flipped_bit_is_refused(subject: &Subject) -> Verdict {
    for mut frame in [small(subject)?, subject.filled(ITEMS, 0.01, 0..ITEMS)?.to_bytes()] {
        let bits = frame.len() * 8;
        let mut random = SplitMix::new(2);
        let flips: Vec<usize> = if frame.len() <= SMALL_FRAME {
            (0..bits).collect()
        } else {
            // All of the header, and some of the rest.
            (0..2_048).chain((0..4_000).map(|_| random.below(bits as u64) as usize)).collect()
        };
        for bit in flips {
            frame[bit / 8] ^= 1 << (bit % 8);
            ensure!(subject.reopen(&frame).is_err(), "flipping bit {} of byte {} is accepted", bit % 8, bit / 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
    }
    Ok(())
}

fn foreign_newer_and_longer_frames_are_refused(subject: &Subject) -> Verdict {
    let frame = small(subject)?;
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = frame.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let not_a_frame = |error: &Error| matches!(error, Error::NotAFrame { .. });
    refused("another magic", subject.reopen(&with(0, b"petunia!")), not_a_frame)?;
    refused("no bytes", subject.reopen(b""), not_a_frame)?;
    refused("text", subject.reopen(b"a rose is a rose is a rose is a rose"), not_a_frame)?;
    let newer = codec::VERSION + 1;
    let version = |error: &Error| matches!(error, Error::Version { found, supported } if (*found, *supported) == (newer, codec::VERSION));
    refused("a newer version", subject.reopen(&with(codec::MAGIC.len(), &newer.to_le_bytes())), version)?;
    let draft = |error: &Error| matches!(error, Error::Version { found: 0, .. });
    refused("a draft", subject.reopen(&with(codec::MAGIC.len(), &[0, 0])), draft)?;
    let longer = [frame.as_slice(), &[0; 64]].concat();
    refused("bytes behind the frame", subject.reopen(&longer), |error| matches!(error, Error::Corrupt { .. }))
}

/// A file of the test's own, gone when it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(subject: &Subject, what: &str) -> Self {
        let name = format!("bouquet-conformance-{}-{}-{what}.bq", std::process::id(), subject.facts().id);
        Scratch(std::env::temp_dir().join(name))
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| format!("{}: {error}", self.0.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn mapped_filters_answer_alike_and_leave_the_file_alone(subject: &Subject) -> Verdict {
    let filter = subject.filled(ITEMS, 0.01, 0..ITEMS - 100)?;
    let file = Scratch::new(subject, "mapped");
    filter.save(file.path()).because("saving")?;
    let saved = file.read()?;
    unchanged("in the file", &saved, &filter)?;

    let read = AnyFilter::open(file.path(), &subject.options()).because("opening")?;
    unchanged("read from the file", &saved, &read)?;
    let mut mapped = AnyFilter::open_mapped(file.path(), &subject.options()).because("mapping")?;
    alike("mapped and in memory", &filter, &mapped, &probe(ITEMS))?;
    unchanged("mapped", &saved, &mapped)?;

    // Writing copies; the file and other views of it stay as they are.
    let beside = AnyFilter::open_mapped(file.path(), &subject.options()).because("mapping again")?;
    if subject.can(Verb::Insert) {
        let mut in_memory = filter.clone();
        for number in ITEMS - 100..ITEMS {
            let key = number.to_le_bytes();
            let item = Item::new(&key, subject.note(number));
            mapped.insert().because("insert")?.insert(item).because("inserting into a mapped filter")?;
            in_memory.insert().because("insert")?.insert(item).because("inserting")?;
        }
        unchanged("100 keys more, mapped and in memory", &in_memory.to_bytes(), &mapped)?;
    }
    if subject.can(Verb::Advance) {
        mapped.advance().because("advance")?.advance(10);
    }
    ensure!(file.read()? == saved, "writing to a mapped filter has changed its file");
    unchanged("another view of the file", &saved, &beside)
}

fn filters_stay_usable_after_a_frame(subject: &Subject) -> Verdict {
    let mut filter = subject.filled(ITEMS, 0.01, 0..ITEMS / 2)?;
    let mut again = subject.reopen(&filter.to_bytes()).because("reading the frame")?;
    for number in ITEMS / 2..ITEMS {
        let fresh = subject.insert(&mut filter, number).because("inserting")?;
        let fresh_again = subject.insert(&mut again, number).because("inserting after a frame")?;
        ensure!(fresh == fresh_again, "key {number}: new is {fresh} before and {fresh_again} after a frame");
    }
    unchanged("filled after a frame", &filter.to_bytes(), &again)?;
    if subject.can(Verb::Contains) && !subject.errs(ErrorClass::FalseNegative) {
        let found = crate::subject::found_count(&again, &Keys::new(0..ITEMS))?;
        ensure!(found == ITEMS, "{} keys are lost", ITEMS - found);
    }
    Ok(())
}

/// Filters of the same settings: half full, full, and full of other keys.
fn versions(subject: &Subject, items: u64) -> Result<[AnyFilter; 3], String> {
    let config = subject.config(items, 0.01)?;
    let filled = |range| subject.build(&config, &Keys::new(range));
    Ok([filled(0..items / 2)?, filled(0..items)?, filled(items..2 * items)?])
}

fn patches_give_the_new_filter(subject: &Subject) -> Verdict {
    let mut filters = versions(subject, ITEMS)?.to_vec();
    filters.push(subject.empty(&subject.config(ITEMS, 0.01)?)?);
    // One of another size too: its stores have no counterpart.
    filters.push(subject.filled(ITEMS / 4, 0.001, 0..ITEMS / 4)?);
    for (i, old) in filters.iter().enumerate() {
        for (j, new) in filters.iter().enumerate() {
            let patch = old.delta(new).because(&format!("from {i} to {j}"))?;
            let patched = old.patched(&patch).because(&format!("applying the patch from {i} to {j}"))?;
            unchanged(&format!("patched from {i} to {j}"), &new.to_bytes(), &patched)?;
            ensure!(patch == old.delta(new).because("again")?, "from {i} to {j}: two patches differ");
            let (from, to) = (old.to_bytes().len(), new.to_bytes().len());
            // A frame that is shorter than its stores is coded; one of few ones is also shorter than what says how a full one becomes it.
            let whole = if new.stats().bits / 8 > to as u64 { to.max(from) } else { to };
            ensure!(patch.len() < whole + 8_192, "from {i} to {j}: {} bytes for a frame of {whole}", patch.len());
            ensure!(i != j || patch.len() < 1_024 + whole / 20, "nothing changed, and the patch has {}", patch.len());
        }
    }
    Ok(())
}

fn patches_for_another_filter_are_refused(subject: &Subject) -> Verdict {
    let [old, new, other] = versions(subject, ITEMS)?;
    let patch = old.delta(&new).because("a patch")?;
    for (what, base) in [("the new filter", &new), ("another filter", &other)] {
        refused(what, base.patched(&patch), |error| matches!(error, Error::OtherBase { .. }))?;
    }
    let config = subject.config(ITEMS, 0.01)?.hashed(bouquet::hash::Hashing::seeded(99));
    let foreign = subject.build(&config, &Keys::new(0..ITEMS))?;
    // A layout may fix the function whatever is asked for.
    if foreign.hashing() != old.hashing() {
        refused("other hashing", old.delta(&foreign), |error| matches!(error, Error::Incompatible { .. }))?;
    }
    refused("no patch", old.patched(&new.to_bytes()), |error| matches!(error, Error::NotAPatch { .. }))?;
    refused("no frame", subject.reopen(&patch), |error| matches!(error, Error::NotAFrame { .. }))
}

fn damaged_patches_are_refused(subject: &Subject) -> Verdict {
    let [old, new, _] = versions(subject, 40)?;
    let mut patch = old.delta(&new).because("a patch")?;
    for cut in (0..patch.len().min(400)).chain([patch.len() - 1]) {
        ensure!(old.patched(&patch[..cut]).is_err(), "{cut} of {} bytes are accepted", patch.len());
    }
    let mut random = SplitMix::new(3);
    let bits = patch.len() as u64 * 8;
    for bit in (0..bits.min(1_024)).chain((0..1_000).map(|_| random.below(bits)).collect::<Vec<_>>()) {
        let (at, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        patch[at] ^= mask;
        ensure!(old.patched(&patch).is_err(), "flipping bit {} of byte {at} is accepted", bit % 8);
        patch[at] ^= mask;
    }
    Ok(())
}
