//! Filters that RedisBloom 2.4.20 dumped answer here as they did there, and are dumped again byte for byte.

use bouquet::foreign::{
    BloomShape, CuckooShape, RedisBloomChain, RedisCountMin, RedisCountMinSketch, RedisCuckoo, RedisCuckooChain,
    RedisTopK, RedisTopKSketch, murmur2, murmur64a,
};
use bouquet::hash::{Hashing, SplitMix};
use bouquet::kind::{Argument, Setting};
use bouquet::shell::Amount;
use bouquet::{AnyFilter, Error};
use serde_json::Value;

/// A recorded filter: what `SCANDUMP` gave, and what the server said of its keys.
struct Recorded {
    key: String,
    family: String,
    chunks: Vec<(u64, Vec<u8>)>,
    members: Vec<Vec<u8>>,
    absent: Vec<String>,
    false_positives: Vec<String>,
    size: u64,
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut out) = (0u32, 0, Vec::new());
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|known| *known == byte).expect("a digit") as u32;
        (bits, held) = (bits << 6 | digit, held + 6);
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

fn names(prefix: &str, count: u64) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}-{i}")).collect()
}

fn recorded() -> Vec<Recorded> {
    let text = include_str!("data/redisbloom-2.4.20/dumps.jsonl");
    let parse = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let list = |name: &str| row[name].as_array().expect("a list").clone();
        let info = list("info");
        let size = info.iter().position(|label| label == "Size").expect("a size");
        Recorded {
            key: text(&row["key"]),
            family: text(&row["family"]),
            chunks: list("chunks").iter().map(|c| (c[0].as_u64().unwrap(), base64(c[1].as_str().unwrap()))).collect(),
            members: names(&text(&row["members"][0]), row["members"][1].as_u64().unwrap())
                .into_iter()
                .map(String::into_bytes)
                .collect(),
            absent: names(&text(&row["absent_prefix"]), row["absent_tried"].as_u64().unwrap()),
            false_positives: list("false_positives").iter().map(text).collect(),
            size: info[size + 1].as_u64().unwrap(),
        }
    };
    text.lines().map(parse).collect()
}

/// A chain of either family.
enum Chain {
    Bloom(RedisBloomChain),
    Cuckoo(RedisCuckooChain),
}

impl Chain {
    fn from_header(family: &str, header: &[u8], most_bytes: u64) -> Result<Self, Error> {
        match family {
            "BF" => RedisBloomChain::from_header(header, most_bytes).map(Chain::Bloom),
            _ => RedisCuckooChain::from_header(header, most_bytes).map(Chain::Cuckoo),
        }
    }

    fn from_dump(family: &str, dump: &[u8], most_bytes: u64) -> Result<Self, Error> {
        match family {
            "BF" => RedisBloomChain::from_dump(dump, most_bytes).map(Chain::Bloom),
            _ => RedisCuckooChain::from_dump(dump, most_bytes).map(Chain::Cuckoo),
        }
    }

    fn load_chunk(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Chain::Bloom(chain) => chain.load_chunk(at, bytes),
            Chain::Cuckoo(chain) => chain.load_chunk(at, bytes),
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        match self {
            Chain::Bloom(chain) => chain.contains(key),
            Chain::Cuckoo(chain) => chain.contains(key),
        }
    }

    fn parts(&self) -> (Vec<u8>, Vec<u8>, u64) {
        match self {
            Chain::Bloom(chain) => (chain.header(), chain.dump(), chain.bytes()),
            Chain::Cuckoo(chain) => (chain.header(), chain.dump(), chain.bytes()),
        }
    }

    fn chunks(&self, most: u64) -> Vec<(u64, Vec<u8>)> {
        let mut chunks = vec![(1, self.parts().0)];
        let mut at = 0;
        loop {
            let chunk = match self {
                Chain::Bloom(chain) => chain.chunk(at, most),
                Chain::Cuckoo(chain) => chain.chunk(at, most),
            };
            let Some(chunk) = chunk else { return chunks };
            at += chunk.len() as u64;
            chunks.push((at + 1, chunk.to_vec()));
        }
    }

