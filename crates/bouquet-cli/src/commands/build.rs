//! `bouquet build`: a filter from keys.

use std::collections::HashSet;
use std::path::PathBuf;

use bouquet::capability::{Dataset, NoteType};
use bouquet::hash::Hashing;
use bouquet::kind::{Config, Kind, Verb};
use bouquet::theory::collisions::floor;
use bouquet::{AnyFilter, registry};
use clap::Args;

use super::add::{insert, warn_when_overfull};
use crate::ending::now_at;
use crate::failure::{Failure, Found, Outcome, say};
use crate::filters::{Settings, has_parameter, kind_named, read_secret, refuse_beyond_memory, warn_when_polluted};
use crate::keys::{Held, Input};
use crate::output::{Coding, Destination, Waiting, number};

/// Make a filter from the keys in files or on standard input
///
/// Without --items the lines of the files are counted first; duplicates count, so that this is an upper bound of the
/// distinct keys. Keys from standard input cannot be counted first: without --items and --kind they get a kind that
/// grows, sized for up to a million keys that are read ahead; with a --kind that must know their number they are held in
/// memory. Kinds that are built once (those that `bouquet kinds --can build_from` lists, with settings that cannot insert)
/// hold their keys in memory in any case.
///
/// OUT is written beside, synced and renamed: an interrupted run leaves the old file whole.
#[derive(Args)]
pub struct Build {
    #[command(flatten)]
    input: Input,

    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// The kind of filter, one of `bouquet kinds`
    #[arg(short, long)]
    kind: Option<String>,

    #[command(flatten)]
    settings: Settings,

    /// The seed of the hash function, decimal or 0x and hexadecimal [default: 0]
    #[arg(long, value_name = "S", value_parser = parse_seed, allow_negative_numbers = true, conflicts_with = "secret")]
    seed: Option<u64>,

    /// Hash to 128 bits instead of 64: for more than about 2^32 keys or rates below 10^-9
    #[arg(long, conflicts_with = "secret")]
    wide: bool,

    /// Hash with the secret in this file (see `bouquet secret`): for keys or queries that an adversary may choose
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// With --secret: a stronger and slower hash function
    #[arg(long, requires = "secret")]
    strong: bool,

    /// Keys that are known not to be members and will be asked for: for kinds that make few false positives of them, as `optihash`
    #[arg(long, value_name = "FILE")]
    absent: Vec<PathBuf>,

    #[command(flatten)]
    waiting: Waiting,
}

pub fn parse_seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(&digits.replace('_', ""), 16),
        None => text.replace('_', "").parse(),
    };
    parsed.map_err(|_| "a seed is a whole number from 0 to 18446744073709551615".into())
}

impl Build {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let beside = self.absent.iter().chain(&self.secret).map(PathBuf::as_path);
        let inputs: Vec<_> = self.input.sources().into_iter().chain(beside).collect();
        let destination = Destination::new(&self.output, &[], &inputs, self.waiting)?;
        let rereadable = self.input.is_rereadable();
        let kind = match &self.kind {
            Some(name) => kind_named(name)?,
            None => registry::default_kind(self.settings.tell_items() || rereadable),
        };
        let grows_by_default = self.kind.is_none() && !self.settings.tell_items() && !rereadable;
        let why = format!(
            "`{}` was chosen because it grows: how many keys come from standard input or a pipe is not known beforehand; \
             --items N or --kind KIND chooses another",
            kind.facts().id
        );
        let config = self.settings.config(kind).map_err(|failure| match failure {
            Failure::Message(message) if grows_by_default => Failure::Message(format!("{message}; {why}")),
            failure => failure,
        })?;
        let mut config = config.hashed(self.hashing()?);
        let built_once = kind.is_built_once(&config);
        if !self.absent.is_empty() && !kind.knows_absent() {
            return Err(no_use_for_absent(kind));
        }
        now_at(None, "ask for fewer items or a higher rate, or give it more memory");

        let counts = has_parameter(kind, "items") && !config.is_set("items");
        let mut held = None;
        if built_once || (counts && !rereadable && kind.plan(&config).is_err()) {
            held = Some(self.input.read_all("reading")?);
        }
        if counts && (held.is_some() || rereadable) {
            let count = match &held {
                // Such a filter is made for its keys, however often each comes.
                Some(held) if built_once => distinct(held, kind.note(&config)),
                Some(held) => held.len(),
                None => self.input.count()?,
            };
            // A filter of no keys is a filter too.
            config = config.set("items", &count.max(1).to_string())?;
        }
        if let Ok(plan) = kind.plan(&config) {
            refuse_beyond_memory(&plan)?;
        }

