"""`kill -9` at any moment of a write: the file is the old one or the new one, and no release is drawn twice."""

import sys

import pytest

import discreet
from tests._tools import examples
from tests._tools.killing import POINTS, continues, endure

POLICIES = [name for name in sorted(discreet.POLICIES) if examples.is_private(name)]
RULES = [name for name in sorted(discreet.RULES) if examples.is_private(name)]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")


@pytest.mark.parametrize("name", ["dp-chernoff-imed", "dp-exp-nas"])
def test_a_killed_process_leaves_a_whole_file(name, tmp_path):
    assert endure([name], 12, tmp_path, seed=1).total() == 12


@pytest.mark.study
@pytest.mark.parametrize(("what", "names"), [("bandit", POLICIES), ("stopping rule", RULES)])
def test_five_hundred_kills_in_the_middle_of_a_save(what, names, tmp_path, page):
    half = 250
    deaths = endure(names, half, tmp_path, seed=2)
    page("Faults survived", fault=f"kill -9 in the middle of a {what}'s save", tried=half, survived=deaths.total())
    print(f"{what}, {len(names)} kinds: {deaths.total()} of {half} kills in the middle of a save: {dict(deaths)}")
    assert set(deaths) == set(POINTS)
    assert deaths.total() == half


@pytest.mark.study
@pytest.mark.parametrize(("what", "names"), [("bandit", POLICIES), ("stopping rule", RULES)])
def test_kills_from_without_at_any_time(what, names, tmp_path, page):
    deaths = endure(names, 100, tmp_path, seed=3, within=False)
    page("Faults survived", fault="kill -9 from without, at any time", tried=100, survived=deaths.total())
    print(f"{what}: {deaths.total()} of 100 kills from without survived")
    assert deaths.total() == 100


@pytest.mark.parametrize(("bug", "error"), [("behind", AssertionError), ("torn", discreet.StateError)])
def test_the_check_finds_planted_bugs(bug, error, tmp_path):
    with pytest.raises(error):
        endure(["dp-chernoff-imed"], 50, tmp_path, seed=4, bug=bug)


def test_what_was_seen_must_not_change_or_go():
    one = [1, "batch total", [["A", 1, 5]], 7]
    assert continues([one], [one, [2, "batch total", [["B", 1, 5]], 7]])
    assert not continues([one], [[*one[:3], 8]])
    assert not continues([one], [])
    assert not continues([[4, "above threshold: 4 tests, not halted", [[None, 1, 4]], None]],
                         [[3, "above threshold: 3 tests, not halted", [[None, 1, 3]], None]])  # fmt: skip
