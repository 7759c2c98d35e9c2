"""The findings of a reproduction in sentences, all computed."""

from typing import Any

import numpy as np

from discreet.audit.limits import upper_limit
from discreet.bandits.dp_ucb import PUBLISHED
from discreet.reproduction.pictures.league import TITLES
from discreet.reproduction.pictures.stopping import KINDS, NAMES
from discreet.reproduction.studies.claim import (
    CLAIM,
    Verdict,
    count_verdicts,
    distance_from_lines,
    last_elimination,
    late_share,
)
from discreet.reproduction.studies.evaluation import (
    DEFAULT,
    RECOMMENDED,
    WITHDRAWN,
    EvaluationFindings,
    smallest_constant,
)
from discreet.reproduction.studies.league import LeagueFindings, standings
from discreet.reproduction.studies.stopping import PLAIN, PRIVATE, RULES, StoppingFindings, slope
from discreet.reproduction.tables import number

ENOUGH = 10
"""With fewer runs a report is a preview, and says nothing about rare failures."""
SURE = 0.95
"""The confidence in an upper limit of a failure rate."""
STRAIGHT = 0.01
"""A curve is called piece-wise linear if it is never further from straight lines than this share of its end."""
SMALL_EPSILON = 0.01
"""From here on privacy dominates the samples of the stopping study's base problem."""


def bandit_headlines(found: EvaluationFindings) -> list[str]:
    """Return the findings about DP-SE and DP-UCB."""
    wanted = found.study
    sentences = [_claim_sentence(found, form) for form in wanted.forms()]
    sentences.append(_shape_sentence(found))
    if wanted.extended:
        sentences += [_withdrawn_sentence(found), _sweep_sentence(found)]
    main = [one for cell in wanted.cells() for one in (found.dp_se(*cell), found.dp_ucb(*cell))]
    lost, total = sum(int(one.failed.sum()) for one in main), sum(len(one.final) for one in main)
    sentences.append(
        f"Of the {total:,} runs of DP-SE and of DP-UCB as published, {lost or 'none'} ended with a worse arm pulled "
        "most."
    )
    return sentences


def _claim_sentence(found: EvaluationFindings, form: str) -> str:
    """In how many settings "at least 5 times" holds for one form of DP-UCB."""
    ratios = {cell: found.ratio(*cell, form) for cell in found.study.cells()}
    counts = count_verdicts(list(ratios.values()))
    (name, arms, epsilon), least = min(ratios.items(), key=lambda pair: pair[1].value)
    subject = "DP-UCB as published" if form == PUBLISHED else f'the "{form}" form of DP-UCB'
    return (
        f"With {subject}, “at least {CLAIM:g} times DP-SE's regret” holds in {counts[Verdict.HOLDS]} of {len(ratios)} "
        f"settings, fails in {counts[Verdict.FAILS] or 'none'}, and is too close to call in "
        f"{counts[Verdict.OPEN] or 'none'}; the smallest ratio is {least}, on {name} with K = {arms} and "
        f"epsilon = {epsilon:g}, and the largest is {number(max(one.value for one in ratios.values()))}."
    )


def _shape_sentence(found: EvaluationFindings) -> str:
    """Return a sentence on DP-SE's piece-wise linear curves and DP-UCB's smooth ones."""
    cells = found.study.cells()
    mine, others = ([look(*cell) for cell in cells] for look in (found.dp_se, found.dp_ucb))
    off = max(distance_from_lines(one) / one.mean for one in mine)
    ended = [last_elimination(one) for one in mine if last_elimination(one) < found.study.horizon]
    latest = f", the last of them at pull {max(ended):,}" if ended else ""
    late = [late_share(one) for one in others]
    verdict = "are" if off < STRAIGHT and min(late) > 0 else "are not all"
    return (
        f"The shapes {verdict} as the paper says. DP-SE's regret is piece-wise linear: at every checkpoint of every "
        f"run it lies within {100 * off:.2g} % of straight lines between eliminations; in {len(ended)} of {len(cells)} "
        f"settings all runs drop all worse arms{latest}, and their regret then stays as it is. DP-UCB's regret is "
        f"smooth and still grows: the last tenth of the pulls adds {100 * min(late):.2g} % to {100 * max(late):.2g} % "
        f"of it, in {sum(share > 0 for share in late)} of {len(cells)} settings."
    )


