//! What can go wrong in the lab.

use std::path::{Path, PathBuf};

/// Why an experiment has no result.
///
/// ```
/// let error = bouquet_lab::find("gbf-fig99").unwrap_err();
/// assert!(error.to_string().contains("gbf-fig99"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A filter could not be made or used.
    #[error(transparent)]
    Filter(#[from] bouquet::Error),
    /// A file could not be written.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The results could not be printed.
    #[error("standard output: {0}")]
    Output(std::io::Error),
    /// There is no such experiment.
    #[error("there is no experiment `{0}`; `bouquet lab list` prints those there are")]
    Unknown(String),
}

impl From<bouquet::theory::Error> for Error {
    fn from(error: bouquet::theory::Error) -> Self {
        Error::Filter(error.into())
    }
}

impl Error {
    /// What went wrong with this file.
    pub(crate) fn of_file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Error::File { path: path.into(), source }
    }
}

/// A result of the lab.
pub type Result<T> = std::result::Result<T, Error>;
