"""A client that parses the protocol and nothing else, so that replies are seen as they come."""

import socket


class Error(str):
    """An error reply; the code ERR is cut off, as clients do."""


class Double(str):
    """A double of the third protocol, as text."""


class Client:
    def __init__(self, path, protocol=2, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.buffer = b""
        if protocol == 3:
            self("HELLO", "3")

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, *args):
        args = [arg if isinstance(arg, bytes) else str(arg).encode() for arg in args]
        parts = [b"*%d\r\n" % len(args)]
        parts += [b"$%d\r\n%s\r\n" % (len(arg), arg) for arg in args]
        self.socket.sendall(b"".join(parts))

    def __call__(self, *args):
        self.send(*args)
        return self.read()

    def pipeline(self, commands, at_once=500):
        replies = []
        for start in range(0, len(commands), at_once):
            some = commands[start : start + at_once]
            for command in some:
                self.send(*command)
            replies += [self.read() for _ in some]
        return replies

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def fill(self):
        more = self.socket.recv(1 << 20)
        if not more:
            raise ConnectionError("the server has closed the connection")
        self.buffer += more

    def exactly(self, count):
        while len(self.buffer) < count + 2:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count + 2 :]
        return data

    def read(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode("utf-8", "surrogateescape")
        if kind == b"-":
            words = rest.decode("utf-8", "surrogateescape")
            return Error(words[4:] if words.startswith("ERR ") else words)
        if kind == b":":
            return int(rest)
        if kind == b",":
            return Double(rest.decode())
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind in b"$=":
            if rest == b"-1":
                return None
            data = self.exactly(int(rest))
            return data[4:] if kind == b"=" else data
        if kind in b"*~>":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {text(self.read()): self.read() for _ in range(int(rest))}
        raise ValueError(line)


def text(value):
    """Bytes as text where they are such, in replies of any depth."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, list):
        return [text(one) for one in value]
    if isinstance(value, dict):
        return {key: text(one) for key, one in value.items()}
    return value
