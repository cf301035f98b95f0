//! `CMS.*`: RedisBloom's count-min sketches.

use bouquet::foreign::RedisCountMinSketch;

use crate::bf::labelled;
use crate::command::{Command, GROWS, Keys, READS, READS_FAST};
use crate::config;
use crate::server::{Call, Digest, Failure, Load, Mover, Outcome, Reply, Rewrite, Save, Slot, TypeSlot, Value, entry};

/// The commands.
pub const COMMANDS: &[Command] = &[
    Command::write("cms.initbydim", GROWS, 4, entry(by_size))
        .usage("key width:int depth:int")
        .about("Makes an empty sketch of a size")
        .takes("O(1)"),
    Command::write("cms.initbyprob", GROWS, 4, entry(by_error))
        .usage("key error:double probability:double")
        .about("Makes an empty sketch of an accuracy")
        .takes("O(1)"),
    Command::write("cms.incrby", GROWS, -4, entry(incrby))
        .usage("key (item increment:int)...")
        .about("Adds to the counts of items"),
    Command::read("cms.query", READS, -3, entry(query)).usage("key item...").about("Tells the counts of items"),
    Command::write("cms.merge", GROWS, -4, entry(merge))
        .usage("destination:key numkeys:int source:key... [WEIGHTS weight:int...]")
        .keys(Keys::Counted)
        .about("Makes a sketch the weighted sum of others")
        .takes("O(N) in the sketches' sizes"),
    Command::read("cms.info", READS_FAST, 2, entry(info)).usage("key").about("Tells of a sketch").takes("O(1)"),
    Command::read("cms.dump", READS, 2, entry(dump))
        .usage("key")
        .about("Gives the bytes of a sketch")
        .takes("O(N) in the size"),
    Command::write("cms.load", GROWS, 3, entry(load))
        .usage("key data")
        .about("Takes the bytes of a sketch")
        .takes("O(N) in the size"),
];

const NOT_FOUND: &str = "CMS: key does not exist";

fn refuse_existing(call: &mut Call<'_>) -> Result<(), Failure> {
    match call.write::<RedisCountMinSketch>(1) {
        Slot::Missing => Ok(()),
        _ => Err("CMS: key already exists".into()),
    }
}

fn create(call: &mut Call<'_>, width: u64, depth: u64) -> Outcome {
    let filter = RedisCountMinSketch::new(width, depth, config::most_bytes(call)).map_err(|error| match error {
        bouquet::Error::TooLarge { .. } => "CMS: Insufficient memory to create the key",
        _ => "CMS: invalid init arguments",
    })?;
    call.create(1, filter)?;
    call.changed(1, c"cms.init");
    Ok(Reply::Done)
}

fn by_size(call: &mut Call<'_>) -> Outcome {
    call.exactly(4)?;
    refuse_existing(call)?;
    let positive = |at| call.int(at).and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0);
    let width = positive(2).ok_or("CMS: invalid width")?;
    let depth = positive(3).ok_or("CMS: invalid depth")?;
    create(call, width, depth)
}

fn by_error(call: &mut Call<'_>) -> Outcome {
    call.exactly(4)?;
    refuse_existing(call)?;
    let share = |at| call.double(at).filter(|number| *number > 0.0 && *number < 1.0);
    let error = share(2).ok_or("CMS: invalid overestimation value")?;
    let probability = share(3).ok_or("CMS: invalid prob value")?;
    let (width, depth) = RedisCountMinSketch::size_for(error, probability);
    create(call, width, depth)
}

fn incrby(call: &mut Call<'_>) -> Outcome {
    if call.len() < 4 || call.len() % 2 == 1 {
        return Err(Failure::Arity);
    }
    call.read::<RedisCountMinSketch>(1).or(NOT_FOUND)?;
    let mut pairs = Vec::with_capacity(call.len() / 2);
    for at in (2..call.len()).step_by(2) {
        let amount = call.int(at + 1).ok_or("CMS: Cannot parse number")?;
        pairs.push((call.arg(at), u64::try_from(amount).map_err(|_| "CMS: Number cannot be negative")?));
    }
    let sketch = call.write::<RedisCountMinSketch>(1).or(NOT_FOUND)?;
    let counts: Vec<u32> = pairs.iter().map(|(item, amount)| sketch.add(item, *amount)).collect();
    call.changed(1, c"cms.incrby");
    if counts.contains(&u32::MAX) {
        let reply = |count| match count {
            u32::MAX => Reply::Error("CMS: INCRBY overflow".into()),
            count => Reply::Int(count.into()),
        };
        return Ok(Reply::Array(counts.into_iter().map(reply).collect()));
    }
    Ok(Reply::Ints(counts.into_iter().map(i64::from).collect()))
}

