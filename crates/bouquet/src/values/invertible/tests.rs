use std::collections::BTreeSet;

use super::*;
use crate::AnyFilter;
use crate::hash::SplitMix;
use crate::store::write_field;

fn numbers(keys: &[Vec<u8>]) -> BTreeSet<u64> {
    keys.iter().map(|key| u64::from_le_bytes(key.as_slice().try_into().unwrap())).collect()
}

fn filled(settings: &InvertibleSettings, seed: u64, keys: impl IntoIterator<Item = u64>) -> Invertible {
    let mut filter = Invertible::hashed(settings.clone(), Hashing::seeded(seed)).unwrap();
    // Without looking first whether they are there, which insertions tell.
    keys.into_iter().for_each(|key| assert!(filter.mechanism.change(&key.to_le_bytes(), 1).is_ok()));
    filter
}

/// What is common cancels to the last bit, so that the size of the sets does not matter: the filters of the difference alone decide.
#[test]
fn common_keys_vanish_without_a_trace() {
    let settings = InvertibleSettings { items: Some(1_000), ..InvertibleSettings::default() };
    let (common, only_a, only_b) = (10_000..110_000, 0..500, 5_000..5_500);
    let mut a = filled(&settings, 3, common.clone().chain(only_a.clone()));
    let b = filled(&settings, 3, common.chain(only_b.clone()));
    let (len, million) = (b.to_bytes().len(), filled(&settings, 3, 0..1_000_000).to_bytes().len());
    assert_eq!(len, million, "the message is as long whatever the set is");
    let difference = a.difference(&b).unwrap();
    assert!(difference.is_complete());
    assert_eq!(numbers(&difference.here), only_a.clone().collect());
    assert_eq!(numbers(&difference.there), only_b.clone().collect());
    a.subtract(&b).unwrap();
    let mut alone = filled(&settings, 3, only_a);
    alone.subtract(&filled(&settings, 3, only_b)).unwrap();
    assert_eq!(a, alone);
}

#[test]
fn a_difference_of_1000_keys_is_decoded_from_1352_cells_in_985_of_1000_seeds() {
    let settings = InvertibleSettings { items: Some(1_000), ..InvertibleSettings::default() };
    let mut complete = 0;
    for seed in 0..2_000 {
        let difference = filled(&settings, seed, 0..500).difference(&filled(&settings, seed, 500..1_000)).unwrap();
        if difference.is_complete() {
            complete += 1;
            assert_eq!(numbers(&difference.here), (0..500).collect());
            assert_eq!(numbers(&difference.there), (500..1_000).collect());
        }
    }
    assert!(complete >= 1_970, "{complete} of 2,000");
}

#[test]
fn no_difference_decodes_to_nothing_and_too_large_ones_to_true_keys_alone() {
    let settings = InvertibleSettings { cells: Some(400), ..InvertibleSettings::default() };
    let a = filled(&settings, 1, 0..10_000);
    let none = a.difference(&a).unwrap();
    assert_eq!(none, Decoded { here: vec![], there: vec![], end: End::Complete });
    for seed in 0..50 {
        let large = filled(&settings, seed, 0..400).difference(&filled(&settings, seed, 400..800)).unwrap();
        assert!(matches!(large.end, End::Incomplete { cells: 1.. }));
        assert!(numbers(&large.here).iter().all(|key| *key < 400));
        assert!(numbers(&large.there).iter().all(|key| (400..800).contains(key)));
        assert_eq!(numbers(&large.here).len(), large.here.len());
    }
}

#[test]
fn estimates_of_1000_keys_lie_where_they_should() {
    let settings = InvertibleSettings { cells: Some(4), strata: Some(true), ..InvertibleSettings::default() };
    let estimate = |seed: u64, d: u64| {
        let (a, b) = (filled(&settings, seed, 0..d / 2), filled(&settings, seed, d / 2..d));
        a.distance(&b).unwrap().keys / d as f64
    };
    let mut ratios: Vec<f64> = (0..400).map(|seed| estimate(seed, 1_000)).collect();
    ratios.sort_by(f64::total_cmp);
    assert!((0.9..1.1).contains(&ratios[200]) && ratios[4] >= 0.70 && ratios[395] <= 1.35, "{ratios:?}");
    let mean = ratios.iter().sum::<f64>() / 400.0;
    let deviation = (ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / 400.0).sqrt();
    assert!((0.09..0.13).contains(&deviation), "told as 0.11: {deviation}");
    let few = filled(&settings, 1, 0..20).distance(&filled(&settings, 1, 0..0)).unwrap();
    assert_eq!((few.keys, few.standard_error), (20.0, 0.0));
}

