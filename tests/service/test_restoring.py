"""A database from a backup: it is found out, nothing in it is released twice, and what was lost is charged."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import IntegrityError

from discreet.core.errors import ArgumentError
from discreet.service.experiments import budget, closing
from discreet.service.experiments.control import Control
from discreet.service.experiments.upkeep import journal as journal_module
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.experiments.upkeep.readiness import Readiness
from discreet.service.experiments.upkeep.restoring import recover
from discreet.service.http.background import Closer, Eraser
from discreet.service.http.metrics import Metrics
from discreet.service.http.server import Settings, prepare
from discreet.service.messages import NewPopulation
from discreet.service.storage import open_database, queries, schema
from tests._tools.postgres import tool
from tests._tools.service_tools import BASE, World, draft, is_sqlite, small


def is_ahead(journal, database):
    """True if something was released that is not in the database."""
    with database.reading() as transaction:
        return bool(journal.missing(transaction))


class Site:
    """A service with a journal, of which backups are made and put back."""

    def __init__(self, world, server, folder):
        self.world, self.folder = world, folder
        self.server = None if is_sqlite(world) else server
        self.journal = folder / "releases.journal"
        self.settings = Settings(database=world.url, journal=str(self.journal))

    def look(self):
        """What a server's closer does, with its journal."""
        return Closer(self.world.database, Metrics(), Journal(self.journal)).look()

    def back_up(self, name="backup"):
        if self.server is None:
            self.world.database.erase_traces()
            shutil.copy(self.world.url, self.folder / name)
        else:
            self._copy(BASE, name)
        return name

    def put_back(self, name="backup"):
        self.world.database.close()
        if self.server is None:
            for end in ("", "-wal", "-shm"):
                Path(f"{self.world.url}{end}").unlink(missing_ok=True)
            shutil.copy(self.folder / name, self.world.url)
        else:
            self._copy(name, BASE)

    def start_server(self, *, journal=True, **more):
        """What `discreet serve` does before it serves."""
        self.world.database.close()
        given = self.settings if journal else Settings(database=self.world.url)
        prepared = prepare(given, **more)
        key, clock = self.world.key, self.world.clock
        self.world = World(self.world.url, clock)
        self.world.key = key
        return prepared.forfeited

    def _copy(self, source, target):
        """PostgreSQL's own copy of a whole database, while nobody is connected."""
        self.world.database.close()
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN ('{}', '{}')"
        self.server.query("postgres", others.format(source, target))
        self.server.query("postgres", f'DROP DATABASE IF EXISTS "{target}"')
        self.server.query("postgres", f'CREATE DATABASE "{target}" TEMPLATE "{source}"')


@pytest.fixture
def site(world, request, tmp_path):
    server = None if is_sqlite(world) else request.getfixturevalue("server")
    made = Site(world, server, tmp_path)
    yield made
    made.world.database.close()


def end_epoch(site, name, reward=0.5):
    site.world.fill(name, lambda arm: reward)
    site.world.clock.wait(60)
    assert site.look() >= 1


def spent(site):
    return Fraction(site.world.rows(schema.experiment)[0]["spent"])


def reserved(site, population="crowd"):
    with site.world.database.reading() as transaction:
        return budget.state(transaction, population).reserved


def hand_in_after_a_backup(site):
    """An epoch that is closed by totals from a log, which the backup does not know."""
    site.world.start(source="totals", **small())
    site.back_up()
    pulls = site.world.control.open_plan("banners").pulls
    site.world.control.close_with("banners", 1, dict.fromkeys(pulls, 0))
    site.look()


PERSON = {"privacy_unit": "person"}
ONCE = {"privacy_unit": "person", "contribution": "once"}


def test_nothing_is_forfeited_where_nothing_was_restored(site):
    site.world.start(**small())
    end_epoch(site, "banners")
    assert site.start_server() == []
    assert site.start_server() == []


