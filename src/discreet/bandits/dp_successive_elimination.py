"""DP Successive Elimination: Algorithm 3 of Sajed and Sheffet (2019)."""

from __future__ import annotations

import math

from discreet.bandits._noisy_elimination import NoisyElimination


class DPSuccessiveElimination(NoisyElimination):
    """Epochs of growing length; at the end of each, one noisy mean per viable arm decides who goes.

    Epoch e has the target gap Delta_e = 2^-e and |S| viable arms at its start. Each is pulled
    ceil(R_e) times, its mean starts from nothing and is released once with noise Lap(1/(epsilon r)), and
    an arm goes if its noisy mean lies more than 2 h_e + 2 c_e below the best one. The optimal arm
    survives, and every arm whose gap is at least Delta_e is gone after epoch e, with probability 1 - beta
    over all epochs (Lemma 4.2; its event is the intersection over epochs, printed there as a union).

    Private because each reward enters one mean of one epoch: epochs and arms compose in parallel, and one
    mean of r rewards in [0, 1] has sensitivity 1/r. The lengths R_e depend on |S|, e, beta and epsilon only.
    An epoch that the horizon cuts short releases nothing. Here the noise is added to the integer total
    (scale width/epsilon in grid units), which is the same release.

    Rewards in `[low, high]` are rescaled to [0, 1], where the gaps and formulas live. Two best arms that
    are equally good are pulled in turn until the horizon.

    Parameters: `epsilon` > 0; `horizon` T, the number of pulls in all; `beta`, the probability of failure,
    by default 1/T as in the paper. Without a horizon give `beta`.

    >>> from discreet import Bandit, SimulatedNoise
    >>> policy = DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 1535, 'B': 1535}
    >>> policy.close({"A": policy.grid.width * 300, "B": policy.grid.width * 900})[1].mean
    0.5895824171432843
    >>> policy.best_arm, policy.plan().pulls
    ('B', {'B': 6930})
    """

    key = "dp-se"
    open_book = True
    privacy_reason = (
        "each reward enters the noisy total of one arm in one epoch: parallel composition of Laplace mechanisms"
    )

    # ------------------------------------------------------------------ the formulas of Algorithm 3

    def target_gap(self, epoch: int) -> float:
        """Delta_e, line 7."""
        return 2.0**-epoch

    def epoch_length(self, epoch: int, viable: int) -> float:
        """R_e, line 8: a real number, of which the rounds are the ceiling."""
        statistical = 32 * self._log(8, epoch, viable) / self.target_gap(epoch) ** 2
        private = 8 * self._log(4, epoch, viable) / (self.epoch_epsilon(epoch) * self.target_gap(epoch))
        return max(statistical, private) + 1

    def hoeffding_radius(self, epoch: int, viable: int) -> float:
        """h_e, line 15: what sampling can move a mean."""
        return math.sqrt(self._log(8, epoch, viable) / (2 * self.epoch_length(epoch, viable)))

    def laplace_radius(self, epoch: int, viable: int) -> float:
        """c_e, line 16: what the noise can move a mean."""
        return self._log(4, epoch, viable) / (self.epoch_length(epoch, viable) * self.epoch_epsilon(epoch))

    def threshold(self, epoch: int, viable: int) -> float:
        """How far behind the best noisy mean an arm may lie, line 20."""
        return 2 * self.hoeffding_radius(epoch, viable) + 2 * self.laplace_radius(epoch, viable)

    def _log(self, factor: int, epoch: int, viable: int) -> float:
        return math.log(factor * viable * epoch**2) - math.log(self.beta)

    # ------------------------------------------------------------------ the epochs

    def _rounds(self) -> int:
        return math.ceil(self.epoch_length(self.epoch + 1, len(self._viable)))

    def _close(self, totals: dict[int, int]) -> None:
        epoch, viable = self.epoch, len(self._viable)
        rounds = math.ceil(self.epoch_length(epoch, viable))
        self._drop(self._release(totals, rounds), self.threshold(epoch, viable) * rounds * self.grid.width)
