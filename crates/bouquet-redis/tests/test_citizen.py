"""What every value of a server has: snapshots, files, replicas, memory, expiry, access rules, documentation."""

import time

import pytest
from resp import Error, text
from servers import Server, free_ports, version
from test_kinds import ITEMS, kinds, made

FILL = [
    ("BF.RESERVE", "bf", "0.01", 50),
    ("BF.MADD", "bf", *[f"a{i}" for i in range(400)]),
    ("BF.INSERT", "seeded", "TIGHTENING", "0.8", "SEED", b"s" * 32, "ITEMS", *[f"a{i}" for i in range(300)]),
    ("CF.RESERVE", "cf", 64, "EXPANSION", 2),
    ("CF.INSERT", "cf", "ITEMS", *[f"b{i}" for i in range(300)]),
    ("CF.DEL", "cf", "b7"),
    ("CMS.INITBYDIM", "cms", 200, 5),
    ("CMS.INCRBY", "cms", *[part for i in range(100) for part in (f"c{i}", i)]),
    ("TOPK.RESERVE", "topk", 5, 8, 3, "0.9"),
    ("TOPK.ADD", "topk", *[f"d{i * i % 37}" for i in range(400)]),
    ("BQ.CREATE", "bq", "scalable", "items", 50),
    ("BQ.MADD", "bq", *[f"e{i}" for i in range(400)]),
    ("BQ.CREATE", "stable", "stable", "bits", 3000, "hashes", 3),
    ("BQ.MADD", "stable", *[f"f{i}" for i in range(900)]),
    ("BQ.CREATE", "cuckoo", "cuckoo", "items", 300),
    ("BQ.MADD", "cuckoo", *[f"g{i}" for i in range(300)]),
]
KEYS = ["bf", "seeded", "cf", "cms", "topk", "bq", "stable", "cuckoo"]


def fill(client):
    for command in FILL:
        reply = client(*command)
        assert not isinstance(reply, Error), (command[:3], reply)


def digests(client):
    found = client("DEBUG", "DIGEST-VALUE", *KEYS)
    assert len(set(found)) == len(KEYS) and b"0" * 40 not in [d if isinstance(d, bytes) else d.encode() for d in found]
    return found


def info(client, section="memory"):
    pairs = [line.split(b":", 1) for line in client("INFO", section).splitlines() if b":" in line]
    return {name.decode(): value.decode() for name, value in pairs}


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_save_and_restart_leave_equal_digests(binary, tmp_path):
    with Server(binary, folder=tmp_path) as server:
        with server.client() as client:
            fill(client)
            before = digests(client)
            assert client("SAVE") == "OK"
        server.restart()
        with server.client() as client:
            assert digests(client) == before


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_the_append_only_file_and_its_rewrite_leave_equal_digests(binary, tmp_path, preamble):
    options = ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble]
    with Server(binary, *options, folder=tmp_path) as server:
        with server.client() as client:
            fill(client)
            before = digests(client)
        server.restart()
        with server.client() as client:
            assert digests(client) == before, "commands applied again"
            client("BGREWRITEAOF")
            wait_for(lambda: info(client, "persistence")["aof_rewrite_in_progress"] == "0", "the rewrite ends")
            assert info(client, "persistence")["aof_last_bgrewrite_status"] == "ok"
            client("BF.ADD", "bf", "after the rewrite")
            before = digests(client)
        server.restart()
        with server.client() as client:
            assert digests(client) == before, "the rewritten file"


