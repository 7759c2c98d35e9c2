"""DP mean: a private look at the first samples chooses between inverse sampling and DP-Bernstein."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Self

from discreet.core import checks
from discreet.core.coins import UnbiasedGrid
from discreet.core.errors import ArgumentError, StateError
from discreet.core.options import Positive
from discreet.core.plans import Plan, TotalsQuery
from discreet.core.privacy import Theorem, split
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.core.statistics import Statistic
from discreet.stopping._inverse.schedule import LAST
from discreet.stopping._rule import StoppingRule
from discreet.stopping.dp_bernstein import DPBernstein
from discreet.stopping.dp_inverse_sampling import DPInverseSampling

SHARES = tuple(10 ** (-power / 12) for power in range(1, 37))
"""Means, as shares of the largest sample, at which two rules are compared."""
_GAIN = 1.2  # a look pays where DP-Bernstein may need so many times fewer samples
_COST = 0.06  # of the samples that the better rule is said to need: a look ends when it has taken as many,
_CLEAR = 10.0  # and its total is so many times 1/epsilon, in samples of `high`
_FIRST = 2  # samples in the look's first block;
_GROWTH = 1.5  # later ones grow by this,
_WINDOW = 4  # and the last ones are used


class _Inverse(DPInverseSampling):
    """Inverse sampling on the grid of a rule that may choose otherwise: samples become coins after that."""

    statistic = Statistic.COINS

    @cached_property
    def grid(self) -> UnbiasedGrid:
        """The grid that samples are rounded to."""
        return UnbiasedGrid(super().grid.low, super().grid.high)


class _Bernstein(DPBernstein):
    """DP-Bernstein on the same grid."""

    @cached_property
    def grid(self) -> UnbiasedGrid:
        """The grid that samples are rounded to."""
        return UnbiasedGrid(super().grid.low, super().grid.high)


@register
@dataclass(kw_only=True)
class DPMean(StoppingRule):
    """Takes a first private look at mean and variance, and then runs `DPInverseSampling` or `DPBernstein`.

    The first takes the fewest samples if they are 0 or `high`. The second follows their variance, and takes fewer if
    that is small and noises weigh little. Which of the two is better depends on the mean as well. The look is a few
    blocks of samples, of which the total and the squared differences of pairs are released. It ends as soon as it has
    taken 6 % of what the better of the two rules needs by their forecasts at the released mean and variance, and that
    rule takes over. Where DP-Bernstein could not be better by 15 %, whatever the mean, there is no look.

    Private because each sample enters the release of one block of the look at shares of epsilon that add up to it, or
    the mechanism of the rule that was chosen, which is epsilon-private. What is chosen follows from what was released.

    An (alpha, beta)-stopping rule: the chosen rule begins with fresh samples, and so is wrong with a chance of beta at
    most, whatever the look has said. A misled look costs samples only.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate, at least 0.01.
        beta: The probability that the error is larger.
        radius: Refused, since samples would lie in [-radius, radius]; give `low` and `high`.
        low: The least sample, at least 0.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    Attributes:
        chosen: The key of the rule that was chosen; None during the look.
        looked: The number of samples of the look.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPMean(epsilon=1.0, alpha=0.02, beta=0.05, low=0, high=1)
    >>> samples = np.random.default_rng(1)
    >>> print(rule.run(samples.beta(20, 80, 100_000), noise=SimulatedNoise(seed=1)))
    mean 0.200227, within 2% of the true mean with probability 0.95, from 13,968 samples (epsilon = 1, simulated)
    >>> rule.forecast(0.2, variance=0.0016), rule.forecast(0.2)
    (13578, 44923)
    """

    key = "dp-mean"
    reason = (
        "each sample enters one block of a look, whose noisy total and noisy sum of squared differences share epsilon, "
        "or the rule that was chosen: blocks and the rule compose in parallel"
    )
    theorem = Theorem.REWARDS
    keeps_secrets = True
    statistic = Statistic.PAIRS

    epsilon: Positive
    chosen: str | None = field(init=False, repr=False, default=None)
    looked: int = field(init=False, repr=False, default=0)
    _seen: list[list[int]] = field(init=False, repr=False, default_factory=list)  # of a block: size, squares, total
    _inner: Any = field(init=False, repr=False, default=None)

    def _start(self) -> None:
        super()._start()
        self.chosen, self.looked, self._seen, self._inner = None, 0, [], None
        _ = self._inverse, self._bernstein  # they check the options
        if not look_pays(self.alpha, self.beta, self.epsilon):
            self._take(self._inverse)

    @cached_property
    def grid(self) -> UnbiasedGrid:
        """The grid that samples are rounded to at random."""
        return _Inverse(**self._options, radius=self.radius, low=self.low, high=self.high).grid  # it checks them

    @property
    def _options(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "alpha": self.alpha, "beta": self.beta}

    @cached_property
    def _inverse(self) -> DPInverseSampling:
        return _Inverse(**self._options, low=0.0, high=self.grid.high)

    @cached_property
    def _bernstein(self) -> DPBernstein:
        return _Bernstein(**self._options, low=0.0, high=self.grid.high)

    @property
    def inner(self) -> StoppingRule | None:
        """The rule that was chosen, with what it has learned; None during the look."""
        rule: StoppingRule | None = self._inner
        return rule

    # ------------------------------------------------------------------ the look

    @property
    def look_epsilons(self) -> tuple[float, ...]:
        """The prices of a look's squares and of its total, which add up to epsilon."""
        return split(self.epsilon, 0.5)

    @property
    def _block(self) -> int:
        """The number of samples of the look's next block."""
        return _block(self.epoch)

    def _better(self, mean: float, variance: float) -> tuple[StoppingRule, int]:
        """Return the rule that needs fewer samples, and their number, for samples rescaled to [0, 1]."""
        by_level = self._inverse.schedule.typical(mean)
        by_blocks = self._bernstein.typical(mean, variance, by_level)
        return (self._inverse, by_level) if by_blocks is None else (self._bernstein, by_blocks)

    def _look(self) -> None:
        """Choose a rule, if the look has taken its share of the samples."""
        count, squares, total = (sum(part) for part in zip(*self._seen, strict=True))
        if self.epsilon * total < _CLEAR * self.grid.width:
            return
        mean = min(1.0, total / (count * self.grid.width))
        variance = max(0.0, min(squares / (count * self.grid.width), mean * (1 - mean)))  # a pair has twice as much
        enough = self.samples / _COST
        if self._inverse.schedule.typical(mean) <= enough or self._bernstein.typical(mean, variance, enough):
            self._take(self._better(mean, variance)[0])

    def _take(self, rule: StoppingRule) -> None:
        """Go on with a rule, on the samples that come next."""
        left = None if self.max_samples is None else self.max_samples - self.samples
        self.chosen, self.looked, self._seen = rule.key, self.samples, []
        if left != 0:
            self._inner = rule.copy()
            self._inner.max_samples = left

    # ------------------------------------------------------------------ plans

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        if self.chosen is not None:
            plan: Plan = self._inner.plan()
            return plan.within(1, self.epoch + 1)
        if self.samples > LAST:
            return Plan(self.epoch + 1, {None: self._at_most(LAST)})
        return self._plan_until(self.samples + self._block, TotalsQuery(self.look_epsilons), self.statistic)

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        if self.chosen is None:
            self.samples += plan.size
            if releases:
                self._seen = [*self._seen, [plan.size, *(one.steps for one in releases)]][-_WINDOW:]
                self._look()
            return
        inner, before = self._inner, dict.fromkeys(self.taken, self.looked)
        inner.learn([one.since(before)._replace(epoch=inner.epoch + 1) for one in releases])
        self.samples, self.halted, self.estimate = self.looked + inner.samples, inner.halted, inner.estimate

    def forecast(self, mean: float, variance: float | None = None) -> int | None:
        """Return about how many samples it takes, the look included, when each release is what it is on average.

        Args:
            mean: The mean of the samples.
            variance: Their variance; by default the largest, of samples at the ends of the range.

        Returns:
            The number of samples; None if it never halts.

        Raises:
            ArgumentError: No samples in the range have this mean and variance.
        """
        high = self.grid.high
        if not self.grid.low <= checks.real("mean", mean) <= high:
            raise ArgumentError(f"mean must lie in [{self.grid.low}, {high}], got {mean!r}")
        self._bernstein.forecast(mean, variance)  # checks the variance
        if mean == 0:
            return None
        if not look_pays(self.alpha, self.beta, self.epsilon):
            return self._inverse.forecast(mean)
        share = mean / high
        _, needed = self._better(share, share * (1 - share) if variance is None else variance / high**2)
        looked, blocks = 0, 0
        while looked < max(_COST * needed, _CLEAR / (self.epsilon * share)):
            looked, blocks = looked + _block(blocks), blocks + 1
        return looked + needed

    # ------------------------------------------------------------------ with the rule inside

    def copy(self) -> Self:
        """Return an equal object that learns apart from this one."""
        twin = super().copy()
        if self._inner is not None:
            twin.__dict__["_inner"] = self._inner.copy()
        return twin

    def snapshot(self) -> dict[str, Any]:
        """Return what it has learned, as JSON values, with what the chosen rule has learned."""
        return {**super().snapshot(), "_inner": None if self._inner is None else self._inner.snapshot()}

    def resume(self, snapshot: dict[str, Any]) -> Self:
        """Go on from the snapshot of an object with the same options, and return the object. The ledger is not in it.

        Raises:
            StateError: The snapshot is of another algorithm.
        """
        if "_inner" not in snapshot or snapshot.get("chosen") not in (None, DPInverseSampling.key, DPBernstein.key):
            raise StateError(f"this is no snapshot of a {self.key}: its fields are {sorted(self.snapshot())}")
        inner = None
        if snapshot["_inner"] is not None:
            self.samples = snapshot["looked"]
            self._take(self._bernstein if snapshot["chosen"] == DPBernstein.key else self._inverse)
            inner = self._inner.resume(snapshot["_inner"])
        return super().resume({**snapshot, "_inner": inner})


