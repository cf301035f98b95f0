//! The filter of any kind as a Python object.
//!
//! The object is never exclusively borrowed: its filter is behind a lock of its own. Who waits for the lock does so without the
//! interpreter, and nobody runs Python while holding it, so that no order of threads can block for ever.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, TryLockError};

use bouquet::capability::{Answer, Item, Listing, Multiplicity, Value, Verdict};
use bouquet::codec::Pace;
use bouquet::hash::Secret;
use bouquet::kind::{Kind, Verb};
use bouquet::{AnyFilter, Error, ForeignFormat, MappedFilter, OpenOptions, registry};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};

use crate::columns::{Column, Source, answer};
use crate::errors::{self, OrRaise, raise, record};
use crate::keys::{self, key};
use crate::notes::{Notes, OwnNote};
use crate::{settings, special};

/// A filter of any kind.
#[pyclass(frozen, subclass, name = "Filter", module = "bouquet._native")]
pub struct Filter {
    kind: &'static Kind,
    state: RwLock<State>,
}

enum State {
    Memory(AnyFilter),
    File(Box<MappedFilter>),
    Closed,
}

impl State {
    fn get(&self) -> bouquet::Result<&AnyFilter> {
        match self {
            State::Memory(filter) => Ok(filter),
            State::File(filter) => Ok(filter),
            State::Closed => Err(closed()),
        }
    }

    fn get_mut(&mut self) -> bouquet::Result<&mut AnyFilter> {
        match self {
            State::Memory(filter) => Ok(filter),
            State::File(filter) => Ok(filter),
            State::Closed => Err(closed()),
        }
    }
}

#[cold]
fn closed() -> Error {
    Error::NotInPlace { what: "the file was closed".into(), remedy: "open it again".into() }
}

/// A filter on its way into an object of its kind's class.
#[pyclass(frozen, module = "bouquet._native")]
pub struct Ready(RwLock<Option<State>>);

/// The classes by kind, which the package makes when it is imported.
static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Takes the classes of the kinds.
#[pyfunction]
pub fn register(py: Python<'_>, classes: Bound<'_, PyDict>) {
    let _ = CLASSES.set(py, classes.unbind());
}

/// The filter as an object of its kind's class.
pub fn wrap(py: Python<'_>, filter: AnyFilter) -> PyResult<Bound<'_, PyAny>> {
    wrap_state(py, filter.kind(), State::Memory(filter))
}

fn wrap_state<'py>(py: Python<'py>, kind: &'static Kind, state: State) -> PyResult<Bound<'py, PyAny>> {
    let class = CLASSES.get(py).map(|classes| classes.bind(py).get_item(kind.facts().id)).transpose()?.flatten();
    let class = class.unwrap_or_else(|| py.get_type::<Filter>().into_any());
    let ready = Bound::new(py, Ready(RwLock::new(Some(state))))?;
    py.get_type::<Filter>().getattr(intern!(py, "__new__"))?.call1((class, ready))
}

impl Filter {
    /// Runs on the filter at once, as single calls do.
    #[inline]
    fn read<R>(&self, py: Python<'_>, run: impl FnOnce(&AnyFilter) -> bouquet::Result<R>) -> PyResult<R> {
        loop {
            match self.state.try_read() {
                Ok(state) => return run(state.get().or_raise()?).or_raise(),
                Err(TryLockError::Poisoned(state)) => return run(state.into_inner().get().or_raise()?).or_raise(),
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.state.read())),
            }
        }
    }

    #[inline]
    fn write<R>(&self, py: Python<'_>, run: impl FnOnce(&mut AnyFilter) -> bouquet::Result<R>) -> PyResult<R> {
        loop {
            match self.state.try_write() {
                Ok(mut state) => return run(state.get_mut().or_raise()?).or_raise(),
                Err(TryLockError::Poisoned(state)) => return run(state.into_inner().get_mut().or_raise()?).or_raise(),
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.state.write())),
            }
        }
    }

    /// Runs on the filter without the interpreter, as what takes long does.
    pub fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&AnyFilter) -> bouquet::Result<R> + Send,
    ) -> PyResult<R> {
        py.detach(|| run(self.state.read().unwrap_or_else(PoisonError::into_inner).get()?)).or_raise()
    }

    fn write_long<R: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut AnyFilter) -> bouquet::Result<R> + Send,
    ) -> PyResult<R> {
        py.detach(|| run(self.state.write().unwrap_or_else(PoisonError::into_inner).get_mut()?)).or_raise()
    }

    /// Changes one filter by another. Of two objects the locks are taken in the order of their addresses.
    fn change_by(
        &self,
        py: Python<'_>,
        other: &Filter,
        run: impl FnOnce(&mut AnyFilter, &AnyFilter) -> bouquet::Result<()> + Send,
    ) -> PyResult<()> {
        if std::ptr::eq(self, other) {
            let copy = self.read_long(py, |filter| Ok(filter.clone()))?;
            return self.write_long(py, |filter| run(filter, &copy));
        }
        py.detach(|| {
            let is_first = std::ptr::from_ref(self) < std::ptr::from_ref(other);
            let early = (!is_first).then(|| other.state.read().unwrap_or_else(PoisonError::into_inner));
            let mut own = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let theirs = early.unwrap_or_else(|| other.state.read().unwrap_or_else(PoisonError::into_inner));
            run(own.get_mut()?, theirs.get()?)
        })
        .or_raise()
    }

    /// Reads two filters. The same order of locks as where one is changed.
    fn read_two<R: Send>(
        &self,
        py: Python<'_>,
        other: &Filter,
        run: impl FnOnce(&AnyFilter, &AnyFilter) -> bouquet::Result<R> + Send,
    ) -> PyResult<R> {
        if std::ptr::eq(self, other) {
            return self.read_long(py, |filter| run(filter, filter));
        }
        py.detach(|| {
            let is_first = std::ptr::from_ref(self) < std::ptr::from_ref(other);
            let (early, late) = if is_first { (self, other) } else { (other, self) };
            let early = early.state.read().unwrap_or_else(PoisonError::into_inner);
            let late = late.state.read().unwrap_or_else(PoisonError::into_inner);
            let (own, theirs) = if is_first { (early, late) } else { (late, early) };
            run(own.get()?, theirs.get()?)
        })
        .or_raise()
    }

    fn copied(&self, py: Python<'_>) -> PyResult<AnyFilter> {
        self.read_long(py, |filter| Ok(filter.clone()))
    }

    fn combined<'py>(
        &self,
        py: Python<'py>,
        other: &Filter,
        run: impl FnOnce(&mut AnyFilter, &AnyFilter) -> bouquet::Result<()> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = self.read_two(py, other, |own, theirs| {
            let mut made = own.clone();
            run(&mut made, theirs)?;
            Ok(made)
        })?;
        wrap(py, made)
    }
}

