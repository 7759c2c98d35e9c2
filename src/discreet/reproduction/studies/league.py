"""The league: every private policy on the paper's instances and on rare rewards, measured by the lower bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np

from discreet.lab.instances import ARMS as ARMS_OF
from discreet.lab.instances import PAPER, RARE
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS, HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.reproduction._findings import Findings, setting_of
from discreet.reproduction.studies.evaluation import DEFAULT, RECOMMENDED, WITHDRAWN, Evaluation
from discreet.theory import regret_lower_bound

BASELINE = "dp-se"
POLICIES = (
    RECOMMENDED, "dp-imed", "dp-klucb", "dp-paired-imed", "dp-se-sharp", "lazy-dp-ts", "adap-klucb", "adap-ucb",
    "lazy-ucb", BASELINE, "dp-ucb-hybrid", "dp-se-modified", "dp-se-svt", "dp-ucb",
)  # fmt: skip
QUICK = (RECOMMENDED, "dp-imed", "dp-klucb", "dp-paired-imed", "dp-se-sharp", "adap-klucb", "adap-ucb", "lazy-ucb")
"""Policies whose kernels take a fraction of a millisecond a run: many runs with five arms, which show far tails."""
SLOW = ("lazy-dp-ts",)
"""Policies that draw numbers at steps where arms are close: some 0.1 s a run, and with many arms up to 30 s."""
MANY_ARMS = 20
"""From this number of arms on, slow policies get the fewest runs."""
FAR_TAIL = 0.999

Place = tuple[str, int | None, float]
"""An instance, its number of arms (None: its own) and an epsilon."""


@dataclass(frozen=True, slots=True)
class LeagueStudy:
    """The settings to simulate.

    Args:
        horizon: Pulls of a run.
        runs: Runs of most policies.
        slow_runs: Runs of slow policies.
        slowest_runs: The same with many arms: their regret varies little, and each run takes up to half a minute.
        many_runs: Runs of quick policies with five arms.
        seed: Seed of all runs.
        arms: Numbers of arms of the paper's instances.
        epsilons: Privacy parameters.
        policies: Keys of policies.
    """

    horizon: int = HORIZON
    runs: int = RUNS
    slow_runs: int = 10
    slowest_runs: int = 1
    many_runs: int = 1000
    seed: int = SEED
    arms: tuple[int, ...] = (3, 5, 10, 20)
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    policies: tuple[str, ...] = POLICIES

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: five arms, two epsilons, few runs, and not the slow policies."""
        fast = tuple(name for name in POLICIES if name not in SLOW)
        small: dict[str, Any] = {"runs": 3, "many_runs": 100, "arms": (ARMS,), "epsilons": (0.1, 1.0)}
        return cls(**{**small, "policies": fast, **changes})

    def places(self) -> dict[str, list[Place]]:
        """Return the places where policies are compared: the paper's instances, and rare rewards."""
        return {
            "paper": [(name, arms, epsilon) for arms, name, epsilon in product(self.arms, PAPER, self.epsilons)],
            "rare": [(name, None, epsilon) for name, epsilon in product(RARE, self.epsilons)],
        }

    def runs_of(self, policy: str, place: Place) -> int:
        """Return the number of runs of a policy at a place.

        Args:
            policy: Key of a policy.
            place: One of `places`.
        """
        if policy in QUICK and place[1] == ARMS:
            return self.many_runs
        if policy == "dp-ucb":
            return Evaluation(runs=self.runs).runs_of(DEFAULT, ARMS)
        if policy in SLOW:
            return min(self.runs, self.slowest_runs if arms_at(place) >= MANY_ARMS else self.slow_runs)
        return self.runs

    def setting(self, policy: str, place: Place) -> Setting:
        """Return the setting of a policy at a place.

        Args:
            policy: Key of a policy.
            place: One of `places`.
        """
        name, arms, epsilon = place
        common: dict[str, Any] = {"horizon": self.horizon, "runs": self.runs_of(policy, place), "seed": self.seed}
        # Those of the evaluation are as it has them, so that a store has them.
        as_there: dict[str, dict[str, Any]] = {key: {} for key in (BASELINE, *WITHDRAWN)}
        as_there["dp-ucb"] = {"preset": DEFAULT}
        more = as_there.get(policy, {"checkpoints": (self.horizon,)})  # a league looks at the end
        return setting_of(policy, name, arms=arms, epsilon=epsilon, **common, **more)

    def settings(self) -> list[Setting]:
        """Return all settings, the slowest first so that no worker waits for another at the end."""
        places = sorted((place for kind in self.places().values() for place in kind), key=arms_at, reverse=True)
        order = sorted(self.policies, key=lambda policy: (policy not in SLOW, policy != "dp-ucb"))
        return [self.setting(policy, place) for policy, place in product(order, places)]

    def run(self, **how: Any) -> "LeagueFindings":
        """Simulate everything that the store does not have yet.

        Args:
            **how: `engine`, `store` and `on_progress` of `simulate_all`.
        """
        return LeagueFindings(self, simulate_all(self.settings(), **how))


def arms_at(place: Place) -> int:
    """Return the number of arms at a place."""
    return ARMS_OF.get(place[0], ARMS) if place[1] is None else place[1]


class LeagueFindings(Findings[LeagueStudy]):
    """The results of the league, looked up by policy and place."""

    def of(self, policy: str, place: Place) -> Simulation:
        """Return the result of a policy at a place.

        Args:
            policy: Key of a policy.
            place: One of `LeagueStudy.places`.
        """
        return self[self.study.setting(policy, place)]

    def bound(self, place: Place) -> float:
        """Return the lower bound on the regret at a place."""
        means = self.study.setting(BASELINE, place).instance.means
        return float(regret_lower_bound(means, self.study.horizon, place[2]))

    def ratios(self, policy: str, kind: str) -> list[float]:
        """Return a policy's mean regret over the lower bound, place by place.

        Args:
            policy: Key of a policy.
            kind: "paper" or "rare".
        """
        return [self.of(policy, place).mean / self.bound(place) for place in self.study.places()[kind]]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row of numbers for every policy at every place."""
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
    """Return a row for each policy, the best first: its distance from the lower bound and from DP-SE over all places.

    Args:
        rows: `LeagueFindings.rows`.
        kind: "paper" or "rare".
    """
    by_policy: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] == kind:
            by_policy.setdefault(row["policy"], []).append(row)
    table = [
        {
            "policy": policy,
            "places": len(mine),
            "runs": sum(row["runs"] for row in mine),
            "median": float(np.median([row["over_lower_bound"] for row in mine])),
            "worst": max(row["over_lower_bound"] for row in mine),
            "far": max(row["q999"] / row["lower_bound"] for row in mine),
            "to_dp_se": float(np.median([row["over_dp_se"] for row in mine])),
            "to_dp_se_worst": max(row["over_dp_se"] for row in mine),
            "stuck": sum(row["stuck"] for row in mine),
        }
        for policy, mine in by_policy.items()
    ]
    return sorted(table, key=lambda row: row["median"])
