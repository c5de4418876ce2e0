"""Clients that send what nobody should. The worst they get is the answer for "nothing valid" or nginx's own refusal; nobody else notices."""

import os
import random
import re
import socket
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness import tokens
from harness.http1 import Broken, Connection, request
from harness.http2 import Http2
from harness.limits import PRELOAD, scaled, wait_until
from harness.visitor import CLIENT, PAGE, Visitor

ROOM = """
    waiting_room sale { capacity 1; session_timeout 10m; return_grace 1m; polls_per_session 1000/s; @SETTINGS@ }
    waiting_room other { capacity 1; }
    large_client_header_buffers 8 64k; client_max_body_size 1m; lingering_time 2s; lingering_timeout 1s; client_header_timeout 2s;
    server { listen @LISTEN@; listen @LISTEN2@ http2; @SERVER@
        location / { waiting_room sale; proxy_pass http://@ORIGIN@; }
        location /other { waiting_room other; proxy_pass http://@ORIGIN@; }
    }
"""
PASS, TICKET = "fairway_pass_sale", "fairway_ticket_sale"


@pytest.fixture
def room(gateway, origin):
    """A room with one inside and one in line: (gateway, the one inside, the one in line)."""

    def make(settings="", server=""):
        running = gateway(ROOM, settings=settings, server=server, origin=origin, log_level="notice")
        inside, waiter = Visitor(running.address), Visitor(running.address)
        assert inside.page("/").status == 200 and waiter.page("/").status == 429
        return running, inside, waiter

    return make


# What nginx itself says about a client above level info.
NGINX_SAYS = re.compile(r"\[error\] .* client (sent invalid chunked body|intended to send too large (body|chunked body): \d+ bytes), client: ")


def snapshot(running):
    metrics = running.metrics()
    places = {(name, room): metrics.get(f"fairway_room_{name}", room=room) for name in ("inside", "waiting", "admitted_total") for room in ("sale", "other")}
    return places, running.workers(), [line for line in running.log.splitlines() if not NGINX_SAYS.search(line)]


@contextmanager
def unharmed(room):
    """Nobody got a place, nobody lost one, no process ended, nothing was written."""
    running, inside, waiter = room
    before = snapshot(running)
    yield
    assert snapshot(running) == before
    assert not re.search(r"v1\.\w|fairway_(pass|ticket)_", running.log)
    assert inside.client("/").status == 200 and waiter.client("/").json["rank"] == 1


def cookie(name, value):
    return [("Cookie", f"{name}={value}")]


# Tokens


