"""Policies and rules of one's own, written as docs/architecture.md says."""

from dataclasses import dataclass

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, Bandit, Totals
from discreet.bandits._elimination import Elimination
from discreet.core.options import Count, Positive
from discreet.core.plans import TotalsQuery
from discreet.core.registry import POLICIES, RULES
from discreet.testing import check_algorithm, coarse_grid, worst_loss
from tests._tools.own import ExploreThenCommit


@dataclass(kw_only=True)
class FixedMean(discreet.StoppingRule):
    """Halts after n samples."""

    key = "test-fixed-mean"
    reason = "one noisy total"

    epsilon: Positive
    n: Count

    def _plan(self):
        return None if self.halted else self._plan_until(self.n, TotalsQuery((self.epsilon,)))

    def _learn(self, plan, releases):
        (release,) = releases
        self.samples, self.halted, self.estimate = self.n, True, self.grid.mean(release.steps, self.n)


@pytest.fixture(autouse=True)
def registered():
    assert discreet.register(ExploreThenCommit) is ExploreThenCommit
    assert discreet.register(FixedMean) is FixedMean
    yield
    del POLICIES[ExploreThenCommit.key], RULES[FixedMean.key]


def test_they_keep_the_contract():
    check_algorithm(discreet.make_policy("test-explore-then-commit", ["A", "B"], epsilon=1.0, n=50, horizon=1000))
    check_algorithm(discreet.make_rule("test-fixed-mean", epsilon=1.0, n=50, alpha=0.1, beta=0.1, radius=1))


def test_a_policy_of_ones_own_is_driven_saved_and_loaded(tmp_path):
    policy = discreet.make_policy("test-explore-then-commit", ["A", "B"], epsilon=1.0, n=50, horizon=1000)
    bandit = Bandit(policy)
    for ticket in bandit.ask(60):
        bandit.tell(ticket, float(ticket.arm == "B"))
    bandit.save(tmp_path / "state.json")
    bandit.detach()
    bandit = Bandit.load(tmp_path / "state.json")
    for ticket in bandit.ask(40):
        bandit.tell(ticket, float(ticket.arm == "B"))
    assert bandit.best_arm == "B"
    assert [release.epsilon for release in bandit.ledger] == [1.0, 1.0]


def test_a_policy_of_ones_own_can_be_checked_exactly():
    def run(total):
        def play(noise):
            with coarse_grid():
                driver = Totals(ExploreThenCommit(["A", "B"], epsilon=1.5, n=5, beta=0.1), noise)
            return tuple(release.steps for release in driver.close_steps({"A": total, "B": 2}))

        return play

    assert worst_loss(run(3), run(4), reach=4, shift=1) == pytest.approx(1.5)


def test_a_rule_of_ones_own_reads_a_stream():
    rule = discreet.make_rule("test-fixed-mean", epsilon=1.0, n=1000, alpha=0.1, beta=0.1, low=0, high=1)
    result = rule.run(np.tile([0.0, 1.0], 1000), discreet.SimulatedNoise(1))
    assert result.estimate == pytest.approx(0.5, abs=0.01)
    assert result.samples == 1000


def test_a_key_is_taken_once():
    class Impostor(ExploreThenCommit):
        key = "dp-se"

    with pytest.raises(ArgumentError, match="key must be new, got 'dp-se'"):
        discreet.register(Impostor)


@pytest.mark.parametrize(("wrong", "message"), [(dict, "register takes a subclass"), (Elimination, "needs a class")])
def test_what_is_no_algorithm_or_has_no_key_is_not_entered(wrong, message):
    with pytest.raises(ArgumentError, match=message):
        discreet.register(wrong)
