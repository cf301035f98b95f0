//! What sizing can be asked and cannot do.

use std::fmt;

/// Why there is no filter of the size or rate that was asked for.
///
/// ```
/// use bouquet_theory::{Error, standard};
/// let error = standard::for_rate(1_000, 1.5).unwrap_err();
/// assert_eq!(error.to_string(), "parameter `fpr` must be above 0 and below 1, but is 1.5");
/// assert!(matches!(error, Error::Parameter { found, .. } if found == "1.5"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range, or asks for what cannot be.
    Parameter {
        /// The parameter's name.
        name: String,
        /// What would have been accepted.
        expected: String,
        /// What was given.
        found: String,
    },
    /// More memory would be needed than any machine has.
    TooLarge {
        /// What was to be sized.
        what: String,
        /// The bytes it would need.
        bytes: u128,
    },
}

/// `std::result::Result` with this crate's [`Error`].
///
/// ```
/// fn bits_per_key(items: u64) -> bouquet_theory::Result<f64> {
///     Ok(bouquet_theory::standard::for_rate(items, 0.01)?.bits as f64 / items as f64)
/// }
/// assert!(bits_per_key(1000)? < 9.6 && bits_per_key(0).is_err());
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Parameter { name, expected, found } => {
                write!(f, "parameter `{name}` must be {expected}, but is {found}")
            }
            Error::TooLarge { what, bytes } => write!(
                f,
                "{what} needs {bytes} bytes, more than can be allocated; ask for fewer items, fewer bits or a higher rate"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// A parameter that is out of range.
    pub(crate) fn parameter(name: &str, expected: impl Into<String>, found: impl ToString) -> Self {
        Error::Parameter { name: name.into(), expected: expected.into(), found: found.to_string() }
    }
}
