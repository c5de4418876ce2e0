"""Rooms that the console makes and attaches to hosts, and what becomes of changes over reload, restart and a damaged file."""

import json
import time

import pytest

from harness.http1 import request
from harness.limits import scaled
from harness.nginx import ReloadRefused
from harness.operator import CONSOLE, Operator
from harness.visitor import PAGE, Visitor

AUTO = """
    server { listen @LISTEN@ default_server;
        location / { waiting_room auto; proxy_pass http://@ORIGIN@; add_header X-Room "$waiting_room_state $waiting_room_name" always; }
        location /free { waiting_room off; proxy_pass http://@ORIGIN@; }
        location /moved { rewrite ^ /elsewhere last; }
    }
""" + CONSOLE


@pytest.fixture
def console(gateway, origin):
    """console(**options): (gateway, operator) without any room in nginx.conf."""

    def make(text=AUTO, **options):
        running = gateway(text, origin=origin, **options)
        return running, Operator(running)

    return make


def room_at(running, target="/", host="localhost", method="GET"):
    """Name of the room that a request there asks; "-" without one."""
    return request(running.address, method, target, [*PAGE, ("Host", host)]).headers.get("X-Room").split()[1]


def test_a_room_is_made_attached_and_deleted(console):
    running, operator = console(workers=3)
    assert operator.get("rooms") == {"rooms": []} and room_at(running) == "-"
    made = operator.call("PUT", "rooms/flash-1", {"capacity": 1, "attach": [{"host": "localhost"}]})
    assert made.status == 201 and made.location == "/fairway/api/rooms/flash-1" and made.headers.one("ETag")
    assert (made.json["defined"], made.json["settings"]["attach"]) == ("console", [{"host": "localhost", "path": "/"}])
    inside, waiter = Visitor(running.address, "flash-1"), Visitor(running.address, "flash-1")
    assert inside.page("/a").status == 200 and waiter.page("/a").status == 429
    assert waiter.status().json["rank"] == 1 and running.metrics().get("fairway_room_waiting", room="flash-1") == 1
    operator.delete("rooms/flash-1")
    assert waiter.page("/a").status == 200 and room_at(running) == "-"
    assert operator.get("rooms") == {"rooms": []} and operator.refused(404, "GET", "rooms/flash-1")
    assert waiter.request("GET", "/__fairway/flash-1/status").status == 404
    operator.put("rooms/flash-1", {"capacity": 1, "attach": [{"host": "localhost"}]}, status=201)
    assert operator.get("rooms/flash-1")["inside"] == 0  # nothing is left of the first


def test_a_room_that_is_made_again_has_nothing_of_the_first(console):
    running, operator = console(workers=2)
    room = {"capacity": 2, "refresh": "1s", "attach": [{"host": "localhost"}]}
    operator.put("rooms/flash", room, status=201)
    old = [Visitor(running.address, "flash") for _ in range(4)]
    assert [visitor.page("/").status for visitor in old] == [200, 200, 429, 429]
    operator.delete("rooms/flash")
    operator.put("rooms/flash", room, status=201)
    new = [Visitor(running.address, "flash") for _ in range(2)]
    assert [visitor.page("/").status for visitor in new] == [200, 200]
    sids = [(visitor.passed or visitor.ticket).sid for visitor in old]
    for again in range(2):  # young passes, then such as have to be asked about
        assert [visitor.page("/").status for visitor in old] == [429] * 4
        assert operator.get("rooms/flash")["inside"] == 2
        time.sleep(scaled(1.1))
    assert not set(sids) & {visitor.ticket.sid for visitor in old}
    running.restart()
    assert [visitor.page("/").status for visitor in old + new] == [429] * 4 + [200] * 2


