"""A list that an iterator fills as far as it is asked for."""

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class GrowingList(Generic[Item]):
    """The items of an iterator, each made once, when somebody asks for it or a later one. Any thread may ask.

    Args:
        items: The iterator. Nobody else may use it.

    >>> squares = GrowingList(number * number for number in range(5))
    >>> squares[3], squares[9], len(squares)
    (9, None, 5)
    >>> squares.between(3, 9)
    [9, 16]
    """

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._made: list[Item] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of items that were made so far."""
        return len(self._made)

    def __getitem__(self, index: int) -> Item | None:
        """Return an item by its place, from 0; None after the last."""
        if index >= len(self._made):
            with self._lock:
                while len(self._made) <= index:
                    try:
                        self._made.append(next(self._items))
                    except StopIteration:
                        return None
        return self._made[index]

    def between(self, first: int, end: int) -> list[Item]:
        """Return the items from a place on, up to another one or the last.

        Args:
            first: The place of the first item.
            end: The place after the last one.
        """
        if end > len(self._made):
            _ = self[end - 1]
        return self._made[first:end]
