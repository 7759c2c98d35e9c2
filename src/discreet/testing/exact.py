"""Exact output probabilities of real objects, by running them on every small noise.

Statistical audits need millions of runs and can be wrong by chance. On tiny inputs the whole distribution can be
computed instead: the object under test runs once for every combination of noise values up to a bound, and each run is
weighted with the exact discrete Laplace probability *at the scale that the object asked for*. A wrong scale, a noise
that is shared or one that is missing shows as a probability ratio above exp(epsilon).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.grid import Grid
from discreet.core.noise import Integers, Noise

Output = TypeVar("Output", bound=Hashable)
Probabilities = dict[Output, float]


class ScriptedNoise:
    """Noise that is read from a script. It remembers the scale of each draw.

    Args:
        script: The draws, in order.
        after: Each draw after the script.

    >>> noise = ScriptedNoise([3, -1])
    >>> noise.draws(2.0, 3).tolist(), noise.scales
    ([3, -1, 0], [2.0, 2.0, 2.0])
    """

    simulated = True

    def __init__(self, script: Sequence[int], after: int = 0) -> None:
        self._script, self._after = script, after
        self.scales: list[float] = []

    def draws(self, scale: float, count: int) -> Integers:
        """Return the next draws of the script.

        Args:
            scale: The scale that is asked for. It is remembered, and changes nothing.
            count: The number of draws.
        """
        start = len(self.scales)
        self.scales += [scale] * count
        served = list(self._script[start : start + count])
        return np.array(served + [self._after] * (count - len(served)), dtype=np.int64)


@lru_cache(maxsize=4096)
def probability(value: int, scale: float) -> float:
    """Return the discrete Laplace probability of one integer.

    Args:
        value: The integer.
        scale: The scale of the distribution.

    >>> round(sum(probability(x, 2.0) for x in range(-60, 61)), 9)
    1.0
    """
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def output_probabilities(run: Callable[[Noise], Output], reach: int) -> dict[Output, float]:
    """Return the probability of each output, over all noises with absolute values up to a bound.

    The probabilities add up to a little less than 1, since larger noises are left out.

    Args:
        run: Runs a driver or a curator on this source of noise, and returns everything that it has shown.
        reach: The largest absolute value of a noise, in grid steps.

    >>> halves = output_probabilities(lambda noise: int(noise.draws(1.0, 1)[0]) > 0, reach=20)
    >>> round(halves[False], 4), round(halves[True], 4)
    (0.7311, 0.2689)
    """
    return dict(_near_and_far(run, reach, 0)[1])


def worst_loss(run: Callable[[Noise], Output], neighbour: Callable[[Noise], Output], reach: int, shift: int) -> float:
    """Return the largest log-ratio of the probabilities of one output on two neighbouring inputs, either way round.

    The noises of one side go up to `reach` and those of the other up to `reach + shift`. So the result is at most
    epsilon for a private `run`, exactly, although large noises are left out.

    Args:
        run: Runs a driver or a curator on this source of noise, and returns everything that it has shown.
        neighbour: The same on a neighbouring input.
        reach: The largest absolute value of a noise, in grid steps.
        shift: The most by which the proof of privacy moves a noise, in grid steps.

    >>> import discreet
    >>> with coarse_grid():  # rewards are 0 or 1
    ...     policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=2.0, beta=0.5)
    >>> def run(noise, total):
    ...     driver = discreet.Totals(policy, noise)
    ...     return driver.close_steps({"A": total, "B": 160}), driver.plan()
    >>> def output(noise, total):
    ...     releases, plan = run(noise, total)
    ...     return tuple(releases), plan and tuple(plan.pulls.items())
    >>> round(worst_loss(lambda noise: output(noise, 200), lambda noise: output(noise, 201), reach=2, shift=1), 6)
    2.0
    """
    checks.whole("shift", shift, at_least=0)
    one, other = _near_and_far(run, reach, shift), _near_and_far(neighbour, reach, shift)
    return max(_one_way(one[0], other[1]), _one_way(other[0], one[1]))


@contextmanager
def coarse_grid(bits: int = 0) -> Iterator[None]:
    """Let new grids have 2**bits steps, so that noises are small whole numbers.

    The privacy of an algorithm does not depend on the number of steps.

    Args:
        bits: The logarithm of the number of steps.

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


def _all_runs(run: Callable[[Noise], Output], reach: int) -> Iterator[tuple[Output, list[int], float]]:
    """Yield every output with its noises and their probability."""
    checks.whole("reach", reach, at_least=0)
    script: list[int] = []
    while True:
        noise = ScriptedNoise(script, after=-reach)  # draws that are met for the first time have their lowest value
        output = run(noise)
        drawn = len(noise.scales)
        script = (script + [-reach] * (drawn - len(script)))[:drawn]
        yield output, script, math.prod(map(probability, script, noise.scales))
        while script and script[-1] == reach:
            script.pop()
        if not script:
            return
        script[-1] += 1


def _near_and_far(
    run: Callable[[Noise], Output], reach: int, shift: int
) -> tuple[Probabilities[Output], Probabilities[Output]]:
    """Return the probabilities of outputs over noises up to `reach`, and up to `reach + shift`."""
    near: Probabilities[Output] = defaultdict(float)
    far: Probabilities[Output] = defaultdict(float)
    for output, script, weight in _all_runs(run, reach + shift):
        far[output] += weight
        if all(-reach <= draw <= reach for draw in script):
            near[output] += weight
    return near, far


def _one_way(here: Probabilities[Output], there: Probabilities[Output]) -> float:
    return max(math.log(p / there[output]) if output in there else math.inf for output, p in here.items())
