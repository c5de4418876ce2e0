"""Manual page and completion against what the command's own --help tells."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.cli import Cli
from harness.command import COMMAND, clean_environment, fairway
from harness.nginx import free_port

ROOT = Path(__file__).resolve().parents[2]


def helps(*words):
    """--help of the command and of everything below it: {words: text}."""
    text = fairway(*words, "--help").stdout
    found = {words: text}
    for name in subcommands(text):
        found.update(helps(*words, name))
    return found


def subcommands(text):
    return re.findall(r"^  ([a-z]+) ", text.split("\nSubcommands:\n", 1)[1], re.MULTILINE) if "\nSubcommands:\n" in text else []


def options(text):
    return set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", text, re.MULTILINE))


@pytest.fixture(scope="module")
def told():
    found = helps()
    assert len(found) > 20 and len(options(found["room", "evict"])) == 8
    return found


def manual():
    """The page without its macros, in sections: {title: text}."""
    text = (ROOT / "docs/fairway.1").read_text().replace(r"\-", "-")
    parts = re.split(r"^\.SH (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def entries(text):
    """What the paragraphs of a section are headed by: the line after .TP, without font macros."""
    return [re.sub(r"\\f.", "", re.sub(r"^\.[A-Z]+ ", "", line)) for line in re.findall(r"^\.TP\n(.+)$", text, re.MULTILINE)]


def test_the_manual_has_every_subcommand_and_option(told):
    sections = manual()
    common = {entry.split()[0] for entry in entries(sections["OPTIONS OF ROOM AND QUEUE"])}
    for words, text in told.items():
        if not words:
            continue
        section = sections["FAIRWAY " + words[0].upper()]
        heads = {entry.split()[0] for entry in entries(section)}
        assert set(subcommands(text)) <= heads, words
        known = heads | (common if words[0] in ("room", "queue") else set())
        assert options(text) - {"--help"} <= known, words
    assert "--help" in sections["DESCRIPTION"] and "--version" in sections["SYNOPSIS"]


def test_the_manual_has_nothing_else(told):
    every = {option for text in told.values() for option in options(text)} | {name for text in told.values() for name in subcommands(text)}
    for title, section in manual().items():
        if title.startswith("FAIRWAY "):
            assert {entry.split()[0] for entry in entries(section)} <= every, title


def completed(line, **environment):
    """What bash offers for a command line, the cursor at its end."""
    script = ROOT / "tests/gateway/harness/complete.bash"
    words = [COMMAND, *line.split(" ")]
    done = subprocess.run(["bash", "--norc", script, *words], env=clean_environment(PATH=os.environ["PATH"], **environment), capture_output=True, text=True, timeout=30,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stderr == "", done
    return set(done.stdout.split())


def test_completion_offers_what_help_tells(told):
    for words, text in told.items():
        line = " ".join(words)
        assert completed(f"{line} --".strip()) == options(text), words
        if subcommands(text):
            assert completed(f"{line} ".lstrip() if words else "") == set(subcommands(text)), words
    assert completed("room s") == {"show", "set"} and completed("room evict sale --li") == {"--line"}


def test_completion_of_settings(told):
    settings = set(re.findall(r"\b([a-z_]+=)(?: |$)", told["room", "set"].split("\n\n")[-1], re.MULTILINE))
    assert "capacity=" in settings and len(settings) == 19
    assert completed("room set sale ") == settings == completed("room create flash ") and completed("room set sale capa") == {"capacity="}


def test_settings_that_help_tells_are_those_of_the_api(operated, told):
    running, operator = operated()
    known = {f"{name}=" for name in operator.get("rooms/sale")["settings"]}
    assert known == set(re.findall(r"\b([a-z_]+=)(?: |$)", told["room", "set"].split("\n\n")[-1], re.MULTILINE))


def test_completion_of_names(operated):
    running, operator = operated()
    operator.put("rooms/flash", {"capacity": 1}, status=201)
    cli = Cli(running.address_of(2))
    assert completed("room show ", **cli.environment) == {"sale", "flash"} == completed("room set ", **cli.environment)
    assert completed("room evict f", **cli.environment) == {"flash"}
    assert completed("queue flows ", **cli.environment) == set() == completed("room create ", **cli.environment)
    assert completed("room show ", FAIRWAY_API=f"http://127.0.0.1:{free_port()}/") == set()
