"""Saved states: the same noise, the same tickets, and clear errors for files that are not whole."""

import json
import multiprocessing
import os
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import Bandit, PrivacyError, SimulatedNoise, StateError, TicketError, Told
from discreet.drivers.files import FORMAT
from tests._tools import examples, faults


def some_bandit(noise=None, told=7):
    policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000, noise=noise)
    bandit = Bandit(policy, default_reward=0.0, seed=1)
    tickets = bandit.ask(20)
    bandit.tell(tickets[:told], [1.0] * told)
    return bandit, tickets


def test_the_first_lines_that_anyone_types_run_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stream = np.tile([1.0, 1.0, -1.0], 100_000)
    rule = discreet.DPExponentialNAS(epsilon=0.5, alpha=0.1, beta=0.05, radius=1.0)
    result = rule.run(stream)
    assert result.reached
    assert abs(result.estimate - 1 / 3) < 0.1 / 3
    assert result.samples <= 2**17
    policy = discreet.DPSuccessiveElimination(arms=["A", "B", "C"], epsilon=0.5, horizon=1_000_000)
    bandit = discreet.Bandit(policy)
    ticket = bandit.ask()
    bandit.tell(ticket, 1.0)
    bandit.save("state.json")
    bandit = discreet.Bandit.load("state.json")
    assert policy.privacy.epsilon == 0.5
    assert policy.ledger == ()
    assert bandit.best_arm is None


def test_open_tickets_survive(tmp_path):
    bandit, tickets = some_bandit()
    bandit.save(tmp_path / "state.json")
    saved = bandit._dump()
    again = Bandit.load(tmp_path / "state.json")
    assert again.outstanding == 13
    assert again.tell(tickets[0], 1.0) is Told.DUPLICATE
    assert again.tell(tickets[10].id, 1.0) is Told.COUNTED
    assert again.ask().number == 20
    assert again._dump()["policy"] == saved["policy"]


def test_a_block_that_was_begun_is_finished_after_loading(tmp_path):
    policy = discreet.DPSuccessiveElimination(list("ABCDE"), epsilon=1.0, horizon=10**6)
    bandit = Bandit(policy)
    arms = [ticket.arm for ticket in bandit.ask(13)]
    bandit.save(tmp_path / "state.json")
    again = Bandit.load(tmp_path / "state.json")
    arms += [ticket.arm for ticket in again.ask(12)]
    assert all(sorted(arms[i : i + 5]) == list("ABCDE") for i in range(0, 25, 5))


@pytest.mark.parametrize("waiting", ["refuse", "serve"])
def test_the_whole_run_survives_any_number_of_reloads(tmp_path, waiting):
    path = tmp_path / "state.json"
    policy = examples.policy("dp-se", noise=SimulatedNoise(1), horizon=20_000)
    bandit = Bandit(policy, waiting=waiting, seed=3)
    asked = 0
    while not bandit.finished:
        tickets = bandit.ask(997)
        asked += len(tickets)
        bandit.save(path)
        bandit = Bandit.load(path)
        bandit.tell(tickets, [float(ticket.arm == "A") for ticket in tickets])
    assert bandit.best_arm == "A"
    assert sum(bandit.pulls.values()) == 20_000
    assert asked >= 20_000


def test_a_restored_bandit_releases_with_the_noise_that_was_drawn(tmp_path):
    bandit, tickets = some_bandit(told=0)
    bandit.save(tmp_path / "state.json")
    rest = bandit.ask(10**6)
    copies = [Bandit.load(faults.copy_of(tmp_path / "state.json")) for _ in range(2)]
    ledgers = []
    for one in (bandit, *copies):
        if one is not bandit:
            assert len(one.ask(10**6)) == len(rest)
        one.tell(tickets, [1.0] * 20)
        one.expire()
        ledgers.append([entry.units for entry in one.policy.ledger])
    # The arms are dealt afresh, so the tickets of the copies differ; the first 20 are the same.
    assert ledgers[0] == ledgers[1] == ledgers[2]
    assert len(ledgers[0]) == 2


def finish_epoch(bandit, reward):
    tickets = bandit.ask(10**6)
    bandit.tell(tickets, [reward] * len(tickets))
    return [entry.units for entry in bandit.ledger]


def test_a_crash_after_a_release_cannot_vary_it(tmp_path):
    """Save in mid-epoch, close the epoch, crash, load: the release is there, and its noise meets no other data."""
    path = tmp_path / "state.json"
    bandit, _ = some_bandit(told=20)
    bandit.save(path)
    released = finish_epoch(bandit, 0.25)
    again = Bandit.load(path)
    assert [entry.units for entry in again.ledger] == released
    assert again.policy.epoch == 1
    assert again.outstanding == 0