/// The answer of `count` as plain number.
fn counted(found: Multiplicity) -> u64 {
    found.count
}

fn value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
    }
}

fn got<'py>(py: Python<'py>, answer: &Answer) -> PyResult<Option<Bound<'py, PyAny>>> {
    match answer {
        Answer::Value(found) => value(py, found).map(Some),
        Answer::Absent => Ok(None),
        Answer::Unknown => record(py, "UNKNOWN").map(Some),
    }
}

fn listing<'py>(py: Python<'py>, found: &Listing) -> PyResult<Bound<'py, PyAny>> {
    let entry = record(py, "Entry")?;
    let entries = found.entries.iter().map(|found| {
        let value = found.value.as_ref().map(|found| value(py, found)).transpose()?;
        entry.call1((PyBytes::new(py, &found.key), value, found.count))
    });
    let entries = PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?;
    record(py, "Listing")?.call1((entries, found.undecoded))
}

/// An estimate of keys.
pub fn estimate<'py>(py: Python<'py>, found: &bouquet::capability::Estimate) -> PyResult<Bound<'py, PyAny>> {
    record(py, "Estimate")?.call1((found.keys, found.standard_error, found.saturated))
}

fn secret_of(secret: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Secret>> {
    secret.map(|secret| Secret::new(&keys::bytes(secret)?).or_raise()).transpose()
}

/// The words that open a frame.
fn options(
    secret: Option<&Bound<'_, PyAny>>,
    allow_locked: bool,
    allow_unauthenticated: bool,
    max_fill: Option<f64>,
) -> PyResult<OpenOptions> {
    Ok(OpenOptions {
        secret: secret_of(secret)?,
        allow_locked,
        allow_unauthenticated,
        max_fill,
        ..OpenOptions::default()
    })
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (kind, settings=None))]
    fn new(kind: &Bound<'_, PyAny>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        if let Ok(ready) = kind.cast::<Ready>() {
            let state = ready.get().0.write().unwrap_or_else(PoisonError::into_inner).take();
            let state = state.ok_or_else(|| PyValueError::new_err("it was taken already"))?;
            let kind = state.get().or_raise()?.kind();
            return Ok(Filter { kind, state: RwLock::new(state) });
        }
        let config = settings::config(&kind.extract::<String>()?, settings)?;
        let filter = kind.py().detach(|| AnyFilter::new(&config)).or_raise()?;
        Ok(Filter { kind: filter.kind(), state: RwLock::new(State::Memory(filter)) })
    }

    /// Whether the key may be in the filter; `False` is certain unless the kind declares false negatives.
    #[inline]
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let bytes = keys::key(key)?;
        self.read(key.py(), |filter| Ok(filter.contains()?.contains(bytes.as_bytes())))
    }

    /// Whether the key may be in the filter, as `key in filter`.
    fn contains(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__contains__(key)
    }

    /// Puts a key in, with what it carries, and says whether it was certainly new.
    #[pyo3(signature = (key, note=None))]
    fn add(&self, key: &Bound<'_, PyAny>, note: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let note = match note {
            None => OwnNote::None,
            Some(_) => OwnNote::of(note, self.read(py, |filter| Ok(filter.note()))?)?,
        };
        self.write(py, |filter| filter.insert()?.insert(Item::new(bytes.as_bytes(), note.note())))
    }

    /// Takes one occurrence of a key out; a key that is certainly absent raises NotPresentError.
    #[pyo3(signature = (key, note=None))]
    fn remove(&self, key: &Bound<'_, PyAny>, note: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let note = OwnNote::of(note, self.read(py, |filter| Ok(filter.note()))?)?;
        self.write(py, |filter| filter.remove()?.remove(Item::new(bytes.as_bytes(), note.note())))
    }

    /// As remove, but a key that is certainly absent is left alone; says whether something was removed.
    #[pyo3(signature = (key, note=None))]
    fn discard(&self, key: &Bound<'_, PyAny>, note: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let note = OwnNote::of(note, self.read(py, |filter| Ok(filter.note()))?)?;
        self.write(py, |filter| match filter.remove()?.remove(Item::new(bytes.as_bytes(), note.note())) {
            Ok(()) => Ok(true),
            Err(Error::NotPresent) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// How often the key was put in, as far as the filter can tell.
    fn count(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let bytes = keys::key(key)?;
        self.read(key.py(), |filter| Ok(counted(filter.count()?.count(bytes.as_bytes()))))
    }

    /// The count, and whether a counter is at its end, so that the truth may be larger.
    fn multiplicity<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let found = self.read(py, |filter| Ok(filter.count()?.count(bytes.as_bytes())))?;
        record(py, "Multiplicity")?.call1((found.count, found.at_least))
    }

    /// The value of a key: `default` if it is certainly absent, UNKNOWN if the filter cannot tell.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let answer = self.read(py, |filter| Ok(filter.get()?.get(bytes.as_bytes())))?;
        Ok(got(py, &answer)?.or(default))
    }

    /// Gives a key that is in the filter another value.
    fn set(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let note = OwnNote::of(Some(value), self.read(py, |filter| Ok(filter.note()))?)?;
        self.write(py, |filter| filter.set()?.set(Item::new(bytes.as_bytes(), note.note())))
    }

    /// The numbers of the sets that may hold the key.
    fn classify(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let bytes = keys::key(key)?;
        self.read(key.py(), |filter| Ok(filter.classify()?.classify(bytes.as_bytes())))
    }

    /// What the filter says of a key: `in`, `out`, `undetermined` (to be looked up elsewhere) or `unknown` (no key of its universe).
    fn judge(&self, key: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let bytes = keys::key(key)?;
        self.read(key.py(), |filter| Ok(filter.judge()?.judge(bytes.as_bytes()).name()))
    }

    /// What the filter says of many keys; `unknown` of missing ones.
    fn judge_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Vec<&'static str>> {
        let verdicts = self.answers(
            py,
            keys,
            |filter, keys, verdicts| {
                filter.judge()?.judge_batch(keys, verdicts);
                Ok(())
            },
            Verdict::Unknown,
        )?;
        Ok(verdicts.into_iter().map(Verdict::name).collect())
    }

    /// The probability that a key is a member, given what was thought before; without a prior that of the filter's own model.
    #[pyo3(signature = (key, prior=None))]
    fn probability(&self, key: &Bound<'_, PyAny>, prior: Option<f64>) -> PyResult<f64> {
        let bytes = keys::key(key)?;
        self.read(key.py(), |filter| filter.weigh()?.probability(bytes.as_bytes(), prior))
    }

    /// The probabilities of many keys: an array of numbers. Missing keys have none (NaN).
    #[pyo3(signature = (keys, prior=None))]
    fn probability_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        prior: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let answers = self.answers(
            py,
            keys,
            |filter, keys, answers| {
                answers.iter_mut().zip(filter.weigh()?.probabilities(keys, prior)?).for_each(|(to, of)| *to = of);
                Ok(())
            },
            f64::NAN,
        )?;
        array(py, &answers.iter().flat_map(|answer| answer.to_ne_bytes()).collect::<Vec<_>>(), "float64")
    }

    /// The value of a key, or its count where the kind counts.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if !self.kind.can(Verb::Get) {
            return self.count(key)?.into_bound_py_any(py);
        }
        let bytes = keys::key(key)?;
        let answer = self.read(py, |filter| Ok(filter.get()?.get(bytes.as_bytes())))?;
        got(py, &answer)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    /// Gives a key a value, whether it is in the filter or not.
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = key.py();
        let bytes = keys::key(key)?;
        let note = OwnNote::of(Some(value), self.read(py, |filter| Ok(filter.note()))?)?;
        self.write(py, |filter| {
            let item = Item::new(bytes.as_bytes(), note.note());
            if !filter.can(Verb::Insert) {
                return filter.set()?.set(item);
            }
            if filter.can(Verb::Set) {
                match filter.set()?.set(item) {
                    Err(Error::NotPresent) => {}
                    outcome => return outcome,
                }
            }
            filter.insert()?.insert(item).map(drop)
        })
    }

    /// Takes a key out, as remove.
    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.remove(key, None)
    }

    /// Puts many keys in and says how many were certainly new.
    ///
    /// `keys` is a NumPy array, an Arrow array or table of one column, a pandas or polars series, or anything that can be
    /// iterated; missing values are left out. `notes` is what they carry: one for each, or one for all.
    #[pyo3(signature = (keys, notes=None))]
    fn add_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        notes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<u64> {
        let notes = Notes::of(notes, self.read(py, |filter| Ok(filter.note()))?)?;
        let (mut fresh, mut seen) = (0, 0);
        let fresh_of = std::cell::Cell::new(0);
        let seen_of = std::cell::Cell::new(0);
        Source::of(keys)?.each(
            py,
            |column| {
                let (first, end) = (seen_of.get(), seen_of.get() + column.len());
                notes.check_end(end)?;
                seen_of.set(end);
                let added = self.write_long(py, |filter| insert_column(filter, column, &notes, first))?;
                fresh_of.set(fresh_of.get() + added);
                Ok(())
            },
            |piece, len| {
                notes.check_end(piece.first + len)?;
                let items: Vec<Item<'_>> =
                    piece.keys.iter().zip(piece.places()).map(|(key, at)| notes.item(key, at)).collect();
                fresh += self.write(py, |filter| filter.insert()?.insert_batch(&items))?;
                seen = piece.first + len;
                Ok(())
            },
        )?;
        notes.check_len(seen.max(seen_of.get()))?;
        Ok(fresh + fresh_of.get())
    }

    /// Which of many keys may be in the filter: an array of booleans. Missing values are not.
    fn contains_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let of_words = |filter: &AnyFilter, words: &[u64], answers: &mut [bool]| {
            filter.contains()?.contains_words(words, answers);
            Ok(())
        };
        let answers = self.answers_or_words(
            py,
            keys,
            |filter, keys, answers| {
                filter.contains()?.contains_batch(keys, answers);
                Ok(())
            },
            Some(&of_words),
            false,
        )?;
        array(py, &answers.iter().map(|answer| u8::from(*answer)).collect::<Vec<_>>(), "bool")
    }

    /// How often each of many keys was put in: an array of numbers, 0 for missing values.
    fn count_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let answers = self.answers(
            py,
            keys,
            |filter, keys, answers| {
                let counts = filter.count()?;
                keys.iter().zip(answers).for_each(|(key, answer)| *answer = counted(counts.count(key)));
                Ok(())
            },
            0,
        )?;
        array(py, &answers.iter().flat_map(|count| count.to_ne_bytes()).collect::<Vec<_>>(), "uint64")
    }

    /// The values of many keys; None for those that are certainly absent.
    fn get_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let answers = self.answers(
            py,
            keys,
            |filter, keys, answers| {
                let values = filter.get()?;
                keys.iter().zip(answers).for_each(|(key, answer)| *answer = values.get(key));
                Ok(())
            },
            Answer::Absent,
        )?;
        PyList::new(py, answers.iter().map(|answer| got(py, answer)).collect::<PyResult<Vec<_>>>()?)
    }

    /// The sets that may hold each of many keys.
    fn classify_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Vec<Vec<u64>>> {
        self.answers(
            py,
            keys,
            |filter, keys, answers| {
                let sets = filter.classify()?;
                keys.iter().zip(answers).for_each(|(key, answer)| *answer = sets.classify(key));
                Ok(())
            },
            Vec::new(),
        )
    }

    /// Takes one occurrence of each of many keys out, and says how many there were. Those that are certainly absent are left alone.
    #[pyo3(signature = (keys, notes=None))]
    fn remove_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        notes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<u64> {
        let notes = Notes::of(notes, self.read(py, |filter| Ok(filter.note()))?)?;
        let removed = std::cell::Cell::new(0);
        let seen = std::cell::Cell::new(0);
        Source::of(keys)?.each(
            py,
            |column| {
                let first = seen.get();
                seen.set(first + column.len());
                notes.check_end(seen.get())?;
                let count = self.write_long(py, |filter| {
                    let mut count = 0;
                    column.each(0..column.len(), |piece| {
                        let items = piece.keys.iter().zip(piece.places());
                        count += remove_all(filter, items.map(|(key, at)| notes.item(key, first + at)))?;
                        Ok::<(), Error>(())
                    })?;
                    Ok(count)
                })?;
                removed.set(removed.get() + count);
                Ok(())
            },
            |piece, len| {
                notes.check_end(piece.first + len)?;
                let items = piece.keys.iter().zip(piece.places()).map(|(key, at)| notes.item(key, at));
                removed.set(removed.get() + self.write(py, |filter| remove_all(filter, items))?);
                seen.set(piece.first + len);
                Ok(())
            },
        )?;
        notes.check_len(seen.get())?;
        Ok(removed.get())
    }

    /// Puts in what it is given: the keys of iterables, or the content of other filters.
    #[pyo3(signature = (*others))]
    fn update<'py>(&self, py: Python<'py>, others: &Bound<'py, PyTuple>) -> PyResult<()> {
        for other in others.iter() {
            match other.cast::<Filter>() {
                Ok(filter) => self.change_by(py, filter.get(), AnyFilter::merge)?,
                Err(_) => drop(self.add_many(py, &other, None)?),
            }
        }
        Ok(())
    }

    /// Everything that can be read back, and what could not be decoded.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        listing(py, &self.read_long(py, |filter| Ok(filter.list()?.list()))?)
    }

    /// The keys that can be read back, as bytes.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.read_long(py, |filter| Ok(filter.list()?.list()))?;
        let keys = PyList::new(py, found.entries.iter().map(|entry| PyBytes::new(py, &entry.key)))?;
        Ok(keys.try_iter()?.into_any())
    }

    /// The most frequent keys, in falling order.
    #[pyo3(signature = (most=None))]
    fn top<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let found = self.read_long(py, |filter| Ok(filter.top()?.top()))?;
        let frequent = record(py, "Frequent")?;
        let rows = found
            .iter()
            .take(most.unwrap_or(usize::MAX))
            .map(|found| frequent.call1((PyBytes::new(py, &found.key), found.count.count, found.count.at_least)));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// The counts of all keys together, as far as they can be told from the counters: the least and the most of each.
    fn decode<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let held = gathered(py, keys)?;
        let slices: Vec<&[u8]> = held.iter().map(Vec::as_slice).collect();
        let found = self.read_long(py, |filter| filter.decode()?.decode(&slices))?;
        let counts: Vec<(u64, u64)> = found.counts.iter().map(|range| (*range.start(), *range.end())).collect();
        record(py, "Decoding")?.call1((counts, found.consistent))
    }

    /// Lets time pass.
    #[pyo3(signature = (ticks=1))]
    fn advance(&self, py: Python<'_>, ticks: u64) -> PyResult<()> {
        self.write_long(py, |filter| {
            filter.advance()?.advance(ticks);
            Ok(())
        })
    }

    /// Gives the ticks of a filter that forgets a length in seconds, from now (or `since`, in seconds since 1970) on; None takes it away.
    #[pyo3(signature = (seconds, since=None))]
    fn set_pace(&self, py: Python<'_>, seconds: Option<u64>, since: Option<u64>) -> PyResult<()> {
        if seconds == Some(0) {
            return Err(PyValueError::new_err("a tick has at least one second"));
        }
        let pace = seconds.map(|seconds| Pace { second: since.unwrap_or_else(seconds_now), seconds });
        self.write(py, |filter| filter.set_pace(pace))
    }

    /// When the last tick was, in seconds since 1970, and how many seconds a tick has; None without a pace.
    #[getter]
    fn pace(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        Ok(self.read(py, |filter| Ok(filter.pace()))?.map(|pace| (pace.second, pace.seconds)))
    }

    /// Lets the ticks pass that are due by now (or by `now`, in seconds since 1970), and says how many: none without a pace.
    #[pyo3(signature = (now=None))]
    fn catch_up(&self, py: Python<'_>, now: Option<u64>) -> PyResult<u64> {
        let now = now.unwrap_or_else(seconds_now);
        self.write_long(py, |filter| filter.catch_up(now))
    }

    /// Makes room for more keys.
    fn grow(&self, py: Python<'_>) -> PyResult<()> {
        self.write_long(py, |filter| filter.grow()?.grow())
    }

    /// The keys that there is room for, of kinds that grow when told to.
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.write(py, |filter| Ok(filter.grow()?.capacity()))
    }

    /// Makes this filter the union of itself and another.
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<()> {
        self.change_by(py, other.get(), AnyFilter::merge)
    }

    /// Makes this filter the intersection of itself and another.
    fn intersect(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<()> {
        self.change_by(py, other.get(), AnyFilter::intersect)
    }

    /// Takes the content of another filter out of this one.
    fn subtract(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<()> {
        self.change_by(py, other.get(), AnyFilter::subtract)
    }

    /// What one filter has and the other has not, of kinds that can be subtracted and listed.
    fn difference<'py>(&self, py: Python<'py>, other: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyAny>> {
        listing(py, &self.read_two(py, other.get(), |own, theirs| own.difference(theirs))?)
    }

    fn __or__<'py>(&self, py: Python<'py>, other: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyAny>> {
        self.combined(py, other.get(), AnyFilter::merge)
    }

    fn __and__<'py>(&self, py: Python<'py>, other: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyAny>> {
        self.combined(py, other.get(), AnyFilter::intersect)
    }

    fn __sub__<'py>(&self, py: Python<'py>, other: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyAny>> {
        self.combined(py, other.get(), AnyFilter::subtract)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, Filter>) -> PyResult<()> {
        slf.get().merge(slf.py(), other)
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, Filter>) -> PyResult<()> {
        slf.get().intersect(slf.py(), other)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, Filter>) -> PyResult<()> {
        slf.get().subtract(slf.py(), other)
    }

    /// The union of this filter and others.
    #[pyo3(signature = (*others))]
    fn union<'py>(&self, py: Python<'py>, others: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let made = wrap(py, self.copied(py)?)?;
        made.cast::<Filter>()?.get().update(py, others)?;
        Ok(made)
    }

    /// The intersection of this filter and others.
    #[pyo3(signature = (*others))]
    fn intersection<'py>(&self, py: Python<'py>, others: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let made = wrap(py, self.copied(py)?)?;
        for other in others.iter() {
            made.cast::<Filter>()?.get().intersect(py, other.cast::<Filter>()?)?;
        }
        Ok(made)
    }

    /// How many distinct keys the filter seems to have; with another filter, how many both have together and in common.
    #[pyo3(signature = (other=None))]
    fn estimate<'py>(&self, py: Python<'py>, other: Option<&Bound<'py, Filter>>) -> PyResult<Bound<'py, PyAny>> {
        let Some(other) = other else {
            return estimate(py, &self.read_long(py, AnyFilter::cardinality)?);
        };
        let found = self.read_two(py, other.get(), |own, theirs| own.overlap(theirs))?;
        let (union, common) = (estimate(py, &found.union)?, estimate(py, &found.intersection)?);
        record(py, "Overlap")?.call1((union, common, found.jaccard))
    }

    /// The bits that a compressed form needs at least.
    fn entropy_bits(&self, py: Python<'_>) -> PyResult<f64> {
        self.read_long(py, |filter| Ok(filter.compress()?.entropy_bits()))
    }

    /// Asks what only this kind can tell.
    #[pyo3(signature = (question, argument=None, note=None))]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        question: &str,
        argument: Option<&Bound<'py, PyAny>>,
        note: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = special::Given::of(self.kind, question, false, argument, note, self.read(py, |f| Ok(f.note()))?)?;
        let reply = match &given {
            special::Given::Filter(other) => {
                self.read_two(py, other.get(), |own, other| own.ask(question, other.as_argument()))?
            }
            given => self.read_long(py, |filter| filter.ask(question, given.argument()?))?,
        };
        special::reply(py, reply)
    }

    /// Does what only this kind can do.
    #[pyo3(signature = (action, argument=None, note=None))]
    fn act<'py>(
        &self,
        py: Python<'py>,
        action: &str,
        argument: Option<&Bound<'py, PyAny>>,
        note: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = special::Given::of(self.kind, action, true, argument, note, self.read(py, |f| Ok(f.note()))?)?;
        let mut reply = None;
        match &given {
            special::Given::Filter(other) => self.change_by(py, other.get(), |own, other| {
                reply = Some(own.act(action, other.as_argument())?);
                Ok(())
            })?,
            given => reply = Some(self.write_long(py, |filter| filter.act(action, given.argument()?))?),
        }
        reply.map_or_else(|| Ok(py.None().into_bound(py)), |reply| special::reply(py, reply))
    }

    /// How many keys the filter counts as its own: insertions less removals.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.read(py, |filter| Ok(filter.stats().items))?).unwrap_or(isize::MAX as usize))
    }

    /// The present state: items, bits, hashes, fill and the false-positive rate that follows.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.read_long(py, |filter| Ok(filter.stats()))?;
        record(py, "Stats")?.call1((stats.items, stats.bits, stats.hashes, stats.fill, stats.fpr))
    }

    /// What else the kind tells of its present state, by name.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = self.read_long(py, |filter| Ok(filter.figures()))?;
        let told = PyDict::new(py);
        for figure in figures {
            told.set_item(figure.name, settings::value(py, figure.value)?)?;
        }
        Ok(told)
    }

    /// The rates that theory expects with this many distinct keys.
    fn expected<'py>(&self, py: Python<'py>, items: u64) -> PyResult<Bound<'py, PyAny>> {
        let rates = self.read_long(py, |filter| Ok(filter.expected(items)))?;
        record(py, "Rates")?.call1((
            rates.false_positive,
            rates.false_negative,
            rates.over_count,
            rates.spurious_value,
            rates.spurious_sets,
            rates.missing_sets,
            rates.unknown,
        ))
    }

    /// The kind's name.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.facts().id
    }

    /// The settings by name.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = self.read(py, |filter| Ok(filter.config()))?;
        settings::dict(py, &config)
    }

    /// The false-positive rate at present, as far as the kind can tell.
    #[getter]
    fn fpr(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.read_long(py, |filter| Ok(filter.stats()))?.fpr)
    }

    /// Whether the filter is keyed with a secret.
    #[getter]
    fn is_keyed(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |filter| Ok(filter.hashing().id().is_keyed()))
    }

    /// Whether this filter has the verb: its kind does, and its settings are those that the verb needs.
    fn can(&self, py: Python<'_>, verb: &str) -> PyResult<bool> {
        let found = Verb::from_name(verb);
        let Some(found) = found else {
            let all: Vec<_> = Verb::ALL.iter().map(|verb| verb.name()).collect();
            return Err(PyValueError::new_err(format!("there is no verb `{verb}`; the verbs are {}", all.join(", "))));
        };
        self.read(py, |filter| Ok(filter.can(found)))
    }

    /// The frame: the same bytes in every language and on every machine.
    #[pyo3(signature = (*, compressed=false))]
    fn to_bytes<'py>(&self, py: Python<'py>, compressed: bool) -> PyResult<Bound<'py, PyBytes>> {
        let frame =
            self.read_long(py, |filter| Ok(if compressed { filter.to_compressed_bytes() } else { filter.to_bytes() }))?;
        Ok(PyBytes::new(py, &frame))
    }

    /// Writes the frame to a file, which is replaced whole or not at all.
    #[pyo3(signature = (path, *, compressed=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, compressed: bool) -> PyResult<()> {
        self.read_long(py, |filter| if compressed { filter.save_compressed(&path) } else { filter.save(&path) })
    }

    /// The patch that makes of this filter the newer one.
    fn delta<'py>(&self, py: Python<'py>, newer: &Bound<'py, Filter>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read_two(py, newer.get(), |own, newer| own.delta(newer))?))
    }

    /// The newer filter that a patch makes of this one.
    fn patched<'py>(&self, py: Python<'py>, patch: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let patch = keys::bytes(patch)?;
        let made = self.read_long(py, |filter| filter.patched(&patch))?;
        wrap(py, made)
    }

    /// The bytes that another program takes for its own filter.
    fn to_foreign<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = ForeignFormat::find(format).or_raise()?;
        Ok(PyBytes::new(py, &self.read_long(py, |filter| format.write(filter))?))
    }

    /// A copy that shares nothing.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap(py, self.copied(py)?)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.copy(py)
    }

    fn __deepcopy__<'py>(&self, py: Python<'py>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.copy(py)
    }

    /// An empty filter of the same kind and settings.
    fn empty<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap(py, self.read_long(py, |filter| AnyFilter::new(&filter.config()))?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        if self.is_keyed(py)? {
            return Err(errors::named(
                py,
                "SecretError",
                "a keyed filter is not pickled, for the pickle would need its secret; \
                 send to_bytes() and open it with from_bytes(data, secret=...)"
                    .into(),
            )?);
        }
        Ok((py.import("bouquet")?.getattr("from_bytes")?, (self.to_bytes(py, false)?,)))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Filter>() else { return Ok(py.NotImplemented()) };
        let same = std::ptr::eq(self, other.get())
            || self.kind.facts().id == other.get().kind.facts().id
                && self.read_two(py, other.get(), |own, theirs| {
                    Ok(own.config() == theirs.config() && own.to_bytes() == theirs.to_bytes())
                })?;
        same.into_py_any(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (py, class) = (slf.py(), slf.get_type().name()?);
        let told = slf.get().read(py, |filter| {
            let config = filter.config();
            let settings: Vec<_> =
                config.settings().map(|(of, setting)| format!("{}={setting}", of.name.replace('-', "_"))).collect();
            Ok(format!("{class}({}) with {} keys", settings.join(", "), filter.stats().items))
        });
        Ok(told.map_or_else(|_| format!("<closed {class}>"), |told| format!("<{told}>")))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Closes the file, whether the block ended well or not: what was changed is in the file already.
    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    /// Gives up the memory, the map or the file; a writable file is valid again.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            match std::mem::replace(&mut *state, State::Closed) {
                State::File(file) => file.close(),
                State::Memory(_) | State::Closed => Ok(()),
            }
        })
        .or_raise()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| matches!(*self.state.read().unwrap_or_else(PoisonError::into_inner), State::Closed))
    }
}

