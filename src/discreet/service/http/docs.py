"""The page about the API: the OpenAPI document for people. It needs no key, no script and nothing from elsewhere."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.responses import Response

from discreet.service.dashboard.pages import Visit, page
from discreet.service.http.operations import document

_KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


@dataclass(frozen=True)
class Field:
    """A field of a message.

    Args:
        name: Its name.
        kind: Its type, in words.
        needed: True if it must be given.
        default: Its default, as JSON; None if it has none.
        about: A few words about it.
    """

    name: str
    kind: str
    needed: bool
    default: Any
    about: str


@dataclass(frozen=True)
class Entry:
    """An operation.

    Args:
        name: Its name, which is its place on the page.
        method: The HTTP method.
        path: The path.
        about: A sentence about it.
        key: The sentence about the key that it needs; empty if it needs none.
        given: The fields of its request or query.
        answer: A sentence about its answer.
        fields: The fields of its answer.
        statuses: The statuses of its answers, each with its meaning.
    """

    name: str
    method: str
    path: str
    about: str
    key: str
    given: list[Field]
    answer: str
    fields: list[Field]
    statuses: list[tuple[str, str]]


def show(visit: Visit) -> Response:
    """Show all operations."""
    return page(visit, "docs.html", groups=groups(), messages=messages())


@cache
def groups() -> dict[str, list[Entry]]:
    """Return all operations by what they are about."""
    described = document()
    schemas = described["components"]["schemas"]
    found: dict[str, list[Entry]] = {}
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            entry = _entry(path, method.upper(), one, schemas)
            found.setdefault(_group(entry), []).append(entry)
    return found


@cache
def messages() -> dict[str, tuple[str, list[Field]]]:
    """Return all messages that others consist of, with a sentence and their fields."""
    schemas = document()["components"]["schemas"]
    return {
        name: (schema.get("description", "").partition("\n")[0], _fields(schema))
        for name, schema in sorted(schemas.items())
        if "properties" in schema
    }


def _group(entry: Entry) -> str:
    if entry.path.startswith("/v1/experiments") and entry.name not in {"assign", "totals", "plan"}:
        return "Experiments"
    if entry.path.startswith("/v1/populations"):
        return "Populations"
    if entry.path.startswith("/v1/keys"):
        return "Keys"
    if entry.path.startswith(("/v1/rewards", "/v1/experiments")):
        return "Assign and report"
    return "Planning" if entry.path.startswith("/v1/") else "Machines"


def _entry(path: str, method: str, one: dict[str, Any], schemas: dict[str, Any]) -> Entry:
    body = _schema(one.get("requestBody", {}), schemas)
    given = _fields(body) + [_parameter(each) for each in one.get("parameters", ()) if each["in"] == "query"]
    good = next(answer for status, answer in one["responses"].items() if status < "300")
    statuses = [(status, answer["description"]) for status, answer in one["responses"].items() if status >= "300"]
    about, name = one["summary"], one["operationId"]
    fields = _fields(_schema(good, schemas))
    return Entry(name, method, path, about, one.get("description", ""), given, good["description"], fields, statuses)


def _schema(part: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    reference: str = part.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
    found: dict[str, Any] = schemas.get(reference.rpartition("/")[2], {})
    return found


def _fields(schema: dict[str, Any]) -> list[Field]:
    needed = set(schema.get("required", ()))
    return [
        Field(name, kind(part), name in needed, part.get("default"), part.get("description", ""))
        for name, part in schema.get("properties", {}).items()
    ]


def _parameter(part: dict[str, Any]) -> Field:
    schema = part["schema"]
    return Field(part["name"], kind(schema), part["required"], schema.get("default"), schema.get("description", ""))


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a value, in words.

    >>> kind({"type": "array", "items": {"type": "string"}}), kind({"enum": ["late", "accepted"]})
    ('list of text', "'late' or 'accepted'")
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " or ".join(map(repr, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(one) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"object of {kind(inner)}" if isinstance(inner, dict) and inner else "object"
    kinds = schema.get("type", "")
    return " or ".join(_KINDS[one] for one in ([kinds] if isinstance(kinds, str) else kinds) if one) or "any value"
