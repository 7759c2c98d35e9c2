"""Saved states: what survives a reload, fresh noise for whoever goes on, and clear errors for damaged files."""

import hashlib
import json
import os
import shutil
import stat

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, Bandit, SimulatedNoise, StateError, Stream, TicketError, Told, Totals
from discreet.drivers.files import FORMAT, StateFile, sealed, unsealed
from tests._tools import faults
from tests._tools.walking import CASES, advance, algorithm, coins

ARMS = ["A", "B"]


def dp_se(**options):
    return discreet.DPSuccessiveElimination(ARMS, **{"epsilon": 1.0, "horizon": 10_000, **options})


def some_bandit(noise=None, told=7):
    bandit = Bandit(dp_se(), noise, default_reward=0.0, seed=1)
    tickets = bandit.ask(20)
    bandit.tell(tickets[:told], [1.0] * told)
    return bandit, tickets


def finish_epoch(bandit, reward):
    tickets = [*bandit.open_tickets, *bandit.ask(10**6)]
    bandit.tell(tickets, [reward] * len(tickets))
    return [release.steps for release in bandit.ledger]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


# ---------------------------------------------------------------------- what survives


def test_the_first_lines_that_anyone_types_run_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = discreet.DPExponentialNAS(epsilon=0.5, alpha=0.1, beta=0.05, radius=1.0)
    result = rule.run(np.tile([1.0, 1.0, -1.0], 100_000))
    assert result.reached
    assert abs(result.estimate - 1 / 3) < 0.1 / 3
    policy = discreet.DPSuccessiveElimination(arms=["A", "B", "C"], epsilon=0.5, horizon=1_000_000)
    bandit = discreet.Bandit(policy)
    bandit.tell(bandit.ask(), 1.0)
    bandit.save("state.json")
    bandit = discreet.Bandit.load("state.json")
    assert bandit.privacy.epsilon == 0.5
    assert bandit.ledger == ()
    assert bandit.best_arm is None


def test_open_tickets_survive(path):
    bandit, tickets = some_bandit()
    assert bandit.open_tickets == tickets[7:]
    bandit.save(path)
    again = Bandit.load(path)
    assert again.outstanding == 13
    assert [(one.arm, one.number) for one in again.open_tickets] == [(one.arm, one.number) for one in tickets[7:]]
    assert again.tell(tickets[0], 1.0) is Told.DUPLICATE
    assert again.tell(tickets[10].id, 1.0) is Told.COUNTED
    assert again.tell(again.open_tickets[0], 1.0) is Told.COUNTED
    assert again.ask().number == 20
    again.save(path)
    third = Bandit.load(path)  # ids of both processes before
    assert third.tell([tickets[11], tickets[12].id], [1.0, 1.0]) == [Told.COUNTED] * 2
    with pytest.raises(TicketError, match="unknown"):
        third.tell(tickets[13]._replace(tag="0" * 16), 1.0)


def test_a_block_that_was_begun_is_finished_after_loading(path):
    bandit = Bandit(discreet.DPSuccessiveElimination(list("ABCDE"), epsilon=1.0, horizon=10**6))
    arms = [ticket.arm for ticket in bandit.ask(13)]
    bandit.save(path)
    arms += [ticket.arm for ticket in Bandit.load(path).ask(12)]
    assert all(sorted(arms[i : i + 5]) == list("ABCDE") for i in range(0, 25, 5))


@pytest.mark.parametrize("waiting", ["refuse", "serve"])
def test_the_whole_run_survives_any_number_of_reloads(path, waiting):
    bandit = Bandit(dp_se(horizon=20_000), SimulatedNoise(1), waiting=waiting, seed=3)
    asked = 0
    while not bandit.finished:
        tickets = bandit.ask(997)
        asked += len(tickets)
        bandit.save(path)
        bandit = Bandit.load(path, SimulatedNoise(asked))
        bandit.tell(tickets, [float(ticket.arm == "A") for ticket in tickets])
    assert bandit.best_arm == "A"
    assert sum(bandit.pulls.values()) == 20_000
    assert asked >= 20_000


