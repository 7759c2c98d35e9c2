"""The stopping rules measured against their limits: what is simulated, and how to look it up.

The paper proves that DP exponential NAS is optimal up to constants, and measures nothing of it. This study counts the
samples that its rules take, on the paper's hard case (samples of -1 and 1) and on clicks (0 and 1), against each
parameter at a time; how often they break their promise; and what privacy costs. Two rules of our own are measured with
them, and on samples of many laws (`stopping_laws`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from discreet import theory
from discreet.lab.arms import Bernoulli, Discrete, Rewards
from discreet.lab.engines import Engine
from discreet.lab.setting import SEED
from discreet.lab.stopping import simulate_rules
from discreet.reproduction.distributions import LawGrid
from discreet.lab.stopping_results import StoppingRuns
from discreet.lab.stopping_setting import StoppingSetting
from discreet.lab.store import Store

PLAIN, PRIVATE = ("nas", "ebstop"), ("dp-nas", "dp-exp-nas", "dp-nas-released", "dp-bernstein")
RULES = (*PLAIN, *PRIVATE)
NO_PRIVACY = 1e9
"""An epsilon at which the noise is nothing: a rule without privacy."""
ENDS = {"signs": (-1.0, 1.0), "clicks": (0.0, 1.0)}
"""The two kinds of samples: laws on the ends of these ranges."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Samples of one kind and mean, and what is wanted of their mean."""

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
    def law(self) -> Rewards:
        """What the samples are drawn from."""
        if self.kind == "clicks":
            return Bernoulli(self.mean)
        high = round((1 + self.mean) / 2, 12)
        return Discrete((-1.0, 1.0), (round(1 - high, 12), high))

    def lower_bound(self, private: bool = True) -> float:
        """The least expected number of samples of any rule, or of any private one."""
        epsilon = self.epsilon if private else math.inf
        return float(theory.two_point_lower_bound(*self.given[:3], epsilon, **self.range))

    def upper_bound(self) -> float:
        """Theorem 3.3's t_U for DP exponential NAS; NaN where it says nothing."""
        return math.nan if self.beta > 0.08 else float(theory.stopping_upper_bound(*self.given, **self.range))

    def with_(self, **changes: Any) -> Problem:
        """The same with some fields changed."""
        return replace(self, **changes)


def spread(low: float, high: float, count: int) -> tuple[float, ...]:
    """Numbers from low to high with equal ratios, short enough to read.

    >>> spread(0.01, 1, 3)
    (0.01, 0.1, 1.0)
    """
    return tuple(float(f"{value:.3g}") for value in np.geomspace(low, high, count))


