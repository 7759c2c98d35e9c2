"""The database's form: what migrations make is what the tables are declared as, on both databases, up and down."""

import hashlib
import json

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import event, inspect, text

from discreet.core.errors import StateError
from discreet.service.storage import PostgreSQL, open_database
from discreet.service.storage.migrations import configuration, migrate
from discreet.service.storage.schema import metadata
from tests._tools.service_tools import small


@pytest.fixture
def empty(request, url, tmp_path):
    """A database without any table."""
    if url.startswith("postgresql"):
        url = request.getfixturevalue("server").fresh(tmp_path.name)
    else:
        url = str(tmp_path / "empty.db")
    opened = open_database(url)
    yield opened
    opened.close()


def tables(database):
    with database.reading() as transaction:
        return {name for name in inspect(transaction.connection).get_table_names() if name != "alembic_version"}


def revision(database):
    with database.reading() as transaction:
        return MigrationContext.configure(transaction.connection).get_current_revision()


def test_migrations_make_the_declared_tables(empty):
    migrate(empty)
    with empty.reading() as transaction:
        context = MigrationContext.configure(
            transaction.connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []
        found = inspect(transaction.connection)
        for name, table in metadata.tables.items():
            there = {column["name"]: column["nullable"] for column in found.get_columns(name)}
            assert there == {column.name: column.nullable for column in table.columns}, name
            assert found.get_pk_constraint(name)["constrained_columns"] == [one.name for one in table.primary_key]


def test_migrations_go_up_and_down_and_up(empty):
    migrate(empty)
    assert tables(empty) == set(metadata.tables)
    with empty.writing() as transaction:
        command.downgrade(configuration(transaction.connection), "base")
    assert tables(empty) == set()
    assert revision(empty) is None
    migrate(empty)
    migrate(empty)
    assert tables(empty) == set(metadata.tables)
    assert revision(empty) == "1"


def test_pages_of_assignments_leave_room_for_the_mark_of_a_reward(world):
    if not isinstance(world.database, PostgreSQL):
        pytest.skip("SQLite changes rows where they are")
    with world.database.reading() as transaction:
        found = transaction.execute(text("SELECT reloptions FROM pg_class WHERE relname = 'assignment'")).scalar_one()
    assert found == ["fillfactor=50"]


def test_the_one_open_epoch_index_is_partial(world):
    with world.database.reading() as transaction:
        (index,) = [
            one for one in inspect(transaction.connection).get_indexes("epoch") if one["name"] == "one_open_epoch"
        ]
    assert index["unique"]
    world.start("one", **small())
    world.finish_epoch("one", lambda arm: 0.5)
    world.finish_epoch("one", lambda arm: 0.5)
    assert [one.state for one in world.control.epochs("one")] == ["closed", "closed", "open"]


@pytest.mark.parametrize(("form", "words"), [("9999", "newer version"), ("0002", "start with a new one")])
def test_a_database_of_another_version_is_refused(empty, form, words):
    migrate(empty)
    with empty.writing() as transaction:
        transaction.execute(text("UPDATE alembic_version SET version_num = :form"), {"form": form})
    with pytest.raises(StateError, match=words):
        migrate(empty)


def test_a_failed_migration_leaves_nothing(empty):
    """Both databases take tables back with the transaction that made them."""
    made = []

    def fail(*given):
        made.append(given[2])
        if sum("CREATE TABLE" in one for one in made) == 5:
            raise RuntimeError("a fault")

    event.listen(empty.engine, "before_cursor_execute", fail)
    with pytest.raises(RuntimeError):
        migrate(empty)
    event.remove(empty.engine, "before_cursor_execute", fail)
    assert tables(empty) == set()
    migrate(empty)
    assert tables(empty) == set(metadata.tables)


FIRST = "b25da856d9b28d69"


def test_the_first_form_is_frozen():
    """Once it is released, a database of this form exists: change it by a migration, and see 0001."""
    columns = [
        (table.name, one.name, type(getattr(one.type, "impl", one.type)).__name__, one.nullable, one.primary_key)
        for table in metadata.sorted_tables
        for one in table.columns
    ]
    assert hashlib.sha256(json.dumps(columns).encode()).hexdigest()[:16] == FIRST
