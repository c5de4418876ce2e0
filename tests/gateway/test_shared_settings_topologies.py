"""Shared settings in a cluster, whose slot for them is at another node than the room's, and over a failover that Sentinel announces."""

import threading

from harness.limits import wait_until
from harness.operator import CONSOLE, Operator
from harness.topologies import Cluster, Watched

SITE = "fairway_store @STORE@; waiting_room sale { capacity 10; } server { listen @LISTEN@; location / { waiting_room sale; proxy_pass http://@ORIGIN@; } }"


def capacity(operator):
    return operator.get("rooms/sale")["settings"]["capacity"]


def test_a_cluster_whose_slot_moves(gateway, origin, make_store):
    cluster = Cluster(make_store)
    operators = [Operator(gateway(SITE.replace("@STORE@", f"{node.url} timeout=5s") + CONSOLE, origin=origin)) for node in cluster.nodes[:2]]
    one, two = operators
    slot = cluster.slot_of("all")
    assert one.put("rooms/sale", {"capacity": 11})["settings"]["capacity"] == 11
    wait_until(lambda: capacity(two) == 11, 5)
    statuses, moved = [], threading.Event()

    def change():  # while one of the two keys is at its new node no call for both can be answered: it waits, up to its timeout
        while not moved.is_set() or len(statuses) < 10:
            statuses.append(two.call("PUT", "rooms/sale", {"capacity": 100 + len(statuses)}).status)

    changing = threading.Thread(target=change)
    changing.start()
    for _ in range(3):
        cluster.move(slot)
    moved.set()
    changing.join()
    assert set(statuses) == {200}
    wait_until(lambda: capacity(one) == 99 + len(statuses), 5)
    assert one.get("health")["store"]["outages"] == two.get("health")["store"]["outages"] == 0


def test_a_failover(gateway, origin, make_store):
    watched = Watched(make_store)
    one, two = [Operator(gateway(SITE.replace("@STORE@", f"{watched.urls} timeout=250ms breaker=300ms") + CONSOLE, origin=origin)) for _ in range(2)]
    wait_until(lambda: one.call("PUT", "rooms/sale", {"capacity": 11}).status == 200, 5)
    wait_until(lambda: capacity(two) == 11, 5)
    old = watched.master.port
    watched.master.kill()
    wait_until(lambda: watched.master_port() != old, 60, message="no failover")
    wait_until(lambda: two.call("PUT", "rooms/sale", {"rate": "5/s"}).status == 200, 30, message="the gateway does not follow")
    wait_until(lambda: one.get("rooms/sale")["settings"]["rate"] == "5/s" and capacity(one) == 11, 10)
