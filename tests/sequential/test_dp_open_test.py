"""Tests of arms against a control without an end: joint evidence, its numerical minimum, and planted errors."""

from dataclasses import replace

import numpy as np
import pytest

from discreet import ArgumentError, DPOpenEndedTest, SimulatedNoise, Totals
from discreet.sequential._joint import Joint
from discreet.sequential._two_sample_runs import open_runs_of
from tests._tools.coverage import allowed

WIDTH = 2**20
RUNS = 600


def test_of(**options):
    return DPOpenEndedTest(["A", "B"], **{"epsilon": 1.0, "base_rate": 0.3, "effect": 0.15, **options})


test_of.__test__ = False


def ever(rule, rates, seed, looks=12, runs=RUNS):
    """The runs that ever pass, and the mean number of people."""
    found = open_runs_of(replace(rule, beta=None), rates, runs, np.random.default_rng(seed), looks)
    return int(found.shown.sum()), float(found.people.mean())


@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.1, 0.1), (0.5, 0.45)])
@pytest.mark.parametrize("drifting", [False, True])
def test_false_alarms_are_rare_at_all_looks_together(rates, drifting):
    assert ever(test_of(drifting=drifting).rule, rates, 1)[0] <= allowed(RUNS, 0.05)


@pytest.mark.parametrize("wrong", ["a lower bar", "no noise", "the largest evidence of all points"])
def test_a_planted_error_raises_too_many_false_alarms(wrong, monkeypatch):
    rule = test_of(epsilon=0.05 if wrong == "no noise" else 1.0).rule
    if wrong == "a lower bar":
        rule = replace(rule, alpha=0.6)
    if wrong == "no noise":
        monkeypatch.setattr("discreet.sequential._joint.noise_cost", lambda stake, epsilon, width: 0 * stake)
        rule = replace(rule, block=50)  # as if there were none
    if wrong == "the largest evidence of all points":

        def most(self, arm, control, count, noises):
            points = np.linspace(0.05, 0.6, 41) + np.zeros((len(arm), 1))
            return self.at(points, arm[:, None], control[:, None], count, noises).max(axis=1)

        monkeypatch.setattr(Joint, "log_evidence", most)
    assert ever(rule, (0.3, 0.3), 2)[0] > allowed(RUNS, 0.05)


def test_an_arm_with_the_effect_is_seldom_given_up_and_found_soon():
    test = test_of()
    found = open_runs_of(test.rule, (0.3, 0.45), RUNS, np.random.default_rng(3))
    assert found.given_up.sum() <= allowed(RUNS, 0.2)
    assert found.shown.mean() > 0.8
    empty = open_runs_of(test.rule, (0.3, 0.3), RUNS, np.random.default_rng(4))
    assert empty.given_up.mean() > 0.9


def test_the_minimum_is_that_of_a_fine_grid():
    rng = np.random.default_rng(6)
    for shift, effect in ((0.0, 0.03), (-0.05, 0.08), (0.02, 0.02)):
        joint = Joint(effect, shift, 0.5, WIDTH)
        for _ in range(10):
            count, looks = int(rng.integers(200, 5000)), int(rng.integers(1, 9))
            control, arm = count * rng.uniform(0.01, 0.9, 2) + rng.laplace(size=2)
            low, high = max(0.0, -shift), min(1.0, 1 - shift)
            fine = np.linspace(low, high, 20_001)[None]
            least = joint.at(fine, np.array([[arm]]), np.array([[control]]), count, looks).min()
            found = joint.log_evidence(np.array([arm]), np.array([control]), count, looks)[0]
            assert found == pytest.approx(least - 0.02, abs=5e-3 * max(1.0, abs(least)))
            assert found <= least


def finished(rates, seed=1, **options):
    test = DPOpenEndedTest(list("ABC")[: len(rates)], **{"epsilon": 1.0, "base_rate": 0.3, "effect": 0.15, **options})
    epochs, rng = Totals(test, SimulatedNoise(seed)), np.random.default_rng(seed)
    while (plan := epochs.plan()) is not None:
        ones = {arm: int(rng.binomial(count, rates["ABC".index(arm)])) for arm, count in plan.pulls.items()}
        epochs.close_steps({arm: each * WIDTH for arm, each in ones.items()})
    return epochs.algorithm


def test_verdicts_and_evidence_agree():
    test = finished((0.3, 0.3, 0.6))
    assert test.verdicts == {"B": "not shown", "C": "shown"}
    assert test.best_arm == "C"
    assert test.e_value("C") >= 40  # two arms share alpha
    assert test.p_value("C") <= 0.025
    assert test.p_value("B") > 0.025


@pytest.mark.parametrize("drifting", [False, True])
def test_an_arm_that_passes_leaves_its_part_of_alpha_to_the_others_where_means_stay(drifting):
    helped = 0
    for seed in range(20):
        test = finished((0.3, 0.42, 0.7), seed, drifting=drifting)
        p = test.p_value("B")
        assert test.verdicts["C"] == "shown"
        if not drifting:
            assert (test.verdicts["B"] == "shown") == (p <= 0.05)
        elif test.verdicts["B"] == "shown":
            assert p <= 0.025
        helped += test.verdicts["B"] == "shown" and p > 0.025
    assert helped == 0 if drifting else 3 <= helped < 20


def test_many_open_runs_at_once_decide_as_the_object_does():
    """With coins of 0.3, 0.42 and 0.7: as often, and after as many people."""
    objects = [finished((0.3, 0.42, 0.7), seed) for seed in range(100)]
    runs = open_runs_of(objects[0].rule, (0.3, 0.42, 0.7), 2000, np.random.default_rng(8))
    taken = np.array([test.time for test in objects])
    assert abs(taken.mean() - runs.people.mean()) <= 4.9 * taken.std() / 10
    share = np.mean([test.verdicts["B"] == "shown" for test in objects])
    assert abs(share - runs.shown[:, 0].mean()) <= 4.9 * 0.5 / 10


def test_it_stops_at_its_cap_without_a_verdict():
    test = finished((0.3, 0.3), beta=None, max_pulls=1000)
    assert test.finished
    assert not test.settled
    assert test.time <= 1000 < test.time + 2 * test.block
    assert test.verdicts == {"B": None}
    assert test.claim.startswith("B is still open")


def test_a_forecast_says_what_never_ends():
    assert len(test_of().forecast()) == 2
    (only,), notes = (found := test_of(beta=None).forecast()), found.notes
    assert only.shown > 0.99
    assert "goes on for ever" in notes[1]


def test_an_effect_of_nothing_cannot_be_given_up():
    with pytest.raises(
        ArgumentError, match=r"effect must be above 0 to give up arms without it, got 0.0; or beta=None"
    ):
        test_of(effect=0.0, margin=0.1)
    assert test_of(effect=0.0, margin=0.1, beta=None).plan() is not None


@pytest.mark.parametrize("alpha", [0.5, 0.8, 0.99])
def test_without_beta_alpha_may_be_anything(alpha):
    test = DPOpenEndedTest(["A", "B"], epsilon=1.0, base_rate=0.3, effect=0.1, alpha=alpha, beta=None)
    assert test.plan().pulls == {"A": test.block, "B": test.block}
    with pytest.raises(ArgumentError, match=f"less than 1, or tossing a coin is as good, got {alpha} and 0.5"):
        DPOpenEndedTest(["A", "B"], epsilon=1.0, base_rate=0.3, effect=0.1, alpha=alpha, beta=0.5)