def test_the_most_specific_place_wins(console):
    running, operator = console(workers=2)
    places = {"all": ("shop.example.com", "/"), "sale": ("shop.example.com", "/sale"), "shoes": ("shop.example.com", "/sale/shoes"),
              "other": ("other.example.com", "/sale"), "slash": ("shop.example.com", "/docs/")}
    for name, (host, path) in places.items():
        operator.put(f"rooms/{name}", {"capacity": 5, "attach": [{"host": host, "path": path}]}, status=201)
    shop = "shop.example.com"
    for host, target, name in [
        (shop, "/", "all"), (shop, "/index", "all"), (shop, "/sale", "sale"), (shop, "/sale/", "sale"), (shop, "/sale/x?y=/sale/shoes", "sale"),
        (shop, "/sales", "all"), (shop, "/Sale", "all"), (shop, "/sale/shoes", "shoes"), (shop, "/sale/shoes/1", "shoes"), (shop, "/sale/shoes1", "sale"),
        (shop, "/x/../sale/./shoes", "shoes"), (shop, "//sale//shoes", "shoes"), (shop, "/s%61le", "sale"), (shop, "/docs", "all"), (shop, "/docs/a", "slash"),
        ("SHOP.Example.com:8080", "/sale", "sale"), ("shop.example.com.", "/sale", "sale"), ("other.example.com", "/sale/shoes", "other"),
        ("other.example.com", "/", "-"), ("example.com", "/sale", "-"), ("www.shop.example.com", "/sale", "-"), (shop, "/moved", "all"),
    ]:
        assert room_at(running, target, host) == name, (host, target)
    assert request(running.address, "GET", "/free", [*PAGE, ("Host", shop)]).headers.get("X-Room") is None


def test_the_place_is_that_of_the_request_not_of_a_rewrite(console):
    running, operator = console()
    operator.put("rooms/there", {"capacity": 5, "attach": [{"host": "localhost", "path": "/elsewhere"}]}, status=201)
    assert room_at(running, "/moved") == "-" and room_at(running, "/elsewhere") == "there"


def test_the_visitors_endpoints_are_those_of_the_host(console):
    running, operator = console()
    operator.put("rooms/a", {"capacity": 5, "attach": [{"host": "a.example", "path": "/x"}]}, status=201)
    for host, status in [("a.example", 200), ("b.example", 404)]:
        assert request(running.address, "GET", "/__fairway/a/status", [("Host", host)]).status == status


def test_a_room_of_the_file_may_be_attached_too(console):
    running, operator = console("waiting_room sale { capacity 5; }" + AUTO)
    assert room_at(running) == "-"
    operator.put("rooms/sale", {"attach": [{"host": "localhost", "path": "/"}]})
    assert room_at(running) == "sale"
    assert operator.refused(409, "DELETE", "rooms/sale")["detail"] == "This room is in nginx.conf: take it out there."
    operator.put("rooms/sale", {"attach": None})
    assert room_at(running) == "-"


def test_one_place_belongs_to_one_room(console):
    _, operator = console()
    operator.put("rooms/a", {"capacity": 5, "attach": [{"host": "a.example", "path": "/x"}]}, status=201)
    problem = operator.refused(409, "PUT", "rooms/b", {"capacity": 5, "attach": [{"host": "A.example", "path": "/x"}]})
    assert problem["field"] == "attach" and "room a" in problem["detail"]
    assert operator.refused(404, "GET", "rooms/b")


@pytest.mark.parametrize("name, body, status, field", [
    ("new", {}, 422, "capacity"), ("new", {"capacity": None}, 422, "capacity"), ("new", {"message": "x"}, 422, "capacity"),
    ("New", {"capacity": 5}, 422, "name"), ("auto", {"capacity": 5}, 422, "name"), ("off", {"capacity": 5}, 422, "name"),
    ("a" * 33, {"capacity": 5}, 422, "name"), ("a%20b", {"capacity": 5}, 422, "name"), ("new", {"capacity": 5, "refresh": "6m"}, 422, "refresh"),
])
def test_what_cannot_be_made(console, name, body, status, field):
    _, operator = console()
    assert operator.refused(status, "PUT", f"rooms/{name}", body)["field"] == field
    assert operator.get("rooms") == {"rooms": []}


def test_a_made_room_keeps_its_capacity(console):
    _, operator = console()
    operator.put("rooms/a", {"capacity": 0}, status=201)
    assert operator.refused(422, "PUT", "rooms/a", {"capacity": None})["field"] == "capacity"
    assert operator.put("rooms/a", {"capacity": 7, "message": "x"})["settings"]["capacity"] == 7
    assert operator.put("rooms/a", {"message": None})["settings"]["message"] is None
    assert operator.refused(412, "PUT", "rooms/b", {"capacity": 1}, headers=[("If-Match", "*")])
    assert operator.refused(412, "DELETE", "rooms/a", headers=[("If-Match", '"0"')])
    tag = operator.call("GET", "rooms/a").headers.one("ETag")
    operator.delete("rooms/a", headers=[("If-Match", tag)])
    operator.refused(404, "DELETE", "rooms/a")


