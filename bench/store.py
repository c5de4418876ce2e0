"""What a room costs a Valkey or Redis server: CPU per poll, alone and in batches, and memory per waiter."""

import subprocess
from pathlib import Path

BINARY = Path(__file__).resolve().parent.parent / "build/bench/bench/store_bench"
SIZES = ((100_000, 7), (1_000_000, 3))  # waiting, and pairs


def measure(waiting, pairs):
    said = subprocess.run([BINARY, str(waiting), "20000", str(pairs)], capture_output=True, text=True, check=True, timeout=1800).stdout
    return {words[0]: [float(word) for word in words[1:]] for words in map(str.split, said.splitlines())}


def run(_pairs, _seconds):
    lines = ["## The shared store: what a room costs its server\n",
             "CPU of the server's process per poll, with network and parsing. Alone: one call a poll, one at a time. Target: in batches at most a fifth of that. "
             "Under load: the client with so many polls under way, as in a gateway.\n"]
    for waiting, pairs in SIZES:
        figures = measure(waiting, pairs)
        lines += [f"{waiting:,} waiting: {figures['bytes_per_waiter'][0]:.0f} bytes of the server's memory per waiter.\n",
                  "| polls to a call | server CPU per poll, µs | ÷ alone | polls per second |", "|---|---|---|---|",
                  f"| 1 | {figures['alone'][0]:.1f} | 1 | |"]
        alone = figures["alone"][0]
        for name, values in figures.items():
            if name.startswith("batch_"):
                lines.append(f"| {name[6:]} | {values[0]:.1f} | {values[1]:.2f} | |")
            elif name.startswith("load_"):
                lines.append(f"| {values[0]:.0f} (under load, {name[5:]} under way) | {values[1]:.1f} | {values[1] / alone:.2f} | {values[2]:.0f} |")
        lines.append(f"\nMedians of {pairs} pairs.\n")
    return lines
