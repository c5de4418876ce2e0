"""Tokens and cookies that nobody should send. The worst they get is the answer for "nothing valid"; nobody else notices."""

import random
import re
import time
from dataclasses import replace

import pytest

from harness import tokens
from harness.hostile import PASS, TICKET, Room, cookie, mutated, raw, status_of, unharmed
from harness.http1 import Connection, request
from harness.http2 import Http2
from harness.visitor import CLIENT, Visitor


@pytest.fixture
def room(gateway, origin):
    """room(settings, server): harness.hostile.Room with these directives."""
    return lambda settings="", server="": Room(gateway, origin, settings, server)


# Tokens


def test_mutated_tokens_are_nothing(room):
    running, inside, waiter = people = room()
    chance = random.Random(20)
    good = [inside.jar[PASS].value, inside.jar[TICKET].value, waiter.jar[TICKET].value]
    sent = 0
    with unharmed(people), Connection(running.address) as connection:
        rejected = running.metrics().total("fairway_token_rejected_total")
        while sent < 600:
            text = mutated(chance, chance.choice(good))
            if text.strip(" \t") in good or not text.strip(" \t"):
                continue
            sent += 1
            name = chance.choice([PASS, TICKET])
            headers = cookie(name, text) if sent % 2 else [("Fairway-" + name.split("_")[1].title(), text)]
            answer = connection.request("GET", "/__fairway/sale/status" if sent % 3 == 0 else "/", [*CLIENT, *headers])
            assert answer.json["state"] == "unknown" and answer.json["retry_after"] == 1, text
        assert running.metrics().total("fairway_token_rejected_total") - rejected == sent


def test_each_token_has_one_spelling(room):
    running, inside, waiter = people = room()
    text = inside.jar[PASS].value
    fields = text.split(".")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(text[-1])
    spellings = [text[:-1] + alphabet[last ^ 1], text[:-1] + alphabet[last ^ 2], text + "=", text + "A", text.replace("v1", "V1"), text.replace("v1", "v01"),
                 "v2" + text[2:], ".".join([*fields[:4], fields[4].upper(), *fields[5:]]), ".".join([*fields[:5], "0" + fields[5], *fields[6:]]),
                 ".".join([*fields[:5], "+" + fields[5], *fields[6:]]), text + ".", "." + text, f'"{text}"', text + ".x"]
    spellings = [one for one in spellings if one != text]
    with unharmed(people):
        for one in spellings:
            assert request(running.address, "GET", "/", cookie(PASS, one)).json["state"] == "unknown", one


@pytest.mark.parametrize("size", [400, 512, 513, 600, 5_000, 60_000])
def test_oversize_tokens(room, size):
    running, inside, _ = people = room()
    for start in ("", inside.jar[PASS].value):
        text = start + "A" * (size - len(start))
        with unharmed(people):
            for headers in (cookie(PASS, text), cookie(TICKET, text), [("Fairway-Pass", text)], [("Fairway-Ticket", text)]):
                assert request(running.address, "GET", "/", headers).json["state"] == "unknown"


def test_signed_tokens_that_do_not_fit(room):
    """All signed with the gateway's own key, or one that it had: only what they say is wrong."""
    running, inside, waiter = people = room("bind_network on;")
    now, keys = int(time.time()), running.keys
    old_keys = f"old1:{'QUJD' * 10}QUI=\n"
    ticket, passed = waiter.ticket, inside.passed
    foreign = replace(ticket, number=None, epoch=None, sid="0" * 32)
    wrong = {
        "wrong_room": [(TICKET, replace(ticket, room="other"), keys), (PASS, replace(passed, room="other"), keys), (PASS, replace(passed, room="sal"), keys)],
        "unknown_key": [(TICKET, ticket, old_keys), (PASS, passed, old_keys)],
        "bad_mac": [(TICKET, ticket, keys.split(":")[0] + old_keys[4:])],
        "future": [(TICKET, replace(foreign, issued=now + 120), keys), (PASS, replace(passed, issued=now + 90, expires=now + 900), keys)],
        "expired": [(TICKET, replace(ticket, issued=now - 900, expires=now - 1), keys), (PASS, replace(passed, issued=now - 900, expires=now - 90), keys)],
        "wrong_network": [(TICKET, replace(ticket, network="cb0071"), keys), (PASS, replace(passed, network="-"), keys), (PASS, replace(passed, network="20010db80000"), keys)],
        "malformed": [(PASS, replace(passed, admitted="-"), keys), (TICKET, replace(ticket, epoch=None), keys), (TICKET, replace(ticket, number=2**64), keys),
                      (TICKET, replace(ticket, number=0), keys), (TICKET, replace(ticket, issued=-1), keys), (TICKET, replace(ticket, expires=2**63), keys),
                      (TICKET, replace(ticket, sid=ticket.sid[:-1]), keys), (TICKET, replace(ticket, room="SALE"), keys), (TICKET, replace(ticket, network="7f00"), keys)],
    }
    with unharmed(people):
        for reason, cases in wrong.items():
            for name, token, signing in cases:
                before = running.metrics().get("fairway_token_rejected_total", reason=reason)
                answer = request(running.address, "GET", "/", cookie(name, tokens.write(token, signing)))
                assert answer.json["state"] == "unknown", (reason, token)
                assert running.metrics().get("fairway_token_rejected_total", reason=reason) == before + 1, (reason, token)
    with unharmed(people):
        for name, text in ((PASS, ticket.text), (TICKET, passed.text), (PASS.replace("sale", "other"), passed.text)):  # swapped
            path = "/other" if "other" in name else "/"
            assert request(running.address, "GET", path, cookie(name, text)).json["state"] == "unknown"