    /// Whatever can be done with it must not panic.
    fn exercise(&mut self) {
        match self {
            Chain::Bloom(chain) => drop(chain.insert_within(b"rose", 1 << 16)),
            Chain::Cuckoo(chain) => {
                drop(chain.insert(b"rose", 1 << 16));
                let _ = chain.count(b"rose");
                chain.remove(b"lily");
                chain.compact(true);
            }
        }
        self.contains(b"iris");
    }
}

fn loaded(filter: &Recorded) -> Chain {
    let (first, rest) = filter.chunks.split_first().expect("a header");
    let mut chain = Chain::from_header(&filter.family, &first.1, 1 << 20).expect("a header");
    for (iterator, bytes) in rest {
        chain.load_chunk(iterator - 1 - bytes.len() as u64, bytes).expect("a chunk");
    }
    chain
}

#[test]
fn recorded_dumps_answer_as_recorded_and_are_dumped_byte_for_byte() {
    let filters = recorded();
    assert_eq!(filters.len(), 5);
    for filter in &filters {
        let chain = loaded(filter);
        assert!(filter.members.iter().all(|member| chain.contains(member)), "{}: a member is lost", filter.key);
        let yes: Vec<_> = filter.absent.iter().filter(|name| chain.contains(name.as_bytes())).cloned().collect();
        assert_eq!(yes, filter.false_positives, "{}", filter.key);
        assert_eq!(chain.chunks(16 << 20), filter.chunks, "{}", filter.key);
        let (_, dump, size) = chain.parts();
        assert_eq!(size, filter.size, "{}", filter.key);
        let again = Chain::from_dump(&filter.family, &dump, u64::MAX).expect("a dump");
        assert_eq!(again.parts().1, dump);
    }
}

#[test]
fn filters_made_here_of_the_same_keys_have_the_same_bytes() {
    let filters = recorded();
    let of = |key: &str| filters.iter().find(|filter| filter.key == key).expect("recorded");
    let bloom = |key: &str, shape: BloomShape| {
        let mut chain = RedisBloomChain::new(&shape, u64::MAX).unwrap();
        for member in &of(key).members {
            chain.insert(member).unwrap();
        }
        assert_eq!(Chain::Bloom(chain).chunks(16 << 20), of(key).chunks, "{key}");
    };
    bloom("bf:fixed", BloomShape { capacity: 5_000, rate: 0.001, expansion: None, ..Default::default() });
    bloom("bf:grown", BloomShape { capacity: 200, ..Default::default() });
    bloom("bf:auto", BloomShape::default());
    let cuckoo = |key: &str, shape: CuckooShape| {
        let mut chain = RedisCuckooChain::new(&shape, u64::MAX).unwrap();
        of(key).members.iter().for_each(|member| chain.insert(member, u64::MAX).unwrap());
        assert_eq!(Chain::Cuckoo(chain).chunks(16 << 20), of(key).chunks, "{key}");
    };
    cuckoo("cf:plain", CuckooShape { capacity: 4_096, ..Default::default() });
    cuckoo("cf:grown", CuckooShape { capacity: 256, bucket_size: 4, expansion: 2, ..Default::default() });
}

#[test]
fn chunks_of_any_size_load_as_one_does() {
    for filter in recorded() {
        let chain = loaded(&filter);
        for most in [64, 777, 4_096] {
            let chunks = chain.chunks(most);
            let again = loaded(&Recorded { chunks, members: Vec::new(), absent: Vec::new(), ..filter_like(&filter) });
            assert_eq!(again.parts().1, chain.parts().1, "{} in chunks of {most}", filter.key);
        }
    }
}

fn filter_like(filter: &Recorded) -> Recorded {
    Recorded {
        key: filter.key.clone(),
        family: filter.family.clone(),
        chunks: Vec::new(),
        members: Vec::new(),
        absent: Vec::new(),
        false_positives: Vec::new(),
        size: 0,
    }
}

