"""The paper's evaluation, and what lies beyond it, as a list of settings and a way to look results up.

The paper: DP-SE against DP-UCB on C1 to C4, for 3, 5, 10 and 20 arms and four epsilons, T = 5e7, 30 runs. Beyond:
their ancestors without privacy, the other forms of DP-UCB, and a sweep of the constant that the paper leaves open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from typing import Any, Self

from discreet.bandits.dp_ucb import PRESETS
from discreet.core.errors import ArgumentError
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS, HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.reproduction._findings import Findings, setting_of

CLAIM = 5.0
"""The paper: "in all settings we tested, we outperform DP-UCB by at least 5 times"."""

Cell = tuple[str, int, float]
"""An instance, a number of arms and an epsilon."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The settings to simulate. The defaults are the paper's.

    Args:
        horizon: Pulls of a run.
        runs: Runs of each setting.
        seed: Seed of all runs.
        instances: Names of instances.
        arms: Numbers of arms.
        epsilons: Privacy parameters.
        extended: Also simulate what lies beyond the paper.
        constants: Relaxations of DP-UCB to sweep, in multiples of ln(T)^1.5/epsilon.
        wide_sweep: A second number of arms to sweep the constant at, and its epsilon.
    """

    horizon: int = HORIZON
    runs: int = RUNS
    seed: int = SEED
    instances: tuple[str, ...] = ("C1", "C2", "C3", "C4")
    arms: tuple[int, ...] = (3, 5, 10, 20)
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    extended: bool = False
    constants: tuple[float, ...] = (2, 3, 4, 5, 6, 8, 12, 21, 50)
    wide_sweep: tuple[int, float] | None = (20, 0.25)

    def __post_init__(self) -> None:
        needed = {ARMS, *(arms for arms, _ in self.sweeps())}
        if not needed <= set(self.arms):
            raise ArgumentError(f"arms must hold {', '.join(map(str, sorted(needed)))}, got {self.arms}")

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small evaluation: the paper's horizon, with few runs and five arms only."""
        small: dict[str, Any] = {"runs": 3, "arms": (ARMS,), "constants": (3, 8, 50), "wide_sweep": None}
        return cls(**{**small, **changes})

    def setting(self, policy: str, name: str, arms: int, **options: Any) -> Setting:
        """Return one setting of this evaluation.

        Args:
            policy: Key of a policy.
            name: Name of an instance.
            arms: Number of arms.
            **options: The policy's options.
        """
        common = {"horizon": self.horizon, "runs": self.runs, "seed": self.seed}
        return setting_of(policy, name, arms=arms, **common, **options)

    def dp_se(self, name: str, arms: int, epsilon: float) -> Setting:
        """Return the paper's algorithm in one cell.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
        """
        return self.setting("dp-se", name, arms, epsilon=epsilon)

    def dp_ucb(self, name: str, arms: int, epsilon: float, preset: str = PRESETS[0]) -> Setting:
        """Return the paper's baseline in one cell.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
            preset: One of the known forms of DP-UCB.
        """
        return self.setting("dp-ucb", name, arms, epsilon=epsilon, preset=preset)

    def swept(self, name: str, arms: int, epsilon: float, constant: float) -> Setting:
        """Return the baseline with a constant of the sweep.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
            constant: Relaxation in multiples of ln(T)^1.5/epsilon.
        """
        return self.setting("dp-ucb", name, arms, epsilon=epsilon, relaxation=self.relaxation(constant, epsilon))

    def relaxation(self, constant: float, epsilon: float) -> float:
        """Return what DP-UCB adds to a noisy total.

        Args:
            constant: Relaxation in multiples of ln(T)^1.5/epsilon.
            epsilon: Privacy parameter.
        """
        return float(constant * math.log(self.horizon) ** 1.5 / epsilon)

    def default_constant(self, arms: int, epsilon: float) -> float:
        """Return the default preset's relaxation in multiples of ln(T)^1.5/epsilon.

        Args:
            arms: Number of arms.
            epsilon: Privacy parameter.
        """
        policy: Any = self.dp_ucb(self.instances[0], arms, epsilon).build()
        return float(policy.effective_relaxation / self.relaxation(1.0, epsilon))

    def sweeps(self) -> list[tuple[int, float]]:
        """Return the numbers of arms and epsilons at which the constant is swept; none in the paper's evaluation."""
        wide = [self.wide_sweep] if self.wide_sweep else []
        return [*((ARMS, epsilon) for epsilon in self.epsilons), *wide] if self.extended else []

    def cells(self) -> list[Cell]:
        """Return everything that the paper compares."""
        return list(product(self.instances, self.arms, self.epsilons))

    def settings(self) -> list[Setting]:
        """Return all settings, the slowest first so that no worker waits for another at the end."""
        slowest = sorted(self.cells(), key=lambda cell: -cell[1])
        every = [make(*cell) for cell in slowest for make in (self.dp_ucb, self.dp_se)]
        if self.extended:
            sizes, names = sorted(self.arms, reverse=True), self.instances
            every += [self.setting(policy, name, arms) for arms, policy, name in product(sizes, ("ucb", "se"), names)]
            forms = product(PRESETS[1:], names, self.epsilons)
            every += [self.dp_ucb(name, ARMS, epsilon, preset) for preset, name, epsilon in forms]
            sweeps = product(reversed(self.sweeps()), names, self.constants)
            every += [self.swept(name, *sweep, constant) for sweep, name, constant in sweeps]
        return every

    def run(self, **how: Any) -> "EvaluationFindings":
        """Simulate everything that the store does not have yet.

        Args:
            **how: `engine`, `store` and `on_progress` of `simulate_all`.
        """
        return EvaluationFindings(self, simulate_all(self.settings(), **how))


class EvaluationFindings(Findings[Evaluation]):
    """The results of an evaluation, looked up by cell."""

    def dp_se(self, *cell: Any) -> Simulation:
        """Return the result of DP-SE in a cell."""
        return self[self.study.dp_se(*cell)]

    def dp_ucb(self, *cell: Any) -> Simulation:
        """Return the result of DP-UCB in a cell, to which a preset may be added."""
        return self[self.study.dp_ucb(*cell)]

    def plain(self, policy: str, name: str, arms: int) -> Simulation:
        """Return the result of an ancestor without privacy.

        Args:
            policy: Key of the ancestor.
            name: Name of an instance.
            arms: Number of arms.
        """
        return self[self.study.setting(policy, name, arms)]

    def swept(self, *cell: Any) -> list[Simulation]:
        """Return the results of DP-UCB in a cell for each constant of the sweep."""
        name, arms, epsilon = cell
        return [self[self.study.swept(name, arms, epsilon, constant)] for constant in self.study.constants]

    def ratio(self, name: str, arms: int, epsilon: float, preset: str = PRESETS[0]) -> float:
        """Return DP-UCB's mean regret over DP-SE's in one cell.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
            preset: One of the known forms of DP-UCB.
        """
        return self.dp_ucb(name, arms, epsilon, preset).mean / self.dp_se(name, arms, epsilon).mean


def smallest_constant(ratios: Sequence[tuple[float, float]], at_least: float = CLAIM) -> float | None:
    """Return the smallest constant from which on every ratio is large enough.

    Args:
        ratios: Pairs of a constant and its ratio.
        at_least: The ratio that is wanted.

    Returns:
        The constant, or None if the ratio of the largest one is too small.

    >>> smallest_constant([(8, 0.5), (21, 5.5), (50, 12.0)])
    21
    """
    enough = takewhile(lambda pair: pair[1] >= at_least, sorted(ratios, reverse=True))
    return min((constant for constant, _ in enough), default=None)
