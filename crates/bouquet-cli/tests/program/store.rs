//! `bouquet store` as a user has it, and as a power failure finds it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bouquet::hash::SplitMix;
use bouquet::paged::Snapshot;
use bouquet::{Error, ForestFile};

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

/// Writers that are killed at random moments, from before they have opened the store to after their last line.
struct Killer {
    random: SplitMix,
    /// Microseconds within which a writer is killed: shorter after one that was done before, longer after one that was not, so that on
    /// every machine about two of three are killed at work.
    span: u64,
    at_work: u32,
    acknowledged: u64,
}

impl Killer {
    fn new(seed: u64) -> Self {
        Killer { random: SplitMix::new(seed), span: 25_000, at_work: 0, acknowledged: 0 }
    }

    /// The lines that a command acknowledged, the first of those that it was given, before it was killed.
    fn kill(&mut self, place: &Place, args: &[&str], lines: &[String]) -> Vec<String> {
        let command = [args, &["--acknowledge"]].concat();
        let mut writer = place.command(&command).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, stdout) = (writer.stdin.take().unwrap(), writer.stdout.take().unwrap());
        let text: Vec<String> =
            lines.chunks(5).map(|few| few.iter().map(|line| format!("{line}\n")).collect()).collect();
        let feeder = std::thread::spawn(move || text.iter().all(|few| stdin.write_all(few.as_bytes()).is_ok()));
        let reader =
            std::thread::spawn(move || BufReader::new(stdout).lines().map_while(Result::ok).collect::<Vec<String>>());
        let until = Instant::now() + Duration::from_micros(self.random.below(self.span));
        while Instant::now() < until && writer.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(50));
        }
        let is_at_work = writer.try_wait().unwrap().is_none();
        self.at_work += u32::from(is_at_work);
        self.span = (if is_at_work { self.span * 21 / 20 } else { self.span * 9 / 10 }).clamp(1_000, 1_000_000);
        writer.kill().unwrap();
        writer.wait().unwrap();
        feeder.join().unwrap();
        let acknowledged = reader.join().unwrap();
        self.acknowledged += acknowledged.len() as u64;
        acknowledged
    }

    /// That the moments were random, and not all too early or too late.
    fn check(&self, kills: u32) {
        assert!(self.at_work >= kills / 2, "{} of {kills} writers were killed at work", self.at_work);
        assert!(self.acknowledged > 1_000, "{} operations were acknowledged", self.acknowledged);
    }
}

/// Every key that was acknowledged has the value that it had then, or one that was sent to it later.
#[test]
fn a_writer_that_is_killed_loses_nothing_that_it_acknowledged() {
    const KILLS: u32 = 320;
    const KEYS: u64 = 300;
    let place = Place::new();
    // Small pages: every sort of page is written, and now and then the store grows.
    place.run(&["store", "create", "shelf", "--set", "page=512", "--items", "100"]).found();
    let (mut killer, mut random, mut sent) = (Killer::new(17), SplitMix::new(18), 0u64);
    // What each key may have: the acknowledged value, and those that were sent behind it.
    let mut may_have: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for round in 0..KILLS {
        let deletes = round % 4 == 3;
        let changes: Vec<(String, Option<String>)> = (0..400)
            .map(|_| {
                sent += 1;
                let key = format!("key {}", random.below(KEYS));
                let value = (!deletes).then(|| "v".repeat(random.below(30) as usize) + &sent.to_string());
                (key, value)
            })
            .collect();
        let line = |(key, value): &(String, Option<String>)| match value {
            Some(value) => format!("{key}\t{value}"),
            None => key.clone(),
        };
        let command = if deletes { "delete" } else { "put" };
        let lines: Vec<String> = changes.iter().map(line).collect();
        let acknowledged = killer.kill(&place, &["store", command, "shelf"], &lines);
        for (at, (key, value)) in changes.into_iter().enumerate() {
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
    killer.check(KILLS);
    place.run(&["store", "stats", "shelf"]).found();
}

/// Opens a filter in a folder. What other tests start here at the same time has its lock for a moment, from fork to exec.
fn open_forest(path: &Path) -> ForestFile {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match ForestFile::open(path) {
            Err(Error::Busy { .. }) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
            opened => return opened.unwrap(),
        }
    }
}

/// The filter in a folder keeps every key that was acknowledged, loses no page and is not fuller than what was sent makes it.
#[test]
fn a_filter_in_a_folder_whose_writer_is_killed_keeps_every_key_that_it_acknowledged() {
    const KILLS: u32 = 320;
    let place = Place::new();
    // Small pages and few buffers: pages are written between the acknowledgements, too, and levels are added.
    let create = ["store", "create", "wood", "--kind", "forest-structured", "--items", "4000", "--fpr", "0.001"];
    place.run(&[&create[..], &["--set", "page=256", "--set", "buffer=16"]].concat()).found();
    let (mut killer, mut acknowledged, mut sent) = (Killer::new(19), Vec::new(), 0u64);
    for round in 0..KILLS {
        // Every five of them are synced for themselves.
        let lines: Vec<String> = (sent..sent + 60).map(|key| format!("key {key}")).collect();
        sent += 60;
        let told = killer.kill(&place, &["store", "add", "wood"], &lines);
        assert!(lines.starts_with(&told), "round {round}: what is acknowledged was sent");
        acknowledged.extend(told);
        // All of them now and then, and the latest every time.
        let forest = open_forest(&place.path("wood"));
        let from = if round % 20 == 19 { 0 } else { acknowledged.len().saturating_sub(1_000) };
        let lost = acknowledged[from..].iter().find(|key| !forest.contains(key.as_str()));
        assert_eq!((lost, forest.stats().lost), (None, 0), "round {round}");
        assert!((acknowledged.len() as u64..=sent).contains(&forest.stats().items), "round {round}");
    }
    killer.check(KILLS);
    let forest = open_forest(&place.path("wood"));
    assert!(acknowledged.iter().all(|key| forest.contains(key.as_str())));
    let wrong = (0..10_000u64).filter(|key| forest.contains(format!("stranger {key}").as_str())).count();
    assert!(wrong < 500 && forest.stats().levels > 1, "{wrong} of 10000 strangers, {:?}", forest.stats());
}
