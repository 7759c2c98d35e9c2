"""A ledger as rows, for JSON, CSV, Parquet and data frames, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from io import StringIO
from typing import IO, Any

from discreet._install import needs
from discreet.core.grid import Grid
from discreet.core.history import mean_of
from discreet.core.ledger import Ledger
from discreet.core.releases import Kind, Release

COLUMNS = (
    "entry", "epoch", "kind", "arm", "first", "last", "steps", "mean", "scale", "epsilon", "simulated", "tests",
    "above",
)  # fmt: skip


def entries(ledger: Ledger) -> list[dict[str, Any]]:
    """Return the ledger as rows: one for each release and each arm that it covers.

    `entry` counts releases from 1; `first` and `last` are the rewards of the arm that it covers; `steps` is the
    released integer and `scale` the scale of its noise, both in grid steps; `mean` is the released mean, where there is
    one.

    Args:
        ledger: The ledger.

    >>> ledger = Ledger(["A"], Grid(0, 1))
    >>> ledger.close_epoch([Release(1, "total", (("A", 1, 4),), 2**21, 2.0**20, 1.0, False)])
    >>> [(row["arm"], row["last"], row["mean"], row["epsilon"]) for row in entries(ledger)]
    [('A', 4, 0.5, 1.0)]
    """
    return [row for number, release in enumerate(ledger, 1) for row in _rows(number, release, ledger.grid)]


def _rows(number: int, release: Release, grid: Grid | None) -> Iterable[dict[str, Any]]:
    told = grid is not None and release.kind in (Kind.TOTAL, Kind.NODE)
    seen = mean_of([release], grid) if told and grid is not None else None
    for arm, first, last in release.spans:
        steps = None if release.steps is None else int(release.steps)
        mean = None if seen is None else seen.mean
        tests = (release.tests, release.above) if release.kind == Kind.TESTS else (None, None)
        shown = (steps, mean, release.scale, release.epsilon, release.simulated, *tests)
        yield dict(zip(COLUMNS, (number, release.epoch, str(release.kind), arm, first, last, *shown), strict=True))


def digest(ledger: Ledger) -> str:
    """Return the SHA-256 digest of a ledger's rows: two ledgers have the same one if they hold the same releases.

    Args:
        ledger: The ledger.
    """
    rows = json.dumps(entries(ledger), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(rows.encode()).hexdigest()


def to_csv(ledger: Ledger) -> str:
    """Return the ledger's rows as CSV, with a heading."""
    import csv  # noqa: PLC0415

    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(entries(ledger))
    return text.getvalue()


def to_parquet(ledger: Ledger, file: IO[bytes]) -> None:
    """Write the ledger's rows as Parquet.

    Args:
        ledger: The ledger.
        file: An open binary file.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    with needs("Parquet", "lab"):
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415
        import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415
    whole, real, truth = pa.int64(), pa.float64(), pa.bool_()
    kinds = [whole, whole, pa.string(), pa.string(), whole, whole, whole, real, real, real, truth, whole, truth]
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    rows = [{**row, "arm": None if row["arm"] is None else str(row["arm"])} for row in entries(ledger)]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)
