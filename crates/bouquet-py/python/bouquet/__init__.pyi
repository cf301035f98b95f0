# Made by stubs.py from the registry; do not edit.
"""Bloom filters: every kind, over single keys and over whole columns."""

import builtins
import ipaddress
import os
import uuid
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Literal, Protocol, Self, SupportsIndex, TypeAlias, TypeVar, overload

import numpy
import numpy.typing
from typing_extensions import Buffer

from . import theory as theory
from ._errors import (
    AmbiguousError as AmbiguousError,
    BuildError as BuildError,
    Error as Error,
    FileError as FileError,
    FileMissingError as FileMissingError,
    FrameError as FrameError,
    FullError as FullError,
    IncompatibleError as IncompatibleError,
    ItemError as ItemError,
    NotPresentError as NotPresentError,
    ParameterError as ParameterError,
    SecretError as SecretError,
    UnknownKindError as UnknownKindError,
    UnsupportedError as UnsupportedError,
)
from ._records import (
    Advice as Advice,
    Decoding as Decoding,
    Entry as Entry,
    Estimate as Estimate,
    Frequent as Frequent,
    Kind as Kind,
    Listing as Listing,
    Multiplicity as Multiplicity,
    Overlap as Overlap,
    Plan as Plan,
    Rates as Rates,
    Stats as Stats,
    UNKNOWN as UNKNOWN,
    Unknown as Unknown,
)

__version__: str

Key: TypeAlias = (
    str | bytes | bytearray | memoryview | SupportsIndex | uuid.UUID | ipaddress.IPv4Address | ipaddress.IPv6Address | tuple[Any, ...]
)

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

Keys: TypeAlias = Iterable[Any] | _ArrowArray | _ArrowStream | Buffer
Note: TypeAlias = int | float | str | bytes | tuple[float, float]
Notes: TypeAlias = Note | Iterable[Note]
Path: TypeAlias = str | os.PathLike[str]
Booleans: TypeAlias = numpy.typing.NDArray[numpy.bool_]
Counts: TypeAlias = numpy.typing.NDArray[numpy.uint64]

_T = TypeVar("_T")

