"""How the command finds and speaks to the API: address, password, refusals, and exit codes."""

import pytest

from harness.cli import Cli
from harness.command import fairway
from harness.nginx import free_port
from harness.operator import ROOM
from harness.origin import Answer

USAGE = [
    ["room"], ["room", "show"], ["room", "list", "extra"], ["room", "burn", "sale"], ["room", "show", "Sale"], ["room", "show", "../queues"], ["room", "show", ""],
    ["room", "show", "x" * 33], ["room", "set", "sale"], ["room", "create", "sale"], ["room", "set", "sale", "capacity"], ["room", "set", "sale", "=5"],
    ["room", "set", "sale", "capacity=1", "capacity=2"], ["room", "set", "sale", "attach=a.example"], ["room", "set", "sale", "--attach", "/path"],
    ["room", "evict", "sale"], ["room", "evict", "sale", "--all", "--sid", "0" * 32], ["room", "evict", "sale", "--line"], ["room", "watch", "sale", "--count", "0"],
    ["queue", "flows", "app", "--top", "101"], ["queue", "flows", "app", "--top", "0"], ["queue", "flows", "app", "--top", "x"], ["queue", "set", "app"], ["completion"], ["completion", "fish"],
    ["room", "list", "--api", "localhost:8080"], ["room", "list", "--api", "ftp://localhost/"], ["room", "list", "--api", "http://"],
    ["room", "list", "--api", "http://localhost/?x=1"], ["room", "list", "--api", "http://localhost/#x"], ["room", "list", "--api", "http://local\nhost/"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage(arguments):
    done = fairway(*arguments, FAIRWAY_API=f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("fairway: "), done


def test_nobody_there():
    cli = Cli(("127.0.0.1", free_port()))
    for arguments in (["room", "list"], ["queue", "show", "app", "--json"], ["room", "set", "sale", "capacity=1"], ["room", "watch", "sale", "--count", "3"]):
        said = cli(*arguments, status=3)
        assert cli.url in said and "no gateway answers" in said


def test_a_password_in_the_address_is_told_to_nobody():
    port = free_port()
    said = fairway("room", "list", "--api", f"http://me:topsecret@127.0.0.1:{port}/")
    assert said.returncode == 3 and "topsecret" not in said.stderr and f"http://127.0.0.1:{port}/" in said.stderr


def test_another_server(origin):
    cli = Cli(tuple(str(origin).rsplit(":", 1)))
    origin.default = Answer(body=b"<p>hello</p>")
    assert "not a gateway's API" in cli("room", "list", status=1)
    origin.default = Answer(body=b'{"rooms": [{"name": "sale"}]}')
    assert "not a gateway's API of this version" in cli("room", "list", status=1)
    origin.default = Answer(status=404, body=b"<p>no</p>")
    assert "there is no API at" in cli("room", "list", status=1)
    origin.default = Answer(status=403, body=b"<p>no</p>")
    assert "does not allow" in cli("room", "list", status=1)
    origin.default = Answer(status=302, headers=[("Location", "/elsewhere")])
    assert "status 302" in cli("room", "list", status=1)


def test_a_hostile_answer_cannot_speak_to_the_terminal(origin):
    cli = Cli(tuple(str(origin).rsplit(":", 1)))
    origin.default = Answer(status=422, body=b'{"detail": "a \\u001b[2J \\u009b b.", "field": "capacity\\n"}')
    assert cli("room", "list", status=1) == "fairway: capacity?: a ?[2J ? b.\n"


GUARDED = ROOM.replace("fairway_api;", 'fairway_api; auth_basic "Fairway"; auth_basic_user_file @PREFIX@/passwords;')


def test_user_and_password(make_gateway, origin):
    gateway = make_gateway(GUARDED.replace("@SETTINGS@", ""), origin=origin)
    (gateway.prefix / "passwords").write_text("operator:{PLAIN}correct horse\nme:{PLAIN}p@ss w/d\n")
    (gateway.prefix / "passwords").chmod(0o644)
    gateway.start()
    host, port = gateway.address_of(2)
    cli = Cli((host, port))
    assert "FAIRWAY_API_PASSWORD" in cli("room", "list", status=1)
    assert "FAIRWAY_API_PASSWORD" in cli("room", "list", status=1, FAIRWAY_API_PASSWORD="wrong")
    assert "sale" in cli("room", "list", FAIRWAY_API_PASSWORD="correct horse")  # the user is operator
    assert "sale" in cli("room", "list", FAIRWAY_API_USER="me", FAIRWAY_API_PASSWORD="p@ss w/d")
    assert "sale" in cli("room", "list", "--api", f"http://me:p%40ss%20w%2Fd@{host}:{port}/fairway")
    assert "sale" in cli("room", "list", http_proxy="http://127.0.0.1:1", FAIRWAY_API_PASSWORD="correct horse")  # no proxy to this machine


def test_fairway_run_without_any_setting(running, origin):
    gateway = running("--upstream", f"http://{origin}", "--capacity", "3", "--concurrency", "4")
    cli = Cli(gateway.address)
    assert "site" in cli("room", "list") and "app" in cli("queue", "list")
    assert cli.json("room", "set", "site", "capacity=9")["settings"]["capacity"] == 9
