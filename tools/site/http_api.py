"""The reference of the HTTP API, from the OpenAPI document of the service."""

from __future__ import annotations

import json

from discreet.service.http.api import document  # it declares the operations, so it comes first
from discreet.service.http.docs import Entry, Field, groups, messages

INTRODUCTION = """\
# The HTTP API

Bodies are JSON. A key goes into the header `Authorization: Bearer dk_...`. A running service has this page at `/docs`,
and the same for programs at `/openapi.json`: [openapi.json](openapi.json). [The service](../service.md) says how
experiments work, and [its clients](../service-clients.md) are shorter to use than this."""


def page() -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION]
    for group, entries in groups().items():
        parts += [f"## {group}", *map(_operation, entries)]
    parts.append("## Messages")
    for name, (about, fields) in messages().items():
        parts += [f"### {name}", about, _table(fields)]
    return "\n\n".join(filter(None, parts)) + "\n"


def openapi() -> str:
    """Return the OpenAPI document as JSON."""
    return json.dumps(document(), indent=1)


def _operation(entry: Entry) -> str:
    parts = [f"### {entry.method} {entry.path}", f"{entry.about} {entry.key or 'Needs no key.'}"]
    if entry.given:
        parts += ["You send:", _table(entry.given)]
    parts.append(f"You get: {entry.answer}")
    if entry.fields:
        parts.append(_table(entry.fields))
    if entry.statuses:
        parts.append("\n".join(["Refusals:", "", *(f"- `{status}`: {words}" for status, words in entry.statuses)]))
    return "\n\n".join(parts)


def _table(fields: list[Field]) -> str:
    """Return a table of fields, without the columns in which nothing stands."""
    if not fields:
        return ""
    columns = zip(("field", "is", "needed", "about"), zip(*map(_row, fields), strict=True), strict=True)
    kept = [(name, "---", *cells) for name, cells in columns if any(cells)]
    return "\n".join(f"| {' | '.join(row)} |" for row in zip(*kept, strict=True))


def _row(field: Field) -> tuple[str, str, str, str]:
    known = messages()
    words = " ".join(f"[{word}](#{word.lower()})" if word in known else word for word in field.kind.split(" "))
    shown = field.default not in (None, "", [], {})
    needed = "yes" if field.needed else f"`{field.default}` if left out" if shown else ""
    return f"`{field.name}`", _cell(words), needed, _cell(field.about)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
