//! Every verb, with every kind that has it; with the others, the error that says who has it.

use serde_json::Value;

use crate::place::{Place, Run, kinds_that_can, takes_bare_keys};

/// Keys that a kind is given, with notes where it takes them.
struct Sample {
    kind: Value,
    /// Arguments that every filter of the kind is built with.
    arguments: Vec<String>,
    /// The sort of note that its keys carry.
    note: String,
    /// Bytes of a value, for kinds with bytes as values.
    value_width: usize,
    /// The number of sets, for keys that belong to sets.
    sets: u32,
}

impl Sample {
    /// Finds out what the kind needs, as a user would: from its own messages.
    fn of(place: &Place, kind: &Value) -> Self {
        Self::that_can(place, kind, "")
    }

    /// The same with the settings that the verb needs.
    fn that_can(place: &Place, kind: &Value, verb: &str) -> Self {
        let id = kind["kind"].as_str().unwrap().to_owned();
        let mut arguments = vec!["--kind".to_owned(), id.clone()];
        // Nothing is needed where the default excuses from it.
        if excuse(kind, verb).is_none() {
            arguments.extend(needs(kind, verb).into_iter().flat_map(|need| ["--set".to_owned(), need]));
        }
        if kind["hashes"] != true {
            arguments.extend(["--set".to_owned(), "decimal=yes".to_owned()]);
        }
        if kind["parameters"].as_array().unwrap().iter().any(|parameter| parameter["name"] == "items") {
            arguments.extend(["--items".to_owned(), "600".to_owned()]);
        }
        let note = kind["note"].as_str().unwrap().to_owned();
        let mut sample = Sample { kind: kind.clone(), arguments, note, value_width: 8, sets: 4 };
        for _ in 0..8 {
            let run = sample.try_build(place, "sample", 1..=3);
            if run.code == Some(0) {
                return sample;
            }
            if run.err.contains("expected KEY TAB the number of a set") {
                sample.note = "group".into();
                continue;
            }
            if run.err.contains("expected KEY TAB a whole number") {
                sample.note = "integer".into();
                continue;
            }
            if run.err.contains("the item is not accepted") && sample.note == "group" && sample.sets > 1 {
                sample.sets /= 2;
                continue;
            }
            if run.err.contains("the item is not accepted") && sample.value_width > 0 {
                sample.value_width /= 2;
                continue;
            }
            let missing = run.err.split('`').nth(1).filter(|_| run.err.contains("missing"));
            let missing = missing.unwrap_or_else(|| panic!("{id}: {}", run.err));
            sample.arguments.extend(["--set".to_owned(), format!("{missing}=6000")]);
        }
        panic!("{id} cannot be built");
    }

    fn can(&self, verb: &str) -> bool {
        let met = needs(&self.kind, verb).iter().all(|need| self.is_set(need));
        let excused = excuse(&self.kind, verb).is_some_and(|excuse| self.is_set(&excuse));
        (met || excused) && self.kind["can"].as_array().unwrap().contains(&verb.into())
    }

    /// Whether the filters have this setting, `NAME=WORD`, by an argument or by default.
    fn is_set(&self, setting: &str) -> bool {
        let (name, word) = setting.split_once('=').unwrap();
        let of_name = |argument: &&String| argument.split_once('=').is_some_and(|(set, _)| set == name);
        let parameters = self.kind["parameters"].as_array().unwrap();
        let default = || parameters.iter().any(|known| known["name"] == name && known["default"] == word);
        self.arguments.iter().find(of_name).map_or_else(default, |argument| argument == setting)
    }

    fn id(&self) -> &str {
        self.kind["kind"].as_str().unwrap()
    }

    fn errs(&self, class: &str) -> bool {
        self.kind["errors"].as_array().unwrap().contains(&class.into())
    }

