"""The check of a whole log, before anything is drawn or spent.

It looks at every cell, and its message is exact: it is not private, and says so. A log that passes it cannot fail
later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from discreet._wording import plural
from discreet.core.errors import ArgumentError
from discreet.logs._cells import Cell, Scale
from discreet.logs._prepare import SKIP, Reading
from discreet.logs._sources import Source

NOT_PRIVATE = "This message is about the data as they are, and is not private; nothing was drawn or spent."
MOST_ARMS = 1000
_SHOWN = 3  # lines that a message names


@dataclass(frozen=True, slots=True)
class Finding:
    """Rows of one kind that cannot be used as they are.

    Args:
        count: Their number.
        what: What is wrong, in words.
        remedy: What would help.
        where: The condition that finds them among the cells.
    """

    count: int
    what: str
    remedy: str
    where: Any = None


def check(source: Source, rows: Any, reading: Reading, scale: Scale, arms: Sequence[str] | None) -> dict[str, int]:
    """Return the number of rows of each arm that can be used, by its name in the log; or refuse the log.

    Args:
        source: The log.
        rows: The log's cells, as `cells` returned them.
        reading: How it is read.
        scale: The range of rewards.
        arms: The arms that there may be; None for all that there are.

    Raises:
        ArgumentError: The log has rows that cannot be used as they are. The message names them, and the remedies.
    """
    counts = _counts(rows, reading)
    broken = source.broken
    found = [*_broken(source, broken), *_findings(rows, reading, scale, arms, counts)]
    found = [finding for finding in found if finding.count]
    if found:
        texts = "; ".join(f"{finding.what}{_places(source, rows, finding)}: {finding.remedy}" for finding in found)
        raise ArgumentError(f"the log cannot be used as it is. {texts[0].upper()}{texts[1:]}. {NOT_PRIVATE}")
    skipped = reading.missing == SKIP
    usable = {row["arm"]: row["rows"] - (row["empty"] + row["text"] if skipped else 0) for row in counts}
    usable = {arm: count for arm, count in usable.items() if arm is not None and count}
    if not usable:
        raise ArgumentError(f"the log has no row to use: of {sum(row['rows'] for row in counts):,} that were selected")
    return usable


def _counts(rows: Any, reading: Reading) -> list[dict[str, Any]]:
    """Return for each arm the number of its rows, and of those with something wrong."""
    nothing = rows.order.isnull() if reading.order is not None else rows.cell < 0
    several = {"first": rows.order.min(), "last": rows.order.max()} if reading.order is not None else {}
    found = rows.group_by("arm").aggregate(
        rows=rows.count(),
        empty=(rows.cell == Cell.EMPTY).sum(),
        text=(rows.cell == Cell.TEXT).sum(),
        outside=(rows.cell == Cell.OUTSIDE).sum(),
        nobody=rows.place.isnull().sum(),
        unordered=nothing.sum(),
        **several,
    )
    return list(found.order_by("arm").limit(MOST_ARMS + 1).to_pyarrow().to_pylist())


def _broken(source: Source, lines: Sequence[int]) -> list[Finding]:
    if not lines:
        return []
    csv = source.csv
    assert csv is not None
    shown = ", ".join(f"{line:,}" for line in lines[:_SHOWN]) + (", ..." if len(lines) > _SHOWN else "")
    what = (
        f"{plural(len(lines), 'line')} cannot be read as {len(csv.names)} cells (line{'s' * (len(lines) > 1)} {shown})"
    )
    return [Finding(len(lines), what, f"mend the file, whose heading has {len(csv.names)} cells in UTF-8")]


def _findings(
    rows: Any, reading: Reading, scale: Scale, arms: Sequence[str] | None, counts: Sequence[dict[str, Any]]
) -> list[Finding]:
    """Return all kinds of findings, also those of no row."""
    total = {name: sum(row[name] for row in counts) for name in ("empty", "text", "outside", "nobody", "unordered")}
    fill = f'give missing={scale.low:g} (or another reward) to count them so, or missing="skip" to leave them out'
    skip = reading.missing == SKIP
    found = []
    if reading.missing is None:
        empty, text = rows.cell == Cell.EMPTY, rows.cell == Cell.TEXT
        found.append(_finding(total["empty"], f"no reward in column {reading.reward!r}", fill, empty))
        found.append(_finding(total["text"], f"a reward that is no number in column {reading.reward!r}", fill, text))
    if not reading.clip:
        what = f"a reward outside of [{scale.low:g}, {scale.high:g}] in column {reading.reward!r}"
        remedy = "declare the range that rewards can have as low and high, or give clip=True to move them into it"
        found.append(_finding(total["outside"], what, remedy, rows.cell == Cell.OUTSIDE))
    leave = 'fill them in, or give missing="skip" to leave these rows out'
    if not skip:
        nameless = sum(row["rows"] for row in counts if row["arm"] is None)
        found.append(_finding(nameless, f"no arm in column {reading.arm!r}", leave, rows.arm.isnull()))
        found.append(_finding(total["nobody"], f"no unit in column {reading.unit!r}", leave, rows.place.isnull()))
    if reading.order is not None:
        missing = rows.order.isnull()
        found.append(_finding(total["unordered"], f"nothing in column {reading.order!r}", "leave `order` out", missing))
        found += _sorted(reading, counts)
    if arms is not None:
        others = [row for row in counts if row["arm"] is not None and row["arm"] not in arms]
        what = f"another arm in column {reading.arm!r} than {', '.join(map(repr, arms))}"
        remedy = "name it in `arms`, or select rows with `where`"
        found.append(_finding(sum(row["rows"] for row in others), what, remedy, rows.arm.notin(list(arms))))
    if len(counts) > MOST_ARMS:
        what = f"column {reading.arm!r} has more than {MOST_ARMS:,} different values"
        found.append(Finding(1, what, "name the column of arms, or select rows with `where`"))
    return found


def _sorted(reading: Reading, counts: Sequence[dict[str, Any]]) -> list[Finding]:
    """Return a finding if no two arms have rows from the same part of the order."""
    spans = sorted((row["first"], row["last"]) for row in counts if row["arm"] is not None and row["first"] is not None)
    apart = all(before[1] <= after[0] for before, after in pairwise(spans))
    if len(spans) < 2 or not apart or spans[0][0] == spans[-1][1]:
        return []
    what = f"the arms follow each other by {reading.order!r}, so that a change over time looks like one of the arm"
    return [Finding(1, what, "leave `order` out to take rows in random order, if they can be compared at all")]


def _finding(count: int, what: str, remedy: str, where: Any) -> Finding:
    return Finding(count, f"{plural(count, 'row')} with {what}", remedy, where)


def _places(source: Source, rows: Any, finding: Finding) -> str:
    """Return in brackets where the first rows of a finding are; nothing for tables of databases."""
    if finding.where is None or not source.local:
        return ""
    wanted = rows.filter(finding.where).order_by("row").limit(_SHOWN).select("row").to_pyarrow()["row"].to_pylist()
    return f" ({source.places(wanted)}{', ...' if finding.count > _SHOWN else ''})"
