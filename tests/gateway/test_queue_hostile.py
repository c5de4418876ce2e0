"""Attacks on the fair queue: error pages in every phase, other upstream work beside the request's own."""

import socket
import time

import pytest

from harness.http1 import Connection, request
from harness.http2 import Http2
from harness.limits import scaled, wait_until
from harness.origin import Answer
from harness.queued import LOG, Pending, patient

QUEUE = LOG + """
    proxy_http_version 1.1;
    proxy_cache_path @PREFIX@/cache keys_zone=c:1m;
    fair_queue app { concurrency 1; @SETTINGS@ }
    server { listen @LISTEN@; listen @LISTEN2@ http2; fair_queue app; client_max_body_size 1k; access_log @PREFIX@/turns.log turn;
        location / { proxy_pass http://@ORIGIN@; }
        location /off { fair_queue off; proxy_pass http://@ORIGIN@; }
        @LOCATIONS@
    }
"""


@pytest.fixture
def queue(gateway, origin):
    def make(settings="", locations="", **options):
        text = QUEUE.replace("@SETTINGS@", patient(settings)).replace("@LOCATIONS@", locations)
        return gateway(text, origin=origin, **options)

    origin.on("/held", Answer(hold=True))
    return make


def running(gateway):
    return gateway.metrics().get("fairway_queue_running", queue="app")


# 413 is found while the body comes in; the site's own page for it is written by the application, in a location of the same queue.
@pytest.mark.parametrize("body", [b"800\r\n" + b"x" * 0x800 + b"\r\n0\r\n\r\n", b"zz\r\n"], ids=["413", "400"])
def test_a_body_that_goes_wrong_half_way_and_an_error_page_of_the_application(queue, origin, body):
    gateway = queue(locations="error_page 400 413 /sorry; location = /sorry { proxy_pass http://@ORIGIN@; }")
    with Connection(gateway.address) as client:
        client.send(b"POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        time.sleep(0.2)
        client.send(body)
        response = client.read_response("POST")
    assert response.status in (400, 413)
    wait_until(lambda: running(gateway) == 0)


@pytest.mark.parametrize("pause", [0, 0.05], ids=["found at once", "found later"])
@pytest.mark.parametrize("end", ["read", "half", "rst"])
def test_what_follows_a_body_that_went_wrong_does_not_end_its_request_twice(queue, origin, pause, end):
    """The error page's request holds a slot and must not be read from any more: nginx would say `http request count is zero`."""
    origin.on("/sorry", Answer(delay=0.05))
    gateway = queue(locations="""error_page 400 413 /sorry;
        location = /sorry { proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_pass http://@ORIGIN@; }""")
    for _ in range(5):
        with Connection(gateway.address) as client:
            client.send(b"POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" if pause else b"")
            time.sleep(pause)
            client.send((b"" if pause else b"POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n") + b"800\r\n" + b"x" * 0x800 + b"\r\n")
            time.sleep(0.01)
            client.send(b"800\r\n" + b"x" * 0x800 + b"\r\n0\r\n\r\n")
            if end == "rst":
                client.reset()
                continue
            if end == "half":
                client.socket.shutdown(socket.SHUT_WR)
            assert client.read_response("POST").status == 413
    wait_until(lambda: running(gateway) == 0)


def test_http2_body_too_large_half_way(queue, origin):
    gateway = queue(locations="error_page 413 /sorry; location = /sorry { proxy_pass http://@ORIGIN@; }")
    with Http2(gateway.address_of(2)) as client:
        stream = client.start("POST", "/upload", body=b"x" * 5000)
        assert client.wait(stream).status == 413
    wait_until(lambda: running(gateway) == 0)


@pytest.mark.parametrize("where", ["location = /sorry { fair_queue off; root @PREFIX@/pages; }", "location = /sorry { fair_queue off; proxy_pass http://@ORIGIN@; }"])
def test_a_refusal_keeps_its_retry_after_whatever_writes_the_page(queue, origin, where):
    gateway = queue("size 0;", locations="error_page 503 /sorry; " + where)
    (gateway.prefix / "pages").mkdir()
    (gateway.prefix / "pages").chmod(0o755)
    (gateway.prefix / "pages" / "sorry").write_text("sorry")
    held = Pending(gateway.address, "/held")
    wait_until(lambda: origin.running == 1)
    response = request(gateway.address, "GET", "/x")
    origin.release()
    assert held.response().status == 200
    assert response.status == 503 and response.headers.get("Retry-After")


def test_background_updates_of_a_cache_are_at_the_application_beside_those_with_slots(queue, origin):
    gateway = queue(locations="""location /cached { proxy_cache c; proxy_cache_valid 200 1s; proxy_cache_use_stale updating; proxy_cache_background_update on;
        proxy_cache_key $uri; proxy_pass http://@ORIGIN@; }""")
    assert request(gateway.address, "GET", "/cached").status == 200
    time.sleep(2.1)
    origin.on("/cached", Answer(hold=True))
    stale = request(gateway.address, "GET", "/cached")
    wait_until(lambda: origin.running == 1)
    held = Pending(gateway.address, "/held")
    time.sleep(scaled(0.5))
    peak = origin.running
    origin.release()
    held.response()
    assert stale.status == 200 and peak == 1


def test_a_slot_is_not_held_by_an_error_page_that_needs_none(queue, origin):
    gateway = queue(locations="""error_page 500 502 /big; location /broken { proxy_pass http://$arg_x; }
        location = /big { fair_queue off; internal; root @PREFIX@/pages; }""")
    (gateway.prefix / "pages").mkdir()
    (gateway.prefix / "pages").chmod(0o755)
    (gateway.prefix / "pages" / "big").write_bytes(b"x" * 20_000_000)
    slow = Pending(gateway.address, "/broken")
    assert slow.answered(10)  # its first bytes, and nobody reads the rest
    wait_until(lambda: running(gateway) == 0)
    slow.vanish()


def test_slots_come_back_after_subrequests_of_every_kind(queue, origin):
    origin.on("/page", Answer(headers=(("Content-Type", "text/html"),), body=b'<!--# include virtual="/inc" --><!--# include virtual="/inc2" -->x'))
    gateway = queue(locations="""location /page { ssi on; proxy_pass http://@ORIGIN@; } location /pa { post_action /after; proxy_pass http://@ORIGIN@; }
        location /mir { mirror /m; proxy_pass http://@ORIGIN@; } location = /m { internal; proxy_pass http://@ORIGIN@; }""")
    for _ in range(3):
        for target in ("/page", "/pa", "/mir"):
            assert request(gateway.address, "GET", target).status == 200
            assert request(gateway.address, "POST", target, body=b"x" * 100).status == 200
    wait_until(lambda: running(gateway) == 0)
    wait_until(lambda: origin.seen("/after"))