    fn note(&self, i: u32) -> String {
        match self.note.as_str() {
            "none" => String::new(),
            "integer" => (i % 4).to_string(),
            "group" => (i % self.sets).to_string(),
            "weight" => "0.5".into(),
            "weights" => "1.5,0.5".into(),
            // Said or not, it comes once.
            "amount" => {
                if i.is_multiple_of(2) {
                    "1".into()
                } else {
                    String::new()
                }
            }
            "bytes" => "abcdefgh"[..self.value_width].to_owned(),
            other => panic!("a new sort of note: {other}"),
        }
    }

    /// A key; where keys are not hashed they are integers.
    fn key(&self, i: u32) -> String {
        if self.kind["hashes"] == true { format!("key-{i:04}") } else { i.to_string() }
    }

    /// Lines of keys with notes.
    fn lines(&self, range: impl Iterator<Item = u32>) -> String {
        let line = |i| match self.note(i) {
            note if note.is_empty() => format!("{}\n", self.key(i)),
            note => format!("{}\t{note}\n", self.key(i)),
        };
        range.map(line).collect()
    }

    fn try_build(&self, place: &Place, name: &str, range: impl Iterator<Item = u32>) -> Run {
        let arguments: Vec<_> = self.arguments.iter().map(String::as_str).collect();
        place.run_with(&[&["build", "-o", name][..], &arguments].concat(), self.lines(range))
    }

    fn build(&self, place: &Place, name: &str, range: impl Iterator<Item = u32>) {
        self.try_build(place, name, range).built(self.id());
    }

    /// How many of these keys the filter contains.
    fn contained(&self, place: &Place, name: &str, range: impl Iterator<Item = u32>) -> u32 {
        let run = place.run_with(&["query", "-c", name], self.lines(range));
        assert!(matches!(run.code, Some(0 | 1)) && run.err.is_empty(), "{run:?}");
        run.text().trim().parse().unwrap()
    }

    /// All of these keys must be contained, unless the kind may forget some.
    fn assert_contained(&self, place: &Place, name: &str, range: std::ops::RangeInclusive<u32>) {
        if self.can("contains") {
            let (found, all) = (self.contained(place, name, range.clone()), range.count() as u32);
            let least = if self.errs("false negatives") { all / 2 } else { all };
            assert!(found >= least, "{}: {found} of {all}", self.kind["kind"]);
        }
    }
}

/// The settings that a kind needs for the verb, such as `cells=counters`.
fn needs(kind: &Value, verb: &str) -> Vec<String> {
    let needs = kind["needs"][verb].as_object();
    needs.into_iter().flatten().filter_map(|(name, word)| Some(format!("{name}={}", word.as_str()?))).collect()
}

/// The setting with which the verb needs no other, where there is one.
fn excuse(kind: &Value, verb: &str) -> Option<String> {
    let (name, word) = kind["needs"][verb]["unless"].as_object()?.iter().next()?;
    Some(format!("{name}={}", word.as_str()?))
}

/// The kinds that have the verb, as messages list them.
fn listed(verb: &str) -> String {
    let listed = |kind: &Value| match needs(kind, verb).join(" and ") {
        needs if needs.is_empty() => kind["kind"].as_str().unwrap().to_owned(),
        needs => {
            let or = excuse(kind, verb).map_or(String::new(), |excuse| excuse + " or ");
            format!("{} with {or}{needs}", kind["kind"].as_str().unwrap())
        }
    };
    let able: Vec<_> = kinds_that_can(verb).iter().map(listed).collect();
    if able.is_empty() { "none".to_owned() } else { able.join(", ") }
}

