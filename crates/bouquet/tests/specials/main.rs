//! What single kinds alone can tell or do, asked for as front ends do it: by name, through the handle. The numbers are
//! those that the kinds' descriptions promise.

use bouquet::capability::{Dataset, Item, Note};
use bouquet::hash::Hashing;
use bouquet::kind::{Argument, Config, Reply};
use bouquet::theory::random::SplitMix;
use bouquet::{AnyFilter, registry};

mod bank;

fn config(kind: &str, settings: &[(&str, &str)], seed: u64) -> Config {
    let facts = registry::find(kind).unwrap().facts();
    let given = settings.iter().fold(Config::new(facts), |config, (name, text)| config.set(name, text).unwrap());
    given.hashed(Hashing::seeded(seed))
}

fn empty(kind: &str, settings: &[(&str, &str)], seed: u64) -> AnyFilter {
    AnyFilter::new(&config(kind, settings, seed)).unwrap()
}

/// The keys of these numbers, inserted.
fn filled(kind: &str, settings: &[(&str, &str)], seed: u64, keys: impl IntoIterator<Item = u64>) -> AnyFilter {
    let mut filter = empty(kind, settings, seed);
    for key in keys {
        filter.insert().unwrap().insert(Item::from(key.to_le_bytes().as_slice())).unwrap();
    }
    filter
}

fn ask(filter: &AnyFilter, question: &str, key: u64) -> Reply {
    filter.ask(question, Argument::Key(&key.to_le_bytes())).unwrap()
}

fn real(reply: Reply) -> f64 {
    match reply {
        Reply::Real(value) => value,
        Reply::Integer(value) => value as f64,
        Reply::Count(value) => value.count as f64,
        other => panic!("no number: {other:?}"),
    }
}

fn integer(reply: &Reply) -> Option<u64> {
    if let Reply::Integer(number) = reply { u64::try_from(*number).ok() } else { None }
}

/// The share of the keys for which the question is answered so.
fn share(filter: &AnyFilter, question: &str, keys: std::ops::Range<u64>, is: fn(&Reply) -> bool) -> f64 {
    let count = keys.end - keys.start;
    keys.filter(|&key| is(&ask(filter, question, key))).count() as f64 / count as f64
}

fn contains(filter: &AnyFilter, key: u64) -> bool {
    filter.contains().unwrap().contains(&key.to_le_bytes())
}

/// A stream in which every key comes as often as `times` says, in random order.
fn shuffled(keys: u64, times: impl Fn(u64) -> u64, seed: u64) -> Vec<u64> {
    let mut stream: Vec<u64> = (0..keys).flat_map(|key| std::iter::repeat_n(key, times(key) as usize)).collect();
    let mut random = SplitMix::new(seed);
    (1..stream.len()).rev().for_each(|i| stream.swap(i, random.below(i as u64 + 1) as usize));
    stream
}

#[test]
fn corrected_counts_of_adaptive_are_within_five_percent() {
    let multiplicity = |key: u64| [1, 2, 4, 8, 16, 32][(key % 6) as usize];
    let filters: Vec<_> = (0..4)
        .map(|seed| {
            filled("adaptive", &[("bits", "100000"), ("hashes", "5")], seed, shuffled(3_000, multiplicity, seed))
        })
        .collect();
    for f in [4, 8, 16, 32] {
        let keys: Vec<_> = (0..3_000).filter(|&key| multiplicity(key) == f).collect();
        let sum: f64 =
            filters.iter().flat_map(|filter| keys.iter().map(|&key| real(ask(filter, "estimate", key)))).sum();
        let mean = sum / (keys.len() * filters.len()) as f64;
        assert!((mean / f as f64 - 1.0).abs() < 0.05, "{f}: {mean}");
    }
}

