"""Names that are not kept: a unit is known to the database by a keyed hash of its name."""

from __future__ import annotations

import base64
import hashlib
import unicodedata

_LENGTH = 18  # bytes: as good as no two units of the same name, and no padding in base64


def pseudonym(secret: bytes, unit: str) -> str:
    """A unit's name in one experiment: the same for the same unit, and of no use without the experiment's secret.

    Spaces around a name, and letters that are one or two characters to a computer, do not make another person of it.

    >>> pseudonym(b"secret", "ann") == pseudonym(b"secret", "ann") != pseudonym(b"other", "ann")
    True
    >>> pseudonym(b"secret", " Zo\u00eb") == pseudonym(b"secret", "Zoe\u0308")
    True
    """
    one = unicodedata.normalize("NFC", unit.strip())
    digest = hashlib.blake2b(one.encode(), key=secret, digest_size=_LENGTH, person=b"unit").digest()
    return base64.urlsafe_b64encode(digest).decode()


def share(secret: bytes, epoch: int, name: str) -> int:
    """A number that a unit keeps within an epoch: it chooses among arms where nothing is learned."""
    digest = hashlib.blake2b(f"{epoch}:{name}".encode(), key=secret, digest_size=8, person=b"share").digest()
    return int.from_bytes(digest, "big")
