"""Ways to run the command line, in this process and as a program, and files for it to read."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from discreet.cli import main


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
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)

    return program


@pytest.fixture
def completions(program):
    """The words that bash offers at the end of a line."""

    def completions(line):
        asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return program(env={**os.environ, **asked}).stdout.split()

    return completions


@pytest.fixture
def file(tmp_path):
    """Writes a file."""

    def file(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return file


@pytest.fixture
def table(tmp_path):
    """Writes a Parquet file."""
    import pandas as pd

    def table(name="data.parquet", **columns):
        pd.DataFrame(columns).to_parquet(tmp_path / name)
        return tmp_path / name

    return table


class Source(io.RawIOBase):
    """A stream that returns these pieces, one a read, and counts the bytes."""

    def __init__(self, pieces):
        self.pieces, self.given = iter(pieces), 0

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = next(self.pieces, b"")
        if piece is KeyboardInterrupt:
            raise piece
        buffer[: len(piece)] = piece
        self.given += len(piece)
        return len(piece)


@pytest.fixture
def standard_input(monkeypatch):
    """Replaces standard input."""

    def standard_input(*pieces):
        source = Source(pieces)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(source)))
        return source

    return standard_input
