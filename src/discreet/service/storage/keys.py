"""SQL about keys of the API."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, select, update

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction

KEY = schema.api_key


@dataclass(frozen=True, slots=True)
class Key:
    """A row of the table `api_key`.

    Args:
        id: Its public id.
        digest: The digest of the key, which itself is not stored.
        name: Whom or what it is for.
        scopes: What it may do.
        experiment: The public id of the only experiment that it is for; None for all.
        created_at: When it was made.
        expires_at: When it ends.
        revoked_at: When it was revoked.
    """

    id: str
    digest: str
    name: str
    scopes: Any
    experiment: str | None
    created_at: float
    expires_at: float | None
    revoked_at: float | None = None


def add(transaction: Transaction, key: Key) -> None:
    """Add a key.

    Args:
        transaction: The transaction.
        key: The key.
    """
    transaction.execute(insert(KEY).values(asdict(key)))


def find(transaction: Transaction, uid: str) -> Key | None:
    """Return a key by its public id, if there is one.

    Args:
        transaction: The transaction.
        uid: The id.
    """
    return next((Key(*row) for row in transaction.fetch(select(KEY).where(KEY.c.id == uid))), None)


def find_digest(transaction: Transaction, digest: str) -> Key | None:
    """Return the key with a digest, if there is one.

    Args:
        transaction: The transaction.
        digest: The digest.
    """
    return next((Key(*row) for row in transaction.fetch(select(KEY).where(KEY.c.digest == digest))), None)


def everything(transaction: Transaction) -> list[Key]:
    """Return all keys, the newest first."""
    return [Key(*row) for row in transaction.fetch(select(KEY).order_by(KEY.c.created_at.desc()))]


def revoke(transaction: Transaction, uid: str, now: float) -> None:
    """Revoke a key, unless it was revoked before.

    Args:
        transaction: The transaction.
        uid: The key's public id.
        now: The time.
    """
    transaction.execute(update(KEY).where(KEY.c.id == uid, KEY.c.revoked_at.is_(None)).values(revoked_at=now))
