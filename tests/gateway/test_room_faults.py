"""Reloads, killed workers, restarts, full memory: nobody loses a place, nobody comes in twice."""

import asyncio
import os
import random
import signal
import threading
import time

import pytest

from harness.http1 import request
from harness.limits import scaled, wait_until
from harness.nginx import ReloadRefused, check
from harness.operator import CONSOLE, Operator
from harness.visitor import Visitor, crowd

LINE = """
    fairway_store memory @MEMORY@;
    waiting_room sale { capacity @CAPACITY@; poll_interval 100ms 1s; polls_per_session 1000/s; grant_timeout 5s; @SETTINGS@ }
    server { listen @LISTEN@; location / { waiting_room sale; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@; } }
""" + CONSOLE
WINDOW = 6  # s: poll_interval MAX + 5 s


def line(gateway, origin, capacity=3, settings="", memory="4m", **options):
    return gateway(LINE, origin=origin, capacity=capacity, settings=settings, memory=memory, **options)


def people(address, count):
    visitors = [Visitor(address) for _ in range(count)]
    for visitor in visitors:
        visitor.page("/")
    return visitors


def ask(visitors, seconds, seed=1):
    """Each asks again and again, in random order, for so long; answers the last states."""
    chance, deadline = random.Random(seed), time.monotonic() + seconds
    while True:
        chance.shuffle(visitors)
        answers = {visitor: visitor.status().json for visitor in visitors}
        if time.monotonic() > deadline:
            return answers
        time.sleep(0.2)


def ask_until_known(visitors):
    """The same until a recovery is over and each is told a rank."""
    def known():
        answers = ask(visitors, 1)
        return all(answer["rank"] for answer in answers.values()) and answers

    return wait_until(known, WINDOW + 10, message="the line is not known again")


def test_after_a_restart_the_line_is_in_its_old_order(gateway, origin):
    running = line(gateway, origin, capacity=3, settings="refresh 1s;")
    inside, waiting = people(running.address, 3), people(running.address, 12)
    order = [visitor.ticket.number for visitor in waiting]
    running.restart()
    newcomer = Visitor(running.address)
    assert newcomer.page("/").status == 429  # somebody was waiting: no way past them
    assert [running.metrics().get(f"fairway_room_{what}", room="sale") for what in ("inside", "reserved")] == [0, 3]
    shuffled = list(waiting)
    answers = ask(shuffled, 1)
    assert all(answer["state"] == "waiting" and answer["rank"] is None and answer["paused"] for answer in answers.values())
    for visitor in inside:  # inside they notice nothing, and are counted again
        assert visitor.page("/").status == 200
    answers = ask_until_known(shuffled)
    assert [answers[visitor]["rank"] for visitor in waiting] == list(range(1, 13))
    assert [visitor.ticket.number for visitor in waiting] == order and newcomer.ticket.number > order[-1]
    inside[0].leave()
    wait_until(lambda: waiting[0].status().json["state"] == "admitted")
    assert [running.metrics().get(f"fairway_room_{what}", room="sale") for what in ("inside", "reserved")] == [3, 0]


def test_a_session_inside_is_reserved_its_slot_during_recovery(gateway, origin):
    running = line(gateway, origin, capacity=2)
    inside = people(running.address, 2)
    wait_until(lambda: (running.state / "rooms").exists())
    running.restart()
    assert Visitor(running.address).page("/").status == 429
    assert [visitor.page("/").status for visitor in inside] == [200, 200]


def test_a_quiet_gateway_restarts_without_holding_anyone(gateway, origin):
    running = line(gateway, origin)
    running.restart()
    assert Visitor(running.address).page("/").status == 200
    visitor = Visitor(running.address)
    visitor.page("/"), visitor.leave()
    running.restart()
    assert Visitor(running.address).page("/").status == 200


