#!/usr/bin/env python3
"""Throughput of the module in a real server, beside SET and GET of the same server in the same run.

    cargo build --release -p bouquet-redis && cargo build --release -p bouquet-redis --example library_rate
    python3 bench/redis.py [--server redis-server] [--requests 200000] > bench/record/redis/DATE-MACHINE.csv

Rows: command, items per call, clients, pipeline, calls per second, items per second. The rows `own` have the time per item that the
server measured inside the command (INFO commandstats), beside that of the library's own call, in nanoseconds.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "crates/bouquet-redis/tests"))
import servers  # noqa: E402

RELEASE = ROOT / "target/release"


def benchmark(server, clients, pipeline, requests, *command):
    call = ["redis-benchmark", "-s", server.socket, "-c", clients, "-P", pipeline, "-n", requests, "-r", 1_000_000, "--csv", *command]
    out = subprocess.run([str(part) for part in call], capture_output=True, text=True, check=True).stdout
    return float(out.strip().splitlines()[-1].split('","')[1].strip('"'))


def own_time(server, command):
    """Nanoseconds per item inside the command, for 1,000 items a call."""
    with server.client() as client:
        client("FLUSHALL")
        client("BF.RESERVE", "bf", "0.01", 1_000_000)
        client("CMS.INITBYDIM", "cms", 2000, 7)
        calls = []
        for start in range(0, 1_000_000, 1_000):
            names = [f"item:{i:012}" for i in range(start, start + 1_000)]
            if command == "CMS.INCRBY":
                names = [part for name in names for part in (name, 1)]
            calls.append((command, "cms" if command == "CMS.INCRBY" else "bf", *names))
        client("CONFIG", "RESETSTAT")
        client.pipeline(calls, at_once=10)
        stats = client("INFO", "commandstats").decode().lower()
    line = next(line for line in stats.splitlines() if line.startswith(f"cmdstat_{command.lower()}:"))
    return float(line.split("usec_per_call=")[1].split(",")[0])  # microseconds per 1,000 items are nanoseconds per item


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--server", default="redis-server")
    arguments.add_argument("--requests", type=int, default=200_000)
    given = arguments.parse_args()
    servers.MODULE = RELEASE / "libbouquet_redis.so"
    library = subprocess.run([RELEASE / "examples/library_rate"], capture_output=True, text=True, check=True).stdout
    library = dict(line.split(",") for line in library.splitlines())
    print("command,items,clients,pipeline,calls_per_s,items_per_s")
    with servers.Server(given.server) as server:
        with server.client() as client:
            client("BF.RESERVE", "bf", "0.01", 1_000_000)
            client("CMS.INITBYDIM", "cms", 2000, 7)
        many = [f"item:{i}:__rand_int__" for i in range(1_000)]
        rows = [
            ("SET", 1, ["SET", "key:__rand_int__", "x"]),
            ("GET", 1, ["GET", "key:__rand_int__"]),
            ("BF.ADD", 1, ["BF.ADD", "bf", "item:__rand_int__"]),
            ("BF.EXISTS", 1, ["BF.EXISTS", "bf", "item:__rand_int__"]),
            ("CMS.INCRBY", 1, ["CMS.INCRBY", "cms", "item:__rand_int__", "1"]),
            ("BF.MADD", 1_000, ["BF.MADD", "bf", *many]),
        ]
        for name, items, command in rows:
            for clients, pipeline in [(1, 1), (1, 16), (50, 1), (50, 16)]:
                requests = max(given.requests // (20 if pipeline == clients == 1 else 1) // items, 200)
                rate = benchmark(server, clients, pipeline, requests, *command)
                print(f"{name},{items},{clients},{pipeline},{rate:.0f},{rate * items:.0f}", flush=True)
        for name in ["BF.MADD", "BF.MEXISTS", "CMS.INCRBY"]:
            own = own_time(server, name)
            if name == "BF.MEXISTS":  # the filter was emptied; fill it as the library's was
                with server.client() as client:
                    client("FLUSHALL")
                own = own_after_fill(server)
            print(f"{name} own ns per item,1000,1,10,{own:.1f},library {library[name]}", flush=True)


def own_after_fill(server):
    own_time(server, "BF.MADD")
    with server.client() as client:
        calls = [("BF.MEXISTS", "bf", *[f"item:{i:012}" for i in range(s, s + 1_000)]) for s in range(0, 1_000_000, 1_000)]
        client("CONFIG", "RESETSTAT")
        client.pipeline(calls, at_once=10)
        stats = client("INFO", "commandstats").decode().lower()
    line = next(line for line in stats.splitlines() if line.startswith("cmdstat_bf.mexists:"))
    return float(line.split("usec_per_call=")[1].split(",")[0])


if __name__ == "__main__":
    main()
