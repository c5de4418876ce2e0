"""How right the shown wait is on the real gateway: twelve rooms at once, each with a crowd of its own that polls as told for a quarter of an
hour. The twelve cases of tests/unit/sim_promises_test.cpp, with half the crowd and half the speed.

Judged are the waits that a page would show from two minutes after the line formed, or the service changed, until ten seconds before the
turn, one a visitor: the estimate falls at once and rises by thirds. Its error: the difference to what the wait became, in parts of that."""

import asyncio
import random
import resource
import statistics
import time

from gateway_pairs import Server
from room_gateway import APPLICATION

from harness.http1 import request
from harness.operator import CONSOLE
from harness.visitor import AsyncVisitor

SERVICES = {"constant": "capacity 100000; rate 1/s", "bursty": "capacity 100000; rate 60/m", "heavy-tailed": "capacity 100", "step-changed": "capacity 100"}
LEAVERS = (0, 20, 50)  # per cent who close the page when their patience is over
VISITORS, OVER = 1500, 1200  # who stay in line, and s: half of all come in the first minute
LASTS, STEP = 900, 400  # s in all, s until the capacity is halved
STAY, PATIENCE = 100, 400  # s: mean, most
SETTLED, TOO_NEAR = 120, 10  # s
GATEWAY = """
    upstream app { server unix:@APP@; keepalive 64; keepalive_requests 1000000000; }
    proxy_http_version 1.1; proxy_set_header Connection "";
    @ROOMS@
    server { listen @LISTEN@; keepalive_timeout 5m; @LOCATIONS@ }
""" + CONSOLE


class Room:
    def __init__(self, service, leavers, server):
        self.service, self.leavers, self.server = service, leavers / 100, server
        self.name = f"{service}-{leavers}"
        self.chance = random.Random(self.name)
        self.errors, self.admitted, self.left, self.begun = [], 0, 0, time.monotonic()

    async def crowd(self):
        half = round(VISITORS / (1 - 0.6 * self.leavers) / 2)
        tasks = [asyncio.create_task(self.visit(self.chance.uniform(0, 60))) for _ in range(half)]
        while (passed := time.monotonic() - self.begun) < LASTS - SETTLED:
            await asyncio.sleep(self.chance.expovariate(half / OVER))
            tasks.append(asyncio.create_task(self.visit(0)))
        await asyncio.sleep(LASTS - passed)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def step(self):
        await asyncio.sleep(STEP)
        await asyncio.to_thread(request, self.server.gateway.address_of(2), "PUT", f"/fairway/api/rooms/{self.name}", [("Content-Type", "application/json")],
                                b'{"capacity": 50}')

    async def visit(self, after):
        await asyncio.sleep(after)
        visitor = AsyncVisitor(self.server.gateway.address, room=self.name)
        try:
            shown = await self.wait(visitor)
            if shown is None:
                self.left += 1
                return
            self.admitted += 1
            self.judge(shown)
            stay = min(self.chance.paretovariate(1.5) * STAY / 3, 100 * STAY) if self.service == "heavy-tailed" else self.chance.expovariate(1 / STAY)
            while stay > 0:
                await asyncio.sleep(min(stay, 30))
                stay -= 30
                await visitor.page(f"/{self.name}/")
            await visitor.leave()
        finally:
            visitor.close()

    async def wait(self, visitor):
        """What was shown when, as (s, s); None: it left before its turn."""
        ends = time.monotonic() + (self.chance.uniform(0, PATIENCE) if self.chance.random() < self.leavers else LASTS)
        response = await visitor.page(f"/{self.name}/")
        shown, last = [], None
        while response.status != 200:
            answer = (await visitor.status()).json
            if answer["state"] == "admitted":
                response = await visitor.page(f"/{self.name}/")
                continue
            now, told = time.monotonic(), answer["eta"]
            if told is not None:
                last = told if last is None or told <= last else last + (told - last) / 3
                shown.append((now, last))
            pause = float(answer["retry_after"]) * self.chance.uniform(0.9, 1.1)
            if now + pause > ends:
                return None
            await asyncio.sleep(pause)
        return shown

    def judge(self, shown):
        """One of the waits that somebody saw, whichever."""
        now, judged = time.monotonic(), []
        for at, told in shown:
            since = at - self.begun
            settled = since >= SETTLED and not (self.service == "step-changed" and STEP <= since < STEP + SETTLED)
            crosses = self.service == "step-changed" and since < STEP <= now - self.begun  # nobody could know
            if settled and not crosses and now - at > TOO_NEAR:
                judged.append(abs(told - (now - at)) / (now - at))
        if judged:
            self.errors.append(self.chance.choice(judged))


def run(pairs, seconds):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    names = [(service, leavers, f"{service}-{leavers}") for service in SERVICES for leavers in LEAVERS]
    rooms = " ".join(f"waiting_room {name} {{ {SERVICES[service]}; session_timeout 30m; entries_per_ip off; }}" for service, _, name in names)
    locations = " ".join(f"location /{name}/ {{ waiting_room {name}; proxy_pass http://app/; }}" for _, _, name in names)
    with Server(APPLICATION, core=None) as app, Server(GATEWAY, core=None, workers=2, rooms=rooms, locations=locations, app=app.prefix / "app.sock") as server:

        async def everybody():
            made = [Room(service, leavers, server) for service, leavers, _ in names]
            await asyncio.gather(*(room.crowd() for room in made), *(room.step() for room in made if room.service == "step-changed"))
            return made

        made = asyncio.run(everybody())
    lines = ["## The shown wait on the real gateway\n",
             f"Twelve rooms at once for {LASTS // 60} minutes, each let in about one a second; {VISITORS} visitors and as many more as leave, half of them in the first minute, the others over {OVER // 60}. Error: the difference between the "
             "wait as shown and as it became, in parts of that; from two minutes after the line formed, or the service changed.\n",
             "| service | leave without a word | median error | p90 | shown waits judged | let in | left | target |", "|---|---|---|---|---|---|---|---|"]
    for room in made:
        tenths = statistics.quantiles(room.errors, n=10)
        lines.append(f"| {room.service} | {room.leavers:.0%} | {statistics.median(room.errors):.1%} | {tenths[8]:.0%} | {len(room.errors)} | {room.admitted} | {room.left} | at most 20 % |")
    return [*lines, ""]
