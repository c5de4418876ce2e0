"""Attacks by reloads: very many of them, renamed rooms, one process."""

import signal
import time

from harness.http1 import Connection, request
from harness.limits import wait_until
from harness.origin import Answer
from harness.visitor import Visitor


def test_three_hundred_reloads_with_a_tunnel_open_in_each(gateway, origin):
    """Old workers live as long as their tunnels; they hold no slot and must not keep new workers out."""
    origin.on("/ws", Answer(kind="websocket"))
    running = gateway("""proxy_http_version 1.1; proxy_read_timeout 1h;
        fair_queue app { concurrency 4; }
        server { listen @LISTEN@; location / { fair_queue app; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_pass http://@ORIGIN@; } }""",
        origin=origin)
    tunnels = []
    for number in range(260):
        tunnel = Connection(running.address)
        tunnel.send(b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: x\r\n\r\n")
        assert tunnel.socket.recv(100).startswith(b"HTTP/1.1 101"), number
        tunnels.append(tunnel)
        old = running.workers()
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: running.workers() and not set(old) & set(running.workers()), 10, message=f"reload {number}")
    assert request(running.address, "GET", "/").status == 200
    for tunnel in tunnels:
        tunnel.close()


ROOMS = "".join(f"waiting_room @WORD@{number} {{ capacity 1; max_waiting 10; poll_interval 100ms 100ms; polls_per_session 1000/s; }}\n" for number in range(150))
SERVER = "server { listen @LISTEN@; " + "".join(f"location /r{number}/ {{ waiting_room @WORD@{number}; proxy_pass http://@ORIGIN@; }}\n" for number in range(150)) + "}"


def test_all_of_many_rooms_are_renamed(gateway, origin):
    running = gateway("fairway_store memory 32m;" + ROOMS + SERVER, origin=origin, workers=2, word="a")
    time.sleep(1.5)
    for word in "bcd":
        running.values["word"] = word
        running.reload("fairway_store memory 32m;" + ROOMS + SERVER)
        time.sleep(1.5)
        insiders = [Visitor(running.address, room=f"{word}{number}") for number in range(150)]
        assert [visitor.page(f"/r{number}/").status for number, visitor in enumerate(insiders)] == [200] * 150
        waiters = [Visitor(running.address, room=f"{word}{number}") for number in range(150)]
        answers = [visitor.page(f"/r{number}/").status for number, visitor in enumerate(waiters)]
        assert answers == [429] * 150
        told = [visitor.status().json for visitor in waiters]
        assert {(one["state"], one["rank"], one["paused"]) for one in told} == {("waiting", 1, False)}
        samples = running.metrics()
        assert [samples.get("fairway_room_inside", room=f"{word}{number}") for number in range(150)] == [1] * 150
