"""The same key is the same bytes in every language."""

from __future__ import annotations

import array
import ipaddress
import uuid

import bouquet
import numpy
import pytest
from conftest import REPOSITORY


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("rose", b"rose"),
        ("Blüte", "Blüte".encode()),
        (b"rose", b"rose"),
        (bytearray(b"rose"), b"rose"),
        (memoryview(b"-rose-")[1:5], b"rose"),
        (memoryview(b"rosebud")[::2], b"rsbd"),
        (array.array("H", [1, 2]), None),
        (7, bytes([7, 0, 0, 0, 0, 0, 0, 0])),
        (True, bytes([1, 0, 0, 0, 0, 0, 0, 0])),
        (-1, b"\xff" * 8),
        (2**64 - 1, b"\xff" * 8),
        (-(2**63), bytes(7) + b"\x80"),
        (numpy.int16(-2), b"\xfe" + b"\xff" * 7),
        (numpy.str_("rose"), b"rose"),
        (uuid.UUID(int=1), bytes(15) + b"\x01"),
        (ipaddress.ip_address("10.0.0.1"), bytes([10, 0, 0, 1])),
        (ipaddress.ip_address("::1"), bytes(15) + b"\x01"),
        (("a", 1), b"\x01a\x08\x01" + bytes(7)),
        (("x" * 200,), b"\xc8\x01" + b"x" * 200),
        ((("a",), b""), b"\x02\x01a\x00"),
        ((), b""),
    ],
)
def test_bytes_of_a_key(key: object, expected: bytes | None) -> None:
    if expected is None:
        with pytest.raises(TypeError, match="a key is str"):
            bouquet.key_bytes(key)  # type: ignore[arg-type]
        return
    assert bouquet.key_bytes(key) == expected  # type: ignore[arg-type]
    made = bouquet.Bloom(items=10)
    made.add(key)  # type: ignore[arg-type]
    assert expected in made and made.contains_many([key]).tolist() == [True]


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (2**64, OverflowError, "to_bytes"),
        (-(2**63) - 1, OverflowError, "64 bits"),
        (1.0, TypeError, "struct.pack"),
        (None, TypeError, "None is no key"),
        (["a"], TypeError, "a key is str"),
        ("\ud800", UnicodeEncodeError, "surrogates"),
        ((None,), TypeError, "None is no key"),
    ],
)
def test_what_is_no_key_is_refused_with_a_hint(key: object, error: type[Exception], words: str) -> None:
    made = bouquet.Bloom(items=10)
    for use in (made.add, made.__contains__, bouquet.key_bytes):
        with pytest.raises(error, match=words):
            use(key)  # type: ignore[arg-type]
    assert len(made) == 0


def test_golden_frames_of_the_library_open_and_are_written_byte_for_byte() -> None:
    golden = sorted((REPOSITORY / "crates/bouquet/tests/golden").rglob("v1/*.bq")) or sorted(
        path for path in (REPOSITORY / "crates/bouquet/tests/golden").rglob("*.bq") if "keyed" not in path.parts
    )
    assert golden
    opened = 0
    for path in golden:
        frame = path.read_bytes()
        made = bouquet.from_bytes(frame)
        opened += made.to_bytes() == frame
    assert opened > len(golden) // 2
