"""The usual curves, with matplotlib: `pip install bouquet-filters[plot]`.

Every function draws into `axes`, or into new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import _native
from ._filter import Filter


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError("bouquet.plot draws with matplotlib: pip install bouquet-filters[plot]") from error
    return matplotlib.pyplot.subplots()[1]


def _steps(first: float, last: float, count: int) -> list[int]:
    """Whole numbers at equal ratios."""
    ratio = (last / first) ** (1 / max(count - 1, 1))
    return sorted({round(first * ratio**step) for step in range(count)})


def rate_by_items(filter: Any, items: Iterable[int] | None = None, *, axes: Any = None) -> Any:
    """The false-positive rate of a filter's shape by the keys that it holds, and where it stands now."""
    stats = filter.stats()
    planned = filter.settings.get("items") or max(stats.items, 1)
    items = list(items) if items is not None else _steps(max(planned / 100, 1), planned * 4, 60)
    axes = _axes(axes)
    axes.plot(items, [filter.expected(n).false_positive for n in items], label=f"{filter.kind}, expected")
    if stats.fpr and stats.items:
        axes.plot([stats.items], [stats.fpr], "o", label=f"{filter.kind}, now")
    axes.set(xscale="log", yscale="log", xlabel="keys", ylabel="false-positive rate")
    axes.legend()
    return axes


def bits_by_rate(
    kinds: Sequence[str] = ("standard",), rates: Iterable[float] | None = None, *, items: int = 100_000, axes: Any = None
) -> Any:
    """The bits per key that kinds take for a rate, beside log2(1/rate), which no filter of all sets can beat."""
    import math

    rates = list(rates) if rates is not None else [10 ** (-step / 4) for step in range(2, 25)]
    axes = _axes(axes)
    for kind in kinds:
        plans = [(rate, _native.plan(kind, {"items": items, "fpr": rate})) for rate in rates]
        axes.plot([rate for rate, _ in plans], [plan.bits / items for _, plan in plans], label=kind)
    axes.plot(rates, [math.log2(1 / rate) for rate in rates], "--", label="least possible")
    axes.set(xscale="log", xlabel="false-positive rate", ylabel="bits per key")
    axes.legend()
    return axes


def rate_by_hashes(bits_per_key: float = 10.0, most: int = 20, *, axes: Any = None) -> Any:
    """The rate of a plain filter by the number of hash functions, with its optimum at bits per key times ln 2."""
    from . import theory

    axes = _axes(axes)
    hashes = range(1, most + 1)
    keys = 100_000
    bits = round(keys * bits_per_key)
    rates = [theory.standard.rate(bits, keys, k) for k in hashes]  # type: ignore[attr-defined]
    axes.plot(list(hashes), rates, "o-", label=f"{bits_per_key:g} bits per key")
    axes.set(yscale="log", xlabel="hash functions", ylabel="false-positive rate")
    axes.legend()
    return axes


def counts(filter: Filter, keys: Sequence[Any], truth: Sequence[int], *, axes: Any = None) -> Any:
    """Counts that a filter tells, by the true ones: nothing lies below the diagonal unless the kind under-counts."""
    axes = _axes(axes)
    told = [int(count) for count in filter.count_many(keys)]
    axes.plot(truth, told, ".", label=filter.kind)
    axes.plot([0, max(truth)], [0, max(truth)], "--", label="exact")
    axes.set(xlabel="true count", ylabel="count")
    axes.legend()
    return axes
