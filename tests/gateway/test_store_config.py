"""`fairway_store` with a shared store, under nginx -t and on reload; and what of it may be seen."""

import pytest

from harness.nginx import ReloadRefused, check
from harness.visitor import Visitor
from test_config import refused, verdict

ROOM = "waiting_room sale { capacity 1; } server { listen @LISTEN@; waiting_room sale; location / { empty_gif; } }"

GOOD = [
    "valkey://localhost",
    "redis://127.0.0.1:7000/12",
    "valkey://user:p%40ss@[::1]:7000",
    "valkeys://localhost verify=off",
    "rediss://:secret@localhost timeout=1s breaker=10s",
    "unix:/run/nowhere.sock password=@PASSWORD@",
    "valkey://shop@localhost password=@PASSWORD@",
    "valkey://127.0.0.1:1 valkey://127.0.0.2:1 valkey://127.0.0.3:1",
    "valkey://127.0.0.1 valkey://127.0.0.2 sentinel=shop",
    "valkeys://localhost ca=@CERTIFICATE@",
]
BAD = [
    ("valkey://", "host is missing"),
    ("valkey://h:0", "1 to 65535"),
    ("http://localhost", "allowed are valkey://, redis://, valkeys://, rediss://, unix:"),
    ("unix:relative", "unix:/path"),
    ("valkey://shop@localhost", "a user needs a password: user:password@host, or user@host and password=@FILE"),
    ("valkey://localhost timeout=0", "timeout= takes a time from 1ms to 60s"),
    ("valkey://localhost breaker=2h", "breaker= takes a time from 1ms to 1h"),
    ("valkey://localhost colour=red", "unknown word; allowed are"),
    ("valkey://localhost ca=/x", "ca= and verify= need valkeys:// or rediss://"),
    ("valkey://localhost valkeys://127.0.0.1", "either all hosts use TLS"),
    ("valkey://localhost password=hunter2", "password= takes @ and the name of a file"),
    ("valkey://u:hunter2@localhost password=@/x", "the password is given twice"),
    ("valkey://localhost password=@/nowhere/password", "the file of \"password=@/nowhere/password\" of \"fairway_store\" cannot be read"),
    ("valkey://localhost password=@EMPTY@", "must hold the password in its first line"),
    ("valkeys://localhost ca=/nowhere/ca.pem",
     'the file of "ca=/nowhere/ca.pem" of "fairway_store" must hold trusted certificates in PEM form (2: No such file or directory) in'),
    ("valkeys://localhost ca=@NO_CERTIFICATE@", 'of "fairway_store" must hold trusted certificates in PEM form in'),
    ("valkeys://localhost ca=/", 'the file of "ca=/" of "fairway_store" must hold trusted certificates in PEM form in'),
    ("valkey://no-such-host.invalid", "host not found in \"no-such-host.invalid:6379\""),
    ("valkey://localhost; fairway_store memory 1m", '"fairway_store" directive is duplicate'),
]


@pytest.fixture
def files(tmp_path, certificate):
    tmp_path.chmod(0o755)
    password, empty = tmp_path / "password", tmp_path / "empty"
    password.write_text("hunter2\nnot this\n")
    empty.write_text("\nhunter2\n")
    return {"password": f"@{password}", "empty": f"@{empty}", "certificate": certificate[0], "no_certificate": empty}


@pytest.mark.parametrize("words", GOOD)
def test_nginx_takes(make_gateway, files, words):
    gateway = make_gateway(f"fairway_store {words}; {ROOM}", **files)
    assert "[warn]" not in verdict(gateway)
    assert not gateway.state.exists()  # nothing was made


@pytest.mark.parametrize("words, message", BAD)
def test_nginx_refuses(make_gateway, files, words, message):
    said = refused(make_gateway, f"fairway_store {words}; {ROOM}", **files)
    assert message in said
    assert "nginx.conf:" in said
    assert "hunter2" not in said


def test_a_store_that_is_not_there_does_not_keep_nginx_from_starting(gateway, make_gateway):
    status, _ = check(make_gateway(f"fairway_store valkey://127.0.0.1:1 timeout=100ms; {ROOM}"))
    assert status == 0
    running = gateway(f"fairway_store valkey://127.0.0.1:1 timeout=100ms; {ROOM}")
    assert Visitor(running.address).page("/").status == 503


def test_reload(gateway, store, make_store):
    running = gateway(f"fairway_store {store.url} timeout=5s; {ROOM}")
    inside = Visitor(running.address)
    assert inside.page("/").status == 200
    with pytest.raises(ReloadRefused, match="cannot change between memory and a shared store"):
        running.reload(f"fairway_store memory 1m; {ROOM}")
    other = make_store()
    running.reload(f"fairway_store {other.url} timeout=5s; {ROOM}")  # another server: the line is rebuilt there
    assert inside.page("/").status == 200
    waiting = Visitor(running.address)
    assert waiting.page("/").status == 429
    assert other.command("EXISTS", "fairway:{sale}:state") == 1


def test_the_command_runs_on_a_shared_store(running, origin, store):
    one = running("--upstream", f"http://{origin}", "--capacity", "1", "--store", f"{store.url} timeout=5s")
    assert Visitor(one.address, room="site").page("/").status == 200
    assert Visitor(one.address, room="site").page("/").status == 429
    assert [key.decode() for key in store.command("KEYS", "fairway:*:state")] == ["fairway:{site}:state"]
