"""Cluster, Sentinel and TLS: a slot that moves and a master that fails under load, and who is trusted."""

import asyncio

import pytest

from harness import tls
from harness.limits import wait_until
from harness.shared_rooms import arrive, one_keys_file
from harness.topologies import Cluster, Watched
from harness.visitor import AsyncVisitor, Visitor

ROOM = "capacity 20; poll_interval 100ms 1s; polls_per_session 1000/s; refresh 1s;"


class Load:
    """20 inside who click and 40 waiting who ask, while something happens to the store."""

    def __init__(self, running):
        self.running = running
        self.over = False
        self.inside_saw = set()  # statuses
        self.waiting_saw = set()  # states

    def during(self, happens):
        """Runs happens() in a thread under load; answers the ranks of those who wait, once they are told again."""
        return asyncio.run(self._story(happens))

    async def _story(self, happens):
        visitors = [AsyncVisitor(self.running.address) for _ in range(60)]
        for number, visitor in enumerate(visitors):
            await arrive(visitor, self.running.keys, number)
        self.numbers = [visitor.ticket.number for visitor in visitors[20:]]
        tasks = [asyncio.create_task(self._click(visitor)) for visitor in visitors[:20]]
        tasks += [asyncio.create_task(self._ask(visitor)) for visitor in visitors[20:]]
        await asyncio.sleep(1.5)
        await asyncio.to_thread(happens)
        await asyncio.sleep(1.5)
        self.over = True
        await asyncio.gather(*tasks)
        ranks = []
        for _ in range(60):
            answers = [(await visitor.status()).json for visitor in visitors[20:]]
            ranks = [answer.get("rank") for answer in answers]
            if all(ranks):
                break
            await asyncio.sleep(0.5)
        for visitor in visitors:
            visitor.close()
        return ranks

    async def _click(self, visitor):
        while not self.over:
            self.inside_saw.add((await visitor.page("/")).status)
            await asyncio.sleep(0.1)

    async def _ask(self, visitor):
        while not self.over:
            self.waiting_saw.add((await visitor.status()).json["state"])
            await asyncio.sleep(0.1)


def test_a_slot_moves_under_load(shared_room, make_store):
    cluster = Cluster(make_store)
    running = shared_room(ROOM, url=f"{cluster.urls} timeout=5s", workers=2)
    load = Load(running)

    def happens():
        for _ in range(3):
            cluster.move(cluster.slot_of("sale"))

    assert load.during(happens) == list(range(1, 41))
    assert load.inside_saw == {200}
    assert load.waiting_saw == {"waiting"}
    assert running.metrics().get("fairway_store_calls_total", result="failed") == 0


def test_a_room_is_found_from_any_seed(shared_room, make_store):
    cluster = Cluster(make_store)
    gateways = [shared_room(ROOM, url=f"{node.url} timeout=5s") for node in cluster.nodes]
    one_keys_file(gateways)
    for running in gateways:
        assert Visitor(running.address).page("/").status == 200
    wait_until(lambda: all(running.metrics().get("fairway_room_inside", room="sale") == 3 for running in gateways))


@pytest.mark.parametrize("policy", ["closed", "open"])
def test_a_failover_under_load(shared_room, make_store, policy):
    watched = Watched(make_store)
    running = shared_room(f"on_store_failure {policy}; {ROOM}", url=f"{watched.urls} timeout=2s breaker=500ms", workers=2)
    load = Load(running)

    def happens():
        old = watched.master.port
        watched.master.kill()
        wait_until(lambda: watched.master_port() != old, 60, message="no failover")
        wait_until(lambda: running.metrics().get("fairway_store_breaker_open") == 0, 30, message="the gateway does not follow")

    ranks = load.during(happens)
    assert ranks == list(range(1, 41))
    assert load.inside_saw == {200}
    assert load.waiting_saw == ({"waiting"} if policy == "open" else {"waiting", "unavailable"})
    wait_until(lambda: running.metrics().get("fairway_room_inside", room="sale") == 20)


def test_tls(shared_room, make_store, certificate):
    server = make_store(tls=certificate)
    trusted = f"ca={certificate[0]}"
    for host, words, reaches in (("localhost", trusted, True), ("127.0.0.1", trusted, True), ("localhost", "", False),
                                 ("localhost", "verify=off", True)):
        running = shared_room(ROOM, url=f"valkeys://{host}:{server.tls_port} timeout=5s {words}")
        assert Visitor(running.address).page("/").status == (200 if reaches else 503), (host, words)
        assert running.quit() == 0
        if not reaches:
            assert "certificate" in running.log
        running.start()
    plain = shared_room(ROOM, url=f"valkeys://localhost:{server.port} timeout=500ms")  # a server that speaks no TLS there
    assert Visitor(plain.address).page("/").status == 503


def test_a_certificate_for_another_name(shared_room, make_store, tmp_path):
    tmp_path.chmod(0o755)
    certificate = tls.make_certificate(tmp_path, name="elsewhere.example", addresses=())
    server = make_store(tls=certificate)
    for host in ("localhost", "127.0.0.1"):
        running = shared_room(ROOM, url=f"rediss://{host}:{server.tls_port} timeout=5s ca={certificate[0]}")
        assert Visitor(running.address).page("/").status == 503
        assert "mismatch" in running.log
