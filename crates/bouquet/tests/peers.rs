//! Filters that other programs wrote answer here as they did there, and are written again byte for byte, also from their keys.
//! `tests/peers` holds the files and what each program said: members, keys that are absent, and which of these it reports as present.

use bouquet::foreign::{ForeignBits, ForeignBitsSettings};
use bouquet::{AnyFilter, ForeignFormat, hash::SplitMix};
use serde_json::Value;

/// The folder of a program's files, the format that reads them.
const PROGRAMS: [(&str, &str); 7] = [
    ("guava-33.6.0-jre", "guava"),
    ("spark-sketch-4.3.0", "spark"),
    ("hadoop-bloom-3.5.0", "hadoop"),
    ("go-bits-and-blooms-3.3.1", "go"),
    ("pyprobables-0.7.0", "pyprobables"),
    ("datasketches-java-6.2.0", "datasketches"),
    ("bip37-bitcoinlib-0.12.2", "bip37"),
];

struct Recorded {
    name: String,
    format: &'static ForeignFormat,
    file: Vec<u8>,
    members: Vec<Vec<u8>>,
    absent: Vec<Vec<u8>>,
    false_positives: Vec<Vec<u8>>,
}

/// A key as the program hashes it.
fn encoded(key_type: &str, key: &Value) -> Vec<u8> {
    let number = || key.as_i64().expect("a number");
    match key_type {
        "utf-8 string" => key.as_str().expect("text").as_bytes().to_vec(),
        "string hashed as UTF-16 code units, little endian" => {
            key.as_str().expect("text").encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
        "int64" => number().to_le_bytes().to_vec(),
        "int32" => (number() as i32).to_le_bytes().to_vec(),
        other => panic!("keys of type {other}"),
    }
}

fn keys(key_type: &str, described: &Value) -> Vec<Vec<u8>> {
    let count = described["count"].as_i64().expect("a count");
    let key = |i: i64| match (described["prefix"].as_str(), described["start"].as_i64()) {
        (Some(prefix), _) => Value::from(format!("{prefix}-{i}")),
        (None, start) => Value::from(start.expect("a start") + i),
    };
    (0..count).map(|i| encoded(key_type, &key(i))).collect()
}

fn recorded() -> Vec<Recorded> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");
    let mut all = Vec::new();
    for (program, format) in PROGRAMS {
        let text = std::fs::read(format!("{folder}/{program}/content.json")).expect("readable");
        let content: Value = serde_json::from_slice(&text).expect("JSON");
        for filter in content["filters"].as_array().expect("filters") {
            let name = format!("{program}/{}", filter["file"].as_str().expect("a name"));
            let key_type = filter["key_type"].as_str().expect("a type");
            let lies = filter["false_positives"].as_array().expect("a list");
            all.push(Recorded {
                file: std::fs::read(format!("{folder}/{name}")).expect("readable"),
                name,
                format: ForeignFormat::find(format).expect("a format"),
                members: keys(key_type, &filter["members"]),
                absent: keys(key_type, &filter["absent"]),
                false_positives: lies.iter().map(|key| encoded(key_type, key)).collect(),
            });
        }
    }
    assert_eq!(all.len(), 27, "filters of {} programs", PROGRAMS.len());
    all
}

