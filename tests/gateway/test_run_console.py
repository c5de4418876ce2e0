"""`fairway run` and the console at /fairway/: for this machine itself, for others by password, else the application's."""

import base64
import json

import pytest

from harness.command import Running
from harness.http1 import Connection, request
from harness.nginx import free_port
from harness.operator import Operator
from harness.origin import Answer
from harness.visitor import Visitor

HEALTH = "/fairway/api/health"


def upstream_of(origin):
    return ["--upstream", f"http://{origin}"]


def is_console(answer):
    return answer.headers.get("Content-Type") == "application/json" and "client_address" in answer.json


@pytest.fixture
def site(running, origin):
    """site(*flags): `fairway run` in front of an application that has a /fairway/ of its own."""
    origin.default = Answer(body=b"the application")
    return lambda *flags, **options: running(*upstream_of(origin), *flags, **options)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:8080", "127.0.0.1:1", "[::1]:8080"])
def test_from_this_machine(site, host):
    gateway = site()
    answer = request(gateway.address, "GET", HEALTH, [("Host", host)])
    assert is_console(answer) and answer.json["client_address"] == "127.0.0.1"


@pytest.mark.parametrize("headers", [
    [("Host", "example.com")], [("Host", "localhost.example.com")], [("Host", "127.0.0.2")], [("Host", "0.0.0.0")], [("Host", "[::]")], [("Host", "2130706433")],
    [("Host", "localhost:8080.example.com")],
    [("X-Forwarded-For", "127.0.0.1")], [("X-Forwarded-Proto", "https")], [("x-forwarded-anything", "")], [("Forwarded", "for=127.0.0.1")],
    [("X-Real-IP", "127.0.0.1")], [("CF-Connecting-IP", "127.0.0.1")], [("True-Client-IP", "127.0.0.1")],
])
def test_anybody_else_gets_the_application(site, origin, headers):
    gateway = site()
    assert request(gateway.address, "GET", HEALTH, headers).text == "the application"
    assert request(gateway.address, "PUT", "/fairway/api/rooms/x", [*headers, ("Content-Type", "application/json")], b'{"capacity": 1}').text == "the application"
    assert [seen.path for seen in origin.requests] == [HEALTH, "/fairway/api/rooms/x"]
    assert Operator(gateway, address=gateway.address).get("rooms") == {"rooms": []}


METRICS = "/fairway/metrics"


def test_metrics_are_for_this_machine(site):
    gateway = site("--capacity", "1")
    assert "fairway_room_inside{room=\"site\"} 0" in request(gateway.address, "GET", METRICS).text
    for headers in ([("Host", "example.com")], [("X-Forwarded-For", "127.0.0.1")]):
        Visitor(gateway.address, "site").page("/")
        assert "fairway_room" not in request(gateway.address, "GET", METRICS, headers).text
    assert request(gateway.address, "GET", "/.fairway-console/metrics").status in (404, 429)


def test_metrics_from_other_networks_need_the_password(site, tmp_path):
    (tmp_path / "password").write_text("correct horse")
    gateway = site("--console-allow", "127.0.0.0/8", "--console-password-file", tmp_path / "password")
    other = [("Host", "example.com")]
    assert request(gateway.address, "GET", METRICS, other).status == 401
    assert "# TYPE fairway_" in request(gateway.address, "GET", METRICS, [*other, login("correct horse")]).text


def test_it_says_where_the_console_is(site, tmp_path):
    (tmp_path / "password").write_text("secret")
    gateway = site("--capacity", "2", "--concurrency", "3")
    url = f"http://127.0.0.1:{gateway.port}/fairway/"
    assert 'a room "site" for 2, a fair queue "app" of 3' in gateway.stderr
    assert f"console at {url};" in gateway.stderr and f"fairway room list --api {url};" in gateway.stderr
    open_ = site("--console-allow", "10.0.0.0/8", "--console-password-file", tmp_path / "password", listen=f"0.0.0.0:{free_port()}")
    assert "with a password from elsewhere" in open_.stderr and "console at http://localhost:" in open_.stderr
    assert "no console" in site(listen=f"127.0.0.2:{free_port()}").stderr