def test_256_rooms_are_the_most(console):
    running, operator = console()
    for number in range(256):
        operator.put(f"rooms/r{number}", {"capacity": 1}, status=201)
    assert "256 rooms" in operator.refused(409, "PUT", "rooms/more", {"capacity": 1})["detail"]
    assert len(operator.get("rooms")["rooms"]) == 256
    running.restart()
    assert len(operator.get("rooms")["rooms"]) == 256


# Reload, restart


def made_things(operator):
    operator.put("rooms/sale", {"capacity": 5, "message": "Grüße 東京 \"x\"", "attach": [{"host": "s.example", "path": "/a"}]})
    operator.put("rooms/flash", {"capacity": 3, "rate": "9/m", "attach": [{"host": "localhost", "path": "/"}]}, status=201)
    operator.post("rooms/flash/mode", {"mode": "hold"})
    return [operator.get(f"rooms/{name}")["settings"] for name in ("sale", "flash")]


WITH_FILE = "waiting_room sale { capacity 1; @MORE@ }" + AUTO


@pytest.mark.parametrize("how", ["reload", "restart", "quit", "kill"])
def test_changes_survive(console, how):
    running, operator = console(WITH_FILE.replace("@MORE@", ""), workers=2)
    before = made_things(operator)
    if how == "kill":
        for _ in range(2):
            running.kill_worker()
    elif how == "quit":
        running.quit()
        running.start()
    else:
        getattr(running, how)()
    assert [operator.get(f"rooms/{name}")["settings"] for name in ("sale", "flash")] == before
    assert operator.get("rooms/flash")["mode"] == "hold" and room_at(running) == "flash"
    assert (running.state / "settings").stat().st_mode & 0o777 == 0o600


def test_the_file_wins_when_its_value_changes(console):
    running, operator = console(WITH_FILE.replace("@MORE@", "max_waiting 50; session_timeout 10m;"))
    operator.put("rooms/sale", {"capacity": 5, "max_waiting": 60, "session_timeout": "20m"})
    running.reload(WITH_FILE.replace("@MORE@", "max_waiting 70; session_timeout 600s; grant_timeout 9s;"))
    shown = operator.get("rooms/sale")
    assert (shown["settings"]["max_waiting"], shown["settings"]["capacity"], shown["settings"]["session_timeout"]) == (70, 5, "20m")
    assert shown["settings"]["grant_timeout"] == "9s" and shown["file"] == {"capacity": 1, "session_timeout": "10m"}
    assert 'room sale: "max_waiting" was changed in nginx.conf, which counts now' in running.log
    assert operator.get("events")["events"][0]["from"] == "nginx.conf"
    running.reload(WITH_FILE.replace("@MORE@", "max_waiting 50;"))
    assert operator.get("rooms/sale")["settings"]["max_waiting"] == 50  # the change does not come back
    running.restart()
    assert operator.get("rooms/sale")["settings"]["max_waiting"] == 50 and operator.get("rooms/sale")["settings"]["capacity"] == 5


def test_rooms_that_the_file_takes_or_drops(console):
    running, operator = console(WITH_FILE.replace("@MORE@", ""))
    made_things(operator)
    running.reload("waiting_room flash { capacity 8; }" + AUTO)
    shown = operator.get("rooms/flash")
    assert (shown["defined"], shown["settings"]["capacity"], shown["settings"]["rate"], shown["mode"]) == ("nginx.conf", 8, "off", "hold")
    assert shown["settings"]["attach"] == [{"host": "localhost", "path": "/"}] and operator.refused(404, "GET", "rooms/sale")
    assert "room sale is not in nginx.conf any more" in running.log


def test_an_override_that_the_file_makes_impossible_is_dropped(console):
    running, operator = console(WITH_FILE.replace("@MORE@", ""))
    operator.put("rooms/sale", {"refresh": "2m", "capacity": 9})
    running.reload(WITH_FILE.replace("@MORE@", "session_timeout 1m;"))
    assert operator.get("rooms/sale")["settings"]["refresh"] == "15s" and operator.get("rooms/sale")["file"] == {"capacity": 1}
    assert 'room sale: the change of "refresh" is forgotten, since "refresh" (2m) must be at most half' in running.log
    running.restart()
    assert operator.get("rooms/sale")["settings"]["capacity"] == 9


