"""A visitor as the gateway sees one: a browser with a cookie jar, or a program that carries its tokens in headers.

What a visitor does is written once, as steps: each step yields a request to send, or seconds to wait. Visitor takes them on blocking
sockets; AsyncVisitor on asyncio, for crowds."""

import asyncio
import resource
import time
from dataclasses import dataclass, field

from . import tokens
from .http1 import AsyncConnection, request

PAGE = (("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"),
        ("Sec-Fetch-Site", "none"))
CLIENT = (("Accept", "application/json"),)


def page_headers(headers):
    """Those of a page request, with these in place of its own of the same name."""
    named = {name for name, _ in headers}
    return [*(pair for pair in PAGE if pair[0] not in named), *headers]


@dataclass
class Cookie:
    name: str
    value: str
    attributes: dict = field(default_factory=dict)  # lower-case name: value, "" for flags


def parse_cookie(line):
    first, *rest = [part.strip() for part in line.split(";")]
    name, _, value = first.partition("=")
    return Cookie(name, value, {key.lower(): val for key, _, val in (part.partition("=") for part in rest)})


@dataclass
class Send:
    """A step: this request, please."""

    method: str
    target: str
    headers: list
    body: bytes = b""


class Person:
    """What both kinds of visitor know and do. Methods without underscore answer through `_drive`: at once, or as an awaitable."""

    def __init__(self, address, room="sale", cookies=True, language="en", headers=()):
        self.address = address
        self.room = room
        self.cookies = cookies  # False: tokens go in Fairway-Ticket and Fairway-Pass
        self.extra = [("Accept-Language", language), *headers]
        self.jar = {}  # name: Cookie
        self.carried = {}  # header name: token, when `cookies` is False
        self.last = None  # the latest Response
        self.history = []  # of (target, status)

    # What the visitor holds

    @property
    def ticket(self):
        return self._token("ticket")

    @property
    def passed(self):
        """The pass; `pass` is a word of the language."""
        return self._token("pass")

    def _token(self, kind):
        if self.cookies:
            cookie = self.jar.get(f"fairway_{kind}_{self.room}")
            text = cookie.value if cookie else ""
        else:
            text = self.carried.get(f"Fairway-{kind.title()}", "")
        return tokens.parse(text) if text else None

    def set_cookie(self, name, value):
        self.jar[name] = Cookie(name, value)

    def forget(self, *kinds):
        """Drops the ticket, the pass or (no names) everything."""
        for kind in kinds or ("ticket", "pass"):
            self.jar.pop(f"fairway_{kind}_{self.room}", None)
            self.carried.pop(f"Fairway-{kind.title()}", None)

    # What the visitor does

    def request(self, method, target, headers=(), body=b""):
        return self._drive(self._request(method, target, headers, body))

    def page(self, target="/", method="GET", headers=(), body=b"", follow=True):
        """As a browser that was sent to `target`; goes where redirects lead, five at most."""
        return self._drive(self._page(target, method, headers, body, follow))

    def client(self, target="/", method="GET", headers=(), body=b""):
        """As a script or a program: no redirect is followed."""
        return self._drive(self._request(method, target, [*CLIENT, *headers], body))

    def status(self):
        return self._drive(self._request("GET", self.own("status"), CLIENT))

    def leave(self, headers=(("Sec-Fetch-Site", "same-origin"),)):
        return self._drive(self._request("POST", self.own("leave"), [*CLIENT, *headers]))

    def enter(self, target="/", limit=600):
        """Opens the page, then polls as told until it is let in, and answers the application's response. `limit`: polls at most."""
        return self._drive(self._enter(target, limit))

    def own(self, action):
        return f"/__fairway/{self.room}/{action}"

    def _request(self, method, target, headers, body=b""):
        sent = [*headers, *self.extra]
        if self.cookies and self.jar:
            sent.append(("Cookie", "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar.values())))
        sent += self.carried.items()
        response = yield Send(method, target, sent, body)
        self._absorb(response)
        self.last = response
        self.history.append((target, response.status))
        return response

    def _absorb(self, response):
        for line in response.headers.all("Set-Cookie"):
            cookie = parse_cookie(line)
            if cookie.attributes.get("max-age") == "0" or not cookie.value:
                self.jar.pop(cookie.name, None)
            elif self.cookies:
                self.jar[cookie.name] = cookie
        if not self.cookies:
            for name in ("Fairway-Ticket", "Fairway-Pass"):
                if value := response.headers.get(name):
                    self.carried[name] = value

    def _page(self, target, method, headers, body, follow):
        response = yield from self._request(method, target, page_headers(headers), body)
        for _ in range(5):
            if not follow or response.status not in (301, 302, 303) or not response.location:
                break
            assert response.location.startswith("/"), response.location
            response = yield from self._request("GET", response.location, page_headers(headers))
        return response

    def _enter(self, target, limit):
        response = yield from self._page(target, "GET", (), b"", True)
        for _ in range(limit):
            if "Retry-After" not in response.headers:
                return response
            yield float(response.headers.one("Retry-After"))
            answer = yield from self._request("GET", self.own("status"), CLIENT)
            while answer.json["state"] != "admitted":
                limit -= 1
                assert limit > 0, f"still not inside: {answer.json}"
                yield float(answer.json["retry_after"])
                answer = yield from self._request("GET", self.own("status"), CLIENT)
            response = yield from self._page(target, "GET", (), b"", True)
        raise AssertionError(f"still not inside: {response}")


class Visitor(Person):
    """`source`: the local address to come from (127.0.0.2, …). `tls`: an ssl.SSLContext. One connection a request."""

    def __init__(self, address, *args, source=None, tls=None, **more):
        super().__init__(address, *args, **more)
        self.options = {"source": source, "tls": tls}

    def _exchange(self, step):
        return request(self.address, step.method, step.target, step.headers, step.body, **self.options)

    def _drive(self, steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, Send):
                    step = steps.send(self._exchange(step))
                else:
                    time.sleep(step)
                    step = next(steps)
        except StopIteration as end:
            return end.value


class AsyncVisitor(Person):
    """The same with awaitables, on one connection that is kept alive."""

    def __init__(self, address, *args, source=None, **more):
        super().__init__(address, *args, **more)
        self.connection = AsyncConnection(address, source)

    def close(self):
        self.connection.close()

    async def _drive(self, steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, Send):
                    step = steps.send(await self.connection.request(step.method, step.target, step.headers, step.body))
                else:
                    await asyncio.sleep(step)
                    step = next(steps)
        except StopIteration as end:
            return end.value


def crowd(address, count, visit, at_once=None, **options):
    """Runs `await visit(visitor, index)` for `count` visitors, `at_once` of them at a time (all), and returns what they answered in order."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * count + 1024:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count + 1024), hard))

    async def one(index, gate):
        async with gate:
            visitor = AsyncVisitor(address, **options)
            try:
                return await visit(visitor, index)
            finally:
                visitor.close()

    async def everybody():
        gate = asyncio.Semaphore(at_once or count)
        return await asyncio.gather(*(one(index, gate) for index in range(count)))

    return asyncio.run(everybody())
