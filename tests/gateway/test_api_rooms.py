"""The API's rooms: what it shows, what it changes, and what it refuses."""

import pytest

from harness.visitor import Visitor

SETTINGS = {
    "capacity": 1, "rate": "off", "session_timeout": "10m", "session_max": "off", "grant_timeout": "30s", "abandon_timeout": "1m", "return_grace": "10m",
    "refresh": "15s", "max_waiting": 100000, "entries_per_ip": "60/m", "polls_per_session": "3/s", "poll_interval": "3s 30s", "on_store_failure": "closed",
    "bind_network": "off", "page_status": 429, "message": None, "cookie_domain": None, "cookie_secure": "auto", "attach": [],
}


def test_a_room_of_the_file_is_shown_with_its_settings(operated):
    _, operator = operated()
    shown = operator.get("rooms/sale")
    assert shown == {
        "name": "sale", "defined": "nginx.conf", "mode": "normal", "inside": 0, "reserved": 0, "granted": 0, "waiting": 0, "admitted_total": 0, "abandoned_total": 0,
        "admissions_per_second": 0.0, "eta": 0, "recovering": False, "store": {"kind": "memory", "reachable": True}, "settings": SETTINGS, "file": {}, "saved": True,
    }
    assert operator.get("rooms") == {"rooms": [shown]}


def test_counts_follow_the_visitors(operated):
    running, operator = operated()
    for _ in range(3):
        Visitor(running.address).page("/")
    shown = operator.get("rooms/sale")
    assert (shown["inside"], shown["waiting"], shown["admitted_total"], shown["abandoned_total"]) == (1, 2, 1, 0)
    assert shown["eta"] is None  # nobody was called yet from the line


def test_a_change_of_capacity_lets_waiters_in_at_once(operated):
    running, operator = operated(workers=2)
    visitors = [Visitor(running.address) for _ in range(4)]
    for visitor in visitors:
        visitor.page("/")
    assert operator.get("rooms/sale")["waiting"] == 3
    changed = operator.put("rooms/sale", {"capacity": 3})
    assert (changed["settings"]["capacity"], changed["file"], changed["inside"], changed["waiting"]) == (3, {"capacity": 1}, 3, 1)
    assert [visitor.status().json["state"] for visitor in visitors] == ["admitted", "admitted", "admitted", "waiting"]
    assert operator.put("rooms/sale", {"capacity": None})["settings"]["capacity"] == 1  # back to the file's value; nobody is put out
    assert operator.get("rooms/sale")["file"] == {} and operator.get("rooms/sale")["inside"] == 3


def test_a_message_reaches_waiters_by_the_next_answer_of_every_worker(operated):
    running, operator = operated("message 'From the file';", workers=3)
    Visitor(running.address).page("/")
    waiter = Visitor(running.address)
    assert "From the file" in waiter.page("/").text
    operator.put("rooms/sale", {"message": "Doors <open> – 9:00 東京"})
    for _ in range(12):
        assert waiter.status().json.get("message") in ("Doors <open> – 9:00 東京",)
        waiter = Visitor(running.address)
        assert "Doors &lt;open&gt; – 9:00 東京" in waiter.page("/").text
    assert operator.put("rooms/sale", {"message": ""})["settings"]["message"] is None
    assert waiter.client("/").json["message"] is None
    assert operator.put("rooms/sale", {"message": None})["settings"]["message"] == "From the file"


WRITTEN = {
    "capacity": 7, "rate": "50/s", "session_timeout": "90s", "session_max": "2h", "grant_timeout": "1m30s", "abandon_timeout": "45s", "return_grace": "0",
    "refresh": "5s", "max_waiting": 12, "entries_per_ip": "off", "polls_per_session": "9/s", "poll_interval": "1s 4s", "on_store_failure": "open",
    "bind_network": "on", "page_status": 503, "message": "Bald", "cookie_domain": "example.com", "cookie_secure": "on",
    "attach": [{"host": "shop.example.com", "path": "/checkout"}, {"host": "example.com", "path": "/"}],
}


def test_what_was_written_is_read_again(operated):
    _, operator = operated()
    assert operator.put("rooms/sale", WRITTEN)["settings"] == WRITTEN
    shown = operator.get("rooms/sale")
    assert shown["settings"] == WRITTEN
    assert shown["file"] == {name: value for name, value in SETTINGS.items() if name != "attach"}
    assert operator.put("rooms/sale", shown["settings"])["settings"] == WRITTEN
    assert operator.put("rooms/sale", {name: None for name in WRITTEN})["settings"] == SETTINGS
    assert operator.get("rooms/sale")["file"] == {}


