"""State files: a head that is replaced as a whole, and a ledger beside it that only grows.

`<path>` is the head. Its public part says which algorithm with which options it is, and how much of the ledger counts.
Its secret part has the exact sums of the open epoch, the noise of an open sparse vector's threshold, and tickets; it is
empty when the algorithm has finished. `<path>.ledger` has one line of JSON for each plan that was closed: releases,
which are public. To commit is to append lines, sync them, and then replace the head. A crash leaves the old state or
the new one. Lines that no head counts were never shown, and are written over.

While its secret part is not empty, a file is as sensitive as the rewards. It is readable for its owner only; keep it,
and its backups, as you keep the rewards.
"""

import contextlib
import errno
import glob
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from discreet._version import __version__
from discreet.core.errors import ArgumentError, StateError
from discreet.core.releases import Kind, Release
from discreet.drivers.file_lock import FileLock, acquire

FORMAT = 1
_UNFINISHED = ".unfinished"
_LEDGER = ".ledger"
_BESIDE = (_LEDGER, ".lock")  # the ends of the names of files beside a head
_REMEDY = "start anew, or restore a copy of both files"


class Disk:
    """The file operations of a commit, in one place: tests let each of them fail."""

    def create(self, folder: Path, prefix: str) -> tuple[int, str]:
        """Return the handle and the path of a new file, readable for its owner only.

        Args:
            folder: The folder to create it in.
            prefix: The beginning of its name.
        """
        return tempfile.mkstemp(_UNFINISHED, prefix, folder)

    def allocate(self, file: BinaryIO, start: int, size: int) -> None:
        """Reserve disk room in a file.

        Args:
            file: The open file.
            start: The first byte.
            size: The number of bytes.
        """
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), start, size)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                    raise
            else:
                return
        file.seek(start)  # the file system cannot reserve: write
        file.write(bytes(size))
        file.flush()

    def write(self, file: BinaryIO, content: bytes) -> None:
        """Write to the end of a file, and wait until it is on disk.

        Args:
            file: The open file, at the right place.
            content: The last bytes of the file.
        """
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())

    def replace(self, source: str, target: Path) -> None:
        """Give a file another's name, in place of that one.

        Args:
            source: The file's path.
            target: The other's path.
        """
        os.replace(source, target)

    def sync_folder(self, folder: Path) -> None:
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


