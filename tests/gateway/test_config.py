"""The directives of rooms under nginx -t: what is taken, what is refused and in which words, what is warned of."""

import re

import pytest

from harness.http1 import request
from harness.nginx import ReloadRefused, StartFailed, check
from harness.visitor import Visitor

SERVER = "server { listen @LISTEN@; waiting_room sale; location / { empty_gif; } }"


def verdict(gateway, code=0):
    """nginx -t on it, which must end with this status."""
    status, output = check(gateway)
    assert status == code, output
    return output


def refused(make_gateway, http, **options):
    """What nginx -t says of a file it must not take: the one message of level emerg."""
    output = verdict(make_gateway(http, **options), code=1)
    messages = [line for line in output.splitlines() if "[emerg]" in line]
    assert len(messages) == 1, output
    return messages[0]


def warnings(make_gateway, http, **options):
    """The warnings of nginx -t on a file it takes."""
    output = verdict(make_gateway(http, **options))
    return [line for line in output.splitlines() if "[warn]" in line]


GOOD = [
    "capacity 0;",
    "capacity 10000000; max_waiting 0;",
    "capacity 1; rate 1/s;",
    "capacity 1; rate 1000000/m;",
    "capacity 1; rate off;",
    "capacity 1; session_timeout 30;",
    "capacity 1; session_timeout 2s; refresh 1s;",
    "capacity 1; session_timeout 1h30m; session_max 1h30m;",
    "capacity 1; session_max off;",
    "capacity 1; grant_timeout 500ms; abandon_timeout 365d; return_grace 0;",
    "capacity 1; refresh 0;",
    "capacity 1; refresh 5m;",
    "capacity 1; entries_per_ip 1/m;",
    "capacity 1; entries_per_ip off;",
    "capacity 1; polls_per_session 1000/s;",
    "capacity 1; poll_interval 100ms 100ms;",
    "capacity 1; poll_interval 1s 1m;",
    "capacity 1; on_store_failure open;",
    "capacity 1; on_store_failure closed;",
    "capacity 1; bind_network on;",
    "capacity 1; bind_network off;",
    "capacity 1; page_status 200;",
    "capacity 1; page_status 202;",
    "capacity 1; page_status 429;",
    "capacity 1; page_status 503;",
    "capacity 1; message 'Grüße, 東京 \\\"€\\\"';",
    "capacity 1; message '';",
    f"capacity 1; message '{'ü' * 500}';",
    "capacity 1; bypass $cookie_staff;",
    "capacity 1; bypass $cookie_staff $arg_a$arg_b '${http_x}y';",
    "capacity 1; cookie_domain example.com;",
    "capacity 1; cookie_domain .shop.example.com;",
    "capacity 1; cookie_secure auto;",
    "capacity 1; cookie_secure on;",
    "capacity 1; cookie_secure off;",
]

