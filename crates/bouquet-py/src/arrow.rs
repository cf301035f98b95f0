//! Arrays of Arrow by its C data interface: the crate's only `unsafe` code.
//!
//! A producer (pyarrow, polars, DuckDB, pandas) hands over C structures in capsules: a schema that says what an array holds, and an
//! array that says where, or a stream of arrays. The layout of the structures, who frees them and what may be relied on is
//! specified at <https://arrow.apache.org/docs/format/CDataInterface.html>; the layout of the buffers at
//! <https://arrow.apache.org/docs/format/Columnar.html>. Nothing there can be checked by a reader beyond the lengths that the
//! structures name: a buffer is a pointer without a length. So what is relied on is named at each block as *the contract*:
//!
//! 1. a structure with a release callback is valid until that is called, and whoever holds it may move it;
//! 2. buffers have the places and lengths that the format gives them for `offset + length` items, and never change until the release;
//! 3. structures and buffers may be used from any thread, one at a time.
//!
//! All pointers stay in this file; what others see is a [`Chunk`], whose items are found by number and checked against its length.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

#[repr(C)]
struct RawSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut RawSchema,
    dictionary: *mut RawSchema,
    release: Option<unsafe extern "C" fn(*mut RawSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut RawArray,
    dictionary: *mut RawArray,
    release: Option<unsafe extern "C" fn(*mut RawArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct RawStream {
    get_schema: Option<unsafe extern "C" fn(*mut RawStream, *mut RawSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut RawStream, *mut RawArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut RawStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut RawStream)>,
    private_data: *mut c_void,
}

/// A structure that is ours: released when dropped.
struct Owned<T: Release>(T);

/// Structures with a release callback.
trait Release {
    /// One that was released, or never filled.
    const EMPTY: Self;

    fn release(&mut self);

    fn is_released(&self) -> bool;
}

macro_rules! release {
    ($raw:ty, $empty:expr) => {
        impl Release for $raw {
            const EMPTY: Self = $empty;

            fn release(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: contract 1: a structure that is not released yet is released once, by its own callback, which clears
                    // `release`.
                    unsafe { release(self) };
                }
            }

            fn is_released(&self) -> bool {
                self.release.is_none()
            }
        }
    };
}

release!(
    RawSchema,
    RawSchema {
        format: std::ptr::null(),
        name: std::ptr::null(),
        metadata: std::ptr::null(),
        flags: 0,
        n_children: 0,
        children: std::ptr::null_mut(),
        dictionary: std::ptr::null_mut(),
        release: None,
        private_data: std::ptr::null_mut(),
    }
);
release!(
    RawArray,
    RawArray {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: std::ptr::null_mut(),
        children: std::ptr::null_mut(),
        dictionary: std::ptr::null_mut(),
        release: None,
        private_data: std::ptr::null_mut(),
    }
);
release!(
    RawStream,
    RawStream {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: std::ptr::null_mut()
    }
);

impl<T: Release> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.release();
    }
}

// SAFETY: contract 3.
unsafe impl<T: Release> Send for Owned<T> {}
// SAFETY: contract 3, and nothing behind a shared reference is changed.
unsafe impl<T: Release> Sync for Owned<T> {}

/// Takes the structure out of a capsule of this name.
fn taken<T: Release>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<Owned<T>> {
    let pointer: NonNull<T> = capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast();
    // SAFETY: a capsule of this name holds a structure of this type, which the capsule keeps while `capsule` lives; contract 1 lets us
    // move it. What is left behind is marked as released, so that the capsule does not release it a second time.
    let structure = Owned(unsafe { pointer.as_ptr().replace(T::EMPTY) });
    if structure.0.is_released() {
        return Err(PyValueError::new_err("the Arrow data was taken by somebody else; give the array itself again"));
    }
    Ok(structure)
}

