"""The kernels of Lazy-UCB, pairs and hybrid counters: pull by pull against the object where that can be, or in law."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

import discreet
from discreet import SimulatedNoise
from discreet.lab import instance, simulate
from discreet.lab.kernels import blocks, hybrid_ucb, lazy_ucb, paired, randomness, stopping, tree_minimum
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.simulate import Track
from tests._tools.kernel_tools import LEVEL, Handed, marks, plant, smallest_p

WIDTH = 2**20
INSTANCES = {
    **{f"{name}, K = {arms}": instance(name, arms).means for name in ("C1", "C2", "C4") for arms in (2, 5, 20)},
    "equal arms": np.array([0.5, 0.5]),
    "sure arms": np.array([1.0, 1.0, 0.999]),
    "hopeless arms": np.array([0.0, 0.0]),
    "rare rewards": np.array([0.001, 0.002]),
}

# ---------------------------------------------------------------------- Lazy-UCB

LAZY_JOBS = [(epsilon, seed) for epsilon in (0.05, 0.5, 5.0, 50.0) for seed in range(3)]


def same_as_the_object(kernel, means, horizon, epsilon, seed):
    """Whether a kernel pulls as the policy object does, at the end of each of its epochs.

    The object is handed the kernel's draws: a block's rewards and noise as its noise, beside rewards of 0.
    """
    policy = discreet.AnytimeLazyUCB(range(len(means)), epsilon=epsilon, horizon=horizon, noise=SimulatedNoise(0))
    policy._laplace._reserve = handed = Handed(policy._laplace.scale)
    state, ends, pulls = fresh_state(seed), [], []
    while plan := policy.plan():
        for arm, count in plan.pulls.items():
            if count == policy._missing(arm):
                ones = randomness.binomial(state, max(1, 2 * policy._counts[arm]), means[arm])
                handed.values.append(round((ones + randomness.laplace(state, 1 / epsilon)) * WIDTH))
        policy.close(dict.fromkeys(plan.pulls, 0) if plan.learns else None)
        ends.append(policy.time)
        pulls.append(list(policy.pulls.values()))
    return kernel(means, horizon, fresh_state(seed), np.array(ends), epsilon).tolist() == pulls


@pytest.mark.parametrize("name", INSTANCES)
def test_lazy_ucb_by_kernel_is_the_object_pull_by_pull(name):
    for epsilon, seed in LAZY_JOBS:
        assert same_as_the_object(lazy_ucb.skip_ahead, INSTANCES[name], 1_000_003, epsilon, seed)


@pytest.mark.parametrize("name", INSTANCES)
def test_lazy_ucb_passing_steps_whole_is_lazy_ucb_step_by_step(name):
    horizon = 200_000
    points = marks(horizon)
    for epsilon, seed in LAZY_JOBS:
        slow = lazy_ucb.reference(INSTANCES[name], horizon, fresh_state(seed), points, epsilon)
        fast = lazy_ucb.skip_ahead(INSTANCES[name], horizon, fresh_state(seed), points, epsilon)
        assert (slow == fast).all()
        assert (slow.sum(axis=1) == points).all()


def to_the_end_of_the_block(means, sizes, epsilon, arm, step, last):
    """Commits itself, as AdaP-UCB does."""
    return last


lead_until = lazy_ucb.lead_until


def a_step_too_long(means, sizes, epsilon, arm, step, last):
    """Keeps the lead one step too long."""
    return min(lead_until(means, sizes, epsilon, arm, step, last) + 1, last)


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        (lazy_ucb, {"lead_until": to_the_end_of_the_block}),
        (lazy_ucb, {"lead_until": a_step_too_long}),
        (blocks, {"laplace": lambda state, scale: randomness.laplace(state, 1.01 * scale)}),
        (blocks, {"binomial": lambda state, count, mean: randomness.binomial(state, count, 0.99 * mean)}),
    ],
)
def test_planted_errors_in_lazy_ucb_are_noticed(monkeypatch, module, wrong):
    plant(monkeypatch, module, **wrong)
    monkeypatch.setattr(lazy_ucb, "fill", blocks.fill)
    plant(monkeypatch, lazy_ucb, **wrong)
    means = INSTANCES["C2, K = 5"]
    assert not all(same_as_the_object(lazy_ucb.skip_ahead, means, 100_003, *job) for job in LAZY_JOBS)


# ---------------------------------------------------------------------- pairs


def paired_as_the_object(means, horizon, seed, **options):
    """Whether the kernel pulls as the policy object does, in each pull of a short run or at the end of each epoch."""
    policy = discreet.DPPairedIMED(range(len(means)), horizon=horizon, noise=SimulatedNoise(0), **options)
    policy._laplace._reserve = handed = Handed(policy._laplace.scale)
    rule, state, track = paired.rule_of(policy), fresh_state(seed), Track(policy.arms, range(1, min(horizon, 2000) + 1))
    ends, pulls = [], []
    while plan := policy.plan():
        totals = {}
        for arm, count in plan.pulls.items():
            if plan.learns:
                totals[arm] = randomness.binomial(state, count, means[arm]) * WIDTH
                handed.values.append(stopping.discrete_laplace(state, policy._laplace.scale))
        policy.close(totals if plan.learns else None)
        track.pull(plan.pulls, plan.size)
        ends.append(policy.time)
        pulls.append(list(policy.pulls.values()))
    early = paired.play(rule, means, horizon, fresh_state(seed), np.arange(1, min(horizon, 2000) + 1))
    late = paired.play(rule, means, horizon, fresh_state(seed), np.array(ends))
    return (early == track.counts).all() and late.tolist() == pulls


PAIRED_JOBS = [
    (20_011, 1, {"epsilon": 0.1}),
    (1_000_003, 2, {"epsilon": 0.1}),
    (1_000_003, 3, {"epsilon": 1.0}),
    (1_000_003, 4, {"epsilon": 20.0}),
    (100_003, 5, {"epsilon": 1.0, "first_batch": 1, "ratio": 1.2}),
    (100_003, 6, {"epsilon": 0.3, "first_batch": 7, "ratio": 3.0}),
    (1000, 7, {"epsilon": 1.0, "first_batch": 400}),
]


@pytest.mark.parametrize("name", INSTANCES)
def test_pairs_by_kernel_are_those_of_the_object_pull_by_pull(name):
    for horizon, seed, options in PAIRED_JOBS:
        assert paired_as_the_object(INSTANCES[name], horizon, seed, **options)


challenger_of = paired.challenger_of


def never_satisfied(rule, lead, pairs, shared, leader, pulls):
    """Tries challengers a little too long."""
    return challenger_of(rule, lead, pairs, shared, leader, 2 * pulls)


def as_if_without_noise(rule, lead, pairs, shared, one, other):
    """Evidence that forgets one of the noises."""
    return paired.paired_exponent(lead[one, other], float(pairs[one, other]), 2 * shared[one, other] - 1, rule.epsilon)


@pytest.mark.parametrize(
    "wrong",
    [
        {"challenger_of": never_satisfied},
        {"evidence": as_if_without_noise},
        {"binomial": lambda state, count, mean: randomness.binomial(state, count, 0.99 * mean)},
        {"discrete_laplace": lambda state, scale: stopping.discrete_laplace(state, 1.01 * scale)},
    ],
)
def test_planted_errors_in_pairs_are_noticed(monkeypatch, wrong):
    plant(monkeypatch, paired, **wrong)
    assert not all(paired_as_the_object(INSTANCES["C2, K = 5"], *job[:2], **job[2]) for job in PAIRED_JOBS)


# ---------------------------------------------------------------------- DP-UCB on hybrid counters


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 500.0])
@pytest.mark.parametrize("name", ["C1, K = 2", "C2, K = 5", "C4, K = 20", "equal arms", "sure arms"])
def test_the_hybrid_reference_kernel_is_the_policy_object(name, epsilon):
    means, horizon = INSTANCES[name], 3000
    points = np.arange(1, horizon + 1)
    counts = hybrid_ucb.reference(means, horizon, fresh_state(8), points, epsilon)
    policy = discreet.DPHybridUCB(range(len(means)), epsilon=epsilon, horizon=horizon, noise=SimulatedNoise(0))
    for counter in policy._counters:
        counter._reserve = Handed(counter._reserve.scale)
    state = fresh_state(8)
    for expected in counts:
        (arm,) = policy.plan().pulls
        counter = policy._counters[arm]
        reward = int(randomness.bernoulli(state, randomness.threshold(means[arm])))
        power = not counter.count & (counter.count + 1)
        reserve = counter._reserve if power else counter._tree._reserve
        if not isinstance(reserve, Handed):
            reserve = counter._tree._reserve = Handed(reserve.scale)
        reserve.values = [round(randomness.laplace(state, reserve.scale / WIDTH) * WIDTH)]
        policy.close({arm: reward * WIDTH})
        assert list(policy.pulls.values()) == expected.tolist()


def hybrid_pulls(kernel, means, horizon, runs, tag, *constants):
    """Pulls at six moments of each run."""
    points = np.unique((horizon * np.array([0.05, 0.13, 0.3, 0.55, 0.8, 1.0])).astype(np.int64))
    found = [kernel(np.array(means), horizon, fresh_state([run, tag]), points, *constants) for run in range(runs)]
    return np.array(found).reshape(runs, -1)


HYBRID_LAWS = [([0.8, 0.5, 0.3], 1.0), ([0.8, 0.5, 0.3], 20.0), ([0.6, 0.6, 0.2], 100.0), ([1.0, 1.0], 20.0)]


@pytest.mark.parametrize(("means", "epsilon"), HYBRID_LAWS)
def test_hybrid_skip_ahead_has_the_law_of_the_reference(means, epsilon):
    slow = hybrid_pulls(hybrid_ucb.reference, means, 5000, 1000, 1, epsilon)
    assert smallest_p(slow, hybrid_pulls(hybrid_ucb.skip_ahead, means, 5000, 1000, 2, epsilon)) > LEVEL


@njit
def until_overtaken(state, tables, pulls, total, chance, rival, step, epsilon, end):
    """The pulls at which an arm's index falls to a level, or `end`: visit by visit, or without tables step by step."""
    path, noises = np.zeros(64), np.zeros(2)
    while pulls < end and hybrid_ucb.index(total + noises.sum(), pulls, step, epsilon) > rival:
        if tables is None:
            total += randomness.bernoulli(state, randomness.threshold(chance))
            hybrid_ucb.close_block(state, path, noises, pulls, 1, epsilon)
            pulls += 1
        else:
            total, done = hybrid_ucb.visit(
                state, *tables, path, noises, chance, total, pulls, rival, step, epsilon, end - pulls
            )
            pulls += done
    return pulls


