"""`fairway run`: what it takes, what it refuses, and the nginx.conf that comes of it."""

import os
import shutil
import stat
import subprocess
from collections import Counter

import pytest

from harness import tokens
from harness.command import config_words, fairway
from harness.nginx import NGINX, environment

UPSTREAM = ("--upstream", "http://127.0.0.1:3000")

# Each flag of run with a value, and what of it must be found in the configuration.
FLAGS = [
    ("--upstream", "http://127.0.0.1:3999/", "server 127.0.0.1:3999 "),
    ("--listen", "0.0.0.0:8099", "listen 0.0.0.0:8099 "),
    ("--capacity", "77", "capacity 77;"),
    ("--rate", "5/m", "rate 5/m;"),
    ("--concurrency", "9", "concurrency 9;"),
    ("--store", "memory 48m", "fairway_store memory 48m;"),
    ("--state", "/var/lib/elsewhere", "pid /var/lib/elsewhere/nginx.pid;"),
    ("--keys", "/etc/elsewhere.keys", "fairway_keys /etc/elsewhere.keys;"),
    ("--bypass", "/hooks/ /ping", '"~^/ping" 1;'),
    ("--trust-proxy", "10.0.0.0/8 192.0.2.1", "set_real_ip_from 192.0.2.1/32;"),
    ("--client-ip-header", "X-Real-IP", "real_ip_header X-Real-IP;"),
    ("--preset", "cloudflare", "set_real_ip_from 104.16.0.0/13;"),
    ("--access-log", "/var/log/elsewhere.json", "access_log /var/log/elsewhere.json fairway_json;"),
]
NEEDED = {"--rate": ("--capacity", "1"), "--bypass": ("--capacity", "1"), "--client-ip-header": ("--trust-proxy", "10.0.0.0/8")}
NASTY = ['a"b', "a'b", "a;b", "a b", "a\nb", "a\r\nb", "a$b", "$uri", "a{b}", "a}b", "a#b", "a\\b", "${x}", "\x7f", "é",
         'x"; load_module evil.so; #', "x;\nload_module evil.so;\n"]