@pytest.mark.parametrize("kind", [{}, PERSON, ONCE], ids=["event", "each epoch", "once"])
def test_a_backup_is_found_out_and_its_open_epoch_is_never_released(site, kind):
    begun = site.world.start(**small(**kind))
    asked = site.world.fill("banners", lambda arm: 0.5)
    site.back_up()
    site.world.clock.wait(60)
    assert site.look() == 1
    seen = site.world.control.releases("banners")
    site.put_back()
    assert site.start_server() == [(begun.id, 1)]
    world = site.world
    assert [one.state for one in world.control.epochs("banners")] == ["forfeited", "open"]
    assert world.control.releases("banners") == []
    assert world.count(schema.counter) == 0
    assert set(world.tell(*[(one, 1.0) for one in asked])) == {"late"}
    world.clock.wait(10**6)
    assert site.look() == 0
    assert site.start_server() == []  # it is found out once, and not at every start from now on
    end_epoch(site, "banners")
    assert seen
    assert site.start_server() == []


def test_two_lost_epochs_do_not_forfeit_every_epoch_after(site):
    """Epoch numbers come again after a restore; the journal's lines of the lost ones must not be held against them."""
    site.world.start(**small())
    site.back_up()
    for _ in range(3):
        end_epoch(site, "banners")
    site.put_back()
    assert len(site.start_server()) == 1
    for _ in range(2):
        end_epoch(site, "banners")
        assert site.start_server() == []
    assert [one.state for one in site.world.control.epochs("banners")] == ["forfeited", "closed", "closed", "open"]


def test_the_same_backup_is_found_out_again(site):
    site.world.start(**small())
    site.back_up()
    end_epoch(site, "banners")
    for _ in range(2):
        site.put_back()
        assert len(site.start_server()) == 1
    site.put_back("backup")
    assert len(site.start_server()) == 1


def test_a_token_of_a_lost_epoch_does_not_count_in_a_new_one_of_the_same_number(site):
    """Its reward may be in a release already."""
    site.world.start(**small())
    site.back_up()
    end_epoch(site, "banners")
    lost = site.world.fill("banners", lambda arm: None)
    assert lost[0].epoch == 2
    site.put_back()
    site.start_server()
    again = site.world.fill("banners", lambda arm: None)
    assert again[0].epoch == 2
    assert set(site.world.tell(*[(one, 1.0) for one in lost])) == {"late"}
    assert site.world.sums("banners") == {}
    assert set(site.world.tell(*[(one, 1.0) for one in again])) == {"accepted"}


def test_people_who_may_be_in_every_epoch_are_charged_all_that_may_be_lost(site):
    """The lost part can have cost them what the backup had not spent; the rest of the schedule will cost that again."""
    site.world.start(**small(**PERSON))
    end_epoch(site, "banners")
    site.back_up()
    before = spent(site)
    assert 0 < before < 100
    end_epoch(site, "banners")
    end_epoch(site, "banners")
    lost = spent(site) - before
    site.put_back()
    site.start_server()
    assert spent(site) == 100
    assert spent(site) - before >= lost
    assert reserved(site) == 100 + (100 - before)
    site.world.control.stop("banners")
    assert reserved(site) == spent(site) == 100


def test_people_who_count_once_may_count_twice_after_a_restore_and_are_charged_twice(site):
    site.world.start(**small(**ONCE))
    site.back_up()
    end_epoch(site, "banners")
    site.put_back()
    site.start_server()
    assert site.world.ask("banners", "unit-1-0")[0].learn  # the backup does not know that she was there
    assert reserved(site) == 200
    assert spent(site) == 200
    end_epoch(site, "banners")
    assert spent(site) == 200
    site.world.control.stop("banners")
    assert reserved(site) == 200


def test_single_rewards_are_charged_once(site):
    site.world.start(**small())
    site.back_up()
    end_epoch(site, "banners")
    site.put_back()
    site.start_server()
    assert (reserved(site), spent(site)) == (100, 100)
    site.world.control.stop("banners")
    assert reserved(site) == 100


