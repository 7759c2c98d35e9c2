"""When the file cannot be written, nothing has happened: no reward is counted, and nobody sees a draw."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from discreet import Bandit, SimulatedNoise, Stream, Told
from discreet.core.errors import PrivacyError
from discreet.mechanisms import Curator
from tests._tools import faults
from tests._tools.walking import CASES, PRIVATE_RULES, algorithm, coins

POLICIES = ("dp-se", "dp-se-sharp-person", "dp-ucb", "dp-ucb-hybrid", "dp-se-modified", "lazy-dp-ts")  # every mechanism
STREAM = coins(20_000)
FULL = "a disk that is full at any step of a write"
MESSAGE = r"the state could not be written \(No space left on device\), so nothing was released; make room.*state"


def shown(driver):
    """All that anybody can see of a driver, and all that it would go on with."""
    seen = {name: getattr(driver, name) for name in dir(driver) if not name.startswith("_")}
    return {name: value for name, value in seen.items() if not callable(value)}, driver._head()


@pytest.mark.shown
@pytest.mark.parametrize("step", faults.STEPS)
@pytest.mark.parametrize("name", POLICIES)
def test_a_bandit_with_no_room_for_its_file_releases_nothing(name, step, tmp_path, page):
    path = tmp_path / "state"
    bandit = Bandit(algorithm(name), default_reward=0.0)
    bandit.save(path)
    saved = path.read_bytes()
    while not bandit.ledger:  # each epoch until the first release
        tickets = bandit.ask(10**6)
        before = shown(bandit)
        with faults.full_disk(step):
            with pytest.raises(OSError, match=MESSAGE):
                bandit.tell(tickets, np.ones(len(tickets)))
            assert shown(bandit) == before
            for ticket in tickets[:-1][:3]:
                assert bandit.tell(ticket, 1.0) is Told.COUNTED
            with pytest.raises(OSError, match=MESSAGE):
                bandit.expire()
            assert bandit.ledger == ()
        assert step == "sync the folder" or path.read_bytes() == saved
        assert bandit.expire() == len(tickets) - len(tickets[:-1][:3])
        saved = path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["state", "state.ledger", "state.lock"]
    assert Bandit.load(faults.copy_of(path)).ledger == bandit.ledger
    page("Faults survived", fault=FULL, tried=1, survived=1)


def first_decision(name):
    """After how many samples a rule first tests or releases something: public, and the same for all noise."""
    stream = Stream(algorithm(name, alpha=0.1), SimulatedNoise(1))
    while not stream.ledger:
        stream.feed(STREAM[stream.samples])
    return stream.samples


@pytest.mark.shown
@pytest.mark.parametrize("step", faults.STEPS)
@pytest.mark.parametrize(
    ("name", "feed"),
    [(name, feed) for feed in ("list", "numbers", "stream") for name in ("dp-exp-nas", "dp-nas")]
    + [(name, "array") for name in PRIVATE_RULES],
)
def test_a_stream_with_no_room_for_its_file_shows_nothing(name, step, feed, tmp_path, page):
    path, end = tmp_path / "state", first_decision(name)
    stream = Stream(algorithm(name, alpha=0.1))
    stream.feed(STREAM[: end // 2])
    stream.save(path)
    part = STREAM[end // 2 : end]
    feeds = {
        "array": lambda: stream.feed(part),
        "list": lambda: stream.feed(part.tolist()),
        "numbers": lambda: [stream.feed(x) for x in part],
        "stream": lambda: stream.feed(iter(STREAM[end // 2 :])),
    }
    saved, before = path.read_bytes(), shown(stream)
    with faults.full_disk(step), pytest.raises(OSError, match=MESSAGE):
        feeds[feed]()
    if feed in ("array", "list"):
        assert shown(stream) == before
    assert stream.ledger == ()
    assert stream.samples < end
    assert step == "sync the folder" or path.read_bytes() == saved
    stream.feed(STREAM[stream.samples : end])
    assert stream.ledger
    assert Stream.load(faults.copy_of(path)).ledger == stream.ledger
    page("Faults survived", fault=FULL, tried=1, survived=1)


@pytest.mark.parametrize("step", faults.STEPS)
def test_an_epoch_whose_rewards_are_not_used_waits_for_its_file_too(step, tmp_path):
    """It releases nothing, but what is planned next follows from it."""
    bandit = CASES["guess-and-double"]()
    bandit.save(tmp_path / "state")
    while bandit.policy.plan().learns:
        bandit.tell(bandit.ask(), 1.0)
    bandit.ask(10**6)
    before = shown(bandit)
    with faults.full_disk(step), pytest.raises(OSError, match=MESSAGE):
        bandit.ask()
    assert shown(bandit) == before
    epoch = bandit.policy.epoch
    bandit.ask()
    assert bandit.policy.epoch > epoch
    assert Bandit.load(faults.copy_of(tmp_path / "state")).policy == bandit.policy


@pytest.mark.parametrize("case", ["dp-se", "dp-ucb", "dp-se-svt", "dp-nas", "dp-exp-nas", "dp-bernstein", "lazy-ucb"])
def test_what_was_thrown_away_unseen_is_drawn_afresh(case, tmp_path):
    """No draw of a refused release comes again: with the same source, each try asks for new ones."""

    class Counted(SimulatedNoise):
        drawn = 0

        def draws(self, scale, count):
            self.drawn += count
            return super().draws(scale, count)

    noise = Counted(1)
    driver = CASES[case](noise)
    driver.save(tmp_path / "state")
    tries = []
    for _ in range(3):
        before = noise.drawn
        with faults.full_disk("write the head"), pytest.raises(OSError, match=MESSAGE):
            until_something_closes(driver)
        tries.append(noise.drawn - before)
    assert tries[0] == tries[1] == tries[2] > 0


def until_something_closes(driver):
    if isinstance(driver, Bandit):
        tickets = driver.open_tickets or driver.ask(10**6)
        driver.tell(tickets, np.ones(len(tickets)))
    elif isinstance(driver, Stream):
        driver.feed(STREAM[:200])
    else:
        driver.close_steps(dict.fromkeys(driver.plan().pulls, 0))


def test_room_is_set_aside_before_anything_is_drawn(tmp_path):
    """Whether a write succeeds must not depend on what was drawn."""
    bandit = Bandit(algorithm("dp-se-sharp"))
    bandit.save(tmp_path / "state")
    honest, order = Curator.release, []

    class Watching(faults.FullDisk):
        def fail(self, step):
            order.append(step)

    def release(self, *args):
        order.append("draw")
        return honest(self, *args)

    tickets = bandit.ask(10**6)
    with pytest.MonkeyPatch.context() as patch, faults.full_disk(""):
        patch.setattr(Curator, "release", release)
        patch.setattr(type(bandit._file), "disk", Watching(""))
        bandit.tell(tickets, np.ones(len(tickets)))
    steps = ["create", "allocate", "allocate", "draw", "write the ledger", "write the head", "rename"]
    assert order == [*steps, "sync the folder"]


@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_a_live_stream_is_not_read_on_before_its_tests_are_in_the_file(name, tmp_path):
    """Whoever sees the stream being read on knows that no test has halted: after a crash no other answer may come."""
    path = tmp_path / "state"
    stream = Stream(algorithm(name, alpha=0.8))
    stream.save(path)
    behind = 0

    def live():
        nonlocal behind
        for place, x in enumerate(STREAM):
            if place % 97 == 96:
                behind += Stream.load(faults.copy_of(path)).ledger != stream.ledger
            yield x

    assert stream.run(live()).reached
    assert behind == 0


@pytest.mark.parametrize("step", faults.STEPS[2:])
def test_a_first_save_that_fails_leaves_no_file_and_no_lock(step, tmp_path):
    bandit = Bandit(algorithm("dp-se"))
    with faults.full_disk(step), pytest.raises(OSError, match=MESSAGE):
        bandit.save(tmp_path / "state")
    assert os.listdir(tmp_path) == []
    assert bandit.path is None
    bandit.save(tmp_path / "state")


# ---------------------------------------------------------------------- interrupts and bugs


@pytest.mark.parametrize("step", faults.STEPS)
@pytest.mark.parametrize("case", ["dp-se", "dp-ucb", "dp-nas", "dp-se-modified"])
def test_an_interrupt_in_the_middle_of_a_commit_undoes_it(case, step, tmp_path):
    driver = CASES[case]()
    driver.save(tmp_path / "state")
    before = driver.algorithm
    with faults.full_disk(step, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        until_something_closes(driver)
    assert driver.algorithm == before
    assert driver.ledger == ()
    until_something_closes(driver)
    assert driver.ledger
    assert type(driver).load(faults.copy_of(tmp_path / "state")).ledger == driver.ledger


def interrupt(monkeypatch, owner, name, error, *, late):
    """Have a method raise once, before or after its work."""
    honest = getattr(owner, name)

    def planted(self, *args, **options):
        monkeypatch.setattr(owner, name, honest)
        if late:
            honest(self, *args, **options)
        raise error

    monkeypatch.setattr(owner, name, planted)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("place", ["release", "learn", "_open", "commit"])
@pytest.mark.parametrize("case", ["dp-se by tickets", "dp-se", "dp-ucb", "dp-nas", "dp-se-modified", "lazy-dp-ts"])
def test_an_interrupt_at_any_point_leaves_a_driver_and_its_file_as_one(case, place, late, tmp_path, monkeypatch):
    """After the commit what is on disk has happened; before it nothing has."""
    driver = CASES[case]()
    driver.save(tmp_path / "state")
    owner, name = {
        "release": (Curator, "release"),
        "learn": (type(driver.algorithm), "learn"),
        "_open": (type(driver), "_open"),
        "commit": (type(driver._file), "commit"),
    }[place]
    before = driver.algorithm
    interrupt(monkeypatch, owner, name, KeyboardInterrupt(), late=late)
    with pytest.raises(KeyboardInterrupt):
        until_something_closes(driver)
    done = place == "commit" and late
    assert (driver.algorithm != before) is done
    assert bool(driver.ledger) is done
    assert type(driver).load(faults.copy_of(tmp_path / "state")).ledger == driver.ledger
    if not driver.finished:
        until_something_closes(driver)
    assert type(driver).load(faults.copy_of(tmp_path / "state")).ledger == driver.ledger


def test_while_a_head_may_be_there_that_nobody_was_shown_nothing_is_drawn(tmp_path, monkeypatch):
    """A commit has failed at its last step: the old head is put back first, and where that fails, nothing happens."""
    driver = CASES["dp-se"]()
    driver.save(tmp_path / "state")
    with faults.full_disk("sync the folder"), pytest.raises(OSError, match=MESSAGE):
        until_something_closes(driver)
    with monkeypatch.context() as patch:
        patch.setattr(Curator, "release", None)
        with faults.full_disk("write the head"), pytest.raises(OSError, match=MESSAGE):
            until_something_closes(driver)
    until_something_closes(driver)
    assert type(driver).load(faults.copy_of(tmp_path / "state")).ledger == driver.ledger


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a bug")])
@pytest.mark.parametrize("place", ["release", "learn"])
def test_without_a_file_whatever_ends_a_release_half_way_ends_the_driver(error, place, monkeypatch):
    """It would draw noise for the same rewards again, after a look at the first draw."""
    driver = CASES["dp-se"]()
    owner = Curator if place == "release" else type(driver.algorithm)
    interrupt(monkeypatch, owner, place, error, late=True)
    with pytest.raises(type(error)):
        until_something_closes(driver)
    with pytest.raises(PrivacyError, match="has failed or was interrupted while it released an epoch, and cannot go"):
        until_something_closes(driver)


@pytest.mark.parametrize("place", ["release", "learn"])
def test_a_bug_while_it_learns_ends_a_driver_with_a_file_too(place, tmp_path, monkeypatch):
    path = tmp_path / "state"
    with CASES["dp-se"]() as driver:
        driver.save(path)
        owner = Curator if place == "release" else type(driver.algorithm)
        interrupt(monkeypatch, owner, place, RuntimeError("a bug"), late=True)
        with pytest.raises(RuntimeError, match="a bug"):
            until_something_closes(driver)
        with pytest.raises(PrivacyError, match="cannot go on; load its file if it has one"):
            until_something_closes(driver)
        assert driver.ledger == ()
    again = type(driver).load(path)  # the end of the block has unlocked it
    assert again.ledger == ()


def test_a_second_interrupt_while_one_is_undone_ends_the_driver(tmp_path, monkeypatch):
    driver = CASES["dp-se by tickets"]()
    driver.save(tmp_path / "state")
    interrupt(monkeypatch, type(driver), "_restore_open", KeyboardInterrupt(), late=False)
    with faults.full_disk("rename"), pytest.raises(KeyboardInterrupt):
        until_something_closes(driver)
    with pytest.raises(PrivacyError, match="cannot go on; load its file"):
        driver.ask()
    assert Bandit.load(faults.copy_of(tmp_path / "state")).ledger == ()


# ---------------------------------------------------------------------- folders that may not be written


@pytest.fixture
def open_folder():
    """A folder in the system's own place for such: on the way to it everybody may pass."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.shown
