//! Questions and actions that one kind alone has.

use bouquet::capability::{Item, NoteType};
use bouquet::kind::{Argument, Kind, Reply, Takes};
use bouquet::{AnyFilter, Error};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::{OrRaise, record};
use crate::filter::{Filter, estimate, wrap};
use crate::keys;
use crate::notes::{OwnNote, number};

/// What a question or action was given.
pub enum Given {
    Nothing,
    Key(Vec<u8>),
    Item(Vec<u8>, OwnNote),
    Number(u64),
    Share(f64),
    Span(u64, u64),
    Filter(Py<Filter>),
}

impl Given {
    /// Reads what the special takes.
    pub fn of(
        kind: &Kind,
        name: &str,
        acts: bool,
        argument: Option<&Bound<'_, PyAny>>,
        note: Option<&Bound<'_, PyAny>>,
        carried: NoteType,
    ) -> PyResult<Self> {
        // By its name of the library, or as a name of Python.
        let special = kind.special(name, acts).or_raise()?;
        let wanted = || PyTypeError::new_err(format!("`{name}` takes {}", special.takes.expected()));
        let needed = || argument.ok_or_else(wanted);
        let key = || Ok::<_, PyErr>(keys::key(needed()?)?.as_bytes().to_vec());
        Ok(match special.takes {
            Takes::Nothing if argument.is_some() => return Err(wanted()),
            Takes::Nothing => Given::Nothing,
            Takes::Key => Given::Key(key()?),
            Takes::Item | Takes::Pair => Given::Item(key()?, OwnNote::of(note, special.note(carried))?),
            Takes::Number => Given::Number(number(argument, special.takes.expected())?),
            Takes::Share => Given::Share(number(argument, special.takes.expected())?),
            Takes::Span => {
                let (first, last): (u64, u64) = needed()?.extract()?;
                Given::Span(first, last)
            }
            Takes::Filter => Given::Filter(needed()?.cast::<Filter>().map_err(|_| wanted())?.clone().unbind()),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "`{name}` takes what this version of the package cannot give"
                )));
            }
        })
    }

    /// As the library takes it; another filter is taken elsewhere, under its lock.
    pub fn argument(&self) -> bouquet::Result<Argument<'_>> {
        Ok(match self {
            Given::Nothing | Given::Filter(_) => Argument::Nothing,
            Given::Key(key) => Argument::Key(key),
            Given::Item(key, note) => Argument::Item(Item::new(key, note.note())),
            Given::Number(number) => Argument::Number(*number),
            Given::Share(share) if (0.0..=1.0).contains(share) => Argument::Share(*share),
            Given::Span(first, last) if first <= last => Argument::Span(*first, *last),
            Given::Share(share) => return Err(refused(Takes::Share, share.to_string())),
            Given::Span(first, last) => return Err(refused(Takes::Span, format!("{first}..{last}"))),
        })
    }
}

fn refused(takes: Takes, found: String) -> Error {
    Error::Parameter { name: "argument".into(), expected: takes.expected().into(), found }
}

/// A reply as Python reads it.
pub fn reply(py: Python<'_>, found: Reply) -> PyResult<Bound<'_, PyAny>> {
    Ok(match found {
        Reply::Done => py.None().into_bound(py),
        Reply::Truth(truth) => truth.into_bound_py_any(py)?,
        Reply::Unknown => record(py, "UNKNOWN")?,
        Reply::Integer(number) => number.into_bound_py_any(py)?,
        Reply::Real(number) => number.into_bound_py_any(py)?,
        Reply::Count(found) => record(py, "Multiplicity")?.call1((found.count, found.at_least))?,
        Reply::Estimate(found) => estimate(py, &found)?,
        Reply::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
        Reply::List(replies) => {
            let list = replies.into_iter().map(|found| reply(py, found)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, list)?.into_any()
        }
        Reply::Table(heads, rows) => {
            let table = PyList::empty(py);
            for row in rows {
                let dict = PyDict::new(py);
                for (head, found) in heads.iter().zip(row) {
                    dict.set_item(head, reply(py, found)?)?;
                }
                table.append(dict)?;
            }
            table.into_any()
        }
        Reply::Filter(made) => wrap(py, AnyFilter::from_made(made).or_raise()?)?,
        _ => return Err(PyTypeError::new_err("the reply is of a sort that this version of the package does not know")),
    })
}
