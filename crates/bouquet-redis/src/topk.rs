//! `TOPK.*`: RedisBloom's most frequent items.

use bouquet::foreign::RedisTopKSketch;

use crate::bf::labelled;
use crate::command::{Command, GROWS, READS, READS_FAST};
use crate::config;
use crate::server::{Call, Digest, Failure, Load, Outcome, Reply, Rewrite, Save, Slot, TypeSlot, Value, entry};

/// The commands.
pub const COMMANDS: &[Command] = &[
    Command::write("topk.reserve", GROWS, -3, entry(reserve))
        .usage("key topk:int [width:int depth:int decay:double]")
        .about("Makes an empty list of the most frequent")
        .takes("O(1)"),
    Command::write("topk.add", GROWS, -3, entry(add))
        .usage("key item...")
        .about("Counts items, and tells which left the list for them"),
    Command::write("topk.incrby", GROWS, -4, entry(incrby))
        .usage("key (item increment:int)...")
        .about("Counts items many times at once"),
    Command::read("topk.query", READS_FAST, -3, entry(query))
        .usage("key item...")
        .about("Tells which items are in the list"),
    Command::read("topk.count", READS_FAST, -3, entry(count)).usage("key item...").about("Tells the counts of items"),
    Command::read("topk.list", READS, -2, entry(list))
        .usage("key [WITHCOUNT]")
        .about("Tells the most frequent items")
        .takes("O(k log k)"),
    Command::read("topk.info", READS_FAST, 2, entry(info)).usage("key").about("Tells of a list").takes("O(1)"),
    Command::read("topk.dump", READS, 2, entry(dump))
        .usage("key")
        .about("Gives the bytes of a list")
        .takes("O(N) in the size"),
    Command::write("topk.load", GROWS, 3, entry(load))
        .usage("key data")
        .about("Takes the bytes of a list")
        .takes("O(N) in the size"),
];

const NOT_FOUND: &str = "TopK: key does not exist";

/// What RedisBloom says, with the spaces that it has.
const BAD_INCREMENT: &str = "TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000";

fn refuse_existing(call: &mut Call<'_>) -> Result<(), Failure> {
    match call.write::<RedisTopKSketch>(1) {
        Slot::Missing => Ok(()),
        _ => Err("TopK: key already exists".into()),
    }
}

fn reserve(call: &mut Call<'_>) -> Outcome {
    if !matches!(call.len(), 3 | 6) {
        return Err(Failure::Arity);
    }
    refuse_existing(call)?;
    let number = |at| call.int(at).and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    let k = number(2).ok_or("TopK: invalid k")?;
    let (mut width, mut depth, mut decay) = (8, 7, 0.9);
    if call.len() == 6 {
        width = number(3).ok_or("TopK: invalid width")?;
        depth = number(4).ok_or("TopK: invalid depth")?;
        let value = call.double(5).filter(|decay| *decay > 0.0 && *decay <= 1.0);
        decay = value.ok_or("TopK: invalid decay value. must be '<= 1' & '> 0'")?;
    }
    let top = RedisTopKSketch::new(k, width, depth, decay, config::most_bytes(call))
        .map_err(|_| "ERR Insufficient memory to create topk data structure")?;
    call.create(1, top)?;
    call.changed(1, c"topk.reserve");
    Ok(Reply::Done)
}

/// A name as RedisBloom replies it; one that is no short text comes as bytes.
fn name(name: &[u8]) -> Reply {
    match std::str::from_utf8(name) {
        Ok(text) => Reply::Word(text.to_owned().into()),
        Err(_) => Reply::Bytes(name.to_vec()),
    }
}

/// Counts items; `None` as the amount is an argument that is none.
fn add_all(call: &mut Call<'_>, items: Vec<(&[u8], Option<u32>)>) -> Outcome {
    let top = call.write::<RedisTopKSketch>(1).or(NOT_FOUND)?;
    let mut replies = Vec::with_capacity(items.len());
    for (item, amount) in items {
        let Some(amount) = amount else {
            replies.push(Reply::Error(BAD_INCREMENT.into()));
            break;
        };
        replies.push(top.add(item, amount).map_or(Reply::Null, |left| name(&left)));
    }
    call.changed(1, c"topk.add");
    Ok(Reply::Array(replies))
}

