"""Messages about requests that cannot be read, in words: what is expected, never a type of Python or a pattern."""

import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from discreet._wording import plural
from discreet.core import checks
from discreet.service.messages import MOST_SHOWN, Decimal, Name, Slug

_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_PARTS = {"str": "character", "array": "element", "object": "element"}
_LIMITS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "==": "exactly"}
_PATTERNS = {
    Decimal: "a decimal number such as 1 or 0.5",
    Slug: "lower-case letters, digits and dashes, at most 63, and no dash first",
    Name: "text without a zero byte",
}


def in_words(error: msgspec.ValidationError, kind: Any) -> tuple[str, str | None]:
    """Return an error of a message in words, and the field at fault.

    Args:
        error: The error.
        kind: The type of the message.

    >>> from discreet.service.messages import NewExperiment
    >>> try:
    ...     msgspec.json.decode(b'{"name": "My test", "epsilon": 1}', type=NewExperiment)
    ... except msgspec.ValidationError as error:
    ...     print(in_words(error, NewExperiment)[0])
    name must be lower-case letters, digits and dashes, at most 63, and no dash first
    >>> try:
    ...     msgspec.json.decode(b'{"name": "mine", "epsilom": 1}', type=NewExperiment)
    ... except msgspec.ValidationError as error:
    ...     print(in_words(error, NewExperiment)[0])
    there is no field 'epsilom' in this request; did you mean 'epsilon'?
    """
    said, _, where = str(error).partition(" - at `")
    field = where.rstrip("`").rpartition("$")[2].lstrip(".") or None
    if found := re.match(r"(\w+) must be ", said):  # in words already, by the message's own checks
        return said, found[1]
    if found := re.fullmatch(r"Object missing required field `(.*)`", said):
        name = f"{field}.{found[1]}" if field else found[1]
        return f"{name} must be given", name
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", said):
        meant = "" if field else checks.did_you_mean(found[1], list(get_type_hints(kind)))
        return f"there is no field {found[1]!r} in {field or 'this request'}{meant}", field
    return f"{field or 'the request'} must be {_expected(said, kind, field)}", field


def _expected(said: str, kind: Any, field: str | None) -> str:
    """Return the end of the sentence."""
    if found := re.fullmatch(r"Expected `([^`]*)`, got `([^`]*)`", said):
        return f"{_kinds(found[1])}, got {_kinds(found[2])}"
    if found := re.fullmatch(r"Expected `(\w+)` of length (\S+) (\d+)", said):
        return f"{_KINDS[found[1]]} of {_LIMITS[found[2]]} {plural(int(found[3]), _PARTS[found[1]])}"
    if found := re.fullmatch(r"Expected `(\w+)` (\S+) (\S+)", said):
        return f"{_KINDS[found[1]]}, {_LIMITS[found[2]]} {found[3].removesuffix('.0')}"
    if said.startswith("Invalid enum value"):
        choices = _choices(kind, (field or "").partition("[")[0].partition(".")[0])
        got = said.removeprefix("Invalid enum value ")
        shown = got if len(got) <= MOST_SHOWN else f"{got[:MOST_SHOWN]}..."
        return f"one of {', '.join(map(repr, choices))}, got {shown}"
    if "regex" in said:
        return _pattern(said)
    return "a number that is not so large" if "out of range" in said else f"something else: {said.lower()}"


def _kinds(names: str) -> str:
    return " or ".join(_KINDS.get(name, name) for name in names.split(" | "))


def _pattern(said: str) -> str:
    return next((words for kind, words in _PATTERNS.items() if repr(_regex(kind)) in said), "in another form")


def _regex(kind: Any) -> str:
    return next(str(one.pattern) for one in get_args(kind) if isinstance(one, msgspec.Meta))


def _choices(kind: Any, field: str) -> tuple[Any, ...]:
    """Return the words that a field may have."""
    hint = get_type_hints(kind).get(field) if field else None
    return _literals(hint)


def _literals(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for part in get_args(hint) if (found := _literals(part))), ())
