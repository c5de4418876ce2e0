"""The operator's half of the command against a gateway's API, also on a terminal of its own."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from .command import COMMAND, clean_environment, fairway
from .limits import scaled


class Cli:
    """Calls of `fairway room` and `fairway queue` about one gateway."""

    def __init__(self, address, **environment):
        self.url = f"http://{address[0]}:{address[1]}/fairway/"
        self.environment = {"FAIRWAY_API": self.url, **environment}

    def __call__(self, *arguments, status=0, **environment):
        """What it printed, when it ended with that status: standard output for 0, else standard error, which is one line then."""
        done = fairway(*arguments, **{**self.environment, **environment})
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        if status == 0:
            assert done.stderr == "", done.stderr
            return done.stdout
        assert done.stdout == "" and done.stderr.startswith("fairway: ") and done.stderr.count("\n") == 1, done
        return done.stderr

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json"))


class Terminal:
    """The command on a terminal of so many columns and rows; everything it writes there, and what is typed, goes through here."""

    def __init__(self, *arguments, columns=80, rows=24, **environment):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.text = ""
        self.process = subprocess.Popen([COMMAND, *arguments], stdin=slave, stdout=slave, stderr=slave, env=clean_environment(**environment),
                                        start_new_session=True, preexec_fn=self._sit_down)
        self.slave = slave

    @staticmethod
    def _sit_down():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background of a script ignores it

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, holds, seconds=10):
        """Reads until holds(everything so far); returns what came meanwhile."""
        start, deadline = len(self.text), time.monotonic() + scaled(seconds)
        while not holds(self.text):
            assert time.monotonic() < deadline, self.text
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
        return self.text[start:]

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self, number=signal.SIGINT):
        """Ends it by the signal; returns its exit status."""
        self.process.send_signal(number)
        return self.finish()

    def finish(self):
        status = self.process.wait(scaled(10))
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536).decode("utf-8", "replace")
        return status

    @property
    def restored(self):
        """Whether the terminal is as it was: first screen, cursor, echo."""
        return "\x1b[?25h\x1b[?1049l" in self.text and termios.tcgetattr(self.slave) == self.before
