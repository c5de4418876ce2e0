"""The visitor's flow, step by step: who goes through, who waits, what each answer says and what the application sees."""

import re
import time
from urllib.parse import quote

import pytest

from harness.http1 import request
from harness.visitor import PAGE, Visitor

ROOM = """
    waiting_room sale { capacity 1; @SETTINGS@ }
    server { listen @LISTEN@;
        location / { waiting_room sale; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@;
                     add_header X-Room "$waiting_room_state $waiting_room_name $waiting_room_rank" always; }
        location /off { waiting_room off; proxy_pass http://@ORIGIN@; }
    }
    server { listen @LISTEN2@; location / { proxy_pass http://@ORIGIN@; } }
"""


@pytest.fixture
def room(gateway, origin):
    return lambda settings="", text=ROOM, **options: gateway(text.replace("@SETTINGS@", settings), origin=origin, **options)


@pytest.fixture
def full_room(room):
    """A room with one inside: (gateway, the one inside)."""

    def make(settings="", **options):
        running = room(settings, **options)
        inside = Visitor(running.address)
        assert inside.page("/").status == 200
        return running, inside

    return make


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
    states = [visitor.status().json["state"] for _ in range(10)]
    assert states.count("busy") >= 7 and states[0] == "waiting"
    assert running.metrics().get("fairway_store_calls_total", result="ok") - calls <= 3 + 3  # the tick's own calls aside
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
    before = running.metrics().get("fairway_room_answers_total", room="sale", state="pass")
    calls = running.metrics().get("fairway_store_calls_total", result="ok")
    for _ in range(50):
        answer = inside.client("/")
        assert answer.status == 200 and "Set-Cookie" not in answer.headers and "Cache-Control" not in answer.headers
    metrics = running.metrics()
    assert metrics.get("fairway_room_answers_total", room="sale", state="pass") - before == 50
    assert metrics.get("fairway_store_calls_total", result="ok") - calls <= 5  # once a second by the gateway itself


def test_an_older_pass_is_renewed_by_a_heartbeat(full_room):
    running, inside = full_room("refresh 1s; session_timeout 4s;")
    first = inside.passed
    time.sleep(2.1)
    answer = inside.client("/")
    assert answer.headers.get("X-Room") == "refreshed sale -" and answer.headers.get("Cache-Control") == "private"
    assert inside.passed.issued > first.issued and inside.passed.expires > first.expires and inside.passed.admitted == first.admitted


def test_parts_of_a_page_do_not_keep_a_session_alive(full_room):
    running, inside = full_room("refresh 1s; session_timeout 4s;")
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
    assert waiter.status().json["state"] == "admitted"
    assert inside.page("/").status == 429  # its pass, expired, counts as a ticket
    assert inside.ticket.number == number and inside.status().json["rank"] == 1


def test_session_max_is_a_hard_end(full_room):
    running, inside = full_room("refresh 1s; session_timeout 2s; session_max 3s;")
    sid = inside.passed.sid
    deadline = time.monotonic() + 8
    while inside.page("/").status == 200 and inside.passed.sid == sid:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert inside.ticket.sid != sid


def test_the_application_ends_a_session(full_room, origin):
    from harness.origin import Answer

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
    for headers in ([("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")], [("Origin", "http://evil.example")], [("Origin", "null")]):
        answer = inside.leave(headers)
        assert answer.status == 204 and "Set-Cookie" not in answer.headers
    stranger = Visitor(running.address).leave()
    assert stranger.status == 204 and "Set-Cookie" not in stranger.headers
    assert inside.page("/").status == 200
    host = f"127.0.0.1:{running.port}"
    answer = inside.page(inside.own("leave"), method="POST", headers=[("Host", host), ("Origin", f"http://{host}")], follow=False)
    assert (answer.status, answer.location) == (303, "/__fairway/sale/left") and inside.jar == {}
    left = inside.page("/__fairway/sale/left")
    assert left.status == 200 and left.headers.get("Content-Type").startswith("text/html")


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
