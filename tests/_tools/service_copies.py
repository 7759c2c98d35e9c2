"""Many experiments in no time, and the statements that it takes to show them."""

from contextlib import contextmanager

from sqlalchemy import Engine, event

from discreet.service.storage import schema


@contextmanager
def statements(engine=Engine):
    """The statements that are run meanwhile, by all engines or by one."""
    seen = []

    def note(connection, cursor, statement, *_):
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def copies(world, name, count):
    """Make so many copies of an experiment with all that belongs to it, as its own life would have left them."""
    (row,) = world.rows(schema.experiment, name=name)
    epochs, released = (world.rows(table, experiment=row["id"]) for table in (schema.epoch, schema.release))
    with world.database.writing() as transaction:
        for number in range(count):
            new = {**row, "id": 1000 + number, "uid": f"exp_{number:012}", "name": f"{name}-{number}"}
            transaction.execute(schema.experiment.insert(), new)
            transaction.execute(schema.epoch.insert(), [{**one, "experiment": new["id"]} for one in epochs])
            for one in released:
                copy = schema.Released(**{**one, "experiment": new["id"], "digest": ""})
                transaction.execute(
                    schema.release.insert(), {**one, "experiment": new["id"], "digest": copy.checksum()}
                )
