"""Feeds one stream of samples to a stopping rule."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._display import Page, Shown
from discreet.core.coins import counted
from discreet.core.errors import FinishedError, StateError
from discreet.core.grid import CHUNK
from discreet.core.ledger import Ledger
from discreet.core.noise import Noise
from discreet.core.plans import Plan
from discreet.core.privacy import Privacy
from discreet.drivers._base import Driver

_PARTLY_COUNTED = (
    "was interrupted while it counted an array. Some of it counts already, and would count twice if it were fed once "
    "more: make a new one"
)
_SPACED = 64 * CHUNK  # samples per pass where many may lie between two tests: more tests are closed at once


@dataclass(frozen=True)
class StoppingResult(Shown):
    """The result of a stopping rule: an estimate with its promise, or that it was not reached.

    The chance, over the stream and the noise, that a rule halts with |estimate - mean| > alpha |mean| is at most beta.
    When it is not `reached`, `estimate` is None: there is never a number without a promise.

    Args:
        reached: True if the rule has halted.
        estimate: The estimated mean.
        samples: The number of samples that were taken.
        alpha: The relative error.
        beta: The probability of a larger error.
        reason: Why it ended, in words.
        privacy: What is promised to whom.
        ledger: All that was released.
    """

    reached: bool
    estimate: float | None
    samples: int
    alpha: float
    beta: float
    reason: str
    privacy: Privacy
    ledger: Ledger

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of a sample; infinite if nothing is promised."""
        return self.privacy.epsilon

    @property
    def simulated(self) -> bool:
        """True if the noise came from a seed."""
        return self.privacy.simulated

    def plot(self, ax: Any = None) -> Any:
        """Plot the released means with radii of 95 %, and return the figure.

        Args:
            ax: Axes of matplotlib to draw on; by default in a new figure.
        """
        return self.ledger.plot(ax)

    def _page(self) -> Page:
        names = ("estimate", "samples", "alpha", "beta", "reason")
        protects = {"protects": self.privacy.unit.words if self.privacy.promised else "nobody"}
        return Page(str(self), {**{name: getattr(self, name) for name in names}, **protects})

    def __str__(self) -> str:
        note = "simulated" if self.simulated else ""
        if not self.reached:
            return f"not reached after {self.samples:,} samples: {self.reason}{f' ({note})' if note else ''}"
        private = f"epsilon = {self.epsilon:g}" if self.privacy.promised else "not private"
        return (
            f"mean {self.estimate:.6g}, within {100 * self.alpha:g}% of the true mean with probability "
            f"{1 - self.beta:g}, from {self.samples:,} samples ({private}{f', {note}' if note else ''})"
        )


