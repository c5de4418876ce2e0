"""Health with what the gateway finds wrong by itself, the list of changes, and the counts for the charts of rooms."""

import re
import time

import pytest

from harness.http1 import Connection, format_request, request
from harness.limits import wait_until
from harness.operator import CONSOLE, ROOM, Operator
from harness.visitor import PAGE, Visitor


def warnings(operator):
    return {warning["code"]: warning["detail"] for warning in operator.get("health")["warnings"]}


def test_a_healthy_gateway(operated):
    running, operator = operated()
    told = operator.get("health")
    key = running.keys.split(":")[0]
    assert (told["status"], told["warnings"], told["client_address"], told["host"]) == ("ok", [], "127.0.0.1", "localhost")
    assert told["keys"] == {"signing": key, "all": [key]} and re.fullmatch(r"\d+\.\d+\.\d+", told["version"]) and told["nginx"] == "1.22.1"
    assert told["store"]["kind"] == "memory" and told["store"]["reachable"] and 0 < told["store"]["free_bytes"] < told["store"]["bytes"] == 32 << 20
    assert told["settings"] == {"version": 0, "saved": True} and abs(told["time"] - time.time()) < 5
    secret = running.keys.split(":")[1].strip()
    assert secret not in operator.call("GET", "health").text


def test_the_address_is_the_one_that_counts(operated):
    text = "set_real_ip_from 127.0.0.1; real_ip_header X-Client;" + ROOM
    _, operator = operated(text=text)
    assert operator.get("health", headers=[("X-Client", "203.0.113.9")])["client_address"] == "203.0.113.9"
    operator.put("rooms/sale", {"capacity": 3}, headers=[("X-Client", "203.0.113.9")])
    operator.put("rooms/sale", {"capacity": 4}, headers=[("X-Client", "2001:db8:7:8::9")])
    events = operator.get("events")["events"]
    assert [event["from"] for event in events] == ["2001:db8:7::/48", "203.0.113.0/24"]
    assert "203.0.113.9" not in operator.call("GET", "events").text  # no full address


def test_events_tell_what_changed(operated):
    _, operator = operated(workers=2)
    operator.put("rooms/sale", {"capacity": 3, "rate": "5/s"})
    operator.put("rooms/sale", {"capacity": 3})  # the same again is no change
    operator.put("rooms/sale", {"message": "Hi"})
    operator.post("rooms/sale/mode", {"mode": "hold"})
    operator.post("rooms/sale/mode", {"mode": "hold"})
    operator.put("rooms/b", {"capacity": 1, "attach": [{"host": "b.example"}]}, status=201)
    operator.delete("rooms/b")
    operator.refused(422, "PUT", "rooms/sale", {"capacity": -1})
    events = operator.get("events")["events"]
    assert [event["what"] for event in events] == [
        "room b deleted", "room b made: capacity 0 → 1, attached to 1 place", "room sale: mode normal → hold", "room sale: message none → Hi",
        "room sale: capacity 1 → 3, rate off → 5/s"]
    assert {event["from"] for event in events} == {"127.0.0.0/24"}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["time"]) for event in events)


def test_the_last_thousand_events(operated):
    _, operator = operated()
    for number in range(1005):
        operator.put("rooms/sale", {"max_waiting": number + 1})
    events = operator.get("events")["events"]
    assert len(events) == 1000 and events[0]["what"] == "room sale: max_waiting 1004 → 1005" and events[-1]["what"] == "room sale: max_waiting 5 → 6"


def test_a_long_event_is_cut_at_a_character(operated):
    _, operator = operated()
    operator.put("rooms/sale", {"message": "東" * 333})
    assert re.fullmatch("room sale: message none → 東{40,80}", operator.get("events")["events"][0]["what"])


# Warnings


def test_a_room_attached_to_nothing(gateway, origin):
    running = gateway("waiting_room sale { capacity 1; } server { listen @LISTEN@; }" + CONSOLE, origin=origin)
    operator = Operator(running)
    assert "Room sale is attached to nothing" in warnings(operator)["room_unattached"] and operator.get("health")["status"] == "warning"
    operator.put("rooms/sale", {"attach": [{"host": "a.example"}]})
    assert 'no location of nginx.conf has "waiting_room auto"' in warnings(operator)["room_unattached"]
    running.reload("waiting_room sale { capacity 1; } server { listen @LISTEN@; location / { waiting_room auto; proxy_pass http://@ORIGIN@; } }" + CONSOLE)
    assert "room_unattached" not in warnings(operator)


def test_an_open_keys_file(operated):
    running, operator = operated()
    assert "keys_exposed" not in warnings(operator)
    (running.state / "keys").chmod(0o644)
    running.reload()
    assert "0600" in warnings(operator)["keys_exposed"]


def test_a_queue_without_upstream(gateway):
    running = gateway("fair_queue a { concurrency 1; } fair_queue b { concurrency 1; } server { listen @LISTEN@; location / { fair_queue a; root /nowhere; } }" + CONSOLE)
    told = Operator(running).get("health")["warnings"]
    assert {(warning["code"], warning["detail"][:12]) for warning in told} == {("queue_without_upstream", "Fair queue a"), ("queue_unused", "Fair queue b")}


