use super::*;
use crate::AnyFilter;
use crate::capability::{Item, Remove};
use crate::codec::Encoder;
use crate::hash::{Secret, SplitMix};
use crate::key::Key;
use crate::kind::{Config, Structure};
use crate::theory::compressed;
use crate::theory::dynamic::sizing::Distribution;

const BASE: Shape = Shape { bits: 1280, hashes: 7, capacity: 133 };

fn base(seed: u64) -> Builder {
    Builder::sized(BASE).unwrap().hashed(Hashing::seeded(seed))
}

fn filled(builder: &Builder, keys: std::ops::Range<u64>) -> Dynamic {
    let mut filter = builder.build().unwrap();
    keys.for_each(|key| filter.add(&key).unwrap());
    filter
}

/// Counters or bits, in rows or slices.
fn arrangements(builder: &Builder) -> [Builder; 4] {
    [builder.clone(), builder.clone().slices(), builder.clone().bits(), builder.clone().bits().slices()]
}

/// The mean and five of its standard errors.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 5.0 * (variance / n).sqrt())
}

/// The share of absent keys that seem present, in this many filters of seeds of their own.
fn measured(filters: u64, queries: u64, make: impl Fn(u64) -> Dynamic) -> (f64, f64) {
    let absent = 1 << 40;
    let share = |seed| {
        let filter = make(seed);
        (absent..absent + queries).filter(|key| filter.contains(key)).count() as f64 / queries as f64
    };
    mean(&(0..filters).map(share).collect::<Vec<_>>())
}

#[test]
fn the_rate_is_that_of_equation_3_and_a_plain_filter_is_useless() {
    for (n, printed) in [(133, 0.009847), (200, 0.0101), (266, 0.0196), (1330, 0.0942)] {
        assert!((BASE.rate(n) / printed - 1.0).abs() < 5e-3);
        for builder in [base(0), base(0).bits().insertion(Insertion::Plain).slices()] {
            let make = |seed| filled(&builder.clone().hashed(Hashing::seeded(seed)), 0..n);
            let (rate, bound) = measured(40, 5_000, make);
            let expected = make(0).expected(n).false_positive.unwrap();
            assert!((rate - expected).abs() < bound, "{n}: {rate} {expected} {bound}");
            assert!((rate - printed).abs() < bound, "{n}: {rate} {printed} {bound}");
        }
    }
    let one = Builder::sized(Shape { capacity: 1330, ..BASE }).unwrap();
    let (rate, bound) = measured(40, 5_000, |seed| filled(&one.clone().hashed(Hashing::seeded(seed)), 0..1330));
    assert!((rate - 0.995).abs() < bound.max(5e-4), "{rate} {bound}");
}

#[test]
fn the_rate_of_improved_insertion_is_expected_too() {
    for (insertion, n) in [(Insertion::Improved, 1330), (Insertion::Auto, 4_000)] {
        let make = |seed| filled(&base(seed).bits().insertion(insertion), 0..n);
        let (rate, bound) = measured(40, 5_000, make);
        let expected = make(0).expected(n).false_positive.unwrap();
        assert!((rate - expected).abs() < bound, "{insertion:?}: {rate} {expected} {bound}");
        assert!(make(0).items() < n && expected < BASE.rate(n));
    }
}

/// Removes the keys in this order, those that can be, and tells how many stay. Present keys are never lost.
fn left_after_removing(filter: &mut Dynamic, order: &[u64]) -> f64 {
    let mut left = Vec::new();
    for (done, key) in order.iter().enumerate() {
        match filter.take_out(key).unwrap() {
            Removal::Removed => {}
            Removal::Ambiguous => left.push(*key),
            other => panic!("a present key is {other:?}"),
        }
        if done % 95 == 0 {
            assert!(left.iter().chain(&order[done + 1..]).all(|key| filter.contains(key)));
        }
    }
    assert_eq!(filter.items(), left.len() as u64);
    left.len() as f64
}

