"""A shared store that goes away: those inside notice nothing, the others get what on_store_failure says, and the line is as it was when
the store is back."""

import time

import pytest

from harness.http1 import request
from harness.limits import wait_until
from harness.shared_rooms import QUICK
from harness.visitor import Visitor

FAST = f"{QUICK} session_timeout 60s; refresh 1s;"
SHORT = "timeout=2s breaker=500ms"


def breaker_open(running):
    return running.metrics().get("fairway_store_breaker_open") == 1


def crowd(running, count):
    """Visitors in the order they came, all of whom hold a ticket or a pass."""
    visitors = [Visitor(running.address) for _ in range(count)]
    for visitor in visitors:
        visitor.page("/")
    return visitors


def ranks(visitors):
    """What each is told, once the store is back and its recovery over."""
    def told():
        answers = [visitor.status().json for visitor in visitors]
        return all(answer["state"] == "waiting" and answer["rank"] for answer in answers) and [answer["rank"] for answer in answers]

    return wait_until(told, 60, pause=0.5, message="the line is not back")


def test_closed(shared_room, store):
    running = shared_room(f"capacity 2; {FAST}", url=f"{store.url} {SHORT}", workers=2)
    visitors = crowd(running, 6)
    inside, waiting = visitors[:2], visitors[2:]
    time.sleep(1.2)  # the passes are no longer young
    store.kill()
    for _ in range(3):
        for visitor in inside:
            assert visitor.page("/").status == 200
            assert visitor.status().json["state"] == "admitted"
    page = waiting[0].page("/")
    assert page.status == 503 and "text/html" in page.headers.one("Content-Type") and page.headers.one("Retry-After")
    assert page.headers.one("X-Room").split()[0] == "unavailable"
    client = waiting[1].client("/")
    assert client.status == 503 and client.json["state"] == "unavailable" and client.json["retry_after"] == int(client.headers.one("Retry-After"))
    assert waiting[2].status().status == 200 and waiting[2].status().json["state"] == "unavailable"
    assert Visitor(running.address).page("/").status == 503
    assert breaker_open(running)
    store.start()
    wait_until(lambda: not breaker_open(running))
    assert ranks(waiting) == [1, 2, 3, 4]
    for visitor in inside:
        assert visitor.page("/").status == 200
    assert running.metrics().get("fairway_room_inside", room="sale") == 2
    assert "does not answer" in running.log and "answers again" in running.log


def test_an_outage_that_no_visitor_met_first(shared_room, store):
    """The gateway itself notices: that is counted and logged like any other failure, before any probe fails."""
    running = shared_room(f"capacity 2; {FAST}", url=f"{store.url} timeout=5s breaker=1h", workers=2)
    visitors = crowd(running, 4)
    visitors[0].leave()
    time.sleep(1.3)
    store.kill()
    wait_until(lambda: breaker_open(running))
    assert visitors[3].page("/").status == 503
    wait_until(lambda: "does not answer" in running.log)
    assert running.metrics().get("fairway_store_calls_total", result="failed") >= 1
    [line] = [line for line in running.log.splitlines() if "does not answer" in line]
    assert "refused" in line


def test_one_line_an_outage_however_many_probes_fail(shared_room, store):
    running = shared_room(f"capacity 2; {FAST}", url=f"{store.url} timeout=5s breaker=200ms", workers=2)
    crowd(running, 4)
    store.kill()
    wait_until(lambda: running.metrics().get("fairway_store_calls_total", result="failed") >= 4)
    assert running.log.count("does not answer") == 1 and "answers again" not in running.log
    store.start()
    wait_until(lambda: "answers again" in running.log)
    assert not breaker_open(running) and running.log.count("does not answer") == running.log.count("answers again") == 1


