"""HTTP/1.1 on the wire, seen raw: nothing is followed, decoded or hidden. One reader for blocking and for asyncio sockets."""

import asyncio
import json
import socket
from dataclasses import dataclass, field

from .limits import scaled


class Broken(Exception):
    """The peer closed, or sent something that is not HTTP."""


class Headers:
    """Name and value pairs in the order sent; names compare without case."""

    def __init__(self, pairs=()):
        self.pairs = [(name, value) for name, value in pairs]

    def all(self, name):
        return [value for key, value in self.pairs if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def one(self, name):
        """The only value of a header that must be there exactly once."""
        values = self.all(name)
        assert len(values) == 1, f"{name} is there {len(values)} times: {values}"
        return values[0]

    def __contains__(self, name):
        return bool(self.all(name))

    def __repr__(self):
        return repr(self.pairs)


@dataclass
class Response:
    status: int
    reason: str = ""
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def location(self):
        return self.headers.get("Location")


def format_request(method, target, headers, body=b"", host="localhost"):
    """The bytes of a request; Host and Content-Length are added when `headers` (pairs) has none."""
    names = {name.lower() for name, _ in headers}
    lines = [f"{method} {target} HTTP/1.1"]
    if "host" not in names:
        lines.append(f"Host: {host}")
    if (body or method in ("POST", "PUT", "PATCH")) and not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def parse_head(lines):
    pairs = []
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise Broken(f"not a header: {line!r}")
        pairs.append((name, value.strip()))
    return Headers(pairs)


def reading(method):
    """Reads one response without doing I/O: yields "line", a number of bytes, or "rest", is sent the bytes, returns the Response."""
    while True:
        status_line = (yield "line").rstrip(b"\r\n").decode("latin-1")
        if not status_line.startswith("HTTP/1."):
            raise Broken(f"not a status line: {status_line!r}")
        _, _, rest = status_line.partition(" ")
        code, _, reason = rest.partition(" ")
        lines = []
        while (line := (yield "line").rstrip(b"\r\n")) != b"":
            lines.append(line)
        response = Response(int(code), reason, parse_head(lines))
        if response.status >= 200 or response.status == 101:
            break
    if method == "HEAD" or response.status in (101, 204, 304):
        return response
    if "chunked" in response.headers.get("Transfer-Encoding", ""):
        while size := int((yield "line").split(b";")[0], 16):
            response.body += yield size
            yield "line"
        while (yield "line").rstrip(b"\r\n") != b"":
            pass
    elif "Content-Length" in response.headers:
        length = int(response.headers.one("Content-Length"))
        response.body = (yield length) if length else b""
    else:
        response.body = yield "rest"
    return response


class Connection:
    """A blocking connection. `address`: (host, port) or the path of a unix socket; `source`: local address to come from."""

    def __init__(self, address, source=None, tls=None, server_name="localhost", timeout=20.0):
        if isinstance(address, tuple):
            self.socket = socket.create_connection(address, scaled(timeout), (source, 0) if source else None)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(scaled(timeout))
            self.socket.connect(str(address))
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=server_name)
        self.reader = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.reader.close()
        self.socket.close()

    def reset(self):
        """Ends the connection with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def send_request(self, method, target, headers=(), body=b""):
        self.send(format_request(method, target, list(headers), body))

    def read_response(self, method="GET"):
        steps = reading(method)
        wanted = next(steps)
        try:
            while True:
                wanted = steps.send(self._take(wanted))
        except StopIteration as end:
            return end.value

    def request(self, method, target, headers=(), body=b""):
        self.send_request(method, target, headers, body)
        return self.read_response(method)

    def _take(self, wanted):
        if wanted == "rest":
            return self.reader.read()
        data = self.reader.readline() if wanted == "line" else self.reader.read(wanted)
        if (wanted == "line" and not data.endswith(b"\n")) or (wanted != "line" and len(data) < wanted):
            raise Broken("the connection ended within a response")
        return data


def request(address, method, target, headers=(), body=b"", **options):
    """One request on a connection of its own."""
    with Connection(address, **options) as connection:
        return connection.request(method, target, [*headers, ("Connection", "close")], body)


class AsyncConnection:
    """The same for asyncio, kept alive between requests and opened again when the server has closed it."""

    def __init__(self, address, source=None, timeout=60.0):
        self.address = address
        self.source = source
        self.timeout = scaled(timeout)
        self.reader = self.writer = None

    async def open(self):
        local = (self.source, 0) if self.source else None
        self.reader, self.writer = await asyncio.open_connection(*self.address, local_addr=local)

    def close(self):
        if self.writer is not None:
            self.writer.close()
            self.reader = self.writer = None

    async def request(self, method, target, headers=(), body=b""):
        return await asyncio.wait_for(self._request(method, target, list(headers), body), self.timeout)

    async def _request(self, method, target, headers, body):
        fresh = self.writer is None
        if fresh:
            await self.open()
        try:
            return await self._exchange(method, target, headers, body)
        except (Broken, ConnectionError, asyncio.IncompleteReadError):
            self.close()
            if fresh:
                raise
        await self.open()  # the server may have closed an idle connection
        return await self._exchange(method, target, headers, body)

    async def _exchange(self, method, target, headers, body):
        self.writer.write(format_request(method, target, headers, body))
        steps = reading(method)
        wanted = next(steps)
        try:
            while True:
                if wanted == "rest":
                    data = await self.reader.read(-1)
                elif wanted == "line":
                    data = await self.reader.readuntil(b"\n")
                else:
                    data = await self.reader.readexactly(wanted)
                wanted = steps.send(data)
        except StopIteration as end:
            response = end.value
        if response.headers.get("Connection", "").lower() == "close":
            self.close()
        return response
