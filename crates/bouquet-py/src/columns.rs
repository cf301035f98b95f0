//! Whole columns of keys: arrays of NumPy, Arrow and pandas, and whatever can be iterated.
//!
//! A column owns or keeps what it reads, so that it can be used while the interpreter goes on with other threads. Memory that
//! Python may change (the buffer protocol) is copied once; Arrow's never changes and is read where it lies.

use std::ops::Range;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyMemoryView, PyString};

use crate::arrow::{Cell, Chunk, Chunks};
use crate::keys::{self, Key};

/// Keys that are looked up at once: enough that a call costs nothing, and their bytes stay in the first-level cache.
const PIECE: usize = 1024;

/// Columns from this length on are shared among threads.
const SHARED: usize = 1 << 16;

/// Keys that need no interpreter.
pub enum Column {
    /// Items of one width, from a buffer.
    Items { bytes: PyBackedBytes, width: usize, of: Items },
    /// An array of Arrow.
    Arrow(Chunk),
}

/// What the items of a buffer are.
#[derive(Clone, Copy)]
pub enum Items {
    /// Integers, extended to 64 bits, with the high byte first or last.
    Integers { signed: bool, big: bool },
    /// Bytes, which end before the zeros that fill them up.
    Bytes,
    /// Text of four bytes per character, which ends before the zeros that fill it up.
    Text { big: bool },
}

/// Some keys of a column, without those that are missing.
pub struct Piece<'a> {
    /// The place of the first in the column.
    pub first: usize,
    /// The keys.
    pub keys: &'a [&'a [u8]],
    /// Their places behind the first, if some are missing.
    pub places: Option<&'a [u32]>,
}

impl Piece<'_> {
    /// The places of the keys in the column.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.keys.len()).map(|at| self.first + self.places.map_or(at, |places| places[at] as usize))
    }
}

impl Column {
    /// How many items there are, missing ones too.
    pub fn len(&self) -> usize {
        match self {
            Column::Items { bytes, width, .. } => bytes.len() / width,
            Column::Arrow(chunk) => chunk.len(),
        }
    }

    /// Whether all keys are 64-bit numbers and none is missing.
    pub fn is_words(&self) -> bool {
        match self {
            Column::Items { of, .. } => matches!(of, Items::Integers { .. }),
            Column::Arrow(chunk) => chunk.is_plain() == (true, true),
        }
    }

