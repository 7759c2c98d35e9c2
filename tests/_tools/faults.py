"""What can go wrong, for tests: a program that ends at once, a copied file, a disk that is full or read-only."""

import contextlib
import errno
import itertools
import os
import shutil
import tempfile

NOBODY = 65534
STEPS = ("create", "write", "sync", "rename", "sync the folder")
_number = itertools.count()


def crash(thing):
    """What the end of its process does to an object: its file is free, and nobody uses the object any more."""
    thing._custody.give_back()
    thing._retire()


def copy_of(path):
    """A copy under another name, as a careless backup would make it; it can be loaded besides."""
    copy = f"{path}.copy{next(_number)}"
    shutil.copy(path, copy)
    return copy


@contextlib.contextmanager
def full_disk(monkeypatch, step, after=0):
    """Let one step of writing a state fail for want of room, after so many writes that went well."""
    owner, name = {
        "create": (tempfile, "mkstemp"),
        "write": (os, "fdopen"),
        "sync": (os, "fsync"),
        "rename": (os, "replace"),
        "sync the folder": (os, "fsync"),
    }[step]
    honest, calls, good = getattr(owner, name), itertools.count(1), after
    if name == "fsync":  # a write syncs its file, then its folder
        good = 2 * after + (step == "sync the folder")

    def broken(*args, **options):
        if next(calls) <= good:
            return honest(*args, **options)
        if step == "write":
            os.close(args[0])
            return open("/dev/full", "wb")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, broken)
        yield


@contextlib.contextmanager
def read_only(folder):
    """While this lasts the folder cannot be written to; the superuser, who could, is nobody meanwhile."""
    superuser = os.geteuid() == 0
    os.chmod(folder, 0o555)
    if superuser:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)
        os.chmod(folder, 0o700)
