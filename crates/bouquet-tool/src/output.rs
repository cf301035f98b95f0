//! What the program writes: answers to standard output, filters to files.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bouquet::codec::replace_file;
use bouquet::{AnyFilter, Error, FileLock};
use clap::Args;

use crate::ending::{catch_signals, is_stdout_closed};
use crate::failure::{Failure, say};
use crate::keys::is_stdin;

/// Standard output, in large writes.
pub struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        Output(BufWriter::with_capacity(1 << 17, io::stdout().lock()))
    }

    /// Writes these pieces.
    pub fn write(&mut self, pieces: &[&[u8]]) -> Result<(), Failure> {
        refuse_closed_stdout()?;
        pieces.iter().try_for_each(|piece| self.0.write_all(piece)).map_err(|error| Failure::of_stdout(&error))
    }

    /// A key or a value that a filter holds, as it is written: on a terminal as [plain] text, elsewhere as it is.
    pub fn shown<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.0.get_ref().is_terminal() {
            return plain(&String::from_utf8_lossy(bytes)).into_bytes().into();
        }
        bytes.into()
    }

    /// Hands everything over to the reader. Only then is it known whether it arrived.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::of_stdout(&error))
    }
}

fn refuse_closed_stdout() -> Result<(), Failure> {
    if is_stdout_closed() {
        return Err(Failure::closed_stdout());
    }
    Ok(())
}

/// Text from a file or from a file's name, with what could steer a terminal or deceive its reader escaped: control
/// characters and those that reverse the direction of writing.
pub fn plain(text: &str) -> String {
    let deceives =
        |c| matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii_control() => plain.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() || deceives(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

/// Writes whole text to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = Output::stdout();
    out.write(&[text.as_bytes()])?;
    out.flush()
}

/// Writes a JSON value to standard output.
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Rows of a name and a value, the values aligned.
pub fn print_rows(rows: &[(&str, String)]) -> Result<(), Failure> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    print(&rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect::<String>())
}

/// How a filter's bit stores are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// As the kind has it.
    Usual,
    /// Arithmetic-coded.
    Compressed,
}

/// What to do when another command is changing a file that this one would change.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Fail when another command is changing the file, instead of waiting until it is done
    #[arg(long)]
    no_wait: bool,
}

impl Waiting {
    /// Locks a file for reading, changing and replacing it.
    pub fn lock(self, path: &Path) -> Result<FileLock, Failure> {
        /// A file that was replaced a moment ago is still locked by whoever did it: that needs no words.
        const QUIET: u32 = 20;
        for _ in 0..QUIET {
            match FileLock::try_acquire(path) {
                Err(Error::Busy { .. }) if !self.no_wait => std::thread::sleep(Duration::from_millis(10)),
                locked => return Ok(locked?),
            }
        }
        say(&format!("{}: another command is changing the file; waiting until it is done", path.display()));
        Ok(FileLock::acquire(path)?)
    }

    /// Waits until nobody has the file locked, if an error says that somebody has.
    pub fn when_busy(self, path: &Path, error: Error) -> Result<(), Error> {
        match error {
            Error::Busy { .. } if !self.no_wait => self.lock(path).map(drop).map_err(|_| error),
            error => Err(error),
        }
    }
}

/// Where a filter or a patch is written: a file, or `-`, standard output.
///
/// Files are replaced atomically. A symbolic link stays one: what it points to is replaced. Devices and pipes cannot be replaced and
/// are written to.
pub struct Destination<'a> {
    path: &'a Path,
    waiting: Waiting,
    /// The lock on the file as it was read, for a command that changes it.
    lock: Option<FileLock>,
}

impl<'a> Destination<'a> {
    /// A file to write. It may be one of `changed`, which is then locked from here on; it must be none of `inputs`.
    pub fn new(path: &'a Path, changed: &[&Path], inputs: &[&Path], waiting: Waiting) -> Result<Self, Failure> {
        if is_stdin(path) {
            refuse_closed_stdout()?;
        } else if fs::metadata(path).is_ok_and(|file| file.is_dir())
            || path.as_os_str().as_encoded_bytes().ends_with(b"/")
        {
            let name = path.join("NAME");
            let remedy = format!("give the name of a file in it, such as {}", name.display());
            return Err(Failure::new(format!("{}: this is a directory; {remedy}", path.display())));
        }
        refuse_input_as_output(path, inputs)?;
        refuse_without_directory(path)?;
        let own = identity(path, Role::Output);
        let is_changed = own.is_some() && changed.iter().any(|input| identity(input, Role::Input) == own);
        let lock = if is_changed && !is_stdin(path) { Some(waiting.lock(path)?) } else { None };
        Ok(Destination { path, waiting, lock })
    }

    /// The file of a filter that is changed, locked from here on; it must be none of `inputs`.
    pub fn to_change(path: &'a Path, inputs: &[&Path], waiting: Waiting) -> Result<Self, Failure> {
        refuse_stdin(path)?;
        refuse_input_as_output(path, inputs)?;
        Ok(Destination { path, waiting, lock: Some(waiting.lock(path)?) })
    }

