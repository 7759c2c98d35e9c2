"""What is recommended can be built, fits what was asked for, and says why."""

import pytest

import discreet
from discreet import ArgumentError, SimulatedNoise, Totals, recommend
from discreet.lab import simulate
from tests._tools.driving import close


def test_the_default_is_the_policy_near_the_lower_bound():
    found = recommend(["A", "B"], epsilon=0.5, horizon=10**6)
    assert found.policy == "dp-chernoff-imed"
    policy = found.make()
    assert policy.arms == ("A", "B")
    assert (policy.epsilon, policy.horizon) == (0.5, 10**6)
    assert f"{policy.batch_size(0)} pulls of each arm" in found.reason
    assert str(found).startswith("dp-chernoff-imed(epsilon=0.5, horizon=1000000): its regret")


def test_arms_may_be_a_number():
    assert recommend(3, epsilon=1.0).arms == (0, 1, 2)


def test_to_find_the_best_arm():
    found = recommend(3, epsilon=1.0, goal="best-arm", beta=0.01, horizon=10**6)
    assert isinstance(found.make(), discreet.DPEvidenceBestArm)
    late = recommend(3, epsilon=1.0, goal="best-arm", delayed=True)
    assert isinstance(late.make(), discreet.DPSharpBestArm)
    assert "fewer epochs" in late.reason
    drifting = recommend(3, epsilon=1.0, goal="best-arm", drifting=True).make()
    assert isinstance(drifting, discreet.DPBestArm)
    assert found.options == {"epsilon": 1.0, "beta": 0.01, "max_pulls": 10**6}
    assert "probability 0.99" in found.reason


def test_elimination_where_rewards_are_late():
    found = recommend(3, epsilon=1.0, horizon=10**6, delayed=True)
    assert found.policy == "dp-se"
    assert "seldom wait for rewards" in found.reason
    first = found.make().plan().pulls[0]
    assert f"{first:,} pulls of each arm" in found.reason
    assert recommend(3, epsilon=1.0, delayed=True).options["beta"] == 0.05
    assert recommend(3, epsilon=1.0, delayed=True, drifting=True).policy == "dp-se"


def test_pairs_where_traffic_drifts():
    found = recommend(3, epsilon=1.0, horizon=10**6, drifting=True)
    assert isinstance(found.make(), discreet.DPPairedIMED)
    assert "take turns" in found.reason


def test_many_people_at_once_find_room_in_every_batch():
    found = recommend(3, epsilon=1.0, horizon=10**8, at_once=5000)
    driver = Totals(found.make(), SimulatedNoise(1))
    assert "5,000 people at once" in found.reason
    for _ in range(6):
        assert driver.plan().size >= 5000
        close(driver, (1 / 3, 1 / 3, 1 / 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": 1, "epsilon": 1.0}, "arms"),
        ({"arms": ["A", "A"], "epsilon": 1.0}, "arms must be different"),
        ({"arms": 2, "epsilon": 0}, "epsilon must be a number above 0"),
        ({"arms": 2, "epsilon": 1.0, "goal": "money"}, "goal must be"),
        ({"arms": 2, "epsilon": 1.0, "at_once": 0}, "at_once"),
        ({"arms": 2, "epsilon": 1.0, "at_once": 1000, "horizon": 1000}, "at_once must leave most of the horizon"),
        ({"arms": 2, "epsilon": 1.0, "horizon": 1}, "horizon"),
        ({"arms": 2, "epsilon": 1.0, "goal": "best-arm", "beta": 2}, "beta"),
    ],
)
def test_bad_wishes_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        recommend(**arguments)


def test_a_horizon_that_is_too_short_is_said():
    assert "The horizon is short" in recommend(2, epsilon=0.01, horizon=1000).reason
    assert "The horizon is short" not in recommend(2, epsilon=1.0, horizon=10**6).reason


def test_for_people_who_come_back():
    found = recommend(3, epsilon=1.0, unit="person", goal="best-arm", beta=0.01)
    assert isinstance(found.make(), discreet.DPSharpPersonElimination)
    assert found.options == {"epsilon": 1.0, "beta": 0.01}
    assert "probability 0.99 at least" in found.reason
    assert recommend(3, epsilon=1.0, unit="person", horizon=10**6).options == {"epsilon": 1.0, "horizon": 10**6}
    drifting = recommend(3, epsilon=1.0, unit="person", drifting=True)
    assert isinstance(drifting.make(), discreet.DPPersonElimination)
    with pytest.raises(ArgumentError, match="unit must be"):
        recommend(3, epsilon=1.0, unit="household")


def test_a_mean_says_how_many_fewer_samples_the_other_rule_may_need():
    usual, loud = (recommend(goal="mean", epsilon=epsilon, alpha=0.2) for epsilon in (2.0, 100.0))
    assert (usual.policy, loud.policy) == ("dp-inverse", "dp-mean")
    assert usual.reason.endswith("even if they hardly vary, dp-bernstein needs about as many, or more.")
    times = float(loud.reason.split("up to ")[1].split(" times")[0])
    for found, most in ((usual, 1.3), (loud, times)):
        counts = [
            simulate(rule, "discrete(0.01:1)", runs=20, **found.options).samples.mean()
            for rule in ("dp-inverse", "dp-bernstein")
        ]
        assert counts[0] / counts[1] < 1.1 * most
    assert times > 1.3
    assert counts[0] / counts[1] > 1.3
