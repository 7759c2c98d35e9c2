"""Operations of the API: each is declared once, on the method that does it.

The routes, the checks of keys and the OpenAPI document (`document`) follow from the declarations.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from discreet._version import __version__
from discreet.service import messages as m
from discreet.service.messages import Scope

_REF = "#/components/schemas/{name}"
_ABOUT = (
    "Private experiments: assign, report, and read what was released with noise. No answer holds a reward, or anything "
    "that follows from rewards other than by a release; but for tests of drafts, whose units are not protected."
)
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
        slow: True for lists and other slow reads, which have threads and connections of their own.
        frequent: True for what is asked thousands of times a second.
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
    slow: bool
    frequent: bool


OPERATIONS: list[Operation] = []
"""All operations, in the order of their routes."""


def operation(
    method: str,
    path: str,
    scopes: tuple[Scope, ...] | None,
    *problems: int,
    status: int = 200,
    slow: bool = False,
    frequent: bool = False,
) -> Callable[[Work], Work]:
    """Return a decorator that declares an operation. Its messages are those of the method's annotations.

    Args:
        method: The HTTP method.
        path: The path, with parameters in braces.
        scopes: The scopes of which a key must have one; None if anybody may call it.
        *problems: Statuses of its refusals, besides those that follow from its key and its messages.
        status: The status of its answer.
        slow: True for lists and other slow reads.
        frequent: True for what is asked thousands of times a second.
    """

    def declare(work: Work) -> Work:
        hints = get_type_hints(work)
        answers = get_args(hints["return"]) or (hints["return"],)
        answer = next((kind for kind in answers if issubclass(kind, msgspec.Struct)), None)
        about = (inspect.getdoc(work) or "").partition("\n")[0]
        takes = tuple(inspect.signature(work).parameters)[1:]
        body, query = hints.get("body"), hints.get("query")
        status_of = 204 if answer is None else status
        name = work.__name__
        messages, pace = (answer, body, query), (slow, frequent)
        OPERATIONS.append(Operation(method, path, name, about, takes, scopes, *messages, status_of, problems, *pace))
        return work

    return declare


# ---------------------------------------------------------------------- the OpenAPI document


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document about all operations, as JSON values: one object for all, not to be changed."""
    kinds: list[Any] = [m.Problem]
    for operation in OPERATIONS:
        kinds += [kind for kind in (operation.answer, operation.body) if kind is not None and kind not in kinds]
    _, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "discreet", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "a key that begins with dk_"}
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    answers: dict[str, Any] = {str(operation.status): _answer(operation)}
    expected = {*operation.problems}
    if operation.scopes is not None:
        expected |= {401, 403, 429}
    if operation.body is not None:
        expected |= {400, 413, 422, 503}
    if operation.query is not None:
        expected |= {422}
    if operation.slow:
        expected |= {503}
    for status in sorted(expected):
        answers[str(status)] = _problem(operation, status)
    described: dict[str, Any] = {"operationId": operation.name, "summary": operation.about, "responses": answers}
    names = re.findall(r"{(\w+)}", operation.path)
    text = {"type": "string", "minLength": 1}
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in names]
    if operation.query is not None:
        parameters += _query_parameters(operation.query)
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content(operation.body)}
    if operation.scopes is not None:
        described["security"] = [{"key": []}]
        described["description"] = f"Needs a key with the scope {' or '.join((*operation.scopes, 'admin'))}."
    return described


def _answer(operation: Operation) -> dict[str, Any]:
    if operation.answer is None:
        return {"description": "done"}
    return {"description": (operation.answer.__doc__ or "").split("\n")[0], "content": _content(operation.answer)}


def _problem(operation: Operation, status: int) -> dict[str, Any]:
    if operation.name == "ready":
        return {"description": "it cannot serve now, and says why", "content": _content(m.Health)}
    return {"description": _WORDS[status], "content": _content(m.Problem, "application/problem+json")}


_WORDS = {
    400: "not JSON",
    401: "no key, or one that is unknown, expired or revoked",
    403: "the key may not do this",
    404: "there is no such thing for this key",
    409: "not now: the state does not allow it, or the budget does not",
    413: "too large",
    422: "something in the request is not as it should be",
    429: "too many keys of this address were refused",
    503: "the database did not confirm it, or too many requests wait; it is safe to try again in a moment",
}


def _content(kind: type, media: str = "application/json") -> dict[str, Any]:
    return {media: {"schema": {"$ref": _REF.format(name=kind.__name__)}}}


def _query_parameters(kind: type) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([kind], ref_template=_REF)
    schema = components[kind.__name__]
    required = set(schema.get("required", ()))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(part)}
        for name, part in schema["properties"].items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: a query has no null, so what may be null may be left out."""
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    kept = choices[0] if choices else schema
    return {key: value for key, value in kept.items() if not (key == "default" and value is None)}
