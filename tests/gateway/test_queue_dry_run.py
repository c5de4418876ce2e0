"""fairway_dry_run with a fair queue: every request runs at once, and the queue counts and logs what it would have done."""

import time

import pytest

from harness.http1 import Connection, request
from harness.limits import scaled, wait_until
from harness.origin import Answer
from harness.queued import LOG, Load, Pending, lines

QUEUE = LOG + """
    fair_queue app { light_lane off; @SETTINGS@ }
    server {
        listen @LISTEN@; fair_queue app; fairway_dry_run on; access_log @PREFIX@/turns.log turn; client_max_body_size 0;
        location / { proxy_pass http://@ORIGIN@; }
        location /wet { fairway_dry_run off; proxy_pass http://@ORIGIN@; }
        location /away { fair_queue other; proxy_pass http://@ORIGIN@; }
    }
    fair_queue other { concurrency 1; }
"""


@pytest.fixture
def dry(gateway, origin):
    origin.on("/held", Answer(hold=True))
    return lambda settings="concurrency 2;", **options: gateway(QUEUE, origin=origin, settings=settings, **options)


def hold(gateway, origin, count, **options):
    """`count` further requests that run until origin.release(), all at once although the queue would have held most of them."""
    before = origin.running
    pending = [Pending(gateway.address, "/held", **options) for _ in range(count)]
    wait_until(lambda: origin.running == before + count)
    return pending


def level(gateway, queue="app"):
    samples = gateway.metrics()
    return samples.get("fairway_queue_running", queue=queue), samples.get("fairway_queue_waiting", queue=queue)


def counted(gateway):
    """How many turns ended in each way so far; only those that there were."""
    samples = gateway.metrics()
    all_of_them = {status: int(samples.get("fairway_queue_requests_total", queue="app", status=status))
                   for status in ("direct", "queued", "full", "evicted", "timeout", "cancelled", "bypassed")}
    return {status: number for status, number in all_of_them.items() if number}


def logged(gateway, count):
    wait_until(lambda: len(lines(gateway)) >= count)
    return lines(gateway)


def finish(origin, pending):
    origin.release()
    answers = [one.response() for one in pending]
    assert [answer.status for answer in answers] == [200] * len(pending)
    assert not any("Retry-After" in answer.headers for answer in answers)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_burst_runs_at_once_and_is_counted_as_if_two_ran(dry, origin, workers):
    running = dry("concurrency 2; timeout 10m;", workers=workers)
    burst = hold(running, origin, 20)
    assert level(running) == (2, 18) and origin.peak == 20
    finish(origin, burst)
    states = [(line.state, line.wait > 0) for line in logged(running, 20)]
    assert sorted(states) == [("direct", False)] * 2 + [("queued", True)] * 18
    deadline = time.monotonic() + scaled(60)
    while (now := level(running)) != (0, 0):
        assert now[0] <= 2 and time.monotonic() < deadline, now
        time.sleep(0.01)
    assert counted(running) == {"direct": 2, "queued": 18}


def test_a_virtual_turn_holds_its_slot_as_long_as_its_request_ran(dry, origin):
    """One after the other would have taken the sum of all: the waits of the queue add up to 1 + 2 + 3 times one request's time."""
    running = dry("concurrency 1; order fifo; timeout 10m;")
    burst = hold(running, origin, 4)
    time.sleep(0.3)
    finish(origin, burst)
    wait_until(lambda: counted(running) == {"direct": 1, "queued": 3} and level(running) == (0, 0), 60)
    samples = running.metrics()
    assert samples.get("fairway_queue_wait_seconds_sum", queue="app") >= (1 + 2 + 3) * 0.3
    assert samples.get("fairway_queue_cost_seconds_count", queue="app") == 4


def test_full_is_counted_and_not_given(dry, origin):
    running = dry("concurrency 2; size 1; order fifo; timeout 10m;")
    held = hold(running, origin, 3)
    answer = request(running.address, "GET", "/more")
    assert answer.status == 200 and "Retry-After" not in answer.headers and len(origin.seen("/more")) == 1
    [line] = logged(running, 1)
    assert (line.state, line.wait, line.status) == ("full", 0, 200) and line.outer == "127.0.0.0/24"
    assert counted(running) == {"direct": 2, "full": 1} and level(running) == (2, 1)
    finish(origin, held)
    wait_until(lambda: level(running) == (0, 0), 60)
    assert counted(running) == {"direct": 2, "queued": 1, "full": 1}