def test_a_killed_gateway_remembers_the_last_second(gateway, origin):
    running = line(gateway, origin, capacity=1)
    people(running.address, 1)
    waiting = people(running.address, 5)
    time.sleep(scaled(2.5))
    running.allow("exited on signal 9")
    pids = [running.process.pid, *running.workers()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    running.process.wait()
    running.process = None
    (running.prefix / "control.sock").unlink()
    running.start()
    answers = ask_until_known(list(waiting))
    assert [answers[visitor]["rank"] for visitor in waiting] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("workers", [1, 4])
def test_reloads_under_load(gateway, origin, workers):
    running = line(gateway, origin, capacity=10, workers=workers)
    done = threading.Event()

    async def visit(visitor, index):
        seen = set()
        while not done.is_set():
            response = await visitor.page("/")
            assert response.status in (200, 429), response
            seen.add(visitor.ticket.sid)
            if response.status == 200 and index % 7 == 0:
                await visitor.leave()
                visitor.forget()
                seen.clear()
            await asyncio.sleep(0.02)
        return len(seen)

    result = []
    load = threading.Thread(target=lambda: result.extend(crowd(running.address, 40, visit)))
    load.start()
    try:
        for turn in range(20):
            running.reload(LINE.replace("location /", f"location /never{turn} {{ }} location /"))
    finally:
        done.set()
        load.join()
    assert len(result) == 40 and all(count <= 1 for count in result)  # nobody's session was exchanged
    assert running.metrics().get("fairway_room_inside", room="sale") <= 10
    assert origin.peak_sessions() >= 10


def test_workers_killed_under_load(gateway, origin):
    running = line(gateway, origin, capacity=10, workers=3)
    done = threading.Event()

    async def visit(visitor, index):
        sids = set()
        while not done.is_set():
            try:
                response = await visitor.page("/")
            except (ConnectionError, asyncio.IncompleteReadError, EOFError, OSError):
                visitor.close()
                continue
            assert response.status in (200, 429), response
            sids.add(visitor.ticket.sid)
            await asyncio.sleep(0.005)
        return sids

    result = []
    load = threading.Thread(target=lambda: result.extend(crowd(running.address, 30, visit)))
    load.start()
    try:
        for _ in range(12):
            running.kill_worker(random.choice(running.workers()))
    finally:
        done.set()
        load.join()
    assert len(result) == 30
    assert max(len(sids) for sids in result) <= 2  # a response lost before its cookie was kept makes a second session, no more
    assert running.metrics().get("fairway_room_inside", room="sale") <= 10


def test_full_memory_is_busy_and_loses_nothing(gateway, origin):
    running = line(gateway, origin, capacity=2, memory="256k", settings="refresh 1s; max_waiting 100000; abandon_timeout 10m;", workers=2)
    inside, first = people(running.address, 2), people(running.address, 3)

    async def visit(visitor, index):
        await visitor.client("/")
        return (await visitor.client("/")).json["state"]

    begun = time.monotonic()
    answers = crowd(running.address, 6000, visit, at_once=50)
    assert set(answers) == {"waiting", "busy"} and answers.count("waiting") > 300
    assert running.metrics().get("fairway_store_calls_total", result="full") > 0
    assert 1 <= running.log.count("no memory") <= 1 + (time.monotonic() - begun) // 60  # one a minute
    assert running.metrics().get("fairway_store_memory_bytes") == 256 * 1024 and running.metrics().get("fairway_store_memory_free_bytes") < 512
    operator = Operator(running)
    assert operator.get("health")["store"]["free_bytes"] < 512
    assert "store_full" in {warning["code"] for warning in operator.get("health")["warnings"]}
    assert "no memory left for one more room" in operator.refused(503, "PUT", "rooms/more", {"capacity": 1})["detail"]
    assert operator.refused(404, "GET", "rooms/more")
    time.sleep(1.2)
    assert [visitor.page("/").status for visitor in inside] == [200, 200]
    assert [visitor.status().json["rank"] for visitor in first] == [1, 2, 3]
    inside[0].leave()
    wait_until(lambda: first[0].status().json["state"] == "admitted")


def test_full_memory_puts_nobody_out(gateway, origin):
    """After a restart the memory fills up before those inside have been heard again: they go on with passes of the gateway's own."""
    running = line(gateway, origin, capacity=5, memory="256k", settings="refresh 1s; session_timeout 300s; session_max 301s; max_waiting 100000;")
    inside = people(running.address, 3)
    admitted = [visitor.passed.admitted for visitor in inside]
    running.restart()

    async def visit(visitor, index):
        await visitor.client("/")
        answer = await visitor.client("/")
        return answer.status if answer.status == 200 else answer.json["state"]

    assert "busy" in crowd(running.address, 3000, visit, at_once=50)
    time.sleep(1.2)
    full = running.metrics().get("fairway_store_calls_total", result="full")
    for visitor in inside:
        before = visitor.passed
        assert visitor.page("/").status == 200
        assert visitor.passed.sid == before.sid and visitor.passed.issued > before.issued
    assert [visitor.passed.admitted for visitor in inside] == admitted
    assert [visitor.passed.expires for visitor in inside] == [second + 301 for second in admitted]  # up to the hard end
    assert running.metrics().get("fairway_store_calls_total", result="full") >= full + 3


def test_dead_waiters_are_gone_in_seconds(gateway, origin):
    running = line(gateway, origin, capacity=0, memory="16m", settings="abandon_timeout 1s;", workers=2)

    async def visit(visitor, index):
        await visitor.client("/")
        await visitor.client("/")

    crowd(running.address, 5000, visit, at_once=50)
    wait_until(lambda: running.metrics().get("fairway_room_waiting", room="sale") == 0, 60)
    assert running.metrics().get("fairway_room_abandoned_total", room="sale") == 5000


def test_a_check_by_another_user_changes_nothing(gateway, origin):
    running = line(gateway, origin)
    inside = people(running.address, 1)[0]
    wait_until(lambda: (running.state / "rooms").exists())  # the gateway's own; later it writes nothing while nothing happens
    before = sorted(str(path) for path in running.prefix.rglob("*"))
    check(running, user="nobody")
    assert sorted(str(path) for path in running.prefix.rglob("*")) == before
    assert inside.page("/").status == 200


def test_another_size_of_memory_is_refused_and_nothing_is_lost(gateway, origin):
    running = line(gateway, origin, capacity=1)
    inside, [waiter] = people(running.address, 1)[0], people(running.address, 1)
    with pytest.raises(ReloadRefused, match="cannot change while nginx runs"):
        running.reload(LINE.replace("@MEMORY@", "8m"))
    running.write(LINE)
    assert inside.page("/").status == 200 and waiter.status().json["rank"] == 1
    assert request(running.address, "GET", "/__fairway/health").status == 200
