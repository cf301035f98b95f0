//! `BF.*`: RedisBloom's Bloom filters, with the options that Valkey's have beside them.

use bouquet::Error;
use bouquet::foreign::{BloomShape, Link, RedisBloomChain, murmur64a};

use crate::command::{Command, GROWS, READS, READS_FAST};
use crate::config;
use crate::server::{Call, Digest, Failure, Load, Mover, Outcome, Reply, Rewrite, Save, Slot, TypeSlot, Value, entry};

/// The commands.
pub const COMMANDS: &[Command] = &[
    Command::write("bf.reserve", GROWS, -4, entry(reserve)).usage("key error_rate:double capacity:int [EXPANSION expansion:int] [NONSCALING]").about("Makes an empty Bloom filter").takes("O(1)"),
    Command::write("bf.add", GROWS, 3, entry(add)).usage("key item").about("Adds an item, and makes the filter if there is none"),
    Command::write("bf.madd", GROWS, -3, entry(madd)).usage("key item...").about("Adds items, and makes the filter if there is none"),
    Command::write("bf.insert", GROWS, -4, entry(insert)).usage("key [CAPACITY capacity:int] [ERROR error:double] [EXPANSION expansion:int] [NOCREATE] [NONSCALING] [TIGHTENING tightening:double] [SEED seed] [VALIDATESCALETO capacity:int] ITEMS item...").about("Adds items to a filter that is made as said"),
    Command::read("bf.exists", READS_FAST, 3, entry(exists)).usage("key item").about("Tells whether an item may be in the filter"),
    Command::read("bf.mexists", READS_FAST, -3, entry(mexists)).usage("key item...").about("Tells which items may be in the filter"),
    Command::read("bf.card", READS_FAST, 2, entry(card)).usage("key").about("Tells how many items went in").takes("O(1)"),
    Command::read("bf.info", READS_FAST, -2, entry(info)).usage("key [field]").about("Tells of a filter").takes("O(1)"),
    Command::read("bf.debug", READS_FAST, 2, entry(debug)).usage("key").about("Tells of each link of a filter").takes("O(1)"),
    Command::read("bf.scandump", READS, 3, entry(scandump)).usage("key iterator:int").about("Gives the next chunk of a dump"),
    Command::write("bf.loadchunk", GROWS, 4, entry(loadchunk)).usage("key iterator:int data").about("Takes a chunk of a dump"),
    Command::write("bf.load", GROWS, 3, entry(load_dump)).usage("key data").about("Takes a whole filter: header and chunks of a dump in one, or as Valkey writes it"),
];

/// The bytes of a chunk.
pub const CHUNK: u64 = 16 << 20;

const NOT_FOUND: &str = "ERR not found";
const TOO_LARGE: &str = "ERR operation exceeds bloom object memory limit";
const BAD_DATA: &str = "ERR received bad data";

/// What the key holds must be nothing.
pub fn refuse_existing<T>(slot: Slot<T>) -> Result<(), Failure> {
    match slot {
        Slot::Missing => Ok(()),
        Slot::Found(_) => Err("ERR item exists".into()),
        Slot::Other => slot.or("").map(drop),
    }
}

fn made(shape: &BloomShape, call: &Call<'_>) -> Result<RedisBloomChain, Failure> {
    RedisBloomChain::new(shape, config::most_bytes(call)).map_err(|error| match error {
        Error::TooLarge { .. } => TOO_LARGE.into(),
        _ => "ERR could not create filter".into(),
    })
}

fn reserve(call: &mut Call<'_>) -> Outcome {
    if !(4..=7).contains(&call.len()) {
        return Err(Failure::Arity);
    }
    let mut shape = BloomShape { expansion: Some(2), ..config::bloom() };
    shape.rate = call.double(2).ok_or("ERR bad error rate")?;
    if !(shape.rate > 0.0 && shape.rate < 1.0) {
        return Err("ERR (0 < error rate range < 1) ".into());
    }
    let capacity = call.int(3).ok_or("ERR bad capacity")?;
    shape.capacity = u64::try_from(capacity).ok().filter(|c| *c > 0).ok_or("ERR (capacity should be larger than 0)")?;
    let fixed = call.position("NONSCALING").is_some();
    if let Some(at) = call.position("EXPANSION") {
        if at + 1 == call.len() {
            return Err("ERR no expansion".into());
        }
        if fixed {
            return Err("Nonscaling filters cannot expand".into());
        }
        let expansion = call.int(at + 1).ok_or("ERR bad expansion")?;
        // Where 0 is asked for, the filter does not grow.
        let expansion = u32::try_from(expansion).map_err(|_| "ERR bad expansion")?;
        shape.expansion = (expansion > 0).then_some(expansion);
    }
    if fixed {
        shape.expansion = None;
    }
    refuse_existing(call.write::<RedisBloomChain>(1))?;
    let filter = made(&shape, call)?;
    call.create(1, filter)?;
    call.changed(1, c"bf.reserve");
    Ok(Reply::Done)
}

