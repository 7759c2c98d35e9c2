"""Keyed hashes of one experiment: pseudonyms of units, and the tokens that assignments travel as.

The database knows a unit by a keyed hash of its name. A forged token is found out without a look into the database.
"""

import base64
import hashlib
import hmac
import struct
import unicodedata
from typing import NamedTuple

_PSEUDONYM = 18  # bytes: collisions are hopeless, and there is no padding in base64
_UNIT_TAG = 6  # bytes
_PLACE = struct.Struct(f">IIII{_UNIT_TAG}s")
MOST_SLOTS = 2**32
"""The largest number of slots in an epoch."""
_SEAL = 14  # bytes: forgeries are hopeless, and the whole is written in base64 without padding
_LENGTH = (_PLACE.size + _SEAL) * 4 // 3


def pseudonym(secret: bytes, unit: str) -> str:
    """Return a unit's pseudonym in one experiment.

    Spaces around a name, and other encodings of the same letters, do not make another unit of it.

    Args:
        secret: The experiment's secret.
        unit: The unit's name.

    >>> pseudonym(b"secret", "ann") == pseudonym(b"secret", "ann") != pseudonym(b"other", "ann")
    True
    >>> pseudonym(b"secret", " Zo\u00eb") == pseudonym(b"secret", "Zoe\u0308")
    True
    """
    one = unicodedata.normalize("NFC", unit.strip())
    digest = hashlib.blake2b(one.encode(), key=secret, digest_size=_PSEUDONYM, person=b"unit").digest()
    return base64.urlsafe_b64encode(digest).decode()


def share(secret: bytes, epoch: int, name: str) -> int:
    """Return a number that is the same for a unit within an epoch. It chooses among arms where nothing is learned.

    Args:
        secret: The experiment's secret.
        epoch: The epoch's number.
        name: The unit's name or pseudonym.
    """
    digest = hashlib.blake2b(f"{epoch}:{name}".encode(), key=secret, digest_size=8, person=b"share").digest()
    return int.from_bytes(digest, "big")


class Place(NamedTuple):
    """The content of a token.

    After a restore from a backup an epoch's number may come again, or a slot go to another unit. The epoch has another
    generation then, or the unit another tag, so that a token from before is not taken for one of now.

    Attributes:
        experiment: The experiment's number.
        epoch: The epoch's number.
        generation: The epoch's generation.
        slot: The slot's index.
        unit_tag: The tag of the unit that has the slot.
    """

    experiment: int
    epoch: int
    generation: int
    slot: int
    unit_tag: bytes


def unit_tag(secret: bytes, generation: int, slot: int, unit: str) -> bytes:
    """Return a keyed hash of the unit for this epoch. Hashes of two epochs cannot be linked.

    Args:
        secret: The experiment's secret.
        generation: The epoch's generation.
        slot: The slot's index.
        unit: The unit's pseudonym.

    >>> unit_tag(b"secret", 77, 12, "ann") == unit_tag(b"secret", 77, 12, "bob")
    False
    """
    text = f"{generation}:{slot}:{unit}".encode()
    return hashlib.blake2b(text, key=secret, digest_size=_UNIT_TAG, person=b"unit tag").digest()


def seal(secret: bytes, place: Place) -> str:
    """Return the token of an assignment.

    Args:
        secret: The experiment's secret.
        place: The content.

    >>> token = seal(b"secret", Place(3, 1, 77, 12, b"of Ann"))
    >>> place = open_token(token)
    >>> place, is_sealed(b"secret", token, place), is_sealed(b"other", token, place)
    (Place(experiment=3, epoch=1, generation=77, slot=12, unit_tag=b'of Ann'), True, False)
    """
    packed = _PLACE.pack(*place)
    tag = hashlib.blake2b(packed, key=secret, digest_size=_SEAL, person=b"assignment").digest()
    return base64.urlsafe_b64encode(packed + tag).decode()


def open_token(token: str) -> Place | None:
    """Return the content of a token; None if it is no token. Check the seal before believing it."""
    try:
        raw = base64.urlsafe_b64decode(token) if len(token) == _LENGTH else b""
        return Place(*_PLACE.unpack(raw[: _PLACE.size]))
    except (ValueError, struct.error):
        return None


def is_sealed(secret: bytes, token: str, place: Place) -> bool:
    """Return True if this experiment made the token.

    Args:
        secret: The experiment's secret.
        token: The token.
        place: Its content.
    """
    return hmac.compare_digest(seal(secret, place), token)
