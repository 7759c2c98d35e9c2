"""`discreet serve` as its user meets it: what it prints, what it refuses, how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from discreet.cli import main
from discreet.cli._options import app
from discreet.cli._run import COMMANDS
from discreet.cli.service import serve
from tests._tools.patience import LONG

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
    rest, _ = process.communicate(timeout=LONG)
    return rest


def wait_for(address):
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
                return answer.status
        except OSError:
            time.sleep(0.1)
    raise AssertionError("it does not answer")


def test_the_first_start_prints_a_key_and_one_file_has_one_server(tmp_path, capsys):
    database, file = str(tmp_path / "team.db"), tmp_path / "admin.key"
    file.write_text("a key of another service")
    assert main(["serve", "--database", database, "--port", "0", "--key-file", str(file)]) == 2
    assert "key_file must be a new file" in " ".join(capsys.readouterr().err.split())
    assert file.read_text() == "a key of another service"

    process, line = serving("--database", database)  # the key that could not be written was not made
    address = re.search(r"http://127\.0\.0\.1:\d+", line).group()
    key = re.search(r"dk_\S+", process.stdout.readline()).group()
    assert wait_for(address) == 200
    request = urllib.request.Request(f"{address}/v1/experiments", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=LONG) as answer:
        assert answer.read() == b'{"experiments":[],"next":null}'
    assert "Traceback" not in stop(process)
    assert oct(os.stat(database).st_mode & 0o777) == "0o600"

    process, line = serving("--database", database)
    assert wait_for(re.search(r"http://\S+", line).group()) == 200
    linked = tmp_path / "other-name.db"
    linked.symlink_to(database)
    for name in (database, str(linked)):
        assert main(["serve", "--database", name, "--port", "0"]) == 2
        said = capsys.readouterr()
        assert (said.out, "is served by another process" in said.err) == ("", True)
    process.kill()  # nothing is released by hand
    assert "dk_" not in line + process.communicate()[0]

    process, line = serving("--database", database)
    assert wait_for(re.search(r"http://\S+", line).group()) == 200
    stop(process)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "2"], "SQLite is for one process"),
        (["--database", "mysql://here"], "must be a file or start with postgresql://"),
        (["--database", "nowhere/at/all.db"], "the folder of 'nowhere/at/all.db' does not exist"),
        (["--origin", "https://shop.example/page"], "origin must be like https://shop.example"),
        (["--tick", "0"], "tick must be a number of seconds"),
        (["--host", "203.0.113.9", "--port", "0"], "host must be an address of this machine"),
        (["--host", "no.such.host.invalid"], "host must be an address of this machine"),
        (["--port", "80000"], "port must be from 1 to 65535, or 0 for any that is free, got 80000"),
        (["--port", "-1"], "port must be from 1 to 65535"),
        (["--key-file", "nowhere/key", "--port", "0"], "key_file must be a new file in a folder that is there"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert {path.name for path in tmp_path.iterdir()} <= {"discreet.db", "discreet.db-shm", "discreet.db-wal"}
    assert "--key-file" in arguments or list(tmp_path.iterdir()) == []


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


def test_a_taken_port_is_said_before_a_key_is_made(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"port {port} of 127.0.0.1 is taken; give another --port" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_key_file_has_the_first_key_and_an_address_for_others_without_https_is_warned_about(tmp_path):
    file, keys = tmp_path / "admin.key", []
    arguments = "--database", str(tmp_path / "team.db"), "--key-file", str(file), "--host", "0.0.0.0"
    for more, warned in (([], True), (["--secure"], False)):  # the same line starts it again
        process, line = serving(*arguments, *more)
        try:
            assert ("keys and rewards would travel unencrypted" in line) is warned
            if warned:
                line = process.stdout.readline()
            assert wait_for(re.search(r":\d+$", line.strip()).group().replace(":", "http://127.0.0.1:")) == 200
        finally:
            line += stop(process)
        assert "dk_" not in line
        assert oct(file.stat().st_mode & 0o777) == "0o600"
        keys.append(file.read_text())
    assert keys[0] == keys[1]
    assert re.fullmatch(r"dk_\S+\n", keys[0])


@pytest.mark.parametrize(
    ("database", "journal", "hinted"),
    [("postgresql://h/x", None, True), ("postgresql://h/x", "list", False), ("a.db", None, False)],
)
def test_postgresql_without_a_journal_gets_a_hint(database, journal, hinted, capsys):
    server = SimpleNamespace(is_loopback=lambda _: True)
    settings = SimpleNamespace(database=database, shown=database, journal=journal, secure=False, host="127.0.0.1")
    listener = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 1))
    serve._say(server, settings, listener, SimpleNamespace(forfeited=[], key=None), None)
    assert ("without --journal FILE on another disk" in " ".join(capsys.readouterr().err.split())) is hinted


# ---------------------------------------------------------------------- settings from elsewhere


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "discreet.toml"
    config.write_text('port = 70001\norigin = ["https://a.example", "https://b.example"]\nper-address = 3\n')
    assert main(["serve", "--config", str(config)]) == 2
    assert f"got 70001; given by {config}" in capsys.readouterr().err
    monkeypatch.setenv("DISCREET_PORT", "70002")
    assert main(["serve", "--config", str(config)]) == 2
    assert "got 70002; given by the environment variable DISCREET_PORT" in capsys.readouterr().err
    assert main(["serve", "--config", str(config), "--port", "70003"]) == 2
    assert capsys.readouterr().err.strip().endswith("got 70003")
    monkeypatch.delenv("DISCREET_PORT")
    config.write_text('port = 0\norigin = ["https://a.example", "no site"]\n')
    monkeypatch.setenv("DISCREET_CONFIG", str(config))
    assert main(["serve"]) == 2
    assert f"got 'no site'; given by {config}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["discreet.toml"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", "has no setting 'prot'; there are access_log, database,"),
        ("port = ", "config must be a TOML file"),
        ("[port]\nnumber = 1", "port must be a text, a number"),
        ("port = true", "'True' is not a whole number"),
        ('log_level = "loud"', "log_level must be one of debug, info, warning, error, got 'loud'; given by"),
        ('log-format = "xml"', "log_format must be text or json, got 'xml'; given by"),
    ],
)
def test_a_file_that_is_wrong(text, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "discreet.toml").write_text(text)
    assert main(["serve", "--config", "discreet.toml"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert words in said
    assert "discreet.toml" in said


def test_every_option_has_an_environment_variable():
    command = typer.main.get_command(app).commands["serve"]
    for param in command.params:
        if param.name != "help":
            assert param.envvar == f"DISCREET_{param.name.upper()}", param.name


def test_the_pages_name_options_that_there_are():
    assert "service.serve" in COMMANDS
    known = {param.envvar for param in typer.main.get_command(app).commands["serve"].params}
    pages = Path(__file__).parents[3] / "docs"
    for name in ("service.md", "service-deploying.md"):
        named = set(re.findall(r"DISCREET_[A-Z_]+", (pages / name).read_text()))
        assert named <= known, (name, named - known)
        assert named


def test_a_password_need_not_be_on_a_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "address"
    secret.write_text("postgresql://ann:secret@127.0.0.1:9/x\n")
    monkeypatch.setenv("DISCREET_DATABASE_FILE", str(secret))
    for command in (["serve", "--port", "0"], ["admin-key"], ["backup", "new"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert ("127.0.0.1:9/x" in said, "secret" in said) == (True, False)
    assert main(["serve", "--database", "team.db"]) == 2
    assert "must not be given together with database" in capsys.readouterr().err
    secret.write_text("")
    assert main(["serve"]) == 2
    assert "is empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["address"]


def test_the_end_by_the_keyboard_says_what_is_kept(tmp_path, capsys, monkeypatch):
    server = pytest.importorskip("discreet.service.http.server")

    def ends(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "serve", ends)
    assert main(["serve", "--database", str(tmp_path / "team.db"), "--port", "0"]) == 130
    said = " ".join(capsys.readouterr().err.split())
    assert "interrupted; the service has ended; all that it has answered is in" in said
    assert said.endswith("team.db")


class Interrupts:
    """An object that interrupts the program when it is collected."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_while_garbage_is_collected_is_not_lost(tmp_path, monkeypatch):
    server = pytest.importorskip("discreet.service.http.server")
    monkeypatch.setattr(server.gc, "collect", lambda: Interrupts() and None)
    monkeypatch.setattr(server.gc, "freeze", lambda: None)
    monkeypatch.setattr(server, "open_database", lambda path: SimpleNamespace(journal_path=None))
    for name in ("Control", "make_app"):
        monkeypatch.setattr(server, name, lambda *given, **options: None)
    monkeypatch.setattr(server.uvicorn, "Server", None)  # it comes to nothing if it is reached
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            server.run(server.Settings(str(tmp_path / "team.db")), None)
    finally:
        signal.signal(signal.SIGINT, before)