def falls(tables, pulls, epsilon, margin, tag, program=until_overtaken):
    """The same in many runs: a level so many noise scales below the index, and rewards that just keep the distance."""
    tree, step, total = pulls.bit_length() - 1, 10 * pulls, 0.3 * pulls
    rival = hybrid_ucb.index(total, pulls, step, epsilon) - margin * 2 * tree / epsilon / pulls
    chance = rival - math.sqrt(2 * math.log(step) / pulls) / 2
    job = pulls, total, chance, rival, step, epsilon, 2 * 2**tree + 300
    return [program(fresh_state([run, tag]), tables, *job) for run in range(2000)]


TABLES = tree_minimum.log_table(), tree_minimum.coarse_table(), tree_minimum.depths_of(0.3)
NO_BREACH = np.full_like(TABLES[0], -1e300), np.zeros_like(TABLES[1]), np.zeros_like(TABLES[2])


@pytest.mark.parametrize("margin", [1, 2, 4])
@pytest.mark.parametrize(("pulls", "epsilon"), [(2**14 + 2**13, 2.0), (2**12 + 2**11 + 2**10, 5.0)])
def test_an_arm_is_overtaken_by_its_noise_when_it_is_step_by_step(pulls, epsilon, margin):
    slow = falls(None, pulls, epsilon, margin, 1)
    assert stats.ks_2samp(slow, falls(TABLES, pulls, epsilon, margin, 2), method="asymp").pvalue > LEVEL
    assert stats.ks_2samp(slow, falls(NO_BREACH, pulls, epsilon, margin, 2), method="asymp").pvalue < LEVEL


