"""When the file cannot be written, nothing has happened: no reward is counted and nothing is released."""

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import Bandit, SimulatedNoise, Told
from discreet.drivers import files as state
from tests._tools import examples, faults

PRIVATE_POLICIES = [name for name in sorted(discreet.POLICIES) if examples.is_private(name)]
PRIVATE_RULES = [name for name in sorted(discreet.RULES) if examples.is_private(name)]
STREAM = (np.random.default_rng(0).random(20_000) < 0.6).astype(float)
FULL = "a disk that is full at any step of a write"
MESSAGE = r"the state could not be written \(No space left on device\), so nothing was released; make room.*state\.json"


def shown(thing):
    """All that anybody can see of a bandit or a rule, and all that it would go on with."""
    seen = {name: getattr(thing, name) for name in dir(thing) if not name.startswith("_")}
    seen = {name: value for name, value in seen.items() if not callable(value) and name not in ("grid", "policy")}
    return seen, state.canonical(thing._dump())


@pytest.mark.shown
@pytest.mark.parametrize("step", faults.STEPS)
@pytest.mark.parametrize("name", PRIVATE_POLICIES)
def test_a_bandit_with_no_room_for_its_file_releases_nothing(name, step, tmp_path, monkeypatch, page):
    path = tmp_path / "state.json"
    bandit = Bandit(examples.policy(name), default_reward=0.0)
    bandit.save(path)
    saved = path.read_bytes()
    while not bandit.ledger:  # each epoch until the first release
        tickets = bandit.ask(10**6)
        before = shown(bandit)
        with faults.full_disk(monkeypatch, step):
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
    assert sorted(os.listdir(tmp_path)) == ["state.json", "state.json.lock"]
    assert Bandit.load(faults.copy_of(path)).ledger == bandit.ledger
    page("Faults survived", fault=FULL, tried=1, survived=1)


