"""DP mean: what it looks at, when it chooses, and coins and noises on a fine grid."""

import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import ArgumentError, DPMean, SimulatedNoise, Stream
from discreet.core.coins import UnbiasedGrid, counted
from discreet.core.statistics import Statistic
from discreet.stopping._inverse.first_passage import FirstPassage
from discreet.stopping._inverse.schedule import Schedule

GIVEN = {"epsilon": 10.0, "alpha": 0.1, "beta": 0.05, "low": 0.0, "high": 1.0}
LEVEL = 1e-6


def fed(rule, samples, seed=1):
    stream = Stream(rule, SimulatedNoise(seed))
    stream.feed(samples)
    return stream.algorithm


# ---------------------------------------------------------------------- the look


def test_coins_and_constant_samples_get_the_rule_that_is_better_for_them():
    samples = np.random.default_rng(1).random(50_000)
    coins = fed(DPMean(**GIVEN), (samples < 0.2).astype(float))
    steady = fed(DPMean(**GIVEN), 0.2 + 0.001 * samples)
    assert (coins.chosen, steady.chosen) == ("dp-inverse", "dp-bernstein")
    assert 0 < steady.looked < 0.15 * steady.samples
    assert 0 < coins.looked < 0.15 * coins.samples
    assert (coins.estimate, steady.estimate) == (pytest.approx(0.2, rel=0.1), pytest.approx(0.2, rel=0.1))


def test_where_noises_weigh_much_there_is_no_look():
    rule = DPMean(**{**GIVEN, "epsilon": 0.5})
    assert (rule.chosen, rule.looked) == ("dp-inverse", 0)


def test_the_chosen_rule_begins_with_the_samples_after_the_look():
    rule = fed(DPMean(**GIVEN), np.tile([1.0, 0.0], 5000))
    spans = [release.spans[0][1:] for release in rule.ledger if release.kind == "tests"]
    assert spans == [(rule.looked + 1, rule.samples)]
    looks = [release.spans[0][2] for release in rule.ledger if release.kind == "squares"]
    assert max(looks) == rule.looked


def test_noise_alone_does_not_end_a_look():
    rule = fed(DPMean(**GIVEN, max_samples=20_000), np.zeros(20_000))
    assert (rule.chosen, rule.samples, rule.estimate) == (None, 20_000, None)


def test_a_look_that_ends_at_the_cap_is_the_end():
    looked = fed(DPMean(**GIVEN), np.ones(5000)).looked
    rule = fed(DPMean(**GIVEN, max_samples=looked), np.ones(looked))
    assert (rule.samples, rule.finished, rule.estimate, rule.inner) == (looked, True, None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": -1}, "low must be at least 0"),
        ({"low": None, "high": None, "radius": 1.0}, "low must be at least 0"),
        ({"alpha": 0.001}, "alpha must be at least 0.01"),
    ],
)
def test_what_the_two_rules_cannot_do_is_refused(options, message):
    with pytest.raises(ArgumentError, match=f"{message}.* use dp-bernstein"):
        DPMean(**{**GIVEN, **options})


def test_a_forecast_is_about_what_it_takes():
    rule, rng = DPMean(**GIVEN), np.random.default_rng(3)
    for samples in (rng.random(50_000), (rng.random(50_000) < 0.05).astype(float), rng.uniform(0.2, 0.22, 50_000)):
        taken = [fed(rule, rng.permutation(samples), seed).samples for seed in range(5)]
        assert np.mean(taken) == pytest.approx(rule.forecast(samples.mean(), samples.var()), rel=0.35)
    assert rule.forecast(0.0) is None
    with pytest.raises(ArgumentError, match="mean must lie in"):
        rule.forecast(1.5)


# ---------------------------------------------------------------------- coins on the fine grid


@pytest.mark.parametrize("reward", [0.3, 1e-7, 0.9999999, 0.5])
def test_rounding_to_the_fine_grid_and_to_coins_keeps_the_mean(reward):
    grid, noise, runs = UnbiasedGrid(0.0, 1.0), SimulatedNoise(4), 200_000
    steps = grid.encode_checked(np.full(runs, reward), noise)
    assert set(steps) <= {math.floor(reward * grid.width), math.ceil(reward * grid.width)}
    share = (steps == math.ceil(reward * grid.width)).sum(), reward * grid.width % 1
    if share[1]:
        assert stats.binomtest(int(share[0]), runs, share[1]).pvalue > LEVEL
    coins = counted(Statistic.COINS, steps, grid.width, noise)
    assert set(coins) <= {0, grid.width}
    assert stats.binomtest(int((coins > 0).sum()), runs, reward).pvalue > LEVEL


def test_one_reward_changes_one_coin():
    rewards = np.random.default_rng(5).random(1000)
    changed = np.where(np.arange(1000) == 400, 0.111, rewards)
    grid = UnbiasedGrid(0.0, 1.0)

    def coins(values):
        noise = SimulatedNoise(6)
        return counted(Statistic.COINS, grid.encode_checked(values, noise), grid.width, noise)

    assert np.flatnonzero(coins(rewards) != coins(changed)).tolist() in ([], [400])


def test_other_statistics_take_rewards_as_they_are():
    steps = np.array([1.0, 5.0])
    assert counted(Statistic.PAIRS, steps, 10) is steps


# ---------------------------------------------------------------------- noises on the fine grid


@pytest.mark.parametrize(("epsilon", "rounded"), [(0.4, 0.02), (3.0, 0.002)])
def test_bounds_with_noises_on_a_finer_grid_hold_and_are_close(epsilon, rounded):
    """Against draws of the noises: four steps to a reward, three tests, one mean; values of B are rounded a little."""
    parts, mean, counts, levels, runs = 4, 0.6, (10, 14, 18), (7, 9, 11), 400_000
    passage = FirstPassage(epsilon, 1e-9, 1 / parts, parts)
    for count, level in zip(counts, levels, strict=True):
        passage.advance(count, 0.3, 0.9)
        passage.test(level)
    rng, before = np.random.default_rng(7), 0
    noise, sums = SimulatedNoise(8), np.zeros(runs, np.int64)
    bar, halted = np.abs(noise.draws(parts / epsilon, runs)), np.zeros(runs, bool)
    for count, level in zip(counts, levels, strict=True):
        sums += rng.binomial(count - before, mean, runs) * parts
        limit, before = level * parts - parts // 2, count
        halted |= sums + np.abs(noise.draws(parts / epsilon, runs)) >= limit + bar
    error = 6 * 0.5 / math.sqrt(runs)
    assert -error <= passage.early(mean) - halted.mean() <= rounded + error
    assert -error <= passage.late(mean) - (1 - halted.mean()) <= rounded + error


def test_levels_of_a_fine_grid_are_about_those_of_coins():
    coarse, fine = Schedule(0.1, 0.05, 1.0), Schedule(0.1, 0.05, 1.0, 2**20)
    for number in (100, 400):
        count, level = fine.tests[number].count, fine.tests[number].level
        other = next(test for test in coarse.tests if test.count >= count)
        assert level % 1 == 0.5
        assert level == pytest.approx(other.level, rel=0.03)


def test_levels_for_a_hundred_thousand_ones_begin_within_reach():
    """The search for a mean meets flat stretches there, which Newton's method alone does not leave."""
    first = Schedule(0.01, 0.001, 1.0).tests[0]
    assert first.level <= first.count < 10_000


def test_it_is_recommended_where_variance_may_matter():
    assert discreet.recommend(goal="mean", epsilon=1.0, alpha=0.02).policy == "dp-mean"
