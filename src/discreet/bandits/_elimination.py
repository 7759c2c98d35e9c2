"""What all elimination policies share: a set of viable arms that shrinks, and a horizon that may cut an epoch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from discreet.bandits._policy import Policy, cut_short
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.privacy import Arm


class EliminationPolicy(Policy):
    """Pulls all viable arms equally; drops those that fall behind; then pulls the last one.

    A subclass says in `_rounds` how many more rounds (pulls of each viable arm) it needs before it can
    decide, in `_draw_ahead` which noise it will need for that, and in `_close` what it decides.
    """

    max_pulls: int | None = None
    """Where a search without a horizon gives up, rather than begin an epoch that goes beyond."""

    def __init__(self, arms: Iterable[Arm], *, low: float = 0.0, high: float = 1.0, horizon: int | None = None) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self._viable = list(range(len(self.arms)))
        self._leader: int | None = None

    @property
    def viable(self) -> tuple[Arm, ...]:
        """The arms that are still in the race."""
        return tuple(self.arms[number] for number in self._viable)

    @property
    def settled(self) -> bool:
        """True when one arm is left."""
        return len(self._viable) == 1

    @property
    def best_arm(self) -> Arm:
        """The last viable arm, or while there are several the one with the best latest release."""
        return None if self._leader is None else self.arms[self._leader]

    @abstractmethod
    def _rounds(self) -> int:
        """How many rounds the coming epoch needs."""

    def _draw_ahead(self) -> None:
        """Draw the noise of the epoch that begins, before its rewards are known."""

    def _plan(self) -> tuple[dict[int, int], bool]:
        remaining = self.remaining
        if self.settled:
            # Line "pull the arm in S in all remaining rounds"; without a horizon there is nothing to add.
            return ({self._viable[0]: remaining} if remaining else {}), False
        rounds, size = self._rounds(), len(self._viable)
        if self.max_pulls is not None and self.time + rounds * size > self.max_pulls:
            return {}, False
        if remaining is None or rounds * size <= remaining:
            self._draw_ahead()
            return dict.fromkeys(self._viable, rounds), True
        # The horizon cuts this epoch short: its pulls are made in turn, and nothing is released.
        return cut_short(dict.fromkeys(self._viable, rounds), remaining), False

    def _drop(self, scores: dict[int, int], threshold: float) -> None:
        """Remove every arm whose score is more than `threshold` below the best one (strictly)."""
        best = max(scores.values())
        self._leader = max(scores, key=scores.__getitem__)
        self._viable = [number for number in self._viable if best - scores[number] <= threshold]

    def _progress(self) -> dict[str, Any]:
        return {"viable": list(self._viable), "leader": self._leader}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._viable = [int(number) for number in progress["viable"]]
        self._leader = progress["leader"]


def confidence(beta: float | None, horizon: int | None) -> float:
    """The probability of failure: as given, or the paper's 1/T."""
    if beta is not None:
        return checks.fraction("beta", beta)
    if horizon is None:
        raise ArgumentError("give a horizon (then beta is 1/horizon), or beta; got neither")
    return 1 / horizon