#[test]
fn filters_of_other_programs_answer_as_they_did_there() {
    for filter in recorded() {
        let name = &filter.name;
        let read = filter.format.read(&filter.file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let verb = read.contains().expect("it answers");
        assert!(filter.members.iter().all(|key| verb.contains(key)), "{name}: members");
        let lies: Vec<_> = filter.absent.iter().filter(|key| verb.contains(key)).cloned().collect();
        assert_eq!(lies, filter.false_positives, "{name}: exactly these false positives");
    }
}

#[test]
fn they_are_written_again_byte_for_byte_and_survive_a_frame() {
    for filter in recorded() {
        let name = &filter.name;
        let read = filter.format.read(&filter.file).expect("readable");
        assert!(filter.format.write(&read).expect("writable") == filter.file, "{name}");
        let framed = AnyFilter::from_bytes(&read.to_bytes()).expect("a filter");
        assert!(filter.format.write(&framed).expect("writable") == filter.file, "{name} through a frame");
        let estimate = read.cardinality().expect("it estimates");
        let far = (estimate.keys - filter.members.len() as f64).abs();
        assert!(far <= 6.0 * estimate.standard_error.max(1.0), "{name}: {} keys, {estimate:?}", filter.members.len());
    }
}

#[test]
fn the_same_keys_give_the_same_bytes() {
    for filter in recorded() {
        let read = filter.format.read(&filter.file).expect("readable");
        let settings = read.downcast_ref::<ForeignBits>().expect("bits").settings();
        let mut made = ForeignBits::with(settings).expect("settings");
        made.insert_batch(&filter.members);
        assert!(made.to_foreign().expect("writable") == filter.file, "{}", filter.name);
    }
}

#[test]
fn sizes_by_accuracy_are_those_of_the_programs() {
    for (program, name, items, fpr) in [
        ("guava-33.6.0-jre", "string-mitz64.bin", 5_000, 0.02),
        ("guava-33.6.0-jre", "int-mitz64.bin", 1_500, 0.04),
        ("guava-33.6.0-jre", "empty.bin", 100, 0.01),
        ("spark-sketch-4.3.0", "string-default.bin", 1_200, 0.05),
        ("go-bits-and-blooms-3.3.1", "estimates.bin", 5_000, 0.02),
        ("pyprobables-0.7.0", "bloom.blm", 5_000, 0.02),
        ("datasketches-java-6.2.0", "string-accuracy.bin", 5_000, 0.02),
        ("bip37-bitcoinlib-0.12.2", "filterload-5000-0.02.bin", 5_000, 0.02),
        ("bip37-bitcoinlib-0.12.2", "filterload-300-0.001.bin", 300, 0.001),
        ("bip37-bitcoinlib-0.12.2", "filterload-20000-0.0001.bin", 20_000, 0.0001),
    ] {
        let all = recorded();
        let filter = all.iter().find(|filter| filter.name == format!("{program}/{name}")).expect("recorded");
        let read = filter.format.read(&filter.file).expect("readable");
        let told = read.downcast_ref::<ForeignBits>().expect("bits").settings();
        let asked =
            ForeignBitsSettings { items: Some(items), fpr: Some(fpr), program: told.program, ..Default::default() };
        let made = ForeignBits::with(asked).expect("settings").settings();
        assert_eq!((made.bits, made.hashes), (told.bits, told.hashes), "{}", filter.name);
    }
}

#[test]
fn damaged_files_are_refused_or_read_and_never_worse() {
    let mut random = SplitMix::new(26);
    for filter in recorded() {
        for cut in [0, 1, 5, 8, 13, 24, filter.file.len() - 1] {
            assert!(cut == filter.file.len() || filter.format.read(&filter.file[..cut]).is_err(), "{}", filter.name);
        }
        assert!(filter.format.read(&[&filter.file[..], &[0]].concat()).is_err(), "{}: a byte too many", filter.name);
        for _ in 0..200 {
            // Fields are at both ends.
            let mut damaged = filter.file.clone();
            let at = random.next_u64() as usize % 40.min(damaged.len());
            let at = if random.next_u64().is_multiple_of(2) { at } else { damaged.len() - 1 - at };
            damaged[at] = random.next_u64() as u8;
            if let Ok(read) = filter.format.read(&damaged) {
                assert_eq!(filter.format.write(&read).expect("writable").len(), damaged.len(), "{}", filter.name);
            }
        }
        for other in PROGRAMS.map(|(_, format)| ForeignFormat::find(format).expect("a format")) {
            if other.name != filter.format.name {
                let read = filter.format.read(&filter.file).expect("readable");
                assert!(other.write(&read).is_err(), "{} is not of {}", filter.name, other.name);
            }
        }
    }
}

#[test]
fn a_filter_with_a_seed_of_ours_is_not_given_away() {
    let mut filter = ForeignBits::hashed(
        ForeignBitsSettings { items: Some(100), ..Default::default() },
        bouquet::hash::Hashing::seeded(7),
    )
    .expect("settings");
    filter.insert("rose");
    assert!(filter.contains("rose"));
    let error = filter.to_foreign().unwrap_err().to_string();
    assert!(error.contains("seed") && error.contains("guava"), "{error}");
}