#[test]
fn keys_with_several_addresses_stay_behind_as_often_as_theory_says() {
    let keys: Vec<u64> = (0..1330).collect();
    let (mut several, mut in_order, mut at_random, mut not_united) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for seed in 0..100 {
        let filter = filled(&base(seed), 0..1330);
        several.push(keys.iter().filter(|key| filter.addresses(*key) > 1).count() as f64);
        in_order.push(left_after_removing(&mut filter.clone(), &keys));
        let (mut shuffled, mut random) = (keys.clone(), SplitMix::new(seed));
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i as u64 + 1) as usize);
        }
        at_random.push(left_after_removing(&mut filter.clone(), &shuffled));
        let mut apart = filter.clone();
        let left =
            |key: &&u64| apart.mechanism.chain.take_out(&positions(&BASE, key.digest(&filter.hashing))) == Found::Often;
        not_united.push(shuffled.iter().filter(left).count() as f64);
    }
    let (found, bound) = mean(&several);
    assert!((found - 113.3).abs() < bound, "{found} {bound}");
    let (found, _) = mean(&in_order);
    assert!((found - 57.0).abs() < 3.0 && (BASE.left_in_order(10) - 57.4).abs() < 0.05, "{found}");
    // In random order all components empty alike and collide less and less: 1330 times the integral over t of
    // 1 - (1 - f(m,k,ct))^9 stay. Uniting them fills them again, and some more stay.
    let steps = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0);
    let collide = |t: f64| 1.0 - (1.0 - crate::theory::standard::limit_rate(1280.0 / (133.0 * t), 7)).powi(9);
    let derived = 1330.0 * steps.map(collide).sum::<f64>() / 1000.0;
    assert!((derived - 20.0).abs() < 1.0, "{derived}");
    // The keys that stay collide, too, which the integral leaves out.
    let (found, bound) = mean(&not_united);
    assert!((found - 20.0).abs() < bound, "{found} {bound}");
    let (found, bound) = mean(&at_random);
    assert!((found - 26.0).abs() < bound, "{found} {bound}");
}

#[cfg(feature = "replication")]
#[test]
fn the_published_hash_functions_make_more_keys_undeletable() {
    let several = |round: u64| {
        let positions = |key: u64| {
            let name = format!("file {round} {key}");
            crate::hash::replication::sdbm_mersenne(name.as_bytes(), BASE.bits, BASE.hashes).collect::<Positions>()
        };
        let mut filter = base(0).build().unwrap();
        (0..1330).for_each(|key| filter.add_at(&positions(key)).unwrap());
        (0..1330).filter(|&key| filter.addresses_at(&positions(key)) > 1).count() as f64
    };
    let (found, bound) = mean(&(0..100).map(several).collect::<Vec<_>>());
    assert!((found - 122.0).abs() < bound, "{found} {bound}");
}

#[test]
fn every_arrangement_answers_like_every_other() {
    let small = Builder::sized(Shape { bits: 97, hashes: 4, capacity: 9 }).unwrap();
    let mut filters = arrangements(&small.insertion(Insertion::Plain)).map(|builder| builder.build().unwrap());
    // Beyond 64 and 128 components another word is needed.
    for key in 0..1_300u64 {
        filters.iter_mut().for_each(|filter| filter.add(&key).unwrap());
        if key % 100 == 0 || (560..600).contains(&key) {
            for asked in 0..400u64 {
                let found = filters.each_ref().map(|filter| (filter.contains(&asked), filter.addresses(&asked)));
                assert!(found.iter().all(|one| *one == found[0]), "{key} {asked}: {found:?}");
            }
        }
    }
    assert!(filters.iter().all(|filter| filter.components() == 145));
    let stats = filters.each_ref().map(|filter| filter.stats().fpr);
    assert!(stats.iter().all(|rate| *rate == stats[0]));
    // With counters the shadow follows removals and unions as well.
    let [rows, slices, ..] = &mut filters;
    for key in 0..1_300u64 {
        assert_eq!(rows.take_out(&key).unwrap(), slices.take_out(&key).unwrap());
    }
    assert_eq!(rows.counts(), slices.counts());
    assert!((0..3_000u64).all(|key| rows.addresses(&key) == slices.addresses(&key)));
    assert_eq!(Dynamic::from_bytes(&slices.to_bytes()).unwrap(), *slices, "the shadow is what the counters say");
}

