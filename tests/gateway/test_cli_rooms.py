"""`fairway room …` against a gateway: what it does, what it prints, and how it ends."""

import pytest

from harness.cli import Cli, Terminal
from harness.visitor import Visitor


@pytest.fixture
def room_cli(operated):
    """room_cli(settings=""): (gateway, its operator, the command)."""

    def make(settings="polls_per_session 1000/s;", **options):
        running, operator = operated(settings, **options)
        return running, operator, Cli(running.address_of(2))

    return make


def enter(running, count):
    visitors = [Visitor(running.address) for _ in range(count)]
    for visitor in visitors:
        visitor.page("/")
    return visitors


def rows(text):
    """A table as a list of lists of words."""
    return [line.split() for line in text.splitlines()]


def cells(text):
    """`show` as a dictionary: the first column of it, and the rest."""
    return dict(line.split(maxsplit=1) for line in text.splitlines() if len(line.split()) > 1)


def test_list_and_show(room_cli):
    running, operator, cli = room_cli()
    enter(running, 3)
    head, sale = rows(cli("room", "list"))
    assert head[:5] == ["NAME", "MODE", "INSIDE", "CAPACITY", "WAITING"] and sale[:5] == ["sale", "normal", "1", "1", "2"]
    shown = cells(cli("room", "show", "sale"))
    assert (shown["mode"], shown["waiting"], shown["capacity"], shown["poll_interval"]) == ("normal", "2", "1", "3s 30s")
    assert shown["inside"].startswith("1 of 1") and shown["message"] == "-"
    told, known = cli.json("room", "list"), operator.get("rooms")
    assert [each["settings"] for each in told["rooms"]] == [each["settings"] for each in known["rooms"]]
    assert cli.json("room", "show", "sale")["waiting"] == 2


def test_set_and_back_to_the_file(room_cli):
    running, operator, cli = room_cli()
    text = cli("room", "set", "sale", "capacity=5", "rate=50/s", "message=Back soon = 8:00, we hope", "poll_interval=2s 20s")
    assert "capacity" in text and "(nginx.conf: 1)" in text
    settings = operator.get("rooms/sale")["settings"]
    assert (settings["capacity"], settings["rate"], settings["poll_interval"]) == (5, "50/s", "2s 20s")
    assert settings["message"] == "Back soon = 8:00, we hope"
    changed = cli.json("room", "set", "sale", "capacity=", "message=")
    assert changed["settings"]["capacity"] == 1 and changed["settings"]["message"] is None and list(changed["file"]) == ["rate", "poll_interval"]


def test_a_room_made_attached_and_detached(room_cli):
    running, operator, cli = room_cli()
    made = cli.json("room", "create", "flash", "capacity=7", "--attach", "shop.example.com/checkout", "--attach", "shop.example.org")
    assert made["defined"] == "console"
    assert made["settings"]["attach"] == [{"host": "shop.example.com", "path": "/checkout"}, {"host": "shop.example.org", "path": "/"}]
    assert cells(cli("room", "show", "flash"))["attach"] == "shop.example.com/checkout shop.example.org/"
    assert cli.json("room", "set", "flash", "attach=")["settings"]["attach"] in ([], None)


@pytest.mark.parametrize("verb, mode", [("hold", "hold"), ("open", "open"), ("close", "closed")])
def test_modes_and_back(room_cli, verb, mode):
    running, operator, cli = room_cli()
    enter(running, 2)
    assert cli("room", verb, "sale") == f"sale: {mode}; 1 inside, 1 waiting\n"
    assert operator.get("rooms/sale")["mode"] == mode
    assert cli.json("room", "normal", "sale")["mode"] == "normal" == operator.get("rooms/sale")["mode"]


def test_evict(room_cli):
    running, operator, cli = room_cli()
    inside, first, second = enter(running, 3)
    assert cli("room", "evict", "sale", "--sid", first.ticket.sid, "--line") == "sale: 1 ended\n"
    assert cli.json("room", "evict", "sale", "--sid", inside.passed.sid) == {"ended": 1}
    assert inside.page("/").status == 429
    assert cli("room", "evict", "sale", "--network", "198.51.100.0/24", "--yes") == "sale: 0 ended\n"
    assert cli.json("room", "evict", "sale", "--all", "--line")["ended"] == 2
    assert operator.get("rooms/sale")["waiting"] == 0


