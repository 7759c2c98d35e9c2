"""Reading the algorithm and the ledger of a saved state, without going on from it."""

import os

from discreet.core import registry
from discreet.core.algorithm import Algorithm
from discreet.core.errors import DiscreetError, StateError
from discreet.core.ledger import Ledger
from discreet.drivers.files import StateFile, lock_on


def read_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Return all that a saved state has released. See `read_run`.

    Args:
        path: The head's path.
    """
    return read_run(path)[1]


def read_run(path: str | os.PathLike[str]) -> tuple[Algorithm, Ledger]:
    """Return the algorithm of a saved state as it began, and all that the state has released.

    The state stays as it is, and its secret part is not looked at.

    A file that a driver of another process keeps is refused: a release may be in it that is thrown away again, since
    its write has not ended, and nobody may see such a one.

    Args:
        path: The head's path.

    Raises:
        FileNotFoundError: There is no such file.
        StateError: A file is damaged, missing, of another format, or of an algorithm that is not known here.
        PrivacyError: Another process has that file.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}")
    lock, owner = lock_on(path)
    if owner is not None:
        learned: Algorithm = owner.algorithm
        return type(learned).from_options(learned.options()), learned.ledger
    try:
        head, closes = StateFile(path).read()
    finally:
        lock.release()
    public = head["public"]
    try:
        algorithm = registry.make(public["algorithm"], public["options"])
        ledger: Ledger = algorithm.ledger.copy()
        for releases in closes:
            ledger.close_epoch(releases)
        len(ledger)
    except Exception as error:
        why = str(error) if isinstance(error, DiscreetError) else repr(error)
        raise StateError(f"{os.fspath(path)} does not describe a ledger: {why}") from error
    return algorithm, ledger
