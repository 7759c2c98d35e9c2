"""What populations may lose: exact sums, refused beyond the budget, and no line can be edited."""

import threading
from fractions import Fraction

import pytest

from discreet.service.errors import ServiceProblem
from discreet.service.experiments import budget
from discreet.service.messages import NewPopulation
from discreet.service.storage import schema
from tests._tools.service_tools import VERIFY, draft, small


def refused(status, call, *given):
    with pytest.raises(ServiceProblem) as caught:
        call(*given)
    assert caught.value.status == status
    return caught.value


@pytest.fixture
def people(world):
    """A population that may lose 1."""
    world.control.create_population(NewPopulation("people", "1"))
    return world


def reserved(world, population="people"):
    with world.database.reading() as transaction:
        return budget.state(transaction, population).reserved


def test_ten_tenths_are_one(people):
    for number in range(10):
        people.start(f"x{number}", "0.1", population="people")
    assert people.control.ledger("people").population.left == "0"
    people.control.create(draft("eleventh", "0.1", population="people"))
    problem = refused(409, people.control.start, "eleventh")
    assert problem.title == "over budget"
    assert people.control.experiment("eleventh").state == "draft"
    assert reserved(people) == 1


def test_what_was_not_spent_goes_back(people):
    people.start("unused", "0.6", population="people")
    people.control.create(draft("next", "0.5", population="people"))
    refused(409, people.control.start, "next")
    people.control.stop("unused")
    assert reserved(people) == 0
    people.control.start("next")
    assert reserved(people) == Fraction("0.5")


@pytest.mark.parametrize("unit", ["event", "person"])
def test_what_was_released_stays_spent(world, unit):
    world.start(**small(privacy_unit=unit))
    world.finish_epoch("banners", lambda arm: 0.5)
    world.control.stop("banners")
    (row,) = world.rows(schema.experiment)
    lines = [(one["kind"], Fraction(one["epsilon"])) for one in world.rows(schema.ledger, population="crowd")]
    cost = Fraction(row["spent"])
    assert (cost == 100) == (unit == "event")
    expected = [("budget", 1000), ("reserve", 100), ("release", cost), ("refund", 100 - cost)]
    assert lines == (expected if unit == "person" else expected[:3])
    assert reserved(world, "crowd") == cost


WRONG = [
    "-1",
    "0",
    "0.0",
    "NaN",
    "nan",
    "inf",
    "1e999",
    "1e-3",
    "1/3",
    "1_000",
    "",
    " 1",
    "1\n",
    "1001",
    "٣",
    "+1",
    "1.",
]


@pytest.mark.parametrize("field", ["epsilon", "budget", "new budget"])
def test_amounts_that_are_none_are_refused(people, field):
    before = people.rows(schema.population), people.rows(schema.ledger)
    with people.web() as web:
        for number, text in enumerate(WRONG):
            if field == "epsilon":
                said = web.post("/v1/experiments", json={"name": f"x{number}", "epsilon": text, "arms": ["a", "b"]})
            elif field == "budget":
                said = web.post("/v1/populations", json={"name": f"p{number}", "budget": text})
            else:
                said = web.put("/v1/populations/people", json={"budget": text})
            assert said.status_code == 422, text
    assert (people.rows(schema.population), people.rows(schema.ledger)) == before


@pytest.mark.parametrize("text", ["-1", "0", "NaN", "inf", "1e999", "1001", ""])
def test_amounts_are_checked_without_http_too(people, text):
    refused(422, people.control.create, draft("x", text))
    refused(422, people.control.set_budget, "people", text)


def test_a_budget_cannot_fall_below_what_is_set_aside(people):
    people.start("x", "0.5", population="people")
    refused(409, people.control.set_budget, "people", "0.499999999999999999")
    assert people.control.set_budget("people", "0.5").left == "0"
    refused(404, people.control.set_budget, "nobody", "1")
    refused(409, people.control.create_population, NewPopulation("people", "1"))


EDITS = (
    "UPDATE ledger SET epsilon = '1/100' WHERE kind = 'reserve'",
    "UPDATE ledger SET kind = 'refund' WHERE kind = 'reserve'",
    "UPDATE ledger SET at = at + 1 WHERE number = 1 AND population = 'people'",
    "UPDATE ledger SET experiment = 'exp_other' WHERE kind = 'reserve'",
    "UPDATE ledger SET digest = 'x' WHERE number = 2 AND population = 'people'",
    "DELETE FROM ledger WHERE kind = 'reserve'",
    "DELETE FROM ledger WHERE number = 1 AND population = 'people'",
    "UPDATE ledger SET number = number + 10 WHERE population = 'people'",
)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_line_is_found(people, edit):
    people.start("x", "0.5", population="people")
    people.control.set_budget("people", "2")
    assert people.control.ledger("people", VERIFY).intact
    people.run(edit)
    assert not people.control.ledger("people", VERIFY).intact
    assert people.control.ledger("everybody", VERIFY).intact


def test_starts_at_the_same_time_cannot_spend_the_same_budget_twice(people):
    """Eight threads want 0.3 each of a budget of 1: three get it."""
    for number in range(8):
        people.control.create(draft(f"x{number}", "0.3", population="people"))
    said, line = [], threading.Barrier(8)

    def start(number):
        line.wait()
        try:
            said.append(people.control.start(f"x{number}").state)
        except ServiceProblem as problem:
            said.append(problem.title)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(said) == ["over budget"] * 5 + ["running"] * 3
    assert reserved(people) == Fraction("0.9")
    assert people.control.ledger("people", VERIFY).intact
