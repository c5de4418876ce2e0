"""A request's turn at the fair queue: when it runs, when it waits, how it is refused, and when its slot is free again."""

import time

import pytest

from harness.http1 import Connection, request
from harness.http2 import Http2
from harness.limits import scaled, wait_until
from harness.origin import Answer
from harness.queued import LOG, Pending, lines, patient

QUEUE = LOG + """
    proxy_http_version 1.1;
    map $http_upgrade $connection_header { default upgrade; "" ""; }
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_header;
    @HTTP_EXTRA@
    fair_queue app { concurrency 2; light_lane off; @SETTINGS@ }
    server { listen @LISTEN@; listen @LISTEN2@ http2; fair_queue app; client_max_body_size 0; access_log @PREFIX@/turns.log turn;
        location / { proxy_pass http://@ORIGIN@; }
        location /off { fair_queue off; proxy_pass http://@ORIGIN@; }
        @LOCATIONS@
    }
"""


@pytest.fixture
def queue(gateway, origin):
    def make(settings="", locations="", extra="", **options):
        text = QUEUE.replace("@SETTINGS@", patient(settings)).replace("@LOCATIONS@", locations).replace("@HTTP_EXTRA@", extra)
        return gateway(text, origin=origin, **options)

    origin.on("/held", Answer(hold=True))
    return make


def hold(gateway, origin, count=2, **options):
    """`count` requests that run until origin.release()."""
    pending = [Pending(gateway.address, "/held", **options) for _ in range(count)]
    wait_until(lambda: origin.running == count)
    return pending


def level(gateway, name):
    return gateway.metrics().get(f"fairway_queue_{name}", queue="app")


def line_up(gateway, count, target="/held", *arguments, **options):
    """`count` requests that wait for a slot, in the order in which they were sent."""
    before = level(gateway, "waiting")
    pending = []
    for number in range(1, count + 1):
        pending.append(Pending(gateway.address, target, *arguments, **options))
        wait_until(lambda: level(gateway, "waiting") == before + number)
    return pending


def last(gateway, count=1):
    """The last log lines, once there are at least `count`."""
    wait_until(lambda: len(lines(gateway)) >= count)
    return lines(gateway)[-count:]


def idle(gateway, origin):
    """Both slots are free: two requests run at once without waiting."""
    def states():
        return [line.state for line in lines(gateway) if line.uri == "/after"]

    wait_until(lambda: level(gateway, "running") == 0)
    before = len(states())
    for pending in [Pending(gateway.address, "/after") for _ in range(2)]:
        assert pending.response().status == 200
    wait_until(lambda: len(states()) >= before + 2)
    return states()[before:] == ["direct", "direct"]


def test_direct_then_queued(queue, origin):
    running = queue()
    first = hold(running, origin)
    [third] = line_up(running, 1)
    assert not third.answered() and origin.running == 2 == origin.peak
    origin.release()
    assert [pending.response().status for pending in [*first, third]] == [200] * 3
    wait_until(lambda: len(lines(running)) == 3)
    states = sorted(line.state for line in lines(running))
    assert states == ["direct", "direct", "queued"]
    waited = next(line for line in lines(running) if line.state == "queued")
    assert waited.wait >= 0.15 and waited.outer == "127.0.0.0/24" and len(waited.inner) == 16
    assert all(line.cost > 0 for line in lines(running))


def test_a_location_without_queue(queue, origin):
    running = queue()
    hold(running, origin)
    assert request(running.address, "GET", "/off").status == 200
    assert last(running)[0].state == "-"
    origin.release()


def test_full_is_503_with_retry_after(queue, origin):
    running = queue("size 1; order fifo;")
    held = hold(running, origin)
    [waiting] = line_up(running, 1)
    assert not waiting.answered()
    refused = request(running.address, "GET", "/more")
    assert refused.status == 503 and int(refused.headers.one("Retry-After")) >= 1 and origin.seen("/more") == []
    assert last(running)[0].state == "full"
    origin.release()
    assert [pending.response().status for pending in [*held, waiting]] == [200] * 3


