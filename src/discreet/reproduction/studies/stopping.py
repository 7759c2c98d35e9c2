"""The stopping rules measured against their limits: the settings, and a way to look results up.

The paper proves that DP exponential NAS is optimal up to constants, and measures nothing of it. This study counts the
samples that its rules take, on the paper's hard case (samples of -1 and 1) and on clicks (0 and 1), against each
parameter at a time; how often they break their promise; and the price of privacy. Two rules of our own are measured
with them, also on samples of many distributions (`distributions`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np

from discreet import theory
from discreet.lab.arms import Bernoulli, Discrete
from discreet.lab.results import Simulation
from discreet.lab.rewards import Rewards
from discreet.lab.setting import SEED, Setting, accepts
from discreet.lab.simulate import simulate_all
from discreet.reproduction._findings import Findings, setting_of
from discreet.reproduction.studies.distributions import DistributionGrid

PLAIN, PRIVATE = ("nas", "ebstop"), ("dp-nas", "dp-exp-nas", "dp-nas-released", "dp-bernstein")
RULES = (*PLAIN, *PRIVATE)
FOR_CLICKS = (
    "nas",
    "inverse",
    "dp-nas",
    "dp-exp-nas",
    "dp-nas-one-sided",
    "dp-nas-released",
    "dp-bernstein",
    "dp-inverse",
)
"""Rules that are compared on clicks from rare to frequent: those for samples of known sign are among them."""
NO_PRIVACY = 1e9
"""An epsilon at which the noise is nothing: a rule without privacy."""
ENDS = {"signs": (-1.0, 1.0), "clicks": (0.0, 1.0)}
"""The two kinds of samples: distributions on the ends of these ranges."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Samples of one kind and mean, and the accuracy and privacy that are wanted of their mean.

    Args:
        kind: A key of `ENDS`.
        mean: Mean of the samples.
        alpha: Relative accuracy.
        beta: Failure probability.
        epsilon: Privacy parameter.
    """

    kind: str = "signs"
    mean: float = 0.3
    alpha: float = 0.3
    beta: float = 0.05
    epsilon: float = 0.5

    @property
    def range(self) -> dict[str, float]:
        """The ends of the samples' range."""
        return dict(zip(("low", "high"), ENDS[self.kind], strict=True))

    @property
    def given(self) -> tuple[float, float, float, float]:
        """The arguments of the theory's functions."""
        return self.mean, self.alpha, self.beta, self.epsilon

    @property
    def distribution(self) -> Rewards:
        """The distribution of the samples."""
        if self.kind == "clicks":
            return Bernoulli(self.mean)
        high = round((1 + self.mean) / 2, 12)
        return Discrete((-1.0, 1.0), (round(1 - high, 12), high))

    def lower_bound(self, private: bool = True) -> float:
        """Return the least expected number of samples of any rule, or of any private one."""
        epsilon = self.epsilon if private else math.inf
        return float(theory.two_point_lower_bound(*self.given[:3], epsilon, **self.range))

    def upper_bound(self) -> float:
        """Return Theorem 3.3's t_U for DP exponential NAS; NaN where the theorem does not apply."""
        return math.nan if self.beta > 0.08 else float(theory.stopping_upper_bound(*self.given, **self.range))

    def with_(self, **changes: Any) -> Self:
        """Return the same problem with some fields changed."""
        return replace(self, **changes)


def spread(low: float, high: float, count: int) -> tuple[float, ...]:
    """Return numbers with equal ratios, rounded to three digits.

    Args:
        low: The first number.
        high: The last number.
        count: The number of numbers.

    >>> spread(0.01, 1, 3)
    (0.01, 0.1, 1.0)
    """
    return tuple(float(f"{value:.3g}") for value in np.geomspace(low, high, count))