/// Runs a check with every kind that has the verb, with the settings that it needs for it, and asks every other kind for the command in vain.
fn for_each_kind(verb: &str, command: &[&str], check: impl Fn(&Place, &Sample)) {
    // A few names are enough: nobody reads dozens.
    let listed = listed(verb);
    let able = match listed.split(", ").next().unwrap() {
        "none" => "no kind can".to_owned(),
        first => format!("kinds that can: {first}"),
    };
    for kind in kinds_that_can("") {
        let place = Place::new();
        let sample = Sample::that_can(&place, &kind, verb);
        if sample.can(verb) {
            check(&place, &sample);
            continue;
        }
        sample.build(&place, "f", 1..=10);
        let before = place.read("f");
        let id = kind["kind"].as_str().unwrap();
        let run = place.run_with(command, "key-0001\n").fails(&["f: ", &format!("`{id}`")]);
        let built_once = verb == "insert" && kind["can"].as_array().unwrap().contains(&"build_from".into());
        let told = if built_once { run.err.contains("built once") } else { run.err.contains(&able) };
        assert!(told && run.err.len() < 300, "{}", run.err);
        assert_eq!(place.read("f"), before);
        assert!(!place.path("out").exists());
    }
}

#[test]
fn query_finds_what_was_built_with_every_kind() {
    for_each_kind("contains", &["query", "f"], |place, sample| {
        sample.build(place, "f", 1..=200);
        sample.assert_contained(place, "f", 1..=200);
        // The line is printed as it was given, its note included.
        let run = place.run_with(&["query", "f"], sample.lines(200..=200));
        assert!(run.code == Some(1) || run.text() == sample.lines(200..=200), "{run:?}");
        assert_eq!(place.run(&["verify", "f"]).found().text(), "f: whole\n");
        place.run(&["info", "f"]).found();
        let info = place.run(&["info", "--json", "f"]).found().json();
        assert_eq!(info["kind"], sample.kind["kind"]);
        let mapped = place.run_with(&["query", "--mapped", "f"], sample.lines(1..=300));
        assert_eq!(mapped.out, place.run_with(&["query", "f"], sample.lines(1..=300)).out);
    });
}

#[test]
fn files_are_counted_for_every_kind() {
    for kind in kinds_that_can("") {
        let place = Place::new();
        let sample = Sample::of(&place, &kind);
        let Some(items) = sample.arguments.iter().position(|argument| argument == "--items") else { continue };
        place.file("keys", sample.lines(1..=200));
        let arguments = [&sample.arguments[..items], &sample.arguments[items + 2..]].concat();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        place.run(&[&["build", "keys", "-o", "f"][..], &arguments].concat()).built(sample.id());
        sample.assert_contained(&place, "f", 1..=200);
        // From standard input the number is not known beforehand; the answers are the same.
        place.run_with(&[&["build", "-o", "g"][..], &arguments].concat(), sample.lines(1..=200)).built(sample.id());
        sample.assert_contained(&place, "g", 1..=200);
    }
}

#[test]
fn add_inserts_with_every_kind() {
    for_each_kind("insert", &["add", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        place.run_with(&["add", "f"], sample.lines(101..=200)).found();
        sample.assert_contained(place, "f", 1..=200);
    });
}

#[test]
fn a_bad_note_is_refused_with_its_place_and_nothing_changes() {
    for kind in kinds_that_can("insert") {
        let place = Place::new();
        let sample = Sample::of(&place, &kind);
        if !matches!(kind["note"].as_str(), Some("integer" | "group" | "weight" | "weights" | "amount")) {
            continue;
        }
        sample.build(&place, "f", 1..=10);
        let before = place.read("f");
        place.file("more", format!("{}{}\tleft\n", sample.lines(11..=11), sample.key(12)));
        place.run(&["add", "f", "more"]).fails(&["more:2: the item is not accepted", "`left`"]);
        if takes_bare_keys(&kind) {
            place
                .run_with(&["add", "f"], format!("{}\t0", sample.key(13)))
                .fails(&["standard input:1: the item is not accepted", "at least 1"]);
        } else if !sample.note.starts_with("weight") {
            place
                .run_with(&["add", "f"], sample.key(13))
                .fails(&["standard input:1: the item is not accepted", "no TAB"]);
        }
        assert_eq!(place.read("f"), before);
    }
}

