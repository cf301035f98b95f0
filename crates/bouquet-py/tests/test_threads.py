"""Threads: a filter has a lock of its own, a shared filter needs none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import bouquet
import numpy
import pytest


def together(*runs: Callable[[], object]) -> None:
    """Runs all at once, and raises what one raises."""
    errors: list[BaseException] = []

    def guarded(run: Callable[[], object]) -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "blocked for ever"
    if errors:
        raise errors[0]


def test_the_interpreter_runs_on_while_a_column_is_looked_up() -> None:
    made = bouquet.Bloom(items=1_000_000)
    keys = numpy.arange(3_000_000)
    beats, done = 0, threading.Event()

    def work() -> None:
        made.add_many(keys)
        made.contains_many(keys)
        done.set()

    def beat() -> None:
        nonlocal beats
        while not done.is_set():
            beats += 1
            time.sleep(0.001)

    together(work, beat)
    assert beats > 5


def test_readers_and_writers_of_one_filter_wait_for_each_other() -> None:
    made = bouquet.Cuckoo(items=200_000)
    parts = [numpy.arange(n * 40_000, (n + 1) * 40_000) for n in range(4)]

    def single() -> None:
        for key in range(10_000):
            _ = key in made
            made.add(f"word {key}")

    together(*[lambda part=part: made.add_many(part) for part in parts], single, lambda: made.to_bytes())
    assert len(made) == 170_000 and all(made.contains_many(part).all() for part in parts)


def test_two_filters_that_are_merged_into_each_other_do_not_block() -> None:
    one, other = bouquet.Bloom(items=100_000), bouquet.Bloom(items=100_000)

    def merge(into: bouquet.Filter, of: bouquet.Filter) -> None:
        for _ in range(200):
            into.merge(of)
            assert into == into

    together(lambda: merge(one, other), lambda: merge(other, one), lambda: one.merge(one))


@pytest.mark.parametrize("name", ["SharedBloom", "SharedBlocked", "SharedUltraFast", "SharedCounting"])
def test_shared_filters_hold_what_all_threads_put_in(name: str) -> None:
    shared = getattr(bouquet, name)(items=100_000)
    parts = [numpy.arange(n * 20_000, (n + 1) * 20_000) for n in range(4)]

    def single() -> None:
        for key in range(5000):
            shared.add(f"word {key}")
            assert f"word {key}" in shared

    together(*[lambda part=part: shared.add_many(part) for part in parts], single)
    assert len(shared) == 85_000
    assert shared.contains_many(numpy.arange(80_000)).all() and shared.contains_many(["word 7", None]).tolist() == [True, False]
    plain = shared.snapshot()
    assert len(plain) == 85_000 and plain.contains_many(numpy.arange(80_000)).all()
    again = getattr(bouquet, name).from_filter(plain)
    assert again.snapshot() == plain
    with pytest.raises(TypeError, match="only a filter of kind"):
        getattr(bouquet, name).from_filter(bouquet.Cuckoo(items=10))


def test_shared_counters_count() -> None:
    shared = bouquet.SharedCounting(items=1000)
    together(*[lambda: [shared.add("rose") for _ in range(5)]] * 2)
    assert shared.count("rose") == 10
    shared.remove("rose")
    assert shared.count("rose") == 9
    with pytest.raises(bouquet.NotPresentError):
        shared.remove("lily")