class Stream(Driver):
    """Feeds samples to a stopping rule. Its answer does not depend on how the stream is cut into pieces.

    With a file, single numbers of an iterable are written at each decision: whoever sees that the stream is read on
    knows that no test has halted. A `Stream` is for one thread.

    Args:
        rule: A stopping rule. The driver works on a copy.
        noise: A simulated source for studies and tests; by default private noise.
        clip: True to move samples outside of the range to its ends, instead of refusing them.

    >>> import discreet
    >>> rule = discreet.DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.1, low=0, high=1)
    >>> stream = Stream(rule, noise=discreet.SimulatedNoise(7))
    >>> stream.feed([1.0] * 100)
    False
    >>> stream.run(1.0 for _ in range(10_000)).samples
    256
    """

    kind = "stream"
    family = "rule"
    clip = False

    def __init__(self, rule: Any, noise: Noise | None = None, *, clip: bool = False) -> None:
        self.clip = bool(clip)
        super().__init__(rule, noise)

    def run(self, samples: Any) -> StoppingResult:
        """Feed samples until the rule halts, its cap is reached or they end, and return the result.

        Args:
            samples: Numbers, arrays, or an iterable of either.
        """
        self.feed(samples)
        return self.result

    def feed(self, samples: Any) -> bool:
        """Feed one number, an array or a list, or an iterable of numbers and arrays.

        An array or a list counts as a whole or not at all. An iterable is not read beyond the sample that decides.

        Args:
            samples: What to feed.

        Returns:
            True if the rule has halted.

        Raises:
            FinishedError: The rule has finished.
            ArgumentError: A sample is no number in the range.
            OSError: The file could not be written, so nothing was released.
        """
        self._check_process()
        if self._plan is None:
            raise FinishedError(f"this {self._algorithm.key} has finished after {self.samples} samples; make a new one")
        if hasattr(samples, "__array__") or _is_flat(samples):
            self._feed_array(samples)
        elif isinstance(samples, Iterable) and not isinstance(samples, str | bytes | dict):
            self._feed_items(samples)
        else:
            self._take(np.array([self._algorithm.grid.encode(samples, self.clip, self._noise)]))
        return bool(self._algorithm.halted)  # type: ignore[attr-defined]

    @property
    def samples(self) -> int:
        """The number of samples that were taken, those of the open epoch included."""
        (taken,) = self._algorithm.taken.values()
        return taken + self._collected

    @property
    def ahead(self) -> int:
        """The number of samples until the next decision; 0 when nothing is left to decide."""
        return self._missing

    @property
    def result(self) -> StoppingResult:
        """The present result."""
        rule: Any = self._algorithm
        if rule.halted:
            reason = "the rule halted"
        elif self._plan is None:
            reason = f"the cap of {rule.max_samples:,} samples was reached"
        else:
            reason = "the stream ended before the rule could halt; feed more"
        result: StoppingResult = rule.result(self.samples, reason, self.privacy)
        return result

    # ------------------------------------------------------------------ feeding

    def _feed_items(self, items: Iterable[Any]) -> None:
        """Gather single numbers up to the next decision."""
        encode, waiting = self._algorithm.grid.encode, []  # type: Any, list[int]
        try:
            for item in items:
                if isinstance(item, list | tuple) or (hasattr(item, "__array__") and np.ndim(item) > 0):
                    self._take_waiting(waiting)
                    if self._plan is not None:
                        self._feed_array(item)
                else:
                    waiting.append(encode(item, self.clip, self._noise))
                    if len(waiting) >= self._wanted:
                        self._take_waiting(waiting)
                if self._plan is None:
                    return
        finally:
            self._take_waiting(waiting)  # good samples before a bad one count: the stream has given them away

    def _take_waiting(self, waiting: list[int]) -> None:
        steps = np.array(waiting, dtype=np.int64)
        waiting.clear()  # first: whatever happens, no sample is taken twice
        self._take(steps)

    def _feed_array(self, samples: Any) -> None:
        grid = self._algorithm.grid
        values = grid.check_array(samples, self.clip)
        put_back = self._file is not None and 0 < self._missing <= values.size
        counted = False  # some of it, and no commit would put it back
        try:
            with self._commit_of(values.size):
                size = _SPACED if self._plan is not None and self._plan.spaced else CHUNK
                for start in range(0, values.size, size):
                    steps = grid.encode_checked(values[start : start + size], self._noise)
                    counted = not put_back
                    self._fill(steps)
                    if self._plan is None:
                        return
        except BaseException:
            if counted and self._refusal is None:
                self._refusal = _PARTLY_COUNTED
            raise

    def _take(self, steps: NDArray[Any]) -> None:
        with self._commit_of(steps.size):
            self._fill(steps)

    def _commit_of(self, count: int) -> AbstractContextManager[None]:
        """Return a commit if `count` samples have something released."""
        return self._commit() if count and count >= self._missing else nullcontext()

    # ------------------------------------------------------------------ the open epoch

    def _open(self) -> None:
        super()._open()
        plan = self._plan
        self._many_tests = plan is not None and plan.many_tests
        self._missing = 0 if plan is None else plan.until(1).size if self._many_tests else plan.size
        self._collected = 0
        self._wanted = min(self._missing, CHUNK)
        if plan is not None:
            self._sums = plan.statistic.accumulator(self._algorithm.grid.width)

    def _fill(self, steps: NDArray[Any]) -> None:
        """Add samples to the open epoch, and close it as often as they fill it."""
        while steps.size and (plan := self._plan) is not None:
            if self._many_tests and steps.size >= self._missing:
                steps = self._fill_tests(plan, steps)
                continue
            part, steps = steps[: self._missing], steps[self._missing :]
            if plan.query is not None:
                self._sums.add(self._counted(plan, part))
            self._missing -= part.size
            self._wanted = min(self._missing, CHUNK)
            self._collected += part.size
            if not self._missing:
                values = self._sums.values
                self._close(plan, None if plan.query is None else {None: values if len(values) > 1 else values[0]})

    def _counted(self, plan: Plan, steps: NDArray[Any]) -> NDArray[Any]:
        """Return samples as the plan's statistic adds them up."""
        return counted(plan.statistic, steps, self._algorithm.grid.width, self._noise)

    def _fill_tests(self, plan: Plan, steps: NDArray[Any]) -> NDArray[Any]:
        """Close the tests that samples complete, one of them at least, and return the samples that are left."""
        before = self._collected
        plan = plan.until(plan.tests_within(before + steps.size))
        part, rest = steps[: plan.size - before], steps[plan.size - before :]
        totals = plan.between_tests(self._counted(plan, part), before)
        if before:
            totals[0] += self._sums.values[0]
        self._close(plan, {None: totals})
        return rest

    def _driver_options(self) -> dict[str, Any]:
        return {"clip": self.clip}

    def _load_options(self, public: dict[str, Any], outside: dict[str, Any]) -> None:
        self.clip = bool(public["clip"])

    def _open_state(self) -> dict[str, Any]:
        return {"sums": self._sums.state(), "collected": self._collected} if self._collected else {}

    def _restore_open(self, state: dict[str, Any]) -> None:
        self._open()
        if state:
            self._collected = int(state["collected"])
            self._missing -= self._collected
            self._wanted = min(self._missing, CHUNK)
            if self._collected < 1 or self._missing < 1:
                raise StateError("the saved samples do not fit the saved plan")
            self._sums.restore(state["sums"])


def _is_flat(samples: Any) -> bool:
    """Return True for a list or tuple of single numbers."""
    return isinstance(samples, list | tuple) and not any(
        isinstance(item, list | tuple) or (hasattr(item, "__array__") and np.ndim(item) > 0) for item in samples
    )
