"""An operator: calls of the API, and gateways that have one."""

import json

import pytest

from .http1 import request

CONSOLE = "server { listen @LISTEN2@; location /fairway/ { fairway_api; } }"


class Operator:
    """Calls below /fairway/api/ of the second address of a gateway (or of another address and prefix)."""

    def __init__(self, gateway, prefix="/fairway/", address=None):
        self.gateway, self.prefix, self.fixed = gateway, prefix, address

    @property
    def address(self):
        return self.fixed or self.gateway.address_of(2)

    def call(self, method, path, body=None, headers=(), raw=None):
        """The response, whose body is checked to be what its type says. `body`: JSON; `raw`: bytes in its place."""
        headers = list(headers)
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        if method in ("PUT", "POST") and not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", "application/json"))
        answer = request(self.address, method, f"{self.prefix}api/{path}", headers, data)
        assert answer.headers.one("Cache-Control") == "no-store"
        if answer.status >= 400:
            assert answer.headers.get("Content-Type") == "application/problem+json", answer
            assert answer.json["status"] == answer.status and answer.json["title"] and answer.json["detail"].endswith("."), answer.text
        elif answer.status != 204:
            assert answer.headers.get("Content-Type") == "application/json", answer
        return answer

    def get(self, path, **more):
        answer = self.call("GET", path, **more)
        assert answer.status == 200, answer
        return answer.json

    def put(self, path, body, status=200, **more):
        answer = self.call("PUT", path, body, **more)
        assert answer.status == status, answer
        return answer.json

    def post(self, path, body, status=200, **more):
        answer = self.call("POST", path, body, **more)
        assert answer.status == status, answer
        return answer.json

    def delete(self, path, status=204, **more):
        answer = self.call("DELETE", path, **more)
        assert answer.status == status, answer
        return answer

    def refused(self, status, method, path, body=None, **more):
        """The problem that a call is answered with."""
        answer = self.call(method, path, body, **more)
        assert answer.status == status, answer
        return answer.json


@pytest.fixture
def operated(room):
    """operated(settings="", text=…): (gateway, its operator) of the room `sale` with an API on the second address."""

    def make(settings="", text=None, **options):
        running = room(settings, **({"text": text} if text else {"text": ROOM}), **options)
        return running, Operator(running)

    return make


ROOM = """
    waiting_room sale { capacity 1; @SETTINGS@ }
    server { listen @LISTEN@;
        location / { waiting_room sale; proxy_pass http://@ORIGIN@; add_header X-Room "$waiting_room_state $waiting_room_name" always; }
    }
""" + CONSOLE
