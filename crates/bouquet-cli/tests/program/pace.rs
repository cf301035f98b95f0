//! Filters that forget as time passes: `--every`, files that were left alone, and streams that are told apart.

use std::time::{SystemTime, UNIX_EPOCH};

use bouquet::codec::Pace;
use bouquet::{AnyFilter, OpenOptions};

use crate::place::{Place, kinds_that_can, lines, names_that_can, takes_bare_keys};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A filter of keys that live for 15 ticks of a minute, whose file says that the last tick was so many seconds ago.
fn left_alone(place: &Place, name: &str, seconds: u64) {
    let args = ["build", "--kind", "temporal-counting", "--items", "100", "-o", name];
    place.run_with(&args, "rose\nlily\n").built("temporal-counting");
    let mut filter = AnyFilter::open(&place.path(name), &OpenOptions::default()).unwrap();
    filter.set_pace(Some(Pace { second: now() - seconds, seconds: 60 })).unwrap();
    filter.save(&place.path(name)).unwrap();
}

#[test]
fn a_file_that_was_left_alone_has_aged() {
    let place = Place::new();
    left_alone(&place, "noon", 10 * 60);
    assert_eq!(place.run_with(&["query", "noon"], "rose\niris\n").found().text(), "rose\n");
    assert_eq!(place.run_with(&["query", "--mapped", "noon"], "rose\n").found().text(), "rose\n");
    left_alone(&place, "noon", 60 * 60);
    place.run_with(&["query", "noon"], "rose\niris\n").nothing();
    place.run_with(&["query", "--mapped", "noon"], "rose\n").nothing();
    // What is added now lives from now on.
    place.run_with(&["add", "noon"], "iris\n").found();
    assert_eq!(place.run_with(&["query", "noon"], "rose\niris\n").found().text(), "iris\n");
    let info = place.run(&["info", "--json", "noon"]).found().json();
    assert_eq!(info["figures"]["seconds_of_a_tick"], 60);
    assert!(info["figures"]["last_tick"].as_u64().unwrap() > now() - 90, "{info}");
}

#[test]
fn advance_now_writes_the_ticks_that_are_due() {
    let place = Place::new();
    left_alone(&place, "f", 5 * 60 + 30);
    place.run(&["advance", "f", "--now"]).found();
    let filter = AnyFilter::open(&place.path("f"), &OpenOptions::default()).unwrap();
    assert!(filter.pace().unwrap().second.abs_diff(now() - 30) < 10);
    assert_eq!(place.run_with(&["ask", "f", "strength"], "rose\n").found().text(), "rose\t10\n");
    place.run(&["advance", "f"]).fails(&["--ticks"]);
}

#[test]
fn every_kind_that_forgets_can_have_a_clock_and_others_cannot() {
    let place = Place::new();
    for kind in kinds_that_can("advance,contains").iter().filter(|kind| takes_bare_keys(kind)) {
        let id = kind["kind"].as_str().unwrap();
        place.run_with(&["build", "--kind", id, "--items", "50", "-o", "f"], lines(1..=20)).built(id);
        place.run(&["advance", "f", "--every", "3600"]).found();
        place.run_with(&["add", "f"], "rose\n").found();
        assert_eq!(place.run_with(&["query", "f"], "rose\n").found().text(), "rose\n", "{id}");
        let filter = AnyFilter::open(&place.path("f"), &OpenOptions::default()).unwrap();
        assert_eq!(filter.pace().map(|pace| pace.seconds), Some(3_600), "{id}");
    }
    place.filter("plain", 10);
    assert!(!names_that_can("advance").contains(&"standard".to_string()));
    place.run(&["advance", "plain", "--every", "60"]).fails(&["plain", "advance"]);
    place.run_with(&["add", "plain", "--every", "60"], "rose\n").fails(&["plain"]);
    place.run(&["advance", "plain", "--every", "0"]).fails(&["--every"]);
}

#[test]
fn a_clock_is_not_given_to_a_file_that_is_changed_in_place() {
    let place = Place::new();
    place.run_with(&["build", "--kind", "stable", "--items", "100", "-o", "f"], "rose\n").built("stable");
    place.run_with(&["add", "--in-place", "--every", "60", "f"], "lily\n").fails(&["advance --every"]);
    place.run_with(&["query", "f"], "rose\n").found();
    place.run(&["advance", "f", "--every", "60"]).found();
    place.run_with(&["add", "--in-place", "--every", "60", "f"], "lily\n").found();
    assert_eq!(place.run_with(&["query", "f"], "lily\n").found().text(), "lily\n");
}

#[test]
fn a_stream_is_told_apart_as_it_comes() {
    let place = Place::new();
    for kind in kinds_that_can("contains,insert,advance").iter().filter(|kind| takes_bare_keys(kind)) {
        let id = kind["kind"].as_str().unwrap();
        place.run_with(&["build", "--kind", id, "--items", "100", "-o", "f"], "").built(id);
        let stream = "rose\nlily\nrose\niris\nlily\n";
        assert_eq!(
            place.run_with(&["add", "--print", "new", "f"], stream).found().text(),
            "rose\nlily\niris\n",
            "{id}"
        );
        assert_eq!(place.run_with(&["add", "--print", "known", "f"], "rose\naster\n").found().text(), "rose\n", "{id}");
    }
}
