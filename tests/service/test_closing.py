"""An epoch's end: by who was assigned and when, once, and nothing of its rewards is left but the release."""

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import event

from discreet.bandits import DPSharpPersonElimination
from discreet.core.errors import PrivacyError
from discreet.mechanisms.noisy_totals import NoisyTotals
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import closing, descriptions
from discreet.service.http.background import Closer, Eraser
from discreet.service.http.metrics import Metrics
from discreet.service.storage import schema
from tests._tools.service_tools import FULL, World, crowd, new_file, small

# ---------------------------------------------------------------------- when


def history(world, reward):
    """Whatever anybody can see of times while an epoch fills and ends."""
    world.start(**small())
    seen, given = [], []
    for number in range(8):
        given += world.ask("banners", f"u{number}")
        if number == 5:
            world.tell(*[(one, reward) for one in given if reward is not None])
        world.clock.wait(1)
        seen.append((closing.due(world.database), world.close("banners")))
    for _ in range(80):
        world.clock.wait(1)
        seen.append((closing.due(world.database), world.close("banners")))
    (first, *_) = world.control.epochs("banners")
    return seen, first.full_at, first.due_at, first.closed_at


def test_rewards_do_not_move_the_end_of_an_epoch(world, file, tmp_path):
    """Two runs that differ in every reward, and in whether any came, close at the same instant."""
    alike = history(world, 1.0)
    for reward in (0.0, None):
        other = crowd(World(new_file(file, tmp_path), type(world.clock)()))
        assert history(other, reward) == alike
        other.database.close()
    seen, full_at, due_at, closed_at = alike
    assert due_at == closed_at == full_at + 60
    assert [closed for _, closed in seen if closed] == [1]


def test_all_rewards_are_in_and_yet_it_waits(world):
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    assert world.close("banners") is None
    world.clock.wait(59)
    assert world.close("banners") is None
    assert world.control.releases("banners") == []


def test_an_epoch_that_is_not_full_never_ends(world):
    world.start(**small())
    world.ask_all("banners", [f"u{number}" for number in range(7)])
    world.clock.wait(10**6)
    assert world.close("banners") is None
    assert closing.due(world.database) == []


def test_a_clock_that_jumps_back_closes_nothing_early_and_loses_nothing(world):
    world.start(**small())
    given = world.ask_all("banners", [f"u{number}" for number in range(4)])
    world.clock.wait(-50_000)
    given += world.ask_all("banners", [f"v{number}" for number in range(4)])
    assert world.close("banners") is None
    assert set(world.tell(*[(one, 1.0) for one in given])) == {"accepted"}
    world.clock.wait(-10)
    assert world.close("banners") is None
    world.clock.wait(70)
    assert world.close("banners") is None  # time stands still until the clock has caught up
    world.clock.wait(50_000)
    assert world.close("banners") == 1
    assert [round(one.value) for one in world.control.releases("banners")] == [4, 4]


def test_the_last_batch_of_assignments_sets_the_end(world):
    world.start(**small())
    world.ask_all("banners", [f"u{number}" for number in range(7)])
    world.clock.wait(1000)
    world.ask("banners", "last", "too-late")
    assert world.control.experiment("banners").epoch.due_at == world.clock.now + 60


# ---------------------------------------------------------------------- once


def test_an_epoch_is_closed_once(world):
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.clock.wait(60)
    assert [world.close("banners") for _ in range(3)] == [1, None, None]
    assert len(world.control.releases("banners")) == 2
    assert [one.kind for one in world.control.ledger("crowd").entries] == ["budget", "reserve", "release"]
    assert [one.state for one in world.control.epochs("banners")] == ["closed", "open"]


def test_a_close_that_fails_anywhere_leaves_everything_as_it_was(world):
    """Whatever statement of it fails: no release, no sum lost, and the next attempt succeeds."""
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.clock.wait(60)
    tables = [one for one in schema.metadata.sorted_tables if one.name != "api_key"]
    before = {one.name: world.rows(one) for one in tables}
    statements = []

    def fail_at(number):
        def fail(*arguments):
            statements.append(arguments[2])
            if len(statements) == number:
                raise RuntimeError("a fault")

        return fail

    for number in range(1, 100):
        statements.clear()
        fail = fail_at(number)
        event.listen(world.database.engine, "before_cursor_execute", fail)
        try:
            closed = world.close("banners")
        except RuntimeError:
            assert {one.name: world.rows(one) for one in tables} == before
        else:
            assert closed == 1
            break
        finally:
            event.remove(world.database.engine, "before_cursor_execute", fail)
    assert number > 12
    assert [round(one.value) for one in world.control.releases("banners")] == [4, 4]


