//! Filters as people name them: files to open, kinds and their settings.

use std::io::Read;
use std::path::{Path, PathBuf};

use bouquet::codec::MAX_CODED_BITS;
use bouquet::hash::Secret;
use bouquet::kind::{Config, Kind, Plan};
use bouquet::{AnyFilter, Error, MappedFilter, OpenOptions, registry};
use clap::Args;
use zeroize::Zeroizing;

use crate::ending::now_at;
use crate::failure::{Failure, about, about_opening, say};
use crate::keys::{is_stdin, open_stdin};
use crate::output::number;

/// How a filter is opened.
#[derive(Args, Clone, Debug)]
pub struct Opening {
    /// The secret of a keyed filter: 16 or 32 bytes, or 32 or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,

    /// Refuse a filter with more than this share of its bits set, from 0 to 1; `auto` refuses one with more set than its
    /// number of keys accounts for
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = parse_max_fill)]
    max_fill: Option<MaxFill>,

    /// Refuse a filter whose coded stores take more memory than this many bytes, at most 2^30: a few bytes can stand for
    /// any number of zeros
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=MAX_CODED_BITS / 8))]
    max_coded: Option<u64>,

    /// With --secret: open a filter without authentication code too, as versions before the code wrote them and as
    /// anybody could forge them, and a mapped one without reading it
    #[arg(long, requires = "secret")]
    allow_unauthenticated: bool,
}

/// The most that is accepted of a filter's fill.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MaxFill {
    /// A share of its bits.
    Share(f64),
    /// What its number of keys accounts for.
    Auto,
}

fn parse_max_fill(text: &str) -> Result<MaxFill, String> {
    if text == "auto" {
        return Ok(MaxFill::Auto);
    }
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.map(MaxFill::Share).ok_or_else(|| "a share is a number from 0 to 1, or `auto`".into())
}

/// Says so when more of a filter is in use than its keys account for.
pub fn warn_when_polluted(path: &Path, filter: &AnyFilter) {
    // Somebody who has the secret has written it, and could have inserted whatever it holds.
    if filter.hashing().id().is_keyed() && filter.hashing().is_usable() {
        return;
    }
    let stats = filter.stats();
    if let Some((fill, honest)) = stats.pollution() {
        let (fill, honest, items) = (number(fill), number(honest), stats.items);
        say(&format!(
            "warning: {}: its fill is {fill}, but {items} keys give at most {honest}: it may be forged and hold what nobody \
             inserted, or was merged with copies of itself; --max-fill auto refuses it",
            path.display()
        ));
    }
}

impl Opening {
    /// Opens a filter to work with it. `-` is standard input.
    pub fn open(&self, path: &Path) -> Result<AnyFilter, Failure> {
        self.decode(path, &read(path)?, false)
    }

    /// As [`open`](Self::open), with a warning when more of the filter is in use than its keys account for.
    pub fn open_warily(&self, path: &Path) -> Result<AnyFilter, Failure> {
        let filter = self.open(path)?;
        warn_when_polluted(path, &filter);
        Ok(filter)
    }

    /// Opens the frame of a filter to look at it: a keyed filter may stay locked.
    pub fn look(&self, path: &Path, frame: &[u8]) -> Result<AnyFilter, Failure> {
        self.decode(path, frame, true)
    }

    fn decode(&self, path: &Path, frame: &[u8], allow_locked: bool) -> Result<AnyFilter, Failure> {
        now_at(Some(path), ROOM_TO_OPEN);
        let filter = AnyFilter::from_bytes_with(frame, &self.options(allow_locked)?).map_err(about_opening(path))?;
        self.check(path, &filter)?;
        Ok(filter)
    }

    /// Opens a filter to look at it. `-` is standard input.
    pub fn look_at(&self, path: &Path) -> Result<AnyFilter, Failure> {
        self.look(path, &read(path)?)
    }

