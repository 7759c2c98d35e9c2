"""Fixtures that write tables and stand in for standard input."""

import io
import sys
from types import SimpleNamespace

import pytest


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
