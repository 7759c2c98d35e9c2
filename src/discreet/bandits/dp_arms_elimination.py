"""Elimination by a sparse vector for each arm: a road that the paper does not take."""

from dataclasses import dataclass

from discreet.bandits._vectors import VectorElimination
from discreet.core.plans import Measure, Vector
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPArmsElimination(VectorElimination):
    """A sparse vector for each arm, which asks whether there is a better one; at a yes the arm goes.

    The second of the attempts that Section 4 of Sajed and Sheffet (2019) gives up: there are K vectors instead of
    K (K - 1)/2, "yet it still holds that the reward from a single pull of the leading arm plays a role in K
    SVT-instantiations". So each has epsilon/K, and regret grows as it does with pairs.

    Private because a reward of any arm can be in all K vectors, each at epsilon/K: 0.9 of it for the tests, 0.1 for
    noisy totals, which decide nothing but who leads. The largest sum minus that of one arm has sensitivity 1. (Arms
    that have gone still count with the sums that they had.)

    The best arm stays (see `VectorElimination` for x; n = 1, since it can be lost in its own vector alone): no other
    sum is ahead of its own by more than x. So `lead` is x. If the noises say of all arms that they are behind, the
    last one stays.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = DPArmsElimination(["A", "B", "C"], epsilon=1.0, horizon=10_000)
    >>> round(policy.test_scale, 1), [vector.arms for vector in policy.plan().query.vectors]
    (10.0, [('A', 'B', 'C'), ('B', 'A', 'C'), ('C', 'A', 'B')])
    """

    key = "dp-se-arms"
    reason = "a reward is in the sparse vectors of all K arms, at epsilon/K each: basic composition"
    measure = Measure.LAG
    test_share = 0.9

    @property
    def most(self) -> int:
        """The most vectors that a reward is in: all of them."""
        return len(self.arms)

    @property
    def losing(self) -> int:
        """The number n of vectors in which the best arm could be lost: its own."""
        return 1

    def lead(self, rounds: int, test: int) -> float:
        """Return x.

        Args:
            rounds: The number of rounds r.
            test: The number of the test k.
        """
        return self.sampling_radius(rounds, test)

    def _vectors(self) -> tuple[Vector, ...]:
        every = range(len(self.arms))
        return tuple(Vector((arm,), self._named([arm, *(one for one in every if one != arm)])) for arm in self._viable)

    def _behind(self, vector: Vector, scores: dict[int, int]) -> int:
        return vector.name[0]
