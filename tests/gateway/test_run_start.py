"""`fairway run`: its state folder, and what it says when it cannot start."""

import os
import re
import shutil
import socket
import stat
import subprocess

import pytest

from harness.command import COMMAND, Running, fairway
from harness.http1 import request
from harness.nginx import MODULE, NGINX, free_port


def upstream_of(origin):
    return "--upstream", f"http://{origin}"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def run(tmp_path, *arguments, **values):
    """A run that must fail, with a state folder of its own."""
    given = {"FAIRWAY_UPSTREAM": "http://127.0.0.1:9", "FAIRWAY_LISTEN": free_port(), "FAIRWAY_STATE": tmp_path / "state", "HOME": tmp_path}
    return fairway("run", *arguments, **{**given, **values})


def says(done, *parts):
    assert done.returncode == 1, done.stderr
    for part in parts:
        assert part in done.stderr
    return True


def test_state_folder_is_private(running, origin):
    gateway = running(*upstream_of(origin), "--capacity", "1")
    assert mode(gateway.state) == 0o700
    assert mode(gateway.state / "keys") == mode(gateway.state / "nginx.conf") == 0o600
    text = (gateway.state / "nginx.conf").read_text()
    assert text.startswith("# ") and "waiting_room site {" in text


def test_default_state_folder(running, origin):
    gateway = running(*upstream_of(origin), default_state=True)
    assert gateway.state == gateway.folder / ".local/state/fairway"
    assert {path.name for path in gateway.state.iterdir()} == {"keys", "lock", "nginx.conf", "nginx.pid", "work"}
    assert mode(gateway.state) == mode(gateway.folder / ".local") == 0o700
    assert gateway.end() == 0 and not (gateway.state / "nginx.pid").exists()


def test_finds_nginx_and_the_module_by_itself(running, origin):
    gateway = running(*upstream_of(origin), "--capacity", "1", FAIRWAY_NGINX=None, FAIRWAY_MODULE=None)
    assert f"load_module {COMMAND.parent}/ngx_http_fairway_module.so;" in (gateway.state / "nginx.conf").read_text()


def test_keys_outlive_a_restart(running, origin, tmp_path):
    folder = tmp_path / "gateway"
    folder.mkdir(mode=0o755)
    first = Running(*upstream_of(origin), folder=folder)
    keys = (first.state / "keys").read_text()
    assert first.end() == 0
    again = running(*upstream_of(origin), folder=folder)
    assert (again.state / "keys").read_text() == keys


def test_keys_in_a_file_of_their_own(running, origin, tmp_path):
    gateway = running(*upstream_of(origin), "--keys", tmp_path / "my-keys")
    assert mode(tmp_path / "my-keys") == 0o600 and not (gateway.state / "keys").exists()


def test_keys_that_others_can_read_are_a_warning(running, origin, tmp_path):
    fairway("keys", "new", "--output", tmp_path / "keys")
    (tmp_path / "keys").chmod(0o644)
    assert "open to other users" in running(*upstream_of(origin), "--capacity", "1", "--keys", tmp_path / "keys").stderr


def test_keys_that_are_none(tmp_path):
    (tmp_path / "keys").write_text("hunter2\n")
    done = run(tmp_path, "--capacity", "1", "--keys", tmp_path / "keys")
    assert says(done, f"--keys: {tmp_path}/keys is not a keys file: line 1: expected KEYID:BASE64") and "hunter2" not in done.stderr
    assert done.stderr.count("\n") == 1 and "nginx.conf" not in done.stderr


def test_password_file_of_the_console(tmp_path, running, origin):
    assert says(run(tmp_path, "--console-password-file", tmp_path / "none"), "No such file")
    (tmp_path / "password").write_text("\n")
    assert says(run(tmp_path, "--console-password-file", tmp_path / "password"), "no password in")
    (tmp_path / "password").write_text("hunter2\n")
    gateway = running(*upstream_of(origin), "--console-allow", "10.0.0.0/8", "--console-password-file", tmp_path / "password")
    assert "hunter2" not in (gateway.state / "nginx.conf").read_text()


def test_port_that_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert says(run(tmp_path, "--listen", port), f"127.0.0.1:{port}", "the port is taken", "--listen")
    assert not (tmp_path / "state").exists()


def test_address_that_is_not_ours(tmp_path):
    assert says(run(tmp_path, "--listen", f"192.0.2.1:{free_port()}"), "does not have that address")


def test_nginx_that_is_missing(tmp_path):
    assert says(run(tmp_path, FAIRWAY_NGINX=tmp_path / "nginx"), "FAIRWAY_NGINX")
    assert not (tmp_path / "state").exists()


def test_nginx_that_is_no_program(tmp_path):
    broken = tmp_path / "nginx"
    broken.write_text("this is no program")
    broken.chmod(0o755)
    assert says(run(tmp_path, FAIRWAY_NGINX=broken), "Exec format error")


