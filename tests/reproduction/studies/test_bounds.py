"""The bounds against simulation: the rows are what the results and the theory say, and a false bound is seen."""

import pytest

from discreet import theory
from discreet.reproduction.parts import Reproduced
from discreet.reproduction.report import render_results
from discreet.reproduction.studies import bounds
from discreet.reproduction.studies.bounds import BoundRow, bound_rows


@pytest.fixture(scope="module")
def rows(extended, stopping):
    return {row.bound: row for row in bound_rows(Reproduced(extended, stopping))}


def test_every_bound_that_can_be_compared_is_there_and_holds(rows):
    assert set(rows) == {
        "dp_se_sure_regret", "dp_se_regret_bound", "dp_se_minimax_bound", "dp_ucb_regret_bound", "ucb_regret_bound",
        "ucb_minimax_bound", "se_regret_bound", "nas_upper_bound", "stopping_upper_bound",
        "private_stopping_lower_bound", "tree_union_bound", "tree_error_bound",
    }  # fmt: skip
    assert all(row.holds for row in rows.values())
    assert all(0 < row.least <= row.most for row in rows.values())


def test_the_parts_are_those_of_the_results(rows, extended):
    mine = [one for one in extended.results if one.setting.algorithm == "ucb"]
    parts = [one.mean / theory.ucb_regret_bound(one.setting.instance.means, one.setting.horizon) for one in mine]
    row = rows["ucb_regret_bound"]
    assert (row.settings, row.least, row.most) == (len(parts), min(parts), max(parts))
    private = [one for one in extended.results if one.setting.algorithm == "dp-ucb"]
    assert 0 < rows["dp_ucb_regret_bound"].settings < len(private)  # not those whose relaxation is too small


def test_a_bound_that_is_exceeded_is_marked(paper, monkeypatch):
    monkeypatch.setattr(bounds.theory, "dp_se_regret_bound", lambda means, horizon, epsilon: 1.0)
    text = render_results(Reproduced(paper))
    assert text.count("| no |") == 1
    assert "## The bounds against simulation" in text
    assert not BoundRow("a", "b", "c", False, 1, 0.5, 3.0).holds
    assert BoundRow("a", "b", "c", False, 1, 1.5, 3.0).holds
