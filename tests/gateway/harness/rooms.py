"""A room in front of the origin, for tests of the visitor's flow. Its fixtures are known to every test (conftest.py)."""

import pytest

from .visitor import Visitor

ROOM = """
    waiting_room sale { capacity 1; @SETTINGS@ }
    server { listen @LISTEN@;
        location / { waiting_room sale; proxy_set_header X-Session $waiting_room_session; proxy_pass http://@ORIGIN@;
                     add_header X-Room "$waiting_room_state $waiting_room_name $waiting_room_rank" always; }
        location /off { waiting_room off; proxy_pass http://@ORIGIN@; }
    }
    server { listen @LISTEN2@; location / { proxy_pass http://@ORIGIN@; } }
"""


@pytest.fixture
def room(gateway, origin):
    return lambda settings="", text=ROOM, **options: gateway(text.replace("@SETTINGS@", settings), origin=origin, **options)


@pytest.fixture
def full_room(room):
    """A room with one inside: (gateway, the one inside)."""

    def make(settings="", **options):
        running = room(settings, **options)
        inside = Visitor(running.address)
        assert inside.page("/").status == 200
        return running, inside

    return make