/// What the items of an array are, as far as they can be keys.
#[derive(Clone, Debug)]
enum Type {
    Null,
    Bool,
    Int {
        bytes: usize,
        signed: bool,
    },
    /// Bytes between two offsets of 4 or 8 bytes.
    Bytes {
        wide: bool,
    },
    Views,
    Fixed(usize),
    Dictionary(Box<Type>, Box<Type>),
    /// A table of one column.
    Only(Box<Type>),
}

/// Reads what a schema says.
fn type_of(schema: &RawSchema) -> PyResult<Type> {
    // SAFETY: contract 1: the format is a C string.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
    let int = |bytes, signed| Type::Int { bytes, signed };
    let own = match &*format {
        "n" => Type::Null,
        "b" => Type::Bool,
        "c" => int(1, true),
        "C" => int(1, false),
        "s" => int(2, true),
        "S" => int(2, false),
        "i" => int(4, true),
        "I" => int(4, false),
        "l" => int(8, true),
        "L" => int(8, false),
        "u" | "z" => Type::Bytes { wide: false },
        "U" | "Z" => Type::Bytes { wide: true },
        "vu" | "vz" => Type::Views,
        "+s" if schema.n_children == 1 => {
            // SAFETY: contract 1: as many children as it says, each a schema that lives as long as this one.
            return Ok(Type::Only(Box::new(type_of(unsafe { &**schema.children })?)));
        }
        "+s" => {
            let text = format!("keys are one column, and this table has {}; give table[\"name\"]", schema.n_children);
            return Err(PyValueError::new_err(text));
        }
        other => match other.strip_prefix("w:").and_then(|width| width.parse().ok()) {
            Some(width) => Type::Fixed(width),
            None => {
                let text = format!(
                    "Arrow's type `{other}` is no type of keys; keys are integers, booleans, text and bytes: \
                     cast the column to one of these"
                );
                return Err(PyTypeError::new_err(text));
            }
        },
    };
    if schema.dictionary.is_null() {
        return Ok(own);
    }
    // SAFETY: contract 1: a dictionary that is there is a schema that lives as long as this one.
    Ok(Type::Dictionary(Box::new(own), Box::new(type_of(unsafe { &*schema.dictionary })?)))
}

/// A bit for each item, from this bit on.
#[derive(Clone, Copy)]
struct Bits {
    start: *const u8,
    offset: usize,
}

impl Bits {
    /// # Safety
    ///
    /// The bit is within the buffer.
    #[inline]
    unsafe fn get(self, at: usize) -> bool {
        let at = at + self.offset;
        // SAFETY: the caller's promise.
        unsafe { *self.start.add(at / 8) >> (at % 8) & 1 == 1 }
    }
}

/// Where the items of an array lie, all pointers already moved by the array's offset.
enum Layout {
    Null,
    Bool(Bits),
    Int { start: *const u8, bytes: usize, signed: bool },
    Bytes32 { offsets: *const i32, data: *const u8 },
    Bytes64 { offsets: *const i64, data: *const u8 },
    Views { views: *const u8, buffers: Vec<*const u8> },
    Fixed { start: *const u8, width: usize },
    Dictionary { index: Box<Layout>, values: Box<View> },
}

/// An array without its owner.
struct View {
    len: usize,
    /// Bits of which one is 0 for a null.
    valid: Vec<Bits>,
    layout: Layout,
}

/// An array whose items are keys.
pub struct Chunk {
    view: View,
    /// Keeps the buffers.
    _owner: Owned<RawArray>,
}

// SAFETY: contract 2 and 3: the buffers never change, and nothing here does.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

const BROKEN: &str = "the Arrow array contradicts its schema";

/// The buffer of this number; a missing one is an error unless the array is empty.
fn buffer(array: &RawArray, at: usize) -> PyResult<*const u8> {
    if at as i64 >= array.n_buffers {
        return Err(PyValueError::new_err(BROKEN));
    }
    // SAFETY: contract 1: as many pointers to buffers as it says, and `at` is below that.
    let start = unsafe { *array.buffers.add(at) }.cast::<u8>();
    if start.is_null() && array.length > 0 {
        return Err(PyValueError::new_err(BROKEN));
    }
    Ok(start)
}