/// Damages some bytes: bits flipped, numbers at their ends, cut, made longer.
fn mutate(bytes: &[u8], random: &mut SplitMix) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(3) {
        // Headers are at the front, and there most of the harm can be done.
        let reach = if random.below(2) == 0 { out.len().min(120) } else { out.len() };
        let at = random.below(reach.max(1) as u64) as usize;
        match random.below(6) {
            0 if at < out.len() => out[at] ^= 1 << random.below(8),
            1 if at < out.len() => out[at] = [0, 0xff, 0x7f, 0x80][random.below(4) as usize],
            2 => out.truncate(at),
            3 => out.extend_from_slice(&random.next_u64().to_le_bytes()),
            _ => {
                let edge = [0, 1, u64::MAX, 1 << 63, 1 << 32, u64::MAX / 8][random.below(6) as usize];
                out.iter_mut().skip(at).zip(edge.to_le_bytes()).for_each(|(byte, new)| *byte = new);
            }
        }
    }
    out
}

#[test]
fn mutated_dumps_are_refused_or_give_a_filter_within_its_limit() {
    const MOST: u64 = 1 << 18;
    let mut random = SplitMix::new(21);
    for filter in recorded() {
        let dump = loaded(&filter).parts().1;
        for _ in 0..4_000 {
            let mutated = mutate(&dump, &mut random);
            if let Ok(mut chain) = Chain::from_dump(&filter.family, &mutated, MOST) {
                assert!(chain.parts().2 <= MOST);
                chain.exercise();
            }
            let header = mutate(&filter.chunks[0].1, &mut random);
            if let Ok(mut chain) = Chain::from_header(&filter.family, &header, MOST) {
                assert!(chain.parts().2 <= MOST);
                let (iterator, bytes) = &filter.chunks[1];
                let at = (iterator - 1 - bytes.len() as u64).wrapping_add(random.next_u64() >> random.below(64));
                drop(chain.load_chunk(at, &mutate(bytes, &mut random)));
                chain.exercise();
            }
        }
    }
    let mut sketch = RedisCountMinSketch::new(50, 3, MOST).unwrap();
    let mut top = RedisTopKSketch::new(5, 20, 3, 0.9, MOST).unwrap();
    for name in names("flower", 100) {
        sketch.add(name.as_bytes(), 2);
        top.add(name.as_bytes(), 1);
    }
    for _ in 0..4_000 {
        if let Ok(mut sketch) = RedisCountMinSketch::from_dump(&mutate(&sketch.dump(), &mut random), MOST) {
            sketch.add(b"rose", u64::MAX);
            drop(RedisCountMinSketch::weighted(&[(&sketch, i64::MIN), (&sketch, i64::MAX)]));
        }
        if let Ok(mut top) = RedisTopKSketch::from_dump(&mutate(&top.dump(), &mut random), MOST) {
            drop(top.add(b"rose", 7));
            let _ = (top.count(b"rose"), top.list().len());
        }
    }
}

#[test]
fn sizes_beyond_the_limit_are_refused_before_memory_is_taken() {
    let huge = BloomShape { capacity: 1 << 62, rate: 1e-9, ..Default::default() };
    assert!(matches!(RedisBloomChain::new(&huge, u64::MAX >> 1), Err(Error::TooLarge { .. })));
    let huge = CuckooShape { capacity: 1 << 50, ..Default::default() };
    assert!(matches!(RedisCuckooChain::new(&huge, 1 << 40), Err(Error::TooLarge { .. })));
    assert!(matches!(RedisCountMinSketch::new(1 << 40, 1 << 30, 1 << 30), Err(Error::TooLarge { .. })));
    assert!(matches!(RedisTopKSketch::new(10, u32::MAX, u32::MAX, 0.9, 1 << 30), Err(Error::TooLarge { .. })));
}

