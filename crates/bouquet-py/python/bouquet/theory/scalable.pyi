# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

def compound_rate(rates: Sequence[float]) -> float: ...
