"""Nothing about a person's place is ever kept by a cache, and nothing a cache gives out speaks for a person."""

import gzip
import re
import time

import pytest

from harness.http1 import request
from harness.origin import Answer
from harness.visitor import Visitor

ROOM = """
    waiting_room sale { capacity @CAPACITY@; polls_per_session 1000/s; page_status @STATUS@; }
    proxy_cache_path @PREFIX@/temp/cache keys_zone=shop:1m;
    gzip on; gzip_min_length 1; gzip_proxied any; gzip_types *;
    server { listen @LISTEN@;
        error_page 429 503 404 405 =200 /changed;
        location = /changed { internal; proxy_pass http://@ORIGIN@; }
        location / { waiting_room sale; @SETTINGS@ proxy_pass http://@ORIGIN@; }
        location /files/ { waiting_room sale; @SETTINGS@ alias @PREFIX@/temp/; }
    }
"""
# Whatever an administrator may say about caching, for every status.
LOUD = """
    expires 1h; add_header Cache-Control "public, max-age=600, s-maxage=900" always; add_header Cache-Control "stale-while-revalidate=5" always;
    add_header Content-Security-Policy "default-src 'self'" always; add_header Content-Security-Policy-Report-Only "img-src x" always;
    add_header CDN-Cache-Control "max-age=60" always; add_header Cloudflare-CDN-Cache-Control "max-age=60" always;
    add_header Surrogate-Control "max-age=60" always; add_header X-Robots-Tag "all" always; add_header ETag '"mine"' always;
    add_header X-Site "kept" always; etag on; if_modified_since before;
"""
CACHED = """
    proxy_cache shop; proxy_cache_valid 200 1h; proxy_cache_key $uri; add_header X-Cache $upstream_cache_status;
"""


@pytest.fixture
def room(gateway, origin):
    return lambda settings="", capacity=1, status=429: gateway(ROOM, settings=settings, capacity=capacity, status=status, origin=origin)


def token_texts(response):
    """Everything in a response that could speak for a person."""
    return [(name, value) for name, value in response.headers.pairs if re.search(r"v1\.\w+\.[aq]\.|fairway", f"{name}: {value}", re.I)]


CONDITIONAL = [("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"), ("If-None-Match", "*"), ("Range", "bytes=0-3"), ("If-Range", '"mine"')]


def assert_ours(answer, status):
    assert answer.status == status
    assert answer.headers.all("Cache-Control") == ["no-store"] and answer.headers.all("X-Robots-Tag") == ["noindex"]
    assert answer.headers.one("Content-Security-Policy").startswith("default-src 'none'")
    for name in ("Expires", "ETag", "Last-Modified", "Content-Range", "Accept-Ranges", "CDN-Cache-Control", "Cloudflare-CDN-Cache-Control",
                 "Surrogate-Control", "Content-Security-Policy-Report-Only", "Pragma"):
        assert name not in answer.headers, name


@pytest.mark.parametrize("status", [429, 200])
@pytest.mark.parametrize("headers", [[], CONDITIONAL])
def test_our_answers_are_never_kept_nor_changed(room, origin, headers, status):
    running = room(LOUD, status=status)
    inside, waiter = Visitor(running.address), Visitor(running.address)
    assert_ours(waiter.page("/", follow=False, headers=headers), 302)
    assert_ours(waiter.page(waiter.last.location, follow=False, headers=headers), 302)
    assert_ours(Visitor(running.address).page("/__fairway/sale/check?to=/", headers=headers), 429)
    assert_ours(request(running.address, "GET", "/", [("Purpose", "prefetch"), *headers]), 503)
    inside.page("/")
    page = waiter.page("/", headers=headers)
    assert_ours(page, status)
    assert page.text.rstrip().endswith("</html>") and page.headers.one("X-Site") == "kept"
    assert_ours(waiter.page("/files/none", headers=headers), status)
    assert_ours(waiter.page("/", method="HEAD", headers=headers), status)
    assert_ours(waiter.page("/", method="POST", headers=headers), 429)
    assert_ours(waiter.client("/", headers=headers), 429)
    assert waiter.last.json["state"] == "waiting"
    for target, code in [("sale/status", 200), ("sale/left", 200), ("health", 200), ("sale/leave", 405), ("none/status", 404), ("sale/none", 404)]:
        assert_ours(waiter.client(f"/__fairway/{target}", headers=headers), code)
    assert_ours(waiter.leave(), 204)
    assert not origin.seen("/changed")


