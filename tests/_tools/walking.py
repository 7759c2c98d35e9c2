"""Small examples of every private algorithm, whose epochs are short enough for random walks."""

from contextlib import suppress
from functools import partial

import numpy as np

import discreet
from discreet import Bandit, FinishedError, Stream, Totals, WaitingError
from discreet.core.options import field_names
from discreet.core.registry import find
from discreet.core.statistics import Statistic
from tests._tools.examples import TESTS

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
    "guess-and-double": {"policy": "dp-se-modified", "epsilon": 60.0, "first_guess": 40},
    "dp-mean": {"alpha": 0.2, "beta": 0.05, "epsilon": 20.0},  # where it takes a look
}
BY_TOTALS = ("dp-se", "dp-se-person", "dp-se-svt", "dp-bai")  # their epochs are long


def algorithm(key, **options):
    """A small algorithm."""
    known = field_names(find(key), init=True)
    chosen = {name: value for name, value in (RULE if key in discreet.RULES else OPTIONS).items() if name in known}
    if key in discreet.RULES:
        return discreet.make_rule(key, **{**chosen, **OWN.get(key, {}), **TESTS.get(key, {}), **options})
    return discreet.make_policy(key, AB, **{**chosen, **OWN.get(key, {}), **TESTS.get(key, {}), **options})


def driver(kind, key, noise=None, **options):
    return kind(algorithm(key, **options), noise)


def windowed(key, noise=None, **options):
    """A bandit whose tickets expire after fifty more."""
    return Bandit(algorithm(key, **options), noise, default_reward=1.0, window=50)


def coins(count, chance=0.6, seed=0):
    return (np.random.default_rng(seed).random(count) < chance).astype(float)


def totals_of(plan, seed=0):
    """What `Totals.close` takes for a plan on [0, 1]."""
    if plan.query is None:
        return None
    totals = {}
    for number, (arm, count) in enumerate(plan.pulls.items()):
        if plan.statistic is Statistic.TOTAL and not plan.many_tests:
            totals[arm] = int(np.random.default_rng(seed + number).binomial(count, 0.6)) * 2**20
            continue
        steps = coins(count, 0.6, seed + number).astype(np.int64) * 2**20
        sums = plan.statistic.accumulator(2**20)
        sums.add(steps)
        totals[arm] = plan.between_tests(steps) if plan.many_tests else sums.values
    return totals


def advance(driver, seed=0):
    """Do something that ends an epoch or a few tests, with rewards of 0 and 1."""
    if isinstance(driver, Totals):
        driver.close_steps(totals_of(driver.plan(), seed))
    elif isinstance(driver, Stream):
        driver.feed(coins(97, seed=seed))
    else:
        with suppress(FinishedError, WaitingError):
            driver.ask(10**6 if driver.window is None else driver.algorithm.plan().size)
        tickets = driver.open_tickets
        driver.tell(tickets, coins(len(tickets), seed=seed))
        if driver.window is not None:
            driver.ask(driver.window)
            driver.expire()


def is_private(key):
    return find(key).reason is not None or key == "guess-and-double"


PRIVATE_POLICIES = [key for key in sorted(discreet.POLICIES) if is_private(key)]
PRIVATE_RULES = [key for key in sorted(discreet.RULES) if is_private(key)]

CASES = {key: partial(driver, Totals if key in BY_TOTALS else Bandit, key) for key in PRIVATE_POLICIES}
CASES |= {key: partial(driver, Stream, key) for key in PRIVATE_RULES}
CASES |= {
    "dp-se by tickets": partial(driver, Bandit, "dp-se", horizon=2000),
    "dp-bai-sharp with a window": partial(windowed, "dp-bai-sharp"),
    "dp-ucb with a window": partial(windowed, "dp-ucb"),
    "dp-ucb by totals": partial(driver, Totals, "dp-ucb"),
    "dp-ucb on all trees": partial(driver, Bandit, "dp-ucb", preset="all-trees"),
    "dp-nas by totals": partial(driver, Totals, "dp-nas"),
    "dp-bernstein by totals": partial(driver, Totals, "dp-bernstein"),
    "guess-and-double of dp-ucb": partial(
        driver, Bandit, "guess-and-double", policy="dp-ucb", first_guess=8, epsilon=8.0
    ),
    "guess-and-double of lazy-dp-ts": partial(
        driver, Bandit, "guess-and-double", policy="lazy-dp-ts", first_guess=16, epsilon=8.0, seed=1
    ),
}