class StateFile:
    """The two files of one state, and the lock on them.

    Args:
        path: The head's path.
        lock: The lock on it; None for whoever only reads.
    """

    disk: ClassVar[Disk] = Disk()

    def __init__(self, path: str | os.PathLike[str], lock: FileLock | None = None) -> None:
        self.path = real_path(path)
        self.lock = lock
        self.commits = 0  # that have succeeded
        self._ledger = self.path.with_name(f"{self.path.name}{_LEDGER}")
        self._length = 0  # of the ledger, as far as the head counts it
        self._digest = hashlib.sha256()
        self._spare: str | None = None  # the next head's file, with room set aside
        self._head = b""  # as last committed
        self._doubtful = False  # a commit has failed at its last step: the head on disk may be a later one
        if lock is not None:
            self._remove_unfinished()

    def belong_to(self, driver: object) -> None:
        """Name the driver of the file. The lock goes when that object does."""
        if self.lock is not None:
            self.lock.belong_to(driver)

    @property
    def head(self) -> dict[str, Any]:
        """The public and the secret part, and how much of the ledger counts, as last committed or read."""
        return unsealed(self.path, self._head)

    # ------------------------------------------------------------------ writing

    def create(self, head: dict[str, Any], closes: Iterable[Sequence[Release]]) -> None:
        """Write a new state.

        Args:
            head: The public and the secret part, as JSON values.
            closes: The releases of each plan that was closed.

        Raises:
            FileExistsError: There is a state already. Its ledger is not written over.
            OSError: It cannot be written.
        """
        if self.path.exists():
            raise FileExistsError(
                f"{self.path} exists; give another name, or remove it and {self._ledger.name} if nobody needs them"
            )
        try:
            self.commit(head, closes)
        except BaseException:
            self.drop_room()
            self.path.unlink(missing_ok=True)
            self._ledger.unlink(missing_ok=True)
            raise

    def set_room_aside(self, size: int) -> None:
        """Allocate disk room for the next commit, before noise is drawn.

        Whether a commit succeeds must not depend on what was drawn: releases that are thrown away until one fits the
        disk do not have the distribution that privacy is argued for.

        Args:
            size: The number of bytes that may be added to each of the two files.

        Raises:
            OSError: There is no room.
        """
        with self._explained():
            self._settle()
            self.drop_room()
            with self._new_spare() as file:
                self.disk.allocate(file, 0, len(self._head) + size)
            with self._open_ledger() as file:
                self.disk.allocate(file, self._length, size)

    def drop_room(self) -> None:
        """Remove the file in which room was set aside, if there is one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(OSError):
                os.unlink(spare)

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
            with self._open_ledger() as file:
                file.seek(self._length)
                self.disk.write(file, lines)
            self._replace(content)
        self._doubtful, self._head, self._length, self._digest = False, content, length, digest
        self.commits += 1

    def close(self) -> None:
        """Unlock the file. After a commit that has failed, put the old head back first."""
        self.drop_room()
        lost = ""
        try:
            self._settle()
        except OSError as error:
            lost = str(error)
        finally:
            if self.lock is not None:
                self.lock.release()
        if lost:
            warnings.warn(
                f"{self.path} may have releases that were never shown, since it could not be put back ({lost}): "
                f"remove it and {self._ledger.name}; whoever loads it pays epsilon again",
                stacklevel=3,
            )

    # ------------------------------------------------------------------ reading

    def read(self) -> tuple[dict[str, Any], list[tuple[Release, ...]]]:
        """Return the head, and the releases of each plan that was closed.

        Raises:
            FileNotFoundError: There is no such file.
            StateError: A file is damaged, missing, or of another format.
        """
        content = self.path.read_bytes()
        head = unsealed(self.path, content)
        counted = head["ledger"]
        if set(counted) != {"bytes", "sha256"} or type(counted["bytes"]) is not int or counted["bytes"] < 0:
            raise StateError(f"{self.path} is damaged: it does not say how much of its ledger counts; {_REMEDY}")
        try:
            lines = self._ledger.read_bytes()[: counted["bytes"]]
        except FileNotFoundError as error:
            raise StateError(f"{self._ledger} is missing: keep and copy both files together; {_REMEDY}") from error
        self._head, self._length, self._digest = content, len(lines), hashlib.sha256(lines)
        if len(lines) != counted["bytes"] or self._digest.hexdigest() != counted["sha256"]:
            raise StateError(f"{self._ledger} is not the ledger of {self.path}: keep and copy both files together")
        return head, [_closed(self._ledger, line) for line in lines.splitlines()]

    # ------------------------------------------------------------------ parts

    def _settle(self) -> None:
        """After a commit that has failed, put the old head back, before its ledger's lines are written over."""
        if self._doubtful and self._head:
            self._replace(self._head)
        self._doubtful = False

    def _replace(self, content: bytes) -> None:
        if self._spare is None:
            self._new_spare().close()
        assert self._spare is not None
        with open(self._spare, "r+b") as file:
            self.disk.write(file, content)
        self._doubtful = True
        self.disk.replace(self._spare, self.path)
        self._spare = None
        self.disk.sync_folder(self.path.parent)

    def _new_spare(self) -> BinaryIO:
        handle, self._spare = self.disk.create(self.path.parent, f".{self.path.name}.")
        return os.fdopen(handle, "r+b")

    def _open_ledger(self) -> BinaryIO:
        file = os.fdopen(os.open(self._ledger, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        if os.fstat(file.fileno()).st_size < self._length:
            file.close()
            raise OSError(errno.EIO, f"{self._ledger.name} was removed or cut short")
        return file

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
    """Return the lock on a head, and the driver of this process that has it, or None. See `acquire`.

    Raises:
        ArgumentError: The name is that of another state's ledger or lock.
        FileNotFoundError: The folder does not exist.
    """
    file = real_path(path)
    if file.name.endswith(_BESIDE):
        raise ArgumentError(f"path must not end in {' or '.join(_BESIDE)}, as files beside a state do, got {path!r}")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist; create it first")
    return acquire(os.fspath(file))


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
    given = document.pop("sha256", None)
    try:
        digest = hashlib.sha256(canonical(document).encode()).hexdigest()
    except ValueError:  # a number that JSON does not have
        digest = ""
    if not digest or given != digest:
        raise StateError(f"{path} is damaged: it was changed after it was saved (no matching checksum); {_REMEDY}")
    parts = {"public", "secret", "ledger"}
    if not parts <= set(document) or not all(isinstance(document[part], dict) for part in parts):
        raise StateError(f"{path} is damaged: a state has the parts {', '.join(sorted(parts))}; {_REMEDY}")
    return document


def _line(releases: Sequence[Release]) -> bytes:
    kept = [release for release in releases if release.kind != Kind.SAMPLES]
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def _closed(path: Path, line: bytes) -> tuple[Release, ...]:
    """Return the releases of a line.

    Raises:
        StateError: It is no line of a ledger, or has a kind of release that is not known here.
    """
    try:
        return tuple(map(_release, json.loads(line)))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise StateError(f"{path} has a line that discreet {__version__} does not read: {error}; {_REMEDY}") from error


def _release(values: list[Any]) -> Release:
    """Return a release that was read, if each of its values is of the right type."""
    epoch, kind, spans, *rest = values
    found = Release(epoch, Kind(kind), tuple((arm, first, last) for arm, first, last in spans), *rest)
    whole = [epoch, found.tests, *(number for _, *ends in found.spans for number in ends)]
    if found.kind is not Kind.TESTS:
        whole.append(found.steps)
    real = found.scale, found.epsilon
    fits = all(type(number) is int for number in whole) and all(type(number) in (int, float) for number in real)
    if not found.spans or not fits or {type(found.simulated), type(found.above)} != {bool}:
        raise ValueError(f"{found!r} has values of other types")
    return found
