//! `bouquet store` as a user has it, and as a power failure finds it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bouquet::hash::SplitMix;
use bouquet::paged::Snapshot;

use crate::place::{Place, lines};

#[test]
fn pairs_are_put_got_listed_and_deleted() {
    let place = Place::new();
    place.run(&["store", "create", "shelf", "--items", "1000"]).found();
    place.run(&["store", "create", "shelf"]).fails(&["shelf"]);
    place.file("pairs", "rose\tred\nlily\twhite\niris\t\nfern\n");
    place.run(&["store", "put", "shelf", "pairs"]).found();
    place.run(&["store", "put", "shelf", "--key", "rose", "--value", "pink"]).found();
    assert_eq!(place.run(&["store", "get", "shelf", "--key", "rose"]).found().text(), "pink\n");
    let got = place.run_with(&["store", "get", "shelf"], "lily\nthistle\nfern\n").found();
    assert_eq!(got.text(), "lily\twhite\nthistle\nfern\t\n");
    assert_eq!(
        place.run_with(&["store", "delete", "shelf", "--acknowledge"], "lily\nthistle\n").found().text(),
        "lily\nthistle\n"
    );
    place.run(&["store", "delete", "shelf", "--key", "lily"]).nothing();
    place.run(&["store", "get", "shelf", "--key", "lily"]).nothing();
    let mut listed = place.run(&["store", "list", "shelf"]).found().lines();
    listed.sort();
    assert_eq!(listed, ["fern\t", "iris\t", "rose\tpink"]);
    for level in ["buffered", "logged", "synced"] {
        place.run_with(&["store", "put", "shelf", "--durability", level], format!("{level}\tx\n")).found();
        assert_eq!(place.run(&["store", "get", "shelf", "--key", level]).found().text(), "x\n");
    }
    place.run(&["store", "compact", "shelf"]).found();
    let stats = place.run(&["store", "stats", "shelf", "--json"]).found().json();
    assert_eq!((&stats["keys"], &stats["instances"]), (&6.into(), &1.into()));
    place.run(&["store", "get", "nowhere", "--key", "rose"]).fails(&["nowhere", "check the name"]);
}

