"""Who a client is to the queue, what a request costs, and what the log says of both."""

import time

import pytest

from harness.http1 import Connection, request
from harness.limits import wait_until
from harness.origin import Answer
from harness.queued import LOG, Pending, lines, patient

QUEUE = LOG + """
    set_real_ip_from 127.0.0.1; set_real_ip_from unix:; real_ip_header X-Client; proxy_http_version 1.1;
    map $http_upgrade $connection_header { default upgrade; "" ""; }
    proxy_cache_path @PREFIX@/temp/cache keys_zone=cache:1m;
    fair_queue app { concurrency @CONCURRENCY@; light_lane off; @SETTINGS@ }
    server { listen @LISTEN@; listen unix:@PREFIX@/queue.sock; fair_queue app; access_log @PREFIX@/turns.log turn;
        proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_header;
        location / { proxy_pass http://@ORIGIN@; }
        location /cached { proxy_cache cache; proxy_pass http://@ORIGIN@; }
        location /streamed { proxy_request_buffering off; proxy_pass http://@ORIGIN@; }
        location /tried { try_files /none /other; proxy_pass http://@ORIGIN@; }
        location /other { proxy_pass http://@ORIGIN@; }
        location /quick { proxy_read_timeout 2s; proxy_pass http://@ORIGIN@; }
        location /file { root @PREFIX@; try_files /nginx.conf =404; }
        location /missing { root @PREFIX@; }
        location = /metrics { fairway_metrics; }
        location /probe { fair_queue off; proxy_pass http://@ORIGIN@; }
        location /caught { proxy_intercept_errors on; error_page 404 /page-of-the-application; proxy_pass http://@ORIGIN@; }
    }
    waiting_room all { capacity 100000; } server { listen @LISTEN2@; waiting_room all; fair_queue app; location / { proxy_pass http://@ORIGIN@; } }
"""


@pytest.fixture
def queue(gateway, origin):
    origin.on("/held", Answer(hold=True))
    return lambda settings="", concurrency=2, **options: gateway(QUEUE, origin=origin, settings=patient(settings), concurrency=concurrency, **options)


def hold(gateway, origin, count, **options):
    pending = [Pending(gateway.address, "/held", **options) for _ in range(count)]
    wait_until(lambda: origin.running == count)
    return pending


def flow(gateway, *headers, client="192.0.2.1", address=None):
    """The outer and inner flow of a request with these headers."""
    before = len(lines(gateway))
    assert request(address or gateway.address, "GET", "/x", [*headers, *([("X-Client", client)] if client else [])]).status == 200
    line = wait_until(lambda: len(lines(gateway)) > before and lines(gateway)[-1])
    return line.outer, line.inner


# Who a client is


def test_networks(queue):
    running = queue()
    outer = {client: flow(running, client=client)[0] for client in
             ("203.0.113.7", "203.0.113.200", "203.0.114.7", "::ffff:203.0.113.9", "2001:db8:1:2ff::1", "2001:db8:1:2ab:5::2", "2001:db8:1:300::1")}
    assert outer["203.0.113.7"] == outer["203.0.113.200"] == outer["::ffff:203.0.113.9"] == "203.0.113.0/24" and outer["203.0.114.7"] == "203.0.114.0/24"
    assert outer["2001:db8:1:2ff::1"] == outer["2001:db8:1:2ab:5::2"] == "2001:db8:1:200::/56" and outer["2001:db8:1:300::1"] == "2001:db8:1:300::/56"
    socket = running.prefix / "queue.sock"
    first, second = flow(running, client=None, address=socket), flow(running, ("User-Agent", "b"), client=None, address=socket)
    assert first[0] == second[0] and "/" not in first[0] and first[1] != second[1]  # one network, as many sessions as there are


def test_networks_of_another_size(queue):
    running = queue("outer_prefix 16 32;")
    assert flow(running, client="203.0.113.7")[0] == flow(running, client="203.0.99.7")[0] == "203.0.0.0/16"
    assert flow(running, client="2001:db8:1::1")[0] == flow(running, client="2001:db8:ffff::1")[0] == "2001:db8::/32"


DIFFERENT = [[], [("Cookie", "session=1")], [("Cookie", "session=2")], [("Cookie", "sessionid=1")], [("Cookie", "a=b; sessionid=2")], [("User-Agent", "x")],
             [("User-Agent", "y")], [("Accept-Language", "x")], [("Sec-CH-UA", "x")], [("Sec-CH-UA-Platform", "x")], [("Sec-CH-UA-Mobile", "x")],
             [("Authorization", "x")], [("User-Agent", "")]]
