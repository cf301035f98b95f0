"""Whole columns: every source gives the answers of single keys."""

from __future__ import annotations

import random
from typing import Any

import bouquet
import numpy
import pandas
import polars
import pyarrow
import pytest

WORDS = [random.Random(7).choice(["", "a", "rose", "Blüte", "x" * 12, "y" * 13, "z" * 300]) + str(n) for n in range(3000)]
NUMBERS = [random.Random(n).randrange(-(2**63), 2**63) for n in range(3000)]
SMALL = [n % 100 for n in range(3000)]


def answers(filter: bouquet.Filter, keys: Any) -> list[bool]:
    """The answers of single keys; missing ones are not in."""
    return [key is not None and key in filter for key in keys]


@pytest.fixture(scope="module")
def full() -> bouquet.Filter:
    made = bouquet.Bloom(items=10_000, fpr=0.001)
    made.update(WORDS[::2], NUMBERS[::2], range(0, 100, 2))
    return made


def with_nulls(keys: list[Any]) -> list[Any]:
    return [None if at % 7 == 3 else key for at, key in enumerate(keys)]


@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">u8", "?"])
def test_numbers_of_numpy(full: bouquet.Filter, code: str) -> None:
    keys = numpy.array(SMALL).astype(code) if code not in ("i8",) else numpy.array(NUMBERS, dtype="i8")
    found = full.contains_many(keys)
    assert found.dtype == bool and found.tolist() == answers(full, keys.tolist())
    assert full.contains_many(keys[::3]).tolist() == found.tolist()[::3]
    assert full.contains_many(keys[::-1]).tolist() == found.tolist()[::-1]
    assert len(full.contains_many(keys[:0])) == 0


def test_text_and_bytes_of_numpy(full: bouquet.Filter) -> None:
    expected = answers(full, WORDS)
    assert full.contains_many(numpy.array(WORDS)).tolist() == expected
    assert full.contains_many(numpy.array(WORDS).astype(">U303")).tolist() == expected
    assert full.contains_many(numpy.array([word.encode() for word in WORDS])).tolist() == expected
    assert full.contains_many(numpy.array(with_nulls(WORDS), dtype=object)).tolist() == answers(full, with_nulls(WORDS))


ARROW_TYPES = [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()]


@pytest.mark.parametrize("of", ARROW_TYPES, ids=str)
def test_text_of_arrow(full: bouquet.Filter, of: pyarrow.DataType) -> None:
    for words in (WORDS, with_nulls(WORDS), [""] * 5, [None] * 5, []):
        keys = pyarrow.array(words, type=pyarrow.string()).cast(of)
        expected = answers(full, words)
        assert full.contains_many(keys).tolist() == expected
        for start in (1, 8, 13):
            assert full.contains_many(keys[start:]).tolist() == expected[start:]
        chunked = pyarrow.chunked_array([keys[:10], keys[10:10], keys[10:]], type=of)
        assert full.contains_many(chunked).tolist() == expected
        table = pyarrow.table({"key": chunked})
        assert full.contains_many(table).tolist() == expected
        assert full.contains_many(table.slice(5)).tolist() == expected[5:]


@pytest.mark.parametrize("of", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_numbers_of_arrow(full: bouquet.Filter, of: str) -> None:
    small = [n % 2 == 1 for n in SMALL] if of == "bool" else SMALL
    wide = NUMBERS if of == "int64" else small
    for numbers in (wide, with_nulls(wide)):
        keys = pyarrow.array(numbers, type=getattr(pyarrow, "bool_" if of == "bool" else of)())
        assert full.contains_many(keys).tolist() == answers(full, numbers)
        assert full.contains_many(keys[11:]).tolist() == answers(full, numbers[11:])


def test_other_types_of_arrow(full: bouquet.Filter) -> None:
    coded = pyarrow.array(with_nulls(WORDS)).dictionary_encode()
    assert full.contains_many(coded).tolist() == answers(full, with_nulls(WORDS))
    assert full.contains_many(coded[9:]).tolist() == answers(full, with_nulls(WORDS)[9:])
    coded = pyarrow.array(with_nulls(SMALL)).dictionary_encode()
    assert full.contains_many(coded).tolist() == answers(full, with_nulls(SMALL))
    fixed = pyarrow.array([b"rose", None, b"lily"], type=pyarrow.binary(4))
    assert full.contains_many(fixed).tolist() == answers(full, [b"rose", None, b"lily"])
    assert full.contains_many(pyarrow.nulls(3)).tolist() == [False] * 3
    struct = pyarrow.StructArray.from_arrays([pyarrow.array(SMALL)], ["key"], mask=pyarrow.array([n % 3 == 0 for n in range(3000)]))
    expected = [n % 3 != 0 and key in full for n, key in enumerate(SMALL)]
    assert full.contains_many(struct).tolist() == expected
    assert full.contains_many(struct[4:]).tolist() == expected[4:]
    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("k", pyarrow.int64())]), pyarrow.table({"k": SMALL}).to_batches(100))
    assert full.contains_many(reader).tolist() == answers(full, SMALL)
    with pytest.raises(TypeError, match="no type of keys"):
        full.contains_many(pyarrow.array([1.5]))
    with pytest.raises(ValueError, match="this table has 2"):
        full.contains_many(pyarrow.table({"a": [1], "b": [2]}))


