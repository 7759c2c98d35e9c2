"""What rules and policies share: a privacy statement, a ledger, and a saved state."""

from __future__ import annotations

import os
from abc import ABC
from typing import Any, ClassVar

from discreet.core.errors import PrivacyError
from discreet.core.noise import Noise, noise_state, rewind_noise
from discreet.core.options import Configured
from discreet.core.privacy import Neighbours, Privacy, Release, Unit, not_private, release_state, restore_release
from discreet.drivers._kept import Kept


class Algorithm(Configured, Kept, ABC):
    """The base of `Policy` and `StoppingRule`."""

    key: ClassVar[str]
    """The short name, for the registry."""
    privacy_reason: ClassVar[str | None] = None
    """Why it is private, in one sentence; None for what is not private."""
    privacy_unit: ClassVar[Unit] = Unit.REWARD
    neighbours: ClassVar[Neighbours] = Neighbours.ONE_REWARD

    open_book: ClassVar[bool] = False
    """Whether it holds nothing between epochs but what it has released, and plans by that alone. Then its state may lie
    in a database that many people can read, and a service can run it."""

    noise: Noise | None = None
    epsilon: float

    def __init__(self) -> None:
        self._ledger: list[Release] = []
        self._guard()

    @property
    def privacy(self) -> Privacy:
        """What is promised, about which unit, and why."""
        if self.privacy_reason is None:
            return not_private()
        return Privacy(self.epsilon, self.privacy_unit, self.neighbours, self.privacy_reason, self.simulated)

    @property
    def ledger(self) -> tuple[Release, ...]:
        """Everything that was released so far, in order."""
        return tuple(self._ledger)

    # ------------------------------------------------------------------ saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, atomically. The file may be as sensitive as the rewards (see `discreet.drivers.files`)."""
        self._store(path)

    @classmethod
    def _build(cls, body: dict[str, Any]) -> Any:
        from discreet.core.registry import rebuild  # noqa: PLC0415  (the registry knows the algorithms, not they it)

        return rebuild(cls.kind, body)

    def _dump(self) -> dict[str, Any]:
        """Everything needed to go on elsewhere, as JSON values."""
        self._same_process()
        return {
            "name": self.key,
            "options": self.options(),
            "noise": None if self.noise is None else noise_state(self.noise),
            "ledger": [release_state(entry) for entry in self._ledger],
            "progress": self._progress(),
        }

    def _revive(self, saved: dict[str, Any]) -> None:
        """Put a saved state into a freshly built object of the same options."""
        if not self._fresh():
            raise PrivacyError("only a new object takes a saved state: going back would use noise twice")
        self._ledger = [restore_release(entry) for entry in saved["ledger"]]
        self._restore(saved["progress"])
        if self.noise is not None:
            rewind_noise(self.noise, saved["noise"])  # building the object drew from it

    def _fresh(self) -> bool:
        """Whether nothing has happened to this object yet."""
        return not self._ledger

    def _progress(self) -> dict[str, Any]:
        """What the algorithm itself must remember in a saved state."""
        return {}

    def _restore(self, progress: dict[str, Any]) -> None:
        """Go on from what `_progress` gave."""
