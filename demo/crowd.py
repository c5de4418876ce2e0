#!/usr/bin/python3
"""A bounded crowd of simulated visitors for a gateway on this machine, with one line a second on how they fare.

They arrive over time, wait in line as they are told, look around, and buy, leave or walk away. With --hammer one of them opens many
connections to a slow page instead, while another clicks along and notes how long its pages take.
"""

import argparse
import asyncio
import random
import signal
import sys
import time

import visitor

EVENTS = ["tidal-strings", "paper-moons", "night-trains", "small-planets", "copper-and-clay", "the-long-encore"]
MOST_VISITORS = 5000
MOST_MINUTES = 60
MOST_CONNECTIONS = 1000


class Tally:
    """What the crowd is doing, as it sees it itself."""

    def __init__(self):
        self.start = time.monotonic()
        self.arrived = self.waiting = self.inside = self.entered = self.bought = self.left = self.walked = self.trouble = 0
        self.best_rank = None
        self.last_trouble = ""

    def failed(self, error):
        self.trouble += 1
        self.last_trouble = str(error)

    def line(self):
        seconds = int(time.monotonic() - self.start)
        text = f"{seconds:4d} s  arrived {self.arrived}  waiting {self.waiting}  inside {self.inside}  entered {self.entered}  "
        text += f"bought {self.bought}  left {self.left}  walked away {self.walked}"
        return text + (f"  trouble {self.trouble} ({self.last_trouble})" if self.trouble else "")


class WalkedAway(Exception):
    pass


async def get_in(browser, path, tally, patience):
    """Opens a page and waits in line for it, as the waiting page does. Returns the page's answer."""
    deadline = time.monotonic() + patience
    tally.waiting += 1
    try:
        while True:
            answer = await browser.open(path)
            if answer.status not in (429, 503):
                return answer
            while answer.json().get("state") not in ("admitted", "unknown"):
                pause = answer.retry_after()
                if time.monotonic() + pause > deadline:
                    raise WalkedAway
                await asyncio.sleep(pause)
                if not browser.room() or answer.status == 503:
                    break
                answer = await browser.status()
    finally:
        tally.waiting -= 1


async def think(pace):
    await asyncio.sleep(random.uniform(0.5, 1.5) * pace)


async def shop(browser, tally, options):
    """What a visitor does inside, from the home page on."""
    event = random.choice(EVENTS)
    for path in random.sample(["/", f"/events/{random.choice(EVENTS)}", "/"], k=random.randint(1, 3)) + [f"/events/{event}"]:
        await think(options.pace)
        await get_in(browser, path, tally, patience=120)
    if random.random() > options.buyers:
        if random.random() < 0.9:
            await browser.leave()
        tally.left += 1
        return
    for path, form in [("/cart", {"event": event, "count": random.randint(1, 4)}), ("/checkout", {"name": browser.name}), ("/checkout/pay", {})]:
        await think(options.pace)
        await browser.open(path, "POST", form)  # the last one ends on the thank-you page, which gives the place back
    tally.bought += 1


async def visit(number, tally, options):
    browser = visitor.Browser(options.site, f"crowd visitor {number}")
    tally.arrived += 1
    patience = random.uniform(5, 60) if random.random() < options.impatient else 3600
    try:
        await get_in(browser, "/", tally, patience)
        tally.entered += 1
        tally.inside += 1
        try:
            await shop(browser, tally, options)
        finally:
            tally.inside -= 1
    except WalkedAway:
        tally.walked += 1
    except (visitor.Trouble, TimeoutError) as error:
        tally.failed(error or "no answer in time")
    except asyncio.CancelledError:
        await say_goodbye(browser)
        raise


async def say_goodbye(browser):
    """At the end nobody is left standing in the line."""
    try:
        async with asyncio.timeout(2):
            await browser.leave()
    except (visitor.Trouble, TimeoutError):
        pass


async def arrivals(tally, options):
    """All visitors arrive within the first half of the time, at random moments."""
    seconds = options.minutes * 60 / 2 if options.over is None else options.over
    moments = sorted(random.uniform(0, seconds) for _ in range(options.visitors))
    async with asyncio.TaskGroup() as group:
        for number, moment in enumerate(moments, 1):
            await asyncio.sleep(max(0, tally.start + moment - time.monotonic()))
            group.create_task(visit(number, tally, options))


async def report(line):
    while True:
        await asyncio.sleep(1)
        print(line(), flush=True)


