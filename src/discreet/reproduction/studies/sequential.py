"""Sequential tests: samples over the least possible, and A/B tests in units of the usual test's size."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet._pictures import MARKERS, Colour, Line, Panel, Picture
from discreet.core.grid import Grid
from discreet.core.probability.divergences import kl, private_kl
from discreet.lab.setting import SEED, Setting
from discreet.reproduction._findings import Findings
from discreet.sequential import DPOpenEndedTest, DPTwoSampleTest
from discreet.sequential._chernoff import chernoff_plan
from discreet.sequential._designs import MeanDesign
from discreet.sequential._joint import OpenRule
from discreet.sequential._simple import simple_plan
from discreet.sequential._simulated import course_of
from discreet.sequential._two_sample_runs import open_runs_of, runs_of

ALPHA = BETA = 0.05
"""Errors of tests between two means; A/B tests have the usual beta of 0.2."""
MISS = 0.2
KINDS = {
    "planned_better": "planned, B is better",
    "planned_not": "planned, it is not",
    "planned_most": "planned, at most",
    "open_better": "without an end, B is better",
    "twin_better": "the same without privacy",
}
"""The people of A/B tests that are compared with those of the usual test."""
SIDES = ("under_null", "under_alternative")
_WIDTH = Grid(0.0, 1.0).width


@dataclass(frozen=True, slots=True)
class Pair:
    """A test between two means."""

    null: float
    alternative: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class Lead:
    """An A/B test: the control's rate, and the lift that is looked for."""

    base: float
    lift: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class SequentialStudy:
    """The tests to plan and to simulate.

    Args:
        means: Both means of tests between two.
        leads: Rates and lifts of A/B tests.
        epsilons: Epsilons of tests between two means.
        budgets: Epsilons of A/B tests.
        runs: Runs of each planned A/B test, and of each test by evidence.
        open_runs: Runs of each test without an end.
        seed: Seed of all runs.
    """

    means: tuple[tuple[float, float], ...] = ((0.3, 0.7), (0.45, 0.55), (0.03, 0.04), (0.1, 0.15), (0.5, 0.6))
    leads: tuple[tuple[float, float], ...] = ((0.03, 0.1), (0.03, 0.2), (0.3, 0.1), (0.3, 0.2))
    epsilons: tuple[float, ...] = (0.01, 0.1, 1.0)
    budgets: tuple[float, ...] = (0.1, 1.0)
    runs: int = 20_000
    open_runs: int = 4000
    seed: int = SEED

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: fewer means, few runs, one epsilon of A/B tests."""
        small: dict[str, Any] = {"means": ((0.3, 0.7), (0.1, 0.15)), "budgets": (1.0,), "runs": 2000, "open_runs": 200}
        return cls(**{**small, **changes})

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The tests between two means."""
        return tuple(Pair(*means, epsilon) for epsilon in self.epsilons for means in self.means)

    @property
    def ab_tests(self) -> tuple[Lead, ...]:
        """The A/B tests."""
        return tuple(Lead(*lead, epsilon) for epsilon in self.budgets for lead in self.leads)

    def settings(self) -> list[Setting]:
        """Return nothing: tests are planned by exact laws, and simulated many at once."""
        return []

    def run(self, **how: Any) -> "SequentialFindings":
        """Return the findings, which are computed when they are asked for.

        Args:
            **how: Taken as by other studies; there is nothing to store.
        """
        return SequentialFindings(self, [])


class SequentialFindings(Findings[SequentialStudy]):
    """The results of the study."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each pair of means: errors of the exact test, and samples over the lower bound."""
        return [{**asdict(pair), **_over_the_bound(pair, self.study.runs)} for pair in self.study.pairs]

    @cached_property
    def ab_rows(self) -> list[dict[str, Any]]:
        """A row for each A/B test: people in units of the usual test, chances to show B, and false alarms."""
        return [
            {**asdict(lead), **_next_to_the_usual(lead, self.study, [self.study.seed, index])}
            for index, lead in enumerate(self.study.ab_tests)
        ]


def _over_the_bound(pair: Pair, runs: int) -> dict[str, Any]:
    """Return errors and mean samples of both kinds of `dp-test`, in units of what every private test takes."""
    low, high, epsilon = pair.null, pair.alternative, pair.epsilon
    design = MeanDesign(low, high, ALPHA, BETA, epsilon, _WIDTH)
    exact, by_evidence = simple_plan(design), chernoff_plan(design)
    least = [kl(1 - ALPHA, BETA) / private_kl(*way, epsilon) for way in ((low, high), (1 - high, 1 - low))]
    found: dict[str, Any] = {"alpha": exact.alpha, "beta": exact.beta, "bound": max(least)}
    taken = [exact.mean_rewards(alternative=side) / bound for side, bound in zip((False, True), least, strict=True)]
    any_law = []
    for mean, bound in zip((low, high), least, strict=True):
        course = course_of(by_evidence, mean, runs)
        ends = course.above + course.below
        sizes = [by_evidence.rewards(look) for look in range(1, len(ends) + 1)]
        any_law.append(float(ends @ sizes / ends.sum()) / bound)
    return {**found, "under_null": taken[0], "under_alternative": taken[1], "any_law": max(any_law)}