@dataclass(frozen=True, slots=True)
class StoppingStudy:
    """What to simulate: each sweep changes one field of the base problem, and there is one for each kind of samples."""

    runs: int = 100
    failure_runs: int = 1000
    seed: int = SEED
    base: Problem = Problem()
    means: tuple[float, ...] = spread(0.009, 0.9, 9)
    alphas: tuple[float, ...] = spread(0.009, 0.9, 9)
    epsilons: tuple[float, ...] = spread(0.0001, 10, 16)
    betas: tuple[float, ...] = spread(0.0005, 0.05, 5)
    failure_betas: tuple[float, ...] = spread(0.004, 0.4, 5)
    laws: LawGrid = field(default_factory=LawGrid)

    @classmethod
    def quick(cls, **changes: Any) -> StoppingStudy:
        """A small one: the same sweeps with few runs."""
        return cls(**{"runs": 5, "failure_runs": 50, "laws": LawGrid(runs=5), **changes})

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of samples."""
        return tuple(ENDS)

    @property
    def sweeps(self) -> dict[str, tuple[float, ...]]:
        """The values of each parameter that is swept."""
        return {"mean": self.means, "alpha": self.alphas, "epsilon": self.epsilons, "beta": self.betas}

    def swept(self, kind: str, name: str) -> list[Problem]:
        """The problems of a sweep."""
        return [self.base.with_(kind=kind, **{name: value}) for value in self.sweeps[name]]

    def problems(self, kind: str) -> list[Problem]:
        """Those of all sweeps, each once."""
        return list(dict.fromkeys(problem for name in self.sweeps for problem in self.swept(kind, name)))

    def risky(self) -> dict[str, list[Problem]]:
        """Problems in which a broken promise is likeliest: a large alpha, and noise that halts at the first tests."""
        mild, strong = self.base.with_(mean=0.1, alpha=0.9), self.base.with_(mean=0.5, alpha=0.9, epsilon=0.001)
        return {f"ε = {one.epsilon:g}": [one.with_(beta=beta) for beta in self.failure_betas] for one in (mild, strong)}

    def setting(self, rule: str, problem: Problem, runs: int | None = None) -> StoppingSetting:
        """One rule on one problem."""
        return _setting(rule, problem, runs or self.runs, self.seed)

    def without_privacy(self, rule: str, kind: str) -> StoppingSetting:
        """A private rule on the base problem, with no noise to speak of; for DP-NAS that is NAS."""
        if rule == "dp-nas":
            return self.setting("nas", self.base.with_(kind=kind))
        return self.setting(rule, self.base.with_(kind=kind, epsilon=NO_PRIVACY))

    def settings(self) -> list[StoppingSetting]:
        """Everything, each once, the slowest first so that no worker waits for another at the end."""
        every = [self.setting(rule, one) for kind in ENDS for one, rule in product(self.problems(kind), RULES)]
        every += [self.without_privacy(rule, kind) for rule, kind in product(PRIVATE, ENDS)]
        every += [
            self.setting(rule, one, self.failure_runs)
            for problems in self.risky().values()
            for one, rule in product(problems, RULES)
        ]
        every += self.laws.settings()
        # EBStop looks at every sample, rules that test in blocks are objects, and the others skip ahead.
        weight = {"ebstop": 1e-8, "dp-exp-nas": 1e-3, "dp-nas-released": 1e-3, "dp-bernstein": 1e-3}
        cost = {
            one: one.runs * (weight["ebstop"] / one.rewards.mean**2 / dict(one.options)["alpha"] ** 2 * 50
                             if one.rule == "ebstop" else weight.get(one.rule, 1e-4))
            for one in dict.fromkeys(every)
        }  # fmt: skip
        return sorted(cost, key=lambda one: -cost[one])

    def run(
        self,
        engine: Engine | None = None,
        store: Store | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> StoppingFindings:
        """Simulate everything that the store does not have yet."""
        return StoppingFindings(self, simulate_rules(self.settings(), engine, store=store, on_progress=on_progress))


@cache
def _setting(rule: str, problem: Problem, runs: int, seed: int) -> StoppingSetting:
    """Built once: figures and tables look every setting up many times, and building one builds its rule."""
    private = {"epsilon": problem.epsilon} if rule in PRIVATE else {}
    options: dict[str, Any] = {"alpha": problem.alpha, "beta": problem.beta, **problem.range}
    return StoppingSetting.of(rule, problem.law, runs=runs, seed=seed, **options, **private)


class StoppingFindings:
    """The results of a study, looked up by rule and problem."""

    def __init__(self, study: StoppingStudy, results: Sequence[StoppingRuns]) -> None:
        self.study = study
        self.results = list(results)
        self._by_setting = {one.setting: one for one in results}

    def __getitem__(self, setting: StoppingSetting) -> StoppingRuns:
        return self._by_setting[setting]

    def of(self, rule: str, problem: Problem) -> StoppingRuns:
        """A rule on a problem of the sweeps."""
        return self[self.study.setting(rule, problem)]

    def risked(self, rule: str, problem: Problem) -> StoppingRuns:
        """A rule on one of the risky problems."""
        return self[self.study.setting(rule, problem, self.study.failure_runs)]

    def distances(self, rule: str, kind: str) -> list[float]:
        """In each problem of one kind: a rule's mean number of samples over the least possible one.

        Problems that differ in epsilon alone are one problem to a rule that is not private.
        """
        different = {self.study.setting(rule, one): one for one in self.study.problems(kind)}
        return [
            float(self[setting].samples.mean()) / one.lower_bound(rule in PRIVATE) for setting, one in different.items()
        ]

    @cached_property
    def law_rows(self) -> list[dict[str, Any]]:
        """Private rules on samples of many laws: a row for each law, accuracy and epsilon."""
        return self.study.laws.rows(self.__getitem__)

    def guaranteed(self, kind: str) -> list[float]:
        """In each problem of one kind: Theorem 3.3's bound over the least possible number of samples."""
        return [one.upper_bound() / one.lower_bound() for one in self.study.problems(kind)]

    def shares_of_the_theorem(self) -> list[float]:
        """In each problem: the most samples that a run of DP exponential NAS took over Theorem 3.3's bound."""
        return [
            float(self.of("dp-exp-nas", one).samples.max()) / one.upper_bound()
            for kind in ENDS
            for one in self.study.problems(kind)
        ]

    def prices(self, rule: str, kind: str) -> list[float]:
        """What privacy costs at each epsilon of the sweep: mean samples more than without it.

        DP-NAS is compared with NAS, and any other rule with itself at an epsilon of 1e9.
        """
        swept = self.study.swept(kind, "epsilon")
        plain = self[self.study.without_privacy(rule, kind)]
        return [float(self.of(rule, one).samples.mean() - plain.samples.mean()) for one in swept]

    def predicted_prices(self, kind: str) -> list[float]:
        """The same for DP-NAS as the thresholds predict it, for samples at their mean and without noise."""
        swept = self.study.swept(kind, "epsilon")
        return [typical("dp-nas", one) - typical("nas", one) for one in swept]


def typical(rule: str, problem: Problem) -> float:
    """About how many samples a rule takes, read off its thresholds."""
    return float(theory.typical_samples(rule, *problem.given, **problem.range))


def slope(epsilons: Sequence[float], prices: Sequence[float]) -> float:
    """The slope of log price against log 1/epsilon.

    >>> round(slope([0.1, 0.01, 0.001], [30, 300, 3000]), 6)
    1.0
    """
    return float(-np.polyfit(np.log(epsilons), np.log(prices), 1)[0])