impl Filter {
    /// The answers of a batch, in the order of its keys; `missing` where there is no key.
    fn answers<'py, T: Clone + Send + Sync>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        run: impl Fn(&AnyFilter, &[&[u8]], &mut [T]) -> bouquet::Result<()> + Sync,
        missing: T,
    ) -> PyResult<Vec<T>> {
        self.answers_or_words(py, keys, run, None, missing)
    }

    /// As [`answers`](Self::answers), with a way of its own for columns of numbers.
    fn answers_or_words<'py, T: Clone + Send + Sync>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        run: impl Fn(&AnyFilter, &[&[u8]], &mut [T]) -> bouquet::Result<()> + Sync,
        of_words: Option<&OfWords<'_, T>>,
        missing: T,
    ) -> PyResult<Vec<T>> {
        let answers = std::cell::RefCell::new(Vec::new());
        let put = |filter: &AnyFilter, piece: &crate::columns::Piece<'_>, to: &mut [T], first: usize| match piece.places
        {
            None => run(filter, piece.keys, &mut to[piece.first - first..][..piece.keys.len()]),
            Some(_) => {
                let mut some = vec![missing.clone(); piece.keys.len()];
                run(filter, piece.keys, &mut some)?;
                piece.places().zip(some).for_each(|(at, answer)| to[at - first] = answer);
                Ok(())
            }
        };
        Source::of(keys)?.each(
            py,
            |column| {
                let mut own = vec![missing.clone(); column.len()];
                self.read_long(py, |filter| {
                    answer(column, &mut own, |range, part| {
                        let first = range.start;
                        match of_words {
                            Some(run) if column.is_words() => column.each_words(range, |at, words| {
                                run(filter, words, &mut part[at - first..][..words.len()])
                            }),
                            _ => column.each(range, |piece| put(filter, &piece, part, first)),
                        }
                    })
                })?;
                answers.borrow_mut().append(&mut own);
                Ok(())
            },
            |piece, len| {
                let mut own = vec![missing.clone(); len];
                self.read(py, |filter| put(filter, &piece, &mut own, piece.first))?;
                answers.borrow_mut().append(&mut own);
                Ok(())
            },
        )?;
        Ok(answers.into_inner())
    }
}

