"""The report of an evaluation: one HTML page that needs nothing else, with figures and tables beside it in files."""

from __future__ import annotations

import base64
import importlib.metadata
import platform
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet import _version
from discreet.bandits.dp_ucb import PRESETS
from discreet.lab.engines import Engine, make_engine
from discreet.reproduction.evaluation import CLAIM, Evaluation, Findings, smallest_constant
from discreet.reproduction.figures import Picture, write_picture
from discreet.reproduction.pictures.evaluation import every_picture
from discreet.reproduction.pictures.league import TITLES, league_picture
from discreet.reproduction.league import RECOMMENDED, LeagueFindings, standings
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS
from discreet.reproduction.pictures.stopping import SHORT as SHORT_NAMES
from discreet.reproduction.pictures.stopping import every_stopping_picture
from discreet.reproduction.stopping_report import stopping_headlines, stopping_row
from discreet.lab.stopping_results import StoppingRuns
from discreet.reproduction.stopping import StoppingFindings, StoppingStudy
from discreet.reproduction.tables import TABLES, number, write_tables

PACKAGES = ("numpy", "opendp", "numba", "scipy", "pandas", "pyarrow", "matplotlib")
SECTIONS = {
    "paper-epsilon": ("Five arms", "The paper's figures: five arms", "DP-SE against DP-UCB as the paper plots them."),
    "paper-arms": ("3 to 20 arms", "The paper's figures: three to twenty arms", "The same for each number of arms."),
    "log-epsilon": (
        "Five arms, log",
        "Beyond the paper: five arms, logarithmic",
        "The same runs on logarithmic axes, where small regrets can be seen, with the ancestors without privacy and "
        "the asymptotic lower bounds for Bernoulli arms. A finite run may lie below such a bound.",
    ),
    "log-arms": (
        "3 to 20 arms, log",
        "Beyond the paper: three to twenty arms, logarithmic",
        "The same for each number of arms.",
    ),
    "distribution": ("Every run", "Every run", "A mean hides the runs that failed: here is the final regret of each."),
    "against": (
        "Epsilon and arms",
        "What epsilon and the number of arms do",
        "Final regret against one parameter at a time.",
    ),
    "sweep": (
        "The constant",
        "What DP-UCB's constant does",
        "The paper does not say which constant its DP-UCB used, and the comparison depends on it. This sweep sets the "
        "relaxation to c ln(T)^1.5/epsilon. A run is stuck when a worse arm was pulled most.",
    ),
    "league": (
        "The league",
        "Beyond the paper: every private policy against the lower bound",
        "The policies that came after DP-SE, and one of our own, dp-chernoff-imed. Instances are the paper's, and rare "
        "rewards: R1, one arm of 2 % and others of 1.5 %; R2, from 5 % down to 0.5 %; R3, one winner of 3 % among 50.",
    ),
    "stopping": (
        "Stopping rules",
        "The stopping rules against their limits",
        "The paper proves that DP exponential NAS is optimal up to constants. Here are the constants: the samples that "
        "rules take until they know a mean within a factor 1 ± alpha, with failure probability beta, between "
        "Theorem 3.3's bound and the least possible (docs/theory.md). Samples are -1 or 1, the paper's hard case, or "
        "clicks. Two rules are our own: DP-NAS by releases, and DP-Bernstein, which follows the variance and which the "
        "paper leaves open (docs/proofs).",
    ),
}

FORMS = {
    "event-level": "The default, which fits what the paper says of its baseline: trees at epsilon, and a relaxation of "
    "ln(T)^2 ln(K T ln T/gamma)/epsilon. One reward is hidden.",
    "mishra-thakurta-2015": "As published: trees at epsilon/K and K times the relaxation, since a step's whole row of "
    "potential rewards is hidden.",
    "thesis": "A. Azize's: exploration sqrt(2 ln(2/gamma)/n), relaxation sqrt(8) ln(T)^1.5 ln(2/gamma)/epsilon. One "
    "reward is hidden.",
}

ENOUGH = 10
"""With fewer runs a report is a preview, and says nothing about rare failures."""