def _next_to_the_usual(lead: Lead, study: SequentialStudy, seed: list[int]) -> dict[str, Any]:
    """Return the people of A/B tests of both kinds, over those of a test with one look and without privacy."""
    base, effect = lead.base, lead.base * lead.lift
    given: dict[str, Any] = {"epsilon": lead.epsilon, "base_rate": base, "effect": effect, "alpha": ALPHA}
    planned = DPTwoSampleTest(["A", "B"], beta=MISS, **given)
    plan, usual = planned.schedule, 2 * planned.usual
    rng = np.random.default_rng(seed)
    better, equal = (runs_of(plan, (base, rate), study.runs, rng) for rate in (base + effect, base))
    forever = DPOpenEndedTest(["A", "B"], beta=None, **given).rule
    taken = [
        open_runs_of(rule, (base, base + effect), study.open_runs, np.random.default_rng(seed)).people.mean() / usual
        for rule in (forever, without_noise(forever))
    ]
    sizes = better.people.mean() / usual, equal.people.mean() / usual, 2 * plan.block * plan.looks / usual
    return {
        **dict(zip(KINDS, map(float, (*sizes, *taken)), strict=True)),
        "usual": usual, "power": float(better.shown.mean()), "false_alarms": float(equal.shown.mean()),
    }  # fmt: skip


def without_noise(rule: OpenRule) -> OpenRule:
    """Return the twin of a test without an end that releases exact totals: the same blocks, evidence and level."""
    return replace(rule, better=replace(rule.better, epsilon=np.inf), lacks=replace(rule.lacks, epsilon=np.inf))


def sequential_headlines(found: SequentialFindings) -> list[str]:
    """Return the findings in sentences, all computed."""
    rows, study = found.rows, found.study
    exact, any_law = ([max(row[name] for name in names) for row in rows] for names in (SIDES, ("any_law",)))
    leads = [row for row in found.ab_rows if row["epsilon"] == max(study.budgets)]
    if_better, if_not, if_open = (_reach(leads, name) for name in ("planned_better", "planned_not", "open_better"))
    most = max(row["planned_most"] for row in leads)
    dearest = max(row["open_better"] / row["twin_better"] for row in leads)
    power, false = min(row["power"] for row in leads), max(row["false_alarms"] for row in leads)
    return [
        f"Tests between two means take {min(exact):.2f} to {max(exact):.2f} times the least mean number of samples of "
        f"any private test if samples are 0 or 1, and {min(any_law):.2f} to {max(any_law):.2f} times for samples of "
        f"any law ({len(rows)} pairs of means and epsilons, both errors {ALPHA:g}).",
        f"Planned A/B tests at epsilon = {max(study.budgets):g} take {if_better} times the people of the usual test "
        f"with one look and no privacy if B is better and {if_not} times if it is not; at most {most:.2f}. Of "
        f"{study.runs:,} runs of each they find it in {100 * power:.1f} % or more, and {100 * false:.1f} % or fewer "
        "are false alarms.",
        f"Without an end they take {if_open} times if B is better: {dearest:.2f} times their twins without privacy at "
        "most.",
    ]


def _reach(rows: Sequence[dict[str, Any]], name: str) -> str:
    values = [row[name] for row in rows]
    return f"{min(values):.2f} to {max(values):.2f}"


def sequential_pictures(found: SequentialFindings) -> list[Picture]:
    """Return the pictures: samples over the lower bound, and A/B tests in units of the usual test."""
    return [_bound_picture(found), _ab_picture(found)]


def _bound_picture(found: SequentialFindings) -> Picture:
    study, panels = found.study, []
    ticks = [(float(place), f"{low:g}\n{high:g}") for place, (low, high) in enumerate(study.means)]
    looks = {
        "under_null": ("0/1 samples, if the null hypothesis is true", Colour.BLUE),
        "under_alternative": ("0/1 samples, if the alternative is true", Colour.GREEN),
        "any_law": ("samples of any law, the longer of both", Colour.ORANGE),
    }
    for epsilon in study.epsilons:
        rows = [row for row in found.rows if row["epsilon"] == epsilon]
        lines = [
            Line(label, [place + shift for place in range(len(rows))], [row[name] for row in rows], colour, "", marker)
            for (name, (label, colour)), marker, shift in zip(looks.items(), MARKERS, (-0.12, 0.0, 0.12), strict=False)
        ]
        lines.append(_level_one("least possible", len(rows)))
        panels.append(
            Panel(f"ε = {epsilon:g}", lines, x_label="both means", y_label="times the bound", ticks=ticks, y_from=0,
                  y_to=3.2)
        )  # fmt: skip
    return Picture("tests-bound", "Samples of tests between two means", panels, columns=len(panels), stretch=0.72)


def _ab_picture(found: SequentialFindings) -> Picture:
    study, panels = found.study, []
    ticks = [(float(place), f"{100 * base:g} %\n+{100 * lift:g} %") for place, (base, lift) in enumerate(study.leads)]
    colours = (Colour.BLUE, Colour.GREEN, Colour.GREY, Colour.ORANGE, Colour.AMBER)
    highest = max(row[name] for row in found.ab_rows for name in KINDS)
    for epsilon in study.budgets:
        rows = [row for row in found.ab_rows if row["epsilon"] == epsilon]
        lines = []
        for (name, label), colour, marker, shift in zip(KINDS.items(), colours, MARKERS, range(-2, 3), strict=False):
            places = [place + 0.09 * shift for place in range(len(rows))]
            lines.append(Line(label, places, [row[name] for row in rows], colour, "", marker))
        lines.append(_level_one("usual test: one look, no privacy", len(rows)))
        panels.append(
            Panel(f"ε = {epsilon:g}", lines, x_label="A's rate, and the lift", y_label="times the people", ticks=ticks,
                  y_from=0, y_to=highest + 0.2)
        )  # fmt: skip
    return Picture("tests-ab", "People of A/B tests", panels, columns=len(panels))


def _level_one(label: str, ticks: int) -> Line:
    """Return a line at 1 above all ticks."""
    return Line(label, [-0.4, ticks - 0.6], [1, 1], Colour.BLACK, "--", width=0.9)
