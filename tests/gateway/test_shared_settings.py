"""Settings, modes and rooms that operators make at one gateway of a shared store: at every gateway within a second, over restarts, outages and
the loss of what the store held, and with nginx.conf files that differ while a new one is rolled out."""

import json
import threading

import pytest

from harness.http1 import request
from harness.limits import wait_until
from harness.operator import CONSOLE, Operator
from harness.shared_rooms import one_keys_file
from harness.visitor import PAGE

SITE = """
    fairway_store @STORE@ breaker=300ms;
    @ROOMS@
    server { listen @LISTEN@; location / { waiting_room auto; proxy_pass http://@ORIGIN@; add_header X-Room "$waiting_room_name" always; } }
""" + CONSOLE
SALE = "waiting_room sale { capacity 10; @MORE@ }"
SECOND = 2  # what "within a second" is on a machine that is busy with other tests


@pytest.fixture
def site(gateway, origin, store):
    """site(count, more): so many gateways of one store, each with its operator; with(running, more) reloads one with another file."""

    def text(more="", rooms=SALE):
        return SITE.replace("@STORE@", store.url).replace("@ROOMS@", rooms).replace("@MORE@", more)

    def make(count=2, more="", rooms=SALE, **options):
        started = [gateway(text(more, rooms), origin=origin, **options) for _ in range(count)]
        return [(running, Operator(running)) for running in started]

    make.text = text
    return make


def soon(look, wanted, message=""):
    wait_until(lambda: look() == wanted, SECOND, message=message or f"it is not {wanted!r} within a second")


def room_at(running, host="localhost", target="/"):
    return request(running.address, "GET", target, [*PAGE, ("Host", host)]).headers.get("X-Room")


def settings(operator, *names, room="sale"):
    shown = operator.get(f"rooms/{room}")["settings"]
    return tuple(shown[name] for name in names)


def known(operator, name="flash"):
    return operator.call("GET", f"rooms/{name}").status == 200


def test_a_change_counts_everywhere(site):
    (_, one), (_, two), (_, three) = site(3, workers=2)
    one.put("rooms/sale", {"capacity": 7, "message": "Grüße \"東京\"", "poll_interval": "1s 2s"})
    for other in (two, three):
        soon(lambda other=other: settings(other, "capacity", "message", "poll_interval"), (7, "Grüße \"東京\"", "1s 2s"))
        assert other.get("rooms/sale")["file"] == {"capacity": 10, "message": None, "poll_interval": "3s 30s"}
    two.put("rooms/sale", {"rate": "5/s", "message": None})
    soon(lambda: settings(one, "rate"), ("5/s",))
    three.post("rooms/sale/mode", {"mode": "hold"})
    for other in (one, two, three):
        soon(lambda other=other: (settings(other, "capacity", "rate", "message"), other.get("rooms/sale")["mode"]), ((7, "5/s", None), "hold"))
    tags = {other.call("GET", "rooms/sale").headers.one("ETag") for other in (one, two, three)}
    assert len(tags) == 1
    told = [event for event in one.get("events")["events"] if event["from"] == "another gateway"]
    assert [event["what"] for event in told] == ["room sale: mode normal → hold", 'room sale: rate off → 5/s, message Grüße "東京" → none']


def test_a_room_is_made_attached_and_deleted_everywhere(site):
    (first, one), (second, two) = site(workers=2)
    one.put("rooms/flash", {"capacity": 3, "attach": [{"host": "localhost", "path": "/flash"}]}, status=201)
    soon(lambda: (room_at(first, target="/flash"), room_at(second, target="/flash/x")), ("flash", "flash"))
    assert two.get("rooms/flash")["defined"] == "console" and room_at(second) == "-"
    assert "room sale" not in two.refused(409, "PUT", "rooms/sale", {"attach": [{"host": "localhost", "path": "/flash"}]})["detail"]
    two.delete("rooms/flash")
    soon(lambda: (known(one), room_at(first, target="/flash")), (False, "-"))
    one.put("rooms/flash", {"capacity": 4}, status=201)
    soon(lambda: known(two) and settings(two, "capacity", "attach", room="flash"), (4, []))


def test_a_gateway_that_begins_or_begins_again_has_them(site, gateway, origin, store):
    (_, one), (second, two) = site()
    one.put("rooms/sale", {"capacity": 7})
    one.put("rooms/flash", {"capacity": 3}, status=201)
    soon(lambda: known(two), True)
    second.restart()
    assert settings(two, "capacity") == (7,) and settings(two, "capacity", room="flash") == (3,)  # its own copy, before it has asked
    second.stop()
    one.put("rooms/sale", {"capacity": 8})
    one.delete("rooms/flash")
    second.start()
    soon(lambda: (settings(two, "capacity"), known(two)), ((8,), False))
    new = Operator(gateway(site.text(), origin=origin))
    soon(lambda: settings(new, "capacity"), (8,))
    assert new.get("events")["events"] == []  # what was before it is no change


