"""Answers that are more than one number."""

from __future__ import annotations

import collections
import enum
from typing import Any, NamedTuple


class Unknown(enum.Enum):
    """The answer of a filter that cannot tell at present: neither a value nor its absence."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "bouquet.UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("the filter cannot tell, which is neither yes nor no; compare with bouquet.UNKNOWN")


UNKNOWN = Unknown.UNKNOWN


class Estimate(NamedTuple):
    """A number of keys with its standard error; `saturated` if the filter is too full to tell."""

    keys: float
    standard_error: float
    saturated: bool


class Overlap(NamedTuple):
    """What two filters hold together and in common, and how similar they are."""

    union: Estimate
    intersection: Estimate
    jaccard: float


class Entry(NamedTuple):
    """What was read back: a key, its value and how often it is in (below zero: it was taken out more often)."""

    key: bytes
    value: int | bytes | None
    count: int  # type: ignore[assignment]


class Advice(NamedTuple):
    """A kind that does what was asked for, with its settings, why it has its place, what it costs and how it is made.

    Bytes, nanoseconds and rates are predictions; `lines` has ready lines for `shell`, `rust`, `python` and `redis`.
    """

    kind: str
    why: str
    settings: dict[str, str]
    bytes: int
    bits_per_key: float
    bytes_sent: int
    ns_per_operation: float
    rates: dict[str, float]
    notes: list[str]
    lines: dict[str, str]


class Listing(NamedTuple):
    """What was read back, and how many cells could not be decoded."""

    entries: list[Entry]
    undecoded: int


class Frequent(NamedTuple):
    """A frequent key and its count; `at_least` if the truth may be larger without bound."""

    key: bytes
    count: int  # type: ignore[assignment]
    at_least: bool


class Multiplicity(NamedTuple):
    """A count; `at_least` if a counter is at its end and the truth may be larger without bound."""

    count: int  # type: ignore[assignment]
    at_least: bool


class Decoding(NamedTuple):
    """The least and the most of each count, and whether the counters agree with the keys."""

    counts: list[tuple[int, int]]
    consistent: bool


class Stats(NamedTuple):
    """The present state of a filter. `fill` and `fpr` are None where a kind has no such number."""

    items: int
    bits: int
    hashes: int
    fill: float | None
    fpr: float | None


class Rates(NamedTuple):
    """How often answers are wrong, by sort of error; None for an error that cannot happen or has no formula."""

    false_positive: float | None
    false_negative: float | None
    over_count: float | None
    spurious_value: float | None
    spurious_sets: float | None
    missing_sets: float | None
    unknown: float | None


class Plan(NamedTuple):
    """What a filter takes before it is made."""

    bits: int
    hashes: int
    items: int | None
    fpr: float | None


class Kind(NamedTuple):
    """What is known of a kind.

    >>> import bouquet
    >>> bouquet.kind("cuckoo").class_name
    'Cuckoo'
    """

    id: str
    name: str
    class_name: str
    family: str
    summary: str
    verbs: tuple[str, ...]
    errors: tuple[str, ...]
    note: str
    aliases: tuple[str, ...]


_theory: dict[tuple[str, tuple[str, ...]], Any] = {}


def theory_record(name: str, fields: list[str], values: list[Any]) -> Any:
    """A named tuple of what a formula gives back."""
    key = (name, tuple(fields))
    if key not in _theory:
        _theory[key] = collections.namedtuple(name, fields)
    return _theory[key](*values)
