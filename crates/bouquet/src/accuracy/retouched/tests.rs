use super::*;
use crate::AnyFilter;
use crate::capability::Item;
use crate::kind::{Argument, Config};

const MEMBERS: u64 = 10_000;
const STRANGERS: std::ops::Range<u64> = 1 << 40..(1 << 40) + 1_000_000;

fn filled(settings: RetouchedSettings, seed: u64) -> Retouched {
    let settings = RetouchedSettings { bits: Some(100_000), hashes: Some(5), ..settings };
    let mut filter = Retouched::hashed(settings, Hashing::seeded(seed)).unwrap();
    filter.insert_batch(&(0..MEMBERS).collect::<Vec<_>>()).unwrap();
    filter
}

fn by(scheme: Scheme) -> RetouchedSettings {
    RetouchedSettings { scheme: Some(scheme), ..Default::default() }
}

fn positives(filter: &Retouched) -> Vec<u64> {
    let keys: Vec<u64> = STRANGERS.collect();
    let mut answers = vec![false; keys.len()];
    filter.contains_batch(&keys, &mut answers);
    keys.into_iter().zip(answers).filter(|(_, found)| *found).map(|(key, _)| key).collect()
}

fn lost(filter: &Retouched) -> u64 {
    (0..MEMBERS).filter(|key| !filter.contains(key)).count() as u64
}

const SCHEMES: [Scheme; 4] = [Scheme::Random, Scheme::MaxFp, Scheme::MinFn, Scheme::Ratio];

/// The share of members that each scheme loses for every `nth` false positive, and the share of all false positives that it removes.
fn shares(seed: u64, nth: usize) -> [(f64, f64); 4] {
    let plain = filled(RetouchedSettings::default(), seed);
    let all = positives(&plain);
    let listed: Vec<u64> = all.iter().copied().step_by(nth).collect();
    SCHEMES.map(|scheme| {
        let mut filter = filled(by(scheme), seed);
        listed.iter().for_each(|key| filter.trouble(key, 1.0).unwrap());
        let report = filter.retouch_knowing((0..MEMBERS).map(|key| (key, 1.0))).unwrap();
        assert_eq!((report.removed, filter.returned(), report.stopped), (listed.len() as u64, 0, false));
        assert_eq!(report.lost as u64, lost(&filter), "what it says is what is lost");
        let removed = all.iter().filter(|key| !filter.contains(*key)).count();
        (report.lost / MEMBERS as f64, removed as f64 / all.len() as f64)
    })
}

#[test]
fn every_scheme_removes_all_and_loses_members_in_the_derived_order() {
    let mut means = [0.0; 4];
    for seed in 0..20 {
        let shares = shares(seed, 1);
        assert!(shares.is_sorted_by(|a, b| a.0 > b.0) && shares.iter().all(|share| share.1 == 1.0), "{shares:?}");
        means.iter_mut().zip(shares).for_each(|(mean, (lost, _))| *mean += lost / 20.0);
    }
    for (lost, (derived, chi)) in means.iter().zip([(0.57, 1.8), (0.42, 2.4), (0.34, 2.9), (0.30, 3.4)]) {
        assert!((lost - derived).abs() < 0.01 && (retouched::gain(1.0, *lost) - chi).abs() < 0.1, "{means:?}");
    }
}

#[test]
fn a_hundredth_of_the_false_positives_is_removed_with_the_derived_gain() {
    let mut means = [(0.0, 0.0); 4];
    for seed in 100..110 {
        for (mean, (lost, removed)) in means.iter_mut().zip(shares(seed, 100)) {
            *mean = (mean.0 + lost / 10.0, mean.1 + removed / 10.0);
        }
    }
    // About 1,000 members are lost in ten runs: a standard deviation of some 4 %.
    for ((lost, removed), derived) in means.into_iter().zip([1.8, 1.8, 2.5, 2.5]) {
        let gain = retouched::gain(removed, lost);
        assert!((gain - derived).abs() < 0.2 * derived, "{gain} instead of {derived}: {means:?}");
    }
}

