"""What the report says of the stopping study: its findings in sentences, and its settings as rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.reproduction.pictures.stopping import KINDS, NAMES
from discreet.lab.stopping_results import StoppingRuns
from discreet.reproduction.stopping import PLAIN, PRIVATE, RULES, StoppingFindings, slope
from discreet.theory import two_point_lower_bound

SMALL_EPSILON = 0.01
"""From here on privacy dominates the samples of the study's base problem."""


def stopping_headlines(found: StoppingFindings) -> list[str]:
    """What the stopping study found."""
    said, kinds = [], found.study.kinds
    for kind in kinds:
        distances = {rule: found.distances(rule, kind) for rule in (*reversed(PRIVATE), *PLAIN)}
        parts = [
            f"{NAMES[rule]} {np.median(values):.0f} ({min(values):.0f} to {max(values):,.0f})"
            for rule, values in distances.items()
        ]
        said.append(
            f"On {KINDS[kind]}, samples over the least possible, median and range of {len(distances['nas'])} problems "
            f"(and {len(distances['dp-nas'])} with their epsilons): {', '.join(parts)}."
        )
    said += law_headlines(found)
    shares = found.shares_of_the_theorem()
    over = sum(share > 1 for share in shares)
    said.append(
        f"Some run of DP exponential NAS exceeded Theorem 3.3's bound in {over or 'none'} of {len(shares)} problems; "
        f"the largest share of it that a run needed is {100 * max(shares):.1f} %."
    )
    small = [epsilon for epsilon in found.study.epsilons if epsilon <= SMALL_EPSILON]
    if len(small) > 1:
        slopes = []
        for rule in PRIVATE:
            found_here = [slope(small, found.prices(rule, kind)[: len(small)]) for kind in kinds]
            slopes.append(f"{NAMES[rule]} {' and '.join(f'{exponent:.2f}' for exponent in found_here)}")
        said.append(
            f"Below epsilon = {SMALL_EPSILON:g} the price of privacy in samples grows like a power of 1/epsilon. The "
            f"exponent is predicted to be 1, and measured on {' and on '.join(KINDS[kind] for kind in kinds)}: "
            f"{', '.join(slopes)}."
        )
    risked = [found.risked(rule, one) for rows in found.study.risky().values() for one in rows for rule in RULES]
    broken = sum(int(one.failed.sum()) for one in risked)
    worst = max(one.failure_rate / dict(one.setting.options)["beta"] for one in risked)
    said.append(
        f"Where the rules are likeliest to break their promise, {broken:,} of {sum(map(len, risked)):,} runs did; "
        f"the largest failure rate observed is {100 * worst:.1f} % of its beta."
    )
    return said


def law_headlines(found: StoppingFindings) -> list[str]:
    """What following the variance is worth."""
    rows = found.law_rows
    fewer = [row["fewer"]["dp-bernstein"] for row in rows]
    rare = max(rows, key=lambda row: row["fewer"]["dp-bernstein"])
    runs = found.study.laws.runs * len(rows)
    return [
        f"On samples of {len({row['law'] for row in rows})} laws, DP-Bernstein takes {min(fewer):.1f} to "
        f"{max(fewer):.0f} times fewer samples than DP exponential NAS told R = 1; most on {rare['law']} with alpha = "
        f"{rare['alpha']:g} and epsilon = {rare['epsilon']:g}. "
        f"{sum(row['failures']['dp-bernstein'] for row in rows)} of its {runs:,} runs failed, where beta allows 5 %."
    ]


def stopping_row(one: StoppingRuns) -> dict[str, Any]:
    """Runs of a stopping rule as a row of a table."""
    options = dict(one.setting.options)
    ends = {name: options[name] for name in ("low", "high")}
    mean = one.setting.rewards.mean
    epsilon = options.get("epsilon", np.inf)
    least = two_point_lower_bound(mean, options["alpha"], options["beta"], epsilon, **ends)
    return {**one.summary_row(), "least": least, "times": float(one.samples.mean()) / least}
