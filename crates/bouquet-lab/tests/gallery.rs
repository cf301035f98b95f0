//! The committed gallery: every experiment is in it, and the quick run has the same verdicts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bouquet_lab::claim::ADDED;
use bouquet_lab::gallery::{self, VERDICTS};
use bouquet_lab::{Lab, contents, experiments};

fn committed(file: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn quick_verdicts_are_the_committed_ones() {
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab { quick: true, seed: 1 };
    let mut results = gallery::Results::new();
    for experiment in experiments() {
        let report = experiment.run(&lab).unwrap();
        report.write(experiment, folder.path()).unwrap();
        results.push((experiment, report));
    }
    gallery::write_all(&results, folder.path()).unwrap();

    let written = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let (now, before) = (written(VERDICTS), committed(VERDICTS));
    let changed: Vec<&str> = now.lines().filter(|line| !before.lines().any(|other| other == *line)).collect();
    assert!(changed.is_empty(), "verdicts that docs/lab/{VERDICTS} does not have:\n{}", changed.join("\n"));
    assert_eq!(now, before, "docs/lab/{VERDICTS} has other claims, or another order");

    let page = written("README.md");
    for (experiment, report) in &results {
        assert!(page.contains(&format!("### `{}` (", experiment.id)), "{} is not in the page", experiment.id);
        assert!(!report.plots.is_empty(), "{} has no plot", experiment.id);
        let svg = written(&format!("{}.svg", experiment.id));
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{} is no picture", experiment.id);
        assert!(written(&format!("{}.csv", experiment.id)).lines().count() > 1, "{} has no data", experiment.id);
    }
}

#[test]
fn the_gallery_shows_every_experiment() {
    let page = committed("README.md");
    for experiment in experiments() {
        let id = experiment.id;
        assert!(
            page.contains(&format!("### `{id}` ({}): {}\n", experiment.place, experiment.title)),
            "{id} is missing"
        );
        assert!(page.contains(&format!("]({id}.svg)")), "{id} has no plot");
        committed(&format!("{id}.svg"));
        committed(&format!("{id}.csv"));
    }
    let shown = page.lines().filter(|line| line.starts_with("### `")).count();
    assert_eq!(shown, experiments().len(), "the page shows experiments that are gone");
}

#[test]
fn no_claim_differs_without_a_correction() {
    let differing: Vec<String> =
        committed(VERDICTS).lines().filter(|line| line.ends_with(",differs")).map(Into::into).collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn no_claim_holds_only_by_its_standard_errors_or_without_a_statement_of_the_paper() {
    let page = committed("README.md");
    let rows = || page.lines().filter(|line| line.starts_with("| "));
    let by_errors: Vec<&str> = rows().filter(|line| line.contains(ADDED) && line.ends_with("| agrees |")).collect();
    assert!(by_errors.is_empty(), "{}", by_errors.join("\n"));
    let silent: Vec<&str> = rows().filter(|line| line.contains("| not stated |")).collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn the_list_of_the_papers_results_is_the_committed_one() {
    assert_eq!(contents::page(), committed(contents::PAGE), "docs/lab/{} is old", contents::PAGE);
}

#[test]
fn names_are_unique_and_are_those_of_the_files() {
    let ids: BTreeSet<&str> = experiments().iter().map(|experiment| experiment.id).collect();
    assert_eq!(ids.len(), experiments().len());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/experiments");
    for id in ids {
        let file = source.join(format!("{}.rs", id.replace('-', "_")));
        assert!(file.exists(), "{id} should be in {}", file.display());
    }
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let experiment = bouquet_lab::find("survey001-inner-product").unwrap();
        let report = pool.install(|| experiment.run(&Lab { quick: true, seed })).unwrap();
        report.write(experiment, folder.path()).unwrap();
        ["svg", "csv"].map(|end| fs::read(folder.path().join(format!("{}.{end}", experiment.id))).unwrap())
    };
    assert_eq!(run(1, 1), run(3, 1));
    assert_ne!(run(2, 1)[1], run(2, 2)[1]);
}

#[test]
fn claims_of_an_experiment_have_different_names() {
    let record = committed(VERDICTS);
    let mut seen = BTreeSet::new();
    for line in record.lines() {
        let claim = line.rsplit_once(',').map_or(line, |(claim, _)| claim);
        assert!(seen.insert(claim), "{claim} is there twice");
    }
}
