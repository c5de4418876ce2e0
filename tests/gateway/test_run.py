"""`fairway run` as a gateway: what visitors and the application see of it."""

import json
import os
import pwd
import signal
import socket
import ssl
import threading
from pathlib import Path

import pytest

from harness.command import fairway
from harness.http1 import Connection, request
from harness.limits import scaled, wait_until
from harness.nginx import free_port, title
from harness.operator import Operator
from harness.origin import Answer
from harness.visitor import Visitor

ROOM = "site"


def upstream_of(origin, path=""):
    return "--upstream", f"http://{origin}{path}"


def logged(gateway, count):
    """So many entries of the access log, in the order in which the workers wrote them."""
    return [json.loads(line) for line in wait_until(lambda: gateway.stdout.count("\n") == count and gateway.stdout).splitlines()]


def test_room_lets_one_in_and_the_next_one_wait(running, origin):
    gateway = running(*upstream_of(origin), "--capacity", "1")
    first, second = (Visitor(gateway.address, ROOM) for _ in range(2))
    assert first.page("/").status == 200
    assert second.page("/").status == 429
    assert second.status().json["rank"] == 1
    first.leave()
    assert second.enter("/").status == 200
    assert all("fairway" not in cookie for seen in origin.requests for cookie in seen.cookies)


def test_one_file_takes_output_and_errors(running):
    """As with `> log 2>&1`: no line is written over by another, whoever writes it."""
    gateway = running("--upstream", f"http://127.0.0.1:{free_port()}", one_file=True)
    for _ in range(5):  # nginx complains of each, beside the access log
        assert request(gateway.address, "GET", "/").status == 502
    lines = wait_until(lambda: gateway.stdout.count('"upstream_status"') == 5 and gateway.stdout).splitlines()
    entries = [json.loads(line) for line in lines if line.startswith("{")]
    assert len(entries) == 5
    assert sum("[error]" in line for line in lines) == 5
    assert all(line.startswith(("{", "20", "fairway: ")) for line in lines), lines


def test_bypass_prefixes_skip_the_room(running, origin):
    gateway = running(*upstream_of(origin), "--capacity", "0")
    assert request(gateway.address, "GET", "/").status == 429
    for path in ("/robots.txt", "/favicon.ico", "/.well-known/acme-challenge/x"):
        assert request(gateway.address, "GET", path).status == 200
    for path in ("/xrobots.txt", "/robots_txt", "/a/robots.txt", "/.well-known/../", "/.well-known"):
        assert request(gateway.address, "GET", path).status == 429, path


def test_without_capacity_there_is_no_room(running, origin):
    gateway = running(*upstream_of(origin))
    answer = request(gateway.address, "GET", "/a?b=c")
    assert answer.status == 200 and "Set-Cookie" not in answer.headers
    assert origin.requests[-1].target == "/a?b=c"


def test_fair_queue_runs_so_many_at_once(running, origin):
    origin.on("/slow", Answer(hold=True))
    gateway = running(*upstream_of(origin), "--concurrency", "1")
    operator = Operator(gateway, address=gateway.address)
    with Connection(gateway.address) as first, Connection(gateway.address) as second:
        first.send_request("GET", "/slow")
        wait_until(lambda: origin.running == 1)
        second.send_request("GET", "/slow")
        wait_until(lambda: operator.get("queues/app")["waiting"] == 1)
        origin.release()
        assert first.read_response().status == second.read_response().status == 200
    assert origin.peak == 1
    wait_until(lambda: gateway.stdout.count('"/slow"') == 2)
    entries = {entry["fair_queue_status"]: entry for entry in map(json.loads, gateway.stdout.splitlines()) if entry["uri"] == "/slow"}
    assert set(entries) == {"direct", "queued"} and entries["queued"]["fair_queue_outer"] == "127.0.0.0/24"


def test_preset_for_an_nginx_in_front(running, origin):
    gateway = running(*upstream_of(origin), "--preset", "nginx")
    request(gateway.address, "GET", "/", [("X-Forwarded-For", "192.0.2.1")])
    entry = logged(gateway, 1)[0]
    assert (entry["remote_addr"], entry["fair_queue_status"], entry["fair_queue_outer"]) == ("192.0.2.1", "direct", "192.0.2.0/24")


def test_preset_for_cloudflare_in_front(running, origin):
    """One of its addresses sends the request, on loopback one that is trusted beside them; nobody else may say who the client is."""
    gateway = running(*upstream_of(origin), "--preset", "cloudflare", "--trust-proxy", "127.0.0.1")
    for source in ("127.0.0.1", "127.0.0.2"):
        request(gateway.address, "GET", "/", [("CF-Connecting-IP", "2001:db8::7"), ("X-Forwarded-For", "192.0.2.1")], source=source)
    entries = {entry["remote_addr"]: entry for entry in logged(gateway, 2)}
    assert set(entries) == {"2001:db8::7", "127.0.0.2"} and entries["2001:db8::7"]["fair_queue_outer"] == "2001:db8::/56"
    assert "concurrency 32;" in (gateway.state / "nginx.conf").read_text()