#[test]
fn keys_that_cannot_be_removed_stay_and_are_told_and_the_others_go() {
    let place = Place::new();
    let lines = |keys: std::ops::Range<u32>| keys.map(|key| format!("key-{key}\n")).collect::<String>();
    // Crowded: many keys have met in every region that one of theirs is in.
    let shape = ["--set", "bits=1200", "--set", "regions=200", "--set", "hashes=3"];
    place.run_with(&[&["build", "--kind", "deletable", "-o", "f"], &shape[..]].concat(), lines(0..100)).found();
    let run = place.run_with(&["remove", "f"], lines(0..100));
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = run.err.trim().strip_prefix("bouquet: f: ").and_then(|line| line.split_once(' ')).unwrap();
    let stuck: u32 = told.0.parse().unwrap();
    assert_eq!(told.1, "of 100 keys are in the filter and cannot be removed from it");
    assert!((1..100).contains(&stuck), "{stuck}");
    let left = place.run_with(&["query", "f"], lines(0..100)).found().lines().len() as u32;
    assert_eq!(left, stuck, "a key that is gone has lost a bit that was its own");
    let again = place.run_with(&["remove", "f"], place.run_with(&["query", "f"], lines(0..100)).found().text());
    assert_eq!(again.code, Some(1), "nothing more can be removed: {again:?}");
}

#[test]
fn remove_undoes_one_insertion_and_reports_absent_keys() {
    for_each_kind("remove", &["remove", "f"], |place, sample| {
        sample.build(place, "f", 1..=200);
        let removed = place.run_with(&["remove", "f"], sample.lines(1..=100));
        // A kind may declare that it loses keys, or that some cannot be removed; that is told.
        if ["false negatives", "refused removals"].iter().any(|class| sample.errs(class)) {
            assert_eq!(removed.code, Some(0), "{removed:?}");
        } else {
            removed.found();
        }
        sample.assert_contained(place, "f", 101..=200);
        if sample.errs("removed keys that linger") {
            return sample.assert_contained(place, "f", 1..=200);
        }
        if sample.can("contains") {
            // Far above what the rate of 1 % explains, far below what was there.
            assert!(sample.contained(place, "f", 1..=100) < 20);
            let absent = place.run_with(&["query", "-v", "f"], sample.lines(1..=100)).found().text();
            let before = place.read("f");
            let run = place.run_with(&["remove", "f"], &absent);
            let count = absent.lines().count();
            if run.code == Some(1) {
                assert_eq!(run.err, format!("bouquet: f: {count} of {count} keys were not in the filter\n"));
                assert_eq!(place.read("f"), before);
            } else {
                // Kinds that can hold less than nothing take any removal.
                assert_eq!(run.code, Some(0), "{run:?}");
            }
            let both = format!("{}{}", absent.lines().next().unwrap(), "\n") + &sample.lines(101..=101);
            assert_eq!(place.run_with(&["remove", "f"], both).code, Some(0));
        }
        sample.assert_contained(place, "f", 102..=200);
    });
}

#[test]
fn count_answers_key_tab_number() {
    for_each_kind("count", &["count", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        if sample.can("insert") && takes_bare_keys(&sample.kind) {
            place.run_with(&["add", "f"], sample.lines(1..=50)).found();
        }
        let lines = place.run_with(&["count", "f"], sample.lines(1..=100)).found().lines();
        assert_eq!(lines.len(), 100);
        for (i, line) in (1u32..).zip(&lines) {
            let (key, count) = line.split_once('\t').unwrap();
            assert_eq!(key, sample.key(i));
            let count: u64 = count.trim_end_matches('+').parse().unwrap();
            let least = if i <= 50 && takes_bare_keys(&sample.kind) { 2 } else { 1 };
            let at_least = line.ends_with('+');
            let enough = count >= least || at_least && count > 0;
            assert!(enough || sample.errs("under-counts") || sample.errs("unknown answers"), "{line}");
        }
        // An absent key is counted zero times, and a count of nothing is exit code 1.
        let absent = place.run_with(&["count", "f"], sample.lines(1001..=1100));
        let zeros: String =
            absent.lines().iter().filter_map(|line| Some(line.strip_suffix("\t0")?.to_owned() + "\n")).collect();
        assert!(zeros.lines().count() > 50, "{}", absent.text());
        place.run_with(&["count", "f"], &zeros).nothing();
    });
}