#[test]
fn emptied_components_are_refilled_before_a_new_one_is_made() {
    let mut filter = filled(&Builder::fixed(100, 1e-6).unwrap(), 0..300);
    (10..40u64).for_each(|key| assert_eq!(filter.take_out(&key).unwrap(), Removal::Removed));
    assert_eq!(filter.counts(), [70, 100, 100]);
    (300..330u64).for_each(|key| filter.add(&key).unwrap());
    assert_eq!(filter.counts(), [100, 100, 100]);
}

#[test]
fn components_whose_keys_fit_in_one_are_united_and_keep_their_number() {
    let mut filter = filled(&Builder::fixed(100, 1e-6).unwrap(), 0..300);
    (0..60u64).for_each(|key| assert_eq!(filter.take_out(&key).unwrap(), Removal::Removed));
    (200..239u64).for_each(|key| assert_eq!(filter.take_out(&key).unwrap(), Removal::Removed));
    assert_eq!(
        (filter.counts(), filter.mechanism.numbers.as_slice()),
        ([40, 100, 61].as_slice(), [0, 1, 2].as_slice())
    );
    filter.take_out(&239u64).unwrap();
    assert_eq!((filter.counts(), filter.mechanism.numbers.as_slice()), ([100, 100].as_slice(), [0, 1].as_slice()));
    assert!((60..200u64).chain(240..300).all(|key| filter.contains(&key)));
    (60..200u64).chain(240..300).for_each(|key| assert_eq!(filter.take_out(&key).unwrap(), Removal::Removed));
    assert_eq!((filter.items(), filter.components()), (0, 1));
    assert_eq!(filter.rate_now(), 0.0);
}

#[test]
fn a_union_is_settled_holds_both_and_gives_every_key_back() {
    let builder = Builder::fixed(100, 1e-6).unwrap();
    for pair in arrangements(&builder) {
        // 30 + 60, 100, and 100 + 40 left over: several pairs fit.
        let mut here = filled(&pair, 0..130);
        let there = filled(&pair, 130..290);
        here.merge(&there).unwrap();
        assert_eq!(here.counts(), [100, 90, 100]);
        assert_eq!(here.mechanism.numbers, [0, 1, 2]);
        assert!((0..290u64).all(|key| here.contains(&key)));
        if here.has_counters() {
            (0..290u64).for_each(|key| assert_eq!(here.take_out(&key).unwrap(), Removal::Removed, "{key}"));
            assert_eq!(here.rate_now(), 0.0);
        } else {
            let before = here.clone();
            here.merge(&before).unwrap();
            assert_eq!(here, before, "the union of a set with itself is itself");
        }
    }
}

