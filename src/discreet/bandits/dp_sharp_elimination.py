"""Private successive elimination with sharp constants: one Chernoff bound for rewards and noises together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from discreet.bandits._elimination import Elimination
from discreet.core.errors import ArgumentError
from discreet.core.options import Count, Positive, Real
from discreet.core.privacy import Theorem
from discreet.core.probability.tails import clearly_behind
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.theory.sharp_elimination import GROWTH, WINDOW, SharpSchedule


@register
@dataclass(kw_only=True)
class DPSharpElimination(Elimination):
    """DP Successive Elimination that throws little away: it takes a fraction of its pulls for the same promise.

    Epochs grow by the factor `growth`, and each viable arm's total of an epoch is released once with noise of scale
    1/epsilon. A test then adds up the last `window` totals of each arm, with as many noises, instead of starting from
    nothing; and an arm goes when the best one's lead has a Chernoff bound below what the test may spend of `beta`, for
    rewards and noises together and with the variance that the arm's own total allows. DP-SE bounds the rewards and the
    noise of each arm apart, adds up four such bounds, and takes every variance for the largest one.

    A best arm stays, and every arm is gone after `schedule.pulls_for(gap)` pulls, with probability 1 - beta over all
    epochs, for independent rewards in [0, 1]: docs/proofs/sharp-elimination.md.

    Private because each reward enters one total of one epoch: epochs and arms compose in parallel, and the tests see
    only what was released. The lengths of epochs are fixed in advance. An epoch that the horizon cuts short releases
    nothing.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        growth: The factor by which an arm's pulls grow with an epoch, above 1.
        window: The number of totals of an arm that are tested together.
        low: The least reward. Gaps and formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPSharpElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 65, 'B': 65}
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> released = epochs.close_steps({"A": policy.grid.width * 10, "B": policy.grid.width * 50})
    >>> round(policy.grid.mean(released[1].steps, 65), 4)
    0.8463
    >>> epochs.algorithm.best_arm, epochs.plan().pulls
    ('B', {'B': 9870})
    """

    key = "dp-se-sharp"
    reason = (
        "each reward enters the noisy total of one arm in one epoch: parallel composition of Laplace mechanisms, and "
        "the tests follow from what they released"
    )
    theorem = Theorem.REWARDS
    fixed_blocks = True
    kernel = "sharp_elimination"

    epsilon: Positive
    growth: Real = GROWTH
    window: Count = WINDOW
    _recent: list[list[int]] = field(init=False, repr=False, default_factory=list)  # the last released totals

    def _start(self) -> None:
        super()._start()
        if not 1 < self.growth <= 100:
            raise ArgumentError(f"growth must be above 1, since epochs must grow, and at most 100, got {self.growth!r}")
        self._recent = [[] for _ in self.arms]

    @cached_property
    def schedule(self) -> SharpSchedule:
        """The ends of epochs, and the levels of their tests."""
        return SharpSchedule(len(self.arms), self.epsilon, self.failure, self.growth, self.window)

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the pulls of each viable arm in an epoch. The schedule does not depend on the number of viable arms.

        Args:
            epoch: The epoch's number k, from 1.
            viable: The number of viable arms.
        """
        return self.schedule.pulls_by(epoch) - self.schedule.pulls_by(epoch - 1)

    def is_behind(self, epoch: int, lead: float, total: float) -> bool:
        """Return True if an arm goes after an epoch.

        Args:
            epoch: The epoch's number k, from 1.
            lead: The lead of the best arm's total over this one's, in the window.
            total: The arm's total in the window.
        """
        to = self.schedule
        pulls, noises, epsilon = to.tested(epoch), to.noises(epoch), self.epoch_epsilon(epoch)
        return clearly_behind(lead, total, pulls, noises, epsilon, to.level(epoch), to.doubt(epoch))

    def _decide(self, releases: Sequence[Release]) -> None:
        for arm, steps in self._scores(releases).items():
            self._recent[arm] = [*self._recent[arm], steps][-self.window :]
        width, epoch = self.grid.width, self.epoch
        totals = {arm: sum(self._recent[arm]) for arm in self._viable}
        self._keep(totals, lambda lead, total: not self.is_behind(epoch, lead / width, total / width))
