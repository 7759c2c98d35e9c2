"""A small, quick example of every registered policy and rule, for the contract suites."""

import numpy as np

import discreet
from discreet.core.options import field_names

OPTIONS = {"epsilon": 1.0, "horizon": 200_000, "beta": 0.1, "max_pulls": 200_000, "seed": 1}
# A decision a pull: short horizons keep their tests quick.
STEPWISE = ("ucb", "kl-ucb", "imed", "ts", "dp-ucb", "dp-ucb-hybrid")
EASY = (0.95, 0.05)
# Tests of arms against a control, and the test of a mean, with the options that no other algorithm has.
TESTS = {
    "dp-ab": {"base_rate": 0.3, "effect": 0.4, "alpha": 0.1, "beta": 0.1},
    "dp-ab-open": {"base_rate": 0.3, "effect": 0.4, "alpha": 0.1, "beta": 0.1},
    "dp-test": {"null": 0.5, "alternative": 0.6, "alpha": 0.1, "beta": 0.1},
}
# Policies of exactly two arms.
TWO_ARMS = ("dp-se-difference",)
# Rules that refuse samples below 0, and with them a radius.
ONE_SIDED = ("dp-nas-one-sided", "dp-inverse", "dp-mean", "inverse")
# Where a rule that chooses has to look first.
LOOK = {"dp-mean": {"alpha": 0.1, "epsilon": 10.0}}


def policy(name, arms=("A", "B"), **options):
    known = field_names(discreet.POLICIES[name], init=True)
    chosen = {key: value for key, value in OPTIONS.items() if key in known}
    if name in STEPWISE:
        chosen["horizon"] = 2000
    if name == "guess-and-double":
        chosen = {"policy": "dp-se", "epsilon": 1.0, "first_guess": 2**18}
    chosen |= TESTS.get(name, {})
    return discreet.make_policy(name, arms, **{**chosen, **options})


def rule(name, **options):
    chosen = {"alpha": 0.5, "beta": 0.1, "low": 0.0, "high": 1.0}
    if is_private(name):
        chosen["epsilon"] = 2.0
    if "radius" in options:
        del chosen["low"], chosen["high"]
    chosen |= TESTS.get(name, {}) | LOOK.get(name, {})
    return discreet.make_rule(name, **{**chosen, **options})


def is_private(name):
    table = discreet.POLICIES if name in discreet.POLICIES else discreet.RULES
    return name == "guess-and-double" or table[name].reason is not None


def hopeless(name):
    """Options, and samples with which a rule does not halt for long: most have a mean of 0."""
    if name == "dp-test":  # whose first look is far away
        return {"null": 0.5, "alternative": 0.505, "low": 0.0, "high": 1.0}, np.zeros(20_000)
    if name in ONE_SIDED:
        return {"low": 0.0, "high": 1.0}, np.zeros(20_000)
    return {"radius": 1.0}, np.tile([1.0, -1.0], 10_000)


def fill(plan, width, means=EASY, arms=("A", "B")):
    """Totals of a plan when every arm pays its mean."""
    if not plan.learns:
        return None
    mean = dict(zip(arms, means, strict=True))
    return {arm: round(count * mean[arm] * width) for arm, count in plan.pulls.items()}