    /// What a patch makes of a filter.
    pub fn patched(&self, filter: &AnyFilter, patch: &Path) -> Result<AnyFilter, Failure> {
        let patched = filter.patched_with(&read(patch)?, &self.options(false)?).map_err(about(patch))?;
        self.check(patch, &patched)?;
        Ok(patched)
    }

    /// Opens a filter in its file without reading it.
    pub fn open_mapped(&self, path: &Path) -> Result<AnyFilter, Failure> {
        now_at(Some(path), "give it more memory");
        let filter = AnyFilter::open_mapped(path, &self.options(false)?).map_err(about(path))?;
        self.check(path, &filter)?;
        Ok(filter)
    }

    /// Opens a filter whose file itself is to be changed.
    pub fn open_writable(&self, path: &Path) -> Result<Result<MappedFilter, Error>, Failure> {
        let options = self.options(false)?;
        now_at(Some(path), "give it more memory");
        match AnyFilter::open_writable(path, &options) {
            Err(error @ Error::Busy { .. }) => Ok(Err(error)),
            opened => {
                let filter = opened.map_err(about(path))?;
                self.check(path, &filter)?;
                Ok(Ok(filter))
            }
        }
    }

    /// The files that it reads beside the filter.
    pub fn inputs(&self) -> Vec<&Path> {
        self.secret.iter().map(PathBuf::as_path).collect()
    }

    fn options(&self, allow_locked: bool) -> Result<OpenOptions, Failure> {
        let secret = self.secret.as_deref().map(read_secret).transpose()?;
        let max_fill = match self.max_fill {
            Some(MaxFill::Share(share)) => Some(share),
            Some(MaxFill::Auto) | None => None,
        };
        Ok(OpenOptions {
            secret,
            allow_locked,
            allow_unauthenticated: self.allow_unauthenticated,
            max_fill,
            max_coded_bits: self.max_coded.map(|bytes| bytes * 8),
            ..OpenOptions::default()
        })
    }

    /// Who gives a secret trusts the filter because it is keyed: another must not take its place unnoticed.
    fn check(&self, path: &Path, filter: &AnyFilter) -> Result<(), Failure> {
        if self.secret.is_some() && !filter.hashing().id().is_keyed() {
            let remedy = "without --secret it is opened as what it is";
            return Err(Failure::new(format!(
                "{}: the filter is not keyed, but --secret was given; {remedy}",
                path.display()
            )));
        }
        // The fill is known only after a look at the whole store.
        let polluted = if self.max_fill == Some(MaxFill::Auto) { filter.stats().pollution() } else { None };
        polluted.map_or(Ok(()), |(fill, limit)| Err(about(path)(Error::Overfull { fill, limit })))
    }
}

/// What helps whoever has too little memory to open a filter.
const ROOM_TO_OPEN: &str =
    "give it more memory, or ask with `bouquet query --mapped`, which leaves the filter in its file";

/// The bytes of a file, or of standard input for `-`.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    now_at(Some(path), ROOM_TO_OPEN);
    if is_stdin(path) {
        let mut bytes = Vec::new();
        let read = open_stdin()?.read_to_end(&mut bytes);
        return read.map(|_| bytes).map_err(|error| Failure::of_file("standard input", &error));
    }
    std::fs::read(path).map_err(|error| Failure::of_file(path.display(), &error))
}

/// The secret in a file: raw bytes or hexadecimal digits.
pub fn read_secret(path: &Path) -> Result<Secret, Failure> {
    refuse_open_secret(path)?;
    let bytes = Zeroizing::new(read(path)?);
    let digits = bytes.trim_ascii();
    let raw = match (digits.len(), decode_hex(digits)) {
        // No raw secret looks like this but by a chance of 10^-34.
        (32 | 64, Some(decoded)) => decoded,
        _ => bytes,
    };
    Secret::new(&raw).map_err(|_| {
        Failure::new(format!(
            "{}: expected a secret of 16 or 32 bytes, or of 32 or 64 hexadecimal digits, found {} bytes; \
             `bouquet secret -o FILE` makes one",
            path.display(),
            raw.len()
        ))
    })
}

