//! The passing of time: the one place that reads the wall clock. Filters that forget are told how many ticks have passed.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bouquet::AnyFilter;
use bouquet::codec::Pace;
use clap::Args;

use crate::failure::{Failure, about};

/// How long a tick is.
#[derive(Args, Clone, Copy, Debug)]
pub struct Every {
    /// Let a tick pass in a filter that forgets every that many seconds; its file remembers when the last one was
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
}

impl Every {
    /// Whether a length was given.
    pub fn is_given(self) -> bool {
        self.every.is_some()
    }

    /// Brings a filter that has just been opened up to date. Another length of ticks than it had begins now.
    pub fn begin(self, filter: &mut AnyFilter, path: &Path) -> Result<(), Failure> {
        let now = seconds();
        catch_up_at(filter, path, now)?;
        match self.every {
            Some(seconds) if filter.pace().is_none_or(|pace| pace.seconds != seconds) => {
                filter.set_pace(Some(Pace { second: now, seconds })).map_err(about(path))
            }
            _ => Ok(()),
        }
    }
}

/// Lets the ticks pass that are due; `path` names the filter in errors. Says how many they were.
pub fn catch_up(filter: &mut AnyFilter, path: &Path) -> Result<u64, Failure> {
    catch_up_at(filter, path, seconds())
}

fn catch_up_at(filter: &mut AnyFilter, path: &Path, now: u64) -> Result<u64, Failure> {
    // A filter without a pace is left alone, however it was opened.
    if filter.pace().is_none() { Ok(0) } else { filter.catch_up(now).map_err(about(path)) }
}

/// Seconds since 1970; 0 if the clock says that it is earlier.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
