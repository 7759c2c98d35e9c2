"""Evidence at any time: widths of intervals, how often they miss, and the pulls that it takes to find the best arm."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from discreet._pictures import MARKERS, PALETTE, STYLES, Cloud, Colour, Line, Panel, Picture
from discreet.lab.arms import Bernoulli
from discreet.lab.instances import Instance, instance
from discreet.lab.results import Simulation
from discreet.lab.setting import SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.reproduction._findings import Findings, setting_of
from discreet.reproduction.studies.looks import first_misses, widths

SHARP, EVIDENCE = "dp-bai-sharp", "dp-bai-evidence"
BETA = 0.05
RARE = Instance("5, 4 and 3 %", tuple(map(Bernoulli, (0.05, 0.04, 0.03))))
_PULLS = 10**9  # far more than any search takes
FORMS = ("any schedule", "aimed at this size", "exact", "lift")
"""The intervals whose widths are compared."""


class Cell(NamedTuple):
    """A rate and an epsilon whose intervals are simulated."""

    rate: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class EvidenceStudy:
    """The settings to simulate.

    Args:
        runs: Searches for the best arm, of each setting.
        epsilons: Epsilons of searches.
        rates: Rates of arms whose intervals are looked at.
        budgets: Epsilons of intervals.
        sizes: Numbers of rewards at which widths are compared.
        looked: Runs of each cell in which intervals are looked at.
        last: The rewards of such a run.
        seed: Seed of all runs.
    """

    runs: int = 1000
    epsilons: tuple[float, ...] = (0.25, 1.0)
    rates: tuple[float, ...] = (0.005, 0.03, 0.1, 0.5)
    budgets: tuple[float, ...] = (0.1, 1.0, 3.0)
    sizes: tuple[int, ...] = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    looked: int = 20_000
    last: int = 100_000
    seed: int = SEED

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: two rates, few sizes, few runs."""
        small: dict[str, Any] = {"runs": 50, "rates": (0.03, 0.5), "sizes": (1000, 10_000, 100_000), "looked": 2000}
        return cls(**{**small, **changes})

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The paper's instances, and one of rare rewards."""
        return (*map(instance, ("C1", "C2", "C3", "C4")), RARE)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The rates and epsilons whose intervals are simulated."""
        return tuple(Cell(rate, epsilon) for epsilon in self.budgets for rate in self.rates)

    def search(self, algorithm: str, on: Instance, epsilon: float) -> Setting:
        """Return the setting of a search for the best arm.

        Args:
            algorithm: The key of the policy.
            on: The instance.
            epsilon: The privacy parameter.
        """
        return setting_of(
            algorithm, on, epsilon=epsilon, beta=BETA, horizon=_PULLS, runs=self.runs, seed=self.seed,
            checkpoints=(_PULLS,),
        )  # fmt: skip

    def settings(self) -> list[Setting]:
        """Return all settings."""
        both = (SHARP, EVIDENCE)
        return [self.search(key, on, epsilon) for epsilon in self.epsilons for on in self.instances for key in both]

    def run(self, **how: Any) -> "EvidenceFindings":
        """Simulate everything that the store does not have yet.

        Args:
            **how: `engine`, `store` and `on_progress` of `simulate_all`.
        """
        return EvidenceFindings(self, simulate_all(self.settings(), **how))


class EvidenceFindings(Findings[EvidenceStudy]):
    """The results of the study."""

    def search(self, algorithm: str, on: Instance, epsilon: float) -> Simulation:
        """Return the result of a search.

        Args:
            algorithm: The key of the policy.
            on: The instance.
            epsilon: The privacy parameter.
        """
        return self[self.study.search(algorithm, on, epsilon)]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each instance and epsilon: the pulls of both searches, their ratio, and wrong answers."""
        rows = []
        for epsilon in self.study.epsilons:
            for on in self.study.instances:
                sharp, ours = (self.search(key, on, epsilon) for key in (SHARP, EVIDENCE))
                pulls = {key: people(one) for key, one in ((SHARP, sharp), (EVIDENCE, ours))}
                late = {key: float(np.quantile(each, 0.95)) for key, each in pulls.items()}
                row: dict[str, Any] = {
                    "instance": on.name,
                    "arms": len(on),
                    "epsilon": epsilon,
                    "runs": self.study.runs,
                }
                row |= {"sharp": float(pulls[SHARP].mean()), "evidence": float(pulls[EVIDENCE].mean())}
                row |= {"fewer": row["sharp"] / row["evidence"], "fewer_95": late[SHARP] / late[EVIDENCE]}
                rows.append(row | {"wrong": int(ours.failed.sum()), "wrong_sharp": int(sharp.failed.sum())})
        return rows

    @property
    def mean_fewer(self) -> float:
        """The geometric mean of how many times fewer pulls searches by evidence take."""
        return float(np.exp(np.mean([np.log(row["fewer"]) for row in self.rows])))

    @cached_property
    def width_rows(self) -> list[dict[str, Any]]:
        """A row for each rate, epsilon and size: widths of intervals over that of one look without noise."""
        return [
            {"rate": cell.rate, "epsilon": cell.epsilon, "rewards": size, **widths(cell.rate, size, cell.epsilon)}
            for cell in self.study.cells
            for size in self.study.sizes
        ]

    @cached_property
    def missed(self) -> dict[Cell, tuple[list[int], NDArray[np.int64]]]:
        """For each cell the ends of blocks, and the look at which each run's interval first misses the rate."""
        given = self.study.last, self.study.looked
        return {
            cell: first_misses(cell.rate, given[0], cell.epsilon, given[1], (self.study.seed, index))
            for index, cell in enumerate(self.study.cells)
        }

    def miscoverage(self, cell: Cell) -> float:
        """Return the share of runs in which an interval missed the rate at any look."""
        ends, first = self.missed[cell]
        return float((first < len(ends)).mean())


