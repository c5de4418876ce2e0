"""What reaches a room from its settings, and what a server answers of rooms that are not its own."""

import time

import pytest

from harness.http1 import request
from harness.limits import scaled, wait_until
from harness.origin import Answer
from harness.visitor import Visitor

ROOM = """
    waiting_room sale { capacity @CAPACITY@; poll_interval @POLL@; polls_per_session 1000/s; @SETTINGS@ }
    waiting_room other { capacity 1; }
    fair_queue app { concurrency 100; }
    server { listen @LISTEN@; location / { waiting_room sale; proxy_pass http://@ORIGIN@; } location /off { waiting_room off; proxy_pass http://@ORIGIN@; } }
    server { listen @LISTEN2@; waiting_room other; location / { proxy_pass http://@ORIGIN@; } }
    server { listen @LISTEN3@; location / { proxy_pass http://@ORIGIN@; } location /queue { fair_queue app; proxy_pass http://@ORIGIN@; } }
"""


@pytest.fixture
def room(gateway, origin):
    return lambda settings="", capacity=1, poll="100ms 100ms", **options: gateway(ROOM, origin=origin, settings=settings, capacity=capacity, poll=poll, **options)


def people(running, count):
    visitors = [Visitor(running.address) for _ in range(count)]
    for visitor in visitors:
        visitor.page("/")
    return visitors


def test_a_turn_that_nobody_takes_goes_to_the_next(room):
    """The head was called and is not heard of again: after grant_timeout it is the next one's turn, and after return_grace its number is gone."""
    running = room("grant_timeout 1s; return_grace 1s;", poll="1s 1s")
    inside, head, following = people(running, 3)
    old = head.ticket
    assert head.status().json["state"] == "waiting"  # present for twice its interval, so it is called
    called = time.monotonic()
    inside.leave()
    assert running.metrics().get("fairway_room_admitted_total", room="sale") == 2
    wait_until(lambda: following.status().json["state"] == "admitted", 10)
    assert time.monotonic() - called >= 0.9
    time.sleep(2.5)
    assert head.status().json["state"] == "unknown"
    assert head.page("/").status == 429 and head.ticket.sid != old.sid


def test_a_reload_changes_what_counts_and_what_is_said(room):
    running = room("message 'Soon';")
    inside, first, second = people(running, 3)
    assert first.status().json["message"] == "Soon"
    running.values.update(settings="message 'In an hour'; page_status 503;", capacity=2)
    running.reload(ROOM)
    wait_until(lambda: first.status().json["state"] == "admitted")
    assert second.status().json["message"] == "In an hour" and second.page("/").status == 503
    running.values.update(settings="", capacity=0)
    running.reload(ROOM)
    assert [visitor.page("/").status for visitor in (inside, first, second)] == [200, 200, 429]  # nobody is put out
    inside.leave()
    assert second.status().json["state"] == "waiting" and second.last.json["paused"] and second.last.json["rank"] == 1


def test_each_server_answers_for_its_own_rooms(room):
    running = room()
    assert request(running.address, "GET", "/__fairway/sale/status").status == 200
    assert request(running.address, "GET", "/__fairway/other/status").status == 404
    assert request(running.address_of(2), "GET", "/__fairway/other/status?a=b&room=sale").json["room"] == "other"
    assert request(running.address_of(2), "GET", "/__fairway/sale/status").status == 404
    for target in ("/__fairway/sale/status", "/__fairway/health"):
        assert request(running.address_of(3), "GET", target).text == "ok"  # the application's


def test_what_is_said_to_fairway_stays_with_it(room, origin):
    """Whatever the application says in a Fairway- header; another one's token would be a visitor's place."""
    origin.default = Answer(headers=(("Fairway-Ticket", "v1.a.q.sale"), ("fairway-pass", "x"), ("FAIRWAY-anything", "1"), ("X-Fairway-Like", "kept")))
    running = room(capacity=5)
    visitor = Visitor(running.address)
    answers = [visitor.page("/"), visitor.page("/"), *(request(running.address_of(at), "GET", target) for at, target in ((1, "/off"), (3, "/"), (3, "/queue")))]
    for answer in answers:
        assert answer.status == 200 and answer.headers.one("X-Fairway-Like") == "kept"
        assert not [name for name, _ in answer.headers.pairs if name.lower().startswith("fairway")]


def test_times_of_a_session(room):
    """session_timeout and refresh as written: the pass lives as long as the slot, and an old one keeps it."""
    running = room("session_timeout 20s; refresh 1s; abandon_timeout 7s; return_grace 30s;")
    inside, waiter = people(running, 2)
    assert inside.jar["fairway_pass_sale"].attributes["max-age"] == "20"
    assert waiter.jar["fairway_ticket_sale"].attributes["max-age"] == "37"
    first = inside.passed
    wait_until(lambda: inside.page("/").status == 200 and inside.passed.issued > first.issued, scaled(3), pause=0.2)
    assert inside.passed.expires >= first.expires and inside.passed.expires - inside.passed.issued in (19, 20)
