//! What the program runs on and how it was built.

use std::fmt::Write;

/// The versions of everything that takes part.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The description for the head of a record; what the system does not tell is left out.
pub fn describe(contenders: &[String]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name}: {value}");
        }
    };
    line("date", chrono::Local::now().format("%Y-%m-%d %H:%M").to_string());
    line("cpu", processor());
    line("cores", std::thread::available_parallelism().map_or(String::new(), |cores| cores.to_string()));
    line("caches", caches());
    line("memory", field("/proc/meminfo", "MemTotal"));
    line("system", read("/proc/sys/kernel/ostype") + " " + &read("/proc/sys/kernel/osrelease"));
    line("load before the run", read("/proc/loadavg"));
    line("huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled"));
    line("rustc", env!("BENCH_RUSTC").into());
    line("target", env!("BENCH_TARGET").into());
    line("optimisation level", env!("BENCH_OPT").into());
    line("RUSTFLAGS", env!("BENCH_FLAGS").into());
    line("target features", env!("BENCH_FEATURES").into());
    line("versions", versions(contenders));
    if cfg!(feature = "boost") {
        line("Boost", boost_version());
    }
    text
}

/// The processor's name for people.
fn processor() -> String {
    field("/proc/cpuinfo", "model name")
}

/// The processor's name for a file, and what the program was built for unless that is any processor: small letters, digits and
/// hyphens.
pub fn slug() -> String {
    let built_for = env!("BENCH_FLAGS").split_once("target-cpu=").map_or("", |(_, cpu)| cpu);
    let built_for = built_for.split_whitespace().next().unwrap_or_default();
    let name = format!("{} {built_for}", processor());
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    let words = letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-");
    if words.is_empty() { std::env::consts::ARCH.into() } else { words }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().into()
}

/// The value of the first line `name : value`.
fn field(path: &str, name: &str) -> String {
    let text = read(path);
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().into()).next().unwrap_or_default()
}

/// The first core's caches.
fn caches() -> String {
    let index = |i: u32| {
        let of = |name: &str| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{i}/{name}"));
        let (level, kind, size) = (of("level"), of("type"), of("size"));
        (!size.is_empty()).then(|| format!("L{level} {} {size}", kind.to_lowercase()))
    };
    (0..8).map_while(index).collect::<Vec<_>>().join(", ")
}

/// The version of Boost, from its headers.
fn boost_version() -> String {
    let directory = option_env!("BOOST_INCLUDE").unwrap_or("/usr/include");
    let header = read(&format!("{directory}/boost/version.hpp"));
    let (_, after) = header.split_once("#define BOOST_LIB_VERSION \"").unwrap_or_default();
    after.split('"').next().unwrap_or_default().replace('_', ".")
}

/// The versions of the contenders' crates: the first words of their names.
fn versions(contenders: &[String]) -> String {
    let mut crates: Vec<&str> = contenders.iter().filter_map(|name| name.split(' ').next()).collect();
    crates.sort_unstable();
    crates.dedup();
    let version = |name: &&str| {
        let (_, after) = LOCK.split_once(&format!("name = \"{name}\"\nversion = \""))?;
        Some(format!("{name} {}", after.split('"').next()?))
    };
    crates.iter().filter_map(version).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::contenders;

    #[test]
    fn every_contender_but_the_floor_has_a_version() {
        let names: Vec<String> = contenders::<u64>().into_iter().map(|entry| entry.name).collect();
        let versions = versions(&names);
        // Boost is no crate.
        for name in names.iter().filter(|name| *name != crate::floor::NAME && !name.starts_with("boost-")) {
            let of = name.split(' ').next().unwrap();
            assert!(versions.contains(&format!("{of} ")), "{of} is not in {versions}");
        }
    }

    #[test]
    fn a_record_says_how_it_was_built() {
        let text = describe(&[]);
        assert!(text.contains("rustc: rustc 1.") && text.contains("optimisation level: "));
    }
}
