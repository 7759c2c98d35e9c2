"""What the tests of kernels share."""

import inspect
import math
import sys
from types import FunctionType, ModuleType

import numpy as np
import pytest
from numba import njit
from scipy import stats

from discreet.lab import instance
from discreet.lab.kernels import nas, randomness
from discreet.mechanisms.curator import Curator

HARD = {
    "equal arms": [0.5, 0.5],
    "three equal arms": [0.3, 0.3, 0.3],
    "sure arms": [1.0, 1.0],
    "hopeless arms": [0.0, 0.0],
    "a sure and a fair arm": [1.0, 0.5],
    "a hopeless arm": [0.0, 0.3],
    "rare rewards": [0.001, 0.002],
    "rare failures": [0.999, 0.998, 0.2],
    "a close race": [0.75, 0.7499, 0.6],
}
PRIVATE = {
    **{f"{name}, K = {arms}": instance(name, arms).means for name in ("C1", "C2", "C4") for arms in (2, 5, 20)},
    "equal arms": np.array([0.5, 0.5]),
    "sure arms": np.array([1.0, 1.0, 0.999]),
    "hopeless arms": np.array([0.0, 0.0]),
    "rare rewards": np.array([0.001, 0.002]),
}
"""Instances for kernels of private policies."""
LEVEL = 1e-6
"""P-values below this one do not happen by chance."""


def marks(horizon):
    """Checkpoints: every early step, and some of the later ones."""
    return np.unique(np.concatenate([np.arange(1, 60), np.geomspace(60, horizon, 40).astype(np.int64)]))


def some_now(cases, count):
    """The first cases for every run of the tests, and the others for `make verify`."""
    cases = list(cases)
    return [*cases[:count], *(pytest.param(case, marks=pytest.mark.study) for case in cases[count:])]


def planted(*modules, **wrong):
    """A copy of the first module in which some functions are wrong, its own or those that it takes from the others.

    What calls them is compiled again, for the copy alone. In the modules themselves an error would stay: a kernel that
    is compiled while it is there keeps it, and is kept on disk.
    """
    copies = {module.__name__: ModuleType(module.__name__) for module in modules}
    functions = {}
    for module in modules:
        copies[module.__name__].__dict__.update(vars(module))
        functions |= {(name, one.__module__): one for name, one in vars(module).items() if callable(one)}
    touched, more = set(), set(wrong)
    while more:
        touched |= more
        more = {name for (name, _), one in functions.items() if touched & names_in(one)} - touched
    made = {
        key: rebound(one, copies[key[1]])
        for key, one in functions.items()
        if key[0] in touched and key[0] not in wrong and key[1] in copies
    }
    made |= {key: njit(wrong[key[0]]) for key in functions if key[0] in wrong}
    for module in modules:
        for name, one in vars(module).items():
            if callable(one) and (name, one.__module__) in made:
                setattr(copies[module.__name__], name, made[name, one.__module__])
    return copies[modules[0].__name__]


def names_in(function):
    """What a function takes from its module, compiled or not."""
    function = getattr(function, "py_func", function)
    return set(function.__code__.co_names) if isinstance(function, FunctionType) else set()


def rebound(function, module=None, **names):
    """The function, compiled again if it was, which finds other things under some names."""
    plain = getattr(function, "py_func", function)
    found = vars(module) if module else {**plain.__globals__, **names}
    copy = FunctionType(plain.__code__, found, plain.__name__, plain.__defaults__, plain.__closure__)
    return njit(copy) if hasattr(function, "py_func") else copy


def mutant(kernel, right, wrong):
    """The kernel with an error in it."""
    source = inspect.getsource(kernel.py_func)
    assert source.count(right) == 1
    namespace = {**vars(sys.modules[kernel.py_func.__module__]), "compiled": njit}
    exec(source.replace(right, wrong), namespace)
    return namespace[kernel.py_func.__name__]


class Handed:
    """A source of noise that returns what a test has put into `values`."""

    simulated = True

    def __init__(self):
        self.values = []

    def draws(self, scale, count):
        served, self.values = self.values[:count], self.values[count:]
        assert len(served) == count
        return np.array(served, dtype=np.int64)


class Driven:
    """An algorithm with a curator, whose plans a test closes."""

    def __init__(self, algorithm, noise=None):
        self.curator = Curator(algorithm.grid, algorithm.privacy, noise, taken=algorithm.taken)
        self.algorithm = algorithm

    def close_steps(self, totals):
        plan = self.algorithm.plan()
        self.algorithm.learn(self.curator.release(plan, totals if plan.learns else None))


def check_object(policy, kernel, means, seed, *constants):
    """A reference kernel without noise pulls as the policy object does, on the same random numbers."""
    points = marks(policy.horizon)
    counts = kernel(means, policy.horizon, randomness.fresh_state(seed), points, *constants)
    state, driven = randomness.fresh_state(seed), Driven(policy)
    if policy.key == "ts":
        arms = range(len(means))
        policy.choose = lambda time: int(np.argmax([randomness.beta(state, *policy.posterior(arm)) for arm in arms]))
    for time in range(1, policy.horizon + 1):
        (arm,) = policy.plan().pulls
        reward = int(randomness.bernoulli(state, randomness.threshold(means[arm])))
        driven.close_steps({arm: reward * policy.grid.width})
        place = np.searchsorted(points, time)
        if points[place] == time:
            assert policy.pulls == counts[place].tolist()


def tables(means, horizon, seeds=2):
    """Rewards by arm and pull."""
    for seed in range(seeds):
        yield (np.random.default_rng(seed).random((len(means), horizon)) < np.array(means)[:, None]).astype(np.uint8)


def outcomes(kernel, means, runs, horizon, tag, *constants):
    """Pulls of each arm at three times of each run: a row for each run."""
    points, means = np.array([horizon // 20, horizon // 4, horizon]), np.array(means)
    states = (randomness.fresh_state([run, tag]) for run in range(runs))
    return np.array([kernel(means, horizon, state, points, *constants) for state in states]).reshape(runs, -1)


def check_counts(kernel, *constants):
    """Counts at checkpoints add up to the time, and never fall."""
    points = marks(10**7)
    counts = kernel(instance("C2", 5).means, 10**7, randomness.fresh_state(5), points, *constants)
    assert (counts.sum(axis=1) == points).all()
    assert (np.diff(counts, axis=0) >= 0).all()


def smallest_p(one, other):
    """Two samples of runs (rows), compared column by column."""
    return min(stats.ks_2samp(x, y, method="asymp").pvalue for x, y in zip(one.T, other.T, strict=True))


def laplace_pmf(n, scale):
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(n)


def noise_p_value(draws, scale):
    """Of the discrete Laplace: chi-square where numbers repeat, else Kolmogorov and Smirnov's."""
    if scale > 1000:
        return stats.kstest(draws, np.vectorize(lambda y: nas.chance_below(math.floor(y), scale))).pvalue
    edge = max(1, int(4 * scale))
    middle = laplace_pmf(np.arange(1 - edge, edge), scale)
    expected = np.concatenate([[(1 - middle.sum()) / 2], middle, [(1 - middle.sum()) / 2]]) * len(draws)
    return stats.chisquare(np.bincount(np.clip(draws, -edge, edge) + edge, minlength=2 * edge + 1), expected).pvalue
