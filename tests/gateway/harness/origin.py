"""The application behind the gateway: an HTTP/1.1 server in a thread of the test that answers as told and remembers what it saw."""

import asyncio
import base64
import hashlib
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import Optional
from urllib.parse import urlsplit

from .http1 import Headers, parse_head
from .limits import scaled

WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass
class Answer:
    """What the origin does with a request."""

    status: int = 200
    headers: tuple = ()
    body: bytes = b"ok"
    delay: float = 0.0  # s before the response begins
    hold: bool = False  # wait for Origin.release()
    kind: str = "plain"  # plain; close: the connection without a response; websocket: 101, a greeting, then echo; events: an event stream
    events: int = 3  # of an event stream, one every 50 ms; then it ends
    stream_type: str = "text/event-stream"
    greeting: bytes = b"hello"  # what a websocket says first


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: Headers
    body: bytes
    started: float  # time.monotonic()
    ended: Optional[float] = None  # None: still running

    @property
    def path(self):
        return urlsplit(self.target).path

    @property
    def cookies(self):
        pairs = [pair.strip().partition("=") for line in self.headers.all("Cookie") for pair in line.split(";")]
        return {name: value for name, _, value in pairs}

    @property
    def session(self):
        """What the gateway says in X-Session: `proxy_set_header X-Session $waiting_room_session`."""
        return self.headers.get("X-Session", "")


@dataclass
class Origin:
    default: Answer = field(default_factory=Answer)
    requests: list = field(default_factory=list)  # of Seen, in the order of arrival
    running: int = 0
    peak: int = 0  # most requests at once
    tls: Optional[ssl.SSLContext] = None  # speaks https with it
    _answers: dict = field(default_factory=dict)

    def start(self):
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(scaled(10)), "the origin did not start"
        return self

    def stop(self):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(scaled(10))
        assert not self._thread.is_alive(), "the origin did not stop"

    @property
    def address(self):
        return "127.0.0.1", self.port

    def __str__(self):
        return f"127.0.0.1:{self.port}"

    def on(self, path, answer):
        """Answers requests for `path` so; `answer` is an Answer or makes one from a Seen."""
        self._answers[path] = answer
        return self

    def release(self):
        """Lets every held request go on, and those to come."""
        self._loop.call_soon_threadsafe(self._released.set)

    def clear(self):
        self.requests.clear()
        self.peak = self.running

    def seen(self, path):
        return [request for request in list(self.requests) if request.path == path]

    def sessions(self):
        """First start and last end of each session that was seen, by session."""
        spans = {}
        for request in list(self.requests):
            if request.session:
                first, last = spans.get(request.session, (request.started, 0.0))
                spans[request.session] = (min(first, request.started), max(last, request.ended or time.monotonic()))
        return spans

    def peak_sessions(self):
        """How many sessions were there at once at most, each from its first request's start to its last one's end."""
        edges = []
        for first, last in self.sessions().values():
            edges += [(first, 1), (last, -1)]
        inside = most = 0
        for _, step in sorted(edges):  # at one instant the leaving come first
            inside += step
            most = max(most, inside)
        return most

    def _run(self, started):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(started))
        self._loop.close()

    async def _serve(self, started):
        self._stop = asyncio.Event()
        self._tasks = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=2048, ssl=self.tls)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stop.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader, writer):
        """One request; answers whether the connection stays open."""
        line = await reader.readline()
        if not line:
            return False
        method, target, version = line.decode("latin-1").split()
        lines = []
        while (header := (await reader.readline()).rstrip(b"\r\n")) != b"":
            lines.append(header)
        headers = parse_head(lines)
        seen = Seen(method, target, headers, await self._body(reader, headers), time.monotonic())
        self.requests.append(seen)
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            stays = await self._answer(seen, reader, writer)
        finally:
            self.running -= 1
            seen.ended = time.monotonic()
        return stays and version == "HTTP/1.1" and "close" not in headers.get("Connection", "").lower()

    async def _body(self, reader, headers):
        if "chunked" not in headers.get("Transfer-Encoding", ""):
            return await reader.readexactly(int(headers.get("Content-Length", 0)))
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return body

    async def _answer(self, seen, reader, writer):
        answer = self._answers.get(seen.path, self.default)
        if callable(answer):
            answer = answer(seen)
        if answer.hold:
            await self._released.wait()
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.kind == "close":
            return False
        if answer.kind == "websocket":
            await self._websocket(seen, answer, reader, writer)
            return False
        if answer.kind == "events":
            await self._events(answer, writer)
            return False
        head = [f"HTTP/1.1 {answer.status} Answer", f"Content-Length: {len(answer.body)}"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        body = b"" if seen.method == "HEAD" else answer.body
        writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)
        await writer.drain()
        return True

    async def _events(self, answer, writer):
        extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {answer.stream_type}\r\n{extra}Connection: close\r\n\r\n".encode())
        for number in range(answer.events):
            writer.write(f"data: {number}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05)

    async def _websocket(self, seen, answer, reader, writer):
        """The handshake, then the greeting at once, then raw echo of whatever comes: frames are the test's business."""
        key = seen.headers.get("Sec-WebSocket-Key", "").encode()
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_GUID).digest()).decode()
        extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        writer.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      f"Sec-WebSocket-Accept: {accept}\r\n{extra}\r\n").encode() + answer.greeting)
        await writer.drain()
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
