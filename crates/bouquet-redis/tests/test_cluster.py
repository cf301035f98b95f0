"""Three masters and three replicas on loopback: a master is killed during writes, and slots move during writes."""

import importlib.util
import shutil
import threading
import time

import pytest
from resp import Error
from servers import ROOT, Server, free_ports, version

SLOTS = 16_384


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def slot(key):
    tag = key[key.find("{") + 1 : key.find("}")] if "{" in key and "}" in key else key
    return crc16(tag.encode()) % SLOTS


class Cluster:
    """Six servers; the first three are masters of a third of the slots each."""

    def __init__(self, binary, folder):
        self.ports = free_ports(6)
        self.nodes = []
        for number, port in enumerate(self.ports):
            path = folder / str(number)
            path.mkdir()
            options = ["--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-node-timeout", "1500",
                       "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"]
            options += ["--cluster-port", port + 10_000] if version(binary) >= (7, 0) else []
            self.nodes.append(Server(binary, *options, folder=path))
        self.ids = [self.ask(number, "CLUSTER", "MYID").decode() for number in range(6)]
        for number in range(3):
            first, last = SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1
            self.ask(number, "CLUSTER", "ADDSLOTSRANGE", first, last)
        for port in self.ports[1:]:
            self.ask(0, "CLUSTER", "MEET", "127.0.0.1", port)
        self.wait(lambda: all(self.ask(n, "CLUSTER", "NODES").count(b"connected") >= 6 for n in range(6)), "all have met")
        for number in range(3, 6):
            self.wait(lambda: self.ask(number, "CLUSTER", "REPLICATE", self.ids[number - 3]) == "OK", "a replica follows")
        self.wait(lambda: all(b"cluster_state:ok" in self.ask(n, "CLUSTER", "INFO") for n in range(6)), "the cluster is up")
        self.wait(lambda: all(b"connected_slaves:1" in self.ask(n, "INFO", "replication") for n in range(3)), "replicas are in sync")

    def ask(self, number, *command):
        with self.nodes[number].client(timeout=5) as client:
            return client(*command)

    @staticmethod
    def wait(condition, what, seconds=40):
        deadline = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except OSError:
                pass
            assert time.monotonic() < deadline, what
            time.sleep(0.05)

    def stop(self):
        for node in self.nodes:
            node.stop()


class Routed:
    """A client that follows redirections, over the nodes' unix sockets."""

    def __init__(self, cluster):
        self.cluster, self.clients, self.places = cluster, {}, {}

    def client(self, port):
        if port not in self.clients:
            self.clients[port] = self.cluster.nodes[self.cluster.ports.index(port)].client(timeout=5)
        return self.clients[port]

    def __call__(self, key, *commands, seconds=20):
        """Runs commands of one key on the node that has it, all on one connection, and gives the replies."""
        deadline = time.monotonic() + seconds
        port = self.places.get(slot(key), self.cluster.ports[0])
        asking = False
        while True:
            try:
                client = self.client(port)
                assert time.monotonic() < deadline, f"redirected for ever for {key}"
                if asking:
                    client("ASKING")
                replies = [client(*commands[0])]
                if isinstance(replies[0], Error):
                    word = replies[0].split()[0]
                    if word in ("MOVED", "ASK"):
                        port, asking = int(replies[0].rsplit(":", 1)[1]), word == "ASK"
                        if word == "MOVED":
                            self.places[slot(key)] = port
                        time.sleep(0.001)
                        continue
                    if word in ("CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN", "READONLY"):
                        raise OSError(replies[0])
                return replies + [client(*command) for command in commands[1:]]
            except (OSError, ConnectionError):
                self.clients.pop(port, None)
                self.places.pop(slot(key), None)
                port = self.cluster.ports[int(time.monotonic() * 20) % 6]
                asking = False
                assert time.monotonic() < deadline, f"no node answers for {key}"
                time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(binary, tmp_path_factory):
    if version(binary) < (7, 0):
        pytest.skip("one server of each generation is enough for the cluster")
    folder = tmp_path_factory.mktemp("cluster")
    one = Cluster(binary, folder)
    yield one
    one.stop()
    shutil.rmtree(folder, ignore_errors=True)


KEYS = [f"filter-{i}" for i in range(12)] + [f"{{big}}:{i}" for i in range(4)]


def add(routed, key, item):
    """Adds an item and waits for the replica; says whether both have it."""
    command = ("BF.ADD", key, item) if key.startswith("filter") else ("CF.ADD", key, item)
    reply, replicas = routed(key, command, ("WAIT", 1, 1000))
    return reply in (0, 1) and replicas == 1


def held(routed, key, items):
    command = "BF.MEXISTS" if key.startswith("filter") else "CF.MEXISTS"
    return routed(key, (command, key, *items))[0]


def write_on(cluster, stop, written):
    routed = Routed(cluster)
    i = 0
    while not stop.is_set():
        key = KEYS[i % len(KEYS)]
        try:
            if add(routed, key, f"item-{i}"):
                written.append((key, f"item-{i}"))
        except (OSError, ConnectionError, AssertionError, ValueError):
            pass
        i += 1


