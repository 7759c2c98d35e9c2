"""Private stopping rules on samples of many distributions: the gain from following the variance, and failures."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from discreet.lab.instances import as_rewards
from discreet.lab.results import Simulation
from discreet.lab.rewards import Rewards
from discreet.lab.setting import SEED, Setting
from discreet.reproduction._findings import setting_of
from discreet.theory import two_point_lower_bound

PAPER = "dp-exp-nas"
"""The rule that others are compared with: the paper's best, told R = 1 as in the paper."""
FROM_ZERO = ("dp-nas-one-sided", "dp-inverse")
"""Rules for samples that are never negative."""
DISTRIBUTIONS: dict[str, float | str] = {
    "signs": "discrete(-1:7, 1:13)",
    "coin 50 %": 0.5,
    "coin 10 %": 0.1,
    "coin 1 %": 0.01,
    "coin 99 %": 0.99,
    "uniform": "uniform(0, 1)",
    "narrow beta": "beta(20, 20)",
    "rare jumps": "discrete(0.05:199, 1:1)",
}
"""The last one is hard for a rule that learns the variance: nearly all samples are the same."""


BETA = 0.05
"""The failure probability that is wanted."""
Cell = tuple[str, float, float]
"""A key of `DISTRIBUTIONS`, a relative accuracy and a privacy parameter."""


def rewards_of(cell: Cell) -> Rewards:
    """Return the distribution of the samples of a cell."""
    return as_rewards(DISTRIBUTIONS[cell[0]])


def least_samples(cell: Cell) -> float | None:
    """Return the least expected number of samples of a private rule; None unless samples have two values."""
    rewards, (_, alpha, epsilon) = rewards_of(cell), cell
    values = rewards.two_values()
    if values is None or values[0] > 0:  # a rule is told a range that begins at 0
        return None
    return float(two_point_lower_bound(rewards.mean, alpha, BETA, epsilon, low=values[0], high=values[1]))


@dataclass(frozen=True, slots=True)
class DistributionGrid:
    """Rules on every distribution, with each accuracy and each epsilon.

    Args:
        runs: Runs of each rule in each cell.
        seed: Seed of all runs.
        rules: Keys of rules.
        alphas: Accuracies.
        epsilons: Privacy parameters.
    """

    runs: int = 200
    seed: int = SEED
    rules: tuple[str, ...] = (PAPER, "dp-nas-one-sided", "dp-nas-released", "dp-bernstein", "dp-inverse")
    alphas: tuple[float, ...] = (0.1, 0.5)
    epsilons: tuple[float, ...] = (0.1, 1.0)

    def cells(self) -> list[Cell]:
        """Return all cells of the grid."""
        return list(product(DISTRIBUTIONS, self.alphas, self.epsilons))

    def setting(self, rule: str, cell: Cell) -> Setting:
        """Return the setting of one rule in one cell.

        Args:
            rule: Key of a rule.
            cell: A cell of the grid.
        """
        rewards, (_, alpha, epsilon) = rewards_of(cell), cell
        ends = {"radius": 1.0} if rule == PAPER else {"low": min(rewards.low, 0.0), "high": rewards.high}
        wanted = {"alpha": alpha, "beta": BETA, "epsilon": epsilon}
        return setting_of(rule, rewards, runs=self.runs, seed=self.seed, **wanted, **ends)

    def rules_of(self, cell: Cell) -> list[str]:
        """Return the rules that accept the samples of a cell."""
        return [rule for rule in self.rules if rule not in FROM_ZERO or rewards_of(cell).low >= 0]

    def settings(self) -> list[Setting]:
        """Return the settings of all rules in all cells."""
        return [self.setting(rule, cell) for cell in self.cells() for rule in self.rules_of(cell)]

    def rows(self, find: Callable[[Setting], Simulation]) -> list[dict[str, Any]]:
        """Return a row for each cell: medians of samples by rule, ratios, failures.

        Args:
            find: Returns the result of a setting.
        """
        return [
            _row(cell, {rule: find(self.setting(rule, cell)) for rule in self.rules_of(cell)}) for cell in self.cells()
        ]


def _row(cell: Cell, found: dict[str, Simulation]) -> dict[str, Any]:
    medians = {rule: float(np.median(one.samples)) for rule, one in found.items()}
    least = least_samples(cell)
    return {
        **dict(zip(("distribution", "alpha", "epsilon"), cell, strict=True)),
        "medians": medians,
        "fewer": {rule: medians[PAPER] / median for rule, median in medians.items()},
        "failures": {rule: int(one.failed.sum()) for rule, one in found.items()},
        "unfinished": {rule: int(one.unfinished.sum()) for rule, one in found.items()},
        "over_bound": {rule: float(one.samples.mean()) / least if least else None for rule, one in found.items()},
    }