fn query(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let sketch = call.read::<RedisCountMinSketch>(1).or(NOT_FOUND)?;
    Ok(Reply::Ints(call.args_from(2).map(|item| sketch.count(item).into()).collect()))
}

fn merge(call: &mut Call<'_>) -> Outcome {
    call.at_least(4)?;
    let into = call.read::<RedisCountMinSketch>(1).or(NOT_FOUND)?;
    let keys = call.int(2).ok_or("CMS: invalid numkeys")?;
    if keys <= 0 {
        return Err("CMS: Number of keys must be positive".into());
    }
    let (keys, given) = (usize::try_from(keys).unwrap_or(usize::MAX), call.len() - 3);
    let weights = call.position("WEIGHTS").filter(|at| *at >= 3);
    match weights {
        None if keys != given => return Err("CMS: wrong number of keys".into()),
        Some(at) if at - 3 != keys || Some(given) != keys.checked_mul(2).map(|keys| keys + 1) => {
            return Err("CMS: wrong number of keys/weights".into());
        }
        _ => {}
    }
    let mut sources = Vec::with_capacity(keys);
    for at in 3..3 + keys {
        let weight = match weights {
            Some(_) => call.int(at + keys + 1).ok_or("CMS: invalid weight value")?,
            None => 1,
        };
        let source = call.read::<RedisCountMinSketch>(at).or(NOT_FOUND)?;
        if (source.width(), source.depth()) != (into.width(), into.depth()) {
            return Err("CMS: width/depth is not equal".into());
        }
        sources.push((source, weight));
    }
    config::allow_work(call, into.bytes().saturating_mul(keys as u64))?;
    let merged = RedisCountMinSketch::weighted(&sources)?.ok_or("CMS: MERGE overflow")?;
    *call.write::<RedisCountMinSketch>(1).or(NOT_FOUND)? = merged;
    call.changed(1, c"cms.merge");
    Ok(Reply::Done)
}

fn info(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let sketch = call.read::<RedisCountMinSketch>(1).or(NOT_FOUND)?;
    let number = |number: u64| Reply::Int(number as i64);
    Ok(labelled([
        ("width", number(sketch.width())),
        ("depth", number(sketch.depth())),
        ("count", number(sketch.total())),
    ]))
}

fn dump(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let sketch = call.read::<RedisCountMinSketch>(1).or(NOT_FOUND)?;
    config::allow_work(call, sketch.bytes())?;
    Ok(Reply::Bytes(sketch.dump()))
}

fn load(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    refuse_existing(call)?;
    let sketch = RedisCountMinSketch::from_dump(call.arg(2), config::most_bytes(call))?;
    call.create(1, sketch)?;
    call.changed(1, c"cms.load");
    Ok(Reply::Done)
}

static SLOT: TypeSlot = TypeSlot::new();

impl Value for RedisCountMinSketch {
    const NAME: &'static std::ffi::CStr = c"CMSk-TYPE";
    const VERSION: u32 = 0;
    const SLOT: &'static TypeSlot = &SLOT;

    fn load(load: &mut Load, _: u32) -> Result<Self, String> {
        let [width, depth, total] = [load.unsigned()?, load.unsigned()?, load.unsigned()?];
        RedisCountMinSketch::from_parts(width, depth, total, &load.bytes()?).map_err(|error| error.to_string())
    }

    fn save(&self, save: &mut Save) {
        for number in [self.width(), self.depth(), self.total()] {
            save.unsigned(number);
        }
        save.bytes(&self.cell_bytes());
    }

    fn rewrite(&self, rewrite: &mut Rewrite) {
        rewrite.with_bytes(c"CMS.LOAD", &self.dump());
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(&self.dump());
    }

    fn rehouse(&mut self, mover: &Mover<'_>) {
        self.rehouse(|array| mover.array(array));
    }

    fn memory(&self) -> u64 {
        self.bytes()
    }
}
