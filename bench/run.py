"""Runs the benchmarks and writes bench/RESULTS.md. `bench/run.py [SECTION...]` runs some; the others keep their last text.

Options by environment: PAIRS (31) paired runs of each figure, SECONDS (1) each: many short ones tell more than a few long ones on a
machine whose speed changes."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import api_load
import micro
import queue_side_by_side
import room_gateway
import store
import store_gateway

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
SECTIONS = {"room-gateway": room_gateway.run, "queue": queue_side_by_side.run, "queue-overhead": queue_side_by_side.overhead, "store": store.run, "store-gateway": store_gateway.run, "api-load": api_load.run, "micro": micro.run}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    versions = [subprocess.run(command, capture_output=True, text=True).stdout + subprocess.run(command, capture_output=True, text=True).stderr
                for command in (["/usr/sbin/nginx", "-v"], ["c++", "--version"])]
    return f"{os.cpu_count()} cores of {model}; {platform.system()} {platform.release()}; {versions[0].strip()}; {versions[1].splitlines()[0]}"


def main(names):
    pairs, seconds = int(os.environ.get("PAIRS", 31)), int(os.environ.get("SECONDS", 1))
    kept = BUILD / "bench-sections"
    kept.mkdir(parents=True, exist_ok=True)
    for name in names or SECTIONS:
        print(f"== {name}", flush=True)
        (kept / f"{name}.md").write_text("\n".join(SECTIONS[name](pairs, seconds)))
    text = ["# Figures\n", "Made by `make bench` (one section: `scripts/bench NAME`). Absolute figures are those of one machine and one hour; the ratios are of runs that took turns.\n",
            f"Machine: {machine()}.\n"]
    for name in SECTIONS:
        if (kept / f"{name}.md").exists():
            text.append((kept / f"{name}.md").read_text())
            text.append(f"`scripts/bench {name}`\n")
    (HERE / "RESULTS.md").write_text("\n".join(text))


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(SECTIONS):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    main(sys.argv[1:])
