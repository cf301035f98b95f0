"""bouquet.spark beside Spark's own Bloom filter and beside a join without one: `python bench/spark.py [ROWS...] [--record FILE]`.

Two worker processes on this machine (`local-cluster[2,1,1024]`). Each step is run twice and the second time counts. Bytes are what the
stages of the step wrote for shuffles, as Spark's own interface tells.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import platform
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from bouquet import spark as bs
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100000")
        .config("spark.sql.shuffle.partitions", "8")
        # What is measured is the shuffle; without this Spark would send the small side to every worker instead.
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.ui.enabled", "true")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


def written(spark: SparkSession) -> int:
    """Bytes that all stages so far wrote for shuffles."""
    context = spark.sparkContext
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(address) as reply:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(reply))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--record", type=pathlib.Path)
    given = parser.parse_args()
    spark = session()
    table: list[tuple[Any, ...]] = []

    def step(rows: int, name: str, run: Callable[[], Any]) -> None:
        for _ in range(2):
            before, start = written(spark), time.perf_counter()
            told = run()
            seconds = time.perf_counter() - start
            time.sleep(0.5)
        row = (rows, name, f"{seconds:.2f}", written(spark) - before, told)
        table.append(row)
        print(*row, sep="\t", flush=True)

    for rows in given.rows:
        ids = spark.range(0, rows, 1, 8)
        big = ids.withColumn("value", F.col("id") * 2)
        small = spark.range(0, rows, 100, 2).withColumn("name", F.lit("x"))
        step(rows, "bouquet.spark.build", lambda: len(bs.build(ids, "id", items=rows, fpr=0.03)))
        step(rows, "stat.bloomFilter (Scala)", lambda: ids._jdf.stat().bloomFilter("id", rows, 0.03).bitSize())
        for own in ("false", "true"):
            spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.enabled", own)
            spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold", "0")
            word = "with Spark's runtime filter" if own == "true" else "without a filter"
            step(rows, f"join {word}", lambda: big.join(small, "id").agg(F.sum("value")).collect()[0][0])
        spark.conf.set("spark.sql.optimizer.runtime.bloomFilter.enabled", "false")

        def pruned() -> str:
            joined = bs.bloom_join(big, small, "id", fpr=0.03)
            total = joined.rows.agg(F.sum("value")).collect()[0][0]
            before, gone = joined.pruned()
            return f"{total}; {gone} of {before} rows pruned"

        step(rows, "bouquet.spark.bloom_join", pruned)
    spark.stop()
    if given.record:
        given.record.parent.mkdir(parents=True, exist_ok=True)
        with open(given.record, "w", newline="", encoding="utf-8") as file:
            file.write(f"# {platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
            csv.writer(file).writerows([("rows", "step", "seconds", "shuffle bytes", "told"), *table])


if __name__ == "__main__":
    main()
