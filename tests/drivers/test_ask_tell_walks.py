"""Random walks over the ask/tell driver: no reward is lost or counted twice, and no release ever changes."""

from contextlib import nullcontext

import pytest

from discreet import Bandit
from tests._tools.ask_tell_machine import stumble, walk


def test_some_random_walks():
    assert walk(10, 30) > 50


@pytest.mark.study
def test_ten_thousand_steps_of_random_walks(page):
    steps = walk(270, 60)
    page("Fuzzing", what="steps of random walks over ask and tell", cases=steps)
    print(f"{steps:,} steps of random walks over the ask/tell driver")
    assert steps >= 10_000


def test_the_model_finds_a_reward_that_is_counted_twice(monkeypatch):
    """A planted bug: a repeated reward counts again."""
    honest = Bandit._change

    def twice(self, place, steps, status):
        honest(self, place, steps, status)
        if len(self._status) % 2 == 0:
            self._sums[self._arms[place]] += steps

    monkeypatch.setattr(Bandit, "_change", twice)
    assert stumble(400, 30)


def test_the_model_finds_a_file_that_is_not_kept_up_to_date(monkeypatch):
    monkeypatch.setattr(Bandit, "_commit", lambda self: nullcontext())
    assert stumble(400, 40)