def test_what_the_application_is_told_of_the_client(running, origin):
    gateway = running(*upstream_of(origin))
    told = [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example"), ("Host", "shop.example:8080")]
    request(gateway.address, "GET", "/", told)
    seen = origin.requests[-1].headers
    assert seen.one("Host") == "shop.example:8080"
    assert seen.one("X-Forwarded-Host") == "shop.example:8080"
    assert seen.one("X-Forwarded-For") == "127.0.0.1"  # nobody in front is trusted
    assert seen.one("X-Forwarded-Proto") == "http"


def test_a_trusted_proxy_speaks_for_its_clients(running, origin):
    gateway = running(*upstream_of(origin), "--trust-proxy", "127.0.0.1", "10.0.0.0/8")
    told = [("X-Forwarded-For", "192.0.2.1, 10.0.0.9"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "shop.example")]
    request(gateway.address, "GET", "/", told)
    seen = origin.requests[-1].headers
    assert seen.one("X-Forwarded-For") == "192.0.2.1, 10.0.0.9, 127.0.0.1"
    assert seen.one("X-Forwarded-Proto") == "https" and seen.one("X-Forwarded-Host") == "shop.example"
    request(gateway.address, "GET", "/", told, source="127.0.0.2")  # not trusted
    assert origin.requests[-1].headers.one("X-Forwarded-For") == "127.0.0.2"
    request(gateway.address, "GET", "/")
    assert origin.requests[-1].headers.one("X-Forwarded-For") == "127.0.0.1"
    assert {entry["remote_addr"] for entry in logged(gateway, 3)} == {"192.0.2.1", "127.0.0.2", "127.0.0.1"}


def test_client_ip_header(running, origin):
    gateway = running(*upstream_of(origin), "--trust-proxy", "127.0.0.1", "--client-ip-header", "X-Client")
    request(gateway.address, "GET", "/", [("X-Client", "192.0.2.7"), ("X-Forwarded-For", "192.0.2.8")])
    assert logged(gateway, 1)[0]["remote_addr"] == "192.0.2.7"


def test_websockets_pass(running, origin):
    origin.on("/ws", Answer(kind="websocket"))
    gateway = running(*upstream_of(origin))
    with Connection(gateway.address) as connection:
        connection.send_request("GET", "/ws", [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "eA=="),
                                               ("Sec-WebSocket-Version", "13")])
        assert connection.read_response().status == 101
        assert connection.reader.read(5) == b"hello"
        connection.send(b"ping!")
        assert connection.reader.read(5) == b"ping!"


@pytest.mark.parametrize("protocol", ["h2c", "H2C, websocket", "HTTP/2.0"])
def test_no_tunnel_for_http2(running, origin, protocol):
    """Requests inside such a tunnel would pass the room and the queue unseen."""
    gateway = running(*upstream_of(origin))
    request(gateway.address, "GET", "/", [("Upgrade", protocol), ("HTTP2-Settings", "AAMAAABkAAQAAP__")])
    assert "Upgrade" not in origin.requests[-1].headers and "Connection" not in origin.requests[-1].headers


def test_connections_to_the_application_are_kept(running, origin):
    gateway = running(*upstream_of(origin))
    for _ in range(3):
        assert request(gateway.address, "GET", "/").status == 200
    assert [seen.headers.get("Connection") for seen in origin.requests] == [None] * 3


def test_bodies_have_no_limit(running, origin):
    gateway = running(*upstream_of(origin))
    body = b"x" * 3_000_000  # nginx's own limit is 1 MB; this one also goes through a temporary file
    assert request(gateway.address, "POST", "/", body=body).status == 200
    assert origin.requests[-1].body == body


def test_application_below_a_path(running, origin):
    origin.on("/base/go", Answer(302, (("Location", "/base/there"), ("Set-Cookie", "a=b; Path=/base/"))))
    gateway = running(*upstream_of(origin, "/base"))
    answer = request(gateway.address, "GET", "/go?x=1")
    assert origin.requests[-1].target == "/base/go?x=1"
    assert answer.headers.one("Location").endswith("/there") and "/base" not in answer.headers.one("Location")
    assert answer.headers.one("Set-Cookie") == "a=b; Path=/"


