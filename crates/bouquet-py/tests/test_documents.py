"""Stubs, docstrings, formulas and the tutorial say what is so."""

from __future__ import annotations

import doctest
import importlib.util
import math
import pathlib
import re
import subprocess
import sys
from types import ModuleType

import bouquet
import pytest
from bouquet import theory
from conftest import REPOSITORY

CRATE = pathlib.Path(__file__).resolve().parents[1]


def stubs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stubs", CRATE / "stubs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_are_those_of_the_registry() -> None:
    home = pathlib.Path(bouquet.__file__).parent
    for path, text in stubs().all_stubs().items():
        found = (home / path).read_text(encoding="utf-8")
        assert found == text, f"{path} is not what stubs.py writes: python crates/bouquet-py/stubs.py crates/bouquet-py/python/bouquet"


def test_stubs_have_every_method_and_nothing_else() -> None:
    text = stubs().HEAD
    body = text[text.index("class Filter:") : text.index("\ndef build(")]
    told = set(re.findall(r"def (\w+)\(", body))
    had = {name for name in dir(bouquet.Filter) if not name.startswith("_")}
    assert {name for name in told if not name.startswith("_")} == had


def test_docstrings_do_what_they_show() -> None:
    finder, runner = doctest.DocTestFinder(recurse=True), doctest.DocTestRunner()
    for module in (bouquet, bouquet._filter, bouquet._errors, bouquet._records, theory):  # type: ignore[attr-defined]
        for example in finder.find(module):
            runner.run(example)
    assert runner.summarize().failed == 0 and runner.tries > 20


def test_everything_public_is_documented() -> None:
    for name in bouquet.__all__:
        assert getattr(bouquet, name).__doc__, name
    for name in dir(bouquet.Filter):
        assert name.startswith("_") or getattr(bouquet.Filter, name).__doc__, name


def test_formulas() -> None:
    assert theory.standard.rate(1_000_000, 100_000, 7) == pytest.approx(0.0081937, abs=5e-8)
    assert theory.standard.rate(m=64, n=0, k=3) == 0.0
    assert theory.standard.for_rate(1000, 0.01).hashes == 7
    assert theory.algebra.cardinality(4096, 4, 4096).value == pytest.approx(0)
    with pytest.raises(bouquet.ParameterError, match="`fpr` must be above 0 and below 1"):
        theory.standard.for_rate(1000, 1.5)
    with pytest.raises(TypeError):
        theory.standard.rate(1)
    count = 0
    for module in theory.__all__:
        for name in getattr(getattr(theory, module), "__all__", []):
            function = getattr(getattr(theory, module), name)
            assert function.__doc__, name
            count += 1
    assert count > 200
    assert math.isclose(theory.fingerprints.collision_rate(365.0, 23), 0.0611, abs_tol=1e-4)


def blocks(path: pathlib.Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/python.md", "docs/guide/src/python.md", "crates/bouquet-py/README.md"])
def test_the_code_of_a_page_runs(page: str, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks(REPOSITORY / page)), encoding="utf-8")
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, env={"MPLBACKEND": "Agg", "HOME": str(tmp_path)})


@pytest.mark.parametrize("example", sorted((CRATE / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example: pathlib.Path) -> None:
    subprocess.run([sys.executable, example], check=True)
