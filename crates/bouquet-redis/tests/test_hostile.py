"""100,000 damaged chunks, dumps and frames, with right and wrong checksums: the server stays up and its memory bounded."""

import base64
import random
import struct
import time

import pytest
from resp import Error
from servers import Server, version
from test_citizen import FILL, info
from test_kinds import kinds, made
from test_redisbloom import dumps, scandump
from test_valkey import Filter

xxhash = pytest.importorskip("xxhash")

EDGES = [0, 1, 2**64 - 1, 2**63, 2**32, 2**31 - 1, (2**64 - 1) // 8]
LIMIT = 4 << 20


def mutated(data, random):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        reach = min(len(data), 120) if random.random() < 0.5 else len(data)
        at = random.randrange(max(reach, 1))
        what = random.choice([0, 0, 0, 1, 1, 2, 3, 4, 4, 5])
        if what == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif what == 1 and data:
            data[at % len(data)] = random.choice([0, 0xFF, 0x7F, 0x80])
        elif what == 2:
            del data[at:]
        elif what == 3:
            data += random.randbytes(8)
        else:
            data[at : at + 8] = struct.pack("<Q", random.choice(EDGES))
    return bytes(data)


def crc64_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x95AC9329AC4BC9B5 if byte & 1 else 0)
        table.append(byte)
    return table


CRC = crc64_table()


def resealed_dump(payload):
    """A payload of DUMP with the right checksum."""
    crc = 0
    for byte in payload[:-8]:
        crc = CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return payload[:-8] + struct.pack("<Q", crc)


def resealed_frame(frame):
    """A frame with right checksums, as far as it still has the places for them."""
    frame = bytearray(frame)
    if len(frame) < 64:
        return bytes(frame)
    stores, parameters, state = struct.unpack_from("<H", frame, 14)[0], *struct.unpack_from("<II", frame, 24)
    first = len(frame)
    for row in range(64, 64 + 40 * min(stores, 64), 40):
        if row + 40 <= len(frame):
            offset, length = struct.unpack_from("<QQ", frame, row)
            if offset + length <= len(frame):
                first = min(first, offset)
                digest = xxhash.xxh3_64_intdigest(bytes(frame[offset : offset + length]))
                struct.pack_into("<Q", frame, row + 32, digest)
    struct.pack_into("<Q", frame, 56, 0)
    struct.pack_into("<Q", frame, 56, xxhash.xxh3_64_intdigest(bytes(frame[:first])))
    return bytes(frame)


def test_checksums_are_made_as_the_server_makes_them(client):
    for command in FILL:
        client(*command)
    dump = client("DUMP", "bf")
    assert resealed_dump(dump) == dump
    frame = client("BQ.DUMP", "bq")
    assert resealed_frame(frame) == frame


def use(client, key):
    """Whatever was accepted is used; the commands of other types fail."""
    for command in [("BF.MADD", key, "a", "b"), ("BF.INFO", key), ("CF.INSERT", key, "ITEMS", "a", "b"), ("CF.DEL", key, "a"),
                    ("CF.COMPACT", key), ("CMS.INCRBY", key, "a", 5), ("CMS.MERGE", key, 1, key), ("TOPK.ADD", key, "a", "b"),
                    ("TOPK.LIST", key, "WITHCOUNT"), ("TOPK.COUNT", key, "a"), ("BQ.ADD", key, "a"), ("BQ.EXISTS", key, "a"),
                    ("BQ.INFO", key), ("BF.SCANDUMP", key, 1), ("CF.SCANDUMP", key, 1), ("DEBUG", "DIGEST-VALUE", key)]:
        yield command


