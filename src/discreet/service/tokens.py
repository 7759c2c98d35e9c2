"""Assignments as they travel: opaque, and verified without a look into the database."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
from typing import NamedTuple

_PLACE = struct.Struct(">IIII")
MOST_SLOTS = 2**32  # in an epoch
_TAG = 14  # bytes: forgeries are hopeless, and the whole is written in base64 without padding
_LENGTH = (_PLACE.size + _TAG) * 4 // 3


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
    tag = hashlib.blake2b(packed, key=secret, digest_size=_TAG, person=b"assignment").digest()
    return base64.urlsafe_b64encode(packed + tag).decode()


def open_token(token: str) -> Place | None:
    """Where a token says that its assignment lies; None if it is no token. Check the seal before believing it."""
    try:
        raw = base64.urlsafe_b64decode(token) if len(token) == _LENGTH else b""
        return Place(*_PLACE.unpack(raw[: _PLACE.size]))
    except (ValueError, struct.error):
        return None


def is_sealed(secret: bytes, token: str, place: Place | None = None) -> bool:
    """Whether this experiment made the token; `place` is what `open_token` gave for it, if that is known."""
    place = open_token(token) if place is None else place
    return place is not None and hmac.compare_digest(seal(secret, place), token)
