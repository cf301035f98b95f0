"""The commands of RedisBloom reply as RedisBloom 2.4.20 did, on its data."""

import base64
import json
import shutil

import pytest
from resp import Double, Error, text
from servers import DATA, Server, version


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def expected(value):
    """A recorded reply as the client gives it."""
    if isinstance(value, dict):
        if "error" in value:
            return Error(value["error"])
        if "double" in value:
            return Double(value["double"])
        if "b64" in value:
            return base64.b64decode(value["b64"])
        return {key: expected(one) for key, one in value["map"]}
    return [expected(one) for one in value] if isinstance(value, list) else value


def alike(got, want):
    """Equal, and errors are errors."""
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(alike, got, want))
    if isinstance(got, Error) != isinstance(want, Error):
        return False
    return got == want or number(got) is not None and number(got) == number(want)


def number(value):
    """A number with a fraction as text: servers differ in how many digits they print."""
    try:
        return float(value) if isinstance(value, (str, bytes)) and "." in str(value) else None
    except ValueError:
        return None


def shape(value):
    return [shape(one) for one in value] if isinstance(value, list) else type(value).__name__


def plausible(got, want):
    """What random decay changes: the same shape, or a list of other names; no error where there was none."""
    if isinstance(want, list) and isinstance(got, list):
        kinds = {kind for kind in map(str, map(shape, got))} | {"NoneType", "str"}
        return all(str(one) in kinds for one in map(shape, want)) or shape(got) == shape(want)
    return shape(got) == shape(want)


@pytest.mark.parametrize("protocol", [2, 3])
def test_all_recorded_replies_are_equal(server, protocol):
    script = rows("script.jsonl")
    assert len(script) == 1501
    differ = []
    with server.client(protocol) as client:
        client("FLUSHALL")
        for number, row in enumerate(script):
            got, want = text(client(*row["command"])), expected(row[f"resp{protocol}"])
            if isinstance(want, Error) and version(server.binary) < (7, 0) and " command" in want:
                same = isinstance(got, Error) and " command" in got  # the server's own words
            else:
                same = plausible(got, want) if row.get("varies") else alike(got, want)
            if not same:
                differ.append((number, row["command"], got, want))
    assert not differ, f"{len(differ)} of {len(script)} differ, first {differ[:5]}"


def dumps():
    return {row["key"]: row for row in rows("dumps.jsonl")}


def check_filter(client, row):
    """Members, false positives and information of a recorded filter."""
    key, family = row["key"], row["family"]
    prefix, count = row["members"]
    members = client(f"{family}.MEXISTS", key, *[f"{prefix}-{i}" for i in range(count)])
    assert members == [1] * count
    absent = [f"{row['absent_prefix']}-{i}" for i in range(row["absent_tried"])]
    answers = client(f"{family}.MEXISTS", key, *absent)
    assert [name for name, answer in zip(absent, answers) if answer] == row["false_positives"]
    assert text(client(f"{family}.INFO", key)) == row["info"]


def scandump(client, family, key):
    chunks, at = [], 0
    while True:
        at, data = client(f"{family}.SCANDUMP", key, at)
        if at == 0:
            return chunks
        chunks.append([at, base64.b64encode(data).decode()])


@pytest.mark.parametrize("key", list(dumps()))
def test_dumps_load_answer_and_are_dumped_again_byte_for_byte(client, key):
    row = dumps()[key]
    for at, data in row["chunks"]:
        assert client(f"{row['family']}.LOADCHUNK", key, at, base64.b64decode(data)) == "OK"
    check_filter(client, row)
    assert scandump(client, row["family"], key) == row["chunks"]


def test_a_snapshot_of_redisbloom_loads_and_answers_as_recorded(binary, tmp_path):
    if version(binary) < (7, 0):
        pytest.skip("the snapshot was written by Redis 7, whose format this server does not read")
    shutil.copy(DATA / "dump.rdb", tmp_path / "dump.rdb")
    with Server(binary, folder=tmp_path) as server, server.client() as client:
        for row in dumps().values():
            check_filter(client, row)
        for row in rows("answers.jsonl"):
            assert alike(text(client(*row["command"])), expected(row["resp2"])), row["command"]


