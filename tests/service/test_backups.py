"""Backups: consistent beside a running service, without rewards, and always forfeited where they were open."""

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from discreet.core.errors import ArgumentError, DiscreetError
from discreet.service.experiments.upkeep.maintenance import back_up, restore
from discreet.service.http.server import Settings, prepare
from discreet.service.messages import LedgerQuery
from discreet.service.storage import schema
from tests._tools.service_tools import World, is_sqlite, small

LEFT_OUT = {"assignment", "unit_slot", "lease", "counter", "test_mode", "tested_unit"}
KEPT = [table for table in schema.metadata.sorted_tables if table.name not in LEFT_OUT | {"setting"}]


@pytest.fixture
def busy(world):
    """An experiment with a closed epoch, and an open one to which somebody has reported."""
    world.start(**small())
    world.finish_epoch("banners")
    world.fill("banners", lambda arm: 1.0)
    return world


@pytest.fixture(params=["to sqlite", pytest.param("to postgresql", marks=pytest.mark.system)])
def elsewhere(request, tmp_path):
    """The address of a database that is not there, or empty."""
    if request.param == "to sqlite":
        return str(tmp_path / "restored.db")
    server = request.getfixturevalue("server")
    server.query("postgres", "DROP DATABASE IF EXISTS restored")
    return server.fresh("restored")


def test_a_restored_backup_forfeits_what_was_open_and_has_all_else(busy, elsewhere, tmp_path):
    before = {table.name: busy.rows(table) for table in KEPT}
    back_up(busy.url, tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    restore(tmp_path / "backup", elsewhere)
    again = World(elsewhere, busy.clock)
    assert again.key is None
    assert {table.name: again.rows(table) for table in KEPT} == before
    assert again.control.authenticate(busy.key) is not None
    again.database.close()
    prepared = prepare(Settings(database=elsewhere))
    assert [epoch for _, epoch in prepared.forfeited] == [2]
    assert prepare(Settings(database=elsewhere)).forfeited == []
    again = World(elsewhere, busy.clock)
    assert [one.state for one in again.control.epochs("banners")] == ["closed", "forfeited", "open"]
    again.start("more", **small())  # numbers go on
    again.finish_epoch("more")
    again.database.close()


def test_a_backup_has_nothing_that_follows_from_rewards(busy, tmp_path):
    back_up(busy.url, tmp_path / "backup")
    with sqlite3.connect(tmp_path / "backup") as connection:
        for table in LEFT_OUT:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()
    unit = busy.rows(schema.assignment)[0]["unit"]
    assert unit not in (tmp_path / "backup").read_bytes()


def test_a_backup_that_is_copied_by_hand_forfeits_too(busy, tmp_path):
    back_up(busy.url, tmp_path / "backup")
    shutil.copy(tmp_path / "backup", tmp_path / "copied.db")
    settings = Settings(database=str(tmp_path / "copied.db"))
    assert [epoch for _, epoch in prepare(settings).forfeited] == [2]
    assert prepare(settings).forfeited == []


def test_sessions_end_with_a_restore(busy, tmp_path):
    before = busy.control.session_secret
    back_up(busy.url, tmp_path / "backup")
    restore(tmp_path / "backup", str(tmp_path / "restored.db"))
    prepare(Settings(database=str(tmp_path / "restored.db")))
    again = World(str(tmp_path / "restored.db"), busy.clock)
    assert again.control.session_secret != before
    again.database.close()


def test_a_backup_is_of_one_moment_while_others_write(busy, tmp_path):
    """Every ledger in it adds up: a line and the epoch that it is about come together."""
    stopped = threading.Event()

    def write():
        number = 0
        while not stopped.is_set():
            busy.start(f"x{number}", **small(epsilon="1"))
            busy.control.stop(f"x{number}")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            back_up(busy.url, tmp_path / f"backup-{number}")
    finally:
        stopped.set()
        writer.join()
    for number in range(3):
        again = World(str(tmp_path / f"backup-{number}"), busy.clock)
        assert again.control.ledger("crowd", LedgerQuery(verify=True)).intact
        reserved = {row["experiment"] for row in again.rows(schema.ledger) if row["kind"] == "reserve"}
        started = {row["uid"] for row in again.rows(schema.experiment) if row["state"] != "draft"}
        assert reserved == started
        again.database.close()


def test_what_is_there_is_not_overwritten(busy, tmp_path):
    back_up(busy.url, tmp_path / "backup")
    content = (tmp_path / "backup").read_bytes()
    with pytest.raises(ArgumentError, match="is there already"):
        back_up(busy.url, tmp_path / "backup")
    with pytest.raises(DiscreetError, match=r"is there already|not empty"):
        restore(tmp_path / "backup", busy.url)
    (tmp_path / "new.db-wal").write_bytes(b"of an older database")
    with pytest.raises(ArgumentError, match="is there already"):
        restore(tmp_path / "backup", str(tmp_path / "new.db"))
    assert (tmp_path / "backup").read_bytes() == content
    assert not list(tmp_path.glob("*.part"))


def test_what_is_no_backup_is_not_restored(busy, tmp_path):
    (tmp_path / "notes.txt").write_text("milk, bread")
    for wrong in ("notes.txt", "nothing"):
        with pytest.raises(ArgumentError, match=r"is not a backup|there is no backup"):
            restore(tmp_path / wrong, str(tmp_path / "new.db"))
    if is_sqlite(busy):
        busy.database.erase_traces()
        with pytest.raises(ArgumentError, match="is not a backup"):
            restore(Path(busy.url), str(tmp_path / "new.db"))
    assert not (tmp_path / "new.db").exists()


@pytest.mark.system
def test_a_database_of_postgresql_that_is_not_the_services_is_not_backed_up(server, tmp_path):
    server.query("postgres", "DROP DATABASE IF EXISTS strange")
    with pytest.raises(DiscreetError, match="start `discreet serve` first"):
        back_up(server.fresh("strange"), tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
