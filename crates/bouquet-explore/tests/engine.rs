//! The engine: what the page is told is what the library says.

use bouquet::capability::Item;
use bouquet::kind::{Config, Verb};
use bouquet::{AnyFilter, registry};
use bouquet_explore::engine::{Engine, Local};
use serde_json::{Value, json};

fn settings(kind: &str) -> Value {
    let parameters = registry::find(kind).unwrap().facts().parameters;
    let given = [("items", "8"), ("fpr", "0.1"), ("sets", "4")];
    given
        .into_iter()
        .filter(|(name, _)| parameters.iter().any(|of| of.name == *name))
        .map(|(a, b)| (a.to_string(), json!(b)))
        .collect()
}

#[test]
fn small_filters_of_every_kind_are_seen_or_the_reason_is_told() {
    let mut seen = 0;
    for kind in registry::kinds() {
        let id = kind.facts().id;
        let steps = json!([{ "do": "insert", "key": "rose" }, { "do": "insert", "key": "lily" }]);
        let asked = json!({ "kind": id, "settings": settings(id), "steps": steps, "probe": "rose" });
        match Local.see(&asked) {
            Ok(told) => {
                let stores = told["stores"].as_array().unwrap();
                assert!(!stores.is_empty(), "{id} has no stores");
                let used: usize =
                    stores.iter().flat_map(|of| of["cells"].as_array().unwrap()).filter(|cell| **cell != 0).count();
                assert!(used > 0 || told["items"] == 0, "{id} holds keys and has no cell in use");
                let first = told["steps"][0].as_str().unwrap();
                let took = first.starts_with("is in") || first.starts_with("is among");
                if took && kind.can(Verb::Contains) && told["probe"]["answers"].get("contains").is_some() {
                    assert_eq!(told["probe"]["answers"]["contains"], true, "{id}: {told}");
                }
                seen += usize::from(took);
            }
            Err(problem) => assert!(problem.0.len() > 10, "{id}: {}", problem.0),
        }
    }
    let kinds = registry::kinds().count();
    assert!(10 * seen >= 8 * kinds, "{seen} of {kinds} kinds can be watched");
}

#[test]
fn the_cells_of_a_key_are_those_that_the_filter_sets() {
    let asked = json!({ "kind": "standard", "settings": { "bits": "64", "hashes": "3" }, "steps": [{ "do": "insert", "key": "rose" }], "probe": "rose" });
    let told = Local.see(&asked).unwrap();
    let cells = told["stores"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 64);
    let places = told["probe"]["cells"].as_array().unwrap();
    assert_eq!(places.len(), 3);
    assert!(places.iter().all(|of| cells[of["cell"].as_u64().unwrap() as usize] == 1));
    assert_eq!(told["changed"].as_array().unwrap().len(), 3);
}

#[test]
fn a_false_positive_is_found_and_explained() {
    let keys = ["rose", "lily", "iris", "aster", "tulip"].map(|key| json!({ "do": "insert", "key": key }));
    let asked = json!({ "kind": "standard", "settings": { "bits": "40", "hashes": "3" }, "steps": keys, "seek": true });
    let told = Local.see(&asked).unwrap();
    let probe = &told["probe"];
    assert_eq!((&probe["false_positive"], &probe["member"]), (&json!(true), &json!(false)));
    assert!(probe["cells"].as_array().unwrap().iter().all(|of| !of["keys"].as_array().unwrap().is_empty()), "{probe}");
}

#[test]
fn removal_ticks_and_growth_are_seen() {
    let steps = json!([{ "do": "insert", "key": "rose" }, { "do": "remove", "key": "rose" }, { "do": "remove", "key": "rose" }]);
    let told = Local
        .see(&json!({ "kind": "counting", "settings": settings("counting"), "steps": steps, "probe": "rose" }))
        .unwrap();
    assert_eq!((&told["steps"][1], &told["probe"]["positive"]), (&json!("was removed"), &json!(false)));
    assert!(told["steps"][2].as_str().unwrap().contains("not in the filter"));
    let forgetting =
        registry::kinds().find(|kind| kind.can(Verb::Advance) && kind.can(Verb::Contains)).unwrap().facts().id;
    let steps = json!([{ "do": "insert", "key": "rose" }, { "do": "advance", "ticks": 100_000 }]);
    let told = Local
        .see(&json!({ "kind": forgetting, "settings": settings(forgetting), "steps": steps, "probe": "rose" }))
        .unwrap();
    assert_eq!(told["probe"]["false_negative"], true, "it forgets");
}

