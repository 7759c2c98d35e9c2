"""The OpenAPI document, made from the operations and the types of messages."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from discreet._version import __version__
from discreet.service import messages as m
from discreet.service.http.operations import Operation

_REF = "#/components/schemas/{name}"
_ABOUT = (
    "Private experiments: assign, report, and read what was released with noise. No answer holds a reward, or anything "
    "that follows from rewards other than by a release."
)


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document about all operations, as JSON values."""
    kinds: list[Any] = [m.Problem]
    for operation in operations:
        kinds += [kind for kind in (operation.answer, operation.body) if kind is not None and kind not in kinds]
    _, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
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
        expected |= {401, 403}
    if operation.body is not None:
        expected |= {400, 413, 422}
    if operation.query is not None:
        expected |= {422}
    for status in sorted(expected):
        answers[str(status)] = _problem(operation, status)
    described: dict[str, Any] = {"operationId": operation.name, "summary": operation.about, "responses": answers}
    parameters = [_path_parameter(name) for name in re.findall(r"{(\w+)}", operation.path)]
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
        return {"description": "it does not", "content": _content(m.Health)}
    return {"description": _WORDS[status], "content": _content(m.Problem, "application/problem+json")}


_WORDS = {
    400: "not JSON",
    401: "no key, or one that is unknown, expired or revoked",
    403: "the key may not do this",
    404: "there is no such thing for this key",
    409: "not now: the state does not allow it, or the budget does not",
    413: "too large",
    422: "something in the request is not as it should be",
    503: "the database did not confirm it; it is safe to try again in a moment",
}


def _content(kind: type, media: str = "application/json") -> dict[str, Any]:
    return {media: {"schema": {"$ref": _REF.format(name=kind.__name__)}}}


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


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
