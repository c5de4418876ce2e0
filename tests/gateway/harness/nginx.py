"""The distribution's nginx as a child of the test: a whole configuration from a short text, and a strict look at what it leaves behind."""

import collections
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from . import metrics as prometheus
from .built import MODULE
from .http1 import request
from .limits import PRELOAD, scaled, wait_until

NGINX = shutil.which(os.environ.get("FAIRWAY_NGINX", "nginx"), path=os.environ["PATH"] + ":/usr/sbin")
UNDER = tuple(os.environ.get("FAIRWAY_NGINX_UNDER", "").split())
SANITIZER = re.compile(r"Sanitizer|runtime error|^==\d+== .*(Invalid|uninitialised|definitely lost: [1-9]|overlap)")
BAD_LINE = re.compile(r"\[(alert|emerg|crit)\]")
CLIENT_BYTES = re.compile(r' fairway: .*, (request|host|referrer): "')  # nginx adds them to what is said to a connection's log
TEMP_PATHS = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]

FRAME = """\
load_module @MODULE@;
@MODULES@
daemon off;
master_process @MASTER@;
worker_processes @WORKERS@;
@FILES@
pid @PREFIX@/nginx.pid;
error_log @PREFIX@/error.log @LOG_LEVEL@;
@MAIN@
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000;
@TEMP@
@STATE_LINE@
@HTTP@
@CONTROL@
}
"""
CONTROL = "    server { listen unix:@PREFIX@/control.sock; location = /metrics { fairway_metrics; } }"

# Ports for servers come from below those that the kernel gives to whoever connects, and each process of a test run has its own share of
# them: what was free a moment ago is not somebody's end of a connection a moment later.
FIRST_PORT, LAST_PORT = 10_000, 20_000
_own_share = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0) % 8
_chance = random.Random()
_ports_given = collections.deque(maxlen=500)


class StartFailed(Exception):
    """nginx ended before it listened; the text is what it wrote."""


class ReloadRefused(Exception):
    """nginx kept its old configuration; the text is what it wrote."""


