"""`fairway simulate …`: no gateway takes part, so this is the command alone."""

import json
import re
import shlex
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.cli import Terminal
from harness.command import fairway

ROOM = ["simulate", "room", "--capacity", "50", "--visitors", "2000", "--over", "20m", "--stay", "fixed,60s", "--sign-out", "100%"]
QUEUE = ["simulate", "queue", "--concurrency", "2"]


def told(*arguments):
    done = fairway(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def refused(*arguments, status=2):
    done = fairway(*arguments)
    assert done.returncode == status and done.stdout == "" and done.stderr.startswith("fairway: ") and done.stderr.count("\n") == 1, done
    return done.stderr


def stamp(seconds):
    return time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(1_790_000_000 + seconds))


def combined(end, took, address="192.0.2.1", agent="curl/8"):
    return f'{address} - - [{stamp(end)}] "GET /a HTTP/1.1" 200 512 "-" "{agent}" {took}\n'


def test_room_in_words_and_in_json():
    text = told(*ROOM)
    assert re.search(r"^visitors +2000 in 20m, poisson", text) and "p50" in text and "█" in text
    found = json.loads(told(*ROOM, "--json"))
    assert found["outcomes"]["stayed"] == 2000 == found["visitors"] and found["inside"]["most"] == 50
    # 50 places of a minute each are 0.83 a second, 1.67 come: the last one waits for about half of the time
    assert 1100 < found["waits"]["longest"] < 1500
    assert found["settings"]["capacity"] == 50 and found["settings"]["session_timeout"] == "10m"
    assert len(found["line"]["values"]) * found["line"]["seconds"] >= found["seconds"] - found["line"]["seconds"]


def test_the_same_seed_is_the_same_run():
    assert told(*ROOM, "--seed", "7") == told(*ROOM, "--seed", "7") != told(*ROOM, "--seed", "8")


def test_settings_are_written_as_in_nginx_conf():
    options = ["--poll-interval", "2s,20s", "--rate", "30/m", "--session-max", "1h", "--max-waiting", "100", "--refresh", "5s", "--entries-per-ip", "off"]
    settings = json.loads(told(*ROOM, *options, "--json"))["settings"]
    assert [settings[key] for key in ("poll_interval", "rate", "session_max", "max_waiting", "refresh")] == ["2s 20s", "30/m", "1h", 100, "5s"]
    assert json.loads(told(*ROOM, "--poll-interval", "2s 20s", "--json"))["settings"]["poll_interval"] == "2s 20s"


def test_settings_that_change_on_the_way():
    held = json.loads(told(*ROOM, "--at", "0s mode=hold", "--at", "30m mode=normal capacity=5000", "--json"))
    assert held["line"]["most"] == 2000 == held["inside"]["most"] and held["direct"] == 0 and held["plan"]["changes"] == 2


def test_leavers_bots_and_hidden_tabs():
    found = json.loads(told(*ROOM, "--leave-silently", "30%", "--leave-politely", "0.2", "--patience", "uniform,5m", "--hidden", "10%", "--bots", "2", "--json"))
    outcomes = found["outcomes"]
    assert outcomes["left_silently"] > 100 and outcomes["left_politely"] > 50 and sum(outcomes.values()) == 2000
    assert found["bots"]["let_in"] > 0 and found["bots"]["polls_refused"] > 1000 and found["grants"]["called"] > 500


@pytest.mark.parametrize("option, value, word", [
    ("--capacity", "many", "whole number"), ("--rate", "5", "N/s"), ("--visitors", "10000001", "10000000"), ("--over", "0", "time above 0"), ("--arrivals", "often", "burst"),
    ("--stay", "long,5m", "heavy"), ("--sign-out", "120%", "share"), ("--poll-interval", "30s,3s", "MAX"), ("--at", "10m", "what changes"), ("--at", "10m page=x", "none of the settings"),
    ("--at", "10m mode=shut", "hold"), ("--report", "x.pdf", ".html"), ("--refresh", "6m", "session_timeout"), ("--bot-polls", "5/m", "N/s")])
