"""What the tests of the stopping rules' kernels share: paths that object and kernel run on, and comparisons in law."""

import numpy as np
from scipy import stats

from discreet.lab.kernels.coins import coin_on
from discreet.lab.runs import one_run
from tests._tools.kernel_tools import LEVEL

PATHS = [
    # the smaller value, the larger one and its chance; the rule's range
    (0.0, 1.0, 0.3, {"low": 0, "high": 1}),
    (0.0, 1.0, 1.0, {"low": 0, "high": 1}),
    (0.0, 1.0, 0.0, {"low": 0, "high": 1}),
    (-1.0, 1.0, 0.35, {"radius": 1}),
    (-1.0, 1.0, 0.5, {"radius": 1}),  # never halts: compared up to the path's end
    (-1.0, 1.0, 0.52, {"radius": 1}),
    (0.1, 0.7, 0.4, {"low": 0, "high": 1}),
    (3.25, 4.0, 0.6, {"low": 3, "high": 5}),
    (-0.3, 0.9, 0.5, {"radius": 2}),
]
LENGTH = 30_000


def path_of(seed, chance):
    return (np.random.default_rng([seed, 11]).random(LENGTH) < chance).astype(np.uint8)


def replays(kind, replay, prepare, low, high, chance, options, seeds=6):
    """Outcomes of object and kernel on the same paths."""
    for seed in range(seeds):
        path = path_of(seed, chance)
        for alpha in (0.05, 0.3, 0.8):
            rule = kind(alpha=alpha, beta=0.1, max_samples=LENGTH, **options)
            coin = coin_on(rule.grid, low, high, chance, LENGTH)
            result = rule.run(np.where(path == 1, high, low))
            yield rule, result, replay(coin, prepare(rule, coin), path)


def p_values(one, other):
    """Of the two-sample test for samples and for estimates (with an extreme number where there is none)."""
    pairs = (one.samples, other.samples), (np.nan_to_num(one.estimates, nan=99), np.nan_to_num(other.estimates, nan=99))
    return [stats.ks_2samp(*pair, method="asymp").pvalue for pair in pairs]


def by_object(setting):
    """All runs of a setting, played as the object."""
    rules = [one_run(setting, index) for index in range(setting.runs)]
    estimates = np.array([np.nan if rule.estimate is None else rule.estimate for rule in rules])
    found = {
        "reached": np.array([rule.halted for rule in rules]),
        "samples": np.array([rule.samples for rule in rules]),
    }
    return type("Played", (), {**found, "estimates": estimates})


def check_law(case, slow, fast):
    """The kernel's runs have the distribution of the object's."""
    assert fast.method == "kernel"
    assert min(p_values(slow, fast)) > LEVEL
    table = [[one.reached.sum(), (~one.reached).sum()] for one in (slow, fast)]
    assert stats.fisher_exact(table).pvalue > LEVEL
    if "capped" not in case and "0" not in case:
        assert fast.reached.all()


__all__ = ["LENGTH", "PATHS", "by_object", "check_law", "p_values", "path_of", "replays"]
