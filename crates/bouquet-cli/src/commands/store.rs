//! `bouquet store`: keys and values in a folder, durable.

use std::path::{Path, PathBuf};

use bouquet::capability::NoteType;
use bouquet::paged::{Change, Durability, Snapshot, StoreOptions, kind_number};
use bouquet::shell::Settings as _;
use bouquet::{BloomstoreFile, BloomstoreSettings, ForestFile, ForestStructuredSettings, registry};
use clap::{Args, Subcommand, ValueEnum};

use super::build::parse_seed;
use crate::failure::{Failure, Found, Outcome, about};
use crate::filters::{Settings, kind_named};
use crate::keys::Input;
use crate::output::{Output, print_json, print_rows};

/// Keep keys and values, or a filter larger than memory, in a folder
///
/// Of kind `bloomstore` it is a key-value store (put, get, delete, list, compact), of kind `forest-structured` a filter of which memory has
/// only the pages that are being changed (add, query).
///
/// Of several commands that change one store at the same time one works and the others are refused; those that read see the
/// store as it was when they began. A program that is killed, and a machine that stops, leave a store that the next command opens.
#[derive(Args)]
pub struct Store {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Create(Create),
    Put(Put),
    Get(Get),
    Delete(Delete),
    List(List),
    Compact(Compact),
    Add(Add),
    Query(Query),
    Stats(Stats),
}

impl Store {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        match self.what {
            What::Create(create) => create.run(),
            What::Put(put) => put.run(),
            What::Get(get) => get.run(),
            What::Delete(delete) => delete.run(),
            What::List(list) => list.run(),
            What::Stats(stats) => stats.run(),
            What::Compact(compact) => compact.run(),
            What::Add(add) => add.run(),
            What::Query(query) => query.run(),
        }
    }
}

/// What a crash may cost.
#[derive(Clone, Copy, ValueEnum)]
enum Level {
    /// What was not synced: no log is written, and the end of the command syncs
    Buffered,
    /// If the machine stops, the last operations; if the program is killed, nothing
    Logged,
    /// Nothing that was acknowledged
    Synced,
}

/// How a store is changed.
#[derive(Args)]
struct Writing {
    /// What a crash may cost
    #[arg(long, value_name = "LEVEL", default_value = "synced")]
    durability: Level,

    /// With --durability logged: operations after which the log is synced
    #[arg(long, value_name = "N", default_value_t = StoreOptions::default().interval, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
}

impl Writing {
    fn options(&self) -> StoreOptions {
        let durability = match self.durability {
            Level::Buffered => Durability::Buffered,
            Level::Logged => Durability::Logged,
            Level::Synced => Durability::Synced,
        };
        StoreOptions { durability, interval: self.interval }
    }

    fn open(&self, path: &Path) -> Result<BloomstoreFile, Failure> {
        check_kind(path, "bloomstore", IS_FOREST)?;
        BloomstoreFile::open(path, self.options()).map_err(about(path))
    }
}

/// The store as it is now.
fn snapshot(path: &Path) -> Result<Snapshot, Failure> {
    check_kind(path, "bloomstore", IS_FOREST)?;
    Snapshot::open(path).map_err(about(path))
}

/// The forest.
fn forest(path: &Path) -> Result<ForestFile, Failure> {
    check_kind(path, "forest-structured", IS_STORE)?;
    ForestFile::open(path).map_err(about(path))
}

/// Make an empty store in a folder, which is made if it is not there
#[derive(Args)]
struct Create {
    /// The folder
    dir: PathBuf,

    /// What it is to be: bloomstore or forest-structured
    #[arg(short, long, default_value = "bloomstore")]
    kind: String,

    #[command(flatten)]
    settings: Settings,

    /// The seed of the hash function, decimal or 0x and hexadecimal [default: 0]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    seed: Option<u64>,
}

impl Create {
    fn run(self) -> Outcome {
        let kind = kind_named(&self.kind)?;
        let config = self.settings.config(kind)?;
        let seed = self.seed.unwrap_or(0);
        match kind.facts().id {
            "bloomstore" => {
                let settings = BloomstoreSettings::from_config(&config)?;
                let created = BloomstoreFile::create_seeded(&self.dir, &settings, seed, StoreOptions::default());
                created.map_err(about(&self.dir)).map(drop)?;
            }
            "forest-structured" => {
                let settings = ForestStructuredSettings::from_config(&config)?;
                ForestFile::create_seeded(&self.dir, &settings, seed).map_err(about(&self.dir)).map(drop)?;
            }
            other => {
                return Err(Failure::new(format!(
                    "`{other}` is kept in a file, which `bouquet build` makes; a folder can be a bloomstore or forest-structured"
                )));
            }
        }
        Ok(Found::Something)
    }
}

/// Refuses a folder of another kind than the command is for.
fn check_kind(path: &Path, expected: &str, instead: &str) -> Result<(), Failure> {
    let number = kind_number(path).map_err(about(path))?;
    let found = registry::kinds().find(|kind| kind.facts().number == number).map_or("unknown", |kind| kind.facts().id);
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{}: the store is of kind `{found}`, the command is for `{expected}`; {instead}",
        path.display()
    )))
}

