//! A temporary directory to run a program in, and what comes out of it: for tests.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory of its own for each test.
pub struct Place {
    dir: TempDir,
    program: &'static str,
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Run {
    /// The exit code; nothing if a signal ended the program.
    pub code: Option<i32>,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Run { code: output.status.code(), out: output.stdout, err }
    }
}

impl Run {
    /// Exit code 0 and nothing on standard error.
    #[track_caller]
    pub fn found(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.text());
        self
    }

    /// Exit code 0 of `bouquet build`, and on standard error nothing, or the line in which the kind says what it takes or which
    /// other is better.
    #[track_caller]
    pub fn built(self, kind: &str) -> Self {
        if self.err.is_empty() {
            self.found()
        } else if self.err.starts_with(&format!("bouquet: {kind} takes ")) {
            self.found_with(&["bits per key"])
        } else {
            self.found_with(&[": take `"])
        }
    }

    /// Exit code 0 and one line on standard error that holds these parts.
    #[track_caller]
    pub fn found_with(self, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.tells(parts)
    }

    /// One line on standard error that holds these parts.
    #[track_caller]
    pub fn tells(self, parts: &[&str]) -> Self {
        assert!(self.err.starts_with("bouquet: "), "{self:?}");
        assert!(self.err.ends_with('\n') && self.err.matches('\n').count() == 1, "one line: {self:?}");
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is missing in {}", self.err);
        }
        self
    }

    /// Exit code 1 and nothing on standard error.
    #[track_caller]
    pub fn nothing(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (Some(1), ""), "{}", self.text());
        self
    }

    /// Exit code 2 and one clear line that holds these parts.
    #[track_caller]
    pub fn fails(self, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(2), "{self:?}");
        self.tells(parts)
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// The lines of standard output.
    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Place {
    /// An empty one, to run this program in.
    pub fn new(program: &'static str) -> Self {
        Place { program, dir: tempfile::Builder::new().prefix("bouquet-test-").tempdir().unwrap() }
    }

    /// The path of a file here.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The path of the directory itself.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Writes a file that only its owner can read.
    pub fn private(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name, content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// The bytes of a file here.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names of all files here, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with these arguments, to be run here with nothing on standard input.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(args).current_dir(self.dir()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with nothing on standard input.
    pub fn run(&self, args: &[&str]) -> Run {
        self.command(args).output().unwrap().into()
    }

    /// Runs the program with this on standard input.
    pub fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        // A program that stops early closes the pipe; what it says then is what is tested.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output.into()
    }

    /// Runs a shell command; `$bouquet` is the program.
    pub fn shell(&self, script: &str) -> Run {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).env("bouquet", self.program).current_dir(self.dir());
        shell.output().unwrap().into()
    }
}

/// Lines `key-0001`, `key-0002`, ...
pub fn lines(range: impl Iterator<Item = u32>) -> String {
    range.map(|i| format!("key-{i:04}\n")).collect()
}