def test_eviction_is_counted_and_not_given(dry, origin):
    running = dry("concurrency 2; size 3; timeout 10m;")
    held = hold(running, origin, 5, source="127.1.1.1")
    neighbour = hold(running, origin, 1, source="127.1.2.1")
    wait_until(lambda: counted(running) == {"direct": 2, "evicted": 1})
    assert level(running) == (2, 3) and origin.running == 6
    finish(origin, held + neighbour)
    assert sorted(line.state for line in logged(running, 6)) == ["direct"] * 2 + ["evicted"] + ["queued"] * 3
    wait_until(lambda: level(running) == (0, 0), 60)
    assert counted(running) == {"direct": 2, "queued": 3, "evicted": 1}


def test_timeout_is_counted_and_not_given(dry, origin):
    running = dry("concurrency 2; timeout 300ms;")
    held = hold(running, origin, 3)
    wait_until(lambda: counted(running) == {"direct": 2, "timeout": 1})
    assert level(running) == (2, 0) and origin.running == 3
    finish(origin, held)
    states = {line.state: line.wait for line in logged(running, 3)}
    assert set(states) == {"direct", "timeout"} and states["timeout"] >= 0.29
    wait_until(lambda: level(running) == (0, 0))
    assert counted(running) == {"direct": 2, "timeout": 1}


def test_the_queue_is_one_for_dry_and_real_requests(dry, origin):
    running = dry("concurrency 2; timeout 10m;")
    held = hold(running, origin, 2)
    real = Pending(running.address, "/wet")
    assert not real.answered() and origin.seen("/wet") == []
    finish(origin, held + [real])
    wait_until(lambda: level(running) == (0, 0))


def test_each_upstream_part_has_a_turn_of_its_own(dry, origin):
    running = dry()
    for target in ("/away/2", "/wet"):
        origin.on("/first", Answer(headers=(("X-Accel-Redirect", target),)))
        assert request(running.address, "GET", "/first").status == 200
        wait_until(lambda: level(running) == (0, 0) == level(running, "other"))
    assert counted(running) == {"direct": 3}
    assert running.metrics().get("fairway_queue_requests_total", queue="other", status="direct") == 1


def test_bodies_and_reported_costs(dry, origin):
    running = dry()
    origin.on("/post", Answer(headers=(("Fairway-Cost", "2s"), ("Fairway-Cpu", "1s"))))
    slow = Connection(running.address)
    slow.send(b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
    answer = request(running.address, "POST", "/post", body=b"x" * 300_000)
    assert answer.status == 200 and "Fairway-Cost" not in answer.headers
    assert [len(seen.body) for seen in origin.seen("/post")] == [300_000]
    [line] = logged(running, 1)
    assert (line.state, line.cost, line.cpu) == ("direct", 2, 1)
    wait_until(lambda: level(running) == (0, 0))  # an upload under way holds no slot
    slow.send(b"d" * 7)
    assert slow.read_response().status == 200
    slow.close()
    assert counted(running) == {"direct": 2}


def test_bypass_is_counted(dry):
    running = dry("concurrency 2; bypass $arg_staff;")
    assert request(running.address, "GET", "/?staff=1").status == 200
    assert logged(running, 1)[0].state == "bypassed" and counted(running) == {"bypassed": 1}


def test_clients_that_leave_and_upstreams_that_fail(dry, origin):
    running = dry("concurrency 2; timeout 10m;")
    for pending in hold(running, origin, 4):
        pending.vanish("rst")
    origin.on("/close", Answer(kind="close"))
    assert request(running.address, "GET", "/close").status == 502
    origin.release()
    wait_until(lambda: level(running) == (0, 0) and len(lines(running)) == 5, 60)
    assert counted(running) == {"direct": 2, "queued": 3}


def test_the_sums_add_up_after_a_storm(dry, origin):
    running = dry("concurrency 2; size 5; timeout 100ms;", workers=2)
    origin.on("/work", Answer(delay=0.05))
    with Load(running.address).add("client", "/work", clients=12, source=lambda number: f"127.4.{number}.1") as load:
        time.sleep(2)
        wait_until(lambda: origin.peak > 7 and {"direct", "queued", "full"} <= set(counted(running)))
    assert set(load.statuses("client")) == {200}
    wait_until(lambda: level(running) == (0, 0))
    assert sum(counted(running).values()) == len(load.statuses("client"))


def test_a_worker_that_dies_leaves_no_virtual_turns(dry, origin):
    running = dry("concurrency 2; timeout 10m;")
    for pending in hold(running, origin, 4):
        pending.connection.close()
    assert level(running) == (2, 2)
    running.kill_worker()
    wait_until(lambda: level(running) == (0, 0))
    origin.release()


def test_virtual_turns_keep_no_worker(dry, origin):
    """Forty requests of a second or more each, one by one, would keep the queue busy for longer than quit() waits."""
    running = dry("concurrency 1; timeout 10m;")
    burst = hold(running, origin, 40)
    time.sleep(1)
    finish(origin, burst)
    assert level(running)[0] == 1
    running.reload()
    wait_until(lambda: level(running) == (0, 0))
    assert running.quit() == 0
