"""The visitor's flow, step by step: who goes through, who waits, what each answer says and what the application sees."""

import time

import pytest

from harness.http1 import Connection, request
from harness.limits import scaled, wait_until
from harness.origin import Answer
from harness.visitor import PAGE, Visitor

# 5: no token


def test_a_page_without_token_is_sent_through_the_cookie_check(room, origin):
    running = room()
    visitor = Visitor(running.address)
    first = visitor.page("/a%20b/c?x=%2F&y=é", follow=False)
    assert first.status == 302 and first.headers.one("Cache-Control") == "no-store"
    assert first.location.startswith("/__fairway/sale/check?to=/a%2520b/c%3Fx%3D%252F%26y%3D")
    assert visitor.ticket.number is None and origin.requests == []
    second = visitor.page(first.location, follow=False)
    assert (second.status, second.location) == (302, "/a%20b/c?x=%2F&y=%C3%A9")
    third = visitor.page(second.location, follow=False)
    assert third.status == 200 and visitor.passed.sid == visitor.ticket.sid and visitor.passed.number == visitor.ticket.number


def test_a_client_without_cookies_is_told_once_and_does_not_loop(room, origin):
    running = room()
    first = request(running.address, "GET", "/shop", PAGE)
    second = request(running.address, "GET", first.location, PAGE)
    assert second.status == 429 and "ookie" in second.text and second.location is None and "Set-Cookie" not in second.headers
    assert running.metrics().get("fairway_room_inside", room="sale") == 0 and origin.requests == []


def test_any_other_request_gets_its_ticket_in_a_429(room, origin):
    running = room()
    visitor = Visitor(running.address)
    answer = visitor.client("/api")
    assert answer.status == 429 and answer.headers.one("Retry-After") == "1"
    body = answer.json
    assert body.pop("ticket") == visitor.jar["fairway_ticket_sale"].value
    assert body == {"room": "sale", "state": "unknown", "retry_after": 1, "paused": False, "stale": False, "message": None}
    assert visitor.client("/api").status == 200 and visitor.passed


@pytest.mark.parametrize("headers", [
    [("Accept", "text/html"), ("X-Requested-With", "XMLHttpRequest")],
    [("Accept", "text/html"), ("Sec-Fetch-Mode", "cors")],
    [("Accept", "*/*")],
    [],
])
def test_what_is_no_page_request(room, headers):
    assert request(room().address, "GET", "/", headers).json["state"] == "unknown"


def test_a_posted_page_says_that_nothing_was_processed(room, origin):
    running = room()
    answer = request(running.address, "POST", "/order", PAGE, b"a=1")
    assert answer.status == 429 and answer.location is None and answer.headers.get("Content-Type").startswith("text/html")
    assert "http-equiv" not in answer.text.lower() and "Set-Cookie" in answer.headers and origin.requests == []


@pytest.mark.parametrize("name", ["Purpose", "Sec-Purpose"])
def test_a_prefetch_makes_no_state(room, name):
    running = room()
    visitor = Visitor(running.address)
    answer = visitor.page("/", headers=[(name, "prefetch;anonymous-client-ip")])
    assert answer.status == 503 and answer.headers.one("Cache-Control") == "no-store" and visitor.jar == {}
    assert answer.headers.one("X-Room") == "- sale -"


# 4: a ticket


def test_the_waiting_page(full_room):
    running, _ = full_room('message "Doors <open> at nine";')
    visitor = Visitor(running.address)
    answer = visitor.page("/shop?x=1")
    assert answer.status == 429 and visitor.history[-1][0] == "/shop?x=1" and visitor.ticket.number
    assert answer.headers.get("Content-Type") == "text/html; charset=utf-8"
    assert answer.headers.one("Cache-Control") == "no-store" and answer.headers.one("X-Robots-Tag") == "noindex"
    assert "default-src 'none'" in answer.headers.one("Content-Security-Policy")
    assert 3 <= int(answer.headers.one("Retry-After")) <= 4
    assert "Doors &lt;open&gt; at nine" in answer.text and "<open>" not in answer.text
    assert answer.headers.get("X-Room") == "waiting sale 1"