def people(one: Simulation) -> NDArray[np.int64]:
    """Return the pulls of each search until one arm was left."""
    last: NDArray[np.int64] = one.dropped.max(axis=1)
    return last


def evidence_headlines(found: EvidenceFindings) -> list[str]:
    """Return the findings in sentences, all computed."""
    study, rows = found.study, found.rows
    wrong, least = sum(row["wrong"] for row in rows), min(rows, key=lambda row: row["fewer"])
    near = [row for row in found.width_rows if row["epsilon"] >= 1 and row["rewards"] >= 10_000 and row["rate"] >= 0.03]
    every = [found.miscoverage(cell) for cell in study.cells]

    def reach(name: str) -> str:
        values = [row[name] for row in near]
        return f"{min(values):.2f} to {max(values):.2f}"

    return [
        f"To find the best arm {EVIDENCE} takes {found.mean_fewer:.2f} times fewer pulls than {SHARP} for the same "
        f"promise (geometric mean of {len(rows)} settings; the least is {least['fewer']:.2f}, on {least['instance']} "
        f"at epsilon = {least['epsilon']:g}). It was wrong in {wrong} of {len(rows) * study.runs:,} searches.",
        f"Intervals that hold at all looks together are {reach('any schedule')} times as wide as the usual one for a "
        f"single look without noise, where epsilon is 1 or more, rates are 3 % or more and there are 10,000 rewards or "
        f"more; {reach('exact')} times if rewards are 0 or 1 and blocks fixed, {reach('aimed at this size')} times if "
        f"they are aimed at the size, and {reach('lift')} times for a lift of 10 %.",
        f"Over all looks at {study.last:,} rewards they missed the rate in {100 * min(every):.2f} to "
        f"{100 * max(every):.2f} % of {study.looked:,} runs of each of {len(every)} cells; 5 % is promised.",
    ]


def evidence_pictures(found: EvidenceFindings) -> list[Picture]:
    """Return the pictures: widths, coverage over looks, and pulls to find the best arm."""
    return [_widths_picture(found), _coverage_picture(found), _best_arm_picture(found)]


def _widths_picture(found: EvidenceFindings) -> Picture:
    panels, study = [], found.study
    ends = dict.fromkeys((study.rates[0], study.rates[-1]))
    for name in FORMS:
        lines = []
        for epsilon, colour, marker in zip(study.budgets, PALETTE, MARKERS, strict=False):
            for rate, style in zip(ends, STYLES, strict=False):
                rows = [row for row in found.width_rows if (row["rate"], row["epsilon"]) == (rate, epsilon)]
                times = [row[name] for row in rows]
                label = f"rate {100 * rate:g} %, ε = {epsilon:g}"
                lines.append(Line(label, study.sizes, times, colour, style, marker, size=3.0))
        lines.append(Line("one look, no noise", [study.sizes[0], study.sizes[-1]], [1, 1], Colour.GREY, "-", width=0.8))
        panels.append(
            Panel(name, lines, x_label="rewards of an arm", y_label="times as wide", x_log=True, y_from=0, y_to=5)
        )
    return Picture("evidence-widths", "Widths of intervals that hold at all looks together", panels)


def _coverage_picture(found: EvidenceFindings) -> Picture:
    panels, study = [], found.study
    for epsilon in study.budgets:
        lines = []
        for place, rate in enumerate(study.rates):
            ends, first = found.missed[Cell(rate, epsilon)]
            shares = [100 * float((first <= look).mean()) for look in range(len(ends))]
            look = PALETTE[place % len(PALETTE)], STYLES[place % len(STYLES)]
            lines.append(Line(f"rate {100 * rate:g} %", ends, shares, *look))
        lines.append(Line("promised at most", [min(ends), study.last], [5, 5], Colour.BLACK, "--", width=0.9))
        panels.append(
            Panel(f"ε = {epsilon:g}", lines, x_label="rewards", y_label="% of runs that missed", x_log=True, y_from=0,
                  y_to=5.4)
        )  # fmt: skip
    title = "Runs in which an interval has missed the rate by now, at any look"
    return Picture("evidence-coverage", title, panels, columns=len(panels), stretch=0.72)


def _best_arm_picture(found: EvidenceFindings) -> Picture:
    panels, study = [], found.study
    for epsilon in study.epsilons:
        clouds, ticks = [], []
        for place, on in enumerate(study.instances):
            (row,) = (one for one in found.rows if (one["instance"], one["epsilon"]) == (on.name, epsilon))
            for shift, key, colour in ((-0.2, SHARP, Colour.ORANGE), (0.2, EVIDENCE, Colour.BLUE)):
                values = people(found.search(key, on, epsilon))
                note = f"{row['fewer']:.2f} x" if key == EVIDENCE else ""
                clouds.append(Cloud(key if not place else "", place + shift, values, colour, "o", note))
            ticks.append((float(place), on.name))
        panels.append(
            Panel(f"ε = {epsilon:g}", clouds=clouds, ticks=ticks, x_label="", y_label="pulls until one arm is left",
                  y_log=True)
        )  # fmt: skip
    title = "Pulls to find the best arm, and how many times fewer on average"
    shown = [found.search(key, on, e) for e in study.epsilons for on in study.instances for key in (SHARP, EVIDENCE)]
    return Picture("evidence-best-arm", title, panels, columns=1, stretch=1.9, simulations=shown)
