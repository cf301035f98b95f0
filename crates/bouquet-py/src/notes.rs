//! What keys carry: values, sets, weights and amounts.

use bouquet::capability::{Item, Note, NoteType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;
use crate::keys;

/// A note that owns its bytes.
pub enum OwnNote {
    /// Nothing.
    None,
    /// A value, a set or an amount.
    Number(NoteType, u64),
    /// A value.
    Bytes(Vec<u8>),
    /// A weight.
    Weight(f64),
    /// Two weights.
    Weights(f64, f64),
}

impl OwnNote {
    /// What Python gives for a note of this type.
    pub fn of(object: Option<&Bound<'_, PyAny>>, of: NoteType) -> PyResult<Self> {
        let Some(object) = object.filter(|object| !object.is_none()) else {
            // Which kinds do without one, they say themselves.
            return Ok(OwnNote::None);
        };
        Ok(match of {
            NoteType::Integer | NoteType::Group | NoteType::Amount => OwnNote::Number(of, object.extract()?),
            NoteType::Bytes => OwnNote::Bytes(keys::key(object)?.as_bytes().to_vec()),
            NoteType::Weight => OwnNote::Weight(object.extract()?),
            NoteType::Weights => {
                let (first, second) = object.extract()?;
                OwnNote::Weights(first, second)
            }
            _ => {
                let text = "the items of this filter are keys alone; leave the second argument out".to_string();
                return Err(errors::named(object.py(), "ItemError", text)?);
            }
        })
    }

    /// As the library takes it.
    pub fn note(&self) -> Note<'_> {
        match self {
            OwnNote::None => Note::None,
            OwnNote::Number(NoteType::Group, number) => Note::Group(*number),
            OwnNote::Number(NoteType::Amount, number) => Note::Amount(*number),
            OwnNote::Number(_, number) => Note::Integer(*number),
            OwnNote::Bytes(bytes) => Note::Bytes(bytes),
            OwnNote::Weight(weight) => Note::Weight(*weight),
            OwnNote::Weights(first, second) => Note::Weights(*first, *second),
        }
    }
}

/// The notes of a batch.
pub enum Notes {
    /// The same for all.
    All(OwnNote),
    /// One for each.
    Each(Vec<OwnNote>),
}

impl Notes {
    /// One note for all keys (a number, text, bytes), or as many as there are keys.
    pub fn of(object: Option<&Bound<'_, PyAny>>, of: NoteType) -> PyResult<Self> {
        let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(Notes::All(OwnNote::None)) };
        // Two weights are a tuple, and a row of them is anything else.
        if keys::is_one(object) || of == NoteType::Weights && object.is_instance_of::<PyTuple>() {
            return OwnNote::of(Some(object), of).map(Notes::All);
        }
        let each = object.try_iter()?.map(|note| OwnNote::of(Some(&note?), of)).collect::<PyResult<_>>()?;
        Ok(Notes::Each(each))
    }

    /// Refuses as many notes as there are no keys.
    pub fn check_len(&self, keys: usize) -> PyResult<()> {
        match self {
            Notes::Each(notes) if notes.len() != keys => Err(PyValueError::new_err(format!(
                "there are {keys} keys and {} notes; give one for each key",
                notes.len()
            ))),
            _ => Ok(()),
        }
    }

    /// A key with the note of this place.
    pub fn item<'a>(&'a self, key: &'a [u8], at: usize) -> Item<'a> {
        match self {
            Notes::All(note) => Item::new(key, note.note()),
            Notes::Each(notes) => Item::new(key, notes.get(at).map_or(Note::None, OwnNote::note)),
        }
    }

    /// Refuses notes that end before the keys do.
    pub fn check_end(&self, end: usize) -> PyResult<()> {
        match self {
            Notes::Each(notes) if notes.len() < end => self.check_len(end),
            _ => Ok(()),
        }
    }
}

/// A number that must be there.
pub fn number<'a, 'py, T: FromPyObject<'a, 'py>>(object: Option<&'a Bound<'py, PyAny>>, what: &str) -> PyResult<T>
where
    PyErr: From<T::Error>,
{
    let object = object.ok_or_else(|| PyTypeError::new_err(format!("it takes {what}")))?;
    Ok(object.extract()?)
}
