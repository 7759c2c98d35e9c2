"""How often statements are false at any look: quickly, with mistakes that must be rejected, and in very many runs.

The promises are those of docs/proofs/evidence.md.
"""

import math

import numpy as np
import pytest

from discreet.inference._one_arm import OneArm
from tests._tools import coverage
from tests._tools.coverage import Path, allowed, bernoulli, geometric

RUNS = 3000
MANY = 100_000
# rate, epsilon, ratio of the ends of blocks, rewards
CELLS = [
    (0.005, 0.1, 4.0, 100_000), (0.005, 1.0, 2.0, 100_000), (0.005, 3.0, 1.5, 30_000),
    (0.03, 0.1, 1.5, 100_000), (0.03, 1.0, 4.0, 100_000), (0.03, 3.0, 2.0, 100_000),
    (0.1, 0.1, 2.0, 100_000), (0.1, 1.0, 1.5, 30_000), (0.1, 3.0, 4.0, 100_000),
    (0.5, 0.1, 4.0, 100_000), (0.5, 1.0, 2.0, 100_000), (0.5, 3.0, 1.5, 30_000),
]  # fmt: skip


def first_block(epsilon):
    return max(50, int(20 / epsilon))


# ---------------------------------------------------------------------- the intervals of one arm


def test_the_interval_of_an_arm_keeps_its_level():
    usual, long = geometric(5000, 2.0, 200), geometric(1e7, 1.3, 100)

    def missed(epsilon=0.1, counts=usual, **options):
        return coverage.arm_misses(np.random.default_rng(11), RUNS, 0.1, counts, epsilon, bernoulli(0.1), **options)

    most = allowed(RUNS, 0.05)
    assert missed() <= most
    assert missed(threshold=math.log(2 / 0.9)) > most  # almost no level at all
    assert missed(believed=1.0) > most  # the noise is taken for a tenth of what it is
    weights = coverage.weights_of(OneArm(coverage.blocks([100], [0], 3.0)))
    assert missed(3.0, long) <= most
    assert missed(3.0, long, join=lambda logs: (logs - weights).max(axis=-1)) > most  # stakes chosen by what was seen


def test_exact_intervals_keep_their_level():
    counts = geometric(20_000, 2.0, 50)

    def missed(**options):
        return coverage.exact_misses(np.random.default_rng(13), RUNS, 0.1, counts, 1.0, **options)

    most = allowed(RUNS, 0.05)
    assert missed() <= most
    assert missed(shares=lambda ends, aim: np.ones(len(ends))) > most  # every look has all of alpha
    assert missed(alpha=0.4) > most


@pytest.mark.parametrize("relative", [True, False])
def test_comparisons_keep_their_level(relative):
    counts = geometric(5000, 2.0, 200)

    def missed(**options):
        rng = np.random.default_rng(14)
        return coverage.pair_misses(rng, RUNS, 0.1, 0.12, counts, 0.1, relative=relative, **options)

    most = allowed(RUNS, 0.05)
    assert missed() <= most
    assert missed(drifting=True) <= most
    assert missed(threshold=math.log(2 / 0.9)) > most
    assert missed(believed=1.0) > most


@pytest.mark.parametrize("shape", ["ramp", "jump", "wave"])
def test_the_forms_for_drift_keep_their_level(shape):
    counts = np.full(30, 400.0)
    path = Path.of(shape, 0.2, len(counts))

    def missed(**options):
        return coverage.drift_misses(np.random.default_rng(15), RUNS, path, counts, 0.1, **options)

    most = allowed(RUNS, 0.05)
    assert missed() <= most
    assert missed(believed=1.0) > most


# ---------------------------------------------------------------------- studies


@pytest.mark.study
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_intervals_in_many_runs(cell, page):
    mean, epsilon, ratio, size = cell
    counts = geometric(size, ratio, first_block(epsilon))
    rng = np.random.default_rng([2718, CELLS.index(cell)])
    any_schedule = coverage.arm_misses(rng, MANY, mean, counts, epsilon, bernoulli(mean))
    exact = coverage.exact_misses(rng, MANY, mean, counts, epsilon)
    row = f"intervals, rate {mean:g}, epsilon {epsilon:g}, ratio {ratio:g}"
    page("Statements at all looks", statement=f"{row}: any schedule", runs=MANY, false=any_schedule, allowed=MANY // 20)
    page("Statements at all looks", statement=f"{row}: exact", runs=MANY, false=exact, allowed=MANY // 20)
    slack = 4 * math.sqrt(0.05 * 0.95 / MANY)
    assert any_schedule / MANY <= 0.05 + slack
    assert exact / MANY <= 0.05 + slack
    if epsilon >= 1 and mean >= 0.1 and ratio < 4:  # they are not far too wide
        assert any_schedule / MANY >= 0.005
        assert exact / MANY >= 0.012


@pytest.mark.study
@pytest.mark.parametrize("name", ["three-valued", "mostly in between", "beta(2, 5)", "beta(0.3, 3)"])
def test_intervals_for_other_rewards_in_many_runs(name, page):
    draw, mean = {
        "three-valued": lambda: coverage.three_valued(0.8, 0.1),
        "mostly in between": lambda: coverage.three_valued(0.1, 0.8),
        "beta(2, 5)": lambda: coverage.beta(2, 5),
        "beta(0.3, 3)": lambda: coverage.beta(0.3, 3),
    }[name]()
    counts = geometric(50_000, 2.0, 50) if "beta" not in name else geometric(400, 1.5, 50)
    false = coverage.arm_misses(np.random.default_rng(3141), MANY, mean, counts, 1.0, draw)
    page("Statements at all looks", statement=f"intervals, {name}", runs=MANY, false=false, allowed=MANY // 20)
    assert false / MANY <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / MANY)


@pytest.mark.study
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize(
    ("first", "second", "epsilon"), [(0.03, 0.033, 1.0), (0.3, 0.36, 1.0), (0.1, 0.08, 0.1), (0.005, 0.005, 3.0)]
)
def test_comparisons_in_many_runs(first, second, epsilon, relative, page):
    rng, counts = (
        np.random.default_rng([1618, int(1e4 * first), relative]),
        geometric(100_000, 2.0, first_block(epsilon)),
    )
    false = coverage.pair_misses(rng, MANY, first, second, counts, epsilon, relative=relative)
    name = f"{'lift' if relative else 'difference'} of {second:g} against {first:g}, epsilon {epsilon:g}"
    page("Statements at all looks", statement=name, runs=MANY, false=false, allowed=MANY // 20)
    assert false / MANY <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / MANY)


@pytest.mark.study
@pytest.mark.parametrize("shape", ["ramp", "jump", "wave"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_forms_for_drift_in_many_runs(shape, epsilon, page):
    counts, runs = np.full(40, 1000.0), MANY // 4
    path, rng = Path.of(shape, 0.1, len(counts)), np.random.default_rng([1414, int(10 * epsilon)])
    alone = coverage.drift_misses(rng, runs, path, counts, epsilon)
    both = coverage.pair_misses(rng, runs, path.means, path.means, counts, epsilon, relative=True, drifting=True)
    name = f"means in a {shape}, epsilon {epsilon:g}"
    page("Statements at all looks", statement=f"{name}: interval", runs=runs, false=alone, allowed=runs // 20)
    page("Statements at all looks", statement=f"{name}: lift of equals", runs=runs, false=both, allowed=runs // 20)
    for false in (alone, both):
        assert false / runs <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