#[test]
fn an_ambiguous_removal_changes_nothing_until_it_can_be_told() {
    let mut filter = filled(&base(7), 0..1330);
    let stuck: Vec<u64> = (0..1330).filter(|key| filter.addresses(key) > 1).collect();
    let before = filter.clone();
    for key in &stuck {
        assert_eq!(filter.take_out(key).unwrap(), Removal::Ambiguous);
        let bytes = key.to_le_bytes();
        let error = Remove::remove(&mut filter, Item::from(bytes.as_slice())).unwrap_err();
        assert!(matches!(error, Error::Ambiguous { .. }));
    }
    assert_eq!(filter, before);
    // Each was refused twice, which is told and kept, and added up by a union.
    let refused = 2 * stuck.len() as u64;
    assert_eq!(filter.ambiguous_removals(), refused);
    assert!(filter.stuck_share() == 0.0 && before.ambiguous_removals() == 0);
    let mut again = Dynamic::from_bytes(&filter.to_bytes()).unwrap();
    assert_eq!(again.ambiguous_removals(), refused);
    again.merge(&filter).unwrap();
    assert_eq!(again.ambiguous_removals(), 2 * refused);
    let told = |filter: &Dynamic| AnyFilter::from_structure(filter.clone()).unwrap().figures();
    assert!(told(&filter).contains(&Figure { name: "ambiguous removals", value: Setting::Count(refused) }));

    let mut patient = filled(&base(7).retry(1024), 0..1330);
    for key in 0..1330u64 {
        assert!(matches!(patient.take_out(&key).unwrap(), Removal::Removed | Removal::Waiting));
    }
    let waiting = patient.mechanism.waiting.len() as f64;
    assert!(waiting < left_after_removing(&mut filter, &(0..1330).collect::<Vec<_>>()) / 2.0);
    assert_eq!(patient.items(), 0);
    assert_eq!(patient.stuck_share(), waiting, "in terms of at least one key");
    let again = Dynamic::from_bytes(&patient.to_bytes()).unwrap();
    assert_eq!(again, patient);
}

#[test]
fn a_key_that_comes_back_takes_its_waiting_removal_along() {
    let mut filter = Builder::fixed(1, 0.01).unwrap().retry(3).build().unwrap();
    (0..2).for_each(|_| filter.add("rose").unwrap());
    assert_eq!(filter.take_out("rose").unwrap(), Removal::Waiting);
    assert_eq!(filter.items(), 1);
    filter.add("rose").unwrap();
    assert_eq!((filter.items(), filter.mechanism.waiting.len(), filter.components()), (2, 0, 2));
}

#[test]
fn improved_insertion_keeps_duplicates_out_and_is_refused_for_counters() {
    let fill = |insertion| {
        let mut filter = base(1).bits().insertion(insertion).build().unwrap();
        (0..20_000u64).for_each(|i| filter.add(&(i % 400)).unwrap());
        filter
    };
    let (plain, improved) = (fill(Insertion::Plain), fill(Insertion::Improved));
    assert_eq!((plain.components(), improved.components()), (151, 3));
    assert!((0..400u64).all(|key| improved.contains(&key)));
    // Left to itself it begins when undeletable keys would fill a component.
    assert_eq!(fill(Insertion::Auto).items(), BASE.improved_from());
    let refused = base(1).insertion(Insertion::Improved).build();
    assert!(matches!(refused, Err(Error::Parameter { name, .. }) if name == "insertion"));
    let auto = filled(&base(1).insertion(Insertion::Auto), 0..5_000);
    assert_eq!(auto.items(), 5_000, "with counters every key is put in");
}

#[test]
fn bits_cannot_remove() {
    let mut filter = filled(&base(1).bits(), 0..10);
    assert!(
        matches!(filter.remove(&1u64), Err(Error::Unsupported { able, .. }) if able.contains("components=counters"))
    );
}

#[test]
fn counters_at_their_end_stay_and_no_key_is_lost() {
    let mut filter = Builder::fixed(1_000, 0.01).unwrap().build().unwrap();
    (0..500u64).for_each(|key| filter.add(&key).unwrap());
    (0..20).for_each(|_| filter.add("rose").unwrap());
    (0..20).for_each(|_| assert_eq!(filter.take_out("rose").unwrap(), Removal::Removed));
    assert!(filter.contains("rose"), "its counters are frozen");
    assert!((0..500u64).all(|key| filter.contains(&key)));
    let stats = filter.stats();
    assert!(stats.fill <= stats.honest_fill);
}