@pytest.mark.parametrize("case", CASES)
def test_every_private_algorithm_goes_on_from_its_file(case, path):
    """In the middle of an epoch, after releases, and at the end."""
    driver = CASES[case](SimulatedNoise(1))
    driver.save(path)
    for number in range(12):
        if driver.finished:
            break
        if isinstance(driver, Bandit):
            tickets = driver.ask(10**4)
            driver.tell(tickets[::2], coins(len(tickets[::2])))
        driver.save(path)
        before = seen_of(driver)
        driver = type(driver).load(path, SimulatedNoise(number))
        assert seen_of(driver) == before
        if not driver.finished:
            advance(driver, number)
    assert len(driver.ledger) > 0


def seen_of(driver):
    if isinstance(driver, Bandit):
        tickets = [(ticket.arm, ticket.number) for ticket in driver.open_tickets]
        return driver.policy, driver.ledger, driver.pulls, tickets
    return driver.algorithm, driver.ledger, getattr(driver, "samples", None)


def test_a_finished_file_can_be_loaded_and_has_nothing_secret(tmp_path):
    for number, key in enumerate(["dp-ucb", "dp-se-sharp"]):
        path = tmp_path / f"state {number}"
        bandit = Bandit(algorithm(key))
        bandit.save(path)
        ticket = bandit.ask()
        bandit.tell(ticket, 1.0)
        while not bandit.finished:
            bandit.tell(bandit.ask(), 1.0)
        with pytest.raises(discreet.FinishedError, match="nothing left to ask"):
            bandit.ask()
        assert bandit.tell(ticket, 1.0) is Told.LATE
        ledger, best, served = bandit.ledger, bandit.best_arm, bandit.status().served
        bandit.detach()
        assert json.loads(path.read_text())["secret"] == {}
        again = Bandit.load(path)
        assert again.finished
        assert (again.ledger, again.best_arm, again.open_tickets) == (ledger, best, [])
        assert again.status().served == served > 0
        with pytest.raises(discreet.FinishedError):
            again.ask()
        with pytest.raises(TicketError, match="not issued by this bandit"):  # its key was a secret, and is gone
            again.tell(ticket, 1.0)


@pytest.mark.parametrize("key", ["nas", "ebstop", "ebgstop"])
def test_a_rule_that_is_not_private_goes_on_too(key, path):
    samples = (np.random.default_rng(1).random(20_000) < 0.4).astype(float)
    options = {"alpha": 0.3, "beta": 0.1, "low": 0.0, "high": 1.0}
    rule = discreet.make_rule(key, **options)
    stream = Stream(rule)
    stream.feed(samples[:100])
    stream.save(path)
    stream.feed(samples[100:200])
    again = Stream.load(faults.copy_of(path))
    assert again.algorithm == stream.algorithm
    assert again.samples == stream.samples == 200
    again.feed(samples[200:])
    whole = rule.run(samples)
    assert (again.result.estimate, again.result.samples) == (whole.estimate, whole.samples)
    assert whole.reached


def test_tickets_handed_out_after_the_save_are_unknown_to_the_file(path):
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


def test_a_saved_stream_keeps_its_file_up_to_date(path):
    stream = Stream(algorithm("dp-exp-nas", alpha=0.1))
    stream.save(path)
    stream.feed(np.ones(7))  # tests at 2 and 4
    assert Stream.load(faults.copy_of(path)).ledger == stream.ledger
    result = stream.run(np.ones(10**5))
    assert result.reached
    faults.crash(stream)
    again = Stream.load(path)
    assert again.result == result
    assert again.finished


def test_numpy_arguments_can_be_saved(tmp_path):
    one = np.float32(1)
    Bandit(dp_se(epsilon=one, low=np.int64(0), high=one), default_reward=np.float32(0)).save(tmp_path / "a")
    assert Bandit.load(tmp_path / "a").default_reward == 0.0
    Stream(discreet.NAS(alpha=np.float64(0.1), beta=0.1, radius=np.int64(1))).save(tmp_path / "b")
    Totals(discreet.GuessAndDouble(dp_se(epsilon=one))).save(tmp_path / "c")
    assert Totals.load(tmp_path / "c").privacy.epsilon == 1.0