def test_replicas_have_equal_digests_after_sync_and_after_commands(binary, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    [port] = free_ports(1)
    # By default newer masters wait some seconds for more replicas before they send a snapshot.
    options = ["--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", 0]
    master = Server(binary, *options, folder=tmp_path / "one")
    replica = Server(binary, folder=tmp_path / "two")
    try:
        with master.client() as client, replica.client() as other:
            fill(client)
            other("REPLICAOF", "127.0.0.1", port)
            wait_for(lambda: info(other, "replication")["master_link_status"] == "up", "the replica is in sync")
            assert digests(other) == digests(client), "full synchronisation"
            # What is drawn at random goes on from the same state on both sides.
            for round in range(20):
                client("TOPK.ADD", "topk", *[f"d{i * i % (41 + round)}" for i in range(100)])
                client("BQ.MADD", "stable", *[f"h{round}-{i}" for i in range(100)])
                client("CF.INSERT", "cf", "ITEMS", *[f"h{round}-{i}" for i in range(50)])
                client("BF.MADD", "bf", *[f"h{round}-{i}" for i in range(100)])
            client("CMS.MERGE", "cms", 2, "cms", "cms", "WEIGHTS", 1, 2)
            client("BQ.MERGE", "merged", "bq", "bq")
            assert client("WAIT", 1, 5000) == 1
            assert digests(other) == digests(client), "replicated commands"
            assert other("BF.ADD", "bf", "x").startswith("READONLY")
    finally:
        replica.stop()
        master.stop()


def change_all(client, kind, note):
    """Every change that the kind has a verb or an action for; those that refuse change nothing anywhere."""
    one = [ITEMS[1]] if note is None else [ITEMS[1], note]
    for command in [("BQ.REMOVE", "k", *one), ("BQ.SET", "k", ITEMS[2], "9"), ("BQ.ADVANCE", "k", 1), ("BQ.GROW", "k"),
                    ("BQ.MERGE", "union", "k", "k"), ("BQ.INTERSECT", "common", "k", "k"), ("BQ.SUBTRACT", "union", "k")]:
        client(*command)
    for name in kind["specials"]:
        for argument in [[], [ITEMS[3]], ["1"], ["0.5"], ["0..3"], ["k"], [ITEMS[3], "1"]]:
            client("BQ.ACT", "k", name, *argument)
    client("BQ.ADD", "k", *one)


def test_filters_of_every_kind_are_equal_on_replicas_in_snapshots_and_in_files(binary, tmp_path):
    """A master decides once: commands that it passes on or applies again lead to the same filter, whatever the kind."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    [port] = free_ports(1)
    options = ["--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", 0]
    options += ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]
    master = Server(binary, *options, folder=tmp_path / "one")
    replica = Server(binary, folder=tmp_path / "two")
    try:
        with master.client() as client, replica.client() as other:
            other("REPLICAOF", "127.0.0.1", port)
            wait_for(lambda: info(other, "replication")["master_link_status"] == "up", "the replica is in sync")
            every = kinds(client)
            for kind in every:
                note = made(client, kind)
                change_all(client, kind, note)
                for key in ("k", "empty", "union", "common"):
                    client("RENAME", key, f"{key}-{kind['kind']}")
            keys = sorted(text(client("KEYS", "*")))
            assert len(keys) >= 2 * len(every)
            before = client("DEBUG", "DIGEST-VALUE", *keys)
            assert client("WAIT", 1, 5000) == 1
            found = other("DEBUG", "DIGEST-VALUE", *keys)
            assert not [key for key, one, two in zip(keys, before, found) if one != two], "commands passed on"
            whole = client("DEBUG", "DIGEST")
            assert other("DEBUG", "DIGEST") == whole
            assert client("DEBUG", "RELOAD") == "OK"
            found = client("DEBUG", "DIGEST-VALUE", *keys)
            assert not [key for key, one, two in zip(keys, before, found) if one != two], "a snapshot"
        master.restart()
        with master.client() as client:
            found = client("DEBUG", "DIGEST-VALUE", *keys)
            assert not [key for key, one, two in zip(keys, before, found) if one != two], "commands applied again"
            client("BGREWRITEAOF")
            wait_for(lambda: info(client, "persistence")["aof_rewrite_in_progress"] == "0", "the rewrite ends")
        master.restart()
        with master.client() as client:
            assert client("DEBUG", "DIGEST") == whole, "the rewritten file"
    finally:
        replica.stop()
        master.stop()


def test_memory_counts_and_is_given_back(client):
    client("CONFIG", "SET", "maxmemory", "1500mb")
    before = int(info(client)["used_memory"])
    assert client("BF.RESERVE", "large", "0.001", 20_000_000) == "OK"
    assert client("BQ.CREATE", "kind", "standard", "items", 20_000_000, "fpr", "0.001") == "OK"
    size = client("BF.INFO", "large", "SIZE")[0]
    assert size > 30_000_000 and client("MEMORY", "USAGE", "large") >= size
    assert int(info(client)["used_memory"]) - before >= 2 * size * 0.95, "stores of every size count"
    client("UNLINK", "large", "kind")
    wait_for(lambda: int(info(client)["used_memory"]) < before + (4 << 20), "memory is given back in the background")


def test_out_of_memory_is_refused_before_anything_changes(client):
    fill(client)
    before = digests(client)
    client("CONFIG", "SET", "maxmemory", "100kb")
    try:
        for command in [("BF.ADD", "bf", "x"), ("CF.ADD", "cf", "x"), ("CMS.INCRBY", "cms", "x", 1),
                        ("TOPK.ADD", "topk", "x"), ("BQ.ADD", "bq", "x"), ("BQ.MERGE", "bq", "bq")]:
            assert client(*command).startswith("OOM"), command
        assert client("BF.EXISTS", "bf", "a1") == 1
        assert digests(client) == before
    finally:
        client("CONFIG", "SET", "maxmemory", "1500mb")


def test_the_limit_of_a_filter_can_be_configured(binary):
    if version(binary) < (7, 0):
        pytest.skip("modules have no settings in this server")
    with Server(binary, module_args=["max_filter_bytes", 1 << 20]) as server, server.client() as client:
        assert isinstance(client("BF.RESERVE", "bf", "0.01", 10_000_000), Error)
        assert client("CONFIG", "SET", "bf.max-filter-bytes", "64mb") == "OK"
        assert client("BF.RESERVE", "bf", "0.01", 10_000_000) == "OK"
        assert client("CONFIG", "SET", "bf.max-command-bytes", "1mb") == "OK"
        assert client("BQ.CREATE", "a", "standard", "items", 2_000_000) == "OK"
        for command in [("BQ.MERGE", "b", "a", "a"), ("BQ.DUMP", "a"), ("BQ.ESTIMATE", "a"), ("BQ.DELTA", "a", "a")]:
            assert "max-command-bytes" in client(*command), command
        assert client("BQ.EXISTS", "a", "x") == 0, "single questions are never long"
    with Server(binary, module_args=["error_rate", "0.001", "initial_size", 500]) as server, server.client() as client:
        client("BF.ADD", "bf", "x")
        assert client("BF.INFO", "bf", "CAPACITY") == [500]


def test_bad_arguments_do_not_load(binary):
    for arguments in [["error_rate", "2"], ["nonsense", "1"], ["max_filter_bytes"]]:
        with pytest.raises(RuntimeError, match="ended"):
            Server(binary, module_args=arguments)


def test_copy_rename_expire_and_type(client):
    fill(client)
    for key in KEYS:
        assert client("COPY", key, "copy") == 1
        one, two = client("DEBUG", "DIGEST-VALUE", key, "copy")
        assert one == two
        assert client("RENAME", "copy", "renamed") == "OK"
        assert client("PEXPIRE", "renamed", 1) == 1
        wait_for(lambda: client("EXISTS", "renamed") == 0, "it expires")
    assert client("TYPE", "bf") == "MBbloom--" and client("TYPE", "bq") == "bouquet--"


def test_transactions_and_scripts(client):
    assert client("MULTI") == "OK"
    for command in [("BF.ADD", "bf", "x"), ("BF.EXISTS", "bf", "x"), ("CF.ADD", "cf", "y"), ("BQ.CREATE", "bq", "standard", "items", "9")]:
        assert client(*command) == "QUEUED"
    assert client("EXEC") == [1, 1, 1, "OK"]
    script = "redis.call('BQ.ADD', KEYS[1], ARGV[1]); return redis.call('BQ.EXISTS', KEYS[1], ARGV[1])"
    assert client("EVAL", script, 1, "bq", "rose") == 1
    script = "return redis.pcall('BF.ADD', KEYS[1])"
    assert isinstance(client("EVAL", script, 1, "bf"), Error)
    client("WATCH", "bf")
    with_other = client("BF.ADD", "bf", "z")
    assert with_other == 1
    client("MULTI")
    client("PING")
    assert client("EXEC") is None, "a change ends a watch"


def test_clients_are_notified(server, client):
    client("CONFIG", "SET", "notify-keyspace-events", "KEAd")
    with server.client() as listener:
        listener("PSUBSCRIBE", "__keyevent@0__:*")
        client("BF.ADD", "bf", "x")
        client("BQ.CREATE", "bq", "standard", "items", 10)
        events = [listener.read()[2:] for _ in range(2)]
    assert events == [[b"__keyevent@0__:bf.add", b"bf"], [b"__keyevent@0__:bq.create", b"bq"]]


def test_commands_are_described(server, client):
    names = [name for name in text(client("COMMAND", "LIST", "FILTERBY", "MODULE", "bf"))] if version(server.binary) >= (7, 0) else []
    flags = {row[0]: row for row in text(client("COMMAND", "INFO", "bf.add", "bf.exists", "bq.merge", "cms.merge"))}
    assert {"write", "denyoom"} <= set(flags["bf.add"][2]) and "readonly" in flags["bf.exists"][2]
    assert flags["bf.add"][3:6] == [1, 1, 1]
    assert text(client("COMMAND", "GETKEYS", "BQ.MERGE", "a", "b", "c")) == ["a", "b", "c"]
    if version(server.binary) < (7, 0):
        return
    assert len(names) > 60
    assert text(client("COMMAND", "GETKEYS", "CMS.MERGE", "d", 2, "a", "b", "WEIGHTS", 1, 2)) == ["d", "a", "b"]
    assert text(client("COMMAND", "GETKEYS", "BQ.DELTA", "a", "b")) == ["a", "b"]
    assert text(client("COMMAND", "GETKEYS", "BQ.DIFFERENCE", "a", "b")) == ["a", "b"]
    docs = text(client("COMMAND", "DOCS", *names))
    for name, doc in zip(docs[::2], docs[1::2]):
        doc = dict(zip(doc[::2], doc[1::2]))
        assert doc["summary"] and doc["complexity"], name
        assert ("arguments" in doc) == (name not in ("bq.kinds", "bq.panic")), name
    docs = {name: dict(zip(doc[::2], doc[1::2])) for name, doc in zip(docs[::2], docs[1::2])}
    told = [dict(zip(one[::2], one[1::2])) for one in docs["bf.reserve"]["arguments"]]
    assert [(one["name"], one["type"], one.get("token"), one.get("flags", [])) for one in told] == [
        ("key", "key", None, []),
        ("error_rate", "double", None, []),
        ("capacity", "integer", None, []),
        ("expansion", "integer", "EXPANSION", ["optional"]),
        ("nonscaling", "pure-token", "NONSCALING", ["optional"]),
    ]
    pairs = dict(zip(*[iter(docs["cms.incrby"]["arguments"][1])] * 2))
    assert pairs["type"] == "block" and pairs["flags"] == ["multiple"] and len(pairs["arguments"]) == 2
    sources = dict(zip(*[iter(docs["cms.merge"]["arguments"][2])] * 2))
    assert (sources["type"], sources["key_spec_index"]) == ("key", 1)
    specs = text(client("COMMAND", "INFO", "bf.exists"))[0][8]
    assert "RO" in str(specs)


def test_access_rules(server, client):
    # Servers before 7.2 put commands of modules in no category.
    rules = ["+@read", "-@write"] if version(server.binary) >= (7, 2) else ["+bf.exists"]
    client("ACL", "SETUSER", "reader", "on", "nopass", "~*", *rules)
    with server.client() as reader:
        reader("AUTH", "reader", "x")
        client("BF.ADD", "bf", "x")
        assert reader("BF.EXISTS", "bf", "x") == 1
        assert reader("BF.ADD", "bf", "y").startswith("NOPERM")
    client("ACL", "DELUSER", "reader")


def test_a_panic_is_an_error_and_the_server_goes_on(client):
    for _ in range(50):
        reply = client("BQ.PANIC")
        if "unknown command" in reply:
            pytest.skip("the module is built without debug assertions")
        assert "failed inside" in reply
    assert client("PING") == "PONG"


def test_a_damaged_snapshot_is_refused_without_a_crash(client):
    fill(client)
    for key in KEYS:
        dump = client("DUMP", key)
        assert isinstance(client("RESTORE", "other", 0, dump[:-1] + b"x"), Error)
    assert client("PING") == "PONG"


def test_defragmentation(server, client):
    if isinstance(client("CONFIG", "SET", "activedefrag", "yes"), Error):
        pytest.skip("this server's allocator does not move blocks")
    client("CONFIG", "SET", "active-defrag-ignore-bytes", "1")
    client("CONFIG", "SET", "active-defrag-threshold-lower", "0")
    for i in range(3000):
        client("BF.ADD", f"bf{i}", "x")
    for i in range(0, 3000, 3):
        client("DEL", f"bf{i}")
    time.sleep(2)
    assert all(client("BF.EXISTS", f"bf{i}", "x") == 1 for i in range(1, 3000, 3))
    client("CONFIG", "SET", "activedefrag", "no")
