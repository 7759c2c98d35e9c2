"""DP-Bernstein: a private stopping rule whose need for samples follows their variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import split
from discreet.core.tails import bernstein_radius, hoeffding_radius, largest_mean
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.stopping._released import ReleasedRule
from discreet.stopping._rule import Floats

_FAIRNESS = 4  # how evenly the chance of a wrong variance is spent over the tests: the first has 1/(1 + this)


class DPBernstein(ReleasedRule):
    """Halts when Bennett's radius for the last blocks, with their noises, is at most alpha times their mean.

    The paper's rules pay for the range of samples: a rate of 1 % costs them R^2/(alpha mean)^2 samples, where its
    variance would ask for a hundredth of that. This one, of order

        max(variance/(alpha mean)^2, R/(alpha |mean|)) log(1/beta) + R log(1/beta)/(epsilon alpha |mean|),

    learns the variance on the way. Beside the total of a block it releases that of (x - y)^2 over its disjoint pairs
    of samples, whose mean is twice the variance. The variance is at most half of its upper confidence bound, and at
    most (mean - low)(high - mean) at the worst mean in a confidence interval: with rare events the second bound is
    the better one, and costs nothing. The variance bounds of all tests hold together but for a chance of
    `beta_share` of beta; the rest of beta is for the means, as in `ReleasedRule`. Proved in docs/proofs/bernstein.md.

    Private because each sample is in one block and in one of its pairs. Changing it moves the block's total by the
    width of the range, and the total of squares by its square, at most; the total is released at
    (1 - `epsilon_share`) epsilon and the squares at `epsilon_share` epsilon; the two add up to epsilon exactly.

    Parameters: `epsilon`, `alpha`, `beta`; the range as `radius`, or `low` and `high`; `epsilon_share` for the squares:
    more of it for samples that hardly vary, less for coins; `growth` and `window` of blocks.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1, noise=SimulatedNoise(seed=1))
    >>> clicks = np.random.default_rng(1).random(1_000_000) < 0.01
    >>> print(rule.run(clicks.astype(float)))
    mean 0.0100154, within 10% of the true mean with probability 0.95, from 148,658 samples (epsilon = 1, simulated)
    """

    key = "dp-bernstein"
    privacy_reason = (
        "each sample enters the noisy total and the noisy sum of squared differences of one block, at shares of "
        "epsilon that add up to it: blocks compose in parallel"
    )

    def __init__(
        self,
        *,
        epsilon: float,
        alpha: float,
        beta: float,
        radius: float | None = None,
        low: float | None = None,
        high: float | None = None,
        epsilon_share: float = 0.1,
        beta_share: float = 0.1,
        growth: float = 1.5,
        window: int | None = None,
        max_samples: int | None = None,
        clip: bool = False,
        noise: Noise | None = None,
    ) -> None:
        self.epsilon_share = checks.fraction("epsilon_share", epsilon_share)
        self.beta_share = checks.fraction("beta_share", beta_share)
        super().__init__(
            epsilon=epsilon,
            alpha=alpha,
            beta=beta,
            growth=growth,
            window=window,
            radius=radius,
            low=low,
            high=high,
            max_samples=max_samples,
            clip=clip,
            noise=noise,
        )
        self._square_laplace = LaplaceMechanism(self.grid.width, self.variance_epsilon, noise)
        self._square_sum = 0  # of the open block: exact and secret
        self._single: int | None = None  # the sample that waits for the other one of its pair: secret
        self._noise_radius = hoeffding_radius(0, self.window, self.mean_epsilon, self.level)

    # ------------------------------------------------------------------ the formulas

    @property
    def mean_beta(self) -> float:
        """The chance of failure that the means may use up."""
        return (1 - self.beta_share) * self.beta

    @property
    def mean_epsilon(self) -> float:
        """The epsilon of the totals."""
        return split(self.epsilon, self.epsilon_share)[1]

    @property
    def variance_epsilon(self) -> float:
        """The epsilon of the squares."""
        return split(self.epsilon, self.epsilon_share)[0]

    def variance_level(self, test: int) -> float:
        """Each of three variance bounds may fail at test k with a third of beta_share beta 5/((k + 4)(k + 5))."""
        place = test + _FAIRNESS
        return math.log(3 * place * (place + 1) / (_FAIRNESS + 1)) - math.log(self.beta_share) - math.log(self.beta)

    def variance_bound(self, total: float, squares: float, count: int, test: int) -> float:
        """The largest variance that a window's releases allow, for samples rescaled to [0, 1]."""
        level = self.variance_level(test)
        by_pairs = largest_mean(squares, count / 2, self.window, self.variance_epsilon, level) / 2
        highest = largest_mean(total, count, self.window, self.mean_epsilon, level)
        lowest = 1 - largest_mean(count - total, count, self.window, self.mean_epsilon, level)
        worst = min(max(0.5, lowest), highest)  # of the means in between, the one nearest to 1/2
        return min(by_pairs, worst * (1 - worst))

    def radius_of(self, total: float, squares: float, count: int, test: int) -> float:
        """Bennett's radius of a window's total, for the largest variance that the squares and the total allow."""
        mean = total / count + self.grid.floor / self.grid.width
        if self._noise_radius > self.alpha * abs(mean) * count:
            return math.inf  # the noises alone are too much
        variance = self.variance_bound(total, squares, count, test)
        return bernstein_radius(count, variance, self.window, self.mean_epsilon, self.level)

    # ------------------------------------------------------------------ the pairs

    def plan(self) -> int:
        """One sample at a time: a total of many would not tell their squares."""
        return min(1, super().plan())

    def _take(self, total: int, count: int) -> None:
        self._absorb(np.full(count, total, dtype=np.float64))  # of one sample

    def _fill(self, units: Floats) -> None:
        whole = units.astype(np.int64)
        if self._single is not None:
            whole = np.concatenate([[self._single], whole])
        pairs = whole[: whole.size // 2 * 2].reshape(-1, 2)
        self._single = int(whole[-1]) if whole.size % 2 else None
        difference = pairs[:, 0] - pairs[:, 1]
        self._square_sum += int(-(-difference * difference // self.grid.width).sum())  # rounded up
        super()._take(int(units.sum()), units.size)

    def _release(self) -> None:
        units = self._square_laplace.release(self._square_sum)
        width = self.grid.width * self.grid.step
        step = width * self.grid.step  # of the squares
        self._record(
            "squared differences", units, units * step, self._square_laplace.scale * step, self.variance_epsilon
        )
        self._squares = [*self._squares, units][-self.window :]
        self._square_sum = 0
        self._square_laplace.prepare(1)
        super()._release()

    def _progress(self) -> dict[str, Any]:
        more = {"squares": list(self._squares), "square_sum": self._square_sum, "single": self._single}
        return {**super()._progress(), **more, "square_laplace": self._square_laplace._state()}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._squares = [int(units) for units in progress["squares"]]
        self._square_sum = int(progress["square_sum"])
        self._single = None if progress["single"] is None else int(progress["single"])
        self._square_laplace._restore(progress["square_laplace"])
