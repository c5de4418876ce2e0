"""What the other tests stand on can itself fail, and says so."""

import os
import signal
import subprocess
import threading

import pytest

from harness import tls
from harness.http1 import Connection, request
from harness.http2 import Http2
from harness.limits import wait_until
from harness.nginx import ReloadRefused, StartFailed
from harness.origin import Answer
from harness.visitor import Visitor, crowd

PROXY = """server {
    listen @LISTEN@ http2; listen @LISTEN2@; listen @LISTEN3@ ssl http2; ssl_certificate @CERT@; ssl_certificate_key @KEY@;
    location / { proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
                 proxy_pass http://@ORIGIN@; } }"""
PLAIN = "server { listen @LISTEN@; location / { return 200 hi; } }"


def test_an_alert_in_the_log_is_a_problem(make_gateway):
    running = make_gateway(PLAIN).start()
    [worker] = running.workers()
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: "exited on signal 9" in running.log)
    [problem] = running.close()
    assert "[alert]" in problem and f"worker process {worker} exited on signal 9" in problem


def test_a_sanitizer_report_is_a_problem(make_gateway):
    running = make_gateway(PLAIN).start()
    (running.prefix / "stderr.txt").write_text("value.cpp:1:2: runtime error: shift exponent\n")
    assert running.close() == ["the log says: value.cpp:1:2: runtime error: shift exponent"]


def test_an_end_of_its_own_is_a_problem(make_gateway):
    running = make_gateway(PLAIN).start()
    running.process.terminate()
    wait_until(lambda: running.process.poll() is not None)
    assert running.close() == ["nginx ended by itself with status 0"]


def test_a_process_left_behind_is_a_problem(make_gateway, monkeypatch):
    running = make_gateway(PLAIN).start()
    left = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: os.setpgid(0, 0), start_new_session=False)
    try:
        monkeypatch.setattr("harness.nginx.processes_of", lambda session: [left.pid] if left.poll() is None else [])
        monkeypatch.setattr("harness.limits.FACTOR", 0.3)
        assert running.close() == ["nginx left processes behind (waited 3 s)"]
    finally:
        left.kill()
        left.wait()


def test_a_refused_start_and_reload(make_gateway):
    broken = make_gateway("nonsense;")
    with pytest.raises(StartFailed, match='unknown directive "nonsense"'):
        broken.start()
    assert broken.close() == []
    running = make_gateway(PLAIN).start()
    workers = running.workers()
    with pytest.raises(ReloadRefused, match='unknown directive "nonsense"'):
        running.reload("nonsense;")
    assert running.workers() == workers and request(running.address, "GET", "/").text == "hi"


def test_life_of_a_gateway(gateway):
    running = gateway(PLAIN, workers=2)
    first = set(running.workers())
    running.reload(PLAIN.replace("hi", "ho"))
    second = set(running.workers())
    assert len(second) == 2 and not first & second
    assert request(running.address, "GET", "/").text == "ho"
    assert running.kill_worker() not in running.workers()
    running.restart()
    assert request(running.address, "GET", "/").text == "ho"
    assert running.quit() == 0


def test_origin_and_clients(gateway, origin, certificate):
    origin.on("/ws", Answer(kind="websocket")).on("/events", Answer(kind="events")).on("/slow", Answer(delay=0.2)).on("/close", Answer(kind="close"))
    running = gateway(PROXY, origin=origin, cert=certificate[0], key=certificate[1])
    plain = running.address_of(2)
    for client in (Http2(running.address), Http2(running.address_of(3), tls.client_context(certificate[0], ("h2",)))):
        with client:
            slow, large = client.start("GET", "/slow"), client.start("POST", "/large", body=b"x" * 200_000)
            assert (client.wait(large).status, client.wait(slow).body) == (200, b"ok")
            gone = client.start("GET", "/slow")
            client.reset(gone)
            assert client.request("GET", "/after").status == 200
    assert [len(seen.body) for seen in origin.seen("/large")] == [200_000, 200_000]
    assert Visitor(running.address_of(3), tls=tls.client_context(certificate[0])).client("/tls").body == b"ok"
    with Connection(plain) as connection:
        connection.send_request("GET", "/ws", [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "abc")])
        assert connection.read_response().status == 101
        assert connection.reader.read(5) == b"hello"
        connection.send(b"echo")
        assert connection.reader.read(4) == b"echo"
    assert request(plain, "GET", "/events").body == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert request(plain, "GET", "/close").status == 502


def test_origin_holds_and_counts(gateway, origin):
    origin.on("/held", Answer(hold=True))
    running = gateway("server { listen @LISTEN@; location / { proxy_set_header X-Session $arg_s; proxy_pass http://@ORIGIN@; } }", origin=origin)

    async def visit(visitor, index):
        return (await visitor.client(f"/held?s={index % 5}")).status

    threading.Thread(target=lambda: (wait_until(lambda: origin.running == 20), origin.release()), daemon=True).start()
    assert crowd(running.address, 20, visit) == [200] * 20
    wait_until(lambda: origin.running == 0)
    assert origin.peak == 20 and len(origin.sessions()) == 5 and origin.peak_sessions() == 5


def test_a_crowd_of_a_thousand(gateway, origin):
    running = gateway("server { listen @LISTEN@; location / { proxy_pass http://@ORIGIN@; } }", workers=2, origin=origin)

    async def visit(visitor, index):
        return (await visitor.page(f"/{index}")).status

    assert crowd(running.address, 1000, visit) == [200] * 1000
    assert len({seen.path for seen in origin.requests}) == 1000
