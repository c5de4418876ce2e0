"""What README and docs show is what nginx takes: the examples, and the defaults of the tables."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from harness.command import fairway
from harness.http1 import request
from harness.limits import scaled
from harness.nginx import NGINX, check, environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/api.md", "docs/deploying.md", "docs/directives.md", "docs/examples.md", "docs/fair-queue.md", "docs/operating.md", "docs/tuning.md"]
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


def shell_commands(page, start):
    """The commands of the page that begin so, as one would paste them: a list of words each."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(text for language, text in blocks if language in ("", "sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith(start)]


def test_commands_to_paste_make_what_the_directives_beside_them_say():
    """Every `fairway run` of the pages is taken, and each store that a page writes as a directive can be pasted as a command, too."""
    told = set()
    for page in ["README.md", "docs/deploying.md"]:
        for words in shell_commands(page, "build/fairway run"):
            done = fairway(*words[1:], "--print-config")
            assert done.returncode == 0, (words, done.stderr)
            told.update(re.findall(r"fairway_store .*;", done.stdout))
    directives = {line for example in examples("docs/deploying.md") for line in re.findall(r"fairway_store .*;", example)}
    assert len(directives) == 3 and directives <= told


def test_what_the_command_wrote_can_be_given_to_another_nginx(running, tmp_path):
    """The commands of docs/operating.md, with this test's folders for those of the machine."""
    gateway = running("--upstream", "http://127.0.0.1:1", "--capacity", "1", "--concurrency", "4")
    [commands] = re.findall(r"^```sh\n(cp .*?)^nginx -t\n```$", (ROOT / "docs/operating.md").read_text(), re.MULTILINE | re.DOTALL)
    for there, here in [("~/.local/state/fairway", gateway.state), ("/etc/nginx", tmp_path), ("/var/log/nginx", tmp_path), ("/var/lib/fairway", tmp_path / "room")]:
        assert there in commands
        commands = commands.replace(there, str(here))
    subprocess.run(["bash", "-euc", commands], check=True, timeout=scaled(30))
    config = tmp_path / "nginx.conf"
    told = config.read_text()
    assert str(gateway.state) not in told and not re.search(r"fairway_(state|keys) (?!/)|_temp_path|^pid", told, re.MULTILINE)
    folders = [f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]  # its own are for root alone
    config.write_text(config.read_text().replace("http {", "http {\n" + "\n".join(folders), 1))
    done = subprocess.run([NGINX, "-t", "-e", "stderr", "-c", config, "-g", f"pid {tmp_path}/pid;"], capture_output=True, text=True, timeout=scaled(30), env=environment())
    assert done.returncode == 0 and "test is successful" in done.stderr, done.stderr


def shown_answers(page):
    """Each curl of the page's example with the answer below it: (request headers, status, names of the answer's headers, JSON)."""
    text = (ROOT / page).read_text()
    for command, status, head, body in re.findall(r"^\$ curl (.*)\nHTTP/2 (\d+)\n((?:.+\n)+)\n(\{.*\})$", text, re.MULTILINE):
        names = [line.split(":")[0] for line in head.splitlines() if line != "…"]
        yield re.findall(r"-H '(.+?): ", command), int(status), names, json.loads(body)


def test_the_example_of_an_api_client_is_what_it_gets(full_room):
    gateway, _ = full_room()
    ticket = ""
    answers = list(shown_answers("docs/directives.md"))
    assert [shown["state"] for *_, shown in answers] == ["unknown", "waiting"]
    for sends, status, names, shown in answers:
        answer = request(gateway.address, "GET", "/api/orders", [(name, ticket) for name in sends])
        assert answer.status == status
        ours = {name.lower() for name, _ in answer.headers.pairs if name.lower().startswith(("fairway-", "set-cookie", "retry-after"))}
        assert set(names) == ours
        assert list(answer.json) == list(shown) and answer.json["state"] == shown["state"] and answer.json["paused"] is shown["paused"]
        assert [type(value) for key, value in answer.json.items() if key != "eta"] == [type(value) for key, value in shown.items() if key != "eta"]
        ticket = answer.json["ticket"]
    told = min(max(3 * shown["rank"] / 50, 3), 30)
    assert 0.9 * told <= shown["retry_after"] <= 1.1 * told + 1


