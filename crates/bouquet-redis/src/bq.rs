//! `BQ.*`: every kind of the registry. No kind is named here; one that the registry gains is here too.

use std::ops::Range;

use bouquet::capability::{Answer, Dataset, Estimate, Item, NoteType};
use bouquet::hash::Hashing;
use bouquet::kind::{Config, Setting};
use bouquet::{AnyFilter, Error, OpenOptions, registry};

use crate::command::{Command, GROWS, Keys, READS, READS_FAST};
use crate::config;
use crate::server::{Call, Digest, Failure, Load, Outcome, Reply, Rewrite, Save, Slot, TypeSlot, Value, entry};

mod special;

/// The time of what reads a filter whole.
const WHOLE: &str = "O(N) in the filter's size";

/// The commands.
pub const COMMANDS: &[Command] = &[
    Command::write("bq.create", GROWS, -3, entry(create))
        .usage("key kind [(setting value)...] [ABSENT count:int stranger...] [WITH item...]")
        .about("Makes a filter of a kind with settings")
        .takes(WHOLE),
    Command::write("bq.add", GROWS, -3, entry(add)).usage("key item [note]").about("Adds an item with its note"),
    Command::write("bq.madd", GROWS, -3, entry(madd))
        .usage("key item...")
        .about("Adds items, each followed by its note if the kind has notes"),
    Command::read("bq.exists", READS_FAST, 3, entry(exists))
        .usage("key item")
        .about("Tells whether an item may be in the filter"),
    Command::read("bq.mexists", READS_FAST, -3, entry(mexists))
        .usage("key item...")
        .about("Tells which items may be in the filter"),
    Command::write("bq.remove", "write", -3, entry(remove)).usage("key item [note]").about("Removes an item once"),
    Command::read("bq.count", READS_FAST, -3, entry(count))
        .usage("key item...")
        .about("Tells how often items were added"),
    Command::read("bq.get", READS_FAST, -3, entry(get)).usage("key item...").about("Tells the values of items"),
    Command::write("bq.set", "write", 4, entry(set))
        .usage("key item value")
        .about("Gives an item of the filter another value"),
    Command::read("bq.classify", READS_FAST, 3, entry(classify))
        .usage("key item")
        .about("Tells which sets may hold an item"),
    Command::read("bq.judge", READS_FAST, -3, entry(judge))
        .usage("key item...")
        .about("Tells whether items are in or out"),
    Command::read("bq.probability", READS_FAST, -3, entry(probability))
        .usage("key item [prior:double]")
        .about("Tells how likely an item is in the filter, given how likely it was before"),
    Command::read("bq.list", READS, 2, entry(list)).usage("key").about("Lists what can be decoded").takes(WHOLE),
    Command::read("bq.top", READS, 2, entry(top)).usage("key").about("Lists the most frequent items").takes(WHOLE),
    Command::read("bq.decode", READS, -3, entry(decode))
        .usage("key item...")
        .about("Tells the counts of all items together")
        .takes(WHOLE),
    Command::write("bq.advance", "write", 3, entry(advance))
        .usage("key ticks:int")
        .about("Lets time pass")
        .takes(WHOLE),
    Command::write("bq.grow", GROWS, 2, entry(grow)).usage("key").about("Makes room for more items").takes(WHOLE),
    Command::write("bq.merge", GROWS, -3, entry(merge))
        .usage("destination:key source:key...")
        .keys(Keys::All { write: true })
        .about("Makes a filter the union of itself and others")
        .takes(WHOLE),
    Command::write("bq.intersect", GROWS, -3, entry(intersect))
        .usage("destination:key source:key...")
        .keys(Keys::All { write: true })
        .about("Makes a filter the intersection of itself and others")
        .takes(WHOLE),
    Command::write("bq.subtract", GROWS, -3, entry(subtract))
        .usage("destination:key source:key...")
        .keys(Keys::All { write: true })
        .about("Takes the content of others out of a filter")
        .takes(WHOLE),
    Command::read("bq.difference", READS, 3, entry(difference))
        .usage("key other:key")
        .keys(Keys::Two)
        .about("Lists what two filters do not share")
        .takes(WHOLE),
    Command::read("bq.estimate", READS, -2, entry(estimate))
        .usage("key [other:key]")
        .keys(Keys::All { write: false })
        .about("Estimates the distinct items of a filter, or of two and what they share")
        .takes(WHOLE),
    Command::read("bq.info", READS, 2, entry(info)).usage("key").about("Tells of a filter").takes(WHOLE),
    Command::read("bq.dump", READS, 2, entry(dump)).usage("key").about("Gives the frame of a filter").takes(WHOLE),
    Command::write("bq.restore", GROWS, -3, entry(restore))
        .usage("key frame [REPLACE]")
        .about("Takes the frame of a filter")
        .takes(WHOLE),
    Command::read("bq.delta", READS, 3, entry(delta))
        .usage("old:key new:key")
        .keys(Keys::Two)
        .about("Gives the patch from one filter to another")
        .takes(WHOLE),
    Command::write("bq.patch", GROWS, 3, entry(patch))
        .usage("key patch")
        .about("Applies a patch to a filter")
        .takes(WHOLE),
    Command::read("bq.kinds", "fast", 1, entry(kinds)).keys(Keys::None).about("Lists the kinds").takes("O(1)"),
    Command::read("bq.explain", "fast", 2, entry(explain))
        .usage("kind")
        .keys(Keys::None)
        .about("Explains a kind")
        .takes("O(1)"),
    Command::read("bq.ask", READS, -3, entry(special::ask))
        .usage("key question [argument...]")
        .about("Asks what only the filter's kind can tell")
        .takes(WHOLE),
    #[cfg(debug_assertions)]
    Command::read("bq.panic", "fast", 1, entry(panic)).keys(Keys::None).about("Fails inside, for tests").takes("O(1)"),
    Command::write("bq.act", GROWS, -3, entry(special::act))
        .usage("key action [argument...]")
        .about("Does what only the filter's kind can do")
        .takes(WHOLE),
];

