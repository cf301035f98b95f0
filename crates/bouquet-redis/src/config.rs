//! Arguments of loading, and settings of the server's configuration.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bouquet::hash::Secret;

use crate::server::{Call, Failure, Setting};

/// The bytes of a filter: 512 MiB, which is also the longest value that the server takes in one argument.
static MAX_FILTER_BYTES: AtomicI64 = AtomicI64::new(512 << 20);
/// The bytes that one command may work through while other clients wait.
static MAX_COMMAND_BYTES: AtomicI64 = AtomicI64::new(1 << 30);
static BF_CAPACITY: AtomicI64 = AtomicI64::new(100);
static BF_EXPANSION: AtomicI64 = AtomicI64::new(2);
static CF_CAPACITY: AtomicI64 = AtomicI64::new(1_024);
static CF_MAX_EXPANSIONS: AtomicI64 = AtomicI64::new(32);
/// The bits of a double.
static BF_ERROR_RATE: AtomicU64 = AtomicU64::new(0.01f64.to_bits());
static SECRET: OnceLock<Secret> = OnceLock::new();

/// The settings that are numbers. The arguments of loading have the same names with `_` for `-`, and those of RedisBloom.
pub static SETTINGS: &[Setting] = &[
    memory(c"max-filter-bytes", &MAX_FILTER_BYTES),
    memory(c"max-command-bytes", &MAX_COMMAND_BYTES),
    number(c"bf-initial-size", &BF_CAPACITY, 1 << 40),
    number(c"bf-expansion-factor", &BF_EXPANSION, 32_768),
    number(c"cf-initial-size", &CF_CAPACITY, 1 << 40),
    number(c"cf-max-expansions", &CF_MAX_EXPANSIONS, 65_535),
];

const fn memory(name: &'static std::ffi::CStr, value: &'static AtomicI64) -> Setting {
    Setting { name, value, least: 1_024, most: i64::MAX, is_memory: true }
}

const fn number(name: &'static std::ffi::CStr, value: &'static AtomicI64, most: i64) -> Setting {
    Setting { name, value, least: 1, most, is_memory: false }
}

/// Reads the arguments of loading: names and values by turns.
pub fn read(words: &[String]) -> Result<(), String> {
    let (pairs, rest) = words.as_chunks::<2>();
    if let [name] = rest {
        return Err(format!("the argument {name} has no value"));
    }
    for [name, value] in pairs {
        read_one(&name.to_ascii_lowercase().replace('_', "-"), value)?;
    }
    Ok(())
}

fn read_one(name: &str, value: &str) -> Result<(), String> {
    let name = match name {
        "initial-size" => "bf-initial-size",
        name => name,
    };
    match name {
        "error-rate" => {
            let rate = value.parse().ok().filter(|rate| *rate > 0.0 && *rate < 1.0);
            let rate: f64 = rate.ok_or(format!("error_rate must be between 0 and 1, but is {value}"))?;
            BF_ERROR_RATE.store(rate.to_bits(), Ordering::Relaxed);
        }
        "secret-file" => {
            let _ = SECRET.set(secret(value)?);
        }
        name => {
            let setting = SETTINGS.iter().find(|setting| setting.name.to_bytes() == name.as_bytes());
            let setting = setting.ok_or_else(|| format!("there is no argument {name}"))?;
            let number = value.parse().ok().filter(|number| (setting.least..=setting.most).contains(number));
            let number = number.ok_or(format!("{name} must be from {} to {}", setting.least, setting.most))?;
            setting.value.store(number, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// The secret in a file: 16 or 32 bytes, or 32 or 64 hexadecimal digits, as `bouquet secret` writes them.
fn secret(path: &str) -> Result<Secret, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let digits = bytes.trim_ascii();
    let is_hex = matches!(digits.len(), 32 | 64) && digits.iter().all(u8::is_ascii_hexdigit);
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    let decoded: Vec<u8> = if is_hex {
        digits.as_chunks::<2>().0.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
    } else {
        bytes.clone()
    };
    Secret::new(&decoded).map_err(|error| format!("{path}: {error}"))
}

/// The secret of keyed filters.
pub fn keyed() -> Option<&'static Secret> {
    SECRET.get()
}

fn positive(value: &AtomicI64) -> u64 {
    value.load(Ordering::Relaxed).max(1).unsigned_abs()
}

/// The bytes that a filter may take. What a master or a file says has been allowed before.
pub fn most_bytes(call: &Call<'_>) -> u64 {
    if call.is_decided() { u64::MAX } else { positive(&MAX_FILTER_BYTES) }
}

/// Refuses a command that would keep other clients waiting for too long.
pub fn allow_work(call: &Call<'_>, bytes: u64) -> Result<(), Failure> {
    let most = positive(&MAX_COMMAND_BYTES);
    if bytes <= most || call.is_decided() {
        return Ok(());
    }
    Err(format!("ERR the command would work through {bytes} bytes while others wait; max-command-bytes allows {most}")
        .into())
}

/// The settings of filters that are made as they are needed.
pub fn bloom() -> bouquet::foreign::BloomShape {
    bouquet::foreign::BloomShape {
        capacity: positive(&BF_CAPACITY),
        rate: f64::from_bits(BF_ERROR_RATE.load(Ordering::Relaxed)),
        expansion: Some(positive(&BF_EXPANSION) as u32),
        ..Default::default()
    }
}

/// The same for cuckoo filters.
pub fn cuckoo() -> bouquet::foreign::CuckooShape {
    bouquet::foreign::CuckooShape { capacity: positive(&CF_CAPACITY), ..Default::default() }
}

/// The tables from which on a cuckoo filter takes nothing more.
pub fn most_expansions() -> u64 {
    positive(&CF_MAX_EXPANSIONS)
}
