"""Real store servers as children of the test (STORE_BIN names the binary, redis-server by default), a client for looking into them, and a
server that misbehaves."""

import os
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from .limits import scaled, wait_until
from .nginx import free_port

BINARY = os.environ.get("STORE_BIN") or "redis-server"


class StoreError(Exception):
    """An error reply."""


class Connection:
    """A blocking connection that speaks as much of the protocol as the tests need."""

    def __init__(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self._socket = socket.socket(family)
        self._socket.settimeout(scaled(20))
        self._socket.connect(address)
        self._file = self._socket.makefile("rb")

    def __call__(self, *words):
        data = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(data) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in data))
        return self._read()

    def _read(self):
        line = self._file.readline()
        assert line.endswith(b"\r\n"), f"the store said {line!r}"
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise StoreError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self._file.read(int(rest) + 2)[:-2]
        assert kind == b"*", line
        return None if rest == b"-1" else [self._read() for _ in range(int(rest))]

    def close(self):
        self._file.close()
        self._socket.close()


class Store:
    """A server in a folder of its own, on a port of loopback and a unix socket. `options`: as on its command line."""

    def __init__(self, *options, sentinel=False, tls=None):
        self.folder = Path(tempfile.mkdtemp(prefix="fairway-store-"))
        self.folder.chmod(0o755)  # workers run as another user when the test is root
        self.port = free_port()  # the bus of a cluster is 10,000 above, where nobody else is given one
        self.tls_port = free_port() if tls else 0
        self.options, self.sentinel, self.tls = [str(option) for option in options], sentinel, tls
        self.process = None
        self.command = None
        self.start()

    @property
    def socket(self):
        return str(self.folder / "socket")

    @property
    def url(self):
        return f"valkey://127.0.0.1:{self.port}"

    def start(self):
        file = self.folder / "conf"  # a sentinel needs one that it may write
        file.write_text("")
        words = [BINARY, str(file), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--daemonize", "no",
                 "--logfile", str(self.folder / "log"), "--unixsocket", self.socket, "--unixsocketperm", "777"]
        if self.tls:
            certificate, key = self.tls
            words += ["--tls-port", str(self.tls_port), "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-auth-clients", "no"]
        words += ["--sentinel"] if self.sentinel else ["--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen([*map(str, words), *self.options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        wait_until(self._answers, 20, message="the store did not start")
        return self

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            self.command = Connection(self.socket)
            return True
        except (ConnectionRefusedError, FileNotFoundError):
            return False

    def kill(self):
        """Ends it as a crash would; what is not saved is lost."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.command.close()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def info(self, name, section="all"):
        """One field of INFO, as text."""
        for line in self.command("INFO", section).decode().splitlines():
            if line.startswith(name + ":"):
                return line.partition(":")[2]
        raise KeyError(name)

    def calls(self, command="evalsha"):
        """How often a command was called since the start."""
        try:
            return int(self.info(f"cmdstat_{command}", "commandstats").split(",")[0].partition("=")[2])
        except KeyError:
            return 0

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class BadStore:
    """Accepts connections and calls serve(connection) in a thread for each. Counts them and the commands that begin to arrive."""

    def __init__(self, serve):
        outer = self
        self.connections = 0
        self.asked = []  # time.monotonic() of each piece of input
        self.serve = serve
        self._open = set()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                outer.connections += 1
                outer._open.add(self.request)
                try:
                    outer.serve(outer, self.request)
                except OSError:
                    pass  # the gateway closed
                finally:
                    outer._open.discard(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"valkey://127.0.0.1:{self.port}"

    def read(self, connection):
        """A piece of input; b"" when the gateway closed."""
        data = connection.recv(65536)
        if data:
            self.asked.append(time.monotonic())
        return data

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._thread.join(scaled(10))
