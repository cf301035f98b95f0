"""BQ.*: every kind of the registry, without a word about any of them."""

import shutil
import struct
import subprocess

import pytest
from resp import Error, text
from servers import DATA, MODULE, Server, version

NOTES = {"none": None, "integer": "1", "bytes": "x", "group": "0", "weight": "0.5", "weights": "1,0.5", "amount": "2"}
# Numbers as the library hashes them: some kinds take nothing else.
ITEMS = [struct.pack("<Q", i) for i in range(60)]


def as_map(reply):
    """A map under either protocol."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def kinds(client):
    return [as_map(text(row)) for row in client("BQ.KINDS")]


def made(client, kind, key="k"):
    """A filter of the kind with all items; some kinds take them only at once."""
    settings = ["items", "1000"] if "items" in kind["settings"] else []
    assert client("BQ.CREATE", "empty", kind["kind"], *settings) == "OK", kind["kind"]
    note = NOTES[as_map(text(client("BQ.INFO", "empty")))["note"]]
    items = [part for item in ITEMS for part in ([item] if note is None else [item, note])]
    can_insert = "insert" in kind["verbs"]
    if can_insert:
        assert client("BQ.CREATE", key, kind["kind"], *settings) == "OK"
        reply = client("BQ.MADD", key, *items)
        assert not isinstance(reply, Error), (kind["kind"], reply)
    else:
        reply = client("BQ.CREATE", key, kind["kind"], *settings, "WITH", *items)
        assert reply == "OK", (kind["kind"], reply)
    return note


def test_every_kind_is_made_filled_asked_dumped_and_restored(client):
    rows = kinds(client)
    assert len(rows) > 30
    for kind in rows:
        client("FLUSHALL")
        note = made(client, kind)
        verbs = {verb.split(" (")[0] for verb in kind["verbs"]}
        certain = {verb for verb in kind["verbs"] if "(" not in verb}
        assert text(client("BQ.EXPLAIN", kind["kind"])).startswith(f"# {kind['name']}")
        if "contains" in certain:
            assert sum(client("BQ.MEXISTS", "k", *ITEMS)) >= 0.8 * len(ITEMS), kind["kind"]
            assert client("BQ.EXISTS", "k", ITEMS[0]) in (0, 1)
        else:
            assert "contains" in verbs or isinstance(client("BQ.EXISTS", "k", ITEMS[0]), Error)
        for verb, question in [("count", "COUNT"), ("get", "GET"), ("classify", "CLASSIFY"), ("judge", "JUDGE")]:
            reply = client(f"BQ.{question}", "k", ITEMS[0])
            if verb in certain:
                assert not isinstance(reply, Error), (kind["kind"], verb, reply)
            elif verb not in verbs:
                assert isinstance(reply, Error) and "cannot" in reply, (kind["kind"], verb, reply)
        for verb, question in [("list", "LIST"), ("top", "TOP"), ("cardinality", "ESTIMATE")]:
            if verb in certain:
                assert not isinstance(client(f"BQ.{question}", "k"), Error), (kind["kind"], verb)
        frame = client("BQ.DUMP", "k")
        assert client("BQ.RESTORE", "again", frame) == "OK", kind["kind"]
        reply = client("BQ.DIFFERENCE", "k", "again")
        if "difference" in certain:
            assert as_map(text(reply)) == {"entries": [], "undecoded": 0}, (kind["kind"], reply)
        else:
            assert isinstance(reply, Error) and "cannot" in reply, (kind["kind"], reply)
        assert client("BQ.DUMP", "again") == frame
        one, two = client("DEBUG", "DIGEST-VALUE", "k", "again")
        assert one == two
        if "merge" in certain:
            assert client("BQ.MERGE", "again", "k") == "OK", kind["kind"]
            assert client("BQ.MERGE", "new", "k", "k") == "OK"
            patch = client("BQ.DELTA", "k", "again")
            assert client("BQ.PATCH", "k", patch) == "OK"
            assert client("BQ.DUMP", "k") == client("BQ.DUMP", "again")
        if "remove" in certain:
            reply = client("BQ.REMOVE", "k", ITEMS[1], *([] if note is None else [note]))
            assert reply == 1 or isinstance(reply, Error), (kind["kind"], reply)
        assert client("MEMORY", "USAGE", "k") > 0


def test_frames_of_the_command_line_are_served_and_the_reverse(client, tmp_path):
    program = MODULE.parent / "bouquet"
    if not program.exists():
        pytest.skip("the program is not built")
    keys = tmp_path / "keys"
    keys.write_text("".join(f"flower-{i}\n" for i in range(1000)))
    subprocess.run([program, "build", "--kind", "standard", "--items", "1000", "-o", tmp_path / "f.bq", keys], check=True)
    frame = (tmp_path / "f.bq").read_bytes()
    assert client("BQ.RESTORE", "f", frame) == "OK"
    assert client("BQ.MEXISTS", "f", "flower-0", "flower-999") == [1, 1]
    assert client("BQ.ADD", "f", "thistle") == 1
    (tmp_path / "g.bq").write_bytes(client("BQ.DUMP", "f"))
    found = subprocess.run([program, "query", tmp_path / "g.bq"], input="thistle\nnettle\n", capture_output=True, text=True)
    assert found.stdout == "thistle\n"


def test_the_command_line_reads_and_writes_dumps(client, tmp_path):
    program = MODULE.parent / "bouquet"
    if not program.exists():
        pytest.skip("the program is not built")
    client("BF.RESERVE", "bf", "0.01", 100)
    client("BF.MADD", "bf", *[f"flower-{i}" for i in range(500)])
    dump, at = b"", 0
    while True:
        at, data = client("BF.SCANDUMP", "bf", at)
        if at == 0:
            break
        dump += data
    (tmp_path / "dump").write_bytes(dump)
    run = lambda *words, **more: subprocess.run([program, *words], capture_output=True, cwd=tmp_path, **more)
    assert run("convert", "--from", "redisbloom", "dump", "-o", "f.bq").returncode == 0
    asked = "".join(f"flower-{i}\n" for i in range(498, 1500))
    found = run("query", "f.bq", input=asked.encode()).stdout.decode().split()
    names = asked.split()
    assert found == [name for name, answer in zip(names, client("BF.MEXISTS", "bf", *names)) if answer]
    assert run("convert", "--to", "redisbloom", "f.bq", "-o", "again").returncode == 0
    assert (tmp_path / "again").read_bytes() == dump
    assert run("add", "f.bq", input=b"thistle\n").returncode == 0
    assert run("convert", "--to", "redisbloom", "f.bq", "-o", "more").returncode == 0
    assert client("BF.LOAD", "more", (tmp_path / "more").read_bytes()) == "OK"
    assert client("BF.MEXISTS", "more", "thistle", "flower-0") == [1, 1]
    assert client("BQ.RESTORE", "frame", (tmp_path / "f.bq").read_bytes()) == "OK"
    assert client("BQ.EXISTS", "frame", "thistle") == 1


def program(folder):
    """Runs the command line in a folder; skips the test where it is not built."""
    path = MODULE.parent / "bouquet"
    if not path.exists():
        pytest.skip("the program is not built")

    def run(*words, **more):
        done = subprocess.run([path, *words], capture_output=True, cwd=folder, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    return run


def test_the_command_line_reads_and_writes_cuckoo_filters_sketches_and_lists(client, tmp_path):
    run = program(tmp_path)
    names = [f"flower-{i}" for i in range(600)]
    asked = "\n".join(names).encode() + b"\n"
    client("CF.RESERVE", "cf", 200)
    client("CF.INSERT", "cf", "ITEMS", *names[:400], *names[:50])
    dump, at = b"", 0
    while True:
        at, data = client("CF.SCANDUMP", "cf", at)
        if at == 0:
            break
        dump += data
    (tmp_path / "cf").write_bytes(dump)
    run("convert", "--from", "redisbloom-cuckoo", "cf", "-o", "cf.bq")
    counts = [int(line.split("\t")[1]) for line in run("count", "cf.bq", input=asked).splitlines()]
    assert counts == [client("CF.COUNT", "cf", name) for name in names]
    run("convert", "--to", "redisbloom-cuckoo", "cf.bq", "-o", "cf.again")
    assert (tmp_path / "cf.again").read_bytes() == dump

    # The server packs long values.
    client("CMS.INITBYPROB", "cms", "0.001", "0.01")
    client("CMS.INCRBY", "cms", *[part for i, name in enumerate(names[:300]) for part in (name, 1 + 500 // (i + 1))])
    (tmp_path / "cms").write_bytes(client("DUMP", "cms"))
    run("convert", "--from", "redisbloom-count-min", "cms", "-o", "cms.bq")
    counts = [int(line.split("\t")[1]) for line in run("count", "cms.bq", input=asked).splitlines()]
    assert counts == client("CMS.QUERY", "cms", *names)
    run("convert", "--to", "redisbloom-count-min", "cms.bq", "-o", "cms.again")
    assert client("RESTORE", "cms2", 0, (tmp_path / "cms.again").read_bytes()) == "OK"
    assert client("DEBUG", "DIGEST-VALUE", "cms") == client("DEBUG", "DIGEST-VALUE", "cms2")

    client("TOPK.RESERVE", "top", 10, 300, 5, "0.9")
    client("TOPK.INCRBY", "top", *[part for i, name in enumerate(names) for part in (name, 1 + 5000 // (i + 1))])
    (tmp_path / "top").write_bytes(client("DUMP", "top"))
    run("convert", "--from", "redisbloom-top-k", "top", "-o", "top.bq")
    told = [line.split("\t") for line in run("top", "10", "top.bq").splitlines()]
    listed = text(client("TOPK.LIST", "top", "WITHCOUNT"))
    assert sorted((name, int(count)) for name, count in told) == sorted(zip(listed[::2], listed[1::2]))
    run("convert", "--to", "redisbloom-top-k", "top.bq", "-o", "top.again")
    assert client("RESTORE", "top2", 0, (tmp_path / "top.again").read_bytes()) == "OK"
    assert client("DEBUG", "DIGEST-VALUE", "top") == client("DEBUG", "DIGEST-VALUE", "top2")


def test_sketches_and_lists_that_redisbloom_saved_are_filters_of_the_command_line(binary, tmp_path):
    if version(binary) < (7, 0):
        pytest.skip("the snapshot was written by Redis 7, whose format this server does not read")
    run = program(tmp_path)
    shutil.copy(DATA / "dump.rdb", tmp_path / "dump.rdb")
    seen = set()
    with Server(binary, folder=tmp_path) as server, server.client() as client:
        for key in text(client("KEYS", "*")):
            of = client("TYPE", key)
            asked = "\n".join(f"{word}-11-{i}" for word in ("f", "g", "zz") for i in range(100)).encode() + b"\n"
            if of == "CMSk-TYPE":
                (tmp_path / "d").write_bytes(client("DUMP", key))
                run("convert", "--from", "redisbloom-count-min", "d", "-o", "f.bq")
                counts = [int(line.split("\t")[1]) for line in run("count", "f.bq", input=asked).splitlines()]
                assert counts == client("CMS.QUERY", key, *asked.split())
                seen.add(of)
            if of == "TopK-TYPE":
                (tmp_path / "d").write_bytes(client("DUMP", key))
                run("convert", "--from", "redisbloom-top-k", "d", "-o", "f.bq")
                listed = text(client("TOPK.LIST", key, "WITHCOUNT"))
                told = [line.split("\t") for line in run("top", "1000", "f.bq").splitlines()]
                assert sorted((name, int(count)) for name, count in told) == sorted(zip(listed[::2], listed[1::2]))
                seen.add(of)
    assert seen == {"CMSk-TYPE", "TopK-TYPE"}


def test_every_verb_has_a_command(client):
    other = {"contains": "exists", "insert": "add", "weigh": "probability", "cardinality": "estimate", "build_from": "create",
             "compress": "dump"}
    verbs = {verb.split(" (")[0] for kind in kinds(client) for verb in kind["verbs"]}
    assert len(verbs) > 10
    for verb in verbs:
        assert client("COMMAND", "INFO", f"bq.{other.get(verb, verb)}")[0], verb


def test_specials_are_asked_and_done(client):
    """Each question that takes nothing or an item is asked, on the kinds that have some."""
    asked = 0
    for kind in kinds(client):
        client("FLUSHALL")
        made(client, kind)
        for name in kind["specials"]:
            for command in ["BQ.ASK", "BQ.ACT"]:
                for argument in [[], [ITEMS[0]], ["1"], ["0.5"], ["0..3"], ["k"], [ITEMS[0], "1"]]:
                    reply = client(command, "k", name, *argument)
                    asked += not isinstance(reply, Error)
                    inside = isinstance(reply, Error) and ("failed inside" in reply or "does not know" in reply)
                    assert not inside, (kind["kind"], name, argument, reply)
        assert client("PING") == "PONG"
    assert asked > 10


def test_errors_say_what_to_do(client):
    assert "did you mean" in client("BQ.CREATE", "k", "standart", "items", "10")
    assert "missing" in client("BQ.CREATE", "k", "standard")
    assert client("BQ.CREATE", "k", "standard", "items", "10") == "OK"
    assert client("BQ.CREATE", "k", "standard", "items", "10").startswith("BUSYKEY")
    assert "no such key" in client("BQ.ADD", "other", "x")
    client("SET", "text", "x")
    assert client("BQ.ADD", "text", "x").startswith("WRONGTYPE")
    assert client("BF.ADD", "k", "x").startswith("WRONGTYPE")
    assert "max-filter-bytes" in client("BQ.CREATE", "huge", "standard", "items", "1e12")
    assert client("BQ.EXISTS", "nowhere", "x") == 0


def test_a_keyed_filter_needs_the_secret_of_the_configuration(binary, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("ab" * 32)
    with Server(binary, module_args=["secret_file", secret]) as server, server.client() as client:
        assert client("BQ.CREATE", "k", "standard", "items", "100", "keyed", "yes") == "OK"
        assert client("BQ.ADD", "k", "rose") == 1
        frame, dump = client("BQ.DUMP", "k"), client("DUMP", "k")
        assert bytes.fromhex("ab" * 8) not in frame + dump
    with Server(binary) as server, server.client() as client:
        assert "secret" in client("BQ.CREATE", "k", "standard", "items", "100", "keyed", "yes")
        assert isinstance(client("BQ.RESTORE", "k", frame), Error)
        assert client("RESTORE", "k", 0, dump) == "OK"
        assert "secret" in client("BQ.EXISTS", "k", "rose"), "it is kept, and cannot be asked"
        assert client("DUMP", "k") == dump
