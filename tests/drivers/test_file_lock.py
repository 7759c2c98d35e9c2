"""One living driver for each file: other processes are refused, and so is this one while a driver goes on."""

import errno
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from discreet import Bandit, PrivacyError, SimulatedNoise, StateError, Stream, Told, Totals
from discreet.drivers import file_lock
from tests._tools import faults
from tests._tools.patience import LONG
from tests._tools.walking import CASES, advance, algorithm

HOLD = """
import sys, discreet
kind, path = sys.argv[1:]
driver = {"bandit": discreet.Bandit, "stream": discreet.Stream}[kind].load(path)
print("loaded", flush=True)
sys.stdin.readline()
"""
DRIVERS = {"bandit": Bandit, "stream": Stream}


def saved(kind, path):
    driver = Bandit(algorithm("dp-se")) if kind == "bandit" else Stream(algorithm("dp-exp-nas", alpha=0.1))
    driver.save(path)
    return driver


def loader(kind):
    return DRIVERS[kind]


def go_on(driver):
    if isinstance(driver, Bandit):
        driver.tell(driver.ask(), 1.0)
    elif isinstance(driver, Stream):
        driver.feed(1.0)
    else:
        advance(driver)


@pytest.fixture(params=["bandit", "stream"])
def kind(request):
    return request.param


