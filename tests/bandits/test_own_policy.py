"""A policy of one's own by the template: `plan` and `learn`, and everything else follows."""

import copy

import pytest

import discreet
from discreet import ArgumentError, Bandit, OwnPolicy, PrivacyError, SimulatedNoise, Totals, learned
from discreet.core.options import Count
from discreet.core.plans import Plan, SamplesQuery, TotalsQuery
from discreet.core.registry import POLICIES
from discreet.lab import simulate
from discreet.testing import check_algorithm, coarse_grid, worst_loss


def define():
    class TwoRounds(OwnPolicy):
        """Pulls every arm, then for a while the better half, then the best."""

        __qualname__ = "TwoRounds"  # as in a notebook
        key = "test-two-rounds"
        rounds: Count = 100
        left: list = learned(list)

        def plan(self):
            left = self.left or list(self.arms)
            return {left[0]: None} if len(left) == 1 else dict.fromkeys(left, self.rounds)

        def learn(self, means):
            best = sorted(means, key=means.get, reverse=True)
            self.left = best[: max(1, len(best) // 2)]

    globals()["TwoRounds"] = TwoRounds
    return TwoRounds


@pytest.fixture
def own():
    yield define()
    del POLICIES["test-two-rounds"]


def test_it_is_registered_by_itself_and_keeps_the_contract(own):
    assert POLICIES["test-two-rounds"] is own
    policy = discreet.make_policy("test-two-rounds", ["A", "B", "C"], epsilon=1.0, horizon=2000)
    assert policy.options()["rounds"] == 100
    check_algorithm(policy)


def test_a_cell_that_is_run_again_replaces_it(own):
    again = define()
    assert again is not own
    assert POLICIES["test-two-rounds"] is again


def test_it_decides_by_released_means(own):
    bandit = Bandit(own(["A", "B"], epsilon=1.0, horizon=1000, high=10), noise=SimulatedNoise(1))
    while not bandit.finished:
        for ticket in bandit.ask(50):
            bandit.tell(ticket, 10.0 if ticket.arm == "B" else 0.0)
    assert bandit.best_arm == "B"
    assert bandit.policy.left == ["B"]
    assert bandit.policy.means["A"] == pytest.approx(0, abs=2)
    assert bandit.pulls == {"A": 100, "B": 900}
    assert bandit.policy.radius(100, beta=0.05) > 10 * bandit.policy.radius(10_000, beta=0.05) / 2


def test_it_runs_in_the_lab_by_its_class(own):
    found = simulate(own, [0.9, 0.1], horizon=1000, runs=3, epsilon=1.0)
    assert found.failure_rate == 0
    assert copy.deepcopy(own(["A", "B"], epsilon=1.0)) == own(["A", "B"], epsilon=1.0)


def test_it_is_private_exactly(own):
    def run(total):
        def play(noise):
            with coarse_grid():
                driver = Totals(own(["A", "B"], epsilon=1.5, rounds=5), noise)
            return tuple(release.steps for release in driver.close_steps({"A": total, "B": 2}))

        return play

    assert worst_loss(run(3), run(4), reach=4, shift=1) == pytest.approx(1.5)


@pytest.mark.parametrize("wrong", [["A"], {"C": 1}, {"A": -1}, {"A": 0.5}])
def test_wrong_plans_are_named(wrong):
    class TestWrongPlan(OwnPolicy):
        def plan(self):
            return wrong

        def learn(self, means):
            pass

    try:
        with pytest.raises(ArgumentError, match=r"plan must return pulls|the pulls of 'A' must"):
            Bandit(TestWrongPlan(["A", "B"], epsilon=1.0))
    finally:
        del POLICIES["test-wrong-plan"]


class HalfPrice(TotalsQuery):
    """Says that it costs less than it does."""

    @property
    def prices(self):
        return (0.5,)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (SamplesQuery(), "a release by a SamplesQuery would cost inf, beyond the promised 1.0"),
        (TotalsQuery((float("inf"),)), "a release by a TotalsQuery would cost inf, beyond the promised 1.0"),
        (HalfPrice((100.0,)), "no mechanism answers a HalfPrice: what is released comes from one of TotalsQuery"),
    ],
)
def test_a_claim_without_a_mechanism_is_refused_before_any_reward(query, message):
    class Claims(discreet.UCB):
        reason = "it says so"
        epsilon = 1.0

        def _plan(self):
            return Plan(self.epoch + 1, {"A": 1}, query)

    with pytest.raises(PrivacyError, match=message):
        Bandit(Claims(["A", "B"]))
    with pytest.raises(PrivacyError, match=message):
        Totals(Claims(["A", "B"]))


def test_a_claim_without_an_epsilon_is_refused():
    class Claims(discreet.UCB):
        key = "test-claims"
        reason = "it says so"

    with pytest.raises(ArgumentError, match="Claims says why it is private \\(reason\\) and has no option epsilon"):
        discreet.register(Claims)