TIME = "must be a time above 0 and at most 365d"
BAD = [
    ("", '"capacity" is missing, it must be a whole number from 0 to 10000000'),
    ("capacity -1;", '"capacity" must be a whole number from 0 to 10000000, not "-1"'),
    ("capacity 10000001;", '"capacity" must be'),
    ("capacity 1k;", '"capacity" must be'),
    ("capacity;", '"capacity" has 0 values, it must be a whole number'),
    ("capacity 1 2;", '"capacity" has 2 values'),
    ("capacity 1; capacity 2;", '"capacity" is given twice in waiting_room "sale"'),
    ("capacity 1; capasity 2;", 'unknown directive "capasity" in waiting_room "sale", allowed are: capacity rate session_timeout'),
    ("capacity 1; rate 0/s;", '"rate" must be N/s or N/m with N from 1 to 1000000, or off, not "0/s"'),
    ("capacity 1; rate 5;", '"rate" must be N/s or N/m'),
    ("capacity 1; rate 5/h;", '"rate" must be N/s or N/m'),
    ("capacity 1; rate 1.5/s;", '"rate" must be N/s or N/m'),
    ("capacity 1; session_timeout 0;", f'"session_timeout" {TIME}'),
    ("capacity 1; session_timeout 366d;", f'"session_timeout" {TIME}'),
    ("capacity 1; session_timeout soon;", f'"session_timeout" {TIME}'),
    ("capacity 1; session_max 0;", '"session_max" must be a time above 0 and at most 365d, such as 2h, or off'),
    ("capacity 1; session_max 9m;", '"session_max" (9m) must be at least "session_timeout" (10m), or off'),
    ("capacity 1; grant_timeout 0s;", f'"grant_timeout" {TIME}'),
    ("capacity 1; abandon_timeout 0;", f'"abandon_timeout" {TIME}'),
    ("capacity 1; return_grace -1;", '"return_grace" must be a time of at most 365d'),
    ("capacity 1; refresh 301s;", '"refresh" (301s) must be at most half of "session_timeout" (10m)'),
    ("capacity 1; session_timeout 20s;", '"refresh" (15s) must be at most half of "session_timeout" (20s)'),
    ("capacity 1; refresh 1500ms;", '"refresh" must be a time in whole seconds'),
    ("capacity 1; max_waiting many;", '"max_waiting" must be a whole number from 0 to 10000000, not "many"'),
    ("capacity 1; entries_per_ip 5/s;", '"entries_per_ip" must be N/m with N from 1 to 1000000, or off, not "5/s"'),
    ("capacity 1; entries_per_ip 0/m;", '"entries_per_ip" must be N/m'),
    ("capacity 1; polls_per_session off;", '"polls_per_session" must be N/s with N from 1 to 1000000, not "off"'),
    ("capacity 1; polls_per_session 5/m;", '"polls_per_session" must be N/s'),
    ("capacity 1; poll_interval 3s;", '"poll_interval" has 1 values, it must be two times'),
    ("capacity 1; poll_interval 5s 4s;", '"poll_interval" must be two times, MIN of at least 100ms and MAX of at least MIN, such as 3s 30s, not "5s 4s"'),
    ("capacity 1; poll_interval 0 4s;", '"poll_interval" must be two times'),
    ("capacity 1; on_store_failure maybe;", '"on_store_failure" must be closed or open, not "maybe"'),
    ("capacity 1; bind_network yes;", '"bind_network" must be on or off, not "yes"'),
    ("capacity 1; page_status 404;", '"page_status" must be 200, 202, 429 or 503, not "404"'),
    ("capacity 1; page @PREFIX@/nothing.html;", 'nothing.html" cannot be read (2: No such file or directory)'),
    ("capacity 1; page @PREFIX@;", '" is not a regular file'),
    ("capacity 1; page large.html;", '/large.html" is larger than 1m'),
    ("capacity 1; page latin1.html;", '/latin1.html" must be an HTML file in UTF-8'),
    ("capacity 1; page empty.html;", '/empty.html" must be an HTML file in UTF-8'),
    ("capacity 1; message a b;", '"message" has 2 values, it must be one text'),
    (f"capacity 1; message '{'x' * 1001}';", '"message" must be one text of at most 1000 bytes'),
    ("capacity 1; message 'a\x07b';", 'UTF-8 without control characters'),
    ("capacity 1; bypass;", '"bypass" has 0 values, it must be one or more values with variables'),
    ("capacity 1; cookie_domain example.com:80;", '"cookie_domain" must be a domain name such as example.com, not "example.com:80"'),
    ("capacity 1; cookie_domain -a.example;", '"cookie_domain" must be'),
    ("capacity 1; cookie_domain a..example;", '"cookie_domain" must be'),
    (f"capacity 1; cookie_domain {'a' * 64}.example;", '"cookie_domain" must be'),
    ("capacity 1; cookie_secure always;", '"cookie_secure" must be auto, on or off, not "always"'),
    ("capacity 1; location / { }", 'unexpected "{"'),
]


@pytest.mark.parametrize("block", GOOD)
def test_room_takes(make_gateway, block):
    assert warnings(make_gateway, f"{SERVER}\nfairway_store memory 4g;\nwaiting_room sale {{ {block} }}") == []


@pytest.mark.parametrize("block, words", BAD)
def test_room_refuses(make_gateway, block, words):
    gateway = make_gateway(f"{SERVER}\nwaiting_room sale {{\n{block}\n}}")
    (gateway.prefix / "large.html").write_bytes(b"x" * (1024 * 1024 + 1))
    (gateway.prefix / "latin1.html").write_bytes("<p>Grüße".encode("latin-1"))
    (gateway.prefix / "empty.html").touch()
    output = verdict(gateway, code=1)
    message = next(line for line in output.splitlines() if "[emerg]" in line)
    assert words in message
    lines = gateway.config.read_text().splitlines()
    at = next(number for number, line in enumerate(lines, 1) if line.startswith("waiting_room sale"))
    assert f"nginx.conf:{at + 1}" in message or f"nginx.conf:{at + 2}" in message  # the directive's line, or the block's last


