"""A filter as a function of DuckDB, over whole Arrow columns: `might_contain(id)` in a query.

The pattern for every engine that speaks Arrow: a function from a column to a column of booleans.
"""

from __future__ import annotations

from typing import Any

import bouquet
import duckdb
import pyarrow
from duckdb.func import PythonUDFType


def main() -> int:
    known = bouquet.Bloom(items=10_000, fpr=0.001)
    known.add_many(pyarrow.array(range(10_000)))

    def might_contain(ids: Any) -> Any:
        return pyarrow.array(known.contains_many(ids))

    connection = duckdb.connect()
    connection.create_function("might_contain", might_contain, ["BIGINT"], "BOOLEAN", type=PythonUDFType.ARROW)
    rows = connection.sql("select count(*) from range(100000) numbers(id) where might_contain(id)").fetchall()
    kept = int(rows[0][0])
    assert 10_000 <= kept < 10_300, kept
    return kept


if __name__ == "__main__":
    print(main())
