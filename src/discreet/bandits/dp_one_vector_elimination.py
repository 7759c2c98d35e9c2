"""Elimination by one sparse vector that may halt K - 1 times: a road that the paper does not take."""

from dataclasses import dataclass

from discreet.bandits._vectors import VectorElimination
from discreet.core.plans import Vector
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPOneVectorElimination(VectorElimination):
    """One sparse vector, which halts when some viable arm lies behind another; then the lowest noisy total goes.

    The third of the attempts that Section 4 of Sajed and Sheffet (2019) gives up: "a single SVT that may halt K - 1
    times, causing us yet again to scale epsilon by a factor of K". A sparse vector that halts and goes on is a sparse
    vector after another, over the same sums. The forerunner of DP-SE (`DPSparseVectorElimination`) starts from nothing
    instead, so that each vector has rewards of its own and all of epsilon.

    After a test that halts the next one comes a round later, since other arms may be as far behind; without one, after
    as many rounds as there were. So arms of one gap go in K - 1 rounds.

    Private because a reward can be in K - 1 vectors, each at epsilon/(K - 1): half of it for the tests (both noises of
    scale 6 (K - 1)/epsilon), half for the totals (noise of scale 2 (K - 1)/epsilon). The largest sum minus the smallest
    has sensitivity 1, and answers for all viable arms at once.

    The best arm stays (see `VectorElimination` for x, y and n = K): if its noisy total is the lowest, its sum is at
    most 2y above the lowest one, and at most x below the largest. So `lead` is x + 2y.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = DPOneVectorElimination(["A", "B", "C"], epsilon=1.0, horizon=10_000)
    >>> round(policy.test_scale, 1), [vector.arms for vector in policy.plan().query.vectors]
    (12.0, [('A', 'B', 'C')])
    """

    key = "dp-se-one-vector"
    reason = "a reward is in K - 1 sparse vectors, one after another, at epsilon/(K - 1) each: basic composition"

    @property
    def most(self) -> int:
        """The most vectors that a reward is in: one for each arm that goes."""
        return len(self.arms) - 1

    def lead(self, rounds: int, test: int) -> float:
        """Return x + 2y.

        Args:
            rounds: The number of rounds r.
            test: The number of the test k.
        """
        return self.sampling_radius(rounds, test) + 2 * self.total_radius

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the pulls of each viable arm before the next test: one after a test that has halted.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """
        return 1 if 0 < self._tests == self._halted_at else super().rounds(epoch, viable)

    def _vectors(self) -> tuple[Vector, ...]:
        return (Vector((self._halts,), self._named(self._viable)),)
