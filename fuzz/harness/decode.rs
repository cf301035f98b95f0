//! Any bytes as a frame: they are refused, or what they give is a filter that works.

use bouquet::capability::{Item, Note};
use bouquet::codec::{Header, MAGIC};
use bouquet::kind::{Argument, ErrorClass, Takes, Verb};
use bouquet::{AnyFilter, Error, OpenOptions};

use super::frame::{edit, small_frame};
use super::input::{Input, Shape, key};
use super::layout::{fix_checksums, fix_layout, fix_patch, strip_code};
use super::{MAX_BITS, MAX_CODED_BITS, ask, sane_estimate, sane_numbers, strict, with_secret};

/// Input that begins as a frame does is one, tried as it is and with right checksums. Other input chooses a valid frame
/// and edits it.
pub fn run(input: &[u8]) {
    if input.first() == Some(&MAGIC[0]) {
        open(input);
        let mut frame = input.to_vec();
        strip_code(&mut frame);
        fix_checksums(&mut frame);
        return open(&frame);
    }
    let mut input = Input(input);
    let kind = input.kind();
    let (variant, repair) = (input.u8(), input.u8());
    let Some(mut frame) = small_frame(kind, variant % 16, repair & 1 == 1) else { return };
    if (0xe0..0xf0).contains(&repair) {
        return patch(&frame, small_frame(kind, variant / 16, false), &mut input);
    }
    let valid = frame.clone();
    edit(&mut frame, &mut input);
    if repair & 2 == 2 {
        fix_layout(&mut frame);
    }
    if repair & 0x1c != 0 {
        fix_checksums(&mut frame);
        refuse_forged(&frame, &valid);
        strip_code(&mut frame);
        fix_checksums(&mut frame);
    }
    open(&frame);
    if repair >= 0xf0 {
        open_mapped(&frame);
    }
}

/// An edited frame that is keyed and opens for one who has the secret and allows nothing is the one that was edited: nobody
/// can make another.
fn refuse_forged(frame: &[u8], valid: &[u8]) {
    let Ok(filter) = AnyFilter::from_bytes_with(frame, &strict()) else { return };
    if filter.hashing().id().is_keyed() {
        let valid = AnyFilter::from_bytes_with(valid, &strict()).expect("a valid frame opens");
        assert!(filter.to_bytes() == valid.to_bytes(), "{filter:?} was made of {valid:?} without the secret");
    }
}

