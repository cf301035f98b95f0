"""The formulas of the papers: every public function of the Rust crate `bouquet-theory` whose arguments are numbers.

>>> from bouquet import theory
>>> round(theory.standard.rate(1_000_000, 100_000, 7), 7)
0.0081937
>>> theory.standard.for_rate(1000, 0.01)
Size(bits=9593, hashes=7)

Functions that return a plain number are total: no argument makes them fail. Those that choose a size raise ParameterError for
what cannot be.
"""

from __future__ import annotations

import inspect
import keyword
import sys
import types
from typing import Any

from .. import _native


def _function(number: int, module: str, name: str, doc: str, parameters: Any, returns: str) -> Any:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [(name + "_" if keyword.iskeyword(name) else name, of) for name, of in parameters]
    signature = inspect.Signature(
        [inspect.Parameter(name, kind, annotation=of) for name, of in given], return_annotation=returns
    )
    count = len(parameters)

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != count:
            args = signature.bind(*args, **kwargs).args
        return _native.theory_call(number, args)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = doc
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _fill() -> list[str]:
    names = []
    for name, doc in _native.theory_modules():
        module = types.ModuleType(f"{__name__}.{name}", doc)
        module.__all__ = []  # type: ignore[attr-defined]
        sys.modules[module.__name__] = module
        globals()[name] = module
        names.append(name)
    for number, (module_name, name, doc, parameters, returns) in enumerate(_native.theory_functions()):
        home = sys.modules[f"{__name__}.{module_name}" if module_name else __name__]
        setattr(home, name, _function(number, home.__name__, name, doc, parameters, returns))
        (names if not module_name else home.__all__).append(name)  # type: ignore[attr-defined]
    return names


__all__ = _fill()