const NOT_FOUND: &str = "ERR no such key";

/// Insertions after which the size of a filter that grows is measured again, at least.
const MEASURED_EVERY: u64 = 1_000;

/// A filter of any kind as the value of a key.
#[derive(Clone)]
pub struct Held {
    filter: AnyFilter,
    /// Its bytes when last measured: measuring reads some kinds whole.
    bytes: u64,
    /// Insertions since then.
    since: u64,
    /// What its items carry.
    note: NoteType,
}

impl Held {
    fn new(filter: AnyFilter) -> Self {
        let (bytes, note) = (bytes(&filter), filter.note());
        Held { filter, bytes, since: 0, note }
    }

    /// Looks again at what may have changed by more than insertions.
    fn refresh(&mut self) {
        (self.bytes, self.since, self.note) = (bytes(&self.filter), 0, self.filter.note());
    }

    /// Counts insertions, and refuses them if the filter has grown beyond its limit.
    fn allow(&mut self, items: u64, most: u64) -> Result<(), Failure> {
        self.since += items;
        if self.since >= MEASURED_EVERY.max(self.bytes / 8) {
            (self.bytes, self.since) = (bytes(&self.filter), 0);
        }
        allow_bytes(self.bytes, most)
    }
}

fn bytes(filter: &AnyFilter) -> u64 {
    size_of::<Held>() as u64 + filter.stats().bits / 8
}

fn allow_bytes(bytes: u64, most: u64) -> Result<(), Failure> {
    if bytes <= most {
        return Ok(());
    }
    Err(format!("ERR the filter would take {bytes} bytes; max-filter-bytes allows {most}").into())
}

fn options(most: u64) -> OpenOptions {
    OpenOptions { secret: config::keyed().cloned(), max_coded_bits: most.checked_mul(8), ..OpenOptions::default() }
}