#[test]
fn random_bytes_are_decoded_to_an_end() {
    let settings = InvertibleSettings { cells: Some(20), key_bytes: Some(2), strata: Some(true), ..Default::default() };
    let mut random = SplitMix::new(1);
    let (mut malformed, mut incomplete) = (0, 0);
    for round in 0..10_000u64 {
        let mut filter = Invertible::with(settings.clone()).unwrap();
        let bits = filter.mechanism.table.bits();
        let words = filter.mechanism.table.words_mut();
        for at in 0..bits {
            if random.below(1 + round % 64) == 0 {
                write_field(words, at, 1, random.below(2));
            }
        }
        match filter.decode().end {
            End::Malformed => malformed += 1,
            End::Incomplete { .. } => incomplete += 1,
            End::Complete => {}
        }
        assert!(filter.list().entries.len() <= 20);
    }
    assert!(malformed + incomplete > 9_000, "{malformed} {incomplete}");
}

#[test]
fn a_table_that_contradicts_itself_is_not_complete() {
    let mut filter = Invertible::with_size(40, 4).unwrap();
    filter.insert("rose").unwrap();
    let placed = filter.mechanism.table.place(filter.mechanism.table.record(b"rose", b"").unwrap());
    // The other three cells claim that it was removed.
    let cells: Vec<u64> = filter.mechanism.table.cells(&placed).to_vec();
    let count_at = |filter: &Invertible, cell| filter.mechanism.table.sums_at(cell) - 32;
    for &cell in &cells[1..] {
        let at = count_at(&filter, cell);
        write_field(filter.mechanism.table.words_mut(), at, 32, u64::from(u32::MAX));
    }
    let decoded = filter.decode();
    assert!(!decoded.is_complete(), "{decoded:?}");
    assert!(decoded.here.len() + decoded.there.len() <= 40);
}

#[test]
fn two_hosts_find_their_difference_by_messages() {
    let mut random = SplitMix::new(2);
    let common: Vec<u64> = (0..5_000).map(|_| random.next_u64()).collect();
    for (only_a, only_b) in [(0, 0), (1, 0), (3, 40), (700, 300), (0, 2_000)] {
        let mut draw = |count: u64| (0..count).map(|_| random.next_u64()).collect::<Vec<u64>>();
        let (mine, theirs) = (draw(only_a), draw(only_b));
        let (a, b) = ([common.clone(), mine.clone()].concat(), [common.clone(), theirs.clone()].concat());
        for seed in 0..5 {
            let (mut seeker, mut answerer) = (Seeker::new(&a, 8, seed), Answerer::new(&b, 8));
            let mut message = seeker.hello().unwrap();
            let difference = loop {
                let answer = answerer.answer(&message).unwrap();
                match seeker.receive(&answer).unwrap() {
                    Progress::Done(difference) => break difference,
                    Progress::Again(next) => message = next,
                }
            };
            assert_eq!(numbers(&difference.here), mine.iter().copied().collect());
            assert_eq!(numbers(&difference.there), theirs.iter().copied().collect());
        }
    }
}

#[test]
fn messages_out_of_order_or_of_another_session_are_refused() {
    let keys: Vec<u64> = (0..100).collect();
    let others: Vec<u64> = (1_000..3_000).collect();
    let (mut seeker, mut answerer) = (Seeker::new(&keys, 8, 7), Answerer::new(&others, 8));
    assert!(seeker.receive(&[FILTER_BYTE]).is_err(), "nothing was asked");
    assert!(answerer.answer(&[3, 0, 0]).is_err(), "nothing was answered that could be too small");
    assert!(answerer.answer(b"").is_err());
    let hello = seeker.hello().unwrap();
    assert!(seeker.receive(&hello).is_err(), "its own message");
    let answer = answerer.answer(&hello).unwrap();
    let foreign = Answerer::new(&others, 8).answer(&Seeker::new(&keys, 8, 8).hello().unwrap()).unwrap();
    assert!(seeker.receive(&foreign).is_err(), "another seed");
    let replayed = [&[3u8][..], &(1u64 << 30).to_le_bytes(), &8u64.to_le_bytes()].concat();
    assert!(answerer.answer(&replayed).is_err(), "too many cells at once");
    for cut in [1, 10, answer.len() - 1] {
        assert!(seeker.receive(&answer[..cut]).is_err());
    }
    assert!(matches!(seeker.receive(&answer), Ok(Progress::Done(_) | Progress::Again(_))));
}

const FILTER_BYTE: u8 = 2;

#[test]
fn the_handle_reaches_estimate_size_and_difference() {
    let settings = InvertibleSettings { items: Some(200), strata: Some(true), ..InvertibleSettings::default() };
    let [a, b] = [0..1_000, 50..1_050].map(|keys| AnyFilter::from_structure(filled(&settings, 1, keys)).unwrap());
    let items = match a.ask("items-for", b.as_argument()).unwrap() {
        Reply::Integer(items) => items,
        other => panic!("{other:?}"),
    };
    assert!((100..250).contains(&items), "{items}");
    assert!(matches!(a.ask("distance", b.as_argument()).unwrap(), Reply::Estimate(_)));
    let listing = a.difference(&b).unwrap();
    assert_eq!((listing.undecoded, listing.entries.len()), (0, 100));
    assert_eq!(listing.entries.iter().map(|entry| entry.count).sum::<i64>(), 0);
}
