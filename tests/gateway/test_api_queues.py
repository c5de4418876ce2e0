"""The API's fair queues: what they show, and numbers changed while requests wait."""

import threading
import time

import pytest

from harness.http1 import request
from harness.limits import wait_until
from harness.nginx import ReloadRefused
from harness.operator import CONSOLE, Operator
from harness.origin import Answer
from harness.queued import Pending

QUEUE = """
    set_real_ip_from 127.0.0.1; real_ip_header X-Client;
    fair_queue app { concurrency 1; @SETTINGS@ }
    server { listen @LISTEN@; location / { fair_queue app; proxy_pass http://@ORIGIN@; add_header X-Turn $fair_queue_status always; } }
""" + CONSOLE
SETTINGS = {"concurrency": 1, "light_lane": "off", "order": "fair", "size": 256, "timeout": "10s", "burst": "20ms", "max_debt": "5s", "debt_ttl": "30s",
            "outer_prefix": "24 56", "inner_address": "on", "probation": "on", "cost_header": "Fairway-Cost", "cpu_header": "Fairway-Cpu"}
FIXED = {"outer_flows": 4096, "inner_flows": 16384, "inner_cookies": ["sessionid", "session"],
         "inner_headers": ["user-agent", "accept-language", "sec-ch-ua", "sec-ch-ua-platform", "sec-ch-ua-mobile", "authorization"],
         "most_concurrency": 1024, "most_size": 4096}


@pytest.fixture
def queue(gateway, origin):
    def make(settings="", **options):
        origin.on("/slow", Answer(delay=2.0)).on("/held", Answer(hold=True))
        running = gateway(QUEUE.replace("@SETTINGS@", settings), origin=origin, **options)
        return running, Operator(running)

    return make


def pending(running, count, target="/held", client="203.0.113.7"):
    return [Pending(running.address, target, headers=[("X-Client", client), ("User-Agent", f"u{number}")]) for number in range(count)]


def test_a_queue_at_rest(queue):
    _, operator = queue()
    shown = operator.get("queues/app")
    assert shown == {
        "name": "app", "concurrency": 1, "running": 0, "waiting": 0, "waits": {"p50": 0.0, "p90": 0.0, "p99": 0.0}, "bad_costs": 0,
        "totals": {"direct": 0, "queued": 0, "full": 0, "evicted": 0, "timeout": 0, "cancelled": 0, "bypassed": 0},
        "settings": SETTINGS, "file": {}, "saved": True, "fixed": FIXED,
    }
    assert operator.get("queues") == {"queues": [shown]}


def test_concurrency_raised_lets_waiting_requests_start_at_once(queue, origin):
    running, operator = queue(workers=2)
    requests = pending(running, 4)
    wait_until(lambda: (operator.get("queues/app")["running"], operator.get("queues/app")["waiting"]) == (1, 3))
    shown = operator.put("queues/app", {"concurrency": 4})
    assert (shown["concurrency"], shown["settings"]["light_lane"], shown["file"]) == (4, "1", {"concurrency": 1})
    operator.put("queues/app", {"light_lane": "off"})
    wait_until(lambda: operator.get("queues/app")["running"] == 4, message="the change did not reach the queue")  # while none ends
    origin.release()
    assert [one.response().status for one in requests] == [200] * 4
    assert operator.put("queues/app", {"concurrency": None, "light_lane": None})["settings"] == SETTINGS


def test_size_and_timeout_count_at_once(queue, origin):
    running, operator = queue(workers=2)
    operator.put("queues/app", {"size": 1, "timeout": "3s"})
    first, = pending(running, 1)
    wait_until(lambda: operator.get("queues/app")["running"] == 1)
    second, = pending(running, 1)
    wait_until(lambda: operator.get("queues/app")["waiting"] == 1)
    full = request(running.address, "GET", "/", [("X-Client", "203.0.113.7"), ("User-Agent", "u0")])
    assert (full.status, full.headers.get("X-Turn")) == (503, "full")
    timed_out = second.response()
    origin.release()
    assert (timed_out.status, timed_out.headers.get("X-Turn")) == (503, "timeout") and first.response().status == 200
    totals = operator.get("queues/app")["totals"]
    assert (totals["direct"], totals["full"], totals["timeout"]) == (1, 1, 1)


def test_the_key_of_flows_can_change(queue):
    running, operator = queue(workers=2)
    operator.put("queues/app", {"outer_prefix": "16 32"})
    for _ in range(4):
        request(running.address, "GET", "/", [("X-Client", "203.0.113.7")])
    flows = operator.get("queues/app/flows")
    assert [flow["network"] for flow in flows["outer"]["by_cost"]] == ["203.0.0.0/16"]


def test_flows(queue):
    running, operator = queue(workers=2)
    for client, count in [("203.0.113.7", 3), ("198.51.100.9", 1), ("2001:db8:1::5", 1)]:
        for number in range(count):
            request(running.address, "GET", "/", [("X-Client", client), ("User-Agent", f"u{number}")])
    flows = operator.get("queues/app/flows?top=20")
    assert {flow["network"] for flow in flows["outer"]["by_cost"]} == {"203.0.113.0/24", "198.51.100.0/24", "2001:db8:1::/56"}
    assert len(flows["inner"]["by_cost"]) == 5 and len({flow["session"] for flow in flows["inner"]["by_cost"]}) == 5
    costs = [flow["cost"] for flow in flows["outer"]["by_cost"]]
    assert costs == sorted(costs, reverse=True)
    assert len(operator.get("queues/app/flows?top=1")["inner"]["by_debt"]) == 1
    assert "203.0.113.7" not in operator.call("GET", "queues/app/flows").text