def mutated(chance, text):
    """`text` with one to three changes."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text) + 1)
        odd = chance.choice(["", ".", "..", "-", "0", "=", "%2e", '"', "\\", "A", "\x7f", "\xe9", " ", "\t", "+", "/", str(2**64), "-1", "v1."])
        kind = chance.randrange(5)
        if kind == 0:
            text = text[:at] + odd + text[at:]
        elif kind == 1:
            text = text[:at] + odd + text[at + 1 :]
        elif kind == 2:
            text = text[:at]
        elif kind == 3:
            parts = text.split(".")
            first, second = chance.randrange(len(parts)), chance.randrange(len(parts))
            parts[first], parts[second] = parts[second], parts[first]
            text = ".".join(parts)
        else:
            text = text[:at] + text[at : at + 9].swapcase() + text[at + 9 :]
    return text


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


# Requests


def raw(running, data, port=1, end=True):
    """Sends bytes and answers all that comes back; the connection may be cut meanwhile. end: says that no more will come."""
    answer = b""
    with socket.create_connection(running.address_of(port), scaled(20)) as peer:
        try:
            peer.sendall(data)
            if end:
                peer.shutdown(socket.SHUT_WR)
            while piece := peer.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return answer


def status_of(answer):
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(match[1]) if match else None


METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "PROPPATCH",
           "PURGE", "M-SEARCH", "FOO_BAR", "A" * 100]


@pytest.mark.parametrize("target", ["/", "/__fairway/sale/status", "/__fairway/sale/check?to=/", "/__fairway/sale/leave", "/__fairway/sale/left",
                                    "/__fairway/health", "/__fairway/none/status", "/__fairway/sale/none", "/__fairway"])
def test_every_method_everywhere(room, target):
    running, _, _ = people = room()
    reading = {"status": {200}, "check": {429}, "left": {200}, "health": {200}, "leave": {405}, "none": {404}}
    name = next((name for name in ("none", "status", "check", "leave", "left", "health") if name in target), None)
    with unharmed(people):
        for method in METHODS:
            for headers in (PAGE, CLIENT):
                answer = request(running.address, method, target, headers)
                if method in ("TRACE", "CONNECT"):
                    expected = {405, 400}  # nginx's own
                elif name is None:
                    expected = {302} if headers is PAGE and method in ("GET", "HEAD") else {429}
                elif name == "none":
                    expected = {404}
                elif method in ("GET", "HEAD"):
                    expected = reading[name]
                else:
                    expected = {204} if (name, method) == ("leave", "POST") else {405}
                assert answer.status in expected, (method, target, answer)
                assert answer.status != 405 or method in ("TRACE", "CONNECT") or answer.headers.one("Allow") == ("POST" if name == "leave" else "GET, HEAD")


END = b"\r\nHost: x\r\nConnection: close\r\n\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
REFUSED = {400, 405, 413, 414, 494, None}


@pytest.mark.parametrize("data,statuses", [
    (b"GET http://localhost/ HTTP/1.1" + END, {429}), (b"GET http://localhost HTTP/1.1" + END, {429}), (b"GET http://localhost?a=1 HTTP/1.1" + END, {429}),
    (b"GET http://evil.example/__fairway/sale/status HTTP/1.1" + END, {200}), (b"GET https://x:99999/ HTTP/1.1" + END, {429, 400}),
    (b"GET ftp://x HTTP/1.1" + END, {429, 400}), (b"OPTIONS * HTTP/1.1" + END, {400, 405, 429}), (b"GET * HTTP/1.1" + END, {400}),
    (b"GET /%2F%2Fevil HTTP/1.1" + END, {429}), (b"GET /__fairway%2Fsale%2Fstatus HTTP/1.1" + END, {200}), (b"GET //__fairway//sale/./status HTTP/1.1" + END, {200}),
    (b"GET /x/../__fairway/sale/status?a=%00 HTTP/1.1" + END, {200}), (b"GET /__fairway/sale/status%00 HTTP/1.1" + END, {400}),
    (b"GET /__fairway/sale/status/ HTTP/1.1" + END, {404}), (b"GET /__fairway/SALE/status HTTP/1.1" + END, {404}), (b"GET /../.. HTTP/1.1" + END, {400}),
    (b"GET /%zz HTTP/1.1" + END, {400}), (b"GET /a\x00b HTTP/1.1" + END, {400}), (b"GET /\xff\xfe?\x80 HTTP/1.1" + END, {429}), (b"GET /#frag?x HTTP/1.1" + END, {429}),
    (b"GET /" + b"a" * 60_000 + END, {400, 414, None}), (b"GET /" + b"a" * 60_000 + b" HTTP/1.1" + END, {429}), (b"GET /" + b"a" * 70_000 + b" HTTP/1.1" + END, {414}),
    (b"GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", {400, 429}), (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", {400}),
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", {400}), (b"GET / HTTP/1.1\r\nHost: a\x00b\r\n\r\n", {400}),
    (b"GET / HTTP/1.0\r\n\r\n", {429}), (b"GET /__fairway/health HTTP/1.0\r\n\r\n", {200}), (b"GET / HTTP/1.0\r\nAccept: text/html\r\n\r\n", {302}),
    (b"GET / HTTP/2.0\r\n\r\n", {505}), (b"GET / HTTP/9.9\r\n\r\n", {505, 400}), (b"get / HTTP/1.1" + END, {400}), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", REFUSED),
    (b"GET / HTTP/1.1\r\nHost: x\r\nAccept: te\x00xt/html\r\n\r\n", {400}), (b"GET / HTTP/1.1\r\n: x" + END, {400}), (b"GET / HTTP/1.1\r\nno colon" + END, {400, 429}),
    (b"GET / HTTP/1.1\r\nAccept: \x01\x02\x7f\xfftext/html\r\nSec-Fetch-Site: \x03\r\nOrigin: \x7f://\xff:\r\nAccept-Language: \xff;q=\x01,\x7f" + END, {302}),
    (BODY + b"Sec-Fetch-Site: \xff\r\nOrigin: ://[::1\r\nPurpose: \x01\r\nContent-Length: 3\r\n\r\nabc", {429}), (BODY + b"Content-Length: 99999999999999999999\r\n\r\n", {400}),
    (BODY + b"Content-Length: -1\r\n\r\n", {400}), (BODY + b"Content-Length: 2000000\r\n\r\nx", {413}), (BODY + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400, 429}),
    (BODY + b"Transfer-Encoding: gzip\r\n\r\n", {501}), (BODY + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", {400}), (BODY + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", {400}),
    (BODY + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", {429}), (BODY + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX", {400}),
    (b"POST /__fairway/sale/leave HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\xff", {400}),
    (b"POST /__fairway/sale/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nq", {400}),
    (BODY + b"Expect: nonsense\r\nContent-Length: 1\r\n\r\nx", {429}), (b"GET / HTTP/1.1\r\nRange: bytes=" + b"0-," * 5000 + END, {429}),
    (b"GET / HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nHost: x\r\nConnection: close\r\n\r\n", {429}),
    (b"GET /__fairway/sale/check?to=" + b"%2F" * 19_000 + b" HTTP/1.1" + END, {429}), (b"GET /__fairway/sale/check?to HTTP/1.1" + END, {429}),
    (b"GET /__fairway/sale/check?" + b"to=/a&" * 5000 + b" HTTP/1.1" + END, {429}), (b"GET /__fairway/sale/check?to=%&to=%2&to=%zz HTTP/1.1" + END, {429}),
])
def test_odd_requests(room, data, statuses):
    running, _, _ = people = room()
    with unharmed(people):
        answer = raw(running, data)
        assert status_of(answer) in statuses, answer[:300]
        assert b"\r\nLocation: http" not in answer and b"\r\nLocation: //" not in answer


def test_a_request_of_http_0_9(room):
    running, _, _ = people = room()
    with unharmed(people):
        assert b'"state":"unknown"' in raw(running, b"GET /\r\n")
        assert raw(running, b"GET /__fairway/health\r\n") == b"ok\n"


@pytest.mark.parametrize("target", [b"%2F%2Fevil.example", b"/%0d%0aSet-Cookie:x=1", b"%2Fa" * 600, b"/" + b"%C3" * 2047, b"\xff" * 3000, b"%252F%252Fevil", b"/%2e%2e//x", b"/" + b"%3C" * 2000])
def test_where_a_strange_target_leads(room, target):
    """With a valid ticket, so that `check` does send the visitor somewhere."""
    running, _, waiter = people = room()
    good = f"{TICKET}={waiter.jar[TICKET].value}".encode()
    with unharmed(people):
        answer = raw(running, b"GET /__fairway/sale/check?to=" + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: " + good + b"\r\n\r\n")
        assert status_of(answer) == 302
        locations = re.findall(rb"\r\nLocation: ([^\r\n]*)\r\n", answer)
        assert len(locations) == 1 and re.fullmatch(rb"/(?![/\\])[\x21-\x7e]{0,6200}|/", locations[0]) and b"x=1\r\n" not in answer


# Slow and broken connections


def open_files(running):
    return len(os.listdir(f"/proc/{running.workers()[0]}/fd"))


def test_slow_bodies_of_held_requests_hold_nothing(room):
    running, _, _ = people = room()
    files = open_files(running)
    with unharmed(people):
        slow = [Connection(running.address) for _ in range(50)]
        for number, connection in enumerate(slow):
            size = b"Content-Length: 900000" if number % 2 else b"Transfer-Encoding: chunked"
            connection.send(b"POST / HTTP/1.1\r\nHost: x\r\n" + size + b"\r\n\r\n" + (b"x" if number % 2 else b"5"))
            assert connection.read_response("POST").status == 429  # without waiting for the body
        assert Visitor(running.address).status().json["state"] == "unknown"
        wait_until(lambda: open_files(running) <= files, 20, message="the connections are never closed")
        for connection in slow:
            connection.close()


def test_aborts_at_any_byte(room):
    # keepalive_timeout: nginx takes a connection that is reset within a discarded body for a live one, and closes it by this timer
    running, inside, _ = people = room(server="keepalive_timeout 2s;")
    files = open_files(running)
    held = b"POST / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nContent-Length: 40\r\nCookie: fairway_pass_sale=x\r\n\r\n" + b"x" * 40
    through = held.replace(b"fairway_pass_sale=x", f"{PASS}={inside.jar[PASS].value}".encode())
    chance = random.Random(5)
    with unharmed(people):
        for number in range(300):
            data = chance.choice([held, through])
            connection = Connection(running.address)
            connection.send(data[: chance.randrange(1, len(data) + 1)])
            connection.reset() if number % 2 else connection.close()
        for _ in range(30):
            with Http2(running.address_of(2)) as connection:
                stream = connection.start("POST", "/", [("accept", "text/html"), ("content-length", "5")], b"x" * 5)
                connection.reset(stream)
        wait_until(lambda: open_files(running) <= files, 20, message="connections are left open")


# Many of them


def anonymous_memory(pid):
    """Private memory of a process that no file stands behind, KiB."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def storm(running, people, count, seed):
    """`count` hostile requests of all kinds on connections that are kept open while nginx lets them."""
    chance = random.Random(seed)
    good = [person.jar[name].value for person in people for name in person.jar]
    connection = None
    for _ in range(count):
        connection = connection or Connection(running.address)
        text = chance.choice([mutated(chance, chance.choice(good)), "x" * chance.randrange(2000), ""]).replace(";", "")
        if text.strip(" \t") in good:
            continue
        headers = [*chance.choice([PAGE, CLIENT, ()]), *chance.choice([cookie(PASS, text), cookie(TICKET, text), [("Fairway-Ticket", text)]])]
        target = chance.choice(["/", "/__fairway/sale/status", "/__fairway/sale/leave", "/__fairway/sale/check?to=" + "/x" * chance.randrange(2000), "/__fairway/x/y"])
        body = b"x" * chance.choice([0, 10, 5000])
        try:
            answer = connection.request(chance.choice(["GET", "POST", "HEAD", "PUT"]), target, headers, body)
            assert answer.status in (200, 204, 302, 400, 404, 405, 429), answer
        except (Broken, ConnectionError):
            answer = None
        if answer is None or answer.headers.get("Connection") == "close":
            connection.close()
            connection = None
    if connection:
        connection.close()


def test_thousands_of_hostile_requests_leave_nothing(room):
    running, inside, waiter = people = room()
    worker = running.workers()[0]
    with unharmed(people):
        storm(running, (inside, waiter), 1000, 1)
        before = anonymous_memory(worker)
        storm(running, (inside, waiter), 5000, 2)
        grown = anonymous_memory(worker) - before
        assert grown < (200_000 if PRELOAD else 1_000), f"{grown} KiB"
