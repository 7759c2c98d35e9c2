"""Every error that discreet raises on purpose.

Each message names the argument, the value it got, and what would be right.
"""


class DiscreetError(Exception):
    """The root: `except DiscreetError` catches all that discreet raises on purpose."""


class ArgumentError(DiscreetError, ValueError):
    """An argument or a reward is not acceptable. Nothing has changed."""


class TicketError(DiscreetError, LookupError):
    """A ticket is unknown here, or was issued by another bandit. Nothing has changed."""


class FinishedError(DiscreetError, RuntimeError):
    """The rule has halted, or the horizon is used up: nothing more can be asked, fed or closed."""


class WaitingError(DiscreetError, RuntimeError):
    """Every pull of the epoch is handed out and some rewards are still missing."""


class StateError(DiscreetError, ValueError):
    """A saved state cannot be read: damaged, of another kind, or from a newer version."""


class PrivacyError(DiscreetError, TypeError):
    """What was asked for would spend privacy twice, such as copying a private object or loading a file in use."""


class ServiceError(DiscreetError, RuntimeError):
    """A discreet service refused. `detail` says why in its own words, `field` which part of the request it means."""

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
    """A discreet service did not answer, or was too busy, as often as it was tried."""