def test_each_restore_of_the_same_backup_is_charged_for_people_in_every_epoch(site):
    """Each of the three lives of the database after the backup may cost them all that the backup had not spent."""
    site.world.start(**small(**PERSON))
    end_epoch(site, "banners")
    site.back_up()
    before = spent(site)
    for restored in (1, 2, 3):
        end_epoch(site, "banners")
        site.put_back()
        assert len(site.start_server()) == 1
        assert reserved(site) == before + (restored + 1) * (100 - before)
        assert spent(site) == before + restored * (100 - before)


def test_each_restore_of_the_same_backup_is_charged_for_people_who_count_once(site):
    site.world.start(**small(**ONCE))
    site.back_up()
    for restored in (1, 2, 3):
        end_epoch(site, "banners")
        site.put_back()
        assert len(site.start_server()) == 1
        assert reserved(site) == 100 * (restored + 1)
    end_epoch(site, "banners")
    site.back_up()  # one that knows of all this
    end_epoch(site, "banners")
    site.put_back()
    assert len(site.start_server()) == 1
    assert reserved(site) == 500


def test_totals_have_no_tokens_so_that_their_rewards_may_be_handed_in_again(site):
    hand_in_after_a_backup(site)
    site.put_back()
    assert len(site.start_server()) == 1
    assert reserved(site) == 200


def test_an_experiment_at_its_end_is_charged_for_what_an_older_backup_has_cost(site):
    site.world.start(**small(**ONCE))
    site.back_up("old")
    end_epoch(site, "banners")
    site.world.control.stop("banners")
    site.back_up("new")
    site.put_back("old")
    site.start_server()
    end_epoch(site, "banners")  # by the promise of 200
    site.put_back("new")
    assert reserved(site) == 100
    assert site.start_server() == []
    assert reserved(site) == 200
    assert site.start_server() == []
    assert reserved(site) == 200


def test_a_server_that_is_only_behind_for_a_moment_forfeits_nothing(site):
    """Between a look at the journal and the recovery, another server may have shown that nothing is missing."""
    site.world.start(**small())
    site.world.ask("banners", "ann")
    assert recover(site.world.database, Journal(site.journal), asked=False) == []
    assert recover(site.world.database, None, asked=False) == []
    assert [one.state for one in site.world.control.epochs("banners")] == ["open"]


def test_what_is_read_first_is_the_journal(site, monkeypatch):
    """An epoch that another server closes while we look is in both, and not in the journal alone."""
    site.world.start(**small())
    journal, honest = Journal(site.journal), journal_module.closed_epochs

    def meanwhile(transaction):
        monkeypatch.undo()
        found = honest(transaction)
        end_epoch(site, "banners")
        return found

    monkeypatch.setattr(journal_module, "closed_epochs", meanwhile)
    assert not is_ahead(journal, site.world.database)
    assert len(journal.lines()) == 1
    assert not is_ahead(journal, site.world.database)


def test_who_cannot_pay_for_the_loss_is_stopped(site):
    site.world.control.set_budget("crowd", "150")
    site.world.start(**small(**PERSON))
    site.back_up()
    end_epoch(site, "banners")
    site.put_back()
    assert len(site.start_server()) == 1
    stopped = site.world.control.experiment("banners")
    assert (stopped.state, stopped.epoch) == ("stopped", None)
    assert reserved(site) == spent(site) == 100


@pytest.mark.parametrize("was_draft", [False, True])
def test_an_experiment_that_started_after_the_backup_is_charged(site, was_draft):
    """Nobody would know that its people have lost anything."""
    if was_draft:
        site.world.control.create(draft(**small()))
    site.back_up()
    if was_draft:
        site.world.control.start("banners")
    else:
        site.world.start(**small())
    end_epoch(site, "banners")
    site.put_back()
    assert site.start_server() == []
    assert reserved(site) == 100
    ledger = site.world.control.ledger("crowd")
    assert [one.kind for one in ledger.entries] == ["budget", "forfeit"]
    assert ledger.intact
    assert site.start_server() == []
    assert reserved(site) == 100
    if was_draft:
        site.world.control.start("banners")
        assert reserved(site) == 200


