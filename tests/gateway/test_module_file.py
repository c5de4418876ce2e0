"""The module as a file: what it exports, and that the distribution's nginx takes it in every state of configuration."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(os.environ.get("FAIRWAY_MODULE", ROOT / "build/ngx_http_fairway_module.so"))
PRELOAD = os.environ.get("FAIRWAY_NGINX_PRELOAD", "")
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
LOADER_TABLES = {"ngx_modules", "ngx_module_names", "ngx_module_order"}


def symbols(*options):
    """Pairs of type letter and name of the module's dynamic symbols."""
    listing = subprocess.run(["nm", "-D", *options, MODULE], capture_output=True, text=True, check=True, timeout=60).stdout
    return {tuple(line.split("@")[0].split()[-2:]) for line in listing.splitlines()}


def check(tmp_path, http, copies=1):
    """nginx -t on a configuration that loads the module; nothing of it leaves tmp_path."""
    conf = tmp_path / "nginx.conf"
    conf.write_text(f"load_module {MODULE};\n" * copies + f"pid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\nevents {{}}\n{http}")
    environment = dict(os.environ, LD_PRELOAD=PRELOAD, ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0")
    return subprocess.run([NGINX, "-t", "-p", tmp_path, "-c", conf], env=environment, capture_output=True, text=True, timeout=60)


def test_exports_the_loader_tables_and_nothing_else():
    # nginx opens modules with RTLD_GLOBAL: one more name here and a second copy of the module would run the first copy's code.
    assert {name for _, name in symbols("--defined-only")} == LOADER_TABLES


def test_has_no_unique_symbols():
    # A unique symbol (template statics of default visibility) binds across copies and can never be unloaded.
    assert [name for kind, name in symbols() if kind == "u"] == []


@pytest.mark.parametrize("http", ["", "http { }", "http { access_log off; server { listen 127.0.0.1:1; } }"], ids=["none", "empty", "server"])
def test_loads_with_every_directive_off(tmp_path, http):
    answer = check(tmp_path, http)
    assert answer.returncode == 0, answer.stderr
    assert "test is successful" in answer.stderr


def test_is_refused_when_loaded_twice(tmp_path):
    answer = check(tmp_path, "http { }", copies=2)
    assert answer.returncode != 0
    assert "already loaded" in answer.stderr
