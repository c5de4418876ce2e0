"""What a visitor shows: fresh and old passes, several at once, tickets that are renewed, networks and addresses."""

import re
import time
from dataclasses import replace

import pytest

from harness import tokens
from harness.http1 import Connection, request
from harness.limits import wait_until
from harness.origin import Answer
from harness.rooms import ROOM
from harness.visitor import CLIENT, PAGE, Visitor

PASS, TICKET = "fairway_pass_sale", "fairway_ticket_sale"
ADDRESSES = """
    waiting_room sale { capacity 1; @SETTINGS@ }
    set_real_ip_from 127.0.0.1; real_ip_header X-Client;
    server { listen @LISTEN@; waiting_room sale; location / { proxy_pass http://@ORIGIN@; } }
"""


def shows(running, *shown, method="GET", headers=CLIENT):
    """A request that shows these tokens as cookies: pairs of a cookie's name and a Token, signed with the gateway's key."""
    line = "; ".join(f"{name}={tokens.write(token, running.keys)}" for name, token in shown)
    return request(running.address, method, "/", [*headers, ("Cookie", line)])


def room_state(answer):
    return answer.headers.one("X-Room").split()[0]


def given(answer, name):
    """The token that an answer sets as a cookie, or None."""
    found = [match[1] for line in answer.headers.all("Set-Cookie") if (match := re.match(rf"{name}=([^;]+)", line))]
    return tokens.parse(found[0]) if found else None


# Passes


def test_a_prefetch_passes_with_a_fresh_pass_alone(full_room, origin):
    running, inside = full_room()
    waiter = Visitor(running.address)
    waiter.page("/")
    now, passed, ticket, before = int(time.time()), inside.passed, waiter.ticket, running.metrics()
    prefetch = [*PAGE, ("Sec-Purpose", "prefetch;prerender")]
    assert shows(running, (PASS, passed), headers=prefetch).status == 200
    for shown in ([], [(TICKET, ticket)], [(PASS, replace(passed, issued=now - 60))]):
        answer = shows(running, *shown, headers=prefetch)
        assert (answer.status, answer.headers.one("Cache-Control")) == (503, "no-store") and "Set-Cookie" not in answer.headers
    after = running.metrics()
    assert after.get("fairway_room_waiting", room="sale") == 1
    assert after.get("fairway_store_calls_total", result="ok") - before.get("fairway_store_calls_total", result="ok") <= 3 + (time.time() - now)  # the tick's own
    assert len(origin.requests) == 2


def test_a_pass_from_the_future_is_not_young(full_room):
    running, inside = full_room()
    now = int(time.time())
    answer = shows(running, (PASS, replace(inside.passed, issued=now + 40)))
    assert room_state(answer) == "refreshed" and given(answer, PASS).issued <= now + 20


def test_a_pass_is_young_for_as_long_as_refresh_says(room):
    for settings, young in (("", 15), ("refresh 200s;", 200)):
        running = room(settings)
        inside = Visitor(running.address)
        inside.page("/")
        for age, state in ((young - 5, "pass"), (young + 1, "refreshed")):
            assert room_state(shows(running, (PASS, replace(inside.passed, issued=int(time.time()) - age)))) == state


def test_an_expired_pass_is_a_ticket_of_its_session_for_a_while(full_room):
    running, inside = full_room("return_grace 5m;")
    now = int(time.time())
    late, too_late = (replace(inside.passed, issued=now - 900, expires=now - ago) for ago in (200, 301))
    answer = shows(running, (PASS, late))
    assert answer.status == 200 and given(answer, PASS).sid == late.sid  # the slot is still there
    assert shows(running, (PASS, too_late)).json["state"] == "unknown"
    inside.leave()
    assert shows(running, (PASS, late)).json["state"] == "unknown"


def test_the_newest_of_several_valid_ones_counts(full_room):
    running, inside = full_room()
    now, young = int(time.time()), inside.passed
    old = replace(young, issued=now - 100)
    for order in ([young, old], [old, young], [old, replace(young, issued=now - 50), young]):
        assert room_state(shows(running, *((PASS, token) for token in order))) == "pass"
    first, second = Visitor(running.address), Visitor(running.address)
    first.page("/"), second.page("/")
    newer, older = second.ticket, replace(first.ticket, issued=now - 20)
    for order in ([newer, older], [older, newer]):
        assert given(shows(running, *((TICKET, token) for token in order)), TICKET).sid == newer.sid


