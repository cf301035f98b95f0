# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

def words_per_miss(fill: float, hashes: int, filters: int) -> float: ...
