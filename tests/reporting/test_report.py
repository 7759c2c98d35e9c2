"""Privacy reports: true, whole, and without anything that is secret."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.core.releases import Kind
from discreet.reporting import entries
from discreet.reporting.export import COLUMNS, digest
from tests._tools import examples
from tests._tools.driving import drive

PRIVATE = sorted(name for name in (*discreet.POLICIES, *discreet.RULES) if examples.is_private(name))
SECRET = 0.123456789


def bandit(**options):
    policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=20_000)
    driver = discreet.Bandit(policy, **options)
    for ticket in driver.ask(1000):
        driver.tell(ticket, SECRET if ticket.arm == "A" else 0.9)
    return driver


def test_it_answers_what_an_officer_asks():
    driver = bandit()
    report = discreet.privacy_report(driver, subject="visitors <of> the shop")
    assert report.kept
    assert report.verdict == "Kept: the ledger adds up to 1 of the promised epsilon = 1."
    said = str(report)
    for heading in (
        "What was released", "About whom", "At what price", "By which algorithm", "With which proof", "Checked how",
        "Not covered",
    ):  # fmt: skip
        assert heading in said
        assert f"<h2>{heading}</h2>" in report.to_html()
    assert "one reward (event level)" in said
    assert "proved by machine (Promises.rewards_are_private)" in said
    assert "visitors &lt;of&gt; the shop" in report.to_html()
    assert [(row["arm"], row["releases"]) for row in report.summary()] == [("A", 1), ("B", 1)]


def test_it_shows_nothing_but_releases():
    driver = bandit()
    driver.tell(driver.ask(), SECRET)  # of the open epoch
    shown = discreet.privacy_report(driver)
    for text in (str(shown), shown.to_html(), shown.to_json()):
        assert "0.1234567" not in text
        assert "outstanding" not in text


def test_json_has_every_release_and_its_digest():
    driver = bandit()
    found = json.loads(discreet.privacy_report(driver).to_json())
    assert found["ledger"]["sha256"] == digest(driver.ledger)
    assert [row["steps"] for row in found["ledger"]["entries"]] == [one.steps for one in driver.ledger]
    assert found["privacy"]["delta"] == 0.0
    assert found["price"] == {"paid": 1.0, "kept": True, "verdict": discreet.privacy_report(driver).verdict}
    assert found["algorithm"]["key"] == "dp-se-sharp"
    remade = discreet.make_policy(found["algorithm"]["key"], **found["algorithm"]["options"])
    assert remade == discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=20_000)


def test_a_ledger_that_costs_more_than_promised_is_called_broken():
    driver = bandit()
    ledger = driver.ledger
    ledger.close_epoch([ledger[0]])  # the same rewards once more
    report = replace(discreet.privacy_report(driver), ledger=ledger)
    assert not report.kept
    assert report.verdict == "BROKEN: the ledger adds up to 2, more than the promised 1."
    assert 'class="bad"' in report.to_html()


def test_what_protects_nobody_says_so():
    simulated = discreet.privacy_report(bandit(noise=discreet.SimulatedNoise(1)))
    assert simulated.verdict.startswith("SIMULATED")
    bare = discreet.privacy_report(discreet.UCB(["A", "B"], horizon=100))
    assert bare.verdict.startswith("NOT PRIVATE")
    assert not simulated.kept
    assert not bare.kept
    assert json.loads(bare.to_json())["privacy"]["epsilon"] is None  # JSON has no infinity


def test_a_digest_depends_on_every_release():
    one, other = bandit(), bandit()
    assert digest(one.ledger) == digest(one.ledger.copy())
    assert digest(one.ledger) != digest(other.ledger)  # other noise


@pytest.mark.parametrize("suffix", [".txt", ".html", ".json", ".csv", ".parquet"])
def test_it_is_written_as_its_suffix_says(suffix, tmp_path):
    report, path = discreet.privacy_report(bandit()), tmp_path / f"report{suffix}"
    report.write(path)
    content = path.read_bytes()
    if suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        assert table.column_names == list(COLUMNS)
        assert table.to_pylist() == entries(report.ledger)
    elif suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(content.decode())))
        assert [int(row["steps"]) for row in rows] == [one.steps for one in report.ledger]
    else:
        assert b"Kept: the ledger adds up" in content


def test_another_suffix_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(discreet.ArgumentError, match=r"path must end in one of \.txt, .*, got 'report\.pdf'"):
        discreet.privacy_report(bandit()).write("report.pdf")
    assert not list(tmp_path.iterdir())


def test_what_has_no_ledger_is_refused():
    with pytest.raises(discreet.ArgumentError, match="source must be a driver"):
        discreet.privacy_report([1, 2, 3])


def test_html_fetches_nothing():
    text = discreet.privacy_report(bandit()).to_html()
    assert not any(word in text for word in ("http:", "https:", "src=", "<script", "@import", "url("))


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_algorithm_has_a_report(name):
    simulated = discreet.SimulatedNoise(1)
    if name in discreet.POLICIES:
        policy = examples.policy(name)
        driver = discreet.Bandit(policy, simulated)
        rng = np.random.default_rng(0)
        for _ in range(20):
            if driver.finished:
                break
            tickets = driver.ask(50)
            driver.tell(tickets, rng.random(len(tickets)).tolist())
        source = driver
    else:
        source = examples.rule(name).run(np.full(3000, 0.9), noise=simulated)
    report = discreet.privacy_report(source)
    assert report.paid <= report.privacy.epsilon
    assert all(row["mechanism"] for row in report.summary())
    assert math.isfinite(json.loads(report.to_json())["privacy"]["epsilon"])
    assert {row["kind"] for row in report.summary()} <= set(Kind)


@pytest.mark.parametrize(
    ("key", "options", "unit"),
    [
        ("dp-se", {}, "one reward (event level)"),
        ("dp-se-person", {}, "one person, with at most one reward in each epoch"),
        ("dp-ucb", {"preset": "mishra-thakurta-2015"}, "one time step's rewards of all arms"),
    ],
)
def test_each_unit_pays_in_its_own_way(key, options, unit):
    policy = examples.policy(key, epsilon=1.0, **options)
    driver = drive(policy, examples.EASY, closes=3)
    report = discreet.privacy_report(driver)
    assert 0 < report.paid <= 1.0
    assert report.privacy.unit.words == unit
    assert unit in str(report)
    assert policy.privacy.reason in str(report)
    per_row = len(policy.arms) if "all arms" in unit else 1
    if "person" not in unit:
        assert report.paid == discreet.spent(driver.ledger) * per_row
    else:
        assert report.paid == discreet.spent_by_person(driver.ledger)