def test_a_key_that_left_the_file(room):
    running, inside, _ = room()
    keys = running.state / "keys"
    keys.write_text(f"fresh:{'QUJD' * 10}QUI=\n")
    running.reload()
    assert inside.client("/").json["state"] == "unknown" and inside.ticket.key == "fresh"
    assert running.metrics().get("fairway_token_rejected_total", reason="unknown_key") >= 1


def test_extreme_numbers_in_signed_tickets(room):
    """No client can write these; a gateway with the same keys and a wild clock could."""
    running, inside, waiter = room()
    now = int(time.time())
    for number in (1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1):
        for epoch in (1, inside.passed.epoch, 2**53 + 1, 2**64 - 1):
            token = replace(waiter.ticket, sid=f"{number:016x}{epoch:016x}", epoch=epoch, number=number, issued=0, expires=now + 10**9)
            for target in ("/__fairway/sale/status", "/"):
                answer = request(running.address, "GET", target, cookie(TICKET, tokens.write(token, running.keys)))
                assert answer.status in (200, 429) and answer.json["state"] in ("waiting", "unknown", "busy"), token
    assert inside.client("/").status == 200 and waiter.client("/").json["state"] == "waiting" and len(running.workers()) == 1


def test_an_old_ticket_without_number_makes_no_second_place(room):
    running, inside, waiter = people = room()
    person = Visitor(running.address)
    person.client("/")
    first = person.jar[TICKET].value
    assert person.client("/").json["rank"] == 2
    place = person.ticket.number
    for _ in range(20):
        answer = request(running.address, "GET", "/", cookie(TICKET, first))
        assert answer.json["rank"] == 2 and tokens.parse(re.search(r"sale=(v1[^;]+)", answer.headers.one("Set-Cookie"))[1]).number == place
    person.leave()
    with unharmed(people):
        for _ in range(3):  # who left comes back by no old ticket
            answer = request(running.address, "GET", "/", cookie(TICKET, first))
            assert answer.json["state"] == "unknown" and person.last.status == 204


# Cookies


def test_thousands_of_cookies(room, origin):
    running, inside, waiter = people = room()
    good = f"{PASS}={inside.jar[PASS].value}"
    others = [f"c{number}={number}" for number in range(2000)]
    junk = [f"fairway_pass_{number}=x" for number in range(500)] + [f"fairway_ticket_sale{number}=" for number in range(500)]
    with unharmed(people):
        assert request(running.address, "GET", "/", [("Cookie", "; ".join([*others, *junk, good]))]).status == 200
        assert origin.requests[-1].headers.one("Cookie") == "; ".join(others)
        assert request(running.address, "GET", "/", [("Cookie", "; ".join([f"{PASS}=x"] * 3000))]).status == 429
        many = [("Cookie", f"{PASS}=x{number}; a=1") for number in range(500)]
        assert request(running.address, "GET", "/", many).status == 429
        with Http2(running.address_of(2)) as connection:
            crumbs = [("cookie", f"{name}={number}") for number in range(300) for name in (PASS, TICKET, "x")]
            assert connection.request("GET", "/", crumbs).status == 429


@pytest.mark.parametrize("line", [
    b"", b";", b";;;;=;=;==", b"=", b"fairway_pass_sale", b"fairway_pass_sale=", b"fairway_pass_sale==", b"fairway_", b"fairway_pass_=x", b" fairway_pass_sale = x ",
    b"FAIRWAY_PASS_SALE=x", b"a=\"fairway_pass_sale=x;\"", b"$Version=1; fairway_pass_sale=\"x\"; $Path=/", bytes(range(0x80, 0x100)),
    bytes(range(1, 9)) + b"\x0b\x0c" + bytes(range(14, 32)) + b"\x7f", b"fairway_pass_sale=\xff\xfe\x80", b"fairway_ticket_sale=\t;\t", b"a=1,fairway_pass_sale=x", b"\xf0\x9f\x8e\x9f=1; fairway_pass_sale=x",
])
def test_odd_cookie_headers(room, origin, line):
    running, inside, _ = people = room()
    good = f"{PASS}={inside.jar[PASS].value}".encode()
    with unharmed(people):
        answer = raw(running, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: " + line + b"\r\n\r\n")
        assert status_of(answer) == 429 and b'"unknown"' in answer
    raw(running, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: " + good + b"\r\nCookie: " + line + b"\r\n\r\n", end=False)
    sent = origin.requests[-1].headers.get("Cookie", "").encode("latin-1")
    assert b"fairway_pass_sale=v1" not in sent
    if b"fairway" not in line:
        assert sent == line.strip(b" \t")  # other people's cookies stay as they are, byte for byte


def test_headers_with_names_that_are_none_stay(room, origin):
    running, inside, _ = room(server="ignore_invalid_headers off;")
    good = f"{PASS}={inside.jar[PASS].value}".encode()
    answer = raw(running, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n@: kept\r\nCookie: " + good + b"\r\nFairway-: x\r\nFairway-Pass@: y\r\n\r\n", end=False)
    assert status_of(answer) == 200
    seen = origin.requests[-1].headers
    assert seen.get("@") == "kept" and "Cookie" not in seen