def test_a_commit_that_fails_shows_nothing(world):
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.clock.wait(60)

    def fail(_):
        raise RuntimeError("a fault")

    event.listen(world.database.engine, "commit", fail)
    with pytest.raises(RuntimeError):
        world.close("banners")
    event.remove(world.database.engine, "commit", fail)
    assert world.control.releases("banners") == []
    assert sum(total for _, total in world.sums("banners").values()) == 8 * FULL
    assert world.close("banners") == 1


def test_a_commit_whose_answer_is_lost_is_not_repeated(world):
    """The release is there; whoever closes again reads that first, and draws nothing."""
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.clock.wait(60)
    writing = world.database.writing

    class Lost:
        def __enter__(self):
            self.within = writing()
            return self.within.__enter__()

        def __exit__(self, *error):
            self.within.__exit__(*error)
            raise ConnectionError("the answer to COMMIT never came")

    world.database.writing = Lost
    with pytest.raises(ConnectionError):
        world.close("banners")
    world.database.writing = writing
    seen = world.control.releases("banners")
    assert len(seen) == 2
    assert world.close("banners") is None
    assert world.control.releases("banners") == seen


def test_a_database_that_was_changed_by_hand_releases_nothing(world):
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.clock.wait(60)
    world.run("UPDATE epoch SET plan = :plan", plan=json.dumps({"0": 1, "1": 7}))
    with pytest.raises(PrivacyError, match="not what its releases plan"):
        world.close("banners")
    assert world.control.releases("banners") == []


# ---------------------------------------------------------------------- what is left


def test_sums_and_told_marks_are_gone(world):
    world.start(**small())
    given = world.fill("banners", lambda arm: 1.0)
    world.tell((given[0], 1.0), shard="another")
    assert world.count(schema.counter) > 0
    world.clock.wait(60)
    world.close("banners")
    assert world.count(schema.counter) == 0
    world.erase()
    assert world.count(schema.assignment) == 0
    assert [row["erased"] for row in world.rows(schema.epoch)] == [True, False]


def test_stopping_throws_sums_away(world):
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.control.stop("banners")
    world.erase()
    assert world.count(schema.counter) == world.count(schema.assignment) == 0


def test_erasing_spares_open_epochs(world):
    world.start("one", **small())
    world.start("two", **small())
    kept = world.ask("two", "ann")
    world.finish_epoch("one", lambda arm: 1.0)
    world.erase()
    assert world.count(schema.assignment) == 1
    assert world.tell((kept[0], 1.0)) == ["accepted"]
    assert world.ask("two", "ann") == kept


MARK = 0x5EC12E7  # a sum that nothing else looks like, as SQLite writes it: four bytes


def marked(world):
    """An experiment with a recognisable sum in its counter."""
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.run("UPDATE counter SET total = :mark", mark=MARK)
    world.clock.wait(60)


def traces(path):
    """How often the recognisable sum is in the file and its log."""
    there = [Path(f"{path}{end}") for end in ("", "-wal", "-journal")]
    return sum(one.read_bytes().count(MARK.to_bytes(4, "big")) for one in there if one.exists())


@pytest.fixture
def lite(file, tmp_path, clock):
    opened = crowd(World(new_file(file, tmp_path), clock))
    yield opened
    opened.database.close()


class Background:
    """What both threads of a server do in turn."""

    def __init__(self, world):
        self.closer, self.eraser = Closer(world.database, Metrics(), None), Eraser(world.database)

    def look(self):
        closed = self.closer.look()
        self.eraser.look()
        return closed


def cheap_close(monkeypatch):
    """The marked sums are more than so few rewards could give; this test is about files, not about totals."""
    monkeypatch.setattr(closing, "_totals", lambda *given: dict.fromkeys(given[-1].plan, 0))


