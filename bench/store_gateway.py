"""The waiting room on a shared store, through a gateway: polls per second, calls of the store per visitor, and how long it takes to come in."""

import asyncio
import re
import subprocess
import time
from pathlib import Path

from gateway_pairs import LOAD_CORE, Server, alternate, table

from harness.shared_rooms import ticket
from harness.stores import Store
from harness.visitor import AsyncVisitor

HERE = Path(__file__).resolve().parent
KEYS = "bench:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=\n"
WAITING = 100_000
ROOM = """
    fairway_store @STORE@;
    waiting_room sale { capacity @CAPACITY@; entries_per_ip off; polls_per_session 1000000/s; @SETTINGS@ }
    server { listen @LISTEN@; location / { waiting_room sale; empty_gif; } }
"""
MEMORY = "memory 128m"


def gateway(store, capacity=0, settings="", core=0):
    return Server(ROOM, core=core, keys=KEYS, store=store, capacity=capacity, settings=settings)


def cookie(number):
    return "fairway_ticket_sale=" + ticket("sale", KEYS, number)


def wrk(server, path, file, seconds):
    """Requests per second with those visitors' cookies in turn."""
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", "-c64", f"-d{seconds}s", "-s", HERE / "visitors.lua", server.url() + path, "--", file]
    said = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
    if "Socket errors" in said:
        raise SystemExit(said)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


def cpu(store):
    return float(store.info("used_cpu_user")) + float(store.info("used_cpu_sys"))


def calls(server):
    return server.gateway.metrics().get("fairway_store_calls_total", result="ok")


def waiting(server):
    return server.gateway.metrics().get("fairway_room_waiting", room="sale")


def polls(pairs, seconds):
    """Everybody in line first, then polls for some seconds, both stores in turns."""
    store = Store()
    try:
        with gateway(store.url) as shared, gateway(MEMORY) as alone:
            file = shared.prefix / "cookies"
            file.write_text("\n".join(cookie(number) for number in range(WAITING)) + "\n")
            for server in (shared, alone):
                while waiting(server) < WAITING:
                    wrk(server, "/", file, 5)
                    time.sleep(1.2)
            costs = []

            def on_store():
                before, asked = cpu(store), calls(shared)
                rate = wrk(shared, "/__fairway/sale/status", file, seconds)
                costs.append(((cpu(store) - before) * 1e6 / (rate * seconds), rate * seconds / (calls(shared) - asked)))
                return rate

            figures = alternate(pairs, {"memory": lambda: wrk(alone, "/__fairway/sale/status", file, seconds), "shared store": on_store})
    finally:
        store.close()
    middle = sorted(costs[1:])[len(costs) // 2 - 1]
    return [table(figures, "memory", {}, unit="polls/s"),
            f"The store's CPU per poll, under this load: {middle[0]:.1f} µs, with {middle[1]:.1f} polls to a call.\n"]


class Connections:
    """A few that many visitors use in turn."""

    def __init__(self, server, count=64):
        self._free = asyncio.Queue()
        for _ in range(count):
            self._free.put_nowait(AsyncVisitor(server.gateway.address).connection)

    async def use(self, visitor, function):
        visitor.connection = await self._free.get()
        try:
            return await function(visitor)
        finally:
            self._free.put_nowait(visitor.connection)


def newcomer(server, number):
    visitor = AsyncVisitor(server.gateway.address)
    visitor.set_cookie("fairway_ticket_sale", ticket("sale", KEYS, number))
    return visitor


async def waiters(server, count, seconds):
    """They ask as told."""
    over = time.monotonic() + seconds
    connections = Connections(server)

    async def one(visitor):
        answer = await connections.use(visitor, lambda v: v.page("/"))
        while time.monotonic() < over:
            await asyncio.sleep(float(answer.headers.get("Retry-After", "1")))
            answer = await connections.use(visitor, lambda v: v.status())

    await asyncio.gather(*(one(newcomer(server, number)) for number in range(count)))


async def clickers(server, count, seconds):
    """They click once a second."""
    over = time.monotonic() + seconds
    connections = Connections(server)

    async def one(visitor):
        while time.monotonic() < over:
            assert (await connections.use(visitor, lambda v: v.page("/"))).status == 200
            await asyncio.sleep(1)

    await asyncio.gather(*(one(newcomer(server, number)) for number in range(count)))


def calls_of(people, count, capacity, seconds):
    store = Store()
    try:
        with gateway(store.url, capacity=capacity, settings="poll_interval 3s 30s;") as server:
            asyncio.run(people(server, count, 5))  # they come
            before, start = calls(server), time.monotonic()
            asyncio.run(people(server, count, seconds))
            took = time.monotonic() - start
            made = calls(server) - before
    finally:
        store.close()
    return made / took, made / took * 60 / count


async def joins(server, per_second, seconds):
    """So many newcomers a second, whatever the answers take; how long each took, from when it was due."""
    took = []
    connections = Connections(server)
    visitors = [newcomer(server, number) for number in range(per_second * seconds)]
    start = time.monotonic() + 1

    async def one(visitor, due):
        await asyncio.sleep(due - time.monotonic())
        await connections.use(visitor, lambda v: v.page("/"))
        took.append(time.monotonic() - due)

    await asyncio.gather(*(one(visitor, start + number / per_second) for number, visitor in enumerate(visitors)))
    return sorted(took[per_second:])  # the first second is for warming up


def latency(store_words, seconds):
    with gateway(store_words, settings="max_waiting 1000000;") as server:
        took = asyncio.run(joins(server, 1000, seconds))
    return took[len(took) // 2] * 1000, took[len(took) * 99 // 100] * 1000


def run(pairs, seconds):
    lines = ["## The waiting room on a shared store, through a gateway\n",
             f"One nginx worker on one core; the load generator and the store on the other. {WAITING:,} in line, each poll another visitor's.\n", *polls(pairs, seconds)]
    lines += ["| | calls of the store per second | per visitor and minute |", "|---|---|---|"]
    for title, people, count, capacity in (("10,000 waiters who poll as told (3 s to 30 s)", waiters, 10_000, 0),
                                           ("1,000 visitors inside, a click a second", clickers, 1_000, 2_000)):
        per_second, per_visitor = calls_of(people, count, capacity, 60)
        lines.append(f"| {title} | {per_second:.0f} | {per_visitor:.2f} |")
    store = Store()
    try:
        lines += ["\nComing into the line at 1,000 joins a second, with what the load generator adds:\n", "| | p50, ms | p99, ms |", "|---|---|---|"]
        for title, words in (("memory", MEMORY), ("shared store", store.url)):
            middle, high = latency(words, 10)
            lines.append(f"| {title} | {middle:.2f} | {high:.2f} |")
    finally:
        store.close()
    return lines + [""]
