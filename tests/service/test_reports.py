"""Privacy reports: an experiment's releases added up anew, and what a population's experiments cost together."""

import hashlib
import json
from fractions import Fraction

import pytest

from discreet.core.privacy import Unit
from discreet.service.errors import ServiceProblem
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.upkeep.restoring import recover
from discreet.service.messages import NewKey, NewPopulation, PopulationReportQuery
from discreet.service.storage import Released, schema
from tests._tools.service_tools import draft, new_file, small


@pytest.fixture
def url(file, tmp_path):
    """SQLite alone: one statement differs, which tests of lists run on both."""
    return new_file(file, tmp_path)


PERSON = {"policy": "dp-se-sharp-person", "epsilon": "50", "population": "crowd", "window": 60.0}
RUNS = {
    "event": small(policy="dp-se-sharp"),
    "each-epoch": PERSON,
    "once": {**PERSON, "policy": "dp-chernoff-imed", "options": {"horizon": 10_000}, "contribution": "once"},
    "rule": small(rule="dp-nas-released"),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_report_adds_releases_up_to_what_was_charged(world, name):
    world.start("banners", **RUNS[name])
    for _ in range(2):
        if world.control.experiment("banners").epoch is not None:
            world.finish_epoch("banners")
    report = world.control.privacy_report("banners")
    assert report.kept
    assert report.verdict.startswith("Kept: ")
    assert report.paid == pytest.approx(float(report.spent))
    assert report.paid <= float(report.privacy.epsilon)
    assert sum(row.releases for row in report.released) == report.releases == len(report.entries) > 0
    assert report.privacy == world.control.experiment("banners").privacy
    assert (world.replayed("banners").privacy.unit is Unit.PERSON) == (name == "each-epoch")


def test_the_digest_can_be_computed_again_from_the_answer(world):
    world.start(**small())
    world.finish_epoch("banners")
    with world.web() as web:
        answer = web.get("/v1/experiments/banners/report").json()
    rows = json.dumps(answer["entries"], sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(rows.encode()).hexdigest() == answer["sha256"]
    released = {(one.epoch, one.arm): one.mean for one in world.control.releases("banners")}
    assert {(row["epoch"], row["arm"]): row["mean"] for row in answer["entries"]} == released


def test_more_than_was_promised_is_said(world):
    """A price that somebody has raised in the database, with its checksum."""
    world.start(**small())
    world.finish_epoch("banners")
    (row, *_) = world.rows(schema.release, epoch=1)
    dearer = Released(**{**row, "epsilon": 2 * row["epsilon"]})
    world.run(
        "UPDATE release SET epsilon = :epsilon, digest = :digest WHERE epoch = 1 AND part = 0",
        epsilon=dearer.epsilon, digest=dearer.checksum(),
    )  # fmt: skip
    report = world.control.privacy_report("banners")
    assert not report.kept
    assert report.verdict.startswith("BROKEN: ")


def test_a_changed_release_has_no_report(world):
    world.start(**small())
    world.finish_epoch("banners")
    world.run("UPDATE release SET epsilon = 0.001")
    with pytest.raises(ServiceProblem, match="was changed"):
        world.control.privacy_report("banners")


def test_a_deleted_release_has_no_report(world):
    world.start(**small())
    for _ in range(2):
        world.finish_epoch("banners")
    world.run("DELETE FROM release WHERE epoch = 1")
    with pytest.raises(ServiceProblem, match="epoch 1 of 'banners' were added or deleted") as caught:
        world.control.privacy_report("banners")
    assert caught.value.status == 500


def close_by_hand(world):
    plan = world.control.open_plan("banners")
    world.control.close_with("banners", plan.epoch, dict.fromkeys(plan.pulls, 0))


def test_after_a_restore_the_report_has_what_is_charged(world):
    world.control.create_population(NewPopulation("people", "10"))
    world.start("banners", "1", population="people", source="totals", contribution="each-epoch")
    close_by_hand(world)
    before = world.control.summary("banners").claims[3].words
    assert "epsilon 1:" in before
    recover(world.database, None)
    close_by_hand(world)
    report = world.control.privacy_report("banners")
    assert float(report.spent) > 1 > report.paid
    assert not report.kept
    assert report.verdict.startswith(f"MORE THAN AT FIRST: after a restore up to {float(report.spent):g} is charged")
    promised = Fraction(world.rows(schema.experiment)[0]["epsilon"])
    assert f"epsilon {as_text(promised)} since a restore:" in world.control.summary("banners").claims[3].words


def test_a_forfeited_epoch_of_other_rewards_costs_no_more_than_was_promised(world):
    world.start(**small())
    world.finish_epoch("banners")
    recover(world.database, None)
    report = world.control.privacy_report("banners")
    assert report.kept
    assert report.verdict.startswith("Kept: after a restore up to ")


def test_a_ledger_that_is_dearer_than_what_was_charged_is_said(world):
    world.start(**small())
    world.finish_epoch("banners")
    world.run("UPDATE experiment SET spent = '1/1000'")
    report = world.control.privacy_report("banners")
    assert not report.kept
    assert "that was charged" in report.verdict


def test_a_draft_has_released_nothing(world):
    world.control.create(draft("later"))
    report = world.control.privacy_report("later")
    assert (report.paid, report.entries, report.kept) == (0.0, [], True)


def test_a_hundred_experiments_of_a_tenth_cost_less_at_a_delta(world):
    world.control.create_population(NewPopulation("people", "10"))
    for number in range(100):
        world.start(f"e-{number}", "0.1", population="people", policy="dp-imed", options={}, contribution="once")
    report = world.control.population_report("people")
    assert (report.population.reserved, report.experiments, len(report.parts)) == ("10", 100, 100)
    assert report.epsilon_at_delta == pytest.approx(4.7746, abs=1e-4)
    assert world.control.ledger_page("people", 1, 50, 12).at_delta == report.epsilon_at_delta
    assert any("4.77 together" in line for line in report.words)
    assert any("no experiment was stopped early" in line for line in report.words)
    strict = world.control.population_report("people", PopulationReportQuery(1e-12))
    assert 4.78 < strict.epsilon_at_delta < 10
    world.control.stop("e-7")  # it has spent nothing
    assert world.control.population_report("people").experiments == 99
    assert world.control.population_report("people").population.reserved == "9.9"


def test_what_was_forfeited_after_a_restore_counts_as_well(world):
    world.start(**small())
    world.run("UPDATE population SET reserved = '150/1' WHERE name = 'crowd'")
    report = world.control.population_report("crowd", PopulationReportQuery(1e-9))
    assert report.experiments == 1
    assert 100 < report.epsilon_at_delta <= 150


def test_one_experiment_costs_its_epsilon_at_any_delta(world):
    world.start("alone", "1", population="crowd")
    report = world.control.population_report("crowd")
    assert report.epsilon_at_delta == pytest.approx(1, abs=1e-5)
    assert "hardly less" in report.words[-1]


def test_who_may_see_reports(world):
    world.start(**small())
    guest = {"Authorization": f"Bearer {world.control.make_key(NewKey('guest', ['analyse'], 'banners')).key}"}
    with world.web() as web:
        assert web.get("/v1/experiments/banners/report", headers=guest).status_code == 200
        assert web.get("/v1/populations/crowd/report", headers=guest).status_code == 403
        assert web.get("/v1/populations/nobody/report").status_code == 404
        assert web.get("/v1/populations/crowd/report?delta=1").status_code == 422
        assert web.get("/v1/populations/crowd/report?delta=1e-9").json()["delta"] == 1e-9


def test_a_delta_is_not_too_small(world):
    with world.web() as web:
        assert web.get("/v1/populations/crowd/report?delta=1e-12").status_code == 200
        refused = web.get("/v1/populations/crowd/report?delta=1e-13")
    assert refused.status_code == 422