#[test]
fn get_answers_key_tab_value() {
    for_each_kind("get", &["get", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        let run = place.run_with(&["get", "f"], sample.lines(1..=100));
        assert_eq!(run.code, Some(0), "{run:?}");
        let (lines, mut unknown) = (run.lines(), 0);
        assert_eq!(lines.len(), 100);
        for (i, line) in (1u32..).zip(&lines) {
            let (key, value) = line.split_once('\t').unwrap_or((line, "absent"));
            assert_eq!(key, sample.key(i));
            if value == "?" && sample.errs("unknown answers") {
                unknown += 1;
            } else {
                assert_eq!(value, sample.note(i));
            }
        }
        assert_eq!(run.err.is_empty(), unknown == 0, "{}", run.err);
        // Most absent keys stand alone, and they alone are nothing found.
        let absent = place.run_with(&["get", "f"], sample.lines(1001..=1200)).lines();
        let alone: String = absent.iter().filter(|line| !line.contains('\t')).map(|line| format!("{line}\n")).collect();
        assert!(alone.lines().count() > 100, "{absent:?}");
        assert_eq!(place.run_with(&["get", "f"], &alone).nothing().text(), alone);
    });
}

#[test]
fn judge_answers_key_tab_verdict() {
    for_each_kind("judge", &["judge", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        let lines = place.run_with(&["judge", "f"], sample.lines(1..=100)).lines();
        assert_eq!(lines.len(), 100);
        for (i, line) in (1u32..).zip(&lines) {
            let (key, verdict) = line.split_once('\t').unwrap();
            assert!(key == sample.key(i) && ["in", "undetermined"].contains(&verdict), "{line}");
        }
        // With the members at hand nothing is left to look up.
        place.file("members", (1..=100).map(|i| format!("{}\n", sample.key(i))).collect::<String>());
        let resolved = place.run_with(&["judge", "f", "--members", "members"], sample.lines(1..=100)).found().lines();
        assert!(resolved.iter().all(|line| line.ends_with("\tin")), "{resolved:?}");
    });
}

#[test]
fn classify_answers_key_tab_sets() {
    for_each_kind("classify", &["classify", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        let lines = place.run_with(&["classify", "f"], sample.lines(1..=100)).found().lines();
        assert_eq!(lines.len(), 100);
        for (i, line) in (1u32..).zip(&lines) {
            let (key, sets) = line.split_once('\t').unwrap();
            assert_eq!(key, sample.key(i));
            let sets: Vec<u64> = sets.split(',').map(|set| set.parse().unwrap()).collect();
            assert!(sets.is_sorted() && sets.contains(&sample.note(i).parse().unwrap()), "{line}");
        }
        let absent = place.run_with(&["classify", "f"], sample.lines(1001..=1200)).lines();
        let alone: String = absent.iter().filter(|line| !line.contains('\t')).map(|line| format!("{line}\n")).collect();
        // Kinds that are told who will be asked for promise nothing of others.
        if sample.kind["absent"] == true {
            return;
        }
        assert!(alone.lines().count() > 100, "{absent:?}");
        assert_eq!(place.run_with(&["classify", "f"], &alone).nothing().text(), alone);
    });
}