def test_a_population_that_was_made_after_the_backup_has_nothing_left(site):
    site.back_up()
    site.world.control.create_population(NewPopulation("friends", "300"))
    site.world.start(**small(population="friends"))
    end_epoch(site, "banners")
    site.put_back()
    site.start_server()
    assert site.world.control.ledger("friends").population.left == "0"


def test_without_a_journal_postgresql_knows_a_copy_and_for_a_file_somebody_must_say_so(site):
    begun = site.world.start(**small())
    site.back_up()
    site.put_back()
    asked = {} if site.server is not None else {"restored": True}
    assert site.start_server(journal=False, **asked) == [(begun.id, 1)]
    assert site.start_server(journal=False) == []


def test_a_server_that_runs_on_a_copy_releases_nothing(site):
    if site.server is None:
        pytest.skip("a file that is served is not replaced")
    site.world.start(**small())
    site.world.fill("banners")
    site.back_up()
    site.put_back()
    site.world = World(site.world.url, site.world.clock)  # as a server whose connections were lost
    site.world.clock.wait(60)
    assert site.look() == 0
    assert site.world.count(schema.release) == 0
    assert any("is a copy" in reason for reason in Readiness(site.world.database).reasons())
    site.start_server(journal=False)
    assert Readiness(site.world.database).reasons() == []


def test_totals_that_are_handed_in_are_in_the_journal(site):
    hand_in_after_a_backup(site)
    assert len(Journal(site.journal).lines()) == 1
    site.put_back()
    assert len(site.start_server()) == 1


def test_an_epoch_that_another_process_has_closed_is_in_the_journal(site):
    site.world.start(**small())
    site.world.fill("banners")
    site.world.clock.wait(60)
    site.world.close("banners")  # by a process that was killed right after
    site.look()
    assert [line.epoch for line in Journal(site.journal).lines()] == [1]


