//! Python objects as keys: the bytes that FORMAT.md gives to text, numbers, addresses and tuples.

use std::borrow::Cow;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString, PyTuple};

/// The bytes of a key, which lie in the Python object where that has them.
pub enum Key<'a> {
    /// Bytes of the object itself.
    Borrowed(&'a [u8]),
    /// An integer.
    Word([u8; 8]),
    /// Bytes that were made.
    Owned(Vec<u8>),
}

impl Key<'_> {
    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Key::Borrowed(bytes) => bytes,
            Key::Word(bytes) => bytes,
            Key::Owned(bytes) => bytes,
        }
    }
}

/// The bytes of a key. Exact types come first, by how often they are keys.
#[inline]
pub fn key<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    if let Ok(text) = object.cast_exact::<PyString>() {
        return Ok(Key::Borrowed(text.to_str()?.as_bytes()));
    }
    if let Ok(number) = object.cast_exact::<PyInt>() {
        return word(number).map(Key::Word);
    }
    if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        return Ok(Key::Borrowed(bytes.as_bytes()));
    }
    other(object)
}

/// The 8 little-endian bytes of an integer from -2^63 to 2^64 - 1.
#[inline]
fn word(number: &Bound<'_, PyInt>) -> PyResult<[u8; 8]> {
    match number.extract::<i64>() {
        Ok(number) => Ok(number.to_le_bytes()),
        Err(_) => number.extract::<u64>().map(u64::to_le_bytes).map_err(|_| {
            PyOverflowError::new_err(
                "an integer key has 64 bits: from -2**63 to 2**64 - 1; \
                 give a larger one as bytes, such as number.to_bytes(16, 'little')",
            )
        }),
    }
}

#[cold]
fn other<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    let py = object.py();
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Key::Borrowed(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Key::Borrowed(bytes.as_bytes()));
    }
    if let Ok(number) = object.cast::<PyInt>() {
        return word(number).map(Key::Word);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return joined(tuple).map(Key::Owned);
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
        // A copy: what lies there can change.
        let bytes = PyMemoryView::from(object)?.call_method0(intern!(py, "tobytes"))?;
        return Ok(Key::Owned(bytes.cast_into::<PyBytes>()?.as_bytes().to_vec()));
    }
    if object.is_instance_of::<PyFloat>() {
        return Err(PyTypeError::new_err(
            "a float is no key, for equal numbers have unequal digits: \
             give a whole number, text, or struct.pack('<d', number)",
        ));
    }
    if object.is_none() {
        return Err(PyTypeError::new_err("None is no key; leave it out, or give it a key of its own such as ''"));
    }
    let module = object.get_type().module()?;
    // A UUID is its 16 bytes, an address its octets; both in network order.
    let octets = match module.to_str()? {
        "uuid" => Some(intern!(py, "bytes")),
        "ipaddress" => Some(intern!(py, "packed")),
        _ => None,
    };
    if let Some(bytes) = octets.and_then(|name| object.getattr(name).ok()) {
        return Ok(Key::Owned(bytes.cast_into::<PyBytes>()?.as_bytes().to_vec()));
    }
    // Numbers of NumPy and others that are whole.
    if let Ok(number) = object.call_method0(intern!(py, "__index__")) {
        return word(number.cast::<PyInt>()?).map(Key::Word);
    }
    Err(PyTypeError::new_err(format!(
        "a key is str, bytes, int, memoryview, uuid.UUID, an IP address or a tuple of these, not {}",
        object.get_type().fully_qualified_name()?
    )))
}

/// A tuple: for each element the length of its bytes, seven bits at a time, the least first, and the bytes.
fn joined(tuple: &Bound<'_, PyTuple>) -> PyResult<Vec<u8>> {
    let mut joined = Vec::new();
    for element in tuple.iter_borrowed() {
        let element = key(&element)?;
        let bytes = element.as_bytes();
        let mut len = bytes.len();
        while len >= 0x80 {
            joined.push(len as u8 | 0x80);
            len >>= 7;
        }
        joined.push(len as u8);
        joined.extend_from_slice(bytes);
    }
    Ok(joined)
}

/// Bytes that are no key, such as a frame, a patch or a value: `bytes`, `bytearray`, `memoryview`, or text where that is meant.
pub fn bytes<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    let bytes = PyMemoryView::from(object)?.call_method0(intern!(object.py(), "tobytes"))?;
    Ok(Cow::Owned(bytes.cast_into::<PyBytes>()?.as_bytes().to_vec()))
}

/// Whether a member of a batch stands for no key: `None`, `NaN`, pandas' `NA` and `NaT`.
#[inline]
pub fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    if object.is_none() {
        return true;
    }
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        return number.value().is_nan();
    }
    if object.is_exact_instance_of::<PyString>() || object.is_exact_instance_of::<PyInt>() {
        return false;
    }
    object.get_type().name().is_ok_and(|name| name == "NAType" || name == "NaTType")
}

/// Whether this is one note, and not a row of them.
pub fn is_one(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
}