def test_an_outage_keeps_what_was_set_and_refuses_what_cannot_be_shared(site, store):
    (first, one), (second, two) = site(workers=2)
    one.put("rooms/sale", {"capacity": 7})
    soon(lambda: settings(two, "capacity"), (7,))
    store.kill()
    for method, path, body in [("PUT", "rooms/sale", {"capacity": 8}), ("PUT", "rooms/flash", {"capacity": 8}), ("POST", "rooms/sale/mode", {"mode": "hold"})]:
        assert "does not answer" in one.refused(503, method, path, body)["detail"]
    assert one.refused(422, "PUT", "rooms/sale", {"capacity": -1})["field"] == "capacity"
    assert one.put("rooms/sale", {"capacity": 7})  # as it is
    second.restart()
    assert settings(one, "capacity") == settings(two, "capacity") == (7,) and not known(one)
    assert one.get("rooms/sale")["mode"] == "normal"
    store.start()  # and holds nothing
    wait_until(lambda: one.call("PUT", "rooms/sale", {"rate": "3/s"}).status == 200, 5)
    wait_until(lambda: settings(two, "capacity", "rate") == (7, "3/s"), 5)


def test_a_store_that_lost_everything_is_given_it_again(site, store):
    (_, one), (second, two) = site()
    one.put("rooms/sale", {"capacity": 7, "message": "hello"})
    one.put("rooms/flash", {"capacity": 3}, status=201)
    soon(lambda: known(two), True)
    second.stop()
    one.put("rooms/sale", {"capacity": 8})  # the second does not know
    held = stored(store)
    store.command("FLUSHALL")
    wait_until(lambda: stored(store) == held, 5, message="the store is not given the settings again")
    second.start()
    soon(lambda: settings(two, "capacity", "message"), (8, "hello"))
    assert settings(one, "capacity") == (8,) and known(one)


def test_an_older_gateway_gives_an_empty_store_no_more_than_it_knows(site, store):
    (first, one), (second, two) = site()
    one.put("rooms/sale", {"capacity": 7})
    soon(lambda: settings(two, "capacity"), (7,))
    first.stop()
    two.put("rooms/sale", {"capacity": 9})
    two.put("rooms/flash", {"capacity": 3}, status=201)
    second.stop()
    store.command("FLUSHALL")
    first.start()  # knows 7, and that is what the store has for now
    wait_until(lambda: (stored(store) or {"rooms": {}})["rooms"].get("sale", {}).get("fields", {}).get("capacity", {}).get("value") == "7", 5)
    one.put("rooms/other", {"capacity": 1}, status=201)
    second.start()  # knows better of `sale`, and nothing of `other`
    for operator in (one, two):
        wait_until(lambda operator=operator: settings(operator, "capacity") == (9,) and known(operator) and known(operator, "other"), 5)


def test_two_operators_at_once_at_two_gateways(site):
    (_, one), (_, two) = site(workers=2)
    one.put("rooms/sale", {"capacity": 7})
    soon(lambda: settings(two, "capacity"), (7,))
    tag = one.call("GET", "rooms/sale").headers.one("ETag")
    for round_ in range(5):
        answers = at_once(lambda operator, number: operator.call("PUT", "rooms/sale", {"capacity": 100 + 2 * round_ + number, "rate": f"{1 + number}/s"},
                                                                headers=[("If-Match", tag)]), [one, two])
        assert sorted(answer.status for answer in answers) == [200, 412]
        winner = next(answer.json["settings"] for answer in answers if answer.status == 200)
        for operator in (one, two):
            soon(lambda operator=operator: settings(operator, "capacity", "rate"), (winner["capacity"], winner["rate"]))
        tag = one.call("GET", "rooms/sale").headers.one("ETag")


def test_nothing_is_lost_without_if_match(site):
    gateways = site(3, workers=2)
    operators = [operator for _, operator in gateways]
    changes = [{"capacity": 5}, {"rate": "6/s"}, {"message": "x"}]
    answers = at_once(lambda operator, number: [operator.call("PUT", "rooms/sale", changes[number]).status,
                                               operator.call("PUT", f"rooms/r{number}", {"capacity": number}).status], operators)
    assert answers == [[200, 201]] * 3
    for operator in operators:
        soon(lambda operator=operator: settings(operator, "capacity", "rate", "message"), (5, "6/s", "x"))
        soon(lambda operator=operator: [known(operator, f"r{number}") for number in range(3)], [True] * 3)


