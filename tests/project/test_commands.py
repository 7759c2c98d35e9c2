"""Commands on the pages: every command, every option and every target of make that a page names is there."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from discreet.cli._run import app

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "verification.md"})
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
COMMANDS = typer.main.get_command(app).commands
ALL = {"--help", "--version", "--module"}
SHELL = re.compile(r"^(?:    |\$ |/opt/\S+/)?((?:discreet|make) .*)$")
BLOCKS = re.compile(r"^```(?!\w*\bpython\b)\w*\n(.*?)^```$", re.M | re.S)


def commands(text):
    """The lines of a page that are commands, and those within a line of prose."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    lines = [line for line in prose.splitlines() if line.startswith("    ")]
    lines += [line for block in BLOCKS.findall(text) for line in block.splitlines()]
    found = [match[1].partition("  #")[0] for line in lines if (match := SHELL.match(line))]
    return found + re.findall(r"`((?:discreet|make) [^`\n]+)`", prose)


def wrong(command):
    """What is wrong with a command, or None."""
    program, *words = shlex.split(command)
    if program == "make":
        missing = [word for word in words if not re.fullmatch(r"[A-Z]+=.*", word) and word not in TARGETS]
        return f"make has no {missing}" if missing else None
    while words and words[0] in ALL:
        words = words[2 if words[0] == "--module" else 1 :]
    if not words:
        return None
    if words[0] not in COMMANDS:
        return f"discreet has no {words[0]}"
    known = {name for one in COMMANDS[words[0]].params for name in (*one.opts, *one.secondary_opts)} | ALL
    options = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    return f"{words[0]} has no {sorted(options - known)}" if options - known else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists(page):
    assert [fault for line in commands(page.read_text()) if (fault := wrong(line))] == []


def test_commands_are_found():
    found = [line for page in PAGES for line in commands(page.read_text())]
    assert len(found) > 100
    assert {line.split()[1] for line in found if line.startswith("discreet ")} >= {"stop", "best-arm", "serve", "audit"}


def test_a_command_that_does_not_exist_is_seen():
    text = "It is `discreet nothing`.\n\n    discreet stop x.csv --no-such 1  # a remark\n    make nothing\n"
    assert [wrong(line) for line in commands(text)] == [
        "stop has no ['--no-such']", "make has no ['nothing']", "discreet has no nothing",
    ]  # fmt: skip
