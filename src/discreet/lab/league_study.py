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
    RECOMMENDED, "dp-imed", "dp-klucb", "dp-paired-imed", "lazy-dp-ts", "adap-klucb", "adap-ucb", "lazy-ucb", BASELINE,
    "dp-se-modified", "dp-se-svt", "dp-ucb",
)  # fmt: skip
QUICK = (RECOMMENDED, "dp-imed", "dp-klucb", "adap-klucb", "adap-ucb")
"""Policies whose kernels take a fraction of a millisecond a run: many runs with five arms, which show far tails."""
SLOW = ("lazy-dp-ts",)
"""Policies that draw numbers at every step: played with five arms only, and fewer runs."""
CROWD = 20
"""With so many arms and more, policies that are not quick get fewer runs too."""
FAR_TAIL = 0.999

Place = tuple[str, int | None, float]
"""An instance, its number of arms (None: its own) and an epsilon."""


@dataclass(frozen=True, slots=True)
class LeagueStudy:
    """What to simulate."""

    horizon: int = HORIZON
    runs: int = RUNS
    slow_runs: int = 10
    many_runs: int = 1000
    """Of the quick policies, with five arms."""
    seed: int = SEED
    arms: tuple[int, ...] = (3, 5, 10, 20)
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    policies: tuple[str, ...] = POLICIES

    @classmethod
    def quick(cls, **changes: Any) -> LeagueStudy:
        """A small one: five arms, few runs, and not the slow policies."""
        fast = tuple(name for name in POLICIES if name not in SLOW)
        return cls(**{"runs": 3, "many_runs": 100, "arms": (ARMS,), "policies": fast, **changes})

    def places(self) -> dict[str, list[Place]]:
        """Where policies meet: on the paper's instances, and on rare rewards."""
        return {
            "paper": [(name, arms, epsilon) for arms in self.arms for name in PAPER for epsilon in self.epsilons],
            "rare": [(name, None, epsilon) for name in RARE for epsilon in self.epsilons],
        }

    def setting(self, policy: str, place: Place) -> Setting | None:
        """A policy at a place; None where it is not played."""
        name, arms, epsilon = place
        if policy in SLOW and (arms != ARMS):
            return None
        many = policy in QUICK and arms == ARMS
        crowd = ARMS_OF.get(name, ARMS) if arms is None else arms
        known = policy in (*QUICK, BASELINE) or (policy == "dp-ucb" and arms is not None)  # quick, or simulated already
        slow = policy in SLOW or (crowd >= CROWD and not known)
        runs = self.many_runs if many else min(self.slow_runs, self.runs) if slow else self.runs
        return _setting(policy, name, arms, epsilon, (self.horizon, runs, self.seed))

    def settings(self) -> list[Setting]:
        """Everything, the slowest first so that no worker waits for another at the end."""
        places = [place for kind in self.places().values() for place in kind]
        order = sorted(self.policies, key=lambda policy: policy not in (*SLOW, "dp-ucb", "lazy-ucb"))
        by_size = sorted(places, key=lambda place: -(place[1] or 50))
        found = [self.setting(policy, place) for policy in order for place in by_size]
        return [setting for setting in found if setting is not None]

    def run(
        self,
        engine: Engine | None = None,
        store: Store | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> LeagueFindings:
        """Simulate everything that the store does not have yet."""
        return LeagueFindings(self, simulate_all(self.settings(), engine, store=store, on_progress=on_progress))


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

    def of(self, policy: str, place: Place) -> Simulation | None:
        """A policy at a place; None where it was not played."""
        setting = self.study.setting(policy, place)
        return None if setting is None else self._by_setting[setting]

    def bound(self, place: Place) -> float:
        """The lower bound at a place."""
        setting = self.study.setting(BASELINE, place)
        assert setting is not None
        return float(regret_lower_bound(setting.instance.means, self.study.horizon, place[2]))

    def ratios(self, policy: str, kind: str) -> list[float]:
        """A policy's mean regret over the lower bound, wherever it was played."""
        played = [(place, self.of(policy, place)) for place in self.study.places()[kind]]
        return [one.mean / self.bound(place) for place, one in played if one is not None]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every policy at every place, in numbers."""
        found = []
        for kind, places in self.study.places().items():
            for place in places:
                baseline = self.of(BASELINE, place)
                for policy in self.study.policies:
                    one = self.of(policy, place)
                    if one is not None and baseline is not None:
                        found.append({"kind": kind, **self._row(policy, place, one, baseline.mean)})
        return found

    def _row(self, policy: str, place: Place, one: Simulation, baseline: float) -> dict[str, Any]:
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
            "over_dp_se": one.mean / baseline,
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