@pytest.fixture
def holder(kind, tmp_path):
    """Another process that has loaded the file."""
    path = tmp_path / "state"
    saved(kind, path).detach()
    program = [sys.executable, "-c", HOLD, kind, str(path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "loaded\n"
        yield child, path
        child.kill()


@pytest.mark.system
def test_a_second_process_is_refused_until_the_first_has_ended(holder, kind):
    child, path = holder
    message = rf"state is in use by process {child.pid}, .* load it in one process only"
    before = path.read_bytes()
    with pytest.raises(PrivacyError, match=message):
        loader(kind).load(path)
    with pytest.raises(PrivacyError, match=message):
        saved(kind, path)
    assert path.read_bytes() == before
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    go_on(loader(kind).load(path))  # however a process ends, its lock goes with it


@pytest.mark.system
def test_a_process_that_ends_well_leaves_no_lock_behind(holder, kind):
    child, path = holder
    child.communicate("go\n")
    assert child.returncode == 0
    assert sorted(os.listdir(path.parent)) == ["state", "state.ledger"]


def test_right_after_saving_the_loaded_object_takes_over(kind, tmp_path):
    path = tmp_path / "state"
    first = saved(kind, path)
    second = loader(kind).load(path)
    with pytest.raises(PrivacyError, match=r"has given its file away.*load the file and use what you get"):
        go_on(first)
    with pytest.raises(PrivacyError, match="has given its file away"):
        first.save(tmp_path / "other")
    go_on(second)


def test_an_object_that_has_gone_on_keeps_its_file(kind, tmp_path):
    path = tmp_path / "state"
    first = saved(kind, path)
    go_on(first)
    with pytest.raises(PrivacyError, match=r"state is kept by a .* has gone on .*detach or delete it first"):
        loader(kind).load(path)
    with pytest.raises(PrivacyError, match="is kept by another"):
        saved(kind, path)
    go_on(first)
    first.detach()
    go_on(loader(kind).load(path))


def test_garbage_keeps_nothing(kind, tmp_path):
    path = tmp_path / "state"
    first = saved(kind, path)
    go_on(first)
    del first
    gc.collect()
    assert sorted(os.listdir(tmp_path)) == ["state", "state.ledger"]
    go_on(loader(kind).load(path))


def test_detaching_writes_the_file_a_last_time(tmp_path):
    path = tmp_path / "state"
    with saved("bandit", path) as bandit:
        ticket = bandit.ask()
    with pytest.raises(PrivacyError, match="has given its file away"):
        bandit.tell(ticket, 1.0)
    with Bandit.load(path) as again:
        assert again.tell(ticket, 1.0) is Told.COUNTED
        again.save(tmp_path / "moved")
        names = ["moved", "moved.ledger", "moved.lock", "state", "state.ledger"]
        assert sorted(os.listdir(tmp_path)) == names
    assert Bandit.load(tmp_path / "moved").tell(ticket, 1.0) is Told.DUPLICATE
    with pytest.raises(StateError, match="has no file to detach from; save it first"):
        Bandit(algorithm("dp-se")).detach()
    with Bandit(algorithm("dp-se")) as unsaved:
        unsaved.ask()
    unsaved.ask()


def test_a_name_for_a_file_is_not_another_file(kind, tmp_path):
    """Through a link the same file is locked, and it is the file that is written, not the link."""
    path, link = tmp_path / "state", tmp_path / "link"
    first = saved(kind, path)
    link.symlink_to(path)
    go_on(first)
    with pytest.raises(PrivacyError, match=r"state is kept by"):
        loader(kind).load(link)
    first.detach()
    second = loader(kind).load(link)
    second.detach()
    assert link.is_symlink()


@pytest.mark.parametrize("case", ["dp-se", "dp-ucb", "lazy-dp-ts", "dp-nas", "dp-bernstein"])
def test_every_kind_of_driver_has_one_living_object(case, tmp_path):
    path = tmp_path / "state"
    driver = CASES[case]()
    driver.save(path)
    before = faults.copy_of(path)
    advance(driver)
    again = type(driver).load(path)  # whatever closes is written, so nothing is in memory alone
    assert again.ledger == driver.ledger
    with pytest.raises(PrivacyError, match="has given its file away"):
        advance(driver)
    again.detach()
    os.replace(before, path)  # an older copy of both files, while a driver lives
    os.replace(f"{before}.ledger", f"{path}.ledger")
    late = type(driver).load(path)
    assert late.ledger == ()


def test_a_driver_whose_file_was_replaced_does_not_hand_it_over(tmp_path):
    path = tmp_path / "state"
    driver = Totals(algorithm("dp-se"))
    driver.save(path)
    old = faults.copy_of(path)
    advance(driver)
    os.replace(old, path)
    os.replace(f"{old}.ledger", f"{path}.ledger")
    with pytest.raises(PrivacyError, match="has gone on since it was written"):
        Totals.load(path)


def test_what_is_not_private_has_one_living_driver_too(tmp_path):
    """Two would write over each other."""
    for number, driver in enumerate(
        [
            Bandit(algorithm("ucb")),
            Stream(algorithm("nas")),
            Stream(algorithm("dp-nas", epsilon=1.0), SimulatedNoise(1)),
        ]
    ):
        path = tmp_path / str(number)
        driver.save(path)
        noise = SimulatedNoise(2) if driver.simulated else None
        go_on(driver)
        if isinstance(driver, Bandit):
            driver.ask()
            with pytest.raises(PrivacyError, match="has gone on"):
                Bandit.load(path)
        go_on(type(driver).load(faults.copy_of(path), noise))
        driver.detach()
        assert type(driver).load(path, noise).ledger == driver.ledger


def test_of_many_threads_that_load_one_file_one_succeeds(tmp_path):
    path = tmp_path / "state"
    saved("bandit", path).detach()
    start, won, refused = threading.Barrier(16), [], []

    def load():
        start.wait()
        try:
            bandit = Bandit.load(path)
            bandit.ask()
            won.append(bandit)
        except PrivacyError as error:
            refused.append(error)

    threads = [threading.Thread(target=load) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(refused) == 15


def _race(path, start, told):
    start.wait()
    try:
        bandit = Bandit.load(path)
        bandit.ask()
        told.put("won")
    except PrivacyError:
        told.put("refused")
    start.wait()  # nobody lets go before everybody has tried


@pytest.mark.system
@pytest.mark.parametrize("races", [2, pytest.param(100, marks=pytest.mark.study)])
def test_of_two_processes_that_load_one_file_one_succeeds(races, tmp_path, page):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.drivers.test_file_lock"])
    path, fair = tmp_path / "state", 0
    saved("bandit", path).detach()
    for _ in range(races):
        start, told = context.Barrier(2), context.Queue()
        runners = [context.Process(target=_race, args=(path, start, told)) for _ in range(2)]
        for runner in runners:
            runner.start()
        fair += sorted(told.get() for _ in runners) == ["refused", "won"]
        for runner in runners:
            runner.join()
    page("Faults survived", fault="two processes that load one file at once", tried=races, survived=fair)
    assert fair == races


def _in_child(bandit, ticket, path, queue):
    for attempt in (bandit.ask, lambda: bandit.tell(ticket, 1.0), bandit.detach, lambda: Bandit.load(path)):
        try:
            attempt()
            queue.put("went on")
        except PrivacyError as error:
            queue.put(str(error))
    queue.put(len(file_lock._locks))


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_neither_has_nor_breaks_its_parents_lock(tmp_path):
    path = tmp_path / "state"
    bandit = saved("bandit", path)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(bandit, bandit.ask(), path, queue))
    child.start()
    said = [queue.get(timeout=LONG) for _ in range(5)]
    child.join()
    assert all("create it after the fork, or save it there and load it here" in one for one in said[:3])
    assert f"in use by process {os.getpid()}" in said[3]
    assert said[4] == 0
    assert (tmp_path / "state.lock").exists()
    go_on(bandit)


def test_a_lock_file_that_was_left_behind_means_nothing(kind, tmp_path):
    path = tmp_path / "state"
    saved(kind, path).detach()
    (tmp_path / "state.lock").write_text("4711\n")
    (tmp_path / ".state.x.unfinished").write_text("what a killed write has left is as sensitive as the rewards")
    thing = loader(kind).load(path)
    assert sorted(os.listdir(tmp_path)) == ["state", "state.ledger", "state.lock"]
    thing.detach()


def test_a_lock_that_is_removed_while_one_waits_for_it_is_taken_anew(tmp_path, monkeypatch):
    """The old holder removes the lock's file between our opening it and our locking it: that lock is worth nothing."""
    path = tmp_path / "state"
    saved("bandit", path).detach()
    honest, calls = file_lock._try_lock, []

    def late(handle):
        if not calls:
            os.unlink(tmp_path / "state.lock")
        calls.append(handle)
        honest(handle)

    monkeypatch.setattr(file_lock, "_try_lock", late)
    bandit = Bandit.load(path)
    assert len(calls) == 2
    monkeypatch.undo()
    with pytest.raises(PrivacyError, match="in use"):
        file_lock._open_locked(str(path))
    bandit.detach()


def test_where_there_are_no_locks_one_is_told(tmp_path, monkeypatch):
    def unsupported(handle):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(file_lock, "_try_lock", unsupported)
    with pytest.warns(UserWarning, match="has no locks .*: take care that only one process loads this file"):
        saved("bandit", tmp_path / "state")


def test_a_folder_that_cannot_be_written_is_named(kind, tmp_path, monkeypatch):
    path = tmp_path / "state"
    saved(kind, path).detach()
    honest = os.open

    def read_only(name, flags, *rest, **options):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return honest(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(PermissionError, match=r"state cannot be locked: .* needs a folder that it can write to"):
        loader(kind).load(path)
    monkeypatch.undo()
    go_on(loader(kind).load(path))


def test_nothing_is_lost_when_a_file_cannot_be_taken(tmp_path):
    """A bandit that fails to move to a file in use goes on with its own."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    bandit, other = saved("bandit", mine), saved("bandit", theirs)
    with pytest.raises(PrivacyError, match="is kept by another"):
        bandit.save(theirs)
    tickets = bandit.ask(10**6)
    bandit.tell(tickets, np.ones(len(tickets)))
    assert Bandit.load(faults.copy_of(mine)).ledger == bandit.ledger
    assert other.ledger == ()