def test_json_while_waiting(full_room):
    running, _ = full_room('message "Soon";')
    first, second = Visitor(running.address), Visitor(running.address)
    first.page("/"), second.page("/")
    answer = second.client("/")
    assert answer.status == 429 and answer.headers.get("Content-Type") == "application/json"
    assert answer.json == {"room": "sale", "state": "waiting", "rank": 2, "waiting": 2, "eta": answer.json["eta"], "retry_after": answer.json["retry_after"],
                           "paused": False, "stale": False, "message": "Soon"}
    status = second.status()
    assert status.status == 200 and status.json["rank"] == 2 and status.headers.one("Cache-Control") == "no-store"
    assert second.ticket.number > first.ticket.number


def test_the_line_moves_when_someone_leaves(full_room):
    running, inside = full_room()
    waiter = Visitor(running.address)
    waiter.page("/")
    assert inside.leave().status == 204 and inside.jar == {}
    assert waiter.status().json["state"] == "admitted" and waiter.passed
    assert waiter.page("/").status == 200


def test_many_requests_with_one_ticket_make_one_place(full_room):
    running, _ = full_room("polls_per_session 1000/s;")
    visitor = Visitor(running.address)
    visitor.client("/")
    ticket = visitor.jar["fairway_ticket_sale"].value
    numbers = set()
    for _ in range(20):
        visitor.set_cookie("fairway_ticket_sale", ticket)  # the first, without a number, every time
        visitor.client("/")
        numbers.add(visitor.ticket.number)
    assert len(numbers) == 1 and running.metrics().get("fairway_room_waiting", room="sale") == 1


def test_page_status_is_for_the_waiting_page_alone(full_room):
    running, _ = full_room("page_status 200;")
    visitor = Visitor(running.address)
    assert visitor.page("/").status == 200 and "X-Robots-Tag" in visitor.last.headers
    assert visitor.client("/").status == 429
    assert visitor.page("/", method="POST").status == 429


def test_line_full_is_busy_and_keeps_held_places(full_room):
    running, inside = full_room("max_waiting 1;")
    first, second = Visitor(running.address), Visitor(running.address)
    assert first.page("/").status == 429
    busy = second.page("/")
    assert busy.status == 429 and "Retry-After" in busy.headers and busy.headers.get("X-Room") == "busy sale -"
    assert second.client("/").json["state"] == "busy" and second.ticket.number is None
    assert first.status().json["rank"] == 1
    inside.leave()
    assert first.status().json["state"] == "admitted" and second.client("/").json["state"] == "waiting"


def test_polls_per_session(full_room):
    running, _ = full_room("polls_per_session 3/s;")
    visitor = Visitor(running.address)
    visitor.page("/")
    number = visitor.ticket.number
    calls = running.metrics().get("fairway_store_calls_total", result="ok")
    begun, states = time.monotonic(), []
    with Connection(running.address) as connection:
        for _ in range(60):
            shown = ("Cookie", f"fairway_ticket_sale={visitor.jar['fairway_ticket_sale'].value}")
            states.append(connection.request("GET", visitor.own("status"), [shown]).json["state"])
    called = running.metrics().get("fairway_store_calls_total", result="ok") - calls
    seconds = time.monotonic() - begun + 1
    assert states[0] == "waiting" and set(states) == {"waiting", "busy"} and states.count("waiting") <= 3 * seconds
    assert called <= states.count("waiting") + 3 * seconds  # the tick's own calls
    time.sleep(1.2)
    assert visitor.status().json["state"] == "waiting" and visitor.ticket.number == number


def test_entries_per_ip(room, origin):
    running = room("entries_per_ip 2/m; max_waiting 50;")
    visitors = [Visitor(running.address, source="127.0.0.5") for _ in range(3)]
    assert [visitor.client("/").json["state"] for visitor in visitors] == ["unknown"] * 3  # tickets cost nothing
    assert visitors[0].client("/").status == 200
    assert visitors[1].client("/").json["state"] == "waiting"
    assert visitors[2].client("/").json["state"] == "busy"
    assert visitors[1].client("/").json["state"] == "waiting"  # a held place is never lost by it
    assert Visitor(running.address, source="127.0.0.6").page("/").status == 429


def test_private_addresses_are_exempt_unless_it_is_set(room):
    running = room("max_waiting 200;")
    assert [Visitor(running.address).page("/").headers.get("X-Room", "").split()[0] for _ in range(70)].count("waiting") == 69


# 2 and 3: a pass


