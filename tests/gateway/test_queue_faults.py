"""Killed workers, reloads, storms: slots are right again within a second, nobody is forgotten, the sums add up."""

import os
import random
import signal
import time

import pytest

from harness.http1 import Broken, Connection, request
from harness.limits import scaled, wait_until
from harness.nginx import FRAME
from harness.origin import Answer
from harness.queued import Load, Pending, patient

QUEUE = """
    fair_queue app { concurrency @CONCURRENCY@; light_lane off; @SETTINGS@ }
    server { listen @LISTEN@; location / { fair_queue app; proxy_pass http://@ORIGIN@; } }
"""


def queue(gateway, origin, concurrency=4, settings="", **options):
    origin.on("/held", Answer(hold=True)).on("/work", Answer(delay=0.05))
    return gateway(QUEUE, origin=origin, concurrency=concurrency, settings=patient(settings), **options)


def gauge(running, name):
    return running.metrics().get(f"fairway_queue_{name}", queue="app")


def totals(running):
    metrics = running.metrics()
    return {state: metrics.get("fairway_queue_requests_total", queue="app", status=state)
            for state in ("direct", "queued", "full", "evicted", "timeout", "cancelled", "bypassed")}


def crowd(running, count, target="/held"):
    """Requests from as many networks, spread over the workers by the kernel."""
    return [Pending(running.address, target, source=f"127.3.{number}.1") for number in range(count)]


def test_a_killed_worker_gives_its_slots_back(gateway, origin):
    running = queue(gateway, origin, workers=3)
    pending = crowd(running, 40)
    wait_until(lambda: gauge(running, "waiting") == 36)
    running.kill_worker()

    def alive():
        return [one for one in pending if not one.lost()]

    wait_until(lambda: (gauge(running, "running"), gauge(running, "waiting")) == (min(4, len(alive())), max(0, len(alive()) - 4)))
    left = alive()
    origin.release()
    assert [one.response().status for one in left] == [200] * len(left)
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))


def test_all_workers_killed(gateway, origin):
    running = queue(gateway, origin, workers=2)
    pending = crowd(running, 20)
    wait_until(lambda: gauge(running, "waiting") == 16)
    for pid in running.workers():
        running.kill_worker(pid)
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))
    assert all(one.lost() for one in pending)
    assert [one.response().status for one in crowd(running, 4, "/work")] == [200] * 4


def test_workers_killed_under_load(gateway, origin):
    running = queue(gateway, origin, concurrency=3, workers=3)
    with Load(running.address) as load:
        load.add("hog", "/work", clients=20, source="127.4.1.1")
        load.add("light", "/work", clients=5, source=lambda number: f"127.4.2.{number + 1}", think=0.05)
        for _ in range(8):
            time.sleep(0.3)
            running.kill_worker(random.choice(running.workers()))
        before = len(load.took("light"))
        wait_until(lambda: len(load.took("light")) > before + 20, 20)
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))
    assert set(load.statuses("light")) <= {200, 0}


@pytest.mark.parametrize("workers", [1, 3])
def test_reloads_with_changed_concurrency_lose_nobody(gateway, origin, workers):
    running = queue(gateway, origin, concurrency=4, workers=workers)
    with Load(running.address) as load:
        load.add("hog", "/work", clients=20, source="127.4.1.1")
        load.add("light", "/work", clients=5, source=lambda number: f"127.4.{number + 2}.1", think=0.05)
        for concurrency in (2, 4, 1, 4, 3, 4):
            time.sleep(0.5)
            running.values["concurrency"] = concurrency
            running.reload(QUEUE)
        wait_until(lambda: len(load.statuses("hog")) > 50, 30)
    answers = load.statuses("hog") + load.statuses("light")
    assert set(answers) <= {200, 0} and answers.count(0) <= 6 * 25  # 0: an idle connection that the old worker closed
    assert origin.peak <= 4
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))


def test_a_lowered_concurrency_counts_what_old_workers_run(gateway, origin):
    running = queue(gateway, origin, concurrency=4, workers=2)
    first = crowd(running, 4)
    wait_until(lambda: origin.running == 4)
    running.values["concurrency"] = 2
    old = running.workers()
    running.write(QUEUE)
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: set(running.workers()) - set(old))
    late = [Pending(running.address, "/late", source=f"127.5.{number}.1") for number in range(3)]
    assert not late[0].answered(0.5) and origin.seen("/late") == [] and origin.peak == 4
    origin.release()
    assert [one.response().status for one in [*first, *late]] == [200] * 7


def test_waiters_of_an_old_worker_are_served_after_a_reload(gateway, origin):
    running = queue(gateway, origin, concurrency=1, workers=2)
    pending = crowd(running, 12)
    wait_until(lambda: gauge(running, "waiting") == 11)
    old = running.workers()
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(set(running.workers()) - set(old)) == 2)
    fresh = crowd(running, 3)
    origin.release()
    assert [one.response().status for one in [*pending, *fresh]] == [200] * 15 and origin.peak == 1


