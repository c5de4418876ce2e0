"""How the API takes requests: methods, types, sizes, other sites' pages, bad JSON; and where it can be."""

import json
import socket
import time

import pytest

from harness.http1 import Connection, request
from harness.limits import wait_until
from harness.nginx import check
from harness.operator import ROOM, Operator
from harness.visitor import Visitor

JSON = [("Content-Type", "application/json")]


@pytest.mark.parametrize("method, path, allow", [
    ("POST", "rooms", "GET, HEAD"), ("PATCH", "rooms/sale", "GET, HEAD, PUT, DELETE"), ("OPTIONS", "rooms/sale", "GET, HEAD, PUT, DELETE"),
    ("GET", "rooms/sale/mode", "POST"), ("PUT", "rooms/sale/evict", "POST"), ("DELETE", "queues/app", "GET, HEAD, PUT"), ("PUT", "health", "GET, HEAD"),
    ("BREW", "events", "GET, HEAD"), ("DELETE", "openapi.json", "GET, HEAD"),
])
def test_wrong_methods(operated, method, path, allow):
    _, operator = operated()
    answer = operator.call(method, path)
    assert answer.status == 405 and answer.headers.one("Allow") == allow and allow in answer.json["detail"]


@pytest.mark.parametrize("path", ["", "room", "rooms/", "rooms/sale/", "rooms/sale/modes", "rooms/sale/mode/x", "Rooms", "x" * 2000, "rooms/%2e%2e%2fx/y"])
def test_unknown_paths(operated, path):
    _, operator = operated()
    assert "api/openapi.json" in operator.refused(404, "GET", path)["detail"]


@pytest.mark.parametrize("path", ["rooms/none", "rooms/SALE", "rooms/none/history", "queues/none", "queues/none/flows", "queues//flows", "queues/none/history"])
def test_unknown_names(operated, path):
    _, operator = operated()
    assert "of that name" in operator.refused(404, "GET", path)["detail"]


@pytest.mark.parametrize("method, path", [("POST", "rooms/none/mode"), ("POST", "rooms/none/evict"), ("DELETE", "rooms/none"), ("PUT", "queues/none")])
def test_unknown_names_in_changes(operated, method, path):
    _, operator = operated()
    assert "of that name" in operator.refused(404, method, path, {"mode": "hold"})["detail"]


def test_every_status_has_its_phrase(operated):
    _, operator = operated()
    assert operator.call("PUT", "rooms/sale", {"capacity": -1}).reason == "Unprocessable Content"
    assert operator.call("PUT", "rooms/none-", {}, headers=[("If-Match", "x")]).reason == "Precondition Failed"
    assert operator.call("PUT", "rooms/sale", {"capacity": 1}).reason == "OK"


def test_head(operated):
    running, operator = operated()
    answer = request(operator.address, "HEAD", "/fairway/api/rooms/sale")
    assert answer.status == 200 and answer.body == b"" and answer.headers.one("ETag")


@pytest.mark.parametrize("headers", [
    [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")], [("Origin", "https://evil.example")], [("Origin", "null")],
    [("Origin", "http://localhost:9"), ("Host", "localhost:8")],
    [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://localhost")],
])
@pytest.mark.parametrize("method, path, body", [("PUT", "rooms/sale", {"capacity": 5}), ("POST", "rooms/sale/evict", {"all": True}), ("DELETE", "rooms/sale", None)])
def test_changes_from_other_sites_are_refused(operated, method, path, body, headers):
    running, operator = operated()
    Visitor(running.address).page("/")
    assert "another site" in operator.refused(403, method, path, body, headers=headers)["detail"]
    shown = operator.get("rooms/sale")
    assert (shown["settings"]["capacity"], shown["inside"]) == (1, 1)


@pytest.mark.parametrize("headers", [[("Sec-Fetch-Site", "same-origin")], [("Sec-Fetch-Site", "none")], [("Origin", "http://localhost")], []])
def test_changes_from_here_are_taken(operated, headers):
    _, operator = operated()
    assert operator.put("rooms/sale", {"capacity": 5}, headers=headers)["settings"]["capacity"] == 5


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "", "text/json"])
def test_the_body_must_be_called_json(operated, kind):
    _, operator = operated()
    assert "application/json" in operator.refused(415, "PUT", "rooms/sale", {"capacity": 5}, headers=[("Content-Type", kind)])["detail"]


def test_a_type_with_parameters(operated):
    _, operator = operated()
    operator.put("rooms/sale", {"capacity": 5}, headers=[("Content-Type", "Application/JSON ; charset=utf-8")])


