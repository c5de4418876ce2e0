"""The room in front of every kind of application and connection: the flow is the same, and what is Fairway's never reaches the application."""

import re

import pytest

from harness.backends import FastCgi, Grpc, Uwsgi, grpc_message
from harness.http1 import Connection, format_request, request
from harness.http2 import Http2, Http2Visitor
from harness.origin import Answer
from harness.tls import client_context, server_context
from harness.visitor import CLIENT, PAGE, Visitor

CGI = "REQUEST_METHOD $request_method; @P@_param REQUEST_URI $request_uri; @P@_param CONTENT_TYPE $content_type; @P@_param CONTENT_LENGTH $content_length"
ROOM = """
    waiting_room sale { capacity 1; polls_per_session 1000/s; @SETTINGS@ }
    map $http_upgrade $connection_word { default close; websocket upgrade; }
    ssl_certificate @CERT@; ssl_certificate_key @KEY@;
    client_body_buffer_size 16k; proxy_http_version 1.1;
    server { listen @LISTEN@; listen @LISTEN2@ http2; listen @LISTEN3@ ssl http2;
        waiting_room sale; root @PREFIX@/files;
        location /proxy { proxy_pass http://@ORIGIN@; }
        location /variable { set $app @ORIGIN@; proxy_pass http://$app; }
        location /explicit { proxy_set_header Cookie $http_cookie; proxy_pass http://@ORIGIN@; }
        location /unbuffered { proxy_request_buffering off; proxy_pass http://@ORIGIN@; }
        location /socket { proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_word; proxy_pass http://@ORIGIN@; }
        @MORE@
    }
"""


@pytest.fixture
def room(gateway, origin, certificate):
    def make(settings="", more="", **options):
        values = {"settings": settings, "more": more, "origin": origin, **options}
        return gateway(ROOM, cert=certificate[0], key=certificate[1], **values)

    return make


@pytest.fixture
def backend():
    """backend(kind): a running application of harness.backends."""
    started = []

    def make(kind):
        started.append(kind().start())
        return started[-1]

    yield make
    for one in started:
        one.stop()


@pytest.fixture(params=["http/1.1", "h2c", "https", "h2"])
def people(request, certificate):
    """people(gateway, **options): a visitor that uses one of the protocols."""
    kind = Http2Visitor if request.param in ("h2c", "h2") else Visitor
    port = {"http/1.1": 1, "h2c": 2, "https": 3, "h2": 3}[request.param]
    tls = client_context(certificate[0], ("h2",) if request.param == "h2" else ("http/1.1",)) if port == 3 else None
    make = lambda running, **options: kind(running.address_of(port), tls=tls, **options)
    make.secure = tls is not None
    return make


def assert_clean(application):
    """The application saw requests, and nothing of Fairway in them."""
    assert application.requests
    for seen in application.requests:
        text = repr(seen.headers).lower()
        assert "fairway" not in text and "v1." not in text, text


def check_flow(running, application, person, path):
    """In, in line, a session ended by the application, and the next one in its place."""
    application.on(f"{path}/end", Answer(headers=(("Fairway-Session", "end"), ("Fairway-Cost", "1ms"), ("X-App", "yes"))))
    inside, waiter = person(), person()
    for visitor in (inside, waiter):
        visitor.set_cookie("theme", "dark")
    assert inside.page(path).status == 200 and inside.last.headers.get("Cache-Control") == "private"
    assert inside.page(path).headers.get("Cache-Control") is None
    waiting = waiter.page(path)
    assert waiting.status == 429 and waiting.headers.one("Cache-Control") == "no-store" and waiter.client(path).json["rank"] == 1
    small, large = b"field=1", bytes(range(256)) * 1200
    assert waiter.client(path, "POST", body=large).status == 429 and waiter.client(path, "POST", body=small).status == 429
    for body in (small, large):
        assert inside.client(path, "POST", body=body).status == 200 and application.requests[-1].body == body
    assert inside.client(path, "PUT", [("Fairway-Ticket", "x"), ("Fairway-Else", "x")], small).status == 200
    ended = inside.page(f"{path}/end")
    assert ended.status == 200 and ended.headers.one("X-App") == "yes" and sorted(inside.jar) == ["theme"]
    assert not [name for name, _ in ended.headers.pairs if name.lower().startswith("fairway")]
    assert waiter.status().json["state"] == "admitted" and waiter.page(path).status == 200
    assert_clean(application)
    assert {seen.headers.get("Cookie") for seen in application.requests} == {"theme=dark"}
    assert [seen.path for seen in application.requests] == [path] * 5 + [f"{path}/end", path]
    return inside, waiter


