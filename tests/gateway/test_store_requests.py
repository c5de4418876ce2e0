"""Requests that wait for a shared store: bodies, HTTP/2, clients that leave, several gates in one request."""

from pathlib import Path

import pytest

from harness.http1 import Connection
from harness.http2 import Http2, Http2Visitor
from harness.limits import wait_until
from harness.origin import Answer
from harness.visitor import Visitor

TEXT = """
    fairway_store @STORE@ timeout=5s;
    waiting_room sale { capacity 3; poll_interval 100ms 100ms; polls_per_session 1000/s; refresh 0; }
    fair_queue app { concurrency 1; timeout 5s; }
    server { listen @LISTEN@; listen @LISTEN2@ http2; client_body_buffer_size 16k;
        location / { waiting_room sale; proxy_pass http://@ORIGIN@; add_header X-Room $waiting_room_state always; }
        location /both { waiting_room sale; fair_queue app; proxy_pass http://@ORIGIN@; }
        location /dry { waiting_room sale; fairway_dry_run on; proxy_pass http://@ORIGIN@; add_header X-Room $waiting_room_state always; }
        location /checked { waiting_room sale; auth_request /auth; proxy_pass http://@ORIGIN@; }
        location = /auth { internal; proxy_pass http://@ORIGIN@; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
        location /error { waiting_room sale; error_page 404 /missing; proxy_intercept_errors on; proxy_pass http://@ORIGIN@; }
    }
"""


@pytest.fixture
def running(gateway, origin, store):
    return gateway(TEXT, origin=origin, store=store.url, workers=2)


@pytest.fixture(params=["http/1.1", "http/2"])
def visitor(request, running):
    return Visitor(running.address) if request.param == "http/1.1" else Http2Visitor(running.address_of(2))


def is_held(server, client):
    """Whether the server still has its end of the connection from port `client` to port `server`."""
    entries = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = {(int(here.split(":")[1], 16), int(there.split(":")[1], 16)): state for here, there, state in entries}
    return ends.get((server, client)) in ("01", "08")  # established, or closed by the client alone


def cookies(visitor):
    return [("Cookie", "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.jar.values()))]


@pytest.mark.parametrize("size", [1, 5_000, 300_000])
def test_a_body_arrives_whole(visitor, origin, size):
    assert visitor.page("/").status == 200
    body = bytes(range(256)) * (size // 256 + 1)
    for path in ("/form", "/both"):
        assert visitor.client(path, "POST", body=body[:size]).status == 200
        assert origin.seen(path)[-1].body == body[:size]


def test_a_body_of_somebody_who_waits_is_thrown_away(visitor, running, origin):
    for _ in range(3):
        assert Visitor(running.address).page("/").status == 200
    assert visitor.page("/").status == 429
    assert visitor.client("/form", "POST", body=b"x" * 100_000).json["state"] == "waiting"
    assert origin.seen("/form") == []


def test_with_subrequests_and_error_pages(visitor, origin):
    origin.on("/error", Answer(status=404))
    assert visitor.page("/checked").status == 200
    assert visitor.page("/error").status in (200, 404) and origin.seen("/missing")
    assert len(origin.seen("/checked")) == 1


def test_dry_run_never_refuses(running, origin):
    visitors = [Visitor(running.address) for _ in range(5)]
    states = [[visitor.page("/dry").headers.one("X-Room") for _ in range(2)][1] for visitor in visitors]
    assert states == ["admitted"] * 3 + ["waiting"] * 2
    assert len(origin.seen("/dry")) == 10


def test_pipelined_requests(running):
    visitor = Visitor(running.address)
    visitor.page("/")
    with Connection(running.address) as connection:
        for number in range(10):
            connection.send_request("GET", f"/{number}", [*cookies(visitor), ("Accept", "text/html")])
        assert [connection.read_response().status for _ in range(10)] == [200] * 10


def test_streams_that_are_reset_while_the_store_is_asked(running, store, origin):
    visitor = Http2Visitor(running.address_of(2))
    assert visitor.page("/").status == 200
    headers = [(name, part) for name, value in cookies(visitor) for part in value.split("; ")] + [("Accept", "text/html")]
    store.pause()
    try:
        with Http2(running.address_of(2)) as connection:
            streams = [connection.start("GET", f"/stream{number}", headers) for number in range(20)]
            for stream in streams[::2]:
                connection.reset(stream)
            connection.settle()
            store.resume()
            assert [connection.wait(stream).status for stream in streams[1::2]] == [200] * 10
        store.pause()
        with Http2(running.address_of(2)) as connection:  # the whole connection goes
            for number in range(20):
                connection.start("GET", f"/gone{number}", headers)
            server, client = running.address_of(2)[1], connection.socket.getsockname()[1]
            connection.settle()
            assert is_held(server, client)
        wait_until(lambda: not is_held(server, client))
    finally:
        store.resume()
    wait_until(lambda: visitor.page("/").status == 200)
    assert not any(origin.seen(f"/gone{number}") for number in range(20))
    assert not any(origin.seen(f"/stream{number}") for number in range(0, 20, 2))


def test_one_process_that_serves(gateway, origin, store):
    running = gateway(TEXT, origin=origin, store=store.url, single=True)
    assert [Visitor(running.address).page("/").status for _ in range(4)] == [200, 200, 200, 429]


def test_a_worker_that_is_killed(running, store):
    visitors = [Visitor(running.address) for _ in range(5)]
    assert [visitor.page("/").status for visitor in visitors] == [200, 200, 200, 429, 429]
    for _ in range(2):
        running.kill_worker()
    assert visitors[3].status().json["rank"] == 1 and visitors[0].page("/").status == 200
    assert running.metrics().get("fairway_store_breaker_open") == 0
