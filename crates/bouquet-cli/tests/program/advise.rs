//! `bouquet advise`, `bouquet complete` and `bouquet man`.

use serde_json::Value;

use crate::place::{Place, lines};

#[test]
fn the_advice_has_costs_reasons_lines_and_what_would_change_it() {
    let place = Place::new();
    let told = place.run(&["advise", "--items", "1e7", "--fpr", "0.01", "--need", "remove"]).found().text();
    for part in [
        "1. ",
        "2. ",
        "3. ",
        "bits per key",
        "when sent",
        "per operation",
        "false positives 0.00",
        "bouquet build keys.txt",
        "bouquet::AnyFilter::new",
        "bouquet.Filter(",
        "BQ.CREATE",
        "What would change the choice:",
        "if nothing were removed",
        "cannot remove: standard",
        "declares",
    ] {
        assert!(told.contains(part), "`{part}` is missing in\n{told}");
    }
}

#[test]
fn every_kind_is_advised_or_rejected_in_json() {
    let place = Place::new();
    let told = place.run(&["advise", "--items", "2e4", "--static", "--sent", "24/day", "--json"]).found().json();
    assert_eq!(told["workload"]["optimise"], "bytes-sent");
    let count = |name: &str| told[name].as_array().unwrap().len();
    let kinds = place.run(&["kinds", "--json"]).found().json();
    assert_eq!(count("advice") + count("rejected"), kinds.as_array().unwrap().len());
    let best = &told["advice"][0];
    assert!(best["bytes_sent"].as_u64() < told["advice"][1]["bytes_sent"].as_u64().map(|bytes| bytes + bytes / 50));
    assert_eq!(best["bytes_per_day"].as_f64().unwrap(), 24.0 * best["bytes_sent"].as_f64().unwrap());
}

/// The command lines make filters that do what was asked for, of the size that was told.
#[test]
fn the_command_lines_that_are_told_work() {
    let place = Place::new();
    place.file("keys.txt", lines(0..3_000));
    let workloads: [&[&str]; 5] = [
        &[],
        &["--need", "remove,count"],
        &["--static"],
        &["--grows", "--optimise", "speed"],
        &["--hostile", "--need", "merge"],
    ];
    for workload in workloads {
        let args = [&["advise", "--items", "3000", "--fpr", "0.005", "--json"], workload].concat();
        let told = place.run(&args).found().json();
        for advice in told["advice"].as_array().unwrap().iter().take(3) {
            let script = advice["lines"]["shell"].as_str().unwrap().replace("bouquet ", "$bouquet ");
            let run = place.shell(&format!("rm -f keys.bq secret.key\n{script}"));
            assert_eq!(run.code, Some(0), "{script}: {run:?}");
            let secret = if script.contains("--secret") { " --secret secret.key" } else { "" };
            let info = place.shell(&format!("$bouquet info keys.bq --json{secret}"));
            let info: Value = info.json();
            let bytes = info["bits"].as_f64().unwrap() / 8.0;
            let predicted = advice["bytes"].as_f64().unwrap();
            assert!((bytes / predicted - 1.0).abs() < 0.05, "{script}: {bytes} bytes of {predicted}");
        }
    }
}

#[test]
fn a_sample_tells_how_many_keys_there_are_and_how_they_come() {
    let place = Place::new();
    let skewed: String = (1..=400u32).flat_map(|key| (0..4_000 / key).map(move |_| format!("key-{key}\n"))).collect();
    place.file("log.txt", skewed);
    let told = place.run(&["advise", "--sample", "log.txt", "--json"]).found().json();
    assert_eq!((&told["sample"]["distinct"], &told["workload"]["items"]), (&400.into(), &400.into()));
    let skew = told["workload"]["skew"].as_f64().unwrap();
    assert!((skew - 1.0).abs() < 0.1, "{skew}");
    let text = place.run(&["advise", "--sample", "log.txt"]).found().text();
    assert!(text.starts_with("sample: ") && text.contains("400 distinct"), "{text}");
}

#[test]
fn five_questions_are_asked_until_each_has_an_answer() {
    let place = Place::new();
    let run = place.run_with(&["advise", "--ask", "--json"], "many\n5000\n0.02\nremove\nlater\nspeed\n");
    assert_eq!(run.code, Some(0), "{run:?}");
    for question in ["1/5", "2/5", "3/5", "4/5", "5/5"] {
        assert!(run.err.contains(question), "{}", run.err);
    }
    let workload = &run.json()["workload"];
    assert_eq!((&workload["items"], &workload["optimise"]), (&5_000.into(), &"speed".into()));
    assert_eq!(workload["need"], serde_json::json!(["remove"]));
    let ended = place.run_with(&["advise", "--ask"], "many");
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn what_means_nothing_is_refused() {
    let place = Place::new();
    place.run(&["advise"]).fails(&["--items", "--sample"]);
    place.run(&["advise", "--items", "0"]).fails(&["items"]);
    place.run(&["advise", "--items", "10", "--fpr", "2"]).fails(&["fpr"]);
    place.run(&["advise", "--items", "10", "--need", "juggle"]).fails(&["juggle"]);
    place.run(&["advise", "--items", "10", "--window", "soon"]).fails(&["1h"]);
    place.run(&["advise", "--items", "10", "--static", "--grows"]).fails(&["--grows"]);
    place.run(&["advise", "--items", "10", "--reads", "3"]).fails(&["reads"]);
    let nothing = place.run(&["advise", "--items", "1e9", "--memory", "1K"]);
    assert_eq!(nothing.code, Some(1), "no filter is that small: {nothing:?}");
}

#[test]
fn shells_complete_and_manual_pages_tell_of_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["complete", shell]).found().text();
        assert!(script.contains("advise") && script.contains("fpr"), "{shell}");
    }
    let bash = place.run(&["complete", "bash"]).found();
    place.file("bouquet.bash", &bash.out);
    let words = "source ./bouquet.bash; COMP_WORDS=(bouquet adv); COMP_CWORD=1; _bouquet bouquet adv bouquet; echo ${COMPREPLY[@]}";
    let run = std::process::Command::new("bash").args(["-c", words]).current_dir(place.dir()).output().unwrap();
    assert!(String::from_utf8_lossy(&run.stdout).contains("advise"), "{run:?}");

    place.run(&["man", "--out", "man1"]).found();
    let page = String::from_utf8(place.read("man1/bouquet-build.1")).unwrap();
    assert!(page.contains(".TH bouquet-build 1") && page.contains("bouquet build"), "{page}");
    assert!(std::fs::read_dir(place.path("man1")).unwrap().count() > 30);
}