class Hammering:
    def __init__(self):
        self.start = time.monotonic()
        self.done = self.refused = self.failed = 0
        self.light = []  # s, of the pages since the last line
        self.all_light = []
        self.light_failed = 0

    def line(self):
        pages, self.light = sorted(self.light), []
        self.all_light += pages
        text = f"{int(time.monotonic() - self.start):4d} s  slow pages: {self.done} done, {self.refused} refused, {self.failed} failed"
        if pages:
            text += f"  |  the other visitor: {len(pages)} pages, {1000 * pages[len(pages) // 2]:.0f} ms each, slowest {1000 * pages[-1]:.0f} ms"
        else:
            text += "  |  the other visitor: still waiting for a page"
        return text + (f", {self.light_failed} failed" if self.light_failed else "")


async def hammer_once(browser, path, tally):
    try:
        answer = await browser.request("GET", path)
    except (visitor.Trouble, TimeoutError):
        tally.failed += 1
        await asyncio.sleep(1)
        return
    if answer.status == 200:
        tally.done += 1
    elif answer.status == 503:
        tally.refused += 1
        await asyncio.sleep(answer.retry_after())
    else:
        tally.failed += 1
        await asyncio.sleep(1)


async def hammer_for_ever(browser, path, tally):
    while True:
        await hammer_once(browser, path, tally)


async def click_along(browser, tally):
    while True:
        start = time.monotonic()
        try:
            answer = await browser.request("GET", "/")
        except (visitor.Trouble, TimeoutError):
            answer = None
        if answer and answer.status == 200:
            tally.light.append(time.monotonic() - start)
        else:
            tally.light_failed += 1
        await asyncio.sleep(0.2)


async def hammer(options):
    line = Tally()
    greedy, other = (visitor.Browser(options.site, name) for name in ("crowd hammer", "crowd light visitor"))
    await asyncio.gather(get_in(greedy, "/", line, 120), get_in(other, "/", line, 120))
    tally = Hammering()
    options.line = tally.line
    tasks = [hammer_for_ever(greedy, options.path, tally) for _ in range(options.connections)]
    try:
        await asyncio.gather(click_along(other, tally), report(tally.line), *tasks)
    finally:
        await asyncio.gather(say_goodbye(greedy), say_goodbye(other))


async def crowd(options):
    tally = Tally()
    options.line = tally.line
    reporter = asyncio.create_task(report(tally.line))
    try:
        await arrivals(tally, options)
    finally:
        reporter.cancel()
    if tally.trouble and not tally.entered:
        raise visitor.Trouble(tally.last_trouble)


async def bounded(options):
    """The chosen game until it is over, the time is up or somebody presses Ctrl-C. Returns what went wrong, or None."""
    game = asyncio.create_task(hammer(options) if options.hammer else crowd(options))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, game.cancel)
    try:
        await asyncio.wait_for(game, options.minutes * 60)
    except TimeoutError:
        print("the time is up", flush=True)
    except asyncio.CancelledError:
        print("stopped", flush=True)
    except WalkedAway:
        return "crowd: the line is too long to hammer anything, try again later"
    except visitor.Trouble as error:
        return f"crowd: {error} (is `make run` running?)"
    print(options.line(), flush=True)
    return None


def within(kind, least, most):
    def check(text):
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"give a number from {least} to {most}")
        return value

    return check


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://localhost:8080", help="a gateway on this machine [http://localhost:8080]")
    parser.add_argument("--visitors", type=within(int, 1, MOST_VISITORS), default=100, help="how many come [100]")
    parser.add_argument("--minutes", type=within(float, 0.01, MOST_MINUTES), default=3.0, help="when it is over at the latest [3]")
    parser.add_argument("--over", type=within(float, 0, 3600), help="seconds over which they arrive [half of the time]")
    parser.add_argument("--pace", type=within(float, 0.0, 60), default=1.5, help="seconds between two clicks [1.5]")
    parser.add_argument("--buyers", type=within(float, 0, 1), default=0.7, help="share of those inside that buy, the others leave [0.7]")
    parser.add_argument("--impatient", type=within(float, 0, 1), default=0.1, help="share that walks away from a long line [0.1]")
    parser.add_argument("--seed", type=int, help="repeat the same crowd")
    parser.add_argument("--hammer", action="store_true", help="one client with many connections to a slow page, instead of a crowd")
    parser.add_argument("--connections", type=within(int, 1, MOST_CONNECTIONS), default=50, help="of the hammer [50]")
    parser.add_argument("--path", default="/export", help="what it asks for [/export]")
    options = parser.parse_args()
    random.seed(options.seed)
    try:
        options.site = visitor.Site(options.url)
    except visitor.NotLoopback as error:
        parser.error(str(error))
    options.line = lambda: ""
    sys.exit(asyncio.run(bounded(options)))


if __name__ == "__main__":
    main()