@pytest.mark.parametrize("total", [100_000])
def test_damaged_bytes_of_every_sort(binary, total):
    rng = random.Random(2021)
    quick = version(binary) != (7, 0)
    total = total // 10 if quick else total  # the first server gets all, the others a tenth
    with Server(binary, module_args=["max_filter_bytes", LIMIT], ) as server, server.client() as client:
        for command in FILL:
            client(*command)
        small = [
            ("BQ.CREATE", "s1", "standard", "items", 20), ("BQ.CREATE", "s2", "counting", "items", 20),
            ("BQ.CREATE", "s3", "scalable", "items", 10), ("BQ.CREATE", "s4", "cuckoo", "items", 20),
            ("BQ.CREATE", "s5", "iblt", "items", 10), ("BQ.CREATE", "s6", "conservative-update", "items", 20),
            ("CMS.INITBYDIM", "s7", 10, 2), ("TOPK.RESERVE", "s8", 3, 5, 2, "0.9"),
            ("CF.RESERVE", "s9", 8), ("BF.RESERVE", "s10", "0.1", 5),
        ]
        for command in small:
            assert client(*command) == "OK", command
        for i in range(20):
            client("BF.ADD", "s10", i), client("CF.ADD", "s9", i), client("TOPK.ADD", "s8", i)
        server_dumps = [client("DUMP", f"s{i}") for i in range(1, 11)]
        frames = [client("BQ.DUMP", f"s{i}") for i in range(1, 7)]
        chunks = []
        for row in dumps().values():
            chunks.append((row["family"], [(at, base64.b64decode(data)) for at, data in row["chunks"][:2]]))
        bloom = b"".join(base64.b64decode(data) for _, data in scandump(client, "BF", "s10"))
        valkey = Filter(5, 0.1, 2)
        for i in range(20):
            valkey.add(b"%d" % i)
        loads = [("BF.LOAD", bloom), ("BF.LOAD", valkey.encoded()), ("CMS.LOAD", client("CMS.DUMP", "s7")), ("TOPK.LOAD", client("TOPK.DUMP", "s8"))]
        client("FLUSHALL")
        before = int(info(client)["used_memory"])
        done = accepted = 0
        while done < total:
            commands = []
            for _ in range(100):
                sort = rng.randrange(4)
                if sort == 0:
                    family, parts = rng.choice(chunks)
                    key = f"{family}{rng.randrange(3)}"
                    (one, header), (two, data) = parts
                    if rng.random() < 0.5:
                        commands += [("DEL", key), (f"{family}.LOADCHUNK", key, one, mutated(header, rng))]
                    else:
                        two = rng.choice([two, two, two, 2, 2**63 - 1, -1, two + rng.randrange(100)])
                        commands += [(f"{family}.LOADCHUNK", key, two, mutated(data, rng))]
                elif sort == 1:
                    payload = mutated(rng.choice(server_dumps), rng)
                    payload = resealed_dump(payload) if rng.random() < 0.8 else payload
                    commands += [("RESTORE", f"c{rng.randrange(3)}", 0, payload, "REPLACE")]
                elif sort == 2:
                    frame = mutated(rng.choice(frames), rng)
                    frame = resealed_frame(frame) if rng.random() < 0.8 else frame
                    commands += [("DEL", "f"), ("BQ.RESTORE", "f", frame)]
                else:
                    name, data = rng.choice(loads)
                    commands += [("DEL", name), (name, name, mutated(data, rng))]
            replies = client.pipeline(commands)
            accepted += sum(reply == "OK" for reply in replies)
            done += 100
            keys = ["c0", "f", "BF0", "CF0", "BF.LOAD", "CMS.LOAD", "TOPK.LOAD"]
            used = [command for key in keys for command in use(client, key)]
            client.pipeline(used)
            if done % 1_000 == 0:
                assert int(info(client)["used_memory"]) < before + 12 * LIMIT
                client("FLUSHALL")
        assert accepted > total // 20, "some must be accepted, or nothing is tried"
        assert "failed inside" not in server.tail()
        assert client("PING") == "PONG"


HUGE = [2**20, 2**28, 2**36, 10**12, 2**48, 2**62, "1e18", "1e300", "0.0000001", "1e-300", "-1", "nan"]


def test_no_setting_makes_a_kind_take_more_than_it_may(binary):
    """Each setting of each kind at sizes that nobody has memory for: refused before the memory is taken, and soon."""
    with Server(binary, module_args=["max_filter_bytes", LIMIT]) as server, server.client(timeout=60) as client:
        slow, made, refused = [], 0, 0
        for kind in kinds(client):
            base = ["items", "100"] if "items" in kind["settings"] else []
            for setting in kind["settings"]:
                for value in HUGE:
                    for others in {(), tuple(base) if setting != "items" else ()}:
                        begun = time.monotonic()
                        reply = client("BQ.CREATE", "k", kind["kind"], *others, setting, value)
                        if time.monotonic() - begun > 5:
                            slow.append((kind["kind"], setting, value, time.monotonic() - begun))
                        made += reply == "OK"
                        refused += isinstance(reply, Error)
                        assert not isinstance(reply, Error) or "failed inside" not in reply, (kind["kind"], setting, value)
                        client("DEL", "k")
            peak = int(info(client)["used_memory_peak"])
            assert peak < 20 * LIMIT, (kind["kind"], peak)
        assert not slow, slow
        assert made > 100 and refused > 1_000


def test_time_may_be_asked_to_pass_for_ever(client):
    tried = 0
    for kind in kinds(client):
        if "advance" in kind["verbs"]:
            client("FLUSHALL")
            made(client, kind)
            for ticks in [2**20, 2**40, 2**63 - 1]:
                begun = time.monotonic()
                assert client("BQ.ADVANCE", "k", ticks) == "OK"
                assert time.monotonic() - begun < 2, (kind["kind"], ticks)
                tried += 1
    assert tried > 5
