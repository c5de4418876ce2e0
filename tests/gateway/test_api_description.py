"""The API's description is what it does: every answer is as described, and everything that is described is there."""

import pytest

from harness.http1 import request
from harness.operator import CONSOLE
from harness.schema import problems
from harness.visitor import Visitor

BOTH = """
    waiting_room sale { capacity 1; message "Hello"; @SETTINGS@ } fair_queue app { concurrency 2; }
    server { listen @LISTEN@; location / { waiting_room sale; fair_queue app; proxy_pass http://@ORIGIN@; } location /q { fair_queue app; proxy_pass http://@ORIGIN@; } }
""" + CONSOLE
TOUCH = {
    ("put", "/rooms/{name}"): [{"capacity": 2, "attach": [{"host": "a.example"}]}, {"capacity": None}, {"capacity": -1}, {"attach": 5}],
    ("post", "/rooms/{name}/mode"): [{"mode": "hold"}, {"mode": "normal"}, {"mode": "x"}],
    ("post", "/rooms/{name}/evict"): [{"all": True}, {"sid": "0" * 32, "line": True}, {"network": "198.51.100.0/24"}, {}],
    ("put", "/queues/{name}"): [{"concurrency": 3, "timeout": "5s"}, {"concurrency": None}, {"size": "x"}],
}


@pytest.fixture
def described(operated):
    """(gateway, operator, description) of a gateway in use."""
    running, operator = operated(text=BOTH, workers=2)
    for _ in range(3):
        Visitor(running.address).page("/")
    for _ in range(3):
        request(running.address, "GET", "/q")
    description = operator.get("openapi.json")
    assert description["openapi"] == "3.0.3"
    return running, operator, description


def operations(description):
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if method != "parameters":
                yield path, method, operation


def check(answer, operation, description):
    told = operation["responses"].get(str(answer.status))
    assert told, f"{operation['operationId']}: {answer.status} is not described"
    if "content" not in told:
        assert answer.body == b""
        return
    (kind, content), = told["content"].items()
    assert answer.headers.get("Content-Type") == kind
    assert problems(answer.json, content["schema"], description) == []
    assert set(told.get("headers", {})) <= {name for name, _ in answer.headers.pairs}


def test_every_answer_is_as_described(described):
    _, operator, description = described
    operator.put("rooms/made", {"capacity": 5}, status=201)
    operator.put("rooms/sale", {"rate": "9/s"})
    seen = set()
    for path, method, operation in operations(description):
        for name in ("app" if "queues" in path else "sale", "none", "made"):
            for body in TOUCH.get((method, path), [None]):
                target = path[1:].replace("{name}", name)
                answer = operator.call(method.upper(), target, body)
                check(answer, operation, description)
                seen.add((operation["operationId"], answer.status))
            if "{name}" not in path:
                break
    assert {(operation["operationId"], min(int(status) for status in operation["responses"])) for _, _, operation in operations(description)} <= seen


def test_every_refusal_is_as_described(described):
    _, operator, description = described
    for path, method, operation in operations(description):
        target = path[1:].replace("{name}", "app" if "queues" in path else "sale")
        for headers, raw in [([("Sec-Fetch-Site", "cross-site")], b"{}"), ([("Content-Type", "text/plain")], b"{}"), ([], b"x"), ([], b" " * 70_000),
                             ([("If-Match", '"x"')], b'{"mode": "hold"}'), ([("If-Match", '"x"')], b"{}")]:
            if method != "get":
                check(operator.call(method.upper(), target, raw=raw, headers=headers), operation, description)
        if method == "get" and operation.get("parameters"):
            argument = operation["parameters"][0]["name"]
            check(operator.call("GET", f"{target}?{argument}=x"), operation, description)


def test_what_is_sent_is_described_too(described):
    _, operator, description = described
    for (method, path), bodies in TOUCH.items():
        schema = description["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
        assert problems(bodies[0], schema, description) == [] and problems(bodies[-1], schema, description) != [] or bodies[-1] == {}
    change = description["components"]["schemas"]["RoomChange"]
    assert problems(operator.get("rooms/sale")["settings"], change, description) == []


def test_all_methods_and_settings_are_described(described):
    _, operator, description = described
    for path, methods in description["paths"].items():
        target = path[1:].replace("{name}", "app" if "queues" in path else "sale")
        allowed = operator.call("BREW", target).headers.one("Allow").replace("GET, HEAD", "GET")
        assert set(allowed.lower().split(", ")) == set(methods) - {"parameters"}
    schemas = description["components"]["schemas"]
    assert set(schemas["RoomSettings"]["properties"]) == set(schemas["RoomChange"]["properties"]) == set(operator.get("rooms/sale")["settings"])
    assert set(schemas["QueueSettings"]["properties"]) == set(schemas["QueueChange"]["properties"]) == set(operator.get("queues/app")["settings"])


def test_every_schema_is_used(described):
    _, operator, description = described
    text = operator.call("GET", "openapi.json").text
    for name in description["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, name
