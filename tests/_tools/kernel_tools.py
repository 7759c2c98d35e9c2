"""What the tests of kernels share."""

import numpy as np
from numba import njit
from scipy import stats

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


def smallest_p(one, other):
    """Two samples of runs (rows), compared column by column."""
    return min(stats.ks_2samp(x, y, method="asymp").pvalue for x, y in zip(one.T, other.T, strict=True))


class Handed:
    """A reserve of noise that gives what the test hands it."""

    def __init__(self, scale):
        self.scale, self.values = scale, []

    def take(self):
        return self.values.pop(0)

    def prepare(self, count):
        pass