@pytest.mark.parametrize("field, value, allowed", [
    ("capacity", -1, "a whole number from 0 to 10000000"),
    ("capacity", 10000001, "a whole number from 0 to 10000000"),
    ("capacity", "5", "a JSON number"),
    ("capacity", 1.5, "a JSON number"),
    ("capacity", True, "a JSON number"),
    ("rate", "50", "N/s or N/m with N from 1 to 1000000, or off"),
    ("rate", "0/s", "N/s or N/m"),
    ("rate", 50, "a JSON string"),
    ("session_timeout", "0", "a time above 0 and at most 365d"),
    ("session_timeout", "10 minutes", "a time above 0"),
    ("session_timeout", "10s", '"refresh" (15s) must be at most half of "session_timeout" (10s)'),
    ("session_max", "9m", '"session_max" (9m) must be at least "session_timeout" (10m), or off'),
    ("grant_timeout", "", "a time above 0"),
    ("abandon_timeout", "-1s", "a time above 0"),
    ("return_grace", "366d", "a time of at most 365d"),
    ("refresh", "301s", "at most half of"),
    ("refresh", "1500ms", "a time in whole seconds"),
    ("max_waiting", 3e9, "a whole number from 0 to 10000000"),
    ("entries_per_ip", "5/s", "N/m with N from 1 to 1000000, or off"),
    ("polls_per_session", "off", "N/s with N from 1 to 1000000"),
    ("poll_interval", "3s", "two times, MIN of at least 100ms and MAX of at least MIN"),
    ("poll_interval", "30s 3s", "two times"),
    ("on_store_failure", "maybe", "closed or open"),
    ("bind_network", True, "on or off"),
    ("page_status", 404, "200, 202, 429 or 503"),
    ("message", "x" * 1001, "at most 1000 bytes"),
    ("message", "bell\x07", "without control characters"),
    ("cookie_domain", "a b", "a domain name such as example.com"),
    ("cookie_secure", "yes", "auto, on or off"),
    ("attach", "shop.example.com", "an array of at most 16 objects"),
    ("attach", [{"host": "a.example"}] * 17, "an array of at most 16 objects"),
    ("attach", [{"path": "/"}], 'objects with a "host" and a "path"'),
    ("attach", [{"host": "a.example", "paht": "/"}], 'objects with a "host" and a "path"'),
    ("attach", [{"host": "a.example:80", "path": "/"}], "without a port"),
    ("attach", [{"host": "a.example", "path": "checkout"}], "from the root"),
    ("attach", [{"host": "a.example", "path": "/a/../b"}], "from the root"),
    ("attach", [{"host": "A.example"}, {"host": "a.example", "path": "/"}], "twice"),
    ("page", "own.html", "in nginx.conf only"),
    ("bypass", "$arg_x", "in nginx.conf only"),
    ("mode", "hold", "POST"),
    ("capasity", 5, "no setting of that name"),
])
def test_a_wrong_value_is_named_and_changes_nothing(operated, field, value, allowed):
    _, operator = operated()
    problem = operator.refused(422, "PUT", "rooms/sale", {"capacity": 5, field: value})
    named = "refresh" if "at most half" in allowed else field
    assert problem["field"] == named and allowed in problem["detail"], problem
    assert operator.get("rooms/sale")["settings"] == SETTINGS


def test_etags_decide_between_two_operators(operated):
    _, operator = operated(workers=2)
    tag = operator.call("GET", "rooms/sale").headers.one("ETag")
    assert operator.call("GET", "rooms/sale").headers.one("ETag") == tag
    first = operator.call("PUT", "rooms/sale", {"capacity": 5}, headers=[("If-Match", tag)])
    assert first.status == 200 and first.headers.one("ETag") != tag
    assert operator.refused(412, "PUT", "rooms/sale", {"capacity": 9}, headers=[("If-Match", tag)])
    assert operator.refused(412, "POST", "rooms/sale/mode", {"mode": "hold"}, headers=[("If-Match", tag)])
    assert operator.get("rooms/sale")["settings"]["capacity"] == 5
    assert operator.put("rooms/sale", {"capacity": 9}, headers=[("If-Match", first.headers.one("ETag"))])["settings"]["capacity"] == 9
    assert operator.put("rooms/sale", {"capacity": 5}, headers=[("If-Match", "*")])["settings"]["capacity"] == 5
    assert operator.call("GET", "rooms/sale").headers.one("ETag") == first.headers.one("ETag")


def test_the_tag_does_not_depend_on_counts(operated):
    running, operator = operated()
    tags = {operator.call("GET", "rooms/sale").headers.one("ETag")}
    Visitor(running.address).page("/")
    tags.add(operator.call("GET", "rooms/sale").headers.one("ETag"))
    assert len(tags) == 1
