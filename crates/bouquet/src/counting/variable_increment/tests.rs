use super::*;
use crate::counting::counting::Counting;
use crate::hash::SplitMix;
use crate::kind::{Config, Structure};
use crate::parts::marked_cells::testing::{measured_rate, sigma};
use crate::store::Counters;

fn config(settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(Config::new(KIND.facts()), |config, (name, text)| config.set(name, text).unwrap())
}

fn default_sequence() -> Increments {
    Increments::sequence(&[1, 4, 8, 13], 3).unwrap()
}

#[test]
fn rates_are_the_predicted_ones_and_a_quarter_of_plain_counters() {
    let (n, queries) = (100_000, 2_000_000);
    let interval = VariableIncrement::with_size(40 * n, 6).unwrap();
    let sequence = VariableIncrement::with_code(&default_sequence(), 40 * n, 5).unwrap();
    assert_eq!((interval.code(), sequence.cells().len()), (&Increments::interval(4).unwrap(), 4 * n));
    let mut plain = Counting::with_size(10 * n, 7).unwrap();
    (0..n).for_each(|key| assert!(plain.insert(&key).is_ok()));
    let plain = measured_rate(|key| plain.contains(key), 500_000);
    for (mut filter, expected) in [(interval, 1.667e-3), (sequence, 1.709e-3)] {
        (0..n).for_each(|key| _ = filter.insert(&key));
        assert!((0..n).all(|key| filter.contains(&key)));
        let rate = measured_rate(|key| filter.contains(key), queries);
        let sigma = sigma(expected, filter.mechanism.hashes(), filter.cells().len(), queries);
        assert!((rate - expected).abs() < 5.0 * sigma, "{rate} for {expected}, sigma {sigma}");
        assert!(rate <= plain / 4.0, "{rate} against {plain}");
    }
}

#[test]
fn the_published_sequence_is_of_order_two_and_three_but_not_four() {
    let order = |order| Increments::sequence(&[1, 4, 8, 13], order);
    assert!(order(2).is_ok() && order(3).is_ok() && order(4).is_err());
    // Two keys with the sum 17.
    let code = default_sequence();
    let cell = pair(2, 17, 4, 6);
    let marks: Vec<u64> =
        code.elements().into_iter().zip(0..).filter(|&(_, m)| code.admits(cell, m)).map(|p| p.0).collect();
    assert_eq!(marks, [4, 13]);
}

#[test]
fn tables_of_sums_equal_an_enumeration() {
    for (elements, order) in
        [(&[1u64, 4, 8, 13][..], 3), (&[1, 2, 4, 8, 13, 21, 31, 45], 2), (&[1, 2, 5, 14, 33], 3), (&[7], 8)]
    {
        let sums = Sums::new(elements, order).unwrap();
        for count in 1..=order {
            let mut expected = vec![0u64; sums.highest as usize + 1];
            // All words of `count` letters; those of one multiset have the same parts.
            for word in 0..(elements.len() as u64).pow(count) {
                let letters = (0..count).map(|i| (word / (elements.len() as u64).pow(i)) as usize % elements.len());
                let sum: u64 = letters.clone().map(|letter| elements[letter]).sum();
                let parts = letters.fold(0, |parts, letter| parts | 1 << letter);
                assert!(expected[sum as usize] == 0 || expected[sum as usize] == parts, "{elements:?} {count} {sum}");
                expected[sum as usize] = parts;
            }
            for (sum, parts) in (0..).zip(expected) {
                assert_eq!(sums.parts(count.into(), sum), parts, "{elements:?} {count} {sum}");
            }
        }
    }
    for (elements, order) in [(&[1u64, 2, 3][..], 2), (&[2, 4, 6], 2), (&[1, 2, 4], 3), (&[], 2)] {
        assert!(Sums::new(elements, order).is_none(), "{elements:?} {order}");
    }
}

#[test]
fn replacements_lose_no_key_and_removing_everything_leaves_zeros() {
    let n = 3_000;
    for code in [Increments::interval(4).unwrap(), Increments::interval(16).unwrap(), default_sequence()] {
        let mut filter = VariableIncrement::with_code(&code, n * 6 * u64::from(code.width()), 6).unwrap();
        let mut present: Vec<u64> = (0..n).collect();
        (0..n).for_each(|key| _ = filter.insert(&key));
        let mut random = SplitMix::new(1);
        for fresh in n..11 * n {
            let slot = &mut present[random.below(n) as usize];
            filter.remove(slot).unwrap();
            *slot = fresh;
            filter.insert(&fresh);
        }
        assert!(present.iter().all(|key| filter.contains(key)));
        assert_eq!(filter.frozen(), 0);
        present.iter().for_each(|key| filter.remove(key).unwrap());
        assert_eq!(filter.cells(), &Counters::zeroed(filter.cells().len(), code.width()).unwrap());
    }
}

