"""Rooms on a shared store: the fixture is known to every test (conftest.py); the rest is for crowds of visitors."""

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
    """shared_room(settings, url): a gateway with room `sale`; on the store of the test unless `url` (with options) names another."""

    def make(settings="capacity 2;", url=None, **options):
        return gateway(ROOM.replace("@SETTINGS@", settings).replace("@STORE@", url or store.url), origin=origin, **options)

    return make


def one_keys_file(gateways):
    """Tokens of one count in all."""
    for other in gateways[1:]:
        (other.state / "keys").write_text(gateways[0].keys)
        other.reload()


async def arrive(visitor, keys, number):
    """With a ticket that has not joined, as `check` gave it: one request in place of three."""
    now = int(time.time())
    ticket = tokens.Token("q", visitor.room, f"{number:032x}", now, now + 600)
    visitor.set_cookie(f"fairway_ticket_{visitor.room}", tokens.write(ticket, keys))
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
