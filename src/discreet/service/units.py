"""Names that are not kept: a unit is known to the database by a keyed hash of its name."""

from __future__ import annotations

import base64
import hashlib
import hmac

_LENGTH = 16


def pseudonym(secret: bytes, unit: str) -> str:
    """A unit's name in one experiment: the same for the same unit, and of no use without the experiment's secret.

    >>> pseudonym(b"secret", "ann") == pseudonym(b"secret", "ann") != pseudonym(b"other", "ann")
    True
    """
    digest = hmac.digest(secret, b"unit:" + unit.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest[:_LENGTH]).rstrip(b"=").decode()


def share(secret: bytes, epoch: int, name: str) -> int:
    """A number that a unit keeps within an epoch: it chooses among arms where nothing is learned."""
    digest = hmac.digest(secret, f"share:{epoch}:{name}".encode(), hashlib.sha256)
    return int.from_bytes(digest[:8], "big")
