"""The report of a reproduction: one HTML page that needs nothing else, and its figures as a page of Markdown."""

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from discreet import _version
from discreet._pictures import Picture
from discreet.core.registry import POLICIES
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS
from discreet.reproduction.headlines import sweep_cells
from discreet.reproduction.parts import Reproduced, headlines, is_preview
from discreet.reproduction.pictures.league import TITLES
from discreet.reproduction.pictures.stopping import KINDS, NAMES, SHORT
from discreet.reproduction.studies.bounds import bound_rows
from discreet.reproduction.studies.claim import CLAIM, CONFIDENCE, Ratio, Verdict, count_verdicts
from discreet.reproduction.studies.evaluation import PRECISION, Evaluation, EvaluationFindings
from discreet.reproduction.studies.league import LeagueFindings, standings
from discreet.reproduction.studies.sequential import KINDS as AB_KINDS
from discreet.reproduction.studies.stopping import RULES, StoppingFindings
from discreet.reproduction.tables import TABLES, number
from discreet.theory import two_point_lower_bound

PACKAGES = ("numpy", "opendp", "numba", "scipy", "matplotlib")


def render_page(
    found: Reproduced, pictures: Sequence[Picture], images: Mapping[str, str], tables: Sequence[str], seconds: float
) -> str:
    """Return the HTML page.

    Args:
        found: The results.
        pictures: The pictures, in order.
        images: PNG files in base64, by their picture's name.
        tables: Names of the tables that were written.
        seconds: Duration of the simulation.
    """
    return _render(
        "report.html",
        **_figures(found),
        pictures=[(one, images[one.name], [_row(shown) for shown in one.simulations]) for one in pictures],
        schedule=_schedule(found.paper.study),
        failures=[_bandit_row(one) for one in found.paper.results if one.failed.any()],
        results=found.paper.results,
        seconds=seconds,
        work=sum(one.seconds for study in found if study for one in study.results),
        versions=_versions(),
        preview=is_preview(found),
        tables={name: TABLES[name] for name in tables},
    )


def render_results(found: Reproduced) -> str:
    """Return the main figures as Markdown, which depends on the results alone."""
    return _render("results.md", **_figures(found), version=_version.__version__)


