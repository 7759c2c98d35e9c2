"""Leases of slots: writers do not wait for each other, no slot is dealt twice, and none is lost."""

import random
import threading
from collections import Counter

import pytest

from discreet.service.experiments import assignments as traffic
from discreet.service.experiments.allocation import order
from discreet.service.storage import DuplicateError, assignments, leases, schema
from discreet.service.storage.database import Collision
from tests._tools.service_tools import is_sqlite, small

MEDIUM = {"epsilon": "2", "privacy_unit": "event", "window": 60.0, "population": "crowd"}  # epochs of a few hundred


def ask(world, writer, units, name="banners"):
    """What a writer of its own gives to units."""
    wanted = traffic.Ask(world.control.started(name), units)

    def work(transaction):
        transaction.lock(wanted.experiment.id, shared=True)
        return traffic.assign(transaction, writer, [wanted])[0]

    return world.database.write(work)


def check_dealt(world, name="banners"):
    """All slots were dealt once, as the plan says, each to a unit of its own."""
    started, epoch = world.control.started(name), world.control.experiment(name).epoch
    rows = world.rows(schema.assignment, experiment=started.id)
    assert [row["slot"] for row in rows] == list(range(epoch.quota))
    assert Counter(started.description.arms[row["arm"]] for row in rows) == epoch.planned
    assert len({row["unit"] for row in rows}) == epoch.quota
    units = world.rows(schema.unit_slot, experiment=started.id)
    assert {row["unit"]: row["slot"] for row in units} == {row["unit"]: row["slot"] for row in rows}
    assert (epoch.dealt, epoch.full_at is not None) == (epoch.quota, True)


def test_writers_deal_from_ranges_of_their_own(world):
    quota = world.start(**MEDIUM).epoch.quota
    given = [one for turn in range(4) for writer in "xy" for one in ask(world, writer, [f"{writer}{turn}"])]
    slots = {row["writer"]: (row["next"], row["stop"], row["dealt"]) for row in world.rows(schema.lease)}
    assert all(one.learn for one in given)
    assert [slots["x"][2], slots["y"][2]] == [4, 4]
    assert slots["x"][1] <= slots["y"][0] - 4 or slots["y"][1] <= slots["x"][0] - 4
    assert world.control.experiment("banners").epoch.dealt == 8 < quota


def test_an_epoch_is_full_when_all_writers_have_dealt_all(world):
    quota = world.start(**MEDIUM).epoch.quota
    choice, asked = random.Random(1), 0
    while asked < quota:
        assert world.control.experiment("banners").epoch.full_at is None
        size = min(choice.randint(1, 90), quota - asked)
        given = ask(world, choice.choice("xyz"), [f"u{asked + one}" for one in range(size)])
        assert all(one.learn for one in given)
        asked += size
    check_dealt(world)
    assert not ask(world, "x", ["one too many"])[0].learn


def test_slots_of_a_writer_that_was_killed_return(world):
    quota = world.start(**MEDIUM).epoch.quota
    ask(world, "killed", ["ann"])
    given = ask(world, "other", [f"u{one}" for one in range(quota)])
    assert [one.learn for one in given] == [True] * (quota - 1) + [False]
    check_dealt(world)


def test_a_unit_has_one_slot_whoever_is_asked(world):
    world.start(**MEDIUM)
    (first,), (second,) = (ask(world, writer, ["ann"]) for writer in "xy")
    assert first == second
    assert world.control.experiment("banners").epoch.dealt == 1


def test_an_epoch_without_a_slot_left_is_not_locked(world):
    world.start(**small())
    world.fill("banners", lambda arm: None)
    with world.database.writing() as transaction:
        (epoch,) = transaction.run("SELECT experiment, number FROM epoch", {})
        assert leases.extend(transaction, "-", *epoch, wanted=1) == []