@dataclass(frozen=True, slots=True)
class StoppingStudy:
    """The settings to simulate. Each sweep changes one field of the base problem, for each kind of samples.

    Args:
        runs: Runs of each setting of the sweeps.
        failure_runs: Runs of each setting in which failures are counted.
        seed: Seed of all runs.
        base: The problem that sweeps change.
        means: Means of the samples.
        alphas: Accuracies.
        epsilons: Privacy parameters.
        betas: Failure probabilities.
        failure_betas: Failure probabilities where failures are counted.
        clicks: The problem in which all rules for clicks are compared, from rare ones to frequent ones.
        click_means: Their means.
        distributions: Rules on samples of many distributions.
    """

    runs: int = 100
    failure_runs: int = 1000
    seed: int = SEED
    base: Problem = Problem()
    means: tuple[float, ...] = spread(0.009, 0.9, 9)
    alphas: tuple[float, ...] = spread(0.009, 0.9, 9)
    epsilons: tuple[float, ...] = spread(0.0001, 10, 16)
    betas: tuple[float, ...] = spread(0.0005, 0.05, 5)
    failure_betas: tuple[float, ...] = spread(0.004, 0.4, 5)
    clicks: Problem = Problem("clicks", alpha=0.1, epsilon=1.0)
    click_means: tuple[float, ...] = spread(0.001, 0.9, 10)
    distributions: DistributionGrid = field(default_factory=DistributionGrid)

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: the same sweeps with few runs."""
        return cls(**{"runs": 5, "failure_runs": 50, "distributions": DistributionGrid(runs=5), **changes})

    @property
    def sweeps(self) -> dict[str, tuple[float, ...]]:
        """The values of each parameter that is swept."""
        return {"mean": self.means, "alpha": self.alphas, "epsilon": self.epsilons, "beta": self.betas}

    def swept(self, kind: str, name: str) -> list[Problem]:
        """Return the problems of a sweep.

        Args:
            kind: A key of `ENDS`.
            name: A key of `sweeps`.
        """
        return [self.base.with_(kind=kind, **{name: value}) for value in self.sweeps[name]]

    def problems(self, kind: str) -> list[Problem]:
        """Return the problems of all sweeps of one kind of samples, each once."""
        return list(dict.fromkeys(problem for name in self.sweeps for problem in self.swept(kind, name)))

    def of_clicks(self) -> list[Problem]:
        """Return the problems in which all rules for clicks are compared."""
        return [self.clicks.with_(mean=mean) for mean in self.click_means]

    def risky(self) -> dict[str, list[Problem]]:
        """Return problems in which failures are likeliest: a large alpha, and noise that halts at the first tests."""
        mild, strong = self.base.with_(mean=0.1, alpha=0.9), self.base.with_(mean=0.5, alpha=0.9, epsilon=0.001)
        return {f"ε = {one.epsilon:g}": [one.with_(beta=beta) for beta in self.failure_betas] for one in (mild, strong)}

    def setting(self, rule: str, problem: Problem, runs: int | None = None) -> Setting:
        """Return the setting of one rule on one problem.

        Args:
            rule: Key of a rule.
            problem: The problem.
            runs: Number of runs; by default that of the sweeps.
        """
        options: dict[str, Any] = {"alpha": problem.alpha, "beta": problem.beta, **problem.range}
        if accepts(rule, "epsilon"):
            options["epsilon"] = problem.epsilon
        return setting_of(rule, problem.distribution, runs=runs or self.runs, seed=self.seed, **options)

    def without_privacy(self, rule: str, kind: str) -> Setting:
        """Return a private rule on the base problem, with negligible noise; for DP-NAS that is NAS.

        Args:
            rule: Key of a private rule.
            kind: A key of `ENDS`.
        """
        if rule == "dp-nas":
            return self.setting("nas", self.base.with_(kind=kind))
        return self.setting(rule, self.base.with_(kind=kind, epsilon=NO_PRIVACY))

    def settings(self) -> list[Setting]:
        """Return all settings, each once, the slowest first so that no worker waits for another at the end."""
        every = [self.setting(rule, one) for kind in ENDS for one, rule in product(self.problems(kind), RULES)]
        every += [self.without_privacy(rule, kind) for rule, kind in product(PRIVATE, ENDS)]
        risky = [one for problems in self.risky().values() for one in problems]
        every += [self.setting(rule, one, self.failure_runs) for one, rule in product(risky, RULES)]
        every += [self.setting(rule, one) for one, rule in product(self.of_clicks(), FOR_CLICKS)]
        every += self.distributions.settings()
        return sorted(dict.fromkeys(every), key=_cost, reverse=True)

    def run(self, **how: Any) -> "StoppingFindings":
        """Simulate everything that the store does not have yet.

        Args:
            **how: `engine`, `store` and `on_progress` of `simulate_all`.
        """
        return StoppingFindings(self, simulate_all(self.settings(), **how))


def _cost(setting: Setting) -> float:
    """About the seconds that a setting takes.

    EBStop looks at every sample, rules that test in blocks are objects, and the others skip ahead.
    """
    if setting.algorithm == "ebstop":
        return float(setting.runs * 5e-7 / (setting.distribution.mean * dict(setting.options)["alpha"]) ** 2)
    return setting.runs * (1e-3 if setting.algorithm in {"dp-exp-nas", "dp-nas-released", "dp-bernstein"} else 1e-4)


class StoppingFindings(Findings[StoppingStudy]):
    """The results of a study, looked up by rule and problem."""

    def of(self, rule: str, problem: Problem) -> Simulation:
        """Return the result of a rule on a problem of the sweeps.

        Args:
            rule: Key of a rule.
            problem: A problem of the sweeps.
        """
        return self[self.study.setting(rule, problem)]

    def risked(self, rule: str, problem: Problem) -> Simulation:
        """Return the result of a rule on one of the risky problems.

        Args:
            rule: Key of a rule.
            problem: A problem of `StoppingStudy.risky`.
        """
        return self[self.study.setting(rule, problem, self.study.failure_runs)]

    def distances(self, rule: str, kind: str) -> list[float]:
        """Return a rule's mean number of samples over the least possible one, in each problem of one kind.

        Problems that differ in epsilon alone are one problem to a rule that is not private.

        Args:
            rule: Key of a rule.
            kind: A key of `ENDS`.
        """
        different = {self.study.setting(rule, one): one for one in self.study.problems(kind)}
        return [
            float(self[setting].samples.mean()) / one.lower_bound(rule in PRIVATE) for setting, one in different.items()
        ]

    @cached_property
    def distribution_rows(self) -> list[dict[str, Any]]:
        """A row for each distribution, accuracy and epsilon, with all private rules on such samples."""
        return self.study.distributions.rows(self.__getitem__)

    def guaranteed(self, kind: str) -> list[float]:
        """Return Theorem 3.3's bound over the least possible number of samples, in each problem of one kind."""
        return [one.upper_bound() / one.lower_bound() for one in self.study.problems(kind)]

    def shares_of_the_theorem(self) -> list[float]:
        """Return, by problem, the most samples that a run of DP exponential NAS took over Theorem 3.3's bound."""
        return [
            float(self.of("dp-exp-nas", one).samples.max()) / one.upper_bound()
            for kind in ENDS
            for one in self.study.problems(kind)
        ]

    def prices(self, rule: str, kind: str) -> list[float]:
        """Return the price of privacy at each epsilon of the sweep: mean samples more than without it.

        DP-NAS is compared with NAS, and any other rule with itself at an epsilon of 1e9.

        Args:
            rule: Key of a private rule.
            kind: A key of `ENDS`.
        """
        plain = self[self.study.without_privacy(rule, kind)].samples.mean()
        return [float(self.of(rule, one).samples.mean() - plain) for one in self.study.swept(kind, "epsilon")]

    def predicted_prices(self, kind: str) -> list[float]:
        """Return the prices of DP-NAS that its thresholds predict, for samples at their mean and without noise."""
        return [_typical("dp-nas", one) - _typical("nas", one) for one in self.study.swept(kind, "epsilon")]


def _typical(rule: str, problem: Problem) -> float:
    return float(theory.typical_samples(rule, *problem.given, **problem.range))


def slope(epsilons: Sequence[float], prices: Sequence[float]) -> float:
    """Return the slope of log price against log 1/epsilon.

    Args:
        epsilons: Privacy parameters.
        prices: The price at each.

    >>> round(slope([0.1, 0.01, 0.001], [30, 300, 3000]), 6)
    1.0
    """
    return float(-np.polyfit(np.log(epsilons), np.log(prices), 1)[0])
