//! Records how the program is built, for the description of the machine.

fn main() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let version = std::process::Command::new(variable("RUSTC")).arg("--version").output();
    let version = version.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.trim());
    println!("cargo::rustc-env=BENCH_TARGET={}", variable("TARGET"));
    println!("cargo::rustc-env=BENCH_FEATURES={}", variable("CARGO_CFG_TARGET_FEATURE").replace(',', " "));
    println!("cargo::rustc-env=BENCH_FLAGS={}", variable("CARGO_ENCODED_RUSTFLAGS").replace('\x1f', " "));
    println!("cargo::rustc-env=BENCH_OPT={}", variable("OPT_LEVEL"));
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "boost")]
    boost_bloom(&variable("CARGO_ENCODED_RUSTFLAGS"));
}

/// Compiles the peer in C++ for the same processors as the rest.
#[cfg(feature = "boost")]
fn boost_bloom(flags: &str) {
    let source = "src/peers/boost_bloom.cpp";
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).file(source);
    if let Some(directory) = std::env::var_os("BOOST_INCLUDE") {
        build.include(directory);
    }
    if flags.contains("target-cpu=native") {
        build.flag("-march=native");
    }
    build.compile("boost_bloom");
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-env-changed=BOOST_INCLUDE");
}