@pytest.mark.parametrize("said,kept", [
    ([], ""), (["public"], ""), (["public, max-age=60"], "max-age=60"), (["max-age=60,s-maxage=5, must-revalidate"], "max-age=60, must-revalidate"),
    (["S-MaxAge=5", "PUBLIC ,immutable"], "immutable"), (["no-store"], "no-store"), (["private, max-age=1"], "max-age=1"),
    (['no-cache="Set-Cookie, X-A", public'], 'no-cache="Set-Cookie, X-A"'), (['private="X-A, public", max-age=9'], "max-age=9"),
    ([", ,public,,"], ""), (["proxy-revalidate; public"], "proxy-revalidate; public"),
])
def test_a_response_with_our_cookie_is_private(room, origin, said, kept):
    running = room()
    others = (("CDN-Cache-Control", "max-age=60"), ("Vercel-CDN-Cache-Control", "max-age=60"), ("Surrogate-Control", "max-age=60"), ("X-App", "kept"))
    origin.default = Answer(headers=(*(("Cache-Control", value) for value in said), *others))
    inside = Visitor(running.address)
    first = inside.page("/")
    assert first.status == 200 and inside.passed and first.headers.one("Cache-Control") == ("private, " + kept if kept else "private")
    assert [name for name, _ in first.headers.pairs if name.endswith("-Control")] == ["Cache-Control"] and first.headers.one("X-App") == "kept"
    again = inside.page("/")
    assert token_texts(again) == [] and again.headers.all("Cache-Control") == said and "Surrogate-Control" in again.headers


def test_a_response_with_our_header_is_private(room, origin):
    running = room()
    program = Visitor(running.address, cookies=False)
    program.carried["Fairway-Ticket"] = program.client("/").json["ticket"]
    origin.default = Answer(headers=(("Cache-Control", "public, max-age=60"),))
    for _ in range(2):
        answer = program.client("/")
        assert answer.status == 200 and answer.headers.one("Fairway-Pass") and answer.headers.one("Cache-Control") == "private, max-age=60"


def test_expires_and_add_header_do_not_make_it_public(room, origin):
    running = room(LOUD)
    inside = Visitor(running.address)
    assert inside.page("/").status == 200
    directives = inside.last.headers.one("Cache-Control").split(", ")
    assert directives[0] == "private" and sorted(directives[1:]) == ["max-age=3600", "max-age=600", "stale-while-revalidate=5"]
    assert not [name for name, _ in inside.last.headers.pairs if "cdn" in name.lower() or "surrogate" in name.lower()]
    again = inside.page("/")
    assert "public, max-age=600, s-maxage=900" in again.headers.all("Cache-Control") and "CDN-Cache-Control" in again.headers


def test_a_private_answer_when_the_application_ends_the_session(room, origin):
    running = room()
    inside = Visitor(running.address)
    inside.page("/")
    origin.on("/end", Answer(headers=(("Fairway-Session", "end"), ("Cache-Control", "public, max-age=60"))))
    assert inside.page("/end").headers.one("Cache-Control") == "private, max-age=60" and inside.jar == {}


# nginx's own cache in a location with a room


@pytest.mark.parametrize("carry", [True, False])
def test_the_cache_keeps_nothing_of_a_person(room, origin, carry):
    running = room(CACHED, capacity=2)
    origin.default = Answer(headers=(("Cache-Control", "public, max-age=60"),), body=b"for everybody")
    people = [Visitor(running.address, cookies=carry) for _ in range(3)]
    if not carry:
        for person in people:
            person.carried["Fairway-Ticket"] = person.client("/shop").json["ticket"]
    first, second = people[0].page("/shop"), people[1].page("/shop")
    assert [answer.headers.get("X-Cache") for answer in (first, second)] == ["MISS", "HIT"] and second.body == b"for everybody"
    for answer, person in ((first, people[0]), (second, people[1])):
        assert answer.headers.one("Cache-Control") == "private, max-age=60"
        assert person.passed.sid in repr(token_texts(answer)) and len({sid for _, text in token_texts(answer) for sid in re.findall(r"sale\.(\w{32})\.", text)}) == 1
    assert people[0].passed.sid != people[1].passed.sid and len(origin.requests) == 1
    held = people[2].page("/shop")
    assert held.status == 429 and "X-Cache" not in held.headers and b"everybody" not in held.body
    files = [file for file in (running.prefix / "temp/cache").rglob("*") if file.is_file()]
    assert len(files) == 1 and b"for everybody" in files[0].read_bytes() and b"fairway" not in files[0].read_bytes().lower()
    if carry:
        again = people[0].page("/shop")
        assert again.headers.get("X-Cache") == "HIT" and token_texts(again) == [] and again.headers.one("Cache-Control") == "public, max-age=60"


