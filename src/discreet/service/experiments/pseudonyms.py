"""Pseudonyms: the database knows a unit by a keyed hash of its name."""

import base64
import hashlib
import unicodedata

_LENGTH = 18  # bytes: collisions are hopeless, and there is no padding in base64


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
    digest = hashlib.blake2b(one.encode(), key=secret, digest_size=_LENGTH, person=b"unit").digest()
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
