"""An HTTP/2 client on python3-h2, over TLS or with prior knowledge over plain TCP; several streams at once, each can be reset."""

import socket

import h2.config
import h2.connection
import h2.errors
import h2.events

from .http1 import Broken, Headers, Response
from .limits import scaled
from .visitor import Visitor


class Http2:
    def __init__(self, address, tls=None, source=None, timeout=20.0):
        self.socket = socket.create_connection(address, scaled(timeout), (source, 0) if source else None)
        self.scheme = "http"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
            assert self.socket.selected_alpn_protocol() == "h2"
            self.scheme = "https"
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.responses = {}  # stream: Response, filled as it arrives
        self.ended = set()
        self.resets = {}  # stream: error code
        self.pinged = False  # a ping is under way
        self.connection.initiate_connection()
        self._flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def lose(self):
        """Ends the connection with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close()

    def start(self, method, path, headers=(), body=b"", authority="localhost"):
        """Sends a request and returns its stream; of the body no more than the server waits for."""
        stream = self.connection.get_next_available_stream_id()
        pseudo = [(":method", method), (":path", path), (":scheme", self.scheme), (":authority", authority)]
        self.connection.send_headers(stream, pseudo + [(name.lower(), value) for name, value in headers], end_stream=not body)
        self._flush()
        while body and stream not in self.ended and stream not in self.resets:
            size = min(self.connection.local_flow_control_window(stream), self.connection.max_outbound_frame_size, len(body))
            if size == 0:
                self._receive()
                continue
            self.connection.send_data(stream, body[:size], end_stream=size == len(body))
            body = body[size:]
            self._flush()
        return stream

    def reset(self, stream):
        self.connection.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self._flush()

    def settle(self):
        """Returns when the server has read everything sent so far."""
        self.pinged = True
        self.connection.ping(b"8 bytes.")
        self._flush()
        while self.pinged:
            self._receive()

    def wait(self, stream):
        """The whole response of a stream."""
        while stream not in self.ended:
            if stream in self.resets:
                raise Broken(f"stream {stream} was reset: {self.resets[stream]}")
            self._receive()
        return self.responses[stream]

    def request(self, method, path, headers=(), body=b""):
        return self.wait(self.start(method, path, headers, body))

    def _flush(self):
        self.socket.sendall(self.connection.data_to_send())

    def _receive(self):
        data = self.socket.recv(65536)
        if not data:
            raise Broken("the server closed the connection")
        for event in self.connection.receive_data(data):
            self._take(event)
        self._flush()

    def _take(self, event):
        if isinstance(event, h2.events.ResponseReceived):
            pairs = [(name, value) for name, value in event.headers if not name.startswith(":")]
            status = int(dict(event.headers)[":status"])
            self.responses[event.stream_id] = Response(status, headers=Headers(pairs))
        elif isinstance(event, h2.events.DataReceived):
            self.responses[event.stream_id].body += event.data
            self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.resets[event.stream_id] = event.error_code
        elif isinstance(event, h2.events.PingAckReceived):
            self.pinged = False


class Http2Visitor(Visitor):
    """A browser that speaks HTTP/2: each cookie in a field of its own, as browsers send them."""

    def _exchange(self, step):
        headers = []
        for name, value in step.headers:
            headers += [(name, part) for part in value.split("; ")] if name == "Cookie" else [(name, value)]
        with Http2(self.address, **self.options) as connection:
            return connection.request(step.method, step.target, headers, step.body)