/// Answers numbers.
type OfWords<'a, T> = dyn Fn(&AnyFilter, &[u64], &mut [T]) -> bouquet::Result<()> + Sync + 'a;

/// Inserts a column whose first key has this place among the notes.
fn insert_column(filter: &mut AnyFilter, column: &Column, notes: &Notes, first: usize) -> bouquet::Result<u64> {
    let insert = filter.insert()?;
    let mut fresh = 0;
    column.each(0..column.len(), |piece| {
        let items: Vec<Item<'_>> =
            piece.keys.iter().zip(piece.places()).map(|(key, at)| notes.item(key, first + at)).collect();
        fresh += insert.insert_batch(&items)?;
        Ok::<(), Error>(())
    })?;
    Ok(fresh)
}

fn remove_all<'a>(filter: &mut AnyFilter, items: impl Iterator<Item = Item<'a>>) -> bouquet::Result<u64> {
    let remove = filter.remove()?;
    let mut count = 0;
    for item in items {
        match remove.remove(item) {
            Ok(()) => count += 1,
            Err(Error::NotPresent) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// How late it is, in seconds since 1970.
fn seconds_now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The bytes of all keys of a batch, without missing ones.
pub fn gathered(py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
    let held = std::cell::RefCell::new(Vec::new());
    let keep = |piece: crate::columns::Piece<'_>| {
        held.borrow_mut().extend(piece.keys.iter().map(|key| key.to_vec()));
        Ok(())
    };
    Source::of(keys)?.each(py, |column| column.each(0..column.len(), keep), |piece, _| keep(piece))?;
    Ok(held.into_inner())
}

/// An array of NumPy, or a view of the same items where NumPy is missing.
pub fn array<'py>(py: Python<'py>, bytes: &[u8], of: &str) -> PyResult<Bound<'py, PyAny>> {
    let bytes = pyo3::types::PyByteArray::new(py, bytes);
    let format = match of {
        "bool" => "?",
        "float64" => "d",
        _ => "Q",
    };
    match py.import("numpy") {
        Ok(numpy) => numpy.call_method1(intern!(py, "frombuffer"), (bytes, of)),
        Err(_) => pyo3::types::PyMemoryView::from(&bytes)?.call_method1("cast", (format,)),
    }
}

