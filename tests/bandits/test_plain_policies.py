"""KL-UCB, IMED and Thompson sampling: the rules as printed, their draws, and how the simulator seeds them."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import discreet
from discreet import IMED, KLUCB, ArgumentError, SimulatedNoise, ThompsonSampling, theory
from discreet.core.registry import rebuild
from discreet.lab import Setting, simulate
from discreet.lab.simulate import one_run, run_setting
from tests._tools import examples

PLAIN = ("kl-ucb", "imed", "ts")


def kl(x, y):
    return float(theory.divergence(x, y))


def fed(policy, totals):
    """Give each arm, in turn, what it is said to have paid: (reward sum, pulls)."""
    for arm, (total, pulls) in enumerate(totals):
        policy._sums[arm], policy._pulls[arm] = round(total * policy.grid.width), pulls
    policy.time = sum(policy._pulls)
    return policy


HISTORY = st.lists(
    st.integers(1, 400).flatmap(
        lambda pulls: st.tuples(st.floats(0, 1).map(lambda share: share * pulls), st.just(pulls))
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(history=HISTORY, c=st.sampled_from([0.0, 3.0]))
def test_kl_ucb_pulls_the_arm_with_the_largest_mean_that_is_not_ruled_out(history, c):
    policy = fed(KLUCB(range(len(history)), c=c), history)
    step = policy.time + 1
    evidence = math.log(step) + c * math.log(math.log(step))
    indices = []
    for arm, (_, pulls) in enumerate(history):
        mean, index = policy.mean(arm), policy.index(arm, step)
        indices.append(index)
        inside = (
            optimize.brentq(lambda q, x=mean, n=pulls: n * kl(x, q) - evidence, mean, 1 - 1e-13)
            if mean < 1 - 1e-9 and pulls * kl(mean, 1 - 1e-13) > evidence
            else 1.0
        )
        assert index == pytest.approx(inside, abs=1e-7)
    (pulled,) = policy.plan().pulls
    assert indices[pulled] == max(indices)
    assert policy._pulls[pulled] == min(
        pulls for (_, pulls), index in zip(history, indices, strict=True) if index == max(indices)
    )


def test_kl_ucb_takes_the_fewest_pulls_among_equal_indices_and_then_the_first():
    assert fed(KLUCB(range(3)), [(2, 2), (1, 1), (1, 1)]).plan().pulls == {1: 1}  # all have the index 1
    assert fed(KLUCB(range(3)), [(0.5, 4), (2, 4), (2, 4)]).plan().pulls == {1: 1}


@settings(max_examples=150, deadline=None)
@given(history=HISTORY)
def test_imed_pulls_the_arm_with_the_least_evidence_against_it(history):
    policy = fed(IMED(range(len(history))), history)
    best = max(map(policy.mean, range(len(history))))
    indices = [pulls * kl(policy.mean(arm), best) + math.log(pulls) for arm, (_, pulls) in enumerate(history)]
    (pulled,) = policy.plan().pulls
    assert indices[pulled] == pytest.approx(min(indices), abs=1e-9)


def test_imed_takes_the_first_among_equal_indices():
    assert fed(IMED(range(3)), [(0, 4), (2, 4), (2, 4)]).plan().pulls == {1: 1}


@pytest.mark.parametrize("name", ["kl-ucb", "imed"])
def test_each_arm_is_pulled_once_first(name):
    policy = discreet.make_policy(name, list("ABC"))
    for arm in "ABC":
        assert policy.best_arm is None
        assert policy.plan().pulls == {arm: 1}
        policy.close({arm: policy.grid.width})
    assert policy.best_arm == "A"


@pytest.mark.parametrize(("ones", "pulls"), [(0, 0), (3, 10), (2.5, 4), (40, 40)])
def test_thompson_sampling_draws_from_the_posterior_also_of_fractions(ones, pulls):
    policy = fed(ThompsonSampling(["A", "B"], seed=1), [(ones, pulls), (0, 1)])
    draws = [policy.draw(0) for _ in range(4000)]
    assert stats.kstest(draws, stats.beta(ones + 1, pulls - ones + 1).cdf).pvalue > 1e-6
    assert stats.kstest(draws, stats.beta(ones + 1, pulls - ones + 1.5).cdf).pvalue < 1e-6  # a planted error


def test_thompson_sampling_pulls_an_arm_as_often_as_it_is_believed_to_be_the_best():
    policy = fed(ThompsonSampling(["A", "B"], seed=2), [(6, 10), (5, 10)])
    pulled = 0
    for _ in range(4000):
        policy._open = None
        pulled += "A" in policy.plan().pulls
    first, second = stats.beta(7, 5), stats.beta(6, 6)
    x = np.linspace(0, 1, 20_001)
    chance = np.trapezoid(first.pdf(x) * second.cdf(x), x)
    assert stats.binomtest(pulled, 4000, chance).pvalue > 1e-6
    assert stats.binomtest(pulled, 4000, chance + 0.1).pvalue < 1e-6


def trace(policy, steps, seed=3):
    generator, arms = np.random.default_rng(seed), []
    for _ in range(steps):
        (arm,) = policy.plan().pulls
        policy.close({arm: int(generator.random() < (0.6, 0.5)[arm]) * policy.grid.width})
        arms.append(arm)
    return arms


def test_the_seed_decides_the_draws_and_a_saved_state_goes_on_with_them():
    assert trace(ThompsonSampling(range(2), seed=5), 60) == trace(ThompsonSampling(range(2), seed=5), 60)
    free = [trace(ThompsonSampling(range(2)), 60) for _ in range(3)]
    assert any(one != other for one, other in pairwise(free))
    policy = ThompsonSampling(range(2))  # unseeded: the saved state has the place of its draws all the same
    trace(policy, 20)
    copy = rebuild("policy", json.loads(json.dumps(policy._dump())))
    assert trace(copy, 40) == trace(policy, 40)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kl-ucb", {"c": -0.5}, r"c must be at least 0, since less than ln t explores too little, got -0.5"),
        ("kl-ucb", {"c": "3"}, r"c must be a number, got '3' of type str"),
        ("ts", {"seed": -1}, r"seed must be at least 0, got -1"),
        ("ts", {"seed": 1.5}, r"seed must be a whole number, got 1.5"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ArgumentError, match=message):
        discreet.make_policy(name, ["A", "B"], **options)


# ---------------------------------------------------------------------- in the simulator

SEEDED = [name for name in discreet.POLICIES if "seed" in examples.policy(name).options()]


@pytest.mark.parametrize("name", SEEDED)
def test_runs_of_seeded_policies_are_reproducible_and_differ(name):
    options = {"epsilon": 1.0} if examples.is_private(name) else {}
    setting = Setting.of(name, [0.5, "uniform(0, 0.9)"], horizon=300, runs=6, **options)  # not coins: no kernel
    first, second = run_setting(setting), run_setting(setting)
    assert first.method == "object"
    assert (first.pulls == second.pulls).all()
    assert len({tuple(pulls) for pulls in first.pulls.tolist()}) > 1


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_of_its_own_comes_from_the_run_unless_the_options_have_one(name):
    options = {"epsilon": 1.0} if examples.is_private(name) else {}
    setting = Setting.of(name, [0.4, 0.6], horizon=100, **options)
    assert "seed" not in dict(setting.options)
    assert setting.make(SimulatedNoise(1), 77).seed == 77
    assert setting.build().seed == 0
    own = setting.with_(options=(*setting.options, ("seed", 5)))
    assert own.make(SimulatedNoise(1), 77).seed == 5
    assert own.identity != setting.identity


def test_rewards_and_noise_of_a_run_are_what_they_were_before_policies_had_seeds():
    setting = Setting.of("ts", [0.4, 0.6], horizon=100)
    for number in range(3):
        before, after = (setting.run_seed(number).spawn(count) for count in (2, 3))
        for one, other in zip(before, after[:2], strict=True):
            assert one.generate_state(4).tolist() == other.generate_state(4).tolist()


@pytest.mark.parametrize("name", PLAIN)
def test_kernels_are_taken_for_coins_alone(name):
    for on, options, method in (
        ([0.2, 0.8], {}, "kernel"),
        ([0.2, "beta(2, 5)"], {}, "object"),
        ([0.2, 0.8], {"low": -1}, "object"),
    ):
        result = simulate(name, on, horizon=200, runs=2, **options)
        assert result.method == method
        assert result.pulls.sum(axis=1).tolist() == [200, 200]


@pytest.mark.parametrize(("name", "options", "changed"), [
    ("kl-ucb", {}, {"c": 3.0}), ("kl-ucb", {"c": 3.0}, {"c": 0.0}), ("imed", {}, {"instance": [0.3, 0.7]}),
    ("ts", {}, {"instance": [0.3, 0.7]}),
])  # fmt: skip
def test_kernel_and_object_have_the_same_law_and_an_error_would_show(name, options, changed):
    common = {"instance": [0.4, 0.7], "horizon": 300, "runs": 250, "checkpoints": [60, 150], **options}
    setting = Setting.of(name, **common)
    slow = np.array([one_run(setting, number).counts[:, 0] for number in range(setting.runs)])
    for changes, right in (({}, True), (changed, False)):
        result = simulate(name, **{**common, "runs": 2000, **changes})
        assert result.method == "kernel"
        fast = np.array(result.setting.checkpoints) - result.best_pulls
        found = [stats.ks_2samp(one, other, method="asymp").pvalue for one, other in zip(slow.T, fast.T, strict=True)]
        assert bool(min(found) > 1e-6) is right


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("on", ["C1", "C2"])
def test_regret_grows_as_slowly_as_lai_and_robbins_allow(name, on):
    """The slope against ln T between two horizons, where lower-order terms cancel for the most part."""
    marks = [10**5, 5 * 10**7]
    result = simulate(name, on, horizon=marks[1], runs=30, checkpoints=marks)
    growth = np.diff(result.regret, axis=1).mean()
    expected = float(np.diff([theory.lai_robbins_bound(result.setting.instance.means, mark) for mark in marks])[0])
    assert 0.6 * expected < growth < 1.4 * expected
