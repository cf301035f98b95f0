"""`BF.LOAD` as Valkey's own module writes it: bytes made here from the published layout, hashes included."""

import math
import struct

from resp import Error

MASK = (1 << 64) - 1
PRIME = 0xFFFFFFFFFFFFFFC5
SEED = bytes(range(32))


def sip13(key, data):
    """SipHash-1-3."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    rotated = lambda x, b: ((x << b) | (x >> (64 - b))) & MASK

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(1)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(3)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


class Link:
    def __init__(self, capacity, rate):
        self.capacity, self.items = capacity, 0
        self.bits = bytearray(math.ceil(capacity * math.log(rate) / (-8 * math.log(2) ** 2)))
        self.hashes = max(1, round(len(self.bits) * 8 / capacity * math.log(2)))

    def positions(self, key):
        framed = struct.pack("<Q", len(key)) + key
        a, b = sip13(SEED[:16], framed), sip13(SEED[16:], framed)
        hashes = [a, b] + [(a + i * b & MASK) % PRIME for i in range(2, self.hashes)]
        return [one % (len(self.bits) * 8) for one in hashes[: self.hashes]]

    def __contains__(self, key):
        return all(self.bits[at // 8] >> at % 8 & 1 for at in self.positions(key))

    def add(self, key):
        self.items += 1
        for at in self.positions(key):
            self.bits[at // 8] |= 1 << at % 8


class Filter:
    def __init__(self, capacity, rate, expansion, tightening=0.5):
        self.rate, self.expansion, self.tightening, self.links = rate, expansion, tightening, [Link(capacity, rate)]

    def __contains__(self, key):
        return any(key in link for link in self.links)

    def add(self, key):
        if key in self:
            return 0
        last = self.links[-1]
        if last.items == last.capacity:
            self.links.append(Link(last.capacity * self.expansion, self.rate * self.tightening ** len(self.links)))
        self.links[-1].add(key)
        return 1

    def encoded(self):
        out = struct.pack("<BIddBQ", 1, self.expansion, self.rate, self.tightening, 0, len(self.links))
        for link in self.links:
            body = struct.pack("<BQI", 1, len(link.bits), link.hashes) + SEED + bytes(link.bits)
            out += struct.pack("<Q", len(body)) + body + struct.pack("<qq", link.items, link.capacity)
        return out


def names(start, stop):
    return [b"member-%d" % number for number in range(start, stop)]


def test_the_hash_is_siphash(client):
    # Of the reference implementation with one and three rounds: the empty text under the key 00 01 ... 0f.
    assert sip13(bytes(range(16)), b"") == 0xABAC0158050FC4DC


def test_filters_are_loaded_answer_and_grow_as_in_valkeys_module(client):
    for key, one, members in [("fixed", Filter(200, 0.05, 0), 150), ("grown", Filter(50, 0.05, 2), 300)]:
        for name in names(0, members):
            one.add(name)
        assert client("BF.LOAD", key, one.encoded()) == "OK"
        assert client("BF.CARD", key) == sum(link.items for link in one.links)
        asked = names(0, 3_000)
        told = client("BF.MEXISTS", key, *asked)
        assert told == [int(name in one) for name in asked] and sum(told) > members, "with its false positives"
        assert abs(float(client("BF.INFO", key, "ERROR")[0]) - 0.05) < 1e-12
        if one.expansion:
            more = names(members, 4 * members)
            assert client("BF.MADD", key, *more) == [one.add(name) for name in more]
            assert client("BF.INFO", key, "FILTERS") == [len(one.links)] and len(one.links) > 4
            assert client("BF.MEXISTS", key, *asked) == [int(name in one) for name in asked]
        else:
            client("BF.MADD", key, *names(5_000, 5_200))
            assert "full" in client("BF.ADD", key, [name for name in names(6_000, 7_000) if name not in one][-1])
    # They are kept with the rest.
    before = client("DEBUG", "DIGEST-VALUE", "fixed", "grown")
    assert client("DEBUG", "RELOAD") == "OK"
    assert client("DEBUG", "DIGEST-VALUE", "fixed", "grown") == before
    chunks, at = [], 0
    while True:
        at, data = client("BF.SCANDUMP", "grown", at)
        if at == 0:
            break
        chunks.append((at, data))
    for at, data in chunks:
        assert client("BF.LOADCHUNK", "again", at, data) == "OK"
    assert client("DEBUG", "DIGEST-VALUE", "again") == before[1:]


def test_damaged_filters_are_refused(client):
    one = Filter(50, 0.05, 2)
    for name in names(0, 120):
        one.add(name)
    whole = one.encoded()
    for cut in range(0, len(whole), 7):
        assert isinstance(client("BF.LOAD", "f", whole[:cut]), Error), cut
    assert isinstance(client("BF.LOAD", "f", whole + b"x"), Error)
    for at in range(len(whole)):
        for value in (0x00, 0xFF, 0x7F):
            client("BF.LOAD", "f", whole[:at] + bytes([value]) + whole[at + 1 :])
            client("BF.MADD", "f", *names(0, 3))
            client("DEL", "f")
    assert client("PING") == "PONG"
