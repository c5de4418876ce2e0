"""Rooms on a shared store: the fixture is known to every test (conftest.py); the rest is for crowds of visitors."""

import hashlib
import threading
import time

import pytest

from . import tokens

ROOM = """
    fairway_store @STORE@;
    waiting_room sale { @SETTINGS@ }
    server { listen @LISTEN@;
        location / { waiting_room sale; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@;
                     add_header X-Room "$waiting_room_state $waiting_room_name $waiting_room_rank" always; }
    }
"""
# Whoever tests how a line behaves asks often.
QUICK = "poll_interval 100ms 100ms; polls_per_session 1000/s;"


@pytest.fixture
def shared_room(gateway, origin, store):
    """shared_room(settings, url): a gateway with room `sale`; on the store of the test unless `url` (with options) names another. The store has
    more time than by default: what a busy machine needs for an answer is no outage."""

    def make(settings="capacity 2;", url=None, **options):
        return gateway(ROOM.replace("@SETTINGS@", settings).replace("@STORE@", url or f"{store.url} timeout=5s"), origin=origin, **options)

    return make


def one_keys_file(gateways):
    """Tokens of one count in all."""
    for other in gateways[1:]:
        (other.state / "keys").write_text(gateways[0].keys)
        other.reload()


def ticket(room, keys, number):
    """One that has not joined, as `check` gives it; for each number the same session, as random as real ones."""
    now = int(time.time())
    sid = hashlib.md5(b"%d" % number).hexdigest()
    return tokens.write(tokens.Token("q", room, sid, now, now + 3600), keys)


async def arrive(visitor, keys, number):
    """With a ticket of its own: one request in place of three."""
    visitor.set_cookie(f"fairway_ticket_{visitor.room}", ticket(visitor.room, keys, number))
    return await visitor.page("/")


def watch(look, pause=0.05):
    """Calls look() again and again in a thread until the returned function is called, which tells what came out."""
    seen, stop = [], threading.Event()

    def run():
        while not stop.is_set():
            seen.append(look())
            time.sleep(pause)

    thread = threading.Thread(target=run)
    thread.start()

    def end():
        stop.set()
        thread.join()
        return seen

    return end