def test_the_longest_flow_makes_room(queue, origin):
    running = queue("size 3;")
    held = hold(running, origin, source="127.1.1.1")
    waiting = line_up(running, 3, source="127.1.1.1")
    assert not waiting[0].answered()
    neighbour = Pending(running.address, "/held", source="127.1.2.1")
    evicted = waiting[2].response()  # the newest of the longest
    assert evicted.status == 503 and int(evicted.headers.one("Retry-After")) >= 1
    assert last(running)[0].state == "evicted"
    refused = request(running.address, "GET", "/x", source="127.1.1.1")
    assert refused.status == 503 and last(running, 2)[1].state == "full"
    origin.release()
    assert [pending.response().status for pending in [*held, *waiting[:2], neighbour]] == [200] * 5


def test_timeout(queue, origin):
    running = queue("timeout 600ms;")
    held = hold(running, origin)
    answer = Pending(running.address, "/late").response()
    assert answer.status == 503 and int(answer.headers.one("Retry-After")) >= 1
    line = last(running)[0]
    # nginx's timers count whole milliseconds, from when it last looked at the clock; without the setting it would be 10 s
    assert line.state == "timeout" and 0.5 <= line.wait < 0.6 + scaled(2) and origin.seen("/late") == []
    origin.release()
    assert [pending.response().status for pending in held] == [200, 200]


def test_a_refusal_goes_through_error_page(queue, origin):
    running = queue("size 0;", locations='error_page 503 /sorry; location = /sorry { fair_queue app; internal; proxy_pass http://@ORIGIN@; }')
    origin.on("/sorry", Answer(body=b"sorry"))
    held = hold(running, origin)
    answer = request(running.address, "GET", "/x")
    assert (answer.status, answer.text) == (503, "sorry") and int(answer.headers.one("Retry-After")) >= 1
    origin.release()
    assert [pending.response().status for pending in held] == [200, 200]


@pytest.mark.parametrize("how", ["fin", "rst", "half"])
def test_who_leaves_while_waiting_never_reaches_the_application(queue, origin, how):
    running = queue()
    held = hold(running, origin)
    gone = line_up(running, 5, "/gone")
    assert not gone[-1].answered()
    for pending in gone:
        pending.vanish(how)
    assert [line.state for line in last(running, 5)] == ["cancelled"] * 5
    assert level(running, "waiting") == 0
    origin.release()
    assert [pending.response().status for pending in held] == [200, 200] and origin.seen("/gone") == []
    assert idle(running, origin)


def test_http2_streams_that_are_reset_or_lost(queue, origin):
    running = queue()
    held = hold(running, origin)
    with Http2(running.address_of(2)) as client:
        streams = [client.start("GET", "/gone") for _ in range(4)]
        wait_until(lambda: level(running, "waiting") == 4)
        for stream in streams[:2]:
            client.reset(stream)
        wait_until(lambda: level(running, "waiting") == 2)
    assert [line.state for line in last(running, 4)] == ["cancelled"] * 4
    origin.release()
    assert [pending.response().status for pending in held] == [200, 200] and origin.seen("/gone") == []


def test_a_running_request_keeps_its_slot_when_the_client_leaves(queue, origin):
    running = queue()
    for pending in hold(running, origin):
        pending.vanish("rst")
    [third] = line_up(running, 1, "/third")
    assert not third.answered(0.5) and origin.running == 2
    origin.release()
    assert third.response().status == 200 and origin.peak == 2


def test_the_site_may_say_that_clients_take_their_requests_with_them(queue, origin):
    running = queue(extra="proxy_ignore_client_abort off;")
    for pending in hold(running, origin):
        pending.vanish("rst")
    assert Pending(running.address, "/third").response().status == 200


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("size", [3, 300_000])
def test_bodies_arrive_whole(queue, origin, http2, size):
    running = queue()
    body = b"x" * size
    if http2:
        with Http2(running.address_of(2)) as client:
            assert client.request("POST", "/post", body=body).status == 200
    else:
        assert request(running.address, "POST", "/post", [("Expect", "100-continue")] if size > 3 else [], body).status == 200
    assert [len(seen.body) for seen in origin.seen("/post")] == [size] and idle(running, origin)


def test_a_body_that_waits_for_a_slot_arrives_whole(queue, origin):
    running = queue()
    held = hold(running, origin)
    posts = line_up(running, 3, "/post", "POST", body=b"y" * 100_000)
    assert not posts[0].answered()
    origin.release()
    assert [pending.response().status for pending in [*held, *posts]] == [200] * 5
    assert [len(seen.body) for seen in origin.seen("/post")] == [100_000] * 3


