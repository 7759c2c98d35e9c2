"""What a measurement found, and how it is shown."""

import json
import math
import sys
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass
class Row:
    what: str
    measured: float
    unit: str
    goal: str
    met: bool
    reference: str
    ratio: float
    more: str = ""


def show(rows, title, *, as_json=False):
    """Print all rows, and end with an error if a goal is missed."""
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        table = Table("what", "measured", "goal", "met", "time over reference", title=title)
        for row in rows:
            ratio = "-" if math.isnan(row.ratio) else f"{row.ratio:.2g} x {row.reference}"
            value = row.unit if math.isnan(row.measured) else f"{row.measured:,.3g} {row.unit}"
            table.add_row(row.what, f"{value}{row.more}", row.goal, "yes" if row.met else "NO", ratio)
        Console(width=140).print(table)
    sys.exit(not all(row.met for row in rows))