def test_message_must_be_utf8(make_gateway):
    gateway = make_gateway("")
    for bad in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe2\x28\xa1"):
        gateway.write(f"{SERVER}\nwaiting_room sale {{ capacity 1; message 'BAD'; }}")
        gateway.config.write_bytes(gateway.config.read_bytes().replace(b"BAD", bad))
        assert '"message" must be one text of at most 1000 bytes, UTF-8' in verdict(gateway, code=1)


def test_block_takes_include(make_gateway):
    gateway = make_gateway(f"{SERVER}\nwaiting_room sale {{ include room.conf; }}")
    (gateway.prefix / "room.conf").write_text("capacity 1;\nrate wrong;\n")
    assert '"rate" must be N/s or N/m' in (output := verdict(gateway, code=1))
    assert "room.conf:2" in output
    (gateway.prefix / "room.conf").write_text("capacity 1;\nrate 1/s;\n")
    verdict(gateway)


@pytest.mark.parametrize("name", ["Sale", "sale_1", "sälé", "a" * 33, "auto", "off", "''", "a.b"])
def test_room_name_is_refused(make_gateway, name):
    message = refused(make_gateway, f"waiting_room {name} {{ capacity 1; }}")
    assert "the name of a waiting_room must be 1 to 32 of a-z, 0-9 and \"-\"" in message and "nginx.conf:" in message


@pytest.mark.parametrize("name", ["a", "-", "0", "a" * 32, "status", "health"])
def test_room_name_is_taken(make_gateway, name):
    http = f"waiting_room {name} {{ capacity 1; }} server {{ listen @LISTEN@; waiting_room {name}; }}"
    assert warnings(make_gateway, http) == []


def test_room_is_defined_once(make_gateway):
    assert 'waiting_room "sale" is defined twice' in refused(make_gateway, "waiting_room sale { capacity 1; }\n" * 2)


def test_rooms_have_a_bound(make_gateway):
    rooms = "".join(f"waiting_room r{number} {{ capacity 1; max_waiting 1; }}\n" for number in range(257))
    assert 'waiting_room "r256" is one too many, the most is 256' in refused(make_gateway, rooms)


HTTP_LEVEL = [
    ("fairway_state a; fairway_state b;", '"fairway_state" directive is duplicate'),
    ("fairway_state '';", '"fairway_state" directive must be a path'),
    ("fairway_state;", 'invalid number of arguments in "fairway_state" directive'),
    ("fairway_keys a; fairway_keys b;", '"fairway_keys" directive is duplicate'),
    ("fairway_store memory 32m; fairway_store memory 32m;", '"fairway_store" directive is duplicate'),
    ("fairway_store memory;", '"fairway_store" directive must be "memory SIZE", such as "memory 32m"'),
    ("fairway_store disk 1m;", '"fairway_store" directive must be "memory SIZE"'),
    ("fairway_store memory lots;", 'the size of "fairway_store memory" must be from 256k to 1024g, such as 32m, not "lots"'),
    ("fairway_store memory 255k;", "must be from 256k to 1024g"),
    ("fairway_store memory 1025g;", "must be from 256k to 1024g"),
    ("waiting_room sale;", 'directive "waiting_room" has no opening "{"'),
    ("waiting_room { capacity 1; }", 'invalid number of arguments in "waiting_room" directive'),
    ("fairway_dry_run on;", '"fairway_dry_run" directive is not allowed here'),
    ("fairway_metrics;", '"fairway_metrics" directive is not allowed here'),
]
SERVER_LEVEL = [
    ("waiting_room sale { capacity 1; }", 'directive "waiting_room" is not terminated by ";"'),
    ("waiting_room sale; waiting_room sale;", '"waiting_room" directive is duplicate'),
    ("waiting_room Sale;", '"waiting_room" must be the name of a room, auto or off, not "Sale"'),
    ("waiting_room $host;", '"waiting_room" must be the name of a room, auto or off, not "$host"'),
    ("waiting_room nosuch;", 'unknown waiting_room "nosuch" in '),
    ("location / { waiting_room nosuch; }", "define it with \"waiting_room nosuch { … }\" in http {}"),
    ("location / { if ($arg_a) { waiting_room nosuch; } }", 'unknown waiting_room "nosuch"'),
    ("fairway_dry_run maybe;", 'it must be "on" or "off"'),
    ("fairway_metrics;", '"fairway_metrics" directive is not allowed here'),
    ("location / { fairway_metrics; fairway_metrics; }", '"fairway_metrics" directive is duplicate'),
    ("location / { fairway_metrics on; }", 'invalid number of arguments in "fairway_metrics" directive'),
    ("fairway_store memory 32m;", '"fairway_store" directive is not allowed here'),
    ("capacity 1;", 'unknown directive "capacity"'),
]


