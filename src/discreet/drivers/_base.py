"""The base class of drivers: an algorithm, its curator, and perhaps a file."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet._display import Page, Shown, own_page
from discreet.core import registry
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError, DiscreetError, PrivacyError, StateError
from discreet.core.ledger import Ledger
from discreet.core.noise import Noise, checked_noise
from discreet.core.plans import Arm, Plan
from discreet.core.privacy import Privacy
from discreet.core.releases import Kind, Release
from discreet.drivers.file_lock import FileLock
from discreet.drivers.files import StateFile, canonical, lock_on, real_path
from discreet.mechanisms._secret import Secret
from discreet.mechanisms.curator import Curator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROOM = 1 << 16  # bytes that are set aside for a commit, and this many more for each arm:
_ROOM_OF_AN_ARM = 512
_NO_FILE = nullcontext()


class Driver(Shown, Secret):
    """Collects epochs of an algorithm, has them released, and lets the algorithm learn.

    With a file, whatever is released is on disk before anybody sees it: set room aside, draw, release, learn on a copy,
    write and sync, show. Where the file cannot be written, the release is thrown away unseen, and the next try draws
    afresh. A driver works on a copy of the algorithm that it was given.

    Args:
        algorithm: The algorithm to run. It must not have learned anything yet.
        noise: A simulated source for studies and tests; by default private noise.

    Raises:
        ArgumentError: The algorithm has learned before, or is none.

    Attributes:
        kind: The driver's name in files.
        family: The family of algorithms that it drives; None for all.
    """

    kind: ClassVar[str]
    family: ClassVar[str | None] = None

    def __init__(self, algorithm: Any, noise: Noise | None = None) -> None:
        super().__init__()
        if not isinstance(algorithm, Algorithm) or self.family not in (None, algorithm.family):
            wanted = {"policy": "a bandit policy", "rule": "a stopping rule"}.get(self.family or "", "an algorithm")
            make = f"make_{self.family or 'policy'}({algorithm!r}, ...)"
            meant = f"; make one with {make}" if isinstance(algorithm, str) else ""
            raise ArgumentError(f"{type(self).__name__} needs {wanted}, got {algorithm!r}{meant}")
        if any(algorithm.taken.values()) or algorithm.epoch:
            raise ArgumentError(f"this {algorithm.key} has learned before; load the driver that it learned in")
        if noise is not None:
            checked_noise(noise)
        self._begin(algorithm.copy(), noise)
        self._curator = self._make_curator()
        self._open()
        self._curator.check(self._plan)

    def _may_be_copied(self) -> bool:
        return self._file is None and (self.simulated or not self._algorithm.privacy.promised)

    def _begin(self, algorithm: Algorithm, noise: Noise | None) -> None:
        """Set up all but the curator and the open epoch."""
        self._algorithm, self._noise = algorithm, noise
        self._file: StateFile | None = None
        self._unwritten: list[tuple[Release, ...]] = []
        self._refusal: str | None = None  # why it cannot go on

    # ------------------------------------------------------------------ what anybody may read

    @property
    def algorithm(self) -> Any:
        """A copy of the algorithm, with what it has learned."""
        with self._lock():
            return self._algorithm.copy()

    @property
    def ledger(self) -> Ledger:
        """All that was released, in order."""
        with self._lock():
            return self._algorithm.ledger.copy()

    @property
    def privacy(self) -> Privacy:
        """The promise: its epsilon, whom it protects, and why it holds."""
        return replace(self._algorithm.privacy, simulated=self.simulated)

    @property
    def simulated(self) -> bool:
        """True if the noise comes from a seed, so that it protects nobody."""
        return self._noise is not None and self._noise.simulated and self._algorithm.privacy.promised

    @property
    def finished(self) -> bool:
        """True when nothing is left to sample."""
        return self._algorithm.finished

    @property
    def path(self) -> Path | None:
        """The file that it keeps up to date; None without one."""
        return None if self._file is None else self._file.path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._algorithm!r}, epoch={self._algorithm.epoch + 1})"

    def plot(self, ax: Axes | None = None) -> Figure:
        """Plot the released means of each arm over the epochs, with radii of 95 %, and return the figure.

        Args:
            ax: Where to draw; by default in a new figure.
        """
        figure: Figure = self.algorithm.plot(ax)
        return figure

    def _page(self) -> Page:
        page = own_page(self.algorithm)
        seeded = {"simulated": "the noise comes from a seed, and protects nobody"} if self.simulated else {}
        facts = {**page.facts, "finished": self.finished, **self._driver_facts(), **seeded}
        return replace(page, title=f"{type(self).__name__} of a {self._algorithm.key}", facts=facts)

    def _driver_facts(self) -> dict[str, object]:
        """Return what the driver knows beside its algorithm."""
        return {} if self.path is None else {"file": str(self.path)}

    # ------------------------------------------------------------------ closing an epoch

    def _check_process(self) -> None:
        if self._refusal is not None or self._process != os.getpid():
            super()._check_process()
            raise PrivacyError(f"this {type(self).__name__} {self._refusal}")

    def _open(self) -> None:
        """Plan the next epoch."""
        self._plan = self._algorithm.plan()
        self._curator.open(self._plan)

    def _close(self, plan: Plan, totals: Mapping[Arm, Any] | None) -> tuple[Release, ...]:
        """Release an epoch and learn from it; with a file, inside of `_commit` only.

        Whatever ends this half-way ends the driver: going on would draw noise for the same rewards again, after a look
        at the first draw. Errors of the curator's checks come before anything was drawn.
        """
        if self._refusal is not None:
            self._check_process()
        self._refusal = _HALF_DONE
        try:
            releases = self._curator.release(plan, totals)
        except DiscreetError:
            self._refusal = None
            raise
        self._algorithm.learn(releases)
        if self._file is not None:
            self._remember(releases)
        self._open()
        self._refusal = None
        return releases

    def _remember(self, releases: tuple[Release, ...]) -> None:
        """Keep releases for the file. Tests that have grown take the place of those that they grew from."""
        last = self._unwritten[-1] if self._unwritten else ()
        grown = last and releases and last[-1].kind == releases[0].kind == Kind.TESTS
        if grown and last[-1].epoch == releases[0].epoch:
            self._unwritten.pop()
        self._unwritten.append(releases)

    def _commit(self) -> AbstractContextManager[None]:
        """Return a block whose releases are in the file when it ends. If that fails, nothing inside has happened."""
        return _NO_FILE if self._file is None else self._write_after(self._file)

    @contextmanager
    def _write_after(self, file: StateFile) -> Iterator[None]:
        self._check_process()
        algorithm, secret, open_epoch = self._algorithm, self._curator.state(), self._open_state()
        file.set_room_aside(_ROOM + _ROOM_OF_AN_ARM * len(algorithm.taken))
        before = file.commits
        self._algorithm = algorithm.copy()
        try:
            yield
            if self._unwritten:
                file.commit(self._head(), self._unwritten)
        except BaseException as error:
            if file.commits == before:  # else an interrupt came after the commit: what is on disk has happened
                broken = self._refusal is not None and isinstance(error, Exception)  # not by an interrupt: a bug
                self._refusal = _HALF_DONE
                self._algorithm, self._plan = algorithm, algorithm.plan()
                self._curator = self._make_curator()
                self._curator.restore(secret, self._plan)
                self._restore_open(open_epoch)
                self._refusal = _HALF_DONE if broken else None
            raise
        finally:
            self._unwritten = []
            file.drop_room()

    def _make_curator(self) -> Curator:
        return Curator.of(self._algorithm, self._noise)

    # ------------------------------------------------------------------ the file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, and keep that file up to date from now on.

        Every later release is in the file before it is shown. While an epoch is open the file has a secret part, which
        is as sensitive as the rewards. The file stays locked as long as the driver lives, or until `detach`. A driver
        has one file: saving elsewhere leaves the earlier one as it is, and unlocks it. Whoever goes on from that one
        all the same draws noise of its own, and pays epsilon once more.

        Args:
            path: The head's path. The ledger lies beside it, as `<path>.ledger`.

        Raises:
            FileExistsError: There is another state already.
            OSError: It cannot be written. Nothing has changed.
            PrivacyError: Another driver or process has that file.
        """
        with self._lock():
            self._check_process()
            if self._file is not None and self._file.path == real_path(path):
                self._file.commit(self._head(), [])
                return
            lock, owner = lock_on(path)
            if owner is not None:
                raise PrivacyError(
                    f"{lock.file} is kept by another {type(owner).__name__} of this process; detach that one first"
                )
            try:
                file = StateFile(path, lock)
                file.create(self._head(), self._algorithm.ledger.by_epoch())
                file.belong_to(self)
            except BaseException:
                lock.release()
                raise
            earlier, self._file = self._file, file
            if earlier is not None:
                earlier.close()

    @classmethod
    def load(cls, path: str | os.PathLike[str], noise: Noise | None = None) -> Self:
        """Go on from a file, and keep it up to date.

        Args:
            path: The head's path.
            noise: A simulated source, for a file that was made with one. The draws are new ones: a file has no noise.

        Raises:
            FileNotFoundError: There is no such file.
            StateError: The file is damaged, of another kind of driver, or made with the other kind of noise.
            PrivacyError: Another driver or process has that file.
        """
        return cls._load(path, noise, {})

    @classmethod
    def _load(cls, path: str | os.PathLike[str], noise: Noise | None, outside: dict[str, Any]) -> Self:
        """Go on from a file, with what the driver needs from outside and no file can hold, such as a clock."""
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {os.fspath(path)!r}")
        if noise is not None:
            checked_noise(noise)
        lock, owner = lock_on(path)
        if owner is not None:
            return cls._take_over(owner, path, lock, noise, outside)
        try:
            file = StateFile(path, lock)
            driver = cls._from_file(file, noise, outside)
            file.belong_to(driver)
        except BaseException:
            lock.release()
            raise
        driver.__dict__["_file"] = file
        return driver

    @classmethod
    def _take_over(
        cls, owner: Driver, path: str | os.PathLike[str], lock: FileLock, noise: Noise | None, outside: dict[str, Any]
    ) -> Self:
        """Load a file that a driver of this process has, if that driver has done nothing since it was written."""
        with owner._lock():
            file = StateFile(path, lock)
            driver = cls._from_file(file, noise, outside)
            if owner.kind != cls.kind or not owner._is_in(file):
                raise PrivacyError(
                    f"{file.path} is kept by a {type(owner).__name__} of this process that has gone on since it was "
                    "written; two drivers of one file would release the same rewards twice: go on with that one, or "
                    "detach or delete it first"
                )
            lock.pass_on(owner, driver)
            owner.__dict__.update(_file=None, _refusal=_GIVEN_AWAY)
            driver.__dict__["_file"] = file
        return driver

    @classmethod
    def _from_file(cls, file: StateFile, noise: Noise | None, outside: dict[str, Any]) -> Self:
        """Return the driver that a file describes: all of it, or an error."""
        head, closes = file.read()
        driver = cls.__new__(cls)
        Secret.__init__(driver)
        try:
            driver._rebuild(head["public"], head["secret"], closes, noise, outside)
            whole = driver._is_in(file)
        except Exception as error:
            why = str(error) if isinstance(error, DiscreetError) else repr(error)
            raise StateError(f"{file.path} does not describe a {cls.kind}: {why}") from error
        if not whole:
            raise StateError(f"{file.path} does not describe a {cls.kind}: saved again, it would not be the same")
        return driver

    def _is_in(self, file: StateFile) -> bool:
        """Return True if a file that was read says what this driver would write: nothing lost, changed or made up."""
        head = file.head
        same_ledger = self._file is None or self._file.head["ledger"] == head["ledger"]
        return same_ledger and canonical(self._comparable(self._head())) == canonical(self._comparable(head))

    def _rebuild(
        self,
        public: dict[str, Any],
        secret: dict[str, Any],
        closes: list[tuple[Release, ...]],
        noise: Noise | None,
        outside: dict[str, Any],
    ) -> None:
        if public["kind"] != self.kind:
            raise StateError(f"it holds a {public['kind']}, not a {self.kind}")
        self._load_options(public, outside)
        self._begin(registry.make(public["algorithm"], public["options"]), noise)
        if public["simulated"] is not self.simulated:
            made = "simulated noise: load it with a simulated source" if public["simulated"] else "private noise"
            raise StateError(f"it was made with {made}")
        ledger = Ledger(list(self._algorithm.taken), self._algorithm.grid)
        for releases in closes:
            ledger.close_epoch(releases)
        if self._algorithm.reads_samples:
            self._algorithm.resume(public["snapshot"])
        else:
            self._algorithm.replay(ledger.by_epoch())
        self._curator = self._make_curator()
        self._open()
        self._curator.restore(secret.get("curator", {}), self._plan)
        self._restore_open(secret.get("open", {}))

    def detach(self) -> None:
        """Write the file a last time and unlock it, so that it can be loaded elsewhere. This object is done then.

        Raises:
            StateError: It has no file.
            OSError: The file cannot be written. Nothing has changed.
        """
        with self._lock():
            if self._file is None:
                raise StateError(f"this {type(self).__name__} has no file to detach from; save it first")
            self._check_process()
            self._file.commit(self._head(), [])
            self._let_go()

    def _let_go(self) -> None:
        file, self._file, self._refusal = self._file, None, self._refusal or _GIVEN_AWAY
        if file is not None:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is None or self._process != os.getpid():
            return
        if self._refusal is None:
            self.detach()
        else:
            self._let_go()

    def _head(self) -> dict[str, Any]:
        """Return the public and the secret part of the file, but for the ledger."""
        algorithm = self._algorithm
        public = {
            "kind": self.kind,
            "algorithm": algorithm.key,
            "options": algorithm.options(),
            "simulated": self.simulated,
            **self._driver_options(),
        }
        if algorithm.reads_samples:
            public["snapshot"] = algorithm.snapshot()
        secret = {"curator": self._curator.state(), "open": self._open_state() if self._plan is not None else {}}
        return {"public": public, "secret": {name: part for name, part in secret.items() if part}}

    # ------------------------------------------------------------------ what a driver writes

    def _lock(self) -> AbstractContextManager[Any]:
        """Return a lock that makes a call whole among threads."""
        return nullcontext()

    def _driver_options(self) -> dict[str, Any]:
        """Return the driver's own options, as JSON values. They are public."""
        return {}

    def _load_options(self, public: dict[str, Any], outside: dict[str, Any]) -> None:
        """Set the driver's own options from the public part of a file, and from what no file can hold."""

    def _comparable(self, head: dict[str, Any]) -> dict[str, Any]:
        """Return the public and the secret part without what may differ between a driver and its file."""
        return {"public": head["public"], "secret": head["secret"]}

    @abstractmethod
    def _open_state(self) -> dict[str, Any]:
        """Return what was collected of the open epoch, as JSON values. It is secret, and empty if there is nothing."""

    @abstractmethod
    def _restore_open(self, state: dict[str, Any]) -> None:
        """Go on with a saved open epoch."""


_HALF_DONE = "has failed or was interrupted while it released an epoch, and cannot go on; load its file if it has one"
_GIVEN_AWAY = "has given its file away, from which another object may go on; load the file and use what you get"
