"""The findings of a reproduction in sentences, all computed."""

from typing import Any, NamedTuple

import numpy as np

from discreet.bandits.dp_ucb import PRESETS
from discreet.lab.setting import ARMS
from discreet.reproduction.evaluation import CLAIM, Cell, EvaluationFindings, smallest_constant
from discreet.reproduction.league import RECOMMENDED, LeagueFindings, standings
from discreet.reproduction.pictures.league import TITLES
from discreet.reproduction.pictures.stopping import KINDS, NAMES
from discreet.reproduction.roads import RoadsFindings, roads_headlines
from discreet.reproduction.stopping import PLAIN, PRIVATE, RULES, StoppingFindings, slope

ENOUGH = 10
"""With fewer runs a report is a preview, and says nothing about rare failures."""
SMALL_EPSILON = 0.01
"""From here on privacy dominates the samples of the stopping study's base problem."""


class Reproduced(NamedTuple):
    """The results that a report is about.

    Attributes:
        paper: The paper's evaluation.
        stopping: The stopping study; None if it was left out.
        league: The league; None if it was left out.
        roads: Regret against the number of arms; None if it was left out.
    """

    paper: EvaluationFindings
    stopping: StoppingFindings | None = None
    league: LeagueFindings | None = None
    roads: RoadsFindings | None = None


def headlines(found: Reproduced) -> dict[str, list[str]]:
    """Return the findings by topic; topics that were left out are not there."""
    topics = {"The paper's bandits": bandit_headlines(found.paper)}
    if found.league:
        topics["Beyond them"] = league_headlines(found.league)
    if found.roads:
        topics["The roads not taken"] = roads_headlines(found.roads)
    if found.stopping:
        topics["Stopping rules"] = stopping_headlines(found.stopping)
    return topics


def bandit_headlines(found: EvaluationFindings) -> list[str]:
    """Return the findings about DP-SE and DP-UCB."""
    wanted = found.study
    sentences = [_claim_sentence(found, PRESETS[0], wanted.cells())]
    if wanted.extended:
        five = [cell for cell in wanted.cells() if cell[1] == ARMS]
        sentences += [_claim_sentence(found, preset, five) for preset in PRESETS[1:]]
        sentences.append(_sweep_sentence(found))
    main = [one for cell in wanted.cells() for one in (found.dp_se(*cell), found.dp_ucb(*cell))]
    lost, total = sum(int(one.failed.sum()) for one in main), sum(len(one.final) for one in main)
    sentences.append(
        f"Of the {total:,} runs of DP-SE and of DP-UCB's default form, {lost or 'none'} ended with a worse arm pulled "
        "most."
    )
    return sentences


def _claim_sentence(found: EvaluationFindings, preset: str, cells: list[Cell]) -> str:
    """In how many settings "at least 5 times" holds for one form of DP-UCB."""
    ratios = {cell: found.ratio(*cell, preset) for cell in cells}
    holds = sum(ratio >= CLAIM for ratio in ratios.values())
    name, arms, epsilon = min(ratios, key=ratios.__getitem__)
    scope = ", ".join(map(str, sorted({arms for _, arms, _ in cells})))
    return (
        f'With the "{preset}" form of DP-UCB, its mean regret is at least {CLAIM:g} times DP-SE\'s in {holds} of '
        f"{len(ratios)} settings (K = {scope}); the smallest ratio is {min(ratios.values()):.2f}, on {name} with "
        f"K = {arms} and epsilon = {epsilon:g}, and the largest is {max(ratios.values()):.0f}."
    )


def _sweep_sentence(found: EvaluationFindings) -> str:
    """The effect of a tuned constant."""
    if found.study.runs < ENOUGH:
        return f"Only {found.study.runs} runs of each setting: too few to say which constants lose runs."
    cells = sweep_cells(found)
    clean = [c for c in found.study.constants if all(c not in cell["stuck"] for cell in cells)]
    if not clean:
        return "Every constant of the sweep lost some runs of DP-UCB on a wrong arm."
    best = clean[0]
    wins = sum(cell["ratios"][best] < 1 for cell in cells)
    return (
        f"The smallest constant of the sweep with no stuck run in any of its {len(cells)} settings is c = {best:g}; "
        f"with it DP-UCB's mean regret is below DP-SE's in {wins} of them. The paper's claim needs a large constant."
    )


def sweep_cells(found: EvaluationFindings) -> list[dict[str, Any]]:
    """Return a row for each setting of the sweep.

    Its `ratios` to DP-SE are by constant; `stuck` has the constants at which runs got stuck; `holds_from` is the
    constant from which on the paper's claim holds; `best` is the one of the least regret without a stuck run.
    """
    wanted, cells = found.study, []
    for arms, epsilon in wanted.sweeps():
        for name in wanted.instances:
            mine = found.dp_se(name, arms, epsilon)
            row = dict(zip(wanted.constants, found.swept(name, arms, epsilon), strict=True))
            ratios = {constant: one.mean / mine.mean for constant, one in row.items()}
            stuck = {constant: int(one.failed.sum()) for constant, one in row.items() if one.failed.any()}
            safe = [] if wanted.runs < ENOUGH else [constant for constant in ratios if constant not in stuck]
            best = min(safe, key=ratios.__getitem__, default=None)
            default = wanted.default_constant(arms, epsilon)
            cells.append(
                {
                    "instance": name,
                    "arms": arms,
                    "epsilon": epsilon,
                    "ratios": ratios,
                    "stuck": stuck,
                    "holds_from": smallest_constant([*ratios.items(), (default, found.ratio(name, arms, epsilon))]),
                    "default": default,
                    "best": best,
                    "best_ratio": None if best is None else ratios[best],
                }
            )
    return cells