/// The filter of the first argument, to be read.
fn read<'c>(call: &'c Call<'_>) -> Result<&'c AnyFilter, Failure> {
    read_at(call, 1)
}

fn read_at<'c>(call: &'c Call<'_>, at: usize) -> Result<&'c AnyFilter, Failure> {
    Ok(&call.read::<Held>(at).or(NOT_FOUND)?.filter)
}

/// What the items of the first argument's filter carry.
fn note(call: &Call<'_>) -> Result<NoteType, Failure> {
    Ok(call.read::<Held>(1).or(NOT_FOUND)?.note)
}

/// The filter of the first argument, to be changed.
fn change<'c>(call: &'c mut Call<'_>) -> Result<&'c mut AnyFilter, Failure> {
    Ok(&mut call.write::<Held>(1).or(NOT_FOUND)?.filter)
}

/// Items of these arguments: alone, or each followed by its note if the kind has notes.
fn items<'a>(call: &Call<'a>, arguments: Range<usize>, note: NoteType) -> Result<Vec<Item<'a>>, Failure> {
    if note == NoteType::None {
        return Ok(arguments.map(|at| call.arg(at).into()).collect());
    }
    if !arguments.len().is_multiple_of(2) {
        return Err(format!("ERR the filter's items come with their notes: item {} ...", note.name()).into());
    }
    let pair = |at| Ok(Item::new(call.arg(at), note.parse(Some(call.arg(at + 1)))?));
    arguments.step_by(2).map(pair).collect()
}

/// One item with the note that follows it, which can be left out.
fn item<'a>(call: &Call<'a>, note: NoteType) -> Result<Item<'a>, Failure> {
    match call.len() {
        3 if [NoteType::Amount, NoteType::None].contains(&note) => Ok(call.arg(2).into()),
        3 => Ok(Item::new(call.arg(2), note.parse(None)?)),
        4 if note == NoteType::None => Err("ERR items of this filter carry no note".into()),
        4 => Ok(Item::new(call.arg(2), note.parse(Some(call.arg(3)))?)),
        _ => Err(Failure::Arity),
    }
}

fn create(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let kind = registry::find(call.text(2)?)?;
    let mut config = Config::new(kind.facts());
    let mut at = 3;
    let (mut first_item, mut absent) = (None, None);
    while at < call.len() {
        if call.is(at, "ABSENT") && kind.knows_absent() && at + 1 < call.len() {
            let count: usize =
                call.text(at + 1)?.parse().map_err(|_| "ERR ABSENT is followed by how many items there are")?;
            absent = Some(at + 2..call.len().min((at + 2).saturating_add(count)));
            at = at.saturating_add(2).saturating_add(count);
            continue;
        }
        if call.is(at, "WITH") {
            first_item = Some(at + 1);
            break;
        }
        if at + 1 == call.len() {
            return Err(format!("ERR the setting {} has no value", call.text(at)?).into());
        }
        let (name, value) = (call.text(at)?.to_ascii_lowercase(), call.text(at + 1)?);
        let is_own = kind.facts().parameters.iter().any(|parameter| parameter.name == name);
        config = match name.as_str() {
            "seed" if !is_own => {
                let seed = value.parse().map_err(|_| "ERR the seed must be a whole number")?;
                config.hashed(Hashing::seeded(seed))
            }
            "keyed" if !is_own && value == "yes" => {
                let secret = config::keyed().ok_or("ERR the module was loaded without a secret_file")?;
                config.hashed(Hashing::keyed(secret.clone()))
            }
            name => config.set(name, value)?,
        };
        at += 2;
    }
    let most = config::most_bytes(call);
    if let Ok(plan) = kind.plan(&config) {
        allow_bytes(plan.bits / 8, most)?;
    }
    let filter = match first_item {
        Some(first) => {
            let note = kind.note(&config);
            let absent = absent.map_or(Ok(Vec::new()), |arguments| items(call, arguments, note))?;
            let items = items(call, first..call.len(), note)?;
            AnyFilter::build(&config, &Dataset { items: &items, absent: &absent })?
        }
        None => AnyFilter::new(&config)?,
    };
    place(call, filter, false, c"bq.create")
}

