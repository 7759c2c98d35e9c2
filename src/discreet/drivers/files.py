"""Saved states: versioned JSON, written atomically, checked before anything is built from it.

A state file of a private object holds what the object holds: noise that is drawn but not used, and the
exact totals of the epoch that is still open. It is as sensitive as the rewards themselves until that epoch
closes. It is written readable for its owner only; keep it, and its backups, as you keep the rewards.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.core.errors import StateError

FORMAT = 1
_UNFINISHED = ".unfinished"
_REMEDY = "start anew, or restore a copy if nothing was released after it was made: an older one would repeat its noise"
_WARNING = "sensitive: holds unreleased totals and unused noise; load it once and go on from there"


def write(path: str | os.PathLike[str], kind: str, body: dict[str, Any]) -> None:
    """Write a state so that a crash leaves the old file or the new one, never a torn one.

    An OSError means that it is not sure to be there: then nothing that depends on it may be shown to anybody.
    """
    document = {"discreet": FORMAT, "kind": kind, "made_by": __version__, "warning": _WARNING, "body": body}
    text = canonical(document)
    sealed = f'{{"sha256":"{_digest(text)}",{text[1:]}'.encode()
    check_folder(path)
    target = Path(path)
    try:
        _replace(target, sealed)
        _sync_folder(target.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        said = f"the state could not be written ({reason}), so nothing was released; make room, or give another folder"
        raise OSError(error.errno or errno.EIO, said, os.fspath(path)) from error


def check_folder(path: str | os.PathLike[str]) -> None:
    """A file is not made with the folders above it: a wrong name would pass unnoticed."""
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist; create it first")


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove what writes that were killed have left. Only for who has the file in custody: others may be writing."""
    target = Path(path)
    for litter in target.parent.glob(f".{glob.escape(target.name)}.*{_UNFINISHED}"):
        with contextlib.suppress(OSError):
            litter.unlink()


def _replace(target: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(_UNFINISHED, f".{target.name}.", target.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """The body of a state file, after every check that needs no object."""
    try:
        document = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        said = f"{path} is damaged: it is no whole JSON file ({error}), perhaps truncated; {_REMEDY}"
        raise StateError(said) from error
    if not isinstance(document, dict) or not isinstance(document.get("discreet"), int):
        raise StateError(f"{path} is not a state of discreet")
    if document["discreet"] > FORMAT:
        raise StateError(
            f"{path} has format {document['discreet']}, written by discreet {document.get('made_by')}; this is "
            f"discreet {__version__}, which reads formats up to {FORMAT}: upgrade discreet"
        )
    if document.pop("sha256", None) != _digest(canonical(document)):
        raise StateError(f"{path} is damaged: it was changed after it was saved (no matching checksum); {_REMEDY}")
    if document.get("kind") != kind:
        raise StateError(f"{path} holds a {document.get('kind')}, not a {kind}")
    body = document.get("body")
    if not isinstance(body, dict):
        raise StateError(f"{path} has no body")
    return body


def canonical(document: dict[str, Any]) -> str:
    """The one way to write a document: what the checksum is taken of."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be opened and synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)
