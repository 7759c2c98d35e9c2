"""The kernel of DP-UCB on hybrid counters: the reference against the object pull by pull, skip-ahead in law."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.lab.kernels import dp_ucb, randomness, tree_minimum
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import fresh_state
from tests._tools.kernel_tools import LEVEL, PRIVATE, Driven, Handed, check_counts, planted, rebound, smallest_p
from tests._tools.step_by_step import play_dp_ucb

TABLES = tree_minimum.tables()
COUNTERS, _ = dp_ucb.counters_of(discreet.DPHybridUCB(range(2), epsilon=1.0, horizon=10))


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 500.0])
@pytest.mark.parametrize("name", ["C1, K = 2", "C2, K = 5", "C4, K = 20", "equal arms", "sure arms"])
def test_the_reference_kernel_is_the_policy_object(name, epsilon):
    means, horizon, noise = PRIVATE[name], 1500, Handed()
    counts = play_dp_ucb(means, horizon, fresh_state(8), np.arange(1, horizon + 1), COUNTERS, epsilon)
    policy = discreet.DPHybridUCB(range(len(means)), epsilon=epsilon, horizon=horizon)
    driven, state, width = Driven(policy, noise), fresh_state(8), policy.grid.width
    for expected in counts:
        (arm,) = policy.plan().pulls
        pulls = policy.pulls[arm]
        power = not pulls & (pulls + 1)  # this pull reaches a power of two, and ends the tree
        scale = 2 * (1 if power else pulls.bit_length() - 1) / epsilon
        reward = int(randomness.bernoulli(state, randomness.threshold(means[arm])))
        noise.values = [round(randomness.laplace(state, scale) * width)]
        driven.close_steps({arm: reward * width})
        assert policy.ledger[-1].scale / width == pytest.approx(scale)
        assert policy.pulls == expected.tolist()


def hybrid_pulls(kernel, means, horizon, runs, tag, *constants):
    """Pulls at six moments of each run."""
    points = np.unique((horizon * np.array([0.05, 0.13, 0.3, 0.55, 0.8, 1.0])).astype(np.int64))
    found = [kernel(np.array(means), horizon, fresh_state([run, tag]), points, *constants) for run in range(runs)]
    return np.array(found).reshape(runs, -1)


LAWS = [
    ([0.8, 0.5, 0.3], 20.0),
    ([1.0, 1.0], 20.0),
    pytest.param([0.8, 0.5, 0.3], 1.0, marks=pytest.mark.study),
    pytest.param([0.6, 0.6, 0.2], 100.0, marks=pytest.mark.study),
]


@pytest.mark.parametrize(("means", "epsilon"), LAWS)
def test_skip_ahead_has_the_law_of_the_reference(means, epsilon):
    slow = hybrid_pulls(play_dp_ucb, means, 5000, 500, 1, COUNTERS, epsilon)
    assert smallest_p(slow, hybrid_pulls(dp_ucb.skip_ahead, means, 5000, 500, 2, COUNTERS, epsilon, TABLES)) > LEVEL


@compiled
def until_overtaken(state, tables, pulls, total, chance, rival, step, epsilon, end):
    """The pulls at which an arm's index falls to a level, or `end`: visit by visit, or without tables step by step."""
    path, noises = np.zeros(64), np.zeros(2)
    while pulls < end and dp_ucb.index(COUNTERS, epsilon, total + noises.sum(), pulls, step) > rival:
        if tables is None:
            total += randomness.bernoulli(state, randomness.threshold(chance))
            dp_ucb.close_block(state, COUNTERS, epsilon, path, noises, pulls, 1)
            pulls += 1
        else:
            total, done = dp_ucb.visit(
                state, COUNTERS, epsilon, tables, path, noises, chance, total, pulls, rival, step, end - pulls
            )
            pulls += done
    return pulls


def falls(tables, pulls, epsilon, margin, tag, program=until_overtaken):
    """The same in many runs: a level so many noise scales below the index, and rewards that just keep the distance."""
    tree, step, total = pulls.bit_length() - 1, 10 * pulls, 0.3 * pulls
    rival = dp_ucb.index(COUNTERS, epsilon, total, pulls, step) - margin * 2 * tree / epsilon / pulls
    chance = rival - math.sqrt(2 * math.log(step) / pulls) / 2
    job = pulls, total, chance, rival, step, epsilon, 2 * 2**tree + 300
    return [program(fresh_state([run, tag]), tables, *job) for run in range(2000)]


NO_BREACH = tree_minimum.Tables(np.full_like(TABLES.logs, -1e300), *map(np.zeros_like, TABLES[1:]))


@pytest.mark.parametrize("margin", [1, 2, 4])
@pytest.mark.parametrize(("pulls", "epsilon"), [(2**14 + 2**13, 2.0), (2**12 + 2**11 + 2**10, 5.0)])
def test_an_arm_is_overtaken_by_its_noise_when_it_is_step_by_step(pulls, epsilon, margin):
    slow = falls(None, pulls, epsilon, margin, 1)
    assert stats.ks_2samp(slow, falls(TABLES, pulls, epsilon, margin, 2), method="asymp").pvalue > LEVEL
    assert stats.ks_2samp(slow, falls(NO_BREACH, pulls, epsilon, margin, 2), method="asymp").pvalue < LEVEL


close_block, choose_level = dp_ucb.close_block, dp_ucb.choose_level


def a_tree_that_stays(state, counters, hybrid, path, noises, pulls, size):
    """At a power of two the old tree's noise is kept."""
    tree = noises[1]
    close_block(state, counters, hybrid, path, noises, pulls, size)
    noises[1] = noises[1] if noises[1] else tree


def overconfident(limits, pulls, base, rival, spread, scale, ceiling, most):
    """Looks into a block only if its noise sinks far lower than it may."""
    level, depth = choose_level(limits, pulls, base, rival, spread, scale, ceiling, most)
    return level, depth + 6


PLANTED = ([1.0, 1.0], 3000, 1000), (2**14 + 2**13, 2.0, 2)


@functools.cache
def slow_runs():
    runs, fall = PLANTED
    return hybrid_pulls(play_dp_ucb, *runs, 1, COUNTERS, 20.0), falls(None, *fall, 1)


@pytest.mark.study
@pytest.mark.parametrize(
    "wrong",
    [
        {"close_block": a_tree_that_stays},
        {"choose_level": overconfident},
        {"laplace": lambda state, scale: randomness.laplace(state, 1.3 * scale)},
    ],
)
def test_planted_errors_in_skip_ahead_are_noticed(wrong):
    runs, fall, slow = *PLANTED, slow_runs()
    kernel = planted(dp_ucb, **wrong)
    fast = (
        hybrid_pulls(kernel.skip_ahead, *runs, 2, COUNTERS, 20.0, TABLES),
        falls(TABLES, *fall, 2, rebound(until_overtaken, dp_ucb=kernel)),
    )
    found = smallest_p(slow[0], fast[0]), stats.ks_2samp(slow[1], fast[1], method="asymp").pvalue
    assert min(found) < LEVEL, found


def test_counts_at_checkpoints_add_up():
    check_counts(dp_ucb.skip_ahead, COUNTERS, 1.0, TABLES)
