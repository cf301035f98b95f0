"""What `bouquet.advise` says, and that its lines work."""

from __future__ import annotations

import bouquet
import pytest

#: A workload is keywords of `advise`.
WORKLOADS = [
    {},
    {"need": ["remove"]},
    {"need": ["remove", "count"], "optimise": "speed"},
    {"static": True, "sent": 24},
    {"grows": True},
    {"hostile": True, "need": ["merge"]},
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_the_lines_of_the_first_three_work(workload: dict[str, object]) -> None:
    keys = [f"key-{number}" for number in range(2000)]
    advice = bouquet.advise(items=2000, fpr=0.01, **workload)  # type: ignore[arg-type]
    assert advice
    for one in advice[:3]:
        names = {"bouquet": bouquet, "keys": keys}
        exec(one.lines["python"], names)
        made = names["filter"]
        if len(made) == 0:
            made.update(keys)
        assert made.kind == one.kind
        assert made.contains_many(keys).all()
        assert made.stats().bits / 8 == pytest.approx(one.bytes, rel=0.1)


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(bouquet.ParameterError, match="fpr"):
        bouquet.advise(items=10, fpr=2.0)
    with pytest.raises(bouquet.ParameterError, match="need"):
        bouquet.advise(items=10, need=["juggle"])
    with pytest.raises(bouquet.ParameterError, match="optimise"):
        bouquet.advise(items=10, optimise="beauty")