#[test]
fn the_rate_never_passes_gamma_and_the_rebuilt_filter_goes_on() {
    for (beta, gamma, full) in [(0.0098, 0.1, 10), (0.01, 0.05, 5)] {
        let mut filter = Builder::unbounded(133, beta, gamma).unwrap().build().unwrap();
        let mut n = 0u64;
        while filter.add(&n).is_ok() {
            n += 1;
            assert!(filter.shape().rate(n) <= gamma, "{n} keys are accepted, and pass {gamma}");
        }
        let shape = filter.shape();
        assert!(shape.rate(n + 1) > gamma, "{n} keys are accepted, one more would not pass {gamma}");
        assert_eq!(n, shape.limit(gamma));
        assert_eq!(n / shape.capacity, full, "{n}");
        assert!(filter.needs_rebuild() && filter.rate_now() < 1.2 * gamma);
        let mut other = filter.clone();
        assert!(matches!(other.merge(&filter), Err(Error::Full { .. })));
        assert_eq!(other, filter);
        let mut rebuilt = filter.rebuild(0..n).unwrap();
        assert!(!rebuilt.needs_rebuild() && rebuilt.shape().capacity == 2 * n);
        rebuilt.add(&n).unwrap();
        assert!((0..=n).all(|key| rebuilt.contains(&key)) && rebuilt.components() == 1);
    }
}

#[test]
fn components_made_to_be_sent_make_a_shorter_message_at_the_same_rate() {
    let plain = Builder::fixed(1_000, 0.01).unwrap().bits();
    let sparse = Builder::fixed(1_000, 0.01).unwrap().compressed(48.0).unwrap();
    let mut sizes = Vec::new();
    for builder in [plain, sparse] {
        let (rate, bound) =
            measured(20, 5_000, |seed| filled(&builder.clone().hashed(Hashing::seeded(seed)), 0..1_000));
        assert!(rate - bound < 0.01, "{rate} {bound}");
        let filter = filled(&builder, 0..5_000);
        let expected = filter.entropy_bits();
        let frame = AnyFilter::from_structure(filter).unwrap().to_compressed_bytes();
        assert!((frame.len() as f64 * 8.0 / expected - 1.0).abs() < 0.2);
        let Shape { bits, hashes, capacity } = builder.shape();
        let message = compressed::message_bits_per_key(bits as f64 / capacity as f64, hashes);
        assert!((expected / (5_000.0 * message) - 1.0).abs() < 0.01, "{expected} {message}");
        sizes.push(expected);
    }
    assert!(sizes[1] < 0.94 * sizes[0], "{sizes:?}");
    // In the chain of a bounded set too; and never with counters.
    let bounded = Builder::bounded(1330, 0.0098, &Distribution::Uniform).unwrap();
    let sent = bounded.clone().compressed(60.0).unwrap();
    assert!(sent.shape().capacity == 222 && sent.shape().hashes < bounded.shape().hashes);
    assert_eq!(sent.build().unwrap().shape(), sent.shape());
    let config = Config::new(KIND.facts()).set("items", "100").unwrap().set("memory-bits", "50").unwrap();
    assert!(matches!(Dynamic::from_config(&config), Err(Error::Parameter { name, .. }) if name == "memory-bits"));
}

#[test]
fn settings_size_the_filter_as_the_builder_does() {
    let config = |pairs: &[(&str, &str)]| {
        let empty = Config::new(KIND.facts()).set("items", "1330").unwrap().set("fpr", "0.0098").unwrap();
        pairs.iter().fold(empty, |config, (name, text)| config.set(name, text).unwrap())
    };
    let shape = |pairs: &[(&str, &str)]| Dynamic::from_config(&config(pairs)).unwrap().shape();
    assert_eq!(shape(&[("distribution", "uniform")]), Shape { bits: 2959, hashes: 10, capacity: 222 });
    assert_eq!(shape(&[("distribution", "zipf-minimum")]).capacity, 1330u64.div_ceil(8));
    assert_eq!(shape(&[("distribution", "normal"), ("deviation", "20")]).capacity, 222);
    assert_eq!(shape(&[("distribution", "zipf-maximum"), ("zipf", "0.6")]).capacity, 1330);
    assert_eq!(shape(&[("gamma", "0.0099")]).capacity, 222);
    assert_eq!(shape(&[("gamma", "0.1")]).capacity, 1330);
    assert_eq!(shape(&[("bits", "1280")]), BASE);
    assert!(shape(&[]).plain_rate(1330) <= 0.0098, "the rate that was asked for is kept");
    // Sizes of nodes by their quartiles: as with all of them, up to what the quartiles leave open.
    let sizes: Vec<u64> = (0..400).map(|i| 1 + i * i / 150).collect();
    let quartiles = [sizes[99], sizes[199], sizes[299]].map(|size| size.to_string());
    let items = sizes[399].to_string();
    let settings = [("items", items.as_str()), ("distribution", "nodes"), ("quarter", &quartiles[0])];
    let by_quartiles =
        shape(&[&settings[..], &[("median", &quartiles[1]), ("three-quarters", &quartiles[2])]].concat());
    let by_all = Builder::nodes(&sizes, 0.0098).unwrap().shape();
    assert!(by_quartiles.capacity.abs_diff(by_all.capacity) * 5 <= by_all.capacity, "{by_quartiles:?} {by_all:?}");
}

