"""The kernel of searches by evidence pulls as the objects do, pull by pull."""

import numpy as np
import pytest

import discreet
from discreet.core.noise import scale_for
from discreet.lab import instance, play, simulate
from discreet.lab.kernels import evidence_search, randomness
from discreet.lab.kernels.randomness import discrete_laplace, fresh_state
from discreet.lab.runs import Track
from tests._tools.kernel_tools import PRIVATE, Driven, Handed, mutant, planted

EARLY = 3000


def same_as_the_object(policy, means, seed, kernel=evidence_search):
    """Whether the kernel pulls and drops as the object does, early pull by pull, and at the end of each epoch."""
    noise, most = Handed(), policy.horizon or 10**7
    width, early = policy.grid.width, np.arange(1, EARLY + 1)
    driven, state, track = Driven(policy, noise), fresh_state(seed), Track(policy.arms, early.tolist())
    program = kernel.program(policy, np.asarray(means))
    ends, pulls = [], []
    while (plan := policy.plan()) is not None and policy.time + plan.size <= most:
        totals = {}
        for arm, count in plan.pulls.items():
            totals[arm] = randomness.binomial(state, count, means[arm]) * width
            noise.values.append(discrete_laplace(state, scale_for(width, policy.epsilon)))
        driven.close_steps(totals)
        track.pull(plan.pulls, plan.size)
        track.note_dropped(policy.viable)
        ends.append(policy.time)
        pulls.append(list(policy.pulls))
    if not ends:
        return True
    counts, dropped = program(ends[-1], fresh_state(seed), np.array(ends))
    firsts, _ = program(max(EARLY, ends[-1]), fresh_state(seed), early)
    known = early <= ends[-1]
    same = counts.tolist() == pulls and list(dropped) == track.dropped
    return same and (firsts[known] == track.counts[known]).all()


JOBS = [
    (1, {"epsilon": 0.1}), (2, {"epsilon": 1.0}), (3, {"epsilon": 20.0}), (4, {"epsilon": 0.3, "ratio": 2.0}),
    (5, {"epsilon": 1.0, "first_batch": 3}),
]  # fmt: skip


def search(means, options):
    return discreet.DPEvidenceBestArm(range(len(means)), beta=0.1, max_pulls=20_000, **options)


@pytest.mark.parametrize("name", [name for name in PRIVATE if name not in ("C1, K = 20", "C4, K = 20")])
def test_the_kernel_is_the_object_pull_by_pull(name):
    for seed, options in JOBS if len(PRIVATE[name]) < 5 else JOBS[1:2]:
        assert same_as_the_object(search(PRIVATE[name], options), PRIVATE[name], seed)


def test_a_simulation_uses_it_and_goes_on_with_the_arm_that_was_found():
    on, options = instance([0.5, 0.5, 0.5]), {"epsilon": 1.0, "beta": 1e-6, "max_pulls": 700}
    simulated = simulate("dp-bai-evidence", on, horizon=1000, runs=5, **options)
    assert simulated.method == "kernel"
    assert (simulated.pulls.sum(axis=1) == 1000).all()
    assert (simulated.dropped == -1).all()
    easy = simulate("dp-bai-evidence", [0.9, 0.1], horizon=1000, runs=5, epsilon=1.0, beta=0.1)
    assert (easy.pulls[:, 0] > 900).all()
    assert (easy.dropped[:, 1] > 0).all()
    by_object = play(discreet.DPEvidenceBestArm(range(2), epsilon=1.0, beta=0.1), [0.9, 0.1], np.random.default_rng(1))
    assert by_object.best_arm == 0


def test_a_horizon_cuts_a_batch_short():
    policy = discreet.DPEvidenceBestArm(range(2), epsilon=0.1, beta=0.1)
    program = evidence_search.program(policy, np.array([0.5, 0.4]))
    for horizon in (5, 719, 720, 1000, 5000):
        counts, _ = program(horizon, fresh_state(5), np.array([horizon]))
        assert counts.sum() == horizon


WRONG = {
    "decide": [("math.log(counts[arm]) / 2", "math.log(counts[arm])"), ("> totals[leader]", "< totals[leader]")],
    "next_batch": [("(parameters.ratio - 1)", "parameters.ratio"), ("0.99)", "0.9)")],
}  # fmt: skip


@pytest.mark.study
@pytest.mark.parametrize(("name", "right", "wrong"), [(name, *pair) for name, all_ in WRONG.items() for pair in all_])
def test_planted_errors_are_noticed(name, right, wrong):
    false = mutant(getattr(evidence_search, name), right, wrong)
    kernel = planted(evidence_search, **{name: false.py_func})
    found = [
        same_as_the_object(search(means, options), means, seed, kernel)
        for means in (PRIVATE["C2, K = 5"], np.array([0.97, 0.96, 0.95]), np.array([0.5, 0.5, 0.5]))
        for seed, options in JOBS
    ]
    assert not all(found)
