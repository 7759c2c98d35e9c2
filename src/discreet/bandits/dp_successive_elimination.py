"""DP Successive Elimination: Algorithm 3 of Sajed and Sheffet (2019)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.bandits._elimination import Elimination
from discreet.core.options import Positive
from discreet.core.privacy import Theorem
from discreet.core.registry import register
from discreet.core.releases import Release


@register
@dataclass(kw_only=True)
class DPSuccessiveElimination(Elimination):
    """Epochs of growing length, at the end of which one noisy mean of each viable arm decides who goes.

    Epoch e has the target gap Delta_e = 2^-e and |S| viable arms at its start. Each is pulled ceil(R_e) times, its mean
    starts from nothing and is released once with noise Lap(1/(epsilon r)), and an arm goes if its noisy mean lies more
    than 2 h_e + 2 c_e below the best one. The optimal arm survives, and every arm whose gap is at least Delta_e is gone
    after epoch e, with probability 1 - beta over all epochs (Lemma 4.2; its event is the intersection over epochs,
    printed there as a union).

    Private because each reward enters one mean of one epoch: epochs and arms compose in parallel, and one mean of r
    rewards in [0, 1] has sensitivity 1/r. The lengths R_e depend on |S|, e, beta and epsilon only. An epoch that the
    horizon cuts short releases nothing. Here the noise is added to the integer total (scale width/epsilon in grid
    steps), which is the same release.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T as in the paper.
        low: The least reward. Gaps and formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 1535, 'B': 1535}
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> _ = epochs.close_steps({"A": policy.grid.width * 300, "B": policy.grid.width * 900})
    >>> epochs.algorithm.best_arm, epochs.plan().pulls
    ('B', {'B': 6930})
    """

    key = "dp-se"
    reason = "each reward enters the noisy total of one arm in one epoch: parallel composition of Laplace mechanisms"
    theorem = Theorem.REWARDS

    epsilon: Positive

    def target_gap(self, epoch: int) -> float:
        """Return Delta_e, line 7."""
        return 2.0**-epoch

    def epoch_length(self, epoch: int, viable: int) -> float:
        """Return R_e, line 8: a real number, of which the rounds are the ceiling.

        Args:
            epoch: The epoch's number e, from 1.
            viable: The number of viable arms, |S|.
        """
        statistical = 32 * self._term(8, epoch, viable) / self.target_gap(epoch) ** 2
        private = 8 * self._term(4, epoch, viable) / (self.epoch_epsilon(epoch) * self.target_gap(epoch))
        return max(statistical, private) + 1

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the pulls of each viable arm, lines 9 to 14.

        Args:
            epoch: The epoch's number e, from 1.
            viable: The number of viable arms, |S|.
        """
        return math.ceil(self.epoch_length(epoch, viable))

    def hoeffding_radius(self, epoch: int, viable: int) -> float:
        """Return h_e, line 15: what sampling can move a mean.

        Args:
            epoch: The epoch's number e, from 1.
            viable: The number of viable arms, |S|.
        """
        return math.sqrt(self._term(8, epoch, viable) / (2 * self.epoch_length(epoch, viable)))

    def laplace_radius(self, epoch: int, viable: int) -> float:
        """Return c_e, line 16: what the noise can move a mean.

        Args:
            epoch: The epoch's number e, from 1.
            viable: The number of viable arms, |S|.
        """
        return self._term(4, epoch, viable) / (self.epoch_length(epoch, viable) * self.epoch_epsilon(epoch))

    def threshold(self, epoch: int, viable: int) -> float:
        """Return how far behind the best noisy mean an arm may lie, line 20.

        Args:
            epoch: The epoch's number e, from 1.
            viable: The number of viable arms, |S|.
        """
        return 2 * self.hoeffding_radius(epoch, viable) + 2 * self.laplace_radius(epoch, viable)

    def _decide(self, releases: Sequence[Release]) -> None:
        """Lines 17 to 20: the noisy totals are in; keep every arm that is not too far behind."""
        allowed = self.threshold(self.epoch, len(self._viable)) * releases[0].rewards * self.grid.width
        self._keep(self._scores(releases), lambda lead, _: lead <= allowed)

    def _term(self, factor: int, epoch: int, viable: int) -> float:
        """Return ln(factor |S| e^2/beta)."""
        return self._log(factor * viable * epoch**2)
