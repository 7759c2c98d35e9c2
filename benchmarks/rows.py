"""What measurements found, and how it is shown: as a table, as JSON, or as a page of the site."""

import datetime
import json
import math
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib import metadata

from rich.console import Console
from rich.table import Table

import discreet

HEAD = ("what", "measured", "goal", "met", "time over reference")
VERSIONS = ("numpy", "numba", "opendp")
INTRODUCTION = """\
# Benchmarks

<!-- Generated: `make bench` writes benchmarks.md, of which docs/benchmarks.md is a copy. -->

What must be fast, each next to a reference in the same run. A ratio of two times on one machine is worth more than
either: the last column says how many times as long it took as the reference. A goal is met or missed on this machine,
in this run; nothing here is a promise for yours.
"""


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

    def cells(self):
        """The row in words, as HEAD names them."""
        ratio = "-" if math.isnan(self.ratio) else f"{self.ratio:.2g} x {self.reference}"
        value = self.unit if math.isnan(self.measured) else f"{self.measured:,.3g} {self.unit}"
        met = "-" if self.goal == "-" and self.met else "yes" if self.met else "NO"
        return self.what, f"{value}{self.more}", self.goal, met, ratio


def go_first():
    """Let this process and its children run before all others, which takes an administrator.

    A thread that has waited, for a disk that answers in 0.2 ms or for another thread, waits up to 4 ms more on a busy
    Linux machine, until another program's turn ends. Bare requests hardly wait, so their ratios suffer.
    """
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def show(rows, title, *, as_json=False):
    """Print all rows, and end with an error if a goal is missed."""
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        table = Table(*HEAD, title=title)
        for row in rows:
            table.add_row(*row.cells())
        Console(width=140).print(table)
    sys.exit(not all(row.met for row in rows))


def page(sections, seconds, busy, *, fast=False):
    """All rows as Markdown.

    Args:
        sections: Lists of rows by title.
        seconds: How long the measurements took.
        busy: The load average before they began.
        fast: Whether the long ones were left out.
    """
    goals = [row for rows in sections.values() for row in rows if row.goal != "-"]
    missed = [row.what for row in goals if not row.met]
    libraries = ", ".join(f"{name} {metadata.version(name)}" for name in VERSIONS)
    command = "make bench BENCH=--fast" if fast else "make bench"
    parts = [
        INTRODUCTION.rstrip(),
        f"discreet {discreet.__version__} on {datetime.date.today():%d %B %Y}: `{command}` took {seconds / 60:.0f} "
        f"minutes on {os.cpu_count()} cores ({platform.system()}, Python {platform.python_version()}, {libraries}). "
        f"Before it began, the machine had a load of {busy:.1f}.",
        f"**{len(goals) - len(missed)} of {len(goals)} goals are met.**"
        + (f" Missed: {'; '.join(missed)}." if missed else ""),
    ]
    for title, rows in sections.items():
        lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
        parts += [f"## {title}", "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines)]
    return "\n\n".join(parts) + "\n"


def _cell(words):
    return " ".join(words.split()).replace("|", r"\|")