def test_no_byte_of_a_sum_is_left_in_the_file(lite, monkeypatch):
    cheap_close(monkeypatch)
    marked(lite)
    assert traces(lite.url) > 0
    assert Background(lite).look() == 1
    assert traces(lite.url) == 0


def test_a_reader_in_the_way_only_delays_that(lite, monkeypatch):
    cheap_close(monkeypatch)
    marked(lite)
    watching = Background(lite)
    with lite.database.reading() as transaction:
        transaction.execute(schema.epoch.select()).all()
        watching.look()
        assert traces(lite.url) > 0
    assert watching.look() == 0
    assert traces(lite.url) == 0


def test_a_crash_right_after_a_close_only_delays_that(lite, monkeypatch):
    cheap_close(monkeypatch)
    marked(lite)
    lite.close("banners")
    lite.erase()
    assert traces(lite.url) > 0
    assert Background(lite).look() == 0
    assert traces(lite.url) == 0


# ---------------------------------------------------------------------- the algorithm's state


RUNNABLE = {one.name: one for one in descriptions.algorithms()}


NEEDED = {"horizon": 1000, "base_rate": 0.5, "effect": 0.05, "null": 0.0, "alternative": 0.3}


def runnable(key):
    """A description with small epochs of an algorithm."""
    about = RUNNABLE[key]
    options = {name: NEEDED[name] for name in about.required}
    options |= {"beta": 0.9} if "beta" in about.options and not options else {}
    unit = "person" if key.endswith("person") else "event"
    return small(privacy_unit=unit, **{about.kind: key}, options=options, low=-2.0, high=3.0)


@pytest.mark.parametrize("key", RUNNABLE)
def test_an_algorithm_is_rebuilt_from_its_releases(lite, key):
    """What is stored of it are options and releases; the snapshot is a cache that says the same."""
    world = lite
    world.start(**runnable(key))
    for closed in range(2):
        algorithm = world.replayed("banners")
        assert algorithm.epoch == closed or algorithm.finished
        assert algorithm.snapshot() == world.learned("banners")
        assert algorithm.copy().resume(world.learned("banners")) == algorithm
        view = world.control.experiment("banners")
        world.run("UPDATE experiment SET snapshot = NULL")
        assert world.control.experiment("banners") == view
        if view.epoch is not None:  # a test may end at its first look
            world.finish_epoch("banners", lambda arm: 0.5)


@pytest.mark.parametrize("source", ["assignments", "totals"])
def test_epochs_whose_rewards_decide_nothing(lite, source):
    """This policy pulls its leader for a while before it compares again; nobody's reward is needed then."""
    lite.start(source=source, **small(policy="dp-paired-imed", options={"first_batch": 2}))

    def close():
        if source == "totals":
            plan = lite.control.open_plan("banners")
            totals = {"a": 0, "b": plan.pulls.get("b", 0) * plan.width}
            lite.control.close_with("banners", plan.epoch, {arm: totals[arm] for arm in plan.pulls})
        else:
            lite.finish_epoch("banners", {"a": 0.0, "b": 1.0}.get)

    while all(epoch.learns for epoch in lite.control.epochs("banners")):
        close()
    quiet = next(epoch for epoch in lite.control.epochs("banners") if not epoch.learns)
    assert list(quiet.planned) == ["b"]
    assert (quiet.epsilon, quiet.threshold) == ("0", None)
    if source == "assignments":
        given = lite.ask_all("banners", [f"quiet-{number}" for number in range(quiet.quota)])
        assert {(one.arm, one.learn, one.assignment) for one in given} == {("b", False, None)}
        assert lite.ask("banners", "quiet-0") == given[:1]
        assert lite.close("banners") == quiet.number
        while not lite.control.experiment("banners").epoch.learns:
            lite.finish_epoch("banners", lambda arm: None)
    assert lite.control.epochs("banners")[quiet.number - 1].releases == []
    assert lite.replayed("banners").snapshot() == lite.learned("banners")
    kinds = [one.kind for one in lite.control.ledger("crowd").entries]
    close()
    assert [one.kind for one in lite.control.ledger("crowd").entries] == [*kinds, "release"]


