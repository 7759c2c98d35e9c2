"""Random walks over the service: no reward is lost or counted twice, and no release ever changes."""

import pytest

from discreet.service.storage import assignments
from tests._tools.service_machine import stumble, walk


def test_some_random_walks(file):
    assert walk(file, 10, 30).total() > 50


@pytest.mark.study
def test_five_thousand_steps_of_random_walks(file, page):
    steps = walk(file, 140, 50)
    page("Fuzzing", what="steps of random walks over the service", cases=steps.total())
    assert steps.total() >= 5000


def test_the_model_finds_a_reward_that_is_counted_twice(file, monkeypatch):
    monkeypatch.setattr(assignments, "_REPORT", assignments._REPORT.replace("ELSE 2", "ELSE 1"))
    assert stumble(file, 400, 30)


def test_the_model_finds_rewards_that_are_too_late(file, monkeypatch):
    monkeypatch.setattr(assignments, "_REPORT", assignments._REPORT.replace("deadline >= %s", "%s > 0"))
    assert stumble(file, 400, 30)


def test_the_model_finds_sums_that_are_left(file, monkeypatch):
    monkeypatch.setattr(assignments, "delete_totals", lambda *_: None)
    assert stumble(file, 400, 30)
