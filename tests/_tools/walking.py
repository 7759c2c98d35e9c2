"""Small examples of every private algorithm, whose epochs are short enough for random walks."""

from functools import partial

import discreet
from discreet import Bandit, Stream, Totals
from discreet.core.options import field_names

AB = ("A", "B")
RULE = {"alpha": 0.9, "beta": 0.5, "low": 0.0, "high": 1.0, "epsilon": 8.0}
OPTIONS = {"epsilon": 8.0, "horizon": 400, "beta": 0.9, "seed": 1}
OWN = {
    "dp-se": {"horizon": 40_000},
    "dp-se-person": {"horizon": 400_000},
    "dp-se-svt": {"epsilon": 60.0, "horizon": 6000},
    "dp-se-modified": {"epsilon": 60.0, "horizon": 600},
    "dp-ucb": {"horizon": 20},
    "dp-ucb-hybrid": {"horizon": 20},
    "guess-and-double": {"policy": "dp-se-modified", "epsilon": 60.0, "first_guess": 200},
}
BY_TOTALS = ("dp-se", "dp-se-person", "dp-se-svt", "dp-bai")  # their epochs are long


def algorithm(key, **options):
    """A small private algorithm."""
    if key in discreet.RULES:
        return discreet.make_rule(key, **{**RULE, **options})
    known = field_names(discreet.POLICIES[key], init=True)
    chosen = {name: value for name, value in OPTIONS.items() if name in known}
    return discreet.make_policy(key, AB, **{**chosen, **OWN.get(key, {}), **options})


def driver(kind, key, noise=None, **options):
    return kind(algorithm(key, **options), noise)


def is_private(key):
    return discreet.core.registry.find(key).reason is not None or key == "guess-and-double"


PRIVATE_POLICIES = [key for key in sorted(discreet.POLICIES) if is_private(key)]
PRIVATE_RULES = [key for key in sorted(discreet.RULES) if is_private(key)]

CASES = {key: partial(driver, Totals if key in BY_TOTALS else Bandit, key) for key in PRIVATE_POLICIES}
CASES |= {key: partial(driver, Stream, key) for key in PRIVATE_RULES}
CASES |= {
    "dp-se by tickets": partial(driver, Bandit, "dp-se", horizon=2000),
    "dp-ucb by totals": partial(driver, Totals, "dp-ucb"),
    "dp-nas by totals": partial(driver, Totals, "dp-nas"),
    "dp-bernstein by totals": partial(driver, Totals, "dp-bernstein"),
    "guess-and-double of dp-ucb": partial(driver, Bandit, "guess-and-double", policy="dp-ucb", epsilon=8.0),
    "guess-and-double of lazy-dp-ts": partial(
        driver, Bandit, "guess-and-double", policy="lazy-dp-ts", epsilon=8.0, seed=1
    ),
}
