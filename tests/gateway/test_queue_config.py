"""The directives of fair queues: what nginx -t takes, what it refuses and in which words, and what a reload may change."""

import pytest

from harness.http1 import request
from harness.limits import wait_until
from harness.nginx import ReloadRefused, check
from harness.origin import Answer
from harness.queued import Pending

SERVER = "server { listen @LISTEN@; fair_queue app; location / { proxy_pass http://127.0.0.1:1; } }"
LIVE = """
    fair_queue app { @SETTINGS@ }
    server { listen @LISTEN@; fair_queue app; location / { proxy_pass http://@ORIGIN@; } }"""


def verdict(gateway, code=0):
    """What nginx -t says of it; it must end with this status."""
    status, output = check(gateway)
    assert status == code, output
    return output.splitlines()


def refused(make_gateway, http):
    """The one message of level emerg of a file that must not be taken."""
    [message] = [line for line in verdict(make_gateway(http, control=False), code=1) if "[emerg]" in line]
    assert "nginx.conf:" in message
    return message


def warnings(make_gateway, http):
    return [line for line in verdict(make_gateway(http)) if "[warn]" in line]


GOOD = [
    "concurrency 1;",
    "concurrency 65536;",
    "concurrency 2; order fair;",
    "concurrency 2; order fifo;",
    "concurrency 2; size 0;",
    "concurrency 2; size 65536;",
    "concurrency 2; timeout 1ms;",
    "concurrency 2; timeout 365d;",
    "concurrency 2; burst 0;",
    "concurrency 2; max_debt 0; debt_ttl 1h30m;",
    "concurrency 2; outer_prefix 0 0;",
    "concurrency 2; outer_prefix 32 128;",
    "concurrency 2; inner_cookies off; inner_headers off;",
    "concurrency 2; inner_cookies sid; inner_headers X-Api-Key Accept;",
    "concurrency 2; inner_cookies " + " ".join(f"c{number}" for number in range(16)) + ";",
    "concurrency 2; inner_address off;",
    "concurrency 2; inner_address on;",
    "concurrency 2; outer_flows 1; inner_flows 1;",
    "concurrency 2; probation on;",
    "concurrency 2; probation off;",
    "concurrency 2; light_lane 1;",
    "light_lane 1; concurrency 2;",
    "concurrency 1; light_lane off;",
    "concurrency 2; cost_header off; cpu_header off;",
    "concurrency 2; cost_header X-Cost; cpu_header X-Cpu;",
    "concurrency 2; bypass $cookie_staff $arg_a$arg_b;",
]

CONCURRENCY = '"concurrency" must be a whole number from 1 to 65536'
LANE = '"light_lane" must be a whole number below concurrency'
ONCE_MORE = [(f"concurrency 2; {text}; {text};", f'"{text.split()[0]}" is given twice in fair_queue "app"')
             for text in ("order fair", "size 1", "timeout 1s", "burst 1s", "inner_headers off", "light_lane off")]