/// Builds a filter of keys, whether its kind is built once or filled key by key.
#[pyfunction]
#[pyo3(signature = (kind, settings, keys, notes=None, absent=None, absent_notes=None))]
pub fn build<'py>(
    py: Python<'py>,
    kind: &str,
    settings: Option<&Bound<'py, PyDict>>,
    keys: &Bound<'py, PyAny>,
    notes: Option<&Bound<'py, PyAny>>,
    absent: Option<&Bound<'py, PyAny>>,
    absent_notes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut config = settings::config(kind, settings)?;
    let kind = registry::find(kind).or_raise()?;
    let notes = Notes::of(notes, kind.note(&config))?;
    let held = gathered(py, keys)?;
    notes.check_len(held.len())?;
    let absent = absent.map(|absent| gathered(py, absent)).transpose()?.unwrap_or_default();
    let absent_notes = Notes::of(absent_notes, kind.note(&config))?;
    absent_notes.check_len(absent.len())?;
    if !config.is_set("items")
        && kind.facts().parameters.iter().any(|of| of.name == "items")
        && AnyFilter::new(&config).is_err()
    {
        // As many as there are, where nothing else says how large.
        config = config.set("items", &held.len().max(1).to_string()).or_raise()?;
    }
    let made = py.detach(|| {
        let items: Vec<Item<'_>> = held.iter().enumerate().map(|(at, key)| notes.item(key, at)).collect();
        let absent: Vec<Item<'_>> = absent.iter().enumerate().map(|(at, key)| absent_notes.item(key, at)).collect();
        AnyFilter::build(&config, &bouquet::capability::Dataset { items: &items, absent: &absent })
    });
    wrap(py, made.or_raise()?)
}