#[test]
fn a_filter_larger_than_memory_is_kept_in_a_folder() {
    let place = Place::new();
    let create = ["store", "create", "wood", "--kind", "forest-structured", "--items", "20000", "--set", "page=256"];
    place.run(&create).found();
    place.file("keys", lines(1..=20_000));
    place.run(&["store", "add", "wood", "keys"]).found();
    assert_eq!(place.run(&["store", "query", "wood", "-c", "keys"]).found().text(), "20000\n");
    let absent: u32 = place
        .run_with(&["store", "query", "wood", "-v", "-c"], lines(30_001..=40_000))
        .found()
        .text()
        .trim()
        .parse()
        .unwrap();
    assert!((9_750..=10_000).contains(&absent), "{absent} of 10000 are absent");
    let stats = place.run(&["store", "stats", "wood", "--json"]).found().json();
    assert_eq!((&stats["items"], &stats["lost_pages"]), (&20_000.into(), &0.into()));
    assert!(stats["levels"].as_u64().is_some_and(|levels| (2..=4).contains(&levels)), "{stats}");
    place.run(&["store", "put", "wood", "--key", "rose"]).fails(&["forest-structured", "bouquet store add"]);
    place.run(&["store", "create", "other", "--kind", "standard"]).fails(&["bouquet build"]);
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let place = Place::new();
    place.run(&["store", "create", "shelf"]).found();
    let mut writer = place.command(&["store", "put", "shelf", "--acknowledge"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut acknowledged) = (writer.stdin.take().unwrap(), BufReader::new(writer.stdout.take().unwrap()));
    stdin.write_all(b"rose\tred\n").unwrap();
    let mut line = String::new();
    acknowledged.read_line(&mut line).unwrap();
    assert_eq!(line, "rose\n");
    place.run(&["store", "put", "shelf", "--key", "lily"]).fails(&["another writer"]);
    assert_eq!(place.run(&["store", "get", "shelf", "--key", "rose"]).found().text(), "red\n");
    drop(stdin);
    assert!(writer.wait().unwrap().success());
    place.run(&["store", "put", "shelf", "--key", "lily"]).found();
}

/// A writer is killed at a random moment, again and again. Every key that it acknowledged has the value that it had then, or one
/// that was sent to it later.
#[test]
fn a_writer_that_is_killed_loses_nothing_that_it_acknowledged() {
    const KILLS: u32 = 320;
    const KEYS: u64 = 300;
    let place = Place::new();
    // Small pages: every sort of page is written, and now and then the store grows.
    place.run(&["store", "create", "shelf", "--set", "page=512", "--items", "100"]).found();
    let mut random = SplitMix::new(17);
    // What each key may have: the acknowledged value, and those that were sent behind it.
    let mut may_have: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    let (mut sent, mut acknowledged_in_all, mut killed_early) = (0u64, 0u64, 0);
    // Microseconds within which a writer is killed: shorter after one that was done before, longer after one that was not, so that on
    // every machine about two of three are killed at work.
    let mut span = 25_000;
    for round in 0..KILLS {
        let deletes = round % 4 == 3;
        let command = if deletes { "delete" } else { "put" };
        let mut writer =
            place.command(&["store", command, "shelf", "--acknowledge"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut lines = Vec::new();
        for _ in 0..400 {
            sent += 1;
            let key = format!("key {}", random.below(KEYS));
            let value = (!deletes).then(|| "v".repeat(random.below(30) as usize) + &sent.to_string());
            lines.push((key, value));
        }
        let text: Vec<Vec<u8>> = lines
            .chunks(5)
            .map(|few| {
                let line = |(key, value): &(String, Option<String>)| match value {
                    Some(value) => format!("{key}\t{value}\n"),
                    None => format!("{key}\n"),
                };
                few.iter().map(line).collect::<String>().into_bytes()
            })
            .collect();
        let mut stdin = writer.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || {
            for few in text {
                if stdin.write_all(&few).is_err() {
                    break;
                }
            }
        });
        let stdout = writer.stdout.take().unwrap();
        let reader =
            std::thread::spawn(move || BufReader::new(stdout).lines().map_while(Result::ok).collect::<Vec<String>>());
        // From before it has opened the store to after the last line.
        let until = Instant::now() + Duration::from_micros(random.below(span));
        while Instant::now() < until && writer.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(50));
        }
        let is_at_work = writer.try_wait().unwrap().is_none();
        killed_early += u32::from(is_at_work);
        span = (if is_at_work { span * 21 / 20 } else { span * 9 / 10 }).clamp(1_000, 1_000_000);
        writer.kill().unwrap();
        writer.wait().unwrap();
        feeder.join().unwrap();
        let acknowledged = reader.join().unwrap();
        acknowledged_in_all += acknowledged.len() as u64;
        for (at, (key, value)) in lines.into_iter().enumerate() {
            let values = may_have.entry(key.clone()).or_insert_with(|| vec![None]);
            if at < acknowledged.len() {
                assert_eq!(acknowledged[at], key);
                values.clear();
            }
            values.push(value);
        }
        let store = Snapshot::open(&place.path("shelf")).unwrap();
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        store
            .for_each(|key, value| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                assert!(found.insert(text(key), text(value)).is_none());
                Ok(())
            })
            .unwrap();
        for (key, values) in &mut may_have {
            let now = found.remove(key);
            assert!(values.contains(&now), "round {round}: `{key}` has {now:?}, not one of {values:?}");
            assert_eq!(store.get(key.as_str()).unwrap().is_some(), now.is_some());
            *values = vec![now];
        }
        assert!(found.is_empty(), "round {round}: {found:?} were never put");
    }
    assert!(killed_early >= KILLS / 2, "{killed_early} of {KILLS} writers were killed at work");
    assert!(acknowledged_in_all > 1_000, "{acknowledged_in_all} operations were acknowledged");
    place.run(&["store", "stats", "shelf"]).found();
}
