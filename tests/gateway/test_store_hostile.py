"""Stores that accept and never answer, answer garbage or drop by drop, refuse, or close: each waiter is answered once, in time, and nothing
is left behind."""

import asyncio
import os
import time

import pytest

from harness.limits import scaled, wait_until
from harness.visitor import AsyncVisitor, Visitor

LIMITS = "timeout=200ms breaker=1s"
ROOM = "capacity 5; polls_per_session 1000/s;"


def hang(store, connection):
    while store.read(connection):
        pass


def garbage(store, connection):
    while store.read(connection):
        connection.sendall(os.urandom(4096))


def endless(store, connection):
    store.read(connection)
    while True:
        connection.sendall(b"$10000000\r\n" + b"x" * 65536)


def drops(store, connection):
    store.read(connection)
    for byte in b"*99\r\n" + b":1\r\n" * 99:
        connection.sendall(bytes([byte]))
        time.sleep(1)


def half_a_reply(store, connection):
    store.read(connection)
    connection.sendall(b"*19\r\n:1764")


def close(store, connection):
    store.read(connection)


def close_at_once(store, connection):
    pass


def says(text):
    def serve(store, connection):
        while store.read(connection):
            connection.sendall(text)

    return serve


STORES = {
    "hangs": hang,
    "garbage": garbage,
    "endless": endless,
    "drops": drops,
    "half a reply": half_a_reply,
    "closes": close,
    "closes at once": close_at_once,
    "loading": says(b"-LOADING Redis is loading the dataset in memory\r\n"),
    "master down": says(b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n"),
    "no auth": says(b"-NOAUTH Authentication required.\r\n"),
    "wrong answer": says(b"+OK\r\n"),
    "moved to nowhere": says(b"-MOVED 1 127.0.0.1:1\r\n"),
    "moved to a name": says(b"-MOVED 1 nowhere.example:6379\r\n"),
    "moved in circles": says(b"-ASK 1 :0\r\n"),
    "no script, ever": says(b"-NOSCRIPT No matching script.\r\n"),
}


def descriptors(running):
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in running.workers())


@pytest.mark.parametrize("kind", STORES)
def test_a_bad_store(shared_room, bad_store, kind):
    store = bad_store(STORES[kind])
    running = shared_room(ROOM, url=f"{store.url} {LIMITS}")

    async def visit():
        visitor = AsyncVisitor(running.address)
        start = time.monotonic()
        response = await visitor.page("/")
        visitor.close()
        return response.status, time.monotonic() - start

    async def crowd(count):
        return await asyncio.gather(*(visit() for _ in range(count)))

    before = None
    for wave in range(3):
        answers = asyncio.run(crowd(20))
        assert [status for status, _ in answers] == [503] * 20
        assert max(took for _, took in answers) < scaled(5)  # nobody hangs
        assert running.metrics().get("fairway_store_breaker_open") == 1
        wait_until(lambda: Visitor(running.address).page("/").status == 503)
        before = before or descriptors(running)
    assert descriptors(running) <= before + 2
    samples = running.metrics()
    assert samples.get("fairway_store_calls_total", result="ok") == 0
    assert samples.get("fairway_store_calls_total", result="failed") >= 1
    assert samples.total("fairway_room_answers_total", state="unavailable") >= 63


def test_one_call_and_then_none_for_the_time_of_the_breaker(shared_room, bad_store):
    store = bad_store(hang)
    running = shared_room(ROOM, url=f"{store.url} timeout=200ms breaker=7s", workers=2)
    wait_until(lambda: store.asked)  # the gateway's own call of each second
    wait_until(lambda: running.metrics().get("fairway_store_breaker_open") == 1)
    asked = len(store.asked)
    noticed = time.monotonic()
    while time.monotonic() < noticed + 2.5:
        assert Visitor(running.address).page("/").status == 503
    assert len(store.asked) == asked
    wait_until(lambda: len(store.asked) > asked, 20)
    time.sleep(0.5)
    assert len(store.asked) == asked + 1, "one probe"