@pytest.mark.parametrize("step", faults.STEPS)
def test_no_room_after_a_release_is_no_error_since_the_file_leads_to_it(step, tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    bandit = Bandit(examples.policy("dp-se"))
    bandit.save(path)
    tickets = bandit.ask(10**6)
    with (
        faults.full_disk(monkeypatch, step, after=1),
        pytest.warns(UserWarning, match="No space left .* an epoch has closed, which a reload would only repeat"),
    ):
        assert set(bandit.tell(tickets, np.ones(len(tickets)))) == {Told.COUNTED}
    assert len(bandit.ledger) == 2
    again = Bandit.load(faults.copy_of(path))
    assert again.ledger == bandit.ledger
    assert again.policy.plan() == bandit.policy.plan()


def first_decision(name):
    """After how many samples a rule first tests or releases something: public, and the same for all noise."""
    rule = examples.rule(name, noise=SimulatedNoise(1))
    while not rule.ledger:
        rule.feed(STREAM[rule.samples])
    return rule.samples


def close_to(rule, end):
    while rule.samples < end:
        rule.close(rule.grid.total(STREAM[rule.samples : rule.samples + rule.plan()]))


@pytest.mark.shown
@pytest.mark.parametrize("step", faults.STEPS)
@pytest.mark.parametrize("name", PRIVATE_RULES)
@pytest.mark.parametrize("feed", ["array", "list", "numbers", "stream", "close"])
def test_a_rule_with_no_room_for_its_file_shows_nothing(name, step, feed, tmp_path, monkeypatch, page):
    path, end = tmp_path / "state.json", first_decision(name)
    rule = examples.rule(name)
    rule.feed(STREAM[: end // 2])
    rule.save(path)
    part = STREAM[end // 2 : end]
    feeds = {
        "array": lambda: rule.feed(part),
        "list": lambda: rule.feed(part.tolist()),
        "numbers": lambda: [rule.feed(x) for x in part],
        "stream": lambda: rule.feed(iter(STREAM[end // 2 :])),
        "close": lambda: close_to(rule, end),
    }
    saved, before = path.read_bytes(), shown(rule)
    with faults.full_disk(monkeypatch, step), pytest.raises(OSError, match=MESSAGE):
        feeds[feed]()
    if feed in ("array", "list"):
        assert shown(rule) == before
    assert rule.ledger == ()
    assert rule.samples < end
    assert step == "sync the folder" or path.read_bytes() == saved
    rule.feed(STREAM[rule.samples : end])
    assert rule.ledger
    assert discreet.RULES[name].load(faults.copy_of(path)).ledger == rule.ledger
    page("Faults survived", fault=FULL, tried=1, survived=1)


@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_a_rule_that_could_not_write_goes_on_as_if_nothing_had_happened(name, tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    rule, twin = (examples.rule(name, noise=SimulatedNoise(1)) for _ in range(2))
    rule.save(path)
    failed = 0
    for part in np.array_split(STREAM, 40):
        with faults.full_disk(monkeypatch, "rename"), contextlib.suppress(OSError):
            rule.feed(part)
        if rule.samples == twin.samples:
            failed += 1
            rule.feed(part)
        twin.feed(part)
        if rule.finished:
            break
    assert failed
    assert rule.result == twin.result
    assert rule.result.reached


@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_a_live_stream_is_not_read_on_before_its_tests_are_in_the_file(name, tmp_path):
    """Whoever sees the stream being read on knows that no test has halted: after a crash no other answer may come."""
    path = tmp_path / "state.json"
    rule = examples.rule(name)
    rule.save(path)
    behind = 0

    def live():
        nonlocal behind
        for place, x in enumerate(STREAM):
            if place % 97 == 96:
                behind += discreet.RULES[name].load(faults.copy_of(path)).ledger != rule.ledger
            yield x

    result = rule.run(live())
    assert result.reached
    assert behind == 0


@pytest.mark.parametrize("step", faults.STEPS)
def test_a_first_save_that_fails_leaves_no_file_and_no_lock(step, tmp_path, monkeypatch):
    bandit = Bandit(examples.policy("dp-se"))
    with faults.full_disk(monkeypatch, step), pytest.raises(OSError, match=MESSAGE):
        bandit.save(tmp_path / "state.json")
    assert step == "sync the folder" or os.listdir(tmp_path) == []
    bandit.save(tmp_path / "state.json")


@pytest.fixture
def open_folder():
    """A folder in the system's own place for such: on the way to it everybody may pass."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.shown
@pytest.mark.skipif(os.name == "nt", reason="folders have no such mode")
@pytest.mark.parametrize("name", PRIVATE_POLICIES)
def test_a_bandit_in_a_folder_that_may_not_be_written_releases_nothing_and_says_so(name, open_folder, page):
    bandit = Bandit(examples.policy(name))
    bandit.save(open_folder / "state.json")
    while not bandit.ledger:
        tickets = bandit.ask(10**6)
        with faults.read_only(open_folder):
            with pytest.raises(PermissionError, match="could not be written"):
                bandit.tell(tickets, np.ones(len(tickets)))
            with pytest.raises(PermissionError, match="needs a folder that it can write to"):
                Bandit(examples.policy(name)).save(open_folder / "other.json")
        assert bandit.ledger == ()
        bandit.tell(tickets, np.ones(len(tickets)))
    page("Faults survived", fault="a read-only folder", tried=1, survived=1)


@pytest.mark.shown
@pytest.mark.skipif(os.name == "nt", reason="folders have no such mode")
@pytest.mark.parametrize("name", PRIVATE_RULES)
def test_a_rule_in_a_folder_that_may_not_be_written_shows_nothing(name, open_folder, page):
    rule, end = examples.rule(name), first_decision(name)
    rule.save(open_folder / "state.json")
    with faults.read_only(open_folder), pytest.raises(PermissionError, match="could not be written"):
        rule.feed(STREAM[:end])
    assert (rule.ledger, rule.samples) == ((), 0)
    rule.feed(STREAM[:end])
    assert rule.ledger
    page("Faults survived", fault="a read-only folder", tried=1, survived=1)
