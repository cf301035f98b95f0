"""The Python package beside others, in one process: `python bench/python.py [KEYS] [--record FILE]`.

Needs `bouquet` (a release wheel), numpy and pyarrow; rbloom, pybloom-live, fastbloom-rs and datasketches take part if they are there. Every
contender takes a step before any takes the next, five times over; the best time of each counts. The time of the library's own
batch call is that of `cargo run --release -p bouquet --example batch_speed`, run in between.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import pathlib
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import bouquet
import numpy
import pyarrow

ROUNDS = 5


def loop(ask: str, names: dict[str, Any]) -> Callable[[list[Any]], float]:
    """The time per key of a loop over keys, without the loop itself; compiled once, so that all have the same loop."""
    source = f"def run(keys, f):\n    start = clock()\n    for key in keys:\n        {ask}\n    return clock() - start\n"
    space: dict[str, Any] = {"clock": time.perf_counter}
    exec(source, space)
    run, f = space["run"], names["f"]
    return lambda keys: run(keys, f) / len(keys) * 1e9


def contenders(count: int) -> dict[str, tuple[Any, str, str]]:
    """Filters for this many keys at 1 %, with how to ask and how to add."""
    made: dict[str, tuple[Any, str, str]] = {"bouquet": (bouquet.Bloom(items=count, fpr=0.01), "key in f", "f.add(key)")}
    wanted: dict[str, Callable[[Any], tuple[Any, str, str]]] = {
        "rbloom": lambda m: (m.Bloom(count, 0.01), "key in f", "f.add(key)"),
        "pybloom_live": lambda m: (m.BloomFilter(count, 0.01), "key in f", "f.add(key)"),
        "fastbloom_rs": lambda m: (m.FilterBuilder(count, 0.01).build_bloom_filter(), "f.contains(key)", "f.add(key)"),
    }
    for name, make in wanted.items():
        try:
            made[name] = make(importlib.import_module(name))
        except ImportError:
            print(f"{name} is not installed and left out", file=sys.stderr)
    return made


def rust(count: int) -> dict[str, float]:
    """The library's batch call, one thread."""
    command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "bouquet", "--example", "batch_speed", str(count)]
    home = pathlib.Path(__file__).resolve().parents[1]
    text = subprocess.run(command, cwd=home, check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in csv.reader(text.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keys", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--without-rust", action="store_true", help="leave the library's own batch call out")
    given = parser.parse_args()
    count = given.keys
    texts = [f"user-{number:012}" for number in range(count)]
    numbers = list(range(count))
    best: dict[tuple[str, str], float] = {}

    def keep(step: str, name: str, value: float) -> None:
        best[step, name] = min(value, best.get((step, name), float("inf")))

    # Single calls: half of the keys are in.
    step_keys = {"str": texts[: count // 5], "int": numbers[: count // 5]}
    for of, keys in step_keys.items():
        filters = contenders(count)
        absent = (texts if of == "str" else numbers)[-len(keys) :]
        for at in range(ROUNDS):
            for name, (f, ask, add) in filters.items():
                keep(f"add {of}", name, loop(add, {"f": f})(keys)) if at == 0 else None
            for name, (f, ask, add) in filters.items():
                keep(f"in {of}, present", name, loop(ask, {"f": f})(keys))
            for name, (f, ask, add) in filters.items():
                keep(f"in {of}, absent", name, loop(ask, {"f": f})(absent))

    # Counts: the Python package of datasketches has no Bloom filter, but a count-min sketch.
    sketches: dict[str, tuple[Any, str, str]] = {"bouquet": (bouquet.CountMin(width=1 << 16, rows=4), "f.count(key)", "f.add(key)")}
    try:
        theirs = importlib.import_module("datasketches").count_min_sketch(4, 1 << 16)
        sketches["datasketches"] = (theirs, "f.get_estimate(key)", "f.update(key)")
    except ImportError:
        print("datasketches is not installed and left out", file=sys.stderr)
    for _ in range(ROUNDS):
        for name, (f, ask, add) in sketches.items():
            keep("count-min add str", name, loop(add, {"f": f})(step_keys["str"]))
        for name, (f, ask, add) in sketches.items():
            keep("count-min count str", name, loop(ask, {"f": f})(step_keys["str"]))

    # Whole columns.
    columns = {
        "int64": {"bouquet, NumPy": numpy.arange(count), "bouquet, Arrow": pyarrow.array(numbers), "bouquet, list": numbers},
        "str": {
            "bouquet, Arrow": pyarrow.array(texts),
            "bouquet, Arrow view": pyarrow.array(texts).cast(pyarrow.string_view()),
            "bouquet, NumPy": numpy.array(texts),
            "bouquet, list": texts,
        },
    }
    for of, sources in columns.items():
        whole = bouquet.Bloom(items=count, fpr=0.01)
        whole.add_many((numbers if of == "int64" else texts)[: count // 2])
        others = {name: f for name, (f, _, _) in contenders(count).items() if hasattr(f, f"contains_{of[:3]}_batch")}
        for at in range(ROUNDS):
            for name, keys in sources.items():
                start = time.perf_counter()
                whole.contains_many(keys)
                keep(f"batch {of}", name, (time.perf_counter() - start) / count * 1e9)
            for name, f in others.items():
                batch = getattr(f, f"contains_{of[:3]}_batch")
                start = time.perf_counter()
                batch(numbers if of == "int64" else texts)
                keep(f"batch {of}", f"{name}, list", (time.perf_counter() - start) / count * 1e9)
            if at in (0, ROUNDS - 1) and not given.without_rust:
                keep(f"batch {of}", "Rust, one thread", rust(count)[of])

    rows = [(step, name, f"{value:.1f}") for (step, name), value in best.items()]
    for step, name, value in rows:
        print(f"{step:20} {name:22} {value:>8} ns")
    if given.record:
        given.record.parent.mkdir(parents=True, exist_ok=True)
        with open(given.record, "w", newline="", encoding="utf-8") as file:
            file.write(f"# {platform.processor() or platform.machine()}, {platform.platform()}, Python {platform.python_version()}, {count} keys\n")
            csv.writer(file).writerows([("step", "package", "ns"), *rows])


if __name__ == "__main__":
    main()