def test_polars_pandas_and_duckdb(full: bouquet.Filter) -> None:
    import duckdb

    for keys in (WORDS, NUMBERS, with_nulls(WORDS), with_nulls(NUMBERS)):
        expected = answers(full, keys)
        assert full.contains_many(polars.Series(keys)).tolist() == expected
        assert full.contains_many(polars.DataFrame({"key": keys})).tolist() == expected
        assert full.contains_many(pandas.Series(keys, dtype="Int64" if keys[0] == NUMBERS[0] else "string")).tolist() == expected
        rows = pyarrow.table({"key": keys})
        assert rows.num_rows and full.contains_many(duckdb.sql("select key from rows")).tolist() == expected
    assert full.contains_many(pandas.Series(WORDS)).tolist() == answers(full, WORDS)
    assert full.contains_many(pandas.Series(with_nulls(WORDS))).tolist() == answers(full, with_nulls(WORDS))
    assert full.contains_many(pandas.Series(WORDS, dtype="category")).tolist() == answers(full, WORDS)
    assert full.contains_many(pandas.Series(NUMBERS)).tolist() == answers(full, NUMBERS)
    assert full.contains_many(pandas.Index(NUMBERS)).tolist() == answers(full, NUMBERS)
    assert full.contains_many(polars.Series(WORDS, dtype=polars.Categorical)).tolist() == answers(full, WORDS)


def test_whatever_can_be_iterated(full: bouquet.Filter) -> None:
    mixed = [*WORDS[:1500], *NUMBERS[:1500], None, float("nan"), pandas.NA]
    expected = [*answers(full, WORDS[:1500]), *answers(full, NUMBERS[:1500]), False, False, False]
    for keys in (mixed, tuple(mixed), iter(mixed)):
        assert full.contains_many(keys).tolist() == expected
    with pytest.raises(TypeError, match="one key"):
        full.contains_many("rose")
    with pytest.raises(TypeError, match="no keys"):
        full.contains_many(numpy.array([1.5]))
    with pytest.raises(ValueError, match="ravel"):
        full.contains_many(numpy.zeros((2, 2), dtype="i8"))
    with pytest.raises(TypeError, match="a key is str"):
        full.contains_many(["rose", object()])


@pytest.mark.parametrize("make", [list, numpy.array, pyarrow.array, polars.Series, pandas.Series])
@pytest.mark.parametrize("keys", [WORDS, NUMBERS], ids=["words", "numbers"])
def test_adding_many_is_adding_each(make: Any, keys: list[Any]) -> None:
    one, many = bouquet.Counting(items=10_000), bouquet.Counting(items=10_000)
    fresh = sum(one.add(key) for key in keys)
    assert many.add_many(make(keys)) == fresh and many == one
    assert many.remove_many(make(keys[:1000])) == 1000
    for key in keys[:1000]:
        one.remove(key)
    assert many == one
    assert many.count_many(make(keys)).tolist() == [one.count(key) for key in keys]


def test_notes_come_with_their_keys() -> None:
    keys, values = list(range(2000)), [n % 250 for n in range(2000)]
    made = [bouquet.Iblt(items=2500, value_bytes=8) for _ in range(3)]
    texts = [str(value).rjust(8) for value in values]
    made[0].add_many(keys, notes=texts)
    made[1].add_many(numpy.array(keys), notes=numpy.array(texts, dtype=object))
    made[2].add_many(pyarrow.chunked_array([keys[:99], keys[99:]]), notes=texts)
    assert made[0] == made[1] == made[2]
    with pytest.raises(ValueError, match="3 keys and 2 notes"):
        bouquet.FilterBank(sets=3, items=10).add_many([1, 2, 3], notes=[0, 1])
    with pytest.raises(ValueError, match="notes"):
        bouquet.FilterBank(sets=3, items=10).add_many([1, 2], notes=[0, 1, 2])
    bank = bouquet.FilterBank(sets=3, items=10)
    bank.add_many([1, 2], notes=2)
    assert bank.classify_many([1, 2]) == [[2], [2]]


def test_long_columns_are_answered_by_several_threads_in_order() -> None:
    made = bouquet.Bloom(items=200_000, fpr=1e-6)
    made.add_many(numpy.arange(0, 400_000, 2))
    keys = numpy.arange(400_000)
    assert (made.contains_many(keys) == (keys % 2 == 0)).sum() > 399_990
    nulls = pyarrow.array([None if n % 3 == 0 else n for n in range(200_000)])
    assert (made.contains_many(nulls) == [n % 3 != 0 and n % 2 == 0 for n in range(200_000)]).sum() > 199_990


def test_a_stream_that_fails_says_why(full: bouquet.Filter) -> None:
    def batches() -> Any:
        yield pyarrow.record_batch({"k": [1, 2]})
        raise ValueError("the roses are out")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("k", pyarrow.int64())]), batches())
    with pytest.raises(RuntimeError, match="the roses are out"):
        full.contains_many(reader)
