"""Real servers with the module, on unix sockets in temporary folders."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from resp import Client

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULE = pathlib.Path(os.environ.get("BOUQUET_REDIS_MODULE", ROOT / "target/debug/libbouquet_redis.so"))
DATA = ROOT / "crates/bouquet/tests/data/redisbloom-2.4.20"


def binaries():
    """The servers to test with: what the environment names, or what is installed."""
    named = [path for path in os.environ.get("BOUQUET_REDIS_SERVERS", "").split(":") if path]
    found = named or [path for path in map(shutil.which, ["redis-server", "valkey-server"]) if path]
    if not found:
        raise SystemExit("no redis-server or valkey-server was found; install Debian's redis-server")
    return found


def version(binary):
    words = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in words.split("v=")[1].split()[0].split(".")[:2])


def free_ports(count):
    """Ports of loopback that nobody listens on, with room above for a cluster's own."""
    held = [socket.socket() for _ in range(8 * count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [port for port in (one.getsockname()[1] for one in held) if port < 55_000][:count]
    finally:
        for one in held:
            one.close()


class Server:
    """A server of its own; `stop` or the end of a `with` ends it and removes its folder."""

    def __init__(self, binary, *options, module_args=(), folder=None, keep=False, module=True):
        self.binary = binary
        self.options = list(options)
        self.module_args = [str(arg) for arg in module_args]
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="bouquet-redis-"))
        self.keep = keep or folder is not None
        self.module = module
        self.process = None
        self.start()

    @property
    def socket(self):
        return self.folder / "s"

    def start(self, timeout=30):
        command = [self.binary, "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        command += ["--save", "", "--maxmemory", "1500mb", "--daemonize", "no"]
        if version(self.binary) >= (7, 0):
            command += ["--enable-debug-command", "yes"]
        command += [str(option) for option in self.options]
        if self.module:
            command += ["--loadmodule", str(MODULE), *self.module_args]
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + timeout
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.binary} ended: {self.tail()}")
            try:
                with Client(self.socket, timeout=5) as client:
                    if client("PING") == "PONG":
                        return
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.binary} does not answer: {self.tail()}")
            time.sleep(0.02)

    def tail(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def client(self, protocol=2, timeout=60):
        return Client(self.socket, protocol, timeout)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()
        self.socket.unlink(missing_ok=True)

    def restart(self):
        self.stop(remove=False)
        self.start()

    def stop(self, remove=True):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self.log.close()
        if remove and not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