@pytest.mark.skipif(os.name == "nt", reason="folders have no such mode")
@pytest.mark.parametrize("name", ["dp-se-sharp", "dp-ucb", "lazy-ucb", "dp-se-modified"])
def test_a_bandit_in_a_folder_that_may_not_be_written_releases_nothing_and_says_so(name, open_folder, page):
    bandit = Bandit(algorithm(name))
    bandit.save(open_folder / "state")
    while not bandit.ledger:
        tickets = bandit.ask(10**6)
        with faults.read_only(open_folder):
            with pytest.raises(PermissionError, match="could not be written"):
                bandit.tell(tickets, np.ones(len(tickets)))
            with pytest.raises(PermissionError, match="needs a folder that it can write to"):
                Bandit(algorithm(name)).save(open_folder / "other")
        assert bandit.ledger == ()
        bandit.tell(tickets, np.ones(len(tickets)))
    page("Faults survived", fault="a read-only folder", tried=1, survived=1)


@pytest.mark.shown
@pytest.mark.skipif(os.name == "nt", reason="folders have no such mode")
@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_a_stream_in_a_folder_that_may_not_be_written_shows_nothing(name, open_folder, page):
    stream, end = Stream(algorithm(name, alpha=0.1)), first_decision(name)
    stream.save(open_folder / "state")
    with faults.read_only(open_folder), pytest.raises(PermissionError, match="could not be written"):
        stream.feed(STREAM[:end])
    assert (stream.ledger, stream.samples) == ((), 0)
    stream.feed(STREAM[:end])
    assert stream.ledger
    page("Faults survived", fault="a read-only folder", tried=1, survived=1)
