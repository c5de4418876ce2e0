"""Requests to a fair queue, many at once: each from an address of its own if wanted, with what the gateway says of its turn."""

import socket
import threading
import time

from .http1 import Broken, Connection
from .limits import scaled

# What the gateway of the queue tests writes for each request, in the order of `Line`.
LOG = "log_format turn '$uri $status $fair_queue_status $fair_queue_wait $fair_queue_cost_ns $fair_queue_cpu_ns $fair_queue_debt $fair_queue_outer $fair_queue_inner';"


def patient(settings):
    """Settings of a queue in which nobody is refused for having waited, unless they say so themselves: a busy machine may take its time."""
    return settings if "timeout" in settings else f"{settings} timeout 5m;"


class Line:
    def __init__(self, text):
        self.uri, status, self.state, wait, cost, cpu, debt, self.outer, self.inner = text.split()
        self.status = int(status)
        self.wait, self.debt = (None if value == "-" else float(value) for value in (wait, debt))
        self.cost, self.cpu = (None if value == "-" else int(value) / 1e9 for value in (cost, cpu))  # s

    def __repr__(self):
        return f"{self.uri} {self.status} {self.state} wait={self.wait} cost={self.cost}"


def lines(gateway, file="turns.log"):
    """What was logged so far."""
    path = gateway.prefix / file
    return [Line(text) for text in path.read_text().splitlines()] if path.exists() else []


class Pending:
    """A request under way on a connection of its own."""

    def __init__(self, address, target, method="GET", headers=(), body=b"", source=None):
        self.connection = Connection(address, source, timeout=60)
        self.sent = time.monotonic()
        self.connection.send_request(method, target, headers, body)
        self.method = method

    def response(self):
        """The response; its `took` is the time since it was sent, s."""
        answer = self.connection.read_response(self.method)
        answer.took = time.monotonic() - self.sent
        self.connection.close()
        return answer

    def answered(self, seconds=0.2):
        """Whether something comes within so long."""
        self.connection.socket.settimeout(scaled(seconds))
        try:
            return bool(self.connection.socket.recv(1, socket.MSG_PEEK))
        except (TimeoutError, socket.timeout):
            return False
        finally:
            self.connection.socket.settimeout(scaled(60))

    def lost(self):
        """Whether the gateway has closed the connection without an answer."""
        self.connection.socket.settimeout(0.01)
        try:
            return self.connection.socket.recv(1, socket.MSG_PEEK) == b""
        except (TimeoutError, socket.timeout):
            return False
        except ConnectionError:
            return True
        finally:
            self.connection.socket.settimeout(scaled(60))

    def vanish(self, how="fin"):
        if how == "rst":
            self.connection.reset()
        elif how == "half":
            self.connection.socket.shutdown(socket.SHUT_WR)
        else:
            self.connection.close()


class Load:
    """Clients in threads of their own, each asking again and again until the end of the `with`; what each saw, in `took` (s) and `statuses`."""

    def __init__(self, address):
        self.address = address
        self.stopping = threading.Event()
        self.threads = []
        self.results = {}  # name: list of (status, took)
        self.lock = threading.Lock()

    def add(self, name, target, clients=1, source=None, think=0.0, headers=()):
        """`clients` connections under one name; `source` an address, or makes one from the client's number; `headers` a list, or makes
        one for each request."""
        for number in range(clients):
            address = source(number) if callable(source) else source
            make = headers if callable(headers) else lambda kept=list(headers): kept
            self.threads.append(threading.Thread(target=self._client, args=(name, target, address, think, make), daemon=True))
            self.threads[-1].start()
        return self

    def _client(self, name, target, source, think, headers):
        connection = None
        while not self.stopping.is_set():
            begun = time.monotonic()
            try:
                connection = connection or Connection(self.address, source, timeout=60)
                response = connection.request("GET", target, headers())
                status = response.status
                if response.headers.get("Connection") == "close":
                    connection.close()
                    connection = None
            except (Broken, OSError, ValueError):
                status, connection = 0, None
            with self.lock:
                self.results.setdefault(name, []).append((status, time.monotonic() - begun, begun))
            self.stopping.wait(think)
        if connection:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(scaled(60))
            assert not thread.is_alive()

    def statuses(self, name):
        with self.lock:
            return [status for status, _, _ in self.results.get(name, [])]

    def took(self, name, since=0.0):
        with self.lock:
            return sorted(took for status, took, begun in self.results.get(name, []) if status == 200 and begun >= since)


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]
