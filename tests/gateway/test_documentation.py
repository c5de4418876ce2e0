"""What README and docs show is what nginx takes: the examples, and the defaults of the tables."""

import re
from pathlib import Path

import pytest

from harness.nginx import check

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/api.md", "docs/deploying.md", "docs/directives.md", "docs/fair-queue.md", "docs/operating.md"]
LOCATION = re.compile(r"\s*location\b")
UPSTREAM = "upstream app { server 127.0.0.1:1; }"


def examples(page):
    return re.findall(r"^```nginx\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def inside_http(example):
    """An example as what stands inside http {}: without load_module, events and http themselves; bare locations get a server."""
    example = re.sub(r"#.*", "", example)
    text = re.sub(r"^\s*(load_module .*?;|events \{.*?\})[^\n]*\n", "", example, flags=re.MULTILINE)
    if wrapped := re.search(r"^http \{\n(.*)^\}", text, re.MULTILINE | re.DOTALL):
        text = wrapped.group(1)
    if "server {" not in text:
        lines = text.splitlines()
        text = "\n".join([line for line in lines if not LOCATION.match(line)] +
                         ["server {"] + [line for line in lines if LOCATION.match(line)] + ["}"])
    text = re.sub(r"\blisten 80;", "", text)
    text = text.replace("server {", "server {\nlisten @LISTEN@;", 1)
    text = re.sub(r"/var/log/nginx/", "@PREFIX@/", text)
    return f"{UPSTREAM}\n{text}" if "http://app" in text else text


def defaults(page, heading):
    """Directives and defaults of a table, as text. A row may hold several directives, with a default each."""
    table = (ROOT / page).read_text().split(heading)[1].split("\n## ")[0]
    told = {}
    for names, texts in re.findall(r"^\| (`.+?) \| (.+?) \| .+ \|$", table.replace(r"\|", "/"), re.MULTILINE):
        directives = re.findall(r"`([a-z_]+) [^`]+`", names)
        values = re.split(r", ", texts) if len(directives) > 1 else [texts]
        told.update(zip(directives, (value.replace("`", "") for value in values), strict=True))
    return told


@pytest.mark.parametrize("page, number", [(page, number) for page in PAGES for number in range(len(examples(page)))])
def test_the_example_is_taken(make_gateway, page, number):
    status, output = check(make_gateway(inside_http(examples(page)[number]), control=False))
    assert status == 0, output
    assert "[emerg]" not in output


def test_no_page_is_without_examples():
    assert all(examples(page) for page in PAGES)


@pytest.mark.parametrize("page, block, required", [("docs/directives.md", "waiting_room", "capacity"), ("docs/fair-queue.md", "fair_queue", "concurrency")])
def test_defaults_may_be_written(make_gateway, page, block, required):
    told = defaults(page, f"## Inside `{block} NAME {{ }}`")
    assert told.pop(required) == "required"
    unwritable = {"none", "built in", "the host alone"}
    written = [f"{name} {value};" for name, value in told.items() if re.fullmatch(r"[\w .-]+", value) and value not in unwritable]
    assert len(written) > 10
    status, output = check(make_gateway(f"{block} x {{ {required} 16; {' '.join(written)} }}", control=False))
    assert status == 0, output
