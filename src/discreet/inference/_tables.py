"""A summary as rows, as a pandas table, and as a page of text or HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet._display import Page, Table
from discreet._install import needs
from discreet._wording import plural

if TYPE_CHECKING:
    import pandas as pd

    from discreet.inference.summary import Summary

_HEADINGS = {
    "arm": "arm",
    "rewards": "rewards",
    "mean": "mean",
    "interval": "interval",
    "lift": "lift",
    "difference": "difference",
    "between": "between",
    "p_value": "p",
    "best": "may be best",
}


def rows(seen: Summary) -> list[dict[str, Any]]:
    """Return a row for each arm; comparisons with the control are lifts, or differences where rewards may be negative.

    Args:
        seen: The summary.
    """
    found = []
    relative = seen.grid.floor >= 0
    for arm in seen.arms:
        lower, upper = seen.interval(arm)
        row: dict[str, Any] = {
            "arm": arm,
            "rewards": seen.rewards(arm),
            "releases": len(seen.blocks(arm)),
            "mean": seen.mean(arm),
            "lower": lower,
            "upper": upper,
        }
        if seen.control is not None:
            row |= _compared(seen, arm, relative)
        row["may_be_best"] = arm in seen.may_be_best
        found.append(row)
    return found


def _compared(seen: Summary, arm: Any, relative: bool) -> dict[str, Any]:
    kind = "lift" if relative else "difference"
    nothing = {kind: math.nan, f"{kind}_lower": math.nan, f"{kind}_upper": math.nan, "p_value": math.nan}
    if arm == seen.control or seen.is_apart(arm, seen.control):
        return nothing
    one = seen.lift(arm) if relative else seen.difference(arm)
    lower, upper = one.interval
    return {kind: one.estimate, f"{kind}_lower": lower, f"{kind}_upper": upper, "p_value": one.p_value}


def to_pandas(seen: Summary) -> pd.DataFrame:
    """Return the rows as a pandas table."""
    with needs("to_pandas", "lab"):
        import pandas as pd  # noqa: PLC0415  (half a second: only for those who ask)

    return pd.DataFrame(rows(seen))


def page(seen: Summary) -> Page:
    """Return the table and what it needs, as text and HTML."""
    head, *body = _cells(seen)
    notes = [f"needed: {need}" for need in seen.needs] + [f"caution: {caution}" for caution in seen.cautions]
    return Page(_heading(seen), tables=[Table(head, body, written=True, most=len(body))], notes=notes)


def _heading(seen: Summary) -> str:
    rewards = sum(seen.rewards(arm) for arm in seen.arms)
    releases = sum(len(seen.blocks(arm)) for arm in seen.arms)
    kind = "exact intervals" if seen.exact else "intervals"
    return (
        f"{plural(rewards, 'reward')} in {plural(releases, 'release')}; {kind} of level {seen.level:g}, each valid at "
        "all looks together, at no further epsilon"
    )


def _cells(seen: Summary) -> list[list[str]]:
    """Return the heading and the rows of the table, as people read them."""
    found = rows(seen)
    kind = "lift" if found and "lift" in found[0] else "difference"
    names = ["arm", "rewards", "mean", "interval"]
    names += [kind, "between", "p_value"] if seen.control is not None else []
    names += ["best"] if len(found) > 1 else []
    lines = [[_HEADINGS[name] for name in names]]
    for row in found:
        shown = {
            "arm": str(row["arm"]),
            "rewards": f"{row['rewards']:,}",
            "mean": _number(row["mean"]),
            "interval": f"{row['lower']:.4g} to {row['upper']:.4g}",
            "best": "yes" if row["may_be_best"] else "no",
        }
        if seen.control is not None:
            shown |= _compared_cells(row, kind, "control" if row["arm"] == seen.control else "")
        lines.append([shown[name] for name in names])
    return lines


def _compared_cells(row: dict[str, Any], kind: str, none: str) -> dict[str, str]:
    if math.isnan(row["p_value"]):
        return {kind: none, "between": "", "p_value": ""}
    percent, sign = (100, " %") if kind == "lift" else (1, "")
    value, lower, upper = (row[name] * percent for name in (kind, f"{kind}_lower", f"{kind}_upper"))
    return {
        kind: f"{_number(value, '+')}{sign}" if not math.isnan(value) else "unknown",
        "between": f"{_number(lower, '+')}{sign} and {_number(upper, '+')}{sign}",
        "p_value": f"{row['p_value']:.2g}",
    }


def _number(value: float, sign: str = "") -> str:
    return "" if math.isnan(value) else f"{value:{sign}.4g}" if not sign else f"{value:{sign}.3g}"
