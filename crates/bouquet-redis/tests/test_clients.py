"""redis-py's own clients for Bloom, cuckoo, count-min and top-k, under both protocols."""

import pytest

redis = pytest.importorskip("redis")


class Info:
    """RedisBloom 2.4 replies arrays under the third protocol too, which redis-py then hands on as they are."""

    NAMES = {
        "Capacity": "capacity", "Number of filters": "filterNum", "Number of items inserted": "insertedNum",
        "Expansion rate": "expansionRate", "Bucket size": "bucketSize", "Max iterations": "maxIteration",
        "Number of items deleted": "deletedNum",
    }

    def __init__(self, reply):
        for label, value in zip(reply[::2], reply[1::2]):
            label = label.decode() if isinstance(label, bytes) else label
            setattr(self, self.NAMES.get(label, label), value)


def told(reply):
    return Info(reply) if isinstance(reply, list) else reply


@pytest.fixture(params=[2, 3])
def python(server, request):
    client = redis.Redis(unix_socket_path=str(server.socket), protocol=request.param)
    client.flushall()
    yield client
    client.close()


def test_bloom(python):
    bf = python.bf()
    assert bf.create("bf", 0.01, 1000)
    assert bf.add("bf", "rose") == 1 and bf.madd("bf", "rose", "lily") == [0, 1]
    assert bf.exists("bf", "rose") == 1 and bf.mexists("bf", "rose", "thistle") == [1, 0]
    assert bf.insert("bf", ["iris"], noCreate=True) == [1]
    info = told(bf.info("bf"))
    assert (info.capacity, info.filterNum, info.insertedNum, info.expansionRate) == (1000, 1, 3, 2)
    assert bf.card("bf") == 3
    chunks, at = [], 0
    while True:
        at, data = bf.scandump("bf", at)
        if at == 0:
            break
        chunks.append((at, data))
    for at, data in chunks:
        bf.loadchunk("again", at, data)
    assert bf.mexists("again", "rose", "lily", "iris", "thistle") == [1, 1, 1, 0]


def test_cuckoo(python):
    cf = python.cf()
    assert cf.create("cf", 1000, expansion=2, bucket_size=4, max_iterations=50)
    assert cf.add("cf", "rose") and not cf.addnx("cf", "rose")
    assert cf.insert("cf", ["lily", "rose"]) == [1, 1]
    assert cf.count("cf", "rose") == 2 and cf.delete("cf", "rose")
    assert cf.mexists("cf", "rose", "thistle") == [1, 0]
    info = told(cf.info("cf"))
    assert (info.bucketSize, info.maxIteration, info.insertedNum, info.deletedNum) == (4, 50, 2, 1)


def test_count_min(python):
    cms = python.cms()
    assert cms.initbydim("a", 1000, 5) and cms.initbyprob("b", 0.01, 0.01)
    assert cms.incrby("a", ["rose", "lily"], [5, 7]) == [5, 7]
    assert cms.query("a", "rose", "lily", "iris") == [5, 7, 0]
    cms.initbydim("c", 1000, 5)
    assert cms.merge("c", 2, ["a", "a"], weights=[1, 2]) and cms.query("c", "rose") == [15]
    info = told(cms.info("c"))
    assert (info.width, info.depth, info.count) == (1000, 5, 36)


def test_top_k(python):
    topk = python.topk()
    assert topk.reserve("t", 3, 100, 5, 0.9)
    topk.incrby("t", ["rose", "lily", "iris"], [30, 20, 10])
    topk.add("t", "rose")
    assert topk.query("t", "rose", "thistle") == [1, 0]
    assert [str(name.decode() if isinstance(name, bytes) else name) for name in topk.list("t")] == ["rose", "lily", "iris"]
    info = told(topk.info("t"))
    assert (info.k, info.width, info.depth) == (3, 100, 5) and abs(float(info.decay) - 0.9) < 1e-9
