"""Many runs at once of `dp-bai-evidence`, on arms that pay 0 or 1.

All runs make one batch at a time, side by side. Only the sums of batches are drawn; their sizes, the noise's law and
all decisions are the policy's own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bandits import DPEvidenceBestArm
from discreet.bandits.dp_evidence_best_arm import QUIET
from discreet.core.errors import ArgumentError
from discreet.core.noise import SimulatedNoise, scale_for
from discreet.forecasting.evidence_at_once import Floats, Pairs, lead_evidence

Arms = NDArray[np.intp]


class EvidenceRuns:
    """Runs side by side: those that are settled are taken out.

    Args:
        policy: The search.
        chances: The probability with which each arm pays 1.
        runs: The number of runs.
        seed: The seed of rewards and noise.
    """

    def __init__(self, policy: DPEvidenceBestArm, chances: Floats, runs: int, seed: int) -> None:
        rewards, noise = np.random.SeedSequence(seed).spawn(2)
        self.policy, self.chances, shape = policy, chances, (runs, chances.size)
        self.rng, self.noise = np.random.default_rng(rewards), SimulatedNoise(noise)
        self.scale, self.level = scale_for(policy.grid.width, policy.epsilon), policy.drop_level()
        self.totals, self.counts, self.noises = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.evidence, self.gone = np.full(shape, np.nan), np.zeros(shape, bool)
        self.leader = np.full(runs, -1)

    def until_settled(self, most: int) -> tuple[Any, Any, Any]:
        """Return the people and epochs of each run, and the arm that it found; -1 among equals that nothing can tell.

        Args:
            most: The number of people at which a search gives up.

        Raises:
            ArgumentError: A run takes more.
        """
        runs, arms = self.totals.shape
        people, epochs, found = np.zeros(runs, np.int64), np.zeros(runs, np.int64), np.full(runs, -1)
        for arm in range(arms):
            self._add(np.arange(runs), np.full(runs, arm), np.full(runs, self.policy.batch_size(0)))
        open_, epoch = np.arange(runs), 1
        while open_.size:
            challenger = self._decide(open_)
            stuck, settled = self._stuck(open_), challenger < 0
            over = stuck | settled
            done = open_[over]
            people[done], epochs[done] = self.counts[done].sum(axis=1), epoch
            found[open_[settled]] = self.leader[open_[settled]]
            open_, challenger = open_[~over], challenger[~over]
            leader = self.leader[open_]
            pulled = np.where(self.counts[open_, leader] <= self.counts[open_, challenger], leader, challenger)
            self._add(open_, pulled, self._batches(open_, pulled))
            if self.counts[open_].sum(axis=1).max(initial=0) > most:
                raise ArgumentError(f"rates must be told apart by {most:,} people, got {self.chances.tolist()}")
            epoch += 1
        return people, epochs, found

    def _add(self, runs: Arms, arms: Arms, sizes: Any) -> None:
        """Add a batch of one arm to each of some runs."""
        sums = self.rng.binomial(sizes, self.chances[arms])
        self.totals[runs, arms] += sums + self.noise.draws(self.scale, runs.size) / self.policy.grid.width
        self.counts[runs, arms] += sizes
        self.noises[runs, arms] += 1
        changed = self.leader[runs] == arms
        self.evidence[runs[changed]] = np.nan
        self.evidence[runs, arms] = np.nan

    def _batches(self, runs: Arms, arms: Arms) -> NDArray[np.int64]:
        """Return the sizes of the next batches: those of `DPEvidenceBestArm.next_batch`."""
        pulls, epsilon = self.counts[runs, arms], self.policy.epsilon
        chance = np.clip(self.totals[runs, arms] / pulls, 0.01, 0.99)
        quiet = QUIET / (epsilon * epsilon * chance * (1 - chance))
        return np.ceil(np.maximum(pulls * (self.policy.ratio - 1), np.minimum(pulls, quiet))).astype(np.int64)

    def _decide(self, runs: Arms) -> Arms:
        """Find leaders, drop arms, and return the challengers; -1 where none is left."""
        means = np.where(self.gone[runs], -np.inf, self.totals[runs] / self.counts[runs])
        leader = means.argmax(axis=1)
        self.evidence[runs[leader != self.leader[runs]]] = np.nan
        self.leader[runs] = leader
        rivals = ~self.gone[runs]
        rivals[np.arange(runs.size), leader] = False
        place, arm = np.nonzero(rivals & np.isnan(self.evidence[runs]))
        run, ahead = runs[place], leader[place]
        ours = (each[run, ahead] for each in (self.totals, self.counts, self.noises))
        theirs = (each[run, arm] for each in (self.totals, self.counts, self.noises))
        self.evidence[run, arm] = lead_evidence(Pairs(*ours, *theirs), self.policy.epsilon, self.level)
        dropped = rivals & (self.evidence[runs] >= self.level)
        self.gone[runs] |= dropped
        costs = np.where(rivals & ~dropped, self.evidence[runs] + np.log(self.counts[runs]) / 2, np.inf)
        return np.where(np.isinf(costs.min(axis=1)), -1, costs.argmin(axis=1))

    def _stuck(self, runs: Arms) -> NDArray[np.bool_]:
        """Return True for runs in which the best arms that are left are equal: they never end."""
        left = np.where(self.gone[runs], -1.0, self.chances)
        stuck: NDArray[np.bool_] = (left == left.max(axis=1, keepdims=True)).sum(axis=1) > 1
        return stuck