#[test]
fn any_cell_obeys_the_laws_of_a_code() {
    let mut random = SplitMix::new(2);
    let narrow = Increments::sequence_of(DEFAULT_SEQUENCE, 3, Some(3)).unwrap();
    for code in
        [Increments::interval(2).unwrap(), Increments::interval_of(4, Some(4)).unwrap(), default_sequence(), narrow]
    {
        for _ in 0..3_000 {
            let held: Vec<u64> = (0..random.below(9)).map(|_| random.below(code.marks())).collect();
            let cell = held.iter().fold(0, |cell, &mark| code.add(cell, mark));
            assert!(code.is_cell(cell) && held.iter().all(|&mark| code.admits(cell, mark)), "{code:?} {held:?}");
            assert!(!held.is_empty() || (0..code.marks()).all(|mark| !code.admits(cell, mark)));
            let (left, right) = held.split_at(held.len() / 2);
            let part = |marks: &[u64]| marks.iter().fold(0, |cell, &mark| code.add(cell, mark));
            let joined = code.join(part(left), part(right));
            assert_eq!(joined, cell, "{code:?} {held:?}");
            let mark = random.below(code.marks());
            let more = code.add(cell, mark);
            assert!(code.is_frozen(more) || code.sub(more, mark) == cell);
            if code.is_frozen(cell) {
                assert!(more == cell && (0..code.marks()).all(|mark| code.admits(cell, mark)));
            }
        }
    }
}

#[test]
fn sixteen_keys_always_fit_in_the_usual_counter() {
    for base in [2, 4, 8, 64] {
        let code = Increments::interval(base).unwrap();
        assert_eq!(code.width(), 5 + base.ilog2());
        let full = (0..16).fold(0, |cell, _| code.add(cell, base - 1));
        assert!(!code.is_frozen(full) && full == 16 * (2 * base - 1));
    }
}

#[test]
fn contradictions_are_as_frequent_as_the_theory_of_each_code_says() {
    for code in [Increments::interval(4).unwrap(), Increments::interval(8).unwrap(), default_sequence()] {
        let marks = code.marks();
        for keys in 0..5u32 {
            // All words of this many marks.
            let words = marks.pow(keys);
            let mut refuted = 0;
            for word in 0..words {
                let cell = (0..keys).fold(0, |cell, i| code.add(cell, word / marks.pow(i) % marks));
                refuted += (0..marks).filter(|&mark| !code.admits(cell, mark)).count();
            }
            let share = refuted as f64 / (words * marks) as f64;
            let expected = code.refutation().chance(keys as usize);
            assert!((share - expected).abs() < 1e-12, "{code:?}, {keys} keys: {share}, expected {expected}");
        }
    }
}

#[test]
fn sums_are_right_again_when_more_keys_than_the_order_have_left() {
    // The sum is kept modulo 64 and wraps with six keys of 13.
    let code = default_sequence();
    let six = (0..6).fold(0, |cell, _| code.add(cell, 3));
    assert_eq!(unpair(six, 4), (6, 6 * 13 % 64));
    assert!(code.admits(six, 0), "more than three keys tell nothing");
    let one = (0..5).fold(six, |cell, _| code.sub(cell, 3));
    assert_eq!(one, code.add(0, 3));
}

#[test]
fn settings_that_contradict_themselves_are_refused_by_name() {
    for (settings, name) in [
        (&[("base", "5")][..], "base"),
        (&[("base", "64"), ("counter-bits", "7")], "counter-bits"),
        (&[("scheme", "bh"), ("sequence", "7")], "sequence"),
        (&[("scheme", "bh"), ("order", "4")], "sequence"),
        (&[("scheme", "bh"), ("sequence", "1"), ("order", "8"), ("counter-bits", "3")], "counter-bits"),
    ] {
        match KIND.plan(&config(&[&[("items", "10")], settings].concat())) {
            Err(Error::Parameter { name: found, .. }) => assert_eq!(found, name),
            answer => panic!("{settings:?}: {answer:?}"),
        }
    }
    for bad in [&[0][..], &[65], &[3, 3]] {
        assert!(Increments::sequence(bad, 2).is_err(), "{bad:?}");
    }
}

#[test]
fn frames_give_back_equal_filters_and_refuse_impossible_cells() {
    for code in
        [Increments::interval(8).unwrap(), default_sequence(), Increments::sequence(&[1, 2, 5, 14, 33], 3).unwrap()]
    {
        let mut filter = VariableIncrement::with_code(&code, 20_000, 4).unwrap();
        (0..500u64).for_each(|key| _ = filter.insert(&key));
        let again = VariableIncrement::from_bytes(&filter.to_bytes()).unwrap();
        assert_eq!(again, filter);
        assert_eq!(again.config(), filter.config());
        // Less than any increment; a sum without a key.
        let impossible = if code.elements()[0] > 1 { 3 } else { 5 << 4 };
        assert!(!code.is_cell(impossible));
        let mut forged = filter.clone();
        forged.mechanism.cells.set(3, impossible);
        assert!(matches!(VariableIncrement::from_bytes(&forged.to_bytes()), Err(Error::Corrupt { .. })));
    }
}