def test_a_crash_right_before_a_release_repeats_it_to_the_bit(tmp_path, monkeypatch):
    path, snapshot = tmp_path / "state.json", tmp_path / "snapshot.json"
    bandit, _ = some_bandit(told=20)
    bandit.save(path)
    honest = Bandit._close

    def snap(self):
        snapshot.write_bytes(path.read_bytes())  # what a crash at this moment would leave
        honest(self)

    monkeypatch.setattr(Bandit, "_close", snap)
    released = finish_epoch(bandit, 0.25)
    monkeypatch.setattr(Bandit, "_close", honest)
    again = Bandit.load(snapshot)
    assert [entry.units for entry in again.ledger] == released
    assert again._dump()["policy"]["ledger"] == bandit._dump()["policy"]["ledger"]


def test_nothing_is_released_when_the_file_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    bandit, _ = some_bandit(told=20)
    bandit.save(path)
    rest = bandit.ask(10**6)
    bandit.tell(rest[:-1], [0.5] * (len(rest) - 1))
    honest = os.replace
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        bandit.tell(rest[-1], 0.5)
    assert bandit.ledger == ()
    assert bandit.outstanding == 1
    monkeypatch.setattr(os, "replace", honest)
    assert bandit.tell(rest[-1], 0.5) is Told.COUNTED
    assert len(bandit.ledger) == 2


def test_a_batch_is_taken_back_when_the_file_cannot_be_written(tmp_path, monkeypatch):
    bandit, _ = some_bandit(told=20)
    bandit.save(tmp_path / "state.json")
    rest = bandit.ask(10**6)
    before = bandit._dump()
    honest = os.replace
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        bandit.tell(rest, [1.0] * len(rest))
    assert bandit._dump() == before
    with pytest.raises(OSError, match="disk full"):
        bandit.expire()
    assert bandit._dump() == before
    monkeypatch.setattr(os, "replace", honest)
    assert set(bandit.tell(rest, [0.0] * len(rest))) == {Told.COUNTED}
    assert all(entry.mean < 0.2 for entry in bandit.ledger)