/// Adds the arguments from `first` on to the filter, which is made if `shape` says how.
fn add_all(call: &mut Call<'_>, first: usize, shape: Option<&BloomShape>, single: bool) -> Outcome {
    let most = config::most_bytes(call);
    if let (Slot::Missing, Some(shape)) = (call.write::<RedisBloomChain>(1), shape) {
        let filter = made(shape, call)?;
        call.create(1, filter)?;
    }
    let items: Vec<&[u8]> = call.args_from(first).collect();
    let filter = call.write::<RedisBloomChain>(1).or(NOT_FOUND)?;
    let mut replies = Vec::with_capacity(items.len());
    let mut stopped = None;
    for item in &items {
        match filter.insert_within(item, most) {
            Ok(fresh) => replies.push(i64::from(fresh)),
            Err(error) => {
                stopped = Some(match error {
                    Error::Full { .. } => "ERR non scaling filter is full",
                    _ => TOO_LARGE,
                });
                break;
            }
        }
    }
    call.changed(1, c"bf.add");
    match (single, stopped) {
        (true, Some(error)) => Ok(Reply::Error(error.into())),
        (true, None) => Ok(Reply::Int(replies[0])),
        (false, None) => Ok(Reply::Ints(replies)),
        (false, Some(error)) => {
            let replies = replies.into_iter().map(Reply::Int);
            Ok(Reply::Array(replies.chain([Reply::Error(error.into())]).collect()))
        }
    }
}

fn add(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    add_all(call, 2, Some(&config::bloom()), true)
}

fn madd(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    add_all(call, 2, Some(&config::bloom()), false)
}

/// The position of the items, and what the options before them say. As in RedisBloom, an option is known by its first letters.
fn insert(call: &mut Call<'_>) -> Outcome {
    call.at_least(4)?;
    let mut shape = config::bloom();
    let (mut create, mut fixed, mut scale_to) = (true, false, None);
    let mut at = 2;
    let items = loop {
        if at >= call.len() {
            return Err(Failure::Arity);
        }
        let word = call.arg(at).to_ascii_lowercase();
        let takes_value = matches!(word.first(), Some(b'e' | b'c' | b't' | b's' | b'v'));
        if takes_value && at + 1 == call.len() {
            return Err(Failure::Arity);
        }
        match (word.first(), word.get(1)) {
            (Some(b'i'), _) => break at + 1,
            (Some(b'e'), Some(b'r')) => shape.rate = call.double(at + 1).ok_or("Bad error rate")?,
            (Some(b'e'), _) => {
                let expansion = call.int(at + 1).ok_or("Bad expansion")?;
                shape.expansion = Some(u32::try_from(expansion).unwrap_or(0));
            }
            (Some(b'c'), _) => {
                shape.capacity = u64::try_from(call.int(at + 1).ok_or("Bad capacity")?).unwrap_or(0);
            }
            (Some(b'n'), _) if word.get(2) == Some(&b'c') => create = false,
            (Some(b'n'), _) => fixed = true,
            (Some(b't'), _) => {
                shape.tightening = call.double(at + 1).ok_or("ERR bad tightening ratio")?;
                if !(shape.tightening > 0.0 && shape.tightening < 1.0) {
                    return Err("ERR (0 < tightening ratio range < 1)".into());
                }
            }
            (Some(b's'), _) => {
                let seed = call.arg(at + 1);
                shape.seed =
                    Some(if seed.len() == 32 { murmur64a(seed, 0) } else { return Err("ERR invalid seed".into()) });
            }
            (Some(b'v'), _) => {
                let capacity = call.int(at + 1).ok_or("ERR bad capacity")?;
                scale_to = Some(u64::try_from(capacity).map_err(|_| "ERR (capacity should be larger than 0)")?);
            }
            _ => return Err("Unknown argument received".into()),
        }
        at += if takes_value { 2 } else { 1 };
    };
    if items == call.len() {
        // Valkey makes an empty filter where extensions are used without items; RedisBloom wants items.
        return Err(Failure::Arity);
    }
    if !(shape.rate > 0.0 && shape.rate < 1.0) || shape.capacity < 1 || shape.expansion == Some(0) {
        return Err("Bad argument received".into());
    }
    if fixed {
        shape.expansion = None;
    }
    if let Some(wanted) = scale_to {
        check_scale(call, &shape, wanted)?;
    }
    add_all(call, items, create.then_some(&shape), false)
}