def check(cluster, written):
    routed = Routed(cluster)
    for key in KEYS:
        items = [item for one, item in written if one == key]
        if items:
            lost = [item for item, answer in zip(items, held(routed, key, items)) if answer != 1]
            assert not lost, (key, lost[:5], len(items))


def during_writes(cluster, what):
    stop, written = threading.Event(), []
    thread = threading.Thread(target=write_on, args=(cluster, stop, written))
    thread.start()
    try:
        time.sleep(0.5)
        what()
        time.sleep(0.5)
    finally:
        stop.set()
        thread.join()
    assert len(written) > 50
    check(cluster, written)
    return written


def test_filters_are_spread_over_the_masters(cluster):
    routed = Routed(cluster)
    for key in KEYS:
        assert add(routed, key, "first")
    assert len({routed.places.get(slot(key), cluster.ports[0]) for key in KEYS}) == 3
    # One logical filter in shards on one node, merged where they are.
    for shard in range(3):
        assert routed("{f}:0", ("BQ.CREATE", f"{{f}}:{shard}", "standard", "items", 100))[0] == "OK"
        assert routed("{f}:0", ("BQ.ADD", f"{{f}}:{shard}", f"x{shard}"))[0] == 1
    assert routed("{f}:0", ("BQ.MERGE", "{f}:all", "{f}:0", "{f}:1", "{f}:2"))[0] == "OK"
    assert routed("{f}:0", ("BQ.MEXISTS", "{f}:all", "x0", "x1", "x2", "x3"))[0] == [1, 1, 1, 0]
    assert routed("{f}:0", ("BQ.MERGE", "{f}:all", "other"))[0].startswith("CROSSSLOT")


def shards():
    """The helper of the Python package, without the package."""
    path = ROOT / "crates/bouquet-py/python/bouquet/shards.py"
    spec = importlib.util.spec_from_file_location("shards", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ShardedFilter


@pytest.mark.parametrize("spread", [True, False])
def test_a_filter_in_shards_over_the_cluster(cluster, spread):
    import redis

    client = redis.RedisCluster(host="127.0.0.1", port=cluster.ports[0])
    items = [f"item-{number}" for number in range(5_000)]
    for kind, settings, one in [("standard", {"fpr": 0.001}, False), ("counting", {"fpr": 0.001}, False), ("standard", {"fpr": 0.001}, True)]:
        clicks = shards()(client, f"clicks-{kind}-{one}", 8, spread=spread, batch=300)
        clicks.create(kind, items=len(items), mergeable=one, **settings)
        places = {slot(key) for key in clicks.keys}
        assert len(places) == (8 if spread else 1)
        assert clicks.add_many(items) > 4_950
        assert not clicks.add(items[0]) and clicks.contains(b"item-17")
        assert all(clicks.contains_many(items))
        strangers = [f"stranger-{number}" for number in range(5_000)]
        assert sum(clicks.contains_many(strangers)) < 30, "at a rate of 0.001"
        # Another client finds every item where this one put it.
        again = shards()(client, clicks.name, 8, spread=spread)
        assert [again.shard_of(item) for item in items] == [clicks.shard_of(item) for item in items]
        if kind == "counting":
            assert min(clicks.count_many(items[:100])) >= 1
            clicks.remove(items[1])
            assert not clicks.contains(items[1])
        if one:
            target = clicks.merged()
            found = client.execute_command("BQ.MEXISTS", target, *items)
            assert sum(found) == len(items)
            assert sum(client.execute_command("BQ.MEXISTS", target, *strangers)) < 30
        clicks.delete()
        assert not any(client.exists(key) for key in clicks.keys)
    with pytest.raises(TypeError, match="text or bytes"):
        clicks.shard_of(7)


def test_slots_move_during_writes(cluster):
    """The slot of each of some keys goes to the next master, key by key with MIGRATE, as redis-cli does it."""

    def reshard():
        for key in KEYS[:6]:
            number = slot(key)
            routed = Routed(cluster)
            routed(key, ("EXISTS", key))
            source = cluster.ports.index(routed.places.get(number, cluster.ports[0]))
            target = (source + 1) % 3
            cluster.ask(target, "CLUSTER", "SETSLOT", number, "IMPORTING", cluster.ids[source])
            cluster.ask(source, "CLUSTER", "SETSLOT", number, "MIGRATING", cluster.ids[target])
            while names := cluster.ask(source, "CLUSTER", "GETKEYSINSLOT", number, 10):
                reply = cluster.ask(source, "MIGRATE", "127.0.0.1", cluster.ports[target], "", 0, 5000, "KEYS", *names)
                assert reply == "OK", reply
            for node in (target, source, 3 - source - target):
                assert cluster.ask(node, "CLUSTER", "SETSLOT", number, "NODE", cluster.ids[target]) == "OK"

    during_writes(cluster, reshard)


def test_a_replica_takes_over_from_a_master_that_is_killed_during_writes(cluster):
    def kill():
        cluster.nodes[0].kill()
        cluster.wait(lambda: b"role:master" in cluster.ask(3, "INFO", "replication"), "the replica takes over")

    written = during_writes(cluster, kill)
    cluster.nodes[0].start()
    cluster.wait(lambda: b"master_link_status:up" in cluster.ask(0, "INFO", "replication"), "the old master follows")
    check(cluster, written)