def printed(*arguments, **values):
    done = fairway("run", *arguments, "--print-config", **values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def arguments_for(flag, value):
    upstream = () if flag == "--upstream" else UPSTREAM
    return [*upstream, *NEEDED.get(flag, ()), flag, *(value.split() if flag in ("--bypass", "--trust-proxy") else [value])]


def test_version():
    done = fairway("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "fairway")
    assert done.stdout.split()[1][0].isdigit()


def test_help_names_every_flag_and_its_variable():
    text = fairway("run", "--help").stdout
    for flag, _, _ in FLAGS:
        assert f"{flag} " in text
        assert "FAIRWAY_" + flag[2:].upper().replace("-", "_") in text


@pytest.mark.parametrize("arguments, said", [
    ([], "--upstream is missing"),
    (["--upstream", "localhost:3000"], "http:// or https://"),
    (["--upstream", "http://x:99999"], "1 to 65535"),
    (["--upstream", "http://user:hunter2@x"], "not supported"),
    ([*UPSTREAM, "--listen", "example.com:80"], "127.0.0.1:8080"),
    ([*UPSTREAM, "--capacity", "many"], "a whole number from 0 to"),
    ([*UPSTREAM, "--capacity", "-1"], "a whole number from 0 to"),
    ([*UPSTREAM, "--rate", "5/s"], "needs --capacity"),
    ([*UPSTREAM, "--capacity", "1", "--rate", "5/h"], "N/s, N/m or off"),
    ([*UPSTREAM, "--concurrency", "0"], "a whole number from 1 to"),
    ([*UPSTREAM, "--store", "mysql://hunter2@db"], "give memory"),
    ([*UPSTREAM, "--bypass", "api"], "starting with /"),
    ([*UPSTREAM, "--trust-proxy", "10.0.0.0/40"], "10.0.0.0/8"),
    ([*UPSTREAM, "--client-ip-header", "X-Real-IP"], "needs --trust-proxy"),
    ([*UPSTREAM, "--trust-proxy", "10.0.0.0/8", "--client-ip-header", "X:"], "name of a header"),
    ([*UPSTREAM, "--preset", "apache"], "nginx or cloudflare"),
    ([*UPSTREAM, "--console-allow", "10.0.0.0/8"], "needs --console-password-file"),
    ([*UPSTREAM, "--access-log", "/tmp/$uri"], "$ is not allowed"),
    ([*UPSTREAM, "--capcity", "5"], "--capcity"),
], ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else "")
def test_wrong_arguments_get_one_line_and_make_nothing(tmp_path, arguments, said):
    done = fairway("run", *arguments, HOME=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.startswith("fairway: ") and done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr
    assert done.stdout == "" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["keys"], ["jump"], ["--jump"], ["keys", "jump"], ["keys", "new", "--jump"], ["ju\nmp"]], ids=" ".join)
def test_unknown_commands_are_wrong_usage(arguments):
    done = fairway(*arguments)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    unknown = [word.replace("\n", "?") for word in arguments if "mp" in word]
    assert all(word in done.stderr for word in unknown), done.stderr


@pytest.mark.parametrize("flag, value, found", FLAGS, ids=[flag for flag, _, _ in FLAGS])
def test_every_flag_has_an_environment_variable(flag, value, found):
    arguments = arguments_for(flag, value)
    by_flag = printed(*arguments)
    assert found in by_flag
    variable = "FAIRWAY_" + flag[2:].upper().replace("-", "_")
    assert printed(*arguments[:arguments.index(flag)], **{variable: value}) == by_flag


def test_the_flag_wins_over_the_environment():
    assert "capacity 3;" in printed(*UPSTREAM, "--capacity", "3", FAIRWAY_CAPACITY="4")


def test_defaults(tmp_path):
    text = printed(*UPSTREAM, "--capacity", "1", HOME=tmp_path)
    assert "listen 127.0.0.1:8080 default_server;" in text
    assert f"{tmp_path}/.local/state/fairway/keys" in text
    assert [line.strip() for line in text.splitlines() if '"~^/' in line] == [
        '"~^/[.]well-known/" 1;', '"~^/robots[.]txt" 1;', '"~^/favicon[.]ico" 1;']
    assert "fair_queue" not in text and "set_real_ip_from" not in text and "waiting_room site;" in text


def test_print_config_makes_nothing_and_needs_no_nginx(tmp_path):
    text = printed(*UPSTREAM, HOME=tmp_path, FAIRWAY_NGINX=tmp_path / "no-nginx", FAIRWAY_MODULE=tmp_path / "no-module")
    assert "proxy_pass http://fairway_upstream;" in text
    assert list(tmp_path.iterdir()) == []


def test_print_config_masks_secrets():
    text = printed(*UPSTREAM, FAIRWAY_STORE="valkeys://bob:hunter2@db:6379/1 password=hunter2")
    assert "hunter2" not in text
    assert "bob:****@db:6379/1" in text and "password=****" in text
    assert "password=@/run/secret" in printed(*UPSTREAM, "--store", "valkey://db password=@/run/secret")


def test_print_config_names_the_file_to_copy(tmp_path):
    head = printed(*UPSTREAM, "--state", tmp_path).partition("load_module")[0]
    assert f"{tmp_path}/nginx.conf" in head and "masked" in head and "copy this file" not in head


def names_of(block):
    """How often each directive is there, at any depth. Keys of maps are values; a path in --upstream adds two directives."""
    count = Counter()
    for words in block:
        count[words[0]] += words[0] not in ("proxy_redirect", "proxy_cookie_path")
        if isinstance(words[-1], list) and words[0] not in ("map", "geo"):
            count += names_of(words[-1])
    return count


@pytest.mark.parametrize("flag, harmless", [(flag, value) for flag, value, _ in FLAGS], ids=[flag for flag, _, _ in FLAGS])
def test_no_value_can_change_the_shape_of_the_configuration(flag, harmless):
    """A value is either refused as wrong usage, or it stays one argument: the same directives as ever, and no other."""
    first = harmless.split()[0]
    plain = names_of(config_words(printed(*arguments_for(flag, first))))
    assert plain["load_module"] == 1
    refused = 0
    for start in ("", first, first + " "):
        for nasty in NASTY:
            done = fairway("run", *arguments_for(flag, "x")[:-1], start + nasty, "--print-config")
            assert done.returncode in (0, 2), done.stderr
            refused += done.returncode == 2
            if done.returncode == 0:
                assert names_of(config_words(done.stdout)) == plain, repr(start + nasty)
    assert refused > 0  # line breaks at the least


def test_nginx_takes_quoted_values(tmp_path):
    """The same rules as nginx's own: a state folder, prefixes and a log with everything in their names that a file system allows."""
    state = tmp_path / "a \"b\"; '{c}' #d \\e é"
    state.mkdir(mode=0o700)
    (state / "work").mkdir()
    text = printed(*UPSTREAM, "--capacity", "1", "--state", state, "--bypass", "/a\";'\\{}$(.*)[é]+?^|", "--access-log", state / "log\"; x")
    config = tmp_path / "nginx.conf"
    config.write_text(text)
    done = subprocess.run([NGINX, "-t", "-q", "-e", "stderr", "-p", "./", "-c", config], cwd=state / "work", env=environment(), capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (state / "log\"; x").exists()


def test_keys_new_and_rotate(tmp_path):
    file = tmp_path / "keys"
    assert fairway("keys", "new", "--output", file).returncode == 0
    first = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = fairway("keys", "new", "--output", file)
    assert again.returncode == 1 and file.read_text() == first and "exists" in again.stderr
    file.write_text(first + "# mine\n")
    link = tmp_path / "link"
    link.symlink_to(file)
    if os.geteuid() == 0:
        shutil.chown(file, "nobody", "nogroup")
    owner = file.owner(), file.group()
    done = fairway("keys", "rotate", "--keys", link)
    assert done.returncode == 0 and "eload" in done.stdout
    lines = file.read_text().splitlines()
    name, secret = lines[1].split(":")  # below the head comment
    assert link.is_symlink() and "\n".join([lines[0], *lines[2:]]) + "\n" == first + "# mine\n"
    assert name in done.stdout and secret not in done.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and (file.owner(), file.group()) == owner
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys", "link"]


def test_a_second_key_waits_until_every_gateway_knows_it(tmp_path):
    file = tmp_path / "keys"
    fairway("keys", "new", "--output", file)
    old = tokens.keys_of(file.read_text())
    done = fairway("keys", "rotate", "--second", "--keys", file)
    assert done.returncode == 0 and "does not sign yet" in done.stdout
    first, second = tokens.keys_of(file.read_text())
    assert [first] == old and second[0] in done.stdout and second != first


def test_keys_to_standard_output_are_a_keys_file(tmp_path):
    file = tmp_path / "keys"
    file.write_text(fairway("keys", "new").stdout)
    assert fairway("keys", "rotate", FAIRWAY_KEYS=file).returncode == 0


@pytest.mark.parametrize("content, said", [(None, "No such file"), ("", "no key"), ("hunter2\n", "line 1"), ("a:b\n", "line 1")], ids=str)
def test_rotate_refuses_what_is_no_keys_file(tmp_path, content, said):
    file = tmp_path / "keys"
    if content is not None:
        file.write_text(content)
    done = fairway("keys", "rotate", "--keys", file)
    assert done.returncode == 1 and said in done.stderr and "hunter2" not in done.stderr
    assert (file.read_text() if content is not None else None) == content