def test_a_snapshot_of_another_version_is_not_used(world):
    world.start(**small())
    world.finish_epoch("banners", lambda arm: 0.5)
    view = world.control.experiment("banners")
    world.run("UPDATE experiment SET snapshot = :other", other=json.dumps({"future": 1}))
    assert world.control.experiment("banners") == view
    world.finish_epoch("banners", lambda arm: 0.5)
    assert world.learned("banners")["epoch"] == 2


def test_a_column_with_a_snapshot_holds_no_exact_sum(world):
    """Sums of halves are odd multiples of 2^19; with noise almost none is, and nothing else is stored."""
    world.start(**small(policy="dp-imed"))
    world.finish_epoch("banners", lambda arm: 0.5)
    released = [int(row["steps"]) for row in world.rows(schema.release)]
    numbers = [int(one) for one in re.findall(r"\d{4,}", json.dumps(world.learned("banners")))]
    assert set(numbers) <= set(map(abs, released))


def force_releases(monkeypatch, world, name, wanted):
    """Noise that makes the same releases of whatever the totals are."""
    sums = {arm: total for arm, (_, total) in world.sums(name).items()}
    noises = [steps - sums.get(arm, 0) for arm, steps in sorted(wanted.items())]
    monkeypatch.setattr(NoisyTotals, "_draw", lambda self, width, epsilon, count: (noises, width / epsilon))


def test_what_is_stored_follows_from_the_releases_alone(world, monkeypatch):
    """Other totals, with noise that makes the same releases of them, lead to the same state and the same next plan."""
    wanted, found = {0: 3 * FULL + 17, 1: 2 * FULL - 5}, []
    for name, reward in (("low", 0.0), ("high", 1.0), ("silent", None)):
        world.start(name, **small())
        world.fill(name, lambda arm, reward=reward: reward)
        world.clock.wait(60)
        force_releases(monkeypatch, world, name, wanted)
        world.close(name)
        released = world.rows(schema.release, experiment=world.control.started(name).id)
        assert [int(row["steps"]) for row in released] == [wanted[0], wanted[1]]
        open_epoch = world.control.experiment(name).epoch
        found.append((world.learned(name), open_epoch.planned, open_epoch.threshold, open_epoch.epsilon))
    assert found[0] == found[1] == found[2]


def test_a_person_never_pays_more_than_is_promised(world, monkeypatch):
    """Whatever an algorithm asks for, the curator refuses what exceeds the promise, and nothing is released."""
    world.start(**small(privacy_unit="person"))
    world.finish_epoch("banners", lambda arm: 0.5)
    honest = DPSharpPersonElimination.epoch_epsilon
    world.fill("banners", lambda arm: 0.5)
    world.clock.wait(60)
    monkeypatch.setattr(DPSharpPersonElimination, "epoch_epsilon", lambda self, epoch: 90.0 if epoch > 1 else 1 / 3)
    with pytest.raises(PrivacyError):
        world.close("banners")
    monkeypatch.setattr(DPSharpPersonElimination, "epoch_epsilon", honest)
    assert len({one.epoch for one in world.control.releases("banners")}) == 1
    assert world.close("banners") == 2


@pytest.mark.parametrize("edit", ["scale = scale / 2", "steps = '7'", "last = last + 1"])
def test_a_release_that_was_changed_is_not_shown(world, edit):
    world.start(**small())
    world.finish_epoch("banners")
    assert world.control.releases("banners")
    world.run(f"UPDATE release SET {edit} WHERE arm = 1")
    for look in (world.control.releases, world.control.experiment):
        with pytest.raises(ServiceProblem, match="was changed in the database"):
            look("banners")


@pytest.mark.parametrize(
    "edit", ["UPDATE release SET steps = '7'", "DELETE FROM release", "DELETE FROM release WHERE part = 1"]
)
def test_releases_that_were_changed_are_not_learned_from(world, edit):
    world.start(**small())
    world.finish_epoch("banners", lambda arm: 0.5)
    world.fill("banners", lambda arm: 0.5)
    world.clock.wait(60)
    world.run(edit)
    with pytest.raises(PrivacyError, match=r"changed in the database|were deleted"):
        world.close("banners")
    assert [row["epoch"] for row in world.rows(schema.release)] in ([1, 1], [1], [])
