"""A room for hostile clients: what they send, and a look at whether anybody else noticed."""

import re
import socket
from contextlib import contextmanager

from .limits import scaled
from .visitor import Visitor

ROOM = """
    waiting_room sale { capacity 1; session_timeout 10m; return_grace 1m; abandon_timeout 10m; polls_per_session 1000/s; @SETTINGS@ }
    waiting_room other { capacity 1; }
    large_client_header_buffers 8 64k; client_max_body_size 1m; lingering_time 2s; lingering_timeout 1s; client_header_timeout 6s;
    server { listen @LISTEN@; listen @LISTEN2@ http2; @SERVER@
        location / { waiting_room sale; proxy_pass http://@ORIGIN@; }
        location /other { waiting_room other; proxy_pass http://@ORIGIN@; }
    }
"""
PASS, TICKET = "fairway_pass_sale", "fairway_ticket_sale"


class Room:
    """A gateway whose room has one visitor inside and one in line; unpacks to these three."""

    def __init__(self, gateway, origin, settings="", server=""):
        self.gateway = gateway(ROOM, settings=settings, server=server, origin=origin, log_level="notice")
        self.inside, self.waiter = Visitor(self.gateway.address), Visitor(self.gateway.address)
        assert self.inside.page("/").status == 200 and self.waiter.page("/").status == 429

    def __iter__(self):
        return iter((self.gateway, self.inside, self.waiter))


# What may be written about a client: by nginx above level info, and by Fairway once.
MAY_BE_SAID = re.compile(r"\[error\] .* client (sent invalid chunked body|intended to send too large (body|chunked body): \d+ bytes), client: "
                         r"|\[warn\] .* fairway: (waiting_room \"\w+\" held a POST from another site or from a program|nearly all requests come from one address)")


def snapshot(running):
    metrics = running.metrics()
    places = {(name, room): metrics.get(f"fairway_room_{name}", room=room) for name in ("inside", "waiting", "admitted_total") for room in ("sale", "other")}
    return places, running.workers(), [line for line in running.log.splitlines() if not MAY_BE_SAID.search(line)]


@contextmanager
def unharmed(room):
    """Nobody got a place, nobody lost one, no process ended, nothing was written."""
    running, inside, waiter = room
    before = snapshot(running)
    yield
    assert snapshot(running) == before
    assert not re.search(r"v1\.\w|fairway_(pass|ticket)_", running.log)
    assert inside.client("/").status == 200 and waiter.client("/").json["rank"] == 1


def cookie(name, value):
    return [("Cookie", f"{name}={value}")]


def mutated(chance, text):
    """`text` with one to three changes."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text) + 1)
        odd = chance.choice(["", ".", "..", "-", "0", "=", "%2e", '"', "\\", "A", "\x7f", "\xe9", " ", "\t", "+", "/", str(2**64), "-1", "v1."])
        kind = chance.randrange(5)
        if kind == 0:
            text = text[:at] + odd + text[at:]
        elif kind == 1:
            text = text[:at] + odd + text[at + 1 :]
        elif kind == 2:
            text = text[:at]
        elif kind == 3:
            parts = text.split(".")
            first, second = chance.randrange(len(parts)), chance.randrange(len(parts))
            parts[first], parts[second] = parts[second], parts[first]
            text = ".".join(parts)
        else:
            text = text[:at] + text[at : at + 9].swapcase() + text[at + 9 :]
    return text


def raw(running, data, port=1, end=True):
    """Sends bytes and answers all that comes back; the connection may be cut meanwhile. end: says that no more will come."""
    answer = b""
    with socket.create_connection(running.address_of(port), scaled(20)) as peer:
        try:
            peer.sendall(data)
            if end:
                peer.shutdown(socket.SHUT_WR)
            while piece := peer.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return answer


def status_of(answer):
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(match[1]) if match else None
