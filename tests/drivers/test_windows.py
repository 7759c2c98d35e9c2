"""Windows: what is late expires by the clock alone, asks are always served, and nothing of it depends on rewards."""

import json
import runpy
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, Bandit, SimulatedNoise, StateError, Told
from discreet.drivers.open_epoch import OpenEpoch
from discreet.drivers.windows import Deadlines, Window
from discreet.testing import ScriptedNoise
from discreet.testing.replay import Change, Recording
from tests._tools.at_once import at_once
from tests._tools.walking import algorithm

STEP = 2**20
DAY = timedelta(days=1)
EXAMPLE = Path(__file__).parents[2] / "examples" / "banners.py"


class Clock:
    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now


def policy(horizon=10_000, arms=("A", "B")):
    return discreet.DPSuccessiveElimination(list(arms), epsilon=1.0, horizon=horizon)


def make(clock=None, window=DAY, default=0.25, **options):
    """A bandit without noise, so that releases show what was counted."""
    return Bandit(policy(), ScriptedNoise([]), default_reward=default, window=window, clock=clock, **options)


def released(bandit):
    return {release.arm: release.steps / STEP for release in bandit.ledger}


def test_what_is_late_takes_the_default_and_the_epoch_closes_at_the_next_ask():
    clock = Clock()
    bandit = make(clock)
    size = bandit.policy.plan().size
    tickets = bandit.ask(size)
    assert bandit.tell(tickets[:100], np.ones(100)) == [Told.COUNTED] * 100
    extra = bandit.ask(50)
    assert len(extra) == 50
    assert bandit.tell(extra, np.ones(50)) == [Told.UNUSED] * 50
    clock.now += DAY.total_seconds() * 1.001
    assert bandit.tell(tickets[100], 1.0) is Told.LATE  # nobody has looked since, and it is late all the same
    assert bandit.ledger == ()
    assert bandit.ask().epoch == 2
    ones = Counter(ticket.arm for ticket in tickets[:100])
    assert released(bandit) == {arm: ones[arm] + (size // 2 - ones[arm]) * 0.25 for arm in "AB"}
    assert bandit.tell(tickets[101], 1.0) is Told.LATE


def test_an_epoch_does_not_close_before_its_time_though_all_rewards_are_in():
    clock = Clock()
    bandit = make(clock)
    tickets = bandit.ask(bandit.policy.plan().size)
    assert bandit.tell(tickets, np.ones(len(tickets))) == [Told.COUNTED] * len(tickets)
    clock.now += DAY.total_seconds() - 1
    assert bandit.ask().epoch == 1
    assert bandit.expire() == 0
    assert bandit.ledger == ()
    clock.now += 100
    assert bandit.expire() == 0  # none was missing
    assert len(bandit.ledger) == 2


def test_a_ticket_expires_within_a_4096th_of_its_window():
    clock = Clock(123.456)
    bandit = make(clock)
    ticket = bandit.ask()
    clock.now += DAY.total_seconds() - 1e-3
    assert bandit.outstanding == 1
    clock.now += DAY.total_seconds() / 4096 + 2e-3
    assert bandit.outstanding == 0
    assert bandit.open_tickets == []
    assert bandit.tell(ticket, 1.0) is Told.LATE


def test_a_window_in_tickets():
    bandit = make(window=500)
    size = bandit.policy.plan().size
    tickets = bandit.ask(size)
    assert bandit.tell(tickets[size - 500], 1.0) is Told.COUNTED
    assert bandit.tell(tickets[size - 501], 1.0) is Told.LATE  # five hundred were handed out after it
    assert bandit.status().closes_at == size + 500
    assert "it closes at the first ask after 3,570 tickets" in str(bandit.status())
    assert len(bandit.ask(500)) == 500
    assert bandit.ledger == ()
    assert bandit.ask().epoch == 2
    arm = tickets[size - 500].arm
    assert released(bandit) == {each: size // 2 * 0.25 + 0.75 * (each == arm) for each in "AB"}


def test_serving_never_ends():
    clock = Clock()
    search = discreet.DPSharpBestArm(["A", "B"], epsilon=5.0, beta=0.05)
    bandit = Bandit(search, SimulatedNoise(1), default_reward=0.0, window=DAY, clock=clock)
    served = 0
    while not bandit.finished:
        clock.now += 3600
        for ticket in bandit.ask(20):
            served += 1
            if served % 3:
                bandit.tell(ticket, float(ticket.arm == "B"))
    after = bandit.ask(100)
    assert {ticket.arm for ticket in after} == {bandit.best_arm} == {"B"}
    assert bandit.tell(after, np.ones(100)) == [Told.UNUSED] * 100
    status = bandit.status()
    assert (status.epoch, status.served, status.learned) == (None, served + 100, search_time(bandit))
    assert str(status).startswith("finished: nothing is left to learn. ")


def search_time(bandit):
    return sum(bandit.policy.taken.values())


def test_without_a_best_arm_all_are_served():
    bandit = make(Clock(), waiting="serve")
    size = bandit.policy.plan().size
    bandit.ask(size)
    assert {ticket.arm for ticket in bandit.ask(100)} == {"A", "B"}


def test_one_may_still_refuse_while_waiting():
    clock = Clock()
    bandit = make(clock, waiting="refuse")
    bandit.ask(10**6)
    with pytest.raises(discreet.WaitingError, match=r"wait until their windows have passed \(1 day, 0:00:00 after"):
        bandit.ask()
    clock.now += 2 * DAY.total_seconds()
    assert bandit.ask().epoch == 2


def test_status_says_what_is_waited_for():
    clock = Clock(0.0)
    bandit = make(clock)
    size = bandit.policy.plan().size
    bandit.tell(bandit.ask(10)[0], 1.0)
    status = bandit.status()
    assert (status.epoch, status.planned, status.handed_out, status.outstanding) == (1, size, 10, 9)
    assert status.closes_at is None
    assert f"{size - 10:,} more of {size:,} pulls are to be handed out; it closes 1 day, 0:00:00 after" in str(status)
    bandit.ask(size)
    assert bandit.status().closes_at == 86400.0
    assert "it closes at the first ask from 86,400 seconds on" in str(bandit.status())
    clock.now = 86400.0
    assert "their windows have passed: it closes at the next ask" in str(bandit.status())
    by_system_clock = make()
    by_system_clock.ask(10**4)
    closes_at = by_system_clock.status().closes_at
    assert abs(closes_at - datetime.now(UTC) - DAY) < timedelta(hours=1)
    assert f"from {closes_at:%Y-%m-%d %H:%M:%S} UTC on" in str(by_system_clock.status())
    without = Bandit(policy())
    without.ask(10**6)
    assert without.status().closes_at is None
    assert "it closes with their last reward (see open_tickets)" in str(without.status())


def test_status_of_an_epoch_that_decides_nothing():
    bandit = make()
    tickets = bandit.ask(bandit.policy.plan().size)
    one = Bandit(policy(), ScriptedNoise([]))
    tickets = one.ask(10**6)
    one.tell(tickets, [float(ticket.arm == "A") for ticket in tickets])
    assert "their rewards are not used" in str(one.status())
    assert one.status().learned == len(tickets)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": DAY}, "default_reward must be declared with a window"),
        ({"window": 1.5, "default_reward": 0.0}, "window must be a whole number"),
        ({"window": 0, "default_reward": 0.0}, "window must be at least 1"),
        ({"window": "1d", "default_reward": 0.0}, "window must be a datetime.timedelta, or a number of tickets"),
        ({"window": True, "default_reward": 0.0}, "window must be a datetime.timedelta"),
        ({"window": -DAY, "default_reward": 0.0}, "window must be longer than nothing"),
        ({"window": 5, "default_reward": 0.0, "clock": Clock()}, "with a clock, window must be a datetime.timedelta"),
        ({"window": 5, "default_reward": 0.0, "waiting": "refuse"}, "waiting must be 'serve' with a window in tickets"),
        ({"window": DAY, "default_reward": 0.0, "clock": 5}, "clock must be a function that returns seconds"),
        ({"clock": Clock()}, "window must be given with a clock"),
    ],
)
def test_windows_that_make_no_sense(options, message):
    with pytest.raises(ArgumentError, match=message):
        Bandit(policy(), **options)


@pytest.mark.parametrize("bad", [None, "now", float("nan")])
def test_a_broken_clock_changes_nothing(bad):
    clock = Clock()
    bandit = make(clock)
    ticket = bandit.ask()
    before, clock.now = bandit._head(), bad
    for act in (bandit.ask, lambda: bandit.tell(ticket, 1.0), bandit.expire):
        with pytest.raises(ArgumentError, match="the clock's time must be a"):
            act()
    assert bandit._head() == before


def test_many_threads_lose_and_double_nothing_in_a_window():
    """What is released of an epoch is what was counted in it, and the default for the rest of its pulls."""
    bandit = Bandit(algorithm("adap-ucb", horizon=10**6), ScriptedNoise([]), default_reward=0.25, window=40)
    lock, counted = threading.Lock(), Counter()

    def work(random):
        for _ in range(60):
            tickets = bandit.ask(random.choice([1, 3, 20]))
            for ticket in tickets:
                reward = random.choice([0.0, 0.5, 1.0])
                if random.random() < 0.7 and bandit.tell(ticket, reward) is Told.COUNTED:
                    with lock:
                        counted[ticket.epoch, ticket.arm] += reward - 0.25
            bandit.status(), bandit.outstanding, bandit.open_tickets

    assert not at_once(partial(work, Random(seed)) for seed in range(16))
    assert bandit.policy.epoch >= 5
    for release in bandit.ledger:
        assert release.steps == (counted[release.epoch, release.arm] + 0.25 * release.rewards) * STEP


# ---------------------------------------------------------------------- files


def test_deadlines_survive_a_reload(tmp_path):
    clock = Clock()
    bandit = make(clock)
    first = bandit.ask(10)
    clock.now += 3600
    second = bandit.ask(10)
    bandit.save(tmp_path / "state")
    bandit.detach()
    with pytest.raises(StateError, match=r"a clock of your own: give it again, as in load\(path, clock=...\)"):
        Bandit.load(tmp_path / "state", ScriptedNoise([]))
    clock.now += DAY.total_seconds() - 1000
    bandit = Bandit.load(tmp_path / "state", ScriptedNoise([]), clock=clock)
    assert bandit.window == DAY
    assert bandit.outstanding == 10
    assert bandit.tell(first[0].id, 1.0) is Told.LATE
    assert bandit.tell(second[0].id, 1.0) is Told.COUNTED


@pytest.mark.parametrize("window", [DAY, 500])
def test_a_clock_that_is_not_needed_is_refused(window, tmp_path):
    bandit = make(window=window)
    assert bandit.window == window
    bandit.save(tmp_path / "state")
    bandit.detach()
    with pytest.raises(StateError, match="does not go by a clock of your own"):
        Bandit.load(tmp_path / "state", ScriptedNoise([]), clock=Clock())
    without = Bandit(policy())
    without.save(tmp_path / "other")
    without.detach()
    with pytest.raises(StateError, match="it has no window"):
        Bandit.load(tmp_path / "other", clock=Clock())


def test_the_window_is_public_and_the_deadlines_are_not(tmp_path):
    bandit = make(Clock())
    bandit.ask(10)
    bandit.save(tmp_path / "state")
    head = json.loads((tmp_path / "state").read_text())
    assert head["public"]["window"] == {"seconds": 86400.0, "clock": "own"}
    assert set(head["secret"]["open"]["deadlines"]) == {"places", "deadlines"}


@pytest.mark.parametrize(
    "damage",
    [{"places": [], "deadlines": []}, {"places": [0], "deadlines": []}, {"places": [0, 0], "deadlines": [1.0, 2.0]},
     {"places": [11], "deadlines": [1.0]}, {"places": [0, 1], "deadlines": [2.0, 1.0]}, None,
     {"places": [0], "deadlines": [float("nan")]}, {"places": [-1], "deadlines": [1.0]}],
)  # fmt: skip
def test_deadlines_that_make_no_sense_are_refused(damage):
    bandit = make(Clock())
    bandit.ask(10)
    state = {**bandit._epoch.state(), "deadlines": damage}
    fresh = OpenEpoch(bandit.policy.plan(), 1, 0, bandit._window, np.random.default_rng(0))
    with pytest.raises(discreet.DiscreetError):
        fresh.restore(state, STEP)


def test_few_deadlines_are_kept():
    deadlines = Deadlines(DAY.total_seconds(), whole=False)
    for place in range(200_000):
        deadlines.note(place, place * 10.0)
    kept = deadlines.state()["places"]
    assert len(kept) <= 4100
    assert deadlines.expired(199_999 * 10.0, 200_000) <= kept[0] + 3
    assert Window.of(7).now(5) == 5


# ---------------------------------------------------------------------- privacy


def late_visitors(bandit, rewards, hours=30):
    """Serve people for some days, and yield all that is shown. Who has no number never answers."""
    taken, answers = dict.fromkeys(rewards, 0), []
    for hour in range(200):
        bandit._window.clock.now = hour * 3600.0
        for due, ticket, reward in answers:
            if due == hour:
                yield bandit.tell(ticket, reward)
        tickets = bandit.ask(40)
        for ticket in tickets:
            pull = taken[ticket.arm] % rewards[ticket.arm].size
            taken[ticket.arm] += 1
            if not np.isnan(rewards[ticket.arm][pull]):
                answers.append((hour + 1 + pull % hours, ticket.id, float(rewards[ticket.arm][pull])))
        status = bandit.status()
        yield [(ticket.arm, ticket.number, ticket.epoch) for ticket in tickets], status.closes_at, status.waits_for
        yield status.served, status.learned, bandit.pulls, bandit.best_arm, bandit.finished, list(bandit.ledger)


def windowed(default=0.0):
    return Bandit(policy(40_000), SimulatedNoise(5), default_reward=default, window=DAY, clock=Clock(0.0), seed=1)


def answers(share):
    rng = np.random.default_rng(3)
    paid = {arm: (rng.random(8000) < 0.5).astype(float) for arm in "AB"}
    for row in paid.values():
        row[rng.random(8000) > share] = np.nan
    return paid


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_another_reward_or_none_shows_nothing_else_than_what_its_noise_covers(share):
    """What is frozen is the releases; all else that is shown must be the same: moments of closing included."""
    paid = answers(share)
    recording = Recording(windowed, paid, lambda bandit, rewards: without_receipts(late_visitors(bandit, rewards)))
    assert len(recording.ledger) >= 2
    for arm, pull in (("A", 0), ("A", 29), ("B", 700), ("B", 1500)):
        for reward in (0.0, 1.0, np.nan):
            report = recording.replay([Change(arm, pull, reward)])
            assert report.private, str(report)


def without_receipts(facts):
    """A receipt goes to who has told the reward, who may know that they have."""
    return (fact for fact in facts if not isinstance(fact, Told))


def close_when_all_have_answered(patch):
    honest = OpenEpoch.closes_at

    def closes_at(self):
        every = self.deadlines is not None and self.handed_out == self.size and not self.missing
        return 0 if every else honest.fget(self)

    patch.setattr(OpenEpoch, "closes_at", property(closes_at))


def wait_for_those_who_answer(patch):
    """An epoch waits longer the more rewards are missing."""
    honest = OpenEpoch.closes_at

    def closes_at(self):
        last = honest.fget(self)
        return None if last is None else last + 3600 * (self.missing % 2)

    patch.setattr(OpenEpoch, "closes_at", property(closes_at))


def count_those_who_answered(patch):
    """The status tells in words how many rewards are missing."""
    honest = Bandit.status

    def status(self):
        found = honest(self)
        object.__setattr__(found, "waits_for", f"{found.waits_for} ({found.outstanding} missing)")
        return found

    patch.setattr(Bandit, "status", status)


@pytest.mark.parametrize("plant", [close_when_all_have_answered, wait_for_those_who_answer, count_those_who_answered])
def test_planted_mistakes_are_found(plant, monkeypatch):
    plant(monkeypatch)
    paid = answers(1.0)
    recording = Recording(windowed, paid, lambda bandit, rewards: without_receipts(late_visitors(bandit, rewards, 20)))
    reports = [recording.replay([Change("A", pull, np.nan)]) for pull in (0, 29, 700)]
    assert not all(report.private for report in reports)


# ---------------------------------------------------------------------- the example


def test_the_example_is_right_and_no_worse_than_expiring_by_hand():
    example = runpy.run_path(str(EXAMPLE))
    seeds, ours, by_hand = range(2), [], []
    for seed in seeds:
        clock = example["Clock"]()
        found = example["visit"](
            example["make_bandit"](clock, SimulatedNoise(seed), seed), clock, np.random.default_rng(seed)
        )
        assert found.best == "sun"
        ours.append(found.visitors)
        by_hand.append(visitors_by_hand(example, seed))
    assert sum(ours) < sum(by_hand)


def visitors_by_hand(example, seed):
    """What one had to write without a window: remember when tickets were handed out, and expire them."""
    rates = example["RATES"]
    search = discreet.DPSharpBestArm(list(rates), epsilon=1.0, beta=0.05)
    bandit = Bandit(search, SimulatedNoise(seed), default_reward=0.0, waiting="serve", seed=seed)
    rng, visitors, days = np.random.default_rng(seed), 0, 0.0
    while not bandit.finished:
        plan = bandit.policy.plan()
        tickets = bandit.ask(plan.size)
        bought = [
            ticket for ticket in tickets if rng.random() < rates[ticket.arm] and rng.random() >= example["SILENT"]
        ]
        if bought:
            bandit.tell(bought, np.ones(len(bought)))
        bandit.expire()  # a day after the last of them
        visitors += plan.size + example["A_DAY"]
        days += plan.size / example["A_DAY"] + 1
    return visitors
