"""The OpenAPI document is true: requests made from it, sensible and not, get what it says and never a 5xx."""

import copy
import itertools

import pytest
from hypothesis import HealthCheck, settings

from discreet.service.http import refusals
from discreet.service.http.api import document
from discreet.service.http.app import make_app
from tests._tools.service_tools import draft, small

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: make test-system installs it")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
pytestmark = pytest.mark.system
FEW, FEWER, MANY = 8, 2, 60
BEYOND = [checks.positive_data_acceptance]  # a schema cannot say that a budget is spent, or which options a policy has


class Stage:
    """The application of the test that runs now: the document is the same for all of them."""

    app = None

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            await self.app(scope, receive, send)


STAGE = Stage()
SCHEMA = schemathesis.openapi.from_dict(copy.deepcopy(document()))
SCHEMA.app = STAGE


class Place:
    """A service with an experiment in every state, so that paths lead somewhere."""

    def __init__(self, world):
        self.key = world.key
        STAGE.app = make_app(world.control, tick=None)
        control = world.control
        for name in ("running", "paused", "stopped", "fed"):
            control.create(draft(name, **small(source="totals" if name == "fed" else "assignments")))
            control.start(name)
        control.create(draft("mean", **small(rule="dp-nas-released")))
        control.create(draft("draft", **small()))
        control.create(draft("tested", **small()))
        control.tests.begin("tested")
        control.pause("paused")
        control.stop("stopped")
        (given,) = world.ask("running", "ann")
        self.names = {
            "experiment": itertools.cycle(["running", "paused", "stopped", "fed", "mean", "draft", "tested"]),
            "assignment": itertools.repeat(given.assignment),
            "population": itertools.repeat("crowd"),
            "key": itertools.repeat("00000000"),  # ours must last
        }


@pytest.fixture
def place(world, monkeypatch):
    monkeypatch.setattr(refusals, "MOST_REFUSED", 10**9)  # many wrong keys are shown here: test_doors has the limit
    return Place(world)


def is_sent(value):
    """Return whether a parameter of a query leaves anything in the address."""
    return value is not None and value not in ([], {})


def try_it(case, place, headers):
    """As it was made, and with the name of something that is there."""
    beyond = BEYOND
    if not all(map(is_sent, (case.query or {}).values())):  # what makes it wrong may never arrive
        beyond = [*BEYOND, checks.negative_data_rejection]
    case.call_and_validate(headers=headers, excluded_checks=beyond)
    if case.path_parameters:
        case.path_parameters = {name: next(place.names[name]) for name in case.path_parameters}
        case.call_and_validate(headers=headers, excluded_checks=beyond)


def bounded(most):
    return settings(max_examples=most, deadline=None, suppress_health_check=list(HealthCheck))


@SCHEMA.parametrize()
@bounded(FEW)
def test_the_document_is_true(case, place):
    try_it(case, place, {"Authorization": f"Bearer {place.key}"})


@pytest.mark.study
@SCHEMA.parametrize()
@bounded(FEWER)
def test_the_document_is_true_without_a_key(case, place):
    try_it(case, place, {})


@pytest.mark.study
@SCHEMA.parametrize()
@bounded(MANY)
def test_the_document_is_true_of_many_requests(case, place):
    try_it(case, place, {"Authorization": f"Bearer {place.key}"})
