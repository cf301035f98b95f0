//! `CF.*`: RedisBloom's cuckoo filters.

use bouquet::Error;
use bouquet::foreign::{CuckooShape, RedisCuckooChain};

use crate::bf::{CHUNK, labelled, refuse_existing};
use crate::command::{CHANGES, Command, GROWS, READS, READS_FAST};
use crate::config;
use crate::server::{Call, Digest, Failure, Load, Mover, Outcome, Reply, Rewrite, Save, Slot, TypeSlot, Value, entry};

/// The commands.
pub const COMMANDS: &[Command] = &[
    Command::write("cf.reserve", GROWS, -3, entry(reserve))
        .usage(
            "key capacity:int [BUCKETSIZE bucketsize:int] [MAXITERATIONS maxiterations:int] [EXPANSION expansion:int]",
        )
        .about("Makes an empty cuckoo filter")
        .takes("O(1)"),
    Command::write("cf.add", GROWS, 3, entry(add))
        .usage("key item")
        .about("Adds an item, and makes the filter if there is none"),
    Command::write("cf.addnx", GROWS, 3, entry(addnx)).usage("key item").about("Adds an item unless it seems to be in"),
    Command::write("cf.insert", GROWS, -4, entry(insert))
        .usage("key [CAPACITY capacity:int] [NOCREATE] ITEMS item...")
        .about("Adds items to a filter that is made as said"),
    Command::write("cf.insertnx", GROWS, -4, entry(insertnx))
        .usage("key [CAPACITY capacity:int] [NOCREATE] ITEMS item...")
        .about("Adds the items that seem not to be in"),
    Command::read("cf.exists", READS_FAST, 3, entry(exists))
        .usage("key item")
        .about("Tells whether an item may be in the filter"),
    Command::read("cf.mexists", READS_FAST, -3, entry(mexists))
        .usage("key item...")
        .about("Tells which items may be in the filter"),
    Command::read("cf.count", READS_FAST, 3, entry(count))
        .usage("key item")
        .about("Tells how often an item seems to be in the filter"),
    Command::write("cf.del", CHANGES, 3, entry(del)).usage("key item").about("Removes an item once"),
    Command::write("cf.compact", "write", 2, entry(compact))
        .usage("key")
        .about("Moves items to older tables")
        .takes("O(N) in the size"),
    Command::read("cf.info", READS_FAST, 2, entry(info)).usage("key").about("Tells of a filter").takes("O(1)"),
    Command::read("cf.debug", READS_FAST, 2, entry(debug))
        .usage("key")
        .about("Tells of a filter in one line")
        .takes("O(1)"),
    Command::read("cf.scandump", READS, 3, entry(scandump))
        .usage("key iterator:int")
        .about("Gives the next chunk of a dump"),
    Command::write("cf.loadchunk", GROWS, 4, entry(loadchunk))
        .usage("key iterator:int data")
        .about("Takes a chunk of a dump"),
];

const NOT_FOUND: &str = "ERR not found";
const SMALL: &str = "Capacity must be at least (BucketSize * 2)";

/// An option of `CF.RESERVE` that is a number within a range.
fn option(call: &Call<'_>, name: &str, default: u16, range: std::ops::RangeInclusive<i64>) -> Result<u16, Failure> {
    let Some(at) = call.position(name).filter(|at| at + 1 < call.len()) else { return Ok(default) };
    let value = call.int(at + 1).ok_or_else(|| format!("Couldn't parse {name}"))?;
    let (least, most) = (range.start(), range.end());
    match u16::try_from(value) {
        Ok(number) if range.contains(&value) => Ok(number),
        _ => Err(format!("{name}: value must be an integer between {least} and {most}, inclusive.").into()),
    }
}

fn made(shape: &CuckooShape, call: &Call<'_>) -> Result<RedisCuckooChain, Failure> {
    RedisCuckooChain::new(shape, config::most_bytes(call)).map_err(|error| match error {
        Error::TooLarge { .. } => "ERR Insufficient memory to create filter".into(),
        _ => "ERR Could not create filter".into(),
    })
}

fn reserve(call: &mut Call<'_>) -> Outcome {
    if call.len() < 3 || call.len().is_multiple_of(2) {
        return Err(Failure::Arity);
    }
    let capacity = call.int(2).ok_or("Bad capacity")?;
    let usual = CuckooShape::default();
    let shape = CuckooShape {
        max_iterations: option(call, "MAXITERATIONS", usual.max_iterations, 1..=65_535)?,
        bucket_size: option(call, "BUCKETSIZE", usual.bucket_size, 1..=255)?,
        expansion: option(call, "EXPANSION", usual.expansion, 0..=32_768)?,
        capacity: u64::try_from(capacity).unwrap_or(0),
        buckets: 0,
    };
    if i64::from(shape.bucket_size) * 2 > capacity {
        return Err(SMALL.into());
    }
    refuse_existing(call.write::<RedisCuckooChain>(1))?;
    let filter = made(&shape, call)?;
    call.create(1, filter)?;
    call.changed(1, c"cf.reserve");
    Ok(Reply::Done)
}

