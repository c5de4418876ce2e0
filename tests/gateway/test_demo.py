"""The demo: the shop alone, the crowd in front of it and in front of a gateway, and the script that starts it all."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.built import ROOT
from harness.command import COMMAND, clean_environment
from harness.http1 import request
from harness.limits import scaled, wait_until
from harness.nginx import free_port, processes_of
from harness.stores import Connection
from harness.visitor import Visitor

DEMO = ROOT / "demo"


@pytest.fixture
def shop():
    """Address of a shop of its own, which must end when it is told to."""
    process = subprocess.Popen([sys.executable, DEMO / "shop.py", "--port", "0"], stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    yield "127.0.0.1", int(url.rpartition(":")[2])
    process.send_signal(signal.SIGTERM)
    assert process.wait(scaled(20)) == 0
    process.stdout.close()


def crowd(*arguments):
    return subprocess.run([sys.executable, DEMO / "crowd.py", *map(str, arguments)], capture_output=True, text=True, timeout=scaled(90))


def url_of(address):
    return f"http://{address[0]}:{address[1]}"


def last_line(done):
    """The numbers of the crowd's last summary, by name."""
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(number) for name, number in re.findall(r"([a-z]+(?: away)?) (\d+)", done.stdout.splitlines()[-1])}


def form(visitor, path, text):
    return visitor.page(path, "POST", [("Content-Type", "application/x-www-form-urlencoded")], text)


def test_buying_a_ticket_ends_the_session(shop):
    visitor = Visitor(shop)
    assert "Night Trains" in visitor.page("/").text
    assert visitor.page("/events/night-trains").status == 200
    assert "3 × Night Trains" in form(visitor, "/cart", b"event=night-trains&count=3").text
    assert "Nearly there, &lt;b&gt;Ann" in form(visitor, "/checkout", b"name=%3Cb%3EAnn").text
    thanks = form(visitor, "/checkout/pay", b"")
    assert "Thank you, &lt;b&gt;Ann" in thanks.text and "3 × Night Trains" in thanks.text
    assert thanks.headers.one("Fairway-Session") == "end"
    assert "shop_session" not in visitor.jar
    assert "No tickets chosen" in visitor.page("/checkout").text
    assert json.loads(request(shop, "GET", "/load").body)["sold"] == 3


def test_shop_survives_odd_requests(shop):
    odd = [("GET", "/events/../../etc/passwd", (), b""), ("POST", "/cart", (), b"event=nowhere&count=9&&=&%zz=%"), ("POST", "/checkout/pay", (), b"x"),
           ("GET", "/thanks", (), b""), ("GET", "/", [("Cookie", "shop_session=\"; x=\xff; ;;=")], b""), ("POST", "/cart", [("Content-Length", "-1")], b""),
           ("POST", "/cart", [("Content-Length", "99999999")], b""), ("PUT", "/", (), b"")]
    for method, target, headers, body in odd:
        assert request(shop, method, target, headers, body).status in (200, 404, 413, 501), target
    assert request(shop, "HEAD", "/").body == b""
    assert request(shop, "GET", "/healthz").body == b"ok\n"


def test_shop_asks_nobody_else_for_anything(shop):
    page = request(shop, "GET", "/").text
    links = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert links and all(link.startswith("/") for link in links)
    for link in links:
        answer = request(shop, "GET", link)
        assert answer.status == 200
        assert not re.search(rb"https?://(?!www\.w3\.org/2000/svg)", answer.body), link


def test_crowd_shops_and_goes_home(shop):
    numbers = last_line(crowd("--url", url_of(shop), "--visitors", 12, "--over", 0, "--pace", 0.05, "--minutes", 2, "--seed", 1))
    assert numbers["arrived"] == numbers["entered"] == numbers["bought"] + numbers["left"] == 12
    assert numbers["waiting"] == numbers["inside"] == 0


def test_crowd_waits_in_line(running, shop):
    gateway = running("--upstream", url_of(shop), "--capacity", "3")
    done = crowd("--url", url_of(gateway.address), "--visitors", 9, "--over", 0, "--pace", 0.05, "--minutes", 2.5, "--impatient", 0, "--seed", 1)
    numbers = last_line(done)
    assert numbers["entered"] == numbers["bought"] + numbers["left"] == 9 and "trouble" not in numbers
    assert max(int(number) for number in re.findall(r"waiting (\d+)", done.stdout)) >= 6