def test_the_kind_of_noise_is_part_of_a_file(tmp_path):
    some_bandit()[0].save(tmp_path / "private")
    some_bandit(SimulatedNoise(1))[0].save(tmp_path / "simulated")
    with pytest.raises(StateError, match="made with private noise"):
        Bandit.load(tmp_path / "private", SimulatedNoise(1))
    with pytest.raises(StateError, match="made with simulated noise: load it with a simulated source"):
        Bandit.load(tmp_path / "simulated")
    with pytest.raises(ArgumentError, match="noise must be left out"):
        Bandit.load(tmp_path / "private", 42)
    again = Bandit.load(tmp_path / "simulated", SimulatedNoise(2))
    assert again.simulated
    assert again.privacy.simulated


# ---------------------------------------------------------------------- fresh noise for whoever goes on


def test_saved_twice_and_gone_on_with_the_first_file(tmp_path):
    """save("a"), save("b"), work on, load "a": two releases of other rewards, and each has noise of its own."""
    bandit, _ = some_bandit()
    bandit.save(tmp_path / "a")
    bandit.save(tmp_path / "b")
    other = Bandit.load(tmp_path / "a")
    one, two = finish_epoch(bandit, 1.0), finish_epoch(other, 0.0)
    true = {"A": 0, "B": 0}
    for release, steps in zip(bandit.ledger, two, strict=True):
        true[release.arm] = (release.steps - steps) % 2**20
    assert set(true.values()) != {0}  # the difference is not that of exact totals, which are multiples of a reward
    assert one != two


def test_a_loaded_driver_after_a_restart_draws_afresh(path):
    """What used to be `Bandit(Policy.load(path))`: there is no such load, and a policy that has learned is refused."""
    stream = Stream(algorithm("dp-exp-nas", alpha=0.1))
    stream.save(path)
    stream.feed(np.ones(2))
    assert not hasattr(stream.algorithm, "save")
    assert not hasattr(type(stream.algorithm), "load")
    with pytest.raises(ArgumentError, match="has learned before"):
        Stream(stream.algorithm)
    stream.detach()
    results = [Stream.load(faults.copy_of(path)).run(np.ones(10**5)) for _ in range(8)]
    assert len({result.estimate for result in results}) > 1
    assert all(result.reached for result in results)


def test_copies_release_with_noise_of_their_own(path):
    bandit, _ = some_bandit(told=0)
    bandit.save(path)
    copies = [Bandit.load(faults.copy_of(path)) for _ in range(4)]
    assert len({tuple(finish_epoch(one, 0.5)) for one in (bandit, *copies)}) == 5


def test_a_crash_after_a_release_cannot_vary_it(path):
    """Save in mid-epoch, close the epoch, crash, load: the release is there."""
    bandit, _ = some_bandit(told=20)
    bandit.save(path)
    released = finish_epoch(bandit, 0.25)
    faults.crash(bandit)
    again = Bandit.load(path)
    assert [release.steps for release in again.ledger] == released
    assert again.policy.epoch == 1
    assert again.outstanding == 0


def test_a_crash_before_the_head_is_renamed_leaves_the_old_state(path):
    """Lines of the ledger that no head counts were never shown, and are written over."""
    bandit, _ = some_bandit(told=20)
    bandit.save(path)
    before = bandit.policy, bandit.pulls
    with faults.full_disk("rename"), pytest.raises(OSError, match="could not be written"):
        finish_epoch(bandit, 0.25)
    assert os.path.getsize(f"{path}.ledger") > 0
    faults.crash(bandit)
    again = Bandit.load(path)
    assert again.ledger == ()
    assert again.policy == before[0]
    released = finish_epoch(again, 0.5)
    faults.crash(again)
    assert [release.steps for release in Bandit.load(path).ledger] == released