def test_slow_uploads_hold_no_slot(queue, origin):
    running = queue()
    slow = []
    for _ in range(10):
        slow.append(Connection(running.address))
        slow[-1].send(b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
    time.sleep(0.3)
    assert idle(running, origin) and origin.seen("/slow") == []
    for connection in slow:
        connection.send(b"d" * 997)
    assert [connection.read_response().status for connection in slow] == [200] * 10
    for connection in slow:
        connection.close()
    assert origin.peak <= 2


def test_idle_keepalive_connections_hold_no_slot(queue, origin):
    running = queue()
    idlers = [Connection(running.address) for _ in range(100)]
    assert all(connection.request("GET", "/x").status == 200 for connection in idlers)
    wait_until(lambda: level(running, "running") == 0)
    assert idle(running, origin)
    for connection in idlers:
        connection.close()


def test_slots_come_back_however_the_upstream_part_ends(queue, origin, make_origin):
    origin.on("/close", Answer(kind="close")).on("/redirect", Answer(headers=(("X-Accel-Redirect", "/inner"),))).on("/error", Answer(status=500))
    running = queue(extra="upstream dead { server 127.0.0.1:1; } upstream some { server 127.0.0.1:1; server @ORIGIN@ backup; }", locations="""
        proxy_intercept_errors on;
        location /dead { proxy_pass http://dead; } location /some { proxy_pass http://some; }
        location /dead-page { error_page 502 = @other; proxy_pass http://dead; }
        location /error { error_page 500 = @other; proxy_pass http://@ORIGIN@; }
        location @other { rewrite ^ /other break; proxy_pass http://@ORIGIN@; }
        location /inner { internal; proxy_pass http://@ORIGIN@; }
        location /variable { set $where @ORIGIN@; proxy_pass http://$where; }
        location /file { root @PREFIX@; try_files /nginx.conf =404; }
        location /missing { root @PREFIX@; }
        """)
    for target, status in [("/close", 502), ("/dead", 502), ("/some", 200), ("/redirect", 200), ("/error", 200), ("/dead-page", 200), ("/variable", 200),
                           ("/file", 200), ("/missing", 404)]:
        for _ in range(3):
            assert request(running.address, "GET", target).status == status, target
        assert idle(running, origin), target
    wait_until(lambda: level(running, "running") == 0)


def test_cached_responses_cost_nothing(queue, origin):
    origin.on("/cached", Answer(delay=0.05, headers=(("Cache-Control", "max-age=60"),)))
    running = queue(extra="proxy_cache_path @PREFIX@/cache keys_zone=c:1m;", locations="location /cached { proxy_cache c; proxy_pass http://@ORIGIN@; }")
    for _ in range(3):
        assert request(running.address, "GET", "/cached").status == 200
    assert len(origin.seen("/cached")) == 1
    costs = [line.cost for line in last(running, 3)]
    assert costs[0] >= 0.05 and costs[1:] == [0, 0] and idle(running, origin)


def test_streams_give_their_slots_back(queue, origin):
    origin.on("/ws", Answer(kind="websocket")).on("/events", Answer(kind="events", events=100, headers=(("X-Accel-Buffering", "no"),)))
    running = queue()
    open_streams = []
    for _ in range(4):
        connection = Connection(running.address)
        connection.send_request("GET", "/ws", [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "abc")])
        assert connection.read_response().status == 101 and connection.reader.read(5) == b"hello"
        connection.send(b"ping")
        assert connection.reader.read(4) == b"ping"
        open_streams.append(connection)
    for _ in range(4):
        connection = Connection(running.address)
        connection.send_request("GET", "/events", [])
        assert b"text/event-stream" in connection.reader.readline() + connection.reader.read(200)
        open_streams.append(connection)
    wait_until(lambda: level(running, "running") == 0)
    assert idle(running, origin)
    for connection in open_streams:
        connection.close()


LARGE = b"z" * 24_000_000  # more than the buffers of the kernel take


def test_a_client_that_stops_reading_is_not_the_upstreams_cost(queue, origin):
    origin.on("/large", Answer(body=LARGE))
    running = queue(locations="location /large { proxy_buffering off; proxy_pass http://@ORIGIN@; }")
    begun = time.monotonic()
    reader = Connection(running.address, timeout=60)
    reader.send_request("GET", "/large", [])
    time.sleep(scaled(1.5))
    assert len(reader.read_response().body) == len(LARGE)
    reader.close()
    assert last(running)[0].cost < time.monotonic() - begun - scaled(0.7)