/// Adds the arguments from `first` on to the filter, which is made if `shape` says how; if `unique` only those that seem absent.
fn add_all(call: &mut Call<'_>, first: usize, shape: Option<&CuckooShape>, unique: bool, single: bool) -> Outcome {
    let most = config::most_bytes(call);
    if let (Slot::Missing, Some(shape)) = (call.write::<RedisCuckooChain>(1), shape) {
        let filter = made(shape, call)?;
        call.create(1, filter)?;
    }
    let items: Vec<&[u8]> = call.args_from(first).collect();
    let filter = call.write::<RedisCuckooChain>(1).or(NOT_FOUND)?;
    if filter.tables().len() as u64 >= config::most_expansions() {
        return Err("Maximum expansions reached".into());
    }
    let mut replies = Vec::with_capacity(items.len());
    for item in &items {
        if unique && filter.contains(item) {
            replies.push(0);
            continue;
        }
        match filter.insert(item, most) {
            Ok(()) => replies.push(1),
            Err(Error::Full { .. }) if single => return Err("Filter is full".into()),
            Err(_) if single => return Err("Memory allocation failure".into()),
            Err(_) => replies.push(-1),
        }
    }
    call.changed(1, c"cf.add");
    Ok(if single { Reply::Int(replies[0]) } else { Reply::Ints(replies) })
}

fn add(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    add_all(call, 2, Some(&config::cuckoo()), false, true)
}

fn addnx(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    add_all(call, 2, Some(&config::cuckoo()), true, true)
}

fn insert(call: &mut Call<'_>) -> Outcome {
    insert_all(call, false)
}

fn insertnx(call: &mut Call<'_>) -> Outcome {
    insert_all(call, true)
}

/// As in RedisBloom, an option is known by its first letter.
fn insert_all(call: &mut Call<'_>, unique: bool) -> Outcome {
    call.at_least(4)?;
    let (mut shape, mut create) = (config::cuckoo(), true);
    let mut at = 2;
    let items = loop {
        if at >= call.len() {
            return Err(Failure::Arity);
        }
        match call.arg(at).first().map(u8::to_ascii_lowercase) {
            Some(b'i') => break at + 1,
            Some(b'n') => create = false,
            Some(b'c') => {
                at += 1;
                if at == call.len() {
                    return Err(Failure::Arity);
                }
                let capacity = call.int(at).ok_or("Bad capacity")?;
                if capacity < 2 * i64::from(shape.bucket_size) {
                    return Err(SMALL.into());
                }
                shape.capacity = capacity.unsigned_abs();
            }
            _ => return Err("Unknown argument received".into()),
        }
        at += 1;
    };
    if items == call.len() {
        return Err(Failure::Arity);
    }
    add_all(call, items, create.then_some(&shape), unique, false)
}

/// What a filter says of the items; where there is none, 0.
fn ask(call: &Call<'_>, question: impl Fn(&RedisCuckooChain, &[u8]) -> i64) -> Vec<i64> {
    match call.read::<RedisCuckooChain>(1) {
        Slot::Found(filter) => call.args_from(2).map(|item| question(filter, item)).collect(),
        _ => vec![0; call.len() - 2],
    }
}

fn exists(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    Ok(Reply::Int(ask(call, |filter, item| filter.contains(item).into())[0]))
}

fn mexists(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    Ok(Reply::Ints(ask(call, |filter, item| filter.contains(item).into())))
}

fn count(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    Ok(Reply::Int(ask(call, |filter, item| filter.count(item) as i64)[0]))
}

fn del(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let item = call.arg(2);
    let Slot::Found(filter) = call.write::<RedisCuckooChain>(1) else { return Err("Not found".into()) };
    let removed = filter.remove(item);
    call.changed(1, c"cf.del");
    Ok(Reply::Int(removed.into()))
}

fn compact(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let Slot::Found(filter) = call.read::<RedisCuckooChain>(1) else {
        return Err("Cuckoo filter was not found".into());
    };
    config::allow_work(call, filter.bytes())?;
    if let Slot::Found(filter) = call.write::<RedisCuckooChain>(1) {
        filter.compact(true);
    }
    call.changed(1, c"cf.compact");
    Ok(Reply::Done)
}

