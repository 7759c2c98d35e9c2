"""A lock on a state file: one living driver for each file, and everybody else is refused.

Two drivers that go on from one file would each spend the whole promise on the same rewards, and write over each other.
So a driver that was saved or loaded holds a lock of the operating system on `<file>.lock`, until it is detached or
garbage. The lock goes with the process however that ends, so a crash never leaves a file locked. Its own file may stay
behind and means nothing by itself.
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
_table_lock = threading.RLock()  # around looking up an owner and becoming one
_locks: dict[str, FileLock] = {}  # those of this process, by file


class FileLock:
    """The lock on one state file, and the object that owns it.

    Args:
        file: The real path of the state file.

    Raises:
        PrivacyError: Another process has the lock.
        OSError: The folder cannot be written to.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._process = os.getpid()
        self._handle = _open_locked(file)
        self._owner: weakref.finalize[..., Any] | None = None
        _locks[file] = self

    @property
    def owner(self) -> Any:
        """The living object that owns the lock; None if there is none."""
        found = self._owner.peek() if self._owner else None
        return found[0] if found else None

    def belong_to(self, owner: Any) -> None:
        """Name the object that owns the lock. The lock goes when that object does."""
        self._disown()
        self._owner = weakref.finalize(owner, self.release)

    def pass_on(self, owner: Any, successor: Any) -> None:
        """Give the lock to another object.

        Args:
            owner: The object that has it.
            successor: The object that gets it.

        Raises:
            PrivacyError: Another thread has given it away before.
        """
        with _table_lock:
            if self.owner is not owner:
                raise PrivacyError(_refusal(self.file, "another thread of this process"))
            self.belong_to(successor)

    def release(self) -> None:
        """Unlock the file. In a forked child this only closes the child's copy: the lock stays with the parent."""
        with _table_lock:
            self._disown()
            handle, self._handle = self._handle, -1
            if handle < 0:
                return
            if self._process == os.getpid():
                _locks.pop(self.file, None)
                with contextlib.suppress(OSError):  # some systems do not remove a file that is open
                    os.unlink(f"{self.file}.lock")
                with contextlib.suppress(OSError):
                    _unlock(handle)  # closing is not enough while a child that was just forked has a copy
            os.close(handle)

    def _disown(self) -> None:
        if self._owner is not None:
            self._owner.detach()
            self._owner = None


def acquire(file: str) -> tuple[FileLock, Any]:
    """Return the lock on a file and its owner in this process. A lock that is acquired now has no owner yet.

    Args:
        file: The real path of the state file.

    Raises:
        PrivacyError: Another process, or another thread that is just loading the file, has the lock.
    """
    with _table_lock:
        lock = _locks.get(file)
        if lock is None:
            return FileLock(file), None
        owner = lock.owner
        if owner is None:  # being built in another thread, or being collected
            raise PrivacyError(_refusal(file, "another thread of this process"))
        return lock, owner


def _open_locked(file: str) -> int:
    """Return an open handle that holds the lock. If its last owner removes the lock's file meanwhile, try anew."""
    path = f"{file}.lock"
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            why = f"{error.strerror}; a driver needs a folder that it can write to, to keep its file up to date"
            raise OSError(error.errno, f"{file} cannot be locked: {why}", path) from error
        try:
            if not _is_locked_now(handle, file):
                raise PrivacyError(_refusal(file, _process_in(handle)))
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    _write_process(handle)
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_locked_now(handle: int, file: str) -> bool:
    """Lock a handle; return False if another process has it."""
    try:
        _try_lock(handle)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        warnings.warn(
            f"the folder of {file} has no locks ({error.strerror}): take care that only one process loads this file, "
            "or each would spend the whole epsilon on the same rewards",
            stacklevel=2,
        )
    return True


def _write_process(handle: int) -> None:
    """Write the process's id for the message of a refusal. It is no error if the disk is full."""
    with contextlib.suppress(OSError):
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())


def _process_in(handle: int) -> str:
    """Return the process that has the lock, as far as its file says."""
    with contextlib.suppress(OSError, ValueError):
        return f"process {int(os.read(handle, 20))}"
    return "another process"


def _refusal(file: str, owner: str) -> str:
    return (
        f"{file} is in use by {owner}, and two drivers of one file would release the same rewards twice; load it in "
        "one process only, or end the other one first"
    )


def _forget_in_child() -> None:
    """Close a forked child's copies of the locks, which would keep them alive."""
    global _table_lock  # noqa: PLW0603  (another thread of the parent may have held it)
    _table_lock = threading.RLock()
    for lock in list(_locks.values()):
        lock.release()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
