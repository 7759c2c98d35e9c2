"""Assignments as they travel: opaque, and verified without a look into the database."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from typing import NamedTuple

_PLACE = struct.Struct(">IIII")
_TAG = 12
_LENGTH = _PLACE.size + _TAG


class Place(NamedTuple):
    """Where an assignment lies. `mark` is the epoch's own: its number may come again after a restore from a backup."""

    experiment: int
    epoch: int
    mark: int
    slot: int


def seal(secret: bytes, place: Place) -> str:
    """The token of an assignment.

    >>> token = seal(b"secret", Place(3, 1, 77, 12))
    >>> open_token(token), is_sealed(b"secret", token), is_sealed(b"other", token)
    (Place(experiment=3, epoch=1, mark=77, slot=12), True, False)
    """
    packed = _PLACE.pack(*place)
    return base64.urlsafe_b64encode(packed + _tag(secret, packed)).rstrip(b"=").decode()


def open_token(token: str) -> Place | None:
    """Where a token says that its assignment lies; None if it is no token. Check the seal before believing it."""
    raw = _raw(token)
    return None if raw is None else Place(*_PLACE.unpack(raw[: _PLACE.size]))


def is_sealed(secret: bytes, token: str) -> bool:
    """Whether this experiment made the token."""
    raw = _raw(token)
    return raw is not None and hmac.compare_digest(raw[_PLACE.size :], _tag(secret, raw[: _PLACE.size]))


def _raw(token: str) -> bytes | None:
    try:
        raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    return raw if len(raw) == _LENGTH else None


def _tag(secret: bytes, packed: bytes) -> bytes:
    return hmac.digest(secret, b"assignment:" + packed, hashlib.sha256)[:_TAG]