@pytest.mark.parametrize("text, words", HTTP_LEVEL)
def test_http_level_refuses(make_gateway, text, words):
    message = refused(make_gateway, text, control=False)
    assert words in message and "nginx.conf:" in message


@pytest.mark.parametrize("text, words", SERVER_LEVEL)
def test_server_level_refuses(make_gateway, text, words):
    message = refused(make_gateway, f"waiting_room sale {{ capacity 1; }} server {{ listen @LISTEN@; {text} }}", control=False)
    assert words in message and "nginx.conf:" in message


def test_levels_and_order(make_gateway):
    """One name, a block in http {} and a word elsewhere; the room may be defined after its use and before."""
    http = """
        server {
            listen @LISTEN@;
            waiting_room late;
            fairway_dry_run on;
            location / { if ($arg_a) { waiting_room early; fairway_dry_run off; } }
            location /b { waiting_room off; location /b/c { waiting_room auto; } }
            location /m { fairway_metrics; limit_except GET { deny all; } }
        }
        waiting_room late { capacity 1; }
        waiting_room early { capacity 1; }"""
    assert warnings(make_gateway, "fairway_store memory 128m;" + http) == []


def test_each_location_has_its_own_room(gateway, origin):
    http = """
        server {
            listen @LISTEN@;
            waiting_room shut;
            location / { proxy_pass http://@ORIGIN@; if ($arg_a) { waiting_room ample; proxy_pass http://@ORIGIN@; } }
            location /off { waiting_room off; proxy_pass http://@ORIGIN@; }
            location /dry { fairway_dry_run on; proxy_pass http://@ORIGIN@; }
            location /m { fairway_metrics; if ($arg_a) { add_header X-A a; } }
        }
        server { listen @LISTEN2@; location / { proxy_pass http://@ORIGIN@; } }
        waiting_room shut { capacity 0; page_status 503; }
        waiting_room ample { capacity 5; }"""
    running = gateway(http, origin=origin)
    assert Visitor(running.address, room="shut").page("/").status == 503
    assert Visitor(running.address, room="ample").page("/?a=1").body == b"ok"
    for path in ("/off", "/dry"):
        assert request(running.address, "GET", path).body == b"ok", path
    assert "# TYPE fairway_room_inside gauge" in request(running.address, "GET", "/m").text
    assert request(running.address, "GET", "/m?a=1").headers.one("X-A") == "a"
    assert request(running.address_of(2), "GET", "/").body == b"ok"
    samples = running.metrics()
    assert (samples.get("fairway_room_waiting", room="shut"), samples.get("fairway_room_inside", room="ample")) == (1, 1)


def test_a_page_of_the_site(make_gateway):
    running = make_gateway(f"{SERVER} waiting_room sale {{ capacity 0; page own.html; message 'Grüße <b>'; page_status 202; }}")
    file = running.prefix / "own.html"  # relative: beside the configuration
    file.write_text("<title>{{rank}}</title><p>{{room}} {{message}} {{other}}")
    running.start()
    visitor = Visitor(running.address)
    answer = visitor.page()
    assert (answer.status, answer.text) == (202, "<title>1</title><p>sale Grüße &lt;b&gt; {{other}}")
    file.write_text("<p>new {{rank}}")
    assert visitor.page().text.startswith("<title>")  # read with the configuration, not with each request
    running.reload()
    assert visitor.page().text == "<p>new 1"


def test_zone_too_small_is_a_warning(make_gateway):
    rooms = "waiting_room sale { capacity 1000; max_waiting 99000; } waiting_room other { capacity 100000; max_waiting 0; }"
    http = rooms + "server { listen @LISTEN@; waiting_room sale; location /o { waiting_room other; } }"
    [warning] = warnings(make_gateway, "fairway_store memory 1m;" + http)
    assert '"fairway_store memory" of 1024k is too small for capacity + max_waiting of all rooms (200000 sessions)' in warning
    assert warnings(make_gateway, "fairway_store memory 64m;" + http) == []


