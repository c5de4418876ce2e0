"""Crowds on a shared store, counted from outside: several gateways, an outage of half a minute, a line of ten thousand that is flushed."""

import asyncio
import collections
import random

from harness.limits import scaled, wait_until
from harness.shared_rooms import arrive, one_keys_file, watch
from harness.stores import Connection
from harness.visitor import AsyncVisitor, Visitor

GATEWAY = """
    fairway_store @STORE@ timeout=5s;
    waiting_room sale { capacity 100; rate 50/s; poll_interval 2s 5s; polls_per_session 1000/s; entries_per_ip off; }
    server { listen @LISTEN@;
        location / { waiting_room sale; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@; } }
"""


def test_four_gateways_one_store(gateway, origin, store):
    gateways = [gateway(GATEWAY, origin=origin, store=store.url) for _ in range(4)]
    one_keys_file(gateways)
    chance = random.Random(11)
    fates = ["leave the line" if chance.random() < 0.2 else "visit" for _ in range(2000)]

    async def visit(number):
        visitor = AsyncVisitor(gateways[number % 4].address)
        try:
            response = await arrive(visitor, gateways[0].keys, number)
            if response.status == 429 and fates[number] == "leave the line":
                await visitor.leave()
                return None
            while response.status != 200:
                answer = await visitor.status()
                if answer.json["state"] == "admitted":
                    response = await visitor.page("/")
                else:
                    await asyncio.sleep(answer.json["retry_after"] * chance.uniform(0.5, 1))
            passed = visitor.passed
            await asyncio.sleep(chance.random())
            await visitor.leave()
            return passed
        finally:
            visitor.close()

    async def everybody():
        return await asyncio.gather(*(visit(number) for number in range(2000)))

    def look():
        store.command("SCRIPT", "FLUSH")  # invisible, whenever it happens
        inside = store.command("ZCARD", "fairway:{sale}:inside")
        times = [int(entry) for entry in store.command("LRANGE", "fairway:{sale}:recent", 0, -1)]
        return inside, times

    end = watch(look)
    try:
        passes = [passed for passed in asyncio.run(everybody()) if passed]
    finally:
        looks = end()
    assert len(passes) >= fates.count("visit")
    assert len({passed.sid for passed in passes}) == len({passed.number for passed in passes}) == len(passes)
    assert max(inside for inside, _ in looks) <= 100
    assert origin.peak_sessions() <= 100
    assert max(collections.Counter(passed.admitted for passed in passes).values()) <= 50
    moments = sorted({moment for _, times in looks for moment in times})
    assert all(later - earlier >= 1_000_000 for earlier, later in zip(moments, moments[50:])), "51 admissions within a second"
    by_number = sorted(passes, key=lambda passed: passed.number)
    assert [passed.admitted for passed in by_number] == sorted(passed.admitted for passed in passes)
    for running in gateways:
        assert running.metrics().get("fairway_store_calls_total", result="failed") == 0


OUTAGE = """
    fairway_store @STORE@ timeout=2s breaker=1s;
    waiting_room a { capacity 50; poll_interval 100ms 1s; polls_per_session 1000/s; refresh 1s; entries_per_ip off; }
    waiting_room b { capacity 50; poll_interval 100ms 1s; polls_per_session 1000/s; refresh 1s; entries_per_ip off; on_store_failure open; }
    server { listen @LISTEN@; location / { waiting_room a; proxy_pass http://@ORIGIN@; } }
    server { listen @LISTEN2@; location / { waiting_room b; proxy_pass http://@ORIGIN@; } }
"""


class Outage:
    """50 inside and 100 waiting in each of two rooms; those inside click, those waiting ask, until told to stop."""

    def __init__(self, running):
        self.running = running
        self.phase = "before"
        self.bad = []  # what nobody should have seen
        self.down = collections.Counter()

    async def make(self, room, index):
        visitors = []
        for number in range(150):
            visitor = AsyncVisitor(self.running.address_of(index), room=room)
            await arrive(visitor, self.running.keys, number)
            visitors.append(visitor)
        return visitors[:50], visitors[50:]

    async def click(self, visitor):
        while self.phase != "over":
            response = await visitor.page("/")
            if response.status != 200:
                self.bad.append(("inside", visitor.room, self.phase, response.status))
            await asyncio.sleep(0.8)

    async def ask(self, visitor):
        while self.phase != "over":
            asked = self.phase
            answer = (await visitor.status()).json
            states = {"waiting"} if visitor.room == "b" or self.phase == "before" else {"waiting", "unavailable"}
            if answer["state"] not in states:
                self.bad.append(("waiting", visitor.room, self.phase, answer))
            if asked == self.phase == "down":
                self.down[visitor.room, answer["state"], answer.get("stale")] += 1
            await asyncio.sleep(0.8)

    async def newcomers(self, room, index):
        """Everybody is answered, in a moment, whatever the store does."""
        taken_over = []
        while self.phase != "over":
            if self.phase == "down":
                visitor = AsyncVisitor(self.running.address_of(index), room=room)
                response = await visitor.page("/")
                expected = 200 if room == "b" else 503
                if response.status != expected and self.phase == "down":
                    self.bad.append(("newcomer", room, self.phase, response.status))
                if room == "b":
                    taken_over.append(visitor)
                else:
                    visitor.close()
            await asyncio.sleep(2)
        return taken_over