#[test]
fn list_gives_back_what_was_built() {
    for_each_kind("list", &["list", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        let mut listed = place.run(&["list", "f"]).found().lines();
        listed.sort();
        let built = sample.lines(1..=100);
        let mut built: Vec<_> = built.lines().collect();
        built.sort_unstable();
        assert_eq!(listed, built);
        let counted = place.run(&["list", "--counts", "f"]).found().lines();
        assert!(counted.len() == 100 && counted.iter().all(|line| line.starts_with("1\t")), "{counted:?}");
        assert_eq!(place.run(&["list", "-0", "f"]).found().out.iter().filter(|&&byte| byte == 0).count(), 100);
        sample.build(place, "empty", std::iter::empty());
        place.run(&["list", "empty"]).nothing();
        // Far more keys than it was made for cannot all be listed, and that is said.
        if sample.can("insert") {
            let more = place.run_with(&["add", "f"], sample.lines(101..=5000));
            if more.code != Some(0) {
                // A set that promises to make no error takes no more than it was made for.
                more.fails(&["the filter is full"]);
                return;
            }
            let listed = place.run(&["list", "f"]);
            if listed.code == Some(0) {
                // A table that is exact grows.
                assert_eq!(listed.lines().len(), 5_000, "{}", sample.id());
            } else {
                listed.fails(&["the listing is not complete"]);
            }
        }
    });
}

#[test]
fn advance_moves_the_clock_and_adds_up() {
    for_each_kind("advance", &["advance", "f", "--ticks", "1"], |place, sample| {
        sample.build(place, "f", 1..=100);
        std::fs::copy(place.path("f"), place.path("g")).unwrap();
        place.run(&["advance", "f", "--ticks", "5"]).found();
        place.run(&["advance", "g", "--ticks", "2"]).found();
        place.run(&["advance", "g", "--ticks", "3"]).found();
        assert_eq!(place.read("f"), place.read("g"));
        for bad in ["-1", "x", "1.5"] {
            place.run(&["advance", "f", "--ticks", bad]).fails(&["--ticks"]);
        }
    });
}

#[test]
fn grow_makes_room_and_changes_no_answer() {
    for_each_kind("grow", &["grow", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        let before = place.run_with(&["query", "f"], sample.lines(1..=1000)).out;
        let capacity = || place.run(&["grow", "f"]).found().text().trim().parse::<u64>().unwrap();
        let (first, second) = (capacity(), capacity());
        assert!(first >= 100 && second > first, "{first} {second}");
        assert_eq!(place.run_with(&["query", "f"], sample.lines(1..=1000)).out, before);
    });
}

#[test]
fn merge_contains_what_either_contained() {
    for_each_kind("merge", &["merge", "-o", "out", "f", "f"], |place, sample| {
        sample.build(place, "f", 1..=100);
        sample.build(place, "g", 101..=200);
        sample.build(place, "h", 201..=300);
        place.run(&["merge", "-o", "out", "f", "g", "h"]).found();
        sample.assert_contained(place, "out", 1..=300);
        place.run(&["merge", "-o", "f", "f", "g"]).found();
        sample.assert_contained(place, "f", 1..=200);
    });
}

#[test]
fn intersect_contains_what_both_contained() {
    for_each_kind("intersect", &["intersect", "-o", "out", "f", "f"], |place, sample| {
        sample.build(place, "f", 1..=200);
        sample.build(place, "g", 101..=300);
        place.run(&["intersect", "-o", "out", "f", "g"]).found();
        sample.assert_contained(place, "out", 101..=200);
        if sample.can("contains") {
            let (f, out) = (sample.contained(place, "f", 1..=100), sample.contained(place, "out", 1..=100));
            assert!(out < f, "{out} of {f} keys of one filter only");
        }
    });
}