def test_a_post_from_elsewhere_that_was_held(operated):
    running, operator = operated()
    Visitor(running.address).page("/")
    browser = Visitor(running.address)
    browser.page("/", method="POST", headers=[("Origin", "http://localhost"), ("Sec-Fetch-Site", "same-origin")], body=b"a=1")
    assert "post_held" not in warnings(operator)
    request(running.address, "POST", "/paid", [("Content-Type", "application/json")], b"{}")
    assert 'waiting_room off' in warnings(operator)["post_held"]
    assert running.log.count("held a POST from another site") == 1
    request(running.address, "POST", "/paid", [], b"{}")
    assert running.log.count("held a POST from another site") == 1


@pytest.mark.parametrize("headers", [[("Sec-Fetch-Site", "cross-site")], [("Origin", "https://bank.example")]])
def test_a_cross_site_post_that_was_held(operated, headers):
    running, operator = operated()
    request(running.address, "POST", "/return", [*(pair for pair in PAGE if pair[0] != "Sec-Fetch-Site"), *headers], b"a=1")
    assert "post_held" in warnings(operator)


def test_a_session_that_is_seen_in_many_places(operated):
    running, operator = operated("refresh 0; polls_per_session 1000/s;", text="set_real_ip_from 127.0.0.1; real_ip_header X-Client;" + ROOM)
    visitor, honest = Visitor(running.address), Visitor(running.address)
    for place in range(9):
        assert "session_passed_on" not in warnings(operator)
        for _ in range(3):
            visitor.page("/", headers=[("X-Client", f"198.51.{place}.7")])
            honest.page("/", headers=[("X-Client", f"198.51.{place % 8}.7")])
    assert "Room sale" not in warnings(operator) and "more than 8 networks" in warnings(operator)["session_passed_on"]
    assert running.log.count("more than 8 networks") == 1  # and not once more for the honest one


def test_a_flood_of_polls(operated):
    running, operator = operated()
    Visitor(running.address).page("/")
    waiter = Visitor(running.address)
    waiter.page("/")
    for _ in range(50):
        waiter.status()
    assert "poll_flood" not in warnings(operator)
    poll = format_request("GET", waiter.own("status"), [("Cookie", f"fairway_ticket_sale={waiter.jar['fairway_ticket_sale'].value}")])

    def flood():
        with Connection(running.address) as connection:  # all in one piece: they must come within a second
            connection.send(poll * 300)
            assert [connection.read_response().status for _ in range(300)] == [200] * 300
        return "poll_flood" in warnings(operator)

    wait_until(flood, 30)


def test_nearly_all_from_one_address(operated):
    running, operator = operated("entries_per_ip off;")
    for _ in range(1001):
        request(running.address, "GET", "/api")
    assert "set_real_ip_from" in warnings(operator)["one_address"] and running.log.count("nearly all requests come from one address in 127.0.0.0/24: ") == 1


def test_a_state_folder_that_cannot_be_used(gateway, origin, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    running = gateway(ROOM.replace("@SETTINGS@", "") + f"fairway_state {blocked}/state; fairway_keys @PREFIX@/keys;", origin=origin)
    operator = Operator(running)
    assert "state_not_saved" in warnings(operator) and operator.get("health")["settings"]["saved"] is False
    assert operator.put("rooms/sale", {"capacity": 4})["settings"]["capacity"] == 4


# Charts


def test_the_history_of_a_room(operated):
    running, operator = operated("polls_per_session 1000/s;", workers=2)
    begun = int(time.time())
    visitors = [Visitor(running.address) for _ in range(4)]
    for visitor in visitors:
        visitor.page("/")
    wait_until(lambda: (operator.get("rooms/sale/history")["waiting"][-1], operator.get("rooms/sale/history")["inside"][-1]) == (3, 1), 10)
    operator.put("rooms/sale", {"capacity": 4})
    wait_until(lambda: operator.get("rooms/sale/history")["inside"][-1] == 4, 10)
    told = operator.get("rooms/sale/history")
    assert set(told) == {"from", "to", "step", "waiting", "inside", "admissions"} and told["to"] - told["from"] + 1 == 900
    assert [len(told[name]) for name in ("waiting", "inside", "admissions")] == [900] * 3
    since = operator.get(f"rooms/sale/history?since={begun}")
    assert sum(value or 0 for value in since["admissions"]) in (3, 4)  # the first may fall into the second that the counts begin with
    assert told["waiting"][0] is None and told["admissions"][0] is None
    assert operator.get("rooms/sale/history?since=4294967295")["waiting"] == []
    assert operator.refused(422, "GET", "rooms/sale/history?since=yesterday")["field"] == "since"
    running.reload()
    again = operator.get("rooms/sale/history")
    assert 4 in again["inside"] and 3 in again["waiting"]  # kept by the gateway


def test_the_history_has_no_gaps_while_workers_take_turns(operated):
    running, operator = operated(workers=3)
    Visitor(running.address).page("/")
    wait_until(lambda: operator.get("rooms/sale/history")["inside"][-1] == 1, 10)
    begun = operator.get("rooms/sale/history")["to"]
    time.sleep(4)
    running.kill_worker()
    time.sleep(2)
    inside = operator.get(f"rooms/sale/history?since={begun}")["inside"]
    while inside and inside[-1] is None:  # the seconds since the last look
        inside.pop()
    assert len(inside) >= 4 and inside == [1] * len(inside)
