"""The league: every private policy on the paper's instances and on rare rewards, measured by the lower bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from discreet.bandits.dp_ucb import PRESETS
from discreet.lab.engines import Engine
from discreet.lab.instances import ARMS as ARMS_OF
from discreet.lab.instances import PAPER, RARE
from discreet.lab.results import Results, Simulation
from discreet.lab.setting import ARMS, HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.lab.store import Store
from discreet.theory import regret_lower_bound

RECOMMENDED, BASELINE = "dp-chernoff-imed", "dp-se"
POLICIES = (
    RECOMMENDED, "dp-imed", "dp-klucb", "dp-paired-imed", "dp-se-sharp", "lazy-dp-ts", "adap-klucb", "adap-ucb",
    "lazy-ucb", BASELINE, "dp-ucb-hybrid", "dp-se-modified", "dp-se-svt", "dp-ucb",
)  # fmt: skip
QUICK = (RECOMMENDED, "dp-imed", "dp-klucb", "dp-paired-imed", "dp-se-sharp", "adap-klucb", "adap-ucb", "lazy-ucb")
"""Policies whose kernels take a fraction of a millisecond a run: many runs with five arms, which show far tails."""
SLOW = ("lazy-dp-ts",)
"""Policies that draw numbers at steps where arms are close: some 0.1 s a run, and in a crowd up to 25 s."""
CROWD = 20
"""So many arms and more: where slow policies get the fewest runs."""
FAR_TAIL = 0.999

Place = tuple[str, int | None, float]
"""An instance, its number of arms (None: its own) and an epsilon."""


@dataclass(frozen=True, slots=True)
class LeagueStudy:
    """What to simulate."""

    horizon: int = HORIZON
    runs: int = RUNS
    slow_runs: int = 10
    """Of the slow policies."""
    crowd_runs: int = 2
    """The same in a crowd: their regret varies little from run to run, and more would take many minutes."""
    many_runs: int = 1000
    """Of the quick policies, with five arms."""
    seed: int = SEED
    arms: tuple[int, ...] = (3, 5, 10, 20)
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    policies: tuple[str, ...] = POLICIES

    @classmethod
    def quick(cls, **changes: Any) -> LeagueStudy:
        """A small one: five arms, two epsilons, few runs, and not the slow policies."""
        fast = tuple(name for name in POLICIES if name not in SLOW)
        small: dict[str, Any] = {"runs": 3, "many_runs": 100, "arms": (ARMS,), "epsilons": (0.1, 1.0)}
        return cls(**{**small, "policies": fast, **changes})

    def places(self) -> dict[str, list[Place]]:
        """Where policies meet: on the paper's instances, and on rare rewards."""
        return {
            "paper": [(name, arms, epsilon) for arms in self.arms for name in PAPER for epsilon in self.epsilons],
            "rare": [(name, None, epsilon) for name in RARE for epsilon in self.epsilons],
        }

    def runs_of(self, policy: str, place: Place) -> int:
        """How many runs a policy gets at a place."""
        if policy in QUICK and place[1] == ARMS:
            return self.many_runs
        if policy in SLOW:
            return min(self.runs, self.crowd_runs if crowd(place) >= CROWD else self.slow_runs)
        return self.runs

    def setting(self, policy: str, place: Place) -> Setting:
        """A policy at a place."""
        return _setting(policy, *place, (self.horizon, self.runs_of(policy, place), self.seed))

    def settings(self) -> list[Setting]:
        """Everything, the slowest first so that no worker waits for another at the end."""
        places = [place for kind in self.places().values() for place in kind]
        order = sorted(self.policies, key=lambda policy: (policy not in SLOW, policy != "dp-ucb"))
        return [self.setting(policy, place) for policy in order for place in sorted(places, key=crowd, reverse=True)]

    def run(
        self,
        engine: Engine | None = None,
        store: Store | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> LeagueFindings:
        """Simulate everything that the store does not have yet."""
        return LeagueFindings(self, simulate_all(self.settings(), engine, store=store, on_progress=on_progress))


def crowd(place: Place) -> int:
    """How many arms meet at a place."""
    return ARMS_OF.get(place[0], ARMS) if place[1] is None else place[1]


@cache
def _setting(policy: str, name: str, arms: int | None, epsilon: float, rest: tuple[int, int, int]) -> Setting:
    """Built once. The paper's two policies as its evaluation has them, so that a store gives them back."""
    horizon, runs, seed = rest
    as_there = {BASELINE: {}, "dp-ucb": {"preset": PRESETS[0]}}  # type: dict[str, dict[str, Any]]
    more = as_there.get(policy, {"checkpoints": [horizon]})  # a league looks at the end
    return Setting.of(policy, name, arms=arms, horizon=horizon, runs=runs, seed=seed, epsilon=epsilon, **more)


class LeagueFindings:
    """The results of the league, looked up by policy and place."""

    def __init__(self, study: LeagueStudy, results: Results) -> None:
        self.study = study
        self.results = results
        self._by_setting = {one.setting: one for one in results}

    def of(self, policy: str, place: Place) -> Simulation:
        """A policy at a place."""
        return self._by_setting[self.study.setting(policy, place)]

    def bound(self, place: Place) -> float:
        """The lower bound at a place."""
        means = self.study.setting(BASELINE, place).instance.means
        return float(regret_lower_bound(means, self.study.horizon, place[2]))

    def ratios(self, policy: str, kind: str) -> list[float]:
        """A policy's mean regret over the lower bound, place by place."""
        return [self.of(policy, place).mean / self.bound(place) for place in self.study.places()[kind]]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every policy at every place, in numbers."""
        return [
            {"kind": kind, **self._row(policy, place)}
            for kind, places in self.study.places().items()
            for place in places
            for policy in self.study.policies
        ]

    def _row(self, policy: str, place: Place) -> dict[str, Any]:
        one = self.of(policy, place)
        return {
            "policy": policy,
            "instance": place[0],
            "arms": len(one.setting.instance),
            "epsilon": place[2],
            "runs": len(one.final),
            "mean": one.mean,
            "q95": float(np.quantile(one.final, 0.95)),
            "q999": float(np.quantile(one.final, FAR_TAIL)),
            "worst": float(one.final.max()),
            "stuck": int(one.failed.sum()),
            "lower_bound": self.bound(place),
            "over_lower_bound": one.mean / self.bound(place),
            "over_dp_se": one.mean / self.of(BASELINE, place).mean,
        }


def standings(rows: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """A row for each policy, the best first: its distance from the lower bound and from DP-SE over all places."""
    table = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        mine = [row for row in rows if row["policy"] == policy and row["kind"] == kind]
        if mine:
            over = [row["over_lower_bound"] for row in mine]
            to_dp_se = [row["over_dp_se"] for row in mine]
            table.append(
                {
                    "policy": policy,
                    "places": len(mine),
                    "runs": sum(row["runs"] for row in mine),
                    "median": float(np.median(over)),
                    "worst": max(over),
                    "far": max(row["q999"] / row["lower_bound"] for row in mine),
                    "to_dp_se": float(np.median(to_dp_se)),
                    "to_dp_se_worst": max(to_dp_se),
                    "stuck": sum(row["stuck"] for row in mine),
                }
            )
    return sorted(table, key=lambda row: row["median"])
