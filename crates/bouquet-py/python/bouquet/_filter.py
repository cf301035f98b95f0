"""The class of all filters, and a class for each kind, made from the registry."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable
from typing import Any

from . import _native
from ._records import Advice, Kind, Plan

#: What users of other packages would type, and what to type here.
_HINTS = {
    "approx_items": "estimate().keys",
    "intersection_update": "filter &= other, or filter.intersect(other)",
    "issubset": "estimate(other): subset if the intersection has about as many keys as this filter",
    "issuperset": "estimate(other): superset if the intersection has about as many keys as the other",
    "save_bytes": "to_bytes()",
    "load": "bouquet.open(path)",
    "load_bytes": "bouquet.from_bytes(data)",
    "size_in_bits": "stats().bits",
    "hash_func": "nothing: keys are hashed by their bytes, the same in every language; seed= makes another family",
    "tofile": "save(path)",
    "fromfile": "bouquet.open(path)",
    "num_bits": "stats().bits",
    "error_rate": "fpr",
    "check": "key in filter, or count(key)",
    "export": "save(path)",
    "frombytes": "bouquet.from_bytes(data)",
    "current_false_positive_rate": "fpr",
    "estimate_elements": "estimate().keys",
    "jaccard_index": "estimate(other).jaccard",
    "add_alt": "add(key): keys are bytes and hashed once",
    "false_positive_rate": "fpr",
    "number_hashes": "stats().hashes",
    "number_bits": "stats().bits",
    "query": "key in filter",
    "query_and_update": "not filter.add(key): add says whether the key was certainly new",
    "bits_used": "stats().fill",
    "serialize": "to_bytes()",
    "deserialize": "bouquet.from_bytes(data)",
    "get_estimate": "estimate().keys, or count(key)",
    "get_frequent_items": "top()",
    "get_serialized_size_bytes": "len(to_bytes())",
    "reset": "empty()",
    "clear": "empty()",
    "elements_added": "len(filter)",
    "estimated_elements": "settings['items']",
    "check_alt": "key in filter: keys are bytes and hashed once",
    "total_weight": "len(filter)",
    "is_empty": "len(filter) == 0",
    "get_upper_bound": "count(key)",
}


class Filter(_native.Filter):
    """A filter of any kind: `Filter("cuckoo", items=1000)` is `Cuckoo(items=1000)`.

    >>> import bouquet
    >>> flowers = bouquet.Filter("cuckoo", items=1000, fpr=0.001)
    >>> flowers.add("rose")
    True
    >>> "rose" in flowers, "lily" in flowers, len(flowers)
    (True, False, 1)
    >>> flowers.remove("rose")
    >>> "rose" in flowers
    False

    Every kind takes `seed=` for another family of hash functions, `wide=True` for digests of 128 bits, or `secret=` (and
    `strong=True`) for keyed hashing, unless a setting of its own has that name.
    """

    __slots__ = ()

    #: The kind's name, of classes of one kind.
    _kind: str | None = None

    def __new__(cls, kind: Any, /, **settings: Any) -> Any:
        if not isinstance(kind, str):
            raise TypeError(f"the first argument is the name of a kind, such as 'standard', not {kind!r}")
        return _native.Filter.__new__(_native.class_of(kind), kind, settings)

    def __getattr__(self, name: str) -> Any:
        hint = _HINTS.get(name)
        hint = f"; here that is {hint}" if hint else ""
        raise AttributeError(f"a filter has no attribute {name!r}{hint}", name=name, obj=self)

    @classmethod
    def build(
        cls, *args: Any, notes: Any = None, absent: Any = None, absent_notes: Any = None, **settings: Any
    ) -> Any:
        """A filter of these keys, whether its kind is built once or filled key by key.

        `Filter.build(kind, keys, ...)`, or `Kind.build(keys, ...)` of a class of one kind. `notes` is what the keys carry (values,
        sets, weights, amounts: one for each, or one for all); `absent` are keys that are no members and will be asked for, which
        some kinds make use of, and `absent_notes` what those carry. `items` is the number of keys unless it is given.

        >>> import bouquet
        >>> petals = bouquet.Bloomier.build(["rose", "lily"], notes=[5, 6])
        >>> petals["lily"]
        6
        """
        kinds = args[:1] if cls._kind is None else (cls._kind,)
        rest = args[1:] if cls._kind is None else args
        if len(kinds) != 1 or len(rest) != 1:
            raise TypeError("build takes the kind and the keys; of a class of one kind only the keys")
        return _native.build(kinds[0], settings, rest[0], notes, absent, absent_notes)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        mapped: bool = False,
        writable: bool = False,
        secret: bytes | None = None,
        allow_locked: bool = False,
        allow_unauthenticated: bool = False,
        max_fill: float | None = None,
    ) -> Any:
        """The filter of a file.

        `mapped` leaves the file where it is and reads what is asked for; the first change copies. `writable` changes the file
        itself: use it in a `with` block, for the file is refused by others until it is closed.

        >>> import bouquet, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "flowers.bq")
        >>> bouquet.Bloom.build(["rose"]).save(path)
        >>> with bouquet.Filter.open(path, writable=True) as flowers:
        ...     _ = flowers.add("lily")
        >>> "lily" in bouquet.Filter.open(path, mapped=True)
        True
        """
        made = _native.open(
            path,
            mapped=mapped,
            writable=writable,
            secret=secret,
            allow_locked=allow_locked,
            allow_unauthenticated=allow_unauthenticated,
            max_fill=max_fill,
        )
        return cls._checked(made)

    @classmethod
    def from_bytes(
        cls,
        data: Any,
        *,
        secret: bytes | None = None,
        allow_locked: bool = False,
        allow_unauthenticated: bool = False,
        max_fill: float | None = None,
    ) -> Any:
        """The filter of a frame, as `to_bytes` gives it in any language.

        >>> import bouquet
        >>> sent = bouquet.Counting.build(["rose", "rose"]).to_bytes()
        >>> bouquet.Filter.from_bytes(sent)["rose"]
        2
        """
        made = _native.from_bytes(
            data,
            secret=secret,
            allow_locked=allow_locked,
            allow_unauthenticated=allow_unauthenticated,
            max_fill=max_fill,
        )
        return cls._checked(made)

    @classmethod
    def from_foreign(cls, format: str, data: Any) -> Any:
        """The filter that another program wrote; `formats()` lists whose."""
        return cls._checked(_native.from_foreign(format, data))

    @classmethod
    def _checked(cls, made: Any) -> Any:
        if cls._kind is not None and made.kind != cls._kind:
            raise TypeError(f"the filter is of kind `{made.kind}`; open it with bouquet.open or its own class")
        return made


def kind(name: str) -> Kind:
    """What is known of a kind, by name or alias.

    >>> import bouquet
    >>> bouquet.kind("BF").id
    'standard'
    """
    facts = _native.describe(name)
    return Kind(
        id=facts["id"],
        name=facts["name"],
        class_name=facts["class_name"],
        family=facts["family"],
        summary=facts["summary"],
        verbs=tuple(name for name, _ in facts["verbs"]),
        errors=tuple(facts["errors"]),
        note=facts["note"],
        aliases=tuple(facts["aliases"]),
    )


def kinds(verb: str | None = None, *, family: str | None = None) -> list[Kind]:
    """All kinds, those that have a verb, or those of a family.

    >>> import bouquet
    >>> "cuckoo" in [kind.id for kind in bouquet.kinds("remove")]
    True
    """
    if verb is not None and verb not in _native.verbs():
        raise ValueError(f"there is no verb {verb!r}; the verbs are {', '.join(_native.verbs())}")
    every = [kind(name) for name in _native.kind_ids()]
    return [one for one in every if (verb is None or verb in one.verbs) and family in (None, one.family)]


def explain(name: str) -> str:
    """The page of a kind: question, idea, formula, guarantee, cost, and its settings.

    >>> import bouquet
    >>> print(bouquet.explain("cuckoo").splitlines()[0])
    # Cuckoo filter
    """
    facts = _native.describe(name)
    return facts["text"].rstrip() + "\n\n## Settings\n\n" + _settings_text(facts)


def size(name: str, /, **settings: Any) -> Plan:
    """What a filter of these settings takes, without making it.

    >>> import bouquet
    >>> bouquet.size("standard", items=1000, fpr=0.01).hashes
    7
    """
    plan: Plan = _native.plan(name, settings)
    return plan


def advise(
    *,
    items: int,
    fpr: float = 0.01,
    need: Iterable[str] = (),
    grows: bool = False,
    window: float | None = None,
    static: bool = False,
    hostile: bool = False,
    shared: bool = False,
    sent: float = 0.0,
    skew: float | None = None,
    memory: int | None = None,
    reads: float = 0.9,
    may_miss: float = 0.0,
    optimise: str | None = None,
) -> list[Advice]:
    """The kinds that do what is needed, the best first.

    `need` are verbs; `grows`, `static` and `window` (seconds) say how keys come and go; `hostile` that strangers choose them, `shared` that
    threads change the filter at once; `sent` how often a day it is sent; `skew` is an exponent of Zipf's law, `memory` the bytes that it may
    take, `reads` the share of queries, `may_miss` the share of keys that may be missed. `optimise` is "memory", "speed" or "bytes-sent".

    >>> import bouquet
    >>> best = bouquet.advise(items=100_000, fpr=0.001, need=["remove"])[0]
    >>> "remove" in bouquet.kind(best.kind).verbs, best.bits_per_key < 20
    (True, True)
    """
    found = _native.advise(
        items, fpr, list(need), grows, window, static, hostile, shared, sent, skew, memory, reads, may_miss, optimise
    )
    return [Advice(**{name: one[name] for name in Advice._fields}) for one in json.loads(found)]


def _settings_text(facts: dict[str, Any]) -> str:
    rows = []
    for parameter in facts["parameters"]:
        default = "" if parameter["default"] is None else f"; {parameter['default']} by default"
        rows.append(f"- `{parameter['keyword']}`: {parameter['help']} ({parameter['range']}{default})")
    return "\n".join(rows) + "\n"


def _signature(facts: dict[str, Any]) -> inspect.Signature:
    of = [
        inspect.Parameter(
            parameter["keyword"],
            inspect.Parameter.KEYWORD_ONLY,
            default=parameter["default"],
            annotation=parameter["type"],
        )
        for parameter in facts["parameters"]
    ]
    of.append(inspect.Parameter("hashing", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(of)


def _special(special: dict[str, Any], base: type) -> Any:
    """A question or action of one kind as a method."""
    name, takes = special["name"], special["takes"]
    verb = "act" if special["acts"] else "ask"
    if takes == "nothing":

        def method(self: Any) -> Any:
            return getattr(self, verb)(name)
    elif takes in ("item", "pair"):

        def method(self: Any, key: Any, note: Any = None) -> Any:
            return getattr(self, verb)(name, key, note)
    else:

        def method(self: Any, argument: Any) -> Any:
            return getattr(self, verb)(name, argument)

    method.__name__ = special["method"]
    method.__qualname__ = f"{base}.{special['method']}"
    method.__doc__ = special["help"][:1].upper() + special["help"][1:] + "."
    return method


def _make(facts: dict[str, Any]) -> type:
    name = facts["class_name"]

    def __new__(cls: type, /, *args: Any, **settings: Any) -> Any:
        if args:
            example = ", ".join(parameter["keyword"] + "=" for parameter in facts["parameters"][:2])
            raise TypeError(f"{name} takes its settings by name, such as {name}({example.replace('=', '=...')})")
        return _native.Filter.__new__(cls, facts["id"], settings)

    verbs = ", ".join(f"{verb} (with {needs})" if needs else verb for verb, needs in facts["verbs"])
    sections = dict(facts["sections"])
    text = [facts["name"] + ".", facts["summary"], sections.get("Guarantee", "")]
    body = {
        "__slots__": (),
        "__new__": __new__,
        "__module__": "bouquet",
        "__doc__": "\n\n".join(part for part in text if part)
        + f"\n\nVerbs: {verbs}.\n\nSettings:\n\n{_settings_text(facts)}",
        "__signature__": _signature(facts),
        "_kind": facts["id"],
    }
    for special in facts["specials"]:
        if not hasattr(Filter, special["method"]):
            body[special["method"]] = _special(special, name)
    return type(name, (Filter,), body)


def make_classes() -> dict[str, type]:
    """A class for each kind, by name."""
    made: dict[str, type] = {}
    by_kind: dict[str, type] = {}
    for name in _native.kind_ids():
        facts = _native.describe(name)
        by_kind[facts["id"]] = made[facts["class_name"]] = _make(facts)
    _native.register(by_kind)
    return made
