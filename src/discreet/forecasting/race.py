"""Many runs at once of a private search for the best arm, on arms that pay 0 or 1: exactly, and in a second.

An elimination pulls all viable arms equally often and decides by noisy totals, so a run needs one binomial draw and one
noise of each arm and epoch. A thousand runs go through their epochs together, as columns of arrays. The noise has the
distribution of the private one, and the lengths of epochs, prices and verdicts are the policy's own.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.bandits import DPEvidenceBestArm, DPSharpElimination, DPSuccessiveElimination, Policy
from discreet.core.errors import ArgumentError
from discreet.core.noise import SimulatedNoise, scale_for
from discreet.forecasting.evidence_race import EvidenceRuns
from discreet.forecasting.tests_at_once import clearly_behind

Searches = DPSharpElimination | DPSuccessiveElimination
SEARCHES = (DPSharpElimination, DPSuccessiveElimination)
MOST_PEOPLE = 10**12
"""Where a simulated search gives up."""


class Race(NamedTuple):
    """The outcomes of many runs.

    Attributes:
        people: How many people each took; up to where it got stuck, for those that do not end.
        epochs: In how many epochs.
        right: True where the arm that was left is a best one.
        ended: False where the best arm was dropped, which happens with probability beta at most, and equals are left.
    """

    people: NDArray[np.int64]
    epochs: NDArray[np.int64]
    right: NDArray[np.bool_]
    ended: NDArray[np.bool_]


def race(policy: Policy, rates: Any, runs: int, seed: int) -> Race:
    """Simulate searches for the best arm.

    Args:
        policy: An elimination without a horizon, or `dp-bai-evidence`, whose rewards lie in [0, 1].
        rates: The probability with which each arm pays 1.
        runs: The number of runs.
        seed: The seed of rewards and noise.

    Raises:
        ArgumentError: It is not such a policy, or the search takes more than 10^12 people.

    >>> from discreet import DPSharpBestArm
    >>> found = race(DPSharpBestArm([0, 1], epsilon=1.0, beta=0.05), [0.5, 0.6], runs=1000, seed=1)
    >>> found.people.mean().round(), found.right.mean()
    (np.float64(1891.0), np.float64(1.0))
    """
    known = isinstance(policy, (*SEARCHES, DPEvidenceBestArm))
    if not known or policy.horizon is not None or (policy.low, policy.high) != (0.0, 1.0):
        raise ArgumentError(
            f"only eliminations without a horizon and {DPEvidenceBestArm.key} on [0, 1] can be forecast, got {policy!r}"
        )
    chances = np.asarray(rates, dtype=np.float64)
    if isinstance(policy, DPEvidenceBestArm):
        people, epochs, arm = EvidenceRuns(policy, chances, runs, seed).until_settled(MOST_PEOPLE)
        return Race(people, epochs, (arm >= 0) & (chances[arm] == chances.max()), arm >= 0)
    assert isinstance(policy, SEARCHES)
    return _Runs(policy, chances, runs, seed).until_settled()


class _Runs:
    """Runs side by side: those that are settled are taken out."""

    def __init__(self, policy: Searches, chances: NDArray[np.float64], runs: int, seed: int) -> None:
        rewards, noise = np.random.SeedSequence(seed).spawn(2)
        self.policy, self.chances = policy, chances
        self.rng, self.noise = np.random.default_rng(rewards), SimulatedNoise(noise)
        self.index = np.arange(runs)  # of the runs that are not settled
        self.viable = np.ones((runs, chances.size), bool)
        self.window: list[NDArray[np.float64]] = []  # the last released totals
        self.people = np.zeros(runs, np.int64)
        self.found = Race(np.zeros(runs, np.int64), np.zeros(runs, np.int64), np.zeros(runs, bool), np.ones(runs, bool))

    def until_settled(self) -> Race:
        epoch = 0
        while self.index.size:
            epoch += 1
            if self.people.max(initial=0) > MOST_PEOPLE:
                raise ArgumentError(f"rates must be told apart by {MOST_PEOPLE:,} people, got {self.chances.tolist()}")
            self._play(epoch)
            self._take_out(epoch)
        return self.found

    def _play(self, epoch: int) -> None:
        policy, left = self.policy, self.viable.sum(axis=1)
        rounds_for = {count: policy.rounds(epoch, count) for count in np.unique(left).tolist()}
        rounds = np.array([rounds_for[count] for count in left.tolist()])
        self.people += rounds * left
        scale = scale_for(policy.grid.width, policy.epoch_epsilon(epoch))
        noise = self.noise.draws(scale, self.viable.size).reshape(self.viable.shape) / policy.grid.width
        totals = np.where(self.viable, self.rng.binomial(rounds[:, None], self.chances) + noise, -np.inf)
        if isinstance(policy, DPSharpElimination):
            self.window = [*self.window, totals][-policy.window :]
            self._drop_sharp(policy, epoch)
        else:
            allowed = {count: policy.threshold(epoch, count) * rounds_for[count] for count in rounds_for}
            lead = totals.max(axis=1, keepdims=True) - totals
            self.viable &= lead <= np.array([allowed[count] for count in left.tolist()])[:, None]

    def _drop_sharp(self, policy: DPSharpElimination, epoch: int) -> None:
        """Drop the arms that `DPSharpElimination.is_behind` drops."""
        totals = np.where(self.viable, sum(self.window), -np.inf)
        lead = totals.max(axis=1, keepdims=True) - totals
        row, arm = np.nonzero(self.viable & (lead > 0))
        to = policy.schedule
        behind = clearly_behind(
            lead[row, arm], totals[row, arm], to.tested(epoch), to.noises(epoch), policy.epoch_epsilon(epoch),
            to.level(epoch), to.doubt(epoch),
        )  # fmt: skip
        self.viable[row[behind], arm[behind]] = False

    def _take_out(self, epoch: int) -> None:
        """Take out runs that are settled, and those that never will be: the best arms that they have left are equal."""
        left = np.where(self.viable, self.chances, -1.0)
        settled = self.viable.sum(axis=1) == 1
        stuck = ~settled & ((left == left.max(axis=1, keepdims=True)).sum(axis=1) > 1)
        over = settled | stuck
        done = self.index[over]
        self.found.people[done], self.found.epochs[done] = self.people[over], epoch
        self.found.right[done] = settled[over] & (left[over].max(axis=1) == self.chances.max())
        self.found.ended[done] = settled[over]
        stays = ~over
        self.index, self.viable, self.people = self.index[stays], self.viable[stays], self.people[stays]
        self.window = [totals[stays] for totals in self.window]


def worst_case(policy: Policy, gaps: Any) -> tuple[int, int]:
    """Return the most people, and epochs, that a search takes by its promise, but for its probability of failure.

    Every arm is pulled until the epoch that must drop it, and the best one as long as the last of them, however large
    the variance of rewards.

    Args:
        policy: An elimination.
        gaps: The gap of each arm but the best, as a share of the rewards' range.

    Raises:
        ArgumentError: It is not such a policy, or the search takes more than 10^12 people.
    """
    if not isinstance(policy, SEARCHES):
        raise ArgumentError(f"only eliminations can be forecast, got {policy!r}")
    resolved = (policy.schedule if isinstance(policy, DPSharpElimination) else policy).target_gap
    left, pulls, people, epoch = sorted(gaps, reverse=True), 0, 0, 0
    while left:
        epoch += 1
        pulls += policy.rounds(epoch, len(policy.arms))
        if pulls > MOST_PEOPLE:
            raise ArgumentError(f"gap must be told by {MOST_PEOPLE:,} people, got {left[-1]!r}")
        while left and resolved(epoch) <= left[0]:
            people += pulls * (2 if len(left) == 1 else 1)
            left = left[1:]
    return people, epoch
