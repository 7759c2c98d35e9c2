"""Kept sums are compared with what they are sums of, in the background and a little at a time."""

import logging
from fractions import Fraction

import pytest

from discreet.service.experiments import budget
from discreet.service.experiments.upkeep import checking
from discreet.service.storage import schema
from tests._tools.service_copies import statements
from tests._tools.service_tools import VERIFY, small


@pytest.fixture
def checker(world):
    """The checks of a population with a release, a refund and some more lines."""
    world.start(**small(privacy_unit="person"))
    world.finish_epoch("banners")
    world.control.stop("banners")
    for number in range(20):
        world.control.set_budget("crowd", str(1001 - number - 1))
    return world.control.checker


def added(world, population):
    """The sum of a ledger, line by line."""
    lines = world.rows(schema.ledger, population=population)
    return sum((budget.SIGNS[one["kind"]] * Fraction(one["epsilon"]) for one in lines), Fraction(0))


def test_what_is_reserved_is_the_sum_of_the_lines_after_every_step(world):
    world.start(**small(privacy_unit="person"))
    for step in (
        lambda: world.finish_epoch("banners"),
        lambda: world.start("next", **small()),
        lambda: world.control.stop("banners"),
        lambda: world.control.set_budget("crowd", "500"),
    ):
        step()
        (row,) = world.rows(schema.population, name="crowd")
        assert row["reserved"] == added(world, "crowd")


def test_a_sum_is_read_and_not_added_up(world):
    world.start(**small())
    with statements() as seen, world.database.reading() as transaction:
        assert budget.state(transaction, "crowd").reserved == 100
    assert not [one for one in seen if "ledger" in one]


def test_what_is_intact_is_said_to_be_up_to_its_last_line(world, checker, clock):
    assert checker.checked("crowd") == (0, None, ())
    checker.look()
    assert checker.checked("crowd") == (24, clock.now, ())
    clock.wait(1)
    world.control.set_budget("crowd", "800")
    checker.look()
    assert checker.checked("crowd") == (25, clock.now, ())
    assert world.control.ledger("crowd").intact
    assert world.control.ledger("crowd").verified == 25


def test_one_look_reads_a_bounded_number_of_lines(world, checker, monkeypatch):
    monkeypatch.setattr(checking, "LINES", 10)
    done = []
    for _ in range(4):
        checker.look()
        done.append(checker.checked("crowd").lines)
    assert done == [10, 20, 24, 24]
    with statements() as seen:
        checker.look()
    assert len([one for one in seen if "FROM ledger" in one and "max" not in one]) == 0


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("UPDATE population SET reserved = '1/1' WHERE name = 'crowd'", "not the sum of the ledger's lines"),
        ("UPDATE population SET budget = '999999/1' WHERE name = 'crowd'", "the budget is not the one"),
        ("UPDATE ledger SET epsilon = '1/2' WHERE kind = 'refund'", "line 4 of the ledger was changed"),
        ("DELETE FROM ledger WHERE kind = 'release'", "line 3 of the ledger was changed or taken out"),
        ("DELETE FROM ledger WHERE number > 3 AND population = 'crowd'", "not the sum"),
    ],
)
def test_a_planted_change_is_found_logged_once_and_said(world, checker, edit, words, caplog):
    world.run(edit)
    with caplog.at_level(logging.ERROR, "discreet.service"):
        checker.look()
        checker.look()
    (problem,) = checker.checked("crowd").problems
    assert words in problem
    assert len([one for one in caplog.records if "the ledger of crowd is damaged" in one.getMessage()]) == 1
    found = world.control.ledger("crowd")
    assert (found.intact, found.problems) == (False, [problem])
    assert world.control.ledger("everybody").intact


def test_a_line_that_is_changed_after_it_was_checked_is_found_within_the_hour(world, checker, clock):
    checker.look()
    world.run("UPDATE ledger SET at = at + 1 WHERE number = 3 AND population = 'crowd'")
    checker.look()
    assert checker.checked("crowd").problems == ()
    clock.wait(checking.AGAIN)
    checker.look()
    assert checker.checked("crowd").problems == ("line 3 of the ledger was changed or taken out",)
    world.run("UPDATE ledger SET at = at - 1 WHERE number = 3 AND population = 'crowd'")
    assert world.control.ledger("crowd", VERIFY).intact


def test_lines_that_were_there_and_are_gone_are_missed(world, checker):
    checker.look()
    world.run("DELETE FROM ledger WHERE number > 23 AND population = 'crowd'")
    checker.look()
    assert checker.checked("crowd").problems == ("lines after 23 were taken out of the ledger",)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("UPDATE experiment SET spent = '0/1'", "what is kept as spent by 'banners'"),
        ("UPDATE epoch SET epsilon = '1/7' WHERE state = 'closed'", "what is kept as spent by 'banners'"),
        ("UPDATE release SET steps = '0' WHERE part = 0", "what epoch 1 of 'banners' released was changed"),
    ],
)
def test_what_an_experiment_has_spent_is_checked_too(world, checker, clock, edit, words, caplog):
    checker.look()
    assert checker.checked("crowd").problems == ()
    world.run(edit)
    clock.wait(checking.AGAIN)
    with caplog.at_level(logging.ERROR, "discreet.service"):
        checker.look()
    (problem,) = checker.checked("crowd").problems
    assert words in problem
    assert [one.levelname for one in caplog.records] == ["ERROR"]


def test_all_experiments_have_their_turn(world, monkeypatch, clock):
    monkeypatch.setattr(checking, "EXPERIMENTS", 2)
    for number in range(5):
        world.start(f"x{number}", **small())
    world.run("UPDATE experiment SET spent = '1/1' WHERE name = 'x4'")
    found = []
    for _ in range(3):
        world.control.checker.look()
        found.append(len(world.control.checker.checked("crowd").problems))
    assert found == [0, 0, 1]


@pytest.mark.parametrize(
    "more", [{"privacy_unit": "event"}, {"contribution": "once", "privacy_unit": "person"}, {"privacy_unit": "person"}]
)
def test_what_is_spent_is_what_all_epochs_cost(world, more):
    world.start(**small(**more, policy=None if more.get("contribution") != "once" else "dp-se"))
    for _ in range(3):
        if world.control.experiment("banners").epoch is None:
            break
        world.finish_epoch("banners", lambda arm: 0.5)
    world.control.checker.look()
    assert world.control.checker.checked("crowd").problems == ()