def test_a_cross_site_write_with_an_old_pass_sets_no_cookie(full_room, origin):
    """The bank sends the customer back: the request goes through, the session is kept alive, and no cookie is touched."""
    running, inside = full_room()
    old = replace(inside.passed, issued=int(time.time()) - 60)
    origin.on("/", lambda seen: Answer(headers=(("Fairway-Session", "end"),) if seen.method == "PUT" else ()))
    for headers in ([("Sec-Fetch-Site", "cross-site")], [("Origin", "https://bank.example")]):
        answer = shows(running, (PASS, old), method="POST", headers=headers)
        assert (answer.status, room_state(answer)) == (200, "refreshed") and "Set-Cookie" not in answer.headers
    answer = shows(running, (PASS, old), method="PUT", headers=[("Sec-Fetch-Site", "cross-site")])
    assert answer.status == 200 and "Set-Cookie" not in answer.headers
    assert shows(running, (PASS, old)).status == 429  # the application's word counts, whoever asked


def test_an_error_of_the_application_costs_nobody_the_turn(full_room, origin):
    running, inside = full_room()
    waiter = Visitor(running.address)
    waiter.page("/")
    number = waiter.ticket.number
    inside.leave()
    origin.on("/", Answer(kind="close"))
    failed = waiter.page("/")
    assert failed.status == 502 and waiter.passed.number == number and failed.headers.one("Cache-Control") == "private"
    origin.on("/", Answer())
    assert waiter.page("/").status == 200 and waiter.passed.number == number
    assert running.metrics().get("fairway_room_inside", room="sale") == 1


def test_an_end_is_known_to_every_worker_at_once(room):
    running = room(workers=4)
    visitor = Visitor(running.address)
    visitor.page("/")
    old = [(PASS, visitor.passed), (TICKET, visitor.ticket)]
    visitor.leave()
    assert {shows(running, *old).status for _ in range(40)} == {429}  # each on a connection of its own


# Tickets


def test_a_ticket_is_renewed_with_every_answer(full_room):
    running, _ = full_room()
    waiter = Visitor(running.address)
    waiter.page("/")
    now = int(time.time())
    old = replace(waiter.ticket, issued=now - 30, expires=now + 5)
    line = f"{TICKET}={tokens.write(old, running.keys)}"
    for target, headers in (("/", PAGE), ("/", CLIENT), ("/__fairway/sale/status", CLIENT)):
        fresh = given(request(running.address, "GET", target, [*headers, ("Cookie", line)]), TICKET)
        assert (fresh.sid, fresh.number, fresh.epoch) == (old.sid, old.number, old.epoch)
        assert fresh.issued >= now and fresh.expires == fresh.issued + 60 + 600


def test_a_tab_that_asks_once_a_minute_is_waited_for(full_room):
    """How long a waiter may be silent follows from its own last gap, which its ticket tells."""
    running, inside = full_room("poll_interval 100ms 100ms; polls_per_session 1000/s;")
    hidden, following = Visitor(running.address), Visitor(running.address)
    hidden.page("/"), following.page("/")
    hidden.set_cookie(TICKET, tokens.write(replace(hidden.ticket, issued=int(time.time()) - 60), running.keys))
    assert hidden.status().json["rank"] == 1  # the browser's minute was over
    time.sleep(0.5)  # longer than twice the interval
    inside.leave()
    assert following.status().json["state"] == "waiting"
    assert hidden.status().json["state"] == "admitted"


