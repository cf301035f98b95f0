# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

class Shape(NamedTuple):
    bits: Any
    hashes: Any
    set: Any
    quorum: Any
    keep: Any

def best(bits: int, n: int, removals: int, cap: float) -> Shape: ...
def for_rate(n: int, rate: float, removals: int, cap: float) -> Shape: ...
