"""An operator at a long line: nothing that is shown of it, and no eviction, goes through the line."""

import os
import secrets
import socket
import time

import pytest

from harness import tokens
from harness.limits import scaled
from harness.operator import CONSOLE

LINE = int(os.environ.get("FAIRWAY_LINE", 20_000))  # in `make nightly` 1,000,000
LIMIT = 0.5 if LINE >= 1_000_000 else 5  # s; on a busy machine the short line shows what is done, the long one how long it takes
BATCH = 100
TEXT = """
    fairway_store memory 512m;
    waiting_room sale { capacity 1; max_waiting 2000000; entries_per_ip off; poll_interval 1h 1h; abandon_timeout 2h; @SETTINGS@ }
    fair_queue app { concurrency 8; }
    server { listen @LISTEN@; keepalive_requests 10000000; access_log off; location / { waiting_room sale; fair_queue app; proxy_pass http://@ORIGIN@; } }
""" + CONSOLE


def join(running, count):
    """`count` visitors come, each with a ticket of its own; the requests follow each other on one connection."""
    keys, now, left = running.keys, int(time.time()), count
    with socket.create_connection(running.address, scaled(60)) as connection:
        while left:
            batch = min(BATCH, left)
            requests = []
            for _ in range(batch):
                ticket = tokens.write(tokens.Token("q", "sale", secrets.token_hex(16), now, now + 660), keys)
                requests.append(f"GET / HTTP/1.1\r\nHost: x\r\nCookie: fairway_ticket_sale={ticket}\r\n\r\n")
            connection.sendall("".join(requests).encode())
            answers = b""
            while answers.count(b"\r\n\r\n") < batch:
                answers += connection.recv(1 << 20)
            left -= batch


@pytest.fixture
def line(operated):
    running, operator = operated(text=TEXT)
    join(running, LINE + 1)
    return running, operator


def took(call):
    begun = time.monotonic()
    result = call()
    return time.monotonic() - begun, result


def test_every_view_and_an_eviction_of_all_within_a_second(line):
    running, operator = line
    for view in ("rooms", "rooms/sale", "rooms/sale/history", "queues", "queues/app", "queues/app/flows?top=20", "queues/app/history", "health", "events"):
        seconds, _ = took(lambda path=view: operator.get(path))
        assert seconds < scaled(LIMIT), view
    shown = operator.get("rooms/sale")
    assert (shown["inside"], shown["waiting"]) == (1, LINE)
    seconds, answer = took(lambda: operator.post("rooms/sale/evict", {"all": True, "line": True}))
    assert answer["ended"] == LINE + 1 and seconds < scaled(LIMIT)
    shown = operator.get("rooms/sale")
    assert (shown["inside"], shown["waiting"]) == (0, 0)