def test_a_program_may_keep_its_first_ticket_all_the_way(full_room):
    running, inside = full_room("polls_per_session 1000/s;")
    first = Visitor(running.address, cookies=False).client("/").json["ticket"]
    asks = lambda: request(running.address, "GET", "/", [*CLIENT, ("Fairway-Ticket", first)])
    assert [asks().json["rank"] for _ in range(2)] == [1, 1]
    inside.leave()
    answers = [asks() for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    sid = tokens.parse(first).sid
    assert {tokens.parse(answer.headers.one("Fairway-Pass")).sid for answer in answers} == {sid}
    assert running.metrics().get("fairway_room_inside", room="sale") == 1


def test_polls_and_requests_count_together_and_check_does_not(full_room):
    running, _ = full_room()  # 3/s
    waiter = Visitor(running.address)
    waiter.page("/")
    time.sleep(1.2)
    begun, states = time.monotonic(), []
    with Connection(running.address) as connection:
        shown = ("Cookie", f"{TICKET}={waiter.jar[TICKET].value}")
        for _ in range(15):
            assert connection.request("GET", "/__fairway/sale/check?to=/", [shown]).status == 302
            states += [connection.request("GET", target, [*CLIENT, shown]).json["state"] for target in ("/", waiter.own("status"))]
    assert set(states) == {"waiting", "busy"} and states[:3] == ["waiting"] * 3
    assert states.count("waiting") <= 3 * (time.monotonic() - begun + 1)
    busy = request(running.address, "GET", "/", [*PAGE, shown])
    assert busy.status == 429 and re.search(r'<noscript>\s*<meta http-equiv="refresh" content="\d', busy.text)  # it tries again by itself


# Networks and addresses


@pytest.fixture
def addresses(gateway, origin):
    return lambda settings="": gateway(ADDRESSES, origin=origin, settings=settings)


def from_address(address):
    return {"headers": [("X-Client", address)]}


def test_bound_to_a_network_of_ipv6(addresses):
    running = addresses("bind_network on;")
    inside = Visitor(running.address, **from_address("2001:db8:aa:1::1"))
    assert inside.page("/").status == 200 and inside.passed.network == "20010db800aa"
    for address, status in (("2001:db8:aa:ffff::9", 200), ("2001:db8:ab::1", 429), ("32.1.13.184", 429), ("2001:db8:aa::", 200)):
        shown = [("Cookie", f"{PASS}={inside.jar[PASS].value}"), ("X-Client", address)]
        assert request(running.address, "GET", "/", shown).status == status, address
    mapped = Visitor(running.address, **from_address("::ffff:203.0.113.7"))
    mapped.page("/")
    assert mapped.ticket.network == "cb0071"
    plain = [("Cookie", f"{TICKET}={mapped.jar[TICKET].value}"), ("X-Client", "203.0.113.99")]
    assert request(running.address, "GET", "/", plain).json["state"] == "waiting"


def test_what_is_no_new_session(room):
    """Only new places count: not the same one asked for again, and not an old number that comes back after its place was given up."""
    running = room("capacity 0; entries_per_ip 2/m; poll_interval 100ms 100ms; abandon_timeout 4s; polls_per_session 1000/s;", text=ROOM.replace("capacity 1;", ""))
    first, second = Visitor(running.address), Visitor(running.address)
    first.client("/")
    unnumbered = first.jar[TICKET].value
    for _ in range(5):
        first.set_cookie(TICKET, unnumbered)
        assert first.client("/").json["state"] == "waiting"
    number = first.ticket.number
    second.client("/")
    assert second.client("/").json["rank"] == 2
    third = Visitor(running.address)
    third.client("/")
    assert third.client("/").json["state"] == "busy"
    wait_until(lambda: running.metrics().get("fairway_room_waiting", room="sale") == 0)
    assert third.client("/").json["state"] == "busy" and first.client("/").json["rank"] == 1 and first.ticket.number == number


def comes(running, address):
    visitor = Visitor(running.address, **from_address(address))
    visitor.client("/")
    return visitor, visitor.client("/").json["state"]


def test_new_sessions_of_one_address(addresses):
    """60 a minute from a public address, an IPv6 customer being a /64; who waits is never stopped by it."""
    running = addresses()
    Visitor(running.address, **from_address("10.1.2.3")).page("/")
    waiting = []
    for number in range(60):
        visitor, state = comes(running, "203.0.113.5" if number % 2 else "::ffff:203.0.113.5")
        assert state == "waiting"
        waiting.append(visitor)
    assert comes(running, "203.0.113.5")[1] == "busy" and comes(running, "203.0.113.6")[1] == "waiting"
    assert {visitor.status().json["state"] for visitor in waiting for _ in range(2)} == {"waiting"}
    assert [comes(running, f"2001:db8:0:7:{number:x}::1")[1] for number in range(61)] == ["waiting"] * 60 + ["busy"]
    assert comes(running, "2001:db8:0:8::1")[1] == "waiting"
    for address in ("192.168.0.9", "fd00::1"):
        assert [comes(running, address)[1] for _ in range(62)] == ["waiting"] * 62, address
