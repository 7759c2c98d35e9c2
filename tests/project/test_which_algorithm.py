"""The chart of algorithms says what `recommend` says, and names what exists."""

import re
from itertools import product
from pathlib import Path

import discreet

PAGE = (Path(__file__).parents[2] / "docs/which-algorithm.md").read_text()
CHART = (Path(__file__).parents[2] / "docs/pictures/which-algorithm.svg").read_text()
TABLE = [line for line in PAGE.splitlines() if line.startswith("| ")]
KNOWN = {**discreet.POLICIES, **discreet.RULES}


def recommended():
    for goal, delayed, drifting, unit in product(("regret", "best-arm"), (False, True), (False, True), discreet.Unit):
        if unit in ("reward", "person"):
            options = {"goal": goal, "delayed": delayed, "drifting": drifting, "unit": str(unit)}
            yield discreet.recommend(2, epsilon=1.0, horizon=10**6, **options).policy
    yield discreet.recommend(goal="mean", epsilon=1.0).policy
    yield discreet.recommend(goal="mean", epsilon=1.0, low=-1.0).policy


def test_what_is_recommended_is_in_the_table():
    for key in set(recommended()):
        assert any(f"| `{key}` |" in line for line in TABLE), key


def test_every_row_names_an_algorithm_and_its_class():
    rows = [re.findall(r"`([\w-]+)`", line)[-2:] for line in TABLE if "`" in line]
    assert len(rows) > 10
    for key, name in rows:
        assert KNOWN[key] is getattr(discreet, name)


def test_the_chart_names_rows_of_the_table():
    keys = re.findall(r">(dp-[\w-]+)<", CHART)
    assert len(keys) > 8
    assert all(f"| `{key}` |" in PAGE for key in keys)