/// The items of an array of this type, without the first `skip` and `len` of them.
fn view_of(array: &RawArray, of: &Type, skip: usize, len: usize) -> PyResult<View> {
    let broken = || PyValueError::new_err(BROKEN);
    let offset = usize::try_from(array.offset).map_err(|_| broken())?.checked_add(skip).ok_or_else(broken)?;
    let held = usize::try_from(array.length).map_err(|_| broken())?;
    if skip.checked_add(len).is_none_or(|end| end > held) {
        return Err(broken());
    }
    let mut valid = Vec::new();
    let has_bitmap = !matches!(of, Type::Null) && array.n_buffers > 0 && array.null_count != 0;
    if has_bitmap {
        // SAFETY: contract 1: at least one pointer; the first is that of the bitmap, or null if nothing is.
        let start = unsafe { *array.buffers }.cast::<u8>();
        if !start.is_null() {
            valid.push(Bits { start, offset });
        }
    }
    let at = |start: *const u8, bytes: usize| start.wrapping_add(offset * bytes);
    let layout = match of {
        Type::Null => Layout::Null,
        Type::Bool => Layout::Bool(Bits { start: buffer(array, 1)?, offset }),
        &Type::Int { bytes, signed } => Layout::Int { start: at(buffer(array, 1)?, bytes), bytes, signed },
        &Type::Fixed(width) => Layout::Fixed { start: at(buffer(array, 1)?, width), width },
        Type::Bytes { wide } => {
            let offsets = at(buffer(array, 1)?, if *wide { 8 } else { 4 });
            // Of nothing but empty texts the data may be missing.
            // SAFETY: contract 1, with three buffers.
            let data = unsafe { *array.buffers.add((array.n_buffers > 2).then_some(2).ok_or_else(broken)?) }.cast();
            match wide {
                true => Layout::Bytes64 { offsets: offsets.cast(), data },
                false => Layout::Bytes32 { offsets: offsets.cast(), data },
            }
        }
        Type::Views => {
            let views = at(buffer(array, 1)?, 16);
            // The last buffer has the lengths of those before.
            let variadic = usize::try_from(array.n_buffers).map_err(|_| broken())?.saturating_sub(3);
            // SAFETY: contract 1: as many pointers as `n_buffers` says.
            let buffers = (0..variadic).map(|at| unsafe { *array.buffers.add(2 + at) }.cast()).collect();
            Layout::Views { views, buffers }
        }
        Type::Dictionary(index, values) => {
            if array.dictionary.is_null() {
                return Err(broken());
            }
            // SAFETY: contract 1: a dictionary that is there is an array that lives as long as this one.
            let dictionary = unsafe { &*array.dictionary };
            let held = usize::try_from(dictionary.length).map_err(|_| broken())?;
            let values = Box::new(view_of(dictionary, values, 0, held)?);
            let View { layout, .. } = view_of(array, index, skip, len)?;
            Layout::Dictionary { index: Box::new(layout), values }
        }
        Type::Only(column) => {
            if array.n_children != 1 {
                return Err(broken());
            }
            // SAFETY: contract 1: a child that is there is an array that lives as long as this one.
            let child = unsafe { &**array.children };
            let View { len, valid: own, layout } = view_of(child, column, offset, len)?;
            valid.extend(own);
            return Ok(View { len, valid, layout });
        }
    };
    Ok(View { len, valid, layout })
}

impl View {
    /// Whether item `at`, which is below the length, is there.
    #[inline]
    fn is_valid(&self, at: usize) -> bool {
        // SAFETY: contract 2: a bitmap has a bit for each item.
        self.valid.iter().all(|bits| unsafe { bits.get(at) })
    }
}

/// An item as key.
pub enum Cell<'a> {
    /// None.
    Null,
    /// A number, extended to 64 bits.
    Word(u64),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl View {
    #[inline]
    fn cell(&self, at: usize) -> Cell<'_> {
        if at >= self.len || !self.is_valid(at) {
            return Cell::Null;
        }
        self.layout.cell(at)
    }
}

