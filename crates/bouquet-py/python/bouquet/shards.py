"""One logical filter in several keys of a Redis or Valkey server or cluster that has the module `libbouquet_redis.so`.

A filter is the value of one key and lies on one node. One that outgrows a node is cut into shards; every item belongs to one of them,
the CRC-32 of its bytes modulo the number of shards, so that every client finds it in the same place:

    >>> import redis
    >>> from bouquet.shards import ShardedFilter
    >>> clicks = ShardedFilter(redis.RedisCluster(host="127.0.0.1"), "clicks", 16)
    >>> clicks.create("standard", items=10**9, fpr=0.001)
    >>> clicks.add_many(["rose", "lily"])
    2
    >>> clicks.contains_many(["rose", "thistle"])
    [True, False]

Nothing but a client of redis-py is needed; the rest of the package is not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Union

Key = Union[str, bytes, bytearray, memoryview]

__all__ = ["ShardedFilter"]


def _bytes(key: Key) -> bytes:
    """The bytes of a key: text is its UTF-8."""
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, (bytes, bytearray, memoryview)):
        return bytes(key)
    raise TypeError(f"a key is text or bytes, not {type(key).__name__}; turn numbers into the text or bytes that all clients send")


class ShardedFilter:
    """A filter in `shards` keys, over a client of redis-py (`redis.Redis` or `redis.RedisCluster`).

    With `spread` (the default) shard i is the key `{name:i}`, so that shards lie on different nodes. Without it shard i is `{name}:i`: all
    of them lie in one slot, where the server itself can merge them. `batch` is the number of items that one command takes at most.
    """

    def __init__(self, client: Any, name: str, shards: int, *, spread: bool = True, batch: int = 1000) -> None:
        if shards < 1 or batch < 1:
            raise ValueError(f"at least one shard and one item at a time are needed, not {shards} and {batch}")
        if not name or "{" in name or "}" in name:
            raise ValueError(f"the name of a filter has a letter at least and no braces, unlike {name!r}")
        self.client, self.name, self.shards, self.spread, self.batch = client, name, shards, spread, batch

    def key(self, shard: int) -> str:
        """The server's key of a shard."""
        return f"{{{self.name}:{shard}}}" if self.spread else f"{{{self.name}}}:{shard}"

    @property
    def keys(self) -> list[str]:
        """The server's keys of all shards."""
        return [self.key(shard) for shard in range(self.shards)]

    def shard_of(self, key: Key) -> int:
        """The shard of an item."""
        return zlib.crc32(_bytes(key)) % self.shards

    def create(self, kind: str, *, items: int | None = None, mergeable: bool = False, **settings: Any) -> None:
        """Makes the shards, filters of this kind and these settings.

        Each is made for its part of `items`, with an eighth more, since parts are not all equal. An item is asked of one shard: the rate of
        the whole is that of a shard. What is to be merged into one filter later is made with `mergeable`, each shard for all items, or the
        union would be far too full.
        """
        if items is not None:
            part = items if mergeable or self.shards == 1 else -(-items * 9 // (self.shards * 8))
            settings = {"items": max(part, 1), **settings}
        words = [word for name, value in settings.items() for word in (name, _word(value))]
        self._run([("BQ.CREATE", key, kind, *words) for key in self.keys])

    def add(self, key: Key, *note: Any) -> bool:
        """Adds an item, with its note if the kind has notes; whether it was certainly new."""
        return bool(self._run([("BQ.ADD", self.key(self.shard_of(key)), _bytes(key), *note)])[0])

    def add_many(self, keys: Iterable[Key]) -> int:
        """Adds items of a kind without notes; how many were certainly new."""
        return sum(self._by_shard("BQ.MADD", list(keys))[1])

    def contains(self, key: Key) -> bool:
        """Whether the item may be in the filter."""
        return self.contains_many([key])[0]

    def contains_many(self, keys: Iterable[Key]) -> list[bool]:
        """Whether the items may be in the filter, in their order."""
        return [bool(answer) for answer in self._answers("BQ.MEXISTS", list(keys))]

    def count_many(self, keys: Iterable[Key]) -> list[int]:
        """How often the items came, in their order."""
        return self._answers("BQ.COUNT", list(keys))

    def remove(self, key: Key, *note: Any) -> None:
        """Removes an item once."""
        self._run([("BQ.REMOVE", self.key(self.shard_of(key)), _bytes(key), *note)])

    def merged(self, target: str | None = None) -> str:
        """Makes one filter of all shards and gives its key, `{name}:all` unless another is named.

        Shards that are spread are copied to the target's slot first (`BQ.DUMP`, `BQ.RESTORE`), one after the other.
        """
        target = target or f"{{{self.name}}}:all"
        tag = target[target.find("{") + 1 : target.find("}")] if "{" in target and "}" in target else target
        self._run([("DEL", target)])
        for number, key in enumerate(self.keys):
            source = key
            if self.spread:
                source = target if number == 0 else f"{{{tag}}}:copy"
                (frame,) = self._run([("BQ.DUMP", key)])
                self._run([("BQ.RESTORE", source, frame, "REPLACE")])
            if source != target:
                self._run([("BQ.MERGE", target, source)])
        if self.spread and self.shards > 1:
            self._run([("DEL", f"{{{tag}}}:copy")])
        return target

    def delete(self) -> None:
        """Removes the shards."""
        self._run([("DEL", key) for key in self.keys])

    def _run(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Sends commands in one pipeline, which a cluster client cuts by node. The first error is raised when all have been done."""
        if len(commands) == 1:
            return [self.client.execute_command(*commands[0])]
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return pipeline.execute()

    def _by_shard(self, command: str, keys: list[Key]) -> tuple[list[list[int]], list[Any]]:
        """Sends items to their shards, in commands of at most `batch`; the positions of each command's items, and its reply."""
        positions: dict[int, list[int]] = {}
        for position, key in enumerate(keys):
            positions.setdefault(self.shard_of(key), []).append(position)
        pieces, commands = [], []
        for shard, own in sorted(positions.items()):
            for start in range(0, len(own), self.batch):
                piece = own[start : start + self.batch]
                pieces.append(piece)
                commands.append((command, self.key(shard), *(_bytes(keys[position]) for position in piece)))
        return pieces, self._run(commands) if commands else []

    def _answers(self, command: str, keys: list[Key]) -> list[Any]:
        pieces, replies = self._by_shard(command, keys)
        answers: list[Any] = [None] * len(keys)
        for piece, reply in zip(pieces, replies):
            for position, answer in zip(piece, reply if isinstance(reply, list) else [reply]):
                answers[position] = answer
        return answers


def _word(value: Any) -> Any:
    """A setting as the server takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
