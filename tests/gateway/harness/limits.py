"""How long a test waits for something that must happen. Never how long something must take."""

import os
import time

PRELOAD = os.environ.get("FAIRWAY_NGINX_PRELOAD", "")
# A sanitized module and a busy machine are slower: FAIRWAY_TIME_FACTOR stretches every deadline.
FACTOR = float(os.environ.get("FAIRWAY_TIME_FACTOR", "4" if PRELOAD else "2"))


def scaled(seconds):
    return seconds * FACTOR


def wait_until(what, seconds=10.0, pause=0.02, message="it never happened"):
    """Asks `what()` until it answers something true, and returns that."""
    deadline = time.monotonic() + scaled(seconds)
    while True:
        answer = what()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{message} (waited {scaled(seconds):.0f} s)")
        time.sleep(pause)
