"""What can go wrong, for tests: a program that ends at once, a copied file, a disk that is full or read-only."""

import contextlib
import errno
import itertools
import os
import shutil
from unittest.mock import patch

from discreet.drivers.files import Disk, StateFile

NOBODY = 65534
STEPS = ("create", "allocate", "write the ledger", "write the head", "rename", "sync the folder")
_number = itertools.count()


def crash(driver):
    """What the end of its process does to a driver: its file is free, and nobody uses the driver any more."""
    driver._file.lock.release()
    driver._file, driver._refusal = None, "is gone"


def copy_of(path):
    """A copy of both files under another name, as a careless backup would make it; it can be loaded besides."""
    copy = f"{path} copy {next(_number)}"
    shutil.copy(path, copy)
    shutil.copy(f"{path}.ledger", f"{copy}.ledger")
    return copy


class FullDisk(Disk):
    """A disk on which one step of a commit fails; a write after half of its content."""

    def __init__(self, step, error=None):
        self.step, self.error = step, error or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail(self, step):
        if step == self.step:
            raise self.error

    def create(self, *args):
        self.fail("create")
        return super().create(*args)

    def allocate(self, *args):
        self.fail("allocate")
        super().allocate(*args)

    def write(self, file, content):
        step = "write the ledger" if isinstance(file.name, int) else "write the head"
        if step == self.step:
            file.write(content[: len(content) // 2])
        self.fail(step)
        super().write(file, content)

    def replace(self, *args):
        self.fail("rename")
        super().replace(*args)

    def sync_folder(self, *args):
        self.fail("sync the folder")
        super().sync_folder(*args)


@contextlib.contextmanager
def full_disk(step, error=None):
    """Let one step of every commit fail while this lasts."""
    with patch.object(StateFile, "disk", FullDisk(step, error)):
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
