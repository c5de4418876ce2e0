"""Keys file and state folder: what start makes, what nginx -t leaves alone, what is said when they cannot be had."""

import base64
import os
import pwd
import stat

import pytest

from harness import tokens
from harness.http1 import request
from harness.nginx import ReloadRefused, StartFailed, check
from harness.visitor import Visitor

ROOM = "waiting_room sale { capacity 5; } server { listen @LISTEN@; waiting_room sale; location / { empty_gif; } }"
WORKER = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
OTHER = "nobody" if os.geteuid() == 0 else None


def key_line(name, letter="k"):
    return f"{name}:{base64.b64encode(letter.encode() * 32).decode()}\n"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def tree(folder):
    """All below a folder, with what would change if somebody touched it."""
    return {path: (path.lstat().st_ino, path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in [folder, *folder.rglob("*")]}


def ours(gateway):
    """The tree without what nginx itself touches: log, pid file, temporary folders."""
    nginx = (gateway.prefix, gateway.prefix / "error.log", gateway.prefix / "nginx.pid", gateway.prefix / "temp")
    return {path: seen for path, seen in tree(gateway.prefix).items() if path not in nginx and nginx[-1] not in path.parents}


def test_start_makes_folder_and_key(gateway):
    running = gateway(ROOM)
    assert (mode(running.state), running.state.stat().st_uid) == (0o700, WORKER)
    file = running.state / "keys"
    assert (mode(file), file.stat().st_uid) == (0o600, WORKER)
    [(name, secret)] = tokens.keys_of(running.keys)
    assert len(secret) == 32 and 1 <= len(name) <= 8 and name.isalnum()
    visitor = Visitor(running.address)
    assert visitor.page().status == 200
    assert visitor.passed.key == name
    assert tokens.write(visitor.passed, running.keys) == visitor.passed.text  # the file is what signs
    before = running.keys
    running.reload()
    running.restart()
    assert running.keys == before


def test_the_parent_of_the_folder_is_made(gateway):
    running = gateway("fairway_state @PREFIX@/a/state/;" + ROOM)
    state = running.prefix / "a" / "state"
    assert mode(state) == 0o700 and (state / "keys").is_file()
    assert "nothing is saved" not in running.log


@pytest.mark.parametrize("user", [None, OTHER], ids=["same-user", "other-user"])
def test_nothing_is_made_by_a_test(make_gateway, user):
    gateway = make_gateway(ROOM)
    gateway.prefix.chmod(0o777)  # the other user may write: it is not for lack of rights that nothing is made
    before = ours(gateway)
    assert before
    status, output = check(gateway, user)
    assert status == 0 and "test is successful" in output
    assert ours(gateway) == before


def test_a_test_while_serving(gateway, make_gateway):
    running = gateway(ROOM)
    visitor = Visitor(running.address)
    assert visitor.page().status == 200
    before = ours(running)
    assert check(running)[0] == 0
    other = make_gateway("fairway_state @FIRST@; fairway_store memory 1m;" + ROOM, first=running.state)
    other.prefix.chmod(0o777)
    other.ports.update(running.ports)
    other.write(other.http)
    status, output = check(other, OTHER)
    assert status == 0, output
    if OTHER is not None and WORKER != pwd.getpwnam(OTHER).pw_uid:
        assert "cannot be read by this user" in output
    assert ours(running) == before
    assert visitor.page().status == 200
    assert running.metrics().get("fairway_room_inside", room="sale") == 1
    running.reload()
    assert visitor.status().json["state"] == "admitted"


def test_unreadable_keys_are_a_warning_for_another_user(make_gateway):
    gateway = make_gateway("fairway_keys @PREFIX@/keys;" + ROOM)
    (gateway.prefix / "keys").write_text(key_line("one"))
    (gateway.prefix / "keys").chmod(0o600 if OTHER else 0)
    gateway.prefix.chmod(0o777)
    status, output = check(gateway, OTHER)
    assert status == 0
    assert '/keys" cannot be read by this user: it was not checked (13: Permission denied)' in output
    assert "[warn]" in output


@pytest.mark.parametrize("text, words", [
    ("", "keys"),
    ("# nothing\n", "keys"),
    ("one\n", "line 1"),
    ("# first\n\nlongerthan8:" + base64.b64encode(b"s" * 32).decode() + "\n", "line 3"),
    ("one:" + base64.b64encode(b"s" * 31).decode() + "\n", "line 1"),
    ("one:c2VjcmV0c2VjcmV0!\n", "line 1"),
    (key_line("one") + key_line("one", "l"), "line 2"),
])
def test_bad_keys_are_refused_without_showing_them(make_gateway, text, words):
    gateway = make_gateway("fairway_keys keys;" + ROOM)  # relative: beside the configuration
    file = gateway.prefix / "keys"
    file.write_text(text)
    file.chmod(0o600)
    status, output = check(gateway)
    assert status == 1
    message = next(line for line in output.splitlines() if "[emerg]" in line)
    assert f'keys file "{file}"' in message and words in message
    for secret in (part.split(":")[1].strip() for part in text.splitlines() if ":" in part):
        assert secret not in output


def test_what_is_no_file_is_refused(make_gateway):
    gateway = make_gateway("fairway_keys keys;" + ROOM)
    file = gateway.prefix / "keys"
    os.mkfifo(file)  # reading it would wait for ever
    assert "is not a regular file" in check(gateway)[1]
    file.unlink()
    file.mkdir()
    assert "is not a regular file" in check(gateway)[1]
    file.rmdir()
    file.write_text("#" * (64 * 1024 + 1))
    status, output = check(gateway)
    assert status == 1 and "is larger than 64k" in output


def test_keys_open_to_others_are_a_warning(make_gateway):
    gateway = make_gateway("fairway_keys keys;" + ROOM)
    file = gateway.prefix / "keys"
    file.write_text(key_line("one"))
    for rights, said in ((0o644, True), (0o640, True), (0o602, True), (0o600, False), (0o400, False)):
        file.chmod(rights)
        status, output = check(gateway)
        assert status == 0
        assert ("is open to other users: set its mode to 0600" in output) == said, oct(rights)


def test_rotation(make_gateway):
    running = make_gateway("fairway_keys keys;" + ROOM)
    file = running.prefix / "keys"
    file.write_text(key_line("old", "o"))
    file.chmod(0o600)
    running.start()
    early, late = Visitor(running.address), Visitor(running.address)
    assert early.page().status == 200 and early.passed.key == "old"
    file.write_text(key_line("new", "n") + key_line("old", "o"))
    running.reload()
    assert early.status().json["state"] == "admitted"
    assert late.page().status == 200 and late.passed.key == "new"
    file.write_text(key_line("new", "n"))
    running.reload()
    assert early.status().json["state"] == "unknown"
    assert late.status().json["state"] == "admitted"
    assert running.metrics().get("fairway_token_rejected_total", reason="unknown_key") >= 1
    file.write_text("broken\n")
    with pytest.raises(ReloadRefused, match="line 1"):
        running.reload()
    assert late.status().json["state"] == "admitted"
    assert key_line("new", "n").split(":")[1].strip() not in running.log


def test_keys_that_vanish_are_written_again(gateway):
    running = gateway(ROOM)
    visitor = Visitor(running.address)
    assert visitor.page().status == 200
    before = running.keys
    (running.state / "keys").unlink()
    running.reload()
    assert "is gone: the running keys are kept and written again" in running.log
    assert running.keys == before and mode(running.state / "keys") == 0o600
    assert visitor.status().json["state"] == "admitted"


def test_folder_that_cannot_be_made(make_gateway):
    running = make_gateway("fairway_state @PREFIX@/file/state;" + ROOM)
    (running.prefix / "file").write_text("in the way")
    running.start()
    assert '/file/state" cannot be made: nothing is saved (20: Not a directory)' in running.log
    assert "cannot be made: this gateway's tickets and passes are worth nothing after a restart" in running.log
    visitor = Visitor(running.address)
    assert visitor.page().status == 200
    running.reload()  # the key in memory goes on
    assert visitor.status().json["state"] == "admitted"
    assert running.quit() == 0
    assert (running.prefix / "file").read_text() == "in the way"


def test_folder_that_is_not_the_workers(make_gateway):
    running = make_gateway(ROOM)
    running.state.mkdir(mode=0o755)
    running.start()
    said = f'fairway_state "{running.state}" does not belong to the worker user (uid {WORKER}): nothing is saved' in running.log
    assert said == (os.geteuid() == 0)
    assert (mode(running.state), running.state.stat().st_uid) == (0o755, os.geteuid())  # somebody's folder is left as it is
    assert mode(running.state / "keys") == 0o600
    assert request(running.address, "GET", "/__fairway/health").status == 200


def test_folder_that_is_a_file(make_gateway):
    running = make_gateway("fairway_keys keys;" + ROOM)
    running.state.write_text("in the way")
    running.start()
    assert f'fairway_state "{running.state}" is not a folder: nothing is saved' in running.log
    assert Visitor(running.address).page().status == 200


def test_start_refuses_bad_keys(make_gateway):
    running = make_gateway("fairway_keys keys;" + ROOM)
    (running.prefix / "keys").write_text("nonsense\n")
    with pytest.raises(StartFailed, match="keys file"):
        running.start()
    assert not running.state.exists()