#[test]
fn a_chain_grows_only_within_its_limit_and_keeps_what_it_has() {
    let mut bloom = RedisBloomChain::new(&BloomShape::default(), 4_096).unwrap();
    let mut in_it = Vec::new();
    for name in names("b", 10_000) {
        match bloom.insert_within(name.as_bytes(), 4_096) {
            Ok(_) => in_it.push(name),
            Err(error) => {
                assert!(matches!(error, Error::TooLarge { .. }));
                break;
            }
        }
    }
    assert!(bloom.bytes() <= 4_096 && in_it.len() >= 100 && in_it.iter().all(|name| bloom.contains(name.as_bytes())));
    let (scaled, bytes) = bloom.grown(u64::MAX, 1 << 20).unwrap();
    assert!(scaled > bloom.capacity() && bytes <= 1 << 20);
}

#[test]
fn seeds_and_tightening_ratios_survive_a_dump() {
    let shape = BloomShape { tightening: 0.8, seed: Some(7), ..Default::default() };
    let mut chain = RedisBloomChain::new(&shape, u64::MAX).unwrap();
    for name in names("s", 500) {
        chain.insert(name.as_bytes()).unwrap();
    }
    let again = RedisBloomChain::from_dump(&chain.dump(), u64::MAX).unwrap();
    assert_eq!((again.tightening(), &again), (0.8, &chain));
    let (items, options, ..) = chain.fields();
    assert!(RedisBloomChain::is_extended(options) && items > 490);
}

#[test]
fn the_same_commands_give_the_same_top_keys() {
    let mut left = RedisTopKSketch::new(5, 8, 3, 0.9, u64::MAX).unwrap();
    let mut right = RedisTopKSketch::from_dump(&left.dump(), u64::MAX).unwrap();
    let mut random = SplitMix::new(3);
    for step in 0..20_000u64 {
        let reach = 2 + random.below(200);
        let name = format!("f{}", random.below(reach));
        assert_eq!(left.add(name.as_bytes(), 1), right.add(name.as_bytes(), 1), "step {step}");
        if step % 1_000 == 0 {
            right = RedisTopKSketch::from_dump(&right.dump(), u64::MAX).unwrap();
        }
    }
    assert_eq!(left, right);
}

#[test]
fn murmur_hashes_tails_of_every_length() {
    // From the reference implementation, as recorded filters confirm.
    let text = b"0123456789abcdef";
    let mut seen = std::collections::HashSet::new();
    for len in 0..=16 {
        assert!(seen.insert(murmur64a(&text[..len], 1)) && seen.insert(murmur2(&text[..len], 1).into()));
    }
}

#[test]
fn recorded_cuckoo_filters_are_filters_of_their_kind_and_dumped_byte_for_byte() {
    for filter in recorded().into_iter().filter(|filter| filter.family == "CF") {
        let dump = loaded(&filter).parts().1;
        let kind = RedisCuckoo::from_dump(&dump).unwrap();
        let again = RedisCuckoo::from_bytes(&kind.to_bytes()).unwrap();
        assert_eq!((again.to_dump().unwrap(), again.items()), (dump, filter.members.len() as u64), "{}", filter.key);
        assert!(filter.members.iter().all(|member| again.contains(member.as_slice())), "{}", filter.key);
        let yes: Vec<_> = filter.absent.iter().filter(|name| again.contains(name.as_bytes())).cloned().collect();
        assert_eq!(yes, filter.false_positives, "{}", filter.key);
    }
}