def test_return_under_a_room_is_a_warning(make_gateway):
    http = """
        waiting_room sale { capacity 1; }
        server {
            listen @LISTEN@;
            waiting_room sale;
            location /plain { return 200 hi; }
            location /off { waiting_room off; return 200 hi; }
            location /sometimes { if ($arg_a) { return 200 hi; } }
            location /set { set $a 1; }
            location /moved { rewrite ^ /elsewhere redirect; }
            location /gone { rewrite ^/(.*)$ https://example.com/$1; }
            location /partly { rewrite ^/partly/old$ /elsewhere permanent; }
            location /inside { rewrite ^ /elsewhere last; }
            location /metrics { fairway_metrics; }
        }
        server { listen @LISTEN2@; return 404; waiting_room sale; }
        server { listen @LISTEN3@; return 404; }"""
    said = warnings(make_gateway, http)
    told = r'(?:location "([^"]*)" of )?the server in \S+ answers with "(\w+)", which nginx does before waiting_room "sale"'
    assert sorted(re.search(told, line).groups("") for line in said) == [("", "return"), ("/gone", "rewrite"), ("/moved", "rewrite"), ("/plain", "return")]


def test_room_attached_to_nothing_is_a_warning(make_gateway):
    http = "waiting_room sale { capacity 1; } waiting_room lonely { capacity 1; max_waiting 5; }"
    [warning] = warnings(make_gateway, http + SERVER)
    assert 'waiting_room "lonely" in ' in warning and "is attached to no server or location" in warning and "nginx.conf:" in warning
    # where the console may attach any room, none is known to be lonely
    assert warnings(make_gateway, http + SERVER + " server { listen @LISTEN2@; waiting_room auto; }") == []


def test_bypass_without_variable_is_a_warning(make_gateway):
    [warning] = warnings(make_gateway, f"{SERVER} waiting_room sale {{ capacity 1; bypass $cookie_a staff; }}")
    assert '"bypass staff" holds no variable' in warning


def test_without_http(gateway, make_gateway):
    """A file without http {}: loads, reloads into one that has it, back again, and quits."""
    plain = "load_module @MODULE@; daemon off; pid @PREFIX@/nginx.pid; error_log @PREFIX@/error.log info; worker_processes 1; events { }"
    running = gateway(plain, whole=True)
    running.reload(plain + f" http {{ access_log off; fairway_state @STATE@; {SERVER} waiting_room sale {{ capacity 1; }} }}")
    assert Visitor(running.address).page().status == 200
    running.reload(plain)
    running.reload()
    assert running.quit() == 0


def test_with_every_directive_off(gateway):
    running = gateway("server { listen @LISTEN@; location / { empty_gif; } }", control=False)
    assert request(running.address, "GET", "/").status == 200
    running.kill_worker()
    running.reload()
    assert request(running.address, "GET", "/__fairway/health").status == 200
    assert not running.state.exists()
    assert running.quit() == 0


def test_single_process(gateway):
    running = gateway(f"{SERVER} waiting_room sale {{ capacity 1; }}", single=True)
    inside, waiting = Visitor(running.address), Visitor(running.address)
    assert (inside.page().status, waiting.page().status) == (200, 429)
    assert (running.metrics().get("fairway_room_inside", room="sale"), running.metrics().get("fairway_room_waiting", room="sale")) == (1, 1)
    assert running.quit() == 0


def test_reload_cannot_change_the_size_of_the_store(gateway):
    room = f"{SERVER} waiting_room sale {{ capacity 1; }}"
    running = gateway("fairway_store memory 8m;" + room)
    visitor = Visitor(running.address)
    assert visitor.page().status == 200
    workers = running.workers()
    with pytest.raises(ReloadRefused, match=r'"fairway_store memory" cannot change while nginx runs \(from 8388608 to 16777216 bytes\): restart'):
        running.reload("fairway_store memory 16m;" + room)
    assert running.workers() == workers
    assert visitor.page().status == 200
    assert Visitor(running.address).client().json["state"] == "unknown"
    assert running.metrics().get("fairway_room_inside", room="sale") == 1
    running.reload("fairway_store memory 8m;" + room)
    running.write("fairway_store memory 16m;" + room)
    running.restart()
    assert Visitor(running.address).page().status in (200, 429)


def test_refused_at_start_as_under_test(make_gateway):
    gateway = make_gateway(f"{SERVER} waiting_room sale {{ capacity x; }}")
    with pytest.raises(StartFailed, match='"capacity" must be a whole number'):
        gateway.start()