impl Layout {
    /// The item at a place below the array's length.
    #[inline]
    fn cell(&self, at: usize) -> Cell<'_> {
        // SAFETY, for all arms: contract 2, and `at` is below the length: every item has its place in the buffers, offsets ascend within
        // the data, views point into their buffers. Bytes live as long as the array that `self` belongs to.
        match self {
            Layout::Null => Cell::Null,
            // SAFETY: as above.
            Layout::Bool(bits) => Cell::Word(unsafe { bits.get(at) }.into()),
            &Layout::Int { start, bytes, signed } => {
                // SAFETY: as above.
                Cell::Word(unsafe { integer(start.add(at * bytes), bytes, signed) })
            }
            &Layout::Bytes32 { offsets, data } => {
                // SAFETY: as above: one offset more than items.
                let [from, to] = unsafe { [offsets.add(at).read_unaligned(), offsets.add(at + 1).read_unaligned()] };
                // SAFETY: as above.
                Cell::Bytes(unsafe { slice(data, from.into(), to.into()) })
            }
            &Layout::Bytes64 { offsets, data } => {
                // SAFETY: as above: one offset more than items.
                let [from, to] = unsafe { [offsets.add(at).read_unaligned(), offsets.add(at + 1).read_unaligned()] };
                // SAFETY: as above.
                Cell::Bytes(unsafe { slice(data, from, to) })
            }
            Layout::Views { views, buffers } => {
                /// The longest text that lies in the view itself.
                const INLINE: i32 = 12;
                // SAFETY: as above: 16 bytes per view, whose first four are the length.
                let view = unsafe { views.add(16 * at) };
                // SAFETY: as above.
                let part = |at: usize| unsafe { view.add(at).cast::<i32>().read_unaligned() };
                let len = part(0);
                if len <= INLINE {
                    // SAFETY: as above: short text is behind the length.
                    return Cell::Bytes(unsafe { slice(view.add(4), 0, len.into()) });
                }
                match buffers.get(part(8) as usize) {
                    Some(&data) => {
                        // SAFETY: as above: buffer and offset are behind the prefix.
                        Cell::Bytes(unsafe { slice(data, part(12).into(), i64::from(part(12)) + i64::from(len)) })
                    }
                    None => Cell::Null,
                }
            }
            // SAFETY: as above.
            &Layout::Fixed { start, width } => Cell::Bytes(unsafe { slice(start.add(at * width), 0, width as i64) }),
            Layout::Dictionary { index, values } => match index.cell(at) {
                Cell::Word(at) => values.cell(usize::try_from(at).unwrap_or(usize::MAX)),
                _ => Cell::Null,
            },
        }
    }
}

/// The integer of this width, its sign extended.
///
/// # Safety
///
/// The bytes are there.
#[inline]
unsafe fn integer(start: *const u8, bytes: usize, signed: bool) -> u64 {
    // SAFETY: the caller's promise; integers of Arrow are little-endian on every machine that this is built for.
    unsafe {
        match (bytes, signed) {
            (8, _) => start.cast::<u64>().read_unaligned(),
            (4, true) => start.cast::<i32>().read_unaligned() as u64,
            (4, false) => start.cast::<u32>().read_unaligned().into(),
            (2, true) => start.cast::<i16>().read_unaligned() as u64,
            (2, false) => start.cast::<u16>().read_unaligned().into(),
            (_, true) => start.cast::<i8>().read() as u64,
            (_, false) => start.read().into(),
        }
    }
}

/// The bytes from one offset to another; none where these descend.
///
/// # Safety
///
/// The bytes are there for `'a` and do not change, if there are any.
#[inline]
unsafe fn slice<'a>(data: *const u8, from: i64, to: i64) -> &'a [u8] {
    if from < 0 || to <= from || data.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data.add(from as usize), (to - from) as usize) }
}