#[test]
fn what_is_too_large_or_unknown_is_refused() {
    let refused = |asked: Value| Local.see(&asked).unwrap_err().0;
    assert!(refused(json!({ "kind": "standard", "settings": { "items": "1e9" } })).contains("smaller"));
    assert!(refused(json!({ "kind": "petunia" })).contains("petunia"));
    assert!(refused(json!({ "kind": "standard", "settings": { "petals": "5" } })).contains("petals"));
    assert!(
        refused(json!({ "kind": "standard", "settings": { "items": "9" }, "steps": [{ "do": "juggle" }] }))
            .contains("juggle")
    );
    assert!(Local.curves(&json!({ "kinds": ["standard"], "of": "petals" })).is_err());
    assert!(Local.advise(&json!({ "items": -5 })).is_err() && Local.advise(&json!({ "need": ["juggle"] })).is_err());
    assert!(Local.inspect(b"no filter").is_err() && Local.inspect(b"").is_err());
}

/// The curves are those of `bouquet size`, which prints a kind's plan.
#[test]
fn curves_are_the_kinds_plans() {
    for kind in ["standard", "cuckoo", "scalable"] {
        let told = Local.curves(&json!({ "kinds": [kind], "of": "bits", "items": 100_000 })).unwrap();
        let points = told["curves"][0]["points"].as_array().unwrap();
        assert!(points.len() > 30);
        for point in points {
            let [rate, bits] = [0, 1].map(|at| point[at].as_f64().unwrap());
            let kind = registry::find(kind).unwrap();
            let config =
                Config::new(kind.facts()).set("items", "100000").unwrap().set("fpr", &rate.to_string()).unwrap();
            assert!((kind.plan(&config).unwrap().bits as f64 / 1e5 - bits).abs() < 1e-9);
        }
    }
    let told = Local.curves(&json!({ "kinds": ["standard"], "of": "rate", "items": 1_000_000, "fpr": 0.01 })).unwrap();
    let points = told["curves"][0]["points"].as_array().unwrap();
    let at = |load: f64| {
        points.iter().find(|point| (point[0].as_f64().unwrap() / 1e6 - load).abs() < 0.02).unwrap()[1].as_f64().unwrap()
    };
    assert!(at(1.05) > 0.01 && at(0.975) < 0.0101 && at(3.0) > 0.3);
}

/// Keys that were chosen to fall into one part of the filter show; others do not.
#[test]
fn an_attack_shows_where_honest_keys_do_not() {
    let config = Config::new(registry::find("standard").unwrap().facts()).set("items", "2000").unwrap();
    let probe = |key: &[u8]| -> Vec<u64> {
        let mut filter = AnyFilter::new(&config).unwrap();
        filter.insert().unwrap().insert(Item::from(key)).unwrap();
        let stores = filter.cells();
        (0..stores[0].len()).filter(|cell| !stores[0].is_zero(*cell)).collect()
    };
    let build = |chosen: bool| {
        let mut filter = AnyFilter::new(&config).unwrap();
        let cells = filter.cells()[0].len();
        let mut inserted = 0;
        for number in 0u64.. {
            let key = number.to_le_bytes();
            if inserted < 400 && (!chosen || probe(&key).iter().filter(|cell| **cell < cells / 4).count() >= 5) {
                filter.insert().unwrap().insert(Item::from(key.as_slice())).unwrap();
                inserted += 1;
            } else if inserted >= 400 {
                break;
            }
        }
        Local.inspect(&filter.to_bytes()).unwrap()
    };
    let honest = build(false);
    assert_eq!(honest["warnings"], json!([]));
    assert_eq!((&honest["info"]["kind"], &honest["info"]["items"]), (&json!("standard"), &json!(400)));
    assert!(honest["stores"][0]["compared"].as_bool().unwrap() && honest["growth"].as_array().unwrap().len() > 20);
    let attacked = build(true);
    assert!(attacked["warnings"][0].as_str().unwrap().contains("unevenly"), "{}", attacked["warnings"]);
}

#[test]
fn every_kind_can_be_read_and_the_lab_works() {
    for kind in registry::kinds() {
        let told = Local.text(&json!({ "kind": kind.facts().id })).unwrap();
        let sections = told["sections"].as_array().unwrap();
        assert!(sections.len() >= 6, "{}", kind.facts().id);
        let formula = sections.iter().find(|of| of["title"] == "Formula").unwrap();
        assert!(formula["html"].as_str().unwrap().contains("<math"), "{}", kind.facts().id);
    }
    assert!(Local.experiments().unwrap().as_array().unwrap().len() > 50);
    let told = Local.experiment(&json!({ "id": "survey000-fig2" })).unwrap();
    assert!(told["plots"].as_str().unwrap().starts_with("<svg") && !told["claims"].as_array().unwrap().is_empty());
}