@pytest.mark.parametrize("top", ["0", "101", "x", "-1", "", "1.5", "99999999999999999999"])
def test_a_wrong_number_of_flows(queue, top):
    _, operator = queue()
    problem = operator.refused(422, "GET", f"queues/app/flows?top={top}")
    assert problem["field"] == "top" and "from 1 to 100" in problem["detail"]


WRITTEN = {"concurrency": 9, "light_lane": "3", "order": "fifo", "size": 0, "timeout": "1500ms", "burst": "0", "max_debt": "1m", "debt_ttl": "90s",
           "outer_prefix": "20 48", "inner_address": "off", "probation": "off", "cost_header": "X-Cost", "cpu_header": "off"}


def test_what_was_written_is_read_again_and_survives(queue):
    running, operator = queue(workers=2)
    assert operator.put("queues/app", WRITTEN)["settings"] == WRITTEN
    for how in ("reload", "restart", "kill_worker"):
        getattr(running, how)()
        shown = operator.get("queues/app")
        assert shown["settings"] == WRITTEN and shown["concurrency"] == 9
    request(running.address, "GET", "/")  # in the order of these limits
    assert operator.put("queues/app", {name: None for name in WRITTEN})["settings"] == SETTINGS


@pytest.mark.parametrize("body, field, allowed", [
    ({"concurrency": 0}, "concurrency", "a whole number from 1 to 65536"), ({"concurrency": 1025}, "concurrency", "at most 1024 while nginx runs"),
    ({"concurrency": "2"}, "concurrency", "a JSON number"), ({"size": 4097}, "size", "at most 4096 while nginx runs"),
    ({"size": 70000}, "size", "a whole number from 0 to 65536"), ({"timeout": "0"}, "timeout", "a time above 0"), ({"timeout": 5}, "timeout", "a JSON string"),
    ({"light_lane": "1"}, "light_lane", "below concurrency (1)"), ({"concurrency": 4, "light_lane": "4"}, "light_lane", "below concurrency (4)"),
    ({"order": "lifo"}, "order", "fair or fifo"), ({"burst": "-1"}, "burst", "a time of at most 365d"), ({"outer_prefix": "24"}, "outer_prefix", "two lengths"),
    ({"inner_address": True}, "inner_address", "on or off"), ({"cost_header": "a b"}, "cost_header", "the name of a response header"),
    ({"inner_flows": 5}, "inner_flows", "in nginx.conf only"), ({"inner_cookies": ["x"]}, "inner_cookies", "in nginx.conf only"),
    ({"bypass": "$x"}, "bypass", "in nginx.conf only"), ({"speed": 5}, "speed", "no setting of that name"),
])
def test_a_wrong_value_is_named_and_changes_nothing(queue, body, field, allowed):
    _, operator = queue()
    problem = operator.refused(422, "PUT", "queues/app", {"max_debt": "9s", **body})
    assert problem["field"] == field and allowed in problem["detail"]
    assert operator.get("queues/app")["settings"] == SETTINGS


def test_tags(queue):
    _, operator = queue()
    tag = operator.call("GET", "queues/app").headers.one("ETag")
    operator.put("queues/app", {"concurrency": 2}, headers=[("If-Match", tag)])
    assert operator.refused(412, "PUT", "queues/app", {"concurrency": 3}, headers=[("If-Match", tag)])


def test_the_file_wins_when_its_value_changes(queue):
    running, operator = queue("timeout 9s;")
    operator.put("queues/app", {"timeout": "5s", "concurrency": 7})
    running.reload(QUEUE.replace("@SETTINGS@", "timeout 8s;"))
    shown = operator.get("queues/app")
    assert (shown["settings"]["timeout"], shown["concurrency"]) == ("8s", 7) and 'queue app: "timeout" was changed in nginx.conf' in running.log
    with pytest.raises(ReloadRefused):
        running.reload(QUEUE.replace("@SETTINGS@", "outer_flows 5;"))
    assert operator.get("queues/app")["concurrency"] == 7
    running.reload("server { listen @LISTEN@; }" + CONSOLE)
    assert operator.get("queues") == {"queues": []} and "queue app is not in nginx.conf any more" in running.log


def test_a_reload_while_requests_run_keeps_the_changed_limit(queue, origin):
    running, operator = queue(workers=2)
    shown = operator.put("queues/app", {"concurrency": 3, "light_lane": "off"})
    assert shown["settings"]["light_lane"] == "off"  # and not what follows from concurrency
    requests = pending(running, 6)
    wait_until(lambda: (operator.get("queues/app")["running"], operator.get("queues/app")["waiting"]) == (3, 3))
    running.process.send_signal(1)
    most, until = 0, time.monotonic() + 1.5
    while time.monotonic() < until:
        most = max(most, operator.get("queues/app")["running"])
    assert most == 3
    origin.release()
    assert [one.response().status for one in requests] == [200] * 6


def test_the_history_of_a_busy_queue(queue):
    running, operator = queue(workers=2)
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            request(running.address, "GET", "/slow", [("X-Client", "203.0.113.7")])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: [value for value in operator.get("queues/app/history")["waiting"] if value == 2], 15, message="no second with two waiting")
        wait_until(lambda: [value for value in operator.get("queues/app/history")["p50"] if value and value > 1], 15, message="no waits told")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    told = operator.get("queues/app/history")
    assert set(told) == {"from", "to", "step", "running", "waiting", "p50", "p90", "p99"} and told["step"] == 1
    assert len(told["running"]) == told["to"] - told["from"] + 1 == 900 and max(value for value in told["running"] if value is not None) == 1
    later = operator.get(f"queues/app/history?since={told['to'] - 2}")
    assert later["from"] == told["to"] - 1 and len(later["waiting"]) == later["to"] - later["from"] + 1