class Filter:
    def __new__(cls, kind: str, /, **settings: Any) -> Filter: ...
    @property
    def kind(self) -> str: ...
    @property
    def settings(self) -> dict[str, int | float | str | bool]: ...
    @property
    def fpr(self) -> float | None: ...
    @property
    def is_keyed(self) -> bool: ...
    @property
    def closed(self) -> bool: ...
    @property
    def pace(self) -> tuple[int, int] | None: ...
    @classmethod
    def build(
        cls,
        *args: Any,
        notes: Notes | None = None,
        absent: Keys | None = None,
        absent_notes: Notes | None = None,
        **settings: Any,
    ) -> Self: ...
    @classmethod
    def open(
        cls,
        path: Path,
        *,
        mapped: bool = False,
        writable: bool = False,
        secret: bytes | None = None,
        allow_locked: bool = False,
        allow_unauthenticated: bool = False,
        max_fill: float | None = None,
    ) -> Self: ...
    @classmethod
    def from_bytes(
        cls,
        data: Buffer,
        *,
        secret: bytes | None = None,
        allow_locked: bool = False,
        allow_unauthenticated: bool = False,
        max_fill: float | None = None,
    ) -> Self: ...
    @classmethod
    def from_foreign(cls, format: str, data: Buffer) -> Self: ...
    def __contains__(self, key: Key, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __getitem__(self, key: Key, /) -> Any: ...
    def __setitem__(self, key: Key, value: Note, /) -> None: ...
    def __delitem__(self, key: Key, /) -> None: ...
    def __or__(self, other: Filter, /) -> Self: ...
    def __and__(self, other: Filter, /) -> Self: ...
    def __sub__(self, other: Filter, /) -> Self: ...
    def __ior__(self, other: Filter, /) -> Self: ...
    def __iand__(self, other: Filter, /) -> Self: ...
    def __isub__(self, other: Filter, /) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, class_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def contains(self, key: Key) -> bool: ...
    def contains_many(self, keys: Keys) -> Booleans: ...
    def add(self, key: Key, note: Note | None = None) -> bool: ...
    def add_many(self, keys: Keys, notes: Notes | None = None) -> int: ...
    def update(self, *others: Filter | Keys) -> None: ...
    def remove(self, key: Key, note: Note | None = None) -> None: ...
    def remove_many(self, keys: Keys, notes: Notes | None = None) -> int: ...
    def discard(self, key: Key, note: Note | None = None) -> bool: ...
    def count(self, key: Key) -> int: ...
    def count_many(self, keys: Keys) -> Counts: ...
    def multiplicity(self, key: Key) -> Multiplicity: ...
    def get(self, key: Key, default: Any = None) -> Any: ...
    def get_many(self, keys: Keys) -> builtins.list[Any]: ...
    def set(self, key: Key, value: Note) -> None: ...
    def classify(self, key: Key) -> builtins.list[int]: ...
    def classify_many(self, keys: Keys) -> builtins.list[builtins.list[int]]: ...
    def judge(self, key: Key) -> Literal["in", "out", "undetermined", "unknown"]: ...
    def judge_many(self, keys: Keys) -> builtins.list[str]: ...
    def probability(self, key: Key, prior: float | None = None) -> float: ...
    def probability_many(self, keys: Keys, prior: float | None = None) -> numpy.typing.NDArray[numpy.float64]: ...
    def list(self) -> Listing: ...
    def top(self, most: int | None = None) -> builtins.list[Frequent]: ...
    def decode(self, keys: Keys) -> Decoding: ...
    def advance(self, ticks: int = 1) -> None: ...
    def set_pace(self, seconds: int | None, since: int | None = None) -> None: ...
    def catch_up(self, now: int | None = None) -> int: ...
    def grow(self) -> None: ...
    def capacity(self) -> int: ...
    def merge(self, other: Filter) -> None: ...
    def intersect(self, other: Filter) -> None: ...
    def subtract(self, other: Filter) -> None: ...
    def union(self, *others: Filter | Keys) -> Self: ...
    def intersection(self, *others: Filter) -> Self: ...
    def difference(self, other: Filter) -> Listing: ...
    @overload
    def estimate(self, other: None = None) -> Estimate: ...
    @overload
    def estimate(self, other: Filter) -> Overlap: ...
    def entropy_bits(self) -> float: ...
    def ask(self, question: str, argument: Any = None, note: Note | None = None) -> Any: ...
    def act(self, action: str, argument: Any = None, note: Note | None = None) -> Any: ...
    def can(self, verb: str) -> bool: ...
    def stats(self) -> Stats: ...
    def figures(self) -> dict[str, int | float | str | bool]: ...
    def expected(self, items: int) -> Rates: ...
    def to_bytes(self, *, compressed: bool = False) -> bytes: ...
    def save(self, path: Path, *, compressed: bool = False) -> None: ...
    def delta(self, newer: Filter) -> bytes: ...
    def patched(self, patch: Buffer) -> Self: ...
    def to_foreign(self, format: str) -> bytes: ...
    def copy(self) -> Self: ...
    def empty(self) -> Self: ...
    def close(self) -> None: ...

def build(
    *args: Any,
    notes: Notes | None = None,
    absent: Keys | None = None,
    absent_notes: Notes | None = None,
    **settings: Any,
) -> Filter: ...
def open(
    path: Path,
    *,
    mapped: bool = False,
    writable: bool = False,
    secret: bytes | None = None,
    allow_locked: bool = False,
    allow_unauthenticated: bool = False,
    max_fill: float | None = None,
) -> Filter: ...
def from_bytes(
    data: Buffer,
    *,
    secret: bytes | None = None,
    allow_locked: bool = False,
    allow_unauthenticated: bool = False,
    max_fill: float | None = None,
) -> Filter: ...
def from_foreign(format: str, data: Buffer) -> Filter: ...
def kind(name: str) -> Kind: ...
def kinds(verb: str | None = None, *, family: str | None = None) -> list[Kind]: ...
def explain(name: str) -> str: ...
def size(name: str, /, **settings: Any) -> Plan: ...
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
) -> list[Advice]: ...
def formats() -> list[tuple[str, str]]: ...
def verbs() -> list[str]: ...
def key_bytes(object: Key) -> bytes: ...
def random_secret() -> bytes: ...