    /// Goes over the numbers of a column of them, piece by piece: `run` gets the place of the first of a piece.
    pub fn each_words<E>(
        &self,
        range: Range<usize>,
        mut run: impl FnMut(usize, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut words = [0; PIECE];
        for first in range.clone().step_by(PIECE) {
            let range = first..range.end.min(first + PIECE);
            match self {
                Column::Items { bytes, width: 8, of: Items::Integers { big: false, .. } } => {
                    let items = bytes[range.start * 8..range.end * 8].as_chunks().0;
                    words.iter_mut().zip(items).for_each(|(word, item)| *word = u64::from_le_bytes(*item));
                }
                Column::Items { bytes, width, of: Items::Integers { signed, big } } => {
                    let items = bytes[range.start * width..range.end * width].chunks_exact(*width);
                    words.iter_mut().zip(items).for_each(|(word, item)| *word = widened(item, *signed, *big));
                }
                Column::Items { .. } => {}
                Column::Arrow(chunk) => chunk.words(range.clone(), &mut words),
            }
            run(first, &words[..range.len()])?;
        }
        Ok(())
    }

    /// Goes over the keys of these places, piece by piece.
    pub fn each<E>(&self, range: Range<usize>, mut run: impl FnMut(Piece<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut words = [[0; 8]; PIECE];
        let mut text = Vec::new();
        for first in range.clone().step_by(PIECE) {
            let range = first..range.end.min(first + PIECE);
            match self {
                // They are as keys are, already.
                Column::Items { bytes, width: 8, of: Items::Integers { big: false, .. } } => {
                    let keys: Vec<&[u8]> = bytes[range.start * 8..range.end * 8].chunks_exact(8).collect();
                    run(Piece { first, keys: &keys, places: None })?;
                }
                column if column.is_words() => column.each_words(range, |_, numbers| {
                    words.iter_mut().zip(numbers).for_each(|(word, number)| *word = number.to_le_bytes());
                    let keys: Vec<&[u8]> = words[..numbers.len()].iter().map(<[u8; 8]>::as_slice).collect();
                    run(Piece { first, keys: &keys, places: None })
                })?,
                Column::Items { bytes, width, of: Items::Bytes } => {
                    let items = bytes[range.start * width..range.end * width].chunks_exact(*width);
                    let keys: Vec<&[u8]> = items.map(without_zeros).collect();
                    run(Piece { first, keys: &keys, places: None })?;
                }
                Column::Items { bytes, width, of: Items::Text { big } } => {
                    text.clear();
                    let items = bytes[range.start * width..range.end * width].chunks_exact(*width);
                    let ends: Vec<usize> = items.map(|item| utf8(item, *big, &mut text)).collect();
                    let mut start = 0;
                    let keys: Vec<&[u8]> =
                        ends.iter().map(|&end| &text[std::mem::replace(&mut start, end)..end]).collect();
                    run(Piece { first, keys: &keys, places: None })?;
                }
                Column::Items { .. } => {}
                Column::Arrow(chunk) => sparse(chunk, range, &mut words, &mut run)?,
            }
        }
        Ok(())
    }
}

/// Keys of any type, of which some may be missing.
fn sparse<E>(
    chunk: &Chunk,
    range: Range<usize>,
    words: &mut [[u8; 8]; PIECE],
    run: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let first = range.start;
    let mut keys: Vec<&[u8]> = Vec::with_capacity(range.len());
    let mut places: Vec<u32> = Vec::with_capacity(range.len());
    for ((at, place), word) in range.clone().zip(0..).zip(words.iter_mut()) {
        match chunk.cell(at) {
            Cell::Null => continue,
            Cell::Bytes(bytes) => keys.push(bytes),
            Cell::Word(number) => {
                *word = number.to_le_bytes();
                keys.push(word);
            }
        }
        places.push(place);
    }
    let is_dense = keys.len() == range.len();
    run(Piece { first, keys: &keys, places: (!is_dense).then_some(&places) })
}

/// An integer of a buffer, extended to 64 bits.
fn widened(item: &[u8], signed: bool, big: bool) -> u64 {
    let (mut bytes, width) = ([0; 8], item.len());
    bytes[..width].copy_from_slice(item);
    if big {
        bytes[..width].reverse();
    }
    if signed && bytes[width - 1] >= 0x80 {
        bytes[width..].fill(0xff);
    }
    u64::from_le_bytes(bytes)
}

fn without_zeros(item: &[u8]) -> &[u8] {
    let len = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &item[..len]
}

/// Appends the UTF-8 of text of four bytes per character, and says where it ends.
fn utf8(item: &[u8], big: bool, out: &mut Vec<u8>) -> usize {
    let characters = item.chunks_exact(4).map(|bytes| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    });
    let (mut zeros, mut buffer) = (0, [0; 4]);
    for code in characters {
        if code == 0 {
            zeros += 1;
            continue;
        }
        // Zeros inside of a text are characters of it.
        out.extend(std::iter::repeat_n(0, std::mem::take(&mut zeros)));
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
    out.len()
}

/// Where a batch of keys comes from.
pub enum Source<'py> {
    /// One column.
    Column(Option<Column>),
    /// Arrays of Arrow, one after the other.
    Arrow(Chunks),
    /// Objects, one after the other.
    Objects(Bound<'py, PyIterator>),
}

impl<'py> Source<'py> {
    /// The keys of an array, a series or anything that can be iterated.
    pub fn of(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = keys.py();
        if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() || keys.is_instance_of::<PyByteArray>()
        {
            return Err(PyTypeError::new_err(
                "this is one key, and many are wanted: give a list, or use the verb for one key",
            ));
        }
        if let Some(chunks) = Chunks::of(keys)? {
            return Ok(Source::Arrow(chunks));
        }
        // pandas before version 3 has Arrow's interface for tables only.
        if let (Some(array), Some(_)) = (keys.getattr_opt(intern!(py, "array"))?, keys.getattr_opt("to_numpy")?) {
            if let Some(arrow) = array.getattr_opt(intern!(py, "__arrow_array__"))?
                && let Ok(arrow) = arrow.call0()
                && let Some(chunks) = Chunks::of(&arrow)?
            {
                return Ok(Source::Arrow(chunks));
            }
            return Self::of_buffer(&keys.call_method0(intern!(py, "to_numpy"))?);
        }
        Self::of_buffer(keys)
    }

    fn of_buffer(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = keys.py();
        let Ok(view) = PyMemoryView::from(keys) else { return Ok(Source::Objects(keys.try_iter()?)) };
        let format: String = view.getattr(intern!(py, "format"))?.extract()?;
        if format == "O" {
            return Ok(Source::Objects(keys.try_iter()?));
        }
        if view.getattr(intern!(py, "ndim"))?.extract::<usize>()? != 1 {
            return Err(PyValueError::new_err(
                "keys are one column; this array has another number of dimensions: give array.ravel()",
            ));
        }
        let width: usize = view.getattr(intern!(py, "itemsize"))?.extract()?;
        let of = items_of(&format)?;
        if width == 0 {
            return Err(PyValueError::new_err("the items of this array have no bytes"));
        }
        // The one copy: bytes never change.
        let bytes = view.call_method0(intern!(py, "tobytes"))?.cast_into::<PyBytes>()?.into();
        Ok(Source::Column(Some(Column::Items { bytes, width, of })))
    }

    /// Goes over the keys: columns need no interpreter, objects do.
    pub fn each(
        self,
        py: Python<'py>,
        mut column: impl FnMut(&Column) -> PyResult<()>,
        mut objects: impl FnMut(Piece<'_>, usize) -> PyResult<()>,
    ) -> PyResult<()> {
        match self {
            Source::Column(own) => own.iter().try_for_each(column),
            Source::Arrow(mut chunks) => {
                while let Some(chunk) = chunks.next(py)? {
                    column(&Column::Arrow(chunk))?;
                }
                Ok(())
            }
            Source::Objects(mut iterator) => {
                let mut first = 0;
                loop {
                    let held: Vec<Bound<'py, PyAny>> = iterator.by_ref().take(PIECE).collect::<PyResult<_>>()?;
                    if held.is_empty() {
                        return Ok(());
                    }
                    let (mut made, mut places): (Vec<Key<'_>>, Vec<u32>) = (Vec::with_capacity(held.len()), Vec::new());
                    for (object, place) in held.iter().zip(0..) {
                        if !keys::is_missing(object) {
                            made.push(keys::key(object)?);
                            places.push(place);
                        }
                    }
                    let keys: Vec<&[u8]> = made.iter().map(Key::as_bytes).collect();
                    let is_dense = places.len() == held.len();
                    objects(Piece { first, keys: &keys, places: (!is_dense).then_some(&places) }, held.len())?;
                    first += held.len();
                }
            }
        }
    }
}

/// What items of a format of the buffer protocol are.
fn items_of(format: &str) -> PyResult<Items> {
    let (big, of) = match format.as_bytes() {
        [b'>' | b'!', rest @ ..] => (true, rest),
        [b'<', rest @ ..] => (false, rest),
        [b'@' | b'=', rest @ ..] => (cfg!(target_endian = "big"), rest),
        all => (cfg!(target_endian = "big"), all),
    };
    Ok(match of {
        [b'b' | b'h' | b'i' | b'l' | b'q' | b'n'] => Items::Integers { signed: true, big },
        [b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' | b'?'] => Items::Integers { signed: false, big },
        [count @ .., b's'] if count.iter().all(u8::is_ascii_digit) => Items::Bytes,
        [count @ .., b'w'] if count.iter().all(u8::is_ascii_digit) => Items::Text { big },
        _ => {
            let text = format!(
                "items of format `{format}` are no keys; keys are integers, text and bytes: \
                 give array.astype(\"int64\"), array.view(\"int64\") or a list"
            );
            return Err(PyTypeError::new_err(text));
        }
    })
}

/// Fills the answers of a column, with several threads if it is long.
pub fn answer<T: Send>(
    column: &Column,
    answers: &mut [T],
    run: impl Fn(Range<usize>, &mut [T]) -> bouquet::Result<()> + Sync,
) -> bouquet::Result<()> {
    let len = column.len();
    let threads = if len < SHARED { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    if threads == 1 {
        return run(0..len, answers);
    }
    let share = len.div_ceil(threads);
    std::thread::scope(|scope| {
        let run = &run;
        let parts: Vec<_> = answers
            .chunks_mut(share)
            .enumerate()
            .map(|(at, part)| scope.spawn(move || run(at * share..at * share + part.len(), part)))
            .collect();
        // A panic of a thread goes on here.
        parts.into_iter().try_for_each(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
