"""Random walks over the ask/tell driver: no reward is lost or counted twice, and no release ever changes."""

from contextlib import nullcontext

import pytest

from discreet import Bandit
from discreet.drivers.open_epoch import OpenEpoch
from discreet.drivers.windows import Deadlines
from tests._tools.ask_tell_machine import QuickWindows, stumble, walk, without


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
    honest = OpenEpoch.change

    def twice(self, place, steps, status):
        honest(self, place, steps, status)
        if len(self.status) % 2 == 0:
            self.sums[self.arms[place]] += steps

    monkeypatch.setattr(OpenEpoch, "change", twice)
    assert stumble(400, 30)


def test_the_model_finds_a_late_reward_that_counts(monkeypatch):
    monkeypatch.setattr(OpenEpoch, "is_late", lambda self, place, now: False)
    assert stumble(400, 30, without(QuickWindows, "save", "tell_nonsense", "set_the_clock_back", "expire"))


def test_the_model_finds_an_epoch_that_closes_before_its_time(monkeypatch):
    """A planted bug: it closes as soon as all rewards are in, and so shows that everybody has answered."""
    honest = OpenEpoch.closes_at

    def closes_at(self):
        return 0 if self.deadlines is not None and self.size and not self.missing else honest.fget(self)

    monkeypatch.setattr(OpenEpoch, "closes_at", property(closes_at))
    assert stumble(400, 40, QuickWindows)


def test_the_model_finds_deadlines_that_a_reload_forgets(monkeypatch):
    """A planted bug: after a reload the tickets that are out have all the time of the world."""
    honest = Deadlines.restore

    def restore(self, state, noted):
        honest(self, {**state, "deadlines": [deadline + 10**6 for deadline in state["deadlines"]]}, noted)

    monkeypatch.setattr(Deadlines, "restore", restore)
    monkeypatch.setattr(Bandit, "_is_in", lambda self, file: True)
    unneeded = ("tell_nonsense", "set_the_clock_back", "expire")
    assert stumble(400, 40, without(QuickWindows, "load", *unneeded))  # a load beside a living object asks for _is_in


def test_the_model_finds_a_file_that_is_not_kept_up_to_date(monkeypatch):
    monkeypatch.setattr(Bandit, "_commit", lambda self: nullcontext())
    assert stumble(400, 40)
