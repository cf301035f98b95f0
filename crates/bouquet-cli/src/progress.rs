//! A bar for long work, for people only: none when standard error is not a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The progress of reading bytes.
pub struct Progress {
    bar: ProgressBar,
    /// When the work began; `None` once the bar is shown, or when it never will be.
    waiting: Option<Instant>,
}

impl Progress {
    /// Work on this many bytes, or on an unknown number.
    pub fn new(label: &'static str, bytes: Option<u64>) -> Self {
        if !io::stderr().is_terminal() {
            return Self::hidden();
        }
        let (bar, template) = match bytes {
            Some(bytes) => (ProgressBar::new(bytes), "{msg} {bar:40} {bytes}/{total_bytes} {eta}"),
            None => (ProgressBar::no_length(), "{msg} {spinner} {bytes} {elapsed}"),
        };
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(label);
        Progress { bar, waiting: Some(Instant::now()) }
    }

    /// No bar.
    pub fn hidden() -> Self {
        Progress { bar: ProgressBar::hidden(), waiting: None }
    }

    /// So many bytes more are done.
    pub fn advance(&mut self, bytes: usize) {
        if self.waiting.is_some_and(|began| began.elapsed() > PATIENCE) {
            self.waiting = None;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of some long steps, each with its name.
pub struct Steps(ProgressBar);

impl Steps {
    /// So many steps.
    pub fn new(count: usize) -> Self {
        if !io::stderr().is_terminal() {
            return Steps(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(count as u64);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(PATIENCE);
        Steps(bar)
    }

    /// The next step begins.
    pub fn begin(&mut self, name: &'static str) {
        self.0.set_message(name);
        self.0.inc(1);
    }

    /// Does something while the bar is out of the way.
    pub fn suspend<T>(&self, what: impl FnOnce() -> T) -> T {
        self.0.suspend(what)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