@pytest.mark.parametrize("path", ["/proxy", "/variable", "/explicit", "/unbuffered"])
def test_http_applications(room, origin, people, path):
    running = room()
    _, waiter = check_flow(running, origin, lambda: people(running), path)
    assert [("secure" in cookie.attributes) for name, cookie in sorted(waiter.jar.items()) if name != "theme"] == [people.secure] * 2


def test_an_https_application(room, make_origin, certificate, people):
    application = make_origin(tls=server_context(*certificate))
    running = room(more=f"location /secret {{ proxy_pass https://{application}; }}")
    check_flow(running, application, lambda: people(running), "/secret")


@pytest.mark.parametrize("kind,protocol", [(FastCgi, "fastcgi"), (Uwsgi, "uwsgi")])
def test_cgi_applications(room, backend, people, kind, protocol):
    application = backend(kind)
    parameters = f"{protocol}_param {CGI.replace('@P@', protocol)};"
    running = room(more=f"location /cgi {{ {parameters} {protocol}_pass {application}; }}")
    check_flow(running, application, lambda: people(running), "/cgi")


@pytest.mark.parametrize("port", [1, 2])
def test_a_grpc_application(room, backend, port):
    """Programs call it: no pages, tokens in headers, and a held call is a plain HTTP answer."""
    application = backend(Grpc).on("/shop.Cart/Close", Answer(headers=(("fairway-session", "end"),)))
    running = room(more=f"location /shop.Cart/ {{ grpc_pass grpc://{application}; }}")
    kind = Visitor if port == 1 else Http2Visitor
    call = [("Content-Type", "application/grpc"), ("TE", "trailers")]
    inside, waiter = (kind(running.address_of(port), cookies=False) for _ in range(2))
    message = grpc_message(b"x" * 70000)
    for person, status in ((inside, 200), (waiter, 429)):
        first = person.client("/shop.Cart/Add", "POST", call, message).json
        assert first["state"] == "unknown"
        person.carried["Fairway-Ticket"] = first["ticket"]
        answer = person.client("/shop.Cart/Add", "POST", call, message)
        assert answer.status == status and ("Fairway-Pass" in answer.headers) == (status == 200)
    assert answer.json["rank"] == 1
    ended = inside.client("/shop.Cart/Close", "POST", call, grpc_message(b""))
    assert (ended.status, ended.body) == (200, grpc_message(b"ok")) and "Fairway-Session" not in ended.headers
    assert waiter.status().json["state"] == "admitted" and waiter.client("/shop.Cart/Add", "POST", call, message).status == 200
    assert inside.client("/shop.Cart/Add", "POST", call, message).status == 429
    assert [seen.path for seen in application.requests] == ["/shop.Cart/Add", "/shop.Cart/Close", "/shop.Cart/Add"]
    assert application.requests[-1].body == message
    assert_clean(application)


FILES = """
    location /static/ { }
    location /try/ { try_files $uri /static/page.html; }
    location /named/ { try_files $uri @app; }
    location @app { proxy_pass http://@ORIGIN@; }
    location /accel { proxy_pass http://@ORIGIN@; }
    location /private/ { internal; alias @PREFIX@/files/static/; }
    location /error/ { error_page 404 = @app; }
    location /intercept { proxy_intercept_errors on; error_page 500 /static/page.html; proxy_pass http://@ORIGIN@; }
    location = /auth { internal; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_pass http://@ORIGIN@; }
    location /guarded/ { auth_request /auth; alias @PREFIX@/files/static/; }
"""


