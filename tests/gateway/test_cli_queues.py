"""`fairway queue …` against a gateway whose only slot is taken."""

import pytest

from harness.cli import Cli
from harness.limits import wait_until
from harness.operator import CONSOLE, Operator
from harness.origin import Answer
from harness.queued import Pending

QUEUE = """
    set_real_ip_from 127.0.0.1; real_ip_header X-Client;
    fair_queue app { concurrency 1; }
    server { listen @LISTEN@; location / { fair_queue app; proxy_pass http://@ORIGIN@; } }
""" + CONSOLE


@pytest.fixture
def busy(gateway, origin):
    """(the command, the operator): one request runs, two wait, until the test is over."""
    origin.on("/held", Answer(hold=True))
    running = gateway(QUEUE, origin=origin)
    operator = Operator(running)
    sent = [Pending(running.address, "/held", headers=[("X-Client", client)]) for client in ("203.0.113.7", "203.0.113.8", "198.51.100.1")]
    wait_until(lambda: (operator.get("queues/app")["running"], operator.get("queues/app")["waiting"]) == (1, 2))
    yield Cli(running.address_of(2)), operator
    origin.release()
    assert [each.response().status for each in sent] == [200] * 3


def test_list_and_show(busy):
    cli, operator = busy
    head, app = (line.split() for line in cli("queue", "list").splitlines())
    assert head[:4] == ["NAME", "RUNNING", "CONCURRENCY", "WAITING"] and app[:4] == ["app", "1", "1", "2"]
    shown = [line.split(maxsplit=1) for line in cli("queue", "show", "app").splitlines()]
    for row in (["running", "1 of 1"], ["waiting", "2"], ["direct", "1"], ["timeout", "10s"], ["inner_cookies", "sessionid session"]):
        assert [word.split("  ")[0].strip() for word in row] in [[word.split("  ")[0].strip() for word in line] for line in shown], row
    assert cli.json("queue", "list") == {"queues": [cli.json("queue", "show", "app")]}
    assert cli.json("queue", "show", "app")["settings"] == operator.get("queues/app")["settings"]


def test_flows(busy):
    cli, _ = busy
    text = cli("queue", "flows", "app")
    networks, costs, sessions, _ = text.split("\n\n")
    assert networks.splitlines()[0] == "Networks with most debt" and networks.splitlines()[1].split() == ["NETWORK", "DEBT", "COST", "RUNNING", "WAITING", "PROVEN"]
    assert {line.split()[0] for line in networks.splitlines()[2:]} >= {"203.0.113.0/24"}
    assert "SESSION" in sessions and "SESSION" not in costs
    told = cli.json("queue", "flows", "app", "--top", "1")
    assert len(told["outer"]["by_debt"]) == 1 and len(told["inner"]["by_cost"]) == 1


def test_no_such_queue(busy):
    cli, _ = busy
    for arguments in (["show", "other"], ["flows", "other"], ["watch", "other"]):
        assert cli("queue", *arguments, status=1).endswith(".\n")
