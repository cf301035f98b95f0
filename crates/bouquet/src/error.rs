//! The one error type of the library.
//!
//! Every variant says what was expected, what was found and, where there is one, the remedy, so that a front end can
//! print it as it is.

use std::path::PathBuf;

/// What can go wrong in any public function of this library.
///
/// ```
/// use bouquet::{Bloom, Error};
/// let error = Bloom::with_rate(1_000, 1.5).unwrap_err();
/// assert!(error.to_string().starts_with("parameter `fpr` must be"));
/// assert!(matches!(error, Error::Parameter { found, .. } if found == "1.5"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is missing, malformed or outside its range.
    #[error("parameter `{name}` must be {expected}, but is {found}")]
    Parameter {
        /// The parameter's name in the kind's schema.
        name: String,
        /// What would have been accepted.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The kind has no parameter of this name.
    #[error("kind `{kind}` has no parameter `{name}`; it has {known}")]
    UnknownParameter {
        /// The kind that was asked for.
        kind: String,
        /// The name that it does not know.
        name: String,
        /// The names that it knows, comma-separated.
        known: String,
    },
    /// No kind of this name is registered.
    #[error("unknown kind `{name}`; {suggestion}")]
    UnknownKind {
        /// The name that was asked for.
        name: String,
        /// The nearest names, or how to list all.
        suggestion: String,
    },
    /// The kind does not have this verb.
    #[error("kind `{kind}` cannot {}; kinds that can: {able}", ability(verb))]
    Unsupported {
        /// The kind of the filter at hand.
        kind: String,
        /// The verb that was asked for.
        verb: String,
        /// The kinds that have it, comma-separated.
        able: String,
    },
    /// The kind does not have this question or action.
    #[error("kind `{kind}` has no {sort} `{name}`; {known}")]
    UnknownSpecial {
        /// The kind of the filter at hand.
        kind: String,
        /// A question or an action.
        sort: String,
        /// The name that it does not know.
        name: String,
        /// What it has instead.
        known: String,
    },
    /// Two filters that were to be combined differ.
    #[error("the filters differ in {field}: {left} and {right}; only filters of equal {field} can be combined")]
    Incompatible {
        /// The first field found to differ.
        field: String,
        /// Its value in the first filter.
        left: String,
        /// Its value in the second filter.
        right: String,
    },
    /// An item does not fit the kind: a missing or superfluous value, a value or group out of range, a wrong width.
    #[error("the item is not accepted: expected {expected}, found {found}")]
    Item {
        /// What the kind takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The structure has no room for the item; nothing was changed.
    #[error("the filter is full: {what}; {remedy}")]
    Full {
        /// What is exhausted.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// The key to be removed or changed is certainly not present; nothing was changed.
    #[error("the key is not in the filter; nothing was changed")]
    NotPresent,
    /// The structure cannot tell which of several places holds the key; nothing was changed.
    #[error("the filter cannot tell: {what}; nothing was changed")]
    Ambiguous {
        /// What is ambiguous.
        what: String,
    },
    /// A static structure could not be built from its data set.
    #[error("the filter cannot be built: {what}; {remedy}")]
    Build {
        /// What failed.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// The bytes do not begin as a frame does.
    #[error(
        "not a bouquet frame: expected it to begin with {expected}, found {found}; give what a filter was saved as"
    )]
    NotAFrame {
        /// The expected first bytes.
        expected: String,
        /// The bytes that are there.
        found: String,
    },
    /// The bytes do not begin as a patch does.
    #[error("not a bouquet patch: expected it to begin with {expected}, found {found}")]
    NotAPatch {
        /// The expected first bytes.
        expected: String,
        /// The bytes that are there.
        found: String,
    },
    /// A patch was made for another filter, or for another state of this one; nothing was changed.
    #[error(
        "the patch is for another filter: it changes the one with checksum {expected:#018x}, this one has {found:#018x}; \
         fetch the patches in between, or the whole filter"
    )]
    OtherBase {
        /// The checksum of the filter that the patch is for.
        expected: u64,
        /// The checksum of the filter at hand.
        found: u64,
    },
    /// The frame ends early.
    #[error("truncated frame: {what} needs {needed} bytes, only {available} are there; fetch the file again")]
    Truncated {
        /// The part that is cut.
        what: String,
        /// The bytes it needs.
        needed: u64,
        /// The bytes that are left.
        available: u64,
    },
    /// The frame was written by a newer version of the library, or is a draft (version 0) from before the first.
    #[error("{}", match found {
        0 => "frame version 0 was a draft and is not read; build the filter anew".to_string(),
        _ => format!("frame version {found} is newer than {supported}, the newest this program reads; update bouquet"),
    })]
    Version {
        /// The version in the frame.
        found: u16,
        /// The newest version that can be read.
        supported: u16,
    },
    /// The frame contradicts itself or its checksum.
    #[error("corrupt frame: {what}: expected {expected}, found {found}; fetch the file again or restore a copy")]
    Corrupt {
        /// The part that is wrong.
        what: String,
        /// What it should hold.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// The frame is being changed in place, or its writer ended without closing it.
    #[error(
        "the file is open for writing, or its writer ended before closing it; \
         unless a writer is at work, rebuild the filter or restore a copy"
    )]
    Interrupted,
    /// Another writer has the file open.
    #[error("{path}: another writer has the file open; wait until it is done")]
    Busy {
        /// The file concerned.
        path: PathBuf,
    },
    /// This filter cannot be changed in its file, though others of its kind can.
    #[error("the filter cannot be changed in its file: {what}; {remedy}")]
    NotInPlace {
        /// What is in the way.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// The frame is fuller than its item count allows, as a forged filter that accepts everything would be.
    #[error(
        "refused: fill {fill:.4} is above the allowed {limit:.4}; the filter may be forged: fetch it from where it was made, \
         or allow a higher fill"
    )]
    Overfull {
        /// The measured fill.
        fill: f64,
        /// The most that was allowed.
        limit: f64,
    },
    /// More memory would be needed than can be had.
    #[error("{what} needs {bytes} bytes, more than can be allocated; ask for fewer items, fewer bits or a higher rate")]
    TooLarge {
        /// What was to be allocated.
        what: String,
        /// The bytes it would need.
        bytes: u128,
    },
    /// The filter is keyed and no secret, or another one, was given.
    #[error("the filter is keyed: {what}")]
    Secret {
        /// What is wrong with the secret.
        what: String,
    },
    /// The filter is keyed, and nobody with the secret vouches for it.
    #[error("the filter is not authentic: {what}; {remedy}")]
    NotAuthentic {
        /// What is wrong with its authentication code.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// `std::result::Result` with this library's [`Error`].
///
/// ```
/// fn flowers(items: u64) -> bouquet::Result<bouquet::Bloom> {
///     let mut flowers = bouquet::Bloom::with_rate(items, 0.01)?;
///     flowers.insert("rose");
///     Ok(flowers)
/// }
/// assert!(flowers(100)?.contains("rose") && flowers(0).is_err());
/// # Ok::<(), bouquet::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A parameter that is missing or out of range.
    pub(crate) fn parameter(name: &str, expected: impl Into<String>, found: impl ToString) -> Self {
        Error::Parameter { name: name.into(), expected: expected.into(), found: short(found.to_string()) }
    }

    /// A frame field that holds what it cannot hold.
    pub(crate) fn corrupt(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Error::Corrupt { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }
}

/// A size that cannot be is an error of the same words here as in [`theory`](crate::theory).
impl From<bouquet_theory::Error> for Error {
    fn from(error: bouquet_theory::Error) -> Self {
        match error {
            bouquet_theory::Error::Parameter { name, expected, found } => {
                Error::Parameter { name, expected, found: short(found) }
            }
            bouquet_theory::Error::TooLarge { what, bytes } => Error::TooLarge { what, bytes },
            other => Error::parameter("size", "one that can be computed", other),
        }
    }
}

/// A number without dozens of zeros.
fn short(number: String) -> String {
    /// The digits of 2^64 and a point.
    const LONGEST: usize = 21;
    match number.parse::<f64>() {
        Ok(value) if number.len() > LONGEST || number.starts_with("0.00000") => format!("{value:e}"),
        _ => number,
    }
}

/// What a kind without a verb cannot do, in words.
fn ability(verb: &str) -> &str {
    match verb {
        "contains" => "tell membership",
        "insert" => "take keys one by one",
        "remove" => "remove keys",
        "count" => "count keys",
        "get" => "tell values",
        "set" => "change values",
        "classify" => "tell which sets hold a key",
        "judge" => "tell keys that are in from those that are out",
        "list" => "list its keys",
        "top" => "name its most frequent keys",
        "decode" => "decode counts from all keys",
        "advance" => "let time pass",
        "merge" => "be merged",
        "intersect" => "be intersected",
        "subtract" => "be subtracted from one another",
        "difference" => "tell what two of them do not share",
        "cardinality" => "estimate how many keys it holds",
        "compress" => "be compressed",
        "build_from" => "be built from a data set",
        other => other,
    }
}

/// Compares one field of two filters that are to be combined.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(field: &str, left: T, right: T) -> Result<()> {
    if left == right {
        return Ok(());
    }
    Err(Error::Incompatible { field: field.into(), left: told(&left), right: told(&right) })
}

