# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

class Plan(NamedTuple):
    shape: Any
    cell_bits: Any
    rate: Any
    misses: Any

def decrements(cells: int, hashes: int, max: int, rate: float) -> int: ...
def best(bits: int, rate: float, gap: int) -> Plan: ...