def test_crowd_gives_up_when_the_time_is_up(running, shop):
    gateway = running("--upstream", url_of(shop), "--capacity", "0")
    done = crowd("--url", url_of(gateway.address), "--visitors", 5, "--over", 0, "--minutes", 0.1, "--impatient", 0)
    numbers = last_line(done)
    assert "the time is up" in done.stdout and numbers["entered"] == 0
    assert Visitor(gateway.address, "site").page("/").status == 429
    newcomer = Visitor(gateway.address, "site")
    newcomer.page("/")
    assert newcomer.status().json["waiting"] == 2  # the crowd left the line


def test_hammer_counts_what_it_does(shop):
    done = crowd("--url", url_of(shop), "--hammer", "--connections", 2, "--minutes", 0.1)
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"slow pages: (\d+) done", done.stdout.splitlines()[-1])[1]) >= 2
    assert "the other visitor" in done.stdout


@pytest.mark.parametrize("url, status", [("http://192.0.2.1/", 2), ("https://localhost/", 2), ("http://nowhere.invalid/", 2), ("http://localhost:9/", 1)])
def test_crowd_stays_at_home(url, status):
    done = crowd("--url", url, "--visitors", 1, "--over", 0)
    assert done.returncode == status and "Traceback" not in done.stderr and done.stderr


@contextlib.contextmanager
def demo(folder, number=signal.SIGTERM, **values):
    """What scripts/run says, as a function, while it runs; its state and its output are in `folder`."""
    output = folder / "output"
    environment = clean_environment(STATE=folder / "state", CAPACITY=1, FAIRWAY_COMMAND=COMMAND, LISTEN=None, **values)
    with open(output, "wb") as out:
        process = subprocess.Popen([ROOT / "scripts/run"], env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: "make crowd" in output.read_text() or process.poll() is not None, 20)
        yield output.read_text
    finally:
        os.killpg(process.pid, number)  # as a terminal does
        process.wait(scaled(20))
    wait_until(lambda: not processes_of(process.pid), 10, message="scripts/run left processes behind")


def first_enters_second_waits(port):
    """The two, in that order."""
    first, second = (Visitor(("127.0.0.1", port), "site") for _ in range(2))
    assert first.page("/").status == 200 and second.page("/").status == 429
    return first, second


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_run_script_starts_and_ends_everything(tmp_path, number):
    port = free_port()
    with demo(tmp_path, number, PORT=port) as said:
        assert f"make crowd PORT={port}" in said() and "forgets" not in said()
        first_enters_second_waits(port)


def test_a_second_run_waits_for_nobody_of_the_first(tmp_path):
    """What it remembers of the line goes, and it says so; the keys stay, and with them everybody who kept the cookie."""
    port = free_port()
    with demo(tmp_path, PORT=port):
        inside, waiter = first_enters_second_waits(port)
    keys = (tmp_path / "state/keys").read_text()
    with demo(tmp_path, PORT=port) as said:
        assert "The demo forgets" in said()
        first_enters_second_waits(port)
        assert inside.page("/").status == 200 and waiter.page("/").status == 429
    assert (tmp_path / "state/keys").read_text() == keys


def test_crowd_script_goes_to_the_port_of_the_demo(shop):
    done = subprocess.run([ROOT / "scripts/crowd", "--over", "0", "--pace", "0.05"], env=clean_environment(PORT=shop[1], LISTEN=None, VISITORS=2, MINUTES=1),
                          capture_output=True, text=True, timeout=scaled(90))
    assert last_line(done)["entered"] == 2


def test_run_script_with_a_store_server_of_its_own(tmp_path):
    port = free_port()
    for run in range(2):
        with demo(tmp_path, PORT=port, STORE="valkey", TMPDIR=tmp_path) as said:
            first_enters_second_waits(port)
            assert ("The demo forgets" in said()) == (run > 0)
            command = Connection(("127.0.0.1", int(re.search(r"redis-cli -p (\d+)", said())[1])))
            assert command("EXISTS", "fairway:{site}:state") == 1
            command.close()
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["output", "state"]


def test_run_script_ends_when_the_gateway_cannot_start(tmp_path):
    values = clean_environment(LISTEN="nonsense", STATE=tmp_path / "state", FAIRWAY_COMMAND=COMMAND)
    process = subprocess.Popen([ROOT / "scripts/run"], env=values, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    _, errors = process.communicate(timeout=scaled(30))
    assert process.returncode == 2 and "--listen" in errors
    wait_until(lambda: not processes_of(process.pid), 10, message="scripts/run left processes behind")


def test_demo_needs_nothing_but_python():
    modules = {match for path in DEMO.glob("*.py") for match in re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.M)}
    assert modules - set(sys.stdlib_module_names) == {"pages", "visitor"}
    assert Path(DEMO / "shop.py").read_text().startswith("#!/usr/bin/python3\n")