BAD = ONCE_MORE + [
    ("", '"concurrency" is missing, it must be a whole number from 1 to 65536'),
    ("size 5;", 'fair_queue "app": "concurrency" is missing'),
    ("concurrency 0;", f'{CONCURRENCY}, not "0"'),
    ("concurrency -1;", f'{CONCURRENCY}, not "-1"'),
    ("concurrency 65537;", CONCURRENCY),
    ("concurrency 1k;", CONCURRENCY),
    ("concurrency auto;", CONCURRENCY),
    ("concurrency;", '"concurrency" has 0 values, it must be a whole number'),
    ("concurrency 1 2;", '"concurrency" has 2 values'),
    ("concurrency 1; concurrency 2;", '"concurrency" is given twice in fair_queue "app"'),
    ("concurrency 1; concurency 2;", 'unknown directive "concurency" in fair_queue "app", allowed are: concurrency light_lane'),
    ("concurrency 1; capacity 2;", 'unknown directive "capacity" in fair_queue "app"'),
    ("concurrency 2; order lifo;", '"order" must be fair or fifo, not "lifo"'),
    ("concurrency 2; size -1;", '"size" must be a whole number from 0 to 65536, not "-1"'),
    ("concurrency 2; size 65537;", '"size" must be a whole number from 0 to 65536'),
    ("concurrency 2; timeout 0;", '"timeout" must be a time above 0 and at most 365d'),
    ("concurrency 2; timeout 366d;", '"timeout" must be a time above 0 and at most 365d'),
    ("concurrency 2; timeout soon;", '"timeout" must be a time'),
    ("concurrency 2; burst -1;", '"burst" must be a time of at most 365d, such as 20ms'),
    ("concurrency 2; burst 20us;", '"burst" must be a time of at most 365d, such as 20ms'),
    ("concurrency 2; max_debt much;", '"max_debt" must be a time of at most 365d, such as 5s'),
    ("concurrency 2; debt_ttl 0;", '"debt_ttl" must be a time above 0 and at most 365d'),
    ("concurrency 2; outer_prefix 24;", '"outer_prefix" has 1 values, it must be two lengths of a prefix'),
    ("concurrency 2; outer_prefix 33 64;", 'must be two lengths of a prefix, 0 to 32 for IPv4 and 0 to 128 for IPv6, such as 24 56, not "33 64"'),
    ("concurrency 2; outer_prefix 24 129;", '"outer_prefix" must be two lengths of a prefix'),
    ("concurrency 2; inner_cookies;", '"inner_cookies" has 0 values, it must be 1 to 16 names of cookies, or off'),
    ("concurrency 2; inner_cookies 'a b';", '"inner_cookies" must be 1 to 16 names of cookies, or off'),
    ("concurrency 2; inner_cookies a=b;", '"inner_cookies" must be'),
    ("concurrency 2; inner_cookies " + "c " * 17 + ";", '"inner_cookies" has 17 values'),
    ("concurrency 2; inner_headers X:Y;", '"inner_headers" must be 1 to 16 names of request headers, or off'),
    ("concurrency 2; inner_headers '';", '"inner_headers" must be'),
    ("concurrency 2; inner_address yes;", '"inner_address" must be on or off, not "yes"'),
    ("concurrency 2; outer_flows 0;", '"outer_flows" must be a whole number from 1 to 1048576, not "0"'),
    ("concurrency 2; outer_flows 1048577;", '"outer_flows" must be'),
    ("concurrency 2; inner_flows 0;", '"inner_flows" must be a whole number from 1 to 1048576, not "0"'),
    ("concurrency 2; probation maybe;", '"probation" must be on or off, not "maybe"'),
    ("concurrency 2; light_lane 0;", f'{LANE}, or off, not "0"'),
    ("concurrency 2; light_lane 2;", f"{LANE} (2), or off"),
    ("light_lane 9; concurrency 4;", f"{LANE} (4), or off"),
    ("concurrency 1; light_lane 1;", f"{LANE} (1), or off"),
    ("concurrency 2; cost_header 'X Y';", '"cost_header" must be the name of a response header, or off'),
    ("concurrency 2; cost_header '';", '"cost_header" must be'),
    ("concurrency 2; cpu_header X:;", '"cpu_header" must be the name of a response header, or off'),
    ("concurrency 2; bypass;", '"bypass" has 0 values, it must be one or more values with variables'),
    ("concurrency 2; location / { }", 'unexpected "{"'),
]


@pytest.mark.parametrize("block", GOOD)
def test_queue_takes(make_gateway, block):
    assert warnings(make_gateway, f"{SERVER}\nfair_queue app {{ {block} }}") == []


@pytest.mark.parametrize("block, words", BAD)
def test_queue_refuses(make_gateway, block, words):
    message = refused(make_gateway, f"{SERVER}\nfair_queue app {{\n{block}\n}}")
    assert words in message


@pytest.mark.parametrize("name", ["App", "app_1", "a" * 33, "off", "''", "a.b"])
def test_queue_name_is_refused(make_gateway, name):
    message = refused(make_gateway, f"fair_queue {name} {{ concurrency 1; }}")
    assert 'the name of a fair_queue must be 1 to 32 of a-z, 0-9 and "-", and not "off"' in message


@pytest.mark.parametrize("name", ["a", "-", "0", "a" * 32])
def test_queue_name_is_taken(make_gateway, name):
    http = f"fair_queue {name} {{ concurrency 1; }} server {{ listen @LISTEN@; location / {{ fair_queue {name}; proxy_pass http://127.0.0.1:1; }} }}"
    assert warnings(make_gateway, http) == []


def test_a_queue_without_upstream_is_a_warning(make_gateway):
    http = "fair_queue app { concurrency 1; } server { listen @LISTEN@; fair_queue app; location /files { root /; } }"
    assert ["is used by locations without an upstream only" in line for line in warnings(make_gateway, http)] == [True]


def test_queue_is_defined_once(make_gateway):
    assert 'fair_queue "app" is defined twice' in refused(make_gateway, "fair_queue app { concurrency 1; }\n" * 2)


USES = [
    ("fair_queue nosuch;", 'unknown fair_queue "nosuch" in '),
    ("location / { fair_queue nosuch; }", 'define it with "fair_queue nosuch { … }" in http {}'),
    ("location / { if ($arg_a) { fair_queue nosuch; } }", 'unknown fair_queue "nosuch"'),
    ("fair_queue app; fair_queue app;", '"fair_queue" directive is duplicate'),
    ("fair_queue App;", '"fair_queue" must be the name of a queue or off, not "App"'),
    ("fair_queue $host;", '"fair_queue" must be the name of a queue or off, not "$host"'),
    ("fair_queue app { concurrency 1; }", 'directive "fair_queue" is not terminated by ";"'),
    ("concurrency 1;", 'unknown directive "concurrency"'),
]