/// The filter of a frame.
#[pyfunction]
#[pyo3(signature = (data, *, secret=None, allow_locked=false, allow_unauthenticated=false, max_fill=None))]
pub fn from_bytes<'py>(
    data: &Bound<'py, PyAny>,
    secret: Option<&Bound<'py, PyAny>>,
    allow_locked: bool,
    allow_unauthenticated: bool,
    max_fill: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let options = options(secret, allow_locked, allow_unauthenticated, max_fill)?;
    let frame = keys::bytes(data)?;
    wrap(py, py.detach(|| AnyFilter::from_bytes_with(&frame, &options)).or_raise()?)
}

/// The filter of a file.
#[pyfunction]
#[pyo3(signature = (path, *, mapped=false, writable=false, secret=None, allow_locked=false, allow_unauthenticated=false, max_fill=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    mapped: bool,
    writable: bool,
    secret: Option<&Bound<'py, PyAny>>,
    allow_locked: bool,
    allow_unauthenticated: bool,
    max_fill: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = options(secret, allow_locked, allow_unauthenticated, max_fill)?;
    if writable {
        let file = py.detach(|| AnyFilter::open_writable(&path, &options)).or_raise()?;
        let kind = file.kind();
        return wrap_state(py, kind, State::File(Box::new(file)));
    }
    let opened = py.detach(|| match mapped {
        true => AnyFilter::open_mapped(&path, &options),
        false => AnyFilter::open(&path, &options),
    });
    wrap(py, opened.or_raise()?)
}

/// The filter that another program wrote.
#[pyfunction]
pub fn from_foreign<'py>(format: &str, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let bytes = keys::bytes(data)?;
    wrap(data.py(), ForeignFormat::find(format).or_raise()?.read(&bytes).or_raise()?)
}

/// The bytes of a key: what every front end of the library hashes for it.
#[pyfunction]
pub fn key_bytes<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(object.py(), key(object)?.as_bytes()))
}

/// A secret of 32 random bytes for a keyed filter.
#[pyfunction]
pub fn random_secret(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, Secret::random().or_raise()?.expose()))
}

/// The class of a kind, for those who subclass nothing.
#[pyfunction]
pub fn class_of<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyType>> {
    let id = registry::find(kind).map_err(raise)?.facts().id;
    let classes = CLASSES.get(py).ok_or_else(|| PyTypeError::new_err("the package is being imported"))?;
    let class = classes.bind(py).get_item(id)?.ok_or_else(|| PyTypeError::new_err("the kind has no class"))?;
    Ok(class.cast_into::<PyType>()?)
}