fn add(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let items = call.args_from(2).map(|item| (item, Some(1))).collect();
    add_all(call, items)
}

fn incrby(call: &mut Call<'_>) -> Outcome {
    if call.len() < 4 || call.len() % 2 == 1 {
        return Err(Failure::Arity);
    }
    let amount = |at| call.int(at).and_then(|amount| u32::try_from(amount).ok()).filter(|amount| *amount <= 100_000);
    let items = (2..call.len()).step_by(2).map(|at| (call.arg(at), amount(at + 1))).collect();
    add_all(call, items)
}

fn query(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let top = call.read::<RedisTopKSketch>(1).or(NOT_FOUND)?;
    Ok(Reply::Ints(call.args_from(2).map(|item| top.contains(item).into()).collect()))
}

fn count(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let top = call.read::<RedisTopKSketch>(1).or(NOT_FOUND)?;
    Ok(Reply::Ints(call.args_from(2).map(|item| top.count(item).into()).collect()))
}

fn list(call: &mut Call<'_>) -> Outcome {
    if !(2..=3).contains(&call.len()) {
        return Err(Failure::Arity);
    }
    let counts = call.len() == 3;
    if counts && !call.is(2, "WITHCOUNT") {
        return Err("WITHCOUNT keyword expected".into());
    }
    let top = call.read::<RedisTopKSketch>(1).or(NOT_FOUND)?;
    let mut replies = Vec::new();
    for heavy in top.list() {
        replies.push(name(heavy.key.as_deref().unwrap_or_default()));
        if counts {
            replies.push(Reply::Int(heavy.count.into()));
        }
    }
    Ok(Reply::Array(replies))
}

fn info(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let top = call.read::<RedisTopKSketch>(1).or(NOT_FOUND)?;
    Ok(labelled([
        ("k", Reply::Int(top.k().into())),
        ("width", Reply::Int(top.width().into())),
        ("depth", Reply::Int(top.depth().into())),
        ("decay", Reply::Double(top.decay())),
    ]))
}

fn dump(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let top = call.read::<RedisTopKSketch>(1).or(NOT_FOUND)?;
    config::allow_work(call, top.bytes())?;
    Ok(Reply::Bytes(top.dump()))
}

fn load(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    refuse_existing(call)?;
    let top = RedisTopKSketch::from_dump(call.arg(2), config::most_bytes(call))?;
    call.create(1, top)?;
    call.changed(1, c"topk.load");
    Ok(Reply::Done)
}

static SLOT: TypeSlot = TypeSlot::new();

impl Value for RedisTopKSketch {
    const NAME: &'static std::ffi::CStr = c"TopK-TYPE";
    const VERSION: u32 = 0;
    const SLOT: &'static TypeSlot = &SLOT;

    fn load(load: &mut Load, _: u32) -> Result<Self, String> {
        let (k, width, depth, decay) = (load.small()?, load.small()?, load.small()?, load.double()?);
        let (cells, heap) = (load.bytes()?, load.bytes()?);
        if heap.len() as u64 != u64::from(k) * 24 {
            return Err("the heap has another size".into());
        }
        let mut names = Vec::new();
        for _ in 0..k {
            // A name ends with NUL; a place without one has that alone.
            let mut name = load.bytes()?;
            name.pop();
            names.push((!name.is_empty()).then(|| name.into_boxed_slice()));
        }
        RedisTopKSketch::from_parts((k, width, depth, decay), &cells, &heap, names).map_err(|error| error.to_string())
    }

    fn save(&self, save: &mut Save) {
        for number in [self.k(), self.width(), self.depth()] {
            save.unsigned(number.into());
        }
        save.double(self.decay());
        save.bytes(&self.cell_bytes());
        save.bytes(&self.heap_bytes());
        for name in self.names() {
            let mut name = name.unwrap_or_default().to_vec();
            name.push(0);
            save.bytes(&name);
        }
    }

    fn rewrite(&self, rewrite: &mut Rewrite) {
        rewrite.with_bytes(c"TOPK.LOAD", &self.dump());
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(&self.dump());
    }

    fn memory(&self) -> u64 {
        self.bytes()
    }
}
