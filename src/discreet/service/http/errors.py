"""What is said when a request cannot be served: RFC 9457 problems, in words that tell what would be right."""

from __future__ import annotations

from discreet.core.errors import DiscreetError


class ServiceProblem(DiscreetError):
    """A request that is refused: `status` as in HTTP, a short `title`, a `detail` for people, and the `field` at fault.

    >>> ServiceProblem(404, "not found", "there is no experiment 'banners'")
    ServiceProblem(404, 'not found', "there is no experiment 'banners'")
    """

    def __init__(self, status: int, title: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.field = status, title, detail, field

    def __repr__(self) -> str:
        return f"ServiceProblem({self.status}, {self.title!r}, {self.detail!r})"


def invalid(field: str, detail: str) -> ServiceProblem:
    """Something in the request is not as it should be."""
    return ServiceProblem(422, "invalid request", detail, field)


def not_found(what: str) -> ServiceProblem:
    """There is no such thing, or it is not this key's to see."""
    return ServiceProblem(404, "not found", f"there is no {what}")


def conflict(detail: str, field: str | None = None) -> ServiceProblem:
    """Return the problem of a request that is fine, but not now.

    Args:
        detail: The message.
        field: The field at fault, if there is one.
    """
    return ServiceProblem(409, "conflict", detail, field)


def over_budget(detail: str) -> ServiceProblem:
    """The population has not enough left."""
    return ServiceProblem(409, "over budget", detail, "epsilon")