const IS_FOREST: &str = "use `bouquet store add` and `query`";
const IS_STORE: &str = "use `bouquet store put`, `get` and `delete`";

/// Give keys values: lines of KEY TAB VALUE, of files or of standard input
///
/// Lines that are there together are synced together. A key that has a value gets the new one.
#[derive(Args)]
struct Put {
    /// The folder of the store
    dir: PathBuf,

    #[command(flatten)]
    input: Input,

    /// A key, instead of lines
    #[arg(long, conflicts_with = "files")]
    key: Option<String>,

    /// The value of --key
    #[arg(long, requires = "key", default_value = "", allow_hyphen_values = true)]
    value: String,

    /// Print each key when it is as durable as was asked for
    #[arg(long)]
    acknowledge: bool,

    #[command(flatten)]
    writing: Writing,
}

impl Put {
    fn run(self) -> Outcome {
        let mut store = self.writing.open(&self.dir)?;
        if let Some(key) = &self.key {
            store.put(key.as_str(), self.value.as_bytes()).map_err(about(&self.dir))?;
        } else {
            let mut reader = self.input.read("putting");
            let mut out = Output::stdout();
            while let Some(batch) = reader.next_batch()? {
                let items = batch.items(NoteType::Bytes)?;
                let changes = items.iter().map(|item| Ok((item.key, Some(item.bytes()?))));
                let changes = changes.collect::<bouquet::Result<Vec<Change<'_>>>>()?;
                store.write(&changes).map_err(about(&self.dir))?;
                if self.acknowledge {
                    let end = [self.input.delimiter()];
                    items.iter().try_for_each(|item| out.write(&[item.key, &end]))?;
                    out.flush()?;
                }
            }
        }
        store.sync().map_err(about(&self.dir))?;
        Ok(Found::Something)
    }
}

/// Remove keys, of files or of standard input
///
/// Exit code 1 when none of them was there.
#[derive(Args)]
struct Delete {
    /// The folder of the store
    dir: PathBuf,

    #[command(flatten)]
    input: Input,

    /// A key, instead of lines
    #[arg(long, conflicts_with = "files")]
    key: Option<String>,

    /// Print each key when its removal is as durable as was asked for
    #[arg(long)]
    acknowledge: bool,

    #[command(flatten)]
    writing: Writing,
}

impl Delete {
    fn run(self) -> Outcome {
        let mut store = self.writing.open(&self.dir)?;
        let mut any = false;
        if let Some(key) = &self.key {
            any = store.remove(key.as_str()).map_err(about(&self.dir))?;
        } else {
            let mut reader = self.input.read("deleting");
            let mut out = Output::stdout();
            while let Some(batch) = reader.next_batch()? {
                let keys = batch.keys(NoteType::Bytes);
                let mut changes: Vec<Change<'_>> = Vec::new();
                for key in &keys {
                    if store.contains(*key).map_err(about(&self.dir))? {
                        changes.push((key, None));
                    }
                }
                any |= !changes.is_empty();
                store.write(&changes).map_err(about(&self.dir))?;
                if self.acknowledge {
                    let end = [self.input.delimiter()];
                    keys.iter().try_for_each(|key| out.write(&[key, &end]))?;
                    out.flush()?;
                }
            }
        }
        store.sync().map_err(about(&self.dir))?;
        Ok(Found::when(any))
    }
}

/// Print each key of files or of standard input, a TAB, and its value
///
/// A key that is not there is printed alone. With --key the value alone is printed. Exit code 1 when no key is there.
#[derive(Args)]
struct Get {
    /// The folder of the store
    dir: PathBuf,

    #[command(flatten)]
    input: Input,

    /// A key, instead of lines
    #[arg(long, conflicts_with = "files")]
    key: Option<String>,
}

impl Get {
    fn run(self) -> Outcome {
        let store = snapshot(&self.dir)?;
        let mut out = Output::stdout();
        let end = [self.input.delimiter()];
        let mut any = false;
        if let Some(key) = &self.key {
            if let Some(value) = store.get(key.as_str()).map_err(about(&self.dir))? {
                let value = out.shown(&value).into_owned();
                out.write(&[&value, &end])?;
                any = true;
            }
            out.flush()?;
            return Ok(Found::when(any));
        }
        let mut reader = self.input.read_to_answer()?;
        while let Some(batch) = reader.next_batch()? {
            for key in batch.keys(NoteType::Bytes) {
                match store.get(key).map_err(about(&self.dir))? {
                    Some(value) => {
                        any = true;
                        out.write(&[key, b"\t", &value, &end])?;
                    }
                    None => out.write(&[key, &end])?,
                }
            }
            out.flush()?;
        }
        Ok(Found::when(any))
    }
}

/// Print every key, a TAB, and its value, in no particular order
#[derive(Args)]
struct List {
    /// The folder of the store
    dir: PathBuf,

    /// End each line with a NUL byte instead of a newline
    #[arg(short = '0', long = "null")]
    null: bool,
}

