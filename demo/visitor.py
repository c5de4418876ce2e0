"""A simulated browser: keeps cookies, follows redirects, waits in line as it is told. Loopback only."""

import asyncio
import ipaddress
import json
import socket
import urllib.parse

TIMEOUT = 30  # s for one answer
MOST_BODY = 4 * 1024 * 1024
MOST_REDIRECTS = 10


class NotLoopback(Exception):
    pass


class Trouble(Exception):
    """No proper HTTP answer."""


class Site:
    """Where the crowd goes: host and port of a URL whose host is this machine."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise NotLoopback(f"{url} is no http:// URL")
        self.port = parts.port or 80
        self.host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self.host += "" if self.port == 80 else f":{self.port}"
        try:
            found = socket.getaddrinfo(parts.hostname, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise NotLoopback(f"{parts.hostname} has no address: {error}") from error
        self.addresses = list(dict.fromkeys(entry[4][0] for entry in found))
        if not all(ipaddress.ip_address(address).is_loopback for address in self.addresses):
            raise NotLoopback(f"{parts.hostname} is not this machine; the crowd stays at home")

    async def connect(self):
        """To the addresses found at the start, never to whatever the name means later."""
        for address in self.addresses:
            try:
                return await asyncio.open_connection(address, self.port)
            except OSError as error:
                last = error
        raise Trouble(f"nothing answers at {self.host}: {last}")


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # (lower-case name, value) pairs
        self.body = body

    def header(self, name, otherwise=None):
        return next((value for key, value in self.headers if key == name), otherwise)

    def json(self):
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def retry_after(self):
        """Seconds, as the body or the header says, within reason."""
        told = self.json().get("retry_after", self.header("retry-after"))
        try:
            return min(max(float(told), 0.2), 60)
        except (TypeError, ValueError):
            return 5.0


async def read_body(reader, headers, has_body):
    lengths = {name: value for name, value in headers if name in ("content-length", "transfer-encoding")}
    if not has_body:
        return b""
    if lengths.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
            if len(body) > MOST_BODY:
                raise Trouble("a larger answer than the crowd can carry")
        return body
    if "content-length" in lengths:
        return await reader.readexactly(min(int(lengths["content-length"]), MOST_BODY))
    return await reader.read(MOST_BODY)


class Browser:
    def __init__(self, site, name):
        self.site = site
        self.name = name
        self.cookies = {}

    async def request(self, method, path, form=None, page=True):
        """One request, one answer; no redirect is followed."""
        try:
            async with asyncio.timeout(TIMEOUT):
                return await self._request(method, path, form, page)
        except (OSError, EOFError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise Trouble(f"{method} {path}: {type(error).__name__}") from error

    async def _request(self, method, path, form, page):
        reader, writer = await self.site.connect()
        try:
            writer.write(self._head(method, path, form, page))
            status_line = (await reader.readline()).split()
            if len(status_line) < 2 or not status_line[1].isdigit():
                raise Trouble(f"{method} {path}: no HTTP answer")
            headers = []
            while (line := (await reader.readline()).strip()) != b"":
                name, _, value = line.decode("latin-1").partition(":")
                headers.append((name.lower(), value.strip()))
            status = int(status_line[1])
            self._keep_cookies(headers)
            body = await read_body(reader, headers, method != "HEAD" and status not in (204, 304))
            return Answer(status, headers, body)
        finally:
            writer.close()

    def _head(self, method, path, form, page):
        body = urllib.parse.urlencode(form).encode() if form is not None else b""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.site.host}", f"User-Agent: {self.name}", "Connection: close", "Sec-Fetch-Site: same-origin"]
        lines += ["Accept: text/html", "Sec-Fetch-Mode: navigate"] if page else ["Accept: application/json", "Sec-Fetch-Mode: cors"]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        if form is not None or method == "POST":
            lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def _keep_cookies(self, headers):
        for name, value in headers:
            if name != "set-cookie":
                continue
            pair, *attributes = (part.strip() for part in value.split(";"))
            key, _, content = pair.partition("=")
            if any(attribute.lower() == "max-age=0" for attribute in attributes):
                self.cookies.pop(key, None)
            else:
                self.cookies[key] = content

    async def open(self, path, method="GET", form=None):
        """A page as a browser opens it: redirects are followed."""
        for _ in range(MOST_REDIRECTS):
            answer = await self.request(method, path, form)
            if answer.status not in (301, 302, 303, 307):
                return answer
            if answer.status in (302, 303):
                method, form = "GET", None
            target = urllib.parse.urlsplit(urllib.parse.urljoin(f"http://{self.site.host}{path}", answer.header("location", "/")))
            path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        raise Trouble(f"{path}: too many redirects")

    def room(self):
        """The room that gave this browser a ticket or a pass, or None."""
        for name in self.cookies:
            for start in ("fairway_ticket_", "fairway_pass_"):
                if name.startswith(start):
                    return name.removeprefix(start)
        return None

    async def status(self):
        return await self.request("GET", f"/__fairway/{self.room()}/status", page=False)

    async def leave(self):
        if self.room():
            await self.request("POST", f"/__fairway/{self.room()}/leave", page=False)
