"""The module and the command under test: those of build/, or what FAIRWAY_MODULE and FAIRWAY_COMMAND name. A test as root runs them as other
users, too: from a checkout in a folder that is closed to these (root's home) they are copied to one that is open."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def _named(variable, default):
    return Path(os.environ.get(variable, ROOT / default)).resolve()


def _open_to_all(path):
    return all(folder.stat().st_mode & 0o001 for folder in path.parents)


def _where_all_may_read(paths):
    if os.geteuid() != 0 or not all(path.exists() for path in paths) or all(map(_open_to_all, paths)):
        return paths
    folder = Path(tempfile.mkdtemp(prefix="fairway-built-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [Path(shutil.copy(path, folder)) for path in paths]


MODULE, COMMAND = _where_all_may_read([_named("FAIRWAY_MODULE", "build/ngx_http_fairway_module.so"), _named("FAIRWAY_COMMAND", "build/fairway")])
