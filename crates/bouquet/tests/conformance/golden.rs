//! Golden frames: one of every kind, public digest and format version, with the answers that it gave when it was written.
//!
//! `tests/golden/v<version>/<kind>.bq` is the frame with XXH3, `<kind>.folded.bq` the one with the default digest, and
//! `<kind>.fastrange32.bq` the one with that reduction, for kinds that have a choice; `.answers` in the place of `.bq` is
//! what they say about some keys. They are written once, by
//! `BOUQUET_WRITE_GOLDEN=1 cargo test -p bouquet --test conformance golden`, which makes what is missing and never touches what
//! is there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bouquet::capability::{Answer, Value};
use bouquet::codec::{Header, VERSION};
use bouquet::hash::Hashing;
use bouquet::kind::Kind;
use bouquet::registry;
use bouquet::{AnyFilter, OpenOptions};

use crate::subject::{ABSENT, Because, Keys, Observed, Subject, Verdict, observe, unchanged};

const ITEMS: u64 = 50;
const SEED: u64 = 0x676f_6c64;

fn folder(version: u16) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}"))
}

/// The golden frames of a kind and the digests that they have.
fn frames(kind: &Kind) -> impl Iterator<Item = (PathBuf, Hashing)> {
    let path = |ending| folder(VERSION).join(format!("{}{ending}", kind.facts().id));
    let reduced = kind.facts().parameters.iter().any(|parameter| parameter.name == "reduction");
    let of_all = [(path(".bq"), Hashing::xxh3(SEED)), (path(".folded.bq"), Hashing::seeded(SEED))];
    of_all.into_iter().chain(reduced.then(|| (path(".fastrange32.bq"), Hashing::seeded(SEED))))
}

/// Some members, and strangers enough that some of them seem to be members.
fn asked() -> Keys {
    Keys::new((0..ITEMS).chain(ABSENT..ABSENT + 450))
}

/// One line per key: its number and what the filter says, in a form of its own that no derived format can change.
fn answers(filter: &AnyFilter) -> Result<String, String> {
    let keys = asked();
    let mut text = String::new();
    for (number, seen) in keys.numbers.iter().zip(observe(filter, &keys)?) {
        let Observed { contains, count, answer, sets, judgement } = seen;
        let _ = write!(text, "{number}");
        if let Some(contains) = contains {
            let _ = write!(text, " contains={contains}");
        }
        if let Some(count) = count {
            let _ = write!(text, " count={}{}", count.count, if count.at_least { "+" } else { "" });
        }
        match answer {
            Some(Answer::Value(Value::Integer(value))) => drop(write!(text, " value={value}")),
            Some(Answer::Value(Value::Bytes(value))) => drop(write!(text, " value=\"{}\"", value.escape_ascii())),
            Some(Answer::Absent) => text.push_str(" value=absent"),
            Some(Answer::Unknown) => text.push_str(" value=unknown"),
            None => {}
        }
        if let Some(sets) = sets {
            let _ = write!(text, " sets={sets:?}");
        }
        if let Some(judgement) = judgement {
            let _ = write!(text, " judged={}", judgement.name());
        }
        text.push('\n');
    }
    Ok(text)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A golden frame loads and says what it always said; one of the present version is written again as it was.
fn still_loads(path: &Path) -> Verdict {
    let frame = read(path)?;
    let filter = AnyFilter::from_bytes_with(&frame, &OpenOptions::default()).because("reading the golden frame")?;
    let recorded = String::from_utf8(read(&path.with_extension("answers"))?).map_err(|error| error.to_string())?;
    let now = answers(&filter)?;
    for (then, now) in recorded.lines().zip(now.lines()) {
        ensure!(then == now, "recorded `{then}`, answers `{now}`");
    }
    ensure!(recorded.lines().count() == now.lines().count(), "the recorded answers are cut");
    if Header::read(&frame).because("reading the header")?.version == VERSION {
        unchanged("written again", &frame, &filter)?;
    }
    Ok(())
}

fn write_missing() -> Verdict {
    let folder = folder(VERSION);
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(fail)?;
    for (kind, (path, hashing)) in registry::kinds().flat_map(|kind| frames(kind).map(move |frame| (kind, frame))) {
        if path.exists() {
            continue;
        }
        let subject = Subject::new(kind);
        let mut config = subject.config(ITEMS, 0.02)?.hashed(hashing);
        if path.to_string_lossy().contains("fastrange32") {
            config = config.set("reduction", "fastrange32").because("asking for a reduction")?;
        }
        let filter = subject.build(&config, &Keys::new(0..ITEMS))?;
        fs::write(&path, filter.to_bytes()).map_err(fail)?;
        fs::write(path.with_extension("answers"), answers(&filter)?).map_err(fail)?;
    }
    Ok(())
}

#[test]
fn golden_frames_still_load_and_answer_as_recorded() {
    if std::env::var_os("BOUQUET_WRITE_GOLDEN").is_some() {
        write_missing().expect("golden frames can be written");
    }
    let mut failures = Vec::new();
    for (path, _) in registry::kinds().flat_map(frames) {
        if !path.exists() {
            failures.push(format!("{} is missing; see the head of tests/conformance/golden.rs", path.display()));
        }
    }
    for version in 1..=VERSION {
        let files = fs::read_dir(folder(version)).expect("every version has golden frames");
        for path in files.map(|file| file.expect("the folder can be read").path()) {
            if path.extension().is_some_and(|extension| extension == "bq") {
                failures.extend(still_loads(&path).err().map(|why| format!("{}: {why}", path.display())));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
