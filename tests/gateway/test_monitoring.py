"""Metrics, alerting rules and dashboard, as Prometheus's own tool sees them."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness import http1
from harness.limits import wait_until
from harness.limits import scaled
from harness.metrics import Samples
from harness.visitor import Visitor

ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "docs/alerts.yml"
DASHBOARD = json.loads((ROOT / "docs/grafana-dashboard.json").read_text())
SITE = """
    waiting_room sale { capacity 1; }
    fair_queue app { concurrency 2; }
    server { listen @LISTEN@; location / { waiting_room sale; fair_queue app; proxy_pass http://@ORIGIN@; } }
    server { listen @LISTEN2@; location = /metrics { fairway_metrics; } }
"""
# What the contract names.
METRICS = {
    "fairway_room_inside": "gauge", "fairway_room_reserved": "gauge", "fairway_room_waiting": "gauge", "fairway_room_admitted_total": "counter", "fairway_room_abandoned_total": "counter",
    "fairway_room_answers_total": "counter", "fairway_room_wait_seconds": "histogram", "fairway_queue_running": "gauge", "fairway_queue_waiting": "gauge",
    "fairway_queue_requests_total": "counter", "fairway_queue_wait_seconds": "histogram", "fairway_queue_cost_seconds": "histogram",
    "fairway_store_calls_total": "counter", "fairway_store_call_seconds": "histogram", "fairway_store_breaker_open": "gauge",
    "fairway_token_rejected_total": "counter",
}
OF_A_SHARED_STORE = {"fairway_store_call_seconds_bucket", "fairway_store_breaker_open"}


def promtool(*arguments, told="", folder=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=told, cwd=folder, capture_output=True, text=True, timeout=scaled(60))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(params=["memory", "shared"])
def metrics(gateway, origin, store, request):
    """The metrics of a gateway with one session inside and two in line; with a shared store there are some more."""
    running = gateway((f"fairway_store {store.url};" if request.param == "shared" else "") + SITE, origin=origin)
    for _ in range(3):
        Visitor(running.address).page("/")
    answer = http1.request(running.address_of(2), "GET", "/metrics")
    assert answer.status == 200
    return answer.text


def panels():
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries():
    """Every query of the dashboard with something in place of Grafana's variables."""
    found = [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]
    return [(title, re.sub(r"\$__rate_interval", "1m", re.sub(r"\$(instance|room|queue)\b", ".*", text))) for title, text in found]


def names(text):
    return set(re.findall(r"\bfairway_\w+", text))


def of_a_shared_store(metrics):
    return "fairway_store_breaker_open" in metrics


def test_every_metric_is_there_with_its_type_and_help(metrics):
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.M))
    helps = dict(re.findall(r"^# HELP (\S+) (.+\.)$", metrics, re.M))
    missing = {} if of_a_shared_store(metrics) else {"fairway_store_call_seconds", "fairway_store_breaker_open"}  # nothing to wait for, nothing to break
    assert {name: kind for name, kind in METRICS.items() if name not in missing}.items() <= types.items()
    assert set(types) == set(helps)


def test_a_gateways_metrics_are_as_prometheus_wants_them(metrics):
    assert Samples(metrics).get("fairway_room_waiting", room="sale") == 2
    assert promtool("check", "metrics", told=metrics) == ""


@pytest.mark.parametrize("shared", [False, True])
def test_waits_from_number_to_admission(gateway, origin, store, shared):
    text = SITE.replace("capacity 1;", "capacity 1; polls_per_session 1000/s; poll_interval 100ms 100ms;")
    running = gateway((f"fairway_store {store.url};" if shared else "") + text, origin=origin, workers=2)

    def told():
        samples = Samples(http1.request(running.address_of(2), "GET", "/metrics").text)
        return {part: samples.get(f"fairway_room_wait_seconds_{part}", room="sale", **labels)
                for part, labels in (("count", {}), ("sum", {}), ("bucket", {"le": "1"}))}

    first, second = Visitor(running.address), Visitor(running.address)
    assert first.page("/").status == 200 and second.page("/").status == 429
    for _ in range(3):
        assert first.page("/").status == 200
    assert told() == {"count": 1, "sum": 0, "bucket": 1}
    time.sleep(1.1)  # what it is to have waited
    assert first.leave().status == 204
    wait_until(lambda: second.status().json["state"] == "admitted")
    for _ in range(3):
        second.status()
    shown = told()
    assert (shown["count"], shown["bucket"]) == (2, 1) and shown["sum"] >= 1.1


def test_the_rules_are_rules(metrics):
    assert "11 rules found" in promtool("check", "rules", ALERTS)
    exposed = names(metrics)
    assert names(re.sub("job=\"fairway\"|fairway_metrics", "", ALERTS.read_text())) - (set() if of_a_shared_store(metrics) else OF_A_SHARED_STORE) <= exposed


def test_alerts_come_when_they_should(tmp_path):
    shutil.copy(ALERTS, tmp_path / "alerts.yml")
    shutil.copy(Path(__file__).parent / "alerts_test.yml", tmp_path)
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml", folder=tmp_path)
    every = set(re.findall(r"- alert: (\w+)", ALERTS.read_text()))
    assert len(every) == 11 and every == set(re.findall(r"alertname: (\w+)", (tmp_path / "alerts_test.yml").read_text()))


def test_the_dashboard_asks_for_what_there_is(metrics, tmp_path):
    rules = [{"record": f"panel:{number}", "expr": text} for number, (_, text) in enumerate(queries())]
    (tmp_path / "queries.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))  # JSON is YAML
    assert len(rules) > 20 and f"{len(rules)} rules found" in promtool("check", "rules", tmp_path / "queries.yml")
    asked = set().union(*(names(text) for _, text in queries())) | set().union(*(names(str(each.get("query"))) for each in DASHBOARD["templating"]["list"]))
    assert asked - (set() if of_a_shared_store(metrics) else OF_A_SHARED_STORE) <= names(metrics)


def test_the_dashboard_is_whole():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids) and all(panel["datasource"]["uid"] == "${datasource}" for panel in panels())
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells
    variables = {each["name"] for each in DASHBOARD["templating"]["list"]} | {"__rate_interval", "__all"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD))) == variables