#[test]
fn what_cannot_be_had_is_refused_by_name() {
    let refused = |result: Result<Builder>| match result.and_then(|builder| builder.build()) {
        Err(Error::Parameter { name, .. }) => name,
        other => format!("{other:?}"),
    };
    assert_eq!(refused(Builder::fixed(0, 0.01)), "items");
    assert_eq!(refused(Builder::fixed(10, f64::NAN)), "fpr");
    assert_eq!(refused(Builder::component(0, 0.01)), "bits");
    assert_eq!(refused(Builder::sized(Shape { capacity: 0, ..BASE })), "capacity");
    assert_eq!(refused(Builder::sized(Shape { hashes: 65, ..BASE })), "hashes");
    assert_eq!(refused(Builder::unbounded(10, 0.1, 0.1)), "gamma");
    assert_eq!(refused(Builder::unbounded(10, 0.1, f64::NAN)), "gamma");
    assert_eq!(refused(Builder::nodes(&[0, 0], 0.01)), "items");
    assert_eq!(refused(Builder::nodes(&[], 0.01)), "items");
    assert!(Builder::nodes(&[u64::MAX, 1], 0.01).is_err());
    assert!(Builder::fixed(100, 0.01).unwrap().compressed(1.0).is_err());
    let huge = Builder::nodes(&[3_000_000, 5_000_000, 1], 0.01).unwrap();
    assert!(huge.shape().capacity >= 5_000_000 / 64 && huge.sizing().unwrap().expected_bits > 1e6);
}

#[test]
fn an_exact_model_agrees_through_random_operations() {
    for (seed, builder) in (0..).zip(arrangements(&Builder::component(500, 0.02).unwrap()).into_iter().take(2)) {
        let mut random = SplitMix::new(seed);
        let mut filter = builder.clone().retry(40 * seed).build().unwrap();
        let mut held: Vec<u64> = Vec::new();
        for step in 0..4_000u64 {
            match random.below(20) {
                0 => {
                    let other = filled(&builder.clone().retry(40 * seed), step << 20..(step << 20) + 20);
                    filter.merge(&other).unwrap();
                    held.extend(step << 20..(step << 20) + 20);
                }
                1..10 => {
                    filter.add(&step).unwrap();
                    held.push(step);
                }
                2..20 if !held.is_empty() => {
                    let at = random.below(held.len() as u64) as usize;
                    match filter.take_out(&held[at]).unwrap() {
                        Removal::NotFound => panic!("a present key is lost"),
                        Removal::Ambiguous => {}
                        Removal::Removed | Removal::Waiting => drop(held.swap_remove(at)),
                    }
                }
                _ => filter.grow().unwrap(),
            }
            if step % 50 == 0 {
                assert!(held.iter().all(|key| filter.contains(key)), "{step}");
                assert_eq!(filter.items(), held.len() as u64);
                assert!(filter.counts().iter().all(|&items| items <= filter.shape().capacity));
                filter = Dynamic::from_bytes(&filter.to_bytes()).unwrap();
            }
        }
    }
}

