"""kill -9 at random moments under `appendfsync always`: nothing that was acknowledged is lost."""

import os
import random
import threading
import time

from servers import Server, version

ROUNDS = int(os.environ.get("BOUQUET_REDIS_CRASHES", "200"))


def writer(server, number, acknowledged):
    """Adds items of its own, one after the other, and notes each that the server has acknowledged."""
    i = len(acknowledged)
    try:
        with server.client(timeout=10) as client:
            while True:
                name = f"w{number}-{i}"
                if number == 0 and client("BF.ADD", "bf", name) not in (0, 1):
                    return
                if number == 1 and client("BQ.ADD", "bq", name) not in (0, 1):
                    return
                acknowledged.append(name)
                i += 1
    except (OSError, ConnectionError, IndexError):
        pass


def test_nothing_acknowledged_is_lost(binary, tmp_path):
    rounds = ROUNDS if version(binary)[0] == 7 else max(ROUNDS // 20, 3)
    rng = random.Random(9)
    options = ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "50", "--auto-aof-rewrite-min-size", "64kb"]
    with Server(binary, *options, folder=tmp_path) as server:
        with server.client() as client:
            assert client("BQ.CREATE", "bq", "scalable", "items", 1000) == "OK"
        acknowledged = [[], []]
        for round in range(rounds):
            threads = [threading.Thread(target=writer, args=(server, n, acknowledged[n])) for n in (0, 1)]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.005, 0.08))
            server.kill()
            for thread in threads:
                thread.join()
            server.start()
            with server.client() as client:
                for command, key, names in [("BF.MEXISTS", "bf", acknowledged[0]), ("BQ.MEXISTS", "bq", acknowledged[1])]:
                    # All of the last round, and some of those before.
                    asked = names[-500:] + (rng.sample(names, 200) if len(names) > 200 else [])
                    if asked:
                        answers = client(command, key, *asked)
                        lost = [name for name, answer in zip(asked, answers) if not answer]
                        assert not lost, f"round {round}: {lost[:5]} of {len(names)}"
        assert all(len(names) > rounds for names in acknowledged), "enough was written to lose some"
