"""`discreet serve` as its user meets it: what it prints, what it refuses, how it ends."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from discreet.cli import main

pytest.importorskip("sqlalchemy")


def serving(*arguments):
    """A server in a process of its own, and the lines that it prints first."""
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    return process, process.stdout.readline()


def stop(process):
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    return rest


def wait_for(address):
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
                return answer.status
        except OSError:
            time.sleep(0.1)
    raise AssertionError("it does not answer")


def test_the_first_start_prints_a_key_and_the_second_does_not(tmp_path):
    database = str(tmp_path / "team.db")
    process, line = serving("--database", database)
    address = re.search(r"http://127\.0\.0\.1:\d+", line).group()
    key = re.search(r"dk_\S+", process.stdout.readline()).group()
    assert wait_for(address) == 200
    request = urllib.request.Request(f"{address}/v1/experiments", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.read() == b'{"experiments":[]}'
    rest = stop(process)
    assert "Traceback" not in rest
    assert oct(os.stat(database).st_mode & 0o777) == "0o600"
    process, line = serving("--database", database)
    assert wait_for(re.search(r"http://\S+", line).group()) == 200
    assert "dk_" not in line + stop(process)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "2"], "SQLite is for one process"),
        (["--database", "mysql://here"], "must be a file or start with postgresql://"),
        (["--database", "nowhere/at/all.db"], "the folder of 'nowhere/at/all.db' does not exist"),
        (["--origin", "https://shop.example/page"], "origin must be like https://shop.example"),
        (["--tick", "0"], "tick must be a number of seconds"),
        (["--host", "203.0.113.9", "--port", "0"], "host must be an address of this machine"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_not_there_is_named_without_its_password(capsys):
    assert main(["serve", "--database", "postgresql://ann:secret@127.0.0.1:9/x"]) == 2
    said = capsys.readouterr().err
    assert "127.0.0.1:9/x" in said
    assert "secret" not in said


def test_a_file_that_is_no_database_is_left_alone(tmp_path, capsys):
    notes = tmp_path / "notes.txt"
    notes.write_text("milk, bread, " * 100)
    assert main(["serve", "--database", str(notes)]) == 2
    assert "cannot be used: file is not a database" in " ".join(capsys.readouterr().err.split())
    assert notes.read_text() == "milk, bread, " * 100