def steps(evaluation: Evaluation, study: StoppingStudy) -> int:
    """How many steps `write_report` reports: pictures, tables and the page."""
    several = len(evaluation.arms) > 1
    pairs = -(-len(evaluation.epsilons) // 2)
    curves = 2 * len(evaluation.instances) * (1 + (pairs if several else 0))
    sweeps = len({arms for arms, _ in evaluation.sweeps()})
    league, stopping, tables_and_page = 1, 4 + len(study.kinds), 2
    return curves + len(evaluation.arms) + 1 + several + sweeps + league + stopping + tables_and_page


class Reproduced(NamedTuple):
    """All that a report is about."""

    paper: Findings
    stopping: StoppingFindings
    league: LeagueFindings


def write_report(
    found: Reproduced,
    folder: Path,
    *,
    seconds: float,
    engine: Engine | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Path:
    """Write figures, tables and the page into a folder; gives the page's path. `seconds` is what simulating took."""
    advance = on_progress or (lambda count: None)
    pictures = [*every_picture(found.paper), league_picture(found.league), *every_stopping_picture(found.stopping)]
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    images: dict[str, str] = {}
    # The longest first, so that no worker waits for another at the end.
    tables = found.paper.results, found.stopping.results, found.league.rows
    jobs: list[Job] = [(write_tables, tables, folder / "data")]
    longest_first = sorted(pictures, key=lambda picture: -len(picture.panels))
    jobs += [(write_picture, replace(picture, simulations=()), figures) for picture in longest_first]
    with engine or make_engine("processes") as running:
        for _, made in running.run(do_job, jobs):
            if isinstance(made, tuple):
                name, png = made
                images[name] = base64.b64encode(png).decode()
            advance(1)
    page = folder / "report.html"
    page.write_text(render(found, pictures, images, seconds), encoding="utf-8")
    advance(1)
    return page


Job = tuple[Callable[..., Any], Any, Path]


def do_job(job: Job) -> Any:
    """Draw a picture or write the tables: what travels to a worker."""
    work, *what = job
    return work(*what)


def render(found: Reproduced, pictures: list[Picture], images: dict[str, str], seconds: float) -> str:
    """The page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    loader = PackageLoader("discreet.reproduction")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["number"] = number
    sections = [
        {
            "key": key,
            "short": short,
            "title": title,
            "text": text,
            "pictures": [
                (p, images[p.name], [any_row(one) for one in p.simulations]) for p in pictures if p.name.startswith(key)
            ],
        }
        for key, (short, title, text) in SECTIONS.items()
    ]
    paper = found.paper
    return environment.get_template("report.html").render(
        headlines={
            "The paper's bandits": bandit_headlines(paper),
            "Beyond them": league_headlines(found.league),
            "Stopping rules": stopping_headlines(found.stopping),
        },
        standings={title: standings(found.league.rows, kind) for kind, title in TITLES.items()},
        laws=found.stopping.law_rows,
        law_rules={rule: SHORT_NAMES[rule] for rule in found.stopping.study.laws.rules},
        law_runs=found.stopping.study.laws.runs,
        claim=claim_tables(paper),
        constants=constants_table(paper),
        schedule=schedule(paper.evaluation),
        failures=[row(one) for one in paper.results if one.failed.any()],
        sections=[section for section in sections if section["pictures"]],
        evaluation=paper.evaluation,
        parameters=parameters(found, seconds),
        threshold=CLAIM,
        tables=TABLES,
        preview=paper.evaluation.runs < ENOUGH,
        default_arms=ARMS,
    )


# ---------------------------------------------------------------------- what the report says


def headlines(found: Reproduced) -> list[str]:
    """The findings in a few sentences, all computed."""
    return [
        *bandit_headlines(found.paper),
        *league_headlines(found.league),
        *stopping_headlines(found.stopping),
    ]


def league_headlines(league: LeagueFindings) -> list[str]:
    """What was found about the policies that came later."""
    said = []
    for kind, title in TITLES.items():
        mine = [row for row in league.rows if row["policy"] == RECOMMENDED and row["kind"] == kind]
        over, to_dp_se = ([row[key] for row in mine] for key in ("over_lower_bound", "over_dp_se"))
        said.append(
            f"On {title}, {RECOMMENDED} has {min(over):.2f} to {max(over):.2f} times the regret of the lower bound, "
            f"and at most 1/{1 / max(to_dp_se):.0f} of DP-SE's; {sum(row['stuck'] for row in mine) or 'none'} of its "
            f"{sum(row['runs'] for row in mine):,} runs got stuck on a worse arm."
        )
    far = {row["policy"]: row for row in standings(league.rows, "paper")}
    if "dp-imed" in far:
        said.append(
            f"DP-IMED has less regret in the median ({far['dp-imed']['median']:.2f} times the bound, against "
            f"{far[RECOMMENDED]['median']:.2f}), but its 99.9 % quantile reaches {far['dp-imed']['far']:.0f} times the "
            f"bound, against {far[RECOMMENDED]['far']:.0f}: its index does not know its noises."
        )
    return said


def bandit_headlines(found: Findings) -> list[str]:
    """What was found about the bandits."""
    said = [claim_sentence(found, PRESETS[0], found.paper_settings())]
    five = [one for one in found.paper_settings() if one[1] == ARMS]
    said += [claim_sentence(found, preset, five) for preset in PRESETS[1:]]
    said.append(sweep_sentence(found))
    main = [
        one
        for name, arms, eps in found.paper_settings()
        for one in (found.dp_se(name, arms, eps), found.dp_ucb(name, arms, eps))
    ]
    lost, total = sum(int(one.failed.sum()) for one in main), sum(len(one.final) for one in main)
    said.append(
        f"Of the {total:,} runs of DP-SE and of DP-UCB's default form, {lost or 'none'} ended with a worse arm pulled "
        "most."
    )
    return said


def claim_sentence(found: Findings, preset: str, settings: list[tuple[str, int, float]]) -> str:
    """In how many settings "at least 5 times" holds for one form of DP-UCB."""
    ratios = {setting: found.ratio(*setting, preset) for setting in settings}
    holds = sum(ratio >= CLAIM for ratio in ratios.values())
    name, arms, epsilon = min(ratios, key=ratios.__getitem__)
    kinds = sorted({arms for _, arms, _ in settings})
    scope = f"K = {', '.join(map(str, kinds))}"
    return (
        f'With the "{preset}" form of DP-UCB, its mean regret is at least {CLAIM:g} times DP-SE\'s in {holds} of '
        f"{len(ratios)} settings ({scope}); the smallest ratio is {ratios[name, arms, epsilon]:.2f}, on {name} with "
        f"K = {arms} and epsilon = {epsilon:g}, and the largest is {max(ratios.values()):.0f}."
    )


def sweep_sentence(found: Findings) -> str:
    """What a tuned constant would do."""
    if found.evaluation.runs < ENOUGH:
        return f"Only {found.evaluation.runs} runs of each setting: too few to say which constants lose runs."
    cells = sweep_cells(found)
    clean = [c for c in found.evaluation.constants if all(c not in cell["stuck"] for cell in cells)]
    if not clean:
        return "Every constant of the sweep lost some runs of DP-UCB on a wrong arm."
    best = clean[0]
    wins = sum(cell["ratios"][best] < 1 for cell in cells)
    return (
        f"The smallest constant of the sweep with no stuck run in any of its {len(cells)} settings is c = {best:g}; "
        f"with it DP-UCB's mean regret is below DP-SE's in {wins} of them. The paper's claim needs a large constant."
    )


def sweep_cells(found: Findings) -> list[dict[str, Any]]:
    """For each setting of the sweep: ratios to DP-SE by constant, and the constants at which runs got stuck."""
    wanted, cells = found.evaluation, []
    for arms, epsilon in wanted.sweeps():
        for name in wanted.instances:
            mine = found.dp_se(name, arms, epsilon)
            row = dict(zip(wanted.constants, found.swept(name, arms, epsilon), strict=True))
            ratios = {constant: one.mean / mine.mean for constant, one in row.items()}
            default = wanted.default_constant(arms, epsilon)
            cells.append(
                {
                    "instance": name,
                    "arms": arms,
                    "epsilon": epsilon,
                    "ratios": ratios,
                    "stuck": {constant: int(one.failed.sum()) for constant, one in row.items() if one.failed.any()},
                    "holds_from": smallest_constant([*ratios.items(), (default, found.ratio(name, arms, epsilon))]),
                    "default": default,
                }
            )
    return cells


def claim_tables(found: Findings) -> list[dict[str, Any]]:
    """For each form of DP-UCB: its ratio to DP-SE in every setting."""
    wanted = found.evaluation
    tables = []
    for preset in PRESETS:
        sizes = wanted.arms if preset == PRESETS[0] else (ARMS,)
        rows = [
            {"instance": name, "arms": arms, "ratios": [found.ratio(name, arms, e, preset) for e in wanted.epsilons]}
            for arms in sizes
            for name in wanted.instances
        ]
        tables.append({"preset": preset, "text": FORMS[preset], "rows": rows})
    return tables


def constants_table(found: Findings) -> list[dict[str, Any]]:
    """For each setting of the sweep: from which constant on the claim holds, and what small constants do."""
    rows = []
    for cell in sweep_cells(found):
        ratios = cell["ratios"]
        safe = [] if found.evaluation.runs < ENOUGH else [c for c in ratios if c not in cell["stuck"]]
        best = min(safe, key=ratios.__getitem__, default=None)
        rows.append({**cell, "best": best, "best_ratio": None if best is None else ratios[best]})
    return rows


def schedule(evaluation: Evaluation) -> list[dict[str, Any]]:
    """DP-SE's first epochs, while all arms are viable, as the policy object computes them."""
    rows = []
    for epoch in range(1, 6):
        cells = []
        for epsilon in evaluation.epsilons:
            policy: Any = evaluation.dp_se(evaluation.instances[0], ARMS, epsilon).build()
            length = policy.epoch_length(epoch, ARMS)
            cells.append((int(np.ceil(length)), policy.threshold(epoch, ARMS)))
        rows.append({"epoch": epoch, "cells": cells})
    return rows


def parameters(reproduced: Reproduced, seconds: float) -> dict[str, str]:
    """Everything needed to get the same numbers again."""
    found, stopping, league = reproduced.paper, reproduced.stopping, reproduced.league
    wanted = found.evaluation
    work = sum(one.seconds for one in (*found.results, *stopping.results, *league.results))
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "horizon T": f"{wanted.horizon:,}",
        "runs of each setting": str(wanted.runs),
        "seed": str(wanted.seed),
        "instances": ", ".join(wanted.instances),
        "numbers of arms K": ", ".join(map(str, wanted.arms)),
        "epsilon": ", ".join(f"{epsilon:g}" for epsilon in wanted.epsilons),
        "beta of DP-SE, gamma of DP-UCB": "1/T",
        "settings simulated": f"{len(found.results):,}",
        "pulls simulated": f"{sum(one.setting.horizon * len(one.final) for one in found.results):.3g}",
        "settings of the league": f"{len(league.results):,}, of {league.study.runs} runs (quick policies, five arms: "
        f"{league.study.many_runs:,}; slow ones: {league.study.slow_runs}, with many arms {league.study.crowd_runs})",
        "settings of stopping rules": f"{len(stopping.results):,}, of {stopping.study.runs} runs "
        f"({stopping.study.failure_runs} to count failures)",
        "samples simulated": f"{sum(int(one.samples.sum()) for one in stopping.results):.3g}",
        "time to simulate": f"{seconds:.1f} s, {work:.0f} s of work in all",
        "noise": "simulated and seeded; nothing here is private data",
        "discreet": _version.__version__,
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def any_row(one: Simulation | StoppingRuns) -> dict[str, Any]:
    """A row of the table beside a figure."""
    return stopping_row(one) if isinstance(one, StoppingRuns) else row(one)


def row(one: Simulation) -> dict[str, Any]:
    """A simulation as a row of a table."""
    options = [
        f"{name} = {value:.4g}" if isinstance(value, float) else str(value)
        for name, value in one.setting.other_options.items()
    ]
    return {
        "policy": ", ".join([one.setting.policy, *options]),
        "instance": one.setting.instance.name,
        "arms": len(one.setting.instance),
        "epsilon": one.setting.epsilon,
        **one.statistics(),
    }
