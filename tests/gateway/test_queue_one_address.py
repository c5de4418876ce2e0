"""The warning that nearly all requests to a queue come from one address."""

import re

from harness.http1 import Connection
from harness.limits import wait_until

QUEUE = """
    fair_queue app { concurrency 2; }
    server { listen @LISTEN@; location / { fair_queue app; proxy_pass http://@ORIGIN@; } }"""
WORDS = r'\[warn\].* nearly all requests to fair_queue "app" come from one address in ([^:]*): is "set_real_ip_from" missing, or does one client send nearly everything\?$'


def ask(gateway, count, *sources):
    """`count` requests, one by one, from these addresses in turn."""
    connections = [Connection(gateway.address, source) for source in sources]
    for number in range(count):
        assert connections[number % len(connections)].request("GET", "/").status == 200
    for connection in connections:
        connection.close()


def said(gateway):
    return re.findall(WORDS, gateway.log, re.MULTILINE)


def test_nearly_all_from_one_address(gateway, origin):
    running = gateway(QUEUE, origin=origin)
    ask(running, 999, "127.3.1.1")
    assert said(running) == []
    ask(running, 1, "127.9.9.9")
    assert said(running) == []
    ask(running, 1, "127.3.1.1")
    wait_until(lambda: said(running) == ["127.3.1.0/24"])  # logs carry networks, not addresses
    ask(running, 1001, "127.3.1.1")  # said once an hour
    running.reload()
    ask(running, 1000, "127.3.1.1")
    assert len(said(running)) == 1


def test_nine_of_ten_are_not_nearly_all(gateway, origin):
    running = gateway(QUEUE, origin=origin)
    ask(running, 2000, *["127.3.1.1"] * 9, "127.3.1.2")
    assert said(running) == []
