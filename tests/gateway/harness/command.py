"""The fairway command as a child of the test: run to its end, or as a gateway in the foreground that must leave nothing behind."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .built import COMMAND, MODULE
from .limits import scaled, wait_until
from .nginx import BAD_LINE, NGINX, SANITIZER, environment, free_port, processes_of



def clean_environment(**values):
    """The test's environment without settings for the command but those given; None takes one away."""
    kept = {name: value for name, value in environment().items() if not name.startswith("FAIRWAY_")}
    kept.update({"FAIRWAY_MODULE": MODULE, "FAIRWAY_NGINX": NGINX, **values})
    return {name: str(value) for name, value in kept.items() if value is not None}


def fairway(*arguments, as_user=None, **values):
    """Runs the command to its end: a CompletedProcess with text. Keyword arguments go into its environment."""
    command = [*become(as_user), COMMAND, *map(str, arguments)]
    done = subprocess.run(command, env=clean_environment(**values), capture_output=True, text=True, timeout=scaled(30), stdin=subprocess.DEVNULL)
    assert not SANITIZER.search(done.stderr), done.stderr
    return done


def become(user):
    return ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups"] if user else []


class Running:
    """`fairway run` that has said that it is up, or has ended. `folder`: its home, with the state folder in it; default_state: without --state.
    one_file: both outputs go to one file, opened once, as a shell's 2>&1 does."""

    def __init__(self, *arguments, as_user=None, listen=None, folder=None, default_state=False, one_file=False, **values):
        self.folder = Path(folder or tempfile.mkdtemp(prefix="fairway-run-"))
        if as_user:
            shutil.chown(self.folder, as_user)
        self.state = self.folder / (".local/state/fairway" if default_state else "state")
        self.port = free_port()
        self.address = "127.0.0.1", self.port
        command = [*become(as_user), COMMAND, "run", "--listen", listen or self.port, *arguments]
        command += [] if default_state else ["--state", self.state]
        self._out = self.folder / "stdout.txt"
        self._err = self._out if one_file else self.folder / "stderr.txt"
        with open(self._out, "wb") as out, contextlib.nullcontext(out) if one_file else open(self._err, "wb") as err:
            self.process = subprocess.Popen([str(part) for part in command], env=clean_environment(HOME=self.folder, **values), stdout=out, stderr=err,
                                            stdin=subprocess.DEVNULL, start_new_session=True)
        self.session = self.process.pid
        wait_until(lambda: self.process.poll() is not None or "stop with Ctrl-C" in self.stderr, 20, message="fairway run did not start")

    @property
    def stdout(self):
        return self._out.read_text()

    @property
    def stderr(self):
        return self._err.read_text("utf-8", "replace")

    def processes(self):
        return processes_of(self.session)

    def end(self, number=signal.SIGTERM):
        """Sends the signal and returns the exit status, when every process of the gateway is gone."""
        self.process.send_signal(number)
        status = self.process.wait(scaled(20))
        wait_until(lambda: not self.processes(), 10, message="fairway run left processes behind")
        return status

    def close(self):
        """Ends what still runs, removes the files, and returns what is wrong with what was left."""
        problems = []
        if self.process.poll() is None:
            status = self.end()
            problems += [f"fairway run ended with status {status}: {self.stderr[-2000:]}"] if status != 0 else []
        for pid in self.processes():
            problems.append(f"process {pid} was left behind")
            os.kill(pid, signal.SIGKILL)
        problems += [f"it said: {line}" for line in self.stderr.splitlines() if BAD_LINE.search(line) or SANITIZER.search(line)]
        shutil.rmtree(self.folder, ignore_errors=True)
        return problems


def config_words(text):
    """nginx.conf as nested lists: [name, argument…] or [name, argument…, [directives]], read by nginx's rules for quotes and comments."""
    token = re.compile(r"""\s+|\#[^\n]*|(?P<mark>[;{}])|"(?P<double>(?:[^"\\]|\\.)*)"(?=[\s;{)])|'(?P<single>(?:[^'\\]|\\.)*)'(?=[\s;{)])|(?P<word>[^\s;{}"']+)""")
    stack, words, at = [[]], [], 0
    while at < len(text):
        match = token.match(text, at)
        assert match, f"not a configuration: {text[at:at + 80]!r}"
        at = match.end()
        if match["mark"] == ";":
            stack[-1].append(words)
            words = []
        elif match["mark"] == "{":
            block = []
            stack[-1].append([*words, block])
            stack.append(block)
            words = []
        elif match["mark"] == "}":
            assert not words and len(stack) > 1
            stack.pop()
        else:
            quoted = match["double"] if match["double"] is not None else match["single"]
            if quoted is not None:
                words.append(re.sub(r"\\([\"'\\])", r"\1", quoted))
            elif match["word"] is not None:
                words.append(match["word"])
    assert len(stack) == 1 and not words
    return stack[0]
