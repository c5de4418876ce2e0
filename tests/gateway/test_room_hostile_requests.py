"""Requests that nobody should send, slow ones, broken ones, and many. The worst they get is nginx's own refusal; nobody else notices."""

import os
import random
import re
from pathlib import Path

import pytest

from harness.hostile import PASS, TICKET, Room, cookie, mutated, raw, status_of, unharmed
from harness.http1 import Broken, Connection, request
from harness.http2 import Http2
from harness.limits import PRELOAD, wait_until
from harness.visitor import CLIENT, PAGE, Visitor


@pytest.fixture
def room(gateway, origin):
    """room(settings, server): harness.hostile.Room with these directives."""
    return lambda settings="", server="": Room(gateway, origin, settings, server)


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
