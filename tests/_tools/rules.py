"""A source of noise whose scales do not disturb each other, and a quick way to run stopping rules on coins."""

import numpy as np

from discreet import SimulatedNoise, Totals
from discreet.core.statistics import Statistic


class ByScale:
    """Simulated noise whose sequence for one scale does not depend on the draws of other scales."""

    simulated = True

    def __init__(self, seed):
        self.seed, self.sources = seed, {}

    def draws(self, scale, count):
        key = round(scale) or scale
        source = self.sources.setdefault(key, SimulatedNoise([self.seed, round(key)]))
        return source.draws(float(key), count)


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
        driver.close_steps({None: exact} if plan.learns else None)
    return driver.algorithm
