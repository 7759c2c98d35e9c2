"""The kernel of elimination with sharp constants decides as the object does, and has its law."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import SimulatedNoise
from discreet.lab import instance, play, simulate
from discreet.lab.kernels import sharp_elimination
from discreet.lab.kernels.randomness import fresh_state
from tests._tools.promises import sharp_search


@functools.cache
def by_object(on, horizon, runs, **options):
    """Pulls of each arm, and when each was dropped, of each run."""
    found = []
    for run in range(runs):
        policy = discreet.DPSharpElimination(range(len(on)), horizon=horizon, **options)
        result = play(policy, on, np.random.default_rng([run, 2]), noise=SimulatedNoise([run, 1]))
        found.append([*result.pulls, *result.dropped])
    return np.array(found)


def by_kernel(on, horizon, runs, **options):
    policy = discreet.DPSharpElimination(range(len(on)), horizon=horizon, **options)
    program = sharp_elimination.program(policy, on.means)
    played = [program(horizon, fresh_state([run, 3]), np.array([horizon])) for run in range(runs)]
    return np.array([[*counts[-1], *dropped] for counts, dropped in played])


def p_value(first, second):
    """Of the most telling column, by how often each of its values comes."""
    found = []
    for one, other in zip(first.T, second.T, strict=True):
        values = np.unique(np.concatenate([one, other]))
        table = np.array([[(side == value).sum() for value in values] for side in (one, other)])
        common = table.sum(axis=0) >= 20
        table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0]
        if table.shape[1] > 1:
            found.append(stats.chi2_contingency(table).pvalue)
    return min(found)


@pytest.mark.parametrize(
    ("epsilon", "wrong"),
    [
        (0.3, {"epsilon": 0.2}),
        pytest.param(3.0, {"means": (0.6, 0.5, 0.25)}, marks=pytest.mark.study),
        pytest.param(0.3, {"window": 3}, marks=pytest.mark.study),
        pytest.param(3.0, {"beta": 0.02}, marks=pytest.mark.study),
    ],
)
def test_the_kernel_has_the_law_of_the_object(epsilon, wrong):
    on, horizon, runs = instance([0.6, 0.5, 0.2]), 6000, 400
    objects = by_object(on, horizon, runs, epsilon=epsilon, beta=0.05)
    assert p_value(objects, by_kernel(on, horizon, runs, epsilon=epsilon, beta=0.05)) > 1e-4
    wrong = {"means": (0.6, 0.5, 0.2), "epsilon": epsilon, "beta": 0.05, **wrong}
    other = by_kernel(instance(wrong.pop("means")), horizon, 4 * runs, **wrong)
    assert p_value(objects, other) < 1e-4


def test_the_kernel_decides_as_the_object_does():
    policy = discreet.DPSharpElimination(range(4), epsilon=0.5, beta=0.1)
    parameters, rng, gone = sharp_elimination.parameters_of(policy), np.random.default_rng(3), 0
    for _ in range(300):
        epoch = int(rng.integers(1, 16))
        n = policy.schedule.tested(epoch)
        totals = n * np.clip(rng.normal(rng.random(), 3 / math.sqrt(n), 4), -0.01, 1.01)
        viable = np.full(4, True)
        assert sharp_elimination.drop(parameters, epoch, totals, viable) == totals.argmax()
        assert viable.tolist() == [not policy.is_behind(epoch, totals.max() - total, total) for total in totals]
        gone += 4 - viable.sum()
    assert 100 < gone < 900


def test_the_kernel_counts_at_every_checkpoint_and_plays_in_turn():
    on, horizon, some = instance([0.9, 0.5, 0.2]), 997, np.array([1, 5, 100, 500, 997])
    policy, every = discreet.DPSharpElimination(range(3), epsilon=1.0, horizon=horizon), np.arange(1, horizon + 1)
    program = sharp_elimination.program(policy, on.means)
    counts, dropped = program(horizon, fresh_state(5), every)
    assert (counts.sum(axis=1) == every).all()
    assert (np.diff(counts, axis=0) >= 0).all()
    assert (program(horizon, fresh_state(5), some)[0] == counts[some - 1]).all()
    for arm in (1, 2):
        assert (counts[dropped[arm] - 1 :, arm] == counts[-1, arm]).all()
    assert counts[3].tolist() == [2, 1, 1]
    short = sharp_elimination.program(discreet.DPSharpElimination(range(3), epsilon=0.01, horizon=20), on.means)
    assert short(20, fresh_state(5), np.array([20]))[0].tolist() == [[7, 7, 6]]


def test_the_kernel_ends_a_search_where_the_object_does():
    on, options = instance([0.5, 0.5, 0.5]), {"epsilon": 1.0, "beta": 1e-6, "max_pulls": 700}
    policy = discreet.DPSharpBestArm(range(3), **options)
    pulls, found = sharp_search(policy, on.means, fresh_state(1))
    assert found == sharp_elimination.NEVER
    assert list(pulls) == list(play(policy, on, np.random.default_rng(1)).pulls)
    simulated = simulate("dp-bai-sharp", on, horizon=1000, runs=5, **options)
    assert simulated.method == "kernel"
    assert (simulated.pulls.sum(axis=1) == 1000).all()
    assert (np.sort(simulated.pulls, axis=1) == sorted([pulls[0], pulls[0], 1000 - 2 * pulls[0]])).all()
