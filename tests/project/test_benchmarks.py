"""The page that `make bench` writes."""

import math
import os
import re
from pathlib import Path

from benchmarks.rows import HEAD, Row, go_first, page

PAGE = Path(__file__).parents[2] / "docs/benchmarks.md"
SECTIONS = {
    "Quick": [
        Row("one", 0.1234, "s", "< 1", True, "two", 0.5),
        Row("a | b", 2.0, "s", "< 1", False, "two", 20.0),
        Row("no goal", 3e9, "pulls/s", "-", True, "-", math.nan),
    ],
    "Slow": [Row("PostgreSQL", math.nan, "is not installed", "-", True, "-", math.nan)],
}


def test_it_says_what_was_missed():
    text = page(SECTIONS, 125.0, 0.3)
    assert "**1 of 2 goals are met.** Missed: a | b." in text
    assert "`make bench` took 2 minutes" in text
    assert "`make bench BENCH=--fast` took" in page(SECTIONS, 60.0, 0.0, fast=True)
    assert "a load of 0.3" in text


def test_every_row_is_in_the_table_of_its_section():
    quick, slow = page(SECTIONS, 60.0, 0.0).split("## ")[1:]
    assert "| one | 0.123 s | < 1 | yes | 0.5 x two |" in quick
    assert r"| a \| b | 2 s | < 1 | NO | 20 x two |" in quick
    assert "| no goal | 3e+09 pulls/s | - | - | - |" in quick
    assert "| PostgreSQL | is not installed | - | - | - |" in slow


def test_the_page_of_the_site_counts_its_own_goals():
    text = PAGE.read_text()
    rows = re.findall(r"^\| (?!what|---)(.*) \|$", text, re.M)
    met = [row.split(" | ")[HEAD.index("met")] for row in rows]
    assert f"**{met.count('yes')} of {met.count('yes') + met.count('NO')} goals are met.**" in text


def test_who_goes_first_takes_the_turns_of_others(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "SCHED_RR", "in turn", raising=False)
    monkeypatch.setattr(os, "sched_param", int, raising=False)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *given: asked.append(given), raising=False)
    go_first()
    assert asked == [(0, "in turn", 1)]
