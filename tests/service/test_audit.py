"""The audit through the HTTP API: whatever can be read there tells less about a reward than is promised.

Two histories differ in what one person, Ann, reports: her rewards are 1 in one of them, and 0, or never sent, in the
other. Both are played many times through the real application, and everything that it answers is the output: releases,
counts, times, arms that are left, ledgers, status codes, and sizes, as an analyst sees them; and the receipts of
somebody who reports in Ann's name with the key of a web page. What is random and says nothing, such as ids, is left
out, and the clock is ours. The audit's own limits then bound epsilon from below. Leaks that are planted must be found.
"""

import itertools
import json
import math
from dataclasses import dataclass, field

import pytest
from sqlalchemy import event, func, select

from discreet.audit.events import DERIVED
from discreet.audit.examine import compare
from discreet.audit.subjects import Pair
from discreet.core.grid import Grid
from discreet.service.experiments import assignments
from discreet.service.experiments.statements import views
from discreet.service.messages import NewKey, NewPopulation
from discreet.service.storage import schema
from tests._tools.service_tools import Clock, World, new_file

ERROR = 1e-6  # the chance that a bound is too high
FEW, MANY = 81, 600  # a leak that shows always is found by 54 runs of either side; the others pick the event
WINDOW, ANSWERS = 60.0, 8
MEANINGLESS = {"id", "name", "population", "experiment", "digest"}  # random, or chosen anew for every run
RELEASED = {"mean", "value"}


@dataclass
class History:
    """What is run, what Ann reports in each of its epochs (None: nothing), and what everybody else does."""

    ann: list[float | None]
    others: float | None
    options: dict = field(default_factory=dict)


class Desk:
    """An analyst's view of a service that plays histories."""

    def __init__(self, url, clock):
        self.world, self.numbers = World(url, clock), itertools.count()
        self.analyst = self.world.control.make_key(NewKey("analyst", ["analyse"])).key
        self.page = self.world.control.make_key(NewKey("page", ["assign", "report"])).key
        self.close = self.world.close

    def play(self, web, history):
        """One run, as facts: numbers that were released, and all the rest."""
        self.world.clock.now = 1_000_000.0
        self.world.database._latest = 0.0  # it would not follow a clock that goes back
        name = f"run-{next(self.numbers):06}"
        self.world.control.create_population(NewPopulation(name, "10"))
        self.world.start(name, population=name, window=WINDOW, **history.options)
        facts, seen = {}, []
        for number, reward in enumerate(history.ann, 1):
            epoch = self.world.control.experiment(name).epoch
            if epoch is None:
                break
            hers = self._fill(web, name, epoch, history.others, reward)
            self.close(name)
            seen += self._look(web, name)
            seen += self._try(web, name)
            self.world.clock.wait(WINDOW + 1)
            seen += self._try(web, name)
            self.close(name)
            seen += self._look(web, name)
            for one in self.released:
                if one["epoch"] == number:
                    facts[f"epoch {number}, {'her arm' if one['arm'] == hers else 'another arm'}"] = one["value"]
        facts |= {f"{DERIVED}size of answer {place}": size for place, (size, _) in enumerate(seen)}
        return facts | {f"answer {place}": rest for place, (_, rest) in enumerate(seen)}

    def _fill(self, web, name, epoch, others, hers):
        """Everybody asks, in the order of their names, and reports; gives Ann's arm, which is public."""
        units = ["ann", *[f"unit-{number:04}" for number in range(epoch.quota - 1)]]
        given = web.post(f"/v1/experiments/{name}/assignments", json={"units": units}).json()["assignments"]
        rewards = [hers, *[others] * (len(units) - 1)]
        told = [
            {"assignment": one["assignment"], "reward": reward}
            for one, reward in zip(given, rewards, strict=True)
            if reward is not None
        ]
        if told:
            assert set(web.post("/v1/rewards:batch", json={"rewards": told}).json()["statuses"]) == {"accepted"}
        return given[0]["arm"]

    def _try(self, web, name):
        """What a stranger with the key of a page gets: Ann's assignment, and the receipt of a reward in her name."""
        key = {"Authorization": f"Bearer {self.page}"}
        given = web.post(f"/v1/experiments/{name}/assignments", json={"units": ["ann"]}, headers=key)
        (hers,) = given.json()["assignments"]
        tried = {"rewards": [{"assignment": hers["assignment"], "reward": 0.0}]}
        told = web.post("/v1/rewards:batch", json=tried, headers=key)
        # Her arm and her token follow from the experiment's secret, which is another one in every run.
        return [(len(given.content), (given.status_code, hers["learn"], hers["deadline"])), _shown(told)]

    def _look(self, web, name):
        """The size of every answer, and what it says apart from noisy numbers."""
        one = f"/v1/experiments/{name}"
        paths = [f"{one}/releases", one, f"{one}/epochs", f"{one}/plan", f"/v1/populations/{name}/ledger", "/metrics"]
        key = {"Authorization": f"Bearer {self.analyst}"}
        answers = web.together(*[("GET", path, None) for path in paths], headers=key)
        self.released = answers[0].json()["releases"]
        return list(map(_shown, answers))


