"""Who may do what: keys with scopes, of which only a digest is kept."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from discreet.service.http.errors import not_found
from discreet.service.http.messages import KeyView, MadeKey, NewKey
from discreet.service.storage import schema

PREFIX = "dk"


def make(connection: Connection, new: NewKey, now: float) -> MadeKey:
    """A new key. It cannot be shown again."""
    uid = secrets.token_hex(4)
    key = f"{PREFIX}_{uid}_{secrets.token_urlsafe(32)}"
    scopes = sorted(set(new.scopes))
    row = {
        "id": uid,
        "digest": digest(key),
        "name": new.name,
        "scopes": json.dumps(scopes),
        "experiment": new.experiment,
        "created_at": now,
        "expires_at": None if new.expires_in is None else now + new.expires_in,
    }
    connection.execute(insert(schema.api_key).values(row))
    both = {"report", "analyse"} <= set(scopes)
    warning = "this key reports rewards and reads releases: whoever has it knows rewards anyway" if both else None
    return MadeKey(key, view(_one(connection, uid)), warning)


def authenticate(connection: Connection, key: str, now: float) -> KeyView | None:
    """Whose key this is; None if it is unknown, expired or revoked."""
    row = connection.execute(select(schema.api_key).where(schema.api_key.c.digest == digest(key))).first()
    return view(row) if row is not None and is_valid(view(row), now) else None


def is_valid(key: KeyView, now: float) -> bool:
    """Whether a key may be used now."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def revoke(connection: Connection, uid: str, now: float) -> KeyView:
    """End a key, for good."""
    _one(connection, uid)
    table = schema.api_key
    connection.execute(update(table).where(table.c.id == uid, table.c.revoked_at.is_(None)).values(revoked_at=now))
    return view(_one(connection, uid))


def all_keys(connection: Connection) -> list[KeyView]:
    """All keys, the newest first."""
    return [
        view(row) for row in connection.execute(select(schema.api_key).order_by(schema.api_key.c.created_at.desc()))
    ]


def find(connection: Connection, uid: str) -> KeyView | None:
    """A key by its id."""
    row = connection.execute(select(schema.api_key).where(schema.api_key.c.id == uid)).first()
    return None if row is None else view(row)


def view(row: Row[Any]) -> KeyView:
    """A key as it may be shown."""
    return KeyView(
        row.id, row.name, json.loads(row.scopes), row.experiment, row.created_at, row.expires_at, row.revoked_at
    )


def digest(key: str) -> str:
    """What is kept of a key. It has 256 random bits, so a plain hash cannot be reversed by trying."""
    return hashlib.sha256(key.encode()).hexdigest()


def _one(connection: Connection, uid: str) -> Row[Any]:
    row = connection.execute(select(schema.api_key).where(schema.api_key.c.id == uid)).first()
    if row is None:
        raise not_found(f"key {uid!r}")
    return row