impl List {
    fn run(self) -> Outcome {
        let store = snapshot(&self.dir)?;
        let mut out = Output::stdout();
        let (mut any, mut failed) = (false, None);
        let end: &[u8] = if self.null { b"\0" } else { b"\n" };
        let listed = store.for_each(|key, value| {
            any = true;
            if failed.is_none() {
                failed = out.write(&[key, b"\t", value, end]).err();
            }
            Ok(())
        });
        listed.map_err(about(&self.dir))?;
        failed.map_or(Ok(()), Err)?;
        out.flush()?;
        Ok(Found::when(any))
    }
}

/// Tell how large a store is: pages, log, memory
#[derive(Args)]
struct Stats {
    /// The folder of the store
    dir: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Stats {
    fn run(self) -> Outcome {
        if check_kind(&self.dir, "forest-structured", "").is_ok() {
            return self.of_forest();
        }
        let store = snapshot(&self.dir)?;
        let stats = store.stats();
        let mut keys = 0u64;
        store
            .for_each(|_, _| {
                keys += 1;
                Ok(())
            })
            .map_err(about(&self.dir))?;
        let rows = [
            ("keys", keys),
            ("operations", stats.operations),
            ("instances", stats.instances),
            ("data pages", stats.data_pages),
            ("chain pages", stats.chain_pages),
            ("pages", stats.pages),
            ("bytes of a page", stats.page_bytes),
            ("bytes of memory", stats.memory),
        ];
        self.print(&rows)
    }

    fn of_forest(&self) -> Outcome {
        let stats = forest(&self.dir)?.stats();
        self.print(&[
            ("items", stats.items),
            ("levels", stats.levels.into()),
            ("blocks", stats.blocks),
            ("pages", stats.pages),
            ("lost pages", stats.lost),
            ("bytes of a page", stats.page_bytes),
        ])
    }

    fn print(&self, rows: &[(&str, u64)]) -> Outcome {
        if self.json {
            let fields = rows.iter().map(|(name, value)| (name.replace(' ', "_"), (*value).into()));
            print_json(&serde_json::Value::Object(fields.collect()))?;
        } else {
            let rows: Vec<_> = rows.iter().map(|(name, value)| (*name, value.to_string())).collect();
            print_rows(&rows)?;
        }
        Ok(Found::Something)
    }
}

/// Write the pages of a store anew, without values that were replaced and keys that were deleted
#[derive(Args)]
struct Compact {
    /// The folder of the store
    dir: PathBuf,
}

impl Compact {
    fn run(self) -> Outcome {
        check_kind(&self.dir, "bloomstore", IS_FOREST)?;
        let mut store = BloomstoreFile::open(&self.dir, StoreOptions::default()).map_err(about(&self.dir))?;
        store.compact().map_err(about(&self.dir))?;
        Ok(Found::Something)
    }
}

/// Insert the keys of files or of standard input into a filter in a folder
///
/// The keys are safe from crashes when the command has ended, and with --acknowledge as soon as they are printed. Lines that are there
/// together are then synced together.
#[derive(Args)]
struct Add {
    /// The folder of the filter
    dir: PathBuf,

    #[command(flatten)]
    input: Input,

    /// Print each key when it is safe from crashes
    #[arg(long)]
    acknowledge: bool,
}

impl Add {
    fn run(self) -> Outcome {
        let mut forest = forest(&self.dir)?;
        let mut reader = self.input.read("adding");
        let mut out = Output::stdout();
        let end = [self.input.delimiter()];
        while let Some(batch) = reader.next_batch()? {
            let keys: Vec<&[u8]> = batch.records().collect();
            keys.iter().try_for_each(|key| forest.insert(*key)).map_err(about(&self.dir))?;
            if self.acknowledge {
                forest.flush().map_err(about(&self.dir))?;
                keys.iter().try_for_each(|key| out.write(&[key, &end]))?;
                out.flush()?;
            }
        }
        forest.flush().map_err(about(&self.dir))?;
        Ok(Found::Something)
    }
}

/// Print the keys of files or of standard input that the filter in a folder may hold
///
/// Exit code 1 when there are none.
#[derive(Args)]
struct Query {
    /// The folder of the filter
    dir: PathBuf,

    #[command(flatten)]
    input: Input,

    /// Print those that it certainly does not hold
    #[arg(short = 'v', long)]
    invert: bool,

    /// Print their number only
    #[arg(short, long)]
    count: bool,
}

impl Query {
    fn run(self) -> Outcome {
        let forest = forest(&self.dir)?;
        let mut out = Output::stdout();
        let end = [self.input.delimiter()];
        let mut printed = 0u64;
        let mut reader = self.input.read_to_answer()?;
        while let Some(batch) = reader.next_batch()? {
            for key in batch.records() {
                if forest.contains(key) != self.invert {
                    printed += 1;
                    if !self.count {
                        out.write(&[key, &end])?;
                    }
                }
            }
            out.flush()?;
        }
        if self.count {
            out.write(&[printed.to_string().as_bytes(), b"\n"])?;
            out.flush()?;
        }
        Ok(Found::when(printed > 0))
    }
}