def test_a_lease_is_balanced_block_by_block():
    arms = order(b"secret", 1, {0: 300, 1: 300, 2: 300}, 256, 768)
    for start in range(2, 512 - 3, 3):  # slot 258 begins a block
        assert sorted(arms[start : start + 3]) == [0, 1, 2]


def test_what_another_writer_holds_is_waited_for(world):
    """PostgreSQL: a lease in use is left alone, and the whole transaction is done again."""
    if is_sqlite(world):
        pytest.skip("SQLite has one writer at a time")
    quota = world.start(**small()).epoch.quota
    ask(world, "x", ["ann"])
    with world.database.writing() as held:
        held.run("SELECT next FROM lease FOR UPDATE", {})
        wanted = traffic.Ask(world.control.started("banners"), ["bob"])
        with world.database.writing() as transaction, pytest.raises(Collision):
            traffic.assign(transaction, "y", [wanted])
    assert ask(world, "y", ["bob"])[0].learn
    assert quota > 2


def test_a_lease_that_was_cut_meanwhile_is_not_dealt_from(world):
    """PostgreSQL: what a writer has read of its lease must still be so when it deals."""
    if is_sqlite(world):
        pytest.skip("SQLite has one writer at a time")
    world.start(**small())
    ask(world, "x", ["ann"])
    real, cut = traffic._slots, []

    def slots(transaction, writer, *rest):
        found = real(transaction, writer, *rest)
        if not cut:
            cut.append(world.run("UPDATE lease SET stop = stop - 1"))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(traffic, "_slots", slots)
        wanted = traffic.Ask(world.control.started("banners"), ["bob"])
        with world.database.writing() as transaction, pytest.raises(Collision):
            traffic.assign(transaction, "x", [wanted])


def test_who_reads_sees_one_moment(world, monkeypatch):
    """An epoch that closes between two statements of a page is not shown open and empty."""
    world.start(**small())
    world.fill("banners")
    real, closed = assignments.with_progress, []

    def with_progress(transaction, epochs):
        if not closed:
            closed.append(True)
            world.clock.wait(60)
            world.close("banners")
        return real(transaction, epochs)

    monkeypatch.setattr(assignments, "with_progress", with_progress)
    seen = world.control.experiment("banners").epoch
    assert (seen.number, seen.dealt) == (1, 8)
    seen = world.control.experiment("banners").epoch
    assert (seen.number, seen.dealt) == (2, 0)


def race(world, writers, each, seed):
    """Writers ask at the same time, some for the same units, until the epoch is full."""
    choice, errors = random.Random(seed), []
    plans = [[choice.randint(1, 40) for _ in range(each)] for _ in range(writers)]

    def writer(number):
        try:
            for turn, size in enumerate(plans[number]):
                shared = [f"shared-{turn}-{one}" for one in range(size // 3)]
                ask(world, f"w{number}", [*shared, *(f"{number}-{turn}-{one}" for one in range(size))])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=writer, args=(number,)) for number in range(writers)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []


def test_writers_that_race(world):
    quota = world.start(**MEDIUM).epoch.quota
    race(world, 4, 6, seed=1)
    missing = quota - world.control.experiment("banners").epoch.dealt
    ask(world, "last", [f"last-{one}" for one in range(missing)])
    check_dealt(world)


@pytest.mark.parametrize("wrong", ["not cut", "not leased"])
def test_slots_that_are_given_out_twice_are_found(world, monkeypatch, wrong):
    """The key of an assignment finds them: nobody is assigned then."""
    if is_sqlite(world):
        pytest.skip("SQLite has one writer")
    quota = world.start(**MEDIUM).epoch.quota
    name = "_CUT" if wrong == "not cut" else "_LEASE"
    monkeypatch.setattr(leases, name, getattr(leases, name).replace("WHERE", "WHERE false AND"))
    ask(world, "x", ["ann"])
    with pytest.raises((DuplicateError, Collision)):
        for turn in range(2 * quota):
            ask(world, "xy"[turn % 2], [f"{turn}-{one}" for one in range(30)])
