"""Frames, mapped files and files that change."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import bouquet
import pytest


def test_files_travel(tmp_path: pathlib.Path, flowers: bouquet.Filter) -> None:
    path = tmp_path / "flowers.bq"
    flowers.save(path)
    for opened in (bouquet.open(path), bouquet.Bloom.open(str(path)), bouquet.open(path, mapped=True)):
        assert opened == flowers and "rose" in opened
    flowers.save(path, compressed=True)
    assert bouquet.open(path) == flowers
    with pytest.raises(TypeError, match="of kind `standard`"):
        bouquet.Cuckoo.open(path)
    program = f"import bouquet; assert 'lily' in bouquet.open({str(path)!r})"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_mapped_filter_changes_in_memory_and_not_in_its_file(tmp_path: pathlib.Path, flowers: bouquet.Filter) -> None:
    path = tmp_path / "flowers.bq"
    flowers.save(path)
    with bouquet.open(path, mapped=True) as mapped:
        mapped.add("iris")
        assert "iris" in mapped
    assert mapped.closed and "closed" in repr(mapped)
    with pytest.raises(bouquet.FileError, match="open it again"):
        "rose" in mapped
    assert bouquet.open(path) == flowers


def test_a_writable_file_is_valid_again_when_closed(tmp_path: pathlib.Path, flowers: bouquet.Filter) -> None:
    path = tmp_path / "flowers.bq"
    flowers.save(path)
    with bouquet.open(path, writable=True) as file:
        file.add("iris")
        with pytest.raises(bouquet.FrameError, match="open for writing"):
            bouquet.open(path)
        with pytest.raises(bouquet.FileError, match="another writer"):
            bouquet.open(path, writable=True)
    assert "iris" in bouquet.open(path)
    with pytest.raises(ZeroDivisionError), bouquet.open(path, writable=True) as file:
        file.add("tulip")
        1 // 0
    assert "tulip" in bouquet.open(path)
    bouquet.Scalable(items=100).save(path)
    with pytest.raises(bouquet.UnsupportedError, match="be changed in its file"):
        bouquet.open(path, writable=True)


def test_what_is_no_frame_is_refused(tmp_path: pathlib.Path, flowers: bouquet.Filter) -> None:
    with pytest.raises(FileNotFoundError):
        bouquet.open(tmp_path / "nothing.bq")
    with pytest.raises(bouquet.FrameError, match="not a bouquet frame"):
        bouquet.from_bytes(b"rose" * 100)
    frame = bytearray(flowers.to_bytes())
    frame[-1] ^= 1
    with pytest.raises(bouquet.FrameError, match="corrupt"):
        bouquet.from_bytes(frame)
    with pytest.raises(bouquet.FrameError, match="truncated"):
        bouquet.from_bytes(memoryview(frame)[:-8])
    with pytest.raises(TypeError):
        bouquet.from_bytes("text")  # type: ignore[arg-type]
