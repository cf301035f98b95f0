"""bouquet.spark on a cluster of two worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import bouquet
import numpy
import pytest
from bouquet import spark as bs
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROWS = int(os.environ.get("BOUQUET_SPARK_ROWS", "1000000"))


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50000")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    yield made
    made.stop()


def local(count: int, **settings: Any) -> Any:
    made = bouquet.Bloom(items=count, **settings)
    made.add_many(numpy.arange(count))
    return made


def test_a_filter_of_partitions_is_that_of_one_machine(session: SparkSession) -> None:
    whole = local(ROWS)
    for partitions in (3, 40):
        made = bs.build(session.range(0, ROWS, 1, partitions), "id", items=ROWS)
        assert made.to_bytes() == whole.to_bytes()


def test_skew_empty_partitions_and_nulls(session: SparkSession) -> None:
    ids = session.range(0, 20_000, 1, 1).select(F.when(F.col("id") % 5 != 0, F.col("id")).alias("id"))
    skewed = ids.union(session.range(0, 0, 1, 7)).repartitionByRange(9, F.col("id") > 19_000)
    made = bs.build(skewed, "id", items=20_000)
    expected = bouquet.Bloom(items=20_000)
    expected.add_many([n for n in range(20_000) if n % 5])
    assert made.to_bytes() == expected.to_bytes()
    assert bs.build(session.range(0), "id", items=10) == bouquet.Bloom(items=10)
    assert ids.where(bs.might_contain("id", made)).count() == 16_000
    with pytest.raises(bouquet.UnsupportedError, match="be merged"):
        bs.build(ids, "id", "bloomier", items=10)


def test_text_and_other_kinds(session: SparkSession) -> None:
    words = session.range(0, 10_000, 1, 5).select(F.concat(F.lit("user "), F.col("id") % 100).alias("word"))
    made = bs.build(words, "word", "counting", items=200)
    assert len(made) == 10_000 and made.count("user 7") >= 15
    sketch = bs.count_min(words, "word", width=1024, rows=4)
    assert sketch.count("user 7") == 100
    frequent = words.union(session.range(0, 500, 1, 2).select(F.lit("rose").alias("word")))
    assert bs.top(frequent, "word", 1)[0][:2] == (b"rose", 500)


def test_a_join_is_pruned_before_the_shuffle(session: SparkSession) -> None:
    big = session.range(0, 200_000, 1, 8).withColumn("value", F.col("id") * 2)
    small = session.range(0, 200_000, 400, 2).withColumn("name", F.lit("x"))
    joined = bs.bloom_join(big, small, "id", fpr=0.01)
    assert joined.rows.count() == 500
    rows, pruned = joined.pruned()
    assert rows == 200_000 and 195_000 < pruned <= 199_500
    with pytest.raises(ValueError, match="without a partner"):
        bs.bloom_join(big, small, "id", how="left")


def test_overlap_and_groups(session: SparkSession) -> None:
    left, right = session.range(0, 10_000), session.range(5_000, 15_000)
    overlap = bs.approx_overlap(left, right, "id", items=20_000)
    assert abs(overlap.intersection.keys - 5_000) < 500 and abs(overlap.union.keys - 15_000) < 500
    grouped = session.range(0, 10_000, 1, 4).withColumn("day", F.col("id") % 3)
    rows = bs.build_groups(grouped, "id", "day", items=4_000).collect()
    assert sorted(row.group for row in rows) == [0, 1, 2]
    for row in rows:
        made = bouquet.from_bytes(bytes(row.frame))
        keys = numpy.arange(row.group, 10_000, 3)
        assert len(made) == len(keys) and made.contains_many(keys).all()


def test_a_worker_that_is_killed_changes_nothing(session: SparkSession) -> None:
    def executors() -> list[int]:
        every = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True).stdout
        mark = session.sparkContext.applicationId
        return [int(line.split()[0]) for line in every.splitlines() if "CoarseGrainedExecutorBackend" in line and mark in line]

    def slowly(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            time.sleep(1)
            yield batch

    slow = session.range(0, 40_000, 1, 8).mapInArrow(slowly, "id long")
    killed: list[int] = []

    def kill() -> None:
        time.sleep(2)
        killed.extend(executors()[:1])
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    made = bs.build(slow, "id", items=40_000)
    thread.join()
    assert killed and made.to_bytes() == local(40_000).to_bytes()
