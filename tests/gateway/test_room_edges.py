"""Endpoints, cookies and headers of the room; bypass, dry run, paths, templates, keys."""

import re
import time
from urllib.parse import quote

import pytest

from harness.http1 import request
from harness.rooms import ROOM
from harness.visitor import PAGE, Visitor

# Endpoints


def test_endpoints(room):
    running = room()
    health = request(running.address, "GET", "/__fairway/health")
    assert (health.status, health.text.strip()) == (200, "ok")
    for target, status, allow in [("/__fairway/none/status", 404, None), ("/__fairway/sale/none", 404, None), ("/__fairway/sale", 404, None),
                                  ("/__fairway/", 404, None)]:
        answer = request(running.address, "GET", target)
        assert (answer.status, answer.headers.get("Allow")) == (status, allow) and answer.headers.one("Cache-Control") == "no-store"
    for method, action, allow in [("POST", "status", "GET"), ("DELETE", "check", "GET"), ("GET", "leave", "POST"), ("PUT", "left", "GET")]:
        answer = request(running.address, method, f"/__fairway/sale/{action}")
        assert answer.status == 405 and allow in answer.headers.get("Allow")
    assert request(running.address_of(2), "GET", "/__fairway/sale/status").text == "ok"  # that server uses no room: the application's


def test_status_never_makes_a_place(room):
    running = room()
    visitor = Visitor(running.address)
    assert visitor.status().json["state"] == "unknown" and visitor.jar == {}
    visitor.client("/")  # a ticket
    assert visitor.status().json["state"] == "unknown"
    assert running.metrics().get("fairway_room_inside", room="sale") == 0
    assert visitor.client("/").status == 200
    answer = visitor.status()
    assert answer.json["state"] == "admitted" and "rank" not in answer.json


def test_endpoints_come_before_access_rules_and_rewrites(room):
    text = ROOM.replace("server { listen @LISTEN@;", "server { listen @LISTEN@; deny all; auth_basic x; rewrite ^ /moved permanent;")
    running = room(text=text)
    assert request(running.address, "GET", "/__fairway/sale/status").json["state"] == "unknown"


@pytest.mark.parametrize("to,location", [
    ("/shop?a=1&b=%20", "/shop?a=1&b=%20"), ("//evil.example", "/"), ("/\\evil.example", "/"), ("http://evil.example/", "/"), ("/a\\b", "/"),
    ("/a\tb", "/"), ("/a\r\nSet-Cookie: x=1", "/"), ("", "/"), ("shop", "/"), ("/" + "a" * 2047, "/" + "a" * 2047), ("/" + "a" * 2048, "/"),
    ("/%0d%0aX:y", "/%0d%0aX:y"), ("/a b", "/"), ("/é", "/%C3%A9"), ("/a<b>\"", "/a%3Cb%3E%22"),
])
def test_where_check_leads(room, to, location):
    running = room()
    visitor = Visitor(running.address)
    visitor.page("/", follow=False)
    answer = visitor.page("/__fairway/sale/check?to=" + quote(to, safe=""), follow=False)
    assert (answer.status, answer.location) == (302, location)


# Cookies and headers


def test_cookies_are_as_promised(full_room):
    running, inside = full_room()
    cookie = inside.jar["fairway_pass_sale"]
    assert cookie.attributes == {"path": "/", "httponly": "", "samesite": "Lax", "max-age": "600"}
    waiter = Visitor(running.address)
    waiter.page("/")
    assert waiter.jar["fairway_ticket_sale"].attributes == {"path": "/", "httponly": "", "samesite": "Lax", "max-age": "660"}


def test_cookie_domain_and_secure(full_room):
    _, inside = full_room("cookie_domain example.com; cookie_secure on;")
    attributes = inside.jar["fairway_pass_sale"].attributes
    assert attributes["domain"] == "example.com" and "secure" in attributes


