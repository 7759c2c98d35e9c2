"""Keyed hashes: pseudonyms of units in one experiment, and the tokens that assignments travel as.

The database knows a unit by a keyed hash of its name. Tokens are sealed with one key of the whole service, so that a
forged one is found out before the database hears of what it says.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
import struct
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_UNIT_TAG = 6  # bytes
_PLACE = struct.Struct(f">IIII{_UNIT_TAG}s")
PSEUDONYM = 16
"""The number of bytes of a pseudonym: collisions are hopeless."""
MOST_SLOTS = 2**32
"""The largest number of slots in an epoch."""
TEST = 0
"""The epoch in tokens of a test. Epochs of a running experiment begin at 1, so none takes such a token."""
_SEAL = 14  # bytes: forgeries are hopeless, and the whole is written in base64 without padding
_SEALED = struct.Struct(f"{_PLACE.size}s{_SEAL}s")
_LENGTH = _SEALED.size * 4 // 3
_STANDARD = bytes.maketrans(b"-_", b"+/")  # from the letters of URLs to those that binascii knows


def pseudonym(secret: bytes, unit: str) -> bytes:
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
    return hashlib.blake2b(one.encode(), key=secret, digest_size=PSEUDONYM, person=b"unit").digest()


def share(secret: bytes, epoch: int, name: bytes) -> int:
    """Return a number that is the same for a unit within an epoch. It chooses among arms where nothing is learned.

    Args:
        secret: The experiment's secret.
        epoch: The epoch's number.
        name: The unit's name or pseudonym.
    """
    digest = hashlib.blake2b(b"%d:%b" % (epoch, name), key=secret, digest_size=8, person=b"share").digest()
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


def unit_tag(secret: bytes, generation: int, slot: int, unit: bytes) -> bytes:
    """Return a keyed hash of the unit for this epoch. Hashes of two epochs cannot be linked.

    Args:
        secret: The experiment's secret.
        generation: The epoch's generation.
        slot: The slot's index.
        unit: The unit's pseudonym.

    >>> unit_tag(b"secret", 77, 12, b"ann") == unit_tag(b"secret", 77, 12, b"bob")
    False
    """
    hashed = _keyed(secret, _UNIT_TAG, b"unit tag").copy()
    hashed.update(b"%d:%d:%b" % (generation, slot, unit))
    return hashed.digest()


def seal(secret: bytes, place: Place) -> str:
    """Return the token of an assignment.

    Args:
        secret: The service's secret of tokens.
        place: The content.

    >>> token = seal(b"secret", Place(3, 1, 77, 12, b"of Ann"))
    >>> open_token(b"secret", token)
    Place(experiment=3, epoch=1, generation=77, slot=12, unit_tag=b'of Ann')
    >>> open_token(b"other", token)
    """
    packed = _PLACE.pack(*place)
    return base64.urlsafe_b64encode(packed + _tag(secret, packed)).decode()


def open_token(secret: bytes, token: str) -> Place | None:
    """Return the content of a token; None if this service did not make it.

    Args:
        secret: The service's secret of tokens.
        token: The token.
    """
    if len(token) != _LENGTH:
        return None
    try:
        raw = binascii.a2b_base64(token.encode().translate(_STANDARD), strict_mode=True)
    except ValueError:
        return None
    packed, tag = raw[: _PLACE.size], raw[_PLACE.size :]
    return Place(*_PLACE.unpack(packed)) if hmac.compare_digest(_tag(secret, packed), tag) else None


def open_tokens(secret: bytes, tokens: Sequence[str]) -> list[Place | None]:
    """Return the content of each token, as `open_token` does, in half of the time.

    Args:
        secret: The service's secret of tokens.
        tokens: The tokens.

    >>> places = [Place(3, 1, 77, slot, b"of Ann") for slot in range(2)]
    >>> open_tokens(b"secret", [seal(b"secret", place) for place in places]) == places
    True
    """
    raw = None
    if all(len(token) == _LENGTH for token in tokens):
        with contextlib.suppress(ValueError):
            raw = binascii.a2b_base64("".join(tokens).encode().translate(_STANDARD), strict_mode=True)
    if raw is None or len(raw) != len(tokens) * _SEALED.size:  # a token among them is not ours
        return [open_token(secret, token) for token in tokens]
    keyed, places = _keyed(secret, _SEAL, b"assignment"), []
    for packed, tag in _SEALED.iter_unpack(raw):
        hashed = keyed.copy()
        hashed.update(packed)
        genuine = hmac.compare_digest(hashed.digest(), tag)
        places.append(Place._make(_PLACE.unpack(packed)) if genuine else None)
    return places


def _tag(secret: bytes, packed: bytes) -> bytes:
    hashed = _keyed(secret, _SEAL, b"assignment").copy()
    hashed.update(packed)
    return hashed.digest()


@lru_cache(maxsize=1024)
def _keyed(secret: bytes, size: int, person: bytes) -> hashlib.blake2b:
    """Return a hash that has taken its key in, to be copied: hashing the key again would take as long as the rest."""
    return hashlib.blake2b(key=secret, digest_size=size, person=person)