/// Gives the key of the first argument a filter.
fn place(call: &mut Call<'_>, filter: AnyFilter, replace: bool, event: &'static std::ffi::CStr) -> Outcome {
    match call.write::<Held>(1) {
        Slot::Found(_) if !replace => return Err("BUSYKEY Target key name already exists.".into()),
        Slot::Other => return Slot::<()>::Other.or("").map(|()| Reply::Done),
        _ => {}
    }
    let held = Held::new(filter);
    allow_bytes(held.bytes, config::most_bytes(call))?;
    call.create(1, held)?;
    call.changed(1, event);
    Ok(Reply::Done)
}

fn add(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let item = item(call, note(call)?)?;
    let most = config::most_bytes(call);
    let held = call.write::<Held>(1).or(NOT_FOUND)?;
    held.allow(1, most)?;
    let fresh = held.filter.insert()?.insert(item)?;
    call.changed(1, c"bq.add");
    Ok(Reply::Int(fresh.into()))
}

/// How many were certainly new. An error stops at the item that caused it; those before it are in.
fn madd(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let items = items(call, 2..call.len(), note(call)?)?;
    let most = config::most_bytes(call);
    let held = call.write::<Held>(1).or(NOT_FOUND)?;
    held.allow(items.len() as u64, most)?;
    let outcome = held.filter.insert()?.insert_batch(&items);
    // Where some items are in before the error, it is the same on replicas.
    call.changed(1, c"bq.add");
    Ok(outcome.map_or_else(|error| Reply::Error(format!("ERR {error}").into()), |fresh| Reply::Int(fresh as i64)))
}

fn exists(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    match call.read::<Held>(1) {
        Slot::Missing => Ok(Reply::Int(0)),
        slot => Ok(Reply::Int(slot.or(NOT_FOUND)?.filter.contains()?.contains(call.arg(2)).into())),
    }
}

fn mexists(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let keys: Vec<&[u8]> = call.args_from(2).collect();
    let mut answers = vec![false; keys.len()];
    match call.read::<Held>(1) {
        Slot::Missing => {}
        slot => slot.or(NOT_FOUND)?.filter.contains()?.contains_batch(&keys, &mut answers),
    }
    Ok(Reply::Ints(answers.into_iter().map(i64::from).collect()))
}

fn remove(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let item = item(call, note(call)?)?;
    match change(call)?.remove()?.remove(item) {
        Ok(()) => {
            call.changed(1, c"bq.remove");
            Ok(Reply::Int(1))
        }
        Err(Error::NotPresent) => Ok(Reply::Int(0)),
        Err(error) => Err(error.into()),
    }
}

/// One reply for one item, an array for several.
fn each(call: &Call<'_>, reply: impl Fn(&[u8]) -> Reply) -> Outcome {
    call.at_least(3)?;
    if call.len() == 3 {
        return Ok(reply(call.arg(2)));
    }
    Ok(Reply::Array(call.args_from(2).map(reply).collect()))
}

