"""Policies and rules of one's own, written as docs/architecture.md says."""

import numpy as np
import pytest

import discreet
from discreet.bandits._elimination import EliminationPolicy
from discreet.core.noise import SimulatedNoise
from discreet.core.registry import POLICIES, RULES
from discreet.mechanisms import LaplaceMechanism
from discreet.testing import coarse_grid, worst_loss


class ExploreThenCommit(EliminationPolicy):
    """One epoch of n pulls of each arm, then the best noisy total for ever."""

    key = "test-explore-then-commit"
    privacy_reason = "each reward enters one noisy total"

    def __init__(self, arms, *, epsilon, n, horizon=None, low=0.0, high=1.0, noise=None):
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self.epsilon, self.n = epsilon, n
        self._laplace = LaplaceMechanism(self.grid.width, epsilon, noise)
        self.noise = self._laplace.noise

    def _rounds(self):
        self._laplace.prepare(len(self._viable))
        return self.n

    def _close(self, totals):
        released = {arm: self._laplace.release(total) for arm, total in totals.items()}
        for arm, units in released.items():
            self._record("total", [arm], count=self.n, units=units, scale=self._laplace.scale, epsilon=self.epsilon)
        self._drop(released, 0.0)

    def _progress(self):
        return {**super()._progress(), "laplace": self._laplace._state()}

    def _restore(self, progress):
        super()._restore(progress)
        self._laplace._restore(progress["laplace"])


class FixedMean(discreet.StoppingRule):
    """Halts after n samples."""

    key = "test-fixed-mean"

    def __init__(self, *, n, alpha=0.5, beta=0.5, low=0.0, high=1.0):
        super().__init__(alpha=alpha, beta=beta, low=low, high=high)
        self.n, self._sum = n, 0

    def _until_test(self):
        return self.n - self.samples

    def _absorb(self, units):
        taken = units[: self._until_test()]
        self._sum += int(taken.sum())
        self.samples += taken.size
        if self.samples == self.n:
            self._halted, self._estimate = True, self.grid.mean(self._sum, self.n)


@pytest.fixture(autouse=True)
def registered():
    assert discreet.register(ExploreThenCommit) is ExploreThenCommit
    assert discreet.register(FixedMean) is FixedMean
    yield
    del POLICIES[ExploreThenCommit.key], RULES[FixedMean.key]


def test_a_policy_of_ones_own_is_driven_saved_and_loaded(tmp_path):
    policy = discreet.make_policy("test-explore-then-commit", ["A", "B"], epsilon=1.0, n=50, horizon=1000)
    bandit = discreet.Bandit(policy)
    for ticket in bandit.ask(60):
        bandit.tell(ticket, float(ticket.arm == "B"))
    bandit.save(tmp_path / "state.json")
    bandit = discreet.Bandit.load(tmp_path / "state.json")
    for ticket in bandit.ask(40):
        bandit.tell(ticket, float(ticket.arm == "B"))
    assert bandit.best_arm == "B"
    assert [entry.epsilon for entry in bandit.ledger] == [1.0, 1.0]


def test_a_policy_of_ones_own_can_be_checked_exactly():
    def run(total):
        def play(noise):
            with coarse_grid():
                policy = ExploreThenCommit(["A", "B"], epsilon=1.5, n=5, noise=noise)
            policy.plan()
            return tuple(entry.units for entry in policy.close({"A": total, "B": 2}))

        return play

    assert worst_loss(run(3), run(4), reach=4, shift=1) == pytest.approx(1.5)


def test_a_rule_of_ones_own_is_fed_but_must_say_how_to_take_totals():
    rule = discreet.make_rule("test-fixed-mean", n=1000)
    assert rule.run(np.tile([0.0, 1.0], 1000)).estimate == 0.5
    rule = FixedMean(n=1000)
    with pytest.raises(TypeError, match="must write _take"):
        rule.close(rule.grid.total(np.ones(1000)))


def test_a_key_is_taken_once():
    class Impostor(ExploreThenCommit):
        key = "dp-se"

    with pytest.raises(discreet.ArgumentError, match="key must be new, got 'dp-se'"):
        discreet.register(Impostor)


def test_simulated_objects_say_so():
    policy = ExploreThenCommit(["A", "B"], epsilon=1.0, n=5, noise=SimulatedNoise(1))
    assert "noise=<simulated>" in repr(policy)
    assert "simulated" not in repr(ExploreThenCommit(["A", "B"], epsilon=1.0, n=5))