@pytest.mark.parametrize("restored", ["RESTORE", "LOADCHUNK"])
def test_what_is_saved_here_is_what_redisbloom_saved(binary, tmp_path, restored):
    """Values of the snapshot are written again with the same bytes, but for what is random in them."""
    if version(binary) < (7, 0):
        pytest.skip("the snapshot was written by Redis 7")
    shutil.copy(DATA / "dump.rdb", tmp_path / "dump.rdb")
    with Server(binary, folder=tmp_path) as server, server.client() as client:
        for key in dumps():
            first = client("DUMP", key)
            if restored == "RESTORE":
                assert client("RESTORE", "copy", 0, first, "REPLACE") == "OK"
            else:
                family = dumps()[key]["family"]
                client("DEL", "copy")
                for at, data in dumps()[key]["chunks"]:
                    client(f"{family}.LOADCHUNK", "copy", at, base64.b64decode(data))
            assert client("DUMP", "copy") == first


def test_valkeys_options(client):
    insert = lambda *args: client("BF.INSERT", *args)
    assert insert("v", "TIGHTENING", "0.8", "SEED", b"s" * 32, "ITEMS", "a", "b") == [1, 1]
    assert client("BF.MEXISTS", "v", "a", "b", "c") == [1, 1, 0]
    assert float(client("BF.INFO", "v", "TIGHTENING")[0]) == 0.8
    assert insert("w", "SEED", "short", "ITEMS", "a") == Error("invalid seed")
    assert insert("w", "TIGHTENING", "2", "ITEMS", "a") == Error("(0 < tightening ratio range < 1)")
    assert insert("w", "VALIDATESCALETO", 1_000_000, "ITEMS", "a") == [1]
    assert insert("x", "NONSCALING", "VALIDATESCALETO", 1_000, "ITEMS", "a") == Error(
        "cannot use NONSCALING and VALIDATESCALETO options together"
    )
    assert insert("x", "VALIDATESCALETO", 10**15, "ITEMS", "a") == Error(
        "provided VALIDATESCALETO causes bloom object to exceed memory limit"
    )
    assert client("BF.INFO", "w", "MAXSCALEDCAPACITY")[0] > 1_000_000
    # A dump in one piece, seed and ratio included.
    whole = b"".join(base64.b64decode(data) for _, data in scandump(client, "BF", "v"))
    assert client("BF.LOAD", "again", whole) == "OK"
    assert client("BF.MEXISTS", "again", "a", "b", "c") == [1, 1, 0]
    assert client("DEBUG", "DIGEST-VALUE", "v", "again")[0] == client("DEBUG", "DIGEST-VALUE", "v", "again")[1]
    assert isinstance(client("BF.LOAD", "again", whole), Error)
    assert isinstance(client("BF.LOAD", "other", whole[:-1]), Error)


def test_limits_are_refused_before_memory_is_taken(client):
    used = lambda: int(dict(l.split(b":") for l in client("INFO", "memory").splitlines() if b":" in l)[b"used_memory"])
    before = used()
    assert isinstance(client("BF.RESERVE", "huge", "0.0000001", 10**15), Error)
    assert isinstance(client("CF.RESERVE", "huge", 10**15), Error)
    assert isinstance(client("CMS.INITBYDIM", "huge", 10**10, 10**6), Error)
    assert isinstance(client("CMS.INITBYPROB", "huge", "1e-12", "1e-30"), Error)
    assert isinstance(client("TOPK.RESERVE", "huge", 10**9, 4 * 10**9, 4 * 10**9, "0.9"), Error)
    assert client("EXISTS", "huge") == 0
    assert used() < before + (1 << 20)