#[test]
fn counts_and_lists_come_back_from_a_dump_and_from_a_frame() {
    let mut visits = RedisCountMin::with_error(0.01, 0.01).unwrap();
    let mut top = RedisTopK::with_size(5, 20, 3).unwrap();
    for (number, name) in names("flower", 500).iter().enumerate() {
        let times = Amount(1 + 600 / (number as u64 + 1));
        visits.insert_with(name, times);
        top.insert_with(name, times).unwrap();
    }
    let (dump, frame) = (visits.to_dump().unwrap(), visits.to_bytes());
    let again = RedisCountMin::from_dump(&dump).unwrap();
    assert_eq!((again.to_dump().unwrap(), again.count("flower-7")), (dump.clone(), visits.count("flower-7")));
    assert_eq!(RedisCountMin::from_bytes(&frame).unwrap(), visits);
    assert!(RedisTopK::from_dump(&dump).is_err(), "another type");
    let (dump, frame) = (top.to_dump().unwrap(), top.to_bytes());
    let mut again = RedisTopK::from_dump(&dump).unwrap();
    assert_eq!((again.to_dump().unwrap(), again.top()), (dump, top.top()));
    assert_eq!(RedisTopK::from_bytes(&frame).unwrap(), top);
    // What is drawn at random goes on as it would have.
    for name in names("weed", 2_000) {
        again.insert(&name).unwrap();
        top.insert(&name).unwrap();
    }
    assert_eq!(again.to_dump().unwrap(), top.to_dump().unwrap());
}

#[test]
fn filters_with_a_seed_are_not_written_for_redis() {
    let seeded = Hashing::seeded(7);
    let cuckoo = RedisCuckoo::hashed(RedisCuckoo::for_items(10).unwrap().settings(), seeded.clone()).unwrap();
    let visits =
        RedisCountMin::hashed(RedisCountMin::with_error(0.1, 0.1).unwrap().settings(), seeded.clone()).unwrap();
    let top = RedisTopK::hashed(RedisTopK::with_size(1, 8, 7).unwrap().settings(), seeded).unwrap();
    assert!(cuckoo.to_dump().is_err() && visits.to_dump().is_err() && top.to_dump().is_err());
}

/// HeavyKeeper's claim: of a stream whose frequencies fall as 1/rank, the list holds the most frequent, with counts that are hardly short.
#[test]
fn the_most_frequent_keys_of_a_zipf_stream_are_listed_with_counts_close_to_the_truth() {
    let (keys, length) = (10_000u64, 200_000u64);
    let harmonic: f64 = (1..=keys).map(|rank| 1.0 / rank as f64).sum();
    let mut top = RedisTopK::with_size(20, 500, 5).unwrap();
    let mut random = SplitMix::new(9);
    let mut truth = vec![0u64; keys as usize];
    for _ in 0..length {
        // The inverse of the distribution function, up to the rounding of a rank.
        let rank = (((random.unit() * harmonic).exp() - 1.0) / 0.79).min(keys as f64 - 1.0) as usize;
        truth[rank] += 1;
        top.insert(&(rank as u64)).unwrap();
    }
    let listed = top.top();
    assert_eq!(listed.len(), 20);
    let mut by_count: Vec<_> = (0..keys as usize).collect();
    by_count.sort_by_key(|rank| std::cmp::Reverse(truth[*rank]));
    for heavy in &listed[..10] {
        let rank = u64::from_le_bytes(heavy.key.as_slice().try_into().unwrap()) as usize;
        assert!(by_count[..12].contains(&rank), "rank {rank} is listed among the first ten");
        let (told, came) = (heavy.count.count, truth[rank]);
        assert!(told <= came && told * 100 >= came * 98, "{told} of {came}");
    }
}

#[test]
fn a_compacted_cuckoo_filter_keeps_every_key() {
    let mut filter = RedisCuckoo::for_items(100).unwrap();
    let all = names("key", 2_000);
    filter.insert_batch(&all).unwrap();
    let mut filter = AnyFilter::from_structure(filter).unwrap();
    let figure = |filter: &AnyFilter| match filter.figures()[0].value {
        Setting::Count(tables) => tables,
        _ => 0,
    };
    let before = figure(&filter);
    for name in &all[200..] {
        filter.remove().unwrap().remove(name.as_bytes().into()).unwrap();
    }
    filter.act("compact", Argument::Nothing).unwrap();
    assert!(
        figure(&filter) < before && all[..200].iter().all(|name| filter.contains().unwrap().contains(name.as_bytes()))
    );
}