def _withdrawn_sentence(found: EvaluationFindings) -> str:
    """Return a sentence on the modified DP-SE, which the withdrawn text calls the best of three."""
    cells, (plain, modified) = found.study.cells(), WITHDRAWN
    best = below = 0
    for cell in cells:
        three = {key: found.private(key, *cell).mean for key in WITHDRAWN}
        three["dp-ucb"] = found.dp_ucb(*cell, DEFAULT).mean
        best += min(three, key=three.__getitem__) == modified
        below += three[modified] < found.many(*cell).mean()
    return (
        f"The withdrawn text says that the modified DP-SE is the best of three (with the older DP-SE, {plain}, and "
        f"DP-UCB without its factor K) in all settings: it is in {best} of {len(cells)}. Against the DP-SE that was "
        f"published instead it has less regret in {below} of them."
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
            row = dict(zip(wanted.constants, found.swept(name, arms, epsilon), strict=True))
            ratios = {constant: found.over_dp_se(one, name, arms, epsilon).value for constant, one in row.items()}
            stuck = {constant: int(one.failed.sum()) for constant, one in row.items() if one.failed.any()}
            safe = [] if wanted.runs < ENOUGH else [constant for constant in ratios if constant not in stuck]
            best = min(safe, key=ratios.__getitem__, default=None)
            default = wanted.default_constant(arms, epsilon), found.ratio(name, arms, epsilon, DEFAULT).value
            cells.append(
                {
                    "instance": name,
                    "arms": arms,
                    "epsilon": epsilon,
                    "ratios": ratios,
                    "stuck": stuck,
                    "holds_from": smallest_constant([*ratios.items(), default]),
                    "default": default[0],
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
    betas = [dict(one.setting.options)["beta"] for one in risked]
    worst = max(one.failure_rate / beta for one, beta in zip(risked, betas, strict=True))
    limits = [upper_limit(int(one.failed.sum()), len(one.failed), 1 - SURE) for one in risked]
    most = max(limit / beta for limit, beta in zip(limits, betas, strict=True))
    failed, runs = sum(int(one.failed.sum()) for one in risked), sum(one.setting.runs for one in risked)
    sentences.append(
        f"Where the rules are likeliest to break their promise, {failed:,} of {runs:,} runs did; the largest failure "
        f"rate observed is {100 * worst:.1f} % of its beta; with {100 * SURE:g} % confidence none exceeds "
        f"{100 * most:.0f} % of it."
    )
    return sentences


def _distribution_sentence(found: StoppingFindings) -> str:
    """The gain from following the variance."""
    rows = found.distribution_rows
    fewer = [row["fewer"]["dp-bernstein"] for row in rows]
    most = max(rows, key=lambda row: row["fewer"]["dp-bernstein"])
    best = [row["fewer"]["dp-inverse"] / row["fewer"]["dp-bernstein"] for row in rows if "dp-inverse" in row["fewer"]]
    return (
        f"On samples of {len({row['distribution'] for row in rows})} distributions, DP-Bernstein takes "
        f"{min(fewer):.1f} to {max(fewer):.0f} times fewer samples than DP exponential NAS told R = 1; most on "
        f"{most['distribution']} with alpha = {most['alpha']:g} and epsilon = {most['epsilon']:g}. "
        f"{sum(row['failures']['dp-bernstein'] for row in rows)} of its "
        f"{found.study.distributions.runs * len(rows):,} runs failed, where beta allows 5 %. "
        f"DP inverse sampling, on those that are never negative, takes {min(best):.1f} to {max(best):.1f} times fewer "
        f"than DP-Bernstein."
    )