def test_saving_into_a_missing_folder_names_the_path(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/state\.json"):
        some_bandit()[0].save(tmp_path / "nowhere" / "state.json")


def test_a_driven_policy_is_saved_with_its_bandit(tmp_path):
    bandit, _ = some_bandit()
    with pytest.raises(PrivacyError, match="save the Bandit"):
        bandit.policy.save(tmp_path / "policy.json")


def test_open_tickets_can_be_listed_also_after_a_reload(tmp_path):
    bandit, tickets = some_bandit(told=7)
    assert bandit.open_tickets == tickets[7:]
    bandit.save(tmp_path / "state.json")
    again = Bandit.load(tmp_path / "state.json")
    assert [(ticket.arm, ticket.number) for ticket in again.open_tickets] == [(t.arm, t.number) for t in tickets[7:]]
    assert again.tell(again.open_tickets[0], 1.0) is Told.COUNTED


def test_tickets_handed_out_after_the_save_are_unknown_to_the_file(tmp_path):
    path = tmp_path / "state.json"
    bandit, tickets = some_bandit()
    bandit.save(path)
    lost = bandit.ask()
    faults.crash(bandit)
    again = Bandit.load(path)
    fresh = again.ask()
    assert fresh.number == lost.number
    assert fresh.id != lost.id
    with pytest.raises(TicketError, match="ask again"):
        again.tell(lost, 1.0)
    assert again.tell(fresh, 1.0) is Told.COUNTED
    assert again.tell(tickets[12], 1.0) is Told.COUNTED


def test_a_saved_rule_keeps_its_file_up_to_date(tmp_path):
    path = tmp_path / "rule.json"
    rule = examples.rule("dp-exp-nas")
    rule.save(path)
    rule.feed(np.ones(7))  # tests at 2 and 4
    assert discreet.DPExponentialNAS.load(faults.copy_of(path)).ledger == rule.ledger
    result = rule.run(np.ones(10**5))
    assert result.reached
    faults.crash(rule)
    again = discreet.DPExponentialNAS.load(path)
    assert again.result == result
    assert again.finished


def test_numpy_arguments_can_be_saved(tmp_path):
    path = tmp_path / "state.json"
    one = np.float32(1)
    Bandit(examples.policy("dp-se", epsilon=one, low=np.int64(0), high=one), default_reward=np.float32(0)).save(path)
    assert Bandit.load(path).default_reward == 0.0
    discreet.NAS(alpha=np.float64(0.1), beta=0.1, radius=np.int64(1)).save(path)
    discreet.GuessAndDouble(["A", "B"], policy="dp-se", epsilon=one).save(path)
    assert discreet.GuessAndDouble.load(path).privacy.epsilon == 1.0


def test_only_the_default_generator_can_be_saved(tmp_path):
    noise = SimulatedNoise(np.random.Generator(np.random.MT19937(1)))
    with pytest.raises(StateError, match="PCG64"):
        examples.policy("dp-se", noise=noise).save(tmp_path / "state.json")


def test_the_file_is_private_to_its_owner_and_says_that_it_is_sensitive(tmp_path):
    bandit, _ = some_bandit()
    bandit.save(tmp_path / "state.json")
    assert stat.S_IMODE(os.stat(tmp_path / "state.json").st_mode) == 0o600
    assert "sensitive" in json.loads((tmp_path / "state.json").read_text())["warning"]
    assert stat.S_IMODE(os.stat(tmp_path / "state.json.lock").st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["state.json", "state.json.lock"]


@settings(max_examples=60)
@given(data=st.data())
def test_a_truncated_file_is_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "truncated.json"
    some_bandit(noise=SimulatedNoise(1))[0].save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(StateError, match=r"truncated|not a state"):
        Bandit.load(path)


@settings(max_examples=100)
@given(data=st.data())
def test_an_edited_byte_is_noticed(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "edited.json"
    some_bandit(noise=SimulatedNoise(1))[0].save(path)
    whole = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    old = whole[place]
    whole[place] = data.draw(st.integers(32, 126).filter(lambda byte: byte != old))
    path.write_bytes(bytes(whole))
    if json_equal(bytes(whole), path, place, old):
        return  # white space between tokens carries nothing
    with pytest.raises(StateError):
        Bandit.load(path)


def json_equal(edited, path, place, old):
    original = bytearray(edited)
    original[place] = old
    try:
        return json.loads(edited) == json.loads(bytes(original))
    except ValueError:
        return False


def rewrite(path, change):
    """Edit a state and seal it again, as a newer or careless program would."""
    from discreet.drivers.files import _digest, canonical

    document = json.loads(path.read_text())
    del document["sha256"]
    change(document)
    document["sha256"] = _digest(canonical(document))
    path.write_text(json.dumps(document))


def test_a_newer_format_is_named(tmp_path):
    path = tmp_path / "state.json"
    some_bandit()[0].save(path)
    rewrite(path, lambda document: document.update(discreet=FORMAT + 1, made_by="9.9"))
    with pytest.raises(StateError, match=r"format 2, written by discreet 9\.9.*upgrade discreet"):
        Bandit.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["body"].pop("policy"),
        lambda document: document["body"].pop("sums"),
        lambda document: document["body"].update(status="????"),
        lambda document: document["body"].update(dealt=[1]),
        lambda document: document["body"]["policy"].update(name="unheard-of"),
        lambda document: document["body"]["policy"]["options"].update(epsilon=-1),
        lambda document: document["body"]["policy"]["options"].update(surprise=1),
        lambda document: document["body"]["policy"].pop("progress"),
        lambda document: document["body"]["policy"]["progress"].pop("laplace"),
        lambda document: document["body"]["policy"]["noise"].update(source="dice"),
        lambda document: document.update(body=[]),
    ],
)
def test_a_state_that_does_not_describe_a_bandit_is_refused(tmp_path, change):
    path = tmp_path / "state.json"
    some_bandit()[0].save(path)
    rewrite(path, change)
    with pytest.raises(StateError):
        Bandit.load(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"3", b"\xff\xfe", b'{"discreet": "1"}'])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(StateError):
        Bandit.load(path)


def test_kinds_are_not_confused(tmp_path):
    path = tmp_path / "state.json"
    examples.rule("nas").save(path)
    with pytest.raises(StateError, match="holds a stopping rule, not a bandit"):
        Bandit.load(path)
    with pytest.raises(StateError, match="holds a NAS, not a DPNAS"):
        discreet.DPNAS.load(path)
    examples.policy("ucb").save(path)
    with pytest.raises(StateError, match="holds a UCB, not a DPUCB"):
        discreet.DPUCB.load(path)


def test_a_failed_save_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    bandit, _ = some_bandit()
    bandit.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        bandit.save(path)
    assert path.read_bytes() == before
    bandit._custody.give_back()
    assert os.listdir(tmp_path) == ["state.json"]


def _use_after_fork(bandit, ticket, queue):
    for attempt in (lambda: bandit.tell(ticket, 1.0), bandit.ask):
        try:
            attempt()
            queue.put("went on")
        except PrivacyError as error:
            queue.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_private_bandit_refuses_to_go_on_in_a_forked_child():
    bandit, tickets = some_bandit(told=0)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_use_after_fork, args=(bandit, tickets[0], queue))
    child.start()
    assert "forked process" in queue.get(timeout=60)
    assert "forked process" in queue.get(timeout=60)
    child.join()
    assert bandit.tell(tickets[0], 1.0) is Told.COUNTED
