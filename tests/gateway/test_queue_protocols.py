"""A turn at the queue in front of every kind of application and over every kind of connection."""

import pytest

from harness.backends import FastCgi, Grpc, Uwsgi, grpc_message
from harness.http1 import Connection, request
from harness.http2 import Http2
from harness.limits import wait_until
from harness.origin import Answer
from harness.queued import LOG, Pending, lines, patient
from harness.tls import client_context

QUEUE = LOG + """
    ssl_certificate @CERT@; ssl_certificate_key @KEY@;
    fair_queue app { concurrency 2; light_lane off; @SETTINGS@ }
    server { listen @LISTEN@; listen @LISTEN2@ http2; listen @LISTEN3@ ssl http2;
        fair_queue app; access_log @PREFIX@/turns.log turn;
        location / { @PASS@ }
        location = /auth { internal; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_pass http://@ORIGIN@; }
        location /guarded { auth_request /auth; proxy_pass http://@ORIGIN@; }
    }
"""
CGI = "@P@_param REQUEST_METHOD $request_method; @P@_param REQUEST_URI $request_uri; @P@_param CONTENT_LENGTH $content_length; @P@_pass "
KINDS = {
    "fastcgi": (FastCgi, CGI.replace("@P@", "fastcgi") + "@ORIGIN@;"),
    "uwsgi": (Uwsgi, CGI.replace("@P@", "uwsgi") + "@ORIGIN@;"),
    "grpc": (Grpc, "grpc_pass grpc://@ORIGIN@;"),
}


@pytest.fixture
def queue(gateway, certificate):
    def make(origin, passing="proxy_pass http://@ORIGIN@;", settings="", **options):
        text = QUEUE.replace("@PASS@", passing)
        return gateway(text, origin=origin, settings=patient(settings), cert=certificate[0], key=certificate[1], **options)

    return make


@pytest.fixture
def application(request):
    """An application of the kind that the test is run for, and the directives that lead to it."""
    kind, passing = KINDS[request.param]
    started = kind().start().on("/held", Answer(hold=True))
    yield request.param, started, passing
    started.stop()


def level(gateway):
    samples = gateway.metrics()
    return samples.get("fairway_queue_running", queue="app"), samples.get("fairway_queue_waiting", queue="app")


@pytest.mark.parametrize("application", KINDS, indirect=True)
def test_applications_of_every_kind(queue, application):
    kind, backend, passing = application
    running = queue(backend, passing)
    call = {"method": "POST", "headers": [("Content-Type", "application/grpc"), ("TE", "trailers")], "body": grpc_message(b"x")} if kind == "grpc" else {}
    pending = [Pending(running.address, "/held", **call) for _ in range(2)]
    wait_until(lambda: backend.running == 2)
    pending += [Pending(running.address, "/held", **call) for _ in range(3)]
    wait_until(lambda: level(running) == (2, 3))
    pending.pop().vanish("rst")
    wait_until(lambda: level(running) == (2, 2))
    backend.release()
    assert [one.response().status for one in pending] == [200] * 4
    wait_until(lambda: level(running) == (0, 0))
    assert backend.peak == 2 and len(backend.seen("/held")) == 4
    wait_until(lambda: len(lines(running)) == 5)
    assert sorted(line.state for line in lines(running)) == ["cancelled", "direct", "direct", "queued", "queued"]
    assert all((line.cost > 0) == (line.state != "cancelled") for line in lines(running))


def over_tls(running, certificate, protocol):
    return client_context(certificate[0], ("h2",) if protocol == "h2" else ("http/1.1",)), running.address_of(3)


@pytest.mark.parametrize("protocol", ["https", "h2"])
def test_waiting_over_tls(queue, origin, certificate, protocol):
    """Three wait: one is answered, one hangs up, one is reset with its connection."""
    origin.on("/held", Answer(hold=True))
    running = queue(origin)
    held = [Pending(running.address, "/held") for _ in range(2)]
    wait_until(lambda: origin.running == 2)
    context, address = over_tls(running, certificate, protocol)
    people = [(Http2 if protocol == "h2" else Connection)(address, tls=context) for _ in range(3)]
    for number, person in enumerate(people):
        if protocol == "h2":
            person.stream = person.start("POST", "/waited", body=b"x" * 30_000)
        else:
            person.send_request("POST", "/waited", body=b"x" * 30_000)
        wait_until(lambda: level(running) == (2, number + 1))
    people[1].close()
    wait_until(lambda: level(running) == (2, 2))
    people[2].lose() if protocol == "h2" else people[2].reset()
    wait_until(lambda: level(running) == (2, 1))
    assert origin.seen("/waited") == []
    origin.release()
    answer = people[0].wait(people[0].stream) if protocol == "h2" else people[0].read_response("POST")
    assert answer.status == 200 and [len(seen.body) for seen in origin.seen("/waited")] == [30_000]
    assert [one.response().status for one in held] == [200, 200]
    people[0].close()


def test_subrequests_over_http2(queue, origin):
    running = queue(origin)
    with Http2(running.address_of(2)) as client:
        streams = [client.start("POST", "/guarded", body=b"x" * 50_000) for _ in range(6)]
        assert [client.wait(stream).status for stream in streams] == [200] * 6
    assert [len(seen.body) for seen in origin.seen("/guarded")] == [50_000] * 6 and len(origin.seen("/auth")) == 6
    wait_until(lambda: level(running) == (0, 0))
    assert running.metrics().total("fairway_queue_requests_total", queue="app") == 6


def test_a_single_process(queue, origin):
    """master_process off: the worker that grants is the one that waits."""
    origin.on("/held", Answer(hold=True))
    running = queue(origin, settings="timeout 3s;", single=True)
    held = [Pending(running.address, "/held") for _ in range(2)]
    wait_until(lambda: origin.running == 2)
    assert request(running.address, "GET", "/late").status == 503
    waiting = [Pending(running.address, "/after") for _ in range(2)]
    waiting[1].vanish()
    wait_until(lambda: len(lines(running)) == 2)
    origin.release()
    assert [one.response().status for one in [*held, waiting[0]]] == [200] * 3
    wait_until(lambda: len(lines(running)) == 5)
    assert sorted(line.state for line in lines(running)) == ["cancelled", "direct", "direct", "queued", "timeout"]
    assert running.quit() == 0