def at_once(call, operators):
    answers = [None] * len(operators)

    def run(number):
        answers[number] = call(operators[number], number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(operators))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def stored(store):
    text = store.command("HGET", "fairway:{all}:settings", "text")
    return None if text is None else json.loads(text)


# Files that differ


def test_the_file_wins_at_the_gateway_where_it_changed(site):
    (first, one), (second, two) = site(more="max_waiting 50;")
    one.put("rooms/sale", {"max_waiting": 60, "capacity": 7})
    soon(lambda: settings(two, "max_waiting", "capacity"), (60, 7))
    first.reload(site.text("max_waiting 70;"))
    assert settings(one, "max_waiting", "capacity") == (70, 7) and settings(two, "max_waiting") == (60,)
    assert 'room sale: "max_waiting" was changed in nginx.conf, which counts now' in first.log
    two.put("rooms/sale", {"message": "x"})  # what comes from elsewhere does not bring it back
    soon(lambda: settings(one, "message", "max_waiting"), ("x", 70))
    second.reload(site.text("max_waiting 70;"))
    assert settings(two, "max_waiting", "capacity") == (70, 7)
    for running in (first, second):
        running.restart()
    first.reload(site.text("max_waiting 50;"))
    assert settings(one, "max_waiting", "capacity") == (50, 7)  # nor does the old value
    one.put("rooms/sale", {"max_waiting": 60})
    soon(lambda: (settings(one, "max_waiting"), settings(two, "max_waiting")), ((60,), (60,)))


def test_a_change_at_a_gateway_with_a_new_file_counts_at_the_old_ones(site):
    (first, one), (second, two) = site(more="max_waiting 50;")
    first.reload(site.text("max_waiting 70;"))
    one.put("rooms/sale", {"max_waiting": 80})
    soon(lambda: settings(two, "max_waiting"), (80,))
    assert two.get("rooms/sale")["file"] == {"max_waiting": 50}
    second.restart()  # with the file that it had
    assert settings(two, "max_waiting") == (80,)
    second.reload(site.text("max_waiting 60;"))
    assert settings(two, "max_waiting") == (60,) and settings(one, "max_waiting") == (80,)


def test_a_room_that_one_file_has_and_another_has_not(site):
    (first, one), (second, two) = site(rooms="")
    one.put("rooms/sale", {"capacity": 3, "rate": "9/m", "attach": [{"host": "localhost"}]}, status=201)
    soon(lambda: room_at(second), "sale")
    first.reload(site.text())
    assert one.get("rooms/sale")["defined"] == "nginx.conf" and settings(one, "capacity", "rate") == (10, "off") and room_at(first) == "sale"
    assert two.get("rooms/sale")["defined"] == "console" and settings(two, "capacity", "rate") == (3, "9/m") and room_at(second) == "sale"
    one.put("rooms/sale", {"capacity": 5})
    soon(lambda: settings(two, "capacity", "rate"), (5, "9/m"))
    assert settings(one, "capacity") == (5,)
    first.restart()
    assert settings(one, "capacity") == (5,)
    one.refused(409, "DELETE", "rooms/sale")
    two.delete("rooms/sale")
    soon(lambda: (known(two, "sale"), settings(one, "capacity"), room_at(first)), (False, (10,), "-"))


def test_a_change_that_does_not_fit_another_file_is_told_there(site):
    (first, one), (second, two) = site()
    second.reload(site.text("refresh 2m;"))
    one.put("rooms/sale", {"session_timeout": "1m", "capacity": 5})
    wait_until(lambda: [warning["detail"] for warning in two.get("health")["warnings"] if warning["code"] == "settings_not_fitting"], SECOND)
    assert settings(two, "session_timeout", "capacity") == ("10m", 5)  # what fits counts
    one.put("rooms/sale", {"session_timeout": None})
    wait_until(lambda: all(warning["code"] != "settings_not_fitting" for warning in two.get("health")["warnings"]), SECOND)
    assert settings(two, "session_timeout", "capacity") == ("10m", 5)


# What may be in a store


@pytest.mark.parametrize("text", [b"", b"{", b'{"version": 9, "rooms": {}, "queues": {}}', b"\xff\x00"])
def test_a_text_that_is_not_understood_is_left_alone(site, store, text):
    ((running, one),) = site(1)
    store.command("HSET", "fairway:{all}:settings", "stamp", "of another one", "text", text)
    assert "another version" in one.refused(503, "PUT", "rooms/sale", {"capacity": 7})["detail"]
    wait_until(lambda: "was not understood" in running.log, 5)
    assert store.command("HGET", "fairway:{all}:settings", "text") == text and settings(one, "capacity") == (10,)
    assert request(running.address, "GET", "/", PAGE).status == 200


