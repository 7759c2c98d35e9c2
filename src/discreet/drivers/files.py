"""State files: a head that is replaced as a whole, and a ledger beside it that only grows.

`<path>` is the head. Its public part says which algorithm with which options it is, and how much of the ledger counts.
Its secret part has the exact sums of the open epoch, the noise of an open sparse vector's threshold, and tickets; it is
empty when the algorithm has finished. `<path>.ledger` has one line of JSON for each plan that was closed: releases,
which are public. To commit is to append lines, sync them, and then replace the head. A crash leaves the old state or
the new one. Lines that no head counts were never shown, and are written over.

While its secret part is not empty, a file is as sensitive as the rewards. It is readable for its owner only; keep it,
and its backups, as you keep the rewards.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from discreet._version import __version__
from discreet.core.errors import PrivacyError, StateError
from discreet.core.releases import Kind, Release
from discreet.drivers.file_lock import FileLock, acquire

FORMAT = 1
_UNFINISHED = ".unfinished"
_KINDS = frozenset(Kind)
_REMEDY = "start anew, or restore a copy of both files"


class StateFile:
    """The two files of one state, and the lock on them.

    Args:
        path: The head's path.
        lock: The lock on it; None for simulated states, which protect nobody.
    """

    def __init__(self, path: str | os.PathLike[str], lock: FileLock | None) -> None:
        self.path = real_path(path)
        self.lock = lock
        self._ledger = self.path.with_name(f"{self.path.name}.ledger")
        self._length = 0  # of the ledger, as far as the head counts it
        self._digest = hashlib.sha256()
        self._spare: str | None = None  # the next head's file, with room set aside
        self._head = b""  # as last committed
        self._doubtful = False  # a commit has failed: the head on disk may be a later one
        if lock is not None:
            self._remove_unfinished()

    def belong_to(self, driver: object) -> None:
        """Name the driver of the file. The lock goes when that object does."""
        if self.lock is not None:
            self.lock.belong_to(driver)

    @property
    def head(self) -> dict[str, Any]:
        """The public and the secret part, as last committed or read."""
        return unsealed(self.path, self._head)

    @property
    def commits(self) -> bytes:
        """A digest of all that was committed. It changes with every commit."""
        return hashlib.sha256(self._head).digest()

    # ------------------------------------------------------------------ writing

    def create(self, head: dict[str, Any], closes: Iterable[Sequence[Release]]) -> None:
        """Write a new state.

        Args:
            head: The public and the secret part, as JSON values.
            closes: The releases of each plan that was closed.

        Raises:
            FileExistsError: There is a state already. Its ledger is not written over.
            FileNotFoundError: The folder does not exist.
            OSError: It cannot be written.
        """
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"the folder of {os.fspath(self.path)!r} does not exist; create it first")
        if self.path.exists():
            raise FileExistsError(
                f"{self.path} exists; give another name, or remove it and {self._ledger.name} if nobody needs them"
            )
        try:
            self.commit(head, closes)
        except BaseException:
            self.path.unlink(missing_ok=True)
            self._ledger.unlink(missing_ok=True)
            raise

    def set_room_aside(self, size: int) -> None:
        """Allocate disk room for the next commit, before noise is drawn.

        Whether a commit succeeds must not depend on what was drawn: releases that are thrown away until one fits the
        disk do not have the distribution that privacy is argued for.

        Args:
            size: The number of bytes that may be written to each of the two files.

        Raises:
            OSError: There is no room.
        """
        with self._explained():
            self._settle()
            self._drop_spare()
            handle, self._spare = self._temporary()
            with os.fdopen(handle, "wb") as file:
                _allocate(file, 0, size)
            with self._open_ledger() as file:
                _allocate(file, self._length, size)

    def commit(self, head: dict[str, Any], closes: Iterable[Sequence[Release]]) -> None:
        """Add to the ledger, and replace the head.

        Args:
            head: The public and the secret part, as JSON values.
            closes: The releases of each plan that was closed since the last commit.

        Raises:
            OSError: It is not sure to be on disk. Then nobody may see these releases.
        """
        lines = b"".join(_line(releases) for releases in closes)
        digest = self._digest.copy()
        digest.update(lines)
        length = self._length + len(lines)
        content = sealed({**head, "ledger": {"bytes": length, "sha256": digest.hexdigest()}})
        with self._explained():
            self._settle()
            self._doubtful = True
            with self._open_ledger() as file:
                file.seek(self._length)
                _write(file, lines)
            self._replace(content)
        self._head, self._length, self._digest, self._doubtful = content, length, digest, False

    def close(self) -> None:
        """Unlock the file, and remove what is unfinished."""
        self._drop_spare()
        if self.lock is not None:
            self.lock.release()

    # ------------------------------------------------------------------ reading

    def read(self) -> tuple[dict[str, Any], list[tuple[Release, ...]]]:
        """Return the head, and the releases of each plan that was closed.

        Raises:
            FileNotFoundError: There is no such file.
            StateError: A file is damaged, missing, or of another format.
        """
        content = self.path.read_bytes()
        head = unsealed(self.path, content)
        counted = head.pop("ledger")
        try:
            lines = self._ledger.read_bytes()[: int(counted["bytes"])]
        except FileNotFoundError as error:
            raise StateError(f"{self._ledger} is missing: keep and copy both files together; {_REMEDY}") from error
        self._head, self._length, self._digest = content, len(lines), hashlib.sha256(lines)
        if self._digest.hexdigest() != counted["sha256"]:
            raise StateError(f"{self._ledger} is not the ledger of {self.path}: keep and copy both files together")
        return head, [_closed(line) for line in lines.splitlines()]

    # ------------------------------------------------------------------ parts

    def _settle(self) -> None:
        """After a commit that failed, put the old head back before its ledger's lines are written over."""
        if self._doubtful and self._head:
            self._replace(self._head)
        self._doubtful = False

    def _replace(self, content: bytes) -> None:
        if self._spare is None:
            handle, self._spare = self._temporary()
            os.close(handle)
        with open(self._spare, "r+b") as file:
            _write(file, content)
        os.replace(self._spare, self.path)
        self._spare = None
        _sync_folder(self.path.parent)

    def _temporary(self) -> tuple[int, str]:
        """Return a new file beside the head, readable for its owner only."""
        return tempfile.mkstemp(_UNFINISHED, f".{self.path.name}.", self.path.parent)

    def _open_ledger(self) -> BinaryIO:
        return os.fdopen(os.open(self._ledger, os.O_RDWR | os.O_CREAT, 0o600), "r+b")

    def _drop_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(OSError):
                os.unlink(spare)

    def _remove_unfinished(self) -> None:
        """Remove what killed writes have left. The lock makes sure that nobody is writing now."""
        for path in self.path.parent.glob(f".{glob.escape(self.path.name)}.*{_UNFINISHED}"):
            with contextlib.suppress(OSError):
                path.unlink()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise errors of the disk with a sentence that says what they mean."""
        try:
            yield
        except OSError as error:
            said = f"the state could not be written ({error.strerror or error}), so nothing was released; make room, or"
            raise OSError(error.errno or errno.EIO, f"{said} save elsewhere", os.fspath(self.path)) from error


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return the path by which a file is told from others."""
    return Path(os.path.realpath(path))


