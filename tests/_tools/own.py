"""Algorithms of one's own, written as docs/architecture.md says."""

from dataclasses import dataclass

from discreet import StoppingRule
from discreet.bandits._elimination import Elimination
from discreet.core.options import Count, Positive, Probability, Real
from discreet.core.plans import Plan, TotalsQuery


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