def test_saving_elsewhere_after_a_failed_commit_leaves_no_unseen_release_behind(tmp_path):
    """The folder's sync fails, so the new head may be there: it is put back before the driver goes elsewhere."""
    bandit, _ = some_bandit(told=20)
    bandit.save(tmp_path / "a")
    tickets = bandit.ask(10**6)
    with faults.full_disk("sync the folder"), pytest.raises(OSError, match="could not be written"):
        bandit.tell(tickets, [0.25] * len(tickets))
    assert json.loads((tmp_path / "a").read_text())["ledger"]["bytes"] > 0
    bandit.save(tmp_path / "b")
    assert Bandit.load(tmp_path / "a").ledger == ()
    bandit.tell(tickets, [0.25] * len(tickets))
    assert len(bandit.ledger) == 2


def test_one_is_told_when_a_file_cannot_be_put_back(tmp_path):
    bandit, _ = some_bandit(told=20)
    (tmp_path / "broken").mkdir()
    bandit.save(tmp_path / "broken" / "a")
    with faults.full_disk("sync the folder"), pytest.raises(OSError, match="could not be written"):
        finish_epoch(bandit, 0.25)
    shutil.rmtree(tmp_path / "broken")
    with pytest.warns(UserWarning, match=r"may have releases that were never shown.*pays epsilon again"):
        bandit.save(tmp_path / "b")
    assert bandit.path == (tmp_path / "b").resolve()


# ---------------------------------------------------------------------- writing


def test_saving_over_another_state_is_refused(path):
    some_bandit()[0].save(path)
    before = path.read_bytes()
    Bandit.load(path).detach()
    with pytest.raises(FileExistsError, match=r"exists; give another name, or remove it and state\.ledger"):
        some_bandit()[0].save(path)
    assert path.read_bytes() != before  # by detaching, not by saving
    assert Bandit.load(path).outstanding == 13


def test_saving_again_in_the_same_place_brings_the_file_up_to_date(path):
    bandit, _ = some_bandit()
    bandit.save(path)
    bandit.tell(bandit.open_tickets[:3], [1.0] * 3)
    bandit.save(path)
    assert Bandit.load(faults.copy_of(path)).outstanding == 10


def test_saving_into_a_missing_folder_names_the_path(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/state.*does not exist; create it first"):
        some_bandit()[0].save(tmp_path / "nowhere" / "state")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Bandit.load(tmp_path / "state")


@pytest.mark.parametrize("name", ["ü ñ", "[a-z]*?", "a\nb", "-", "~", "x" * 200, "a.unfinished", ".hidden", "'\"\\"])
def test_odd_names_of_files(name, tmp_path):
    path = tmp_path / name
    bandit, _ = some_bandit()
    bandit.save(path)
    faults.crash(bandit)
    (tmp_path / f".{name}.123.unfinished").write_text("left by a killed write")
    other = tmp_path / ".other.123.unfinished"
    other.write_text("another's")
    again = Bandit.load(path)
    finish_epoch(again, 0.5)
    assert sorted(os.listdir(tmp_path)) == sorted([name, f"{name}.ledger", f"{name}.lock", other.name])


@pytest.mark.parametrize("name", ["state.ledger", "state.lock"])
def test_a_state_is_not_named_as_files_beside_one(name, tmp_path):
    with pytest.raises(ArgumentError, match=r"path must not end in \.ledger or \.lock"):
        some_bandit()[0].save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_the_files_are_private_to_their_owner(path, tmp_path):
    bandit, _ = some_bandit()
    bandit.save(path)
    finish_epoch(bandit, 0.5)
    assert sorted(os.listdir(tmp_path)) == ["state", "state.ledger", "state.lock"]
    for name in os.listdir(tmp_path):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600


def test_a_ledger_that_was_cut_or_removed_stops_the_driver_before_it_draws(path):
    bandit, _ = some_bandit()
    bandit.save(path)
    finish_epoch(bandit, 0.5)
    for harm in (lambda: os.truncate(f"{path}.ledger", 10), lambda: os.unlink(f"{path}.ledger")):
        harm()
        before = bandit.policy
        with pytest.raises(OSError, match=r"state\.ledger was removed or cut short.* save elsewhere"):
            bandit.save(path)
        assert bandit.policy == before
    bandit.save(path.with_name("elsewhere"))
    assert Bandit.load(faults.copy_of(path.with_name("elsewhere"))).ledger == bandit.ledger


def test_where_the_file_system_cannot_reserve_room_it_is_written(path, monkeypatch):
    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported, raising=False)
    bandit, _ = some_bandit()
    bandit.save(path)
    finish_epoch(bandit, 0.5)
    assert Bandit.load(faults.copy_of(path)).ledger == bandit.ledger


