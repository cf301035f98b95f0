//! What the program writes: answers to standard output, filters to files.

use std::fs::{self, File};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use bouquet::AnyFilter;
use bouquet::codec::replace_file;

use crate::failure::Failure;
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
        pieces.iter().try_for_each(|piece| self.0.write_all(piece)).map_err(|error| Failure::of_stdout(&error))
    }

    /// Hands everything over to the reader. Only then is it known whether it arrived.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::of_stdout(&error))
    }
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

/// Writes a filter to a file, atomically, or to `-`, standard output.
///
/// A symbolic link stays one: what it points to is replaced. Devices and pipes cannot be replaced and are written to.
pub fn save(filter: &AnyFilter, path: &Path, coding: Coding) -> Result<(), Failure> {
    let write = |mut out: &mut dyn Write| match coding {
        Coding::Usual => filter.write_to(&mut out),
        Coding::Compressed => filter.write_compressed_to(&mut out),
    };
    let replace = |target: &Path| match coding {
        Coding::Usual => filter.save(target),
        Coding::Compressed => filter.save_compressed(target),
    };
    put(path, write, replace)
}

/// Writes bytes to a file in the same way.
pub fn save_bytes(bytes: &[u8], path: &Path) -> Result<(), Failure> {
    put(path, |out| out.write_all(bytes), |target| replace_file(target, bytes))
}

/// Writes to standard output or to what cannot be replaced with `write`, to files with `replace`.
fn put(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    replace: impl FnOnce(&Path) -> bouquet::Result<()>,
) -> Result<(), Failure> {
    if is_stdin(path) {
        let mut out = Output::stdout();
        write(&mut out.0).map_err(|error| Failure::of_stdout(&error))?;
        return out.flush();
    }
    let target = followed(path);
    if fs::metadata(&target).is_ok_and(|file| !file.is_file() && !file.is_dir()) {
        return stream(&target, write).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::new(format!("{}: {error}", path.display())),
        });
    }
    Ok(replace(&target)?)
}

fn stream(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, File::options().write(true).open(path)?);
    write(&mut out)?;
    out.flush()
}

/// The file behind a symbolic link; any other path as it is.
fn followed(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|file| file.is_symlink());
    if is_link { fs::canonicalize(path).unwrap_or_else(|_| path.into()) } else { path.into() }
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