        let filter = match held {
            Some(held) if built_once => self.build_once(kind, &config, &held)?,
            Some(held) => fill(&config, &held)?,
            None => self.stream(kind, &config)?,
        };
        if grows_by_default {
            say(&why);
        }
        if let Some(advice) = kind.advice(&config) {
            say(&advice);
        }
        warn_when_overfull(&self.output, &filter);
        warn_when_polluted(&self.output, &filter);
        self.warn_when_digests_collide(&config, &filter);
        destination.save(&filter, Coding::Usual)?;
        Ok(Found::Something)
    }

    /// Says so when no filter on these digests has the rate that was asked for.
    fn warn_when_digests_collide(&self, asked: &Config, filter: &AnyFilter) {
        let config = filter.config();
        let (items, bits) = (config.count("items").unwrap_or_else(|| filter.stats().items), config.digest_bits());
        let floor = floor(items, bits);
        if asked.is_set("fpr") && asked.real("fpr").is_some_and(|rate| rate < floor) {
            let remedy = match bits {
                128.. => "ask for a higher rate",
                _ if self.wide => "--set reduction=fastrange uses all 128 bits of a wide one",
                _ => "--wide hashes to 128 bits",
            };
            let (path, floor) = (self.output.display(), number(floor));
            say(&format!(
                "warning: {path}: {items} keys have a rate of at least {floor}, at which digests of {bits} bits collide; {remedy}"
            ));
        }
    }

    fn hashing(&self) -> Result<Hashing, Failure> {
        let Some(path) = &self.secret else {
            let seed = self.seed.unwrap_or(0);
            return Ok(if self.wide { Hashing::seeded_wide(seed) } else { Hashing::seeded(seed) });
        };
        let secret = read_secret(path)?;
        Ok(if self.strong { Hashing::keyed_high(secret) } else { Hashing::keyed(secret) })
    }

    fn stream(&self, kind: &Kind, config: &Config) -> Result<AnyFilter, Failure> {
        let mut reader = self.input.read("building");
        let (mut config, mut begun) = (config.clone(), Held::default());
        if kind.can(Verb::Grow) && !config.is_set("items") && config.count("items").is_some() {
            begun = reader.begin()?;
            config = sized_by(config, &begun)?;
        }
        let mut filter = AnyFilter::new(&config)?;
        filter.insert()?;
        for batch in begun.batches() {
            insert(&mut filter, batch, None)?;
        }
        while let Some(batch) = reader.next_batch()? {
            insert(&mut filter, batch, None)?;
        }
        Ok(filter)
    }

    fn build_once(&self, kind: &Kind, config: &Config, held: &Held) -> Result<AnyFilter, Failure> {
        let note = kind.note(config);
        let mut items = Vec::new();
        for batch in held.batches() {
            items.extend(batch.items(note)?);
        }
        let absent = match self.absent.as_slice() {
            [] => Held::default(),
            files => self.input.of(files).read_all("reading")?,
        };
        let mut strangers = Vec::new();
        for batch in absent.batches() {
            strangers.extend(batch.items(note)?);
        }
        Ok(AnyFilter::build(config, &Dataset { items: &items, absent: &strangers })?)
    }
}

/// The number of different keys.
fn distinct(held: &Held, note: NoteType) -> u64 {
    held.batches().flat_map(|batch| batch.keys(note)).collect::<HashSet<_>>().len() as u64
}

/// A filter that grows begins with the size of what is known: as large as all keys, or twice as large as those that came
/// first, since at least one more comes. It then has few components instead of many small ones.
///
/// A component is closed at half fill, which n keys may reach early: not 2 sqrt(n) keys early, which are six standard
/// deviations with four positions per key, and more with more.
fn sized_by(config: Config, begun: &Held) -> Result<Config, Failure> {
    let keys = begun.len();
    let items = if begun.is_all() { keys + (2.0 * (keys as f64).sqrt()).ceil() as u64 } else { keys.saturating_mul(2) };
    let usual = config.count("items").unwrap_or(1);
    Ok(config.set("items", &items.max(usual).to_string())?)
}

fn fill(config: &Config, held: &Held) -> Result<AnyFilter, Failure> {
    let mut filter = AnyFilter::new(config)?;
    for batch in held.batches() {
        insert(&mut filter, batch, None)?;
    }
    Ok(filter)
}

fn no_use_for_absent(kind: &Kind) -> Failure {
    let able: Vec<_> = registry::kinds().filter(|kind| kind.knows_absent()).map(|kind| kind.facts().id).collect();
    let (id, able) = (kind.facts().id, able.join(", "));
    Failure::new(format!("kind `{id}` has no use for --absent; kinds that have: {able}"))
}
