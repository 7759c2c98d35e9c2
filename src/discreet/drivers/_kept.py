"""Objects that live in a file: saved and loaded all or nothing, one living object for each file."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

from discreet.core.errors import DiscreetError, PrivacyError, StateError
from discreet.drivers import files as state
from discreet.drivers.file_lock import Custody, custody_of
from discreet.mechanisms._secret import Guarded


class Kept(Guarded):
    """What bandits, policies and stopping rules share about their files.

    A private object that was saved or loaded has its file in custody (see `file_lock`): other processes are refused,
    and so is this one. An exception is made for `bandit = Bandit.load(path)` right after `bandit.save(path)`:
    while the older object has done nothing that is not in the file, it hands the file over and refuses to go on.
    `detach`, or the end of a `with` block, writes the file a last time and lets go of it; so does the end of the
    object, without writing.
    """

    kind: ClassVar[str]
    """What a saved state calls it."""

    _file: str | None = None  # where it was saved or loaded last
    _custody: Custody | None = None
    _lock: AbstractContextManager[Any] = nullcontext()

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, atomically."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """What was saved in a file: same noise, same place."""
        loaded, _ = cls._read(path)
        if loaded._private:
            return cls._take_over(path)
        loaded._file = os.path.realpath(path)
        return loaded

    def detach(self) -> None:
        """Write the file a last time and let go of it, so that it can be loaded elsewhere; this object is done then."""
        if self._file is None:
            raise StateError(f"this {type(self).__name__} has no file to detach from; save it first")
        with self._lock:
            self.save(self._file)
            if self._custody is not None:
                self._custody.give_back()
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None and self._process == os.getpid():
            self.detach()

    # ------------------------------------------------------------------ writing

    def _store(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file and, if it is private, take that file into custody."""
        file, held = os.path.realpath(path), self._custody
        if not self._private or (held is not None and held.file == file):
            state.write(file, self.kind, self._dump())
        else:
            body = self._dump()
            state.check_folder(path)
            taken, keeper = custody_of(file)
            if keeper is not None:
                raise PrivacyError(f"{file} is kept by another {type(keeper).__name__}; detach that first")
            try:
                state.sweep(file)
                state.write(file, self.kind, body)
            except BaseException:
                taken.give_back()
                raise
            taken.belong_to(self)
            self._custody = taken
            if held is not None:
                held.give_back()
        self._file = file

    @abstractmethod
    def _dump(self) -> dict[str, Any]:
        """Everything needed to go on elsewhere, as JSON values."""

    # ------------------------------------------------------------------ reading

    @classmethod
    @abstractmethod
    def _build(cls, body: dict[str, Any]) -> Any:
        """The object that a state's body describes."""

    @classmethod
    def _read(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any]]:
        """The object in a file and the body it was built from: all of it, or an error."""
        body = state.read(path, cls.kind)
        try:
            loaded = cls._build(body)
            whole = loaded._matches(body)
        except Exception as error:  # whatever it is, the file does not describe a whole object, and none is made
            why = str(error) if isinstance(error, DiscreetError) else repr(error)
            raise StateError(f"{path} does not describe a {cls.kind}: {why}") from error
        if not isinstance(loaded, cls):
            raise StateError(f"{path} holds a {type(loaded).__name__}, not a {cls.__name__}")
        if not whole:
            raise StateError(f"{path} does not describe a {cls.kind}: saved again, it would not be the same")
        return loaded, body

    def _matches(self, body: dict[str, Any]) -> bool:
        """Whether this object is what a state's body says: nothing lost, nothing changed, nothing made up."""
        return state.canonical(self._comparable(self._dump())) == state.canonical(self._comparable(body))

    def _comparable(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body without what may differ between an object and its file."""
        return body

    @classmethod
    def _take_over(cls, path: str | os.PathLike[str]) -> Self:
        """Lock a file, then read it: nobody changes it any more."""
        custody, keeper = custody_of(os.path.realpath(path))
        try:
            if keeper is None:
                state.sweep(custody.file)
                loaded, _ = cls._read(path)
                custody.belong_to(loaded)
            else:
                loaded = cls._succeed(keeper, path, custody)
        except BaseException:
            if keeper is None:
                custody.give_back()
            raise
        loaded._file, loaded._custody = custody.file, custody
        return loaded

    @classmethod
    def _succeed(cls, keeper: Kept, path: str | os.PathLike[str], custody: Custody) -> Self:
        """Load a file that an object of this process keeps, if that object has done nothing since it was written."""
        with keeper._lock:
            loaded, body = cls._read(path)
            if keeper.kind != cls.kind or not keeper._matches(body):
                raise PrivacyError(
                    f"{custody.file} is kept by a {type(keeper).__name__} of this process that has gone on since it "
                    "was written; two objects of one file would release with the same noise: go on with that one, or "
                    "detach or delete it first"
                )
            custody.pass_on(keeper, loaded)
            keeper._let_go()
        return loaded

    def _let_go(self) -> None:
        """Another object goes on from the file."""
        self._file = self._custody = None
        self._retire()
