"""Partial filters in Dask, merged in a tree: the filter of all partitions, byte for byte the one built on one machine.

The pattern for every engine: *partial* (a filter per partition), *merge* (two filters become one), *finish* (one filter, or its frame).
"""

from __future__ import annotations

import bouquet
import dask
import numpy
from dask.delayed import Delayed


def partial(first: int, last: int) -> bouquet.Filter:
    """The filter of one partition; all have the same settings."""
    made = bouquet.Bloom(items=100_000, fpr=0.01)
    made.add_many(numpy.arange(first, last))
    return made


def merge(one: bouquet.Filter, other: bouquet.Filter) -> bouquet.Filter:
    """The filter of both."""
    return one | other


def main() -> bool:
    filters: list[Delayed] = [dask.delayed(partial)(n * 10_000, (n + 1) * 10_000) for n in range(10)]
    while len(filters) > 1:
        pairs = zip(filters[::2], filters[1::2])
        filters = [dask.delayed(merge)(one, other) for one, other in pairs] + filters[len(filters) // 2 * 2 :]
    finished = filters[0].compute()
    whole = partial(0, 100_000)
    return bool(finished.to_bytes() == whole.to_bytes())


if __name__ == "__main__":
    assert main()