def test_the_other_way_in_is_closed(site):
    gateway = site()
    for target in ("/.fairway-console/api/health", "/./.fairway-console/api/health", "/x/../.fairway-console/api/health"):
        assert request(gateway.address, "GET", target).status == 404
    with Connection(gateway.address) as connection:
        connection.send(f"GET http://example.com{HEALTH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.read_response().text == "the application"
    with Connection(gateway.address) as connection:  # what nginx in front sends when it is left at its defaults
        connection.send(f"GET {HEALTH} HTTP/1.0\r\nHost: 127.0.0.1:{gateway.port}\r\nConnection: close\r\n\r\n".encode())
        assert connection.read_response().text == "the application"


def test_a_client_address_header_of_its_own_name(site):
    gateway = site("--trust-proxy", "10.0.0.0/8", "--client-ip-header", "X-Edge-Client")
    assert request(gateway.address, "GET", HEALTH, [("X-Edge-Client", "127.0.0.1")]).text == "the application"
    assert is_console(request(gateway.address, "GET", HEALTH))


def test_a_trusted_proxy_cannot_speak_for_this_machine(site):
    gateway = site("--preset", "nginx")  # trusts the loopback addresses
    for client in ("203.0.113.7", "127.0.0.1"):
        assert request(gateway.address, "GET", HEALTH, [("X-Forwarded-For", client)]).text == "the application"


def test_a_path_beside_it_is_the_applications(site):
    gateway = site()
    for target in ("/fairway", "/fairway2/api/health", "/Fairway/api/health", "/x/fairway/api/health"):
        assert request(gateway.address, "GET", target).text == "the application"


def test_rooms_made_at_run_time(site):
    gateway = site()
    operator = Operator(gateway, address=gateway.address)
    made = operator.call("PUT", "rooms/flash?x=1", {"capacity": 1, "attach": [{"host": "localhost"}]})
    assert made.status == 201 and made.location == "/fairway/api/rooms/flash"
    inside, waiter = Visitor(gateway.address, "flash"), Visitor(gateway.address, "flash")
    assert inside.page("/").status == 200 and waiter.page("/").status == 429
    assert operator.get("rooms/flash")["waiting"] == 1  # the console itself is no visitor


def test_the_room_and_queue_of_the_command_line_change_live_and_last(site, running, origin):
    gateway = site("--capacity", "1", "--concurrency", "4")
    operator = Operator(gateway, address=gateway.address)
    assert operator.put("rooms/site", {"capacity": 3})["file"] == {"capacity": 1}
    assert operator.put("queues/app", {"concurrency": 8})["concurrency"] == 8
    folder = gateway.folder
    assert gateway.end() == 0
    again = Running(*upstream_of(origin), "--capacity", "1", "--concurrency", "4", folder=folder)
    try:
        operator = Operator(again, address=again.address)
        assert (operator.get("rooms/site")["settings"]["capacity"], operator.get("queues/app")["concurrency"]) == (3, 8)
    finally:
        assert again.end() == 0


def login(password, user="operator"):
    return ("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


def test_other_networks_need_the_password(site, tmp_path):
    (tmp_path / "password").write_text("correct horse\nignored\n")
    gateway = site("--console-allow", "127.0.0.0/8", "--console-password-file", tmp_path / "password")
    other = [("Host", "example.com")]  # not this machine itself, by its Host
    refused = request(gateway.address, "GET", HEALTH, other)
    assert refused.status == 401 and refused.headers.one("WWW-Authenticate") == 'Basic realm="Fairway"'
    assert request(gateway.address, "GET", HEALTH, [*other, login("wrong")]).status == 401
    assert request(gateway.address, "GET", HEALTH, [*other, login("correct horse", "root")]).status == 401
    assert is_console(request(gateway.address, "GET", HEALTH, [*other, login("correct horse")]))
    assert is_console(request(gateway.address, "GET", HEALTH))  # from here without
    secret = gateway.state / "work" / "console"
    assert secret.stat().st_mode & 0o777 == 0o600 and "correct horse" not in secret.read_text()
    assert "correct horse" not in (gateway.state / "nginx.conf").read_text()


def test_networks_that_are_not_named_get_the_application(site, tmp_path):
    (tmp_path / "password").write_text("secret")
    gateway = site("--console-allow", "10.0.0.0/8", "--console-password-file", tmp_path / "password")
    assert request(gateway.address, "GET", HEALTH, [("Host", "example.com"), login("secret")]).text == "the application"
    assert is_console(request(gateway.address, "GET", HEALTH))


def test_a_named_network_behind_a_trusted_proxy(site, tmp_path):
    (tmp_path / "password").write_text("secret")
    gateway = site("--trust-proxy", "127.0.0.0/8", "--console-allow", "10.0.0.0/8", "--console-password-file", tmp_path / "password")
    for client, status in [("10.1.2.3", 401), ("192.0.2.1", 200)]:
        assert request(gateway.address, "GET", HEALTH, [("X-Forwarded-For", client)]).status == status
    assert request(gateway.address, "GET", HEALTH, [("X-Forwarded-For", "10.1.2.3"), login("secret")]).json["client_address"] == "10.1.2.3"


def test_no_secret_in_what_it_prints(site):
    gateway = site("--capacity", "5")
    told = json.dumps(Operator(gateway, address=gateway.address).get("health"))
    secret = (gateway.state / "keys").read_text().split(":")[1].strip()
    assert secret not in told
