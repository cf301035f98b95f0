"""Bloom filters: every kind, over single keys and over whole columns.

>>> import bouquet
>>> seen = bouquet.Bloom(items=1_000_000, fpr=0.01)
>>> seen.add("rose")
True
>>> "rose" in seen, b"rose" in seen, "lily" in seen
(True, True, False)
>>> seen.update(["iris", "lily"])
>>> seen.contains_many(["lily", "tulip"]).tolist()
[True, False]

A class for each kind is made from the registry: `kinds()` lists them, `explain(kind)` explains one, `size(kind, ...)` says what
one takes. Keys are `str` (its UTF-8), `bytes`, `int` of 64 bits, `memoryview`, `uuid.UUID`, IP addresses and tuples of these.
"""

from __future__ import annotations

from . import _native, theory
from ._errors import (
    AmbiguousError,
    BuildError,
    Error,
    FileError,
    FileMissingError,
    FrameError,
    FullError,
    IncompatibleError,
    ItemError,
    NotPresentError,
    ParameterError,
    SecretError,
    UnknownKindError,
    UnsupportedError,
)
from ._filter import Filter, advise, explain, kind, kinds, make_classes, size
from ._native import (
    SharedBlocked,
    SharedBloom,
    SharedCounting,
    SharedUltraFast,
    formats,
    key_bytes,
    random_secret,
    verbs,
)
from ._records import (
    UNKNOWN,
    Advice,
    Decoding,
    Entry,
    Estimate,
    Frequent,
    Kind,
    Listing,
    Multiplicity,
    Overlap,
    Plan,
    Rates,
    Stats,
    Unknown,
)

Filter.__module__ = "bouquet"

open = Filter.open
from_bytes = Filter.from_bytes
from_foreign = Filter.from_foreign
build = Filter.build

__version__: str = _native.VERSION

_classes = make_classes()
globals().update(_classes)

__all__ = [
    "Advice",
    "AmbiguousError",
    "BuildError",
    "Decoding",
    "Entry",
    "Error",
    "Estimate",
    "FileError",
    "FileMissingError",
    "Filter",
    "FrameError",
    "Frequent",
    "FullError",
    "IncompatibleError",
    "ItemError",
    "Kind",
    "Listing",
    "Multiplicity",
    "NotPresentError",
    "Overlap",
    "ParameterError",
    "Plan",
    "Rates",
    "SecretError",
    "SharedBlocked",
    "SharedBloom",
    "SharedCounting",
    "SharedUltraFast",
    "Stats",
    "UNKNOWN",
    "Unknown",
    "UnknownKindError",
    "UnsupportedError",
    "advise",
    "build",
    "explain",
    "formats",
    "from_bytes",
    "from_foreign",
    "key_bytes",
    "kind",
    "kinds",
    "open",
    "random_secret",
    "size",
    "theory",
    "verbs",
    *_classes,
]
