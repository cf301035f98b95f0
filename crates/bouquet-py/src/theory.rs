//! The formulas, from a table that the build makes of their sources.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{Borrowed, IntoPyObjectExt};

use crate::errors::record;

/// A formula.
struct Function {
    module: &'static str,
    name: &'static str,
    doc: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    returns: &'static str,
    call: fn(&Arguments<'_, '_>) -> PyResult<Value>,
}

/// What a formula was given.
struct Arguments<'a, 'py>(&'a Bound<'py, PyTuple>);

impl Arguments<'_, '_> {
    fn get<T>(&self, at: usize) -> PyResult<T>
    where
        T: for<'b, 'py> FromPyObject<'b, 'py>,
    {
        let object: Borrowed<'_, '_, PyAny> = self.0.get_borrowed_item(at)?;
        object.extract().map_err(Into::into)
    }
}

/// What a formula gives back.
enum Value {
    None,
    Integer(i128),
    Real(f64),
    Truth(bool),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Record(&'static str, Vec<(&'static str, Value)>),
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(number: $integer) -> Self {
                Value::Integer(number as i128)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, usize, i32, i64);

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Real(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Truth(truth)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::None, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<A: Into<Value>, B: Into<Value>> From<(A, B)> for Value {
    fn from((a, b): (A, B)) -> Self {
        Value::Tuple(vec![a.into(), b.into()])
    }
}

impl Value {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let all =
            |values: Vec<Value>| values.into_iter().map(|value| value.into_python(py)).collect::<PyResult<Vec<_>>>();
        match self {
            Value::None => Ok(py.None().into_bound(py)),
            Value::Integer(number) => number.into_bound_py_any(py),
            Value::Real(number) => number.into_bound_py_any(py),
            Value::Truth(truth) => truth.into_bound_py_any(py),
            Value::List(values) => Ok(PyList::new(py, all(values)?)?.into_any()),
            Value::Tuple(values) => Ok(PyTuple::new(py, all(values)?)?.into_any()),
            Value::Record(name, fields) => {
                let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
                record(py, "theory_record")?.call1((name, names, all(values)?))
            }
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/theory.rs"));

/// The modules of the formulas, with what they are about.
#[pyfunction]
pub fn theory_modules() -> Vec<(&'static str, &'static str)> {
    MODULES.to_vec()
}

/// The formulas: module, name, documentation, parameters with their types, and what is given back.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a row of a table")]
pub fn theory_functions()
-> Vec<(&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)], &'static str)> {
    FUNCTIONS.iter().map(|of| (of.module, of.name, of.doc, of.parameters, of.returns)).collect()
}

/// Computes the formula of this number.
#[pyfunction]
pub fn theory_call<'py>(
    py: Python<'py>,
    number: usize,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let function = FUNCTIONS.get(number).ok_or_else(|| PyTypeError::new_err("there is no formula of this number"))?;
    (function.call)(&Arguments(arguments))?.into_python(py)
}
