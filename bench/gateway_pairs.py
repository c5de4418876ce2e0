"""Paired load runs against nginx on loopback: servers pinned to a core, wrk on the other, ratios pair by pair."""

import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/gateway"))

from harness.nginx import Gateway  # noqa: E402
from harness.visitor import Visitor  # noqa: E402

LOAD_CORE = "1"


class Server:
    """nginx with one worker on `core`; a context."""

    def __init__(self, http, core, keys=None, modules=(), workers=1, **values):
        mask = "01" if core == 0 else "10"
        affinity = f"worker_cpu_affinity {' '.join([mask] * workers) if core is not None else 'auto'};"
        self.gateway = Gateway(http, main=affinity, modules=modules, workers=workers, log_level="error", **values)
        if keys is not None:
            self.gateway.state.mkdir(exist_ok=True)
            (self.gateway.state / "keys").write_text(keys)
            (self.gateway.state / "keys").chmod(0o600)

    def __enter__(self):
        self.gateway.start()
        return self

    def __exit__(self, *_):
        if problems := self.gateway.close():
            raise SystemExit("\n".join(problems))

    @property
    def prefix(self):
        return self.gateway.prefix

    def url(self, index=1):
        return "http://%s:%d" % self.gateway.address_of(index)

    def come_in(self, index, room="sale"):
        """Cookies of a visitor who is inside."""
        visitor = Visitor(self.gateway.address_of(index), room=room)
        assert visitor.page("/shop").status == 200, visitor.last
        return {name: cookie.value for name, cookie in visitor.jar.items()}


def rate_of(url, headers, seconds, status, connections=16):
    """Requests per second by wrk; an error when a response has another class of status."""
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s"]
    for name, value in headers:
        command += ["-H", f"{name}: {value}"]
    said = subprocess.run([*command, url], capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
    if status < 400 and "Non-2xx" in said or "Socket errors" in said:
        raise SystemExit(f"unexpected answers from {url}:\n{said}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


def alternate(pairs, runs):
    """{name: [figure of each turn]}, after one turn that does not count. Every second turn goes the other way round, so that a machine
    that slows down or speeds up favours nobody."""
    figures = {name: [] for name in runs}
    for turn in range(pairs + 1):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            figure = runs[name]()
            if turn:
                figures[name].append(figure)
    return figures


def ratios(figures, name, base):
    return [a / b for a, b in zip(figures[name], figures[base])]


def spread(values, form):
    return f"{form % statistics.median(values)} ({form % min(values)} to {form % max(values)})"


def table(figures, base, targets, unit="requests/s"):
    """Markdown: the figures, and ratios to `base` pair by pair; medians with the extremes."""
    lines = [f"| | {unit}, median (extremes) | ÷ {base}, median (extremes) | target |", "|---|---|---|---|"]
    for name in figures:
        ratio = "" if name == base else spread(ratios(figures, name, base), "%.3f")
        lines.append(f"| {name} | {spread(figures[name], '%.0f')} | {ratio} | {targets.get(name, '')} |")
    return "\n".join(lines) + f"\n\n{len(figures[base])} pairs.\n"
