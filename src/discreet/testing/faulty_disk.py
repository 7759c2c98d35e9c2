"""A disk that fails, or a process that ends, at any operation of a commit."""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from discreet.drivers.files import Disk


class Crash(BaseException):
    """The process ends here."""


@dataclass
class Fault:
    """The place where the disk fails.

    Args:
        place: The number of the operation, counted from 0.
        when: "before" the operation, "in" the middle of it (of a write), or "after" it.
        error: What is raised: `OSError` for a full disk, `Crash`, or `KeyboardInterrupt`.
    """

    place: int
    when: str = "before"
    error: type[BaseException] = OSError


class FaultyDisk(Disk):
    """A disk that fails once, where it is told to. It does not wait for anything to be on disk.

    Args:
        folder: The folder whose files are kept as they were at the moment of a crash.
    """

    def __init__(self, folder: Path) -> None:
        self.fault: Fault | None = None
        self.operations: list[str] = []
        self._folder = folder
        self._wreck: dict[Path, bytes] | None = None

    def create(self, folder: Path, prefix: str) -> tuple[int, str]:
        """Create a file. See `Disk.create` for the arguments."""
        found: tuple[int, str] = self._do("create", super().create, folder, prefix)
        return found

    def allocate(self, file: BinaryIO, start: int, size: int) -> None:
        """Reserve room. See `Disk.allocate` for the arguments."""
        self._do("allocate", super().allocate, file, start, size)

    def write(self, file: BinaryIO, content: bytes) -> None:
        """Write. See `Disk.write` for the arguments."""
        self._do("write", _write, file, content)

    def replace(self, source: str, target: Path) -> None:
        """Rename. See `Disk.replace` for the arguments."""
        self._do("rename", super().replace, source, target)

    def sync_folder(self, folder: Path) -> None:
        """Do nothing, but fail if it is told to."""
        self._do("sync of the folder", lambda _: None, folder)

    def recover(self) -> None:
        """After a crash, have the files be as they were at that moment: a process that is gone cleans nothing up."""
        wreck, self._wreck, self.fault = self._wreck, None, None
        self.operations = []
        if wreck is not None:
            for path in self._files():
                if path not in wreck:
                    path.unlink()
            for path, content in wreck.items():
                path.write_bytes(content)

    def _do(self, name: str, operation: Callable[..., Any], *arguments: Any) -> Any:
        fault, place = self.fault, len(self.operations)
        self.operations.append(name)
        if self._wreck is not None:
            raise Crash(name)
        if fault is None or place != fault.place:
            return operation(*arguments)
        if fault.when == "in" and name == "write":
            file, content = arguments
            file.write(content[: len(content) // 2])
            file.flush()
        if fault.when == "after":
            operation(*arguments)
        if fault.error is Crash:
            self._wreck = {path: path.read_bytes() for path in self._files()}
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if fault.error is OSError else fault.error(name)

    def _files(self) -> list[Path]:
        return [path for path in self._folder.iterdir() if path.suffix != ".lock"]


def _write(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.truncate()
    file.flush()
