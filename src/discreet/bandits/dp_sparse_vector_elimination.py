"""Sparse-vector elimination: the forerunner of DP-SE in the paper's withdrawn text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from discreet.bandits._elimination import Elimination
from discreet.core.options import Positive
from discreet.core.plans import Measure, Query, ThresholdQuery
from discreet.core.privacy import Theorem
from discreet.core.registry import register
from discreet.core.releases import Release


@register
@dataclass(kw_only=True)
class DPSparseVectorElimination(Elimination):
    """Pulls until a sparse vector says that some pair of viable arms differs; then noisy means decide who goes.

    In a phase all viable arms are pulled in rounds. After r = 2, 4, 8, ... rounds (test number l = 1, 2, 3, ...) a
    sparse vector is asked whether the largest difference of means exceeds 10 h_r + (A_r + B + c_r)/r. At the first yes
    each mean is released with Lap(2/(epsilon r)), arms more than 2 h_r + 4 ln(4K|S|/beta)/(epsilon r) behind the best
    go, and a new phase starts from nothing.

    Private because each reward enters one phase. There the largest difference of sums has sensitivity 1 and is tested
    at epsilon/2 (both noises of scale 3 * 1/(epsilon/2) = 6/epsilon), and the totals are released at epsilon/2.

    This is not Algorithm 3, only its forerunner: kept for comparison.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPSparseVectorElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> while len(epochs.algorithm.viable) == 2:  # A always pays, B never does
    ...     pulls = epochs.plan().pulls
    ...     _ = epochs.close_steps({"A": pulls["A"] * policy.grid.width, "B": 0})
    >>> epochs.algorithm.best_arm, epochs.algorithm.taken
    ('A', {'A': 2048, 'B': 2048})
    >>> [(str(release.kind), release.tests) for release in epochs.ledger]
    [('tests', 11), ('total', 0), ('total', 0)]
    """

    key = "dp-se-svt"
    reason = "each reward enters one phase, which spends epsilon/2 on its sparse vector and epsilon/2 on its totals"
    theorem = Theorem.REWARDS
    keeps_secrets = True
    halting_factor: ClassVar[int] = 10
    """The factor of h_r in the halting test."""
    release_factor: ClassVar[int] = 16
    """The factor of the noises of the release in c_r."""

    epsilon: Positive
    _phase: int = field(init=False, repr=False, default=0)  # sparse vectors that have halted
    _tests: int = field(init=False, repr=False, default=0)  # tests of the present one

    def hoeffding_radius(self, rounds: int, viable: int, test: int) -> float:
        """Return h_r.

        Args:
            rounds: The number of rounds of the phase, r.
            viable: The number of viable arms, |S|.
            test: The number of the test, l.
        """
        return math.sqrt(self._log(16 * len(self.arms) * viable * test**2) / (2 * rounds))

    def noise_margin(self, viable: int, test: int) -> float:
        """Return c_r, for the two noises of the test and those of the release.

        Args:
            viable: The number of viable arms, |S|.
            test: The number of the test, l.
        """
        arms = len(self.arms)
        tested = 6 * self._log(4 * arms) + 6 * self._log(8 * arms * test**2)
        return (tested + self.release_factor * self._log(4 * arms * viable)) / self.epsilon

    def halting_threshold(self, rounds: int, viable: int, test: int) -> float:
        """Return what the largest difference of *sums* must exceed, apart from the noise.

        Args:
            rounds: The number of rounds of the phase, r.
            viable: The number of viable arms, |S|.
            test: The number of the test, l.
        """
        radius = self.hoeffding_radius(rounds, viable, test)
        return self.halting_factor * radius * rounds + self.noise_margin(viable, test)

    def drop_threshold(self, rounds: int, viable: int, test: int) -> float:
        """Return how far behind the best noisy *sum* an arm may lie.

        Args:
            rounds: The number of rounds of the phase, r.
            viable: The number of viable arms, |S|.
            test: The number of the test, l.
        """
        margin = 4 * self._log(4 * len(self.arms) * viable) / self.epsilon
        return 2 * self.hoeffding_radius(rounds, viable, test) * rounds + margin

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the pulls of each viable arm before the next test. Tests are after 2, 4, 8, ... rounds of a phase.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """
        return 1 << max(1, self._tests)

    def _query(self) -> Query:
        test, half = self._tests + 1, self.epsilon / 2
        limit = math.floor(self.halting_threshold(2**test, len(self._viable), test) * self.grid.width) + 1
        return ThresholdQuery((2**test,), (limit,), half, half, Measure.SPREAD, (self._phase,))

    def _decide(self, releases: Sequence[Release]) -> None:
        tests, *totals = releases
        test = self._tests = tests.tests
        if tests.above:
            allowed = self.drop_threshold(2**test, len(self._viable), test) * self.grid.width
            self._keep(self._scores(totals), lambda lead, _: lead <= allowed)
            self._phase, self._tests = self._phase + 1, 0