fn number(number: u64) -> Reply {
    Reply::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn info(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let filter = call.read::<RedisCuckooChain>(1).or(NOT_FOUND)?;
    let shape = filter.shape();
    Ok(labelled([
        ("Size", number(filter.bytes())),
        ("Number of buckets", number(shape.buckets)),
        ("Number of filters", number(filter.tables().len() as u64)),
        ("Number of items inserted", number(filter.items())),
        ("Number of items deleted", number(filter.removed())),
        ("Bucket size", Reply::Int(shape.bucket_size.into())),
        ("Expansion rate", Reply::Int(shape.expansion.into())),
        ("Max iterations", Reply::Int(shape.max_iterations.into())),
    ]))
}

fn debug(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let filter = call.read::<RedisCuckooChain>(1).or(NOT_FOUND)?;
    let CuckooShape { buckets, bucket_size, max_iterations, expansion, .. } = filter.shape();
    let (items, removed, tables) = (filter.items(), filter.removed(), filter.tables().len());
    Ok(Reply::Bytes(
        format!(
            "bktsize:{bucket_size} buckets:{buckets} items:{items} deletes:{removed} filters:{tables} \
             max_iterations:{max_iterations} expansion:{expansion}"
        )
        .into_bytes(),
    ))
}

fn scandump(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let at = call.int(2).and_then(|at| u64::try_from(at).ok()).ok_or("Invalid position")?;
    let filter = call.read::<RedisCuckooChain>(1).or(NOT_FOUND)?;
    let (next, bytes) = if filter.items() == 0 {
        (0, Reply::Null)
    } else if at == 0 {
        (1, Reply::Bytes(filter.header()))
    } else {
        match filter.chunk(at - 1, CHUNK) {
            Some(chunk) => (at + chunk.len() as u64, Reply::Bytes(chunk.to_vec())),
            None => (0, Reply::Null),
        }
    };
    Ok(Reply::Array(vec![number(next), bytes]))
}

fn loadchunk(call: &mut Call<'_>) -> Outcome {
    call.exactly(4)?;
    let at = call.int(2).filter(|at| *at != 0).ok_or("Invalid position")?;
    let bytes = call.arg(3);
    let most = config::most_bytes(call);
    let slot = call.write::<RedisCuckooChain>(1);
    if at == 1 {
        refuse_existing(slot)?;
        if bytes.len() != 38 {
            return Err("Invalid header".into());
        }
        let filter = RedisCuckooChain::from_header(bytes, most).map_err(|_| "Couldn't create filter!")?;
        call.create(1, filter)?;
    } else {
        let filter = slot.or(NOT_FOUND)?;
        let end = u64::try_from(at).ok().filter(|end| *end > bytes.len() as u64 && !bytes.is_empty());
        let end = end.ok_or("Couldn't load chunk!")?;
        filter.load_chunk(end - 1 - bytes.len() as u64, bytes).map_err(|_| "Couldn't load chunk!")?;
    }
    call.changed(1, c"cf.loadchunk");
    Ok(Reply::Done)
}

static SLOT: TypeSlot = TypeSlot::new();

impl Value for RedisCuckooChain {
    const NAME: &'static std::ffi::CStr = c"MBbloomCF";
    const VERSION: u32 = 4;
    const SLOT: &'static TypeSlot = &SLOT;

    fn load(load: &mut Load, version: u32) -> Result<Self, String> {
        let [tables, buckets, items] = [load.unsigned()?, load.unsigned()?, load.unsigned()?];
        let mut shape = CuckooShape { capacity: 0, buckets, ..CuckooShape::default() };
        let mut removed = 0;
        if version >= 4 {
            removed = load.unsigned()?;
            let mut short = || u16::try_from(load.unsigned()?).map_err(|_| "a number is too large".to_owned());
            (shape.bucket_size, shape.max_iterations, shape.expansion) = (short()?, short()?, short()?);
        }
        let mut arrays = Vec::new();
        for _ in 0..tables {
            let buckets = if version >= 4 { load.unsigned()? } else { buckets };
            let array = load.bytes()?;
            if buckets.checked_mul(shape.bucket_size.into()) != Some(array.len() as u64) {
                return Err("a table has another size".into());
            }
            arrays.push(array);
        }
        RedisCuckooChain::from_parts(&shape, items, removed, arrays).map_err(|error| error.to_string())
    }

    fn save(&self, save: &mut Save) {
        let shape = self.shape();
        for number in [self.tables().len() as u64, shape.buckets, self.items(), self.removed()] {
            save.unsigned(number);
        }
        for number in [shape.bucket_size, shape.max_iterations, shape.expansion] {
            save.unsigned(number.into());
        }
        for table in self.tables() {
            save.unsigned(table.len() as u64 / u64::from(shape.bucket_size));
            save.bytes(table);
        }
    }

    fn rewrite(&self, rewrite: &mut Rewrite) {
        rewrite.with_chunk(c"CF.LOADCHUNK", 1, &self.header());
        let mut at = 0;
        while let Some(chunk) = self.chunk(at, CHUNK) {
            at += chunk.len() as u64;
            rewrite.with_chunk(c"CF.LOADCHUNK", at + 1, chunk);
        }
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(&self.header());
        self.tables().for_each(|table| digest.bytes(table));
    }

    fn rehouse(&mut self, mover: &Mover<'_>) {
        self.rehouse(|array| mover.array(array));
    }

    fn memory(&self) -> u64 {
        self.bytes()
    }
}
