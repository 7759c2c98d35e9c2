"""One living object for each file: other processes are refused, and so is this one while an object goes on."""

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

import discreet
from discreet import Bandit, PrivacyError, SimulatedNoise, StateError
from discreet.drivers import file_lock as custody
from tests._tools import examples, faults

PRIVATE_POLICIES = [name for name in sorted(discreet.POLICIES) if examples.is_private(name)]
PRIVATE_RULES = [name for name in sorted(discreet.RULES) if examples.is_private(name)]
HOLD = """
import sys, discreet
kind, path = sys.argv[1:]
thing = {"bandit": discreet.Bandit, "rule": discreet.DPExponentialNAS}[kind].load(path)
print("loaded", flush=True)
sys.stdin.readline()
"""


def saved(kind, path):
    thing = Bandit(examples.policy("dp-se")) if kind == "bandit" else examples.rule("dp-exp-nas")
    thing.save(path)
    return thing


def loader(kind):
    return Bandit if kind == "bandit" else discreet.DPExponentialNAS


def go_on(thing):
    if isinstance(thing, Bandit):
        thing.tell(thing.ask(), 1.0)
    else:
        thing.feed(1.0)


@pytest.fixture(params=["bandit", "rule"])
def kind(request):
    return request.param


@pytest.fixture
def holder(kind, tmp_path):
    """Another process that has loaded the file."""
    path = tmp_path / "state.json"
    saved(kind, path).detach()
    program = [sys.executable, "-c", HOLD, kind, str(path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "loaded\n"
        yield child, path
        child.kill()


def test_a_second_process_is_refused_until_the_first_has_ended(holder, kind):
    child, path = holder
    message = rf"state\.json is in use by process {child.pid}, .* load it in one process only"
    before = path.read_bytes()
    with pytest.raises(PrivacyError, match=message):
        loader(kind).load(path)
    with pytest.raises(PrivacyError, match=message):
        saved(kind, path)
    assert path.read_bytes() == before
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    go_on(loader(kind).load(path))  # however a process ends, its lock goes with it


def test_a_process_that_ends_well_leaves_no_lock_behind(holder, kind):
    child, path = holder
    child.communicate("go\n")
    assert child.returncode == 0
    assert os.listdir(path.parent) == ["state.json"]


def test_right_after_saving_the_loaded_object_takes_over(kind, tmp_path):
    path = tmp_path / "state.json"
    first = saved(kind, path)
    second = loader(kind).load(path)
    with pytest.raises(PrivacyError, match=r"has let go of its file.*load it and use what you get"):
        go_on(first)
    with pytest.raises(PrivacyError, match="has let go"):
        first.save(tmp_path / "other.json")
    go_on(second)


def test_an_object_that_has_gone_on_keeps_its_file(kind, tmp_path):
    path = tmp_path / "state.json"
    first = saved(kind, path)
    go_on(first)
    with pytest.raises(PrivacyError, match=r"state\.json is kept by a .* has gone on .*detach or delete it first"):
        loader(kind).load(path)
    with pytest.raises(PrivacyError, match="is kept by another"):
        saved(kind, path)
    go_on(first)
    first.detach()
    go_on(loader(kind).load(path))


def test_garbage_keeps_nothing(kind, tmp_path):
    path = tmp_path / "state.json"
    first = saved(kind, path)
    go_on(first)
    del first
    gc.collect()
    assert os.listdir(tmp_path) == ["state.json"]
    go_on(loader(kind).load(path))


def test_detaching_writes_the_file_a_last_time(tmp_path):
    path = tmp_path / "state.json"
    with saved("bandit", path) as bandit:
        ticket = bandit.ask()
    with pytest.raises(PrivacyError, match="has let go"):
        bandit.tell(ticket, 1.0)
    with Bandit.load(path) as again:
        assert again.tell(ticket, 1.0) is discreet.Told.COUNTED
        again.save(tmp_path / "moved.json")
        assert sorted(os.listdir(tmp_path)) == ["moved.json", "moved.json.lock", "state.json"]
    assert Bandit.load(tmp_path / "moved.json").tell(ticket, 1.0) is discreet.Told.DUPLICATE
    with pytest.raises(StateError, match="has no file to detach from; save it first"):
        Bandit(examples.policy("dp-se")).detach()
    with Bandit(examples.policy("dp-se")) as unsaved:
        unsaved.ask()
    unsaved.ask()


def test_a_name_for_a_file_is_not_another_file(kind, tmp_path):
    """Through a link the same file is locked, and it is the file that is written, not the link."""
    path, link = tmp_path / "state.json", tmp_path / "link.json"
    first = saved(kind, path)
    link.symlink_to(path)
    go_on(first)
    with pytest.raises(PrivacyError, match=r"state\.json is kept by"):
        loader(kind).load(link)
    first.detach()
    second = loader(kind).load(link)
    second.detach()
    assert link.is_symlink()


def test_a_policy_loaded_from_a_file_hands_it_to_its_bandit(tmp_path):
    path = tmp_path / "policy.json"
    examples.policy("dp-se").save(path)
    bandit = Bandit(discreet.DPSuccessiveElimination.load(path))
    bandit.ask()
    with pytest.raises(PrivacyError, match="kept by a Bandit of this process that has gone on"):
        discreet.DPSuccessiveElimination.load(path)
    bandit.save(path)
    with pytest.raises(PrivacyError, match="is kept by another Bandit"):
        examples.policy("dp-se").save(path)


@pytest.mark.parametrize("name", PRIVATE_POLICIES)
def test_every_private_policy_has_one_living_object(name, tmp_path):
    path = tmp_path / "state.json"
    policy = examples.policy(name)
    policy.save(path)
    plan = policy.plan()
    policy.close(dict.fromkeys(plan.pulls, 0))
    with pytest.raises(PrivacyError, match="has gone on"):
        type(policy).load(path)
    policy.save(path)
    assert type(policy).load(path).ledger == policy.ledger
    with pytest.raises(PrivacyError, match="has let go"):
        policy.close(dict.fromkeys(policy.plan().pulls, 0))


@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_every_private_rule_has_one_living_object(name, tmp_path):
    path = tmp_path / "state.json"
    rule = examples.rule(name)
    rule.save(path)
    assert type(rule).load(path).samples == 0
    with pytest.raises(PrivacyError, match="has let go"):
        rule.feed(1.0)


def test_what_is_not_private_is_loaded_as_often_as_you_like(tmp_path):
    path = tmp_path / "state.json"
    for thing in (Bandit(examples.policy("ucb")), examples.rule("nas"), examples.rule("dp-nas", SimulatedNoise(1))):
        thing.save(path)
        for _ in range(2):
            go_on(type(thing).load(path))
        go_on(thing)
        assert os.listdir(tmp_path) == ["state.json"]


def test_of_many_threads_that_load_one_file_one_succeeds(tmp_path):
    path = tmp_path / "state.json"
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


@pytest.mark.parametrize("races", [2, pytest.param(100, marks=pytest.mark.study)])
def test_of_two_processes_that_load_one_file_one_succeeds(races, tmp_path, page):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.drivers.test_file_lock", "opendp.prelude"])
    path, fair = tmp_path / "state.json", 0
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


def _in_child(bandit, path, queue):
    for attempt in (bandit.ask, bandit.detach, lambda: Bandit.load(path)):
        try:
            attempt()
            queue.put("went on")
        except PrivacyError as error:
            queue.put(str(error))
    queue.put(len(custody._held))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_neither_has_nor_breaks_its_parents_lock(tmp_path):
    path = tmp_path / "state.json"
    bandit = saved("bandit", path)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(bandit, path, queue))
    child.start()
    said = [queue.get(timeout=60) for _ in range(4)]
    child.join()
    assert "forked process" in said[0]
    assert "forked process" in said[1]
    assert f"in use by process {os.getpid()}" in said[2]
    assert said[3] == 0
    assert (tmp_path / "state.json.lock").exists()
    go_on(bandit)


def test_a_lock_file_that_was_left_behind_means_nothing(kind, tmp_path):
    path = tmp_path / "state.json"
    saved(kind, path).detach()
    (tmp_path / "state.json.lock").write_text("4711\n")
    (tmp_path / ".state.json.x.unfinished").write_text("what a killed write has left is as sensitive as the rewards")
    thing = loader(kind).load(path)
    assert sorted(os.listdir(tmp_path)) == ["state.json", "state.json.lock"]
    thing.detach()


def test_a_lock_that_is_removed_while_one_waits_for_it_is_taken_anew(tmp_path, monkeypatch):
    """The old holder removes the lock's file between our opening it and our locking it: that lock is worth nothing."""
    path = tmp_path / "state.json"
    saved("bandit", path).detach()
    honest, calls = custody._try_lock, []

    def late(handle):
        if not calls:
            os.unlink(tmp_path / "state.json.lock")
        calls.append(handle)
        honest(handle)

    monkeypatch.setattr(custody, "_try_lock", late)
    bandit = Bandit.load(path)
    assert len(calls) == 2
    monkeypatch.undo()
    with pytest.raises(PrivacyError, match="in use"):
        custody._lock(str(path))
    bandit.detach()


def test_where_there_are_no_locks_one_is_told(tmp_path, monkeypatch):
    def unsupported(handle):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(custody, "_try_lock", unsupported)
    with pytest.warns(UserWarning, match="has no locks .*: take care that only one process loads this file"):
        saved("bandit", tmp_path / "state.json")


def test_a_folder_that_cannot_be_written_is_named(kind, tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    saved(kind, path).detach()
    honest = os.open

    def read_only(name, flags, *rest, **options):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return honest(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(PermissionError, match=r"state\.json cannot be locked: .* needs a folder that it can write to"):
        loader(kind).load(path)
    monkeypatch.undo()
    go_on(loader(kind).load(path))


def test_nothing_is_lost_when_a_file_cannot_be_taken(tmp_path):
    """A bandit that fails to move to a file in use goes on with its own."""
    mine, theirs = tmp_path / "mine.json", tmp_path / "theirs.json"
    bandit, other = saved("bandit", mine), saved("bandit", theirs)
    with pytest.raises(PrivacyError, match="is kept by another"):
        bandit.save(theirs)
    tickets = bandit.ask(10**6)
    bandit.tell(tickets, np.ones(len(tickets)))
    assert Bandit.load(faults.copy_of(mine)).ledger == bandit.ledger
    assert other.ledger == ()