@pytest.mark.parametrize("said, status", [("y", 0), ("n", 1), ("", 1)])
def test_a_terminal_is_asked_with_the_number(room_cli, said, status):
    running, operator, cli = room_cli()
    enter(running, 3)
    with Terminal("room", "evict", "sale", "--all", "--line", **cli.environment) as terminal:
        terminal.read_until(lambda text: "? [y/N] " in text)
        assert "sale: end 1 session inside and 2 waiting?" in terminal.text
        terminal.type(said + "\n")
        assert terminal.finish() == status
    assert operator.get("rooms/sale")["inside"] == (0 if status == 0 else 1)


def test_a_terminal_that_says_yes_is_not_asked(room_cli):
    running, operator, cli = room_cli()
    enter(running, 1)
    with Terminal("room", "evict", "sale", "--all", "--yes", **cli.environment) as terminal:
        assert terminal.finish() == 0 and "y/N" not in terminal.text and "sale: 1 ended" in terminal.text


def test_a_room_is_made_and_deleted(room_cli):
    _, operator, cli = room_cli()
    made = cli("room", "create", "flash", "capacity=3", "--attach", "shop.example.com/flash")
    assert "nginx.conf:" not in made and made.endswith('\nRoom flash is attached to hosts, but no location of nginx.conf has "waiting_room auto".\n')
    assert cli("room", "delete", "flash") == "flash: deleted\n" and operator.refused(404, "GET", "rooms/flash")
    cli("room", "create", "flash", "capacity=3")
    assert cli.json("room", "delete", "flash", "--yes") == {"deleted": "flash"} and operator.refused(404, "GET", "rooms/flash")


@pytest.mark.parametrize("said, status", [("y", 0), ("n", 1)])
def test_a_terminal_is_asked_before_a_room_is_deleted(room_cli, said, status):
    _, operator, cli = room_cli()
    cli("room", "create", "flash", "capacity=3")
    with Terminal("room", "delete", "flash", **cli.environment) as terminal:
        terminal.read_until(lambda text: "? [y/N] " in text)
        assert "flash: delete the room with 0 sessions inside and 0 waiting?" in terminal.text
        terminal.type(said + "\n")
        assert terminal.finish() == status
    assert operator.call("GET", "rooms/flash").status == (404 if status == 0 else 200)


@pytest.mark.parametrize("arguments, words", [
    (["delete", "sale"], ["nginx.conf"]), (["delete", "flash"], ["no room"]),
    (["set", "sale", "capacity=many"], ["capacity"]), (["set", "sale", "rate=5/h"], ["rate"]), (["set", "sale", "colour=red"], ["colour"]),
    (["set", "sale", "refresh=1h"], ["refresh"]), (["create", "flash", "rate=5/s"], ["capacity"]), (["create", "sale", "capacity=5"], ["room sale already", "room set"]),
    (["set", "sael", "capacity=5"], ["no room sael", "sale", "room create"]), (["show", "flash"], ["no room"]), (["hold", "flash"], ["no room"]),
    (["evict", "sale", "--sid", "xyz"], ["sid"]), (["evict", "sale", "--network", "10.0.0.0/8"], ["network"]), (["watch", "flash"], ["no room"]),
    (["set", "sale", "--attach", "a b"], ["attach"]),
])
def test_the_gateways_sentence_with_the_field(room_cli, arguments, words):
    _, operator, cli = room_cli()
    said = cli("room", *arguments, status=1)
    assert all(word in said for word in words) and said.endswith(".\n") and "JSON" not in said
    assert [room["name"] for room in operator.get("rooms")["rooms"]] == ["sale"]


def test_rooms_with_the_names_of_subcommands(room_cli):
    cli = room_cli()[2]
    for name in ("hold", "list", "room", "0-0"):
        assert cli.json("room", "create", name, "capacity=1")["name"] == name == cli.json("room", "show", name)["name"]
