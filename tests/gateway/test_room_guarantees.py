"""What the line guarantees, counted from outside with many visitors at once."""

import asyncio
import os
import random
import subprocess
import threading
import time

import pytest

from harness.limits import PRELOAD, scaled, wait_until
from harness.origin import Answer
from harness.visitor import Visitor, crowd

LINE = """
    waiting_room sale { capacity @CAPACITY@; poll_interval @POLL@; polls_per_session 1000/s; @SETTINGS@ }
    server { listen @LISTEN@;
        location / { waiting_room sale; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@; } }
"""


def states(metrics):
    return {name: metrics.get(f"fairway_room_{name}", room="sale") for name in ("inside", "waiting", "admitted_total")}


async def come_in(visitor, target="/work", asks=3000):
    """Until the application answered: polls more often than told, the head of the line most often; answers the pass it came in with."""
    response = await visitor.page(target)
    while response.status != 200:
        asks -= 1
        assert asks > 0, response
        await asyncio.sleep(0.02 + 0.01 * min((await visitor.status()).json.get("rank") or 0, 200))
        if visitor.last.json["state"] == "admitted":
            response = await visitor.page(target)
    return visitor.passed


@pytest.mark.parametrize("workers, count", [(2, 300), (4, 1000)])
def test_capacity_is_exact(gateway, origin, workers, count):
    origin.on("/work", Answer(delay=0.03))
    running = gateway(LINE, origin=origin, capacity=10, settings="", poll="1s 5s", workers=workers)

    async def visit(visitor, index):
        ticket = await come_in(visitor)
        for _ in range(index % 3):
            assert (await visitor.page("/work")).status == 200
        await visitor.leave()
        return ticket

    passes = crowd(running.address, count, visit)
    assert len({ticket.sid for ticket in passes}) == len({ticket.number for ticket in passes}) == count
    assert origin.peak_sessions() <= 10
    assert states(running.metrics()) == {"inside": 0, "waiting": 0, "admitted_total": count}


def test_parallel_requests_with_one_ticket_make_one_place(gateway, origin):
    running = gateway(LINE, origin=origin, capacity=0, settings="", poll="100ms 1s", workers=2)
    first = Visitor(running.address)
    first.client("/")
    ticket = first.jar["fairway_ticket_sale"].value

    async def visit(visitor, index):
        visitor.set_cookie("fairway_ticket_sale", ticket)
        return (await visitor.client("/")).json["rank"], visitor.ticket.number

    assert len(set(crowd(running.address, 200, visit))) == 1
    assert states(running.metrics())["waiting"] == 1


def test_order_is_exact_under_leaving_and_walking_away(gateway, origin):
    running = gateway(LINE, origin=origin, capacity=5, settings=f"grant_timeout 5s; abandon_timeout {scaled(3):.0f}s; return_grace 2s;", poll="2s 2s", workers=2)
    chance = random.Random(7)
    fates = [chance.choice(["stay", "stay", "stay", "leave", "vanish"]) for _ in range(300)]

    async def visit(visitor, index):
        await asyncio.sleep(index * 0.004)
        response = await visitor.page("/work")
        if response.status == 429 and fates[index] != "stay":
            await asyncio.sleep(chance.random())
            if fates[index] == "leave":
                await visitor.leave()
            return None
        ticket = await come_in(visitor)
        await asyncio.sleep(0.02 * chance.random())
        await visitor.leave()
        return ticket

    inside = sorted((ticket for ticket in crowd(running.address, 300, visit) if ticket), key=lambda ticket: ticket.number)
    assert len(inside) >= fates.count("stay")
    admitted = [ticket.admitted for ticket in inside]
    assert admitted == sorted(admitted)  # who came earlier was let in earlier
    wait_until(lambda: states(running.metrics())["waiting"] == 0, 30)


def test_a_newcomer_never_passes_a_waiter(gateway, origin):
    running = gateway(LINE, origin=origin, capacity=1, settings="", poll="100ms 1s")
    inside, waiter = Visitor(running.address), Visitor(running.address)
    inside.page("/"), waiter.page("/")
    inside.leave()
    for _ in range(5):
        assert Visitor(running.address).page("/").status == 429
    assert waiter.status().json["state"] == "admitted"