#[test]
fn random_clearing_loses_members_and_false_positives_alike() {
    let mut filter = filled(RetouchedSettings::default(), 3);
    let (before, ones) = (positives(&filter), filter.bits().count_ones());
    assert_eq!(filter.clear_random(3_000), 3_000);
    let expected = retouched::lost_share(ones, 3_000, 5);
    assert!((expected - 0.327).abs() < 2e-3, "{expected}");
    let removed = before.iter().filter(|key| !filter.contains(*key)).count() as f64;
    for (measured, of) in [(lost(&filter) as f64, MEMBERS as f64), (removed, before.len() as f64)] {
        // Keys share the cleared bits: a bit has 1.27 users on average, so twice the binomial variance is enough.
        let sigma = (2.0 * of * expected * (1.0 - expected)).sqrt();
        assert!((measured - of * expected).abs() < 5.0 * sigma, "{measured} of {of}");
    }
    assert!(filter.errors_now().contains(&ErrorClass::FalseNegative));
    assert!((filter.expected(MEMBERS).false_negative.unwrap() - expected).abs() < 1e-9);
}

impl Retouched {
    fn errors_now(&self) -> &'static [ErrorClass] {
        self.mechanism.errors()
    }
}

/// What retouching does, by counting everything anew for every key.
fn recounted(filter: &Retouched, members: &[(u64, f64)], trouble: &[(u64, f64)], scheme: Scheme) -> (Vec<u64>, f64) {
    let (mut bits, mut lost) = (filter.mechanism.array.clone(), 0.0);
    let hashing = filter.hashing.clone();
    let users = |bits: &BitArray, keys: &[(u64, f64)], place: u64| -> f64 {
        let uses = |key: &&(u64, f64)| {
            let digest = key.0.digest(&hashing);
            bits.all_set(digest) && bits.places.distinct(digest).contains(&place)
        };
        keys.iter().filter(uses).map(|key| key.1).sum()
    };
    let mut cleared = Vec::new();
    for (key, _) in trouble {
        let digest = key.digest(&hashing);
        if !bits.all_set(digest) {
            continue;
        }
        let cost = |place: u64| match scheme {
            Scheme::MinFn => users(&bits, members, place),
            Scheme::MaxFp => -users(&bits, trouble, place),
            _ => users(&bits, members, place) / users(&bits, trouble, place),
        };
        let places = bits.places.distinct(digest);
        let best = places.iter().copied().min_by(|a, b| cost(*a).total_cmp(&cost(*b)).then(a.cmp(b))).unwrap();
        lost += users(&bits, members, best);
        bits.bits.clear(best);
        cleared.push(best);
    }
    (cleared, lost)
}

#[test]
fn weighted_and_incremental_counts_equal_a_recount_from_scratch() {
    for (seed, scheme) in [(1, Scheme::MinFn), (2, Scheme::MaxFp), (3, Scheme::Ratio)] {
        let settings = RetouchedSettings {
            bits: Some(1_000),
            hashes: Some(4),
            scheme: Some(scheme),
            weights: Some(true),
            ..Default::default()
        };
        let members: Vec<(u64, f64)> = (0..200).map(|key| (key, (1 + key % 7) as f64)).collect();
        let mut filter = Retouched::hashed(settings, Hashing::seeded(seed)).unwrap();
        for (key, weight) in &members {
            filter.insert_with(key, Importance(Some(*weight))).unwrap();
        }
        let trouble: Vec<(u64, f64)> =
            (1_000..1_600).filter(|key| filter.contains(key)).map(|key| (key, (1 + key % 5) as f64)).collect();
        assert!(trouble.len() > 40);
        let (cleared, lost) = recounted(&filter, &members, &trouble, scheme);
        let mut bits = filter.bits().clone();
        cleared.iter().for_each(|&place| bits.clear(place));
        trouble.iter().for_each(|(key, weight)| filter.trouble(key, *weight).unwrap());
        let report = filter.retouch_knowing(members).unwrap();
        assert_eq!((report.cleared, report.lost), (cleared.len() as u64, lost), "{scheme:?}");
        assert_eq!(filter.bits(), &bits, "{scheme:?}");
    }
}

