"""Saved states: versioned JSON, written atomically, checked before anything is built from it.

A state file of a private object holds what the object holds: noise that is drawn but not used, and the
exact totals of the epoch that is still open. It is as sensitive as the rewards themselves until that epoch
closes. It is written readable for its owner only; keep it, and its backups, as you keep the rewards.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.errors import StateError

FORMAT = 1
_WARNING = "sensitive: holds unreleased totals and unused noise; load it once and go on from there"


def write(path: str | os.PathLike[str], kind: str, body: dict[str, Any]) -> None:
    """Write a state so that a crash leaves the old file or the new one, never a torn one."""
    document = {"discreet": FORMAT, "kind": kind, "made_by": __version__, "warning": _WARNING, "body": body}
    text = _canonical(document)
    sealed = f'{{"sha256":"{_digest(text)}",{text[1:]}'
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist; create it first")
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(sealed)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """The body of a state file, after every check that needs no object."""
    try:
        document = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise StateError(f"{path} is not a whole JSON file ({error}); it may be truncated, restore a backup") from error
    if not isinstance(document, dict) or not isinstance(document.get("discreet"), int):
        raise StateError(f"{path} is not a state of discreet")
    if document["discreet"] > FORMAT:
        raise StateError(
            f"{path} has format {document['discreet']}, written by discreet {document.get('made_by')}; this is "
            f"discreet {__version__}, which reads formats up to {FORMAT}: upgrade discreet"
        )
    if document.pop("sha256", None) != _digest(_canonical(document)):
        raise StateError(f"{path} was changed after it was saved (its checksum does not match); restore a backup")
    if document.get("kind") != kind:
        raise StateError(f"{path} holds a {document.get('kind')}, not a {kind}")
    body = document.get("body")
    if not isinstance(body, dict):
        raise StateError(f"{path} has no body")
    return body


def _canonical(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