def test_an_old_worker_that_dies_gives_back_what_it_held(gateway, origin):
    """After a reload the old worker finishes its requests; killed meanwhile, its slots and places are the new one's."""
    running = queue(gateway, origin, concurrency=2)
    origin.on("/later", Answer())
    old = running.workers()
    lost = crowd(running, 6)
    wait_until(lambda: (gauge(running, "running"), gauge(running, "waiting")) == (2, 4))
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: running.workers() and not set(running.workers()) & set(old))
    waiting = [Pending(running.address, "/later", source=f"127.5.{number}.1") for number in range(3)]
    wait_until(lambda: gauge(running, "waiting") == 7)
    running.allow(rf"worker process {old[0]} exited on signal 9")
    os.kill(old[0], signal.SIGKILL)
    assert [one.response().status for one in waiting] == [200] * 3 and all(one.lost() for one in lost)
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))


def test_without_free_connections_slots_still_go_round(gateway, origin):
    """Every connection of the worker is taken: those who wait get their turn all the same, and later ones when there is room again."""
    events = "events { worker_connections 40; }"
    running = gateway(FRAME.replace("events { worker_connections 4096; }", events).replace("@HTTP@", QUEUE), origin=origin, whole=True,
                      concurrency=2, settings="timeout 5m;", log_level="info", state_line="fairway_state @STATE@;")
    running.allow("worker_connections are not enough")
    origin.on("/held", Answer(hold=True)).on("/work", Answer())
    pending = crowd(running, 2)
    wait_until(lambda: origin.running == 2)
    pending += crowd(running, 8)
    wait_until(lambda: gauge(running, "waiting") == 8)
    idlers = [Connection(running.address) for _ in range(60)]
    wait_until(lambda: "worker_connections are not enough" in running.log)
    origin.release()
    answers = [one.response().status for one in pending]
    assert answers[:2] == [200, 200] and set(answers) <= {200, 500, 502}, answers  # a slot is no connection to the application
    for idler in idlers:
        idler.close()
    wait_until(lambda: served(running))
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))


def served(running):
    try:
        return request(running.address, "GET", "/work").status == 200
    except (Broken, OSError):
        return False


def test_quit_with_a_hundred_waiters(gateway, origin):
    running = queue(gateway, origin, concurrency=4, workers=2)
    pending = crowd(running, 100)
    wait_until(lambda: gauge(running, "waiting") == 96)
    process, session = running.process, running.process.pid
    process.send_signal(signal.SIGQUIT)
    time.sleep(0.3)
    origin.release()
    assert [one.response().status for one in pending] == [200] * 100
    assert process.wait(scaled(20)) == 0
    running.process = None
    assert "open socket" not in running.log and session


def test_an_idle_worker_quits_at_once(gateway, origin):
    running = queue(gateway, origin, workers=2)
    begun = time.monotonic()
    assert running.quit() == 0
    assert time.monotonic() - begun < scaled(5)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_sums_add_up_after_a_storm(gateway, origin, workers):
    running = queue(gateway, origin, concurrency=3, settings="size 10; timeout 400ms;", workers=workers)
    chance = random.Random(workers)
    sent = 0
    levels = []
    for _ in range(15):
        batch = [Pending(running.address, "/work", source=f"127.6.{chance.randrange(6)}.{chance.randrange(1, 4)}") for _ in range(20)]
        sent += len(batch)
        # all have come: each waits or is counted; who vanishes before it was read is nobody to the gateway
        wait_until(lambda: sum(totals(running).values()) + gauge(running, "waiting") >= sent)
        time.sleep(chance.random() * 0.1)
        metrics = running.metrics()
        levels.append([metrics.get(f"fairway_queue_{name}", queue="app") for name in ("running", "waiting")])
        for one in batch:
            if chance.random() < 0.3:
                one.vanish(chance.choice(["fin", "rst"]))
            else:
                assert one.response().status in (200, 503)
    wait_until(lambda: gauge(running, "running") == 0 == gauge(running, "waiting"))
    wait_until(lambda: sum(totals(running).values()) == sent)
    assert all(now == 3 or waiting == 0 for now, waiting in levels), levels  # nobody waits beside a free slot
    counts = totals(running)
    assert min(counts.values()) >= 0 and counts["direct"] > 0 and counts["queued"] > 0 and counts["evicted"] + counts["full"] > 0
    assert origin.peak <= 3 and request(running.address, "GET", "/work").status == 200


def test_debts_survive_a_reload(gateway, origin):
    """After a reload the hog of before still waits behind somebody who owes nothing."""
    running = queue(gateway, origin, concurrency=2, settings="probation off; debt_ttl 60s;")
    origin.on("/work", Answer(headers=(("Fairway-Cost", "5s"),)))
    held = [Pending(running.address, "/held", source="127.7.9.1")]
    wait_until(lambda: origin.running == 1)
    assert request(running.address, "GET", "/work", source="127.7.1.1").status == 200  # beside another: a flow alone owes nobody
    held.append(Pending(running.address, "/held", source="127.7.9.1"))
    wait_until(lambda: origin.running == 2)
    old = running.workers()
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: running.workers() and not set(running.workers()) & set(old))
    waiting = []
    for source in ("127.7.2.1", "127.7.1.1", "127.7.2.1", "127.7.2.1"):  # the one who owes comes second
        waiting.append(Pending(running.address, "/hog" if source == "127.7.1.1" else "/other", source=source))
        wait_until(lambda: gauge(running, "waiting") == len(waiting))
    origin.release()
    assert [one.response().status for one in (*held, *waiting)] == [200] * 6
    assert [seen.path for seen in origin.requests][-4:] == ["/other", "/other", "/other", "/hog"]
