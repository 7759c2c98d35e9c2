"""One living object for each state file: whoever keeps a file locks it, and everybody else is refused.

Two objects that go on from one file would use the same noise on different rewards, and the difference of their
releases would be exact. So a private object that was saved or loaded holds a lock of the operating system on
`<file>.lock`, until it is detached or garbage. The lock goes with the process however that ends, so a crash never
leaves a file locked; the lock's own file may stay behind and means nothing by itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import warnings
import weakref
from typing import Any

from discreet.core.errors import PrivacyError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)
_guard = threading.RLock()  # around finding a keeper and becoming one
_held: dict[str, Custody] = {}  # by file


class Custody:
    """The lock on one state file, and who keeps that file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._process = os.getpid()
        self._handle = _lock(file)
        self._keeper: weakref.finalize[..., Any] | None = None
        _held[file] = self

    def belong_to(self, keeper: Any) -> None:
        """Name the object that keeps the file; the lock goes when that object does."""
        self._disown()
        self._keeper = weakref.finalize(keeper, self.give_back)

    @property
    def keeper(self) -> Any:
        """The living object that keeps the file; None if there is none."""
        found = self._keeper.peek() if self._keeper else None
        return found[0] if found else None

    def give_back(self) -> None:
        """Unlock the file. In a forked child this only closes the child's copy: the lock stays with the parent."""
        with _guard:
            self._disown()
            handle, self._handle = self._handle, -1
            if handle < 0:
                return
            if self._process == os.getpid():
                _held.pop(self.file, None)
                with contextlib.suppress(OSError):  # where a file that is open cannot be removed it stays
                    os.unlink(f"{self.file}.lock")
                with contextlib.suppress(OSError):
                    _unlock(handle)  # closing is not enough while a child that was just forked has a copy
            os.close(handle)

    def pass_on(self, keeper: Any, heir: Any) -> None:
        """Let another object keep the file; refused if somebody else was quicker."""
        with _guard:
            if self.keeper is not keeper:
                raise PrivacyError(_refusal(self.file, "another thread of this process"))
            self.belong_to(heir)

    def _disown(self) -> None:
        if self._keeper is not None:
            self._keeper.detach()
            self._keeper = None


def custody_of(file: str) -> tuple[Custody, Any]:
    """The custody of a file, taken now or held by an object of this process, which comes with it (or None)."""
    with _guard:
        held = _held.get(file)
        if held is None:
            return Custody(file), None
        keeper = held.keeper
        if keeper is None:  # being built in another thread, or being collected
            raise PrivacyError(_refusal(file, "another thread of this process"))
        return held, keeper


def _lock(file: str) -> int:
    """An open handle that holds the lock. The lock's file may be removed meanwhile by who held it: then try anew."""
    path = f"{file}.lock"
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            why = f"{error.strerror}; a private object needs a folder that it can write to, to keep its file up to date"
            raise OSError(error.errno, f"{file} cannot be locked: {why}", path) from error
        try:
            if not _locked(handle, file):
                raise PrivacyError(_refusal(file, _owner(handle)))
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    _sign(handle)
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _locked(handle: int, file: str) -> bool:
    """Lock a handle; False if somebody else has it."""
    try:
        _try_lock(handle)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        warnings.warn(
            f"the folder of {file} has no locks ({error.strerror}): take care that only one process loads this file, "
            "or two would release with the same noise",
            stacklevel=2,
        )
    return True


def _sign(handle: int) -> None:
    """Leave the process's number for whoever is refused: a courtesy, which a full disk may prevent."""
    with contextlib.suppress(OSError):
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())


def _owner(handle: int) -> str:
    """Who has the lock, as far as its file tells."""
    with contextlib.suppress(OSError, ValueError):
        return f"process {int(os.read(handle, 20))}"
    return "another process"


def _refusal(file: str, owner: str) -> str:
    return (
        f"{file} is in use by {owner}, and two objects of one file would release with the same noise; load it in one "
        "process only, or end the other one first"
    )


def _forget_in_child() -> None:
    """A forked child keeps nothing: it must not hold its parent's locks alive."""
    global _guard  # noqa: PLW0603  (another thread of the parent may have held it)
    _guard = threading.RLock()
    for custody in list(_held.values()):
        custody.give_back()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