def test_a_line_that_a_crash_cut_short_is_written_again(site):
    site.world.start(**small())
    end_epoch(site, "banners")
    whole = site.journal.read_text()
    site.journal.write_text(whole[: len(whole) // 2])
    assert site.start_server() == []
    assert len(Journal(site.journal).lines()) == 1


def test_a_journal_has_no_reward_and_is_private(site):
    site.world.start(**small())
    end_epoch(site, "banners", reward=0.7310585)
    assert site.journal.stat().st_mode & 0o777 == 0o600
    (line,) = Journal(site.journal).lines()
    assert line.population == "crowd"
    assert "731" not in str([line.promised, line.epoch])


def test_the_database_refuses_a_second_open_epoch(site):
    site.world.start(**small())
    with pytest.raises(IntegrityError):
        site.world.run(
            "INSERT INTO epoch SELECT experiment, 2, state, generation, plan, learns, quota, leased, dealt, threshold,"
            " epsilon, opened_at, full_at, due_at, closed_at, dropped, erased_parts, erased FROM epoch"
        )
    assert closing.due(site.world.database) == []


# ---------------------------------------------------------------------- the journal itself


def test_two_workers_write_each_line_once(site):
    one, other = Journal(site.journal), Journal(site.journal)
    for name in ("first", "second"):
        site.world.start(name, **small())
    database = site.world.database
    for _ in range(3):
        for name in ("first", "second"):
            site.world.finish_epoch(name)
            number = site.world.control.started(name).id
            assert one.catch_up(database, number)
            assert other.catch_up(database)
            assert other.catch_up(database, number)
            assert one.catch_up(database)
        one, other = other, one
    late = Journal(site.journal)  # a third worker, which starts now
    assert late.catch_up(database)
    written = [line.release for line in late.lines()]
    assert len(written) == len(set(written)) == 6


def test_many_processes_that_race_write_each_line_once(site):
    site.world.start(**small())
    for _ in range(4):
        site.world.finish_epoch("banners")
    journals = [Journal(site.journal) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda journal: journal.catch_up(site.world.database), journals))
    assert sorted(line.epoch for line in Journal(site.journal).lines()) == [1, 2, 3, 4]


def test_only_new_epochs_are_read(site, monkeypatch):
    read, honest = [], queries.digests
    monkeypatch.setattr(queries, "digests", lambda *given: read.append(honest(*given)) or read[-1])
    journal = Journal(site.journal)
    for name in ("first", "second"):
        site.world.start(name, **small())
        site.world.finish_epoch(name)
    journal.catch_up(site.world.database)
    read.clear()
    for _ in range(5):
        site.world.finish_epoch("first")
        journal.catch_up(site.world.database, site.world.control.started("first").id)
    assert [len(rows) for rows in read] == [2] * 5  # the arms of one epoch, however many there were before
    journal.catch_up(site.world.database)
    journal.catch_up(site.world.database)
    assert sum(len(rows) for rows in read) == 10
    assert len(journal.lines()) == 7


def test_a_journal_that_was_moved_away_is_written_anew(site):
    site.world.start(**small())
    end_epoch(site, "banners")
    journal = Journal(site.journal)
    journal.catch_up(site.world.database)
    site.journal.rename(site.folder / "elsewhere")
    site.world.finish_epoch("banners")
    assert journal.catch_up(site.world.database)
    assert [line.epoch for line in journal.lines()] == [1, 2]


def test_a_journal_that_cannot_be_written_is_counted_and_said_once_a_minute(site, caplog, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(journal_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    site.world.start(**small())
    site.world.finish_epoch("banners")
    folder = site.folder / "later"
    journal = Journal(folder / "journal")
    for later in (0.0, 30.0, 59.0, 60.0):
        now[0] = 100.0 + later
        assert not journal.catch_up(site.world.database)
    said = [record.getMessage() for record in caplog.records if "journal" in record.getMessage()]
    assert said == [f"the journal {journal.path} cannot be written: No such file or directory"] * 2
    assert (journal.failures, journal.trouble) == (4, "No such file or directory")
    folder.mkdir()
    assert journal.catch_up(site.world.database)
    assert journal.trouble is None
    assert len(journal.lines()) == 1


def test_a_closer_goes_on_without_its_journal(site):
    """What was reported is deleted all the same, and the lines are written once the journal is back."""
    site.world.start(**small())
    site.world.fill("banners")
    site.world.clock.wait(60)
    journal = Journal(site.folder / "later" / "journal")
    closer = Closer(site.world.database, Metrics(), journal)
    assert closer.look() == 1
    Eraser(site.world.database).look()
    assert site.world.count(schema.assignment) == 0
    journal.path.parent.mkdir()
    closer.look()
    assert len(journal.lines()) == 1


def test_a_server_without_a_journal_that_can_be_written_does_not_start(site):
    site.world.start(**small())
    site.world.finish_epoch("banners")
    site.settings = Settings(database=site.world.url, journal=str(site.folder / "nowhere" / "journal"))
    with pytest.raises(ArgumentError, match="cannot be written"):
        site.start_server()


@pytest.mark.system
def test_a_dump_that_is_restored_into_the_same_database_is_found_out(server):
    """Whoever cleans up in it is not taken for that, and an ordinary role can look."""
    server.query("postgres", "DROP DATABASE IF EXISTS team")
    server.query("postgres", "DROP ROLE IF EXISTS ann")
    server.query("postgres", "CREATE ROLE ann LOGIN")
    server.query("postgres", "CREATE DATABASE team OWNER ann")
    database = open_database(server.url("team").replace("discreet@", "ann@"))
    Control(database).set_up()
    server.query("team", "VACUUM FULL setting")
    server.query("team", "VACUUM FREEZE setting")
    assert not database.read(database.is_copy)
    database.close()
    where = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "ann"]
    dump = subprocess.run([tool("pg_dump"), *where, "--clean", "team"], capture_output=True, check=True).stdout
    subprocess.run([tool("psql"), "-q", *where, "team"], input=dump, check=True, capture_output=True)
    assert database.read(database.is_copy)
    database.close()
