"""The console's page below `fairway_api`: its headers, what may run in it, and the previews of the visitor's pages."""

import base64
import hashlib
import re

import pytest

from harness.http1 import request
from harness.operator import ROOM


def get(running, path, method="GET", headers=()):
    return request(running.address_of(2), method, path, list(headers))


def directives(policy):
    return {name: words for name, *words in (part.split() for part in policy.split(";"))}


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_the_page_allows_its_own_script_and_nothing_else(operated):
    running, _ = operated()
    answer = get(running, "/fairway/")
    assert answer.status == 200 and answer.headers.one("Content-Type") == "text/html; charset=utf-8"
    assert answer.headers.one("Cache-Control") == "no-store" and answer.headers.one("X-Content-Type-Options") == "nosniff"
    assert "Set-Cookie" not in answer.headers
    policy = directives(answer.headers.one("Content-Security-Policy"))
    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert policy == {
        "default-src": ["'none'"], "script-src": [hash_of(script)], "style-src": [hash_of(style)], "img-src": ["data:"], "connect-src": ["'self'"],
        "frame-src": ["'self'"], "form-action": ["'none'"], "base-uri": ["'none'"], "frame-ancestors": ["'none'"],
    }


def test_the_page_names_no_other_host(operated):
    running, _ = operated()
    page = get(running, "/fairway/").text
    markup = re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=[\"']?([^\"'>]{0,20})", markup) == ["data:image/svg+xml,%"]
    named = set(re.findall(r"https?://[a-z0-9.-]+", page))
    assert named <= {"http://www.w3.org"}  # names of XML vocabularies, never asked for


def test_the_site_cannot_loosen_the_policy(operated):
    loose = ROOM.replace("fairway_api;", "fairway_api; add_header Content-Security-Policy \"default-src *\" always; expires 1h;")
    running, _ = operated(text=loose)
    answer = get(running, "/fairway/")
    assert "'none'" in answer.headers.one("Content-Security-Policy") and answer.headers.one("Cache-Control") == "no-store"
    assert "Expires" not in answer.headers


def test_head_and_wrong_methods(operated):
    running, _ = operated()
    page = get(running, "/fairway/")
    head = get(running, "/fairway/", "HEAD")
    assert (head.status, head.body, head.headers.one("Content-Length")) == (200, b"", str(len(page.body)))
    for path in ("/fairway/", "/fairway/preview/sale/waiting"):
        refused = get(running, path, "POST")
        assert refused.status == 405 and refused.headers.one("Allow") == "GET, HEAD"


@pytest.mark.parametrize("path", ["/fairway/rooms", "/fairway/api", "/fairway/preview/", "/fairway/preview/sale", "/fairway/preview/none/waiting", "/fairway/preview/sale/x",
                                  "/fairway/preview/sale/waiting/x", "/fairway/index.html"])
def test_nothing_else_is_there(operated, path):
    running, _ = operated()
    answer = get(running, path)
    assert answer.status == 404 and answer.headers.get("Content-Type") == "application/problem+json" and answer.json["detail"]


@pytest.mark.parametrize("page", ["waiting", "busy", "closed", "unavailable", "left", "cookies", "unprocessed"])
def test_previews_show_the_visitors_pages_and_make_nobody(operated, page):
    running, operator = operated('message "Back at <8>";')
    answer = get(running, f"/fairway/preview/sale/{page}", headers=[("Accept-Language", "de")])
    assert answer.status == (429 if page == "unprocessed" else 200)  # that one is never sent with success
    assert answer.headers.get("Content-Type") == "text/html; charset=utf-8" and 'lang="de"' in answer.text
    assert "Set-Cookie" not in answer.headers and "Fairway-Ticket" not in answer.headers
    assert answer.headers.one("Content-Security-Policy") != get(running, "/fairway/").headers.one("Content-Security-Policy")
    if page == "waiting":
        assert "Back at &#60;8&#62;" in answer.text or "Back at &lt;8&gt;" in answer.text
    shown = operator.get("rooms/sale")
    assert (shown["inside"], shown["waiting"]) == (0, 0)


def test_a_preview_shows_the_message_of_now(operated):
    running, operator = operated()
    operator.put("rooms/sale", {"message": "Doors open at noon"})
    assert "Doors open at noon" in get(running, "/fairway/preview/sale/waiting").text
