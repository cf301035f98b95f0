//! The library's errors as exceptions of the package, with the library's words.

use bouquet::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exception of an error.
pub fn raise(error: Error) -> PyErr {
    let class = match &error {
        Error::Parameter { .. } | Error::UnknownParameter { .. } | Error::TooLarge { .. } => "ParameterError",
        Error::UnknownKind { .. } => "UnknownKindError",
        Error::Unsupported { .. } | Error::UnknownSpecial { .. } => "UnsupportedError",
        Error::Incompatible { .. } | Error::OtherBase { .. } => "IncompatibleError",
        Error::Item { .. } => "ItemError",
        Error::Full { .. } => "FullError",
        Error::NotPresent => "NotPresentError",
        Error::Ambiguous { .. } => "AmbiguousError",
        Error::Build { .. } => "BuildError",
        Error::Secret { .. } | Error::NotAuthentic { .. } | Error::Overfull { .. } => "SecretError",
        Error::Busy { .. } | Error::NotInPlace { .. } => "FileError",
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => "FileMissingError",
        Error::Io { .. } => "FileError",
        Error::NotAFrame { .. }
        | Error::NotAPatch { .. }
        | Error::Truncated { .. }
        | Error::Version { .. }
        | Error::Corrupt { .. }
        | Error::Interrupted => "FrameError",
        _ => "Error",
    };
    Python::attach(|py| named(py, class, error.to_string()).unwrap_or_else(|error| error))
}

/// The exception of this class with this text.
pub fn named(py: Python<'_>, class: &str, text: String) -> PyResult<PyErr> {
    let class = py.import("bouquet._errors")?.getattr(class)?;
    Ok(PyErr::from_type(class.cast_into::<PyType>()?, text))
}

/// A class of the package's Python part, for what is answered in more than one number.
pub fn record<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static RECORDS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let records = RECORDS.get_or_try_init(py, || py.import("bouquet._records").map(Bound::unbind))?;
    records.bind(py).getattr(name)
}

/// Results of the library as results of Python.
pub trait OrRaise<T> {
    /// The value, or the exception of the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for bouquet::Result<T> {
    #[inline]
    fn or_raise(self) -> PyResult<T> {
        self.map_err(raise)
    }
}
