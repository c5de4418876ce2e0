"""Reloads under load, with everything renamed: nothing in shared memory may point into a configuration that is gone."""

import asyncio
import threading

from harness.visitor import AsyncVisitor, Visitor

ROOMS = """
    fairway_store memory 8m;
    waiting_room sale { capacity 4; max_waiting 1000; message "@WORD@"; }
    waiting_room extra-@WORD@ { capacity 1; max_waiting 1000; }
    server {
        listen @LISTEN@;
        waiting_room sale;
        location / { proxy_pass http://up_@WORD@; }
        location /@WORD@ { waiting_room extra-@WORD@; proxy_pass http://up_@WORD@; }
    }
    upstream up_@WORD@ { server @ORIGIN@; }"""


class Load:
    """Visitors who ask all the time in a thread of their own; what they were answered, by status."""

    def __init__(self, address, count):
        self.address, self.count = address, count
        self.stopping = threading.Event()
        self.answers = {}
        self.errors = []
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

    async def _run(self):
        await asyncio.gather(*(self._visit(AsyncVisitor(self.address)) for _ in range(self.count)))

    async def _visit(self, visitor):
        try:
            while not self.stopping.is_set():
                response = await visitor.client("/")
                self.answers[response.status] = self.answers.get(response.status, 0) + 1
                await asyncio.sleep(0.01)
        except Exception as error:  # the test shows it
            self.errors.append(repr(error))
        finally:
            visitor.close()


def test_twenty_reloads_under_load(gateway, origin):
    running = gateway(ROOMS, workers=2, origin=origin, word="w0")
    insiders = [Visitor(running.address) for _ in range(4)]
    assert [visitor.page().status for visitor in insiders] == [200] * 4
    with Load(running.address, 4) as load:
        for number in range(1, 21):
            running.values["word"] = f"w{number}"
            running.reload(ROOMS)
            assert insiders[number % 4].client().status == 200
            assert Visitor(running.address, room=f"extra-w{number}").page(f"/w{number}").status == 200
    assert load.errors == []
    assert set(load.answers) == {429} and load.answers[429] > 20, load.answers
    samples = running.metrics()
    assert samples.get("fairway_room_inside", room="sale") == 4
    assert samples.get("fairway_room_inside", room="extra-w20") == 1
    assert [visitor.status().json["state"] for visitor in insiders] == ["admitted"] * 4


def test_rooms_that_come_and_go(gateway, origin):
    """The zone vanishes with the last room and comes back empty; passes are still worth what they say."""
    room = "fairway_store memory 4m; waiting_room sale { capacity 1; max_waiting 100; } "
    server = "server {{ listen @LISTEN@; {} location / {{ proxy_pass http://@ORIGIN@; }} }}"
    running = gateway(room + server.format("waiting_room sale;"), origin=origin)
    inside = Visitor(running.address)
    assert inside.page().status == 200
    for _ in range(3):
        running.reload(server.format(""))
        assert Visitor(running.address).client().status == 200
        running.reload(room + server.format("waiting_room sale;"))
        assert Visitor(running.address).client().status == 429
        assert inside.client().status == 200
