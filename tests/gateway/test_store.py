"""A room on a shared store: the same answers as on memory, one line for several gateways, and nothing left behind."""

import os
import re
import shlex
import socket

import pytest

from harness.built import ROOT as ROOT_FOLDER
from harness.limits import wait_until
from harness.shared_rooms import QUICK, one_keys_file
from harness.visitor import Visitor

ROOM = f"capacity 2; {QUICK}"


def test_a_visit_from_the_first_page_to_leaving(shared_room, store):
    running = shared_room(ROOM)
    first, second, third = (Visitor(running.address) for _ in range(3))
    assert first.page("/").status == 200 and second.page("/").status == 200
    waiting = third.page("/shop?a=1")
    assert waiting.status == 429 and waiting.headers.one("X-Room") == "waiting sale 1"
    answer = third.status().json
    assert (answer["state"], answer["rank"], answer["waiting"], answer["stale"]) == ("waiting", 1, 1, False)
    assert first.leave().status == 204
    wait_until(lambda: third.status().json["state"] == "admitted")
    assert third.page("/shop").status == 200
    assert third.status().json["state"] == "admitted"
    assert first.page("/").status == 429  # a new session, in line
    assert store.command("EXISTS", "fairway:{sale}:state") == 1
    samples = running.metrics()
    assert samples.get("fairway_store_calls_total", result="ok") > 0
    assert samples.get("fairway_room_inside", room="sale") == 2


def test_a_young_pass_asks_nobody(shared_room, store):
    running = shared_room(f"refresh 5m; {ROOM}")
    inside = Visitor(running.address)
    assert inside.page("/").status == 200
    store.pause()
    try:
        for _ in range(50):
            assert inside.page("/").status == 200
    finally:
        store.resume()


def test_two_gateways_share_one_line(shared_room):
    one, other = shared_room(ROOM), shared_room()
    one_keys_file([one, other])
    visitors = [Visitor((one, other)[i % 2].address) for i in range(6)]
    answers = [visitor.page("/") for visitor in visitors]
    assert [answer.status for answer in answers] == [200, 200, 429, 429, 429, 429]
    assert [answer.headers.one("X-Room").split()[-1] for answer in answers[2:]] == ["1", "2", "3", "4"]
    visitors[2].address = other.address  # a balancer may send anybody anywhere
    assert visitors[2].status().json["rank"] == 1
    visitors[0].leave()
    wait_until(lambda: visitors[2].status().json["state"] == "admitted")
    assert visitors[3].status().json["rank"] == 1


def test_who_was_ended_in_one_gateway_is_refused_by_the_other(shared_room):
    one, other = shared_room(f"refresh 5m; {ROOM}"), shared_room(f"refresh 5m; {ROOM}")
    one_keys_file([one, other])
    visitor = Visitor(one.address)
    assert visitor.page("/").status == 200
    stolen = dict(visitor.jar)
    visitor.leave()
    thief = Visitor(other.address)

    def refused():
        thief.jar = dict(stolen)
        return thief.page("/", follow=False).status != 200

    wait_until(refused)


@pytest.mark.parametrize("workers", [1, 2])
def test_unix_socket_password_user_and_database(shared_room, make_store, tmp_path, workers):
    server = make_store("--requirepass", "s3cret")
    server.command("AUTH", "s3cret")
    server.command("ACL", "SETUSER", "shop", "on", ">p%w", "~*", "+@all")
    file = tmp_path / "password"
    file.write_text("s3cret\n")
    os.chmod(tmp_path, 0o755)
    acl = tmp_path / "acl"
    acl.write_text("p%w\n")
    for url, number in ((f"unix:{server.socket} password=@{file}", 0), (f"redis://shop@127.0.0.1:{server.port}/7 password=@{acl}", 7), (f"redis://shop:p%25w@127.0.0.1:{server.port}/3", 3),
                        (f"valkey://localhost:{server.port}/5 password=@{file}", 5)):
        running = shared_room(ROOM, url=f"{url} timeout=5s", workers=workers)
        assert [Visitor(running.address).page("/").status for _ in range(3)] == [200, 200, 429]
        server.command("SELECT", number)
        assert server.command("EXISTS", "fairway:{sale}:state") == 1
        server.command("FLUSHALL")


def test_a_client_that_leaves_while_the_store_is_asked(shared_room, store):
    running = shared_room(ROOM, url=f"{store.url} timeout=30s")
    assert Visitor(running.address).page("/").status == 200
    store.pause()
    try:
        for _ in range(20):
            visitor = Visitor(running.address)
            visitor.jar = {}
            visitor.page("/", follow=False)
            with socket.create_connection(running.address) as gone:
                cookie = "; ".join(f"{c.name}={c.value}" for c in visitor.jar.values())
                gone.sendall(f"GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nCookie: {cookie}\r\n\r\n".encode())
    finally:
        store.resume()
    wait_until(lambda: running.metrics().get("fairway_store_calls_total", result="ok") > 1)
    assert Visitor(running.address).page("/").status in (200, 429)


def test_an_old_worker_leaves_nothing_behind(shared_room, store):
    running = shared_room(ROOM, workers=2)
    for _ in range(3):
        assert Visitor(running.address).page("/").status in (200, 429)
        running.reload()
    wait_until(lambda: int(store.info("connected_clients")) <= 3)  # two workers and the test
    assert running.quit() == 0
    wait_until(lambda: int(store.info("connected_clients")) == 1)
    running.start()


def test_the_rights_that_the_docs_name_are_enough(shared_room, make_store):
    command = re.search(r"--user fairway on (?:.*\\\n)*.*", (ROOT_FOLDER / "docs/deploying.md").read_text())[0]
    server = make_store(*shlex.split(command.replace("\\\n", " ")))
    running = shared_room(f"{ROOM} rate 100/s; refresh 0;", url=f"valkey://fairway:a-long-password@127.0.0.1:{server.port}/1 timeout=5s")
    first, second, third = (Visitor(running.address) for _ in range(3))
    assert [visitor.page("/").status for visitor in (first, second, third)] == [200, 200, 429]
    assert first.page("/").status == 200 and third.status().json["rank"] == 1
    server.command("SELECT", 1)
    server.command("FLUSHDB")
    assert second.page("/").status == 200 and third.status().json["rank"] is None  # recovery
    first.leave()
    wait_until(lambda: third.status().json["state"] == "admitted", 20)
    assert running.metrics().get("fairway_store_calls_total", result="failed") == 0