def test_the_store_is_killed_and_comes_back_empty(gateway, origin, store):
    running = gateway(OUTAGE, origin=origin, store=store.url, workers=2)

    async def story():
        outage = Outage(running)
        rooms = {room: await outage.make(room, index) for room, index in (("a", 1), ("b", 2))}
        tasks = [asyncio.create_task(outage.click(visitor)) for inside, _ in rooms.values() for visitor in inside]
        tasks += [asyncio.create_task(outage.ask(visitor)) for _, waiting in rooms.values() for visitor in waiting]
        newcomers = [asyncio.create_task(outage.newcomers(room, index)) for room, index in (("a", 1), ("b", 2))]
        await asyncio.sleep(3)
        outage.phase = "going down"
        await asyncio.to_thread(store.kill)
        await asyncio.sleep(scaled(1))  # the gateway notices
        outage.phase = "down"
        await asyncio.sleep(30)
        outage.phase = "back"
        await asyncio.to_thread(store.start)
        await asyncio.sleep(9)  # a recovery takes poll_interval MAX + 5 s
        outage.phase = "over"
        await asyncio.gather(*tasks)
        taken_over = (await asyncio.gather(*newcomers))[1]
        for _ in range(20):
            ranks = {room: [(await visitor.status()).json.get("rank") for visitor in waiting] for room, (_, waiting) in rooms.items()}
            if all(all(told) for told in ranks.values()):
                break
            await asyncio.sleep(1)
        numbers = {room: [visitor.ticket.number for visitor in waiting] for room, (_, waiting) in rooms.items()}
        for inside, waiting in rooms.values():
            for visitor in inside + waiting:
                visitor.close()
        for visitor in taken_over:
            visitor.close()
        return outage, ranks, numbers, len(taken_over)

    outage, ranks, numbers, taken_over = asyncio.run(story())
    assert outage.bad == []
    assert set(outage.down) == {("a", "unavailable", False), ("b", "waiting", True)}
    assert numbers["a"] == sorted(set(numbers["a"])) and numbers["b"] == sorted(set(numbers["b"]))
    assert ranks["a"] == list(range(1, 101)) and ranks["b"] == list(range(1, 101))  # nobody lost, nobody twice
    samples = running.metrics()
    assert samples.get("fairway_room_inside", room="a") == 50 and samples.get("fairway_room_waiting", room="a") == 100
    assert 50 <= samples.get("fairway_room_inside", room="b") <= 50 + taken_over
    assert samples.get("fairway_room_waiting", room="b") == 100
    assert taken_over >= 10
    assert samples.get("fairway_store_calls_total", result="failed") <= 150  # a probe each breaker time and what was under way, of more than ten thousand questions


FLUSHED = """
    fairway_store @STORE@ timeout=10s;
    waiting_room sale { capacity 500; poll_interval 1s 6s; polls_per_session 1000/s; entries_per_ip off; abandon_timeout 5m; }
    server { listen @LISTEN@; location / { waiting_room sale; proxy_pass http://@ORIGIN@; } }
"""


def test_a_long_line_is_flushed(gateway, origin, store):
    waiting = 10_000
    running = gateway(FLUSHED, origin=origin, store=store.url, workers=2)
    keys = running.keys
    people = [AsyncVisitor(running.address) for _ in range(500 + waiting)]

    async def each(function, first=0, last=len(people)):
        """On few connections: a visitor here is its cookies."""
        connections = asyncio.Queue()
        for _ in range(100):
            connections.put_nowait(AsyncVisitor(running.address).connection)

        async def one(number, visitor):
            visitor.connection = await connections.get()
            try:
                return await function(number, visitor)
            finally:
                connections.put_nowait(visitor.connection)

        answers = await asyncio.gather(*(one(number, visitor) for number, visitor in enumerate(people[first:last], first)))
        while not connections.empty():
            connections.get_nowait().close()
        return answers

    async def poll(_, visitor):
        return (await visitor.status()).json

    joined = []
    for part in ((0, 500), (500, None)):
        joined += asyncio.run(each(lambda number, visitor: arrive(visitor, keys, number), *part))
    assert [response.status for response in joined] == [200] * 500 + [429] * waiting
    before = [visitor.ticket.number for visitor in people[500:]]
    look = Connection(store.socket)
    end = watch(lambda: look("ZCARD", "fairway:{sale}:inside"))
    try:
        store.command("FLUSHALL")
        asyncio.run(each(poll))
        newcomer = Visitor(running.address)
        assert newcomer.page("/").status == 429
        wait_until(lambda: newcomer.status().json["rank"], 60, pause=0.5)
        answers = asyncio.run(each(poll))
    finally:
        inside = end()
        look.close()
    assert max(inside) <= 500
    assert all(answer["state"] == "admitted" for answer in answers[:500])
    assert [answer["state"] for answer in answers[500:]] == ["waiting"] * waiting
    after = [visitor.ticket.number for visitor in people[500:]]
    assert after == before
    order = sorted(range(waiting), key=lambda index: answers[500 + index]["rank"])
    assert order == sorted(range(waiting), key=before.__getitem__)
    assert len({answer["rank"] for answer in answers[500:]}) == waiting
    assert newcomer.status().json["rank"] == waiting + 1