def test_no_second_admits_more_than_rate(gateway, origin):
    running = gateway(LINE, origin=origin, capacity=1000, settings="rate 20/s;", poll="100ms 1s", workers=2)
    samples = []  # (before reading, after reading, admitted)
    stop = threading.Event()

    def sample():
        while not stop.is_set():
            before = time.monotonic()
            admitted = running.metrics().get("fairway_room_admitted_total", room="sale")
            samples.append((before, time.monotonic(), admitted))
            time.sleep(0.02)

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        passes = crowd(running.address, 120, lambda visitor, index: come_in(visitor))
    finally:
        stop.set()
        watcher.join()
    assert len({ticket.sid for ticket in passes}) == 120 and len(samples) > 50
    for i, (begun, _, earlier) in enumerate(samples):
        for _, ended, later in samples[i + 1:]:
            if ended - begun > 1.0:
                break
            assert later - earlier <= 20, f"{later - earlier} in {ended - begun} s"


def test_closed_tabs_at_the_head_do_not_stop_the_line(gateway, origin):
    running = gateway(LINE, origin=origin, capacity=1, settings="", poll="100ms 1s")
    inside, present = Visitor(running.address), Visitor(running.address)
    inside.page("/")
    tabs = [Visitor(running.address) for _ in range(5)]
    for tab in tabs:
        tab.page("/")
    present.page("/")
    deadline = time.monotonic() + scaled(3)
    while time.monotonic() < deadline:  # the tabs have not asked for longer than twice their interval
        present.status()
        time.sleep(0.1)
    before = states(running.metrics())["admitted_total"]
    inside.leave()
    wait_until(lambda: present.status().json["state"] == "admitted")
    assert states(running.metrics())["admitted_total"] - before == 1
    assert [tab.status().json["rank"] for tab in tabs] == [1, 2, 3, 4, 5]  # back in time, at their old numbers
    assert present.page("/").status == 200


def test_an_ended_session_cannot_be_revived(gateway, origin):
    running = gateway(LINE, origin=origin, capacity=1, settings="", poll="100ms 1s")
    visitor = Visitor(running.address)
    visitor.page("/")
    old, sid = dict(visitor.jar), visitor.passed.sid
    visitor.leave()
    for step in (lambda: None, running.reload, running.restart, running.kill_worker):
        step()
        for jar in (old, {"fairway_ticket_sale": old["fairway_ticket_sale"]}):
            visitor.jar = dict(jar)
            assert visitor.status().json["state"] == "unknown"
            visitor.page("/")
            assert visitor.ticket.sid != sid
            visitor.leave()


def test_a_flood_without_cookies_makes_no_state(gateway, origin):
    count = int(os.environ.get("FAIRWAY_FLOOD", 100_000))
    running = gateway(LINE, origin=origin, capacity=1, settings="", poll="100ms 1s", workers=2, log_level="warn")
    Visitor(running.address).page("/")

    def flood(number):
        answer = subprocess.run(["h2load", "--h1", "-n", str(number), "-c", "32", "-t", "1", "-H", "Accept: text/html", f"http://127.0.0.1:{running.port}/shop"],
                                capture_output=True, text=True, timeout=scaled(300))
        assert f"{number} total" in answer.stdout and f"{number} 3xx" in answer.stdout, answer.stdout + answer.stderr

    def memory():  # of the workers' own; pages of the shared zone count for whoever touched them
        return sum(int(line.split()[1]) for pid in running.workers() for line in open(f"/proc/{pid}/status") if line.startswith("RssAnon"))

    flood(count // 2)  # nginx's own buffers are there now
    before, log, room = memory(), running.log, states(running.metrics())
    flood(count)
    assert states(running.metrics()) == room == {"inside": 1, "waiting": 0, "admitted_total": 1}
    assert running.log == log
    assert PRELOAD or memory() - before < 1024  # KiB; a sanitizer keeps what was freed
    assert len(origin.requests) == 1
