"""The HTTP API: address and key, requests, replies and errors.

No error repeats a request's body, which may contain rewards.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from discreet._version import __version__
from discreet.core import checks
from discreet.core.errors import ArgumentError, ServiceError
from discreet.service.messages import Problem, Request
from discreet.service.wording import in_words

T = TypeVar("T")

ADDRESS, KEY = "DISCREET_ADDRESS", "DISCREET_KEY"  # variables of the environment
BUSY = frozenset({429})  # the service took nothing: any request may be sent again
TROUBLE = frozenset({429, 502, 503, 504})  # it may have taken it: not what is to be done once
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of a service and a key to it.

    Args:
        address: The URL of the service.
        key: The API key, which is never printed.
    """

    address: str
    key: str = field(repr=False)

    @classmethod
    def make(cls, address: str | None, key: str | None) -> Connection:
        """Return a connection from arguments, or else from the environment.

        Args:
            address: The URL of the service. None for the value of DISCREET_ADDRESS.
            key: The API key. None for the value of DISCREET_KEY.

        Raises:
            ArgumentError: If the address is no URL, or the key is empty or malformed.
        """
        url = address if address is not None else os.environ.get(ADDRESS, "")
        secret = key if key is not None else os.environ.get(KEY, "")
        if not url.startswith(("http://", "https://")):
            raise ArgumentError(f"address must start with http:// or https://, got {url!r}; or set {ADDRESS}")
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ArgumentError(f"key must be a key of the service (discreet serve prints one); or set {KEY}")
        return cls(url.rstrip("/"), secret)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of an httpx client."""
        headers = {
            "authorization": f"Bearer {self.key}",
            "user-agent": f"discreet/{__version__}",
            "accept": "application/json",
            "content-type": "application/json",
        }
        return {"base_url": self.address, "headers": headers}


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request and the type of its answer.

    Args:
        method: The HTTP method.
        path: The path below the service's address.
        answer: The type of the answer.
        message: The body.
        query: The query parameters.
        once: True if sending the request twice would do something twice.
    """

    method: str
    path: str
    answer: type[T]
    message: Request | None = field(default=None, repr=False)
    query: dict[str, str] = field(default_factory=dict)
    once: bool = False

    def body(self) -> bytes | None:
        """Return the message as JSON, which may contain rewards."""
        try:
            return None if self.message is None else msgspec.json.encode(self.message)
        except UnicodeEncodeError:  # half of a surrogate pair, such as a broken cookie may contain
            raise ServiceError("the request holds text that is no Unicode") from None

    def may_repeat(self, status: int) -> bool:
        """Return True if the request may be sent again after a reply with this status."""
        return status in (BUSY if self.once else TROUBLE)

    def read(self, reply: httpx.Response) -> T:
        """Return the answer in a reply, or raise the error in it."""
        if reply.status_code >= 300:
            raise error_in(reply)
        if self.answer is type(None):
            return None
        try:
            return msgspec.json.decode(reply.content, type=self.answer)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise ServiceError(
                f"what answered {self.method} {self.path} is no discreet service of this version; check the address",
                status=reply.status_code,
            ) from None


def error_in(reply: httpx.Response) -> ServiceError:
    """Return the error in a reply: RFC 9457 from the service, or else (a proxy answered) its status."""
    try:
        found = msgspec.json.decode(reply.content, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ServiceError(f"the service answered with status {reply.status_code}", status=reply.status_code)
    part = f" ({found.field})" if found.field else ""
    message = f"{found.title}: {found.detail}{part}"
    return ServiceError(message, status=reply.status_code, kind=found.type, detail=found.detail, field=found.field)


def retry_after(reply: httpx.Response) -> float:
    """Return the seconds of a Retry-After header; 0 without one, or if it is a date."""
    try:
        return max(0.0, float(reply.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def silence(error: httpx.HTTPError) -> str:
    """Return the reason why no reply came."""
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return str(error) or "no connection"
    return f"the connection broke ({type(error).__name__})"


def path(*parts: str) -> str:
    """Return a path below /v1, with every part quoted.

    >>> path("experiments", "blue/green", "start")
    '/v1/experiments/blue%2Fgreen/start'
    """
    return "/".join(("/v1", *(quote(part, safe=":") for part in parts)))


def checked(kind: type[T], fields: dict[str, Any]) -> T:
    """Return a message made from a caller's arguments, checked as the service would check it.

    Args:
        kind: The message's class.
        fields: Its fields.

    Raises:
        ArgumentError: If a field is unknown, missing or wrong.
    """
    try:
        return msgspec.json.decode(msgspec.json.encode(fields), type=kind)
    except msgspec.ValidationError as error:
        raise ArgumentError(in_words(error, kind)[0]) from None
    except TypeError as error:  # what JSON has no form for
        raise ArgumentError(str(error)) from None


def decimal(name: str, value: str | float) -> str:
    """Return an amount of privacy as decimal text, the form in which it is sent.

    Args:
        name: The argument's name, for the error message.
        value: A number above 0, or its decimal text.

    >>> decimal("epsilon", 10), decimal("epsilon", 2e-5), decimal("epsilon", "0.10")
    ('10', '0.00002', '0.10')
    """
    if isinstance(value, str):
        return value
    number = checks.positive(name, value)
    return format(Decimal(repr(number)).normalize(), "f")