#[test]
fn both_estimators_of_space_code_tell_flow_sizes() {
    let sizes = [1, 2, 3, 5, 8, 12, 16, 24, 32, 48];
    let size = |key: u64| sizes[(key % 10) as usize];
    let filter = filled("space-code", &[("bits", "200000"), ("hashes", "4")], 1, shuffled(3_000, size, 1));
    for question in ["estimate", "mean-value"] {
        for truth in [8u64, 12, 16, 24, 32, 48] {
            let errors: Vec<f64> = (0..3_000)
                .filter(|&key| size(key) == truth)
                .map(|key| real(ask(&filter, question, key)) / truth as f64 - 1.0)
                .collect();
            let (bias, rms) = (
                errors.iter().sum::<f64>() / errors.len() as f64,
                (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt(),
            );
            assert!(bias.abs() <= 0.06 && rms <= 0.30, "{question} of {truth}: bias {bias}, rms {rms}");
        }
    }
}

#[test]
fn ternary_cannot_tell_as_often_as_theory_says() {
    let n = 100_000;
    let settings = [("items", "100000"), ("counters", "1000000"), ("hashes", "7"), ("levels", "3")];
    let filter = filled("ternary", &settings, 3, 0..n);
    let unknown = share(&filter, "certainty", 0..n, |reply| matches!(reply, Reply::Unknown));
    let expected = filter.expected(n).unknown.unwrap();
    assert!((expected - 8.2e-3).abs() < 5e-5, "{expected}");
    // The members scatter, and so does the share of the million cells that are X, of which a key needs seven.
    let cells = expected.powf(1.0 / 7.0);
    let sigma = f64::hypot((expected / n as f64).sqrt(), 7.0 * expected * ((1.0 - cells) / (1e6 * cells)).sqrt());
    assert!((unknown - expected).abs() < 5.0 * sigma, "{unknown}, expected {expected} with sigma {sigma}");
    let no = share(&filter, "certainty", 0..n, |reply| matches!(reply, Reply::Truth(false)));
    assert_eq!(no, 0.0, "no member is absent");
}

#[test]
fn as_many_keys_are_deletable_as_promised() {
    // n = 20,000, m'/n = 16, k = 5: flags for regions of 10 and of 20 bits.
    for (bits, regions, expected) in [("352000", "32000", 0.971), ("336000", "16000", 0.873)] {
        let settings = [("bits", bits), ("hashes", "5"), ("regions", regions)];
        let filter = filled("deletable", &settings, 5, 0..20_000);
        let deletable = share(&filter, "deletable", 0..20_000, |reply| matches!(reply, Reply::Truth(true)));
        assert!((deletable - expected).abs() <= 0.015, "{regions} regions: {deletable}");
        let absent =
            share(&filter, "deletable", 1 << 40..(1 << 40) + 1_000, |reply| matches!(reply, Reply::Truth(true)));
        assert!(absent < 0.02, "{absent}");
    }
}

#[test]
fn recovering_cuts_what_removals_lose_and_touching_lengthens() {
    let settings = [("bits", "400000"), ("hashes", "12"), ("set", "10"), ("quorum", "9"), ("keep", "8")];
    let remove = |filter: &mut AnyFilter, keys: std::ops::Range<u64>| {
        for key in keys {
            let _ = filter.remove().unwrap().remove(Item::from(key.to_le_bytes().as_slice()));
        }
    };
    let lost = |filter: &AnyFilter| (4_000..20_000).filter(|&key| !contains(filter, key)).count();
    let (mut with, mut without) = (0, 0);
    for seed in 0..3 {
        let mut plain = filled("variable-length", &settings, seed, 0..20_000);
        remove(&mut plain, 0..2_000);
        let mut healed = plain.clone();
        for key in 2_000..20_000u64 {
            healed.act("recover", Argument::Key(&key.to_le_bytes())).unwrap();
        }
        remove(&mut plain, 2_000..4_000);
        remove(&mut healed, 2_000..4_000);
        (with, without) = (with + lost(&healed), without + lost(&plain));
    }
    assert!(2 * with < without, "{with} lost with recovering, {without} without");

    let mut filter = filled("variable-length", &settings, 9, [7]);
    let length = |reply: Reply| real(reply);
    let touched = filter.act("touch", Argument::Key(&7u64.to_le_bytes())).unwrap();
    assert_eq!(length(touched), 11.0, "ten were set");
    assert!(matches!(filter.act("recover-fully", Argument::Key(&7u64.to_le_bytes())).unwrap(), Reply::Truth(true)));
    let hint = filter.count().unwrap().count(&7u64.to_le_bytes());
    assert_eq!((hint.count, hint.at_least), (3, true), "one, and two bits beyond the ten of its insertion");
    filter.act("age", Argument::Number(400_000)).unwrap();
    assert!(!contains(&filter, 7), "one full cycle empties the filter");
}

#[test]
fn balancing_leaves_no_crowded_bucket() {
    for (counters, hashes, before, most) in [("80000", "5", 0, 10), ("40000", "3", 60, 180)] {
        let mut table = empty("pruned-counting", &[("counters", counters), ("hashes", hashes)], 1);
        for key in 0..10_000u64 {
            table.insert().unwrap().insert(Item::new(&key.to_le_bytes(), Note::Bytes(b"rose"))).unwrap();
        }
        let crowded = |table: &AnyFilter| real(table.ask("crowded", Argument::Nothing).unwrap()) as u64;
        assert!((before..=most).contains(&crowded(&table)), "{}", crowded(&table));
        table.act("balance", Argument::Number(1_000_000)).unwrap();
        assert_eq!(crowded(&table), 0);
        assert!((0..10_000).all(|key| contains(&table, key)));
    }
}

#[test]
fn fingerprints_are_all_that_is_left_of_the_keys() {
    for kind in ["cuckoo", "quotient"] {
        let filter = filled(kind, &[("items", "5000"), ("fpr", "0.000001")], 2, (0..2_000).chain(0..500));
        let Reply::Table(heads, rows) = filter.ask("fingerprints", Argument::Nothing).unwrap() else {
            panic!("{kind}")
        };
        let counts = rows.iter().map(|row| match row.last() {
            Some(Reply::Integer(count)) => *count,
            other => panic!("{kind}: {other:?}"),
        });
        assert_eq!(counts.sum::<i128>(), 2_500, "{kind}: every copy is told");
        assert!(rows.iter().all(|row| row.len() == heads.len()), "{kind}");
        assert!((1_990..=2_500).contains(&rows.len()), "{kind}: {} rows", rows.len());
    }
}

#[test]
fn counting_filters_give_away_the_plain_filter_of_their_keys() {
    for kind in ["counting", "ml-ccbf", "l-cbf", "ternary"] {
        let filter = filled(kind, &[("items", "1000")], 4, 0..1_000);
        let Reply::Filter(made) = filter.ask("bits", Argument::Nothing).unwrap() else {
            panic!("{kind} makes a filter")
        };
        let plain = AnyFilter::from_made(made).unwrap();
        assert_eq!(plain.kind().facts().id, "standard", "{kind}");
        assert!((0..100_000).all(|key| contains(&plain, key) == contains(&filter, key)), "{kind} answers alike");
        // A plain filter of the same size that was filled directly has the same bits.
        let (bits, hashes) = (plain.stats().bits.to_string(), plain.stats().hashes.to_string());
        let sized = [("bits", bits.as_str()), ("hashes", hashes.as_str()), ("reduction", "fastrange")];
        let direct = filled("standard", &sized, 4, 0..1_000);
        let mut both = plain.clone();
        both.merge(&direct).unwrap();
        let fills = [&plain, &direct, &both].map(|filter| filter.stats().fill);
        assert!(fills[0] == fills[1] && fills[1] == fills[2], "{kind}: {fills:?}");
    }
}

#[test]
fn values_of_bloomier_are_set_and_read_back() {
    let n = 50_000u64;
    let keys: Vec<_> = (0..n).map(|key| (key.to_le_bytes(), key % 256)).collect();
    let items: Vec<_> = keys.iter().map(|(key, value)| Item::new(key, Note::Integer(*value))).collect();
    let config = config("bloomier", &[("mode", "mutable"), ("fpr", "0.01")], 6);
    let mut filter = AnyFilter::build(&config, &Dataset { items: &items, absent: &[] }).unwrap();
    let mut truth: Vec<u64> = (0..n).map(|key| key % 256).collect();
    let mut random = SplitMix::new(6);
    let set = filter.set().unwrap();
    for _ in 0..n {
        let (key, value) = (random.below(n), random.below(256));
        set.set(Item::new(&key.to_le_bytes(), Note::Integer(value))).unwrap();
        truth[key as usize] = value;
    }
    let get = filter.get().unwrap();
    assert!((0..n).all(|key| get.get(&key.to_le_bytes()) == Some(truth[key as usize]).into()));
    let queries = 300_000u64;
    let found = (0..queries).filter(|key| contains(&filter, (1 << 40) + key)).count() as f64 / queries as f64;
    let expected = filter.expected(n).spurious_value.or(filter.expected(n).false_positive).unwrap();
    let sigma = (expected * (1.0 - expected) / queries as f64).sqrt();
    assert!((found - expected).abs() < 5.0 * sigma, "{found}, expected {expected}");
}

#[test]
fn tuple_search_equals_linear_search() {
    let mut random = SplitMix::new(3);
    let mut table = empty("pruned-counting", &[("items", "1000")], 3);
    let mut rules: Vec<([(u32, u32); 2], u64)> = Vec::new();
    // Few different bits, so that packets match.
    let bits = |random: &mut SplitMix| (random.next_u64() & 0xC300_00FF) as u32;
    let text = |rule: [(u32, u32); 2]| {
        let [(source, long), (port, short)] = rule;
        format!("{}/{long} {port}/{short}", std::net::Ipv4Addr::from(source))
    };
    let change = |table: &mut AnyFilter, action: &str, rule, priority: u64| {
        let (rule, priority) = (text(rule), priority.to_string());
        table.act(action, Argument::Item(Item::new(rule.as_bytes(), Note::Bytes(priority.as_bytes()))))
    };
    for priority in 0..1_000 {
        let mut prefix = || (bits(&mut random), [0, 2, 8, 24, 32][random.below(5) as usize]);
        let rule = [prefix(), prefix()];
        change(&mut table, "add-rule", rule, priority).unwrap();
        rules.push((rule, priority));
    }
    table = AnyFilter::from_bytes(&table.to_bytes()).unwrap();
    let mut matched = 0;
    for step in 0..100_000 {
        if step % 200 == 0 {
            // Rules leave, and the rest still wins.
            let (rule, priority) = rules.swap_remove(random.below(rules.len() as u64) as usize);
            change(&mut table, "remove-rule", rule, priority).unwrap();
            assert!(change(&mut table, "remove-rule", rule, priority).is_err(), "it is gone");
        }
        let packet = [bits(&mut random), bits(&mut random)];
        let begins = |&(prefix, length): &(u32, u32), field: u32| (prefix ^ field).unbounded_shr(32 - length) == 0;
        let matches = |rule: &[(u32, u32); 2]| rule.iter().zip(packet).all(|(prefix, field)| begins(prefix, field));
        let linear = rules.iter().filter(|(rule, _)| matches(rule)).map(|&(_, priority)| priority).max();
        let fields = format!("{} {}", std::net::Ipv4Addr::from(packet[0]), packet[1]);
        let found = table.ask("best-rule", Argument::Key(fields.as_bytes())).unwrap();
        assert_eq!(integer(&found), linear, "{fields}");
        matched += u64::from(linear.is_some());
    }
    assert!(matched > 10_000, "{matched}");
    let Reply::Table(heads, rows) = table.ask("tuples", Argument::Nothing).unwrap() else { panic!("a table") };
    assert_eq!((heads, rows.len()), (&["lengths", "rules"][..], 25));
    for (rule, priority) in [("10.0.0.0/8 rose", "7"), ("10.0.0.0/33", "7"), ("10.0.0.0/8", "high"), ("", "7")] {
        let item = Item::new(rule.as_bytes(), Note::Bytes(priority.as_bytes()));
        assert!(table.act("add-rule", Argument::Item(item)).is_err(), "{rule} {priority}");
    }
}

#[test]
fn occurrences_with_names_count_once_wherever_they_were_seen() {
    let settings = [("items", "10"), ("copies", "64")];
    let add = |filter: &mut AnyFilter, names: std::ops::Range<u64>| {
        for name in names {
            let name = name.to_le_bytes();
            filter.act("add-occurrence", Argument::Item(Item::new(b"rose", Note::Bytes(&name)))).unwrap();
        }
    };
    let estimate = |filter: &AnyFilter| real(filter.ask("estimate", Argument::Key(b"rose")).unwrap());
    let [mut one, mut two, mut all] = [0; 3].map(|_| empty("loglog", &settings, 2));
    add(&mut one, 0..700);
    add(&mut two, 300..1_000);
    add(&mut all, 0..1_000);
    add(&mut two, 300..1_000);
    one.merge(&two).unwrap();
    assert_eq!(estimate(&one), estimate(&all), "the join is the filter of both streams");
    // 64 copies: 1.30 / sqrt(64) = 16 %.
    assert!((estimate(&all) / 1_000.0 - 1.0).abs() < 5.0 * 0.1625, "{}", estimate(&all));
    // Names belong to their keys: the same ones count for another key too.
    assert_eq!(real(all.ask("estimate", Argument::Key(b"lily")).unwrap()), 0.0);
}

fn image(filter: &AnyFilter) -> AnyFilter {
    let Reply::Filter(made) = filter.ask("bits", Argument::Nothing).unwrap() else { panic!("it makes a filter") };
    AnyFilter::from_made(made).unwrap()
}

#[test]
fn copies_of_a_dynamic_filter_are_kept_up_to_date_by_deltas() {
    let mut random = SplitMix::new(5);
    let mut filter = empty("dynamic", &[("bits", "1280"), ("hashes", "7"), ("capacity", "133")], 3);
    let mut copy = image(&filter);
    let (mut held, mut most) = (Vec::<u64>::new(), 0);
    for step in 0..1_000u64 {
        // It grows at first and shrinks afterwards, so that components come, go and are united.
        for _ in 0..1 + random.below(3) {
            let grows = random.below(10) < if step < 500 { 8 } else { 2 };
            if grows {
                let key = random.next_u64();
                filter.insert().unwrap().insert(Item::from(key.to_le_bytes().as_slice())).unwrap();
                held.push(key);
            } else if !held.is_empty() {
                let key = held.swap_remove(random.below(held.len() as u64) as usize);
                // What several components match stays in.
                let _ = filter.remove().unwrap().remove(Item::from(key.to_le_bytes().as_slice()));
            }
        }
        most = most.max(filter.stats().bits);
        if step % 10 == 9 {
            let now = image(&filter);
            let patch = copy.delta(&now).unwrap();
            let before = copy.clone();
            copy = copy.patched(&patch).unwrap();
            assert_eq!(copy.to_bytes(), now.to_bytes(), "bit for bit");
            let moved = before.to_bytes() != copy.to_bytes();
            assert!(!moved || copy.patched(&patch).is_err(), "a patch is not applied twice");
        }
    }
    assert!(most >= 4 * 5 * 1_280 && filter.stats().bits < most, "components came and went");
    assert!(held.iter().all(|&key| contains(&filter, key) && contains(&copy, key)));
}

#[test]
fn a_hundredth_of_churn_costs_less_than_a_fifth_of_the_whole() {
    let mut filter = filled("dynamic", &[("items", "10000"), ("fpr", "0.01")], 0, 0..50_000);
    let before = image(&filter);
    let mut replaced = 0;
    for key in (0..50_000u64).step_by(100) {
        replaced += u64::from(filter.remove().unwrap().remove(Item::from(key.to_le_bytes().as_slice())).is_ok());
        filter.insert().unwrap().insert(Item::from((key + 1_000_000).to_le_bytes().as_slice())).unwrap();
    }
    let (now, whole) = (image(&filter), before.to_compressed_bytes().len());
    let delta = before.delta(&now).unwrap().len();
    assert!(replaced > 450 && delta * 5 < whole, "{delta} of {whole} bytes");
}

#[test]
fn halving_equals_building_at_half_the_size() {
    let halves = |kind: &bouquet::kind::Kind| kind.specials().any(|special| special.name == "halve");
    let kinds: Vec<_> = registry::kinds().filter(|kind| halves(kind)).map(|kind| kind.facts().id).collect();
    for kind in ["standard", "partitioned", "compressed", "blocked", "bloom-g", "ultra-fast"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    let n = 4_000;
    for kind in kinds {
        // Slices and blocks of any of them divide both sizes, and 8 is a number of hashes that all have.
        let sized = |bits: u64, seed| {
            let bits = bits.to_string();
            filled(kind, &[("items", "4000"), ("bits", &bits), ("hashes", "8")], seed, 0..n)
        };
        let (mut found, mut now, queries) = (0, 0.0, 100_000);
        for seed in 0..3 {
            let Reply::Filter(made) = sized(1 << 16, seed).ask("halve", Argument::Nothing).unwrap() else {
                panic!("{kind} makes a filter")
            };
            let half = AnyFilter::from_made(made).unwrap();
            let direct = sized(1 << 15, seed);
            assert!(half.to_bytes() == direct.to_bytes(), "{kind}");
            assert!((0..n).all(|key| contains(&half, key)), "{kind}");
            found += (1 << 40..(1 << 40) + queries).filter(|&key| contains(&half, key)).count();
            now += half.stats().fpr.unwrap() / 3.0;
        }
        // The rate is that of half the size with as many hashes.
        let (rate, trials) = (found as f64 / (3 * queries) as f64, (3 * queries) as f64);
        assert!((rate - now).abs() < 5.0 * (now * (1.0 - now) / trials).sqrt(), "{kind}: {rate}, expected {now}");
    }
    let odd = filled("standard", &[("bits", "9999"), ("hashes", "5")], 0, 0..100);
    assert!(odd.ask("halve", Argument::Nothing).unwrap_err().to_string().contains("9999 bits"));
}

#[test]
fn wide_digests_are_used_whole() {
    for kind in ["standard", "partitioned", "compressed"] {
        let sized = config(kind, &[("items", "1000"), ("fpr", "0.01")], 0).hashed(Hashing::seeded_wide(0));
        let filter = AnyFilter::new(&sized).unwrap();
        assert_eq!((filter.config().digest_bits(), filter.config().choice("reduction")), (128, "fastrange"), "{kind}");
        let narrow = AnyFilter::new(&sized.set("reduction", "fastrange32").unwrap()).unwrap();
        assert_eq!((narrow.config().digest_bits(), narrow.config().choice("reduction")), (64, "fastrange32"), "{kind}");
    }
}
