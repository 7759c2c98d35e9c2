"""Small examples of stopping rules, and quick ways to run them on coins."""

import numpy as np

import discreet
from discreet import SimulatedNoise, Totals
from discreet.core.statistics import Statistic

NAMES = sorted(discreet.RULES)
PRIVATE = [name for name in NAMES if discreet.RULES[name].reason is not None]
NOT_PRIVATE = [name for name in NAMES if discreet.RULES[name].reason is None]
# Rules that refuse samples below 0, and with them a radius.
ONE_SIDED = ("dp-nas-one-sided",)


class ByScale:
    """Simulated noise whose sequence for one scale does not depend on the draws of other scales."""

    simulated = True

    def __init__(self, seed):
        self.seed, self.sources = seed, {}

    def draws(self, scale, count):
        key = round(scale)
        source = self.sources.setdefault(key, SimulatedNoise([self.seed, key]))
        return source.draws(float(key), count)


def example(name, **options):
    """A rule that halts soon on samples in [0, 1] of a mean that is not small."""
    chosen = {"alpha": 0.5, "beta": 0.1, "low": 0.0, "high": 1.0}
    if name in PRIVATE:
        chosen["epsilon"] = 2.0
    if "radius" in options:
        del chosen["low"], chosen["high"]
    return discreet.make_rule(name, **{**chosen, **options})


def hopeless(name):
    """A range, and samples of it with a mean of 0."""
    if name in ONE_SIDED:
        return {"low": 0.0, "high": 1.0}, np.zeros(20_000)
    return {"radius": 1.0}, np.tile([1.0, -1.0], 10_000)


def run_on_coins(rule, mean, seed):
    """The finished rule after samples of `low` and `high` of this mean. Whole blocks are drawn at once."""
    generator, grid = np.random.default_rng([seed, 1]), rule.grid
    chance = (mean - grid.low) / (grid.high - grid.low)
    driver = Totals(rule, SimulatedNoise([seed, 2]))
    while (plan := driver.plan()) is not None:
        count = plan.size
        if plan.statistic is Statistic.PAIRS:
            chances = 2 * chance * (1 - chance), chance**2, (1 - chance) ** 2
            mixed, both, _ = generator.multinomial(count // 2, chances)
            exact = int(mixed) * grid.width, int(mixed + 2 * both) * grid.width
        else:
            exact = int(generator.binomial(count, chance)) * grid.width
        driver.close({None: exact} if plan.learns else None)
    return driver.algorithm
