"""Elimination by a sparse vector for each pair of arms: a road that the paper does not take."""

from dataclasses import dataclass
from itertools import combinations

from discreet.bandits._vectors import VectorElimination
from discreet.core.plans import Vector
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPPairsElimination(VectorElimination):
    """A sparse vector for each pair of arms, which halts when their sums differ; then the lower noisy total goes.

    The first of the attempts that Section 4 of Sajed and Sheffet (2019) gives up: "a reward of a single pull of any
    single arm plays a role in K - 1 SVT instantiations". So each vector has epsilon/(K - 1), noises grow like K, and
    with them the rounds before an arm goes and the regret of each of K - 1 arms.

    Private because a reward is in K - 1 pairs, each a sparse vector at epsilon/(K - 1): half of it for the tests (both
    noises of scale 6 (K - 1)/epsilon), half for the two totals (noise of scale 2 (K - 1)/epsilon).

    The best arm stays (see `VectorElimination` for x, y and n = K): it goes only if the totals say so. Either its exact
    sum is behind by more than x, or it is ahead, and two noises together are as large as the difference. So `lead` is
    the larger of x and 2y.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = DPPairsElimination(["A", "B", "C"], epsilon=1.0, horizon=10_000)
    >>> round(policy.test_scale, 1), [vector.arms for vector in policy.plan().query.vectors]
    (12.0, [('A', 'B'), ('A', 'C'), ('B', 'C')])
    """

    key = "dp-se-pairs"
    reason = "a reward is in the sparse vectors of K - 1 pairs, at epsilon/(K - 1) each: basic composition"

    @property
    def most(self) -> int:
        """The most vectors that a reward is in: its arm's pairs."""
        return len(self.arms) - 1

    def lead(self, rounds: int, test: int) -> float:
        """Return the larger of x and 2y.

        Args:
            rounds: The number of rounds r.
            test: The number of the test k.
        """
        return max(self.sampling_radius(rounds, test), 2 * self.total_radius)

    def _vectors(self) -> tuple[Vector, ...]:
        return tuple(Vector(pair, self._named(pair)) for pair in combinations(self._viable, 2))
