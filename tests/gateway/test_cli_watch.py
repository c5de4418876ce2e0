"""`watch`: the live view on a terminal, and a line a second on a pipe."""

import json
import re
import signal
import subprocess

import pytest

from harness.cli import Cli, Terminal
from harness.command import COMMAND, clean_environment
from harness.limits import scaled, wait_until
from harness.operator import ROOM
from harness.visitor import Visitor

BARS = "▁▂▃▄▅▆▇█"
BOTH = ROOM.replace("waiting_room sale {", "fair_queue app { concurrency 3; } waiting_room sale {") \
    .replace("location / {", "location / { fair_queue app;", 1)


@pytest.fixture
def site(operated):
    running, operator = operated("polls_per_session 1000/s;", text=BOTH)
    for _ in range(4):
        Visitor(running.address).page("/")
    return running, operator, Cli(running.address_of(2))


def last_frame(text):
    """The screen as the last complete drawing left it."""
    complete = text[: text.rfind("\x1b[J") + 3].split("\x1b[H")[-1]
    return re.sub(r"\x1b\[[0-9?]*[a-zA-Z]", "", complete).replace("\r", "").split("\n")


def drawn(count):
    return lambda text: text.count("\x1b[J") >= count


@pytest.mark.parametrize("end", [lambda terminal: terminal.end(signal.SIGINT), lambda terminal: terminal.end(signal.SIGTERM), lambda terminal: terminal.end(signal.SIGHUP),
                                 lambda terminal: (terminal.type("q"), terminal.finish())[1], lambda terminal: (terminal.type("\x03"), terminal.finish())[1]],
                         ids=["INT", "TERM", "HUP", "q", "Ctrl-C"])
def test_ends_with_the_terminal_as_it_was(site, end):
    with Terminal("room", "watch", "sale", **site[2].environment) as terminal:
        terminal.read_until(drawn(1))
        assert not terminal.restored and terminal.text.startswith("\x1b[?1049h\x1b[?25l")
        assert end(terminal) == 0 and terminal.restored


def test_a_room_live(site):
    running, operator, cli = site
    with Terminal("room", "watch", "sale", columns=90, **cli.environment) as terminal:
        terminal.read_until(lambda text: drawn(3)(text) and last_frame(text)[4].rstrip()[-1] in BARS[1:])  # the second that runs may have no bar yet
        frame = last_frame(terminal.text)
        assert cli.url in frame[0] and frame[2].startswith("room sale  normal  inside 1 of 1")
        assert [line.split()[:2] for line in frame[4:6]] == [["waiting", "3"], ["inside", "1"]] and frame[6].startswith("admissions/s")
        assert all(len(line) <= 90 for line in frame)
        operator.post("rooms/sale/mode", {"mode": "hold"})
        terminal.read_until(lambda text: "sale  hold  inside" in text)
        assert terminal.end() == 0


def test_a_queue_live(site):
    with Terminal("queue", "watch", "app", **site[2].environment) as terminal:
        terminal.read_until(drawn(2))
        frame = last_frame(terminal.text)
        assert frame[2].startswith("queue app  running 0 of 3  waits p50 ")
        assert [line.split()[:2] for line in frame[4:6]] == [["running", "0"], ["waiting", "0"]] and len(frame) == 6
        assert terminal.end() == 0


def test_another_size_is_drawn_at_once_and_never_wider(site):
    with Terminal("room", "watch", "sale", columns=100, rows=30, **site[2].environment) as terminal:
        terminal.read_until(drawn(1))
        for columns, rows in ((40, 30), (17, 4), (1, 1), (200, 50)):
            terminal.resize(columns, rows)
            # drawings of the old size may still be under way
            terminal.read_until(lambda text: len(last_frame(text)) == min(rows, 7) and max(map(len, last_frame(text))) <= columns)
            terminal.read_until(drawn(terminal.text.count("\x1b[J") + 1))
            frame = last_frame(terminal.text)
            assert len(frame) == min(rows, 7) and max(map(len, frame)) <= columns
        assert terminal.end() == 0


def test_a_gateway_that_is_gone_for_a_while(site):
    running, _, cli = site
    with Terminal("room", "watch", "sale", **cli.environment) as terminal:
        terminal.read_until(drawn(1))
        running.stop()
        terminal.read_until(lambda text: "no gateway answers" in text)
        assert "room sale" in "".join(last_frame(terminal.text))  # the last that was known stays
        running.start()
        shown = len(terminal.text)
        terminal.read_until(lambda text: drawn(2)(text[shown:]) and "no gateway" not in text.split("\x1b[H")[-1])
        assert terminal.end() == 0


def test_lines_on_a_pipe(site):
    cli = site[2]
    lines = cli("room", "watch", "sale", "--count", "2").splitlines()
    assert len(lines) == 2 and all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}  sale  normal  inside 1 of 1  waiting 3  admissions/s [\d.]+", line) for line in lines)
    assert cli("queue", "watch", "app", "--count", "1").split("  ")[1:4] == ["app", "running 0 of 3", "waiting 0"]
    told = [json.loads(line) for line in cli("room", "watch", "sale", "--count", "2", "--json").splitlines()]
    assert [each["waiting"] for each in told] == [3, 3]


def piped(cli, tmp_path, *arguments):
    return subprocess.Popen([COMMAND, "room", "watch", "sale", *arguments], env=clean_environment(**cli.environment), stdin=subprocess.DEVNULL,
                            stdout=open(tmp_path / "out", "wb"), stderr=open(tmp_path / "err", "wb"))


def test_a_pipe_ends_by_signal_and_says_when_the_gateway_is_gone(site, tmp_path):
    running, _, cli = site
    process = piped(cli, tmp_path)
    try:
        wait_until(lambda: (tmp_path / "out").read_text().count("\n") >= 1)
        running.stop()
        wait_until(lambda: "no gateway answers" in (tmp_path / "err").read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(scaled(10)) == 3
    finally:
        process.kill()
        process.wait()


def test_a_reader_that_has_had_enough(site):
    process = subprocess.Popen([COMMAND, "room", "watch", "sale", "--json"], env=clean_environment(**site[2].environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(scaled(10)) != 0
    finally:
        process.kill()
        process.wait()
