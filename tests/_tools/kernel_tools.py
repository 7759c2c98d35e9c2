"""What the tests of kernels share."""

import inspect
import math
import sys

import numpy as np
from numba import njit
from scipy import stats

from discreet.lab.kernels import nas

LEVEL = 1e-6
"""P-values below this one do not happen by chance."""


def marks(horizon):
    """Checkpoints: every early step, and some of the later ones."""
    return np.unique(np.concatenate([np.arange(1, 60), np.geomspace(60, horizon, 40).astype(np.int64)]))


def plant(monkeypatch, module, **wrong):
    """Make some of a module's functions wrong, and compile again what calls them."""
    compiled = {name: one.py_func for name, one in vars(module).items() if hasattr(one, "py_func")}
    touched, more = set(), set(wrong)
    while more:
        touched |= more
        more = {name for name, one in compiled.items() if touched & set(one.__code__.co_names)} - touched
    for name in touched & set(compiled):
        monkeypatch.setattr(module, name, njit(wrong.get(name, compiled[name])))


def mutant(kernel, right, wrong):
    """The kernel with an error in it."""
    source = inspect.getsource(kernel.py_func)
    assert source.count(right) == 1
    namespace = {**vars(sys.modules[kernel.py_func.__module__]), "compiled": njit}
    exec(source.replace(right, wrong), namespace)
    return namespace[kernel.py_func.__name__]


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
