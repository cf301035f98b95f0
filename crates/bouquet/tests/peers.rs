//! Filters that other programs wrote answer here as they did there, and are written again byte for byte, also from their keys.
//! `tests/peers` holds the files and what each program said: members, keys that are absent, and which of these it reports as present.

use bouquet::foreign::{ForeignBits, ForeignBitsSettings, Program, SparkCountMin, SparkCountMinSettings, SparkKeys};
use bouquet::shell::Amount;
use bouquet::{AnyFilter, ForeignFormat, hash::SplitMix};
use serde_json::Value;

/// The folder of a program's files, the format that reads them.
const PROGRAMS: [(&str, &str); 11] = [
    ("guava-33.6.0-jre", "guava"),
    ("spark-sketch-4.3.0", "spark"),
    ("hadoop-bloom-3.5.0", "hadoop"),
    ("go-bits-and-blooms-3.3.1", "go"),
    ("pyprobables-0.7.0", "pyprobables"),
    ("datasketches-java-6.2.0", "datasketches"),
    ("bip37-bitcoinlib-0.12.2", "bip37"),
    ("squid-5.7", "squid"),
    ("rbloom-1.5.4", "rbloom"),
    ("pybloom-live-4.0.0", "pybloom-live"),
    ("pybloomfiltermmap3-0.6.3", "pybloomfiltermmap"),
];

/// The host whose pages Squid's digest holds.
const SQUID_URL: &str = "http://127.0.0.1:39981/";

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
        "URL fetched with GET: url_base + key" => format!("{SQUID_URL}{}", key.as_str().expect("text")).into_bytes(),
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
    assert_eq!(all.len(), 34, "filters of {} programs", PROGRAMS.len());
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
        let read = read.downcast_ref::<ForeignBits>().expect("bits");
        // Of random seeds the settings do not tell.
        let mut made = if read.program() == Program::Pybloomfiltermmap {
            let mut emptied = read.clone();
            emptied.clear().expect("memory");
            emptied
        } else {
            ForeignBits::with(read.settings()).expect("settings")
        };
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
        ("rbloom-1.5.4", "sha256.bin", 5_000, 0.02),
        ("pybloom-live-4.0.0", "bloom-5000-0.02.bin", 5_000, 0.02),
        ("pybloom-live-4.0.0", "bloom-150-0.1.bin", 150, 0.1),
        ("pybloom-live-4.0.0", "bloom-2000-1e-05.bin", 2_000, 1e-5),
        ("pybloom-live-4.0.0", "bloom-900-0.25.bin", 900, 0.25),
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

/// As `num_bits` and `num_hashes` of version 0.6.3 told; the recorded file was made with a list of seeds instead of a number of hashes.
#[test]
fn sizes_of_pybloomfiltermmap3_are_its_own() {
    for (items, fpr, bits, hashes) in [
        (5_000, 0.02, 40_720, 5),
        (300, 0.1, 1_440, 3),
        (1_000, 0.001, 14_384, 9),
        (777, 0.03, 5_680, 5),
        (100, 0.3, 256, 1),
        (10, 0.5, 128, 1),
        (5, 0.01, 128, 6),
    ] {
        let program = Some(Program::Pybloomfiltermmap);
        let asked = ForeignBitsSettings { items: Some(items), fpr: Some(fpr), program, ..Default::default() };
        let made = ForeignBits::with(asked).expect("settings").settings();
        assert_eq!((made.bits, made.hashes), (Some(bits), Some(hashes)), "{items} at {fpr}");
    }
}