def _render(template: str, **content: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape  # noqa: PLC0415

    looks: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    loader = PackageLoader("discreet.reproduction")
    environment = Environment(loader=loader, autoescape=select_autoescape(), undefined=StrictUndefined, **looks)
    environment.filters["number"] = number
    environment.filters["ratio"] = _shown
    environment.filters["under"] = lambda pictures, key: [shown for shown in pictures if shown[0].name.startswith(key)]
    return environment.get_template(template).render(**content)


def _figures(found: Reproduced) -> dict[str, Any]:
    """Everything that both pages show; studies that were left out are None."""
    wanted = found.paper.study
    return {
        "headlines": headlines(found),
        "evaluation": wanted,
        "threshold": CLAIM,
        "confidence": CONFIDENCE,
        "precision": PRECISION,
        "default_arms": ARMS,
        "claim": _claim_tables(found.paper),
        "bounds": bound_rows(found),
        "constants": sweep_cells(found.paper) if wanted.extended else None,
        "league": _league(found.league) if found.league else None,
        "stopping": _stopping(found.stopping) if found.stopping else None,
        "evidence": {"study": found.evidence.study, "rows": found.evidence.rows} if found.evidence else None,
        "tests": {"study": found.tests.study, "rows": found.tests.rows, "ab": found.tests.ab_rows, "kinds": AB_KINDS}
        if found.tests
        else None,
        "roads": {"study": found.roads.study, "rows": found.roads.rows} if found.roads else None,
    }


def _claim_tables(found: EvaluationFindings) -> list[dict[str, Any]]:
    """For each form of DP-UCB: its ratio to DP-SE in every setting, and how many settings have each verdict."""
    wanted, tables = found.study, []
    for form in wanted.forms():
        rows: list[dict[str, Any]] = [
            {"instance": name, "arms": arms, "ratios": [found.ratio(name, arms, e, form) for e in wanted.epsilons]}
            for arms in wanted.arms
            for name in wanted.instances
        ]
        ratios: list[Ratio] = [ratio for row in rows for ratio in row["ratios"]]
        tables.append(
            {
                "form": form,
                "rows": rows,
                "runs": " or ".join(map(str, sorted({wanted.runs_of(form, arms) for arms in wanted.arms}))),
                "counts": {str(verdict): count for verdict, count in count_verdicts(ratios).items()},
                "least": min(ratios, key=lambda ratio: ratio.value),
                "largest": max(ratio.value for ratio in ratios),
                "below": sum(ratio.value < 1 for ratio in ratios),
            }
        )
    return tables


def _shown(ratio: Ratio) -> str:
    """A ratio with half the width of its interval, and a mark unless the claim holds."""
    mark = {Verdict.HOLDS: "", Verdict.FAILS: " ✗", Verdict.OPEN: " ?"}[ratio.verdict]
    digits = 1 if ratio.value >= 10 else 2
    return f"{ratio.value:.{digits}f} ± {max(ratio.high - ratio.value, ratio.value - ratio.low):.{digits}f}{mark}"


def _league(found: LeagueFindings) -> dict[str, Any]:
    names = {key: f"{key} (experimental)" if policy.experimental else key for key, policy in POLICIES.items()}
    return {
        "study": found.study,
        "standings": {title: standings(found.rows, kind) for kind, title in TITLES.items()},
        "names": names,
    }


def _stopping(found: StoppingFindings) -> dict[str, Any]:
    distances = {
        title: [*(np.median(found.distances(rule, kind)) for rule in RULES), np.median(found.guaranteed(kind))]
        for kind, title in KINDS.items()
    }
    grid = found.study.distributions
    return {
        "study": found.study,
        "rules": [NAMES[rule] for rule in RULES],
        "distances": distances,
        "results": found.results,
        "samples": sum(int(one.samples.sum()) for one in found.results),
        "grid": grid,
        "grid_rules": {rule: SHORT[rule] for rule in grid.rules},
        "grid_rows": found.distribution_rows,
    }


def _schedule(evaluation: Evaluation) -> list[dict[str, Any]]:
    """DP-SE's first epochs, while all arms are viable, as the policy object computes them."""
    policies: list[Any] = [evaluation.dp_se(evaluation.instances[0], ARMS, e).build() for e in evaluation.epsilons]
    return [
        {"epoch": epoch, "cells": [(one.rounds(epoch, ARMS), one.threshold(epoch, ARMS)) for one in policies]}
        for epoch in range(1, 6)
    ]


def _versions() -> dict[str, str]:
    """Return what the numbers may depend on besides the settings."""
    return {
        "discreet": _version.__version__,
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _row(one: Simulation) -> dict[str, Any]:
    """A result as a row of the table beside a figure."""
    return stopping_row(one) if one.setting.is_rule else _bandit_row(one)


def _bandit_row(one: Simulation) -> dict[str, Any]:
    options = [
        f"{name} = {value:.4g}" if isinstance(value, float) else str(value)
        for name, value in one.setting.other_options.items()
    ]
    return {
        "policy": ", ".join([one.setting.algorithm, *options]),
        "instance": one.setting.instance.name,
        "arms": len(one.setting.instance),
        "epsilon": one.setting.epsilon,
        **one.statistics(),
    }


def stopping_row(one: Simulation) -> dict[str, Any]:
    """Return the runs of a stopping rule as a row of a table, with the least possible number of samples."""
    options = dict(one.setting.options)
    ends = {name: options[name] for name in ("low", "high")}
    epsilon = options.get("epsilon", np.inf)
    least = two_point_lower_bound(one.setting.distribution.mean, options["alpha"], options["beta"], epsilon, **ends)
    return {**one.summary_row(), "least": least, "times": float(one.samples.mean()) / least}
