"""Upper bounds on UCB and DP-UCB: by hand, above simulated regret, and of the orders that the paper names."""

import math

import numpy as np
import pytest

import discreet
from discreet import SimulatedNoise, theory
from discreet.lab import play

MEANS = np.array([0.8, 0.6, 0.3])


def test_the_bound_of_auer_by_hand():
    expected = sum(8 * math.log(1e9) / gap + (1 + math.pi**2 / 3) * gap for gap in (0.2, 0.5))
    assert theory.ucb_regret_bound(MEANS, 1e9) == pytest.approx(expected)
    assert theory.ucb_regret_bound([*MEANS, 0.8], 1e9) == pytest.approx(expected)  # another best arm is free
    assert theory.ucb_regret_bound(MEANS, 100) == 50  # no policy can do worse
    assert theory.ucb_regret_bound([0.5, 0.5], 100) == 0


def test_the_minimax_bound_covers_all_gaps_and_is_within_a_factor_of_2_for_the_papers_adversary():
    arms, horizon = 7, 1e8
    gaps = np.geomspace(1e-6, 0.5, 400)
    means = np.column_stack([np.full(400, 0.5)] + [0.5 - gaps] * (arms - 1))
    found, bound = theory.ucb_regret_bound(means, horizon), theory.ucb_minimax_bound(arms, horizon)
    assert found.max() <= bound < 2.1 * found.max()
    adversary = math.sqrt(arms * math.log(horizon) / horizon)
    worst = gaps[found.argmax()]
    assert adversary < worst < 3.1 * adversary  # sqrt(8) of it, and one arm less
    assert theory.ucb_minimax_bound(2, 10) == 10


def test_dp_ucb_without_noise_is_ucb():
    assert theory.dp_ucb_regret_bound(MEANS, 1e9, math.inf) == pytest.approx(theory.ucb_regret_bound(MEANS, 1e9) + 1)


@pytest.mark.parametrize("gap", [0.01, 0.3])
def test_the_pulls_in_dp_ucbs_bound_solve_its_equation(gap):
    horizon, relaxation = 1e9, 1e5
    bound = theory.dp_ucb_regret_bound([0.9, 0.9 - gap], horizon, 1.0, relaxation)
    pulls = (bound - 1) / gap - 1 - math.pi**2 / 3
    assert 2 * math.sqrt(2 * math.log(horizon) / pulls) + 2 * relaxation / pulls == pytest.approx(gap)


def test_dp_ucbs_relaxations_cover_the_noise_of_their_trees():
    for arms in (2, 5, 20):
        for preset in ("event-level", "thesis"):
            policy = discreet.DPUCB(range(arms), epsilon=0.5, horizon=50_000_000, preset=preset)
            assert policy.effective_relaxation > theory.tree_error_bound(5e7, 0.5, 1 / 5e7, arms)
        row = discreet.DPUCB(range(arms), epsilon=0.5, horizon=50_000_000, preset="mishra-thakurta-2015")
        assert row.effective_relaxation > theory.tree_error_bound(5e7, row.tree_epsilon, 1 / 5e7, arms)


def regret(policy, seed):
    pulls = play(policy, MEANS, np.random.default_rng([seed, 1]), noise=SimulatedNoise([seed, 2])).pulls
    return float(pulls @ (MEANS.max() - MEANS))


def test_simulated_regret_stays_below():
    horizon, epsilon = 6_000, 50.0
    least = theory.tree_error_bound(horizon, epsilon, 1 / horizon, 3)
    plain, private = discreet.UCB(range(3), horizon=horizon), discreet.DPUCB(
        range(3), epsilon=epsilon, horizon=horizon, relaxation=least
    )  # fmt: skip
    limits = theory.ucb_regret_bound(MEANS, horizon), theory.dp_ucb_regret_bound(MEANS, horizon, epsilon)
    assert limits[1] < 0.5 * horizon  # it says something
    assert np.mean([regret(plain.copy(), seed) for seed in range(2)]) < limits[0]
    assert np.mean([regret(private.copy(), seed) for seed in range(2)]) < limits[1]


def test_the_orders_of_dp_ucbs_analyses():
    horizons = np.exp([10.0, 20.0])
    for power in (2.5, 3):
        values = theory.dp_ucb_regret_order(4, np.round(horizons), 0.5, power)
        assert np.log2(values[1] / values[0]) == pytest.approx(power, abs=1e-3)
    assert theory.dp_ucb_regret_order(4, 1e6, 0.5, 1) == pytest.approx(theory.private_regret_order(4, 1e6, 0.5))
    # What is proved here adds ln(T)^2 on a gap that does not shrink.
    added = theory.dp_ucb_regret_bound([0.9, 0.4], np.round(np.exp([18.0, 36.0])), 0.001)
    assert np.log2(added[1] / added[0]) == pytest.approx(2, abs=0.1)
