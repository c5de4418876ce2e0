"""The core alone, by Google Benchmark: tokens, the room in memory, the fair queue."""

import json
import subprocess
from pathlib import Path

BINARY = Path(__file__).resolve().parent.parent / "build/bench/bench/micro_bench"
REPETITIONS = 5
TARGETS = {
    "poll/100000": "500", "poll/1000000": "2,000",
    "TakeAndReleaseOfAnyClient": "300", "TakeAndReleaseOfOneClient": "300", "EnqueueAndDispatch/256": "5,000",
}


def run(_pairs, _seconds):
    said = subprocess.run(["taskset", "-c", "0", BINARY, f"--benchmark_repetitions={REPETITIONS}", "--benchmark_report_aggregates_only=true",
                           "--benchmark_format=json", "--benchmark_min_time=0.2"], capture_output=True, text=True, check=True, timeout=1200).stdout
    rows = {}
    for result in json.loads(said)["benchmarks"]:
        rows.setdefault(result["run_name"], {})[result["aggregate_name"]] = result
    lines = ["## The core alone\n", f"One core, {REPETITIONS} repetitions; a waiter may take 160 bytes at most.\n", "| | ns, median | at most | spread (cv) | counters |", "|---|---|---|---|---|"]
    known = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "aggregate_name", "aggregate_unit", "iterations", "real_time", "cpu_time", "time_unit",
             "family_index", "per_family_instance_index"}
    for name, kinds in rows.items():
        median, cv = kinds["median"], kinds.get("cv", {})
        scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[median["time_unit"]]
        counters = ", ".join(f"{key} {value:.4g}" for key, value in median.items() if key not in known and isinstance(value, (int, float)))
        lines.append(f"| {name} | {median['cpu_time'] * scale:.1f} | {TARGETS.get(name, '')} | {100 * cv.get('cpu_time', 0):.1f} % | {counters} |")
    return ["\n".join(lines) + "\n"]
