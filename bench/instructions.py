"""Instructions that a request costs in the gateway, counted by callgrind: the same on a busy machine as on a quiet one.

Each figure is one nginx process, one keep-alive connection, a warm-up that does not count and then REQUESTS requests."""

import glob
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import room_gateway
from gateway_pairs import Server  # also the path of the harness

from harness.nginx import Gateway
from harness.visitor import Visitor

REQUESTS = 400
CONFIGURATION = """
    upstream app { server unix:@APP@; keepalive 4; }
    proxy_http_version 1.1; proxy_set_header Connection "";
    waiting_room sale { capacity 10; session_timeout 6000s; refresh 3000s; polls_per_session 1000000/s; }
    fair_queue app { concurrency 1000; }
    server { listen @LISTEN@; location / { proxy_pass http://app; } location /return { return 302 /__fairway/sale/check?to=/return; } }
    server { listen @LISTEN2@; location / { waiting_room sale; proxy_pass http://app; } }
    server { listen @LISTEN3@; location / { fair_queue app; proxy_pass http://app; } }
"""


class Counted:
    """A gateway whose one process runs under callgrind; a context."""

    def __init__(self, http, **values):
        self.folder = tempfile.TemporaryDirectory(prefix="fairway-callgrind-")
        self.out = Path(self.folder.name) / "out"
        under = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={self.out}", "--quiet", "--instr-atstart=yes")
        self.gateway = Gateway(http, single=True, log_level="error", under=under, **values)

    def __enter__(self):
        self.gateway.start()
        return self

    def __exit__(self, *_):
        self.gateway.close()
        self.folder.cleanup()

    def per_request(self, index, path, headers, keep=None):
        with socket.create_connection(self.gateway.address_of(index), 60) as connection:
            exchange(connection, path, headers, 50)
            self._control("-z")
            exchange(connection, path, headers, REQUESTS)
            before = set(glob.glob(f"{self.out}*"))
            self._control("-d")
        dump = (set(glob.glob(f"{self.out}*")) - before).pop()
        text = Path(dump).read_text()
        if keep:
            Path(keep).write_text(text)
        return round(int(re.search(r"^(?:summary|totals): (\d+)", text, re.M)[1]) / REQUESTS)

    def _control(self, what):
        subprocess.run(["callgrind_control", what, str(self.gateway.process.pid)], check=True, capture_output=True, timeout=60)


def exchange(connection, path, headers, times):
    """`times` requests, one after the other; every answer has a Content-Length."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    message = f"GET {path} HTTP/1.1\r\nHost: shop\r\n{lines}\r\n".encode()
    for _ in range(times):
        connection.sendall(message)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(body)
        while left > 0:
            left -= len(connection.recv(65536))


def measure(keep=None):
    """{name: instructions a request}."""
    with Server(room_gateway.APPLICATION, core=None) as application, Counted(CONFIGURATION, app=application.prefix / "app.sock") as counted:
        inside = Visitor(counted.gateway.address_of(2), room="sale")
        assert inside.page("/shop").status == 200, inside.last
        for _ in range(9):
            assert Visitor(counted.gateway.address_of(2), room="sale").page("/shop").status == 200
        waiting = Visitor(counted.gateway.address_of(2), room="sale")
        assert waiting.page("/shop").status == 429, waiting.last
        page = [("Accept", "text/html")]
        cookies = {visitor: ("Cookie", "; ".join(f"{name}={cookie.value}" for name, cookie in visitor.jar.items())) for visitor in (inside, waiting)}
        runs = {
            "nginx alone": (1, "/shop", [*page, cookies[inside]]),
            "young pass": (2, "/shop", [*page, cookies[inside]]),
            "fair queue that never fills": (3, "/shop", [*page, cookies[inside]]),
            "poll": (2, "/__fairway/sale/status", [cookies[waiting]]),
            "nginx return 302": (1, "/return", page),
            "flood": (2, "/shop", page),
        }
        return {name: counted.per_request(*run, keep=keep and f"{keep}.{name.replace(' ', '-')}") for name, run in runs.items()}


if __name__ == "__main__":
    for name, count in measure(*sys.argv[1:]).items():
        print(f"{count:8} {name}")
