"""Algorithms of one's own, written as docs/architecture.md says."""

from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from discreet import StoppingRule
from discreet.bandits._elimination import Elimination
from discreet.core.options import Count, Positive, Probability, Real
from discreet.core.plans import Measure, Plan, ThresholdQuery, TotalsQuery
from discreet.core.privacy import Theorem
from discreet.core.registry import RULES


@dataclass(kw_only=True)
class ExploreThenCommit(Elimination):
    """One epoch of n pulls of each arm, then the best noisy total for ever."""

    key = "test-explore-then-commit"
    reason = "each reward enters one noisy total"

    epsilon: Positive
    n: Count

    def rounds(self, epoch, viable):
        return self.n

    def _decide(self, releases):
        self._keep(self._scores(releases), lambda lead, _: lead <= 0)


@dataclass(kw_only=True)
class BlockMean(StoppingRule):
    """Halts after n samples with a noisy mean."""

    key = "test-block-mean"
    reason = "one noisy total"

    epsilon: Positive
    n: Count = 20
    alpha: Probability = 0.5
    beta: Probability = 0.5
    low: Real = 0.0
    high: Real = 1.0

    def _plan(self):
        return None if self.finished else Plan(1, {None: self.n}, TotalsQuery((self.epsilon,)))

    def _learn(self, plan, releases):
        self.samples, self.halted = self.n, True
        self.estimate = self.grid.mean(releases[0].steps, self.n)


@dataclass(kw_only=True)
class ReachesLevel(StoppingRule):
    """Halts at the first noisy sum that reaches a level, by tests alone: the number of samples tells the mean."""

    key = "test-reaches-level"
    reason = "a one-sided sparse vector that releases nothing but its tests"
    theorem = Theorem.REWARDS
    keeps_secrets = True

    epsilon: Positive
    level: Count = 10
    at_once: Count = 1
    alpha: Probability = 0.5
    beta: Probability = 0.5
    low: Real = 0.0
    high: Real = 1.0

    def _plan(self):
        if self.finished:
            return None
        counts = tuple(self.samples + 1 + place for place in range(self._at_most(self.at_once)))
        limits = (self.level * self.grid.width,) * len(counts)
        return self._plan_until(counts[-1], ThresholdQuery(counts, limits, self.epsilon, None, Measure.ONE_SIDED))

    def _learn(self, plan, releases):
        self._learn_tests(plan, releases)
        if self.halted:
            self.estimate = self.level / self.samples


@contextmanager
def registered(*rules):
    """Have rules of one's own in the registry for a while, so that files of them can be loaded."""
    with patch.dict(RULES, {rule.key: rule for rule in rules}):
        yield
