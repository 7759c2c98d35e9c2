"""The kernel of the batched index policies has the law of the objects."""

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import SimulatedNoise
from discreet.lab import instance, play, simulate
from discreet.lab.kernels import batched
from discreet.lab.kernels.randomness import fresh_state
from tests._tools.kernel_tools import smallest_p

NAMES = ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "dp-chernoff-imed")
ON = instance([0.6, 0.5, 0.2])


def pulls_by_object(name, on, horizon, runs, **options):
    found = []
    for run in range(runs):
        policy = discreet.make_policy(name, range(len(on)), horizon=horizon, **options)
        found.append(play(policy, on, np.random.default_rng([run, 2]), noise=SimulatedNoise([run, 1])).pulls)
    return np.array(found)


def pulls_by_kernel(name, on, horizon, runs, **options):
    program = batched.program(discreet.make_policy(name, range(len(on)), horizon=horizon, **options), on.means)
    return np.array([program(horizon, fresh_state([run, 3]), np.array([horizon]))[-1] for run in range(runs)])


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [*((name, 0.3) for name in NAMES), ("dp-imed", 3.0)]
    + [pytest.param(name, 3.0, marks=pytest.mark.study) for name in NAMES if name != "dp-imed"],
)
def test_the_kernel_has_the_law_of_the_objects(name, epsilon):
    horizon = 3000
    objects = pulls_by_object(name, ON, horizon, 250, epsilon=epsilon)
    assert smallest_p(objects, pulls_by_kernel(name, ON, horizon, 1500, epsilon=epsilon)) > 1e-4
    # An error in the noise is seen where there is much of it, and one in the rewards where there is little.
    wrong = {"on": ON, "epsilon": 0.15} if epsilon == 0.3 else {"on": instance([0.6, 0.57, 0.2]), "epsilon": epsilon}
    assert smallest_p(objects, pulls_by_kernel(name, horizon=horizon, runs=1500, **wrong)) < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_counts_at_every_checkpoint(name):
    horizon, some = 997, np.array([1, 5, 100, 500, 997])
    program = batched.program(discreet.make_policy(name, range(3), epsilon=1.0, horizon=horizon), ON.means)
    every = program(horizon, fresh_state(5), np.arange(1, horizon + 1))
    assert (every.sum(axis=1) == np.arange(1, horizon + 1)).all()
    assert (np.diff(every, axis=0) >= 0).all()
    assert (program(horizon, fresh_state(5), some) == every[some - 1]).all()


def test_a_horizon_within_the_first_batches_is_played_in_turn():
    policy = discreet.make_policy("dp-imed", range(3), epsilon=1.0, horizon=20, first_batch=10)
    counts = batched.program(policy, ON.means)(20, fresh_state(5), np.array([4, 20]))
    assert counts.tolist() == [[2, 1, 1], [7, 7, 6]]
    assert list(play(policy, ON, np.random.default_rng(1)).pulls) == [7, 7, 6]


@pytest.mark.parametrize("caution", [0.0, 2.0])
def test_the_kernel_knows_the_caution(caution):
    given = {"instance": "C4", "arms": 12, "horizon": 10**5, "epsilon": 0.5, "caution": caution}
    on = instance("C4", 12)
    by_kernel = simulate("dp-chernoff-imed", runs=300, seed=3, **given)
    by_object = pulls_by_object("dp-chernoff-imed", on, 10**5, 150, epsilon=0.5, caution=caution) @ on.gaps
    assert by_kernel.method == "kernel"
    assert stats.ks_2samp(by_kernel.final, by_object).pvalue > 1e-4
    other = simulate("dp-chernoff-imed", runs=300, seed=3, **{**given, "caution": 2.0 - caution})
    assert stats.ks_2samp(other.final, by_object).pvalue < 1e-6
