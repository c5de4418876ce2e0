"""Fails when a request costs more instructions than bench/instructions.json allows; `--accept` writes what it costs now.

Callgrind's counts do not depend on how busy the machine is; what is left of spread (how often nginx asks for events) is taken out by
the least of RUNS runs. What passes through to the application is counted above nginx alone, what Fairway answers itself in full."""

import json
import sys
from pathlib import Path

import instructions

ALLOWED = Path(__file__).resolve().parent / "instructions.json"
RUNS = 4
TOLERANCE = 0.1
ABOVE_NGINX = ("young pass", "fair queue that never fills")
IN_FULL = ("poll", "flood")


def costs():
    runs = [instructions.measure() for _ in range(RUNS)]
    least = {name: min(run[name] for run in runs) for name in runs[0]}
    return {name: least[name] - least["nginx alone"] for name in ABOVE_NGINX} | {name: least[name] for name in IN_FULL}


def main(accept):
    counted = costs()
    if accept:
        ALLOWED.write_text(json.dumps(counted, indent=2) + "\n")
        return 0
    allowed = json.loads(ALLOWED.read_text())
    over = {name: count / allowed[name] - 1 for name, count in counted.items()}
    for name, count in counted.items():
        print(f"{name:30} {count:8} instructions, {over[name]:+.1%}{'  too many' if over[name] > TOLERANCE else ''}")
    return int(max(over.values()) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--accept"]))