#[test]
fn damaged_files_are_refused_or_read_and_never_worse() {
    let mut random = SplitMix::new(26);
    for filter in recorded() {
        for cut in [0, 1, 5, 8] {
            assert!(cut == filter.file.len() || filter.format.read(&filter.file[..cut]).is_err(), "{}", filter.name);
        }
        // All that is behind the first eight bytes of rbloom's file is bits, however many.
        if filter.format.name != "rbloom" {
            for cut in [13, 24, filter.file.len() - 1] {
                assert!(
                    cut == filter.file.len() || filter.format.read(&filter.file[..cut]).is_err(),
                    "{}",
                    filter.name
                );
            }
            let longer = [&filter.file[..], &[0]].concat();
            assert!(filter.format.read(&longer).is_err(), "{}: a byte too many", filter.name);
        }
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

/// A count-min sketch of Spark: its file, the keys that it was given, and the counts that Spark told of keys.
struct Counted {
    format: &'static ForeignFormat,
    file: Vec<u8>,
    members: Vec<Vec<u8>>,
    told: Vec<(Vec<u8>, u64)>,
}

/// Members came 1 to 17 times: number i as often as i modulo 17 and once more.
fn counted() -> [Counted; 2] {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/spark-sketch-4.3.0");
    let text = std::fs::read(format!("{folder}/counts.json")).expect("readable");
    let content: Value = serde_json::from_slice(&text).expect("JSON");
    let formats = ["spark-count-min", "spark-count-min-numbers"];
    let mut at = 0;
    formats.map(|format| {
        let sketch = &content["sketches"][at];
        at += 1;
        let of = |name: &str| keys(sketch["key_type"].as_str().expect("a type"), &sketch[name]);
        let counts = |name: &str| -> Vec<u64> {
            sketch[name].as_array().expect("a list").iter().map(|count| count.as_u64().expect("a count")).collect()
        };
        let (members, absent) = (of("members"), of("absent"));
        let told = members.iter().cloned().zip(counts("estimates"));
        Counted {
            format: ForeignFormat::find(format).expect("a format"),
            file: std::fs::read(format!("{folder}/{}", sketch["file"].as_str().expect("a name"))).expect("readable"),
            told: told.chain(absent.into_iter().zip(counts("absent_estimates"))).collect(),
            members,
        }
    })
}

#[test]
fn sketches_of_spark_count_as_they_did_there_and_are_written_again() {
    for Counted { format, file, members, told } in counted() {
        let read = format.read(&file).unwrap_or_else(|error| panic!("{}: {error}", format.name));
        let counts = read.count().expect("it counts");
        assert_eq!((members.len(), told.len()), (1_500, 3_500), "members and absent keys");
        for (key, count) in &told {
            let found = counts.count(key);
            assert_eq!((found.count, found.at_least), (*count, false), "{} {key:?}", format.name);
        }
        assert!(format.write(&read).expect("writable") == file, "{}", format.name);
        let framed = AnyFilter::from_bytes(&read.to_bytes()).expect("a sketch");
        assert!(framed.stats().items == 13_474 && format.write(&framed).expect("writable") == file);
    }
}

#[test]
fn the_same_amounts_give_the_same_sketch_of_spark() {
    for (Counted { format, file, members, .. }, keys) in
        counted().into_iter().zip([SparkKeys::Text, SparkKeys::Numbers])
    {
        let settings = SparkCountMinSettings {
            eps: Some(0.004),
            delta: Some(1.0 - 0.97),
            salt: Some(11),
            keys: Some(keys),
            ..Default::default()
        };
        let mut made = SparkCountMin::with(settings).expect("settings");
        let mut halves = [made.clone(), made.clone()];
        for (i, key) in members.iter().enumerate() {
            let amount = Amount(i as u64 % 17 + 1);
            made.insert_with(key, amount);
            halves[i % 2].insert_with(key, amount);
        }
        assert!(made.to_spark().expect("writable") == file, "{}", format.name);
        let [mut one, other] = halves;
        one.merge(&other).expect("one size and salt");
        assert_eq!(one, made);
        one.subtract(&other).expect("it was merged");
        assert!(one.merge(&SparkCountMin::with_error(0.004, 0.03).expect("settings")).is_err(), "another salt");
        // What was read has the seed again, and can be merged with what was made of it.
        let read = SparkCountMin::from_spark(&file, keys).expect("readable");
        assert_eq!(read.settings().salt, Some(11));
        assert!(made.merge(&read).is_ok() && made.items() == 2 * 13_474);
    }
}

#[test]
fn seeds_of_spark_are_found_again_from_the_multipliers() {
    for (rows, salt) in [(1, 7), (2, 0), (3, u64::from(u32::MAX)), (5, 1 << 31), (9, 123_456_789)] {
        let settings =
            SparkCountMinSettings { width: Some(10), rows: Some(rows), salt: Some(salt), ..Default::default() };
        let mut made = SparkCountMin::with(settings).expect("settings");
        made.insert("rose");
        let file = made.to_spark().expect("writable");
        let read = SparkCountMin::from_spark(&file, SparkKeys::Text).expect("readable");
        assert!(read.to_spark().expect("writable") == file, "{rows} rows, {salt}");
        // One multiplier of 31 bits may come from more than one seed of 32.
        assert!(rows == 1 || read.settings().salt == Some(salt), "{rows} rows, {salt}");
    }
}

#[test]
fn keys_of_eight_bytes_are_text_or_numbers_to_a_sketch_of_spark() {
    let [mut text, mut numbers] = [SparkKeys::Text, SparkKeys::Numbers].map(|keys| {
        let settings =
            SparkCountMinSettings { width: Some(1 << 20), rows: Some(3), keys: Some(keys), ..Default::default() };
        SparkCountMin::with(settings).expect("settings")
    });
    for sketch in [&mut text, &mut numbers] {
        sketch.insert("lavender");
        sketch.insert("rose");
        assert_eq!([sketch.count("lavender").count, sketch.count("rose").count, sketch.count("lily").count], [1, 1, 0]);
    }
    assert!(text.to_spark().expect("writable") != numbers.to_spark().expect("writable"), "eight bytes");
    assert!(text.merge(&numbers).is_err());
}

#[test]
fn counters_of_spark_stop_at_their_end_and_say_so() {
    let mut made = SparkCountMin::with_error(0.1, 0.1).expect("settings");
    made.insert_with("rose", Amount(u64::MAX));
    made.insert_with("rose", Amount(5));
    let full = made.count("rose");
    assert_eq!((full.count, full.at_least, made.items()), (i64::MAX as u64, true, i64::MAX as u64));
    let again = SparkCountMin::from_spark(&made.to_spark().expect("writable"), SparkKeys::Text).expect("readable");
    assert_eq!(again.count("rose"), full);
    let other = again.clone();
    made.subtract(&other).expect("it is the same");
    assert_eq!(made.count("rose"), full, "how much is left is not known");
}

#[test]
fn damaged_sketches_of_spark_are_refused_or_read_and_never_worse() {
    let mut random = SplitMix::new(304);
    for Counted { format, file, .. } in counted() {
        for cut in [0, 3, 12, 19, 20, 67, file.len() - 1] {
            assert!(format.read(&file[..cut]).is_err(), "{cut} bytes");
        }
        assert!(format.read(&[&file[..], &[0]].concat()).is_err(), "a byte too many");
        let of = |at: usize, byte: u8| {
            let mut damaged = file.clone();
            damaged[at] = byte;
            format.read(&damaged).map(|_| ()).map_err(|error| error.to_string())
        };
        for (at, byte, word) in [
            (3, 2, "version"),
            (4, 0x80, "amounts"),
            (12, 0xff, "rows"),
            (16, 0xff, "width"),
            (24, 1, "multipliers"),
            (27, 0x11, "multipliers"),
            (68, 0xff, "counter"),
        ] {
            let told = of(at, byte).expect_err("damaged");
            assert!(told.contains(word), "byte {at}: {told}");
        }
        for _ in 0..300 {
            let at = random.next_u64() as usize % file.len();
            let _ = of(at, random.next_u64() as u8);
        }
    }
    let mut seeded = SparkCountMin::hashed(Default::default(), bouquet::hash::Hashing::seeded(7)).expect("settings");
    seeded.insert("rose");
    assert_eq!((seeded.count("rose").count, seeded.count("lily").count), (1, 0));
    assert!(seeded.to_spark().unwrap_err().to_string().contains("seed"));
}
