# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

def plain_false_positives(bits: int, n: int, known: int) -> float: ...