def league_headlines(league: LeagueFindings) -> list[str]:
    """Return the findings about the policies that came later."""
    sentences = []
    for kind, title in TITLES.items():
        mine = [row for row in league.rows if row["policy"] == RECOMMENDED and row["kind"] == kind]
        over, to_dp_se = ([row[key] for row in mine] for key in ("over_lower_bound", "over_dp_se"))
        sentences.append(
            f"On {title}, {RECOMMENDED} has {min(over):.2f} to {max(over):.2f} times the regret of the lower bound, "
            f"and at most 1/{1 / max(to_dp_se):.0f} of DP-SE's; {sum(row['stuck'] for row in mine) or 'none'} of its "
            f"{sum(row['runs'] for row in mine):,} runs got stuck on a worse arm."
        )
    far = {row["policy"]: row for row in standings(league.rows, "paper")}
    if "dp-imed" in far:
        sentences.append(
            f"DP-IMED has less regret in the median ({far['dp-imed']['median']:.2f} times the bound, against "
            f"{far[RECOMMENDED]['median']:.2f}), but its 99.9 % quantile reaches {far['dp-imed']['far']:.0f} times the "
            f"bound, against {far[RECOMMENDED]['far']:.0f}: its index does not know its noises."
        )
    return sentences


def stopping_headlines(found: StoppingFindings) -> list[str]:
    """Return the findings about the stopping rules."""
    sentences = []
    for kind, title in KINDS.items():
        distances = {rule: found.distances(rule, kind) for rule in (*reversed(PRIVATE), *PLAIN)}
        parts = [
            f"{NAMES[rule]} {np.median(values):.0f} ({min(values):.0f} to {max(values):,.0f})"
            for rule, values in distances.items()
        ]
        sentences.append(
            f"On {title}, samples over the least possible, median and range of {len(distances['nas'])} problems "
            f"(and {len(distances['dp-nas'])} with their epsilons): {', '.join(parts)}."
        )
    sentences.append(_distribution_sentence(found))
    shares = found.shares_of_the_theorem()
    over = sum(share > 1 for share in shares)
    sentences.append(
        f"Some run of DP exponential NAS exceeded Theorem 3.3's bound in {over or 'none'} of {len(shares)} problems; "
        f"the largest share of it that a run needed is {100 * max(shares):.1f} %."
    )
    small = [epsilon for epsilon in found.study.epsilons if epsilon <= SMALL_EPSILON]
    if len(small) > 1:
        slopes = []
        for rule in PRIVATE:
            exponents = [slope(small, found.prices(rule, kind)[: len(small)]) for kind in KINDS]
            slopes.append(f"{NAMES[rule]} {' and '.join(f'{exponent:.2f}' for exponent in exponents)}")
        sentences.append(
            f"Below epsilon = {SMALL_EPSILON:g} the price of privacy in samples grows like a power of 1/epsilon. The "
            f"exponent is predicted to be 1, and measured on {' and on '.join(KINDS.values())}: {', '.join(slopes)}."
        )
    risked = [found.risked(rule, one) for rows in found.study.risky().values() for one in rows for rule in RULES]
    worst = max(one.failure_rate / dict(one.setting.options)["beta"] for one in risked)
    failed, runs = sum(int(one.failed.sum()) for one in risked), sum(one.setting.runs for one in risked)
    sentences.append(
        f"Where the rules are likeliest to break their promise, {failed:,} of {runs:,} runs did; the largest failure "
        f"rate observed is {100 * worst:.1f} % of its beta."
    )
    return sentences


def _distribution_sentence(found: StoppingFindings) -> str:
    """The gain from following the variance."""
    rows = found.distribution_rows
    fewer = [row["fewer"]["dp-bernstein"] for row in rows]
    most = max(rows, key=lambda row: row["fewer"]["dp-bernstein"])
    return (
        f"On samples of {len({row['distribution'] for row in rows})} distributions, DP-Bernstein takes "
        f"{min(fewer):.1f} to {max(fewer):.0f} times fewer samples than DP exponential NAS told R = 1; most on "
        f"{most['distribution']} with alpha = {most['alpha']:g} and epsilon = {most['epsilon']:g}. "
        f"{sum(row['failures']['dp-bernstein'] for row in rows)} of its "
        f"{found.study.distributions.runs * len(rows):,} runs failed, where beta allows 5 %."
    )