def test_a_pull_of_a_tree_adds_little_to_its_files(path):
    bandit = Bandit(algorithm("dp-ucb", horizon=1000))
    bandit.save(path)
    sizes = []
    for _ in range(200):
        bandit.tell(bandit.ask(), 1.0)
        sizes.append((path.stat().st_size, os.path.getsize(f"{path}.ledger")))
    assert sizes[-1][0] < 3000
    assert (sizes[-1][1] - sizes[99][1]) / 100 < 120


# ---------------------------------------------------------------------- files that are not whole


def rewrite(path, change):
    """Edit a head and seal it again, as a newer or careless program would."""
    document = json.loads(path.read_text())
    change(document)
    format_, made_by = document.pop("discreet"), document.pop("made_by")
    del document["sha256"]
    text = sealed(document).decode()
    if (format_, made_by) != (FORMAT, discreet.__version__):
        text = text.replace(f'"discreet":{FORMAT}', f'"discreet":{format_}').replace(discreet.__version__, made_by)
    path.write_text(text)


def test_other_formats_are_named(path):
    bandit, _ = some_bandit()
    bandit.save(path)
    faults.crash(bandit)
    rewrite(path, lambda document: document.update(discreet=FORMAT + 1, made_by="9.9"))
    with pytest.raises(StateError, match=r"written by discreet 9\.9 in a format that .* does not read"):
        Bandit.load(path)
    old = {"discreet": 1, "made_by": "0.1.0", "kind": "bandit", "body": {"policy": {}}, "sha256": "0" * 64}
    path.write_text(json.dumps(old))
    with pytest.raises(StateError, match=r"discreet 0\.1\.0 .* with a ledger beside it\); finish it with the version"):
        Bandit.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("public"),
        lambda document: document.update(secret=[]),
        lambda document: document["ledger"].pop("bytes"),
        lambda document: document["ledger"].update(bytes=-1),
        lambda document: document["ledger"].update(bytes="0"),
        lambda document: document["ledger"].update(bytes=True),
        lambda document: document["ledger"].update(bytes=10**30),
        lambda document: document["public"].pop("options"),
        lambda document: document["public"].update(surprise=1),
        lambda document: document["public"].update(simulated=1),
        lambda document: document["public"].update(snapshot={}),
        lambda document: document["public"].update(algorithm="unheard-of"),
        lambda document: document["public"]["options"].update(epsilon=-1),
        lambda document: document["public"]["options"].update(surprise=1),
        lambda document: document["secret"]["open"].pop("sums"),
        lambda document: document["secret"]["open"].update(sums=[1.5, 0]),
        lambda document: document["secret"]["open"].update(sums=[10**9, 0]),
        lambda document: document["secret"]["open"].update(status="????"),
        lambda document: document["secret"]["open"].update(dealt=[1]),
        lambda document: document["secret"].update(curator={"series": [0], "held": []}),
        lambda document: document["secret"].update(surprise=1),
    ],
)
def test_a_head_that_does_not_describe_a_bandit_is_refused(path, change, tmp_path):
    bandit, _ = some_bandit()
    bandit.save(path)
    faults.crash(bandit)
    rewrite(path, change)
    with pytest.raises(StateError, match=str(path)):
        Bandit.load(path)
    assert sorted(os.listdir(tmp_path)) == ["state", "state.ledger"]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"3", b"\xff\xfe", b'{"discreet": "1"}', b"null"])
