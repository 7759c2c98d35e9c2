"""The paper's evaluation, and what lies beyond it, as a list of settings and a way to look results up.

The paper: DP-SE against DP-UCB on C1 to C4, for 3, 5, 10 and 20 arms and four epsilons, T = 5e7, 30 runs, with DP-UCB
as published and without its factor K. Beyond: two more forms of DP-UCB, the variants of DP-SE of a text that the paper
has withdrawn, UCB and SE without privacy, a recommended policy, and a sweep of the constant that the paper leaves open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.bandits.dp_ucb import PRESETS, PUBLISHED, STEPPED
from discreet.core.errors import ArgumentError
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS, HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.reproduction._findings import Findings, setting_of
from discreet.reproduction.studies.claim import CLAIM, Ratio, ratio_of
from discreet.reproduction.studies.many_runs import final_regrets

DEFAULT = PRESETS[0]
FORMS = (PUBLISHED, *(preset for preset in PRESETS if preset != PUBLISHED))
"""The forms of DP-UCB in the order of the report: the paper's baseline first."""
WITHDRAWN = ("dp-se-svt", "dp-se-modified")
"""DP-SE by sparse vectors, and the modified DP-SE, of the text that the paper has withdrawn."""
PRECISION, MOST_RUNS = 0.01, 20_000
"""How far the interval of DP-SE's mean regret may reach, as a share of it; and the most runs."""
RECOMMENDED = "dp-chernoff-imed"
PLAIN = ("ucb", "se")

Cell = tuple[str, int, float]
"""An instance, a number of arms and an epsilon."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The settings to simulate. The defaults are the paper's.

    Args:
        horizon: Pulls of a run.
        runs: Runs of each setting, but:
        other_runs: Runs of the other forms of DP-UCB, at most; their regrets vary by a hundredth. 0 leaves them out.
        stepped_runs: Runs of DP-UCB on all trees with more than five arms, at most: there it takes up to half a minute
            a run. 0 leaves it out.
        many_runs: Runs of DP-SE for the ratios: that many, and again, until its mean is known within `PRECISION`.
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
    other_runs: int = 10
    stepped_runs: int = 3
    many_runs: int = 1000
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
        """Return a small evaluation: all of the paper's settings, with few runs, and DP-UCB as published alone."""
        others = 3 if changes.get("extended") else 0
        small: dict[str, Any] = {
            "runs": 3,
            "other_runs": others,
            "stepped_runs": 0,
            "constants": (3, 8, 50),
            "wide_sweep": None,
        }
        return cls(**{**small, **changes})

    def forms(self) -> tuple[str, ...]:
        """Return the forms of DP-UCB that are simulated."""
        most = {PUBLISHED: self.runs, STEPPED: self.stepped_runs}
        return tuple(form for form in FORMS[: None if self.extended else 2] if most.get(form, self.other_runs))

    def runs_of(self, preset: str, arms: int) -> int:
        """Return the runs of a form of DP-UCB.

        Args:
            preset: The form.
            arms: Number of arms.
        """
        if preset == PUBLISHED:
            return self.runs
        slow = preset == STEPPED and arms > ARMS
        return min(self.runs, self.stepped_runs if slow else self.other_runs)

    def setting(self, policy: str, name: str, arms: int, **options: Any) -> Setting:
        """Return one setting of this evaluation.

        Args:
            policy: Key of a policy.
            name: Name of an instance.
            arms: Number of arms.
            **options: The policy's options, and `runs` where they are others.
        """
        common = {"horizon": self.horizon, "runs": self.runs, "seed": self.seed}
        return setting_of(policy, name, arms=arms, **{**common, **options})

    def dp_se(self, name: str, arms: int, epsilon: float) -> Setting:
        """Return the paper's algorithm in one cell.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
        """
        return self.setting("dp-se", name, arms, epsilon=epsilon)

    def dp_ucb(self, name: str, arms: int, epsilon: float, preset: str = PUBLISHED) -> Setting:
        """Return the paper's baseline in one cell.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
            preset: One of the known forms of DP-UCB.
        """
        return self.setting("dp-ucb", name, arms, epsilon=epsilon, preset=preset, runs=self.runs_of(preset, arms))

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
        policy: Any = self.dp_ucb(self.instances[0], arms, epsilon, DEFAULT).build()
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
        cells = sorted(self.cells(), key=lambda cell: -cell[1])
        every = [self.dp_ucb(*cell, form) for form in reversed(self.forms()) for cell in cells]
        every += [self.dp_se(*cell) for cell in cells]
        if self.extended:
            for policy in (*WITHDRAWN, RECOMMENDED):
                every += [self.setting(policy, name, arms, epsilon=epsilon) for name, arms, epsilon in cells]
            sizes, names = sorted(self.arms, reverse=True), self.instances
            every += [self.setting(policy, name, arms) for arms, policy, name in product(sizes, PLAIN, names)]
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

    def __init__(self, study: Evaluation, results: Sequence[Simulation]) -> None:
        super().__init__(study, results)
        self._many: dict[Cell, NDArray[np.float64]] = {}

    def dp_se(self, *cell: Any) -> Simulation:
        """Return the result of DP-SE in a cell."""
        return self[self.study.dp_se(*cell)]

    def dp_ucb(self, *cell: Any) -> Simulation:
        """Return the result of DP-UCB in a cell, to which a preset may be added."""
        return self[self.study.dp_ucb(*cell)]

    def private(self, policy: str, name: str, arms: int, epsilon: float) -> Simulation:
        """Return the result of another private policy in a cell.

        Args:
            policy: Key of the policy.
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
        """
        return self[self.study.setting(policy, name, arms, epsilon=epsilon)]

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

    def many(self, name: str, arms: int, epsilon: float) -> NDArray[np.float64]:
        """Return DP-SE's final regret in many runs, simulated when it is first asked for.

        Its regret has few values, so a mean of few runs is far off.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
        """
        cell = name, arms, epsilon
        if cell not in self._many:
            study, setting, found = self.study, self.study.dp_se(*cell), np.zeros(0)
            policy: Any = setting.build()
            while found.size < 2 or (ratio_of(found, np.ones(2)).high / found.mean() > 1 + PRECISION):
                seed = [study.seed, study.cells().index(cell), found.size]
                more = final_regrets(policy, setting.instance.means, study.many_runs, seed)
                found = np.concatenate([found, more])
                if found.size >= MOST_RUNS:
                    break
            self._many[cell] = found
        return self._many[cell]

    def ratio(self, name: str, arms: int, epsilon: float, preset: str = PUBLISHED) -> Ratio:
        """Return DP-UCB's mean regret over DP-SE's in one cell, with its interval.

        Args:
            name: Name of an instance.
            arms: Number of arms.
            epsilon: Privacy parameter.
            preset: One of the known forms of DP-UCB.
        """
        return self.over_dp_se(self.dp_ucb(name, arms, epsilon, preset), name, arms, epsilon)

    def over_dp_se(self, one: Simulation, *cell: Any) -> Ratio:
        """Return a policy's mean regret over DP-SE's in one cell, with its interval.

        Args:
            one: The runs of the policy.
            *cell: The cell.
        """
        return ratio_of(one.final, self.many(*cell))


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