/// A secret that others can read is none. As with the keys of ssh, this is asked of the user's own files only: who
/// keeps a secret under another owner has arranged who can read it.
#[cfg(unix)]
fn refuse_open_secret(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let Ok(file) = std::fs::metadata(path) else { return Ok(()) };
    let mode = file.mode() & 0o777;
    if file.is_file() && file.uid() == rustix::process::geteuid().as_raw() && mode & 0o077 != 0 {
        let path = path.display();
        return Err(Failure::new(format!(
            "{path}: others can read this secret, its permissions are {mode:04o}; `chmod 600 {path}` keeps it to its owner"
        )));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_open_secret(_: &Path) -> Result<(), Failure> {
    Ok(())
}

fn decode_hex(digits: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((value(*high)? * 16 + value(*low)?) as u8),
        _ => None,
    };
    digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// The kind of this name.
pub fn kind_named(name: &str) -> Result<&'static Kind, Failure> {
    registry::find(name).map_err(|error| match registry::find_mode(name) {
        Some(mode) => Failure::new(format!(
            "`{}` is no kind but a way of hashing that every kind has: \
             make a secret with `bouquet secret -o FILE`, then `bouquet build --secret FILE --kind KIND`",
            mode.id
        )),
        None => error.into(),
    })
}

/// Settings that a person gives for a kind.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// How many distinct keys the filter is made for, such as 5000, 5_000 or 5e3
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub items: Option<String>,

    /// The wanted false-positive rate with that many keys
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    fpr: Option<String>,

    /// Any parameter of the kind; `bouquet explain KIND` shows them
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Settings {
    /// Whether the number of keys is given.
    pub fn tell_items(&self) -> bool {
        self.items.is_some() || self.set.iter().any(|pair| pair.starts_with("items="))
    }

    /// The settings for this kind, checked against its schema.
    pub fn config(&self, kind: &'static Kind) -> Result<Config, Failure> {
        let mut config = Config::new(kind.facts());
        for pair in &self.set {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Failure::new(format!(
                    "--set must be NAME=VALUE, but is `{pair}`; `bouquet explain KIND` shows the names"
                ))
            })?;
            config = give(config, name.trim(), value.trim())?;
        }
        for (name, value) in [("items", &self.items), ("fpr", &self.fpr)] {
            if let Some(value) = value {
                config = give(config, name, value)?;
            }
        }
        Ok(config)
    }
}

fn give(config: Config, name: &str, value: &str) -> Result<Config, Failure> {
    if config.is_set(name) {
        return Err(Failure::new(format!("parameter `{name}` is given twice; give it once")));
    }
    Ok(config.set(name, value)?)
}

/// Whether the kind has a parameter of this name.
pub fn has_parameter(kind: &Kind, name: &str) -> bool {
    kind.facts().parameters.iter().any(|parameter| parameter.name == name)
}

/// Refuses a plan that the memory of this machine cannot hold. Some systems hand out memory that they do not have and
/// end the program later, when it is used.
pub fn refuse_beyond_memory(plan: &Plan) -> Result<(), Error> {
    let bytes = plan.bits.div_ceil(8);
    match memory() {
        Some(memory) if bytes > memory => Err(Error::TooLarge { what: "the filter".into(), bytes: bytes.into() }),
        _ => Ok(()),
    }
}

/// Bytes of memory and swap that this process can have, where the system tells.
fn memory() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |name: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let machine = (kibibytes("MemTotal:")? + kibibytes("SwapTotal:").unwrap_or(0)) * 1024;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|limit| limit.trim().parse().ok());
    Some(group.map_or(machine, |limit| machine.min(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_come_in_pairs() {
        assert_eq!(decode_hex(b"00fF10").unwrap().as_slice(), [0, 255, 16]);
        assert!(decode_hex(b"abc").is_none());
        assert!(decode_hex(b"zz").is_none());
    }
}
