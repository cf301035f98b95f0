//! The guide: its commands run, its links lead somewhere, every page is in its contents.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{PROGRAM, Place};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/src")
}

/// The pages and their text; the contents too.
fn pages() -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The blocks of this language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(word), None) => {
                inside = Some(word == language);
                blocks.extend((word == language).then(String::new));
            }
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => *blocks.last_mut().unwrap() += &format!("{line}\n"),
            _ => {}
        }
    }
    blocks
}

/// Where a text leads to.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        links.extend(rest.split_once(')').map(|(link, _)| link.to_string()));
    }
    links
}

/// The anchors of a page, as they follow from its headings.
fn anchors(text: &str) -> HashSet<String> {
    let headings =
        text.lines().filter_map(|line| line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()));
    let anchor = |heading: &str| -> String {
        let letters = heading.to_lowercase().replace(' ', "-");
        letters.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_command_of_the_guide_runs() {
    let mut run = 0;
    for (path, text) in pages() {
        let script = blocks(&text, "sh").concat();
        if script.is_empty() {
            continue;
        }
        let place = Place::new();
        let beside = Path::new(PROGRAM).parent().unwrap();
        let search = std::env::join_paths(
            std::iter::once(beside.to_path_buf()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-x", "-c", &script]).current_dir(place.dir());
        let told = shell.env("PATH", search.unwrap()).output().unwrap();
        assert!(told.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&told.stderr));
        run += script.lines().filter(|line| line.contains("bouquet ")).count();
    }
    assert!(run > 40, "{run} commands");
}

#[test]
fn links_of_the_guide_and_the_front_page_lead_somewhere() {
    let front = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let front = (front.clone(), std::fs::read_to_string(front).unwrap());
    let mut checked = 0;
    for (path, text) in pages().into_iter().chain([front]) {
        for link in links(&text).iter().filter(|link| !link.starts_with("http")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", path.display());
            if !anchor.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let known = anchors(&std::fs::read_to_string(&target).unwrap());
                assert!(known.contains(anchor), "{}: {link} has no such heading", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} links");
}

#[test]
fn every_page_is_in_the_contents() {
    let contents = std::fs::read_to_string(folder().join("SUMMARY.md")).unwrap();
    for (path, _) in pages() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name == "SUMMARY.md" || contents.contains(&format!("({name})")), "{name} is missing in SUMMARY.md");
    }
}