#[test]
fn estimate_is_within_its_error() {
    for_each_kind("cardinality", &["estimate", "f"], |place, sample| {
        sample.build(place, "f", 1..=300);
        sample.build(place, "g", 201..=400);
        let near = |estimate: &Value, truth: f64| {
            let (keys, error) = (estimate["keys"].as_f64().unwrap(), estimate["standard_error"].as_f64().unwrap());
            assert_eq!(estimate["saturated"], false);
            assert!((keys - truth).abs() <= 6.0 * error + 0.5, "{estimate} of {truth}");
        };
        let one = place.run(&["estimate", "--json", "f"]).found().json();
        near(&one["cardinality"], 300.0);
        let two = place.run(&["estimate", "--json", "f", "g"]).found().json();
        near(&two["cardinality"], 300.0);
        near(&two["cardinality_other"], 200.0);
        near(&two["union"], 400.0);
        near(&two["intersection"], 100.0);
        assert!((two["jaccard"].as_f64().unwrap() - 0.25).abs() < 0.2, "{two}");
        let text = place.run(&["estimate", "f", "g"]).found().text();
        assert!(text.contains('±') && text.contains("jaccard"), "{text}");
    });
}

#[test]
fn compress_changes_the_size_and_no_answer() {
    for_each_kind("compress", &["compress", "f", "-o", "out"], |place, sample| {
        sample.build(place, "f", 1..=20);
        place.run(&["compress", "f", "-o", "out"]).found();
        // 20 keys in a filter for 600: hardly any information.
        assert!(place.read("out").len() <= place.read("f").len());
        let answers = |name| place.run_with(&["query", name], sample.lines(1..=1000)).out;
        assert_eq!(answers("out"), answers("f"));
        place.run(&["verify", "out"]).found();
    });
}

#[test]
fn absent_keys_are_for_kinds_that_know_them() {
    let knows = |kind: &Value| kind["absent"] == true;
    let kinds = kinds_that_can("");
    let able: Vec<_> = kinds.iter().filter(|kind| knows(kind)).map(|kind| kind["kind"].as_str().unwrap()).collect();
    for kind in &kinds {
        let place = Place::new();
        let sample = Sample::of(&place, kind);
        place.file("members", sample.lines(1..=100));
        place.file("absent", sample.lines(101..=200));
        let arguments: Vec<_> = sample.arguments.iter().map(String::as_str).collect();
        let run = place.run(&[&["build", "members", "-o", "f", "--absent", "absent"][..], &arguments].concat());
        if knows(kind) {
            run.built(sample.id());
            sample.assert_contained(&place, "f", 1..=100);
        } else {
            run.fails(&["no use for --absent", &format!("kinds that have: {}", able.join(", "))]);
        }
    }
}

#[test]
fn a_patch_makes_the_new_filter_of_the_old_one_with_every_kind() {
    for kind in kinds_that_can("") {
        let place = Place::new();
        let sample = Sample::of(&place, &kind);
        sample.build(&place, "old", 1..=300);
        sample.build(&place, "new", 1..=303);
        sample.build(&place, "other", 2..=300);
        place.run(&["delta", "old", "new", "-o", "patch"]).found();
        place.run(&["patch", "old", "patch", "-o", "made"]).found();
        assert_eq!(place.read("made"), place.read("new"), "{}", kind["kind"]);

        // Another filter, the new one and a damaged patch are refused, and nothing is written.
        let names = place.names();
        for base in ["other", "new"] {
            place.run(&["patch", base, "patch", "-o", "out"]).fails(&["patch: the patch is for another filter"]);
        }
        let mut damaged = place.read("patch");
        *damaged.last_mut().unwrap() ^= 1;
        place.file("patch", &damaged);
        place.run(&["patch", "old", "patch", "-o", "out"]).fails(&["checksum of the patch"]);
        assert_eq!(place.names(), names);

        // In place, and through pipes.
        let script = r#""$bouquet" delta old new -o - | "$bouquet" patch old - -o old && cmp old new"#;
        let run = place.shell(script);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}: {}", kind["kind"], run.text());
    }
}
