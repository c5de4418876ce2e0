"""Modes and eviction: what visitors see of them, in every worker, at once."""

import time

import pytest

from harness.limits import wait_until
from harness.operator import CONSOLE
from harness.visitor import Visitor

WIDE = """
    set_real_ip_from 127.0.0.1; real_ip_header X-Client;
    waiting_room sale { capacity 100; refresh 5m; entries_per_ip off; @SETTINGS@ }
    server { listen @LISTEN@; location / { waiting_room sale; proxy_pass http://@ORIGIN@; add_header X-Room "$waiting_room_state" always; } }
""" + CONSOLE


def enter(running, count=1, address=None):
    visitors = [Visitor(running.address, headers=[("X-Client", address)] if address else []) for _ in range(count)]
    for visitor in visitors:
        visitor.page("/")
    return visitors


FAST = "polls_per_session 1000/s;"


def states(visitors):
    return [visitor.page("/", follow=False).headers.get("X-Room") for visitor in visitors]


# Modes


def test_hold_lets_nobody_be_called_and_normal_goes_on(operated):
    running, operator = operated(FAST, workers=2)
    inside, first, second = enter(running, 3)
    shown = operator.post("rooms/sale/mode", {"mode": "hold"})
    assert (shown["mode"], shown["inside"], shown["waiting"], shown["eta"]) == ("hold", 1, 2, None)
    inside.leave()
    for _ in range(4):
        answer = first.status().json
        assert (answer["state"], answer["paused"], answer["rank"]) == ("waiting", True, 1)
    assert enter(running)[0].status().json["rank"] == 3  # the line forms, though there is room
    assert operator.post("rooms/sale/mode", {"mode": "normal"})["mode"] == "normal"
    assert first.status().json["state"] == "admitted" and second.status().json["rank"] == 1


def test_hold_keeps_a_grant_that_was_made(operated):
    running, operator = operated(FAST)
    inside, waiter = enter(running, 2)
    inside.leave()  # the waiter is called, and does not know yet
    operator.post("rooms/sale/mode", {"mode": "hold"})
    assert operator.get("rooms/sale")["granted"] == 1
    assert waiter.status().json["state"] == "admitted" and waiter.page("/").status == 200


def test_open_lets_everybody_in_and_counts_them(operated):
    running, operator = operated(FAST, workers=2)
    people = enter(running, 4)
    shown = operator.post("rooms/sale/mode", {"mode": "open"})
    assert shown["eta"] == 0
    assert [visitor.page("/").status for visitor in people] == [200] * 4 and enter(running)[0].last.status == 200
    assert operator.get("rooms/sale")["inside"] == 5
    operator.post("rooms/sale/mode", {"mode": "normal"})
    assert [visitor.page("/").status for visitor in people] == [200] * 4  # inside above capacity stays inside
    assert enter(running)[0].last.status == 429


def test_closed_turns_newcomers_and_waiters_away_but_keeps_places(operated):
    running, operator = operated(FAST, workers=2)
    inside, first, second = enter(running, 3)
    operator.post("rooms/sale/mode", {"mode": "closed"})
    for visitor in (first, second):
        told = visitor.client("/").json
        assert told["state"] == "closed" and visitor.page("/").status == 429
        assert told["retry_after"] <= 4  # as in line: who stops asking loses the turn when the line opens again
    turned_away = enter(running)[0].client("/").json
    assert turned_away["state"] == "closed" and turned_away["retry_after"] >= 54
    assert inside.page("/").status == 200
    operator.post("rooms/sale/mode", {"mode": "normal"})
    assert first.status().json["rank"] == 1 and second.status().json["rank"] == 2


@pytest.mark.parametrize("body", [{"mode": "shut"}, {"mode": None}, {}, {"mode": "hold", "force": True}, {"mode": 1}])
def test_a_wrong_mode(operated, body):
    _, operator = operated()
    problem = operator.refused(422, "POST", "rooms/sale/mode", body)
    assert problem["field"] == "mode" and "normal, hold, open or closed" in problem["detail"]
    assert operator.get("rooms/sale")["mode"] == "normal"


def test_a_mode_survives_reload_and_restart(operated):
    running, operator = operated()
    operator.post("rooms/sale/mode", {"mode": "closed"})
    running.reload()
    assert operator.get("rooms/sale")["mode"] == "closed"
    running.restart()
    assert operator.get("rooms/sale")["mode"] == "closed"
    assert enter(running)[0].client("/").json["state"] == "closed"


# Eviction: refresh is 5 minutes, so a pass would be taken on its word


