"""What operators change and the state folder: full, gone, another one, left in disorder by killed workers."""

import json
import os

import pytest

from harness.limits import wait_until
from harness.visitor import Visitor


def not_saved(operator):
    health = operator.get("health")
    details = [warning["detail"] for warning in health["warnings"] if warning["code"] == "state_not_saved"]
    assert health["settings"]["saved"] == (not any("operators changed" in detail for detail in details))
    return details


def take_away(state):
    """The folder is gone; gives it back when called."""
    aside = state.with_name("aside")
    state.rename(aside)
    return lambda: aside.rename(state)


def block(state):
    """The files' places are taken; gives them back when called."""
    for name in ("settings", "rooms"):
        (state / name).unlink(missing_ok=True)
        (state / name).mkdir()
    return lambda: [(state / name).rmdir() for name in ("settings", "rooms")]


@pytest.mark.parametrize("harm, why", [(take_away, "No such file or directory"), (block, "Is a directory")])
def test_a_change_that_cannot_be_saved_counts_and_is_told(operated, harm, why):
    running, operator = operated(workers=2)
    assert operator.put("rooms/sale", {"capacity": 2})["saved"] is True and not_saved(operator) == []
    mend = harm(running.state)
    running.allow("cannot save")
    for capacity in (3, 4, 5):
        shown = operator.put("rooms/sale", {"capacity": capacity})
        assert (shown["settings"]["capacity"], shown["saved"]) == (capacity, False)
    assert {operator.get("rooms/sale")["settings"]["capacity"] for _ in range(8)} == {5}  # in every worker
    assert f"({why})" in not_saved(operator)[0] and operator.get("health")["status"] == "warning"
    wait_until(lambda: not not_saved(operator)[1:] or why in not_saved(operator)[1])
    assert running.log.count("cannot save changed settings") == 1
    mend()
    wait_until(lambda: not_saved(operator) == [], 20)
    assert json.loads((running.state / "settings").read_text())["rooms"]["sale"]["fields"]["capacity"]["value"] == "5"
    assert operator.get("rooms/sale")["saved"] is True
    assert not [name for name in os.listdir(running.state) if "." in name]
    running.restart()
    assert operator.get("rooms/sale")["settings"]["capacity"] == 5


def test_what_the_rooms_remember_is_saved_once_it_can_be(operated):
    running, operator = operated()
    mend = take_away(running.state)
    Visitor(running.address).page("/")
    wait_until(lambda: any("rooms remember" in detail for detail in not_saved(operator)))
    mend()
    wait_until(lambda: not_saved(operator) == [] and "room sale" in (running.state / "rooms").read_text(), 20)


def test_a_new_folder_has_everything_at_once(operated):
    running, operator = operated(workers=2)
    operator.put("rooms/sale", {"capacity": 3})
    Visitor(running.address).page("/")
    other = running.prefix / "other"
    running.reload(f"fairway_state {other};" + running.http)
    wait_until(lambda: (other / "settings").exists() and (other / "rooms").exists())
    assert json.loads((other / "settings").read_text())["rooms"]["sale"]["fields"]["capacity"]["value"] == "3"
    assert "room sale" in (other / "rooms").read_text() and operator.get("rooms/sale")["saved"] is True
    (running.state / "settings").unlink()
    operator.put("rooms/sale", {"capacity": 4})
    running.restart()
    assert operator.get("rooms/sale")["settings"]["capacity"] == 4 and not (running.state / "settings").exists()


def test_what_killed_workers_left_half_written_is_taken_away(operated):
    running, _ = operated()
    running.stop()
    nobody = 2**22 + 1  # above the largest process id there is
    kept = {f"settings.{os.getpid()}", "settings.bak", f"other.{nobody}", "rooms.1x"}
    for name in kept | {f"settings.{nobody}", f"rooms.{nobody}"}:
        (running.state / name).write_text("{")
    running.start()
    assert {name for name in os.listdir(running.state) if "." in name} == kept