#[test]
fn a_receiver_of_updates_has_the_senders_chain_bit_for_bit() {
    for image in [Image::Bits, Image::Counters] {
        for builder in [base(3), base(3).slices()] {
            let mut random = SplitMix::new(5);
            let mut filter = builder.build().unwrap();
            let (mut publisher, mut replica) = (Publisher::new(image), Replica::new(&filter, image).unwrap());
            let mut held: Vec<u64> = Vec::new();
            let mut most = 1;
            for step in 0..1_000u64 {
                // It grows at first and shrinks afterwards, so that components come and go.
                let share = if step < 600 { 15 } else { 3 };
                match random.below(20) {
                    0 => {
                        let keys = step << 20..(step << 20) + if step < 600 { 60 } else { 1 };
                        filter.merge(&filled(&builder, keys.clone())).unwrap();
                        held.extend(keys);
                    }
                    choice if choice <= share => {
                        filter.add(&step).unwrap();
                        held.push(step);
                    }
                    _ => {
                        for _ in 0..if step < 600 { 1 } else { 12 } {
                            if held.is_empty() {
                                break;
                            }
                            let at = random.below(held.len() as u64) as usize;
                            if filter.take_out(&held[at]).unwrap() == Removal::Removed {
                                held.swap_remove(at);
                            }
                        }
                    }
                }
                most = most.max(filter.components());
                if random.below(4) == 0 {
                    replica.apply(&publisher.update(&filter).unwrap()).unwrap();
                    assert_eq!(replica.filter().counts(), filter.counts());
                    assert_eq!(replica.filter().mechanism.numbers, filter.mechanism.numbers);
                    let (mine, theirs) =
                        (filter.mechanism.chain.components(), replica.filter().mechanism.chain.components());
                    for index in 0..filter.components() {
                        assert_eq!(mine.bit_image(index).unwrap(), theirs.bit_image(index).unwrap());
                        if image == Image::Counters {
                            assert_eq!(mine.counters(index), theirs.counters(index));
                        }
                    }
                }
            }
            assert!(most >= 5 && filter.components() < most, "components came and went: {most}");
            assert!(held.iter().all(|key| filter.contains(key)));
        }
    }
}

#[test]
fn a_hundredth_of_churn_costs_less_than_a_fifth_of_the_whole() {
    let mut filter = filled(&Builder::fixed(10_000, 0.01).unwrap(), 0..50_000);
    let mut publisher = Publisher::new(Image::Bits);
    let whole = publisher.update(&filter).unwrap().len();
    let mut replaced = 0;
    for key in (0..50_000u64).step_by(100) {
        replaced += u64::from(filter.take_out(&key).unwrap() == Removal::Removed);
        filter.add(&(key + 1_000_000)).unwrap();
    }
    let delta = publisher.update(&filter).unwrap().len();
    assert!(replaced > 450 && delta * 5 < whole, "{delta} of {whole} bytes");
}

#[test]
fn updates_that_are_damaged_repeated_or_out_of_order_change_nothing() {
    let mut filter = filled(&base(0), 0..300);
    let (mut publisher, mut replica) = (Publisher::new(Image::Bits), Replica::new(&filter, Image::Bits).unwrap());
    let mut messages = Vec::new();
    for key in 0..3u64 {
        messages.push(publisher.update(&filter).unwrap());
        filter.add(&(1_000 + key)).unwrap();
    }
    let before = replica.clone();
    assert!(replica.apply(&messages[1]).is_err(), "the first is missing");
    for cut in 0..messages[0].len() {
        assert!(replica.apply(&messages[0][..cut]).is_err());
    }
    for byte in (0..messages[0].len()).step_by(7) {
        let mut damaged = messages[0].clone();
        damaged[byte] ^= 4;
        assert!(replica.apply(&damaged).is_err());
    }
    assert_eq!(replica, before);
    replica.apply(&messages[0]).unwrap();
    replica.apply(&messages[1]).unwrap();
    let before = replica.clone();
    assert!(replica.apply(&messages[1]).is_err(), "applied twice");
    assert_eq!(replica, before);
    replica.apply(&messages[2]).unwrap();
    let mut other = Replica::new(&base(9).build().unwrap(), Image::Bits).unwrap();
    assert!(other.apply(&messages[0]).is_err(), "other positions");
    let mut counters = Replica::new(&filter, Image::Counters).unwrap();
    assert!(counters.apply(&messages[0]).is_err(), "another image");
    assert!(Publisher::new(Image::Counters).update(&filled(&base(0).bits(), 0..9)).is_err());
}

