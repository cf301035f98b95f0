//! The program `bouquet-explore`, which `bouquet explore` runs: filters on a page of the browser.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use bouquet_explore::engine::Local;
use bouquet_explore::server::Server;
use bouquet_tool::failure::{Failure, Found, Outcome, say};
use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  bouquet explore                 opens the page in the browser
  bouquet explore --no-open       prints its address alone, as for a browser on the other end of an ssh tunnel
  bouquet explore --port 8200     on this port

The page is served on the loopback interface alone, and to those alone who know its address: keep it to yourself.";

/// Look at Bloom filters on a page of the browser: choose one, watch its cells, inspect a file, read about it
#[derive(Parser)]
#[command(name = "bouquet explore", bin_name = "bouquet explore", version, after_help = EXAMPLES, max_term_width = 120)]
struct Explore {
    /// The port; any free one for 0
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Print the address, and open no browser
    #[arg(long)]
    no_open: bool,
}

fn main() -> ExitCode {
    bouquet_tool::program::run(Explore::run)
}

impl Explore {
    fn run(self) -> Outcome {
        let server = Server::new(self.port, Arc::new(Local))
            .map_err(|error| Failure::of_file(format!("port {} of 127.0.0.1", self.port), &error))?;
        let address = server.address();
        bouquet_tool::output::print(&format!("{address}\n"))?;
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "The page is there until this program ends: Ctrl-C.");
        if !self.no_open && !open(&address) {
            say("no browser could be opened; open the address yourself");
        }
        server.run().map_err(|error| Failure::of_file(address, &error))?;
        Ok(Found::Something)
    }
}

/// Opens an address as this system does.
fn open(address: &str) -> bool {
    let programs: &[&[&str]] = match std::env::consts::OS {
        "macos" => &[&["open"]],
        "windows" => &[&["cmd", "/C", "start", ""]],
        _ => &[&["xdg-open"], &["sensible-browser"]],
    };
    programs.iter().any(|words| {
        let mut program = Command::new(words[0]);
        program.args(&words[1..]).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        program.spawn().is_ok()
    })
}
