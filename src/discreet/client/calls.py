"""Calls of the HTTP API: how a request is written, and how its answer or its problem is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from discreet.client.effects import Reply, Send
from discreet.core import checks
from discreet.core.errors import ArgumentError, ServiceError
from discreet.service.http.messages import Problem, Request

T = TypeVar("T")

BUSY = frozenset({429})  # the service took nothing: any request may be sent again
TROUBLE = frozenset({429, 502, 503, 504})  # it may have taken it: only what is repeatable may be sent again


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request and the type of its answer. `repeatable` if sending it twice does what sending it once does."""

    method: str
    path: str
    answer: type[T]
    message: Request | None = field(default=None, repr=False)
    query: dict[str, str] = field(default_factory=dict)
    repeatable: bool = True

    def send(self, timeout: float) -> Send:
        """As one HTTP request."""
        try:
            body = None if self.message is None else msgspec.json.encode(self.message)
        except UnicodeEncodeError:  # half a letter, such as a broken cookie may hold
            raise ServiceError("the request holds text that is no Unicode") from None
        return Send(self.method, self.path, timeout, self.query, body)

    def may_repeat(self, status: int) -> bool:
        """Whether the same request is worth another try after this answer."""
        return status in (TROUBLE if self.repeatable else BUSY)

    def read(self, reply: Reply) -> T:
        """The answer in a reply, or the problem in it as an error."""
        if reply.status >= 300:
            raise problem(reply)
        if self.answer is type(None):
            return None
        try:
            return msgspec.json.decode(reply.body, type=self.answer)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise ServiceError(
                f"what answered {self.method} {self.path} is no discreet service of this version; check the address",
                status=reply.status,
            ) from None


def problem(reply: Reply) -> ServiceError:
    """A reply that is an error: RFC 9457 if the service wrote it, else (a proxy did) its status."""
    try:
        told = msgspec.json.decode(reply.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ServiceError(f"the service answered with status {reply.status}", status=reply.status)
    where = f" ({told.field})" if told.field else ""
    return ServiceError(
        f"{told.title}: {told.detail}{where}", status=reply.status, kind=told.type, detail=told.detail, field=told.field
    )


def waiting_time(reply: Reply) -> float:
    """The seconds that a busy service asks for; its dates are not read."""
    try:
        return max(0.0, float(reply.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def path(*parts: str) -> str:
    """A path below /v1, every part quoted.

    >>> path("experiments", "blue/green", "start")
    '/v1/experiments/blue%2Fgreen/start'
    """
    return "/".join(("/v1", *(quote(part, safe=":") for part in parts)))


def checked(kind: type[T], fields: dict[str, Any]) -> T:
    """A message from a caller's arguments, checked as the service would check it."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise ArgumentError(str(error)) from None


def decimal(name: str, value: str | float) -> str:
    """An amount of privacy as the text that travels.

    >>> decimal("epsilon", 10), decimal("epsilon", 2e-5), decimal("epsilon", "0.10")
    ('10', '0.00002', '0.10')
    """
    if isinstance(value, str):
        return value
    number = checks.positive(name, value)
    return format(Decimal(repr(number)).normalize(), "f")