def test_module_that_is_missing(tmp_path):
    assert says(run(tmp_path, FAIRWAY_MODULE=tmp_path / "module.so"), "FAIRWAY_MODULE")


def test_module_that_is_no_module(tmp_path):
    (tmp_path / "module.so").write_bytes(b"\x7fELF")
    assert says(run(tmp_path, FAIRWAY_MODULE=tmp_path / "module.so"), "cannot load the module")


def patched_module(tmp_path, old, new):
    content = MODULE.read_bytes()
    assert old in content and len(old) == len(new)
    path = tmp_path / "module.so"
    path.write_bytes(content.replace(old, new))
    return path


def test_module_for_another_nginx(tmp_path):
    version = re.search(r"nginx/([0-9.]+)", subprocess.run([NGINX, "-v"], capture_output=True, text=True, timeout=30).stderr)[1]
    number = int("{}{:03}{:03}".format(*map(int, version.split("."))))
    module = patched_module(tmp_path, number.to_bytes(4, "little"), (1_018_000).to_bytes(4, "little"))
    assert says(run(tmp_path, FAIRWAY_MODULE=module), f"built for nginx 1.18.0, this is nginx {version}")


def test_module_for_an_nginx_with_other_options(tmp_path):
    signature = re.search(rb"[0-9],[0-9],[0-9],[01]{20,}", MODULE.read_bytes())[0]
    module = patched_module(tmp_path, signature, signature[:-1] + (b"1" if signature.endswith(b"0") else b"0"))
    assert says(run(tmp_path, FAIRWAY_MODULE=module), "an nginx with other options")


def test_upstream_without_address(tmp_path):
    assert says(run(tmp_path, "--upstream", "http://nowhere.invalid"), "the host of --upstream has no address: nowhere.invalid")


def test_what_nginx_does_not_take_is_shown(tmp_path):
    assert says(run(tmp_path, "--store", "memory 1"), "nginx does not take the configuration", "fairway_store")


def test_state_folder_in_use(running, origin):
    gateway = running(*upstream_of(origin))
    second = fairway("run", *upstream_of(origin), "--listen", free_port(), "--state", gateway.state)
    assert says(second, "in use by another fairway run")
    assert request(gateway.address, "GET", "/").status == 200


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o720], ids=oct)
def test_state_folder_that_others_can_write_to(tmp_path, bits):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(bits)
    assert says(run(tmp_path), "others can write to")
    assert list((tmp_path / "state").iterdir()) == []


def test_state_folder_with_other_things_is_left_as_it_is(running, origin, tmp_path):
    (tmp_path / "state").mkdir(mode=0o755)
    (tmp_path / "state/mine").write_text("")
    gateway = running(*upstream_of(origin), folder=tmp_path)
    assert mode(gateway.state) == 0o755 and mode(gateway.state / "nginx.conf") == 0o600


def test_empty_state_folder_is_closed(running, origin, tmp_path):
    (tmp_path / "state").mkdir(mode=0o755)
    assert mode(running(*upstream_of(origin), folder=tmp_path).state) == 0o700


def test_state_that_is_a_file(tmp_path):
    (tmp_path / "state").write_text("")
    assert says(run(tmp_path), "not a folder")


def test_without_root(running, origin):
    """Everything belongs to whoever starts it, and nothing needs more rights."""
    user = "nobody" if os.geteuid() == 0 else None
    gateway = running(*upstream_of(origin), "--capacity", "1", as_user=user)
    assert request(gateway.address, "GET", "/robots.txt").status == 200
    assert "[warn]" not in gateway.stderr
    assert request(gateway.address, "POST", "/robots.txt", body=b"x" * 100_000).status == 200  # through a file in client_body
    assert {path.owner() for path in gateway.state.rglob("*")} == {gateway.state.owner()}
    assert (user or gateway.state.owner()) == gateway.state.owner()


def test_low_ports_need_root(tmp_path):
    """The port below which only root may listen is the kernel's choice; some containers have none."""
    first = int(open("/proc/sys/net/ipv4/ip_unprivileged_port_start").read())
    home = tmp_path
    if os.geteuid() == 0:
        home.chmod(0o777)
    user = "nobody" if os.geteuid() == 0 else None
    done = run(home, "--listen", max(first - 1, 1), as_user=user, FAIRWAY_LISTEN=None)
    assert done.returncode == 1
    assert ("need root" in done.stderr) == (first > 1), done.stderr


def test_root_does_not_use_another_users_folder(tmp_path):
    if os.geteuid() == 0:
        (tmp_path / "state").mkdir(mode=0o700)
        shutil.chown(tmp_path / "state", "nobody")
        assert says(run(tmp_path), "belongs to another user")
    else:
        assert says(fairway("run", "--upstream", "http://127.0.0.1:9", "--listen", free_port(), "--state", "/proc/state"), "cannot")
