"""What can go wrong with a request, in words that the person who sent it can act on."""

from __future__ import annotations


class ServiceProblem(Exception):
    """A request that cannot be done: an HTTP status, what is wrong, and which field to put right."""

    def __init__(self, status: int, title: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.field = field
