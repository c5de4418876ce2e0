"""Fair order on loopback. Absolute times of a busy machine say little, so light users under `fair` are compared with those under
`order fifo` in the same run; the bounds in ms are held on the virtual clock by the unit tests and measured by the benchmark."""

import time

import pytest

from harness.limits import scaled
from harness.origin import Answer
from harness.queued import Load, percentile

QUEUES = """
    fair_queue fair { concurrency 8; }
    fair_queue fifo { concurrency 8; order fifo; }
    server { listen @LISTEN@; location / { fair_queue fair; proxy_pass http://@ORIGIN@; } }
    server { listen @LISTEN2@; location / { fair_queue fifo; proxy_pass http://@ORIGIN@; } }
"""
LIGHT = 10


@pytest.fixture
def queues(gateway, origin):
    origin.on("/hog", Answer(delay=0.1)).on("/light", Answer(delay=0.02))
    return lambda text=QUEUES, **options: gateway(text, origin=origin, **options)


def light_and_hog(address, hog_clients, seconds=5.0, hog="/hog", hog_source="127.8.1.1"):
    """Waits of the light users (own networks) and everybody's statuses, beside a hog with so many connections."""
    with Load(address) as load:
        load.add("light", "/light", clients=LIGHT, source=lambda number: f"127.8.{number + 10}.1", think=0.2)
        time.sleep(1.0)  # they are known when the hog comes
        begun = time.monotonic()
        load.add("hog", hog, clients=hog_clients, source=hog_source)
        time.sleep(scaled(seconds))
    return load.took("light", since=begun + 1), load


@pytest.mark.parametrize("workers", [1, 2])
def test_one_hog_with_a_hundred_connections(queues, origin, workers):
    running = queues(workers=workers)
    fair, load = light_and_hog(running.address, 100)
    hogs = load.statuses("hog")
    fifo, _ = light_and_hog(running.address_of(2), 100)
    assert set(load.statuses("light")) == {200} and len(fair) > 20 and len(fifo) > 20
    assert percentile(fair, 0.9) < percentile(fifo, 0.5) / 3
    assert percentile(fair, 0.5) < percentile(fifo, 0.5) / 5
    assert hogs.count(200) > 100 and origin.peak <= 8


def test_a_hog_that_overfills_the_queue_hurts_itself_alone(queues, origin):
    running = queues()
    with Load(running.address) as load:
        load.add("light", "/light", clients=5, source=lambda number: f"127.8.{number + 10}.1", think=0.1)
        load.add("neighbour", "/light", source="127.8.1.200", think=0.1, headers=[("User-Agent", "neighbour")])
        time.sleep(1.0)
        load.add("hog", "/hog", clients=400, source="127.8.1.1")
        time.sleep(scaled(2))
        load.add("newcomer", "/light", source="127.8.99.1", think=0.1)
        time.sleep(scaled(3))
    assert set(load.statuses("light")) == set(load.statuses("neighbour")) == set(load.statuses("newcomer")) == {200}
    assert 503 in load.statuses("hog") and origin.peak <= 8


def test_a_lone_hog_uses_what_is_there(queues, origin):
    running = queues()
    with Load(running.address) as load:
        load.add("hog", "/hog", clients=40, source="127.8.1.1")
        time.sleep(scaled(12))  # the lane opens after 10 s without light arrivals, or at once for a flow alone
        origin_before = len(origin.requests)
        begun = time.monotonic()
        time.sleep(2)
        done = len(origin.requests) - origin_before
        used = done * 0.1 / (time.monotonic() - begun)
    assert used > 0.7 * 8, f"{used:.1f} of 8 slots"


def test_two_backlogged_networks_share_evenly(queues, origin):
    origin.on("/long", Answer(delay=0.4)).on("/short", Answer(delay=0.04))
    running = queues(text=QUEUES.replace("concurrency 8; }", "concurrency 8; light_lane off; }", 1))
    with Load(running.address) as load:
        load.add("long", "/long", clients=30, source="127.8.1.1")
        load.add("short", "/short", clients=30, source="127.8.2.1")
        time.sleep(scaled(2))
        before = len(origin.seen("/long")), len(origin.seen("/short"))
        time.sleep(4)
        counts = len(origin.seen("/long")) - before[0], len(origin.seen("/short")) - before[1]
    share = counts[0] * 0.4 / (counts[0] * 0.4 + counts[1] * 0.04)
    assert 0.35 < share < 0.7, f"{share:.2f} of the time went to the long requests"


def test_new_cookies_gain_nothing(queues, origin):
    """A client that sends another user agent with each request shares one flow with itself; its neighbour stays quick."""
    origin.on("/mint", Answer(delay=0.05))
    running = queues()
    with Load(running.address) as load:
        load.add("neighbour", "/light", source="127.8.1.200", think=0.1, headers=[("User-Agent", "steady")])
        time.sleep(1.0)
        begun = time.monotonic()
        for number in range(60):
            load.add("mint", "/mint", source="127.8.1.1", headers=[("User-Agent", f"agent-{number}-{begun}")])
        time.sleep(scaled(4))
    took = load.took("neighbour", since=begun + 0.5)
    assert set(load.statuses("neighbour")) == {200} and len(took) > 5
    assert percentile(took, 0.9) < 60 * 0.05 / 8 + scaled(0.3)