def test_other_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(StateError):
        Bandit.load(path)


def test_a_head_needs_its_own_ledger(tmp_path):
    for name in "ab":
        bandit, _ = some_bandit()
        bandit.save(tmp_path / name)
        finish_epoch(bandit, 0.5)
        bandit.detach()
    shutil.copy(tmp_path / "a.ledger", tmp_path / "b.ledger")
    with pytest.raises(StateError, match=r"b\.ledger is not the ledger of .*b: keep and copy both files together"):
        Bandit.load(tmp_path / "b")
    os.unlink(tmp_path / "b.ledger")
    with pytest.raises(StateError, match=r"b\.ledger is missing: keep and copy both files together"):
        Bandit.load(tmp_path / "b")
    assert Bandit.load(tmp_path / "a").policy.epoch == 1


def test_a_copy_made_while_the_ledger_grows_is_whole_if_the_head_came_first(path, tmp_path):
    """More lines than the head counts are no harm."""
    bandit, _ = some_bandit()
    bandit.save(path)
    shutil.copy(path, tmp_path / "copy")
    finish_epoch(bandit, 0.5)
    shutil.copy(f"{path}.ledger", tmp_path / "copy.ledger")
    assert Bandit.load(tmp_path / "copy").ledger == ()


@pytest.mark.parametrize(
    "line",
    ["{}", "[1]", "[[]]", "[[1,2,3]]", '[[1,"gossip",[["A",1,1]],1,1.0,1.0,false,0,false]]',
     '[[1,"total",[],1,1.0,1.0,false,0,false]]', '[[1,"total",[["A",1,1]],1.5,1.0,1.0,false,0,false]]',
     '[[1,"total",[["A",1,1]],null,1.0,1.0,false,0,false]]', '[[1,"total",[["A",1,"1"]],1,1.0,1.0,false,0,false]]',
     '[[1,"total",[["A",1,1]],1,"1",1.0,false,0,false]]', '[[1,"total",[["A",1,1]],1,1.0,1.0,0,0,false]]',
     "[" * 10**5, '[[1,"total",[["C",1,1]],1,1.0,1.0,false,0,false]]', "[]"]
)  # fmt: skip
def test_a_line_that_is_no_release_of_the_plan_is_refused(line, path):
    bandit, _ = some_bandit()
    bandit.save(path)
    bandit.detach()
    file = StateFile(path)
    head, _ = file.read()
    lines = f"{line}\n".encode()
    with open(f"{path}.ledger", "wb") as ledger:
        ledger.write(lines)
    head["ledger"] = {"bytes": len(lines), "sha256": hashlib.sha256(lines).hexdigest()}
    path.write_bytes(sealed({name: head[name] for name in ("public", "secret", "ledger")}))
    with pytest.raises(StateError, match=str(path)):
        Bandit.load(path)


def test_kinds_are_not_confused(tmp_path):
    Stream(algorithm("dp-nas")).save(tmp_path / "stream")
    with pytest.raises(StateError, match="it holds a stream, not a bandit"):
        Bandit.load(tmp_path / "stream")
    Totals(algorithm("dp-nas")).save(tmp_path / "totals")
    with pytest.raises(StateError, match="it holds a totals, not a stream"):
        Stream.load(tmp_path / "totals")


def test_a_failed_save_leaves_the_old_file_and_no_litter(path, tmp_path):
    bandit, _ = some_bandit()
    bandit.save(path)
    before = path.read_bytes()
    bandit.ask()
    with faults.full_disk("rename"), pytest.raises(OSError, match="could not be written"):
        bandit.save(path)
    assert path.read_bytes() == before
    assert unsealed(path, before)["public"]["kind"] == "bandit"
    bandit.detach()
    assert sorted(os.listdir(tmp_path)) == ["state", "state.ledger"]
