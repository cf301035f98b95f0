//! A line for long work, for people only: none when standard error is not a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// The line is written anew no more often than this.
const PAUSE: Duration = Duration::from_millis(100);

/// A line on a terminal that replaces itself and leaves nothing behind.
struct Line {
    /// `None` when nobody looks.
    began: Option<Instant>,
    /// When it was last written.
    written: Option<Instant>,
}

impl Line {
    fn new() -> Self {
        Line { began: io::stderr().is_terminal().then(Instant::now), written: None }
    }

    /// Shows the text of the time since the beginning, if it is time to.
    fn show(&mut self, text: impl FnOnce(Duration) -> String) {
        let Some(elapsed) = self.began.map(|began| began.elapsed()).filter(|elapsed| *elapsed > PATIENCE) else {
            return;
        };
        if self.written.is_none_or(|written| written.elapsed() > PAUSE) {
            self.written = Some(Instant::now());
            // Where standard error is closed there is nobody to show it to.
            let _ = write!(io::stderr(), "\r\x1b[K{}", text(elapsed));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.written.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// The progress of reading bytes.
pub struct Progress {
    line: Line,
    label: &'static str,
    done: u64,
    of: Option<u64>,
}

impl Progress {
    /// Work on this many bytes, or on an unknown number.
    pub fn new(label: &'static str, bytes: Option<u64>) -> Self {
        Progress { line: Line::new(), label, done: 0, of: bytes }
    }

    /// Nothing is shown.
    pub fn hidden() -> Self {
        Progress { line: Line { began: None, written: None }, label: "", done: 0, of: None }
    }

    /// This many bytes more are done.
    pub fn advance(&mut self, bytes: usize) {
        self.done += bytes as u64;
        let (label, done, of) = (self.label, self.done, self.of);
        self.line.show(|elapsed| bytes_done(label, done, of, elapsed));
    }
}

/// Such as `reading ####------ 12.5/31.0 MB, 3 s left`.
fn bytes_done(label: &str, done: u64, of: Option<u64>, elapsed: Duration) -> String {
    const BAR: usize = 40;
    let mega = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    let Some(of) = of.filter(|of| *of >= done && done > 0) else {
        return format!("{label} {} MB, {} s", mega(done), elapsed.as_secs());
    };
    let part = done as f64 / of as f64;
    let filled = (part * BAR as f64) as usize;
    let left = elapsed.as_secs_f64() * (1.0 / part - 1.0);
    let bar = "#".repeat(filled) + &"-".repeat(BAR - filled);
    format!("{label} {bar} {}/{} MB, {left:.0} s left", mega(done), mega(of))
}

/// The progress of some long steps, each with its name.
pub struct Steps {
    line: Line,
    done: usize,
    of: usize,
}

impl Steps {
    /// This many steps.
    pub fn new(count: usize) -> Self {
        Steps { line: Line::new(), done: 0, of: count }
    }

    /// The next step begins.
    pub fn begin(&mut self, name: &'static str) {
        self.done += 1;
        let (done, of) = (self.done, self.of);
        self.line.show(|elapsed| format!("{done}/{of} {name}, {} s", elapsed.as_secs()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_shows_what_is_done_and_what_is_left() {
        let text = bytes_done("reading", 5_000_000, Some(20_000_000), Duration::from_secs(3));
        let bar = "#".repeat(10) + &"-".repeat(30);
        assert_eq!(text, format!("reading {bar} 5.0/20.0 MB, 9 s left"));
        let unknown = bytes_done("reading", 5_000_000, None, Duration::from_secs(3));
        assert_eq!(unknown, "reading 5.0 MB, 3 s");
        // A file that grew while it was read.
        assert_eq!(bytes_done("reading", 9_000_000, Some(1), Duration::from_secs(1)), "reading 9.0 MB, 1 s");
    }
}