/// A value in words: a setting that was left out says so, and words have no quotes.
fn told(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    if text == "None" {
        return "not given".into();
    }
    let inner = text.strip_prefix("Some(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(&text);
    let word = inner.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(inner);
    word.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_without_dozens_of_zeros() {
        for (found, told) in [(1e-300, "1e-300"), (1e-18, "1e-18"), (0.01, "0.01"), (1.5, "1.5"), (1e300, "1e300")] {
            assert!(Error::parameter("fpr", "small", found).to_string().ends_with(&format!("but is {told}")), "{told}");
        }
        assert!(Error::parameter("seed", "small", u64::MAX).to_string().ends_with("18446744073709551615"));
        assert!(Error::parameter("mode", "free", "parquet").to_string().ends_with("parquet"));
    }

    #[test]
    fn values_that_differ_are_told_in_words() {
        let told = |error: Result<()>| error.unwrap_err().to_string();
        assert!(told(same("cells", Some(8), Some(4))).starts_with("the filters differ in cells: 8 and 4;"));
        assert!(told(same("items", None, Some(4))).contains("not given and 4"));
        assert!(told(same("layout", "rows", "sliced")).contains("rows and sliced"));
        assert!(told(same("layout", Some("rows"), None)).contains("rows and not given"));
    }

    #[test]
    fn errors_of_theory_keep_their_variant_and_their_words() {
        let parameter = bouquet_theory::standard::for_rate(1_000, 1.5).unwrap_err();
        let words = parameter.to_string();
        assert_eq!(words, "parameter `fpr` must be above 0 and below 1, but is 1.5");
        let parameter = Error::from(parameter);
        assert!(matches!(&parameter, Error::Parameter { name, found, .. } if name == "fpr" && found == "1.5"));
        assert_eq!(parameter.to_string(), words);

        let large = bouquet_theory::check_bits(1e18).unwrap_err();
        let words = large.to_string();
        assert!(words.starts_with("the filter needs 125000000000000000 bytes"), "{words}");
        let large = Error::from(large);
        assert!(matches!(large, Error::TooLarge { bytes: 125_000_000_000_000_000, .. }));
        assert_eq!(large.to_string(), words);
    }
}
