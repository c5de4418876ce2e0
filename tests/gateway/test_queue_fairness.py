"""Fair order on loopback. Absolute times of a busy machine say little, so light users under `fair` are compared with those under
`order fifo` in the same run; the bounds in ms are held on the virtual clock by the unit tests and measured by the benchmark."""

import itertools
import time

import pytest

from harness.http1 import request
from harness.limits import scaled, wait_until
from harness.origin import Answer
from harness.queued import Load, Pending, percentile

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


def light_and_hog(address, hog_clients, seconds=3.0, hog="/hog", hog_source="127.8.1.1"):
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
    """Whenever it waits, all slots but a twentieth are its own: the lane is open to a client that is alone."""
    running = queues()
    samples = []
    with Load(running.address) as load:
        load.add("hog", "/hog", clients=40, source="127.8.1.1")
        wait_until(lambda: len(load.took("hog")) > 40)
        while len(samples) < 60:
            metrics = running.metrics()
            if metrics.get("fairway_queue_waiting", queue="fair") > 0:
                samples.append(metrics.get("fairway_queue_running", queue="fair"))
            time.sleep(0.03)
    assert max(samples) == 8 == origin.peak and sum(samples) >= 0.95 * 8 * len(samples), samples


def test_a_slot_is_kept_for_those_who_ask_for_little(queues, origin):
    """Requests that never end, of a client known for slow ones, hold all slots but one; in order of arrival they hold all."""
    origin.on("/slow", Answer(delay=0.4)).on("/endless", Answer(hold=True))
    text = QUEUES.replace("order fifo;", "order fifo; timeout 1s;").replace("concurrency 8;", "concurrency 4;")
    running = queues(text=text)
    level = lambda name: [running.metrics().get(f"fairway_queue_{what}", queue=name) for what in ("running", "waiting")]
    ask = lambda at, target, source: request(running.address_of(at), "GET", target, source=source).status
    for _ in range(4):
        assert ask(1, "/light", "127.8.9.1") == ask(1, "/slow", "127.8.1.1") == 200
    pending = [Pending(running.address, "/endless", source="127.8.1.1") for _ in range(9)]
    wait_until(lambda: level("fair") == [3, 6])
    assert [ask(1, "/light", "127.8.9.1") for _ in range(10)] == [200] * 10 and level("fair") == [3, 6]
    pending += [Pending(running.address_of(2), "/endless", source="127.8.1.1") for _ in range(4)]
    wait_until(lambda: level("fifo") == [4, 0])
    assert ask(2, "/light", "127.8.9.1") == 503
    origin.release()
    assert [one.response().status for one in pending] == [200] * 13


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


PROBATION = """
    fair_queue proving { concurrency 4; light_lane off; }
    fair_queue trusting { concurrency 4; light_lane off; probation off; }
    server { listen @LISTEN@; location / { fair_queue proving; proxy_pass http://@ORIGIN@; } }
    server { listen @LISTEN2@; location / { fair_queue trusting; proxy_pass http://@ORIGIN@; } }
"""
MINTERS = 60


def beside(address, crowd, seconds=1.5, **victim):
    """What a steady visitor's requests took and ended with, beside a crowd added by `crowd(load)` when it was known."""
    with Load(address) as load:
        load.add("steady", "/light", think=0.1, **victim)
        time.sleep(1.0)
        begun = time.monotonic()
        crowd(load)
        time.sleep(scaled(seconds))
    return load.took("steady", since=begun + 0.5), load.statuses("steady"), load


def test_new_cookies_gain_nothing(queues, origin):
    """A client that sends another user agent with each request shares one flow with itself, and its neighbour in the same network stays
    quick; without probation each of its requests is a newcomer and goes first."""
    origin.on("/mint", Answer(delay=0.05))
    running = queues(text=PROBATION)
    numbers = itertools.count()

    def mint(load):
        load.add("mint", "/mint", clients=MINTERS, source="127.8.1.1", headers=lambda: [("User-Agent", f"agent-{next(numbers)}")])

    victim = {"source": "127.8.1.200", "headers": [("User-Agent", "steady")]}
    took, statuses, load = beside(running.address, mint, **victim)
    control, _, _ = beside(running.address_of(2), mint, **victim)
    assert set(statuses) == {200} and len(took) > 5 and load.statuses("mint").count(200) > 50 and origin.peak <= 4
    assert percentile(took, 0.9) < percentile(control, 0.5) / 2, (took[-5:], control[-5:])


def test_new_networks_gain_nothing(queues, origin):
    """A swarm from a new /24 with each request against a client that has been here before."""
    origin.on("/mint", Answer(delay=0.05))
    running = queues(text=PROBATION.replace("{ listen", "{ set_real_ip_from 127.0.0.1; real_ip_header X-Client; listen"))
    numbers = itertools.count()

    def swarm(load):
        load.add("swarm", "/mint", clients=MINTERS, headers=lambda: [("X-Client", "20.{}.{}.1".format(*divmod(next(numbers), 250)))])

    victim = {"headers": [("X-Client", "192.0.2.1")]}
    took, statuses, load = beside(running.address, swarm, **victim)
    control, _, _ = beside(running.address_of(2), swarm, **victim)
    assert set(statuses) == {200} and len(took) > 5 and load.statuses("swarm").count(200) > 50 and origin.peak <= 4
    assert percentile(took, 0.9) < percentile(control, 0.5) / 2, (took[-5:], control[-5:])
