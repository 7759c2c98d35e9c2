"""Exact output probabilities of real objects, by running them on every small noise there is.

Statistical audits need millions of runs and can flake. On tiny inputs the whole distribution can be
computed instead: the object under test runs once for every combination of noise values up to a bound, and
each run is weighted with the exact discrete Laplace probability *at the scale that the object asked for*.
A wrong scale, a noise that is shared or one that is missing shows as a probability ratio above exp(epsilon).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.grid import Grid
from discreet.core.noise import Integers, Noise

Output = TypeVar("Output", bound=Hashable)
Shares = dict[Output, float]


class ScriptedNoise:
    """Noise that reads from a script, then gives zeros; it remembers the scale of each draw that was used.

    A draw takes its value when it is first computed with, so draws that are made ahead and never used cost
    nothing to enumerate.

    >>> noise = ScriptedNoise([3, -1])
    >>> [int(draw) for draw in noise.draws(2.0, 3)], noise.scales
    ([3, -1, 0], [2.0, 2.0, 2.0])
    """

    simulated = True

    def __init__(self, script: list[int]) -> None:
        self._script = script
        self.scales: list[float] = []

    def draws(self, scale: float, count: int) -> Integers:
        """`count` draws, whose values will come from the script."""
        served = np.empty(count, dtype=object)
        served[:] = [_Draw(self, scale) for _ in range(count)]
        return served

    def value(self, scale: float) -> int:
        """The next number of the script."""
        place = len(self.scales)
        self.scales.append(scale)
        return self._script[place] if place < len(self._script) else 0


class _Draw:
    """A whole number that is read from the script when it is needed."""

    __slots__ = ("_noise", "_scale", "_value")

    def __init__(self, noise: ScriptedNoise, scale: float) -> None:
        self._noise, self._scale = noise, scale
        self._value: int | None = None

    def __int__(self) -> int:
        if self._value is None:
            self._value = self._noise.value(self._scale)
        return self._value

    __index__ = __int__

    def __radd__(self, other: int) -> int:
        return other + int(self)

    __add__ = __radd__


@lru_cache(maxsize=4096)
def probability(value: int, scale: float) -> float:
    """The discrete Laplace probability of one integer.

    >>> round(sum(probability(x, 2.0) for x in range(-60, 61)), 9)
    1.0
    """
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def output_probabilities(run: Callable[[Noise], Output], reach: int) -> dict[Output, float]:
    """The probability of each output of `run`, over all noises with absolute values up to `reach`.

    The probabilities add up to a little less than 1: larger noises are left out.

    >>> halves = output_probabilities(lambda noise: int(noise.draws(1.0, 1)[0]) > 0, reach=20)
    >>> round(halves[False], 4), round(halves[True], 4)
    (0.7311, 0.2689)
    """
    found: dict[Output, float] = defaultdict(float)
    for output, _, weight in _all_runs(run, reach):
        found[output] += weight
    return dict(found)


def _all_runs(run: Callable[[Noise], Output], reach: int) -> Iterator[tuple[Output, list[int], float]]:
    """Every output with its noises and their probability."""
    checks.whole("reach", reach, at_least=0)
    script: list[int] = []
    while True:
        noise = ScriptedNoise(script)
        output = run(noise)
        drawn = len(noise.scales)
        if drawn > len(script):
            # The run asked for more noise than planned: start its new draws at their lowest value, again.
            script = script + [-reach] * (drawn - len(script))
            continue
        script = script[:drawn]
        yield output, script, math.prod(map(probability, script, noise.scales))
        while script and script[-1] == reach:
            script.pop()
        if not script:
            return
        script[-1] += 1


def worst_loss(run: Callable[[Noise], Output], neighbour: Callable[[Noise], Output], reach: int, shift: int) -> float:
    """The largest log-ratio of the probabilities of one output on two neighbouring inputs, either way round.

    The noises of one side go up to `reach` and those of the other up to `reach + shift`. `shift` must be at
    least what the proof of privacy moves a noise by, in grid units; then the result is at most epsilon for
    a private `run`, exactly, although large noises are left out. Code under test may add a draw to a number, or
    convert it with `int` first.
    """
    checks.whole("shift", shift, at_least=0)
    one, other = _near_and_far(run, reach, shift), _near_and_far(neighbour, reach, shift)
    return max(_one_way(one[0], other[1]), _one_way(other[0], one[1]))


def _near_and_far(run: Callable[[Noise], Output], reach: int, shift: int) -> tuple[Shares[Output], Shares[Output]]:
    """The probabilities of outputs over noises up to `reach`, and up to `reach + shift`, in one go."""
    near: Shares[Output] = defaultdict(float)
    far: Shares[Output] = defaultdict(float)
    for output, script, weight in _all_runs(run, reach + shift):
        far[output] += weight
        if all(-reach <= draw <= reach for draw in script):
            near[output] += weight
    return near, far


def _one_way(here: Shares[Output], there: Shares[Output]) -> float:
    return max(math.log(p / there[output]) if output in there else math.inf for output, p in here.items())


@contextmanager
def coarse_grid(bits: int = 0) -> Iterator[None]:
    """Within this context new grids have 2**bits steps, so that noises are small whole numbers.

    Nothing in the privacy of an algorithm depends on the number of steps.

    >>> with coarse_grid():
    ...     Grid(0.0, 1.0).width
    1
    """
    initialise = Grid.__init__
    before = initialise.__defaults__
    initialise.__defaults__ = (bits,)
    try:
        yield
    finally:
        initialise.__defaults__ = before
