"""Applications that speak FastCGI, uwsgi and gRPC: small threaded servers with the interface of harness.origin.Origin, each remembers what it saw."""

import socketserver
import struct
import threading
import time
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.events

from .http1 import Headers
from .limits import scaled
from .origin import Answer, Seen


class Backend:
    """`on`, `seen`, `requests`, `running`, `peak`, `release` and the address as text are what Origin has; only plain answers are given."""

    def __init__(self):
        self.default = Answer()
        self.requests = []
        self.running = self.peak = 0
        self._answers = {}
        self._lock = threading.Lock()
        self._released = threading.Event()

    def start(self):
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = scaled(20)

            def handle(self):
                try:
                    outer.serve(self)
                except OSError:
                    pass  # the gateway closed

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def stop(self):
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(scaled(10))

    def __str__(self):
        return "127.0.0.1:%d" % self._server.server_address[1]

    def on(self, path, answer):
        self._answers[path] = answer
        return self

    def seen(self, path):
        return [request for request in list(self.requests) if request.path == path]

    def release(self):
        """Lets every held request go on, and those to come."""
        self._released.set()

    def remember(self, method, target, headers, body):
        """Notes the request and tells the answer to it, when it is time for it."""
        seen = Seen(method, target, Headers(headers), body, time.monotonic())
        answer = self._answers.get(urlsplit(target).path, self.default)
        with self._lock:
            self.requests.append(seen)
            self.running += 1
            self.peak = max(self.peak, self.running)
        if answer.hold:
            self._released.wait(scaled(60))
        time.sleep(answer.delay)
        with self._lock:
            self.running -= 1
        seen.ended = time.monotonic()
        return answer


def from_variables(variables):
    """Method, target and headers as CGI-like protocols carry them."""
    headers = [(name[5:].replace("_", "-").title(), value) for name, value in variables if name.startswith("HTTP_")]
    return dict(variables)["REQUEST_METHOD"], dict(variables)["REQUEST_URI"], headers


def head_of(answer):
    return "".join(f"{name}: {value}\r\n" for name, value in answer.headers).encode("latin-1")


class FastCgi(Backend):
    PARAMS, STDIN, STDOUT, END = 4, 5, 6, 3

    def serve(self, peer):
        parts = {self.PARAMS: b"", self.STDIN: b""}
        while head := peer.rfile.read(8):
            _, kind, number, length, padding, _ = struct.unpack("!BBHHBB", head)
            content = peer.rfile.read(length + padding)[:length]
            parts[kind] = parts.get(kind, b"") + content
            if kind == self.STDIN and not content:
                break
        else:
            return
        answer = self.remember(*from_variables(list(self._pairs(parts[self.PARAMS]))), parts[self.STDIN])
        text = f"Status: {answer.status}\r\n".encode() + head_of(answer) + b"\r\n" + answer.body
        for kind, content in ((self.STDOUT, text), (self.STDOUT, b""), (self.END, bytes(8))):
            peer.wfile.write(struct.pack("!BBHHBB", 1, kind, number, len(content), 0, 0) + content)

    @staticmethod
    def _pairs(data):
        at = 0
        while at < len(data):
            sizes = []
            for _ in range(2):
                wide = data[at] & 0x80
                sizes.append(struct.unpack_from("!I", data, at)[0] & 0x7FFFFFFF if wide else data[at])
                at += 4 if wide else 1
            name, value = data[at : at + sizes[0]], data[at + sizes[0] : at + sum(sizes)]
            at += sum(sizes)
            yield name.decode("latin-1"), value.decode("latin-1")


class Uwsgi(Backend):
    def serve(self, peer):
        head = peer.rfile.read(4)
        if len(head) < 4:
            return
        variables = list(self._pairs(peer.rfile.read(struct.unpack("<BHB", head)[1])))
        body = peer.rfile.read(int(dict(variables).get("CONTENT_LENGTH") or 0))
        answer = self.remember(*from_variables(variables), body)
        peer.wfile.write(f"HTTP/1.1 {answer.status} Answer\r\n".encode() + head_of(answer) + b"\r\n" + answer.body)

    @staticmethod
    def _pairs(data):
        words, at = [], 0
        while at < len(data):
            size = struct.unpack_from("<H", data, at)[0]
            words.append(data[at + 2 : at + 2 + size].decode("latin-1"))
            at += 2 + size
        return zip(words[::2], words[1::2])


class Grpc(Backend):
    """Answers each call with one message, the body of the answer, and status 0."""

    def serve(self, peer):
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        calls = {}  # stream: (headers, body)
        while True:
            peer.connection.sendall(connection.data_to_send())
            data = peer.connection.recv(65536)
            if not data:
                return
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    calls[event.stream_id] = event.headers, bytearray()
                elif isinstance(event, h2.events.DataReceived):
                    calls[event.stream_id][1].extend(event.data)
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self._answer(connection, event.stream_id, *calls.pop(event.stream_id))

    def _answer(self, connection, stream, headers, body):
        pseudo = dict(headers)
        plain = [(name, value) for name, value in headers if not name.startswith(":")]
        answer = self.remember(pseudo[":method"], pseudo[":path"], plain, bytes(body))
        extra = [(name.lower(), value) for name, value in answer.headers]
        connection.send_headers(stream, [(":status", str(answer.status)), ("content-type", "application/grpc"), *extra])
        connection.send_data(stream, grpc_message(answer.body))
        connection.send_headers(stream, [("grpc-status", "0")], end_stream=True)


def grpc_message(body):
    return struct.pack("!BI", 0, len(body)) + body
