"""Assignments as they travel: opaque, and a forged one is found out without a look into the database."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
from typing import NamedTuple

_WITNESS = 6  # bytes
_PLACE = struct.Struct(f">IIII{_WITNESS}s")
MOST_SLOTS = 2**32  # in an epoch
_TAG = 14  # bytes: forgeries are hopeless, and the whole is written in base64 without padding
_LENGTH = (_PLACE.size + _TAG) * 4 // 3


class Place(NamedTuple):
    """Where an assignment lies, and whose it is.

    After a restore from a backup an epoch's number may come again, or a slot go to another unit. `mark` is the epoch's
    own, and `witness` depends on the unit, so that a token from before is not taken for one of now.
    """

    experiment: int
    epoch: int
    mark: int
    slot: int
    witness: bytes


def witness(secret: bytes, mark: int, slot: int, unit: str) -> bytes:
    """What shows whose slot it is. A unit has another one in each epoch, so that nobody can tell its tokens.

    >>> witness(b"secret", 77, 12, "ann") == witness(b"secret", 77, 12, "bob")
    False
    """
    text = f"{mark}:{slot}:{unit}".encode()
    return hashlib.blake2b(text, key=secret, digest_size=_WITNESS, person=b"witness").digest()


def seal(secret: bytes, place: Place) -> str:
    """The token of an assignment.

    >>> token = seal(b"secret", Place(3, 1, 77, 12, b"of Ann"))
    >>> open_token(token), is_sealed(b"secret", token), is_sealed(b"other", token)
    (Place(experiment=3, epoch=1, mark=77, slot=12, witness=b'of Ann'), True, False)
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
