"""Very many workers of old generations, and of rooms that are renamed."""

import signal
import time

from harness.http1 import Connection, request
from harness.limits import scaled, wait_until
from harness.nginx import processes_of
from harness.visitor import Visitor


def test_old_workers_keep_no_new_ones_out(gateway, origin):
    """They live as long as their connections, but a queue has rows for 256 workers only: one without a turn gives its row back."""
    running = gateway("""fair_queue app { concurrency 4; }
        server { listen @LISTEN@ reuseport; location / { fair_queue app; proxy_pass http://@ORIGIN@; } location /slow { limit_rate 1; root @PREFIX@; } }""",
        origin=origin, workers=64)
    (running.prefix / "slow").write_bytes(b"x" * 100_000)
    slow = []
    for _ in range(4):  # of each generation nearly all workers have one of these
        for _ in range(180):
            slow.append(Connection(running.address))
            slow[-1].send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        for connection in slow[-180:]:
            assert connection.socket.recv(1) == b"H"
        old = running.workers()
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(running.workers()) == 64 and not set(old) & set(running.workers()), 30, message="no new workers")
        time.sleep(scaled(1))
    assert len(processes_of(running.process.pid)) > 256
    assert {request(running.address, "GET", "/").status for _ in range(64)} == {200}
    for connection in slow:
        connection.close()


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