@pytest.mark.parametrize("path,status,body", [
    ("/static/page.html", 200, b"a page"), ("/try/none", 200, b"a page"), ("/named/none", 200, b"ok"), ("/accel", 200, b"a page"),
    ("/error/none", 200, b"ok"), ("/intercept", 500, b"a page"), ("/guarded/page.html", 200, b"a page"),
])
def test_files_and_internal_redirects(make_gateway, origin, certificate, people, path, status, body):
    running = make_gateway(ROOM, cert=certificate[0], key=certificate[1], settings="", more=FILES, origin=origin)
    (running.prefix / "files/static").mkdir(parents=True)
    (running.prefix / "files/static/page.html").write_text("a page")
    running.start()
    origin.on("/accel", Answer(headers=(("X-Accel-Redirect", "/private/page.html"), ("Fairway-Session", "end"))))
    origin.on("/intercept", Answer(status=500, headers=(("Fairway-Session", "end"),)))
    inside, waiter = people(running), people(running)
    assert (inside.page(path).status, inside.last.body) == (status, body)
    if path in ("/accel", "/intercept"):  # what the application said counts, whoever writes the response in the end
        assert inside.jar == {} and inside.page("/static/page.html").status == 200
    else:
        assert inside.last.headers.get("Cache-Control") == "private"
    assert waiter.page(path).status == 429 and "a page" not in waiter.last.text
    head = inside.page("/static/page.html", method="HEAD")
    assert (head.status, head.body, head.headers.one("Content-Length")) == (200, b"", "6")
    unchanged = inside.client("/static/page.html", headers=[("If-None-Match", head.headers.one("ETag"))])
    assert unchanged.status == 304
    assert all("fairway" not in repr(seen.headers).lower() for seen in origin.requests)


def test_head_while_waiting(room, people):
    running = room()
    inside, waiter = people(running), people(running)
    inside.page("/proxy"), waiter.page("/proxy")
    page = waiter.page("/proxy")
    head = waiter.page("/proxy", method="HEAD")
    assert (head.status, head.body) == (429, b"") and int(head.headers.one("Content-Length")) == len(page.body)
    first = people(running).page("/proxy", method="HEAD", follow=False)
    assert (first.status, first.body) == (302, b"") and first.location == "/__fairway/sale/check?to=/proxy"


# HTTP/1.1 on the wire


def inside_of(running, path="/proxy"):
    inside = Visitor(running.address)
    assert inside.page(path).status == 200
    return inside, ("Cookie", "; ".join(f"{name}={cookie.value}" for name, cookie in inside.jar.items()))


def test_a_connection_goes_on_after_held_bodies(room, origin):
    running = room()
    _, cookie = inside_of(running)
    origin.clear()
    large = b"x" * 300_000
    with Connection(running.address) as connection:
        for headers, body, status in [((), large, 429), ((cookie,), large, 200), ((), b"a=1", 429), ((cookie,), b"a=1", 200)]:
            assert connection.request("POST", "/proxy", headers, body).status == status
            assert connection.request("GET", "/__fairway/health").text == "ok\n"
    assert [seen.body for seen in origin.requests] == [large, b"a=1"]


def chunked(body, size):
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("size", [3, 100_000])
def test_chunked_bodies(room, origin, size):
    running = room()
    _, cookie = inside_of(running)
    body = b"0123456789" * (2 if size == 3 else 30_000)
    with Connection(running.address) as connection:
        for headers, status in (((), 429), ((cookie,), 200), ((), 429)):
            answer = connection.request("POST", "/proxy", [*headers, ("Transfer-Encoding", "chunked")], chunked(body, size))
            assert answer.status == status
    assert origin.requests[-1].body == body


def test_pipelined_requests(room, origin):
    running = room()
    _, cookie = inside_of(running)
    origin.clear()
    with Connection(running.address) as connection:
        asked = [("GET", "/proxy/1", [], b""), ("POST", "/proxy/2", [], b"x" * 5000), ("GET", "/proxy/3", [cookie], b""), ("POST", "/proxy/4", [cookie], b"y"),
                 ("GET", "/__fairway/sale/status", [cookie], b""), ("GET", "/proxy/5", [], b"")]
        connection.send(b"".join(format_request(*one) for one in asked))
        answers = [connection.read_response() for _ in asked]
    assert [answer.status for answer in answers] == [429, 429, 200, 200, 200, 429]
    assert answers[4].json["state"] == "admitted" and [seen.target for seen in origin.requests] == ["/proxy/3", "/proxy/4"]


def test_expect_100_continue(room, origin):
    running = room()
    _, cookie = inside_of(running)
    body = b"x" * 1000
    announced = [("Expect", "100-continue"), ("Content-Length", "1000")]
    with Connection(running.address) as connection:
        connection.send_request("POST", "/proxy", announced)
        assert connection.reader.peek(12).startswith(b"HTTP/1.1 429")  # nobody reads the body, so nobody asks for it
        assert connection.read_response("POST").status == 429
    with Connection(running.address) as connection:
        connection.send_request("POST", "/proxy", [*announced, cookie])
        assert connection.reader.readline() == b"HTTP/1.1 100 Continue\r\n" and connection.reader.readline() == b"\r\n"
        connection.send(body)
        assert connection.read_response("POST").status == 200
    assert origin.requests[-1].body == body