def test_open(shared_room, store):
    running = shared_room(f"capacity 2; on_store_failure open; {FAST}", url=f"{store.url} {SHORT}", workers=2)
    visitors = crowd(running, 7)
    waiting = visitors[2:]
    assert [visitor.status().json["rank"] for visitor in waiting] == [1, 2, 3, 4, 5]
    store.kill()
    answer = waiting[2].status().json
    assert (answer["state"], answer["rank"], answer["stale"], answer["eta"]) == ("waiting", 3, True, None)
    page = waiting[0].page("/")
    assert page.status == 200 and page.headers.one("X-Room").split()[0] == "fail_open"
    assert waiting[0].passed.number is None
    assert waiting[1].client("/").status == 200
    newcomer = Visitor(running.address)
    assert newcomer.page("/").status == 200
    assert waiting[0].status().json["state"] == "admitted"
    time.sleep(1.2)
    assert waiting[0].page("/").status == 200  # renewed without the store
    store.start()
    wait_until(lambda: not breaker_open(running))
    time.sleep(1.2)
    for visitor in [*visitors[:4], newcomer]:  # taken over, above the capacity
        assert visitor.page("/").status == 200
    assert waiting[0].passed.number is not None
    wait_until(lambda: running.metrics().get("fairway_room_inside", room="sale") == 5)
    assert ranks(waiting[2:]) == [1, 2, 3]


def test_open_with_a_rate_and_entries_per_ip(shared_room, store):
    running = shared_room(f"capacity 1; rate 3/m; on_store_failure open; entries_per_ip 5/m; {FAST}", url=f"{store.url} {SHORT}")
    assert Visitor(running.address).page("/").status == 200
    store.kill()
    answers = [Visitor(running.address).page("/").status for _ in range(6)]
    assert answers == [200, 200, 200, 503, 503, 503]  # three by the rate; whom the rate refuses has used up no entry
    store.start()


def test_no_call_while_the_breaker_is_open(shared_room, store):
    running = shared_room(f"capacity 1; {FAST}", url=f"{store.url} timeout=2s breaker=8s", workers=2)
    assert Visitor(running.address).page("/").status == 200
    store.kill()
    wait_until(lambda: breaker_open(running))
    failed = running.metrics().get("fairway_store_calls_total", result="failed")
    noticed = time.monotonic()
    store.start()
    while time.monotonic() < noticed + 2:
        assert Visitor(running.address).page("/").status == 503
        assert store.calls("evalsha") + store.calls("eval") == 0
    assert running.metrics().get("fairway_store_calls_total", result="failed") == failed
    wait_until(lambda: not breaker_open(running), 20)
    assert store.calls("eval") >= 1


def test_a_session_that_ends_meanwhile_stays_ended(shared_room, store):
    running = shared_room(f"capacity 1; {FAST}", url=f"{store.url} {SHORT}")
    inside = Visitor(running.address)
    assert inside.page("/").status == 200
    stolen = dict(inside.jar)
    waiting = Visitor(running.address)
    assert waiting.page("/").status == 429
    store.pause()
    wait_until(lambda: breaker_open(running))
    assert inside.leave().status == 204
    inside.jar = dict(stolen)
    assert inside.page("/", follow=False).status == 302  # its pass is worth nothing any more
    store.resume()
    wait_until(lambda: waiting.status().json["state"] == "admitted")  # the slot was given back, a little later


@pytest.mark.parametrize("how", ["maxmemory", "readonly"])
def test_a_store_that_refuses(shared_room, store, how):
    running = shared_room(f"capacity 1; {FAST}", url=f"{store.url} {SHORT}")
    inside, waiting = crowd(running, 2)
    time.sleep(1.2)
    if how == "maxmemory":
        store.command("CONFIG", "SET", "maxmemory", "1mb")
        assert Visitor(running.address).page("/").headers.one("X-Room").split()[0] == "busy"
        client = Visitor(running.address)
        assert client.client("/").json["state"] == "unknown"
        assert client.client("/").json["state"] == "busy"
        assert not breaker_open(running)
        assert waiting.page("/").status == 429
    else:
        store.command("REPLICAOF", "127.0.0.1", "1")
        wait_until(lambda: Visitor(running.address).page("/").status == 503)
    assert inside.page("/").status == 200
    if how == "maxmemory":
        store.command("CONFIG", "SET", "maxmemory", "0")
    if how == "readonly":
        store.command("REPLICAOF", "NO", "ONE")
    wait_until(lambda: waiting.status().json["state"] == "waiting", 10)
    assert ranks([waiting]) == [1]


def test_the_script_is_forgotten(shared_room, store):
    running = shared_room(f"capacity 1; {FAST}", url=f"{store.url} {SHORT}")
    inside, waiting = crowd(running, 2)
    for _ in range(10):
        store.command("SCRIPT", "FLUSH")
        assert waiting.status().json["rank"] == 1
    assert running.metrics().get("fairway_store_calls_total", result="failed") == 0
    assert request(running.address, "GET", "/__fairway/health").status == 200
