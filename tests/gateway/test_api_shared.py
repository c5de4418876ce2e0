"""The API of gateways that share a store: what one operator does to a room counts at every gateway within a second."""

import pytest

from harness.limits import wait_until
from harness.operator import CONSOLE, Operator
from harness.shared_rooms import ROOM, one_keys_file
from harness.visitor import Visitor

WIDE = "capacity 100; refresh 5m; polls_per_session 1000/s; entries_per_ip off;"


@pytest.fixture
def pair(gateway, origin, store):
    """Two gateways with room `sale` on one store, each with its operator: ((gateway, operator), (gateway, operator))."""

    def make(settings=WIDE, **options):
        text = "set_real_ip_from 127.0.0.1; real_ip_header X-Client;" + ROOM.replace("@SETTINGS@", settings).replace("@STORE@", f"{store.url} timeout=2s") + CONSOLE
        gateways = [gateway(text, origin=origin, **options) for _ in range(2)]
        one_keys_file(gateways)
        return [(running, Operator(running)) for running in gateways]

    return make


def state_at(running, visitor):
    other = Visitor(running.address, headers=visitor.extra)
    other.jar = dict(visitor.jar)
    return other.page("/", follow=False).headers.get("X-Room").split()[0]


def enter(running, count, address="203.0.113.7"):
    visitors = [Visitor(running.address, headers=[("X-Client", address)]) for _ in range(count)]
    for visitor in visitors:
        assert visitor.page("/").status == 200
    return visitors


def test_counts_are_those_of_all(pair):
    (one, operator), (two, other) = pair(workers=2)
    enter(one, 2)
    enter(two, 1)
    for told in (operator, other):
        wait_until(lambda told=told: told.get("rooms/sale")["inside"] == 3)
        assert told.get("rooms/sale")["store"] == {"kind": "shared", "reachable": True}


@pytest.mark.parametrize("body, ended", [({"all": True}, 5), ({"network": "203.0.113.0/24"}, 3)])
def test_many_are_refused_everywhere(pair, body, ended):
    (one, operator), (two, _) = pair(workers=2)
    near, far = enter(one, 3), enter(two, 2, "198.51.100.7")
    assert {state_at(two, visitor) for visitor in near} <= {"pass", "refreshed"}
    assert operator.post("rooms/sale/evict", body) == {"ended": ended}
    for running in (one, two):
        wait_until(lambda running=running: {state_at(running, visitor) for visitor in near} == {"new"}, message="the other gateway lets them in")
    assert {state_at(two, visitor) for visitor in far} == ({"new"} if ended == 5 else {"refreshed"}) or ended == 3


def test_one_is_refused_everywhere(pair):
    (one, operator), (two, other) = pair(workers=2)
    visitor, kept = enter(one, 2)
    assert other.post("rooms/sale/evict", {"sid": visitor.passed.sid}) == {"ended": 1}
    for running in (one, two):
        wait_until(lambda running=running: state_at(running, visitor) == "new", message="the other gateway lets it in")
        assert state_at(running, kept) in ("pass", "refreshed")
    assert operator.post("rooms/sale/evict", {"sid": visitor.passed.sid, "line": True}) == {"ended": 0}


def test_places_in_line(pair):
    (one, operator), (two, other) = pair("capacity 1; polls_per_session 1000/s;")
    enter(one, 1)
    waiters = [Visitor(one.address) for _ in range(3)]
    for waiter in waiters:
        waiter.page("/")
    assert other.post("rooms/sale/evict", {"sid": waiters[0].ticket.sid}) == {"ended": 0}
    assert other.post("rooms/sale/evict", {"sid": waiters[0].ticket.sid, "line": True}) == {"ended": 1}
    assert waiters[1].status().json["rank"] == 1
    assert operator.post("rooms/sale/evict", {"all": True, "line": True}) == {"ended": 3}


def test_a_store_that_is_away(pair, store):
    (one, operator), _ = pair()
    enter(one, 1)
    store.pause()
    for body in ({"network": "198.51.100.0/24"}, {"sid": "0" * 32}):  # nobody's: what was sent may yet be done
        assert "does not answer" in operator.refused(503, "POST", "rooms/sale/evict", body)["detail"]
    wait_until(lambda: operator.get("health")["store"]["reachable"] is False)
    assert "every gateway" in operator.refused(503, "PUT", "rooms/sale", {"capacity": 7})["detail"]
    assert operator.get("health")["store"]["breaker"] == "open"
    store.resume()
    wait_until(lambda: operator.get("health")["store"]["reachable"], 15)
    wait_until(lambda: operator.get("rooms/sale")["inside"] == 1)


def test_a_room_made_here(gateway, origin, store):
    text = "fairway_store @STORE@; server { listen @LISTEN@; location / { waiting_room auto; proxy_pass http://@ORIGIN@; } }".replace("@STORE@", f"{store.url} timeout=5s")
    running = gateway(text + CONSOLE, origin=origin, workers=2)
    operator = Operator(running)
    operator.put("rooms/flash", {"capacity": 1, "attach": [{"host": "localhost"}]}, status=201)
    inside, waiter = Visitor(running.address, "flash"), Visitor(running.address, "flash")
    assert inside.page("/").status == 200 and waiter.page("/").status == 429
    operator.delete("rooms/flash")
    assert waiter.page("/").status == 200
    operator.put("rooms/flash", {"capacity": 1, "attach": [{"host": "localhost"}]}, status=201)
    assert operator.get("rooms/flash")["inside"] == 0
    assert Visitor(running.address, "flash").page("/").status == 200