def test_a_refused_reload_changes_nothing(console):
    running, operator = console(WITH_FILE.replace("@MORE@", ""))
    before = made_things(operator)
    with pytest.raises(ReloadRefused):
        running.reload(WITH_FILE.replace("@MORE@", "capacity 2;"))
    assert [operator.get(f"rooms/{name}")["settings"] for name in ("sale", "flash")] == before


@pytest.mark.parametrize("damage, said", [
    (lambda text: text[: len(text) // 2], "it is no JSON (it ends too early, after"),
    (lambda text: "", "it is no JSON (it ends too early, after"),
    (lambda text: text.replace('"version": 1', '"version": 2'), "it is of another version"),
    (lambda text: text.replace('"made"', '"mode2"'), "something is missing or of the wrong type"),
    (lambda text: text.replace("flash", "Flash"), "a name is not of its form"),
    (lambda text: "\x00" * 600_000, "it is too long"),
])
def test_a_damaged_file_is_passed_over_with_a_word(console, damage, said):
    running, operator = console(WITH_FILE.replace("@MORE@", ""))
    made_things(operator)
    running.stop()
    file = running.state / "settings"
    file.write_text(damage(file.read_text()))
    running.start()
    assert operator.get("rooms/sale")["settings"]["capacity"] == 1 and operator.refused(404, "GET", "rooms/flash")
    assert f'settings" is passed over, since {said}' in running.log
    operator.put("rooms/sale", {"capacity": 4})
    running.restart()
    assert operator.get("rooms/sale")["settings"]["capacity"] == 4


def test_a_value_that_is_not_allowed_any_more_is_passed_over(console):
    running, operator = console(WITH_FILE.replace("@MORE@", ""))
    made_things(operator)
    running.stop()
    file = running.state / "settings"
    text = json.loads(file.read_text())
    text["rooms"]["sale"]["fields"]["capacity"]["value"] = "-5"
    text["rooms"]["sale"]["fields"]["speed"] = {"value": "1", "file": "1"}
    file.write_text(json.dumps(text))
    running.start()
    shown = operator.get("rooms/sale")["settings"]
    assert shown["capacity"] == 1 and shown["message"] and operator.get("rooms/flash")["settings"]["capacity"] == 3
    for field, why in [("capacity", '"capacity" must be'), ("speed", 'there is no setting "speed"')]:
        assert f'room sale: the change of "{field}" is forgotten, since {why}' in running.log
    assert "was changed in nginx.conf" not in running.log


def test_a_made_room_without_its_capacity_is_gone(console):
    running, operator = console()
    operator.put("rooms/flash", {"capacity": 3, "rate": "9/m"}, status=201)
    running.stop()
    file = running.state / "settings"
    file.write_text(file.read_text().replace('"value": "3"', '"value": "many"'))
    running.start()
    assert operator.refused(404, "GET", "rooms/flash") and "room flash is gone, since nothing says its capacity" in running.log


def test_a_queues_change_that_does_not_fit_goes_alone(gateway, origin):
    site = "fair_queue app { concurrency 10; @MORE@ }" + AUTO.replace("waiting_room auto", "fair_queue app")
    running = gateway(site.replace("@MORE@", ""), origin=origin)
    operator = Operator(running)
    operator.put("queues/app", {"concurrency": 4, "timeout": "3s"})
    running.reload(site.replace("@MORE@", "light_lane 6;"))
    shown = operator.get("queues/app")
    assert (shown["settings"]["concurrency"], shown["settings"]["timeout"], shown["file"]) == (10, "3s", {"timeout": "10s"})
    assert 'queue app: the change of "concurrency" is forgotten, since "light_lane" must be' in running.log
    running.stop()
    text = json.loads((running.state / "settings").read_text())
    text["queues"]["app"]["speed"] = {"value": "1", "file": "1"}
    (running.state / "settings").write_text(json.dumps(text))
    running.start()
    assert 'queue app: the change of "speed" is forgotten, since there is no setting "speed"' in running.log
    assert "was changed in nginx.conf" not in running.log and operator.get("queues/app")["settings"]["timeout"] == "3s"


def test_nginx_t_neither_reads_nor_writes_settings(console):
    from harness.nginx import check
    running, operator = console(WITH_FILE.replace("@MORE@", ""))
    made_things(operator)
    before = (running.state / "settings").stat().st_mtime_ns
    assert check(running)[0] == 0 and (running.state / "settings").stat().st_mtime_ns == before
    assert operator.get("rooms/flash")["settings"]["capacity"] == 3
