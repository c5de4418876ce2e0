"""One hog with 100 connections against 10 light users at C = 8: this module, order fifo, HAProxy's queue, nginx limit_conn; and what a
queue that never fills costs. The application sleeps; the load is Python threads on the same machine, so differences count, not ms."""

import subprocess
import tempfile
import time
from pathlib import Path

import plot
import room_gateway
from gateway_pairs import Server, alternate, rate_of, table  # also the path of the harness

from harness.limits import wait_until
from harness.nginx import free_port
from harness.origin import Answer, Origin
from harness.queued import Load, percentile

C = 8
LIGHT = 10
LIGHT_COST = 0.02  # s
KINDS = (("requests of 100 ms", "/hog", 0.1), ("requests of 2 s", "/slow", 2.0), ("requests of 10 s", "/slowest", 10.0))
QUEUES = f"""
    limit_conn_zone $server_name zone=all:1m;
    fair_queue fair {{ concurrency {C}; }}
    fair_queue fifo {{ concurrency {C}; order fifo; }}
    proxy_http_version 1.1; proxy_set_header Connection "";
    server {{ listen @LISTEN@; location / {{ fair_queue fair; proxy_pass http://@ORIGIN@; }} }}
    server {{ listen @LISTEN2@; location / {{ fair_queue fifo; proxy_pass http://@ORIGIN@; }} }}
    server {{ listen @LISTEN3@; server_name limited; location / {{ limit_conn all {C}; proxy_pass http://@ORIGIN@; }} }}
    server {{ listen @LISTEN4@; location / {{ proxy_pass http://@ORIGIN@; }} }}
"""
HAPROXY = """
global
    maxconn 4000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout queue 10s
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    server application {origin} maxconn {slots}
"""
NO_QUEUE = """
    fair_queue app { concurrency 1000; }
    upstream app { server unix:@APP@; keepalive 64; keepalive_requests 1000000000; }
    proxy_http_version 1.1; proxy_set_header Connection "";
    server { listen @LISTEN@; location / { proxy_pass http://app; } }
    server { listen @LISTEN2@; location / { fair_queue app; proxy_pass http://app; } }
"""


class HaProxy:
    def __init__(self, origin):
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory(prefix="fairway-bench-")
        file = Path(self.folder.name) / "haproxy.cfg"
        file.write_text(HAPROXY.format(port=self.port, origin=origin, slots=C))
        self.process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.folder.cleanup()


def measure(address, hog, seconds, hogs=100):
    """Light users' times, their failures, and the hog's requests that began and ended within `seconds`. Each light user asks once a second,
    one after the other."""
    with Load(address) as load:
        for number in range(LIGHT):
            load.add("light", "/light", source=f"127.9.{number + 10}.1", think=1 - LIGHT_COST)
            time.sleep(1 / LIGHT)
        time.sleep(2)  # two answers each: they are known
        begun = time.monotonic()
        load.add("hog", hog, clients=hogs, source="127.9.1.1")
        time.sleep(seconds)
        end = time.monotonic()
        done = sum(status == 200 and since >= begun and since + took <= end for status, took, since in load.results.get("hog", []))
    light = load.took("light", since=begun + 1)
    failed = sum(status != 200 for status in load.statuses("light"))
    return light, failed, done


def rows(addresses, hog, cost, seconds):
    """Lines of the table, and what the plot shows: {name: {percentile: ms}}."""
    lines, shown = [], {}
    for name, address in addresses.items():
        light, failed, done = measure(address, hog, seconds)
        p50, p99 = (percentile(light, share) * 1000 if light else None for share in (0.5, 0.99))
        told = " | ".join("none answered" if time is None else f"{time:.0f}" for time in (p50, p99))
        lines.append(f"| {name} | {told} | {failed} of {failed + len(light)} | {done * cost / seconds / C:.2f} |")
        if light:
            shown[name] = {"p50": p50, "p99": p99}
    return lines, shown


def side_by_side(seconds):
    origin = Origin().start()
    origin.on("/light", Answer(delay=LIGHT_COST))
    for _, path, cost in KINDS:
        origin.on(path, Answer(delay=cost))
    haproxy = HaProxy(origin)
    try:
        with Server(QUEUES, core=None, origin=origin) as gateway:
            addresses = {"fair_queue": gateway.gateway.address_of(1), "fair_queue, order fifo": gateway.gateway.address_of(2),
                         "HAProxy, maxconn and queue": ("127.0.0.1", haproxy.port), "nginx limit_conn": gateway.gateway.address_of(3)}
            alone, _, _ = measure(gateway.gateway.address_of(4), "/light", seconds, hogs=0)
            base = {"p50": percentile(alone, 0.5) * 1000, "p99": percentile(alone, 0.99) * 1000}
            text = [f"Light users alone: p50 {base['p50']:.0f} ms, p99 {base['p99']:.0f} ms. nginx limit_conn refuses instead of queuing: look at its failures.\n"]
            for title, path, cost in KINDS:
                lines, shown = rows(addresses, path, cost, seconds)
                text += [f"Hog: 100 connections, {title}.\n", "| | light p50, ms | light p99, ms | light failures | hog's share of the slots |", "|---|---|---|---|---|", *lines, "",
                         plot.bars(f"light-users{path.replace('/', '-')}", f"Light users beside a hog with {title}", {"no hog": base, **shown}, "ms (logarithmic)")]
                wait_until(lambda: origin.running == 0, 30)
            return text
    finally:
        haproxy.close()
        origin.stop()


def run(_pairs, _seconds):
    return ["## A fair queue beside others\n",
            f"C = {C}; {LIGHT} light users, each in a network of its own with one request of {LIGHT_COST * 1000:.0f} ms a second; 20 s each.\n", *side_by_side(20)]


def overhead(pairs, seconds):
    lines = ["## A fair queue that never fills: requests per second\n", "Proxied 3-byte response, keep-alive.\n"]
    with Server(room_gateway.APPLICATION, core=1) as app:
        for workers in (1, 2):
            with Server(NO_QUEUE, core=0 if workers == 1 else None, workers=workers, app=app.prefix / "app.sock") as gateway:
                figures = alternate(pairs, {
                    "without": lambda: rate_of(gateway.url(1) + "/x", [], seconds, 200),
                    "fair_queue that never fills": lambda: rate_of(gateway.url(2) + "/x", [], seconds, 200),
                })
            target = "at least 0.97" if workers == 1 else "at least 0.95"
            lines += [f"{workers} worker{'s' if workers > 1 else ''}:\n", table(figures, "without", {"fair_queue that never fills": target})]
    return lines
