# Made by stubs.py from the formulas' sources; do not edit.
from collections.abc import Sequence
from typing import Any, NamedTuple

def best_first(word_bits: int, words: int, words_per_key: int, places: int, n: int) -> int | None: ...
