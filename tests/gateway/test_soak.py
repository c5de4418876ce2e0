"""Everything at once, for a while: visitors who come, wait, click, leave or vanish; hostile clients; operators; reloads, workers that are
killed, stores that die, hang and forget. What must hold is looked at every second. FAIRWAY_SOAK: for how many seconds (an hour in
`make nightly`); FAIRWAY_SOAK_SEED repeats the choices of a run."""

import asyncio
import collections
import itertools
import os
import random
import signal
import time

import pytest

from harness import hostile
from harness.http1 import Broken
from harness.limits import PRELOAD, scaled, wait_until
from harness.operator import CONSOLE, Operator
from harness.nginx import UNDER
from harness.origin import Answer
from harness.shared_rooms import one_keys_file
from harness.visitor import AsyncVisitor

SECONDS = int(os.environ.get("FAIRWAY_SOAK", 30))
SEED = int(os.environ.get("FAIRWAY_SOAK_SEED", 0)) or random.randrange(1, 10**6)
CAPACITY, CONCURRENCY, VISITORS = 8, 4, 24  # visitors at each gateway
GONE = scaled(5)  # s until somebody who vanished is taken for gone; a busy machine delays those who did not
GATEWAY = """
    @STORE_LINE@
    waiting_room sale { capacity @CAPACITY@; session_timeout @GONE@s; grant_timeout @GONE@s; abandon_timeout @GONE@s; return_grace 1m; refresh 1s;
                        poll_interval 500ms 1s; polls_per_session 1000/s; entries_per_ip off; }
    fair_queue app { concurrency @CONCURRENCY@; timeout 30s; }
    client_header_timeout 3s; large_client_header_buffers 8 16k;
    server { listen @LISTEN@; location / { waiting_room sale; fair_queue app; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@; } }
""" + CONSOLE
LOST = (ConnectionError, Broken, asyncio.IncompleteReadError, OSError, asyncio.TimeoutError)


