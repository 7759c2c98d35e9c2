"""The base class of drivers that hand out tickets: the open epoch, its window, and both in a file."""

import os
import threading
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError, StateError
from discreet.core.noise import Noise
from discreet.drivers._base import Driver
from discreet.drivers.open_epoch import OpenEpoch, comparable
from discreet.drivers.tickets import Issuers
from discreet.drivers.windows import Clock, Window

WAITING = ("refuse", "serve")
"""What to do with asks while all pulls of an epoch are handed out."""


class TicketDriver(Driver):
    """A driver whose open epoch is tickets that were handed out. A subclass sets the options before `__init__`."""

    kind = "bandit"
    family = "policy"

    _default_reward: float | None
    _window: Window | None
    _rng: np.random.Generator
    clip: bool
    waiting: str
    _served_before = 0  # tickets that were handed out before this object was made from a file

    def _begin(self, algorithm: Any, noise: Noise | None) -> None:
        super()._begin(algorithm, noise)
        self._thread_lock = threading.RLock()
        self._issuers = Issuers()
        self._default = None if self._default_reward is None else algorithm.grid.encode(self._default_reward)
        self._epoch = OpenEpoch(None, 0, self._served_before, None, self._rng)

    def __getstate__(self) -> dict[str, Any]:
        with self._thread_lock:
            return {name: value for name, value in self.__dict__.items() if name != "_thread_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._thread_lock = threading.RLock()

    def _check_window(self, clock: Clock | None) -> None:
        if self._window is None:
            if clock is not None:
                raise ArgumentError("window must be given with a clock, as in window=timedelta(hours=24); got None")
        elif self._default_reward is None:
            raise ArgumentError("default_reward must be declared with a window, as in default_reward=0.0; got None")
        elif self._window.clock is None and self.waiting == "refuse":
            raise ArgumentError(
                "waiting must be 'serve' with a window in tickets, which passes with each one that is handed out; "
                "got 'refuse'"
            )

    def _now(self) -> float | None:
        """Return the time; None without a window."""
        return None if self._window is None else self._window.now(self._epoch.issued)

    # ------------------------------------------------------------------ the file

    @classmethod
    def load(cls, path: str | os.PathLike[str], noise: Noise | None = None, *, clock: Clock | None = None) -> Self:
        """Go on from a file, and keep it up to date.

        Args:
            path: The head's path.
            noise: A simulated source, for a file that was made with one. The draws are new ones: a file has no noise.
            clock: The clock, for a file that was made with one of your own.

        Raises:
            FileNotFoundError: There is no such file.
            StateError: The file is damaged, of another kind of driver, or made with the other kind of noise or clock.
            PrivacyError: Another driver or process has that file.
        """
        return cls._load(path, noise, {"clock": clock})

    def _open(self) -> None:
        first = self._epoch.issued
        super()._open()
        number = self._algorithm.epoch + 1 if self._plan is None else self._plan.epoch
        self._epoch = OpenEpoch(self._plan, number, first, self._window, self._rng)

    def _lock(self) -> AbstractContextManager[Any]:
        return self._thread_lock

    def _driver_options(self) -> dict[str, Any]:
        window = None if self._window is None else self._window.options()
        return {
            "default_reward": self._default_reward,
            "window": window,
            "clip": self.clip,
            "waiting": self.waiting,
            "served": self._epoch.issued if self._plan is None else self._epoch.first,  # by the epochs that are closed
        }

    def _load_options(self, public: dict[str, Any], outside: dict[str, Any]) -> None:
        default, window, clock = public["default_reward"], public["window"], outside.get("clock")
        self._default_reward = None if default is None else checks.real("default_reward", default)
        if window is None and clock is not None:
            raise StateError("it has no window, and needs no clock: load it without one")
        self._window = None if window is None else Window.from_options(window, clock)
        self.clip = bool(public["clip"])
        self.waiting = checks.choice("waiting", public["waiting"], WAITING)
        self._served_before = checks.whole("served", public["served"], at_least=0)
        self._check_window(None)
        self._rng = np.random.default_rng()

    def _open_state(self) -> dict[str, Any]:
        return {"issuers": self._issuers.state(self._epoch.issued), **self._epoch.state()}

    def _comparable(self, head: dict[str, Any]) -> dict[str, Any]:
        state = head["secret"].get("open")
        if not state:
            return super()._comparable(head)
        mine = self._issuers.current.key
        others = {key: issued for key, issued in state["issuers"].items() if key != mine}
        secret = {**head["secret"], "open": {**comparable(state), "issuers": others}}
        return {"public": head["public"], "secret": secret}

    def _restore_open(self, state: dict[str, Any]) -> None:
        self._open()
        if not state:
            return
        self._issuers.restore(state["issuers"])
        self._epoch.restore(state, self._algorithm.grid.width)
        if not self._issuers.fit(self._epoch.issued):
            raise StateError("the saved tickets do not fit the saved plan")
