"""Curators on coarse grids, whose exact output distributions can be computed."""

from contextlib import contextmanager

import numpy as np

from discreet.core.grid import Grid
from discreet.core.noise import SimulatedNoise, scale_for
from discreet.core.plans import CounterQuery, Plan, ThresholdQuery
from discreet.core.privacy import Privacy, Unit
from discreet.core.statistics import Statistic
from discreet.mechanisms import Curator

COINS = Grid(0.0, 1.0, bits=0)  # rewards 0 and 1 are 0 and 1 steps
SIGNED = Grid(-1.0, 1.0, bits=1)  # rewards -1, 0 and 1 are 0, 1 and 2 steps


class Counted(SimulatedNoise):
    """Simulated noise that counts what was drawn."""

    def __init__(self, seed=1):
        super().__init__(seed)
        self.drawn = 0

    def draws(self, scale, count):
        self.drawn += count
        return super().draws(scale, count)


class OnlyTests:
    """The noise of tests; zeros for released totals, whose scale is small (or large): an enumeration would be long."""

    simulated = True

    def __init__(self, noise, small, large=np.inf):
        self.noise, self.small, self.large = noise, small, large

    def draws(self, scale, count):
        tested = self.small <= scale <= self.large
        return self.noise.draws(scale, count) if tested else np.zeros(count, np.int64)


def reuse_noise(monkeypatch, mechanism):
    """Have each mechanism of a class use its first noise for all of its releases."""
    draw = mechanism._draw

    def reused(self, sensitivity, epsilon, count):
        noises, scale = draw(self, sensitivity, epsilon, count)
        return self.__dict__.setdefault("reused", noises), scale

    monkeypatch.setattr(mechanism, "_draw", reused)


def make(epsilon=1.0, noise=None, unit=Unit.REWARD, arms=("A", "B"), grid=COINS, **given):
    """A curator with a promise."""
    given.setdefault("taken", dict.fromkeys(arms, 0))
    return Curator(grid, Privacy(epsilon, unit, "a test"), noise, **given)


def seen(releases):
    """All that releases say."""
    return tuple((release.kind, release.spans, release.steps, release.tests, release.above) for release in releases)


def released(query, *epochs, statistic=Statistic.TOTAL, count=9, grid=COINS):
    """A run of one mechanism alone on these statistics of the arm A."""

    def run(noise):
        curator = make(sum(query.prices), noise, arms=("A",), grid=grid)
        pulls = {"A": 1 if isinstance(query, CounterQuery) else count}
        plans = (Plan(number, pulls, query, statistic) for number in range(1, len(epochs) + 1))
        return tuple(seen(curator.release(plan, {"A": exact})) for plan, exact in zip(plans, epochs, strict=True))

    return run


def answers(measure, epsilon, totals, limits, grid=COINS, each=1, shared=None):
    """A run of a sparse vector alone, with one test after `each` rewards of every arm.

    Args:
        measure: The measure.
        epsilon: What all tests cost.
        totals: The exact totals by arm between tests; for copies, a list of such lists.
        limits: The limit of each test.
        grid: The grid.
        each: The number of rewards of an arm between tests.
        shared: The number of tests before somebody goes on from copies; None without copies.
    """
    release = 100 * epsilon  # of the totals at the end, which are not looked at
    copies = [totals] if shared is None else totals
    pulls = dict.fromkeys(copies[0][0], each)

    def plan(index):
        query = ThresholdQuery((each * (index + 1),), (limits[index],), epsilon, release, measure)
        return Plan(1, pulls, query)

    def run(noise):
        source = OnlyTests(noise, grid.width / epsilon / 5)
        first, found, before = make(epsilon + release, source, arms=tuple(pulls), grid=grid), [], shared or 0
        for index in range(before):
            found.append(first.release(plan(index), copies[0][index])[0].above)
            if found[-1]:
                return tuple(found)
        secret = first.state()
        for one in copies:
            curator = make(epsilon + release, source, grid=grid, taken=dict.fromkeys(pulls, each * before))
            curator.restore(secret, plan(before))
            for index in range(before, len(limits)):
                found.append(curator.release(plan(index), one[index])[0].above)
                if found[-1]:
                    break
        return tuple(found)

    return run


@contextmanager
def less_noise(monkeypatch, factor):
    """Within this context all noise is of a scale that is too small by a factor."""
    with monkeypatch.context() as patch:
        for module in ("_mechanism", "sparse_vector"):
            patch.setattr(
                f"discreet.mechanisms.{module}.scale_for",
                lambda sensitivity, epsilon: scale_for(sensitivity, epsilon) / factor,
            )
        yield
