#!/usr/bin/python3
"""A small ticket shop to put the gateway in front of. It shows its own load, and it can be overloaded.

The server is a model: every page needs one of a few database connections for a short while, an export needs one for seconds, and everything
gets slower when more people are inside than the shop was made for. All state is in memory and bounded; nothing is sold.
"""

import argparse
import collections
import contextlib
import http.cookies
import http.server
import json
import secrets
import signal
import sys
import threading
import time
import urllib.parse

import pages

COMFORTABLE = 20  # people inside at once before the shop slows down
DATABASE_CONNECTIONS = 8
PAGE_SECONDS = 0.02  # a page holds a database connection this long
EXPORT_SECONDS = 3.0
ACTIVE_SECONDS = 20  # a visitor whose last click is younger counts as inside
MOST_SESSIONS = 10_000
MOST_BODY = 64 * 1024
COOKIE = "shop_session"


class Load:
    """What goes on in the shop right now. Every method is safe to call from any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = 0
        self.waiting = 0  # for a database connection
        self.sold = 0
        self.sessions = collections.OrderedDict()  # id -> session, the one that clicked last at the end
        self.page_times = collections.deque(maxlen=50)

    def session(self, wanted):
        """The session of that id, or a new one; it has clicked just now."""
        with self.lock:
            session = self.sessions.pop(wanted, None) or {"id": secrets.token_hex(8), "cart": None, "order": None}
            session["seen"] = time.monotonic()
            self.sessions[session["id"]] = session
            while len(self.sessions) > MOST_SESSIONS:
                self.sessions.popitem(last=False)
            return session

    def end(self, session):
        with self.lock:
            self.sessions.pop(session["id"], None)
            self.sold += session["cart"]["count"] if session["cart"] else 0

    def seen_within(self, seconds):
        oldest = time.monotonic() - seconds
        count = 0
        for session in reversed(self.sessions.values()):
            if session["seen"] < oldest:
                break
            count += 1
        return count

    def snapshot(self):
        with self.lock:
            inside = self.seen_within(ACTIVE_SECONDS)
            times = sorted(self.page_times)
            return {
                "running": self.running,
                "waiting": self.waiting,
                "inside": inside,
                "comfortable": COMFORTABLE,
                "last_minute": self.seen_within(60),
                "slowdown": round(slowdown(inside), 1),
                "page_ms": round(1000 * times[len(times) // 2]) if times else 0,
                "sold": self.sold,
            }


def slowdown(inside):
    """How many times longer than usual a page takes."""
    return min(1 + max(0, inside - COMFORTABLE) * 0.5, 60)


class Shop:
    def __init__(self):
        self.load = Load()
        self.database = threading.Semaphore(DATABASE_CONNECTIONS)

    @contextlib.contextmanager
    def working(self, seconds):
        """Holds a database connection for that long, longer in a crowded shop."""
        start = time.monotonic()
        with self.load.lock:
            self.load.running += 1
            self.load.waiting += 1
        try:
            with self.database:
                with self.load.lock:
                    self.load.waiting -= 1
                    inside = self.load.seen_within(ACTIVE_SECONDS)
                time.sleep(min(seconds * slowdown(inside), 2 * seconds + 2))
                yield
        finally:
            with self.load.lock:
                self.load.running -= 1
                if seconds == PAGE_SECONDS:
                    self.load.page_times.append(time.monotonic() - start)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "demo-shop"
    sys_version = ""
    timeout = 90  # s; longer than a gateway keeps an idle connection, so that it is the one to close it
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024  # head and body leave in one write
    shop = None

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/load":
            self.answer(json.dumps(self.shop.load.snapshot()).encode(), "application/json")
        elif path == "/healthz":
            self.answer(b"ok\n", "text/plain")
        elif path in pages.FILES:
            self.answer(*pages.FILES[path], cache="max-age=600")
        else:
            self.visit(path)

    do_HEAD = do_GET

    def do_POST(self):
        form = self.read_form()
        if form is None:
            return
        path = urllib.parse.urlsplit(self.path).path
        session = self.session()
        with self.shop.working(PAGE_SECONDS):
            target = self.take_step(path, form, session)
        if target:
            self.redirect(target, session)
        else:
            self.page(pages.not_found(), session, status=404)

    def take_step(self, path, form, session):
        """One step of a purchase; where to go next, or None."""
        if path == "/cart" and form.get("event") in pages.EVENTS:
            count = form.get("count", "")
            session["cart"] = {"event": form["event"], "count": int(count) if count in ("1", "2", "3", "4") else 1}
            return "/checkout"
        if path == "/checkout" and session["cart"]:
            session["name"] = form.get("name", "").strip()[:60] or "Guest"
            return "/checkout/pay"
        if path == "/checkout/pay" and session["cart"]:
            session["order"] = secrets.token_hex(3).upper()
            return "/thanks"
        return None

    def visit(self, path):
        session = self.session()
        if path == "/export":
            with self.shop.working(EXPORT_SECONDS):
                body = pages.export(self.shop.load.snapshot())
            self.page(body, session)
            return
        with self.shop.working(PAGE_SECONDS):
            body = self.render(path, session)
        if path == "/thanks" and session["order"]:
            # The gateway takes this header out and gives the place to the next in line.
            self.shop.load.end(session)
            self.page(body, None, headers=[("Fairway-Session", "end"), ("Set-Cookie", f"{COOKIE}=; Path=/; Max-Age=0")])
        elif body:
            self.page(body, session)
        else:
            self.page(pages.not_found(), session, status=404)

    def render(self, path, session):
        if path == "/":
            return pages.home()
        if path.startswith("/events/"):
            event = path.removeprefix("/events/")
            return pages.event(event) if event in pages.EVENTS else None
        if path in ("/checkout", "/checkout/pay", "/thanks") and not session["cart"]:
            return pages.empty_cart()
        if path == "/checkout":
            return pages.checkout(session["cart"])
        if path == "/checkout/pay":
            return pages.pay(session["cart"], session.get("name", "Guest"))
        if path == "/thanks":
            return pages.thanks(session["cart"], session.get("name", "Guest"), session["order"]) if session["order"] else None
        return None

    def session(self):
        try:
            cookie = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except http.cookies.CookieError:
            cookie = None
        return self.shop.load.session(cookie.value if cookie else None)

    def read_form(self):
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MOST_BODY:
            self.close_connection = True
            self.answer(b"too large\n", "text/plain", status=413)
            return None
        body = self.rfile.read(int(length)).decode("utf-8", "replace")
        fields = (pair.partition("=") for pair in body.split("&"))
        return {urllib.parse.unquote_plus(name): urllib.parse.unquote_plus(value) for name, _, value in fields}

    def page(self, body, session, status=200, headers=()):
        if session:
            headers = [*headers, ("Set-Cookie", f"{COOKIE}={session['id']}; Path=/; HttpOnly; SameSite=Lax")]
        text = pages.frame(body, self.shop.load.snapshot())
        self.answer(text.encode(), "text/html; charset=utf-8", status, headers)

    def redirect(self, target, session):
        cookie = f"{COOKIE}={session['id']}; Path=/; HttpOnly; SameSite=Lax"
        self.answer(b"", "text/plain", 303, [("Location", target), ("Set-Cookie", cookie)])

    def answer(self, body, kind, status=200, headers=(), cache="no-store"):
        self.send_response(status)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(body))), ("Cache-Control", cache), *headers]:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # whoever hangs up is no error
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8081, help="0 takes a free one; the first line of output names it [8081]")
    options = parser.parse_args()
    Handler.shop = Shop()
    with Server(("127.0.0.1", options.port), Handler) as server:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
