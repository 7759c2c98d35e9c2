"""Keys of the API with their scopes. Only a digest of a key is stored."""

import hashlib
import re
import secrets
from dataclasses import replace
from typing import Any

from discreet.service.errors import conflict, not_found
from discreet.service.messages import KeyView, MadeKey, NewKey
from discreet.service.storage import Key, Transaction

SESSION_SECRET = "session secret"
"""The setting with the key that sessions of the dashboard are signed with."""
_FORM = re.compile(r"dk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}")


def make(transaction: Transaction, new: NewKey, now: float) -> MadeKey:
    """Make a key. It cannot be shown again.

    Args:
        transaction: The transaction.
        new: The request.
        now: The time.
    """
    uid = secrets.token_hex(4)
    secret = f"dk_{uid}_{secrets.token_urlsafe(32)}"
    scopes = sorted(set(new.scopes))
    expires_at = None if new.expires_in is None else now + new.expires_in
    key = Key(uid, digest(secret), new.name, scopes, new.experiment, now, expires_at)
    transaction.add(key)
    both = {"report", "analyse"} <= set(scopes)
    warning = "this key reports rewards and reads releases: whoever has it knows rewards anyway" if both else None
    return MadeKey(secret, view(key), warning)


def find(transaction: Transaction, **where: Any) -> KeyView | None:
    """Return a key; None if it is unknown, expired or revoked.

    Args:
        transaction: The transaction.
        **where: Its `id` or the `digest` of its secret.
    """
    key = transaction.find(Key, **where)
    return view(key) if key is not None and is_valid(view(key), transaction.now()) else None


def is_valid(key: KeyView, now: float) -> bool:
    """Return True if a key is neither revoked nor expired.

    Args:
        key: The key.
        now: The time.
    """
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def revoke(transaction: Transaction, uid: str, now: float) -> KeyView:
    """Revoke a key for good.

    Args:
        transaction: The transaction.
        uid: The key's public id.
        now: The time.

    Raises:
        ServiceProblem: There is no such key, or it is the last one that may make others.
    """
    transaction.lock(0)  # or two admins could revoke the last two keys at the same time
    key = transaction.find(Key, id=uid, hold=True)
    if key is None:
        raise not_found(f"key {uid!r}")
    if [uid] == lasting_admins(transaction):
        raise conflict(
            f"key {uid!r} is the last one with the scope admin that does not expire; nobody could make keys any more. "
            "Make another one first"
        )
    if key.revoked_at is None:
        key = replace(key, revoked_at=now)
        transaction.change(key, revoked_at=now)
    return view(key)


def lasting_admins(transaction: Transaction) -> list[str]:
    """Return the ids of the keys by which others can always be made.

    A key that expires is none of them: whoever relies on it is locked out one day, though nobody revoked anything.
    """
    lasting = transaction.rows(Key, expires_at=None, revoked_at=None)
    return [key.id for key in lasting if "admin" in key.scopes]


def view(key: Key) -> KeyView:
    """Return a key as clients see it."""
    return KeyView(key.id, key.name, key.scopes, key.experiment, key.created_at, key.expires_at, key.revoked_at)


def is_key(text: str) -> bool:
    """Return True if a text has the form of a key. Nothing else is looked up, or kept for a moment.

    >>> is_key("dk_0123abcd_" + "x" * 43), is_key("dk_" + "x" * 1_000_000)
    (True, False)
    """
    return _FORM.fullmatch(text) is not None


def digest(secret: str) -> str:
    """Return the digest of a key. It has 256 random bits, so a plain hash cannot be reversed by trying."""
    return hashlib.sha256(secret.encode()).hexdigest()