#[test]
fn budgets_stop_before_they_are_exceeded() {
    let settings = |most_lost, most_cleared| RetouchedSettings { most_lost, most_cleared, ..Default::default() };
    for (limits, lost_limit, cleared_limit) in
        [(settings(Some(100), None), 100, u64::MAX), (settings(None, Some(7)), 10_000, 7)]
    {
        let mut filter = filled(limits, 5);
        positives(&filter).iter().for_each(|key| filter.trouble(key, 1.0).unwrap());
        let report = filter.retouch_knowing((0..MEMBERS).map(|key| (key, 1.0))).unwrap();
        assert!(report.stopped && report.cleared <= cleared_limit && lost(&filter) <= lost_limit, "{report:?}");
        assert!(report.cleared == cleared_limit || report.lost > 50.0, "{report:?}");
    }
}

#[test]
fn counters_stand_in_for_members_and_lose_hardly_more() {
    let run = |cells, known: bool| {
        let mut filter = filled(RetouchedSettings { cells: Some(cells), ..Default::default() }, 6);
        positives(&filter).iter().step_by(10).for_each(|key| filter.trouble(key, 1.0).unwrap());
        let done = if known { filter.retouch_knowing((0..MEMBERS).map(|key| (key, 1.0))) } else { filter.retouch() };
        done.map(|report| (report, lost(&filter)))
    };
    let (exact, rough) = (run(Memory::Bits, true).unwrap(), run(Memory::Counters, false).unwrap());
    assert_eq!(exact.0.removed, rough.0.removed);
    assert!(rough.1 as f64 <= 1.2 * exact.1 as f64, "{} against {}", rough.1, exact.1);
    assert!(run(Memory::Bits, false).is_err(), "nobody knows the members");
}

#[test]
fn the_list_is_checked_again_after_insertions_and_goes_when_the_filter_is_sealed() {
    let config = Config::new(KIND.facts()).set("items", "1000").unwrap().set("cells", "counters").unwrap();
    let keys: Vec<[u8; 8]> = (0..20_000u64).map(u64::to_le_bytes).collect();
    let items: Vec<Item<'_>> = keys[..1_000].iter().map(|key| Item::from(key.as_slice())).collect();
    let absent: Vec<Item<'_>> = keys[5_000..].iter().map(|key| Item::from(key.as_slice())).collect();
    let mut filter = AnyFilter::build(&config, &Dataset { items: &items, absent: &absent }).unwrap();
    let found = |filter: &AnyFilter| absent.iter().filter(|key| filter.contains().unwrap().contains(key.key)).count();
    let returned = |filter: &AnyFilter| match filter.ask("returned", Argument::Nothing).unwrap() {
        Reply::Integer(number) => number,
        other => panic!("{other:?}"),
    };
    assert_eq!((found(&filter), returned(&filter)), (0, 0));
    for key in &keys[1_000..2_000] {
        filter.insert().unwrap().insert(Item::from(key.as_slice())).unwrap();
    }
    assert!(returned(&filter) > 0, "twice the keys bring some back");
    let mut again = AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
    again.act("retouch", Argument::Nothing).unwrap();
    assert_eq!(returned(&again), 0);
    let before = again.stats().bits;
    again.act("seal", Argument::Nothing).unwrap();
    assert!(again.stats().bits < before / 8, "counters and list are gone");
    let sealed = AnyFilter::from_bytes(&again.to_bytes()).unwrap();
    assert_eq!((sealed.stats().bits, returned(&sealed)), (again.stats().bits, 0));
}
