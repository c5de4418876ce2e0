"""What visitors notice while the API is asked ten times a second: their p99 with and without, turn by turn, at a steady rate."""

import http.client
import itertools
import json
import subprocess
import tempfile
import threading
from pathlib import Path

import room_gateway
from gateway_pairs import LOAD_CORE, Server, alternate, table

GATEWAY = """
    upstream app { server unix:@APP@; keepalive 64; keepalive_requests 1000000000; }
    proxy_http_version 1.1; proxy_set_header Connection "";
    waiting_room sale { capacity 1000; session_timeout 6000s; refresh 3000s; }
    fair_queue app { concurrency 64; }
    server { listen @LISTEN@; location / { waiting_room sale; fair_queue app; proxy_pass http://app; } }
    server { listen @LISTEN2@; location /fairway/ { fairway_api; } }
"""
CLIENTS, RATE, CALLS = 16, 100, 10  # requests a second and client; calls of the API a second


class Operator:
    """Reads and writes, CALLS times a second, while in the context."""

    def __init__(self, address):
        self.address, self.done, self.problems = address, threading.Event(), []
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        if self.problems:
            raise SystemExit(f"the API answered {self.problems[0]}")

    def _work(self):
        capacities = itertools.cycle((1000, 1001))
        changes = ({"capacity": capacity} for capacity in capacities)
        for path in itertools.cycle(("rooms", "rooms/sale", "PUT", "queues/app", "health")):
            if self.done.wait(1 / CALLS):
                return
            connection = http.client.HTTPConnection(*self.address, timeout=10)
            if path == "PUT":
                connection.request("PUT", "/fairway/api/rooms/sale", json.dumps(next(changes)), {"Content-Type": "application/json"})
            else:
                connection.request("GET", f"/fairway/api/{path}")
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                self.problems.append(answer.status)
            connection.close()


def p99_of(url, headers, seconds):
    """µs, of requests that all were answered with 200."""
    with tempfile.TemporaryDirectory(prefix="fairway-bench-") as folder:
        log = Path(folder) / "log"
        command = ["taskset", "-c", LOAD_CORE, "h2load", "--h1", f"-c{CLIENTS}", "-t1", f"--rps={RATE}", f"-D{seconds}", f"--log-file={log}"]
        for name, value in headers:
            command += ["-H", f"{name}: {value}"]
        subprocess.run([*command, url], capture_output=True, text=True, timeout=seconds + 60, check=True)
        answers = [line.split("\t") for line in log.read_text().splitlines()]
    if len(answers) < CLIENTS * RATE * seconds / 2 or any(status != "200" for _, status, _ in answers):
        raise SystemExit(f"unexpected answers from {url}")
    times = sorted(int(took) for _, _, took in answers)
    return times[len(times) * 99 // 100]


def run(pairs, seconds):
    with Server(room_gateway.APPLICATION, core=1) as application:
        with Server(GATEWAY, core=0, app=application.prefix / "app.sock") as gateway:
            cookie = "; ".join(f"{name}={value}" for name, value in gateway.come_in(1).items())
            inside = [("Cookie", cookie)]

            def beside():
                with Operator(gateway.gateway.address_of(2)):
                    return p99_of(gateway.url(1) + "/shop", inside, seconds)

            figures = alternate(pairs, {"nobody asks": lambda: p99_of(gateway.url(1) + "/shop", inside, seconds), "ten calls a second": beside})
    return [
        "## The API beside visitors: their p99\n",
        f"{CLIENTS * RATE} requests a second of visitors inside, through a room and a fair queue, one worker; the API is read and written {CALLS} times a second.\n",
        table(figures, "nobody asks", {"ten calls a second": "unchanged"}, "p99, µs"),
    ]