def test_a_young_pass_costs_no_store_call(full_room):
    running, inside = full_room()
    begun = time.monotonic()
    before = running.metrics().get("fairway_room_answers_total", room="sale", state="pass")
    calls = running.metrics().get("fairway_store_calls_total", result="ok")
    for _ in range(50):
        answer = inside.client("/")
        assert answer.status == 200 and "Set-Cookie" not in answer.headers and "Cache-Control" not in answer.headers
    metrics = running.metrics()
    assert metrics.get("fairway_room_answers_total", room="sale", state="pass") - before == 50
    assert metrics.get("fairway_store_calls_total", result="ok") - calls <= 5 + (time.monotonic() - begun)  # once a second by the gateway itself


def test_an_older_pass_is_renewed_by_a_heartbeat(full_room):
    running, inside = full_room("refresh 1s; session_timeout 30s;")
    first = inside.passed
    time.sleep(2.1)
    answer = inside.client("/")
    assert answer.headers.get("X-Room") == "refreshed sale -" and answer.headers.get("Cache-Control") == "private"
    assert inside.passed.issued > first.issued and inside.passed.expires > first.expires and inside.passed.admitted == first.admitted


def test_parts_of_a_page_do_not_keep_a_session_alive(full_room):
    running, inside = full_room("refresh 1s; session_timeout 30s;")
    issued = inside.passed.issued
    time.sleep(2.1)
    for destination in ("image", "style", "script", "font", "audio", "video", "track"):
        assert inside.client("/", headers=[("Sec-Fetch-Dest", destination)]).headers.get("X-Room") == "pass sale -"
    assert inside.passed.issued == issued


def test_a_session_ends_by_timeout_and_comes_back_to_its_number(full_room):
    running, inside = full_room("refresh 1s; session_timeout 2s; return_grace 60s;")
    number = inside.passed.number
    waiter = Visitor(running.address)
    waiter.page("/")
    time.sleep(3.2)
    wait_until(lambda: waiter.status().json["state"] == "admitted", pause=0.5)
    assert inside.page("/").status == 429  # its pass, expired, counts as a ticket
    assert inside.ticket.number == number and inside.status().json["rank"] == 1


def test_session_max_is_a_hard_end(full_room):
    running, inside = full_room("refresh 1s; session_timeout 2s; session_max 3s;")
    sid = inside.passed.sid
    deadline = time.monotonic() + scaled(8)
    while inside.page("/").status == 200 and inside.passed.sid == sid:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert inside.ticket.sid != sid


def test_the_application_ends_a_session(full_room, origin):
    running, inside = full_room()
    waiter = Visitor(running.address)
    waiter.page("/")
    old = dict(inside.jar)
    origin.on("/thanks", Answer(headers=(("Fairway-Session", "end"), ("Fairway-Cost", "3ms"))))
    answer = inside.page("/thanks")
    assert answer.status == 200 and "Fairway-Session" not in answer.headers and "Fairway-Cost" not in answer.headers and inside.jar == {}
    assert waiter.status().json["state"] == "admitted"
    inside.jar = old  # neither the pass nor the ticket revives it
    answer = inside.page("/")
    assert answer.status == 429 and inside.ticket.sid != old["fairway_pass_sale"].value.split(".")[4]


def test_leave_needs_the_same_origin_and_a_token(full_room):
    running, inside = full_room()
    refused = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Site", "none"), ("Origin", "http://evil.example"),
               ("Origin", "null")]
    for header in refused:
        answer = inside.leave([header])
        assert answer.status == 204 and "Set-Cookie" not in answer.headers
    stranger = Visitor(running.address).leave()
    assert stranger.status == 204 and "Set-Cookie" not in stranger.headers
    assert inside.client("/").headers.get("X-Room") == "pass sale -" and inside.status().json["state"] == "admitted"
    host = f"127.0.0.1:{running.port}"
    form = [("Host", host), ("Origin", f"http://{host}"), ("Sec-Fetch-Site", "same-origin")]
    answer = inside.page(inside.own("leave"), method="POST", headers=form, follow=False)
    assert (answer.status, answer.location) == (303, "/__fairway/sale/left") and inside.jar == {}
    left = inside.page("/__fairway/sale/left")
    assert left.status == 200 and left.headers.get("Content-Type").startswith("text/html")
