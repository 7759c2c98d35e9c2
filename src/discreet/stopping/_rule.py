"""What all stopping rules share: a stream in any shape goes in, one honest result comes out."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError, FinishedError
from discreet.core.grid import CHUNK, Grid
from discreet.core.privacy import Release
from discreet.drivers import files as state

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StoppingResult:
    """What a stopping rule says: an estimate with its promise, or that it was not reached.

    The chance, over the stream and the noise, that a rule halts with |estimate - mean| > alpha |mean| is at most
    beta. When it is not `reached`, `estimate` is None: never a number without a promise.
    """

    reached: bool
    estimate: float | None
    samples: int
    alpha: float
    beta: float
    epsilon: float
    reason: str
    simulated: bool

    def __str__(self) -> str:
        if not self.reached:
            note = " (simulated)" if self.simulated else ""
            return f"not reached after {self.samples:,} samples: {self.reason}{note}"
        private = "not private" if self.epsilon == float("inf") else f"epsilon = {self.epsilon:g}"
        note = ", simulated" if self.simulated else ""
        return (
            f"mean {self.estimate:.6g}, within {100 * self.alpha:g}% of the true mean with probability "
            f"{1 - self.beta:g}, from {self.samples:,} samples ({private}{note})"
        )


class StoppingRule(Algorithm):
    """Reads i.i.d. samples of a declared range until their mean is known within a factor 1 +- alpha.

    Give the range as `radius` (the paper's [-R, R]) or as `low` and `high`. `max_samples` ends a hopeless
    stream, such as one of mean 0. `clip` moves samples into the range instead of refusing them.

    Feed numbers, arrays, or iterables of either: the answer does not depend on how the stream is cut.
    A subclass writes `_absorb` (samples in grid units) and its formulas.
    """

    kind = "stopping rule"

    def __init__(
        self,
        *,
        alpha: float,
        beta: float,
        radius: float | None = None,
        low: float | None = None,
        high: float | None = None,
        max_samples: int | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__()
        self.alpha = checks.fraction("alpha", alpha)
        self.beta = checks.fraction("beta", beta)
        self.radius = None if radius is None else checks.positive("radius", radius)
        self.low = None if low is None else checks.real("low", low)
        self.high = None if high is None else checks.real("high", high)
        self.grid = _grid(self.radius, self.low, self.high)
        self.max_samples = None if max_samples is None else checks.whole("max_samples", max_samples)
        self.clip = bool(clip)
        self.samples = 0
        self._halted = False
        self._estimate: float | None = None
        self._kept: tuple[Release, ...] = ()

    # ------------------------------------------------------------------ feeding

    def run(self, stream: Any) -> StoppingResult:
        """Read a stream until the rule halts, the cap is reached, or the stream ends."""
        self.feed(stream)
        return self.result

    def feed(self, samples: Any) -> bool:
        """Take one number, an array, or any iterable of either; True when the rule has halted.

        An array is taken whole or refused whole. What lies beyond the halting sample is not used, and not
        read from an iterable. If the rule has a file and it cannot be written, an OSError says so and the samples
        are not counted.
        """
        self._same_process()
        if self.finished:
            raise FinishedError(f"this {self.key} has finished after {self.samples} samples; make a new one")
        if isinstance(samples, np.ndarray) or hasattr(samples, "__array__"):
            with self._in_step():
                self._feed_array(samples)
        elif isinstance(samples, list | tuple):
            with self._in_step():
                self._feed_items(iter(samples), nullcontext)
        elif isinstance(samples, Iterable) and not isinstance(samples, str | bytes | dict):
            self._feed_items(iter(samples), self._in_step)  # to read on tells that no test has halted
        else:
            with self._in_step():
                self._advance(np.array([self.grid.encode(samples, self.clip)], dtype=np.float64))
        return self._halted

    def plan(self) -> int:
        """How many samples to take before the next decision; 0 when there is nothing left to take."""
        return self.ahead

    @property
    def ahead(self) -> int:
        """How many samples the next decision is away; 0 when there is none."""
        if self.finished:
            return 0
        need = self._until_test()
        return need if self.max_samples is None else min(need, self.max_samples - self.samples)

    def close(self, total: int) -> bool:
        """Take the exact total, in grid units, of the `plan()` samples that were asked for."""
        self._same_process()
        count = self.plan()
        if not count:
            raise FinishedError(f"this {self.key} has finished after {self.samples} samples; make a new one")
        remedy = " grid units; use rule.grid.total(samples)"
        exact = checks.secret("total", total, 0, count * self.grid.width, remedy)
        with self._in_step():
            self._take(exact, count)
        return self._halted

    def _feed_array(self, samples: Any) -> None:
        values = self.grid.check_array(samples, self.clip)
        for start in range(0, values.size, CHUNK):
            self._advance(self.grid.encode_checked(values[start : start + CHUNK]))
            if self.finished:
                return

    def _feed_items(self, items: Iterator[Any], in_step: Callable[[], AbstractContextManager[None]]) -> None:
        """Gather single numbers up to the next decision, never beyond it: a live stream is not read ahead."""
        pending: list[int] = []

        def flush() -> None:
            batch = np.array(pending, dtype=np.float64)
            pending.clear()  # first: whatever happens, no sample is absorbed twice
            with in_step():
                self._advance(batch)

        want = min(self.ahead, CHUNK)
        try:
            for item in items:
                if isinstance(item, list | tuple) or (hasattr(item, "__array__") and np.ndim(item) > 0):
                    flush()
                    if not self.finished:
                        with in_step():
                            self._feed_array(item)
                else:
                    pending.append(self.grid.encode(item, self.clip))
                    if len(pending) < want:
                        continue
                    flush()
                if self.finished:
                    return
                want = min(self.ahead, CHUNK)
        finally:
            # Good samples before a bad one count; the stream has given them away.
            flush()

    def _advance(self, units: Floats) -> None:
        """Absorb samples up to the cap."""
        if self.max_samples is not None:
            units = units[: self.max_samples - self.samples]
        if units.size:
            self._absorb(units)

    # ------------------------------------------------------------------ what a rule writes

    @abstractmethod
    def _absorb(self, units: Floats) -> None:
        """Take samples (whole numbers of grid units), counting `samples`; halt where the rule says so."""

    def _take(self, total: int, count: int) -> None:
        """Take `count` samples by their total; a rule whose `_until_test` is not 1 writes this too."""
        if count != 1:
            raise TypeError(f"{type(self).__name__} decides after {count} samples at once, so it must write _take")
        self._absorb(np.array([total], dtype=np.float64))

    def _until_test(self) -> int:
        """Samples until the next decision."""
        return 1

    # ------------------------------------------------------------------ what anybody may read

    @property
    def halted(self) -> bool:
        """True when the rule has reached its promise."""
        return self._halted

    @property
    def finished(self) -> bool:
        """True when the rule has halted or its cap is reached."""
        return self._halted or (self.max_samples is not None and self.samples >= self.max_samples)

    @property
    def result(self) -> StoppingResult:
        """Where the rule stands now."""
        if self._halted:
            reason = "the rule halted"
        elif self.finished:
            reason = f"the cap of {self.max_samples:,} samples was reached"
        else:
            reason = "the stream ended before the rule could halt; feed more"
        return StoppingResult(
            self._halted, self._estimate, self.samples, self.alpha, self.beta, self.privacy.epsilon, reason,
            self.simulated,
        )  # fmt: skip

    # ------------------------------------------------------------------ saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, atomically, and keep that file up to date from now on.

        What a call has tested or released is in the file before the call returns, and before a live stream is read
        on. So after a crash the file never lies behind what was seen, and noise never meets other data. It is as
        sensitive as the samples (see `discreet.drivers.files`).
        """
        super().save(path)
        self._kept = self.ledger

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The rule that was saved in a file, which it keeps up to date from now on."""
        rule = super().load(path)
        rule._kept = rule.ledger
        return rule

    @contextmanager
    def _in_step(self) -> Iterator[None]:
        """What is tested or released inside is in the file before anybody sees it, or it has not happened."""
        if self._file is None or self.noise is None:
            yield
            return
        before = state.canonical(self._dump())
        try:
            yield
        finally:
            if self._kept != self.ledger:
                try:
                    self.save(self._file)
                except BaseException:
                    self._go_back(json.loads(before))
                    raise

    def _go_back(self, saved: dict[str, Any]) -> None:
        """Be what was saved a moment ago; since nothing was shown, the same noise may meet other samples."""
        options: dict[str, Any] = {**saved["options"], "noise": self.noise}
        twin = type(self)(**options)
        twin._revive(saved)
        mine = ("_process", "_file", "_custody", "_kept")
        self.__dict__.update({name: value for name, value in vars(twin).items() if name not in mine})

    def _dump(self) -> dict[str, Any]:
        return {**super()._dump(), "samples": self.samples, "halted": self._halted, "estimate": self._estimate}

    def _revive(self, saved: dict[str, Any]) -> None:
        super()._revive(saved)
        self.samples = int(saved["samples"])
        self._halted = bool(saved["halted"])
        self._estimate = saved["estimate"]
        if self.samples < 0 or (not self.finished and self._until_test() < 1):
            raise ArgumentError("the saved samples do not fit the saved tests")

    def _fresh(self) -> bool:
        return super()._fresh() and self.samples == 0


def _grid(radius: float | None, low: float | None, high: float | None) -> Grid:
    if radius is not None:
        if low is not None or high is not None:
            raise ArgumentError(f"give radius, or low and high, not both; got radius={radius!r}")
        return Grid(-radius, radius)
    if low is None or high is None:
        raise ArgumentError(f"give the samples' range as radius, or as low and high; got low={low!r}, high={high!r}")
    return Grid(low, high)
