//! Files that are replaced whole or not at all: written beside the old one, synced, renamed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};

pub(crate) fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.into(), source }
}

/// Creates a new hidden file in the directory. What an interrupted process of the same number has left there is passed
/// over: in a container, every process may have number 1.
fn create_beside(directory: &Path, name: &std::ffi::OsStr) -> std::io::Result<(std::path::PathBuf, File)> {
    for attempt in 0..u32::MAX {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.{attempt}.tmp", std::process::id()));
        let beside = directory.join(beside);
        match File::options().write(true).create_new(true).open(&beside) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (beside, file)),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

/// Writes a file beside its destination, syncs it and renames it into place; on any error the destination is as it
/// was and nothing is left behind.
pub(crate) fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
) -> Result<()> {
    let wrap = |source| io_error(path, source);
    let name = path.file_name().ok_or_else(|| wrap(std::io::ErrorKind::InvalidFilename.into()))?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (beside, file) = create_beside(directory, name).map_err(wrap)?;
    let written = (|| {
        // A file that is replaced keeps its permissions.
        if let Ok(old) = std::fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        // The rename itself is durable once the directory is synced; not every system can open one.
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
        Ok(())
    })();
    written.map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        wrap(source)
    })
}