class _Shared:
    def __new__(cls, **settings: Any) -> Self: ...
    @classmethod
    def from_filter(cls, filter: Filter) -> Self: ...
    def __contains__(self, key: Key, /) -> bool: ...
    def __len__(self) -> int: ...
    def add(self, key: Key) -> bool: ...
    def add_many(self, keys: Keys) -> int: ...
    def contains_many(self, keys: Keys) -> Booleans: ...
    def snapshot(self) -> Filter: ...

class SharedBloom(_Shared): ...
class SharedBlocked(_Shared): ...
class SharedUltraFast(_Shared): ...

class SharedCounting(_Shared):
    def count(self, key: Key) -> int: ...
    def remove(self, key: Key) -> None: ...

class Bloom(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        family: Literal['enhanced-double', 'double', 'triple', 'independent', 'universal', 'fig2', 'sdbm-mersenne', 'squid-md5'] | None = 'enhanced-double',
        reduction: Literal['automatic', 'fastrange', 'modulo', 'mask', 'fastrange32'] | None = 'automatic',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...
    def halve(self) -> Any: ...

class Partitioned(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        family: Literal['triple', 'enhanced-double', 'double'] | None = 'triple',
        reduction: Literal['automatic', 'fastrange', 'modulo', 'mask', 'fastrange32'] | None = 'automatic',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...
    def halve(self) -> Any: ...

class Compressed(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        message_bits: float | None = None,
        memory_bits: float | None = None,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        family: Literal['enhanced-double', 'double', 'triple', 'independent', 'universal', 'fig2', 'sdbm-mersenne', 'squid-md5'] | None = 'enhanced-double',
        reduction: Literal['automatic', 'fastrange', 'modulo', 'mask', 'fastrange32'] | None = 'automatic',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...
    def halve(self) -> Any: ...

class Compacted(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        loss: float | None = 0.1,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        blocks: int | float | None = 6,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def unpacked(self) -> Any: ...
    def pack(self, argument: Filter) -> Any: ...

class Blocked(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        block: Literal['512', '256', '128', '64', '32'] | None = '512',
        blocks_per_key: int | float | None = 1,
        patterns: int | float | None = 0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...
    def halve(self) -> Any: ...

class BloomG(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        words_per_key: int | float | None = 1,
        word: Literal['64', '32', '128', '256'] | None = '64',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...
    def halve(self) -> Any: ...

class UltraFast(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = 8,
        word: Literal['32', '64'] | None = '32',
        mode: Literal['free', 'parquet'] | None = 'free',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...
    def halve(self) -> Any: ...

class OneHash(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...

class ErrorProtected(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        word: Literal['64', '32', '16', '8'] | None = '64',
        recheck: bool | None = False,
        scrub: int | float | None = 0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def scrub(self) -> Any: ...
    def check(self, key: Key) -> Any: ...
    def faults(self) -> Any: ...
    def glitches(self, argument: float) -> Any: ...
    def glitched(self, key: Key, note: Note | None = None) -> Any: ...
    def bits(self) -> Any: ...
    def flip(self, argument: int) -> Any: ...
    def strike(self, argument: int) -> Any: ...

class Banked(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        banks: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def positions(self, key: Key) -> Any: ...

class Omass(Filter):
    def __new__(
        cls,
        *,
        sets: int | float | None = 4,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        word: Literal['64', '128', '256', '512'] | None = '64',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def holds(self, key: Key, note: Note | None = None) -> Any: ...

class Pipelined(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        layout: Literal['flat', 'sliced', 'banked', 'blocked', 'ultra-fast'] | None = 'flat',
        stages: Literal['two', 'full', 'auto'] | None = 'two',
        first: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def trace(self, key: Key) -> Any: ...
    def measure(self, key: Key) -> Any: ...
    def work(self) -> Any: ...
    def cost(self, argument: float) -> Any: ...
    def replan(self) -> Any: ...

class EnergyEfficient(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        layout: Literal['flat', 'sliced', 'banked', 'blocked', 'ultra-fast'] | None = 'flat',
        policy: Literal['hysteresis', 'proportional', 'predictive', 'fixed'] | None = 'hysteresis',
        least: int | float | None = 2,
        queue: int | float | None = 16,
        low: int | float | None = 2,
        high: int | float | None = 8,
        served: int | float | None = 1,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def submit(self, key: Key) -> Any: ...
    def tick(self) -> Any: ...
    def drain(self) -> Any: ...
    def trace(self, key: Key) -> Any: ...
    def measure(self, key: Key) -> Any: ...
    def work(self) -> Any: ...

class MemoryOptimized(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def reads(self, key: Key) -> Any: ...
    def crowded(self) -> Any: ...
    def rebuild(self) -> Any: ...

class Dlb(Filter):
    def __new__(
        cls,
        *,
        sets: int | float | None = 33,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def insert_prefix(self, key: Key, note: Note | None = None) -> Any: ...
    def lpm(self, key: Key) -> Any: ...
    def fills(self) -> Any: ...
    def holds(self, key: Key, note: Note | None = None) -> Any: ...

class TwoChoice(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        choices: int | float | None = 2,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class PartitionedHashing(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        group: int | float | None = 8,
        families: int | float | None = 64,
        choice: Literal['seeds', 'subsets'] | None = 'seeds',
        passes: int | float | None = 3,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class BestOfN(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        tries: int | float | None = None,
        objective: Literal['ones', 'rate', 'known'] | None = 'ones',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Optihash(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        alpha_bits: int | float | None = 8,
        beta_bits: int | float | None = 8,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def forecast(self, argument: int) -> Any: ...

class Egh(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        universe: int | float | None = 65536,
        cells: Literal['bits', 'counters'] | None = 'bits',
        overfill: bool | None = False,
        decimal: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def in_zone(self) -> Any: ...
    def symmetric(self) -> Any: ...

class PerfectHash(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        mode: Literal['fuse', 'minimal'] | None = 'fuse',
        holds: Literal['keys', 'values'] | None = 'keys',
        values: int | float | None = 256,
        fingerprint: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def slot(self, key: Key) -> Any: ...

class Golomb(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        spread: int | float | None = None,
        range: int | float | None = None,
        code: Literal['golomb', 'rice', 'bip158'] | None = 'golomb',
        divisor: int | float | None = None,
        index: int | float | None = 256,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def values(self) -> Any: ...
    def decoded(self, key: Key) -> Any: ...
    def message(self) -> Any: ...

class Counting(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        width: int | float | None = 4,
        policy: Literal['sticky', 'saturate', 'reject', 'widen'] | None = 'sticky',
        layout: Literal['flat', 'sliced'] | None = 'flat',
        mirror: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def bits(self) -> Any: ...

class MlCcbf(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        block: Literal['512', '256', '128', '64'] | None = '512',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def bits(self) -> Any: ...

class DLeft(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        buckets: int | float | None = None,
        subtables: int | float | None = 4,
        slots: int | float | None = 8,
        remainder: int | float | None = None,
        width: int | float | None = 2,
        stash: int | float | None = 64,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Mpcbf(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        word: Literal['512', '256', '128', '64'] | None = '512',
        words_per_key: int | float | None = 1,
        first_level: int | float | None = None,
        policy: Literal['sticky', 'reject'] | None = 'sticky',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class VariableIncrement(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        scheme: Literal['dl', 'bh'] | None = 'dl',
        base: int | float | None = 4,
        sequence: int | float | None = None,
        order: int | float | None = 3,
        counter_bits: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class FingerprintCounting(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        fingerprint_bits: int | float | None = None,
        counter_bits: int | float | None = 4,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class LCbf(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        width: Literal['4', '5', '6', '7', '8', '10', '12', '15', '16'] | None = '4',
        policy: Literal['sticky', 'saturate', 'reject', 'widen'] | None = 'sticky',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def bits(self) -> Any: ...

class Deletable(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        deletable: float | None = None,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        regions: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def deletable(self, key: Key) -> Any: ...

class Ternary(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        levels: Literal['4', '3'] | None = '4',
        packed: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def bits(self) -> Any: ...
    def certainty(self, key: Key) -> Any: ...

class Spectral(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        method: Literal['ms', 'mi', 'rm', 'rm-simple'] | None = 'ms',
        store: Literal['fixed', 'compact'] | None = 'fixed',
        width: int | float | None = 16,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class SpaceCode(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        largest: int | float | None = None,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        groups: int | float | None = 32,
        resolutions: int | float | None = 1,
        ratio: int | float | None = 4,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def mean_value(self, key: Key) -> Any: ...

class Adaptive(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        insertions: int | float | None = None,
        fill: float | None = 0.4,
        layout: Literal['shared', 'split'] | None = 'shared',
        bits: int | float | None = None,
        hashes: int | float | None = None,
        count_bits: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Shifting(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        form: Literal['membership', 'association', 'multiplicity'] | None = 'membership',
        bits: int | float | None = None,
        hashes: int | float | None = None,
        span: int | float | None = None,
        cells: Literal['bits', 'counters'] | None = 'bits',
        width: int | float | None = 4,
        no_table: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Loglog(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        error: float | None = 0.25,
        copies: int | float | None = None,
        hashes: int | float | None = 3,
        cells: int | float | None = None,
        width: int | float | None = 5,
        estimator: Literal['inverse', 'alpha'] | None = 'inverse',
        meter: int | float | None = 0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def fold(self) -> Any: ...
    def add_occurrence(self, key: Key, note: Note | None = None) -> Any: ...

class InvertibleCounting(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        cells: int | float | None = None,
        hashes: int | float | None = 4,
        mode: Literal['sum', 'xor'] | None = 'sum',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def gaps(self) -> Any: ...
    def id(self, key: Key) -> Any: ...
    def remove_ahead(self, key: Key, note: Note | None = None) -> Any: ...

class VariableLength(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        removals: int | float | None = None,
        fnr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        set: int | float | None = None,
        quorum: int | float | None = None,
        keep: int | float | None = None,
        ageing: Literal['round-robin', 'random'] | None = 'round-robin',
        tick: int | float | None = 64,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def touch(self, key: Key) -> Any: ...
    def recover(self, key: Key) -> Any: ...
    def recover_fully(self, key: Key) -> Any: ...
    def age(self, argument: int) -> Any: ...

class CountMin(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        eps: float | None = 0.0001,
        delta: float | None = 0.001,
        width: int | float | None = None,
        rows: int | float | None = None,
        counter: Literal['u32', 'u64', 'i64'] | None = 'u32',
        levels: int | float | None = 0,
        top: int | float | None = 0,
        decimal: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def total(self) -> Any: ...
    def median(self, key: Key) -> Any: ...
    def range(self, argument: tuple[int, int]) -> Any: ...
    def quantile(self, argument: float) -> Any: ...
    def heavy(self, argument: float) -> Any: ...
    def inner_product(self, argument: Filter) -> Any: ...

class ConservativeUpdate(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        eps: float | None = 0.0001,
        delta: float | None = 0.001,
        counters: int | float | None = None,
        stages: int | float | None = None,
        counter: Literal['u32', 'u64'] | None = 'u32',
        mode: Literal['conservative', 'plain', 'serial'] | None = 'conservative',
        threshold: int | float | None = None,
        memory: int | float | None = 4096,
        shield: Literal['on', 'off'] | None = 'on',
        preserve: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def heavy(self) -> Any: ...
    def dropped(self) -> Any: ...
    def add_upper_bound(self, argument: Filter) -> Any: ...

class CounterBraids(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        counters: int | float | None = None,
        upper: int | float | None = None,
        hashes: int | float | None = 3,
        layers: int | float | None = 2,
        width: int | float | None = 8,
        top_width: int | float | None = 32,
        larger: float | None = None,
        active: float | None = 0.1,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class PrunedCounting(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        width: int | float | None = 4,
        mode: Literal['pruned', 'basic'] | None = 'pruned',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def crowded(self) -> Any: ...
    def balance(self, argument: int) -> Any: ...
    def add_rule(self, key: Key, note: Note | None = None) -> Any: ...
    def remove_rule(self, key: Key, note: Note | None = None) -> Any: ...
    def best_rule(self, key: Key) -> Any: ...
    def tuples(self) -> Any: ...

class Cuckoo(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        buckets: int | float | None = None,
        slots: int | float | None = 4,
        fingerprint: int | float | None = None,
        counter: int | float | None = 0,
        semisort: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def fingerprints(self) -> Any: ...

class Quotient(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        quotient: int | float | None = None,
        remainder: int | float | None = None,
        layout: Literal['rank-select', 'three-bit'] | None = 'rank-select',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def fingerprints(self) -> Any: ...

class Dynamic(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        capacity: int | float | None = None,
        components: Literal['counters', 'bits'] | None = 'counters',
        layout: Literal['rows', 'slices'] | None = 'rows',
        insertion: Literal['auto', 'plain', 'improved'] | None = 'auto',
        gamma: float | None = None,
        retry: int | float | None = 0,
        distribution: Literal['none', 'uniform', 'normal', 'zipf-minimum', 'zipf-maximum', 'zipf-random', 'nodes'] | None = 'none',
        zipf: float | None = 0.4,
        mean: float | None = None,
        deviation: float | None = None,
        memory_bits: float | None = None,
        quarter: int | float | None = None,
        median: int | float | None = None,
        three_quarters: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def bits(self) -> Any: ...

class Scalable(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = 1000,
        fpr: float | None = 0.01,
        growth: int | float | None = 2,
        tightening: float | None = 0.85,
        skip_present: Literal['yes', 'no'] | None = 'yes',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Split(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        rows: int | float | None = 8,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        choice: Literal['round-robin', 'random', 'hashed'] | None = 'round-robin',
        seed: int | float | None = 0,
        layout: Literal['slices', 'rows'] | None = 'slices',
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Dba(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        group: Literal['64', '8', '16', '32'] | None = '64',
        stale: float | None = 0.1,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def words(self, key: Key) -> Any: ...
    def subsets(self) -> Any: ...
    def queue(self) -> Any: ...
    def live(self, key: Key, note: Note | None = None) -> Any: ...
    def maintain(self) -> Any: ...
    def forget(self, argument: int) -> Any: ...

class ParBf(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        workers: int | float | None = 2,
        length: int | float | None = 16,
        free: float | None = 0.5,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def lists(self) -> Any: ...
    def gc(self) -> Any: ...

class ForestStructured(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        page: int | float | None = 4096,
        levels: int | float | None = 3,
        blocks: int | float | None = None,
        pages: int | float | None = None,
        children: int | float | None = 4,
        hashes: int | float | None = None,
        keys_per_page: int | float | None = None,
        buffer: int | float | None = 256,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def page_reads(self, key: Key) -> Any: ...

class Bloomstore(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        page: int | float | None = 4096,
        bits_per_key: float | None = 15.2,
        hashes: int | float | None = None,
        pair: int | float | None = None,
        instances: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def page_reads(self, key: Key) -> Any: ...
    def compact(self) -> Any: ...

class Stable(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        fnr: float | None = 0.01,
        bits: int | float | None = None,
        cells: int | float | None = None,
        gap: int | float | None = None,
        max: int | float | None = None,
        hashes: int | float | None = None,
        decrements: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Decaying(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        cells: int | float | None = None,
        hashes: int | float | None = None,
        blocks: int | float | None = None,
        slack: int | float | None = None,
        form: Literal['wraparound', 'decrement'] | None = 'wraparound',
        clock: Literal['arrivals', 'ticks'] | None = 'arrivals',
        window: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class TimeDecaying(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        half_life: int | float | None = 60,
        threshold: float | None = 0.5,
        store: Literal['uniform', 'skewed'] | None = 'uniform',
        layout: Literal['partitioned', 'shared'] | None = 'partitioned',
        update: Literal['plain', 'conservative'] | None = 'plain',
        eps: float | None = None,
        delta: float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def frequency(self, key: Key) -> Any: ...
    def total(self) -> Any: ...
    def insert_late(self, key: Key, note: Note | None = None) -> Any: ...
    def join(self, argument: Filter) -> Any: ...

class ExponentialDecay(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fill: float | None = 0.5,
        bits: int | float | None = None,
        hashes: int | float | None = 32,
        decay: int | float | None = 8,
        node: int | float | None = 0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def theta(self, key: Key) -> Any: ...
    def tables(self) -> Any: ...
    def route(self, key: Key, note: Note | None = None) -> Any: ...
    def update_for(self, argument: int) -> Any: ...
    def receive(self, argument: Filter) -> Any: ...
    def forget_local(self) -> Any: ...
    def forget_neighbour(self, argument: int) -> Any: ...

class TemporalCounting(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        counters: int | float | None = None,
        hashes: int | float | None = None,
        strength: int | float | None = 15,
        decay: int | float | None = 1,
        max: int | float | None = None,
        rule: Literal['max', 'keep'] | None = 'max',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def strength(self, key: Key) -> Any: ...
    def preference(self, key: Key, note: Note | None = None) -> Any: ...
    def insert_at(self, key: Key, note: Note | None = None) -> Any: ...
    def insert_by_merge(self, key: Key) -> Any: ...
    def join(self, argument: Filter) -> Any: ...
    def reinforce(self, argument: Filter) -> Any: ...

class DoubleBuffer(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        full: Literal['count', 'fill'] | None = 'count',
        period: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class A2Buffer(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        period: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Forgetful(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        pasts: int | float | None = 2,
        refresh: Literal['count', 'ticks', 'controlled'] | None = 'count',
        period: int | float | None = 1,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def refresh(self) -> Any: ...
    def retention(self) -> Any: ...
    def changes(self) -> Any: ...

class Generalized(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        fnr: float | None = 0.05,
        ratio: float | None = 1.0,
        bits: int | float | None = None,
        reset_hashes: int | float | None = None,
        set_hashes: int | float | None = None,
        start: Literal['zeros', 'ones', 'random'] | None = 'zeros',
        start_zeros: float | None = 0.5,
        start_seed: int | float | None = 0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Retouched(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        scheme: Literal['ratio', 'min-fn', 'max-fp', 'random'] | None = 'ratio',
        cells: Literal['bits', 'counters'] | None = 'bits',
        weights: bool | None = False,
        most_lost: int | float | None = 72057594037927936,
        most_cleared: int | float | None = 72057594037927936,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def trouble(self, key: Key, note: Note | None = None) -> Any: ...
    def retouch(self) -> Any: ...
    def clear_random(self, argument: int) -> Any: ...
    def seal(self) -> Any: ...
    def returned(self) -> Any: ...

class CrossChecking(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        share: float | None = 0.5,
        parts: int | float | None = 2,
        by: Literal['hash', 'label'] | None = 'hash',
        check: Literal['all', 'own'] | None = 'all',
        limit: int | float | None = 64,
        hashes: int | float | None = None,
        part_hashes: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def confirmed_by(self, key: Key) -> Any: ...

class Complement(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        others: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        main_bits: int | float | None = None,
        member_share: float | None = None,
        form: Literal['full', 'petit'] | None = 'full',
        cells: Literal['bits', 'counters'] | None = 'bits',
        hashes: int | float | None = None,
        other_hashes: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def exclude(self, key: Key) -> Any: ...
    def admit(self, key: Key) -> Any: ...
    def expel(self, key: Key) -> Any: ...
    def forget(self, key: Key) -> Any: ...

class YesNo(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        no_filters: int | float | None = None,
        no_bits: int | float | None = None,
        no_hashes: int | float | None = None,
        seed_bits: int | float | None = 0,
        moves: int | float | None = 100,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class MultiClass(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        most: int | float | None = 32,
        others: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def probes(self, key: Key) -> Any: ...
    def assignment(self) -> Any: ...

class FpfMultistage(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        excluded: int | float | None = 0,
        stages: int | float | None = 1,
        seed_bits: int | float | None = 3,
        most: int | float | None = 4096,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def passes(self, key: Key) -> Any: ...
    def forward(self) -> Any: ...
    def stages(self) -> Any: ...
    def header(self) -> Any: ...

class Selective(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        cells: Literal['bits', 'counters'] | None = 'bits',
        prior: float | None = 0.5,
        alpha: float | None = 1.0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def prior(self, key: Key) -> Any: ...
    def decide(self, key: Key, note: Note | None = None) -> Any: ...
    def cost(self, argument: float) -> Any: ...

class Weighted(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        most: int | float | None = 32,
        others: int | float | None = None,
        others_queries: float | None = None,
        rounding: Literal['whole', 'hashed'] | None = 'whole',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def probes(self, key: Key) -> Any: ...
    def assignment(self) -> Any: ...

class PopularityConscious(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        most: int | float | None = 16,
        others: int | float | None = None,
        others_queries: float | None = None,
        solver: Literal['relax', 'threshold', 'dp', 'exact'] | None = 'relax',
        epsilon: float | None = 0.1,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def probes(self, key: Key) -> Any: ...
    def assignment(self) -> Any: ...

class TrieChecked(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        ancestors: int | float | None = 2,
        parent: Literal['path', 'domain', 'date', 'bits'] | None = 'path',
        cells: Literal['bits', 'counters'] | None = 'bits',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def longest_match(self, key: Key) -> Any: ...
    def row(self, key: Key) -> Any: ...
    def holds_prefix(self, key: Key, note: Note | None = None) -> Any: ...
    def insert_prefix(self, key: Key, note: Note | None = None) -> Any: ...
    def insert_closed(self, key: Key) -> Any: ...

class Bloomier(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        values: int | float | None = 256,
        mode: Literal['table', 'mutable', 'compact', 'cascade'] | None = 'table',
        width: int | float | None = None,
        cells: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class Iblt(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        cells: int | float | None = None,
        hashes: int | float | None = None,
        accumulator: Literal['xor', 'sum'] | None = 'xor',
        key_bytes: int | float | None = None,
        value_bytes: int | float | None = 8,
        hash_bits: int | float | None = 64,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def remove_ahead(self, key: Key, note: Note | None = None) -> Any: ...

class Invertible(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        cells: int | float | None = None,
        hashes: int | float | None = 4,
        key_bytes: int | float | None = 16,
        hash_bits: int | float | None = 32,
        strata: bool | None = False,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def distance(self, argument: Filter) -> Any: ...
    def items_for(self, argument: Filter) -> Any: ...
    def remove_ahead(self, key: Key) -> Any: ...

class FilterBank(Filter):
    def __new__(
        cls,
        *,
        sets: int | float | None = 4,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        spurious: float | None = None,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        layout: Literal['sliced', 'rows', 'coded'] | None = 'sliced',
        cells: Literal['bits', 'counters'] | None = 'bits',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def sets(self) -> Any: ...
    def only(self, key: Key) -> Any: ...
    def lowest(self, key: Key) -> Any: ...
    def highest(self, key: Key) -> Any: ...
    def best(self, key: Key, note: Note | None = None) -> Any: ...
    def candidates(self, key: Key) -> Any: ...
    def prefixes(self, key: Key) -> Any: ...
    def add_prefix(self, key: Key) -> Any: ...
    def add_set(self) -> Any: ...
    def remove_set(self, argument: int) -> Any: ...
    def clear_set(self, argument: int) -> Any: ...
    def size_set(self, key: Key, note: Note | None = None) -> Any: ...

class RedisBloom(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = 100,
        fpr: float | None = 0.01,
        expansion: int | float | None = 2,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...

class RedisCuckoo(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = 1024,
        buckets: int | float | None = None,
        slots: int | float | None = 2,
        moves: int | float | None = 20,
        expansion: int | float | None = 1,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def compact(self) -> Any: ...

class RedisCountMin(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        eps: float | None = 0.001,
        delta: float | None = 0.01,
        width: int | float | None = None,
        rows: int | float | None = None,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def total(self) -> Any: ...

class RedisTopK(Filter):
    def __new__(
        cls,
        *,
        top: int | float | None = 10,
        width: int | float | None = None,
        rows: int | float | None = 7,
        decay: float | None = 0.9,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def kept(self, key: Key) -> Any: ...

class SparkCountMin(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        eps: float | None = 0.001,
        delta: float | None = 0.01,
        width: int | float | None = None,
        rows: int | float | None = None,
        salt: int | float | None = 0,
        keys: Literal['text', 'numbers'] | None = 'text',
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
    def total(self) -> Any: ...

class ForeignBits(Filter):
    def __new__(
        cls,
        *,
        items: int | float | None = None,
        fpr: float | None = 0.01,
        bits: int | float | None = None,
        hashes: int | float | None = None,
        program: Literal['guava', 'guava-32', 'spark', 'spark-1', 'hadoop', 'hadoop-jenkins', 'go', 'pyprobables', 'datasketches', 'bip37', 'squid', 'rbloom', 'pybloom-live', 'pybloomfiltermmap'] | None = 'guava',
        salt: int | float | None = 0,
        flags: int | float | None = 0,
        seed: int | None = None,
        wide: bool | None = None,
        secret: bytes | None = None,
        strong: bool | None = None,
    ) -> Self: ...