impl Chunk {
    fn new(owner: Owned<RawArray>, of: &Type) -> PyResult<Self> {
        let len = usize::try_from(owner.0.length).map_err(|_| PyValueError::new_err(BROKEN))?;
        let view = view_of(&owner.0, of, 0, len)?;
        Ok(Chunk { view, _owner: owner })
    }

    /// How many items there are, with nulls.
    pub fn len(&self) -> usize {
        self.view.len
    }

    /// The item at a place; null beyond the end.
    #[inline]
    pub fn cell(&self, at: usize) -> Cell<'_> {
        self.view.cell(at)
    }

    /// The numbers at these places of an array that has only such.
    pub fn words(&self, range: std::ops::Range<usize>, words: &mut [u64]) {
        for (word, at) in words.iter_mut().zip(range) {
            *word = if let Cell::Word(number) = self.cell(at) { number } else { 0 };
        }
    }

    /// Whether the items are numbers, and whether none is null.
    pub fn is_plain(&self) -> (bool, bool) {
        (matches!(self.view.layout, Layout::Int { .. } | Layout::Bool(_)), self.view.valid.is_empty())
    }
}

/// The arrays of an object, one after the other.
pub struct Chunks {
    of: Type,
    from: From,
}

enum From {
    Array(Option<Owned<RawArray>>),
    Stream(Box<Owned<RawStream>>),
}

impl Chunks {
    /// The arrays of an object that has some.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        if let Some(stream) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
            return Self::of_stream(py, taken(&stream.call0()?, c"arrow_array_stream")?).map(Some);
        }
        let Some(array) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? else { return Ok(None) };
        let pair = array.call0()?.cast_into::<PyTuple>()?;
        let schema = taken::<RawSchema>(&pair.get_item(0)?, c"arrow_schema")?;
        let array = taken(&pair.get_item(1)?, c"arrow_array")?;
        Ok(Some(Chunks { of: type_of(&schema.0)?, from: From::Array(Some(array)) }))
    }

    fn of_stream(py: Python<'_>, stream: Owned<RawStream>) -> PyResult<Self> {
        let mut stream = Box::new(stream);
        let schema = py.detach(|| stream.schema()).map_err(PyRuntimeError::new_err)?;
        Ok(Chunks { of: type_of(&schema.0)?, from: From::Stream(stream) })
    }

    /// The next array. What a stream does for it may need the interpreter in other threads, so it is not held meanwhile.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<Chunk>> {
        let array = match &mut self.from {
            From::Array(array) => array.take(),
            From::Stream(stream) => py.detach(|| stream.next()).map_err(PyRuntimeError::new_err)?,
        };
        array.map(|array| Chunk::new(array, &self.of)).transpose()
    }
}

impl Owned<RawStream> {
    fn schema(&mut self) -> Result<Owned<RawSchema>, String> {
        let mut schema = Owned(RawSchema::EMPTY);
        let get = self.0.get_schema.ok_or_else(|| BROKEN.to_string())?;
        // SAFETY: contract 1: the stream is not released; it fills the structure or says what is wrong.
        match unsafe { get(&mut self.0, &mut schema.0) } {
            0 => Ok(schema),
            code => Err(last_error(&mut self.0, code)),
        }
    }

    fn next(&mut self) -> Result<Option<Owned<RawArray>>, String> {
        let mut array = Owned(RawArray::EMPTY);
        let get = self.0.get_next.ok_or_else(|| BROKEN.to_string())?;
        // SAFETY: contract 1: the stream is not released; it fills the structure, leaves it released at its end, or says what is wrong.
        match unsafe { get(&mut self.0, &mut array.0) } {
            0 => Ok(Some(array).filter(|array| !array.0.is_released())),
            code => Err(last_error(&mut self.0, code)),
        }
    }
}

/// What a stream says of its last error.
fn last_error(stream: &mut RawStream, code: c_int) -> String {
    // SAFETY: contract 1: the stream is not released; the text is a C string or null and stays until the next call.
    let text = stream.get_last_error.map(|get| unsafe { get(stream) }).filter(|text| !text.is_null());
    text.map_or(format!("the Arrow stream failed with code {code}"), |text| {
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    })
}