def test_values_that_cannot_be_meant(option, value, word):
    said = refused("simulate", "room", *([] if option == "--capacity" else ["--capacity", "5"]), option, value)
    assert option in said and word in said


def test_what_is_missing():
    assert "--capacity" in refused("simulate", "room")
    assert "--access-log" in refused("simulate", "queue", "--concurrency", "4")
    assert "--concurrency" in refused("simulate", "queue", "--access-log", "-")
    assert "100%" in refused(*ROOM, "--leave-silently", "60%", "--leave-politely", "60%")
    assert "light_lane" in refused(*QUEUE, "--access-log", "-", "--light-lane", "9")


@pytest.fixture
def log(tmp_path):
    """A client with requests of 2 s, eight at once, and another one with short ones now and then."""
    lines = [(i * 2 + 2, 2.0, f"203.0.113.{k}", "heavy") for i in range(60) for k in range(8)] + [(i * 3 + 1, 0.05, "198.51.100.7", "light") for i in range(40)]
    path = tmp_path / "access.log"
    path.write_text("".join(combined(end, f"{took:.3f}", address, agent) for end, took, address, agent in sorted(lines, key=lambda line: line[0])))
    return path


def test_queue_in_words_and_in_json(log):
    text = told(*QUEUE, "--access-log", log)
    assert "520 requests" in text and re.search(r"^light clients +fifo", text, re.MULTILINE) and "203.0.113.0/24" in text
    found = json.loads(told(*QUEUE, "--access-log", log, "--json"))
    assert found["lines"] == found["requests"] == 520 and found["unreadable"] == 0 and found["networks"][0]["network"] == "203.0.113.0/24"
    for order in ("fifo", "fair"):
        assert found[order]["waits"]["count"] + found[order]["full"] + found[order]["evicted"] + found[order]["timeout"] == 520
        assert found[order]["most_running"] == 2
    assert found["fair"]["light"]["p90"] < 3 < found["fifo"]["light"]["p90"] and found["fair"]["light"]["refused"] == 0 < found["fifo"]["light"]["refused"]


def test_exact_waits_of_a_small_log(tmp_path):
    # both at one slot: the second arrives 1 s after the first, which takes 4 s
    path = tmp_path / "small.log"
    path.write_text(combined(4, "4.000") + combined(6, "1.000", "198.51.100.1"))
    found = json.loads(told("simulate", "queue", "--concurrency", "1", "--access-log", path, "--json"))
    for order in ("fifo", "fair"):
        assert 0 <= found[order]["waits"]["longest"] <= 0.001, found[order]
    path.write_text(combined(4, "4.000") + combined(5, "4.000", "198.51.100.1"))
    found = json.loads(told("simulate", "queue", "--concurrency", "1", "--access-log", path, "--json"))
    assert found["fifo"]["waits"]["longest"] == found["fair"]["waits"]["longest"] == 3.0


def test_our_json_and_standard_input(tmp_path):
    line = {"time": "2026-09-21T14:13:20+02:00", "remote_addr": "2001:db8::1", "status": 200, "request_time": 0.5, "upstream_time": "0.200, 0.100", "user_agent": "x",
            "fair_queue_inner": "00112233445566ff"}
    others = [{**line, "upstream_time": ""}, {**line, "upstream_time": "-"}, {**line, "status": 101}, {**line, "time": "soon"}]
    text = "".join(json.dumps(each) + "\n" for each in [line, *others])
    (tmp_path / "json.log").write_text(text)
    found = json.loads(told(*QUEUE, "--access-log", tmp_path / "json.log", "--json"))
    assert (found["requests"], found["without_upstream"], found["unreadable"], found["first_unreadable"]) == (1, 3, 1, [5])
    assert found["clients"][0]["session"] == "00112233445566ff" and found["networks"][0]["network"] == "2001:db8::/56" and found["clients"][0]["seconds"] == 0.3


