"""SQL about values of the whole service."""

from sqlalchemy import delete, insert, select

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction

SETTING = schema.setting


def read(transaction: Transaction, name: str) -> str | None:
    """Return a value; None if it was never written.

    Args:
        transaction: The transaction.
        name: The value's name.
    """
    found: str | None = transaction.execute(select(SETTING.c.value).where(SETTING.c.name == name)).scalar()
    return found


def write(transaction: Transaction, name: str, value: str) -> None:
    """Write a value, in place of an older one.

    Args:
        transaction: The transaction.
        name: The value's name.
        value: The value.
    """
    transaction.execute(delete(SETTING).where(SETTING.c.name == name))
    transaction.execute(insert(SETTING).values(name=name, value=value))