def free_port():
    """A port of 127.0.0.1 that was free a moment ago and was not given to this process lately."""
    while True:
        port = _chance.randrange(FIRST_PORT, LAST_PORT) // 8 * 8 + _own_share
        if port in _ports_given:
            continue
        _ports_given.append(port)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def environment():
    values = {**os.environ, "LC_ALL": "C"}
    if PRELOAD:
        values.update(LD_PRELOAD=PRELOAD, ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0", UBSAN_OPTIONS="print_stacktrace=1")
    return values


def processes_of(session):
    """Pids of all processes of a session (the master began one), zombies aside."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(entry))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def title(pid):
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode("latin-1").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Gateway:
    """`http`: what stands inside http {}. Places in it: @LISTEN@, @LISTEN2@, … (address:port), @PORT@, … (the port alone), @PREFIX@, @STATE@,
    @MODULE@ and @NAME@ for each keyword argument `name`. A place for fairway_state is given unless the text names one.

    main: lines at top level. modules: further modules to load. whole: `http` is the whole file. control: with a server for metrics().
    single: master_process off, one process that serves. under: a command that runs nginx, such as valgrind; FAIRWAY_NGINX_UNDER by default."""

    def __init__(self, http, workers=1, main="", modules=(), whole=False, control=True, single=False, log_level="info", under=UNDER, **values):
        self.prefix = Path(tempfile.mkdtemp(prefix="fairway-"))
        self.prefix.chmod(0o755)  # workers run as another user when the test is root
        self.state = self.prefix / "state"
        for name in TEMP_PATHS:
            (self.prefix / "temp" / name).mkdir(parents=True)
        self.workers_wanted = 0 if single else workers
        self.main, self.modules, self.whole, self.control, self.log_level = main, modules, whole, control, log_level
        self.under = under
        self.values = values
        self.ports = {}
        self.process = None
        self._allowed = []
        self._stderr = self.prefix / "stderr.txt"
        self.http = http
        self.write(http)

    # The configuration

    def write(self, http):
        """Writes the configuration; it counts from the next start or reload."""
        self.http = http
        frame = http if self.whole else FRAME
        self.config.write_text(self._fill(frame))

    @property
    def config(self):
        return self.prefix / "nginx.conf"

    def _fill(self, text):
        state_line = "" if self.whole or "fairway_state" in self.http else "    fairway_state @STATE@;"
        temp = "\n".join(f"    {name}_temp_path @PREFIX@/temp/{name};" for name in TEMP_PATHS)
        places = {"HTTP": self.http, "MAIN": self.main, "TEMP": temp, "STATE_LINE": state_line, "CONTROL": CONTROL if self.control else "",
                  "MODULES": "\n".join(f"load_module {module};" for module in self.modules), "LOG_LEVEL": self.log_level,
                  "FILES": "" if self.under else "worker_rlimit_nofile 16384;",  # valgrind keeps some to itself
                  "WORKERS": max(1, self.workers_wanted), "MASTER": "on" if self.workers_wanted else "off", "MODULE": MODULE, "STATE": self.state, "PREFIX": self.prefix,
                  **{name.upper(): value for name, value in self.values.items()}}

        def put(match):
            name = match[1]
            if port := re.fullmatch(r"(LISTEN|PORT)(\d*)", name):
                number = self._port(int(port[2] or 1))
                return f"127.0.0.1:{number}" if port[1] == "LISTEN" else str(number)
            return str(places[name])

        previous = None
        while text != previous:
            previous, text = text, re.sub(r"@([A-Z][A-Z_]*\d*)@", put, text)
        return text

    def _port(self, index):
        if index not in self.ports:
            self.ports[index] = free_port()
        return self.ports[index]

    @property
    def port(self):
        return self.ports[1]

    @property
    def address(self):
        return "127.0.0.1", self.port

    def address_of(self, index):
        return "127.0.0.1", self.ports[index]

    # Its life

    def start(self):
        for attempt in range(5):
            self._launch()
            try:
                self._wait_listening()
                return self
            except StartFailed as failure:
                if "Address already in use" not in str(failure) or attempt == 4:
                    raise
            self.ports = {}
            self.write(self.http)
            (self.prefix / "error.log").unlink(missing_ok=True)
        raise AssertionError("unreachable")

    def _launch(self):
        with open(self._stderr, "ab") as stderr:
            self.process = subprocess.Popen([*self.under, NGINX, "-p", self.prefix, "-c", self.config, "-e", self.prefix / "error.log"], env=environment(),
                                            stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, start_new_session=True)

    def _wait_listening(self):
        deadline = time.monotonic() + scaled(20)
        while not self._listens():
            if self.process.poll() is not None:
                self.process = None
                said = self.log + self.stderr
                self._allow_lines(said)
                raise StartFailed(said)
            assert time.monotonic() < deadline, f"nginx does not listen:\n{self.log}{self.stderr}"
            time.sleep(0.02)

    def _listens(self):
        for port in self.ports.values():
            try:
                socket.create_connection(("127.0.0.1", port), scaled(5)).close()
            except ConnectionRefusedError:
                return False
        return len(self.workers()) >= self.workers_wanted

    def reload(self, http=None):
        """SIGHUP, with a new text if given. Returns when new workers have taken over; raises ReloadRefused when nginx did not take it."""
        if http is not None:
            self.write(http)
        old, offset = set(self.workers()), len(self.log)
        self.process.send_signal(signal.SIGHUP)

        def done():
            fresh = self.log[offset:]
            if "[emerg]" in fresh:
                self._allow_lines(fresh)
                raise ReloadRefused(fresh)
            return "reconfiguring" in fresh and len(set(self.workers()) - old) >= self.workers_wanted and not old & set(self.workers())

        wait_until(done, 20, message="the reload did not take place")

    def stop(self):
        return self._end(signal.SIGTERM)

    def quit(self):
        return self._end(signal.SIGQUIT)

    def _end(self, number, seconds=20):
        """Returns the exit status; fails when processes are left."""
        self.process.send_signal(number)
        try:
            status = self.process.wait(scaled(seconds))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"nginx is still there after {number!r}:\n{self.log[-4000:]}") from None
        session = self.process.pid
        self.process = None
        wait_until(lambda: not processes_of(session), 10, message="nginx left processes behind")
        return status

    def restart(self):
        """Stop and start with the same files and ports."""
        self.stop()
        return self.start()

    def workers(self):
        """Pids of the workers that take connections."""
        children = processes_of(self.process.pid) if self.process else []
        if self.under:  # nginx cannot write its title there
            return [pid for pid in children if pid != self.process.pid]
        return [pid for pid in children if title(pid) == "nginx: worker process"]

    def kill_worker(self, pid=None, number=signal.SIGKILL):
        """Kills one worker and waits until another one has its place. Returns the pid that is gone."""
        old = self.workers()
        pid = pid or old[0]
        self.allow(rf"worker process {pid} exited on signal {int(number)}", rf"shared memory zone .* was locked by {pid}$")
        os.kill(pid, number)
        wait_until(lambda: pid not in self.workers() and len(self.workers()) == len(old), 10, message="no new worker")
        return pid

    # What it says

    @property
    def log(self):
        file = self.prefix / "error.log"
        return file.read_text("utf-8", "replace") if file.exists() else ""

    @property
    def stderr(self):
        return self._stderr.read_text("utf-8", "replace") if self._stderr.exists() else ""

    def allow(self, *patterns):
        """Lines of level alert, emerg or crit that match one of these are part of the test."""
        self._allowed += [re.compile(pattern) for pattern in patterns]

    def _allow_lines(self, text):
        """What an exception says already need not be said again at the end."""
        self.allow(*(re.escape(line) for line in text.splitlines() if BAD_LINE.search(line)))

    def metrics(self):
        """The samples of fairway_metrics; see harness.metrics.Samples."""
        response = request(self.prefix / "control.sock", "GET", "/metrics")
        assert response.status == 200, response
        return prometheus.Samples(response.text)

    @property
    def keys(self):
        """The text of the keys file."""
        return (self.state / "keys").read_text()

    def close(self):
        """Ends what still runs, removes the files, and returns what is wrong with what was left."""
        problems = []
        if self.process is not None:
            session = self.process.pid
            if self.process.poll() is not None:
                problems.append(f"nginx ended by itself with status {self.process.returncode}")
            try:
                if self.process.poll() is None:
                    self._end(signal.SIGTERM)
            except AssertionError as error:
                problems.append(str(error))
            for pid in processes_of(session):
                os.kill(pid, signal.SIGKILL)
            self.process = None
        everything = self.log + self.stderr
        bad = [line for line in everything.splitlines() if BAD_LINE.search(line) and not any(p.search(line) for p in self._allowed)]
        bad += [line for line in everything.splitlines() if SANITIZER.search(line) or CLIENT_BYTES.search(line)]
        problems += [f"the log says: {line}" for line in dict.fromkeys(bad)]
        shutil.rmtree(self.prefix, ignore_errors=True)
        return problems


def check(gateway, user=None):
    """nginx -t on a gateway's file, as another user if given: (exit status, what it wrote)."""
    command = [NGINX, "-t", "-p", gateway.prefix, "-c", gateway.config, "-e", "stderr"]
    if user is not None:
        command = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", *command]
    answer = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=scaled(30))
    output = answer.stdout + answer.stderr
    assert not SANITIZER.search(output), output
    return answer.returncode, output
