use super::*;
use crate::AnyFilter;
use crate::capability::{Dataset, Item};
use crate::kind::Config;
use crate::theory::standard;

const MEMBERS: u64 = 20_000;
const UNIVERSE: u64 = 100_000;

fn built(settings: &ComplementSettings, seed: u64) -> Complement {
    let (members, others) = (0..MEMBERS, MEMBERS..UNIVERSE);
    Complement::from_keys_and_absent(settings, &Hashing::seeded(seed), members, others).unwrap()
}

/// Asks for every key of the universe: how many are left undetermined, with none judged wrongly.
fn undetermined(filter: &Complement) -> u64 {
    let keys: Vec<u64> = (0..UNIVERSE).collect();
    let mut verdicts = vec![Verdict::Unknown; keys.len()];
    filter.judge_batch(&keys, &mut verdicts);
    let mut left = 0;
    for (key, verdict) in keys.iter().zip(verdicts) {
        match verdict {
            Verdict::In => assert!(*key < MEMBERS, "{key} is no member"),
            Verdict::Out => assert!(*key >= MEMBERS, "{key} is a member"),
            Verdict::Undetermined => left += 1,
            Verdict::Unknown => panic!("{key} is of the universe"),
        }
    }
    left
}

fn ten_bits_per_key() -> ComplementSettings {
    ComplementSettings {
        items: Some(MEMBERS),
        others: Some(UNIVERSE - MEMBERS),
        bits: Some(10 * UNIVERSE),
        main_bits: Some(10 * MEMBERS),
        ..Default::default()
    }
}

#[test]
fn the_undetermined_share_is_that_of_theory_and_no_verdict_is_wrong() {
    for seed in 0..5 {
        let filter = built(&ten_bits_per_key(), seed);
        let (f_s, f_c) = (filter.mechanism.main.rate_now(), filter.mechanism.other.rate_now());
        let members = MEMBERS as f64 / UNIVERSE as f64;
        let expected = witnesses::undetermined(members, f_s, f_c);
        assert!((expected - 0.0082).abs() < 5e-4, "{expected}");
        let (measured, sigma) = (undetermined(&filter) as f64, (UNIVERSE as f64 * expected).sqrt());
        assert!((measured - UNIVERSE as f64 * expected).abs() < 5.0 * sigma, "{measured} instead of {expected}");
    }
    assert!((standard::rate(10 * MEMBERS, MEMBERS, 7) - 0.0082).abs() < 1e-4);
}

#[test]
fn keys_of_no_side_are_unknown_or_wrong_at_the_rates_of_the_filters() {
    let filter = built(&ten_bits_per_key(), 7);
    let (f_s, f_c) = (filter.mechanism.main.rate_now(), filter.mechanism.other.rate_now());
    let strangers = 1u64 << 40..(1 << 40) + 200_000;
    let n = 200_000.0;
    let verdicts: Vec<Verdict> = strangers.map(|key| filter.judge(&key)).collect();
    let expected = [f_s * (1.0 - f_c), (1.0 - f_s) * f_c, f_s * f_c, (1.0 - f_s) * (1.0 - f_c)];
    for (verdict, share) in Verdict::ALL.into_iter().zip(expected) {
        let seen = verdicts.iter().filter(|seen| **seen == verdict).count() as f64;
        let sigma = (n * share * (1.0 - share)).sqrt();
        assert!((seen - n * share).abs() < 5.0 * sigma + 1.0, "{verdict:?}: {seen} instead of {}", n * share);
    }
}

#[test]
fn petit_is_as_exact_with_a_twentieth_of_the_second_filter() {
    let petit = ComplementSettings {
        items: Some(MEMBERS),
        others: Some(UNIVERSE - MEMBERS),
        form: Some(Form::Petit),
        // The main filter has 1 %: 9.59 bits per key.
        bits: Some(9_593 * MEMBERS / 1_000 + 10 * (UNIVERSE - MEMBERS) / 20),
        main_bits: Some(9_593 * MEMBERS / 1_000),
        ..Default::default()
    };
    let filter = built(&petit, 3);
    let second = filter.mechanism.other.bits();
    assert!(second <= 10 * (UNIVERSE - MEMBERS) / 20, "{second}");
    let (f_s, f_c) = (filter.mechanism.main.rate_now(), filter.mechanism.other.rate_now());
    let outsiders = (UNIVERSE - MEMBERS) as f64;
    let held = f_s * outsiders;
    assert!((f_s - 0.01).abs() < 5e-4, "{f_s}");
    assert!((filter.others() as f64 - held).abs() < 5.0 * held.sqrt(), "{} instead of {held}", filter.others());
    let expected = MEMBERS as f64 * f_c + held;
    let left = undetermined(&filter) as f64;
    assert!((left - expected).abs() < 5.0 * expected.sqrt(), "{left} instead of {expected}");
    let mut filter = filter;
    assert!(filter.insert("rose").is_err(), "it would not be right any more");
}

#[test]
fn a_share_that_is_asked_for_is_kept_by_both_forms() {
    for form in [Form::Full, Form::Petit] {
        let settings = ComplementSettings { fpr: Some(0.005), form: Some(form), ..Default::default() };
        let mean = (0..5).map(|seed| undetermined(&built(&settings, seed)) as f64).sum::<f64>() / 5.0;
        // 500 are asked for; the mean of five has a standard deviation of about 10.
        assert!(mean < 550.0, "{form:?}: {mean}");
    }
}

#[test]
fn keys_move_between_the_sides_of_counters_and_an_exact_model_agrees() {
    let config = Config::new(KIND.facts()).set("items", "500").unwrap().set("others", "500").unwrap();
    let config = config.set("cells", "counters").unwrap().set("fpr", "0.001").unwrap();
    let names: Vec<String> = (0..1_000).map(|key| key.to_string()).collect();
    let items: Vec<Item<'_>> = names[..500].iter().map(|name| Item::from(name.as_bytes())).collect();
    let absent: Vec<Item<'_>> = names[500..].iter().map(|name| Item::from(name.as_bytes())).collect();
    let mut filter = AnyFilter::build(&config, &Dataset { items: &items, absent: &absent }).unwrap();
    let mut is_member: Vec<bool> = (0..1_000).map(|key| key < 500).collect();
    let mut random = crate::hash::SplitMix::new(9);
    for _ in 0..3_000 {
        let key = random.below(1_000) as usize;
        let word = if is_member[key] { "expel" } else { "admit" };
        filter.act(word, crate::kind::Argument::Key(names[key].as_bytes())).unwrap();
        is_member[key] = !is_member[key];
    }
    let judge = filter.judge().unwrap();
    let mut left = 0;
    for (name, member) in names.iter().zip(is_member) {
        match judge.judge(name.as_bytes()) {
            Verdict::In => assert!(member),
            Verdict::Out => assert!(!member),
            verdict => {
                assert_eq!(verdict, Verdict::Undetermined);
                left += 1;
            }
        }
    }
    assert!(left < 20, "{left}");
}