def test_a_cached_word_of_the_application_ends_nobodys_session(room, origin):
    running = room(CACHED, capacity=2)
    origin.on("/thanks", Answer(headers=(("Fairway-Session", "end"), ("Fairway-Cost", "9s"), ("X-App", "kept"))))
    first, second = Visitor(running.address), Visitor(running.address)
    first.page("/shop"), second.page("/shop")
    assert first.page("/thanks").headers.get("X-Cache") == "MISS" and first.jar == {}
    answer = second.page("/thanks")
    assert answer.headers.get("X-Cache") == "HIT" and answer.headers.one("X-App") == "kept" and token_texts(answer) == []
    assert second.passed and second.page("/shop").status == 200
    assert running.metrics().get("fairway_room_inside", room="sale") == 1


def test_a_stale_word_of_the_application_ends_nobodys_session(room, origin):
    """The cache speaks because the application cannot."""
    running = room(CACHED.replace("200 1h", "200 1s") + "proxy_cache_use_stale http_500;", capacity=2)
    origin.on("/thanks", Answer(headers=(("Fairway-Session", "end"),)))
    first, second = Visitor(running.address), Visitor(running.address)
    second.page("/shop")
    first.page("/thanks")
    origin.on("/thanks", Answer(status=500))
    time.sleep(2.1)
    answer = second.page("/thanks")
    assert answer.headers.get("X-Cache") == "STALE" and answer.status == 200 and second.page("/shop").status == 200


def test_a_revalidated_response(room, origin):
    running = room(CACHED.replace("200 1h", "200 1s") + "proxy_cache_revalidate on; etag on;", capacity=2)
    origin.on("/news", lambda seen: Answer(status=304 if "If-None-Match" in seen.headers else 200, headers=(("ETag", '"1"'),), body=b"" if "If-None-Match" in seen.headers else b"news"))
    first, second = Visitor(running.address), Visitor(running.address)
    assert first.page("/news").body == b"news"
    fresh = second.page("/news")
    assert fresh.headers.one("ETag") and fresh.headers.one("Cache-Control") == "private" and second.passed.sid in repr(token_texts(fresh))
    unchanged = first.client("/news", headers=[("If-None-Match", '"1"')])
    assert unchanged.status == 304 and token_texts(unchanged) == []


# Other filters


def test_gzip(room, origin):
    running = room(status=200)
    origin.default = Answer(headers=(("Content-Type", "text/html"),), body=b"hello " * 200)
    asks = [("Accept-Encoding", "gzip")]
    unpacked = lambda answer: gzip.decompress(answer.body) if answer.headers.get("Content-Encoding") == "gzip" else answer.body
    inside, waiter = Visitor(running.address), Visitor(running.address)
    answer = inside.page("/", headers=asks)
    assert answer.headers.one("Content-Encoding") == "gzip" and unpacked(answer) == b"hello " * 200 and inside.passed
    page = waiter.page("/", headers=asks)
    assert_ours(page, 200)
    assert unpacked(page).rstrip().endswith(b"</html>")
    status = waiter.request("GET", waiter.own("status"), asks)
    assert_ours(status, 200)
    assert b'"state":"waiting"' in unpacked(status)


def test_sub_filter_and_charset_leave_our_answers_alone(room, origin):
    running = room("sub_filter_once off; sub_filter sale shop; sub_filter </body> <script></script></body>; charset koi8-r;")
    origin.default = Answer(headers=(("Content-Type", "text/html"),), body=b"<body>sale</body>")
    inside, waiter = Visitor(running.address), Visitor(running.address)
    assert inside.page("/").body == b"<body>shop<script></script></body>"
    page = waiter.page("/")
    assert page.headers.one("Content-Type") == "text/html; charset=utf-8" and int(page.headers.one("Content-Length")) == len(page.body)
    assert "/__fairway/sale/status" in page.text and "<script></script></body>" not in page.text
    answer = request(running.address, "GET", "/", [("Accept", "application/json")])
    assert answer.json["room"] == "sale" and answer.json["ticket"].split(".")[3] == "sale"
