"""The database's form: what migrations make is what the tables are declared as, on both databases, up and down."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from discreet.core.errors import StateError
from discreet.service.storage.database import open_store
from discreet.service.storage.migrations import migrate, revision
from discreet.service.storage.schema import metadata
from tests._tools.service_tools import small


@pytest.fixture
def empty(request, url, tmp_path):
    """A database without any table."""
    if url.startswith("postgresql"):
        url = request.getfixturevalue("server").fresh(tmp_path.name)
    else:
        url = str(tmp_path / "empty.db")
    opened = open_store(url)
    yield opened
    opened.close()


def tables(store):
    with store.reading() as connection:
        return {name for name in inspect(connection).get_table_names() if name != "alembic_version"}


def test_migrations_make_the_declared_tables(empty):
    migrate(empty)
    with empty.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        found = inspect(connection)
        for name, table in metadata.tables.items():
            there = {column["name"]: column["nullable"] for column in found.get_columns(name)}
            assert there == {column.name: column.nullable for column in table.columns}, name
            assert found.get_pk_constraint(name)["constrained_columns"] == [one.name for one in table.primary_key]


def test_migrations_go_up_and_down_and_up(empty):
    migrate(empty)
    assert tables(empty) == set(metadata.tables)
    migrate(empty, "base")
    assert tables(empty) == set()
    assert revision(empty) is None
    migrate(empty)
    migrate(empty)
    assert tables(empty) == set(metadata.tables)
    assert revision(empty) == "0002"


def test_a_database_of_an_older_version_is_brought_up_to_date(empty):
    migrate(empty, "0001")
    assert room(empty) is None
    migrate(empty)
    assert room(empty) == (None if empty.sqlite else ["fillfactor=50"])
    migrate(empty, "0001")
    assert room(empty) is None


def room(store):
    """What PostgreSQL was told about the pages of assignments."""
    if store.sqlite:
        return None
    with store.reading() as connection:
        return connection.execute(text("SELECT reloptions FROM pg_class WHERE relname = 'assignment'")).scalar_one()


def test_the_one_open_epoch_index_is_partial(world):
    with world.store.reading() as connection:
        (index,) = [one for one in inspect(connection).get_indexes("epoch") if one["name"] == "one_open_epoch"]
    assert index["unique"]
    world.start("one", **small())
    world.finish_epoch("one", lambda arm: 0.5)
    world.finish_epoch("one", lambda arm: 0.5)
    assert [one.state for one in world.control.epochs("one")] == ["closed", "closed", "open"]


def test_a_database_of_a_newer_version_is_refused(empty):
    migrate(empty)
    with empty.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StateError, match="newer version"):
        migrate(empty)


def test_a_failed_migration_leaves_nothing(empty, monkeypatch):
    """Both databases take tables back with the transaction that made them."""
    from alembic import op

    honest, made = op.create_table, []

    def fails(name, *columns, **more):
        made.append(name)
        if len(made) == 5:
            raise RuntimeError("a fault")
        return honest(name, *columns, **more)

    monkeypatch.setattr(op, "create_table", fails)
    with pytest.raises(RuntimeError):
        migrate(empty)
    monkeypatch.undo()
    assert tables(empty) == set()
    migrate(empty)
    assert tables(empty) == set(metadata.tables)
