"""The exceptions of the package.

Each message names the argument, the value it got, and what would be right.
"""


class DiscreetError(Exception):
    """Base class of all exceptions that discreet raises on purpose."""


class ArgumentError(DiscreetError, ValueError):
    """An argument or a reward is not valid. No state has changed."""


class TicketError(DiscreetError, LookupError):
    """A ticket is unknown, or was issued by another bandit. No state has changed."""


class FinishedError(DiscreetError, RuntimeError):
    """The rule has halted or the horizon is used up: no further call is possible."""


class WaitingError(DiscreetError, RuntimeError):
    """All pulls of the epoch are handed out, and some of their rewards are missing."""


class StateError(DiscreetError, ValueError):
    """A saved state is damaged, of another kind, or from a newer version."""


class PrivacyError(DiscreetError, TypeError):
    """The call would spend privacy twice, such as copying a private object or loading a file in use."""


class ServiceError(DiscreetError, RuntimeError):
    """A discreet service refused a request.

    Args:
        message: The error message.
        status: The HTTP status of the answer.
        kind: The type of the problem, a URN.
        detail: The service's own explanation.
        field: The part of the request that is wrong.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str | None = None,
        detail: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.detail, self.field = status, kind, detail, field


class UnreachableError(ServiceError):
    """A discreet service did not answer, or was too busy, at every attempt."""