def test_log_format_is_the_one_of_the_command():
    """Word for word, comments and all."""
    shown = next(example for example in examples("docs/directives.md") if "log_format" in example)
    printed = fairway("run", "--upstream", "http://127.0.0.1:1", "--concurrency", "1", "--print-config").stdout
    printed = re.sub(r"^    ", "", printed, flags=re.MULTILINE)
    assert shown.split("access_log")[0] in printed


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


COST = re.compile(r"[1-9]\d*ns")


def example_in(language, name, page="docs/examples.md"):
    """The example in that language whose first line, a comment, is the name of its file."""
    [text] = re.findall(rf"^```{language}\n((?:#|//) {re.escape(name)}\n.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return text


def test_the_wsgi_example_reports_costs():
    names, told = {}, []
    exec(example_in("python", "fairway_wsgi.py"), names)  # it is ours

    def application(environ, start_response):
        start_response("200 OK", [("X-Of", environ["of"])])
        return [b"body"]

    body = names["FairwayCost"](application)({"of": "a request"}, lambda *given: told.append(given))
    [(status, headers, exc_info)] = told
    assert (body, status, exc_info) == ([b"body"], "200 OK", None) and dict(headers)["X-Of"] == "a request"
    assert COST.fullmatch(dict(headers)["Fairway-Cost"]) and COST.fullmatch(dict(headers)["Fairway-Cpu"])


def test_the_python_example_reports_costs():
    names = {}
    exec(example_in("python", "fairway_cost.py"), names)  # it is ours
    response = names["FairwayCost"](lambda request: {"of": request})("a request")
    assert response["of"] == "a request" and COST.fullmatch(response["Fairway-Cost"]) and COST.fullmatch(response["Fairway-Cpu"])


def test_the_node_example_reports_costs(tmp_path):
    (tmp_path / "fairway-cost.mjs").write_text(example_in("js", "fairway-cost.mjs"))
    (tmp_path / "app.mjs").write_text("""
        import { createServer } from "node:http";
        import { fairwayCost } from "./fairway-cost.mjs";
        const server = createServer((request, response) => fairwayCost(request, response, () => response.end("ok")));
        server.listen(0, "127.0.0.1", async () => {
          const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
          console.log(answer.headers.get("Fairway-Cost"), await answer.text());
          server.close();
          server.closeAllConnections();
        });
    """)
    done = subprocess.run(["node", tmp_path / "app.mjs"], capture_output=True, text=True, timeout=scaled(30))
    cost, said = done.stdout.split()
    assert COST.fullmatch(cost) and said == "ok", done


def anchors(page):
    """What GitHub and most others make of the headings."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(page):
    here = ROOT / page
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", here.read_text())
    for path, anchor in links:
        target = (here.parent / path).resolve() if path else here
        assert target.is_file(), f"{page}: {path}"
        assert not anchor or anchor in anchors(target), f"{page}: {path}#{anchor}"


def test_each_figure_of_the_readme_is_in_the_results():
    measured = [(float(number), percent) for number, percent in re.findall(r"(\d+\.\d+)( ?%)?", (ROOT / "bench/RESULTS.md").read_text())]
    rows = re.findall(r"^\| .*? \| (.*\d.*) \|$", (ROOT / "README.md").read_text().partition("## What it costs")[2], re.MULTILINE)
    figures = [(number, percent) for row in rows for number, percent in re.findall(r"(\d+\.\d+|\d+(?= %))( %)?", row)]
    assert len(figures) >= 8
    for number, percent in figures:
        half = 0.5 * 10 ** -len(number.partition(".")[2]) + 1e-9
        assert any(abs(value - float(number)) <= half and bool(percent) == bool(other) for value, other in measured), f"{number}{percent} is nowhere in RESULTS.md"
