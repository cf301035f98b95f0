"""What the tests share: a small filter of any kind, and the repository."""

from __future__ import annotations

import pathlib
from typing import Any

import bouquet
import pytest
from bouquet import _native

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
KINDS = _native.kind_ids()


def small(kind: str, items: int = 100, **settings: Any) -> Any:
    """An empty filter for about a hundred keys."""
    sized = any(parameter["name"] == "items" for parameter in _native.describe(kind)["parameters"])
    return bouquet.Filter(kind, **({"items": items} if sized else {}), **settings)


def note_for(note: str, at: int) -> Any:
    """A note of the type that a kind takes."""
    return {"none": None, "integer": at % 2, "bytes": b"red", "group": at % 2, "weight": 0.5, "weights": (2.0, 0.5), "amount": 1 + at % 2}[note]


@pytest.fixture
def flowers() -> Any:
    made = bouquet.Bloom(items=1000, fpr=0.001)
    made.update(["rose", "lily"])
    return made