/// Edits the patch from one frame to another of its kind, with right checksums: it is refused, or what it makes works.
fn patch(old: &[u8], new: Option<Vec<u8>>, input: &mut Input<'_>) {
    let open = |frame: &[u8]| AnyFilter::from_bytes_with(frame, &with_secret()).expect("a valid frame opens");
    let Some(new) = new.as_deref().map(open) else { return };
    let old = open(old);
    // Filters of different hashing have no patch.
    let Ok(mut patch) = old.delta(&new) else { return };
    assert!(old.patched(&patch).expect("its own patch").to_bytes() == new.to_bytes());
    edit(&mut patch, input);
    fix_patch(&mut patch);
    match old.patched_with(&patch, &with_secret()) {
        Ok(filter) => examine(filter, &with_secret()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Opens the bytes in every way.
fn open(bytes: &[u8]) {
    let header = Header::read(bytes);
    let plain = OpenOptions { max_coded_bits: Some(MAX_CODED_BITS), ..OpenOptions::default() };
    let locked = OpenOptions { allow_locked: true, ..plain.clone() };
    let limited = OpenOptions { max_fill: Some(0.5), ..with_secret() };
    for options in [plain, locked, with_secret(), limited] {
        match AnyFilter::from_bytes_with(bytes, &options) {
            Ok(filter) => {
                let header = header.as_ref().expect("a frame that opens has a header");
                assert_eq!(header.bytes, bytes.len() as u64);
                assert_eq!(header.kind, filter.kind().facts().number);
                let stored = bytes.len() as u64 * 8;
                let bits = filter.stats().bits;
                assert!(bits <= stored + MAX_CODED_BITS, "{} bytes of a frame became {bits} bits", bytes.len());
                examine(filter, &options);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Opens the bytes in a file that is mapped, for reading and for writing. Stores that nobody has read do no harm to questions;
/// whoever changes or writes them reads them before, so that what is left opens again.
pub fn open_mapped(bytes: &[u8]) {
    let name = format!("bouquet-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).expect("the directory for temporary files can be written");
    let whole = AnyFilter::from_bytes_with(bytes, &with_secret());
    if let Ok(filter) = AnyFilter::open_mapped(&path, &with_secret()) {
        match &whole {
            Ok(_) => examine(filter, &with_secret()),
            Err(_) => examine_refused(filter, bytes, &path),
        }
    }
    if let Ok(mut filter) = AnyFilter::open_writable(&path, &with_secret()) {
        assert!(whole.is_ok(), "{filter:?} is changed in its file, but not opened from it");
        let shape = Input(&[]).shape(&filter.config());
        let mut notes = Input(&[1, 2, 3, 1, 2, 3]);
        let of = filter.note();
        for number in 40..48 {
            let note = notes.note(of, &shape);
            let _ = filter.insert().map(|insert| insert.insert(Item::new(&key(&shape, number), note.as_note())));
        }
        let _ = filter.remove().map(|remove| remove.remove(Item::from(key(&shape, 40).as_slice())));
        let _ = filter.advance().map(|advance| advance.advance(3));
        let told = format!("{:?}", *filter);
        filter.close().unwrap_or_else(|error| panic!("{told} is not written back: {error}"));
        let changed = std::fs::read(&path).expect("the file is there");
        if let Err(error) = AnyFilter::from_bytes_with(&changed, &with_secret()) {
            panic!("{told} is not read again: {error}");
        }
    }
    std::fs::remove_file(&path).expect("the file was just written");
}

/// A mapped file whose stores are refused once they are read answers questions, and does nothing else.
fn examine_refused(mut filter: AnyFilter, bytes: &[u8], path: &std::path::Path) {
    sane_numbers(&filter);
    assert!(filter.to_bytes() == bytes && filter.to_compressed_bytes() == bytes, "{filter:?} is written anew");
    assert!(filter.save(path).is_err() && filter.write_to(&mut Vec::new()).is_err());
    if filter.hashing().is_usable() {
        let shape = Input(&[]).shape(&filter.config());
        ask_all(&filter, &(40..56).map(|number| key(&shape, number)).collect::<Vec<_>>());
    }
    let other = filter.clone();
    assert!(filter.insert().is_err() && filter.remove().is_err() && filter.set().is_err());
    assert!(filter.advance().is_err() && filter.grow().is_err());
    assert!(filter.merge(&other).is_err() && filter.intersect(&other).is_err() && filter.subtract(&other).is_err());
    assert!(filter.delta(&other).is_err() && filter.patched(&[]).is_err());
}

/// Asks everything, changes everything, and writes and reads in between.
fn examine(filter: AnyFilter, options: &OpenOptions) {
    sane_numbers(&filter);
    round_trip(&filter, options);
    if !filter.hashing().is_usable() {
        assert!(matches!(filter.contains().err(), Some(Error::Secret { .. } | Error::Unsupported { .. })));
        return;
    }
    let shape = Input(&[]).shape(&filter.config());
    let keys: Vec<_> = (40..56).map(|number| key(&shape, number)).collect();
    ask_all(&filter, &keys);
    change(filter, &shape, &keys, options);
}

/// What a filter writes is read again and written alike.
fn round_trip(filter: &AnyFilter, options: &OpenOptions) {
    let bytes = filter.to_bytes();
    for frame in [&bytes, &filter.to_compressed_bytes()] {
        match AnyFilter::from_bytes_with(frame, options) {
            Ok(again) => assert!(again.to_bytes() == bytes, "{filter:?} was read as {again:?}"),
            // Insertions may lead over a limit that was asked for; over no other, once somebody with the secret has written it.
            Err(Error::Overfull { .. }) if options.max_fill.is_some() => {}
            Err(error) => panic!("{filter:?} is not read again: {error}"),
        }
    }
}

fn ask_all(filter: &AnyFilter, keys: &[Vec<u8>]) {
    let single: Vec<_> = keys.iter().map(|key| ask(filter, key)).collect();
    if let Ok(contains) = filter.contains() {
        let refs: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let mut answers = vec![false; keys.len()];
        contains.contains_batch(&refs, &mut answers);
        assert!(single.iter().map(|seen| seen.contains).eq(answers.into_iter().map(Some)), "a batch answers otherwise");
    }
    if let Ok(list) = filter.list() {
        let listing = list.list();
        assert!(listing.entries.len() as u64 <= filter.stats().bits, "more entries than bits");
    }
    if let Ok(top) = filter.top() {
        let names: Vec<_> = top.top().into_iter().map(|frequent| frequent.key).collect();
        assert!(names.iter().collect::<std::collections::BTreeSet<_>>().len() == names.len(), "a key is named twice");
    }
    if let Ok(decode) = filter.decode() {
        let refs: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let decoding = decode.decode(&refs).expect("keys that fit in memory");
        assert_eq!(decoding.counts.len(), keys.len());
    }
    if let Ok(compress) = filter.compress() {
        assert!(compress.entropy_bits() >= 0.0);
    }
    if filter.can(Verb::Cardinality) {
        sane_estimate(filter.cardinality().expect("registered"));
        let overlap = filter.overlap(filter).expect("a filter is like itself");
        sane_estimate(overlap.union);
        sane_estimate(overlap.intersection);
        assert!((0.0..=1.0).contains(&overlap.jaccard), "{overlap:?}");
    }
}

fn change(mut filter: AnyFilter, shape: &Shape, keys: &[Vec<u8>], options: &OpenOptions) {
    let of = filter.note();
    // A table may hold a removal that waits for its insertion.
    let certain = !filter.errs(ErrorClass::FalseNegative) && !filter.can(Verb::Remove);
    let before = filter.clone();
    let mut notes = Input(&[1, 2, 3, 1, 2, 3]);
    for key in &keys[..8] {
        let note = notes.note(of, shape);
        let item = Item::new(key, note.as_note());
        if let Ok(insert) = filter.insert()
            && insert.insert(item).is_ok()
            && certain
            && let Ok(contains) = filter.contains()
        {
            assert!(contains.contains(key), "an inserted key is not contained");
        }
    }
    round_trip(&filter, options);
    if let Ok(remove) = filter.remove() {
        let mut notes = Input(&[1, 2, 3, 3, 2, 1]);
        for key in keys {
            let note = notes.note(of, shape);
            let _ = remove.remove(Item::new(key, note.as_note()));
            let _ = remove.remove(Item::from(key.as_slice()));
        }
        round_trip(&filter, options);
    }
    if let Ok(advance) = filter.advance() {
        for ticks in [0, 1, 1000, u64::MAX] {
            advance.advance(ticks);
        }
        round_trip(&filter, options);
    }
    if filter.stats().bits <= MAX_BITS
        && let Ok(grow) = filter.grow()
    {
        let _ = (grow.grow(), grow.capacity());
        round_trip(&filter, options);
    }
    if let Ok(set) = filter.set() {
        let mut notes = Input(&[3, 1, 2, 3, 1, 2]);
        for key in keys {
            let note = notes.note(of, shape);
            let _ = set.set(Item::new(key, note.as_note()));
        }
        round_trip(&filter, options);
    }
    for combine in [AnyFilter::merge, AnyFilter::intersect, AnyFilter::subtract] {
        let _ = combine(&mut filter, &before);
        round_trip(&filter, options);
    }
    specials(&mut filter, &before, &keys[0], options);
    sane_numbers(&filter);
    ask_all(&filter, keys);
}

/// Everything that only this kind can be asked and do, with some argument of its sort.
fn specials(filter: &mut AnyFilter, before: &AnyFilter, key: &[u8], options: &OpenOptions) {
    for special in filter.kind().specials() {
        let arguments = match special.takes {
            Takes::Nothing => vec![Argument::Nothing],
            Takes::Key => [key, b"10.1.2.3/8", b"10.1.2.3", b"10.1.2.3 80"].map(Argument::Key).to_vec(),
            Takes::Item => {
                let notes = [Note::None, Note::Group(1), Note::Bytes(b"7")];
                let items = [key, b"10.0.0.0/8 80"].map(|key| notes.map(|note| Argument::Item(Item::new(key, note))));
                items.concat()
            }
            Takes::Pair => {
                let pairs: [(&[u8], &[u8]); 4] = [(key, b""), (key, b"0.5,0.25"), (b"1", b"1"), (b"0", b"1000000")];
                pairs.map(|(key, text)| Argument::Item(Item::new(key, Note::Bytes(text)))).to_vec()
            }
            Takes::Number => [0, 1, 1_000, u64::MAX].map(Argument::Number).to_vec(),
            Takes::Share => [0.0, 0.3, 1.0].map(Argument::Share).to_vec(),
            Takes::Span => vec![Argument::Span(5, 100), Argument::Span(0, u64::MAX)],
            Takes::Filter => vec![before.as_argument()],
            other => panic!("the harness has no arguments of sort {other:?} yet"),
        };
        for argument in arguments {
            if special.acts {
                let _ = filter.act(special.name, argument);
                round_trip(filter, options);
            } else {
                let _ = filter.ask(special.name, argument);
            }
        }
    }
}
