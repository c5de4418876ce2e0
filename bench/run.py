"""Runs the benchmarks and writes bench/RESULTS.md. `bench/run.py [SECTION...]` runs some; the others keep their last text.

Options by environment: PAIRS (31) paired runs of each figure, SECONDS (1) each: many short ones tell more than a few long ones on a
machine whose speed changes."""

import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import api_load
import estimates
import micro
import queue_side_by_side
import room_gateway
import simulations
import store
import store_gateway

HERE = Path(__file__).resolve().parent
HEAD = """# Figures

Made by `make bench` (one section: `scripts/bench NAME`). Absolute figures are those of one machine and one hour; the ratios are of runs that took turns.

Machine: %s.
"""
# Named in the order of RESULTS.md.
SECTIONS = {"room-gateway": room_gateway.run, "queue": queue_side_by_side.run, "queue-overhead": queue_side_by_side.overhead, "store": store.run,
            "store-gateway": store_gateway.run, "api-load": api_load.run, "simulate": simulations.run, "estimates": estimates.run, "micro": micro.run}
ONLY_WHEN_NAMED = {"estimates"}  # a quarter of an hour in which nearly nothing happens


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    versions = []
    for command in (["/usr/sbin/nginx", "-v"], ["haproxy", "-v"], ["redis-server", "--version"], ["c++", "--version"]):
        told = subprocess.run(command, capture_output=True, text=True)
        versions.append(re.split(" sha=| - ", (told.stdout + told.stderr).splitlines()[0])[0].strip())
    return f"{os.cpu_count()} cores of {model}; {platform.system()} {platform.release()}; {'; '.join(versions)}"


def command_line(name):
    return f"`scripts/bench {name}`\n"


def kept_sections(text):
    """Those of a former RESULTS.md, by name: each ends with the line of its command."""
    _, _, rest = text.partition("\n## ")
    sections, begun = {}, "## " + rest
    for name in SECTIONS:
        before, found, after = begun.partition(command_line(name))
        if found:
            sections[name], begun = before.strip() + "\n", after
    return sections


def main(names):
    pairs, seconds = int(os.environ.get("PAIRS", 31)), int(os.environ.get("SECONDS", 1))
    results = HERE / "RESULTS.md"
    sections = kept_sections(results.read_text() if results.exists() else "")
    for name in names or [name for name in SECTIONS if name not in ONLY_WHEN_NAMED]:
        print(f"== {name}", flush=True)
        begun = time.monotonic()
        sections[name] = "\n".join(SECTIONS[name](pairs, seconds))
        print(f"{name} took {time.monotonic() - begun:.0f} s", flush=True)
        results.write_text("\n".join([HEAD % machine(), *(f"{sections[name]}\n{command_line(name)}" for name in SECTIONS if name in sections)]))


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(SECTIONS):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    main(sys.argv[1:])
