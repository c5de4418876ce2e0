"""`fairway simulate`: how fast it is, and what it says of the promises: shown waits within 20 %, fewer than 2 % of turns to the absent."""

import json
import random
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import plot

COMMAND = Path(__file__).resolve().parent.parent / "build/fairway"
SERVICES = {"constant": ["--capacity=100000", "--rate=2/s"], "bursty": ["--capacity=100000", "--rate=120/m"],
            "heavy-tailed": ["--capacity=200"], "step-changed": ["--capacity=200", "--at=500s capacity=100"]}
LEAVERS = (0, 20, 50)
CROWDS = {"1,000,000 visitors in 24 h, no line": ["--visitors=1000000", "--over=24h", "--capacity=100000", "--stay=60s"],
          "10,000,000 visitors in 24 h, no line": ["--visitors=10000000", "--over=24h", "--capacity=1000000", "--stay=60s"],
          "200,000 at once, a line of 190,000": ["--visitors=200000", "--over=60s", "--capacity=10000", "--stay=60s", "--sign-out=100%", "--max-waiting=1000000"]}
LOG_LINES = 1_000_000


def told(*arguments):
    """(what it says, s)"""
    begun = time.monotonic()
    said = subprocess.run([COMMAND, "simulate", *arguments, "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(said.stdout), time.monotonic() - begun


def promises():
    lines = ["3,000 and more visitors, half of them at once, at a room that lets in two a second: three crowds each, the worst of them.\n",
             "| service | leave without a word | median error of the shown wait | turns to the absent |", "|---|---|---|---|", "| target | | at most 20 % | under 2 % |"]
    errors = {}
    for service, settings in SERVICES.items():
        for leavers in LEAVERS:
            visitors = round(3000 / (1 - 0.006 * leavers))
            shape = "heavy" if service == "heavy-tailed" else "exponential"
            reports = [told("room", *settings, f"--stay={shape},100s", "--sign-out=100%", "--arrivals=burst", "--over=20m", f"--visitors={visitors}",
                            f"--leave-silently={leavers}%", "--patience=uniform,400s", f"--seed={seed}")[0] for seed in (1, 2, 3)]
            error = max(report["estimates"]["p50_error"] for report in reports)
            wasted = max(report["grants"]["wasted_share"] for report in reports)
            errors.setdefault(service, {})[f"{leavers} % leave"] = 100 * error
            lines.append(f"| {service} | {leavers} % | {100 * error:.1f} % | {100 * wasted:.2f} % |")
    return [*lines, "", plot.bars("estimates", "Median error of the shown wait, simulated", errors, "%", log=False)]


def crowds():
    lines = ["### How fast\n", "| | s | visitors a second |", "|---|---|---|"]
    for name, arguments in CROWDS.items():
        report, took = told("room", *arguments)
        lines.append(f"| {name} | {took:.1f} | {report['visitors'] / took:,.0f} |")
    return [*lines, ""]


def replay():
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="fairway-bench-") as folder:
        log = Path(folder) / "access.log"
        with log.open("w") as file:
            for i in range(LOG_LINES):
                took = chance.expovariate(20)
                file.write(f'192.0.{chance.randrange(256)}.{chance.randrange(1, 255)} - - [21/Sep/2026:{i // 36000 % 24:02}:{i // 600 % 60:02}:{i // 10 % 60:02} +0000] '
                           f'"GET /shop HTTP/1.1" 200 1234 "-" "Mozilla/5.0 ({i % 50})" {took:.3f}\n')
        size = log.stat().st_size
        _, took = told("queue", "--concurrency=8", f"--access-log={log}")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return [f"An access log of {LOG_LINES:,} lines, {size / 1e6:.0f} MB, replayed twice (fifo and fair): {took:.1f} s, {LOG_LINES / took:,.0f} lines a second. "
            f"Most memory of all these runs: {most / 1024:.0f} MB.\n"]


def run(pairs, seconds):
    return ["## Simulated crowds\n", *promises(), *crowds(), *replay()]
