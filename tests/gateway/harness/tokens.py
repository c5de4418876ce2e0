"""Passes and tickets as text: read what a visitor holds, and write one as a gateway with the same keys file would."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Optional


@dataclass
class Token:
    kind: str  # "a": pass, "q": ticket
    room: str
    sid: str
    issued: int
    expires: int
    epoch: Optional[int] = None
    number: Optional[int] = None
    admitted: Optional[int] = None  # passes only
    network: str = "-"
    key: str = ""
    text: str = ""


def _number(text):
    return None if text == "-" else int(text)


def parse(text):
    """Reads a token's fields; the signature is not looked at."""
    parts = text.split(".")
    assert parts[0] == "v1" and len(parts) == {"a": 12, "q": 11}[parts[2]], text
    _, key, kind, room, sid, issued, expires, epoch, number = parts[:9]
    admitted = int(parts[9]) if kind == "a" else None
    return Token(kind, room, sid, int(issued), int(expires), _number(epoch), _number(number), admitted, parts[-2], key, text)


def keys_of(text):
    """Key id and secret of each line of a keys file."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return [(line.split(":")[0], base64.b64decode(line.split(":")[1])) for line in lines if line]


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(key, text):
    """`text` (everything before the last dot) with its signature."""
    return f"{text}.{unpadded(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


def write(token, keys_text):
    """The token as text, signed with the first key of a keys file."""
    key_id, secret = keys_of(keys_text)[0]
    fields = ["v1", key_id, token.kind, token.room, token.sid, token.issued, token.expires, token.epoch, token.number]
    if token.kind == "a":
        fields.append(token.admitted)
    fields.append(token.network)
    return sign(secret, ".".join("-" if value is None else str(value) for value in fields))
