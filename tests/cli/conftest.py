"""Ways to run the command line, in this process and as a program, and files for it to read."""

import json
import os
import subprocess
import sys

import pytest

from discreet.cli import main
from tests._tools.patience import LONG
from tests._tools.tables import file, standard_input, table  # noqa: F401


@pytest.fixture
def run(capsys):
    """Runs a command line, whose first text is split at spaces: exit code, stdout and stderr."""

    def run(line="", *more):
        code = main([*line.split(), *map(str, more)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def data(run):
    """The document that a command prints with --json."""

    def data(line, *more):
        code, out, err = run(line, *more, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return data


@pytest.fixture
def refused(run):
    """The message on stderr for something that is not accepted."""

    def refused(line, *more, code=2):
        found, out, err = run(line, *more)
        assert (found, out) == (code, "")
        assert err.startswith("error: ")
        return err

    return refused


@pytest.fixture
def program():
    """Runs `discreet` in a process of its own."""

    def program(*arguments, **options):
        command = [sys.executable, "-m", "discreet", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False, **options)

    return program


@pytest.fixture
def completions(program):
    """The words that bash offers at the end of a line."""

    def completions(line):
        asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return program(env={**os.environ, **asked}).stdout.split()

    return completions
