"""`kill -9` at any moment of a commit: the file is the old one or the new one, and has all that was seen."""

import sys

import pytest

import discreet
from tests._tools.killing import POINTS, continues, endure
from tests._tools.walking import CASES

KILLS = 200

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9"),
]


@pytest.mark.parametrize("name", ["dp-chernoff-imed", "dp-exp-nas"])
def test_a_killed_process_leaves_a_whole_file(name, tmp_path):
    assert endure([name], 12, tmp_path, seed=1).total() == 12


@pytest.mark.study
def test_two_hundred_kills_in_the_middle_of_a_commit(tmp_path, page):
    deaths = endure(list(CASES), KILLS, tmp_path, seed=2)
    page("Faults survived", fault="kill -9 in the middle of a commit", tried=KILLS, survived=deaths.total())
    print(f"{len(CASES)} kinds of drivers: {deaths.total()} of {KILLS} kills in the middle of a commit: {dict(deaths)}")
    assert set(deaths) == set(POINTS)
    assert deaths.total() == KILLS


@pytest.mark.study
def test_kills_from_without_at_any_time(tmp_path, page):
    deaths = endure(list(CASES), KILLS, tmp_path, seed=3, within=False)
    page("Faults survived", fault="kill -9 from without, at any time", tried=KILLS, survived=deaths.total())
    print(f"{deaths.total()} of {KILLS} kills from without survived")
    assert deaths.total() == KILLS


@pytest.mark.parametrize(("bug", "error"), [("not written", AssertionError), ("torn", discreet.StateError)])
def test_the_check_finds_planted_bugs(bug, error, tmp_path):
    with pytest.raises(error):
        endure(["dp-chernoff-imed"], 50, tmp_path, seed=4, bug=bug)


def test_what_was_seen_must_not_change_or_go():
    one = [1, "total", [["A", 1, 5]], 7, 1.0, 1.0, False, 0, False]
    assert continues([one], [one, [2, "total", [["B", 1, 5]], 7, 1.0, 1.0, False, 0, False]])
    assert not continues([one], [[*one[:3], 8, *one[4:]]])
    assert not continues([one], [])
    tests = [[1, "tests", [[None, 1, last]], None, 1.0, 1.0, False, last, False] for last in (4, 3)]
    assert continues(tests[1:], tests[:1])
    assert not continues(tests[:1], tests[1:])