def test_a_websocket_needs_a_pass(room, origin):
    running = room()
    _, cookie = inside_of(running)
    origin.on("/socket", Answer(kind="websocket", greeting=b"welcome"))
    handshake = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
    with Connection(running.address) as connection:
        assert connection.request("GET", "/socket", handshake).json["state"] == "unknown"
    with Connection(running.address) as connection:
        answer = connection.request("GET", "/socket", [*handshake, cookie])
        assert answer.status == 101 and answer.headers.one("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        assert connection.reader.read(7) == b"welcome"
        connection.send(b"echo this")
        assert connection.reader.read(9) == b"echo this"
    assert_clean(origin)


def test_cookies_in_several_headers(room, origin):
    running = room()
    inside, _ = inside_of(running)
    ours = [f"{name}={cookie.value}" for name, cookie in inside.jar.items()]
    origin.clear()
    lines = [("Cookie", line) for line in ("a=1", ours[0], f"b=2; {ours[1]}", "c=3")]
    assert request(running.address, "GET", "/proxy", lines).status == 200
    assert origin.requests[-1].headers.all("Cookie") == ["a=1", "b=2", "c=3"]
    with Http2(running.address_of(2)) as connection:
        crumbs = [("cookie", crumb) for crumb in ("a=1", *ours, "b=2", "c=3")]
        assert connection.request("GET", "/proxy", crumbs).status == 200
        assert connection.request("GET", "/proxy", [("cookie", crumb) for crumb in ours]).status == 200
    assert origin.requests[-2].headers.one("Cookie") == "a=1; b=2; c=3" and "Cookie" not in origin.requests[-1].headers


def test_streams_of_one_http2_connection_are_decided_one_by_one(room, origin):
    running = room()
    inside, _ = inside_of(running)
    ours = [("cookie", f"{name}={cookie.value}") for name, cookie in inside.jar.items()]
    with Http2(running.address_of(2)) as connection:
        streams = [connection.start("POST" if n % 3 else "GET", "/proxy", ours if n % 2 else [], b"x" * 20_000 if n % 3 else b"") for n in range(30)]
        assert [connection.wait(stream).status for stream in streams] == [200 if n % 2 else 429 for n in range(30)]


# The page


@pytest.mark.parametrize("asked,language", [("de", "de"), ("ja-JP, en;q=0.8", "ja"), ("tlh, fr;q=0.9, en;q=0.5", "fr"), ("xx", "en"), ("", "en")])
def test_the_page_speaks_the_language_asked_for(room, asked, language):
    running = room()
    Visitor(running.address).page("/proxy")
    waiter = Visitor(running.address, language=asked)
    page = waiter.page("/proxy")
    assert page.status == 429 and f'<html lang="{language}"' in page.text
    assert {"de": "Warte", "ja": "お待", "fr": "attente", "en": "line"}[language] in page.text
    left = waiter.page(waiter.own("left"))
    assert f'<html lang="{language}"' in left.text


def test_the_page_works_without_script(room):
    running = room()
    inside, waiter = Visitor(running.address), Visitor(running.address)
    inside.page("/proxy")
    page = waiter.page("/proxy")
    noscript = "".join(page.text.split("<noscript>")[1:])
    assert f'<meta http-equiv="refresh" content="{page.headers.one("Retry-After")}"' in noscript.split("</noscript>")[0]
    form = page.text[page.text.index("<form") :].split(">")[0]
    assert 'method="post"' in form and 'action="/__fairway/sale/leave"' in form
    assert not re.search(r"<(script|link|img|iframe|use)[^>]*\s(src|href)=(?!\W?data:)|url\((?!#)|@import", page.text)
    answer = waiter.page(waiter.own("leave"), method="POST", headers=[("Sec-Fetch-Site", "same-origin")], follow=False)
    assert (answer.status, answer.location) == (303, "/__fairway/sale/left") and waiter.jar == {}
    assert waiter.page(answer.location).status == 200 and running.metrics().get("fairway_room_waiting", room="sale") == 0
    unprocessed = Visitor(running.address).page("/proxy", method="POST", headers=PAGE[:1], body=b"a=1")
    assert unprocessed.status == 429 and "http-equiv=\"refresh\"" not in unprocessed.text
    assert Visitor(running.address).client("/proxy", headers=CLIENT).json["ticket"]
