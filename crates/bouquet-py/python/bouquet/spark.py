"""Filters of data that no machine holds, with PySpark: `pip install bouquet-filters[spark]`.

Partial filters are built where the partitions lie, from Arrow batches; they are merged in a tree; the driver gets one filter, byte
for byte the one that one machine would have built of the same keys. Nulls are no keys. The package must be installed on the workers.

Spark has Bloom filters too: it injects them into joins by itself, and `DataFrameStatFunctions.bloomFilter` of its Scala interface makes
one. These here are filters that are kept: saved, merged next week, counted, aged, deleted from, served by Redis.
`bouquet.from_foreign("spark", data)` opens Spark's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow
import pyarrow.compute
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from ._filter import Filter
from ._records import Frequent, Overlap

#: Frames that one task merges.
FAN_IN = 16

_FRAME = "frame binary"


def _named(df: DataFrame, column: str | Column) -> DataFrame:
    """The one column that holds the keys; what Spark has and keys are not is cast to text by its user, not here."""
    return df.select((F.col(column) if isinstance(column, str) else column).alias("key"))


def _frames(frames: Iterable[bytes]) -> Iterator[Any]:
    found = list(frames)
    if found:
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array(found, type=pyarrow.binary())], ["frame"])


def _partial(kind: str, settings: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Makes the filter of a partition; one without keys sends nothing."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        made = None
        for batch in batches:
            if batch.num_rows:
                made = made if made is not None else Filter(kind, **settings)
                made.add_many(batch.column(0))
        yield from _frames([] if made is None else [made.to_bytes()])

    return run


def _opened(frame: bytes, settings: dict[str, Any]) -> Any:
    return Filter.from_bytes(frame, secret=settings.get("secret"))


def _merged(frames: Iterable[bytes], settings: dict[str, Any]) -> Any:
    """The union of frames; None of none."""
    made = None
    for frame in frames:
        if made is None:
            made = _opened(frame, settings)
        else:
            made.merge(_opened(frame, settings))
    return made


def _merge(settings: dict[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        frames = (frame for batch in batches for frame in batch.column(0).to_pylist())
        made = _merged(frames, settings)
        yield from _frames([] if made is None else [made.to_bytes()])

    return run


def build(
    df: DataFrame,
    column: str | Column,
    kind: str = "standard",
    *,
    partitions: int | None = None,
    fan_in: int = FAN_IN,
    **settings: Any,
) -> Any:
    """The filter of a column, of a kind that can be merged.

    All partial filters have the settings of the whole, so `items` is the number of distinct keys of all partitions together.
    `partitions` is how many partial filters there may be (that of the data unless given): it bounds the first round of the merge.
    Tasks merge `fan_in` frames at a time until one is left, which is all that the driver gets.
    """
    empty = Filter(kind, **settings)
    if not empty.can("merge"):
        empty.merge(empty)
    keys = _named(df, column)
    frames = keys.mapInArrow(_partial(kind, settings), _FRAME)
    count = partitions or _partitions(keys)
    while count > 1:
        count = -(-count // fan_in)
        frames = frames.repartition(count).mapInArrow(_merge(settings), _FRAME)
    found = _merged((bytes(row.frame) for row in frames.collect()), settings)
    return empty if found is None else found


def _partitions(df: DataFrame) -> int:
    try:
        return int(df.rdd.getNumPartitions())
    except Exception:
        # Spark Connect has no RDDs; its default is as good a guess as any.
        return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions", "200"))


_held: dict[int, Any] = {}


def _lookup(frame: Callable[[], bytes], mark: int, secret: bytes | None) -> Any:
    """The filter in this process, opened once."""
    if mark not in _held:
        _held.clear()
        _held[mark] = Filter.from_bytes(frame(), secret=secret)
    return _held[mark]


def might_contain(column: str | Column, filter: Any, *, secret: bytes | None = None) -> Column:
    """Whether the keys of a column may be in the filter, as an expression: false for nulls.

    The filter is broadcast once to each worker. A keyed one needs its `secret` there.
    """
    from pyspark.sql import SparkSession

    data = filter.to_bytes()
    mark = hash(data)
    session = SparkSession.getActiveSession()
    try:
        sent = session.sparkContext.broadcast(data)  # type: ignore[union-attr]

        def frame() -> bytes:
            return bytes(sent.value)
    except Exception:
        # Spark Connect sends it with the function.
        def frame() -> bytes:
            return data

    def contains(keys: Any) -> Any:
        return pyarrow.array(_lookup(frame, mark, secret).contains_many(keys))

    if hasattr(F, "arrow_udf"):
        contains.__annotations__ = {"keys": pyarrow.Array, "return": pyarrow.Array}
        return F.arrow_udf(contains, "boolean")(column)

    import pandas

    def of_series(keys: Any) -> Any:
        return pandas.Series(_lookup(frame, mark, secret).contains_many(keys))

    of_series.__annotations__ = {"keys": pandas.Series, "return": pandas.Series}
    return F.pandas_udf(of_series, "boolean")(column)


class Join(NamedTuple):
    """A join whose large side was pruned: the rows, the filter, and what it did, which is known once the rows were computed."""

    rows: DataFrame
    filter: Any
    before: Observation
    after: Observation

    def pruned(self) -> tuple[int, int]:
        """Rows of the large side, and how many of them were pruned; waits for the first action on `rows`."""
        before, after = int(self.before.get["rows"]), int(self.after.get["rows"])
        return before, before - after


def bloom_join(
    big: DataFrame, small: DataFrame, on: str, *, how: str = "inner", kind: str = "standard", **settings: Any
) -> Join:
    """Joins two tables on a column, with the rows of the large one pruned before they are shuffled.

    `how` is inner, left_semi or right: joins that keep no row of the large side without a partner. `items` is the number of rows of the
    small side unless it is given.
    """
    if how not in ("inner", "left_semi", "leftsemi", "semi", "right", "right_outer", "rightouter"):
        raise ValueError(f"a {how!r} join keeps rows without a partner, which pruning would lose; inner, left_semi and right do not")
    if "items" not in settings and not {"bits", "buckets", "cells"} & set(settings):
        settings["items"] = max(small.count(), 1)
    made = build(small, on, kind, **settings)
    before, after = Observation(), Observation()
    observed = big.observe(before, F.count(F.lit(1)).alias("rows"))
    kept = observed.where(might_contain(on, made, secret=settings.get("secret")))
    kept = kept.observe(after, F.count(F.lit(1)).alias("rows"))
    return Join(kept.join(small, on=on, how=how), made, before, after)


def count_min(df: DataFrame, column: str | Column, *, kind: str = "count-min", **settings: Any) -> Any:
    """The sketch of how often each key of a column comes."""
    return build(df, column, kind, **settings)


def top(df: DataFrame, column: str | Column, most: int, *, width: int = 4096, rows: int = 4, **settings: Any) -> list[Frequent]:
    """The most frequent keys of a column with their counts, from a count-min sketch that remembers some.

    Each partition names its own most frequent keys, so that a key which is rare everywhere and frequent in sum may be missed; `most`
    times four are remembered to make that unlikely.
    """
    sketch = build(df, column, "count-min", width=width, rows=rows, top=4 * most, **settings)
    found: list[Frequent] = sketch.top(most)
    return found


def approx_overlap(
    left: DataFrame, right: DataFrame, on: str | Column, *, kind: str = "standard", **settings: Any
) -> Overlap:
    """How many distinct keys two tables have together and in common, with standard errors."""
    found: Overlap = build(left, on, kind, **settings).estimate(build(right, on, kind, **settings))
    return found


def build_groups(
    df: DataFrame, column: str | Column, by: str, kind: str = "standard", **settings: Any
) -> DataFrame:
    """A filter for each group: a table of the group and its frame, merged where the groups lie.

    A task holds the filters of the groups that its partition has.
    """
    keys = df.select(F.col(by).alias("group"), (F.col(column) if isinstance(column, str) else column).alias("key"))
    group_type = keys.schema["group"].dataType.simpleString()
    schema = f"group {group_type}, frame binary"

    def partial(batches: Iterator[Any]) -> Iterator[Any]:
        made: dict[Any, Any] = {}
        of = None
        for batch in batches:
            of = batch.schema.field("group").type
            table = pyarrow.Table.from_batches([batch])
            for group in set(batch.column(0).to_pylist()):
                chosen = pyarrow.compute.is_null(table["group"]) if group is None else pyarrow.compute.equal(table["group"], group)
                if group not in made:
                    made[group] = Filter(kind, **settings)
                made[group].add_many(table.filter(chosen)["key"])
        if made:
            frames = pyarrow.array([one.to_bytes() for one in made.values()], type=pyarrow.binary())
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(list(made), type=of), frames], ["group", "frame"])

    def merged(table: Any) -> Any:
        frame = _merged(table["frame"].to_pylist(), settings).to_bytes()
        return pyarrow.table({"group": table["group"][:1], "frame": pyarrow.array([frame], type=pyarrow.binary())})

    merged.__annotations__ = {"table": pyarrow.Table, "return": pyarrow.Table}
    return keys.mapInArrow(partial, schema).groupBy("group").applyInArrow(merged, schema)