def test_a_client_may_carry_its_tokens_in_headers(full_room, origin):
    running, inside = full_room()
    program = Visitor(running.address, cookies=False)
    first = program.client("/")
    program.carried["Fairway-Ticket"] = first.json["ticket"]
    answer = program.client("/")
    assert answer.json["state"] == "waiting" and answer.json["ticket"] == answer.headers.one("Fairway-Ticket") == program.carried["Fairway-Ticket"]
    inside.leave()
    answer = program.status()
    assert answer.json["state"] == "admitted" and program.passed
    for _ in range(2):  # every answer carries the current ones
        answer = program.client("/")
        assert answer.status == 200 and answer.headers.one("Fairway-Pass") == program.carried["Fairway-Pass"]
        assert answer.headers.get("Cache-Control") == "private"
    assert not [name for seen in origin.requests for name, _ in seen.headers.pairs if name.lower().startswith("fairway")]


@pytest.mark.parametrize("path", ["/", "/off"])
def test_the_application_never_sees_our_cookies_and_headers(full_room, origin, path):
    running, inside = full_room()
    origin.clear()
    mine = "; ".join(f"{name}={cookie.value}" for name, cookie in inside.jar.items())
    for line in (f"a=1; {mine}; b=2", f"{mine}; a=1; b=2", f"a=1; b=2; {mine}"):
        request(running.address, "GET", path, [("Cookie", line), ("Fairway-Ticket", "x"), ("X-Kept", "1")])
    request(running.address, "GET", path, [("X-Kept", "1"), ("Cookie", mine), ("After", "2")])
    assert [seen.headers.get("Cookie") for seen in origin.requests] == ["a=1; b=2"] * 3 + [None]
    assert all(seen.headers.get("X-Kept") == "1" and "Fairway-Ticket" not in seen.headers for seen in origin.requests)
    assert origin.requests[-1].headers.get("After") == "2"


def test_of_several_cookies_the_newest_valid_one_wins(full_room):
    running, inside = full_room()
    good = inside.jar["fairway_pass_sale"].value
    bad = good[:-3] + "AAA"
    line = "; ".join(f"fairway_pass_sale={value}" for value in (bad, good, "", "x"))
    assert request(running.address, "GET", "/", [("Cookie", line)]).status == 200
    line = "; ".join(f"fairway_pass_sale={value}" for value in (bad, bad, bad, bad, good))  # four are looked at
    assert request(running.address, "GET", "/", [("Cookie", line)]).status == 429


def test_a_cross_site_write_never_sets_cookies(full_room):
    running, _ = full_room()
    for headers in ([("Sec-Fetch-Site", "cross-site")], [("Origin", "https://bank.example")]):
        answer = request(running.address, "POST", "/return", [*PAGE, *headers] if headers[0][0] == "Origin" else [("Accept", "text/html"), *headers], b"x=1")
        assert answer.status == 429 and "Set-Cookie" not in answer.headers
    assert "Set-Cookie" in request(running.address, "GET", "/", [("Accept", "text/html"), ("Sec-Fetch-Site", "cross-site")]).headers


def test_bind_network(full_room):
    running, inside = full_room("bind_network on;")
    assert inside.passed.network == "7f0000"
    assert request(running.address, "GET", "/", [("Cookie", f"fairway_pass_sale={inside.jar['fairway_pass_sale'].value}")], source="127.0.0.77").status == 200
    elsewhere = request(running.address, "GET", "/", [("Cookie", f"fairway_pass_sale={inside.jar['fairway_pass_sale'].value}")], source="127.0.9.1")
    assert elsewhere.json["state"] == "unknown"


# 1: bypass, preflight; dry run; other places


def test_bypass_and_preflight(room, origin):
    running = room('bypass $arg_free $http_x_free;')
    assert request(running.address, "GET", "/?free=1").status == 200
    assert request(running.address, "GET", "/?free=0").status == 429
    assert request(running.address, "GET", "/", [("X-Free", "yes")]).status == 200
    preflight = [("Origin", "https://other.example"), ("Access-Control-Request-Method", "PUT")]
    assert request(running.address, "OPTIONS", "/", preflight).status == 200
    assert request(running.address, "OPTIONS", "/", preflight[:1]).status == 429
    assert running.metrics().get("fairway_room_answers_total", room="sale", state="bypassed") == 3