    /// Writes a filter.
    pub fn save(self, filter: &AnyFilter, coding: Coding) -> Result<(), Failure> {
        let write = |mut out: &mut dyn Write| match coding {
            Coding::Usual => filter.write_to(&mut out),
            Coding::Compressed => filter.write_compressed_to(&mut out),
        };
        let replace = |target: &Path| match coding {
            Coding::Usual => filter.save(target),
            Coding::Compressed => filter.save_compressed(target),
        };
        self.put(write, replace)
    }

    /// Writes bytes in the same way.
    pub fn save_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(|out| out.write_all(bytes), |target| replace_file(target, bytes))
    }

    /// Writes to standard output or to what cannot be replaced with `write`, to files with `replace`.
    fn put(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        replace: impl FnOnce(&Path) -> bouquet::Result<()>,
    ) -> Result<(), Failure> {
        if is_stdin(self.path) {
            let mut out = Output::stdout();
            write(&mut out.0).map_err(|error| Failure::of_stdout(&error))?;
            return out.flush();
        }
        let target = followed(self.path)?;
        let old = fs::metadata(&target).ok();
        if old.as_ref().is_some_and(|file| !file.is_file() && !file.is_dir()) {
            return stream(&target, write).map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
                _ => Failure::of_file(self.path.display(), &error),
            });
        }
        // Who reads, changes and replaces the file at this moment would undo what is written here.
        if self.lock.is_none() && old.is_some() {
            self.lock = Some(self.waiting.lock(&target)?);
        }
        catch_signals()?;
        Ok(replace(&target)?)
    }
}

/// Told before the work rather than after it.
fn refuse_without_directory(path: &Path) -> Result<(), Failure> {
    let target = followed(path)?;
    match target.parent() {
        Some(parent) if !is_stdin(path) && !parent.as_os_str().is_empty() && !parent.is_dir() => {
            let (path, parent) = (path.display(), parent.display());
            Err(Failure::new(format!("{path}: there is no directory {parent}; `mkdir -p {parent}` makes it")))
        }
        _ => Ok(()),
    }
}

/// A filter is changed in its file.
pub fn refuse_stdin(path: &Path) -> Result<(), Failure> {
    if is_stdin(path) {
        return Err(Failure::new("a filter is changed in its file, and standard input is none; name the file"));
    }
    Ok(())
}

/// Refuses to write over what is read: keys, secrets, patches.
pub fn refuse_input_as_output(output: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let Some(own) = identity(output, Role::Output) else { return Ok(()) };
    match inputs.iter().find(|input| identity(input, Role::Input).as_ref() == Some(&own)) {
        None => Ok(()),
        Some(input) => {
            let name = |path: &Path, standard| {
                if is_stdin(path) { String::from(standard) } else { path.display().to_string() }
            };
            let (input, output) = (name(input, "standard input"), name(output, "standard output"));
            let both = if input == output { input } else { format!("{input} and {output}") };
            Err(Failure::new(format!("{both}: an input would be overwritten by the output; write to another file")))
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Input,
    Output,
}

/// What tells a plain file from all others, whatever links lead to it; nothing for devices, pipes and files that do not
/// exist.
#[cfg(unix)]
fn identity(path: &Path, role: Role) -> Option<(u64, u64)> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let open = |stream: std::os::fd::BorrowedFd<'_>| File::from(stream.try_clone_to_owned()?).metadata();
    let metadata = match role {
        Role::Input if is_stdin(path) => open(io::stdin().as_fd()),
        Role::Output if is_stdin(path) => open(io::stdout().as_fd()),
        _ => fs::metadata(path),
    };
    metadata.ok().filter(fs::Metadata::is_file).map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _: Role) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

fn stream(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, File::options().write(true).open(path)?);
    write(&mut out)?;
    out.flush()
}

/// The file behind symbolic links, whether it exists or not; any other path as it is.
fn followed(path: &Path) -> Result<PathBuf, Failure> {
    /// As many links as Linux follows; more are a circle.
    const MOST: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..MOST {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = target.parent().map_or_else(|| next.clone(), |parent| parent.join(&next));
    }
    Err(Failure::new(format!("{}: symbolic links lead in a circle; name a file", path.display())))
}

/// A number with the digits that a reader needs, short where it can be.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if !(1e-4..1e15).contains(&size) {
        format!("{value:.3e}")
    } else if size >= 1000.0 {
        format!("{value:.0}")
    } else {
        // Four significant digits.
        let digits = (3 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    }
}

/// An optional number, or a dash.
pub fn optional(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_show_four_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (0.01, "0.01000"),
            (9.58506, "9.585"),
            (123.45, "123.5"),
            (1234567.0, "1234567"),
            (1e-9, "1.000e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), expected);
        }
    }
}