SAME = [[("X-Else", "1")], [("Cookie", "other=1")], [("Accept", "text/html")], [("Cookie", "sessionidx=1; xsession=2")]]


def test_sessions(queue):
    running = queue()
    inner = [flow(running, *headers) for headers in DIFFERENT]
    assert len(set(inner)) == len(DIFFERENT) and {outer for outer, _ in inner} == {"192.0.2.0/24"}
    assert {flow(running, *headers) for headers in SAME} == {inner[0]}
    assert flow(running, ("Cookie", "session=1"), ("Cookie", "sessionid=1")) == flow(running, ("Cookie", "sessionid=1; a=b; session=1"))
    assert flow(running, client="192.0.2.2")[1] != inner[0][1]  # a neighbour's address
    running.reload()
    assert flow(running) == inner[0]  # the secret of the hash outlives a reload


def test_sessions_by_other_names(queue):
    running = queue("inner_cookies shop; inner_headers X-Key off; inner_address off;")
    plain = flow(running)
    assert flow(running, client="192.0.2.99") == flow(running, ("User-Agent", "x"), ("Cookie", "session=1")) == plain
    assert len({plain, flow(running, ("Cookie", "shop=1")), flow(running, ("X-Key", "1"))}) == 3
    running.values["settings"] = "inner_cookies off; inner_headers off;"
    running.reload(QUEUE)
    assert flow(running, ("Cookie", "shop=1; session=1"), ("X-Key", "1"), ("User-Agent", "x")) == flow(running)
    assert flow(running, client="192.0.2.99")[1] != flow(running)[1]


# What a request costs


def test_what_an_upstream_says_and_what_it_does_not_say(queue, origin):
    """A 503 of the application's own is none of the queue's; files, errors and missing pages cost nothing."""
    origin.on("/busy", Answer(status=503)).on("/told", Answer(headers=(("Fairway-Cost", "1s"), ("Fairway-Cpu", "3s"))))
    running = queue()
    statuses = {target: request(running.address, "GET", target).status for target in ("/busy", "/told", "/file", "/missing", "/probe", "/metrics")}
    assert statuses == {"/busy": 503, "/told": 200, "/file": 200, "/missing": 404, "/probe": 200, "/metrics": 200}
    wait_until(lambda: len(lines(running)) == 6)
    by_uri = {line.uri: line for line in lines(running)}
    assert by_uri["/busy"].state == "direct" and by_uri["/busy"].cost > 0
    assert (by_uri["/told"].cost, by_uri["/told"].cpu) == (3, 3)  # the larger of the two is charged
    for uri in ("/nginx.conf", "/missing", "/probe", "/metrics"):
        assert (by_uri[uri].state, by_uri[uri].cost) in (("-", None), ("direct", 0)), by_uri[uri]
    assert by_uri["/probe"].state == by_uri["/metrics"].state == "-"


def test_debt_is_what_a_flow_owes_when_it_asks(queue, origin):
    origin.on("/dear", Answer(headers=(("Fairway-Cost", "4s"),)))
    running = queue("probation off; debt_ttl 10m;")
    held = hold(running, origin, 1, headers=[("X-Client", "198.51.100.1")])  # a flow alone owes nobody
    for target in ("/dear", "/other"):
        assert request(running.address, "GET", target, [("X-Client", "192.0.2.1")]).status == 200
        wait_until(lambda: running.metrics().get("fairway_queue_running", queue="app") == 1)
    assert request(running.address, "GET", "/other", [("X-Client", "203.0.113.1")]).status == 200
    wait_until(lambda: len(lines(running)) == 3)
    assert [line.debt > 1 for line in lines(running)] == [False, True, False], [line.debt for line in lines(running)]
    origin.release()
    assert held[0].response().status == 200


def test_a_stream_is_charged_until_it_begins(queue, origin):
    origin.on("/ws", Answer(kind="websocket", delay=0.2)).on("/events", Answer(kind="events", events=40, delay=0.2))
    running = queue(concurrency=1)
    begun = time.monotonic()
    with Connection(running.address) as tunnel, Connection(running.address) as stream:
        tunnel.send_request("GET", "/ws", [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "abc")])
        assert tunnel.read_response().status == 101
        stream.send_request("GET", "/events", [])  # beside the tunnel, with one slot: it has been given back
        assert stream.read_response().status == 200  # the whole stream, two seconds of it
        tunnel.send(b"ping")
        assert tunnel.reader.read(9) == b"helloping"
    took = time.monotonic() - begun
    wait_until(lambda: len(lines(running)) == 2)
    assert all(0.2 <= line.cost < took - 1 for line in lines(running)), lines(running)


