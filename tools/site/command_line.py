"""The reference of the command line, from its own declarations."""

from __future__ import annotations

from typing import Any

import typer

from discreet.cli._run import app


def page() -> str:
    """Return the page as Markdown."""
    root: Any = typer.main.get_command(app)
    parts = ["# The command line", str(root.help).strip()]
    parts += ["    discreet [OPTIONS] COMMAND [ARGUMENTS]", _options(root), root.epilog or ""]
    parts += [_command(name, one) for name, one in root.commands.items() if not one.hidden]
    return "\n\n".join(filter(None, parts)) + "\n"


def _command(name: str, command: Any) -> str:
    arguments = " ".join(
        f"[{_metavar(one)}]" if not one.required else _metavar(one)
        for one in command.params
        if one.param_type_name == "argument"
    )
    parts = [f"## discreet {name}", f"    discreet {name} [OPTIONS] {arguments}".rstrip()]
    parts += [_paragraphs(command.help or ""), _options(command), _examples(command.epilog or "")]
    return "\n\n".join(filter(None, parts))


def _options(command: Any) -> str:
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for one in command.params:
        if getattr(one, "hidden", False) or one.name in ("help", "install_completion", "show_completion"):
            continue
        option = one.param_type_name == "option"
        words = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts)) if option else f"`{_metavar(one)}`"
        flag = option and (getattr(one, "is_flag", False) or not one.metavar)
        metavar = "" if not option or flag else f" `{one.metavar}`"
        rows.append(f"| {words}{metavar} | {_cell(getattr(one, 'help', '') or '')} | {_default(one)} |")
    return "\n".join(rows) if len(rows) > 2 else ""


def _metavar(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _default(one: Any) -> str:
    if one.required:
        return "*needed*"
    value = one.default
    if value is None or callable(value) or value is False or value in ("", (), []) or "UNSET" in repr(value).upper():
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"`{text}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", r"\<")


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.replace("\b", "").split("\n\n"))


def _examples(text: str) -> str:
    title, _, examples = text.partition("\n\n")
    if not examples:
        return _paragraphs(title)
    return "\n".join([title, "", "```console", *(f"$ {line}" for line in examples.split("\n\n")), "```"])
