"""Refusals of requests, as problems of RFC 9457. The message says what would be right."""

from discreet.core.errors import DiscreetError


class ServiceProblem(DiscreetError):
    """A request that is refused.

    Args:
        status: The HTTP status.
        title: A short name of the problem.
        detail: The message for people.
        field: The field at fault, if there is one.

    >>> ServiceProblem(404, "not found", "there is no experiment 'banners'")
    ServiceProblem(404, 'not found', "there is no experiment 'banners'")
    """

    def __init__(self, status: int, title: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.field = status, title, detail, field

    def __repr__(self) -> str:
        return f"ServiceProblem({self.status}, {self.title!r}, {self.detail!r})"


def invalid(field: str, detail: str) -> ServiceProblem:
    """Return the problem of a request with a wrong field.

    Args:
        field: The field.
        detail: The message.
    """
    return ServiceProblem(422, "invalid request", detail, field)


def not_found(what: str) -> ServiceProblem:
    """Return the problem of a request for a thing that does not exist, or that its key may not see."""
    return ServiceProblem(404, "not found", f"there is no {what}")


def conflict(detail: str, field: str | None = None) -> ServiceProblem:
    """Return the problem of a request that is fine, but not now.

    Args:
        detail: The message.
        field: The field at fault, if there is one.
    """
    return ServiceProblem(409, "conflict", detail, field)


class NotStarted(ServiceProblem):
    """A request for assignments of a draft, which may be in test mode.

    Args:
        name: The experiment's name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(409, "conflict", f"experiment {name!r} is not started")


def over_budget(detail: str) -> ServiceProblem:
    """Return the problem of a population that has not enough left."""
    return ServiceProblem(409, "over budget", detail, "epsilon")