class Line:
    """One line, at one gateway or more of them, and what is known of it from outside."""

    def __init__(self, gateways, chance, store=None):
        self.gateways, self.chance, self.store = gateways, chance, store
        self.over = False
        self.inside = 0  # visitors who surely are: from the first answer of the application until they begin to leave
        self.wrong = []  # what must not happen, in words
        self.seen = collections.Counter()

    def say(self, *what):
        if len(self.wrong) < 50:
            self.wrong.append((round(time.time(), 3), *what))

    # Visitors

    async def visitors(self, gateway):
        """Comes again and again, each time as somebody else."""
        while not self.over:
            visitor = AsyncVisitor(gateway.address)
            try:
                await self._visit(visitor)
            finally:
                visitor.close()
            await asyncio.sleep(self.chance.random())

    async def _ask(self, what, *arguments, **options):
        """The answer, however often a worker dies meanwhile."""
        while True:
            try:
                return await what(*arguments, **options)
            except LOST:
                self.seen["connections lost"] += 1
                await asyncio.sleep(0.1)

    async def _visit(self, visitor):
        fate = self.chance.choices(["stay", "leave the line", "vanish from the line", "vanish inside"], [80, 7, 7, 6])[0]
        if not await self._wait(visitor, fate):
            return
        self.inside += 1
        if self.inside > CAPACITY:
            self.say("more inside than the capacity", self.inside)
        try:
            await self._click(visitor)
        finally:
            self.inside -= 1
        self.seen[fate] += 1
        if fate != "vanish inside":
            await self._ask(visitor.leave)

    async def _wait(self, visitor, fate):
        """Whether it came in."""
        patience = self.chance.randint(1, 4)
        number = None
        response = await self._ask(visitor.page, "/click")
        while response.status != 200:
            if response.status not in (429, 503):
                self.say("an answer to a newcomer or waiter", response.status, response.body[:200])
            if self.over or (fate.endswith("the line") and patience == 0):
                self.seen[fate] += 1
                if fate != "vanish from the line":
                    await self._ask(visitor.leave)
                return False
            patience -= 1
            if visitor.ticket is None or visitor.ticket.number is None:  # turned away before it had a place
                await asyncio.sleep(0.5)
                response = await self._ask(visitor.page, "/click")
                continue
            answer = (await self._ask(visitor.status)).json
            if answer["state"] not in ("waiting", "admitted", "unavailable"):
                self.say("a waiter was told", answer, visitor.ticket and visitor.ticket.number, number)
                return False
            now = visitor.ticket.number
            if number is not None and now is not None and now != number:
                self.say("a waiter's number changed", number, now)
            number = now or number
            if answer["state"] == "admitted":
                response = await self._ask(visitor.page, "/click")
                if response.status == 429:
                    self.say("admitted and not let in", response.body[:200])
            else:
                await asyncio.sleep(min(float(answer["retry_after"] or 1), 2) * self.chance.uniform(0.5, 1))
        return True

    async def _click(self, visitor):
        for _ in range(self.chance.randint(0, 6)):
            await asyncio.sleep(self.chance.random() / 2)
            response = await self._ask(visitor.page, "/click")
            if response.status != 200:
                self.say("somebody inside was answered", response.status, response.body[:200])
                return

    # Those who mean harm

    async def hostile(self, gateway):
        texts = ["v1.k.a.sale.0.0.0.0.0.0.-.x", "v1.k.q.sale.0.0.0.0.0.-.x"]
        for kind in itertools.cycle(range(5)):
            if self.over:
                return
            try:
                await self._harm(gateway, kind, hostile.mutated(self.chance, self.chance.choice(texts)))
            except LOST:
                pass
            await asyncio.sleep(0.1)

    async def _harm(self, gateway, kind, text):
        self.seen[f"hostile {kind}"] += 1
        _, writer = await asyncio.wait_for(asyncio.open_connection(*gateway.address), scaled(10))
        try:
            if kind == 0:  # tokens that are none
                token = text.encode("utf-8", "replace").replace(b"\n", b"")
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nCookie: fairway_pass_sale=%s; fairway_ticket_sale=%s\r\nConnection: close\r\n\r\n" % (token, token))
            elif kind == 1:  # a flood without cookies, of which nobody reads the answers
                writer.write(b"GET /click HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n" * 50)
            elif kind == 2:  # no HTTP
                writer.write(self.chance.randbytes(200) + b"\r\n\r\n")
            elif kind == 3:  # a head that never ends
                writer.write(b"POST /__fairway/sale/leave HTTP/1.1\r\nHost: x\r\nCookie: ")
            else:  # too large
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nCookie: fairway_ticket_sale=" + b"v" * 30_000 + b"\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(self.chance.random())
        finally:
            writer.transport.abort() if kind in (1, 3) else writer.close()

    # What must hold

    async def look(self):
        while not self.over:
            for gateway in self.gateways:
                try:
                    samples = await asyncio.to_thread(gateway.metrics)
                except LOST:
                    continue
                for name, most in (("fairway_room_inside", CAPACITY), ("fairway_queue_running", CONCURRENCY)):
                    value = samples.get(name, **({"room": "sale"} if "room" in name else {"queue": "app"}))
                    if value > most:
                        self.say(name, value)
                self.seen["looks"] += 1
            await asyncio.sleep(1)


class Chaos:
    """What happens to gateways and stores, one after the other."""

    def __init__(self, line, gateways):
        self.line, self.gateways = line, gateways
        self.kinds = ["reload", "kill", "storm", "operator"] + ["store dies", "store hangs", "store forgets"] * (line.store is not None)
        self.done = collections.Counter()

    async def run(self):
        queue = []
        while not self.line.over:
            await asyncio.sleep(self.line.chance.uniform(1, 3))
            if self.line.over:
                break
            if not queue:
                queue = self.line.chance.sample(self.kinds, len(self.kinds))
            kind = queue.pop()
            await asyncio.to_thread(self._happen, kind, self.line.chance.choice(self.gateways))
            self.done[kind] += 1

    def _happen(self, kind, gateway):
        store = self.line.store
        if kind == "reload":
            gateway.reload()
        elif kind == "kill":
            gateway.kill_worker()
        elif kind == "storm":
            for _ in range(4):
                gateway.process.send_signal(signal.SIGHUP)
                time.sleep(0.05)
            gateway.reload()
        elif kind == "operator":
            operator = Operator(gateway)
            for action in ("hold", "normal"):
                operator.call("POST", "rooms/sale/mode", {"mode": action})
                operator.call("PUT", "rooms/sale", {"max_waiting": 1000 + self.line.chance.randrange(1000)})
                time.sleep(0.5)
        elif kind == "store dies":
            store.kill()
            time.sleep(self.line.chance.uniform(0.2, 3))
            store.start()
        elif kind == "store hangs":
            store.pause()
            time.sleep(self.line.chance.uniform(0.2, 3))
            store.resume()
        else:
            store.command("FLUSHALL")


