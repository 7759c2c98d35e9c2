"""Operations of the API: each is declared once, on the method that does it.

The routes, the checks of keys and the OpenAPI document follow from the declarations.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from msgspec import Struct

from discreet.service.messages import Scope

Work = TypeVar("Work", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operation:
    """One operation.

    Args:
        method: The HTTP method.
        path: The path, with parameters in braces.
        name: The name of the method of `API` that does it.
        about: A sentence about it.
        takes: The names of what it takes: parameters of the path, `body`, `query`, and `caller`, the request's key.
        scopes: The scopes of which a key must have one; None if anybody may call it.
        answer: The type of its answer; None if it has none.
        body: The type of its request, if it takes one.
        query: The type of its query, if it takes one.
        status: The status of its answer.
        problems: Further statuses of its refusals.
    """

    method: str
    path: str
    name: str
    about: str
    takes: tuple[str, ...]
    scopes: tuple[Scope, ...] | None
    answer: type | None
    body: type | None
    query: type | None
    status: int
    problems: tuple[int, ...]


OPERATIONS: list[Operation] = []
"""All operations, in the order of their routes."""


def operation(
    method: str, path: str, scopes: tuple[Scope, ...] | None, *problems: int, status: int = 200
) -> Callable[[Work], Work]:
    """Return a decorator that declares an operation. Its messages are those of the method's annotations.

    Args:
        method: The HTTP method.
        path: The path, with parameters in braces.
        scopes: The scopes of which a key must have one; None if anybody may call it.
        *problems: Statuses of its refusals, besides those that follow from its key and its messages.
        status: The status of its answer.
    """

    def declare(work: Work) -> Work:
        hints = get_type_hints(work)
        answers = get_args(hints["return"]) or (hints["return"],)
        answer = next((kind for kind in answers if issubclass(kind, Struct)), None)
        about = (inspect.getdoc(work) or "").partition("\n")[0]
        takes = tuple(inspect.signature(work).parameters)[1:]
        body, query = hints.get("body"), hints.get("query")
        status_of = 204 if answer is None else status
        name = work.__name__
        OPERATIONS.append(Operation(method, path, name, about, takes, scopes, answer, body, query, status_of, problems))
        return work

    return declare