def test_rights_that_do_not_do_are_no_outage(site, store, gateway, origin):
    store.command("ACL", "SETUSER", "rooms", "on", ">x", "~fairway:{sale}:*", "+@all")
    url = f"valkey://rooms:x@127.0.0.1:{store.port}"
    running = gateway(SITE.replace("@STORE@", url).replace("@ROOMS@", SALE.replace("@MORE@", "")).replace("waiting_room auto", "waiting_room sale"), origin=origin)
    operator = Operator(running)
    assert request(running.address, "GET", "/", PAGE).status == 302
    operator.refused(503, "PUT", "rooms/sale", {"capacity": 7})
    wait_until(lambda: "cannot share what operators change" in running.log, 5)
    assert operator.get("health")["store"]["reachable"] and operator.get("health")["store"]["outages"] == 0


def test_fair_queues_are_each_gateways_own(site, store):
    queue = "fair_queue app { concurrency 3; }" + SALE
    (_, one), (_, two) = site(rooms=queue)
    one.put("queues/app", {"concurrency": 5})
    one.put("rooms/sale", {"capacity": 7})
    soon(lambda: settings(two, "capacity"), (7,))
    assert two.get("queues/app")["concurrency"] == 3
    store.kill()
    assert one.put("queues/app", {"concurrency": 6})["concurrency"] == 6


# Keys


def warned(operator):
    return {warning["code"]: warning["detail"] for warning in operator.get("health")["warnings"] if "key" in warning["code"]}


def test_gateways_with_different_keys_are_warned_of(site, store):
    (first, one), (second, two) = site()
    ids = [running.keys.split(":")[0] for running in (first, second)]
    for operator, foreign in ((one, ids[1]), (two, ids[0])):
        wait_until(lambda operator=operator: set(warned(operator)) == {"foreign_keys", "key_unknown_elsewhere"}, SECOND)
        assert f"({foreign})" in warned(operator)["foreign_keys"] and operator.get("health")["store"]["other_gateways"] == 1
    assert first.log.count("the keys files of the store's gateways differ") == 1 and ids[1] in first.log
    seen = b" ".join(store.command("ZRANGE", "fairway:{all}:gateways", 0, -1)).decode()
    for running in (first, second):
        secret = running.keys.split(":")[1].strip()
        assert running.keys.split(":")[0] in seen and secret not in seen and secret not in running.log
    one_keys_file([first, second])
    for operator in (one, two):
        wait_until(lambda operator=operator: warned(operator) == {}, SECOND)
    assert first.log.count("the keys files of the store's gateways differ") == 1


def test_gateways_of_one_machine_are_told_apart(running, origin, store):
    for _ in range(2):  # whose configuration calls the state folder by the same name
        running("--upstream", f"http://{origin}", "--store", store.url)
    members = []

    def both():
        members[:] = [member.split(b" ")[0] for member in store.command("ZRANGE", "fairway:{all}:gateways", 0, -1)]
        return len(members) == 2

    wait_until(both, SECOND)
    assert len(set(members)) == 2


def test_keys_of_one_id_and_two_secrets(site):
    (first, one), (second, _) = site()
    (second.state / "keys").write_text(first.keys.split(":")[0] + ":" + second.keys.split(":")[1])
    second.reload()
    wait_until(lambda: first.keys.split(":")[0] in warned(one).get("foreign_keys", ""), SECOND)


def test_a_rotation_in_its_order_is_no_warning(site, store):
    (first, one), (second, two) = site()
    one_keys_file([first, second])
    wait_until(lambda: (warned(one), warned(two)) == ({}, {}), SECOND)
    old, new = first.keys.strip(), "next1:" + "A" * 43 + "="

    def told():
        """Of each gateway the ids of its keys."""
        members = [member.decode().split(" ") for member in store.command("ZRANGE", "fairway:{all}:gateways", 0, -1)]
        return sorted([key.split(":")[0] for key in member[1:]] for member in members)

    before = first.log.count("keys files of the store's gateways differ")
    previous = [old]
    for keys in ([old, new], [new, old], [new]):
        for done, running in enumerate((first, second)):
            (running.state / "keys").write_text("\n".join(keys))
            running.reload()
            wait_until(lambda: told() == sorted([key.split(":")[0] for key in file] for file in ([keys, previous] if done == 0 else [keys, keys])), SECOND)
            assert (warned(one), warned(two)) == ({}, {})
        previous = keys
    assert first.log.count("keys files of the store's gateways differ") == before