def test_a_buffered_response_frees_the_slot_before_the_client_has_read_it(queue, origin):
    origin.on("/large", Answer(body=LARGE))
    running = queue()
    readers = [Connection(running.address, timeout=60) for _ in range(4)]
    for reader in readers:
        reader.send_request("GET", "/large", [])
    wait_until(lambda: len(origin.seen("/large")) == 4, 60)
    wait_until(lambda: level(running, "running") == 0, 60)
    assert [len(reader.read_response().body) for reader in readers] == [len(LARGE)] * 4
    for reader in readers:
        reader.close()


def test_subrequests_take_no_slot(queue, origin):
    running = queue(locations="""
        location = /auth { internal; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_pass http://@ORIGIN@; }
        location /guarded { auth_request /auth; proxy_pass http://@ORIGIN@; }""")
    for method, body in [("GET", b""), ("POST", b"x" * 20_000)]:
        assert request(running.address, method, "/guarded", body=body).status == 200
    assert idle(running, origin) and running.metrics().total("fairway_queue_requests_total", queue="app") == 4


def test_access_rules_come_before_the_queue(queue, origin):
    running = queue(locations="location /denied { deny all; proxy_pass http://@ORIGIN@; }")
    held = hold(running, origin)
    assert request(running.address, "GET", "/denied").status == 403
    origin.release()
    assert [pending.response().status for pending in held] == [200, 200]


@pytest.mark.parametrize("header,cost", [("250ms", 0.25), ("1.5 s", 1.5), ("3us", 3e-6), ("17ns", 17e-9)])
def test_the_application_reports_its_cost(queue, origin, header, cost):
    origin.on("/told", Answer(headers=(("Fairway-Cost", header), ("X-Other", "1"))))
    answer = request(queue().address, "GET", "/told")
    assert "Fairway-Cost" not in answer.headers and answer.headers.get("X-Other") == "1"


def test_reported_costs_are_charged_and_bad_ones_counted(queue, origin):
    told = iter(["40s", "nonsense", "61s", "0ms", "-1s"])
    origin.on("/told", lambda seen: Answer(headers=(("X-Cost", next(told)), ("X-Cpu", "2ms"))))
    running = queue("cost_header X-Cost; cpu_header X-Cpu;")
    answers = [request(running.address, "GET", "/told") for _ in range(5)]
    assert all("X-Cost" not in answer.headers and "X-Cpu" not in answer.headers for answer in answers)
    logged = last(running, 5)
    assert logged[0].cost == 40 and logged[0].cpu == 0.002
    assert all(0 < line.cost < 40 for line in logged[1:])
    assert running.metrics().get("fairway_queue_bad_costs_total", queue="app") == 4


def test_cost_header_off(queue, origin):
    origin.on("/told", Answer(headers=(("Fairway-Cost", "50s"),)))
    running = queue("cost_header off; cpu_header off;")
    answer = request(running.address, "GET", "/told")
    assert "Fairway-Cost" not in answer.headers and last(running)[0].cost < 10


def test_bypass(queue, origin):
    running = queue("bypass $arg_probe; size 0;")
    held = hold(running, origin)
    assert request(running.address, "GET", "/health?probe=1").status == 200
    assert last(running)[0].state == "bypassed"
    assert running.metrics().get("fairway_queue_requests_total", queue="app", status="bypassed") == 1
    assert request(running.address, "GET", "/health?probe=0").status == 503
    origin.release()
    assert [pending.response().status for pending in held] == [200, 200]


def test_exactly_concurrency_and_size_are_accepted(gateway, origin):
    origin.on("/held", Answer(hold=True))
    running = gateway("""
        fair_queue app { concurrency 8; light_lane off; probation off; timeout 5m; }
        server { listen @LISTEN@; location / { fair_queue app; proxy_pass http://@ORIGIN@; } }""", origin=origin, workers=2)
    pending = [Pending(running.address, "/held", source=f"127.{2 + number // 250}.{number % 250}.1") for number in range(300)]
    wait_until(lambda: running.metrics().get("fairway_queue_requests_total", queue="app", status="full") == 36, 30)
    assert level(running, "waiting") == 256
    wait_until(lambda: origin.running == 8)
    origin.release()
    answers = [request.response().status for request in pending]
    assert answers.count(200) == 264 and answers.count(503) == 36 and origin.peak == 8