def _block(number: int) -> int:
    """Return the number of samples of a block of the look, which is even: 0, 1, ..."""
    return 2 * math.ceil(_FIRST / 2 * _GROWTH**number)


@lru_cache(maxsize=256)
def look_pays(alpha: float, beta: float, epsilon: float) -> bool:
    """Return True if DP-Bernstein may need clearly fewer samples than inverse sampling, at some mean.

    Args:
        alpha: The relative error of an estimate.
        beta: The probability that it is larger.
        epsilon: The largest privacy loss of one sample.

    >>> look_pays(0.1, 0.05, 1.0), look_pays(0.02, 0.05, 1.0)
    (False, True)
    """
    options: dict[str, Any] = {"epsilon": epsilon, "alpha": alpha, "beta": beta, "low": 0.0, "high": 1.0}
    return most_times(_Inverse(**options), _Bernstein(**options)) > _GAIN


def most_times(rule: DPInverseSampling, other: DPBernstein) -> float:
    """Return the most times as many samples as DP-Bernstein that inverse sampling takes, of samples that do not vary.

    Args:
        rule: Inverse sampling.
        other: DP-Bernstein, with the same options.
    """
    low, high = rule.grid.low, rule.grid.high
    means = [mean for mean in (share * high for share in SHARES) if mean > low]
    counts = [(rule.schedule.typical(mean / high), other.forecast(mean, variance=0.0)) for mean in means]
    return max(count / others for count, others in counts if others)