/// Whether a filter of this shape can grow to a capacity.
fn check_scale(call: &Call<'_>, shape: &BloomShape, wanted: u64) -> Result<(), Failure> {
    if shape.expansion.is_none() {
        return Err("ERR cannot use NONSCALING and VALIDATESCALETO options together".into());
    }
    let filter = made(shape, call)?;
    match filter.grown(wanted, config::most_bytes(call)) {
        Ok(_) => Ok(()),
        Err(Error::TooLarge { .. }) => {
            Err("ERR provided VALIDATESCALETO causes bloom object to exceed memory limit".into())
        }
        Err(_) => Err("ERR provided VALIDATESCALETO causes false positive to degrade to 0".into()),
    }
}

/// Whether items are in; where there is no filter, none is.
fn held(call: &Call<'_>) -> Vec<i64> {
    match call.read::<RedisBloomChain>(1) {
        Slot::Found(filter) => call.args_from(2).map(|item| filter.contains(item).into()).collect(),
        _ => vec![0; call.len() - 2],
    }
}

fn exists(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    Ok(Reply::Int(held(call)[0]))
}

fn mexists(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    Ok(Reply::Ints(held(call)))
}

fn number(number: u64) -> Reply {
    Reply::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn card(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    match call.read::<RedisBloomChain>(1) {
        Slot::Missing => Ok(Reply::Int(0)),
        slot => Ok(number(slot.or(NOT_FOUND)?.items())),
    }
}

fn info(call: &mut Call<'_>) -> Outcome {
    if !(2..=3).contains(&call.len()) {
        return Err(Failure::Arity);
    }
    let filter = call.read::<RedisBloomChain>(1).or(NOT_FOUND)?;
    let expansion = || filter.expansion().map_or(Reply::Null, |expansion| Reply::Int(expansion.into()));
    if call.len() == 3 {
        let is = |word| call.is(2, word);
        let one = if is("capacity") {
            number(filter.capacity())
        } else if is("size") {
            number(filter.bytes())
        } else if is("filters") {
            number(filter.links().len() as u64)
        } else if is("items") {
            number(filter.items())
        } else if is("expansion") {
            expansion()
        } else if is("tightening") {
            filter.expansion().map_or(Reply::Null, |_| Reply::Double(filter.tightening()))
        } else if is("error") {
            Reply::Double(filter.rate())
        } else if is("maxscaledcapacity") {
            match filter.grown(u64::MAX, config::most_bytes(call)) {
                Ok((capacity, _)) if !filter.is_fixed() => number(capacity),
                _ => Reply::Null,
            }
        } else {
            return Err("Invalid information value".into());
        };
        return Ok(Reply::Array(vec![one]));
    }
    let pairs = [
        ("Capacity", number(filter.capacity())),
        ("Size", number(filter.bytes())),
        ("Number of filters", number(filter.links().len() as u64)),
        ("Number of items inserted", number(filter.items())),
        ("Expansion rate", expansion()),
    ];
    Ok(labelled(pairs))
}

/// Labels and values in one array, under both protocols, as RedisBloom has it.
pub fn labelled<const N: usize>(pairs: [(&'static str, Reply); N]) -> Reply {
    Reply::Array(pairs.into_iter().flat_map(|(label, value)| [Reply::Word(label.into()), value]).collect())
}

fn debug(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let filter = call.read::<RedisBloomChain>(1).or(NOT_FOUND)?;
    let mut lines = vec![Reply::Bytes(format!("size:{}", filter.items()).into_bytes())];
    for (link, array) in filter.links().zip(filter.arrays()) {
        let &Link { items, capacity, rate, bits, hashes, .. } = link;
        let text = format!(
            "bytes:{} bits:{bits} hashes:{hashes} hashwidth:64 capacity:{capacity} size:{items} ratio:{rate}",
            array.len()
        );
        lines.push(Reply::Bytes(text.into_bytes()));
    }
    Ok(Reply::Array(lines))
}

fn scandump(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let filter = call.read::<RedisBloomChain>(1).or(NOT_FOUND)?;
    let at = call.int(2).ok_or("Second argument must be numeric")?;
    let (next, bytes) = match u64::try_from(at) {
        Ok(0) => (1, filter.header()),
        Ok(at) => match filter.chunk(at - 1, CHUNK) {
            Some(chunk) => (at + chunk.len() as u64, chunk.to_vec()),
            None => (0, Vec::new()),
        },
        Err(_) => (0, Vec::new()),
    };
    Ok(Reply::Array(vec![number(next), Reply::Bytes(bytes)]))
}

fn loadchunk(call: &mut Call<'_>) -> Outcome {
    call.exactly(4)?;
    let at = call.int(2).ok_or("ERR Second argument must be numeric")?;
    let bytes = call.arg(3);
    let most = config::most_bytes(call);
    match call.write::<RedisBloomChain>(1) {
        Slot::Missing if at == 1 => {
            let filter = RedisBloomChain::from_header(bytes, most).map_err(|error| refused(&error))?;
            call.create(1, filter)?;
        }
        slot => {
            let filter = slot.or(NOT_FOUND)?;
            let end = u64::try_from(at).ok().filter(|end| *end > bytes.len() as u64).ok_or(BAD_DATA)?;
            filter.load_chunk(end - 1 - bytes.len() as u64, bytes).map_err(|_| BAD_DATA)?;
        }
    }
    call.changed(1, c"bf.loadchunk");
    Ok(Reply::Done)
}

fn refused(error: &Error) -> Failure {
    match error {
        Error::TooLarge { .. } => TOO_LARGE.into(),
        _ => BAD_DATA.into(),
    }
}

fn load_dump(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    refuse_existing(call.write::<RedisBloomChain>(1))?;
    let (bytes, most) = (call.arg(2), config::most_bytes(call));
    let filter = RedisBloomChain::from_dump(bytes, most).or_else(|error| match error {
        // Valkey's begin with the number of their version.
        Error::Corrupt { .. } | Error::Truncated { .. } if bytes.first() == Some(&1) => {
            RedisBloomChain::from_valkey(bytes, most)
        }
        error => Err(error),
    });
    let filter = filter.map_err(|error| refused(&error))?;
    call.create(1, filter)?;
    call.changed(1, c"bf.load");
    Ok(Reply::Done)
}

static SLOT: TypeSlot = TypeSlot::new();

impl Value for RedisBloomChain {
    const NAME: &'static std::ffi::CStr = c"MBbloom--";
    const VERSION: u32 = 4;
    const SLOT: &'static TypeSlot = &SLOT;

    fn load(load: &mut Load, version: u32) -> Result<Self, String> {
        let (items, links) = (load.unsigned()?, load.unsigned()?);
        let options = if version >= 2 { load.small()? } else { 0 };
        let growth = if version >= 4 { load.small()? } else { 2 };
        let mut parts = Vec::new();
        for _ in 0..links {
            let (capacity, rate) = (load.unsigned()?, load.double()?);
            let (hashes, bits_per_key) = (load.small()?, load.double()?);
            let (bits, log2_bits) = match version {
                0 => ((capacity as f64 * bits_per_key) as u64, 0),
                _ => (load.unsigned()?, load.unsigned()?),
            };
            let log2_bits = u8::try_from(log2_bits).map_err(|_| "a link's bits are too many")?;
            let array = load.bytes()?;
            let link = Link { items: load.unsigned()?, capacity, rate, bits_per_key, bits, log2_bits, hashes };
            parts.push((link, array));
        }
        let mut extension = None;
        if RedisBloomChain::is_extended(options) {
            let tightening = load.double()?;
            let seeds = (0..RedisBloomChain::seed_words(options)).map(|_| load.unsigned());
            extension = Some((tightening, seeds.collect::<Result<Vec<_>, _>>()?));
        }
        let extension = extension.as_ref().map(|(tightening, seeds)| (*tightening, seeds.as_slice()));
        RedisBloomChain::from_parts((items, options, growth, extension), parts).map_err(|error| error.to_string())
    }

    fn save(&self, save: &mut Save) {
        let (items, options, growth, extension) = self.fields();
        for number in [items, self.links().len() as u64, options.into(), growth.into()] {
            save.unsigned(number);
        }
        for (link, array) in self.links().zip(self.arrays()) {
            save.unsigned(link.capacity);
            save.double(link.rate);
            save.unsigned(link.hashes.into());
            save.double(link.bits_per_key);
            save.unsigned(link.bits);
            save.unsigned(link.log2_bits.into());
            save.bytes(array);
            save.unsigned(link.items);
        }
        if let Some((tightening, seeds)) = extension {
            save.double(tightening);
            seeds.iter().for_each(|seed| save.unsigned(*seed));
        }
    }

    fn rewrite(&self, rewrite: &mut Rewrite) {
        rewrite.with_chunk(c"BF.LOADCHUNK", 1, &self.header());
        let mut at = 0;
        while let Some(chunk) = self.chunk(at, CHUNK) {
            at += chunk.len() as u64;
            rewrite.with_chunk(c"BF.LOADCHUNK", at + 1, chunk);
        }
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(&self.header());
        self.arrays().for_each(|array| digest.bytes(array));
    }

    fn rehouse(&mut self, mover: &Mover<'_>) {
        self.rehouse(|array| mover.array(array));
    }

    fn memory(&self) -> u64 {
        self.bytes()
    }
}