def test_one_session(operated):
    running, operator = operated(text=WIDE, workers=3)
    one, other = enter(running, 2)
    assert states([one, other] * 3) == ["pass"] * 6
    assert operator.post("rooms/sale/evict", {"sid": one.passed.sid}) == {"ended": 1}
    old = one.passed.sid
    for _ in range(6):
        stale = Visitor(running.address)
        stale.jar = dict(one.jar)
        assert stale.page("/", follow=False).headers.get("X-Room") == "new"
    assert states([other]) == ["pass"] and operator.get("rooms/sale")["inside"] == 1
    assert one.page("/").status == 200 and one.passed.sid != old  # starts anew
    assert operator.post("rooms/sale/evict", {"sid": old}) == {"ended": 0}


def test_everybody_and_whoever_comes_in_the_same_second_stays(operated):
    running, operator = operated(text=WIDE, workers=3)
    people = enter(running, 10)
    assert operator.post("rooms/sale/evict", {"all": True}) == {"ended": 10}
    late = enter(running, 3)
    assert states(people * 2)[:10] == ["new"] * 10
    assert all(state in ("pass", "refreshed") for state in states(late * 3))
    running_states = states(late)
    assert operator.post("rooms/sale/evict", {"all": True})["ended"] >= 3 and len(running_states) == 3


def test_a_network(operated):
    running, operator = operated(text=WIDE, workers=2)
    near, far, six = enter(running, 3, "203.0.113.7"), enter(running, 2, "203.0.114.7"), enter(running, 2, "2001:db8:1:2::3")
    assert operator.post("rooms/sale/evict", {"network": "203.0.113.0/24"}) == {"ended": 3}
    assert states(near * 2)[:3] == ["new"] * 3 and set(states(far + six)) <= {"pass", "refreshed"}
    assert operator.post("rooms/sale/evict", {"network": "2001:db8:1::/48"}) == {"ended": 2}
    assert states(six) == ["new"] * 2 and set(states(far)) <= {"pass", "refreshed"}


def test_the_line_goes_only_when_asked(operated):
    running, operator = operated(FAST)
    inside, first, second = enter(running, 3)
    assert operator.post("rooms/sale/evict", {"sid": first.ticket.sid}) == {"ended": 0}
    assert second.status().json["rank"] == 2
    assert operator.post("rooms/sale/evict", {"sid": first.ticket.sid, "line": True}) == {"ended": 1}
    assert second.status().json["rank"] == 1
    assert operator.post("rooms/sale/evict", {"all": True}) == {"ended": 1}
    assert second.status().json["state"] == "admitted" and inside.page("/").status == 429
    assert operator.post("rooms/sale/evict", {"all": True, "line": True})["ended"] == 2
    assert operator.get("rooms/sale")["waiting"] == 0 and operator.get("rooms/sale")["inside"] == 0
    assert second.status().json["state"] == "unknown"


def test_an_eviction_outlives_the_store(operated):
    running, operator = operated(text=WIDE)
    people, kept = enter(running, 3, "203.0.113.7"), enter(running, 1, "203.0.114.7")
    one = enter(running)
    time.sleep(1.1)  # passes tell whole seconds
    operator.post("rooms/sale/evict", {"network": "203.0.113.0/24"})
    operator.post("rooms/sale/evict", {"sid": one[0].passed.sid})
    time.sleep(1.2)  # what the gateway remembers is saved once a second
    running.restart()
    assert states(people + one) == ["new"] * 4
    assert set(states(kept)) <= {"pass", "refreshed"}


@pytest.mark.parametrize("body, field", [
    ({}, "all"), ({"line": True}, "all"), ({"all": True, "sid": "0" * 32}, "sid"), ({"all": False}, "all"), ({"sid": "xyz"}, "sid"),
    ({"network": "203.0.113.0/25"}, "network"), ({"network": "all"}, "network"), ({"network": "2001:db8::/32"}, "network"), ({"sid": 5}, "sid"),
    ({"all": True, "line": "yes"}, "line"), ({"everybody": True}, "everybody"),
])
def test_a_wrong_eviction(operated, body, field):
    running, operator = operated()
    enter(running)
    assert operator.refused(422, "POST", "rooms/sale/evict", body).get("field") == field
    assert operator.get("rooms/sale")["inside"] == 1


def test_the_application_is_not_asked_by_subresources_of_the_evicted(operated, origin):
    running, operator = operated(text=WIDE)
    visitor = enter(running)[0]
    operator.post("rooms/sale/evict", {"all": True})
    seen = len(origin.requests)
    answer = visitor.request("GET", "/style.css", [("Accept", "text/css"), ("Sec-Fetch-Dest", "style"), ("Sec-Fetch-Mode", "no-cors")])
    assert answer.status == 429 and len(origin.requests) == seen


def test_after_an_eviction_passes_are_soon_taken_on_their_word_again(operated):
    running, operator = operated(text=WIDE)
    operator.post("rooms/sale/evict", {"all": True})
    visitor = enter(running)[0]
    operator.post("rooms/sale/evict", {"network": "198.51.100.0/24"})
    wait_until(lambda: states([visitor]) == ["pass"], message="every request asks the store")
