//! Filters that threads use at once without a lock.
//!
//! Their verbs need no exclusive borrow, so the objects have no lock either.

use bouquet::capability::Multiplicity;
use bouquet::kind::Structure;
use bouquet::{AnyFilter, Bloom, Counting, SharedBlocked, SharedBloom, SharedCounting, SharedUltraFast};
use bouquet::{Blocked, UltraFast};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Column, Source, answer};
use crate::errors::OrRaise;
use crate::filter::{Filter, array, wrap};
use crate::keys;
use crate::settings;

/// What all shared filters can do.
trait Shared: Sized + Send + Sync {
    type Plain: Structure;

    fn of(plain: Self::Plain) -> bouquet::Result<Self>;
    fn insert_one(&self, key: &[u8]) -> bool;
    fn insert_all(&self, keys: &[&[u8]]) -> u64;
    fn test_one(&self, key: &[u8]) -> bool;
    fn test_all(&self, keys: &[&[u8]], answers: &mut [bool]);
    fn len(&self) -> u64;
    fn plain(&self) -> bouquet::Result<Self::Plain>;
}

macro_rules! shared {
    ($($shared:ty, $plain:ty, $of:expr, $snapshot:expr;)*) => {$(
        impl Shared for $shared {
            type Plain = $plain;

            fn of(plain: $plain) -> bouquet::Result<Self> {
                $of(plain)
            }

            fn insert_one(&self, key: &[u8]) -> bool {
                self.insert(key)
            }

            fn insert_all(&self, keys: &[&[u8]]) -> u64 {
                self.insert_batch(keys)
            }

            fn test_one(&self, key: &[u8]) -> bool {
                self.contains(key)
            }

            fn test_all(&self, keys: &[&[u8]], answers: &mut [bool]) {
                self.contains_batch(keys, answers);
            }

            fn len(&self) -> u64 {
                self.items()
            }

            fn plain(&self) -> bouquet::Result<$plain> {
                $snapshot(self)
            }
        }
    )*};
}

shared! {
    SharedBloom, Bloom, |plain| Ok(SharedBloom::from(plain)), |own: &SharedBloom| Ok(own.snapshot());
    SharedBlocked, Blocked, |plain| Ok(SharedBlocked::from(plain)), |own: &SharedBlocked| Ok(own.snapshot());
    SharedUltraFast, UltraFast, |plain| Ok(SharedUltraFast::from(plain)), |own: &SharedUltraFast| Ok(own.snapshot());
    SharedCounting, Counting, SharedCounting::try_from, SharedCounting::snapshot;
}

fn made<S: Shared>(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<S> {
    let config = settings::config(S::Plain::FACTS.id, keywords)?;
    py.detach(|| S::of(S::Plain::create(&config)?)).or_raise()
}

fn from_filter<S: Shared>(py: Python<'_>, filter: &Bound<'_, Filter>) -> PyResult<S> {
    let wanted = S::Plain::FACTS.id;
    let plain = filter.get().read_long(py, |filter| Ok(filter.downcast_ref::<S::Plain>().cloned()))?;
    let plain =
        plain.ok_or_else(|| PyTypeError::new_err(format!("only a filter of kind `{wanted}` becomes this one")))?;
    S::of(plain).or_raise()
}

fn add_many<S: Shared>(py: Python<'_>, shared: &S, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
    let fresh = std::cell::Cell::new(0);
    Source::of(keys)?.each(
        py,
        |column| {
            // One place per thread: its sum of new keys stands in the first.
            let mut sums = vec![0_u64; column.len()];
            py.detach(|| {
                answer(column, &mut sums, |range, part| {
                    column.each(range, |piece| {
                        if let Some(sum) = part.first_mut() {
                            *sum += shared.insert_all(piece.keys);
                        }
                        Ok(())
                    })
                })
            })
            .or_raise()?;
            fresh.set(fresh.get() + sums.iter().sum::<u64>());
            Ok(())
        },
        |piece, _| {
            fresh.set(fresh.get() + shared.insert_all(piece.keys));
            Ok(())
        },
    )?;
    Ok(fresh.get())
}

fn contains_many<'py, S: Shared>(py: Python<'py>, shared: &S, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let answers = std::cell::RefCell::new(Vec::<u8>::new());
    let put = |piece: &crate::columns::Piece<'_>, to: &mut [u8], first: usize| {
        let mut some = vec![false; piece.keys.len()];
        shared.test_all(piece.keys, &mut some);
        piece.places().zip(some).for_each(|(at, answer)| to[at - first] = answer.into());
    };
    Source::of(keys)?.each(
        py,
        |column: &Column| {
            let mut own = vec![0; column.len()];
            py.detach(|| {
                answer(column, &mut own, |range, part| {
                    let first = range.start;
                    column.each(range, |piece| {
                        put(&piece, part, first);
                        Ok(())
                    })
                })
            })
            .or_raise()?;
            answers.borrow_mut().append(&mut own);
            Ok(())
        },
        |piece, len| {
            let mut own = vec![0; len];
            put(&piece, &mut own, piece.first);
            answers.borrow_mut().append(&mut own);
            Ok(())
        },
    )?;
    array(py, &answers.into_inner(), "bool")
}

macro_rules! classes {
    ($($class:ident, $name:literal, $shared:ty, $doc:literal, { $($more:tt)* };)*) => {$(
        #[doc = $doc]
        #[pyclass(frozen, name = $name, module = "bouquet")]
        pub struct $class($shared);

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (**settings))]
            fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                made(py, settings).map($class)
            }

            /// The shared form of a copy of a filter.
            #[staticmethod]
            fn from_filter(py: Python<'_>, filter: &Bound<'_, Filter>) -> PyResult<Self> {
                from_filter(py, filter).map($class)
            }

            /// Puts a key in and says whether it was certainly new.
            fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
                Ok(self.0.insert_one(keys::key(key)?.as_bytes()))
            }

            /// Whether the key may be in the filter.
            fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
                Ok(self.0.test_one(keys::key(key)?.as_bytes()))
            }

            /// Puts many keys in, with all cores, and says how many were certainly new.
            fn add_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
                add_many(py, &self.0, keys)
            }

            /// Which of many keys may be in the filter.
            fn contains_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                contains_many(py, &self.0, keys)
            }

            /// How many insertions there were, less removals.
            fn __len__(&self) -> usize {
                usize::try_from(self.0.len()).unwrap_or(isize::MAX as usize)
            }

            /// The ordinary filter of the present content.
            fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                wrap(py, py.detach(|| AnyFilter::from_structure(self.0.plain()?)).or_raise()?)
            }

            $($more)*
        }
    )*};
}

classes! {
    PySharedBloom, "SharedBloom", SharedBloom,
        "A Bloom filter that threads use at once without a lock.", {};
    PySharedBlocked, "SharedBlocked", SharedBlocked,
        "A blocked Bloom filter that threads use at once without a lock.", {};
    PySharedUltraFast, "SharedUltraFast", SharedUltraFast,
        "An ultra-fast Bloom filter that threads use at once without a lock.", {};
    PySharedCounting, "SharedCounting", SharedCounting,
        "A counting Bloom filter that threads use at once without a lock.", {
            /// How often the key was put in, as far as the filter can tell.
            fn count(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
                let Multiplicity { count, .. } = self.0.count(keys::key(key)?.as_bytes());
                Ok(count)
            }

            /// Takes one occurrence of a key out; a key that is certainly absent raises NotPresentError.
            fn remove(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
                self.0.remove(keys::key(key)?.as_bytes()).or_raise()
            }
        };
}
