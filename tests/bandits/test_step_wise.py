"""UCB, KL-UCB, IMED and Thompson sampling: the rules as printed, and their draws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import discreet
from discreet import IMED, KLUCB, UCB, ArgumentError, ThompsonSampling, theory
from tests._tools.driving import Recorded, close, drive


def kl(x, y):
    return float(theory.divergence(x, y))


def fed(policy, totals):
    """The policy after each arm has paid what is said: (reward sum, pulls)."""
    pulls = [count for _, count in totals]
    steps = [round(total * policy.grid.width) for total, _ in totals]
    return policy.resume({**policy.snapshot(), "_totals": steps, "pulls": pulls, "time": sum(pulls)})


HISTORY = st.lists(
    st.integers(1, 400).flatmap(
        lambda pulls: st.tuples(st.floats(0, 1).map(lambda share: share * pulls), st.just(pulls))
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
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
    assert policy.pulls[pulled] == min(
        pulls for (_, pulls), index in zip(history, indices, strict=True) if index == max(indices)
    )


def test_kl_ucb_takes_the_fewest_pulls_among_equal_indices_and_then_the_first():
    assert fed(KLUCB(range(3)), [(2, 2), (1, 1), (1, 1)]).plan().pulls == {1: 1}  # all have the index 1
    assert fed(KLUCB(range(3)), [(0.5, 4), (2, 4), (2, 4)]).plan().pulls == {1: 1}


@settings(max_examples=60, deadline=None)
@given(history=HISTORY)
def test_imed_pulls_the_arm_with_the_least_evidence_against_it(history):
    policy = fed(IMED(range(len(history))), history)
    best = max(map(policy.mean, range(len(history))))
    indices = [pulls * kl(policy.mean(arm), best) + math.log(pulls) for arm, (_, pulls) in enumerate(history)]
    (pulled,) = policy.plan().pulls
    assert indices[pulled] == pytest.approx(min(indices), abs=1e-9)


def test_imed_takes_the_first_among_equal_indices():
    assert fed(IMED(range(3)), [(0, 4), (2, 4), (2, 4)]).plan().pulls == {1: 1}


@pytest.mark.parametrize("kind", [UCB, KLUCB, IMED])
def test_each_arm_is_pulled_once_first(kind):
    driver = drive(kind(list("ABC")), (), closes=0)
    for arm in "ABC":
        assert driver.algorithm.best_arm is None
        assert driver.plan().pulls == {arm: 1}
        close(driver, (1, 1, 1))
    assert driver.algorithm.best_arm == "A"


def test_ucb_pulls_the_arm_of_the_largest_bound_and_among_equals_the_first():
    policy = fed(UCB(range(3)), [(4, 10), (6, 20), (3, 5)])
    expected = [0.4 + math.sqrt(2 * math.log(36) / 10), 0.3 + math.sqrt(2 * math.log(36) / 20)]
    assert [policy.index(arm, 36) for arm in (0, 1)] == pytest.approx(expected)
    assert policy.plan().pulls == {2: 1}
    assert fed(UCB(range(3)), [(1, 4), (2, 4), (2, 4)]).plan().pulls == {1: 1}


# ---------------------------------------------------------------------- Thompson sampling


def choices(policy, totals, runs):
    """How often each arm is pulled next, over the generators of many epochs."""
    policy, counts = fed(policy, totals), [0] * len(totals)
    for epoch in range(runs):
        policy.resume({**policy.snapshot(), "epoch": epoch})
        (arm,) = policy.plan().pulls
        counts[arm] += 1
    return counts


@pytest.mark.parametrize(("ones", "pulls"), [(0, 0), (3, 10), (2.5, 4), (40, 40)])
def test_thompson_samplings_posterior_counts_successes_and_failures_also_of_fractions(ones, pulls):
    policy = fed(ThompsonSampling(range(2), seed=1), [(ones, pulls), (0, 1)])
    assert policy.posterior(0) == (ones + 1, pulls - ones + 1)


def test_thompson_sampling_pulls_an_arm_as_often_as_it_is_believed_to_be_the_best():
    pulled, _ = choices(ThompsonSampling(range(2), seed=2), [(6, 10), (5, 10)], 4000)
    first, second = stats.beta(7, 5), stats.beta(6, 6)
    x = np.linspace(0, 1, 20_001)
    chance = np.trapezoid(first.pdf(x) * second.cdf(x), x)
    assert stats.binomtest(pulled, 4000, chance).pvalue > 1e-6
    assert stats.binomtest(pulled, 4000, chance + 0.1).pvalue < 1e-6


def trace(policy, steps):
    rewards, driver, arms = Recorded.coins(3, (0.6, 0.5), steps), drive(policy, (), closes=0), []
    for _ in range(steps):
        arms += driver.plan().pulls
        close(driver, rewards)
    return arms


def test_the_seed_decides_the_draws_and_is_kept_among_the_options():
    assert trace(ThompsonSampling(range(2), seed=5), 60) == trace(ThompsonSampling(range(2), seed=5), 60)
    free = [ThompsonSampling(range(2)) for _ in range(3)]
    traces = [trace(policy, 60) for policy in free]
    assert any(one != other for one, other in pairwise(traces))
    again = ThompsonSampling.from_options(free[0].options())  # its seed was drawn once, and is an option now
    assert trace(again, 60) == traces[0]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kl-ucb", {"c": -0.5}, r"c must not be negative, got -0.5"),
        ("kl-ucb", {"c": "3"}, r"c must be a number, got '3' of type str"),
        ("ts", {"seed": -1}, r"seed must be at least 0, got -1"),
        ("ts", {"seed": 1.5}, r"seed must be a whole number, got 1.5"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ArgumentError, match=message):
        discreet.make_policy(name, ["A", "B"], **options)
