"""The paper's whole evaluation, and what lies beyond it, as a list of settings and a way to look results up.

The paper: DP-SE against DP-UCB on C1 to C4, for 3, 5, 10 and 20 arms and four epsilons, T = 5e7, 30 runs. Beyond:
their ancestors without privacy, the other forms of DP-UCB, and a sweep of the constant that the paper leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet.bandits.dp_ucb import PRESETS
from discreet.core.errors import ArgumentError
from discreet.lab.engines import Engine
from discreet.lab.results import Results, Simulation
from discreet.lab.setting import ARMS, HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.lab.store import Store

CLAIM = 5.0
"""The paper: "in all settings we tested, we outperform DP-UCB by at least 5 times"."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What to simulate. The defaults are the paper's."""

    horizon: int = HORIZON
    runs: int = RUNS
    seed: int = SEED
    instances: tuple[str, ...] = ("C1", "C2", "C3", "C4")
    arms: tuple[int, ...] = (3, 5, 10, 20)
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    constants: tuple[float, ...] = (2, 3, 4, 5, 6, 8, 12, 21, 50)
    """Relaxations of DP-UCB to sweep, in units of ln(T)^1.5/epsilon."""
    wide_sweep: tuple[int, float] | None = (20, 0.25)
    """A second number of arms to sweep the constant at, and its epsilon."""

    def __post_init__(self) -> None:
        needed = {ARMS, *(arms for arms, _ in self.sweeps())}
        if not needed <= set(self.arms):
            raise ArgumentError(f"arms must hold {', '.join(map(str, sorted(needed)))}, got {self.arms}")

    @classmethod
    def quick(cls, **changes: Any) -> Evaluation:
        """A small one: the paper's horizon, with few runs and five arms only."""
        small: dict[str, Any] = {"runs": 3, "arms": (ARMS,), "constants": (3, 8, 50), "wide_sweep": None}
        return cls(**{**small, **changes})

    def setting(self, policy: str, name: str, arms: int, **options: Any) -> Setting:
        """One setting of this evaluation."""
        return _setting(self, policy, name, arms, tuple(options.items()))

    def dp_se(self, name: str, arms: int, epsilon: float) -> Setting:
        """The paper's algorithm."""
        return self.setting("dp-se", name, arms, epsilon=epsilon)

    def dp_ucb(self, name: str, arms: int, epsilon: float, preset: str = PRESETS[0]) -> Setting:
        """Its baseline, in one of its known forms."""
        return self.setting("dp-ucb", name, arms, epsilon=epsilon, preset=preset)

    def swept(self, name: str, arms: int, epsilon: float, constant: float) -> Setting:
        """The baseline with a constant of your own."""
        return self.setting("dp-ucb", name, arms, epsilon=epsilon, relaxation=self.relaxation(constant, epsilon))

    def relaxation(self, constant: float, epsilon: float) -> float:
        """What DP-UCB adds to a noisy total."""
        return float(constant * math.log(self.horizon) ** 1.5 / epsilon)

    def default_constant(self, arms: int, epsilon: float) -> float:
        """The default preset's relaxation in the sweep's units."""
        policy: Any = self.dp_ucb(self.instances[0], arms, epsilon).build()
        return float(policy.relaxation / self.relaxation(1.0, epsilon))

    def sweeps(self) -> list[tuple[int, float]]:
        """The numbers of arms and epsilons at which the constant is swept."""
        return [(ARMS, epsilon) for epsilon in self.epsilons] + ([self.wide_sweep] if self.wide_sweep else [])

    def settings(self) -> list[Setting]:
        """Everything, the slowest first so that no worker waits for another at the end."""
        every = [
            make(name, arms, epsilon)
            for arms in sorted(self.arms, reverse=True)
            for name in self.instances
            for epsilon in self.epsilons
            for make in (self.dp_ucb, self.dp_se)
        ]
        every += [
            self.setting(policy, name, arms)
            for arms in sorted(self.arms, reverse=True)
            for policy in ("ucb", "se")
            for name in self.instances
        ]
        every += [
            self.dp_ucb(name, ARMS, epsilon, preset)
            for preset in PRESETS[1:]
            for name in self.instances
            for epsilon in self.epsilons
        ]
        every += [
            self.swept(name, arms, epsilon, constant)
            for arms, epsilon in reversed(self.sweeps())
            for name in self.instances
            for constant in self.constants
        ]
        return every

    def run(
        self,
        engine: Engine | None = None,
        store: Store | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Findings:
        """Simulate everything that the store does not have yet."""
        settings = self.settings()
        return Findings(self, simulate_all(settings, engine, store=store, on_progress=on_progress))


@cache
def _setting(
    evaluation: Evaluation, policy: str, name: str, arms: int, options: tuple[tuple[str, Any], ...]
) -> Setting:
    """Built once: pictures and tables look every setting up many times, and building one builds its policy."""
    common: dict[str, Any] = {"horizon": evaluation.horizon, "runs": evaluation.runs, "seed": evaluation.seed}
    return Setting.of(policy, name, arms=arms, **common, **dict(options))


class Findings:
    """The results of an evaluation, looked up by setting."""

    def __init__(self, evaluation: Evaluation, results: Results) -> None:
        self.evaluation = evaluation
        self.results = results
        self._by_identity = {(one.setting.identity, one.setting.instance.name): one for one in results}

    def __getitem__(self, setting: Setting) -> Simulation:
        return self._by_identity[setting.identity, setting.instance.name]

    def dp_se(self, name: str, arms: int, epsilon: float) -> Simulation:
        """DP-SE in a setting of the paper."""
        return self[self.evaluation.dp_se(name, arms, epsilon)]

    def dp_ucb(self, name: str, arms: int, epsilon: float, preset: str = PRESETS[0]) -> Simulation:
        """DP-UCB in a setting of the paper."""
        return self[self.evaluation.dp_ucb(name, arms, epsilon, preset)]

    def plain(self, policy: str, name: str, arms: int) -> Simulation:
        """An ancestor without privacy."""
        return self[self.evaluation.setting(policy, name, arms)]

    def swept(self, name: str, arms: int, epsilon: float) -> list[Simulation]:
        """DP-UCB for each constant of the sweep."""
        return [self[self.evaluation.swept(name, arms, epsilon, c)] for c in self.evaluation.constants]

    def ratio(self, name: str, arms: int, epsilon: float, preset: str = PRESETS[0]) -> float:
        """How many times DP-SE's mean regret DP-UCB's is."""
        return self.dp_ucb(name, arms, epsilon, preset).mean / self.dp_se(name, arms, epsilon).mean

    def paper_settings(self) -> list[tuple[str, int, float]]:
        """Instance, number of arms and epsilon of all that the paper compares."""
        wanted = self.evaluation
        return [(name, arms, eps) for name in wanted.instances for arms in wanted.arms for eps in wanted.epsilons]


def smallest_constant(ratios: Sequence[tuple[float, float]], at_least: float = CLAIM) -> float | None:
    """The smallest constant from which on a ratio (second of each pair) is at least this; None if it never is.

    >>> smallest_constant([(8, 0.5), (21, 5.5), (50, 12.0)])
    21
    """
    found = None
    for constant, ratio in sorted(ratios, reverse=True):
        if ratio < at_least:
            break
        found = constant
    return found