def test_other_endless_answers_hold_their_slot(queue, origin):
    origin.on("/rows", Answer(kind="events", events=20, stream_type="application/x-ndjson"))
    running = queue(concurrency=1)
    with Connection(running.address) as stream:
        stream.send_request("GET", "/rows", [])
        wait_until(lambda: origin.running == 1)
        assert request(running.address, "GET", "/after").status == 200
        assert stream.read_response().status == 200
    wait_until(lambda: len(lines(running)) == 2)
    assert origin.peak == 1 and next(line for line in lines(running) if line.uri == "/after").state == "queued"


def test_an_error_page_of_the_application_takes_its_turn(queue, origin):
    """Whoever asks for what is not there makes the application write the page that says so: no way around the queue."""
    origin.on("/caught", Answer(status=404)).on("/page-of-the-application", Answer(hold=True, body=b"nothing here"))
    running = queue(concurrency=2)
    pending = [Pending(running.address, "/caught") for _ in range(6)]
    wait_until(lambda: origin.running == 2)
    assert not pending[0].answered(0.3) and origin.peak == 2
    origin.release()
    answers = [one.response() for one in pending]
    assert [(answer.status, answer.body) for answer in answers] == [(404, b"nothing here")] * 6 and origin.peak == 2
    wait_until(lambda: running.metrics().get("fairway_queue_running", queue="app") == 0)


def test_an_upload_that_is_passed_on_as_it_comes_holds_its_slot(queue, origin):
    running = queue(concurrency=1)
    with Connection(running.address) as slow:
        slow.send(b"POST /streamed HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        wait_until(lambda: running.metrics().get("fairway_queue_running", queue="app") == 1)
        waiting = Pending(running.address, "/after")
        wait_until(lambda: running.metrics().get("fairway_queue_waiting", queue="app") == 1)
        slow.send(b"d" * 7)
        assert slow.read_response().status == waiting.response().status == 200
    assert [seen.body for seen in origin.requests] == [b"abcddddddd", b""]


def test_a_cached_response_holds_no_slot_while_it_is_read(queue, origin):
    origin.on("/cached", Answer(body=b"z" * 8_000_000, headers=(("Cache-Control", "max-age=600"),)))
    running = queue(concurrency=1)
    assert request(running.address, "GET", "/cached").status == 200
    readers = [Connection(running.address, timeout=60) for _ in range(3)]
    for reader in readers:
        reader.send_request("GET", "/cached")
        assert reader.reader.readline().startswith(b"HTTP/1.1 200")  # the rest of it stays where it is
    assert request(running.address, "GET", "/other").status == 200 and len(origin.seen("/cached")) == 1
    for reader in readers:
        reader.close()


def test_one_turn_for_one_upstream_part(queue, origin):
    """Redirected with the slot in hand, before any upstream was asked: it is kept, not asked for again."""
    running = queue(concurrency=1)
    assert request(running.address, "GET", "/tried").status == 200 and [seen.path for seen in origin.requests] == ["/other"]
    assert running.metrics().total("fairway_queue_requests_total", queue="app") == 1


# While it waits


def test_waiting_is_no_reason_for_other_timeouts(queue, origin):
    """It waits in the queue for longer than the upstream may be silent, and then has the upstream's whole time."""
    running = queue()
    held = hold(running, origin, 2)
    late = Pending(running.address, "/quick")
    wait_until(lambda: running.metrics().get("fairway_queue_waiting", queue="app") == 1)
    assert not late.answered(1.2)  # at least 2.4 s
    origin.release()
    assert [one.response().status for one in [*held, late]] == [200] * 3
    wait_until(lambda: len(lines(running)) == 3)
    assert next(line for line in lines(running) if line.uri == "/quick").wait > 2


def test_probes_are_answered_while_the_queue_is_full(queue, origin):
    running = queue("size 1;")
    held = hold(running, origin, 2)
    held.append(Pending(running.address, "/held"))
    wait_until(lambda: running.metrics().get("fairway_queue_waiting", queue="app") == 1)
    assert request(running.address, "GET", "/more").status == 503
    assert [request(running.address_of(at), "GET", target).status for at, target in ((1, "/probe"), (1, "/metrics"), (1, "/file"), (2, "/__fairway/health"))] == [200] * 4
    assert request(running.address_of(2), "GET", "/__fairway/all/status").json["state"] == "unknown"
    origin.release()
    assert [one.response().status for one in held] == [200] * 3
