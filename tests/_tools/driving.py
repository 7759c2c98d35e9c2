"""Run an algorithm to its end, or for some epochs, by totals."""

from itertools import count, islice

import numpy as np

from discreet import SimulatedNoise, Totals


def drive(algorithm, means, noise=None, closes=None):
    """Close an algorithm's plans with what its arms pay, and return the driver.

    `means` has each arm's mean, in order: then it pays exactly that share of the range. Or it is a function of an arm,
    the number of its pulls before and the number of pulls now that returns the total in full rewards. `closes` is the
    largest number of plans to close. `noise` is by default a simulated source.
    """
    driver = Totals(algorithm, noise or SimulatedNoise(0))
    for _ in islice(count(), closes):
        if not close(driver, means):
            break
    return driver


def close(driver, means):
    """Close the open plan as `drive` does; False if there is none."""
    plan, now = driver.plan(), driver.algorithm
    if plan is None:
        return False
    taken, width = now.taken, now.grid.width
    if not plan.learns:
        driver.close()
    elif callable(means):
        driver.close_steps({arm: round(means(arm, taken[arm], pulls) * width) for arm, pulls in plan.pulls.items()})
    else:
        mean = dict(zip(taken, means, strict=True))
        driver.close_steps({arm: round(pulls * mean[arm] * width) for arm, pulls in plan.pulls.items()})
    return True


class Coins:
    """Arms that pay 0 or 1 at random: for `drive`."""

    def __init__(self, means, seed, arms=None):
        self.means = dict(zip(range(len(means)) if arms is None else arms, means, strict=True))
        self.rng = np.random.default_rng(seed)

    def __call__(self, arm, before, pulls):
        return int(self.rng.binomial(pulls, self.means[arm]))


class Recorded:
    """Arms that pay what a table has for an arm and a pull: two programs can be fed the same rewards."""

    def __init__(self, table):
        self.table = table
        self.place = [0] * len(table)

    @classmethod
    def coins(cls, seed, means, size):
        return cls((np.random.default_rng(seed).random((len(means), size)) < np.array(means)[:, None]).astype(int))

    def __call__(self, arm, before, pulls):
        return float(self.table[arm][before : before + pulls].sum())

    def next(self, arm):
        """The arm's next reward, for programs that take one at a time."""
        self.place[arm] += 1
        return float(self.table[arm][self.place[arm] - 1])
