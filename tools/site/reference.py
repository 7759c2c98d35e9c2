"""The reference of the library: every public name, found in `__all__` of the package and of its rooms."""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from numpy.typing import ArrayLike
from tools.site.docstrings import first_line, markdown

import discreet
from discreet.core import options
from discreet.core.algorithm import Algorithm

TITLES = {
    "drivers": "Running algorithms",
    "bandits": "Bandit policies",
    "stopping": "Stopping rules",
    "core": "Privacy, plans and releases",
    "mechanisms": "The curator and its mechanisms",
    "inference": "Statements from a ledger",
    "reporting": "Privacy reports",
    "recommend": "Choosing an algorithm",
    "forecasting": "Forecasts",
    "sequential": "Sequential tests",
    "audit": "Audit",
    "testing": "Checking an algorithm of your own",
    "lab": "The lab",
    "logs": "Answers from logs",
    "client": "Clients of the service",
    "theory": "Bounds",
    "interop": "Other libraries",
}
HIDDEN = {"cli", "service", "reproduction"}  # the command line and the HTTP API have pages of their own
_ALIASES = {id(alias): name for name, alias in vars(options).items() if get_origin(alias) is Annotated}
_ALIASES[id(ArrayLike)] = "ArrayLike"
_ADDRESS = re.compile(r"<(?:function|class|object|factory|bound method)?[^<>]* at 0x[0-9a-f]+>|<factory>")


def rooms() -> dict[str, dict[str, Any]]:
    """Return the public objects of each room, by the name under which a program imports them."""
    found: dict[str, dict[str, Any]] = {}
    for name in discreet.__all__:
        one = getattr(discreet, name)
        home = _home(one)
        if home is not None:
            found.setdefault(home, {})[f"discreet.{name}"] = one
    for info in pkgutil.iter_modules(discreet.__path__):
        if info.name.startswith("_") or info.name in HIDDEN:
            continue
        module = importlib.import_module(f"discreet.{info.name}")
        known = {id(one) for group in found.values() for one in group.values()}
        for name in getattr(module, "__all__", ()):
            one = getattr(module, name)
            if id(one) not in known and (inspect.isclass(one) or callable(one)) and _home(one) == info.name:
                found.setdefault(info.name, {})[f"discreet.{info.name}.{name}"] = one
    for module_name in ("discreet.interop.river", "discreet.interop.gymnasium", "discreet.interop.opendp"):
        module = importlib.import_module(module_name)
        for name, one in vars(module).items():
            if callable(one) and getattr(one, "__module__", None) == module_name and not name.startswith("_"):
                found["interop"][f"{module_name}.{name}"] = one
    order = [*TITLES, *sorted(set(found) - set(TITLES))]
    return {room: dict(sorted(found[room].items(), key=lambda one: one[0].lower())) for room in order if room in found}


def names() -> dict[str, str]:
    """Return the full name of each public object by the names that pages use for it."""
    known: dict[str, str] = {}
    for group in rooms().values():
        for full, one in group.items():
            short = full.rpartition(".")[2]
            known[full] = full
            if short[0].isupper() or "_" in short:
                known.setdefault(short, full)
            if inspect.isclass(one):
                for name, _ in _members(one):
                    known[f"{full}.{name}"] = known[f"{short}.{name}"] = f"{full}.{name}"
    return known


def pages() -> dict[Path, str]:
    """Return the text of each page of the reference, by its place in the site."""
    return {Path("reference", f"{room}.md"): _page(room, group) for room, group in rooms().items()}


def _home(one: Any) -> str | None:
    module = getattr(one, "__module__", None)
    if isinstance(one, ModuleType) or not isinstance(module, str) or not module.startswith("discreet."):
        return None
    return module.split(".")[1]


def _page(room: str, group: dict[str, Any]) -> str:
    module = importlib.import_module(f"discreet.{room}")
    title = TITLES.get(room) or room.replace("_", " ").capitalize()
    parts = [f"# {title}", markdown(module.__doc__)]
    kinds = {name: one for name, one in group.items() if inspect.isclass(one)}
    functions = {name: one for name, one in group.items() if name not in kinds}
    errors = {name: kinds.pop(name) for name in [*kinds] if issubclass(kinds[name], BaseException)}
    for heading, some in (("Functions", functions), ("Classes", kinds), ("Errors", errors)):
        if some:
            parts += [f"## {heading}", *(_object(name, one) for name, one in some.items())]
    return "\n\n".join(parts) + "\n"