def memory_of(gateway):
    """KiB that are its processes' own; what is shared counts for whoever touched it."""
    pids = [gateway.process.pid, *gateway.workers()]
    return sum(int(line.split()[1]) for pid in pids for line in open(f"/proc/{pid}/status") if line.startswith("RssAnon"))


def descriptors_of(gateway):
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in gateway.workers())


@pytest.fixture
def lines(gateway, make_origin, store):
    """Two lines, of memory and of a store; the last gateway of each is left alone but for its visitors."""
    chance = random.Random(SEED)

    def make(workers, store_line="", **options):
        one = gateway(GATEWAY, workers=workers, origin=options.pop("origin"), store_line=store_line, capacity=CAPACITY, concurrency=CONCURRENCY,
                      gone=f"{GONE:.0f}", log_level="notice", **options)
        return one

    def application():
        return make_origin().on("/click", lambda seen: Answer(delay=chance.random() * 0.05))

    shared = f"fairway_store {store.url} timeout=1s breaker=300ms;"
    memory = [make(workers, origin=application()) for workers in (2, 1)]
    others = [make(workers, shared, origin=application()) for workers in (2, 1)]
    one_keys_file(others)
    return [Line(memory[:1], chance), Line(memory[1:], chance), Line(others, chance, store)]


def freed(gateway):
    samples = gateway.metrics()
    return all(samples.get(name, room="sale") == 0 for name in ("fairway_room_inside", "fairway_room_waiting")) and all(
        samples.get(name, queue="app") == 0 for name in ("fairway_queue_running", "fairway_queue_waiting"))


def test_nothing_is_lost_and_nothing_grows(lines):
    calm = [lines[1].gateways[0], lines[2].gateways[1]]
    chaos = [Chaos(lines[0], lines[0].gateways), Chaos(lines[2], lines[2].gateways[:1])]
    everywhere = [(line, gateway) for line in lines for gateway in line.gateways]

    async def story():
        tasks = [asyncio.create_task(one.run()) for one in chaos] + [asyncio.create_task(line.look()) for line in lines]
        tasks += [asyncio.create_task(line.hostile(gateway)) for line, gateway in everywhere]
        tasks += [asyncio.create_task(line.visitors(gateway)) for line, gateway in everywhere for _ in range(VISITORS // len(line.gateways))]
        ends, sizes = time.monotonic() + SECONDS, []

        def goes_on():
            everything = all(one.done.keys() == set(one.kinds) for one in chaos)
            return time.monotonic() < (ends if everything else ends + scaled(60)) and not any(task.done() for task in tasks)

        while goes_on():
            await asyncio.sleep(min(1, SECONDS / 10))
            sizes.append([memory_of(gateway) for gateway in calm])
            for gateway in (gateway for _, gateway in everywhere):
                gateway.values["origin"].requests.clear()
        for line in lines:
            line.over = True
        await asyncio.gather(*tasks)
        return sizes

    sizes = asyncio.run(story())
    told = [(line.seen, one.done if one else None) for line, one in zip(lines, (chaos[0], None, chaos[1]))]
    assert [line.wrong for line in lines] == [[], [], []], (SEED, told)
    for line in lines:
        assert line.seen["stay"] > 0 and line.seen["looks"] > 0 and all(line.seen[f"hostile {kind}"] for kind in range(5)), told
    assert all(one.done.keys() == set(one.kinds) for one in chaos), told
    for _, gateway in everywhere:
        wait_until(lambda: freed(gateway), 60, pause=0.5, message=f"slots or places stay: {told}")
        assert descriptors_of(gateway) < 60 * len(gateway.workers())
    for before, after in zip(*(map(max, zip(*part)) for part in (sizes[len(sizes) // 3 : len(sizes) // 2], sizes[-len(sizes) // 6 :]))):
        assert PRELOAD or UNDER or after - before < 2048, sizes  # KiB
    print(f"seed {SEED}: {told}; memory in KiB at first {sizes[0]}, at last {sizes[-1]}")