@pytest.mark.parametrize("text, words", USES)
def test_server_level_refuses(make_gateway, text, words):
    assert words in refused(make_gateway, f"fair_queue app {{ concurrency 1; }} server {{ listen @LISTEN@; {text} }}")


def test_a_queue_without_block_is_refused(make_gateway):
    assert 'directive "fair_queue" has no opening "{"' in refused(make_gateway, "fair_queue app;")


def test_queue_used_nowhere_is_a_warning(make_gateway):
    [warning] = warnings(make_gateway, f"{SERVER} fair_queue app {{ concurrency 1; }} fair_queue lonely {{ concurrency 1; }}")
    assert 'fair_queue "lonely" in ' in warning and "is used by no server or location" in warning and "nginx.conf:" in warning


def test_levels_and_order(gateway, origin):
    """Used before it is defined, inherited, overridden, switched off; each location has its own queue."""
    running = gateway("""
        server {
            listen @LISTEN@;
            fair_queue late;
            location / { proxy_pass http://@ORIGIN@; if ($arg_a) { fair_queue other; proxy_pass http://@ORIGIN@; } }
            location /off { fair_queue off; proxy_pass http://@ORIGIN@; }
        }
        fair_queue late { concurrency 2; }
        fair_queue other { concurrency 2; }""", origin=origin)
    for target in ("/", "/x", "/?a=1", "/off"):
        assert request(running.address, "GET", target).status == 200
    samples = running.metrics()
    assert (samples.total("fairway_queue_requests_total", queue="late"), samples.total("fairway_queue_requests_total", queue="other")) == (2, 1)


def reload(running, settings):
    running.values["settings"] = settings
    running.reload(LIVE)


@pytest.mark.parametrize("change", ["concurrency 2; outer_flows 8192;", "concurrency 2; inner_flows 8;", "concurrency 2048;", "concurrency 2; size 4097;"])
def test_reload_refuses_another_size_of_the_tables(gateway, origin, change):
    origin.on("/held", Answer(hold=True))
    running = gateway(LIVE, origin=origin, settings="concurrency 2;")
    held = [Pending(running.address, "/held") for _ in range(2)]
    wait_until(lambda: origin.running == 2)
    waiting = Pending(running.address, "/held")
    wait_until(lambda: running.metrics().get("fairway_queue_waiting", queue="app") == 1)
    workers = running.workers()
    with pytest.raises(ReloadRefused, match='fair_queue "app": "outer_flows", "inner_flows", .* cannot be changed while nginx runs: restart it'):
        reload(running, change)
    assert running.workers() == workers
    assert (running.metrics().get("fairway_queue_running", queue="app"), running.metrics().get("fairway_queue_waiting", queue="app")) == (2, 1)
    assert not waiting.answered() and origin.running == 2
    origin.release()
    assert [pending.response().status for pending in [*held, waiting]] == [200] * 3
    reload(running, "concurrency 3;")
    assert request(running.address, "GET", "/").status == 200


def test_reload_changes_the_concurrency(gateway, make_origin):
    """4, then 1, then 4 again, with requests that run all the time: those that run too many run out, nobody is lost."""
    first, second = make_origin(default=Answer(hold=True)), make_origin(default=Answer(hold=True))
    running = gateway("""
        fair_queue app { light_lane off; @SETTINGS@ }
        server { listen @LISTEN@; fair_queue app; location / { proxy_pass http://@FIRST@; } location /second { proxy_pass http://@SECOND@; } }""",
                      first=first, second=second, settings="concurrency 4;")

    def change(concurrency):
        running.values["settings"] = f"concurrency {concurrency};"
        running.reload(running.http)

    def level():
        samples = running.metrics()
        return samples.get("fairway_queue_running", queue="app"), samples.get("fairway_queue_waiting", queue="app")

    old = [Pending(running.address, "/") for _ in range(4)]
    wait_until(lambda: first.running == 4)
    change(1)
    new = [Pending(running.address, "/second") for _ in range(5)]
    wait_until(lambda: level() == (4, 5))
    assert not new[0].answered() and second.running == 0  # four run out before the one place is free
    first.release()
    assert [pending.response().status for pending in old] == [200] * 4
    wait_until(lambda: level() == (1, 4))
    assert not new[-1].answered() and second.peak == 1
    change(4)
    wait_until(lambda: second.running == 4)
    assert level() == (4, 1) and second.peak == 4
    second.release()
    assert [pending.response().status for pending in new] == [200] * 5
    wait_until(lambda: level() == (0, 0))
