# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

def pattern_collisions(block_bits: int, bits_per_key: float, patterns: int) -> float: ...