def test_tls_application_gets_its_name(running, certificate):
    """One TLS connection, answered by hand, so that the name the client asked for can be seen."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, certificate))
    names = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            for _ in range(2):  # the first is the command's own look
                plain, _ = server.accept()
                try:
                    with context.wrap_socket(plain, server_side=True) as secure:
                        secure.recv(4096)
                        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")
                except (ssl.SSLError, OSError):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        gateway = running("--upstream", f"https://localhost:{server.getsockname()[1]}")
        answer = request(gateway.address, "GET", "/")
        assert (answer.status, answer.body, names) == (200, b"secret", ["localhost"])
        thread.join(20)


def test_application_that_is_down_comes_up_later(running, make_origin):
    port = free_port()
    gateway = running("--upstream", f"http://127.0.0.1:{port}")
    assert f"warning: nothing answers at http://127.0.0.1:{port}" in gateway.stderr
    assert request(gateway.address, "GET", "/").status == 502
    with socket.create_server(("127.0.0.1", port)) as server:
        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 204 Up\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert request(gateway.address, "GET", "/").status == 204  # at once, not after nginx's fail_timeout
        thread.join(20)


def test_access_log_is_json_without_secrets(running, origin):
    gateway = running(*upstream_of(origin), "--capacity", "1")
    visitor = Visitor(gateway.address, ROOM)
    visitor.set_cookie("secret", "hunter2")
    visitor.page("/pay\"x?card=hunter2", headers=[("Authorization", "Basic hunter2")])
    entry = next(entry for entry in logged(gateway, 3) if entry["status"] == 200)
    assert entry["uri"] == "/pay\"x" and entry["method"] == "GET"
    assert entry["waiting_room_name"] == ROOM and entry["waiting_room_state"] == "admitted"
    assert len(entry["waiting_room_session"]) == 32
    assert "hunter2" not in gateway.stdout and "v1." not in gateway.stdout


def test_access_log_stays_json_for_odd_requests(running, origin):
    gateway = running(*upstream_of(origin))
    for bad in (b"GET /\r\n", b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\"\\b\r\nConnection: close\r\n\r\n", b"G\xff\"T / HTTP/1.1\r\n\r\n"):
        with Connection(gateway.address) as connection:
            connection.send(bad)
            connection.reader.read()
    assert all(isinstance(entry["status"], int) for entry in logged(gateway, 4))


def test_access_log_in_a_file_or_off(running, origin, tmp_path):
    quiet = running(*upstream_of(origin), "--access-log", "off")
    assert request(quiet.address, "GET", "/").status == 200
    filed = running(*upstream_of(origin), "--access-log", tmp_path / "log")
    assert request(filed.address, "GET", "/").status == 200
    assert json.loads(wait_until(lambda: (tmp_path / "log").read_text()))["status"] == 200
    assert quiet.stdout == filed.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_stops_at_once_when_asked(running, origin, number):
    gateway = running(*upstream_of(origin), "--capacity", "1")
    with Connection(gateway.address) as idle:
        assert request(gateway.address, "GET", "/robots.txt").status == 200
        assert gateway.end(number) == 0
        assert idle.reader.read() == b""


def test_sigquit_lets_requests_finish(running, origin):
    origin.on("/slow", Answer(hold=True))
    gateway = running(*upstream_of(origin))
    with Connection(gateway.address) as slow:
        slow.send_request("GET", "/slow", [("Connection", "close")])
        wait_until(lambda: origin.seen("/slow"))
        gateway.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: not listens(gateway.address))
        origin.release()
        assert slow.read_response().body == b"ok"
    assert gateway.process.wait(scaled(20)) == 0


def listens(address):
    try:
        socket.create_connection(address, 5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_nginx_is_gone_when_the_command_is_killed(running, origin):
    gateway = running(*upstream_of(origin))
    os.kill(gateway.process.pid, signal.SIGKILL)
    gateway.process.wait(scaled(20))
    wait_until(lambda: not gateway.processes(), 10, message="nginx outlived the command")


def test_the_command_is_gone_when_nginx_is_killed(running, origin):
    gateway = running(*upstream_of(origin))
    master = next(pid for pid in gateway.processes() if "master process" in title(pid))
    os.kill(master, signal.SIGTERM)
    assert gateway.process.wait(scaled(20)) == 1
    assert "nginx ended by itself" in gateway.stderr


def workers(gateway):
    return {pid for pid in gateway.processes() if "worker process" in title(pid) and "shutting down" not in title(pid)}


def test_sighup_takes_up_rotated_keys_and_keeps_everybody(running, origin):
    gateway = running(*upstream_of(origin), "--capacity", "1")
    visitor, newcomer = Visitor(gateway.address, ROOM), Visitor(gateway.address, ROOM)
    visitor.page("/")
    old, before = visitor.passed.key, workers(gateway)
    assert fairway("keys", "rotate", "--keys", gateway.state / "keys").returncode == 0
    gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: workers(gateway) and not workers(gateway) & before, 20, message="no new workers after SIGHUP")
    assert visitor.page("/").status == 200
    assert newcomer.page("/").status == 429
    assert newcomer.ticket.key != old


def test_workers_have_no_rights_and_reach_their_files(running, origin):
    """As root: the state folder and what is in it are root's, the workers are not root, and what they must write they can."""
    gateway = running(*upstream_of(origin), "--capacity", "1")
    room = (gateway.state / "work/room").stat()

    def owners():
        return {Path(f"/proc/{pid}").stat().st_uid for pid in workers(gateway)}

    wait_until(lambda: owners() == {room.st_uid})  # a worker is born with the master's rights
    assert gateway.state.stat().st_uid == (gateway.state / "nginx.conf").stat().st_uid == (gateway.state / "keys").stat().st_uid == os.geteuid()
    if os.geteuid() == 0:
        assert room.st_uid == pwd.getpwnam("www-data").pw_uid
    Visitor(gateway.address, ROOM).page("/")
    gateway.end()
    assert list((gateway.state / "work/room").iterdir()), "the workers saved nothing"