/// A count that does not fit is told as the largest that does.
fn whole(number: u64) -> Reply {
    Reply::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn count(call: &mut Call<'_>) -> Outcome {
    let counts = read(call)?.count()?;
    each(call, |item| whole(counts.count(item).count))
}

fn value(value: bouquet::capability::Value) -> Reply {
    match value {
        bouquet::capability::Value::Integer(number) => whole(number),
        bouquet::capability::Value::Bytes(bytes) => Reply::Bytes(bytes),
    }
}

/// A value, nothing for an item that is certainly absent, or the word `unknown`.
fn get(call: &mut Call<'_>) -> Outcome {
    let values = read(call)?.get()?;
    each(call, |item| match values.get(item) {
        Answer::Value(found) => value(found),
        Answer::Absent => Reply::Null,
        Answer::Unknown => Reply::Word("unknown".into()),
    })
}

fn set(call: &mut Call<'_>) -> Outcome {
    call.exactly(4)?;
    let item = item(call, note(call)?)?;
    change(call)?.set()?.set(item)?;
    call.changed(1, c"bq.set");
    Ok(Reply::Done)
}

fn classify(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let sets = read(call)?.classify()?.classify(call.arg(2));
    Ok(Reply::Ints(sets.into_iter().map(|set| set as i64).collect()))
}

/// The words `in`, `out`, `undetermined` and `unknown`.
fn judge(call: &mut Call<'_>) -> Outcome {
    let judge = read(call)?.judge()?;
    each(call, |item| Reply::Word(judge.judge(item).name().into()))
}

/// The probability of an item, given the one before the filter was asked, or by the filter's own model.
fn probability(call: &mut Call<'_>) -> Outcome {
    let prior = match call.len() {
        3 => None,
        5.. => return Err(Failure::Arity),
        _ => Some(call.text(3)?.parse().map_err(|_| "ERR the prior must be a number from 0 to 1")?),
    };
    Ok(Reply::Double(read(call)?.weigh()?.probability(call.arg(2), prior)?))
}

/// The filter of the first argument, if working through it keeps nobody waiting for too long.
fn read_whole<'c>(call: &'c Call<'_>) -> Result<&'c AnyFilter, Failure> {
    let held = call.read::<Held>(1).or(NOT_FOUND)?;
    config::allow_work(call, held.bytes)?;
    Ok(&held.filter)
}

fn list(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    Ok(listed(read_whole(call)?.list()?.list()))
}

fn difference(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    Ok(listed(read_whole(call)?.difference(read_at(call, 2)?)?))
}

fn listed(listing: bouquet::capability::Listing) -> Reply {
    let row = |entry: bouquet::capability::Entry| {
        Reply::Array(vec![Reply::Bytes(entry.key), entry.value.map_or(Reply::Null, value), Reply::Int(entry.count)])
    };
    let entries = listing.entries.into_iter().map(row).collect();
    Reply::Map(vec![("entries".into(), Reply::Array(entries)), ("undecoded".into(), whole(listing.undecoded))])
}

fn top(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let frequent = read_whole(call)?.top()?.top();
    let row = |one: bouquet::capability::Frequent| Reply::Array(vec![Reply::Bytes(one.key), whole(one.count.count)]);
    Ok(Reply::Array(frequent.into_iter().map(row).collect()))
}

fn decode(call: &mut Call<'_>) -> Outcome {
    call.at_least(3)?;
    let keys: Vec<&[u8]> = call.args_from(2).collect();
    let decoding = read_whole(call)?.decode()?.decode(&keys)?;
    let row = |range: std::ops::RangeInclusive<u64>| Reply::Ints(vec![*range.start() as i64, *range.end() as i64]);
    let counts = Reply::Array(decoding.counts.into_iter().map(row).collect());
    Ok(Reply::Map(vec![("counts".into(), counts), ("consistent".into(), Reply::Bool(decoding.consistent))]))
}

fn advance(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let ticks = call.int(2).and_then(|ticks| u64::try_from(ticks).ok()).ok_or("ERR ticks must be a whole number")?;
    change(call)?.advance()?.advance(ticks);
    call.changed(1, c"bq.advance");
    Ok(Reply::Done)
}

fn grow(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let most = config::most_bytes(call);
    let held = call.write::<Held>(1).or(NOT_FOUND)?;
    // One step may pass the limit; the next is refused.
    allow_bytes(held.bytes, most)?;
    held.filter.grow()?.grow()?;
    held.refresh();
    call.changed(1, c"bq.grow");
    Ok(Reply::Done)
}

/// Combines the filter of the first argument with the others. It is done on a copy: an error in the middle changes nothing, and a
/// filter may be combined with itself.
fn combine(
    call: &mut Call<'_>,
    event: &'static std::ffi::CStr,
    step: impl Fn(&mut AnyFilter, &AnyFilter) -> bouquet::Result<()>,
) -> Outcome {
    call.at_least(3)?;
    let mut sources = Vec::new();
    let mut work = 0u64;
    for at in 2..call.len() {
        let held = call.read::<Held>(at).or(NOT_FOUND)?;
        work = work.saturating_add(held.bytes);
        sources.push(&held.filter);
    }
    let into = match call.read::<Held>(1) {
        Slot::Missing => None,
        slot => Some(slot.or(NOT_FOUND)?),
    };
    config::allow_work(call, work.saturating_add(into.map_or(0, |held| held.bytes)))?;
    // A key that does not exist yet begins as the first of the others.
    let (mut result, rest) = match into {
        Some(held) => (held.filter.clone(), &sources[..]),
        None => (sources[0].clone(), &sources[1..]),
    };
    for source in rest {
        step(&mut result, source)?;
    }
    place(call, result, true, event)
}

fn merge(call: &mut Call<'_>) -> Outcome {
    combine(call, c"bq.merge", AnyFilter::merge)
}

fn intersect(call: &mut Call<'_>) -> Outcome {
    combine(call, c"bq.intersect", AnyFilter::intersect)
}

fn subtract(call: &mut Call<'_>) -> Outcome {
    if matches!(call.read::<Held>(1), Slot::Missing) {
        return Err(NOT_FOUND.into());
    }
    combine(call, c"bq.subtract", AnyFilter::subtract)
}

fn estimated(estimate: Estimate) -> Reply {
    Reply::Map(vec![
        ("keys".into(), Reply::Double(estimate.keys)),
        ("standard_error".into(), Reply::Double(estimate.standard_error)),
        ("saturated".into(), Reply::Bool(estimate.saturated)),
    ])
}

fn estimate(call: &mut Call<'_>) -> Outcome {
    let one = read_whole(call)?;
    match call.len() {
        2 => Ok(estimated(one.cardinality()?)),
        3 => {
            let overlap = one.overlap(read_at(call, 2)?)?;
            Ok(Reply::Map(vec![
                ("union".into(), estimated(overlap.union)),
                ("intersection".into(), estimated(overlap.intersection)),
                ("jaccard".into(), Reply::Double(overlap.jaccard)),
            ]))
        }
        _ => Err(Failure::Arity),
    }
}

fn setting(setting: Setting) -> Reply {
    match setting {
        Setting::Count(number) => whole(number),
        Setting::Real(number) => Reply::Double(number),
        Setting::Choice(word) => Reply::Word(word.into()),
        Setting::Flag(truth) => Reply::Bool(truth),
    }
}

fn info(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let filter = read_whole(call)?;
    let (stats, config, facts) = (filter.stats(), filter.config(), filter.kind().facts());
    let optional = |number: Option<f64>| number.map_or(Reply::Null, Reply::Double);
    let settings = config.settings().map(|(parameter, value)| (parameter.name.into(), setting(value))).collect();
    let figures = filter.figures().into_iter().map(|figure| (figure.name.into(), setting(figure.value))).collect();
    Ok(Reply::Map(vec![
        ("kind".into(), Reply::Bytes(facts.id.into())),
        ("items".into(), whole(stats.items)),
        ("bits".into(), whole(stats.bits)),
        ("hashes".into(), Reply::Int(stats.hashes.into())),
        ("fill".into(), optional(stats.fill)),
        ("fpr".into(), optional(stats.fpr.or_else(|| filter.expected(stats.items).false_positive))),
        ("note".into(), Reply::Bytes(filter.note().name().into())),
        ("hash".into(), Reply::Bytes(filter.hashing().id().name().into())),
        ("seed".into(), Reply::Bytes(format!("{:#018x}", filter.hashing().seed()).into_bytes())),
        ("settings".into(), Reply::Map(settings)),
        ("figures".into(), Reply::Map(figures)),
    ]))
}

fn dump(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    Ok(Reply::Bytes(read_whole(call)?.to_bytes()))
}

/// `BQ.RESTORE key frame [REPLACE]`.
fn restore(call: &mut Call<'_>) -> Outcome {
    let replace = match call.len() {
        3 => false,
        4 if call.is(3, "REPLACE") => true,
        _ => return Err(Failure::Arity),
    };
    let most = config::most_bytes(call);
    let filter = AnyFilter::from_bytes_with(call.arg(2), &options(most))?;
    place(call, filter, replace, c"bq.restore")
}

fn delta(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let (old, new) = (read_whole(call)?, read_at(call, 2)?);
    Ok(Reply::Bytes(old.delta(new)?))
}

fn patch(call: &mut Call<'_>) -> Outcome {
    call.exactly(3)?;
    let most = config::most_bytes(call);
    let filter = read_whole(call)?.patched_with(call.arg(2), &options(most))?;
    place(call, filter, true, c"bq.patch")
}

fn kinds(call: &mut Call<'_>) -> Outcome {
    call.exactly(1)?;
    let row = |kind: &bouquet::kind::Kind| {
        let verbs = kind.verbs().map(|verb| Reply::Bytes(kind.verb_text(verb).into_bytes())).collect();
        let names = kind.facts().parameters.iter().map(|parameter| Reply::Bytes(parameter.name.into())).collect();
        let specials = kind.specials().map(|special| Reply::Bytes(special.name.into())).collect();
        Reply::Map(vec![
            ("kind".into(), Reply::Bytes(kind.facts().id.into())),
            ("name".into(), Reply::Bytes(kind.facts().name().into())),
            ("family".into(), Reply::Bytes(kind.facts().family.into())),
            ("note".into(), Reply::Bytes(kind.facts().note.name().into())),
            ("verbs".into(), Reply::Array(verbs)),
            ("settings".into(), Reply::Array(names)),
            ("specials".into(), Reply::Array(specials)),
        ])
    };
    Ok(Reply::Array(registry::kinds().map(row).collect()))
}

fn explain(call: &mut Call<'_>) -> Outcome {
    call.exactly(2)?;
    let kind = registry::find(call.text(1)?)?;
    let mut text = kind.facts().text.markdown().trim_end().to_owned();
    text.push_str("\n\n## Settings\n");
    for parameter in kind.facts().parameters {
        text.push_str(&format!("\n- {}: {}; {}", parameter.name, parameter.help, parameter.range()));
    }
    let specials: Vec<_> = kind.specials().collect();
    if !specials.is_empty() {
        text.push_str("\n\n## Questions and actions\n");
    }
    for special in specials {
        let command = if special.acts { "BQ.ACT" } else { "BQ.ASK" };
        text.push_str(&format!("\n- {command} key {} {}: {}", special.name, special.takes.name(), special.help));
    }
    text.push('\n');
    Ok(Reply::Text(text))
}

/// What no command should do.
#[cfg(debug_assertions)]
fn panic(_: &mut Call<'_>) -> Outcome {
    panic!("asked to fail")
}

static SLOT: TypeSlot = TypeSlot::new();

impl Value for Held {
    const NAME: &'static std::ffi::CStr = c"bouquet--";
    const VERSION: u32 = 1;
    const SLOT: &'static TypeSlot = &SLOT;

    /// The frame. A keyed one whose secret the module does not have is kept as it is, and answers when the secret is there.
    fn load(load: &mut Load, _: u32) -> Result<Self, String> {
        let options = OpenOptions { allow_locked: true, ..options(u64::MAX) };
        let filter = AnyFilter::from_bytes_with(&load.bytes()?, &options).map_err(|error| error.to_string())?;
        Ok(Held::new(filter))
    }

    fn save(&self, save: &mut Save) {
        save.bytes(&self.filter.to_bytes());
    }

    fn rewrite(&self, rewrite: &mut Rewrite) {
        rewrite.with_bytes(c"BQ.RESTORE", &self.filter.to_bytes());
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(&self.filter.to_bytes());
    }

    fn memory(&self) -> u64 {
        self.bytes
    }
}