@pytest.mark.parametrize("raw, said", [
    (b"", "is not JSON: it ends too early, after 0 bytes."), (b"{", "it ends too early, after 1 byte."), (b'{"capacity": 5', "it ends too early, after 14 bytes."), (b'{"capacity": 5}}', "goes wrong at byte 16 of 16."), (b'{"capacity": 05}', "at byte"), (b"capacity=5", "at byte 1"),
    (b"[]", "must be a JSON object"), (b"5", "must be a JSON object"), (b"null", "must be a JSON object"), (b'"x"', "must be a JSON object"),
    (b'{"message": "\xff"}', "at byte"), (b'{"message": "a\nb"}', "at byte"), (b"[" * 60_000, "it ends too early, after 60000 bytes."), (b'{"a":' * 10_000, "is not JSON"),
    (b'{"capacity": 5} x', "at byte"), (b'{"capacity": NaN}', "at byte"), (b"\xef\xbb\xbf[]", "must be a JSON object"),
])
def test_bad_json_gets_a_sentence(operated, raw, said):
    _, operator = operated()
    assert said in operator.refused(400, "PUT", "rooms/sale", raw=raw)["detail"]


def test_large_bodies(operated):
    _, operator = operated()
    whole = json.dumps({"message": "x"}).encode()
    assert operator.call("PUT", "rooms/sale", raw=whole + b" " * (65536 - len(whole))).status == 200
    assert "65536" in operator.refused(413, "PUT", "rooms/sale", raw=whole + b" " * (65537 - len(whole)))["detail"]
    assert operator.refused(413, "PUT", "rooms/sale", raw=b" " * 3_000_000)
    assert operator.refused(413, "DELETE", "rooms/sale", raw=b" " * 70_000)


