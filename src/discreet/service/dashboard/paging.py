"""Pages of long lists, by their numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from discreet.service.dashboard.formatting import whole
from discreet.service.messages import PAGE

_MOST = 1_000_000  # pages


@dataclass(frozen=True)
class Pager:
    """One page of a list, and the way to its neighbours.

    Args:
        number: The page's number, from 1.
        total: The number of things in the whole list.
        path: The list's path.
        query: The list's query, without the page.
        name: The name of the page's number in the query.

    >>> pager = Pager(2, 130, "/", {"state": "running"})
    >>> pager.words, pager.previous, pager.next
    ('51 to 100 of 130', '/?state=running', '/?state=running&page=3')
    >>> Pager(1, 3, "/", {}).is_needed
    False
    """

    number: int
    total: int
    path: str
    query: Mapping[str, str]
    name: str = "page"

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.total // PAGE))

    @property
    def is_needed(self) -> bool:
        """True if the list has more than one page, or this one lies beyond its end."""
        return self.last > 1 or self.number > 1

    @property
    def words(self) -> str:
        """The things that this page has."""
        first = (self.number - 1) * PAGE + 1
        if first > self.total:
            return f"nothing here, of {whole(self.total)}"
        return f"{whole(first)} to {whole(min(self.total, first + PAGE - 1))} of {whole(self.total)}"

    @property
    def previous(self) -> str | None:
        """The address of the page before; None for the first one."""
        return self._address(min(self.number - 1, self.last)) if self.number > 1 else None

    @property
    def next(self) -> str | None:
        """The address of the page after; None for the last one."""
        return self._address(self.number + 1) if self.number < self.last else None

    def _address(self, number: int) -> str:
        query = urlencode({**self.query, **({self.name: number} if number > 1 else {})})
        return f"{self.path}?{query}" if query else self.path


def page_number(query: Mapping[str, str]) -> int:
    """Return the number of the page that a query asks for; 1 if it names none.

    >>> page_number({"page": "7"}), page_number({}), page_number({"page": "-1"}), page_number({"page": "x"})
    (7, 1, 1, 1)
    """
    text = query.get("page", "1")
    return min(max(1, int(text)), _MOST) if text.isascii() and text.isdecimal() and len(text) < 10 else 1