def _object(full: str, one: Any) -> str:
    module, _, name = full.rpartition(".")
    if not inspect.isclass(one):
        return _directive(4, f"{{py:function}} {name}{_signature(one)}", markdown(one.__doc__), f":module: {module}")
    inner = [markdown(one.__doc__)]
    if issubclass(one, enum.Enum):
        inner += [f"- `{member.name}` = {member.value!r}" for member in one]
    key = one.__dict__.get("key")
    if isinstance(key, str) and issubclass(one, Algorithm) and key:
        inner.insert(0, f"Key: [`{key}`](../algorithms.md#{key})")
    inner += [_member(member, value) for member, value in _members(one)]
    arguments = "" if issubclass(one, enum.Enum | BaseException) else _signature(one)
    return _directive(6, f"{{py:class}} {name}{arguments}", "\n\n".join(inner), f":module: {module}")


def _members(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class is used by; of an algorithm those that others lack."""
    leaf = issubclass(kind, Algorithm) and isinstance(kind.__dict__.get("key"), str)
    seen: set[str] = set()
    for base in kind.__mro__[: 1 if leaf else None]:
        if not base.__module__.startswith("discreet.") or issubclass(base, BaseException):
            continue
        for name, value in vars(base).items():
            shown = isinstance(value, property | functools.cached_property | classmethod | staticmethod)
            if name.startswith("_") or name in seen or not (shown or inspect.isfunction(value)):
                continue
            inherited = leaf and any(name in vars(other) for other in kind.__mro__[1:])
            documented = getattr(getattr(value, "func", value), "__doc__", None)
            if documented and not inherited:
                seen.add(name)
                yield name, value


def _member(name: str, value: Any) -> str:
    if isinstance(value, property | functools.cached_property):
        getter = value.fget if isinstance(value, property) else value.func
        kind = _annotation(getattr(getter, "__annotations__", {}).get("return"))
        return _directive(4, f"{{py:property}} {name}", markdown(getter.__doc__), f":type: {kind}" if kind else "")
    mark = {classmethod: ":classmethod:", staticmethod: ":staticmethod:"}.get(type(value), "")
    function = getattr(value, "__func__", value)
    drop = not isinstance(value, staticmethod)
    text = markdown(function.__doc__)
    return _directive(4, f"{{py:method}} {name}{_signature(function, drop_first=drop)}", text, mark)


def _directive(colons: int, head: str, body: str, *lines: str) -> str:
    """Return a directive of Sphinx.

    Args:
        colons: The length of its fence: longer than those inside.
        head: Its name and its arguments, such as "{py:function} spent(releases)".
        body: Its content as Markdown.
        *lines: Its options; empty ones are left out.
    """
    fence = ":" * colons
    return "\n".join([f"{fence}{head}", *filter(None, lines), "", body, fence])


def _signature(one: Callable[..., Any], *, drop_first: bool = False) -> str:
    """Return a signature as a reader would write it: short types, defaults, no addresses."""
    try:
        found = inspect.signature(one)
    except (TypeError, ValueError):
        return "()"
    parameters = list(found.parameters.values())[drop_first:]
    parts: list[str] = []
    starred = False
    for one_parameter in parameters:
        kind = one_parameter.kind
        if kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or kind is inspect.Parameter.VAR_POSITIONAL
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(kind, "")
        annotation = _annotation(one_parameter.annotation)
        default = _default(one_parameter.default)
        words = f"{stars}{one_parameter.name}{': ' * bool(annotation)}{annotation}"
        parts.append(words + (f"{' = ' if annotation else '='}{default}" if default else ""))
    returned = _annotation(found.return_annotation) if not inspect.isclass(one) else ""
    return f"({', '.join(parts)}){' -> ' * bool(returned)}{returned}"


def _annotation(hint: Any) -> str:
    if hint in (None, inspect.Parameter.empty):
        return "None" if hint is None else ""
    if isinstance(hint, str):
        return hint
    if id(hint) in _ALIASES:
        return _ALIASES[id(hint)]
    if get_origin(hint) is Annotated:
        return _annotation(hint.__origin__)
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(_annotation(None if one is type(None) else one) for one in get_args(hint))
    return re.sub(r"\b(?:typing|collections\.abc|discreet(?:\.\w+)*)\.", "", inspect.formatannotation(hint))


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    if callable(value) or value is dataclasses.MISSING or "factory" in repr(value):
        return getattr(value, "__name__", "...")
    return _ADDRESS.sub("...", repr(value))


def index() -> str:
    """Return the page that lists all public names, each with a sentence."""
    parts = ["# All public names", "What this page lists is public: it keeps its meaning, or is deprecated first."]
    for room, group in rooms().items():
        parts.append(f"## [{TITLES.get(room, room)}]({room}.md)")
        rows = [
            f"| {{py:obj}}`{full}` | {first_line(getattr(one, '__doc__', '')).replace('|', chr(92) + '|')} |"
            for full, one in group.items()
        ]
        parts.append("\n".join(["| name | what it is |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"