def _shown(answer):
    """The size of an answer, and what it says."""
    return len(answer.content), (answer.status_code, json.dumps(plain(answer.json()), sort_keys=True))


def plain(value):
    """An answer without what is random and says nothing, and without noisy numbers, which are looked at as numbers."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in MEANINGLESS | RELEASED}
    return [plain(part) for part in value] if isinstance(value, list) else value


@pytest.fixture
def desk(file, tmp_path):
    opened = Desk(new_file(file, tmp_path), Clock())
    event.listen(opened.world.database.engine, "connect", lambda one, _: one.execute("PRAGMA synchronous=OFF"))
    opened.world.database.engine.dispose()
    yield opened
    opened.world.database.close()


@pytest.fixture
def report(request):
    """Puts a line on the page of `make verify` where there is one."""
    try:
        return request.getfixturevalue("page")
    except pytest.FixtureLookupError:
        return lambda section, **row: print(section, row)


def audited(desk, one, other, samples):
    """A lower bound on epsilon, and the event that proves it."""
    with desk.world.web() as web:
        pair = Pair("through HTTP", lambda: desk.play(web, one), lambda: desk.play(web, other), 1.0)
        return compare(pair, ERROR, samples, math.inf, lambda _: None)


# ---------------------------------------------------------------------- what is promised holds

EVENT = {"epsilon": "1", "policy": "dp-imed", "options": {"first_batch": 1}, "privacy_unit": "event"}
SLOW = {"epsilon": "1", "policy": "dp-se-sharp", "options": {"beta": 0.9}, "privacy_unit": "event"}
PERSON = {"epsilon": "1", "policy": "dp-se-sharp-person", "options": {"beta": 0.9, "growth": 1.5}}
BLOCKS = {"epsilon": "1", "rule": "dp-nas-released", "options": {"alpha": 0.9, "beta": 0.9}, "privacy_unit": "event"}

PAIRS = {
    "the only answer": (History([1.0], None, EVENT), History([None], None, EVENT)),
    "a reward of 1 or 0": (History([1.0], 0.5, EVENT), History([0.0], 0.5, EVENT)),
    "a reward far outside": (History([1e9], 0.0, EVENT), History([-1e9], 0.0, EVENT)),
    "an elimination's only answer": (History([1.0], None, SLOW), History([None], None, SLOW)),
    "a running mean's only answer": (History([1.0], None, BLOCKS), History([None], None, BLOCKS)),
    "a person in two epochs": (History([1.0, 1.0], 0.5, PERSON), History([0.0, 0.0], 0.5, PERSON)),
    "a person who never answers": (History([1.0, 1.0], None, PERSON), History([None, None], None, PERSON)),
}


def check(desk, report, name, samples):
    one, other = PAIRS[name]
    found = audited(desk, one, other, samples)
    report("Audit of the service", pair=name, claimed=1.0, proved=found.epsilon, runs=2 * samples)
    assert found.epsilon <= 1.0, found
    return found


# With 400 runs on either side an audit sees nothing.
LONG = ("the only answer", "a running mean's only answer", "a person in two epochs")


@pytest.mark.study
@pytest.mark.parametrize("name", LONG)
def test_a_long_audit_finds_less_than_is_promised(desk, report, name):
    epochs = len(PAIRS[name][0].ann)
    found = check(desk, report, name, MANY // epochs**2)
    assert found.epsilon > 0.05 or epochs > 1, "it has seen nothing at all, so it proves nothing"


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_but_releases_and_decisions_depends_on_a_reward(desk, name):
    """Before a release, every answer is the same whatever was reported, and of the same size."""
    one, other = PAIRS[name]
    with desk.world.web() as web:
        looks = [desk.play(web, history) for history in (one, other)]
    for place in range(ANSWERS):
        for fact in (f"answer {place}", f"{DERIVED}size of answer {place}"):
            assert looks[0][fact] == looks[1][fact]


# ---------------------------------------------------------------------- what leaks is found


def told(connection, experiment):
    query = select(func.sum(schema.counter.c.told)).where(schema.counter.c.experiment == experiment)
    return connection.execute(query).scalar() or 0


def closing_on_rewards(desk, monkeypatch):
    """An epoch is closed as soon as all rewards are in."""
    honest = desk.close

    def close(name):
        experiment = desk.world.control.started(name).id
        with desk.world.database.reading() as connection:
            count = told(connection, experiment)
        if count == desk.world.control.experiment(name).epoch.quota:
            desk.world.run("UPDATE lease SET deadline = 0 WHERE experiment = :one", one=experiment)
        return honest(name)

    desk.close = close


def counting_answers(desk, monkeypatch):
    """An experiment shows how many rewards came."""
    honest = views.epoch_views

    def epoch_views(connection, row):
        shown = honest(connection, row)
        for one in shown:
            if one.state == "open":
                one.dealt = told(connection, row.id)
        return shown

    monkeypatch.setattr(views, "epoch_views", epoch_views)


def receipts_that_know(desk, monkeypatch):
    """A second reward gets another receipt than the first."""
    honest = assignments.tell

    def tell(transaction, shard, given):
        table = schema.assignment
        query = select(table.c.experiment, table.c.slot).where(table.c.told > 0)
        came = set(map(tuple, transaction.execute(query)))
        said = honest(transaction, shard, given)
        places = [(one.experiment.id, one.place.slot) for one in given]
        return ["late" if place in came else status for place, status in zip(places, said, strict=True)]

    monkeypatch.setattr(assignments, "tell", tell)


def not_clipping(desk, monkeypatch):
    """A reward counts as it is."""
    monkeypatch.setattr(Grid, "encode", lambda grid, reward, clip=False: round(reward / grid.step) - grid.floor)


LEAKS = {
    closing_on_rewards: (History([0.0], 0.0, EVENT), History([None], 0.0, EVENT)),
    counting_answers: PAIRS["the only answer"],
    receipts_that_know: PAIRS["the only answer"],
    not_clipping: (History([15.0], 0.0, SLOW), History([0.0], 0.0, SLOW)),
}


def check_found(desk, report, monkeypatch, leak, samples):
    leak(desk, monkeypatch)
    found = audited(desk, *LEAKS[leak], samples)
    name = f"planted: {leak.__name__.replace('_', ' ')}"
    report("Audit of the service", pair=name, claimed=1.0, proved=found.epsilon, runs=2 * samples)
    assert found.epsilon > 1.0, found


@pytest.mark.study
def test_a_leak_that_shows_always_is_found_at_once(desk, report, monkeypatch):
    check_found(desk, report, monkeypatch, closing_on_rewards, FEW)


def test_a_receipt_that_knows_is_not_the_same(desk, monkeypatch):
    receipts_that_know(desk, monkeypatch)
    with pytest.raises(AssertionError):
        test_nothing_but_releases_and_decisions_depends_on_a_reward(desk, "the only answer")


@pytest.mark.study
@pytest.mark.parametrize(
    ("leak", "samples"), [(counting_answers, FEW), (receipts_that_know, FEW), (not_clipping, 3 * FEW)]
)
def test_every_planted_leak_is_found(desk, report, monkeypatch, leak, samples):
    check_found(desk, report, monkeypatch, leak, samples)