#[test]
fn frames_give_every_arrangement_back_keyed_or_not() {
    let secret = Secret::new(&[5; 32]).unwrap();
    for builder in arrangements(&base(4)) {
        let filter = filled(&builder, 0..1_000);
        let mut again = Dynamic::from_bytes(&filter.to_bytes()).unwrap();
        assert_eq!(again, filter);
        again.add("rose").unwrap();
        let coded = AnyFilter::from_structure(filter.clone()).unwrap().to_compressed_bytes();
        assert_eq!(Dynamic::from_bytes(&coded).unwrap(), filter);
        let keyed = filled(&builder.clone().hashed(Hashing::keyed(secret.clone())), 0..1_000);
        let options = crate::OpenOptions { secret: Some(secret.clone()), ..Default::default() };
        let opened = AnyFilter::from_bytes_with(&keyed.to_bytes(), &options).unwrap();
        assert_eq!(opened.downcast_ref::<Dynamic>(), Some(&keyed));
    }
}

#[test]
fn frames_whose_state_contradicts_itself_are_refused() {
    let filter = filled(&base(1).retry(2), 0..300);
    let frame = |count: u32, next: u64, numbers: [u64; 3], items: u64, waiting: &[&[u64]]| {
        let mut out = Vec::new();
        let fill = |encoder: &mut Encoder<'static>| {
            let state = encoder.state();
            state.u32(count);
            state.u64(next);
            for number in numbers {
                state.u64(number);
                state.u64(items);
            }
            state.u32(waiting.len() as u32);
            for positions in waiting {
                state.u8(positions.len() as u8);
                positions.iter().for_each(|&position| state.u64(position));
            }
            Box::leak(Box::new(filter.mechanism.chain.components().clone())).encode(encoder);
        };
        crate::codec::write_frame(KIND.facts(), &filter.config(), false, fill, &mut out).unwrap();
        Dynamic::from_bytes(&out)
    };
    assert!(frame(3, 3, [0, 1, 2], 133, &[&[1, 2], &[5, 9]]).is_ok());
    assert!(frame(2, 3, [0, 1, 2], 100, &[]).is_err());
    assert!(frame(u32::MAX, 3, [0, 1, 2], 100, &[]).is_err());
    assert!(frame(3, 2, [0, 1, 2], 100, &[]).is_err(), "the next number is not free");
    assert!(frame(3, u64::MAX, [0, 1, 2], 100, &[]).is_err(), "the next number would overflow");
    assert!(frame(3, 9, [0, 2, 2], 100, &[]).is_err(), "one number twice");
    assert!(frame(3, 3, [0, 1, 2], 134, &[]).is_err(), "more keys than fit");
    assert!(frame(3, 3, [0, 1, 2], 100, &[&[1], &[2], &[3]]).is_err(), "more removals than may wait");
    assert!(frame(3, 3, [0, 1, 2], 100, &[&[2, 1]]).is_err(), "positions out of order");
    let with_zero = |encoder: &mut Encoder<'static>| {
        let empty: &'static Dynamic = Box::leak(Box::new(base(1).retry(2).build().unwrap()));
        empty.encode(encoder);
        encoder.state().u64(0);
    };
    let mut out = Vec::new();
    crate::codec::write_frame(KIND.facts(), &filter.config(), false, with_zero, &mut out).unwrap();
    assert!(Dynamic::from_bytes(&out).is_err(), "a number of refusals that is 0 is left out");
}