def test_a_dry_run_holds_nobody_but_counts(room, origin):
    running = room(text=ROOM.replace("waiting_room sale; proxy_set", "waiting_room sale; fairway_dry_run on; proxy_set"))
    states = []
    for _ in range(3):
        visitor = Visitor(running.address)
        for _ in range(2):
            assert visitor.page("/", follow=False).status == 200
            states.append(visitor.last.headers.get("X-Room").split()[0])
    assert states == ["new", "admitted", "new", "waiting", "new", "waiting"]
    assert running.metrics().get("fairway_room_waiting", room="sale") == 2


def test_a_redirected_request_is_decided_once(gateway, origin):
    running = gateway("""
        waiting_room sale { capacity 5; polls_per_session 1/s; }
        error_page 404 = @app;
        server { listen @LISTEN@; waiting_room sale; root @PREFIX@/temp;
            location / { try_files $uri @app; }
            location = /auth { internal; proxy_pass http://@ORIGIN@; }
            location /auth/ { auth_request /auth; proxy_pass http://@ORIGIN@; }
            location @app { add_header X-Room $waiting_room_state; proxy_pass http://@ORIGIN@; }
        }""", origin=origin)
    visitor = Visitor(running.address)
    assert visitor.page("/missing").headers.get("X-Room") == "admitted"
    assert visitor.page("/auth/").status == 200
    answers = running.metrics()
    assert answers.get("fairway_room_answers_total", room="sale", state="pass") == 1


def test_two_rooms_in_one_browser(gateway, origin):
    running = gateway("""
        waiting_room one { capacity 1; } waiting_room two { capacity 1; }
        server { listen @LISTEN@; location /one { waiting_room one; proxy_pass http://@ORIGIN@; } location /two { waiting_room two; proxy_pass http://@ORIGIN@; } }
        """, origin=origin)
    browser, other = Visitor(running.address), Visitor(running.address)
    assert browser.page("/one").status == 200 and other.page("/two").status == 200
    assert browser.page("/two").status == 429 and other.page("/one").status == 429
    assert sorted(browser.jar) == ["fairway_pass_one", "fairway_ticket_one", "fairway_ticket_two"]
    assert browser.page("/one").status == 200


@pytest.mark.parametrize("target", ["/shop", "//shop", "/./shop", "/x/../shop", "/sh%6fp", "/shop/"])
def test_paths_are_as_nginx_normalises_them(gateway, origin, target):
    running = gateway("""
        waiting_room sale { capacity 1; }
        server { listen @LISTEN@; location /shop { waiting_room sale; proxy_pass http://@ORIGIN@; } location / { proxy_pass http://@ORIGIN@; } }""", origin=origin)
    assert request(running.address, "GET", target).status == 429
    assert request(running.address, "GET", "/SHOP").status == 200  # another path, as everywhere in nginx
    assert request(running.address, "GET", "/shop%2Fx").status == 429
    assert request(running.address, "GET", target, [("Host", "127.0.0.1.")]).status == 429


def test_a_template_of_the_site(make_gateway, origin):
    running = make_gateway(ROOM.replace("@SETTINGS@", 'page page.html; message "<b>";'), origin=origin)
    (running.prefix / "page.html").write_text("<p>{{room}}|{{status_url}}|{{leave_url}}|{{rank}}|{{waiting}}|{{eta}}|{{message}}|{{retry_after}}|{{lang}}|{{other}}")
    running.start()
    assert Visitor(running.address).page("/").status == 200
    answer = Visitor(running.address, language="de-CH, en;q=0.5").page("/")
    parts = answer.text.strip()[3:].split("|")
    assert parts[:5] == ["sale", "/__fairway/sale/status", "/__fairway/sale/leave", "1", "1"]
    assert parts[6] == "&lt;b&gt;" and re.fullmatch(r"[34]", parts[7]) and parts[8:] == ["de", "{{other}}"]
    assert "'unsafe-inline'" in answer.headers.one("Content-Security-Policy")


def test_keys_are_rotated_without_anybody_noticing(full_room):
    running, inside = full_room("refresh 1s;")
    for name in ("next1", "next2"):
        keys = running.state / "keys"
        keys.write_text(f"{name}:{'QUJD' * 10}QUI=\n" + keys.read_text())
        running.reload()
        time.sleep(1.1)
        assert inside.page("/").status == 200 and inside.passed.key == name
