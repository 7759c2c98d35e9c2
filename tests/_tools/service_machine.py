"""A random walk over the service's traffic and closes, next to a model that is small enough to be believed."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import event

from discreet.service.experiments import budget
from discreet.service.storage import schema
from tests._tools.service_tools import FULL, VERIFY, Clock, World, crowd, new_file, small

NAME, WINDOW = "banners", 60.0
KINDS = [{}, {"privacy_unit": "person"}, {"privacy_unit": "person", "contribution": "once"}]
REWARDS = st.sampled_from([0.0, 0.5, 1.0])  # steps that are far above the noise
UNITS = st.integers(0, 30).map("u{}".format)
PLACES = st.integers(0, 10**6)
steps = Counter()


@dataclass
class Model:
    """What the service must know: who was assigned in the open epoch until when, and what each reported."""

    state: str = "running"
    epoch: int | None = 1
    quota: int = 0
    once: bool = False
    due_at: float | None = None
    given: dict = field(default_factory=dict)  # assignments of the open epoch, by unit
    told: dict = field(default_factory=dict)  # rewards, by token
    old: list = field(default_factory=list)  # assignments of epochs that have ended
    before: set = field(default_factory=set)  # units of epochs that have ended

    def sums(self):
        sums = {}
        for one in self.given.values():
            if one.assignment in self.told:
                count, total = sums.get(one.arm, (0, 0.0))
                sums[one.arm] = count + 1, total + self.told[one.assignment]
        return sums

    def learns(self, unit):
        if self.state != "running" or self.epoch is None:
            return False
        is_new = len(self.given) < self.quota and not (self.once and unit in self.before)
        return unit in self.given or is_new

    def fate(self, one, reward, now):
        """What becomes of a reward, which is then remembered."""
        if one in self.old or self.state == "stopped" or one.deadline < now:
            return "late"
        self.told.setdefault(one.assignment, reward)
        return "accepted"

    def end(self, view):
        """The open epoch has ended, and this is the next."""
        self.old += self.given.values()
        self.before |= set(self.given)
        self.given, self.told, self.due_at = {}, {}, None
        self.epoch, self.quota = (view.number, view.quota) if view else (None, 0)


class Traffic(RuleBasedStateMachine):
    """Asks, tells, repeats, waits, closes and crashes, and compares each answer with the model's.

    The noise is real, so the same walk may go elsewhere: what is drawn for a walk must not depend on it.
    """

    base: Path

    @initialize(kind=st.sampled_from(KINDS))
    def begin(self, kind):
        self.folder = tempfile.TemporaryDirectory()
        self.world = crowd(in_haste(World(new_file(self.base, self.folder.name), Clock())))
        view = self.world.start(NAME, **small(window=WINDOW, **kind))
        self.model = Model(quota=view.epoch.quota, once=kind.get("contribution") == "once")
        self.seen, self.number = [], 0

    def teardown(self):
        if hasattr(self, "world"):
            self.world.database.close()
            self.folder.cleanup()

    # ------------------------------------------------------------------ traffic

    @rule(units=st.lists(UNITS, min_size=1, max_size=12))
    def ask(self, units):
        steps["ask"] += 1
        self.asked(units)

    @rule(count=st.integers(1, 12))
    def new_units(self, count):
        """Units that have never been here."""
        steps["ask"] += 1
        self.asked([f"new-{self.number + one}" for one in range(count)])
        self.number += count

    @property
    def now(self):
        """The service's time, which does not go back where the clock does."""
        return self.world.database.saw(self.world.clock.now)

    def asked(self, units):
        now = self.now
        for unit, one in zip(units, self.world.ask(NAME, *units), strict=True):
            learns = self.model.learns(unit)
            assert one.learn == learns
            if not learns:
                assert one.assignment is None
                continue
            known = self.model.given.setdefault(unit, one)
            assert known == one
            assert one.epoch == self.model.epoch
            if len(self.model.given) == self.model.quota and self.model.due_at is None:
                self.model.due_at = now + WINDOW
        arms = Counter(one.arm for one in self.model.given.values())
        assert not arms or max(arms.values()) - min(arms["a"], arms["b"]) <= 1 or len(arms) == 1

    @precondition(lambda self: self.model.given)
    @rule(places=st.lists(st.tuples(PLACES, REWARDS), min_size=1, max_size=6))
    def tell(self, places):
        """Some rewards of the open epoch in one batch; some come twice."""
        steps["tell"] += 1
        there = list(self.model.given.values())
        batch = [(there[place % len(there)], reward) for place, reward in places]
        expected = [self.model.fate(one, reward, self.now) for one, reward in batch]
        assert self.world.tell(*batch) == expected

    @precondition(lambda self: self.model.given)
    @rule(reward=REWARDS, seconds=st.sampled_from([0.0, 59.0, 60.0, 61.0]))
    def tell_all_after(self, reward, seconds):
        """Every reward of the open epoch, at once."""
        steps["tell"] += 1
        self.world.clock.wait(seconds)
        batch = [(one, reward) for one in self.model.given.values()]
        expected = [self.model.fate(one, reward, self.now) for one, _ in batch]
        assert self.world.tell(*batch) == expected

    @precondition(lambda self: self.model.told)
    @rule(place=PLACES, reward=REWARDS)
    def repeat(self, place, reward):
        steps["repeat"] += 1
        told = [one for one in self.model.given.values() if one.assignment in self.model.told]
        one = told[place % len(told)]
        expected = self.model.fate(one, reward, self.now)
        assert self.world.tell((one, reward)) == [expected]

    @precondition(lambda self: self.model.old)
    @rule(place=PLACES, reward=REWARDS)
    def tell_an_old_one(self, place, reward):
        steps["late"] += 1
        assert self.world.tell((self.model.old[place % len(self.model.old)], reward)) == ["late"]

    # ------------------------------------------------------------------ time, closes and crashes

    @rule(seconds=st.sampled_from([1.0, 30.0, 60.0, 61.0, -1.0, -100.0]))
    def wait(self, seconds):
        steps["clock"] += 1
        self.world.clock.wait(seconds)

    @rule(what=st.sampled_from(["close", "crash", "crash_within_a_close", "erase", "pause_or_resume", "stop"]))
    def disturb(self, what):
        """What happens less often than traffic."""
        steps[what.replace("_", " ")] += 1
        getattr(self, what)()

    @rule()
    def end(self):
        """Wait until everything that is full is due, and close it."""
        steps["close"] += 1
        self.world.clock.now = max(self.world.clock.now, self.model.due_at or 0.0)
        self.close()

    def close(self):
        model, due = self.model, self.model.due_at is not None and self.model.due_at <= self.now
        expected = model.epoch if model.state == "running" and due else None
        assert self.world.close(NAME) == expected
        if expected is None:
            return
        view = self.world.control.experiment(NAME)
        (ended,) = [one for one in self.world.control.epochs(NAME) if one.number == expected]
        sums = model.sums()
        for one in ended.releases:
            assert abs(one.value - sums.get(one.arm, (0, 0.0))[1]) < 30 * one.scale  # but for a chance of e^-30
            assert one.count == ended.planned[one.arm]
        model.end(view.epoch)

    def erase(self):
        self.world.erase()
        kept = 0 if self.model.state == "stopped" else len(self.model.given)
        assert self.world.count(schema.assignment) == kept

    def crash(self):
        """All connections are lost, and what the process remembered."""
        self.reopen()

    def reopen(self):
        self.world = in_haste(self.world.reopened())

    def crash_within_a_close(self):
        """A close that is cut off between its release and its end has not happened."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(budget, "state", _cut_off)
            try:
                self.world.close(NAME)
            except ConnectionError:
                self.reopen()

    # ------------------------------------------------------------------ people

    def pause_or_resume(self):
        if self.model.state == "stopped":
            return
        running = self.model.state == "running"
        (self.world.control.pause if running else self.world.control.resume)(NAME)
        self.model.state = "paused" if running else "running"

    def stop(self):
        """Late in a walk, since not much happens after."""
        if self.model.state == "stopped" or len(self.model.old) < 20:
            return
        self.world.control.stop(NAME)
        self.model.state = "stopped"

    # ------------------------------------------------------------------ always

    @invariant()
    def agrees(self):
        if not hasattr(self, "model"):
            return
        model, view = self.model, self.world.control.experiment(NAME)
        assert view.state == model.state
        sums = {"ab"[arm]: (count, total / FULL) for arm, (count, total) in self.world.sums(NAME).items()}
        assert sums == ({} if model.state == "stopped" else model.sums())
        if model.state != "stopped":
            assert (view.epoch.number if view.epoch else None) == model.epoch
            assert (view.epoch.dealt if view.epoch else 0) == len(model.given)
        released = self.world.control.releases(NAME)
        assert released[: len(self.seen)] == self.seen  # a release never changes
        self.seen = released
        assert self.world.control.ledger("crowd", VERIFY).intact


def _cut_off(*_, **__):
    raise ConnectionError("cut off")


def in_haste(world):
    """The same without waiting for the disk, which no walk turns off."""
    world.database.engine.dispose()
    event.listen(world.database.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    return world


def walk(base, walks, length, same=False):
    """Take random walks, or the same ones each time; return the number of steps of each kind."""
    steps.clear()
    Traffic.base = base
    chosen = settings(
        max_examples=walks,
        stateful_step_count=length,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        derandomize=same,
    )
    run_state_machine_as_test(Traffic, settings=chosen)
    return Counter(steps)


def stumble(base, walks, length):
    """Return True if one of these walks finds something wrong. They are the same each time, so that no test is red by
    chance."""
    try:
        walk(base, walks, length, same=True)
    except AssertionError:
        return True
    return False