close_block, choose_level = hybrid_ucb.close_block, hybrid_ucb.choose_level


def a_tree_that_stays(state, path, noises, pulls, size, epsilon):
    """At a power of two the old tree's noise is kept."""
    tree = noises[1]
    close_block(state, path, noises, pulls, size, epsilon)
    noises[1] = noises[1] if noises[1] else tree


def overconfident(limits, pulls, base, rival, spread, scale, ceiling, most):
    """Looks into a block only if its noise sinks far lower than it may."""
    level, depth = choose_level(limits, pulls, base, rival, spread, scale, ceiling, most)
    return level, depth + 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"close_block": a_tree_that_stays},
        {"choose_level": overconfident},
        {"laplace": lambda state, scale: randomness.laplace(state, 1.3 * scale)},
    ],
)
def test_planted_errors_in_hybrid_skip_ahead_are_noticed(monkeypatch, wrong):
    runs, fall = ([1.0, 1.0], 3000, 1000), (2**14 + 2**13, 2.0, 2)
    slow = hybrid_pulls(hybrid_ucb.reference, *runs, 1, 20.0), falls(None, *fall, 1)
    plant(monkeypatch, hybrid_ucb, **wrong)
    fast = (
        hybrid_pulls(lambda *job: hybrid_ucb._skip_ahead(*job, *TABLES), *runs, 2, 20.0),
        falls(TABLES, *fall, 2, njit(until_overtaken.py_func)),
    )
    found = smallest_p(slow[0], fast[0]), stats.ks_2samp(slow[1], fast[1], method="asymp").pvalue
    assert min(found) < LEVEL, found


def test_hybrid_counts_at_checkpoints_add_up():
    points = marks(10**7)
    counts = hybrid_ucb.skip_ahead(INSTANCES["C2, K = 5"], 10**7, fresh_state(5), points, 1.0)
    assert (counts.sum(axis=1) == points).all()
    assert (np.diff(counts, axis=0) >= 0).all()


# ---------------------------------------------------------------------- the simulator


@pytest.mark.parametrize("name", ["lazy-ucb", "dp-paired-imed", "dp-ucb-hybrid"])
def test_the_simulator_takes_the_kernel_where_it_may(name):
    assert simulate(name, "C2", horizon=2000, runs=2, epsilon=1.0).method == "kernel"
    assert simulate(name, [0.2, "uniform(0, 1)"], horizon=2000, runs=2, epsilon=1.0).method == "object"