def test_fields_of_other_types_and_years_out_of_range(tmp_path):
    line = {"time": "2026-09-21T14:13:20+02:00", "remote_addr": "192.0.2.1", "status": 200, "request_time": 0.5, "upstream_time": "0.200", "user_agent": "x"}
    read = [{**line, "status": "200"}, {**line, "status": None}, {**line, "user_agent": 7}]
    not_read = [{**line, "time": "1969-12-31T23:59:59Z"}, {**line, "time": "9999-01-01T00:00:00Z"}, {**line, "request_time": "x"}, {**line, "upstream_time": 3}]
    path = tmp_path / "types.log"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*read, *not_read]))
    found = json.loads(told(*QUEUE, "--access-log", path, "--json"))
    assert (found["requests"], found["without_upstream"], found["first_unreadable"]) == (3, 1, [4, 5, 6])


def test_lines_that_cannot_be_read_are_counted_and_named(tmp_path):
    good = combined(4, "0.120")
    lines = [good, "nonsense\n", good.rsplit(" ", 1)[0] + "\n", good.replace("0.120", "fast"), good.replace("[", "("), "\n", "x" * 200_000 + "\n", "{\"a\": 1}\n", good.replace("0.120", "-"), good]
    path = tmp_path / "bad.log"
    path.write_text("".join(lines))
    found = json.loads(told(*QUEUE, "--access-log", path, "--json"))
    assert (found["lines"], found["requests"], found["without_upstream"], found["unreadable"], found["first_unreadable"]) == (10, 2, 1, 7, [2, 3, 4, 5, 6])
    assert "7 lines (2, 3, 4, 5, 6, ...)" in told(*QUEUE, "--access-log", path)


def test_a_log_without_a_request(tmp_path):
    path = tmp_path / "none.log"
    assert "cannot read" in refused(*QUEUE, "--access-log", path, status=1)
    for text, word in (("", "holds no lines"), ("nonsense\n", "fairway_json"), (combined(1, "-"), "application")):
        path.write_text(text)
        assert word in refused(*QUEUE, "--access-log", path, status=1)
    assert "standard input holds no lines" in refused(*QUEUE, "--access-log", "-", status=1)


def test_reports_are_files_of_their_own(tmp_path, log):
    for arguments in (ROOM, [*QUEUE, "--access-log", log]):
        told(*arguments, "--report", tmp_path / "report.svg")
        root = ElementTree.parse(tmp_path / "report.svg").getroot()
        curves = root.findall(".//{http://www.w3.org/2000/svg}polyline")
        assert root.tag.endswith("svg") and len(curves) >= 5 and all(curve.get("points").count(",") > 50 for curve in curves)
        told(*arguments, "--report", tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert page.count("<polyline") == len(curves) and "{{" not in page and not re.search(r"""(src|href)=|url\(|@import""", page)
    assert "cannot write" in refused(*ROOM, "--report", tmp_path / "no" / "report.svg", status=1)


def test_a_bar_on_a_terminal_alone():
    with Terminal("simulate", "room", "--capacity", "100", "--visitors", "100000", "--over", "1h", "--stay", "60s", "--sign-out", "100%") as terminal:
        seen = terminal.read_until(lambda text: "simulated" in text, 20)
        assert "[" in seen and "came" in seen
        terminal.end()


def shown_runs():
    """Commands of docs/tuning.md about rooms, with what the page says they print: [(words, lines)]."""
    page = (Path(__file__).resolve().parents[2] / "docs/tuning.md").read_text().replace("\\\n", "")
    for command, output in re.findall(r"^\$ fairway (simulate room[^\n|]*)[^\n]*\n(.*?)\n```", page, re.MULTILINE | re.DOTALL):
        yield shlex.split(command), output.splitlines()


def shape(line):
    """The line without its figures: those of another processor's arithmetic may differ a little."""
    return re.sub(r"(N ?)+", "N", re.sub(r"\d[\d.]*[a-z%]*|[▁-█]+", "N", line)).split()


def test_the_tuning_page_shows_what_the_command_prints():
    runs = list(shown_runs())
    assert len(runs) >= 5
    for words, shown in runs:
        printed = [shape(line) for line in told(*words).splitlines()]
        assert [line for line in shown if shape(line) not in printed] == [], words