def lock_on(path: str | os.PathLike[str]) -> tuple[FileLock, Any]:
    """Return the lock on a head, and the driver of this process that has it, or None. See `acquire`."""
    folder = real_path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist; create it first")
    return acquire(os.fspath(real_path(path)))


def refuse_owner(path: Path, owner: Any) -> None:
    """Refuse a file that another driver of this process has.

    Args:
        path: The head's path.
        owner: The driver that has it, or None.

    Raises:
        PrivacyError: There is such a driver.
    """
    if owner is not None:
        raise PrivacyError(f"{path} is kept by another {type(owner).__name__} of this process; detach that one first")


def canonical(document: Any) -> str:
    """Return the one way to write a document as JSON, which checksums are taken of."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sealed(document: dict[str, Any]) -> bytes:
    """Return a document as a file with a checksum of itself."""
    text = canonical({"discreet": FORMAT, "made_by": __version__, **document})
    return f'{{"sha256":"{hashlib.sha256(text.encode()).hexdigest()}",{text[1:]}\n'.encode()


def unsealed(path: Path, content: bytes) -> dict[str, Any]:
    """Return the document of a file, after every check that needs no object.

    Args:
        path: The file's path, for messages.
        content: The file's bytes.

    Raises:
        StateError: It is damaged, no state, or of a newer or an older format.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{path} is damaged: it is no whole JSON file ({error}); {_REMEDY}") from error
    if not isinstance(document, dict) or not isinstance(document.get("discreet"), int):
        raise StateError(f"{path} is not a state of discreet")
    if document["discreet"] != FORMAT or "body" in document:
        raise StateError(
            f"{path} was written by discreet {document.get('made_by')} in a format that discreet {__version__} does "
            f"not read (it reads format {FORMAT}, with a ledger beside it); finish it with the version that wrote it"
        )
    if document.pop("sha256", None) != hashlib.sha256(canonical(document).encode()).hexdigest():
        raise StateError(f"{path} is damaged: it was changed after it was saved (no matching checksum); {_REMEDY}")
    parts = {"public", "secret", "ledger"}
    if not parts <= set(document) or not all(isinstance(document[part], dict) for part in parts):
        raise StateError(f"{path} is damaged: a state has the parts {', '.join(sorted(parts))}; {_REMEDY}")
    return document


def _allocate(file: BinaryIO, start: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), start, size)
    else:
        file.seek(start)
        file.write(bytes(size))
        file.flush()


def _write(file: BinaryIO, content: bytes) -> None:
    """Write to the end of the file, and wait until it is on disk."""
    file.write(content)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where the system lets a folder be opened and synced."""
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


def _line(releases: Sequence[Release]) -> bytes:
    kept = [release for release in releases if release.kind != Kind.SAMPLES]
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def _closed(line: bytes) -> tuple[Release, ...]:
    """Return the releases of a line.

    Raises:
        StateError: It is no line of a ledger, or has a kind of release that is not known here.
    """
    try:
        closed = tuple(
            Release(int(epoch), kind, tuple((arm, int(first), int(last)) for arm, first, last in spans), *rest)
            for epoch, kind, spans, *rest in json.loads(line)
        )
    except (ValueError, TypeError) as error:
        raise StateError(f"the ledger is damaged: {error}; {_REMEDY}") from error
    for release in closed:
        if release.kind not in _KINDS:
            raise StateError(f"the ledger has a release of kind {release.kind!r}, which discreet {__version__} lacks")
    return closed