def test_a_body_of_unknown_length(operated):
    _, operator = operated()
    for method in ("PUT", "POST", "DELETE"):
        with Connection(operator.address) as connection:
            connection.send(f"{method} /fairway/api/rooms/sale{'/mode' if method == 'POST' else ''} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode())
            answer = connection.read_response()
        assert answer.status == 411 and "Content-Length" in answer.json["detail"]
    with Connection(operator.address) as connection:
        connection.send(b"PUT /fairway/api/rooms/sale HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n")
        assert connection.read_response().status == 411


def test_a_slow_body_and_one_that_never_comes(operated):
    _, operator = operated()
    with Connection(operator.address) as slow, Connection(operator.address) as gone:
        for connection in (slow, gone):
            connection.send(b"PUT /fairway/api/rooms/sale HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"capa")
        time.sleep(0.2)
        gone.reset()
        slow.send(b'city": 7}')
        assert slow.read_response().json["settings"]["capacity"] == 7


def test_a_body_that_comes_after_a_reload_is_not_judged_by_the_old_file(operated):
    running, operator = operated(workers=2)
    with Connection(operator.address) as slow:
        slow.send(b"PUT /fairway/api/rooms/sale HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"refr")
        wait_until(lambda: len(running.workers()) == 2)
        running.reload(running.http.replace("capacity 1;", "capacity 1; session_timeout 1m;"))
        slow.send(b'esh": "2m"}')
        answer = slow.read_response()
    assert (answer.status, answer.headers.get("Retry-After"), answer.headers.get("Content-Type")) == (503, "2", "application/problem+json")
    assert "reloaded" in answer.json["detail"] and operator.get("rooms/sale")["file"] == {}
    assert operator.refused(422, "PUT", "rooms/sale", {"refresh": "2m"})["field"] == "refresh"
    assert operator.put("rooms/sale", {"refresh": "20s"})["settings"]["refresh"] == "20s"


def test_a_caller_that_leaves_before_the_answer(operated):
    running, operator = operated()
    Visitor(running.address).page("/")

    def ended():
        connection = Connection(operator.address)
        connection.send_request("POST", "/fairway/api/rooms/sale/evict", JSON, b'{"all": true}')
        connection.reset()
        return operator.get("rooms/sale")["inside"] == 0

    for _ in range(20):
        ended()
    wait_until(ended)  # what is reset before it was read is never done


def test_answers_are_private_and_inert(operated):
    _, operator = operated()
    for answer in (operator.call("GET", "rooms"), operator.call("GET", "nothing")):
        assert answer.headers.one("X-Content-Type-Options") == "nosniff" and "default-src 'none'" in answer.headers.one("Content-Security-Policy")
        assert "Set-Cookie" not in answer.headers and "Access-Control-Allow-Origin" not in answer.headers


def test_visitors_cannot_reach_it(operated):
    running, operator = operated()
    for path in ("/__fairway/sale/api/rooms", "/__fairway/api/rooms", "/__fairway/rooms/sale"):
        assert request(running.address, "GET", path).status == 404
    visitor = Visitor(running.address)
    visitor.page("/")
    for path in ("/fairway/api/rooms", "/api/rooms"):
        assert visitor.request("PUT", path, JSON, b'{"capacity": 9}').headers.get("X-Room", "").startswith("pass")
    assert operator.get("rooms/sale")["settings"]["capacity"] == 1


def test_it_is_never_subject_to_a_room_or_a_queue(gateway, origin):
    running = gateway("""waiting_room sale { capacity 0; } fair_queue app { concurrency 1; }
        server { listen @LISTEN@; waiting_room sale; fair_queue app;
                 location / { proxy_pass http://@ORIGIN@; } location /fairway/ { fairway_api; } location /deeper/fairway/ { fairway_api; } }""", origin=origin)
    assert Operator(running, address=running.address).get("rooms/sale")["waiting"] == 0
    assert Operator(running, "/deeper/fairway/", running.address).get("rooms/sale")["waiting"] == 0
    assert request(running.address, "GET", "/x").status == 429


def test_nginx_guards_it(gateway, origin):
    running = gateway(ROOM.replace("@SETTINGS@", "").replace("fairway_api;", "fairway_api; deny all;"), origin=origin)
    assert request(running.address_of(2), "GET", "/fairway/api/rooms").status == 403


def test_http2(operated):
    from harness.http2 import Http2
    running, operator = operated(text=ROOM.replace("listen @LISTEN2@;", "listen @LISTEN2@; listen @LISTEN3@ http2;"))
    with Http2(running.address_of(3)) as client:
        assert client.request("GET", "/fairway/api/rooms/sale").status == 200
        answer = client.request("PUT", "/fairway/api/rooms/sale", [*JSON, ("content-length", "15")], b'{"capacity": 5}')
        assert answer.status == 200 and answer.json["settings"]["capacity"] == 5
        assert client.request("PUT", "/fairway/api/rooms/sale", JSON, b'{"capacity": 6}').status == 411
    assert operator.get("rooms/sale")["settings"]["capacity"] == 5


@pytest.mark.parametrize("text, words", [
    ("location = /fairway { fairway_api; }", "needs a location whose path ends with a slash"),
    ("location /fairway { fairway_api; }", "needs a location whose path ends with a slash"),
    ("location ~ ^/fairway/ { fairway_api; }", "needs a location whose path ends with a slash"),
    ("location /fairway/ { fairway_api; fairway_api; }", "is duplicate"),
    ("location /fairway/ { fairway_api; fairway_metrics; }", "needs a location of its own"),
    ("location /fairway/ { fairway_api on; }", "invalid number of arguments"),
])
def test_places_where_it_cannot_be(make_gateway, text, words):
    status, output = check(make_gateway(f"server {{ listen @LISTEN@; {text} }}", control=False))
    assert status == 1 and words in output


def test_it_is_the_same_inside_if(gateway, origin):
    running = gateway(ROOM.replace("@SETTINGS@", "").replace("fairway_api;", 'fairway_api; if ($arg_x) { set $y 1; }'), origin=origin)
    assert request(running.address_of(2), "GET", "/fairway/api/rooms/sale?x=1").json["name"] == "sale"


def test_two_operators_at_once_lose_nothing(operated):
    import threading
    running, operator = operated(workers=3)
    fields = [("capacity", 5), ("max_waiting", 77), ("rate", "9/s"), ("message", "x"), ("return_grace", "9m"), ("abandon_timeout", "2m")]
    results = []
    threads = [threading.Thread(target=lambda n=name, v=value: results.append(operator.call("PUT", "rooms/sale", {n: v}).status)) for name, value in fields]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200] * len(fields)
    shown = operator.get("rooms/sale")["settings"]
    assert {name: shown[name] for name, _ in fields} == dict(fields)
    written = json.loads((running.state / "settings").read_text())["rooms"]["sale"]["fields"]
    assert {name: value["value"] for name, value in written.items()} == {name: str(value) for name, value in fields}


def test_it_works_over_a_unix_socket_and_without_any_room(gateway):
    running = gateway("server { listen @LISTEN@; } server { listen unix:@PREFIX@/api.sock; location /fairway/ { fairway_api; } }")
    operator = Operator(running, address=running.prefix / "api.sock")
    assert operator.get("rooms") == {"rooms": []} and operator.get("queues") == {"queues": []}
    operator.put("rooms/a", {"capacity": 1}, status=201)
    assert operator.get("events")["events"][0]["from"] == "a unix socket"


def test_a_single_process(operated):
    running, operator = operated(single=True)
    assert operator.put("rooms/sale", {"capacity": 5})["settings"]["capacity"] == 5
    running.restart()
    assert operator.get("rooms/sale")["settings"]["capacity"] == 5


def test_hostile_bytes_in_a_request(operated):
    running, operator = operated()
    for target in ("/fairway/api/rooms/%00", "/fairway/api/rooms/%ff%fe", "/fairway/api/rooms/" + "%41" * 3000, "/fairway/api/rooms/sale?top=%ff", "/fairway/api/rooms?" + "a" * 6000):
        assert request(operator.address, "GET", target).status in (200, 400, 404, 414)
    with socket.create_connection(operator.address) as raw:
        raw.sendall(b"PUT /fairway/api/rooms/sale HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"capacity\": 5}")
        assert b" 200 " in raw.recv(200)
